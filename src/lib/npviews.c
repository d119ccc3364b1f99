/* Functions whose result is another view of an array's memory: axes moved, added, left out, turned round or
 * repeated, diagonals, windows, items of another type. They copy nothing. Views that NumPy makes read-only
 * (broadcast_to, diagonal) are read-only here. */
#include "lib/fam.h"
#include "lib/families.h"

static void add_new(tr_em *e, tr_axes *x) {
    tr_axes_new(e, x, tr_em_i64(e, 1));
}

static bool finish(tr_em *e, tr_tv a, const tr_axes *x, tr_layout lay, tr_tv *out) {
    *out = tr_em_view(e, tr_ty_array(e->types, a.ty->elem, x->n, x->n ? lay : TR_LAYOUT_C, a.ty->readonly), a,
                      x);
    return true;
}

static bool array_arg(tr_em *e, const tr_bcall *c, tr_tv *a) {
    return tr_fam_as_array(e, c, c->a[0], NULL, a);
}

static tr_layout own_layout(tr_tv a) {
    return (tr_layout)a.ty->layout;
}

/* --- order of axes --- */

/* Which of x[n], if any, is k, as a bool; x[n] beside it in `also`, which is else what it was. */
static tr_tv is_among(tr_em *e, uint32_t n, const tr_tv *x, tr_tv k, const tr_tv *beside, tr_tv *also) {
    tr_tv any = tr_em_bool(e, false);
    for (uint32_t i = 0; i < n; i++) {
        tr_tv it = tr_em_cmp(e, TR_CMP_EQ, x[i], k);
        any = tr_fam_or(e, any, it);
        if (beside)
            *also = tr_em_select(e, it, beside[i], *also);
    }
    return any;
}

/* Axes that are known at run time alone: those that are not named keep their order in the
 * places that are left. */
static void moved_late(tr_em *e, tr_tv a, uint32_t n, const tr_tv *from, const tr_tv *to, tr_tv *out) {
    tr_tv perm[TR_MAX_NDIM], zero = tr_em_i64(e, 0), one = tr_em_i64(e, 1), left = zero;
    for (uint32_t d = 0; d < a.ty->ndim; d++) {
        tr_tv named = zero, other = zero, unnamed = zero;
        tr_tv given = is_among(e, n, to, tr_em_i64(e, d), from, &named);
        for (uint32_t k = 0; k < a.ty->ndim; k++) { /* the axis before which `left` others are not named */
            tr_tv free = tr_fam_not(e, is_among(e, n, from, tr_em_i64(e, k), NULL, NULL));
            tr_tv it = tr_fam_and(e, free, tr_em_cmp(e, TR_CMP_EQ, unnamed, left));
            other = tr_em_select(e, it, tr_em_i64(e, k), other);
            unnamed = tr_em_nsw(e, TR_OP_ADD, unnamed, tr_em_select(e, free, one, zero));
        }
        perm[d] = tr_em_select(e, given, named, other);
        left = tr_em_nsw(e, TR_OP_ADD, left, tr_em_select(e, given, zero, one));
    }
    *out = tr_fam_permuted_late(e, a, perm);
}

static bool moveaxis_late(tr_em *e, const tr_bcall *c, tr_tv a, uint32_t n, tr_tv *from, tr_tv *to,
                          tr_tv *out) {
    tr_tv *const lists[2] = {from, to};
    for (int l = 0; l < 2; l++)
        for (uint32_t i = 0; i < n; i++) {
            if (!tr_fam_late_axis(e, c, a.ty->ndim, lists[l][i], &lists[l][i]))
                return false;
            tr_tv again = is_among(e, i, lists[l], lists[l][i], NULL, NULL);
            tr_em_check(e, tr_fam_not(e, again), TR_EXC_VALUE,
                        l ? "repeated axis in `destination` argument" : "repeated axis in `source` argument",
                        0, NULL);
        }
    moved_late(e, a, n, from, to, out);
    return true;
}

/* Parameters: a, source, destination. */
bool tr_lib_np_moveaxis(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, sx[TR_MAX_NDIM], dx[TR_MAX_NDIM];
    uint32_t ns, nd, perm[TR_MAX_NDIM], taken = 0, used = 0;
    if (!array_arg(e, c, &a))
        return false;
    if (!tr_fam_list(e, c, c->a[1], sx, &ns) || !tr_fam_list(e, c, c->a[2], dx, &nd))
        return false;
    if (ns != nd)
        return tr_em_error(e, "moveaxis(): source and destination must have the same number of axes");
    if (!tr_fam_are_known(ns, sx) || !tr_fam_are_known(ns, dx))
        return moveaxis_late(e, c, a, ns, sx, dx, out);
    for (uint32_t i = 0; i < ns; i++) {
        uint32_t s, d;
        if (!tr_fam_axis(e, c, a.ty->ndim, sx[i], &s) || !tr_fam_axis(e, c, a.ty->ndim, dx[i], &d))
            return false;
        if ((used & 1u << s) || (taken & 1u << d))
            return tr_em_error(e, "moveaxis(): repeated axis");
        used |= 1u << s;
        taken |= 1u << d;
        perm[d] = s;
    }
    uint32_t next = 0;
    for (uint32_t d = 0; d < a.ty->ndim; d++) {
        if (taken & 1u << d)
            continue;
        while (used & 1u << next)
            next++;
        perm[d] = next++;
    }
    *out = tr_fam_permuted(e, a, perm);
    return true;
}

/* --- axes of extent 1 --- */

/* Parameters: a, axis. Which axes go must be known when compiling. */
bool tr_lib_np_squeeze(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, one = tr_em_i64(e, 1);
    uint32_t mask;
    tr_axes x = {0};
    if (!array_arg(e, c, &a))
        return false;
    if (!tr_fam_given(c->a[1])) {
        tr_em_error(e, "squeeze() without axis: the number of axes would depend on the sizes");
        tr_em_hint(e, "say which axes to leave out: squeeze(axis=0)");
        return false;
    }
    if (!tr_fam_axes(e, c, a.ty->ndim, c->a[1], &mask))
        return false;
    for (uint32_t i = 0; i < a.ty->ndim; i++) {
        if (!(mask & 1u << i)) {
            tr_axes_own(e, &x, a, i);
            continue;
        }
        tr_tv n = tr_em_dim(e, a, i);
        tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, n, one), TR_EXC_VALUE,
                    "cannot select an axis to squeeze out which has size not equal to one: {0}", 1, &n);
    }
    return finish(e, a, &x, own_layout(a), out);
}

/* Parameters: a, axis: places in the result. */
bool tr_lib_np_expand_dims(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, given[TR_MAX_NDIM];
    uint32_t n, mask, next = 0;
    tr_axes x = {0};
    if (!array_arg(e, c, &a) || !tr_fam_list(e, c, c->a[1], given, &n))
        return false;
    if (a.ty->ndim + n > TR_MAX_NDIM)
        return tr_em_error(e, "%s(): more than %d dimensions", tr_fam_name(c), TR_MAX_NDIM);
    if (!tr_fam_axes(e, c, a.ty->ndim + n, c->a[1], &mask))
        return false;
    for (uint32_t i = 0; i < a.ty->ndim + n; i++) {
        if (mask & 1u << i)
            add_new(e, &x);
        else
            tr_axes_own(e, &x, a, next++);
    }
    return finish(e, a, &x, own_layout(a), out);
}

/* atleast_1d, 2d, 3d of one array. aux: the rank. */
bool tr_lib_np_atleast(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    uint32_t want = (uint32_t)c->aux, n;
    tr_axes x = {0};
    if (c->nvar != 1)
        return tr_em_error(e, "%s() takes one array", tr_fam_name(c));
    if (!tr_fam_as_array(e, c, c->var[0], NULL, &a))
        return false;
    n = a.ty->ndim;
    if (n >= want) {
        *out = a;
        return true;
    }
    /* a vector is a row of a matrix, and the middle axis of three; a matrix has its new axis at the end */
    uint32_t before = want == 3 ? n == 2 ? 0 : 1 : want - n;
    for (uint32_t i = 0; i < want; i++) {
        if (i < before || i - before >= n)
            add_new(e, &x);
        else
            tr_axes_own(e, &x, a, i - before);
    }
    return finish(e, a, &x, own_layout(a), out);
}

/* --- turned round --- */

static bool turned(tr_em *e, tr_tv a, uint32_t mask, tr_tv *out) {
    tr_tv one = tr_em_i64(e, 1), zero = tr_em_i64(e, 0);
    tr_axes x = {0};
    for (uint32_t i = 0; i < a.ty->ndim; i++) {
        tr_tv n = tr_em_dim(e, a, i);
        if (mask & 1u << i) {
            tr_tv last = tr_em_nsw(e, TR_OP_SUB, n, one), none = tr_em_cmp(e, TR_CMP_EQ, n, zero);
            tr_axes_part(&x, i, tr_em_select(e, none, zero, last), n, tr_em_i64(e, -1));
        } else {
            tr_axes_own(e, &x, a, i);
        }
    }
    return finish(e, a, &x, TR_LAYOUT_ANY, out);
}

/* Parameters: m, axis. aux: -1, or the axis. */
bool tr_lib_np_flip(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    if (!array_arg(e, c, &a))
        return false;
    uint32_t mask = tr_all_axes(a.ty->ndim);
    if (c->aux >= 0) {
        if (a.ty->ndim <= (uint32_t)c->aux)
            return tr_em_error(e, "%s() takes an array of %d dimensions or more", tr_fam_name(c), c->aux + 1);
        mask = 1u << c->aux;
    } else if (tr_fam_given(c->a[1]) && !tr_fam_axes(e, c, a.ty->ndim, c->a[1], &mask)) {
        return false;
    }
    if (a.ty->ndim == 0) { /* NumPy's index m[()] gives the item */
        *out = tr_em_load(e, a, NULL);
        return true;
    }
    return turned(e, a, mask, out);
}

/* rot90(m, k, axes): k must be a constant. */
bool tr_lib_np_rot90(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, x[TR_MAX_NDIM];
    uint32_t ax[2] = {0, 1}, n = 2, perm[TR_MAX_NDIM];
    int64_t k = 1;
    if (!array_arg(e, c, &a))
        return false;
    if (c->a[1].ty && !tr_tv_lit_int(c->a[1], &k))
        return tr_em_error(e, "rot90(): k must be a constant");
    if (c->a[2].ty && !tr_fam_list(e, c, c->a[2], x, &n))
        return false;
    if (n != 2 || a.ty->ndim < 2)
        return tr_em_error(e, "rot90() turns two axes of an array of two or more");
    for (uint32_t i = 0; i < 2 && c->a[2].ty; i++)
        if (!tr_fam_axis(e, c, a.ty->ndim, x[i], &ax[i]))
            return false;
    if (ax[0] == ax[1])
        return tr_em_error(e, "rot90(): axes must be different");
    k &= 3;
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        perm[i] = k % 2 == 0 ? i : i == ax[0] ? ax[1] : i == ax[1] ? ax[0] : i;
    /* once: the second axis turned round, then both swapped; three times: the other */
    uint32_t mask = k == 0 ? 0 : k == 1 ? 1u << ax[1] : k == 2 ? 1u << ax[0] | 1u << ax[1] : 1u << ax[0];
    if (mask && !turned(e, a, mask, &a))
        return false;
    *out = tr_fam_permuted(e, a, perm);
    return true;
}

/* --- repeated --- */

/* Parameters: array, shape. */
bool tr_lib_np_broadcast_to(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, x[TR_MAX_NDIM], shape[TR_MAX_NDIM];
    uint32_t n;
    if (tr_lib_scalar(e, c->a[0].ty)) {
        a = tr_em_alloc(e, tr_ty_strong(e->types, tr_lib_scalar(e, c->a[0].ty)), 0, TR_LAYOUT_C, shape);
        tr_em_store(e, a, NULL, c->a[0]);
    } else if (!array_arg(e, c, &a)) {
        return false;
    }
    if (!tr_fam_list(e, c, c->a[1], x, &n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!tr_fam_int(e, c, x[i], "a shape", &shape[i]))
            return false;
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, shape[i], tr_em_i64(e, 0)), TR_EXC_VALUE,
                    "all elements of broadcast shape must be non-negative", 0, NULL);
    }
    tr_em_check_size(e, a.ty->elem, n, shape);
    if (!tr_em_broadcast(e, a, n, shape, out))
        return false;
    const tr_ty *ty =
        tr_ty_array_as(e->types, a.ty->elem, n, n ? TR_LAYOUT_ANY : TR_LAYOUT_C, true, a.ty->sub);
    return tr_em_coerce(e, *out, ty, out);
}

bool tr_lib_np_broadcast_arrays(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv *a = TR_NEW_N(&e->ctx->arena, tr_tv, c->nvar + 1u), shape[TR_MAX_NDIM] = {{NULL, TR_NOVAL}};
    uint32_t ndim = 0;
    for (uint32_t i = 0; i < c->nvar; i++) {
        if (!tr_fam_as_array(e, c, c->var[i], NULL, &a[i]))
            return false;
        ndim = a[i].ty->ndim > ndim ? a[i].ty->ndim : ndim;
    }
    for (uint32_t i = 0; i < c->nvar; i++)
        tr_lib_merge_shape(e, a[i], ndim, shape, TR_EXC_VALUE,
                           "shape mismatch: objects cannot be broadcast to a single shape: ");
    for (uint32_t i = 0; i < c->nvar; i++) {
        tr_em_check_size(e, a[i].ty->elem, ndim, shape);
        if (!tr_em_broadcast(e, a[i], ndim, shape, &a[i]))
            return false;
    }
    *out = tr_em_tuple(e, c->nvar, a);
    return true;
}

/* --- diagonals --- */

static tr_tv at_least_0(tr_em *e, tr_tv x) {
    tr_tv zero = tr_em_i64(e, 0);
    return tr_em_op2(e, TR_OP_MAX, x, zero);
}

bool tr_fam_diagonal(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv k, uint32_t ax1, uint32_t ax2, tr_tv *out) {
    tr_tv shape[TR_MAX_NDIM], strides[TR_MAX_NDIM];
    uint32_t nd = 0;
    tr_tv zero = tr_em_i64(e, 0), least = tr_em_i64(e, -INT64_MAX);
    k = tr_em_op2(e, TR_OP_MAX, k, least); /* -2**63 has no opposite */
    tr_tv right = at_least_0(e, k), down = at_least_0(e, tr_em_op1(e, TR_OP_NEG, k));
    tr_tv s1 = tr_em_stride(e, a, ax1), s2 = tr_em_stride(e, a, ax2);
    if (ax1 == ax2)
        return tr_em_error(e, "%s(): axis1 and axis2 cannot be the same", tr_fam_name(c));
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        if (i != ax1 && i != ax2) {
            shape[nd] = tr_em_dim(e, a, i);
            strides[nd++] = tr_em_stride(e, a, i);
        }
    tr_tv n = tr_em_op2(e, TR_OP_MIN, tr_em_op2(e, TR_OP_SUB, tr_em_dim(e, a, ax1), down),
                        tr_em_op2(e, TR_OP_SUB, tr_em_dim(e, a, ax2), right));
    n = at_least_0(e, n);
    shape[nd] = n;
    strides[nd++] = tr_em_nsw(e, TR_OP_ADD, s1, s2);
    tr_tv off =
        tr_em_op2(e, TR_OP_ADD, tr_em_op2(e, TR_OP_MUL, down, s1), tr_em_op2(e, TR_OP_MUL, right, s2));
    off = tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, n, zero), zero, off);
    *out = tr_em_restride(e, tr_ty_array(e->types, a.ty->elem, nd, TR_LAYOUT_ANY, a.ty->readonly), a, off,
                          shape, strides);
    return true;
}

/* Parameters: a, offset, axis1, axis2. */
bool tr_lib_np_diagonal(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, k = tr_em_i64(e, 0);
    uint32_t ax1 = 0, ax2 = 1;
    if (!array_arg(e, c, &a))
        return false;
    if (a.ty->ndim < 2)
        return tr_em_error(e, "%s() takes an array of two dimensions or more", tr_fam_name(c));
    if (c->a[1].ty && !tr_fam_int(e, c, c->a[1], "offset", &k))
        return false;
    if (c->a[2].ty && !tr_fam_axis(e, c, a.ty->ndim, c->a[2], &ax1))
        return false;
    if (c->a[3].ty && !tr_fam_axis(e, c, a.ty->ndim, c->a[3], &ax2))
        return false;
    if (!tr_fam_diagonal(e, c, a, k, ax1, ax2, out))
        return false;
    return tr_em_coerce(
        e, *out, tr_ty_array_as(e->types, a.ty->elem, out->ty->ndim, TR_LAYOUT_ANY, true, a.ty->sub), out);
}

/* --- the memory seen in another way --- */

static tr_tv i64(tr_em *e, int64_t v) {
    return tr_em_i64(e, v);
}

static void divides(tr_em *e, tr_tv x, tr_tv n, const char *text) {
    tr_tv rest = tr_em_op2(e, TR_OP_FLOORMOD, x, n);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, rest, i64(e, 0)), TR_EXC_VALUE, text, 1, &x);
}

/* view(dtype): items of another type, of the same size or with more or fewer of them along the last axis. */
bool tr_lib_arr_view(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a = c->a[0], n[TR_MAX_NDIM], st[TR_MAX_NDIM];
    const tr_ty *to;
    *out = a;
    if (!tr_fam_given(c->a[1]))
        return true;
    if (!tr_fam_dtype(e, c, c->a[1], &to))
        return false;
    uint32_t nd = a.ty->ndim, last = nd - 1u;
    int64_t from = tr_ty_size(a.ty->elem), size = tr_ty_size(to);
    if (from != size && nd == 0)
        return tr_em_error(e, "view(): an array of no axes keeps the size of its items");
    tr_fam_shape(e, a, n);
    for (uint32_t i = 0; i < nd; i++)
        st[i] = tr_em_stride(e, a, i);
    if (from != size) {
        tr_tv one = i64(e, 1);
        tr_tv fits =
            tr_fam_or(e, tr_em_cmp(e, TR_CMP_EQ, st[last], one), tr_em_cmp(e, TR_CMP_LE, n[last], one));
        tr_em_check(e, fits, TR_EXC_VALUE,
                    "To change to a dtype of a different size, the last axis must be contiguous", 0, NULL);
        st[last] = one;
    }
    if (size < from) {
        tr_tv more = i64(e, from / size);
        n[last] = tr_em_nsw(e, TR_OP_MUL, n[last], more);
        for (uint32_t i = 0; i < last; i++)
            st[i] = tr_em_nsw(e, TR_OP_MUL, st[i], more);
    } else if (size > from) {
        tr_tv fewer = i64(e, size / from);
        divides(e, n[last], fewer,
                "When changing to a larger dtype, its size must be a divisor of the total size in bytes of "
                "the last "
                "axis of the array.");
        n[last] = tr_em_op2(e, TR_OP_FLOORDIV, n[last], fewer);
        for (uint32_t i = 0; i < last; i++) {
            divides(e, st[i], fewer,
                    "view(): rows that are {0} items apart do not begin with an item of the new type");
            st[i] = tr_em_op2(e, TR_OP_FLOORDIV, st[i], fewer);
        }
    }
    tr_layout lay = from == size || a.ty->layout == TR_LAYOUT_C ? own_layout(a) : TR_LAYOUT_ANY;
    *out = tr_em_restride(e, tr_ty_array(e->types, to, nd, lay, a.ty->readonly), a, i64(e, 0), n, st);
    return true;
}

/* First and last place, in items, that axes reach from the first item; as floats, which do not wrap. */
static void reach(tr_em *e, uint32_t nd, const tr_tv *n, const tr_tv *st, tr_tv *lo, tr_tv *hi) {
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64);
    tr_tv zero = tr_em_num(e, f64, 0.0);
    *lo = *hi = zero;
    for (uint32_t i = 0; i < nd; i++) {
        tr_tv far = tr_em_op2(e, TR_OP_MUL, tr_em_conv(e, tr_em_op2(e, TR_OP_SUB, n[i], i64(e, 1)), f64),
                              tr_em_conv(e, st[i], f64));
        tr_tv back = tr_em_cmp(e, TR_CMP_LT, far, zero);
        *lo = tr_em_op2(e, TR_OP_ADD, *lo, tr_em_select(e, back, far, zero));
        *hi = tr_em_op2(e, TR_OP_ADD, *hi, tr_em_select(e, back, zero, far));
    }
}

static tr_tv is_empty(tr_em *e, uint32_t nd, const tr_tv *n) {
    tr_tv empty = tr_em_strong(e, tr_em_bool(e, false));
    for (uint32_t i = 0; i < nd; i++)
        empty = tr_fam_or(e, empty, tr_em_cmp(e, TR_CMP_EQ, n[i], i64(e, 0)));
    return empty;
}

/* as_strided(x, shape, strides, writeable): strides count bytes. Nothing beyond the first
 * and the last item of x is reached. */
bool tr_lib_np_as_strided(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, x[TR_MAX_NDIM], own[TR_MAX_NDIM], own_st[TR_MAX_NDIM], n[TR_MAX_NDIM], st[TR_MAX_NDIM];
    uint32_t nd, ns;
    bool writeable;
    if (!array_arg(e, c, &a) || !tr_fam_flag(e, c, c->a[3], "writeable", true, &writeable))
        return false;
    tr_fam_shape(e, a, own);
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        own_st[i] = tr_em_stride(e, a, i);
    nd = ns = a.ty->ndim;
    if (tr_fam_given(c->a[1]) && !tr_fam_list(e, c, c->a[1], x, &nd))
        return false;
    for (uint32_t i = 0; i < nd; i++) {
        if (!tr_fam_given(c->a[1]))
            n[i] = own[i];
        else if (!tr_fam_int(e, c, x[i], "a shape", &n[i]))
            return false;
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, n[i], i64(e, 0)), TR_EXC_VALUE,
                    "negative dimensions are not allowed", 0, NULL);
    }
    if (tr_fam_given(c->a[2]) && !tr_fam_list(e, c, c->a[2], x, &ns))
        return false;
    if (nd != ns)
        return tr_em_error(e, "as_strided(): shape and strides must have the same length");
    for (uint32_t i = 0; i < nd; i++) {
        tr_tv size = i64(e, tr_ty_size(a.ty->elem));
        st[i] = own_st[i];
        if (!tr_fam_given(c->a[2]))
            continue;
        if (!tr_fam_int(e, c, x[i], "a stride", &st[i]))
            return false;
        divides(e, st[i], size, "as_strided(): a stride of {0} bytes is not one of whole items");
        st[i] = tr_em_op2(e, TR_OP_FLOORDIV, st[i], size);
    }
    tr_tv lo, hi, from, to;
    reach(e, a.ty->ndim, own, own_st, &from, &to);
    reach(e, nd, n, st, &lo, &hi);
    tr_tv inside = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, lo, from), tr_em_cmp(e, TR_CMP_LE, hi, to));
    inside = tr_fam_and(e, inside, tr_fam_not(e, is_empty(e, a.ty->ndim, own)));
    tr_em_check(e, tr_fam_or(e, is_empty(e, nd, n), inside), TR_EXC_VALUE,
                "as_strided() would reach beyond the array", 0, NULL);
    tr_em_check_size(e, a.ty->elem, nd, n);
    const tr_ty *ty =
        tr_ty_array(e->types, a.ty->elem, nd, nd ? TR_LAYOUT_ANY : TR_LAYOUT_C, a.ty->readonly || !writeable);
    *out = tr_em_restride(e, ty, a, i64(e, 0), n, st);
    return true;
}
