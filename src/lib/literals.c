/* Builtins of numbers that are known when compiling give numbers that are known: exact integers of
 * any size, as Python's (ty/bigint.h). A row of the table says how. What stands in no row, or is of
 * other arguments, is the row's template's.
 * Not under promotion="numba", where an integer is 64 bits from the first operation on. */
#include <math.h>

#include "lib/priv.h"

typedef struct known {
    tr_em *e;
    tr_arena *a;
    uint32_t n;
    const tr_tv *x;  /* the arguments that are given */
    tr_bigint *ints; /* of literal integers and truth values */
    int how;
} known;

/* False: it is left to the template, which knows what to raise. */
typedef bool (*foldfn)(const known *k, tr_tv *out);

static bool give(const known *k, tr_bigint v, tr_tv *out) {
    *out = tr_em_lit(k->e, tr_obj_bigint(k->a, v));
    return true;
}

static bool operate(const known *k, tr_bigint_fn fn, const tr_bigint *x, const tr_bigint *y, tr_bigint *out) {
    tr_bigint r; /* out may be x or y */
    if (fn(k->a, x, y, &r) != TR_BIGINT_FINE)
        return false;
    *out = r;
    return true;
}

/* how: 1 for max. The first of equals, as it is. */
static bool fold_extreme(const known *k, tr_tv *out) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < k->n; i++) {
        int c = tr_bigint_compare(&k->ints[i], &k->ints[best]);
        if (k->how ? c > 0 : c < 0)
            best = i;
    }
    *out = k->x[best];
    return true;
}

static tr_bigint magnitude(tr_bigint x) {
    return x.negative ? tr_bigint_negative(x) : x;
}

static bool fold_abs(const known *k, tr_tv *out) {
    return give(k, magnitude(k->ints[0]), out);
}

static bool fold_itself(const known *k, tr_tv *out) {
    return give(k, k->ints[0], out);
}

/* pow(x, y, m), by squares. */
static bool fold_pow(const known *k, tr_tv *out) {
    tr_bigint x, y = k->ints[1], one = tr_bigint_of(1), r;
    if (k->n != 3 || y.negative || tr_bigint_bits(&k->ints[2]) > 4096 || tr_bigint_bits(&y) > 4096 ||
        !operate(k, tr_bigint_mod, &k->ints[0], &k->ints[2], &x) ||
        !operate(k, tr_bigint_mod, &one, &k->ints[2], &r))
        return false;
    for (uint32_t i = tr_bigint_bits(&y); i-- > 0;) {
        bool bit = tr_bigint_limbs(&y)[i / 64] >> (i % 64) & 1;
        if (!operate(k, tr_bigint_mul, &r, &r, &r) || !operate(k, tr_bigint_mod, &r, &k->ints[2], &r))
            return false;
        if (bit &&
            (!operate(k, tr_bigint_mul, &r, &x, &r) || !operate(k, tr_bigint_mod, &r, &k->ints[2], &r)))
            return false;
    }
    return give(k, r, out);
}

/* round(x, n): to the nearest multiple of 10 ** -n, of two the even one. */
static bool fold_round(const known *k, tr_tv *out) {
    int64_t digits = 0;
    tr_bigint ten = tr_bigint_of(10), two = tr_bigint_of(2), one = tr_bigint_of(1), by, unit, half, q, rest;
    if (k->n > 1 && (!tr_bigint_i64(&k->ints[1], &digits) || digits < -1000))
        return false;
    if (digits >= 0)
        return give(k, k->ints[0], out);
    by = tr_bigint_of(-digits);
    if (!operate(k, tr_bigint_pow, &ten, &by, &unit) || !operate(k, tr_bigint_floordiv, &unit, &two, &half) ||
        !operate(k, tr_bigint_floordiv, &k->ints[0], &unit, &q) ||
        !operate(k, tr_bigint_mod, &k->ints[0], &unit, &rest))
        return false;
    int c = tr_bigint_compare(&rest, &half);
    bool odd = q.n && (tr_bigint_limbs(&q)[0] & 1);
    if ((c > 0 || (c == 0 && odd)) && !operate(k, tr_bigint_add, &q, &one, &q))
        return false;
    return operate(k, tr_bigint_mul, &q, &unit, &q) && give(k, q, out);
}

static bool gcd_of(const known *k, tr_bigint x, tr_bigint y, tr_bigint *out) {
    x = magnitude(x), y = magnitude(y);
    while (y.n) {
        tr_bigint r;
        if (!operate(k, tr_bigint_mod, &x, &y, &r))
            return false;
        x = y, y = r;
    }
    *out = x;
    return true;
}

/* how: 1 for lcm. */
static bool fold_gcd(const known *k, tr_tv *out) {
    tr_bigint r = tr_bigint_of(k->how), g;
    for (uint32_t i = 0; i < k->n; i++) {
        if (!gcd_of(k, r, k->ints[i], &g))
            return false;
        if (!k->how)
            r = g;
        else if (!g.n)
            r = g; /* both are 0 */
        else if (!operate(k, tr_bigint_floordiv, &k->ints[i], &g, &g) ||
                 !operate(k, tr_bigint_mul, &r, &g, &r))
            return false;
    }
    return give(k, magnitude(r), out);
}

/* n * (n - 1) * ..., of `count` factors; with `divided` by 1, 2, ... too, which leaves none over. */
static bool falling(const known *k, int64_t n, int64_t count, bool divided, tr_tv *out) {
    tr_bigint r = tr_bigint_of(1);
    for (int64_t i = 0; i < count; i++) {
        tr_bigint by = tr_bigint_of(n - i), to = tr_bigint_of(i + 1);
        if (!operate(k, tr_bigint_mul, &r, &by, &r) ||
            (divided && !operate(k, tr_bigint_floordiv, &r, &to, &r)))
            return false;
    }
    return give(k, r, out);
}

enum { MOST_FACTORS = 1000 };

static bool fold_factorial(const known *k, tr_tv *out) {
    int64_t n;
    return tr_bigint_i64(&k->ints[0], &n) && n >= 0 && n <= MOST_FACTORS && falling(k, n, n, false, out);
}

/* comb(n, k), perm(n, k); how: 1 for perm, of all where k is not given. */
static bool fold_choose(const known *k, tr_tv *out) {
    int64_t n, m;
    if (!tr_bigint_i64(&k->ints[0], &n) || n < 0)
        return false;
    m = n;
    if (k->n > 1 && (!tr_bigint_i64(&k->ints[1], &m) || m < 0))
        return false;
    if (m > n)
        return give(k, tr_bigint_of(0), out);
    if (!k->how && n - m < m)
        m = n - m;
    return m <= MOST_FACTORS && falling(k, n, m, !k->how, out);
}

/* The largest integer whose square is not above n, bit by bit. */
static bool fold_isqrt(const known *k, tr_tv *out) {
    const tr_bigint *n = &k->ints[0];
    tr_bigint r = tr_bigint_of(0), one = tr_bigint_of(1);
    if (n->negative || tr_bigint_bits(n) > 4096)
        return false;
    for (uint32_t i = tr_bigint_bits(n) / 2 + 1; i-- > 0;) {
        tr_bigint at = tr_bigint_of(i), bit, more, square;
        if (!operate(k, tr_bigint_shl, &one, &at, &bit) || !operate(k, tr_bigint_or, &r, &bit, &more) ||
            !operate(k, tr_bigint_mul, &more, &more, &square))
            return false;
        if (tr_bigint_compare(&square, n) <= 0)
            r = more;
    }
    return give(k, r, out);
}

/* how: 1 counts bits that are set, 0 all. */
static bool fold_bits(const known *k, tr_tv *out) {
    const tr_bigint *x = &k->ints[0];
    int64_t set = 0;
    for (uint32_t i = 0; i < x->n; i++)
        set += __builtin_popcountll(tr_bigint_limbs(x)[i]);
    return give(k, tr_bigint_of(k->how ? set : tr_bigint_bits(x)), out);
}

/* --- integers of floats --- */

typedef enum rounding { TO_ZERO, DOWN, UP, TO_EVEN } rounding;

static bool fold_float(const known *k, double v, tr_tv *out) {
    if (!isfinite(v))
        return false;
    v = k->how == DOWN ? floor(v) : k->how == UP ? ceil(v) : k->how == TO_EVEN ? nearbyint(v) : trunc(v);
    int bits;
    double part = frexp(v, &bits); /* v = part * 2^bits, and 53 bits of part are all */
    tr_bigint r = tr_bigint_of((int64_t)ldexp(part, 53)),
              by = tr_bigint_of(bits > 53 ? bits - 53 : 53 - bits);
    return operate(k, bits > 53 ? tr_bigint_shl : tr_bigint_shr, &r, &by, &r) && give(k, r, out);
}

/* --- which builtin --- */

static const struct {
    uint16_t row;
    foldfn fn;
    int how;
    bool of_float; /* a float becomes an integer, as `how` says */
} rows[] = {
    {TR_B_MAX, fold_extreme, 1, false},
    {TR_B_MIN, fold_extreme, 0, false},
    {TR_B_ABS, fold_abs, 0, false},
    {TR_B_POW, fold_pow, 0, false},
    {TR_B_INT, fold_itself, TO_ZERO, true},
    {TR_B_ROUND, fold_round, TO_EVEN, true},
    {TR_B_MATH_FLOOR, fold_itself, DOWN, true},
    {TR_B_MATH_CEIL, fold_itself, UP, true},
    {TR_B_MATH_TRUNC, fold_itself, TO_ZERO, true},
    {TR_B_MATH_GCD, fold_gcd, 0, false},
    {TR_B_MATH_LCM, fold_gcd, 1, false},
    {TR_B_MATH_FACTORIAL, fold_factorial, 0, false},
    {TR_B_MATH_COMB, fold_choose, 0, false},
    {TR_B_MATH_PERM, fold_choose, 1, false},
    {TR_B_MATH_ISQRT, fold_isqrt, 0, false},
    {TR_B_N_BIT_LENGTH, fold_bits, 0, false},
    {TR_B_N_BIT_COUNT, fold_bits, 1, false},
    {TR_B_N_REAL, fold_itself, 0, false},
    {TR_B_N_CONJUGATE, fold_itself, 0, false},
};

/* The arguments that are given, one after the other; of max() and min() a single tuple's items in its place.
 * False: none, or not all are literals. */
static bool arguments(known *k, const tr_bcall *c) {
    bool one = c->nvar == 1 && (c->row == TR_B_MAX || c->row == TR_B_MIN);
    if (one && (c->var[0].ty->kind != TR_TY_TUPLE || c->a[2].ty)) /* or what there is of an empty one */
        return false;
    uint32_t nvar = one ? c->var[0].ty->n : c->nvar;
    tr_tv *x = TR_NEW_N(k->a, tr_tv, c->n + nvar + 1u);
    for (uint32_t i = 0; i < nvar; i++)
        x[k->n++] = one ? tr_em_item(k->e, c->var[0], i) : c->var[i];
    for (uint32_t i = 0; i < c->n; i++)
        if (c->a[i].ty && !tr_tv_is_none(c->a[i]))
            x[k->n++] = c->a[i];
    k->x = x;
    k->ints = TR_NEW_N(k->a, tr_bigint, k->n + 1u);
    for (uint32_t i = 0; i < k->n; i++)
        if (x[i].ty->kind != TR_TY_LIT)
            return false;
    return k->n > 0;
}

bool tr_lib_known(tr_em *e, const tr_bcall *c, tr_tv *out) {
    uint32_t i = 0;
    while (i < sizeof rows / sizeof *rows && rows[i].row != c->row)
        i++;
    if (i == sizeof rows / sizeof *rows || e->opts->promote_numba)
        return false;
    known k = {.e = e, .a = &e->ctx->arena, .how = rows[i].how};
    if (!arguments(&k, c) || (k.n > 1 && c->row == TR_B_INT)) /* a base is of strings */
        return false;
    double v;
    if (rows[i].of_float && k.n == 1 && k.x[0].ty->lit->kind == TR_OBJ_FLOAT && tr_tv_lit_real(k.x[0], &v))
        return fold_float(&k, v, out);
    for (uint32_t j = 0; j < k.n; j++)
        if (!tr_tv_lit_integer(k.x[j], &k.ints[j]))
            return false;
    return rows[i].fn(&k, out);
}
