/* Small questions that several passes ask. */
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
