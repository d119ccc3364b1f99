/* Attributes and methods of arrays, and NumPy's functions that are the same by another name. Reductions and copies are
 * patterns. Reductions go over all elements: axis is only taken where it says just that. */
#include <string.h>

#include "lib/fam.h"
#include "lib/families.h"

static const tr_ty *i64_ty(tr_em *e) {
    return tr_fam_ty(e, TR_TY_I64);
}

/* --- attributes --- */

static tr_tv lit_int(tr_em *e, int64_t v) {
    return tr_em_lit(e, tr_obj_int(&e->ctx->arena, v));
}

bool tr_lib_arr_shape(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv n[TR_MAX_NDIM], a;
    if (!tr_fam_as_array(e, c, c->a[0], NULL, &a))
        return false;
    tr_fam_shape(e, a, n);
    *out = tr_em_tuple(e, a.ty->ndim, n);
    return true;
}

bool tr_lib_arr_strides(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv n[TR_MAX_NDIM], a = c->a[0], size = tr_em_i64(e, tr_ty_size(a.ty->elem));
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        n[i] = tr_em_nsw(e, TR_OP_MUL, tr_em_stride(e, a, i), size);
    *out = tr_em_tuple(e, a.ty->ndim, n);
    return true;
}

/* aux: what is counted. */
bool tr_lib_arr_count(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    if (!tr_fam_as_array(e, c, c->a[0], NULL, &a))
        return false;
    unsigned item = tr_ty_size(a.ty->elem);
    switch (c->aux) {
    case TR_COUNT_NDIM: *out = lit_int(e, a.ty->ndim); break;
    case TR_COUNT_ITEMSIZE: *out = lit_int(e, item); break;
    case TR_COUNT_NBYTES: *out = tr_em_nsw(e, TR_OP_MUL, tr_em_size(e, a), tr_em_i64(e, item)); break;
    default: *out = tr_em_size(e, a);
    }
    return true;
}

/* --- reductions --- */

typedef struct reduction {
    const tr_ty *t; /* type to convert items to, or NULL */
    bool truth;
    bool square; /* |x - caps[0]|**2 */
} reduction;

static bool lam_reduce(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                       tr_tv *yields) {
    (void)idx;
    const reduction *r = d->user;
    tr_tv x = elems[0];
    if (r->truth && !tr_em_truth(e, x, &x))
        return false;
    if (r->t)
        x = tr_em_conv(e, x, r->t);
    if (r->square) {
        x = tr_em_op2(e, TR_OP_SUB, x, caps[0]);
        tr_tv re = tr_em_re(e, x), im = tr_em_im(e, x), sq = tr_em_op2(e, TR_OP_MUL, re, re);
        x = tr_ty_is_complex(x.ty) ? tr_em_op2(e, TR_OP_ADD, sq, tr_em_op2(e, TR_OP_MUL, im, im)) : sq;
    }
    yields[0] = x;
    return true;
}

static bool reduce(tr_em *e, tr_tv a, tr_redk red, tr_tv init, const reduction *r, tr_tv cap, tr_tv *out) {
    tr_tv n[TR_MAX_NDIM];
    tr_fam_shape(e, a, n);
    tr_pdesc d = {.nspace = a.ty->ndim,
                  .nin = 1,
                  .nred = 1,
                  .ncap = cap.ty ? 1 : 0,
                  .space = n,
                  .in = &a,
                  .reds = &red,
                  .init = &init,
                  .caps = &cap,
                  .lam = lam_reduce,
                  .user = r};
    return tr_em_pattern(e, &d, out);
}

static const tr_tv absent = {NULL, TR_NOVAL};

/* axis=None is all there is; on a 1-d array its only axis means the same. */
static bool all_axes(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv axis) {
    int64_t k;
    if (!tr_fam_given(axis))
        return true;
    if (a.ty->ndim == 1 && tr_tv_lit_int(axis, &k) && (k == 0 || k == -1))
        return true;
    return tr_em_unsupported(e, "axis", "%s() along an axis", tr_fam_name(c));
}

/* The array of a method or function, its axis argument (parameter 1) looked at. */
static bool operand(tr_em *e, const tr_bcall *c, tr_tv *a) {
    return tr_fam_as_array(e, c, c->a[0], NULL, a) && all_axes(e, c, *a, c->a[1]);
}

/* Type in which NumPy adds up: small integers in 64 bits. */
static const tr_ty *sum_type(tr_em *e, const tr_ty *t) {
    char k = tr_ty_class(t);
    if (k == 'b' || k == 'i')
        return i64_ty(e);
    return k == 'u' ? tr_fam_ty(e, TR_TY_U64) : t;
}

static bool dtype_or(tr_em *e, const tr_bcall *c, tr_tv x, const tr_ty *dflt, const tr_ty **t) {
    *t = dflt;
    if (!tr_fam_given(x))
        return true;
    *t = tr_tv_dtype(e, x);
    return *t || tr_em_error(e, "%s(): %s is not a dtype that compiled code knows", tr_fam_name(c),
                             tr_em_tyname(e, x.ty));
}

/* sum, prod. Parameters: a, axis, dtype. aux: TR_RED_ADD or TR_RED_MUL. */
bool tr_lib_arr_sum(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    reduction r = {.t = NULL};
    if (!operand(e, c, &a) || !dtype_or(e, c, c->a[2], sum_type(e, a.ty->elem), &r.t))
        return false;
    if (r.t->kind == TR_TY_BOOL)
        return tr_em_error(e, "%s() of bool items", tr_fam_name(c));
    return reduce(e, a, (tr_redk)c->aux, tr_em_num(e, r.t, c->aux == TR_RED_MUL), &r, absent, out);
}

static void check_some(tr_em *e, tr_tv a, tr_redk red) {
    static const char *const text[TR_RED__COUNT] = {
        [TR_RED_MIN] = "zero-size array to reduction operation minimum which has no identity",
        [TR_RED_MAX] = "zero-size array to reduction operation maximum which has no identity",
        [TR_RED_ARGMIN] = "attempt to get argmin of an empty sequence",
        [TR_RED_ARGMAX] = "attempt to get argmax of an empty sequence",
    };
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, tr_em_size(e, a), tr_em_i64(e, 0)), TR_EXC_VALUE, text[red], 0,
                NULL);
}

static bool extreme(tr_em *e, const tr_bcall *c, tr_tv a, tr_redk red, tr_tv *out) {
    const tr_ty *t = a.ty->elem;
    reduction r = {.t = NULL};
    if (tr_ty_is_complex(t))
        return tr_em_unsupported(e, "complex-order", "%s() of complex items", tr_fam_name(c));
    check_some(e, a, red);
    if (t->kind == TR_TY_BOOL)
        red = red == TR_RED_MIN ? TR_RED_AND : TR_RED_OR;
    return reduce(e, a, red, tr_fam_extreme(e, t, red == TR_RED_MIN || red == TR_RED_AND), &r, absent, out);
}

/* min, max. aux: TR_RED_MIN or TR_RED_MAX. */
bool tr_lib_arr_extreme(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    return operand(e, c, &a) && extreme(e, c, a, (tr_redk)c->aux, out);
}

bool tr_lib_arr_ptp(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, lo, hi;
    if (!operand(e, c, &a))
        return false;
    if (a.ty->elem->kind == TR_TY_BOOL)
        return tr_em_error(e, "%s() of bool items", tr_fam_name(c));
    if (!extreme(e, c, a, TR_RED_MAX, &hi) || !extreme(e, c, a, TR_RED_MIN, &lo))
        return false;
    *out = tr_em_op2(e, TR_OP_SUB, hi, lo);
    return true;
}

/* argmin, argmax: the index in C order. aux: TR_RED_ARGMIN or TR_RED_ARGMAX. */
bool tr_lib_arr_arg(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    reduction r = {.t = NULL};
    if (!operand(e, c, &a))
        return false;
    if (tr_ty_is_complex(a.ty->elem))
        return tr_em_unsupported(e, "complex-order", "%s() of complex items", tr_fam_name(c));
    if (a.ty->elem->kind == TR_TY_BOOL)
        r.t = tr_fam_ty(e, TR_TY_U8);
    check_some(e, a, (tr_redk)c->aux);
    return reduce(e, a, (tr_redk)c->aux, tr_em_i64(e, 0), &r, absent, out);
}

/* any, all, count_nonzero. aux: TR_RED_OR, TR_RED_AND or TR_RED_ADD. */
bool tr_lib_arr_truth(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    reduction r = {.truth = true};
    if (!operand(e, c, &a))
        return false;
    if (c->aux == TR_RED_ADD)
        r.t = i64_ty(e);
    tr_tv init = c->aux == TR_RED_ADD ? tr_em_i64(e, 0) : tr_em_bool(e, c->aux == TR_RED_AND);
    return reduce(e, a, (tr_redk)c->aux, init, &r, absent, out);
}

/* The type NumPy averages in: float64 for integers, else the items' own. */
static const tr_ty *mean_type(tr_em *e, const tr_ty *t) {
    return tr_ty_is_float(t) || tr_ty_is_complex(t) ? t : tr_fam_ty(e, TR_TY_F64);
}

static bool mean(tr_em *e, tr_tv a, const tr_ty *t, tr_tv *out) {
    reduction r = {.t = t};
    tr_tv s;
    if (!reduce(e, a, TR_RED_ADD, tr_em_num(e, t, 0.0), &r, absent, &s))
        return false;
    *out = tr_em_op2(e, TR_OP_DIV, s, tr_em_conv(e, tr_em_size(e, a), t));
    return true;
}

bool tr_lib_arr_mean(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    const tr_ty *t;
    if (!operand(e, c, &a) || !dtype_or(e, c, c->a[2], mean_type(e, a.ty->elem), &t))
        return false;
    if (!tr_ty_is_float(t) && !tr_ty_is_complex(t))
        return tr_em_error(e, "%s() with a dtype that is not a float", tr_fam_name(c));
    return mean(e, a, t, out);
}

/* var, std. Parameters: a, axis, dtype, ddof. aux 1: the square root. */
bool tr_lib_arr_var(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, m, s, ddof = tr_em_lit(e, tr_obj_int(&e->ctx->arena, 0));
    const tr_ty *t;
    if (!operand(e, c, &a) || !dtype_or(e, c, c->a[2], mean_type(e, a.ty->elem), &t))
        return false;
    if (!tr_ty_is_float(t) && !tr_ty_is_complex(t))
        return tr_em_error(e, "%s() with a dtype that is not a float", tr_fam_name(c));
    if (c->a[3].ty)
        ddof = c->a[3];
    if (!tr_fam_number(e, c, ddof, "bif"))
        return false;
    reduction r = {.t = t, .square = true};
    const tr_ty *real = tr_ty_is_complex(t) ? tr_lib_real_of(e, t) : t, *f64 = tr_fam_ty(e, TR_TY_F64);
    if (!mean(e, a, t, &m) || !reduce(e, a, TR_RED_ADD, tr_em_num(e, real, 0.0), &r, m, &s))
        return false;
    tr_tv n = tr_em_op2(e, TR_OP_SUB, tr_em_conv(e, tr_em_size(e, a), f64), tr_em_conv(e, ddof, f64)),
          zero = tr_em_f64(e, 0.0);
    n = tr_em_select(e, tr_em_cmp(e, TR_CMP_LT, n, zero), zero, n);
    s = tr_em_op2(e, TR_OP_DIV, s, tr_em_conv(e, n, real));
    *out = c->aux ? tr_fam_math1(e, TR_MATH_SQRT, s) : s;
    return true;
}
