/* What bounds.c, counters.c, carry.c and behind.c share: one walk over one function. */
#ifndef TR_OPT_BOUNDS_H
#define TR_OPT_BOUNDS_H

#include "ir/loops.h"
#include "opt/scalar/prove.h"
#include "opt/scalar/version.h"

enum { MAX_CONDS = 16, MAX_LOOP = 600, MAX_GROWTH = 2000, ROUNDS = 3, MAX_NEEDS = 2 };

/* An invariant that is tried: an expression of a block's param (written TR_NOVAL in it) and of values from
 * above that is never negative. It holds if every jump to the block makes it hold, given that it and all
 * other guesses held before. */
typedef struct tr_guess {
    tr_bid blk;
    uint32_t index; /* of the param */
    tr_lin e;
    bool wrong;
    /* of a wrong one: what would have to hold before the loops around it; none, and it is not known */
    tr_lin needs[MAX_NEEDS];
    uint32_t nneeds;
} tr_guess;
typedef TR_VEC(tr_guess) tr_guesses;

typedef struct plan { /* what to test before one loop */
    tr_lin conds[MAX_CONDS];
    uint32_t n;
    bool done; /* versioned already */
} plan;

/* What a loop adds up in one place of an array: read before the loop, handed on from round
 * to round, and stored as ever. */
typedef struct tr_carried {
    tr_bid head, before;
    tr_val load, store;
} tr_carried;

/* What a loop reads of one place of an array that it writes elsewhere: read before the loop. */
typedef struct tr_kept_load {
    uint32_t loop;
    tr_val load;
    bool wrong; /* a store may be to that place */
} tr_kept_load;

typedef struct bounder {
    tr_fn *f;
    tr_prover pr;
    tr_domtree dom;
    tr_forest loops;
    plan *plans;       /* per loop */
    uint8_t *slow;     /* per block: in a checked copy, leave it */
    uint32_t nslow;    /* blocks `slow` speaks of */
    tr_u32s versioned; /* headers */
    tr_repl r;
    tr_guesses guesses, wanted; /* wanted: wrong ones that need something */
    TR_VEC(tr_carried) carried;
    TR_VEC(tr_kept_load) kept;
    bool dry;   /* the walk only tries guesses, it changes nothing */
    bool retry; /* a guess turned out wrong */
    bool changed;
} bounder;

/* What would have to hold before the loop for the goal to hold, and may be tested there. */
bool tr_bounds_derive(bounder *s, uint32_t loop, const tr_lin *goal, tr_lin *out);
/* What is free of all that varies in the loop and implies the goal, testable or not. */
bool tr_bounds_free_of(bounder *s, uint32_t loop, const tr_lin *goal, tr_lin *out);
/* The branch that alone leads to b from outside what b dominates, and which way it goes there. Edges back to
 * a loop's header do not count: the branch speaks of values from before the loop, and they do not change in
 * it. */
bool tr_bounds_leads_to(const tr_fn *f, tr_bid b, tr_val *cond, bool *truth);
/* Assumes what holds of a block's params. */
void tr_bounds_at_start(bounder *s, tr_bid b);
/* In a dry walk: tries the guesses on the jumps that b makes. */
void tr_bounds_at_end(bounder *s, tr_bid b);
/* All guesses worth a try. */
void tr_bounds_make_guesses(bounder *s);
bool tr_bounds_can_carry(const tr_ty *t); /* what a param of a loop's head takes over */
/* carry.c. In a walk that is not dry, at the head of a loop: notes what may be carried there. */
void tr_bounds_find_carried(bounder *s, tr_bid head);
/* At each store behind that: asks whether it is to another place than what is read there. */
void tr_bounds_see_store(bounder *s, tr_val store);
/* Behind the last walk, as long as nothing has changed since. */
void tr_bounds_carry(bounder *s);
/* behind.c, after that. */
void tr_bounds_carry_behind(bounder *s);

#endif
