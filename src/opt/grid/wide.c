/* Kernels in which threads know nothing but their place in the grid, on the host: neighbouring blocks are run
 * as one (loop coalescing over blocks).
 *
 * Where a thread asks for its place along x as `blockIdx.x * blockDim.x + threadIdx.x` alone, and nothing is
 * shared by a block, where one block ends and the next begins means nothing. Some blocks along x are one wide
 * block then: a row is as long as they are together, which is what vectors and memory want, and what is done
 * once for a block is done once for all of them. A vector addition is the plain loop in the end.
 * How many blocks: about WIDE threads, or NARROW, as arrays over the threads should stay in the cache; and so
 * that a grid has PARTS parts for each core, or one. */
#include <assert.h>

#include "opt/grid/grid.h"
#include "opt/emit.h"
#include "opt/priv.h"
#include "rt/rt.h"

enum { WIDE = 65536, NARROW = 4096, PARTS = 4 };

static bool is_place_along_x(const tr_fn *g, tr_val v, tr_op op) {
    const tr_ins *in = tr_at(g, v);
    return in->op == op && in->imm.i == TR_AXIS_X;
}

/* blockIdx.x * blockDim.x */
static bool is_block_base(const tr_fn *g, tr_val v) {
    const tr_ins *in = tr_at(g, v);
    if (in->op != TR_OP_MUL)
        return false;
    tr_val a = in->args[0], b = in->args[1];
    return (is_place_along_x(g, a, TR_OP_BLOCKIDX) && is_place_along_x(g, b, TR_OP_BLOCKDIM)) ||
           (is_place_along_x(g, b, TR_OP_BLOCKIDX) && is_place_along_x(g, a, TR_OP_BLOCKDIM));
}

/* What uses a place along x, or a base, makes a base, or a place in the grid, of it. */
static bool use_makes_base_or_place(const tr_fn *g, const tr_ins *in, tr_val v) {
    if (is_place_along_x(g, v, TR_OP_BLOCKIDX))
        return in->op == TR_OP_MUL && (is_place_along_x(g, in->args[0], TR_OP_BLOCKDIM) ||
                                       is_place_along_x(g, in->args[1], TR_OP_BLOCKDIM));
    bool thread = is_place_along_x(g, v, TR_OP_THREADIDX);
    if (!thread && !is_block_base(g, v))
        return true;
    tr_val other = in->op == TR_OP_ADD ? in->args[in->args[0] == v] : TR_NOVAL;
    return other != TR_NOVAL &&
           (thread ? is_block_base(g, other) : is_place_along_x(g, other, TR_OP_THREADIDX));
}

static bool ins_may_be_wide(const tr_fn *g, tr_val v) {
    const tr_ins *in = tr_at(g, v);
    bool place = in->op == TR_OP_THREADIDX || in->op == TR_OP_BLOCKIDX;
    if (in->op == TR_OP_SHARED || in->op == TR_OP_DYNSHARED || in->op == TR_OP_PATTERN)
        return false;
    if (!place && tr_ins_effects(in) & (E_SIDE | E_ALLOC))
        return false;
    for (uint32_t k = 0; k < in->nargs; k++)
        if (!use_makes_base_or_place(g, in, in->args[k]))
            return false;
    static const tr_ins edge = {.op = TR_OP_BR};
    for (uint32_t e = 0; e < tr_nsucc(in); e++)
        for (uint32_t k = 0; k < in->imm.succ[e].n; k++)
            if (!use_makes_base_or_place(g, &edge, in->imm.succ[e].args[k]))
                return false;
    return true;
}

bool tr_grid_may_widen(const tr_grid *s) {
    const tr_fn *g = s->g;
    for (tr_bid b = 0; b < g->blks.n; b++)
        for (tr_val v = tr_blk_at(g, b)->dead ? TR_NOVAL : tr_blk_at(g, b)->first; v != TR_NOVAL;
             v = tr_at(g, v)->next)
            if (!ins_may_be_wide(g, v))
                return false;
    return !s->p->ctx->opts.watch;
}

void tr_grid_find_wide(tr_grid *s) {
    s->wide = (tr_wide_blocks){.span = TR_NOVAL};
    if (!tr_grid_may_widen(s))
        return;
    s->wide.yes = true;
    s->wide.span = tr_blk_param(s->g, 0, s->i64, NULL);
}

tr_val tr_grid_wide_count(const tr_grid *s, tr_bld *b, const tr_val *sizes, tr_val *each) {
    tr_val one = tr_const_int(b->fn, s->i64, 1), block = sizes[3], grid = sizes[0];
    for (unsigned k = 1; k < TR_AXES; k++) {
        block = tr_emit2(b, TR_OP_MUL, s->i64, block, sizes[3 + k]);
        grid = tr_emit2(b, TR_OP_MUL, s->i64, grid, sizes[k]);
    }
    bool arrays = tr_blk_at(s->g, 0)->params.n > tr_at(s->f, s->call)->nargs - TR_LAUNCH_SIZES + 1u;
    tr_val by_cache =
        tr_emit2(b, TR_OP_QUOT, s->i64, tr_const_int(b->fn, s->i64, arrays ? NARROW : WIDE), block);
    tr_val parts = tr_emit_rt(b, TR_RT_NUM_THREADS, s->i64, 0, NULL, NULL);
    if (!s->strides.n) /* else all threads have the same to do */
        parts = tr_emit2(b, TR_OP_MUL, s->i64, parts, tr_const_int(b->fn, s->i64, PARTS));
    tr_val by_cores = tr_emit2(b, TR_OP_QUOT, s->i64, grid, parts);
    *each = tr_emit_most(b, tr_emit_least(b, by_cache, by_cores), one);
    tr_val up = tr_emit2(b, TR_OP_ADD, s->i64, sizes[0], tr_emit2(b, TR_OP_SUB, s->i64, *each, one));
    return tr_emit2(b, TR_OP_QUOT, s->i64, up, *each);
}

void tr_grid_wide_begin(tr_grid *s, tr_val part) {
    assert(s->wide.yes && s->wide.each != TR_NOVAL && "how many blocks run as one is counted in front");
    tr_val first = tr_grid_op(s, TR_OP_MUL, part, s->wide.each);
    tr_val n = tr_grid_op(s, TR_OP_SUB, s->caps[0], first);
    n = tr_emit_least(&s->b, n, s->wide.each);
    s->wide.base = tr_grid_op(s, TR_OP_MUL, first, s->caps[3]);
    s->wide.extent = tr_grid_op(s, TR_OP_MUL, n, s->caps[3]);
}

void tr_grid_wide_known(const tr_grid *s, tr_val *known) {
    assert(s->wide.yes && s->wide.base != TR_NOVAL && s->wide.extent != TR_NOVAL && "they have begun");
    const tr_fn *g = s->g;
    known[s->wide.span] = s->wide.extent;
    for (tr_bid b = 0; b < g->blks.n; b++)
        for (tr_val v = tr_blk_at(g, b)->dead ? TR_NOVAL : tr_blk_at(g, b)->first; v != TR_NOVAL;
             v = tr_at(g, v)->next)
            if (is_block_base(g, v))
                known[v] = s->wide.base;
}
