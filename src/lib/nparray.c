/* Creation of arrays: np.empty and its kin, np.arange, np.linspace, np.array of literals, copies. Values are
 * filled in by patterns. Extents are tested here for being negative; their product by the allocation. */
#include <string.h>

#include "lib/fam.h"
#include "lib/families.h"

static const tr_ty *i64_ty(tr_em *e) {
    return tr_fam_ty(e, TR_TY_I64);
}

/* --- arguments --- */

static bool one_extent(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *out) {
    int64_t v;
    if (tr_fam_class(e, x) == 'b')
        return tr_em_error(e, "%s(): a shape is made of integers, not %s", tr_fam_name(c),
                           tr_em_tyname(e, x.ty));
    if (!tr_fam_int(e, c, x, "a shape", out))
        return false;
    if (!tr_tv_lit_int(x, &v) || v < 0)
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, *out, tr_em_i64(e, 0)), TR_EXC_VALUE,
                    "negative dimensions are not allowed", 0, NULL);
    return true;
}

bool tr_fam_extents(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *n, uint32_t *ndim) {
    *ndim = 1;
    if (x.ty->kind != TR_TY_TUPLE)
        return one_extent(e, c, x, n);
    if (x.ty->n > TR_MAX_NDIM)
        return tr_em_error(e, "%s(): more than %d dimensions", tr_fam_name(c), TR_MAX_NDIM);
    *ndim = x.ty->n;
    for (uint32_t i = 0; i < *ndim; i++)
        if (!one_extent(e, c, tr_em_item(e, x, i), &n[i]))
            return false;
    return true;
}

/* dtype=: `dflt` when absent or None. */
static bool dtype_arg(tr_em *e, const tr_bcall *c, tr_tv x, const tr_ty *dflt, const tr_ty **out) {
    *out = dflt;
    if (!tr_fam_given(x))
        return true;
    return tr_fam_dtype(e, c, x, out);
}

/* order=: C and F by name; K and A keep the layout `like` of the original. */
static bool order_arg(tr_em *e, const tr_bcall *c, tr_tv x, tr_layout like, tr_layout *out) {
    const char *s;
    *out = like;
    if (!tr_fam_given(x))
        return true;
    if (!tr_tv_lit_str(x, &s) || strlen(s) != 1 || !strchr("CFKAcfka", *s))
        return tr_em_error(e, "%s(): order must be a constant, 'C', 'F', 'A' or 'K'", tr_fam_name(c));
    if (*s == 'C' || *s == 'c')
        *out = TR_LAYOUT_C;
    if (*s == 'F' || *s == 'f')
        *out = TR_LAYOUT_F;
    return true;
}

static tr_layout layout_like(tr_tv a) {
    return a.ty->layout == TR_LAYOUT_F ? TR_LAYOUT_F : TR_LAYOUT_C;
}

/* Of a new array literals raise where they do not fit, in NumPy and here; in Numba they wrap. */
static void check_stored(tr_em *e, tr_tv x, tr_tv a) {
    if (!e->opts->promote_numba)
        tr_lib_check_literal(e, x, a.ty->elem);
}

/* --- empty, zeros, ones, full and their _like twins --- */

static bool filled(tr_em *e, int how, tr_tv value, tr_tv a, tr_tv *out) {
    *out = a;
    switch (how) {
    case TR_FILL_ZERO: return tr_em_fill(e, a, tr_em_num(e, a.ty->elem, 0.0));
    case TR_FILL_ONE: return tr_em_fill(e, a, tr_em_num(e, a.ty->elem, 1.0));
    case TR_FILL_VALUE: check_stored(e, value, a); return tr_em_assign(e, a, value);
    default: return true;
    }
}

/* Type of a new array's items taken from a fill value. */
static bool value_type(tr_em *e, const tr_bcall *c, tr_tv x, const tr_ty **out) {
    const tr_ty *s = tr_lib_is_array(x) ? x.ty->elem : tr_lib_scalar(e, x.ty);
    if (!s)
        return tr_em_error(e, "%s(): fill_value must be a number, not %s", tr_fam_name(c),
                           tr_em_tyname(e, x.ty));
    *out = tr_ty_strong(e->types, s);
    return true;
}

/* aux: how to fill. Parameters: shape, [fill_value,] dtype, order. */
bool tr_lib_np_new(tr_em *e, const tr_bcall *c, tr_tv *out) {
    bool full = c->aux == TR_FILL_VALUE;
    tr_tv value = full ? c->a[1] : (tr_tv){NULL, TR_NOVAL};
    const tr_ty *dt = tr_fam_ty(e, TR_TY_F64);
    tr_tv n[TR_MAX_NDIM];
    uint32_t ndim;
    tr_layout lay;
    const tr_ty *s = tr_lib_struct(c->a[full ? 2 : 1]);
    if (s && (c->aux == TR_FILL_NONE || c->aux == TR_FILL_ZERO))
        return tr_fam_extents(e, c, c->a[0], n, &ndim) && order_arg(e, c, c->a[2], TR_LAYOUT_C, &lay) &&
               tr_lib_new_records(e, s, ndim, lay, n, c->aux == TR_FILL_ZERO, out);
    if (full && !value_type(e, c, value, &dt))
        return false;
    if (!tr_fam_extents(e, c, c->a[0], n, &ndim) || !dtype_arg(e, c, c->a[full ? 2 : 1], dt, &dt))
        return false;
    if (!order_arg(e, c, c->a[full ? 3 : 2], TR_LAYOUT_C, &lay))
        return false;
    return filled(e, c->aux, value, tr_em_alloc(e, dt, ndim, lay, n), out);
}

static bool records_like(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a = tr_em_item(e, c->a[0], 0), n[TR_MAX_NDIM];
    uint32_t ndim = a.ty->ndim;
    tr_layout lay;
    if (!order_arg(e, c, c->a[2], layout_like(a), &lay))
        return false;
    if (!tr_fam_given(c->a[3]))
        tr_fam_shape(e, a, n);
    else if (!tr_fam_extents(e, c, c->a[3], n, &ndim))
        return false;
    return tr_lib_new_records(e, a.ty->elem, ndim, lay, n, c->aux == TR_FILL_ZERO, out);
}

/* Parameters: prototype, [fill_value,] dtype, order, shape. */
bool tr_lib_np_like(tr_em *e, const tr_bcall *c, tr_tv *out) {
    bool full = c->aux == TR_FILL_VALUE;
    uint32_t k = full ? 2 : 1;
    tr_tv a, value = full ? c->a[1] : (tr_tv){NULL, TR_NOVAL};
    tr_tv n[TR_MAX_NDIM];
    uint32_t ndim;
    const tr_ty *dt;
    tr_layout lay;
    bool plain = !tr_fam_given(c->a[k]);
    bool records = c->a[0].ty->kind == TR_TY_RECORDS;
    if (records && plain && (c->aux == TR_FILL_NONE || c->aux == TR_FILL_ZERO))
        return records_like(e, c, out);
    if (records && !plain) /* numbers, of whose array only shape and layout count */
        a = tr_em_item(e, c->a[0], 0);
    else if (!tr_fam_as_array(e, c, c->a[0], NULL, &a))
        return false;
    if (!dtype_arg(e, c, c->a[k], a.ty->elem, &dt))
        return false;
    if (!order_arg(e, c, c->a[k + 1], layout_like(a), &lay))
        return false;
    if (tr_fam_given(c->a[k + 2])) {
        if (!tr_fam_extents(e, c, c->a[k + 2], n, &ndim))
            return false;
    } else {
        ndim = a.ty->ndim;
        tr_fam_shape(e, a, n);
    }
    return filled(e, c->aux, value, tr_em_alloc(e, dt, ndim, lay, n), out);
}

/* --- patterns over one new array, from the index alone --- */

static bool generate(tr_em *e, tr_tv a, tr_plam lam, uint32_t ncap, const tr_tv *caps, tr_tv *out) {
    tr_tv n[TR_MAX_NDIM], none;
    tr_fam_shape(e, a, n);
    tr_pdesc d = {
        .nspace = a.ty->ndim, .nout = 1, .ncap = ncap, .space = n, .out = &a, .caps = caps, .lam = lam};
    *out = a;
    return tr_em_pattern(e, &d, &none);
}

/* caps: k. One where column - row == k. */
static bool lam_eye(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                    tr_tv *yields) {
    (void)elems;
    tr_tv on = tr_em_cmp(e, TR_CMP_EQ, tr_em_op2(e, TR_OP_SUB, idx[1], idx[0]), caps[0]);
    yields[0] = tr_em_conv(e, on, d->out[0].ty->elem);
    return true;
}

bool tr_lib_np_eye(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *dt;
    tr_tv n[2], k = tr_em_i64(e, 0);
    bool full = c->aux == 1; /* np.eye has M and k, np.identity has not */
    tr_layout lay = TR_LAYOUT_C;
    if (!one_extent(e, c, c->a[0], &n[0]))
        return false;
    n[1] = n[0];
    if (full && tr_fam_given(c->a[1]) && !one_extent(e, c, c->a[1], &n[1]))
        return false;
    if (full && c->a[2].ty && !tr_fam_int(e, c, c->a[2], "k", &k))
        return false;
    if (!dtype_arg(e, c, c->a[full ? 3 : 1], tr_fam_ty(e, TR_TY_F64), &dt))
        return false;
    if (full && !order_arg(e, c, c->a[4], TR_LAYOUT_C, &lay))
        return false;
    return generate(e, tr_em_alloc(e, dt, 2, lay, n), lam_eye, 1, &k, out);
}

/* caps: start, step, second value. NumPy's values: two are set, and the others are start + i * step in the
 * array's type. */
static bool lam_arange(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                       tr_tv *yields) {
    (void)elems;
    const tr_ty *t = caps[0].ty;
    tr_tv i = tr_em_conv(e, idx[0], t);
    tr_tv v = tr_em_op2(e, TR_OP_ADD, caps[0], tr_em_op2(e, TR_OP_MUL, i, caps[1]));
    if (tr_ty_is_float(t)) {
        v = tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, idx[0], tr_em_i64(e, 0)), caps[0], v);
        v = tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, idx[0], tr_em_i64(e, 1)), caps[2], v);
    }
    yields[0] = tr_em_conv(e, v, d->out[0].ty->elem);
    return true;
}

/* Number of items, for integers as range has it (NumPy rounds the quotient: beyond 2**53 it may differ by
 * one); a step of 0 raises. */
static tr_tv arange_len_int(tr_em *e, const tr_tv *x) {
    tr_tv n, p[3];
    for (int i = 0; i < 3; i++)
        p[i] = tr_em_conv(e, x[i], i64_ty(e));
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, p[2], tr_em_i64(e, 0)), TR_EXC_ZERODIV,
                tr_lib_zero_text(e, TR_BIN_DIV, i64_ty(e)), 0, NULL);
    tr_tv r = tr_em_make(e, tr_ty_range(e->types, i64_ty(e), 0), 3, p);
    tr_em_iterlen(e, r, &n);
    return n;
}

/* x op y with the width that two scalars have in NumPy; integers as float64 or int64. */
static tr_tv arange_op(tr_em *e, tr_op op, tr_tv x, tr_tv y, const tr_ty *ints) {
    const tr_ty *t = tr_ty_strong(e->types, tr_lib_common(e, tr_lib_scalar(e, x.ty), tr_lib_scalar(e, y.ty)));
    t = tr_ty_is_float(t) ? t : ints;
    return tr_em_op2(e, op, tr_em_conv(e, x, t), tr_em_conv(e, y, t));
}

/* The quotient rounded up; one item where it vanishes although stop is not start, zero where it is -0.0. */
static tr_tv arange_len_float(tr_em *e, const tr_tv *x) {
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64);
    tr_tv zero = tr_em_f64(e, 0.0), none = tr_em_i64(e, 0), one = tr_em_i64(e, 1);
    tr_tv step = tr_em_conv(e, x[2], f64), span = arange_op(e, TR_OP_SUB, x[1], x[0], f64);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, step, zero), TR_EXC_ZERODIV, tr_lib_zero_text(e, TR_BIN_DIV, f64),
                0, NULL);
    tr_tv q = tr_em_conv(e, arange_op(e, TR_OP_DIV, span, x[2], f64), f64),
          n = tr_fam_math1(e, TR_MATH_CEIL, q);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, q, q), TR_EXC_VALUE, "arange: cannot compute length", 0, NULL);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_LT, tr_em_op1(e, TR_OP_ABS, n), tr_em_f64(e, 9.2e18)), TR_EXC_VALUE,
                "Maximum allowed size exceeded", 0, NULL);
    tr_tv tiny = tr_fam_and(e, tr_em_cmp(e, TR_CMP_EQ, q, zero),
                            tr_em_cmp(e, TR_CMP_NE, tr_em_conv(e, span, f64), zero));
    n = tr_em_select(e, tr_em_cmp(e, TR_CMP_LE, n, zero), none, tr_em_conv(e, n, i64_ty(e)));
    return tr_em_select(e, tiny, tr_em_select(e, tr_fam_math1(e, TR_MATH_SIGNBIT, q), none, one), n);
}

bool tr_fam_arange_args(tr_em *e, const tr_bcall *c, tr_tv *x) {
    static const char *const names[4] = {"start", "stop", "step", "dtype"};
    if (c->nvar > 4)
        return tr_em_error(e, "arange() takes one to four arguments");
    for (uint32_t i = 0; i < 4; i++) {
        x[i] = c->a[1 + i];
        if (i < c->nvar && x[i].ty)
            return tr_em_error(e, "arange() got %s twice", names[i]);
        if (i < c->nvar)
            x[i] = c->var[i];
        if (i && !tr_fam_given(x[i]))
            x[i] = (tr_tv){NULL, TR_NOVAL};
    }
    if (!x[1].ty && (!x[0].ty || c->a[1].ty))
        return tr_em_error(e, "arange() requires stop to be specified");
    if (!x[1].ty) {
        x[1] = x[0];
        x[0].ty = NULL;
    }
    return true;
}

bool tr_lib_np_arange(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x[4], n;
    if (!tr_fam_arange_args(e, c, x))
        return false;
    if (!x[0].ty)
        x[0] = tr_em_lit(e, tr_obj_int(&e->ctx->arena, 0));
    if (!x[2].ty)
        x[2] = tr_em_lit(e, tr_obj_int(&e->ctx->arena, 1));
    const tr_ty *t = i64_ty(e), *dt;
    for (int i = 0; i < 3; i++) {
        if (!tr_fam_number(e, c, x[i], "bif"))
            return false;
        t = tr_lib_common(e, t, tr_lib_scalar(e, x[i].ty));
    }
    if (!dtype_arg(e, c, x[3], t, &dt))
        return false;
    if (dt->kind == TR_TY_BOOL || tr_ty_is_complex(dt))
        return tr_em_error(e, "arange() of %s", tr_em_tyname(e, dt));
    n = tr_ty_is_float(t) ? arange_len_float(e, x) : arange_len_int(e, x);
    /* the step as NumPy has it: from the first two values once they are of the array's type */
    tr_tv start = tr_em_conv(e, x[0], dt),
          next = tr_em_conv(e, arange_op(e, TR_OP_ADD, x[0], x[2], i64_ty(e)), dt);
    tr_tv caps[3] = {start, tr_em_op2(e, TR_OP_SUB, next, start), next};
    return generate(e, tr_em_alloc(e, dt, 1, TR_LAYOUT_C, &n), lam_arange, 3, caps, out);
}

/* caps: start, stop, delta, step, number of steps, last index or -1. */
static bool lam_linspace(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                         tr_tv *yields) {
    (void)elems;
    const tr_ty *t = caps[0].ty;
    tr_tv i = tr_em_conv(e, idx[0], t), zero = tr_em_num(e, t, 0.0);
    tr_tv scaled = tr_em_op2(e, TR_OP_MUL, i, caps[3]);
    tr_tv exact =
        tr_em_op2(e, TR_OP_MUL, tr_em_op2(e, TR_OP_DIV, i, caps[4]), caps[2]); /* where the step underflows */
    tr_tv y = tr_em_op2(e, TR_OP_ADD, tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, caps[3], zero), exact, scaled),
                        caps[0]);
    y = tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, idx[0], caps[5]), caps[1], y);
    const tr_ty *to = d->out[0].ty->elem;
    if (tr_ty_is_int(to))
        y = tr_fam_math1(e, TR_MATH_FLOOR, y); /* as NumPy since 1.20 */
    yields[0] = tr_em_conv(e, y, to);
    return true;
}

bool tr_lib_np_linspace(tr_em *e, const tr_bcall *c, tr_tv *out) {
    bool endpoint, retstep;
    tr_tv n = tr_em_i64(e, 50), zero = tr_em_i64(e, 0), one = tr_em_i64(e, 1);
    if (!tr_fam_flag(e, c, c->a[3], "endpoint", true, &endpoint) ||
        !tr_fam_flag(e, c, c->a[4], "retstep", false, &retstep))
        return false;
    if (c->a[2].ty && !tr_fam_int(e, c, c->a[2], "num", &n))
        return false;
    const tr_ty *t = tr_ty_weak(e->types, TR_TY_F64), *dt;
    for (int i = 0; i < 2; i++) {
        if (!tr_fam_number(e, c, c->a[i], "bif"))
            return false;
        t = tr_lib_common(e, t, tr_lib_scalar(e, c->a[i].ty));
    }
    t = tr_ty_strong(e->types, t);
    if (!dtype_arg(e, c, c->a[5], t, &dt))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, n, zero), TR_EXC_VALUE,
                "Number of samples, {0}, must be non-negative.", 1, &n);
    tr_tv start = tr_em_conv(e, c->a[0], t), stop = tr_em_conv(e, c->a[1], t),
          delta = tr_em_op2(e, TR_OP_SUB, stop, start);
    tr_tv n1 = tr_em_op2(e, TR_OP_SUB, n, one), steps = endpoint ? n1 : n;
    /* one sample with the endpoint has no step: delta / 0 would be nan where NumPy has the start */
    tr_tv some = tr_em_cmp(e, TR_CMP_GT, steps, zero);
    tr_tv div = tr_em_conv(e, tr_em_select(e, some, steps, one), t);
    tr_tv step = tr_em_op2(e, TR_OP_DIV, delta, div);
    tr_tv last =
        endpoint ? tr_em_select(e, tr_em_cmp(e, TR_CMP_GT, n, one), n1, tr_em_i64(e, -1)) : tr_em_i64(e, -1);
    tr_tv caps[6] = {start, stop, delta, step, div, last}, a;
    if (!generate(e, tr_em_alloc(e, dt, 1, TR_LAYOUT_C, &n), lam_linspace, 6, caps, &a))
        return false;
    *out = a;
    if (!retstep)
        return true;
    tr_tv nan = tr_em_num(e, t, 0.0);
    nan = tr_em_op2(e, TR_OP_DIV, nan, nan);
    tr_tv two[2] = {a, tr_em_select(e, some, step, nan)};
    *out = tr_em_tuple(e, 2, two);
    return true;
}

/* --- arrays from literals and from other arrays --- */

typedef struct nested {
    uint32_t ndim;
    int64_t n[TR_MAX_NDIM];
    const tr_ty *elem;           /* of the items that are no literal integers */
    bool any, literal, negative; /* items; literal integers, and such below 0 */
} nested;

/* Among items a literal counts as what it would be alone, an int64; but uint64, which is the type of all
 * arithmetic with unsigned numbers, holds what is not negative, and goes into int64 beside what is: NumPy's
 * float64 would be neither. NULL: no items. */
static const tr_ty *items_type(tr_em *e, const nested *s) {
    const tr_ty *i64 = tr_fam_ty(e, TR_TY_I64);
    if (!s->literal || !s->elem)
        return s->literal ? i64 : s->elem;
    if (s->elem->kind == TR_TY_U64)
        return s->negative ? i64 : s->elem;
    return tr_lib_common(e, s->elem, i64);
}

static void note_item(tr_em *e, tr_tv x, const tr_ty *t, nested *s) {
    int64_t v;
    s->any = true;
    t = tr_ty_strong(e->types, t);
    if (t->kind == TR_TY_I64 && tr_tv_lit_int(x, &v)) {
        s->literal = true;
        s->negative = s->negative || v < 0;
    } else {
        s->elem = s->elem ? tr_lib_common(e, s->elem, t) : t;
    }
}

/* Extents and common type of nested tuples. */
static bool nested_type(tr_em *e, const tr_bcall *c, tr_tv x, uint32_t depth, nested *s) {
    if (x.ty->kind != TR_TY_TUPLE) {
        const tr_ty *t = tr_lib_scalar(e, x.ty);
        if (!t) {
            if (tr_lib_is_array(x))
                return tr_em_unsupported(e, "stack", "%s() of a sequence of arrays", tr_fam_name(c));
            return tr_em_error(e, "%s(): items must be numbers, not %s", tr_fam_name(c),
                               tr_em_tyname(e, x.ty));
        }
        if (s->any && depth != s->ndim)
            return tr_em_error(e, "%s(): the nested sequences have different depths", tr_fam_name(c));
        s->ndim = depth;
        note_item(e, x, t, s);
        return true;
    }
    if (depth >= TR_MAX_NDIM)
        return tr_em_error(e, "%s(): more than %d dimensions", tr_fam_name(c), TR_MAX_NDIM);
    if (s->n[depth] >= 0 && s->n[depth] != (int64_t)x.ty->n)
        return tr_em_error(e, "%s(): the nested sequences have different lengths", tr_fam_name(c));
    s->n[depth] = x.ty->n;
    if (x.ty->n == 0) {
        if (!s->any)
            s->ndim = depth + 1;
        return true;
    }
    for (uint32_t i = 0; i < x.ty->n; i++)
        if (!nested_type(e, c, tr_em_item(e, x, i), depth + 1, s))
            return false;
    return true;
}

static void nested_store(tr_em *e, tr_tv a, tr_tv x, uint32_t depth, tr_tv *idx) {
    if (x.ty->kind != TR_TY_TUPLE) {
        check_stored(e, x, a);
        tr_em_store(e, a, idx, x);
        return;
    }
    for (uint32_t i = 0; i < x.ty->n; i++) {
        idx[depth] = tr_em_i64(e, i);
        nested_store(e, a, tr_em_item(e, x, i), depth + 1, idx);
    }
}

bool tr_fam_copy_as(tr_em *e, tr_tv a, const tr_ty *t, tr_layout lay, tr_tv *out) {
    tr_tv n[TR_MAX_NDIM];
    tr_fam_shape(e, a, n);
    *out = tr_em_alloc(e, t, a.ty->ndim, lay, n);
    return tr_lib_map_into(e, *out, a);
}

/* A sequence of arrays is stacked; numbers may stand among arrays without axes only. */
static bool holds_arrays(tr_tv x) {
    for (uint32_t i = 0; x.ty->kind == TR_TY_TUPLE && i < x.ty->n; i++)
        if (x.ty->items[i]->kind == TR_TY_ARRAY)
            return true;
    return false;
}

bool tr_fam_as_array(tr_em *e, const tr_bcall *c, tr_tv x, const tr_ty *dtype, tr_tv *out) {
    if (tr_lib_is_array(x)) {
        *out = x;
        return !dtype || dtype == x.ty->elem || tr_fam_copy_as(e, x, dtype, layout_like(x), out);
    }
    if (x.ty->kind == TR_TY_LIST) { /* whose memory may be another one tomorrow */
        const tr_ty *item = tr_ty_list_item(e->types, x.ty, false);
        item = dtype ? dtype : item ? item : tr_fam_ty(e, TR_TY_F64);
        const tr_ty *of = tr_ty_list_item(e->types, x.ty, false);
        if (of && !tr_ty_is_scalar(of))
            return tr_lib_array_of_list(e, x, dtype, NULL, out);
        if (!tr_em_items(e, x, &x))
            return false;
        return tr_fam_copy_as(e, x, item, TR_LAYOUT_C, out);
    }
    if (x.ty->kind == TR_TY_RANGE) {
        tr_tv a[5] = {[1] = tr_em_item(e, x, 0), tr_em_item(e, x, 1), tr_em_item(e, x, 2)};
        return tr_lib_np_arange(e, &(tr_bcall){.row = TR_B_NP_ARANGE, .n = 5, .a = a}, out) &&
               (!dtype || tr_fam_as_array(e, c, *out, dtype, out));
    }
    nested s = {.elem = NULL};
    tr_tv n[TR_MAX_NDIM], idx[TR_MAX_NDIM];
    for (int i = 0; i < TR_MAX_NDIM; i++)
        s.n[i] = -1;
    if (holds_arrays(x))
        return tr_fam_stack(e, c, x, 0, dtype, out);
    if (!nested_type(e, c, x, 0, &s))
        return false;
    const tr_ty *of = items_type(e, &s), *t = dtype ? dtype : of ? of : tr_fam_ty(e, TR_TY_F64);
    if (of && tr_ty_is_complex(of) && !tr_ty_is_complex(t))
        return tr_em_error(e, "%s(): cannot convert complex to %s", tr_fam_name(c), tr_em_tyname(e, t));
    for (uint32_t i = 0; i < s.ndim; i++)
        n[i] = tr_em_i64(e, s.n[i]);
    *out = tr_em_alloc(e, t, s.ndim, TR_LAYOUT_C, n);
    nested_store(e, *out, x, 0, idx);
    return true;
}

/* aux 0: np.asarray, 1: np.array (copies unless told not to), 2: np.copy, 3: np.ascontiguousarray, 4:
 * np.asfortranarray */
static bool as_array(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0], a;
    bool is_array = tr_lib_is_array(x), copy = c->aux == 1 || c->aux == 2;
    const tr_ty *dt = NULL;
    tr_layout keep = is_array ? layout_like(x) : TR_LAYOUT_C, lay;
    if (c->aux != 2 && !dtype_arg(e, c, c->a[1], NULL, &dt))
        return false;
    if (!order_arg(e, c, c->aux == 2 ? c->a[1] : c->aux < 2 ? c->a[2] : (tr_tv){NULL, TR_NOVAL}, keep, &lay))
        return false;
    if (c->aux == 3)
        lay = TR_LAYOUT_C;
    if (c->aux == 4)
        lay = TR_LAYOUT_F;
    /* copy=None is: where it takes one */
    bool if_needed = c->aux == 1 && c->a[3].ty && !tr_fam_given(c->a[3]);
    if (c->aux == 1 && !tr_fam_flag(e, c, c->a[3], "copy", !if_needed, &copy))
        return false;
    if (!is_array) {
        if (!tr_fam_as_array(e, c, x, dt, &a))
            return false;
        *out = a;
        return lay == TR_LAYOUT_C || a.ty->ndim < 2 || tr_fam_copy_as(e, a, a.ty->elem, lay, out);
    }
    bool wants_layout = c->aux >= 3 || (c->aux < 2 && tr_fam_given(c->a[2]));
    bool same = (!dt || dt == x.ty->elem) && (!wants_layout || x.ty->layout == (uint8_t)lay ||
                                              (x.ty->ndim < 2 && x.ty->layout == TR_LAYOUT_C));
    if (same && (!copy || c->fresh)) {
        *out = x;
        return true;
    }
    return tr_fam_copy_as(e, x, dt ? dt : x.ty->elem, lay, out);
}

bool tr_lib_np_asarray(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_axes one = {0};
    if (!as_array(e, c, out))
        return false;
    if (c->aux < 3 || out->ty->ndim)
        return true;
    tr_axes_new(e, &one, tr_em_i64(e, 1)); /* the two give an axis to what has none */
    *out = tr_em_view(e, tr_ty_array(e->types, out->ty->elem, 1, TR_LAYOUT_C, out->ty->readonly), *out, &one);
    return true;
}

/* --- methods that make arrays --- */

bool tr_lib_np_copy(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_layout lay;
    if (!order_arg(e, c, c->a[1], TR_LAYOUT_C, &lay))
        return false;
    if (c->a[1].ty && lay == TR_LAYOUT_C) { /* "K" of an F array keeps it */
        const char *s = "";
        tr_tv_lit_str(c->a[1], &s);
        if (strchr("KAka", *s))
            lay = layout_like(c->a[0]);
    }
    return tr_fam_copy_as(e, c->a[0], c->a[0].ty->elem, lay, out);
}

bool tr_lib_np_astype(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *dt;
    bool copy;
    tr_layout lay;
    if (!dtype_arg(e, c, c->a[1], NULL, &dt) || !tr_fam_flag(e, c, c->a[3], "copy", true, &copy))
        return false;
    if (!dt)
        return tr_em_error(e, "astype() needs a dtype");
    if (!order_arg(e, c, c->a[2], layout_like(c->a[0]), &lay))
        return false;
    if (!copy && dt == c->a[0].ty->elem && (!tr_fam_given(c->a[2]) || c->a[0].ty->layout == (uint8_t)lay)) {
        *out = c->a[0];
        return true;
    }
    return tr_fam_copy_as(e, c->a[0], dt, lay, out);
}
