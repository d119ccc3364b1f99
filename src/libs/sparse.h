/* A sparse matrix, its rows one behind the other, times a vector, as work of the emulated device. A GPU has a
 * kernel for it (python/treadle/cuda/_sparse_math.py), which gives the same bits, and so has the emulated
 * device for all that is left here. */
#ifndef TR_LIBS_SPARSE_H
#define TR_LIBS_SPARSE_H

#include <stdatomic.h>
#include <stdint.h>

#include "dev/dev.h"

/* The `arg` of work for which tr_csrmv_run is the function: y = alpha * A @ x + beta * y. */
typedef struct tr_csrmv {
    int64_t rows, entries;
    const int32_t *ptr, *ind; /* which count from `base` */
    int32_t base;
    uint32_t columns;
    bool wide; /* items are float64, else float32 */
    const void *val, *x;
    void *y;
    double alpha, beta; /* of the items' precision */
    /* Nothing counts that was done: an index is none of the matrix's, or a row is longer than TR_CSRMV_ROW.
     * y is as it was where rows are long and beta is not 0. */
    atomic_bool left;
} tr_csrmv;
enum { TR_CSRMV_ROW = 65536 }; /* PIECE of _sparse_math.py: the kernels cut longer ones */
int32_t tr_csrmv_run(void *call, const tr_dev_at *at);

#endif
