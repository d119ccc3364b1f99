/* Kernels whose threads wait for all of the grid (cooperative groups), on the host: in stages.
 *
 * A stage is a pattern over the blocks, each of which runs its threads (rounds.c) until they have
 * ended or wait at a barrier of the grid. When all blocks have, the host looks where their threads
 * are: all at one such barrier go on behind it in the next stage; at two is an error that names both
 * lines. Who has ended is not waited for.
 * So what a block has must outlast a stage: arrays over the threads, shared and local
 * memory lie side by side for all blocks.
 * Cost: that memory, the blocks times what one has; a look at all threads for each stage. */
#include <assert.h>
#include <string.h>

#include "opt/emit.h"
#include "opt/grid/grid.h"
#include "opt/priv.h"
#include "rt/rt.h"

/* A size of the lambda's where the launch was: a constant, the threads of a block, or its
 * bytes of dynamic shared memory. */
static tr_val size_outside(const tr_grid *s, const tr_bld *b, tr_val threads, const tr_val *args, tr_val v) {
    if (tr_is_const(tr_at(s->lam, v)))
        return tr_const_import(b->fn, tr_at(s->lam, v));
    assert(v == s->threads || v == s->caps[6]);
    return v == s->threads ? threads : args[1 + 6];
}

static tr_val make_memory(tr_grid *s, tr_bld *b, const tr_grid_memory *m, tr_val threads,
                          const tr_val *args) {
    tr_val n = args[0];
    for (uint32_t k = 0; k < m->type->ndim; k++)
        n = tr_emit2(b, TR_OP_MUL, s->i64, n, size_outside(s, b, threads, args, m->sizes[k]));
    const tr_ty *line = tr_ty_array(s->p->ctx->types, m->type->elem, 1, TR_LAYOUT_C, false);
    tr_val v = tr_emit_v(b, TR_OP_ALLOC, line, 1, &n);
    tr_at(b->fn, v)->imm.site = tr_grid_site(s, TR_EXC_MEMORY, "cannot allocate an array of {0} bytes");
    return v;
}

/* The end of a stage: all have ended, or all go on behind one barrier in the next. */
static void put_end(tr_grid *s, tr_val at, tr_val threads, tr_bid head, tr_bid behind) {
    tr_val zero = tr_emit_int(&s->b, 0), state[2];
    tr_bid next = tr_blk_new(s->lam);
    tr_grid_look(s, at, threads, state);
    tr_val same = tr_emit_cmp(&s->b, TR_CMP_EQ, state[0], state[1]);
    tr_cbr(&s->b, tr_emit_cmp(&s->b, TR_CMP_EQ, state[1], zero), behind, 0, NULL, next, 0, NULL);
    s->b.blk = next;
    tr_grid_raise_apart(s, same,
                        "threads of the grid wait at different barriers: in line {0} and in line {1}", state);
    tr_br(&s->b, head, 1, &state[1]);
}

void tr_grid_put_stages(tr_grid *s, const tr_val *args, uint32_t nargs) {
    tr_fn *f = s->f, *lam = s->lam;
    tr_ins call = *tr_at(f, s->call);
    tr_bld inside = s->b, b = {.fn = f, .blk = call.blk, .before = s->call, .loc = call.loc};
    tr_val threads = tr_emit2(&b, TR_OP_MUL, s->i64, args[1 + 3], args[1 + 4]);
    threads = tr_emit2(&b, TR_OP_MUL, s->i64, threads, args[1 + 5]);
    tr_val all = tr_emit2(&b, TR_OP_MUL, s->i64, threads, args[0]), zero = tr_const_int(f, s->i64, 0);
    tr_val *memory = TR_NEW_N(tr_grid_arena(s), tr_val, s->memory.n + 1u);
    for (uint32_t k = 0; k < s->memory.n; k++)
        memory[k] = make_memory(s, &b, &s->memory.d[k], threads, args);
    tr_bid behind = tr_blk_split(f, s->call), head = tr_blk_new(f);
    b.before = TR_NOVAL;
    tr_br(&b, head, 1, &zero);
    tr_val stage = tr_blk_param(f, head, s->i64, NULL);
    b.blk = head;
    if (s->p->ctx->opts.watch)
        tr_emit_rt(&b, TR_RT_WATCH_STAGE, tr_ty_none(s->p->ctx->types), 0, NULL, NULL);
    tr_node m = tr_node_new(f);
    m.t = (tr_pat){.par = TR_PAR_PRANGE, .lam = s->lam};
    tr_node_put(&m, P_SPACE, args[0]);
    tr_node_put_all(&m, P_CAP, args + 1, nargs - 1);
    tr_node_put(&m, P_CAP, stage);
    tr_node_put_all(&m, P_CAP, memory, s->memory.n);
    tr_node_emit(&m, &b);
    tr_ins_remove(f, s->call);
    s->lam = f; /* what follows is the host's */
    s->b = b;
    put_end(s, memory[s->at_memory], all, head, behind);
    s->lam = lam;
    s->b = inside;
}
