/* Unroll and jam: several rounds of the innermost loop written one after the other, from where the index is a
 * multiple of their number. What they compute of the index without its last bits is the same then, and LLVM
 * computes it once: a block of four random words serves four rounds. The rounds before and after are loops
 * of their own, which hardly ever run. An axis of few elements, known when compiling, is written out whole.
 *
 * Rounds stay in their order, so nothing depends on it.
 * Cost: the function is written out twice more than there are rounds in a go. */
#include "lower/pattern.h"

#include <assert.h>

enum { FEW = 8 };

/* The round at index i of the axis; from: where the buffers held `fill` values. */
static void one_round(tr_lpat *s, unsigned k, lv i, lv from, lv fill) {
    LLVMBuilderRef b = s->w->b;
    s->idx[s->axis[k]] = i;
    if (fill)
        s->carry[s->fill] = LLVMBuildNSWAdd(b, fill, LLVMBuildNSWSub(b, i, from, ""), "");
    tr_lower_advance(s, k);
    tr_lower_element(s, NULL);
}

/* Those before a multiple, or after the last. */
static void odd_rounds(tr_lpat *s, unsigned k, lv from, lv to, lv origin, lv fill) {
    tr_lloop l;
    s->mark = TR_LOOP_COLD;
    tr_lloop_begin(s, &l, from, to);
    one_round(s, k, l.iv, origin, fill);
    tr_lloop_end(s, &l, LLVMBuildNUWAdd(s->w->b, l.iv, l_int(s->w->m->i64, 1), ""));
    s->mark = 0;
}

/* q n + r: no index is negative. */
static lv index_of(tr_lpat *s, lv q, unsigned n, unsigned r) {
    LLVMBuilderRef b = s->w->b;
    lv first = LLVMBuildNSWMul(b, q, l_int(s->w->m->i64, n), "");
    if (LLVMIsAInstruction(first))
        LLVMSetNUW(first, 1);
    lv i = LLVMBuildNSWAdd(b, first, l_int(s->w->m->i64, r), "");
    if (LLVMIsAInstruction(i) && i != first)
        LLVMSetNUW(i, 1);
    return i;
}

/* All rounds of an axis that is known to be short: no loop, so the one around it may become vectors. */
static bool are_few(lv from, lv to, unsigned *n) {
    if (!LLVMIsAConstantInt(from) || !LLVMIsAConstantInt(to) || LLVMConstIntGetSExtValue(from) != 0)
        return false;
    int64_t all = LLVMConstIntGetSExtValue(to);
    *n = (unsigned)all;
    return all >= 0 && all <= FEW;
}

void tr_unroll_loops(tr_lpat *s, const tr_nest *t, lv from, lv to, lv fill) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    unsigned k = t->level, n = t->n, shift = n / 2;
    assert((n == 2 || n == 4) && k + 1 == s->ndim);
    unsigned all;
    if (are_few(from, to, &all)) {
        for (unsigned r = 0; r < all; r++)
            one_round(s, k, l_int(i64, r), from, fill);
        return;
    }
    lv up = LLVMBuildNSWAdd(b, from, l_int(i64, n - 1), ""), by = l_int(i64, shift);
    lv first = LLVMBuildAShr(b, up, by, ""), last = LLVMBuildAShr(b, to, by, "");
    lv begin = index_of(s, first, n, 0), end = index_of(s, last, n, 0);
    begin = l_select(b, l_icmp(b, LLVMIntSLT, begin, to), begin, to);
    end = l_select(b, l_icmp(b, LLVMIntSLT, end, begin), begin, end);
    tr_lloop l;
    odd_rounds(s, k, from, begin, from, fill);
    tr_lloop_begin(s, &l, first, last);
    for (unsigned r = 0; r < n; r++)
        one_round(s, k, index_of(s, l.iv, n, r), from, fill);
    s->mark = TR_LOOP_TWO;
    tr_lloop_end(s, &l, LLVMBuildNUWAdd(b, l.iv, l_int(i64, 1), ""));
    s->mark = 0;
    odd_rounds(s, k, end, to, from, fill);
}
