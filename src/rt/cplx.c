/* The power of complex numbers, which compiled code calls where the exponent is an integer that is not known:
 * CPython's algorithm. Where CPython raises for a zero base the values are NumPy's. All else of complex
 * numbers is formulas of real functions (lib/npcmath.c). */
#include <math.h>

#include "rt/fns.h"

static void put(double out[2], double re, double im) {
    out[0] = re;
    out[1] = im;
}

/* CPython's quotient, by the larger part of the divisor. */
static void quotient(double ar, double ai, double br, double bi, double out[2]) {
    double mr = fabs(br), mi = fabs(bi);
    if (mr == 0 && mi == 0) {
        put(out, ar / mr, ai / mr);
    } else if (mr >= mi) {
        double t = bi / br, d = br + bi * t;
        put(out, (ar + ai * t) / d, (ai - ar * t) / d);
    } else if (mi >= mr) {
        double t = br / bi, d = br * t + bi;
        put(out, (ar * t + ai) / d, (ai * t - ar) / d);
    } else {
        put(out, (double)NAN, (double)NAN);
    }
}

static void mul(double a[2], const double b[2]) {
    double re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];
    put(a, re, im);
}

/* Powers up to 100 by squaring, as CPython: faster and exact where the result is. */
static void pow_int(double ar, double ai, long n, double out[2]) {
    double r[2] = {1, 0}, p[2] = {ar, ai};
    unsigned long u = (unsigned long)(n < 0 ? -n : n);
    for (; u; u >>= 1) {
        if (u & 1)
            mul(r, p);
        mul(p, (double[2]){p[0], p[1]});
    }
    if (n > 0)
        put(out, r[0], r[1]);
    else
        quotient(1, 0, r[0], r[1], out);
}

void tr_rt_cpow(double ar, double ai, double br, double bi, double out[2]) {
    if (br == 0 && bi == 0) {
        put(out, 1, 0);
    } else if (ar == 0 && ai == 0) {
        double z = br > 0 ? 0.0 : (double)NAN; /* where CPython raises, for bi != 0, as NumPy 2 */
        put(out, z, z);
    } else if (bi == 0 && br == floor(br) && fabs(br) <= 100) {
        pow_int(ar, ai, (long)br, out);
    } else {
        double size = hypot(ar, ai), len = pow(size, br), at = atan2(ai, ar), phase = at * br;
        if (bi != 0) {
            len *= exp(-at * bi);
            phase += bi * log(size);
        }
        put(out, len * cos(phase), len * sin(phase));
    }
}
