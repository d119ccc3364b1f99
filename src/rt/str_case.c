/* Strings in another case, and what is asked of all characters of one: as CPython's str methods do, with its
 * tables (unicode.h). A character may become three, so each string is walked twice: to see how long and wide
 * the result is, and to make it. */
#include "rt/enter.h"
#include "rt/fns.h"
#include "rt/str.h"
#include "rt/unicode.h"

/* Where the characters go: counted, and stored if there is a place. */
typedef struct sink {
    const tr_str *to; /* NULL: they are only counted */
    int64_t n;
    uint32_t any;
} sink;

static void put(sink *k, const uint32_t *c, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (k->to)
            tr_str_set(k->to, k->n, c[i]);
        k->any |= c[i];
        k->n++;
    }
}

/* A capital sigma that ends a word has a form of its own in lower case. */
static bool is_final(const tr_str *s, int64_t i) {
    int64_t at = i - 1, n = tr_str_len(s);
    while (at >= 0 && tr_rt_char_is(tr_str_at(s, at), TR_CHAR_IGNORABLE))
        at--;
    if (at < 0 || !tr_rt_char_is(tr_str_at(s, at), TR_CHAR_CASED))
        return false;
    for (at = i + 1; at < n && tr_rt_char_is(tr_str_at(s, at), TR_CHAR_IGNORABLE);)
        at++;
    return at == n || !tr_rt_char_is(tr_str_at(s, at), TR_CHAR_CASED);
}

static void put_mapped(const tr_str *s, int64_t i, tr_charmap map, sink *k) {
    uint32_t c = tr_str_at(s, i), to[3];
    unsigned n = 1;
    if (map == TR_MAP_LOWER && c == TR_CHAR_SIGMA)
        to[0] = is_final(s, i) ? TR_CHAR_FINAL_SIGMA : TR_CHAR_SIGMA + 0x20;
    else
        n = tr_rt_char_map(c, map, to);
    put(k, to, n);
}

static void walk(const tr_str *s, int64_t how, sink *k) {
    bool inside = false; /* a word */
    for (int64_t i = 0, n = tr_str_len(s); i < n; i++) {
        uint32_t c = tr_str_at(s, i);
        tr_charmap map = TR_MAP_UPPER;
        switch (how) {
        case TR_STR_LOWER: map = TR_MAP_LOWER; break;
        case TR_STR_FOLD: map = TR_MAP_FOLD; break;
        case TR_STR_CAPITALIZE: map = i ? TR_MAP_LOWER : TR_MAP_TITLE; break;
        case TR_STR_TITLE: map = inside ? TR_MAP_LOWER : TR_MAP_TITLE; break;
        case TR_STR_SWAP:
            if (!tr_rt_char_is(c, TR_CHAR_UPPER | TR_CHAR_LOWER)) {
                put(k, &c, 1);
                continue;
            }
            map = tr_rt_char_is(c, TR_CHAR_UPPER) ? TR_MAP_LOWER : TR_MAP_UPPER;
            break;
        default: break;
        }
        put_mapped(s, i, map, k);
        inside = tr_rt_char_is(c, TR_CHAR_CASED);
    }
}

static uint8_t ascii_lower(uint8_t c) {
    return (uint8_t)(c + ((c >= 'A' && c <= 'Z') << 5));
}

static uint8_t ascii_upper(uint8_t c) {
    return (uint8_t)(c - ((c >= 'a' && c <= 'z') << 5));
}

/* All of the same length, without a table. False: there is no such loop. */
static bool walk_ascii(const uint8_t *s, int64_t n, int64_t how, uint8_t *to) {
    switch (how) {
    case TR_STR_LOWER:
    case TR_STR_FOLD:
        for (int64_t i = 0; i < n; i++)
            to[i] = ascii_lower(s[i]);
        return true;
    case TR_STR_UPPER:
        for (int64_t i = 0; i < n; i++)
            to[i] = ascii_upper(s[i]);
        return true;
    case TR_STR_SWAP:
        for (int64_t i = 0; i < n; i++)
            to[i] = (uint8_t)(ascii_lower(s[i]) == s[i] ? ascii_upper(s[i]) : ascii_lower(s[i]));
        return true;
    default: return false;
    }
}

void tr_rt_str_case(tr_frame *f, int64_t how, STR_PARTS(s), tr_str *out) {
    tr_rt_look();
    tr_str x = STR_OF(s);
    sink k = {0};
    if (x.bits & TR_STR_ASCII) {
        *out = tr_str_new(f, tr_str_len(&x), 0x7f);
        if (out->bits < 0 || walk_ascii(x.data, tr_str_len(&x), how, (uint8_t *)(uintptr_t)out->data))
            return;
        walk(&x, how, &(sink){.to = out});
        return;
    }
    walk(&x, how, &k);
    *out = tr_str_new(f, k.n, k.any);
    if (out->bits >= 0)
        walk(&x, how, &(sink){.to = out});
}

/* --- is it ...? --- */

/* Is it a title, each word's first letter and no other a capital? */
static bool is_title(const tr_str *s) {
    bool inside = false, some = false;
    for (int64_t i = 0, n = tr_str_len(s); i < n; i++) {
        uint32_t c = tr_str_at(s, i);
        if (tr_rt_char_is(c, TR_CHAR_UPPER | TR_CHAR_TITLE)) {
            if (inside)
                return false;
            inside = some = true;
        } else if (tr_rt_char_is(c, TR_CHAR_LOWER)) {
            if (!inside)
                return false;
            some = true;
        } else {
            inside = false;
        }
    }
    return some;
}

/* Has it letters, and only of that case? */
static bool is_case(const tr_str *s, unsigned want, unsigned not ) {
    bool some = false;
    for (int64_t i = 0, n = tr_str_len(s); i < n; i++) {
        unsigned is = tr_rt_char(tr_str_at(s, i))->flags;
        if (is & not )
            return false;
        some = some || is & want;
    }
    return some;
}

static bool all_are(const tr_str *s, unsigned flags, int64_t from) {
    for (int64_t i = from, n = tr_str_len(s); i < n; i++)
        if (!tr_rt_char_is(tr_str_at(s, i), flags))
            return false;
    return true;
}

bool tr_rt_str_is(int64_t what, STR_PARTS(s)) {
    tr_rt_look();
    tr_str x = STR_OF(s);
    bool some = tr_str_len(&x) > 0;
    switch (what) {
    case TR_STR_IS_ALPHA: return some && all_are(&x, TR_CHAR_ALPHA, 0);
    case TR_STR_IS_DECIMAL: return some && all_are(&x, TR_CHAR_DECIMAL, 0);
    case TR_STR_IS_DIGIT: return some && all_are(&x, TR_CHAR_DIGIT, 0);
    case TR_STR_IS_NUMERIC: return some && all_are(&x, TR_CHAR_NUMERIC, 0);
    case TR_STR_IS_ALNUM:
        return some && all_are(&x, TR_CHAR_ALPHA | TR_CHAR_DECIMAL | TR_CHAR_DIGIT | TR_CHAR_NUMERIC, 0);
    case TR_STR_IS_LOWER: return is_case(&x, TR_CHAR_LOWER, TR_CHAR_UPPER | TR_CHAR_TITLE);
    case TR_STR_IS_UPPER: return is_case(&x, TR_CHAR_UPPER, TR_CHAR_LOWER | TR_CHAR_TITLE);
    case TR_STR_IS_TITLE: return is_title(&x);
    case TR_STR_IS_SPACE: return some && all_are(&x, TR_CHAR_SPACE, 0);
    case TR_STR_IS_PRINTABLE: return all_are(&x, TR_CHAR_PRINTABLE, 0);
    case TR_STR_IS_ASCII: return tr_str_most(&x) < 0x80;
    default: /* TR_STR_IS_IDENTIFIER */
        return some && tr_rt_char_is(tr_str_at(&x, 0), TR_CHAR_ID_START) && all_are(&x, TR_CHAR_ID, 1);
    }
}
