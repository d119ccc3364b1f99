/* Strings of compiled code: made, compared, searched, cut and joined.
 *
 * A string is a view (base/str.h), so a part of one is made without memory, by compiled code itself. What is
 * made here is of the least width that its characters need. Indices are characters, and come as Python's do.
 * Cost: linear, and one allocation for each string that is made; a search takes the product of both
 * lengths in the worst case, but that memmem() does those of bytes in linear time. */
#include "rt/str.h"

#include <string.h>

#include "base/fspec.h"
#include "rt/enter.h"
#include "rt/fns.h"
#include "rt/unicode.h"

#define H       uint8_t
#define N       uint8_t
#define NAME(x) x##_1_1
#include "rt/str_type.h"
#define H       uint8_t
#define N       uint16_t
#define NAME(x) x##_1_2
#include "rt/str_type.h"
#define H       uint8_t
#define N       uint32_t
#define NAME(x) x##_1_4
#include "rt/str_type.h"
#define H       uint16_t
#define N       uint8_t
#define NAME(x) x##_2_1
#include "rt/str_type.h"
#define H       uint16_t
#define N       uint16_t
#define NAME(x) x##_2_2
#include "rt/str_type.h"
#define H       uint16_t
#define N       uint32_t
#define NAME(x) x##_2_4
#include "rt/str_type.h"
#define H       uint32_t
#define N       uint8_t
#define NAME(x) x##_4_1
#include "rt/str_type.h"
#define H       uint32_t
#define N       uint16_t
#define NAME(x) x##_4_2
#include "rt/str_type.h"
#define H       uint32_t
#define N       uint32_t
#define NAME(x) x##_4_4
#include "rt/str_type.h"

/* The function of both widths, called. */
#define BY_WIDTHS(a, b, fn, ...)                      \
    switch (tr_str_width(a) << 2 | tr_str_width(b)) { \
    case 0: return fn##_1_1(__VA_ARGS__);             \
    case 1: return fn##_1_2(__VA_ARGS__);             \
    case 2: return fn##_1_4(__VA_ARGS__);             \
    case 4: return fn##_2_1(__VA_ARGS__);             \
    case 5: return fn##_2_2(__VA_ARGS__);             \
    case 6: return fn##_2_4(__VA_ARGS__);             \
    case 8: return fn##_4_1(__VA_ARGS__);             \
    case 9: return fn##_4_2(__VA_ARGS__);             \
    default: return fn##_4_4(__VA_ARGS__);            \
    }

/* n characters of `a` from `at` on, and all of b. */
static bool same_at(const tr_str *a, int64_t at, const tr_str *b) {
    tr_str part = tr_str_part(a, at, tr_str_len(b));
    BY_WIDTHS(&part, b, same, part.data, b->data, tr_str_len(b))
}

static int order(const tr_str *a, const tr_str *b) {
    BY_WIDTHS(a, b, order, a->data, tr_str_len(a), b->data, tr_str_len(b))
}

static int64_t find_wide(const tr_str *a, const tr_str *b) {
    BY_WIDTHS(a, b, find, a->data, tr_str_len(a), b->data, tr_str_len(b))
}

static int64_t find(const tr_str *a, const tr_str *b) {
    if (tr_str_width(a) || tr_str_width(b) || tr_str_len(b) == 1)
        return find_wide(a, b);
    const char *at = memmem(a->data, (size_t)tr_str_len(a), b->data, (size_t)tr_str_len(b));
    return at ? at - (const char *)a->data : -1;
}

static int64_t rfind(const tr_str *a, const tr_str *b) {
    BY_WIDTHS(a, b, rfind, a->data, tr_str_len(a), b->data, tr_str_len(b))
}

/* --- making --- */

/* More could not be counted in bits, nor in bytes. */
static const int64_t max_length = INT64_C(1) << 44;
/* Bytes of memory are counted in these. */
enum { STEP = 16 };

tr_str tr_str_new(tr_frame *f, int64_t n, uint32_t most) {
    unsigned width = most > 0xffff ? 2 : most > 0xff ? 1 : 0;
    /* In steps, so that the block of a text that has just gone fits the next one, of a digit more or less. */
    uint64_t bytes =
        n < 0 || n > max_length ? 0 : (((uint64_t)n << width) + STEP - 1) & ~(uint64_t)(STEP - 1);
    tr_mem *m = bytes ? tr_rt_cell(f, bytes) : NULL;
    if (n && !m)
        return (tr_str){NULL, NULL, -1};
    return (tr_str){m, m ? tr_mem_data(m) : "",
                    n << TR_STR_LENGTH | (most < 0x80 ? TR_STR_ASCII : 0) | width};
}

uint32_t tr_str_most(const tr_str *s) {
    uint32_t any = 0;
    int64_t n = tr_str_len(s);
    if (s->bits & TR_STR_ASCII)
        return 0x7f;
    switch (tr_str_width(s)) {
    case 0:
        for (int64_t i = 0; i < n; i++)
            any |= ((const uint8_t *)s->data)[i];
        break;
    case 1:
        for (int64_t i = 0; i < n; i++)
            any |= ((const uint16_t *)s->data)[i];
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            any |= ((const uint32_t *)s->data)[i];
    }
    return any < 0x80 ? 0x7f : any < 0x100 ? 0xff : any < 0x10000 ? 0xffff : TR_CHAR_MOST;
}

void tr_str_put(const tr_str *to, int64_t at, const tr_str *from) {
    int64_t n = tr_str_len(from);
    assert(at >= 0 && at + n <= tr_str_len(to) && "there is room");
    if (!n)
        return;
    if (tr_str_width(to) == tr_str_width(from)) {
        unsigned w = tr_str_width(to);
        memcpy((char *)(uintptr_t)to->data + (at << w), from->data, (size_t)n << w);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        tr_str_set(to, at + i, tr_str_at(from, i));
}

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

/* Whether UTF-8 is ASCII: eight bytes at a time, the last eight perhaps once more. */
static bool is_ascii(const char *s, size_t n) {
    uint64_t w, any = 0;
    if (n < sizeof w) {
        for (size_t i = 0; i < n; i++)
            any |= (uint8_t)s[i];
        return any < 0x80;
    }
    for (size_t i = 0; i + sizeof w < n; i += sizeof w) {
        memcpy(&w, s + i, sizeof w);
        any |= w;
    }
    memcpy(&w, s + n - sizeof w, sizeof w);
    return ((any | w) & UINT64_C(0x8080808080808080)) == 0;
}

tr_str tr_str_of_text(tr_frame *f, const char *s, size_t n) {
    if (is_ascii(s, n)) {
        tr_str out = tr_str_new(f, (int64_t)n, 0);
        if (out.owner) /* of nothing there is no memory */
            memcpy(tr_mem_data(out.owner), s, n);
        return out;
    }
    const uint8_t *at = (const uint8_t *)s, *end = at + n;
    uint32_t most = 0;
    int64_t chars = 0;
    for (; at < end; chars++)
        most = larger(most, tr_utf8_next(&at));
    tr_str out = tr_str_new(f, chars, most);
    if (out.bits < 0)
        return out;
    at = (const uint8_t *)s;
    for (int64_t i = 0; i < chars; i++)
        tr_str_set(&out, i, tr_utf8_next(&at));
    return out;
}

static void put_char(uint32_t c, tr_sb *out) {
    static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
    unsigned n = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    char u[4] = {(char)(lead[n] | c >> (6 * n))};
    for (unsigned i = 1; i <= n; i++)
        u[i] = (char)(0x80 | (c >> (6 * (n - i)) & 0x3f));
    tr_sb_write(out, u, n + 1);
}

void tr_str_text(const tr_str *s, tr_sb *out) {
    int64_t n = tr_str_len(s);
    if (s->bits & TR_STR_ASCII)
        tr_sb_write(out, s->data, (size_t)n);
    else
        for (int64_t i = 0; i < n; i++)
            put_char(tr_str_at(s, i), out);
}

static bool has_char(const tr_str *s, uint32_t c) {
    for (int64_t i = 0; i < tr_str_len(s); i++)
        if (tr_str_at(s, i) == c)
            return true;
    return false;
}

void tr_str_repr(const tr_str *s, tr_sb *out) {
    char quote = has_char(s, '\'') && !has_char(s, '"') ? '"' : '\'';
    tr_sb_putc(out, quote);
    for (int64_t i = 0; i < tr_str_len(s); i++) {
        uint32_t c = tr_str_at(s, i);
        if (c == (uint32_t)quote || c == '\\')
            tr_sb_putc(out, '\\');
        if (c == '\n' || c == '\r' || c == '\t')
            tr_sb_puts(out, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
        else if (tr_rt_char_is(c, TR_CHAR_PRINTABLE))
            put_char(c, out);
        else
            tr_sb_printf(out, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
    }
    tr_sb_putc(out, quote);
}

void tr_str_spec(const tr_str *s, const char *spec, tr_sb *out) {
    tr_fspec how;
    if (!tr_fspec_read(spec, 's', NULL, &how, NULL))
        return;
    int64_t n = tr_str_len(s), most = how.precision >= 0 && how.precision < n ? how.precision : n;
    tr_str part = tr_str_part(s, 0, most);
    tr_fspec_fill(&how, tr_fspec_before(&how, (size_t)most), out);
    tr_str_text(&part, out);
    tr_fspec_fill(&how, tr_fspec_behind(&how, (size_t)most), out);
}

/* --- rows --- */

void tr_rt_str_char(tr_frame *f, int64_t c, tr_str *out) {
    static const uint8_t latin[] = {
#define FOUR(x)    x, x + 1, x + 2, x + 3
#define SIXTEEN(x) FOUR(x), FOUR(x + 4), FOUR(x + 8), FOUR(x + 12)
#define MANY(x)    SIXTEEN(x), SIXTEEN(x + 16), SIXTEEN(x + 32), SIXTEEN(x + 48)
        MANY(0), MANY(64), MANY(128), MANY(192)
#undef FOUR
#undef SIXTEEN
#undef MANY
    };
    assert(c >= 0 && c <= TR_CHAR_MOST && "a character of Unicode");
    if (c < 256) {
        *out = (tr_str){NULL, &latin[c], 1 << TR_STR_LENGTH | (c < 128 ? TR_STR_ASCII : 0)};
        return;
    }
    *out = tr_str_new(f, 1, (uint32_t)c);
    if (out->bits >= 0)
        tr_str_set(out, 0, (uint32_t)c);
}

bool tr_str_same(const tr_str *a, const tr_str *b) {
    if (a->data == b->data && a->bits == b->bits)
        return true;
    return tr_str_len(a) == tr_str_len(b) && same_at(a, 0, b);
}

bool tr_rt_str_equal(STR_PARTS(a), STR_PARTS(b)) {
    tr_rt_look();
    return tr_str_same(&STR_OF(a), &STR_OF(b));
}

int64_t tr_rt_str_order(STR_PARTS(a), STR_PARTS(b)) {
    tr_rt_look();
    return order(&STR_OF(a), &STR_OF(b));
}

/* `at` as a bound of a slice of n. */
static int64_t bound(int64_t at, int64_t n) {
    at += at < 0 ? n : 0;
    return at < 0 ? 0 : at;
}

int64_t tr_rt_str_seek(int64_t how, STR_PARTS(s), STR_PARTS(what), int64_t start, int64_t end) {
    tr_rt_look();
    tr_str all = STR_OF(s), p = STR_OF(what);
    int64_t n = tr_str_len(&all), m = tr_str_len(&p), at;
    start = bound(start, n);
    end = end > n ? n : bound(end, n);
    if (end - start < m)
        return how == TR_STR_FIND || how == TR_STR_RFIND ? -1 : 0;
    switch (how) {
    case TR_STR_STARTS: return same_at(&all, start, &p);
    case TR_STR_ENDS: return same_at(&all, end - m, &p);
    case TR_STR_COUNT: break;
    default: {
        tr_str part = tr_str_part(&all, start, end - start);
        if (!m)
            return how == TR_STR_FIND ? start : end;
        at = how == TR_STR_FIND ? find(&part, &p) : rfind(&part, &p);
        return at < 0 ? -1 : start + at;
    }
    }
    if (!m)
        return end - start + 1;
    for (n = 0; end - start >= m; n++, start += at + m) {
        tr_str part = tr_str_part(&all, start, end - start);
        at = find(&part, &p);
        if (at < 0)
            break;
    }
    return n;
}

void tr_rt_str_slice(tr_frame *f, STR_PARTS(s), int64_t start, int64_t n, int64_t step, tr_str *out) {
    tr_rt_look();
    tr_str all = STR_OF(s);
    uint32_t most = 0;
    for (int64_t i = 0; i < n; i++)
        most = larger(most, tr_str_at(&all, start + i * step));
    *out = tr_str_new(f, n, most);
    for (int64_t i = 0; out->bits >= 0 && i < n; i++)
        tr_str_set(out, i, tr_str_at(&all, start + i * step));
}

/* --- + ---
 *
 * What is long and gets a little more will get more again, as in a loop with `s += c`: it is made with room
 * behind it, and what is added to it next goes there. Nobody sees that: who has the shorter string has its
 * length, and the room is given once, to who comes first. So n times `+=` copy some 3 n characters. */

enum { ROOM_FROM = 64, ROOM_MANY = 4 }; /* characters; that many times as long as what is added */

/* What such a block begins with. */
typedef struct room {
    uint64_t used, all; /* bytes of characters */
    char chars[];
} room;

static room *room_of(const tr_str *s) {
    tr_mem *m = s->owner;
    return m && !((uintptr_t)m & 1u) && !m->far && m->shape == &tr_rt_room ? tr_mem_data(m) : NULL;
}

/* A string of x, and n characters that follow; without room where it would not be worth it. */
static tr_str longer(tr_frame *f, const tr_str *x, int64_t n, uint32_t most) {
    int64_t have = tr_str_len(x), all = have + n;
    if (have < ROOM_FROM || have / ROOM_MANY < n || all > max_length)
        return tr_str_new(f, all, most);
    unsigned width = most > 0xffff ? 2 : most > 0xff ? 1 : 0;
    uint64_t bytes = (uint64_t)(all + all / 2) << width;
    tr_mem *m = tr_rt_alloc(f, sizeof(room) + bytes);
    if (!m)
        return (tr_str){NULL, NULL, -1};
    room *r = tr_mem_data(m);
    m->shape = &tr_rt_room;
    *r = (room){(uint64_t)all << width, bytes};
    return (tr_str){m, r->chars, all << TR_STR_LENGTH | (most < 0x80 ? TR_STR_ASCII : 0) | width};
}

/* y behind x, where x's memory has room for it. */
static bool in_place(const tr_str *x, const tr_str *y, uint32_t most, tr_str *out) {
    room *r = room_of(x);
    int64_t n = tr_str_len(x), k = tr_str_len(y);
    unsigned width = tr_str_width(x);
    if (!r || (most > 0xff && width == 0) || (most > 0xffff && width == 1))
        return false;
    uint64_t end = (uint64_t)((const char *)x->data - r->chars) + ((uint64_t)n << width),
             next = end + ((uint64_t)k << width);
    if (next > r->all ||
        !__atomic_compare_exchange_n(&r->used, &end, next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return false;
    __atomic_add_fetch(&((tr_mem *)x->owner)->refs, 1, __ATOMIC_RELAXED);
    *out = *x;
    out->bits = (n + k) << TR_STR_LENGTH | width | (x->bits & y->bits & TR_STR_ASCII);
    tr_str_put(out, n, y);
    return true;
}

void tr_rt_str_concat(tr_frame *f, STR_PARTS(a), STR_PARTS(b), tr_str *out) {
    tr_rt_look();
    tr_str x = STR_OF(a), y = STR_OF(b);
    int64_t n = tr_str_len(&x);
    uint32_t most = tr_str_len(&y) ? tr_str_most(&y) : 0;
    if (in_place(&x, &y, most, out))
        return;
    *out = longer(f, &x, tr_str_len(&y), larger(n ? tr_str_most(&x) : 0, most));
    if (out->bits < 0)
        return;
    tr_str_put(out, 0, &x);
    tr_str_put(out, n, &y);
}

/* The strings of a list, as they lie there. */
void tr_rt_str_join(tr_frame *f, STR_PARTS(sep), const void *list, tr_str *out) {
    tr_rt_look();
    tr_str between = STR_OF(sep);
    const tr_list *l = tr_list_of(list);
    const tr_str *s = l->items;
    int64_t n = l->len, size = 0;
    uint32_t most = n > 1 ? tr_str_most(&between) : 0;
    for (int64_t i = 0; i < n && size <= max_length; i++) {
        size += tr_str_len(&s[i]) + (i ? tr_str_len(&between) : 0);
        most = larger(most, tr_str_len(&s[i]) ? tr_str_most(&s[i]) : 0);
    }
    *out = tr_str_new(f, size > max_length ? -1 : size, most);
    if (out->bits < 0)
        return;
    for (int64_t i = 0, at = 0; i < n; i++) {
        if (i) {
            tr_str_put(out, at, &between);
            at += tr_str_len(&between);
        }
        tr_str_put(out, at, &s[i]);
        at += tr_str_len(&s[i]);
    }
}

void tr_rt_str_repeat(tr_frame *f, STR_PARTS(s), int64_t times, tr_str *out) {
    tr_rt_look();
    tr_str x = STR_OF(s);
    int64_t n = tr_str_len(&x);
    times = times < 0 || !n ? 0 : times;
    *out = tr_str_new(f, times && n > max_length / times ? -1 : n * times, tr_str_most(&x));
    if (out->bits < 0 || !times)
        return;
    tr_str_put(out, 0, &x);
    for (int64_t have = n, all = n * times; have < all;) { /* doubled each time */
        tr_str part = tr_str_part(out, 0, have < all - have ? have : all - have);
        tr_str_put(out, have, &part);
        have += tr_str_len(&part);
    }
}

/* Where the next `what` begins from `at` on, or the end; one that is empty is before each character. */
static int64_t next_of(const tr_str *s, int64_t at, const tr_str *what) {
    tr_str part = tr_str_part(s, at, tr_str_len(s) - at);
    int64_t found = find(&part, what);
    assert(found >= 0 && "as many as were counted");
    return at + found;
}

void tr_rt_str_replace(tr_frame *f, STR_PARTS(s), STR_PARTS(old), STR_PARTS(by), int64_t most, tr_str *out) {
    tr_rt_look();
    tr_str x = STR_OF(s), what = STR_OF(old), y = STR_OF(by);
    int64_t n = tr_str_len(&x), m = tr_str_len(&what), k = tr_str_len(&y),
            times =
                tr_rt_str_seek(TR_STR_COUNT, s_owner, s_data, s_bits, old_owner, old_data, old_bits, 0, n);
    times = most >= 0 && most < times ? most : times;
    int64_t grown;
    if (__builtin_mul_overflow(times, k - m, &grown) || grown > max_length) {
        out->bits = -1;
        return;
    }
    *out = tr_str_new(f, n + grown, times ? larger(tr_str_most(&x), tr_str_most(&y)) : tr_str_most(&x));
    if (out->bits < 0)
        return;
    int64_t from = 0, to = 0;
    for (int64_t i = 0; i < times; i++) {
        int64_t at = m ? next_of(&x, from, &what) : i ? from + 1 : 0;
        tr_str part = tr_str_part(&x, from, at - from);
        tr_str_put(out, to, &part);
        tr_str_put(out, to + at - from, &y);
        to += at - from + k;
        from = at + m;
    }
    tr_str rest = tr_str_part(&x, from, n - from);
    tr_str_put(out, to, &rest);
    uint32_t least = tr_str_most(out); /* what made it wide may be what was replaced */
    if (least < 0x10000 && tr_str_width(out) > (least > 0xff)) {
        tr_str all = *out;
        *out = tr_str_new(f, tr_str_len(&all), least);
        if (out->bits >= 0)
            tr_str_put(out, 0, &all);
        if (all.owner)
            tr_rt_free(f, all.owner);
    }
}

/* --- places in a string --- */

/* What words are cut at, or lines: of ASCII by a mask, the same in all Pythons; beyond, as Unicode has it; of
 * bytes nothing is. */
typedef struct cut {
    uint64_t mask;
    unsigned beyond;
} cut;

static cut cut_of(bool line, bool bytes) {
    static const cut cuts[2][2] = {
        {{UINT64_C(0x1f0003e00), TR_CHAR_SPACE}, {UINT64_C(0x100003e00), 0}},
        {{UINT64_C(0x70003c00), TR_CHAR_LINE}, {UINT64_C(0x2400), 0}},
    };
    return cuts[line][bytes];
}

static bool breaks(uint32_t c, cut at) {
    return c < 64 ? at.mask >> c & 1 : c >= 128 && at.beyond && tr_rt_char_is(c, at.beyond);
}

static bool is_in(const tr_str *set, bool spaces, uint32_t c) {
    return spaces ? breaks(c, cut_of(false, false)) : has_char(set, c);
}

int64_t tr_rt_str_edge(int64_t how, STR_PARTS(s), STR_PARTS(set), int64_t from) {
    tr_rt_look();
    tr_str x = STR_OF(s), chars = STR_OF(set);
    bool spaces = how & TR_STR_SPACES;
    int64_t n = tr_str_len(&x);
    if (!(how & TR_STR_AT_END)) {
        while (from < n && is_in(&chars, spaces, tr_str_at(&x, from)))
            from++;
        return from;
    }
    while (n > from && is_in(&chars, spaces, tr_str_at(&x, n - 1)))
        n--;
    return n;
}

/* Words are begun where no space is, behind one or at the start; lines by what is in them, if only their
 * end. */
static int64_t count_of(bool words, bool bytes, const tr_str *s, int64_t from) {
    int64_t n = tr_str_len(s), count = 0;
    bool within = false;
    cut at = cut_of(!words, bytes);
    for (int64_t i = from; i < n; i++) {
        uint32_t c = tr_str_at(s, i);
        bool ends = breaks(c, at);
        count += !within && !(words && ends);
        within = !ends;
        if (!words && c == '\r' && i + 1 < n && tr_str_at(s, i + 1) == '\n')
            i++;
    }
    return count;
}

int64_t tr_rt_str_next(int64_t how, STR_PARTS(s), int64_t from) {
    tr_rt_look();
    tr_str x = STR_OF(s);
    int64_t n = tr_str_len(&x);
    bool bytes = how & TR_STR_OF_BYTES;
    how &= ~TR_STR_OF_BYTES;
    switch (how) {
    case TR_STR_WORDS:
    case TR_STR_LINES: return count_of(how == TR_STR_WORDS, bytes, &x, from);
    case TR_STR_NEXT_WORD:
    case TR_STR_NEXT_SPACE: {
        bool space = how == TR_STR_NEXT_SPACE;
        cut at = cut_of(false, bytes);
        const uint8_t *narrow = tr_str_width(&x) ? NULL : x.data;
        while (from < n && breaks(narrow ? narrow[from] : tr_str_at(&x, from), at) != space)
            from++;
        return from;
    }
    case TR_STR_LAST_WORD:
    case TR_STR_LAST_SPACE: {
        bool space = how == TR_STR_LAST_SPACE;
        while (from > 0 && breaks(tr_str_at(&x, from - 1), cut_of(false, bytes)) != space)
            from--;
        return from;
    }
    case TR_STR_LINE_END:
        while (from < n && !breaks(tr_str_at(&x, from), cut_of(true, bytes)))
            from++;
        return from;
    default: /* TR_STR_NEXT_LINE: behind the end of a line */
        if (from + 1 < n && tr_str_at(&x, from) == '\r' && tr_str_at(&x, from + 1) == '\n')
            return from + 2;
        return from < n ? from + 1 : n;
    }
}

/* --- made of one --- */

void tr_rt_str_pad(tr_frame *f, int64_t how, STR_PARTS(s), int64_t width, int64_t fill, tr_str *out) {
    tr_rt_look();
    tr_str x = STR_OF(s);
    int64_t n = tr_str_len(&x), more = width > n ? width - n : 0, before = 0, sign = 0;
    if (how == TR_STR_CENTER)
        before = more / 2 + (more & width & 1);
    else if (how != TR_STR_LJUST)
        before = more;
    if (how == TR_STR_ZFILL && more && n && (tr_str_at(&x, 0) == '+' || tr_str_at(&x, 0) == '-'))
        sign = 1;
    uint32_t c = (uint32_t)fill, most = tr_str_most(&x);
    *out = tr_str_new(f, width > max_length ? -1 : n + more, more ? larger(most, c) : most);
    if (out->bits < 0)
        return;
    for (int64_t i = 0; i < before; i++)
        tr_str_set(out, i + sign, c);
    for (int64_t i = before + n; i < n + more; i++)
        tr_str_set(out, i, c);
    if (sign)
        tr_str_set(out, 0, tr_str_at(&x, 0));
    tr_str rest = tr_str_part(&x, sign, n - sign);
    tr_str_put(out, before + sign, &rest);
}

/* Of a character: the next column; at a tab how many blanks it is. */
static int64_t columns(uint32_t c, int64_t *column, int64_t tab) {
    int64_t n = 1;
    if (c == '\t') {
        n = tab > 0 ? tab - *column % tab : 0;
        *column += n;
    } else {
        *column = c == '\n' || c == '\r' ? 0 : *column + 1;
    }
    return n;
}

void tr_rt_str_tabs(tr_frame *f, STR_PARTS(s), int64_t tab, tr_str *out) {
    tr_rt_look();
    tr_str x = STR_OF(s);
    int64_t n = tr_str_len(&x), size = 0, column = 0;
    for (int64_t i = 0; i < n && size <= max_length; i++)
        size += columns(tr_str_at(&x, i), &column, tab);
    *out = tr_str_new(f, size > max_length ? -1 : size, tr_str_most(&x));
    if (out->bits < 0)
        return;
    size = column = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t c = tr_str_at(&x, i);
        for (int64_t k = columns(c, &column, tab); k > 0; k--)
            tr_str_set(out, size++, c == '\t' ? ' ' : c);
    }
}
