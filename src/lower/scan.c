/* Scans of floats, block by block; and ranges of scans of any kind, for all threads (par.c): first
 * the total of what a range contributes, which goes to the next one, then its elements, from the
 * value that the one before has handed on.
 * Cost: what the lambda contributes is computed twice, the second time from the cache; the
 * last block or range is walked once. */
#include "lower/pattern.h"

#include <string.h>

void tr_scan_totals(const tr_lpat *s, unsigned k, lv from, lv to, lv *out) {
    tr_arena *a = &s->w->m->ctx->arena;
    tr_pat p = *s->p;
    tr_lpat t = *s;
    p.nfold = 0;
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
    t.red = tr_arena_copy(a, s->red, (tr_pat_nred(s->p) + 1u) * sizeof *s->red);
    t.carry = TR_NEW_N(a, lv, tr_most_carried(s->p));
    t.off = tr_arena_copy(a, s->off, ((s->ndim + 1) * s->narr + 1) * sizeof *s->off);
    tr_red_totals(&t);
    tr_red_begin(&t);
    tr_lower_inner(&t, k);
    tr_red_end(&t, out);
}

/* if (more) the values before the next block: those before this one, and its totals. Else whatever. */
static lv *values_after(tr_lpat *s, unsigned k, lv more, lv from, lv to) {
    LLVMBuilderRef b = s->w->b;
    tr_arena *a = &s->w->m->ctx->arena;
    lb here = l_here(b), total = tr_lower_block(s->w, ""), go_on = tr_lower_block(s->w, "");
    lv totals[2 * UINT8_MAX], *before = tr_arena_copy(a, s->carry, s->ncarry * sizeof *before), *after;
    LLVMBuildCondBr(b, more, total, go_on);
    l_at_end(b, total);
    tr_scan_totals(s, k, from, to, totals);
    for (unsigned i = 0, n = 0; i < s->p->nscan; n += tr_ty_nparts(s->red[i].ty), i++)
        tr_red_join(s, i, totals + n);
    after = tr_arena_copy(a, s->carry, s->ncarry * sizeof *after);
    memcpy(s->carry, before, s->ncarry * sizeof *before);
    total = l_here(b);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
    for (unsigned i = 0; i < s->ncarry; i++) {
        lv p = LLVMBuildPhi(b, LLVMTypeOf(after[i]), "");
        l_incoming(p, LLVMGetUndef(LLVMTypeOf(after[i])), here);
        l_incoming(p, after[i], total);
        after[i] = p;
    }
    return after;
}

/* Totals first: what is stored may lie where it is read. After the last block the running
 * values are those of it all. */
void tr_scan_blocks(tr_lpat *s, unsigned k) {
    LLVMBuilderRef b = s->w->b;
    lv size = l_int(s->w->m->i64, TR_SCAN_BLOCK), end = tr_lower_last(s, k);
    tr_lloop blocks;
    tr_lloop_begin(s, &blocks, tr_lower_first(s, k), end);
    lv left = l_sub(b, end, blocks.iv), more = l_icmp(b, LLVMIntSGT, left, size);
    lv to = LLVMBuildNSWAdd(b, blocks.iv, l_select(b, more, size, left), "");
    lv *after = values_after(s, k, more, blocks.iv, to);
    s->from = blocks.iv;
    s->to = to;
    tr_lower_inner(s, k);
    s->from = s->to = NULL;
    for (unsigned i = 0; i < s->ncarry; i++)
        s->carry[i] = l_select(b, more, after[i], s->carry[i]);
    tr_lloop_end(s, &blocks, to);
}
