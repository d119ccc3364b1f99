/* The pattern node as loops: the index space in C order, kept axes first, the lambda in the innermost loop.
 *
 * Where all arrays are C (or all F, if the order does not matter) and the lambda does not ask for
 * indices, the space is walked as one line. Reductions are red.c's; a contiguous array's own elements are
 * added up where they lie, with the same bits. With kept axes the reductions begin and end at each of
 * their indices, and the epilogue follows.
 * Cost: one loop nest per pattern; each function is lowered once. */
#include "base/plant.h"
#include "ir/summary.h"
#include "lower/pattern.h"

#include <assert.h>
#include <string.h>

enum { PREFETCH = 4096 };

/* --- a counted loop that carries values --- */

void tr_lloop_begin(tr_lpat *s, tr_lloop *l, lv start, lv n) {
    assert(LLVMTypeOf(start) == LLVMTypeOf(n) && s->ncarry <= tr_most_carried(s->p));
    LLVMBuilderRef b = s->w->b;
    lb from = l_here(b), body = tr_lower_block(s->w, "");
    l->head = tr_lower_block(s->w, "loop");
    l->exit = tr_lower_block(s->w, "");
    LLVMMoveBasicBlockBefore(l->head, body);
    l->nmath = s->w->nmath;
    LLVMBuildBr(b, l->head);
    l_at_end(b, l->head);
    l->iv = LLVMBuildPhi(b, s->w->m->i64, "");
    l_incoming(l->iv, start, from);
    l->phis = TR_NEW_N(&s->w->m->ctx->arena, lv, s->ncarry + 1u);
    for (unsigned i = 0; i < s->ncarry; i++) {
        l->phis[i] = LLVMBuildPhi(b, LLVMTypeOf(s->carry[i]), "");
        l_incoming(l->phis[i], s->carry[i], from);
        s->carry[i] = l->phis[i];
    }
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntSLT, l->iv, n), body, l->exit);
    l_at_end(b, body);
}

/* Rows are often short: those that are reduced, and those of loops in loops that carry
 * nothing (mark_rows in loops.c), be the loop around them the pattern's own or one that it
 * stands in. Iterations of a prange are many. */
static bool goes_by_rows(const tr_lpat *s) {
    const tr_lbody *body = s->w->body;
    if (s->open && s->p->keep)
        return true;
    return !s->ncarry && s->p->par != TR_PAR_PRANGE &&
           (s->ndim > 1 || tr_lower_in_loop(s->w, tr_at(body->f, s->v)->blk));
}

void tr_lloop_end(tr_lpat *s, tr_lloop *l, lv next) {
    LLVMBuilderRef b = s->w->b;
    lb from = l_here(b);
    l_incoming(l->iv, next, from);
    for (unsigned i = 0; i < s->ncarry; i++) {
        l_incoming(l->phis[i], s->carry[i], from);
        s->carry[i] = l->phis[i];
    }
    lv back = LLVMBuildBr(b, l->head);
    bool one = s->w->nmath != l->nmath || goes_by_rows(s);
    unsigned marks = s->p->sched.scalar ? TR_LOOP_COLD : s->mark ? s->mark : one ? TR_LOOP_ONE : 0;
    if (s->p->apart)
        marks |= TR_LOOP_APART;
    if (marks)
        LLVMSetMetadata(back, s->w->m->kind_loop, tr_lower_loop_mark(s->w->m, marks));
    LLVMMoveBasicBlockAfter(l->exit, from);
    l_at_end(b, l->exit);
}

static lv next_of(const tr_lpat *s, lv i) {
    lv one = l_int(s->w->m->i64, 1);
    return LLVMBuildNUWAdd(s->w->b, i, one, "");
}

/* --- one element --- */

static bool is_one(lv x) {
    return LLVMIsAConstantInt(x) && LLVMConstIntGetSExtValue(x) == 1;
}

/* Array number i as it is read and written now. */
static const tr_larr *array(const tr_lpat *s, unsigned i) {
    return s->chunk && s->chunk[i].used ? &s->chunk[i].now : &s->arr[i];
}

/* Elements of n arrays at the given offsets; the number of parts. */
static unsigned load_elements(tr_lpat *s, const tr_larr *arr, const lv *off, unsigned n, lv *out) {
    unsigned k = 0;
    for (unsigned i = 0; i < n; i++) {
        tr_lower_load_at(s->w, &arr[i], off[i], out + k);
        k += tr_ty_nparts(arr[i].ty->elem);
    }
    return k;
}

static const lv *store_elements(tr_lpat *s, const tr_larr *arr, const lv *off, unsigned n, const lv *y) {
    for (unsigned i = 0; i < n; i++) {
        tr_lower_store_at(s->w, &arr[i], off[i], y);
        y += tr_ty_nparts(arr[i].ty->elem);
    }
    return y;
}

/* Past what elements of n arrays consist of. */
static const lv *skip_elements(const tr_larr *arr, unsigned n, const lv *y) {
    for (unsigned i = 0; i < n; i++)
        y += tr_ty_nparts(arr[i].ty->elem);
    return y;
}

unsigned tr_red_parts(const tr_lpat *s) {
    unsigned n = 0;
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++)
        n += tr_ty_nparts(s->red[i].ty);
    return n;
}

/* The packed array, or where the element is not wanted a place of the thread's own: the next
 * one's may be another thread's already. */
static tr_larr own_place(tr_lpat *s, unsigned i, lv wanted) {
    tr_larr a = s->filt[i];
    if (!s->scratch[i])
        s->scratch[i] = tr_lower_alloca(s->w, LLVMArrayType2(s->w->m->i64, 2), "unwanted");
    a.data = l_select(s->w->b, wanted, a.data, s->scratch[i]);
    return a;
}

/* Where the scan stands, wanted or not: no branch. Returns the contributions; once the
 * scratch place is reached nothing counts. */
static const lv *pack_elements(tr_lpat *s, const lv *y) {
    LLVMBuilderRef b = s->w->b;
    lv zero = l_int(s->w->m->i64, 0), at = s->carry[s->red[0].carry];
    const lv *reds = skip_elements(s->filt, s->p->nfilt, y);
    lv *left = tr_arena_copy(&s->w->m->ctx->arena, reds, tr_red_parts(s) * sizeof *y);
    left[0] = l_select(b, l_icmp(b, LLVMIntSLT, at, s->last), left[0], zero);
    lv wanted = s->shared ? l_icmp(b, LLVMIntNE, left[0], zero) : NULL;
    lv to = wanted ? l_select(b, wanted, at, zero) : at;
    for (unsigned i = 0; i < s->p->nfilt; i++) {
        tr_larr own = wanted ? own_place(s, i, wanted) : s->filt[i];
        y = store_elements(s, &own, &to, 1, y);
    }
    return left;
}

bool tr_lower_is_side_by_side(const tr_lpat *s, unsigned a) {
    return s->line || is_one(s->arr[a].stride[s->axis[s->ndim - 1]]);
}

lv tr_lower_offset_of(const tr_lpat *s, const tr_larr *a, const lv *idx) {
    LLVMBuilderRef b = s->w->b;
    lv off = l_int(s->w->m->i64, 0);
    for (unsigned k = 0; k < a->ty->ndim; k++) {
        lv step = is_one(a->stride[k]) ? idx[k] : LLVMBuildNSWMul(b, idx[k], a->stride[k], "");
        off = k ? LLVMBuildNSWAdd(b, off, step, "") : step;
    }
    return off;
}

static lv mark_at(tr_lpat *s, lv off) {
    return LLVMBuildGEP2(s->w->b, s->w->m->i8, s->marks, &off, 1, "");
}

/* What is in a place and y as one; a table has something where it is marked. */
static void join_at(tr_lpat *s, const tr_lred *r, lv off, lv *now, const lv *y) {
    LLVMBuilderRef b = s->w->b;
    lt i8 = s->w->m->i8;
    if (s->marks && r->join) {
        lv has = l_icmp(b, LLVMIntNE, LLVMBuildLoad2(b, i8, mark_at(s, off), ""), l_int(i8, 0));
        tr_join_if(s->w, r->join, s->caps, has, now, y, y, now);
    } else {
        tr_red_combine(s, r, now, y);
    }
}

void tr_lower_scatter(tr_lpat *s, const lv *y) {
    for (unsigned i = 0; i < s->p->nscat; i++) {
        const tr_larr *a = &s->scat[i];
        lv off = tr_lower_offset_of(s, a, y), now[2];
        if (s->part) {
            tr_spread_part(s, off, y);
            return;
        }
        y += a->ty->ndim;
        if (tr_pat_scatter(s->p, i) != TR_SCATTER_PUT) {
            tr_lower_load_at(s->w, a, off, now);
            join_at(s, &s->how[i], off, now, y);
        }
        tr_lower_store_at(s->w, a, off, tr_pat_scatter(s->p, i) == TR_SCATTER_PUT ? y : now);
        if (s->marks)
            LLVMBuildStore(s->w->b, l_int(s->w->m->i8, 1), mark_at(s, off));
        y += tr_ty_nparts(a->ty->elem);
    }
}

/* Stores at computed places keep a core from running ahead to what it loads: the inputs are
 * asked for PREFETCH bytes before. */
static void ask_for_inputs(tr_lpat *s, const lv *off) {
    LLVMBuilderRef b = s->w->b;
    tr_lm *m = s->w->m;
    for (unsigned i = 0; i < s->p->nin && !s->chunk; i++) {
        const tr_larr *a = &s->arr[i];
        lv ahead = l_int(m->i64, PREFETCH);
        if (!s->line && !is_one(a->stride[s->axis[s->ndim - 1]]))
            continue;
        lv at = LLVMBuildGEP2(b, tr_lower_unit(m, a->ty), a->data, (lv *)&off[i], 1, "");
        at = LLVMBuildGEP2(b, m->i8, at, &ahead, 1, "");
        lv args[] = {at, l_int(m->i32, 0), l_int(m->i32, 3), l_int(m->i32, 1)};
        tr_lower_intrinsic(s->w, "llvm.prefetch", m->ptr, 4, args);
    }
}

/* For running values that no contribution looks at. */
static unsigned nothing_known(const tr_lpat *s, lv *out) {
    unsigned n = 0;
    for (unsigned i = 0; i < s->p->nscan; i++)
        for (unsigned k = 0; k < tr_ty_nparts(s->red[i].ty); k++)
            out[n++] = LLVMConstNull(LLVMTypeOf(s->red[i].init[k]));
    return n;
}

unsigned tr_lower_given(tr_lpat *s, lv *params) {
    const tr_pat *p = s->p;
    const lv *off = s->off + s->ndim * s->narr;
    unsigned n = 0;
    for (unsigned i = 0; i < p->nspace; i++)
        params[n++] = s->line ? l_int(s->w->m->i64, 0) : s->idx[i]; /* as one line: not used */
    for (unsigned i = 0; i < p->nin; i++)
        n += load_elements(s, array(s, i), &off[i], 1, params + n);
    return n;
}

const lv *tr_lower_outputs(tr_lpat *s, const lv *y) {
    const lv *off = s->off + s->ndim * s->narr;
    for (unsigned i = s->p->nin; i < s->narr; i++)
        y = s->totals ? skip_elements(array(s, i), 1, y) : store_elements(s, array(s, i), &off[i], 1, y);
    return y;
}

static const lv *contributed(const tr_lpat *s, const lv *y) {
    return skip_elements(s->filt, s->p->nfilt, skip_elements(s->arr + s->p->nin, s->p->nout, y));
}

void tr_lower_element(tr_lpat *s, lv *out) {
    assert(s->w->body);
    tr_lf *w = s->w;
    const tr_pat *p = s->p;
    lv *params = TR_NEW_N(&w->m->ctx->arena, lv, p->nspace + 2u * p->nin + 4u * p->nscan + s->ncaps + 1u);
    unsigned n = tr_lower_given(s, params);
    n += s->totals ? nothing_known(s, params + n) : tr_red_running(s, params + n);
    memcpy(params + n, s->caps, s->ncaps * sizeof *params);
    if (p->ntable)
        tr_table_enter(s, params + n);
    const lv *y = tr_lower_lambda(w, p->lam, s->loc, params);
    if (p->ntable)
        tr_table_leave(s);
    if (s->after) {
        tr_scan_step(s, contributed(s, y), params + n + s->ncaps);
        if (!s->totals)
            y = tr_lower_lambda(w, s->after, s->loc, params);
    }
    y = tr_lower_outputs(s, y);
    n = tr_red_parts(s);
    const lv *scattered = skip_elements(s->filt, p->nfilt, y) + n;
    if (p->nfilt)
        y = s->totals ? skip_elements(s->filt, p->nfilt, y) : pack_elements(s, y);
    if (!s->totals && s->later) {
        tr_fission_hold(s, scattered);
    } else if (!s->totals && p->nscat) {
        ask_for_inputs(s, s->off + s->ndim * s->narr);
        tr_lower_scatter(s, scattered);
    }
    if (out)
        memcpy(out, y, n * sizeof *out);
    else
        tr_red_step(s, y);
}

void tr_lower_epilogue(tr_lpat *s, const lv *reduced, unsigned nreduced) {
    tr_lf *w = s->w;
    LLVMBuilderRef b = w->b;
    const tr_pat *p = s->p;
    tr_arena *a = &w->m->ctx->arena;
    unsigned narr = (unsigned)p->nein + p->neout, nkeep = tr_pat_nkeep(p), n = 0;
    lv *off = TR_NEW_N(a, lv, narr + 1u);
    lv *params = TR_NEW_N(a, lv, nkeep + nreduced + 2u * p->nein + s->ncaps + 1u);
    for (unsigned i = 0; i < narr; i++) {
        off[i] = l_int(w->m->i64, 0);
        for (unsigned x = 0, k = 0; x < p->nspace; x++)
            if (p->keep >> x & 1)
                off[i] =
                    LLVMBuildNSWAdd(b, off[i], LLVMBuildNSWMul(b, s->idx[x], s->earr[i].stride[k++], ""), "");
    }
    for (unsigned x = 0; x < p->nspace; x++)
        if (p->keep >> x & 1)
            params[n++] = s->idx[x];
    memcpy(params + n, reduced, nreduced * sizeof *params);
    n += nreduced;
    n += load_elements(s, s->earr, off, p->nein, params + n);
    memcpy(params + n, s->caps, s->ncaps * sizeof *params);
    const lv *y = tr_lower_lambda(w, p->epi, s->loc, params);
    if (tr_plant(w->m->ctx, TR_PLANT_EPILOGUE) && p->neout == 1 && LLVMTypeOf(*y) == LLVMTypeOf(*reduced))
        y = reduced;
    store_elements(s, s->earr + p->nein, off + p->nein, p->neout, y);
}

/* --- loops --- */

/* Those of level k plus the axis' index times its stride. */
void tr_lower_advance(tr_lpat *s, unsigned k) {
    assert(k < s->ndim);
    LLVMBuilderRef b = s->w->b;
    unsigned x = s->axis[k];
    for (unsigned a = 0; a < s->narr; a++) {
        lv before = s->off[k * s->narr + a], stride = s->line ? NULL : s->arr[a].stride[x], step = s->idx[x];
        if (stride && !(LLVMIsAConstantInt(stride) && LLVMConstIntGetSExtValue(stride) == 1))
            step = LLVMBuildNSWMul(b, step, stride, "");
        s->off[(k + 1) * s->narr + a] = k ? LLVMBuildNSWAdd(b, before, step, "") : step;
    }
}

/* x where cond holds (NULL: it does), else y. */
static lv either(const tr_lpat *s, lv cond, lv x, lv y) {
    return cond ? l_select(s->w->b, cond, x, y) : x;
}

/* Where the loop of level k begins and ends. Of a range of elements the first rows and the last are parts. */
lv tr_lower_first(const tr_lpat *s, unsigned k) {
    if (s->low)
        return either(s, s->begins, s->low[k], l_int(s->w->m->i64, 0));
    if (s->from && k + 1 == s->ndim)
        return s->from;
    return k == 0 && s->first ? s->first : l_int(s->w->m->i64, 0);
}

lv tr_lower_last(const tr_lpat *s, unsigned k) {
    if (s->high)
        return either(s, s->ends, next_of(s, s->high[k]), s->ext[s->axis[k]]);
    if (s->to && k + 1 == s->ndim)
        return s->to;
    return k == 0 && s->end ? s->end : s->ext[s->axis[k]];
}

/* if (full) { flush; } */
static void flush_if(tr_lpat *s, lv cond) {
    LLVMBuilderRef b = s->w->b;
    lb from = l_here(b), full = tr_lower_block(s->w, ""), go_on = tr_lower_block(s->w, "");
    lv fill = s->carry[s->fill];
    LLVMBuildCondBr(b, cond, full, go_on);
    l_at_end(b, full);
    tr_red_flush(s);
    lb end = l_here(b);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
    lv p = LLVMBuildPhi(b, s->w->m->i64, "");
    l_incoming(p, fill, from);
    l_incoming(p, s->carry[s->fill], end);
    s->carry[s->fill] = p;
}

/* The innermost axis in stretches that end where the buffers are full. */
static void stretches(tr_lpat *s, const tr_nest *n) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    unsigned k = n->level, x = s->axis[k];
    tr_lloop outer, inner;
    lv zero = l_int(i64, 0), end = tr_lower_last(s, k);
    assert(n->n == TR_SUM_BLOCK && "as long as the buffers");
    tr_lloop_begin(s, &outer, tr_lower_first(s, k), end);
    lv room = l_sub(b, l_int(i64, n->n), s->carry[s->fill]), left = l_sub(b, end, outer.iv);
    lv len = l_select(b, l_icmp(b, LLVMIntSLT, left, room), left, room);
    lv fill = s->carry[s->fill];
    /* Not carried but a sum, so that LLVM sees the buffer walked in step with the arrays. */
    s->ncarry--;
    if (n->in->kind == TR_NEST_UNROLL) {
        tr_unroll_loops(s, n->in, outer.iv, LLVMBuildNSWAdd(b, outer.iv, len, ""), fill);
    } else {
        tr_lloop_begin(s, &inner, zero, len);
        s->idx[x] = LLVMBuildNSWAdd(b, outer.iv, inner.iv, "");
        s->carry[s->fill] = LLVMBuildNSWAdd(b, fill, inner.iv, "");
        tr_lower_advance(s, k);
        tr_lower_walk(s, n->in->in);
        tr_lloop_end(s, &inner, next_of(s, inner.iv));
    }
    s->ncarry++;
    s->carry[s->fill] = LLVMBuildNSWAdd(b, fill, len, "");
    lv next = LLVMBuildNSWAdd(b, outer.iv, len, "");
    flush_if(s, l_icmp(b, LLVMIntEQ, s->carry[s->fill], l_int(i64, n->n)));
    tr_lloop_end(s, &outer, next);
}

/* Offsets of the innermost level, j elements into a chunk. */
static void chunk_offsets(tr_lpat *s, unsigned k, lv j) {
    tr_lower_advance(s, k);
    for (unsigned i = 0; i < s->narr; i++)
        if (s->chunk[i].used)
            s->off[(k + 1) * s->narr + i] = j;
}

/* The innermost axis in chunks; with buffers of sums a chunk ends where they are full, too. */
static void chunks(tr_lpat *s, const tr_nest *n) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    unsigned k = n->level, x = s->axis[k];
    bool sums = n->sums;
    lv zero = l_int(i64, 0), end = tr_lower_last(s, k), first = tr_lower_first(s, k), fill = NULL;
    lv limit = tr_chunk_begin(s, k, l_sub(b, end, first));
    tr_lloop outer, inner;
    tr_lloop_begin(s, &outer, first, end);
    lv left = l_sub(b, end, outer.iv);
    if (sums) {
        fill = s->carry[s->fill];
        lv room = l_sub(b, l_int(i64, TR_SUM_BLOCK), fill);
        bool small = s->p->sched.chunk < TR_SUM_BLOCK; /* so users say; a chunk of ours is never full first */
        limit = small ? l_select(b, l_icmp(b, LLVMIntSLT, room, limit), room, limit) : room;
    }
    lv len = l_select(b, l_icmp(b, LLVMIntSLT, left, limit), left, limit);
    tr_chunk_enter(s, k, outer.iv, len);
    s->ncarry -= sums; /* as in stretches */
    tr_lloop_begin(s, &inner, zero, len);
    s->idx[x] = LLVMBuildNSWAdd(b, outer.iv, inner.iv, "");
    if (sums)
        s->carry[s->fill] = LLVMBuildNSWAdd(b, fill, inner.iv, "");
    chunk_offsets(s, k, inner.iv);
    tr_lower_walk(s, n->in);
    tr_lloop_end(s, &inner, next_of(s, inner.iv));
    s->ncarry += sums;
    if (sums)
        s->carry[s->fill] = LLVMBuildNSWAdd(b, fill, len, "");
    tr_chunk_leave(s, len);
    lv next = LLVMBuildNSWAdd(b, outer.iv, len, "");
    if (sums)
        flush_if(s, l_icmp(b, LLVMIntEQ, s->carry[s->fill], l_int(i64, TR_SUM_BLOCK)));
    tr_lloop_end(s, &outer, next);
}

/* The reductions of what is inside, and what they come to; how many parts. */
static unsigned reduce(tr_lpat *s, const tr_nest *n, lv *out) {
    assert(n->kind == TR_NEST_REDUCE && !s->open);
    s->open = true;
    tr_red_begin(s);
    tr_lower_walk(s, n->in);
    unsigned parts = tr_red_end(s, out);
    s->open = false;
    s->ncarry = 0;
    return parts;
}

/* The reductions at one index of the kept axes. */
static void row(tr_lpat *s, const tr_nest *n) {
    lv *out = TR_NEW_N(&s->w->m->ctx->arena, lv, tr_red_room(s->p));
    unsigned parts =
        n->in->kind == TR_NEST_SHORT ? tr_few_or_more(s, n->in, reduce, out) : reduce(s, n->in, out);
    if (n->by)
        tr_lower_epilogue(s, out, parts);
}

/* The outermost loop over kept axes, or over the others, has no turn where one inside has none: an
 * array without items may have 2^40 rows. */
static lv turns(const tr_lpat *s, unsigned k) {
    LLVMBuilderRef b = s->w->b;
    unsigned kept = tr_pat_nkeep(s->p), end = k < kept ? kept : s->ndim;
    lv n = tr_lower_last(s, k), zero = l_int(s->w->m->i64, 0);
    if (k == 0 || k == kept)
        for (unsigned l = k + 1; l < end; l++)
            n = l_select(b, l_icmp(b, LLVMIntEQ, s->ext[s->axis[l]], zero), zero, n);
    return n;
}

/* Are all reductions at what absorbs the rest? */
static lv is_settled(const tr_lpat *s) {
    lv all = NULL;
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++) {
        const tr_lred *r = &s->red[i];
        lv x = s->carry[r->carry];
        lv there = tr_red_info[r->kind].absorbs == TR_START_ONES ? x : LLVMBuildNot(s->w->b, x, "");
        assert(r->cls == TR_REDS_CARRIED && LLVMTypeOf(x) == s->w->m->i1);
        all = all ? LLVMBuildAnd(s->w->b, all, there, "") : there;
    }
    return all;
}

/* The innermost axis in strips; none follows once nothing can change any more. */
static void strips_until_settled(tr_lpat *s, const tr_nest *n, lv end) {
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    unsigned k = n->level;
    lv first = tr_lower_first(s, k), most = l_int(i64, n->n);
    tr_lloop outer, inner;
    tr_lloop_begin(s, &outer, l_select(b, is_settled(s), end, first), end);
    lv left = l_sub(b, end, outer.iv), len = l_select(b, l_icmp(b, LLVMIntSLT, left, most), left, most);
    tr_lloop_begin(s, &inner, l_int(i64, 0), len);
    s->idx[s->axis[k]] = LLVMBuildNSWAdd(b, outer.iv, inner.iv, "");
    tr_lower_advance(s, k);
    tr_lower_walk(s, n->in);
    tr_lloop_end(s, &inner, next_of(s, inner.iv));
    lv next = l_select(b, is_settled(s), end, LLVMBuildNSWAdd(b, outer.iv, len, ""));
    tr_lloop_end(s, &outer, next);
}

static lv and_at(const tr_lpat *s, lv cond, lv i, lv at) {
    lv there = l_icmp(s->w->b, LLVMIntEQ, i, at);
    return cond ? l_and(s->w->b, cond, there) : there;
}

/* An axis whose rounds are plain: one after the other, several written out, or in strips. */
static void axis(tr_lpat *s, const tr_nest *n) {
    unsigned k = n->level;
    lv end = turns(s, k);
    if (k + 1 == s->ndim && tr_plant(s->w->m->ctx, TR_PLANT_PATTERN))
        end = l_sub(s->w->b, end, l_int(s->w->m->i64, 1));
    if (n->kind == TR_NEST_UNROLL) {
        tr_unroll_loops(s, n, tr_lower_first(s, k), end, NULL);
        return;
    }
    if (n->kind == TR_NEST_STOP) {
        strips_until_settled(s, n, end);
        return;
    }
    tr_lloop l;
    lv begins = s->begins, ends = s->ends;
    tr_lloop_begin(s, &l, tr_lower_first(s, k), end);
    s->idx[s->axis[k]] = l.iv;
    if (s->low) {
        s->begins = and_at(s, begins, l.iv, s->low[k]);
        s->ends = and_at(s, ends, l.iv, s->high[k]);
    }
    tr_lower_advance(s, k);
    tr_lower_walk(s, n->in);
    tr_lloop_end(s, &l, next_of(s, l.iv));
    s->begins = begins;
    s->ends = ends;
}

void tr_lower_cut(tr_lpat *s) {
    LLVMBuilderRef b = s->w->b;
    lv first = s->first, last = l_sub(b, s->end, l_int(s->w->m->i64, 1));
    s->low = TR_NEW_N(&s->w->m->ctx->arena, lv, s->ndim);
    s->high = TR_NEW_N(&s->w->m->ctx->arena, lv, s->ndim);
    for (unsigned k = s->ndim; k-- > 0;) {
        lv ext = s->ext[s->axis[k]];
        s->low[k] = k ? LLVMBuildURem(b, first, ext, "") : first;
        s->high[k] = k ? LLVMBuildURem(b, last, ext, "") : last;
        first = LLVMBuildUDiv(b, first, ext, "");
        last = LLVMBuildUDiv(b, last, ext, "");
    }
}

/* A contiguous array's own sum, or the place of its extreme, where it lies: all loops from its level on as
 * one call. */
static void whole(tr_lpat *s, const tr_nest *n) {
    tr_lred *r = &s->red[0];
    unsigned k = n->level;
    LLVMBuilderRef b = s->w->b;
    lt e = tr_lower_elem(s->w->m, r->ty);
    bool part = s->from || (k == 0 && s->first);
    assert((!part || s->ndim == k + 1) && "some rows of a space that is no line");
    lv all = l_int(s->w->m->i64, 1), off = s->off[k * s->narr];
    for (unsigned l = k; l < s->ndim; l++)
        all = LLVMBuildNSWMul(b, all, tr_lower_last(s, l), "");
    if (part) {
        lv first = tr_lower_first(s, k);
        all = l_sub(b, all, first);
        off = k ? LLVMBuildNSWAdd(b, off, first, "") : first;
    }
    lv at = LLVMBuildInBoundsGEP2(b, e, s->arr[0].data, &off, 1, "");
    r->total = r->cls == TR_REDS_PLACE ? tr_lower_arg_of(s->w, r->ty, r->kind == TR_RED_ARGMAX, at, all)
                                       : tr_lower_sum_of(s->w, e, at, all);
}

void tr_lower_walk(tr_lpat *s, const tr_nest *n) {
    switch (n->kind) {
    case TR_NEST_FOR:
    case TR_NEST_UNROLL:
    case TR_NEST_STOP: axis(s, n); return;
    case TR_NEST_ROW: row(s, n); return;
    case TR_NEST_WHOLE: whole(s, n); return;
    case TR_NEST_BLOCK: stretches(s, n); return;
    case TR_NEST_CHUNK: chunks(s, n); return;
    case TR_NEST_FLAT: tr_flat_nest(s, n); return;
    case TR_NEST_FISSION: tr_fission_loop(s, n); return;
    case TR_NEST_SCAN:
    case TR_NEST_JOINED:
    case TR_NEST_STRETCH:
    case TR_NEST_STEP: tr_scan_loop(s, n); return;
    case TR_NEST_COUNT: tr_pack_count(s, n); return;
    case TR_NEST_PACK: tr_pack_loop(s, n); return;
    case TR_NEST_LOOK: tr_look_loop(s, n); return;
    case TR_NEST_PAST: tr_nontemporal_nest(s, n); return;
    case TR_NEST_TOP:
        tr_top_begin(s);
        tr_lower_walk(s, n->in);
        tr_top_end(s);
        return;
    case TR_NEST_CHOOSE: tr_top_row(s, n); return;
    case TR_NEST_TILE:
        tr_tile_setup(s);
        tr_tile_nest(s);
        return;
    case TR_NEST_ELEMENT: tr_lower_element(s, NULL); return;
    default:
        assert(n->kind == TR_NEST__COUNT && "what stands around one thread's loops is written out there");
    }
}

/* --- setting up --- */

/* An axis of extent 1 of an input repeats: stride 0. Known to be as long as the space where
 * both are one value. */
static void repeat_axes(tr_lpat *s, tr_larr *a, const unsigned *axis, unsigned n) {
    LLVMBuilderRef b = s->w->b;
    lv zero = l_int(s->w->m->i64, 0), one = l_int(s->w->m->i64, 1);
    for (unsigned k = 0; k < n; k++) {
        lv ext = a->shape[k];
        if (ext == s->ext[axis ? axis[k] : k])
            continue;
        a->repeats = true;
        a->stride[k] = is_one(ext) ? zero : l_select(b, l_icmp(b, LLVMIntEQ, ext, one), zero, a->stride[k]);
    }
}

static void setup_axes(tr_lpat *s, const tr_ins *in) {
    assert(in->nargs == tr_pat_nargs(s->p));
    const tr_pat *p = s->p;
    unsigned kept[TR_MAX_NDIM], n = 0;
    s->ndim = p->nspace;
    for (unsigned i = 0; i < p->nspace; i++) {
        s->ext[i] = tr_lower_parts(s->w, in->args[i])[0];
        if (p->keep >> i & 1)
            kept[n++] = i;
    }
    for (unsigned i = 0; i < p->nin; i++)
        repeat_axes(s, &s->arr[i], NULL, p->nspace);
    for (unsigned i = 0; i < p->nein; i++)
        repeat_axes(s, &s->earr[i], kept, n);
    s->when = p->nwhen ? tr_lower_parts(s->w, in->args[tr_pat_at(p, P_WHEN)])[0] : NULL;
    s->cost = p->ncost ? tr_lower_parts(s->w, in->args[tr_pat_at(p, P_COST)])[0] : NULL;
    s->line = p->sched.line;
    if (!s->line)
        return;
    for (unsigned i = 1; i < s->ndim; i++)
        s->ext[0] = LLVMBuildNSWMul(s->w->b, s->ext[0], s->ext[i], "");
    s->ndim = 1;
}

static void setup_captures(tr_lpat *s, const tr_ins *in) {
    tr_arena *a = &s->w->m->ctx->arena;
    s->caps = TR_NEW_N(a, lv, 1);
    for (uint32_t i = tr_pat_at(s->p, P_CAP); i < tr_pat_at(s->p, P_CAP + 1); i++) {
        unsigned n = tr_ty_nparts(tr_lower_ty(s->w, in->args[i]));
        lv *more = TR_NEW_N(a, lv, s->ncaps + n + 1);
        memcpy(more, s->caps, s->ncaps * sizeof *more);
        memcpy(more + s->ncaps, tr_lower_parts(s->w, in->args[i]), n * sizeof *more);
        s->caps = more;
        s->ncaps += n;
    }
}

/* What joins values in target i. */
static tr_ljoin *scatter_join(tr_lpat *s, unsigned i) {
    const tr_ty *t = s->scat[i].ty->elem;
    unsigned n = tr_ty_nparts(t);
    lt *types = TR_NEW_N(&s->w->m->ctx->arena, lt, n);
    for (unsigned k = 0; k < n; k++)
        types[k] = t->kind == TR_TY_BOOL ? s->w->m->i1 : tr_lower_elem(s->w->m, t);
    return tr_red_by(s, tr_pat_join(s->p, tr_pat_at(s->p, P_SCAT) + i)->by, n, types);
}

static void setup(tr_lpat *s, const tr_ins *in) {
    tr_lf *w = s->w;
    const tr_pat *p = s->p;
    tr_arena *a = &w->m->ctx->arena;
    unsigned nearr = (unsigned)p->nein + p->neout;
    s->narr = (unsigned)p->nin + p->nout;
    s->arr = TR_NEW_N(a, tr_larr, s->narr + 1);
    s->earr = TR_NEW_N(a, tr_larr, nearr + 1);
    s->red = TR_NEW_N(a, tr_lred, tr_pat_nred(p) + 1u);
    s->carry = TR_NEW_N(a, lv, tr_most_carried(p));
    for (unsigned i = 0; i < s->narr; i++)
        tr_lower_arr(w, in->args[tr_pat_at(p, P_IN) + i], &s->arr[i]);
    for (unsigned i = 0; i < s->narr; i++)
        s->arr[i].apart = p->apart;
    for (unsigned i = 0; i < nearr; i++)
        tr_lower_arr(w, in->args[tr_pat_at(p, P_EIN) + i], &s->earr[i]);
    s->after = tr_pat_in_blocks(p) ? tr_pat_scan_after(p) : NULL;
    s->spreads = tr_pat_spreads(p);
    s->filt = TR_NEW_N(a, tr_larr, p->nfilt + 1u);
    s->scratch = TR_NEW_N(a, lv, p->nfilt + 1u);
    for (unsigned i = 0; i < p->nfilt; i++)
        tr_lower_arr(w, in->args[tr_pat_at(p, P_PACK) + i], &s->filt[i]);
    for (unsigned i = 0; i < p->nfilt; i++) {
        lv last = l_sub(w->b, s->filt[i].shape[0], l_int(w->m->i64, 1));
        s->last = i ? l_select(w->b, l_icmp(w->b, LLVMIntSLT, last, s->last), last, s->last) : last;
    }
    s->best = TR_NEW_N(a, tr_larr, p->nbest + 1u);
    for (unsigned i = 0; i < p->nbest; i++)
        tr_lower_arr(w, in->args[tr_pat_at(p, P_BEST) + i], &s->best[i]);
    s->k = p->ntop ? tr_lower_parts(w, in->args[tr_pat_at(p, P_TOP)])[0] : NULL;
    unsigned nscat = 0u + p->nscat + p->ntable;
    s->scat = TR_NEW_N(a, tr_larr, nscat + 1u);
    s->how = TR_NEW_N(a, tr_lred, nscat + 1u);
    for (unsigned i = 0; i < nscat; i++) {
        uint32_t at = tr_pat_at(p, P_SCAT) + i;
        tr_lower_arr(w, in->args[at], &s->scat[i]);
        s->how[i] = (tr_lred){
            .kind = (tr_redk)tr_pat_join(p, at)->how, .ty = s->scat[i].ty->elem, .cls = TR_REDS_CARRIED};
    }
    s->ntables = s->spreads ? 1 : p->ntable;
    s->table = TR_NEW_N(a, tr_ltable, s->ntables + 1u);
    setup_axes(s, in);
    setup_captures(s, in);
    for (unsigned i = 0; i < p->nscat; i++)
        if (tr_pat_join(p, tr_pat_at(p, P_SCAT) + i)->by)
            s->how[i].join = scatter_join(s, i);
    s->off = TR_NEW_N(a, lv, (s->ndim + 1) * s->narr + 1);
    for (unsigned i = 0; i < s->narr; i++)
        s->off[i] = l_int(w->m->i64, 0);
}

void tr_lower_nest(tr_lpat *s, const tr_nest *n, lv *out) {
    if (n->kind != TR_NEST_TILE && n->kind != TR_NEST_TOP) {
        tr_red_setup(s);
        if (s->p->sched.chunk)
            tr_chunk_setup(s);
        if (s->p->sched.fission)
            tr_fission_setup(s);
    }
    if (n->kind == TR_NEST_REDUCE)
        reduce(s, n, out);
    else
        tr_lower_walk(s, n);
}

/* The loops of a pattern that is set up, as the tree has their axes. */
static void loops(tr_lpat *s, const tr_nest *n, lv *out) {
    uint32_t in_use = s->w->in_use;
    assert(n->kind == TR_NEST_ORDER && n->ndim == s->ndim && n->line == s->line);
    for (unsigned k = 0; k < s->ndim; k++)
        s->axis[k] = n->axis[k];
    if (n->tiled)
        tr_tile_begin(s);
    /* Tiled, the last loop is over columns; the outermost one is over tiles if no other axis is kept. */
    s->outer = n->tiled && tr_pat_nkeep(s->p) == 1 ? s->axis[s->ndim - 1] : s->axis[0];
    switch (n->in->kind) {
    case TR_NEST_RANGES:
    case TR_NEST_HERE: tr_lower_parallel(s, n->in, out); break;
    case TR_NEST_TABLES: tr_spread_nest(s, n->in); break;
    default:
        if (s->p->ntable)
            tr_table_begin(s, false);
        tr_lower_nest(s, n->in, out);
        if (s->p->ntable)
            tr_table_end(s, false);
    }
    s->w->in_use = in_use;
}

static bool begin(tr_lpat *s, const tr_ins *in) {
    setup(s, in);
    return tr_red_describe(s, in->args + tr_pat_at(s->p, P_SCAN));
}

/* Two versions of the loops of t, which has not been begun; s has, and stays as it is. */
static void versions(tr_lpat *s, tr_lpat *t, const tr_ins *in, const tr_nest *n, lv *out) {
    LLVMBuilderRef b = s->w->b;
    lb yes = tr_lower_block(s->w, ""), no = tr_lower_block(s->w, ""), go_on = tr_lower_block(s->w, "");
    LLVMBuildCondBr(b, tr_tile_condition(s), yes, no);
    l_at_end(b, yes);
    begin(t, in);
    tr_tile_assume(t);
    loops(t, n->in, out);
    LLVMBuildBr(b, go_on);
    l_at_end(b, no);
    loops(s, n->by, out);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
}

void tr_lower_pattern(tr_lf *w, tr_val v, const tr_ins *in) {
    assert(in->op == TR_OP_PATTERN);
    tr_lpat s = {.w = w, .p = in->imm.pat, .v = v, .loc = in->loc}, t = s;
    lv *out = TR_NEW_N(&w->m->ctx->arena, lv, tr_red_room(s.p));
    bool apart = w->apart;
    w->body->vals[v] = out;
    w->apart = s.p->apart && tr_fn_only_reads(s.p->lam);
    if (!begin(&s, in)) {
        tr_lower_error(w, v, "a reduction of this pattern is not defined for its type");
    } else {
        const tr_nest *n = tr_nest_of(w->body->f, in, w->m->want->target->pools);
        if (n->kind == TR_NEST_TEST)
            versions(&s, &t, in, n, out); /* nothing comes out: axes are kept */
        else
            loops(&s, n, out);
    }
    w->apart = apart;
}
