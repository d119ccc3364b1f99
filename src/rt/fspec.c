/* Numbers by a format specification (base/fspec.h), as Python's format() writes them; print() and the
 * messages of exceptions have it from here. The specification was read when the function was
 * compiled, so it can be read.
 *
 * A number is written behind the text that is there, first its digits, which then move to make room for
 * what stands before them. Digits are exact: by base/digits.h, and by the C library where that has too
 * few. Without memory what was written is of no use, which `oom` says. Cost: some 50 ns. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/fspec.h"
#include "rt/fns.h"

static const char ten[] = "0123456789";

/* Makes room for n bytes in front of what stands at `at`. */
static char *insert(tr_sb *out, size_t at, size_t n) {
    assert(at <= out->n && "a place in the text");
    tr_sb_spaces(out, n);
    if (out->oom)
        return NULL;
    memmove(out->d + at + n, out->d + at, out->n - n - at);
    return out->d + at;
}

static void insert_text(tr_sb *out, size_t at, const char *s) {
    size_t n = strlen(s);
    char *to = out->oom ? NULL : insert(out, at, n);
    if (to)
        memcpy(to, s, n);
}

static char *put_fill(const tr_fspec *s, size_t times, char *to) {
    for (size_t n = strlen(s->fill); times; times--, to += n)
        memcpy(to, s->fill, n);
    return to;
}

/* Puts the sign (with a prefix) before what stands from `from` on, which begins with `whole` digits:
 * separators between these, zeros before them, fill around all. */
static void lay_out(const tr_fspec *s, const char *sign, size_t from, size_t whole, size_t each, tr_sb *out) {
    if (out->oom)
        return;
    size_t signs = strlen(sign), rest = out->n - from - whole, width = (size_t)s->width, n = whole;
    size_t least = s->zero_fill && width > signs + rest ? width - signs - rest : 0;
    while (n && n + (s->group ? (n - 1) / each : 0) < least)
        n++;
    size_t marks = n && s->group ? (n - 1) / each : 0, chars = signs + n + marks + rest;
    size_t before = tr_fspec_before(s, chars), front = before * strlen(s->fill) + signs + n + marks;
    assert(front >= whole && "digits move to the right alone");
    char *d = front > whole ? insert(out, from + whole, front - whole) : NULL;
    if (d) {
        d = out->d + from;
        char *to = d + front;
        for (size_t i = 0; i < n; i++) { /* from the last digit on */
            if (marks && i && i % each == 0)
                *--to = s->group;
            char digit = i < whole ? d[whole - 1 - i] : '0'; /* which the next line may write over */
            *--to = digit;
        }
        if (s->align != '=')
            d = put_fill(s, before, d);
        memcpy(d, sign, signs);
        if (s->align == '=')
            put_fill(s, before, d + signs);
    }
    tr_fspec_fill(s, tr_fspec_behind(s, chars), out);
}

static const char *sign_of(const tr_fspec *s, bool negative) {
    return negative ? "-" : s->sign == '+' ? "+" : s->sign == ' ' ? " " : "";
}

/* --- integers --- */

static unsigned in_base(uint64_t v, unsigned bits, bool upper, char *out) {
    unsigned n = 1;
    while (n * bits < 64 && v >> (n * bits))
        n++;
    for (unsigned i = n; i-- > 0; v >>= bits)
        out[i] = (upper ? "0123456789ABCDEF" : "0123456789abcdef")[v & ((1u << bits) - 1)];
    return n;
}

static void put_integer(const tr_fspec *s, bool negative, uint64_t v, tr_sb *out) {
    char sign[4], d[64] = {0}, type = s->type ? s->type : 'd';
    size_t from = out->n, signs;
    unsigned bits = type == 'b' ? 1 : type == 'o' ? 3 : 4, n;
    strcpy(sign, sign_of(s, negative));
    signs = strlen(sign);
    if (s->alt && type != 'd')
        memcpy(sign + signs, (char[]){'0', type, 0}, 3);
    n = type == 'd' ? tr_digits_uint(v, d) : in_base(v, bits, type == 'X', d);
    tr_sb_write(out, d, n);
    lay_out(s, sign, from, n, type == 'd' ? 3 : 4, out);
}

void tr_rt_spec_int(const char *spec, int64_t x, tr_sb *out) {
    tr_fspec s;
    if (tr_fspec_read(spec, 'i', NULL, &s, NULL))
        put_integer(&s, x < 0, x < 0 ? 0 - (uint64_t)x : (uint64_t)x, out);
}

void tr_rt_spec_uint(const char *spec, uint64_t x, tr_sb *out) {
    tr_fspec s;
    if (tr_fspec_read(spec, 'i', NULL, &s, NULL))
        put_integer(&s, false, x, out);
}

/* --- floats, x >= 0 and finite --- */

/* What the C library has written from `from` on ends with so many digits behind a point, which is any bytes
 * that the locale likes. */
static void take_point(tr_sb *out, size_t from, size_t places) {
    size_t whole = strspn(out->d + from, ten), point = out->n - from - whole - places;
    char *at = out->d + from + whole;
    assert(point && "a point is there");
    *at = '.';
    memmove(at + 1, at + point, places + 1);
    out->n -= point - 1;
}

static void put_fixed(double x, int places, bool alt, tr_sb *out) {
    uint64_t d;
    char t[1 + TR_DIGITS_INT];
    if (places < TR_DIGITS_INT && tr_digits_scaled(x, places, &d)) {
        unsigned n = tr_digits_uint(d, t + 1), p = (unsigned)places, point = p || alt;
        if (n <= p) /* a zero stands before the point, if nothing else */
            tr_digits_padded(d, n = p + 1, t + 1);
        if (point) {
            memmove(t, t + 1, n - p);
            t[n - p] = '.';
        }
        tr_sb_write(out, t + 1 - point, n + point);
        return;
    }
    size_t from = out->n;
    tr_sb_printf(out, "%.*f", places, x);
    if (!out->oom && places)
        take_point(out, from, (size_t)places);
    else if (alt)
        tr_sb_putc(out, '.');
}

/* n digits, without a point; gives the power of ten of the first one. */
static int put_digits(double x, int n, tr_sb *out) {
    tr_decimal d;
    char t[TR_DIGITS_INT];
    if (n <= 17 && tr_digits_rounded(x, n, &d)) {
        tr_digits_padded(d.digits, (unsigned)n, t);
        tr_sb_write(out, t, (size_t)n);
        return d.exp + n - 1;
    }
    size_t from = out->n, more = (size_t)n - 1;
    tr_sb_printf(out, "%.*e", n - 1, x);
    if (out->oom)
        return 0;
    char *e = strchr(out->d + from, 'e');
    int first = atoi(e + 1);
    memmove(out->d + from + 1, e - more, more);
    out->n = from + (size_t)n;
    out->d[out->n] = '\0';
    return first;
}

static void put_exp(int exp, bool upper, tr_sb *out) {
    char t[TR_DIGITS_INT];
    unsigned n = tr_digits_exp(exp, t);
    if (upper)
        t[0] = 'E';
    tr_sb_write(out, t, n);
}

static void put_scientific(double x, int places, const tr_fspec *s, tr_sb *out) {
    size_t from = out->n;
    int exp = put_digits(x, places + 1, out);
    if (places || s->alt)
        insert_text(out, from + 1, ".");
    put_exp(exp, s->type == 'E', out);
}

/* `g`: digits without zeros at their end, with an exponent where that is large. `dot`: as without a type,
 * where a point stays in what has no exponent, which is therefore taken one digit earlier. */
static void put_general(double x, int digits, bool dot, const tr_fspec *s, tr_sb *out) {
    size_t from = out->n, n = digits < 1 ? 1 : (size_t)digits;
    int exp = put_digits(x, (int)n, out), point = exp + 1;
    bool scientific = exp < -4 || exp >= (int)n - dot;
    if (out->oom)
        return;
    while (!s->alt && n > 1 && out->d[from + n - 1] == '0')
        n--;
    out->d[out->n = from + n] = '\0';
    if (scientific) {
        if (n > 1 || s->alt)
            insert_text(out, from + 1, ".");
        put_exp(exp, s->type == 'G', out);
    } else if (exp < 0) {
        insert_text(out, from, exp == -1 ? "0." : exp == -2 ? "0.0" : exp == -3 ? "0.00" : "0.000");
    } else if (n > (size_t)point) {
        insert_text(out, from + (size_t)point, ".");
    } else {
        for (; n < (size_t)point; n++)
            tr_sb_putc(out, '0');
        tr_sb_puts(out, dot ? ".0" : s->alt ? "." : "");
    }
}

/* repr(), and with `#` a point in any case. */
static void put_shortest(double x, bool dot, bool alt, tr_sb *out) {
    char t[TR_DIGITS_FLOAT];
    size_t from = out->n, n = tr_digits_float(x, 64, dot, t);
    tr_sb_write(out, t, n);
    if (alt && !memchr(t, '.', n))
        insert_text(out, from + strspn(t, ten), ".");
}

/* Does what is written show no digit but zeros, before an exponent? */
static bool shows_zero(const char *s) {
    return strcspn(s, "123456789eE") == strcspn(s, "eE");
}

/* One float. `dot`: repr() of it has a point, which that of a part of a complex number has not. */
static void put_float(const tr_fspec *s, double x, bool dot, tr_sb *out) {
    size_t from = out->n;
    int places = s->precision < 0 ? 6 : s->precision;
    if (s->type == '%')
        x *= 100;
    bool negative = signbit(x) && !isnan(x);
    x = fabs(x);
    if (!isfinite(x))
        tr_sb_puts(out, s->type && strchr("EFG", s->type) ? isnan(x) ? "NAN" : "INF"
                        : isnan(x)                        ? "nan"
                                                          : "inf");
    else if (!s->type && s->precision < 0)
        put_shortest(x, dot, s->alt, out);
    else if (s->type == 'e' || s->type == 'E')
        put_scientific(x, places, s, out);
    else if (!s->type || s->type == 'g' || s->type == 'G')
        put_general(x, places, dot && !s->type, s, out);
    else
        put_fixed(x, places, s->alt, out);
    if (s->type == '%')
        tr_sb_putc(out, '%');
    if (out->oom)
        return;
    if (s->z && negative && isfinite(x) && shows_zero(out->d + from))
        negative = false;
    size_t whole = s->group || s->zero_fill ? strspn(out->d + from, ten) : 0; /* it matters for no others */
    lay_out(s, sign_of(s, negative), from, whole, 3, out);
}

void tr_rt_spec_float(const char *spec, double x, tr_sb *out) {
    tr_fspec s;
    if (tr_fspec_read(spec, 'f', NULL, &s, NULL))
        put_float(&s, x, true, out);
}

/* Both parts alike, the second one with a sign in any case, where the first one is shown: without a type, a
 * positive zero is not. */
void tr_rt_spec_complex(const char *spec, double re, double im, tr_sb *out) {
    tr_fspec s, part;
    size_t from = out->n;
    if (!tr_fspec_read(spec, 'c', NULL, &s, NULL))
        return;
    bool alone = !s.type && re == 0 && !signbit(re), enclosed = !s.type && !alone;
    part = s;
    part.width = 0;
    tr_sb_puts(out, enclosed ? "(" : "");
    if (!alone) {
        put_float(&part, re, false, out);
        part.sign = '+';
    }
    put_float(&part, im, false, out);
    tr_sb_puts(out, enclosed ? "j)" : "j");
    lay_out(&s, "", from, 0, 3, out);
}
