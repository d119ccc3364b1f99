/* Sums of floats in an order that depends on their number alone.
 *
 * The values of a sum form one sequence. It is cut into blocks of TR_SUM_BLOCK; a block is added up in TR_SUM_LANES lanes (value i
 * goes to lane i mod 16), the lanes in a fixed tree; block sums are combined like the bits of a binary counter, so two
 * sums are only ever added when they cover equally many blocks. A value takes part in at most 16 + 4 + log2(blocks)
 * additions (NumPy's pairwise sum: 16 + 3 + log2(n / 128)), and the lanes are vectors, so it is as fast as memory.
 * Empty places hold -0.0, the one value that changes nothing it is added to.
 * The same lanes are computed with 2, 4 or 8 doubles a register, chosen by the processor: the bits are the same. */
#include <stddef.h>
#include <string.h>

#include "rt/fns.h"

#define TWO(M)   M(0) M(1)
#define FOUR(M)  TWO(M) M(2) M(3)
#define EIGHT(M) FOUR(M) M(4) M(5) M(6) M(7)

/* Sum of n <= TR_SUM_BLOCK values. REGS: registers that the lanes fill, WIDTH: values in each. */
#define BLOCK(name, T, WIDTH, REGS, TARGET)                                                             \
    TARGET static T name(const T *x, int64_t n) {                                                       \
        typedef T vec __attribute__((vector_size(sizeof(T) * (WIDTH)), aligned(sizeof(T)), may_alias)); \
        T lane[TR_SUM_LANES];                                                                           \
        int64_t i = 0;                                                                                  \
        REGS(INIT)                                                                                      \
        for (; i + TR_SUM_LANES <= n; i += TR_SUM_LANES) {                                              \
            const T *at = x + i;                                                                        \
            REGS(ADD)                                                                                   \
        }                                                                                               \
        REGS(SPILL)                                                                                     \
        for (int k = 0; i < n; i++, k++)                                                                \
            lane[k] += x[i];                                                                            \
        for (int half = TR_SUM_LANES / 2; half; half /= 2)                                              \
            for (int k = 0; k < half; k++)                                                              \
                lane[k] += lane[k + half];                                                              \
        return lane[0];                                                                                 \
    }
#define INIT(r)  vec a##r = -(vec){0};
#define ADD(r)   a##r += *(const vec *)(at + (r) * (sizeof(vec) / sizeof *at));
#define SPILL(r) memcpy(lane + (r) * (sizeof(vec) / sizeof *lane), &a##r, sizeof(vec));

#define AVX2   __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f")))

BLOCK(block_f64, double, 2, EIGHT, )
BLOCK(block_f64_avx2, double, 4, FOUR, AVX2)
BLOCK(block_f64_avx512, double, 8, TWO, AVX512)
BLOCK(block_f32, float, 4, FOUR, )
BLOCK(block_f32_avx2, float, 8, TWO, AVX2)
#define ONE(M) M(0)
BLOCK(block_f32_avx512, float, 16, ONE, AVX512)

/* X(type's name, type) */
#define SUMS(N, T)                                                                                                \
    static T any_block_##N(const T *x, int64_t n) {                                                               \
        if (__builtin_cpu_supports("avx512f"))                                                                    \
            return block_##N##_avx512(x, n);                                                                      \
        if (__builtin_cpu_supports("avx2"))                                                                       \
            return block_##N##_avx2(x, n);                                                                        \
        return block_##N(x, n);                                                                                   \
    }                                                                                                             \
    /* The carry of a binary counter: where a bit of the count is set, that level's sum joins the new one. */     \
    void tr_rt_sum_add_##N(void *state, const T *x, int64_t n) {                                                  \
        tr_sum_##N *s = state;                                                                                    \
        for (; n > 0; n -= TR_SUM_BLOCK, x += TR_SUM_BLOCK) {                                                     \
            T sum = any_block_##N(x, n < TR_SUM_BLOCK ? n : TR_SUM_BLOCK);                                        \
            int level = 0;                                                                                        \
            for (uint64_t bits = s->count++; bits & 1; bits >>= 1, level++)                                       \
                sum = s->level[level] + sum;                                                                      \
            s->level[level] = sum;                                                                                \
        }                                                                                                         \
    }                                                                                                             \
    T tr_rt_sum_end_##N(void *state, const T *x, int64_t n) {                                                     \
        const tr_sum_##N *s = state;                                                                              \
        T total = -(T)0;                                                                                          \
        if (s->count == 0 && n <= TR_SUM_BLOCK)                                                                   \
            return any_block_##N(x, n);                                                                           \
        tr_rt_sum_add_##N(state, x, n);                                                                           \
        for (int level = 0; level < TR_SUM_LEVELS && s->count >> level; level++)                                  \
            if (s->count >> level & 1)                                                                            \
                total = s->level[level] + total;                                                                  \
        return total;                                                                                             \
    }                                                                                                             \
    /* Sums of ranges as long as 2**k blocks are nodes of the tree, at level k; the last range may be shorter. */ \
    T tr_rt_sum_join_##N(const T *x, int64_t n) {                                                                 \
        tr_sum_##N s;                                                                                             \
        s.count = 0;                                                                                              \
        for (int64_t i = 0; i + 1 < n; i++) {                                                                     \
            T sum = x[i];                                                                                         \
            int level = 0;                                                                                        \
            for (uint64_t bits = s.count++; bits & 1; bits >>= 1, level++)                                        \
                sum = s.level[level] + sum;                                                                       \
            s.level[level] = sum;                                                                                 \
        }                                                                                                         \
        T total = n > 0 ? x[n - 1] : -(T)0;                                                                       \
        for (int level = 0; level < TR_SUM_LEVELS && s.count >> level; level++)                                   \
            if (s.count >> level & 1)                                                                             \
                total = s.level[level] + total;                                                                   \
        return total;                                                                                             \
    }                                                                                                             \
    T tr_rt_sum_##N(const T *x, int64_t n) {                                                                      \
        tr_sum_##N s;                                                                                             \
        s.count = 0;                                                                                              \
        return tr_rt_sum_end_##N(&s, x, n);                                                                       \
    }

/* --- ranges of parallel patterns --- */

/* A range should take a thread some 20 microseconds, of which an operation takes about a quarter of a nanosecond; a power of two, and
 * at least a block of a sum, so that ranges are nodes of its tree. */
int64_t tr_rt_grain(int64_t n, int64_t inner, int64_t cost) {
    int64_t grain = inner == 1 ? TR_SUM_BLOCK : 1, work = 80000 / cost;
    double each = inner > 1 ? (double)inner : 1.0;
    while ((double)grain * each < (double)work)
        grain *= 2;
    while (n / grain >= TR_PAR_RANGES)
        grain *= 2;
    return grain;
}

SUMS(f64, double)
SUMS(f32, float)
