/* Code in two forms, and a test before both that picks one (versioning): a stretch of a block, or a loop.
 *
 *   before: ... test        before: ... test
 *   plain   |   other       loop    |   its copy
 *   after                   what it leads to
 *
 * A pass says which code, what has to hold (emit.h: tr_emit_both, tr_emit_apart), and changes one of the
 * forms. What is the same for all stands here: the cut, the copy, how seldom it runs, the branch, SSA form
 * for values of both (repair.h), and handlers: each part of a block is protected as the block was, however
 * often it was cut. That is done at the end, for all at once: till then parts have no handler, values that
 * were copied have two definitions, and analyses are out of date, as they are afterwards.
 * What needs no second form is not here: a loop that does some rounds at once, in front of the loop as it
 * stands, branches to its head (pattern/batch.c, grid/ahead.c, prange/ploop.c).
 * Cost: that of repair.h where something was copied; a look at all blocks for each block that was cut. */
#ifndef TR_OPT_VERSIONS_H
#define TR_OPT_VERSIONS_H

#include "opt/repair.h"

typedef struct tr_versions {
    tr_fn *f;
    tr_twins twins;
    tr_u32s parts; /* what blocks were cut into, their beginnings aside */
    tr_map wholes; /* of these: which block */
} tr_versions;

tr_versions tr_versions_new(tr_fn *f);
/* The block that b was cut off from, as it was: it keeps its number, its ways in and its handler. */
tr_bid tr_versions_whole(const tr_versions *s, tr_bid b);
/* To be called once. False: nothing was changed. */
bool tr_versions_end(tr_versions *s);

/* --- a stretch of a block --- */

typedef struct tr_fork {
    tr_bld b; /* at the end of the block before, where the test goes */
    tr_bid plain, other, after;
} tr_fork;

/* Cuts a block behind `last`: `plain` is empty, and leads to what follows. What is to have two forms moves
 * there (tr_ins_move_end), in its order. loc: the place of the branches. */
tr_fork tr_fork_cut(tr_versions *s, tr_val last, uint32_t loc);
/* The other form: a copy of `plain` as it is now, or a block that leads to what follows, to be filled. */
void tr_fork_copy(tr_versions *s, tr_fork *k, tr_cold cold);
void tr_fork_make(tr_versions *s, tr_fork *k, tr_cold cold);
/* The block behind has params, to which the forms hand on these values. */
void tr_fork_hand_on(tr_fn *f, const tr_fork *k, uint32_t n, const tr_val *plain, const tr_val *other);
/* Where the test holds it is `yes`, one of the forms, else the other one. */
void tr_fork_pick(tr_versions *s, tr_fork *k, tr_val test, tr_bid yes);

/* --- a loop --- */

/* Where `test` holds, which is made in the block before, the loop as it stands, else a copy of it, whose
 * blocks are added to `copies`. `before` only leads to the loop (tr_opt_preheader). Of several loops, none of
 * which lies in another, all have such a block before the first is copied, as one may lead straight to the
 * head of another. */
void tr_versions_loop(tr_versions *s, const tr_loop *l, tr_bid before, tr_val test, tr_cold cold,
                      tr_u32s *copies);

#endif
