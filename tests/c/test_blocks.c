/* The cache of freed large blocks: reuse, limits, age, many threads, fork. */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rt/blocks.h"
#include "rt/fns.h"
#include "rt/rt.h"

#if defined __SANITIZE_ADDRESS__
#define KEEPS 0
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define KEEPS 0
#endif
#endif
#ifndef KEEPS
#define KEEPS 1
#endif

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

typedef struct held {
    void *block, *raw;
    uint64_t bytes;
} held;

static held get(tr_blocks *c, uint64_t bytes) {
    held h = {.bytes = bytes};
    h.block = tr_rt_blocks_get(c, bytes, &h.raw);
    assert(h.block && (uintptr_t)h.block % TR_MEM_ALIGN == 0);
    memset(h.block, 0xa5, TR_MEM_ALIGN + bytes); /* all of it is there, the last byte too */
    return h;
}

static void put(tr_blocks *c, held h) {
    tr_rt_blocks_put(c, h.block, h.bytes, h.raw);
}

/* Every size around every border of classes, fresh and used again. */
static void test_sizes(void) {
    tr_blocks *c = tr_rt_blocks_new(64 * MIB, 0);
    for (uint64_t around = 64 * KIB; around <= 6 * MIB; around += around / 8)
        for (uint64_t bytes = around - 4096 - 65; bytes <= around + 65; bytes += 197) {
            if (bytes < TR_BLOCK_MIN)
                continue;
            held h = get(c, bytes);
            put(c, h);
            if (bytes % 5 == 0)
                continue; /* it stays for others */
            held again = get(c, bytes);
            assert(!KEEPS || again.block == h.block);
            put(c, again);
        }
    assert(tr_rt_blocks_cached(c) <= 64 * MIB);
    tr_rt_blocks_free(c);
    put(NULL, get(NULL, 100 * KIB));
    put(NULL, get(NULL, 5 * MIB));
}

static void test_limit(void) {
    tr_blocks *c = tr_rt_blocks_new(20 * MIB, 1000000);
    held h[8];
    for (int i = 0; i < 8; i++)
        h[i] = get(c, 3 * MIB);
    put(c, h[0]);
    uint64_t one = tr_rt_blocks_cached(c);
    assert(!KEEPS || (one > 3 * MIB && one < 4 * MIB));
    for (int i = 1; i < 8; i++)
        put(c, h[i]);
    uint64_t full = KEEPS ? 20 * MIB / one * one : 0;
    assert(tr_rt_blocks_cached(c) == full);
    put(c, get(c, 30 * MIB)); /* too large to be kept, and drives nobody out */
    assert(tr_rt_blocks_cached(c) == full);
    for (int i = 7; KEEPS && tr_rt_blocks_cached(c); i--) { /* the newest first; the oldest are gone */
        held again = get(c, 3 * MIB);
        assert(again.block == h[i].block);
        put(NULL, again);
    }
    put(c, get(c, 3 * MIB));
    assert(tr_rt_blocks_empty(c) == one && tr_rt_blocks_cached(c) == 0 && tr_rt_blocks_empty(c) == 0);
    tr_rt_blocks_free(c);
}

static void test_age(void) {
    tr_blocks *c = tr_rt_blocks_new(64 * MIB, 1);
    held a = get(c, MIB), b = get(c, 2 * MIB);
    put(c, a);
    usleep(30000);
    put(c, b); /* finds the first one too old */
    assert(tr_rt_blocks_cached(c) == 0 ||
           (tr_rt_blocks_cached(c) >= 2 * MIB && tr_rt_blocks_cached(c) < 3 * MIB));
    tr_rt_blocks_free(c);
}

/* Arrays of a call, through the frame. */
static void test_frame(void) {
    tr_blocks *c = tr_rt_blocks_new(64 * MIB, 1000000);
    tr_host host = {.blocks = c};
    tr_frame f;
    tr_rt_frame_init(&f, &host);
    tr_mem *m = tr_rt_alloc(&f, 8 * MIB), *kept = tr_rt_alloc(&f, 8 * MIB), *small = tr_rt_alloc(&f, 100);
    assert(m && kept && small && m->size == 8 * MIB);
    void *was = m;
    tr_rt_free(&f, m);
    m = tr_rt_alloc(&f, 8 * MIB - 1000);
    assert(m && (!KEEPS || m == was) && m->refs == 1 && m->size == 8 * MIB - 1000);
    tr_rt_mem_detach(&f, kept);
    tr_rt_frame_fini(&f);
    assert(f.nalloc == 4 && f.nfree == 3);
    uint64_t with_one = tr_rt_blocks_cached(c);
    tr_rt_mem_unref(kept); /* goes where it came from, long after its frame */
    assert(tr_rt_blocks_cached(c) == 2 * with_one);
    tr_rt_blocks_free(c);
}

enum { THREADS = 6, ROUNDS = 3000, HELD = 4 };

typedef struct worker {
    tr_blocks *c;
    unsigned number;
} worker;

/* No block is ever in two hands: each holder's mark stays. */
static void *hold_and_check(void *arg) {
    worker *w = arg;
    held h[HELD] = {{0}};
    unsigned seed = w->number + 1;
    for (int i = 0; i < ROUNDS; i++) {
        seed = seed * 1103515245u + 12345u;
        held *at = &h[(seed >> 16) % HELD];
        if (at->block) {
            unsigned *words = at->block;
            assert(words[0] == w->number && words[at->bytes / 8] == w->number);
            put(w->c, *at);
            at->block = NULL;
        } else {
            at->bytes = 64 * KIB + (seed >> 20) % 4 * 100 * KIB;
            at->block = tr_rt_blocks_get(w->c, at->bytes, &at->raw);
            assert(at->block);
            unsigned *words = at->block;
            words[0] = words[at->bytes / 8] = w->number;
        }
        if (i % 500 == 499)
            tr_rt_blocks_empty(w->c);
    }
    for (int i = 0; i < HELD; i++)
        if (h[i].block)
            put(w->c, h[i]);
    return NULL;
}

/* A child of a fork in the midst of it has a cache that works, and starts with none. */
static void fork_once(tr_blocks *c) {
    pid_t child = fork();
    assert(child >= 0);
    if (child == 0) {
        tr_rt_blocks_after_fork(c);
        assert(tr_rt_blocks_cached(c) == 0);
        held a = get(c, MIB);
        put(c, a);
        held b = get(c, MIB);
        _exit(a.block != b.block);
    }
    int status;
    assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_threads(void) {
    tr_blocks *c = tr_rt_blocks_new(4 * MIB, 0);
    pthread_t t[THREADS];
    worker w[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        w[i] = (worker){c, i + 1};
        assert(!pthread_create(&t[i], NULL, hold_and_check, &w[i]));
    }
    for (int i = 0; i < 20 && KEEPS; i++) /* AddressSanitizer's own malloc may be locked in such a child */
        fork_once(c);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    assert(tr_rt_blocks_cached(c) <= 4 * MIB);
    tr_rt_blocks_free(c);
}

int main(void) {
    test_sizes();
    test_limit();
    test_age();
    test_frame();
    test_threads();
    puts("blocks: ok");
    return 0;
}
