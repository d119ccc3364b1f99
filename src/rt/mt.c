/* MT19937, after M. Matsumoto and T. Nishimura, "Mersenne Twister: a 623-dimensionally equidistributed uniform pseudorandom number generator" (1998), with
 * their seeding of 2002, which np.random.seed and random.seed use: a seed gives their numbers, bit for bit.
 *
 * A generator is its thread's alone, so nothing locks and no thread waits; it is made when the thread first asks, seeded by the system unless the
 * program did, and goes when the thread ends. It is changed in functions of the runtime only, which a call is never left from, so none is ever half
 * made. The child of a fork has the numbers of its parent where the program named a seed, as with NumPy and Python, and numbers of its own where it did not.
 * Cost: 624 words are made and tempered at once, in vectors; what is left of a number is a load. 5 KiB for each generator. */
#include "rt/mt.h"

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
    free(t);
}

static void forget(tr_mt *m) {
    m->ready = m->ready && m->wanted;
    if (!m->ready) {
        m->next = TR_MT_WORDS;
        m->has_gauss = false;
    }
}

static void forked(void) {
    if (tr_rt_mts) {
        forget(&tr_rt_mts->np);
        forget(&tr_rt_mts->py);
    }
}

static void set_up(void) {
    ends.works = pthread_key_create(&ends.key, thread_ends) == 0;
    pthread_atfork(NULL, NULL, forked);
}

tr_mts *tr_rt_mt_make(void) {
    pthread_once(&ends.once, set_up);
    tr_mts *t = calloc(1, sizeof *t);
    if (!t || !ends.works || pthread_setspecific(ends.key, t) != 0) {
        free(t);
        tr_rt_end_now(TR_CODE_MEMORY);
    }
    t->np.next = t->py.next = TR_MT_WORDS;
    return tr_rt_mts = t;
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

void tr_rt_mt_refill(tr_mt *m) {
    if (!m->ready)
        tr_rt_mt_seed_any(m);
    next_block(m->key);
    temper(m->key, m->out);
    m->next = 0;
}

/* --- seeds --- */

static void seeded(tr_mt *m, bool wanted) {
    m->next = TR_MT_WORDS;
    m->ready = true;
    m->wanted = wanted;
    m->has_gauss = false;
}

void tr_rt_mt_seed(tr_mt *m, uint32_t seed) {
    m->key[0] = seed;
    for (uint32_t i = 1; i < TR_MT_WORDS; i++)
        m->key[i] = 1812433253u * (m->key[i - 1] ^ m->key[i - 1] >> 30) + i;
    seeded(m, true);
}

void tr_rt_mt_seed_row(tr_mt *m, const int64_t *key, uint64_t n) {
    uint32_t *k = m->key, i = 1;
    uint64_t j = 0, most = n > TR_MT_WORDS ? n : TR_MT_WORDS;
    tr_rt_mt_seed(m, 19650218u);
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
