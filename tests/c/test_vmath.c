/* Every row of vmath_x86_64.def, for each family this processor has: the scalar twin against a reference of
 * higher precision (at most 1.0 ULP, 4.0 for fast rows; zeros, infinities, nan and denormals as C99 has
 * them), and every level's vectors against the twin, bit for bit in each lane.
 *
 *     test_vmath [SAMPLES [SEED]]      SAMPLES per row and family; a long campaign is only a larger number
 *     test_vmath --table SAMPLES       prints the largest error seen, as rows for docs/math.md
 *     test_vmath --scalars SAMPLES     the same of calls on single numbers, the C library's included, and how
 *                                      many are not the nearest
 */
#include <immintrin.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vmath/vmath.h"

enum { BLOCK = 16 };

static int failures;
static uint64_t state = 88172645463325252u;

static uint64_t draw(void) { /* xorshift* */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545F4914F6CDD1Du;
}
static double unit(void) {
    return (double)(draw() >> 11) * 0x1p-53;
}
static double sign(void) {
    return draw() & 1 ? -1.0 : 1.0;
}

/* --- references --- */

typedef long double ld;
typedef struct exact {
    const char *name;
    ld (*l1)(ld), (*l2)(ld, ld);
    double (*d1)(double), (*d2)(double, double);
    bool exact;
} exact;

static const exact exacts[] = {
#define ONE(n) \
    { #n, n##l, NULL, n, NULL, false }
#define TWO(n) \
    { #n, NULL, n##l, NULL, n, false }
#define EXACT(n) \
    { #n, NULL, n##l, NULL, n, true }
    ONE(exp),   ONE(exp2), ONE(expm1),       ONE(log),    ONE(log2),   ONE(log10), ONE(log1p),
    ONE(sin),   ONE(cos),  ONE(tan),         ONE(asin),   ONE(acos),   ONE(atan),  ONE(sinh),
    ONE(cosh),  ONE(tanh), ONE(atanh),       ONE(erf),    ONE(tgamma), ONE(cbrt),  TWO(atan2),
    TWO(hypot), TWO(pow),  EXACT(nextafter), EXACT(fmod),
};

static const exact *exact_of(const char *name) {
    for (size_t i = 0; i < sizeof exacts / sizeof *exacts; i++)
        if (!strcmp(exacts[i].name, name))
            return &exacts[i];
    fprintf(stderr, "no reference for %s\n", name);
    exit(1);
}

/* float64 is measured against long double, float32 against double; nextafter and fmod are
 * exact in their own type. */
static ld reference(const tr_vmrow *r, const exact *e, double x, double y) {
    if (!strcmp(r->name, "nextafter"))
        return r->f32 ? (ld)nextafterf((float)x, (float)y) : (ld)nextafter(x, y);
    if (!strcmp(r->name, "fmod"))
        return r->f32 ? (ld)fmodf((float)x, (float)y) : (ld)fmod(x, y);
    if (r->arity == 1)
        return r->f32 ? (ld)e->d1(x) : e->l1(x);
    return r->f32 ? (ld)e->d2(x, y) : e->l2(x, y);
}

/* Distance in units of the last place of the type at the exact value; infinite where kind or sign differ. */
static double error_of(const tr_vmrow *r, ld want, double got) {
    int digits = r->f32 ? 24 : 53, least = r->f32 ? -125 : -1021, top = r->f32 ? 128 : 1024, e;
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : HUGE_VAL;
    if (want == 0 && got == 0)
        return !signbit(want) == !signbit(got) ? 0 : HUGE_VAL;
    if (isinf(want))
        return (ld)got == want ? 0 : HUGE_VAL;
    ld g = isinf(got) ? copysignl(ldexpl(1, top), (ld)got) : (ld)got; /* where the next number would lie */
    frexpl(want, &e);
    if (e < least)
        e = least;
    if (e > top)
        e = top;
    ld far = fabsl(g - want);
    if (isinf(got) && fabsl(want) >= fabsl(g))
        far = !signbit(want) == !signbit(got) ? 0 : HUGE_VAL;
    return (double)(far * ldexpl(1, digits - e));
}

/* --- arguments --- */

static const double corners[] = {
    0.0,
    -0.0,
    HUGE_VAL,
    -HUGE_VAL,
    (double)NAN,
    0x1p-1074,
    -0x1p-1074,
    0x1p-149,
    -0x1p-149,
    0x1p-1022,
    -0x1p-126,
    1e-310,
    1e-40,
    -1e-40,
    1e-300,
    1e-20,
    -1e-20,
    0.5,
    -0.5,
    0.75,
    1,
    -1,
    1.0000001,
    0.9999999,
    1.5,
    2,
    -2,
    3,
    -3,
    10,
    33,
    -37.5,
    0.1,
    -0.1,
    88.7,
    88.73,
    89.41,
    89.42,
    -89.4,
    104,
    -104,
    128,
    -149,
    -150,
    170.6,
    171.63,
    -170.5,
    308.25,
    700,
    -700,
    709.7,
    709.79,
    710.3,
    710.48,
    -710.4,
    -745.1,
    -745.2,
    1023,
    1024,
    -1074,
    -1075,
    1e5,
    -1e5,
    1e8,
    8388607.5,
    16777217,
    1e15,
    4503599627370497.5,
    9007199254740994.0,
    1e17,
    1e22,
    -1e22,
    1.9e19,
    1e36,
    1.7e38,
    3.4e38,
    -3.4e38,
    1e77,
    1.34e154,
    1.35e154,
    1e300,
    -1e300,
    1.1e307,
    1.7976931348623157e308,
    -1.7976931348623157e308,
    1.340780792993915e154,
    1.8446742e19,
};
enum { NCORNERS = sizeof corners / sizeof *corners };

static double any_bits(bool f32) {
    uint64_t u = draw();
    uint32_t v = (uint32_t)u;
    double d;
    float f;
    memcpy(&d, &u, sizeof d);
    memcpy(&f, &v, sizeof f);
    return f32 ? (double)f : d;
}

static double any_number(bool f32) {
    switch (draw() % 9) {
    case 0:
    case 1: return any_bits(f32);
    case 2: return sign() * unit() * 10;
    case 3: return sign() * unit() * (f32 ? 100 : 750);
    case 4: return sign() * unit();
    case 5: return sign() * exp2(unit() * 80 - 40);
    case 6: return 1 + sign() * unit() * 0.01;
    case 7: return sign() * exp2(-60 * unit());
    default: return sign() * unit() * 1e5;
    }
}

/* Pairs near where the result over- or underflows; powers that ask most of the logarithm have x near 0.75. */
static void near_the_edge(const tr_vmrow *r, double *x, double *y) {
    int lo = r->f32 ? -149 : -1074, hi = r->f32 ? 127 : 1023;
    if (!strcmp(r->name, "pow")) {
        double edges[] = {lo - 0.2, lo + 1.0, r->f32 ? -126 : -1022, hi + 0.9, hi + 0.9999, hi * 0.5, 5};
        *x = draw() & 1 ? fabs(*x) : 0.70 + 0.1 * unit();
        *y = (edges[draw() % 7] + unit() * 0.2) / log2(*x);
        return;
    }
    if (!strcmp(r->name, "fmod") && draw() & 1) { /* next to a multiple, which rounding may reach */
        *y = r->f32 ? (double)(float)*y : *y;
        double n = floor(ldexp(unit(), (int)(draw() % (r->f32 ? 25 : 54)))) * *y;
        *x = r->f32 ? (double)nextafterf((float)n, (float)(sign() * HUGE_VAL))
                    : nextafter(n, sign() * HUGE_VAL);
        return;
    }
    int e = lo + (int)(draw() % (uint64_t)(hi - lo));
    *x = sign() * ldexp(1 + unit(), e);
    *y = sign() * ldexp(1 + unit(), e + (int)(draw() % 150) - 75 + (draw() % 3 ? 0 : hi));
}

/* Next to a multiple of pi / 4, where the result is next to 0 or k changes, of any size. */
static double near_a_turn(bool f32) {
    double x =
        (double)((ld)(draw() >> (f32 ? 40 : 14) >> draw() % (f32 ? 24 : 50)) * (acosl(-1) / 4)) * sign();
    for (uint64_t i = draw() % 3; i--;)
        x = f32 ? (double)nextafterf((float)x, (float)(sign() * HUGE_VAL)) : nextafter(x, sign() * HUGE_VAL);
    return x;
}

/* Every other block is of ordinary numbers alone: a lane that is none takes the others along another way. */
static void arguments(const tr_vmrow *r, unsigned long i, double *x, double *y) {
    if (i < (r->arity == 1 ? NCORNERS : NCORNERS * NCORNERS)) {
        *x = corners[i % NCORNERS];
        *y = corners[i / NCORNERS % NCORNERS];
    } else if (i / BLOCK & 1) {
        *x = unit() * 8 * (i / BLOCK & 2 ? sign() : 1);
        *y = sign() * unit() * 8;
    } else {
        bool turns = !strcmp(r->name, "sin") || !strcmp(r->name, "cos") || !strcmp(r->name, "tan");
        *x = turns && draw() % 3 == 0 ? near_a_turn(r->f32) : any_number(r->f32);
        *y = any_number(r->f32);
        if (r->arity == 2 && draw() % 3 == 0)
            near_the_edge(r, x, y);
        if (r->arity == 2 && draw() % 4)
            *x = fabs(*x);
    }
    if (r->f32) {
        *x = (double)(float)*x;
        *y = (double)(float)*y;
    }
}

/* --- calls --- */

typedef struct lanes { /* a block of arguments or results, in either type */
    double d[BLOCK];
    float f[BLOCK];
} lanes;

static void call_twin(const tr_vmrow *r, void *fn, const lanes *x, const lanes *y, lanes *out) {
    for (int i = 0; i < BLOCK; i++) {
        if (r->f32)
            out->f[i] = r->arity == 1 ? ((float (*)(float))fn)(x->f[i])
                                      : ((float (*)(float, float))fn)(x->f[i], y->f[i]);
        else
            out->d[i] = r->arity == 1 ? ((double (*)(double))fn)(x->d[i])
                                      : ((double (*)(double, double))fn)(x->d[i], y->d[i]);
    }
}

#define CALLER(name, isa, V, T, field, load, store)                                                         \
    __attribute__((target(isa))) static void name(unsigned arity, void *fn, const lanes *x, const lanes *y, \
                                                  lanes *out) {                                             \
        for (size_t i = 0; i < BLOCK; i += sizeof(V) / sizeof(T)) {                                         \
            V a = load(x->field + i), b = load(y->field + i);                                               \
            store(out->field + i, arity == 1 ? ((V(*)(V))fn)(a) : ((V(*)(V, V))fn)(a, b));                  \
        }                                                                                                   \
    }
CALLER(call_512d, "avx512f", __m512d, double, d, _mm512_loadu_pd, _mm512_storeu_pd)
CALLER(call_512f, "avx512f", __m512, float, f, _mm512_loadu_ps, _mm512_storeu_ps)
CALLER(call_256d, "avx", __m256d, double, d, _mm256_loadu_pd, _mm256_storeu_pd)
CALLER(call_256f, "avx", __m256, float, f, _mm256_loadu_ps, _mm256_storeu_ps)
CALLER(call_128d, "sse2", __m128d, double, d, _mm_loadu_pd, _mm_storeu_pd)
CALLER(call_128f, "sse2", __m128, float, f, _mm_loadu_ps, _mm_storeu_ps)

static void call_level(const tr_vmrow *r, const tr_vmlevel *l, void *fn, const lanes *x, const lanes *y,
                       lanes *out) {
    if (l->bits == 512)
        (r->f32 ? call_512f : call_512d)(r->arity, fn, x, y, out);
    else if (l->bits == 256)
        (r->f32 ? call_256f : call_256d)(r->arity, fn, x, y, out);
    else
        (r->f32 ? call_128f : call_128d)(r->arity, fn, x, y, out);
}

/* --- one row --- */

static const char *features(void) { /* of this processor, as LLVM would write those that the table asks for */
    static char text[128];
    snprintf(text, sizeof text, "+sse2%s%s%s%s%s%s", __builtin_cpu_supports("sse4.1") ? ",+sse4.1" : "",
             __builtin_cpu_supports("avx") ? ",+avx" : "", __builtin_cpu_supports("avx2") ? ",+avx2" : "",
             __builtin_cpu_supports("fma") ? ",+fma" : "",
             __builtin_cpu_supports("avx512f") ? ",+avx512f" : "",
             __builtin_cpu_supports("avx512dq") ? ",+avx512dq" : "");
    return text;
}

/* Features of this machine if its family is to be `family`. */
static const char *features_as(char family) {
    static const char plain[] = "+sse2,+sse4.1,+avx";
    if (family == 'c')
        return __builtin_cpu_supports("avx") ? plain : "+sse2";
    return features();
}

static void fault(const char *what, const char *name, double x, double y, double got, double want) {
    if (failures++ < 40)
        fprintf(stderr, "%s: %s at (%.17g, %.17g): got %.17g, want %.17g\n", name, what, x, y, got, want);
}

static void compare_lanes(const tr_vmrow *r, char family, const lanes *x, const lanes *y, const lanes *twin) {
    char name[TR_VM_NAME];
    for (unsigned k = 0; k < tr_vmath_nlevels; k++) {
        const tr_vmlevel *l = &tr_vmath_levels[k];
        if (!tr_vmath_has(l, features_as(family), 512))
            continue;
        tr_vmath_variant(r, l, name);
        bool foreign;
        void *fn = tr_vmath_symbol(name, &foreign);
        lanes z;
        if (!fn) {
            fault("not found", name, 0, 0, 0, 0);
            continue;
        }
        call_level(r, l, fn, x, y, &z);
        for (int i = 0; i < BLOCK; i++) {
            bool same = r->f32 ? !memcmp(&z.f[i], &twin->f[i], 4) || (isnan(z.f[i]) && isnan(twin->f[i]))
                               : !memcmp(&z.d[i], &twin->d[i], 8) || (isnan(z.d[i]) && isnan(twin->d[i]));
            if (!same)
                fault("a lane differs from the twin", name, x->d[i], y->d[i],
                      r->f32 ? (double)z.f[i] : z.d[i], r->f32 ? (double)twin->f[i] : twin->d[i]);
        }
    }
}

/* Largest error seen. */
static double measure(const tr_vmrow *r, char family, unsigned long samples) {
    char name[TR_VM_NAME];
    bool foreign;
    tr_vmath_twin(r, family, name);
    void *fn = tr_vmath_symbol(name, &foreign);
    const exact *e = exact_of(r->name);
    double worst = 0;
    if (!fn) {
        fault("not found", name, 0, 0, 0, 0);
        return 0;
    }
    unsigned long n = samples + (r->arity == 1 ? NCORNERS : NCORNERS * NCORNERS);
    for (unsigned long i = 0; i < n; i += BLOCK) {
        lanes x, y, z;
        for (unsigned long k = 0; k < BLOCK; k++) {
            arguments(r, i + k, &x.d[k], &y.d[k]);
            x.f[k] = (float)x.d[k];
            y.f[k] = (float)y.d[k];
        }
        call_twin(r, fn, &x, &y, &z);
        for (int k = 0; k < BLOCK; k++) {
            double got = r->f32 ? (double)z.f[k] : z.d[k];
            ld want = reference(r, e, x.d[k], y.d[k]);
            double err = error_of(r, want, got);
            if (err > (e->exact ? 0.0 : r->fast ? 4.0 : 1.0))
                fault("too far off", name, x.d[k], y.d[k], got, (double)want);
            worst = err > worst ? err : worst;
        }
        compare_lanes(r, family, &x, &y, &z);
    }
    return worst;
}

/* --- the table of docs/math.md --- */

static void cell(const char *name, bool f32, bool fast, unsigned long samples) {
    const char *other = !strcmp(name, "hypot") && f32 ? "formula" : "libm"; /* lower/math.c */
    char text[2][16];
    static const char families[] = "fc";
    for (int i = 0; i < 2; i++) {
        const tr_vmrow *r = tr_vmath_find(name, f32, fast, families[i]);
        strcpy(text[i], other);
        if (r && r->fast == fast)
            snprintf(text[i], sizeof text[i], "%.2f", measure(r, families[i], samples));
        else if (r)
            strcpy(text[i], "same");
    }
    if (!strcmp(text[0], text[1]))
        printf(" %s |", text[0]);
    else
        printf(" %s / %s |", text[0], text[1]);
}

/* Whose it is, with FMA and without. */
static void origin(const char *name) {
    char text[2][32] = {"libm", "libm"};
    for (int i = 0; i < 2; i++) {
        const tr_vmrow *r = tr_vmath_find(name, false, false, "fc"[i]);
        if (r)
            strcpy(text[i], r->own ? "ours" : r->mended ? "SLEEF, mended" : "SLEEF");
    }
    if (!strcmp(text[0], text[1]))
        printf(" %s |\n", text[0]);
    else
        printf(" %s / %s |\n", text[0], text[1]);
}

/* --- the table of calls on single numbers --- */

typedef struct single {
    const char *name;
    exact e;
    void *f64, *f32;
} single;

/* Those of ir/math.def that are the C library's; remainder is exact, and the others that
 * are not listed are instructions. */
static const single libms[] = {
#define LIBM(n) \
    { #n, ONE(n), (void *)n, (void *)n##f }
    LIBM(erfc),
    LIBM(lgamma),
    LIBM(asinh),
    LIBM(acosh),
};

/* The largest error of calls on any numbers, and how many of those on ordinary ones (in -8
 * .. 8) are not the nearest number. */
static void single_cell(const tr_vmrow *r, const exact *e, void *fn, unsigned long samples) {
    double worst = 0;
    unsigned long ordinary = 0, off = 0;
    for (unsigned long i = 0; i < samples; i += BLOCK) {
        lanes x, y, z;
        for (unsigned long k = 0; k < BLOCK; k++) {
            arguments(r, i + k, &x.d[k], &y.d[k]);
            x.f[k] = (float)x.d[k];
            y.f[k] = (float)y.d[k];
        }
        call_twin(r, fn, &x, &y, &z);
        for (int k = 0; k < BLOCK; k++) {
            ld want = reference(r, e, x.d[k], y.d[k]);
            double err = error_of(r, want, r->f32 ? (double)z.f[k] : z.d[k]);
            worst = err > worst ? err : worst;
            ordinary += i / BLOCK & 1 && isfinite(want);
            off += i / BLOCK & 1 && isfinite(want) && err > 0.5;
        }
    }
    printf(" %.2f | %.2g %% |", worst, 100.0 * (double)off / (double)(ordinary ? ordinary : 1));
}

static void single_row(const char *name, unsigned arity, const exact *e, void *const fn[2], const char *whose,
                       unsigned long samples) {
    printf("| `%s` |", name);
    for (int k = 0; k < 2; k++) {
        tr_vmrow r = {.name = name, .arity = arity, .f32 = k};
        single_cell(&r, e, fn[k], samples);
    }
    printf(" %s |\n", whose);
}

static bool is_first(unsigned row) {
    for (unsigned i = 0; i < row; i++)
        if (!strcmp(tr_vmath_rows[i].name, tr_vmath_rows[row].name))
            return false;
    return true;
}

static void table(unsigned long samples) {
    for (unsigned i = 0; i < tr_vmath_nrows; i++) {
        if (!is_first(i))
            continue;
        printf("| `%s` |", tr_vmath_rows[i].name);
        for (int k = 0; k < 4; k++)
            cell(tr_vmath_rows[i].name, k & 1, k > 1, samples);
        origin(tr_vmath_rows[i].name);
    }
}

static void scalars(unsigned long samples) {
    for (unsigned i = 0; i < tr_vmath_nrows; i++) {
        const tr_vmrow *r = &tr_vmath_rows[i];
        const exact *e = exact_of(r->name);
        void *fn[2];
        if (!is_first(i) || e->exact)
            continue;
        for (int k = 0; k < 2; k++) {
            const tr_vmrow *row = tr_vmath_find(r->name, k, false, 'f');
            char name[TR_VM_NAME];
            bool foreign;
            tr_vmath_twin(row, 'f', name);
            fn[k] = tr_vmath_symbol(name, &foreign);
        }
        single_row(r->name, r->arity, e, fn, r->own ? "ours" : "SLEEF", samples);
    }
    for (size_t i = 0; i < sizeof libms / sizeof *libms; i++)
        single_row(libms[i].name, 1, &libms[i].e, (void *[]){libms[i].f64, libms[i].f32}, "libm", samples);
}

int main(int argc, char **argv) {
    bool singles = argc > 2 && !strcmp(argv[1], "--scalars");
    bool want_table = singles || (argc > 2 && !strcmp(argv[1], "--table"));
    unsigned long samples = argc > 1 ? strtoul(argv[want_table ? 2 : 1], NULL, 10) : 20000;
    bool fma = tr_vmath_family(features()) == 'f';
    if (argc > 2 && !want_table)
        state ^= strtoul(argv[2], NULL, 10) * 0x9E3779B97F4A7C15u;
    if (!fma)
        printf("this processor has no FMA: the rows for such are NOT TESTED\n");
    if (want_table) {
        (singles ? scalars : table)(samples);
        return failures > 0;
    }
    for (unsigned i = 0; i < tr_vmath_nrows; i++)
        for (const char *f = tr_vmath_rows[i].families; *f; f++)
            if (*f != 'f' || fma)
                measure(&tr_vmath_rows[i], *f, samples);
    if (failures)
        fprintf(stderr, "%d faults\n", failures);
    return failures > 0;
}
