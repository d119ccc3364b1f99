/* Loop fission: the innermost loop of a pattern that scatters, as two. So many rounds compute where they
 * store and what, into buffers; then they store it. The first loop has no stores at computed places, so that
 * LLVM makes vectors of it, and a core runs ahead to what it loads.
 *
 * The rounds store in their order, and none of them reads the target: the results are those of one loop.
 * Cost: an index per axis of the target and a value, written and read once, in the first
 * level of the cache. */
#include "lower/pattern.h"

#include <assert.h>

/* A buffer of indices, as an array. */
static tr_larr indices(tr_lpat *s, lv data) {
    const tr_ty *i64 = tr_ty_scalar(s->w->m->ctx->types, TR_TY_I64);
    return (tr_larr){.ty = tr_ty_array(s->w->m->ctx->types, i64, 1, TR_LAYOUT_C, false), .data = data};
}

void tr_fission_setup(tr_lpat *s) {
    assert(s->p->nscat == 1);
    uint32_t n = s->p->sched.fission;
    const tr_ty *t = s->scat[0].ty;
    s->later = TR_NEW_N(&s->w->m->ctx->arena, tr_larr, t->ndim + 1u);
    for (unsigned k = 0; k < t->ndim; k++)
        s->later[k] = indices(s, tr_lower_buffer(s->w, (uint64_t)n * 8, 64, "held"));
    s->later[t->ndim] = s->scat[0];
    s->later[t->ndim].data = tr_lower_buffer(s->w, (uint64_t)n * tr_ty_size(t->elem), 64, "held");
}

void tr_fission_hold(tr_lpat *s, const lv *y) {
    unsigned n = s->scat[0].ty->ndim;
    for (unsigned k = 0; k <= n; k++)
        tr_lower_store_at(s->w, &s->later[k], s->at, y + k);
}

static void release(tr_lpat *s, lv at) {
    unsigned n = s->scat[0].ty->ndim;
    lv y[TR_MAX_NDIM + 2];
    for (unsigned k = 0; k <= n; k++)
        tr_lower_load_at(s->w, &s->later[k], at, y + k);
    tr_lower_scatter(s, y);
}

void tr_fission_loop(tr_lpat *s, const tr_nest *n) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    unsigned k = n->level;
    lv zero = l_int(i64, 0), one = l_int(i64, 1), most = l_int(i64, n->n), end = tr_lower_last(s, k);
    tr_lloop outer, inner;
    tr_lloop_begin(s, &outer, tr_lower_first(s, k), end);
    lv left = l_sub(b, end, outer.iv);
    lv len = l_select(b, l_icmp(b, LLVMIntSLT, left, most), left, most);
    tr_lloop_begin(s, &inner, zero, len);
    s->at = inner.iv;
    s->idx[s->axis[k]] = LLVMBuildNSWAdd(b, outer.iv, inner.iv, "");
    tr_lower_advance(s, k);
    tr_lower_walk(s, n->in);
    tr_lloop_end(s, &inner, LLVMBuildNUWAdd(b, inner.iv, one, ""));
    tr_lloop_begin(s, &inner, zero, len);
    s->idx[s->axis[k]] = LLVMBuildNSWAdd(b, outer.iv, inner.iv, "");
    release(s, inner.iv);
    tr_lloop_end(s, &inner, LLVMBuildNUWAdd(b, inner.iv, one, ""));
    tr_lloop_end(s, &outer, LLVMBuildNSWAdd(b, outer.iv, len, ""));
}
