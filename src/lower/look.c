/* Looking bytes up in a table of bytes: the innermost loop as one call (rt/look.c).
 *
 * No array that is stored to is the table (tr_pat.apart). Of the places, the largest is what the runtime
 * tells; none is less than 0, which the least begins with. Cost: a call a row. */
#include "lower/pattern.h"

#include <assert.h>

static lv address(tr_lpat *s, uint32_t a) {
    return tr_lower_address(s->w, &s->arr[a], s->off[s->ndim * s->narr + a]);
}

/* The first part of a captured value. */
static const lv *captured(const tr_lpat *s, uint32_t cap) {
    const tr_fn *f = s->p->lam;
    const lv *at = s->caps;
    uint32_t first = tr_pat_param(s->p, TR_LAM, P_CAP);
    for (uint32_t i = 0; i < cap; i++)
        at += tr_ty_nparts(tr_at(f, f->blks.d[0].params.d[first + i])->ty);
    return at;
}

void tr_look_loop(tr_lpat *s, const tr_nest *t) {
    LLVMBuilderRef b = s->w->b;
    const tr_pat *p = s->p;
    int64_t cap = tr_pat_table(p);
    assert(cap >= 0 && p->nin == 1 && p->nout == 1 && "a table, what is looked up, and where it goes");
    const lv *table = captured(s, (uint32_t)cap);
    lv zero = l_int(s->w->m->i64, 0), first = tr_lower_first(s, t->level), top;
    lv n = l_sub(b, tr_lower_last(s, t->level), first);
    s->idx[s->axis[t->level]] = first;
    tr_lower_advance(s, t->level);
    n = l_select(b, l_icmp(b, LLVMIntSGT, n, zero), n, zero);
    lv args[] = {address(s, 0), address(s, 1), n, table[1], table[2]};
    tr_lower_rt(s->w, TR_RT_LOOK_UP, 5, args, NULL, &top);
    for (uint32_t i = 0; i < p->nfold; i++) {
        lv *carried = s->carry + s->red[i].carry;
        if (tr_pat_red(p, i) == TR_RED_MAX)
            *carried = l_select(b, l_icmp(b, LLVMIntSGT, top, *carried), top, *carried);
    }
}
