/* What threads hand on by a fence and an atomic: the sum of a block that the last block adds up (CUDA C Programming Guide, memory fence functions), locks.
 *
 * Who did a fence and then an atomic on an item hands on what it did so far, and what its block did in earlier phases. Who does an atomic on the item after that has all of it, and so
 * has its block in later phases. Looked at only where two accesses would be a race, so a launch without fences pays nothing. Not told apart is what a thread does between its
 * last handing on and its next barrier: it counts as handed on. */
#include "rt/order.h"

#include <string.h>

void tr_order_block(tr_order *o) {
    o->ntakings = 0;
    if (o->fenced)
        memset(o->thread, 0, sizeof o->thread);
}

void tr_order_fence(tr_order *o, tr_mark m) {
    o->fenced = true;
    o->thread[tr_mark_thread(m)] = 1;
}

static bool more(tr_order *o) {
    if (o->n < o->cap)
        return true;
    uint64_t cap = o->cap ? 2 * o->cap : 256;
    tr_handing *d = tr_shadow_alloc(o->frame, cap * sizeof *d);
    if (d && o->n)
        memcpy(d, o->handings, o->n * sizeof *d);
    if (d) {
        tr_shadow_free(o->frame, o->handings);
        o->handings = d;
        o->cap = cap;
    }
    o->full |= !d;
    return d != NULL;
}

static void take(tr_order *o, uint64_t item, tr_mark m) {
    if (!o->takings && !(o->takings = tr_shadow_alloc(o->frame, TR_ORDER_TAKINGS * sizeof *o->takings)))
        o->full = true;
    if (!o->takings || o->ntakings == TR_ORDER_TAKINGS)
        return;
    o->takings[o->ntakings++] = (tr_taking){item, m, o->n};
}

void tr_order_atomic(tr_order *o, uint64_t item, tr_mark m, uint64_t base) {
    if (!o->fenced)
        return;
    if (o->n)
        take(o, item, m);
    if (o->thread[tr_mark_thread(m)] && more(o))
        o->handings[o->n++] = (tr_handing){item, m, base};
}

/* Of those up to n: is x among what one handed on at the item? */
static bool handed_on(const tr_order *o, uint64_t item, uint64_t n, tr_mark x) {
    while (n-- > 0) {
        const tr_handing *h = &o->handings[n];
        uint64_t phase = tr_mark_phase(h->by);
        if (h->item != item || tr_mark_phase(x) < h->base || tr_mark_phase(x) > phase)
            continue;
        if (tr_mark_phase(x) < phase || tr_mark_thread(x) == tr_mark_thread(h->by))
            return true;
    }
    return false;
}

bool tr_order_has(const tr_order *o, tr_mark x, tr_mark m) {
    for (uint32_t k = o->ntakings; k-- > 0;) {
        const tr_taking *t = &o->takings[k];
        bool mine = tr_mark_thread(t->by) == tr_mark_thread(m) || tr_mark_phase(t->by) < tr_mark_phase(m);
        if (mine && handed_on(o, t->item, t->upto, x))
            return true;
    }
    return false;
}
