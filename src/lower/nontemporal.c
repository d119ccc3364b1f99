/* Writing past the caches (non-temporal stores): the line of a pattern whose outputs are
 * larger than they are.
 *
 * A plain store reads the line it stores to first, and what was in the cache for somebody else makes room. A
 * vector that is stored past the cache has to begin where a line does. So the elements before the first such
 * place are a loop of their own, and the other loop is told where it begins, by a pointer whose low bits are
 * masked away: what LLVM cannot prove to be aligned then is stored as ever (jit/nontemporal.c marks the
 * vectors, once there are some). Where no element begins with a line, or not the same one of all outputs, the
 * first loop is all. Such stores are seen late by other threads: a fence ends them.
 * Cost: the loop twice, so it stands in code that is compiled where it is needed (opt/pattern/large.c). */
#include "lower/pattern.h"

#include <assert.h>

enum { LINE = 64 }; /* bytes; a power of two no smaller than a vector */

/* The first place from `at` on where a line of the cache begins. */
static lv next_line(tr_lf *w, lv at) {
    lt types[] = {w->m->ptr, w->m->i64};
    lv to_end = l_int(w->m->i64, LINE - 1);
    lv args[] = {LLVMBuildGEP2(w->b, w->m->i8, at, &to_end, 1, ""), l_int(w->m->i64, -LINE)};
    unsigned id = LLVMLookupIntrinsicID("llvm.ptrmask", 12);
    lv fn = LLVMGetIntrinsicDeclaration(w->m->mod, id, types, 2);
    return LLVMBuildCall2(w->b, LLVMIntrinsicGetType(w->m->lc, id, types, 2), fn, args, 2, "");
}

/* How many elements of the size lie between the two places; `most`: more, or no whole number of them. */
static lv elements_between(tr_lf *w, lv from, lv to, uint64_t size, lv most) {
    LLVMBuilderRef b = w->b;
    lt i64 = w->m->i64;
    lv unit = l_int(i64, (long long)size),
       bytes = l_sub(b, LLVMBuildPtrToInt(b, to, i64, ""), LLVMBuildPtrToInt(b, from, i64, ""));
    lv whole = l_icmp(b, LLVMIntEQ, LLVMBuildURem(b, bytes, unit, ""), l_int(i64, 0)),
       n = LLVMBuildUDiv(b, bytes, unit, "");
    return l_select(b, l_and(b, whole, l_icmp(b, LLVMIntSLT, n, most)), n, most);
}

/* How many of the n elements from `from` on come before that where lines of all outputs begin; n:
 * there is none. Those lines in `line`. */
static lv elements_before(tr_lpat *s, lv from, lv n, lv *line) {
    LLVMBuilderRef b = s->w->b;
    lv all = NULL;
    for (unsigned i = s->p->nin; i < s->narr; i++) {
        lv start = tr_lower_address(s->w, &s->arr[i], from);
        line[i] = next_line(s->w, start);
        lv before = elements_between(s->w, start, line[i], tr_ty_size(s->arr[i].ty->elem), n);
        all = all ? l_select(b, l_icmp(b, LLVMIntEQ, all, before), all, n) : before;
    }
    return all;
}

void tr_nontemporal_nest(tr_lpat *s, const tr_nest *t) {
    assert(s->p->sched.nontemporal && s->line && s->ndim == 1 && s->p->nout > 0);
    tr_lf *w = s->w;
    lv first = s->first, end = s->end, *line = TR_NEW_N(&w->m->ctx->arena, lv, s->narr);
    lv from = tr_lower_first(s, 0), n = l_sub(w->b, tr_lower_last(s, 0), from),
       before = elements_before(s, from, n, line), split = LLVMBuildNSWAdd(w->b, from, before, "");
    s->first = from;
    s->end = split;
    tr_lower_walk(s, t->in);
    for (unsigned i = 0; i < s->narr; i++) {
        s->arr[i].data = i < s->p->nin ? tr_lower_address(w, &s->arr[i], split) : line[i];
        s->arr[i].nontemporal = i >= s->p->nin;
    }
    w->m->nontemporal = true;
    s->first = NULL;
    s->end = l_sub(w->b, n, before);
    tr_lower_walk(s, t->in);
    LLVMBuildFence(w->b, LLVMAtomicOrderingSequentiallyConsistent, 0, "");
    s->first = first;
    s->end = end;
}
