/* NumPy's elementwise functions, on scalars and, by one map, on arrays. Types are NumPy 2's: integers keep
 * their width, functions of floats take small integers as float32 and others as float64 (as float16 only
 * those that fit it, beside one), literals do not widen. Values are NumPy's: nothing raises. */
#include <assert.h>
#include <math.h>

#include "lib/fam.h"
#include "lib/families.h"

typedef struct call {
    const tr_bcall *c;
    uint32_t n;
    bool lo, hi; /* clip: which bounds there are */
} call;

static char cls(const tr_ty *t) {
    return tr_ty_class(t) == 'u' ? 'i' : tr_ty_class(t);
}

static const tr_ty *common(tr_em *e, uint32_t n, const tr_tv *x) {
    const tr_ty *t = tr_lib_scalar(e, x[0].ty);
    for (uint32_t i = 1; i < n; i++)
        t = tr_lib_common(e, t, tr_lib_scalar(e, x[i].ty));
    return tr_ty_strong(e->types, t);
}

/* The same for a ufunc. */
static const tr_ty *ufunc_type(tr_em *e, bool quotient, uint32_t n, const tr_tv *x) {
    const tr_ty *t = tr_lib_scalar(e, x[0].ty);
    for (uint32_t i = n == 1 ? 0 : 1; i < n; i++)
        t = tr_lib_ufunc_type(e, quotient, t, tr_lib_scalar(e, x[i].ty));
    return tr_ty_strong(e->types, t);
}

/* The float or complex type in which NumPy computes a function of t. */
static const tr_ty *float_type(tr_em *e, const tr_ty *t) {
    if (tr_ty_is_float(t) || tr_ty_is_complex(t))
        return t;
    return tr_fam_ty(e, tr_ty_size(t) <= 2 ? TR_TY_F32 : TR_TY_F64);
}

/* The same for several operands: each fits the type by itself, so uint16 and int16 are float32.
 * What fits float16 is that beside one. */
static const tr_ty *common_float(tr_em *e, uint32_t n, const tr_tv *x) {
    const tr_ty *t = NULL;
    bool half = false;
    if (e->opts->promote_numba)
        return ufunc_type(e, true, n, x);
    for (uint32_t i = 0; i < n; i++)
        half = half || tr_lib_scalar(e, x[i].ty)->kind == TR_TY_F16;
    for (uint32_t i = 0; i < n; i++) {
        const tr_ty *s = tr_lib_scalar(e, x[i].ty);
        if (s->weak)
            return float_type(e, common(e, n, x));
        s = half && tr_ty_size(s) == 1 ? tr_fam_ty(e, TR_TY_F16) : float_type(e, s);
        t = t ? tr_ty_scalar(e->types, tr_ty_promote((tr_tyk)t->kind, (tr_tyk)s->kind)) : s;
    }
    return t;
}

static const tr_bcall *bcall(const void *user) {
    return user;
}

static bool refuse(tr_em *e, const void *user, const tr_ty *t) {
    return tr_em_error(e, "%s() is not defined for %s", tr_fam_name(bcall(user)), tr_em_tyname(e, t));
}

/* --- one function of ir/math.def: aux --- */

static bool elt_float(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    tr_mathfn fn = (tr_mathfn)bcall(user)->aux;
    uint32_t n = tr_math_info[fn].arity;
    const tr_ty *t = common_float(e, n, x);
    tr_tv v[3];
    for (uint32_t i = 0; i < n; i++)
        v[i] = tr_em_conv(e, x[i], t);
    if (tr_ty_is_complex(t))
        return (n == 1 && tr_fam_cplx_math(e, fn, v[0], out)) || refuse(e, user, t);
    *out = tr_em_math(e, fn, n, v);
    return true;
}

bool tr_lib_uf_float(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_fam_ufunc(e, c, tr_math_info[c->aux].arity, elt_float, out);
}

/* floor, ceil, trunc: integers as they are. */
static bool elt_round(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    *out = tr_em_strong(e, *x);
    return !tr_ty_is_float(out->ty) && !tr_ty_is_complex(out->ty) ? true : elt_float(e, user, x, out);
}

bool tr_lib_uf_round(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_fam_ufunc(e, c, 1, elt_round, out);
}

/* isnan, isinf, isfinite, signbit: of complex numbers either part (both for isfinite); integers are plain. */
static bool elt_test(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    tr_mathfn fn = (tr_mathfn)bcall(user)->aux;
    tr_tv v = tr_em_strong(e, *x);
    if (fn == TR_MATH_SIGNBIT && !tr_ty_is_complex(v.ty) && !tr_ty_is_float(v.ty)) {
        *out = tr_ty_class(v.ty) == 'i' ? tr_em_cmp(e, TR_CMP_LT, v, tr_em_num(e, v.ty, 0.0))
                                        : tr_em_bool(e, false);
    } else if (tr_ty_is_float(v.ty)) {
        *out = tr_fam_math1(e, fn, v);
    } else if (!tr_ty_is_complex(v.ty)) {
        *out = tr_em_bool(e, fn == TR_MATH_ISFINITE);
    } else if (fn == TR_MATH_SIGNBIT) {
        return refuse(e, user, v.ty);
    } else {
        tr_tv re = tr_fam_math1(e, fn, tr_em_re(e, v)), im = tr_fam_math1(e, fn, tr_em_im(e, v));
        *out = fn == TR_MATH_ISFINITE ? tr_fam_and(e, re, im) : tr_fam_or(e, re, im);
    }
    return true;
}

bool tr_lib_uf_test(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_fam_ufunc(e, c, 1, elt_test, out);
}

/* --- operators --- */

/* aux: tr_binop */
static bool elt_op(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    return tr_lib_np_binary(e, (tr_binop)bcall(user)->aux, x[0], x[1], out);
}

static bool elt_exponent(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user;
    *out = tr_em_select(e, x[0], x[1], tr_em_num(e, x[1].ty, 0.0));
    return true;
}

/* Exponents that where= leaves out are 0, so that none of them is a mistake. */
static bool chosen_exponents(tr_em *e, const tr_bcall *c, tr_tv where, tr_bcall *out) {
    tr_tv *a = tr_arena_copy(&e->ctx->arena, c->a, c->n * sizeof *a), x[2];
    *out = *c;
    out->a = a;
    x[1] = a[1];
    return !tr_lib_is_array(a[1]) || !tr_ty_is_int(a[1].ty->elem) ||
           (tr_fam_mask(e, tr_fam_name(c), where, &x[0]) && tr_lib_lift(e, 2, x, elt_exponent, NULL, &a[1]));
}

bool tr_lib_uf_op(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_bcall chosen;
    if (!tr_fam_operands(e, c, 2))
        return false;
    bool power = c->aux == TR_BIN_POW;
    if (power && c->n > 4 && tr_fam_masks(c->a[4])) {
        if (!chosen_exponents(e, c, c->a[4], &chosen))
            return false;
        c = tr_arena_copy(&e->ctx->arena, &chosen, sizeof chosen);
    }
    if (power && (!tr_lib_check_literals(e, 2, c->a) || !tr_lib_check_power(e, c->a[0], c->a[1])))
        return false;
    return tr_fam_ufunc(e, c, 2, elt_op, out);
}

/* aux: tr_cmpop */
static bool elt_compare(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    return tr_lib_np_compare(e, (tr_cmpop)bcall(user)->aux, x[0], x[1], out);
}

bool tr_lib_uf_compare(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_fam_ufunc(e, c, 2, elt_compare, out);
}

/* aux: tr_op, of the truths of two values. */
static bool elt_logical(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    tr_tv a, b;
    if (!tr_em_truth(e, x[0], &a) || !tr_em_truth(e, x[1], &b))
        return false;
    *out = tr_em_op2(e, (tr_op)bcall(user)->aux, a, b);
    return true;
}

bool tr_lib_uf_logical(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_fam_ufunc(e, c, 2, elt_logical, out);
}

/* --- minimum and maximum --- */

static bool elt_pick(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const tr_ty *t = ufunc_type(e, false, 2, x);
    *out = tr_lib_pick(e, bcall(user)->aux, tr_em_conv(e, x[0], t), tr_em_conv(e, x[1], t));
    return true;
}

bool tr_lib_uf_pick(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_fam_ufunc(e, c, 2, elt_pick, out);
}

/* clip(a, lo, hi): min(max(a, lo), hi) with NaN kept. user: whether there is a lo. */
static bool elt_clip(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const call *w = user;
    uint32_t k = 1;
    const tr_ty *t = ufunc_type(e, false, w->n, x);
    *out = tr_em_conv(e, x[0], t);
    if (w->lo)
        *out = tr_lib_pick(e, TR_UF_MAXIMUM, *out, tr_em_conv(e, x[k++], t));
    if (w->hi)
        *out = tr_lib_pick(e, TR_UF_MINIMUM, *out, tr_em_conv(e, x[k], t));
    return true;
}

/* A literal bound that no number of integer type t passes bounds nothing. */
static bool bounds_nothing(tr_em *e, tr_tv bound, const tr_ty *t, bool upper) {
    tr_bigint v;
    t = tr_ty_strong(e->types, t);
    return tr_ty_is_int(t) && !tr_tv_fits(bound, t) && tr_tv_lit_integer(bound, &v) && v.negative != upper;
}

/* Parameters: a, a_min, a_max, out, and for the function once more min, max. */
bool tr_lib_np_clip(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x[3], bound[2] = {c->a[1], c->a[2]};
    call *w = TR_NEW(&e->ctx->arena, call);
    *w = (call){.c = c, .n = 1};
    if (!tr_fam_operands(e, c, 1))
        return false;
    x[0] = c->a[0];
    const tr_ty *t = tr_lib_is_array(x[0]) ? x[0].ty->elem : tr_lib_scalar(e, x[0].ty);
    for (uint32_t i = 0; i < 2; i++) {
        if (c->n > 4 && c->a[4 + i].ty) {
            if (bound[i].ty)
                return tr_em_error(e, "clip() got two bounds for one side");
            bound[i] = c->a[4 + i];
        }
        if (!tr_fam_given(bound[i]) || bounds_nothing(e, bound[i], t, i == 1))
            continue;
        if (!tr_lib_is_array(bound[i]) && !tr_lib_scalar(e, bound[i].ty))
            return tr_em_error(e, "clip() takes numbers or arrays, not %s", tr_em_tyname(e, bound[i].ty));
        *(i ? &w->hi : &w->lo) = true;
        x[w->n++] = bound[i];
    }
    return tr_lib_check_literals(e, w->n, x) && tr_fam_map_out(e, c, w->n, x, c->a[3], elt_clip, w, out);
}

/* --- where --- */

static bool elt_where(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    tr_tv c;
    (void)user;
    const tr_ty *t = common(e, 2, x + 1);
    if (!tr_em_truth(e, x[0], &c))
        return false;
    *out = tr_em_select(e, c, tr_em_conv(e, x[1], t), tr_em_conv(e, x[2], t));
    return true;
}

bool tr_lib_np_where(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (!c->a[1].ty && !c->a[2].ty)
        return tr_lib_np_nonzero(e, c, out);
    if (!c->a[1].ty || !c->a[2].ty)
        return tr_em_error(e, "where() takes both values or none");
    return tr_fam_operands(e, c, 3) && tr_lib_check_literals(e, 2, c->a + 1) &&
           tr_lib_lift(e, 3, c->a, elt_where, c, out);
}

/* --- one operand --- */

static tr_tv sign_of(tr_em *e, tr_tv v) {
    tr_tv zero = tr_em_num(e, v.ty, 0.0), one = tr_em_num(e, v.ty, 1.0);
    char k = tr_ty_class(v.ty);
    tr_tv pos = tr_em_select(e, tr_em_cmp(e, TR_CMP_GT, v, zero), one, zero);
    if (k == 'u')
        return pos;
    pos = tr_em_select(e, tr_em_cmp(e, TR_CMP_LT, v, zero), tr_em_num(e, v.ty, -1.0), pos);
    return k == 'f' ? tr_em_select(e, tr_fam_math1(e, TR_MATH_ISNAN, v), v, pos) : pos;
}

/* To the next number away from zero, above zeros of both signs; of float16 to the next one
 * above, as NumPy has it. */
static tr_tv spacing(tr_em *e, tr_tv v) {
    bool half = v.ty->kind == TR_TY_F16;
    tr_tv up = tr_em_num(e, v.ty, HUGE_VAL);
    tr_tv sign = tr_em_op2(e, TR_OP_ADD, v, tr_em_num(e, v.ty, 0.0)); /* -0.0 has that of 0.0 */
    tr_tv away = half ? up : tr_fam_math2(e, TR_MATH_COPYSIGN, up, sign);
    tr_tv next = tr_fam_math2(e, TR_MATH_NEXTAFTER, v, away);
    tr_tv nan = tr_em_op2(e, TR_OP_SUB, v, v);
    return tr_em_select(e, tr_fam_math1(e, TR_MATH_ISINF, v), nan, tr_em_op2(e, TR_OP_SUB, next, v));
}

static tr_tv scaled(tr_em *e, tr_tv x, double k) {
    tr_tv v = tr_em_conv(e, x, float_type(e, x.ty));
    return tr_em_op2(e, TR_OP_MUL, v, tr_em_num(e, v.ty, k));
}

/* Number of bits set in |v|. */
static tr_tv bitcount(tr_em *e, tr_tv v) {
    return tr_em_conv(e, tr_fam_bits(e, TR_BITS_POPC, tr_fam_magnitude(e, v)), tr_fam_ty(e, TR_TY_U8));
}

/* Functions that keep the type of their operand; bools are refused or counted as int8, as NumPy does. */
static bool unary_same(tr_em *e, const void *user, tr_tv v, tr_tv *out) {
    int how = bcall(user)->aux;
    char k = cls(v.ty);
    bool complex_ty = k == 'c';
    switch (how) {
    case TR_UF_NEGATIVE: *out = tr_em_op1(e, TR_OP_NEG, v); return k != 'b' || refuse(e, user, v.ty);
    case TR_UF_POSITIVE: *out = v; return k != 'b' || refuse(e, user, v.ty);
    case TR_UF_SIGN:
        if (k == 'b')
            return refuse(e, user, v.ty);
        *out = complex_ty ? tr_fam_cplx_sign(e, v) : sign_of(e, v);
        return true;
    case TR_UF_SQUARE: *out = tr_em_op2(e, TR_OP_MUL, v, v); return true;
    case TR_UF_RECIPROCAL:
        if (complex_ty)
            *out = tr_fam_cplx_reciprocal(e, v);
        else
            *out = tr_em_op2(e, k == 'i' ? TR_OP_QUOT : TR_OP_DIV, tr_em_num(e, v.ty, 1.0), v);
        return true;
    case TR_UF_CONJ:
        *out = complex_ty ? tr_em_cplx(e, tr_em_re(e, v), tr_em_op1(e, TR_OP_NEG, tr_em_im(e, v))) : v;
        return true;
    case TR_UF_BITCOUNT:
        if (k != 'i' && k != 'b')
            return refuse(e, user, v.ty);
        *out = bitcount(e, v);
        return true;
    case TR_UF_INVERT:
        *out = tr_em_op1(e, TR_OP_NOT, v);
        return k == 'b' || k == 'i' || refuse(e, user, v.ty);
    default: return tr_em_fail(e, TR_ERR_INTERNAL, "no such function of one operand");
    }
}

static bool elt_unary(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    tr_tv v = tr_em_strong(e, *x);
    int how = bcall(user)->aux;
    char k = cls(v.ty);
    if (how == TR_UF_NOT) {
        if (!tr_em_truth(e, v, &v))
            return false;
        *out = tr_fam_not(e, v);
        return true;
    }
    if (how == TR_UF_ABS || how == TR_UF_FABS) {
        if (how == TR_UF_FABS && k == 'c')
            return refuse(e, user, v.ty);
        if (how == TR_UF_FABS)
            v = tr_em_conv(e, v, float_type(e, v.ty));
        if (k == 'c')
            *out = tr_lib_emit(e, TR_OP_ABS, tr_lib_real_of(e, v.ty), 1, &v.v);
        else
            *out = tr_ty_class(v.ty) == 'u' || v.ty->kind == TR_TY_BOOL ? v : tr_em_op1(e, TR_OP_ABS, v);
        return true;
    }
    if (how == TR_UF_DEG || how == TR_UF_RAD || how == TR_UF_SPACING) {
        if (k == 'c')
            return refuse(e, user, v.ty);
        *out = how == TR_UF_SPACING ? spacing(e, tr_em_conv(e, v, float_type(e, v.ty)))
                                    : scaled(e, v, how == TR_UF_DEG ? 180.0 / M_PI : M_PI / 180.0);
        return true;
    }
    if (k == 'b' && (how == TR_UF_SQUARE || how == TR_UF_RECIPROCAL || how == TR_UF_CONJ))
        v = tr_em_conv(e, v, tr_fam_ty(e, TR_TY_I8));
    return unary_same(e, user, v, out);
}

bool tr_lib_uf_unary(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_fam_ufunc(e, c, 1, elt_unary, out);
}

/* The methods conj and conjugate: of other than complex numbers the array itself, as in NumPy; what
 * is stored to one shows in the other. */
bool tr_lib_arr_conj(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (tr_ty_is_complex(c->a[0].ty->elem))
        return tr_lib_uf_unary(e, c, out);
    *out = c->a[0];
    return true;
}

/* real, imag: of an array views. aux 1: imag. */
bool tr_lib_np_part(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (!tr_fam_operands(e, c, 1))
        return false;
    return tr_lib_is_array(c->a[0]) ? tr_lib_arr_part(e, c, out) : tr_lib_num_part(e, c, out);
}

/* angle(z, deg=False) */
static bool elt_angle(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    tr_tv v = tr_em_strong(e, *x);
    if (!tr_ty_is_complex(v.ty))
        v = tr_em_conv(e, v, float_type(e, v.ty));
    tr_tv zero = tr_em_num(e, tr_em_re(e, v).ty, 0.0);
    *out = tr_fam_math2(e, TR_MATH_ATAN2, tr_ty_is_complex(v.ty) ? tr_em_im(e, v) : zero, tr_em_re(e, v));
    if (((const call *)user)->n)
        *out = tr_em_op2(e, TR_OP_MUL, *out, tr_em_num(e, out->ty, 180.0 / M_PI));
    return true;
}

bool tr_lib_np_angle(tr_em *e, const tr_bcall *c, tr_tv *out) {
    bool deg;
    call *w = TR_NEW(&e->ctx->arena, call);
    if (!tr_fam_operands(e, c, 1) || !tr_fam_flag(e, c, c->a[1], "deg", false, &deg))
        return false;
    *w = (call){.c = c, .n = deg};
    return tr_lib_lift(e, 1, c->a, elt_angle, w, out);
}

/* --- two floats --- */

/* log(exp(a) + exp(b)) without overflow: the larger one plus the logarithm of the rest. Equal operands,
 * infinities among them, are a + log(2). */
static tr_tv logaddexp(tr_em *e, tr_tv a, tr_tv b, bool two) {
    tr_tv d = tr_em_op2(e, TR_OP_SUB, a, b), zero = tr_em_num(e, a.ty, 0.0);
    tr_tv pos = tr_em_cmp(e, TR_CMP_GT, d, zero), big = tr_em_select(e, pos, a, b);
    tr_tv m = tr_em_op1(e, TR_OP_NEG, tr_em_op1(e, TR_OP_ABS, d));
    tr_tv rest = tr_fam_math1(e, TR_MATH_LOG1P, tr_fam_math1(e, two ? TR_MATH_EXP2 : TR_MATH_EXP, m));
    if (two)
        rest = tr_em_op2(e, TR_OP_MUL, rest, tr_em_num(e, a.ty, M_LOG2E));
    tr_tv r = tr_em_op2(e, TR_OP_ADD, big, rest);
    tr_tv same = tr_em_op2(e, TR_OP_ADD, a, tr_em_num(e, a.ty, two ? 1.0 : M_LN2));
    r = tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, a, b), same, r);
    return tr_em_select(e, tr_fam_math1(e, TR_MATH_ISNAN, d),
                        tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, a, b), same, d), r);
}

static tr_tv heaviside(tr_em *e, tr_tv a, tr_tv h) {
    tr_tv zero = tr_em_num(e, a.ty, 0.0), one = tr_em_num(e, a.ty, 1.0);
    tr_tv r = tr_em_select(e, tr_em_cmp(e, TR_CMP_LT, a, zero), zero,
                           tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, a, zero), h, one));
    return tr_em_select(e, tr_fam_math1(e, TR_MATH_ISNAN, a), a, r);
}

static bool elt_two(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    int how = bcall(user)->aux;
    const tr_ty *t = common(e, 2, x);
    if (how == TR_UF_FMOD && !tr_ty_is_float(t)) {
        if (tr_ty_is_complex(t))
            return refuse(e, user, t);
        if (t->kind == TR_TY_BOOL)
            t = tr_fam_ty(e, TR_TY_I8);
        *out = tr_em_op2(e, TR_OP_REM, tr_em_conv(e, x[0], t), tr_em_conv(e, x[1], t));
        return true;
    }
    t = common_float(e, 2, x);
    if (how == TR_UF_FLOAT_POWER)
        t = tr_fam_ty(e, tr_ty_is_complex(t) ? TR_TY_C128 : TR_TY_F64);
    else if (tr_ty_is_complex(t))
        return refuse(e, user, t);
    tr_tv a = tr_em_conv(e, x[0], t), b = tr_em_conv(e, x[1], t);
    double known;
    bool real = tr_tv_lit_real(x[1], &known) || tr_ty_is_float(tr_lib_scalar(e, x[1].ty));
    if (tr_ty_is_complex(t) && tr_fam_cplx_power(e, a, real ? x[1] : b, true, out))
        return true;
    switch (how) {
    case TR_UF_FMOD: *out = tr_fam_math2(e, TR_MATH_FMOD, a, b); break;
    case TR_UF_HEAVISIDE: *out = heaviside(e, a, b); break;
    case TR_UF_FLOAT_POWER: *out = tr_em_op2(e, TR_OP_POW, a, b); break;
    default: *out = logaddexp(e, a, b, how == TR_UF_LOGADDEXP2);
    }
    return true;
}

bool tr_lib_uf_two(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_fam_ufunc(e, c, 2, elt_two, out);
}

/* ldexp(x, i) */
static bool elt_ldexp(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const tr_ty *t = float_type(e, tr_ty_strong(e->types, tr_lib_scalar(e, x[0].ty))),
                *f64 = tr_fam_ty(e, TR_TY_F64);
    if (tr_ty_is_complex(t))
        return refuse(e, user, t);
    const tr_ty *n = tr_ty_strong(e->types, tr_lib_scalar(e, x[1].ty));
    if (tr_ty_is_float(n) || tr_ty_is_complex(n) || n->kind == TR_TY_U64)
        return refuse(e, user, n);
    tr_tv v[2] = {tr_em_conv(e, tr_em_conv(e, x[0], t), f64), tr_em_conv(e, x[1], tr_fam_ty(e, TR_TY_I64))};
    *out = tr_em_conv(e, tr_em_callrt(e, TR_RT_LDEXP, f64, NULL, 2, v), t);
    return true;
}

bool tr_lib_uf_ldexp(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_fam_ufunc(e, c, 2, elt_ldexp, out);
}

/* gcd, lcm of integers by their magnitudes, as unsigned numbers; what does not fit wraps. aux 1: lcm. */
static bool elt_gcd(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const tr_ty *t = common(e, 2, x), *u64 = tr_fam_ty(e, TR_TY_U64);
    tr_tv v[2];
    if (!tr_ty_is_int(t))
        return refuse(e, user, t);
    for (int i = 0; i < 2; i++) {
        v[i] = tr_em_conv(e, x[i], t);
        if (tr_ty_class(t) == 'i')
            v[i] = tr_em_op1(e, TR_OP_ABS, tr_em_conv(e, v[i], tr_fam_ty(e, TR_TY_I64)));
        v[i] = tr_em_conv(e, v[i], u64);
    }
    tr_tv g = tr_em_callrt(e, TR_RT_GCDU, u64, NULL, 2, v);
    if (bcall(user)->aux) /* the gcd is 0 when both are, and QUOT by 0 is 0 */
        g = tr_em_op2(e, TR_OP_MUL, tr_em_op2(e, TR_OP_QUOT, v[0], g), v[1]);
    *out = tr_em_conv(e, g, t);
    return true;
}

bool tr_lib_uf_gcd(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_fam_ufunc(e, c, 2, elt_gcd, out);
}

/* --- results of two parts: two maps, which fusion makes one --- */

/* What is given for outputs: arrays, or None for new ones; by position, or as out=, a tuple. */
static bool outputs_of(tr_em *e, const tr_bcall *c, uint32_t n, tr_tv *dst) {
    tr_tv both = c->n > n + 2 ? c->a[n + 2] : (tr_tv){NULL, TR_NOVAL};
    for (uint32_t i = 0; i < 2; i++)
        dst[i] = c->n > n + i ? c->a[n + i] : (tr_tv){NULL, TR_NOVAL};
    if (!tr_fam_given(both))
        return true;
    if (tr_fam_given(dst[0]) || tr_fam_given(dst[1]) || both.ty->kind != TR_TY_TUPLE || both.ty->n != 2)
        return tr_em_error(e, "%s(): out must be a tuple of an array for each output, given once",
                           tr_fam_name(c));
    for (uint32_t i = 0; i < 2; i++)
        dst[i] = tr_em_item(e, both, i);
    return true;
}

/* A part in the array that was given for it. */
static bool put_part(tr_em *e, const tr_bcall *c, tr_tv dst, tr_tv *part) {
    const tr_ty *t = tr_lib_is_array(*part) ? part->ty->elem : tr_ty_strong(e->types, part->ty);
    if (!tr_fam_given(dst))
        return true;
    if (!tr_lib_is_array(dst) || dst.ty->readonly)
        return tr_em_error(e, "%s(): out must be an array that can be written to, not %s", tr_fam_name(c),
                           tr_em_tyname(e, dst.ty));
    if (!tr_fam_same_kind(t, dst.ty->elem))
        return tr_em_error(e, "%s(): cannot store a result of %s in out, an array of %s", tr_fam_name(c),
                           tr_em_tyname(e, t), tr_em_tyname(e, dst.ty->elem));
    tr_tv r = *part;
    *part = dst;
    return tr_em_assign(e, dst, r);
}

/* Both are computed before either is stored, so outputs may share memory with operands. An
 * output that is made here has the shape of all operands and of the other output, which `fn` is
 * handed behind the operands for that. */
static bool two_parts(tr_em *e, const tr_bcall *c, uint32_t n, tr_lib_eltfn fn, int32_t aux0, int32_t aux1,
                      tr_tv *out) {
    tr_tv q[2], dst[2], x[3];
    const int32_t aux[2] = {aux0, aux1};
    if (!tr_fam_operands(e, c, n) || !outputs_of(e, c, n, dst))
        return false;
    assert(n < 3);
    for (uint32_t i = 0; i < n; i++)
        x[i] = c->a[i];
    for (int i = 0; i < 2; i++) {
        tr_bcall *half = TR_NEW(&e->ctx->arena, tr_bcall);
        *half = (tr_bcall){.row = c->row, .aux = aux[i]};
        x[n] = dst[1 - i];
        bool beside = !tr_fam_given(dst[i]) && tr_fam_given(x[n]) && tr_lib_is_array(x[n]);
        if (!tr_lib_lift(e, n + beside, x, fn, half, &q[i]))
            return false;
    }
    for (int i = 0; i < 2; i++)
        if (!put_part(e, c, dst[i], &q[i]))
            return false;
    *out = tr_em_tuple(e, 2, q);
    return true;
}

bool tr_lib_uf_divmod(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return two_parts(e, c, 2, elt_op, TR_BIN_FLOORDIV, TR_BIN_MOD, out);
}

/* modf: 0 the fraction, 1 the whole part, both with the sign of x; of an infinity 0 and itself. */
static bool elt_modf(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const tr_ty *t = common_float(e, 1, x);
    if (tr_ty_is_complex(t))
        return refuse(e, user, t);
    tr_tv v = tr_em_conv(e, *x, t), whole = tr_fam_math1(e, TR_MATH_TRUNC, v), zero = tr_em_num(e, t, 0.0);
    *out = whole;
    if (bcall(user)->aux)
        return true;
    tr_tv frac = tr_em_op2(e, TR_OP_SUB, v, whole);
    frac = tr_em_select(e, tr_fam_math1(e, TR_MATH_ISINF, v), zero, frac);
    *out = tr_fam_math2(e, TR_MATH_COPYSIGN, frac, v);
    return true;
}

bool tr_lib_uf_modf(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return two_parts(e, c, 1, elt_modf, 0, 1, out);
}

/* frexp: 0 the mantissa, 1 the exponent, an int32. */
static bool elt_frexp(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const tr_ty *t = common_float(e, 1, x), *f64 = tr_fam_ty(e, TR_TY_F64);
    if (tr_ty_is_complex(t))
        return refuse(e, user, t);
    tr_tv v = tr_em_conv(e, tr_em_conv(e, *x, t), f64);
    if (bcall(user)->aux)
        *out = tr_em_conv(e, tr_em_callrt(e, TR_RT_FREXPE, tr_fam_ty(e, TR_TY_I64), NULL, 1, &v),
                          tr_fam_ty(e, TR_TY_I32));
    else
        *out = tr_em_conv(e, tr_em_callrt(e, TR_RT_FREXPM, f64, NULL, 1, &v), t);
    return true;
}

bool tr_lib_uf_frexp(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return two_parts(e, c, 1, elt_frexp, 0, 1, out);
}

/* --- round --- */

/* A float rounded to decimals: NumPy scales, rounds and scales back. known: decimals, or INT64_MIN and the
 * value d. */
static tr_tv round_float(tr_em *e, tr_tv v, int64_t known, tr_tv d) {
    if (known == 0)
        return tr_fam_math1(e, TR_MATH_RINT, v);
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64);
    tr_tv up, down, neg = {NULL, TR_NOVAL}, p;
    if (known != INT64_MIN) {
        p = tr_em_num(e, v.ty, pow(10.0, fabs((double)known)));
    } else {
        neg = tr_em_cmp(e, TR_CMP_LT, d, tr_em_i64(e, 0));
        tr_tv ten = tr_em_f64(e, 10.0), k = tr_em_conv(e, tr_em_op1(e, TR_OP_ABS, d), f64);
        p = tr_em_conv(e, tr_em_op2(e, TR_OP_POW, ten, k), v.ty);
    }
    up = tr_em_op2(e, TR_OP_DIV, tr_fam_math1(e, TR_MATH_RINT, tr_em_op2(e, TR_OP_MUL, v, p)), p);
    if (known > 0)
        return up;
    down = tr_em_op2(e, TR_OP_MUL, tr_fam_math1(e, TR_MATH_RINT, tr_em_op2(e, TR_OP_DIV, v, p)), p);
    return neg.ty ? tr_em_select(e, neg, down, up) : down;
}

/* x[1]: the decimals. */
static bool elt_npround(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    int64_t known = INT64_MIN;
    const tr_ty *i64 = tr_fam_ty(e, TR_TY_I64);
    tr_tv v = tr_em_strong(e, x[0]), d = tr_em_conv(e, x[1], i64);
    (void)user;
    tr_tv_lit_int(x[1], &known);
    if (tr_ty_is_complex(v.ty)) {
        *out =
            tr_em_cplx(e, round_float(e, tr_em_re(e, v), known, d), round_float(e, tr_em_im(e, v), known, d));
    } else if (tr_ty_is_float(v.ty)) {
        *out = round_float(e, v, known, d);
    } else if (known >= 0) {
        *out = v;
    } else {
        *out = tr_em_conv(e, tr_fam_round_int(e, v, d), v.ty);
    }
    return true;
}

/* Parameters: a, decimals, out. */
bool tr_lib_np_round(tr_em *e, const tr_bcall *c, tr_tv *out) {
    int64_t d = 0;
    tr_tv x[2] = {c->a[0], tr_em_lit(e, tr_obj_int(&e->ctx->arena, 0))};
    if (!tr_fam_operands(e, c, 1))
        return false;
    if (c->a[1].ty) {
        x[1] = c->a[1];
        if (!tr_fam_number(e, c, x[1], "bi"))
            return false;
        if (tr_tv_lit_int(x[1], &d) && (d < -300 || d > 300))
            return tr_em_error(e, "%s(): decimals must be between -300 and 300", tr_fam_name(c));
    }
    tr_tv dst = c->a[2], r;
    bool whole = tr_fam_given(dst) && tr_lib_is_array(dst) && tr_ty_is_int(dst.ty->elem) && !dst.ty->readonly;
    if (!whole)
        return tr_fam_map_out(e, c, 2, x, dst, elt_npround, NULL, out);
    /* Integers take what is rounded, as in programs for Numba, where NumPy's rule for outputs forbids it. */
    *out = dst;
    return tr_lib_lift(e, 2, x, elt_npround, NULL, &r) && tr_em_assign(e, dst, r);
}
