/* Fourier transforms of one to three axes, many at a time, on any device: cuFFT's meaning, by cuFFT on a GPU
 * and by NumPy's C loops on the host's cores.
 *
 * Nothing is scaled. A real array of n items along its last axis has n / 2 + 1 complex ones beside it; from
 * those to real ones, imaginary parts of the first and (n even) the last are not looked at. Arrays lie in C
 * order without gaps, one transform behind the other. What is read is kept, but where it is what is written,
 * and where a GPU makes real items of more than one axis. */
#ifndef TR_LIBS_FFT_H
#define TR_LIBS_FFT_H

#include <stdbool.h>
#include <stdint.h>

#include "dev/dev.h"

enum { TR_FFT_RANK = 3 };
typedef enum tr_fft_kind { TR_FFT_C2C, TR_FFT_R2C, TR_FFT_C2R } tr_fft_kind;

typedef struct tr_fft_form {
    tr_fft_kind kind;
    bool wide; /* of float64 */
    int rank;
    int64_t n[TR_FFT_RANK], batch; /* of the real array where there is one; all at least 1 */
} tr_fft_form;

/* Items of all transforms together, real or complex ones, and the bytes of one. */
static inline int64_t tr_fft_items(const tr_fft_form *f, bool input) {
    bool half = f->kind == (input ? TR_FFT_C2R : TR_FFT_R2C);
    int64_t n = f->batch;
    for (int k = 0; k < f->rank; k++)
        n *= half && k + 1 == f->rank ? f->n[k] / 2 + 1 : f->n[k];
    return n;
}

static inline int64_t tr_fft_item(const tr_fft_form *f, bool input) {
    bool real = f->kind == (input ? TR_FFT_R2C : TR_FFT_C2R);
    return (f->wide ? 8 : 4) * (real ? 1 : 2);
}

/* NumPy's loops for rows, by precision (float32, float64). */
enum { TR_FFT_FORWARD, TR_FFT_INVERSE, TR_FFT_REAL_EVEN, TR_FFT_REAL_ODD, TR_FFT_TO_REAL, TR_FFT_LOOPS };
typedef void tr_fft_rows(char **args, const int64_t *sizes, const int64_t *steps, void *data);
typedef struct tr_fft_loops {
    struct {
        tr_fft_rows *fn;
        void *data;
    } of[TR_FFT_LOOPS][2];
} tr_fft_loops;

/* A plan, of one device or GPU. Any thread may use it. */
typedef struct tr_fft tr_fft;
/* For the GPU of that number, or the host, with those loops (the first NULL: there are none). 0, or a reason:
 * MEMORY, LIBRARY, the device's. *out NULL with 0: only such loops could do it. */
int32_t tr_fft_new(tr_dev *d, int gpu, const tr_fft_form *f, const tr_fft_loops *loops, tr_fft **out);
void tr_fft_free(tr_fft *p);
/* Bytes of the device that a transform needs beside its arrays. */
uint64_t tr_fft_area(const tr_fft *p);

/* One transform: the `arg` of work for which tr_fft_run is the function. */
typedef struct tr_fft_call {
    tr_fft *plan;
    void *in, *out, *area;
    bool inverse; /* C2C only */
} tr_fft_call;
int32_t tr_fft_run(void *call, const tr_dev_at *at);

#endif
