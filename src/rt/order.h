/* What fences and atomics order: who changes an item by an atomic, after a fence, hands on what came before; who changes the same item later has it. */
#ifndef TR_RT_ORDER_H
#define TR_RT_ORDER_H

#include "rt/shadow.h"

/* A thread hands on, at the item of that number, what it did before, and what its block did in earlier phases. */
typedef struct tr_handing {
    uint64_t item;
    tr_mark by;
    uint64_t base; /* the block's first phase */
} tr_handing;

/* A thread of the present block has what was handed on at an item so far. */
typedef struct tr_taking {
    uint64_t item;
    tr_mark by;
    uint64_t upto; /* handings */
} tr_taking;

enum { TR_ORDER_TAKINGS = 4096 };
typedef struct tr_order {
    tr_frame *frame;
    tr_handing *handings;
    uint64_t n, cap;
    tr_taking *takings; /* of the present block */
    uint32_t ntakings;
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
