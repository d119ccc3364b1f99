/* Methods that give another view of an array, or its items one way or the other: reshape, ravel, transpose,
 * item, fill, real and imag. reshape and ravel give a view where the memory is contiguous in C order and a
 * copy elsewhere. */
#include "lib/fam.h"
#include "lib/families.h"

static const tr_ty *with(tr_em *e, tr_tv a, uint32_t ndim, tr_layout lay) {
    return tr_ty_array(e->types, a.ty->elem, ndim, lay, a.ty->readonly);
}

/* --- contiguous --- */

/* Whether an array's items lie in C order without gaps; strides of axes with one item do not matter. */
static tr_tv is_contiguous(tr_em *e, tr_tv a) {
    tr_tv one = tr_em_i64(e, 1), want = one, ok = tr_em_cmp(e, TR_CMP_EQ, tr_em_size(e, a), tr_em_i64(e, 0)),
          all = tr_em_bool(e, true);
    for (uint32_t i = a.ty->ndim; i-- > 0;) {
        tr_tv d = tr_em_dim(e, a, i);
        tr_tv fine = tr_fam_or(e, tr_em_cmp(e, TR_CMP_EQ, d, one),
                               tr_em_cmp(e, TR_CMP_EQ, tr_em_stride(e, a, i), want));
        all = tr_fam_and(e, all, fine);
        want = tr_em_op2(e, TR_OP_MUL, want, d);
    }
    return tr_fam_or(e, ok, all);
}

/* a as a C array: itself, the same memory when it is contiguous at run time, else a copy. */
static bool as_c(tr_em *e, tr_tv a, tr_tv *out) {
    const tr_ty *ty = with(e, a, a.ty->ndim, TR_LAYOUT_C);
    tr_tv shape[TR_MAX_NDIM], copy;
    if (a.ty->layout == TR_LAYOUT_C) {
        *out = a;
        return true;
    }
    if (a.ty->layout == TR_LAYOUT_F || e->dry) {
        *out = (tr_tv){ty, TR_NOVAL};
        return tr_em_copy(e, a, TR_LAYOUT_C, &copy) && tr_em_coerce(e, copy, ty, out);
    }
    tr_fn *f = e->b.fn;
    tr_bid view = tr_blk_new(f), slow = tr_blk_new(f), join = tr_blk_new(f);
    tr_cbr(&e->b, is_contiguous(e, a).v, view, 0, NULL, slow, 0, NULL);
    e->b.blk = view;
    tr_fam_shape(e, a, shape);
    tr_tv plain = tr_em_view(e, ty, a, tr_em_i64(e, 0), shape, NULL);
    tr_br(&e->b, join, 1, &plain.v);
    e->b.blk = slow;
    if (!tr_em_copy(e, a, TR_LAYOUT_C, &copy) || !tr_em_coerce(e, copy, ty, &copy))
        return false;
    tr_br(&e->b, join, 1, &copy.v);
    e->b.blk = join;
    *out = (tr_tv){ty, tr_blk_param(f, join, ty, NULL)};
    return true;
}

/* --- order of axes --- */

tr_tv tr_fam_permuted(tr_em *e, tr_tv a, const uint32_t *perm) {
    tr_tv n[TR_MAX_NDIM], st[TR_MAX_NDIM];
    bool same = true, turned = true;
    for (uint32_t i = 0; i < a.ty->ndim; i++) {
        same = same && perm[i] == i;
        turned = turned && perm[i] == a.ty->ndim - 1u - i;
        n[i] = tr_em_dim(e, a, perm[i]);
        st[i] = tr_em_stride(e, a, perm[i]);
    }
    if (same)
        return a;
    tr_layout lay = TR_LAYOUT_ANY;
    if (turned && a.ty->layout == TR_LAYOUT_C)
        lay = TR_LAYOUT_F;
    if (turned && a.ty->layout == TR_LAYOUT_F)
        lay = TR_LAYOUT_C;
    return tr_em_view(e, with(e, a, a.ty->ndim, lay), a, tr_em_i64(e, 0), n, st);
}

/* --- reshape, ravel, flatten --- */

/* Arguments that are either all of *args or one tuple. */
static uint32_t spread(tr_em *e, uint32_t n, const tr_tv *x, const tr_tv **out) {
    if (n != 1 || x[0].ty->kind != TR_TY_TUPLE) {
        *out = x;
        return n;
    }
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, x[0].ty->n + 1u);
    for (uint32_t i = 0; i < x[0].ty->n; i++)
        it[i] = tr_em_item(e, x[0], i);
    *out = it;
    return x[0].ty->n;
}

/* The extents of the result: one negative entry stands for what is left. The product is followed in float64
 * too, so that one that wraps around cannot pass for the size, nor hide behind an extent of 0. */
static bool new_shape(tr_em *e, const tr_bcall *c, tr_tv a, uint32_t n, const tr_tv *x, tr_tv *shape) {
    tr_tv size = tr_em_size(e, a), zero = tr_em_i64(e, 0), one = tr_em_i64(e, 1), prod = one, unknown = zero,
          neg[TR_MAX_NDIM];
    tr_tv known[TR_MAX_NDIM];
    if (n > TR_MAX_NDIM)
        return tr_em_error(e, "%s(): more than %d dimensions", tr_fam_name(c), TR_MAX_NDIM);
    for (uint32_t i = 0; i < n; i++) {
        if (!tr_fam_int(e, c, x[i], "a shape", &shape[i]))
            return false;
        neg[i] = tr_em_cmp(e, TR_CMP_LT, shape[i], zero);
        known[i] = tr_em_select(e, neg[i], one, shape[i]);
        prod = tr_em_op2(e, TR_OP_MUL, prod, known[i]);
        unknown = tr_em_op2(e, TR_OP_ADD, unknown, tr_em_conv(e, neg[i], zero.ty));
    }
    tr_em_check(e, tr_em_cmp(e, TR_CMP_LE, unknown, one), TR_EXC_VALUE,
                "can only specify one unknown dimension", 0, NULL);
    tr_tv whole = tr_em_cmp(e, TR_CMP_EQ, prod, size), any = tr_em_cmp(e, TR_CMP_NE, prod, zero);
    tr_tv fits = tr_fam_and(e, any, tr_em_cmp(e, TR_CMP_EQ, tr_em_op2(e, TR_OP_REM, size, prod), zero));
    tr_tv ok = tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, unknown, zero), whole, fits);
    ok = tr_fam_and(e, ok, tr_lib_has_room(e, a.ty->elem, tr_lib_size_estimate(e, n, known)));
    tr_em_check(e, ok, TR_EXC_VALUE, "cannot reshape array of size {0} into another size", 1, &size);
    tr_tv rest = tr_em_op2(e, TR_OP_QUOT, size, prod);
    for (uint32_t i = 0; i < n; i++)
        shape[i] = tr_em_select(e, neg[i], rest, shape[i]);
    return true;
}

/* order=: 'C' or 'F'. What is done in order F is done in order C to the transpose. */
static bool order_arg(tr_em *e, const tr_bcall *c, tr_tv x, bool *f) {
    const char *s = "C";
    if (tr_fam_given(x) && !tr_tv_lit_str(x, &s))
        return tr_em_error(e, "%s(): order must be a constant", tr_fam_name(c));
    *f = *s == 'F' || *s == 'f';
    if (*f || *s == 'C' || *s == 'c')
        return true;
    return tr_em_unsupported(e, "order", "%s() in an order other than 'C' and 'F'", tr_fam_name(c));
}

static tr_tv reversed(tr_em *e, tr_tv a) {
    uint32_t perm[TR_MAX_NDIM];
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        perm[i] = a.ty->ndim - 1u - i;
    return tr_fam_permuted(e, a, perm);
}

/* aux 0: method, a.reshape(*shape, order); 1: function, np.reshape(a, shape, order). */
bool tr_lib_arr_reshape(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, shape[TR_MAX_NDIM];
    const tr_tv *x;
    bool f;
    if (!order_arg(e, c, c->a[2], &f) || !tr_fam_as_array(e, c, c->a[0], NULL, &a))
        return false;
    uint32_t n = c->aux ? spread(e, 1, &c->a[1], &x) : spread(e, c->nvar, c->var, &x);
    if (!c->aux && c->nvar == 0)
        return tr_em_error(e, "reshape() needs a shape");
    if (!new_shape(e, c, a, n, x, shape) || !as_c(e, f ? reversed(e, a) : a, &a))
        return false;
    *out = tr_em_view(e, with(e, a, n, f ? TR_LAYOUT_F : TR_LAYOUT_C), a, tr_em_i64(e, 0), shape, NULL);
    return true;
}

/* aux 1: flatten, which always copies. Parameters: a, order. */
bool tr_lib_arr_ravel(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    bool f;
    if (!order_arg(e, c, c->a[1], &f) || !tr_fam_as_array(e, c, c->a[0], NULL, &a))
        return false;
    if (f)
        a = reversed(e, a);
    if (!(c->aux ? tr_em_copy(e, a, TR_LAYOUT_C, &a) : as_c(e, a, &a)))
        return false;
    tr_tv n = tr_em_size(e, a);
    *out = a.ty->ndim == 1 ? a : tr_em_view(e, with(e, a, 1, TR_LAYOUT_C), a, tr_em_i64(e, 0), &n, NULL);
    return true;
}

/* --- transpose, swapaxes --- */

static bool transpose(tr_em *e, const tr_bcall *c, tr_tv a, uint32_t n, const tr_tv *x, tr_tv *out) {
    uint32_t perm[TR_MAX_NDIM], seen = 0;
    if (n && n != a.ty->ndim)
        return tr_em_error(e, "%s(): axes don't match array", tr_fam_name(c));
    for (uint32_t i = 0; i < a.ty->ndim; i++) {
        perm[i] = a.ty->ndim - 1u - i;
        if (n && !tr_fam_axis(e, c, a.ty->ndim, x[i], &perm[i]))
            return false;
        if (seen & (1u << perm[i]))
            return tr_em_error(e, "%s(): repeated axis", tr_fam_name(c));
        seen |= 1u << perm[i];
    }
    *out = tr_fam_permuted(e, a, perm);
    return true;
}

/* The attribute T, the method transpose(*axes). */
bool tr_lib_arr_transpose(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_tv *x = NULL;
    uint32_t n =
        c->nvar == 0 || (c->nvar == 1 && tr_tv_is_none(c->var[0])) ? 0 : spread(e, c->nvar, c->var, &x);
    return transpose(e, c, c->a[0], n, x, out);
}

/* np.transpose(a, axes). */
bool tr_lib_np_transpose(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_tv *x = NULL;
    tr_tv a;
    uint32_t n = tr_fam_given(c->a[1]) ? spread(e, 1, &c->a[1], &x) : 0;
    return tr_fam_as_array(e, c, c->a[0], NULL, &a) && transpose(e, c, a, n, x, out);
}

bool tr_lib_arr_swapaxes(tr_em *e, const tr_bcall *c, tr_tv *out) {
    uint32_t perm[TR_MAX_NDIM], i, j;
    tr_tv a;
    if (!tr_fam_as_array(e, c, c->a[0], NULL, &a))
        return false;
    if (!tr_fam_axis(e, c, a.ty->ndim, c->a[1], &i) || !tr_fam_axis(e, c, a.ty->ndim, c->a[2], &j))
        return false;
    for (uint32_t k = 0; k < a.ty->ndim; k++)
        perm[k] = k == i ? j : k == j ? i : k;
    *out = tr_fam_permuted(e, a, perm);
    return true;
}

/* --- items --- */

bool tr_lib_arr_fill(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a = c->a[0];
    if (!tr_fam_number(e, c, c->a[1], "bifc"))
        return false;
    *out = tr_em_none(e);
    return tr_em_assign(e, a, c->a[1]);
}

bool tr_lib_arr_flat(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_em_make(e, tr_ty_of(e->types, TR_TY_FLAT, 0, 1, &c->a[0].ty), 1, &c->a[0]);
    return true;
}

/* --- indices of all items --- */

static tr_tv all_indices(tr_em *e, uint32_t n, const tr_tv *extents) {
    const tr_ty *ty[TR_MAX_NDIM];
    if (n == 0) { /* of an array without axes: one */
        tr_tv one = tr_em_tuple(e, 0, NULL);
        return tr_em_tuple(e, 1, &one);
    }
    for (uint32_t i = 0; i < n; i++)
        ty[i] = extents[i].ty;
    return tr_em_make(e, tr_ty_of(e->types, TR_TY_NDINDEX, 0, n, ty), n, extents);
}

/* ndindex(2, 3) or ndindex((2, 3)). */
bool tr_lib_np_ndindex(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv extents[TR_MAX_NDIM], zero = tr_em_i64(e, 0);
    const tr_tv *x;
    uint32_t n = spread(e, c->nvar, c->var, &x);
    if (n > TR_MAX_NDIM)
        return tr_em_error(e, "%s(): more than %d dimensions", tr_fam_name(c), TR_MAX_NDIM);
    for (uint32_t i = 0; i < n; i++) {
        if (!tr_fam_int(e, c, x[i], "an extent", &extents[i]))
            return false;
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, extents[i], zero), TR_EXC_VALUE,
                    "negative dimensions are not allowed", 0, NULL);
    }
    tr_em_check_size(e, tr_fam_ty(e, TR_TY_BOOL), n, extents); /* their number is counted */
    *out = all_indices(e, n, extents);
    return true;
}

/* Pairs of an item's indices and the item. */
bool tr_lib_np_ndenumerate(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a = c->a[0], extents[TR_MAX_NDIM], it[2];
    if (!tr_lib_is_array(a))
        return tr_em_error(e, "%s() takes an array, not %s", tr_fam_name(c), tr_em_tyname(e, a.ty));
    tr_fam_shape(e, a, extents);
    it[0] = all_indices(e, a.ty->ndim, extents);
    it[1] = tr_em_make(e, tr_ty_of(e->types, TR_TY_FLAT, 0, 1, &a.ty), 1, &a);
    *out = tr_em_make(e, tr_ty_of(e->types, TR_TY_ZIP, 0, 2, (const tr_ty *[]){it[0].ty, it[1].ty}), 2, it);
    return true;
}

/* item(): the only one; item(i): in C order; item(i, j, ...) or item((i, j, ...)): at that place. */
bool tr_lib_arr_item(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a = c->a[0], idx[TR_MAX_NDIM], flat;
    const tr_tv *x;
    uint32_t n = spread(e, c->nvar, c->var, &x);
    if (c->nvar == 0) {
        tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, tr_em_size(e, a), tr_em_i64(e, 1)), TR_EXC_VALUE,
                    "can only convert an array of size 1 to a Python scalar", 0, NULL);
        for (uint32_t i = 0; i < a.ty->ndim; i++)
            idx[i] = tr_em_i64(e, 0);
        *out = tr_em_load(e, a, idx);
        return true;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!tr_fam_number(e, c, x[i], "bi"))
            return false;
    if (n == 1)
        return tr_lib_arr_flat(e, c, &flat) && tr_em_getitem(e, flat, x[0], out);
    if (n != a.ty->ndim)
        return tr_em_error(e, "item() takes one index, or one for each of the %u axes", (unsigned)a.ty->ndim);
    return tr_em_getitem(e, a, tr_em_tuple(e, n, x), out);
}

/* real, imag of an array: views of a complex one; of a real one itself, and zeros. aux 1: imag. */
bool tr_lib_arr_part(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a = c->a[0], n[TR_MAX_NDIM], st[TR_MAX_NDIM], two = tr_em_i64(e, 2);
    tr_fam_shape(e, a, n);
    if (!tr_ty_is_complex(a.ty->elem)) {
        *out = c->aux ? tr_em_alloc(e, a.ty->elem, a.ty->ndim, TR_LAYOUT_C, n) : a;
        return !c->aux || tr_em_fill(e, *out, tr_em_num(e, a.ty->elem, 0.0));
    }
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        st[i] = tr_em_nsw(e, TR_OP_MUL, tr_em_stride(e, a, i), two);
    tr_layout lay = a.ty->ndim ? TR_LAYOUT_ANY : TR_LAYOUT_C;
    const tr_ty *ty = tr_ty_array(e->types, tr_lib_real_of(e, a.ty->elem), a.ty->ndim, lay, a.ty->readonly);
    *out = tr_em_view(e, ty, a, tr_em_i64(e, c->aux), n, st);
    return true;
}
