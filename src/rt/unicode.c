/* The tables of characters. */
#include "rt/unicode.h"

#include <assert.h>
#include <string.h>

static const tr_char records[] = {
#define RECORD(flags, decimal, ...) {flags, decimal, {__VA_ARGS__}},
#include "rt/unicode.def"
};

#define PYTHONS(first, count) enum { FIRST = first, COUNT = count };
#include "rt/unicode.def"

static const uint16_t histories[][COUNT] = {
#define HISTORY(...) {__VA_ARGS__},
#include "rt/unicode.def"
};

static const uint32_t more[] = {
#define MORE(...) __VA_ARGS__
#include "rt/unicode.def"
};

static const uint16_t blocks[] = {
#define BLOCKS(...) __VA_ARGS__
#include "rt/unicode.def"
};

static const uint16_t pages[] = {
#define PAGES(...) __VA_ARGS__
#include "rt/unicode.def"
};

enum { SHIFT = 7, SEVERAL = 1 << 30 /* of a mapping: in `more` */ };
_Static_assert(sizeof blocks / sizeof *blocks == (TR_CHAR_MOST + 1) >> SHIFT, "a block for each character");

const tr_char *tr_rt_char(uint32_t c) {
    assert(c <= TR_CHAR_MOST && "a character of Unicode");
    uint32_t at = (uint32_t)blocks[c >> SHIFT] << SHIFT | (c & ((1u << SHIFT) - 1));
    int column = tr_unicode_python - FIRST;
    return &records[histories[pages[at]][column < 0 ? 0 : column < COUNT ? column : COUNT - 1]];
}

unsigned tr_rt_char_map(uint32_t c, tr_charmap map, uint32_t out[3]) {
    int32_t to = tr_rt_char(c)->maps[map];
    if (to < SEVERAL) {
        out[0] = (uint32_t)((int32_t)c + to);
        return 1;
    }
    unsigned n = (unsigned)(to - SEVERAL) >> 16;
    memcpy(out, &more[to & 0xffff], n * sizeof *out);
    return n;
}
