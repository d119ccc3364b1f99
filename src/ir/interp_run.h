/* A function while the interpreter runs it, for the files that are the interpreter: interp.c has control
 * flow, memory, checks, calls and launches, interp_pattern.c the pattern node. */
#ifndef TR_IR_INTERP_RUN_H
#define TR_IR_INTERP_RUN_H

#include <string.h>

#include "ir/interp.h"
#include "ir/interp_ops.h"

enum { MAX_PARTS = 256 };

typedef struct tr_irun {
    tr_interp *in;
    const tr_fn *f;
    tr_slot **vals; /* per value its parts */
    tr_iwait *wait; /* of a kernel's thread: it stops where threads meet, and goes on from there: */
    tr_bid blk;
    tr_val next; /* TR_NOVAL: from the block's beginning */
} tr_irun;

/* Says false: what went wrong, and where. */
bool tr_irun_fault(tr_irun *r, const tr_ins *i, const char *text);

/* A function that has not begun, and a run of it: of a lambda, again and again. */
tr_irun tr_irun_begin(tr_interp *in, const tr_fn *f);
bool tr_irun_with(tr_irun *r, const tr_slot *args, tr_slot *ret);

/* The pattern node at i: its results in out. */
bool tr_irun_pattern(tr_irun *r, const tr_ins *i, tr_slot *out);

/* Parts of operand n. */
const tr_slot *tr_irun_arg(tr_irun *r, const tr_ins *i, uint32_t n);

/* Address of an element; NULL when an index is out of range, which no correct program reaches. The second for
 * an input of a pattern, whose axes of extent 1 repeat. */
void *tr_irun_element(const tr_ty *t, const tr_slot *a, const int64_t *idx);
void *tr_irun_input(const tr_ty *t, const tr_slot *a, const int64_t *idx);

static inline const tr_ty *tr_irun_type(const tr_irun *r, tr_val v) {
    return tr_at(r->f, v)->ty;
}

static inline const tr_ty *tr_irun_arg_type(const tr_irun *r, const tr_ins *i, uint32_t n) {
    return tr_irun_type(r, i->args[n]);
}

static inline void tr_irun_copy(const tr_ty *t, tr_slot *to, const tr_slot *from) {
    memcpy(to, from, tr_ty_nparts(t) * sizeof *to);
}

static inline int64_t tr_irun_dim(const tr_slot *a, unsigned k) {
    return a[2 + k].i;
}

#endif
