/* Strings that are known when compiling. */
#include "base/str.h"

#include <string.h>

tr_str tr_str_known(tr_arena *a, const char *text) {
    const uint8_t *at = (const uint8_t *)text;
    uint32_t any = 0;
    int64_t n = 0;
    for (; *at; n++)
        any |= tr_utf8_next(&at);
    unsigned width = any > 0xffff ? 2 : any > 0xff ? 1 : 0;
    tr_str s = {NULL, tr_arena_alloc(a, ((size_t)n << width) + 4),
                n << TR_STR_LENGTH | (any < 0x80 ? TR_STR_ASCII : 0) | width};
    at = (const uint8_t *)text;
    for (int64_t i = 0; i < n; i++)
        tr_str_set(&s, i, tr_utf8_next(&at));
    return s;
}
