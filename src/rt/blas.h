/* The BLAS that this process has: products of matrices by the fastest code around. */
#ifndef TR_RT_BLAS_H
#define TR_RT_BLAS_H

#include <stdbool.h>
#include <stdint.h>

/* Fortran's calling convention. Sizes are passed as pointers to int64: a library that reads 32 bits finds the
 * low half. The last arguments are the lengths of the texts, which compilers of Fortran expect. */
typedef void tr_gemm(const char *ta, const char *tb, const int64_t *m, const int64_t *n, const int64_t *k,
                     const void *alpha, const void *a, const int64_t *lda, const void *b, const int64_t *ldb,
                     const void *beta, void *c, const int64_t *ldc, uint64_t la, uint64_t lb);
typedef void tr_gemv(const char *ta, const int64_t *m, const int64_t *n, const void *alpha, const void *a,
                     const int64_t *lda, const void *x, const int64_t *incx, const void *beta, void *y,
                     const int64_t *incy, uint64_t la);
/* A matrix times its transpose: one triangle of it. */
typedef void tr_syrk(const char *half, const char *ta, const int64_t *n, const int64_t *k, const void *alpha,
                     const void *a, const int64_t *lda, const void *beta, void *c, const int64_t *ldc,
                     uint64_t lh, uint64_t la);

enum { TR_BLAS_F32, TR_BLAS_F64, TR_BLAS_C64, TR_BLAS_C128, TR_BLAS_TYPES };

typedef struct tr_blas {
    tr_gemm *gemm[TR_BLAS_TYPES]; /* all there, or none of them: no BLAS */
    tr_gemv *gemv[TR_BLAS_TYPES];
    tr_syrk *syrk[TR_BLAS_TYPES];
    int64_t most; /* largest size it can take */
    void *lib;    /* as the loader knows it */
    uint8_t form; /* how it spells names */
} tr_blas;

/* Looks for one when first called: a library that is already loaded (NumPy's or SciPy's own, or the system's
 * through them). None with TREADLE_BLAS=none. Never NULL. */
const tr_blas *tr_rt_blas(void);
/* Another function of it: "dgbmv" as Fortran's, or (`c`) of its interface to C, without cblas_. NULL: it has
 * none of that name. */
void *tr_rt_blas_find(const char *name, bool c);

#endif
