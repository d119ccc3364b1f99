/* Prototypes of every template that builtins.def names, made from the table. */
#ifndef TR_LIB_FAMILIES_H
#define TR_LIB_FAMILIES_H

#include "lib/em.h"

/* Numbers that drive templates, for the last column of builtins.def. */
enum { TR_FILL_NONE, TR_FILL_ZERO, TR_FILL_ONE, TR_FILL_VALUE };
enum { TR_CLOCK_REAL, TR_CLOCK_MONOTONIC, TR_CLOCK_PROCESS, TR_CLOCK_THREAD, TR_CLOCK_NS = 8 };
enum {
    TR_FLAG_C,
    TR_FLAG_F,
    TR_FLAG_FNC,
    TR_FLAG_FORC,
    TR_FLAG_WRITEABLE,
    TR_FLAG_ALIGNED,
    TR_FLAG_BEHAVED,
    TR_FLAG_CARRAY
};
enum { TR_SIDE_LEFT = 1, TR_SIDE_RIGHT = 2 }; /* of a string */
enum { TR_KIND_REAL, TR_KIND_COMPLEX, TR_KIND_SCALAR };
enum { TR_COUNT_SIZE, TR_COUNT_NDIM, TR_COUNT_ITEMSIZE, TR_COUNT_NBYTES };
enum {
    TR_LIM_BITS,
    TR_LIM_MIN,
    TR_LIM_MAX,
    TR_LIM_TINY,
    TR_LIM_SUBNORMAL,
    TR_LIM_EPS,
    TR_LIM_EPSNEG,
    TR_LIM_RESOLUTION,
    TR_LIM_PRECISION
};
enum { TR_ATOMIC_SUB = TR_ATOMIC__COUNT }; /* of cuda.atomic: beside the tr_atomic */
enum {
    TR_MAX_SHARED = 48 << 10, /* bytes of shared memory that a block has without asking for more */
    TR_MAX_LOCAL = 512 << 10  /* of its own that a thread has */
};
enum { TR_DT_TYPE, TR_DT_ITEMSIZE, TR_DT_NAME, TR_DT_KIND };
enum {
    /* of one operand */
    TR_UF_NEGATIVE,
    TR_UF_POSITIVE,
    TR_UF_ABS,
    TR_UF_FABS,
    TR_UF_SIGN,
    TR_UF_SQUARE,
    TR_UF_RECIPROCAL,
    TR_UF_CONJ,
    TR_UF_INVERT,
    TR_UF_NOT,
    TR_UF_DEG,
    TR_UF_RAD,
    TR_UF_SPACING,
    TR_UF_BITCOUNT,
    /* of two */
    TR_UF_LOGADDEXP,
    TR_UF_LOGADDEXP2,
    TR_UF_HEAVISIDE,
    TR_UF_FMOD,
    TR_UF_FLOAT_POWER,
    TR_UF_MINIMUM,
    TR_UF_MAXIMUM,
    TR_UF_FMIN,
    TR_UF_FMAX
};

#define F(id, path, params, fn, aux)      bool fn(tr_em *e, const tr_bcall *c, tr_tv *out);
#define M(id, cls, name, params, fn, aux) bool fn(tr_em *e, const tr_bcall *c, tr_tv *out);
#define A(id, cls, name, fn, aux)         bool fn(tr_em *e, const tr_bcall *c, tr_tv *out);
#include "lib/builtins.def"
#undef F
#undef M
#undef A

#endif
