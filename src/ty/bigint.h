/* Exact integers (arbitrary-precision arithmetic): what a Python int is where its value is known when
 * compiling.
 *
 * Sign and magnitude: 64-bit limbs, the least first, the last one not 0. A single limb stands in the number
 * itself, so what fits 64 bits needs no memory. More limbs lie in an arena, are never written again, and may
 * be shared by copies. No number has more than TR_BIGINT_BITS bits; the algorithms are those of school,
 * quadratic at worst. */
#ifndef TR_TY_BIGINT_H
#define TR_TY_BIGINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"

struct tr_ty;

enum { TR_BIGINT_BITS = 1 << 16 };

typedef struct tr_bigint {
    const uint64_t *more; /* the limbs, where there are two or more */
    uint64_t low;         /* the only limb */
    uint32_t n;           /* limbs; 0 for zero */
    bool negative;        /* never zero */
} tr_bigint;

static inline const uint64_t *tr_bigint_limbs(const tr_bigint *x) {
    return x->more ? x->more : &x->low;
}
tr_bigint tr_bigint_of(int64_t v);
tr_bigint tr_bigint_of_u64(uint64_t v);
bool tr_bigint_i64(const tr_bigint *x, int64_t *out); /* false: it does not fit */
bool tr_bigint_u64(const tr_bigint *x, uint64_t *out);
bool tr_bigint_fits64(const tr_bigint *x);                      /* int64 or uint64 */
uint64_t tr_bigint_wrapped(const tr_bigint *x);                 /* its last 64 bits, two's complement */
bool tr_bigint_fits(const tr_bigint *x, const struct tr_ty *t); /* t: an integer type */
uint32_t tr_bigint_bits(const tr_bigint *x);                    /* of the magnitude */
int tr_bigint_compare(const tr_bigint *x, const tr_bigint *y);  /* < 0, 0, > 0 */
uint64_t tr_bigint_hash(const tr_bigint *x, uint64_t seed);
tr_bigint tr_bigint_copy(tr_arena *a, const tr_bigint *x);

/* The nearest float, of two the even one, as CPython rounds; infinite beyond the floats. */
double tr_bigint_f64(const tr_bigint *x);
/* The float nearest to x / y; y is not 0. */
double tr_bigint_divide(tr_arena *a, const tr_bigint *x, const tr_bigint *y);

/* Python's operators. UNDEFINED: a division by zero, a negative shift or exponent. TOO_LARGE: more bits than
 * a number may have. */
typedef enum tr_bigint_status { TR_BIGINT_FINE, TR_BIGINT_UNDEFINED, TR_BIGINT_TOO_LARGE } tr_bigint_status;
typedef tr_bigint_status (*tr_bigint_fn)(tr_arena *a, const tr_bigint *x, const tr_bigint *y, tr_bigint *out);
#define TR_BIGINT_OPS(X) X(add) X(sub) X(mul) X(floordiv) X(mod) X(pow) X(and) X(or) X(xor) X(shl) X(shr)
#define X(name) \
    tr_bigint_status tr_bigint_##name(tr_arena *a, const tr_bigint *x, const tr_bigint *y, tr_bigint *out);
TR_BIGINT_OPS(X)
#undef X
tr_bigint tr_bigint_negative(tr_bigint x);
tr_bigint_status tr_bigint_invert(tr_arena *a, const tr_bigint *x, tr_bigint *out);

void tr_bigint_print(tr_sb *b, const tr_bigint *x); /* decimal */
char *tr_bigint_text(tr_arena *a, const tr_bigint *x);
char *tr_bigint_shown(tr_arena *a,
                      const tr_bigint *x); /* for messages: without its middle where nobody would read it */
/* Of n characters: a sign, then decimal digits, or hexadecimal ones after 0x. False: it is none, or has too
 * many bits. */
bool tr_bigint_parse(tr_arena *a, const char *s, size_t n, tr_bigint *out);

#endif
