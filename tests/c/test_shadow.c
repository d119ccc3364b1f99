/* The shadow of memory against a list of all accesses: on random runs, the first access that meets an earlier
 * one which nothing orders is told of, and none before it. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/fns.h"
#include "rt/rt.h"
#include "rt/shadow.h"

enum { MAX = 60, CELLS = 24, RUNNERS = 10 };
static const unsigned threads[RUNNERS] = {0, 1, 2, 3, 9, 31, 32, 33, 64, 95};

static uint64_t seed = 88172645463252523u;
static uint64_t any(uint64_t n) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % n;
}

typedef struct access {
    uint64_t address, size, block;
    unsigned by; /* of RUNNERS */
    int how;
} access;

/* What is known of a run: by the definition, for each thread which accesses come before what it does now (a
 * bit each); and as the shadow is told, in times. */
typedef struct run {
    access all[MAX];
    uint64_t n, before[RUNNERS];
    uint64_t block, base, start, latest, time[RUNNERS], known[RUNNERS][TR_LANES];
} run;

/* By the definition: of two threads, one writes and not both in one step, and the first
 * does not come before. */
static bool clash(const run *r, uint64_t k, const access *y) {
    const access *x = &r->all[k];
    bool meet = x->address < y->address + y->size && y->address < x->address + x->size;
    bool atomic = x->how >= TR_TOUCH_ATOMIC && y->how >= TR_TOUCH_ATOMIC;
    if (!meet || atomic || (x->how == TR_TOUCH_READ && y->how == TR_TOUCH_READ))
        return false;
    return x->block != y->block || (x->by != y->by && !(r->before[y->by] >> k & 1));
}

static tr_mark note(void *self, uint64_t address, tr_clash c) {
    (void)address;
    assert(c.how < TR_CLASH_FRESH && !(c.with & TR_MARK_OTHER) && c.with);
    *(bool *)self = true;
    return 0;
}

/* All threads wait for each other. */
static void meet_block(run *r, bool next_block) {
    uint64_t all = 0;
    for (unsigned t = 0; t < RUNNERS; t++)
        all |= r->before[t];
    for (unsigned t = 0; t < RUNNERS; t++) {
        r->before[t] = next_block ? 0 : all;
        r->time[t] = r->latest + 1;
        memset(r->known[t], 0, next_block ? sizeof r->known[t] : 0); /* else it is older than the phase */
    }
    r->start = ++r->latest;
    r->block += next_block;
    r->base = next_block ? r->start : r->base;
}

/* Some lanes of the first warp meet, by a mask of runners; they are its first six. */
static void meet_lanes(run *r, unsigned who) {
    uint64_t all = 0, end = 0, known[TR_LANES] = {0};
    for (unsigned t = 0; t < 6; t++) {
        if (!(who >> t & 1))
            continue;
        all |= r->before[t];
        end = end > r->time[t] + 1 ? end : r->time[t] + 1;
        for (unsigned j = 0; j < TR_LANES; j++)
            known[j] = known[j] > r->known[t][j] ? known[j] : r->known[t][j];
        known[threads[t]] = r->time[t];
    }
    for (unsigned t = 0; t < 6; t++)
        if (who >> t & 1) {
            r->before[t] = all;
            r->time[t] = end;
            memcpy(r->known[t], known, sizeof known);
        }
    r->latest = r->latest > end ? r->latest : end;
}

/* One run: blocks, in each phases, in each meetings of lanes, in each accesses of few
 * threads to few places. */
static unsigned one_run(bool sizes, bool quiet) {
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    tr_shadow s = {.frame = &f, .floor = tr_mark_of(1, 0, 0)};
    char room[64];
    run r = {.base = 1, .start = 1, .latest = 1};
    uint64_t most = 1 + any(MAX), sites = 1 + any(3), cells = any(2) ? CELLS : 4;
    bool was = false;
    for (unsigned t = 0; t < RUNNERS; t++)
        r.time[t] = 1;
    for (; r.n < most && !was; r.n++) {
        if (any(12) == 0)
            meet_block(&r, any(4) == 0);
        for (uint64_t k = any(3); k; k--)
            meet_lanes(&r, any(3) ? (unsigned)any(64) : 63);
        access *a = &r.all[r.n];
        a->by = (unsigned)(any(3) ? any(6) : any(RUNNERS));
        a->how = any(quiet ? 12 : 5) ? (any(8) ? TR_TOUCH_READ : TR_TOUCH_ATOMIC) : (int)any(4);
        a->size = sizes ? UINT64_C(1) << any(4) : 4;
        a->address = (uintptr_t)room + any(cells) / a->size * a->size;
        a->block = r.block;
        bool want = false, got = false;
        for (uint64_t k = 0; k < r.n; k++)
            want |= clash(&r, k, a);
        tr_now now = {tr_mark_of(r.time[a->by], threads[a->by], 7 + any(sites)), tr_mark_of(r.base, 0, 0),
                      tr_mark_of(r.start, 0, 0), r.known[a->by]};
        tr_shadow_touch(&s, a->address, a->size, a->how, &now, note, &got);
        if (got != want) {
            fprintf(stderr, "access %d: told %d, and it %d\n", (int)r.n, got, want);
            assert(0);
        }
        r.before[a->by] |= UINT64_C(1) << r.n;
        was = want;
    }
    tr_rt_frame_fini(&f);
    assert(f.nalloc == f.nfree && !s.full);
    return was;
}

static tr_mark note_fresh(void *self, uint64_t address, tr_clash c) {
    int *seen = self;
    (void)address;
    seen[c.how]++;
    return c.how == TR_CLASH_FRESH ? TR_MARK_OTHER | 42 : 0;
}

static void test_fresh(void) {
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    tr_shadow s = {.frame = &f, .floor = tr_mark_of(1, 0, 0)};
    int seen[16] = {0};
    double room[4] = {0};
    uint64_t at = (uintptr_t)room;
    tr_shadow_fresh(&s, at, sizeof room, false);
    tr_now m = {tr_mark_of(1, 3, 5), tr_mark_of(1, 0, 0), tr_mark_of(1, 0, 0), NULL};
    tr_shadow_touch(&s, at, 8, TR_TOUCH_WRITE, &m, note_fresh, seen);
    tr_shadow_touch(&s, at, 8, TR_TOUCH_READ, &m, note_fresh, seen);
    assert(!seen[TR_CLASH_FRESH]);
    tr_shadow_touch(&s, at + 8, 4, TR_TOUCH_READ, &m, note_fresh,
                    seen); /* half of an item: cells get finer */
    tr_shadow_touch(&s, at + 12, 4, TR_TOUCH_WRITE, &m, note_fresh, seen);
    assert(seen[TR_CLASH_FRESH] == 1 && !seen[TR_CLASH_SETTLED]);
    tr_shadow_touch(&s, at + 8, 4, TR_TOUCH_READ, &m, note_fresh, seen); /* once */
    tr_shadow_touch(&s, at + 8, 4, TR_TOUCH_WRITE, &m, note_fresh, seen);
    assert(seen[TR_CLASH_FRESH] == 1 && seen[TR_CLASH_SETTLED] == 1);
    tr_shadow_touch(&s, at + 16, 8, TR_TOUCH_ATOMIC, &m, note_fresh,
                    seen); /* it looks, and exchanging does not */
    tr_shadow_touch(&s, at + 24, 8, TR_TOUCH_EXCH, &m, note_fresh, seen);
    tr_shadow_touch(&s, at + 24, 8, TR_TOUCH_READ, &m, note_fresh, seen);
    assert(seen[TR_CLASH_FRESH] == 3); /* in two cells by now */
    tr_shadow_fresh(&s, at, sizeof room, false);
    tr_shadow_touch(&s, at, 8, TR_TOUCH_READ, &m, note_fresh, seen);
    assert(seen[TR_CLASH_FRESH] == 5);
    tr_rt_frame_fini(&f);
}

static const tr_now *at(uint64_t thread) {
    static tr_now now;
    now = (tr_now){tr_mark_of(1, thread, 1), tr_mark_of(1, 0, 0), tr_mark_of(1, 0, 0), NULL};
    return &now;
}

/* Many pages, and accesses across their borders. */
static void test_pages(void) {
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    tr_shadow s = {.frame = &f, .floor = tr_mark_of(1, 0, 0)};
    bool got = false;
    for (uint64_t k = 0; k < 3000; k++)
        tr_shadow_touch(&s, k * 4096 + 4092, 8, TR_TOUCH_WRITE, at(k % 1024), note, &got);
    assert(!got);
    for (uint64_t k = 0; k < 3000; k++, got = false) {
        tr_shadow_touch(&s, k * 4096 + 4096, 1, TR_TOUCH_READ, at(k % 1024), note, &got);
        assert(!got);
        tr_shadow_touch(&s, k * 4096 + 4099, 1, TR_TOUCH_READ, at((k + 1) % 1024), note, &got);
        assert(got);
    }
    tr_rt_frame_fini(&f);
}

int main(void) {
    unsigned races = 0;
    enum { RUNS = 40000 };
    for (int k = 0; k < RUNS; k++)
        races += one_run(k % 2, k % 3);
    assert(races > RUNS / 4 && races < RUNS - RUNS / 20);
    test_fresh();
    test_pages();
    return 0;
}
