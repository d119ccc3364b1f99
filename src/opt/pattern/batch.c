/* Products of a loop's rows by one matrix become one product (vectorisation of an outer loop by
 * library call, as batched matrix products).
 *
 * `for q in range(n): out[q] = a[q] @ m` calls a BLAS for each row, which reads all of m each time, and for
 * small ones costs more to call than it does. Where a round does nothing but multiply a row, or a column, by
 * a matrix that stays, and store what is made of the result element by element, all rows are multiplied at
 * once, and one pattern with an axis more stores them:
 *
 *   while (more than one round is left, checks hold, rows of what is stored are apart,
 *          and it shares no memory with what is read)
 *       { s = alloc k, m; s[q, :] = a[q, :] @ m for the next k rounds; out[q, :] = ... s[q, :] ... }
 *   then the loop, as it was, for what is left: mostly nothing.
 *
 * k is ROWS at most, so that s is small beside the arrays, and in the cache when it is read.
 * All conditions are tested when the program runs. What is stored may lie in the very row that is
 * read. Offsets of rows are affine in the loop's counter. How a product is rounded is the
 * library's choice, for one row as for many.
 * Cost: linear in loops with such a product. */
#include <assert.h>
#include <string.h>

#include "ir/alias.h"
#include "ir/rtinfo.h"
#include "ir/loops.h"
#include "opt/priv.h"
#include "opt/emit.h"
#include "rt/rt.h"

enum { MAX_PATH = 16, MAX_CONDS = 8, MAX_NEST = 8, ROWS = 512 };

typedef struct batcher {
    tr_fn *f;
    const tr_forest *loops;
    uint32_t loop;
    const tr_loop *l;    /* that one */
    tr_val counter, end; /* it goes from some number to below `end` */
    tr_val made, product, pattern;
    /* that do not change, and lead to where the product is if true; negated ones are in `no` */
    tr_val conds[MAX_CONDS];
    bool no[MAX_CONDS];
    unsigned nconds;
    tr_bld b;                 /* before the loop */
    tr_val first, count, all; /* the counter's first value; rounds; all tests */
    tr_val *at;               /* per value: what it is in the first round, or TR_NOVAL */
    uint32_t nat;
} batcher;

static bool is_inside(const batcher *s, tr_val v) {
    return !tr_forest_is_outside(s->loops, s->loop, v);
}

static bool block_is_inside(const batcher *s, tr_bid b) {
    return tr_forest_has(s->loops, s->loop, b);
}

/* --- is it such a loop? --- */

static bool take_cond(batcher *s, tr_val cond, bool no) {
    const tr_ins *in = tr_at(s->f, cond);
    if (in->op == TR_OP_AND && !no && is_inside(s, cond))
        return take_cond(s, in->args[0], no) && take_cond(s, in->args[1], no);
    if (s->nconds == MAX_CONDS)
        return false;
    s->conds[s->nconds] = cond;
    s->no[s->nconds++] = no;
    return true;
}

static bool take_once(tr_val *to, tr_val v) {
    bool is_first = *to == TR_NOVAL;
    *to = v;
    return is_first;
}

static bool take_ins(batcher *s, tr_val v) {
    const tr_ins *in = tr_at(s->f, v);
    if (in->op == TR_OP_ALLOC)
        return take_once(&s->made, v);
    if (tr_opt_is_matmul(in))
        return s->made != TR_NOVAL && take_once(&s->product, v);
    if (in->op == TR_OP_PATTERN)
        return s->product != TR_NOVAL && take_once(&s->pattern, v);
    if (in->op == TR_OP_CHECK)
        return take_cond(s, in->args[0], false);
    return tr_opt_is_pure(in) && (tr_ty_is_scalar(in->ty) || tr_is_view(in));
}

/* The block that a round goes on in after b, where nothing cold is wanted; TR_NOBLK: it may
 * go on in several, or leave. */
static tr_bid goes_on(batcher *s, tr_bid b) {
    const tr_ins *t = tr_term(s->f, b);
    if (t->op == TR_OP_BR)
        return t->imm.succ[0].to;
    if (t->op != TR_OP_CBR)
        return TR_NOBLK;
    const tr_edge *yes = &t->imm.succ[0], *no = &t->imm.succ[1];
    bool cold_yes = tr_blk_at(s->f, yes->to)->cold, cold_no = tr_blk_at(s->f, no->to)->cold;
    if (cold_yes == cold_no || !take_cond(s, t->args[0], cold_yes))
        return TR_NOBLK;
    return cold_yes ? no->to : yes->to;
}

/* A round, but for what is cold: a chain of blocks without params from the head back to it. */
static bool take_round(batcher *s, tr_bid b) {
    for (unsigned n = 0; n < MAX_PATH && b != TR_NOBLK && block_is_inside(s, b); n++) {
        const tr_blk *blk = tr_blk_at(s->f, b);
        if (b == s->l->header)
            return s->pattern != TR_NOVAL;
        if (blk->params.n)
            return false;
        for (tr_val v = blk->first; v != blk->last; v = tr_at(s->f, v)->next)
            if (!take_ins(s, v))
                return false;
        b = goes_on(s, b);
    }
    return false;
}

static bool comes_round_by_one(const batcher *s) {
    tr_counter c;
    return tr_loop_counter(s->f, s->l->header, s->counter, &c) && tr_is_int(s->f, c.step, 1);
}

/* for (counter = ...; counter < end; counter++), and nothing else comes round or is left behind. */
static bool loop_counts_up(batcher *s) {
    tr_fn *f = s->f;
    const tr_blk *h = tr_blk_at(f, s->l->header);
    tr_loop_test t;
    if (h->params.n != 1 || h->cold || !tr_forest_test(s->loops, s->loop, &t) || h->first != t.cond ||
        tr_at(f, h->first)->next != h->last || tr_at(f, t.counter)->ty->kind != TR_TY_I64 ||
        tr_term(f, s->l->header)->imm.succ[0].n)
        return false;
    s->counter = t.counter;
    s->end = t.bound;
    return comes_round_by_one(s);
}

static bool uses_inside(const batcher *s, const tr_ins *in) {
    for (uint32_t i = 0; i < in->nargs; i++)
        if (is_inside(s, in->args[i]))
            return true;
    for (uint32_t e = 0; e < tr_nsucc(in); e++)
        for (uint32_t i = 0; i < in->imm.succ[e].n; i++)
            if (is_inside(s, in->imm.succ[e].args[i]))
                return true;
    return false;
}

/* Nothing that the loop computes is used after it. */
static bool loop_leaves_no_value(const batcher *s) {
    const tr_fn *f = s->f;
    const tr_edge *out = &tr_term(f, s->l->header)->imm.succ[1];
    for (uint32_t i = 0; i < out->n; i++)
        if (is_inside(s, out->args[i]))
            return false;
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead || block_is_inside(s, b) ? TR_NOVAL : tr_blk_at(f, b)->first;
             v != TR_NOVAL; v = tr_at(f, v)->next)
            if (uses_inside(s, tr_at(f, v)))
                return false;
    return true;
}

/* --- values of a round --- */

static bool views_stay_sized(const batcher *s, tr_val v, unsigned deep);

/* Does it change from round to round? */
static bool value_changes_by_round(const batcher *s, tr_val v, unsigned deep) {
    const tr_ins *in = tr_at(s->f, v);
    if (v == s->counter || !deep)
        return true;
    if (!is_inside(s, v))
        return false;
    if (!tr_opt_is_pure(in))
        return true;
    if (in->op == TR_OP_DIM || in->op == TR_OP_STRIDE)
        return !views_stay_sized(s, in->args[0], deep - 1);
    for (uint32_t i = 0; i < in->nargs; i++)
        if (value_changes_by_round(s, in->args[i], deep - 1))
            return true;
    return false;
}

/* The operands behind which a view's sizes and distances stand: they are not where it begins. */
static uint32_t nstarts(const tr_ins *in) {
    return in->op == TR_OP_VIEW ? 1 + tr_view_nbase(in) : in->op == TR_OP_RESTRIDE ? 2 : 0;
}

/* Have the views of all rounds the same sizes and distances? */
static bool views_stay_sized(const batcher *s, tr_val v, unsigned deep) {
    for (; is_inside(s, v); v = tr_arg(s->f, v, 0)) {
        const tr_ins *in = tr_at(s->f, v);
        if (!tr_is_view(in))
            return !value_changes_by_round(s, v, deep);
        for (uint32_t i = nstarts(in); i < in->nargs; i++)
            if (!deep || value_changes_by_round(s, in->args[i], deep - 1))
                return false;
    }
    return true;
}

static bool value_stays(const batcher *s, tr_val v) {
    const tr_ins *in = tr_at(s->f, v);
    return !is_inside(s, v) || (tr_opt_is_pure(in) && !value_changes_by_round(s, v, MAX_NEST));
}

/* Is it base + step * (round)? */
static bool is_affine(const batcher *s, tr_val v, unsigned deep) {
    const tr_ins *in = tr_at(s->f, v);
    if (v == s->counter || value_stays(s, v))
        return true;
    if (!deep)
        return false;
    if (in->op == TR_OP_ADD || in->op == TR_OP_SUB)
        return is_affine(s, in->args[0], deep - 1) && is_affine(s, in->args[1], deep - 1);
    return in->op == TR_OP_MUL && ((is_affine(s, in->args[0], deep - 1) && value_stays(s, in->args[1])) ||
                                   (value_stays(s, in->args[0]) && is_affine(s, in->args[1], deep - 1)));
}

/* Views one on the other down to an array from outside, or the product's own: offsets that are
 * affine, and sizes and distances that stay. */
static bool is_row_of_round(const batcher *s, tr_val v) {
    const tr_ty *elem = tr_at(s->f, v)->ty->elem;
    if (tr_ty_is_loose(tr_at(s->f, v)->ty))
        return false;
    for (; is_inside(s, v) && v != s->made; v = tr_arg(s->f, v, 0)) {
        const tr_ins *in = tr_at(s->f, v);
        if (!tr_is_view(in) || in->op == TR_OP_FIELD || tr_at(s->f, in->args[0])->ty->elem != elem)
            return false;
        for (uint32_t i = 1; i < in->nargs; i++)
            if (i < nstarts(in) ? !is_affine(s, in->args[i], MAX_NEST) : !value_stays(s, in->args[i]))
                return false;
    }
    return true;
}

/* Does the view begin where it did the round before? */
static bool view_stays_put(const batcher *s, const tr_ins *view) {
    for (uint32_t i = 1; i < nstarts(view); i++)
        if (!value_stays(s, view->args[i]))
            return false;
    return true;
}

static bool is_row_that_moves(const batcher *s, tr_val v) {
    bool any = false;
    for (tr_val x = v; is_inside(s, x) && x != s->made; x = tr_arg(s->f, x, 0))
        any = any || !view_stays_put(s, tr_at(s->f, x));
    return any && is_row_of_round(s, v) && tr_array_root(s->f, v) != s->made;
}

static bool is_result(const batcher *s, tr_val v) {
    return is_row_of_round(s, v) && tr_array_root(s->f, v) == s->made;
}

/* Does the operand of the product have one row (axis 0), or one column? */
static bool axis_has_one_item(const batcher *s, tr_val v, unsigned axis) {
    const tr_ins *in = tr_at(s->f, v);
    return tr_is_view(in) && in->ty->ndim == 2 && tr_is_int(s->f, tr_made_sizes(in)[axis], 1);
}

static bool is_operand(const batcher *s, uint32_t first, uint32_t n, tr_val v) {
    for (uint32_t i = 0; i < n; i++)
        if (tr_arg(s->f, s->pattern, first + i) == v)
            return true;
    return false;
}

/* Says condition i that an output's row is apart from an input's? That is tested for all rows. */
static bool cond_is_tested(const batcher *s, unsigned i) {
    const tr_ins *in = tr_at(s->f, s->conds[i]);
    const tr_pat *t = tr_at(s->f, s->pattern)->imm.pat;
    return in->op == TR_OP_APART && !s->no[i] && is_operand(s, tr_pat_at(t, P_OUT), t->nout, in->args[0]) &&
           is_operand(s, tr_pat_at(t, P_IN), t->nin, in->args[1]);
}

static bool loop_is_batch(const batcher *s, bool *left) {
    const tr_ins *mul = tr_at(s->f, s->product), *p = tr_at(s->f, s->pattern);
    const tr_pat *t = p->imm.pat;
    tr_val x = mul->args[TR_MUL_LEFT], y = mul->args[TR_MUL_RIGHT], r = mul->args[TR_MUL_RESULT];
    *left = is_row_that_moves(s, x) && axis_has_one_item(s, x, 0);
    if (*left ? !is_row_of_round(s, y) || is_row_that_moves(s, y) || !axis_has_one_item(s, r, 0)
              : !is_row_that_moves(s, y) || !axis_has_one_item(s, y, 1) || !is_row_of_round(s, x) ||
                    is_row_that_moves(s, x) || !axis_has_one_item(s, r, 1))
        return false;
    if (tr_array_root(s->f, r) != s->made || !tr_pat_is_map(t) || !t->nspace || t->nspace >= TR_MAX_NDIM ||
        !tr_fn_is_scalar(t->lam))
        return false;
    for (uint32_t i = 0; i < t->nspace; i++)
        if (!value_stays(s, p->args[i]))
            return false;
    for (uint32_t i = 0; i < t->nin; i++)
        if (!is_row_of_round(s, p->args[tr_pat_at(t, P_IN) + i]))
            return false;
    for (uint32_t i = 0; i < t->nout; i++)
        if (!is_row_that_moves(s, p->args[tr_pat_at(t, P_OUT) + i]))
            return false;
    for (uint32_t i = 0; i < t->ncap; i++)
        if (!value_stays(s, p->args[tr_pat_at(t, P_CAP) + i]))
            return false;
    for (unsigned i = 0; i < s->nconds; i++)
        if (!value_stays(s, s->conds[i]) && !cond_is_tested(s, i))
            return false;
    return t->nout > 0;
}

/* --- the same before the loop --- */

static const tr_ty *i64(const batcher *s) {
    return tr_ty_scalar(s->f->ctx->types, TR_TY_I64);
}

static tr_val op2(batcher *s, tr_op op, tr_val x, tr_val y) {
    int64_t same = op == TR_OP_MUL ? 1 : 0;
    if (tr_is_int(s->f, y, same))
        return x;
    return tr_is_int(s->f, x, same) && op != TR_OP_SUB ? y : tr_emit2(&s->b, op, i64(s), x, y);
}

/* v as it is in the first round. */
static tr_val at_first(batcher *s, tr_val v) {
    if (v == s->counter)
        return s->first;
    if (!is_inside(s, v))
        return v;
    assert(v < s->nat);
    if (s->at[v] != TR_NOVAL)
        return s->at[v];
    tr_ins in = *tr_at(s->f, v);
    assert(tr_opt_is_pure(&in));
    tr_val *args = TR_NEW_N(&s->f->ctx->arena, tr_val, in.nargs + 1u);
    for (uint32_t i = 0; i < in.nargs; i++)
        args[i] = at_first(s, in.args[i]);
    tr_val new = tr_emit_v(&s->b, (tr_op)in.op, in.ty, in.nargs, args);
    tr_at(s->f, new)->sub = in.sub;
    tr_at(s->f, new)->imm = in.imm;
    return s->at[v] = new;
}

/* How much v grows from one round to the next. */
static tr_val step_of(batcher *s, tr_val v) {
    if (v == s->counter)
        return tr_emit_int(&s->b, 1);
    if (value_stays(s, v))
        return tr_emit_int(&s->b, 0);
    tr_ins in = *tr_at(s->f, v);
    if (in.op == TR_OP_MUL)
        return value_stays(s, in.args[1])
                   ? op2(s, TR_OP_MUL, step_of(s, in.args[0]), at_first(s, in.args[1]))
                   : op2(s, TR_OP_MUL, at_first(s, in.args[0]), step_of(s, in.args[1]));
    return op2(s, (tr_op)in.op, step_of(s, in.args[0]), step_of(s, in.args[1]));
}

/* Rows of all rounds: where the first begins, from one to the next, sizes and distances in one. */
typedef struct lifted {
    tr_val base, off, step, shape[TR_MAX_NDIM], stride[TR_MAX_NDIM];
    const tr_ty *elem;
    unsigned ndim;
    bool readonly;
} lifted;

static tr_val axis_of(batcher *s, tr_op op, tr_val array, unsigned k) {
    tr_val v = tr_emit1(&s->b, op, i64(s), array);
    tr_at(s->f, v)->imm.i = k;
    return v;
}

/* The distance along axis k of v, which stays, before the loop, where v may not be. */
static tr_val stride_at_first(batcher *s, tr_val v, unsigned k) {
    tr_ins in = *tr_at(s->f, v);
    if (!is_inside(s, v))
        return axis_of(s, TR_OP_STRIDE, v, k);
    if (in.op == TR_OP_RESTRIDE && in.ty->layout == TR_LAYOUT_ANY)
        return at_first(s, in.args[2u + in.ty->ndim + k]);
    if (in.op == TR_OP_VIEW && in.ty->layout == TR_LAYOUT_ANY && tr_view_axis(&in, k) < 0)
        return tr_emit_int(&s->b, 0);
    if (in.op == TR_OP_VIEW && in.ty->layout == TR_LAYOUT_ANY)
        return op2(s, TR_OP_MUL, stride_at_first(s, in.args[0], (unsigned)tr_view_axis(&in, k)),
                   at_first(s, tr_view_steps(&in)[k]));
    assert(in.ty->layout != TR_LAYOUT_ANY && tr_made_sizes(&in));
    tr_val by = tr_emit_int(&s->b, 1);
    bool c = in.ty->layout == TR_LAYOUT_C;
    for (unsigned j = c ? k + 1 : 0; j < (c ? in.ty->ndim : k); j++)
        by = op2(s, TR_OP_MUL, by, at_first(s, tr_made_sizes(&in)[j]));
    return by;
}

/* Where the view of the first round begins in its base, and how far the next one's does from there. */
static void add_start(batcher *s, tr_val v, lifted *out) {
    tr_ins in = *tr_at(s->f, v);
    for (uint32_t i = 1; i < nstarts(&in); i++) {
        tr_val from = at_first(s, in.args[i]), step = step_of(s, in.args[i]);
        if (in.op == TR_OP_VIEW) {
            tr_val by = stride_at_first(s, in.args[0], i - 1);
            from = op2(s, TR_OP_MUL, from, by);
            step = op2(s, TR_OP_MUL, step, by);
        }
        out->off = op2(s, TR_OP_ADD, out->off, from);
        out->step = op2(s, TR_OP_ADD, out->step, step);
    }
}

static void sizes_of(batcher *s, tr_val v, lifted *out) {
    tr_ins in = *tr_at(s->f, v);
    unsigned n = in.ty->ndim;
    for (unsigned k = 0; k < n; k++) {
        if (tr_is_view(&in)) {
            out->shape[k] = at_first(s, tr_made_sizes(&in)[k]);
            continue;
        }
        out->shape[k] = axis_of(s, TR_OP_DIM, v, k);
    }
    tr_val by = tr_emit_int(&s->b, 1);
    for (unsigned i = 0; i < n; i++) {
        unsigned k = in.ty->layout == TR_LAYOUT_F ? i : n - 1 - i;
        out->stride[k] = by;
        if (in.ty->layout != TR_LAYOUT_ANY) {
            by = op2(s, TR_OP_MUL, by, out->shape[k]);
        } else {
            out->stride[k] = stride_at_first(s, v, k);
        }
    }
}

static void lift(batcher *s, tr_val v, lifted *out) {
    *out = (lifted){.off = tr_emit_int(&s->b, 0),
                    .step = tr_emit_int(&s->b, 0),
                    .elem = tr_at(s->f, v)->ty->elem,
                    .ndim = tr_at(s->f, v)->ty->ndim};
    sizes_of(s, v, out);
    for (; is_inside(s, v) && v != s->made; v = tr_arg(s->f, v, 0))
        add_start(s, v, out);
    out->base = v;
    out->readonly = tr_at(s->f, v)->ty->readonly;
}

/* An array of these sizes and distances, of the array `base`, which has elements side by
 * side from where it begins. */
static tr_val view(batcher *s, tr_val base, tr_val off, const lifted *like, unsigned n, const tr_val *shape,
                   const tr_val *stride) {
    tr_val args[2 + 2 * TR_MAX_NDIM] = {base, off};
    memcpy(args + 2, shape, n * sizeof *args);
    memcpy(args + 2 + n, stride, n * sizeof *args);
    const tr_ty *t = tr_ty_array(s->f->ctx->types, like->elem, n, TR_LAYOUT_ANY, like->readonly);
    return tr_emit_v(&s->b, TR_OP_RESTRIDE, t, 2 + 2 * n, args);
}

/* With an axis more, before all others. */
static tr_val all_rows(batcher *s, const lifted *r) {
    tr_val shape[TR_MAX_NDIM], stride[TR_MAX_NDIM];
    shape[0] = s->count;
    stride[0] = r->step;
    memcpy(shape + 1, r->shape, r->ndim * sizeof *shape);
    memcpy(stride + 1, r->stride, r->ndim * sizeof *stride);
    return view(s, r->base, r->off, r, r->ndim + 1, shape, stride);
}

/* --- the tests --- */

static void test(batcher *s, tr_val cond) {
    s->all = tr_emit_both(&s->b, s->all, cond);
}

static void test_cmp(batcher *s, tr_cmpop how, tr_val x, tr_val y) {
    test(s, tr_emit_cmp(&s->b, how, x, y));
}

static void test_apart(batcher *s, tr_val x, tr_val y) {
    test(s, tr_emit_apart(&s->b, x, y, true));
}

/* From one row to the next is farther than a row is long. */
static void test_rows_apart(batcher *s, const lifted *r) {
    tr_val far = tr_emit_int(&s->b, 0), one = tr_emit_int(&s->b, 1);
    for (unsigned k = 0; k < r->ndim; k++) {
        test_cmp(s, TR_CMP_GE, r->stride[k], tr_emit_int(&s->b, 0));
        far = op2(s, TR_OP_ADD, far, op2(s, TR_OP_MUL, op2(s, TR_OP_SUB, r->shape[k], one), r->stride[k]));
    }
    test_cmp(s, TR_CMP_GT, r->step, far);
}

/* --- all rows at once --- */

typedef struct plan {
    bool left; /* rows are multiplied from the left */
    lifted row, result;
    tr_val rows, matrix, width; /* as the product takes them; elements of a result */
    tr_val *in, *out;           /* the pattern's, lifted; inputs that are results: TR_NOVAL */
} plan;

/* The matrix; seen along the other diagonal where columns are multiplied, which lie as rows. */
static tr_val matrix_of(batcher *s, tr_val m, bool left) {
    lifted r;
    lift(s, m, &r);
    tr_val shape[2] = {r.shape[left ? 0 : 1], r.shape[left ? 1 : 0]},
           stride[2] = {r.stride[left ? 0 : 1], r.stride[left ? 1 : 0]};
    return view(s, r.base, r.off, &r, 2, shape, stride);
}

/* Is v the row o, or a part of it that stays? */
static bool is_part_of(const batcher *s, tr_val v, tr_val o) {
    while (v != o && is_inside(s, v) && tr_is_view(tr_at(s->f, v)) && view_stays_put(s, tr_at(s->f, v)))
        v = tr_arg(s->f, v, 0);
    return v == o;
}

/* Everything but the result's arrays; and the tests. */
static void prepare(batcher *s, plan *p) {
    tr_ins mul = *tr_at(s->f, s->product), pat = *tr_at(s->f, s->pattern);
    const tr_pat *t = pat.imm.pat;
    tr_val x = mul.args[p->left ? TR_MUL_LEFT : TR_MUL_RIGHT];
    unsigned along = p->left ? 1 : 0;
    lift(s, x, &p->row);
    p->rows = view(s, p->row.base, p->row.off, &p->row, 2, (tr_val[]){s->count, p->row.shape[along]},
                   (tr_val[]){p->row.step, p->row.stride[along]});
    p->matrix = matrix_of(s, mul.args[p->left ? TR_MUL_RIGHT : TR_MUL_LEFT], p->left);
    p->result.elem = tr_at(s->f, s->made)->ty->elem;
    p->width = at_first(s, tr_made_sizes(tr_at(s->f, mul.args[TR_MUL_RESULT]))[along]);
    p->in = TR_NEW_N(&s->f->ctx->arena, tr_val, t->nin + 1u);
    p->out = TR_NEW_N(&s->f->ctx->arena, tr_val, t->nout + 1u);
    test_cmp(s, TR_CMP_GT, s->count, tr_emit_int(&s->b, 1));
    for (unsigned i = 0; i < s->nconds; i++) {
        if (cond_is_tested(s, i))
            continue;
        tr_val c = at_first(s, s->conds[i]);
        test(s, s->no[i] ? tr_emit_not(&s->b, c) : c);
    }
    for (uint32_t i = 0; i < t->nin; i++) {
        lifted r;
        p->in[i] = TR_NOVAL;
        if (is_result(s, pat.args[tr_pat_at(t, P_IN) + i]))
            continue;
        lift(s, pat.args[tr_pat_at(t, P_IN) + i], &r);
        p->in[i] = all_rows(s, &r);
    }
    for (uint32_t i = 0; i < t->nout; i++) {
        tr_val o = pat.args[tr_pat_at(t, P_OUT) + i];
        lifted r;
        lift(s, o, &r);
        p->out[i] = all_rows(s, &r);
        test_rows_apart(s, &r);
        test_apart(s, p->out[i], p->matrix);
        if (!is_part_of(s, x, o)) /* a row may be replaced by what is made of it */
            test_apart(s, p->out[i], p->rows);
        for (uint32_t k = 0; k < t->nin; k++)
            if (p->in[k] != TR_NOVAL && pat.args[tr_pat_at(t, P_IN) + k] != o)
                test_apart(s, p->out[i], p->in[k]);
        for (uint32_t k = 0; k < i; k++)
            test_apart(s, p->out[i], p->out[k]);
    }
}

/* The lambda with one index more. */
static tr_fn *with_index(const batcher *s, const tr_fn *lam) {
    tr_fn *new = tr_fn_clone(lam);
    tr_val q = tr_blk_param(new, 0, i64(s), NULL);
    tr_blk *entry = tr_blk_at(new, 0);
    memmove(entry->params.d + 1, entry->params.d, (entry->params.n - 1u) * sizeof q);
    entry->params.d[0] = q;
    return new;
}

/* A result's view in the array of all results, a row of which has `width` elements. */
static tr_val rows_of_result(batcher *s, tr_val v, tr_val results, tr_val width) {
    lifted r;
    lift(s, v, &r);
    r.base = results;
    r.step = width;
    return all_rows(s, &r);
}

static void multiply(batcher *s, const plan *p) {
    tr_ins mul = *tr_at(s->f, s->product), made = *tr_at(s->f, s->made), pat = *tr_at(s->f, s->pattern);
    tr_val shape[2] = {s->count, p->width}, stride[2] = {p->width, tr_emit_int(&s->b, 1)};
    const tr_ty *t = tr_ty_array(s->f->ctx->types, made.ty->elem, 2, TR_LAYOUT_C, false);
    tr_val all = tr_emit_v(&s->b, TR_OP_ALLOC, t, 2, shape);
    tr_at(s->f, all)->imm = made.imm;
    tr_val args[TR_MUL_ARGS] = {
        [TR_MUL_KIND] = mul.args[TR_MUL_KIND], [TR_MUL_LEFT] = p->rows, [TR_MUL_RIGHT] = p->matrix};
    args[TR_MUL_RESULT] = view(s, all, tr_emit_int(&s->b, 0), &p->result, 2, shape, stride);
    tr_at(s->f, tr_emit_v(&s->b, TR_OP_CALLRT, mul.ty, TR_MUL_ARGS, args))->imm = mul.imm;

    const tr_pat *q = pat.imm.pat;
    tr_node m = tr_node_new(s->f);
    m.t = *q;
    m.t.lam = with_index(s, q->lam);
    m.t.apart = true; /* it was tested */
    tr_node_put(&m, P_SPACE, s->count);
    for (uint32_t i = 0; i < q->nspace; i++)
        tr_node_put(&m, P_SPACE, at_first(s, pat.args[i]));
    for (uint32_t i = 0; i < q->nin; i++)
        tr_node_put(&m, P_IN,
                    p->in[i] != TR_NOVAL
                        ? p->in[i]
                        : rows_of_result(s, pat.args[tr_pat_at(q, P_IN) + i], all, p->width));
    tr_node_put_all(&m, P_OUT, p->out, q->nout);
    for (uint32_t i = 0; i < q->ncap; i++)
        tr_node_put(&m, P_CAP, at_first(s, pat.args[tr_pat_at(q, P_CAP) + i]));
    tr_node_emit(&m, &s->b);
}

static void batch(batcher *s, bool left) {
    tr_fn *f = s->f;
    tr_bid before = tr_opt_block_before(f, s->l->header), fast = tr_blk_new(f);
    plan p = {.left = left};
    s->first = tr_blk_at(f, before)->params.d[0];
    s->b = (tr_bld){.fn = f, .blk = before, .before = TR_NOVAL, .loc = tr_at(f, s->product)->loc};
    s->all = TR_NOVAL;
    s->nat = f->ins.n;
    s->at = tr_no_vals(f);
    s->count = op2(s, TR_OP_SUB, s->end, s->first);
    s->count = tr_emit_least(&s->b, s->count, tr_emit_int(&s->b, ROWS));
    prepare(s, &p);
    tr_cbr(&s->b, s->all, fast, 0, NULL, s->l->header, 1, &s->first);
    s->b.blk = fast;
    multiply(s, &p);
    tr_val next = op2(s, TR_OP_ADD, s->first, s->count);
    tr_br(&s->b, before, 1, &next);
}

/* --- the pass --- */

static bool has_product(const tr_fn *f) {
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (tr_opt_is_matmul(tr_at(f, v)))
                return true;
    return false;
}

static bool try_loop(tr_fn *f, const tr_forest *loops, uint32_t loop) {
    batcher s = {.f = f,
                 .loops = loops,
                 .loop = loop,
                 .l = tr_forest_at(loops, loop),
                 .made = TR_NOVAL,
                 .product = TR_NOVAL,
                 .pattern = TR_NOVAL};
    bool left;
    if (!loop_counts_up(&s) || !take_round(&s, tr_term(f, s.l->header)->imm.succ[0].to) ||
        !loop_leaves_no_value(&s) || !loop_is_batch(&s, &left))
        return false;
    batch(&s, left);
    return true;
}

bool tr_opt_batch(tr_prog *p, tr_fn *f) {
    (void)p;
    bool changed = false;
    if (!has_product(f))
        return false;
    tr_forest loops = tr_forest_find(f);
    for (uint32_t i = 0; i < loops.all.n; i++) {
        if (!tr_forest_is_innermost(&loops, i) || !try_loop(f, &loops, i))
            continue;
        changed = true;
        tr_cfg_compute(f);
        tr_dom_compute(f);
    }
    return changed;
}
