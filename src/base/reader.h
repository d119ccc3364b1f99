/* Reads words, characters and numbers from text in memory: what the parsers of types, signatures and IR
 * share.
 *
 * Every function first skips blanks and takes what it reads; what it does not find stays untouched, and the
 * caller says what it expected at `p`. The text ends with a NUL, which nothing steps over. Words are letters,
 * digits and "_", and every byte of a UTF-8 character that is not ASCII.
 * Cost: one pass. */
#ifndef TR_BASE_READER_H
#define TR_BASE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct tr_reader {
    tr_arena *a;        /* for the words */
    const char *text;   /* where it starts, for positions */
    const char *p;      /* the next character */
    const char *blanks; /* the characters between words, none above ' ' */
    int depth;          /* of nesting; the callers count and limit it */
} tr_reader;

void tr_rd_skip(tr_reader *r);
/* The next character that is not blank, which stays. */
char tr_rd_peek(tr_reader *r);
bool tr_rd_accept(tr_reader *r, char c);
bool tr_rd_accept_word(tr_reader *r, const char *word);
/* NULL where no word stands. */
const char *tr_rd_word(tr_reader *r);
/* A decimal number within the bounds. */
bool tr_rd_int(tr_reader *r, int64_t min, int64_t max, int64_t *out);

bool tr_rd_is_word_char(char c);
size_t tr_rd_word_length(const char *p);

#endif
