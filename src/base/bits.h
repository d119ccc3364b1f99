/* Bit generators of np.random.Generator, and how their words become numbers: what the runtime (rt/gen.h) and
 * compiled code (lower/random.c) both know. */
#ifndef TR_BASE_BITS_H
#define TR_BASE_BITS_H

#include <stdint.h>

/* Which one a Generator has: any, or one whose state is known; forms of the kind GENERATOR (ty/kinds.def). */
enum { TR_GEN_ANY, TR_GEN_PCG64, TR_GEN_MT19937, TR_GEN_SFC64, TR_GEN__KINDS };

/* The factor of PCG64, low half first. */
#define TR_PCG64_FACTOR \
    { UINT64_C(0x4385df649fccf645), UINT64_C(0x2360ed051fc65da4) }

/* How a word is read of which a number is made by layers: eight bits from `layer` on name
 * the layer, `bits` of them from `rest` on are the place in it, and bit `sign` is the
 * number's sign (TR_NO_SIGN: it has none). */
enum { TR_NO_SIGN = 64 };
typedef struct tr_word {
    unsigned layer, sign, rest, bits;
} tr_word;
static const tr_word tr_normal_word = {0, 8, 9, 52}, tr_exponential_word = {3, TR_NO_SIGN, 11, 53};

static inline uint64_t tr_word_mask(const tr_word *r) {
    return (UINT64_C(1) << r->bits) - 1;
}

#endif
