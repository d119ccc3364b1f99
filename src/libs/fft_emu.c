/* Fourier transforms on the host's cores.
 *
 * A transform of several axes is one of lines after the other, the last axis first. Lines of lengths with
 * small prime factors are done side by side in vectors (fft_line.c); all others, and single ones, by NumPy's
 * C loops for rows, whose factor, which has the result's precision, is 1. For these, columns are copied to a
 * buffer some at a time, where they are rows, and back. Pieces go to the pool; results do not depend on
 * which.
 * Cost: per item of each axis about log2 of its length in nanoseconds, a third of that in vectors. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "libs/fft_priv.h"
#include "rt/fns.h"
#include "rt/pool.h"
#include "rt/rt.h"

enum { COLUMNS = 16, LINE = 64, FEW = 3 }; /* at a time; bytes; lines that are not worth a vector */
static const double worth_ns = 20000;      /* what a piece of work takes at least */

/* One axis: `outer` times n_in items with `inner` columns each, to n_out of them. */
typedef struct axis {
    const tr_fft *plan;
    const char *in;
    char *out;
    int loop;
    const tr_fft_line *line; /* NULL: by NumPy's loop */
    int64_t outer, n_in, n_out, inner, in_item, out_item;
} axis;

/* Is there room for what NumPy's loop makes: factors and a copy of a row, of a length with large prime
 * factors those of a convolution of up to four times as many items? It tells nobody where there is none: the
 * exception it raises is that of a thread that has no other, and the rows stay as they were. */
static bool loop_has_room(const axis *a) {
    enum { ITEMS = 12 };
    int64_t n = a->n_in > a->n_out ? a->n_in : a->n_out;
    void *volatile room = malloc((size_t)(ITEMS * n * (a->plan->form.wide ? 16 : 8))); /* it is asked for */
    bool there = room != NULL;
    free(room);
    return there;
}

/* Rows that lie `in_row` and `out_row` bytes apart. */
static int32_t do_rows(const axis *a, const char *in, char *out, int64_t rows, int64_t in_row,
                       int64_t out_row) {
    if (!loop_has_room(a))
        return TR_CODE_MEMORY;
    float one = 1;
    double wide_one = 1;
    bool wide = a->plan->form.wide;
    char *args[] = {(char *)(uintptr_t)in, wide ? (char *)&wide_one : (char *)&one, out};
    const int64_t sizes[] = {rows, a->n_in, a->n_out};
    const int64_t steps[] = {in_row, 0, out_row, a->in_item, a->out_item};
    a->plan->loops.of[a->loop][wide].fn(args, sizes, steps, a->plan->loops.of[a->loop][wide].data);
    return 0;
}

static int32_t range_of_rows(tr_frame *f, void *arg, int64_t lo, int64_t hi, uint32_t worker) {
    const axis *a = arg;
    int64_t in_row = a->n_in * a->in_item, out_row = a->n_out * a->out_item;
    (void)f;
    (void)worker;
    return do_rows(a, a->in + lo * in_row, a->out + lo * out_row, hi - lo, in_row, out_row);
}

/* `n` rows of `columns` items that lie `row` bytes apart, as columns of a buffer, `pitch` bytes apart: to
 * it, or back. */
static void turn(char *at, char *buffer, int64_t n, int64_t row, int64_t columns, int64_t item, int64_t pitch,
                 bool back) {
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < columns; k++) {
            char *x = at + i * row + k * item, *y = buffer + k * pitch + i * item;
            if (item == 8)
                memcpy(back ? x : y, back ? y : x, 8);
            else
                memcpy(back ? x : y, back ? y : x, 16);
        }
}

static int64_t tiles_of(const axis *a) {
    return (a->inner + COLUMNS - 1) / COLUMNS;
}

static int32_t range_of_columns(tr_frame *f, void *arg, int64_t lo, int64_t hi, uint32_t worker) {
    const axis *a = arg;
    int64_t tiles = tiles_of(a), n = a->n_in, item = a->in_item, row = a->inner * item;
    int64_t pitch =
        n * item + LINE; /* not a power of two, at which columns would push each other out of caches */
    char *buffer = malloc((size_t)(COLUMNS * pitch));
    (void)f;
    (void)worker;
    assert(a->n_in == a->n_out && a->in_item == a->out_item && "along columns items stay complex");
    int32_t code = buffer ? 0 : TR_CODE_MEMORY;
    for (int64_t t = lo; t < hi && !code; t++) {
        int64_t first = t % tiles * COLUMNS, at = t / tiles * n * row + first * item;
        int64_t columns = a->inner - first < COLUMNS ? a->inner - first : COLUMNS;
        turn((char *)(uintptr_t)a->in + at, buffer, n, row, columns, item, pitch, false);
        code = do_rows(a, buffer, buffer, columns, pitch, pitch);
        turn(a->out + at, buffer, n, row, columns, item, pitch, true);
    }
    free(buffer);
    return code;
}

/* As many lines at a time as vectors have lanes. */
static int64_t groups_of(const axis *a) {
    int lanes = tr_fft_line_lanes(a->line);
    int64_t lines = a->inner > 1 ? a->inner : a->outer;
    return (lines + lanes - 1) / lanes * (a->inner > 1 ? a->outer : 1);
}

static int32_t range_of_groups(tr_frame *f, void *arg, int64_t lo, int64_t hi, uint32_t worker) {
    const axis *a = arg;
    bool columns = a->inner > 1;
    int64_t lanes = tr_fft_line_lanes(a->line), lines = columns ? a->inner : a->outer;
    int64_t groups = (lines + lanes - 1) / lanes;
    int64_t in_line = columns ? a->in_item : a->n_in * a->in_item, in_whole = lines * a->n_in * a->in_item;
    int64_t out_line = columns ? a->out_item : a->n_out * a->out_item,
            out_whole = lines * a->n_out * a->out_item;
    void *room = aligned_alloc(TR_FFT_VECTOR, tr_fft_line_room(a->line));
    (void)f;
    (void)worker;
    if (!room)
        return TR_CODE_MEMORY;
    for (int64_t g = lo; g < hi; g++) {
        int64_t first = g % groups * lanes, left = lines - first;
        tr_fft_lines part = {.in = a->in + g / groups * in_whole + first * in_line,
                             .out = a->out + g / groups * out_whole + first * out_line,
                             .in_step = columns ? lines * a->in_item : in_line,
                             .out_step = columns ? lines * a->out_item : out_line,
                             .lanes = (int)(left < lanes ? left : lanes),
                             .columns = columns,
                             .real = a->in_item != a->out_item,
                             .inverse = a->loop == TR_FFT_INVERSE || a->loop == TR_FFT_TO_REAL};
        tr_fft_line_run(a->line, &part, room);
    }
    free(room);
    return 0;
}

static int32_t do_axis(tr_frame *f, axis *a) {
    bool columns = a->inner > 1, few = (columns ? a->inner : a->outer) < FEW;
    bool in_lanes = a->line && !(few && a->plan->loops.of[0][0].fn);
    int64_t n = a->n_in > a->n_out ? a->n_in : a->n_out, fixed = tr_rt_fixed_grain();
    int64_t pieces = in_lanes ? groups_of(a) : columns ? a->outer * tiles_of(a) : a->outer;
    double ns =
        (double)n * (double)(64 - __builtin_clzll((uint64_t)n)) * (columns && !in_lanes ? COLUMNS : 1);
    double grain = worth_ns / ns < 1 ? 1 : worth_ns / ns;
    grain = grain > (double)pieces ? (double)pieces : grain;
    tr_par_fn *fn = in_lanes ? range_of_groups : columns ? range_of_columns : range_of_rows;
    return tr_rt_parallel(f, fn, a, pieces, fixed ? fixed : (int64_t)grain);
}

/* A line of real items is one of half as many complex ones, if their number is even. */
bool tr_fft_prepare(tr_fft *p) {
    const tr_fft_form *s = &p->form;
    bool all = true;
    for (int k = 0; k < s->rank; k++) {
        bool real = k + 1 == s->rank && s->kind != TR_FFT_C2C;
        if (!real || s->n[k] % 2 == 0)
            p->line[k] = tr_fft_line_new(real ? s->n[k] / 2 : s->n[k], s->wide);
        all &= p->line[k] != NULL;
    }
    return all || p->loops.of[0][0].fn;
}

/* Along all axes but the last, of complex items. */
static int32_t other_axes(tr_frame *f, const tr_fft *p, int loop, const char *in, char *out) {
    const tr_fft_form *s = &p->form;
    int64_t last = s->n[s->rank - 1], item = s->wide ? 16 : 8, outer = s->batch;
    int32_t code = 0;
    int64_t inner[TR_FFT_RANK];
    inner[s->rank - 1] = s->kind == TR_FFT_C2C ? last : last / 2 + 1;
    for (int k = s->rank - 1; k > 0; k--)
        inner[k - 1] = inner[k] * (k < s->rank - 1 ? s->n[k] : 1);
    for (int k = 0; k < s->rank - 1 && !code; outer *= s->n[k++]) {
        axis a = {p, in, out, loop, p->line[k], outer, s->n[k], s->n[k], inner[k], item, item};
        code = do_axis(f, &a);
        in = out;
    }
    return code;
}

static int32_t transform(tr_frame *f, const tr_fft_call *c) {
    const tr_fft *p = c->plan;
    const tr_fft_form *s = &p->form;
    int64_t n = s->n[s->rank - 1], half = n / 2 + 1, rows = tr_fft_items(s, false);
    int direction = c->inverse || s->kind == TR_FFT_C2R ? TR_FFT_INVERSE : TR_FFT_FORWARD;
    axis last = {p,
                 c->in,
                 c->out,
                 direction,
                 p->line[s->rank - 1],
                 0,
                 n,
                 n,
                 1,
                 tr_fft_item(s, true),
                 tr_fft_item(s, false)};
    void *between = NULL;
    int32_t code = 0;
    if (s->kind == TR_FFT_C2R) {
        last.outer = rows / n;
        last.n_in = half;
        last.loop = TR_FFT_TO_REAL;
        if (s->rank > 1) {
            between = malloc((size_t)(tr_fft_items(s, true) * tr_fft_item(s, true)));
            code = between ? other_axes(f, p, direction, c->in, between) : TR_CODE_MEMORY;
            last.in = between;
        }
        code = code ? code : do_axis(f, &last);
        free(between);
        return code;
    }
    last.n_out = s->kind == TR_FFT_R2C ? half : n;
    last.outer = rows / last.n_out;
    if (s->kind == TR_FFT_R2C)
        last.loop = n % 2 ? TR_FFT_REAL_ODD : TR_FFT_REAL_EVEN;
    code = do_axis(f, &last);
    return code ? code : other_axes(f, p, direction, c->out, c->out);
}

int32_t tr_fft_here(const tr_fft_call *c, const tr_dev_at *at) {
    tr_frame f;
    tr_rt_frame_init(&f, at->host);
    int32_t code = transform(&f, c);
    tr_rt_frame_fini(&f);
    return code;
}
