/* Shared by the files of Fourier transforms alone. */
#ifndef TR_LIBS_FFT_PRIV_H
#define TR_LIBS_FFT_PRIV_H

#include <pthread.h>

#include "libs/fft.h"
#include "libs/fft_line.h"

struct tr_fft {
    tr_fft_form form;
    tr_dev *device;
    bool on_gpu;
    tr_fft_loops loops;             /* the host's; the first NULL: there are none */
    tr_fft_line *line[TR_FFT_RANK]; /* of each axis; NULL: NumPy's loops alone */
    /* a GPU's: cuFFT's plan, which may be given a stream and an area by one thread at a time */
    int gpu, handle;
    size_t area;
    void *stream;
    pthread_mutex_t lock;
};

/* fft_emu.c: prepares the axes; false: nothing can do one of them. */
bool tr_fft_prepare(tr_fft *p);
/* fft_emu.c, fft_cuda.c */
int32_t tr_fft_here(const tr_fft_call *c, const tr_dev_at *at);
int32_t tr_fft_there(const tr_fft_call *c, const tr_dev_at *at);
/* fft_cuda.c: work for which `arg` is the plan. */
int32_t tr_fft_make(void *plan, const tr_dev_at *at);
int32_t tr_fft_destroy(void *plan, const tr_dev_at *at);

#endif
