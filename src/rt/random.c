/* NumPy's legacy distributions (np.random.normal and its kin) over the thread's MT19937: after
 * np.random.seed(s) in compiled code the numbers of np.random.seed(s) under NumPy, bit for bit.
 *
 * NumPy has frozen these streams, so the order in which numbers are drawn and every operation on floats are
 * part of what is computed here, and so are its mistakes: in the last terms of `far_enough`, say. There is no
 * library of them to link: libnpyrandom.a has the distributions of its Generator, which have moved on.
 * Sources: polar method for pairs of normal numbers (G. Marsaglia, T. Bray 1964); gamma by G. Marsaglia, W.
 * Tsang 2000, and below 1 as J. Ahrens, U. Dieter 1974; beta by M. Johnk 1964; Poisson by W. Hoermann's PTRS
 * 1993; binomial by V. Kachitvichyanukul, B. Schmeiser's BTPE 1988; hypergeometric by E. Stadlober's HRUA
 * 1990; wald by J. Michael, W. Schucany, R. Haas 1976; von Mises by D. Best, N. Fisher 1979; zipf by L.
 * Devroye 1986; logseries by A. Kemp 1981. What arguments may be was tested by the caller.
 * Cost: of a plain number some nanoseconds; that of the others is their exp, log and pow. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/enter.h"
#include "rt/fns.h"
#include "rt/mt.h"
#include "rt/random.h"

/* As the processor converts: what no int64 holds is the least of them. */
static int64_t whole(double x) {
    return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}
static int64_t whole_below(double x) {
    return whole(floor(x));
}

/* --- seeds and plain numbers --- */

void tr_rt_np_seed(uint64_t seed) {
    tr_rt_mt_seed(tr_rt_mt_np(), (uint32_t)seed);
}

uint8_t tr_rt_np_seed_row(int64_t squeezed, void *owner, const int64_t *key, int64_t n) {
    (void)owner;
    for (int64_t i = 0; i < n; i++)
        if (key[i] < 0 || key[i] > UINT32_MAX)
            return false;
    if (squeezed && n == 1)
        tr_rt_mt_seed(tr_rt_mt_np(), (uint32_t)key[0]);
    else
        tr_rt_mt_seed_row(tr_rt_mt_np(), key, (uint64_t)n);
    return true;
}

void tr_rt_np_seed_any(void) {
    tr_mt *m = tr_rt_mt_np();
    tr_rt_mt_seed_any(m);
}

void *tr_rt_np_words(void) {
    return tr_rt_mt_np();
}

static __attribute__((noinline)) double random_slowly(void) {
    return tr_rt_mt_double(tr_rt_mt_np());
}

double tr_rt_np_random(void) {
    tr_mts *t = tr_rt_mts;
    double x;
    return __builtin_expect(t && tr_rt_mt_quick_double(&t->np, &x), 1) ? x : random_slowly();
}

static double gauss(tr_mt *m) {
    double x, y, r;
    if (m->has_gauss) {
        m->has_gauss = false;
        return m->gauss;
    }
    do {
        x = 2.0 * tr_rt_mt_double(m) - 1.0;
        y = 2.0 * tr_rt_mt_double(m) - 1.0;
        r = x * x + y * y;
    } while (r >= 1.0 || r == 0.0);
    double f = sqrt(-2.0 * log(r) / r);
    m->gauss = f * x;
    m->has_gauss = true;
    return f * y;
}

static __attribute__((noinline)) double gauss_slowly(void) {
    return gauss(tr_rt_mt_np());
}

double tr_rt_np_gauss(void) {
    tr_mts *t = tr_rt_mts;
    if (!t || !t->np.has_gauss)
        return gauss_slowly();
    t->np.has_gauss = false;
    return t->np.gauss;
}

/* --- whole numbers in a range: what is too large is drawn again --- */

static uint64_t mask_of(uint64_t most) {
    return most ? UINT64_MAX >> __builtin_clzll(most) : 0;
}

static uint64_t up_to(tr_mt *m, uint64_t most, uint64_t mask) {
    uint64_t x;
    if (!most)
        return 0;
    do
        x = (most <= UINT32_MAX ? tr_rt_mt_32(m) : tr_rt_mt_64(m)) & mask;
    while (x > most);
    return x;
}

static __attribute__((noinline)) uint64_t up_to_slowly(uint64_t most) {
    return up_to(tr_rt_mt_np(), most, mask_of(most));
}

uint64_t tr_rt_np_up_to(uint64_t most) {
    tr_mts *t = tr_rt_mts;
    uint32_t top = (uint32_t)most, x;
    if (!t || most - 1 >= UINT32_MAX ||
        !tr_rt_mt_quick_up_to(&t->np, top, UINT32_MAX >> __builtin_clz(top), 0, &x))
        return up_to_slowly(most);
    return x;
}

/* Of 1, 8 or 16 bits: a word of the generator is used up from its low end before the next one;
 * what is left of the last one is lost. */
typedef struct piece {
    uint32_t word;
    unsigned left, bits;
} piece;

static uint64_t piece_up_to(tr_mt *m, piece *p, uint64_t most, uint64_t mask) {
    uint64_t x;
    if (!most)
        return 0;
    do {
        if (p->left) {
            p->word >>= p->bits;
            p->left--;
        } else {
            p->word = tr_rt_mt_32(m);
            p->left = 32 / p->bits - 1;
        }
        x = p->word & mask;
    } while (x > most);
    return x;
}

uint64_t tr_rt_np_piece(int64_t bits, uint64_t most) {
    piece p = {.bits = (unsigned)bits};
    return piece_up_to(tr_rt_mt_np(), &p, most, mask_of(most));
}

/* Words of the generator that are not too large, one after the other: each is stored where the next one goes,
 * wanted or not, so that nothing is guessed. */
#define FILL_WORDS(T)                                                                                \
    static void fill_##T(tr_mt *m, T *data, int64_t n, uint64_t low, uint32_t most, uint32_t mask) { \
        int64_t i = 0;                                                                               \
        while (i < n) {                                                                              \
            if (m->next >= TR_MT_WORDS)                                                              \
                tr_rt_mt_refill(m);                                                                  \
            uint32_t at = m->next;                                                                   \
            for (; at < TR_MT_WORDS && i < n; at++) {                                                \
                uint32_t x = m->out[at] & mask;                                                      \
                data[i] = (T)(low + x);                                                              \
                i += x <= most;                                                                      \
            }                                                                                        \
            m->next = at;                                                                            \
        }                                                                                            \
    }
FILL_WORDS(uint32_t)
FILL_WORDS(uint64_t)

/* Numbers of 32 bits and more that a word holds; false: these are others. */
static bool fill_by_words(tr_mt *m, int64_t bits, void *data, int64_t n, uint64_t low, uint64_t most) {
    if (bits < 32 || !most || most > UINT32_MAX)
        return false;
    for (int64_t i = 0, end; i < n; i = end) {
        end = tr_random_stretch(i, n);
        if (bits == 32)
            fill_uint32_t(m, (uint32_t *)data + i, end - i, low, (uint32_t)most, (uint32_t)mask_of(most));
        else
            fill_uint64_t(m, (uint64_t *)data + i, end - i, low, (uint32_t)most, (uint32_t)mask_of(most));
        tr_rt_look();
    }
    return true;
}

void tr_rt_np_fill_ints(int64_t bits, void *owner, void *data, int64_t n, uint64_t low, uint64_t most) {
    tr_mt *m = tr_rt_mt_np();
    uint64_t mask = mask_of(most);
    piece p = {.bits = (unsigned)bits};
    (void)owner;
    if (fill_by_words(m, bits, data, n, low, most))
        return;
    for (int64_t i = 0, end = tr_random_stretch(0, n); i < n; i++) {
        if (i == end) {
            end = tr_random_stretch(i, n);
            tr_rt_look();
        }
        uint64_t x = bits < 32 ? piece_up_to(m, &p, most, mask) : up_to(m, most, mask);
        tr_random_put(data, i, bits, low + x);
    }
    tr_rt_look();
}

void tr_rt_np_each_int(int64_t bits, void *owner, void *data, int64_t n, void *lowner, const uint64_t *low,
                       int64_t ln, int64_t ls, void *mowner, const uint64_t *most, int64_t mn, int64_t ms) {
    tr_mt *m = tr_rt_mt_np();
    piece p = {.bits = (unsigned)bits};
    (void)owner, (void)lowner, (void)mowner, (void)ln, (void)mn;
    for (int64_t i = 0; i < n;) {
        for (int64_t end = tr_random_stretch(i, n); i < end; i++) {
            uint64_t top = most[i * ms], mask = mask_of(top);
            uint64_t x = bits < 32 ? piece_up_to(m, &p, top, mask) : up_to(m, top, mask);
            tr_random_put(data, i, bits, low[i * ls] + x);
        }
        tr_rt_look();
    }
}

/* --- floats --- */

static double exponential(tr_mt *m) {
    return -log(1.0 - tr_rt_mt_double(m));
}

static double gamma_below_1(tr_mt *m, double shape) {
    for (;;) {
        double u = tr_rt_mt_double(m), v = exponential(m), x;
        if (u <= 1.0 - shape) {
            x = pow(u, 1.0 / shape);
            if (x <= v)
                return x;
        } else {
            double y = -log((1 - u) / shape);
            x = pow(1.0 - shape + shape * y, 1.0 / shape);
            if (x <= v + y)
                return x;
        }
    }
}

static double standard_gamma(tr_mt *m, double shape) {
    if (shape == 1.0)
        return exponential(m);
    if (shape == 0.0)
        return 0.0;
    if (shape < 1.0)
        return gamma_below_1(m, shape);
    double b = shape - 1.0 / 3.0, c = 1.0 / sqrt(9 * b);
    for (;;) {
        double x, v;
        do {
            x = gauss(m);
            v = 1.0 + c * x;
        } while (v <= 0.0);
        v = v * v * v;
        double u = tr_rt_mt_double(m);
        if (u < 1.0 - 0.0331 * (x * x) * (x * x) || log(u) < 0.5 * x * x + b * (1.0 - v + log(v)))
            return b * v;
    }
}

static double chisquare(tr_mt *m, double df) {
    return 2.0 * standard_gamma(m, df / 2.0);
}

static double beta(tr_mt *m, double a, double b) {
    if (!(a <= 1.0 && b <= 1.0)) {
        double x = standard_gamma(m, a), y = standard_gamma(m, b);
        return x / (x + y);
    }
    for (;;) {
        double u = tr_rt_mt_double(m), v = tr_rt_mt_double(m), x = pow(u, 1.0 / a), y = pow(v, 1.0 / b);
        if (!(x + y <= 1.0))
            continue;
        if (x + y > 0)
            return x / (x + y);
        double lx = log(u) / a, ly = log(v) / b, most = lx > ly ? lx : ly; /* both are too small for floats */
        lx -= most;
        ly -= most;
        return exp(lx - log(exp(lx) + exp(ly)));
    }
}

static int64_t poisson(tr_mt *m, double lam);

static double noncentral_chisquare(tr_mt *m, double df, double nonc) {
    if (nonc == 0)
        return chisquare(m, df);
    if (1 < df) {
        double x = chisquare(m, df - 1), y = gauss(m) + sqrt(nonc);
        return x + y * y;
    }
    int64_t i = poisson(m, nonc / 2.0);
    double x = chisquare(m, df + (double)(2 * i));
    return isnan(nonc) ? nonc : x;
}

static double wald(tr_mt *m, double mean, double scale) {
    double half = mean / (2 * scale), y = gauss(m);
    y = mean * y * y;
    double x = mean + half * (y - sqrt(4 * scale * y + y * y));
    return tr_rt_mt_double(m) <= mean / (mean + x) ? x : mean * mean / x;
}

static double vonmises(tr_mt *m, double mu, double kappa) {
    double s, w, y, v;
    if (isnan(kappa))
        return kappa;
    if (kappa < 1e-8)
        return M_PI * (2 * tr_rt_mt_double(m) - 1);
    if (kappa < 1e-5) {
        s = 1.0 / kappa + kappa;
    } else {
        double r = 1 + sqrt(1 + 4 * kappa * kappa), rho = (r - sqrt(2 * r)) / (2 * kappa);
        s = (1 + rho * rho) / (2 * rho);
    }
    do {
        double z = cos(M_PI * tr_rt_mt_double(m));
        w = (1 + s * z) / (s + z);
        y = kappa * (s - w);
        v = tr_rt_mt_double(m);
    } while (!(y * (2 - y) - v >= 0 || log(y / v) + 1 - y >= 0));
    double x = acos(w);
    if (tr_rt_mt_double(m) < 0.5)
        x = -x;
    x += mu;
    double turn = fmod(fabs(x) + M_PI, 2 * M_PI) - M_PI;
    return x < 0 ? -turn : turn;
}

/* The ends of the uniform numbers that would be infinite are drawn again. */
static double laplace(tr_mt *m, double loc, double scale) {
    double u;
    do
        u = tr_rt_mt_double(m);
    while (!(u > 0.0));
    return u >= 0.5 ? loc - scale * log(2.0 - u - u) : loc + scale * log(u + u);
}

static double gumbel(tr_mt *m, double loc, double scale) {
    double u;
    do
        u = 1.0 - tr_rt_mt_double(m);
    while (!(u < 1.0));
    return loc - scale * log(-log(u));
}

static double logistic(tr_mt *m, double loc, double scale) {
    double u;
    do
        u = tr_rt_mt_double(m);
    while (!(u > 0.0));
    return loc + scale * log(u / (1.0 - u));
}

static double triangular(tr_mt *m, double left, double mode, double right) {
    double base = right - left, first = mode - left, u = tr_rt_mt_double(m);
    if (u <= first / base)
        return left + sqrt(u * (first * base));
    return right - sqrt((1.0 - u) * ((right - mode) * base));
}

static double noncentral_f(tr_mt *m, double dfnum, double dfden, double nonc) {
    double x = noncentral_chisquare(m, dfnum, nonc) * dfden;
    return x / (chisquare(m, dfden) * dfnum);
}

static double draw(tr_mt *m, int64_t what, double a, double b, double c) {
    double x;
    switch (what) {
    case TR_RANDOM_BETA: return beta(m, a, b);
    case TR_RANDOM_CHISQUARE: return chisquare(m, a);
    case TR_RANDOM_EXPONENTIAL: return a * exponential(m);
    case TR_RANDOM_F: x = chisquare(m, a) * b; return x / (chisquare(m, b) * a);
    case TR_RANDOM_GAMMA: return b * standard_gamma(m, a);
    case TR_RANDOM_GAUSS: return gauss(m);
    case TR_RANDOM_GUMBEL: return gumbel(m, a, b);
    case TR_RANDOM_LAPLACE: return laplace(m, a, b);
    case TR_RANDOM_LOGISTIC: return logistic(m, a, b);
    case TR_RANDOM_LOGNORMAL: return exp(a + b * gauss(m));
    case TR_RANDOM_NONCENTRAL_CHISQUARE: return noncentral_chisquare(m, a, b);
    case TR_RANDOM_NONCENTRAL_F: return noncentral_f(m, a, b, c);
    case TR_RANDOM_NORMAL: return a + b * gauss(m);
    case TR_RANDOM_PARETO: return exp(exponential(m) / a) - 1;
    case TR_RANDOM_POWER: return pow(1 - exp(-exponential(m)), 1.0 / a);
    case TR_RANDOM_RAYLEIGH: return a * sqrt(-2.0 * log1p(-tr_rt_mt_double(m)));
    case TR_RANDOM_CAUCHY: x = gauss(m); return x / gauss(m);
    case TR_RANDOM_T: x = gauss(m); return sqrt(a / 2) * x / sqrt(standard_gamma(m, a / 2));
    case TR_RANDOM_TRIANGULAR: return triangular(m, a, b, c);
    case TR_RANDOM_UNIFORM: return a + b * tr_rt_mt_double(m);
    case TR_RANDOM_VONMISES: return vonmises(m, a, b);
    case TR_RANDOM_WALD: return wald(m, a, b);
    case TR_RANDOM_WEIBULL: return a == 0.0 ? 0.0 : pow(exponential(m), 1.0 / a);
    default: return tr_rt_mt_double(m);
    }
}

double tr_rt_np_float(int64_t what, double a, double b, double c) {
    return draw(tr_rt_mt_np(), what, a, b, c);
}

void tr_rt_np_fill(int64_t what, void *owner, double *data, int64_t n, double a, double b, double c) {
    tr_mt *m = tr_rt_mt_np();
    (void)owner;
    for (int64_t i = 0; i < n;) {
        int64_t end = tr_random_stretch(i, n);
        if (what == TR_RANDOM_RANDOM)
            for (; i < end; i++)
                data[i] = tr_rt_mt_double(m);
        else
            for (; i < end; i++)
                data[i] = draw(m, what, a, b, c);
        tr_rt_look();
    }
}

/* A number of each set of parameters. */
void tr_rt_np_each(int64_t what, void *owner, double *data, int64_t n, void *aowner, const double *a,
                   int64_t an, int64_t as, void *bowner, const double *b, int64_t bn, int64_t bs,
                   void *cowner, const double *c, int64_t cn, int64_t cs) {
    tr_mt *m = tr_rt_mt_np();
    (void)owner, (void)aowner, (void)bowner, (void)cowner, (void)an, (void)bn, (void)cn;
    for (int64_t i = 0; i < n;) {
        for (int64_t end = tr_random_stretch(i, n); i < end; i++)
            data[i] = draw(m, what, a[i * as], b[i * bs], c[i * cs]);
        tr_rt_look();
    }
}

/* --- counts --- */

/* log(gamma(x)) by Stirling's series from 7 on, and by the recurrence below. */
static double log_gamma(double x) {
    static const double series[] = {8.333333333333333e-02,  -2.777777777777778e-03, 7.936507936507937e-04,
                                    -5.952380952380952e-04, 8.417508417508418e-04,  -1.917526917526918e-03,
                                    6.410256410256410e-03,  -2.955065359477124e-02, 1.796443723688307e-01,
                                    -1.39243221690590e+00};
    if (x == 1.0 || x == 2.0)
        return 0.0;
    int64_t up = x < 7.0 ? (int64_t)(7 - x) : 0;
    double y = x + (double)up, inv = (1.0 / y) * (1.0 / y), sum = series[9];
    for (int k = 8; k >= 0; k--)
        sum = sum * inv + series[k];
    double r = sum / y + 0.5 * 1.8378770664093453e+00 + (y - 0.5) * log(y) - y;
    for (int64_t k = 0; k < up; k++) {
        r -= log(y - 1.0);
        y -= 1.0;
    }
    return r;
}

static int64_t poisson_small(tr_mt *m, double lam) {
    if (m->lam != lam) { /* most programs ask for one again and again */
        m->least = exp(-lam);
        m->lam = lam;
    }
    double least = m->least, product = 1.0;
    for (int64_t k = 0;; k++) {
        product *= tr_rt_mt_double(m);
        if (!(product > least))
            return k;
    }
}

static int64_t poisson_large(tr_mt *m, double lam) {
    double root = sqrt(lam), log_lam = log(lam), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b,
           inv_alpha = 1.1239 + 1.1328 / (b - 3.4), sure = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        double u = tr_rt_mt_double(m) - 0.5, v = tr_rt_mt_double(m), us = 0.5 - fabs(u);
        int64_t k = whole_below((2 * a / us + b) * u + lam + 0.43);
        if (us >= 0.07 && v <= sure)
            return k;
        if (k < 0 || (us < 0.013 && v > us))
            continue;
        if (log(v) + log(inv_alpha) - log(a / (us * us) + b) <=
            -lam + (double)k * log_lam - log_gamma((double)k + 1))
            return k;
    }
}

static int64_t poisson(tr_mt *m, double lam) {
    return lam >= 10 ? poisson_large(m, lam) : lam == 0 ? 0 : poisson_small(m, lam);
}

/* By inversion, for few of them: n * p is not above FEW_MEAN. */
enum { FEW_MEAN = 30, FEW_PLACES = 88 }; /* most is not above FEW_MEAN + 10 * sqrt(FEW_MEAN + 1) */
typedef tr_mt_few few;

static few few_of(int64_t n, double p) {
    double q = 1.0 - p, np = (double)n * p, far = np + 10.0 * sqrt(np * q + 1);
    return (few){n, (double)n < far ? n : whole(far), p, q, exp((double)n * log(q))};
}

/* The probability of k, from that of k - 1. */
static inline double few_next(const few *s, int64_t k, double before) {
    return ((double)(s->n - k + 1) * s->p * before) / ((double)k * s->q);
}

static int64_t binomial_few(tr_mt *m, int64_t n, double p) {
    if (m->few.n != n || m->few.p != p || m->few.q == 0)
        m->few = few_of(n, p);
    const few s = m->few;
    int64_t k = 0;
    double here = s.none, u = tr_rt_mt_double(m);
    while (u > here) {
        if (++k > s.most) {
            k = 0;
            here = s.none;
            u = tr_rt_mt_double(m);
        } else {
            u -= here;
            here = few_next(&s, k, here);
        }
    }
    return k;
}

/* BTPE: a triangle, two parallelograms beside it and two exponential tails lie over the distribution. */
typedef tr_mt_btpe btpe;

static btpe btpe_of(int64_t count, double p) {
    double n = (double)count, q = 1.0 - p, fm = n * p + p;
    btpe s = {.n = count, .p = p, .q = q, .npq = n * p * q, .mode = whole_below(fm)};
    s.half = floor(2.195 * sqrt(n * p * q) - 4.6 * q) + 0.5;
    s.middle = (double)s.mode + 0.5;
    s.left = s.middle - s.half;
    s.right = s.middle + s.half;
    s.height = 0.134 + 20.5 / (15.3 + (double)s.mode);
    double a = (fm - s.left) / (fm - s.left * p);
    s.lambda_left = a * (1.0 + a / 2.0);
    a = (s.right - fm) / (s.right * q);
    s.lambda_right = a * (1.0 + a / 2.0);
    s.areas[0] = s.half * (1.0 + 2.0 * s.height);
    s.areas[1] = s.areas[0] + s.height / s.lambda_left;
    s.areas[2] = s.areas[1] + s.height / s.lambda_right;
    return s;
}

static double far_enough(double x) {
    double xx = x * x;
    return (13680. - (462. - (132. - (99. - 140. / xx) / xx) / xx) / xx) / x / 166320.;
}

/* Whether k, drawn with height v, is below the distribution. */
static bool btpe_accepts(const btpe *s, int64_t k, double v) {
    int64_t d = k > s->mode ? k - s->mode : s->mode - k;
    if (!(d > 20 && (double)d < s->npq / 2.0 - 1)) { /* its height by the recurrence */
        double ratio = s->p / s->q, a = ratio * (double)(s->n + 1), f = 1.0;
        for (int64_t i = s->mode + 1; i <= k; i++)
            f *= a / (double)i - ratio;
        for (int64_t i = k + 1; i <= s->mode; i++)
            f /= a / (double)i - ratio;
        return !(v > f);
    }
    double x = (double)d, logv = log(v);
    double rho = (x / s->npq) * ((x * (x / 3.0 + 0.625) + 0.16666666666666666) / s->npq + 0.5);
    double t = (double)(-d * d) / (2 * s->npq);
    if (logv < t - rho)
        return true;
    if (logv > t + rho)
        return false;
    double x1 = (double)k + 1, f1 = (double)s->mode + 1, z = (double)s->n + 1 - (double)s->mode,
           w = (double)s->n - (double)k + 1;
    return !(logv > s->middle * log(f1 / x1) + ((double)(s->n - s->mode) + 0.5) * log(z / w) +
                        (double)(k - s->mode) * log(w * s->p / (x1 * s->q)) + far_enough(f1) + far_enough(z) +
                        far_enough(x1) + far_enough(w));
}

static int64_t binomial_many(tr_mt *m, const btpe *of) {
    const btpe s = *of;
    const int64_t n = s.n;
    for (;;) {
        double u = tr_rt_mt_double(m) * s.areas[2], v = tr_rt_mt_double(m);
        int64_t k;
        if (!(u > s.half))
            return whole_below(s.middle - s.half * v + u);
        if (!(u > s.areas[0])) {
            double x = s.left + (u - s.half) / s.height;
            v = v * s.height + 1.0 - fabs((double)s.mode - x + 0.5) / s.half;
            if (v > 1.0)
                continue;
            k = whole_below(x);
        } else if (!(u > s.areas[1])) {
            k = whole_below(s.left + log(v) / s.lambda_left);
            if (k < 0 || v == 0.0)
                continue;
            v = v * (u - s.areas[0]) * s.lambda_left;
        } else {
            k = whole_below(s.right - log(v) / s.lambda_right);
            if (k > n || v == 0.0)
                continue;
            v = v * (u - s.areas[1]) * s.lambda_right;
        }
        if (btpe_accepts(&s, k, v))
            return k;
    }
}

static bool are_few(int64_t n, double least) {
    return least * (double)n <= (double)FEW_MEAN;
}

static int64_t binomial(tr_mt *m, int64_t n, double p) {
    double least = p <= 0.5 ? p : 1.0 - p;
    int64_t k;
    if (are_few(n, least)) {
        k = binomial_few(m, n, least);
    } else {
        if (m->btpe.n != n || m->btpe.p != least || m->btpe.q == 0)
            m->btpe = btpe_of(n, least);
        k = binomial_many(m, &m->btpe);
    }
    return p <= 0.5 ? k : n - k;
}

/* Many of the same, so that what follows from n and p is computed once. */
static void binomials(tr_mt *m, int64_t n, double p, int64_t *to, int64_t length) {
    double least = p <= 0.5 ? p : 1.0 - p, each[FEW_PLACES];
    if (!are_few(n, least)) {
        const btpe s = btpe_of(n, least);
        for (int64_t i = 0; i < length; i++) {
            int64_t k = binomial_many(m, &s);
            to[i] = p <= 0.5 ? k : n - k;
        }
        return;
    }
    const few s = few_of(n, least);
    each[0] = s.none;
    for (int64_t k = 1; k <= s.most && k < FEW_PLACES; k++)
        each[k] = few_next(&s, k, each[k - 1]);
    for (int64_t i = 0; i < length; i++) {
        int64_t k = 0;
        double u = tr_rt_mt_double(m);
        while (u > each[k]) {
            u -= each[k];
            if (++k > s.most) {
                k = 0;
                u = tr_rt_mt_double(m);
            }
        }
        to[i] = p <= 0.5 ? k : n - k;
    }
}

static int64_t geometric(tr_mt *m, double p) {
    if (!(p >= 0.333333333333333333333333))
        return whole(ceil(log1p(-tr_rt_mt_double(m)) / log(1 - p)));
    double sum = p, product = p, u = tr_rt_mt_double(m);
    int64_t k = 1;
    for (; u > sum; k++) {
        product *= 1.0 - p;
        sum += product;
    }
    return k;
}

static int64_t logseries(tr_mt *m, double p) {
    double r = log(1.0 - p);
    for (;;) {
        double v = tr_rt_mt_double(m);
        if (v >= p)
            return 1;
        double q = 1.0 - exp(r * tr_rt_mt_double(m));
        if (!(v <= q * q))
            return v >= q ? 1 : 2;
        int64_t k = whole_below(1 + log(v) / log(q));
        if (k >= 1 && v != 0.0)
            return k;
    }
}

static int64_t zipf(tr_mt *m, double a) {
    double less = a - 1.0, b = pow(2.0, less);
    if (b > DBL_MAX) /* always 1; nothing would be taken below, and NumPy's never returns */
        return 1;
    for (;;) {
        double u = 1.0 - tr_rt_mt_double(m), v = tr_rt_mt_double(m), x = floor(pow(u, -1.0 / less));
        if (x > 0x1p63 || x < 1.0)
            continue;
        double t = pow(1.0 + 1.0 / x, less);
        if (v * x * (t - 1.0) / (b - 1.0) <= t / b)
            return whole(x);
    }
}

static int64_t count(tr_mt *m, int64_t what, int64_t n, double a, double b) {
    switch (what) {
    case TR_RANDOM_BINOMIAL: return binomial(m, n, a);
    case TR_RANDOM_GEOMETRIC: return geometric(m, a);
    case TR_RANDOM_LOGSERIES: return logseries(m, a);
    case TR_RANDOM_NEGATIVE_BINOMIAL: return poisson(m, (1 - b) / b * standard_gamma(m, a));
    case TR_RANDOM_POISSON: return poisson(m, a);
    default: return zipf(m, a);
    }
}

int64_t tr_rt_np_count(int64_t what, int64_t n, double a, double b) {
    return count(tr_rt_mt_np(), what, n, a, b);
}

void tr_rt_np_fill_counts(int64_t what, void *owner, int64_t *data, int64_t length, int64_t n, double a,
                          double b) {
    tr_mt *m = tr_rt_mt_np();
    (void)owner;
    for (int64_t i = 0; i < length;) {
        int64_t end = tr_random_stretch(i, length);
        if (what == TR_RANDOM_BINOMIAL && end - i > FEW_PLACES) {
            binomials(m, n, a, data + i, end - i);
            i = end;
        }
        for (; i < end; i++)
            data[i] = count(m, what, n, a, b);
        tr_rt_look();
    }
}

void tr_rt_np_each_count(int64_t what, void *owner, int64_t *data, int64_t n, void *kowner, const int64_t *k,
                         int64_t kn, int64_t ks, void *aowner, const double *a, int64_t an, int64_t as,
                         void *bowner, const double *b, int64_t bn, int64_t bs) {
    tr_mt *m = tr_rt_mt_np();
    (void)owner, (void)kowner, (void)aowner, (void)bowner, (void)kn, (void)an, (void)bn;
    for (int64_t i = 0; i < n;) {
        for (int64_t end = tr_random_stretch(i, n); i < end; i++)
            data[i] = count(m, what, k[i * ks], a[i * as], b[i * bs]);
        tr_rt_look();
    }
}

/* --- without putting back --- */

static int64_t hypergeometric_few(tr_mt *m, int64_t good, int64_t bad, int64_t sample) {
    int64_t rest = bad + good - sample, k = sample;
    double least = (double)(good < bad ? good : bad), y = least;
    while (y > 0.0) {
        double u = tr_rt_mt_double(m);
        y -= floor(u + y / (double)(rest + k));
        if (--k == 0)
            break;
    }
    int64_t z = whole(least - y);
    return good > bad ? sample - z : z;
}

static int64_t hypergeometric_many(tr_mt *m, int64_t good, int64_t bad, int64_t sample) {
    int64_t less = good < bad ? good : bad, more = good < bad ? bad : good, all = good + bad,
            n = sample < all - sample ? sample : all - sample;
    double part = (double)less / (double)all, mean = (double)n * part + 0.5;
    double width = sqrt((double)(all - n) * (double)sample * part * (1.0 - part) / (double)(all - 1) + 0.5);
    double spread = 1.7155277699214135 * width + 0.8989161620588988; /* 2 sqrt(2/e), 3 - 2 sqrt(3/e) */
    int64_t mode = whole_below((double)(n + 1) * (double)(less + 1) / (double)(all + 2)), k;
    double top = log_gamma((double)(mode + 1)) + log_gamma((double)(less - mode + 1)) +
                 log_gamma((double)(n - mode + 1)) + log_gamma((double)(more - n + mode + 1));
    double end = (double)(n < less ? n : less) + 1.0, far = floor(mean + 16 * width);
    end = far < end ? far : end;
    for (;;) {
        double x = tr_rt_mt_double(m), y = tr_rt_mt_double(m), w = mean + spread * (y - 0.5) / x;
        if (w < 0.0 || w >= end)
            continue;
        k = whole_below(w);
        double t = top - (log_gamma((double)(k + 1)) + log_gamma((double)(less - k + 1)) +
                          log_gamma((double)(n - k + 1)) + log_gamma((double)(more - n + k + 1)));
        if (x * (4.0 - x) - 3.0 <= t)
            break;
        if (x * (x - t) >= 1)
            continue;
        if (2.0 * log(x) <= t)
            break;
    }
    if (good > bad)
        k = n - k;
    return n < sample ? good - k : k;
}

static int64_t hypergeometric(tr_mt *m, int64_t good, int64_t bad, int64_t sample) {
    return sample > 10  ? hypergeometric_many(m, good, bad, sample)
           : sample > 0 ? hypergeometric_few(m, good, bad, sample)
                        : 0;
}

int64_t tr_rt_np_hypergeometric(int64_t good, int64_t bad, int64_t sample) {
    return hypergeometric(tr_rt_mt_np(), good, bad, sample);
}

void tr_rt_np_fill_hypergeometric(void *owner, int64_t *data, int64_t n, int64_t good, int64_t bad,
                                  int64_t sample) {
    tr_mt *m = tr_rt_mt_np();
    (void)owner;
    for (int64_t i = 0; i < n;) {
        for (int64_t end = tr_random_stretch(i, n); i < end; i++)
            data[i] = hypergeometric(m, good, bad, sample);
        tr_rt_look();
    }
}

void tr_rt_np_each_hypergeometric(void *owner, int64_t *data, int64_t n, void *gowner, const int64_t *good,
                                  int64_t gn, int64_t gs, void *bowner, const int64_t *bad, int64_t bn,
                                  int64_t bs, void *sowner, const int64_t *sample, int64_t sn, int64_t ss) {
    tr_mt *m = tr_rt_mt_np();
    (void)owner, (void)gowner, (void)bowner, (void)sowner, (void)gn, (void)bn, (void)sn;
    for (int64_t i = 0; i < n;) {
        for (int64_t end = tr_random_stretch(i, n); i < end; i++)
            data[i] = hypergeometric(m, good[i * gs], bad[i * bs], sample[i * ss]);
        tr_rt_look();
    }
}

/* --- several at once --- */

double tr_random_sum(const double *p, int64_t n) {
    double sum = n > 0 ? p[0] : 0.0, lost = 0.0;
    for (int64_t i = 1; i < n; i++) {
        double y = p[i] - lost, t = sum + y;
        lost = (t - sum) - y;
        sum = t;
    }
    return sum;
}

/* Unlike binomial() by itself, NumPy draws nothing here where none are left or the probability is 0. */
static void multinomial(tr_mt *m, int64_t n, int64_t *to, const double *p, int64_t np) {
    double left = 1.0;
    memset(to, 0, (size_t)np * sizeof *to);
    for (int64_t j = 0; j < np - 1; j++) {
        double of_rest = p[j] / left;
        to[j] = n && of_rest != 0 ? binomial(m, n, of_rest) : 0;
        n -= to[j];
        if (n <= 0)
            return;
        left -= p[j];
    }
    to[np - 1] = n;
}

int64_t tr_random_parts(const double *p, int64_t n) {
    for (int64_t j = 0; j < n; j++)
        if (!(p[j] >= 0) || !(p[j] <= 1))
            return TR_RANDOM_RANGE;
    return tr_random_sum(p, n - 1) > 1.0 + 1e-12 ? TR_RANDOM_SUM : TR_RANDOM_DONE;
}

int64_t tr_rt_np_multinomial(int64_t n, void *owner, int64_t *data, int64_t length, void *powner,
                             const double *p, int64_t np) {
    (void)owner;
    (void)powner;
    int64_t bad = tr_random_parts(p, np);
    if (bad)
        return bad;
    tr_mt *m = tr_rt_mt_np();
    for (int64_t i = 0; np && i + np <= length; i += np)
        multinomial(m, n, data + i, p, np);
    tr_rt_look();
    return TR_RANDOM_DONE;
}

uint8_t tr_rt_np_dirichlet(void *owner, double *data, int64_t length, void *aowner, const double *alpha,
                           int64_t n) {
    (void)owner;
    (void)aowner;
    for (int64_t j = 0; j < n; j++)
        if (alpha[j] <= 0)
            return false;
    tr_mt *m = tr_rt_mt_np();
    for (int64_t i = 0; n && i + n <= length; i += n) {
        double sum = 0.0;
        for (int64_t j = 0; j < n; j++) {
            data[i + j] = standard_gamma(m, alpha[j]);
            sum = sum + data[i + j];
        }
        double inv = 1 / sum;
        for (int64_t j = 0; j < n; j++)
            data[i + j] = data[i + j] * inv;
    }
    tr_rt_look();
    return true;
}

/* --- a choice by probabilities --- */

static void running(const double *p, int64_t n, double *cdf) {
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        cdf[i] = sum = i ? sum + p[i] : p[i];
    for (int64_t i = 0; i < n; i++)
        cdf[i] /= sum;
}

/* How many of them are not above u. */
static int64_t place(const double *cdf, int64_t n, double u) {
    int64_t lo = 0;
    while (n > 0) {
        int64_t half = n / 2;
        if (u < cdf[lo + half]) {
            n = half;
        } else {
            lo += half + 1;
            n -= half + 1;
        }
    }
    return lo;
}

/* Rounds: as many are drawn as are missing; of those that are new, the first of each counts.
 * `q`: the probabilities that are left. */
static void choose_once(tr_random_number number, void *user, int64_t *to, int64_t n, double *q, double *cdf,
                        int64_t np) {
    for (int64_t have = 0; have < n;) {
        int64_t missing = n - have, from = have;
        running(q, np, cdf);
        for (int64_t i = 0; i < missing; i++) {
            int64_t k = place(cdf, np, number(user));
            if (k < np && q[k] >= 0) {
                q[k] = -1 - q[k]; /* seen in this round: below 0 */
                to[have++] = k;
            }
        }
        for (int64_t i = from; i < have; i++)
            q[to[i]] = 0;
    }
}

static int64_t probabilities(const double *p, int64_t np) {
    double sum = tr_random_sum(p, np);
    if (isnan(sum))
        return TR_RANDOM_NAN;
    for (int64_t i = 0; i < np; i++)
        if (p[i] < 0)
            return TR_RANDOM_RANGE;
    return fabs(sum - 1.0) > 0x1p-26 ? TR_RANDOM_SUM : TR_RANDOM_DONE;
}

int64_t tr_random_choose(tr_random_number number, void *user, bool again, int64_t *to, int64_t n,
                         const double *p, int64_t np) {
    int64_t bad = probabilities(p, np), some = 0;
    if (bad)
        return bad;
    for (int64_t i = 0; i < np; i++)
        some += p[i] > 0;
    if (!again && some < n)
        return TR_RANDOM_FEW;
    double *cdf = malloc((size_t)np * 2 * sizeof *cdf + 1);
    if (!cdf)
        return TR_RANDOM_MEMORY;
    if (again) {
        running(p, np, cdf);
        for (int64_t i = 0; i < n; i++)
            to[i] = place(cdf, np, number(user));
    } else {
        memcpy(cdf + np, p, (size_t)np * sizeof *cdf);
        choose_once(number, user, to, n, cdf + np, cdf, np);
    }
    free(cdf);
    return TR_RANDOM_DONE;
}

static double next_of(void *m) {
    return tr_rt_mt_double(m);
}

int64_t tr_rt_np_choose(int64_t again, void *owner, int64_t *data, int64_t n, void *powner, const double *p,
                        int64_t np) {
    (void)owner;
    (void)powner;
    int64_t done = tr_random_choose(next_of, tr_rt_mt_np(), again, data, n, p, np);
    tr_rt_look();
    return done;
}

/* --- order --- */

void tr_random_swap(char *x, char *y, int64_t size) {
    char t[16];
    memcpy(t, x, (size_t)size);
    memcpy(x, y, (size_t)size);
    memcpy(y, t, (size_t)size);
}

void tr_rt_shuffle(int64_t python, int64_t size, void *owner, char *data, int64_t n, int64_t stride) {
    tr_mt *m = tr_rt_mt_np();
    (void)owner;
    for (int64_t i = n - 1; i > 0; i--) {
        uint64_t k = (uint64_t)i;
        int64_t j = (int64_t)(python ? tr_rt_py_below(k + 1) : up_to(m, k, mask_of(k)));
        if (i != j)
            tr_random_swap(data + i * stride * size, data + j * stride * size, size);
    }
    tr_rt_look();
}
