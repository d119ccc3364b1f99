/* The functions of the module cmath. Real numbers become complex first (float32: complex64, others:
 * complex128). Nothing raises: where Python raises "math domain error" or OverflowError the
 * value is C99's. */
#include <math.h>

#include "lib/fam.h"
#include "lib/families.h"

static bool complex_arg(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *out) {
    if (!tr_fam_number(e, c, x, "bifc"))
        return false;
    const tr_ty *s = tr_ty_strong(e->types, tr_lib_scalar(e, x.ty));
    if (e->opts->promote_numba) /* what it counts as beside a float */
        s = tr_ty_arith(e->types, 'c', s, s, true);
    const tr_ty *t = tr_ty_is_complex(s)
                         ? s
                         : tr_fam_ty(e, tr_ty_is_float(s) && s->kind != TR_TY_F64 ? TR_TY_C64 : TR_TY_C128);
    *out = tr_em_conv(e, x, t);
    return true;
}

static tr_tv part_of(tr_em *e, char part, tr_tv z) {
    return part == 'r' ? tr_em_re(e, z) : tr_em_im(e, z);
}

/* Signs that C99 leaves open and CPython does not, zeros' and infinities'. X(function, part of the argument,
 * its test, part of the result, its sign there) */
#define SIGNS(X)                   \
    X(ACOS, 'i', ISNAN, 'i', 1.0)  \
    X(ASIN, 'i', ISNAN, 'i', -1.0) \
    X(ATAN, 'i', ISNAN, 'i', -1.0) \
    X(SIN, 'r', ISNAN, 'i', -1.0)  \
    X(COS, 'i', ISNAN, 'i', 1.0)   \
    X(TAN, 'r', ISINF, 'r', 1.0)   \
    X(SINH, 'i', ISNAN, 'r', 1.0)  \
    X(COSH, 'r', ISNAN, 'i', 1.0)  \
    X(TANH, 'i', ISINF, 'i', 1.0)

static tr_tv signs_of(tr_em *e, tr_mathfn fn, tr_tv z, tr_tv r) {
    static const struct {
        uint8_t fn, test;
        char where, part;
        double sign;
    } rows[] = {
#define X(fn, where, test, part, sign) {TR_MATH_##fn, TR_MATH_##test, where, part, sign},
        SIGNS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].fn != fn)
            continue;
        tr_tv was = part_of(e, rows[i].part, r),
              fixed = tr_fam_math2(e, TR_MATH_COPYSIGN, was, tr_em_num(e, was.ty, rows[i].sign));
        fixed = tr_em_select(e, tr_fam_math1(e, (tr_mathfn)rows[i].test, part_of(e, rows[i].where, z)), fixed,
                             was);
        return rows[i].part == 'r' ? tr_em_cplx(e, fixed, tr_em_im(e, r))
                                   : tr_em_cplx(e, tr_em_re(e, r), fixed);
    }
    return r;
}

/* One function of ir/math.def: aux. */
bool tr_lib_cmath_fn(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv z;
    if (!complex_arg(e, c, c->a[0], &z))
        return false;
    if (!tr_fam_cplx_math(e, (tr_mathfn)c->aux, z, out))
        return false;
    *out = signs_of(e, (tr_mathfn)c->aux, z, *out);
    return true;
}

/* log(z[, base]): the quotient of two logarithms; log(1) divides by zero as in Python. */
bool tr_lib_cmath_log(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv z, base;
    if (!complex_arg(e, c, c->a[0], &z))
        return false;
    if (!tr_fam_cplx_math(e, TR_MATH_LOG, z, out))
        return false;
    if (!tr_fam_given(c->a[1]))
        return true;
    if (!complex_arg(e, c, c->a[1], &base) || !tr_fam_cplx_math(e, TR_MATH_LOG, base, &base))
        return false;
    return tr_lib_scalar_binary(e, TR_BIN_DIV, *out, base, tr_lib_rules(e), out);
}

static tr_tv magnitude(tr_em *e, tr_tv z) {
    return tr_lib_emit(e, TR_OP_ABS, tr_lib_real_of(e, z.ty), 1, &z.v);
}
static tr_tv angle(tr_em *e, tr_tv z) {
    return tr_fam_math2(e, TR_MATH_ATAN2, tr_em_im(e, z), tr_em_re(e, z));
}

/* phase, polar. aux 1: polar. */
bool tr_lib_cmath_polar(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv z;
    if (!complex_arg(e, c, c->a[0], &z))
        return false;
    tr_tv x[2] = {magnitude(e, z), angle(e, z)};
    *out = c->aux ? tr_em_tuple(e, 2, x) : x[1];
    return true;
}

/* rect(r, phi). Infinite radii, the angle 0, and a zero radius in no direction give exact parts, as
 * CPython's. */
bool tr_lib_cmath_rect(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x[2];
    const tr_ty *t = NULL;
    for (int i = 0; i < 2; i++) {
        if (!tr_fam_number(e, c, c->a[i], "bif"))
            return false;
        const tr_ty *s = tr_lib_scalar(e, c->a[i].ty);
        t = t ? tr_lib_common(e, t, s) : s;
    }
    t = tr_fam_wide(e, t);
    if (t->kind != TR_TY_F32)
        t = tr_fam_ty(e, TR_TY_F64);
    for (int i = 0; i < 2; i++)
        x[i] = tr_em_conv(e, c->a[i], t);
    tr_tv zero = tr_em_num(e, t, 0.0);
    tr_tv re = tr_em_op2(e, TR_OP_MUL, x[0], tr_fam_math1(e, TR_MATH_COS, x[1]));
    tr_tv im = tr_em_op2(e, TR_OP_MUL, x[0], tr_fam_math1(e, TR_MATH_SIN, x[1]));
    tr_tv flat = tr_em_cmp(e, TR_CMP_EQ, x[1], zero);
    tr_tv none = tr_fam_and(e, tr_em_cmp(e, TR_CMP_EQ, x[0], zero),
                            tr_fam_not(e, tr_fam_math1(e, TR_MATH_ISFINITE, x[1])));
    /* phi 0: r and r * phi, whose sign is right even where r is infinite */
    tr_tv tiny = tr_fam_math2(e, TR_MATH_COPYSIGN, zero, x[1]);
    tr_tv neg = tr_fam_math1(e, TR_MATH_SIGNBIT, x[0]);
    tr_tv im0 = tr_em_select(e, neg, tr_em_op1(e, TR_OP_NEG, tiny), tiny);
    im0 = tr_em_select(e, tr_fam_math1(e, TR_MATH_ISNAN, x[0]), zero, im0);
    tr_tv lost = tr_fam_and(e, tr_fam_math1(e, TR_MATH_ISINF, x[0]), tr_fam_math1(e, TR_MATH_ISNAN, x[1]));
    re = tr_em_select(e, lost, tr_em_num(e, t, HUGE_VAL), re); /* an infinite radius in no direction */
    re = tr_em_select(e, flat, x[0], tr_em_select(e, none, zero, re));
    im = tr_em_select(e, flat, im0, tr_em_select(e, none, zero, im));
    *out = tr_em_cplx(e, re, im);
    return true;
}

/* isnan, isinf: either part; isfinite: both. aux: the test. */
bool tr_lib_cmath_test(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv z;
    if (!complex_arg(e, c, c->a[0], &z))
        return false;
    tr_tv re = tr_fam_math1(e, (tr_mathfn)c->aux, tr_em_re(e, z)),
          im = tr_fam_math1(e, (tr_mathfn)c->aux, tr_em_im(e, z));
    *out = c->aux == TR_MATH_ISFINITE ? tr_fam_and(e, re, im) : tr_fam_or(e, re, im);
    return true;
}

bool tr_lib_cmath_isclose(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv z[2], tol[2] = {c->a[2], c->a[3]}, zero = tr_em_f64(e, 0.0);
    const tr_ty *c128 = tr_fam_ty(e, TR_TY_C128), *f64 = zero.ty;
    if (!tol[0].ty)
        tol[0] = tr_em_f64(e, 1e-9);
    if (!tol[1].ty)
        tol[1] = zero;
    for (int i = 0; i < 2; i++) {
        if (!tr_fam_number(e, c, c->a[i], "bifc") || !tr_fam_number(e, c, tol[i], "bif"))
            return false;
        z[i] = tr_em_conv(e, c->a[i], c128);
        tol[i] = tr_em_conv(e, tol[i], f64);
    }
    tr_tv ok = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, tol[0], zero), tr_em_cmp(e, TR_CMP_GE, tol[1], zero));
    tr_em_check(e, ok, TR_EXC_VALUE, "tolerances must be non-negative", 0, NULL);
    tr_tv same = tr_em_cmp(e, TR_CMP_EQ, z[0], z[1]), finite = tr_em_bool(e, true);
    tr_tv diff = magnitude(e, tr_em_op2(e, TR_OP_SUB, z[0], z[1])),
          near = tr_em_cmp(e, TR_CMP_LE, diff, tol[1]);
    for (int i = 0; i < 2; i++) {
        near = tr_fam_or(e, near,
                         tr_em_cmp(e, TR_CMP_LE, diff, tr_em_op2(e, TR_OP_MUL, tol[0], magnitude(e, z[i]))));
        tr_tv inf = tr_fam_or(e, tr_fam_math1(e, TR_MATH_ISINF, tr_em_re(e, z[i])),
                              tr_fam_math1(e, TR_MATH_ISINF, tr_em_im(e, z[i])));
        finite = tr_fam_and(e, finite, tr_fam_not(e, inf));
    }
    *out = tr_fam_or(e, same, tr_fam_and(e, finite, near));
    return true;
}
