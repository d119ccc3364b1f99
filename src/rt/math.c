/* Functions of Python's `math` and builtins on integers and floats that C's library lacks. Where Python
 * raises, the compiler has tested the arguments before the call, or a negative result says that the value
 * does not fit int64. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "rt/enter.h"
#include "rt/fns.h"

static uint64_t magnitude(int64_t x) {
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

/* Halves go to even. Half of 10**20 is beyond 64 bits, so everything is rounded to 0 there. */
uint64_t tr_rt_roundu(uint64_t x, int64_t ndigits) {
    if (ndigits >= 0)
        return x;
    if (ndigits < -19)
        return 0;
    uint64_t p = 1;
    for (int64_t i = ndigits; i < 0; i++)
        p *= 10;
    uint64_t q = x / p, r = x % p;
    if (r > p - r || (r == p - r && (q & 1)))
        q++;
    return q * p;
}

int64_t tr_rt_roundi(int64_t x, int64_t ndigits) {
    uint64_t m = tr_rt_roundu(magnitude(x), ndigits);
    return (int64_t)(x < 0 ? 0 - m : m);
}

static uint64_t mulmod(uint64_t a, uint64_t b, uint64_t m) {
    return (uint64_t)((unsigned __int128)a * b % m);
}

/* Inverse of a modulo m, gcd 1, by the extended Euclidean algorithm. */
static uint64_t inverse(uint64_t a, uint64_t m) {
    __int128 s = 0, t = 1;
    uint64_t r = m, u = a % m;
    while (u) {
        uint64_t q = r / u, k = r % u;
        __int128 v = s - (__int128)q * t;
        r = u;
        u = k;
        s = t;
        t = v;
    }
    return (uint64_t)(s < 0 ? s + (__int128)m : s);
}

int64_t tr_rt_powmod(int64_t x, int64_t y, int64_t mod) {
    uint64_t m = magnitude(mod), b, e = magnitude(y), r = 1;
    if (m <= 1)
        return 0;
    b = magnitude(x) % m;
    if (x < 0 && b)
        b = m - b;
    if (y < 0)
        b = inverse(b, m);
    for (; e; e >>= 1) {
        if (e & 1)
            r = mulmod(r, b, m);
        b = mulmod(b, b, m);
    }
    return mod < 0 && r ? (int64_t)(r - m) : (int64_t)r;
}

/* --- combinatorics --- */

int64_t tr_rt_lcm(int64_t a, int64_t b) {
    int64_t r;
    if (a == 0 || b == 0)
        return 0;
    uint64_t g = (uint64_t)tr_rt_gcd(a, b), x = magnitude(a) / g, y = magnitude(b);
    return x > INT64_MAX || y > INT64_MAX || __builtin_mul_overflow((int64_t)x, (int64_t)y, &r) ? -1 : r;
}

int64_t tr_rt_factorial(int64_t n) {
    int64_t r = 1;
    for (int64_t i = 2; i <= n; i++)
        if (__builtin_mul_overflow(r, i, &r))
            return -1;
    return r;
}

int64_t tr_rt_perm(int64_t n, int64_t k) {
    int64_t r = 1;
    if (k > n)
        return 0;
    for (int64_t i = 0; i < k; i++)
        if (__builtin_mul_overflow(r, n - i, &r))
            return -1;
    return r;
}

int64_t tr_rt_comb(int64_t n, int64_t k) {
    uint64_t r = 1;
    if (k > n)
        return 0;
    if (k > n - k)
        k = n - k;
    for (int64_t i = 1; i <= k;
         i++) { /* every step is a whole binomial and grows, so the first that is too large decides */
        unsigned __int128 p = (unsigned __int128)r * (uint64_t)(n - k + i) / (uint64_t)i;
        if (p > INT64_MAX)
            return -1;
        r = (uint64_t)p;
    }
    return (int64_t)r;
}

/* --- floats in parts --- */

double tr_rt_ldexp(double x, int64_t exp) {
    return ldexp(x, exp > INT_MAX ? INT_MAX : exp < INT_MIN ? INT_MIN : (int)exp);
}

double tr_rt_frexpm(double x) {
    int e;
    return isfinite(x) ? frexp(x, &e) : x;
}

int64_t tr_rt_frexpe(double x) {
    int e = 0;
    if (isfinite(x))
        frexp(x, &e);
    return e;
}

/* Floats of one sign are ordered as their bits, so steps are counted there. */
double tr_rt_nextsteps(double x, double y, int64_t steps) {
    union {
        double f;
        uint64_t u;
    } a = {x}, b = {y};
    const uint64_t sign = UINT64_C(1) << 63;
    uint64_t n = (uint64_t)steps;
    if (n == 0 || isnan(x))
        return x;
    if (isnan(y) || a.u == b.u)
        return y;
    uint64_t ma = a.u & ~sign, mb = b.u & ~sign;
    if ((a.u ^ b.u) & sign) { /* through zero */
        if (ma + mb <= n)
            return y;
        if (n <= ma) {
            a.u -= n;
            return a.f;
        }
        b.u = (b.u & sign) | (n - ma);
        return b.f;
    }
    if (mb > ma)
        a.u = n > mb - ma ? b.u : a.u + n;
    else
        a.u = n > ma - mb ? b.u : a.u - n;
    return a.f;
}

/* --- exact sums --- */

/* Shewchuk's partials: a sum held as floats that do not overlap, smallest first. A float64 has 2098 binary
 * places, so 40 are enough; inf and nan gather apart. */
enum { PARTIALS = 48 };
typedef struct exact {
    double p[PARTIALS];
    int n;
    double special;
} exact;

static void exact_add(exact *s, double x) {
    if (!isfinite(x)) {
        s->special += x;
        return;
    }
    int k = 0;
    for (int i = 0; i < s->n; i++) {
        double y = s->p[i];
        if (fabs(x) < fabs(y)) {
            double t = x;
            x = y;
            y = t;
        }
        double hi = x + y, lo = y - (hi - x);
        if (lo != 0.0)
            s->p[k++] = lo;
        x = hi;
    }
    if (!isfinite(x)) /* the sum itself overflows */
        s->special += x;
    else if (x != 0.0 && k < PARTIALS)
        s->p[k++] = x;
    s->n = k;
}

/* The partials from the largest down; the last bit is settled by the sign of what follows a tie. */
static double exact_round(const exact *s) {
    if (s->special != 0.0) /* nan too */
        return s->special;
    int n = s->n;
    double hi = 0.0, lo = 0.0;
    if (n > 0)
        hi = s->p[--n];
    while (n > 0) {
        double x = hi, y = s->p[--n];
        hi = x + y;
        lo = y - (hi - x);
        if (lo != 0.0)
            break;
    }
    if (n > 0 && ((lo < 0.0 && s->p[n - 1] < 0.0) || (lo > 0.0 && s->p[n - 1] > 0.0))) {
        double y = lo * 2.0, x = hi + y;
        if (y == x - hi)
            hi = x;
    }
    return hi;
}

double tr_rt_fsum(void *owner, const double *x, int64_t n) {
    exact s = {.n = 0};
    (void)owner;
    for (int64_t i = 0; i < n; i++)
        exact_add(&s, x[i]);
    tr_rt_look();
    return exact_round(&s);
}

double tr_rt_sumprod(void *xo, const double *x, int64_t nx, void *yo, const double *y, int64_t ny) {
    exact s = {.n = 0};
    (void)xo;
    (void)yo;
    for (int64_t i = 0; i < nx && i < ny; i++) {
        double p = x[i] * y[i];
        exact_add(&s, p);
        if (isfinite(p))
            exact_add(&s, fma(x[i], y[i], -p));
    }
    tr_rt_look();
    return exact_round(&s);
}
