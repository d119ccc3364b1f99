/* A cuBLAS that is none, on the driver that is none: the functions of dev/cublas.def and of libs/blas.def. It
 * looks at handles, threads, GPUs, letters, sizes, addresses and the workspace when it is called and when the
 * work is done, and computes by the twin of the host (libs/blas_emu.c), which tests compare with NumPy. Any
 * call can fail once (`fake_cublas_fail`). */
#include <pthread.h>
#include <stdlib.h>

#include "library.h"
#include "libs/blas.h"

enum { HANDLES = 64, ILLEGAL_ADDRESS = 700, LEAST_AREA = 4 << 20, SPOILT = 64 };
enum { NOT_INITIALIZED = 1, INVALID_VALUE = 7, EXECUTION_FAILED = 13 };

typedef struct handle {
    bool live;
    int gpu, atomics;
    pthread_t thread;
    void *stream, *area;
    size_t bytes;
} handle;

typedef struct work {
    tr_blas_call call;
    int gpu;
    void *area;
    bool done;
} work;

static struct { handle handles[HANDLES]; } state;

extern int cuStreamSynchronize(void *stream);

static handle *find(void *of) {
    handle *h = of;
    bool ours = h >= state.handles && h < state.handles + HANDLES;
    return ours && h->live && pthread_equal(h->thread, pthread_self()) ? h : NULL;
}

/* --- handles --- */

EXPORT int cublasCreate_v2(void **of) {
    ENTER("cublasCreate_v2");
    for (int k = 0; k < HANDLES; k++)
        if (!state.handles[k].live) {
            state.handles[k] = (handle){.live = true, .gpu = fake_gpu(), .thread = pthread_self()};
            *of = &state.handles[k];
            return 0;
        }
    return NOT_INITIALIZED;
}

EXPORT int cublasDestroy_v2(void *of) {
    ENTER("cublasDestroy_v2");
    handle *h = find(of);
    if (!h || h->gpu != fake_gpu())
        return NOT_INITIALIZED;
    h->live = false;
    return 0;
}

EXPORT int cublasGetVersion_v2(void *of, int *version) {
    ENTER("cublasGetVersion_v2");
    *version = 130000;
    return find(of) ? 0 : NOT_INITIALIZED;
}

EXPORT int cublasSetStream_v2(void *of, void *stream) {
    ENTER("cublasSetStream_v2");
    handle *h = find(of);
    if (!h)
        return NOT_INITIALIZED;
    h->stream = stream;
    h->area = NULL;
    return 0;
}

EXPORT int cublasSetWorkspace_v2(void *of, void *area, size_t bytes) {
    ENTER("cublasSetWorkspace_v2");
    handle *h = find(of);
    if (!h)
        return NOT_INITIALIZED;
    if (bytes < LEAST_AREA || (uintptr_t)area % 256 || !area_is_seen(h->gpu, area, bytes))
        return INVALID_VALUE;
    h->area = area;
    h->bytes = bytes;
    return 0;
}

EXPORT int cublasSetAtomicsMode(void *of, int mode) {
    ENTER("cublasSetAtomicsMode");
    handle *h = find(of);
    if (!h)
        return NOT_INITIALIZED;
    h->atomics = mode;
    return 0;
}

/* --- routines --- */

static bool is_array(const tr_blas_word *w) {
    return w->kind == TR_BLAS_MATRIX || w->kind == TR_BLAS_VECTOR || w->kind == TR_BLAS_PACKED;
}

/* Bytes of what a number's address is that of; 0: it is none. */
static size_t bytes_of(const tr_blas_call *c, const tr_blas_word *w) {
    size_t real = c->variant->type & 1 ? 8 : 4, item = (size_t)tr_blas_item(c->variant);
    switch (w->kind) {
    case TR_BLAS_NUMBER: return c->variant->real ? real : item;
    case TR_BLAS_REAL:
    case TR_BLAS_GIVEN_REAL: return real;
    case TR_BLAS_CHANGED:
    case TR_BLAS_GIVEN: return item;
    case TR_BLAS_FIVE:
    case TR_BLAS_GIVEN_FIVE: return TR_BLAS_ROOM * real;
    case TR_BLAS_RESULT:
        return w->use == TR_BLAS_GIVES_INDEX ? 8 : w->use == TR_BLAS_GIVES_REAL ? real : item;
    default: return 0;
    }
}

/* Where the device's bytes are for the fake. */
static bool show_arrays(tr_blas_call *c, int gpu) {
    for (int k = 0; k < c->routine->nwords; k++) {
        tr_blas_span s;
        if (!is_array(&c->routine->words[k]))
            continue;
        tr_blas_span_of(c, k, &s);
        size_t bytes = s.count ? (size_t)((s.count - 1) * s.pitch + s.bytes) : 0;
        void *seen = bytes ? fake_seen(gpu, s.at, bytes) : NULL;
        if (bytes && !seen)
            return false;
        c->word[k] = (int64_t)(uintptr_t)seen;
    }
    return true;
}

static void do_work(void *arg) {
    work *w = arg;
    char *area = fake_seen(w->gpu, (uint64_t)(uintptr_t)w->area, LEAST_AREA);
    if (!area || !show_arrays(&w->call, w->gpu)) {
        fake_break(ILLEGAL_ADDRESS);
    } else {
        memset(area, 0xff, SPOILT);
        tr_blas_here(&w->call);
    }
    w->done = true;
    if (w->call.result)
        memcpy(w->call.result, w->call.number, sizeof w->call.number);
    free(w);
}

/* The words of a call: false: one that a routine does not take. */
static bool read_words(tr_blas_call *c, const uintptr_t *a) {
    int n = 0;
    for (int k = 0; k < c->routine->nwords; k++) {
        const tr_blas_word *w = &c->routine->words[k];
        c->word[k] = (int64_t)a[k];
        if (w->kind <= TR_BLAS_DIAG) {
            c->word[k] = (int)a[k];
            if (c->word[k] < 0 || c->word[k] > (w->kind == TR_BLAS_OP ? 2 : 1))
                return false;
            if (w->kind == TR_BLAS_OP)
                c->op[w->slot] = (uint8_t)c->word[k];
            if (w->kind == TR_BLAS_SIDE)
                c->side = (uint8_t)c->word[k];
        } else if (w->kind == TR_BLAS_SIZE) {
            c->size[w->slot] = c->word[k];
            if (c->word[k] < 0)
                return false;
        } else if (w->kind == TR_BLAS_INC && !c->word[k]) {
            return false;
        } else if (bytes_of(c, w)) {
            memcpy(&c->number[n], (const void *)a[k], bytes_of(c, w));
            c->word[k] = n;
            n += w->kind == TR_BLAS_FIVE || w->kind == TR_BLAS_GIVEN_FIVE ? 6 : 2;
        }
    }
    for (int k = 0; k < c->routine->nwords; k++) {
        int64_t rows, cols;
        tr_blas_extent(c, k, &rows, &cols);
        if (c->routine->words[k].kind == TR_BLAS_MATRIX && c->word[k + 1] < (rows ? rows : 1))
            return false;
        if (is_array(&c->routine->words[k]) && c->word[k] % tr_blas_item(c->variant))
            return false;
    }
    return true;
}

static bool gives(const tr_blas_call *c) {
    return bytes_of(c, &c->routine->words[c->routine->nwords - 1]) && c->routine->words[0].name[0] == 'n' &&
           c->routine->words[c->routine->nwords - 1].kind == TR_BLAS_RESULT;
}

static int call(const tr_blas_variant *v, void *of, const uintptr_t *a) {
    ENTER(v->symbol);
    handle *h = find(of);
    int r = 0;
    while (r + 1 < TR_BLAS_ROUTINES && tr_blas_routines[r + 1].variant <= v - tr_blas_variants)
        r++;
    tr_blas_call c = {.routine = &tr_blas_routines[r], .variant = v};
    if (!h || h->gpu != fake_gpu())
        return NOT_INITIALIZED;
    if (!read_words(&c, a) || !area_is_seen(h->gpu, h->area, h->bytes))
        return INVALID_VALUE;
    tr_blas_call seen = c;
    double number[TR_BLAS_DOUBLES];
    if (!show_arrays(&seen, h->gpu))
        return INVALID_VALUE;
    if (r == TR_BLAS_rotg || r == TR_BLAS_rotmg) { /* of the host's numbers alone */
        tr_blas_here(&c);
        memcpy(number, c.number, sizeof number);
    } else {
        work *w = malloc(sizeof *w);
        *w = (work){.call = c, .gpu = h->gpu, .area = h->area};
        w->call.result = gives(&c) ? number : NULL;
        if (fake_work(h->stream, do_work, w) || (gives(&c) && cuStreamSynchronize(h->stream)))
            return EXECUTION_FAILED;
    }
    h->area = NULL; /* each call brings its own */
    for (int k = 0; k < c.routine->nwords && (gives(&c) || r == TR_BLAS_rotg || r == TR_BLAS_rotmg); k++)
        if (bytes_of(&c, &c.routine->words[k]) && c.routine->words[k].kind > TR_BLAS_REAL)
            memcpy((void *)a[k], &number[c.word[k]], bytes_of(&c, &c.routine->words[k]));
    return 0;
}

#define V(type, name, rest)                                                                                  \
    EXPORT int cublas##name##rest(void *of, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, \
                                  uintptr_t f, uintptr_t g, uintptr_t h, uintptr_t i, uintptr_t j,           \
                                  uintptr_t k, uintptr_t l, uintptr_t m, uintptr_t n) {                      \
        const uintptr_t all[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n};                                  \
        return call(&tr_blas_variants[TR_BLAS_V_##name], of, all);                                           \
    }
#define W(type, name, rest) V(type, name, rest)
#define U(type, name, rest)
#define R(name, variants, words, about) variants
#include "libs/blas.def"

/* --- for tests --- */

FAKE_LIBRARY(cublas)

/* Handles that were made and not given back. */
EXPORT unsigned fake_cublas_alive(void) {
    unsigned n = 0;
    for (int k = 0; k < HANDLES; k++)
        n += state.handles[k].live;
    return n;
}

EXPORT int fake_cublas_atomics(void) {
    return state.handles[0].atomics;
}
