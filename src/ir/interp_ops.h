/* The scalar half of the interpreter; shared by interp.c and interp_ops.c only. */
#ifndef TR_IR_INTERP_OPS_H
#define TR_IR_INTERP_OPS_H

#include "ir/internal.h"
#include "ir/interp.h"

/* One element in memory. */
void tr_interp_load(const tr_ty *t, const void *p, tr_slot *out);
void tr_interp_store(const tr_ty *t, void *p, const tr_slot *v);
void tr_interp_const(const tr_ins *i, tr_slot *out);
void tr_interp_conv(const tr_ty *from, const tr_ty *to, const tr_slot *x, tr_slot *out);
/* y is NULL for ops of one operand. False: needs a function that in->symbol does not know. */
bool tr_interp_arith(const tr_interp *in, tr_op op, const tr_ty *t, const tr_slot *x, const tr_slot *y,
                     tr_slot *out);
bool tr_interp_cmp(tr_cmpop op, const tr_ty *t, const tr_slot *x, const tr_slot *y);
bool tr_interp_math(const tr_interp *in, tr_mathfn fn, const tr_ty *t, const tr_slot *const *x, tr_slot *out);
/* acc = acc (k) x */
void tr_interp_reduce(const tr_interp *in, tr_redk k, const tr_ty *t, tr_slot *acc, const tr_slot *x);
/* Does x replace the extreme so far (argmin, argmax)? */
bool tr_interp_better(tr_redk k, const tr_ty *t, const tr_slot *best, const tr_slot *x);

/* Where a thread waits for others (interp_meet.c). */
typedef struct tr_iwait {
    const tr_ins *at; /* NULL: it can run, or has ended */
    bool ended;
    size_t bytes;   /* of the value that it brings, arg[1] */
    tr_slot arg[3]; /* the instruction's operands */
    tr_slot *out;   /* where its result goes; NULL: it has none */
} tr_iwait;
/* Each of a block's threads has ended or waits: lets those go on that can. False: nobody can,
 * `why`, and thread `who` is one of them. */
bool tr_interp_meet(tr_iwait *w, size_t n, const char **why, size_t *who);

#endif
