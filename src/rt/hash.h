/* Hashes of keys: one multiplication of 64 by 64 bits, whose two halves are folded into one, as wyhash does
 * it. All bits of the result depend on all bits of the key: the place in a table is taken from the top, the
 * tag from the bottom. Not seeded: numbers come from computations, not from whom one does not trust. */
#ifndef TR_RT_HASH_H
#define TR_RT_HASH_H

#include <stdint.h>

/* For tests: fewer different hashes, so that most keys meet. */
#ifndef TR_HASH_KEPT
#define TR_HASH_KEPT UINT64_MAX
#endif

static inline uint64_t tr_hash_mix(uint64_t x, uint64_t y) {
    unsigned __int128 p =
        (unsigned __int128)(x ^ UINT64_C(0xa24baed4963ee407)) * (y ^ UINT64_C(0x9fb21c651e98df25));
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static inline uint64_t tr_hash_word(uint64_t x) {
    return tr_hash_mix(x, 0) & TR_HASH_KEPT;
}

static inline uint64_t tr_hash_pair(uint64_t x, uint64_t y) {
    return tr_hash_mix(tr_hash_mix(x, 0), y) & TR_HASH_KEPT;
}

#endif
