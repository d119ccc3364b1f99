/* Checking the IR's rules: what verify.c and verify_ops.c share. */
#ifndef TR_IR_VERIFY_H
#define TR_IR_VERIFY_H

#include "ir/prog.h"

typedef struct tr_fault {
    const tr_fn *f;
    tr_bid b;
    tr_val v; /* TR_NOVAL: the block; with b TR_NOBLK the function */
    const char *text;
} tr_fault;

typedef struct tr_checker {
    tr_arena *a;
    const tr_prog *prog; /* NULL: the function is looked at alone */
    TR_VEC(tr_fault) faults;
    bool broken_links; /* printing would not end */
} tr_checker;

typedef struct tr_fnck {
    tr_checker *c;
    const tr_fn *f;
    tr_fn cfg;          /* f with control flow computed, f itself being const */
    uint32_t *position; /* of an instruction in its block, from 1; params have 1; 0: defined nowhere */
    tr_bid b;           /* what is being looked at */
    tr_val v;
    const tr_pat *pat; /* f is its lambda */
} tr_fnck;

/* --- verify.c --- */

/* A fault of the instruction, block or function that is being looked at. */
void tr_ck_bad(tr_fnck *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *tr_ck_show(tr_fnck *k, const tr_ty *t);

/* --- verify_ops.c --- */

static inline bool tr_ck_is_kind(const tr_ty *t, tr_tyk kind) {
    return t && t->kind == (uint8_t)kind && !t->weak;
}
void tr_ck_want_type(tr_fnck *k, const tr_ty *got, const tr_ty *want, const char *what);
/* How many operands, and the operator; then, where they are as many as the op takes, their
 * types and the result's. */
void tr_ck_shape(tr_fnck *k, const tr_ins *i);
void tr_ck_types(tr_fnck *k, const tr_ins *i);

#endif
