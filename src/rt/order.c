/* What threads hand on by a fence and an atomic: the sum of a block that the last block adds up (CUDA C
 * Programming Guide, memory fence functions), locks.
 *
 * Who did a fence and then an atomic on an item hands on what it did so far, and what its block did
 * in earlier phases. Who does an atomic on the item after that has all of it, and so has its block
 * in later phases; what lanes of a warp know of each other (rt/shadow.h) is handed on and had
 * likewise. Looked at only where two accesses would be a race, so a launch without fences pays
 * nothing. Not told apart is what a thread does between its last handing on and its next barrier, of
 * the block or of lanes: it counts as handed on. */
#include "rt/order.h"

#include <string.h>

void tr_order_block(tr_order *o) {
    o->nhavings = 0;
    if (o->fenced)
        memset(o->thread, 0, sizeof o->thread);
}

void tr_order_fence(tr_order *o, const tr_now *now) {
    o->fenced = true;
    o->thread[tr_mark_thread(now->m)] = 1;
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

static bool hand_on(tr_order *o, uint64_t item, const tr_now *now, uint64_t latest) {
    if ((!o->items || 2 * o->nitems >= UINT64_C(1) << o->bits) && !grow(o))
        return false;
    if (!more(o, (void **)&o->handings, o->n, &o->cap, sizeof *o->handings))
        return false;
    tr_handed *h = place_of(o, item);
    o->nitems += !h->last;
    o->handings[o->n++] = (tr_handing){now->m, now->base, now->start, latest, now->known, h->last};
    *h = (tr_handed){item, o->n};
    return now->known != NULL;
}

/* --- who has what --- */

/* A thread's latest; the block's, of which there is one, and which comes early. */
static tr_having *find_having(const tr_order *o, uint64_t item, uint32_t who) {
    for (uint64_t n = 0; n < o->nhavings; n++) {
        tr_having *h = &o->havings[who ? o->nhavings - 1 - n : n];
        if (h->item == item && h->who == who)
            return h;
    }
    return NULL;
}

static tr_having *new_having(tr_order *o, uint64_t item, uint32_t who, uint64_t start) {
    if (!more(o, (void **)&o->havings, o->nhavings, &o->caphavings, sizeof *o->havings))
        return NULL;
    o->havings[o->nhavings] = (tr_having){.item = item, .who = who, .start = start};
    return &o->havings[o->nhavings++];
}

static void take_all(tr_order *o, uint64_t item, const tr_now *now, uint64_t last) {
    tr_having *all = find_having(o, item, 0);
    all = all ? all : new_having(o, item, 0, now->start);
    if (!all)
        return;
    if (all->start != now->start)
        all->had = all->last;
    all->start = now->start;
    all->last = last;
}

static void take(tr_order *o, uint64_t item, const tr_now *now, uint64_t last) {
    uint32_t who = 1 + (uint32_t)tr_mark_thread(now->m);
    uint64_t time = tr_mark_time(now->m);
    take_all(o, item, now, last);
    tr_having *mine = find_having(o, item, who);
    if (!mine || mine->start != time) /* lanes that met it before have what it had by then */
        mine = new_having(o, item, who, time);
    if (mine)
        mine->last = last;
}

bool tr_order_atomic(tr_order *o, uint64_t item, const tr_now *now, uint64_t latest) {
    if (!o->fenced)
        return false;
    const tr_handed *h = o->items ? place_of(o, item) : NULL;
    if (h && h->last)
        take(o, item, now, h->last);
    return o->thread[tr_mark_thread(now->m)] && hand_on(o, item, now, latest);
}

/* Is what x did in what h handed on? */
static bool hands_on(const tr_handing *h, tr_mark x) {
    uint64_t time = tr_mark_time(x), thread = tr_mark_thread(x), by = tr_mark_thread(h->by);
    if (x < h->base)
        return false;
    if (x < h->start)
        return true;
    if (thread == by)
        return time <= tr_mark_time(h->by);
    return h->known && thread / TR_LANES == by / TR_LANES && time <= h->known[thread % TR_LANES];
}

/* Is x among what was handed on up to `last`? */
static bool handed_on(const tr_order *o, uint64_t last, tr_mark x) {
    for (const tr_handing *h; last; last = h->previous) {
        h = &o->handings[last - 1];
        if (tr_mark_time(x) > h->latest) /* it came after this one, and after those before */
            return false;
        if (hands_on(h, x))
            return true;
    }
    return false;
}

/* Does what a thread had at a time come before what is done now? */
static bool mark_comes_before(const tr_having *h, const tr_now *now) {
    uint32_t who = h->who - 1, me = (uint32_t)tr_mark_thread(now->m);
    return who == me ||
           (now->known && who / TR_LANES == me / TR_LANES && h->start <= now->known[who % TR_LANES]);
}

bool tr_order_has(const tr_order *o, tr_mark x, const tr_now *now) {
    for (uint64_t k = o->nhavings; k-- > 0;) {
        const tr_having *h = &o->havings[k];
        if (h->who && !mark_comes_before(h, now))
            continue;
        if (handed_on(o, h->who || h->start < now->start ? h->last : h->had, x))
            return true;
    }
    return false;
}
