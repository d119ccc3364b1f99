/* Do two arrays share an element? */
#ifndef TR_BASE_MEET_H
#define TR_BASE_MEET_H

#include <stdbool.h>
#include <stdint.h>

enum { TR_MEET_NDIM = 32, TR_MEET_MAX = 10 };

typedef struct tr_extent {
    const void *data;
    int64_t size;                  /* of an element, in bytes */
    const int64_t *shape, *stride; /* strides in elements */
    unsigned ndim;                 /* at most TR_MEET_NDIM */
} tr_extent;

/* As far as a bounded search tells; else true. */
bool tr_extents_meet(const tr_extent *a, const tr_extent *b);
/* Of the first `written` arrays, does one share an element with another of the n
 * (TR_MEET_MAX at most)? The pairs (0, 1), (0, 2) ... (1, 2) ... have a bit each in `same`:
 * set, they may be the same, element for element. */
bool tr_some_meet(const tr_extent *e, unsigned n, unsigned written, uint64_t same);

#endif
