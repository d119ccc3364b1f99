/* Where the smallest or largest of a sequence is: the first of them, or the first NaN.
 *
 * A new extreme is rare. So items are first compared with the one so far, whole vectors at a time and without
 * waiting for one another; only where a group of vectors has a better one is it looked for: its extreme
 * first, lane by lane, then where that is, with the group in the cache. (Places that are carried along with
 * the extremes cost a group twice that.) Cost: near that of reading the items, at worst (they ascend) twice
 * that. Where the processor has no AVX2, one by one. (Vectors of 64 bytes were measured: no faster from
 * memory, and joining their lanes takes 10 ns more of a short row.) */
#include <immintrin.h>
#include <string.h>

#include "rt/enter.h"
#include "rt/fns.h"

/* Fewer items than FEW are looked at one by one. */
enum { FEW = 12 };
/* Bytes that are asked for before they are read: at a row's end the processor waits for what was guessed
 * wrong, and would ask for no more meanwhile. Rows follow each other. */
enum { AHEAD = 2048 };

#define AVX2 __attribute__((target("avx2")))

/* MOST: vectors in a group at most. */
#define COUNTS(T, BYTES) enum { LANES = (BYTES) / sizeof(T), MOST = 250 }
#define TYPES(T, I, BYTES)                                                            \
    COUNTS(T, BYTES);                                                                 \
    typedef T vec __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias)); \
    typedef I mask __attribute__((vector_size(BYTES), unused));                       \
    typedef int64_t words __attribute__((vector_size(BYTES), unused))

#define PICK(c, a, b) (((c) & (mask)(a)) | (~(c) & (mask)(b)))
#define ITEM(k)       (*(const vec *)(x + (k)*LANES))
#define LAST(x)       (*(const vec *)((x) + n - LANES))
#define SPLAT(T, x)   ((x) - (T){0})

/* Below, `a KEEPS b`: b is not better than a; it fails with a NaN. `a BEATS b`: a is better. */

/* Is none of n items, LANES at least, better than `best`? The last vector may share items with the one
 * before. */
#define KEPT(name, T, I, BYTES, KEEPS, TARGET)                                                             \
    TARGET static bool name(const T *x, int64_t n, T best) {                                               \
        TYPES(T, I, BYTES);                                                                                \
        vec b = SPLAT(vec, best);                                                                          \
        mask all = LAST(x) KEEPS b;                                                                        \
        int64_t k = 0, count = n / LANES;                                                                  \
        for (; k + 4 <= count; k += 4)                                                                     \
            all &=                                                                                         \
                (ITEM(k) KEEPS b) & (ITEM(k + 1) KEEPS b) & (ITEM(k + 2) KEEPS b) & (ITEM(k + 3) KEEPS b); \
        if (k < count)                                                                                     \
            all &= ITEM(k) KEEPS b;                                                                        \
        if (k + 1 < count)                                                                                 \
            all &= ITEM(k + 1) KEEPS b;                                                                    \
        if (k + 2 < count)                                                                                 \
            all &= ITEM(k + 2) KEEPS b;                                                                    \
        words w = (words)all;                                                                              \
        int64_t r = w[0];                                                                                  \
        for (unsigned j = 1; j < sizeof w / 8; j++)                                                        \
            r &= w[j];                                                                                     \
        return r == -1;                                                                                    \
    }

/* The better one of each lane, in one instruction where there is one; of NaN and a number either. */
#define BY_CHOICE(BEATS, a, b) ((vec)PICK((a)BEATS(b), a, b))
#define MIN_i8(BEATS, a, b)    (vec) _mm256_min_epi8((__m256i)(a), (__m256i)(b))
#define MAX_i8(BEATS, a, b)    (vec) _mm256_max_epi8((__m256i)(a), (__m256i)(b))
#define MIN_i16(BEATS, a, b)   (vec) _mm256_min_epi16((__m256i)(a), (__m256i)(b))
#define MAX_i16(BEATS, a, b)   (vec) _mm256_max_epi16((__m256i)(a), (__m256i)(b))
#define MIN_i32(BEATS, a, b)   (vec) _mm256_min_epi32((__m256i)(a), (__m256i)(b))
#define MAX_i32(BEATS, a, b)   (vec) _mm256_max_epi32((__m256i)(a), (__m256i)(b))
#define MIN_u8(BEATS, a, b)    (vec) _mm256_min_epu8((__m256i)(a), (__m256i)(b))
#define MAX_u8(BEATS, a, b)    (vec) _mm256_max_epu8((__m256i)(a), (__m256i)(b))
#define MIN_u16(BEATS, a, b)   (vec) _mm256_min_epu16((__m256i)(a), (__m256i)(b))
#define MAX_u16(BEATS, a, b)   (vec) _mm256_max_epu16((__m256i)(a), (__m256i)(b))
#define MIN_u32(BEATS, a, b)   (vec) _mm256_min_epu32((__m256i)(a), (__m256i)(b))
#define MAX_u32(BEATS, a, b)   (vec) _mm256_max_epu32((__m256i)(a), (__m256i)(b))
#define MIN_f32(BEATS, a, b)   (vec) _mm256_min_ps((__m256)(a), (__m256)(b))
#define MAX_f32(BEATS, a, b)   (vec) _mm256_max_ps((__m256)(a), (__m256)(b))
#define MIN_f64(BEATS, a, b)   (vec) _mm256_min_pd((__m256d)(a), (__m256d)(b))
#define MAX_f64(BEATS, a, b)   (vec) _mm256_max_pd((__m256d)(a), (__m256d)(b))
#define MIN_i64                BY_CHOICE
#define MAX_i64                BY_CHOICE
#define MIN_u64                BY_CHOICE
#define MAX_u64                BY_CHOICE

/* Four vectors side by side, so that none waits for the one before: each lane's best item, and a sum, which
 * is NaN if any item was (or they held both infinities). */
#define STEP(s, BEATS, BEST, SUM, item) \
    {                                   \
        vec v = item;                   \
        SUM(sum##s, v)                  \
        b##s = BEST(BEATS, v, b##s);    \
    }
#define FLOAT(sum, v) sum += v;
#define INT(sum, v)
#define BITS(m) (uint32_t) _mm256_movemask_epi8((__m256i)(m)) /* a byte's each, of whole lanes */

/* The first place of the best of n items, one of which is better than *best or is *best; or of the first
 * NaN. */
#define EXTREME(name, T, I, BYTES, BEATS, BEST, SUM, TARGET)                                                 \
    TARGET static int64_t name(const T *x, int64_t n, T *best) {                                             \
        TYPES(T, I, BYTES);                                                                                  \
        vec b0 = SPLAT(vec, *best), b1 = b0, b2 = b0, b3 = b0;                                               \
        vec sum0 = {0}, sum1 = sum0, sum2 = sum0, sum3 = sum0;                                               \
        int64_t k = 0, count = n / LANES;                                                                    \
        for (; k + 4 <= count; k += 4) {                                                                     \
            __builtin_prefetch((const char *)&ITEM(k) + AHEAD);                                              \
            __builtin_prefetch((const char *)&ITEM(k) + AHEAD + 64);                                         \
            STEP(0, BEATS, BEST, SUM, ITEM(k))                                                               \
            STEP(1, BEATS, BEST, SUM, ITEM(k + 1))                                                           \
            STEP(2, BEATS, BEST, SUM, ITEM(k + 2))                                                           \
            STEP(3, BEATS, BEST, SUM, ITEM(k + 3))                                                           \
        }                                                                                                    \
        if (k < count)                                                                                       \
            STEP(0, BEATS, BEST, SUM, ITEM(k))                                                               \
        if (k + 1 < count)                                                                                   \
            STEP(1, BEATS, BEST, SUM, ITEM(k + 1))                                                           \
        if (k + 2 < count)                                                                                   \
            STEP(2, BEATS, BEST, SUM, ITEM(k + 2))                                                           \
        STEP(3, BEATS, BEST, SUM, LAST(x))                                                                   \
        sum0 = (sum0 + sum1) + (sum2 + sum3);                                                                \
        if (BITS(sum0 == sum0) != UINT32_MAX) {                                                              \
            for (k = 0; k < n && x[k] == x[k];)                                                              \
                k++;                                                                                         \
            if (k < n) {                                                                                     \
                *best = x[k];                                                                                \
                return k;                                                                                    \
            }                                                                                                \
        }                                                                                                    \
        vec top = BEST(BEATS, BEST(BEATS, b0, b1), BEST(BEATS, b2, b3));                                     \
        T even = top[0], odd = top[1];                                                                       \
        for (int j = 2; j < LANES; j += 2) {                                                                 \
            even = top[j] BEATS even ? top[j] : even;                                                        \
            odd = top[j + 1] BEATS odd ? top[j + 1] : odd;                                                   \
        }                                                                                                    \
        even = odd BEATS even ? odd : even;                                                                  \
        top = SPLAT(vec, even);                                                                              \
        for (k = 0; k + 4 <= count; k += 4)                                                                  \
            if (BITS((ITEM(k) == top) | (ITEM(k + 1) == top) | (ITEM(k + 2) == top) | (ITEM(k + 3) == top))) \
                break;                                                                                       \
        uint32_t here = 0;                                                                                   \
        while (k < count && !(here = BITS(ITEM(k) == top)))                                                  \
            k++;                                                                                             \
        int64_t from = here ? k * LANES : n - LANES;                                                         \
        here = here ? here : BITS(LAST(x) == top);                                                           \
        int64_t place = from + __builtin_ctz(here) / (int)sizeof(T);                                         \
        *best = x[place];                                                                                    \
        return place;                                                                                        \
    }

/* The place of the best of n items, or of the first NaN; -1: none is better than *best, which becomes that
 * item. One by one. */
#define EACH(name, T, KEEPS)                              \
    static int64_t name(const T *x, int64_t n, T *best) { \
        int64_t found = -1;                               \
        T b = *best;                                      \
        for (int64_t i = 0; i < n && b KEEPS b; i++)      \
            if (!(x[i] KEEPS b)) {                        \
                b = x[i];                                 \
                found = i;                                \
            }                                             \
        *best = b;                                        \
        return found;                                     \
    }

/* The same in vectors. fresh: *best is x[0]. */
#define FIND(name, T, BYTES, KEEPS, kept, extreme, each, TARGET)                  \
    TARGET static int64_t name(const T *x, int64_t n, bool fresh, T *best) {      \
        COUNTS(T, BYTES);                                                         \
        int64_t found = -1;                                                       \
        T b = *best;                                                              \
        if (n < FEW || n < LANES)                                                 \
            return each(x, n, best);                                              \
        for (int64_t i = 0, part; i < n && b KEEPS b; i += part, fresh = false) { \
            part = n - i < (MOST + 1) * LANES ? n - i : MOST * LANES;             \
            if (fresh || !kept(x + i, part, b))                                   \
                found = i + extreme(x + i, part, &b);                             \
        }                                                                         \
        *best = b;                                                                \
        return found;                                                             \
    }

/* One more piece of a sequence. */
#define PIECE(N, T, I, KEEPS, BEATS, BEST, SUM)                                                       \
    KEPT(kept_##N, T, I, 32, KEEPS, AVX2)                                                             \
    EXTREME(extreme_##N, T, I, 32, BEATS, BEST, SUM, AVX2)                                            \
    EACH(each_##N, T, KEEPS)                                                                          \
    FIND(find_##N, T, 32, KEEPS, kept_##N, extreme_##N, each_##N, AVX2)                               \
    static void piece_##N(tr_extreme *s, const T *x, int64_t n) {                                     \
        T best = n > 0 ? x[0] : 0;                                                                    \
        if (s->seen)                                                                                  \
            memcpy(&best, &s->best, sizeof best);                                                     \
        int64_t at =                                                                                  \
            __builtin_cpu_supports("avx2") ? find_##N(x, n, !s->seen, &best) : each_##N(x, n, &best); \
        s->at = at < 0 ? s->at : s->seen + at;                                                        \
        memcpy(&s->best, &best, sizeof best);                                                         \
        s->seen += n;                                                                                 \
    }
#define BOTH(N, T, I, SUM)                    \
    PIECE(min_##N, T, I, >=, <, MIN_##N, SUM) \
    PIECE(max_##N, T, I, <=, >, MAX_##N, SUM)

BOTH(i8, int8_t, int8_t, INT)
BOTH(i16, int16_t, int16_t, INT)
BOTH(i32, int32_t, int32_t, INT)
BOTH(i64, int64_t, int64_t, INT)
BOTH(u8, uint8_t, int8_t, INT)
BOTH(u16, uint16_t, int16_t, INT)
BOTH(u32, uint32_t, int32_t, INT)
BOTH(u64, uint64_t, int64_t, INT)
BOTH(f32, float, int32_t, FLOAT)
BOTH(f64, double, int64_t, FLOAT)

/* Bools: any byte but 0 is true. The first that is wanted cannot be beaten; best.i: it was seen. */
static int64_t first_bool(bool wanted, const uint8_t *x, int64_t n) {
    enum { STRETCH = 1024 };
    int64_t i = 0;
    if (!wanted) {
        const uint8_t *p = n > 0 ? memchr(x, 0, (size_t)n) : NULL;
        return p ? p - x : n;
    }
    if (__builtin_cpu_supports("avx2"))
        while (n - i >= STRETCH && kept_max_u8(x + i, STRETCH, 0))
            i += STRETCH;
    while (i < n && !x[i])
        i++;
    return i;
}

static void piece_bool(tr_extreme *s, bool max, const uint8_t *x, int64_t n) {
    if (!s->best.i) {
        int64_t at = first_bool(max, x, n);
        s->best.i = at < n;
        s->at = at < n ? s->seen + at : 0;
    }
    s->seen += n;
}

void tr_rt_arg_add(int64_t what, void *state, const void *x, int64_t n) {
    switch (what) {
#define X(N, id)                                             \
    case TR_ARG_##id * 2: piece_min_##N(state, x, n); break; \
    case TR_ARG_##id * 2 + 1: piece_max_##N(state, x, n); break;
        TR_ARG_TYPES(X)
#undef X
    default: piece_bool(state, what & 1, x, n);
    }
}

int64_t tr_rt_arg(int64_t what, const void *x, int64_t n) {
    tr_extreme s = {0};
    tr_rt_arg_add(what, &s, x, n);
    tr_rt_look();
    return s.at;
}
