/* Format specifications: what they say, and strings laid out by them. */
#include "base/fspec.h"

#include <assert.h>
#include <string.h>

/* Bytes of the character at s. */
static size_t char_size(const char *s) {
    unsigned char u = (unsigned char)*s;
    return u < 0x80 ? u != 0 : u < 0xe0 ? 2 : u < 0xf0 ? 3 : 4;
}

static bool among(char c, const char *set) {
    return c && strchr(set, c);
}

/* False: it is larger than anybody needs. */
static bool read_number(const char **at, int32_t *out) {
    int32_t v = 0;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        v = v * 10 + (**at - '0');
        if (v > TR_FSPEC_MOST)
            return false;
    }
    *out = v;
    return true;
}

/* Fill and alignment; says whether a fill was given. */
static bool read_fill(const char **at, char kind, tr_fspec *o) {
    size_t n = char_size(*at);
    bool filled = n && n < sizeof o->fill && among((*at)[n], "<>^=");
    o->align = kind == 's' ? '<' : '>';
    strcpy(o->fill, " ");
    if (filled) {
        memcpy(o->fill, *at, n);
        o->fill[n] = '\0';
        o->align = (*at)[n];
        *at += n + 1;
    } else if (among(**at, "<>^=")) {
        o->align = *(*at)++;
    }
    return filled;
}

/* A zero before the width fills with zeros, after the sign unless an alignment was given;
 * behind a fill it is a digit of the width. */
static void read_zero(const char **at, char kind, bool filled, bool aligned, tr_fspec *o) {
    if (filled || **at != '0')
        return;
    ++*at;
    o->zeros = true;
    strcpy(o->fill, "0");
    if (!aligned && kind != 's')
        o->align = '=';
}

/* Which kinds take the type, and what else they do not take. */
static bool spec_fits_kind(const tr_fspec *o, char kind) {
    if (kind == 's')
        return (!o->type || o->type == 's') && !o->group && !o->alt && !o->z && !o->sign && o->align != '=';
    if (among(o->type, "eEfFgG%"))
        return true;
    if (kind == 'f') /* `#` without a type keeps zeros by a rule of its own */
        return !o->type && !o->alt;
    return (!o->type || among(o->type, "bdoxX")) && o->precision < 0 && !o->z &&
           !(o->group == ',' && among(o->type, "boxX"));
}

bool tr_fspec_read(const char *s, char kind, tr_fspec *o) {
    const char *from = s;
    *o = (tr_fspec){.precision = -1};
    bool filled = read_fill(&s, kind, o), aligned = s != from;
    if (among(*s, "+- "))
        o->sign = *s++;
    if (*s == 'z') {
        o->z = true;
        s++;
    }
    if (*s == '#') {
        o->alt = true;
        s++;
    }
    read_zero(&s, kind, filled, aligned, o);
    if (!read_number(&s, &o->width))
        return false;
    if (among(*s, ",_"))
        o->group = *s++;
    if (*s == '.' && (s[1] < '0' || s[1] > '9' || (++s, !read_number(&s, &o->precision))))
        return false;
    if (*s)
        o->type = *s++;
    o->zero_fill = o->align == '=' && strcmp(o->fill, "0") == 0;
    return !*s && s - from < TR_FSPEC_LONG && spec_fits_kind(o, kind);
}

bool tr_fspec_of_float(const tr_fspec *s) {
    return among(s->type, "eEfFgG%");
}

static void put_fill(const tr_fspec *s, size_t n, tr_sb *out) {
    while (n--)
        tr_sb_puts(out, s->fill);
}

void tr_fspec_pad(const tr_fspec *s, const char *sign, const char *body, size_t n, size_t chars, tr_sb *out) {
    size_t has = strlen(sign) + chars, width = (size_t)s->width, more = width > has ? width - has : 0;
    assert(s->width >= 0 && s->width <= TR_FSPEC_MOST && chars <= n && "a specification that was read");
    size_t left = s->align == '>' ? more : s->align == '^' ? more / 2 : 0;
    put_fill(s, left, out);
    tr_sb_puts(out, sign);
    if (s->align == '=')
        put_fill(s, more, out);
    tr_sb_write(out, body, n);
    if (s->align != '=')
        put_fill(s, more - left, out);
}

void tr_fspec_string(const tr_fspec *s, const char *text, tr_sb *out) {
    size_t n = 0, chars = 0;
    while (text[n] && (s->precision < 0 || chars < (size_t)s->precision)) {
        n += char_size(text + n);
        chars++;
    }
    tr_fspec_pad(s, "", text, n, chars, out);
}
