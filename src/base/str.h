/* Strings as compiled code has them: characters of one width, as CPython's. */
#ifndef TR_BASE_STR_H
#define TR_BASE_STR_H

#include <assert.h>
#include <stdint.h>

#include "base/arena.h"

/* A string: a view of characters that never change. owner: as an array's (rt/layout.h). `bits`: how many <<
 * TR_STR_LENGTH, the width of each, 1, 2 or 4 bytes, as its logarithm, and TR_STR_ASCII only if all are
 * ASCII. A view may be wider than its characters need. Negative: there was no memory for it. */
typedef struct tr_str {
    void *owner;
    const void *data;
    int64_t bits;
} tr_str;
enum { TR_STR_WIDTH = 3, TR_STR_ASCII = 4, TR_STR_LENGTH = 3 };

static inline int64_t tr_str_len(const tr_str *s) {
    return s->bits >> TR_STR_LENGTH;
}

static inline unsigned tr_str_width(const tr_str *s) {
    return (unsigned)(s->bits & TR_STR_WIDTH);
}

static inline uint32_t tr_str_at(const tr_str *s, int64_t i) {
    assert(i >= 0 && i < tr_str_len(s) && "a character of the string");
    switch (tr_str_width(s)) {
    case 0: return ((const uint8_t *)s->data)[i];
    case 1: return ((const uint16_t *)s->data)[i];
    default: return ((const uint32_t *)s->data)[i];
    }
}

/* A character of one that is being made. */
static inline void tr_str_set(const tr_str *s, int64_t i, uint32_t c) {
    assert(i >= 0 && i < tr_str_len(s) && "a character of the string");
    switch (tr_str_width(s)) {
    case 0: ((uint8_t *)(uintptr_t)s->data)[i] = (uint8_t)c; break;
    case 1: ((uint16_t *)(uintptr_t)s->data)[i] = (uint16_t)c; break;
    default: ((uint32_t *)(uintptr_t)s->data)[i] = c; break;
    }
}

/* The characters from `start` on, n of them. */
static inline tr_str tr_str_part(const tr_str *s, int64_t start, int64_t n) {
    assert(start >= 0 && n >= 0 && start + n <= tr_str_len(s) && "a part of the string");
    return (tr_str){s->owner, (const char *)s->data + (start << tr_str_width(s)),
                    n << TR_STR_LENGTH | (s->bits & (TR_STR_WIDTH | TR_STR_ASCII))};
}

/* The character that UTF-8 begins with, surrogates like others; *at moves behind it. */
static inline uint32_t tr_utf8_next(const uint8_t **at) {
    const uint8_t *u = *at;
    unsigned n = u[0] < 0x80 ? 0 : u[0] < 0xe0 ? 1 : u[0] < 0xf0 ? 2 : 3;
    uint32_t c = n ? u[0] & (0x3fu >> n) : u[0];
    for (unsigned i = 1; i <= n; i++)
        c = c << 6 | (u[i] & 0x3fu);
    *at = u + n + 1;
    return c;
}

/* The characters of a text in UTF-8, of the least width, in the arena; nobody owns them. */
tr_str tr_str_known(tr_arena *a, const char *text);

#endif
