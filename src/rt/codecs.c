/* encode() and decode(): UTF-8, ASCII and Latin-1, with CPython's error handlers.
 *
 * A codec is one step, which reads what comes next or finds that it is bad (next_of); a handler is what is
 * written in the place of that (put_bad). What is bad and not handled is found before anything is made: where
 * it begins, where it ends, and why, which are what the exception has. Two walks, the first to count; each is
 * linear, and there is one allocation. */
#include "rt/enter.h"
#include "rt/fns.h"
#include "rt/str.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static bool is_surrogate(uint32_t c) {
    return c >= 0xd800 && c <= 0xdfff;
}

static bool decodes(int64_t how) {
    return how & TR_CODE_DECODE;
}

static int64_t codec_of(int64_t how) {
    return how & TR_CODE_KIND;
}

/* Of UTF-8 from `at` on: the character, and how many bytes it has; those of none, which is bad, are what
 * CPython counts as one error: as many as could begin a character. Gives what is wrong. */
static tr_code_error utf8_at(const tr_str *s, int64_t at, uint32_t *c, int64_t *n) {
    uint32_t first = tr_str_at(s, at), least = 0x80, most = 0xbf;
    int64_t more = first < 0x80   ? 0
                   : first < 0xc2 ? -1
                   : first < 0xe0 ? 1
                   : first < 0xf0 ? 2
                   : first < 0xf5 ? 3
                                  : -1;
    *n = 1;
    if (more < 0)
        return TR_CODE_BAD_START;
    *c = more ? first & (0x3fu >> more) : first;
    if (first == 0xe0)
        least = 0xa0;
    else if (first == 0xed)
        most = 0x9f;
    else if (first == 0xf0)
        least = 0x90;
    else if (first == 0xf4)
        most = 0x8f;
    for (; more; more--, ++*n, least = 0x80, most = 0xbf) {
        if (at + *n == tr_str_len(s))
            return TR_CODE_BAD_END;
        uint32_t next = tr_str_at(s, at + *n);
        if (next < least || next > most)
            return TR_CODE_BAD_MIDDLE;
        *c = *c << 6 | (next & 0x3f);
    }
    return TR_CODE_GOOD;
}

/* The next character that is decoded or encoded, and how many it was; else what is wrong. */
static tr_code_error next_of(int64_t how, const tr_str *s, int64_t at, uint32_t *c, int64_t *n) {
    int64_t code = codec_of(how);
    if (decodes(how) && code == TR_CODE_UTF8)
        return utf8_at(s, at, c, n);
    *c = tr_str_at(s, at);
    *n = 1;
    bool good = code == TR_CODE_LATIN1 ? *c < 0x100 : code == TR_CODE_ASCII ? *c < 0x80 : !is_surrogate(*c);
    return good ? TR_CODE_GOOD : TR_CODE_BAD_START;
}

/* A surrogate as UTF-8 would have it, which the handler "surrogatepass" decodes. */
static bool passes(const tr_str *s, int64_t at, uint32_t *c) {
    if (at + 3 > tr_str_len(s) || tr_str_at(s, at) != 0xed)
        return false;
    uint32_t second = tr_str_at(s, at + 1), third = tr_str_at(s, at + 2);
    *c = 0xd000 | (second & 0x3f) << 6 | (third & 0x3f);
    return second >> 6 == 2 && third >> 6 == 2 && is_surrogate(*c);
}

/* Does the handler know what to do with what is bad at `at`? How many it takes, at least. */
static bool is_handled(int64_t how, const tr_str *s, int64_t at, int64_t *n) {
    uint32_t c = tr_str_at(s, at);
    switch (how & TR_CODE_HANDLER) {
    case TR_CODE_STRICT: return false;
    case TR_CODE_ESCAPE: return decodes(how) ? c >= 0x80 : c >= 0xdc80 && c <= 0xdcff;
    case TR_CODE_PASS:
        if (codec_of(how) != TR_CODE_UTF8 || (decodes(how) && !passes(s, at, &c)))
            return false;
        *n = decodes(how) ? 3 : 1;
        return true;
    default: return true;
    }
}

int64_t tr_rt_bytes_bad(int64_t how, STR_PARTS(s)) {
    tr_rt_look();
    tr_str x = STR_OF(s);
    uint32_t c;
    if (x.bits & TR_STR_ASCII)
        return -1;
    for (int64_t i = 0, n; i < tr_str_len(&x); i += n)
        if (next_of(how, &x, i, &c, &n) != TR_CODE_GOOD && !is_handled(how, &x, i, &n))
            return i;
    return -1;
}

int64_t tr_rt_bytes_why(int64_t how, int64_t at, STR_PARTS(s)) {
    tr_rt_look();
    tr_str x = STR_OF(s);
    uint32_t c;
    int64_t n, end = at;
    if (at < 0)
        return TR_CODE_GOOD;
    assert(at < tr_str_len(&x) && "what is bad is there");
    tr_code_error why = next_of(how, &x, at, &c, &n), next = why;
    assert(why != TR_CODE_GOOD && "what is asked of is bad");
    for (end += n; !decodes(how) && next != TR_CODE_GOOD && end < tr_str_len(&x); end += next != TR_CODE_GOOD)
        next = next_of(how, &x, end, &c, &n); /* characters side by side are one error */
    return end << TR_CODE_WHY_BITS | (int64_t)why;
}

/* What is made: stored where there is a place, else counted. */
typedef struct sink {
    int64_t how;
    const tr_str *to;
    int64_t at;
    uint32_t most;
} sink;

static void put_char(sink *k, uint32_t c) {
    k->most = k->most > c ? k->most : c;
    if (k->to)
        tr_str_set(k->to, k->at, c);
    k->at++;
}

/* A character that was decoded, or the bytes of one that was encoded. */
static void put(sink *k, uint32_t c) {
    static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
    uint32_t n = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    if (decodes(k->how) || codec_of(k->how) != TR_CODE_UTF8 || !n) {
        put_char(k, c);
        return;
    }
    put_char(k, lead[n] | c >> (6 * n));
    for (uint32_t i = n; i--;)
        put_char(k, 0x80 | (c >> (6 * i) & 0x3f));
}

static void put_escape(sink *k, const char *format, uint32_t c) {
    char text[16];
    snprintf(text, sizeof text, format, c);
    for (const char *s = text; *s; s++)
        put_char(k, (uint8_t)*s);
}

/* One byte or character of what is bad. */
static void put_one(sink *k, uint32_t c) {
    switch (k->how & TR_CODE_HANDLER) {
    case TR_CODE_BACKSLASH:
        put_escape(k, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
        break;
    case TR_CODE_XML: put_escape(k, "&#%u;", c); break;
    default: put_char(k, decodes(k->how) ? 0xdc00 + c : c - 0xdc00);
    }
}

/* What is written for n that are bad, as the handler has it. */
static void put_bad(sink *k, const tr_str *s, int64_t at, int64_t n) {
    uint32_t c = tr_str_at(s, at);
    switch (k->how & TR_CODE_HANDLER) {
    case TR_CODE_IGNORE: return;
    case TR_CODE_REPLACE: put(k, decodes(k->how) ? 0xfffd : '?'); return;
    case TR_CODE_PASS:
        if (decodes(k->how))
            passes(s, at, &c);
        put(k, c);
        return;
    default:
        for (int64_t i = 0; i < n; i++)
            put_one(k, tr_str_at(s, at + i));
    }
}

static void walk(sink *k, const tr_str *s) {
    for (int64_t i = 0, n; i < tr_str_len(s); i += n) {
        uint32_t c;
        if (next_of(k->how, s, i, &c, &n) == TR_CODE_GOOD) {
            put(k, c);
            continue;
        }
        bool handled = is_handled(k->how, s, i, &n);
        assert(handled && "what nobody handles was found before");
        if (handled)
            put_bad(k, s, i, n);
    }
}

void tr_rt_bytes_code(tr_frame *f, int64_t how, STR_PARTS(s), tr_str *out) {
    tr_rt_look();
    tr_str x = STR_OF(s);
    sink k = {.how = how};
    walk(&k, &x);
    if (!decodes(how)) /* what comes are bytes */
        k.most = k.most < 0x80 ? k.most : 0xff;
    *out = tr_str_new(f, k.at, k.most);
    if (out->bits < 0)
        return;
    k = (sink){.how = how, .to = out};
    walk(&k, &x);
}
