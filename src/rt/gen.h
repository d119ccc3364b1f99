/* np.random.Generator: whose numbers compiled code draws (gen.c). The bit generator is the Python object's
 * own, so what is drawn here is drawn there. */
#ifndef TR_RT_GEN_H
#define TR_RT_GEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "rt/mt.h"

/* NumPy's bitgen_t (numpy/random/bitgen.h), which a bit generator's capsule points to. */
typedef struct tr_bitgen {
    void *state;
    uint64_t (*next_uint64)(void *);
    uint32_t (*next_uint32)(void *);
    double (*next_double)(void *);
    uint64_t (*next_raw)(void *);
} tr_bitgen;

/* Bit generators whose state is known (TR_GEN_* of base/bits.h), so that numbers are drawn without a call:
 * `which`. Who says that has compared the layouts below with what the object says of itself. Compiled code
 * draws from the first by itself (lower/random.c). */

typedef struct tr_gen_pcg64 {
    struct tr_gen_pcg64_numbers {
        uint64_t state[2], inc[2]; /* low, high */
    } * of;
    int has_half; /* of 64 bits the upper ones are left */
    uint32_t half;
} tr_gen_pcg64;

typedef struct tr_gen_sfc64 {
    uint64_t s[4];
    int has_half;
    uint32_t half;
} tr_gen_sfc64;

typedef struct tr_gen_mt19937 {
    uint32_t key[TR_MT_WORDS];
    int pos;
} tr_gen_mt19937;

/* Finds NumPy's distributions in the library at this path, which is loaded already: NULL, or the name of what
 * it lacks. What was found once stays. */
const char *tr_rt_gen_find(const char *path);

#endif
