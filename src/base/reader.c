/* The small reader of text that the parsers share. */
#include "base/reader.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void tr_rd_skip(tr_reader *r) {
    while (*r->p && (unsigned char)*r->p <= ' ' && strchr(r->blanks, *r->p))
        r->p++;
}

char tr_rd_peek(tr_reader *r) {
    tr_rd_skip(r);
    return *r->p;
}

bool tr_rd_accept(tr_reader *r, char c) {
    if (tr_rd_peek(r) != c)
        return false;
    r->p++;
    return true;
}

bool tr_rd_is_word_char(char c) {
    return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

size_t tr_rd_word_length(const char *p) {
    size_t n = 0;
    while (tr_rd_is_word_char(p[n]))
        n++;
    return n;
}

bool tr_rd_accept_word(tr_reader *r, const char *word) {
    tr_rd_skip(r);
    const char *p = r->p;
    while (*word && *p == *word)
        p++, word++;
    if (*word || tr_rd_is_word_char(*p))
        return false;
    r->p = p;
    return true;
}

const char *tr_rd_word(tr_reader *r) {
    tr_rd_skip(r);
    size_t n = tr_rd_word_length(r->p);
    if (!n)
        return NULL;
    r->p += n;
    return tr_arena_strndup(r->a, r->p - n, n);
}

bool tr_rd_int(tr_reader *r, int64_t min, int64_t max, int64_t *out) {
    tr_rd_skip(r);
    const char *digits = r->p + (*r->p == '-');
    if (!isdigit((unsigned char)*digits))
        return false;
    int64_t x = 0;
    const char *d = digits;
    while (d < digits + 18 && isdigit((unsigned char)*d)) /* so many cannot overflow */
        x = 10 * x + (*d++ - '0');
    if (!isdigit((unsigned char)*d)) {
        x = *r->p == '-' ? -x : x;
        if (x < min || x > max)
            return false;
        r->p = d;
        *out = x;
        return true;
    }
    char *end;
    errno = 0;
    long long v = strtoll(r->p, &end, 10);
    if (errno || v < min || v > max)
        return false;
    r->p = end;
    *out = v;
    return true;
}
