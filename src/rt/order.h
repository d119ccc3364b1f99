/* What fences and atomics order: who changes an item by an atomic, after a fence, hands on what came before;
 * who changes the same item later has it. */
#ifndef TR_RT_ORDER_H
#define TR_RT_ORDER_H

#include "rt/shadow.h"

/* A thread hands on, at an item, what it did before, what its block did in earlier phases, and
 * what it knows of the lanes of its warp. */
typedef struct tr_handing {
    tr_mark by;
    tr_mark base, start;   /* as tr_now has them */
    uint64_t latest;       /* the latest time that anybody had then */
    const uint64_t *known; /* of lanes of its warp (tr_now); lives as long as the launch */
    uint64_t previous;     /* the one before at the same item; they are counted from 1, 0: there is none */
} tr_handing;

/* What is had of an item in the present block: by one thread, from a time on; by all threads in later phases
 * than that which begins at `start`, and in that (`had`). */
typedef struct tr_having {
    uint64_t item;
    uint32_t who;       /* 1 + the thread; 0: the block */
    uint64_t start;     /* as tr_now has it; of a thread: the time */
    uint64_t last, had; /* handings up to these */
} tr_having;

typedef struct tr_handed { /* an item: its last handing */
    uint64_t item, last;
} tr_handed;

typedef struct tr_order {
    tr_frame *frame;
    tr_handing *handings;
    uint64_t n, cap;
    tr_handed *items; /* open addressing, 1 << bits; last 0: free */
    uint64_t nitems;
    unsigned bits;
    tr_having *havings; /* of the present block */
    uint64_t nhavings, caphavings;
    bool fenced;                     /* somebody has */
    bool full;                       /* there was no memory */
    uint8_t thread[TR_MARK_THREADS]; /* of the present block: it has */
} tr_order;

void tr_order_block(tr_order *o); /* a new one begins */
void tr_order_fence(tr_order *o, const tr_now *now);
/* latest: the latest time that anybody has. True: what it knows was handed on, and must live. */
bool tr_order_atomic(tr_order *o, uint64_t item, const tr_now *now, uint64_t latest);
/* Does what is done now, in the present block, have what x did? */
bool tr_order_has(const tr_order *o, tr_mark x, const tr_now *now);

#endif
