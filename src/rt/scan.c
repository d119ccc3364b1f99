/* Running sums of floats, TR_SCAN_GROUP at a time in registers.
 *
 * ir/scans.c says in which order they are added. A step of the tree adds the sum of the left half to each
 * element of the right one: what is no element of a right half gets -0.0, the one value that changes
 * nothing it is added to, so that all lanes do the same. From one group to the next there is one addition
 * to wait for, that of the groups' sums. The same tree is computed with AVX2 or without, chosen by the
 * processor: the bits are the same. Wider registers would gain nothing, as groups wait for each other.
 * Cost: from the cache (Zen 4) 0.3 ns an element of float32, 0.55 without AVX2; beyond it, a copy's, since
 * what is larger than the caches is written past them. */
#include <assert.h>
#include <immintrin.h>
#include <string.h>

#include "rt/enter.h"
#include "rt/fns.h"

/* --- a group in vectors of AVX2: sums within it, and in each lane all of it --- */

#define AVX2 __attribute__((target("avx2"))) static

typedef struct group_f32 {
    __m256 x;
} group_f32;
typedef struct group_f64 {
    __m256d x, y;
} group_f64;

AVX2 inline group_f32 load_f32(const float *at) {
    return (group_f32){_mm256_loadu_ps(at)};
}
AVX2 inline group_f64 load_f64(const double *at) {
    return (group_f64){_mm256_loadu_pd(at), _mm256_loadu_pd(at + 4)};
}

AVX2 inline group_f32 prefix_f32(group_f32 g) {
    __m256 none = _mm256_set1_ps(-0.0f), x = g.x;
    x = _mm256_add_ps(_mm256_blend_ps(none, _mm256_moveldup_ps(x), 0xaa), x);
    x = _mm256_add_ps(_mm256_blend_ps(none, _mm256_permute_ps(x, 0x55), 0xcc), x);
    x = _mm256_add_ps(_mm256_blend_ps(none, _mm256_permutevar8x32_ps(x, _mm256_set1_epi32(3)), 0xf0), x);
    return (group_f32){x};
}
AVX2 inline __m256d half_f64(__m256d x) {
    __m256d none = _mm256_set1_pd(-0.0);
    x = _mm256_add_pd(_mm256_blend_pd(none, _mm256_movedup_pd(x), 0xa), x);
    return _mm256_add_pd(_mm256_blend_pd(none, _mm256_permute4x64_pd(x, 0x55), 0xc), x);
}
AVX2 inline group_f64 prefix_f64(group_f64 g) {
    group_f64 out = {half_f64(g.x), half_f64(g.y)};
    out.y = _mm256_add_pd(_mm256_permute4x64_pd(out.x, 0xff), out.y);
    return out;
}

AVX2 inline __m256 all_f32(group_f32 g) {
    return _mm256_permutevar8x32_ps(g.x, _mm256_set1_epi32(7));
}
AVX2 inline __m256d all_f64(group_f64 g) {
    return _mm256_permute4x64_pd(g.y, 0xff);
}

/* The values, of what is within the group. */
AVX2 inline void store_f32(float *at, group_f32 g, __m256 before, __m256 total) {
    _mm256_storeu_ps(at, before + (total + g.x));
}
AVX2 inline void store_f64(double *at, group_f64 g, __m256d before, __m256d total) {
    _mm256_storeu_pd(at, before + (total + g.x));
    _mm256_storeu_pd(at + 4, before + (total + g.y));
}

/* What is in all lanes, and four groups, one after the other: the same tree in fewer steps. */
AVX2 inline __m256 add_four_f32(__m256 sum, const float *at) {
    enum { G = TR_SCAN_GROUP };
    __m256 two = _mm256_hadd_ps(_mm256_loadu_ps(at), _mm256_loadu_ps(at + G)),
           four =
               _mm256_hadd_ps(two, _mm256_hadd_ps(_mm256_loadu_ps(at + 2 * G), _mm256_loadu_ps(at + 3 * G))),
           x = _mm256_add_ps(four, _mm256_permute2f128_ps(four, four, 1));
    sum = _mm256_add_ps(sum, _mm256_permute_ps(x, 0x00));
    sum = _mm256_add_ps(sum, _mm256_permute_ps(x, 0x55));
    sum = _mm256_add_ps(sum, _mm256_permute_ps(x, 0xaa));
    return _mm256_add_ps(sum, _mm256_permute_ps(x, 0xff));
}
/* Halves of two groups. */
AVX2 inline __m256d halves_f64(const double *at) {
    __m256d x = _mm256_hadd_pd(_mm256_loadu_pd(at), _mm256_loadu_pd(at + 4)),
            y = _mm256_hadd_pd(_mm256_loadu_pd(at + 8), _mm256_loadu_pd(at + 12));
    return _mm256_add_pd(_mm256_permute2f128_pd(x, y, 0x20), _mm256_permute2f128_pd(x, y, 0x31));
}
AVX2 inline __m256d add_four_f64(__m256d sum, const double *at) {
    __m256d x = _mm256_hadd_pd(halves_f64(at), halves_f64(at + 16)); /* groups 0, 2, 1, 3 */
    sum = _mm256_add_pd(sum, _mm256_permute4x64_pd(x, 0x00));
    sum = _mm256_add_pd(sum, _mm256_permute4x64_pd(x, 0xaa));
    sum = _mm256_add_pd(sum, _mm256_permute4x64_pd(x, 0x55));
    return _mm256_add_pd(sum, _mm256_permute4x64_pd(x, 0xff));
}

/* As above, past the caches. */
AVX2 inline void store_past_f32(float *at, group_f32 g, __m256 before, __m256 total) {
    _mm256_stream_ps(at, before + (total + g.x));
}
AVX2 inline void store_past_f64(double *at, group_f64 g, __m256d before, __m256d total) {
    _mm256_stream_pd(at, before + (total + g.x));
    _mm256_stream_pd(at + 4, before + (total + g.y));
}

/* --- any number --- */

enum { LINE = 64, PAGE = 4096, NEAR = 4 * LINE, CHUNK = PAGE / 2 };

/* Are the values written past the caches (opt/pattern/nontemporal.c says why)? */
static bool is_past(const void *x, const void *out, int64_t whole, uint64_t size) {
    uint64_t bytes = (uint64_t)whole * size;
    return out && out != x && bytes >= TR_LARGE && bytes <= TR_BLOCKS_MOST && (uintptr_t)out % LINE == 0;
}

/* Such a store goes a little way behind what is read, by their places in a page: each read then waits as if
 * the store were of the same place, for three times as long as it all takes. */
static bool is_behind(const void *x, const void *out) {
    return ((uintptr_t)out - (uintptr_t)x) % PAGE < NEAR;
}

/* Within two pages, half a page away from `out`. */
static void *away_from(const void *out, char *pages) {
    return pages + ((uintptr_t)out + CHUNK - (uintptr_t)pages) % PAGE;
}

/* The value of element k, of what is within the group. */
#define VALUE(k, v)                             \
    do {                                        \
        __typeof__(total) so_far = total + (v); \
        if (out)                                \
            out[k] = before + so_far;           \
        if (n == (k) + 1)                       \
            return so_far;                      \
    } while (0)
/* X(type's name, type, vector of it, which a value fills) */
#define SCANS(N, T, V, SET)                                                                                  \
    /* One to TR_SCAN_GROUP elements. */                                                                     \
    static inline T few_##N(const T *x, T *out, int64_t n, T before, T total) {                              \
        T a = x[0], b, c, d, e;                                                                              \
        VALUE(0, a);                                                                                         \
        b = a + x[1];                                                                                        \
        VALUE(1, b);                                                                                         \
        c = x[2];                                                                                            \
        VALUE(2, b + c);                                                                                     \
        c = b + (c + x[3]);                                                                                  \
        VALUE(3, c);                                                                                         \
        d = x[4];                                                                                            \
        VALUE(4, c + d);                                                                                     \
        d = d + x[5];                                                                                        \
        VALUE(5, c + d);                                                                                     \
        e = x[6];                                                                                            \
        VALUE(6, c + (d + e));                                                                               \
        e = total + (c + (d + (e + x[7])));                                                                  \
        if (out)                                                                                             \
            out[7] = before + e;                                                                             \
        return e;                                                                                            \
    }                                                                                                        \
    /* `past`: what lies at `next` is fetched meanwhile, as who only writes leaves the memory half idle. */  \
    AVX2 inline T scan_##N##_by(const T *x, T *out, int64_t n, T before, T total, bool past,                 \
                                const T *next) {                                                             \
        const V first = SET(before);                                                                         \
        V sum = SET(total);                                                                                  \
        int64_t i = 0;                                                                                       \
        for (; !out && i + 4 * TR_SCAN_GROUP <= n; i += 4 * TR_SCAN_GROUP)                                   \
            sum = add_four_##N(sum, x + i);                                                                  \
        for (; i + TR_SCAN_GROUP <= n; i += TR_SCAN_GROUP) {                                                 \
            group_##N g = prefix_##N(load_##N(x + i));                                                       \
            if (past) {                                                                                      \
                _mm_prefetch(next + i, _MM_HINT_T1);                                                         \
                store_past_##N(out + i, g, first, sum);                                                      \
            } else if (out) {                                                                                \
                store_##N(out + i, g, first, sum);                                                           \
            }                                                                                                \
            sum += all_##N(g);                                                                               \
        }                                                                                                    \
        total = sum[0];                                                                                      \
        return i < n ? few_##N(x + i, out ? out + i : out, n - i, before, total) : total;                    \
    }                                                                                                        \
    AVX2 T scan_##N##_avx2(const T *x, T *out, int64_t n, T before, T total) {                               \
        return scan_##N##_by(x, out, n, before, total, false, x);                                            \
    }                                                                                                        \
    AVX2 T scan_##N##_past(const T *x, T *out, int64_t n, int64_t ahead, T before, T total) {                \
        assert((uintptr_t)out % LINE == 0 && "a store past the caches is a whole line's");                   \
        enum { MOST = CHUNK / sizeof(T) };                                                                   \
        char pages[2 * PAGE];                                                                                \
        if (!is_behind(x, out)) {                                                                            \
            total = scan_##N##_by(x, out, n, before, total, true, x + ahead);                                \
        } else {                                                                                             \
            for (int64_t i = 0, k; i < n; i += k) {                                                          \
                T *copy = away_from(out + i, pages);                                                         \
                k = n - i < MOST ? n - i : MOST;                                                             \
                memcpy(copy, x + i, (size_t)k * sizeof(T));                                                  \
                total = scan_##N##_by(copy, out + i, k, before, total, true, x + i + ahead);                 \
            }                                                                                                \
        }                                                                                                    \
        _mm_sfence(); /* such stores are seen late by other threads */                                       \
        return total;                                                                                        \
    }                                                                                                        \
    static T scan_##N(const T *x, T *out, int64_t n, T before, T total) {                                    \
        for (int64_t i = 0; i < n; i += TR_SCAN_GROUP) {                                                     \
            int64_t left = n - i;                                                                            \
            total = few_##N(x + i, out ? out + i : out, left < TR_SCAN_GROUP ? left : TR_SCAN_GROUP, before, \
                            total);                                                                          \
        }                                                                                                    \
        return total;                                                                                        \
    }                                                                                                        \
    T tr_rt_scan_##N(const T *x, T *out, int64_t n, int64_t whole, int64_t ahead, T before, T total) {       \
        if (n < TR_SCAN_GROUP || !__builtin_cpu_supports("avx2"))                                            \
            return scan_##N(x, out, n, before, total);                                                       \
        if (is_past(x, out, whole, sizeof(T)))                                                               \
            return scan_##N##_past(x, out, n, ahead, before, total);                                         \
        return scan_##N##_avx2(x, out, n, before, total);                                                    \
    }

SCANS(f64, double, __m256d, _mm256_set1_pd)
SCANS(f32, float, __m256, _mm256_set1_ps)
