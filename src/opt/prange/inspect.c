/* Places that the iterations of a prange loop compute in a way that no formula is known for, looked at
 * before it (an inspector before an executor): products of numbers from outside, quotients and remainders,
 * bits, min and max, numbers that become narrower.
 *
 * A pattern over all iterations but the last computes where an iteration and the next one go to, as a box: on
 * each axis of the array from one place to another, for all accesses together. The loop runs on all cores
 * where each box lies behind the one before it, or each before it; axes are compared in order, from the first
 * or from the last one. What moves so never comes back, so any two iterations are apart.
 * Else they go in order.
 * Two shapes are known otherwise: `t // w, t % w` says which t it was; and places a multiple of w apart,
 * `j * w + i`, are told apart by what is left when that is taken away, where this is less than w.
 * What an array says, `a[idx[i]]`, is the program's to know: it is not looked at (tr_inspect_is_data).
 * It is looked only where that pays: where the body is more work than the look, in a loop long enough for all
 * cores, and of no more iterations than the array has items, as others must meet (or leave the array). It
 * goes in blocks that grow, and ends with the one in which iterations meet.
 * Invariant: an answer `apart` is right whatever the numbers are; they wrap around here as in the loop.
 * Cost: what computes the places, twice, once for each iteration. */
#include <string.h>

#include "ir/loops.h"
#include "opt/prange/ploop.h"
#include "opt/emit.h"
#include "rt/rt.h"

enum { MAX_VIEWS = 32, MAX_AXES = 4, MAX_DEPTH = 24, NEAR = 2, MAX_TOUCHES = 16, TOO_FAR = 1 << 30 };

/* --- what is data --- */

typedef struct asker {
    const tr_ploop *l;
    uint8_t *seen;
} asker;

static bool value_depends_on_data(asker *q, tr_val v);

/* Is what leads into the block, or past it, decided by data? */
static bool data_decides_branch(asker *q, tr_bid b) {
    const tr_ins *t = tr_term(q->l->f, b);
    return q->l->in[b] && t->op == TR_OP_CBR && value_depends_on_data(q, t->args[0]);
}

/* One of several values: by ways that data may decide. */
static bool comes_by_data(asker *q, tr_val v) {
    const tr_fn *f = q->l->f;
    tr_bid b = tr_at(f, v)->blk;
    bool data = data_decides_branch(q, tr_blk_at(f, b)->idom);
    for (tr_way w = {0}; !data && tr_next_way(f, b, &w);)
        data = data_decides_branch(q, w.from) || value_depends_on_data(q, w.edge->args[tr_param_index(f, v)]);
    return data;
}

static bool value_depends_on_data(asker *q, tr_val v) {
    const tr_ins *in = tr_at(q->l->f, v);
    if (!tr_ploop_varies(q->l, v) || v == q->l->counter || q->seen[v])
        return false;
    q->seen[v] = 1;
    if (in->op == TR_OP_PARAM)
        return in->blk == q->l->header || comes_by_data(q, v);
    bool data = !tr_opt_is_pure(in);
    for (uint32_t k = 0; k < in->nargs && !data; k++)
        data = value_depends_on_data(q, tr_arg(q->l->f, v, k));
    return data;
}

bool tr_inspect_is_data(const tr_ploop *l, const tr_ptouch *t) {
    asker q = {l, TR_NEW_N(&l->f->ctx->arena, uint8_t, l->f->ins.n + 1u)};
    uint32_t n = t->idx ? tr_at(l->f, t->array)->ty->ndim : 0;
    for (uint32_t k = 0; k < n; k++)
        if (value_depends_on_data(&q, t->idx[k]))
            return true;
    return value_depends_on_data(&q, t->array);
}

bool tr_inspect_says_data(const tr_ploop *l, tr_val v) {
    asker q = {l, TR_NEW_N(&l->f->ctx->arena, uint8_t, l->f->ins.n + 1u)};
    return value_depends_on_data(&q, v);
}

/* --- values of one iteration, in the lambda --- */

typedef struct looker {
    const tr_ploop *l;
    tr_fn *g;
    tr_bld b; /* of the lambda */
    tr_val
        *map[NEAR]; /* per value of the loop's function: what it is in this iteration, and in the next one */
    tr_val counter[NEAR]; /* params come first: the counter, then captures */
    TR_VEC(tr_val) caps;  /* the first one is where a block of iterations begins */
    tr_val root;          /* the array that all accesses go to */
    tr_bid where;         /* the block of the access */
    tr_val stride;        /* multiples of it by a counter inside are left out; TR_NOVAL: none are */
    tr_val fine;          /* so far: numbers do not wrap around on the way; TR_NOVAL: nothing was asked */
} looker;

static const tr_ty *type(const looker *m, tr_tyk k) {
    return tr_ty_scalar(m->l->f->ctx->types, k);
}

/* Something from outside of the loop: a constant, or a capture. */
static tr_val given(looker *m, tr_val v) {
    const tr_ins *in = tr_at(m->l->f, v);
    for (uint32_t i = 0; i < m->caps.n; i++)
        if (m->caps.d[i] == v)
            return tr_blk_at(m->g, 0)->params.d[1 + i];
    if (tr_is_const(in) && in->op != TR_OP_CONSTARR)
        return tr_const_import(m->g, in);
    tr_vec_push(&m->l->f->ctx->arena, &m->caps, v);
    return tr_blk_param(m->g, 0, in->ty, NULL);
}

/* The number v in that iteration: computed again; TR_NOVAL: it is not one number there, or not to be had. */
static tr_val point(looker *m, tr_val v, unsigned at, unsigned depth) {
    const tr_ins *in = tr_at(m->l->f, v);
    if (v == m->l->counter)
        return m->counter[at];
    if (!tr_ploop_varies(m->l, v))
        return given(m, v);
    if (m->map[at][v] != TR_NOVAL)
        return m->map[at][v];
    if (depth == 0 || !tr_opt_is_pure(in) || !tr_ty_is_scalar(in->ty) || in->nargs > 3)
        return TR_NOVAL;
    tr_val args[3];
    for (uint32_t k = 0; k < in->nargs; k++)
        if ((args[k] = point(m, tr_arg(m->l->f, v, k), at, depth - 1)) == TR_NOVAL)
            return TR_NOVAL;
    tr_val w = tr_emit_v(&m->b, (tr_op)in->op, in->ty, in->nargs, args);
    tr_at(m->g, w)->imm = in->imm;
    tr_at(m->g, w)->sub = in->sub;
    tr_at(m->g, w)->flags = in->flags & (uint8_t)~F_NSW; /* promised where it stands */
    return m->map[at][v] = w;
}

/* Where v lies in an iteration: from lo on and before end, which may be less; lo TR_NOVAL:
 * it cannot be said. */
typedef struct reach {
    tr_val lo, end;
} reach;

static const reach nowhere = {TR_NOVAL, TR_NOVAL};

static reach reach_of(looker *m, tr_val v, unsigned at, unsigned depth);

/* Of a number that is more than a term of the place, so nothing of it may be left out. */
static reach reach_of_all(looker *m, tr_val v, unsigned at, unsigned depth) {
    tr_val stride = m->stride;
    m->stride = TR_NOVAL;
    reach r = reach_of(m, v, at, depth);
    m->stride = stride;
    return r;
}

static reach reach_of_point(looker *m, tr_val x) {
    return (reach){x, tr_emit_op(&m->b, TR_OP_ADD, x, tr_emit_int(&m->b, 1))};
}

/* Does block b run in a round only, begun on the way from the loop's head to `body`? Behind the loop the
 * counter is what it was tested against. */
static bool is_in_round(const tr_fn *f, tr_bid head, tr_bid body, tr_bid b) {
    const tr_blk *first = tr_blk_at(f, body);
    for (uint32_t i = 0; i < first->preds.n; i++)
        if (first->preds.d[i] != head && !tr_dominates(f, body, first->preds.d[i]))
            return false;
    return body != head && tr_dominates(f, body, b);
}

/* A counter of a loop inside, which comes as 0 and goes on by 1 while it is less than some number. */
static reach reach_of_counter(looker *m, tr_val v, unsigned at, unsigned depth) {
    const tr_fn *f = m->l->f;
    tr_bid b = tr_at(f, v)->blk;
    tr_loop_test t;
    if (tr_forest_headed(m->l->loops, b) == TR_NOLOOP || !tr_loop_head_test(f, b, &t) || t.counter != v ||
        !tr_loop_counts(f, b, v) || t.exit == t.body || !is_in_round(f, b, t.body, m->where))
        return nowhere;
    reach n = reach_of_all(m, t.bound, at, depth);
    return n.lo == TR_NOVAL
               ? n
               : (reach){tr_emit_int(&m->b, 0),
                         tr_emit_most(&m->b, tr_emit_op(&m->b, TR_OP_SUB, n.end, tr_emit_int(&m->b, 1)),
                                      tr_emit_int(&m->b, 0))};
}

/* Products of such numbers do not wrap around. */
static void ask_small(looker *m, tr_val x) {
    m->fine = tr_emit_both(&m->b, m->fine, tr_emit_cmp(&m->b, TR_CMP_LT, x, tr_emit_int(&m->b, TOO_FAR)));
    m->fine = tr_emit_both(&m->b, m->fine, tr_emit_cmp(&m->b, TR_CMP_GT, x, tr_emit_int(&m->b, -TOO_FAR)));
}

static reach reach_of_product(looker *m, const tr_ins *in, unsigned at, unsigned depth) {
    tr_val p = point(m, in->args[1], at, depth), x = in->args[0];
    if (p == TR_NOVAL) {
        p = point(m, in->args[0], at, depth);
        x = in->args[1];
    }
    if (p == TR_NOVAL)
        return nowhere;
    bool out = m->stride != TR_NOVAL && (in->args[0] == m->stride || in->args[1] == m->stride);
    reach r = reach_of_all(m, x, at, depth);
    if (r.lo == TR_NOVAL)
        return r;
    tr_val last = tr_emit_op(&m->b, TR_OP_SUB, r.end, tr_emit_int(&m->b, 1));
    ask_small(m, p);
    ask_small(m, r.lo);
    ask_small(m, last);
    if (out) { /* what is left of an index that is not negative, as the multiple is not either */
        m->fine = tr_emit_both(&m->b, m->fine, tr_emit_cmp(&m->b, TR_CMP_GE, r.lo, tr_emit_int(&m->b, 0)));
        return reach_of_point(m, tr_emit_int(&m->b, 0));
    }
    tr_val a = tr_emit_op(&m->b, TR_OP_MUL, r.lo, p), b = tr_emit_op(&m->b, TR_OP_MUL, last, p);
    return (reach){tr_emit_least(&m->b, a, b),
                   tr_emit_op(&m->b, TR_OP_ADD, tr_emit_most(&m->b, a, b), tr_emit_int(&m->b, 1))};
}

/* An index below 0 counts from the end. */
static reach reach_of_wrapped(looker *m, reach r, tr_val size) {
    tr_val zero = tr_emit_int(&m->b, 0), low = tr_emit_cmp(&m->b, TR_CMP_LT, r.lo, zero);
    return (reach){tr_emit_select(&m->b, low, zero, r.lo),
                   tr_emit_select(&m->b, low, tr_emit_most(&m->b, size, r.end), r.end)};
}

static reach join(looker *m, reach x, reach y) {
    if (x.lo == TR_NOVAL || y.lo == TR_NOVAL)
        return nowhere;
    return (reach){tr_emit_least(&m->b, x.lo, y.lo), tr_emit_most(&m->b, x.end, y.end)};
}

static reach reach_of_sum(looker *m, reach x, reach y, bool minus) {
    tr_val one = tr_emit_int(&m->b, 1);
    if (x.lo == TR_NOVAL || y.lo == TR_NOVAL)
        return nowhere;
    reach r;
    if (minus)
        r = (reach){tr_emit_op(&m->b, TR_OP_SUB, x.lo, tr_emit_op(&m->b, TR_OP_SUB, y.end, one)),
                    tr_emit_op(&m->b, TR_OP_SUB, x.end, y.lo)};
    else
        r = (reach){tr_emit_op(&m->b, TR_OP_ADD, x.lo, y.lo),
                    tr_emit_op(&m->b, TR_OP_SUB, tr_emit_op(&m->b, TR_OP_ADD, x.end, y.end), one)};
    m->fine = tr_emit_both(&m->b, m->fine,
                           tr_emit_cmp(&m->b, TR_CMP_LE, tr_emit_op(&m->b, TR_OP_SUB, r.lo, one),
                                       r.end)); /* it did not wrap around */
    return r;
}

static reach reach_of(looker *m, tr_val v, unsigned at, unsigned depth) {
    const tr_fn *f = m->l->f;
    const tr_ins *in = tr_at(f, v);
    tr_val x = point(m, v, at, depth);
    if (x != TR_NOVAL && in->ty->kind == TR_TY_I64)
        return reach_of_point(m, x);
    if (depth-- == 0 || in->ty->kind != TR_TY_I64)
        return nowhere;
    switch ((tr_op)in->op) {
    case TR_OP_PARAM: return reach_of_counter(m, v, at, depth);
    case TR_OP_ADD:
    case TR_OP_SUB: {
        bool minus = in->op == TR_OP_SUB;
        reach a = reach_of(m, in->args[0], at, depth);
        reach b = minus ? reach_of_all(m, in->args[1], at, depth) : reach_of(m, in->args[1], at, depth);
        return reach_of_sum(m, a, b, minus);
    }
    case TR_OP_MUL: return reach_of_product(m, in, at, depth);
    case TR_OP_MIN:
    case TR_OP_MAX: {
        reach a = reach_of(m, in->args[0], at, depth), b = reach_of(m, in->args[1], at, depth);
        return a.lo == TR_NOVAL || b.lo == TR_NOVAL ? nowhere
               : in->op == TR_OP_MIN
                   ? (reach){tr_emit_least(&m->b, a.lo, b.lo), tr_emit_least(&m->b, a.end, b.end)}
                   : (reach){tr_emit_most(&m->b, a.lo, b.lo), tr_emit_most(&m->b, a.end, b.end)};
    }
    case TR_OP_SELECT:
        return join(m, reach_of(m, in->args[1], at, depth), reach_of(m, in->args[2], at, depth));
    case TR_OP_WRAP: {
        tr_val size = point(m, in->args[1], at, depth);
        reach r = reach_of(m, in->args[0], at, depth);
        return size == TR_NOVAL || r.lo == TR_NOVAL ? nowhere : reach_of_wrapped(m, r, size);
    }
    default: return nowhere;
    }
}

/* --- what an access touches, axis by axis of the array that it is a view of --- */

typedef struct box {
    reach ax[TR_MAX_NDIM];
} box;

static tr_val dim_of(looker *m, tr_val array, unsigned k) {
    return tr_emit_dim(&m->b, given(m, array), k);
}

/* What the access touches of its own array. */
static bool own_box(looker *m, const tr_ptouch *t, unsigned at, box *out) {
    const tr_ty *ty = tr_at(m->l->f, t->array)->ty;
    for (unsigned k = 0; k < ty->ndim; k++) {
        const tr_val *sizes = tr_made_sizes(tr_at(m->l->f, t->array));
        if (t->idx) {
            out->ax[k] = reach_of(m, t->idx[k], at, MAX_DEPTH);
        } else {
            tr_val n = sizes                              ? point(m, sizes[k], at, MAX_DEPTH)
                       : !tr_ploop_varies(m->l, t->array) ? dim_of(m, t->array, k)
                                                          : TR_NOVAL;
            out->ax[k] = n == TR_NOVAL ? nowhere : (reach){tr_emit_int(&m->b, 0), n};
        }
        if (out->ax[k].lo == TR_NOVAL)
            return false;
    }
    return true;
}

/* One axis of a view by that of its base, where it starts at `start` and has an item every `step`. */
static reach in_base(looker *m, reach r, tr_val start, int64_t step) {
    tr_val one = tr_emit_int(&m->b, 1), by = tr_emit_int(&m->b, step),
           last = tr_emit_op(&m->b, TR_OP_SUB, r.end, one);
    if (step == 1)
        return (reach){tr_emit_op(&m->b, TR_OP_ADD, start, r.lo), tr_emit_op(&m->b, TR_OP_ADD, start, r.end)};
    tr_val a = tr_emit_op(&m->b, TR_OP_ADD, start, tr_emit_op(&m->b, TR_OP_MUL, r.lo, by));
    tr_val b = tr_emit_op(&m->b, TR_OP_ADD, start, tr_emit_op(&m->b, TR_OP_MUL, last, by));
    return (reach){step > 0 ? a : b, tr_emit_op(&m->b, TR_OP_ADD, step > 0 ? b : a, one)};
}

/* A box of the view by the axes of its base. */
static bool base_box(looker *m, const tr_ins *v, unsigned at, box *of) {
    box out;
    uint32_t n = tr_view_nbase(v);
    for (uint32_t k = 0; k < n; k++) {
        tr_val start = point(m, tr_view_starts(v)[k], at, MAX_DEPTH);
        if (start == TR_NOVAL)
            return false;
        out.ax[k] = reach_of_point(m, start);
    }
    for (unsigned j = 0; j < v->ty->ndim; j++) {
        int64_t step;
        int k = tr_view_axis(v, j);
        if (k < 0)
            continue;
        tr_val start = point(m, tr_view_starts(v)[k], at, MAX_DEPTH);
        if (!tr_get_int(m->l->f, tr_view_steps(v)[j], &step) || step > TR_LIN_COEF || step < -TR_LIN_COEF)
            return false;
        if (step)
            out.ax[k] = in_base(m, of->ax[j], start, step);
    }
    *of = out;
    return true;
}

/* By the axes of *root, an array that does not vary, or is made of another's items in another way. */
static bool whole_box(looker *m, const tr_ptouch *t, unsigned at, tr_val *root, box *out) {
    tr_val v = t->array;
    m->where = t->blk;
    if (!own_box(m, t, at, out))
        return false;
    for (unsigned n = 0; n < MAX_VIEWS && tr_at(m->l->f, v)->op == TR_OP_VIEW; n++) {
        if (!base_box(m, tr_at(m->l->f, v), at, out))
            return false;
        v = tr_arg(m->l->f, v, 0);
    }
    *root = v;
    return !tr_ploop_varies(m->l, v) && tr_at(m->l->f, v)->op != TR_OP_VIEW;
}

/* All accesses of an iteration together; false: not all can be said. */
static bool find_hull(looker *m, const tr_pinspect *p, unsigned at, unsigned *naxes, box *out) {
    tr_val root = TR_NOVAL;
    for (uint32_t i = 0; i < p->all.n; i++) {
        box x;
        tr_val r;
        if (!whole_box(m, &p->all.d[i], at, &r, &x) || (i && r != root))
            return false;
        m->root = root = r;
        *naxes = tr_at(m->l->f, root)->ty->ndim;
        for (unsigned k = 0; k < *naxes; k++)
            out->ax[k] = i ? join(m, out->ax[k], x.ax[k]) : x.ax[k];
    }
    for (unsigned k = 0; k < *naxes; k++)
        out->ax[k].end = tr_emit_most(&m->b, out->ax[k].lo, out->ax[k].end);
    return *naxes > 0 && *naxes <= MAX_AXES;
}

/* Does box y lie behind box x, by the first axis on which they are not the same? */
static tr_val behind(looker *m, const box *x, const box *y, unsigned naxes, bool from_last) {
    tr_val all = TR_NOVAL;
    for (unsigned i = naxes; i-- > 0;) { /* the last one to be looked at first */
        unsigned k = from_last ? naxes - 1 - i : i;
        tr_val less = tr_emit_cmp(&m->b, TR_CMP_LE, x->ax[k].end, y->ax[k].lo);
        tr_val same = tr_emit_both(&m->b, tr_emit_cmp(&m->b, TR_CMP_EQ, x->ax[k].lo, y->ax[k].lo),
                                   tr_emit_cmp(&m->b, TR_CMP_EQ, x->ax[k].end, y->ax[k].end));
        all = all == TR_NOVAL ? less : tr_emit_either(&m->b, less, tr_emit_both(&m->b, same, all));
    }
    return all;
}

/* --- the pattern --- */

enum { MAX_REDS = 6 };

typedef struct found {
    tr_val yields[MAX_REDS];
    tr_redk kinds[MAX_REDS];
    uint32_t n;
} found;

static void add(found *r, tr_redk k, tr_val v) {
    r->kinds[r->n] = k;
    r->yields[r->n++] = v;
}

static void open_lambda(looker *m) {
    const tr_fn *f = m->l->f;
    m->g = tr_fn_new(f->ctx, f->name, S_T);
    m->g->is_lambda = true;
    m->g->file = f->file;
    m->g->func = f->func;
    tr_blk_new(m->g);
    tr_val index = tr_blk_param(m->g, 0, type(m, TR_TY_I64), NULL),
           from = tr_blk_param(m->g, 0, type(m, TR_TY_I64), NULL);
    tr_vec_push(&f->ctx->arena, &m->caps, TR_NOVAL);
    m->b = (tr_bld){.fn = m->g, .blk = 0, .before = TR_NOVAL};
    m->counter[0] = tr_emit_op(&m->b, TR_OP_ADD, from, index);
    m->counter[1] = tr_emit_op(&m->b, TR_OP_ADD, m->counter[0], tr_emit_int(&m->b, 1));
    for (unsigned k = 0; k < NEAR; k++) {
        m->map[k] = TR_NEW_N(&f->ctx->arena, tr_val, f->ins.n + 1u);
        memset(m->map[k], 0xff, f->ins.n * sizeof *m->map[k]);
    }
}

/* What the lambda contributes; false: places cannot be said. */
static bool fill_lambda(looker *m, const tr_pinspect *p, found *out) {
    box x, y;
    unsigned n = 0;
    open_lambda(m);
    if (!find_hull(m, p, 0, &n, &x) || !find_hull(m, p, 1, &n, &y))
        return false;
    for (unsigned k = 0; k < (n > 1 ? 2u : 1u); k++) {
        add(out, TR_RED_AND, tr_emit_both(&m->b, m->fine, behind(m, &x, &y, n, k)));
        add(out, TR_RED_AND, tr_emit_both(&m->b, m->fine, behind(m, &y, &x, n, k)));
    }
    if (m->stride != TR_NOVAL) {
        if (n != 1)
            return false;
        add(out, TR_RED_MIN, tr_emit_least(&m->b, x.ax[0].lo, y.ax[0].lo));
        add(out, TR_RED_MAX, tr_emit_most(&m->b, x.ax[0].end, y.ax[0].end));
    }
    tr_emit_v(&m->b, TR_OP_YIELD, NULL, out->n, out->yields);
    return true;
}

/* The pattern over iterations from m->caps.d[0] on; `so_far`: what those before it came to. */
static tr_val emit_pattern(looker *m, tr_bld *b, const found *r, tr_val rounds, const tr_val *so_far) {
    tr_fn *f = b->fn;
    tr_node node = tr_node_new(f);
    node.t = (tr_pat){.par = TR_PAR_WISH, .lam = m->g};
    tr_node_put(&node, P_SPACE, rounds);
    for (uint32_t i = 0; i < r->n; i++)
        tr_node_join(&node, P_RED, so_far[i], (tr_join){.how = (uint8_t)r->kinds[i]});
    tr_node_put_all(&node, P_CAP, m->caps.d, m->caps.n);
    tr_val v = tr_node_emit(&node, b);
    tr_vec_push(&f->ctx->arena, m->l->made, v);
    return v;
}

static tr_val part(tr_bld *b, tr_val pattern, uint32_t k) {
    tr_val v = tr_emit1(b, TR_OP_EXTRACT, tr_at(b->fn, pattern)->ty->items[k], pattern);
    tr_at(b->fn, v)->imm.i = k;
    return v;
}

/* --- before the loop --- */

/* What emits there. */
typedef struct maker {
    const tr_ploop *l;
    tr_bld *b; /* at the end of a block that has no end yet */
} maker;

/* The number of an array's items. */
static tr_val items_of(const maker *k, tr_val array) {
    tr_fn *f = k->b->fn;
    tr_val n = tr_emit_int(k->b, 1);
    for (unsigned i = 0; i < tr_at(f, array)->ty->ndim; i++) {
        tr_val d = tr_emit_dim(k->b, array, i);
        n = i ? tr_emit_op(k->b, TR_OP_MUL, n, d) : d;
    }
    return n;
}

/* --- does it pay? --- */

enum { SOME_ROUNDS = 16, A_CALL = 500, MANY_ROUNDS = 1 << 20 };

/* Of the loop's blocks that are in loop k alone, and run as is expected. */
static int64_t cost_in(const tr_ploop *l, uint32_t k) {
    const tr_fn *f = l->f;
    bool cold = tr_blk_at(f, l->header)->cold;
    int64_t n = 0;
    for (uint32_t i = 0; i < l->blks.n; i++) {
        tr_bid b = l->blks.d[i];
        if (tr_forest_in(l->loops, b) != k || (tr_blk_at(f, b)->cold && !cold))
            continue;
        for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            tr_op o = (tr_op)tr_at(f, v)->op;
            n += o == TR_OP_CALL || o == TR_OP_PATTERN ? A_CALL
                 : tr_ins_ends(tr_at(f, v))            ? 1
                                                       : tr_ins_cost(f, v);
        }
    }
    return n;
}

/* How often a loop inside goes round, as far as that is seen. */
static tr_val rounds_of(const maker *k, const tr_loop *inner) {
    const tr_fn *f = k->l->f;
    const tr_ins *t = tr_term(f, inner->header), *c = t->op == TR_OP_CBR ? tr_at(f, t->args[0]) : NULL;
    if (!c || c->op != TR_OP_CMP || c->sub != TR_CMP_LT || tr_at(f, c->args[1])->ty->kind != TR_TY_I64 ||
        tr_ploop_varies(k->l, c->args[1]))
        return tr_emit_int(k->b, SOME_ROUNDS);
    tr_val n = tr_emit_most(k->b, c->args[1], tr_emit_int(k->b, 0));
    return tr_emit_least(k->b, n, tr_emit_int(k->b, MANY_ROUNDS));
}

/* What an iteration costs, in instructions, but for `less` of them. Sums of products of numbers up to
 * 2^20 may become wrong, not dangerous. */
static tr_val cost_of(const maker *k, int64_t less) {
    const tr_ploop *l = k->l;
    uint32_t own = tr_forest_number(l->loops, l->loop);
    tr_val all = tr_emit_int(k->b, cost_in(l, own) - less);
    for (uint32_t i = 0; i < l->loops->all.n; i++) {
        int64_t n = cost_in(l, i);
        if (i == own || !tr_forest_has(l->loops, own, l->loops->all.d[i].header) || n == 0)
            continue;
        tr_val cost = tr_emit_int(k->b, n);
        for (uint32_t up = i; up != own; up = l->loops->all.d[up].parent)
            cost = tr_emit_op(k->b, TR_OP_MUL, cost, rounds_of(k, &l->loops->all.d[up]));
        all = tr_emit_op(k->b, TR_OP_ADD, all, cost);
    }
    return all;
}

tr_val tr_ploop_cost(const tr_ploop *l, tr_bld *b) {
    maker k = {l, b};
    return tr_emit_most(b, cost_of(&k, 0), tr_emit_int(b, 1));
}

/* Would the loop run on all cores, and gain more than the look takes? */
static tr_val pays(const maker *k, const looker *m) {
    enum {
        FEW = 1 << 12
    }; /* rounds that do not pay whatever they cost, but in tests, where ranges are as long as they say */
    tr_fn *f = k->b->fn;
    tr_val n = k->l->length, one = tr_emit_int(k->b, 1), few = tr_emit_int(k->b, FEW),
           gain = cost_of(k, 2 * (int64_t)tr_fn_cost(m->g));
    tr_val short_one = tr_emit_least(k->b, n, few), gains = tr_emit_cmp(k->b, TR_CMP_GT, gain, one);
    n = tr_emit_select(k->b, gains, n, short_one);
    tr_val args[] = {n, tr_emit_int(k->b, 0), tr_emit_select(k->b, gains, gain, one)};
    tr_val grain = tr_emit_rt(k->b, TR_RT_GRAIN, tr_at(f, n)->ty, 3, args, NULL);
    tr_val fits = tr_emit_cmp(k->b, TR_CMP_LE, k->l->length, items_of(k, m->root));
    return tr_emit_both(k->b, tr_emit_cmp(k->b, TR_CMP_LT, grain, n), fits);
}

/* --- a loop over blocks of iterations --- */

enum { FIRST_BLOCK = 64 };

/* Looks where `look` is true, else says `no`. Leaves the builder behind it, in a new block; what
 * has been found, as the block's params. */
static tr_val look_through(const maker *k, looker *m, const found *r, tr_val look, uint32_t ways,
                           tr_val *out) {
    tr_fn *f = k->b->fn;
    tr_bid block = tr_blk_new(f), after = tr_blk_new(f), head = k->b->blk;
    tr_val last = tr_emit_op(k->b, TR_OP_SUB, k->l->length, tr_emit_int(k->b, 1)), init[1 + MAX_REDS],
           none[1 + MAX_REDS], so_far[MAX_REDS];
    const tr_ty *i1 = tr_ty_scalar(f->ctx->types, TR_TY_BOOL);
    tr_blk_at(f, block)->cold = tr_blk_at(f, after)->cold = tr_blk_at(f, head)->cold;
    init[0] = tr_emit_int(k->b, 0);
    none[0] = tr_const_int(f, i1, 0);
    m->caps.d[0] = tr_blk_param(f, block, tr_at(f, init[0])->ty, NULL);
    tr_val found_any = tr_blk_param(f, after, i1, NULL);
    for (uint32_t i = 0; i < r->n; i++) {
        const tr_ty *t = tr_at(m->g, r->yields[i])->ty;
        init[1 + i] = none[1 + i] = tr_red_identity(f, r->kinds[i], t);
        so_far[i] = tr_blk_param(f, block, t, NULL);
        out[i] = tr_blk_param(f, after, t, NULL);
    }
    tr_cbr(k->b, look, block, 1 + r->n, init, after, 1 + r->n, none);
    k->b->blk = block;
    tr_val from = m->caps.d[0], size = tr_emit_most(k->b, from, tr_emit_int(k->b, FIRST_BLOCK)),
           rest = tr_emit_op(k->b, TR_OP_SUB, last, from);
    size = tr_emit_least(k->b, size, rest);
    tr_val v = emit_pattern(m, k->b, r, size, so_far), any = TR_NOVAL;
    for (uint32_t i = 0; i < r->n; i++) {
        init[1 + i] = none[1 + i] = part(k->b, v, i);
        if (i < ways)
            any = tr_emit_either(k->b, any, init[1 + i]);
    }
    init[0] = tr_emit_op(k->b, TR_OP_ADD, from, size);
    none[0] = any;
    tr_val more = tr_emit_both(k->b, any, tr_emit_cmp(k->b, TR_CMP_LT, init[0], last));
    tr_cbr(k->b, more, block, 1 + r->n, init, after, 1 + r->n, none);
    k->b->blk = after;
    return found_any;
}

/* Do boxes go one way? Looked at where `when` is true, if it is a value. stride: but for multiples
 * of it. TR_NOVAL: nothing can be said. */
static tr_val go_one_way(const maker *k, const tr_pinspect *p, tr_val stride, tr_val when) {
    looker m = {.l = k->l, .root = TR_NOVAL, .stride = stride, .fine = TR_NOVAL};
    found r = {.n = 0};
    tr_val out[MAX_REDS];
    if (!fill_lambda(&m, p, &r))
        return TR_NOVAL;
    uint32_t ways = stride == TR_NOVAL ? r.n : r.n - 2;
    tr_val look = pays(k, &m);
    if (when != TR_NOVAL)
        look = tr_emit_both(k->b, when, look);
    tr_val any = look_through(k, &m, &r, look, ways, out);
    if (stride == TR_NOVAL)
        return any;
    tr_val lo = out[ways], end = out[ways + 1];
    tr_val fits = tr_emit_cmp(k->b, TR_CMP_LE, tr_emit_op(k->b, TR_OP_SUB, end, lo), stride),
           low = tr_emit_cmp(k->b, TR_CMP_GE, lo, tr_emit_int(k->b, 0));
    return tr_emit_both(k->b, any, tr_emit_both(k->b, fits, low));
}

/* A number from outside by which what a loop inside counts is multiplied; TR_NOVAL: there is none. */
static tr_val stride_in(const tr_ploop *l, tr_val v, unsigned depth) {
    const tr_fn *f = l->f;
    const tr_ins *in = tr_at(f, v);
    if (depth == 0 || !tr_ploop_varies(l, v) || !tr_opt_is_pure(in))
        return TR_NOVAL;
    for (uint32_t k = 0; in->op == TR_OP_MUL && k < 2; k++)
        if (!tr_ploop_varies(l, in->args[k]) && in->args[1 - k] != l->counter)
            return in->args[k];
    tr_val by = TR_NOVAL;
    bool sum = in->op == TR_OP_ADD || in->op == TR_OP_SUB || in->op == TR_OP_WRAP;
    for (uint32_t k = 0; sum && by == TR_NOVAL && k < in->nargs; k++)
        by = stride_in(l, in->args[k], depth - 1);
    return by;
}

static tr_val stride_of(const tr_ploop *l, const tr_pinspect *p) {
    tr_val by = TR_NOVAL;
    for (uint32_t i = 0; i < p->all.n && by == TR_NOVAL; i++)
        if (p->all.d[i].idx && tr_at(l->f, p->all.d[i].array)->ty->ndim == 1)
            by = stride_in(l, p->all.d[i].idx[0], MAX_DEPTH);
    return by;
}

/* --- quotients and remainders that tell which iteration it is --- */

typedef struct solver {
    const tr_ploop *l;
    tr_u32s known; /* values that are the same in two iterations which meet */
    tr_u32s above; /* numbers from outside that must be greater than 0 for that */
} solver;

static bool is_above_zero(solver *s, tr_val w) {
    int64_t k;
    if (tr_ploop_varies(s->l, w))
        return false;
    if (tr_get_int(s->l->f, w, &k))
        return k > 0;
    tr_vec_push(&s->l->f->ctx->arena, &s->above, w);
    return true;
}

static bool is_product(const tr_ins *in, tr_val x, tr_val y) {
    return in->op == TR_OP_MUL &&
           ((in->args[0] == x && in->args[1] == y) || (in->args[0] == y && in->args[1] == x));
}

/* Is it v // w? */
static bool is_quotient(const tr_ins *in, tr_val v, tr_val w) {
    return (in->op == TR_OP_FLOORDIV || in->op == TR_OP_QUOT) && in->args[0] == v && in->args[1] == w;
}

/* Is it the remainder of *v by *w? Also as `v - v // w * w`. */
static bool is_remainder(const tr_fn *f, const tr_ins *in, tr_val *v, tr_val *w) {
    if (in->op == TR_OP_FLOORMOD || in->op == TR_OP_REM) {
        *v = in->args[0];
        *w = in->args[1];
        return true;
    }
    const tr_ins *p = in->op == TR_OP_SUB ? tr_at(f, in->args[1]) : NULL;
    for (uint32_t k = 0; p && p->op == TR_OP_MUL && k < 2; k++)
        if (is_quotient(tr_at(f, p->args[k]), in->args[0], p->args[1 - k])) {
            *v = in->args[0];
            *w = p->args[1 - k];
            return is_product(p, p->args[k], *w);
        }
    return false;
}

static bool is_not_negative(solver *s, tr_val v, unsigned depth) {
    const tr_fn *f = s->l->f;
    const tr_ins *in = tr_at(f, v);
    tr_val of, by;
    int64_t k;
    if (v == s->l->counter)
        return true;
    if (depth == 0 || in->ty->kind != TR_TY_I64)
        return false;
    if (is_remainder(f, in, &of, &by))
        return is_above_zero(s, by) && (in->op == TR_OP_FLOORMOD || is_not_negative(s, of, depth - 1));
    switch ((tr_op)in->op) {
    case TR_OP_CONST: return tr_get_int(f, v, &k) && k >= 0;
    case TR_OP_FLOORDIV:
    case TR_OP_QUOT: return is_above_zero(s, in->args[1]) && is_not_negative(s, in->args[0], depth - 1);
    default: return false;
    }
}

/* v is its quotient and its remainder. */
static void learn(solver *s, tr_val remainder) {
    const tr_fn *f = s->l->f;
    tr_val v, w;
    if (!is_remainder(f, tr_at(f, remainder), &v, &w) || tr_opt_among(v, s->known.d, s->known.n))
        return;
    for (uint32_t i = 0; i < s->known.n; i++)
        if (is_quotient(tr_at(f, s->known.d[i]), v, w)) {
            tr_vec_push(&f->ctx->arena, &s->known, v);
            return;
        }
}

static tr_val given_index(const tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    return in->op == TR_OP_WRAP ? in->args[0] : v;
}

/* Are all accesses to one element of an array, whose indices tell the iteration? *test: where that is so;
 * TR_NOVAL: always. */
static bool indices_tell_iteration(const tr_ploop *l, tr_bld *b, const tr_pinspect *p, tr_val *test) {
    solver s = {.l = l};
    const tr_fn *f = l->f;
    const tr_ptouch *first = &p->all.d[0];
    const tr_ty *ty = tr_at(f, first->array)->ty;
    *test = TR_NOVAL;
    if (!first->idx || tr_ploop_varies(l, first->array))
        return false;
    for (unsigned k = 0; k < ty->ndim; k++) {
        tr_val v = given_index(f, first->idx[k]);
        bool all = is_not_negative(&s, v, MAX_DEPTH);
        for (uint32_t i = 1; i < p->all.n && all; i++) {
            const tr_ptouch *t = &p->all.d[i];
            all = t->array == first->array && t->idx && given_index(f, t->idx[k]) == v;
        }
        if (all)
            tr_vec_push(&f->ctx->arena, &s.known, v);
    }
    for (uint32_t i = 0, n = 0; i < s.known.n || n != s.known.n; i++) { /* what is learnt may tell more */
        if (i == s.known.n) {
            n = s.known.n;
            i = 0;
        }
        learn(&s, s.known.d[i]);
    }
    if (!tr_opt_among(l->counter, s.known.d, s.known.n))
        return false;
    for (uint32_t i = 0; i < s.above.n; i++) {
        tr_val c = tr_emit_cmp(b, TR_CMP_GT, s.above.d[i], tr_const_int(l->f, tr_at(f, s.above.d[i])->ty, 0));
        *test = tr_emit_both(b, *test, c);
    }
    return true;
}

/* --- together --- */

tr_val tr_inspect_apart(const tr_ploop *l, tr_bld *b, const tr_pinspect *p, tr_val when) {
    const tr_ty *i1 = tr_ty_scalar(l->f->ctx->types, TR_TY_BOOL);
    maker k = {l, b};
    tr_val test, no = tr_const_int(l->f, i1, 0);
    if (indices_tell_iteration(l, b, p, &test))
        return test == TR_NOVAL ? tr_const_int(l->f, i1, 1) : test;
    /* The code of many accesses would take longer to compile than it is worth, and a device
     * has one thread for the loop. */
    if (p->all.n > MAX_TOUCHES || l->f->kind == TR_FN_KERNEL || l->f->kind == TR_FN_DEVICE)
        return no;
    tr_val all = go_one_way(&k, p, TR_NOVAL, when), stride = stride_of(l, p), rest = TR_NOVAL;
    if (stride != TR_NOVAL) {
        tr_val still = all == TR_NOVAL ? TR_NOVAL : tr_emit_not(b, all);
        if (still != TR_NOVAL && when != TR_NOVAL)
            still = tr_emit_both(b, when, still);
        rest = go_one_way(&k, p, stride, still == TR_NOVAL ? when : still);
    }
    tr_val either = tr_emit_either(b, all, rest);
    return either == TR_NOVAL ? no : either;
}
