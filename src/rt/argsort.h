/* The places of items in order by a sort of packed words (argsort.c). */
#ifndef TR_RT_ARGSORT_H
#define TR_RT_ARGSORT_H

#include "rt/words.h"

enum { TR_ARGSORT_LEAST = 256 }; /* fewer items are not worth it */

/* Into places, from those that are there where it `goes_on`. False: not done, and places
 * that it should go on from are as they were: items of another type, too few, in order for
 * long stretches, no memory, or, unless `stable`, two that are equal: whose places come
 * first is for another algorithm to say. */
bool tr_argsort_packed(int64_t type, const void *items, intptr_t *places, int64_t n, bool goes_on,
                       bool stable);
/* By keys, whatever their number and order; stable. False: no memory, or another thread changes them. */
bool tr_argsort_keys(const tr_keys *by, uint64_t *places, int64_t n);

#endif
