/* Which values are the same for all threads of a block, and which code all of them run
 * (uniformity, or divergence analysis). */
#ifndef TR_OPT_UNIFORM_H
#define TR_OPT_UNIFORM_H

#include "base/bitset.h"
#include "ir/ir.h"

typedef struct tr_uniform {
    tr_fn *g;
    /* given: blocks at whose end, or (a loop's head) at whose beginning, threads wait for each other */
    const uint8_t *stop;
    uint8_t *varies;  /* per value */
    uint8_t *split;   /* per block: some of the threads that have not ended may run it while others do not */
    uint8_t *last;    /* per block: no stop is reached from it any more */
    tr_bid *meet;     /* per block with two ways out: where they meet again; TR_NOBLK: nowhere */
    tr_bits *between; /* per such block: what may be run before that */
} tr_uniform;

/* Of a kernel's body, whose device functions stand in place of their calls. Computes predecessors. */
void tr_uniform_find(tr_uniform *u, tr_fn *g, const uint8_t *stop);
/* A way out of b that ends the threads which take it, while others of b's threads go on. */
bool tr_uniform_threads_leave(const tr_uniform *u, tr_bid b, const tr_edge *e);

#endif
