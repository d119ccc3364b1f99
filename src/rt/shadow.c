/* The shadow of memory: finds accesses of two threads that nothing orders.
 *
 * Exact for the path that was run, whatever order threads have run in: two accesses of one block are ordered by a barrier between them (other
 * phases), or, in a warp, by a barrier of the warp; two of different blocks never are. Blocks run one after the other, so of earlier ones one access of each kind
 * is enough. Of plain writes only the last is kept: what an earlier one meets meets that too, or the two writes met each other. Of reads, and
 * of atomics, which do not disturb each other, what a later access of any thread can meet is kept in three (tr_marks).
 * Cost: 32 bytes for each 4 or 8 that are looked at, twice that where there are atomics; see docs/cuda.md for the time. */
#include "rt/shadow.h"

#include <string.h>

#include "rt/fns.h"

void *tr_shadow_alloc(tr_frame *f, uint64_t bytes) {
    tr_mem *m = tr_rt_alloc(f, bytes);
    return m ? memset(tr_mem_data(m), 0, bytes) : NULL;
}

void tr_shadow_free(tr_frame *f, void *data) {
    if (data)
        tr_rt_free(f, (char *)data - TR_MEM_ALIGN);
}

/* --- pages --- */

static uint64_t cells_of(const tr_spage *p) {
    return UINT64_C(1) << (TR_SHADOW_PAGE - p->shift);
}

static tr_spage **place_of(const tr_shadow *s, uint64_t number) {
    uint64_t mask = (UINT64_C(1) << s->bits) - 1, k = number * UINT64_C(0x9E3779B97F4A7C15) >> (64 - s->bits);
    while (s->pages[k] && s->pages[k]->number != number)
        k = (k + 1) & mask;
    return &s->pages[k];
}

static bool grow(tr_shadow *s) {
    tr_spage **old = s->pages;
    uint64_t n = old ? UINT64_C(1) << s->bits : 0;
    unsigned bits = old ? s->bits + 1 : 8;
    tr_spage **pages = tr_shadow_alloc(s->frame, sizeof *pages << bits);
    if (!pages)
        return false;
    s->pages = pages;
    s->bits = bits;
    for (uint64_t k = 0; k < n; k++)
        if (old[k])
            *place_of(s, old[k]->number) = old[k];
    tr_shadow_free(s->frame, old);
    return true;
}

static tr_spage *new_page(tr_shadow *s, uint64_t number, unsigned shift) {
    if ((!s->pages || 2 * s->n >= UINT64_C(1) << s->bits) && !grow(s))
        return NULL;
    tr_spage *p = tr_shadow_alloc(s->frame, sizeof *p);
    if (!p)
        return NULL;
    *p = (tr_spage){.number = number, .shift = shift};
    p->cells = tr_shadow_alloc(s->frame, cells_of(p) * sizeof *p->cells);
    if (!p->cells)
        return NULL;
    *place_of(s, number) = p;
    s->n++;
    return p;
}

/* Cells of 1 << shift bytes, each what the larger one was that it is a part of. */
static bool refine(tr_shadow *s, tr_spage *p, unsigned shift) {
    tr_spage fine = {.shift = shift};
    unsigned by = p->shift - shift;
    uint64_t n = cells_of(&fine);
    tr_cell *cells = tr_shadow_alloc(s->frame, n * sizeof *cells);
    tr_marks *atomics = p->atomics ? tr_shadow_alloc(s->frame, n * sizeof *atomics) : NULL;
    if (!cells || (p->atomics && !atomics))
        return false;
    for (uint64_t k = 0; k < n; k++) {
        cells[k] = p->cells[k >> by];
        if (atomics)
            atomics[k] = p->atomics[k >> by];
    }
    tr_shadow_free(s->frame, p->cells);
    tr_shadow_free(s->frame, p->atomics);
    p->cells = cells;
    p->atomics = atomics;
    p->shift = shift;
    return true;
}

static __attribute__((noinline)) tr_spage *find_page(tr_shadow *s, uint64_t number, unsigned shift) {
    tr_spage *p = s->pages ? *place_of(s, number) : NULL;
    p = p ? p : new_page(s, number, shift);
    if (p && shift < p->shift && !refine(s, p, shift))
        p = NULL;
    s->full |= !p;
    return s->latest[number % TR_SHADOW_LATEST] = p;
}

/* The page of an address, fine enough for accesses there of that size; NULL without memory. */
static inline tr_spage *page_of(tr_shadow *s, uint64_t address, uint64_t size) {
    uint64_t number = address >> TR_SHADOW_PAGE;
    unsigned shift = (unsigned)__builtin_ctzll(address | size | 8);
    tr_spage *p = s->latest[number % TR_SHADOW_LATEST];
    return p && p->number == number && shift >= p->shift ? p : find_page(s, number, shift);
}

/* --- marks --- */

static inline bool in_one_warp(tr_mark x, tr_mark y) {
    return tr_mark_thread(x) >> 5 == tr_mark_thread(y) >> 5;
}

/* Is x, of an earlier moment, by another thread than m, and does nothing order them? What has no phase is nobody's, and what is of a phase below the floor comes before all. */
static inline bool is_apart(tr_mark x, tr_mark m, uint64_t base, uint64_t floor) {
    uint64_t phase = tr_mark_phase(x);
    if (!phase || phase < floor)
        return false;
    if (phase < base)
        return true;
    if (phase != tr_mark_phase(m) || tr_mark_thread(x) == tr_mark_thread(m))
        return false;
    uint64_t warp = tr_mark_warp(m);
    return !in_one_warp(x, m) || (tr_mark_warp(x) == warp && warp < TR_MARK_WARPS - 1);
}

bool tr_mark_apart(const tr_shadow *s, tr_mark x, tr_mark m, uint64_t base) {
    return is_apart(x, m, base, s->floor);
}

static inline tr_mark first_apart(const tr_marks *s, tr_mark m, uint64_t base, uint64_t floor) {
    return is_apart(s->last, m, base, floor)    ? s->last
           : is_apart(s->other, m, base, floor) ? s->other
           : is_apart(s->old, m, base, floor)   ? s->old
                                                : 0;
}

static inline void join(tr_marks *s, tr_mark m, uint64_t base) {
    tr_mark last = s->last;
    s->last = m;
    if (!last)
        return;
    if (tr_mark_phase(last) != tr_mark_phase(m)) {
        s->old = tr_mark_phase(last) < base ? last : s->old;
        s->other = 0;
    } else if (!in_one_warp(last, m) ||
               (tr_mark_thread(last) != tr_mark_thread(m) && !(s->other && !in_one_warp(s->other, m)))) {
        s->other =
            last; /* one of another warp says more than one of this, whatever the warp does meanwhile */
    }
}

/* --- accesses --- */

/* What of the cell the access must not meet. */
static inline tr_clash clash_of(const tr_cell *c, const tr_marks *atomics, int how, tr_mark m, uint64_t base,
                                uint64_t floor) {
    tr_mark x = 0;
    if (is_apart(c->write, m, base, floor))
        return (tr_clash){c->write, TR_TOUCH_WRITE};
    if (how != TR_TOUCH_READ && (x = first_apart(&c->reads, m, base, floor)))
        return (tr_clash){x, TR_TOUCH_READ};
    if (how <= TR_TOUCH_WRITE && atomics && (x = first_apart(atomics, m, base, floor)))
        return (tr_clash){x, TR_TOUCH_ATOMIC};
    return (tr_clash){0, 0};
}

/* It was not written: who looks at it now, or did before? */
static __attribute__((noinline)) void touch_fresh(tr_cell *c, uint64_t address, int how, tr_clash_fn *fn,
                                                  void *self) {
    bool looks = how == TR_TOUCH_READ || how == TR_TOUCH_ATOMIC;
    if (c->write == TR_MARK_FRESH && looks)
        c->write = fn(self, address, (tr_clash){0, TR_CLASH_FRESH});
    else if (c->write != TR_MARK_FRESH && !looks)
        fn(self, address, (tr_clash){c->write, TR_CLASH_SETTLED});
    if (how == TR_TOUCH_EXCH)
        c->write = 0;
}

static inline tr_clash touch_cell(tr_cell *c, tr_marks *atomics, int how, tr_mark m, uint64_t base,
                                  uint64_t floor) {
    tr_clash r = clash_of(c, atomics, how, m, base, floor);
    if (how == TR_TOUCH_READ)
        join(&c->reads, m, base);
    else if (how == TR_TOUCH_WRITE)
        c->write = m;
    else
        join(atomics, m, base);
    return r;
}

void tr_shadow_touch(tr_shadow *s, uint64_t address, uint64_t size, int how, tr_mark m, uint64_t base,
                     tr_clash_fn *fn, void *self) {
    uint64_t end = address + size;
    while (address < end && !s->full) {
        tr_spage *p = page_of(s, address, end - address);
        if (!p)
            return;
        if (how >= TR_TOUCH_ATOMIC && !p->atomics) {
            p->atomics = tr_shadow_alloc(s->frame, cells_of(p) * sizeof *p->atomics);
            s->full |= !p->atomics;
            continue;
        }
        uint64_t k = (address & ((1 << TR_SHADOW_PAGE) - 1)) >> p->shift;
        tr_cell *c = &p->cells[k];
        if (__builtin_expect(c->write && !tr_mark_phase(c->write), 0))
            touch_fresh(c, address, how, fn, self);
        tr_clash r = touch_cell(c, p->atomics ? &p->atomics[k] : NULL, how, m, base, s->floor);
        if (__builtin_expect(r.with != 0, 0))
            fn(self, address, r);
        address += UINT64_C(1) << p->shift;
    }
}

void tr_shadow_fresh(tr_shadow *s, uint64_t address, uint64_t size, bool known) {
    uint64_t end = address + size;
    while (address < end && !s->full) {
        tr_spage *p = page_of(s, address, end - address);
        if (!p)
            return;
        uint64_t k = (address & ((1 << TR_SHADOW_PAGE) - 1)) >> p->shift;
        if (!known) {
            p->cells[k] = (tr_cell){.write = TR_MARK_FRESH};
            if (p->atomics)
                p->atomics[k] = (tr_marks){0};
        } else if (!p->cells[k].write) {
            p->cells[k].write = TR_MARK_FRESH;
        }
        address += UINT64_C(1) << p->shift;
    }
}

/* 0: the byte was not touched, 1: read, 2: written. *next: the first one that may differ. */
static int done_at(const tr_shadow *s, uint64_t address, uint64_t *next) {
    const tr_spage *p = s->pages ? *place_of(s, address >> TR_SHADOW_PAGE) : NULL;
    unsigned shift = p ? p->shift : TR_SHADOW_PAGE;
    *next = ((address >> shift) + 1) << shift;
    if (!p)
        return 0;
    uint64_t k = (address & ((1 << TR_SHADOW_PAGE) - 1)) >> shift;
    bool changed = p->atomics && p->atomics[k].last;
    return tr_mark_phase(p->cells[k].write) || changed ? 2 : p->cells[k].reads.last ? 1 : 0;
}

bool tr_shadow_spans(const tr_shadow *s, uint64_t lo, uint64_t hi,
                     bool (*fn)(void *self, uint64_t lo, uint64_t hi, bool written), void *self) {
    int how = 0;
    uint64_t begin = lo;
    for (uint64_t at = lo, next; at < hi; at = next) {
        int now = done_at(s, at, &next);
        if (now == how)
            continue;
        if (how && !fn(self, begin, at, how == 2))
            return false;
        how = now;
        begin = at;
    }
    return !how || fn(self, begin, hi, how == 2);
}
