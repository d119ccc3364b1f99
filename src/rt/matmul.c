/* The product of two matrices: by a BLAS where there is one, else by loops.
 *
 * Strides are in items and may be anything: a matrix that lies in rows or in columns goes to BLAS as it
 * is, another one is copied first. The result lies in rows without gaps. Small products (SMALL
 * multiplications) never go to BLAS, which costs more to call than they do: those of floats are
 * matsmall.c's. The loops add into rows of the result, in blocks that fit the caches, so they vectorise;
 * products of integers wrap, those of bools are "or" of "and". What cannot be copied for want of memory is
 * computed by the loops. */
#include <stdlib.h>
#include <string.h>

#include "rt/blas.h"
#include "rt/enter.h"
#include "rt/fns.h"
#include "rt/matsmall.h"

enum { SMALL = TR_MAT_SMALL, BLOCK_K = 64, BLOCK_N = 512 };

typedef struct mat {
    const char *data;
    int64_t rows, cols, rs, cs; /* strides in items */
} mat;

/* --- loops --- */

/* c += a * b for one type; c's rows are `ld` items apart. A single column is added up in four chains. */
#define LOOPS(name, T, MADD, ADD)                                                             \
    static void name(void *out, int64_t ld, const mat *a, const mat *b) {                     \
        T *c = out;                                                                           \
        const T *x = (const T *)(const void *)a->data, *y = (const T *)(const void *)b->data; \
        for (int64_t i = 0; i < a->rows && b->cols == 1; i++) {                               \
            T s[4];                                                                           \
            memset(s, 0, sizeof s);                                                           \
            for (int64_t p = 0; p < a->cols; p++)                                             \
                MADD(s[p & 3], x[i * a->rs + p * a->cs], y[p * b->rs]);                       \
            for (int p = 0; p < 4; p++)                                                       \
                ADD(c[i * ld], s[p]);                                                         \
        }                                                                                     \
        for (int64_t j0 = 0; j0 < b->cols && b->cols != 1; j0 += BLOCK_N) {                   \
            int64_t j1 = b->cols - j0 < BLOCK_N ? b->cols : j0 + BLOCK_N;                     \
            for (int64_t p0 = 0; p0 < a->cols; p0 += BLOCK_K) {                               \
                int64_t p1 = a->cols - p0 < BLOCK_K ? a->cols : p0 + BLOCK_K;                 \
                for (int64_t i = 0; i < a->rows; i++) {                                       \
                    T *row = c + i * ld;                                                      \
                    for (int64_t p = p0; p < p1; p++) {                                       \
                        const T u = x[i * a->rs + p * a->cs], *v = y + p * b->rs;             \
                        if (b->cs == 1)                                                       \
                            for (int64_t j = j0; j < j1; j++)                                 \
                                MADD(row[j], u, v[j]);                                        \
                        else                                                                  \
                            for (int64_t j = j0; j < j1; j++)                                 \
                                MADD(row[j], u, v[j * b->cs]);                                \
                    }                                                                         \
                }                                                                             \
            }                                                                                 \
        }                                                                                     \
    }

typedef struct c64 {
    float re, im;
} c64;
typedef struct c128 {
    double re, im;
} c128;

#define MADD_REAL(c, u, v) (c) += (u) * (v)
#define MADD_I8(c, u, v)   (c) = (uint8_t)((c) + (unsigned)(u) * (v))
#define MADD_I16(c, u, v)  (c) = (uint16_t)((c) + (unsigned)(u) * (v))
#define MADD_BOOL(c, u, v) (c) = (uint8_t)((c) | ((u) && (v)))
#define MADD_CPLX(c, u, v) \
    (c).re += (u).re * (v).re - (u).im * (v).im, (c).im += (u).re * (v).im + (u).im * (v).re
#define ADD_REAL(c, u) (c) += (u)
#define ADD_I8(c, u)   (c) = (uint8_t)((c) + (u))
#define ADD_I16(c, u)  (c) = (uint16_t)((c) + (u))
#define ADD_BOOL(c, u) (c) = (uint8_t)((c) | (u))
#define ADD_CPLX(c, u) (c).re += (u).re, (c).im += (u).im

LOOPS(loop_bool, uint8_t, MADD_BOOL, ADD_BOOL)
LOOPS(loop_i8, uint8_t, MADD_I8, ADD_I8)
LOOPS(loop_i16, uint16_t, MADD_I16, ADD_I16)
LOOPS(loop_i32, uint32_t, MADD_REAL, ADD_REAL)
LOOPS(loop_i64, uint64_t, MADD_REAL, ADD_REAL)
LOOPS(loop_f32, float, MADD_REAL, ADD_REAL)
LOOPS(loop_f64, double, MADD_REAL, ADD_REAL)
LOOPS(loop_c64, c64, MADD_CPLX, ADD_CPLX)
LOOPS(loop_c128, c128, MADD_CPLX, ADD_CPLX)

static const struct {
    int64_t size;
    int blas; /* TR_BLAS_*, or -1 */
    void (*loop)(void *c, int64_t ld, const mat *a, const mat *b);
} kinds[TR_MAT__COUNT] = {
    [TR_MAT_BOOL] = {1, -1, loop_bool},
    [TR_MAT_I8] = {1, -1, loop_i8},
    [TR_MAT_I16] = {2, -1, loop_i16},
    [TR_MAT_I32] = {4, -1, loop_i32},
    [TR_MAT_I64] = {8, -1, loop_i64},
    [TR_MAT_F32] = {4, TR_BLAS_F32, loop_f32},
    [TR_MAT_F64] = {8, TR_BLAS_F64, loop_f64},
    [TR_MAT_C64] = {8, TR_BLAS_C64, loop_c64},
    [TR_MAT_C128] = {16, TR_BLAS_C128, loop_c128},
};

/* --- BLAS --- */

static const float one_f[2] = {1, 0}, zero_f[2] = {0, 0};
static const double one_d[2] = {1, 0}, zero_d[2] = {0, 0};

static const void *scalar(int type, int one) {
    if (type == TR_BLAS_F32 || type == TR_BLAS_C64)
        return one ? one_f : zero_f;
    return one ? one_d : zero_d;
}

/* A matrix as BLAS sees it: columns `ld` apart, of the matrix itself ('N') or of its transpose ('T'). */
typedef struct fortran {
    const void *data;
    int64_t ld;
    char trans; /* what makes it the matrix in rows that is meant, seen as columns of the transpose */
    void *copy;
} fortran;

static int64_t at_least(int64_t x, int64_t least) {
    return x > least ? x : least;
}

static int64_t at_most(int64_t x, int64_t most) {
    return x < most ? x : most;
}

/* Rows of a become columns of its transpose, so 'N' stands for a matrix in rows. False: no memory for a
 * copy. */
static int as_fortran(const mat *a, int64_t size, fortran *f) {
    f->data = a->data;
    f->copy = NULL;
    if ((a->cs == 1 || a->cols == 1) && a->rs >= at_least(a->cols, 1)) {
        f->trans = 'N';
        f->ld = a->rs;
        return 1;
    }
    if ((a->rs == 1 || a->rows == 1) && a->cs >= at_least(a->rows, 1)) {
        f->trans = 'T';
        f->ld = a->cs;
        return 1;
    }
    char *to = malloc((size_t)(a->rows * a->cols * size));
    if (!to)
        return 0;
    f->data = f->copy = to;
    f->trans = 'N';
    f->ld = a->cols;
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j < a->cols; j++, to += size)
            memcpy(to, a->data + (i * a->rs + j * a->cs) * size, (size_t)size);
    return 1;
}

/* c = a * x, x a column with stride xs. */
static int by_gemv(const tr_blas *lib, int type, int64_t size, void *c, int64_t inc, const mat *a,
                   const char *x, int64_t xs) {
    fortran f;
    if (xs == 0 || !as_fortran(a, size, &f))
        return 0;
    /* Columns of the transpose: 'N' would multiply by that. */
    int64_t m = f.trans == 'N' ? a->cols : a->rows, n = f.trans == 'N' ? a->rows : a->cols;
    const char flip = f.trans == 'N' ? 'T' : 'N';
    if (xs < 0) /* BLAS wants the lowest address, and counts from the other end */
        x += (a->cols - 1) * xs * size;
    lib->gemv[type](&flip, &m, &n, scalar(type, 1), f.data, &f.ld, x, &xs, scalar(type, 0), c, &inc, 1);
    free(f.copy);
    return 1;
}

/* b is a's transpose, as the two lie. */
static int are_turned(const mat *a, const mat *b) {
    return a->data == b->data && a->rows == b->cols && a->rs == b->cs && a->cs == b->rs;
}

/* What lies above the diagonal of n rows, below it too: by tiles, of which both places stay in the cache. */
static inline void mirror_items(char *c, int64_t ldc, int64_t n, size_t size) {
    enum { TILE = 32 };
    for (int64_t r = 0; r < n; r += TILE)
        for (int64_t k = r; k < n; k += TILE)
            for (int64_t i = r; i < at_most(r + TILE, n); i++)
                for (int64_t j = at_least(k, i + 1); j < at_most(k + TILE, n); j++)
                    memcpy(c + (size_t)(j * ldc + i) * size, c + (size_t)(i * ldc + j) * size, size);
}

static void mirror(char *c, int64_t ldc, int64_t n, int64_t size) {
    switch (size) { /* so that a copy is one instruction */
    case 4: mirror_items(c, ldc, n, 4); break;
    case 8: mirror_items(c, ldc, n, 8); break;
    default: mirror_items(c, ldc, n, 16); break;
    }
}

/* c = a * a', of which half is computed: in c's rows the upper one. NumPy does the same, so
 * the bits are the same. */
static void by_syrk(const tr_blas *lib, int type, int64_t size, char *c, int64_t ldc, const mat *a,
                    const fortran *f) {
    const char trans = f->trans == 'N' ? 'T' : 'N';
    lib->syrk[type]("L", &trans, &a->rows, &a->cols, scalar(type, 1), f->data, &f->ld, scalar(type, 0), c,
                    &ldc, 1, 1);
    mirror(c, ldc, a->rows, size);
}

static int by_gemm(const tr_blas *lib, int type, int64_t size, void *c, int64_t ldc, const mat *a,
                   const mat *b) {
    fortran fa, fb;
    if (!as_fortran(a, size, &fa))
        return 0;
    if (!as_fortran(b, size, &fb)) {
        free(fa.copy);
        return 0;
    }
    if (are_turned(a, b) && fa.trans != fb.trans)
        by_syrk(lib, type, size, c, ldc, a, &fa);
    else /* in columns, the transpose of the result is b' * a' */
        lib->gemm[type](&fb.trans, &fa.trans, &b->cols, &a->rows, &a->cols, scalar(type, 1), fb.data, &fb.ld,
                        fa.data, &fa.ld, scalar(type, 0), c, &ldc, 1, 1);
    free(fa.copy);
    free(fb.copy);
    return 1;
}

static int is_small(const mat *a, const mat *b) {
    return (double)a->rows * (double)b->cols * (double)a->cols <= (double)SMALL;
}

static int by_blas(int type, int64_t size, void *c, int64_t ldc, const mat *a, const mat *b) {
    int64_t m = a->rows, n = b->cols, k = a->cols;
    if (type < 0 || is_small(a, b))
        return 0;
    const tr_blas *lib = tr_rt_blas();
    if (!lib->gemm[type])
        return 0;
    int64_t far = 0, sizes[] = {m, n, k, a->rs, a->cs, b->rs, b->cs, ldc};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        far = at_least(far, sizes[i] < 0 ? -sizes[i] : sizes[i]);
    if (far > lib->most)
        return 0;
    if (n == 1)
        return by_gemv(lib, type, size, c, ldc, a, b->data, b->rs);
    if (m == 1) {
        mat t = {b->data, b->cols, b->rows, b->cs, b->rs};
        return by_gemv(lib, type, size, c, 1, &t, a->data, a->cs);
    }
    return by_gemm(lib, type, size, c, ldc, a, b);
}

/* n products of small matrices of floats. A single column is the loops' (they add it up in chains). */
static int by_small(int64_t kind, int64_t n, void *c, int64_t step, int64_t ld, const mat *a, int64_t astep,
                    const mat *b, int64_t bstep) {
    if ((kind != TR_MAT_F32 && kind != TR_MAT_F64) || a->rows < 1 || a->cols < 1 || b->cols < 2 ||
        !is_small(a, b))
        return 0;
    tr_mats x = {a->data, a->rows, a->cols, astep, a->rs, a->cs},
            y = {b->data, b->rows, b->cols, bstep, b->rs, b->cs};
    tr_rt_mats_small(kinds[kind].size, n, c, step, ld, &x, &y);
    return 1;
}

static void product(int64_t kind, void *c, int64_t crs, const mat *x, const mat *y) {
    int64_t size = kinds[kind].size, cm = x->rows, cn = y->cols;
    if (cm <= 0 || cn <= 0 || by_small(kind, 1, c, 0, crs, x, 0, y, 0))
        return;
    if (x->cols > 0 && by_blas(kinds[kind].blas, size, c, crs, x, y))
        return;
    for (int64_t i = 0; i < cm; i++)
        memset((char *)c + i * crs * size, 0, (size_t)(cn * size));
    if (x->cols > 0)
        kinds[kind].loop(c, crs, x, y);
}

void tr_rt_matmul(int64_t kind, void *co, void *c, int64_t cm, int64_t cn, int64_t crs, int64_t ccs, void *ao,
                  const void *a, int64_t am, int64_t ak, int64_t ars, int64_t acs, void *bo, const void *b,
                  int64_t bk, int64_t bn, int64_t brs, int64_t bcs) {
    (void)co, (void)ao, (void)bo, (void)ccs, (void)cm, (void)cn;
    mat x = {a, am, ak, ars, acs}, y = {b, bk, bn, brs, bcs};
    product(kind, c, crs, &x, &y);
    tr_rt_look();
}

/* Rows of all n matrices are `by` apart, which is where the next one of the same matrix lies. */
static int go_on(int64_t rows, int64_t rs, int64_t step, int64_t *by) {
    *by = rows == 1 ? step : rs;
    return rows == 1 || step == rows * rs;
}

/* n matrices that are multiplied by the same one are the rows of one matrix, where they lie so. */
void tr_rt_matmuls(int64_t kind, void *co, void *c, int64_t n, int64_t cm, int64_t cn, int64_t cstep,
                   int64_t crs, int64_t ccs, void *ao, const void *a, int64_t an, int64_t am, int64_t ak,
                   int64_t astep, int64_t ars, int64_t acs, void *bo, const void *b, int64_t bcount,
                   int64_t bk, int64_t bn, int64_t bstep, int64_t brs, int64_t bcs) {
    (void)co, (void)ao, (void)bo, (void)ccs, (void)cm, (void)cn, (void)an, (void)bcount;
    mat x = {a, am, ak, ars, acs}, y = {b, bk, bn, brs, bcs};
    int64_t size = kinds[kind].size, ld = crs;
    if (n > 1 && bstep == 0 && go_on(am, ars, astep, &x.rs) && go_on(am, crs, cstep, &ld)) {
        x.rows = n * am;
        product(kind, c, ld, &x, &y);
    } else {
        x.rs = ars;
        if (!by_small(kind, n, c, cstep, crs, &x, astep, &y, bstep))
            for (int64_t q = 0; q < n; q++) {
                product(kind, (char *)c + q * cstep * size, crs, &x, &y);
                x.data += astep * size;
                y.data += bstep * size;
            }
    }
    tr_rt_look();
}
