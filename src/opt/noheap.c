/* On a device there is no memory for new arrays. Where a function has another way, it keeps
 * that, and this one raises.
 *
 * `agree` gives array expressions a version in which no array is made, and leaves the general one beside it,
 * which is cold. There an array that would be made, as where a slice that shares memory with the target is
 * copied first, ends the thread with a MemoryError that says what the test in front had asked. An array that
 * is made on the usual way stays, and the target refuses it by name when it is compiled. */
#include "opt/priv.h"

static const tr_site no_memory = {.exc = TR_EXC_MEMORY,
                                  .text =
                                      "a new array, which a device has no memory for: the array expression's "
                                      "operands differ in size, or its result shares memory with them",
                                  .nargs = -1};

static void raise_at(tr_fn *f, tr_bid blk, tr_val at) {
    uint32_t loc = tr_at(f, at)->loc;
    for (tr_val v = at, next; v != TR_NOVAL; v = next) {
        next = tr_at(f, v)->next;
        tr_ins_remove(f, v);
    }
    tr_bld b = {.fn = f, .blk = blk, .before = TR_NOVAL, .loc = loc};
    tr_val raise = tr_emit0(&b, TR_OP_RAISE, NULL);
    tr_at(f, raise)->imm.site = &no_memory;
}

/* A copy is made there of what shares memory with what is assigned to. */
static bool is_of_overlap(const tr_fn *f, tr_bid b) {
    const tr_blk *blk = tr_blk_at(f, b);
    const tr_ins *t = blk->preds.n == 1 ? tr_term(f, blk->preds.d[0]) : NULL;
    return t && t->op == TR_OP_CBR && t->imm.succ[0].to == b && tr_at(f, t->args[0])->op == TR_OP_OVERLAP;
}

bool tr_opt_noheap(tr_prog *p, tr_fn *f) {
    (void)p;
    bool changed = false;
    for (tr_bid b = 0; b < f->blks.n; b++) {
        if (tr_blk_at(f, b)->dead || !(tr_blk_at(f, b)->cold || is_of_overlap(f, b)))
            continue;
        for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (tr_at(f, v)->op == TR_OP_ALLOC) {
                raise_at(f, b, v);
                changed = true;
                break;
            }
    }
    if (changed)
        tr_simplify_cfg(f);
    return changed;
}
