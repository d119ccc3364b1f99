/* A scatter, block by block of its rounds (privatisation, in the field's words): a block of rounds but the
 * first one collects in a table of its own, which begins with what changes nothing, and the tables are joined
 * to the target in their order. How long blocks are depends on the number of rounds and the target's size
 * alone (tr_rt_scatter_rows), whoever walks them, where values depend on it. So all threads may (par.c), with
 * the bits of one; and where the values depend on how they are grouped, sums of floats, one thread goes block
 * by block, too, in one table. Where the last value wins, or a function of the user's joins, there is nothing
 * to begin with: beside a table's values stand marks of the places that have one.
 * A target that is large beside the number of rounds has one block: the plain loop; or many threads, each of
 * which looks at all rounds and stores to its own part of the target (owner computes): that reads and
 * computes again, and pays where a store is the expensive part, out of the cache.
 * Cost: filling and joining tables touches 1 / TR_SCATTER_WORTH as many elements as there
 * are rounds, twice. */
#include "ir/summary.h"
#include "lower/pattern.h"

#include <assert.h>
#include <string.h>

/* The target's size, and how its table lies: C order. */
static void describe(tr_lpat *s) {
    LLVMBuilderRef b = s->w->b;
    tr_larr *a = &s->scat[0];
    s->size = l_int(s->w->m->i64, 1);
    for (unsigned k = a->ty->ndim; k-- > 0;) {
        s->cstride[k] = s->size;
        s->size = LLVMBuildNSWMul(b, s->size, a->shape[k], "");
    }
}

/* There is nothing to begin a table with. */
static bool has_marks(const tr_lpat *s) {
    return tr_pat_scatter(s->p, 0) == TR_SCATTER_PUT || s->how[0].join;
}

/* Of a table without its marks. */
static lv value_bytes(const tr_lpat *s) {
    return LLVMBuildNSWMul(s->w->b, s->size, l_int(s->w->m->i64, tr_ty_size(s->scat[0].ty->elem)), "");
}

/* From one table to the next: no two have a cache line in common, nor two that are fetched together. */
static lv table_bytes(const tr_lpat *s) {
    enum { LINES = 128 };
    lt i64 = s->w->m->i64;
    lv bytes = value_bytes(s);
    if (has_marks(s))
        bytes = LLVMBuildNSWAdd(s->w->b, bytes, s->size, "");
    return l_and(s->w->b, LLVMBuildNSWAdd(s->w->b, bytes, l_int(i64, 2 * LINES - 1), ""), l_int(i64, -LINES));
}

/* Elements of one round of the outermost loop. */
static lv inner_size(tr_lpat *s) {
    lv inner = l_int(s->w->m->i64, 1);
    for (unsigned k = 0; k < s->ndim; k++)
        if (s->axis[k] != s->outer)
            inner = LLVMBuildNSWMul(s->w->b, inner, s->ext[s->axis[k]], "");
    return inner;
}

static lv greater(LLVMBuilderRef b, lv x, lv y) {
    return l_select(b, l_icmp(b, LLVMIntSGT, x, y), x, y);
}

/* Does a step along each axis go past all that lies along the axes before it, in this order of them? */
static lv nests(const tr_lpat *s, bool from_first) {
    LLVMBuilderRef b = s->w->b;
    lv one = l_int(s->w->m->i64, 1), span = one, all = NULL;
    const tr_larr *a = &s->scat[0];
    for (unsigned j = 0; j < a->ty->ndim; j++) {
        unsigned k = from_first ? j : a->ty->ndim - 1u - j;
        lv step = greater(b, a->stride[k], LLVMBuildNeg(b, a->stride[k], ""));
        lv ok = l_icmp(b, LLVMIntSGE, step, span);
        all = all ? l_and(b, all, ok) : ok;
        span =
            LLVMBuildAdd(b, span, LLVMBuildMul(b, step, l_sub(b, greater(b, a->shape[k], one), one), ""), "");
    }
    return all;
}

/* Does each element of the target have memory of its own, as those of as_strided() may not? True where
 * that is plain to see; NULL: always. */
static lv is_apart(const tr_lpat *s) {
    const tr_ty *t = s->scat[0].ty;
    if (t->layout != TR_LAYOUT_ANY || !t->ndim)
        return NULL;
    lv c = nests(s, false);
    return t->ndim == 1 ? c : l_or(s->w->b, c, nests(s, true));
}

/* How many rounds of the outermost loop make a block. What shares memory with itself is
 * stored to in order. */
static lv block_rows(tr_lpat *s, lv inner) {
    LLVMBuilderRef b = s->w->b;
    lv any = l_int(s->w->m->i64, !tr_pat_scatter_regroups(s->p)), n = s->ext[s->outer], rows = NULL;
    tr_lower_rt(s->w, TR_RT_SCATTERROWS, 4, (lv[]){n, inner, s->size, any}, NULL, &rows);
    lv apart = is_apart(s), one = greater(b, n, l_int(s->w->m->i64, 1));
    return apart ? l_select(b, apart, rows, one) : rows;
}

/* Number of blocks of so many rounds. */
static lv count_blocks(tr_lpat *s, lv rows) {
    LLVMBuilderRef b = s->w->b;
    lv up = l_sub(b, LLVMBuildNSWAdd(b, s->ext[s->outer], rows, ""), l_int(s->w->m->i64, 1));
    return LLVMBuildUDiv(b, up, rows, "");
}

/* Room for n tables, or null for none of them. Raises where there is no memory. */
static lv make_room(tr_lpat *s, lv n) {
    tr_lf *w = s->w;
    LLVMBuilderRef b = w->b;
    lb from = l_here(b), some = tr_lower_block(w, ""), go_on = tr_lower_block(w, "");
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntSGT, n, l_int(w->m->i64, 0)), some, go_on);
    l_at_end(b, some);
    lv mem = tr_lower_memory(w, s->v, LLVMBuildNSWMul(b, table_bytes(s), n, ""));
    lb ok = l_here(b);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
    lv p = LLVMBuildPhi(b, w->m->ptr, "");
    l_incoming(p, LLVMConstNull(w->m->ptr), from);
    l_incoming(p, mem, ok);
    return p;
}

/* if (there is some) it goes. */
static void leave_room(tr_lpat *s, lv room) {
    LLVMBuilderRef b = s->w->b;
    lb go_on = tr_lower_unless(s->w, LLVMBuildIsNull(b, room, ""));
    tr_lower_rt(s->w, TR_RT_FREE, 1, &room, NULL, NULL);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
}

/* Table number k. */
static lv table_at(tr_lpat *s, lv room, lv k) {
    LLVMBuilderRef b = s->w->b;
    lv head = l_int(s->w->m->i64, TR_MEM_ALIGN);
    lv at = LLVMBuildNSWAdd(b, LLVMBuildNSWMul(b, table_bytes(s), k, ""), head, "");
    return LLVMBuildGEP2(b, s->w->m->i8, room, &at, 1, "");
}

static lv marks_of(const tr_lpat *s, lv table) {
    lv at = value_bytes(s);
    return LLVMBuildGEP2(s->w->b, s->w->m->i8, table, &at, 1, "");
}

/* A table as an array of one axis. */
static tr_larr flat(const tr_lpat *s, lv table) {
    tr_larr a = s->scat[0];
    a.data = table;
    return a;
}

static void each_item(tr_lpat *s, lv table, void (*visit)(tr_lpat *, const tr_larr *, lv)) {
    tr_larr a = flat(s, table);
    tr_lloop l;
    unsigned carried = s->ncarry;
    s->ncarry = 0;
    tr_lloop_begin(s, &l, l_int(s->w->m->i64, 0), s->size);
    visit(s, &a, l.iv);
    tr_lloop_end(s, &l, LLVMBuildNUWAdd(s->w->b, l.iv, l_int(s->w->m->i64, 1), ""));
    s->ncarry = carried;
}

static void clear_item(tr_lpat *s, const tr_larr *table, lv i) {
    lv x[2];
    tr_red_identity_parts(s, &s->how[0], x);
    tr_lower_store_at(s->w, table, i, x);
}

/* The table changes nothing. */
static void clear_table(tr_lpat *s, lv table) {
    if (has_marks(s))
        LLVMBuildMemSet(s->w->b, marks_of(s, table), l_int(s->w->m->i8, 0), s->size, 1);
    else
        each_item(s, table, clear_item);
}

/* Where item number i, in C order, lies in the target. */
static lv offset_in_target(tr_lpat *s, lv i) {
    LLVMBuilderRef b = s->w->b;
    const tr_larr *a = &s->scat[0];
    lv off = l_int(s->w->m->i64, 0);
    for (unsigned k = 0; k < a->ty->ndim; k++) {
        bool last = k + 1 == a->ty->ndim;
        lv x = last ? i : LLVMBuildUDiv(b, i, s->cstride[k], "");
        i = last ? i : LLVMBuildURem(b, i, s->cstride[k], "");
        off = LLVMBuildNSWAdd(b, off, LLVMBuildNSWMul(b, x, a->stride[k], ""), "");
    }
    return off;
}

static void join_item(tr_lpat *s, const tr_larr *table, lv i) {
    lv now[2], x[2], off = offset_in_target(s, i);
    tr_lower_load_at(s->w, &s->scat[0], off, now);
    tr_lower_load_at(s->w, table, i, x);
    tr_red_combine(s, &s->how[0], now, x);
    tr_lower_store_at(s->w, &s->scat[0], off, now);
}

static void put_item(tr_lpat *s, const tr_larr *table, lv i) {
    LLVMBuilderRef b = s->w->b;
    lt i8 = s->w->m->i8;
    lv x[2], marks = marks_of(s, table->data),
             has = LLVMBuildLoad2(b, i8, LLVMBuildGEP2(b, i8, marks, &i, 1, ""), "");
    lb go_on = tr_lower_unless(s->w, l_icmp(b, LLVMIntEQ, has, l_int(i8, 0)));
    tr_lower_load_at(s->w, table, i, x);
    lv off = offset_in_target(s, i);
    if (s->how[0].join) {
        lv now[2];
        tr_lower_load_at(s->w, &s->scat[0], off, now);
        tr_red_combine(s, &s->how[0], now, x);
        memcpy(x, now, sizeof x);
    }
    tr_lower_store_at(s->w, &s->scat[0], off, x);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
}

static void join_table(tr_lpat *s, lv table) {
    each_item(s, table, has_marks(s) ? put_item : join_item);
}

/* The rounds from `first` to s->end, with a table. */
static void walk_table(tr_lpat *s, const tr_nest *n, lv first, lv table) {
    tr_lpat t = *s;
    t.scat = tr_arena_copy(&s->w->m->ctx->arena, s->scat, sizeof *s->scat);
    t.first = first;
    t.scat[0].data = table;
    t.marks = has_marks(s) ? marks_of(s, table) : NULL;
    memcpy(t.scat[0].stride, s->cstride, s->scat[0].ty->ndim * sizeof *s->cstride);
    clear_table(s, table);
    tr_lower_nest(&t, n, NULL);
}

/* The same loop for both. */
static void walk_either(tr_lpat *s, const tr_nest *n, lv first, lv own, lv table) {
    LLVMBuilderRef b = s->w->b;
    tr_larr *a = &s->scat[0], target = *a;
    tr_lpat t = *s;
    t.scat = tr_arena_copy(&s->w->m->ctx->arena, a, sizeof *a);
    t.first = first;
    lb go_on = tr_lower_unless(s->w, own);
    clear_table(s, table);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
    t.scat[0].data = l_select(b, own, target.data, table);
    for (unsigned k = 0; k < target.ty->ndim; k++)
        if (target.stride[k] != s->cstride[k])
            t.scat[0].stride[k] = l_select(b, own, target.stride[k], s->cstride[k]);
    tr_lower_nest(&t, n, NULL);
}

/* The rounds from `first` to s->end, with the target itself (own), or with a table. A store that marks costs
 * as much as the one to the target, which has a loop without. */
static void walk_block(tr_lpat *s, const tr_nest *n, lv first, lv own, lv table) {
    LLVMBuilderRef b = s->w->b;
    if (!has_marks(s)) {
        walk_either(s, n, first, own, table);
        return;
    }
    lb yes = tr_lower_block(s->w, ""), no = tr_lower_block(s->w, ""), go_on = tr_lower_block(s->w, "");
    tr_lpat t = *s;
    t.first = first;
    LLVMBuildCondBr(b, own, yes, no);
    l_at_end(b, yes);
    tr_lower_nest(&t, n, NULL);
    LLVMBuildBr(b, go_on);
    l_at_end(b, no);
    walk_table(s, n, first, table);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
}

void tr_spread_nest(tr_lpat *s, const tr_nest *t) {
    tr_lf *w = s->w;
    LLVMBuilderRef b = w->b;
    lv zero = l_int(w->m->i64, 0), n = s->ext[s->outer];
    describe(s);
    lv rows = block_rows(s, inner_size(s)), many = l_icmp(b, LLVMIntSLT, rows, n);
    lv room = make_room(s, LLVMBuildZExt(b, many, w->m->i64, "")), table = table_at(s, room, zero);
    tr_lloop l;
    s->ncarry = 0;
    tr_lloop_begin(s, &l, zero, n);
    lv left = l_sub(b, n, l.iv),
       end = l_select(b, l_icmp(b, LLVMIntSLT, left, rows), n, LLVMBuildNSWAdd(b, l.iv, rows, ""));
    lv own = l_icmp(b, LLVMIntEQ, l.iv, zero);
    s->end = end;
    walk_block(s, t->in, l.iv, own, table);
    s->end = NULL;
    lb go_on = tr_lower_unless(w, own);
    join_table(s, table);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
    tr_lloop_end(s, &l, end);
    leave_room(s, room);
}

/* --- parts of the target --- */

/* Each round is walked by every part: what else it stores, perhaps where it reads, must not be; and a
 * function of the user's is given nothing but values. */
static bool has_parts(const tr_lpat *s) {
    return !s->p->nout && !s->how[0].join;
}

/* Rounds between asking for an element of the target and combining it: as many as a core fetches at once. A
 * core would not look that far ahead by itself. */
enum { RING = 32, SPARE = 16 };

/* Where the values of the rounds that wait are, as an array; their places stand before them. */
static tr_larr waiting(const tr_lpat *s) {
    lv head = l_int(s->w->m->i64, RING * 8);
    return flat(s, LLVMBuildGEP2(s->w->b, s->w->m->i8, s->ring, &head, 1, ""));
}

static lv waiting_at(const tr_lpat *s, lv turn) {
    return LLVMBuildGEP2(s->w->b, s->w->m->ptr, s->ring, &turn, 1, "");
}

static lv spare_at(const tr_lpat *s, lv turn) {
    lv at = LLVMBuildNSWMul(s->w->b, turn, l_int(s->w->m->i64, SPARE), "");
    return LLVMBuildGEP2(s->w->b, s->w->m->i8, s->spare, &at, 1, "");
}

/* Nothing that counts waits. */
static void begin_ring(tr_lpat *s) {
    tr_lf *w = s->w;
    lt i64 = w->m->i64;
    s->ring = tr_lower_buffer(w, RING * (8 + SPARE), 16, "ring");
    s->turn = tr_lower_alloca(w, i64, "turn");
    LLVMBuildMemSet(w->b, s->spare, l_int(w->m->i8, 0), l_int(i64, RING * SPARE), 16);
    LLVMBuildMemSet(w->b, s->ring, l_int(w->m->i8, 0), l_int(i64, RING * (8 + SPARE)), 16);
    LLVMBuildStore(w->b, l_int(i64, 0), s->turn);
    for (int k = 0; k < RING; k++)
        LLVMBuildStore(w->b, spare_at(s, l_int(i64, k)), waiting_at(s, l_int(i64, k)));
}

static void combine_waiting(tr_lpat *s, lv turn) {
    lv zero = l_int(s->w->m->i64, 0), now[2], x[2];
    tr_larr values = waiting(s),
            target = flat(s, LLVMBuildLoad2(s->w->b, s->w->m->ptr, waiting_at(s, turn), ""));
    tr_lower_load_at(s->w, &values, turn, x);
    tr_lower_load_at(s->w, &target, zero, now);
    tr_red_combine(s, &s->how[0], now, x);
    tr_lower_store_at(s->w, &target, zero, now);
}

static lv after(const tr_lpat *s, lv turn, lv n) {
    return l_and(s->w->b, LLVMBuildNUWAdd(s->w->b, turn, n, ""), l_int(s->w->m->i64, RING - 1));
}

/* The value y waits for its place, and the one that has waited longest goes. */
static void wait_for(tr_lpat *s, lv place, lv turn, const lv *y) {
    tr_lm *m = s->w->m;
    tr_larr values = waiting(s);
    combine_waiting(s, turn);
    LLVMBuildStore(s->w->b, place, waiting_at(s, turn));
    tr_lower_store_at(s->w, &values, turn, y);
    lv args[] = {place, l_int(m->i32, 1), l_int(m->i32, 3), l_int(m->i32, 1)};
    tr_lower_intrinsic(s->w, "llvm.prefetch", m->ptr, 4, args);
    LLVMBuildStore(s->w->b, after(s, turn, l_int(m->i64, 1)), s->turn);
}

static void end_ring(tr_lpat *s) {
    lt i64 = s->w->m->i64;
    lv turn = LLVMBuildLoad2(s->w->b, i64, s->turn, "");
    tr_lloop l;
    s->ncarry = 0;
    tr_lloop_begin(s, &l, l_int(i64, 0), l_int(i64, RING));
    combine_waiting(s, after(s, turn, l.iv));
    tr_lloop_end(s, &l, LLVMBuildNUWAdd(s->w->b, l.iv, l_int(i64, 1), ""));
}

/* What is not of the part goes to a spare place, so that there is no branch to guess. */
void tr_spread_part(tr_lpat *s, lv off, const lv *y) {
    LLVMBuilderRef b = s->w->b;
    tr_larr table = s->scat[0], own = table;
    memcpy(table.stride, s->cstride, table.ty->ndim * sizeof *s->cstride);
    lv at = LLVMBuildSub(b, tr_lower_offset_of(s, &table, y), s->part, "");
    lv last = s->idx[s->axis[s->ndim - 1]], wrap = l_int(s->w->m->i64, RING - 1);
    lv turn = s->turn ? LLVMBuildLoad2(b, s->w->m->i64, s->turn, "") : l_and(b, last, wrap);
    lv mine = l_icmp(b, LLVMIntULT, at, s->len);
    own.data = l_select(b, mine, tr_lower_address(s->w, &own, off), spare_at(s, turn));
    y += table.ty->ndim;
    if (s->turn)
        wait_for(s, own.data, turn, y);
    else /* the last one stays: nothing is read, so nothing needs to wait */
        tr_lower_store_at(s->w, &own, l_int(s->w->m->i64, 0), y);
}

/* --- by all threads: the calling side, around the ranges, and one range, which is a block --- */

lv tr_spread_begin(tr_lpat *s, lv *rows, lv *parts) {
    lv one = l_int(s->w->m->i64, 1);
    describe(s);
    lv inner = inner_size(s);
    *rows = block_rows(s, inner);
    *parts = l_int(s->w->m->i64, 0);
    if (has_parts(s)) {
        lv args[] = {*rows, s->ext[s->outer], inner, value_bytes(s), l_int(s->w->m->i64, has_marks(s))};
        tr_lower_rt(s->w, TR_RT_SCATTERPARTS, 5, args, NULL, parts);
        lv apart = is_apart(s);
        *parts = apart ? l_select(s->w->b, apart, *parts, l_int(s->w->m->i64, 0)) : *parts;
    }
    return make_room(s, l_sub(s->w->b, count_blocks(s, *rows), one));
}

/* All rounds, of which part number r of the target is stored to: in their order, so with
 * the bits of one thread. */
static void walk_part(tr_lpat *c, const tr_nest *n, lv parts, lv r) {
    LLVMBuilderRef b = c->w->b;
    lt i64 = c->w->m->i64;
    lv up = l_sub(b, LLVMBuildNSWAdd(b, c->size, parts, ""), l_int(i64, 1)),
       step = l_int(i64, TR_SCATTER_STEP);
    lv len = LLVMBuildNSWAdd(b, LLVMBuildUDiv(b, up, parts, ""), step, "");
    tr_lpat t = *c;
    t.first = t.end = NULL;
    t.len = l_and(b, len, l_int(i64, -TR_SCATTER_STEP));
    t.part = LLVMBuildNSWMul(b, r, t.len, "");
    t.spare = tr_lower_buffer(c->w, RING * SPARE, 16, "spare");
    if (!has_marks(c))
        begin_ring(&t);
    tr_lower_nest(&t, n, NULL);
    if (!has_marks(c))
        end_ring(&t);
}

void tr_spread_range(tr_lpat *c, const tr_nest *n, lv room, lv parts, lv r) {
    LLVMBuilderRef b = c->w->b;
    lt i64 = c->w->m->i64;
    lv zero = l_int(i64, 0), before = l_sub(b, r, l_int(i64, 1));
    if (!has_parts(c)) {
        walk_block(c, n->in, c->first, l_icmp(b, LLVMIntEQ, r, zero), table_at(c, room, before));
        return;
    }
    lb some = tr_lower_block(c->w, ""), none = tr_lower_block(c->w, ""), go_on = tr_lower_block(c->w, "");
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntSGT, parts, zero), some, none);
    l_at_end(b, some);
    walk_part(c, n->in, parts, r);
    LLVMBuildBr(b, go_on);
    l_at_end(b, none);
    walk_block(c, n->in, c->first, l_icmp(b, LLVMIntEQ, r, zero), table_at(c, room, before));
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
}

void tr_spread_end(tr_lpat *s, lv room, lv rows) {
    lv one = l_int(s->w->m->i64, 1);
    tr_lloop l;
    s->ncarry = 0;
    tr_lloop_begin(s, &l, one, count_blocks(s, rows));
    join_table(s, table_at(s, room, l_sub(s->w->b, l.iv, one)));
    tr_lloop_end(s, &l, LLVMBuildNUWAdd(s->w->b, l.iv, one, ""));
    leave_room(s, room);
}
