/* A cuFFT that is none, on the driver that is none: the functions of dev/cufft.def. It looks at handles,
 * GPUs, addresses and the work area when it is called and when the work is done, and computes by the
 * definition, one row after the other. Any call can fail once (`fake_cufft_fail`). As the real one it may
 * overwrite what real items of several axes are made of, so here it always does. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "library.h"

enum { PLANS = 256, RANK = 3 };
enum {
    INVALID_PLAN = 1,
    INVALID_TYPE = 3,
    INVALID_VALUE = 4,
    EXEC_FAILED = 6,
    INVALID_SIZE = 8,
    UNALIGNED = 9
};
enum { INVALID_DEVICE = 11, NO_WORKSPACE = 13 };
enum { C2C = 0x29, R2C = 0x2a, C2R = 0x2c, WIDE = 0x40, ILLEGAL_ADDRESS = 700 };

typedef struct plan {
    bool live, made, own;
    int gpu, rank, type;
    long long n[RANK], batch;
    size_t bytes; /* of the area */
    void *stream, *area;
} plan;

typedef struct transform {
    plan p;
    uint64_t in, out;
    int direction;
} transform;

static struct { plan plans[PLANS]; /* the first is none's */ } state;

/* --- what it computes --- */

static bool is_real(const plan *p, bool input) {
    return (p->type & ~WIDE) == (input ? R2C : C2R);
}

static size_t item(const plan *p, bool input) {
    return (p->type & WIDE ? 8u : 4u) * (is_real(p, input) ? 1u : 2u);
}

static long long last_of(const plan *p, bool input) {
    long long n = p->n[p->rank - 1];
    return (p->type & ~WIDE) == C2C || is_real(p, input) ? n : n / 2 + 1;
}

static size_t bytes_of(const plan *p, bool input) {
    long long n = p->batch * last_of(p, input);
    for (int k = 0; k + 1 < p->rank; k++)
        n *= p->n[k];
    return (size_t)n * item(p, input);
}

static double complex get(const plan *p, const void *at, long long i, bool input) {
    bool real = is_real(p, input);
    if (p->type & WIDE)
        return real ? ((const double *)at)[i] : ((const double complex *)at)[i];
    return real ? (double)((const float *)at)[i] : (double complex)((const float complex *)at)[i];
}

static void set(const plan *p, void *at, long long i, double complex v) {
    bool real = is_real(p, false);
    if (p->type & WIDE && real)
        ((double *)at)[i] = creal(v);
    else if (p->type & WIDE)
        ((double complex *)at)[i] = v;
    else if (real)
        ((float *)at)[i] = (float)creal(v);
    else
        ((float complex *)at)[i] = (float complex)v;
}

/* n items, `step` apart, in place. */
static void row(double complex *x, long long n, long long step, int direction) {
    double complex *y = malloc((size_t)n * sizeof *y);
    for (long long k = 0; k < n; k++) {
        y[k] = 0;
        for (long long j = 0; j < n; j++)
            y[k] += x[j * step] * cexp(direction * 2 * M_PI * I * (double)(j * k % n) / (double)n);
    }
    for (long long k = 0; k < n; k++)
        x[k * step] = y[k];
    free(y);
}

/* All items of one array: where the input has half of them, the others are these, mirrored along all axes. */
static void fill(const plan *p, const void *in, long long first, double complex *x) {
    long long n = p->n[p->rank - 1], has = last_of(p, true);
    long long outer = p->rank > 2 ? p->n[0] : 1, inner = p->rank > 1 ? p->n[p->rank - 2] : 1;
    for (long long a = 0; a < outer; a++)
        for (long long b = 0; b < inner; b++) {
            long long mirror = (a ? outer - a : 0) * inner + (b ? inner - b : 0), r = a * inner + b;
            for (long long k = 0; k < n; k++)
                x[r * n + k] = k < has ? get(p, in, first + r * has + k, true)
                                       : conj(get(p, in, first + mirror * has + n - k, true));
        }
}

static void compute(const plan *p, const void *in, void *out, int direction) {
    long long n = p->n[p->rank - 1], rows = 1, has = last_of(p, true), gives = last_of(p, false);
    for (int k = 0; k + 1 < p->rank; k++)
        rows *= p->n[k];
    double complex *x = malloc((size_t)(rows * n) * sizeof *x);
    for (long long b = 0; b < p->batch; b++) {
        fill(p, in, b * rows * has, x);
        long long step = 1;
        for (int axis = p->rank; axis-- > 0; step *= p->n[axis])
            for (long long i = 0; i < rows * n; i++)
                if (i / step % p->n[axis] == 0)
                    row(x + i, p->n[axis], step, direction);
        for (long long r = 0; r < rows; r++)
            for (long long k = 0; k < gives; k++)
                set(p, out, (b * rows + r) * gives + k, x[r * n + k]);
    }
    free(x);
}

/* The stream has come so far: the arrays and the area must be there still. */
static void do_transform(void *arg) {
    transform *t = arg;
    size_t in_bytes = bytes_of(&t->p, true), out_bytes = bytes_of(&t->p, false);
    char *in = fake_seen(t->p.gpu, t->in, in_bytes), *out = fake_seen(t->p.gpu, t->out, out_bytes);
    char *area = fake_seen(t->p.gpu, (uint64_t)(uintptr_t)t->p.area, t->p.bytes);
    if (!in || !out || !area) {
        fake_break(ILLEGAL_ADDRESS);
    } else {
        char *copy = malloc(in_bytes);
        memcpy(copy, in, in_bytes);
        memset(area, 0xff, t->p.bytes);
        if (is_real(&t->p, false) && t->p.rank > 1)
            memset(in, 0xff, in_bytes);
        compute(&t->p, copy, out, t->direction);
        free(copy);
    }
    free(t);
}

/* --- the library --- */

static plan *find(int handle) {
    return handle > 0 && handle < PLANS && state.plans[handle].live ? &state.plans[handle] : NULL;
}

EXPORT int cufftGetVersion(int *version) {
    ENTER("cufftGetVersion");
    *version = 11200;
    return 0;
}

EXPORT int cufftCreate(int *handle) {
    ENTER("cufftCreate");
    for (int k = 1; k < PLANS; k++)
        if (!state.plans[k].live) {
            state.plans[k] = (plan){.live = true, .own = true, .gpu = fake_gpu()};
            *handle = k;
            return 0;
        }
    return INVALID_VALUE;
}

EXPORT int cufftDestroy(int handle) {
    ENTER("cufftDestroy");
    plan *p = find(handle);
    if (!p)
        return INVALID_PLAN;
    p->live = false;
    return 0;
}

EXPORT int cufftSetAutoAllocation(int handle, int own) {
    ENTER("cufftSetAutoAllocation");
    plan *p = find(handle);
    if (!p || p->made)
        return INVALID_PLAN;
    p->own = own;
    return 0;
}

EXPORT int cufftMakePlanMany64(int handle, int rank, long long *n, long long *in_embed, long long in_stride,
                               long long in_dist, long long *out_embed, long long out_stride,
                               long long out_dist, int type, long long batch, size_t *area) {
    ENTER("cufftMakePlanMany64");
    plan *p = find(handle);
    (void)in_stride;
    (void)in_dist;
    (void)out_stride;
    (void)out_dist;
    if (!p || p->made || p->own) /* what it would take itself is not the pool's */
        return INVALID_PLAN;
    if (p->gpu != fake_gpu())
        return INVALID_DEVICE;
    if (rank < 1 || rank > RANK || batch < 1 || in_embed || out_embed)
        return INVALID_VALUE;
    int plain = type & ~WIDE;
    if (plain != C2C && plain != R2C && plain != C2R)
        return INVALID_TYPE;
    p->rank = rank;
    for (int k = 0; k < rank; k++)
        if ((p->n[k] = n[k]) < 1)
            return INVALID_SIZE;
    p->type = type;
    p->batch = batch;
    p->bytes = *area = bytes_of(p, true);
    p->made = true;
    return 0;
}

EXPORT int cufftSetStream(int handle, void *stream) {
    ENTER("cufftSetStream");
    plan *p = find(handle);
    if (!p)
        return INVALID_PLAN;
    p->stream = stream;
    return 0;
}

EXPORT int cufftSetWorkArea(int handle, void *area) {
    ENTER("cufftSetWorkArea");
    plan *p = find(handle);
    if (!p || !p->made)
        return INVALID_PLAN;
    p->area = area;
    return 0;
}

static int execute(int handle, int type, void *in, void *out, int direction) {
    plan *p = find(handle);
    if (!p || !p->made)
        return INVALID_PLAN;
    if (p->type != type)
        return INVALID_TYPE;
    if (p->gpu != fake_gpu())
        return INVALID_DEVICE;
    uint64_t from = (uint64_t)(uintptr_t)in, to = (uint64_t)(uintptr_t)out;
    size_t pair = type & WIDE ? 16 : 8;
    if (from % pair || to % pair)
        return UNALIGNED;
    if (!fake_seen(p->gpu, from, bytes_of(p, true)) || !fake_seen(p->gpu, to, bytes_of(p, false)))
        return INVALID_VALUE;
    if (!area_is_seen(p->gpu, p->area, p->bytes))
        return NO_WORKSPACE;
    transform *t = malloc(sizeof *t);
    *t = (transform){*p, from, to, direction};
    p->area = NULL; /* each brings its own */
    return fake_work(p->stream, do_transform, t) ? EXEC_FAILED : 0;
}

EXPORT int cufftExecC2C(int handle, void *in, void *out, int direction) {
    ENTER("cufftExecC2C");
    return execute(handle, C2C, in, out, direction);
}

EXPORT int cufftExecZ2Z(int handle, void *in, void *out, int direction) {
    ENTER("cufftExecZ2Z");
    return execute(handle, C2C | WIDE, in, out, direction);
}

EXPORT int cufftExecR2C(int handle, void *in, void *out) {
    ENTER("cufftExecR2C");
    return execute(handle, R2C, in, out, -1);
}

EXPORT int cufftExecD2Z(int handle, void *in, void *out) {
    ENTER("cufftExecD2Z");
    return execute(handle, R2C | WIDE, in, out, -1);
}

EXPORT int cufftExecC2R(int handle, void *in, void *out) {
    ENTER("cufftExecC2R");
    return execute(handle, C2R, in, out, 1);
}

EXPORT int cufftExecZ2D(int handle, void *in, void *out) {
    ENTER("cufftExecZ2D");
    return execute(handle, C2R | WIDE, in, out, 1);
}

/* --- for tests --- */

FAKE_LIBRARY(cufft)

/* Plans that were made and not given back. */
EXPORT unsigned fake_cufft_alive(void) {
    unsigned n = 0;
    for (int k = 1; k < PLANS; k++)
        n += state.plans[k].live;
    return n;
}
