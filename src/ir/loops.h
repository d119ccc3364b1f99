/* The loops of a function (natural loops, in a forest), and what their counters do.
 *
 * One answer to the questions that most passes have of a loop: which one a block lies in, what comes from
 * outside of it, where it is left, what its head asks before a round, and how a param of its head changes
 * from round to round (a basic induction variable). The forest is an analysis as dominators are: the
 * runner makes it for a pass that asks for N_LOOPS (passes.def), in tr_fn.forest; a pass that has changed
 * the flow of control makes another one. Blocks that have come since lie in no loop.
 * Cost: finding it is linear in blocks and depth of loops; a question takes the depth of loops, a counter the
 * jumps to its head. */
#ifndef TR_IR_LOOPS_H
#define TR_IR_LOOPS_H

#include "ir/ir.h"

enum { TR_NOLOOP = UINT32_MAX };

/* What the head of a loop asks before each round, `counter < bound`. */
typedef struct tr_loop_test {
    tr_val cond, counter, bound; /* the comparison, a param of the head, any value */
    tr_bid body, exit;           /* where it leads if that is so, and if not */
} tr_loop_test;

typedef struct tr_forest {
    const tr_fn *f;
    tr_loops all;        /* outer ones before those in them */
    uint32_t *innermost; /* per block there was: the number of its innermost loop, or TR_NOLOOP */
    uint8_t *has_inner;  /* per loop: one lies in it */
    uint32_t nblks;
} tr_forest;

tr_forest tr_forest_find(tr_fn *f); /* needs dominators */

/* The loop itself, and those around it, by number. */
static inline const tr_loop *tr_forest_at(const tr_forest *t, uint32_t loop) {
    assert(loop < t->all.n && "a loop of this forest");
    return &t->all.d[loop];
}
static inline uint32_t tr_forest_number(const tr_forest *t, const tr_loop *l) {
    assert(l >= t->all.d && l < t->all.d + t->all.n && "a loop of this forest");
    return (uint32_t)(l - t->all.d);
}
/* The innermost loop around a block, or TR_NOLOOP; so for TR_NOBLK, and blocks that have come since. */
static inline uint32_t tr_forest_in(const tr_forest *t, tr_bid b) {
    return b < t->nblks ? t->innermost[b] : TR_NOLOOP;
}
/* The loop whose head the block is, or TR_NOLOOP. */
static inline uint32_t tr_forest_headed(const tr_forest *t, tr_bid head) {
    uint32_t l = tr_forest_in(t, head);
    return l != TR_NOLOOP && t->all.d[l].header == head ? l : TR_NOLOOP;
}
/* Does the block lie in the loop, or in one inside of it? */
bool tr_forest_has(const tr_forest *t, uint32_t loop, tr_bid b);
/* Is v made outside of the loop? So are constants. */
bool tr_forest_is_outside(const tr_forest *t, uint32_t loop, tr_val v);
static inline bool tr_forest_is_innermost(const tr_forest *t, uint32_t loop) {
    assert(loop < t->all.n && "a loop of this forest");
    return !t->has_inner[loop];
}
/* Does the block's end lead out of the loop, on some way? What ends the function leads nowhere. */
bool tr_forest_block_leaves(const tr_forest *t, uint32_t loop, tr_bid b);
/* Does no block of the loop lead out of it, but for this one? */
bool tr_forest_leaves_only_at(const tr_forest *t, uint32_t loop, tr_bid b);
/* Does the loop go on as long as its head finds `counter < bound`? The body lies in it then and the exit does
 * not, and no round changes the bound. Other blocks than the head may lead out, too. */
bool tr_forest_test(const tr_forest *t, uint32_t loop, tr_loop_test *out);

/* --- what a round runs, by a map of its blocks: ways that raise are in it, which lie in no loop --- */

/* From outside of the blocks of which `in` has 1; so are constants. */
static inline bool tr_loop_is_outside(const tr_fn *f, const uint8_t *in, tr_val v) {
    const tr_ins *i = tr_at(f, v);
    return tr_is_const(i) || (i->blk != TR_NOBLK && !in[i->blk]);
}

/* --- one loop, by its head; needs dominators --- */

/* Is v there before that block begins: a constant, or made in another one on all ways to it? What is made
 * outside of a loop and used in it is. */
bool tr_loop_is_before(const tr_fn *f, tr_bid head, tr_val v);

/* Does the head ask that, wherever its ways lead, and the bound comes from? */
bool tr_loop_head_test(const tr_fn *f, tr_bid head, tr_loop_test *out);

/* A param of a loop's head that goes on by a step from outside on all ways back: in round k it is
 * `start + k * step`. */
typedef struct tr_counter {
    tr_val start; /* what it comes as; TR_NOVAL: not as one value */
    tr_val step;  /* what is added */
    tr_val next;  /* the sum; TR_NOVAL: several ways back have one each */
} tr_counter;
/* What a param of a loop's head comes as; TR_NOVAL: not as one value. */
tr_val tr_loop_start(const tr_fn *f, tr_bid head, tr_val param);
bool tr_loop_counter(const tr_fn *f, tr_bid head, tr_val param, tr_counter *out);
/* What the end of a rotated loop asks before another round, `next how bound`, of what a counter of the head
 * goes on to. */
typedef struct tr_loop_end {
    tr_counter counter;
    tr_val bound;
    tr_cmpop how;
} tr_loop_end;
bool tr_loop_end_test(const tr_fn *f, const tr_loop *l, tr_loop_end *out);
/* It counts rounds: it comes as 0 and goes on by 1. */
bool tr_loop_counts(const tr_fn *f, tr_bid head, tr_val param);

#endif
