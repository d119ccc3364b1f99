/* Where large arrays come from, and a cache of freed ones.
 *
 * A fresh block costs a page fault for each 4 KiB that are touched, about as much as filling it; one that was
 * used before costs nothing. So freed blocks are kept, by size class (eight to a doubling, so at most an
 * eighth of a block is never used, and what is never used is never touched), the newest taken first. The
 * oldest go back to the system when the whole passes a limit, when they have lain for a while at the time of
 * a get or put, and when memory runs out.
 *
 * From 1 MiB on blocks are mapped: malloc would keep or trim them by rules of its own. From 4 MiB on they lie
 * on huge pages where the system has them, as NumPy's do: `b = a + 1` over 8 MB takes 290 us there, 500 us on
 * small pages. A mapped block starts at another line of its page than the one before, and far from the first,
 * where others' arrays lie: loops that write several arrays lose a quarter of their speed when all have the
 * same offset, and running sums, written past the caches, twice their time.
 *
 * Invariants: a block here is referred to by nobody else; its first 64 bytes are the cache's own. `bytes` is
 * the sum of `cap`. The lock is held for a few dozen instructions and never across a system call but the one
 * that asks for the limit. Who does not get it soon (its holder lost the processor, or does not exist in this
 * child of a fork) does without the cache. With AddressSanitizer all is malloc's and nothing is kept, so that
 * it sees uses outside a block and after its life. */
#include "rt/blocks.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "rt/layout.h"

enum { PAGE = 4096, LOG_MIN = 16, LOG_MAX = 28, STEPS = 8, NCLASSES = (LOG_MAX - LOG_MIN) * STEPS };
enum { COLOUR = 22 * TR_MEM_ALIGN }; /* a third of a page, and the offsets of 32 successive blocks differ */
#define MAP_FROM  (UINT64_C(1) << 20)
#define HUGE_FROM (UINT64_C(4) << 20)
#define HUGE_PAGE (UINT64_C(2) << 20)

/* No more than a sixteenth of a small machine. */
enum { RAM_SHARE = 16, USUAL_AGE_MS = 2000 };

#if defined __SANITIZE_ADDRESS__
#define CHECKED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define CHECKED 1
#endif
#endif
#ifndef CHECKED
#define CHECKED 0
#endif

typedef struct kept {
    struct kept *up, *down;     /* in its class: newer, older */
    struct kept *newer, *older; /* among all */
    uint64_t cap, when;
    void *raw;
} kept;
_Static_assert(sizeof(kept) <= TR_MEM_ALIGN, "fits before the data");

struct tr_blocks {
    atomic_flag busy;
    atomic_uint colour;
    _Atomic uint64_t bytes;
    uint64_t limit, age_ms;
    kept *top[NCLASSES];
    kept *newest, *oldest;
};

/* --- sizes --- */

/* The size that a block for `bytes` is given: header and colour included, rounded up to its class. */
static uint64_t cap_of(uint64_t bytes, unsigned *cls) {
    *cls = NCLASSES;
    if (CHECKED) /* malloc's, to the byte */
        return bytes + 2 * TR_MEM_ALIGN;
    uint64_t n = bytes + PAGE;
    unsigned lg = 63u - (unsigned)__builtin_clzll(n - 1), shift = lg - 3;
    uint64_t units = ((n - 1) >> shift) + 1;
    assert(lg >= LOG_MIN && units > STEPS && units <= 2 * STEPS && "a size lies in one of eight steps");
    *cls = (lg - LOG_MIN) * STEPS + (unsigned)units - (STEPS + 1);
    return units << shift;
}

static uint64_t number_in(const char *path) {
    unsigned long long n = 0;
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%llu", &n) != 1)
        n = 0; /* "max" */
    if (f)
        fclose(f);
    return n;
}

/* What the machine has, or the container this process is in. */
static uint64_t usual_limit(void) {
    uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    const char *const paths[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++) {
        uint64_t n = number_in(paths[i]);
        if (n && n < ram)
            ram = n;
    }
    return ram / RAM_SHARE < TR_BLOCKS_MOST ? ram / RAM_SHARE : TR_BLOCKS_MOST;
}

/* --- the system --- */

static void *map_block(uint64_t cap) {
    assert(cap >= MAP_FROM && cap % PAGE == 0 && "whole pages are mapped");
    uint64_t slack = cap >= HUGE_FROM ? HUGE_PAGE - PAGE : 0;
    char *p = mmap(NULL, cap + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (!slack)
        return p;
    uint64_t before = -(uintptr_t)p & (HUGE_PAGE - 1), after = slack - before;
    if (before)
        munmap(p, before);
    if (after)
        munmap(p + before + cap, after);
    madvise(p + before, cap, MADV_HUGEPAGE); /* advice: a system without them is fine */
    return p + before;
}

static void *take_new(tr_blocks *c, uint64_t cap, void **raw) {
    uintptr_t offset = 0;
    if (!CHECKED && cap >= MAP_FROM) {
        *raw = map_block(cap);
        unsigned turn = c ? atomic_fetch_add_explicit(&c->colour, 1, memory_order_relaxed) : 0;
        offset = (turn * COLOUR + COLOUR / 2) % PAGE;
    } else {
        *raw = malloc(cap);
        offset = -(uintptr_t)*raw & (TR_MEM_ALIGN - 1);
    }
    return *raw ? (char *)*raw + offset : NULL;
}

static void give_back(void *raw, uint64_t cap) {
    if (!CHECKED && cap >= MAP_FROM)
        munmap(raw, cap);
    else
        free(raw);
}

static uint64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* --- lists, under the lock --- */

static bool enter(tr_blocks *c) {
    for (int i = 0; i < 1000; i++) {
        if (!atomic_flag_test_and_set_explicit(&c->busy, memory_order_acquire))
            return true;
        __builtin_ia32_pause();
    }
    return false;
}

static void leave(tr_blocks *c) {
    atomic_flag_clear_explicit(&c->busy, memory_order_release);
}

static void add_bytes(tr_blocks *c, uint64_t n) {
    uint64_t had = atomic_load_explicit(&c->bytes, memory_order_relaxed);
    atomic_store_explicit(&c->bytes, had + n, memory_order_relaxed);
}

static void link_kept(tr_blocks *c, kept *k, unsigned cls) {
    assert(cls < NCLASSES && !((uintptr_t)k % TR_MEM_ALIGN) && "a block of a class that is kept");
    k->up = NULL;
    k->down = c->top[cls];
    if (k->down)
        k->down->up = k;
    c->top[cls] = k;
    k->newer = NULL;
    k->older = c->newest;
    if (k->older)
        k->older->newer = k;
    else
        c->oldest = k;
    c->newest = k;
    add_bytes(c, k->cap);
}

static void unlink_kept(tr_blocks *c, kept *k, unsigned cls) {
    assert(cls < NCLASSES && (k->up || c->top[cls] == k) && "it is in the list of its class");
    assert(atomic_load_explicit(&c->bytes, memory_order_relaxed) >= k->cap && "it was counted");
    if (k->up)
        k->up->down = k->down;
    else
        c->top[cls] = k->down;
    if (k->down)
        k->down->up = k->up;
    if (k->newer)
        k->newer->older = k->older;
    else
        c->newest = k->older;
    if (k->older)
        k->older->newer = k->newer;
    else
        c->oldest = k->newer;
    add_bytes(c, -k->cap);
}

/* The cache as a whole: all that is kept is in both lists, and is as much as `bytes` says. */
static __attribute__((unused)) bool is_consistent(const tr_blocks *c) {
    uint64_t sum = 0;
    const kept *last = NULL;
    for (const kept *k = c->newest; k; last = k, k = k->older) {
        if (k->newer != last || k->cap < PAGE || !k->raw)
            return false;
        sum += k->cap;
    }
    return c->oldest == last && sum == atomic_load_explicit(&c->bytes, memory_order_relaxed);
}

/* Takes out what is too much or too old; the victims are a list by `down`. */
static kept *shed(tr_blocks *c, uint64_t limit, uint64_t now) {
    kept *out = NULL;
    for (kept *k; (k = c->oldest) != NULL; out = k) {
        if (atomic_load_explicit(&c->bytes, memory_order_relaxed) <= limit && now - k->when <= c->age_ms)
            break;
        unsigned cls;
        cap_of(k->cap - PAGE, &cls);
        unlink_kept(c, k, cls);
        k->down = out;
    }
    assert(is_consistent(c) && "what is kept is in the lists, and counted");
    return out;
}

static void give_back_all(kept *k) {
    while (k) {
        kept *next = k->down;
        give_back(k->raw, k->cap);
        k = next;
    }
}

/* --- the doors --- */

tr_blocks *tr_rt_blocks_new(uint64_t limit, uint64_t age_ms) {
    tr_blocks *c = calloc(1, sizeof *c);
    if (c) {
        atomic_flag_clear(&c->busy);
        c->limit = limit;
        c->age_ms = age_ms ? age_ms : USUAL_AGE_MS;
    }
    return c;
}

void tr_rt_blocks_free(tr_blocks *c) {
    if (!c)
        return;
    tr_rt_blocks_empty(c);
    free(c);
}

void *tr_rt_blocks_get(tr_blocks *c, uint64_t bytes, void **raw) {
    assert(bytes >= TR_BLOCK_MIN && "small blocks are malloc's");
    unsigned cls;
    uint64_t cap = cap_of(bytes, &cls);
    kept *k = NULL;
    if (c && cls < NCLASSES && atomic_load_explicit(&c->bytes, memory_order_relaxed) && enter(c)) {
        k = c->top[cls];
        if (k)
            unlink_kept(c, k, cls);
        kept *old = shed(c, c->limit, now_ms());
        leave(c);
        give_back_all(old);
    }
    if (k) {
        *raw = k->raw;
        return k;
    }
    void *block = take_new(c, cap, raw);
    return block || !c || !tr_rt_blocks_empty(c) ? block : take_new(c, cap, raw);
}

void tr_rt_blocks_put(tr_blocks *c, void *block, uint64_t bytes, void *raw) {
    assert(block && raw && bytes >= TR_BLOCK_MIN && "a large block comes back");
    unsigned cls;
    uint64_t cap = cap_of(bytes, &cls);
    if (!c || cls >= NCLASSES || !enter(c)) {
        give_back(raw, cap);
        return;
    }
    if (!c->limit)
        c->limit = usual_limit();
    uint64_t now = now_ms();
    kept *out = NULL, *k = block;
    *k = (kept){.cap = cap, .raw = raw, .when = now};
    if (cap <= c->limit) {
        link_kept(c, k, cls);
        out = shed(c, c->limit, now);
    } else {
        out = k; /* its coming would empty the cache */
    }
    leave(c);
    give_back_all(out);
}

uint64_t tr_rt_blocks_cached(const tr_blocks *c) {
    return c ? atomic_load_explicit(&c->bytes, memory_order_relaxed) : 0;
}

uint64_t tr_rt_blocks_empty(tr_blocks *c) {
    if (!c || !enter(c))
        return 0;
    uint64_t had = tr_rt_blocks_cached(c);
    kept *all = shed(c, 0, now_ms());
    leave(c);
    give_back_all(all);
    return had;
}

void tr_rt_blocks_after_fork(tr_blocks *c) {
    if (!c)
        return;
    if (enter(c)) {
        kept *all = shed(c, 0, now_ms());
        leave(c);
        give_back_all(all);
        return;
    }
    /* A thread that is not here was changing the lists: they cannot be trusted. Their blocks stay mapped,
     * unused. */
    for (unsigned i = 0; i < NCLASSES; i++)
        c->top[i] = NULL;
    c->newest = c->oldest = NULL;
    atomic_store_explicit(&c->bytes, 0, memory_order_relaxed);
    leave(c);
}
