/* Where a view lies in the array that it is a view of, axis by axis. */
#ifndef TR_OPT_COORDS_H
#define TR_OPT_COORDS_H

#include "opt/prove.h"

typedef struct tr_coord {
    tr_lin at;    /* index of the view's first item */
    int dim;      /* the view's axis that runs along this one; -1: it has one index here */
    int64_t step; /* between neighbours on that axis */
    tr_lin end;   /* has_end: all items lie before it */
    bool has_end;
    bool loose; /* `at` may be negative, and the view then starts at 0 */
} tr_coord;

typedef struct tr_coords {
    tr_val root; /* not a view */
    uint32_t n;
    tr_coord ax[TR_MAX_NDIM];
} tr_coords;

/* False: it lies otherwise (reshaped, a diagonal, of another element type), or that is not to be seen; `root` is set all the same. */
bool tr_coords_of(tr_prover *pr, tr_val v, tr_coords *out);

/* Marks (a byte per value) what the array v may be: itself, what it is a view of, and what it was chosen from. What comes round a loop is left out:
 * two arrays that change places in every step are two. */
void tr_array_sources(const tr_fn *f, tr_val v, uint8_t *from);

/* Indices are as the user gave them: negative ones not wrapped, bounds of slices not clamped to the axis. */
tr_lin tr_coords_index(tr_prover *pr, tr_val v);

#endif
