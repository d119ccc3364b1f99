/* One point of a pattern: its items, the body of its lambda, how two values are joined.
 *
 * An axis that may repeat is asked where it is read, unless the IR shows that the array is as long as the
 * space. Cost: the lambda is copied once for each call. */
#include "opt/pattern/point.h"

#include <string.h>

#include "ir/summary.h"
#include "opt/emit.h"

/* --- small pieces --- */

tr_bid tr_point_block(tr_point *s) {
    tr_bid b = tr_blk_new(s->f);
    tr_blk_at(s->f, b)->cold = s->cold;
    return b;
}

tr_val tr_point_test(tr_point *s, tr_mathfn fn, tr_val x) {
    tr_val v = tr_emit1(&s->b, TR_OP_MATH, s->i1, x);
    tr_at(s->f, v)->sub = (uint8_t)fn;
    return v;
}

tr_val tr_point_arith(tr_point *s, tr_op op, const tr_ty *t, tr_val x, tr_val y, uint8_t fast) {
    tr_val v = tr_emit2(&s->b, op, t, x, y);
    if (tr_ins_is_real(s->f, tr_at(s->f, v)))
        tr_at(s->f, v)->flags |= (uint8_t)(fast << F_FAST_SHIFT);
    return v;
}

/* --- a lambda's body, here --- */

tr_val *tr_point_body(tr_point *s, const tr_fn *g, uint32_t nargs, const tr_val *args) {
    tr_fn *f = s->f;
    tr_arena *a = &f->ctx->arena;
    tr_bid *bmap = tr_no_blks(g), after = tr_point_block(s);
    tr_u32s blks = tr_live_blocks(g);
    tr_clone_blocks(f, g, blks.d, blks.n, tr_no_vals(g), bmap, f->locs.d[s->in.loc].parent);
    tr_br(&s->b, bmap[0], nargs, args);
    const tr_ins *y = tr_pat_yield(g);
    tr_val *out = TR_NEW_N(a, tr_val, (y ? y->nargs : 0) + 1u);
    for (uint32_t k = 0; y && k < y->nargs; k++)
        out[k] = tr_blk_param(f, after, tr_at(g, y->args[k])->ty, NULL);
    for (uint32_t i = 0; i < blks.n; i++) {
        tr_bid blk = bmap[blks.d[i]];
        tr_val last = tr_blk_at(f, blk)->last;
        tr_ins t = *tr_at(f, last);
        if (s->cold > tr_blk_at(f, blk)->cold)
            tr_blk_at(f, blk)->cold = s->cold;
        if (t.op != TR_OP_YIELD)
            continue;
        tr_ins_remove(f, last);
        tr_bld b = {.fn = f, .blk = blk, .before = TR_NOVAL, .loc = t.loc};
        tr_br(&b, after, t.nargs, t.args);
    }
    s->b.blk = after;
    return out;
}

/* --- elements --- */

/* Is the axis of the array surely as long as the space? */
static bool axis_is_whole(const tr_point *s, tr_val array, unsigned k, tr_val extent) {
    const tr_ins *e = tr_at(s->f, extent), *a = tr_at(s->f, array);
    if (e->op == TR_OP_DIM && e->args[0] == array && e->imm.i == (int64_t)k)
        return true;
    return tr_made_sizes(a) && tr_made_sizes(a)[k] == extent;
}

/* Operands of an access to the array that is operand x: itself, and the index of each of its axes, which are
 * those of `axes` in the space. */
static tr_val *access_to(tr_point *s, uint32_t x, unsigned n, const unsigned *axes, bool repeats) {
    const tr_point *stood = s->stood ? s->stood : s;
    tr_val *args = TR_NEW_N(&s->f->ctx->arena, tr_val, n + 2u), array = s->in.args[x];
    args[0] = array;
    for (unsigned k = 0; k < n; k++) {
        unsigned axis = axes ? axes[k] : k;
        args[1 + k] = s->idx[axis];
        if (!repeats || axis_is_whole(stood, stood->in.args[x], k, stood->in.args[axis]))
            continue;
        tr_val d = tr_emit_dim(&s->b, array, k);
        args[1 + k] = tr_emit_select(&s->b, tr_emit_cmp(&s->b, TR_CMP_EQ, d, tr_emit_int(&s->b, 1)),
                                     tr_emit_int(&s->b, 0), s->idx[axis]);
    }
    return args;
}

tr_val tr_point_load(tr_point *s, uint32_t x, unsigned n, const unsigned *axes) {
    tr_val *args = access_to(s, x, n, axes, true);
    return tr_emit_v(&s->b, TR_OP_LOAD, tr_at(s->f, s->in.args[x])->ty->elem, n + 1, args);
}

void tr_point_store(tr_point *s, uint32_t x, unsigned n, const unsigned *axes, tr_val item) {
    tr_val *args = access_to(s, x, n, axes, false);
    args[n + 1] = item;
    tr_emit_v(&s->b, TR_OP_STORE, NULL, n + 2, args);
}

/* --- the lambda --- */

tr_val *tr_point_yield(tr_point *s) {
    const tr_pat *p = s->p;
    uint32_t n = tr_pat_nparams(p, TR_LAM);
    tr_val *args = TR_NEW_N(&s->f->ctx->arena, tr_val, n + 1u);
    assert(p->nscan == 0 && "nothing of what is before the element is known here");
    for (tr_ports g = tr_ports_of(p, TR_LAM); tr_ports_left(&g); tr_ports_next(p, TR_LAM, &g))
        for (uint32_t k = 0; g.is->takes[TR_LAM] && k < g.n; k++)
            args[g.param + k] = g.is->takes[TR_LAM] == TR_TAKES_INDEX ? s->idx[k]
                                : g.is->takes[TR_LAM] == TR_TAKES_ITEM
                                    ? tr_point_load(s, g.arg + k, p->nspace, NULL)
                                    : s->in.args[g.arg + k];
    return tr_point_body(s, p->lam, n, args);
}

/* --- joining --- */

tr_val tr_point_wins(tr_point *s, tr_redk kind, const tr_ty *t, tr_val best, tr_val x) {
    tr_val better = tr_emit_cmp(&s->b, tr_red_info[kind].wins, x, best);
    if (!tr_ty_is_float(t))
        return better;
    if (!tr_red_info[kind].place) { /* of equal zeros the one that is smaller, or larger */
        tr_val sign = tr_point_test(s, TR_MATH_SIGNBIT, x);
        sign = kind == TR_RED_MAX ? tr_emit_not(&s->b, sign) : sign;
        better = tr_point_both(s, TR_OP_OR, better,
                               tr_point_both(s, TR_OP_AND, tr_emit_cmp(&s->b, TR_CMP_EQ, x, best), sign));
    }
    better = tr_point_both(s, TR_OP_OR, better, tr_point_test(s, TR_MATH_ISNAN, x));
    return tr_point_both(s, TR_OP_AND, better, tr_emit_not(&s->b, tr_point_test(s, TR_MATH_ISNAN, best)));
}

tr_val tr_point_join(tr_point *s, tr_redk kind, const tr_ty *t, tr_val x, tr_val y, uint8_t fast) {
    tr_op op = tr_red_op(kind, t);
    if (kind == TR_RED_LAST)
        return y;
    return op == TR_OP__COUNT ? tr_emit_select(&s->b, tr_point_wins(s, kind, t, x, y), y, x)
                              : tr_point_arith(s, op, t, x, y, fast);
}

tr_val tr_point_join_by(tr_point *s, const tr_fn *by, tr_val x, tr_val y) {
    uint32_t n = s->p->ncap;
    tr_val *args = TR_NEW_N(&s->f->ctx->arena, tr_val, TR_BY_CAP + n);
    args[0] = x;
    args[1] = y;
    memcpy(args + TR_BY_CAP, s->in.args + tr_pat_at(s->p, P_CAP), n * sizeof *args);
    return tr_point_body(s, by, TR_BY_CAP + n, args)[0];
}
