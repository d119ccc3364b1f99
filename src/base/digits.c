/* Decimal digits by one table of powers of ten (pow10.def), of 126 bits each, rounded down.
 *
 * Shortest digits: R. Giulietti's method, "The Schubfach way to render doubles" (2021). Let v = c * 2**q
 * be the number, and 10**k the largest power of ten that is no wider than the interval of what reads back
 * to v. Then a multiple of 10**k lies in that interval, and at most one of 10**(k+1), which has fewer
 * digits. To see which, v and the ends of the interval, four times each, are divided by 10**k: a product
 * of 64 and 126 bits. The quotients are compared with even integers, for which their whole part does, and
 * whether there is a rest, which is put into its last bit. The power may be one unit in its last place too
 * large, and a quotient 2**-63; tools/gen_digits.py proves that none that is no even integer lies so near
 * to one. A float32 or a float16 is a number of the same form: only its interval is another one.
 *
 * So many digits as are asked for: c * 2**q * 10**places by the same product, the bits behind its point
 * being compared with a half. It is exact for 0 to 54 places, where the power fits; else its error is
 * below one of c's units, and the comparison is sure but for one number in 2**60, and for ties. */
#include "base/digits.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef unsigned __int128 u128;

/* The first 126 bits of a power of ten. */
typedef struct power {
    uint64_t hi, lo;
} power;

static const power powers[] = {
#define X(hi, lo) {hi, lo},
#include "base/pow10.def"
#undef X
};

enum { FIRST = -308, LAST = 340, EXACT = 54 };
_Static_assert(sizeof powers / sizeof *powers == LAST - FIRST + 1, "one for each exponent");

/* --- integers --- */

static const char pairs[] = "00010203040506070809"
                            "10111213141516171819"
                            "20212223242526272829"
                            "30313233343536373839"
                            "40414243444546474849"
                            "50515253545556575859"
                            "60616263646566676869"
                            "70717273747576777879"
                            "80818283848586878889"
                            "90919293949596979899";

/* The powers of ten that a word has. */
/* clang-format off */
static const uint64_t units[] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000,
    1000000000000, 10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000,
    1000000000000000000, 10000000000000000000u,
};
/* clang-format on */
enum { UNITS = sizeof units / sizeof *units };

/* How many digits x has; of 0, one. */
static unsigned count(uint64_t x) {
    unsigned bits = 64 - (unsigned)__builtin_clzll(x | 1), n = bits * 1233 >> 12; /* log10(2) is 1233/4096 */
    return n + (n < UNITS && (x | 1) >= units[n]);
}

/* The last n digits, n <= 8. */
static void put_few(uint32_t x, unsigned n, char *out) {
    char *p = out + n;
    for (; n >= 2; n -= 2, x /= 100)
        memcpy(p -= 2, pairs + 2 * (x % 100), 2);
    if (n)
        *--p = (char)('0' + x % 10);
}

void tr_digits_padded(uint64_t x, unsigned n, char *out) {
    for (; n > 8; n -= 8, x /= 100000000)
        put_few((uint32_t)(x % 100000000), 8, out + n - 8);
    put_few((uint32_t)(x % 100000000), n, out);
}

unsigned tr_digits_uint(uint64_t x, char *out) {
    unsigned n = count(x);
    tr_digits_padded(x, n, out);
    return n;
}

unsigned tr_digits_int(int64_t x, char *out) {
    *out = '-';
    return x < 0 ? 1 + tr_digits_uint(0 - (uint64_t)x, out + 1) : tr_digits_uint((uint64_t)x, out);
}

/* --- products --- */

/* floor(q * log10(2)), floor(q * log10(2) + log10(3/4)) and floor(k * log2(10)), for all q and k of
 * floats. */
static int log10_of(int q) {
    return (int)(q * INT64_C(1292913986) >> 32);
}

static int log10_of_three_quarters(int q) {
    return (int)((q * INT64_C(1292913986) - 536607787) >> 32);
}

static int log2_of(int k) {
    return (int)(k * INT64_C(14267572527) >> 32);
}

/* x = c * 2**q, x finite and > 0. */
static uint64_t take_apart(double x, int *q) {
    uint64_t u, hidden = UINT64_C(1) << 52;
    memcpy(&u, &x, sizeof u);
    int exp = (int)(u >> 52);
    assert(exp >= 0 && exp < 0x7ff && u && "finite and above zero");
    *q = (exp ? exp : 1) - 1075;
    return exp ? (u & (hidden - 1)) | hidden : u;
}

/* floor(x * g / 2**127), and 1 more where that is even and there is a rest. */
static uint64_t quotient(uint64_t x, power g) {
    u128 top = (u128)x * g.hi + (uint64_t)((u128)x * g.lo >> 64); /* below 2**126 */
    return (uint64_t)(top >> 63) | (((uint64_t)top & (UINT64_MAX >> 1)) != 0);
}

/* --- shortest digits --- */

static tr_decimal without_zeros(uint64_t d, int exp) {
    static const struct {
        uint64_t unit;
        int n;
    } steps[] = {{100000000, 8}, {10000, 4}, {100, 2}, {10, 1}};
    for (unsigned i = d % 10 ? 4 : 0; i < sizeof steps / sizeof *steps; i++)
        while (d % steps[i].unit == 0) {
            d /= steps[i].unit;
            exp += steps[i].n;
        }
    return (tr_decimal){d, exp};
}

/* c * 2**q, which `narrow` says has numbers below it that lie half as near as those above. */
static tr_decimal shortest(uint64_t c, int q, bool narrow) {
    uint64_t odd = c & 1; /* what reads back to an even number includes the ends */
    int k = narrow ? log10_of_three_quarters(q) : log10_of(q), up = q + log2_of(-k) + 2;
    assert(-k >= FIRST && -k <= LAST && up >= 0 && up < 8 && "it is divided by about its unit");
    power g = powers[-k - FIRST];
    g.hi += ++g.lo == 0;
    uint64_t v = quotient(4 * c << up, g), from = quotient((4 * c - 2 + narrow) << up, g) + odd,
             to = quotient((4 * c + 2) << up, g) - odd;
    uint64_t d = v / 4,
             ten = d / 10 * 10; /* multiples of 10**k and 10**(k+1), v is between them and the next */
    if (ten && from <= 4 * ten)
        return without_zeros(ten, k);
    if (4 * (ten + 10) <= to)
        return without_zeros(ten + 10, k);
    bool low = from <= 4 * d, high = 4 * (d + 1) <= to;
    bool nearer_above = v > 4 * d + 2 || (v == 4 * d + 2 && d & 1);
    assert((low || high) && "one of them reads back");
    return without_zeros(d + (low && high ? nearer_above : high), k);
}

tr_decimal tr_digits_shortest(double x, int bits) {
    /* of a normal number: its bits, and the exponent of its last place at least */
    int wide = bits == 16   ? 11
               : bits == 32 ? 24
                            : 53,
        least = bits == 16   ? -24
                : bits == 32 ? -149
                             : -1074,
        q;
    uint64_t c = take_apart(x, &q);
    int more = 53 - wide, lost = q + more < least ? least - q : more; /* bits that float64 alone has */
    assert(!(c & ((UINT64_C(1) << lost) - 1)) && "a number of so many bits");
    c >>= lost;
    q += lost;
    if (q <= 0 && q > -wide &&
        !(c & ((UINT64_C(1) << -q) - 1))) /* whole, and what reads back is at most a half away */
        return without_zeros(c >> -q, 0);
    return shortest(c, q, c == UINT64_C(1) << (wide - 1) && q > least);
}

/* --- so many digits --- */

bool tr_digits_scaled(double x, int places, uint64_t *out) {
    *out = 0;
    if (x == 0)
        return true;
    if (places < FIRST || places > LAST)
        return false;
    int q;
    uint64_t c = take_apart(x, &q);
    power t = powers[places - FIRST];
    int down = -(q + log2_of(places) - 125) - 64; /* behind the words that are dropped */
    u128 low = (u128)c * t.lo, top = (u128)c * t.hi + (uint64_t)(low >> 64);
    uint64_t rest = (uint64_t)low;
    if (down > 127)
        return true; /* it is less than a quarter */
    if (down < 1 || top >> down >> 64)
        return false;
    u128 half = (u128)1 << (down - 1), behind = top & (2 * half - 1);
    uint64_t whole = (uint64_t)(top >> down);
    bool exact = places >= 0 && places <= EXACT, up = behind >= half;
    if (exact && behind == half && !rest)
        up = whole & 1;
    *out = whole + up;
    /* What is missing of the power makes less than c. */
    bool sure = exact || behind != half - 1 || rest + c >= rest;
    return sure && *out >= whole;
}

bool tr_digits_rounded(double x, int n, tr_decimal *out) {
    assert(n >= 1 && n <= 17 && "as many as float64 has");
    *out = (tr_decimal){0, 1 - n};
    if (x == 0)
        return true;
    int q;
    uint64_t c = take_apart(x, &q);
    int first = log10_of(q + 63 - __builtin_clzll(c)), places = n - 1 - first; /* or one less */
    out->exp = -places;
    if (!tr_digits_scaled(x, places, &out->digits))
        return false;
    if (out->digits < units[n])
        return true;
    out->exp++;
    return tr_digits_scaled(x, places - 1, &out->digits);
}

/* --- repr() --- */

static unsigned put(char *out, const char *s) {
    size_t n = strlen(s);
    memcpy(out, s, n);
    return (unsigned)n;
}

/* The digits of x, and a point before the last `places` of them, places > 0. */
static unsigned put_point(uint64_t x, unsigned places, char *out) {
    unsigned n = tr_digits_uint(x, out + 1);
    assert(places < n && "digits on both sides");
    memmove(out, out + 1, n - places);
    out[n - places] = '.';
    return n + 1;
}

unsigned tr_digits_exp(int exp, char *out) {
    unsigned e = (unsigned)(exp < 0 ? -exp : exp), n = e < 100 ? 2 : 3;
    out[0] = 'e';
    out[1] = exp < 0 ? '-' : '+';
    tr_digits_padded(e, n, out + 2);
    return 2 + n;
}

static unsigned put_decimal(tr_decimal d, bool dot, char *out) {
    int n = (int)count(d.digits), first = n - 1 + d.exp; /* the power of ten of the first digit */
    unsigned at;
    if (first < -4 || first >= 16) {
        at = n > 1 ? put_point(d.digits, (unsigned)n - 1, out) : tr_digits_uint(d.digits, out);
        return at + tr_digits_exp(first, out + at);
    }
    if (first < 0) {
        memcpy(out, "0.000", 5);
        at = 1u + (unsigned)-first;
        return at + tr_digits_uint(d.digits, out + at);
    }
    if (d.exp < 0)
        return put_point(d.digits, (unsigned)-d.exp, out);
    at = tr_digits_uint(d.digits, out);
    memset(out + at, '0', (size_t)d.exp);
    at += (unsigned)d.exp;
    return at + put(out + at, dot ? ".0" : "");
}

unsigned tr_digits_float(double x, int bits, bool dot, char *out) {
    if (isnan(x))
        return put(out, "nan");
    unsigned sign = signbit(x) ? put(out, "-") : 0;
    if (isinf(x))
        return sign + put(out + sign, "inf");
    tr_decimal d = {0, 0};
    return sign + put_decimal(x == 0 ? d : tr_digits_shortest(fabs(x), bits), dot, out + sign);
}

unsigned tr_digits_complex(double re, double im, int bits, char *out) {
    unsigned n = 0;
    /* A positive zero real part is not shown; -0.0 is. */
    bool whole = re != 0.0 || signbit(re);
    if (whole) {
        out[n++] = '(';
        n += tr_digits_float(re, bits, false, out + n);
        if (isnan(im) || !signbit(im))
            out[n++] = '+';
    }
    n += tr_digits_float(im, bits, false, out + n);
    out[n++] = 'j';
    if (whole)
        out[n++] = ')';
    return n;
}
