/* Numbers that strings spell, as Python's int() and float() read them: blanks around, underscores between
 * digits, decimal digits of any script; nothing else. A double is the nearest one, by the C library. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/enter.h"
#include "rt/fns.h"
#include "rt/str.h"
#include "rt/unicode.h"

/* Of ASCII's those that C has, fewer than str.isspace() says. */
static bool is_blank(uint32_t c) {
    return c < 0x80 ? c == ' ' || (c >= '\t' && c <= '\r') : tr_rt_char_is(c, TR_CHAR_SPACE);
}

/* Without the blanks around. */
static tr_str stripped(const tr_str *s) {
    int64_t from = 0, end = tr_str_len(s);
    while (from < end && is_blank(tr_str_at(s, from)))
        from++;
    while (end > from && is_blank(tr_str_at(s, end - 1)))
        end--;
    return tr_str_part(s, from, end - from);
}

/* A character as ASCII: a digit of any script is one. 0: there is no such, nor a NUL in a number. */
static char plain_at(const tr_str *s, int64_t i) {
    uint32_t c = i < tr_str_len(s) ? tr_str_at(s, i) : 0;
    int digit = c < 0x80 ? -1 : tr_rt_char(c)->decimal;
    return digit >= 0 ? (char)('0' + digit) : c < 0x80 ? (char)c : 0;
}

static int value_of(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'z' ? c - 'a' + 10
           : c >= 'A' && c <= 'Z' ? c - 'A' + 10
                                  : 99;
}

/* The base that a prefix names; 0: none stands there. */
static int64_t prefixed(const tr_str *s, int64_t at) {
    if (plain_at(s, at) != '0')
        return 0;
    switch (plain_at(s, at + 1)) {
    case 'x':
    case 'X': return 16;
    case 'o':
    case 'O': return 8;
    case 'b':
    case 'B': return 2;
    default: return 0;
    }
}

/* TR_STR_INT_*; the number if it is one. */
static int64_t read_int(const tr_str *text, int64_t base, int64_t *out) {
    tr_str s = stripped(text);
    int64_t at = 0, n = tr_str_len(&s), got = 0;
    bool negative = plain_at(&s, 0) == '-', large = false, digit = false, zeros = false;
    at += negative || plain_at(&s, 0) == '+';
    int64_t named = prefixed(&s, at);
    if (named && (base == 0 || base == named)) {
        base = named;
        at += 2;
        at += plain_at(&s, at) == '_'; /* which may stand behind the prefix */
    } else if (base == 0) {
        base = 10;
        zeros = plain_at(&s, at) == '0'; /* then all are */
    }
    for (; at < n; at++) {
        char c = plain_at(&s, at);
        if (c == '_') {
            if (!digit)
                return TR_STR_INT_BAD;
            digit = false;
            continue;
        }
        int v = value_of(c);
        if (v >= base || (zeros && v))
            return TR_STR_INT_BAD;
        digit = true;
        large = large || __builtin_mul_overflow(got, base, &got) || __builtin_sub_overflow(got, v, &got);
    }
    if (!digit)
        return TR_STR_INT_BAD;
    if (large || (!negative && got == INT64_MIN)) /* it was gathered below zero */
        return TR_STR_INT_LARGE;
    *out = negative ? got : -got;
    return TR_STR_INT_GOOD;
}

int64_t tr_rt_str_int_is(STR_PARTS(s), int64_t base) {
    tr_rt_look();
    int64_t v;
    return read_int(&STR_OF(s), base, &v);
}

int64_t tr_rt_str_int(STR_PARTS(s), int64_t base) {
    tr_rt_look();
    int64_t v = 0;
    read_int(&STR_OF(s), base, &v);
    return v;
}

/* --- floats --- */

/* Digits with single underscores between; gives where they end, and puts the digits at *to. -1: an underscore
 * stands wrong. */
static int64_t take_digits(const tr_str *s, int64_t at, char **to) {
    for (bool digit = false;; at++) {
        char c = plain_at(s, at);
        if (c >= '0' && c <= '9') {
            *(*to)++ = c;
            digit = true;
        } else if (c == '_' && digit && value_of(plain_at(s, at + 1)) < 10) {
            digit = false;
        } else {
            return c == '_' ? -1 : at;
        }
    }
}

static bool is_word(const tr_str *s, int64_t at, const char *word) {
    for (; *word; word++, at++)
        if ((plain_at(s, at) | 0x20) != *word)
            return false;
    return at == tr_str_len(s);
}

/* Written out in ASCII for strtod, which finds the nearest. False: it spells no float. */
static bool spell(const tr_str *s, char *to) {
    char *digits;
    int64_t at = 0, n = tr_str_len(s);
    if (plain_at(s, 0) == '-' || plain_at(s, 0) == '+')
        *to++ = plain_at(s, at++);
    if (is_word(s, at, "inf") || is_word(s, at, "infinity") || is_word(s, at, "nan")) {
        strcpy(to, is_word(s, at, "nan") ? "nan" : "inf");
        return true;
    }
    digits = to;
    at = take_digits(s, at, &to);
    if (at < 0)
        return false;
    int64_t count = to - digits;
    if (plain_at(s, at) == '.') {
        *to++ = '.';
        digits = to;
        at = take_digits(s, at + 1, &to);
        if (at < 0)
            return false;
        count += to - digits;
    }
    if (!count)
        return false;
    if ((plain_at(s, at) | 0x20) == 'e') {
        *to++ = 'e';
        at++;
        if (plain_at(s, at) == '-' || plain_at(s, at) == '+')
            *to++ = plain_at(s, at++);
        digits = to;
        at = take_digits(s, at, &to);
        if (at < 0 || to == digits)
            return false;
    }
    *to = '\0';
    return at == n;
}

/* As read_int, but that a float is never too large; without memory TR_STR_INT_NO_ROOM. */
static int64_t read_float(const tr_str *text, double *out) {
    enum { ROOM = 128 };
    char here[ROOM], *room = here;
    tr_str s = stripped(text);
    int64_t n = tr_str_len(&s);
    if (n + 8 > ROOM && !(room = malloc((size_t)n + 8)))
        return TR_STR_INT_NO_ROOM;
    bool ok = spell(&s, room);
    if (ok)
        *out = strtod(room, NULL);
    if (room != here)
        free(room);
    return ok ? TR_STR_INT_GOOD : TR_STR_INT_BAD;
}

int64_t tr_rt_str_float_is(STR_PARTS(s)) {
    tr_rt_look();
    double v;
    return read_float(&STR_OF(s), &v);
}

double tr_rt_str_float(STR_PARTS(s)) {
    tr_rt_look();
    double v = NAN;
    read_float(&STR_OF(s), &v);
    return v;
}
