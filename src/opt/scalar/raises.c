/* `if len(x) != len(y): raise ValueError(...)` ends a block; between array expressions it is a check in it
 * (if-conversion of a branch whose one way only raises), so that what stands before and behind is one block:
 * patterns merge across it, and sizes that it compares are known to be equal. Order stays: a check raises
 * where it stands.
 *
 * What the raising block computes for its message comes along, where that is a few cheap numbers without
 * effects. Only in functions with patterns: elsewhere nothing asks. Cost: a look at each block's end. */
#include "opt/emit.h"
#include "opt/priv.h"

enum { MAX_BEFORE = 6 };

/* Does the edge from b go to a block that only raises, of the same handlers? */
static bool only_raises(const tr_fn *f, tr_bid b, const tr_edge *e) {
    const tr_blk *k = tr_blk_at(f, e->to);
    uint32_t n = 0;
    if (e->n || k->params.n || k->preds.n != 1 || tr_term(f, e->to)->op != TR_OP_RAISE)
        return false;
    for (tr_val v = k->first; v != k->last; v = tr_at(f, v)->next)
        if (++n > MAX_BEFORE || !tr_opt_is_pure(tr_at(f, v)) || tr_ins_cost(f, v) >= TR_COST_DEAR)
            return false;
    const tr_edge *own = tr_handler(f, b), *its = tr_handler(f, e->to);
    return own == its || (own && its && own->to == its->to && !own->n && !its->n);
}

/* Not x: of numbers that are the same or not, the comparison that says so, which other passes read. */
static tr_val opposite(tr_bld *b, tr_val x) {
    const tr_ins *c = tr_at(b->fn, x);
    if (c->op != TR_OP_CMP || !tr_opt_is_int_type(tr_at(b->fn, c->args[0])->ty))
        return tr_emit_not(b, x);
    return tr_emit_cmp(b, tr_cmp_inverse[c->sub], c->args[0], c->args[1]);
}

/* The block's branch becomes a check and a jump. */
static void make_check(tr_fn *f, tr_bid b, bool when) {
    tr_val end = tr_blk_at(f, b)->last;
    tr_ins branch = *tr_at(f, end);
    tr_bid to = branch.imm.succ[!when].to;
    tr_val raise = tr_blk_at(f, to)->last;
    while (tr_blk_at(f, to)->first != raise)
        tr_ins_move_before(f, tr_blk_at(f, to)->first, end);
    const tr_ins said = *tr_at(f, raise);
    tr_bld at = {.fn = f, .blk = b, .before = end, .loc = said.loc};
    tr_val args[1 + TR_FRAME_PAYLOAD] = {when ? opposite(&at, branch.args[0]) : branch.args[0]};
    for (uint32_t k = 0; k < said.nargs; k++)
        args[1 + k] = said.args[k];
    tr_val check = tr_emit_v(&at, TR_OP_CHECK, NULL, 1 + said.nargs, args);
    tr_at(f, check)->imm.site = said.imm.site;
    tr_ins *in = tr_at(f, end);
    in->op = TR_OP_BR;
    in->nargs = 0;
    in->imm.succ[0] = branch.imm.succ[when];
}

bool tr_opt_raises(tr_prog *p, tr_fn *f) {
    bool changed = false, some = tr_opt_has(f, TR_OP_PATTERN);
    (void)p;
    for (tr_bid b = 0; some && b < f->blks.n; b++) {
        if (tr_blk_at(f, b)->dead || tr_term(f, b)->op != TR_OP_CBR)
            continue;
        const tr_edge *succ = tr_term(f, b)->imm.succ;
        bool yes = only_raises(f, b, &succ[0]), no = only_raises(f, b, &succ[1]);
        if (yes == no)
            continue;
        make_check(f, b, yes);
        changed = true;
    }
    return changed;
}
