/* Words of 64 bits in order by some of their bits (radix sort), and keys of items, of which such words are
 * made (words.c). */
#ifndef TR_RT_WORDS_H
#define TR_RT_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "rt/sort.h"

/* DIGIT: bits of one at most. CACHED: words that are sorted where the second level of a cache holds them
 * twice. PART: of more, as many go into a part if they lie evenly. CHUNK: keys at a time. */
enum {
    TR_WORDS_DIGIT = 8,
    TR_WORDS_DIGITS = 1 << TR_WORDS_DIGIT,
    TR_WORDS_CACHED = 1 << 15,
    TR_WORDS_PART = 1 << 13,
    TR_WORDS_CHUNK = 512
};

/* Bits up to the highest that is set. */
static inline unsigned tr_words_width(uint64_t x) {
    return x ? 64u - (unsigned)__builtin_clzll(x) : 0;
}

/* --- keys --- */

/* Items of a type TR_SORT_I32 to TR_SORT_F64, and what of them says their order: their keys, unsigned
 * integers in the order of the items, in which NaNs are one, behind all others, and zeros of both signs are
 * one; with `flip` set in all bits the other way round; of these the bits of `mask` from bit `begin` on. */
typedef struct tr_keys {
    int64_t type;
    const void *items;
    uint64_t flip, mask;
    unsigned begin;
} tr_keys;

/* All bits, upwards. */
static inline tr_keys tr_keys_all(int64_t type, const void *items) {
    return (tr_keys){.type = type, .items = items, .mask = UINT64_MAX};
}
/* Those of n items at some places; `at` NULL: from item `first` on. */
void tr_keys_of(const tr_keys *k, const intptr_t *at, int64_t first, int64_t n, uint64_t *keys);

/* --- words --- */

/* n words, by `wide` bits from bit `low` on, into b or left in a; of equal ones the first comes first. Both
 * are room for n. */
void tr_words_sort(uint64_t *a, uint64_t *b, int64_t n, unsigned low, unsigned wide, bool into_b);

/* The words of a digit: where the next one goes, and up to where. */
typedef struct tr_words_part {
    int64_t at, end;
} tr_words_part;
/* From how many words have each digit (`end`) to parts that follow each other; the size of the largest. */
int64_t tr_words_parts(tr_words_part parts[TR_WORDS_DIGITS]);

/* Room for words. Large room lies on huge pages, where the system has them: of small ones each would be a
 * fault. */
typedef struct tr_words_room {
    uint64_t bytes;
    void *at, *raw;
} tr_words_room;
uint64_t *tr_words_open(tr_words_room *r, int64_t n); /* NULL: no memory */
void tr_words_close(tr_words_room *r);                /* not of one that was not opened */

#endif
