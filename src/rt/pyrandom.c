/* Python's random over the thread's other MT19937: after random.seed(s) in compiled code the numbers of
 * random.seed(s) in Python, bit for bit, so the order of what is drawn, and every operation on floats, is
 * that of CPython's random.py (3.11 to 3.15).
 * Sources: normalvariate by A. Kinderman, J. Monahan 1977; gammavariate by R. Cheng 1977, and below 1 as J.
 * Ahrens, U. Dieter 1974; vonmisesvariate by N. Fisher 1993. Where Python raises as a float overflows, these
 * give an infinity. What else arguments may not be was tested by the caller. */
#include <math.h>

#include "rt/fns.h"
#include "rt/mt.h"

void tr_rt_py_seed(uint64_t seed) {
    const int64_t words[2] = {(int64_t)(seed & UINT32_MAX), (int64_t)(seed >> 32)};
    tr_rt_mt_seed_row(tr_rt_mt_py(), words, words[1] ? 2 : 1);
}

void tr_rt_py_seed_any(void) {
    tr_mt *m = tr_rt_mt_py();
    tr_rt_mt_seed_any(m);
}

void *tr_rt_py_words(void) {
    return tr_rt_mt_py();
}

static __attribute__((noinline)) double random_slowly(void) {
    return tr_rt_mt_double(tr_rt_mt_py());
}

double tr_rt_py_random(void) {
    tr_mts *t = tr_rt_mts;
    double x;
    return __builtin_expect(t && tr_rt_mt_quick_double(&t->py, &x), 1) ? x : random_slowly();
}

/* Words from the lowest on, of the last one its high bits. */
static uint64_t some_bits(tr_mt *m, unsigned k) {
    if (k == 0)
        return 0;
    uint64_t low = tr_rt_mt_32(m);
    if (k <= 32)
        return low >> (32 - k);
    return low | (uint64_t)(tr_rt_mt_32(m) >> (64 - k)) << 32;
}

uint64_t tr_rt_py_bits(int64_t k) {
    return some_bits(tr_rt_mt_py(), (unsigned)k);
}

static __attribute__((noinline)) uint64_t below_slowly(uint64_t n) {
    tr_mt *m = tr_rt_mt_py();
    uint64_t x, high;
    if (n) {
        unsigned k = 64u - (unsigned)__builtin_clzll(n);
        do
            x = some_bits(m, k);
        while (x >= n);
    } else { /* of 2**64 */
        do {
            x = some_bits(m, 64);
            high = some_bits(m, 1);
        } while (high);
    }
    return x;
}

uint64_t tr_rt_py_below(uint64_t n) {
    tr_mts *t = tr_rt_mts;
    uint32_t end = (uint32_t)n, x;
    if (!t || n - 1 >= UINT32_MAX ||
        !tr_rt_mt_quick_up_to(&t->py, end - 1, UINT32_MAX, (unsigned)__builtin_clz(end), &x))
        return below_slowly(n);
    return x;
}

static double normal(tr_mt *m, double mu, double sigma) {
    static const double magic = 1.7155277699214135; /* 4 * exp(-0.5) / sqrt(2.0) */
    for (;;) {
        double u = tr_rt_mt_double(m), v = 1.0 - tr_rt_mt_double(m), z = magic * (u - 0.5) / v;
        if (z * z / 4.0 <= -log(v))
            return mu + z * sigma;
    }
}

static double gauss(tr_mt *m, double mu, double sigma) {
    double z = m->gauss;
    if (m->has_gauss) {
        m->has_gauss = false;
    } else {
        double turn = tr_rt_mt_double(m) * (2.0 * M_PI), far = sqrt(-2.0 * log(1.0 - tr_rt_mt_double(m)));
        z = cos(turn) * far;
        m->gauss = sin(turn) * far;
        m->has_gauss = true;
    }
    return mu + z * sigma;
}

static double gamma_above_1(tr_mt *m, double alpha, double beta) {
    static const double log4 = 1.3862943611198906, magic = 2.504077396776274; /* 1.0 + log(4.5) */
    double root = sqrt(2.0 * alpha - 1.0), b = alpha - log4, c = alpha + root;
    for (;;) {
        double u = tr_rt_mt_double(m);
        if (!(1e-7 < u && u < 0.9999999))
            continue;
        double w = 1.0 - tr_rt_mt_double(m), v = log(u / (1.0 - u)) / root, x = alpha * exp(v), z = u * u * w,
               r = b + c * v - x;
        if (r + magic - 4.5 * z >= 0.0 || r >= log(z))
            return x * beta;
    }
}

static double gamma_below_1(tr_mt *m, double alpha, double beta) {
    for (;;) {
        double b = (M_E + alpha) / M_E, p = b * tr_rt_mt_double(m),
               x = p <= 1.0 ? pow(p, 1.0 / alpha) : -log((b - p) / alpha), u = tr_rt_mt_double(m);
        if (p > 1.0 ? u <= pow(x, alpha - 1.0) : u <= exp(-x))
            return x * beta;
    }
}

static double gamma_of(tr_mt *m, double alpha, double beta) {
    if (alpha > 1.0)
        return gamma_above_1(m, alpha, beta);
    if (alpha == 1.0)
        return -log(1.0 - tr_rt_mt_double(m)) * beta;
    return gamma_below_1(m, alpha, beta);
}

static double beta_of(tr_mt *m, double alpha, double beta) {
    double y = gamma_of(m, alpha, 1.0);
    return y != 0.0 ? y / (y + gamma_of(m, beta, 1.0)) : 0.0;
}

static double triangular(tr_mt *m, double low, double high, double c) {
    double u = tr_rt_mt_double(m);
    if (u > c) {
        double t = low;
        u = 1.0 - u;
        c = 1.0 - c;
        low = high;
        high = t;
    }
    return low + (high - low) * sqrt(u * c);
}

/* As float % float in Python. */
static double turned(double x) {
    double r = fmod(x, 2.0 * M_PI);
    return r < 0 ? r + 2.0 * M_PI : r != 0 ? r : 0.0;
}

static double vonmises(tr_mt *m, double mu, double kappa) {
    if (kappa <= 1e-6)
        return 2.0 * M_PI * tr_rt_mt_double(m);
    double s = 0.5 / kappa, r = s + sqrt(1.0 + s * s), z, d, u;
    do {
        z = cos(M_PI * tr_rt_mt_double(m));
        d = z / (r + z);
        u = tr_rt_mt_double(m);
    } while (!(u < 1.0 - d * d || u <= (1.0 - d) * exp(d)));
    double q = 1.0 / r, angle = acos((q + z) / (1.0 + q * z));
    return tr_rt_mt_double(m) > 0.5 ? turned(mu + angle) : turned(mu - angle);
}

double tr_rt_py_float(int64_t what, double a, double b, double c) {
    tr_mt *m = tr_rt_mt_py();
    switch (what) {
    case TR_RANDOM_PY_BETA: return beta_of(m, a, b);
    case TR_RANDOM_PY_EXPO: return -log(1.0 - tr_rt_mt_double(m)) / a;
    case TR_RANDOM_PY_GAMMA: return gamma_of(m, a, b);
    case TR_RANDOM_PY_GAUSS: return gauss(m, a, b);
    case TR_RANDOM_PY_LOGNORM: return exp(normal(m, a, b));
    case TR_RANDOM_PY_NORMAL: return normal(m, a, b);
    case TR_RANDOM_PY_PARETO: return pow(1.0 - tr_rt_mt_double(m), -1.0 / a);
    case TR_RANDOM_PY_TRIANGULAR: return triangular(m, a, b, 0.5);
    case TR_RANDOM_PY_TRIANGULAR_AT:
        if (b - a == 0.0) {
            tr_rt_mt_double(m);
            return a;
        }
        return triangular(m, a, b, (c - a) / (b - a));
    case TR_RANDOM_PY_UNIFORM: return a + (b - a) * tr_rt_mt_double(m);
    case TR_RANDOM_PY_VONMISES: return vonmises(m, a, b);
    default: return a * pow(-log(1.0 - tr_rt_mt_double(m)), 1.0 / b); /* TR_RANDOM_PY_WEIBULL */
    }
}
