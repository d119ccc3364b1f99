/* Fourier transforms on a GPU, by cuFFT.
 *
 * A plan has no memory of its own: each transform brings an area from our pool, in the order of its stream,
 * so the same plan may be at work on several streams. A plan that could not be made whole is given back. */
#include <assert.h>

#include "dev/libs.h"
#include "libs/fft_priv.h"

enum { FORWARD = -1, INVERSE = 1 };

/* cufftType, by kind and precision. */
static int type_of(const tr_fft_form *f) {
    static const int all[][2] = {
        [TR_FFT_C2C] = {0x29, 0x69}, [TR_FFT_R2C] = {0x2a, 0x6a}, [TR_FFT_C2R] = {0x2c, 0x6c}};
    return all[f->kind][f->wide];
}

int32_t tr_fft_make(void *plan, const tr_dev_at *at) {
    const tr_cufft_fns *fn = tr_lib_cufft();
    tr_fft *p = plan;
    long long n[TR_FFT_RANK];
    (void)at;
    assert(fn && at->gpu == p->gpu && "the library is open, the GPU's context entered");
    for (int k = 0; k < p->form.rank; k++)
        n[k] = p->form.n[k];
    int status = fn->create(&p->handle);
    if (status)
        return tr_lib_refused(TR_LIB_CUFFT, "cufftCreate", status);
    const char *what = "cufftSetAutoAllocation";
    status = fn->own_area(p->handle, 0);
    if (!status) {
        what = "cufftMakePlanMany64";
        status = fn->make(p->handle, p->form.rank, n, NULL, 1, 0, NULL, 1, 0, type_of(&p->form),
                          p->form.batch, &p->area);
    }
    if (!status)
        return 0;
    fn->destroy(p->handle);
    return tr_lib_refused(TR_LIB_CUFFT, what, status);
}

int32_t tr_fft_destroy(void *plan, const tr_dev_at *at) {
    const tr_fft *p = plan;
    (void)at;
    int status = tr_lib_cufft()->destroy(p->handle);
    return status ? tr_lib_refused(TR_LIB_CUFFT, "cufftDestroy", status) : 0;
}

static int execute(const tr_cufft_fns *fn, const tr_fft_call *c, const char **what) {
    const tr_fft *p = c->plan;
    int direction = c->inverse ? INVERSE : FORWARD;
    switch (p->form.kind) {
    case TR_FFT_C2C:
        *what = p->form.wide ? "cufftExecZ2Z" : "cufftExecC2C";
        return (p->form.wide ? fn->z2z : fn->c2c)(p->handle, c->in, c->out, direction);
    case TR_FFT_R2C:
        *what = p->form.wide ? "cufftExecD2Z" : "cufftExecR2C";
        return (p->form.wide ? fn->d2z : fn->r2c)(p->handle, c->in, c->out);
    default:
        *what = p->form.wide ? "cufftExecZ2D" : "cufftExecC2R";
        return (p->form.wide ? fn->z2d : fn->c2r)(p->handle, c->in, c->out);
    }
}

int32_t tr_fft_there(const tr_fft_call *c, const tr_dev_at *at) {
    const tr_cufft_fns *fn = tr_lib_cufft();
    tr_fft *p = c->plan;
    const char *what = "cufftSetStream";
    int status = 0;
    assert(at->gpu == p->gpu && (c->area || !p->area) && "a plan's own GPU, and the area it asked for");
    pthread_mutex_lock(&p->lock);
    if (p->stream != at->stream) {
        status = fn->stream(p->handle, at->stream);
        p->stream = status ? p->stream : at->stream;
    }
    if (!status && p->area) {
        what = "cufftSetWorkArea";
        status = fn->area(p->handle, c->area);
    }
    if (!status)
        status = execute(fn, c, &what);
    pthread_mutex_unlock(&p->lock);
    return status ? tr_lib_refused(TR_LIB_CUFFT, what, status) : 0;
}
