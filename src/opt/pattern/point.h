/* One point of a pattern as typed IR, for what writes a pattern's loops in IR: serial.c, where a thread goes
 * over all of them, and offload.c, whose loops are a skeleton's. */
#ifndef TR_OPT_PATTERN_POINT_H
#define TR_OPT_PATTERN_POINT_H

#include "opt/emit.h"
#include "opt/priv.h"

struct tr_point_red;
typedef struct tr_point {
    tr_fn *f;
    tr_bld b;
    tr_ins in; /* the pattern, with operands that are values of f */
    const tr_pat *p;
    /* its operands where it stood, which say more of sizes; NULL: f is where it stands */
    const struct tr_point *stood;
    const tr_ty *i1, *i64;
    struct tr_point_red *reds; /* serial.c's */
    tr_val *carry;             /* of the reductions; last, if some are of a place, the position in C order */
    unsigned ncarry;
    bool places;
    tr_fn *after;         /* the lambda that is given values after the element; NULL: there are no blocks */
    const tr_val *values; /* these */
    tr_val idx[TR_MAX_NDIM + 1];
    unsigned axis[TR_MAX_NDIM + 1]; /* in the order of the loops */
    uint8_t cold;
} tr_point;

/* A block as cold as the pattern's. */
tr_bid tr_point_block(tr_point *s);
/* What is asked of a float: a row of math.def. */
tr_val tr_point_test(tr_point *s, tr_mathfn fn, tr_val x);
/* An operation of two, which may be regrouped as `fast` says if it is one of floats. */
tr_val tr_point_arith(tr_point *s, tr_op op, const tr_ty *t, tr_val x, tr_val y, uint8_t fast);
static inline tr_val tr_point_both(tr_point *s, tr_op op, tr_val x, tr_val y) {
    return tr_emit2(&s->b, op, s->i1, x, y);
}
/* The body of a lambda here. What it yields, as params of the block that the builder goes on in. A lambda
 * that never yields leaves that unreachable. */
tr_val *tr_point_body(tr_point *s, const tr_fn *lam, uint32_t nargs, const tr_val *args);
/* The item of operand x, an array, at the indices s->idx of n axes of the space (NULL: the first n). */
tr_val tr_point_load(tr_point *s, uint32_t x, unsigned n, const unsigned *axes);
void tr_point_store(tr_point *s, uint32_t x, unsigned n, const unsigned *axes, tr_val item);
/* What the lambda yields at the indices s->idx, without scans. */
tr_val *tr_point_yield(tr_point *s);
/* Does x come before the best so far, for a kind that takes one of both? A NaN does, and nothing before
 * it. */
tr_val tr_point_wins(tr_point *s, tr_redk kind, const tr_ty *t, tr_val best, tr_val x);
/* Two values as one; by a function of the node. */
tr_val tr_point_join(tr_point *s, tr_redk kind, const tr_ty *t, tr_val x, tr_val y, uint8_t fast);
tr_val tr_point_join_by(tr_point *s, const tr_fn *by, tr_val x, tr_val y);

#endif
