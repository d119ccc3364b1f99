/* BLAS's routines on the host, by the BLAS that NumPy brings (rt/blas.h).
 *
 * They are called as Fortran's, everything by its address, in cuBLAS's order, which is the same: a function
 * takes no more words than it has parameters, so one form of call serves all (the lengths of letters, which
 * compilers of Fortran put behind, are 1). Complex results come another way in each library, so the
 * interface to C is asked for these. What BLAS has not is here: geam, dgmm, trmm's third matrix, amin where
 * it is missing; and syr2 of complex vectors that go backwards, of which OpenBLAS (0.3.31) takes the wrong
 * items.
 * Cost: some nanoseconds beside the routine; a name is looked up once. */
#include <assert.h>
#include <complex.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "libs/blas.h"

enum { WORDS = TR_BLAS_WORDS + 4 }; /* with the lengths of letters */

/* State of the process: where each variant is; ABSENT: not in that library. */
static void *_Atomic found[TR_BLAS_VARIANTS];
static char absent;
#define ABSENT ((void *)&absent)

static bool is_ours(const tr_blas_call *c) {
    const tr_blas_routine *r = c->routine;
    bool backwards = r == &tr_blas_routines[TR_BLAS_syr2] && (c->word[4] < 0 || c->word[6] < 0);
    return r == &tr_blas_routines[TR_BLAS_geam] || r == &tr_blas_routines[TR_BLAS_dgmm] ||
           (backwards && c->variant->type >= TR_BLAS_C64);
}

/* BLAS gives complex numbers back, which is done in more than one way. */
static bool gives_complex(const tr_blas_call *c) {
    const tr_blas_word *last = &c->routine->words[c->routine->nwords - 1];
    return last->kind == TR_BLAS_RESULT && last->use == TR_BLAS_GIVES_TYPED &&
           c->variant->type >= TR_BLAS_C64;
}

static void *look_up(const tr_blas_variant *v, bool c) {
    void *at = atomic_load_explicit(&found[v - tr_blas_variants], memory_order_relaxed);
    char name[24];
    size_t n = 0;
    if (at)
        return at == ABSENT ? NULL : at;
    for (; v->name[n]; n++)
        name[n] = (char)(v->name[n] | 0x20);
    snprintf(name + n, sizeof name - n, c ? "_sub" : "");
    at = tr_rt_blas_find(name, c);
    atomic_store_explicit(&found[v - tr_blas_variants], at ? at : ABSENT, memory_order_relaxed);
    return at;
}

/* --- what BLAS has not --- */

#define OURS(T, name, CONJ)                                                                                 \
    static T name##_at(const T *a, int64_t ld, int op, int64_t i, int64_t j) {                              \
        return op == 0 ? a[i + j * ld] : op == 1 ? a[j + i * ld] : CONJ(a[j + i * ld]);                     \
    }                                                                                                       \
    /* In tiles, so that columns of both are in the cache. A factor 0 is not multiplied with. */            \
    static void name##_geam(const tr_blas_call *c, const double *alpha_at, const T *a, int64_t lda,         \
                            const double *beta_at, const T *b, int64_t ldb, T *to, int64_t ldc) {           \
        T alpha, beta;                                                                                      \
        memcpy(&alpha, alpha_at, sizeof alpha);                                                             \
        memcpy(&beta, beta_at, sizeof beta);                                                                \
        enum { TILE = 32 };                                                                                 \
        int64_t m = c->size[TR_BLAS_M], n = c->size[TR_BLAS_N];                                             \
        for (int64_t jj = 0; jj < n; jj += TILE)                                                            \
            for (int64_t ii = 0; ii < m; ii += TILE)                                                        \
                for (int64_t j = jj; j < n && j < jj + TILE; j++)                                           \
                    for (int64_t i = ii; i < m && i < ii + TILE; i++) {                                     \
                        T x = alpha == 0 ? 0 : alpha * name##_at(a, lda, c->op[0], i, j);                   \
                        T y = beta == 0 ? 0 : beta * name##_at(b, ldb, c->op[1], i, j);                     \
                        to[i + j * ldc] = x + y;                                                            \
                    }                                                                                       \
    }                                                                                                       \
    static void name##_dgmm(const tr_blas_call *c, const T *a, int64_t lda, const T *x, int64_t inc, T *to, \
                            int64_t ldc) {                                                                  \
        int64_t m = c->size[TR_BLAS_M], n = c->size[TR_BLAS_N], items = c->side ? n : m;                    \
        const T *first = inc < 0 ? x + (1 - items) * inc : x;                                               \
        for (int64_t j = 0; j < n; j++)                                                                     \
            for (int64_t i = 0; i < m; i++)                                                                 \
                to[i + j * ldc] = a[i + j * lda] * first[(c->side ? j : i) * inc];                          \
    }                                                                                                       \
    static void name##_syr2(const tr_blas_call *c, const double *alpha_at, const T *x, int64_t incx,        \
                            const T *y, int64_t incy, T *a, int64_t lda) {                                  \
        T alpha;                                                                                            \
        memcpy(&alpha, alpha_at, sizeof alpha);                                                             \
        int64_t n = c->size[TR_BLAS_N];                                                                     \
        x = incx < 0 ? x + (1 - n) * incx : x;                                                              \
        y = incy < 0 ? y + (1 - n) * incy : y;                                                              \
        for (int64_t j = 0; j < n; j++)                                                                     \
            for (int64_t i = c->word[0] ? 0 : j; i < (c->word[0] ? j + 1 : n); i++)                         \
                a[i + j * lda] += alpha * (x[i * incx] * y[j * incy] + y[i * incy] * x[j * incx]);          \
    }
#define SAME_OF(x) (x)
OURS(float, f32, SAME_OF)
OURS(double, f64, SAME_OF)
OURS(float complex, c64, conjf)
OURS(double complex, c128, conj)

/* Words of these rows, by number: those of the table. */
static void do_ours(tr_blas_call *c) {
    const int64_t *w = c->word;
    const tr_blas_routine *r = c->routine;
#define P(k)   (void *)(uintptr_t)w[k]
#define NUM(k) &c->number[w[k]]
#define DO(name)                                                              \
    if (r == &tr_blas_routines[TR_BLAS_geam])                                 \
        name##_geam(c, NUM(4), P(5), w[6], NUM(7), P(8), w[9], P(10), w[11]); \
    else if (r == &tr_blas_routines[TR_BLAS_dgmm])                            \
        name##_dgmm(c, P(3), w[4], P(5), w[6], P(7), w[8]);                   \
    else                                                                      \
        name##_syr2(c, NUM(2), P(3), w[4], P(5), w[6], P(7), w[8]);           \
    break;
    switch (c->variant->type) {
    case TR_BLAS_F32: DO(f32)
    case TR_BLAS_F64: DO(f64)
    case TR_BLAS_C64: DO(c64)
    default: DO(c128)
    }
#undef P
#undef NUM
#undef DO
}

/* B to C, in which BLAS's trmm then works; its words are those of trsm. */
static void copy_to_third(tr_blas_call *c) {
    enum { B = 9, LDB = 10, C = 11, LDC = 12 };
    int64_t m = c->size[TR_BLAS_M], n = c->size[TR_BLAS_N], item = tr_blas_item(c->variant);
    if (c->word[B] != c->word[C])
        for (int64_t j = 0; j < n; j++)
            memcpy((char *)(uintptr_t)c->word[C] + j * c->word[LDC] * item,
                   (const char *)(uintptr_t)c->word[B] + j * c->word[LDB] * item, (size_t)(m * item));
    c->word[B] = c->word[C];
    c->word[LDB] = c->word[LDC];
}

/* The first of the smallest, from 1 on. */
static int64_t least(const tr_blas_call *c) {
    int64_t n = c->word[0], step = c->word[2], at = 0;
    double best = INFINITY;
    for (int64_t k = 0; k < n; k++) {
        double v;
        switch (c->variant->type) {
        case TR_BLAS_F32: v = (double)fabsf(((const float *)(uintptr_t)c->word[1])[k * step]); break;
        case TR_BLAS_F64: v = fabs(((const double *)(uintptr_t)c->word[1])[k * step]); break;
        case TR_BLAS_C64: {
            const float *x = (const float *)(uintptr_t)c->word[1] + 2 * k * step;
            v = (double)(fabsf(x[0]) + fabsf(x[1]));
            break;
        }
        default: {
            const double *x = (const double *)(uintptr_t)c->word[1] + 2 * k * step;
            v = fabs(x[0]) + fabs(x[1]);
        }
        }
        if (v < best || !at) {
            best = v;
            at = k + 1;
        }
    }
    return at;
}

/* --- calls --- */

static char letter_of(int kind, int64_t v) {
    static const char *const all[] = {
        [TR_BLAS_OP] = "NTC", [TR_BLAS_UPLO] = "LU", [TR_BLAS_SIDE] = "LR", [TR_BLAS_DIAG] = "NU"};
    return all[kind][v];
}

#define PASS(a)                                                                                       \
    (a)[0], (a)[1], (a)[2], (a)[3], (a)[4], (a)[5], (a)[6], (a)[7], (a)[8], (a)[9], (a)[10], (a)[11], \
        (a)[12], (a)[13], (a)[14], (a)[15], (a)[16], (a)[17]
#define TAKES                                                                                           \
    (uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, \
     uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t)
_Static_assert(WORDS == 18, "as many as TAKES says");
typedef void nothing_fn TAKES;
typedef float narrow_fn TAKES;
typedef double wide_fn TAKES;
typedef int64_t index_fn TAKES;

/* By the interface to C: sizes by value, the result's address last. */
static void call_sub(void *fn, tr_blas_call *c) {
    uintptr_t a[WORDS] = {0};
    nothing_fn *f;
    for (int k = 0; k < 5; k++)
        a[k] = (uintptr_t)c->word[k];
    a[5] = (uintptr_t)&c->number[c->word[5]];
    memcpy(&f, &fn, sizeof f);
    f(PASS(a));
}

static void call_it(void *fn, tr_blas_call *c) {
    const tr_blas_routine *r = c->routine;
    uintptr_t a[WORDS] = {0};
    char letters[TR_BLAS_WORDS];
    const tr_blas_word *result = NULL;
    int n = 0, lengths = 0;
    for (int k = 0; k < r->nwords; k++) {
        const tr_blas_word *w = &r->words[k];
        if (w->kind <= TR_BLAS_DIAG) {
            letters[k] = letter_of(w->kind, c->word[k]);
            a[n++] = (uintptr_t)&letters[k];
            lengths++;
        } else if (w->kind == TR_BLAS_RESULT) {
            result = w;
        } else if (w->kind == TR_BLAS_MATRIX || w->kind == TR_BLAS_VECTOR || w->kind == TR_BLAS_PACKED) {
            a[n++] = (uintptr_t)c->word[k];
        } else if (w->kind >= TR_BLAS_NUMBER && w->kind <= TR_BLAS_GIVEN_FIVE) {
            a[n++] = (uintptr_t)&c->number[c->word[k]];
        } else {
            a[n++] = (uintptr_t)&c->word[k];
        }
    }
    if (r == &tr_blas_routines[TR_BLAS_trmm])
        n -= 2;
    for (int k = 0; k < lengths; k++)
        a[n++] = 1;
    if (!result) {
        nothing_fn *f;
        memcpy(&f, &fn, sizeof f);
        f(PASS(a));
        return;
    }
    double *to = &c->number[c->word[r->nwords - 1]];
    bool wide = c->variant->type & 1;
    if (result->use == TR_BLAS_GIVES_INDEX) {
        index_fn *f;
        memcpy(&f, &fn, sizeof f);
        int64_t at = tr_rt_blas()->most == INT64_MAX ? f(PASS(a)) : (int64_t)(int32_t)f(PASS(a));
        memcpy(to, &at, sizeof at);
    } else if (wide) {
        wide_fn *f;
        memcpy(&f, &fn, sizeof f);
        *to = f(PASS(a));
    } else {
        narrow_fn *f;
        memcpy(&f, &fn, sizeof f);
        float v = f(PASS(a));
        memcpy(to, &v, sizeof v);
    }
}
_Static_assert(TR_BLAS_F32 == 0 && TR_BLAS_F64 == 1 && TR_BLAS_C64 == 2 && TR_BLAS_C128 == 3,
               "odd ones are wide");

int32_t tr_blas_here(tr_blas_call *c) {
    if (is_ours(c)) {
        do_ours(c);
        return 0;
    }
    bool sub = gives_complex(c);
    void *fn = look_up(c->variant, sub);
    if (!fn) {
        assert(c->routine == &tr_blas_routines[TR_BLAS_amin] && "what is not there was not asked for");
        int64_t at = least(c);
        memcpy(&c->number[c->word[3]], &at, sizeof at);
        return 0;
    }
    if (c->routine == &tr_blas_routines[TR_BLAS_trmm])
        copy_to_third(c);
    if (sub)
        call_sub(fn, c);
    else
        call_it(fn, c);
    return 0;
}

bool tr_blas_is_here(const tr_blas_call *c) {
    const tr_blas_routine *r = c->routine;
    return is_ours(c) || r == &tr_blas_routines[TR_BLAS_amin] || look_up(c->variant, gives_complex(c));
}
