/* What bytes have that strings have not, or otherwise: letters and blanks of ASCII alone, their text, and
 * what they are made of; encodings are in codecs.c. Bytes are strings of characters below 256 (rt/str.c).
 * Cost: linear; one allocation for each that is made. */
#include "rt/enter.h"
#include "rt/fns.h"
#include "rt/str.h"

#include <assert.h>
#include <string.h>

static bool is_upper(uint32_t c) {
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(uint32_t c) {
    return c >= 'a' && c <= 'z';
}

static bool is_letter(uint32_t c) {
    return is_upper(c) || is_lower(c);
}

static bool is_digit(uint32_t c) {
    return c >= '0' && c <= '9';
}

static bool is_space(uint32_t c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* One character in another case; `within`: a letter is before it. */
static uint32_t cased(int64_t how, uint32_t c, bool first, bool within) {
    bool up = is_lower(c), down = is_upper(c);
    switch (how) {
    case TR_BYTES_UPPER: down = false; break;
    case TR_BYTES_LOWER: up = false; break;
    case TR_BYTES_TITLE:
        up = up && !within;
        down = down && within;
        break;
    case TR_BYTES_CAPITALIZE:
        up = up && first;
        down = down && !first;
        break;
    default: break;
    }
    return up ? c - 32 : down ? c + 32 : c;
}

static void put_repr(const tr_str *s, bool array, tr_sb *b) {
    int64_t n = tr_str_len(s);
    bool single = false, twice = false;
    for (int64_t i = 0; i < n; i++) {
        single |= tr_str_at(s, i) == '\'';
        twice |= tr_str_at(s, i) == '"';
    }
    uint32_t quote = single && !twice ? '"' : '\'';
    tr_sb_printf(b, "b%c", (int)quote);
    for (int64_t i = 0; i < n; i++) {
        uint32_t c = tr_str_at(s, i);
        if (c == quote || c == '\\' || (array && c == '\''))
            tr_sb_printf(b, "\\%c", (int)c);
        else if (c == '\n' || c == '\r' || c == '\t')
            tr_sb_puts(b, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
        else if (c < 32 || c >= 127)
            tr_sb_printf(b, "\\x%02x", (unsigned)c);
        else
            tr_sb_putc(b, (char)c);
    }
    tr_sb_putc(b, (char)quote);
}

void tr_bytes_repr(const tr_str *s, tr_sb *b) {
    put_repr(s, false, b);
}

static void put_hex(const tr_str *s, tr_sb *b) {
    static const char digit[] = "0123456789abcdef";
    for (int64_t i = 0; i < tr_str_len(s); i++) {
        uint32_t c = tr_str_at(s, i);
        tr_sb_write(b, (char[]){digit[c >> 4 & 15], digit[c & 15]}, 2);
    }
}

static void put_ascii(const tr_str *s, tr_sb *b) {
    for (int64_t i = 0; i < tr_str_len(s); i++) {
        uint32_t c = tr_str_at(s, i);
        if (c < 0x80)
            tr_sb_putc(b, (char)c);
        else
            tr_sb_printf(b, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
    }
}

void tr_rt_bytes_make(tr_frame *f, int64_t how, STR_PARTS(s), tr_str *out) {
    tr_rt_look();
    tr_str x = STR_OF(s);
    int64_t n = tr_str_len(&x);
    if (how == TR_BYTES_REPR || how == TR_BYTES_REPR_ARRAY || how == TR_BYTES_HEX || how == TR_BYTES_ASCII) {
        tr_sb b;
        tr_sb_init(&b);
        how == TR_BYTES_HEX     ? put_hex(&x, &b)
        : how == TR_BYTES_ASCII ? put_ascii(&x, &b)
                                : put_repr(&x, how == TR_BYTES_REPR_ARRAY, &b);
        *out = b.oom ? (tr_str){NULL, NULL, -1} : tr_str_of_text(f, b.n ? b.d : "", b.n);
        tr_sb_fini(&b);
        return;
    }
    *out = tr_str_new(f, n, 0xff);
    bool within = false;
    for (int64_t i = 0; out->bits >= 0 && i < n; i++) {
        uint32_t c = tr_str_at(&x, i);
        tr_str_set(out, i, how == TR_BYTES_LOW ? c & 0xff : cased(how, c, i == 0, within));
        within = is_letter(c);
    }
}

/* Letters in words that begin with a capital, which alone is one. */
static bool is_title(const tr_str *s) {
    bool within = false, any = false;
    for (int64_t i = 0; i < tr_str_len(s); i++) {
        uint32_t c = tr_str_at(s, i);
        if ((is_upper(c) && within) || (is_lower(c) && !within))
            return false;
        within = is_letter(c);
        any |= within;
    }
    return any;
}

bool tr_rt_bytes_is(int64_t what, STR_PARTS(s)) {
    tr_rt_look();
    tr_str x = STR_OF(s);
    int64_t n = tr_str_len(&x), letters = 0;
    if (what == TR_STR_IS_TITLE)
        return is_title(&x);
    for (int64_t i = 0; i < n; i++) {
        uint32_t c = tr_str_at(&x, i);
        bool ok = what == TR_STR_IS_ALPHA   ? is_letter(c)
                  : what == TR_STR_IS_DIGIT ? is_digit(c)
                  : what == TR_STR_IS_ALNUM ? is_letter(c) || is_digit(c)
                  : what == TR_STR_IS_SPACE ? is_space(c)
                  : what == TR_STR_IS_ASCII ? c < 128
                  : what == TR_STR_IS_LOWER ? !is_upper(c)
                                            : !is_lower(c);
        if (!ok)
            return false;
        letters += is_letter(c);
    }
    return what == TR_STR_IS_ASCII ||
           (what == TR_STR_IS_LOWER || what == TR_STR_IS_UPPER ? letters > 0 : n > 0);
}

/* --- of other things --- */

void tr_rt_bytes_of_items(tr_frame *f, void *owner, const void *data, int64_t n, int64_t size, tr_str *out) {
    tr_rt_look();
    (void)owner;
    *out = tr_str_new(f, n * size, 0xff);
    if (out->bits >= 0 && n)
        memcpy((void *)(uintptr_t)out->data, data, (size_t)(n * size));
}

void tr_rt_bytes_of_list(tr_frame *f, const void *list, tr_str *out) {
    tr_rt_look();
    const tr_list *l = tr_list_of(list);
    const int64_t *x = l->items;
    bool fit = true;
    for (int64_t i = 0; i < l->len; i++)
        fit &= x[i] >= 0 && x[i] <= 255;
    *out = fit ? tr_str_new(f, l->len, 0xff) : (tr_str){NULL, NULL, (int64_t)((uint64_t)-2 << TR_STR_LENGTH)};
    for (int64_t i = 0; out->bits >= 0 && i < l->len; i++)
        tr_str_set(out, i, (uint32_t)x[i]);
}

void tr_rt_bytes_translate(tr_frame *f, STR_PARTS(s), STR_PARTS(table), STR_PARTS(gone), tr_str *out) {
    tr_rt_look();
    tr_str x = STR_OF(s), to = STR_OF(table), no = STR_OF(gone);
    bool leave[256] = {false}, same = !tr_str_len(&to);
    int64_t n = tr_str_len(&x), left = 0, at = 0;
    assert((same || tr_str_len(&to) == 256) && "a byte for each");
    for (int64_t i = 0; i < tr_str_len(&no); i++)
        leave[tr_str_at(&no, i)] = true;
    for (int64_t i = 0; i < n; i++)
        left += !leave[tr_str_at(&x, i)];
    *out = tr_str_new(f, left, 0xff);
    for (int64_t i = 0; out->bits >= 0 && i < n; i++) {
        uint32_t c = tr_str_at(&x, i);
        if (!leave[c])
            tr_str_set(out, at++, same ? c : tr_str_at(&to, c));
    }
}

void tr_rt_bytes_table(tr_frame *f, STR_PARTS(from), STR_PARTS(to), tr_str *out) {
    tr_rt_look();
    tr_str x = STR_OF(from), y = STR_OF(to);
    assert(tr_str_len(&x) == tr_str_len(&y) && "a byte for each");
    *out = tr_str_new(f, 256, 0xff);
    for (int64_t i = 0; out->bits >= 0 && i < 256; i++)
        tr_str_set(out, i, (uint32_t)i);
    for (int64_t i = 0; out->bits >= 0 && i < tr_str_len(&x); i++)
        tr_str_set(out, tr_str_at(&x, i), tr_str_at(&y, i));
}

static int digit_of(uint32_t c) {
    return is_digit(c)            ? (int)c - '0'
           : c >= 'a' && c <= 'f' ? (int)c - 'a' + 10
           : c >= 'A' && c <= 'F' ? (int)c - 'A' + 10
                                  : -1;
}

/* Two digits a byte, blanks of ASCII between them: how many there are, stored where there is a place; *bad:
 * where there are none, -1 for nowhere. */
static int64_t unhex(const tr_str *s, const tr_str *to, int64_t *bad) {
    int64_t n = tr_str_len(s), at = 0;
    for (*bad = 0; *bad < n; ++*bad) /* what is not ASCII is told of first */
        if (tr_str_at(s, *bad) >= 0x80)
            return at;
    *bad = -1;
    for (int64_t i = 0; i < n; i++) {
        if (is_space(tr_str_at(s, i)))
            continue;
        int high = digit_of(tr_str_at(s, i)), low = i + 1 < n ? digit_of(tr_str_at(s, i + 1)) : -1;
        if (high < 0 || low < 0) {
            *bad = high < 0 ? i : i + 1;
            return at;
        }
        if (to)
            tr_str_set(to, at, (uint32_t)(high << 4 | low));
        at++;
        i++;
    }
    return at;
}

int64_t tr_rt_bytes_unhex_bad(STR_PARTS(s)) {
    tr_rt_look();
    tr_str x = STR_OF(s);
    int64_t bad;
    unhex(&x, NULL, &bad);
    return bad;
}

void tr_rt_bytes_unhex(tr_frame *f, STR_PARTS(s), tr_str *out) {
    tr_rt_look();
    tr_str x = STR_OF(s);
    int64_t bad;
    *out = tr_str_new(f, unhex(&x, NULL, &bad), 0xff);
    if (out->bits >= 0)
        unhex(&x, out, &bad);
}
