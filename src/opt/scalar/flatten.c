/* Short branches: both sides are computed and `select` takes one (if-conversion).
 *
 * For lambdas, the bodies of loops that are to run in vectors, where both sides are computed anyway: a chain
 * of selects needs one mask for each test, where masks made from the paths need one for each path; and fusion
 * takes straight code only. So inlining asks for it (inline.c), and the pass does it to the lambdas that
 * prange.c makes of loops, but for those with a loop inside: they run in no vectors, and their branches may
 * save work. Only pure scalar operations that every vector unit has are moved, a handful on each side. Inner
 * branches first, so that a chain of tests becomes a chain of selects.
 * Cost: one sweep. */
#include <assert.h>

#include "opt/priv.h"
#include "opt/emit.h"

enum { MAX_SIDE = 16, MAX_VALUES = 4 };

static bool is_cheap(const tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    return tr_opt_is_pure(in) && in->ty && tr_ty_is_scalar(in->ty) && tr_ins_cost(f, v) <= TR_COST_CHEAP;
}

static bool side_is_short(const tr_fn *f, tr_bid b) {
    unsigned n = 0;
    for (tr_val v = tr_blk_at(f, b)->first; v != tr_blk_at(f, b)->last; v = tr_at(f, v)->next)
        if (!is_cheap(f, v) || ++n > MAX_SIDE)
            return false;
    return true;
}

/* Between a branch and where its ways meet again, or return: a block of its own, or none. */
typedef struct side {
    tr_bid blk, to; /* to: TR_NOBLK: returns */
    uint32_t n;
    const tr_val *x; /* what it brings */
} side;

static side side_of(const tr_fn *f, const tr_edge *e) {
    const tr_blk *b = tr_blk_at(f, e->to);
    const tr_ins *last = tr_at(f, b->last);
    bool own = b->preds.n == 1 && b->params.n == 0;
    if (own && last->op == TR_OP_BR)
        return (side){e->to, last->imm.succ->to, last->imm.succ->n, last->imm.succ->args};
    if (own && last->op == TR_OP_RET)
        return (side){e->to, TR_NOBLK, 1, last->args};
    return (side){TR_NOBLK, e->to, e->n, e->args};
}

/* Do the two ways meet at once, with scalars only? */
static bool sides_meet(const tr_fn *f, const side *yes, const side *no) {
    if (yes->to != no->to || yes->n > MAX_VALUES)
        return false;
    for (uint32_t i = 0; i < yes->n; i++)
        if (yes->x[i] != no->x[i] && !tr_ty_is_scalar(tr_at(f, yes->x[i])->ty))
            return false;
    return (yes->blk == TR_NOBLK || side_is_short(f, yes->blk)) &&
           (no->blk == TR_NOBLK || side_is_short(f, no->blk));
}

static void take_in(tr_fn *f, tr_bid from, tr_val before) {
    assert(!tr_ins_ends(tr_at(f, before)) || tr_at(f, before)->op == TR_OP_CBR);
    if (from == TR_NOBLK)
        return;
    for (tr_val v = tr_blk_at(f, from)->first, next; v != tr_blk_at(f, from)->last; v = next) {
        next = tr_at(f, v)->next;
        tr_ins_move_before(f, v, before);
    }
}

static bool flatten(tr_fn *f, tr_bid b) {
    assert(tr_blk_at(f, b)->rpo != TR_NOBLK);
    tr_val last = tr_blk_at(f, b)->last, merged[MAX_VALUES];
    if (tr_at(f, last)->op != TR_OP_CBR)
        return false;
    const tr_edge *succ = tr_at(f, last)->imm.succ;
    side yes = side_of(f, &succ[0]), no = side_of(f, &succ[1]);
    if (yes.to == b || !sides_meet(f, &yes, &no))
        return false;
    take_in(f, yes.blk, last);
    take_in(f, no.blk, last);
    tr_bld bld = {f, b, last, tr_at(f, last)->loc};
    tr_val cond = tr_arg(f, last, 0);
    for (uint32_t i = 0; i < yes.n; i++) {
        tr_val x = yes.x[i], y = no.x[i];
        merged[i] = x == y ? x : tr_emit_select(&bld, cond, x, y);
    }
    tr_ins_remove(f, last);
    bld.before = TR_NOVAL;
    if (yes.to == TR_NOBLK)
        tr_emit1(&bld, TR_OP_RET, NULL, merged[0]);
    else
        tr_br(&bld, yes.to, yes.n, merged);
    return true;
}

bool tr_opt_flatten_fn(tr_fn *f) {
    bool changed = false;
    tr_cfg_compute(f);
    for (uint32_t i = f->rpo.n; i-- > 0;)
        changed |= flatten(f, f->rpo.d[i]);
    return changed && (tr_simplify_cfg(f), true);
}

static bool has_loop(const tr_fn *f) {
    for (uint32_t i = 0; i < f->rpo.n; i++) {
        const tr_ins *t = tr_term(f, f->rpo.d[i]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++)
            if (tr_blk_at(f, t->imm.succ[s].to)->rpo <= i)
                return true;
    }
    return false;
}

bool tr_opt_flatten(tr_prog *p, tr_fn *f) {
    (void)p;
    return f->is_lambda && !has_loop(f) && tr_opt_flatten_fn(f);
}
