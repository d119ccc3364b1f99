/* Items of arrays of fixed-width strings, NumPy's S and U: read, stored, compared, sorted.
 *
 * An item is so many bytes: characters of one byte, or (TR_CHARS_WIDE) of four, then NULs, which are no part
 * of it. They lie anywhere, so wide ones are read byte by byte as far as the compiler's memcpy goes.
 * Cost: linear in the width; a sort compares n log n times. */
#include <string.h>

#include "rt/enter.h"
#include "rt/fns.h"
#include "rt/str.h"
#include "rt/unicode.h"

enum { NARROW = 1, WIDE = 4 };

static int64_t unit_of(int64_t how) {
    return how & TR_CHARS_WIDE ? WIDE : NARROW;
}

/* Character k of an item that has it; 0 behind its end. */
static uint32_t char_at(const char *item, int64_t bytes, int64_t unit, int64_t k) {
    uint32_t c;
    if (k * unit >= bytes)
        return 0;
    if (unit == NARROW)
        return (uint8_t)item[k];
    memcpy(&c, item + k * WIDE, WIDE);
    return c;
}

static void set_char(char *item, int64_t unit, int64_t k, uint32_t c) {
    if (unit == NARROW)
        item[k] = (char)c;
    else
        memcpy(item + k * WIDE, &c, WIDE);
}

/* How many characters there are before the NULs at the end. */
static int64_t length_of(const char *item, int64_t bytes, int64_t unit) {
    int64_t n = bytes / unit;
    while (n && !char_at(item, bytes, unit, n - 1))
        n--;
    return n;
}

/* The largest of n characters. */
static uint32_t largest_narrow(const uint8_t *c, int64_t n) {
    uint8_t most = 0;
    for (int64_t i = 0; i < n; i++)
        most |= c[i];
    return most;
}

static uint32_t largest_wide(const char *item, int64_t n) {
    uint32_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t c;
        memcpy(&c, item + i * WIDE, WIDE);
        most = c > most ? c : most;
    }
    return most;
}

void tr_rt_chars_get(tr_frame *f, int64_t how, const void *owner, const void *data, int64_t bytes,
                     tr_str *out) {
    tr_rt_look();
    const char *item = data;
    int64_t unit = unit_of(how), n = how & TR_CHARS_WHOLE ? bytes / unit : length_of(item, bytes, unit);
    uint32_t most = unit == NARROW ? largest_narrow(data, n) : largest_wide(item, n);
    (void)owner;
    if (most > TR_CHAR_MOST) {
        *out = (tr_str){NULL, NULL, TR_CHARS_NONE};
        return;
    }
    *out = tr_str_new(f, n, most);
    if (out->bits < 0 || !n)
        return;
    if (tr_str_width(out) == (unit == WIDE ? 2 : 0)) {
        memcpy((void *)(uintptr_t)out->data, item, (size_t)(n * unit));
    } else if (tr_str_width(out) == 0) {
        uint8_t *to = (uint8_t *)(uintptr_t)out->data;
        for (int64_t i = 0; i < n; i++)
            to[i] = (uint8_t)item[i * WIDE]; /* of little-endian characters */
    } else {
        for (int64_t i = 0; i < n; i++)
            tr_str_set(out, i, char_at(item, bytes, unit, i));
    }
}

bool tr_rt_chars_put(int64_t how, STR_PARTS(s), void *owner, void *data, int64_t bytes) {
    tr_rt_look();
    tr_str x = STR_OF(s);
    int64_t unit = unit_of(how), room = bytes / unit, len = tr_str_len(&x), n = len < room ? len : room;
    bool ascii =
        x.bits & TR_STR_ASCII || (how & TR_CHARS_WIDE ? !(how & TR_CHARS_BYTES) : how & TR_CHARS_BYTES);
    (void)owner;
    for (int64_t i = 0; !ascii && i < len; i++)
        if (tr_str_at(&x, i) >= 0x80)
            return false;
    for (int64_t i = 0; i < n; i++)
        set_char(data, unit, i, tr_str_at(&x, i));
    if (n < room)
        memset((char *)data + n * unit, 0, (size_t)((room - n) * unit));
    return true;
}

int64_t tr_rt_chars_fit(int64_t how, void *to_owner, void *to, int64_t rows, int64_t to_bytes,
                        const void *owner, const void *from, int64_t n, int64_t bytes, int64_t step,
                        int64_t unit_step) {
    tr_rt_look();
    int64_t into = unit_of(how), of = how & TR_CHARS_FROM_WIDE ? WIDE : NARROW;
    bool same = into == of;
    (void)to_owner, (void)owner, (void)unit_step, (void)rows;
    assert(rows == n && "an item for each item");
    for (int64_t r = 0; r < n; r++) {
        const char *x = (const char *)from + r * step;
        char *y = (char *)to + r * to_bytes;
        if (same) {
            int64_t k = bytes < to_bytes ? bytes : to_bytes;
            memcpy(y, x, (size_t)k);
            memset(y + k, 0, (size_t)(to_bytes - k));
            continue;
        }
        for (int64_t i = 0; i < bytes / of; i++)
            if (char_at(x, bytes, of, i) >= 0x80)
                return r;
        for (int64_t i = 0; i < to_bytes / into; i++)
            set_char(y, into, i, char_at(x, bytes, of, i));
    }
    return -1;
}

static int order_wide(const char *a, const char *b, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t x, y;
        memcpy(&x, a + i * WIDE, WIDE);
        memcpy(&y, b + i * WIDE, WIDE);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

static int order_of(const char *a, int64_t na, const char *b, int64_t nb, int64_t unit) {
    int64_t both = na < nb ? na : nb, most = na < nb ? nb : na;
    int c = unit == NARROW ? memcmp(a, b, (size_t)both) : order_wide(a, b, both / WIDE);
    if (c)
        return c < 0 ? -1 : 1;
    for (int64_t i = both / unit; i < most / unit; i++)
        if (char_at(na > nb ? a : b, most, unit, i))
            return na > nb ? 1 : -1;
    return 0;
}

/* The same for == and !=: 0 or not. */
static int differs(const char *a, int64_t na, const char *b, int64_t nb) {
    int64_t both = na < nb ? na : nb, most = na < nb ? nb : na;
    const char *rest = na > nb ? a : b;
    if (memcmp(a, b, (size_t)both) != 0)
        return 1;
    for (int64_t i = both; i < most; i++)
        if (rest[i])
            return 1;
    return 0;
}

void tr_rt_chars_compare(int64_t how, void *out_owner, void *out, int64_t n, const void *a_owner,
                         const void *a, int64_t na, int64_t a_bytes, int64_t a_step, int64_t a_unit,
                         const void *b_owner, const void *b, int64_t nb, int64_t b_bytes, int64_t b_step,
                         int64_t b_unit) {
    tr_rt_look();
    int64_t op = how & TR_CHARS_OP, unit = unit_of(how);
    bool *yes = out;
    (void)out_owner, (void)a_owner, (void)b_owner, (void)a_unit, (void)b_unit, (void)na, (void)nb;
    assert(n == na && n == nb && "all have as many items");
    for (int64_t r = 0; r < n; r++) {
        const char *x = (const char *)a + r * a_step, *y = (const char *)b + r * b_step;
        int c = op <= TR_CHARS_NE ? differs(x, a_bytes, y, b_bytes) : order_of(x, a_bytes, y, b_bytes, unit);
        yes[r] = op == TR_CHARS_EQ   ? c == 0
                 : op == TR_CHARS_NE ? c != 0
                 : op == TR_CHARS_LT ? c < 0
                 : op == TR_CHARS_LE ? c <= 0
                 : op == TR_CHARS_GT ? c > 0
                                     : c >= 0;
    }
}

void tr_rt_chars_join(int64_t how, void *out_owner, void *out, int64_t n, int64_t bytes, const void *a_owner,
                      const void *a, int64_t na, int64_t a_bytes, int64_t a_step, int64_t a_unit,
                      const void *b_owner, const void *b, int64_t nb, int64_t b_bytes, int64_t b_step,
                      int64_t b_unit) {
    tr_rt_look();
    int64_t unit = unit_of(how);
    (void)out_owner, (void)a_owner, (void)b_owner, (void)a_unit, (void)b_unit, (void)na, (void)nb;
    assert(n == na && n == nb && "all have as many items");
    for (int64_t r = 0; r < n; r++) {
        const char *x = (const char *)a + r * a_step, *y = (const char *)b + r * b_step;
        char *to = (char *)out + r * bytes;
        int64_t nx = length_of(x, a_bytes, unit) * unit, ny = length_of(y, b_bytes, unit) * unit;
        assert(nx + ny <= bytes && "an item has room for both");
        memcpy(to, x, (size_t)nx);
        memcpy(to + nx, y, (size_t)ny);
        memset(to + nx + ny, 0, (size_t)(bytes - nx - ny));
    }
}

typedef struct lines {
    const char *item;
    int64_t bytes, step, unit;
} lines;

static bool comes_before(const lines *l, int64_t i, int64_t j) {
    const char *x = l->item + i * l->step, *y = l->item + j * l->step;
    return (l->unit == NARROW ? memcmp(x, y, (size_t)l->bytes) : order_wide(x, y, l->bytes / WIDE)) < 0;
}

/* Places [lo, hi) by insertion. */
static void sort_few(const lines *l, int64_t *place, int64_t lo, int64_t hi) {
    for (int64_t i = lo + 1; i < hi; i++) {
        int64_t x = place[i], k = i;
        for (; k > lo && comes_before(l, x, place[k - 1]); k--)
            place[k] = place[k - 1];
        place[k] = x;
    }
}

static void merge(const lines *l, const int64_t *from, int64_t *to, int64_t lo, int64_t mid, int64_t hi) {
    int64_t i = lo, j = mid;
    if (mid >= hi || !comes_before(l, from[mid], from[mid - 1])) { /* they are in order */
        memcpy(to + lo, from + lo, (size_t)(hi - lo) * sizeof *to);
        return;
    }
    for (int64_t k = lo; k < hi; k++)
        to[k] = i == mid || (j < hi && comes_before(l, from[j], from[i])) ? from[j++] : from[i++];
}

/* Merges ever longer runs of places from one array to the other and back: equal items stay in their order. */
void tr_rt_chars_argsort(int64_t how, const void *owner, const void *data, int64_t n, int64_t bytes,
                         int64_t step, int64_t unit_step, void *order_owner, void *order, int64_t n_order,
                         void *other_owner, void *other, int64_t n_other) {
    tr_rt_look();
    enum { FEW = 8 };
    int64_t *from = order, *to = other;
    lines l = {data, bytes, step, unit_of(how)};
    (void)owner, (void)unit_step, (void)order_owner, (void)other_owner, (void)n_order, (void)n_other;
    assert(n == n_order && n == n_other && "a place for each item");
    for (int64_t i = 0; i < n; i++)
        from[i] = i;
    for (int64_t lo = 0; lo < n; lo += FEW)
        sort_few(&l, from, lo, lo + FEW < n ? lo + FEW : n);
    for (int64_t width = FEW; width < n; width *= 2) {
        for (int64_t lo = 0; lo < n; lo += 2 * width) {
            int64_t mid = lo + width < n ? lo + width : n;
            merge(&l, from, to, lo, mid, mid + width < n ? mid + width : n);
        }
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order)
        memcpy(order, from, (size_t)n * sizeof *from);
    from = order, to = other;
    for (int64_t i = 0, rank = 0; how & TR_CHARS_RANKS && i < n; i++) {
        rank += i && comes_before(&l, from[i - 1], from[i]);
        to[from[i]] = rank;
    }
}

int64_t tr_rt_chars_width(const void *list) {
    tr_rt_look();
    const tr_list *l = tr_list_of(list);
    const tr_str *s = l->items;
    int64_t most = 1;
    for (int64_t i = 0; i < l->len; i++)
        most = tr_str_len(&s[i]) > most ? tr_str_len(&s[i]) : most;
    return most;
}

bool tr_rt_chars_fill(int64_t how, const void *list, void *owner, void *data, int64_t rows, int64_t bytes) {
    tr_rt_look();
    const tr_list *l = tr_list_of(list);
    const tr_str *s = l->items;
    bool ok = true;
    assert(rows == l->len && "a row for each item");
    for (int64_t i = 0; ok && i < rows; i++)
        ok = tr_rt_chars_put(how, s[i].owner, s[i].data, s[i].bits, owner, (char *)data + i * bytes, bytes);
    return ok;
}
