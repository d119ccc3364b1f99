/* Moves pure operations up (loop-invariant code motion, and hoisting to definitions): what costs nothing (a
 * size, an item of a tuple) to where its operand is made, and cheap arithmetic out of loops that do not
 * change it. LLVM would move them too, but later; cse and bounds need to see one size as one value, and what
 * does not vary as such. Nothing here can raise or trap, so doing it early is always allowed. */
#include <assert.h>

#include "ir/loops.h"
#include "opt/priv.h"

/* Reads a part that is there already: no code at all. Parts of complex numbers stay where they are: one that
 * a loop over a prange sums up must not be looked at inside. */
static bool value_is_free(const tr_fn *f, tr_val v) {
    return tr_at(f, v)->nargs == 1 && tr_opt_is_pure(tr_at(f, v)) && tr_ins_cost(f, v) == 0;
}

static bool is_cheap(const tr_fn *f, tr_val v) {
    return tr_opt_is_pure(tr_at(f, v)) && tr_ins_cost(f, v) < TR_COST_DEAR;
}

/* To just after the definition of its operand. */
static bool move_up(tr_fn *f, tr_val v) {
    assert(tr_at(f, v)->nargs == 1);
    const tr_ins *in = tr_at(f, v), *d = tr_at(f, in->args[0]);
    if (d->blk == TR_NOBLK || d->blk == in->blk)
        return false;
    tr_ins_move_before(f, v, d->op == TR_OP_PARAM ? tr_blk_at(f, d->blk)->first : d->next);
    return true;
}

static bool value_may_leave_loop(const tr_forest *t, uint32_t loop, tr_val v) {
    const tr_ins *in = tr_at(t->f, v);
    bool stays = !is_cheap(t->f, v);
    for (uint32_t k = 0; k < in->nargs && !stays; k++)
        stays = !tr_forest_is_outside(t, loop, in->args[k]);
    return !stays;
}

static bool any_value_leaves_loop(const tr_forest *t, uint32_t loop) {
    const tr_fn *f = t->f;
    const tr_loop *l = tr_forest_at(t, loop);
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (value_may_leave_loop(t, loop, v))
                return true;
    return false;
}

static bool leave_loop(tr_fn *f, const tr_forest *t, uint32_t loop) {
    const tr_loop *l = tr_forest_at(t, loop);
    assert(l->preheader != TR_NOBLK && !tr_forest_has(t, loop, l->preheader) && "there is a place before it");
    bool changed = false;
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(f, l->blks.d[i])->first, next; v != TR_NOVAL; v = next) {
            next = tr_at(f, v)->next;
            if (!value_may_leave_loop(t, loop, v))
                continue;
            tr_ins_move_end(f, v, l->preheader);
            tr_at(f, v)->flags &= (uint8_t)~F_NSW; /* promised where it stood, perhaps behind a check */
            changed = true;
        }
    return changed;
}

/* Inner loops first: what leaves them may leave the outer one too. False: a loop that something leaves had no
 * place before it, and has one now; all is to be looked at again. */
static bool leave_loops(tr_fn *f, bool *changed) {
    const tr_forest loops = tr_forest_find(f);
    for (uint32_t l = loops.all.n; l-- > 0;) {
        const tr_loop *loop = tr_forest_at(&loops, l);
        if (loop->preheader != TR_NOBLK) {
            *changed |= leave_loop(f, &loops, l);
        } else if (loop->header != 0 && any_value_leaves_loop(&loops, l)) {
            tr_opt_preheader(f, loop->header);
            tr_cfg_compute(f);
            tr_dom_compute(f);
            *changed = true;
            return false;
        }
    }
    return true;
}

bool tr_opt_hoist(tr_prog *p, tr_fn *f) {
    (void)p;
    bool changed = false;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first, next; v != TR_NOVAL; v = next) {
            next = tr_at(f, v)->next;
            changed |= value_is_free(f, v) && move_up(f, v);
        }
    while (!leave_loops(f, &changed))
        ;
    return changed;
}
