/* np.random.Generator in compiled code: NumPy's numbers, bit for bit, out of the bit
 * generator that the Python object has.
 *
 * NumPy may change its distributions from version to version, so they are not written again here but found in
 * the NumPy that runs: its module numpy.random._generator has them as C functions, those of
 * numpy/random/distributions.h, which keep their signatures. What programs draw most, numbers of [0, 1),
 * normal and exponential ones and integers in a range, is made here, for the bit generators whose state is
 * known (gen.h) without a call; NumPy calls those through a pointer for each number. The tables of normal and
 * exponential numbers are asked of NumPy's functions, given words one by one, when they are found; where
 * these turn out to be made in another way they are called for each number. `g` is the address of the
 * object's bitgen_t. The caller of compiled code has the object, so it lives as long. Nothing locks: a
 * Generator is one stream, and two threads that draw from one must take turns themselves, as docs/guide.md
 * says; the compiler refuses loops that would draw on all cores.
 * A state changes in functions of the runtime, which a call is never left from, and that of
 * PCG64 in compiled code (lower/random.c).
 * Sources: PCG64 by M. O'Neill 2014 (PCG XSL RR 128/64); SFC64 by C. Doty-Humphrey; MT19937 as in mt.c;
 * integers by D. Lemire 2019; samples by R. Floyd 1987.
 * Cost: 2 to 5 ns for a number of [0, 1) by itself, 1 to 2 in a row; a third of NumPy's time for normal ones,
 * of the others NumPy's. 1 ms when the functions are found. */
#include "rt/gen.h"

#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "rt/enter.h"
#include "rt/fns.h"
#include "rt/random.h"
#include "rt/rt.h"

/* What NumPy remembers between two binomial numbers of the same parameters, and room to
 * spare; all 0: nothing. */
typedef struct memory {
    uint64_t room[64];
} memory;

/* X(result, name, parameters) */
#define FUNCTIONS(X)                                                                                      \
    X(double, standard_normal, (tr_bitgen *))                                                             \
    X(double, standard_exponential, (tr_bitgen *))                                                        \
    X(double, standard_gamma, (tr_bitgen *, double))                                                      \
    X(float, standard_normal_f, (tr_bitgen *))                                                            \
    X(float, standard_exponential_f, (tr_bitgen *))                                                       \
    X(float, standard_gamma_f, (tr_bitgen *, float))                                                      \
    X(void, standard_exponential_inv_fill, (tr_bitgen *, intptr_t, double *))                             \
    X(void, standard_exponential_inv_fill_f, (tr_bitgen *, intptr_t, float *))                            \
    X(double, beta, (tr_bitgen *, double, double))                                                        \
    X(double, chisquare, (tr_bitgen *, double))                                                           \
    X(double, f, (tr_bitgen *, double, double))                                                           \
    X(double, gamma, (tr_bitgen *, double, double))                                                       \
    X(double, gumbel, (tr_bitgen *, double, double))                                                      \
    X(double, laplace, (tr_bitgen *, double, double))                                                     \
    X(double, logistic, (tr_bitgen *, double, double))                                                    \
    X(double, lognormal, (tr_bitgen *, double, double))                                                   \
    X(double, noncentral_chisquare, (tr_bitgen *, double, double))                                        \
    X(double, noncentral_f, (tr_bitgen *, double, double, double))                                        \
    X(double, pareto, (tr_bitgen *, double))                                                              \
    X(double, power, (tr_bitgen *, double))                                                               \
    X(double, rayleigh, (tr_bitgen *, double))                                                            \
    X(double, standard_cauchy, (tr_bitgen *))                                                             \
    X(double, standard_t, (tr_bitgen *, double))                                                          \
    X(double, triangular, (tr_bitgen *, double, double, double))                                          \
    X(double, vonmises, (tr_bitgen *, double, double))                                                    \
    X(double, wald, (tr_bitgen *, double, double))                                                        \
    X(double, weibull, (tr_bitgen *, double))                                                             \
    X(int64_t, binomial, (tr_bitgen *, double, int64_t, memory *))                                        \
    X(int64_t, geometric, (tr_bitgen *, double))                                                          \
    X(int64_t, hypergeometric, (tr_bitgen *, int64_t, int64_t, int64_t))                                  \
    X(int64_t, logseries, (tr_bitgen *, double))                                                          \
    X(int64_t, negative_binomial, (tr_bitgen *, double, double))                                          \
    X(int64_t, poisson, (tr_bitgen *, double))                                                            \
    X(int64_t, zipf, (tr_bitgen *, double))                                                               \
    X(void, multinomial, (tr_bitgen *, int64_t, int64_t *, double *, intptr_t, memory *))                 \
    X(void, bounded_uint64_fill, (tr_bitgen *, uint64_t, uint64_t, intptr_t, bool, uint64_t *))           \
    X(void, bounded_uint32_fill, (tr_bitgen *, uint32_t, uint32_t, intptr_t, bool, uint32_t *))           \
    X(void, bounded_uint16_fill, (tr_bitgen *, uint16_t, uint16_t, intptr_t, bool, uint16_t *))           \
    X(void, bounded_uint8_fill, (tr_bitgen *, uint8_t, uint8_t, intptr_t, bool, uint8_t *))               \
    X(uint16_t, buffered_bounded_uint16,                                                                  \
      (tr_bitgen *, uint16_t, uint16_t, uint16_t, bool, int *, uint32_t *))                               \
    X(uint8_t, buffered_bounded_uint8, (tr_bitgen *, uint8_t, uint8_t, uint8_t, bool, int *, uint32_t *)) \
    X(uint8_t, buffered_bounded_bool, (tr_bitgen *, uint8_t, uint8_t, uint8_t, bool, int *, uint32_t *))  \
    X(void, bounded_bool_fill, (tr_bitgen *, uint8_t, uint8_t, intptr_t, bool, uint8_t *))

typedef struct functions {
#define X(result, name, params) result(*name) params;
    FUNCTIONS(X)
#undef X
} functions;

/* Normal and exponential numbers by layers (the ziggurat of G. Marsaglia, W. Tsang 2000): of 64 bits some
 * name the layer, the others, times its width, are the number, if they are below what lies inside of all of
 * it, as 99 in 100 are. Where `known`, the tables are those of NumPy's function. */
typedef struct layers {
    double width[256];
    uint64_t inside[256]; /* none, before they are known */
    bool known;
} layers;

/* State of the process: NumPy's functions, written once, before there is a Generator in compiled code. */
static struct {
    pthread_mutex_t lock;
    bool found;
    functions fn;
    layers normal, exponential;
} numpy = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *find_all(void *lib, functions *to) {
    static const struct {
        const char *name;
        size_t at;
    } all[] = {
#define X(result, name, params) {"random_" #name, offsetof(functions, name)},
        FUNCTIONS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        void *p = dlsym(lib, all[i].name);
        if (!p)
            return all[i].name;
        memcpy((char *)to + all[i].at, &p, sizeof p);
    }
    return NULL;
}

/* --- the layers: NumPy's function is asked --- */

/* The number that a word stands for, if it lies inside of its layer. No jump by the sign, which
 * would be guessed wrong every other time. */
static inline __attribute__((always_inline)) bool inside(const layers *l, const tr_word *r, uint64_t word,
                                                         double *x) {
    unsigned k = word >> r->layer & 0xff;
    uint64_t rest = word >> r->rest & tr_word_mask(r), bits;
    double v = (double)(int64_t)rest * l->width[k];
    if (r->sign < TR_NO_SIGN) {
        memcpy(&bits, &v, sizeof bits);
        bits ^= (word >> (r->sign & 63) & 1) << 63;
        memcpy(&v, &bits, sizeof v);
    }
    *x = v;
    return rest < l->inside[k];
}

/* A bit generator that gives one word, then what ends any distribution, and counts. */
typedef struct probe {
    uint64_t word;
    int asked;
} probe;
static uint64_t probe_64(void *p) {
    probe *a = p;
    return a->asked++ ? 0 : a->word;
}
static uint32_t probe_32(void *p) {
    return (uint32_t)probe_64(p);
}
static double probe_double(void *p) {
    ((probe *)p)->asked++;
    return 0.5;
}

typedef double (*one_number)(tr_bitgen *);

/* What the function makes of a word; whether it asked for that alone. */
static bool asks_once(one_number f, uint64_t word, double *x) {
    probe p = {word, 0};
    tr_bitgen g = {&p, probe_64, probe_32, probe_double, probe_64};
    *x = f(&g);
    return p.asked == 1;
}

static void learn(layers *l, one_number f, const tr_word *r) {
    double x, y;
    for (unsigned k = 0; k < 256; k++) {
        uint64_t layer = (uint64_t)k << r->layer, low = 0, high = UINT64_C(1) << r->bits;
        l->width[k] = asks_once(f, layer | UINT64_C(1) << r->rest, &x) ? x : 0;
        while (low < high) { /* the least that is not inside */
            uint64_t mid = low + (high - low) / 2;
            if (asks_once(f, layer | mid << r->rest, &x))
                low = mid + 1;
            else
                high = mid;
        }
        l->inside[k] = low;
    }
    l->known = true; /* if the function is made as was thought: */
    uint64_t word = 1;
    for (int i = 0; i < 4096 && l->known; i++) {
        word = word * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t mixed = word ^ word >> 29;
        bool once = asks_once(f, mixed, &x), in = inside(l, r, mixed, &y);
        l->known = once == in && (!in || memcmp(&x, &y, sizeof x) == 0);
    }
    if (!l->known)
        memset(l->inside, 0, sizeof l->inside);
}

const char *tr_rt_gen_find(const char *path) {
    const char *missing = NULL;
    pthread_mutex_lock(&numpy.lock);
    if (!numpy.found) {
        functions fn;
        void *lib =
            dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD); /* a module of Python's: it is never closed */
        missing = lib ? find_all(lib, &fn) : "random_standard_normal";
        if (!missing) {
            numpy.fn = fn;
            learn(&numpy.normal, fn.standard_normal, &tr_normal_word);
            learn(&numpy.exponential, fn.standard_exponential, &tr_exponential_word);
            numpy.found = true;
        }
    }
    pthread_mutex_unlock(&numpy.lock);
    return missing;
}

/* --- bits --- */

typedef unsigned __int128 u128;

static tr_bitgen *bitgen(int64_t g) {
    return (tr_bitgen *)(uintptr_t)g;
}

static inline u128 joined(const uint64_t *x) {
    return (u128)x[1] << 64 | x[0];
}
static inline u128 pcg64_factor(void) {
    static const uint64_t words[2] = TR_PCG64_FACTOR;
    return joined(words);
}
static inline uint64_t pcg64_out(u128 x) {
    uint64_t v = (uint64_t)(x >> 64) ^ (uint64_t)x;
    unsigned by = (unsigned)(x >> 122);
    return v >> by | v << (-by & 63);
}
static inline uint64_t pcg64_next(const tr_gen_pcg64 *s) {
    u128 x = joined(s->of->state) * pcg64_factor() + joined(s->of->inc);
    s->of->state[0] = (uint64_t)x;
    s->of->state[1] = (uint64_t)(x >> 64);
    return pcg64_out(x);
}

static inline uint64_t sfc64_next(tr_gen_sfc64 *t) {
    uint64_t *s = t->s, x = s[0] + s[1] + s[3]++;
    s[0] = s[1] ^ s[1] >> 11;
    s[1] = s[2] + (s[2] << 3);
    s[2] = (s[2] << 24 | s[2] >> 40) + x;
    return x;
}

static inline uint32_t tempered(uint32_t y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ y >> 18;
}

static inline double of_53(uint64_t x) {
    return (double)(int64_t)(x >> 11) * 0x1p-53;
}

static inline __attribute__((always_inline)) uint64_t next64(int64_t which, tr_bitgen *g) {
    switch (which) {
    case TR_GEN_PCG64: return pcg64_next(g->state);
    case TR_GEN_SFC64: return sfc64_next(g->state);
    case TR_GEN_MT19937: {
        tr_gen_mt19937 *s = g->state;
        if (__builtin_expect(s->pos + 2 <= TR_MT_WORDS, 1)) {
            uint64_t high = tempered(s->key[s->pos]);
            s->pos += 2;
            return high << 32 | tempered(s->key[s->pos - 1]);
        }
    }
    /* fall through */
    default: return g->next_uint64(g->state);
    }
}

/* The upper half of 64 bits is kept for the next time. */
#define HALF(s, next)                    \
    do {                                 \
        if ((s)->has_half) {             \
            (s)->has_half = 0;           \
            return (s)->half;            \
        }                                \
        uint64_t x = next(s);            \
        (s)->has_half = 1;               \
        (s)->half = (uint32_t)(x >> 32); \
        return (uint32_t)x;              \
    } while (0)

static inline __attribute__((always_inline)) uint32_t next32(int64_t which, tr_bitgen *g) {
    if (which == TR_GEN_PCG64) {
        tr_gen_pcg64 *s = g->state;
        HALF(s, pcg64_next);
    }
    if (which == TR_GEN_SFC64) {
        tr_gen_sfc64 *s = g->state;
        HALF(s, sfc64_next);
    }
    if (which == TR_GEN_MT19937) {
        tr_gen_mt19937 *s = g->state;
        if (__builtin_expect(s->pos < TR_MT_WORDS, 1))
            return tempered(s->key[s->pos++]);
    }
    return g->next_uint32(g->state);
}

static inline __attribute__((always_inline)) double next_double(int64_t which, tr_bitgen *g) {
    if (which == TR_GEN_PCG64)
        return of_53(pcg64_next(g->state));
    if (which == TR_GEN_SFC64)
        return of_53(sfc64_next(g->state));
    if (which == TR_GEN_MT19937) {
        tr_gen_mt19937 *s = g->state;
        if (__builtin_expect(s->pos + 2 <= TR_MT_WORDS, 1)) {
            s->pos += 2;
            return tr_rt_mt_double_of(tempered(s->key[s->pos - 2]), tempered(s->key[s->pos - 1]));
        }
    }
    return g->next_double(g->state);
}

/* --- numbers of [0, 1) --- */

double tr_rt_gen_random(int64_t which, int64_t g) {
    return next_double(which, bitgen(g));
}

/* Four numbers do not wait for each other: each goes four steps at once. */
static int64_t fill_pcg64(tr_gen_pcg64 *s, double *to, int64_t n) {
    u128 x = joined(s->of->state), a = pcg64_factor(), c = joined(s->of->inc), lane[4];
    int64_t i = 0;
    if (n < 4)
        return 0;
    for (int k = 0; k < 4; k++)
        lane[k] = x = x * a + c;
    c = (a + 1) * c;
    a *= a;
    c = (a + 1) * c;
    a *= a;
    for (;;) {
        for (int k = 0; k < 4; k++)
            to[i + k] = of_53(pcg64_out(lane[k]));
        i += 4;
        if (i + 4 > n)
            break;
        for (int k = 0; k < 4; k++)
            lane[k] = lane[k] * a + c;
    }
    s->of->state[0] = (uint64_t)lane[3];
    s->of->state[1] = (uint64_t)(lane[3] >> 64);
    return i;
}

static int64_t fill_sfc64(tr_gen_sfc64 *t, double *to, int64_t n) {
    tr_gen_sfc64 s = *t;
    for (int64_t i = 0; i < n; i++)
        to[i] = of_53(sfc64_next(&s));
    *t = s;
    return n;
}

/* What the state has left, then a number that makes a new one. */
static int64_t fill_mt19937(tr_gen_mt19937 *s, double *to, int64_t n) {
    int64_t have = (TR_MT_WORDS - s->pos) / 2;
    have = have < n ? have : n;
    const uint32_t *key = s->key + s->pos;
    for (int64_t i = 0; i < have; i++)
        to[i] = tr_rt_mt_double_of(tempered(key[2 * i]), tempered(key[2 * i + 1]));
    s->pos += (int)(2 * have);
    return have;
}

static void fill_random(int64_t which, tr_bitgen *g, double *to, int64_t n) {
    int64_t i = 0;
    if (which == TR_GEN_PCG64)
        i = fill_pcg64(g->state, to, n);
    else if (which == TR_GEN_SFC64)
        i = fill_sfc64(g->state, to, n);
    for (; i < n; i++) {
        if (which == TR_GEN_MT19937)
            i += fill_mt19937(g->state, to + i, n - i);
        if (i < n)
            to[i] = g->next_double(g->state);
    }
}

/* --- normal and exponential numbers --- */

/* A bit generator that gives the word that was drawn once more. */
typedef struct again {
    tr_bitgen *g;
    uint64_t word;
    bool given;
} again;
static uint64_t again_64(void *p) {
    again *a = p;
    if (a->given)
        return a->g->next_uint64(a->g->state);
    a->given = true;
    return a->word;
}
static uint32_t again_32(void *p) {
    const again *a = p;
    return a->g->next_uint32(a->g->state);
}
static double again_double(void *p) {
    const again *a = p;
    return a->g->next_double(a->g->state);
}

static __attribute__((noinline)) double outside(one_number f, tr_bitgen *g, uint64_t word) {
    again a = {g, word, false};
    tr_bitgen first = {&a, again_64, again_32, again_double, again_64};
    return f(&first);
}

static inline __attribute__((always_inline)) double by_layers(int64_t which, tr_bitgen *g, const layers *l,
                                                              const tr_word *r, one_number f) {
    double x;
    if (__builtin_expect(!l->known, 0))
        return f(g);
    uint64_t word = next64(which, g);
    return __builtin_expect(inside(l, r, word, &x), 1) ? x : outside(f, g, word);
}
static inline __attribute__((always_inline)) double gauss(int64_t which, tr_bitgen *g) {
    return by_layers(which, g, &numpy.normal, &tr_normal_word, numpy.fn.standard_normal);
}
static inline __attribute__((always_inline)) double exponential(int64_t which, tr_bitgen *g) {
    return by_layers(which, g, &numpy.exponential, &tr_exponential_word, numpy.fn.standard_exponential);
}

void *tr_rt_gen_layers(int64_t what) {
    return what == TR_RANDOM_GAUSS ? &numpy.normal : &numpy.exponential;
}

double tr_rt_gen_outside(int64_t what, int64_t g, uint64_t word) {
    return outside(what == TR_RANDOM_GAUSS ? numpy.fn.standard_normal : numpy.fn.standard_exponential,
                   bitgen(g), word);
}

/* --- floats --- */

static double draw(int64_t which, tr_bitgen *g, int64_t what, double a, double b, double c) {
    const functions *np = &numpy.fn;
    double x;
    switch (what) {
    case TR_RANDOM_BETA: return np->beta(g, a, b);
    case TR_RANDOM_CHISQUARE: return np->chisquare(g, a);
    case TR_RANDOM_EXPONENTIAL: return a * exponential(which, g);
    case TR_RANDOM_F: return np->f(g, a, b);
    case TR_RANDOM_GAMMA: return np->gamma(g, a, b);
    case TR_RANDOM_STANDARD_GAMMA: return np->standard_gamma(g, a);
    case TR_RANDOM_GAUSS: return gauss(which, g);
    case TR_RANDOM_GUMBEL: return np->gumbel(g, a, b);
    case TR_RANDOM_INVERSE: np->standard_exponential_inv_fill(g, 1, &x); return x;
    case TR_RANDOM_LAPLACE: return np->laplace(g, a, b);
    case TR_RANDOM_LOGISTIC: return np->logistic(g, a, b);
    case TR_RANDOM_LOGNORMAL: return np->lognormal(g, a, b);
    case TR_RANDOM_NONCENTRAL_CHISQUARE: return np->noncentral_chisquare(g, a, b);
    case TR_RANDOM_NONCENTRAL_F: return np->noncentral_f(g, a, b, c);
    case TR_RANDOM_NORMAL: return a + b * gauss(which, g);
    case TR_RANDOM_PARETO: return np->pareto(g, a);
    case TR_RANDOM_POWER: return np->power(g, a);
    case TR_RANDOM_RAYLEIGH: return np->rayleigh(g, a);
    case TR_RANDOM_CAUCHY: return np->standard_cauchy(g);
    case TR_RANDOM_STANDARD_EXPONENTIAL: return exponential(which, g);
    case TR_RANDOM_T: return np->standard_t(g, a);
    case TR_RANDOM_TRIANGULAR: return np->triangular(g, a, b, c);
    case TR_RANDOM_UNIFORM: return a + b * next_double(which, g);
    case TR_RANDOM_VONMISES: return np->vonmises(g, a, b);
    case TR_RANDOM_WALD: return np->wald(g, a, b);
    case TR_RANDOM_WEIBULL: return np->weibull(g, a);
    default: return next_double(which, g);
    }
}

double tr_rt_gen_gauss(int64_t which, int64_t g) {
    return gauss(which, bitgen(g));
}

double tr_rt_gen_exponential(int64_t which, int64_t g) {
    return exponential(which, bitgen(g));
}

double tr_rt_gen_float(int64_t which, int64_t g, int64_t what, double a, double b, double c) {
    return draw(which, bitgen(g), what, a, b, c);
}

void tr_rt_gen_fill(int64_t which, int64_t g, int64_t what, void *owner, double *data, int64_t n, double a,
                    double b, double c) {
    (void)owner;
    for (int64_t i = 0; i < n;) {
        int64_t end = tr_random_stretch(i, n);
        if (what == TR_RANDOM_RANDOM) {
            fill_random(which, bitgen(g), data + i, end - i);
            i = end;
        } else if (what == TR_RANDOM_GAUSS && which == TR_GEN_PCG64) {
            for (; i < end; i++)
                data[i] = gauss(TR_GEN_PCG64, bitgen(g));
        } else if (what == TR_RANDOM_STANDARD_EXPONENTIAL && which == TR_GEN_PCG64) {
            for (; i < end; i++)
                data[i] = exponential(TR_GEN_PCG64, bitgen(g));
        } else {
            for (; i < end; i++)
                data[i] = draw(which, bitgen(g), what, a, b, c);
        }
        tr_rt_look();
    }
}

void tr_rt_gen_each(int64_t which, int64_t g, int64_t what, void *owner, double *data, int64_t n,
                    void *aowner, const double *a, int64_t an, int64_t as, void *bowner, const double *b,
                    int64_t bn, int64_t bs, void *cowner, const double *c, int64_t cn, int64_t cs) {
    (void)owner, (void)aowner, (void)bowner, (void)cowner, (void)an, (void)bn, (void)cn;
    for (int64_t i = 0; i < n;) {
        for (int64_t end = tr_random_stretch(i, n); i < end; i++)
            data[i] = draw(which, bitgen(g), what, a[i * as], b[i * bs], c[i * cs]);
        tr_rt_look();
    }
}

/* --- float32 --- */

static float draw32(int64_t which, tr_bitgen *g, int64_t what, float shape) {
    float x;
    switch (what) {
    case TR_RANDOM_GAUSS: return numpy.fn.standard_normal_f(g);
    case TR_RANDOM_STANDARD_EXPONENTIAL: return numpy.fn.standard_exponential_f(g);
    case TR_RANDOM_STANDARD_GAMMA: return numpy.fn.standard_gamma_f(g, shape);
    case TR_RANDOM_INVERSE: numpy.fn.standard_exponential_inv_fill_f(g, 1, &x); return x;
    default: return (float)(next32(which, g) >> 8) * 0x1p-24f;
    }
}

float tr_rt_gen_float32(int64_t which, int64_t g, int64_t what, float shape) {
    return draw32(which, bitgen(g), what, shape);
}

void tr_rt_gen_fill32(int64_t which, int64_t g, int64_t what, void *owner, float *data, int64_t n,
                      float shape) {
    (void)owner;
    for (int64_t i = 0; i < n;) {
        for (int64_t end = tr_random_stretch(i, n); i < end; i++)
            data[i] = draw32(which, bitgen(g), what, shape);
        tr_rt_look();
    }
}

/* --- whole numbers in a range: a product's upper half, and what would make some of them
 * likelier is drawn again --- */

static inline __attribute__((always_inline)) uint64_t up_to(int64_t which, tr_bitgen *g, uint64_t most) {
    if (most < UINT32_MAX) {
        if (!most)
            return 0;
        uint32_t n = (uint32_t)most + 1;
        uint64_t x = (uint64_t)next32(which, g) * n;
        if (__builtin_expect((uint32_t)x < n, 0)) {
            uint32_t least = (UINT32_MAX - (uint32_t)most) % n;
            while ((uint32_t)x < least)
                x = (uint64_t)next32(which, g) * n;
        }
        return x >> 32;
    }
    if (most == UINT32_MAX)
        return next32(which, g);
    if (most == UINT64_MAX)
        return next64(which, g);
    uint64_t n = most + 1;
    u128 x = (u128)next64(which, g) * n;
    if (__builtin_expect((uint64_t)x < n, 0)) {
        uint64_t least = (UINT64_MAX - most) % n;
        while ((uint64_t)x < least)
            x = (u128)next64(which, g) * n;
    }
    return (uint64_t)(x >> 64);
}

uint64_t tr_rt_gen_up_to(int64_t which, int64_t g, uint64_t most) {
    return up_to(which, bitgen(g), most);
}

/* Of 1, 8 or 16 bits: NumPy uses a word up before it draws the next one, and what is left
 * of the last one is lost. */
static void fill_pieces(tr_bitgen *g, int64_t bits, void *to, int64_t n, uint64_t low, uint64_t most) {
    if (bits == 1)
        numpy.fn.bounded_bool_fill(g, (uint8_t)low, (uint8_t)most, n, false, to);
    else if (bits == 8)
        numpy.fn.bounded_uint8_fill(g, (uint8_t)low, (uint8_t)most, n, false, to);
    else
        numpy.fn.bounded_uint16_fill(g, (uint16_t)low, (uint16_t)most, n, false, to);
}

/* One of several numbers, each up to its own `most`; of the last word that pieces were
 * taken from so many are left. */
static uint64_t next_piece_or(int64_t which, tr_bitgen *g, int64_t bits, uint64_t most, int *left,
                              uint32_t *word) {
    const functions *np = &numpy.fn;
    switch (bits) {
    case 1: return np->buffered_bounded_bool(g, 0, most != 0, 1, false, left, word);
    case 8: return np->buffered_bounded_uint8(g, 0, (uint8_t)most, 0, false, left, word);
    case 16: return np->buffered_bounded_uint16(g, 0, (uint16_t)most, 0, false, left, word);
    default: return up_to(which, g, most);
    }
}

uint64_t tr_rt_gen_piece(int64_t which, int64_t g, int64_t bits, uint64_t most) {
    uint16_t x = 0;
    (void)which;
    fill_pieces(bitgen(g), bits, &x, 1, 0, most);
    return x;
}

void tr_rt_gen_fill_ints(int64_t which, int64_t g, int64_t bits, void *owner, void *data, int64_t n,
                         uint64_t low, uint64_t most) {
    (void)owner;
    if (bits < 32)
        fill_pieces(bitgen(g), bits, data, n, low, most);
    for (int64_t i = 0; bits >= 32 && i < n;) {
        int64_t end = tr_random_stretch(i, n);
        if (bits == 32)
            for (; i < end; i++)
                ((uint32_t *)data)[i] = (uint32_t)(low + up_to(which, bitgen(g), most));
        else
            for (; i < end; i++)
                ((uint64_t *)data)[i] = low + up_to(which, bitgen(g), most);
        tr_rt_look();
    }
    tr_rt_look();
}

void tr_rt_gen_each_int(int64_t which, int64_t g, int64_t bits, void *owner, void *data, int64_t n,
                        void *lowner, const uint64_t *low, int64_t ln, int64_t ls, void *mowner,
                        const uint64_t *most, int64_t mn, int64_t ms) {
    int left = 0;
    uint32_t word = 0;
    (void)owner, (void)lowner, (void)mowner, (void)ln, (void)mn;
    for (int64_t i = 0; i < n;) {
        for (int64_t end = tr_random_stretch(i, n); i < end; i++) {
            uint64_t x = next_piece_or(which, bitgen(g), bits, most[i * ms], &left, &word);
            tr_random_put(data, i, bits, low[i * ls] + x);
        }
        tr_rt_look();
    }
}

/* --- counts --- */

static int64_t count(tr_bitgen *g, int64_t what, int64_t n, double a, double b, memory *m) {
    const functions *np = &numpy.fn;
    switch (what) {
    case TR_RANDOM_BINOMIAL: return np->binomial(g, a, n, m);
    case TR_RANDOM_GEOMETRIC: return np->geometric(g, a);
    case TR_RANDOM_LOGSERIES: return np->logseries(g, a);
    case TR_RANDOM_NEGATIVE_BINOMIAL: return np->negative_binomial(g, a, b);
    case TR_RANDOM_POISSON: return np->poisson(g, a);
    default: return np->zipf(g, a);
    }
}

int64_t tr_rt_gen_count(int64_t which, int64_t g, int64_t what, int64_t n, double a, double b) {
    memory m;
    (void)which;
    if (what == TR_RANDOM_BINOMIAL)
        memset(&m, 0, sizeof m);
    return count(bitgen(g), what, n, a, b, &m);
}

void tr_rt_gen_fill_counts(int64_t which, int64_t g, int64_t what, void *owner, int64_t *data, int64_t length,
                           int64_t n, double a, double b) {
    memory m = {{0}};
    (void)which, (void)owner;
    for (int64_t i = 0; i < length;) {
        for (int64_t end = tr_random_stretch(i, length); i < end; i++)
            data[i] = count(bitgen(g), what, n, a, b, &m);
        tr_rt_look();
    }
}

void tr_rt_gen_each_count(int64_t which, int64_t g, int64_t what, void *owner, int64_t *data, int64_t n,
                          void *kowner, const int64_t *k, int64_t kn, int64_t ks, void *aowner,
                          const double *a, int64_t an, int64_t as, void *bowner, const double *b, int64_t bn,
                          int64_t bs) {
    memory m = {{0}};
    (void)which, (void)owner, (void)kowner, (void)aowner, (void)bowner, (void)kn, (void)an, (void)bn;
    for (int64_t i = 0; i < n;) {
        for (int64_t end = tr_random_stretch(i, n); i < end; i++)
            data[i] = count(bitgen(g), what, k[i * ks], a[i * as], b[i * bs], &m);
        tr_rt_look();
    }
}

int64_t tr_rt_gen_hypergeometric(int64_t which, int64_t g, int64_t good, int64_t bad, int64_t sample) {
    (void)which;
    return numpy.fn.hypergeometric(bitgen(g), good, bad, sample);
}

void tr_rt_gen_fill_hypergeometric(int64_t which, int64_t g, void *owner, int64_t *data, int64_t n,
                                   int64_t good, int64_t bad, int64_t sample) {
    (void)which, (void)owner;
    for (int64_t i = 0; i < n;) {
        for (int64_t end = tr_random_stretch(i, n); i < end; i++)
            data[i] = numpy.fn.hypergeometric(bitgen(g), good, bad, sample);
        tr_rt_look();
    }
}

void tr_rt_gen_each_hypergeometric(int64_t which, int64_t g, void *owner, int64_t *data, int64_t n,
                                   void *gowner, const int64_t *good, int64_t gn, int64_t gs, void *bowner,
                                   const int64_t *bad, int64_t bn, int64_t bs, void *sowner,
                                   const int64_t *sample, int64_t sn, int64_t ss) {
    (void)which, (void)owner, (void)gowner, (void)bowner, (void)sowner, (void)gn, (void)bn, (void)sn;
    for (int64_t i = 0; i < n;) {
        for (int64_t end = tr_random_stretch(i, n); i < end; i++)
            data[i] = numpy.fn.hypergeometric(bitgen(g), good[i * gs], bad[i * bs], sample[i * ss]);
        tr_rt_look();
    }
}

/* --- several at once --- */

int64_t tr_rt_gen_multinomial(int64_t which, int64_t g, int64_t n, void *owner, int64_t *data, int64_t length,
                              void *powner, double *p, int64_t np) {
    memory m = {{0}};
    (void)which, (void)owner, (void)powner;
    int64_t bad = tr_random_parts(p, np);
    if (bad)
        return bad;
    memset(data, 0, (size_t)length * sizeof *data);
    for (int64_t i = 0; np && i + np <= length; i += np)
        numpy.fn.multinomial(bitgen(g), n, data + i, p, np, &m);
    tr_rt_look();
    return TR_RANDOM_DONE;
}

int64_t tr_rt_gen_multinomials(int64_t which, int64_t g, void *nowner, const int64_t *n, int64_t nn,
                               int64_t ns, void *rowner, const int64_t *row, int64_t rn, int64_t rs,
                               void *owner, int64_t *data, int64_t length, void *powner, double *p,
                               int64_t np, int64_t parts) {
    memory m = {{0}};
    (void)which, (void)nowner, (void)rowner, (void)owner, (void)powner, (void)rn;
    for (int64_t at = 0; at < np; at += parts) {
        int64_t bad = tr_random_parts(p + at, parts);
        if (bad)
            return bad;
    }
    memset(data, 0, (size_t)length * sizeof *data);
    for (int64_t i = 0; i < nn; i++)
        numpy.fn.multinomial(bitgen(g), n[i * ns], data + i * parts, p + row[i * rs] * parts, parts, &m);
    tr_rt_look();
    return TR_RANDOM_DONE;
}

static void normalised(tr_bitgen *g, double *to, const double *alpha, int64_t n) {
    double sum = 0.0;
    for (int64_t j = 0; j < n; j++) {
        to[j] = numpy.fn.standard_gamma(g, alpha[j]);
        sum = sum + to[j];
    }
    double inv = 1. / sum;
    for (int64_t j = 0; j < n; j++)
        to[j] = to[j] * inv;
}

/* Small alphas: parts are broken off a stick one after the other. What `rest` has of those
 * that come after; `to` is all 0. */
static void broken(tr_bitgen *g, double *to, const double *alpha, const double *rest, int64_t n) {
    double left = 1.;
    for (int64_t j = 0; j < n - 1; j++) {
        double v = numpy.fn.beta(g, alpha[j], rest[j + 1]);
        to[j] = left * v;
        left *= 1. - v;
        if (rest[j + 1] == 0)
            break;
    }
    to[n - 1] = left;
}

int64_t tr_rt_gen_dirichlet(int64_t which, int64_t g, void *owner, double *data, int64_t length, void *aowner,
                            const double *alpha, int64_t n) {
    bool small = n > 0; /* of NaN it is not true */
    (void)which, (void)owner, (void)aowner;
    for (int64_t j = 0; j < n; j++) {
        if (alpha[j] < 0)
            return TR_RANDOM_RANGE;
        small = small && alpha[j] < 0.1;
    }
    double *rest = small ? malloc((size_t)n * sizeof *rest) : NULL;
    if (small && !rest)
        return TR_RANDOM_MEMORY;
    double sum = 0.0;
    for (int64_t j = n - 1; rest && j >= 0; j--)
        rest[j] = sum += alpha[j];
    memset(data, 0, (size_t)length * sizeof *data);
    for (int64_t i = 0; n && i + n <= length; i += n) {
        if (!rest)
            normalised(bitgen(g), data + i, alpha, n);
        else if (sum > 0)
            broken(bitgen(g), data + i, alpha, rest, n);
    }
    free(rest);
    tr_rt_look();
    return TR_RANDOM_DONE;
}

/* --- choices --- */

typedef struct source {
    int64_t which;
    tr_bitgen *g;
} source;

static double next_of(void *user) {
    const source *s = user;
    return next_double(s->which, s->g);
}

int64_t tr_rt_gen_choose(int64_t which, int64_t g, int64_t repeats, void *owner, int64_t *data, int64_t n,
                         void *powner, const double *p, int64_t np) {
    source s = {which, bitgen(g)};
    (void)owner, (void)powner;
    int64_t done = tr_random_choose(next_of, &s, repeats, data, n, p, np);
    tr_rt_look();
    return done;
}

/* The items from `first` on find their places. */
static void shuffle_ints(int64_t which, tr_bitgen *g, int64_t *data, int64_t n, int64_t first) {
    for (int64_t i = n - 1; i >= first; i--) {
        int64_t j = (int64_t)up_to(which, g, (uint64_t)i), x = data[j];
        data[j] = data[i];
        data[i] = x;
    }
}

/* The last n of all numbers below `pop`, when these have found their places from the end. */
static bool tail(int64_t which, tr_bitgen *g, int64_t *to, int64_t n, int64_t pop) {
    int64_t *all = malloc((size_t)pop * sizeof *all);
    if (!all)
        return false;
    for (int64_t i = 0; i < pop; i++)
        all[i] = i;
    shuffle_ints(which, g, all, pop, pop - n > 1 ? pop - n : 1);
    memcpy(to, all + (pop - n), (size_t)n * sizeof *to);
    free(all);
    return true;
}

/* Floyd's sample: of the numbers up to each j one that is not there yet, or j itself. `seen` has mask + 1
 * places, of which more than n are free. */
static void sample(int64_t which, tr_bitgen *g, int64_t *to, int64_t n, int64_t pop, uint64_t *seen,
                   uint64_t mask) {
    const uint64_t none = UINT64_MAX;
    for (int64_t j = pop - n; j < pop; j++) {
        uint64_t x = up_to(which, g, (uint64_t)j), at = x & mask;
        while (seen[at] != none && seen[at] != x)
            at = (at + 1) & mask;
        if (seen[at] == x) {
            x = (uint64_t)j;
            for (at = x & mask; seen[at] != none; at = (at + 1) & mask)
                ;
        }
        seen[at] = x;
        to[j - pop + n] = (int64_t)x;
    }
}

int64_t tr_rt_gen_some(int64_t which, int64_t g, int64_t shuffled, void *owner, int64_t *data, int64_t n,
                       int64_t pop) {
    (void)owner;
    assert(n <= pop);
    if (pop > 10000 && n > pop / (shuffled ? 50 : 20)) {
        if (!tail(which, bitgen(g), data, n, pop))
            return TR_RANDOM_MEMORY;
    } else {
        uint64_t size = (uint64_t)(1.2 * (double)n), mask = size ? UINT64_MAX >> __builtin_clzll(size) : 0;
        uint64_t *seen = malloc((mask + 1) * sizeof *seen);
        if (!seen)
            return TR_RANDOM_MEMORY;
        memset(seen, 0xff, (mask + 1) * sizeof *seen);
        sample(which, bitgen(g), data, n, pop, seen, mask);
        free(seen);
        if (shuffled)
            shuffle_ints(which, bitgen(g), data, n, 1);
    }
    tr_rt_look();
    return TR_RANDOM_DONE;
}

/* --- order --- */

/* By a mask, and what is too large is drawn again. */
static inline __attribute__((always_inline)) uint64_t masked_up_to(int64_t which, tr_bitgen *g,
                                                                   uint64_t most) {
    uint64_t mask = UINT64_MAX >> __builtin_clzll(most), x;
    do
        x = (most <= UINT32_MAX ? next32(which, g) : next64(which, g)) & mask;
    while (x > most);
    return x;
}

void tr_rt_gen_shuffle(int64_t which, int64_t g, int64_t size, void *owner, char *data, int64_t n,
                       int64_t stride) {
    (void)owner;
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t j = (int64_t)masked_up_to(which, bitgen(g), (uint64_t)i);
        if (i != j)
            tr_random_swap(data + i * stride * size, data + j * stride * size, size);
    }
    tr_rt_look();
}

void tr_rt_gen_lines(int64_t which, int64_t g, int64_t size, void *owner, char *data, int64_t lines,
                     int64_t n) {
    for (int64_t k = 0; k < lines; k++)
        tr_rt_gen_shuffle(which, g, size, owner, data + k * n * size, n, 1);
}
