/* What treadle.parallel's primitives stand on, that no function of NumPy's is: a function of the user's over
 * the items of arrays, and what is known of an operator. */
#include <string.h>

#include "lib/fam.h"
#include "lib/families.h"

/* What stands for the value of a function that raises in any case. */
static const tr_ty *never(tr_em *e) {
    return tr_fam_ty(e, TR_TY_F64);
}

/* Which item of what the function returns; ALL: what it returns. */
enum { ALL = UINT32_MAX };
typedef struct applied {
    uint32_t n, item;
} applied;

/* x: the function, and its arguments. */
static bool apply(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const applied *m = user;
    if (!tr_fam_call(e, x[0], m->n, x + 1, never(e), out))
        return false;
    if (m->item != ALL && out->ty)
        *out = tr_em_item(e, *out, m->item);
    return true;
}

/* What it returns for an item each. NULL: it does not return. */
static bool result_type(tr_em *e, uint32_t n, const tr_tv *x, const tr_ty **t) {
    tr_em probe = *e;
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u), r;
    for (uint32_t i = 0; i <= n; i++)
        v[i] = i && tr_lib_is_array(x[i]) ? (tr_tv){x[i].ty->elem, TR_NOVAL} : x[i];
    probe.dry = true;
    if (!tr_fam_call(&probe, v[0], n, v + 1, never(e), &r)) {
        for (uint32_t i = 1; i <= n && !e->dry; i++)
            if (tr_lib_is_array(x[i]))
                v[i] = tr_lib_undef(e, v[i].ty);
        return tr_fam_call(e, v[0], n, v + 1, never(e), &r) &&
               tr_em_fail(e, TR_ERR_INTERNAL, "a function failed dry only");
    }
    *t = r.ty;
    return true;
}

/* It has reduce(), accumulate() and at(), or says why not. */
bool tr_lib_has_at(tr_em *e, tr_tv f) {
    bool row = f.ty->kind == TR_TY_LIT && f.ty->lit->kind == TR_OBJ_BUILTIN;
    return row ? tr_fam_is_ufunc(f.ty->lit->u.builtin) : tr_fam_users_ufunc(e, f) != NULL;
}

bool tr_lib_mapped(tr_em *e, const tr_bcall *c, tr_tv *out) {
    uint32_t n = c->nvar;
    tr_tv *x = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
    const tr_ty *t = NULL;
    x[0] = c->a[0];
    for (uint32_t i = 0; i < n; i++) {
        x[1 + i] = c->var[i];
        if (!tr_lib_is_array(x[1 + i]) && !tr_lib_scalar(e, x[1 + i].ty))
            return tr_em_error(e, "map() takes numbers or arrays, not %s", tr_em_tyname(e, x[1 + i].ty));
    }
    if (!result_type(e, n, x, &t))
        return false;
    if (t && t->kind == TR_TY_NONE)
        return tr_em_error(e, "the function returns nothing");
    bool several = t && t->kind == TR_TY_TUPLE;
    uint32_t k = several ? t->n : 1;
    tr_tv *r = TR_NEW_N(&e->ctx->arena, tr_tv, k + 1u);
    for (uint32_t i = 0; i < k; i++) {
        applied *m = TR_NEW(&e->ctx->arena, applied);
        *m = (applied){n, several ? i : ALL};
        if (!tr_em_elementwise(e, "map", n + 1, x, (tr_tv){NULL, TR_NOVAL}, apply, m, &r[i]))
            return false;
    }
    *out = several ? tr_em_tuple(e, k, r) : r[0];
    return true;
}

/* Zeros of the types of what a function gives for numbers: nothing is called. */
bool tr_lib_given_by(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv *x = TR_NEW_N(&e->ctx->arena, tr_tv, c->nvar + 1u);
    const tr_ty *t = NULL;
    x[0] = c->a[0];
    memcpy(x + 1, c->var, c->nvar * sizeof *x);
    if (!result_type(e, c->nvar, x, &t))
        return false;
    uint32_t k = t && t->kind == TR_TY_TUPLE ? t->n : 1;
    tr_tv *r = TR_NEW_N(&e->ctx->arena, tr_tv, k + 1u);
    for (uint32_t i = 0; i < k; i++) {
        const tr_ty *one = t && t->kind == TR_TY_TUPLE ? t->items[i] : t,
                    *s = one ? tr_lib_scalar(e, one) : NULL;
        if (!s)
            return tr_em_error(e, "the function must return numbers, not %s",
                               one ? tr_em_tyname(e, one) : "nothing");
        r[i] = tr_em_num(e, tr_ty_strong(e->types, s), 0.0);
    }
    *out = t->kind == TR_TY_TUPLE ? tr_em_tuple(e, k, r) : r[0];
    return true;
}

typedef struct table {
    bool several;
    uint32_t n; /* results */
} table;

/* caps: the function. */
static bool lam_tabulated(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems,
                          const tr_tv *caps, tr_tv *yields) {
    const table *m = d->user;
    tr_tv r;
    (void)elems;
    if (!tr_fam_call(e, caps[0], d->nspace, idx, never(e), &r))
        return false;
    for (uint32_t i = 0; i < m->n; i++) {
        const tr_ty *t = d->out[i].ty->elem;
        yields[i] = r.ty ? tr_em_conv(e, m->several ? tr_em_item(e, r, i) : r, t) : tr_lib_undef(e, t);
    }
    return true;
}

/* One pattern over places, of which the function is called with each. */
bool tr_lib_tabulated(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv shape[TR_MAX_NDIM], x[TR_MAX_NDIM + 1] = {c->a[0]}, zeros, none;
    uint32_t ndim;
    if (!tr_fam_extents(e, c, c->a[1], shape, &ndim))
        return false;
    for (uint32_t i = 0; i < ndim; i++)
        x[1 + i] = tr_em_i64(e, 0);
    const tr_bcall types = {.row = c->row, .n = 1, .a = x, .nvar = ndim, .var = x + 1};
    if (!tr_lib_given_by(e, &types, &zeros))
        return false;
    table *m = TR_NEW(&e->ctx->arena, table);
    *m = (table){zeros.ty->kind == TR_TY_TUPLE, zeros.ty->kind == TR_TY_TUPLE ? zeros.ty->n : 1};
    tr_tv *r = TR_NEW_N(&e->ctx->arena, tr_tv, m->n + 1u);
    for (uint32_t i = 0; i < m->n; i++)
        r[i] = tr_em_alloc(e, m->several ? zeros.ty->items[i] : zeros.ty, ndim, TR_LAYOUT_C, shape);
    tr_pdesc d = {.nspace = ndim,
                  .nout = m->n,
                  .ncap = 1,
                  .space = shape,
                  .out = r,
                  .caps = c->a,
                  .lam = lam_tabulated,
                  .user = m};
    *out = m->several ? tr_em_tuple(e, m->n, r) : r[0];
    return tr_em_pattern(e, &d, &none);
}

/* --- what is best --- */

/* elems: an item, and what it is compared by. */
static bool lam_best(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                     tr_tv *yields) {
    (void)e;
    (void)caps;
    yields[0] = elems[0];
    yields[1] = idx[d->nspace - 1];
    yields[2] = elems[1];
    return true;
}

/* Of x along its last axis the k items with the best keys, and where they stand: one pattern. The caller has
 * seen to it that keys is an array of x's shape, of numbers with an order. */
bool tr_lib_best(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv in[2] = {c->a[0], c->a[1]}, shape[TR_MAX_NDIM], kept[TR_MAX_NDIM], best[2], none, k;
    bool largest, numbers;
    if (!tr_lib_is_array(in[0]) || !tr_lib_is_array(in[1]) || in[0].ty->ndim != in[1].ty->ndim ||
        in[0].ty->ndim == 0)
        return tr_em_error(e, "best() takes two arrays of one shape");
    if (!tr_fam_flag(e, c, c->a[3], "largest", true, &largest) ||
        !tr_fam_flag(e, c, c->a[4], "numbers", false, &numbers) || !tr_fam_int(e, c, c->a[2], "k", &k))
        return false;
    uint32_t n = in[0].ty->ndim;
    tr_fam_shape(e, in[0], shape);
    memcpy(kept, shape, n * sizeof *kept);
    kept[n - 1] = k = tr_em_strong(e, k);
    tr_em_check(
        e,
        tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, k, tr_em_i64(e, 0)), tr_em_cmp(e, TR_CMP_LE, k, shape[n - 1])),
        TR_EXC_VALUE, "topk(): k is {0}, and there are {1} items along the axis", 2,
        (tr_tv[]){k, shape[n - 1]});
    best[0] = tr_em_alloc(e, in[0].ty->elem, n, TR_LAYOUT_C, kept);
    best[1] = tr_em_alloc(e, tr_fam_ty(e, TR_TY_I64), n, TR_LAYOUT_C, kept);
    tr_pdesc d = {.nspace = n,
                  .nin = 2,
                  .nbest = 2,
                  .space = shape,
                  .in = in,
                  .best = best,
                  .top = &k,
                  .order = !largest  ? TR_TOP_SMALLEST
                           : numbers ? TR_TOP_NUMBERS
                                     : TR_TOP_LARGEST,
                  .keep = tr_all_axes(n - 1),
                  .lam = lam_best};
    *out = tr_em_tuple(e, 2, best);
    return tr_em_pattern(e, &d, &none);
}

/* --- reductions by a function --- */

/* The arrays of a line are inputs; what is captured is the function and the line's numbers. */
typedef struct line {
    uint32_t n;
    const tr_ty *const *types; /* of the values */
    const tr_tv *of;
    bool before; /* a scan gives what stands before an item */
} line;

/* What an item of the line contributes. */
static tr_tv contributed(tr_em *e, const line *l, const tr_tv *elems, const tr_tv *caps) {
    tr_tv *x = TR_NEW_N(&e->ctx->arena, tr_tv, l->n);
    uint32_t in = 0, number = 1;
    for (uint32_t i = 0; i < l->n; i++)
        x[i] = tr_em_conv(e, tr_lib_is_array(l->of[i]) ? elems[in++] : caps[number++], l->types[i]);
    return tr_em_tuple(e, l->n, x);
}

/* Two values as one, in the values' types. */
static bool join_line(tr_em *e, const tr_pdesc *d, uint32_t k, tr_tv x, tr_tv y, const tr_tv *caps,
                      tr_tv *out) {
    const line *l = d->user;
    tr_tv r, *v = TR_NEW_N(&e->ctx->arena, tr_tv, l->n);
    if (!tr_fam_call(e, caps[0], 2, (tr_tv[]){x, y}, never(e), &r))
        return false;
    if (r.ty && (r.ty->kind != TR_TY_TUPLE || r.ty->n != l->n))
        return tr_em_error(e, "the function makes one value of two, not %s", tr_em_tyname(e, r.ty));
    for (uint32_t i = 0; r.ty && i < l->n; i++)
        if (!tr_lib_scalar(e, r.ty->items[i]))
            return tr_em_error(e, "the function gives numbers, not %s", tr_em_tyname(e, r.ty->items[i]));
    (void)k;
    for (uint32_t i = 0; i < l->n; i++)
        v[i] = r.ty ? tr_em_conv(e, tr_em_item(e, r, i), l->types[i]) : tr_lib_undef(e, l->types[i]);
    *out = tr_em_tuple(e, l->n, v);
    return true;
}

static bool lam_folded(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                       tr_tv *yields) {
    (void)idx;
    yields[0] = contributed(e, d->user, elems, caps);
    return true;
}

/* elems: items, then what stands before them. */
static bool lam_chained(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                        tr_tv *yields) {
    const line *l = d->user;
    tr_tv x = contributed(e, l, elems, caps), y = elems[d->nin];
    (void)idx;
    if (!l->before && !join_line(e, d, 0, y, x, caps, &y))
        return false;
    for (uint32_t i = 0; i < l->n; i++)
        yields[i] = tr_em_item(e, y, i);
    yields[l->n] = x;
    return true;
}

/* Arrays of one axis and numbers, for each a number to begin with. The primitives see to that, but the
 * function has a name, by which anybody may call it. */
static bool takes_line(tr_em *e, tr_tv start, tr_tv items) {
    bool is = start.ty->kind == TR_TY_TUPLE && items.ty->kind == TR_TY_TUPLE && items.ty->n == start.ty->n,
         some = false;
    for (uint32_t i = 0; is && i < start.ty->n; i++) {
        const tr_ty *t = items.ty->items[i];
        bool array = t->kind == TR_TY_ARRAY;
        some = some || array;
        is = tr_lib_scalar(e, start.ty->items[i]) &&
             (array ? t->ndim == 1 && tr_lib_scalar(e, t->elem) : tr_lib_scalar(e, t) != NULL);
    }
    return is && some ? true
                      : tr_em_error(e,
                                    "takes a tuple of numbers to begin with, and as many arrays of one axis "
                                    "and numbers, not %s and %s",
                                    tr_em_tyname(e, start.ty), tr_em_tyname(e, items.ty));
}

/* The pattern over a line, arrays of one axis and numbers, with the identities `start`. outs: of a scan; else
 * NULL. */
static bool over_line(tr_em *e, const tr_bcall *c, const tr_tv *outs, bool before, tr_tv *out) {
    tr_arena *a = &e->ctx->arena;
    tr_tv start = tr_em_strong(e, c->a[1]), items = c->a[2], n;
    if (!takes_line(e, start, items))
        return false;
    uint32_t k = start.ty->n, nin = 0, ncap = 1;
    tr_tv *of = TR_NEW_N(a, tr_tv, k), *in = TR_NEW_N(a, tr_tv, k), *caps = TR_NEW_N(a, tr_tv, k + 1u);
    caps[0] = c->a[0];
    for (uint32_t i = 0; i < k; i++) {
        of[i] = tr_em_item(e, items, i);
        if (tr_lib_is_array(of[i]))
            in[nin++] = of[i];
        else
            caps[ncap++] = of[i];
    }
    assert(nin > 0 && "a line has a length");
    n = tr_em_dim(e, in[0], 0);
    const line l = {k, start.ty->items, of, before};
    const tr_redk red = TR_RED_JOIN;
    const tr_pdesc d = {.nspace = 1,
                        .nin = nin,
                        .nout = outs ? k : 0,
                        .nred = 1,
                        .nscan = outs ? 1 : 0,
                        .ncap = ncap,
                        .space = &n,
                        .in = in,
                        .out = outs,
                        .reds = &red,
                        .init = &start,
                        .caps = caps,
                        .lam = outs ? lam_chained : lam_folded,
                        .user = tr_arena_copy(a, &l, sizeof l),
                        .join = join_line};
    return tr_em_pattern(e, &d, out);
}

/* The items of a line as one tuple. */
bool tr_lib_folded(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return over_line(e, c, NULL, false, out);
}

/* Into arrays: each item of a line joined with all before it, or these alone. */
bool tr_lib_chained(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *t = c->a[3].ty, *before = c->a[4].ty;
    bool are = t->kind == TR_TY_TUPLE && c->a[1].ty->kind == TR_TY_TUPLE && t->n == c->a[1].ty->n &&
               before->kind == TR_TY_LIT && before->lit->kind == TR_OBJ_BOOL;
    for (uint32_t i = 0; are && i < t->n; i++)
        are = t->items[i]->kind == TR_TY_ARRAY && t->items[i]->ndim == 1 && !t->items[i]->readonly &&
              tr_lib_scalar(e, c->a[1].ty->items[i]) == t->items[i]->elem;
    if (!are)
        return tr_em_error(e, "takes as many arrays to write to, and a constant, not %s and %s",
                           tr_em_tyname(e, t), tr_em_tyname(e, before));
    uint32_t k = t->n;
    tr_tv *outs = TR_NEW_N(&e->ctx->arena, tr_tv, k + 1u), last;
    for (uint32_t i = 0; i < k; i++)
        outs[i] = tr_em_item(e, c->a[3], i);
    *out = tr_em_none(e);
    return over_line(e, c, outs, c->a[4].ty->lit->u.i != 0, &last);
}

static bool told(tr_em *e, bool is, tr_tv *out) {
    *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, is));
    return true;
}

bool tr_lib_is_ufunc(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return told(e, tr_lib_has_at(e, c->a[0]), out);
}

bool tr_lib_has_identity(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return told(e, tr_lib_has_at(e, c->a[0]) && tr_fam_has_identity(e, c->a[0]), out);
}

bool tr_lib_scattered(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a = c->a[1], v = c->a[3];
    tr_idx it[4 * TR_MAX_NDIM];
    uint32_t n;
    bool fancy = false, keys;
    *out = tr_em_none(e);
    if (!tr_fam_flag(e, c, c->a[4], "keys", false, &keys))
        return false;
    if (tr_lib_has_at(e, c->a[0]))
        return tr_lib_at(e, c, keys);
    if (!tr_lib_is_array(a) || a.ty->readonly || !tr_scatter_takes(TR_RED_JOIN, a.ty->elem))
        return tr_em_error(e, "scatter() takes an array of numbers that can be written to, not %s",
                           tr_em_tyname(e, a.ty));
    if (!tr_lib_index_parts(e, a, c->a[2], it, &n))
        return false;
    for (uint32_t i = 0; i < n; i++)
        fancy = fancy || it[i].kind == 'a' || it[i].kind == 'm';
    if (!fancy)
        return tr_em_error(e,
                           "scatter(): with a function of your own the places are an array of integers, or "
                           "a mask");
    return tr_lib_fancy_update(e, a, it, n, v,
                               &(tr_update){.how = TR_RED_JOIN, .by = &c->a[0], .keys = keys});
}
