/* Numbers by a format specification (base/fspec.h), as Python's format() writes them; print()
 * and the messages of exceptions have it from here. The specification was read when the
 * function was compiled, so it can be read. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fspec.h"
#include "rt/fns.h"

/* Writes the n digits of an integer, with separators, and as many zeros before them as make
 * them `least` characters. */
static void put_digits(const char *d, size_t n, char group, size_t each, size_t least, tr_sb *out) {
    size_t all = n;
    if (group)
        while (all + (all - 1) / each < least)
            all++;
    else if (all < least)
        all = least;
    for (size_t i = 0; i < all; i++) {
        tr_sb_putc(out, i < all - n ? '0' : d[i - (all - n)]);
        if (group && i + 1 < all && (all - 1 - i) % each == 0)
            tr_sb_putc(out, group);
    }
}

/* A number of a sign (with a prefix), whole digits and the rest. */
static void lay_out(const tr_fspec *s, const char *sign, const char *body, size_t whole, size_t each,
                    tr_sb *out) {
    size_t n = strlen(body), beside = strlen(sign) + (n - whole), width = (size_t)s->width;
    tr_sb b;
    tr_sb_init(&b);
    if (whole)
        put_digits(body, whole, s->group, each, s->zero_fill && width > beside ? width - beside : 0, &b);
    tr_sb_write(&b, body + whole, n - whole);
    tr_fspec_pad(s, sign, b.d ? b.d : "", b.n, b.n, out);
    out->oom |= b.oom;
    tr_sb_fini(&b);
}

static const char *sign_of(const tr_fspec *s, bool negative) {
    return negative ? "-" : s->sign == '+' ? "+" : s->sign == ' ' ? " " : "";
}

static void put_integer(const tr_fspec *s, bool negative, uint64_t v, tr_sb *out) {
    char sign[4], d[68], *p = d + sizeof d - 1;
    char type = s->type ? s->type : 'd';
    unsigned base = type == 'd' ? 10 : type == 'b' ? 2 : type == 'o' ? 8 : 16;
    snprintf(sign, sizeof sign, "%s", sign_of(s, negative));
    if (s->alt && type != 'd')
        snprintf(sign + strlen(sign), sizeof sign - strlen(sign), "0%c", type);
    *p = '\0';
    do
        *--p = (type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[v % base];
    while (v /= base);
    lay_out(s, sign, p, strlen(p), type == 'd' ? 3 : 4, out);
}

void tr_rt_spec_int(const char *spec, int64_t x, tr_sb *out) {
    tr_fspec s;
    if (tr_fspec_read(spec, 'i', &s))
        put_integer(&s, x < 0, x < 0 ? 0 - (uint64_t)x : (uint64_t)x, out);
}

void tr_rt_spec_uint(const char *spec, uint64_t x, tr_sb *out) {
    tr_fspec s;
    if (tr_fspec_read(spec, 'i', &s))
        put_integer(&s, false, x, out);
}

/* Without a type but with a precision: as `g`, but a point stays in what has no exponent, which
 * is therefore taken one digit earlier. */
static void put_general(tr_sb *b, int precision, double x) {
    int p = precision < 1 ? 1 : precision;
    tr_sb_printf(b, "%.*e", p - 1, x);
    char *e = b->d ? strchr(b->d, 'e') : NULL;
    if (!e)
        return;
    int exp10 = atoi(e + 1);
    if (exp10 >= -4 && exp10 + 1 < p) {
        tr_sb_reset(b);
        tr_sb_printf(b, "%.*f", p - 1 - exp10, x);
        size_t n = b->n;
        while (n && b->d[n - 1] == '0' && b->d[n - 2] != '.')
            n--;
        b->d[b->n = n] = '\0';
        return;
    }
    char tail[8];
    snprintf(tail, sizeof tail, "%s", e);
    size_t n = (size_t)(e - b->d);
    if (memchr(b->d, '.', n))
        while (b->d[n - 1] == '0')
            n--;
    if (b->d[n - 1] == '.')
        n--;
    b->d[b->n = n] = '\0';
    tr_sb_puts(b, tail);
}

/* `g` with all its digits: glibc's `%#g` drops the zeros of what is rounded up to a power of ten. */
static void put_all_digits(tr_sb *b, bool upper, int p, double x) {
    tr_sb_printf(b, upper ? "%#.*E" : "%#.*e", p - 1, x);
    const char *e = b->d ? strchr(b->d, upper ? 'E' : 'e') : NULL;
    int exp10 = e ? atoi(e + 1) : 0;
    if (!e || exp10 < -4 || exp10 >= p)
        return;
    tr_sb_reset(b);
    tr_sb_printf(b, "%#.*f", p - 1 - exp10, x);
}

/* x >= 0 and finite. */
static void put_magnitude(const tr_fspec *s, double x, tr_sb *b) {
    char type = s->type == '%' ? 'f' : s->type;
    if (!type && s->precision < 0) {
        char d[TR_RT_REPR_MAX];
        tr_sb_write(b, d, tr_rt_repr(x, 64, 1, d));
    } else if (!type) {
        put_general(b, s->precision, x);
    } else {
        /* constant formats, for the compiler reads them */
        int p = s->precision < 0 ? 6 : s->precision;
        switch (type) {
        case 'e': tr_sb_printf(b, s->alt ? "%#.*e" : "%.*e", p, x); break;
        case 'E': tr_sb_printf(b, s->alt ? "%#.*E" : "%.*E", p, x); break;
        case 'g':
        case 'G':
            if (s->alt)
                put_all_digits(b, type == 'G', p < 1 ? 1 : p, x);
            else
                tr_sb_printf(b, type == 'G' ? "%.*G" : "%.*g", p, x);
            break;
        default: tr_sb_printf(b, s->alt ? "%#.*f" : "%.*f", p, x); break;
        }
    }
    if (s->type == '%')
        tr_sb_putc(b, '%');
}

/* No digit but zeros, before an exponent. */
static bool shows_zero(const char *s) {
    return strcspn(s, "123456789eE") == strcspn(s, "eE");
}

void tr_rt_spec_float(const char *spec, double x, tr_sb *out) {
    tr_fspec s;
    tr_sb b;
    if (!tr_fspec_read(spec, 'f', &s))
        return;
    if (s.type == '%')
        x *= 100;
    bool negative = signbit(x) && !isnan(x);
    tr_sb_init(&b);
    if (isfinite(x))
        put_magnitude(&s, fabs(x), &b);
    else if (s.type && strchr("EFG", s.type))
        tr_sb_puts(&b, isnan(x) ? "NAN" : "INF");
    else
        tr_sb_printf(&b, "%s%s", isnan(x) ? "nan" : "inf", s.type == '%' ? "%" : "");
    const char *d = b.d ? b.d : "";
    if (s.z && negative && isfinite(x) && shows_zero(d))
        negative = false;
    lay_out(&s, sign_of(&s, negative), d, strspn(d, "0123456789"), 3, out);
    out->oom |= b.oom;
    tr_sb_fini(&b);
}
