/* Items in order with values beside them, all of them, the first k, or in segments (radix.c). */
#ifndef TR_RT_RADIX_H
#define TR_RT_RADIX_H

#include <stdbool.h>
#include <stdint.h>

#include "rt/layout.h"

/* What is put in order: n items of a type TR_SORT_I32, U32, I64, U64, F32 or F64, side by side, by some bits
 * of their keys (rt/words.h), and what goes with them. Equal ones stay in their order. */
typedef struct tr_radix {
    int64_t type, n;
    void *keys;
    void *vals;          /* NULL: none */
    int64_t size;        /* of a value: 4 or 8 bytes */
    bool number;         /* values are not read: they are the items' numbers */
    bool down;           /* the largest first */
    unsigned begin, end; /* bits */
} tr_radix;

/* All, in place. 0, MEMORY, or how a range ended. */
int32_t tr_rt_radix_sort(tr_frame *f, const tr_radix *r);
/* The first k of that order, into the first k places; the others are as they were. Values that are
 * `number`s are k. */
int32_t tr_rt_radix_select(tr_frame *f, const tr_radix *r, int64_t k);
/* Each of `many` segments for itself: ends[i - 1] (0) up to ends[i]. */
int32_t tr_rt_radix_segments(tr_frame *f, const tr_radix *r, const int64_t *ends, int64_t many);

#endif
