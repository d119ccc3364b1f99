/* CUDA's libraries: tables of their functions (libs.def), each opened once, when it is needed first, and
 * never closed. Where one lies the package says (python/treadle/cuda/_libs.py). A status that is not 0 is
 * the reason TR_CODE_LIBRARY; which one it was, and whose, is kept for the thread. */
#ifndef TR_DEV_LIBS_H
#define TR_DEV_LIBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tr_lib {
#define X(id, name, fns) TR_LIB_##id,
#include "dev/libs.def"
#undef X
    TR_LIB__COUNT
} tr_lib;

typedef struct tr_cufft_fns {
#define X(id, symbol, needed, params) int(*id) params;
#include "dev/cufft.def"
#undef X
} tr_cufft_fns;

typedef struct tr_cublas_fns {
#define X(id, symbol, needed, params) int(*id) params;
#include "dev/cublas.def"
#undef X
} tr_cublas_fns;

/* By what programs call it ("cuFFT"); TR_LIB__COUNT: there is none. */
tr_lib tr_lib_by_name(const char *name);
/* Opens it at that path, unless it is open. False with a message. Any thread may. */
bool tr_lib_open(tr_lib l, const char *path, char *msg, size_t room);
/* NULL: it is not open. */
const tr_cufft_fns *tr_lib_cufft(void);
const tr_cublas_fns *tr_lib_cublas(void);
/* A function that has no row of its own; NULL: it is not open, or has none. */
void *tr_lib_find(tr_lib l, const char *symbol);

/* Notes what `what` gave: TR_CODE_LIBRARY. */
int32_t tr_lib_refused(tr_lib l, const char *what, int status);
/* What the latest TR_CODE_LIBRARY of this thread was. */
typedef struct tr_lib_refusal {
    const char *library, *what, *name; /* the last: of the status */
    int status;
} tr_lib_refusal;
tr_lib_refusal tr_lib_latest(void);

#endif
