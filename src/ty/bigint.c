/* Exact integers: schoolbook arithmetic on sign and magnitude. Division is Knuth's algorithm D. */
#include "ty/bigint.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/map.h"
#include "ty/ty.h"

typedef unsigned __int128 wide;

enum { FEW = 4, LIMB = 64, MAX_LIMBS = TR_BIGINT_BITS / LIMB, CHUNK = 19 };
static const uint64_t chunk_unit = UINT64_C(10000000000000000000); /* 10 ** CHUNK */

/* Room for n limbs, all 0: `few`, where they are. */
static uint64_t *room(tr_arena *a, uint64_t few[FEW], uint32_t n) {
    if (n > FEW)
        return TR_NEW_N(a, uint64_t, n);
    memset(few, 0, sizeof(uint64_t) * FEW);
    return few;
}

/* The number of these limbs, which are its own from here on unless they are `few`. */
static tr_bigint number(tr_arena *a, bool negative, const uint64_t *d, uint32_t n, const uint64_t *few) {
    while (n && !d[n - 1])
        n--;
    if (n > 1)
        return (tr_bigint){d == few ? tr_arena_copy(a, d, n * sizeof *d) : d, 0, n, negative};
    return (tr_bigint){NULL, n ? d[0] : 0, n, n && negative};
}

static tr_bigint_status checked(tr_bigint r, tr_bigint *out) {
    *out = r;
    return tr_bigint_bits(&r) > TR_BIGINT_BITS ? TR_BIGINT_TOO_LARGE : TR_BIGINT_FINE;
}

/* One form for each number: the highest limb is not 0, one limb stands in itself, and 0 is not negative. */
static __attribute__((unused)) bool is_normal(const tr_bigint *x) {
    return x->n > 1 ? x->more && x->more[x->n - 1] : !x->more && (x->n ? x->low : !x->low && !x->negative);
}

/* --- small numbers --- */

tr_bigint tr_bigint_of_u64(uint64_t v) {
    return (tr_bigint){NULL, v, v != 0, false};
}

tr_bigint tr_bigint_of(int64_t v) {
    return (tr_bigint){NULL, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, v != 0, v < 0};
}

uint64_t tr_bigint_wrapped(const tr_bigint *x) {
    uint64_t low = tr_bigint_limbs(x)[0];
    return x->negative ? 0 - low : low;
}

bool tr_bigint_u64(const tr_bigint *x, uint64_t *out) {
    *out = x->low;
    return !x->negative && x->n <= 1;
}

bool tr_bigint_i64(const tr_bigint *x, int64_t *out) {
    *out = (int64_t)tr_bigint_wrapped(x);
    return x->n <= 1 && (!x->n || (*out < 0) == x->negative);
}

bool tr_bigint_fits64(const tr_bigint *x) {
    int64_t i;
    uint64_t u;
    return tr_bigint_i64(x, &i) || tr_bigint_u64(x, &u);
}

bool tr_bigint_fits(const tr_bigint *x, const tr_ty *t) {
    assert(tr_ty_is_int(t) && "an integer type holds it or does not");
    uint32_t bits = 8 * tr_ty_size(t);
    int64_t v;
    uint64_t u;
    if (tr_ty_class(t) == 'u')
        return tr_bigint_u64(x, &u) && u <= UINT64_MAX >> (64 - bits);
    return tr_bigint_i64(x, &v) && v >> (bits - 1) == v >> 63;
}

uint32_t tr_bigint_bits(const tr_bigint *x) {
    assert(is_normal(x) && "a number has one form");
    return x->n ? LIMB * x->n - (uint32_t)__builtin_clzll(tr_bigint_limbs(x)[x->n - 1]) : 0;
}

uint64_t tr_bigint_hash(const tr_bigint *x, uint64_t seed) {
    assert(is_normal(x) && "a number has one form, or equal ones would differ here");
    return tr_hash_bytes(tr_bigint_limbs(x), x->n * sizeof(uint64_t),
                         seed ^ (x->negative ? ~UINT64_C(0) : 0));
}

tr_bigint tr_bigint_copy(tr_arena *a, const tr_bigint *x) {
    tr_bigint r = *x;
    r.more = x->more ? tr_arena_copy(a, x->more, x->n * sizeof(uint64_t)) : NULL;
    return r;
}

/* --- magnitudes --- */

static int compare_limbs(const uint64_t *x, const uint64_t *y, uint32_t n) {
    while (n-- > 0)
        if (x[n] != y[n])
            return x[n] < y[n] ? -1 : 1;
    return 0;
}

static int compare_sizes(const tr_bigint *x, const tr_bigint *y) {
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return compare_limbs(tr_bigint_limbs(x), tr_bigint_limbs(y), x->n);
}

int tr_bigint_compare(const tr_bigint *x, const tr_bigint *y) {
    assert(is_normal(x) && is_normal(y) && "a number has one form");
    if (x->negative != y->negative)
        return x->negative ? -1 : 1;
    int c = compare_sizes(x, y);
    return x->negative ? -c : c;
}

/* d[0 .. n) += y, as far as the carry goes. */
static void add_limb(uint64_t *d, uint32_t n, uint64_t y) {
    for (uint32_t i = 0; y && i < n; i++)
        y = __builtin_add_overflow(d[i], y, &d[i]);
}

/* d[0 .. n) = d * y + add; what does not fit. */
static uint64_t scale(uint64_t *d, uint32_t n, uint64_t y, uint64_t add) {
    for (uint32_t i = 0; i < n; i++) {
        wide p = (wide)d[i] * y + add;
        d[i] = (uint64_t)p;
        add = (uint64_t)(p >> LIMB);
    }
    return add;
}

/* d[0 .. n) = d / y; the remainder. */
static uint64_t unscale(uint64_t *d, uint32_t n, uint64_t y) {
    wide rest = 0;
    while (n-- > 0) {
        rest = rest << LIMB | d[n];
        d[n] = (uint64_t)(rest / y);
        rest %= y;
    }
    return (uint64_t)rest;
}

/* |x| + |y| */
static tr_bigint sum(tr_arena *a, bool negative, const tr_bigint *x, const tr_bigint *y) {
    if (x->n < y->n)
        return sum(a, negative, y, x);
    uint64_t few[FEW], *d = room(a, few, x->n + 1);
    memcpy(d, tr_bigint_limbs(x), x->n * sizeof *d);
    for (uint32_t i = 0; i < y->n; i++)
        if (__builtin_add_overflow(d[i], tr_bigint_limbs(y)[i], &d[i]))
            add_limb(d + i + 1, x->n - i, 1);
    return number(a, negative, d, x->n + 1, few);
}

/* |x| - |y|, negated where `negative`. */
static tr_bigint difference(tr_arena *a, bool negative, const tr_bigint *x, const tr_bigint *y) {
    if (compare_sizes(x, y) < 0)
        return difference(a, !negative, y, x);
    uint64_t few[FEW], *d = room(a, few, x->n), borrow = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        wide r = (wide)tr_bigint_limbs(x)[i] - (i < y->n ? tr_bigint_limbs(y)[i] : 0) - borrow;
        d[i] = (uint64_t)r;
        borrow = (uint64_t)(r >> LIMB) & 1;
    }
    return number(a, negative, d, x->n, few);
}

static tr_bigint product(tr_arena *a, const tr_bigint *x, const tr_bigint *y) {
    uint32_t n = x->n + y->n;
    uint64_t few[FEW], *d = room(a, few, n);
    for (uint32_t i = 0; i < x->n; i++) {
        uint64_t carry = 0;
        for (uint32_t k = 0; k < y->n; k++) {
            wide p = (wide)tr_bigint_limbs(x)[i] * tr_bigint_limbs(y)[k] + d[i + k] + carry;
            d[i + k] = (uint64_t)p;
            carry = (uint64_t)(p >> LIMB);
        }
        d[i + y->n] = carry;
    }
    return number(a, x->negative != y->negative, d, n, few);
}

/* |x| << k */
static tr_bigint shifted_up(tr_arena *a, const tr_bigint *x, uint32_t k) {
    uint32_t by = k / LIMB, bit = k % LIMB, n = x->n + by + 1;
    uint64_t few[FEW], *d = room(a, few, n);
    for (uint32_t i = 0; i < x->n; i++) {
        wide p = (wide)tr_bigint_limbs(x)[i] << bit;
        d[i + by] |= (uint64_t)p;
        d[i + by + 1] = (uint64_t)(p >> LIMB);
    }
    return number(a, x->negative, d, n, few);
}

/* |x| >> k, cut. */
static tr_bigint shifted_down(tr_arena *a, const tr_bigint *x, uint32_t k) {
    uint32_t by = k / LIMB, bit = k % LIMB;
    if (by >= x->n)
        return tr_bigint_of(0);
    uint32_t n = x->n - by;
    uint64_t few[FEW], *d = room(a, few, n);
    for (uint32_t i = 0; i < n; i++) {
        wide two =
            (wide)(i + 1 < n ? tr_bigint_limbs(x)[i + by + 1] : 0) << LIMB | tr_bigint_limbs(x)[i + by];
        d[i] = (uint64_t)(two >> bit);
    }
    return number(a, x->negative, d, n, few);
}

/* The last k bits of |x| are not all 0. */
static bool any_below(const tr_bigint *x, uint32_t k) {
    for (uint32_t i = 0; i < x->n && i * LIMB < k; i++) {
        uint32_t left = k - i * LIMB;
        if (left >= LIMB ? tr_bigint_limbs(x)[i] != 0
                         : (tr_bigint_limbs(x)[i] & ((UINT64_C(1) << left) - 1)) != 0)
            return true;
    }
    return false;
}

/* u[0 .. n] -= q * v[0 .. n); whether it went below zero, and so was one v too much. */
static bool subtract_scaled(uint64_t *u, const uint64_t *v, uint32_t n, uint64_t q) {
    uint64_t carry = 0, borrow = 0;
    for (uint32_t i = 0; i < n; i++) {
        wide p = (wide)q * v[i] + carry, r = (wide)u[i] - (uint64_t)p - borrow;
        carry = (uint64_t)(p >> LIMB);
        u[i] = (uint64_t)r;
        borrow = (uint64_t)(r >> LIMB) & 1;
    }
    wide r = (wide)u[n] - carry - borrow;
    u[n] = (uint64_t)r;
    return (r >> LIMB) != 0;
}

static void add_back(uint64_t *u, const uint64_t *v, uint32_t n) {
    uint64_t carry = 0;
    for (uint32_t i = 0; i < n; i++) {
        wide r = (wide)u[i] + v[i] + carry;
        u[i] = (uint64_t)r;
        carry = (uint64_t)(r >> LIMB);
    }
    u[n] += carry;
}

/* A limb of the quotient from the first three of u and two of v, whose highest bit is set: right, or one too
 * large. */
static uint64_t guess(const uint64_t *u, const uint64_t *v, uint32_t n) {
    wide top = (wide)u[n] << LIMB | u[n - 1], q, rest;
    if (u[n] >= v[n - 1]) {
        q = UINT64_MAX;
        rest = top - q * v[n - 1];
    } else {
        q = top / v[n - 1];
        rest = top % v[n - 1];
    }
    while (rest >> LIMB == 0 && q * v[n - 2] > (rest << LIMB | u[n - 2])) {
        q--;
        rest += v[n - 1];
    }
    return (uint64_t)q;
}

/* |x| / |y|, cut, and the rest; y is not 0. */
static void quotient(tr_arena *a, const tr_bigint *x, const tr_bigint *y, tr_bigint *q, tr_bigint *r) {
    if (compare_sizes(x, y) < 0) {
        *q = tr_bigint_of(0);
        *r = *x;
        r->negative = false;
        return;
    }
    uint32_t n = y->n, m = x->n - n + 1;
    if (n == 1) {
        uint64_t few[FEW], *d = room(a, few, x->n);
        memcpy(d, tr_bigint_limbs(x), x->n * sizeof *d);
        *r = tr_bigint_of_u64(unscale(d, x->n, y->low));
        *q = number(a, false, d, x->n, few);
        return;
    }
    uint32_t up = (uint32_t)__builtin_clzll(tr_bigint_limbs(y)[n - 1]);
    tr_bigint v = shifted_up(a, y, up), x0 = shifted_up(a, x, up);
    uint64_t *u = TR_NEW_N(a, uint64_t, x->n + 1u), *d = TR_NEW_N(a, uint64_t, m);
    memcpy(u, tr_bigint_limbs(&x0), x0.n * sizeof *u);
    for (uint32_t i = m; i-- > 0;) {
        d[i] = guess(u + i, tr_bigint_limbs(&v), n);
        if (subtract_scaled(u + i, tr_bigint_limbs(&v), n, d[i])) {
            d[i]--;
            add_back(u + i, tr_bigint_limbs(&v), n);
        }
    }
    tr_bigint rest = number(a, false, u, n, NULL);
    *r = shifted_down(a, &rest, up);
    *q = number(a, false, d, m, NULL);
}

/* --- operators --- */

tr_bigint tr_bigint_negative(tr_bigint x) {
    x.negative = x.n && !x.negative;
    return x;
}

tr_bigint_status tr_bigint_add(tr_arena *a, const tr_bigint *x, const tr_bigint *y, tr_bigint *out) {
    return checked(x->negative == y->negative ? sum(a, x->negative, x, y) : difference(a, x->negative, x, y),
                   out);
}

tr_bigint_status tr_bigint_sub(tr_arena *a, const tr_bigint *x, const tr_bigint *y, tr_bigint *out) {
    tr_bigint other = tr_bigint_negative(*y);
    return tr_bigint_add(a, x, &other, out);
}

tr_bigint_status tr_bigint_mul(tr_arena *a, const tr_bigint *x, const tr_bigint *y, tr_bigint *out) {
    if (x->n + y->n > MAX_LIMBS + 1)
        return TR_BIGINT_TOO_LARGE;
    return checked(product(a, x, y), out);
}

/* Python's: the quotient is rounded down, the remainder has the divisor's sign. */
static bool divmod(tr_arena *a, const tr_bigint *x, const tr_bigint *y, tr_bigint *q, tr_bigint *r) {
    if (!y->n)
        return false;
    const tr_bigint one = tr_bigint_of(1);
    quotient(a, x, y, q, r);
    if (r->n && x->negative != y->negative) {
        *q = sum(a, false, q, &one);
        *r = difference(a, false, y, r);
    }
    q->negative = q->n && x->negative != y->negative;
    r->negative = r->n && y->negative;
    return true;
}

tr_bigint_status tr_bigint_floordiv(tr_arena *a, const tr_bigint *x, const tr_bigint *y, tr_bigint *out) {
    tr_bigint r;
    return divmod(a, x, y, out, &r) ? TR_BIGINT_FINE : TR_BIGINT_UNDEFINED;
}

tr_bigint_status tr_bigint_mod(tr_arena *a, const tr_bigint *x, const tr_bigint *y, tr_bigint *out) {
    tr_bigint q;
    return divmod(a, x, y, &q, out) ? TR_BIGINT_FINE : TR_BIGINT_UNDEFINED;
}

tr_bigint_status tr_bigint_pow(tr_arena *a, const tr_bigint *x, const tr_bigint *y, tr_bigint *out) {
    if (y->negative)
        return TR_BIGINT_UNDEFINED;
    bool odd = y->n && tr_bigint_limbs(y)[0] & 1;
    uint32_t bits = tr_bigint_bits(x);
    if (bits <= 1) { /* -1, 0 or 1 */
        *out = !y->n ? tr_bigint_of(1) : odd || !bits ? *x : tr_bigint_of(1);
        return TR_BIGINT_FINE;
    }
    uint64_t n;
    if (!tr_bigint_u64(y, &n) || n > TR_BIGINT_BITS / (bits - 1))
        return TR_BIGINT_TOO_LARGE;
    tr_bigint r = tr_bigint_of(1), square = *x;
    tr_bigint_status s = TR_BIGINT_FINE;
    for (; n && s == TR_BIGINT_FINE; n >>= 1) {
        if (n & 1)
            s = tr_bigint_mul(a, &r, &square, &r);
        if (n > 1 && s == TR_BIGINT_FINE)
            s = tr_bigint_mul(a, &square, &square, &square);
    }
    *out = r;
    return s;
}

tr_bigint_status tr_bigint_shl(tr_arena *a, const tr_bigint *x, const tr_bigint *y, tr_bigint *out) {
    uint64_t k;
    if (y->negative)
        return TR_BIGINT_UNDEFINED;
    *out = *x;
    if (!x->n)
        return TR_BIGINT_FINE;
    if (!tr_bigint_u64(y, &k) || k > TR_BIGINT_BITS)
        return TR_BIGINT_TOO_LARGE;
    return checked(shifted_up(a, x, (uint32_t)k), out);
}

tr_bigint_status tr_bigint_shr(tr_arena *a, const tr_bigint *x, const tr_bigint *y, tr_bigint *out) {
    uint64_t k;
    const tr_bigint one = tr_bigint_of(1);
    if (y->negative)
        return TR_BIGINT_UNDEFINED;
    if (!tr_bigint_u64(y, &k) || k > TR_BIGINT_BITS)
        k = TR_BIGINT_BITS;
    *out = shifted_down(a, x, (uint32_t)k);
    if (x->negative && any_below(x, (uint32_t)k)) /* rounded down */
        *out = sum(a, true, out, &one);
    return TR_BIGINT_FINE;
}

/* x in two's complement of n limbs, more than it has. */
static uint64_t *complement(tr_arena *a, const tr_bigint *x, uint32_t n, uint64_t few[FEW]) {
    uint64_t *d = room(a, few, n);
    memcpy(d, tr_bigint_limbs(x), x->n * sizeof *d);
    for (uint32_t i = 0; x->negative && i < n; i++)
        d[i] = ~d[i];
    if (x->negative)
        add_limb(d, n, 1);
    return d;
}

static tr_bigint bitwise(tr_arena *a, char op, const tr_bigint *x, const tr_bigint *y) {
    uint32_t n = (x->n > y->n ? x->n : y->n) + 1;
    uint64_t few[2][FEW], *d = complement(a, x, n, few[0]);
    const uint64_t *with = complement(a, y, n, few[1]);
    for (uint32_t i = 0; i < n; i++)
        d[i] = op == '&' ? d[i] & with[i] : op == '|' ? d[i] | with[i] : d[i] ^ with[i];
    bool negative = d[n - 1] >> (LIMB - 1);
    for (uint32_t i = 0; negative && i < n; i++)
        d[i] = ~d[i];
    if (negative)
        add_limb(d, n, 1);
    return number(a, negative, d, n, few[0]);
}

tr_bigint_status tr_bigint_and(tr_arena *a, const tr_bigint *x, const tr_bigint *y, tr_bigint *out) {
    return checked(bitwise(a, '&', x, y), out);
}

tr_bigint_status tr_bigint_or(tr_arena *a, const tr_bigint *x, const tr_bigint *y, tr_bigint *out) {
    return checked(bitwise(a, '|', x, y), out);
}

tr_bigint_status tr_bigint_xor(tr_arena *a, const tr_bigint *x, const tr_bigint *y, tr_bigint *out) {
    return checked(bitwise(a, '^', x, y), out);
}

tr_bigint_status tr_bigint_invert(tr_arena *a, const tr_bigint *x, tr_bigint *out) {
    const tr_bigint minus_one = tr_bigint_of(-1);
    return tr_bigint_sub(a, &minus_one, x, out);
}

/* --- floats --- */

/* The last 64 bits of |x| >> k. */
static uint64_t bits_from(const tr_bigint *x, uint32_t k) {
    uint32_t at = k / LIMB, bit = k % LIMB;
    uint64_t low = at < x->n ? tr_bigint_limbs(x)[at] : 0,
             high = at + 1 < x->n ? tr_bigint_limbs(x)[at + 1] : 0;
    return (uint64_t)(((wide)high << LIMB | low) >> bit);
}

/* |x| * 2 ** e rounded once; `more`: x is a little larger than it says, by less than one. */
static double rounded(const tr_bigint *x, bool more, int32_t e) {
    enum { DIGITS = 53, LEAST = -1074 };
    int32_t bits = (int32_t)tr_bigint_bits(x), keep = bits + e - LEAST < DIGITS ? bits + e - LEAST : DIGITS;
    if (keep < 0)
        return 0.0;
    if (keep >= bits)
        return ldexp((double)tr_bigint_limbs(x)[0], e);
    uint32_t drop = (uint32_t)(bits - keep);
    uint64_t m = bits_from(x, drop);
    bool half = bits_from(x, drop - 1) & 1;
    if (half && (m & 1 || more || any_below(x, drop - 1)))
        m++;
    return ldexp((double)m, e + (int32_t)drop);
}

double tr_bigint_f64(const tr_bigint *x) {
    double v = x->n <= 1 ? (double)x->low : rounded(x, false, 0);
    return x->negative ? -v : v;
}

double tr_bigint_divide(tr_arena *a, const tr_bigint *x, const tr_bigint *y) {
    /* 64 bits of the quotient or more, so that one rounding is left; below the floats' least bit none is
     * needed */
    enum { ENOUGH = 66, SMALLEST = 1080, LARGEST = 1030 };
    int32_t more = (int32_t)tr_bigint_bits(x) - (int32_t)tr_bigint_bits(y), up = ENOUGH - more;
    double v = more > LARGEST ? INFINITY : 0.0;
    if (more <= LARGEST && x->n) {
        tr_bigint q, r;
        up = up > SMALLEST ? SMALLEST : up;
        tr_bigint u = up > 0 ? shifted_up(a, x, (uint32_t)up) : *x,
                  w = up < 0 ? shifted_up(a, y, (uint32_t)-up) : *y;
        quotient(a, &u, &w, &q, &r);
        v = rounded(&q, r.n != 0, -up);
    }
    return x->negative != y->negative ? -v : v;
}

/* --- text --- */

/* Of more than one limb: pieces of CHUNK digits, from the last to the first. */
static __attribute__((noinline)) void print_long(tr_sb *b, const tr_bigint *x) {
    uint64_t d[MAX_LIMBS], part[MAX_LIMBS + MAX_LIMBS / 32]; /* a piece has 63 bits */
    uint32_t n = x->n, k = 0;
    memcpy(d, x->more, n * sizeof *d);
    while (n) {
        part[k++] = unscale(d, n, chunk_unit);
        while (n && !d[n - 1])
            n--;
    }
    tr_sb_printf(b, "%s%" PRIu64, x->negative ? "-" : "", part[--k]);
    while (k)
        tr_sb_printf(b, "%0*" PRIu64, CHUNK, part[--k]);
}

/* Of one limb at most, up to `end`; much printed, and printf would take a multiple of the time. */
enum { SHORT = 24 };
static const char *print_short(char *end, const tr_bigint *x) {
    uint64_t v = x->low;
    do
        *--end = (char)('0' + v % 10);
    while (v /= 10);
    if (x->negative)
        *--end = '-';
    return end;
}

void tr_bigint_print(tr_sb *b, const tr_bigint *x) {
    char text[SHORT];
    if (x->n > 1) {
        print_long(b, x);
        return;
    }
    const char *s = print_short(text + SHORT, x);
    tr_sb_write(b, s, (size_t)(text + SHORT - s));
}

char *tr_bigint_text(tr_arena *a, const tr_bigint *x) {
    char text[SHORT];
    if (x->n <= 1) {
        const char *s = print_short(text + SHORT, x);
        return tr_arena_strndup(a, s, (size_t)(text + SHORT - s));
    }
    tr_sb b;
    tr_sb_init(&b);
    tr_bigint_print(&b, x);
    char *s = tr_arena_strndup(a, b.d, b.n);
    tr_sb_fini(&b);
    return s;
}

char *tr_bigint_shown(tr_arena *a, const tr_bigint *x) {
    enum { MOST = 80, ENDS = 20 };
    char *s = tr_bigint_text(a, x);
    size_t n = strlen(s);
    return n <= MOST ? s : tr_arena_printf(a, "%.*s...%s", ENDS, s, s + n - ENDS);
}

static int digit_of(char c, unsigned base) {
    int v = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : (int)base;
    return v < (int)base ? v : -1;
}

bool tr_bigint_parse(tr_arena *a, const char *s, size_t n, tr_bigint *out) {
    enum { MOST = MAX_LIMBS * 20 };
    bool negative = n && *s == '-';
    size_t i = negative || (n && *s == '+');
    unsigned base = n > i + 2 && s[i] == '0' && s[i + 1] == 'x' ? 16 : 10;
    i += base == 16 ? 2 : 0;
    if (i == n || n - i > MOST)
        return false;
    uint32_t size = (uint32_t)(n - i) / (base == 16 ? 16 : CHUNK) + 1;
    uint64_t few[FEW], *d = room(a, few, size);
    while (i < n) {
        uint64_t unit = 1, part = 0;
        for (uint32_t k = 0; k < (base == 16 ? 15 : CHUNK) && i < n; k++, i++, unit *= base) {
            int v = digit_of(s[i], base);
            if (v < 0)
                return false;
            part = part * base + (unsigned)v;
        }
        scale(d, size, unit, part);
    }
    return checked(number(a, negative, d, size, few), out) == TR_BIGINT_FINE;
}
