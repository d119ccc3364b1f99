/* Scans of floats, block by block (ir/scans.c says in which order they join); and ranges of scans of any
 * kind, for all threads (par.c): first the total of what a range contributes, which goes to the next one,
 * then its elements, from the value that the one before has handed on.
 *
 * Running sums go through rt/scan.c, a stretch of elements at a time: a loop writes what they contribute
 * into a buffer, the runtime makes the values of it, and a second loop computes what the lambda makes of
 * them. LLVM makes vectors of both loops, and where contributions lie in memory as they are, or the values
 * go there, there is no such loop. What has other scans, or packs, goes element by element, with the same
 * bits: each scan in groups remembers the sums of the halves before it, a bit of the element's number says
 * which of them count.
 * Cost: the lambda twice; of products also the total of each block but the last. */
#include "ir/summary.h"
#include "lower/pattern.h"

#include <string.h>

void tr_scan_totals(const tr_lpat *s, const tr_nest *n, lv from, lv to, lv *out) {
    tr_arena *a = &s->w->m->ctx->arena;
    tr_pat p = *s->p;
    tr_lpat t = *s;
    p.nfold = 0;
    t.p = tr_arena_copy(a, &p, sizeof p);
    t.totals = t.open = true;
    t.chunk = NULL;
    if (n->level + 1u == s->ndim) {
        t.from = from;
        t.to = to;
    } else {
        t.first = from;
        t.end = to;
    }
    t.red = tr_red_copy(s);
    t.carry = TR_NEW_N(a, lv, tr_most_carried(s->p));
    t.off = tr_arena_copy(a, s->off, ((s->ndim + 1) * s->narr + 1) * sizeof *s->off);
    tr_red_totals(&t);
    tr_red_begin(&t);
    tr_lower_walk(&t, n);
    tr_red_end(&t, out);
}

/* --- element by element --- */

static bool is_in_groups(const tr_lpat *s, unsigned i) {
    return s->red[i].groups;
}

static lv bit_set(tr_lpat *s, lv i, unsigned bits, unsigned all) {
    lt t = LLVMTypeOf(i);
    return l_icmp(s->w->b, LLVMIntEQ, l_and(s->w->b, i, l_int(t, bits)), l_int(t, all));
}

static lv sum(tr_lpat *s, const tr_lred *r, lv x, lv y) {
    tr_lred one = {.kind = TR_RED_ADD, .fmf = r->fmf, .ty = r->ty};
    lv acc[2] = {x, x}, by[2] = {y, y};
    tr_red_combine(s, &one, acc, by);
    return acc[0];
}

/* Of one part of a scan's values: the value after the element. state: sums of the halves before it, and of
 * the groups before it in the block. */
static lv step_part(tr_lpat *s, const tr_lred *r, lv i, lv before, lv x, lv *state) {
    LLVMBuilderRef b = s->w->b;
    for (unsigned l = 0; l < TR_SCAN_LEVELS; l++) {
        lv right = bit_set(s, i, 1u << l, 1u << l), whole = sum(s, r, state[l], x);
        state[l] = l_select(b, right, state[l], x);
        x = l_select(b, right, whole, x);
    }
    lv *total = &state[TR_SCAN_LEVELS], so_far = sum(s, r, *total, x);
    *total = l_select(b, bit_set(s, i, TR_SCAN_GROUP - 1, TR_SCAN_GROUP - 1), so_far, *total);
    return sum(s, r, before, so_far);
}

unsigned tr_scan_step(tr_lpat *s, const lv *y, lv *out) {
    _Static_assert(TR_SCAN_GROUP == 1 << TR_SCAN_LEVELS, "a level for each bit of the place in a group");
    lv i = s->idx[s->axis[s->ndim - 1]], *state = &s->carry[s->groups];
    unsigned n = 0;
    for (unsigned k = 0; k < s->p->nscan; k++) {
        tr_lred *r = &s->red[k];
        for (unsigned q = 0; q < tr_ty_nparts(r->ty); q++, n++) {
            out[n] = y[n];
            if (!r->groups)
                continue;
            r->after[q] = out[n] = step_part(s, r, i, s->begun[n], y[n], state);
            state += TR_SCAN_LEVELS + 1;
        }
    }
    return n;
}

static void each(tr_lpat *s, unsigned k, lv from, lv to) {
    lt i64 = s->w->m->i64;
    tr_lloop l;
    lv begun[2 * UINT8_MAX];
    unsigned n = s->ncarry;
    tr_red_running(s, begun);
    s->groups = n;
    s->begun = begun;
    for (unsigned i = 0; i < s->p->nscan; i++)
        for (unsigned q = 0; is_in_groups(s, i) && q < tr_ty_nparts(s->red[i].ty) * (TR_SCAN_LEVELS + 1); q++)
            s->carry[s->ncarry++] = LLVMConstReal(LLVMTypeOf(s->red[i].init[0]), -0.0);
    tr_lloop_begin(s, &l, from, to);
    s->idx[s->axis[k]] = l.iv;
    tr_lower_advance(s, k);
    tr_lower_element(s, NULL);
    tr_lloop_end(s, &l, LLVMBuildNUWAdd(s->w->b, l.iv, l_int(i64, 1), ""));
    s->ncarry = n;
}

/* --- by stretches --- */

enum { STRETCH = 512 }; /* elements */

/* A part of a scan's values on the way. */
typedef struct stream {
    lv buf;        /* contributions, then values; NULL: both lie in arrays */
    uint32_t from; /* the input that is what is contributed; nin: none */
    lv total;      /* of the block so far */
} stream;

/* The runtime's functions count on alignment. */
static bool lies_as_numbers(const tr_lpat *s, uint32_t a) {
    return tr_lower_is_side_by_side(s, a) && !tr_ty_is_loose(s->arr[a].ty);
}

/* The input whose items scan i contributes as they lie; nin: there is none. */
static uint32_t is_contributed(const tr_lpat *s, unsigned i) {
    const tr_pat *p = s->p;
    uint32_t a = tr_pat_input(p, tr_pat_yield(p->lam)->args[tr_pat_slot(p, TR_LAM, P_SCAN) + i]);
    bool as_it_lies = a < p->nin && s->arr[a].ty->elem == s->red[i].ty && !tr_ty_is_complex(s->red[i].ty);
    return as_it_lies && lies_as_numbers(s, a) ? a : p->nin;
}

/* Nothing is made of the values but that they are stored, side by side. */
static bool are_stored_alone(const tr_lpat *s) {
    const tr_pat *p = s->p;
    const tr_fn *f = s->after;
    return p->nscan == 1 && p->nout == 1 && s->arr[p->nin].ty->elem == s->red[0].ty &&
           !tr_ty_is_complex(s->red[0].ty) && lies_as_numbers(s, p->nin) &&
           tr_pat_yield(f)->args[0] == f->blks.d[0].params.d[tr_pat_param(p, TR_LAM, P_CAP) + p->ncap];
}

/* Does the lambda look at a value before the element? */
static bool looks_before(const tr_lpat *s) {
    const tr_fn *f = s->after;
    const tr_val *before = f->blks.d[0].params.d + tr_pat_param(s->p, TR_LAM, P_CAP) - s->p->nscan;
    for (uint32_t v = 0; v < f->ins.n; v++)
        for (uint32_t a = 0; f->ins.d[v].blk != TR_NOBLK && a < f->ins.d[v].nargs; a++)
            for (unsigned k = 0; k < s->p->nscan; k++)
                if (f->ins.d[v].args[a] == before[k])
                    return true;
    return false;
}

static void stand_at(tr_lpat *s, unsigned k, lv i) {
    s->idx[s->axis[k]] = i;
    tr_lower_advance(s, k);
}

static lv address(tr_lpat *s, uint32_t a) {
    return tr_lower_address(s->w, &s->arr[a], s->off[s->ndim * s->narr + a]);
}

/* Element j of a buffer, which has the value before its first one in front. */
static lv place(tr_lpat *s, lt t, lv buf, lv j) {
    return LLVMBuildInBoundsGEP2(s->w->b, t, buf, &j, 1, "");
}

static lv *params_for(tr_lpat *s) {
    const tr_pat *p = s->p;
    return TR_NEW_N(&s->w->m->ctx->arena, lv, p->nspace + 2u * p->nin + 4u * p->nscan + s->ncaps + 1u);
}

/* Parts of all scans: where they are in the values' order. */
static unsigned parts_of(const tr_lpat *s, unsigned *scan) {
    unsigned n = 0;
    for (unsigned i = 0; i < s->p->nscan; i++)
        for (unsigned q = 0; q < tr_ty_nparts(s->red[i].ty); q++)
            scan[n++] = i;
    return n;
}

/* A loop over n elements from `from` on, which carries nothing: its number. */
static lv begin_plain(tr_lpat *s, tr_lloop *l, unsigned k, lv from, lv n) {
    tr_lloop_begin(s, l, l_int(s->w->m->i64, 0), n);
    stand_at(s, k, LLVMBuildNSWAdd(s->w->b, from, l->iv, ""));
    return l->iv;
}

static void end_plain(tr_lpat *s, tr_lloop *l) {
    tr_lloop_end(s, l, LLVMBuildNUWAdd(s->w->b, l->iv, l_int(s->w->m->i64, 1), ""));
}

/* What n elements contribute, into the buffers. */
static void fill(tr_lpat *s, unsigned k, lv from, lv n, const stream *st, const unsigned *scan,
                 unsigned nparts) {
    tr_lloop l;
    lv *params = params_for(s), at = begin_plain(s, &l, k, from, n);
    unsigned m = tr_lower_given(s, params);
    for (unsigned i = 0; i < nparts; i++)
        params[m++] = LLVMConstNull(LLVMTypeOf(s->red[scan[i]].init[0]));
    memcpy(params + m, s->caps, s->ncaps * sizeof *params);
    const lv *y = tr_lower_lambda(s->w, s->p->lam, s->loc, params);
    for (uint32_t a = s->p->nin; a < s->narr; a++)
        y += tr_ty_nparts(s->arr[a].ty->elem);
    for (unsigned i = 0; i < nparts; i++)
        if (st[i].from == s->p->nin)
            LLVMBuildStore(s->w->b, y[i], place(s, LLVMTypeOf(y[i]), st[i].buf, at));
    end_plain(s, &l);
}

/* The outputs of n elements, of the values in the buffers. */
static void make_outputs(tr_lpat *s, unsigned k, lv from, lv n, const stream *st, const unsigned *scan,
                         unsigned nparts, bool before) {
    LLVMBuilderRef b = s->w->b;
    tr_lloop l;
    lv *params = params_for(s), at = begin_plain(s, &l, k, from, n);
    lv last = l_sub(b, at, l_int(s->w->m->i64, 1));
    unsigned m = tr_lower_given(s, params);
    for (unsigned i = 0; i < nparts; i++) {
        lt t = LLVMTypeOf(s->red[scan[i]].init[0]);
        params[m++] = before ? LLVMBuildLoad2(b, t, place(s, t, st[i].buf, last), "") : LLVMConstNull(t);
    }
    memcpy(params + m, s->caps, s->ncaps * sizeof *params);
    m += s->ncaps;
    for (unsigned i = 0; i < nparts; i++) {
        lt t = LLVMTypeOf(s->red[scan[i]].init[0]);
        params[m++] = LLVMBuildLoad2(b, t, place(s, t, st[i].buf, at), "");
    }
    tr_lower_outputs(s, tr_lower_lambda(s->w, s->after, s->loc, params));
    end_plain(s, &l);
}

/* The values of n contributions. What lies in an array and goes into another may go past the caches: such
 * stores are few to a wait for them where contributions come a stretch at a time. Behind these blocks of all
 * threads is what this one reads next. */
static lv run_of(tr_lpat *s, lv x, lv out, lv n, bool past, lv before, lv total) {
    tr_lf *w = s->w;
    unsigned row = LLVMTypeOf(total) == w->m->f32 ? TR_RT_SCAN_F32 : TR_RT_SCAN_F64;
    lv whole = l_int(w->m->i64, past ? 1 : 0), ahead = l_int(w->m->i64, past ? TR_SCAN_BLOCK : 0);
    for (unsigned k = 0; k < s->ndim && past; k++)
        whole = LLVMBuildNSWMul(w->b, whole, s->ext[k], "");
    if (past && s->team)
        ahead = LLVMBuildNSWMul(w->b, ahead, s->team, "");
    tr_lower_rt(w, row, 7, (lv[]){x, out, n, whole, ahead, before, total}, NULL, &total);
    return total;
}

static lv smaller(LLVMBuilderRef b, lv x, lv y) {
    return l_select(b, l_icmp(b, LLVMIntSLT, x, y), x, y);
}

/* A block. After it the running values are those of its last element. */
static void stretches(tr_lpat *s, unsigned k, lv from, lv to) {
    LLVMBuilderRef b = s->w->b;
    tr_lm *m = s->w->m;
    const tr_pat *p = s->p;
    tr_arena *arena = &m->ctx->arena;
    uint32_t in_use = s->w->in_use;
    unsigned scan[2 * UINT8_MAX], n = parts_of(s, scan), first = s->ncarry;
    stream *st = TR_NEW_N(arena, stream, n + 1u);
    bool stored = !s->totals && are_stored_alone(s), before = !s->totals && !stored && looks_before(s),
         fills = false, buffers = false;
    lv begun[2 * UINT8_MAX], none = LLVMConstNull(m->ptr);
    tr_red_running(s, begun);
    for (unsigned i = 0; i < n; i++) {
        st[i].from = is_contributed(s, scan[i]);
        fills = fills || st[i].from == p->nin;
        buffers = buffers || st[i].from == p->nin || !(s->totals || stored);
    }
    for (unsigned i = 0; i < n && buffers; i++) {
        uint64_t size = tr_lower_bytes(m, LLVMTypeOf(begun[i]));
        lv front = l_int(m->i64, TR_MEM_ALIGN);
        st[i].buf = tr_lower_buffer(s->w, TR_MEM_ALIGN + STRETCH * size, TR_MEM_ALIGN, "stretch");
        st[i].buf = LLVMBuildInBoundsGEP2(b, m->i8, st[i].buf, &front, 1, "");
    }
    for (unsigned i = 0; i < n; i++)
        s->carry[s->ncarry++] = LLVMConstReal(LLVMTypeOf(begun[i]), -0.0);
    tr_lloop l;
    lv at = from, len = l_sub(b, to, from);
    if (buffers) {
        tr_lloop_begin(s, &l, from, to);
        at = l.iv;
        len = smaller(b, l_sub(b, to, at), l_int(m->i64, STRETCH));
    }
    lv *totals = tr_arena_copy(arena, s->carry + first, n * sizeof *totals), minus = l_int(m->i64, -1);
    unsigned carried = s->ncarry;
    s->ncarry = 0;
    if (fills)
        fill(s, k, at, len, st, scan, n);
    stand_at(s, k, at);
    for (unsigned i = 0; i < n; i++) {
        lt t = LLVMTypeOf(begun[i]);
        lv x = st[i].from < p->nin ? address(s, st[i].from) : st[i].buf;
        lv out = s->totals ? none : stored ? address(s, p->nin) : st[i].buf;
        if (before)
            LLVMBuildStore(b, LLVMBuildFAdd(b, begun[i], totals[i], ""), place(s, t, st[i].buf, minus));
        totals[i] = run_of(s, x, out, len, stored && st[i].from < p->nin, begun[i], totals[i]);
    }
    if (!s->totals && !stored)
        make_outputs(s, k, at, len, st, scan, n, before);
    s->ncarry = carried;
    memcpy(s->carry + first, totals, n * sizeof *totals);
    if (buffers)
        tr_lloop_end(s, &l, LLVMBuildNSWAdd(b, at, len, ""));
    for (unsigned i = 0; i < n; i++)
        s->carry[i] = LLVMBuildFAdd(b, begun[i], s->carry[first + i], "");
    s->ncarry = first;
    s->w->in_use = in_use;
}

/* --- by a function of the user's --- */

/* The element at i: its outputs, where `before`, what stands before it, is given, and what it contributes. */
static const lv *joined_element(tr_lpat *s, unsigned k, lv i, const lv *before) {
    const tr_ljoin *j = s->red[0].join;
    lv *params =
        TR_NEW_N(&s->w->m->ctx->arena, lv, s->p->nspace + 2u * s->p->nin + j->nparts + s->ncaps + 1u);
    stand_at(s, k, i);
    unsigned m = tr_lower_given(s, params);
    for (unsigned q = 0; q < j->nparts; q++)
        params[m++] = before ? before[q] : LLVMConstNull(j->types[q]);
    memcpy(params + m, s->caps, s->ncaps * sizeof *params);
    const lv *y = tr_lower_lambda(s->w, s->p->lam, s->loc, params);
    if (before)
        return tr_lower_outputs(s, y);
    for (uint32_t a = s->p->nin; a < s->narr; a++)
        y += tr_ty_nparts(s->arr[a].ty->elem);
    return y;
}

static lv nth(tr_lpat *s, lv from, lv i) {
    return LLVMBuildNSWAdd(s->w->b, from, i, "");
}

/* A group that is not whole, of `left` elements from `from` on, one after the other: their outputs, if
 * `before` is what stands before them, else their total. */
static void rest_of_group(tr_lpat *s, unsigned k, lv from, lv left, const lv *before, lv *total) {
    const tr_ljoin *j = s->red[0].join;
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    tr_lloop l;
    const lv *x = before ? before : joined_element(s, k, from, NULL);
    memcpy(s->carry, x, j->nparts * sizeof *x);
    s->ncarry = j->nparts;
    tr_lloop_begin(s, &l, l_int(i64, before ? 0 : 1), left);
    lv *acc = tr_arena_copy(&s->w->m->ctx->arena, s->carry, j->nparts * sizeof *acc);
    s->ncarry = 0;
    x = joined_element(s, k, nth(s, from, l.iv), before ? acc : NULL);
    tr_join_two(s->w, j, s->caps, acc, x, s->carry);
    s->ncarry = j->nparts;
    tr_lloop_end(s, &l, LLVMBuildNUWAdd(b, l.iv, l_int(i64, 1), ""));
    memcpy(total, s->carry, j->nparts * sizeof *total);
    s->ncarry = 0;
}

/* if (left) { rest_of_group } for group number `at`. */
static void maybe_rest(tr_lpat *s, unsigned k, lv from, lv left, lv at, bool outputs) {
    const tr_ljoin *j = s->red[0].join;
    LLVMBuilderRef b = s->w->b;
    lv *x = TR_NEW_N(&s->w->m->ctx->arena, lv, j->nparts),
       *total = TR_NEW_N(&s->w->m->ctx->arena, lv, j->nparts);
    lb some = tr_lower_block(s->w, ""), go_on = tr_lower_block(s->w, "");
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntNE, left, l_int(s->w->m->i64, 0)), some, go_on);
    l_at_end(b, some);
    if (outputs)
        tr_join_get(s->w, j, at, x);
    rest_of_group(s, k, from, left, outputs ? x : NULL, total);
    if (!outputs)
        tr_join_put(s->w, j, at, total);
    LLVMBuildBr(b, go_on);
    LLVMMoveBasicBlockAfter(go_on, l_here(b));
    l_at_end(b, go_on);
}

/* Groups of n elements: their totals into the block; or their outputs, of what stands before each group. The
 * function is asked for the same value by the lambda, which gives it, and here: LLVM sees that it is one. */
static void joined_groups(tr_lpat *s, unsigned k, lv from, lv n, bool outputs) {
    const tr_ljoin *j = s->red[0].join;
    LLVMBuilderRef b = s->w->b;
    lt i64 = s->w->m->i64;
    tr_arena *a = &s->w->m->ctx->arena;
    lv size = l_int(i64, TR_JOIN_GROUP), groups = LLVMBuildUDiv(b, n, size, ""), *x[TR_JOIN_GROUP];
    tr_lloop l;
    tr_lloop_begin(s, &l, l_int(i64, 0), groups);
    lv first = nth(s, from, LLVMBuildNUWMul(b, l.iv, size, ""));
    for (unsigned e = 0; e < TR_JOIN_GROUP; e++)
        x[e] = TR_NEW_N(a, lv, j->nparts);
    if (outputs)
        tr_join_get(s->w, j, l.iv, x[0]);
    for (unsigned e = 0; e < TR_JOIN_GROUP; e++) {
        const lv *y = joined_element(s, k, nth(s, first, l_int(i64, e)), outputs ? x[0] : NULL);
        if (outputs)
            tr_join_two(s->w, j, s->caps, x[0], y, x[0]);
        else
            memcpy(x[e], y, j->nparts * sizeof *y);
    }
    for (unsigned step = 1; step < TR_JOIN_GROUP && !outputs; step *= 2)
        for (unsigned e = 0; e < TR_JOIN_GROUP; e += 2 * step)
            tr_join_two(s->w, j, s->caps, x[e], x[e + step], x[e]);
    if (!outputs)
        tr_join_put(s->w, j, l.iv, x[0]);
    tr_lloop_end(s, &l, LLVMBuildNUWAdd(b, l.iv, l_int(i64, 1), ""));
    lv done = LLVMBuildNUWMul(b, groups, size, "");
    maybe_rest(s, k, nth(s, from, done), l_sub(b, n, done), groups, outputs);
}

/* A block of TR_JOIN_BLOCK, in blocks of TR_SUM_BLOCK. Carried besides the value before it: what those that
 * are done are together. Of totals alone that is the end, else with the value before. */
static void joined_blocks(tr_lpat *s, unsigned k, lv from, lv to) {
    LLVMBuilderRef b = s->w->b;
    tr_lm *m = s->w->m;
    tr_lred *r = &s->red[0];
    const tr_ljoin *j = r->join;
    tr_arena *a = &m->ctx->arena;
    unsigned n = j->nparts, first = s->ncarry;
    lv *before = TR_NEW_N(a, lv, n), *total = TR_NEW_N(a, lv, n),
       *own = tr_arena_copy(a, s->carry, n * sizeof *own);
    assert(first == n && r->carry == 0 && "it has no other reductions");
    memcpy(s->carry + first, own, n * sizeof *own); /* of no blocks: whatever */
    s->ncarry = 2 * n;
    tr_lloop l;
    tr_lloop_begin(s, &l, from, to);
    lv len = smaller(b, l_sub(b, to, l.iv), l_int(m->i64, TR_SUM_BLOCK)),
       more = l_icmp(b, LLVMIntNE, l.iv, from);
    lv *done = tr_arena_copy(a, s->carry + first, n * sizeof *done),
       *start = tr_arena_copy(a, s->carry, n * sizeof *start);
    s->ncarry = 0;
    lv group = LLVMBuildUDiv(b, l_sub(b, l.iv, from), l_int(m->i64, TR_JOIN_GROUP), "");
    if (s->totals || !s->kept)
        joined_groups(s, k, l.iv, len, false);
    if (s->kept && s->totals)
        tr_join_to_kept(s->w, j, s->kept, group);
    else if (s->kept)
        tr_join_from_kept(s->w, j, s->kept, group);
    lv groups = LLVMBuildUDiv(b, LLVMBuildNUWAdd(b, len, l_int(m->i64, TR_JOIN_GROUP - 1), ""),
                              l_int(m->i64, TR_JOIN_GROUP), "");
    if (s->totals) {
        tr_join_total(s->w, j, s->caps, groups, total);
    } else {
        tr_join_if(s->w, j, s->caps, more, start, done, start, before);
        tr_join_prefixes(s->w, j, s->caps, groups, before, total);
        joined_groups(s, k, l.iv, len, true);
    }
    tr_join_if(s->w, j, s->caps, more, done, total, total, done);
    memcpy(s->carry, start, n * sizeof *start);
    memcpy(s->carry + first, done, n * sizeof *done);
    s->ncarry = 2 * n;
    tr_lloop_end(s, &l, LLVMBuildNSWAdd(b, l.iv, len, ""));
    if (s->totals)
        memcpy(s->carry, s->carry + first, n * sizeof(lv));
    else
        tr_join_two(s->w, j, s->caps, s->carry, s->carry + first, s->carry);
    s->ncarry = n;
}

int tr_scan_block(const tr_lpat *s) {
    return s->red[0].join ? TR_JOIN_BLOCK : TR_SCAN_BLOCK;
}

/* One block. */
static void block(tr_lpat *s, const tr_nest *n, lv from, lv to) {
    switch (n->kind) {
    case TR_NEST_JOINED: joined_blocks(s, n->level, from, to); return;
    case TR_NEST_STRETCH: stretches(s, n->level, from, to); return;
    default: assert(n->kind == TR_NEST_STEP); each(s, n->level, from, to);
    }
}

/* --- block by block --- */

/* if (more) the values before the next block: those before this one, and its totals. Else whatever. */
static lv *values_after(tr_lpat *s, const tr_nest *totals_of, lv more, lv from, lv to) {
    LLVMBuilderRef b = s->w->b;
    tr_arena *a = &s->w->m->ctx->arena;
    lb here = l_here(b), total = tr_lower_block(s->w, ""), go_on = tr_lower_block(s->w, "");
    lv totals[2 * UINT8_MAX], *before = tr_arena_copy(a, s->carry, s->ncarry * sizeof *before), *after;
    LLVMBuildCondBr(b, more, total, go_on);
    l_at_end(b, total);
    tr_scan_totals(s, totals_of, from, to, totals);
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
static void blocks(tr_lpat *s, const tr_nest *n) {
    LLVMBuilderRef b = s->w->b;
    lv size = l_int(s->w->m->i64, tr_scan_block(s)), end = tr_lower_last(s, n->level), *after = NULL;
    tr_lloop l;
    tr_lloop_begin(s, &l, tr_lower_first(s, n->level), end);
    lv left = l_sub(b, end, l.iv), more = l_icmp(b, LLVMIntSGT, left, size);
    lv to = LLVMBuildNSWAdd(b, l.iv, l_select(b, more, size, left), "");
    if (n->by)
        after = values_after(s, n->by, more, l.iv, to);
    block(s, n->in, l.iv, to);
    for (unsigned i = 0; after && i < s->ncarry; i++)
        s->carry[i] = l_select(b, more, after[i], s->carry[i]);
    tr_lloop_end(s, &l, to);
}

void tr_scan_loop(tr_lpat *s, const tr_nest *n) {
    if (n->kind == TR_NEST_SCAN)
        blocks(s, n);
    else
        block(s, n, tr_lower_first(s, n->level), tr_lower_last(s, n->level));
}
