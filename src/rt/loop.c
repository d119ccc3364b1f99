/* Loops of foreign ufuncs: C functions that NumPy, SciPy and others bring, called as NumPy
 * calls them, without Python.
 *
 * The table (tr_cloops, rt/layout.h) says which axes of an operand are the loop's own and how large
 * items are; operands come as views of three axes, of which those that the loop lacks are not
 * looked at. Strides may be anything: loops take them. A loop that is asked for no round is not
 * called, as NumPy does not call it either.
 * Mistakes are told by the invalid flag: it is cleared before, looked at after, and then as it was, so nobody
 * else sees it. Clearing goes by memory (40 ns), so it is only done where the flag is set.
 * Exceptions are Python's, and told by the host: it is asked after each call (3 ns), and
 * what it says is the rest of the result. */
#include <fenv.h>
#include <string.h>

#include "rt/fns.h"

typedef struct operand {
    char *data;
    int64_t n[1 + TR_LOOP_CORE], step[1 + TR_LOOP_CORE]; /* in items */
} operand;

static _Thread_local bool is_ready
    __attribute__((tls_model("initial-exec"))); /* the host knows of this thread */

static bool call(const tr_cloop *l, char **args, const int64_t *dims, const int64_t *steps) {
    if (fetestexcept(FE_INVALID))
        feclearexcept(FE_INVALID);
    l->fn(args, dims, steps, l->data);
    return fetestexcept(FE_INVALID) != 0;
}

/* Round by round by the loop of our own, or where it does not want one, by theirs: *theirs
 * says whether there was such a round. */
static bool run_small(const tr_cloops *t, const tr_cloop *l, char **args, const int64_t *dims,
                      const int64_t *steps, bool *theirs) {
    int64_t one[1 + TR_LOOP_SIZES];
    bool failed = false;
    memcpy(one, dims, sizeof one);
    one[0] = 1;
    for (int64_t r = 0; r < dims[0]; r++) {
        char *now[TR_LOOP_OPERANDS] = {args[0]};
        for (int64_t k = 0; k < t->nop; k++)
            now[k] = args[k] + r * steps[k];
        tr_small_result did = l->small(now, dims, steps);
        *theirs |= did == TR_SMALL_NOT;
        failed |= did == TR_SMALL_NOT ? call(l, now, one, steps) : did == TR_SMALL_FAILED;
    }
    return failed;
}

/* What a loop left of Python's: such code may raise without being asked for anything, or
 * warn, and warnings may be errors. */
static int64_t look_behind(const tr_cloops *t, tr_frame *f, bool failed) {
    return (int64_t)((uint64_t)t->raised(t, f) << 1 | failed);
}

static int64_t run(tr_frame *f, const tr_cloops *t, int64_t which, const operand *x) {
    const tr_cloop *l = &t->loop[which];
    int64_t dims[1 + TR_LOOP_SIZES] = {x[0].n[0]}, steps[TR_LOOP_OPERANDS * (1 + TR_LOOP_CORE)];
    char *args[TR_LOOP_OPERANDS];
    int64_t at = t->nop;
    if (dims[0] == 0)
        return 0;
    if (!is_ready) {
        t->ready();
        is_ready = true;
    }
    for (int64_t k = 0; k < t->nop; k++) {
        args[k] = x[k].data; /* a loop may change these */
        steps[k] = x[k].step[0] * l->size[k];
        for (int64_t d = 0; d < t->ncore[k]; d++) {
            dims[1 + t->which[k][d]] = x[k].n[1 + d];
            steps[at++] = x[k].step[1 + d] * l->size[k];
        }
    }
    int before = fetestexcept(FE_INVALID), after;
    bool small = l->small && dims[1] > 0 && dims[1] <= TR_SMALL_MOST, theirs = !small;
    bool failed = small ? run_small(t, l, args, dims, steps, &theirs) : call(l, args, dims, steps);
    after = fetestexcept(FE_INVALID);
    if (after && !before)
        feclearexcept(FE_INVALID);
    else if (before && !after)
        feraiseexcept(FE_INVALID);
    return theirs ? look_behind(t, f, failed) : failed;
}

#define X(x)                        \
    {                               \
        x, {x##n0, x##n1, x##n2}, { \
            x##s0, x##s1, x##s2     \
        }                           \
    }

int64_t tr_rt_loop1(tr_frame *f, void *to, const void *table, int64_t n, int64_t which, TR_LOOP_OPERAND(q)) {
    (void)to, (void)n, (void)qo;
    return run(f, table, which, (operand[]){X(q)});
}

int64_t tr_rt_loop2(tr_frame *f, void *to, const void *table, int64_t n, int64_t which, TR_LOOP_OPERAND(q),
                    TR_LOOP_OPERAND(r)) {
    (void)to, (void)n, (void)qo, (void)ro;
    return run(f, table, which, (operand[]){X(q), X(r)});
}

int64_t tr_rt_loop3(tr_frame *f, void *to, const void *table, int64_t n, int64_t which, TR_LOOP_OPERAND(q),
                    TR_LOOP_OPERAND(r), TR_LOOP_OPERAND(u)) {
    (void)to, (void)n, (void)qo, (void)ro, (void)uo;
    return run(f, table, which, (operand[]){X(q), X(r), X(u)});
}

int64_t tr_rt_loop4(tr_frame *f, void *to, const void *table, int64_t n, int64_t which, TR_LOOP_OPERAND(q),
                    TR_LOOP_OPERAND(r), TR_LOOP_OPERAND(u), TR_LOOP_OPERAND(v)) {
    (void)to, (void)n, (void)qo, (void)ro, (void)uo, (void)vo;
    return run(f, table, which, (operand[]){X(q), X(r), X(u), X(v)});
}

int64_t tr_rt_loop5(tr_frame *f, void *to, const void *table, int64_t n, int64_t which, TR_LOOP_OPERAND(q),
                    TR_LOOP_OPERAND(r), TR_LOOP_OPERAND(u), TR_LOOP_OPERAND(v), TR_LOOP_OPERAND(w)) {
    (void)to, (void)n, (void)qo, (void)ro, (void)uo, (void)vo, (void)wo;
    return run(f, table, which, (operand[]){X(q), X(r), X(u), X(v), X(w)});
}

int64_t tr_rt_loop6(tr_frame *f, void *to, const void *table, int64_t n, int64_t which, TR_LOOP_OPERAND(q),
                    TR_LOOP_OPERAND(r), TR_LOOP_OPERAND(u), TR_LOOP_OPERAND(v), TR_LOOP_OPERAND(w),
                    TR_LOOP_OPERAND(x)) {
    (void)to, (void)n, (void)qo, (void)ro, (void)uo, (void)vo, (void)wo, (void)xo;
    return run(f, table, which, (operand[]){X(q), X(r), X(u), X(v), X(w), X(x)});
}

int64_t tr_rt_loop7(tr_frame *f, void *to, const void *table, int64_t n, int64_t which, TR_LOOP_OPERAND(q),
                    TR_LOOP_OPERAND(r), TR_LOOP_OPERAND(u), TR_LOOP_OPERAND(v), TR_LOOP_OPERAND(w),
                    TR_LOOP_OPERAND(x), TR_LOOP_OPERAND(y)) {
    (void)to, (void)n, (void)qo, (void)ro, (void)uo, (void)vo, (void)wo, (void)xo, (void)yo;
    return run(f, table, which, (operand[]){X(q), X(r), X(u), X(v), X(w), X(x), X(y)});
}
