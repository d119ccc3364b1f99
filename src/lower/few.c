/* Loops of few rounds in loops, as over the taps of a filter: `for p in range(5): for q in
 * range(5): s += a[i + p, j + q] * k[p, q]`.
 *
 * Written out, they leave the loop around them without loops, and LLVM makes vectors of that one: each lane
 * adds up in Python's order. LLVM would unroll some 25 such rounds of its own accord. Where vectors come of
 * it more pay: nine times nine taps of float64 take a sixth of the time (AMD EPYC). So lowering says which
 * nests go all the way: of a number of rounds that is known here, with no other way out, in a loop whose own
 * number moves what they read along rows. Others are LLVM's to decide.
 * Cost: a walk over each loop's instructions. */
#include "ir/loops.h"
#include "lower/internal.h"

enum { MAX_ROUNDS = 32, MAX_WHOLE = 800, LONG = 128, MAX_APART = 1 << 30, DEEP = 6 };

/* --- how many rounds --- */

typedef struct place {
    tr_val from; /* TR_NOVAL: from zero */
    int64_t at;
} place;

/* v as so much more than another value. */
static place place_of(const tr_fn *f, tr_val v) {
    place p = {v, 0};
    while (p.from != TR_NOVAL) {
        const tr_ins *in = tr_at(f, p.from);
        bool moved = in->op == TR_OP_ADD || in->op == TR_OP_SUB;
        int64_t c;
        if (!tr_get_int(f, moved ? in->args[1] : p.from, &c) || c < -MAX_APART || c > MAX_APART)
            break;
        p = (place){moved ? in->args[0] : TR_NOVAL, p.at + (in->op == TR_OP_SUB ? -c : c)};
    }
    return p;
}

/* It counts in constant steps from a number to one that is a constant further. */
uint32_t tr_lower_rounds(const tr_fn *f, const tr_loop *l) {
    tr_loop_end end;
    int64_t step;
    if (!tr_loop_end_test(f, l, &end) || !tr_get_int(f, end.counter.step, &step) || !step ||
        step < -MAX_ROUNDS || step > MAX_ROUNDS)
        return 0;
    tr_val first = end.counter.start;
    if (first == TR_NOVAL || end.how != (step > 0 ? TR_CMP_LT : TR_CMP_GT))
        return 0;
    place from = place_of(f, first), to = place_of(f, end.bound);
    int64_t way = step > 0 ? to.at - from.at : from.at - to.at, by = step > 0 ? step : -step;
    if (from.from != to.from || way <= 0 || (way - 1) / by >= MAX_ROUNDS)
        return 0;
    return (uint32_t)((way - 1) / by + 1);
}

/* --- which are written out --- */

typedef struct finder {
    const tr_fn *f;
    const tr_forest *loops;
    uint8_t *stays; /* per loop: one inside of it is not written out */
} finder;

/* Is the test of its count the only way out? */
static bool goes_through(const finder *s, uint32_t l) {
    const tr_loop *loop = tr_forest_at(s->loops, l);
    for (uint32_t i = 0; i < loop->blks.n; i++)
        if (tr_blk_raises(s->f, loop->blks.d[i]))
            return false;
    return tr_forest_leaves_only_at(s->loops, l, loop->latch);
}

/* Is v made of a number that block b is given, by sums? An inner loop's counter is what it begins with. */
static bool moves_with(const finder *s, tr_val v, tr_bid b, unsigned deep) {
    const tr_ins *in = tr_at(s->f, v);
    if (in->op == TR_OP_PARAM && in->blk != b) {
        bool counts = tr_forest_headed(s->loops, in->blk) != TR_NOLOOP;
        v = counts && deep ? tr_loop_start(s->f, in->blk, v) : TR_NOVAL;
        return v != TR_NOVAL && moves_with(s, v, b, deep - 1);
    }
    if (in->op == TR_OP_PARAM)
        return true;
    bool sum = in->op == TR_OP_ADD || in->op == TR_OP_SUB || in->op == TR_OP_WRAP || in->op == TR_OP_MUL;
    for (uint32_t i = 0; sum && deep && i < in->nargs; i++)
        if (moves_with(s, in->args[i], b, deep - 1))
            return true;
    return false;
}

/* What does the load read from round to round of the loop with header b: 0 the same, 1 the
 * next item of a row, 2 something else? */
static unsigned reads(const finder *s, const tr_ins *in, tr_bid b) {
    unsigned last = tr_at(s->f, in->args[0])->ty->layout == TR_LAYOUT_F ? 1 : in->nargs - 1u, found = 0;
    for (unsigned k = 1; k < in->nargs; k++)
        if (moves_with(s, in->args[k], b, DEEP))
            found = k == last ? found | 1 : 2;
    return found > 1 ? 2 : found;
}

/* Do rounds of the loop around, whose header is b, read along rows in loop l? */
static bool along_rows(const finder *s, uint32_t l, tr_bid b) {
    const tr_loop *loop = &s->loops->all.d[l];
    bool found = false;
    for (uint32_t i = 0; i < loop->blks.n; i++)
        for (tr_val v = tr_blk_at(s->f, loop->blks.d[i])->first; v != TR_NOVAL; v = tr_at(s->f, v)->next) {
            const tr_ins *in = tr_at(s->f, v);
            unsigned how = in->op == TR_OP_LOAD ? reads(s, in, b) : 0;
            if (how > 1)
                return false;
            found = found || how;
        }
    return found;
}

/* Is l, which no loop around it is written out with, in one that gets vectors by that? */
static bool pays(const finder *s, bool in_pattern, uint32_t l) {
    uint32_t up = s->loops->all.d[l].parent;
    if (up == UINT32_MAX)
        return in_pattern && along_rows(s, l, 0);
    return !s->stays[up] && along_rows(s, l, s->loops->all.d[up].header);
}

/* May it go, rounds of `size` instructions each? Loops over threads stay. */
static bool may_go(const finder *s, uint32_t l, uint32_t rounds, uint32_t size) {
    const tr_loop *loop = &s->loops->all.d[l];
    tr_loop_end end;
    return rounds && size * rounds <= MAX_WHOLE && !tr_blk_at(s->f, loop->latch)->cold &&
           tr_loop_end_test(s->f, loop, &end) && tr_turn_of(tr_at(s->f, end.counter.next)) == TR_TURN_NONE &&
           goes_through(s, l);
}

/* Outer loops have smaller numbers. */
uint8_t *tr_lower_few(tr_lf *w, const tr_forest *loops) {
    const tr_fn *f = w->body->f;
    tr_arena *a = &w->m->ctx->arena;
    uint32_t n = loops->all.n, *size = TR_NEW_N(a, uint32_t, n + 1u);
    uint8_t *may = TR_NEW_N(a, uint8_t, n + 1u), *whole = TR_NEW_N(a, uint8_t, n + 1u);
    finder s = {.f = f, .loops = loops, .stays = TR_NEW_N(a, uint8_t, n + 1u)};
    for (uint32_t l = n; l-- > 0;) {
        const tr_loop *loop = &loops->all.d[l];
        uint32_t rounds = s.stays[l] ? 0 : tr_lower_rounds(f, loop), own = tr_loop_size(f, loop);
        size[l] += own; /* what inner loops add to it is there */
        bool goes = may_go(&s, l, rounds, size[l]);
        may[l] = !goes ? 0 : size[l] * rounds >= LONG ? TR_FEW_LONG : TR_FEW_SHORT;
        if (loop->parent == UINT32_MAX)
            continue;
        size[loop->parent] += size[l] * rounds - own;
        if (!goes)
            s.stays[loop->parent] = 1;
    }
    for (uint32_t l = 0; l < n; l++) {
        uint32_t up = loops->all.d[l].parent;
        if (up != UINT32_MAX && may[up])
            whole[l] = whole[up];
        else if (may[l] && pays(&s, w->body->outer, l))
            whole[l] = may[l];
    }
    return whole;
}
