/* Format specifications of Python, `[[fill]align][sign][z][#][0][width][,_][.precision][type]`: read, and
 * done for strings. What is done for numbers is the run-time library's (rt/fspec.c). Left out: `n`, which
 * asks the locale, `c`, and separators after the point. */
#ifndef TR_BASE_FSPEC_H
#define TR_BASE_FSPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

typedef struct tr_fspec {
    char fill[5]; /* one character in UTF-8 */
    char align;   /* < > ^ = */
    char sign;    /* + - or blank */
    char group;   /* , _ or 0 */
    char type;    /* 0: none was given */
    bool z, alt, zeros;
    bool zero_fill;           /* the zeros before a number are digits of it: separators stand between them */
    int32_t width, precision; /* precision: -1 where none was given */
} tr_fspec;

enum {
    TR_FSPEC_MOST = 10000 /* width and precision */,
    TR_FSPEC_LONG = 64 /* bytes of one, with the final NUL */
};

/* Reads one for a value of `kind`: 'i' an integer, 'f' a float, 's' a string. False: Python takes none of
 * that kind there, or it is left out. */
bool tr_fspec_read(const char *s, char kind, tr_fspec *out);
/* Is it of a kind that formats an integer as a float? */
bool tr_fspec_of_float(const tr_fspec *s);
/* Writes `sign`, then the `n` bytes of `body`, and what fills the width up; `chars` is how
 * many characters body has. */
void tr_fspec_pad(const tr_fspec *s, const char *sign, const char *body, size_t n, size_t chars, tr_sb *out);
void tr_fspec_string(const tr_fspec *s, const char *text, tr_sb *out);

#endif
