/* One way back to the head of each loop. `if c: s += x` at the end of a loop's body leaves two jumps back, of which one brings the
 * old `s`: LLVM takes such a loop for two nested ones and then neither vectorises nor unrolls it. A block that all jumps go
 * through keeps it one loop. Late, because simplify removes blocks that only jump. */
#include "opt/priv.h"

static void join(tr_fn *f, const tr_loop *l) {
    tr_bid latch = tr_blk_new(f), h = l->header;
    uint32_t n = tr_blk_at(f, h)->params.n;
    tr_val *args = TR_NEW_N(&f->ctx->arena, tr_val, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        args[i] = tr_blk_param(f, latch, tr_at(f, tr_blk_at(f, h)->params.d[i])->ty, NULL);
    uint32_t loc = 0;
    for (uint32_t i = 0; i < l->blks.n; i++) {
        tr_ins *t = tr_term(f, l->blks.d[i]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++)
            if (t->imm.succ[s].to == h) {
                t->imm.succ[s].to = latch;
                loc = t->loc;
            }
    }
    tr_bld b = {.fn = f, .blk = latch, .before = TR_NOVAL, .loc = loc};
    tr_br(&b, h, n, args);
}

bool tr_opt_latch(tr_prog *p, tr_fn *f) {
    (void)p;
    tr_loops loops;
    bool changed = false;
    tr_loops_find(f, &loops, TR_NEW_N(&f->ctx->arena, uint32_t, f->blks.n + 1u));
    for (uint32_t l = 0; l < loops.n; l++)
        if (loops.d[l].latch == TR_NOBLK) {
            join(f, &loops.d[l]);
            changed = true;
        }
    return changed;
}
