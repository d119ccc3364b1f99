/* print() of compiled code: text gathers in the frame and goes to the host when a line is finished, so that
 * one print() is one write. Without memory the text so far is handed over early; nothing is lost.
 *
 * Arrays are for the host to write, which knows how (NumPy and its print options): their items stand in the
 * text as they were, behind a NUL. An axis is NUL 'a' and its length; the array behind its axes NUL 's' or
 * 'r', the number of bytes, the dtype's name, NUL, the items. A NUL of a string's own is NUL 'z'. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/fspec.h"
#include "base/strbuf.h"
#include "rt/enter.h"
#include "rt/fns.h"
#include "rt/rt.h"
#include "rt/str.h"

void tr_rt_host_write(const tr_host *host, const char *s, size_t n) {
    if (!n)
        return;
    tr_frame *was = tr_rt_outside();
    if (host && host->write)
        host->write(host->self, s, n);
    else
        fwrite(s, 1, n, stdout);
    tr_rt_inside(was);
}

static void hand_over(tr_frame *f, const char *s, size_t n) {
    tr_rt_host_write(f->host, s, n);
}

/* Text of strings that are being made stays: a line may be printed meanwhile. */
static void flush(tr_frame *f) {
    assert(f->nheld <= f->nout && f->nout <= f->capout && (f->out || !f->nout) && "text is in its room");
    hand_over(f, f->out + f->nheld, f->nout - f->nheld);
    f->nout = f->nheld;
}

/* False: there is no memory for n more. */
static bool room(tr_frame *f, size_t n) {
    if (f->capout - f->nout >= n)
        return true;
    size_t cap = (f->capout ? f->capout * 2 : 256) + n;
    char *d = realloc(f->out, cap);
    if (!d)
        return false;
    f->out = d;
    f->capout = cap;
    assert(f->capout - f->nout >= n && "there is room now");
    return true;
}

static void put(tr_frame *f, const char *s, size_t n) {
    if (!room(f, n)) {
        if (f->nmake) {
            f->lost = true;
            return;
        }
        flush(f);
        hand_over(f, s, n);
        return;
    }
    if (n)
        memcpy(f->out + f->nout, s, n);
    f->nout += n;
}

/* There is no memory for a piece of the text: a line says so, a string that is made is none. */
static void lose(tr_frame *f) {
    if (f->nmake)
        f->lost = true;
    else
        put(f, "...", 3);
}

void tr_rt_print_i64(tr_frame *f, int64_t x) {
    if (room(f, TR_DIGITS_INT)) {
        f->nout += tr_digits_int(x, f->out + f->nout);
        return;
    }
    char b[TR_DIGITS_INT];
    put(f, b, tr_digits_int(x, b));
}

void tr_rt_print_u64(tr_frame *f, uint64_t x) {
    char b[TR_DIGITS_INT];
    put(f, b, tr_digits_uint(x, b));
}

static void print_float(tr_frame *f, double x, int bits) {
    char b[TR_DIGITS_FLOAT];
    put(f, b, tr_digits_float(x, bits, true, b));
}

void tr_rt_print_f64(tr_frame *f, double x) {
    print_float(f, x, 64);
}

void tr_rt_print_f32(tr_frame *f, float x) {
    print_float(f, (double)x, 32);
}

void tr_rt_print_f16(tr_frame *f, float x) {
    print_float(f, (double)x, 16);
}

void tr_rt_print_bool(tr_frame *f, uint8_t x) {
    put(f, x ? "True" : "False", x ? 4 : 5);
}

static void print_complex(tr_frame *f, double re, double im, int bits) {
    char b[TR_DIGITS_COMPLEX];
    put(f, b, tr_digits_complex(re, im, bits, b));
}

void tr_rt_print_c128(tr_frame *f, double re, double im) {
    print_complex(f, re, im, 64);
}

void tr_rt_print_c64(tr_frame *f, double re, double im) {
    print_complex(f, re, im, 32);
}

void tr_rt_print_str(tr_frame *f, const char *s) {
    put(f, s, strlen(s));
}

/* --- arrays --- */

enum { MARK = 2 }; /* bytes: NUL and a letter */

static size_t number_at(const char *s) {
    int64_t n;
    memcpy(&n, s, sizeof n);
    return (size_t)n;
}

static void put_mark(tr_frame *f, char letter, int64_t n) {
    char b[MARK + sizeof n] = {0, letter};
    memcpy(b + MARK, &n, sizeof n);
    put(f, b, sizeof b);
}

void tr_rt_print_axis(tr_frame *f, int64_t n) {
    put_mark(f, 'a', n);
}

void tr_rt_print_array(tr_frame *f, void *owner, const void *data, int64_t n, int64_t size, const char *how) {
    size_t name = strlen(how + 1) + 1, bytes = (size_t)n * (size_t)size;
    assert((*how == 's' || *how == 'r') && n >= 0 && size > 0 && "str() or repr() of so many items");
    (void)owner;
    if (!room(f, MARK + sizeof n + name + bytes)) { /* all of it is handed over at once, or none */
        lose(f);
        return;
    }
    put_mark(f, *how, n * size);
    put(f, how + 1, name);
    put(f, data, bytes);
}

bool tr_rt_piece_next(const char **at, const char *end, tr_rt_piece *p) {
    const char *s = *at;
    *p = (tr_rt_piece){0};
    assert(s <= end && "pieces end with the text");
    if (s == end)
        return false;
    if (*s) {
        const char *nul = memchr(s, 0, (size_t)(end - s));
        p->text = s;
        p->n = (size_t)((nul ? nul : end) - s);
        *at = s + p->n;
        return true;
    }
    if (s[1] == 'z') {
        p->text = s;
        p->n = 1;
        *at = s + MARK;
        return true;
    }
    p->axes = s;
    for (; s < end && !s[0] && s[1] == 'a'; s += MARK + sizeof(int64_t))
        p->ndim++;
    if (s < end && !*s) {
        p->how = s[1];
        p->n = number_at(s + MARK);
        p->dtype = s + MARK + sizeof(int64_t);
        p->text = p->dtype + strlen(p->dtype) + 1;
        s = p->text + p->n;
    } /* else there was no memory for its items, and text says so */
    *at = s;
    return true;
}

int64_t tr_rt_piece_axis(const tr_rt_piece *p, uint32_t axis) {
    assert(axis < p->ndim && "an axis of the array");
    return (int64_t)number_at(p->axes + axis * (MARK + sizeof(int64_t)) + MARK);
}

/* The frame's text, for others to write behind it; without memory nothing is, which `oom` says. */
static tr_sb open_text(tr_frame *f) {
    tr_sb b;
    tr_sb_init(&b);
    b.oom = !room(f, 1);
    if (!b.oom)
        f->out[f->nout] = '\0';
    return b.oom ? b : (tr_sb){.d = f->out, .n = f->nout, .cap = f->capout};
}

/* False: there was no memory to lay it out, and it is written as print() has it. */
static bool close_text(tr_frame *f, const tr_sb *b) {
    if (b->cap) {
        f->out = b->d;
        f->capout = b->cap;
    }
    if (!b->oom)
        f->nout = b->n;
    return !b->oom;
}

void tr_rt_print_spec_i64(tr_frame *f, int64_t x, const char *spec) {
    tr_sb b = open_text(f);
    if (!b.oom)
        tr_rt_spec_int(spec, x, &b);
    if (!close_text(f, &b))
        tr_rt_print_i64(f, x);
}

void tr_rt_print_spec_u64(tr_frame *f, uint64_t x, const char *spec) {
    tr_sb b = open_text(f);
    if (!b.oom)
        tr_rt_spec_uint(spec, x, &b);
    if (!close_text(f, &b))
        tr_rt_print_u64(f, x);
}

void tr_rt_print_spec_f64(tr_frame *f, double x, const char *spec) {
    tr_sb b = open_text(f);
    if (!b.oom)
        tr_rt_spec_float(spec, x, &b);
    if (!close_text(f, &b))
        tr_rt_print_f64(f, x);
}

void tr_rt_print_spec_c128(tr_frame *f, double re, double im, const char *spec) {
    tr_sb b = open_text(f);
    if (!b.oom)
        tr_rt_spec_complex(spec, re, im, &b);
    if (!close_text(f, &b))
        tr_rt_print_c128(f, re, im);
}

void tr_rt_print_end(tr_frame *f) {
    flush(f);
}

/* --- strings --- */

/* In a line a NUL would begin an array; a string that is made is as long as it is. */
static void mark_nuls(const tr_frame *f, size_t from, tr_sb *b) {
    if (f->nmake || b->oom || !memchr(b->d + from, 0, b->n - from))
        return;
    for (size_t at = from; at < b->n && !b->oom; at++)
        if (!b->d[at]) {
            tr_sb_putc(b, 0);
            memmove(b->d + at + MARK, b->d + at + 1, b->n - at - MARK);
            b->d[++at] = 'z';
        }
}

void tr_rt_print_string(tr_frame *f, const void *owner, const void *data, int64_t bits) {
    tr_rt_look();
    tr_str s = {(void *)(uintptr_t)owner, data, bits};
    tr_sb b = open_text(f);
    if (!b.oom) {
        tr_str_text(&s, &b);
        mark_nuls(f, f->nout, &b);
    }
    if (!close_text(f, &b))
        lose(f);
}

void tr_rt_print_repr(tr_frame *f, const void *owner, const void *data, int64_t bits) {
    tr_rt_look();
    tr_str s = {(void *)(uintptr_t)owner, data, bits};
    tr_sb b = open_text(f);
    if (!b.oom)
        tr_str_repr(&s, &b);
    if (!close_text(f, &b))
        lose(f);
}

void tr_rt_print_spec_string(tr_frame *f, const void *owner, const void *data, int64_t bits,
                             const char *spec) {
    tr_str s = {(void *)(uintptr_t)owner, data, bits};
    tr_sb b = open_text(f);
    if (!b.oom) {
        tr_str_spec(&s, spec, &b);
        mark_nuls(f, f->nout, &b);
    }
    if (!close_text(f, &b))
        lose(f);
}

/* --- specifications made at run time --- */

/* One as text; an empty one where there was no memory for it, which is a line's that is lost then. */
static tr_sb spec_text(tr_frame *f, const tr_str *spec) {
    tr_sb t;
    tr_sb_init(&t);
    tr_str_text(spec, &t);
    if (t.oom && f)
        f->lost = true;
    return t;
}

static bool read_text(const tr_sb *text, int64_t how, tr_fspec *out, tr_sb *why) {
    static const char kinds[] = "iiifcs", *const of[] = {"bool", "int", "int", "float", "complex", "str"};
    assert(how >= 0 && how <= TR_SPEC_STRING && "a kind of value");
    return tr_fspec_read(text->d, kinds[how], of[how], out, why);
}

void tr_rt_print_by_int(tr_frame *f, int64_t how, int64_t x, STR_PARTS(spec)) {
    tr_sb t = spec_text(f, &STR_OF(spec));
    tr_fspec s;
    if (!t.n)
        how == TR_SPEC_BOOL   ? tr_rt_print_bool(f, x != 0)
        : how == TR_SPEC_UINT ? tr_rt_print_u64(f, (uint64_t)x)
                              : tr_rt_print_i64(f, x);
    else if (read_text(&t, how, &s, NULL) && tr_fspec_of_float(&s))
        tr_rt_print_spec_f64(f, how == TR_SPEC_UINT ? (double)(uint64_t)x : (double)x, t.d);
    else if (how == TR_SPEC_UINT)
        tr_rt_print_spec_u64(f, (uint64_t)x, t.d);
    else
        tr_rt_print_spec_i64(f, x, t.d);
    tr_sb_fini(&t);
}

void tr_rt_print_by_float(tr_frame *f, double x, STR_PARTS(spec)) {
    tr_sb t = spec_text(f, &STR_OF(spec));
    tr_rt_print_spec_f64(f, x, t.n ? t.d : "");
    tr_sb_fini(&t);
}

void tr_rt_print_by_complex(tr_frame *f, double re, double im, STR_PARTS(spec)) {
    tr_sb t = spec_text(f, &STR_OF(spec));
    tr_rt_print_spec_c128(f, re, im, t.n ? t.d : "");
    tr_sb_fini(&t);
}

void tr_rt_print_by_string(tr_frame *f, STR_PARTS(s), STR_PARTS(spec)) {
    tr_sb t = spec_text(f, &STR_OF(spec));
    tr_rt_print_spec_string(f, s_owner, s_data, s_bits, t.n ? t.d : "");
    tr_sb_fini(&t);
}

/* A NUL would end it early: such a fill is left out. */
int64_t tr_rt_str_spec_is(int64_t how, STR_PARTS(spec)) {
    tr_sb t = spec_text(NULL, &STR_OF(spec)), why;
    tr_fspec s;
    tr_sb_init(&why);
    bool whole = t.n == (t.n ? strlen(t.d) : 0), good = !t.n || (whole && read_text(&t, how, &s, &why));
    int64_t is = good ? TR_SPEC_GOOD : why.n ? TR_SPEC_BAD : TR_SPEC_LEFT_OUT;
    tr_sb_fini(&t);
    tr_sb_fini(&why);
    return is;
}

void tr_rt_str_spec_why(tr_frame *f, int64_t how, STR_PARTS(spec), tr_str *out) {
    tr_sb t = spec_text(NULL, &STR_OF(spec)), why;
    tr_fspec s;
    tr_sb_init(&why);
    if (t.n && read_text(&t, how, &s, &why))
        why.n = 0;
    *out = tr_str_of_text(f, why.n ? why.d : "", why.n);
    tr_sb_fini(&t);
    tr_sb_fini(&why);
}

/* What is written from here on is a string's, which may be made inside of another one. */
int64_t tr_rt_str_make(tr_frame *f) {
    size_t was = f->nheld;
    f->nheld = f->nout;
    f->nmake++;
    return (int64_t)was;
}

/* One that was not finished, as an exception left it, is given up with the one around it. */
void tr_rt_str_made(tr_frame *f, int64_t from, tr_str *out) {
    tr_rt_look();
    assert(f->nmake && f->nheld <= f->nout && "it was begun");
    *out = f->lost ? (tr_str){NULL, NULL, -1} : tr_str_of_text(f, f->out + f->nheld, f->nout - f->nheld);
    f->nout = f->nheld;
    f->nheld = (size_t)from;
    if (!--f->nmake)
        f->lost = false;
}
