/* Copies of blocks beside the blocks themselves, in one function, and SSA form again after that.
 *
 * Each value of a copied block then has a twin, and a use further on may be reached by either: it gets the
 * one that arrives, and where both meet the value becomes a block argument. Between cloning and mending the
 * caller leads edges into the copies as it likes. All copies first, one mending at the end: its cost is that
 * of one CFG and dominators, a sweep over all uses, and the frontiers, which is near linear; a value used by
 * nobody outside its block costs nothing. */
#ifndef TR_OPT_REPAIR_H
#define TR_OPT_REPAIR_H

#include "ir/ir.h"

typedef struct tr_twins {
    tr_fn *f;
    tr_val *of; /* per value: its twin, TR_NOVAL = none */
    tr_val *map;
    tr_bid *bmap;          /* both for tr_clone_blocks, empty between two calls */
    uint32_t nvals, nblks; /* room in these */
} tr_twins;

tr_twins tr_twins_new(tr_fn *f);
/* Clones the blocks as one piece. The copies get numbers in a row; the first is returned. A block is cloned
 * at most once. */
tr_bid tr_twins_clone(tr_twins *t, const tr_bid *blks, uint32_t n);
/* Leaves predecessors, order and dominators up to date. */
void tr_twins_mend(tr_twins *t);

#endif
