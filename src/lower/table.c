/* Tables (privatisation, in the field's words): room like an array, in C order, in which some rounds collect
 * what is joined to the array afterwards. A table begins with what changes nothing; where there is nothing of
 * that kind, as the last value wins or a function of the user's joins, marks beside its values say which of
 * its places have one. A scatter has tables for blocks of its rounds (spread.c), and rounds that are all
 * given one array have one each (P_TABLE). Cost: clearing and joining touch as many elements as the array
 * has. */
#include "lower/pattern.h"

#include <string.h>

void tr_table_describe(tr_lpat *s) {
    LLVMBuilderRef b = s->w->b;
    for (unsigned i = 0; i < s->ntables; i++) {
        tr_ltable *t = &s->table[i];
        t->size = l_int(s->w->m->i64, 1);
        for (unsigned k = s->scat[i].ty->ndim; k-- > 0;) {
            t->stride[k] = t->size;
            t->size = LLVMBuildNSWMul(b, t->size, s->scat[i].shape[k], "");
        }
    }
}

bool tr_table_has_marks(const tr_lpat *s, unsigned i) {
    return s->how[i].join || (s->p->nscat && tr_pat_scatter(s->p, i) == TR_SCATTER_PUT);
}

lv tr_table_values(const tr_lpat *s, unsigned i) {
    return LLVMBuildNSWMul(s->w->b, s->table[i].size, l_int(s->w->m->i64, tr_ty_size(s->scat[i].ty->elem)),
                           "");
}

/* From one table to the next: no two have a cache line in common, nor two that are fetched together. */
static lv table_bytes(const tr_lpat *s, unsigned i) {
    enum { LINES = 128 };
    lt i64 = s->w->m->i64;
    lv bytes = tr_table_values(s, i);
    if (tr_table_has_marks(s, i))
        bytes = LLVMBuildNSWAdd(s->w->b, bytes, s->table[i].size, "");
    return l_and(s->w->b, LLVMBuildNSWAdd(s->w->b, bytes, l_int(i64, 2 * LINES - 1), ""), l_int(i64, -LINES));
}

/* Of the first n tables, or of all. */
static lv all_bytes(const tr_lpat *s, unsigned n) {
    lv bytes = l_int(s->w->m->i64, 0);
    for (unsigned i = 0; i < n; i++)
        bytes = i ? LLVMBuildNSWAdd(s->w->b, bytes, table_bytes(s, i), "") : table_bytes(s, i);
    return bytes;
}

lv tr_table_room(tr_lpat *s, lv n) {
    tr_lf *w = s->w;
    LLVMBuilderRef b = w->b;
    lb from = l_here(b), some = tr_lower_block(w, ""), go_on = tr_lower_block(w, "");
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntSGT, n, l_int(w->m->i64, 0)), some, go_on);
    l_at_end(b, some);
    lv mem = tr_lower_memory(w, s->v, LLVMBuildNSWMul(b, all_bytes(s, s->ntables), n, ""));
    lb ok = l_here(b);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
    lv p = LLVMBuildPhi(b, w->m->ptr, "");
    l_incoming(p, LLVMConstNull(w->m->ptr), from);
    l_incoming(p, mem, ok);
    return p;
}

void tr_table_leave_room(tr_lpat *s, lv room) {
    LLVMBuilderRef b = s->w->b;
    lb go_on = tr_lower_unless(s->w, LLVMBuildIsNull(b, room, ""));
    tr_lower_rt(s->w, TR_RT_FREE, 1, &room, NULL, NULL);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
}

lv tr_table_at(tr_lpat *s, unsigned i, lv room, lv k) {
    LLVMBuilderRef b = s->w->b;
    lv at = LLVMBuildNSWAdd(b, all_bytes(s, i), l_int(s->w->m->i64, TR_MEM_ALIGN), "");
    at = LLVMBuildNSWAdd(b, LLVMBuildNSWMul(b, all_bytes(s, s->ntables), k, ""), at, "");
    return LLVMBuildGEP2(b, s->w->m->i8, room, &at, 1, "");
}

lv tr_table_marks(const tr_lpat *s, unsigned i, lv table) {
    lv at = tr_table_values(s, i);
    return LLVMBuildGEP2(s->w->b, s->w->m->i8, table, &at, 1, "");
}

tr_larr tr_table_flat(const tr_lpat *s, unsigned i, lv table) {
    tr_larr a = s->scat[i];
    a.data = table;
    return a;
}

static void each_item(tr_lpat *s, unsigned i, lv table,
                      void (*visit)(tr_lpat *, unsigned, const tr_larr *, lv)) {
    tr_larr a = tr_table_flat(s, i, table);
    tr_lloop l;
    unsigned carried = s->ncarry;
    s->ncarry = 0;
    tr_lloop_begin(s, &l, l_int(s->w->m->i64, 0), s->table[i].size);
    visit(s, i, &a, l.iv);
    tr_lloop_end(s, &l, LLVMBuildNUWAdd(s->w->b, l.iv, l_int(s->w->m->i64, 1), ""));
    s->ncarry = carried;
}

static void clear_item(tr_lpat *s, unsigned i, const tr_larr *table, lv at) {
    lv x[2];
    tr_red_identity_parts(s, &s->how[i], x);
    tr_lower_store_at(s->w, table, at, x);
}

void tr_table_clear(tr_lpat *s, unsigned i, lv table) {
    if (tr_table_has_marks(s, i))
        LLVMBuildMemSet(s->w->b, tr_table_marks(s, i, table), l_int(s->w->m->i8, 0), s->table[i].size, 1);
    else
        each_item(s, i, table, clear_item);
}

/* Where item number `at`, in C order, lies in the array. */
static lv offset_in_array(tr_lpat *s, unsigned i, lv at) {
    LLVMBuilderRef b = s->w->b;
    const tr_larr *a = &s->scat[i];
    lv off = l_int(s->w->m->i64, 0);
    for (unsigned k = 0; k < a->ty->ndim; k++) {
        bool last = k + 1 == a->ty->ndim;
        lv x = last ? at : LLVMBuildUDiv(b, at, s->table[i].stride[k], "");
        at = last ? at : LLVMBuildURem(b, at, s->table[i].stride[k], "");
        off = LLVMBuildNSWAdd(b, off, LLVMBuildNSWMul(b, x, a->stride[k], ""), "");
    }
    return off;
}

/* Is the complex number the 1 that a table began with? By that an infinite one is not multiplied: it would
 * be none then. NULL: what a table begins with changes no number. */
static lv is_product_of_none(const tr_lpat *s, unsigned i, const lv *x) {
    LLVMBuilderRef b = s->w->b;
    const tr_lred *how = &s->how[i];
    if (how->kind != TR_RED_MUL || !tr_ty_is_complex(how->ty))
        return NULL;
    lt bits = how->ty->kind == TR_TY_C64 ? s->w->m->i32 : s->w->m->i64;
    lv one = LLVMBuildFCmp(b, LLVMRealOEQ, x[0], LLVMConstReal(LLVMTypeOf(x[0]), 1.0), "");
    return l_and(b, one, l_icmp(b, LLVMIntEQ, LLVMBuildBitCast(b, x[1], bits, ""), l_int(bits, 0)));
}

static void join_item(tr_lpat *s, unsigned i, const tr_larr *table, lv at) {
    lv now[2], x[2], off = offset_in_array(s, i, at);
    tr_lower_load_at(s->w, &s->scat[i], off, now);
    tr_lower_load_at(s->w, table, at, x);
    lv was[2] = {now[0], now[1]}, none = is_product_of_none(s, i, x);
    tr_red_combine(s, &s->how[i], now, x);
    for (unsigned k = 0; none && k < 2; k++)
        now[k] = l_select(s->w->b, none, was[k], now[k]);
    tr_lower_store_at(s->w, &s->scat[i], off, now);
}

static void put_item(tr_lpat *s, unsigned i, const tr_larr *table, lv at) {
    LLVMBuilderRef b = s->w->b;
    lt i8 = s->w->m->i8;
    lv x[2], marks = tr_table_marks(s, i, table->data),
             has = LLVMBuildLoad2(b, i8, LLVMBuildGEP2(b, i8, marks, &at, 1, ""), "");
    lb go_on = tr_lower_unless(s->w, l_icmp(b, LLVMIntEQ, has, l_int(i8, 0)));
    tr_lower_load_at(s->w, table, at, x);
    lv off = offset_in_array(s, i, at);
    if (s->how[i].join) {
        lv now[2];
        tr_lower_load_at(s->w, &s->scat[i], off, now);
        tr_red_combine(s, &s->how[i], now, x);
        memcpy(x, now, sizeof x);
    }
    tr_lower_store_at(s->w, &s->scat[i], off, x);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
}

void tr_table_join(tr_lpat *s, unsigned i, lv table) {
    each_item(s, i, table, tr_table_has_marks(s, i) ? put_item : join_item);
}

/* --- rounds that have one each --- */

/* The first round has the array itself. */
static lv is_first(const tr_lpat *s) {
    return l_icmp(s->w->b, LLVMIntEQ, s->idx[0], l_int(s->w->m->i64, 0));
}

/* Of this round. One thread joins a table before it begins the next one, which is the same then. */
static lv own_table(tr_lpat *s, unsigned i) {
    lv k = s->shared ? l_sub(s->w->b, s->idx[0], l_int(s->w->m->i64, 1)) : l_int(s->w->m->i64, 0);
    return tr_table_at(s, i, s->tables, k);
}

void tr_table_enter(tr_lpat *s, lv *caps) {
    LLVMBuilderRef b = s->w->b;
    lv first = is_first(s);
    lb go_on = tr_lower_unless(s->w, first);
    for (unsigned i = 0; i < s->ntables; i++)
        tr_table_clear(s, i, own_table(s, i));
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
    for (unsigned i = 0, at = 0; i < s->ntables; at += tr_ty_nparts(s->scat[i++].ty))
        caps[at + 1] = l_select(b, first, s->scat[i].data, own_table(s, i)); /* behind its owner */
}

static void join_all(tr_lpat *s, lv k) {
    for (unsigned i = 0; i < s->ntables; i++)
        tr_table_join(s, i, tr_table_at(s, i, s->tables, k));
}

void tr_table_leave(tr_lpat *s) {
    lb go_on;
    if (s->shared)
        return;
    go_on = tr_lower_unless(s->w, is_first(s));
    join_all(s, l_int(s->w->m->i64, 0));
    LLVMBuildBr(s->w->b, go_on);
    l_at_end(s->w->b, go_on);
}

void tr_table_begin(tr_lpat *s, bool all) {
    LLVMBuilderRef b = s->w->b;
    lv one = l_int(s->w->m->i64, 1), n = l_sub(b, s->ext[0], one);
    tr_table_describe(s);
    s->tables = tr_table_room(s, all ? n : l_select(b, l_icmp(b, LLVMIntSGT, n, one), one, n));
}

void tr_table_end(tr_lpat *s, bool all) {
    lv one = l_int(s->w->m->i64, 1);
    tr_lloop l;
    if (all) {
        s->ncarry = 0;
        tr_lloop_begin(s, &l, one, s->ext[0]);
        join_all(s, l_sub(s->w->b, l.iv, one));
        tr_lloop_end(s, &l, LLVMBuildNSWAdd(s->w->b, l.iv, one, ""));
    }
    tr_table_leave_room(s, s->tables);
}
