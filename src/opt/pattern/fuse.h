/* What merging patterns (fuse.c) and dropping what they leave without use (fuse_drop.c) share. */
#ifndef TR_OPT_FUSE_H
#define TR_OPT_FUSE_H

#include "ir/alias.h"
#include "opt/priv.h"

static inline const tr_val *tr_fuse_in(const tr_ins *i) {
    return i->args + tr_pat_at(i->imm.pat, P_IN);
}
static inline const tr_val *tr_fuse_out(const tr_ins *i) {
    return i->args + tr_pat_at(i->imm.pat, P_OUT);
}
static inline const tr_val *tr_fuse_ein(const tr_ins *i) {
    return i->args + tr_pat_at(i->imm.pat, P_EIN);
}
static inline const tr_val *tr_fuse_eout(const tr_ins *i) {
    return i->args + tr_pat_at(i->imm.pat, P_EOUT);
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
/* How long an array's axis is, which a pattern walks along an axis of `space`; TR_NOVAL: no value says it. */
static inline tr_val tr_fuse_size(const tr_fn *f, tr_val array, unsigned axis, tr_val space) {
    const tr_val *sizes = tr_made_sizes(tr_at(f, array));
    const tr_ins *s = tr_at(f, space);
    if (sizes)
        return sizes[axis];
    return s->op == TR_OP_DIM && s->args[0] == array && s->imm.i == axis ? space : TR_NOVAL;
}
static inline bool tr_fuse_lam_uses(const tr_fn *lam, uint32_t param) {
    return tr_use_counts(lam)[tr_fuse_params(lam, 0)[param]] != 0;
}

/* --- fuse_build.c --- */

tr_fn *tr_fuse_lambda(const tr_fn *like); /* a new one, of the same place in the source */
tr_val tr_fuse_param(tr_fn *g, const tr_ty *t);
tr_pat *tr_fuse_guarded(tr_fn *f, const tr_pat *t); /* a copy whose lambda's loads are guarded */
/* Appends a copy of `src`; its yields become jumps to a new block whose params are the
 * values. Returns that block. */
tr_bid tr_fuse_append(tr_fn *g, tr_bid from, const tr_fn *src, const tr_val *args);

/* What becomes of an operand of a node that is merged: operand number k of a role of the new node; or, of the
 * second node's, what the first one yields for its operand k. */
typedef struct tr_fate {
    uint8_t role; /* TR_ROLE__COUNT: not known yet */
    bool linked;
    uint32_t k;
} tr_fate;
typedef struct tr_merged {
    const tr_ins *in;
    tr_fate *fate; /* per operand; extents are the new node's */
} tr_merged;
/* A new node with the parts of p and c, that stand at each index one after the other. */
typedef struct tr_fusing {
    tr_node node;
    tr_merged p, c;
    bool packed; /* what c contributes counts where p's first scan does */
} tr_fusing;
tr_fusing tr_fuse_new(tr_fn *f, const tr_ins *p, const tr_ins *c);
/* An operand becomes a new one of that role. `once`: one that is there already with that value serves. */
void tr_fuse_put(tr_fusing *m, tr_merged *x, uint32_t operand, tr_role as, bool once);
/* One of c's is what p yields for its operand `of`. */
void tr_fuse_link(tr_fusing *m, uint32_t operand, uint32_t of);
/* One is operand k of a role, which is there. */
void tr_fuse_share(tr_merged *x, uint32_t operand, tr_role role, uint32_t k);
/* All of a part's operands of a role whose fate is not known yet; of all roles that functions have. */
void tr_fuse_take(tr_fusing *m, tr_merged *x, tr_role role);
void tr_fuse_take_rest(tr_fusing *m, tr_merged *x);
/* The new node's function fn, when the fates are known: function pf of p, then cf of c; TR_NOFN: nothing. */
enum { TR_NOFN = 2 };
tr_fn *tr_fuse_compose(tr_fusing *m, unsigned fn, unsigned pf, unsigned cf);

/* --- fuse_order.c --- */

/* A value that a merged pattern had: values `first`... of the node that it has become. */
typedef struct tr_fuse_result {
    tr_val old, node;
    uint32_t first, nred;
} tr_fuse_result;
typedef TR_VEC(tr_fuse_result) tr_fuse_results;

/* Is v the value of pattern p's reductions, or of those that it has taken in? */
bool tr_fuse_is_result(const tr_fuse_results *res, tr_val v, tr_val p);
/* Does x share no element with any of these? `b`: the block in which they are used. */
bool tr_fuse_distinct_from_all(const tr_fn *f, tr_val x, const tr_val *v, uint32_t n, tr_bid b);
/* Do its functions no more than compute, and load from arrays that they have whole? Does it load so? */
bool tr_fuse_only_reads(const tr_ins *p);
bool tr_fuse_loads(const tr_ins *p);
/* Does p's lambda load from an array that shares memory with x? */
bool tr_fuse_loads_from(const tr_fn *f, const tr_ins *p, tr_val x);
/* q, which writes, writes none of these. `b`: the block in which they are used. */
bool tr_fuse_leaves_alone(const tr_fn *f, const tr_ins *q, const tr_val *arrays, uint32_t n, tr_bid b);
bool tr_fuse_writes_inputs(const tr_fn *f, const tr_ins *q,
                           const tr_ins *p);                 /* q may write what the pattern p reads */
bool tr_fuse_writes_unseen(const tr_fn *f, const tr_ins *i); /* nobody has seen what i writes */
/* The operand of p, of a role that writes, that is array x; UINT32_MAX: none is. */
uint32_t tr_fuse_written_as(const tr_ins *p, tr_role role, tr_val x);
/* Is each array that c walks as long as its space, whatever was tested? The same, and nothing is at places
 * that might have to be tested. */
bool tr_fuse_has_inputs(const tr_fn *f, const tr_ins *c);
bool tr_fuse_fits_untested(const tr_fn *f, const tr_ins *c);
/* May p, and c which comes later in its block, be done at one place? NULL: they may, when what is in
 * `behind`, in order, comes behind both; and if c then `guards` what it loads. Without `waits`: nothing.
 */
#define TR_FUSE_WAITS "reading an array once would keep others waiting"
const char *tr_fuse_order(const tr_fn *f, const tr_fuse_results *res, tr_val p, tr_val c, bool waits,
                          tr_u32s *behind, bool *guards);

/* --- fuse_drop.c --- */

/* Drops outputs, packed arrays and reductions that nobody reads, patterns with nothing left to
 * do, and what was computed for them alone. `rooms`: arrays that surely fit, whose size need not
 * be tested when they go. Until false. */
bool tr_fuse_drop(tr_fn *f, const tr_u32s *rooms);

/* --- product.c --- */

/* Neighbours along the last of two axes are neighbours in memory. */
bool tr_fuse_is_lines(const tr_fn *f, const tr_ins *view);
/* A copy of a matrix whose lines are lines of memory, as a view of that type, of `terms` lines. Like the
 * array `made` it is allocated, and like pattern `p` it is filled. */
tr_val tr_fuse_in_lines(tr_bld *b, tr_val matrix, tr_val terms, tr_val made, tr_val p);

#endif
