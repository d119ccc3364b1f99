/* Sorting of keys with values beside them, whole, the first few, or in segments, as work of the emulated
 * device. A GPU has kernels for it (python/treadle/cuda/_sorts.py), which give the same bits. */
#ifndef TR_LIBS_SORT_H
#define TR_LIBS_SORT_H

#include <stdint.h>

#include "dev/dev.h"
#include "rt/radix.h"

/* The `arg` of work for which tr_sort_run is the function. k: how many of the first are wanted; all: n. ends:
 * of segments, as many, of which the last is n; NULL: there is one. */
typedef struct tr_sort_call {
    tr_radix what;
    int64_t k, many;
    const int64_t *ends;
} tr_sort_call;
int32_t tr_sort_run(void *call, const tr_dev_at *at);

#endif
