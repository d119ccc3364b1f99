/* What has to hold before a loop, as a test that picks one of two copies of it; see version.h. */
#include "opt/scalar/version.h"
#include "opt/emit.h"

#include <assert.h>

#include "opt/scalar/prove.h"
#include "opt/versions.h"

/* The terms of a sum are tested to lie within this; so sums of a few of them are exact. */
#define LIMIT ((int64_t)1 << 60)
enum { MAX_TERMS = 6 };

/* --- the test --- */

static int64_t limit(const tr_lterm *t) {
    return LIMIT / (t->k < 0 ? -t->k : t->k);
}

static bool term_is_bounded(const tr_fn *f, const tr_lterm *t, bool *low, bool *high) {
    tr_wide lo, hi;
    tr_range_of(f, t->v, &lo, &hi);
    *low = lo >= -limit(t);
    *high = hi <= limit(t);
    return *low && *high;
}

bool tr_opt_testable(const tr_fn *f, const tr_lin *e) {
    for (uint32_t i = 0; i < e->n; i++)
        if (tr_at(f, e->t[i].v)->ty->kind != TR_TY_I64)
            return false;
    return e->n > 0 && e->n <= MAX_TERMS && e->c <= LIMIT / 2 && e->c >= -(tr_wide)LIMIT / 2;
}

typedef struct tester {
    tr_bld b;
    const tr_ty *i64;
    tr_val ranges, all; /* TR_NOVAL: nothing to test yet */
} tester;

static tr_val number(tester *t, tr_wide k) {
    assert(k >= INT64_MIN && k <= INT64_MAX);
    return tr_const_int(t->b.fn, t->i64, (int64_t)k);
}

/* A term of a sum must be small, or the sum could wrap. */
static void test_range(tester *t, const tr_lterm *x) {
    bool low, high;
    if (term_is_bounded(t->b.fn, x, &low, &high))
        return;
    if (!low)
        t->ranges = tr_emit_both(&t->b, t->ranges, tr_emit_cmp(&t->b, TR_CMP_GE, x->v, number(t, -limit(x))));
    if (!high)
        t->ranges = tr_emit_both(&t->b, t->ranges, tr_emit_cmp(&t->b, TR_CMP_LE, x->v, number(t, limit(x))));
}

/* The terms of one sign, and the constant, as a value. */
static tr_val sum(tester *t, const tr_lin *e, int sign, tr_wide c) {
    assert(sign == 1 || sign == -1);
    tr_val v = TR_NOVAL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->n; i++)
        n += (e->t[i].k > 0) == (sign > 0);
    for (uint32_t i = 0; i < e->n; i++) {
        int64_t k = e->t[i].k * sign;
        if (k < 0)
            continue;
        if (n > 1 || k != 1 || c != 0)
            test_range(t, &e->t[i]);
        tr_val x = k == 1 ? e->t[i].v : tr_emit2(&t->b, TR_OP_MUL, t->i64, e->t[i].v, number(t, k));
        v = v == TR_NOVAL ? x : tr_emit2(&t->b, TR_OP_ADD, t->i64, v, x);
    }
    if (v == TR_NOVAL)
        return number(t, c);
    return c == 0 ? v : tr_emit2(&t->b, TR_OP_ADD, t->i64, v, number(t, c));
}

/* The positive terms against the negative ones. The constant goes where its value's range is known
 * already. */
static void test(tester *t, const tr_lin *e) {
    bool low, high, left = true;
    for (uint32_t i = 0; i < e->n; i++)
        if (e->t[i].k > 0 && !term_is_bounded(t->b.fn, &e->t[i], &low, &high))
            left = false;
    tr_val x = sum(t, e, 1, left ? e->c : 0), y = sum(t, e, -1, left ? 0 : -e->c);
    t->all = tr_emit_both(&t->b, t->all, tr_emit_cmp(&t->b, TR_CMP_GE, x, y));
}

/* --- blocks --- */

/* The block before the loop with no other way out; made when there is none. */
static tr_bid preheader(tr_fn *f, const tr_loop *l) {
    assert(l->header != 0);
    return l->preheader != TR_NOBLK ? l->preheader : tr_opt_preheader(f, l->header);
}

/* --- the whole --- */

static tr_val make_test(tr_fn *f, tr_bid ph, const tr_lin *conds, uint32_t n) {
    assert(n > 0 && "something is to be tested");
    tr_val last = tr_blk_at(f, ph)->last;
    tester t = {.b = {.fn = f, .blk = ph, .before = last}, .ranges = TR_NOVAL, .all = TR_NOVAL};
    t.i64 = tr_ty_scalar(f->ctx->types, TR_TY_I64);
    for (uint32_t i = 0; i < n; i++)
        test(&t, &conds[i]);
    return tr_emit_both(&t.b, t.ranges, t.all); /* ranges first: the prover takes them in order */
}

/* All blocks before loops come first: a loop may lead straight to the head of another one, and so may its
 * copy. */
void tr_opt_version(tr_fn *f, const tr_version *v, uint32_t n, tr_u32s *slow) {
    tr_bid *ph = TR_NEW_N(&f->ctx->arena, tr_bid, n + 1u);
    tr_versions s = tr_versions_new(f);
    for (uint32_t i = 0; i < n; i++)
        ph[i] = preheader(f, v[i].loop);
    for (uint32_t i = 0; i < n; i++)
        tr_versions_loop(&s, v[i].loop, ph[i], make_test(f, ph[i], v[i].conds, v[i].n), TR_COLD_CHECKED,
                         slow);
    tr_versions_end(&s);
}
