/* A region of a function becomes a function of its own: a new instance of the program, and a call of it.
 *
 * A region is a set of blocks with one way in, and one block outside that its ways out lead to, or none but
 * returns. What it uses from outside becomes the params, what it hands to the params of the block it leads to
 * becomes the result; nothing else that it computes may be used outside. Counts of references must be
 * explicit (own.c); they simply move. */
#ifndef TR_OPT_OUTLINE_H
#define TR_OPT_OUTLINE_H

#include "ir/ir.h"
#include "ir/prog.h"

typedef struct tr_outline {
    tr_prog *p;
    tr_fn *f;
    const char *name; /* in those of the functions */
    bool piece;       /* as tr_inst has it */
    uint32_t *of;     /* per block: number of its region, from 1; 0: none */
    /* of the one at hand */
    uint32_t number;
    tr_u32s blks;           /* entry first */
    tr_bid exit;            /* TR_NOBLK: it returns, or raises */
    const tr_edge *handler; /* where what it raises is caught; NULL: it leaves the function */
    bool late;              /* as tr_inst has it */
    /* its own */
    tr_u32s in, taken; /* values from outside: the params; all that stand in `map` */
    tr_fn *g;
    tr_val *map; /* both for tr_clone_blocks, empty between two */
    tr_bid *bmap;
} tr_outline;

/* Is b a block of the region at hand? */
static inline bool tr_outline_has(const tr_outline *o, tr_bid b) {
    return o->of[b] == o->number;
}

/* Makes room for the function's values and blocks of now: only these may belong to regions. Needs
 * predecessors. */
void tr_outline_begin(tr_outline *o);
/* The region at hand. */
void tr_outline_make(tr_outline *o);

#endif
