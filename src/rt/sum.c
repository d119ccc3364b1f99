/* Sums of floats in an order that depends on their number alone.
 *
 * The values of a sum form one sequence. It is cut into blocks of TR_SUM_BLOCK; a block is added up in
 * TR_SUM_LANES lanes (value i goes to lane i mod 16), the lanes in a fixed tree; block sums are combined like
 * the bits of a binary counter, so two sums are only ever added when they cover equally many blocks. A value
 * takes part in at most 16 + 4 + log2(blocks) additions (NumPy's pairwise sum: 16 + 3 + log2(n / 128)), and
 * the lanes are vectors, so it is as fast as memory. Empty places hold -0.0, the one value that changes
 * nothing it is added to. The same lanes are computed with 2 or 4 doubles a register, chosen by the
 * processor: the bits are the same. Not with 8: the values of a short row were just written by stores of half
 * that width, and a load of two stores waits until both have left the store buffer (measured: rows of 16 took
 * 22 ns instead of 8); from memory the rate is the same. What is left behind whole registers is loaded value
 * by value for the same reason: rows of 17 took 19 ns by way of an array and take 9, rows of 5 took 13 and
 * take 6. */
#include <stddef.h>
#include <string.h>

#include "rt/enter.h"
#include "rt/fns.h"
#include "rt/pool.h"

#define TWO(M)   M(0) M(1)
#define FOUR(M)  TWO(M) M(2) M(3)
#define EIGHT(M) FOUR(M) M(4) M(5) M(6) M(7)

/* The lanes of REGS registers in a fixed tree: lane k and k + 8, then k + 4, k + 2, k + 1. First whole
 * registers ... */
#define JOIN_1
#define JOIN_2 JOIN_1 a0 += a1;
#define JOIN_4 \
    a0 += a2;  \
    a1 += a3;  \
    JOIN_2
#define JOIN_8 \
    a0 += a4;  \
    a1 += a5;  \
    a2 += a6;  \
    a3 += a7;  \
    JOIN_4
/* ... then the halves of one. */
#define FOLD_2 a0 += __builtin_shufflevector(a0, a0, 1, 0);
#define FOLD_4                                         \
    a0 += __builtin_shufflevector(a0, a0, 2, 3, 0, 1); \
    a0 += __builtin_shufflevector(a0, a0, 1, 0, 3, 2);
#define FOLD_8                                                     \
    a0 += __builtin_shufflevector(a0, a0, 4, 5, 6, 7, 0, 1, 2, 3); \
    a0 += __builtin_shufflevector(a0, a0, 2, 3, 0, 1, 6, 7, 4, 5); \
    a0 += __builtin_shufflevector(a0, a0, 1, 0, 3, 2, 5, 4, 7, 6);

#define AVX2 __attribute__((target("avx2")))

/* Four values of which the first q are there, -0.0 in place of others. One by one where not all are there:
 * what was stored one by one just now is known sooner so than by a vector, which waits for all of it. */
#define QUAD(name, T, TARGET)                                                                         \
    typedef T vec_##name __attribute__((vector_size(sizeof(T) * 4), aligned(sizeof(T)), may_alias));  \
    TARGET static inline vec_##name quad_##name(const T *x, int64_t q) {                              \
        if (q >= 4)                                                                                   \
            return *(const vec_##name *)x;                                                            \
        return (vec_##name){q > 0 ? x[0] : -(T)0, q > 1 ? x[1] : -(T)0, q > 2 ? x[2] : -(T)0, -(T)0}; \
    }
QUAD(f64, double, AVX2)
QUAD(f32, float, )

/* Sum of n <= TR_SUM_BLOCK values. EACH: for each of REGS registers that the lanes fill, of WIDTH values. */
#define BLOCK(name, T, WIDTH, REGS, EACH, REST, TARGET)                                                 \
    TARGET static T name(const T *x, int64_t n) {                                                       \
        typedef T vec __attribute__((vector_size(sizeof(T) * (WIDTH)), aligned(sizeof(T)), may_alias)); \
        int64_t i = 0;                                                                                  \
        EACH(INIT)                                                                                      \
        for (; i + TR_SUM_LANES <= n; i += TR_SUM_LANES) {                                              \
            const T *at = x + i;                                                                        \
            EACH(ADD)                                                                                   \
        }                                                                                               \
        if (i < n) {                                                                                    \
            const T *at = x + i;                                                                        \
            int64_t left = n - i;                                                                       \
            EACH(REST)                                                                                  \
        }                                                                                               \
        JOIN_##REGS FOLD_##WIDTH return a0[0];                                                          \
    }
#define INIT(r) vec a##r = -(vec){0};
#define ADD(r)  a##r += *(const vec *)(at + (r) * (sizeof(vec) / sizeof *at));
/* What is left for register r. */
#define TWO_F64(r) \
    a##r += (vec){left > 2 * (r) ? at[2 * (r)] : -0.0, left > 2 * (r) + 1 ? at[2 * (r) + 1] : -0.0};
#define FOUR_F64(r) a##r += quad_f64(at + 4 * (r), left - 4 * (r));
#define FOUR_F32(r) a##r += quad_f32(at + 4 * (r), left - 4 * (r));
#define EIGHT_F32(r)                                                        \
    a##r += __builtin_shufflevector(quad_f32(at + 8 * (r), left - 8 * (r)), \
                                    quad_f32(at + 8 * (r) + 4, left - 8 * (r)-4), 0, 1, 2, 3, 4, 5, 6, 7);

BLOCK(block_f64, double, 2, 8, EIGHT, TWO_F64, )
BLOCK(block_f64_avx2, double, 4, 4, FOUR, FOUR_F64, AVX2)
BLOCK(block_f32, float, 4, 4, FOUR, FOUR_F32, )
BLOCK(block_f32_avx2, float, 8, 2, TWO, EIGHT_F32, AVX2)

/* X(type's name, type) */
#define SUMS(N, T)                                                                                  \
    static T any_block_##N(const T *x, int64_t n) {                                                 \
        if (__builtin_cpu_supports("avx2"))                                                         \
            return block_##N##_avx2(x, n);                                                          \
        return block_##N(x, n);                                                                     \
    }                                                                                               \
    /* The carry of a binary counter: where a bit of the count is set, that level's sum joins. */   \
    void tr_rt_sum_add_##N(void *state, const T *x, int64_t n) {                                    \
        tr_sum_##N *s = state;                                                                      \
        for (; n > 0; n -= TR_SUM_BLOCK, x += TR_SUM_BLOCK) {                                       \
            T sum = any_block_##N(x, n < TR_SUM_BLOCK ? n : TR_SUM_BLOCK);                          \
            int level = 0;                                                                          \
            for (uint64_t bits = s->count++; bits & 1; bits >>= 1, level++)                         \
                sum = s->level[level] + sum;                                                        \
            s->level[level] = sum;                                                                  \
        }                                                                                           \
    }                                                                                               \
    T tr_rt_sum_end_##N(void *state, const T *x, int64_t n) {                                       \
        const tr_sum_##N *s = state;                                                                \
        T total = -(T)0;                                                                            \
        if (s->count == 0 && n <= TR_SUM_BLOCK)                                                     \
            return any_block_##N(x, n);                                                             \
        tr_rt_sum_add_##N(state, x, n);                                                             \
        for (int level = 0; level < TR_SUM_LEVELS && s->count >> level; level++)                    \
            if (s->count >> level & 1)                                                              \
                total = s->level[level] + total;                                                    \
        return total;                                                                               \
    }                                                                                               \
    /* Sums of ranges of 2**k blocks are nodes of the tree, at level k; the last may be shorter. */ \
    T tr_rt_sum_join_##N(const T *x, int64_t n) {                                                   \
        tr_sum_##N s;                                                                               \
        s.count = 0;                                                                                \
        for (int64_t i = 0; i + 1 < n; i++) {                                                       \
            T sum = x[i];                                                                           \
            int level = 0;                                                                          \
            for (uint64_t bits = s.count++; bits & 1; bits >>= 1, level++)                          \
                sum = s.level[level] + sum;                                                         \
            s.level[level] = sum;                                                                   \
        }                                                                                           \
        T total = n > 0 ? x[n - 1] : -(T)0;                                                         \
        for (int level = 0; level < TR_SUM_LEVELS && s.count >> level; level++)                     \
            if (s.count >> level & 1)                                                               \
                total = s.level[level] + total;                                                     \
        return total;                                                                               \
    }                                                                                               \
    T tr_rt_sum_##N(const T *x, int64_t n) {                                                        \
        tr_sum_##N s;                                                                               \
        s.count = 0;                                                                                \
        T total = tr_rt_sum_end_##N(&s, x, n);                                                      \
        tr_rt_look();                                                                               \
        return total;                                                                               \
    }

/* --- ranges of parallel patterns --- */

/* How many of n rounds make a range of so much work: a power of two, and at least a block of a sum,
 * so that ranges are nodes of its tree. */
int64_t tr_rt_grain_of(int64_t n, int64_t inner, int64_t work) {
    int64_t grain = inner == 1 ? TR_SUM_BLOCK : 1, fixed = tr_rt_fixed_grain();
    if (inner <= 1 && grain < work) /* regions of small loops wait for this */
        grain = (int64_t)1 << (64 - __builtin_clzll((uint64_t)work - 1));
    while (inner > 1 && (double)grain * (double)inner < (double)work)
        grain *= 2;
    grain = fixed ? fixed : grain;
    while (n / TR_PAR_RANGES >= grain)
        grain *= 2;
    return grain;
}

int64_t tr_rt_grain(int64_t n, int64_t inner, int64_t cost) {
    return tr_rt_grain_of(n, inner, TR_PAR_WORK / cost);
}

/* All n rounds, where nobody else would take a part: what is packed depends on no ranges, and a range that
 * nobody waits for needs no count of what it packs. Else the ranges that threads take. */
int64_t tr_rt_pack_rows(int64_t n, int64_t grain) {
    return n > grain && !tr_rt_fixed_grain() && tr_rt_is_alone() ? n : grain;
}

/* Of n rounds, each with `inner` elements: so many that tables as large as the target cost little beside
 * them, and a power of two; all, where no result depends on it and nobody else would take a part. */
int64_t tr_rt_scatter_rows(int64_t n, int64_t inner, int64_t size, int64_t any) {
    static const double worth = TR_SCATTER_WORTH, block = TR_SCATTER_BLOCK;
    double each = inner > 1 ? (double)inner : 1.0, least = (double)size * worth;
    int64_t rows = 1, fixed = any ? tr_rt_fixed_grain() : 0;
    if (any && !fixed && tr_rt_is_alone())
        return n > 1 ? n : 1;
    least = fixed ? (double)fixed * each : least > block ? least : block;
    while (((double)rows * each < least || n / rows >= TR_SCATTER_BLOCKS) && rows < n)
        rows *= 2;
    return rows;
}

/* Blocks of `rows` of n rounds, each with `inner` elements, into so many bytes: a part of them
 * for each thread, or 0: blocks it is. */
int64_t tr_rt_scatter_parts(int64_t rows, int64_t n, int64_t inner, int64_t bytes, int64_t put) {
    if (rows < n || tr_rt_fixed_grain())
        return rows < n ? 0 : 3;
    static const double rounds = TR_SCATTER_ROUNDS;
    bool pays =
        (double)n * (double)inner >= rounds && bytes >= (put ? TR_SCATTER_LARGE_PUT : TR_SCATTER_LARGE);
    return pays && !tr_rt_is_alone() ? tr_rt_num_threads() : 0;
}

SUMS(f64, double)
SUMS(f32, float)
