/* Masks: counting what is true where they lie side by side, and packing what is wanted.
 *
 * Counts are lanes of bytes, which are added up before they are full. What is wanted goes through
 * rt/pack.c, a stretch of rounds at a time: a loop, of which LLVM makes vectors, writes which rounds are
 * wanted and what they give into buffers. Where the mask lies in memory as it is, or what is packed, there
 * is no such loop. It ends with the last item that there is room for: what was counted before is not looked
 * for behind the last one of it.
 *
 * What a mask holds may change under us (another thread's store): the room is asked for when items are
 * packed, and all arrays that are packed by one mask see the same one. Cost: a loop to compile for what is
 * packed, and one around it. */
#include "lower/pattern.h"

#include <assert.h>
#include <string.h>

/* LANES: items that are counted side by side, up to FULL a lane. STRETCH: rounds. */
enum { LANES = 64, FULL = 255, STRETCH = 512 };

/* So many items from where the loop of level k stands. */
static lv load_items(tr_lpat *s, unsigned k, uint32_t a, unsigned n) {
    LLVMBuilderRef b = s->w->b;
    lt t = tr_lower_elem(s->w->m, s->arr[a].ty->elem);
    lv off = s->off[(k + 1) * s->narr + a];
    lv x = LLVMBuildLoad2(b, LLVMVectorType(t, n), LLVMBuildGEP2(b, t, s->arr[a].data, &off, 1, ""), "");
    LLVMSetAlignment(x, tr_lower_align(s->arr[a].ty));
    return x;
}

static lv reduced(tr_lpat *s, const char *how, lv x) {
    return tr_lower_intrinsic(s->w, how, LLVMTypeOf(x), 1, &x);
}

static void stand_at(tr_lpat *s, unsigned k, lv i) {
    s->idx[s->axis[k]] = i;
    tr_lower_advance(s, k);
}

static lv smaller(LLVMBuilderRef b, lv x, lv y) {
    return l_select(b, l_icmp(b, LLVMIntSLT, x, y), x, y);
}

/* Item by item. */
static void each(tr_lpat *s, unsigned k, lv from, lv to) {
    tr_lloop l;
    tr_lloop_begin(s, &l, from, to);
    stand_at(s, k, l.iv);
    tr_lower_element(s, NULL);
    tr_lloop_end(s, &l, LLVMBuildNUWAdd(s->w->b, l.iv, l_int(s->w->m->i64, 1), ""));
}

/* --- counting --- */

void tr_pack_count(tr_lpat *s, const tr_nest *t) {
    uint32_t a = tr_pat_mask(s->p);
    unsigned k = t->level;
    assert(s->ncarry == 1 && "the count");
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64, bytes = LLVMVectorType(s->w->m->i8, LANES);
    lv first = tr_lower_first(s, k), end = tr_lower_last(s, k), lanes = l_int(i64, LANES);
    lv left = l_sub(b, end, first), some = l_icmp(b, LLVMIntSGT, left, l_int(i64, 0));
    lv whole = l_and(b, l_select(b, some, left, l_int(i64, 0)), l_int(i64, -LANES));
    lv to = LLVMBuildNSWAdd(b, first, whole, "");
    tr_lloop outer, inner;
    tr_lloop_begin(s, &outer, first, to);
    lv total = s->carry[0], stop = smaller(b, to, LLVMBuildNSWAdd(b, outer.iv, l_int(i64, FULL * LANES), ""));
    s->carry[0] = LLVMConstNull(bytes);
    tr_lloop_begin(s, &inner, outer.iv, stop);
    stand_at(s, k, inner.iv);
    lv is_true = l_icmp(b, LLVMIntNE, load_items(s, k, a, LANES), LLVMConstNull(bytes));
    s->carry[0] = l_add(b, s->carry[0], LLVMBuildZExt(b, is_true, bytes, ""));
    tr_lloop_end(s, &inner, LLVMBuildNSWAdd(b, inner.iv, lanes, ""));
    lv wide = LLVMBuildZExt(b, s->carry[0], LLVMVectorType(LLVMInt16TypeInContext(s->w->m->lc), LANES), "");
    lv n = LLVMBuildZExt(b, reduced(s, "llvm.vector.reduce.add", wide), i64, "");
    s->carry[0] = l_add(b, total, n);
    tr_lloop_end(s, &outer, stop);
    /* What is left is less than a vector. */
    tr_pat few = *s->p;
    const tr_pat *p = s->p;
    few.sched.scalar = 1;
    s->p = &few;
    each(s, k, to, end);
    s->p = p;
}

/* --- packing --- */

static uint64_t item_size(const tr_lpat *s, unsigned i) {
    return tr_ty_size(s->filt[i].ty->elem);
}

/* The input whose items are packed array i's as they lie; nin: there is none. */
static uint32_t is_packed_of(const tr_lpat *s, unsigned i) {
    const tr_pat *p = s->p;
    uint32_t a = tr_pat_input(p, tr_term(p->lam, 0)->args[p->nout + i]);
    bool as_it_lies = a < p->nin && s->arr[a].ty->elem == s->filt[i].ty->elem;
    return as_it_lies && tr_lower_is_side_by_side(s, a) ? a : p->nin;
}

static lv address(tr_lpat *s, uint32_t a) {
    return tr_lower_address(s->w, &s->arr[a], s->off[s->ndim * s->narr + a]);
}

/* What is wanted of n rounds, and which, into the buffers where they have one. */
static void fill(tr_lpat *s, unsigned k, lv from, lv n, lv mask, const tr_larr *buf) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    const tr_pat *p = s->p;
    tr_lloop l;
    tr_lloop_begin(s, &l, l_int(i64, 0), n);
    stand_at(s, k, LLVMBuildNSWAdd(b, from, l.iv, ""));
    lv *params = TR_NEW_N(&s->w->m->ctx->arena, lv, p->nspace + 2u * p->nin + s->ncaps + 2u);
    unsigned m = tr_lower_given(s, params);
    params[m++] = l_int(i64, 0); /* the running count */
    memcpy(params + m, s->caps, s->ncaps * sizeof *params);
    const lv *y = tr_lower_outputs(s, tr_lower_lambda(s->w, p->lam, s->loc, params));
    for (unsigned i = 0; i < p->nfilt; i++) {
        if (buf[i].data)
            tr_lower_store_at(s->w, &buf[i], l.iv, y);
        y += tr_ty_nparts(buf[i].ty->elem);
    }
    if (mask)
        LLVMBuildStore(b, LLVMBuildTrunc(b, *y, s->w->m->i8, ""),
                       LLVMBuildInBoundsGEP2(b, s->w->m->i8, mask, &l.iv, 1, ""));
    tr_lloop_end(s, &l, LLVMBuildNUWAdd(b, l.iv, l_int(i64, 1), ""));
}

static lv buffer(tr_lpat *s, uint64_t size) {
    return tr_lower_buffer(s->w, STRETCH * size, TR_MEM_ALIGN, "stretch");
}

void tr_pack_loop(tr_lpat *s, const tr_nest *t) {
    assert(s->ncarry == 1 && "where the next one goes");
    unsigned k = t->level;
    LLVMBuilderRef b = s->w->b;
    tr_lm *m = s->w->m;
    const tr_pat *p = s->p;
    uint32_t in_use = s->w->in_use, a = tr_pat_mask(s->p);
    uint32_t *from = TR_NEW_N(&m->ctx->arena, uint32_t, p->nfilt);
    tr_larr *buf = tr_arena_copy(&m->ctx->arena, s->filt, p->nfilt * sizeof *buf);
    /* Each packed array must see the same mask, and another thread may change it. */
    bool own = p->nfilt > 1 || a == p->nin || tr_ty_size(s->arr[a].ty->elem) != 1 ||
               !tr_lower_is_side_by_side(s, a),
         fills = own || p->nout;
    lv mask = own ? buffer(s, 1) : NULL, first = tr_lower_first(s, k), end = tr_lower_last(s, k);
    lv at = first, limit = s->shared ? s->alone : s->last;
    for (unsigned i = 0; i < p->nfilt; i++) {
        from[i] = is_packed_of(s, i);
        buf[i].data = from[i] < p->nin ? NULL : buffer(s, item_size(s, i));
        fills = fills || buf[i].data;
    }
    /* An array without items may lie nowhere. */
    lv len = l_sub(b, end, first), zero = l_int(m->i64, 0);
    tr_lloop l;
    bool ends = !s->shared && !p->nout; /* when all that there is room for is packed */
    if (fills) {
        lv full = l_icmp(b, LLVMIntSGE, s->carry[0], limit);
        tr_lloop_begin(s, &l, ends ? l_select(b, full, end, first) : first, end);
        at = l.iv;
        len = smaller(b, l_sub(b, end, at), l_int(m->i64, STRETCH));
    } else {
        len = l_select(b, l_icmp(b, LLVMIntSGT, len, zero), len, zero);
    }
    lv here = s->carry[0], next = here;
    unsigned carried = s->ncarry;
    s->ncarry = 0;
    if (fills)
        fill(s, k, at, len, mask, buf);
    s->ncarry = carried;
    stand_at(s, k, at);
    for (unsigned i = 0; i < p->nfilt; i++) {
        lv args[] = {own ? mask : address(s, a),
                     buf[i].data ? buf[i].data : address(s, from[i]),
                     s->filt[i].data,
                     len,
                     here,
                     limit,
                     l_int(m->i64, (long long)item_size(s, i))};
        tr_lower_rt(s->w, TR_RT_PACK, 7, args, NULL, &next);
    }
    s->carry[0] = next;
    if (fills) {
        lv on = LLVMBuildNSWAdd(b, at, len, ""), full = l_icmp(b, LLVMIntSGE, next, limit);
        tr_lloop_end(s, &l, ends ? l_select(b, full, end, on) : on);
    }
    s->w->in_use = in_use;
}
