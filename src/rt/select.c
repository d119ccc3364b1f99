/* Selecting: which item belongs at a place (np.partition, np.median), without sorting the others.
 *
 * Floyd and Rivest's way: a sample says between which items the one that is wanted lies, so most others are
 * looked at once and a half. What a pivot splits is written without a jump that could be guessed wrong
 * (select_type.h), and in whole vectors where there is AVX-512, to the same places. Random numbers begin
 * with the length, so a result depends on the items alone. Where pivots fail too often a heap sorts the
 * rest, so no input takes longer than n log n.
 * Cost: the middle of 10^6 float64 takes 2.3 to 2.6 ms with vectors and 2.6 to 3.4 without, of
 * float32 1.4 and 2.1 (an Intel Xeon, beside other programs). Of a line to be left as it is
 * (tr_rt_ranked) it is one walk, 3.2 to 3.6 ms, and memory for a quarter of it; a copy of it where
 * too many lie between two items of the sample. */
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "rt/enter.h"
#include "rt/sort.h"

/* FEW are sorted; from SAMPLED on a sample is worth it, from RANKED on one between whose items few lie.
 * CHUNK: items that are moved, or counted, at once. */
enum { SEL_FEW = 24, SEL_SAMPLED = 1024, SEL_RANKED = 8192, SEL_CHUNK = 128 };

static int64_t below(uint64_t *seed, int64_t n) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(((unsigned __int128)*seed * (uint64_t)n) >> 64);
}

static int64_t sample_size(int64_t n) {
    double c = cbrt((double)n);
    return (int64_t)(c * c);
}

/* Where in a sample the item is that lies before (side -1), or behind (1), item k of n; hardly ever not. */
static int64_t sample_at(int64_t n, int64_t k, int64_t many, int side) {
    double s = (double)many, at = ((double)k + 0.5) / (double)n * s, off = 0.5 * sqrt(s * log((double)n)) + 1;
    int64_t r = (int64_t)(at + side * off);
    return r < 0 ? 0 : r >= many ? many - 1 : r;
}

static int64_t sample_rank(int64_t n, int64_t k, int64_t many) {
    return sample_at(n, k, many, k < n / 2 ? 1 : -1);
}

#define SEL_PASTE(a, b) a##_##b
#define SEL_CAT(a, b)   SEL_PASTE(a, b)

#define ITEM(name, type, less, nan, plain)                         \
    typedef type item_##name;                                      \
    static inline int less_##name(item_##name a, item_##name b) {  \
        return less(a, b);                                         \
    }                                                              \
    static inline int plain_##name(item_##name a, item_##name b) { \
        return plain(a, b);                                        \
    }                                                              \
    static inline int nan_##name(item_##name a) {                  \
        return nan(a);                                             \
    }
TR_SORT_ITEMS(ITEM)

/* Beside a pivot that is_apart, a NaN, plain comparisons of numbers would not do; beside others they are
 * NumPy's order, and cost one instruction. The other types have that order at once. */
#define PLAIN_ORDER(name)                                             \
    static inline int not_more_##name(item_##name a, item_##name b) { \
        return a <= b;                                                \
    }                                                                 \
    static inline bool is_apart_##name(item_##name a) {               \
        return nan_##name(a);                                         \
    }
#define FULL_ORDER(name)                                              \
    static inline int not_more_##name(item_##name a, item_##name b) { \
        return !less_##name(b, a);                                    \
    }                                                                 \
    static inline bool is_apart_##name(item_##name a) {               \
        (void)a;                                                      \
        return false;                                                 \
    }
PLAIN_ORDER(i8)
PLAIN_ORDER(u8)
PLAIN_ORDER(i16)
PLAIN_ORDER(u16)
PLAIN_ORDER(i32)
PLAIN_ORDER(u32)
PLAIN_ORDER(i64)
PLAIN_ORDER(u64)
PLAIN_ORDER(f32)
PLAIN_ORDER(f64)
FULL_ORDER(f16)
FULL_ORDER(c64)
FULL_ORDER(c128)

/* --- a chunk's items to both ends, whole vectors at a time --- */

#define AVX512 __attribute__((target("avx512f,popcnt")))
#define VBMI2  __attribute__((target("avx512f,avx512bw,avx512vbmi2,popcnt"))) /* packs items of 16 bits */
static inline bool has_AVX512(void) {
    return __builtin_cpu_supports("avx512f");
}
static inline bool has_VBMI2(void) {
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2");
}
#define SEL_ONES(n) (uint32_t)((UINT64_C(1) << (n)) - 1)

/* To the places where loops put them, so a result does not depend on the processor: those on the right from
 * the last to the first. False: not here. */
#define VECTORS(name, NEEDS, T, LANES, MASK, V, LOAD, ALL, TURN, LESS, NOT_MORE, PACK, STORE)                \
    NEEDS static void put_##name(T *a, int64_t *l, int64_t *r, const T *x, T p, const bool equal) {          \
        const V pivot = ALL(p);                                                                              \
        T *left = a + *l, *right = a + *r;                                                                   \
        for (int64_t i = 0; i < SEL_CHUNK; i += LANES) {                                                     \
            V v = LOAD(x + i), u = TURN(v);                                                                  \
            uint32_t to_left = equal ? NOT_MORE(v, pivot) : LESS(v, pivot);                                  \
            uint32_t to_right = ~(uint32_t)(equal ? NOT_MORE(u, pivot) : LESS(u, pivot)) & SEL_ONES(LANES);  \
            int n = __builtin_popcount(to_left);                                                             \
            right -= LANES - n;                                                                              \
            STORE(left, (MASK)SEL_ONES(n), PACK((MASK)to_left, v));                                          \
            STORE(right, (MASK)SEL_ONES(LANES - n), PACK((MASK)to_right, u));                                \
            left += n;                                                                                       \
        }                                                                                                    \
        *l = left - a;                                                                                       \
        *r = right - a;                                                                                      \
    }                                                                                                        \
    static inline bool put_vectors_##name(T *a, int64_t *l, int64_t *r, const T *x, T p, const bool equal) { \
        if (!has_##NEEDS())                                                                                  \
            return false;                                                                                    \
        put_##name(a, l, r, x, p, equal);                                                                    \
        return true;                                                                                         \
    }
#define NO_VECTORS(name)                                                                                \
    static inline bool put_vectors_##name(item_##name *a, int64_t *l, int64_t *r, const item_##name *x, \
                                          item_##name p, bool equal) {                                  \
        (void)a, (void)l, (void)r, (void)x, (void)p, (void)equal;                                       \
        return false;                                                                                   \
    }

#define TURN_64 _mm512_set_epi64(0, 1, 2, 3, 4, 5, 6, 7)
#define TURN_32 _mm512_set_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define TURN_16                                                                                            \
    _mm512_set_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, \
                     24, 25, 26, 27, 28, 29, 30, 31)
#define TURN_F64(v)      _mm512_permutexvar_pd(TURN_64, v)
#define TURN_F32(v)      _mm512_permutexvar_ps(TURN_32, v)
#define TURN_I64(v)      _mm512_permutexvar_epi64(TURN_64, v)
#define TURN_I16(v)      _mm512_permutexvar_epi16(TURN_16, v)
#define TURN_I32(v)      _mm512_permutexvar_epi32(TURN_32, v)
#define LESS_F64(a, b)   _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ)
#define LESS_F32(a, b)   _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)
#define NOMORE_F64(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ)
#define NOMORE_F32(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ)
VECTORS(f64, AVX512, double, 8, __mmask8, __m512d, _mm512_loadu_pd, _mm512_set1_pd, TURN_F64, LESS_F64,
        NOMORE_F64, _mm512_maskz_compress_pd, _mm512_mask_storeu_pd)
VECTORS(f32, AVX512, float, 16, __mmask16, __m512, _mm512_loadu_ps, _mm512_set1_ps, TURN_F32, LESS_F32,
        NOMORE_F32, _mm512_maskz_compress_ps, _mm512_mask_storeu_ps)
#define WORDS_64(name, type, sign)                                                                   \
    VECTORS(name, AVX512, type, 8, __mmask8, __m512i, _mm512_loadu_si512, ALL_64, TURN_I64,          \
            _mm512_cmplt_##sign##64_mask, _mm512_cmple_##sign##64_mask, _mm512_maskz_compress_epi64, \
            _mm512_mask_storeu_epi64)
#define WORDS_32(name, type, sign)                                                                   \
    VECTORS(name, AVX512, type, 16, __mmask16, __m512i, _mm512_loadu_si512, ALL_32, TURN_I32,        \
            _mm512_cmplt_##sign##32_mask, _mm512_cmple_##sign##32_mask, _mm512_maskz_compress_epi32, \
            _mm512_mask_storeu_epi32)
#define WORDS_16(name, type, sign)                                                                   \
    VECTORS(name, VBMI2, type, 32, __mmask32, __m512i, _mm512_loadu_si512, ALL_16, TURN_I16,         \
            _mm512_cmplt_##sign##16_mask, _mm512_cmple_##sign##16_mask, _mm512_maskz_compress_epi16, \
            _mm512_mask_storeu_epi16)
#define ALL_64(x) _mm512_set1_epi64((int64_t)(x))
#define ALL_32(x) _mm512_set1_epi32((int32_t)(x))
#define ALL_16(x) _mm512_set1_epi16((int16_t)(x))
WORDS_64(i64, int64_t, epi)
WORDS_64(u64, uint64_t, epu)
WORDS_32(i32, int32_t, epi)
WORDS_32(u32, uint32_t, epu)
WORDS_16(i16, int16_t, epi)
WORDS_16(u16, uint16_t, epu)
NO_VECTORS(i8)
NO_VECTORS(u8)
NO_VECTORS(f16)
NO_VECTORS(c64)
NO_VECTORS(c128)

#define SEL i8
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL u8
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL i16
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL u16
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL i32
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL u32
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL i64
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL u64
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL f16
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL f32
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL f64
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL c64
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL
#define SEL c128
#include "rt/select_type.h"
#define SEL_PLACES
#include "rt/select_type.h"
#undef SEL_PLACES
#undef SEL

#define PARTITION(name) partition_##name
#define PLACES(name)    partition_places_##name
#define RANKED(name)    ranked_##name
typedef void partition_fn(const void *from, int64_t step, int64_t n, void *to, const int64_t *kth,
                          int64_t nkth);
typedef int64_t ranked_fn(const void *from, int64_t step, int64_t n, int64_t k, void *to, int64_t m);
static partition_fn *const partition_of[TR_SORT__TYPES] = TR_SORT_TABLE(PARTITION);
static partition_fn *const places_of[TR_SORT__TYPES] = TR_SORT_TABLE(PLACES);
static ranked_fn *const ranked_of[TR_SORT__TYPES] = TR_SORT_TABLE(RANKED);

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* kth in order, in a buffer. */
static bool open_kth(tr_line *l, const int64_t *kth, int64_t nkth) {
    bool ok = tr_line_open(l, kth, nkth, 1, sizeof *kth, true, true);
    if (ok)
        qsort(l->items, (size_t)nkth, sizeof *kth, ascending);
    return ok;
}

static bool partition_line(int64_t type, const void *a, int64_t n, int64_t as, void *to, int64_t ts,
                           const int64_t *kth, int64_t nkth) {
    tr_line l, k;
    bool in_place = a == to, ok = false;
    if (n == 0)
        return true;
    if (!open_kth(&k, kth, nkth)) {
        tr_line_close(&k, false);
        return false;
    }
    if (tr_line_open(&l, to, n, ts, tr_sort_size(type), in_place, false)) {
        partition_of[type](in_place ? l.items : a, in_place ? 1 : as, n, l.items, k.items, nkth);
        ok = true;
    }
    tr_line_close(&l, ok);
    tr_line_close(&k, false);
    return ok;
}

int64_t tr_rt_partition(int64_t type, void *ao, const void *a, int64_t n, int64_t as, void *to_owner,
                        void *to, int64_t m, int64_t ts, void *ko, const int64_t *kth, int64_t nkth) {
    (void)ao, (void)to_owner, (void)m, (void)ko;
    bool ok = partition_line(type, a, n, as, to, ts, kth, nkth);
    tr_rt_look();
    return ok ? 0 : TR_SORT_NOMEM;
}

static bool places_line(int64_t type, const void *a, int64_t n, int64_t as, int64_t *places, int64_t ps,
                        const int64_t *kth, int64_t nkth) {
    tr_line l, p, k;
    bool ok = false;
    if (n == 0)
        return true;
    if (!open_kth(&k, kth, nkth)) {
        tr_line_close(&k, false);
        return false;
    }
    if (tr_line_open(&l, a, n, as, tr_sort_size(type), true, false)) {
        if (tr_line_open(&p, places, n, ps, sizeof *places, false, false)) {
            places_of[type](l.items, 1, n, p.items, k.items, nkth);
            ok = true;
        }
        tr_line_close(&p, ok);
    }
    tr_line_close(&l, false);
    tr_line_close(&k, false);
    return ok;
}

int64_t tr_rt_argpartition(int64_t type, void *ao, const void *a, int64_t n, int64_t as, void *po,
                           int64_t *places, int64_t np, int64_t ps, void *ko, const int64_t *kth,
                           int64_t nkth) {
    (void)ao, (void)po, (void)np, (void)ko;
    bool ok = places_line(type, a, n, as, places, ps, kth, nkth);
    tr_rt_look();
    return ok ? 0 : TR_SORT_NOMEM;
}

int64_t tr_rt_ranked(int64_t type, int64_t k, void *ao, const void *a, int64_t n, int64_t as, void *to_owner,
                     void *to, int64_t m) {
    (void)ao, (void)to_owner;
    int64_t r = ranked_of[type](a, as, n, k, to, m);
    tr_rt_look();
    return r;
}
