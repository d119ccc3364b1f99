/* New arrays made of the items of others: joined, stacked, repeated, moved, triangles, differences. Each is
 * an allocation and a pattern for every part, over views; nothing here looks at single items but repeat and
 * tile. */
#include "lib/fam.h"

#include <assert.h>

#include "lib/families.h"

static tr_tv i64(tr_em *e, int64_t v) {
    return tr_em_i64(e, v);
}

static bool raveled(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv *out) {
    tr_tv args[2] = {a, {NULL, TR_NOVAL}};
    return tr_lib_arr_ravel(e, &(tr_bcall){.row = c->row, .n = 2, .a = args}, out);
}

/* An array, or a number as one without axes. */
static bool array_of(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *out) {
    const tr_ty *s = tr_lib_scalar(e, x.ty);
    if (!s)
        return tr_fam_as_array(e, c, x, NULL, out);
    *out = tr_em_alloc(e, tr_ty_strong(e->types, s), 0, TR_LAYOUT_C, NULL);
    tr_em_store(e, *out, NULL, x);
    return true;
}

/* --- joining --- */

typedef struct parts {
    uint32_t n;
    tr_tv *a;
} parts;

/* The arrays in a tuple or list; an array is the sequence of its rows, whose number is not known, so it is
 * refused but where these are stacked. */
static bool parts_of(tr_em *e, const tr_bcall *c, tr_tv x, parts *p) {
    if (x.ty->kind != TR_TY_TUPLE) {
        tr_em_error(e, "%s() takes a tuple or list of arrays, not %s", tr_fam_name(c), tr_em_tyname(e, x.ty));
        return false;
    }
    if (x.ty->n == 0)
        return tr_em_error(e, "%s() needs at least one array", tr_fam_name(c));
    p->n = x.ty->n;
    p->a = TR_NEW_N(&e->ctx->arena, tr_tv, p->n);
    for (uint32_t i = 0; i < p->n; i++)
        if (!array_of(e, c, tr_em_item(e, x, i), &p->a[i]))
            return false;
    return true;
}

static const tr_ty *common_elem(tr_em *e, const parts *p) {
    const tr_ty *t = p->a[0].ty->elem;
    for (uint32_t i = 1; i < p->n; i++)
        t = tr_lib_common(e, t, p->a[i].ty->elem);
    return t;
}

/* Parts of one rank along an axis; dtype may be NULL. */
static bool join(tr_em *e, const tr_bcall *c, const parts *p, uint32_t axis, const tr_ty *dtype, tr_tv *out) {
    tr_tv shape[TR_MAX_NDIM], at = i64(e, 0);
    uint32_t ndim = p->a[0].ty->ndim;
    bool all_f = ndim > 1;
    tr_fam_shape(e, p->a[0], shape);
    for (uint32_t i = 0; i < p->n; i++) {
        tr_tv a = p->a[i];
        all_f = all_f && a.ty->layout == TR_LAYOUT_F;
        if (a.ty->ndim != ndim)
            return tr_em_error(e, "%s(): all arrays must have the same number of dimensions, not %u and %u",
                               tr_fam_name(c), ndim, (unsigned)a.ty->ndim);
        for (uint32_t k = 0; k < ndim && i > 0; k++) {
            tr_tv n = tr_em_dim(e, a, k);
            if (k == axis)
                shape[k] = tr_em_extent_sum(e, shape[k], n);
            else
                tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, n, shape[k]), TR_EXC_VALUE,
                            tr_arena_printf(&e->ctx->arena, TR_JOIN_DIFFERS, k,
                                            tr_arena_printf(&e->ctx->arena, "%u", i)),
                            2, (tr_tv[]){shape[k], n});
        }
    }
    *out = tr_em_alloc(e, dtype ? dtype : common_elem(e, p), ndim, all_f ? TR_LAYOUT_F : TR_LAYOUT_C, shape);
    for (uint32_t i = 0; i < p->n; i++) {
        tr_tv n = tr_em_dim(e, p->a[i], axis);
        if (!tr_lib_map_into(e, tr_fam_part(e, *out, axis, at, n), p->a[i]))
            return false;
        at = tr_em_nsw(e, TR_OP_ADD, at, n);
    }
    return true;
}

static bool dtype_arg(tr_em *e, const tr_bcall *c, tr_tv x, const parts *p, const tr_ty **out) {
    *out = NULL;
    if (!tr_fam_given(x))
        return true;
    if (!tr_fam_dtype(e, c, x, out))
        return false;
    for (uint32_t i = 0; i < p->n; i++)
        if (!tr_fam_same_kind(p->a[i].ty->elem, *out))
            return tr_em_error(e, "%s(): cannot cast %s to %s as dtype= asks", tr_fam_name(c),
                               tr_em_tyname(e, p->a[i].ty->elem), tr_em_tyname(e, *out));
    return true;
}

/* The same for a list of arrays. */
static bool list_dtype(tr_em *e, const tr_bcall *c, tr_tv list, tr_tv x, const tr_ty **out) {
    tr_tv one = {tr_ty_list_item(e->types, list.ty, false), TR_NOVAL};
    return dtype_arg(e, c, x, &(parts){1, &one}, out);
}

/* A list of rows, or of what stacked is one more axis: its array. */
static bool rows_of(tr_em *e, const char *differs, tr_tv *x) {
    const tr_ty *item = x->ty->kind == TR_TY_LIST ? tr_ty_list_item(e->types, x->ty, false) : NULL;
    return !item || tr_ty_is_scalar(item) || tr_lib_array_of_list(e, *x, NULL, differs, x);
}

/* Parameters: arrays, axis, *, dtype. axis=None: all of them flat. */
bool tr_lib_np_concatenate(tr_em *e, const tr_bcall *c, tr_tv *out) {
    parts p;
    const tr_ty *t;
    uint32_t axis = 0;
    if (tr_lib_joins_list(e, c->a[0]) && !(c->a[1].ty && tr_tv_is_none(c->a[1]))) {
        const tr_ty *item = tr_ty_list_item(e->types, c->a[0].ty, false);
        return (!c->a[1].ty || tr_fam_axis(e, c, item->ndim, c->a[1], &axis)) &&
               list_dtype(e, c, c->a[0], c->a[2], &t) && tr_lib_join_list(e, c->a[0], axis, t, out);
    }
    if (!parts_of(e, c, c->a[0], &p) || !dtype_arg(e, c, c->a[2], &p, &t))
        return false;
    if (c->a[1].ty && tr_tv_is_none(c->a[1])) {
        for (uint32_t i = 0; i < p.n; i++)
            if (!raveled(e, c, p.a[i], &p.a[i]))
                return false;
    } else if (p.a[0].ty->ndim == 0) {
        return tr_em_error(e, "zero-dimensional arrays cannot be concatenated");
    } else if (c->a[1].ty && !tr_fam_axis(e, c, p.a[0].ty->ndim, c->a[1], &axis)) {
        return false;
    }
    return join(e, c, &p, axis, t, out);
}

/* a with a new axis. */
static bool with_axis(tr_em *e, const tr_bcall *c, uint32_t axis, tr_tv *a) {
    tr_tv args[2] = {*a, tr_em_lit(e, tr_obj_int(&e->ctx->arena, axis))};
    return tr_lib_np_expand_dims(e, &(tr_bcall){.row = c->row, .n = 2, .a = args}, a);
}

/* The part of an array at one place of an axis, without that axis. */
static tr_tv slab_of(tr_em *e, tr_tv a, uint32_t axis, uint32_t at) {
    bool whole = a.ty->layout == TR_LAYOUT_C && axis == 0;
    return tr_lib_at_place(e, a, axis, i64(e, at), whole ? TR_LAYOUT_C : TR_LAYOUT_ANY);
}

/* Parts of one shape along a new axis, each a slab of the result. */
static bool stack(tr_em *e, const tr_bcall *c, const parts *p, uint32_t axis, const tr_ty *dtype,
                  tr_tv *out) {
    tr_tv shape[TR_MAX_NDIM + 1], first[TR_MAX_NDIM], own[TR_MAX_NDIM];
    uint32_t ndim = p->a[0].ty->ndim;
    if (ndim + 1 > TR_MAX_NDIM)
        return tr_em_error(e, "%s(): more than %d dimensions", tr_fam_name(c), TR_MAX_NDIM);
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->a[i].ty->ndim != ndim)
            return tr_em_error(e, "%s(): all arrays must have the same number of dimensions, not %u and %u",
                               tr_fam_name(c), ndim, (unsigned)p->a[i].ty->ndim);
        tr_fam_shape(e, p->a[i], i > 0 ? own : first);
        for (uint32_t k = 0; k < ndim && i > 0; k++) {
            tr_shapes s = {.n = 2, .x = {first[k], own[k]}};
            tr_em_shapes(e, &s, "all input arrays must have the same shape: ", ndim, first, " and ", ndim,
                         own);
            tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, first[k], own[k]), TR_EXC_VALUE, s.text, s.n, s.x);
        }
    }
    for (uint32_t k = 0; k < ndim; k++)
        shape[k + (k >= axis)] = first[k];
    shape[axis] = i64(e, p->n);
    *out = tr_em_alloc(e, dtype ? dtype : common_elem(e, p), ndim + 1, TR_LAYOUT_C, shape);
    for (uint32_t i = 0; i < p->n; i++)
        if (!tr_lib_map_into(e, slab_of(e, *out, axis, i), p->a[i]))
            return false;
    return true;
}

bool tr_fam_stack(tr_em *e, const tr_bcall *c, tr_tv x, uint32_t axis, const tr_ty *dtype, tr_tv *out) {
    parts p;
    return parts_of(e, c, x, &p) && stack(e, c, &p, axis, dtype, out);
}

/* The rows of an array, each a slab of the result. */
static bool stack_rows(tr_em *e, const tr_bcall *c, tr_tv a, uint32_t axis, tr_tv dtype, tr_tv *out) {
    uint32_t perm[TR_MAX_NDIM];
    parts p = {1, &a};
    const tr_ty *t;
    if (!dtype_arg(e, c, dtype, &p, &t))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GT, tr_em_dim(e, a, 0), i64(e, 0)), TR_EXC_VALUE,
                c->row == TR_B_NP_STACK ? "need at least one array to stack"
                                        : "need at least one array to concatenate",
                0, NULL);
    for (uint32_t k = 0; k < a.ty->ndim; k++)
        perm[k] = k < axis ? k + 1u : k == axis ? 0 : k;
    return tr_fam_copy_as(e, tr_fam_permuted(e, a, perm), t ? t : a.ty->elem, TR_LAYOUT_C, out);
}

/* Parameters: arrays, axis, *, dtype. */
bool tr_lib_np_stack(tr_em *e, const tr_bcall *c, tr_tv *out) {
    parts p;
    const tr_ty *t;
    uint32_t axis = 0;
    tr_tv rows = c->a[0];
    if (!rows_of(e, "all input arrays must have the same shape", &rows))
        return false;
    if (tr_lib_is_array(rows) && rows.ty->ndim)
        return (!c->a[1].ty || tr_fam_axis(e, c, rows.ty->ndim, c->a[1], &axis)) &&
               stack_rows(e, c, rows, axis, c->a[2], out);
    if (!parts_of(e, c, c->a[0], &p) || !dtype_arg(e, c, c->a[2], &p, &t))
        return false;
    if (c->a[1].ty && !tr_fam_axis(e, c, p.a[0].ty->ndim + 1u, c->a[1], &axis))
        return false;
    return stack(e, c, &p, axis, t, out);
}

static uint32_t ndim_in(tr_em *e, tr_tv list) {
    return tr_ty_list_item(e->types, list.ty, false)->ndim;
}

/* vstack, hstack, dstack, column_stack. Parameters: tup, *, dtype. aux: 0 v, 1 h, 2 d, 3 columns. */
bool tr_lib_np_xstack(tr_em *e, const tr_bcall *c, tr_tv *out) {
    parts p;
    const tr_ty *t;
    tr_tv dtype = c->n > 1 ? c->a[1] : (tr_tv){NULL, TR_NOVAL};
    tr_tv rows = c->a[0];
    bool list = rows.ty->kind == TR_TY_LIST;
    uint32_t joined = c->aux == 0 || !list ? 0 : tr_lib_joins_list(e, rows) && ndim_in(e, rows) == 1 ? 0 : 1;
    if (list && tr_lib_joins_list(e, rows) && c->aux < 2 && (c->aux == 1 || ndim_in(e, rows) > 1))
        return list_dtype(e, c, rows, dtype, &t) && tr_lib_join_list(e, rows, joined, t, out);
    const char *differs =
        "all the input array dimensions except for the concatenation axis must match exactly, "
        "but along dimension 1, the array at index 0 has size {0} and the array at index {2} "
        "has size {1}";
    if (!rows_of(e, c->aux ? NULL : differs, &rows))
        return false;
    if (tr_lib_is_array(rows) && rows.ty->ndim == 2 && (c->aux == 0 || c->aux == 3))
        return stack_rows(e, c, rows, c->aux == 3, dtype, out); /* rows of one axis */
    if (!parts_of(e, c, c->a[0], &p) || !dtype_arg(e, c, dtype, &p, &t))
        return false;
    for (uint32_t i = 0; i < p.n; i++) {
        tr_tv a = p.a[i];
        tr_bcall one = {.row = c->row, .nvar = 1, .var = &a, .aux = c->aux == 0 ? 2 : c->aux == 1 ? 1 : 3};
        if (c->aux < 3 && !tr_lib_np_atleast(e, &one, &p.a[i]))
            return false;
        while (c->aux == 3 && p.a[i].ty->ndim < 2) /* vectors are columns */
            if (!with_axis(e, c, p.a[i].ty->ndim, &p.a[i]))
                return false;
    }
    uint32_t axis = c->aux == 0 ? 0 : c->aux == 1 ? p.a[0].ty->ndim > 1 : c->aux == 2 ? 2 : 1;
    return join(e, c, &p, axis, t, out);
}

/* Parameters: arr, values, axis. */
bool tr_lib_np_append(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a[2];
    parts p = {2, a};
    uint32_t axis = 0;
    for (int i = 0; i < 2; i++) {
        if (!array_of(e, c, c->a[i], &a[i]))
            return false;
        if (!tr_fam_given(c->a[2]) && !raveled(e, c, a[i], &a[i]))
            return false;
    }
    if (tr_fam_given(c->a[2]) && !tr_fam_axis(e, c, a[0].ty->ndim, c->a[2], &axis))
        return false;
    return join(e, c, &p, axis, NULL, out);
}

/* --- moving and repeating items --- */

/* Two parts change places along an axis; of all items as they lie in C order, where that is absent. */
static bool roll(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv shift, tr_tv along, tr_tv *out) {
    tr_tv flat = a, k, shape[TR_MAX_NDIM], zero = i64(e, 0);
    uint32_t axis = 0;
    bool whole = !tr_fam_given(along);
    if (!tr_fam_int(e, c, shift, "shift", &k) || (!whole && !tr_fam_axis(e, c, a.ty->ndim, along, &axis)))
        return false;
    tr_fam_shape(e, a, shape);
    *out = tr_em_alloc(e, a.ty->elem, a.ty->ndim, TR_LAYOUT_C, shape);
    tr_tv dst = *out;
    if (whole && (!raveled(e, c, a, &flat) || !raveled(e, c, dst, &dst)))
        return false;
    tr_tv n = tr_em_dim(e, flat, axis);
    k = tr_em_op2(e, TR_OP_FLOORMOD, k, n); /* 0 when there are no items */
    tr_tv rest = tr_em_nsw(e, TR_OP_SUB, n, k);
    return tr_lib_map_into(e, tr_fam_part(e, dst, axis, zero, k), tr_fam_part(e, flat, axis, rest, k)) &&
           tr_lib_map_into(e, tr_fam_part(e, dst, axis, k, rest), tr_fam_part(e, flat, axis, zero, rest));
}

/* An item of a tuple of n, or the same number for each. */
static tr_tv nth(tr_em *e, tr_tv x, uint32_t i) {
    return x.ty->kind == TR_TY_TUPLE ? tr_em_item(e, x, i) : x;
}

/* Parameters: a, shift, axis. Tuples: along one axis after the other. */
bool tr_lib_np_roll(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, shift = c->a[1], axis = c->a[2];
    if (!tr_fam_as_array(e, c, c->a[0], NULL, &a))
        return false;
    bool several = shift.ty->kind == TR_TY_TUPLE, axes = tr_fam_given(axis) && axis.ty->kind == TR_TY_TUPLE;
    if (!several && !axes)
        return roll(e, c, a, shift, axis, out);
    if (!tr_fam_given(axis) || (several && axes && shift.ty->n != axis.ty->n))
        return tr_em_error(e, "%s(): a tuple of shifts needs an axis for each", tr_fam_name(c));
    uint32_t n = several ? shift.ty->n : axis.ty->n;
    for (uint32_t i = 0; i < n; i++)
        if (!roll(e, c, a, nth(e, shift, i), nth(e, axis, i), &a))
            return false;
    *out = a;
    return n > 0 || tr_em_copy(e, a, TR_LAYOUT_C, out);
}

/* An array seen with an axis more, of extent n, whose items are all the same. */
static tr_tv spread_axis(tr_em *e, tr_tv a, uint32_t axis, tr_tv n) {
    assert(axis <= a.ty->ndim && a.ty->ndim < TR_MAX_NDIM && tr_em_are_i64(e, 1, &n) &&
           "there is room for one axis more");
    tr_axes x = {0};
    for (uint32_t i = 0; i <= a.ty->ndim; i++)
        if (i == axis)
            tr_axes_new(e, &x, n);
        else
            tr_axes_own(e, &x, a, i < axis ? i : i - 1);
    const tr_ty *ty = tr_ty_array(e->types, a.ty->elem, a.ty->ndim + 1u, TR_LAYOUT_ANY, a.ty->readonly);
    return tr_em_view(e, ty, a, &x);
}

/* A new array whose axis `axis` is that of a times n: each item n times (after), or the whole n times
 * (before). */
static bool multiplied(tr_em *e, const tr_bcall *c, tr_tv a, uint32_t axis, tr_tv n, bool after, tr_tv *out) {
    tr_tv shape[TR_MAX_NDIM + 1], big, wide;
    uint32_t nd = a.ty->ndim;
    if (nd + 1u > TR_MAX_NDIM)
        return tr_em_error(e, "%s() of an array of %d dimensions", tr_fam_name(c), TR_MAX_NDIM);
    n = tr_em_op2(e, TR_OP_MAX, n, i64(e, 0));
    tr_fam_shape(e, a, shape);
    shape[axis] = tr_em_extent_product(e, shape[axis], n);
    *out = tr_em_alloc(e, a.ty->elem, nd, TR_LAYOUT_C, shape);
    wide = spread_axis(e, a, after ? axis + 1 : axis, n);
    for (uint32_t i = 0; i <= nd; i++)
        shape[i] = tr_em_dim(e, wide, i);
    big = tr_em_restride(e, tr_ty_array(e->types, a.ty->elem, nd + 1u, TR_LAYOUT_C, false), *out, i64(e, 0),
                         shape, NULL);
    return tr_lib_map_into(e, big, wide);
}

/* --- repeat with a number for each item: where each goes to ends the one before, so a place of the
 * result is searched among the ends --- */

static bool lam_count(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                      tr_tv *yields) {
    (void)d, (void)idx, (void)caps;
    yields[0] = yields[1] = tr_em_conv(e, elems[0], tr_fam_ty(e, TR_TY_I64));
    yields[2] = tr_em_conv(e, elems[0], tr_fam_ty(e, TR_TY_F64));
    return true;
}

/* The sum of counts, none of which is negative. */
static bool total_of(tr_em *e, tr_tv counts, tr_tv *out) {
    static const tr_redk reds[] = {TR_RED_MIN, TR_RED_ADD, TR_RED_ADD};
    tr_tv init[] = {i64(e, 0), i64(e, 0), tr_em_f64(e, 0.0)}, n = tr_em_dim(e, counts, 0), r;
    tr_pdesc d = {.nspace = 1,
                  .nin = 1,
                  .nred = 3,
                  .space = &n,
                  .in = &counts,
                  .reds = reds,
                  .init = init,
                  .lam = lam_count};
    if (!tr_em_pattern(e, &d, &r))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, tr_em_item(e, r, 0), i64(e, 0)), TR_EXC_VALUE,
                "repeats may not contain negative values.", 0, NULL);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_LT, tr_em_item(e, r, 2), tr_em_f64(e, 0x1p62)), TR_EXC_VALUE,
                "the sum of repeats is larger than the maximum possible size", 0, NULL);
    *out = tr_em_item(e, r, 1);
    return true;
}

static bool lam_place(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                      tr_tv *yields) {
    (void)e, (void)d, (void)elems, (void)caps;
    yields[0] = idx[0];
    return true;
}

bool tr_fam_numbers(tr_em *e, tr_tv n, tr_tv *out) {
    tr_tv none;
    *out = tr_em_alloc(e, tr_fam_ty(e, TR_TY_I64), 1, TR_LAYOUT_C, &n);
    tr_pdesc d = {.nspace = 1, .nout = 1, .space = &n, .out = out, .lam = lam_place};
    return tr_em_pattern(e, &d, &none);
}

static bool repeated(tr_em *e, const tr_bcall *c, tr_tv a, uint32_t axis, tr_tv counts, tr_tv *out) {
    const tr_ty *t64 = tr_fam_ty(e, TR_TY_I64), *t = counts.ty->elem;
    tr_tv n = tr_em_dim(e, a, axis), m = tr_em_dim(e, counts, 0), one = tr_em_cmp(e, TR_CMP_EQ, m, i64(e, 1)),
          zero = tr_em_lit(e, tr_obj_int(&e->ctx->arena, 0)), total, v[2], more[4] = {{NULL, TR_NOVAL}};
    tr_axes x = {0};
    if ((t->kind != TR_TY_BOOL && !tr_ty_is_int(t)) || t->kind == TR_TY_U64 || counts.ty->ndim != 1)
        return tr_em_error(e, "%s(): repeats are integers along one axis, not %s", tr_fam_name(c),
                           tr_em_tyname(e, counts.ty));
    tr_em_check(e, tr_fam_or(e, one, tr_em_cmp(e, TR_CMP_EQ, m, n)), TR_EXC_VALUE,
                "operands could not be broadcast together with shape ({0},) ({1},)", 2, (tr_tv[]){n, m});
    tr_axes_part(&x, 0, i64(e, 0), n, tr_em_select(e, one, i64(e, 0), i64(e, 1)));
    counts = tr_em_view(e, tr_ty_array(e->types, t, 1, TR_LAYOUT_ANY, counts.ty->readonly), counts, &x);
    more[0] = counts;
    more[1] = zero;
    if (!total_of(e, counts, &total) ||
        !tr_fam_running(e, &(tr_bcall){.row = c->row, .n = 4, .a = more}, TR_RED_ADD, t64, &v[0]))
        return false;
    tr_tv taken[5] = {a, {NULL, TR_NOVAL}, tr_em_lit(e, tr_obj_int(&e->ctx->arena, axis))};
    return tr_fam_numbers(e, total, &v[1]) &&
           tr_fam_places(e, &(tr_bcall){.row = c->row, .n = 2, .a = v}, true, &taken[1]) &&
           tr_lib_np_take(e, &(tr_bcall){.row = c->row, .n = 5, .a = taken}, out);
}

/* repeat(a, repeats, axis): one number for all items, or one for each. */
bool tr_lib_np_repeat(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, n = c->a[1];
    uint32_t axis = 0;
    if (!array_of(e, c, c->a[0], &a))
        return false;
    bool several = !tr_lib_scalar(e, n.ty);
    if (several && !tr_fam_as_array(e, c, n, NULL, &n))
        return false;
    if (several && n.ty->ndim == 0) {
        n = tr_em_load(e, n, NULL);
        several = false;
    }
    if (tr_fam_given(c->a[2]) ? !tr_fam_axis(e, c, a.ty->ndim, c->a[2], &axis) : !raveled(e, c, a, &a))
        return false;
    if (several)
        return repeated(e, c, a, axis, n, out);
    if (!tr_fam_int(e, c, n, "repeats", &n))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, n, i64(e, 0)), TR_EXC_VALUE,
                "repeats may not contain negative values.", 0, NULL);
    return multiplied(e, c, a, axis, n, true, out);
}

/* tile(A, reps) */
bool tr_lib_np_tile(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, x[TR_MAX_NDIM], n;
    uint32_t reps;
    if (!array_of(e, c, c->a[0], &a) || !tr_fam_list(e, c, c->a[1], x, &reps))
        return false;
    while (a.ty->ndim < reps)
        if (!with_axis(e, c, 0, &a))
            return false;
    if (reps == 0)
        return tr_em_copy(e, a, TR_LAYOUT_C, out);
    *out = a;
    for (uint32_t i = 0; i < reps; i++) {
        if (!tr_fam_int(e, c, x[i], "reps", &n))
            return false;
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, n, i64(e, 0)), TR_EXC_VALUE,
                    "negative dimensions are not allowed", 0, NULL);
        if (!multiplied(e, c, *out, a.ty->ndim - reps + i, n, false, out))
            return false;
    }
    return true;
}

/* meshgrid(*xi, indexing=): arrays of all, in full. */
bool tr_lib_np_meshgrid(tr_em *e, const tr_bcall *c, tr_tv *out) {
    uint32_t n = c->nvar;
    tr_tv *r = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u), *a = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u),
          shape[TR_MAX_NDIM];
    const char *how = "xy";
    if (n == 0 || n > TR_MAX_NDIM)
        return tr_em_error(e, "meshgrid() takes one to %d arrays", TR_MAX_NDIM);
    if (c->a[1].ty && (!tr_tv_lit_str(c->a[1], &how) || how[2] ||
                       ((how[0] != 'x' || how[1] != 'y') && (how[0] != 'i' || how[1] != 'j'))))
        return tr_em_error(e, "meshgrid(): indexing must be 'xy' or 'ij'");
    bool xy = how[0] == 'x' && n > 1;
    for (uint32_t i = 0; i < n; i++) {
        if (!array_of(e, c, c->var[i], &a[i]) || !raveled(e, c, a[i], &a[i]))
            return false;
        shape[xy && i < 2 ? 1 - i : i] = tr_em_dim(e, a[i], 0);
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t axis = xy && i < 2 ? 1 - i : i;
        r[i] = tr_em_alloc(e, a[i].ty->elem, n, TR_LAYOUT_C, shape);
        if (!tr_lib_map_into(e, r[i], tr_lib_expand_at(e, a[i], axis + 1, n)))
            return false;
    }
    *out = tr_em_tuple(e, n, r);
    return true;
}

/* --- triangles and diagonals --- */

/* caps: k. Nothing of the item but where column - row is on the wanted side of k. user: 'l' or 'u'. */
static bool lam_triangle(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                         tr_tv *yields) {
    const char *side = d->user;
    uint32_t n = d->nspace;
    const tr_ty *t = d->out[0].ty->elem;
    tr_tv x = tr_em_op2(e, TR_OP_SUB, idx[n - 1], idx[n - 2]);
    tr_tv in = tr_em_cmp(e, *side == 'l' ? TR_CMP_LE : TR_CMP_GE, x, caps[0]);
    yields[0] = tr_em_select(e, in, d->nin ? elems[0] : tr_em_num(e, t, 1.0), tr_em_num(e, t, 0.0));
    return true;
}

static bool triangle(tr_em *e, uint32_t ndim, const tr_tv *shape, const tr_ty *t, const tr_tv *src, tr_tv k,
                     bool lower, tr_tv *out) {
    tr_tv none;
    *out = tr_em_alloc(e, t, ndim, TR_LAYOUT_C, shape);
    tr_pdesc d = {.nspace = ndim,
                  .nin = src ? 1 : 0,
                  .nout = 1,
                  .ncap = 1,
                  .space = shape,
                  .in = src,
                  .out = out,
                  .caps = &k,
                  .lam = lam_triangle,
                  .user = lower ? "l" : "u"};
    return tr_em_pattern(e, &d, &none);
}

static bool k_arg(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *k) {
    *k = i64(e, 0);
    return !x.ty || tr_fam_int(e, c, x, "k", k);
}

/* tril, triu: parameters m, k. aux 1: upper. A vector is taken as the row of a square. */
bool tr_lib_np_triangle(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, k, shape[TR_MAX_NDIM];
    if (!tr_fam_as_array(e, c, c->a[0], NULL, &a) || !k_arg(e, c, c->a[1], &k))
        return false;
    if (a.ty->ndim == 0)
        return tr_em_error(e, "%s() of an array without axes", tr_fam_name(c));
    tr_fam_shape(e, a, shape);
    if (a.ty->ndim == 1) {
        shape[1] = shape[0];
        a = tr_lib_expand_at(e, a, 2, 2);
    }
    return triangle(e, a.ty->ndim, shape, a.ty->elem, &a, k, c->aux == 0, out);
}

/* tri(N, M, k, dtype) */
bool tr_lib_np_tri(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv n[2], k;
    const tr_ty *t = tr_fam_ty(e, TR_TY_F64);
    if (!tr_fam_int(e, c, c->a[0], "N", &n[0]) || !k_arg(e, c, c->a[2], &k))
        return false;
    n[1] = n[0];
    if (tr_fam_given(c->a[1]) && !tr_fam_int(e, c, c->a[1], "M", &n[1]))
        return false;
    if (tr_fam_given(c->a[3]) && !tr_fam_dtype(e, c, c->a[3], &t))
        return false;
    for (int i = 0; i < 2; i++)
        n[i] = tr_em_op2(e, TR_OP_MAX, n[i], i64(e, 0));
    return triangle(e, 2, n, t, NULL, k, true, out);
}

/* diag(v, k): of a matrix its diagonal, copied; of a vector a matrix. */
bool tr_lib_np_diag(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v, k, n[2], line;
    if (!tr_fam_as_array(e, c, c->a[0], NULL, &v) || !k_arg(e, c, c->a[1], &k))
        return false;
    if (v.ty->ndim == 2)
        return tr_fam_diagonal(e, c, v, k, 0, 1, &line) && tr_em_copy(e, line, TR_LAYOUT_C, out);
    if (v.ty->ndim != 1)
        return tr_em_error(e, "diag() takes a vector or a matrix");
    n[0] = n[1] = tr_em_extent_sum(e, tr_em_dim(e, v, 0), tr_em_op1(e, TR_OP_ABS, k));
    *out = tr_em_alloc(e, v.ty->elem, 2, TR_LAYOUT_C, n);
    return tr_em_fill(e, *out, tr_em_num(e, v.ty->elem, 0.0)) &&
           tr_fam_diagonal(e, c, *out, k, 0, 1, &line) && tr_lib_map_into(e, line, v);
}

/* trace(a, offset, axis1, axis2, dtype): the sum of the diagonal. */
bool tr_lib_np_trace(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv d, args[6] = {{NULL, TR_NOVAL}};
    tr_bcall four = *c;
    four.n = 4;
    if (!tr_lib_np_diagonal(e, &four, &d))
        return false;
    args[0] = d;
    args[1] = tr_em_lit(e, tr_obj_int(&e->ctx->arena, -1));
    args[2] = c->a[4];
    return tr_lib_arr_sum(e, &(tr_bcall){.row = c->row, .aux = TR_RED_ADD, .n = 6, .a = args}, out);
}

/* --- differences --- */

/* Differences of differences are computed together, each as often as it is read, which doubles with every
 * step: after a few of them what was made is looked at as memory, so that it stays an array. */
enum { DIFFS_AT_ONCE = 3 };
static tr_tv as_memory(tr_em *e, tr_tv a) {
    tr_tv shape[TR_MAX_NDIM];
    tr_fam_shape(e, a, shape);
    return a.ty->layout == TR_LAYOUT_C ? tr_em_restride(e, a.ty, a, i64(e, 0), shape, NULL) : a;
}

/* What comes before or after a along an axis: a number there is as one item in each line. */
static bool beside(tr_em *e, const tr_bcall *c, tr_tv a, uint32_t axis, tr_tv x, tr_tv *out) {
    tr_tv shape[TR_MAX_NDIM];
    if (!tr_fam_as_array(e, c, x, NULL, out))
        return false;
    if (tr_ty_is_loose(out->ty) && !tr_em_copy(e, *out, TR_LAYOUT_C, out))
        return false;
    if (out->ty->ndim)
        return true;
    tr_fam_shape(e, a, shape);
    shape[axis] = i64(e, 1);
    return tr_em_broadcast(e, *out, a.ty->ndim, shape, out);
}

/* With prepend= and append=, where they are given. */
static bool longer(tr_em *e, const tr_bcall *c, uint32_t axis, tr_tv *a) {
    tr_tv all[3], args[3] = {{NULL, TR_NOVAL}, tr_em_lit(e, tr_obj_int(&e->ctx->arena, axis))};
    uint32_t n = 0;
    if (c->a[3].ty && !beside(e, c, *a, axis, c->a[3], &all[n++]))
        return false;
    all[n++] = *a;
    if (c->a[4].ty && !beside(e, c, *a, axis, c->a[4], &all[n++]))
        return false;
    args[0] = tr_em_tuple(e, n, all);
    return n == 1 || tr_lib_np_concatenate(e, &(tr_bcall){.row = c->row, .n = 3, .a = args}, a);
}

/* What neighbours along an axis differ by; of bools whether they do. */
static bool neighbours(tr_em *e, tr_tv a, uint32_t axis, tr_tv *out) {
    tr_tv one = i64(e, 1), len = tr_em_dim(e, a, axis), some = tr_em_cmp(e, TR_CMP_GT, len, one);
    tr_tv less = tr_em_select(e, some, tr_em_nsw(e, TR_OP_SUB, len, one), i64(e, 0));
    tr_tv from = tr_em_select(e, some, one, i64(e, 0));
    tr_tv after = tr_fam_part(e, a, axis, from, less), before = tr_fam_part(e, a, axis, i64(e, 0), less);
    return a.ty->elem->kind == TR_TY_BOOL ? tr_em_compare(e, TR_CMP_NE, after, before, out)
                                          : tr_em_binary(e, TR_BIN_SUB, after, before, out);
}

static bool each_order(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    (void)x, (void)stop;
    tr_tv less;
    return neighbours(e, acc[0], *(const uint32_t *)user, &less) && tr_em_coerce(e, less, acc[0].ty, &acc[0]);
}

/* Without what stands before and after where n, a number at run time, is 0. */
static bool as_long(tr_em *e, const tr_bcall *c, tr_tv a, uint32_t axis, tr_tv n, tr_tv *wide) {
    tr_tv before = i64(e, 0), none = tr_em_cmp(e, TR_CMP_EQ, n, before), x;
    if (c->a[3].ty) {
        if (!beside(e, c, a, axis, c->a[3], &x))
            return false;
        before = tr_em_select(e, none, tr_em_dim(e, x, axis), before);
    }
    *wide = tr_fam_part(e, *wide, axis, before,
                        tr_em_select(e, none, tr_em_dim(e, a, axis), tr_em_dim(e, *wide, axis)));
    return true;
}

/* n times, a number at run time: each makes an array. */
static bool orders(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv n, const uint32_t *axis, tr_tv *out) {
    tr_tv range, wide = a;
    if (!tr_fam_int(e, c, n, "n", &n))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, n, i64(e, 0)), TR_EXC_VALUE,
                "order must be non-negative but got {0}", 1, &n);
    const tr_args args = {1, &n, 0, NULL};
    return longer(e, c, *axis, &wide) && as_long(e, c, a, *axis, n, &wide) &&
           tr_em_copy(e, wide, TR_LAYOUT_C, out) &&
           tr_em_builtin(e, TR_B_RANGE, (tr_tv){NULL, TR_NOVAL}, &args, &range) &&
           tr_em_iter(e, range, &range) && tr_em_each(e, range, 1, out, each_order, axis);
}

enum { DIFFS_WRITTEN_OUT = 16 };

/* diff(a, n, axis, prepend, append). */
bool tr_lib_np_diff(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    uint32_t *axis = TR_NEW(&e->ctx->arena, uint32_t);
    int64_t n = 1;
    if (!tr_fam_as_array(e, c, c->a[0], NULL, &a))
        return false;
    if (a.ty->ndim == 0)
        return tr_em_error(e, "diff() requires input that is at least one dimensional");
    *axis = a.ty->ndim - 1u;
    if (c->a[2].ty && !tr_fam_axis(e, c, a.ty->ndim, c->a[2], axis))
        return false;
    bool known = !c->a[1].ty || tr_tv_lit_int(c->a[1], &n);
    if (known && n < 0)
        return tr_em_error(e, "diff(): order must be non-negative but got %lld", (long long)n);
    bool same = known && n == 0; /* the array itself, wherever its items lie */
    if (!same && tr_ty_is_loose(a.ty) && !tr_em_copy(e, a, TR_LAYOUT_C, &a))
        return false;
    if (!known || n > DIFFS_WRITTEN_OUT)
        return orders(e, c, a, c->a[1], axis, out);
    if (n && !longer(e, c, *axis, &a))
        return false;
    *out = a;
    for (int64_t k = 0; k < n; k++) {
        if (k && k % DIFFS_AT_ONCE == 0)
            *out = as_memory(e, *out);
        if (!neighbours(e, *out, *axis, out))
            return false;
    }
    return true;
}
