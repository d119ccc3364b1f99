/* Choosing the best along an axis: the keys of a row, a stretch of elements at a time, go into a buffer, of
 * which rt/topk.c keeps what may be among the k best. Then the lambda runs once more for those, whose
 * elements are stored; so what stands beside a key costs nothing as long as it is not chosen, and no array.
 * LLVM makes vectors of the loop over a stretch; where keys lie in memory as they are there is none.
 *
 * Of one row that all threads walk, each range leaves its best, and of these the best are chosen: that one
 * element goes before another depends on keys and places alone.
 * Cost: a call of the runtime for each stretch, and one for each row; the lambda once, and k times more. */
#include "base/plant.h"
#include "ir/summary.h"
#include "lower/pattern.h"

#include <assert.h>
#include <string.h>

enum { STRETCH = 1024 }; /* elements */

/* --- keys as the runtime takes them --- */

static const tr_ty *key_type(const tr_lpat *s) {
    return tr_at(s->p->lam, tr_pat_yield(s->p->lam)->args[tr_pat_slot(s->p, TR_LAM, P_TOP)])->ty;
}

/* A set of TR_TOP_*; the smallest go upwards, and NaN comes last then. */
static unsigned what_is_chosen(const tr_lpat *s) {
    const tr_ty *t = key_type(s);
    bool wide = tr_ty_size(t) == 8;
    unsigned kind = tr_ty_is_float(t)       ? (wide ? TR_TOP_F64 : TR_TOP_F32)
                    : tr_ty_class(t) == 'i' ? (wide ? TR_TOP_I64 : TR_TOP_I32)
                                            : (wide ? TR_TOP_U64 : TR_TOP_U32);
    tr_topk how = tr_pat_top(s->p);
    return kind | (how == TR_TOP_SMALLEST ? TR_TOP_DOWN : 0) | (how != TR_TOP_LARGEST ? TR_TOP_NAN_LAST : 0);
}

/* A key of a short type, as long as the runtime's. */
static lv widened(tr_lpat *s, lv key) {
    LLVMBuilderRef b = s->w->b;
    tr_lm *m = s->w->m;
    const tr_ty *t = key_type(s);
    if (tr_ty_size(t) >= 4)
        return key;
    if (tr_ty_is_float(t))
        return LLVMBuildFPExt(b, key, m->f32, "");
    return tr_ty_class(t) == 'i' ? LLVMBuildSExt(b, key, m->i32, "") : LLVMBuildZExt(b, key, m->i32, "");
}

/* The input whose items are the keys as they lie; nin: there is none. */
static uint32_t keys_as_they_lie(const tr_lpat *s) {
    const tr_pat *p = s->p;
    uint32_t a = tr_pat_input(p, tr_pat_yield(p->lam)->args[tr_pat_slot(p, TR_LAM, P_TOP)]);
    bool lies = a < p->nin && !p->nout && tr_ty_size(key_type(s)) >= 4 && tr_lower_is_side_by_side(s, a) &&
                !tr_ty_is_loose(s->arr[a].ty);
    return lies ? a : p->nin;
}

/* --- elements --- */

static void stand_at(tr_lpat *s, unsigned k, lv i) {
    s->idx[s->axis[k]] = i;
    tr_lower_advance(s, k);
}

/* What the lambda yields for the element at which the loops stand. */
static const lv *yielded(tr_lpat *s) {
    const tr_pat *p = s->p;
    lv *params = TR_NEW_N(&s->w->m->ctx->arena, lv, p->nspace + 2u * p->nin + s->ncaps + 1u);
    unsigned n = tr_lower_given(s, params);
    memcpy(params + n, s->caps, s->ncaps * sizeof *params);
    return tr_lower_lambda(s->w, p->lam, s->loc, params);
}

static const lv *behind(const tr_larr *arr, unsigned n, const lv *y) {
    for (unsigned i = 0; i < n; i++)
        y += tr_ty_nparts(arr[i].ty->elem);
    return y;
}

/* Keys of n elements from `from` on; and what else is made of each. */
static void fill(tr_lpat *s, unsigned k, lv from, lv n, lv buf) {
    LLVMBuilderRef b = s->w->b;
    tr_lloop l;
    tr_lloop_begin(s, &l, l_int(s->w->m->i64, 0), n);
    stand_at(s, k, LLVMBuildNSWAdd(b, from, l.iv, ""));
    const lv *y = behind(s->best, s->p->nbest, tr_lower_outputs(s, yielded(s)));
    lv key = widened(s, *y);
    LLVMBuildStore(b, key, LLVMBuildInBoundsGEP2(b, LLVMTypeOf(key), buf, &l.iv, 1, ""));
    tr_lloop_end(s, &l, LLVMBuildNUWAdd(b, l.iv, l_int(s->w->m->i64, 1), ""));
}

static void see(tr_lpat *s, lv keys, lv n, lv first) {
    tr_lower_rt(s->w, TR_RT_TOP_SEE, 4, (lv[]){s->top, keys, n, first}, NULL, NULL);
}

/* Elements from `from` to `to` of the row. */
static void see_all(tr_lpat *s, unsigned k, lv from, lv to) {
    LLVMBuilderRef b = s->w->b;
    uint32_t a = keys_as_they_lie(s), in_use = s->w->in_use;
    if (a < s->p->nin) {
        stand_at(s, k, from);
        lv at = tr_lower_address(s->w, &s->arr[a], s->off[s->ndim * s->narr + a]);
        see(s, at, l_sub(b, to, from), from);
        return;
    }
    uint64_t size = tr_ty_size(key_type(s));
    lv buf = tr_lower_buffer(s->w, STRETCH * (size < 4 ? 4 : size), TR_MEM_ALIGN, "keys");
    lv most = l_int(s->w->m->i64, STRETCH);
    tr_lloop l;
    tr_lloop_begin(s, &l, from, to);
    lv left = l_sub(b, to, l.iv), n = l_select(b, l_icmp(b, LLVMIntSLT, left, most), left, most);
    fill(s, k, l.iv, n, buf);
    see(s, buf, n, l.iv);
    tr_lloop_end(s, &l, LLVMBuildNSWAdd(b, l.iv, n, ""));
    s->w->in_use = in_use;
}

/* --- what is chosen --- */

static lv head_of(tr_lpat *s, lv mem) {
    lv head = l_int(s->w->m->i64, TR_MEM_ALIGN);
    return LLVMBuildInBoundsGEP2(s->w->b, s->w->m->i8, mem, &head, 1, "");
}

/* Element number j of what is chosen, which the loops stand at. */
static void store_best(tr_lpat *s, lv j) {
    const tr_pat *p = s->p;
    const lv *y = behind(s->arr + p->nin, p->nout, yielded(s));
    lv at[TR_MAX_NDIM + 1];
    unsigned n = 0;
    for (unsigned x = 0; x < p->nspace; x++)
        if (p->keep >> x & 1)
            at[n++] = s->idx[x];
    at[n] = j;
    for (unsigned i = 0; i < p->nbest; i++) {
        tr_lower_store_at(s->w, &s->best[i], tr_lower_offset_of(s, &s->best[i], at), y);
        y = behind(&s->best[i], 1, y);
    }
}

static void store_all(tr_lpat *s, unsigned k) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    lv places;
    tr_lloop l;
    tr_lower_rt(s->w, TR_RT_TOP_END, 1, &s->top, NULL, &places);
    tr_lloop_begin(s, &l, l_int(i64, 0), s->k);
    stand_at(s, k, LLVMBuildLoad2(b, i64, LLVMBuildInBoundsGEP2(b, i64, places, &l.iv, 1, ""), ""));
    store_best(s, l.iv);
    tr_lloop_end(s, &l, LLVMBuildNUWAdd(b, l.iv, l_int(i64, 1), ""));
}

void tr_top_row(tr_lpat *s, const tr_nest *n) {
    unsigned k = n->level;
    assert(k + 1 == s->ndim && "one axis is not kept");
    LLVMBuilderRef b = s->w->b;
    lv from = tr_lower_first(s, k), to = tr_lower_last(s, k);
    if (tr_plant(s->w->m->ctx, TR_PLANT_TOP)) {
        lv half = LLVMBuildSDiv(b, LLVMBuildAdd(b, from, to, ""), l_int(s->w->m->i64, 2), "");
        see_all(s, k, half, to);
        to = half;
    }
    see_all(s, k, from, to);
    if (s->leave)
        tr_lower_rt(s->w, TR_RT_TOP_LEAVE, 2, (lv[]){s->top, s->leave}, NULL, NULL);
    else
        store_all(s, k);
}

/* --- around the loops --- */

static lv last_axis(const tr_lpat *s) {
    return s->ext[s->axis[s->ndim - 1]];
}

void tr_top_begin(tr_lpat *s) {
    tr_lm *m = s->w->m;
    lv bytes, args[] = {NULL, s->k, last_axis(s), l_int(m->i64, what_is_chosen(s))};
    tr_lower_rt(s->w, TR_RT_TOP_ROOM, 2, args + 1, NULL, &bytes);
    s->top_mem = tr_lower_memory(s->w, s->v, bytes);
    s->top = args[0] = head_of(s, s->top_mem);
    tr_lower_rt(s->w, TR_RT_TOP_OPEN, 4, args, NULL, NULL);
}

void tr_top_end(tr_lpat *s) {
    tr_lower_rt(s->w, TR_RT_FREE, 1, &s->top_mem, NULL, NULL);
}

/* --- ranges of one row --- */

/* Numbers that a range leaves. */
static lv numbers(tr_lpat *s) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    return LLVMBuildNSWAdd(b, l_int(i64, 1), LLVMBuildNSWMul(b, l_int(i64, 2), s->k, ""), "");
}

lv tr_top_places(tr_lpat *s, lv nranges, lv *mem) {
    LLVMBuilderRef b = s->w->b;
    lv bytes = LLVMBuildNSWMul(b, numbers(s), l_int(s->w->m->i64, sizeof(int64_t)), "");
    *mem = tr_lower_memory(s->w, s->v, LLVMBuildNSWMul(b, bytes, nranges, ""));
    return head_of(s, *mem);
}

lv tr_top_place(tr_lpat *s, lv places, lv r) {
    lv at = LLVMBuildNSWMul(s->w->b, numbers(s), r, "");
    return LLVMBuildInBoundsGEP2(s->w->b, s->w->m->i64, places, &at, 1, "");
}

void tr_top_join(tr_lpat *s, lv places, lv nranges) {
    tr_top_begin(s);
    tr_lower_rt(s->w, TR_RT_TOP_JOIN, 3, (lv[]){s->top, places, nranges}, NULL, NULL);
    store_all(s, 0);
    tr_top_end(s);
}
