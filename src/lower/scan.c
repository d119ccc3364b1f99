/* Scans of floats, block by block; and ranges of scans of any kind, for all threads (par.c): first the total of what a range contributes, which
 * goes to the next one, then its elements, from the value that the one before has handed on.
 * Cost: what the lambda contributes is computed twice, the second time from the cache; the last block or range is walked once. */
#include "lower/pattern.h"

#include <string.h>

void tr_scan_totals(const tr_lpat *s, unsigned k, lv from, lv to, lv *out) {
    tr_arena *a = &s->w->m->ctx->arena;
    tr_pat p = *s->p;
    tr_lpat t = *s;
    p.nred = p.nscan;
    t.p = tr_arena_copy(a, &p, sizeof p);
    t.totals = t.open = true;
    t.blocks = false;
    t.chunk = NULL;
    if (k + 1 == s->ndim) {
        t.from = from;
        t.to = to;
    } else {
        t.first = from;
        t.end = to;
    }
    t.red = tr_arena_copy(a, s->red, (s->p->nred + 1u) * sizeof *s->red);
    t.carry = TR_NEW_N(a, lv, tr_most_carried(s->p));
    t.off = tr_arena_copy(a, s->off, ((s->ndim + 1) * s->narr + 1) * sizeof *s->off);
    tr_red_totals(&t);
    tr_red_begin(&t);
    tr_lower_inner(&t, k);
    tr_red_end(&t, out);
}

/* The values before the next block: those before this one, and its totals. */
static void go_on(tr_lpat *s, unsigned k, lv from, lv to, const lv *before) {
    lv total[2 * UINT8_MAX];
    tr_scan_totals(s, k, from, to, total);
    memcpy(s->carry, before, s->ncarry * sizeof *before);
    for (unsigned i = 0, n = 0; i < s->p->nscan; n += tr_ty_nparts(s->red[i].ty), i++)
        tr_red_join(s, i, total + n);
}

/* carry: after the block's elements. After the last block that is the value of it all. */
static void go_on_if_more(tr_lpat *s, unsigned k, lv from, lv to, lv end, const lv *before) {
    LLVMBuilderRef b = s->w->b;
    lb last = l_here(b), more = tr_lower_block(s->w, ""), after = tr_lower_block(s->w, "");
    lv *walked = tr_arena_copy(&s->w->m->ctx->arena, s->carry, s->ncarry * sizeof *s->carry);
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntSLT, to, end), more, after);
    l_at_end(b, more);
    go_on(s, k, from, to, before);
    more = l_here(b);
    LLVMBuildBr(b, after);
    l_at_end(b, after);
    for (unsigned i = 0; i < s->ncarry; i++) {
        lv p = LLVMBuildPhi(b, LLVMTypeOf(walked[i]), "");
        l_incoming(p, walked[i], last);
        l_incoming(p, s->carry[i], more);
        s->carry[i] = p;
    }
}

void tr_scan_blocks(tr_lpat *s, unsigned k) {
    LLVMBuilderRef b = s->w->b;
    lv size = l_int(s->w->m->i64, TR_SCAN_BLOCK), end = tr_lower_last(s, k);
    tr_lloop blocks;
    tr_lloop_begin(s, &blocks, tr_lower_first(s, k), end);
    lv left = l_sub(b, end, blocks.iv);
    lv to = LLVMBuildNSWAdd(b, blocks.iv, l_select(b, l_icmp(b, LLVMIntSLT, left, size), left, size), "");
    lv *before = tr_arena_copy(&s->w->m->ctx->arena, s->carry, s->ncarry * sizeof *s->carry);
    s->from = blocks.iv;
    s->to = to;
    tr_lower_inner(s, k);
    s->from = s->to = NULL;
    go_on_if_more(s, k, blocks.iv, to, end, before);
    tr_lloop_end(s, &blocks, to);
}
