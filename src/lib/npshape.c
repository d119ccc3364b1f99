/* Methods that give another view of an array, or its items one way or the other: reshape, ravel, transpose,
 * item, fill, real and imag. Whether reshape and ravel give a view or a copy is NumPy's choice, made at run
 * time where the type does not tell: what is stored through a view reaches the array. */
#include <assert.h>
#include <string.h>

#include "lib/fam.h"
#include "lib/families.h"
#include "lib/kinds.h"

static const tr_ty *with(tr_em *e, tr_tv a, uint32_t ndim, tr_layout lay) {
    return tr_ty_array_as(e->types, a.ty->elem, ndim, lay, a.ty->readonly, a.ty->sub);
}

/* --- contiguous --- */

/* Whether an array's items lie in C order without gaps; strides of axes with one item do not matter. */
static tr_tv is_contiguous(tr_em *e, tr_tv a) {
    bool packed = a.ty->sub == TR_ARRAY_PACKED; /* strides of bytes */
    tr_tv one = tr_em_i64(e, 1), want = packed ? tr_em_i64(e, tr_ty_size(a.ty->elem)) : one,
          ok = tr_em_cmp(e, TR_CMP_EQ, tr_em_size(e, a), tr_em_i64(e, 0)), all = tr_em_bool(e, true);
    for (uint32_t i = a.ty->ndim; i-- > 0;) {
        tr_tv d = tr_em_dim(e, a, i);
        tr_tv fine = tr_fam_or(e, tr_em_cmp(e, TR_CMP_EQ, d, one),
                               tr_em_cmp(e, TR_CMP_EQ, tr_em_stride(e, a, i), want));
        all = tr_fam_and(e, all, fine);
        want = tr_em_op2(e, TR_OP_MUL, want, d);
    }
    return tr_fam_or(e, ok, all);
}

/* Where the result is a view or a copy: two ways that end in one block. */
typedef struct ways {
    const tr_ty *ty;
    tr_bid second, join;
} ways;

static ways ways_open(tr_em *e, tr_tv first, const tr_ty *ty) {
    assert(!e->dry && first.ty->kind == TR_TY_BOOL && "a condition chooses, where code is made");
    tr_fn *f = e->b.fn;
    tr_bid b = tr_blk_new(f);
    ways w = {ty, tr_blk_new(f), tr_blk_new(f)};
    tr_cbr(&e->b, first.v, b, 0, NULL, w.second, 0, NULL);
    e->b.blk = b;
    return w;
}

static bool way_ends(tr_em *e, const ways *w, tr_tv x) {
    if (!tr_em_coerce(e, x, w->ty, &x))
        return false;
    tr_br(&e->b, w->join, 1, &x.v);
    e->b.blk = w->second;
    return true;
}

static bool ways_join(tr_em *e, const ways *w, tr_tv x, tr_tv *out) {
    if (!way_ends(e, w, x))
        return false;
    e->b.blk = w->join;
    *out = (tr_tv){w->ty, tr_blk_param(e->b.fn, w->join, w->ty, NULL)};
    return true;
}

/* a as a C array: itself, the same memory when it is contiguous at run time, else a copy. */
static bool as_c(tr_em *e, tr_tv a, tr_tv *out) {
    const tr_ty *ty = with(e, a, a.ty->ndim, TR_LAYOUT_C);
    tr_tv shape[TR_MAX_NDIM], copy;
    if (a.ty->layout == TR_LAYOUT_C) {
        *out = a;
        return true;
    }
    if (e->dry) {
        *out = (tr_tv){ty, TR_NOVAL};
        return true;
    }
    ways w = ways_open(e, is_contiguous(e, a), ty);
    tr_fam_shape(e, a, shape);
    return way_ends(e, &w, tr_em_restride(e, ty, a, tr_em_i64(e, 0), shape, NULL)) &&
           tr_em_copy(e, a, TR_LAYOUT_C, &copy) && tr_em_coerce(e, copy, ty, &copy) &&
           ways_join(e, &w, copy, out);
}

/* --- order of axes --- */

tr_tv tr_fam_permuted(tr_em *e, tr_tv a, const uint32_t *perm) {
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        assert(perm[i] < a.ty->ndim && "axes are moved among themselves");
    tr_axes x = {0};
    bool same = true, turned = true;
    for (uint32_t i = 0; i < a.ty->ndim; i++) {
        same = same && perm[i] == i;
        turned = turned && perm[i] == a.ty->ndim - 1u - i;
        tr_axes_own(e, &x, a, perm[i]);
    }
    if (same)
        return a;
    tr_layout lay = TR_LAYOUT_ANY;
    if (turned && a.ty->layout == TR_LAYOUT_C)
        lay = TR_LAYOUT_F;
    if (turned && a.ty->layout == TR_LAYOUT_F)
        lay = TR_LAYOUT_C;
    return tr_em_view(e, with(e, a, a.ty->ndim, lay), a, &x);
}

/* Which axis is where is known at run time alone. */
tr_tv tr_fam_permuted_late(tr_em *e, tr_tv a, const tr_tv *perm) {
    assert(tr_em_are_i64(e, a.ty->ndim, perm) && "a number for each axis");
    tr_tv shape[TR_MAX_NDIM], strides[TR_MAX_NDIM];
    for (uint32_t i = 0; i < a.ty->ndim; i++) {
        shape[i] = tr_em_dim(e, a, 0);
        strides[i] = tr_em_stride(e, a, 0);
        for (uint32_t k = 1; k < a.ty->ndim; k++) {
            tr_tv it = tr_em_cmp(e, TR_CMP_EQ, perm[i], tr_em_i64(e, k));
            shape[i] = tr_em_select(e, it, tr_em_dim(e, a, k), shape[i]);
            strides[i] = tr_em_select(e, it, tr_em_stride(e, a, k), strides[i]);
        }
    }
    return tr_em_restride(e, with(e, a, a.ty->ndim, TR_LAYOUT_ANY), a, tr_em_i64(e, 0), shape, strides);
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
    tr_shapes s = {.n = 1, .x = {size}};
    tr_em_shapes(e, &s, "cannot reshape array of size {0} into shape ", n, shape, NULL, 0, NULL);
    tr_em_check(e, ok, TR_EXC_VALUE, s.text, s.n, s.x);
    tr_tv rest = tr_em_op2(e, TR_OP_QUOT, size, prod);
    for (uint32_t i = 0; i < n; i++)
        shape[i] = tr_em_select(e, neg[i], rest, shape[i]);
    return true;
}

/* order=: 'C', 'F' or 'A', as a capital. */
static bool order_arg(tr_em *e, const tr_bcall *c, tr_tv x, char *order) {
    const char *s = "C";
    if (tr_fam_given(x) && !tr_tv_lit_str(x, &s))
        return tr_em_error(e, "%s(): order must be a constant", tr_fam_name(c));
    *order = (char)(*s & ~('a' ^ 'A'));
    if (*s && !s[1] && strchr("CFA", *order))
        return true;
    return tr_em_unsupported(e, "order", "%s() in an order other than 'C', 'F' and 'A'", tr_fam_name(c));
}

static tr_tv reversed(tr_em *e, tr_tv a) {
    uint32_t perm[TR_MAX_NDIM];
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        perm[i] = a.ty->ndim - 1u - i;
    return tr_fam_permuted(e, a, perm);
}

/* a with its items in C order in a new shape. */
typedef bool (*in_c)(tr_em *e, tr_tv a, uint32_t n, const tr_tv *shape, tr_tv *out);

/* What is done in order F is done in order C to the transpose. */
static bool in_f(tr_em *e, in_c fn, tr_tv a, uint32_t n, const tr_tv *shape, tr_tv *out) {
    tr_tv turned[TR_MAX_NDIM], t;
    for (uint32_t i = 0; i < n; i++)
        turned[i] = shape[n - 1u - i];
    if (!fn(e, reversed(e, a), n, turned, &t))
        return false;
    *out = reversed(e, t);
    return true;
}

/* Order A is F for an array that is in F order and not in C order as well; ty is its result's. */
static bool in_order(tr_em *e, in_c fn, const tr_ty *ty, tr_tv a, char order, uint32_t n, const tr_tv *shape,
                     tr_tv *out) {
    if (order == 'F')
        return in_f(e, fn, a, n, shape, out);
    if (order == 'C' || a.ty->layout == TR_LAYOUT_C || a.ty->ndim < 2)
        return fn(e, a, n, shape, out);
    *out = (tr_tv){ty, TR_NOVAL};
    if (e->dry)
        return true;
    tr_tv f = tr_fam_and(e, is_contiguous(e, reversed(e, a)), tr_fam_not(e, is_contiguous(e, a))), x;
    ways w = ways_open(e, f, ty);
    return in_f(e, fn, a, n, shape, &x) && way_ends(e, &w, x) && fn(e, a, n, shape, &x) &&
           ways_join(e, &w, x, out);
}

/* How many items lie behind each step along an axis of an array in C order. */
static void weights(tr_em *e, uint32_t n, const tr_tv *shape, tr_tv *w) {
    assert(n <= TR_MAX_NDIM && tr_em_are_i64(e, n, shape) && "sizes are int64");
    for (uint32_t k = n; k-- > 0;)
        w[k] = k + 1u == n ? tr_em_i64(e, 1) : tr_em_op2(e, TR_OP_MUL, w[k + 1u], shape[k + 1u]);
}

static tr_tv is_one_of(tr_em *e, tr_tv x, uint32_t n, const tr_tv *of) {
    tr_tv any = tr_em_bool(e, false);
    for (uint32_t i = 0; i < n; i++)
        any = tr_fam_or(e, any, tr_em_cmp(e, TR_CMP_EQ, x, of[i]));
    return any;
}

/* Strides that give a's items the new shape, and whether there are any. NumPy's rule: where the weight of an
 * old axis is that of a new one, too, a group of axes begins; the old axes of a group must lie as one.
 * Axes of one item count for nothing. */
static tr_tv new_strides(tr_em *e, tr_tv a, uint32_t n, const tr_tv *shape, tr_tv *strides) {
    tr_tv old[TR_MAX_NDIM], ow[TR_MAX_NDIM], nw[TR_MAX_NDIM], from[TR_MAX_NDIM],
        one = tr_em_i64(e, 1), inner = one, all = tr_em_bool(e, true);
    tr_fam_shape(e, a, old);
    weights(e, a.ty->ndim, old, ow);
    weights(e, n, shape, nw);
    for (uint32_t j = 0; j < n; j++)
        strides[j] = from[j] = one;
    for (uint32_t k = a.ty->ndim; k-- > 0;) {
        tr_tv st = tr_em_stride(e, a, k), edge = is_one_of(e, ow[k], n, nw),
              some = tr_em_cmp(e, TR_CMP_NE, old[k], one), begins = tr_fam_and(e, some, edge);
        tr_tv fine = tr_fam_or(e, edge, tr_em_cmp(e, TR_CMP_EQ, st, inner));
        all = tr_fam_and(e, all, tr_fam_or(e, tr_fam_not(e, some), fine));
        inner = tr_em_select(e, some, tr_em_op2(e, TR_OP_MUL, st, old[k]), inner);
        for (uint32_t j = 0; j < n; j++) {
            tr_tv here = tr_fam_and(e, begins, tr_em_cmp(e, TR_CMP_LE, ow[k], nw[j]));
            strides[j] = tr_em_select(e, here, st, strides[j]);
            from[j] = tr_em_select(e, here, ow[k], from[j]);
        }
    }
    for (uint32_t j = 0; j < n; j++)
        strides[j] = tr_em_op2(e, TR_OP_MUL, strides[j], tr_em_op2(e, TR_OP_QUOT, nw[j], from[j]));
    return tr_fam_or(e, all, tr_em_cmp(e, TR_CMP_EQ, tr_em_size(e, a), tr_em_i64(e, 0)));
}

static bool reshape_c(tr_em *e, tr_tv a, uint32_t n, const tr_tv *shape, tr_tv *out) {
    const tr_ty *c = with(e, a, n, TR_LAYOUT_C), *any = with(e, a, n, TR_LAYOUT_ANY);
    tr_tv zero = tr_em_i64(e, 0), strides[TR_MAX_NDIM], copy;
    if (a.ty->layout == TR_LAYOUT_C || n == 0) {
        *out = tr_em_restride(e, c, a, zero, shape, NULL);
        return true;
    }
    *out = (tr_tv){any, TR_NOVAL};
    if (e->dry)
        return true;
    tr_tv can = new_strides(e, a, n, shape, strides);
    if (a.ty->ndim == 1) { /* which can always be cut up */
        *out = tr_em_restride(e, any, a, zero, shape, strides);
        return true;
    }
    ways w = ways_open(e, can, any);
    return way_ends(e, &w, tr_em_restride(e, any, a, zero, shape, strides)) &&
           tr_em_copy(e, a, TR_LAYOUT_C, &copy) &&
           tr_em_coerce(e, copy, with(e, a, a.ty->ndim, TR_LAYOUT_C), &copy) &&
           ways_join(e, &w, tr_em_restride(e, c, copy, zero, shape, NULL), out);
}

/* aux 0: method, a.reshape(*shape, order); 1: function, np.reshape(a, shape, order). */
bool tr_lib_arr_reshape(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, shape[TR_MAX_NDIM];
    const tr_tv *x;
    char order;
    if (!order_arg(e, c, c->a[2], &order) || !tr_fam_as_array(e, c, c->a[0], NULL, &a))
        return false;
    uint32_t n = c->aux ? spread(e, 1, &c->a[1], &x) : spread(e, c->nvar, c->var, &x);
    if (!c->aux && c->nvar == 0)
        return tr_em_error(e, "reshape() needs a shape");
    const tr_ty *ty = with(e, a, n, n ? TR_LAYOUT_ANY : TR_LAYOUT_C);
    return new_shape(e, c, a, n, x, shape) && in_order(e, reshape_c, ty, a, order, n, shape, out);
}

static bool ravel_c(tr_em *e, tr_tv a, uint32_t n, const tr_tv *shape, tr_tv *out) {
    if (!as_c(e, a, out))
        return false;
    return a.ty->ndim == 1 || reshape_c(e, *out, n, shape, out);
}

static bool flatten_c(tr_em *e, tr_tv a, uint32_t n, const tr_tv *shape, tr_tv *out) {
    if (!tr_em_copy(e, a, TR_LAYOUT_C, out))
        return false;
    return a.ty->ndim == 1 || reshape_c(e, *out, n, shape, out);
}

/* Their result is always contiguous. aux 1: flatten, which always copies. Parameters: a, order. */
bool tr_lib_arr_ravel(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    char order;
    if (!order_arg(e, c, c->a[1], &order) || !tr_fam_as_array(e, c, c->a[0], NULL, &a))
        return false;
    if (a.ty->sub == TR_ARRAY_PACKED && !tr_em_copy(e, a, TR_LAYOUT_C, &a)) /* never a line of items */
        return false;
    tr_tv n = tr_em_size(e, a);
    const tr_ty *ty =
        c->aux ? tr_ty_array(e->types, a.ty->elem, 1, TR_LAYOUT_C, false) : with(e, a, 1, TR_LAYOUT_C);
    return in_order(e, c->aux ? flatten_c : ravel_c, ty, a, order, 1, &n, out);
}

/* --- transpose, swapaxes --- */

static bool transpose_late(tr_em *e, const tr_bcall *c, tr_tv a, const tr_tv *x, tr_tv *out) {
    tr_tv perm[TR_MAX_NDIM], one = tr_em_i64(e, 1), seen = tr_em_i64(e, 0);
    for (uint32_t i = 0; i < a.ty->ndim; i++) {
        if (!tr_fam_late_axis(e, c, a.ty->ndim, x[i], &perm[i]))
            return false;
        seen = tr_em_op2(e, TR_OP_OR, seen, tr_em_op2(e, TR_OP_SHL, one, perm[i]));
    }
    tr_tv all = tr_em_cmp(e, TR_CMP_EQ, seen, tr_em_i64(e, tr_all_axes(a.ty->ndim)));
    tr_em_check(e, all, TR_EXC_VALUE, "repeated axis in transpose", 0, NULL);
    *out = tr_fam_permuted_late(e, a, perm);
    return true;
}

static bool transpose(tr_em *e, const tr_bcall *c, tr_tv a, uint32_t n, const tr_tv *x, tr_tv *out) {
    uint32_t perm[TR_MAX_NDIM], seen = 0;
    if (n && n != a.ty->ndim)
        return tr_em_error(e, "%s(): axes don't match array", tr_fam_name(c));
    if (!tr_fam_are_known(n, x))
        return transpose_late(e, c, a, x, out);
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

/* a.mT: the last two axes. */
bool tr_lib_arr_matrix_transpose(tr_em *e, const tr_bcall *c, tr_tv *out) {
    uint32_t perm[TR_MAX_NDIM], n = c->a[0].ty->ndim;
    if (n < 2)
        return tr_em_error(e, "matrix transpose with ndim < 2 is undefined");
    for (uint32_t k = 0; k < n; k++)
        perm[k] = k == n - 1 ? n - 2 : k == n - 2 ? n - 1 : k;
    *out = tr_fam_permuted(e, c->a[0], perm);
    return true;
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

/* a.device: all arrays of compiled code on the host are NumPy's. */
bool tr_lib_arr_device(tr_em *e, const tr_bcall *c, tr_tv *out) {
    (void)c;
    *out = tr_em_lit(e, tr_obj_str(&e->ctx->arena, "cpu"));
    return true;
}

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

bool tr_lib_cells(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_em_make(e, tr_ty_of(e->types, TR_TY_FLAT, TR_FLAT_CELLS, 1, &c->a[0].ty), 1, &c->a[0]);
    return true;
}

/* Of as many items each, all of which can be walked again. */
bool tr_lib_together(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty **ty = TR_NEW_N(&e->ctx->arena, const tr_ty *, c->nvar + 1u);
    for (uint32_t i = 0; i < c->nvar; i++)
        ty[i] = c->var[i].ty;
    *out = tr_em_make(e, tr_ty_of(e->types, TR_TY_ZIP, TR_ZIP_WALK, c->nvar, ty), c->nvar, c->var);
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
    *out = tr_em_restride(e, ty, a, tr_em_i64(e, c->aux), n, st);
    return true;
}

/* --- flags --- */

/* a.flags: the array, which has other attributes there. */
bool tr_lib_arr_flags(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_em_make(e, tr_ty_of(e->types, TR_TY_INFO, TR_INFO_FLAGS, 1, &c->a[0].ty), 1, &c->a[0]);
    return true;
}

/* Does the type say that it lies so? */
static bool known_to_lie(const tr_ty *t, tr_layout lay) {
    return t->ndim == 0 || t->layout == lay || (t->ndim == 1 && t->layout != TR_LAYOUT_ANY);
}

/* Else it is found out from sizes and strides. */
static tr_tv lies_in(tr_em *e, tr_tv a, tr_layout lay) {
    if (known_to_lie(a.ty, lay))
        return tr_em_bool(e, true);
    return is_contiguous(e, lay == TR_LAYOUT_C ? a : reversed(e, a));
}

/* a.flags['C_CONTIGUOUS'], and the letters for it: the attribute. */
bool tr_lib_get_flags(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    static const char *const letters[][2] = {{"C", "c_contiguous"}, {"F", "f_contiguous"}, {"W", "writeable"},
                                             {"A", "aligned"},      {"B", "behaved"},      {"CA", "carray"}};
    const char *s;
    if (x.ty->sub != TR_INFO_FLAGS || !tr_tv_lit_str(i, &s))
        return tr_lib_get_no(e, x, i, out);
    for (size_t k = 0; k < sizeof letters / sizeof *letters; k++)
        if (strcmp(letters[k][0], s) == 0)
            return tr_em_getattr(e, x, letters[k][1], out);
    char *name = tr_arena_copy(&e->ctx->arena, s, strlen(s) + 1);
    for (char *p = name; *p; p++) {
        if (*p >= 'a' && *p <= 'z') /* the names are capitals */
            return tr_em_error(e, "Unknown flag");
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
    }
    return tr_em_getattr(e, x, name, out);
}

bool tr_lib_flag(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a = tr_em_item(e, c->a[0], 0);
    bool asks = c->aux == TR_FLAG_ALIGNED || c->aux == TR_FLAG_BEHAVED || c->aux == TR_FLAG_CARRAY;
    bool known = asks ? c->aux != TR_FLAG_CARRAY || a.ty->readonly : c->aux == TR_FLAG_WRITEABLE;
    if (asks && tr_ty_is_loose(a.ty)) /* only the running program knows where it lies */
        return tr_em_unsupported(e, "packed-field",
                                 "flags that say whether an array's items are aligned, "
                                 "of one whose items may not be");
    if (known) {
        *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, c->aux == TR_FLAG_ALIGNED || !a.ty->readonly));
        return true;
    }
    if ((c->aux == TR_FLAG_C && known_to_lie(a.ty, TR_LAYOUT_C)) ||
        (c->aux == TR_FLAG_F && known_to_lie(a.ty, TR_LAYOUT_F))) {
        *out =
            tr_em_lit(e, tr_obj_bool(&e->ctx->arena, true)); /* a constant, which branches in types ask for */
        return true;
    }
    bool both = c->aux == TR_FLAG_FNC || c->aux == TR_FLAG_FORC,
         rows = c->aux == TR_FLAG_C || c->aux == TR_FLAG_CARRAY;
    tr_tv row = both || rows ? lies_in(e, a, TR_LAYOUT_C) : a;
    tr_tv column = both || c->aux == TR_FLAG_F ? lies_in(e, a, TR_LAYOUT_F) : a;
    *out = rows                     ? row
           : c->aux == TR_FLAG_F    ? column
           : c->aux == TR_FLAG_FORC ? tr_fam_or(e, row, column)
                                    : tr_fam_and(e, column, tr_fam_not(e, row));
    return true;
}
