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

static void give_back(tr_fft *p) {
    for (int k = 0; k < p->form.rank; k++)
        tr_fft_line_free(p->line[k]);
    pthread_mutex_destroy(&p->lock);
    free(p);
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
    p->on_gpu = d->ops->load != NULL;
    p->loops = *loops;
    pthread_mutex_init(&p->lock, NULL);
    int32_t code = p->on_gpu ? do_on_gpu(p, tr_fft_make) : 0;
    if (code || (!p->on_gpu && !tr_fft_prepare(p)))
        give_back(p);
    else
        *out = p;
    return code;
}

void tr_fft_free(tr_fft *p) {
    if (p && p->on_gpu)
        do_on_gpu(p, tr_fft_destroy); /* where that fails, it went with the context */
    if (p)
        give_back(p);
}

uint64_t tr_fft_area(const tr_fft *p) {
    return p->area;
}

int32_t tr_fft_run(void *call, const tr_dev_at *at) {
    const tr_fft_call *c = call;
    return c->plan->on_gpu ? tr_fft_there(c, at) : tr_fft_here(c, at);
}
