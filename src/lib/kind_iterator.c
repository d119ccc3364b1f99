/* Iterators: what remembers where it is, and what has no length: map, filter. What has to be asked has a row
 * in ty/kinds.def with `unknown` items and a next_*() here, which makes a step; generators of the user's will
 * be the next one. Where an iterator is made and used up in one place it has no memory of its own
 * (infer/step.c): the loop's counter is. */
#include "lib/fam.h"

#include <assert.h>

#include "lib/kinds.h"

bool tr_lib_count_unknown(tr_em *e, tr_tv it, tr_tv *n) {
    (void)it;
    *n = tr_em_none(e);
    return true;
}

/* `x in it`: uses it up to there */
static bool each_equal(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    const tr_tv *want = user;
    if (!tr_em_compare(e, TR_CMP_EQ, x, *want, stop) || !tr_em_truth(e, *stop, stop))
        return false;
    *acc = *stop = tr_em_strong(e, *stop);
    return true;
}

bool tr_lib_contains_items(tr_em *e, tr_tv it, tr_tv x, tr_tv *out) {
    *out = tr_em_bool(e, false);
    return tr_em_each(e, it, 1, out, each_equal, &x);
}

/* --- iterators --- */

bool tr_em_iterator(tr_em *e, tr_tv x, tr_tv *out) {
    const tr_ty *i64 = tr_fam_ty(e, TR_TY_I64);
    *out = x;
    if (x.ty->kind == TR_TY_ITERATOR || x.ty->kind == TR_TY_DRAWN)
        return true;
    if (x.ty->kind == TR_TY_GENEXPR) { /* it is where what it runs over is */
        tr_tv of;
        if (!tr_em_iterator(e, tr_em_item(e, x, 1), &of))
            return false;
        *out = tr_em_genexpr(e, tr_em_item(e, x, 0), of);
        return true;
    }
    if (x.ty->kind == TR_TY_RANGE && (x.ty->sub & TR_RANGE_PAR)) { /* its items come in order */
        tr_tv part[3] = {tr_em_item(e, x, 0), tr_em_item(e, x, 1), tr_em_item(e, x, 2)};
        x = tr_em_make(e, tr_ty_range(e->types, x.ty->elem, x.ty->sub & ~(unsigned)TR_RANGE_PAR), 3, part);
    }
    tr_tv it[2] = {x, tr_em_alloc(e, i64, 0, TR_LAYOUT_C, NULL)};
    tr_em_store(e, it[1], NULL, tr_em_i64(e, 0));
    *out =
        tr_em_make(e, tr_ty_of(e->types, TR_TY_ITERATOR, 0, 2, (const tr_ty *[]){it[0].ty, it[1].ty}), 2, it);
    return true;
}

bool tr_lib_iter_part(tr_em *e, tr_tv x, tr_tv *out) {
    return tr_em_iter(e, x, out) && (out->ty->kind != TR_TY_WALK || tr_em_iterator(e, *out, out));
}

bool tr_lib_next_iterator(tr_em *e, tr_tv it, tr_tv i, tr_tv go, tr_tv *out) {
    assert(it.ty->kind == TR_TY_ITERATOR && it.ty->n == 2 && "what is gone through, and where it is");
    tr_tv x = tr_em_item(e, it, 0), cell = tr_em_item(e, it, 1), n, st;
    tr_tv taken = tr_em_load(e, cell, NULL);
    if (!tr_lib_serial_len(e, x, &n) || !tr_lib_next(e, x, n, taken, go, &st))
        return false;
    tr_tv more = tr_em_item(e, st, TR_STEP_MORE);
    tr_tv count = tr_em_item(e, st, TR_STEP_COUNT);
    /* One that has come to its end, when it was asked, stays there, however long the list is later. */
    tr_tv next = tr_em_nsw(e, TR_OP_ADD, count, tr_em_conv(e, more, count.ty));
    tr_tv ended = tr_fam_not(e, more);
    if (go.ty)
        ended = tr_fam_and(e, go, ended);
    tr_em_store(e, cell, NULL, tr_em_select(e, ended, tr_em_i64(e, INT64_MAX), next));
    *out = tr_lib_step(e, more, tr_em_item(e, st, TR_STEP_PLACE), i);
    return true;
}

bool tr_lib_at_iterator(tr_em *e, tr_tv it, tr_tv place, tr_tv *out) {
    return tr_em_iterget(e, tr_em_item(e, it, 0), place, out);
}

/* --- map, filter --- */

static bool call(tr_em *e, tr_tv fn, uint32_t n, const tr_tv *x, const tr_ty *never, tr_tv *out) {
    assert(tr_em_is_whole(e, fn) && tr_em_are_whole(e, n, x) && never && "a function is called with values");
    bool before = e->ends;
    e->ends = false;
    if (!e->call(e, fn, &(tr_args){n, x, 0, NULL}, out))
        return false;
    if (!out->ty) {
        *e->waits = true;
        return false;
    }
    if (e->ends)
        *out = tr_lib_undef(e, never);
    e->ends = e->ends || before;
    return true;
}

bool tr_fam_call(tr_em *e, tr_tv fn, uint32_t n, const tr_tv *x, const tr_ty *never, tr_tv *out) {
    bool before = e->ends, ok = call(e, fn, n, x, never, out);
    e->ends = before;
    return ok;
}

bool tr_lib_next_map(tr_em *e, tr_tv it, tr_tv i, tr_tv go, tr_tv *out) {
    tr_tv x = tr_em_item(e, it, 1), n;
    return tr_lib_serial_len(e, x, &n) && tr_lib_next(e, x, n, i, go, out);
}

bool tr_lib_at_map(tr_em *e, tr_tv it, tr_tv place, tr_tv *out) {
    tr_tv args;
    bool before = e->ends;
    e->ends = false;
    if (!tr_em_iterget(e, tr_em_item(e, it, 1), place, &args))
        return false;
    if (e->ends) { /* the function is never called, and need not fit */
        *out = tr_lib_undef(e, tr_fam_ty(e, TR_TY_F64));
        return true;
    }
    e->ends = before;
    tr_tv *x = TR_NEW_N(&e->ctx->arena, tr_tv, args.ty->n + 1u);
    for (uint32_t k = 0; k < args.ty->n; k++)
        x[k] = tr_em_item(e, args, k);
    const tr_ty *never = args.ty->n ? tr_ty_strong(e->types, x[0].ty) : NULL;
    if (!never || !tr_ty_is_scalar(never))
        never = tr_fam_ty(e, TR_TY_F64);
    return call(e, tr_em_item(e, it, 0), args.ty->n, x, never,
                out); /* for whoever needs the item, e->ends stays */
}

/* acc: whether an item was found, the item */
static bool each_kept(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    const tr_tv *fn = user;
    tr_tv keep = x;
    if ((!tr_tv_is_none(*fn) && !tr_fam_call(e, *fn, 1, &x, tr_fam_ty(e, TR_TY_BOOL), &keep)) ||
        !tr_em_truth(e, keep, &keep) || !tr_em_coerce(e, x, acc[1].ty, &acc[1]))
        return false;
    acc[0] = *stop = tr_em_strong(e, keep);
    return true;
}

/* The place of an item is the item itself: asking for it again would use up another one. */
bool tr_lib_next_filter(tr_em *e, tr_tv it, tr_tv i, tr_tv go, tr_tv *out) {
    tr_tv fn = tr_em_item(e, it, 0), x = tr_em_item(e, it, 1), acc[2];
    assert(it.ty->kind == TR_TY_FILTER && "the cell is the kind's");
    const tr_ty *t;
    if (!tr_fam_item_type(e, x, &t))
        return false;
    acc[0] = tr_em_bool(e, false);
    acc[1] = tr_lib_undef(e, tr_ty_strong(e->types, t));
    if (e->dry || !go.ty) {
        if (!tr_em_each(e, x, 2, acc, each_kept, &fn))
            return false;
    } else {
        tr_val start[2] = {acc[0].v, acc[1].v};
        tr_bid ask = tr_blk_new(e->b.fn), join = tr_blk_new(e->b.fn);
        tr_tv more = {acc[0].ty, tr_blk_param(e->b.fn, join, acc[0].ty, NULL)};
        tr_tv item = {acc[1].ty, tr_blk_param(e->b.fn, join, acc[1].ty, NULL)};
        tr_cbr(&e->b, go.v, ask, 0, NULL, join, 2, start);
        e->b.blk = ask;
        if (!tr_em_each(e, x, 2, acc, each_kept, &fn))
            return false;
        tr_br(&e->b, join, 2, (tr_val[]){acc[0].v, acc[1].v});
        e->b.blk = join;
        acc[0] = more;
        acc[1] = item;
    }
    *out = tr_lib_step(e, acc[0], acc[1], i);
    return true;
}

bool tr_lib_at_filter(tr_em *e, tr_tv it, tr_tv place, tr_tv *out) {
    (void)e, (void)it;
    *out = place;
    return true;
}
