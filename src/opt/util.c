/* Small questions that several passes ask, and small changes that several make. */
#include "opt/priv.h"

bool tr_opt_is_int_type(const tr_ty *t) {
    char c = t ? tr_ty_class(t) : 0;
    return c == 'b' || c == 'i' || c == 'u';
}

bool tr_opt_is_pure(const tr_ins *in) {
    return in->op != TR_OP_PARAM && !tr_is_const(in) && tr_effects(in) == 0;
}

tr_domtree tr_opt_domtree(tr_fn *f) {
    tr_arena *a = &f->ctx->arena;
    tr_domtree t = {TR_NEW_N(a, tr_bid, f->blks.n), TR_NEW_N(a, tr_bid, f->blks.n)};
    for (tr_bid b = 0; b < f->blks.n; b++)
        t.first[b] = t.next[b] = TR_NOBLK;
    for (uint32_t i = f->rpo.n; i-- > 1;) { /* backwards, so that each list ends up in order */
        tr_bid b = f->rpo.d[i], up = f->blks.d[b].idom;
        t.next[b] = t.first[up];
        t.first[up] = b;
    }
    return t;
}

tr_bid tr_opt_block_before(tr_fn *f, tr_bid h) {
    tr_bid before = tr_blk_new(f);
    tr_blk_at(f, before)->cold = tr_blk_at(f, h)->cold;
    for (uint32_t k = 0; k < tr_blk_at(f, h)->params.n; k++)
        tr_blk_param(f, before, tr_at(f, tr_blk_at(f, h)->params.d[k])->ty, NULL);
    const tr_blk *head = tr_blk_at(f, h);
    for (uint32_t i = 0; i < head->preds.n; i++) {
        tr_ins *t = tr_term(f, head->preds.d[i]);
        for (uint32_t s = 0; s < tr_nsucc(t) && !tr_dominates(f, h, head->preds.d[i]); s++)
            if (t->imm.succ[s].to == h)
                t->imm.succ[s].to = before;
    }
    return before;
}
