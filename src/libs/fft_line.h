/* Fourier transforms of many short rows or columns at once: each lane of a vector has its own. Every
 * operation rounds by itself and lanes do not know of each other, so bits depend neither on the processor
 * nor on what is done together. */
#ifndef TR_LIBS_FFT_LINE_H
#define TR_LIBS_FFT_LINE_H

#include <stdbool.h>
#include <stdint.h>

enum { TR_FFT_STEPS = 16, TR_FFT_VECTOR = 32 }; /* the second: bytes */

/* What is prepared for a length. */
typedef struct tr_fft_line {
    bool wide;
    int64_t n; /* complex items; of real ones twice as many */
    int nsteps;
    int radix[TR_FFT_STEPS];
    int64_t at[TR_FFT_STEPS]; /* where its factors begin, among */
    void *factors;            /* pairs of float or double; behind them exp(-i pi k / n), k to n */
    int64_t turn;             /* where those begin */
} tr_fft_line;

/* NULL: the length has a large prime factor, or is too long for this to pay; or there is no memory. */
tr_fft_line *tr_fft_line_new(int64_t n, bool wide);
void tr_fft_line_free(tr_fft_line *l);
/* How many at a time, and the bytes that they need meanwhile, at a multiple of TR_FFT_VECTOR. */
static inline int tr_fft_line_lanes(const tr_fft_line *l) {
    return TR_FFT_VECTOR / (l->wide ? 8 : 4);
}
static inline uint64_t tr_fft_line_room(const tr_fft_line *l) {
    return (uint64_t)(l->n + 1) * 4 * TR_FFT_VECTOR;
}

/* So many lines, at most as many as there are lanes: rows lie `lane` bytes apart, their items one behind the
 * other; columns lie beside each other, their items `item` bytes apart. `real`: to complex items (forward) or
 * from them (inverse), rows only. In place where both lie alike, but for real ones. */
typedef struct tr_fft_lines {
    const char *in;
    char *out;
    int64_t in_step, out_step; /* `lane` of rows, `item` of columns */
    int lanes;
    bool columns, real, inverse;
} tr_fft_lines;
void tr_fft_line_run(const tr_fft_line *l, const tr_fft_lines *a, void *room);

#endif
