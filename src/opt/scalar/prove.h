/* A prover for "this linear expression is not negative" from facts of the same form.
 *
 * Facts come in scopes: what holds in a block holds in all blocks it dominates, so a walk of the dominator
 * tree pushes facts on the way down and pops them on the way up. A proof is a chain of steps, each adding a
 * multiple of a fact so that one value disappears, until only a constant is left. The search is bounded: a
 * missing proof costs speed, a wrong one cannot happen.
 *
 * Machine integers wrap; expressions here do not. linearize() takes an instruction apart only where it can
 * prove that its result fits, otherwise the value stays whole. */
#ifndef TR_OPT_PROVE_H
#define TR_OPT_PROVE_H

#include "opt/scalar/lin.h"
#include "opt/priv.h"

/* No array whose elements lie apart has a longer axis: it would not fit an address space. An array without
 * elements, or one whose axis has stride 0, may claim to; for the former every index fails on its empty axis,
 * for the latter every index reads the same element, so nothing outside memory is ever reached. */
#define TR_MAX_DIM ((int64_t)1 << 60)

typedef struct tr_fact {
    tr_lin e;                    /* >= 0 */
    uint32_t next[TR_LIN_TERMS]; /* the next older fact about e.t[i].v */
    /* from an index check: there may be many, so they only end a proof, and no plan is built on one */
    bool leaf;
} tr_fact;

typedef struct tr_prover {
    tr_fn *f;
    TR_VEC(tr_fact) facts;
    uint32_t *head; /* per value: the newest fact about it, UINT32_MAX = none */
    uint32_t *pos;  /* per value: when the walk met its definition; later values are eliminated first */
    uint32_t npos, nvals;
    uint32_t budget;
    tr_val defining[4]; /* values whose definitions are being taken as facts */
    uint32_t ndefining;
    bool leaf;  /* facts assumed now are */
    bool guess; /* linearize() takes it on trust that results fit: only to look for conditions to test */
} tr_prover;

tr_prover tr_prover_new(tr_fn *f);
static inline uint32_t tr_prover_mark(const tr_prover *p) {
    return p->facts.n;
}
void tr_prover_pop(tr_prover *p, uint32_t mark);
/* The walk passes a definition. */
void tr_prover_meet(tr_prover *p, tr_val v);

tr_lin tr_linearize(tr_prover *p, tr_val v);
bool tr_prove(tr_prover *p, const tr_lin *e); /* e >= 0 */
void tr_assume(tr_prover *p, const tr_lin *e);
void tr_assume_cond(tr_prover *p, tr_val cond, bool truth);
/* Bounds of a value from its definition alone. */
void tr_range_of(const tr_fn *f, tr_val v, tr_wide *lo, tr_wide *hi);

/* A condition, free of the values for which `varies` says true, that implies e >= 0; false when none was
 * found. */
bool tr_derive(tr_prover *p, const tr_lin *e, bool (*varies)(void *, tr_val), void *self, tr_lin *out);

#endif
