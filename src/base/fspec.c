/* Format specifications: what they say, and strings laid out by them. What is wrong with one is asked in the
 * order in which CPython asks, for the first answer is what it says. */
#include "base/fspec.h"

#include <assert.h>
#include <string.h>

/* Bytes of the character at s. */
static size_t char_size(const char *s) {
    unsigned char u = (unsigned char)*s;
    return u < 0x80 ? u != 0 : u < 0xe0 ? 2 : u < 0xf0 ? 3 : 4;
}

/* Which characters stand where: a specification is read each time that a number is printed. */

static bool is_align(char c) {
    return c == '<' || c == '>' || c == '^' || c == '=';
}

static bool is_group(char c) {
    return c == ',' || c == '_';
}

/* Types that are for floats. */
static bool is_float(char c) {
    switch (c) {
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case '%': return true;
    default: return false;
    }
}

static bool is_base(char c) {
    return c == 'b' || c == 'o' || c == 'x' || c == 'X';
}

static bool wrong(tr_sb *why, const char *text) {
    if (why)
        tr_sb_puts(why, text);
    return false;
}

/* False: it is larger than anybody needs, or than Python has. */
static bool read_number(const char **at, int32_t *out, tr_sb *why) {
    int64_t v = 0;
    for (; **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, **at - '0', &v))
            return wrong(why, "Too many decimal digits in format string");
    *out = (int32_t)(v <= TR_FSPEC_MOST ? v : 0);
    return v <= TR_FSPEC_MOST;
}

/* Fill and alignment; says whether a fill was given. */
static bool read_fill(const char **at, char kind, tr_fspec *o) {
    size_t n = char_size(*at);
    bool filled = n && n < sizeof o->fill && is_align((*at)[n]);
    o->align = kind == 's' ? '<' : '>';
    strcpy(o->fill, " ");
    if (filled) {
        memcpy(o->fill, *at, n);
        o->fill[n] = '\0';
        o->align = (*at)[n];
        *at += n + 1;
    } else if (is_align(**at)) {
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
    strcpy(o->fill, "0");
    if (!aligned && kind != 's')
        o->align = '=';
}

static bool read_group(const char **at, tr_fspec *o, tr_sb *why) {
    if (!is_group(**at))
        return true;
    o->group = *(*at)++;
    return (**at != ',' || o->group == ',') && (**at != '_' || o->group == '_')
               ? true
               : wrong(why, "Cannot specify both ',' and '_'.");
}

static bool read_precision(const char **at, tr_fspec *o, tr_sb *why) {
    if (**at != '.')
        return true;
    ++*at;
    if (is_group(**at))
        return false;
    if (**at < '0' || **at > '9')
        return wrong(why, "Format specifier missing precision");
    return read_number(at, &o->precision, why) && !is_group(**at);
}

/* A type as messages show it. */
static void put_shown(char c, tr_sb *why) {
    tr_sb_printf(why, c > 32 ? "'%c'" : "'\\x%x'", c);
}

static bool wrong_type(const char *type, const char *of, tr_sb *why) {
    if (why) {
        tr_sb_puts(why, "Unknown format code ");
        put_shown(*type, why);
        tr_sb_printf(why, " for object of type '%s'", of);
    }
    return false;
}

static bool group_fits(const char *type, const tr_fspec *o, tr_sb *why) {
    if (!o->group || !*type || *type == 'd' || is_float(*type) || (o->group == '_' && is_base(*type)))
        return true;
    if (why) {
        tr_sb_printf(why, "Cannot specify '%c' with ", o->group);
        put_shown(*type, why);
        tr_sb_putc(why, '.');
    }
    return false;
}

static bool fits_string(const tr_fspec *o, tr_sb *why) {
    return o->sign == ' '    ? wrong(why, "Space not allowed in string format specifier")
           : o->sign         ? wrong(why, "Sign not allowed in string format specifier")
           : o->z            ? wrong(why, "Negative zero coercion (z) not allowed in string format specifier")
           : o->alt          ? wrong(why, "Alternate form (#) not allowed in string format specifier")
           : o->align == '=' ? wrong(why, "'=' alignment not allowed in string format specifier")
                             : true;
}

static bool fits_complex(const tr_fspec *o, tr_sb *why) {
    return o->fill[0] == '0' ? wrong(why, "Zero padding is not allowed in complex format specifier")
           : o->align == '=' ? wrong(why, "'=' alignment flag is not allowed in complex format specifier")
                             : true;
}

static bool fits_integer(const tr_fspec *o, tr_sb *why) {
    return o->precision >= 0 ? wrong(why, "Precision not allowed in integer format specifier")
           : o->z           ? wrong(why, "Negative zero coercion (z) not allowed in integer format specifier")
           : o->type != 'c' ? true
           : o->sign        ? wrong(why, "Sign not allowed with integer format specifier 'c'")
           : o->alt         ? wrong(why, "Alternate form (#) not allowed with integer format specifier 'c'")
                            : true;
}

static bool fits(const char *type, char kind, const char *of, const tr_fspec *o, tr_sb *why) {
    bool general = !*type || *type == 'n' || is_float(*type);
    switch (kind) {
    case 's': return *type && *type != 's' ? wrong_type(type, of, why) : fits_string(o, why);
    case 'c': return !general || *type == '%' ? wrong_type(type, of, why) : fits_complex(o, why);
    case 'f': return general || wrong_type(type, of, why);
    default:
        if (is_float(*type))
            return true;
        return !general && *type != 'c' && *type != 'd' && !is_base(*type) ? wrong_type(type, of, why)
                                                                           : fits_integer(o, why);
    }
}

bool tr_fspec_read(const char *s, char kind, const char *of, tr_fspec *o, tr_sb *why) {
    const char *from = s;
    *o = (tr_fspec){.precision = -1};
    bool filled = read_fill(&s, kind, o), aligned = s != from;
    if (*s == '+' || *s == '-' || *s == ' ')
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
    if (!read_number(&s, &o->width, why) || !read_group(&s, o, why) || !read_precision(&s, o, why))
        return false;
    if ((unsigned char)*s >= 0x80)
        return false; /* it may be a digit, which Python takes of any script */
    if (*s && s[1]) {
        if (why)
            tr_sb_printf(why, "Invalid format specifier '%s' for object of type '%s'", from, of);
        return false;
    }
    o->type = *s;
    o->zero_fill = o->align == '=' && o->fill[0] == '0';
    return group_fits(kind == 's' && !*s ? "s" : s, o, why) && fits(s, kind, of, o, why) && o->type != 'c' &&
           o->type != 'n' && s + 1 - from < TR_FSPEC_LONG;
}

bool tr_fspec_of_float(const tr_fspec *s) {
    return is_float(s->type);
}

static size_t missing(const tr_fspec *s, size_t chars) {
    size_t width = (size_t)s->width;
    assert(s->width >= 0 && s->width <= TR_FSPEC_MOST && "a specification that was read");
    return width > chars ? width - chars : 0;
}

size_t tr_fspec_before(const tr_fspec *s, size_t chars) {
    return s->align == '<' ? 0 : missing(s, chars) / (s->align == '^' ? 2 : 1);
}

size_t tr_fspec_behind(const tr_fspec *s, size_t chars) {
    return missing(s, chars) - tr_fspec_before(s, chars);
}

void tr_fspec_fill(const tr_fspec *s, size_t times, tr_sb *out) {
    while (times--)
        tr_sb_puts(out, s->fill);
}

void tr_fspec_string(const tr_fspec *s, const char *text, tr_sb *out) {
    size_t n = 0, chars = 0;
    while (text[n] && (s->precision < 0 || chars < (size_t)s->precision)) {
        n += char_size(text + n);
        chars++;
    }
    tr_fspec_fill(s, tr_fspec_before(s, chars), out);
    tr_sb_write(out, text, n);
    tr_fspec_fill(s, tr_fspec_behind(s, chars), out);
}
