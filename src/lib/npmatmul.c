/* Products of arrays: @, dot, inner, vdot, outer.
 *
 * Two vectors are one pattern with a sum. What has a matrix in it is a call of rt/matmul.c: views of two axes
 * on the operands and on the result. More axes are a region over them, broadcast together for @, whose calls
 * take a stretch of the last of these axes, as long as the products are small: what bits they have depends on
 * sizes alone. */
#include "lib/fam.h"

#include <assert.h>
#include <string.h>

#include "lib/families.h"

static tr_tv one(tr_em *e) {
    return tr_em_i64(e, 1);
}

static int64_t kind_of(const tr_ty *t) {
    switch (t->kind) {
    case TR_TY_BOOL: return TR_MAT_BOOL;
    case TR_TY_F32: return TR_MAT_F32;
    case TR_TY_F64: return TR_MAT_F64;
    case TR_TY_C64: return TR_MAT_C64;
    case TR_TY_C128: return TR_MAT_C128;
    default: break;
    }
    switch (tr_ty_size(t)) {
    case 1: return TR_MAT_I8;
    case 2: return TR_MAT_I16;
    case 4: return TR_MAT_I32;
    default: return TR_MAT_I64;
    }
}

/* --- two vectors --- */

/* user: whether the first is conjugated. */
static bool lam_dot(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                    tr_tv *yields) {
    (void)idx;
    (void)caps;
    const tr_ty *t = d->init[0].ty;
    tr_tv x = tr_em_conv(e, elems[0], t), y = tr_em_conv(e, elems[1], t);
    if (d->user && tr_ty_is_complex(t))
        x = tr_em_cplx(e, tr_em_re(e, x), tr_em_op1(e, TR_OP_NEG, tr_em_im(e, x)));
    yields[0] = t->kind == TR_TY_BOOL ? tr_fam_and(e, x, y) : tr_em_op2(e, TR_OP_MUL, x, y);
    return true;
}

/* The axes that are summed over, of arrays as the user has them: the last one of a, and k of b. */
static void check_axis(tr_em *e, tr_tv a, tr_tv b, uint32_t k) {
    assert(a.ty->ndim > 0 && k < b.ty->ndim && "axes that are summed over");
    tr_tv x[TR_MAX_NDIM], y[TR_MAX_NDIM];
    uint32_t i = a.ty->ndim - 1u;
    tr_fam_shape(e, a, x);
    tr_fam_shape(e, b, y);
    tr_shapes s = {.n = 2, .x = {x[i], y[k]}};
    tr_em_shapes(e, &s, "shapes ", a.ty->ndim, x, " and ", b.ty->ndim, y);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, x[i], y[k]), TR_EXC_VALUE,
                tr_arena_printf(&e->ctx->arena, "%s not aligned: {0} (dim %u) != {1} (dim %u)", s.text, i, k),
                s.n, s.x);
}

static void check_sizes(tr_em *e, tr_tv a, tr_tv b) {
    check_axis(e, a, b, b.ty->ndim == 1 ? 0 : b.ty->ndim - 2u);
}

static bool dot_vectors(tr_em *e, tr_tv a, tr_tv b, bool conj, tr_tv *out) {
    const tr_ty *result = tr_lib_common(e, a.ty->elem, b.ty->elem), *t = tr_fam_wide(e, result);
    tr_tv n = tr_em_dim(e, a, 0), in[2] = {a, b}, init = tr_em_num(e, t, 0.0);
    check_sizes(e, a, b);
    tr_redk red = t->kind == TR_TY_BOOL ? TR_RED_OR : TR_RED_ADD;
    tr_pdesc d = {.nspace = 1,
                  .nin = 2,
                  .nred = 1,
                  .space = &n,
                  .in = in,
                  .reds = &red,
                  .init = &init,
                  .lam = lam_dot,
                  .user = conj ? "" : NULL};
    if (!tr_em_pattern(e, &d, out))
        return false;
    *out = tr_em_conv(e, *out, result);
    return true;
}

/* --- matrices --- */

/* A matrix as a view of layout any. */
static tr_tv as_any(tr_em *e, tr_tv a) {
    assert(a.ty->ndim == 2 && "a matrix");
    tr_axes x = {0};
    for (uint32_t i = 0; i < 2; i++)
        tr_axes_own(e, &x, a, i);
    return tr_em_view(e, tr_ty_array(e->types, a.ty->elem, 2, TR_LAYOUT_ANY, a.ty->readonly), a, &x);
}

static void call_matmul(tr_em *e, tr_tv c, tr_tv a, tr_tv b) {
    assert(a.ty->ndim == 2 && b.ty->ndim == 2 && c.ty->ndim == 2 && "matrices");
    assert(a.ty->elem == c.ty->elem && b.ty->elem == c.ty->elem && !c.ty->readonly &&
           "of one type, into one that may be written");
    tr_em_callrt(e, TR_RT_MATMUL, NULL, NULL, 4, (tr_tv[]){tr_em_i64(e, kind_of(c.ty->elem)), c, a, b});
}

/* How the axes before the last two of an operand follow from the index of the region. */
typedef struct batch {
    uint32_t n;     /* axes of the region */
    uint32_t of[2]; /* the region's axis that is the first of operand a, b */
    bool repeats;   /* axes of extent 1 stand for all indices */
} batch;

/* STRETCH: matrices that are multiplied in one call, at most; fewer where that is more than WORK
 * multiplications. */
enum { STRETCH = 64, WORK = 1 << 20 };

static tr_tv least(tr_em *e, tr_tv x, tr_tv y) {
    return tr_em_op2(e, TR_OP_MIN, x, y);
}

static tr_tv most(tr_em *e, tr_tv x, tr_tv y) {
    return tr_em_op2(e, TR_OP_MAX, x, y);
}

/* How many pairs of these are a stretch: at least one, though sizes may be 0 or their product no number. */
static tr_tv stretch(tr_em *e, const tr_tv *m, const tr_tv *k, const tr_tv *n) {
    tr_tv each = tr_em_op2(e, TR_OP_MUL, tr_em_op2(e, TR_OP_MUL, *m, *k), *n);
    tr_tv some = tr_em_op2(e, TR_OP_QUOT, tr_em_i64(e, WORK), most(e, each, one(e)));
    return most(e, least(e, some, tr_em_i64(e, STRETCH)), one(e));
}

/* The matrices of an operand (which: 0, 1) or of the result (2) for a stretch of the region's last axis, `n`
 * from idx[w->n - 1] on: a view of three axes. */
static tr_tv matrices_at(tr_em *e, const batch *w, tr_tv a, uint32_t which, const tr_tv *idx, tr_tv n) {
    uint32_t lead = a.ty->ndim - 2u, of = which < 2 ? w->of[which] : 0, last = w->n - 1u;
    tr_axes x = {0};
    bool along = false;
    for (uint32_t i = 0; i < lead; i++) {
        tr_tv at = idx[of + i], step = one(e);
        if (w->repeats && which < 2) {
            tr_tv alone = tr_em_cmp(e, TR_CMP_EQ, tr_em_dim(e, a, i), one(e));
            at = tr_em_select(e, alone, tr_em_i64(e, 0), at);
            step = tr_em_select(e, alone, tr_em_i64(e, 0), step);
        }
        if (of + i == last)
            tr_axes_part(&x, i, at, n, step);
        else
            x.start[i] = at;
        along = along || of + i == last;
    }
    if (!along)
        tr_axes_new(e, &x, n);
    for (uint32_t i = lead; i < a.ty->ndim; i++)
        tr_axes_own(e, &x, a, i);
    return tr_em_view(e, tr_ty_array(e->types, a.ty->elem, 3, TR_LAYOUT_ANY, a.ty->readonly), a, &x);
}

/* caps: result, a, b, length of a stretch, extent of the last axis. */
static bool lam_batch(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                      tr_tv *yields) {
    const batch *w = d->user;
    assert(d->ncap == 5 && w->n == d->nspace && "a result and two operands, at each place");
    (void)elems;
    (void)yields;
    tr_tv at[TR_MAX_NDIM], x[3];
    memcpy(at, idx, w->n * sizeof *at);
    at[w->n - 1] = tr_em_op2(e, TR_OP_MUL, idx[w->n - 1], caps[3]);
    tr_tv n = least(e, caps[3], tr_em_op2(e, TR_OP_SUB, caps[4], at[w->n - 1]));
    for (uint32_t k = 0; k < 3; k++)
        x[k] = matrices_at(e, w, caps[k], k == 0 ? 2 : k - 1, at, n);
    tr_em_callrt(e, TR_RT_MATMULS, NULL, NULL, 4,
                 (tr_tv[]){tr_em_i64(e, kind_of(caps[0].ty->elem)), x[0], x[1], x[2]});
    return true;
}

/* A vector as a matrix of one row (axis 0 is new), or of one column (axis 1 is). */
static tr_tv as_matrix(tr_em *e, tr_tv a, uint32_t new_axis) {
    assert(a.ty->ndim >= 1 && new_axis < 2 && "a vector lies in a row or in a column");
    return a.ty->ndim == 1 ? tr_lib_expand_at(e, a, new_axis ? 1 : 2, 2) : a;
}

/* The array without one of its axes, whose extent is 1. */
static tr_tv without_axis(tr_em *e, tr_tv a, uint32_t axis) {
    return tr_lib_at_place(e, a, axis, tr_em_i64(e, 0), (tr_layout)a.ty->layout);
}

static bool converted(tr_em *e, tr_tv a, const tr_ty *t, tr_tv *out) {
    *out = a;
    return a.ty->elem == t ||
           tr_fam_copy_as(e, a, t, a.ty->layout == TR_LAYOUT_F ? TR_LAYOUT_F : TR_LAYOUT_C, out);
}

typedef struct product {
    tr_tv a, b; /* of two axes or more, and of the result's type, or the one that it is summed in */
    const tr_ty *result;
    bool row, column;                /* a was a vector; b was: the result lacks that axis */
    uint32_t ndim;                   /* of the result with them */
    tr_tv shape[TR_MAX_NDIM], inner; /* inner: of a row of a */
    batch how;
} product;

static bool operands(tr_em *e, tr_tv a, tr_tv b, product *p) {
    p->result = tr_lib_common(e, a.ty->elem, b.ty->elem);
    const tr_ty *t = tr_fam_wide(e, p->result);
    p->row = a.ty->ndim == 1;
    p->column = b.ty->ndim == 1;
    if (!converted(e, a, t, &p->a) || !converted(e, b, t, &p->b))
        return false;
    p->a = as_matrix(e, p->a, 0);
    p->b = as_matrix(e, p->b, 1);
    check_sizes(e, a, b);
    return true;
}

/* @: the axes before the last two broadcast together. */
static void plan_matmul(tr_em *e, product *p) {
    uint32_t la = p->a.ty->ndim - 2u, lb = p->b.ty->ndim - 2u, n = la > lb ? la : lb;
    const char *text = "matmul: operands could not be broadcast together with leading axes of shapes ";
    tr_tv lead[2 * TR_MAX_NDIM] = {{NULL, TR_NOVAL}}, own[TR_MAX_NDIM];
    const tr_tv *x[2] = {&p->a, &p->b};
    for (int k = 0; k < 2; k++) {
        /* merging whole shapes would compare the last two axes as well: only those before are looked at */
        uint32_t l = x[k]->ty->ndim - 2u;
        tr_fam_shape(e, *x[k], own);
        tr_lib_merge_sizes(e, l, own, n, lead, TR_EXC_VALUE, text);
    }
    for (uint32_t i = 0; i < n; i++)
        p->shape[i] = lead[i];
    p->how = (batch){n, {n - la, n - lb}, true};
    p->ndim = n + 2;
}

/* dot: all axes of a but the last, then all of b but the last but one. */
static bool plan_dot(tr_em *e, product *p) {
    uint32_t la = p->a.ty->ndim - 2u, lb = p->b.ty->ndim - 2u;
    if (la + lb + 2 > TR_MAX_NDIM)
        return tr_em_error(e, "dot(): the result has more than %d dimensions", TR_MAX_NDIM);
    for (uint32_t i = 0; i < la; i++)
        p->shape[i] = tr_em_dim(e, p->a, i);
    for (uint32_t i = 0; i < lb; i++)
        p->shape[la + i] = tr_em_dim(e, p->b, i);
    p->how = (batch){la + lb, {0, la}, false};
    p->ndim = la + lb + 2;
    return true;
}

/* Fills the result, of p->ndim axes and with rows that lie without gaps. */
static bool multiply(tr_em *e, const product *p, tr_tv c) {
    assert(c.ty->ndim == p->ndim && p->how.n + 2 == p->ndim && "axes before the last two are the region's");
    if (p->how.n == 0) {
        call_matmul(e, as_any(e, c), as_any(e, p->a), as_any(e, p->b));
        return true;
    }
    tr_tv space[TR_MAX_NDIM], none, *last = &space[p->how.n - 1u];
    memcpy(space, p->shape, p->how.n * sizeof *space);
    tr_tv all = *last, len = stretch(e, &p->shape[p->ndim - 2], &p->shape[p->ndim - 1], &p->inner);
    *last = tr_em_op2(e, TR_OP_QUOT, tr_em_op2(e, TR_OP_ADD, all, tr_em_op2(e, TR_OP_SUB, len, one(e))), len);
    tr_tv caps[] = {c, p->a, p->b, len, all};
    batch *w = tr_arena_copy(&e->ctx->arena, &p->how, sizeof p->how);
    tr_pdesc d = {.nspace = p->how.n, .ncap = 5, .space = space, .caps = caps, .lam = lam_batch, .user = w};
    return tr_em_pattern(e, &d, &none);
}

/* b's axes between a's rows and b's columns: dot has the rows of a before them. */
static tr_tv rows_forward(tr_em *e, const product *p, tr_tv c) {
    uint32_t la = p->a.ty->ndim - 2u, n = p->ndim;
    tr_axes x = {0};
    for (uint32_t i = 0; i < n; i++)
        tr_axes_own(e, &x, c, i < la ? i : i == la ? n - 2 : i < n - 1 ? i - 1 : i);
    return tr_em_view(e, tr_ty_array(e->types, c.ty->elem, n, TR_LAYOUT_ANY, false), c, &x);
}

/* The result in its final shape, as a view of c. */
static tr_tv shaped(tr_em *e, const product *p, bool dot, tr_tv c) {
    bool moved = dot && p->b.ty->ndim > 2 && !p->row;
    if (moved)
        c = rows_forward(e, p, c);
    if (p->column)
        c = without_axis(e, c, c.ty->ndim - 1u);
    if (p->row) /* in dot, too, the row is the last but one here */
        c = without_axis(e, c, c.ty->ndim - (p->column ? 1u : 2u));
    return c;
}

static const char out_text[] = "output array is not acceptable: an axis of size {0} where the result has {1}";

/* A result that is given: of the right type, rank and layout, checked to be of the right shape. It is written
 * to by way of a new array when it may share memory with an operand. */
static bool into(tr_em *e, const tr_bcall *c, tr_tv r, tr_tv dst, tr_tv *out) {
    tr_tv shape[TR_MAX_NDIM];
    if (!tr_lib_is_array(dst) || dst.ty->readonly)
        return tr_em_error(e, "%s(): out must be an array that can be written to", tr_fam_name(c));
    if (dst.ty->ndim != r.ty->ndim || dst.ty->elem != r.ty->elem)
        return tr_em_error(e, "%s(): out is %s, the result %s", tr_fam_name(c), tr_em_tyname(e, dst.ty),
                           tr_em_tyname(e, r.ty));
    tr_fam_shape(e, r, shape);
    for (uint32_t i = 0; i < dst.ty->ndim; i++) {
        tr_tv n = tr_em_dim(e, dst, i);
        tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, n, shape[i]), TR_EXC_VALUE, out_text, 2,
                    (tr_tv[]){n, shape[i]});
    }
    *out = dst;
    return tr_lib_map_into(e, dst, r);
}

/* The array that is given as result, as the matrix to fill; false when it has to be made elsewhere and
 * copied. */
static bool direct(tr_em *e, const product *p, const tr_tv *dst, tr_tv *c) {
    uint32_t ndim = 2u - p->row - p->column;
    if (!dst || !tr_lib_is_array(*dst) || dst->ty->readonly || dst->ty->layout != TR_LAYOUT_C ||
        p->ndim != 2 || dst->ty->ndim != ndim || dst->ty->elem != p->a.ty->elem)
        return false;
    *c = as_matrix(e, *dst, p->column);
    for (uint32_t i = 0; i < 2; i++) {
        tr_tv n = tr_em_dim(e, *c, i);
        tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, n, p->shape[i]), TR_EXC_VALUE, out_text, 2,
                    (tr_tv[]){n, p->shape[i]});
    }
    return true;
}

/* dst: NULL, or what out= is. */
static bool matrix_product(tr_em *e, const tr_bcall *call, tr_tv a, tr_tv b, bool dot, const tr_tv *dst,
                           tr_tv *out) {
    product p;
    tr_tv c;
    if (!operands(e, a, b, &p))
        return false;
    if (!dot)
        plan_matmul(e, &p);
    else if (!plan_dot(e, &p))
        return false;
    p.shape[p.ndim - 2] = tr_em_dim(e, p.a, p.a.ty->ndim - 2u);
    p.shape[p.ndim - 1] = tr_em_dim(e, p.b, p.b.ty->ndim - 1u);
    p.inner = tr_em_dim(e, p.a, p.a.ty->ndim - 1u);
    if (direct(e, &p, dst, &c)) {
        *out = *dst;
        return tr_lib_unaliased(e, c, p.a, &p.a) && tr_lib_unaliased(e, c, p.b, &p.b) && multiply(e, &p, c);
    }
    c = tr_em_alloc(e, p.a.ty->elem, p.ndim, TR_LAYOUT_C, p.shape);
    if (!multiply(e, &p, c))
        return false;
    if (!converted(e, shaped(e, &p, dot, c), p.result, out))
        return false;
    return !dst || into(e, call, *out, *dst, out);
}

bool tr_lib_matmul(tr_em *e, tr_tv a, tr_tv b, tr_tv *out) {
    if (!tr_lib_is_array(a) || !tr_lib_is_array(b) || a.ty->ndim == 0 || b.ty->ndim == 0)
        return tr_em_error(e, "@ takes arrays with axes, not %s and %s; use * with numbers",
                           tr_em_tyname(e, a.ty), tr_em_tyname(e, b.ty));
    if (a.ty->ndim == 1 && b.ty->ndim == 1)
        return dot_vectors(e, a, b, false, out);
    if ((tr_ty_is_loose(a.ty) && !tr_em_copy(e, a, TR_LAYOUT_C, &a)) ||
        (tr_ty_is_loose(b.ty) && !tr_em_copy(e, b, TR_LAYOUT_C, &b)))
        return false;
    return matrix_product(e, NULL, a, b, false, NULL, out);
}

/* --- functions --- */

static bool array_args(tr_em *e, const tr_bcall *c, tr_tv *a) {
    for (int i = 0; i < 2; i++)
        if (!tr_fam_as_array(e, c, c->a[i], NULL, &a[i]))
            return false;
    return true;
}

/* With a number on one side it is a product of items. Literals are strong, as in an array of their own. */
static bool times(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x[2] = {c->a[0], c->a[1]};
    if (!tr_fam_operands(e, c, 2))
        return false;
    for (int i = 0; i < 2; i++)
        x[i] = tr_lib_is_array(x[i]) ? x[i] : tr_em_strong(e, x[i]);
    return tr_em_binary(e, TR_BIN_MUL, x[0], x[1], out);
}

static bool is_number(tr_em *e, tr_tv x) {
    return tr_lib_scalar(e, x.ty) || (tr_lib_is_array(x) && x.ty->ndim == 0);
}

/* dot(a, b, out); matmul(x1, x2, out). */
static bool product_of(tr_em *e, const tr_bcall *c, bool dot, tr_tv *out) {
    tr_tv a[2];
    const tr_tv *dst = c->n > 2 && tr_fam_given(c->a[2]) ? &c->a[2] : NULL;
    bool number = is_number(e, c->a[0]) || is_number(e, c->a[1]);
    if (number && !dot)
        return tr_lib_matmul(e, c->a[0], c->a[1], out); /* the error */
    if (!number && !array_args(e, c, a))
        return false;
    if (!number && (a[0].ty->ndim > 1 || a[1].ty->ndim > 1))
        return matrix_product(e, c, a[0], a[1], dot, dst, out);
    if (!(number ? times(e, c, out) : dot_vectors(e, a[0], a[1], false, out)))
        return false;
    if (dst && !tr_lib_is_array(*out))
        return tr_em_error(e, "%s(): out for a result that is a number", tr_fam_name(c));
    return !dst || into(e, c, *out, *dst, out);
}

bool tr_lib_np_dot(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return product_of(e, c, true, out);
}

bool tr_lib_np_matmul(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return product_of(e, c, false, out);
}

static tr_tv swapped(tr_em *e, tr_tv b) {
    uint32_t n = b.ty->ndim;
    tr_axes x = {0};
    for (uint32_t i = 0; i < n; i++)
        tr_axes_own(e, &x, b, i == n - 1 ? n - 2 : i == n - 2 ? n - 1 : i);
    return tr_em_view(e, tr_ty_array(e->types, b.ty->elem, n, TR_LAYOUT_ANY, b.ty->readonly), b, &x);
}

/* inner(a, b): the last axes. */
bool tr_lib_np_inner(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a[2];
    if (is_number(e, c->a[0]) || is_number(e, c->a[1]))
        return times(e, c, out);
    if (!array_args(e, c, a))
        return false;
    if (a[0].ty->ndim == 1 && a[1].ty->ndim == 1)
        return dot_vectors(e, a[0], a[1], false, out);
    check_axis(e, a[0], a[1], a[1].ty->ndim - 1u); /* before that is another one */
    return matrix_product(e, c, a[0], a[1].ty->ndim > 1 ? swapped(e, a[1]) : a[1], true, NULL, out);
}

static bool raveled(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv *out) {
    tr_tv args[2] = {a, {NULL, TR_NOVAL}};
    return tr_lib_arr_ravel(e, &(tr_bcall){.row = c->row, .n = 2, .a = args}, out);
}

/* vdot(a, b): of all items, the first conjugated. */
bool tr_lib_np_vdot(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a[2];
    for (int i = 0; i < 2; i++)
        if (!tr_fam_as_array(e, c, c->a[i], NULL, &a[i]) || !raveled(e, c, a[i], &a[i]))
            return false;
    return dot_vectors(e, a[0], a[1], true, out);
}

static bool elt_product(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user;
    return tr_lib_np_binary(e, TR_BIN_MUL, x[0], x[1], out);
}

/* outer(a, b, out): products of all items of a with all of b. */
bool tr_lib_np_outer(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a[2];
    for (int i = 0; i < 2; i++)
        if (!tr_fam_as_array(e, c, c->a[i], NULL, &a[i]) || !raveled(e, c, a[i], &a[i]))
            return false;
    a[0] = as_matrix(e, a[0], 1);
    return tr_fam_map_out(e, c, 2, a, c->a[2], elt_product, NULL, out);
}
