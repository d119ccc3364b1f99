/* Text builder on the heap; see strbuf.h. */
#include "base/strbuf.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"

void tr_sb_init(tr_sb *b) {
    union {
        const char *c;
        char *v;
    } empty = {""}; /* never written: cap is 0 */
    *b = (tr_sb){.d = empty.v};
}

void tr_sb_fini(tr_sb *b) {
    if (b->cap)
        free(b->d);
    tr_sb_init(b);
}

void tr_sb_reset(tr_sb *b) {
    b->n = 0;
    b->oom = false;
    if (b->cap)
        b->d[0] = 0;
}

static bool reserve(tr_sb *b, size_t more) {
    if (b->cap && b->cap - b->n > more)
        return true;
    if (b->oom || more > (size_t)1 << 40)
        return !(b->oom = true);
    size_t cap = b->cap ? b->cap : 64;
    while (cap - b->n <= more)
        cap *= 2;
    char *d = realloc(b->cap ? b->d : NULL, cap);
    if (!d)
        return !(b->oom = true);
    b->d = d;
    b->cap = cap;
    return true;
}

/* Text ends with a NUL in its room; one without room is empty. */
static __attribute__((unused)) bool is_whole(const tr_sb *b) {
    return b->cap ? b->n < b->cap && !b->d[b->n] : b->n == 0;
}

void tr_sb_write(tr_sb *b, const void *s, size_t n) {
    assert(is_whole(b) && "the text ends with a NUL");
    if (!reserve(b, n))
        return;
    if (n)
        memcpy(b->d + b->n, s, n);
    b->n += n;
    b->d[b->n] = 0;
}

void tr_sb_putc(tr_sb *b, char c) {
    if (b->cap - b->n < 2) {
        tr_sb_write(b, &c, 1);
        return;
    }
    b->d[b->n++] = c;
    b->d[b->n] = 0;
}

/* Most texts are a few bytes: going over them twice, for their length and to copy them, takes longer. */
void tr_sb_puts(tr_sb *b, const char *s) {
    size_t n = b->n;
    while (n + 1 < b->cap && *s)
        b->d[n++] = *s++;
    if (n > b->n)
        b->d[b->n = n] = 0;
    if (*s)
        tr_sb_write(b, s, strlen(s));
}

void tr_sb_uint(tr_sb *b, uint64_t x) {
    char s[TR_DIGITS_INT];
    if (x < 10)
        tr_sb_putc(b, (char)('0' + x));
    else
        tr_sb_write(b, s, tr_digits_uint(x, s));
}

void tr_sb_int(tr_sb *b, int64_t x) {
    if (x < 0)
        tr_sb_putc(b, '-');
    tr_sb_uint(b, x < 0 ? -(uint64_t)x : (uint64_t)x);
}

void tr_sb_spaces(tr_sb *b, size_t n) {
    if (!reserve(b, n))
        return;
    memset(b->d + b->n, ' ', n);
    b->n += n;
    b->d[b->n] = 0;
}

void tr_sb_vprintf(tr_sb *b, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    size_t room = b->cap - b->n; /* most texts fit into what there is: one call of vsnprintf, not two */
    int n = vsnprintf(b->cap ? b->d + b->n : NULL, room, fmt, ap);
    if (n > 0 && (size_t)n >= room) {
        bool more = reserve(b, (size_t)n);
        if (more)
            vsnprintf(b->d + b->n, (size_t)n + 1, fmt, again);
        else if (b->cap)
            b->d[b->n] = 0;
        n = more ? n : 0;
    }
    b->n += n > 0 ? (size_t)n : 0;
    va_end(again);
}

void tr_sb_printf(tr_sb *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tr_sb_vprintf(b, fmt, ap);
    va_end(ap);
}

static void put_float(tr_sb *b, double x, int bits) {
    char s[TR_DIGITS_FLOAT];
    if (isnan(x) && signbit(x))
        tr_sb_putc(b, '-');
    tr_sb_write(b, s, tr_digits_float(x, bits, true, s));
}

void tr_sb_f64(tr_sb *b, double x) {
    put_float(b, x, 64);
}

void tr_sb_f16(tr_sb *b, _Float16 x) {
    put_float(b, (double)x, 16);
}

void tr_sb_f32(tr_sb *b, float x) {
    put_float(b, (double)x, 32);
}

static bool inside_char(char c) {
    return (c & 0xc0) == 0x80;
}

void tr_sb_cut_middle(tr_sb *b, size_t from, size_t max) {
    static const char dots[] = "...";
    if (b->oom || b->n - from <= max)
        return;
    size_t head = from + max * 2 / 3, tail = b->n - max / 3;
    while (head > from && inside_char(b->d[head]))
        head--;
    while (tail < b->n && inside_char(b->d[tail]))
        tail++;
    memcpy(b->d + head, dots, sizeof dots - 1);
    memmove(b->d + head + sizeof dots - 1, b->d + tail, b->n - tail + 1);
    b->n = head + sizeof dots - 1 + b->n - tail;
}
