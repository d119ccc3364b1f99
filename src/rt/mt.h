/* The Mersenne Twister MT19937 and whose it is: each thread has one for np.random and one for Python's
 * random, both apart from what those modules keep for themselves (mt.c). */
#ifndef TR_RT_MT_H
#define TR_RT_MT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/layout.h"

/* What follows from the parameters of binomial numbers, by inversion and by rejection
 * (random.c); all 0: of none. */
typedef struct tr_mt_few {
    int64_t n, most;
    double p, q, none;
} tr_mt_few;
typedef struct tr_mt_btpe {
    int64_t n, mode;
    double p, q, npq, middle, half, left, right, height, lambda_left, lambda_right, areas[3];
} tr_mt_btpe;

typedef struct tr_mt {
    uint32_t next;             /* of `out`; TR_MT_WORDS: all are used up */
    uint32_t out[TR_MT_WORDS]; /* what is handed out of the recurrence, tempered all at once */
    bool ready;                /* it was seeded */
    bool wanted;    /* by the program, with a seed that it named: a child of a fork goes on with it */
    bool has_gauss; /* normal numbers come in pairs: the other one */
    double gauss;
    double lam, least; /* of the last small Poisson number, and exp(-lam) */
    tr_mt_few few;     /* of the last binomial number of either kind */
    tr_mt_btpe btpe;
    /* What generators of a region's ranges are made of: NumPy's SeedSequence of the seed, as far as the words
     * of a spawn key that would come next, and how many regions there were since. Of a range's own: which
     * one, of the generator whose region it is; NULL: it is none of a seed's. */
    uint32_t pool[4], hash, regions;
    const struct tr_mt *of;
    uint64_t range;
    uint32_t key[TR_MT_WORDS]; /* the recurrence */
} tr_mt;
_Static_assert(offsetof(tr_mt, next) == 0 && offsetof(tr_mt, out) == TR_MT_OUT,
               "compiled code draws from it, too");

typedef struct tr_mts {
    tr_mt np, py;
    struct tr_mts *outer, *inner; /* of the same thread: inside of a range, of a region in it */
} tr_mts;

/* The thread's, or NULL before it asked. A pointer, as room in the block that threads have
 * from their start is scarce. */
extern _Thread_local tr_mts *tr_rt_mts __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* What the ways to a generator come to when something is missing: memory, a seed, the next numbers. Where
 * there is no memory the call of compiled code ends with a MemoryError. */
tr_mts *tr_rt_mt_make(void);
void tr_rt_mt_refill(tr_mt *m);

/* By one number, by a row of numbers of 32 bits, each in a word of 64, by the system's entropy. */
void tr_rt_mt_seed(tr_mt *m, uint32_t seed);
void tr_rt_mt_seed_row(tr_mt *m, const int64_t *key, uint64_t n);
void tr_rt_mt_seed_any(tr_mt *m);

/* A region opens: the thread's generators, if their numbers go on from a seed that the program named; else
 * NULL, and each thread that takes part has its own. Around each range then: it has generators that follow
 * from the seed, the region and the range; false: there is no memory. */
const tr_mts *tr_rt_mt_region(void);
bool tr_rt_mt_range_begin(const tr_mts *opener, uint64_t range);
void tr_rt_mt_range_end(void);

static inline tr_mt *tr_rt_mt_np(void) {
    tr_mts *t = tr_rt_mts;
    return &(__builtin_expect(t != 0, 1) ? t : tr_rt_mt_make())->np;
}
static inline tr_mt *tr_rt_mt_py(void) {
    tr_mts *t = tr_rt_mts;
    return &(__builtin_expect(t != 0, 1) ? t : tr_rt_mt_make())->py;
}

static inline uint32_t tr_rt_mt_32(tr_mt *m) {
    if (__builtin_expect(m->next >= TR_MT_WORDS, 0))
        tr_rt_mt_refill(m);
    return m->out[m->next++];
}
static inline uint64_t tr_rt_mt_64(tr_mt *m) {
    uint64_t hi = tr_rt_mt_32(m);
    return hi << 32 | tr_rt_mt_32(m);
}
/* In [0, 1), with 53 bits. */
static inline double tr_rt_mt_double_of(uint32_t a, uint32_t b) {
    return (double)((int64_t)(a >> 5) << 26 | b >> 6) * 0x1p-53;
}
static inline double tr_rt_mt_double(tr_mt *m) {
    uint32_t a = tr_rt_mt_32(m);
    return tr_rt_mt_double_of(a, tr_rt_mt_32(m));
}

/* What programs draw one by one: short ways that call nothing, while the numbers last; false: nothing is
 * drawn, and the generator may not even be there. A double, and a number whose highest `32 - none` bits
 * (shift) or lowest ones (mask) are not above `top`. */
static inline bool tr_rt_mt_quick_double(tr_mt *m, double *x) {
    uint32_t at = m->next;
    if (__builtin_expect(at + 2 > TR_MT_WORDS, 0))
        return false;
    m->next = at + 2;
    *x = tr_rt_mt_double_of(m->out[at], m->out[at + 1]);
    return true;
}
/* Where more than an eighth are too large, the processor would guess that wrong too often: the next word is
 * looked at as well, without a jump. */
static inline bool tr_rt_mt_quick_up_to(tr_mt *m, uint32_t top, uint32_t mask, unsigned none, uint32_t *x) {
    uint32_t span = mask >> none, at = m->next;
    while (span - top > span / 8 && at + 2 <= TR_MT_WORDS) {
        uint32_t a = (m->out[at] & mask) >> none, b = (m->out[at + 1] & mask) >> none, more = a > top;
        __asm__("" : "+r"(more)); /* else it becomes that jump again */
        *x = more ? b : a;
        __asm__("" : "+r"(*x));
        at += 1 + more;
        m->next = at;
        if (__builtin_expect(*x <= top, 1))
            return true;
    }
    while (at < TR_MT_WORDS) {
        *x = (m->out[at++] & mask) >> none;
        m->next = at;
        if (*x <= top)
            return true;
    }
    return false;
}

#endif
