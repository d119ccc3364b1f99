/* Scalar arithmetic that has no single instruction and whose result Python or NumPy fix bit by bit. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "rt/fns.h"

int64_t tr_rt_ipow(int64_t base, int64_t exp) {
    if (exp < 0) {
        if (base == 1)
            return 1;
        return base == -1 ? (exp & 1 ? -1 : 1) : 0;
    }
    uint64_t r = 1, b = (uint64_t)base;
    for (uint64_t e = (uint64_t)exp; e;
         e >>= 2) { /* two bits a round, without a branch on them: few rounds, that are foreseen */
        uint64_t bb = b * b;
        r *= e & 1 ? b : 1;
        r *= e & 2 ? bb : 1;
        b = bb * bb;
    }
    return (int64_t)r;
}

/* x rounded to a multiple of 10**drop, drop > 0, halves to even. The digits of x's whole part are exact, so
 * deciding on them is correct rounding; the fraction matters only to break ties. */
static double round_left(double x, int64_t drop) {
    char d[320];
    double whole = floor(fabs(x));
    int more = whole != fabs(x);
    int64_t n = snprintf(d + 1, sizeof d - 1, "%.0f", whole), keep = n - drop;
    if (keep < 0)
        return copysign(0.0, x);
    d[0] = '0'; /* room for a carry */
    char *cut = d + 1 + keep, *last = cut - 1;
    int up = *cut > '5' || (*cut == '5' && (more || strspn(cut + 1, "0") < strlen(cut + 1)));
    if (!up && *cut == '5')
        up = (*last - '0') & 1; /* an exact half */
    memset(cut, '0', (size_t)drop);
    while (up && *last == '9')
        *last-- = '0';
    *last = (char)(*last + up);
    return copysign(strtod(d, NULL), x);
}

/* The powers of ten that are floats. */
static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                               1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

double tr_rt_round(double x, int64_t ndigits) {
    if (!isfinite(x) || x == 0.0 || ndigits > 323)
        return x;
    if (ndigits < -308)
        return 0.0 * x;
    if (ndigits < 0)
        return round_left(x, -ndigits);
    uint64_t d;
    if (fabs(x) >= 0x1p52)
        return x; /* it is whole */
    if (ndigits < (int64_t)(sizeof exact / sizeof *exact) && tr_digits_scaled(fabs(x), (int)ndigits, &d) &&
        d <= UINT64_C(1) << 53)
        return copysign((double)d / exact[ndigits], x); /* of two exact numbers: rounded once */
    char b[700];
    snprintf(b, sizeof b, "%.*f", (int)ndigits, x);
    return strtod(b, NULL);
}

uint64_t tr_rt_gcdu(uint64_t x, uint64_t y) {
    while (y) {
        uint64_t r = x % y;
        x = y;
        y = r;
    }
    return x;
}

int64_t tr_rt_gcd(int64_t a, int64_t b) {
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    return (int64_t)tr_rt_gcdu(x, y);
}

int64_t tr_rt_isqrt(int64_t x) {
    assert(x >= 0);
    if (x <= 0)
        return 0;
    /* The float root is off by one at most. */
    uint64_t n = (uint64_t)x, r = (uint64_t)sqrt((double)x);
    while (r * r > n)
        r--;
    while ((r + 1) * (r + 1) <= n)
        r++;
    return (int64_t)r;
}

/* The plain ones write the global `signgam`. */
double tr_rt_lgamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}

float tr_rt_lgammaf(float x) {
    int sign;
    return lgammaf_r(x, &sign);
}
