/* NumPy's elementwise functions, on scalars and, by one map, on arrays. Types are NumPy 2's: integers keep their width,
 * functions of floats take small integers as float32 and others as float64 (there is no float16 here), literals do not
 * widen. Values are NumPy's: nothing raises. */
#include <math.h>

#include "lib/fam.h"
#include "lib/families.h"

typedef struct call {
    const tr_bcall *c;
    uint32_t n;
    const tr_ty *t; /* common type of the operands, strong */
} call;

static char cls(const tr_ty *t) {
    return tr_ty_class(t) == 'u' ? 'i' : tr_ty_class(t);
}

/* Arguments of one elementwise call: numbers or arrays of numbers. */
static bool operands(tr_em *e, const tr_bcall *c, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        tr_tv x = c->a[i];
        if (!tr_lib_is_array(x) && !tr_lib_scalar(e, x.ty))
            return tr_em_error(e, "%s() takes numbers or arrays, not %s", tr_fam_name(c),
                               tr_em_tyname(e, x.ty));
    }
    return true;
}

static const tr_ty *common(tr_em *e, uint32_t n, const tr_tv *x) {
    const tr_ty *t = tr_lib_scalar(e, x[0].ty);
    for (uint32_t i = 1; i < n; i++)
        t = tr_lib_common(e, t, tr_lib_scalar(e, x[i].ty));
    return tr_ty_strong(e->types, t);
}

/* The float or complex type in which NumPy computes a function of t. */
static const tr_ty *float_type(tr_em *e, const tr_ty *t) {
    if (tr_ty_is_float(t) || tr_ty_is_complex(t))
        return t;
    return tr_fam_ty(e, tr_ty_size(t) <= 2 ? TR_TY_F32 : TR_TY_F64);
}

static const tr_bcall *bcall(const void *user) {
    return user;
}

static bool refuse(tr_em *e, const void *user, const tr_ty *t) {
    return tr_em_error(e, "%s() is not defined for %s", tr_fam_name(bcall(user)), tr_em_tyname(e, t));
}

/* --- one function of ir/math.def: aux --- */

static bool elt_float(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const tr_bcall *c = user;
    const tr_ty *t = float_type(e, common(e, c->n, x));
    tr_mathfn fn = (tr_mathfn)c->aux;
    tr_tv v[3];
    if (tr_ty_is_complex(t) && !tr_math_info[fn].cplx)
        return refuse(e, user, t);
    for (uint32_t i = 0; i < c->n; i++)
        v[i] = tr_em_conv(e, x[i], t);
    *out = tr_em_math(e, fn, c->n, v);
    return true;
}

bool tr_lib_uf_float(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return operands(e, c, c->n) && tr_lib_lift(e, c->n, c->a, elt_float, c, out);
}

/* floor, ceil, trunc: integers as they are. */
static bool elt_round(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    *out = tr_em_strong(e, *x);
    return !tr_ty_is_float(out->ty) && !tr_ty_is_complex(out->ty) ? true : elt_float(e, user, x, out);
}

bool tr_lib_uf_round(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return operands(e, c, 1) && tr_lib_lift(e, 1, c->a, elt_round, c, out);
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
    return operands(e, c, 1) && tr_lib_lift(e, 1, c->a, elt_test, c, out);
}

/* --- operators --- */

/* aux: tr_binop */
static bool elt_op(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    return tr_lib_np_binary(e, (tr_binop)bcall(user)->aux, x[0], x[1], out);
}

bool tr_lib_uf_op(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return operands(e, c, 2) && tr_lib_lift(e, 2, c->a, elt_op, c, out);
}

/* aux: tr_cmpop. Complex numbers are ordered by their real parts, then their imaginary ones, as NumPy does; one with a NaN in
 * it has no order. */
static bool elt_compare(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    tr_cmpop op = (tr_cmpop)bcall(user)->aux;
    const tr_ty *t = common(e, 2, x);
    if (!tr_ty_is_complex(t) || op == TR_CMP_EQ || op == TR_CMP_NE)
        return tr_em_compare(e, op, x[0], x[1], out);
    tr_tv a = tr_em_conv(e, x[0], t), b = tr_em_conv(e, x[1], t);
    tr_cmpop strict = op == TR_CMP_LE ? TR_CMP_LT : op == TR_CMP_GE ? TR_CMP_GT : op;
    tr_tv re = tr_em_cmp(e, strict, tr_em_re(e, a), tr_em_re(e, b)),
          im = tr_em_cmp(e, op, tr_em_im(e, a), tr_em_im(e, b));
    for (int i = 0; i < 2; i++) {
        tr_tv y = tr_em_im(e, i ? b : a);
        re = tr_fam_and(e, re, tr_em_cmp(e, TR_CMP_EQ, y, y));
    }
    *out = tr_fam_or(e, re, tr_fam_and(e, tr_em_cmp(e, TR_CMP_EQ, tr_em_re(e, a), tr_em_re(e, b)), im));
    return true;
}

bool tr_lib_uf_compare(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return operands(e, c, 2) && tr_lib_lift(e, 2, c->a, elt_compare, c, out);
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
    return operands(e, c, 2) && tr_lib_lift(e, 2, c->a, elt_logical, c, out);
}

/* --- minimum and maximum --- */

/* minimum and maximum give NaN where there is one, fmin and fmax the other operand. */
static tr_tv pick(tr_em *e, int how, tr_tv a, tr_tv b) {
    bool max = how == TR_UF_MAXIMUM || how == TR_UF_FMAX;
    if (a.ty->kind == TR_TY_BOOL)
        return tr_em_op2(e, max ? TR_OP_OR : TR_OP_AND, a, b);
    tr_tv first = tr_em_cmp(e, max ? TR_CMP_GE : TR_CMP_LE, a, b);
    if (tr_ty_is_float(a.ty))
        first = tr_fam_or(e, first, tr_fam_math1(e, TR_MATH_ISNAN, how >= TR_UF_FMIN ? b : a));
    return tr_em_select(e, first, a, b);
}

static bool elt_pick(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const tr_ty *t = common(e, 2, x);
    if (tr_ty_is_complex(t))
        return tr_em_unsupported(e, "complex-order", "%s() of complex numbers", tr_fam_name(bcall(user)));
    *out = pick(e, bcall(user)->aux, tr_em_conv(e, x[0], t), tr_em_conv(e, x[1], t));
    return true;
}

bool tr_lib_uf_pick(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return operands(e, c, 2) && tr_lib_lift(e, 2, c->a, elt_pick, c, out);
}

/* clip(a, lo, hi): min(max(a, lo), hi) with NaN kept. Absent bounds are None. */
static bool elt_clip(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const call *w = user;
    uint32_t k = 1;
    const tr_ty *t = common(e, w->n, x);
    if (tr_ty_is_complex(t))
        return tr_em_unsupported(e, "complex-order", "clip() of complex numbers");
    *out = tr_em_conv(e, x[0], t);
    if (tr_fam_given(w->c->a[1]))
        *out = pick(e, TR_UF_MAXIMUM, *out, tr_em_conv(e, x[k++], t));
    if (tr_fam_given(w->c->a[2]))
        *out = pick(e, TR_UF_MINIMUM, *out, tr_em_conv(e, x[k], t));
    return true;
}

bool tr_lib_np_clip(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x[3];
    call *w = TR_NEW(&e->ctx->arena, call);
    *w = (call){.c = c};
    if (!operands(e, c, 1))
        return false;
    for (uint32_t i = 0; i < 3; i++) {
        if (!tr_fam_given(c->a[i]))
            continue;
        x[w->n++] = c->a[i];
        if (!tr_lib_is_array(c->a[i]) && !tr_lib_scalar(e, c->a[i].ty))
            return tr_em_error(e, "clip() takes numbers or arrays, not %s", tr_em_tyname(e, c->a[i].ty));
    }
    return tr_lib_lift(e, w->n, x, elt_clip, w, out);
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
    if (!c->a[1].ty || !c->a[2].ty)
        return tr_em_error(
            e, "where() needs both values; with the condition alone its result has no fixed size");
    return operands(e, c, 3) && tr_lib_lift(e, 3, c->a, elt_where, c, out);
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

/* A complex number's direction, 0 for 0, as NumPy 2. */
static tr_tv sign_of_complex(tr_em *e, tr_tv v) {
    tr_tv r = tr_lib_emit(e, TR_OP_ABS, tr_lib_real_of(e, v.ty), 1, &v.v), zero = tr_em_num(e, r.ty, 0.0);
    tr_tv q =
        tr_em_cplx(e, tr_em_op2(e, TR_OP_DIV, tr_em_re(e, v), r), tr_em_op2(e, TR_OP_DIV, tr_em_im(e, v), r));
    return tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, r, zero), tr_em_num(e, v.ty, 0.0), q);
}

/* 1 / v, scaled by the larger part, step by step as NumPy has it. */
static tr_tv reciprocal_of_complex(tr_em *e, tr_tv v) {
    tr_tv re = tr_em_re(e, v), im = tr_em_im(e, v), one = tr_em_num(e, re.ty, 1.0);
    tr_tv wide = tr_em_cmp(e, TR_CMP_GE, tr_em_op1(e, TR_OP_ABS, re), tr_em_op1(e, TR_OP_ABS, im));
    tr_tv big = tr_em_select(e, wide, re, im), small = tr_em_select(e, wide, im, re);
    tr_tv r = tr_em_op2(e, TR_OP_DIV, small, big);
    tr_tv d = tr_em_op2(e, TR_OP_ADD, big, tr_em_op2(e, TR_OP_MUL, small, r));
    tr_tv p = tr_em_op2(e, TR_OP_DIV, one, d), q = tr_em_op2(e, TR_OP_DIV, r, d);
    return tr_em_cplx(e, tr_em_select(e, wide, p, q), tr_em_op1(e, TR_OP_NEG, tr_em_select(e, wide, q, p)));
}

static tr_tv spacing(tr_em *e, tr_tv v) {
    tr_tv next = tr_fam_math2(e, TR_MATH_NEXTAFTER, v,
                              tr_fam_math2(e, TR_MATH_COPYSIGN, tr_em_num(e, v.ty, HUGE_VAL), v));
    tr_tv nan = tr_em_op2(e, TR_OP_SUB, v, v);
    return tr_em_select(e, tr_fam_math1(e, TR_MATH_ISINF, v), nan, tr_em_op2(e, TR_OP_SUB, next, v));
}

static tr_tv scaled(tr_em *e, tr_tv x, double k) {
    tr_tv v = tr_em_conv(e, x, float_type(e, x.ty));
    return tr_em_op2(e, TR_OP_MUL, v, tr_em_num(e, v.ty, k));
}

static tr_tv u64_const(tr_em *e, uint64_t v) {
    const tr_ty *u64 = tr_fam_ty(e, TR_TY_U64);
    return (tr_tv){u64, e->dry ? TR_NOVAL : tr_const_int(e->b.fn, u64, (int64_t)v)};
}

/* Sums of the bits of x in fields twice as wide as before. */
static tr_tv halves(tr_em *e, tr_tv x, unsigned shift, uint64_t mask) {
    tr_tv m = u64_const(e, mask), high = tr_em_op2(e, TR_OP_SHR, x, u64_const(e, shift));
    return tr_em_op2(e, TR_OP_ADD, tr_em_op2(e, TR_OP_AND, x, m), tr_em_op2(e, TR_OP_AND, high, m));
}

/* Number of bits set in |v|. */
static tr_tv bitcount(tr_em *e, tr_tv v) {
    if (tr_ty_class(v.ty) == 'i')
        v = tr_em_op1(e, TR_OP_ABS, tr_em_conv(e, v, tr_fam_ty(e, TR_TY_I64)));
    tr_tv x = tr_em_conv(e, v, tr_fam_ty(e, TR_TY_U64));
    x = halves(e, x, 1, UINT64_C(0x5555555555555555));
    x = halves(e, x, 2, UINT64_C(0x3333333333333333));
    x = halves(e, x, 4, UINT64_C(0x0f0f0f0f0f0f0f0f));
    x = tr_em_op2(e, TR_OP_MUL, x, u64_const(e, UINT64_C(0x0101010101010101)));
    return tr_em_conv(e, tr_em_op2(e, TR_OP_SHR, x, u64_const(e, 56)), tr_fam_ty(e, TR_TY_U8));
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
        *out = complex_ty ? sign_of_complex(e, v) : sign_of(e, v);
        return true;
    case TR_UF_SQUARE: *out = tr_em_op2(e, TR_OP_MUL, v, v); return true;
    case TR_UF_RECIPROCAL:
        if (complex_ty)
            *out = reciprocal_of_complex(e, v);
        else
            *out = tr_em_op2(e, k == 'i' ? TR_OP_QUOT : TR_OP_DIV, tr_em_num(e, v.ty, 1.0), v);
        return true;
    case TR_UF_CONJ:
        *out = complex_ty ? tr_em_cplx(e, tr_em_re(e, v), tr_em_op1(e, TR_OP_NEG, tr_em_im(e, v))) : v;
        return true;
    case TR_UF_BITCOUNT:
        if (k != 'i')
            return refuse(e, user, v.ty);
        *out = bitcount(e, v);
        return true;
    case TR_UF_INVERT:
        *out = tr_em_op1(e, TR_OP_NOT, v);
        return k == 'b' || k == 'i' || refuse(e, user, v.ty);
    default: return tr_em_error(e, "internal: no such function of one operand");
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
    return operands(e, c, 1) && tr_lib_lift(e, 1, c->a, elt_unary, c, out);
}

/* real, imag: of an array views. aux 1: imag. */
bool tr_lib_np_part(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (!operands(e, c, 1))
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
    if (!operands(e, c, 1) || !tr_fam_flag(e, c, c->a[1], "deg", false, &deg))
        return false;
    *w = (call){.c = c, .n = deg};
    return tr_lib_lift(e, 1, c->a, elt_angle, w, out);
}

/* --- two floats --- */

/* log(exp(a) + exp(b)) without overflow: the larger one plus the logarithm of the rest. Equal operands, infinities among them, are
 * a + log(2). */
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
    t = float_type(e, t);
    if (how == TR_UF_FLOAT_POWER)
        t = tr_fam_ty(e, tr_ty_is_complex(t) ? TR_TY_C128 : TR_TY_F64);
    else if (tr_ty_is_complex(t))
        return refuse(e, user, t);
    tr_tv a = tr_em_conv(e, x[0], t), b = tr_em_conv(e, x[1], t);
    switch (how) {
    case TR_UF_FMOD: *out = tr_fam_math2(e, TR_MATH_FMOD, a, b); break;
    case TR_UF_HEAVISIDE: *out = heaviside(e, a, b); break;
    case TR_UF_FLOAT_POWER: *out = tr_em_op2(e, TR_OP_POW, a, b); break;
    default: *out = logaddexp(e, a, b, how == TR_UF_LOGADDEXP2);
    }
    return true;
}

bool tr_lib_uf_two(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return operands(e, c, 2) && tr_lib_lift(e, 2, c->a, elt_two, c, out);
}

/* ldexp(x, i) */
static bool elt_ldexp(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const tr_ty *t = float_type(e, tr_ty_strong(e->types, tr_lib_scalar(e, x[0].ty))),
                *f64 = tr_fam_ty(e, TR_TY_F64);
    if (tr_ty_is_complex(t) || tr_fam_class(e, x[1]) == 'f' || tr_fam_class(e, x[1]) == 'c')
        return refuse(e, user, t);
    tr_tv v[2] = {tr_em_conv(e, tr_em_conv(e, x[0], t), f64), tr_em_conv(e, x[1], tr_fam_ty(e, TR_TY_I64))};
    *out = tr_em_conv(e, tr_em_callrt(e, TR_RT_LDEXP, f64, NULL, 2, v), t);
    return true;
}

bool tr_lib_uf_ldexp(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return operands(e, c, 2) && tr_lib_lift(e, 2, c->a, elt_ldexp, c, out);
}

/* gcd, lcm of integers. aux 1: lcm. */
static bool elt_gcd(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const tr_ty *t = common(e, 2, x), *i64 = tr_fam_ty(e, TR_TY_I64);
    if (!tr_ty_is_int(t) || t->kind == TR_TY_U64)
        return refuse(e, user, t);
    tr_tv a = tr_em_conv(e, x[0], i64), b = tr_em_conv(e, x[1], i64);
    tr_tv g = tr_em_callrt(e, TR_RT_GCD, i64, NULL, 2, (tr_tv[]){a, b});
    /* lcm = |a / gcd * b|, which wraps as NumPy's does; gcd 0 means both are 0, and QUOT by 0 is 0 */
    if (bcall(user)->aux)
        g = tr_em_op1(e, TR_OP_ABS, tr_em_op2(e, TR_OP_MUL, tr_em_op2(e, TR_OP_QUOT, a, g), b));
    *out = tr_em_conv(e, g, t);
    return true;
}

bool tr_lib_uf_gcd(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return operands(e, c, 2) && tr_lib_lift(e, 2, c->a, elt_gcd, c, out);
}

/* --- results of two parts: scalars only --- */

bool tr_lib_uf_divmod(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv q[2];
    if (!operands(e, c, 2))
        return false;
    if (!tr_lib_lift(e, 2, c->a, elt_op, &(tr_bcall){.row = c->row, .aux = TR_BIN_FLOORDIV}, &q[0]))
        return false;
    if (!tr_lib_lift(e, 2, c->a, elt_op, &(tr_bcall){.row = c->row, .aux = TR_BIN_MOD}, &q[1]))
        return false;
    *out = tr_em_tuple(e, 2, q);
    return true;
}

/* --- round --- */

/* round(a, decimals): whole numbers by rint; otherwise NumPy scales, rounds and scales back. */
static bool elt_npround(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const call *w = user;
    int64_t d = (int64_t)w->n - 400;
    tr_tv v = tr_em_strong(e, *x);
    if (tr_ty_is_complex(v.ty))
        return tr_em_error(e, "round() of complex numbers");
    if (!tr_ty_is_float(v.ty)) {
        *out = v;
        if (d >= 0)
            return true;
        const tr_ty *i64 = tr_fam_ty(e, TR_TY_I64);
        *out = tr_em_conv(
            e, tr_em_callrt(e, TR_RT_ROUNDI, i64, NULL, 2, (tr_tv[]){tr_em_conv(e, v, i64), tr_em_i64(e, d)}),
            v.ty);
        return true;
    }
    if (d == 0) {
        *out = tr_fam_math1(e, TR_MATH_RINT, v);
        return true;
    }
    tr_tv p = tr_em_num(e, v.ty, pow(10.0, (double)(d < 0 ? -d : d)));
    tr_tv r = tr_fam_math1(e, TR_MATH_RINT, tr_em_op2(e, d < 0 ? TR_OP_DIV : TR_OP_MUL, v, p));
    *out = tr_em_op2(e, d < 0 ? TR_OP_MUL : TR_OP_DIV, r, p);
    return true;
}

bool tr_lib_np_round(tr_em *e, const tr_bcall *c, tr_tv *out) {
    int64_t d = 0;
    call *w = TR_NEW(&e->ctx->arena, call);
    if (tr_fam_given(c->a[1]) && !tr_tv_lit_int(c->a[1], &d))
        return tr_em_error(e, "%s(): decimals must be a constant", tr_fam_name(c));
    if (d < -300 || d > 300)
        return tr_em_error(e, "%s(): decimals must be between -300 and 300", tr_fam_name(c));
    *w = (call){.c = c, .n = (uint32_t)(d + 400)};
    return operands(e, c, 1) && tr_lib_lift(e, 1, c->a, elt_npround, w, out);
}
