/* How much work a round of a loop over a prange is (a cost model, evaluated at run time).
 *
 * A round with loops in it may take nanoseconds or seconds: a thread is given a round at a time only
 * where nothing better is known. It mostly is: how often an inner loop goes round follows from numbers
 * that the round is given, as in `for k in range(i)` with an i of the loop outside. These are there
 * before the loop begins, so the estimate is made there, of typed IR, in floating point, which does not
 * overflow: the cost of straight code (tr_ins_cost) times the rounds of the loops around it. The number
 * of the round itself counts as half of all.
 * A loop whose rounds are not known so, a call or another pattern: the estimate is not made.
 * Cost: of a small loop some ten instructions before it. */
#include <assert.h>
#include <string.h>

#include "ir/sched.h"
#include "ir/loops.h"
#include "opt/priv.h"
#include "opt/emit.h"

enum { DEEP = 6 };

/* What the estimate is made of. */
typedef struct work {
    tr_bld b;  /* before the pattern */
    tr_ins in; /* the pattern; what is emitted moves instructions */
    const tr_pat *p;
    tr_fn *f; /* the lambda */
    tr_forest loops;
} work;

static tr_val number(work *k, tr_val v, unsigned deep);

static const tr_ty *type(const work *k, tr_tyk kind) {
    return tr_ty_scalar(k->f->ctx->types, kind);
}

static tr_val real(work *k, double x) {
    return tr_const_float(k->b.fn, type(k, TR_TY_F64), x);
}

static tr_val on_reals(work *k, tr_op op, tr_val x, tr_val y) {
    return tr_emit2(&k->b, op, type(k, TR_TY_F64), x, y);
}

/* What stands for a capture outside. */
static tr_val captured(const work *k, tr_val v) {
    return k->in.args[tr_pat_at(k->p, P_CAP) + tr_param_index(k->f, v) - tr_pat_param(k->p, TR_LAM, P_CAP)];
}

/* A parameter: an index of the space, or what the round is given. */
static tr_val given(work *k, tr_val v) {
    uint32_t i = tr_param_index(k->f, v);
    if (i < k->p->nspace)
        return tr_emit2(&k->b, TR_OP_QUOT, type(k, TR_TY_I64), k->in.args[i], tr_emit_int(&k->b, 2));
    return i < tr_pat_param(k->p, TR_LAM, P_CAP) ? TR_NOVAL : captured(k, v);
}

/* The extent of an array that the round is given. */
static tr_val extent(work *k, const tr_ins *in) {
    const tr_ins *a = tr_at(k->f, in->args[0]);
    if (a->op != TR_OP_PARAM || a->blk != 0 ||
        tr_param_index(k->f, in->args[0]) < tr_pat_param(k->p, TR_LAM, P_CAP))
        return TR_NOVAL;
    return tr_emit_dim(&k->b, captured(k, in->args[0]), (unsigned)in->imm.i);
}

static tr_val computed(work *k, const tr_ins *in, unsigned deep) {
    tr_val x[3] = {TR_NOVAL};
    for (uint32_t i = 0; i < in->nargs; i++)
        if ((x[i] = number(k, in->args[i], deep - 1)) == TR_NOVAL)
            return TR_NOVAL;
    if (in->op == TR_OP_CMP)
        return tr_emit_cmp(&k->b, (tr_cmpop)in->sub, x[0], x[1]);
    return tr_emit_v(&k->b, (tr_op)in->op, in->ty, in->nargs, x);
}

/* The int64 or bool v as the caller of the loop has it; TR_NOVAL: it does not. */
static tr_val number(work *k, tr_val v, unsigned deep) {
    const tr_ins *in = tr_at(k->f, v);
    int64_t c;
    bool is_i64 = in->ty && in->ty->kind == TR_TY_I64;
    if (is_i64 && tr_get_int(k->f, v, &c))
        return tr_emit_int(&k->b, c);
    if (!deep)
        return TR_NOVAL;
    switch ((tr_op)in->op) {
    case TR_OP_PARAM: return is_i64 && in->blk == 0 ? given(k, v) : TR_NOVAL;
    case TR_OP_DIM: return extent(k, in);
    case TR_OP_ADD:
    case TR_OP_SUB:
    case TR_OP_MUL:
    case TR_OP_MIN:
    case TR_OP_MAX:
    case TR_OP_SELECT: return is_i64 ? computed(k, in, deep) : TR_NOVAL;
    case TR_OP_CMP: return tr_at(k->f, in->args[0])->ty->kind == TR_TY_I64 ? computed(k, in, deep) : TR_NOVAL;
    default: return TR_NOVAL;
    }
}

static bool block_is_in_loop(const work *k, const tr_loop *l, tr_bid b) {
    return tr_forest_has(&k->loops, tr_forest_number(&k->loops, l), b);
}

/* Whether the loop goes on until the test at its end fails: nothing else leaves it, but for errors. */
static bool ends_at_its_latch(const work *k, const tr_loop *l) {
    for (uint32_t i = 0; i < l->blks.n; i++) {
        const tr_ins *t = tr_term(k->f, l->blks.d[i]);
        for (uint32_t e = 0; e < tr_nsucc(t) && l->blks.d[i] != l->latch; e++)
            if (!block_is_in_loop(k, l, t->imm.succ[e].to) && !tr_blk_at(k->f, t->imm.succ[e].to)->cold)
                return false;
    }
    return l->latch != TR_NOBLK;
}

/* How often the loop goes round, as a double that is not negative. */
static tr_val rounds(work *k, const tr_loop *l) {
    int64_t step;
    tr_loop_end end;
    if (!ends_at_its_latch(k, l) || !tr_loop_end_test(k->f, l, &end) ||
        !tr_get_int(k->f, end.counter.step, &step) || step == 0 || step == INT64_MIN)
        return TR_NOVAL;
    tr_val from = end.counter.start, lo = from == TR_NOVAL ? TR_NOVAL : number(k, from, DEEP),
           hi = lo == TR_NOVAL ? TR_NOVAL : number(k, end.bound, DEEP);
    if (hi == TR_NOVAL)
        return TR_NOVAL;
    tr_val n = tr_emit2(&k->b, TR_OP_SUB, type(k, TR_TY_I64), step > 0 ? hi : lo, step > 0 ? lo : hi);
    n = on_reals(k, TR_OP_MUL, tr_emit1(&k->b, TR_OP_CONV, type(k, TR_TY_F64), n),
                 real(k, 1.0 / (double)(step > 0 ? step : -step)));
    return tr_emit_select(&k->b, tr_emit_cmp(&k->b, TR_CMP_GT, n, real(k, 0)), n, real(k, 0));
}

/* Of straight code directly in the loop, or in none (UINT32_MAX); negative: it is not known. */
static double cost_in(const work *k, uint32_t loop) {
    double n = 0;
    for (uint32_t i = 0; i < k->f->rpo.n; i++) {
        tr_bid b = k->f->rpo.d[i];
        if (tr_forest_in(&k->loops, b) != loop || tr_blk_at(k->f, b)->cold)
            continue;
        for (tr_val v = tr_blk_at(k->f, b)->first; v != TR_NOVAL; v = tr_at(k->f, v)->next) {
            if (tr_at(k->f, v)->op == TR_OP_CALL || tr_at(k->f, v)->op == TR_OP_CALLX ||
                tr_at(k->f, v)->op == TR_OP_PATTERN)
                return -1;
            n += tr_ins_ends(tr_at(k->f, v)) ? 1 : tr_ins_cost(k->f, v);
        }
    }
    return n;
}

/* Of a loop's round, or of all (UINT32_MAX), with the loops in it. */
static tr_val cost_of(work *k, uint32_t loop) {
    double own = cost_in(k, loop);
    tr_val all = own < 0 ? TR_NOVAL : real(k, own);
    for (uint32_t l = 0; l < k->loops.all.n && all != TR_NOVAL; l++) {
        if (k->loops.all.d[l].parent != loop || tr_blk_at(k->f, k->loops.all.d[l].header)->cold)
            continue;
        tr_val n = rounds(k, &k->loops.all.d[l]), each = n == TR_NOVAL ? TR_NOVAL : cost_of(k, l);
        all = each == TR_NOVAL ? TR_NOVAL : on_reals(k, TR_OP_ADD, all, on_reals(k, TR_OP_MUL, n, each));
    }
    return all;
}

/* What was emitted for an estimate that is not made. */
static void take_back(tr_fn *f, uint32_t first) {
    for (tr_val v = f->ins.n; v-- > first;)
        if (tr_at(f, v)->blk != TR_NOBLK)
            tr_ins_remove(f, v);
}

void tr_opt_work(tr_fn *f, tr_val v, int64_t most) {
    const tr_ins *in = tr_at(f, v);
    uint32_t first = f->ins.n;
    work k = {.b = {.fn = f, .blk = in->blk, .before = v, .loc = in->loc},
              .in = *in,
              .p = in->imm.pat,
              .f = in->imm.pat->lam};
    assert(tr_pat_is_parallel(k.p) && !k.p->ncost && most > 0);
    tr_dom_compute(k.f);
    k.loops = tr_forest_find(k.f);
    tr_val all = cost_of(&k, UINT32_MAX), top = real(&k, (double)most);
    if (all == TR_NOVAL) {
        take_back(f, first);
        return;
    }
    all = tr_emit_select(&k.b, tr_emit_cmp(&k.b, TR_CMP_LT, all, top), all, top);
    all = tr_emit1(&k.b, TR_OP_CONV, type(&k, TR_TY_I64), all);
    tr_port_add(f, v, P_COST, tr_emit2(&k.b, TR_OP_ADD, type(&k, TR_TY_I64), all, tr_emit_int(&k.b, 1)));
}
