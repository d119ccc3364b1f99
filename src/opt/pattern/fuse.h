/* What merging patterns (fuse.c) and dropping what they leave without use (fuse_drop.c) share. */
#ifndef TR_OPT_FUSE_H
#define TR_OPT_FUSE_H

#include "ir/alias.h"
#include "opt/priv.h"

static inline const tr_val *tr_fuse_in(const tr_ins *i) {
    return i->args + tr_pat_in(i->imm.pat);
}
static inline const tr_val *tr_fuse_out(const tr_ins *i) {
    return i->args + tr_pat_out(i->imm.pat);
}
static inline const tr_val *tr_fuse_ein(const tr_ins *i) {
    return i->args + tr_pat_ein(i->imm.pat);
}
static inline const tr_val *tr_fuse_eout(const tr_ins *i) {
    return i->args + tr_pat_eout(i->imm.pat);
}
/* An array of which i writes elements, and that nobody finds when something raises: a handler may find
 * what was there before its block began. */
static inline bool tr_fuse_unseen(const tr_fn *f, const tr_ins *i, tr_val a) {
    return tr_array_is_fresh(f, a) && (tr_at(f, a)->blk == i->blk || !tr_handler(f, i->blk));
}
static inline const tr_val *tr_fuse_params(const tr_fn *g, tr_bid b) {
    return tr_blk_at(g, b)->params.d;
}
static inline const tr_ty *tr_fuse_type(const tr_fn *f, tr_val v) {
    return tr_at(f, v)->ty;
}
static inline bool tr_fuse_lam_uses(const tr_fn *lam, uint32_t param) {
    return tr_use_counts(lam)[tr_fuse_params(lam, 0)[param]] != 0;
}

/* --- fuse_build.c --- */

/* Operands of one kind. */
typedef struct tr_fuse_group {
    TR_VEC(tr_val) v;
} tr_fuse_group;
/* Number of v in the group; `once`: it may be there already. */
uint32_t tr_fuse_put(tr_arena *a, tr_fuse_group *g, tr_val v, bool once);
void tr_fuse_put_all(tr_arena *a, tr_fuse_group *g, const tr_val *v, uint32_t n);

tr_fn *tr_fuse_lambda(const tr_fn *like); /* a new one, of the same place in the source */
tr_val tr_fuse_param(tr_fn *g, const tr_ty *t);
/* Appends a copy of `src`; its yields become jumps to a new block whose params are the
 * values. Returns that block. */
tr_bid tr_fuse_append(tr_fn *g, tr_bid from, const tr_fn *src, const tr_val *args);

/* A new node with the parts of p and c. Its operands by group, then its lambda. */
typedef struct tr_fusing {
    tr_fn *f;
    const tr_ins *p, *c; /* it has p's space, and stands where c does */
    tr_fuse_group in, out, filt, scat, init, cap, ein, eout;
    tr_pat *t;
} tr_fusing;
tr_val tr_fuse_node(tr_fusing *m, tr_val before, const tr_ty *ty);

/* --- fuse.c --- */

/* q, which writes, writes none of these. `b`: the block in which they are used. */
bool tr_fuse_leaves_alone(const tr_fn *f, const tr_ins *q, const tr_val *arrays, uint32_t n, tr_bid b);
bool tr_fuse_writes_inputs(const tr_fn *f, const tr_ins *q,
                           const tr_ins *p);                 /* q may write what the pattern p reads */
bool tr_fuse_writes_unseen(const tr_fn *f, const tr_ins *i); /* nobody has seen what i writes */

/* --- fuse_drop.c --- */

/* Drops outputs, packed arrays and reductions that nobody reads, patterns with nothing left to
 * do, and what was computed for them alone. `rooms`: arrays that surely fit, whose size need not
 * be tested when they go. Until false. */
bool tr_fuse_drop(tr_fn *f, const tr_u32s *rooms);

#endif
