/* Complex numbers as NumPy's elementwise functions have them: their order, functions that C99's <complex.h>
 * lacks, step by step as NumPy computes them, and of those that it has exp and sqrt: as formulas without
 * branches they are computed in vectors. */
#include <math.h>

#include "lib/fam.h"

static tr_tv mul(tr_em *e, tr_tv a, tr_tv b) {
    return tr_em_op2(e, TR_OP_MUL, a, b);
}
static tr_tv isnan_of(tr_em *e, tr_tv x) {
    return tr_fam_math1(e, TR_MATH_ISNAN, x);
}

/* --- order: by real parts, then by imaginary ones; what has a NaN comes neither before nor after --- */

tr_tv tr_fam_cplx_compare(tr_em *e, tr_cmpop op, tr_tv a, tr_tv b) {
    if (op == TR_CMP_EQ || op == TR_CMP_NE)
        return tr_em_cmp(e, op, a, b);
    tr_tv ar = tr_em_re(e, a), ai = tr_em_im(e, a), br = tr_em_re(e, b), bi = tr_em_im(e, b);
    tr_cmpop strict = op == TR_CMP_LE ? TR_CMP_LT : op == TR_CMP_GE ? TR_CMP_GT : op;
    tr_tv plain = tr_fam_not(e, tr_fam_or(e, isnan_of(e, ai), isnan_of(e, bi)));
    tr_tv first = tr_fam_and(e, tr_em_cmp(e, strict, ar, br), plain);
    return tr_fam_or(e, first, tr_fam_and(e, tr_em_cmp(e, TR_CMP_EQ, ar, br), tr_em_cmp(e, op, ai, bi)));
}

tr_tv tr_fam_cplx_isnan(tr_em *e, tr_tv x) {
    return tr_fam_or(e, isnan_of(e, tr_em_re(e, x)), isnan_of(e, tr_em_im(e, x)));
}

/* --- functions --- */

/* The direction of v: 0 for 0, along an axis for what has one infinite part, NaN where there is none. */
tr_tv tr_fam_cplx_sign(tr_em *e, tr_tv v) {
    tr_tv re = tr_em_re(e, v), im = tr_em_im(e, v), r = tr_lib_emit(e, TR_OP_ABS, re.ty, 1, &v.v);
    tr_tv zero = tr_em_num(e, re.ty, 0.0), one = tr_em_num(e, re.ty, 1.0), nan = tr_em_num(e, re.ty, NAN);
    tr_tv q = tr_em_cplx(e, tr_em_op2(e, TR_OP_DIV, re, r), tr_em_op2(e, TR_OP_DIV, im, r));
    tr_tv wide = tr_fam_math1(e, TR_MATH_ISINF, re), tall = tr_fam_math1(e, TR_MATH_ISINF, im);
    tr_tv along = tr_em_cplx(e, tr_fam_math2(e, TR_MATH_COPYSIGN, one, re), zero),
          across = tr_em_cplx(e, zero, tr_fam_math2(e, TR_MATH_COPYSIGN, one, im));
    q = tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, r, zero), tr_em_num(e, v.ty, 0.0), q);
    q = tr_em_select(e, wide, along, tr_em_select(e, tall, across, q));
    tr_tv none = tr_fam_or(e, tr_fam_and(e, wide, tall), isnan_of(e, r));
    return tr_em_select(e, none, tr_em_cplx(e, nan, nan), q);
}

/* 1 / v, scaled by the larger part. */
tr_tv tr_fam_cplx_reciprocal(tr_em *e, tr_tv v) {
    tr_tv re = tr_em_re(e, v), im = tr_em_im(e, v), one = tr_em_num(e, re.ty, 1.0);
    tr_tv wide = tr_em_cmp(e, TR_CMP_GE, tr_em_op1(e, TR_OP_ABS, re), tr_em_op1(e, TR_OP_ABS, im));
    tr_tv big = tr_em_select(e, wide, re, im), small = tr_em_select(e, wide, im, re);
    tr_tv r = tr_em_op2(e, TR_OP_DIV, small, big);
    tr_tv d = tr_em_op2(e, TR_OP_ADD, big, mul(e, small, r));
    tr_tv p = tr_em_op2(e, TR_OP_DIV, one, d), q = tr_em_op2(e, TR_OP_DIV, r, d);
    return tr_em_cplx(e, tr_em_select(e, wide, p, q), tr_em_op1(e, TR_OP_NEG, tr_em_select(e, wide, q, p)));
}

static tr_tv scaled(tr_em *e, tr_tv v, double k) {
    tr_tv s = tr_em_num(e, tr_em_re(e, v).ty, k);
    return tr_em_cplx(e, mul(e, tr_em_re(e, v), s), mul(e, tr_em_im(e, v), s));
}

static tr_tv times_if(tr_em *e, tr_tv cond, tr_tv x, double k) {
    return mul(e, x, tr_em_select(e, cond, tr_em_num(e, x.ty, k), tr_em_num(e, x.ty, 1.0)));
}

/* exp(re) (cos(im), sin(im)); where exp alone would overflow in three factors, which even the least number's
 * sine needs. Special values as in C99's annex G. */
static tr_tv exp_of(tr_em *e, tr_tv v) {
    tr_tv re = tr_em_re(e, v), im = tr_em_im(e, v), zero = tr_em_num(e, re.ty, 0.0), part[2];
    bool f32 = re.ty->kind == TR_TY_F32;
    /* e^half squared overflows, and with e^half again takes the least number past the largest */
    double half = f32 ? 52 : 400;
    tr_tv cut = tr_em_num(e, re.ty, 2 * half),
          far = tr_em_cmp(e, TR_CMP_GT, re, tr_em_num(e, re.ty, f32 ? 88 : 709));
    tr_tv len = tr_fam_math1(e, TR_MATH_EXP, tr_em_select(e, far, tr_em_op2(e, TR_OP_SUB, re, cut), re));
    for (int i = 0; i < 2; i++) {
        part[i] = times_if(e, far, tr_fam_math1(e, i ? TR_MATH_SIN : TR_MATH_COS, im), exp(half));
        part[i] = times_if(e, far, mul(e, part[i], len), exp(half));
    }
    /* An infinite length in no direction keeps its real part, a zero one is zero. */
    tr_tv lost = tr_fam_and(e, tr_fam_math1(e, TR_MATH_ISINF, re),
                            tr_fam_not(e, tr_fam_math1(e, TR_MATH_ISFINITE, im)));
    tr_tv x = tr_em_select(e, lost, len, part[0]);
    tr_tv y = tr_em_select(e, tr_fam_and(e, lost, tr_em_cmp(e, TR_CMP_LT, re, zero)), zero, part[1]);
    return tr_em_cplx(e, x, tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, im, zero), im, y));
}

/* With a = |re|, b = |im|: t = sqrt((a + hypot(a, b)) / 2) and b / 2t, in the order of re's sign. Scaled by a
 * power of four where a + hypot would overflow, or lose bits as a denormal number. Special values as in C99's
 * annex G. */
static tr_tv sqrt_of(tr_em *e, tr_tv v) {
    tr_tv re = tr_em_re(e, v), im = tr_em_im(e, v), zero = tr_em_num(e, re.ty, 0.0);
    bool f32 = re.ty->kind == TR_TY_F32;
    tr_tv a = tr_em_op1(e, TR_OP_ABS, re), b = tr_em_op1(e, TR_OP_ABS, im);
    tr_tv top = tr_em_select(e, tr_em_cmp(e, TR_CMP_GT, a, b), a, b);
    tr_tv big = tr_em_cmp(e, TR_CMP_GT, top, tr_em_num(e, re.ty, f32 ? 0x1p125 : 0x1p1021)),
          small = tr_em_cmp(e, TR_CMP_LT, top, tr_em_num(e, re.ty, f32 ? 0x1p-90 : 0x1p-900));
    a = times_if(e, small, times_if(e, big, a, 0x1p-4), f32 ? 0x1p40 : 0x1p120);
    b = times_if(e, small, times_if(e, big, b, 0x1p-4), f32 ? 0x1p40 : 0x1p120);
    tr_tv sum = tr_em_op2(e, TR_OP_ADD, a, tr_fam_math2(e, TR_MATH_HYPOT, a, b));
    tr_tv t = tr_fam_math1(e, TR_MATH_SQRT, mul(e, sum, tr_em_num(e, re.ty, 0.5)));
    tr_tv u = tr_em_op2(e, TR_OP_DIV, b, tr_em_op2(e, TR_OP_ADD, t, t));
    u = tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, sum, zero), zero, u);
    t = times_if(e, small, times_if(e, big, t, 0x1p2), f32 ? 0x1p-20 : 0x1p-60);
    u = times_if(e, small, times_if(e, big, u, 0x1p2), f32 ? 0x1p-20 : 0x1p-60);
    tr_tv right = tr_em_cmp(e, TR_CMP_GE, re, zero), tall = tr_fam_math1(e, TR_MATH_ISINF, im);
    tr_tv x = tr_em_select(e, tall, b, tr_em_select(e, right, t, u));
    tr_tv y = tr_em_select(e, tall, b, tr_em_select(e, right, u, t));
    return tr_em_cplx(e, x, tr_fam_math2(e, TR_MATH_COPYSIGN, y, im));
}

/* exp(v) - 1: exp(re) cos(im) - 1 = expm1(re) cos(im) - 2 sin(im / 2)**2 */
static tr_tv expm1_of(tr_em *e, tr_tv v) {
    tr_tv re = tr_em_re(e, v), im = tr_em_im(e, v), two = tr_em_num(e, re.ty, 2.0);
    tr_tv half = tr_fam_math1(e, TR_MATH_SIN, tr_em_op2(e, TR_OP_DIV, im, two));
    tr_tv x = mul(e, tr_fam_math1(e, TR_MATH_EXPM1, re), tr_fam_math1(e, TR_MATH_COS, im));
    tr_tv y = mul(e, tr_fam_math1(e, TR_MATH_EXP, re), tr_fam_math1(e, TR_MATH_SIN, im));
    return tr_em_cplx(e, tr_em_op2(e, TR_OP_SUB, x, mul(e, two, mul(e, half, half))), y);
}

static tr_tv log1p_of(tr_em *e, tr_tv v) {
    tr_tv re = tr_em_op2(e, TR_OP_ADD, tr_em_re(e, v), tr_em_num(e, tr_em_re(e, v).ty, 1.0)),
          im = tr_em_im(e, v);
    tr_tv len = tr_fam_math2(e, TR_MATH_HYPOT, re, im);
    return tr_em_cplx(e, tr_fam_math1(e, TR_MATH_LOG, len), tr_fam_math2(e, TR_MATH_ATAN2, im, re));
}

bool tr_fam_cplx_math(tr_em *e, tr_mathfn fn, tr_tv v, tr_tv *out) {
    switch (fn) {
    case TR_MATH_EXP: *out = exp_of(e, v); return true;
    case TR_MATH_EXP2: *out = exp_of(e, scaled(e, v, M_LN2)); return true;
    case TR_MATH_SQRT: *out = sqrt_of(e, v); return true;
    case TR_MATH_LOG2: *out = scaled(e, tr_fam_math1(e, TR_MATH_LOG, v), M_LOG2E); return true;
    case TR_MATH_EXPM1: *out = expm1_of(e, v); return true;
    case TR_MATH_LOG1P: *out = log1p_of(e, v); return true;
    case TR_MATH_RINT:
        *out = tr_em_cplx(e, tr_fam_math1(e, fn, tr_em_re(e, v)), tr_fam_math1(e, fn, tr_em_im(e, v)));
        return true;
    default:
        if (tr_math_info[fn].cplx)
            *out = tr_fam_math1(e, fn, v);
        return tr_math_info[fn].cplx != NULL;
    }
}
