/* Whether a value is an old one joined with others by one operation, in straight code, through branches and
 * in inner loops: of an element that is accumulated into, the next value.
 *
 * The set of values made from the old ones (`CHAIN`) is grown first; then each use of one must be of a known
 * form. Every value of the chain is then the old one joined with what does not depend on it, so where the old
 * one starts from the operation's neutral value, the chain's end is what is contributed. The same idea as of
 * variables (reduction.c), which may be flags and be chosen by branches besides.
 * Cost: values times the length of the longest chain. */
#include <assert.h>

#include "opt/prange/ploop.h"

enum { CHAIN = 1, TEST = 2 }; /* of a value: an old one and contributions; a comparison with one */

typedef struct joins {
    const tr_pjoins *q;
    tr_fn *f;
    uint8_t *is;
    bool narrows; /* a value of the chain is converted */
    tr_pjoin *out;
} joins;

static const tr_ins *at(const joins *j, tr_val v) {
    return tr_at(j->f, v);
}

static bool block_is_inside(const joins *j, tr_bid b) {
    return !j->q->in || j->q->in[b];
}

static bool in_chain(const joins *j, tr_val v) {
    return j->is[v] == CHAIN;
}

static bool has_arg_marked(const joins *j, const tr_ins *in, uint8_t what) {
    for (uint32_t k = 0; k < in->nargs; k++)
        if (j->is[in->args[k]] == what)
            return true;
    return false;
}

static bool is_nan_test(const tr_ins *in) {
    return in->op == TR_OP_MATH && in->sub == TR_MATH_ISNAN;
}

/* --- growing --- */

static bool mark_value(joins *j, tr_val v, uint8_t as) {
    if (j->is[v])
        return false;
    j->is[v] = as;
    return true;
}

static bool grow_ins(joins *j, tr_val v) {
    const tr_ins *in = at(j, v);
    tr_redk k;
    bool changed = false;
    if (in->op == TR_OP_CMP || is_nan_test(in))
        changed = has_arg_marked(j, in, CHAIN) && mark_value(j, v, TEST);
    else if (in->op == TR_OP_OR && has_arg_marked(j, in, TEST))
        changed = mark_value(j, v, TEST);
    else if (in->op == TR_OP_CONV || in->op == TR_OP_SELECT || tr_reduction_of(in, true, &k))
        changed = has_arg_marked(j, in, CHAIN) && mark_value(j, v, CHAIN);
    for (uint32_t s = 0; s < tr_nsucc(in); s++) {
        const tr_edge *e = &in->imm.succ[s];
        for (uint32_t i = 0; block_is_inside(j, e->to) && e->to != j->q->head && i < e->n; i++)
            if (in_chain(j, e->args[i]))
                changed |= mark_value(j, tr_blk_at(j->f, e->to)->params.d[i], CHAIN);
    }
    return changed;
}

static void grow(joins *j) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < j->f->rpo.n; i++)
            for (tr_val v = tr_blk_at(j->f, j->f->rpo.d[i])->first; v != TR_NOVAL; v = at(j, v)->next)
                changed |= block_is_inside(j, j->f->rpo.d[i]) && grow_ins(j, v);
    }
}

/* --- forms --- */

static bool set_kind(joins *j, tr_redk k) {
    if (j->out->any && j->out->kind != k)
        return false;
    j->out->any = true;
    j->out->kind = k;
    return true;
}

/* One operand is of the chain; the left one, where the order matters. */
static bool check_join(joins *j, const tr_ins *in) {
    tr_redk k;
    if (in->nargs != 2 || has_arg_marked(j, in, TEST) || in_chain(j, in->args[0]) == in_chain(j, in->args[1]))
        return false;
    j->out->fast &= tr_ins_fast(in);
    return tr_reduction_of(in, in_chain(j, in->args[0]), &k) && set_kind(j, k);
}

/* To or from the element's type. Code computes with 64 bits and stores fewer: as integers wrap, it is the
 * same to narrow each sum or the last one. Floats are rounded at each step, in copies as in the array. */
static bool check_conv(joins *j, const tr_ins *in) {
    const tr_ty *t = j->q->elem, *from = at(j, in->args[0])->ty, *wide = in->ty == t ? from : in->ty;
    bool alike = (tr_ty_is_int(t) && tr_ty_is_int(wide)) || tr_ty_class(t) == tr_ty_class(wide);
    j->narrows = true;
    return (in->ty == t || from == t) && alike && tr_ty_size(t) <= tr_ty_size(wide);
}

/* The one comparison in a condition, where a NaN may be asked for beside it: whether `taken` is one, which
 * stays then. NULL: it is another condition. */
static const tr_ins *comparison(const joins *j, tr_val c, tr_val taken) {
    const tr_ins *in = at(j, c);
    if (in->op != TR_OP_OR)
        return in->op == TR_OP_CMP ? in : NULL;
    for (unsigned k = 0; k < 2; k++) {
        const tr_ins *nan = at(j, in->args[k]);
        if (is_nan_test(nan) && tr_opt_same(j->f, nan->args[0], taken))
            return comparison(j, in->args[1 - k], taken);
    }
    return NULL;
}

/* The smaller or the larger one of the chain's value and another. */
static bool check_extreme(joins *j, const tr_ins *in) {
    tr_val x = in->args[1], y = in->args[2];
    const tr_ins *c = comparison(j, in->args[0], x);
    if (!c || in_chain(j, x) == in_chain(j, y) || c->sub == TR_CMP_EQ || c->sub == TR_CMP_NE ||
        tr_ty_is_complex(in->ty))
        return false;
    bool same = tr_opt_same(j->f, c->args[0], x) && tr_opt_same(j->f, c->args[1], y);
    if (!same && !(tr_opt_same(j->f, c->args[0], y) && tr_opt_same(j->f, c->args[1], x)))
        return false;
    bool less = c->sub == TR_CMP_LT || c->sub == TR_CMP_LE; /* args[0] is the smaller one when it holds */
    j->out->fast &= tr_ins_fast(c);
    return set_kind(j, less == same ? TR_RED_MIN : TR_RED_MAX);
}

static bool check_use(joins *j, tr_val v) {
    const tr_ins *in = at(j, v);
    if (!has_arg_marked(j, in, CHAIN) && !has_arg_marked(j, in, TEST))
        return true;
    if (in->op == TR_OP_YIELD || v == j->q->store) { /* the end, and no other place of it */
        for (uint32_t k = 0; k < in->nargs; k++)
            if (j->is[in->args[k]] && (k != j->q->slot || !in_chain(j, in->args[k])))
                return false;
        return v == j->q->store || j->q->store == TR_NOVAL;
    }
    if (in->op == TR_OP_SELECT) {
        if (j->is[in->args[0]])
            return j->is[in->args[0]] == TEST && check_extreme(j, in);
        return in_chain(j, in->args[1]) && in_chain(j, in->args[2]);
    }
    if (in->op == TR_OP_CMP || is_nan_test(in)) /* their own uses are looked at where they stand */
        return !has_arg_marked(j, in, TEST);
    if (in->op == TR_OP_OR && has_arg_marked(j, in, TEST))
        return !has_arg_marked(j, in, CHAIN);
    if (in->op == TR_OP_CONV)
        return !has_arg_marked(j, in, TEST) && check_conv(j, in);
    return check_join(j, in);
}

/* Values that jumps pass: a chain value where one belongs and nowhere else. */
static bool check_edges(const joins *j, tr_bid b) {
    const tr_ins *t = tr_term(j->f, b);
    for (uint32_t s = 0; s < tr_nsucc(t); s++) {
        const tr_edge *e = &t->imm.succ[s];
        for (uint32_t k = 0; k < e->n; k++) {
            bool wants = block_is_inside(j, e->to) && e->to != j->q->head &&
                         in_chain(j, tr_blk_at(j->f, e->to)->params.d[k]);
            if (j->is[e->args[k]] == TEST || in_chain(j, e->args[k]) != wants)
                return false;
        }
    }
    return true;
}

/* Does the end take a value of the chain, everywhere? */
static bool check_end(const joins *j) {
    const tr_pjoins *q = j->q;
    if (q->store != TR_NOVAL)
        return in_chain(j, at(j, q->store)->args[q->slot]);
    for (uint32_t i = 0; i < j->f->rpo.n; i++) {
        const tr_ins *t = tr_term(j->f, j->f->rpo.d[i]);
        if (t->op == TR_OP_YIELD && !in_chain(j, t->args[q->slot]))
            return false;
    }
    return true;
}

bool tr_joins(const tr_pjoins *q, tr_pjoin *out) {
    assert(q->nolds > 0 && "a value was read that may be joined");
    joins j = {.q = q, .f = q->f, .is = TR_NEW_N(&q->f->ctx->arena, uint8_t, q->f->ins.n + 1u)};
    tr_pjoin found = *out;
    j.out = &found;
    for (uint32_t k = 0; k < q->nolds; k++)
        j.is[q->olds[k]] = CHAIN;
    grow(&j);
    for (uint32_t i = 0; i < q->f->rpo.n; i++) {
        tr_bid b = q->f->rpo.d[i];
        for (tr_val v = tr_blk_at(q->f, b)->first; block_is_inside(&j, b) && v != TR_NOVAL;
             v = at(&j, v)->next)
            if (!check_use(&j, v))
                return false;
        if (block_is_inside(&j, b) && !check_edges(&j, b))
            return false;
    }
    /* Integers that were cut off may come to lie on the other side; rounding keeps the order of floats. */
    bool extreme = found.any && (found.kind == TR_RED_MIN || found.kind == TR_RED_MAX);
    if (!check_end(&j) || (extreme && j.narrows && !tr_ty_is_float(q->elem)))
        return false;
    *out = found;
    return true;
}
