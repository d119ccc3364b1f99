/* Iterators that are functions: what a closure gives, call by call, until it gives None. The general form of
 * an iterator, with a state of any types in the variables that the closure captured, where others have a
 * counter; functions of itertools are written with it (python/treadle/_library/iterators.py).
 * A call gives the item in a tuple, so that an item may be None: `(item,)`, or None at the end, and None
 * again if it is asked again. What never gives None never ends. Cost: the call, which is inlined. */
#include "lib/fam.h"

#include <assert.h>

#include "lib/kinds.h"

bool tr_lib_py_drawn(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_em_make(e, tr_ty_of(e->types, TR_TY_DRAWN, 0, 1, &c->a[0].ty), 1, &c->a[0]);
    return true;
}

/* Whether a call gave an item, and the tuple of it. */
static void taken(tr_em *e, tr_tv got, tr_tv *more, tr_tv *item) {
    *more = tr_tv_is_none(got) ? tr_em_lit(e, tr_obj_bool(&e->ctx->arena, false)) : tr_em_bool(e, true);
    *item = got;
    if (got.ty->kind == TR_TY_OPT) {
        *more = tr_em_item(e, got, 0);
        *item = tr_em_item(e, got, 1);
    }
    assert((tr_tv_is_none(*item) || (item->ty->kind == TR_TY_TUPLE && item->ty->n == 1)) &&
           "a function that an iterator is gives a tuple of one item, or None");
}

/* The place of an item is the tuple of it: asking for it again would use up another one. */
bool tr_lib_next_drawn(tr_em *e, tr_tv it, tr_tv i, tr_tv go, tr_tv *out) {
    tr_tv fn = tr_em_item(e, it, 0), got, more, item;
    tr_bid from = TR_NOBLK, ask = TR_NOBLK;
    if (!e->dry && go.ty) {
        from = e->b.blk;
        e->b.blk = ask = tr_blk_new(e->b.fn);
    }
    if (!tr_fam_call(e, fn, 0, NULL, tr_ty_none(e->types), &got))
        return false;
    taken(e, got, &more, &item);
    item = tr_em_strong(e, item);
    if (ask != TR_NOBLK) {
        tr_tv end[2] = {tr_em_strong(e, more), item};
        tr_bid join = tr_blk_new(e->b.fn), last = e->b.blk;
        e->b.blk = from;
        tr_val none[2] = {tr_em_strong(e, tr_em_bool(e, false)).v, tr_lib_undef(e, end[1].ty).v};
        tr_val more_v = tr_blk_param(e->b.fn, join, end[0].ty, NULL);
        tr_val item_v = tr_blk_param(e->b.fn, join, end[1].ty, NULL);
        tr_cbr(&e->b, tr_em_strong(e, go).v, ask, 0, NULL, join, 2, none);
        e->b.blk = last;
        tr_br(&e->b, join, 2, (tr_val[]){end[0].v, end[1].v});
        e->b.blk = join;
        if (more.ty->kind != TR_TY_LIT)
            more.v = more_v;
        item = (tr_tv){end[1].ty, item_v};
    }
    *out = tr_lib_step(e, more, item, i);
    return true;
}

bool tr_lib_at_drawn(tr_em *e, tr_tv it, tr_tv place, tr_tv *out) {
    (void)it;
    if (tr_tv_is_none(place)) { /* nothing is known yet of its items */
        *e->waits = true;
        return false;
    }
    *out = tr_em_item(e, place, 0);
    return true;
}
