/* A sparse matrix times a vector on the host's cores.
 *
 * Entries are read once and in order, a few for each row, and between rows a core guesses wrong where one
 * ends, so it is far from what memory can give: what comes AHEAD entries later is asked for on the way. An
 * index is looked at where it is used; a pass before it, in vectors, took longer than it saved, as did
 * several rows or sums at a time.
 * Cost (Zen 4, one core): 1.1 ns an entry of float64, 20 to a row, with x in the second cache. */
#include "libs/sparse.h"

#include <stdbool.h>

#include "rt/fns.h"
#include "rt/rt.h"

/* AHEAD: entries. WORTH: of a part that a thread takes at once. ROW: entries that a row's end
 * takes as long as. */
enum { AHEAD = 256, LINE = 64, WORTH = 16384, ROW = 8 };

/* What lies AHEAD, which may be none of the array's. */
static void ask_for(const void *item, int64_t size) {
    __builtin_prefetch((const void *)((uintptr_t)item + (uintptr_t)(AHEAD * size)));
}

/* Rows [lo, hi) of items of type T; false: not for here. */
#define ROWS(T)                                                             \
    static bool rows_##T(const tr_csrmv *c, int64_t lo, int64_t hi) {       \
        const T *restrict val = c->val, *restrict x = c->x;                 \
        const int32_t *restrict ind = c->ind;                               \
        T *y = c->y, alpha = (T)c->alpha, beta = (T)c->beta;                \
        uint32_t base = (uint32_t)c->base, columns = c->columns;            \
        int64_t first = (uint32_t)c->ptr[lo] - base, entries = c->entries;  \
        for (int64_t i = lo; i < hi; i++) {                                 \
            int64_t end = (uint32_t)c->ptr[i + 1] - base;                   \
            T s = 0;                                                        \
            if (end > entries || end < first || end - first > TR_CSRMV_ROW) \
                return false;                                               \
            ask_for(ind + first, sizeof *ind);                              \
            ask_for(ind + first + LINE / sizeof *ind, sizeof *ind);         \
            for (int64_t k = first; k < end; k++) {                         \
                uint32_t j = (uint32_t)ind[k] - base;                       \
                if (j >= columns)                                           \
                    return false;                                           \
                ask_for(val + k, sizeof *val);                              \
                s += val[k] * x[j];                                         \
            }                                                               \
            y[i] = beta != 0 ? alpha * s + beta * y[i] : alpha * s;         \
            first = end;                                                    \
        }                                                                   \
        return true;                                                        \
    }
ROWS(double)
ROWS(float)

static int32_t range_of_rows(tr_frame *f, void *arg, int64_t lo, int64_t hi, uint32_t worker) {
    tr_csrmv *c = arg;
    (void)f;
    (void)worker;
    if (!(c->wide ? rows_double(c, lo, hi) : rows_float(c, lo, hi)))
        atomic_store(&c->left, true);
    return 0;
}

/* Asked before any of y is written, where what it was counts. A row that ends before it begins
 * is long, too. */
static bool has_long_rows(const tr_csrmv *c) {
    uint32_t most = 0;
    for (int64_t i = 0; i < c->rows; i++) {
        uint32_t n = (uint32_t)c->ptr[i + 1] - (uint32_t)c->ptr[i];
        most = n > most ? n : most;
    }
    return most > TR_CSRMV_ROW;
}

int32_t tr_csrmv_run(void *call, const tr_dev_at *at) {
    tr_csrmv *c = call;
    tr_frame f;
    if (!c->rows)
        return 0;
    if (c->beta != 0 && has_long_rows(c)) {
        c->left = true;
        return 0;
    }
    tr_rt_frame_init(&f, at->host);
    int32_t code = tr_rt_parallel(&f, range_of_rows, c, c->rows, 1 + WORTH / (ROW + c->entries / c->rows));
    tr_rt_frame_fini(&f);
    return code;
}
