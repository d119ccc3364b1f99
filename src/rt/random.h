/* What the streams of random numbers have in common (random.c): stretches between which a call
 * may be left, choices by probabilities. */
#ifndef TR_RT_RANDOM_H
#define TR_RT_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

/* Where a stretch of n numbers ends that begins with i: between two a call may be left, and
 * the generator is whole. */
static inline int64_t tr_random_stretch(int64_t i, int64_t n) {
    enum { NUMBERS = 1 << 16 };
    return n - i < NUMBERS ? n : i + NUMBERS;
}

/* Item i of an array of integers of so many bits, of bools for 1. */
static inline void tr_random_put(void *data, int64_t i, int64_t bits, uint64_t x) {
    switch (bits) {
    case 1:
    case 8: ((uint8_t *)data)[i] = (uint8_t)x; break;
    case 16: ((uint16_t *)data)[i] = (uint16_t)x; break;
    case 32: ((uint32_t *)data)[i] = (uint32_t)x; break;
    default: ((uint64_t *)data)[i] = x;
    }
}

/* Kahan's sum, as NumPy adds probabilities. */
double tr_random_sum(const double *p, int64_t n);
/* What is wrong with the probabilities of a multinomial distribution, or TR_RANDOM_DONE. */
int64_t tr_random_parts(const double *p, int64_t n);

/* Indices by probabilities, with their numbers of [0, 1) from `number`: TR_RANDOM_DONE or what is wrong. */
typedef double (*tr_random_number)(void *user);
int64_t tr_random_choose(tr_random_number number, void *user, bool again, int64_t *to, int64_t n,
                         const double *p, int64_t np);

/* Two items of an array, of 16 bytes at most, change places. */
void tr_random_swap(char *x, char *y, int64_t size);

#endif
