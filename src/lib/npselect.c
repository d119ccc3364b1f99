/* Functions that choose items: nonzero and its kin, take, compress, extract. They are names for indexing with
 * arrays (fancy.c): the positions of true items, then a[...]. */
#include "lib/fam.h"
#include "lib/families.h"

static bool array_arg(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *out) {
    if (tr_lib_scalar(e, x.ty))
        return tr_em_error(e, "%s() takes an array, not %s", tr_fam_name(c), tr_em_tyname(e, x.ty));
    return tr_fam_as_array(e, c, x, NULL, out);
}

static bool raveled(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv *out) {
    tr_tv args[2] = {a, {NULL, TR_NOVAL}};
    return tr_lib_arr_ravel(e, &(tr_bcall){.row = c->row, .n = 2, .a = args}, out);
}

static bool positions(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv *pos) {
    if (a.ty->ndim == 0)
        return tr_em_error(e, "%s() of an array without axes", tr_fam_name(c));
    return tr_lib_nonzero(e, a, pos);
}

/* nonzero, where(condition): a tuple of arrays. */
bool tr_lib_np_nonzero(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, pos[TR_MAX_NDIM];
    if (!array_arg(e, c, c->a[0], &a) || !positions(e, c, a, pos))
        return false;
    *out = tr_em_tuple(e, a.ty->ndim, pos);
    return true;
}

bool tr_lib_np_flatnonzero(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    return array_arg(e, c, c->a[0], &a) && raveled(e, c, a, &a) && tr_lib_nonzero(e, a, out);
}

/* argwhere: a row of indices for each item. */
bool tr_lib_np_argwhere(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, pos[TR_MAX_NDIM], shape[2], column;
    if (!array_arg(e, c, c->a[0], &a) || !positions(e, c, a, pos))
        return false;
    shape[0] = tr_em_dim(e, pos[0], 0);
    shape[1] = tr_em_i64(e, a.ty->ndim);
    *out = tr_em_alloc(e, tr_fam_ty(e, TR_TY_I64), 2, TR_LAYOUT_C, shape);
    for (uint32_t i = 0; i < a.ty->ndim; i++) {
        column = tr_lib_at_place(e, *out, 1, tr_em_i64(e, i), TR_LAYOUT_ANY);
        if (!tr_lib_map_into(e, column, pos[i]))
            return false;
    }
    return true;
}

/* a[:, ..., ix]: ix on the given axis. */
static bool on_axis(tr_em *e, tr_tv a, uint32_t axis, tr_tv ix, tr_tv *out) {
    tr_idx it[TR_MAX_NDIM];
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        it[i] = i == axis ? (tr_idx){tr_lib_is_array(ix) ? 'a' : 'i', ix} : (tr_idx){'f', a};
    return tr_lib_is_array(ix) ? tr_lib_fancy_get(e, a, it, a.ty->ndim, out)
                               : tr_lib_index_view(e, a, it, a.ty->ndim, out);
}

/* The axis= of a function that works on the flat array without it. */
static bool axis_or_flat(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *a, uint32_t *axis) {
    *axis = 0;
    if (tr_fam_given(x))
        return tr_fam_axis(e, c, a->ty->ndim, x, axis);
    return raveled(e, c, *a, a);
}

/* x: an index, and how many places there are, one at least. */
static bool elt_nearest(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    tr_tv zero = tr_em_i64(e, 0), last = tr_em_op2(e, TR_OP_SUB, x[1], tr_em_i64(e, 1));
    (void)user;
    tr_tv low = tr_em_op2(e, TR_OP_MAX, x[0], zero);
    *out = tr_em_op2(e, TR_OP_MIN, low, last);
    return true;
}

/* mode= of take: indices that are none of the n places become one, or stay a mistake. */
static bool by_mode(tr_em *e, const tr_bcall *c, tr_tv mode, tr_tv n, tr_tv *ix) {
    const tr_ty *i64 = tr_fam_ty(e, TR_TY_I64);
    const char *text = "raise";
    if (mode.ty && !tr_tv_lit_str(mode, &text))
        return tr_em_error(e, "%s(): mode must be a constant, 'raise', 'wrap' or 'clip'", tr_fam_name(c));
    bool wraps = !strcmp(text, "wrap"), clips = !strcmp(text, "clip");
    if (!wraps && !clips)
        return !strcmp(text, "raise") ||
               tr_em_error(e, "%s(): mode must be 'raise', 'wrap' or 'clip'", tr_fam_name(c));
    bool array = tr_lib_is_array(*ix);
    tr_tv some = tr_em_cmp(e, TR_CMP_GT, n, tr_em_i64(e, 0));
    if (array)
        some = tr_fam_or(e, some, tr_em_cmp(e, TR_CMP_EQ, tr_em_size(e, *ix), tr_em_i64(e, 0)));
    tr_em_check(e, some, TR_EXC_INDEX, "cannot do a non-empty take from an empty axes.", 0, NULL);
    if (!array)
        *ix = tr_em_conv(e, *ix, i64);
    else if (!tr_fam_copy_as(e, *ix, i64, TR_LAYOUT_C, ix))
        return false;
    if (wraps)
        return tr_em_binary(e, TR_BIN_MOD, *ix, n, ix);
    tr_tv args[2] = {*ix, n};
    return tr_lib_lift(e, 2, args, elt_nearest, NULL, ix);
}

/* Truth values are the places 0 and 1 here, not a mask: NumPy casts them. */
static bool truths_as_places(tr_em *e, tr_tv *ix) {
    const tr_ty *i64 = tr_fam_ty(e, TR_TY_I64);
    if (tr_lib_is_array(*ix))
        return tr_fam_copy_as(e, *ix, i64, TR_LAYOUT_C, ix);
    *ix = tr_em_conv(e, *ix, i64);
    return true;
}

/* What take() gives, without out=. */
static bool taken(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, ix = c->a[1];
    uint32_t axis;
    if (!array_arg(e, c, c->a[0], &a) || !axis_or_flat(e, c, c->a[2], &a, &axis))
        return false;
    if (!tr_lib_scalar(e, ix.ty) && !tr_fam_as_array(e, c, ix, NULL, &ix))
        return false;
    if (tr_lib_is_array(ix) && ix.ty->ndim == 0)
        ix = tr_em_load(e, ix, NULL);
    const tr_ty *t = tr_lib_is_array(ix) ? ix.ty->elem : tr_lib_scalar(e, ix.ty);
    if (!tr_ty_is_int(t) && t->kind != TR_TY_BOOL)
        return tr_em_error(e, "%s(): indices must be integers, not %s", tr_fam_name(c), tr_em_tyname(e, t));
    if (t->kind == TR_TY_BOOL && !truths_as_places(e, &ix))
        return false;
    if (!by_mode(e, c, c->a[4], tr_em_dim(e, a, axis), &ix))
        return false;
    if (!tr_lib_is_array(ix) && a.ty->ndim == 1)
        return tr_em_getitem(e, a, ix, out);
    if (tr_lib_is_array(ix))
        return on_axis(e, a, axis, ix, out);
    return on_axis(e, a, axis, ix, &a) && tr_em_copy(e, a, TR_LAYOUT_C, out); /* no view, as an index gives */
}

/* Parameters: a, indices, axis, out, mode. */
bool tr_lib_np_take(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return taken(e, c, out) && tr_fam_delivered(e, c, *out, 0, false, c->a[3], out);
}

/* compress: parameters condition, a, axis for the function; a, condition, axis for the method (aux 1). The
 * condition may be shorter than the axis. */
bool tr_lib_np_compress(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, cond, pos;
    uint32_t axis, first = c->aux == 1;
    if (!array_arg(e, c, c->a[first], &cond) || !array_arg(e, c, c->a[1 - first], &a))
        return false;
    if (cond.ty->ndim != 1)
        return tr_em_error(e, "%s(): condition must be a 1-d array", tr_fam_name(c));
    return axis_or_flat(e, c, c->a[2], &a, &axis) && tr_lib_nonzero(e, cond, &pos) &&
           on_axis(e, a, axis, pos, out);
}

/* treadle._library.separate(x, to): what may be read while `to` is stored to. */
bool tr_lib_np_separate(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = c->a[0];
    return !tr_lib_is_array(c->a[0]) || !tr_lib_is_array(c->a[1]) ||
           tr_lib_separate(e, c->a[1], c->a[0], out);
}

/* extract(condition, arr): both flat. */
bool tr_lib_np_extract(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, cond, pos;
    return array_arg(e, c, c->a[0], &cond) && array_arg(e, c, c->a[1], &a) && raveled(e, c, cond, &cond) &&
           raveled(e, c, a, &a) && tr_lib_nonzero(e, cond, &pos) && on_axis(e, a, 0, pos, out);
}
