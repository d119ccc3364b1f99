/* Linear algebra by BLAS's routines, on any device: cuBLAS on a GPU, the BLAS that NumPy brings on the host.
 *
 * What routines there are, with their parameters, is one table (blas.def). A call is that of a variant, with
 * a word for each parameter; matrices lie in columns. Who makes it looks at all of it before: a letter or a
 * size that a routine does not take is not passed on, and arrays have all items that it says. */
#ifndef TR_LIBS_BLAS_H
#define TR_LIBS_BLAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dev/dev.h"
#include "rt/blas.h"

enum {
    TR_BLAS_WORDS = 14,
    TR_BLAS_DOUBLES = 14,
    TR_BLAS_ROOM = 5
}; /* of words; of all numbers; of results */

typedef enum tr_blas_kind {
    TR_BLAS_OP,
    TR_BLAS_UPLO,
    TR_BLAS_SIDE,
    TR_BLAS_DIAG,
    TR_BLAS_SIZE,
    TR_BLAS_NUMBER,     /* of the arrays' type, or real (a variant's `real`) */
    TR_BLAS_REAL,       /* a real number */
    TR_BLAS_CHANGED,    /* a number of the arrays' type that is given back as well */
    TR_BLAS_GIVEN,      /* one that is only given back */
    TR_BLAS_GIVEN_REAL, /* the same, real */
    TR_BLAS_FIVE,       /* five real numbers */
    TR_BLAS_GIVEN_FIVE,
    TR_BLAS_MATRIX,
    TR_BLAS_LD, /* of the matrix before it */
    TR_BLAS_VECTOR,
    TR_BLAS_INC, /* of the vector before it */
    TR_BLAS_PACKED,
    TR_BLAS_RESULT
} tr_blas_kind;

/* Sizes: those that are parameters, then what is made of them. */
typedef enum tr_blas_size {
    TR_BLAS_M,
    TR_BLAS_N,
    TR_BLAS_K,
    TR_BLAS_KL,
    TR_BLAS_KU,
    TR_BLAS_GIVEN_SIZES,
    TR_BLAS_BAND = TR_BLAS_GIVEN_SIZES, /* kl + ku + 1 */
    TR_BLAS_K1,                         /* k + 1 */
    TR_BLAS_SIDED                       /* m on the left, n on the right */
} tr_blas_size;

typedef enum tr_blas_use { TR_BLAS_IN, TR_BLAS_OUT, TR_BLAS_SAME } tr_blas_use;
typedef enum tr_blas_ops { TR_BLAS_ANY, TR_BLAS_HERMITIAN, TR_BLAS_SYMMETRIC } tr_blas_ops;
typedef enum tr_blas_gives {
    TR_BLAS_NOTHING,
    TR_BLAS_GIVES_REAL,
    TR_BLAS_GIVES_TYPED,
    TR_BLAS_GIVES_INDEX
} tr_blas_gives;

typedef struct tr_blas_word {
    const char *name;
    uint8_t kind;
    uint8_t slot; /* of a size, an operation; of arrays the operation at which sizes change places */
    uint8_t use; /* of arrays; of an operation which ones may be, of a result what it is; of a size 1: methods
                            have it from the first array */
    uint8_t rows, cols; /* of arrays; a vector's are its items, and those if it is transposed */
} tr_blas_word;
enum { TR_BLAS_NO_SLOT = 2 };

typedef struct tr_blas_variant {
    const char *name, *symbol; /* "Daxpy", "cublasDaxpy_v2_64" */
    uint8_t type;              /* TR_BLAS_F32 ... */
    bool real, other;          /* numbers are real where arrays are complex; of another row */
} tr_blas_variant;

typedef struct tr_blas_routine {
    const char *name, *about;
    const tr_blas_word *words;
    uint8_t nwords, variant, nvariants; /* the first of them */
    uint8_t gives;                      /* tr_blas_gives */
} tr_blas_routine;

/* The table, made of blas.def. */
enum {
#define R(name, variants, words, about) TR_BLAS_##name,
#include "libs/blas.def"
    TR_BLAS_ROUTINES
};
extern const tr_blas_routine tr_blas_routines[TR_BLAS_ROUTINES];
enum {
#define V(type, name, rest)             TR_BLAS_V_##name,
#define W(type, name, rest)             TR_BLAS_V_##name,
#define U(type, name, rest)             TR_BLAS_U_##name,
#define R(name, variants, words, about) variants
#include "libs/blas.def"
    TR_BLAS_VARIANTS
};
extern const tr_blas_variant tr_blas_variants[TR_BLAS_VARIANTS];

/* A call: the `arg` of work for which tr_blas_run is the function. */
typedef struct tr_blas_call {
    const tr_blas_routine *routine;
    const tr_blas_variant *variant;
    int64_t
        word[TR_BLAS_WORDS]; /* a size, ld or inc; an address, the lowest one; of letters cuBLAS's number; of
                                    numbers their place in `number` */
    double number[TR_BLAS_DOUBLES]; /* in the arrays' precision each, 16 bytes; results, too */
    int64_t size[TR_BLAS_GIVEN_SIZES];
    uint8_t op[TR_BLAS_NO_SLOT + 1]; /* the last is N */
    uint8_t side;
    bool atomics;   /* cuBLAS's atomics mode: bits may differ from run to run */
    void *area;     /* a GPU's, of tr_blas_area bytes */
    double *result; /* where all of `number` is copied when it is done; NULL: nowhere */
} tr_blas_call;
int32_t tr_blas_run(void *call, const tr_dev_at *at);

/* Bytes that a GPU needs beside the arrays. */
uint64_t tr_blas_area(tr_dev *d, int gpu);
/* The host can do it. */
bool tr_blas_is_here(const tr_blas_call *c);
/* The version of cuBLAS, by the handle of this thread on that GPU. */
int32_t tr_blas_version(tr_dev *d, int gpu, int *version);

/* Rows and columns of an array; a vector has one column. */
void tr_blas_extent(const tr_blas_call *c, int word, int64_t *rows, int64_t *cols);
/* The bytes that a call touches: `count` times `bytes`, `pitch` apart. None: count 0. */
typedef struct tr_blas_span {
    uintptr_t at;
    int64_t bytes, pitch, count;
} tr_blas_span;
void tr_blas_span_of(const tr_blas_call *c, int word, tr_blas_span *out);
/* Two of them have a byte in common. */
bool tr_blas_meets(const tr_blas_span *a, const tr_blas_span *b);

static inline int64_t tr_blas_item(const tr_blas_variant *v) {
    static const int64_t bytes[TR_BLAS_TYPES] = {4, 8, 8, 16};
    return bytes[v->type];
}

/* blas_emu.c, blas_cuda.c */
int32_t tr_blas_here(tr_blas_call *c);
int32_t tr_blas_there(tr_blas_call *c, const tr_dev_at *at);

#endif
