/* Running sums of floats: with AVX2 and without the same bits, those of the definition; of all contributions
 * and in pieces, in place and for their sum alone. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/scan.c" /* both forms, of which a processor chooses one */

enum { MAX = 300, ROUNDS = 400 };

static uint64_t seed = 1;

static uint64_t next(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 33;
}

static double pick(void) {
    static const double odd[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-310, 1e38, -1e38};
    uint64_t n = next() % 100;
    return n < 8 && next() % 4 == 0 ? odd[n] : (double)(int64_t)(next() % 2000000) / 1e3 - 900;
}

/* What the definition says (ir/scans.c), one element after the other. */
#define DEFINITION(N, T)                                                                             \
    static T defined_##N(const T *x, T *out, int64_t n, T before, T total) {                         \
        T left[TR_SCAN_GROUP];                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                            \
            T v = x[i];                                                                              \
            for (int half = 1; half < TR_SCAN_GROUP; half *= 2) {                                    \
                if (i & half)                                                                        \
                    v = left[half] + v;                                                              \
                else                                                                                 \
                    left[half] = v;                                                                  \
            }                                                                                        \
            v = total + v;                                                                           \
            out[i] = before + v;                                                                     \
            if (i % TR_SCAN_GROUP == TR_SCAN_GROUP - 1 || i + 1 == n)                                \
                total = v;                                                                           \
        }                                                                                            \
        return total;                                                                                \
    }                                                                                                \
    static void expect_##N(const char *what, const T *got, const T *want, int64_t n) {               \
        for (int64_t i = 0; i < n; i++) {                                                            \
            if (isnan(got[i]) && isnan(want[i]))                                                     \
                continue;                                                                            \
            if (memcmp(got + i, want + i, sizeof *got)) {                                            \
                fprintf(stderr, "%s: %lld of %lld: %a, want %a\n", what, (long long)i, (long long)n, \
                        (double)got[i], (double)want[i]);                                            \
                abort();                                                                             \
            }                                                                                        \
        }                                                                                            \
    }                                                                                                \
    typedef T form_##N(const T *x, T *out, int64_t n, T before, T total);                            \
    static void check_##N(form_##N *f, const char *what) {                                           \
        static _Alignas(64) T x[MAX], want[MAX + 1], got[MAX + 1];                                   \
        for (int r = 0; r < ROUNDS; r++) {                                                           \
            int64_t n = r % MAX,                                                                     \
                    cut = n ? (int64_t)(next() % (uint64_t)n) / TR_SCAN_GROUP * TR_SCAN_GROUP : 0;   \
            T before = r % 3 ? (T)pick() : (T)-0.0, total = r % 5 ? (T)-0.0 : (T)pick();             \
            for (int64_t i = 0; i < n; i++)                                                          \
                x[i] = (T)pick();                                                                    \
            want[n] = defined_##N(x, want, n, before, total);                                        \
            got[n] = f(x, got, n, before, total);                                                    \
            expect_##N(what, got, want, n + 1);                                                      \
            got[0] = f(x, NULL, n, before, total);                                                   \
            expect_##N("the sum alone", got, want + n, 1);                                           \
            got[n] = f(x + cut, got + cut, n - cut, before, f(x, got, cut, before, total));          \
            expect_##N("in pieces", got, want, n + 1);                                               \
            f(x, x, n, before, total);                                                               \
            expect_##N("in place", x, want, n);                                                      \
        }                                                                                            \
    }
DEFINITION(f64, double)
DEFINITION(f32, float)

#define CALLED(N, T, NAME, WHOLE)                                              \
    static T NAME##_##N(const T *x, T *out, int64_t n, T before, T total) {    \
        return tr_rt_scan_##N(x, out, n, WHOLE, TR_SCAN_BLOCK, before, total); \
    }
/* As called for an array that the caches hold, and for one that they do not. */
CALLED(f64, double, small, n)
CALLED(f32, float, small, n)
CALLED(f64, double, large, TR_LARGE / 8)
CALLED(f32, float, large, TR_LARGE / 4)

/* The same, where the values go to the next line of another page than that of what they are made of. */
#define BEHIND(N, T)                                                                   \
    static T behind_##N(const T *x, T *out, int64_t n, T before, T total) {            \
        static _Alignas(4096) char pages[3][4096];                                     \
        char *from = pages[0], *to = out ? pages[1] + 64 : NULL;                       \
        memcpy(from, x, (size_t)n * sizeof(T));                                        \
        total = large_##N((const T *)(void *)from, (T *)(void *)to, n, before, total); \
        if (out)                                                                       \
            memcpy(out, to, (size_t)n * sizeof(T));                                    \
        return total;                                                                  \
    }
BEHIND(f64, double)
BEHIND(f32, float)

int main(void) {
    check_f64(scan_f64, "float64");
    check_f32(scan_f32, "float32");
    check_f64(small_f64, "float64 as called");
    check_f32(small_f32, "float32 as called");
    check_f64(large_f64, "float64 as called, large");
    check_f32(large_f32, "float32 as called, large");
    check_f64(behind_f64, "float64 as called, large, a line behind what is read");
    check_f32(behind_f32, "float32 as called, large, a line behind what is read");
    if (__builtin_cpu_supports("avx2")) {
        check_f64(scan_f64_avx2, "float64 by AVX2");
        check_f32(scan_f32_avx2, "float32 by AVX2");
    } else {
        puts("no AVX2: that form was not looked at");
    }
    return 0;
}
