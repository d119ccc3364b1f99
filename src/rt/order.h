/* What fences and atomics order: who changes an item by an atomic, after a fence, hands on what came before; who changes the same item later has it. */
#ifndef TR_RT_ORDER_H
#define TR_RT_ORDER_H

#include "rt/shadow.h"

/* A thread hands on, at an item, what it did before, and what its block did in earlier phases. */
typedef struct tr_handing {
    tr_mark by;
    uint64_t base;     /* the block's first phase */
    uint64_t previous; /* the one before at the same item; they are counted from 1, 0: there is none */
} tr_handing;

/* What is had of an item in the present block: by one thread; by all threads in later phases than `phase`, and in that (`had`). */
typedef struct tr_having {
    uint64_t item;
    uint32_t who; /* 1 + the thread; 0: the block; */
    uint32_t phase;
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
void tr_order_fence(tr_order *o, tr_mark m);
void tr_order_atomic(tr_order *o, uint64_t item, tr_mark m, uint64_t base);
/* Does m, of the present block, have what x did? */
bool tr_order_has(const tr_order *o, tr_mark x, tr_mark m);

#endif
