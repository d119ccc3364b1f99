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
    tr_lower_rt(s->w, TR_RT_SCATTERROWS, 4, (lv[]){n, inner, s->table[0].size, any}, NULL, &rows);
    lv apart = is_apart(s), one = greater(b, n, l_int(s->w->m->i64, 1));
    return apart ? l_select(b, apart, rows, one) : rows;
}

/* Number of blocks of so many rounds. */
static lv count_blocks(tr_lpat *s, lv rows) {
    LLVMBuilderRef b = s->w->b;
    lv up = l_sub(b, LLVMBuildNSWAdd(b, s->ext[s->outer], rows, ""), l_int(s->w->m->i64, 1));
    return LLVMBuildUDiv(b, up, rows, "");
}

/* The rounds from `first` to s->end, with a table. */
static void walk_table(tr_lpat *s, const tr_nest *n, lv first, lv table) {
    tr_lpat t = *s;
    t.scat = tr_arena_copy(&s->w->m->ctx->arena, s->scat, sizeof *s->scat);
    t.first = first;
    t.scat[0].data = table;
    t.marks = tr_table_has_marks(s, 0) ? tr_table_marks(s, 0, table) : NULL;
    memcpy(t.scat[0].stride, s->table[0].stride, s->scat[0].ty->ndim * sizeof *s->table[0].stride);
    tr_table_clear(s, 0, table);
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
    tr_table_clear(s, 0, table);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
    t.scat[0].data = l_select(b, own, target.data, table);
    for (unsigned k = 0; k < target.ty->ndim; k++)
        if (target.stride[k] != s->table[0].stride[k])
            t.scat[0].stride[k] = l_select(b, own, target.stride[k], s->table[0].stride[k]);
    tr_lower_nest(&t, n, NULL);
}

/* The rounds from `first` to s->end, with the target itself (own), or with a table. A store that marks costs
 * as much as the one to the target, which has a loop without. */
static void walk_block(tr_lpat *s, const tr_nest *n, lv first, lv own, lv table) {
    LLVMBuilderRef b = s->w->b;
    if (!tr_table_has_marks(s, 0)) {
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
    tr_table_describe(s);
    lv rows = block_rows(s, inner_size(s)), many = l_icmp(b, LLVMIntSLT, rows, n);
    lv room = tr_table_room(s, LLVMBuildZExt(b, many, w->m->i64, "")), table = tr_table_at(s, 0, room, zero);
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
    tr_table_join(s, 0, table);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
    tr_lloop_end(s, &l, end);
    tr_table_leave_room(s, room);
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
    return tr_table_flat(s, 0, LLVMBuildGEP2(s->w->b, s->w->m->i8, s->ring, &head, 1, ""));
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
            target = tr_table_flat(s, 0, LLVMBuildLoad2(s->w->b, s->w->m->ptr, waiting_at(s, turn), ""));
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
    memcpy(table.stride, s->table[0].stride, table.ty->ndim * sizeof *s->table[0].stride);
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
    tr_table_describe(s);
    lv inner = inner_size(s);
    *rows = block_rows(s, inner);
    *parts = l_int(s->w->m->i64, 0);
    if (has_parts(s)) {
        lv args[] = {*rows, s->ext[s->outer], inner, tr_table_values(s, 0),
                     l_int(s->w->m->i64, tr_table_has_marks(s, 0))};
        tr_lower_rt(s->w, TR_RT_SCATTERPARTS, 5, args, NULL, parts);
        lv apart = is_apart(s);
        *parts = apart ? l_select(s->w->b, apart, *parts, l_int(s->w->m->i64, 0)) : *parts;
    }
    return tr_table_room(s, l_sub(s->w->b, count_blocks(s, *rows), one));
}

/* All rounds, of which part number r of the target is stored to: in their order, so with
 * the bits of one thread. */
static void walk_part(tr_lpat *c, const tr_nest *n, lv parts, lv r) {
    LLVMBuilderRef b = c->w->b;
    lt i64 = c->w->m->i64;
    lv up = l_sub(b, LLVMBuildNSWAdd(b, c->table[0].size, parts, ""), l_int(i64, 1)),
       step = l_int(i64, TR_SCATTER_STEP);
    lv len = LLVMBuildNSWAdd(b, LLVMBuildUDiv(b, up, parts, ""), step, "");
    tr_lpat t = *c;
    t.first = t.end = NULL;
    t.len = l_and(b, len, l_int(i64, -TR_SCATTER_STEP));
    t.part = LLVMBuildNSWMul(b, r, t.len, "");
    t.spare = tr_lower_buffer(c->w, RING * SPARE, 16, "spare");
    if (!tr_table_has_marks(c, 0))
        begin_ring(&t);
    tr_lower_nest(&t, n, NULL);
    if (!tr_table_has_marks(c, 0))
        end_ring(&t);
}

void tr_spread_range(tr_lpat *c, const tr_nest *n, lv room, lv parts, lv r) {
    LLVMBuilderRef b = c->w->b;
    lt i64 = c->w->m->i64;
    lv zero = l_int(i64, 0), before = l_sub(b, r, l_int(i64, 1));
    if (!has_parts(c)) {
        walk_block(c, n->in, c->first, l_icmp(b, LLVMIntEQ, r, zero), tr_table_at(c, 0, room, before));
        return;
    }
    lb some = tr_lower_block(c->w, ""), none = tr_lower_block(c->w, ""), go_on = tr_lower_block(c->w, "");
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntSGT, parts, zero), some, none);
    l_at_end(b, some);
    walk_part(c, n->in, parts, r);
    LLVMBuildBr(b, go_on);
    l_at_end(b, none);
    walk_block(c, n->in, c->first, l_icmp(b, LLVMIntEQ, r, zero), tr_table_at(c, 0, room, before));
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
}

void tr_spread_end(tr_lpat *s, lv room, lv rows) {
    lv one = l_int(s->w->m->i64, 1);
    tr_lloop l;
    s->ncarry = 0;
    tr_lloop_begin(s, &l, one, count_blocks(s, rows));
    tr_table_join(s, 0, tr_table_at(s, 0, room, l_sub(s->w->b, l.iv, one)));
    tr_lloop_end(s, &l, LLVMBuildNUWAdd(s->w->b, l.iv, one, ""));
    tr_table_leave_room(s, room);
}
