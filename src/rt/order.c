/* What threads hand on by a fence and an atomic: the sum of a block that the last block adds up (CUDA C Programming Guide, memory fence functions), locks.
 *
 * Who did a fence and then an atomic on an item hands on what it did so far, and what its block did in earlier phases. Who does an atomic on the item after that has all of it, and so
 * has its block in later phases. Looked at only where two accesses would be a race, so a launch without fences pays nothing. Not told apart is what a thread does between its
 * last handing on and its next barrier: it counts as handed on. */
#include "rt/order.h"

#include <string.h>

void tr_order_block(tr_order *o) {
    o->nhavings = 0;
    if (o->fenced)
        memset(o->thread, 0, sizeof o->thread);
}

void tr_order_fence(tr_order *o, tr_mark m) {
    o->fenced = true;
    o->thread[tr_mark_thread(m)] = 1;
}

/* Room for one more item of `size` bytes; *d may move. */
static bool more(tr_order *o, void **d, uint64_t n, uint64_t *cap, size_t size) {
    if (n < *cap)
        return true;
    uint64_t want = *cap ? 2 * *cap : 256;
    void *p = tr_shadow_alloc(o->frame, want * size);
    o->full |= !p;
    if (!p)
        return false;
    if (n)
        memcpy(p, *d, n * size);
    tr_shadow_free(o->frame, *d);
    *d = p;
    *cap = want;
    return true;
}

/* --- items --- */

static tr_handed *place_of(const tr_order *o, uint64_t item) {
    uint64_t mask = (UINT64_C(1) << o->bits) - 1, k = item * UINT64_C(0x9E3779B97F4A7C15) >> (64 - o->bits);
    while (o->items[k].last && o->items[k].item != item)
        k = (k + 1) & mask;
    return &o->items[k];
}

static bool grow(tr_order *o) {
    tr_handed *old = o->items;
    uint64_t n = old ? UINT64_C(1) << o->bits : 0;
    unsigned bits = old ? o->bits + 1 : 6;
    tr_handed *items = tr_shadow_alloc(o->frame, sizeof *items << bits);
    o->full |= !items;
    if (!items)
        return false;
    o->items = items;
    o->bits = bits;
    for (uint64_t k = 0; k < n; k++)
        if (old[k].last)
            *place_of(o, old[k].item) = old[k];
    tr_shadow_free(o->frame, old);
    return true;
}

static void hand_on(tr_order *o, uint64_t item, tr_mark m, uint64_t base) {
    if ((!o->items || 2 * o->nitems >= UINT64_C(1) << o->bits) && !grow(o))
        return;
    if (!more(o, (void **)&o->handings, o->n, &o->cap, sizeof *o->handings))
        return;
    tr_handed *h = place_of(o, item);
    o->nitems += !h->last;
    o->handings[o->n++] = (tr_handing){m, base, h->last};
    *h = (tr_handed){item, o->n};
}

/* --- who has what --- */

static tr_having *having_of(tr_order *o, uint64_t item, uint32_t who) {
    for (uint64_t k = 0; k < o->nhavings; k++)
        if (o->havings[k].item == item && o->havings[k].who == who)
            return &o->havings[k];
    if (!more(o, (void **)&o->havings, o->nhavings, &o->caphavings, sizeof *o->havings))
        return NULL;
    o->havings[o->nhavings] = (tr_having){.item = item, .who = who};
    return &o->havings[o->nhavings++];
}

static void take(tr_order *o, uint64_t item, tr_mark m, uint64_t last) {
    uint32_t phase = (uint32_t)tr_mark_phase(m);
    tr_having *mine = having_of(o, item, 1 + (uint32_t)tr_mark_thread(m));
    if (mine)
        mine->last = last;
    tr_having *all = having_of(o, item, 0);
    if (!all)
        return;
    if (all->phase != phase)
        all->had = all->last;
    all->phase = phase;
    all->last = last;
}

void tr_order_atomic(tr_order *o, uint64_t item, tr_mark m, uint64_t base) {
    if (!o->fenced)
        return;
    const tr_handed *h = o->items ? place_of(o, item) : NULL;
    if (h && h->last)
        take(o, item, m, h->last);
    if (o->thread[tr_mark_thread(m)])
        hand_on(o, item, m, base);
}

/* Is x among what was handed on up to `last`? Phases only grow with the handings. */
static bool handed_on(const tr_order *o, uint64_t last, tr_mark x) {
    for (const tr_handing *h; last; last = h->previous) {
        h = &o->handings[last - 1];
        uint64_t phase = tr_mark_phase(h->by);
        if (phase < tr_mark_phase(x))
            return false;
        if (tr_mark_phase(x) >= h->base &&
            (tr_mark_phase(x) < phase || tr_mark_thread(x) == tr_mark_thread(h->by)))
            return true;
    }
    return false;
}

bool tr_order_has(const tr_order *o, tr_mark x, tr_mark m) {
    for (uint64_t k = 0; k < o->nhavings; k++) {
        const tr_having *h = &o->havings[k];
        if (h->who && h->who != 1 + tr_mark_thread(m))
            continue;
        if (handed_on(o, h->who || h->phase < tr_mark_phase(m) ? h->last : h->had, x))
            return true;
    }
    return false;
}
