/* Sums of floats down the columns of a tile, TR_TILE_BYTES of columns side by side, row after row.
 *
 * TR_TILE_ROWS rows, or up to three more where several axes are summed (lower/tile.c), are added up one by
 * one into `acc`, a value per column; such blocks are combined like the bits of a binary counter, as in
 * sum.c, but for the last level, which takes what comes. So a value takes part in at most TR_TILE_ROWS + 3 +
 * TR_TILE_LEVELS additions among the first half a million rows. Whole rows are walked, so memory is read in
 * order, and the combining costs an eighth of an addition a value. Of the columns of a tile only the first n
 * are there. */
#include <stdbool.h>
#include <string.h>

#include "rt/fns.h"

enum { BYTES = 16 }; /* of a vector: the compiler makes none of these loops by itself */

/* X(type's name, type) */
#define TILES(N, T)                                                                                  \
    static bool occupied_##N(const tr_tile_##N *s, int level) {                                      \
        return level < TR_TILE_LEVELS - 1 ? (s->blocks >> level & 1) != 0 : s->blocks >> level != 0; \
    }                                                                                                \
    typedef T vec_##N __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias));            \
    enum { LANES_##N = BYTES / sizeof(T) };                                                          \
    static void clear_##N(T *acc, int64_t n) {                                                       \
        const vec_##N none = -(vec_##N){0};                                                          \
        int64_t i = 0;                                                                               \
        for (; i <= n - LANES_##N; i += LANES_##N)                                                   \
            *(vec_##N *)(acc + i) = none;                                                            \
        for (; i < n; i++)                                                                           \
            acc[i] = none[0];                                                                        \
    }                                                                                                \
    static void join_##N(T *acc, const T *sum, int64_t n) {                                          \
        int64_t i = 0;                                                                               \
        for (; i <= n - LANES_##N; i += LANES_##N)                                                   \
            *(vec_##N *)(acc + i) = *(const vec_##N *)(sum + i) + *(vec_##N *)(acc + i);             \
        for (; i < n; i++)                                                                           \
            acc[i] = sum[i] + acc[i];                                                                \
    }                                                                                                \
    void tr_rt_tile_clear_##N(void *state, T *acc, int64_t n) {                                      \
        ((tr_tile_##N *)state)->blocks = 0;                                                          \
        clear_##N(acc, n);                                                                           \
    }                                                                                                \
    /* The rows in acc are a block: acc begins anew. */                                              \
    void tr_rt_tile_add_##N(void *state, T *acc, int64_t n) {                                        \
        tr_tile_##N *s = state;                                                                      \
        int level = 0;                                                                               \
        for (; level < TR_TILE_LEVELS - 1 && occupied_##N(s, level); level++)                        \
            join_##N(acc, s->level[level], n);                                                       \
        if (level == TR_TILE_LEVELS - 1 && occupied_##N(s, level))                                   \
            join_##N(acc, s->level[level], n);                                                       \
        memcpy(s->level[level], acc, (size_t)n * sizeof *acc);                                       \
        s->blocks++;                                                                                 \
        clear_##N(acc, n);                                                                           \
    }                                                                                                \
    /* acc holds the rows since the last block; the sums of all rows afterwards. */                  \
    void tr_rt_tile_end_##N(void *state, T *acc, int64_t n) {                                        \
        const tr_tile_##N *s = state;                                                                \
        for (int level = 0; level < TR_TILE_LEVELS; level++)                                         \
            if (occupied_##N(s, level))                                                              \
                join_##N(acc, s->level[level], n);                                                   \
    }

TILES(f64, double)
TILES(f32, float)
