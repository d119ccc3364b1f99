/* Where a view lies in the array that it is a view of, axis by axis. Two places can be compared that
 * have one root, and are flat or not. */
#ifndef TR_OPT_COORDS_H
#define TR_OPT_COORDS_H

#include "opt/scalar/prove.h"

enum { TR_COORD_WRAPS = 4 };

typedef struct tr_coord {
    tr_lin at;    /* index of the view's first item */
    int dim;      /* the view's axis that runs along this one; -1: it has one index here */
    int64_t step; /* between neighbours on that axis */
    tr_lin end;   /* has_end: all items lie before it */
    bool has_end;
    /* and perhaps the last ones of those that `at` and `end` tell of are missing, though
     * the array has them */
    bool cut;
    bool loose;   /* `at` varies in the loop and may be negative, and the view then starts at 0 */
    tr_val start; /* loose: what it starts at but for that */
    /* Bounds that `at` and `end` were made of and that vary in the loop: where one is negative it counts from
     * the end, and they are others. More than there is room for: not all are known. */
    tr_val wraps[TR_COORD_WRAPS];
    uint32_t nwraps;
} tr_coord;

/* One more of these. */
void tr_coord_wraps(tr_coord *c, tr_val v);

/* By whose axes: those of an array that is no view; of one with the same items in other axes, which ends the
 * way to it; or one axis of all the array's items as they lie in memory (flat). */
typedef struct tr_coords {
    tr_val root;
    bool flat;
    uint32_t lo, hi; /* which bytes of the root's items: those of a field, else all */
    bool part;       /* and perhaps not all of these: items of a sub-array */
    uint32_t n;
    tr_coord ax[TR_MAX_NDIM];
} tr_coords;

/* The loop in which views are compared. */
typedef struct tr_coords_loop {
    tr_prover *pr;
    const uint8_t *in;      /* per block: is it in the loop? */
    tr_val chosen, instead; /* the former is taken for the latter; TR_NOVAL: nothing is */
} tr_coords_loop;

/* False: it lies otherwise (a diagonal, of another element type), or that is not to be seen. */
bool tr_coords_of(const tr_coords_loop *l, tr_val v, tr_coords *out);

/* The array, which is no view, or the list whose items it is, comes out of a container from outside of the
 * loop: the list, or the array of lists, and the index there. */
bool tr_coords_item(const tr_coords_loop *l, tr_val v, tr_val *from, tr_val *idx);

/* An index that varies is as the user gave it: not wrapped. */
tr_lin tr_coords_index(const tr_coords_loop *l, tr_val v);

#endif
