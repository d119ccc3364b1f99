/* Reductions that leave the axis along which memory lies (loop interchange and tiling): `x.sum(axis=0)` of a
 * C array.
 *
 * Reducing each column on its own would jump through memory. Here as many columns as TR_TILE_BYTES hold are
 * reduced side by side: an accumulator in memory for each, and for every few rows a loop over the columns of
 * the tile, which walks memory in step and becomes vectors. A row's part in a tile is too short for the
 * processor to see it coming; several at a time keep it busy (four: 2.4 -> 1.3 ms for 32 MB). Sums of floats
 * are rt/tile.c's. The epilogue runs over the tile when all rows are done. */
#include "lower/pattern.h"

#include <assert.h>
#include <string.h>

void tr_tile_begin(tr_lpat *s) {
    assert(s->p->sched.tile && s->axis[s->ndim - 1] == s->p->sched.tile - 1 &&
           "the tile's axis is the last one");
    s->tiled = true;
    if (s->p->sched.strip)
        s->lanes = TR_STRIP_BYTES / tr_ty_size(s->red[0].ty);
}

/* --- arrays of which only the running program knows how they lie --- */

static bool is_open(const tr_lpat *s, const tr_larr *a) {
    return !a->repeats && !LLVMIsAConstantInt(a->stride[s->p->sched.tile - 1]);
}

lv tr_tile_condition(tr_lpat *s) {
    lv all = LLVMConstInt(s->w->m->i1, 1, 0), one = l_int(s->w->m->i64, 1);
    for (unsigned i = 0; i < s->p->nin; i++)
        if (is_open(s, &s->arr[i]))
            all =
                l_and(s->w->b, all, l_icmp(s->w->b, LLVMIntEQ, s->arr[i].stride[s->p->sched.tile - 1], one));
    return all;
}

void tr_tile_assume(tr_lpat *s) {
    for (unsigned i = 0; i < s->p->nin; i++)
        if (is_open(s, &s->arr[i]))
            s->arr[i].stride[s->p->sched.tile - 1] = l_int(s->w->m->i64, 1);
}

/* How many columns are reduced side by side. */
static unsigned width(const tr_lpat *s) {
    uint64_t most = sizeof(float);
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++)
        for (unsigned k = 0; k < tr_ty_nparts(s->red[i].ty); k++) {
            uint64_t bytes = tr_lower_bytes(s->w->m, LLVMTypeOf(s->red[i].init[k]));
            most = bytes > most ? bytes : most;
        }
    return (unsigned)(TR_TILE_BYTES / most);
}

void tr_tile_setup(tr_lpat *s) {
    tr_lf *w = s->w;
    if (s->lanes) {
        tr_strip_setup(s);
        return;
    }
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++) {
        tr_lred *r = &s->red[i];
        for (unsigned k = 0; k < tr_ty_nparts(r->ty); k++) {
            lt t = LLVMTypeOf(r->init[k]);
            r->acc[k] = tr_lower_buffer(w, width(s) * tr_lower_bytes(w->m, t), 64, "columns");
            if (r->cls != TR_REDS_BUFFERED)
                continue;
            size_t size = t == w->m->f32 ? sizeof(tr_tile_f32) : sizeof(tr_tile_f64);
            r->state[k] = tr_lower_buffer(w, size, 64, "sums");
        }
    }
}

/* --- accumulators --- */

static lv address(tr_lpat *s, const tr_lred *r, unsigned k, lv j) {
    tr_lm *m = s->w->m;
    lt t = LLVMTypeOf(r->init[k]);
    return LLVMBuildInBoundsGEP2(s->w->b, t == m->i1 ? m->i8 : t, r->acc[k], &j, 1, "");
}

static lv load(tr_lpat *s, const tr_lred *r, unsigned k, lv j) {
    tr_lf *w = s->w;
    lt t = LLVMTypeOf(r->init[k]);
    lv x = LLVMBuildLoad2(w->b, t == w->m->i1 ? w->m->i8 : t, address(s, r, k, j), "");
    return t == w->m->i1 ? l_icmp(w->b, LLVMIntNE, x, l_int(w->m->i8, 0)) : x;
}

static void store(tr_lpat *s, const tr_lred *r, unsigned k, lv j, lv x) {
    tr_lf *w = s->w;
    if (LLVMTypeOf(x) == w->m->i1)
        x = LLVMBuildZExt(w->b, x, w->m->i8, "");
    LLVMBuildStore(w->b, x, address(s, r, k, j));
}

static bool is_sum(const tr_lred *r) {
    return r->cls == TR_REDS_BUFFERED;
}

static void each_sum(tr_lpat *s, unsigned f64, unsigned f32, lv len) {
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++) {
        const tr_lred *r = &s->red[i];
        for (unsigned k = 0; is_sum(r) && k < tr_ty_nparts(r->ty); k++)
            tr_lower_rt(s->w, LLVMTypeOf(r->init[k]) == s->w->m->f32 ? f32 : f64, 3,
                        (lv[]){r->state[k], r->acc[k], len}, NULL, NULL);
    }
}

/* --- loops --- */

static lv up(tr_lpat *s, lv i) {
    return LLVMBuildNUWAdd(s->w->b, i, l_int(s->w->m->i64, 1), "");
}

static void begin(tr_lpat *s, lv len) {
    tr_lloop l;
    each_sum(s, TR_RT_TILE_CLEAR_F64, TR_RT_TILE_CLEAR_F32, len);
    tr_lloop_begin(s, &l, l_int(s->w->m->i64, 0), len);
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++)
        for (unsigned k = 0; k < tr_ty_nparts(s->red[i].ty) && !is_sum(&s->red[i]); k++)
            store(s, &s->red[i], k, l.iv, s->red[i].init[k]);
    tr_lloop_end(s, &l, up(s, l.iv));
}

/* Contributions of one element to what one column's accumulators hold. */
static void add(tr_lpat *s, const lv *parts) {
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++) {
        const tr_lred *r = &s->red[i];
        unsigned n = tr_ty_nparts(r->ty);
        if (is_sum(r))
            for (unsigned k = 0; k < n; k++)
                s->held[r->carry + k] = LLVMBuildFAdd(s->w->b, s->held[r->carry + k], parts[k], "");
        else
            tr_red_join(s, i, parts);
        parts += n;
    }
}

/* The elements of column j in n rows from `row` on, level k, their contributions added to the column's
 * accumulators. */
static void contribute(tr_lpat *s, unsigned k, lv row, unsigned n, lv j) {
    LLVMBuilderRef b = s->w->b;
    unsigned saved = s->ncarry;
    s->ncarry = 0;
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++) {
        s->red[i].carry = s->ncarry;
        for (unsigned c = 0; c < tr_ty_nparts(s->red[i].ty); c++)
            s->held[s->ncarry++] = load(s, &s->red[i], c, j);
    }
    lv *carry = s->carry, *parts = TR_NEW_N(&s->w->m->ctx->arena, lv, tr_red_room(s->p));
    s->carry = s->held;
    for (unsigned r = 0; r < n; r++) {
        s->idx[s->axis[k]] = r ? LLVMBuildNSWAdd(b, row, l_int(s->w->m->i64, r), "") : row;
        tr_lower_advance(s, k);
        tr_lower_advance(s, k + 1);
        tr_lower_element(s, parts);
        add(s, parts);
    }
    s->carry = carry;
    s->ncarry = saved;
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++)
        for (unsigned c = 0; c < tr_ty_nparts(s->red[i].ty); c++)
            store(s, &s->red[i], c, j, s->held[s->red[i].carry + c]);
}

/* --- rows --- */

enum { GROUP = TR_TILE_GROUP };

/* Are there enough rows in the accumulators for a block? It ends where a group of rows does, or with any row
 * after the last group, those from `left` on: groups that are walked row by row make the same sums. */
static lv ends_block(tr_lpat *s, lv count, lv row, unsigned n, lv left) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    lv enough = l_icmp(b, LLVMIntSGE, count, l_int(i64, TR_TILE_ROWS));
    if (n == GROUP)
        return enough;
    lv last = l_icmp(b, LLVMIntEQ, l_and(b, row, l_int(i64, GROUP - 1)), l_int(i64, GROUP - 1));
    return l_and(b, enough, l_or(b, last, l_icmp(b, LLVMIntSGE, row, left)));
}

static void columns(tr_lpat *s, unsigned k, lv row, unsigned n, lv from, lv len) {
    tr_lloop l;
    s->ncarry = 0;
    tr_lloop_begin(s, &l, l_int(s->w->m->i64, 0), len);
    s->idx[s->axis[k + 1]] = LLVMBuildNSWAdd(s->w->b, from, l.iv, "");
    contribute(s, k, row, n, l.iv);
    tr_lloop_end(s, &l, up(s, l.iv));
    s->ncarry = 1;
}

/* n rows from `row` on, level k; carry[0] counts those in the accumulators. */
static void group(tr_lpat *s, unsigned k, lv row, unsigned n, lv left, lv from, lv len) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    lv count = s->carry[0];
    columns(s, k, row, n, from, len);
    count = LLVMBuildNUWAdd(b, count, l_int(i64, n), "");
    lb here = l_here(b), full = tr_lower_block(s->w, ""), go_on = tr_lower_block(s->w, "");
    LLVMBuildCondBr(b, ends_block(s, count, row, n, left), full, go_on);
    l_at_end(b, full);
    each_sum(s, TR_RT_TILE_ADD_F64, TR_RT_TILE_ADD_F32, len);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
    s->carry[0] = LLVMBuildPhi(b, i64, "");
    l_incoming(s->carry[0], count, here);
    l_incoming(s->carry[0], l_int(i64, 0), full);
}

/* A strip has rows enough: row by row up to where the block ends that is in the accumulators, from there to
 * the end of the next one. */
static void last_of_strip(tr_lpat *s, unsigned k) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    lv end = s->ext[s->axis[k]], left = s->left, one = l_int(i64, 1);
    tr_lloop l, rows;
    tr_lloop_begin(s, &l, l_int(i64, 0), end);
    /* as ends_block() has it */
    lv lack = l_sub(b, l_int(i64, TR_TILE_ROWS), s->carry[0]);
    lack = l_select(b, l_icmp(b, LLVMIntSGT, lack, one), lack, one);
    lv last = l_sub(b, LLVMBuildNSWAdd(b, l.iv, lack, ""), one),
       whole = LLVMBuildOr(b, last, l_int(i64, GROUP - 1), "");
    lv stop = LLVMBuildNSWAdd(b, l_select(b, l_icmp(b, LLVMIntSGE, last, left), last, whole), one, ""),
       ends = l_icmp(b, LLVMIntSLE, stop, end), to = l_select(b, ends, stop, end),
       count = LLVMBuildNSWAdd(b, s->carry[0], l_sub(b, to, l.iv), "");
    tr_lloop_begin(s, &rows, l.iv, to);
    tr_strip_add(s, k, rows.iv);
    tr_lloop_end(s, &rows, up(s, rows.iv));
    lb here = l_here(b), full = tr_lower_block(s->w, ""), go_on = tr_lower_block(s->w, "");
    LLVMBuildCondBr(b, ends, full, go_on);
    l_at_end(b, full);
    tr_strip_block(s);
    full = l_here(b);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
    s->carry[0] = LLVMBuildPhi(b, i64, "");
    l_incoming(s->carry[0], count, here);
    l_incoming(s->carry[0], l_int(i64, 0), full);
    tr_strip_meet(s, here, full);
    tr_lloop_end(s, &l, to);
}

/* The last reduced axis, level k: groups of rows, then what is left. */
static void last_axis(tr_lpat *s, unsigned k, lv from, lv len) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    lv end = s->ext[s->axis[k]], left = l_and(b, end, l_int(i64, -GROUP)), done = l_int(i64, 0);
    tr_lloop l;
    if (s->lanes) {
        last_of_strip(s, k);
        return;
    }
    if (s->p->sched.rows == GROUP) {
        tr_lloop_begin(s, &l, done, left);
        group(s, k, l.iv, GROUP, left, from, len);
        tr_lloop_end(s, &l, LLVMBuildNUWAdd(b, l.iv, l_int(i64, GROUP), ""));
        done = left;
    }
    tr_lloop_begin(s, &l, done, end);
    group(s, k, l.iv, 1, left, from, len);
    tr_lloop_end(s, &l, up(s, l.iv));
}

static void rows(tr_lpat *s, unsigned k, lv from, lv len) {
    if (k + 2 == s->ndim) {
        last_axis(s, k, from, len);
        return;
    }
    tr_lloop l;
    tr_lloop_begin(s, &l, l_int(s->w->m->i64, 0), s->ext[s->axis[k]]);
    s->idx[s->axis[k]] = l.iv;
    tr_lower_advance(s, k);
    rows(s, k + 1, from, len);
    tr_lloop_end(s, &l, up(s, l.iv));
}

static void finish(tr_lpat *s, lv from, lv len) {
    lv *out = TR_NEW_N(&s->w->m->ctx->arena, lv, tr_red_room(s->p));
    tr_lloop l;
    unsigned n = 0;
    if (!s->p->epi)
        return;
    tr_lloop_begin(s, &l, l_int(s->w->m->i64, 0), len);
    s->idx[s->axis[s->ndim - 1]] = LLVMBuildNSWAdd(s->w->b, from, l.iv, "");
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++)
        for (unsigned k = 0; k < tr_ty_nparts(s->red[i].ty); k++) {
            lv x = load(s, &s->red[i], k, l.iv);
            out[n++] = is_sum(&s->red[i]) ? LLVMBuildFAdd(s->w->b, s->red[i].init[k], x, "") : x;
        }
    tr_lower_epilogue(s, out, n);
    tr_lloop_end(s, &l, up(s, l.iv));
}

void tr_tile_sums(tr_lpat *s, unsigned k, lv from, lv len) {
    rows(s, k, from, len);
    if (s->lanes)
        tr_strip_end(s);
    else
        each_sum(s, TR_RT_TILE_END_F64, TR_RT_TILE_END_F32, len);
    s->ncarry = 0;
}

static void tiles(tr_lpat *s, unsigned k) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    lv first = k == 0 && s->first ? s->first : l_int(i64, 0), step = l_int(i64, width(s));
    lv end = k == 0 && s->end ? s->end : s->ext[s->axis[s->ndim - 1]];
    tr_lloop l;
    tr_lloop_begin(s, &l, first, end);
    lv left = l_sub(b, end, l.iv), len = l_select(b, l_icmp(b, LLVMIntSLT, left, step), left, step);
    begin(s, len);
    s->ncarry = 1;
    s->carry[0] = l_int(i64, 0);
    tr_tile_sums(s, k, l.iv, len);
    finish(s, l.iv, len);
    tr_lloop_end(s, &l, LLVMBuildNSWAdd(b, l.iv, step, ""));
}

static void kept(tr_lpat *s, unsigned k) {
    if (s->lanes && k + 2 == tr_pat_nkeep(s->p)) {
        tr_strip_nest(s, k);
        return;
    }
    if (k + 1 == tr_pat_nkeep(s->p)) {
        tiles(s, k);
        return;
    }
    lt i64 = s->w->m->i64;
    tr_lloop l;
    tr_lloop_begin(s, &l, k == 0 && s->first ? s->first : l_int(i64, 0),
                   k == 0 && s->end ? s->end : s->ext[s->axis[k]]);
    s->idx[s->axis[k]] = l.iv;
    tr_lower_advance(s, k);
    kept(s, k + 1);
    tr_lloop_end(s, &l, up(s, l.iv));
}

/* The last two reduced axes of strips are walked as one where they lie so in every array, and where blocks
 * end at the same rows then: with fewer rows than a group anywhere, with whole groups as ends_block() has
 * it. */
static void flatten(tr_lpat *s) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    unsigned z = s->axis[s->ndim - 2], y = s->axis[s->ndim - 3];
    lv n = s->ext[z], none = l_int(i64, 0), few = l_icmp(b, LLVMIntSLT, n, l_int(i64, GROUP));
    if (s->ndim - tr_pat_nkeep(s->p) > 1) {
        lv groups = l_icmp(b, LLVMIntEQ, l_and(b, n, l_int(i64, GROUP - 1)), none),
           flat = LLVMBuildOr(b, few, groups, "");
        for (unsigned a = 0; a < s->p->nin; a++) {
            lv whole = LLVMBuildMul(b, n, s->arr[a].stride[z], "");
            flat = l_and(b, flat, l_icmp(b, LLVMIntEQ, s->arr[a].stride[y], whole));
        }
        s->ext[z] = l_select(b, flat, LLVMBuildMul(b, n, s->ext[y], ""), n);
        s->ext[y] = l_select(b, flat, l_int(i64, 1), s->ext[y]);
    }
    s->left = l_select(b, few, none, l_and(b, s->ext[z], l_int(i64, -GROUP)));
}

void tr_tile_nest(tr_lpat *s) {
    if (s->lanes)
        flatten(s);
    s->held = TR_NEW_N(&s->w->m->ctx->arena, lv, tr_most_carried(s->p));
    s->ncarry = 0;
    kept(s, 0);
}
