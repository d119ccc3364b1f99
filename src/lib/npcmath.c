/* Functions of complex numbers, as formulas of the real ones.
 *
 * There is no branch in them, only selects, so that loops compute them in vectors, and a number alone by the
 * same operations: the bits are the same. Each part is within a few units of its last place, over the whole
 * range: where squares would over- or underflow, numbers are scaled by powers of two, and differences of what
 * is nearly equal are written another way. Special values are those of C99's annex G, which NumPy and cmath
 * share. What C99 has no function for (exp2, log2, expm1, log1p) is done step by step as NumPy does it.
 *
 * A formula costs 20 to 100 instructions of IR and two to six calls. Powers by integers that are not known
 * when compiling stay TR_OP_POW, a function of the runtime: squaring ends early there. */
#include <math.h>
#include <stdlib.h>

#include "lib/fam.h"

static tr_tv num(tr_em *e, tr_tv like, double v) {
    return tr_em_num(e, like.ty, v);
}
static tr_tv add(tr_em *e, tr_tv a, tr_tv b) {
    return tr_em_op2(e, TR_OP_ADD, a, b);
}
static tr_tv sub(tr_em *e, tr_tv a, tr_tv b) {
    return tr_em_op2(e, TR_OP_SUB, a, b);
}
static tr_tv mul(tr_em *e, tr_tv a, tr_tv b) {
    return tr_em_op2(e, TR_OP_MUL, a, b);
}
static tr_tv quo(tr_em *e, tr_tv a, tr_tv b) {
    return tr_em_op2(e, TR_OP_DIV, a, b);
}
static tr_tv times(tr_em *e, tr_tv a, double k) {
    return mul(e, a, num(e, a, k));
}
static tr_tv plus(tr_em *e, tr_tv a, double k) {
    return add(e, a, num(e, a, k));
}
static tr_tv neg(tr_em *e, tr_tv a) {
    return tr_em_op1(e, TR_OP_NEG, a);
}
static tr_tv size(tr_em *e, tr_tv a) {
    return tr_em_op1(e, TR_OP_ABS, a);
}
static tr_tv root(tr_em *e, tr_tv a) {
    return tr_fam_math1(e, TR_MATH_SQRT, a);
}
static tr_tv hypot_of(tr_em *e, tr_tv a, tr_tv b) {
    return tr_fam_math2(e, TR_MATH_HYPOT, a, b);
}
static tr_tv angle(tr_em *e, tr_tv im, tr_tv re) {
    return tr_fam_math2(e, TR_MATH_ATAN2, im, re);
}
static tr_tv signed_as(tr_em *e, tr_tv a, tr_tv sign) {
    return tr_fam_math2(e, TR_MATH_COPYSIGN, a, sign);
}
static tr_tv is_inf(tr_em *e, tr_tv a) {
    return tr_fam_math1(e, TR_MATH_ISINF, a);
}
static tr_tv is_nan(tr_em *e, tr_tv a) {
    return tr_fam_math1(e, TR_MATH_ISNAN, a);
}
static tr_tv not_finite(tr_em *e, tr_tv a) {
    return tr_fam_not(e, tr_fam_math1(e, TR_MATH_ISFINITE, a));
}
static tr_tv is(tr_em *e, tr_tv a, double k) {
    return tr_em_cmp(e, TR_CMP_EQ, a, num(e, a, k));
}
static tr_tv above(tr_em *e, tr_tv a, double k) {
    return tr_em_cmp(e, TR_CMP_GT, a, num(e, a, k));
}
static tr_tv below(tr_em *e, tr_tv a, double k) {
    return tr_em_cmp(e, TR_CMP_LT, a, num(e, a, k));
}
static tr_tv either(tr_em *e, tr_tv cond, double a, tr_tv b) {
    return tr_em_select(e, cond, num(e, b, a), b);
}
static tr_tv one_of(tr_em *e, tr_tv cond, tr_tv like, double a, double b) {
    return tr_em_select(e, cond, num(e, like, a), num(e, like, b));
}
static tr_tv times_if(tr_em *e, tr_tv cond, tr_tv x, double k) {
    return mul(e, x, one_of(e, cond, x, k, 1.0));
}
static bool is_f32(tr_tv part) {
    return part.ty->kind == TR_TY_F32;
}
static tr_tv scaled(tr_em *e, tr_tv v, double k) {
    return tr_em_cplx(e, times(e, tr_em_re(e, v), k), times(e, tr_em_im(e, v), k));
}

/* --- exp, sqrt --- */

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

/* --- logarithms --- */

/* x * x, and what it lacks of the square */
static tr_tv square(tr_em *e, tr_tv x, tr_tv *rest) {
    tr_tv p = mul(e, x, x);
    *rest = tr_em_math(e, TR_MATH_FMA, 3, (tr_tv[]){x, x, neg(e, p)});
    return p;
}

/* a + b, and what it lacks of the sum */
static tr_tv sum_of(tr_em *e, tr_tv a, tr_tv b, tr_tv *rest) {
    tr_tv s = add(e, a, b), back = sub(e, s, a);
    *rest = add(e, sub(e, a, sub(e, s, back)), sub(e, b, back));
    return s;
}

/* What log u lacks of log(1 + d), where u = 1 + d was rounded. */
static tr_tv lost(tr_em *e, tr_tv d, tr_tv u) {
    tr_tv one = num(e, d, 1.0);
    return quo(e, sub(e, d, sub(e, u, one)), u);
}

/* log |v| = log(re^2 + im^2) / 2; scaled where squares over- or underflow, and next to 1 by log(1 + d), where
 * d = re^2 + im^2 - 1 is added up without rounding but for the last sums. */
static tr_tv log_size(tr_em *e, tr_tv re, tr_tv im) {
    bool f32 = is_f32(re);
    tr_tv x = size(e, re), y = size(e, im), wide = tr_em_cmp(e, TR_CMP_GT, x, y);
    tr_tv a = tr_em_select(e, wide, x, y), b = tr_em_select(e, wide, y, x);
    tr_tv huge = above(e, a, f32 ? 0x1p62 : 0x1p510), tiny = below(e, a, f32 ? 0x1p-50 : 0x1p-480);
    int down = f32 ? -70 : -520, up = f32 ? 100 : 600;
    tr_tv scale = either(e, huge, ldexp(1.0, down), one_of(e, tiny, a, ldexp(1.0, up), 1.0));
    tr_tv by = either(e, huge, -down * M_LN2, one_of(e, tiny, a, -up * M_LN2, 0.0));
    a = mul(e, a, scale);
    b = mul(e, b, scale);
    tr_tv a_rest, b_rest, p = square(e, a, &a_rest), q = square(e, b, &b_rest), sum = add(e, p, q);
    tr_tv near = tr_fam_and(e, above(e, sum, 0.5), below(e, sum, 2.0));
    tr_tv m = plus(e, p, -1.0), m_rest = sub(e, p, plus(e, m, 1.0));
    tr_tv t_rest, rests_rest, d_rest, t = sum_of(e, m, q, &t_rest),
                                      rests = sum_of(e, a_rest, b_rest, &rests_rest);
    tr_tv d = sum_of(e, t, rests, &d_rest);
    d = add(e, d, add(e, add(e, d_rest, rests_rest), add(e, t_rest, m_rest)));
    tr_tv u = plus(e, d, 1.0), l = tr_fam_math1(e, TR_MATH_LOG, tr_em_select(e, near, u, sum));
    l = add(e, l, tr_em_select(e, near, lost(e, d, u), num(e, l, 0.0)));
    l = add(e, times(e, l, 0.5), by);
    return either(e, tr_fam_or(e, is_inf(e, re), is_inf(e, im)), HUGE_VAL, l);
}

static tr_tv log_of(tr_em *e, tr_tv v) {
    tr_tv re = tr_em_re(e, v), im = tr_em_im(e, v);
    return tr_em_cplx(e, log_size(e, re, im), angle(e, im, re));
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

/* --- sin, cos, tan, sinh, cosh, tanh --- */

/* The hyperbolic functions of x, by m = expm1|x|, and the sine and cosine of y. Where m would overflow before
 * a product with the least sine does, it is taken in up to three factors. */
typedef struct wave {
    tr_tv x, y, sinh, cosh, sin, cos;
    tr_tv factor[2];
} wave;

static wave wave_of(tr_em *e, tr_tv x, tr_tv y) {
    bool f32 = is_f32(x);
    double half = f32 ? 52 : 400;
    tr_tv a = size(e, x), far = above(e, a, f32 ? 88 : 709), farther = above(e, a, f32 ? 130 : 1100);
    tr_tv less = either(e, farther, 2 * half, one_of(e, far, a, half, 0.0));
    tr_tv m = tr_fam_math1(e, TR_MATH_EXPM1, sub(e, a, less)), up = plus(e, m, 1.0),
          down = quo(e, num(e, a, 1.0), up);
    tr_tv second = either(e, above(e, a, f32 ? 20 : 40), 1.0, mul(e, m, down)); /* 1 - e^-|x| */
    wave w = {.x = x, .y = y};
    w.sinh = signed_as(e, times(e, add(e, m, second), 0.5), x);
    w.cosh = times(e, add(e, up, down), 0.5);
    w.sin = tr_fam_math1(e, TR_MATH_SIN, y);
    w.cos = tr_fam_math1(e, TR_MATH_COS, y);
    w.factor[0] = one_of(e, far, a, exp(half), 1.0);
    w.factor[1] = one_of(e, farther, a, exp(half), 1.0);
    return w;
}

static tr_tv product(tr_em *e, const wave *w, tr_tv hyperbolic, tr_tv circular) {
    return mul(e, mul(e, mul(e, circular, w->factor[0]), hyperbolic), w->factor[1]);
}

/* sinh(x + iy) = sinh x cos y + i cosh x sin y: where y has no direction the real part is
 * still zero or infinite. */
static void sinh_parts(tr_em *e, tr_tv x, tr_tv y, tr_tv out[2]) {
    wave w = wave_of(e, x, y);
    tr_tv nowhere = not_finite(e, y), re = product(e, &w, w.sinh, w.cos);
    re = either(e, tr_fam_and(e, nowhere, is_inf(e, x)), HUGE_VAL, re);
    out[0] = tr_em_select(e, tr_fam_and(e, nowhere, is(e, x, 0.0)), x, re);
    out[1] = tr_em_select(e, is(e, y, 0.0), y, product(e, &w, w.cosh, w.sin));
}

/* cosh(x + iy) = cosh x cos y + i sinh x sin y */
static void cosh_parts(tr_em *e, tr_tv x, tr_tv y, tr_tv out[2]) {
    wave w = wave_of(e, x, y);
    tr_tv nowhere = not_finite(e, y), flat = mul(e, one_of(e, below(e, x, 0.0), x, -1.0, 1.0), y);
    flat = tr_em_select(e, is(e, x, 0.0), mul(e, x, y), flat);
    out[0] = either(e, tr_fam_and(e, nowhere, is_inf(e, x)), HUGE_VAL, product(e, &w, w.cosh, w.cos));
    out[1] = either(e, tr_fam_and(e, nowhere, is(e, x, 0.0)), 0.0, product(e, &w, w.sinh, w.sin));
    out[1] = tr_em_select(e, is(e, y, 0.0), flat, out[1]);
}

/* tanh(x + iy) = (b c s + i t) / (1 + b s^2), t = tan y, b = 1 + t^2, s = sinh x, c = cosh x (Kahan); where
 * |x| is so large that the real part is 1, the imaginary one is 4 t / b e^(-2|x|). */
static void tanh_parts(tr_em *e, tr_tv x, tr_tv y, tr_tv out[2]) {
    tr_tv a = size(e, x), far = above(e, a, is_f32(x) ? 11 : 22), zero = num(e, x, 0.0);
    tr_tv m = tr_fam_math1(e, TR_MATH_EXPM1, a), up = plus(e, m, 1.0), down = quo(e, num(e, a, 1.0), up);
    tr_tv s = times(e, add(e, m, mul(e, m, down)), 0.5), c = times(e, add(e, up, down), 0.5);
    tr_tv t = tr_fam_math1(e, TR_MATH_TAN, y), b = plus(e, mul(e, t, t), 1.0), bs = mul(e, b, s);
    tr_tv d = plus(e, mul(e, bs, s), 1.0);
    tr_tv re =
        tr_em_select(e, far, plus(e, times(e, t, 0.0), 1.0), quo(e, mul(e, bs, c), d)); /* nan where t is */
    re = either(e, is_inf(e, x), 1.0, re);
    tr_tv im = quo(e, t, tr_em_select(e, far, b, d));
    im = mul(e, mul(e, im, tr_em_select(e, far, times(e, down, 4.0), num(e, x, 1.0))),
             tr_em_select(e, far, down, num(e, x, 1.0)));
    tr_tv nowhere = not_finite(e, y);
    re = signed_as(e, re, x);
    out[0] = tr_em_select(e, tr_fam_and(e, nowhere, is(e, x, 0.0)), x, re);
    im = tr_em_select(e, tr_fam_and(e, nowhere, is_inf(e, x)), signed_as(e, zero, y), im);
    out[1] = tr_em_select(e, is(e, y, 0.0), y, im);
}

typedef void (*partsfn)(tr_em *e, tr_tv x, tr_tv y, tr_tv out[2]);

/* f(v), and i f(-iv) or so: a circular function by the hyperbolic one of what is turned by
 * a quarter, an inverse one likewise. */
static tr_tv straight(tr_em *e, partsfn f, tr_tv v) {
    tr_tv out[2];
    f(e, tr_em_re(e, v), tr_em_im(e, v), out);
    return tr_em_cplx(e, out[0], out[1]);
}
static tr_tv turned(tr_em *e, partsfn f, tr_tv v) {
    tr_tv out[2];
    f(e, tr_em_im(e, v), tr_em_re(e, v), out);
    return tr_em_cplx(e, out[1], out[0]);
}
static tr_tv cos_of(tr_em *e, tr_tv v) {
    tr_tv out[2];
    cosh_parts(e, neg(e, tr_em_im(e, v)), tr_em_re(e, v), out);
    return tr_em_cplx(e, out[0], out[1]);
}

/* --- inverse functions --- */

/* Of x, y >= 0, as Hull, Fairgrieve and Tang have it: with r = |z + 1|, s = |z - 1| and A = (r + s) / 2 are
 * asin z = asin(x / A) + i log(A + sqrt(A^2 - 1)), and A - 1 and A - x are sums of what has one sign. `up` is
 * that logarithm, `across` is sqrt(A^2 - x^2): x and across are the sides of the angle. Far out across is y,
 * and the logarithm that of 2 |z|, which may be no number: all is 16 times less there. */
static void arc_parts(tr_em *e, tr_tv x, tr_tv y, tr_tv *up, tr_tv *across) {
    bool f32 = is_f32(x);
    double limit = f32 ? 0x1p14 : 0x1p30;
    tr_tv one = num(e, x, 1.0), far = tr_fam_or(e, above(e, x, limit), above(e, y, limit));
    tr_tv xs = times_if(e, far, x, 0x1p-4), ys = times_if(e, far, y, 0x1p-4);
    tr_tv more = plus(e, xs, 1.0), less = size(e, sub(e, xs, one)), r = hypot_of(e, more, ys),
          s = hypot_of(e, less, ys);
    tr_tv A = times(e, add(e, r, s), 0.5), s_sum = add(e, s, less);
    tr_tv q = quo(e, one, add(e, r, more)), q2 = quo(e, one, s_sum), yq = mul(e, ys, mul(e, ys, q)),
          outer = add(e, yq, s_sum);
    tr_tv inside = below(e, x, 1.0), right = above(e, x, 1.0);
    tr_tv b = tr_em_select(e, inside, add(e, yq, mul(e, ys, mul(e, ys, q2))), outer); /* 2 (A - 1) */
    tr_tv w = add(e, times(e, b, 0.5), root(e, mul(e, times(e, plus(e, A, 1.0), 0.5), b)));
    /* so near to the axis that A - 1 may be too small for a number */
    tr_tv along = tr_fam_and(e, inside, tr_em_cmp(e, TR_CMP_LT, ys, times(e, less, f32 ? 0x1p-24 : 0x1p-53)));
    w = tr_em_select(e, along, quo(e, ys, root(e, mul(e, less, more))), w);
    tr_tv u = plus(e, w, 1.0), l = tr_fam_math1(e, TR_MATH_LOG, tr_em_select(e, far, A, u));
    *up = add(e, l, tr_em_select(e, far, num(e, x, 5 * M_LN2), lost(e, w, u)));
    tr_tv c = root(e, mul(e, times(e, add(e, A, xs), 0.5), tr_em_select(e, right, add(e, q, q2), outer)));
    *across = tr_em_select(e, far, y, mul(e, c, tr_em_select(e, right, ys, one)));
}

static void asinh_parts(tr_em *e, tr_tv x, tr_tv y, tr_tv out[2]) {
    tr_tv up, across, side = size(e, y);
    arc_parts(e, side, size(e, x), &up, &across);
    out[0] = signed_as(e, up, x);
    out[1] = tr_em_select(e, is(e, y, 0.0), y, signed_as(e, angle(e, side, across), y));
}

/* acos v as angle and, without a sign, the imaginary part */
static void acos_parts(tr_em *e, tr_tv v, tr_tv *re, tr_tv *up) {
    tr_tv across, x = tr_em_re(e, v);
    arc_parts(e, size(e, x), size(e, tr_em_im(e, v)), up, &across);
    *re = either(e, is(e, x, 0.0), M_PI_2, angle(e, across, x));
}

static tr_tv acos_of(tr_em *e, tr_tv v) {
    tr_tv re, up;
    acos_parts(e, v, &re, &up);
    return tr_em_cplx(e, re, signed_as(e, up, neg(e, tr_em_im(e, v))));
}

static tr_tv acosh_of(tr_em *e, tr_tv v) {
    tr_tv re, up;
    acos_parts(e, v, &re, &up);
    tr_tv im = tr_em_im(e, v);
    return tr_em_cplx(e, up, tr_em_select(e, is_nan(e, im), re, signed_as(e, re, im)));
}

/* atanh(x + iy) = log(1 + 4x / ((1 - x)^2 + y^2)) / 4 + i atan2(2y, (1 - x)(1 + x) - y^2) / 2, of x, y >= 0.
 * Next to the pole, where y^2 may be too small for a number, the former is -log(y / 2) / 2. Far out it is x /
 * (x^2 + y^2), and the angle that of a quarter. */
static void atanh_parts(tr_em *e, tr_tv x, tr_tv y, tr_tv out[2]) {
    bool f32 = is_f32(x);
    double limit = f32 ? 0x1p60 : 0x1p500, by = f32 ? 0x1p-80 : 0x1p-600;
    tr_tv a = size(e, x), b = size(e, y), one = num(e, x, 1.0);
    tr_tv far = tr_fam_or(e, above(e, a, limit), above(e, b, limit));
    tr_tv less = sub(e, one, a), as = times_if(e, far, a, by), bs = times_if(e, far, b, by),
          b2 = mul(e, bs, bs);
    tr_tv side = tr_em_select(e, far, as, less), t = quo(e, as, add(e, mul(e, side, side), b2));
    tr_tv pole = tr_fam_and(e, is(e, a, 1.0), below(e, b, f32 ? 0x1p-15 : 0x1p-30));
    tr_tv t4 = times(e, t, 4.0), u = plus(e, t4, 1.0);
    tr_tv l = tr_fam_math1(e, TR_MATH_LOG, tr_em_select(e, pole, b, u));
    tr_tv re = times(e, add(e, l, lost(e, t4, u)), 0.25);
    re = tr_em_select(e, far, times(e, t, by), re);
    re = tr_em_select(e, pole, sub(e, num(e, x, M_LN2 / 2), times(e, l, 0.5)), re);
    tr_tv none = tr_fam_or(e, is(e, a, 0.0), tr_fam_or(e, is_inf(e, a), is_inf(e, b)));
    out[0] = signed_as(e, either(e, none, 0.0, re), x);
    tr_tv im = times(e, angle(e, times(e, b, 2.0), sub(e, mul(e, less, plus(e, a, 1.0)), b2)), 0.5);
    im = either(e, far, M_PI_2, im);
    im = tr_em_select(e, tr_fam_and(e, is_nan(e, x), tr_fam_not(e, is_inf(e, y))), x, im);
    out[1] = tr_em_select(e, is_nan(e, y), y, signed_as(e, im, y));
}

/* --- powers --- */

enum { WHOLE = 100 /* powers up to this one are products, as in NumPy and CPython */ };

static tr_tv inverse(tr_em *e, tr_tv v, bool numpy) {
    return tr_em_op2(e, numpy ? TR_OP_DIV : TR_OP_PYDIV, tr_em_num(e, v.ty, 1.0), v);
}

/* v by itself |n| times, by squares; from 1 on as NumPy has it, but for 1, 2 and 3, so that
 * zeros have its signs. */
static tr_tv by_squares(tr_em *e, tr_tv v, int n) {
    tr_tv r = tr_em_num(e, v.ty, 1.0);
    bool few = n > 0 && n <= 3, begun = false;
    for (int bit = 1; bit <= abs(n); bit <<= 1) {
        if (abs(n) & bit)
            r = few && !begun ? v : mul(e, r, v);
        begun = begun || abs(n) & bit;
        if (2 * bit <= abs(n))
            v = mul(e, v, v);
    }
    return r;
}

/* The same of |n| up to WHOLE, which the running program alone knows. */
static tr_tv by_any_squares(tr_em *e, tr_tv v, tr_tv n) {
    tr_tv r = tr_em_num(e, v.ty, 1.0), left = size(e, n);
    tr_tv plain = tr_fam_and(e, above(e, n, 0.0), below(e, n, 4.0)); /* so far none was taken */
    for (int bit = 1; bit <= WHOLE; bit <<= 1) {
        tr_tv half = tr_fam_math1(e, TR_MATH_FLOOR, times(e, left, 0.5));
        tr_tv odd = tr_em_cmp(e, TR_CMP_NE, left, times(e, half, 2.0)), more = mul(e, r, v);
        if (bit <= 2)
            more = tr_em_select(e, plain, v, more);
        plain = tr_fam_and(e, plain, tr_fam_not(e, odd));
        r = tr_em_select(e, odd, more, r);
        left = half;
        v = mul(e, v, v);
    }
    return r;
}

/* The power by an infinity, NumPy's: without an end in no direction, or a zero, which has
 * the sign of its angle. */
static tr_tv at_infinity(tr_em *e, tr_tv length, tr_tv far, tr_tv phase) {
    tr_tv ahead = tr_fam_and(e, above(e, phase, 0.0), below(e, length, HUGE_VAL));
    tr_tv falls = is(e, far, 0.0), side = one_of(e, ahead, far, 0.0, -0.0);
    tr_tv re = one_of(e, is(e, far, HUGE_VAL), far, HUGE_VAL, NAN);
    return tr_em_cplx(e, either(e, falls, 0.0, re), tr_em_select(e, falls, side, num(e, far, NAN)));
}

/* |v|^re e^(-im at), and its angle re at + im log |v|, where `at` is that of v: CPython's way. im may be
 * NULL: it is zero. NumPy adds zero times the logarithm all the same, which is seen in a zero's sign. */
static tr_tv power_of(tr_em *e, tr_tv v, tr_tv re, const tr_tv *im, bool numpy) {
    tr_tv length = hypot_of(e, tr_em_re(e, v), tr_em_im(e, v)), at = angle(e, tr_em_im(e, v), tr_em_re(e, v));
    tr_tv far = tr_em_op2(e, TR_OP_POW, length, re), phase = mul(e, at, re);
    tr_tv turn = numpy ? one_of(e, below(e, length, 1.0), re, -0.0, 0.0) : num(e, re, -0.0);
    if (im) {
        tr_tv real = is(e, *im, 0.0), more = tr_fam_math1(e, TR_MATH_EXP, neg(e, mul(e, at, *im)));
        far = mul(e, far, either(e, real, 1.0, more));
        turn = tr_em_select(e, real, turn, mul(e, *im, tr_fam_math1(e, TR_MATH_LOG, length)));
    }
    phase = add(e, phase, turn);
    tr_tv y = mul(e, far, tr_fam_math1(e, TR_MATH_SIN, phase));
    tr_tv z = tr_em_cplx(e, mul(e, far, tr_fam_math1(e, TR_MATH_COS, phase)),
                         tr_em_select(e, is(e, phase, 0.0), phase, y));
    tr_tv endless = is(e, size(e, re), HUGE_VAL);
    if (im)
        endless = tr_fam_and(e, endless, is(e, *im, 0.0));
    return tr_em_select(e, endless, at_infinity(e, length, far, phase), z);
}

/* Zero to a power: CPython raises where there is none. */
static tr_tv of_zero(tr_em *e, tr_tv v, tr_tv rises, tr_tv r) {
    tr_tv zero = tr_em_num(e, v.ty, 0.0), part = num(e, tr_em_re(e, v), NAN),
          none = tr_em_cplx(e, part, part);
    return tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, v, zero), tr_em_select(e, rises, zero, none), r);
}

/* v to a power that is a number of any type, by NumPy's rules or Python's; false: it is an
 * integer that is not known. */
bool tr_fam_cplx_power(tr_em *e, tr_tv v, tr_tv by, bool numpy, tr_tv *out) {
    double k;
    const tr_ty *s = tr_lib_scalar(e, by.ty), *part = tr_em_re(e, v).ty;
    tr_tv one = tr_em_num(e, v.ty, 1.0);
    if (tr_tv_lit_real(by, &k)) {
        bool product = k == floor(k) && fabs(k) <= (double)WHOLE;
        *out = product ? by_squares(e, v, (int)k) : power_of(e, v, tr_em_num(e, part, k), NULL, numpy);
        if (product && k < 0)
            *out = inverse(e, *out, numpy);
        if (k != 0)
            *out = of_zero(e, v, tr_em_bool(e, k > 0), *out);
        return true;
    }
    if (!tr_ty_is_float(s) && !tr_ty_is_complex(s))
        return false;
    tr_tv w = tr_em_conv(e, by, v.ty), re = tr_em_re(e, w), im = tr_em_im(e, w);
    tr_tv whole = tr_fam_and(e, tr_em_cmp(e, TR_CMP_EQ, re, tr_fam_math1(e, TR_MATH_FLOOR, re)),
                             tr_em_cmp(e, TR_CMP_LE, size(e, re), num(e, re, WHOLE)));
    tr_tv product = by_any_squares(e, v, re), real = is(e, im, 0.0);
    product = tr_em_select(e, below(e, re, 0.0), inverse(e, product, numpy), product);
    if (tr_ty_is_complex(s))
        whole = tr_fam_and(e, whole, real);
    *out = tr_em_select(e, whole, product, power_of(e, v, re, tr_ty_is_complex(s) ? &im : NULL, numpy));
    *out = of_zero(e, v, above(e, re, 0.0), *out);
    *out = tr_em_select(e, tr_fam_and(e, is(e, re, 0.0), real), one, *out);
    return true;
}

/* --- all of them --- */

bool tr_fam_cplx_math(tr_em *e, tr_mathfn fn, tr_tv v, tr_tv *out) {
    switch (fn) {
    case TR_MATH_EXP: *out = exp_of(e, v); return true;
    case TR_MATH_EXP2: *out = exp_of(e, scaled(e, v, M_LN2)); return true;
    case TR_MATH_EXPM1: *out = expm1_of(e, v); return true;
    case TR_MATH_SQRT: *out = sqrt_of(e, v); return true;
    case TR_MATH_LOG: *out = log_of(e, v); return true;
    case TR_MATH_LOG2: *out = scaled(e, log_of(e, v), M_LOG2E); return true;
    case TR_MATH_LOG10: *out = scaled(e, log_of(e, v), M_LOG10E); return true;
    case TR_MATH_LOG1P: *out = log1p_of(e, v); return true;
    case TR_MATH_SIN: *out = turned(e, sinh_parts, v); return true;
    case TR_MATH_COS: *out = cos_of(e, v); return true;
    case TR_MATH_TAN: *out = turned(e, tanh_parts, v); return true;
    case TR_MATH_SINH: *out = straight(e, sinh_parts, v); return true;
    case TR_MATH_COSH: *out = straight(e, cosh_parts, v); return true;
    case TR_MATH_TANH: *out = straight(e, tanh_parts, v); return true;
    case TR_MATH_ASIN: *out = turned(e, asinh_parts, v); return true;
    case TR_MATH_ACOS: *out = acos_of(e, v); return true;
    case TR_MATH_ATAN: *out = turned(e, atanh_parts, v); return true;
    case TR_MATH_ASINH: *out = straight(e, asinh_parts, v); return true;
    case TR_MATH_ACOSH: *out = acosh_of(e, v); return true;
    case TR_MATH_ATANH: *out = straight(e, atanh_parts, v); return true;
    case TR_MATH_RINT:
        *out = tr_em_cplx(e, tr_fam_math1(e, fn, tr_em_re(e, v)), tr_fam_math1(e, fn, tr_em_im(e, v)));
        return true;
    default: return false;
    }
}
