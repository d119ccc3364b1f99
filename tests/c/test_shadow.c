/* The shadow of memory against a list of all accesses: on random runs, the first access that meets an earlier one which nothing orders is told of, and none before it. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/fns.h"
#include "rt/rt.h"
#include "rt/shadow.h"

enum { MAX = 60, CELLS = 24 };

typedef struct access {
    uint64_t address, size, thread, warp, phase, block;
    int how;
} access;

static uint64_t seed = 88172645463252523u;
static uint64_t any(uint64_t n) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % n;
}

/* By the definition: of two threads, one writes and not both in one step, no barrier between. */
static bool clash(const access *x, const access *y) {
    bool meet = x->address < y->address + y->size && y->address < x->address + x->size;
    bool atomic = x->how >= TR_TOUCH_ATOMIC && y->how >= TR_TOUCH_ATOMIC;
    if (!meet || atomic || (x->how == TR_TOUCH_READ && y->how == TR_TOUCH_READ))
        return false;
    if (x->block != y->block)
        return true;
    if (x->thread == y->thread || x->phase != y->phase)
        return false;
    return x->thread / 32 != y->thread / 32 || x->warp == y->warp;
}

static tr_mark note(void *self, uint64_t address, tr_clash c) {
    (void)address;
    assert(c.how < TR_CLASH_FRESH && c.with);
    *(bool *)self = true;
    return 0;
}

/* One run: blocks, in each phases, in each phases of warps, in each accesses of few threads to few places. */
static unsigned run(bool sizes, bool quiet) {
    static access all[MAX];
    static const uint64_t some[] = {0, 1, 2, 31, 32, 33, 64, 95};
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    tr_shadow s = {.frame = &f};
    char room[64];
    uint64_t n = 0, most = 1 + any(MAX), phase = 1, base = 1, block = 0, warps[3] = {0};
    bool was = false;
    for (; n < most && !was; n++) {
        if (any(40) == 0) {
            block++;
            base = ++phase;
            memset(warps, 0, sizeof warps);
        } else if (any(8) == 0) {
            phase++;
            memset(warps, 0, sizeof warps);
        } else if (any(6) == 0) {
            warps[any(3)]++;
        }
        access *a = &all[n];
        a->thread = some[any(8)];
        a->how = any(quiet ? 12 : 5) ? (any(8) ? TR_TOUCH_READ : TR_TOUCH_ATOMIC) : (int)any(4);
        a->size = sizes ? UINT64_C(1) << any(4) : 4;
        a->address = (uintptr_t)room + any(CELLS) / a->size * a->size;
        a->warp = warps[a->thread / 32];
        a->phase = phase;
        a->block = block;
        bool want = false, got = false;
        for (uint64_t k = 0; k < n; k++)
            want |= clash(&all[k], a);
        tr_shadow_touch(&s, a->address, a->size, a->how, tr_mark_of(phase, a->thread, a->warp, 7), base, note,
                        &got);
        if (got != want) {
            fprintf(stderr, "access %d: told %d, and it %d\n", (int)n, got, want);
            assert(0);
        }
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
    return c.how == TR_CLASH_FRESH ? 2 + 40 : 0;
}

static void test_fresh(void) {
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    tr_shadow s = {.frame = &f};
    int seen[16] = {0};
    double room[4] = {0};
    uint64_t at = (uintptr_t)room;
    tr_shadow_fresh(&s, at, sizeof room, false);
    tr_mark m = tr_mark_of(1, 3, 0, 5);
    tr_shadow_touch(&s, at, 8, TR_TOUCH_WRITE, m, 1, note_fresh, seen);
    tr_shadow_touch(&s, at, 8, TR_TOUCH_READ, m, 1, note_fresh, seen);
    assert(!seen[TR_CLASH_FRESH]);
    tr_shadow_touch(&s, at + 8, 4, TR_TOUCH_READ, m, 1, note_fresh,
                    seen); /* half of an item: cells get finer */
    tr_shadow_touch(&s, at + 12, 4, TR_TOUCH_WRITE, m, 1, note_fresh, seen);
    assert(seen[TR_CLASH_FRESH] == 1 && !seen[TR_CLASH_SETTLED]);
    tr_shadow_touch(&s, at + 8, 4, TR_TOUCH_READ, m, 1, note_fresh, seen); /* once */
    tr_shadow_touch(&s, at + 8, 4, TR_TOUCH_WRITE, m, 1, note_fresh, seen);
    assert(seen[TR_CLASH_FRESH] == 1 && seen[TR_CLASH_SETTLED] == 1);
    tr_shadow_touch(&s, at + 16, 8, TR_TOUCH_ATOMIC, m, 1, note_fresh,
                    seen); /* it looks, and exchanging does not */
    tr_shadow_touch(&s, at + 24, 8, TR_TOUCH_EXCH, m, 1, note_fresh, seen);
    tr_shadow_touch(&s, at + 24, 8, TR_TOUCH_READ, m, 1, note_fresh, seen);
    assert(seen[TR_CLASH_FRESH] == 3); /* in two cells by now */
    tr_shadow_fresh(&s, at, sizeof room, false);
    tr_shadow_touch(&s, at, 8, TR_TOUCH_READ, m, 1, note_fresh, seen);
    assert(seen[TR_CLASH_FRESH] == 5);
    tr_rt_frame_fini(&f);
}

/* Many pages, and accesses across their borders. */
static void test_pages(void) {
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    tr_shadow s = {.frame = &f};
    bool got = false;
    for (uint64_t k = 0; k < 3000; k++)
        tr_shadow_touch(&s, k * 4096 + 4092, 8, TR_TOUCH_WRITE, tr_mark_of(1, k % 1024, 0, 1), 1, note, &got);
    assert(!got);
    for (uint64_t k = 0; k < 3000; k++, got = false) {
        tr_shadow_touch(&s, k * 4096 + 4096, 1, TR_TOUCH_READ, tr_mark_of(1, k % 1024, 0, 1), 1, note, &got);
        assert(!got);
        tr_shadow_touch(&s, k * 4096 + 4099, 1, TR_TOUCH_READ, tr_mark_of(1, (k + 1) % 1024, 0, 1), 1, note,
                        &got);
        assert(got);
    }
    tr_rt_frame_fini(&f);
}

int main(void) {
    unsigned races = 0;
    enum { RUNS = 20000 };
    for (int k = 0; k < RUNS; k++)
        races += run(k % 2, k % 3);
    assert(races > RUNS / 4 && races < RUNS - RUNS / 20);
    test_fresh();
    test_pages();
    return 0;
}
