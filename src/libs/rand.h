/* Normal numbers of uniform ones, by the formula of Box and Muller and the functions of the C library, as
 * work of the emulated device: cuRAND's own of the host are made by these, too, so they are the same bits. */
#ifndef TR_LIBS_RAND_H
#define TR_LIBS_RAND_H

#include <stdbool.h>
#include <stdint.h>

#include "dev/dev.h"

/* The `arg` of work for which tr_normal_run is the function. Items are pairs, of float64 or float32: a number
 * of (0, 1] and an angle before, two normal numbers after. */
typedef struct tr_normal {
    void *items;
    int64_t pairs;
    bool wide, log; /* log: e to the power of them */
    double mean, deviation;
} tr_normal;
int32_t tr_normal_run(void *call, const tr_dev_at *at);

#endif
