/* The k best of a sequence of keys that comes in pieces, and where they stand (k-select).
 *
 * Keys become whole numbers of the same order (float32 and 32 bits: int32; else int64), the larger the
 * better; of floats -0.0 is 0.0, and NaN the largest or the smallest of all. What may be among the best goes
 * to a buffer with its place. Once the k-th best of what came so far is known, what is not above it is passed
 * over; of equal keys the first came first, so places need not be compared. A full buffer is cut to k by
 * bisection over the values, counting in vectors. Before anything is known, the first elements are looked at
 * in groups: k of the groups' largest are as large as the k-th of these, so nothing smaller is wanted, and a
 * short row never fills its buffer. Which blocks hold anything that is wanted is found out for many of them
 * before any is looked at, without a branch that could be guessed wrong.
 * No result depends on the pieces, nor on the processor: without AVX2 the same is done one by one.
 * Cost: of long sequences that of reading them; rows of 1,000 float32 with k = 10 0.35 ns an element, with
 * k = 100 1.8 (Zen 4). What comes in ascending order is packed each time: 1.6 ns. */
#include <immintrin.h>
#include <string.h>

#include "rt/fns.h"

/* FIRST: elements that are looked at in groups. ROOM: in the buffer beside 2 k. BLOCK: elements that are
 * compared at once, STRETCH: blocks that are before any is looked at. DENSE: wanted ones of a block that are
 * packed in vectors. MANY: from here on a histogram says where to bisect. RUN: elements that are sorted by
 * counting, FEW: more than k that are as good as none then. */
enum {
    FIRST = 4096,
    FEW = 16,
    ROOM = 1024,
    BLOCK = 32,
    GROUPS = 1024,
    MANY = 8192,
    BINS = 2048,
    RUN = 128,
    STRETCH = 32,
    DENSE = 4
};

typedef struct top {
    int64_t k, room, held;
    int64_t least; /* what is not above it is not wanted, if `known` */
    uint8_t kind;  /* TR_TOP_* of the keys */
    bool down;     /* the smallest are the best */
    bool nan_last;
    bool avx2;
    bool known;
    bool full; /* nothing can be above */
    int64_t *places, *other_places;
    void *keys, *other_keys; /* int32 or int64 */
} top;

static bool is_wide(const top *t) {
    return t->kind == TR_TOP_F64 || t->kind == TR_TOP_I64 || t->kind == TR_TOP_U64;
}

#define AVX2 __attribute__((target("avx2,popcnt"))) static

/* --- keys as whole numbers --- */

static inline int32_t order_f32(const top *t, float x) {
    int32_t bits;
    x = (t->down ? -x : x) + 0.0f;
    memcpy(&bits, &x, sizeof bits);
    return x != x ? (t->nan_last ? INT32_MIN : INT32_MAX) : bits ^ (bits >> 31 & INT32_MAX);
}
static inline int64_t order_f64(const top *t, double x) {
    int64_t bits;
    x = (t->down ? -x : x) + 0.0;
    memcpy(&bits, &x, sizeof bits);
    return x != x ? (t->nan_last ? INT64_MIN : INT64_MAX) : bits ^ (bits >> 63 & INT64_MAX);
}
static inline int32_t flip_i32(const top *t) {
    int32_t low = t->kind == TR_TOP_U32 ? INT32_MIN : 0;
    return t->down ? ~low : low;
}
static inline int64_t flip_i64(const top *t) {
    int64_t low = t->kind == TR_TOP_U64 ? INT64_MIN : 0;
    return t->down ? ~low : low;
}
static inline int32_t order_i32(const top *t, int32_t x) {
    return x ^ flip_i32(t);
}
static inline int64_t order_i64(const top *t, int64_t x) {
    return x ^ flip_i64(t);
}

/* The float of an order, but for NaN's. */
static inline float value_f32(int32_t o) {
    float x;
    o ^= o >> 31 & INT32_MAX;
    memcpy(&x, &o, sizeof x);
    return x;
}
static inline double value_f64(int64_t o) {
    double x;
    o ^= o >> 63 & INT64_MAX;
    memcpy(&x, &o, sizeof x);
    return x;
}

/* Orders of the infinities. */
enum { INF_32 = 0x7f800000 };
#define INF_64 INT64_C(0x7ff0000000000000)

static bool is_float(const top *t) {
    return t->kind == TR_TOP_F32 || t->kind == TR_TOP_F64;
}

/* Nothing smaller than an element of this order is wanted: what such elements are above. False: all are
 * wanted. */
static bool just_below(const top *t, int64_t order, int64_t *least) {
    int64_t inf = is_wide(t) ? INF_64 : INF_32, lowest = is_wide(t) ? INT64_MIN : INT32_MIN;
    if (!is_float(t)) {
        *least = order == lowest ? order : order - 1;
        return order != lowest;
    }
    if (order <= ~inf)
        return false;
    *least = order > inf ? inf : order == 0 ? -2 : order - 1; /* -1 would be -0.0, which is 0.0 */
    return true;
}

/* Comparisons of floats know what is above a number, and vectors of those are quicker. */
static bool goes_by_vectors(const top *t) {
    return t->avx2 && t->known && (!is_float(t) || t->least >= (is_wide(t) ? ~INF_64 : ~(int64_t)INF_32));
}

/* --- vectors of four orders, and of four places --- */

/* Those of four lanes whose bit is set come first. */
static const uint8_t lanes[16][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0},
                                     {2, 0, 0, 0}, {0, 2, 0, 0}, {1, 2, 0, 0}, {0, 1, 2, 0},
                                     {3, 0, 0, 0}, {0, 3, 0, 0}, {1, 3, 0, 0}, {0, 1, 3, 0},
                                     {2, 3, 0, 0}, {0, 2, 3, 0}, {1, 2, 3, 0}, {0, 1, 2, 3}};

typedef __m128i four_i32;
typedef __m256i four_i64;

AVX2 inline __m128i lanes_of(uint32_t bits) {
    int32_t four;
    memcpy(&four, lanes[bits], sizeof four);
    return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(four));
}
/* The same of 64 bits, for an instruction that moves 32. */
AVX2 inline __m256i halves_of(__m128i of) {
    __m256i low = _mm256_slli_epi64(_mm256_cvtepi32_epi64(of), 1);
    return _mm256_or_si256(low, _mm256_slli_epi64(_mm256_add_epi64(low, _mm256_set1_epi64x(1)), 32));
}
AVX2 inline void put_four_i32(int32_t *key, int64_t *place, uint32_t bits, four_i32 x, __m256i at) {
    __m128i of = lanes_of(bits);
    _mm_storeu_si128((void *)key, _mm_castps_si128(_mm_permutevar_ps(_mm_castsi128_ps(x), of)));
    _mm256_storeu_si256((void *)place, _mm256_permutevar8x32_epi32(at, halves_of(of)));
}
AVX2 inline void put_four_i64(int64_t *key, int64_t *place, uint32_t bits, four_i64 x, __m256i at) {
    __m256i of = halves_of(lanes_of(bits));
    _mm256_storeu_si256((void *)key, _mm256_permutevar8x32_epi32(x, of));
    _mm256_storeu_si256((void *)place, _mm256_permutevar8x32_epi32(at, of));
}
AVX2 inline four_i32 load_four_i32(const int32_t *at) {
    return _mm_loadu_si128((const void *)at);
}
AVX2 inline four_i64 load_four_i64(const int64_t *at) {
    return _mm256_loadu_si256((const void *)at);
}
AVX2 inline void store_four_i32(int32_t *at, four_i32 x) {
    _mm_storeu_si128((void *)at, x);
}
AVX2 inline void store_four_i64(int64_t *at, four_i64 x) {
    _mm256_storeu_si256((void *)at, x);
}
AVX2 inline uint32_t above_four_i32(four_i32 x, int32_t below) {
    return (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpgt_epi32(x, _mm_set1_epi32(below))));
}
AVX2 inline uint32_t above_four_i64(four_i64 x, int64_t below) {
    return (uint32_t)_mm256_movemask_pd(
        _mm256_castsi256_pd(_mm256_cmpgt_epi64(x, _mm256_set1_epi64x(below))));
}

/* --- the k-th of keys in a buffer --- */

AVX2 int64_t count_avx2_i32(const int32_t *key, int64_t n, int32_t below) {
    const __m256i t = _mm256_set1_epi32(below);
    __m256i sum = _mm256_setzero_si256(), more = sum;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        sum = _mm256_sub_epi32(sum, _mm256_cmpgt_epi32(_mm256_loadu_si256((const void *)(key + i)), t));
        more = _mm256_sub_epi32(more, _mm256_cmpgt_epi32(_mm256_loadu_si256((const void *)(key + i + 8)), t));
    }
    sum = _mm256_add_epi32(sum, more);
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    half = _mm_add_epi32(half, _mm_unpackhi_epi64(half, half));
    int64_t count = (uint32_t)_mm_cvtsi128_si32(half) + (uint32_t)_mm_extract_epi32(half, 1);
    for (; i < n; i++)
        count += key[i] > below;
    return count;
}
AVX2 int64_t count_avx2_i64(const int64_t *key, int64_t n, int64_t below) {
    const __m256i t = _mm256_set1_epi64x(below);
    __m256i sum = _mm256_setzero_si256(), more = sum;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        sum = _mm256_sub_epi64(sum, _mm256_cmpgt_epi64(_mm256_loadu_si256((const void *)(key + i)), t));
        more = _mm256_sub_epi64(more, _mm256_cmpgt_epi64(_mm256_loadu_si256((const void *)(key + i + 4)), t));
    }
    sum = _mm256_add_epi64(sum, more);
    __m128i half = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    int64_t count = _mm_cvtsi128_si64(half) + _mm_extract_epi64(half, 1);
    for (; i < n; i++)
        count += key[i] > below;
    return count;
}
AVX2 void extremes_avx2_i32(const int32_t *key, int64_t n, int32_t *lo, int32_t *hi) {
    __m256i least = _mm256_set1_epi32(key[0]), most = least;
    int32_t of[16];
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256i x = _mm256_loadu_si256((const void *)(key + i));
        least = _mm256_min_epi32(least, x);
        most = _mm256_max_epi32(most, x);
    }
    _mm256_storeu_si256((void *)of, least);
    _mm256_storeu_si256((void *)(of + 8), most);
    *lo = *hi = key[0];
    for (int l = 0; l < 8; l++) {
        *lo = of[l] < *lo ? of[l] : *lo;
        *hi = of[8 + l] > *hi ? of[8 + l] : *hi;
    }
    for (; i < n; i++) {
        *lo = key[i] < *lo ? key[i] : *lo;
        *hi = key[i] > *hi ? key[i] : *hi;
    }
}
AVX2 void extremes_avx2_i64(const int64_t *key, int64_t n, int64_t *lo, int64_t *hi) {
    __m256i least = _mm256_set1_epi64x(key[0]), most = least;
    int64_t of[8], i = 0;
    for (; i + 4 <= n; i += 4) {
        __m256i x = _mm256_loadu_si256((const void *)(key + i));
        least = _mm256_blendv_epi8(least, x, _mm256_cmpgt_epi64(least, x));
        most = _mm256_blendv_epi8(most, x, _mm256_cmpgt_epi64(x, most));
    }
    _mm256_storeu_si256((void *)of, least);
    _mm256_storeu_si256((void *)(of + 4), most);
    *lo = *hi = key[0];
    for (int l = 0; l < 4; l++) {
        *lo = of[l] < *lo ? of[l] : *lo;
        *hi = of[4 + l] > *hi ? of[4 + l] : *hi;
    }
    for (; i < n; i++) {
        *lo = key[i] < *lo ? key[i] : *lo;
        *hi = key[i] > *hi ? key[i] : *hi;
    }
}

/* How many of n keys are larger than each; there are as many as fill vectors, the rest being the least. */
AVX2 void rank_avx2_i32(const int32_t *key, int64_t n, int32_t *rank) {
    for (int64_t j = 0; j < n; j += 16) {
        __m256i x = _mm256_loadu_si256((const void *)(key + j)),
                y = _mm256_loadu_si256((const void *)(key + j + 8));
        __m256i a = _mm256_setzero_si256(), b = a;
        for (int64_t i = 0; i < n; i++) {
            __m256i all = _mm256_set1_epi32(key[i]);
            a = _mm256_sub_epi32(a, _mm256_cmpgt_epi32(all, x));
            b = _mm256_sub_epi32(b, _mm256_cmpgt_epi32(all, y));
        }
        _mm256_storeu_si256((void *)(rank + j), a);
        _mm256_storeu_si256((void *)(rank + j + 8), b);
    }
}
AVX2 void rank_avx2_i64(const int64_t *key, int64_t n, int64_t *rank) {
    for (int64_t j = 0; j < n; j += 8) {
        __m256i x = _mm256_loadu_si256((const void *)(key + j)),
                y = _mm256_loadu_si256((const void *)(key + j + 4));
        __m256i a = _mm256_setzero_si256(), b = a;
        for (int64_t i = 0; i < n; i++) {
            __m256i all = _mm256_set1_epi64x(key[i]);
            a = _mm256_sub_epi64(a, _mm256_cmpgt_epi64(all, x));
            b = _mm256_sub_epi64(b, _mm256_cmpgt_epi64(all, y));
        }
        _mm256_storeu_si256((void *)(rank + j), a);
        _mm256_storeu_si256((void *)(rank + j + 4), b);
    }
}

static void cut(top *t);

#define O        int32_t
#define U        uint32_t
#define ORDER(f) f##_i32
#include "rt/topk_order.h"
#define O        int64_t
#define U        uint64_t
#define ORDER(f) f##_i64
#include "rt/topk_order.h"

static void cut(top *t) {
    if (t->held <= t->k)
        return;
    if (is_wide(t))
        cut_i64(t);
    else
        cut_i32(t);
}

/* --- elements --- */

#define LOAD_F32(at)     _mm256_xor_ps(_mm256_loadu_ps(at), flip)
#define LOAD_F64(at)     _mm256_xor_pd(_mm256_loadu_pd(at), flip)
#define LOAD_INT(at)     _mm256_xor_si256(_mm256_loadu_si256((const void *)(at)), flip)
#define FLIP_F32(t)      _mm256_set1_ps((t)->down ? -0.0f : 0.0f)
#define FLIP_F64(t)      _mm256_set1_pd((t)->down ? -0.0 : 0.0)
#define FLIP_I32(t)      _mm256_set1_epi32(flip_i32(t))
#define FLIP_I64(t)      _mm256_set1_epi64x(flip_i64(t))
#define LEAST_F32(t)     _mm256_set1_ps(value_f32((int32_t)(t)->least))
#define LEAST_F64(t)     _mm256_set1_pd(value_f64((t)->least))
#define LEAST_I32(t)     _mm256_set1_epi32((int32_t)(t)->least)
#define LEAST_I64(t)     _mm256_set1_epi64x((t)->least)
#define ABOVE_F32(x)     (last ? _mm256_cmp_ps(x, least, _CMP_GT_OQ) : _mm256_cmp_ps(x, least, _CMP_NLE_UQ))
#define ABOVE_F64(x)     (last ? _mm256_cmp_pd(x, least, _CMP_GT_OQ) : _mm256_cmp_pd(x, least, _CMP_NLE_UQ))
#define ABOVE_I32(x)     _mm256_cmpgt_epi32(x, least)
#define ABOVE_I64(x)     _mm256_cmpgt_epi64(x, least)
#define MOST_F32(x, y)   _mm256_max_ps(x, y) /* y where one of them is NaN */
#define MOST_F64(x, y)   _mm256_max_pd(x, y)
#define MOST_I32(x, y)   _mm256_max_epi32(x, y)
#define MOST_I64(x, y)   _mm256_blendv_epi8(y, x, _mm256_cmpgt_epi64(x, y))
#define BITS_F32(m)      (uint32_t) _mm256_movemask_ps(m)
#define BITS_F64(m)      (uint32_t) _mm256_movemask_pd(m)
#define BITS_I32(m)      (uint32_t) _mm256_movemask_ps(_mm256_castsi256_ps(m))
#define BITS_I64(m)      (uint32_t) _mm256_movemask_pd(_mm256_castsi256_pd(m))
#define OR_F32(a, b)     _mm256_or_ps(a, b)
#define OR_F64(a, b)     _mm256_or_pd(a, b)
#define OR_I32(a, b)     _mm256_or_si256(a, b)
#define OR_I64(a, b)     _mm256_or_si256(a, b)
#define STORE_F32(at, x) _mm256_storeu_ps(at, x)
#define STORE_F64(at, x) _mm256_storeu_pd(at, x)
#define STORE_INT(at, x) _mm256_storeu_si256((void *)(at), x)

/* The orders of four elements, which `flip` has been applied to. */
AVX2 inline four_i32 order_four_f32(__m128 x, bool last) {
    x = _mm_add_ps(x, _mm_setzero_ps());
    __m128i bits = _mm_castps_si128(x), nan = _mm_castps_si128(_mm_cmpunord_ps(x, x));
    bits = _mm_xor_si128(bits, _mm_and_si128(_mm_srai_epi32(bits, 31), _mm_set1_epi32(INT32_MAX)));
    return _mm_blendv_epi8(bits, _mm_set1_epi32(last ? INT32_MIN : INT32_MAX), nan);
}
AVX2 inline four_i64 order_four_f64(__m256d x, bool last) {
    x = _mm256_add_pd(x, _mm256_setzero_pd());
    __m256i bits = _mm256_castpd_si256(x), nan = _mm256_castpd_si256(_mm256_cmp_pd(x, x, _CMP_UNORD_Q));
    __m256i less = _mm256_cmpgt_epi64(_mm256_setzero_si256(), bits);
    bits = _mm256_xor_si256(bits, _mm256_and_si256(less, _mm256_set1_epi64x(INT64_MAX)));
    return _mm256_blendv_epi8(bits, _mm256_set1_epi64x(last ? INT64_MIN : INT64_MAX), nan);
}
#define FOUR_F32(at) order_four_f32(_mm_xor_ps(_mm_loadu_ps(at), _mm256_castps256_ps128(flip)), last)
#define FOUR_F64(at) order_four_f64(LOAD_F64(at), last)
#define FOUR_I32(at) _mm_xor_si128(_mm_loadu_si128((const void *)(at)), _mm256_castsi256_si128(flip))
#define FOUR_I64(at) LOAD_INT(at)

#define KEY(f)       f##_f32
#define ORDER(f)     f##_i32
#define T            float
#define V            __m256
#define LANES        8
#define O            int32_t
#define LOAD(at)     LOAD_F32(at)
#define FOUR(at)     FOUR_F32(at)
#define FLIP(t)      FLIP_F32(t)
#define LEAST(t)     LEAST_F32(t)
#define ABOVE(x)     ABOVE_F32(x)
#define MOST(x, y)   MOST_F32(x, y)
#define BITS(m)      BITS_F32(m)
#define OR(a, b)     OR_F32(a, b)
#define STORE(at, x) STORE_F32(at, x)
#include "rt/topk_keys.h"
#define KEY(f)       f##_f64
#define ORDER(f)     f##_i64
#define T            double
#define V            __m256d
#define LANES        4
#define O            int64_t
#define LOAD(at)     LOAD_F64(at)
#define FOUR(at)     FOUR_F64(at)
#define FLIP(t)      FLIP_F64(t)
#define LEAST(t)     LEAST_F64(t)
#define ABOVE(x)     ABOVE_F64(x)
#define MOST(x, y)   MOST_F64(x, y)
#define BITS(m)      BITS_F64(m)
#define OR(a, b)     OR_F64(a, b)
#define STORE(at, x) STORE_F64(at, x)
#include "rt/topk_keys.h"
#define KEY(f)       f##_i32
#define ORDER(f)     f##_i32
#define T            int32_t
#define V            __m256i
#define LANES        8
#define O            int32_t
#define LOAD(at)     LOAD_INT(at)
#define FOUR(at)     FOUR_I32(at)
#define FLIP(t)      FLIP_I32(t)
#define LEAST(t)     LEAST_I32(t)
#define ABOVE(x)     ABOVE_I32(x)
#define MOST(x, y)   MOST_I32(x, y)
#define BITS(m)      BITS_I32(m)
#define OR(a, b)     OR_I32(a, b)
#define STORE(at, x) STORE_INT(at, x)
#include "rt/topk_keys.h"
#define KEY(f)       f##_i64
#define ORDER(f)     f##_i64
#define T            int64_t
#define V            __m256i
#define LANES        4
#define O            int64_t
#define LOAD(at)     LOAD_INT(at)
#define FOUR(at)     FOUR_I64(at)
#define FLIP(t)      FLIP_I64(t)
#define LEAST(t)     LEAST_I64(t)
#define ABOVE(x)     ABOVE_I64(x)
#define MOST(x, y)   MOST_I64(x, y)
#define BITS(m)      BITS_I64(m)
#define OR(a, b)     OR_I64(a, b)
#define STORE(at, x) STORE_INT(at, x)
#include "rt/topk_keys.h"

/* --- a choice --- */

static int64_t room_for(int64_t k, int64_t n) {
    return (n < k + k + ROOM ? n : k + k + ROOM) + BLOCK;
}

int64_t tr_rt_top_room(int64_t k, int64_t n) {
    return (int64_t)sizeof(top) + room_for(k, n) * 4 * (int64_t)sizeof(int64_t);
}

static void reset(top *t) {
    t->held = 0;
    t->known = false;
    t->full = t->k == 0;
}

void tr_rt_top_open(void *memory, int64_t k, int64_t n, int64_t what) {
    top *t = memory;
    int64_t room = room_for(k, n);
    *t = (top){.k = k,
               .room = room,
               .kind = (uint8_t)(what & TR_TOP_KIND),
               .down = what & TR_TOP_DOWN,
               .nan_last = what & TR_TOP_NAN_LAST,
               .avx2 = __builtin_cpu_supports("avx2"),
               .places = (int64_t *)(t + 1)};
    t->other_places = t->places + room;
    t->keys = t->places + 2 * room;
    t->other_keys = t->places + 3 * room;
    reset(t);
}

void tr_rt_top_see(void *memory, const void *x, int64_t n, int64_t first) {
    top *t = memory;
    switch (t->kind) {
    case TR_TOP_F32: see_f32(t, x, n, first); break;
    case TR_TOP_F64: see_f64(t, x, n, first); break;
    case TR_TOP_I32:
    case TR_TOP_U32: see_i32(t, x, n, first); break;
    default: see_i64(t, x, n, first);
    }
}

int64_t *tr_rt_top_end(void *memory) {
    top *t = memory;
    if (is_wide(t))
        sort_i64(t);
    else
        sort_i32(t);
    /* Where another thread has changed keys between two looks at them, too few may have been found. */
    for (int64_t i = t->held; i < t->k; i++)
        t->places[i] = 0;
    reset(t);
    return t->places;
}

/* A range's best: how many, their orders, their places. */
void tr_rt_top_leave(void *memory, int64_t *to) {
    top *t = memory;
    cut(t);
    *to = t->held;
    for (int64_t i = 0; i < t->held; i++)
        to[1 + i] = is_wide(t) ? ((int64_t *)t->keys)[i] : ((int32_t *)t->keys)[i];
    if (t->held)
        memcpy(to + 1 + t->k, t->places, (size_t)t->held * sizeof *to);
    reset(t);
}

void tr_rt_top_join(void *memory, const int64_t *from, int64_t n) {
    top *t = memory;
    for (int64_t r = 0; r < n; r++, from += 1 + 2 * t->k)
        for (int64_t i = 0; i < *from; i++) {
            if (t->held == t->room)
                cut(t);
            if (is_wide(t))
                ((int64_t *)t->keys)[t->held] = from[1 + i];
            else
                ((int32_t *)t->keys)[t->held] = (int32_t)from[1 + i];
            t->places[t->held++] = from[1 + t->k + i];
        }
}
