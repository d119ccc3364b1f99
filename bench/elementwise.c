/*
 * The C side of the elementwise cases (elementwise.py): plain loops that a
 * memory-bound ufunc is held against, SLEEF's vector functions called in the
 * plainest way, the C library's functions one after the other, and a gaussian on one and two threads, which
 * says what a second core of this machine can give.
 *
 * SLEEF is opened when it is first used; without it those kernels leave -1 in
 * the result cell.
 */
#include <dlfcn.h>
#include <immintrin.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cells.h"

/* --- plain loops: the arrays are the arguments, the result comes last. Sizes are read first: a store might
 * change them for all C knows --- */

EXPORT void k_saxpy(const cell *in, cell *out) {
    float a = in[0].f;
    const float *x = in[1].p, *y = in[3].p;
    float *z = in[5].p;
    int64_t n = in[2].i;
    out->i = 0;
    for (int64_t i = 0; i < n; i++) {
        z[i] = a * x[i] + y[i];
    }
}

EXPORT void k_polynomial(const cell *in, cell *out) {
    const double *x = in[0].p;
    double *z = in[2].p;
    int64_t n = in[1].i;
    out->i = 0;
    for (int64_t i = 0; i < n; i++) {
        z[i] = ((0.5 * x[i] - 1.25) * x[i] + 3.0) * x[i] - 0.75;
    }
}

EXPORT void k_complex_multiply(const cell *in, cell *out) {
    const double *a = in[0].p, *b = in[2].p;
    double *z = in[4].p;
    int64_t n = in[1].i;
    out->i = 0;
    for (int64_t i = 0; i < 2 * n; i += 2) {
        double re = a[i] * b[i] - a[i + 1] * b[i + 1], im = a[i] * b[i + 1] + a[i + 1] * b[i];
        z[i] = re;
        z[i + 1] = im;
    }
}

EXPORT void k_select(const cell *in, cell *out) {
    const double *x = in[0].p;
    double *z = in[2].p;
    int64_t n = in[1].i;
    out->i = 0;
    for (int64_t i = 0; i < n; i++) {
        z[i] = x[i] < 0.0 ? -x[i] : x[i] < 1.0 ? x[i] * x[i] : 2.0 * x[i] - 1.0;
    }
}

/* --- what treadle.parallel is held against (parallel_cases.py): float32, the array and the room for the
 * result --- */

EXPORT void k_map_sum(const cell *in, cell *out) {
    const float *x = in[0].p;
    float *z = in[2].p, sum[64] = {0}, all = 0;
    int64_t n = in[1].i, i = 0;
    out->i = 0;
    for (; i + 64 <= n; i += 64) {
        for (int k = 0; k < 64; k++) {
            sum[k] += x[i + k] * 2.0F + 1.0F;
        }
    }
    for (; i < n; i++) {
        all += x[i] * 2.0F + 1.0F;
    }
    for (int k = 0; k < 64; k++) {
        all += sum[k];
    }
    z[0] = all;
}

/* A vector that doubles, as std::vector of libstdc++ does: new memory, a copy, and the old memory back. */
EXPORT void k_append_sum(const cell *in, cell *out) {
    int64_t n = in[0].i, len = 0, cap = 0, sum = 0, *v = NULL;
    int64_t *result = in[1].p;
    out->i = 0;
    for (int64_t i = 0; i < n; i++) {
        if (len == cap) {
            int64_t more = cap ? 2 * cap : 1, *w = malloc((size_t)more * sizeof *w);
            if (!w) {
                out->i = -1;
                free(v);
                return;
            }
            if (len) {
                memcpy(w, v, (size_t)len * sizeof *w);
            }
            free(v);
            v = w;
            cap = more;
        }
        v[len++] = i;
    }
    for (int64_t i = 0; i < len; i++) {
        sum += v[i];
    }
    free(v);
    result[0] = sum;
}

/* Eight at a time: sums within, then what came before is added. */
EXPORT void k_running_sum(const cell *in, cell *out) {
    const float *x = in[0].p;
    float *z = in[2].p, sum = 0;
    int64_t n = in[1].i, i = 0;
    out->i = 0;
    for (; i + 8 <= n; i += 8) {
        float s[8], t[8];
        for (int k = 0; k < 8; k++) {
            s[k] = x[i + k] + (k >= 1 ? x[i + k - 1] : 0.0F);
        }
        for (int k = 0; k < 8; k++) {
            t[k] = s[k] + (k >= 2 ? s[k - 2] : 0.0F);
        }
        for (int k = 0; k < 8; k++) {
            z[i + k] = t[k] + (k >= 4 ? t[k - 4] : 0.0F) + sum;
        }
        sum = z[i + 7];
    }
    for (; i < n; i++) {
        z[i] = sum += x[i];
    }
}

#ifdef __AVX512F__
/* y of x are kept where they are above a limit. */
#define FILTER(name, Y, limit)                                                                            \
    EXPORT void name(const cell *in, cell *out) {                                                         \
        const float *a = in[0].p;                                                                         \
        float *z = in[2].p;                                                                               \
        int64_t n = in[1].i, at = 0;                                                                      \
        out->i = 0;                                                                                       \
        for (int64_t i = 0; i < n; i += 16) {                                                             \
            __mmask16 there = n - i < 16 ? (__mmask16)((1 << (n - i)) - 1) : 0xffff;                      \
            __m512 x = _mm512_maskz_loadu_ps(there, a + i), y = Y;                                        \
            __mmask16 m = _mm512_mask_cmp_ps_mask(there, y, _mm512_set1_ps(limit), _CMP_GT_OQ);           \
            int count = __builtin_popcount(m);                                                            \
            _mm512_mask_storeu_ps(z + at, (__mmask16)((1 << count) - 1), _mm512_maskz_compress_ps(m, y)); \
            at += count;                                                                                  \
        }                                                                                                 \
    }
#define SQUARE _mm512_add_ps(_mm512_mul_ps(x, x), _mm512_set1_ps(1.0F))
#else
#define FILTER(name, Y, limit)                    \
    EXPORT void name(const cell *in, cell *out) { \
        const float *a = in[0].p;                 \
        float *z = in[2].p;                       \
        int64_t n = in[1].i, at = 0;              \
        out->i = 0;                               \
        for (int64_t i = 0; i < n; i++) {         \
            float x = a[i], y = Y;                \
            if (y > limit) {                      \
                z[at++] = y;                      \
            }                                     \
        }                                         \
    }
#define SQUARE x *x + 1.0F
#endif
FILTER(k_filter, x, 0.0F)
FILTER(k_map_filter, SQUARE, 1.4549F)

/* Philox4x32-10 of key 7: how many, and where to. */
EXPORT void k_philox(const cell *in, cell *out) {
    int64_t n = in[0].i;
    float *z = in[1].p;
    out->i = 0;
    for (int64_t q = 0; q < n / 4; q++) {
        uint32_t c0 = (uint32_t)q, c1 = (uint32_t)(q >> 32), c2 = 0, c3 = 0, k0 = 7, k1 = 0;
        for (int r = 0; r < 10; r++) {
            uint64_t p0 = (uint64_t)c0 * 0xD2511F53U, p1 = (uint64_t)c2 * 0xCD9E8D57U;
            c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
            c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
            c1 = (uint32_t)p1;
            c3 = (uint32_t)p0;
            k0 += 0x9E3779B9U;
            k1 += 0xBB67AE85U;
        }
        z[4 * q] = (float)(int32_t)(c0 >> 8) * 0x1p-24F;
        z[4 * q + 1] = (float)(int32_t)(c1 >> 8) * 0x1p-24F;
        z[4 * q + 2] = (float)(int32_t)(c2 >> 8) * 0x1p-24F;
        z[4 * q + 3] = (float)(int32_t)(c3 >> 8) * 0x1p-24F;
    }
}

/* --- SLEEF, as wide as this processor is --- */

#ifdef __AVX512F__
typedef __m512d vd;
typedef __m512 vf;
#define WIDE_D      "d8_u10avx512f"
#define WIDE_F      "f16_u10avx512f"
#define SET_D(x)    _mm512_set1_pd(x)
#define GET_D(p)    _mm512_loadu_pd(p)
#define GET_F(p)    _mm512_loadu_ps(p)
#define PUT_D(p, v) _mm512_storeu_pd(p, v)
#define PUT_F(p, v) _mm512_storeu_ps(p, v)
#else
typedef __m256d vd;
typedef __m256 vf;
#define WIDE_D      "d4_u10avx2"
#define WIDE_F      "f8_u10avx2"
#define SET_D(x)    _mm256_set1_pd(x)
#define GET_D(p)    _mm256_loadu_pd(p)
#define GET_F(p)    _mm256_loadu_ps(p)
#define PUT_D(p, v) _mm256_storeu_pd(p, v)
#define PUT_F(p, v) _mm256_storeu_ps(p, v)
#endif
enum { LANES_D = sizeof(vd) / 8, LANES_F = sizeof(vf) / 4 };

static void *sleef(const char *name) {
    static void *library; /* a race opens it twice, which is harmless */
    if (!library) {
        library = dlopen("libsleef.so.3", RTLD_NOW | RTLD_LOCAL);
    }
    return library ? dlsym(library, name) : NULL;
}

/* Sizes are multiples of the width: the cases see to it. */
#define UNARY(f)                                                    \
    EXPORT void k_##f##_f64(const cell *in, cell *out) {            \
        static vd (*fn)(vd);                                        \
        const double *x = in[0].p;                                  \
        double *z = in[2].p;                                        \
        if (!fn && !(fn = (vd(*)(vd))sleef("Sleef_" #f WIDE_D))) {  \
            out->i = -1;                                            \
            return;                                                 \
        }                                                           \
        out->i = 0;                                                 \
        for (int64_t i = 0; i + LANES_D <= in[1].i; i += LANES_D) { \
            PUT_D(z + i, fn(GET_D(x + i)));                         \
        }                                                           \
    }                                                               \
    EXPORT void k_##f##_f32(const cell *in, cell *out) {            \
        static vf (*fn)(vf);                                        \
        const float *x = in[0].p;                                   \
        float *z = in[2].p;                                         \
        if (!fn && !(fn = (vf(*)(vf))sleef("Sleef_" #f WIDE_F))) {  \
            out->i = -1;                                            \
            return;                                                 \
        }                                                           \
        out->i = 0;                                                 \
        for (int64_t i = 0; i + LANES_F <= in[1].i; i += LANES_F) { \
            PUT_F(z + i, fn(GET_F(x + i)));                         \
        }                                                           \
    }
UNARY(sin)
UNARY(cos)
UNARY(tan)
UNARY(atan)
UNARY(erf)
UNARY(exp)
UNARY(log)
UNARY(tanh)

#define BINARY(f)                                                      \
    EXPORT void k_##f##_f64(const cell *in, cell *out) {               \
        static vd (*fn)(vd, vd);                                       \
        const double *x = in[0].p, *y = in[2].p;                       \
        double *z = in[4].p;                                           \
        if (!fn && !(fn = (vd(*)(vd, vd))sleef("Sleef_" #f WIDE_D))) { \
            out->i = -1;                                               \
            return;                                                    \
        }                                                              \
        out->i = 0;                                                    \
        for (int64_t i = 0; i + LANES_D <= in[1].i; i += LANES_D) {    \
            PUT_D(z + i, fn(GET_D(x + i), GET_D(y + i)));              \
        }                                                              \
    }                                                                  \
    EXPORT void k_##f##_f32(const cell *in, cell *out) {               \
        static vf (*fn)(vf, vf);                                       \
        const float *x = in[0].p, *y = in[2].p;                        \
        float *z = in[4].p;                                            \
        if (!fn && !(fn = (vf(*)(vf, vf))sleef("Sleef_" #f WIDE_F))) { \
            out->i = -1;                                               \
            return;                                                    \
        }                                                              \
        out->i = 0;                                                    \
        for (int64_t i = 0; i + LANES_F <= in[1].i; i += LANES_F) {    \
            PUT_F(z + i, fn(GET_F(x + i), GET_F(y + i)));              \
        }                                                              \
    }
BINARY(pow)
BINARY(atan2)

/* --- the C library, each call waiting for the one before --- */

#define CHAIN(f, call)                                   \
    EXPORT void k_chain_##f(const cell *in, cell *out) { \
        const double *x = in[0].p;                       \
        double scale = in[2].d, z = 0, *last = in[3].p;  \
        int64_t n = in[1].i;                             \
        for (int64_t i = 0; i < n; i++) {                \
            z = call;                                    \
        }                                                \
        *last = z;                                       \
        out->i = 0;                                      \
    }
CHAIN(sin, sin(x[i] + z * scale))
CHAIN(cos, cos(x[i] + z * scale))
CHAIN(tan, tan(x[i] + z * scale))
CHAIN(atan, atan(x[i] + z * scale))
CHAIN(atan2, atan2(x[i] + z * scale, 0.75))
CHAIN(erf, erf(x[i] + z * scale))
CHAIN(exp, exp(x[i] + z * scale))
CHAIN(log, log(x[i] + z * scale))

/* --- two cores --- */

typedef struct {
    vd (*exp)(vd);
    const double *x;
    double *z;
    int64_t n;
} part;

static void *gaussian_part(void *arg) {
    const part *p = arg;
    vd factor = SET_D(1.0 / 2.5066282746310002), minus_half = SET_D(-0.5);
    for (int64_t i = 0; i + LANES_D <= p->n; i += LANES_D) {
        vd x = GET_D(p->x + i);
        PUT_D(p->z + i, p->exp(minus_half * x * x) * factor);
    }
    return NULL;
}

/* x, z and the number of threads, 1 or 2. */
EXPORT void k_gaussian_threads(const cell *in, cell *out) {
    static vd (*fn)(vd);
    int64_t n = in[1].i, half = n / 2 / LANES_D * LANES_D;
    pthread_t other;
    out->i = -1;
    if (!fn && !(fn = (vd(*)(vd))sleef("Sleef_exp" WIDE_D))) {
        return;
    }
    part all = {fn, in[0].p, in[2].p, n}, low = {fn, all.x, all.z, half},
         high = {fn, all.x + half, all.z + half, n - half};
    if (in[4].i == 1) {
        gaussian_part(&all);
    } else if (!pthread_create(&other, NULL, gaussian_part, &high)) {
        gaussian_part(&low);
        pthread_join(other, NULL);
    } else {
        return;
    }
    out->i = 0;
}
