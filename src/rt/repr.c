/* The shortest decimal text that reads back to the same float, laid out as Python's repr() does.
 *
 * Method: print with correct rounding at growing precision until strtod (strtof) gives the value back. At a
 * power of two the interval of decimals that read back is lopsided, and the correctly rounded digits may miss
 * it while the next decimal above does not; so that neighbour is tried too.
 * Cost: about 1 us, 20 us for
 * subnormals. A float32 is laid out by the same rule (exponent from 1e16 on); NumPy's own rule for it changed
 * between versions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/fns.h"

enum { DIGITS = 17 };

static int reads_back(double x, int bits, const char *digits, unsigned n, int exp10) {
    char b[48];
    snprintf(b, sizeof b, "%c.%.*se%d", digits[0], (int)n - 1, digits + 1, exp10);
    double back = strtod(b, NULL);
    return bits == 16 ? (double)(_Float16)back == x : bits == 32 ? strtof(b, NULL) == (float)x : back == x;
}

/* Adds one in the last place. */
static void next_up(char *digits, unsigned n, int *exp10) {
    unsigned i = n;
    while (i > 0 && digits[i - 1] == '9')
        digits[--i] = '0';
    if (i > 0) {
        digits[i - 1]++;
        return;
    }
    digits[0] = '1'; /* 99..9 -> 10..0 */
    ++*exp10;
}

/* Digits (no trailing zeros) and decimal exponent of the first one, for finite x > 0. */
static unsigned shortest(double x, int bits, char digits[DIGITS + 1], int *exp10) {
    /* Up to `exact` digits any decimal survives the trip through a normal float, so shorter ones are found by
     * cutting zeros. Subnormals have fewer digits: start at one. */
    int normal = x >= (bits == 16 ? 0x1p-14 : bits == 32 ? 0x1p-126 : 0x1p-1022);
    unsigned exact = bits == 16 ? 3 : bits == 32 ? 6 : 15, most = bits == 16 ? 5 : bits == 32 ? 9 : 17;
    unsigned n = normal ? exact : 1;
    for (;; n++) {
        char b[40];
        snprintf(b, sizeof b, "%.*e", (int)n - 1, x);
        digits[0] = b[0];
        if (n > 1)
            memcpy(digits + 1, b + 2, n - 1);
        *exp10 = atoi(strchr(b, 'e') + 1);
        if (n == most || reads_back(x, bits, digits, n, *exp10))
            break;
        char up[DIGITS + 1];
        int up_exp = *exp10;
        memcpy(up, digits, n);
        next_up(up, n, &up_exp);
        if (reads_back(x, bits, up, n, up_exp)) {
            memcpy(digits, up, n);
            *exp10 = up_exp;
            break;
        }
    }
    while (n > 1 && digits[n - 1] == '0')
        n--;
    return n;
}

unsigned tr_rt_repr(double x, int bits, int dot, char *out) {
    if (isnan(x)) {
        memcpy(out, "nan", 3);
        return 3;
    }
    char *o = out;
    if (signbit(x)) {
        *o++ = '-';
        x = -x;
    }
    if (isinf(x)) {
        memcpy(o, "inf", 3);
        return (unsigned)(o + 3 - out);
    }
    char d[DIGITS + 1] = "0";
    int e = 0;
    unsigned n = x == 0.0 ? 1 : shortest(x, bits, d, &e);
    if (e < -4 || e >= 16) {
        *o++ = d[0];
        if (n > 1) {
            *o++ = '.';
            memcpy(o, d + 1, n - 1);
            o += n - 1;
        }
        return (unsigned)(o - out) + (unsigned)sprintf(o, "e%c%02d", e < 0 ? '-' : '+', abs(e));
    }
    if (e < 0) {
        *o++ = '0';
        *o++ = '.';
        for (int i = -1; i > e; i--)
            *o++ = '0';
        memcpy(o, d, n);
        return (unsigned)(o + n - out);
    }
    unsigned whole = (unsigned)e + 1;
    for (unsigned i = 0; i < whole; i++)
        *o++ = i < n ? d[i] : '0';
    if (n > whole) {
        *o++ = '.';
        memcpy(o, d + whole, n - whole);
        o += n - whole;
    } else if (dot) {
        *o++ = '.';
        *o++ = '0';
    }
    return (unsigned)(o - out);
}

unsigned tr_rt_complex_repr(double re, double im, int f32, char *out) {
    unsigned n = 0;
    /* A positive zero real part is not shown; -0.0 is. */
    int whole = re != 0.0 || signbit(re);
    if (whole) {
        out[n++] = '(';
        n += tr_rt_repr(re, f32 ? 32 : 64, 0, out + n);
        if (isnan(im) || !signbit(im))
            out[n++] = '+';
    }
    n += tr_rt_repr(im, f32 ? 32 : 64, 0, out + n);
    out[n++] = 'j';
    if (whole)
        out[n++] = ')';
    return n;
}
