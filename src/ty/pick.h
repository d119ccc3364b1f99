/* Which loop of a ufunc serves operands of which types: asked for calls from Python (ext/ufunc_types.c)
 * and for those in compiled code (infer/ufuncs.c) alike, so that they cannot differ. */
#ifndef TR_TY_PICK_H
#define TR_TY_PICK_H

#include "ty/ty.h"

enum {
    TR_OPERAND_OPEN = TR_TY__SCALARS, /* not known yet, or not asked: goes with any type */
    TR_OPERAND_OTHER                  /* nothing that is computed with: goes with none */
};

/* What is known of an operand's type. */
typedef struct tr_operand {
    uint8_t kind; /* a tr_tyk, or one of the above */
    bool weak;    /* a Python number, of kind I64, F64 or C128: takes the precision of what is beside it */
    bool half;    /* float16, which is computed in F32, its kind */
    bool alias;   /* of another name than its kind (longlong): converts to it, and is not the very type */
} tr_operand;

static inline tr_operand tr_operand_of(tr_tyk kind, bool weak) {
    return (tr_operand){.kind = (uint8_t)kind, .weak = weak};
}

/* NumPy's type for all strong operands together; OPEN when there is none. */
tr_operand tr_operands_common(const tr_operand *x, uint32_t n);
/* What a weak operand is beside strong ones of a common type (OPEN: there are none). An integer stays weak
 * where there are, since it does not widen what it meets. */
tr_operand tr_operand_beside(tr_operand weak, tr_operand common);

/* Types of the operands of signature k, or of arrays of them; NULL: it is out of the question. */
typedef const tr_ty *const *tr_sig_fn(const void *self, uint32_t k);
/* Of n signatures the one for nin inputs: the first that is exactly theirs, else the first that all
 * convert to safely. -1: none. */
int64_t tr_operands_pick(const tr_operand *x, uint32_t nin, tr_sig_fn *sig, const void *self, uint32_t n);

#endif
