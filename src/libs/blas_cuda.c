/* BLAS's routines on a GPU, by cuBLAS.
 *
 * A handle is one thread's on one GPU, made at its first call there and given back when the thread ends, or
 * at the process's end with all else. Each call says where it works and brings an area from our pool, in the
 * order of its stream, so cuBLAS allocates nothing. Numbers and results are the host's, so who asks for a
 * result waits for it in the call. All words that a routine takes are of one machine word, and in registers
 * or slots of that, whatever their types: one form of call serves all.
 * Cost: two calls of cuBLAS beside the routine; some milliseconds for a handle. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "dev/libs.h"
#include "libs/blas.h"

enum { OLD_AREA = 4 << 20, AREA = 32 << 20, HOPPER = 9, NOT_SUPPORTED = 15 };

typedef struct handle {
    void *of; /* NULL: none */
    void *stream;
    bool atomics;
} handle;

typedef struct handles {
    tr_dev *device;
    handle on[TR_DEV_GPUS];
} handles;

/* State of the process. */
static pthread_key_t key; /* a thread's handles */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *_Atomic routines[TR_BLAS_VARIANTS];
static _Atomic uint64_t areas[TR_DEV_GPUS]; /* bytes; 0: not known yet */

static int32_t destroy(void *of, const tr_dev_at *at) {
    (void)at;
    int status = tr_lib_cublas()->destroy(of);
    return status ? tr_lib_refused(TR_LIB_CUBLAS, "cublasDestroy_v2", status) : 0;
}

static void give_back(void *arg) {
    handles *h = arg;
    for (int gpu = 0; gpu < TR_DEV_GPUS; gpu++)
        if (h->on[gpu].of) { /* where that fails, it went with the context */
            tr_dev_job j = {.op = TR_DEV_WORK, .u.work = {destroy, h->on[gpu].of, gpu}};
            h->device->ops->submit(h->device, NULL, &j);
        }
    free(h);
}

static void make_key(void) {
    pthread_key_create(&key, give_back);
}

/* This thread's on that GPU, whose context is entered. */
static int32_t handle_on(const tr_dev_at *at, handle **out) {
    const tr_cublas_fns *fn = tr_lib_cublas();
    pthread_once(&once, make_key);
    handles *h = pthread_getspecific(key);
    assert(fn && "the library is open");
    if (!h) {
        h = calloc(1, sizeof *h);
        if (!h || pthread_setspecific(key, h)) {
            free(h);
            return TR_CODE_MEMORY;
        }
        h->device = at->device;
    }
    *out = &h->on[at->gpu];
    if ((*out)->of)
        return 0;
    **out = (handle){0};
    int status = fn->create(&(*out)->of);
    if (!status)
        return 0;
    (*out)->of = NULL;
    return tr_lib_refused(TR_LIB_CUBLAS, "cublasCreate_v2", status);
}

typedef int routine(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                    uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
_Static_assert(TR_BLAS_WORDS == 14, "as many as a routine has beside the handle");

static routine *routine_of(const tr_blas_variant *v) {
    size_t k = (size_t)(v - tr_blas_variants);
    void *at = atomic_load_explicit(&routines[k], memory_order_relaxed);
    routine *f;
    if (!at) {
        at = tr_lib_find(TR_LIB_CUBLAS, v->symbol);
        atomic_store_explicit(&routines[k], at, memory_order_relaxed);
    }
    memcpy(&f, &at, sizeof f);
    return f;
}

static int call(routine *f, void *of, tr_blas_call *c) {
    _Alignas(16) double number[TR_BLAS_DOUBLES]; /* as CUDA's complex numbers have to be */
    uintptr_t a[TR_BLAS_WORDS] = {0};
    memcpy(number, c->number, sizeof number);
    for (int k = 0; k < c->routine->nwords; k++) {
        int kind = c->routine->words[k].kind;
        bool is_number = (kind >= TR_BLAS_NUMBER && kind <= TR_BLAS_GIVEN_FIVE) || kind == TR_BLAS_RESULT;
        a[k] = is_number ? (uintptr_t)&number[c->word[k]] : (uintptr_t)c->word[k];
    }
    int status = f((uintptr_t)of, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
                   a[12], a[13]);
    memcpy(c->number, number, sizeof number);
    return status;
}

int32_t tr_blas_there(tr_blas_call *c, const tr_dev_at *at) {
    const tr_cublas_fns *fn = tr_lib_cublas();
    handle *h;
    int32_t code = handle_on(at, &h);
    if (code)
        return code;
    const char *what = "cublasSetStream_v2";
    int status = 0;
    if (h->stream != at->stream) {
        status = fn->stream(h->of, at->stream);
        h->stream = status ? h->stream : at->stream;
    }
    if (!status) { /* a new stream has cuBLAS's own area again */
        what = "cublasSetWorkspace_v2";
        status = fn->area(h->of, c->area, tr_blas_area(at->device, at->gpu));
    }
    if (!status && h->atomics != c->atomics) {
        what = "cublasSetAtomicsMode";
        status = fn->atomics(h->of, c->atomics);
        h->atomics = status ? h->atomics : c->atomics;
    }
    if (!status) {
        routine *f = routine_of(c->variant);
        what = c->variant->symbol;
        status = f ? call(f, h->of, c) : NOT_SUPPORTED;
    }
    return status ? tr_lib_refused(TR_LIB_CUBLAS, what, status) : 0;
}

uint64_t tr_blas_area(tr_dev *d, int gpu) {
    uint64_t bytes = atomic_load_explicit(&areas[gpu], memory_order_relaxed);
    if (bytes)
        return bytes;
    int64_t major = d->ops->attribute(d, gpu, TR_DEV_COMPUTE_CAPABILITY_MAJOR);
    bytes = major < HOPPER ? OLD_AREA : AREA;
    if (major) /* 0: the driver does not say */
        atomic_store_explicit(&areas[gpu], bytes, memory_order_relaxed);
    return bytes;
}

static int32_t ask_version(void *version, const tr_dev_at *at) {
    handle *h;
    int32_t code = handle_on(at, &h);
    int status = code ? 0 : tr_lib_cublas()->version(h->of, version);
    return status ? tr_lib_refused(TR_LIB_CUBLAS, "cublasGetVersion_v2", status) : code;
}

int32_t tr_blas_version(tr_dev *d, int gpu, int *version) {
    tr_dev_job j = {.op = TR_DEV_WORK, .u.work = {ask_version, version, gpu}};
    return d->ops->submit(d, NULL, &j);
}
