/* Products of small matrices of floats, one pair after the other.
 *
 * A call of a BLAS costs 20 to 300 ns before it multiplies anything, and so do loops whose rounds are few:
 * two rows by two columns are eight multiplications. Here columns of the result are a vector or two, of 32
 * bytes each, and how many is known to the code, of which there is one copy for each number: a row is loaded
 * and stored in few pieces, and nothing beyond its end is touched. The rows of b are kept as vectors, and
 * each row of a goes along them. What has as many rows as columns, two to four, is written out.
 * An item of the result is 0 plus its products in their order, whatever the processor: as in matmul.c's
 * loops, and without a fused multiply-add.
 * Cost on a Zen 4, float32 and float64: 1.6 and 1.1 ns a pair of 2 by 2, 4.4 and 6 of 4 by 4, 26 and 36 of
 * 8 by 8. */
#include "rt/matsmall.h"

#include <assert.h>

#define INLINE static inline __attribute__((always_inline))
#define AVX2   __attribute__((target("avx2")))

#define WRITTEN_OUT _Pragma("GCC unroll 4")

/* X(name, type, lanes of vectors of 16 and of 32 bytes, these in order): how n items come into H, F or two
 * times F lanes, and out of them. */
#define ROWS(N, T, H, F, ...)                                                                        \
    typedef T half_##N __attribute__((vector_size(sizeof(T) * (H)), aligned(sizeof(T)), may_alias)); \
    typedef T full_##N __attribute__((vector_size(sizeof(T) * (F)), aligned(sizeof(T)), may_alias)); \
    INLINE void load_half_##N(half_##N *to, const T *p, int64_t by, int n) {                         \
        if (n == (H) && by == 1) {                                                                   \
            *to = *(const half_##N *)p;                                                              \
            return;                                                                                  \
        }                                                                                            \
        *to = (half_##N){p[0]};                                                                      \
        WRITTEN_OUT for (int k = 1; k < n; k++)(*to)[k] = p[k * by];                                 \
    }                                                                                                \
    INLINE void store_half_##N(T *p, const half_##N *x, int n) {                                     \
        if (n == (H))                                                                                \
            *(half_##N *)p = *x;                                                                     \
        else                                                                                         \
            WRITTEN_OUT for (int k = 0; k < n; k++) p[k] = (*x)[k];                                  \
    }                                                                                                \
    INLINE void add_half_##N(half_##N *s, T u, const half_##N *v) {                                  \
        *s += u * *v;                                                                                \
    }                                                                                                \
    INLINE void load_full_##N(full_##N *to, const T *p, int64_t by, int n) {                         \
        if (n == (F) && by == 1) {                                                                   \
            *to = *(const full_##N *)p;                                                              \
            return;                                                                                  \
        }                                                                                            \
        half_##N lo, hi = {0};                                                                       \
        load_half_##N(&lo, p, by, n < (H) ? n : (H));                                                \
        if (n > (H))                                                                                 \
            load_half_##N(&hi, p + (H)*by, by, n - (H));                                             \
        *to = __builtin_shufflevector(lo, hi, __VA_ARGS__);                                          \
    }                                                                                                \
    INLINE void store_full_##N(T *p, const full_##N *x, int n) {                                     \
        if (n == (F)) {                                                                              \
            *(full_##N *)p = *x;                                                                     \
            return;                                                                                  \
        }                                                                                            \
        half_##N two[2];                                                                             \
        __builtin_memcpy(two, x, sizeof two);                                                        \
        store_half_##N(p, &two[0], n < (H) ? n : (H));                                               \
        if (n > (H))                                                                                 \
            store_half_##N(p + (H), &two[1], n - (H));                                               \
    }                                                                                                \
    INLINE void add_full_##N(full_##N *s, T u, const full_##N *v) {                                  \
        *s += u * *v;                                                                                \
    }                                                                                                \
    typedef struct wide_##N {                                                                        \
        full_##N lo, hi;                                                                             \
    } wide_##N;                                                                                      \
    INLINE void load_wide_##N(wide_##N *to, const T *p, int64_t by, int n) {                         \
        load_full_##N(&to->lo, p, by, F);                                                            \
        load_full_##N(&to->hi, p + (F)*by, by, n - (F));                                             \
    }                                                                                                \
    INLINE void store_wide_##N(T *p, const wide_##N *x, int n) {                                     \
        store_full_##N(p, &x->lo, F);                                                                \
        store_full_##N(p + (F), &x->hi, n - (F));                                                    \
    }                                                                                                \
    INLINE void add_wide_##N(wide_##N *s, T u, const wide_##N *v) {                                  \
        s->lo += u * v->lo;                                                                          \
        s->hi += u * v->hi;                                                                          \
    }

/* `cols` columns of all pairs, k products each; b has LEAST columns at least. Numbers that the caller knows
 * are numbers here. */
#define PAIRS(N, T, L, LEAST)                                                                               \
    INLINE void pairs_##L##_##N(int64_t n, T *c, int64_t step, int64_t ld, const tr_mats *a,                \
                                const tr_mats *b, int64_t col, int cols, int64_t rows, int64_t k,           \
                                int64_t cs, int64_t by) {                                                   \
        L##_##N row[TR_MAT_SMALL / (LEAST)];                                                                \
        const T *x = (const T *)(const void *)a->data, *y = (const T *)(const void *)b->data + col * by;    \
        int64_t rs = a->rs, brs = b->rs, xstep = a->step, ystep = b->step;                                  \
        for (int64_t q = 0; q < n; q++, x += xstep, y += ystep, c += step) {                                \
            WRITTEN_OUT for (int64_t p = 0; p < k; p++) load_##L##_##N(&row[p], y + p * brs, by, cols);     \
            WRITTEN_OUT for (int64_t i = 0; i < rows; i++) {                                                \
                L##_##N s = {0};                                                                            \
                WRITTEN_OUT for (int64_t p = 0; p < k; p++) add_##L##_##N(&s, x[i * rs + p * cs], &row[p]); \
                store_##L##_##N(c + col + i * ld, &s, cols);                                                \
            }                                                                                               \
        }                                                                                                   \
    }

#define ARGS n, c, step, ld, a, b, col
/* Columns as many as a function's name says. Each function has a frame of its own for its rows of b: inlined
 * into one they take 140 KiB of the stack where a sanitizer keeps every copy's apart. */
#define COLUMNS(TARGET, name, N, T, L, some)                                                          \
    TARGET __attribute__((noinline)) static void name##_##some(                                       \
        int64_t n, T *c, int64_t step, int64_t ld, const tr_mats *a, const tr_mats *b, int64_t col) { \
        if (b->cs == 1)                                                                               \
            pairs_##L##_##N(ARGS, some, a->rows, a->cols, a->cs, 1);                                  \
        else                                                                                          \
            pairs_##L##_##N(ARGS, some, a->rows, a->cols, a->cs, b->cs);                              \
    }
#define SQUARE(N, L, size)                                                                      \
    if (a->rows == (size) && a->cols == (size) && cols == (size) && a->cs == 1 && b->cs == 1) { \
        pairs_##L##_##N(ARGS, size, size, size, 1, 1);                                          \
        return;                                                                                 \
    }

/* Some columns; all of them. */
#define CASE(TARGET, name, N, T, L, some) \
    case some:                            \
        name##_##some(ARGS);              \
        return;
#define SMALL(name, T, F, N, TARGET)                                                                \
    COLUMNS_##N(COLUMNS, TARGET, name)                                                              \
        TARGET static void some_##name(int64_t n, T *c, int64_t step, int64_t ld, const tr_mats *a, \
                                       const tr_mats *b, int64_t col, int64_t cols) {               \
        SQUARES_##N;                                                                                \
        switch (cols) { COLUMNS_##N(CASE, TARGET, name) }                                           \
        assert(0 && "columns come in whole vectors, and what is left");                             \
    }                                                                                               \
    TARGET static void all_##name(int64_t n, T *c, int64_t step, int64_t ld, const tr_mats *a,      \
                                  const tr_mats *b) {                                               \
        for (int64_t col = 0; col < b->cols; col += (F))                                            \
            some_##name(ARGS, b->cols - col < (F) ? b->cols - col : (F));                           \
    }
#define SQUARES_f32       \
    SQUARE(f32, half, 2); \
    SQUARE(f32, half, 3); \
    SQUARE(f32, half, 4)
#define COLUMNS_f32(X, TARGET, name)      \
    X(TARGET, name, f32, float, half, 1)  \
    X(TARGET, name, f32, float, half, 2)  \
    X(TARGET, name, f32, float, half, 3)  \
    X(TARGET, name, f32, float, half, 4)  \
    X(TARGET, name, f32, float, full, 5)  \
    X(TARGET, name, f32, float, full, 6)  \
    X(TARGET, name, f32, float, full, 7)  \
    X(TARGET, name, f32, float, full, 8)  \
    X(TARGET, name, f32, float, wide, 9)  \
    X(TARGET, name, f32, float, wide, 10) \
    X(TARGET, name, f32, float, wide, 11) \
    X(TARGET, name, f32, float, wide, 12) \
    X(TARGET, name, f32, float, wide, 13) \
    X(TARGET, name, f32, float, wide, 14) \
    X(TARGET, name, f32, float, wide, 15) \
    X(TARGET, name, f32, float, wide, 16)
#define SQUARES_f64       \
    SQUARE(f64, half, 2); \
    SQUARE(f64, full, 3); \
    SQUARE(f64, full, 4)
#define COLUMNS_f64(X, TARGET, name)      \
    X(TARGET, name, f64, double, half, 1) \
    X(TARGET, name, f64, double, half, 2) \
    X(TARGET, name, f64, double, full, 3) \
    X(TARGET, name, f64, double, full, 4) \
    X(TARGET, name, f64, double, wide, 5) \
    X(TARGET, name, f64, double, wide, 6) \
    X(TARGET, name, f64, double, wide, 7) \
    X(TARGET, name, f64, double, wide, 8)

ROWS(f32, float, 4, 8, 0, 1, 2, 3, 4, 5, 6, 7)
ROWS(f64, double, 2, 4, 0, 1, 2, 3)
PAIRS(f32, float, half, 2)
PAIRS(f32, float, full, 5)
PAIRS(f32, float, wide, 9)
PAIRS(f64, double, half, 2)
PAIRS(f64, double, full, 3)
PAIRS(f64, double, wide, 5)
SMALL(f32, float, 16, f32, )
SMALL(f64, double, 8, f64, )
SMALL(f32_avx2, float, 16, f32, AVX2)
SMALL(f64_avx2, double, 8, f64, AVX2)

void tr_rt_mats_small(int64_t size, int64_t n, void *c, int64_t step, int64_t ld, const tr_mats *a,
                      const tr_mats *b) {
    assert(a->cols == b->rows && a->cols <= TR_MAT_SMALL && "rows of b are kept");
    int wide = __builtin_cpu_supports("avx2");
    if (size == sizeof(float))
        (wide ? all_f32_avx2 : all_f32)(n, c, step, ld, a, b);
    else
        (wide ? all_f64_avx2 : all_f64)(n, c, step, ld, a, b);
}
