/* Decimal digits against the C library's. `test_test_digits N` tries N random numbers of each kind. */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/strbuf.h"
#include "rt/fns.h"

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static double of_bits(uint64_t u) {
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static double any_float(int bits) {
    for (;;) {
        uint64_t u = next_random();
        float f;
        uint32_t w = (uint32_t)(u >> 32) & 0x7fffffff;
        memcpy(&f, &w, sizeof f);
        double x = bits == 64 ? of_bits(u >> 1) : (double)f;
        if (isfinite(x) && x != 0)
            return x;
    }
}

static void expect(const char *got, const char *want, double x) {
    if (strcmp(got, want) != 0) {
        fprintf(stderr, "%a: got %s, want %s\n", x, got, want);
        abort();
    }
}

/* --- the shortest digits, by trying --- */

static bool reads_back(double x, int bits, const char *s) {
    return bits == 16   ? (double)(_Float16)strtod(s, NULL) == x
           : bits == 32 ? strtof(s, NULL) == (float)x
                        : strtod(s, NULL) == x;
}

/* The decimals of n digits below and above x, and of these that read back the nearer one: "%.*e" of it. It is
 * the one that is correctly rounded, unless the interval's other side is narrower, beneath a power of two. */
static bool of_digits(double x, int bits, int n, char *s, size_t room) {
    snprintf(s, room, "%.*e", n - 1, x);
    if (reads_back(x, bits, s))
        return true;
    char *e = strchr(s, 'e'), *d = e;
    int exp = atoi(e + 1);
    while (d-- > s) { /* the next one above */
        if (*d == '.')
            continue;
        if (*d < '9') {
            ++*d;
            return reads_back(x, bits, s);
        }
        *d = '0';
    }
    snprintf(s, room, "1e%d", exp + 1);
    return reads_back(x, bits, s);
}

static void check_shortest(double x, int bits, int from) {
    char want[64], got[64];
    int n = from;
    while (!of_digits(x, bits, n, want, sizeof want))
        n++;
    tr_decimal d = tr_digits_shortest(x, bits);
    assert(d.digits % 10 && "no zeros at the end");
    snprintf(got, sizeof got, "%llue%d", (unsigned long long)d.digits, d.exp);
    /* the same digits, and the same number, which has no others */
    char a[32], b[32];
    unsigned na = 0, nb = tr_digits_uint(d.digits, b);
    for (const char *s = want; *s != 'e'; s++)
        if (*s != '.')
            a[na++] = *s;
    while (na > 1 && a[na - 1] == '0')
        na--;
    int exp = atoi(strchr(want, 'e') + 1) - (int)na + 1;
    if (na != nb || memcmp(a, b, na) != 0 || exp != d.exp) {
        fprintf(stderr, "%a of %d bits: got %s, want %s\n", x, bits, got, want);
        abort();
    }
    /* as repr() has it: the same number again */
    char t[TR_DIGITS_FLOAT + 1];
    unsigned k = tr_digits_float(x, bits, true, t);
    assert(k <= TR_DIGITS_FLOAT);
    t[k] = 0;
    assert(reads_back(x, bits, t) && strpbrk(t, ".e") && strtod(t, NULL) == strtod(got, NULL));
}

/* And its neighbours. */
static void check_about(double x) {
    check_shortest(x, 64, 1);
    if (x < DBL_MAX)
        check_shortest(nextafter(x, INFINITY), 64, 1);
    if (nextafter(x, 0) > 0)
        check_shortest(nextafter(x, 0), 64, 1);
    float f = (float)x;
    if (f > 0 && isfinite(f)) {
        check_shortest((double)f, 32, 1);
        if (f < FLT_MAX)
            check_shortest((double)nextafterf(f, INFINITY), 32, 1);
        if (nextafterf(f, 0) > 0)
            check_shortest((double)nextafterf(f, 0), 32, 1);
    }
}

static void test_shortest(long n) {
    char s[32];
    for (int k = -1074; k < 1024; k++)
        check_about(ldexp(1, k));
    for (int k = -323; k <= 308; k++) {
        snprintf(s, sizeof s, "1e%d", k);
        check_about(strtod(s, NULL));
    }
    for (unsigned k = 1; k < 0x7c00; k++) {
        uint16_t w = (uint16_t)k;
        _Float16 x;
        memcpy(&x, &w, sizeof x);
        check_shortest((double)x, 16, 1);
    }
    for (long k = 0; k < n; k++) {
        double x = any_float(64), y = any_float(32);
        check_shortest(x, 64, x < DBL_MIN ? 1 : 15); /* any of so few digits is some float's */
        check_shortest(y, 32, y < FLT_MIN ? 1 : 6);
    }
    for (long k = 0; k < n / 4; k++) { /* short ones, whole ones, halves */
        uint64_t u = next_random();
        snprintf(s, sizeof s, "%llue%d", (unsigned long long)(u >> (u % 60)) % 100000000000000000u + 1,
                 (int)(next_random() % 40) - 20);
        check_shortest(strtod(s, NULL), 64, 1);
        check_shortest((double)strtof(s, NULL), 32, 1);
        check_shortest((double)(next_random() >> (u % 60)) / (double)(1u << u % 30) + 0.25, 64, 1);
    }
}

static void expect_repr(double x, int bits, bool dot, const char *want) {
    char b[TR_DIGITS_FLOAT + 1];
    b[tr_digits_float(x, bits, dot, b)] = 0;
    expect(b, want, x);
}

static void test_repr(void) {
    expect_repr(0.0, 64, true, "0.0");
    expect_repr(-0.0, 64, true, "-0.0");
    expect_repr(0.1, 64, true, "0.1");
    expect_repr(1e16, 64, true, "1e+16");
    expect_repr(9999999999999998.0, 64, true, "9999999999999998.0");
    expect_repr(1e15, 64, true, "1000000000000000.0");
    expect_repr(1e-4, 64, true, "0.0001");
    expect_repr(1.25e-5, 64, true, "1.25e-05");
    expect_repr(0x1p-44, 64, true, "5.684341886080802e-14"); /* lopsided interval */
    expect_repr(5e-324, 64, true, "5e-324");
    expect_repr(1.7976931348623157e308, 64, true, "1.7976931348623157e+308");
    expect_repr(-(double)INFINITY, 64, true, "-inf");
    expect_repr((double)NAN, 64, true, "nan");
    expect_repr(1.0, 64, false, "1");
    expect_repr((double)0.1f, 32, true, "0.1");
    expect_repr((double)16777216.0f, 32, true, "16777216.0");
    expect_repr((double)1e-45f, 32, true, "1e-45");
    expect_repr((double)(_Float16)0.1, 16, true, "0.1");
    expect_repr(65504.0, 16, true, "65500.0"); /* the largest */
    expect_repr(2048.0, 16, true, "2048.0");
    expect_repr(0x1p-24, 16, true, "6e-08"); /* the least */
    expect_repr(0x1p-14, 16, true, "6.104e-05");
    expect_repr(1125899906842624.25, 64, true, "1125899906842624.2"); /* ties */
    expect_repr(1125899906842624.75, 64, true, "1125899906842624.8");
    expect_repr(-1.2345678901234568e-300, 64, true, "-1.2345678901234568e-300");
    expect_repr(123456789012345680.0, 64, true, "1.2345678901234568e+17");
}

/* --- integers --- */

static void check_integer(uint64_t x) {
    char got[TR_DIGITS_INT + 1], want[32];
    got[tr_digits_uint(x, got)] = 0;
    snprintf(want, sizeof want, "%llu", (unsigned long long)x);
    expect(got, want, (double)x);
    got[tr_digits_int((int64_t)x, got)] = 0;
    snprintf(want, sizeof want, "%lld", (long long)x);
    expect(got, want, (double)x);
}

static void test_integers(long n) {
    for (uint64_t x = 1;; x *= 10) {
        check_integer(x - 1);
        check_integer(x);
        check_integer(x + 1);
        check_integer(0 - x);
        if (x > UINT64_MAX / 10)
            break;
    }
    for (unsigned k = 0; k < 64; k++)
        check_integer(UINT64_C(1) << k);
    check_integer(UINT64_MAX);
    for (long k = 0; k < n; k++) {
        uint64_t u = next_random();
        check_integer(u >> (u & 63));
    }
    char s[8];
    tr_digits_padded(42, 7, s);
    assert(!memcmp(s, "0000042", 7));
    tr_digits_padded(123456789, 2, s);
    assert(!memcmp(s, "89", 2));
}

/* --- so many digits --- */

/* How often there was an answer, for one that is always "ask another" would pass. */
static long told, asked;

static void check_rounded(double x, int n) {
    tr_decimal d;
    char want[64], got[64], b[32];
    asked++;
    if (!tr_digits_rounded(x, n, &d))
        return;
    told++;
    snprintf(want, sizeof want, "%.*e", n - 1, x);
    tr_digits_padded(d.digits, (unsigned)n, b);
    snprintf(got, sizeof got, "%c%s%.*se%+03d", b[0], n > 1 ? "." : "", n - 1, b + 1, d.exp + n - 1);
    expect(got, want, x);
}

static void check_fixed(double x, int places) {
    uint64_t d;
    char want[512], got[64], b[32];
    asked++;
    if (!tr_digits_scaled(x, places, &d))
        return;
    told++;
    snprintf(want, sizeof want, "%.*f", places, x);
    unsigned n = tr_digits_uint(d, b), p = (unsigned)places;
    if (n <= p)
        tr_digits_padded(d, n = p + 1, b);
    snprintf(got, sizeof got, "%.*s%s%.*s", (int)(n - p), b, p ? "." : "", (int)p, b + n - p);
    expect(got, want, x);
}

static void check_round(double x, int places) {
    char s[512];
    snprintf(s, sizeof s, "%.*f", places, x);
    double want = strtod(s, NULL), got = tr_rt_round(x, places);
    assert(memcmp(&want, &got, sizeof want) == 0 && "round() is by way of the text");
}

static void test_rounded(long n) {
    for (long k = 0; k < n; k++) {
        uint64_t u = next_random();
        double x = any_float(64), near = ldexp((double)(u >> 11), (int)(next_random() % 90) - 80);
        int digits = 1 + (int)(u % 17);
        check_rounded(x, digits);
        check_rounded(near + 1, digits);
    }
    assert(told > asked - asked / 1000 && "hardly a number is too near to a half");
    told = asked = 0;
    for (long k = 0; k < n; k++) {
        uint64_t u = next_random(), v = next_random();
        int places = (int)(u % 18);
        /* some of 53 bits with an exponent, short decimals, halves of these, which are ties */
        double x = ldexp((double)(u >> 11), -(int)(v % 75)), y = (double)(v % 1000000) / 1000,
               z = ldexp((double)(v % 100000), -(int)(u % 9));
        check_fixed(x, places);
        check_fixed(y, places % 5);
        check_fixed(z, places % 9);
        check_round(k & 1 ? -x : x, places);
        check_round(k & 1 ? -y : y, places % 5);
        check_round(z, places % 9);
    }
    assert(told > asked / 2 && "most fit a word");
}

/* Ties, where the even digit is taken; the last place of a carry; numbers that nothing is left of. */
static void test_ties(void) {
    uint64_t d;
    for (int p = 0; p < 18;
         p++) /* 5**p / 2, whose even neighbour is below and above by turns; told, for the power fits */
        assert(tr_digits_scaled(ldexp(1, -p - 1), p, &d) && d % 2 == 0);
    for (int k = 0; k < 4000; k++) {
        double x = k / 8.0;
        for (int p = 0; p < 4; p++)
            check_fixed(x, p);
        for (int n = 1; n < 8; n++)
            check_rounded(x, n);
    }
    static const double xs[] = {9.5,    99.5,   999.9996, 0.9999999, 9.9999999999999982,
                                1e22,   1e23,   9e15,     5e-324,    1e-300,
                                1e-25,  0.5,    0.05,     DBL_MAX,   1e300,
                                0x1p63, 0x1p64, 12500000, 35e20,     8.5,
                                2.5e-5, DBL_MIN};
    for (unsigned k = 0; k < sizeof xs / sizeof *xs; k++) {
        for (int p = 0; p < 20; p++)
            check_fixed(xs[k], p);
        for (int n = 1; n < 18; n++)
            check_rounded(xs[k], n);
    }
}

/* --- format specifications, which come to the same digits or to the C library's --- */

static void check_spec(double x, char type, int places) {
    char spec[16], format[8] = {'%', '.', '*', type}, want[1400];
    tr_sb b;
    tr_sb_init(&b);
    tr_sb_puts(&b, "text before ");
    size_t from = b.n;
    snprintf(spec, sizeof spec, ".%d%c", places, type);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(want, sizeof want, format, places, x);
#pragma GCC diagnostic pop
    tr_rt_spec_float(spec, x, &b);
    expect(b.d + from, want, x);
    tr_sb_fini(&b);
}

static void test_specs(long n) {
    for (long k = 0; k < n; k++) {
        uint64_t u = next_random();
        double x = k & 1 ? any_float(64) : ldexp((double)(u >> 11), -(int)(u % 80));
        int places = k % 50 ? (int)(u % 20) : (int)(u % 400);
        check_spec(k & 2 ? -x : x, "feEgG"[next_random() % 5], places);
    }
    for (int p = 0; p < 20; p++)
        for (int t = 0; t < 5; t++) {
            check_spec(0, "feEgG"[t], p);
            check_spec(-0.0, "feEgG"[t], p);
            check_spec(123456, "feEgG"[t], p);
            check_spec(9999.9999999, "feEgG"[t], p);
        }
}

int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 200000;
    test_integers(n);
    test_repr();
    test_shortest(n);
    test_rounded(n);
    test_ties();
    test_specs(n);
    return 0;
}
