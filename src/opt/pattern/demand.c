/* Of an array that is made element by element, and of which only views are read, a pattern makes the views in
 * its place (demand-driven computation; a slice is pushed through a map). `(a * b)[i].sum()` computes a row,
 * and what reads a view has the same space as what makes it, so that fuse.c merges the two. The inputs are
 * looked at through the same view; an axis that they repeat is looked at where it is. What reads all of an
 * array as items of another type (`x.view(np.uint32)`) takes the array, and its function the bits of each
 * item.
 *
 * Within a block. The array must be new, and its pattern have no other result, do nothing but compute, and
 * read nothing that is written between. Views that are themselves values for others keep their array: NumPy's
 * strides are what the user would see. Where there are several views the elements that they share are
 * computed again, so what is computed must be cheap, or each a row of its own. Cost: linear, for each pattern
 * of a chain that is pushed through. */
#include "opt/pattern/fuse.h"

#include "ir/rtinfo.h"

#include <assert.h>
#include <string.h>

/* CHEAP: of a round that is done again for the second view. MORE: patterns that may come of those, and as
 * many as there were: differences of differences would double at each step. */
enum { MAX_VIEWS = 3, CHEAP = 6, MAX_ROUNDS = 12, MORE = 8 };

/* What is known of a value, counted over the function. */
typedef struct use {
    uint32_t all, read; /* uses; as inputs of patterns */
} use;

typedef struct demander {
    tr_fn *f;
    use *uses;
    tr_repl r;
    bool changed;
    uint32_t left; /* patterns that may come in addition */
} demander;

/* An array, the pattern that makes it, and its views. */
typedef struct made {
    tr_val array, maker;
    tr_val views[MAX_VIEWS];
    uint32_t nviews;
} made;

/* --- which arrays --- */

static void count_reads(demander *d, const tr_ins *in) {
    const tr_pat *t = in->op == TR_OP_PATTERN ? in->imm.pat : NULL;
    for (uint32_t k = 0; t && k < in->nargs; k++)
        d->uses[in->args[k]].read += tr_role_info[tr_pat_role(t, k)].memory == TR_MEM_READ;
}

static void count_uses(demander *d) {
    const tr_fn *f = d->f;
    const uint32_t *n = tr_use_counts(f);
    d->uses = TR_NEW_N(&f->ctx->arena, use, f->ins.n + 1u);
    for (tr_val v = 0; v < f->ins.n; v++)
        d->uses[v] = (use){n[v], 0};
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            count_reads(d, tr_at(f, v));
}

/* A map: one new array, as large as its space, and nothing else. */
static bool is_map(const tr_fn *f, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    if (p->op != TR_OP_PATTERN || !t->nspace || t->nout != 1 || !tr_pat_is_map(t) || tr_pat_is_parallel(t) ||
        !tr_fn_is_scalar(t->lam))
        return false;
    const tr_ins *a = tr_at(f, tr_fuse_out(p)[0]);
    return a->op == TR_OP_ALLOC && a->blk == p->blk && a->ty->ndim == t->nspace &&
           tr_vals_same(a->args, p->args, t->nspace);
}

/* Each axis of each input is as long as the space, or 1. */
static bool has_plain_inputs(const demander *d, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    for (uint32_t k = 0; k < t->nin; k++)
        for (unsigned x = 0; x < t->nspace; x++) {
            tr_val size = tr_fuse_size(d->f, tr_fuse_in(p)[k], x, p->args[x]);
            if (size == TR_NOVAL || (size != p->args[x] && !tr_is_int(d->f, size, 1)))
                return false;
        }
    return true;
}

/* Axes in their order, so that memory is walked as it lies, and no new ones: what repeats along those is
 * better computed once. Only patterns read it. */
static bool view_is_wanted(const demander *d, const tr_ins *view, tr_val v) {
    int before = -1;
    for (unsigned k = 0; k < view->ty->ndim; k++) {
        int x = tr_view_axis(view, k);
        if (x <= before)
            return false;
        before = x;
    }
    return d->uses[v].read && d->uses[v].read == d->uses[v].all;
}

/* Nothing between the pattern and its view writes what it reads. */
static bool pattern_may_wait(const tr_fn *f, const made *m, tr_val view) {
    const tr_ins *p = tr_at(f, m->maker);
    for (tr_val q = p->next; q != view; q = tr_at(f, q)->next)
        if (tr_fuse_writes_inputs(f, tr_at(f, q), p))
            return false;
    return true;
}

static bool view_runs_along(const tr_ins *view, unsigned axis) {
    for (unsigned k = 0; k < view->ty->ndim; k++)
        if (tr_view_axis(view, k) == (int)axis)
            return true;
    return false;
}

/* Have any two of them an axis on which each has an index of its own? They share no element then. */
static bool views_are_apart(const tr_fn *f, const made *m) {
    for (uint32_t i = 0; i < m->nviews; i++)
        for (uint32_t j = 0; j < i; j++) {
            const tr_ins *a = tr_at(f, m->views[i]), *b = tr_at(f, m->views[j]);
            bool apart = false;
            for (unsigned x = 0; x < tr_view_nbase(a) && !apart; x++) {
                int64_t p, q;
                apart = !view_runs_along(a, x) && !view_runs_along(b, x) &&
                        tr_get_int(f, tr_view_starts(a)[x], &p) && tr_get_int(f, tr_view_starts(b)[x], &q) &&
                        p != q;
            }
            if (!apart)
                return false;
        }
    return true;
}

/* Views of the array in its block, which are all that reads it. */
static bool find_views(const demander *d, made *m) {
    const tr_fn *f = d->f;
    for (tr_val v = tr_at(f, m->maker)->next; v != TR_NOVAL; v = tr_at(f, v)->next) {
        const tr_ins *in = tr_at(f, v);
        if (in->op != TR_OP_VIEW || in->args[0] != m->array)
            continue;
        if (m->nviews == MAX_VIEWS || !view_is_wanted(d, in, v) || !pattern_may_wait(f, m, v))
            return false;
        m->views[m->nviews++] = v;
    }
    const tr_pat *t = tr_at(f, m->maker)->imm.pat;
    return m->nviews && d->uses[m->array].all == 1 + m->nviews &&
           (m->nviews == 1 ||
            (m->nviews - 1 <= d->left && (tr_fn_cost(t->lam) <= CHEAP || views_are_apart(f, m))));
}

/* --- a pattern of a view --- */

/* The input, looked at through the view. */
static tr_val look_through(tr_bld *b, const tr_ins *view, tr_val array, const tr_val *space) {
    tr_fn *f = b->fn;
    const tr_ty *t = tr_at(f, array)->ty, *i64 = tr_ty_scalar(f->ctx->types, TR_TY_I64);
    unsigned n = view->ty->ndim, nbase = tr_view_nbase(view);
    const tr_val *sizes = tr_made_sizes(tr_at(f, array));
    tr_val v[1 + TR_VIEW_BASE_AXES + 2 * TR_VIEW_AXES] = {array}, one = tr_const_int(f, i64, 1);
    memcpy(v + 1, view->args + 1, (view->nargs - 1u) * sizeof *v);
    bool alike = t->layout == TR_LAYOUT_C;
    for (unsigned x = 0; x < nbase; x++) {
        if (!sizes || sizes[x] == space[x])
            continue; /* as long as the space */
        alike = false;
        v[1 + x] = tr_const_int(f, i64, 0);
        for (unsigned k = 0; k < n; k++)
            if (tr_view_axis(view, k) == (int)x)
                v[1 + nbase + k] = v[1 + nbase + n + k] = one;
    }
    const tr_ty *to = tr_ty_array_as(f->ctx->types, t->elem, n, alike ? view->ty->layout : TR_LAYOUT_ANY,
                                     t->readonly, t->sub);
    tr_val r = tr_emit_v(b, TR_OP_VIEW, to, view->nargs, v);
    tr_at(f, r)->imm.i = view->imm.i;
    return r;
}

/* start + step * j */
static tr_val index_at(tr_bld *b, tr_val start, tr_val step, tr_val j) {
    const tr_ty *i64 = tr_ty_scalar(b->fn->ctx->types, TR_TY_I64);
    return tr_emit2(b, TR_OP_ADD, i64, start, tr_emit2(b, TR_OP_MUL, i64, step, j));
}

/* The pattern's function, of indices of the view; starts and steps are its last captures: a pair for each
 * axis of the array whose index it asks for. */
static tr_fn *seen_through(const tr_fn *f, const tr_ins *p, const tr_ins *view) {
    const tr_pat *t = p->imm.pat;
    const tr_ty *i64 = tr_ty_scalar(f->ctx->types, TR_TY_I64);
    tr_arena *a = &f->ctx->arena;
    tr_fn *g = tr_fuse_lambda(t->lam);
    unsigned n = view->ty->ndim, along[TR_MAX_NDIM];
    tr_val j[TR_MAX_NDIM], *x = TR_NEW_N(a, tr_val, tr_pat_param(t, TR_LAM, P_CAP) + t->ncap + 1u);
    memset(along, 0xff, sizeof along);
    for (unsigned k = 0; k < n; k++) {
        j[k] = tr_fuse_param(g, i64);
        along[tr_view_axis(view, k)] = k;
    }
    for (uint32_t k = 0; k < t->nin; k++)
        x[tr_pat_param(t, TR_LAM, P_IN) + k] = tr_fuse_param(g, tr_fuse_type(f, tr_fuse_in(p)[k])->elem);
    for (uint32_t k = 0; k < t->ncap; k++)
        x[tr_pat_param(t, TR_LAM, P_CAP) + k] =
            tr_fuse_param(g, tr_fuse_type(f, p->args[tr_pat_at(t, P_CAP) + k]));
    tr_bld b = {.fn = g, .blk = 0, .before = TR_NOVAL};
    for (unsigned k = 0; k < t->nspace; k++) {
        x[k] = tr_const_int(g, i64, 0);
        if (!tr_fuse_lam_uses(t->lam, k))
            continue;
        tr_val start = tr_fuse_param(g, i64), step = tr_fuse_param(g, i64);
        x[k] = along[k] == UINT32_MAX ? start : index_at(&b, start, step, j[along[k]]);
    }
    b.blk = tr_fuse_append(g, 0, t->lam, x);
    tr_emit_v(&b, TR_OP_YIELD, NULL, 1, tr_fuse_params(g, b.blk));
    tr_simplify_cfg(g);
    return g;
}

/* Where the view stands. */
static void make_view(demander *d, const made *m, tr_val at) {
    tr_fn *f = d->f;
    tr_ins p = *tr_at(f, m->maker), view = *tr_at(f, at), array = *tr_at(f, m->array);
    const tr_pat *t = p.imm.pat;
    unsigned n = view.ty->ndim;
    tr_bld b = {.fn = f, .blk = view.blk, .before = at, .loc = p.loc};
    const tr_val *sizes = tr_made_sizes(&view);
    const tr_ty *ty = tr_ty_array(f->ctx->types, array.ty->elem, n, TR_LAYOUT_C, false);
    tr_val to = tr_emit_v(&b, TR_OP_ALLOC, ty, n, sizes);
    tr_at(f, to)->imm = array.imm;
    tr_at(f, to)->loc = array.loc;
    tr_val one = tr_const_int(f, tr_ty_scalar(f->ctx->types, TR_TY_I64), 1);
    tr_node node = tr_node_new(f);
    node.t = *t;
    tr_node_put_all(&node, P_SPACE, sizes, n);
    for (uint32_t k = 0; k < t->nin; k++)
        tr_node_put(&node, P_IN, look_through(&b, &view, tr_fuse_in(&p)[k], p.args));
    tr_node_put(&node, P_OUT, to);
    tr_node_take(&node, P_CAP, &p);
    for (unsigned x = 0; x < t->nspace; x++) {
        tr_val step = one;
        if (!tr_fuse_lam_uses(t->lam, x))
            continue;
        for (unsigned k = 0; k < n; k++)
            step = tr_view_axis(&view, k) == (int)x ? tr_view_steps(&view)[k] : step;
        tr_node_put(&node, P_CAP, tr_view_starts(&view)[x]);
        tr_node_put(&node, P_CAP, step);
    }
    node.t.lam = seen_through(f, &p, &view);
    tr_node_emit(&node, &b);
    tr_repl_set(f, &d->r, at, to);
}

/* --- all of an array as items of another type --- */

static bool has_bits(const tr_ty *t) {
    return (t->kind >= TR_TY_I8 && t->kind <= TR_TY_U64) || t->kind == TR_TY_F32 || t->kind == TR_TY_F64;
}

/* Is it all of an array as it lies, whose items are numbers of another type and as many bits? */
static bool is_retyped(const tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    if (in->op != TR_OP_RESTRIDE || in->ty->layout != TR_LAYOUT_C || !tr_is_int(f, in->args[1], 0))
        return false;
    const tr_ty *t = tr_at(f, in->args[0])->ty;
    bool all = t->layout == TR_LAYOUT_C && t->ndim == in->ty->ndim && t->elem != in->ty->elem &&
               has_bits(t->elem) && has_bits(in->ty->elem) && tr_ty_size(t->elem) == tr_ty_size(in->ty->elem);
    for (unsigned k = 0; all && k < t->ndim; k++)
        all = tr_fuse_size(f, in->args[0], k, in->args[2 + k]) == in->args[2 + k];
    return all;
}

/* The same lambda, given items of type t in place of input number k. */
static tr_fn *given_bits(const tr_fn *lam, const tr_pat *t, uint32_t k, const tr_ty *elem) {
    tr_fn *g = tr_fn_clone(lam);
    tr_val x = tr_fuse_params(g, 0)[tr_pat_param(t, TR_LAM, P_IN) + k];
    tr_bld b = {.fn = g, .blk = 0, .before = tr_blk_at(g, 0)->first};
    tr_val bits = tr_emit1(&b, TR_OP_BITCAST, tr_at(g, x)->ty, x);
    tr_repl r = tr_repl_new(g);
    tr_repl_set(g, &r, x, bits);
    tr_repl_apply(g, &r);
    tr_at(g, bits)->args[0] = x;
    tr_at(g, x)->ty = elem;
    return g;
}

/* A pattern that reads the bits of an array's items reads the array, so that what makes it can be one with
 * it. */
static bool read_bits(tr_fn *f, tr_val v) {
    tr_ins *p = tr_at(f, v);
    bool changed = false;
    for (uint32_t k = 0; k < p->imm.pat->nin; k++) {
        tr_val *a = &p->args[tr_pat_at(p->imm.pat, P_IN) + k];
        if (!is_retyped(f, *a))
            continue;
        tr_pat *t = tr_arena_copy(&f->ctx->arena, p->imm.pat, sizeof *t);
        *a = tr_at(f, *a)->args[0];
        t->lam = given_bits(t->lam, t, k, tr_at(f, *a)->ty->elem);
        p->imm.pat = t;
        changed = true;
    }
    return changed;
}

/* --- the pass --- */

static void visit(demander *d, tr_val v) {
    const tr_ins *p = tr_at(d->f, v);
    made m = {.maker = v};
    if (!is_map(d->f, p) || !has_plain_inputs(d, p))
        return;
    m.array = tr_fuse_out(p)[0];
    if (!tr_fuse_unseen(d->f, p, m.array) || !find_views(d, &m))
        return;
    for (uint32_t k = 0; k < m.nviews; k++)
        make_view(d, &m, m.views[k]);
    for (uint32_t k = 0; k < m.nviews; k++)
        tr_ins_remove(d->f, m.views[k]);
    tr_ins_remove(d->f, m.maker);
    d->left -= m.nviews - 1;
    d->changed = true;
}

static bool has_views(const tr_fn *f) {
    for (tr_val v = 0; v < f->ins.n; v++)
        if (tr_at(f, v)->op == TR_OP_VIEW && tr_at(f, v)->blk != TR_NOBLK)
            return true;
    return false;
}

/* Each pattern once; what it reads is made a view, so the next round may go on with that. */
static bool one_round(tr_fn *f, uint32_t *left) {
    demander d = {.f = f, .r = tr_repl_new(f), .left = *left};
    tr_u32s pats = {0};
    count_uses(&d);
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (tr_at(f, v)->op == TR_OP_PATTERN)
                tr_vec_push(&f->ctx->arena, &pats, v);
    if (d.left == UINT32_MAX)
        d.left = pats.n + MORE;
    for (uint32_t i = 0; i < pats.n; i++)
        visit(&d, pats.d[i]);
    tr_repl_apply(f, &d.r);
    *left = d.left;
    return d.changed;
}

bool tr_opt_demand(tr_prog *p, tr_fn *f) {
    unsigned n = 0;
    uint32_t left = UINT32_MAX;
    bool bits = false;
    for (tr_val v = 0; v < f->ins.n; v++)
        bits = (tr_at(f, v)->op == TR_OP_PATTERN && tr_at(f, v)->blk != TR_NOBLK && read_bits(f, v)) || bits;
    for (; n < MAX_ROUNDS && has_views(f) && one_round(f, &left); n++) {
        tr_opt_fold(p, f); /* what two patterns see of an array is one view of it */
        tr_opt_cse(p, f);
    }
    return bits || n > 0;
}
