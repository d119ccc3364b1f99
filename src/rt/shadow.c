/* The shadow of memory: finds accesses of two threads that nothing orders.
 *
 * Exact for the path that was run, whatever order threads have run in: two accesses of one block are ordered
 * by a barrier of the block between them (other phases); or, in a warp, by barriers of lanes that hand on
 * what they know of each other (vector clocks, rt/watch.c: an access of lane j comes before what is done now
 * if its time is not after what is known of j); two of different blocks never are. Blocks run one after the
 * other, so of earlier ones one access of each kind is enough. Of plain writes only the last is kept: what an
 * earlier one meets meets that too, or the two writes met each other. Of reads, and of atomics, which do not
 * disturb each other, what a later access of any thread can meet is kept (tr_marks): if two warps have been
 * there in a phase, one of each is enough, as a warp knows nothing of another one. Of one warp all lanes are
 * kept whose last access comes before none of the others: mostly they read in one line at one time, and are a
 * bit each (LANES), else there is a table (MANY).
 * Cost: 32 bytes for each 4 or 8 that are looked at, twice that where there are atomics, and 256 for a
 * table; see docs/cuda.md for the time. */
#include "rt/shadow.h"

#include <assert.h>
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
    assert(s->pages && s->n < UINT64_C(1) << s->bits && "there is a free place, or the search would not end");
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

/* --- tables of lanes --- */

/* Of a warp: each lane's last access in a phase; 0: none, or another one comes after it. */
typedef struct tr_lanes {
    tr_mark of[TR_LANES];
} tr_lanes;

/* tr_marks.other, where it is no access: lanes that did at `last`'s time and place what `last` did, or the
 * number of a table, in which `last` is, too. */
#define LANES (TR_MARK_OTHER | UINT64_C(1) << 62)
#define MANY  (TR_MARK_OTHER | UINT64_C(1) << 61)

static inline bool is_many(tr_mark other) {
    return (other & (LANES | MANY)) == MANY;
}

static inline bool is_lanes(tr_mark other) {
    return (other & (LANES | MANY)) == LANES;
}

static tr_lanes *table(const tr_shadow *s, tr_mark other) {
    assert(is_many(other) && (uint32_t)other < s->nlanes && "the number of a table");
    return &s->lanes[(uint32_t)other];
}

/* 0 without memory. */
static tr_mark new_table(tr_shadow *s) {
    if (s->spare) {
        uint32_t k = s->spare - 1;
        assert(k < s->nlanes && "a table that was given back");
        s->spare = (uint32_t)s->lanes[k].of[0];
        s->lanes[k] = (tr_lanes){0};
        return MANY | k;
    }
    if (s->nlanes == s->caplanes) {
        uint32_t cap = s->caplanes ? 2 * s->caplanes : 64;
        tr_lanes *more = tr_shadow_alloc(s->frame, cap * sizeof *more);
        s->full |= !more;
        if (!more)
            return 0;
        if (s->lanes)
            memcpy(more, s->lanes, s->nlanes * sizeof *more);
        tr_shadow_free(s->frame, s->lanes);
        s->lanes = more;
        s->caplanes = cap;
    }
    return MANY | s->nlanes++;
}

static void free_table(tr_shadow *s, tr_mark other) {
    if (!is_many(other))
        return;
    table(s, other)->of[0] = s->spare;
    s->spare = (uint32_t)other + 1;
}

/* A table of its own for what was copied. */
static void own_table(tr_shadow *s, tr_marks *m) {
    if (!is_many(m->other))
        return;
    tr_mark mine = new_table(s);
    if (mine)
        *table(s, mine) = *table(s, m->other);
    m->other = mine;
}

/* --- pages, finer --- */

/* Cells of 1 << shift bytes, each what the larger one was that it is a part of. */
static bool refine(tr_shadow *s, tr_spage *p, unsigned shift) {
    assert(shift < p->shift && shift <= TR_SHADOW_PAGE && "finer than it was");
    tr_spage fine = {.shift = shift};
    unsigned by = p->shift - shift;
    uint64_t n = cells_of(&fine);
    tr_cell *cells = tr_shadow_alloc(s->frame, n * sizeof *cells);
    tr_marks *atomics = p->atomics ? tr_shadow_alloc(s->frame, n * sizeof *atomics) : NULL;
    if (!cells || (p->atomics && !atomics))
        return false;
    for (uint64_t k = 0; k < n; k++) {
        bool first = !(k & ((1u << by) - 1));
        cells[k] = p->cells[k >> by];
        if (!first)
            own_table(s, &cells[k].reads);
        if (!atomics)
            continue;
        atomics[k] = p->atomics[k >> by];
        if (!first)
            own_table(s, &atomics[k]);
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

#define THREAD ((uint64_t)(TR_MARK_THREADS - 1) << 12)
#define LANE   ((uint64_t)(TR_LANES - 1) << 12)

static inline bool in_one_warp(tr_mark x, tr_mark y) {
    return !((x ^ y) & (THREAD & ~LANE));
}

static inline unsigned lane_of(tr_mark m) {
    return (unsigned)tr_mark_thread(m) % TR_LANES;
}

/* Is what lane j of this warp did at that time, in this phase, not known to come before? */
static inline bool is_news(const tr_now *now, unsigned j, uint64_t time) {
    return !now->known || now->known[j] < time;
}

/* Is x, of an earlier moment, by another thread, and does nothing order the two? What is no access is
 * nobody's, and what is before the floor comes before all. */
static inline bool is_apart(tr_mark x, const tr_now *now, tr_mark floor) {
    if (tr_mark_before(x, floor))
        return false;
    if (x < now->base)
        return true;
    if (x < now->start || !((x ^ now->m) & THREAD))
        return false;
    return !in_one_warp(x, now->m) || is_news(now, lane_of(x), tr_mark_time(x));
}

bool tr_mark_apart(const tr_shadow *s, tr_mark x, const tr_now *now) {
    return is_apart(x, now, s->floor);
}

/* The access of another lane, that did at the time and place of x what x did. */
static inline tr_mark beside(tr_mark x, unsigned lane) {
    assert(lane < TR_LANES && "a lane of the warp");
    return tr_mark_of(tr_mark_time(x), (tr_mark_thread(x) & ~(uint64_t)(TR_LANES - 1)) | lane,
                      tr_mark_site(x));
}

/* Of the lanes of one warp. */
static __attribute__((noinline)) tr_mark lane_apart(const tr_shadow *s, const tr_marks *c,
                                                    const tr_now *now) {
    for (unsigned j = 0; j < TR_LANES; j++) {
        tr_mark x = is_many(c->other)   ? table(s, c->other)->of[j]
                    : c->other >> j & 1 ? beside(c->last, j)
                                        : 0;
        if (is_apart(x, now, s->floor))
            return x;
    }
    return 0;
}

static inline tr_mark first_apart(const tr_shadow *s, const tr_marks *c, const tr_now *now) {
    tr_mark x = 0;
    if (is_apart(c->last, now, s->floor))
        return c->last;
    if (c->other & TR_MARK_OTHER)
        x = lane_apart(s, c, now);
    else if (is_apart(c->other, now, s->floor))
        x = c->other;
    return x || !is_apart(c->old, now, s->floor) ? x : c->old;
}

/* Another lane of the warp of `last`, the one that has been there alone in this phase; or the
 * same one, where others are remembered. */
static __attribute__((noinline)) void join_lane(tr_shadow *s, tr_marks *c, const tr_now *now) {
    tr_mark m = now->m, last = c->last;
    assert(in_one_warp(last, m) && "lanes of one warp");
    bool all = is_many(c->other), after = true;
    for (unsigned j = 0; j < TR_LANES && after; j++) { /* does it come after all of them? */
        tr_mark x = all ? table(s, c->other)->of[j] : c->other >> j & 1 ? beside(last, j) : 0;
        after = !x || j == lane_of(m) || !is_news(now, j, tr_mark_time(x));
    }
    after = after &&
            (tr_mark_thread(last) == tr_mark_thread(m) || !is_news(now, lane_of(last), tr_mark_time(last)));
    c->last = m;
    if (after) {
        free_table(s, c->other);
        c->other = 0;
    } else if (all) {
        table(s, c->other)->of[lane_of(m)] = m;
    } else {
        tr_mark made = new_table(s);
        for (unsigned j = 0; made && j < TR_LANES; j++)
            if (is_lanes(c->other) && c->other >> j & 1)
                table(s, made)->of[j] = beside(last, j);
        if (made) {
            table(s, made)->of[lane_of(last)] = last;
            table(s, made)->of[lane_of(m)] = m;
        }
        c->other = made;
    }
}

static inline void join(tr_shadow *s, tr_marks *c, const tr_now *now) {
    tr_mark last = c->last, m = now->m;
    if (tr_mark_before(last, now->start)) { /* the first one in this phase */
        c->old = last && last < now->base ? last : c->old;
        if (c->other & TR_MARK_OTHER)
            free_table(s, c->other);
        c->other = 0;
    } else if (!in_one_warp(last, m)) {
        /* One of another warp says more than those of this, whatever the warp does meanwhile. */
        if (c->other & TR_MARK_OTHER)
            free_table(s, c->other);
        c->other = last;
    } else if (c->other && !(c->other & TR_MARK_OTHER)) {
        ; /* of another warp */
    } else if (!((last ^ m) & ~LANE) &&
               !is_many(c->other)) { /* at one time nobody comes after another lane */
        if (last != m)
            c->other |= LANES | UINT64_C(1) << lane_of(last);
    } else if (c->other || ((last ^ m) & THREAD)) {
        join_lane(s, c, now);
    }
    c->last = m;
}

/* --- accesses --- */

/* What of the cell the access must not meet. */
static inline tr_clash clash_of(const tr_shadow *s, const tr_cell *c, const tr_marks *atomics, int how,
                                const tr_now *now) {
    tr_mark x = 0;
    if (is_apart(c->write, now, s->floor))
        return (tr_clash){c->write, TR_TOUCH_WRITE};
    if (how != TR_TOUCH_READ && (x = first_apart(s, &c->reads, now)))
        return (tr_clash){x, TR_TOUCH_READ};
    if (how <= TR_TOUCH_WRITE && atomics && (x = first_apart(s, atomics, now)))
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

static inline tr_clash touch_cell(tr_shadow *s, tr_cell *c, tr_marks *atomics, int how, const tr_now *now) {
    tr_clash r = clash_of(s, c, atomics, how, now);
    if (how == TR_TOUCH_READ)
        join(s, &c->reads, now);
    else if (how == TR_TOUCH_WRITE)
        c->write = now->m;
    else
        join(s, atomics, now);
    return r;
}

void tr_shadow_touch(tr_shadow *s, uint64_t address, uint64_t size, int how, const tr_now *now,
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
        if (__builtin_expect((c->write & TR_MARK_OTHER) != 0, 0))
            touch_fresh(c, address, how, fn, self);
        tr_clash r = touch_cell(s, c, p->atomics ? &p->atomics[k] : NULL, how, now);
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
            free_table(s, p->cells[k].reads.other);
            p->cells[k] = (tr_cell){.write = TR_MARK_FRESH};
            if (p->atomics) {
                free_table(s, p->atomics[k].other);
                p->atomics[k] = (tr_marks){0};
            }
        } else if (!p->cells[k].write) {
            p->cells[k].write = TR_MARK_FRESH;
        }
        address += UINT64_C(1) << p->shift;
    }
}

void tr_shadow_unseen(tr_shadow *s, uint64_t address, uint64_t size) {
    uint64_t end = address + size;
    while (address < end && !s->full) {
        tr_spage *p = page_of(s, address, end - address);
        if (!p)
            return;
        tr_cell *c = &p->cells[(address & ((1 << TR_SHADOW_PAGE) - 1)) >> p->shift];
        c->write = c->write == TR_MARK_FRESH ? 0 : c->write;
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
    return tr_mark_time(p->cells[k].write) || changed ? 2 : p->cells[k].reads.last ? 1 : 0;
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
