/* Strings of the runtime: parts, searches and what is made, in each pair of widths, against characters one by
 * one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/fns.h"
#include "rt/rt.h"
#include "rt/str.h"
#include "rt/unicode.h"

enum { MAX = 40, ROUNDS = 20000 };

static uint64_t seed = 1;

static uint32_t next(uint32_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

static void fail(const char *what, int round) {
    printf("%s, round %d\n", what, round);
    exit(1);
}

/* Characters that every width has, with one that only `width` needs now and then. */
static tr_str drawn(char *room, unsigned width, int64_t n, bool wide) {
    static const uint32_t odd[] = {0xe9, 0x3bb, 0x1f600};
    tr_str s = {NULL, room, n << TR_STR_LENGTH | width};
    bool ascii = width == 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t c = wide && next(6) == 0 ? odd[width] : 'a' + next(2);
        ascii = ascii && c < 0x80;
        tr_str_set(&s, i, c);
    }
    s.bits |= ascii ? TR_STR_ASCII : 0;
    return s;
}

static bool is_at(const tr_str *s, int64_t at, const tr_str *p) {
    for (int64_t i = 0; i < tr_str_len(p); i++)
        if (at + i >= tr_str_len(s) || tr_str_at(s, at + i) != tr_str_at(p, i))
            return false;
    return at + tr_str_len(p) <= tr_str_len(s);
}

static int64_t seek(int64_t how, const tr_str *s, const tr_str *p, int64_t start, int64_t end) {
    return tr_rt_str_seek(how, s->owner, s->data, s->bits, p->owner, p->data, p->bits, start, end);
}

static void check_search(const tr_str *s, const tr_str *p, int round) {
    int64_t n = tr_str_len(s), m = tr_str_len(p), first = -1, last = -1, count = 0;
    for (int64_t i = 0; i + m <= n; i++)
        if (is_at(s, i, p)) {
            first = first < 0 ? i : first;
            last = i;
        }
    for (int64_t i = 0; i + m <= n; i += is_at(s, i, p) && m ? m : 1)
        count += is_at(s, i, p);
    if (seek(TR_STR_FIND, s, p, 0, INT64_MAX) != first || seek(TR_STR_RFIND, s, p, 0, INT64_MAX) != last ||
        seek(TR_STR_COUNT, s, p, 0, INT64_MAX) != count)
        fail("a search", round);
    if (seek(TR_STR_STARTS, s, p, 0, INT64_MAX) != is_at(s, 0, p) ||
        seek(TR_STR_ENDS, s, p, 0, INT64_MAX) != (n >= m && is_at(s, n - m, p)))
        fail("a beginning or an end", round);
    if (seek(TR_STR_FIND, s, p, n + 1, INT64_MAX) != -1 ||
        seek(TR_STR_FIND, s, p, INT64_MIN, INT64_MAX) != first)
        fail("a bound", round);
}

static void check_made(tr_frame *f, const tr_str *a, const tr_str *b, int round) {
    tr_str r;
    int64_t n = tr_str_len(a), m = tr_str_len(b);
    tr_rt_str_concat(f, a->owner, a->data, a->bits, b->owner, b->data, b->bits, &r);
    if (tr_str_len(&r) != n + m || !is_at(&r, 0, a) || !is_at(&r, n, b))
        fail("a sum", round);
    uint32_t most = tr_str_most(&r);
    unsigned least = most > 0xffff ? 2 : most > 0xff ? 1 : 0;
    if (tr_str_width(&r) != least || !(r.bits & TR_STR_ASCII) != (most > 0x7f))
        fail("the width of a sum", round);
    if (tr_rt_str_equal(r.owner, r.data, r.bits, a->owner, a->data, a->bits) != (m == 0))
        fail("equality", round);
    if (r.owner)
        tr_rt_free(f, r.owner);
    tr_rt_str_replace(f, a->owner, a->data, a->bits, b->owner, b->data, b->bits, b->owner, b->data, b->bits,
                      -1, &r);
    if (!tr_str_same(&r, a))
        fail("what is replaced by itself", round);
    if (r.owner)
        tr_rt_free(f, r.owner);
}

/* s += b: what was there stays, whoever else adds to it; nothing is left but the last one's memory. */
static void check_growing(tr_frame *f, const tr_str *a, const tr_str *b, int round) {
    tr_str s = {NULL, "", TR_STR_ASCII}, r, other;
    int64_t n = 0;
    for (int i = 0; i < 40; n = tr_str_len(&r), s = r, i++) {
        const tr_str *more = i % 8 ? b : a;
        int64_t m = tr_str_len(more);
        tr_rt_str_concat(f, s.owner, s.data, s.bits, more->owner, more->data, more->bits, &r);
        tr_rt_str_concat(f, s.owner, s.data, s.bits, b->owner, b->data, b->bits, &other);
        if (tr_str_len(&r) != n + m || !is_at(&r, 0, &s) || !is_at(&r, n, more) || !is_at(&other, 0, &s) ||
            !is_at(&other, n, b))
            fail("a string that grows", round);
        tr_mem *held[2] = {other.owner, s.owner};
        for (int k = 0; k < 2; k++)
            if (held[k] && --held[k]->refs == 0)
                tr_rt_free(f, held[k]);
    }
    if (s.owner && ((tr_mem *)s.owner)->refs != 1)
        fail("references to a string that grew", round);
    if (s.owner)
        tr_rt_free(f, s.owner);
}

static void check_order(const tr_str *a, const tr_str *b, int round) {
    int64_t n = tr_str_len(a), m = tr_str_len(b), i = 0;
    while (i < n && i < m && tr_str_at(a, i) == tr_str_at(b, i))
        i++;
    int64_t want = i < n && i < m ? (tr_str_at(a, i) < tr_str_at(b, i) ? -1 : 1) : (n > m) - (n < m);
    if (tr_rt_str_order(a->owner, a->data, a->bits, b->owner, b->data, b->bits) != want)
        fail("an order", round);
}

static void check_text(tr_frame *f) {
    tr_sb b;
    tr_str r, s = tr_str_of_text(f, "h\xc3\xa9\xed\xa0\x80\xf0\x9f\x98\x80'\n", 12);
    static const uint32_t want[] = {'h', 0xe9, 0xd800, 0x1f600, '\'', '\n'};
    if (tr_str_len(&s) != 6)
        fail("the length of a text", 0);
    for (int64_t i = 0; i < 6; i++)
        if (tr_str_at(&s, i) != want[i])
            fail("a character of a text", (int)i);
    tr_sb_init(&b);
    tr_str_text(&s, &b);
    if (b.n != 12 || memcmp(b.d, "h\xc3\xa9\xed\xa0\x80\xf0\x9f\x98\x80'\n", 12) != 0)
        fail("a text and back", 0);
    tr_sb_reset(&b);
    tr_str_repr(&s, &b);
    if (strcmp(b.d, "\"h\xc3\xa9\\ud800\xf0\x9f\x98\x80'\\n\"") != 0)
        fail("repr()", 0);
    tr_sb_fini(&b);
    /* one that is made inside of another one, and a line that is written meanwhile is another's */
    int64_t outer = tr_rt_str_make(f);
    tr_rt_print_str(f, "a");
    int64_t inner = tr_rt_str_make(f);
    tr_rt_print_i64(f, -7);
    tr_rt_str_made(f, inner, &r);
    if (tr_str_len(&r) != 2 || tr_str_at(&r, 0) != '-')
        fail("one inside of another", 0);
    tr_rt_print_str(f, "b");
    tr_rt_str_made(f, outer, &r);
    if (tr_str_len(&r) != 2 || tr_str_at(&r, 1) != 'b' || f->nout)
        fail("one around another", 0);
}

static void check_limits(tr_frame *f) {
    tr_str r, s = tr_str_of_text(f, "abc", 3), none = tr_str_of_text(f, "", 0);
    tr_rt_str_repeat(f, s.owner, s.data, s.bits, INT64_MAX, &r);
    if (r.bits >= 0)
        fail("a string that fits no memory", 0);
    tr_rt_str_repeat(f, none.owner, none.data, none.bits, INT64_MAX, &r);
    if (r.bits < 0 || tr_str_len(&r))
        fail("an empty one, many times", 0);
    tr_rt_str_pad(f, TR_STR_LJUST, s.owner, s.data, s.bits, INT64_MAX, ' ', &r);
    if (r.bits >= 0)
        fail("one that is too wide", 0);
    for (int64_t c = 0; c < 0x110000; c += 97) {
        tr_rt_str_char(f, c, &r);
        if (tr_str_len(&r) != 1 || tr_str_at(&r, 0) != c)
            fail("a character", (int)c);
    }
}

/* --- items of fixed-width strings --- */

enum { ITEMS = 9, WIDEST = 6 };

/* Items of so many characters, in bytes: few letters, so that many are equal, and NULs. */
static void draw_items(char *to, int64_t unit, int64_t chars, int64_t n) {
    memset(to, 0, (size_t)(n * chars * unit));
    for (int64_t i = 0; i < n * chars; i++)
        to[i * unit] = (char)(next(3) ? 'a' + next(2) : 0);
}

static bool char_of(const tr_str *s, int64_t i, uint32_t c) {
    return (i < tr_str_len(s) ? tr_str_at(s, i) : 0) == c;
}

static void check_item(tr_frame *f, const char *item, int64_t unit, int64_t chars, int64_t how, int round) {
    char back[WIDEST * 4], shorter[4];
    tr_str s;
    tr_rt_chars_get(f, how, NULL, item, chars * unit, &s);
    if (tr_str_len(&s) && !tr_str_at(&s, tr_str_len(&s) - 1))
        fail("a NUL at the end of an item", round);
    for (int64_t i = 0; i < chars; i++)
        if (!char_of(&s, i, (uint8_t)item[i * unit]))
            fail("a character of an item", round);
    if (!tr_rt_chars_put(how, s.owner, s.data, s.bits, NULL, back, chars * unit) ||
        memcmp(back, item, (size_t)(chars * unit)) != 0)
        fail("an item read and stored", round);
    memset(shorter, 9, sizeof shorter);
    if (!tr_rt_chars_put(how, s.owner, s.data, s.bits, NULL, shorter, unit) ||
        memcmp(shorter, item, (size_t)unit) != 0)
        fail("an item that is cut", round);
}

/* Items of two arrays one behind the other are their strings so. */
static void check_joined(tr_frame *f, const char *a, int64_t na, const char *b, int64_t nb, int64_t how,
                         int round) {
    static char to[ITEMS * WIDEST * 2 * 4];
    int64_t unit = how & TR_CHARS_WIDE ? 4 : 1, bytes = (na + nb) * unit;
    memset(to, 0x7f, sizeof to);
    tr_rt_chars_join(how, NULL, to, ITEMS, bytes, NULL, a, ITEMS, na * unit, na * unit, 1, NULL, b, ITEMS,
                     nb * unit, nb * unit, 1);
    for (int64_t i = 0; i < ITEMS; i++) {
        tr_str x, y, both, got;
        tr_rt_chars_get(f, how, NULL, a + i * na * unit, na * unit, &x);
        tr_rt_chars_get(f, how, NULL, b + i * nb * unit, nb * unit, &y);
        tr_rt_str_concat(f, x.owner, x.data, x.bits, y.owner, y.data, y.bits, &both);
        tr_rt_chars_get(f, how, NULL, to + i * bytes, bytes, &got);
        /* NULs at the end are no part of the item. */
        bool cut = tr_str_len(&got) < tr_str_len(&both);
        if (tr_rt_str_order(got.owner, got.data, got.bits, both.owner, both.data, both.bits) != 0 || cut)
            fail("items joined", round);
    }
}

static void check_chars(tr_frame *f, int round) {
    static char a[ITEMS * WIDEST * 4], b[ITEMS * WIDEST * 4];
    int64_t wide = round & 1, unit = wide ? 4 : 1, how = wide ? TR_CHARS_WIDE : 0, na = 1 + next(WIDEST),
            nb = 1 + next(WIDEST), order[ITEMS], other[ITEMS];
    bool yes[ITEMS];
    tr_str x[ITEMS], y;
    draw_items(a, unit, na, ITEMS);
    draw_items(b, unit, nb, ITEMS);
    for (int op = TR_CHARS_EQ; op <= TR_CHARS_GE; op++) {
        tr_rt_chars_compare(how | op, NULL, yes, ITEMS, NULL, a, ITEMS, na * unit, na * unit, 1, NULL, b,
                            ITEMS, nb * unit, nb * unit, 1);
        for (int64_t i = 0; i < ITEMS; i++) {
            tr_rt_chars_get(f, how, NULL, a + i * na * unit, na * unit, &x[i]);
            tr_rt_chars_get(f, how, NULL, b + i * nb * unit, nb * unit, &y);
            int64_t c = tr_rt_str_order(x[i].owner, x[i].data, x[i].bits, y.owner, y.data, y.bits);
            bool want[] = {c == 0, c != 0, c<0, c <= 0, c> 0, c >= 0};
            if (yes[i] != want[op])
                fail("items compared", round);
        }
    }
    check_joined(f, a, na, b, nb, how, round);
    for (int64_t i = 0; i < ITEMS; i++)
        check_item(f, a + i * na * unit, unit, na, how, round);
    tr_rt_chars_argsort(how | TR_CHARS_RANKS, NULL, a, ITEMS, na * unit, na * unit, 1, NULL, order, ITEMS,
                        NULL, other, ITEMS);
    for (int64_t i = 1; i < ITEMS; i++) {
        const tr_str *p = &x[order[i - 1]], *q = &x[order[i]];
        int64_t c = tr_rt_str_order(p->owner, p->data, p->bits, q->owner, q->data, q->bits);
        if (c > 0 || (c == 0 && order[i - 1] > order[i]) || other[order[i]] - other[order[i - 1]] != (c < 0))
            fail("items in order", round);
    }
    if (tr_rt_chars_fit(how | (wide ? TR_CHARS_FROM_WIDE : 0), NULL, b, ITEMS, nb * unit, NULL, a, ITEMS,
                        na * unit, na * unit, 1) >= 0)
        fail("items of another width", round);
    for (int64_t i = 0; i < ITEMS * nb; i++)
        if (b[i * unit] != (i % nb < na ? a[(i / nb * na + i % nb) * unit] : 0))
            fail("a character of another width", round);
}

int main(void) {
    static uint32_t room[4][MAX];
    tr_frame f;
    tr_rt_frame_init(&f, NULL);
    for (int r = 0; r < ROUNDS; r++) {
        bool wide = r % 3;
        tr_str a = drawn((char *)room[0], next(3), next(MAX), wide),
               b = drawn((char *)room[1], next(3), next(4), wide);
        check_search(&a, &b, r);
        if (r % 8 < 2)
            check_chars(&f, r);
        check_made(&f, &a, &b, r);
        check_growing(&f, &a, &b, r);
        check_order(&a, &b, r);
        tr_str c = drawn((char *)room[2], next(3), tr_str_len(&a), false);
        check_order(&a, &c, r);
        if (tr_str_same(&a, &c) != is_at(&a, 0, &c))
            fail("equality of two widths", r);
    }
    check_text(&f);
    check_limits(&f);
    tr_rt_frame_fini(&f);
    if (f.nalloc != f.nfree)
        fail("blocks are left", 0);
    puts("strings: ok");
    return 0;
}
