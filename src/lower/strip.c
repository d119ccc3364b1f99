/* Tiles of a contraction - a sum of products over some axes, as convolutions and small matrix products write
 * it - with accumulators in registers (a register tile, in the field's words).
 *
 * A strip is TR_STRIP_BYTES of columns by sched.strip indices of the kept axis before them. The reduced axes
 * are walked outside of it, so each element that is loaded serves a row or a column of the strip, and no
 * accumulator is loaded or stored but where a block of a sum ends (tile.c, which says in which order things
 * are added: the bits are those of its tiles). The last strip of an axis begins earlier, or repeats its last
 * row, and computes again what is there: so there is one loop, and no remainder.
 * Cost: the lambda sched.strip times, beside tile.c's copies for arrays that are narrower than a strip. */
#include "lower/pattern.h"

#include <assert.h>

static lt vector(const tr_lpat *s) {
    return LLVMVectorType(LLVMTypeOf(s->red[0].init[0]), s->lanes);
}

static bool is_number(lv x, long long n) {
    return LLVMIsAConstantInt(x) && LLVMConstIntGetSExtValue(x) == n;
}

void tr_strip_setup(tr_lpat *s) {
    s->shift = TR_NEW_N(&s->w->m->ctx->arena, lv, s->p->sched.strip * s->narr + 1u);
}

/* --- registers --- */

static lv splat(tr_lpat *s, lv x) {
    LLVMBuilderRef b = s->w->b;
    lv none = LLVMGetUndef(vector(s)), one = LLVMBuildInsertElement(b, none, x, l_int(s->w->m->i32, 0), "");
    return LLVMBuildShuffleVector(b, one, none, LLVMConstNull(LLVMVectorType(s->w->m->i32, s->lanes)), "");
}

static lv nothing(const tr_lpat *s) {
    lv each[TR_STRIP_BYTES];
    for (unsigned i = 0; i < s->lanes; i++)
        each[i] = LLVMConstReal(LLVMTypeOf(s->red[0].init[0]), -0.0);
    return LLVMConstVector(each, s->lanes);
}

/* Elements of array a in row r of the strip. */
static lv elements(tr_lpat *s, unsigned a, unsigned r) {
    const tr_larr *arr = &s->arr[a];
    lv off = LLVMBuildNSWAdd(s->w->b, s->off[s->ndim * s->narr + a], s->shift[r * s->narr + a], ""), x;
    if (!is_number(arr->stride[s->axis[s->ndim - 1]], 0))
        return tr_lower_load_lanes(s->w, arr, off, s->lanes);
    tr_lower_load_at(s->w, arr, off, &x);
    return splat(s, x);
}

/* What the lambda is given in row r; rows share what repeats from one to the next. */
static void gather(tr_lpat *s, unsigned r, lv *params) {
    const tr_pat *p = s->p;
    for (unsigned a = 0; a < p->nin; a++)
        if (r == 0 || !is_number(s->shift[r * s->narr + a], 0))
            params[p->nspace + a] = elements(s, a, r);
}

void tr_strip_add(tr_lpat *s, unsigned k, lv at) {
    assert(s->lanes && k + 2 == s->ndim);
    tr_lf *w = s->w;
    const tr_pat *p = s->p;
    unsigned n = p->nspace + p->nin;
    lv *params = TR_NEW_N(&w->m->ctx->arena, lv, n + s->ncaps + 1u);
    s->idx[s->axis[k]] = at;
    tr_lower_advance(s, k);
    tr_lower_advance(s, k + 1);
    for (unsigned i = 0; i < p->nspace; i++)
        params[i] = s->idx[i];
    for (unsigned i = 0; i < s->ncaps; i++)
        params[n + i] =
            LLVMTypeOf(s->caps[i]) == LLVMGetElementType(vector(s)) ? splat(s, s->caps[i]) : s->caps[i];
    for (unsigned r = 0; r < s->p->sched.strip; r++) {
        gather(s, r, params);
        lv x = tr_lower_lambda(w, p->lam, s->loc, params)[0];
        s->carry[1 + r] = LLVMBuildFAdd(w->b, s->carry[1 + r], x, "");
    }
}

void tr_strip_leave(tr_lpat *s) {
    for (unsigned r = 0; r < s->p->sched.strip; r++) {
        lv o = l_int(s->w->m->i64, r);
        LLVMBuildStore(s->w->b, s->carry[1 + r],
                       LLVMBuildInBoundsGEP2(s->w->b, vector(s), s->red[0].acc[0], &o, 1, ""));
    }
}

void tr_strip_meet(tr_lpat *s, lb here, lb full) {
    for (unsigned r = 0; r < s->p->sched.strip; r++) {
        lv x = LLVMBuildPhi(s->w->b, vector(s), "");
        l_incoming(x, s->carry[1 + r], here);
        l_incoming(x, nothing(s), full);
        s->carry[1 + r] = x;
    }
}

/* --- loops --- */

static lv smaller(tr_lpat *s, lv x, lv y) {
    return l_select(s->w->b, l_icmp(s->w->b, LLVMIntSLT, x, y), x, y);
}

/* Rows past the last one are the last one. */
static void shift_rows(tr_lpat *s, unsigned y, lv left) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    lv last = l_sub(b, left, l_int(i64, 1));
    for (unsigned r = 0; r < s->p->sched.strip; r++) {
        lv by = smaller(s, l_int(i64, r), last);
        for (unsigned a = 0; a < s->narr; a++) {
            lv stride = s->arr[a].stride[y];
            s->shift[r * s->narr + a] =
                r && !is_number(stride, 0) ? LLVMBuildNSWMul(b, by, stride, "") : l_int(i64, 0);
        }
    }
}

static lv step(tr_lpat *s, lv i, unsigned n) {
    return LLVMBuildNSWAdd(s->w->b, i, l_int(s->w->m->i64, n), "");
}

/* The strip's sums from `row` and column `from` on have come to stand in memory. */
static void finish(tr_lpat *s, unsigned y, lv row, lv left, lv from) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64, t = LLVMTypeOf(s->red[0].init[0]);
    unsigned x = s->axis[s->ndim - 1];
    tr_lloop down, along;
    tr_lloop_begin(s, &down, l_int(i64, 0), smaller(s, left, l_int(i64, s->p->sched.strip)));
    tr_lloop_begin(s, &along, l_int(i64, 0), l_int(i64, s->lanes));
    s->idx[y] = LLVMBuildNSWAdd(b, row, down.iv, "");
    s->idx[x] = LLVMBuildNSWAdd(b, from, along.iv, "");
    lv o = LLVMBuildNSWAdd(b, LLVMBuildNSWMul(b, down.iv, l_int(i64, s->lanes), ""), along.iv, "");
    lv sum = LLVMBuildLoad2(b, t, LLVMBuildInBoundsGEP2(b, t, s->red[0].acc[0], &o, 1, ""), "");
    sum = LLVMBuildFAdd(b, s->red[0].init[0], sum, "");
    tr_lower_epilogue(s, &sum, 1);
    tr_lloop_end(s, &along, step(s, along.iv, 1));
    tr_lloop_end(s, &down, step(s, down.iv, 1));
}

static void strip(tr_lpat *s, unsigned k, lv row, lv left, lv from) {
    lt i64 = s->w->m->i64;
    lv len = l_int(i64, s->p->sched.strip * s->lanes);
    tr_tile_clear(s, len);
    s->idx[s->axis[s->ndim - 1]] = from;
    s->carry[0] = l_int(i64, 0);
    for (unsigned r = 0; r < s->p->sched.strip; r++)
        s->carry[1 + r] = nothing(s);
    s->ncarry = 1 + s->p->sched.strip;
    tr_tile_sums(s, k + 1, from, len);
    if (s->p->epi)
        finish(s, s->axis[k], row, left, from);
}

void tr_strip_nest(tr_lpat *s, unsigned k) {
    assert(s->ncarry == 0);
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    lv first = k == 0 && s->first ? s->first : l_int(i64, 0),
       end = k == 0 && s->end ? s->end : s->ext[s->axis[k]], width = s->ext[s->axis[s->ndim - 1]],
       most = l_sub(b, width, l_int(i64, s->lanes));
    tr_lloop down, along;
    tr_lloop_begin(s, &down, first, end);
    lv left = l_sub(b, end, down.iv);
    s->idx[s->axis[k]] = down.iv;
    tr_lower_advance(s, k);
    shift_rows(s, s->axis[k], left);
    tr_lloop_begin(s, &along, l_int(i64, 0), width);
    strip(s, k, down.iv, left, smaller(s, along.iv, most));
    tr_lloop_end(s, &along, step(s, along.iv, s->lanes));
    tr_lloop_end(s, &down, step(s, down.iv, s->p->sched.strip));
}
