/* Errors as values with a place in the user's source.
 *
 * A stage that fails adds one or more tr_err to the context and returns false. All text lives in the
 * context's arena; ext/pyerr.c turns the list into one Python exception before the arena ends. */
#ifndef TR_BASE_ERR_H
#define TR_BASE_ERR_H

#include <stdbool.h>
#include <stdint.h>

/* A stretch of source: lines from 1, columns are UTF-8 byte offsets from 0. line 0 = unknown; col -1 =
 * unknown. */
typedef struct tr_span {
    int32_t line, col, end_line, end_col;
} tr_span;

/* ORDER ERRKIND: ext/pyerr.c has one exception class per row. */
#define TR_ERRKINDS(X)                                                                              \
    X(TYPING, "TypingError")           /* the operation is not defined for these types */           \
    X(AXIS, "AxisError")               /* a typing error: an axis that the array does not have */   \
    X(UNSUPPORTED, "UnsupportedError") /* Python that Treadle does not compile; a row of nyi.def */ \
    X(LOWERING, "LoweringError")       /* the back end refused */                                   \
    X(SIGNATURE, "TypeError")          /* a signature text or a call that cannot bind */            \
    X(VALUE, "ValueError")             /* a bad option value */                                     \
    X(MEMORY, "MemoryError")                                                                        \
    X(INTERNAL, "InternalError") /* a broken invariant: a defect in Treadle */

typedef enum tr_errkind {
#define X(id, cls) TR_ERR_##id,
    TR_ERRKINDS(X)
#undef X
        TR_ERR__COUNT
} tr_errkind;

/* Where something stands: function, file, span, and the call it was inlined or instantiated from. */
typedef struct tr_place {
    const char *file, *fn;
    tr_span span;
} tr_place;

typedef struct tr_note {
    struct tr_note *next;
    const char
        *text;    /* "argument 'a' is float64"; a leading "$" stands for the source that the span covers */
    tr_span span; /* line 0: no place */
} tr_note;

typedef struct tr_err {
    struct tr_err *next;
    tr_errkind kind;
    const char *text;  /* one line, no final period */
    const char *hint;  /* NULL or "use ..." */
    const char *nyi;   /* row id in nyi.def for UNSUPPORTED, else NULL */
    const char *where; /* "f(array(float64, 1d, C), int64)": the instance, or NULL */
    tr_place place;
    tr_span op_span; /* the operator within place.span when known (caret); line 0: none */
    tr_note *notes;  /* in order */
} tr_err;

#endif
