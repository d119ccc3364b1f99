/* What Python's str says of characters: tables made by tools/gen_unicode.py, for each Python's version of
 * Unicode. Cost: four look-ups. */
#ifndef TR_RT_UNICODE_H
#define TR_RT_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

/* ORDER: as gen_unicode.py's flags(). */
enum {
    TR_CHAR_ALPHA = 1 << 0,
    TR_CHAR_DECIMAL = 1 << 1,
    TR_CHAR_DIGIT = 1 << 2,
    TR_CHAR_NUMERIC = 1 << 3,
    TR_CHAR_LOWER = 1 << 4,
    TR_CHAR_UPPER = 1 << 5,
    TR_CHAR_TITLE = 1 << 6, /* a title-case letter of its own */
    TR_CHAR_PRINTABLE = 1 << 7,
    TR_CHAR_SPACE = 1 << 8,
    TR_CHAR_LINE = 1 << 9, /* ends a line */
    TR_CHAR_CASED = 1 << 10,
    TR_CHAR_IGNORABLE = 1 << 11, /* of letters' case where words end */
    TR_CHAR_ID_START = 1 << 12,
    TR_CHAR_ID = 1 << 13,
};

enum { TR_CHAR_MOST = 0x10ffff, TR_CHAR_SIGMA = 0x3a3, TR_CHAR_FINAL_SIGMA = 0x3c2 };

/* ORDER: the record's mappings. */
typedef enum tr_charmap { TR_MAP_UPPER, TR_MAP_LOWER, TR_MAP_TITLE, TR_MAP_FOLD, TR_MAP__COUNT } tr_charmap;

typedef struct tr_char {
    uint16_t flags;
    int8_t decimal; /* its value as a decimal digit, or -1 */
    int32_t maps[TR_MAP__COUNT];
} tr_char;

/* The minor version of the Python whose characters these are: who links the runtime into a Python says it
 * (unicode_newest.c). */
extern const int tr_unicode_python;

const tr_char *tr_rt_char(uint32_t c);
/* The characters that c becomes, 1 to 3. */
unsigned tr_rt_char_map(uint32_t c, tr_charmap map, uint32_t out[3]);

static inline bool tr_rt_char_is(uint32_t c, unsigned flags) {
    return tr_rt_char(c)->flags & flags;
}

#endif
