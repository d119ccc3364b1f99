/* Masks that lie side by side, words at a time: counting what is true, and packing what is wanted.
 *
 * Most masks have few true items, or mostly true ones, in a row. Items whose bits are all zero are false
 * whatever their type, so one test passes over a word of them where the lambda does nothing else with
 * what is not wanted. A word that has some goes item by item without a branch, and where the packed
 * arrays have room for all of it, before the places of another thread, no item asks. Counts are lanes of
 * bytes, which are added up before they are full.
 *
 * What a mask holds may change under us (another thread's store): an item is looked at again when it is
 * packed, and the room is asked for then.
 * Cost: two loops over a word more to compile, and one around them. */
#include "lower/pattern.h"

#include <assert.h>

/* WORD: bytes that are tested at once, but no fewer than LEAST items. LANES: items that are
 * counted side by side, up to FULL a lane. SMALL: instructions of a lambda that is written
 * out twice. AT_ONCE: items of a round. */
enum { WORD = 32, LEAST = 8, LANES = 64, FULL = 255, SMALL = 8, AT_ONCE = 8 };

/* Only the yield may do more than compute. */
static bool is_pure(const tr_fn *f) {
    if (f->blks.n != 1)
        return false;
    for (tr_val v = f->blks.d[0].first; v != f->blks.d[0].last; v = tr_at(f, v)->next)
        if (tr_ins_effects(tr_at(f, v)))
            return false;
    return true;
}

/* The input whose items say what the first reduction gets: 0 where their bits are zero,
 * else one; nin: there is none. */
static uint32_t mask_of(const tr_lpat *s) {
    const tr_pat *p = s->p;
    const tr_fn *f = p->lam;
    tr_val v = tr_term(f, 0)->args[tr_pat_slot(p, TR_LAM, P_SCAN)];
    if (tr_at(f, v)->op == TR_OP_CONV)
        v = tr_at(f, v)->args[0];
    if (tr_at(f, v)->ty->kind != TR_TY_BOOL)
        return p->nin;
    const tr_ins *in = tr_at(f, v);
    if (in->op == TR_OP_CMP && in->sub == TR_CMP_NE && tr_ty_is_int(tr_at(f, in->args[0])->ty) &&
        tr_is_int(f, in->args[1], 0))
        v = in->args[0];
    uint32_t a = 0;
    while (a < p->nin && f->blks.d[0].params.d[p->nspace + a] != v)
        a++;
    return a;
}

static bool lies_side_by_side(const tr_lpat *s, uint32_t a) {
    lv step = s->line ? NULL : s->arr[a].stride[s->axis[s->ndim - 1]];
    return !step || (LLVMIsAConstantInt(step) && LLVMConstIntGetSExtValue(step) == 1);
}

/* The mask of loops that do nothing but count, or pack, by one; nin: they do not. */
static uint32_t mask_to_read(const tr_lpat *s) {
    const tr_pat *p = s->p;
    uint32_t none = p->nin;
    bool stores = p->nout || p->nscat || p->nein || p->neout || p->keep;
    if (stores || tr_pat_nred(p) != 1 || s->red[0].ty->kind != TR_TY_I64 || s->red[0].kind != TR_RED_ADD ||
        s->red[0].cls != RED_PHI || s->ncarry != 1 || s->chunk || p->sched.scalar || !is_pure(p->lam))
        return none;
    uint32_t a = mask_of(s);
    return a < none && lies_side_by_side(s, a) ? a : none;
}

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

bool tr_pack_count(tr_lpat *s, unsigned k) {
    uint32_t a = s->totals || !s->p->nscan ? mask_to_read(s) : s->p->nin;
    if (a == s->p->nin || tr_ty_size(s->arr[a].ty->elem) != 1)
        return false;
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
    return true;
}

/* --- packing --- */

/* A word's items, where there is room for them without asking or not. */
static void word(tr_lpat *s, unsigned k, lv from, lv to, bool fits) {
    LLVMBuilderRef b = s->w->b;
    s->fits = fits;
    if (fits) { /* an item takes few instructions, fewer than a round would */
        lt i64 = s->w->m->i64;
        lv whole = LLVMBuildNSWAdd(b, from, l_and(b, l_sub(b, to, from), l_int(i64, -AT_ONCE)), "");
        tr_lloop l;
        tr_lloop_begin(s, &l, from, whole);
        for (unsigned i = 0; i < AT_ONCE; i++) {
            stand_at(s, k, LLVMBuildNSWAdd(b, l.iv, l_int(i64, i), ""));
            tr_lower_element(s, NULL);
        }
        tr_lloop_end(s, &l, LLVMBuildNSWAdd(b, l.iv, l_int(i64, AT_ONCE), ""));
        from = whole;
    }
    each(s, k, from, to);
    s->fits = false;
}

bool tr_pack_loop(tr_lpat *s, unsigned k) {
    uint32_t a = s->p->nfilt && !s->totals ? mask_to_read(s) : s->p->nin;
    if (a == s->p->nin)
        return false;
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    uint64_t size = tr_ty_size(s->arr[a].ty->elem);
    unsigned n = WORD / size < LEAST ? LEAST : (unsigned)(WORD / size);
    lv first = tr_lower_first(s, k), end = tr_lower_last(s, k), items = l_int(i64, n), arrive[3];
    lb from[3], look = tr_lower_block(s->w, ""), work = tr_lower_block(s->w, ""),
                next = tr_lower_block(s->w, "");
    unsigned ways = 0;
    tr_lloop words;
    /* Without room nothing is wanted: none was true. */
    end = l_select(b, l_icmp(b, LLVMIntSGT, s->last, l_int(i64, 0)), end, first);
    tr_lloop_begin(s, &words, first, end);
    lv before = s->carry[0], left = l_sub(b, end, words.iv), len = smaller(b, left, items);
    lv to = LLVMBuildNSWAdd(b, words.iv, len, "");
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntSGE, left, items), look, work);

    l_at_end(b, look);
    stand_at(s, k, words.iv);
    lv bits = reduced(s, "llvm.vector.reduce.or", load_items(s, k, a, n));
    arrive[ways] = before;
    from[ways++] = l_here(b);
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits))), work, next);

    l_at_end(b, work);
    if (s->p->lam->ins.n <= SMALL + s->p->nspace + 2u * s->p->nin) {
        lb roomy = tr_lower_block(s->w, ""), tight = tr_lower_block(s->w, "");
        lv after = LLVMBuildNSWAdd(b, before, len, "");
        LLVMBuildCondBr(b, l_icmp(b, LLVMIntSLE, after, s->shared ? s->alone : s->last), roomy, tight);
        l_at_end(b, roomy);
        word(s, k, words.iv, to, true);
        arrive[ways] = s->carry[0];
        from[ways++] = l_here(b);
        LLVMBuildBr(b, next);
        s->carry[0] = before;
        l_at_end(b, tight);
    }
    word(s, k, words.iv, to, false);
    arrive[ways] = s->carry[0];
    from[ways++] = l_here(b);
    LLVMBuildBr(b, next);

    l_at_end(b, next);
    s->carry[0] = LLVMBuildPhi(b, i64, "");
    for (unsigned i = 0; i < ways; i++)
        l_incoming(s->carry[0], arrive[i], from[i]);
    tr_lloop_end(s, &words, to);
    return true;
}
