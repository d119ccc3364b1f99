/* The Mersenne Twister MT19937 and whose it is: each thread has one for np.random and one for Python's random, both apart from what those
 * modules keep for themselves (mt.c). */
#ifndef TR_RT_MT_H
#define TR_RT_MT_H

#include <stdbool.h>
#include <stdint.h>

enum { TR_MT_WORDS = 624 };

typedef struct tr_mt {
    uint32_t next;  /* of `out`; TR_MT_WORDS: all are used up */
    bool ready;     /* it was seeded */
    bool wanted;    /* by the program, with a seed that it named: a child of a fork goes on with it */
    bool has_gauss; /* normal numbers come in pairs: the other one */
    double gauss;
    uint32_t key[TR_MT_WORDS]; /* the recurrence */
    uint32_t out[TR_MT_WORDS]; /* what is handed out of it, tempered all at once */
} tr_mt;

typedef struct tr_mts {
    tr_mt np, py;
} tr_mts;

/* The thread's, or NULL before it asked. A pointer, as room in the block that threads have from their start is scarce. */
extern _Thread_local tr_mts *tr_rt_mts __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* What the ways to a generator come to when something is missing: memory, a seed, the next numbers. Where there is no memory the
 * call of compiled code ends with a MemoryError. */
tr_mts *tr_rt_mt_make(void);
void tr_rt_mt_refill(tr_mt *m);

/* By one number, by a row of numbers of 32 bits, each in a word of 64, by the system's entropy. */
void tr_rt_mt_seed(tr_mt *m, uint32_t seed);
void tr_rt_mt_seed_row(tr_mt *m, const int64_t *key, uint64_t n);
void tr_rt_mt_seed_any(tr_mt *m);

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
static inline double tr_rt_mt_double(tr_mt *m) {
    uint32_t a = tr_rt_mt_32(m) >> 5, b = tr_rt_mt_32(m) >> 6;
    return (double)((int64_t)a << 26 | b) * 0x1p-53;
}

#endif
