/* Loops with their test at the end, and one jump back in each (loop rotation, and one latch).
 *
 * `while test: body` becomes `if test: do body while test`: the loop's head is copied, jumps back go to the
 * copy, and the head itself stays before the loop as its guard. LLVM's loop-rotate does the same, but mends
 * the dominator tree of all that follows for each loop: quadratic in a row of loops. Here all heads are
 * copied first and values mended once (repair.h), so the pass is near linear in the function.
 *
 * A loop that stays as it is gets one jump back too. `if c: s += x` at the end of a body leaves two, of which
 * one brings the old `s`: LLVM takes such a loop for two nested ones and then neither vectorises nor unrolls
 * it.
 *
 * After the passes over control flow, because simplify removes blocks that only jump. */
#include <assert.h>

#include "ir/loops.h"
#include "opt/priv.h"
#include "opt/repair.h"
#include "opt/scalar/expand.h"

/* Instructions of a head, the branch included, that are worth having twice; LLVM draws the line at the same
 * number. */
enum { MAX_HEAD = 16 };

typedef struct rotor {
    tr_fn *f;
    const tr_forest *loops; /* of the blocks that there were at the start */
    /* per block: 0, or the head of a loop that is rotated: 1 + number of the edge into the body */
    uint8_t *rotates;
    tr_twins twins;
} rotor;

/* --- which loops --- */

/* A pattern is a loop nest of its own, and a call that stands once is inlined sooner. */
static bool head_is_small(const tr_fn *f, tr_bid b) {
    uint32_t n = 0;
    for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL; v = tr_at(f, v)->next)
        if (++n > MAX_HEAD || tr_at(f, v)->op == TR_OP_PATTERN || tr_at(f, v)->op == TR_OP_CALL)
            return false;
    return true;
}

/* A loop that tests at its head and not at its end. What `rotates` says of the head. */
static uint8_t can_rotate(const rotor *r, uint32_t l) {
    const tr_loop *loop = &r->loops->all.d[l];
    const tr_ins *t = tr_term(r->f, loop->header);
    if (t->op != TR_OP_CBR || !tr_forest_block_leaves(r->loops, l, loop->header) ||
        !head_is_small(r->f, loop->header) ||
        (loop->latch != TR_NOBLK && tr_forest_block_leaves(r->loops, l, loop->latch)))
        return 0;
    uint8_t in = tr_forest_has(r->loops, l, t->imm.succ[0].to) ? 0 : 1;
    return t->imm.succ[in].to == loop->header ? 0 : (uint8_t)(in + 1);
}

/* --- changing them --- */

/* A block that passes its arguments on to b, for edges that are led to it. */
static tr_bid passage(tr_fn *f, tr_bid b, uint8_t cold, uint32_t loc) {
    assert(!tr_blk_at(f, b)->dead && cold < TR_COLD__COUNT);
    tr_bid via = tr_blk_new(f);
    uint32_t n = tr_blk_at(f, b)->params.n;
    tr_val *args = TR_NEW_N(&f->ctx->arena, tr_val, n + 1u);
    tr_blk_at(f, via)->cold = cold;
    for (uint32_t i = 0; i < n; i++)
        args[i] = tr_blk_param(f, via, tr_at(f, tr_blk_at(f, b)->params.d[i])->ty, NULL);
    tr_bld at = {.fn = f, .blk = via, .before = TR_NOVAL, .loc = loc};
    tr_br(&at, b, n, args);
    return via;
}

/* The body's first block becomes the loop's head. Where it is that of a loop inside already, it gets a block
 * before it. */
static void own_head(rotor *r, uint32_t l) {
    assert(r->rotates[r->loops->all.d[l].header] == 1 || r->rotates[r->loops->all.d[l].header] == 2);
    tr_fn *f = r->f;
    tr_bid h = r->loops->all.d[l].header;
    tr_edge *in = &tr_term(f, h)->imm.succ[r->rotates[h] - 1];
    if (tr_blk_at(f, in->to)->preds.n > 1 && !r->rotates[in->to])
        in->to = passage(f, in->to, tr_blk_at(f, h)->cold, tr_term(f, h)->loc);
}

static void lead_back(rotor *r, uint32_t l, tr_bid to) {
    tr_fn *f = r->f;
    tr_bid h = r->loops->all.d[l].header;
    for (uint32_t p = 0; p < tr_blk_at(f, h)->preds.n; p++) {
        tr_bid from = tr_blk_at(f, h)->preds.d[p];
        tr_ins *t = tr_term(f, from);
        for (uint32_t s = 0; s < tr_nsucc(t) && tr_forest_has(r->loops, l, from); s++)
            if (t->imm.succ[s].to == h)
                t->imm.succ[s].to = to;
    }
}

/* Do all edges into the loop pass a constant that is not negative for this param? */
static bool starts_at_constant(const rotor *r, uint32_t l, tr_val p) {
    assert(tr_at(r->f, p)->op == TR_OP_PARAM && tr_at(r->f, p)->blk == r->loops->all.d[l].header);
    uint32_t index = tr_param_index(r->f, p);
    int64_t c;
    for (tr_way w = {0}; tr_next_way(r->f, r->loops->all.d[l].header, &w);)
        if (!tr_forest_has(r->loops, l, w.from) && (!tr_get_int(r->f, w.edge->args[index], &c) || c < 0))
            return false;
    return true;
}

/* What the head of a loop that can be rotated asks: `counter < bound`, the counter from a number on. */
static bool take_test(const rotor *r, uint32_t l, tr_loop_test *t) {
    tr_bid h = r->loops->all.d[l].header;
    return r->rotates[h] == 1 && tr_loop_head_test(r->f, h, t) && tr_at(r->f, t->cond)->blk == h &&
           tr_forest_is_outside(r->loops, l, t->bound) && starts_at_constant(r, l, t->counter);
}

/* The length of a range is its number of items where it has one, else 0; below, the first is wanted. Before
 * any head is copied: a bound may stand in one. */
static void expand_bound(rotor *r, uint32_t l) {
    tr_loop_test t;
    if (take_test(r, l, &t) && tr_at(r->f, t.bound)->op == TR_OP_RANGELEN)
        tr_expand_range(r->f, t.bound);
}

/* Where the guard has found that a choice between 0 and a number is not 0, the test inside is against that
 * number, and LLVM sees how often the loop runs. */
static void test_difference(rotor *r, uint32_t l) {
    tr_fn *f = r->f;
    tr_loop_test t;
    if (!take_test(r, l, &t))
        return;
    const tr_ins *n = tr_at(f, t.bound);
    bool most = n->op == TR_OP_MAX;
    if ((most || n->op == TR_OP_SELECT) && tr_is_int(f, n->args[most ? 1 : 2], 0))
        tr_at(f, r->twins.of[t.cond])->args[1] = n->args[most ? 0 : 1];
}

static void rotate(rotor *r, uint32_t l) {
    assert(r->rotates[r->loops->all.d[l].header] &&
           tr_term(r->f, r->loops->all.d[l].header)->op == TR_OP_CBR);
    tr_bid h = r->loops->all.d[l].header, copy = tr_twins_clone(&r->twins, &h, 1);
    test_difference(r, l);
    lead_back(r, l, copy);
}

static void join(rotor *r, uint32_t l) {
    assert(!r->rotates[r->loops->all.d[l].header]);
    tr_fn *f = r->f;
    tr_bid h = r->loops->all.d[l].header;
    uint32_t loc = 0;
    for (uint32_t p = 0; p < tr_blk_at(f, h)->preds.n; p++)
        if (tr_forest_has(r->loops, l, tr_blk_at(f, h)->preds.d[p]))
            loc = tr_term(f, tr_blk_at(f, h)->preds.d[p])->loc;
    lead_back(r, l, passage(f, h, tr_blk_at(f, h)->cold, loc));
}

/* Outer loops first: a head that is the latch of a loop around it is copied when its jump back leads to the
 * right place. */
static bool change(rotor *r) {
    bool changed = false, rotated = false;
    for (uint32_t l = 0; l < r->loops->all.n; l++)
        if (r->rotates[r->loops->all.d[l].header]) {
            expand_bound(r, l);
            own_head(r, l);
        }
    for (uint32_t l = 0; l < r->loops->all.n; l++) {
        const tr_loop *loop = &r->loops->all.d[l];
        if (r->rotates[loop->header]) {
            rotate(r, l);
            changed = rotated = true;
        } else if (loop->latch == TR_NOBLK || r->rotates[loop->latch]) {
            join(r, l);
            changed = true;
        }
    }
    if (rotated) {
        tr_twins_mend(&r->twins);
        tr_remove_params(r->f); /* a guard has one way in, as a rule: it needs no arguments */
    }
    return changed;
}

bool tr_opt_rotate(tr_prog *p, tr_fn *f) {
    (void)p;
    tr_arena *a = &f->ctx->arena;
    rotor r = {.f = f, .loops = f->forest, .twins = tr_twins_new(f)};
    r.rotates = TR_NEW_N(a, uint8_t, f->blks.n + 1u);
    for (uint32_t l = 0; l < r.loops->all.n; l++)
        r.rotates[r.loops->all.d[l].header] = can_rotate(&r, l);
    return change(&r);
}
