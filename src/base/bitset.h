/* Fixed-size bit sets in an arena, for data-flow problems. */
#ifndef TR_BASE_BITSET_H
#define TR_BASE_BITSET_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"

typedef struct tr_bits {
    uint64_t *w;
    uint32_t n; /* words */
} tr_bits;

static inline tr_bits tr_bits_new(tr_arena *a, uint32_t nbits) {
    uint32_t n = (nbits + 63u) / 64u;
    return (tr_bits){TR_NEW_N(a, uint64_t, n ? n : 1u), n};
}
static inline bool tr_bits_get(const tr_bits *b, uint32_t i) {
    assert(i / 64u < b->n && "the set has that number");
    return (b->w[i / 64u] >> (i % 64u)) & 1u;
}
static inline void tr_bits_set(tr_bits *b, uint32_t i) {
    assert(i / 64u < b->n && "the set has that number");
    b->w[i / 64u] |= UINT64_C(1) << (i % 64u);
}
static inline void tr_bits_clear(tr_bits *b, uint32_t i) {
    assert(i / 64u < b->n && "the set has that number");
    b->w[i / 64u] &= ~(UINT64_C(1) << (i % 64u));
}
static inline void tr_bits_zero(tr_bits *b) {
    memset(b->w, 0, b->n * sizeof *b->w);
}
static inline void tr_bits_assign(tr_bits *b, const tr_bits *o) {
    assert(b->n == o->n && "both are of the same numbers");
    memcpy(b->w, o->w, b->n * sizeof *b->w);
}
/* b |= o; true if b changed. */
static inline bool tr_bits_union(tr_bits *b, const tr_bits *o) {
    assert(b->n == o->n && "both are of the same numbers");
    uint64_t d = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        d |= o->w[i] & ~b->w[i];
        b->w[i] |= o->w[i];
    }
    return d != 0;
}

#endif
