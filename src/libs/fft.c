/* Plans of Fourier transforms, and which device does them.
 * Cost of a plan: on a GPU what cuFFT takes (some hundred microseconds at first), else nothing. */
#include "libs/fft.h"

#include <assert.h>
#include <stdlib.h>

#include "libs/fft_priv.h"

/* On the GPU of the plan, whichever the thread uses. */
static int32_t do_on_gpu(tr_fft *p, int32_t (*fn)(void *arg, const tr_dev_at *at)) {
    tr_dev_job j = {.op = TR_DEV_WORK, .u.work = {.fn = fn, .arg = p, .gpu = p->gpu}};
    return p->device->ops->submit(p->device, NULL, &j);
}

int32_t tr_fft_new(tr_dev *d, int gpu, const tr_fft_form *f, const tr_fft_loops *loops, tr_fft **out) {
    assert(f->rank >= 1 && f->rank <= TR_FFT_RANK && f->batch >= 1 && "a form was looked at");
    tr_fft *p = calloc(1, sizeof *p);
    *out = NULL;
    if (!p)
        return TR_CODE_MEMORY;
    p->form = *f;
    p->device = d;
    p->gpu = gpu;
    p->loops = d->ops->load ? NULL : loops;
    int32_t code = p->loops ? 0 : do_on_gpu(p, tr_fft_make);
    if (code) {
        free(p);
        return code;
    }
    if (p->loops)
        tr_fft_prepare(p);
    pthread_mutex_init(&p->lock, NULL);
    *out = p;
    return 0;
}

void tr_fft_free(tr_fft *p) {
    if (!p)
        return;
    if (!p->loops)
        do_on_gpu(p, tr_fft_destroy); /* where that fails, it went with the context */
    for (int k = 0; k < p->form.rank; k++)
        tr_fft_line_free(p->line[k]);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

uint64_t tr_fft_area(const tr_fft *p) {
    return p->area;
}

int32_t tr_fft_run(void *call, const tr_dev_at *at) {
    const tr_fft_call *c = call;
    return c->plan->loops ? tr_fft_here(c, at) : tr_fft_there(c, at);
}
