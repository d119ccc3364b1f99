/* Arrays that a prange loop only accumulates into (privatisation of reduction arrays): `a[k] += x`, `a +=
 * row`, `np.add.at(a, ks, xs)`, wherever k may point.
 *
 * Iterations meet in such an array, but like a variable that is summed up it can have a copy per thread. Each chunk of iterations gets a
 * copy filled with the operation's neutral value; when all are done the copies are added to the array, in order. The number of
 * chunks depends on the loop's length and the array's size alone, and so do the results.
 * It is worth it where the copies are small against the work; else the loop runs on one core. */
#include "opt/ploop.h"
#include "ir/alias.h"

#include <string.h>

enum { MAX_CHUNKS = 32, MAX_ITEMS = 1 << 24, WORTH = 4 };

/* --- is it one? --- */

typedef struct search {
    const tr_ploop *l;
    tr_fn *f;
    tr_val array, root; /* the value from outside that all accesses go through */
    const uint32_t *uses;
    uint8_t *fine; /* per value: a load that only makes the next value of its element */
    bool any, views, rows;
    tr_redk kind;
    uint8_t fast;  /* of the operations seen so far */
    uint8_t *from; /* per value: the root, or what it was chosen from */
    bool other;    /* an array that may be the root is used beside it */
} search;

static bool is_inside(const search *s, tr_val v) {
    tr_bid b = tr_at(s->f, v)->blk;
    return b != TR_NOBLK && s->l->in[b];
}

/* Is v the array, or a view of it made inside? */
static bool is_part(search *s, tr_val v, bool *view) {
    *view = false;
    while (is_inside(s, v) && tr_is_view(tr_at(s->f, v))) {
        v = tr_at(s->f, v)->args[0];
        *view = true;
    }
    return v == s->array;
}

static bool has_root(const search *s, tr_val v) {
    return tr_array_root(s->f, v) == s->root;
}

/* Is v not the root but perhaps the same array: `b = h if c else a`? */
static bool may_be_root(const search *s, tr_val v) {
    if (!tr_ty_is_managed(tr_at(s->f, v)->ty) || has_root(s, v))
        return false;
    return tr_array_may_be(s->f, v, s->from);
}

static bool set_kind(search *s, tr_redk k) {
    if (s->any && s->kind != k)
        return false;
    s->any = true;
    s->kind = k;
    return true;
}

/* old `op` x, or x `op` old where the order does not matter. */
static bool joins(search *s, const tr_ins *in, tr_val old) {
    if (in->nargs != 2 || (in->args[0] == old) == (in->args[1] == old))
        return false;
    bool left = in->args[0] == old;
    s->fast &= tr_ins_fast(in);
    tr_redk k;
    return tr_reduction_of(in, left, &k) && set_kind(s, k);
}

/* What a conversion to or from the array's type t is of; v itself where it is none. Code computes with 64 bits and stores fewer: as integers wrap,
 * it is the same to narrow each sum or the last one. Floats are rounded at each step, in copies as in the array. */
static tr_val unconverted(const tr_fn *f, const uint32_t *uses, tr_val v, const tr_ty *t) {
    const tr_ins *in = tr_at(f, v);
    if (in->op != TR_OP_CONV || uses[v] != 1)
        return v;
    const tr_ty *from = tr_at(f, in->args[0])->ty, *wide = in->ty == t ? from : in->ty;
    bool alike = (tr_ty_is_int(t) && tr_ty_is_int(wide)) || tr_ty_class(t) == tr_ty_class(wide);
    return (in->ty == t || from == t) && alike && tr_ty_size(t) <= tr_ty_size(wide) ? in->args[0] : v;
}

static bool same_element(const tr_fn *f, const tr_ins *ld, const tr_ins *st) {
    if (ld->nargs + 1 != st->nargs || ld->args[0] != st->args[0])
        return false;
    for (uint32_t k = 1; k < ld->nargs; k++)
        if (!tr_opt_same(f, ld->args[k], st->args[k]))
            return false;
    return true;
}

static bool writes_array(const void *self, tr_val v) {
    const search *s = self;
    const tr_ins *in = tr_at(s->f, v);
    bool touches = false;
    for (uint32_t k = 0; k < in->nargs && (tr_ins_effects(in) & E_WRITE); k++)
        touches = touches || has_root(s, in->args[k]);
    return touches;
}

/* Is v the element itself, or that joined with other values? The element's value goes nowhere else, and nothing of the array is written before
 * the store. */
static bool is_joined(search *s, tr_val v, tr_val store, int depth) {
    const tr_ins *st = tr_at(s->f, store);
    tr_val u = unconverted(s->f, s->uses, v, tr_at(s->f, st->args[0])->ty->elem);
    const tr_ins *in = tr_at(s->f, u);
    if (s->uses[u] != 1)
        return false;
    if (in->op == TR_OP_LOAD) {
        if (!same_element(s->f, in, st) || !tr_opt_nothing_between(s->f, u, store, writes_array, s))
            return false;
        s->fine[u] = 1;
        return true;
    }
    for (uint32_t k = 0; k < in->nargs && depth > 0; k++)
        if (is_joined(s, in->args[k], store, depth - 1))
            return joins(s, in, in->args[k]);
    return false;
}

/* Is v what the operation gives whatever the element was? `a[0] |= True` is `a[0] = True` by now. */
static bool absorbs(const search *s, tr_val v) {
    int64_t k;
    if (!s->any || !tr_get_int(s->f, v, &k))
        return false;
    if (s->kind == TR_RED_OR)
        return k == (tr_at(s->f, v)->ty->kind == TR_TY_BOOL ? 1 : -1);
    return (s->kind == TR_RED_AND || s->kind == TR_RED_MUL) && k == 0;
}

/* a[k] = a[k] op x */
static bool check_store(search *s, tr_val store) {
    const tr_ins *st = tr_at(s->f, store);
    tr_val v = st->args[st->nargs - 1];
    bool view;
    return is_part(s, st->args[0], &view) &&
           ((s->uses[v] == 1 && is_joined(s, v, store, 4)) || absorbs(s, v));
}

/* The same for whole arrays: the element read serves for the one written alone. */
static bool check_pattern(search *s, const tr_ins *in) {
    const tr_pat *p = in->imm.pat;
    const tr_fn *g = p->lam;
    uint32_t at_in = UINT32_MAX, at_out = UINT32_MAX;
    for (uint32_t k = 0; k < in->nargs; k++) {
        if (!tr_at(s->f, in->args[k])->ty || tr_at(s->f, in->args[k])->ty->kind != TR_TY_ARRAY ||
            !has_root(s, in->args[k]))
            continue;
        uint32_t *at = k >= tr_pat_in(p) && k < tr_pat_out(p) ? &at_in : &at_out;
        if (k < tr_pat_in(p) || k >= tr_pat_scat(p) || *at != UINT32_MAX)
            return false;
        *at = k;
    }
    bool view;
    if (at_in == UINT32_MAX || at_out == UINT32_MAX || in->args[at_in] != in->args[at_out] || p->nred ||
        p->keep || g->blks.n != 1 || !is_part(s, in->args[at_in], &view))
        return false;
    const uint32_t *uses = tr_use_counts(g);
    tr_val old = tr_blk_at(g, 0)->params.d[p->nspace + (at_in - tr_pat_in(p))];
    tr_val next = tr_term(g, 0)->args[at_out - tr_pat_out(p)];
    const tr_ty *t = tr_at(s->f, in->args[at_out])->ty->elem;
    if (uses[old] != 1 || uses[next] != 1)
        return false;
    next = unconverted(g, uses, next, t);
    const tr_ins *sum = tr_at(g, next);
    s->rows = true;
    for (uint32_t k = 0; k < sum->nargs && uses[next] == 1; k++)
        if (unconverted(g, uses, sum->args[k], t) == old)
            return joins(s, sum, sum->args[k]);
    return false;
}

/* The lambda's param for a capture that has the array; TR_NOVAL: something else of the pattern has it. */
static tr_val captured_as(search *s, const tr_ins *in) {
    const tr_pat *p = in->imm.pat;
    tr_val param = TR_NOVAL;
    bool view;
    for (uint32_t k = 0; k < in->nargs; k++) {
        if (!tr_ty_is_managed(tr_at(s->f, in->args[k])->ty) || !has_root(s, in->args[k]))
            continue;
        if (k < tr_pat_cap(p) || k >= tr_pat_ein(p) || param != TR_NOVAL || !is_part(s, in->args[k], &view))
            return TR_NOVAL;
        param = tr_blk_at(p->lam, 0)->params.d[tr_pat_lam_cap(p) + k - tr_pat_cap(p)];
    }
    return param;
}

/* A use of the array in a region: in its element's next value, or for its size. */
static bool is_fine_in_region(const search *r, tr_val v) {
    const tr_ins *in = tr_at(r->f, v);
    bool touches = false;
    for (uint32_t k = 0; k < in->nargs; k++)
        touches = touches || tr_array_root(r->f, in->args[k]) == r->root;
    for (uint32_t e = 0; e < tr_nsucc(in); e++)
        for (uint32_t k = 0; k < in->imm.succ[e].n; k++)
            touches = touches || tr_array_root(r->f, in->imm.succ[e].args[k]) == r->root;
    return !touches || in->op == TR_OP_DIM || r->fine[v];
}

/* The same for scatters: np.add.at(a, k, x). */
static bool check_scatter(search *s, const tr_ins *in) {
    const tr_pat *p = in->imm.pat;
    bool view, any = false;
    for (uint32_t k = 0; k < in->nargs; k++) {
        if (!tr_ty_is_managed(tr_at(s->f, in->args[k])->ty) || !has_root(s, in->args[k]))
            continue;
        if (any || k < tr_pat_scat(p) || k >= tr_pat_init(p) || !is_part(s, in->args[k], &view))
            return false;
        uint8_t how = p->scats[k - tr_pat_scat(p)];
        if (how == TR_SCATTER_PUT || tr_red_info[how].op == TR_OP__COUNT || !set_kind(s, (tr_redk)how))
            return false;
        any = true;
    }
    s->fast = any ? 0 : s->fast;
    s->rows = s->rows || any;
    return any;
}

/* The same for regions that store at computed places: np.add.at(a, k, x). */
static bool check_region(search *s, const tr_ins *in) {
    const tr_pat *p = in->imm.pat;
    tr_fn *g = p->lam;
    search r = *s;
    r.f = g;
    r.root = r.array = captured_as(s, in);
    if (r.root == TR_NOVAL || p->nred || p->epi)
        return false;
    tr_cfg_compute(g);
    tr_dom_compute(g);
    r.uses = tr_use_counts(g);
    r.fine = TR_NEW_N(&g->ctx->arena, uint8_t, g->ins.n + 1u);
    for (uint32_t i = 0; i < g->rpo.n; i++)
        for (tr_val v = tr_blk_at(g, g->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(g, v)->next) {
            const tr_ins *st = tr_at(g, v);
            tr_val x = st->nargs ? st->args[st->nargs - 1] : TR_NOVAL;
            if (st->op == TR_OP_STORE && st->args[0] == r.root)
                r.fine[v] = r.uses[x] == 1 && is_joined(&r, x, v, 4);
        }
    for (uint32_t i = 0; i < g->rpo.n; i++)
        for (tr_val v = tr_blk_at(g, g->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(g, v)->next)
            if (!is_fine_in_region(&r, v))
                return false;
    s->any = r.any;
    s->kind = r.kind;
    s->rows = true;
    return true;
}

static bool check_use(search *s, tr_val v) {
    const tr_ins *in = tr_at(s->f, v);
    bool touches = false, view;
    for (uint32_t k = 0; k < in->nargs; k++) {
        touches = touches || has_root(s, in->args[k]);
        s->other = s->other || ((tr_ins_effects(in) & (E_READ | E_WRITE)) && may_be_root(s, in->args[k]));
    }
    for (uint32_t e = 0; e < tr_nsucc(in); e++)
        for (uint32_t k = 0; k < in->imm.succ[e].n; k++)
            if (s->l->in[in->imm.succ[e].to] && has_root(s, in->imm.succ[e].args[k]))
                return false;
    if (!touches)
        return true;
    switch ((tr_op)in->op) {
    case TR_OP_LOAD: return s->fine[v]; /* stores come first, see below */
    case TR_OP_STORE: return s->fine[v];
    case TR_OP_PATTERN: return check_pattern(s, in) || check_scatter(s, in) || check_region(s, in);
    case TR_OP_VIEW:
    case TR_OP_RESTRIDE: s->views = true; return is_part(s, in->args[0], &view);
    case TR_OP_STRIDE: s->views = true; return true;
    case TR_OP_DIM:
    case TR_OP_OVERLAP:
    case TR_OP_MEET:
    case TR_OP_APART: return true;
    default: return false;
    }
}

/* The value from outside through which the first store or pattern writes. */
static tr_val written_through(const search *s, tr_val at) {
    const tr_ins *in = tr_at(s->f, at);
    tr_val v = TR_NOVAL;
    if (in->op == TR_OP_STORE)
        v = in->args[0];
    for (uint32_t k = 0; in->op == TR_OP_PATTERN && k < in->nargs; k++)
        if (k >= tr_pat_out(in->imm.pat) && tr_ty_is_managed(tr_at(s->f, in->args[k])->ty) &&
            has_root(s, in->args[k]))
            v = in->args[k];
    while (v != TR_NOVAL && is_inside(s, v) && tr_is_view(tr_at(s->f, v)))
        v = tr_at(s->f, v)->args[0];
    return v;
}

static bool check_all(search *s) {
    const tr_ploop *l = s->l;
    for (uint32_t i = 0; i < 2 * l->blks.n;
         i++) /* twice: at first it may not be known yet which operation it is */
        for (tr_val v = tr_blk_at(s->f, l->blks.d[i % l->blks.n])->first; v != TR_NOVAL;
             v = tr_at(s->f, v)->next)
            if (tr_at(s->f, v)->op == TR_OP_STORE && has_root(s, tr_at(s->f, v)->args[0]) && !s->fine[v])
                s->fine[v] = check_store(s, v);
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(s->f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(s->f, v)->next)
            if (!check_use(s, v))
                return false;
    return true;
}

bool tr_ploop_accumulates(const tr_ploop *l, const tr_pdepend *d, tr_paccum *out) {
    search s = {.l = l, .f = l->f, .root = d->array, .uses = tr_use_counts(l->f), .fast = TR_FM_ALL};
    s.fine = TR_NEW_N(&l->f->ctx->arena, uint8_t, l->f->ins.n + 1u);
    s.from = TR_NEW_N(&l->f->ctx->arena, uint8_t, l->f->ins.n + 1u);
    tr_array_sources(l->f, d->array, s.from);
    s.array = written_through(&s, d->write);
    if (s.array == TR_NOVAL || is_inside(&s, s.array) || !check_all(&s))
        return false;
    const tr_ty *t = tr_at(l->f, s.array)->ty;
    if (!s.any) /* `a[k] *= 1` and the like: elements are stored as they were */
        s.kind = t->elem->kind == TR_TY_BOOL ? TR_RED_OR : TR_RED_ADD;
    if (!t->ndim || t->ndim + 1u > TR_MAX_NDIM || (s.views && t->layout != TR_LAYOUT_C) ||
        !tr_red_takes(s.kind, t->elem) || tr_ty_is_packed(t))
        return false;
    bool real = tr_ty_is_float(t->elem) || tr_ty_is_complex(t->elem);
    *out = (tr_paccum){.array = s.array,
                       .root = d->array,
                       .kind = s.kind,
                       .fast = s.any && real ? s.fast : 0,
                       .rows = s.rows,
                       .other = s.other};
    return true;
}

/* --- how many chunks --- */

static tr_val num(tr_bld *b, int64_t k) {
    return tr_const_int(b->fn, tr_ty_scalar(b->fn->ctx->types, TR_TY_I64), k);
}

static tr_val op2(tr_bld *b, tr_op op, tr_val x, tr_val y) {
    return tr_emit2(b, op, tr_ty_scalar(b->fn->ctx->types, TR_TY_I64), x, y);
}

static tr_val size_of(tr_bld *b, tr_paccum *a) {
    uint32_t n = tr_at(b->fn, a->array)->ty->ndim;
    a->dims = TR_NEW_N(&b->fn->ctx->arena, tr_val, n + 1u);
    for (uint32_t k = 0; k < n; k++) {
        a->dims[k] = tr_emit1(b, TR_OP_DIM, tr_ty_scalar(b->fn->ctx->types, TR_TY_I64), a->array);
        tr_at(b->fn, a->dims[k])->imm.i = k;
        a->size = k ? op2(b, TR_OP_MUL, a->size, a->dims[k]) : a->dims[k];
    }
    return a->size;
}

/* At most MAX_CHUNKS, each of WORTH elements of copies for an iteration (two iterations where one adds whole rows), and no more than
 * MAX_ITEMS in all copies. */
tr_val tr_accumulate_chunks(tr_ploop *l, tr_bld *b) {
    tr_val total = TR_NOVAL, n = tr_ploop_least(b, l->length, num(b, (int64_t)1 << 40));
    bool rows = false;
    for (uint32_t k = 0; k < l->accums.n; k++) {
        tr_val size = size_of(b, &l->accums.d[k]);
        total = k ? op2(b, TR_OP_ADD, total, size) : size;
        rows = rows || l->accums.d[k].rows;
    }
    tr_val worth = rows ? op2(b, TR_OP_QUOT, n, num(b, 2))
                        : op2(b, TR_OP_QUOT, op2(b, TR_OP_MUL, n, num(b, WORTH)), total);
    tr_val fit = tr_ploop_least(b, op2(b, TR_OP_QUOT, num(b, MAX_ITEMS), total), num(b, MAX_CHUNKS));
    return tr_ploop_least(b, tr_ploop_least(b, worth, n), fit);
}

/* --- copies --- */

static tr_fn *new_lambda(const tr_bld *b, uint32_t nindex) {
    tr_fn *f = b->fn, *g = tr_fn_new(f->ctx, f->name, S_T);
    g->is_lambda = true;
    g->file = f->file;
    g->func = f->func;
    tr_blk_new(g);
    for (uint32_t k = 0; k < nindex; k++)
        tr_blk_param(g, 0, tr_ty_scalar(f->ctx->types, TR_TY_I64), NULL);
    return g;
}

static void emit(tr_ploop *l, tr_bld *b, const tr_pat *p, uint32_t n, const tr_val *args) {
    tr_val v = tr_emit_v(b, TR_OP_PATTERN, tr_ty_none(b->fn->ctx->types), n, args);
    tr_at(b->fn, v)->imm.pat = tr_arena_copy(&b->fn->ctx->arena, p, sizeof *p);
    tr_vec_push(&b->fn->ctx->arena, l->made, v);
}

static void yield(tr_fn *g, tr_val v) {
    tr_bld b = {.fn = g, .blk = 0, .before = TR_NOVAL};
    tr_emit_v(&b, TR_OP_YIELD, NULL, 1, &v);
}

/* One array with a copy for each chunk along its first axis, filled with the neutral value. */
void tr_accumulate_copies(tr_ploop *l, tr_bld *b, tr_paccum *a, tr_val chunks) {
    tr_fn *f = b->fn;
    tr_arena *ar = &f->ctx->arena;
    const tr_ty *t = tr_at(f, a->array)->ty;
    uint32_t n = t->ndim;
    tr_val *v = TR_NEW_N(ar, tr_val, n + 2u);
    v[0] = chunks;
    memcpy(v + 1, a->dims, n * sizeof *v);
    a->copies =
        tr_emit_v(b, TR_OP_ALLOC, tr_ty_array(f->ctx->types, t->elem, n + 1u, TR_LAYOUT_C, false), n + 1u, v);
    tr_site *s = TR_NEW(ar, tr_site);
    *s = (tr_site){TR_EXC_MEMORY, "cannot allocate an array of {0} bytes", -1, NULL};
    tr_at(f, a->copies)->imm.site = s;
    tr_fn *g = new_lambda(b, n + 1u);
    yield(g, tr_red_identity(g, a->kind, t->elem));
    v[n + 1] = a->copies;
    emit(l, b, &(tr_pat){.nspace = (uint8_t)(n + 1), .par = TR_PAR_WISH, .nout = 1, .lam = g}, n + 2u, v);
}

/* How far apart neighbours in a copy are, which lies as its array's type says. */
static void steps(tr_bld *b, const tr_ty *array, const tr_val *dims, tr_val *out) {
    tr_val at = num(b, 1);
    for (uint32_t k = 0; k < array->ndim; k++) {
        uint32_t axis = array->layout == TR_LAYOUT_F ? k : array->ndim - 1u - k;
        out[axis] = at;
        at = op2(b, TR_OP_MUL, at, dims[axis]);
    }
}

/* The copy of chunk number `chunk`, in the lambda that b fills. Its type is the array's, which lambdas in the loop may have for a capture. */
tr_val tr_accumulate_copy(tr_bld *b, const tr_ty *array, tr_val copies, tr_val size, tr_val chunk,
                          const tr_val *dims) {
    uint32_t n = array->ndim;
    tr_val *v = TR_NEW_N(&b->fn->ctx->arena, tr_val, 2u * n + 2u);
    v[0] = copies;
    v[1] = op2(b, TR_OP_MUL, chunk, size);
    memcpy(v + 2, dims, n * sizeof *v);
    bool any = array->layout == TR_LAYOUT_ANY;
    if (any)
        steps(b, array, dims, v + 2 + n);
    const tr_ty *t = tr_ty_array(b->fn->ctx->types, array->elem, n, array->layout, false);
    return tr_emit_v(b, TR_OP_RESTRIDE, t, any ? 2u * n + 2u : n + 2u, v);
}

/* All copies, by chunk and by the array's axes. */
static tr_val by_axes(tr_bld *b, const tr_paccum *a, tr_val chunks) {
    const tr_ty *array = tr_at(b->fn, a->array)->ty;
    uint32_t n = array->ndim;
    if (array->layout != TR_LAYOUT_F)
        return a->copies;
    tr_val *v = TR_NEW_N(&b->fn->ctx->arena, tr_val, 2u * n + 4u);
    v[0] = a->copies;
    v[1] = num(b, 0);
    v[2] = chunks;
    memcpy(v + 3, a->dims, n * sizeof *v);
    v[n + 3] = a->size;
    steps(b, array, a->dims, v + n + 4);
    const tr_ty *t = tr_ty_array(b->fn->ctx->types, array->elem, n + 1u, TR_LAYOUT_ANY, false);
    return tr_emit_v(b, TR_OP_RESTRIDE, t, 2u * n + 4u, v);
}

/* array = array op (all copies together), element by element. */
void tr_accumulate_join(tr_ploop *l, tr_bld *b, const tr_paccum *a, tr_val chunks) {
    tr_fn *f = b->fn;
    const tr_ty *e = tr_at(f, a->array)->ty->elem;
    uint32_t n = tr_at(f, a->array)->ty->ndim, k = 0;
    tr_val *v = TR_NEW_N(&f->ctx->arena, tr_val, n + 6u);
    tr_pat p = {.nspace = (uint8_t)(n + 1), .par = TR_PAR_WISH, .nin = 1, .nred = 1, .nein = 1, .neout = 1};
    p.keep = tr_all_axes(n) << 1;
    p.reds = TR_NEW_N(&f->ctx->arena, tr_redk, 1);
    p.reds[0] = a->kind;
    p.fast = tr_arena_copy(&f->ctx->arena, &a->fast, 1);
    p.lam = new_lambda(b, n + 1u);
    yield(p.lam, tr_blk_param(p.lam, 0, e, NULL));
    p.epi = new_lambda(b, n);
    tr_val sum = tr_blk_param(p.epi, 0, e, NULL), old = tr_blk_param(p.epi, 0, e, NULL);
    tr_bld in = {.fn = p.epi, .blk = 0, .before = TR_NOVAL};
    yield(p.epi, tr_emit2(&in, tr_red_info[a->kind].op, e, old, sum));
    tr_fn_mark_fast(p.epi, a->fast);
    v[k++] = chunks;
    memcpy(v + 1, a->dims, n * sizeof *v);
    k += n;
    v[k++] = by_axes(b, a, chunks);
    v[k++] = tr_red_identity(f, a->kind, e);
    v[k++] = a->array;
    v[k++] = a->array;
    emit(l, b, &p, k, v);
}
