/* MT19937, after M. Matsumoto and T. Nishimura, "Mersenne Twister: a 623-dimensionally equidistributed
 * uniform pseudorandom number generator" (1998), with their seeding of 2002, which np.random.seed and
 * random.seed use: a seed gives their numbers, bit for bit.
 *
 * A generator is its thread's alone, so nothing locks and no thread waits; it is made when the thread first
 * asks, seeded by the system unless the program did, and goes when the thread ends. It is changed in
 * functions of the runtime only, which a call is never left from, so none is ever half made. A region on
 * all cores (parallel.c) is the same for any number of threads, so where the thread that opens one has
 * seeded its generator, each range of it gets one of its own, seeded when it first draws, as a child that
 * NumPy's SeedSequence of the seed would spawn: RandomState(MT19937(SeedSequence(seed, spawn_key=(regions
 * since the seed, range)))). A generator for each round would be the same and cost each round 2 us. The
 * child of a fork has the numbers of its parent where the program named a seed, as with NumPy and Python,
 * and numbers of its own where it did not.
 * Cost: 624 words are made and tempered at once, in vectors; what is left of a number is a
 * load. 5 KiB for each generator. */
#include "rt/mt.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "rt/enter.h"
#include "rt/rt.h"

_Thread_local tr_mts *tr_rt_mts;

/* State of the process: what frees a thread's generators at its end. */
static struct {
    pthread_once_t once;
    pthread_key_t key;
    bool works;
} ends = {.once = PTHREAD_ONCE_INIT};

static void thread_ends(void *t) {
    tr_rt_mts = NULL;
    for (tr_mts *m = t, *next; m; m = next) {
        next = m->inner;
        free(m);
    }
}

static void forget(tr_mt *m) {
    m->ready = m->ready && m->wanted;
    if (!m->ready) {
        m->next = TR_MT_WORDS;
        m->has_gauss = false;
    }
}

static void forked(void) {
    for (tr_mts *t = tr_rt_mts; t; t = t->outer) {
        forget(&t->np);
        forget(&t->py);
    }
}

static void set_up(void) {
    ends.works = pthread_key_create(&ends.key, thread_ends) == 0;
    pthread_atfork(NULL, NULL, forked);
}

static tr_mts *new_mts(tr_mts *outer) {
    tr_mts *t = calloc(1, sizeof *t);
    if (t) {
        t->np.next = t->py.next = TR_MT_WORDS;
        t->outer = outer;
    }
    return t;
}

/* The thread's first; NULL: there is no memory. */
static tr_mts *outermost(void) {
    pthread_once(&ends.once, set_up);
    tr_mts *t = ends.works ? new_mts(NULL) : NULL;
    if (t && pthread_setspecific(ends.key, t) != 0) {
        free(t);
        t = NULL;
    }
    return tr_rt_mts = t;
}

tr_mts *tr_rt_mt_make(void) {
    tr_mts *t = outermost();
    if (!t)
        tr_rt_end_now(TR_CODE_MEMORY);
    return t;
}

/* --- the recurrence --- */

enum { AHEAD = 397 };

static inline uint32_t step(uint32_t here, uint32_t after, uint32_t ahead) {
    uint32_t y = (here & 0x80000000u) | (after & 0x7fffffffu);
    return ahead ^ (y >> 1) ^ ((0u - (y & 1u)) & 0x9908b0dfu);
}

/* Four words at a time: plain loops, as reads are never nearer than that behind what was written. */
typedef uint32_t four __attribute__((vector_size(16)));
static inline four load4(const uint32_t *x) {
    four v;
    memcpy(&v, x, sizeof v);
    return v;
}
static inline void step4(uint32_t *x, const uint32_t *ahead) {
    four y = (load4(x) & 0x80000000u) | (load4(x + 1) & 0x7fffffffu);
    y = load4(ahead) ^ (y >> 1) ^ ((0u - (y & 1u)) & 0x9908b0dfu);
    memcpy(x, &y, sizeof y);
}

static void next_block(uint32_t *key) {
    int i = 0;
    for (; i + 4 <= TR_MT_WORDS - AHEAD; i += 4)
        step4(key + i, key + i + AHEAD);
    for (; i < TR_MT_WORDS - AHEAD; i++)
        key[i] = step(key[i], key[i + 1], key[i + AHEAD]);
    for (; i + 4 < TR_MT_WORDS; i += 4)
        step4(key + i, key + i + AHEAD - TR_MT_WORDS);
    for (; i < TR_MT_WORDS - 1; i++)
        key[i] = step(key[i], key[i + 1], key[i + AHEAD - TR_MT_WORDS]);
    key[i] = step(key[i], key[0], key[AHEAD - 1]);
}

static void temper(const uint32_t *key, uint32_t *out) {
    for (int i = 0; i < TR_MT_WORDS; i += 4) {
        four y = load4(key + i);
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c5680u;
        y ^= (y << 15) & 0xefc60000u;
        y ^= y >> 18;
        memcpy(out + i, &y, sizeof y);
    }
}

static void seed_range(tr_mt *m);

void tr_rt_mt_refill(tr_mt *m) {
    assert(m->next >= TR_MT_WORDS && "all numbers are used up");
    if (!m->ready && m->of) {
        seed_range(m);
        if (m->next < TR_MT_WORDS)
            return;
    }
    if (!m->ready)
        tr_rt_mt_seed_any(m);
    next_block(m->key);
    temper(m->key, m->out);
    m->next = 0;
}

/* --- seeds --- */

/* NumPy's SeedSequence, after M. O'Neill's seed_seq_fe: a pool of four words, into which
 * others are mixed one after the other. */
static uint32_t hashed(tr_mt *m, uint32_t x) {
    x ^= m->hash;
    m->hash *= 0x931e8875u;
    x *= m->hash;
    return x ^ x >> 16;
}

static void stir(tr_mt *m, int to, uint32_t x) {
    uint32_t y = 0xca01f9ddu * m->pool[to] - 0x4973f715u * hashed(m, x);
    m->pool[to] = y ^ y >> 16;
}

static void stir_all(tr_mt *m, uint32_t x) {
    for (int to = 0; to < 4; to++)
        stir(m, to, x);
}

static void fill_pool(tr_mt *m, const int64_t *words, uint64_t n) {
    m->hash = 0x43b0d7e5u;
    for (uint64_t i = 0; i < 4; i++)
        m->pool[i] = hashed(m, i < n ? (uint32_t)words[i] : 0);
    for (int from = 0; from < 4; from++)
        for (int to = 0; to < 4; to++)
            if (from != to)
                stir(m, to, m->pool[from]);
    for (uint64_t i = 4; i < n; i++)
        stir_all(m, (uint32_t)words[i]);
}

/* By these words, which the program named. */
static void seeded(tr_mt *m, const int64_t *words, uint64_t n) {
    assert(n > 0 && "a seed is a word at least");
    m->next = TR_MT_WORDS;
    m->ready = m->wanted = true;
    m->has_gauss = false;
    m->regions = 0;
    m->of = NULL;
    fill_pool(m, words, n);
}

/* As NumPy's MT19937 takes its state of a SeedSequence: the first number is the last of the
 * block that this would be. */
static void seed_range(tr_mt *m) {
    const tr_mt *of = m->of;
    assert(of && of->ready && of->wanted && of != m && "a range is of a generator that the program seeded");
    memcpy(m->pool, of->pool, sizeof m->pool);
    m->hash = of->hash;
    stir_all(m, of->regions);
    stir_all(m, (uint32_t)m->range);
    uint32_t hash = 0x8b51f9ddu;
    for (int i = 0; i < TR_MT_WORDS; i++) {
        uint32_t x = m->pool[i % 4] ^ hash;
        hash *= 0x58f38dedu;
        x *= hash;
        m->key[i] = x ^ x >> 16;
    }
    m->key[0] = 0x80000000u;
    temper(m->key, m->out);
    m->next = TR_MT_WORDS - 1;
    m->ready = m->wanted = true;
    m->has_gauss = false;
    m->regions = 0;
}

static void start(tr_mt *m, uint32_t seed) {
    m->key[0] = seed;
    for (uint32_t i = 1; i < TR_MT_WORDS; i++)
        m->key[i] = 1812433253u * (m->key[i - 1] ^ m->key[i - 1] >> 30) + i;
}

void tr_rt_mt_seed(tr_mt *m, uint32_t seed) {
    const int64_t word = seed;
    start(m, seed);
    seeded(m, &word, 1);
}

void tr_rt_mt_seed_row(tr_mt *m, const int64_t *key, uint64_t n) {
    assert(n > 0 && "a row of words");
    uint32_t *k = m->key, i = 1;
    uint64_t j = 0, most = n > TR_MT_WORDS ? n : TR_MT_WORDS;
    start(m, 19650218u);
    for (uint64_t r = 0; r < most; r++) {
        k[i] = (k[i] ^ (k[i - 1] ^ k[i - 1] >> 30) * 1664525u) + (uint32_t)key[j] + (uint32_t)j;
        j = j + 1 < n ? j + 1 : 0;
        if (++i >= TR_MT_WORDS) {
            k[0] = k[TR_MT_WORDS - 1];
            i = 1;
        }
    }
    for (uint32_t r = 1; r < TR_MT_WORDS; r++) {
        k[i] = (k[i] ^ (k[i - 1] ^ k[i - 1] >> 30) * 1566083941u) - i;
        if (++i >= TR_MT_WORDS) {
            k[0] = k[TR_MT_WORDS - 1];
            i = 1;
        }
    }
    k[0] = 0x80000000u; /* not all of the state is zero */
    seeded(m, key, n);
}

/* 256 bits of the system's; before it has any, what tells threads, processes and moments apart. */
void tr_rt_mt_seed_any(tr_mt *m) {
    enum { WORDS = 8 };
    uint32_t bits[WORDS];
    int64_t key[WORDS];
    int saved = errno;
    ssize_t n;
    do
        n = getrandom(bits, sizeof bits, 0);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof bits) {
        struct timespec now = {0};
        clock_gettime(CLOCK_MONOTONIC, &now);
        const uint64_t some[WORDS / 2] = {(uint64_t)now.tv_nsec, (uint64_t)now.tv_sec, (uint64_t)getpid(),
                                          (uint64_t)(uintptr_t)m};
        memcpy(bits, some, sizeof bits);
    }
    for (int i = 0; i < WORDS; i++)
        key[i] = bits[i];
    tr_rt_mt_seed_row(m, key, WORDS);
    m->wanted = false;
    errno = saved;
}

/* --- regions --- */

static bool goes_on(tr_mt *m) {
    if (m->of && !m->ready)
        seed_range(m);
    m->regions += m->ready && m->wanted;
    return m->ready && m->wanted;
}

const tr_mts *tr_rt_mt_region(void) {
    tr_mts *t = tr_rt_mts;
    if (!t)
        return NULL;
    bool np = goes_on(&t->np), py = goes_on(&t->py);
    return np || py ? t : NULL;
}

static void begin(tr_mt *m, const tr_mt *of, uint64_t range) {
    m->next = TR_MT_WORDS;
    m->ready = m->wanted = m->has_gauss = false;
    m->of = of->ready && of->wanted ? of : NULL;
    m->range = range;
}

bool tr_rt_mt_range_begin(const tr_mts *opener, uint64_t range) {
    tr_mts *t = tr_rt_mts ? tr_rt_mts : outermost();
    if (!t || !(t->inner || (t->inner = new_mts(t))))
        return false;
    tr_rt_mts = t->inner;
    begin(&tr_rt_mts->np, &opener->np, range);
    begin(&tr_rt_mts->py, &opener->py, range);
    return true;
}

void tr_rt_mt_range_end(void) {
    assert(tr_rt_mts && tr_rt_mts->outer && tr_rt_mts->outer->inner == tr_rt_mts && "a range was begun");
    tr_rt_mts = tr_rt_mts->outer;
}
