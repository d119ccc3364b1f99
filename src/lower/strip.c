/* Tiles of a contraction - a sum of products over some axes, as convolutions and small matrix products write
 * it - with accumulators in registers (a register tile, in the field's words).
 *
 * A strip is TR_STRIP_BYTES of columns by sched.strip indices of the kept axis before them. The reduced axes
 * are walked outside of it, so each element that is loaded serves a row or a column of the strip, and no
 * accumulator is loaded or stored. Where a block of a sum ends, what came before joins it as in rt/tile.c,
 * whose order and bits are these; in calls of that, blocks of 16 rows took as long as the rows. The last
 * strip of an axis begins earlier, or repeats its last row, and computes again what is there: so there is one
 * loop, and no remainder. Of an axis that is narrower than a strip the lanes beyond it are masked away.
 * Cost: the lambda sched.strip times, twice. */
#include "lower/pattern.h"

#include <assert.h>

static lt vector(const tr_lpat *s) {
    return LLVMVectorType(LLVMTypeOf(s->red[0].init[0]), s->lanes);
}

static bool is_number(lv x, long long n) {
    return LLVMIsAConstantInt(x) && LLVMConstIntGetSExtValue(x) == n;
}

void tr_strip_setup(tr_lpat *s) {
    unsigned each = s->p->sched.strip * TR_STRIP_BYTES;
    s->shift = TR_NEW_N(&s->w->m->ctx->arena, lv, s->p->sched.strip * s->narr + 1u);
    s->red[0].acc[0] = tr_lower_buffer(s->w, each, 64, "columns");
    s->red[0].state[0] = tr_lower_buffer(s->w, TR_STRIP_BYTES + each * TR_TILE_LEVELS, 64, "sums");
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
        return tr_lower_load_lanes(s->w, arr, off, s->lanes, s->lanes_mask);
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

/* --- blocks of a sum --- */

enum { LAST = TR_TILE_LEVELS - 1 }; /* the level that takes what comes */

/* Memory of a strip: the number of blocks, then levels of sums, a vector for each row. */
static lv sum_at(tr_lpat *s, lv level, unsigned r) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    lv o = LLVMBuildNUWAdd(b, LLVMBuildNUWMul(b, level, l_int(i64, s->p->sched.strip), ""), l_int(i64, r + 1),
                           "");
    return LLVMBuildInBoundsGEP2(b, vector(s), s->red[0].state[0], &o, 1, "");
}

static lv nblocks(tr_lpat *s) {
    return LLVMBuildLoad2(s->w->b, s->w->m->i64, s->red[0].state[0], "");
}

/* A walk along the levels, sums in `acc`; bits: of the number of blocks, from this level on. */
typedef struct walk {
    lb head;
    lv level, bits, is_last, acc[TR_MAX_STRIP];
} walk;

static void walk_begin(tr_lpat *s, walk *k) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    lv bits = nblocks(s);
    lb here = l_here(b);
    k->head = tr_lower_block(s->w, "");
    LLVMBuildBr(b, k->head);
    l_at_end(b, k->head);
    k->level = LLVMBuildPhi(b, i64, "");
    k->bits = LLVMBuildPhi(b, i64, "");
    l_incoming(k->level, l_int(i64, 0), here);
    l_incoming(k->bits, bits, here);
    for (unsigned r = 0; r < s->p->sched.strip; r++) {
        k->acc[r] = LLVMBuildPhi(b, vector(s), "");
        l_incoming(k->acc[r], s->carry[1 + r], here);
    }
    k->is_last = l_icmp(b, LLVMIntEQ, k->level, l_int(i64, LAST));
}

/* Does this level hold sums? */
static lv is_occupied(tr_lpat *s, const walk *k) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    lv bits = l_select(b, k->is_last, k->bits, l_and(b, k->bits, l_int(i64, 1)));
    return l_icmp(b, LLVMIntNE, bits, l_int(i64, 0));
}

static void join_level(tr_lpat *s, const walk *k, lv *acc) {
    LLVMBuilderRef b = s->w->b;
    for (unsigned r = 0; r < s->p->sched.strip; r++)
        acc[r] = LLVMBuildFAdd(b, LLVMBuildLoad2(b, vector(s), sum_at(s, k->level, r), ""), k->acc[r], "");
}

/* To the next level, beyond which there are none after the last. */
static void walk_on(tr_lpat *s, walk *k, const lv *acc, bool stays) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    lv next = LLVMBuildNUWAdd(b, k->level, l_int(i64, 1), ""),
       bits = LLVMBuildLShr(b, k->bits, l_int(i64, 1), "");
    lb here = l_here(b);
    l_incoming(k->level, stays ? l_select(b, k->is_last, k->level, next) : next, here);
    l_incoming(k->bits, l_select(b, k->is_last, l_int(i64, 0), bits), here);
    for (unsigned r = 0; r < s->p->sched.strip; r++)
        l_incoming(k->acc[r], acc[r], here);
    LLVMBuildBr(b, k->head);
}

/* The rows in the accumulators are a block: as rt/tile.c's add. */
void tr_strip_block(tr_lpat *s) {
    LLVMBuilderRef b = s->w->b;
    walk k;
    lv acc[TR_MAX_STRIP];
    lb full = tr_lower_block(s->w, ""), free = tr_lower_block(s->w, "");
    walk_begin(s, &k);
    LLVMBuildCondBr(b, is_occupied(s, &k), full, free);
    l_at_end(b, full);
    join_level(s, &k, acc);
    walk_on(s, &k, acc, true);
    l_at_end(b, free);
    for (unsigned r = 0; r < s->p->sched.strip; r++)
        LLVMBuildStore(b, k.acc[r], sum_at(s, k.level, r));
    lv more = LLVMBuildNUWAdd(b, nblocks(s), l_int(s->w->m->i64, 1), "");
    LLVMBuildStore(b, more, s->red[0].state[0]);
}

/* The sums of all rows, left in memory: as rt/tile.c's end. */
void tr_strip_end(tr_lpat *s) {
    LLVMBuilderRef b = s->w->b;
    walk k;
    lv acc[TR_MAX_STRIP];
    unsigned n = s->p->sched.strip;
    lb some = tr_lower_block(s->w, ""), full = tr_lower_block(s->w, ""), next = tr_lower_block(s->w, ""),
       done = tr_lower_block(s->w, "");
    walk_begin(s, &k);
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntNE, k.bits, l_int(s->w->m->i64, 0)), some, done);
    l_at_end(b, some);
    LLVMBuildCondBr(b, is_occupied(s, &k), full, next);
    l_at_end(b, full);
    join_level(s, &k, acc);
    LLVMBuildBr(b, next);
    l_at_end(b, next);
    for (unsigned r = 0; r < n; r++) {
        lv x = LLVMBuildPhi(b, vector(s), "");
        l_incoming(x, k.acc[r], some);
        l_incoming(x, acc[r], full);
        acc[r] = x;
    }
    walk_on(s, &k, acc, false);
    l_at_end(b, done);
    for (unsigned r = 0; r < n; r++) {
        lv o = l_int(s->w->m->i64, r);
        LLVMBuildStore(b, k.acc[r], LLVMBuildInBoundsGEP2(b, vector(s), s->red[0].acc[0], &o, 1, ""));
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

/* Are the sums all that is stored, side by side along axis x? */
static bool are_stored_as_they_are(const tr_lpat *s, unsigned x) {
    const tr_pat *p = s->p;
    unsigned at = 0;
    for (unsigned i = 0; i < x; i++)
        at += p->keep >> i & 1;
    const tr_ins *y = tr_pat_yield(p->epi);
    return !s->lanes_mask && !p->nein && p->neout == 1 && y && tr_at(p->epi, y->args[0])->op == TR_OP_PARAM &&
           tr_param_index(p->epi, y->args[0]) == tr_pat_nkeep(p) && !s->earr[0].nontemporal &&
           s->earr[0].ty->elem == s->red[0].ty && is_number(s->earr[0].stride[at], 1);
}

/* As finish() does, where a row of the strip is one vector. */
static void store_rows(tr_lpat *s, unsigned y, lv row, lv left, lv from) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    tr_lloop down;
    tr_lloop_begin(s, &down, l_int(i64, 0), smaller(s, left, l_int(i64, s->p->sched.strip)));
    s->idx[y] = LLVMBuildNSWAdd(b, row, down.iv, "");
    s->idx[s->axis[s->ndim - 1]] = from;
    lv off = l_int(i64, 0);
    for (unsigned i = 0, k = 0; i < s->p->nspace; i++)
        if (s->p->keep >> i & 1)
            off = LLVMBuildNSWAdd(b, off, LLVMBuildNSWMul(b, s->idx[i], s->earr[0].stride[k++], ""), "");
    lv sum = LLVMBuildLoad2(b, vector(s),
                            LLVMBuildInBoundsGEP2(b, vector(s), s->red[0].acc[0], &down.iv, 1, ""), "");
    tr_lower_store_lanes(s->w, &s->earr[0], off, LLVMBuildFAdd(b, splat(s, s->red[0].init[0]), sum, ""));
    tr_lloop_end(s, &down, step(s, down.iv, 1));
}

/* The strip's sums from `row` and column `from` on have come to stand in memory. */
static void finish(tr_lpat *s, unsigned y, lv row, lv left, lv from) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64, t = LLVMTypeOf(s->red[0].init[0]);
    unsigned x = s->axis[s->ndim - 1];
    tr_lloop down, along;
    tr_lloop_begin(s, &down, l_int(i64, 0), smaller(s, left, l_int(i64, s->p->sched.strip)));
    tr_lloop_begin(s, &along, l_int(i64, 0), smaller(s, s->ext[x], l_int(i64, s->lanes)));
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
    LLVMBuildStore(s->w->b, l_int(i64, 0), s->red[0].state[0]);
    s->idx[s->axis[s->ndim - 1]] = from;
    s->carry[0] = l_int(i64, 0);
    for (unsigned r = 0; r < s->p->sched.strip; r++)
        s->carry[1 + r] = nothing(s);
    s->ncarry = 1 + s->p->sched.strip;
    tr_tile_sums(s, k + 1, from, len);
    if (s->p->epi && are_stored_as_they_are(s, s->axis[s->ndim - 1]))
        store_rows(s, s->axis[k], row, left, from);
    else if (s->p->epi)
        finish(s, s->axis[k], row, left, from);
}

/* Lane i is there where i < n. */
static lv mask_of(tr_lpat *s, lv n) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    lv at[TR_STRIP_BYTES], none = LLVMGetUndef(LLVMVectorType(i64, s->lanes)),
                           one = LLVMBuildInsertElement(b, none, n, l_int(s->w->m->i32, 0), "");
    for (unsigned i = 0; i < s->lanes; i++)
        at[i] = l_int(i64, i);
    one = LLVMBuildShuffleVector(b, one, none, LLVMConstNull(LLVMVectorType(s->w->m->i32, s->lanes)), "");
    return l_icmp(b, LLVMIntSLT, LLVMConstVector(at, s->lanes), one);
}

static void nest(tr_lpat *s, unsigned k) {
    assert(s->ncarry == 0);
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    lv first = k == 0 && s->first ? s->first : l_int(i64, 0),
       end = k == 0 && s->end ? s->end : s->ext[s->axis[k]], width = s->ext[s->axis[s->ndim - 1]],
       most = s->lanes_mask ? l_int(i64, 0) : l_sub(b, width, l_int(i64, s->lanes));
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

/* if (as wide as a strip) strips; else strips of fewer lanes. */
void tr_strip_nest(tr_lpat *s, unsigned k) {
    LLVMBuilderRef b = s->w->b;
    lb yes = tr_lower_block(s->w, ""), no = tr_lower_block(s->w, ""), go_on = tr_lower_block(s->w, "");
    lv width = s->ext[s->axis[s->ndim - 1]];
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntSGE, width, l_int(s->w->m->i64, s->lanes)), yes, no);
    l_at_end(b, yes);
    nest(s, k);
    LLVMBuildBr(b, go_on);
    l_at_end(b, no);
    s->lanes_mask = mask_of(s, width);
    nest(s, k);
    s->lanes_mask = NULL;
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
}
