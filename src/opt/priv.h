/* What the passes share. */
#ifndef TR_OPT_PRIV_H
#define TR_OPT_PRIV_H

#include "ir/ir.h"
#include "ir/ports.h"
#include "ir/prog.h"
#include "rt/rt.h"

enum { N_CFG = 1, N_DOM = 2, N_LOOPS = 4 };

/* Properties, a bit each: P_BARE. */
enum {
#define X(id, holds, what) P_NO_##id,
#include "opt/props.def"
#undef X
    P__COUNT
};
enum {
#define X(id, holds, what) P_##id = 1u << P_NO_##id,
#include "opt/props.def"
#undef X
};

/* Each pass changes one function and says whether it did. */
#define X(name, ...) bool tr_opt_##name(tr_prog *p, tr_fn *f);
#include "opt/passes.def"

/* nontemporal.c: is v a pattern that can go past the caches? */
bool tr_opt_may_go_past(const tr_fn *f, tr_val v);

/* --- order.c --- */

typedef struct tr_pass {
    const char *name;
    bool (*run)(tr_prog *p, tr_fn *f);
    uint8_t analyses;
    uint32_t needs, makes, breaks;
} tr_pass;

extern const char tr_pass_order[]; /* names; ',' between them, '|' after a group */
extern const char tr_pass_large_order[];
extern const char tr_pass_device_order[];
extern const char tr_pass_offload_order[];

const tr_pass *tr_pass_find(const char *name, size_t n);
/* Properties after a pass, before which `held` held: it makes nothing of what it did not need to find. */
uint32_t tr_pass_after(const tr_pass *ps, uint32_t held);
/* What is wrong with these passes as the product's order: a sentence in the arena, or NULL. */
const char *tr_pass_order_fault(tr_arena *a, const char *names);
/* With these as some passes: one needs what nothing shows, and a later one makes it. */
const char *tr_pass_part_fault(tr_arena *a, const char *names);
/* Of the properties: does one that can be seen not hold in f? A sentence about it, or NULL. Changes the
 * analyses. */
const char *tr_pass_untrue(tr_prog *p, tr_fn *f, uint32_t props);
/* What holds of all functions before the first pass: what inference makes, but in texts that have been
 * through passes already. */
uint32_t tr_pass_input(tr_prog *p);

/* --- eval.c --- */

/* The value of a scalar operation on constants, exactly as op.def defines it; false when an operand is not
 * constant or the result is not known bit for bit (named functions of libm). */
bool tr_opt_eval(tr_fn *f, const tr_ins *in, tr_val *out);

/* --- flatten.c --- */

/* Makes selects of short branches everywhere in f; true if changed. Leaves no analyses. */
bool tr_opt_flatten_fn(tr_fn *f);

/* --- inline.c --- */

/* The bodies of a device's functions in place of their calls, however large. False: one calls itself. */
bool tr_opt_inline_devices(tr_prog *p, tr_fn *f);

/* --- small questions --- */

static inline bool tr_opt_among(uint32_t x, const uint32_t *all, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (all[i] == x)
            return true;
    return false;
}

/* A product of two matrices, which fills a third one; its operands. */
enum { TR_MUL_KIND, TR_MUL_RESULT, TR_MUL_LEFT, TR_MUL_RIGHT, TR_MUL_ARGS };
static inline bool tr_opt_is_matmul(const tr_ins *in) {
    return in->op == TR_OP_CALLRT && in->imm.rt->row == TR_RT_MATMUL;
}

/* Removable when unused, equal when operands are equal: no effect at all. Parameters and constants are not
 * asked. */
bool tr_opt_is_pure(const tr_ins *in);
/* What in f, or in what it calls, draws from a np.random.Generator; NOVAL: nothing (prange.c). */
tr_val tr_opt_draws(const tr_prog *p, const tr_fn *f);
bool tr_opt_has(const tr_fn *f, tr_op op); /* in blocks that are reached; needs their order */
bool tr_opt_is_int_type(const tr_ty *t);   /* bool and the integers */
/* Two patterns go over the same values of sizes. */
static inline bool tr_pats_share_space(const tr_ins *p, const tr_ins *c) {
    return p->imm.pat->nspace == c->imm.pat->nspace && tr_vals_same(p->args, c->args, p->imm.pat->nspace);
}
/* An operation of two integers that may change places. */
static inline bool tr_opt_commutes(tr_op op) {
    return op == TR_OP_ADD || op == TR_OP_MUL || op == TR_OP_MIN || op == TR_OP_MAX || op == TR_OP_AND ||
           op == TR_OP_OR || op == TR_OP_XOR;
}
/* Bits that a place in a grid, or a size of it, takes at most; 0: the op is none. */
enum { TR_THREAD_BITS = 10, TR_BLOCK_BITS = 31 };
unsigned tr_opt_place_bits(unsigned op);
int64_t
tr_opt_imm(const tr_ins *in); /* of a pure operation: the operand that is no value, 0 where there is none */
/* Does no way from x to y, in a block that x's dominates, lead over an instruction that `writes`? One of both
 * that is met again counts too. Needs dominators. */
bool tr_opt_nothing_between(const tr_fn *f, tr_val x, tr_val y, bool (*writes)(const void *self, tr_val v),
                            const void *self);
/* Surely the same value: computed in the same way, in a few steps, from values that are the same or read from
 * memory that is not written in between? Needs dominators. */
bool tr_opt_same(const tr_fn *f, tr_val x, tr_val y);
/* Children of each block in the dominator tree: first[b], next[b]; TR_NOBLK ends. In reverse post-order. */
typedef struct tr_domtree {
    tr_bid *first, *next;
} tr_domtree;
tr_domtree tr_opt_domtree(tr_fn *f);

/* --- small changes --- */

/* A new block, still without an end, on all ways into the loop whose head is h; its params are those of the
 * head. Needs dominators, and leaves them, and predecessors, as they were. */
tr_bid tr_opt_block_before(tr_fn *f, tr_bid h);
/* The same, and it jumps to the head: with what comes on all ways in, where that is one value. What
 * is known of it, a test before the loop say, is known of what the loop begins with then; of a
 * param of the new block nothing would be. */
tr_bid tr_opt_preheader(tr_fn *f, tr_bid h);

/* --- twins.c --- */

/* Does the pattern pv do no more than count what the filter cv keeps, which stands after it in its block? */
bool tr_opt_is_count_of(const tr_fn *f, tr_val pv, tr_val cv);

/* --- work.c --- */

/* Gives the loop over a prange an operand that says what a round costs, at most `most`, in
 * instructions, where that is known before it. */
void tr_opt_work(tr_fn *f, tr_val v, int64_t most);

/* Of a graph (graph/graph.h): the lines of the nodes that a pattern at a place, with a lambda or NULL, is
 * made of; node k has line k + 1. */
tr_u32s tr_opt_nodes(const tr_fn *f, uint32_t loc, const tr_fn *lam);

#endif
