/* What even.c and ranges.c share: a loop of a kernel's body that is made one of the block's. */
#ifndef TR_OPT_EVEN_H
#define TR_OPT_EVEN_H

#include "opt/grid/grid.h"
#include "ir/loops.h"
#include "opt/grid/uniform.h"

typedef struct even {
    tr_grid *s;
    tr_fn *g;
    tr_uniform u;
    tr_forest loops;
    uint32_t number; /* the one that is looked at */
    const tr_loop *loop;
    tr_bid body, exit; /* where the head leads */
} even;

static inline bool tr_even_has(const even *e, tr_bid b) {
    return tr_forest_has(&e->loops, e->number, b);
}
static inline bool tr_even_is_outside(const even *e, tr_val v) {
    return tr_forest_is_outside(&e->loops, e->number, v);
}

/* --- even_loop.c --- */

/* By an instruction there, on an edge there, or on the way out of the loop's head. */
bool tr_even_is_used_outside(const even *e, tr_val v);
/* Is this param of the head a counter whose step all threads share? */
bool tr_even_counter(const even *e, tr_val param, tr_counter *out);
/* The one block outside, or inside, of the loop that leads to its head, or NOBLK. */
tr_bid tr_even_comes_from(const even *e, bool inside);
/* A counter of rounds for the head, its last param: 0 from outside. From inside it is set
 * when the loop is made even. */
tr_val tr_even_add_counter(even *e);
/* Counters in terms of the round, start + k * step, where nobody asks for them afterwards. */
void tr_even_count_rounds(even *e, tr_val k);

/* --- ranges.c --- */

/* A loop that fits (even.c) and along which threads walk a stride apart is in step after this. */
bool tr_grid_stride(even *e);

#endif
