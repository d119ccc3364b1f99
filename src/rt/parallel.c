/* Parallel regions: a body over [0, n), by the calling thread and by workers of the pool.
 *
 * The partition into ranges depends on n and the grain alone, so a result that depends on it is the same for
 * every number of threads. Ranges are handed out in order, a few at a time, fewer towards the end; in a chain
 * one by one, since there each waits for the one before to hand on its total (a scan by look-back, in the
 * field's words). Threads share one word:
 *   how many units (of one range, mostly) are left to hand out
 *   | how many workers have joined | how many threads may work | a chain
 * A worker joins by taking units, and leaves when there are none left; so whoever has joined holds the region
 * open, one who is merely looking at it does not, and the region is over when nothing is left and all who
 * joined have left. Until then nobody leaves, so the count at joining is the worker's number. A region lies
 * in one of a fixed set of slots; where all are taken, or the thread is in a region already, it runs on the
 * calling thread alone.
 *
 * Of the ranges that raise the lowest counts: what lies above it is no longer begun, what lies below ends. A
 * worker's blocks join the calling thread's, its print()s are queued for the calling thread to write, so no
 * worker ever waits for the host. The calling thread asks the host every 50 ms whether to go on, between
 * ranges and while it waits for others.
 *
 * A fork's child has none of the workers. A region of the forking thread itself ends there with an error if
 * workers held parts of it. */
#include "rt/pool.h"

#include <assert.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rt/enter.h"
#include "rt/fns.h"
#include "rt/mt.h"
#include "rt/rt.h"

enum {
    SLOTS = 64,   /* regions at once, a bit each */
    RANGES = 256, /* where the caller leaves the grain to us */
    BATCHES = 8,  /* units are handed out in this many batches for a thread, the last ones one by one */
    LEFT_BITS = 40,
    COUNT_BITS = 11
};
#define LEFT     ((UINT64_C(1) << LEFT_BITS) - 1)
#define COUNT    ((UINT64_C(1) << COUNT_BITS) - 1)
#define MEMBER   (UINT64_C(1) << LEFT_BITS)
#define MEMBERS  (COUNT << LEFT_BITS)
#define LIMIT_AT (LEFT_BITS + COUNT_BITS)
#define CHAIN    (UINT64_C(1) << 62) /* a range waits for the one before */
#define WAITING  (UINT64_C(1) << 63) /* the calling thread sleeps until the last worker has left */
_Static_assert(TR_POOL_MAX <= COUNT && LIMIT_AT + COUNT_BITS <= 62, "the parts of a word");

static const int64_t poll_ns = 50000000, nudge_ns = 4000000, linger_ns = 50000;

/* Text that a worker printed. */
typedef struct piece {
    struct piece *next;
    size_t n;
    char text[];
} piece;

typedef struct region {
    /* Written before the word opens the region; read by those who have joined. */
    _Alignas(64) tr_par_fn *fn;
    void *ctx;
    int64_t n, grain;
    const tr_mts *seeds; /* tr_rt_mt_region's */
    uint64_t ranges, unit,
        units;               /* a unit is so many ranges; more than one where they would not fit the word */
    _Atomic int32_t stop;    /* TR_CODE_*: why to end */
    _Atomic uint64_t failed; /* the lowest range that raised */
    _Alignas(64) _Atomic uint64_t word;
    _Atomic uint32_t bell; /* the calling thread sleeps on it */
    /* Seldom touched. `lock` guards the frame. */
    _Alignas(64) _Atomic uint32_t lock;
    bool used;      /* something is in the frame */
    int32_t code;   /* of `failed`; its payload and trace are in the frame */
    tr_frame frame; /* what workers leave */
    tr_host host;   /* theirs */
    const tr_host *owner_host;
    piece *_Atomic text;
} region;

static region slots[SLOTS];    /* of the process, as the pool is */
static _Atomic uint64_t taken; /* slots, a bit each */

/* Of a thread. */
typedef struct here {
    region *in; /* the region it takes part in */
    bool owner; /* and began */
    uint32_t number, limit, turn;
    int64_t due; /* when to ask the host again */
} here;
static _Thread_local here me;

/* A thread's part of the moment. */
typedef struct part {
    uint64_t from, n; /* units */
    uint32_t number, limit;
    bool more; /* there was more to have, for more threads */
} part;

/* --- ends --- */

/* Nothing more is handed out. */
static void close_word(region *r) {
    atomic_fetch_and_explicit(&r->word, ~LEFT, memory_order_relaxed);
}

static void end_region(region *r, int32_t why) {
    int32_t none = 0;
    atomic_compare_exchange_strong_explicit(&r->stop, &none, why, memory_order_relaxed, memory_order_relaxed);
    close_word(r);
}

static void lock(region *r) {
    while (atomic_exchange_explicit(&r->lock, 1, memory_order_acquire))
        tr_rt_relax();
}

static void unlock(region *r) {
    atomic_store_explicit(&r->lock, 0, memory_order_release);
}

static tr_frame *shared_frame(region *r) {
    assert((atomic_load_explicit(&r->lock, memory_order_relaxed)) && "the lock guards the frame");
    if (!r->used)
        tr_rt_frame_init(&r->frame, NULL);
    r->used = true;
    return &r->frame;
}

/* Range k gave `code`. */
static void note(region *r, tr_frame *f, uint64_t k, int32_t code) {
    if (code < 0) {
        if (code == TR_CODE_LATE) {
            lock(r);
            shared_frame(r)->late = f->late;
            unlock(r);
        }
        end_region(r, code);
    } else {
        lock(r);
        if (k < atomic_load_explicit(&r->failed, memory_order_relaxed)) {
            tr_frame *to = shared_frame(r);
            atomic_store_explicit(&r->failed, k, memory_order_relaxed);
            r->code = code;
            tr_rt_copy_exception(to, f);
        }
        unlock(r);
        close_word(r);
    }
    tr_rt_frame_forget(f);
}

/* --- the host --- */

static int64_t coarse_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void queue_text(void *self, const char *s, size_t n) {
    region *r = self;
    piece *p = malloc(sizeof *p + n);
    if (!p) {
        end_region(r, TR_CODE_MEMORY);
        return;
    }
    p->n = n;
    memcpy(p->text, s, n);
    p->next = atomic_load_explicit(&r->text, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&r->text, &p->next, p, memory_order_release,
                                                  memory_order_relaxed)) {}
}

static void *compile_late(void *self, tr_late *l) {
    const tr_host *h = ((region *)self)->owner_host;
    return h->compile(h->self, l);
}

/* Gives the host what workers printed, in their order. */
static void write_text(region *r, const tr_host *host) {
    assert(me.in == r && me.owner && "who began the region writes");
    if (!atomic_load_explicit(&r->text, memory_order_relaxed))
        return;
    piece *p = atomic_exchange_explicit(&r->text, NULL, memory_order_acquire), *first = NULL;
    while (p) {
        piece *next = p->next;
        p->next = first;
        first = p;
        p = next;
    }
    while ((p = first)) {
        first = p->next;
        tr_rt_host_write(host, p->text, p->n);
        free(p);
    }
}

/* Whether it has an exception; it may run anything. */
static bool poll_host(const tr_host *host) {
    tr_frame *was = tr_rt_outside();
    bool end = host && host->poll && host->poll(host->self);
    tr_rt_inside(was);
    return end;
}

/* Asks the host, if it is time. For the thread that began the region, or is in none. True: end. */
static bool ask(here *h, const tr_host *host) {
    int64_t now = coarse_now();
    if (now < h->due)
        return false;
    h->due = now + poll_ns;
    if (h->in)
        write_text(h->in, host);
    if (h->in && atomic_load_explicit(&h->in->stop, memory_order_relaxed))
        return true;
    if (!poll_host(host))
        return false;
    if (h->in)
        end_region(h->in, TR_CODE_HOST);
    return true;
}

/* 0, or the code with which a body has to end here. */
static int32_t check(here *h, const tr_frame *f) {
    if (h->in && atomic_load_explicit(&h->in->stop, memory_order_relaxed))
        return TR_CODE_STOPPED;
    if ((h->in && !h->owner) || !ask(h, f->host))
        return 0;
    return h->in ? TR_CODE_STOPPED : TR_CODE_HOST;
}

int32_t tr_rt_stop(tr_frame *f) {
    return check(&me, f);
}

int32_t tr_rt_ask(tr_frame *f) {
    enum { ROOM = 128 << 10 }; /* for what the host may run; with less it is asked another time */
    if ((!me.in || me.owner) && tr_rt_stack_left() < ROOM)
        return 0;
    me.due = 0;
    return check(&me, f);
}

/* --- handing out --- */

static uint64_t batch(uint64_t left, unsigned limit) {
    uint64_t n = left / (BATCHES * (uint64_t)limit);
    assert(left > 0 && limit > 0 && (!n || n < left) && "some of what is left");
    return n ? n : 1;
}

/* Takes units; false when there are none, or no room for one who has not joined. */
static bool take(region *r, bool join, part *out) {
    uint64_t w = atomic_load_explicit(&r->word, memory_order_relaxed), left, n, members;
    unsigned limit;
    do {
        left = w & LEFT;
        members = (w & MEMBERS) >> LEFT_BITS;
        limit = (unsigned)(w >> LIMIT_AT & COUNT);
        if (!left || (join && members + 1 >= limit))
            return false;
        n = w & CHAIN ? 1 : batch(left, limit);
    } while (!atomic_compare_exchange_weak_explicit(&r->word, &w, w - n + (join ? MEMBER : 0),
                                                    memory_order_acquire, memory_order_relaxed));
    out->from = r->units - left; /* what else the region holds may be read from here on */
    assert(left <= r->units && n <= left && members <= TR_POOL_MAX && "a part of the region's units");
    out->n = n;
    if (join) {
        out->number = (uint32_t)members + 1;
        out->limit = limit;
        out->more = left > n && members + 2 < limit;
    }
    return true;
}

/* Range k of a region whose ranges have random numbers of their own. */
static int32_t run_seeded(const tr_mts *seeds, uint64_t k, tr_par_fn *fn, tr_frame *f, void *ctx, int64_t lo,
                          int64_t hi, uint32_t number) {
    if (!tr_rt_mt_range_begin(seeds, k))
        return TR_CODE_MEMORY;
    int32_t code = tr_rt_run_body(fn, f, ctx, lo, hi, number);
    tr_rt_mt_range_end();
    return code;
}

/* Runs the ranges of a part, below the lowest one that raised. */
static void run_part(region *r, here *h, tr_frame *f, const part *p) {
    assert(p->n > 0 && p->from + p->n <= r->units && "units of the region");
    assert(h->in == r && "the thread takes part in it");
    uint64_t k = p->from * r->unit, end = k + p->n * r->unit;
    for (end = end < r->ranges ? end : r->ranges; k < end; k++) {
        if (k > atomic_load_explicit(&r->failed, memory_order_relaxed) ||
            atomic_load_explicit(&r->stop, memory_order_relaxed) || (h->owner && ask(h, f->host)))
            return;
        int64_t lo = (int64_t)k * r->grain, hi = r->n - lo > r->grain ? lo + r->grain : r->n;
        assert(lo >= 0 && lo < hi && hi <= r->n && "a range of the loop");
        int32_t code = r->seeds ? run_seeded(r->seeds, k, r->fn, f, r->ctx, lo, hi, p->number)
                                : tr_rt_run_body(r->fn, f, r->ctx, lo, hi, p->number);
        if (code)
            note(r, f, k, code);
    }
}

/* --- workers --- */

static void leave(region *r) {
    uint64_t w = atomic_fetch_sub_explicit(&r->word, MEMBER, memory_order_acq_rel);
    assert((w & MEMBERS) && "who leaves had joined");
    /* From here on the region may be over and its slot another's: a bell too many wakes somebody who looks
     * and sleeps again. */
    if ((w & WAITING) && (w & MEMBERS) == MEMBER) {
        atomic_fetch_add_explicit(&r->bell, 1, memory_order_release);
        tr_rt_futex_wake(&r->bell, 1);
    }
}

static bool work_for(region *r, here *h) {
    assert(!h->in && "a thread takes part in one region");
    part p;
    tr_frame f;
    if (!take(r, true, &p))
        return false;
    if (p.more)
        tr_rt_pool_spread();
    h->in = r;
    h->number = p.number;
    h->limit = p.limit;
    tr_rt_frame_init(&f, &r->host);
    tr_rt_stack(&f);
    do
        run_part(r, h, &f, &p);
    while (take(r, false, &p));
    if (f.nalloc || f.nfree) {
        lock(r);
        tr_rt_frame_merge(shared_frame(r), &f);
        unlock(r);
    }
    tr_rt_frame_fini(&f);
    h->in = NULL;
    leave(r);
    return true;
}

bool tr_rt_region_serve(void) {
    here *h = &me;
    bool any = false;
    uint64_t open = atomic_load_explicit(&taken, memory_order_acquire);
    /* Each time another slot first, so that none starves. */
    unsigned turn = h->turn++ % SLOTS;
    open = turn ? open >> turn | open << (SLOTS - turn) : open;
    for (; open; open &= open - 1)
        any |= work_for(&slots[((unsigned)__builtin_ctzll(open) + turn) % SLOTS], h);
    return any;
}

/* --- the calling thread --- */

static region *slot_take(void) {
    uint64_t t = atomic_load_explicit(&taken, memory_order_relaxed);
    while (t != UINT64_MAX) {
        unsigned i = (unsigned)__builtin_ctzll(~t);
        if (atomic_compare_exchange_weak_explicit(&taken, &t, t | UINT64_C(1) << i, memory_order_acquire,
                                                  memory_order_relaxed))
            return &slots[i];
    }
    return NULL;
}

static void slot_free(region *r) {
    assert(r >= slots && r < slots + SLOTS && "a slot of ours");
    assert((atomic_load_explicit(&taken, memory_order_relaxed) >> (r - slots) & 1) && "it was taken");
    atomic_fetch_and_explicit(&taken, ~(UINT64_C(1) << (r - slots)), memory_order_release);
}

/* Until all workers have left. */
static void await(region *r, here *h, const tr_host *host) {
    int64_t patience = tr_rt_pool_patience(), end = 0;
    for (int i = 1; patience; i++) {
        if (!(atomic_load_explicit(&r->word, memory_order_acquire) & MEMBERS))
            return;
        tr_rt_relax();
        if (i % 16)
            continue;
        if (i % 256 == 0) /* one of them may wait for this very processor */
            sched_yield();
        int64_t now = tr_rt_now();
        end = end ? end : now + linger_ns;
        if (now >= end)
            break;
    }
    for (;;) {
        uint32_t bell = atomic_load_explicit(&r->bell, memory_order_acquire);
        if (!(atomic_fetch_or_explicit(&r->word, WAITING, memory_order_acq_rel) & MEMBERS))
            return;
        bool ends = atomic_load_explicit(&r->stop, memory_order_relaxed) != 0;
        if (ends)
            tr_rt_pool_nudge();
        tr_rt_futex_wait(&r->bell, bell, ends ? nudge_ns : poll_ns);
        ask(h, host);
    }
}

/* What the region left, into the frame of its caller. */
static int32_t settle(region *r, tr_frame *f) {
    int32_t code = atomic_load_explicit(&r->stop, memory_order_relaxed);
    if (r->used)
        tr_rt_frame_merge(f, &r->frame);
    if (code == TR_CODE_LATE && r->used)
        f->late = r->frame.late;
    if (!code && atomic_load_explicit(&r->failed, memory_order_relaxed) != UINT64_MAX) {
        tr_rt_copy_exception(f, &r->frame);
        code = r->code;
    }
    if (r->used)
        tr_rt_links_fini(&r->frame);
    return code;
}

static int32_t run_shared(region *r, here *h, tr_frame *f, unsigned limit, unsigned workers, uint64_t kind) {
    assert(!h->in && limit > 1 && limit <= TR_POOL_MAX && workers && workers < limit &&
           "others may take part");
    assert(r->ranges > 1 && r->n > r->grain && "there is something to share");
    r->unit = (r->ranges - 1) / LEFT + 1;
    r->units = (r->ranges - 1) / r->unit + 1;
    assert(r->units <= LEFT && r->units * r->unit >= r->ranges && "the word holds them, and they are all");
    r->used = false;
    r->owner_host = f->host;
    r->host = (tr_host){.write = queue_text, .self = r};
    if (f->host) {
        r->host.blocks = f->host->blocks;
        r->host.hash = f->host->hash;
        r->host.compile = f->host->compile ? compile_late : NULL;
    }
    atomic_store_explicit(&r->stop, 0, memory_order_relaxed);
    atomic_store_explicit(&r->failed, UINT64_MAX, memory_order_relaxed);
    part p = {.n = kind & CHAIN ? 1 : batch(r->units, limit)};
    h->in = r;
    h->owner = true;
    h->number = 0;
    atomic_store_explicit(&r->word, kind | (uint64_t)limit << LIMIT_AT | (r->units - p.n),
                          memory_order_release);
    tr_rt_pool_call(workers);
    do
        run_part(r, h, f, &p);
    while (take(r, false, &p));
    await(r, h, f->host);
    write_text(r, f->host);
    h->in = NULL;
    h->owner = false;
    assert(!(atomic_load_explicit(&r->word, memory_order_relaxed) & (MEMBERS | LEFT)) &&
           "all is done, all have left");
    int32_t code = settle(r, f);
    slot_free(r);
    return code;
}

static int32_t run_alone(here *h, tr_frame *f, tr_par_fn *fn, void *ctx, int64_t n, int64_t grain,
                         uint64_t kind, const tr_mts *seeds) {
    assert(n > 0 && grain > 0 && "there are rounds, in ranges");
    int64_t ranges = (n - 1) / grain + 1;
    bool backwards = tr_rt_backwards() && !(kind & CHAIN);
    for (int64_t k = 0; k < ranges; k++) {
        int64_t at = backwards ? ranges - 1 - k : k, lo = at * grain, hi = n - lo > grain ? lo + grain : n;
        int32_t code = check(h, f);
        if (!code)
            code = seeds ? run_seeded(seeds, (uint64_t)at, fn, f, ctx, lo, hi, 0) : fn(f, ctx, lo, hi, 0);
        if (code)
            return code;
    }
    return 0;
}

static unsigned limit_of(const here *h) {
    unsigned size = tr_rt_pool_size();
    assert(size >= 1 && size <= TR_POOL_MAX && "the pool has its own thread at least");
    return h->limit && h->limit < size ? h->limit : size;
}

bool tr_rt_is_alone(void) {
    return !tr_rt_backwards() && (me.in || limit_of(&me) == 1);
}

static int32_t run(tr_frame *f, tr_par_fn *fn, void *ctx, int64_t n, int64_t grain, uint64_t kind) {
    assert(fn && f && "a body runs for a frame");
    if (n <= 0)
        return 0;
    if (grain <= 0)
        grain = n / RANGES + (n % RANGES != 0);
    if (n <= grain)
        return fn(f, ctx, 0, n, 0);
    here *h = &me;
    const tr_mts *seeds = tr_rt_mt_region();
    uint64_t ranges = ((uint64_t)n - 1) / (uint64_t)grain + 1;
    unsigned limit = h->in || tr_rt_backwards() || f->watch ? 1 : limit_of(h),
             workers = ranges < limit ? (unsigned)ranges - 1 : limit - 1;
    region *r = workers && (workers = tr_rt_pool_start(workers)) ? slot_take() : NULL;
    if (!r)
        return run_alone(h, f, fn, ctx, n, grain, kind, seeds);
    r->fn = fn;
    r->ctx = ctx;
    r->n = n;
    r->grain = grain;
    r->seeds = seeds;
    r->ranges = ranges;
    return run_shared(r, h, f, limit, workers, kind);
}

/* fn over [0, n), in ranges of `grain`, the last one shorter; 0 leaves the choice to us. A region of one
 * range is a plain call. */
int32_t tr_rt_parallel(tr_frame *f, tr_par_fn *fn, void *ctx, int64_t n, int64_t grain) {
    return run(f, fn, ctx, n, grain, 0);
}

/* The same for a loop over a prange. A short one, which may be inside of others, is a call and no more. */
int32_t tr_rt_region(tr_frame *f, tr_par_fn *fn, void *ctx, int64_t n, int64_t rounds) {
    if (n <= rounds && !tr_rt_fixed_grain())
        return n > 0 ? fn(f, ctx, 0, n, 0) : 0;
    return run(f, fn, ctx, n, rounds == INT64_MAX ? n : tr_rt_grain_of(n, 0, rounds), 0);
}

/* The same where a range waits for the one before (tr_rt_chain_wait). */
int32_t tr_rt_chain(tr_frame *f, tr_par_fn *fn, void *ctx, int64_t n, int64_t grain) {
    return run(f, fn, ctx, n, grain, CHAIN);
}

/* Until it is range k's turn, whose predecessors have all been begun; 0, or a code to return at once. What
 * they wrote before they passed the turn on can be read. */
int32_t tr_rt_chain_wait(tr_chain *c, int64_t k) {
    for (unsigned i = 1; atomic_load_explicit(&c->turn, memory_order_acquire) != k; i++) {
        if (me.in && atomic_load_explicit(&me.in->stop, memory_order_relaxed))
            return TR_CODE_STOPPED;
        tr_rt_relax();
        if (i % 1024 == 0) /* the one before may wait for this very processor */
            sched_yield();
    }
    return 0;
}

void tr_rt_chain_pass(tr_chain *c, int64_t k) {
    assert(atomic_load_explicit(&c->turn, memory_order_relaxed) == k && "who passes the turn on has it");
    atomic_store_explicit(&c->turn, k + 1, memory_order_release);
}

/* How many threads walk the chain that this range is of; of a range by itself, one. */
int64_t tr_rt_chain_team(void) {
    uint64_t w = me.in ? atomic_load_explicit(&me.in->word, memory_order_relaxed) : 0;
    return w & CHAIN ? 1 + (int64_t)((w & MEMBERS) >> LEFT_BITS) : 1;
}

/* --- settings of a thread --- */

bool tr_rt_threads_limit(unsigned n) {
    if (n < 1 || n > tr_rt_pool_size())
        return false;
    me.limit = n;
    return true;
}

uint8_t tr_rt_set_num_threads(int64_t n) {
    return n >= 1 && n <= TR_POOL_MAX && tr_rt_threads_limit((unsigned)n);
}

int64_t tr_rt_num_threads(void) {
    return limit_of(&me);
}

int64_t tr_rt_thread_id(void) {
    return me.in ? me.number : 0;
}

/* --- fork --- */

void tr_rt_region_forked(void) {
    region *mine = me.in && me.owner ? me.in : NULL;
    for (unsigned i = 0; i < SLOTS; i++) {
        region *r = &slots[i];
        if (atomic_exchange(&r->lock, 0))
            r->used = false;          /* half a change is none */
        atomic_store(&r->text, NULL); /* the parent writes it */
        if (r != mine)
            atomic_store(&r->word, 0);
    }
    atomic_store(&taken, mine ? UINT64_C(1) << (mine - slots) : 0);
    if (!mine)
        return;
    if (atomic_fetch_and(&mine->word, ~MEMBERS) & MEMBERS)
        end_region(mine, TR_CODE_FORKED);
}
