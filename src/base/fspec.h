/* Format specifications of Python, `[[fill]align][sign][z][#][0][width][,_][.precision][type]`: read, and
 * done for strings. What is done for numbers is the run-time library's (rt/fspec.c). Left out: `n`, which
 * asks the locale, `c`, which makes a character of a number, and separators behind the point, which are
 * Python 3.14's. */
#ifndef TR_BASE_FSPEC_H
#define TR_BASE_FSPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* What stands in the place of a specification where repr() of a string is asked for. */
#define TR_SPEC_REPR "!r"

typedef struct tr_fspec {
    char fill[5]; /* one character in UTF-8 */
    char align;   /* < > ^ = */
    char sign;    /* + - or blank */
    char group;   /* , _ or 0 */
    char type;    /* 0: none was given */
    bool z, alt;
    bool zero_fill;           /* the zeros before a number are digits of it: separators stand between them */
    int32_t width, precision; /* precision: -1 where none was given */
} tr_fspec;

enum {
    TR_FSPEC_MOST = 10000 /* width and precision */,
    TR_FSPEC_LONG = 64 /* bytes of one, with the final NUL */
};

/* Reads one for a value of `kind`: 'i' an integer, 'f' a float, 'c' a complex number, 's' a string. False: it
 * is left out; or Python takes none of that kind there, and says `why` (NULL: nobody asks), naming the type
 * `of` the value. */
bool tr_fspec_read(const char *s, char kind, const char *of, tr_fspec *out, tr_sb *why);
/* Is it of a type that formats an integer as a float? */
bool tr_fspec_of_float(const tr_fspec *s);
/* How many times the fill stands before a text of so many characters, and behind it. */
size_t tr_fspec_before(const tr_fspec *s, size_t chars);
size_t tr_fspec_behind(const tr_fspec *s, size_t chars);
void tr_fspec_fill(const tr_fspec *s, size_t times, tr_sb *out);
void tr_fspec_string(const tr_fspec *s, const char *text, tr_sb *out);

#endif
