/* The places of items in order by a sort of packed words (argsort.c). */
#ifndef TR_RT_ARGSORT_H
#define TR_RT_ARGSORT_H

#include "rt/sort.h"

enum { TR_ARGSORT_LEAST = 256 }; /* fewer items are not worth it */

/* Into places, from those that are there where it `goes_on`. `sort` sorts words of 64 bits.
 * False: not done, and nothing is changed: items of another type, too few, in order for
 * long stretches, no memory, or, unless `stable`, two that are equal: whose places come
 * first is for another algorithm to say. */
bool tr_argsort_packed(int64_t type, const void *items, intptr_t *places, int64_t n, bool goes_on,
                       bool stable, tr_sort_fn *sort);

#endif
