/* A pattern by all threads of the pool: its loops as a function over a range of the outermost one, and a call
 * of the runtime that runs it range by range (rt/parallel.c).
 *
 * The ranges depend on the extents alone (tr_rt_grain): at most TR_PAR_RANGES of them, a power of two long.
 * Each leaves the values of its reductions in a place of its own, and the calling thread joins them in order;
 * so results do not depend on the number of threads. Sums of floats are the very ones of the sequential loop:
 * a range is a node of their tree, and so where there are several axes it is one of elements in order, which
 * begins and ends within rows (tr_lower_cut). Ranges of a scan are a chain (tr_chain): each takes the
 * total of what it contributes, waits for the one before, reads the value it begins with, hands on that and
 * its total, and only then walks its elements. They are short, so that the second walk finds them in the
 * cache. What the loops use of the function around them goes through an array of slots. */
#include "base/plant.h"
#include "ir/summary.h"
#include "lower/pattern.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* What the two functions share: values of the calling one, a slot each. */
typedef struct share {
    tr_lf *w; /* whose instructions are made */
    lv slots;
    unsigned n;
} share;

static lv slot(tr_lf *w, lv slots, unsigned i) {
    lv o = l_int(w->m->i64, i);
    return LLVMBuildInBoundsGEP2(w->b, w->m->i64, slots, &o, 1, "");
}

static lt memory_type(const tr_lm *m, lt t) {
    return t == m->i1 ? m->i8 : t;
}

static void store_as(tr_lf *w, lv x, lv at) {
    if (LLVMTypeOf(x) == w->m->i1)
        x = LLVMBuildZExt(w->b, x, w->m->i8, "");
    LLVMBuildStore(w->b, x, at);
}

static lv load_as(tr_lf *w, lt t, lv at) {
    lv x = LLVMBuildLoad2(w->b, memory_type(w->m, t), at, "");
    return t == w->m->i1 ? l_icmp(w->b, LLVMIntNE, x, l_int(w->m->i8, 0)) : x;
}

/* --- what the loops take from outside --- */

/* The first array that lies exactly as array i does: LLVM must see that their elements are the same ones. */
static unsigned find_same(const tr_larr *arr, unsigned i) {
    unsigned k = 0;
    while (!tr_lower_is_same(&arr[k], &arr[i]))
        k++;
    return k;
}

static void each_of(tr_larr *arr, unsigned n, bool strides, void (*visit)(share *, lv *), share *u) {
    unsigned *same = TR_NEW_N(&u->w->m->ctx->arena, unsigned, n + 1u);
    for (unsigned i = 0; i < n; i++)
        same[i] = find_same(arr, i);
    for (unsigned i = 0; i < n; i++) {
        if (same[i] < i) {
            arr[i].data = arr[same[i]].data;
            memcpy(arr[i].stride, arr[same[i]].stride, sizeof arr[i].stride);
            continue;
        }
        visit(u, &arr[i].data);
        for (unsigned k = 0; k < arr[i].ty->ndim && strides; k++)
            visit(u, &arr[i].stride[k]);
    }
}

static void each_value(tr_lpat *s, void (*visit)(share *, lv *), share *u) {
    for (unsigned k = 0; k < (s->line ? 1u : s->p->nspace); k++)
        visit(u, &s->ext[k]);
    each_of(s->arr, s->narr, !s->line, visit, u);
    each_of(s->earr, (unsigned)s->p->nein + s->p->neout, true, visit, u);
    each_of(s->filt, s->p->nfilt, false, visit, u);
    each_of(s->best, s->p->nbest, true, visit, u);
    if (s->p->ntop)
        visit(u, &s->k);
    each_of(s->scat, 0u + s->p->nscat + s->p->ntable, true, visit, u);
    for (unsigned i = 0; i < s->ntables; i++) {
        visit(u, &s->table[i].size);
        for (unsigned k = 0; k < s->scat[i].ty->ndim; k++)
            visit(u, &s->table[i].stride[k]);
    }
    if (s->tables)
        visit(u, &s->tables);
    if (s->p->nfilt)
        visit(u, &s->last);
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++)
        for (unsigned k = 0; k < tr_ty_nparts(s->red[i].init_ty); k++)
            visit(u, &s->red[i].init[k]);
    for (unsigned i = 0; i < s->ncaps; i++)
        visit(u, &s->caps[i]);
}

static void count(share *u, lv *x) {
    u->n += !LLVMIsConstant(*x);
}

static void give(share *u, lv *x) {
    if (!LLVMIsConstant(*x))
        store_as(u->w, *x, slot(u->w, u->slots, u->n++));
}

static void take(share *u, lv *x) {
    if (!LLVMIsConstant(*x))
        *x = load_as(u->w, LLVMTypeOf(*x), slot(u->w, u->slots, u->n++));
}

/* --- places for what the ranges reduce --- */

/* Slots 0 to 2: the length of a range, where the places are (or a scatter's tables), and the tr_chain (or how
 * many parts a scatter's target has). */
enum { GRAIN, PLACES, CHAIN, FIRST, PARTS = CHAIN };

static lt part_type(const tr_lpat *s, unsigned i, unsigned k) {
    return LLVMTypeOf(s->red[i].init[k]);
}

/* Address of part number `part` (over all reductions) of range r: each part has an array of its own. */
static lv place(tr_lf *w, lv places, unsigned part, lt t, lv r) {
    lv o = l_int(w->m->i64, (long long)part * TR_PAR_RANGES);
    lv base = LLVMBuildInBoundsGEP2(w->b, w->m->i64, places, &o, 1, "");
    return LLVMBuildInBoundsGEP2(w->b, memory_type(w->m, t), base, &r, 1, "");
}

/* Scans have none: their values go along the chain. */
static unsigned first_placed(const tr_lpat *s) {
    return s->p->keep ? tr_pat_nred(s->p) : s->p->nscan;
}

static unsigned count_parts(const tr_lpat *s, unsigned from, unsigned to) {
    unsigned n = 0;
    for (unsigned i = from; i < to; i++)
        n += tr_ty_nparts(s->red[i].ty);
    return n;
}

static bool is_chain(const tr_lpat *s) {
    return s->p->nscan && !s->p->keep;
}

/* Ranges of the elements of which some are chosen; else they are of rows. */
static bool is_one_choice(const tr_lpat *s) {
    return s->p->ntop && !s->p->keep;
}

/* --- the function over a range --- */

static lv new_function(tr_lf *w) {
    tr_lm *m = w->m;
    lt params[] = {m->ptr, m->ptr, m->i64, m->i64, m->i32};
    lv fn = LLVMAddFunction(m->mod, "range", LLVMFunctionType(m->i32, params, 5, 0));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    tr_lower_common_attrs(m, fn);
    for (unsigned i = 0; i < 2; i++)
        tr_lower_param_attr(m, fn, i, TR_LA_NOALIAS);
    tr_lower_param_attr(m, fn, 1, TR_LA_READONLY);
    return fn;
}

/* The same pattern for another function: nothing that changes is shared. */
static tr_lpat copy_of(const tr_lpat *s, tr_lf *w) {
    tr_arena *a = &w->m->ctx->arena;
    tr_lpat c = *s;
    unsigned nearr = (unsigned)s->p->nein + s->p->neout;
    c.w = w;
    c.arr = tr_arena_copy(a, s->arr, (s->narr + 1u) * sizeof *s->arr);
    c.earr = tr_arena_copy(a, s->earr, (nearr + 1u) * sizeof *s->earr);
    c.red = tr_red_copy(s);
    c.caps = tr_arena_copy(a, s->caps, (s->ncaps + 1u) * sizeof *s->caps);
    c.filt = tr_arena_copy(a, s->filt, (s->p->nfilt + 1u) * sizeof *s->filt);
    c.best = tr_arena_copy(a, s->best, (s->p->nbest + 1u) * sizeof *s->best);
    c.scat = tr_arena_copy(a, s->scat, (0u + s->p->nscat + s->p->ntable + 1u) * sizeof *s->scat);
    c.table = tr_arena_copy(a, s->table, (s->ntables + 1u) * sizeof *s->table);
    c.scratch = TR_NEW_N(a, lv, s->p->nfilt + 1u);
    c.carry = TR_NEW_N(a, lv, tr_most_carried(s->p));
    c.off = TR_NEW_N(a, lv, (s->ndim + 1) * s->narr + 1);
    for (unsigned i = 0; i < s->narr; i++)
        c.off[i] = l_int(w->m->i64, 0);
    return c;
}

static lv range_number(tr_lpat *c, const share *u) {
    lv grain = LLVMBuildLoad2(c->w->b, c->w->m->i64, slot(c->w, u->slots, GRAIN), "");
    return LLVMBuildUDiv(c->w->b, c->first, grain, "");
}

/* out: parts of all reductions. */
static void leave_values(tr_lpat *c, const share *u, const lv *out) {
    tr_lf *w = c->w;
    lv places = LLVMBuildLoad2(w->b, w->m->ptr, slot(w, u->slots, PLACES), ""), r = range_number(c, u);
    unsigned from = first_placed(c), part = 0;
    out += count_parts(c, 0, from);
    for (unsigned i = from; i < tr_pat_nred(c->p); i++)
        for (unsigned k = 0; k < tr_ty_nparts(c->red[i].ty); k++, part++)
            store_as(w, out[part], place(w, places, part, LLVMTypeOf(out[part]), r));
}

/* --- chains --- */

/* Where part number `part` of the scans' values stands in a tr_chain. */
static lv link_at(tr_lf *w, lv chain, unsigned part) {
    return slot(w, chain, (unsigned)(offsetof(tr_chain, value) / sizeof(tr_slot)) + part);
}

static void put_values(const tr_lpat *s, lv chain, const lv *parts) {
    unsigned n = count_parts(s, 0, s->p->nscan);
    for (unsigned i = 0; i < n; i++)
        store_as(s->w, parts[i], link_at(s->w, chain, i));
}

/* What the scans begin with: not more than packed arrays have room for, whatever happened
 * to the mask between two looks at it. */
static void begin_at(tr_lpat *c, lv chain) {
    LLVMBuilderRef b = c->w->b;
    for (unsigned i = 0, part = 0; i < c->p->nscan; i++)
        for (unsigned k = 0; k < tr_ty_nparts(c->red[i].ty); k++, part++)
            c->red[i].init[k] = load_as(c->w, part_type(c, i, k), link_at(c->w, chain, part));
    if (c->p->nfilt) {
        lv at = c->red[0].init[0];
        c->red[0].init[0] = l_select(b, l_icmp(b, LLVMIntSLT, at, c->last), at, c->last);
    }
}

/* The values that the next range begins with: this one's and its totals. Returns the first of them. */
static lv hand_on(tr_lpat *c, lv chain, lv r, const lv *totals) {
    lv next[2 * UINT8_MAX];
    unsigned n = 0;
    c->ncarry = 0;
    for (unsigned i = 0; i < c->p->nscan; i++) {
        unsigned parts = tr_ty_nparts(c->red[i].ty);
        c->red[i].carry = 0;
        memcpy(c->carry, c->red[i].init, parts * sizeof(lv));
        tr_red_join(c, i, totals + n);
        bool kept = tr_plant(c->w->m->ctx, TR_PLANT_CHAIN) && !c->p->nfilt;
        memcpy(next + n, kept ? c->red[i].init : c->carry, parts * sizeof(lv));
        n += parts;
    }
    if (tr_plant(c->w->m->ctx, TR_PLANT_LOST) && c->p->nfilt) {
        lv some = l_icmp(c->w->b, LLVMIntSGT, next[0], c->red[0].init[0]);
        next[0] = LLVMBuildSub(c->w->b, next[0], LLVMBuildZExt(c->w->b, some, c->w->m->i64, ""), "");
    }
    put_values(c, chain, next);
    tr_lower_rt(c->w, TR_RT_CHAIN_PASS, 2, (lv[]){chain, r}, NULL, NULL);
    return next[0];
}

static void await_turn(tr_lpat *c, lv chain, lv r) {
    tr_lf *w = c->w;
    lv code;
    tr_lower_rt(w, TR_RT_CHAIN_WAIT, 2, (lv[]){chain, r}, NULL, &code);
    lb go_on = tr_lower_unless(w, l_icmp(w->b, LLVMIntEQ, code, l_int(w->m->i32, 0)));
    LLVMBuildRet(w->b, code);
    l_at_end(w->b, go_on);
}

/* if (!last) the totals of the range, else whatever. */
static void totals_unless(tr_lpat *c, const tr_nest *of, lv last, lv *totals) {
    tr_lf *w = c->w;
    LLVMBuilderRef b = w->b;
    lb from = l_here(b), more = tr_lower_block(w, ""), go_on = tr_lower_block(w, "");
    LLVMBuildCondBr(b, last, go_on, more);
    l_at_end(b, more);
    tr_scan_totals(c, of, c->first, c->end, totals);
    more = l_here(b);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
    for (unsigned i = 0; i < count_parts(c, 0, c->p->nscan); i++) {
        lv p = LLVMBuildPhi(b, LLVMTypeOf(totals[i]), "");
        l_incoming(p, totals[i], more);
        l_incoming(p, LLVMGetUndef(LLVMTypeOf(totals[i])), from);
        totals[i] = p;
    }
}

/* The last one has nobody to hand on to, and needs no total; it leaves the values of all.
 * Parts of all reductions in out. */
static void walk_link(tr_lpat *c, const tr_nest *n, const share *u, lv *out) {
    tr_lf *w = c->w;
    LLVMBuilderRef b = w->b;
    lv chain = LLVMBuildLoad2(b, w->m->ptr, slot(w, u->slots, CHAIN), ""), r = range_number(c, u);
    lv totals[2 * UINT8_MAX], last = l_icmp(b, LLVMIntEQ, c->end, c->ext[c->outer]);
    if (c->after && c->red[0].join) { /* the last one's, too, since the walk goes on from there */
        c->kept = tr_join_keep(w, c->red[0].join);
        tr_scan_totals(c, n->by, c->first, c->end, totals);
    } else {
        totals_unless(c, n->by, last, totals);
    }
    await_turn(c, chain, r);
    begin_at(c, chain);
    lb more = tr_lower_block(w, ""), walk = tr_lower_block(w, ""), end = tr_lower_block(w, ""),
       leave = tr_lower_block(w, "");
    lb begun = l_here(b);
    LLVMBuildCondBr(b, last, walk, more);
    l_at_end(b, more);
    lv next = hand_on(c, chain, r, totals);
    if (c->p->nfilt)
        next = l_select(b, l_icmp(b, LLVMIntSLT, next, c->last), next, c->last);
    more = l_here(b);
    LLVMBuildBr(b, walk);
    l_at_end(b, walk);
    if (c->p->nfilt) { /* behind the last range there is nobody */
        c->alone = LLVMBuildPhi(b, w->m->i64, "");
        l_incoming(c->alone, c->last, begun);
        l_incoming(c->alone, next, more);
    }
    if (c->after && !c->red[0].join)
        tr_lower_rt(w, TR_RT_CHAIN_TEAM, 0, NULL, NULL, &c->team);
    tr_lower_nest(c, n->in, out);
    LLVMBuildCondBr(b, last, end, leave);
    l_at_end(b, end);
    put_values(c, chain, out);
    LLVMBuildBr(b, leave);
    l_at_end(b, leave);
}

static lv make_range(tr_lpat *s, const tr_nest *of) {
    const tr_nest *n = of->in;
    tr_lm *m = s->w->m;
    tr_lf w = {.m = m, .inst = s->w->inst, .body = s->w->body};
    w.fn = new_function(s->w);
    w.ret_type = m->i32;
    w.frame = LLVMGetParam(w.fn, 0);
    w.b = LLVMCreateBuilderInContext(m->lc);
    w.ab = LLVMCreateBuilderInContext(m->lc);
    LLVMMetadataRef outside = m->dbg ? tr_lower_debug_fn(m, w.fn, w.body->f) : NULL;
    l_at_end(w.b, tr_lower_block(&w, "entry"));
    if (m->dbg)
        tr_lower_debug_at(&w, s->loc);
    tr_lpat c = copy_of(s, &w);
    share u = {&w, LLVMGetParam(w.fn, 1), FIRST};
    each_value(&c, take, &u);
    for (unsigned i = 0; i < tr_pat_nred(c.p) && !c.p->keep; i++)
        tr_red_neutral(&c, i);
    c.first = LLVMGetParam(w.fn, 2);
    if (tr_plant(m->ctx, TR_PLANT_RANGE)) {
        lv late = l_icmp(w.b, LLVMIntSGT, c.first, l_int(m->i64, 0));
        c.first = LLVMBuildAdd(w.b, c.first, LLVMBuildZExt(w.b, late, m->i64, ""), "");
    }
    c.end = LLVMGetParam(w.fn, 3);
    lv *out = TR_NEW_N(&m->ctx->arena, lv, tr_red_room(c.p));
    c.shared = true;
    if (of->cuts)
        tr_lower_cut(&c);
    if (is_one_choice(&c))
        c.leave = tr_top_place(&c, LLVMBuildLoad2(w.b, m->ptr, slot(&w, u.slots, PLACES), ""),
                               range_number(&c, &u));
    if (n->kind == TR_NEST_CHAIN)
        walk_link(&c, n, &u, out);
    else if (n->kind == TR_NEST_TABLES)
        tr_spread_range(&c, n, LLVMBuildLoad2(w.b, m->ptr, slot(&w, u.slots, PLACES), ""),
                        LLVMBuildLoad2(w.b, m->i64, slot(&w, u.slots, PARTS), ""), range_number(&c, &u));
    else
        tr_lower_nest(&c, n, out);
    if (first_placed(&c) < tr_pat_nred(c.p))
        leave_values(&c, &u, out);
    LLVMBuildRet(w.b, l_int(m->i32, 0));
    if (m->dbg)
        tr_lower_debug_back(m, outside);
    uint64_t room = tr_lower_room(&w);
    s->w->ranges = s->w->ranges > room ? s->w->ranges : room;
    LLVMDisposeBuilder(w.ab);
    LLVMDisposeBuilder(w.b);
    return w.fn;
}

/* --- the calling side --- */

static lv cost_of(tr_lpat *s) {
    uint32_t known = s->p->sched.cost;
    return s->cost ? s->cost : l_int(s->w->m->i64, known ? known : 1);
}

/* Of a loop over a prange that reduces nothing: how many rounds are worth handing to a thread. */
static lv worthy_rounds(tr_lpat *s) {
    lt i64 = s->w->m->i64;
    lv rounds = LLVMBuildSDiv(s->w->b, l_int(i64, TR_PAR_WORK), cost_of(s), "");
    return s->when ? l_select(s->w->b, s->when, rounds, l_int(i64, INT64_MAX)) : rounds;
}

/* The runtime makes ranges that are worth handing to a thread; of a prange loop any number
 * of rounds may be one. */
static lv region_grain(tr_lpat *s, lv n) {
    tr_lf *w = s->w;
    lv args[] = {n, l_int(w->m->i64, 0), cost_of(s)}, out = NULL;
    tr_lower_rt(w, TR_RT_GRAIN, 3, args, NULL, &out);
    if (!s->when)
        return out;
    /* One range is run in order, by the caller; what counts ranges divides by this, for a
     * loop of no rounds too. */
    lv one = l_int(w->m->i64, 1), all = l_select(w->b, l_icmp(w->b, LLVMIntSLT, n, one), one, n);
    return l_select(w->b, s->when, out, all);
}

/* Of a chain: a block; or as long as usual, where something is reduced besides, but no longer than a block,
 * for the cache. What a filter counts is the same by any ranges. */
static lv chain_grain(tr_lpat *s, lv n, lv inner, lv usual) {
    tr_lf *w = s->w;
    lv one = l_int(w->m->i64, 1), block = l_int(w->m->i64, tr_scan_block(s));
    if (s->after)
        return block;
    if (tr_pat_nred(s->p) > s->p->nscan)
        return usual;
    lv wide = l_icmp(w->b, LLVMIntSGT, inner, block);
    lv rows =
        LLVMBuildUDiv(w->b, block, l_select(w->b, l_icmp(w->b, LLVMIntSLT, inner, one), one, inner), "");
    rows = l_select(w->b, wide, one, rows);
    rows = l_select(w->b, l_icmp(w->b, LLVMIntSLT, rows, usual), rows, usual);
    if (s->p->nfilt)
        tr_lower_rt(w, TR_RT_PACKROWS, 2, (lv[]){n, rows}, NULL, &rows);
    return rows;
}

/* Do the ranges have to be nodes of a tree of all rounds? A loop over a prange says that any will do, and so
 * does what is joined in any groups. */
static bool has_tree(const tr_lpat *s) {
    bool tree = false;
    for (unsigned i = first_placed(s); i < tr_pat_nred(s->p); i++)
        tree = tree || s->red[i].cls != TR_REDS_CARRIED;
    return tree && s->p->par != TR_PAR_PRANGE;
}

/* n: how many rounds, or elements with `cuts`. */
static lv call_grain(tr_lpat *s, lv n, bool cuts) {
    tr_lf *w = s->w;
    if (tr_pat_is_region(s->p) && !has_tree(s))
        return region_grain(s, n);
    lv inner = l_int(w->m->i64, 1), out = NULL;
    for (unsigned k = 0; k < s->ndim && !cuts; k++)
        if (s->axis[k] != s->outer)
            inner = LLVMBuildNSWMul(w->b, inner, s->ext[s->axis[k]], "");
    lv args[] = {n, inner, cost_of(s)};
    tr_lower_rt(w, TR_RT_GRAIN, 3, args, NULL, &out);
    return is_chain(s) ? chain_grain(s, n, inner, out) : out;
}

/* The value of all ranges together. */
static void join(tr_lpat *s, lv places, lv nranges, lv *out) {
    tr_lf *w = s->w;
    lv zero = l_int(w->m->i64, 0);
    unsigned from = first_placed(s), part = 0, n = 0;
    s->ncarry = 0;
    for (unsigned i = from; i < tr_pat_nred(s->p); i++) {
        s->red[i].carry = s->ncarry;
        for (unsigned k = 0; k < tr_ty_nparts(s->red[i].ty) && s->red[i].cls == TR_REDS_CARRIED; k++)
            s->carry[s->ncarry++] = s->red[i].init[k];
    }
    tr_lloop l;
    if (s->ncarry)
        tr_lloop_begin(s, &l, zero, nranges);
    for (unsigned i = from; i < tr_pat_nred(s->p); i++) {
        lv x[2];
        for (unsigned k = 0; k < tr_ty_nparts(s->red[i].ty); k++, part++)
            if (s->red[i].cls == TR_REDS_CARRIED)
                x[k] = load_as(w, part_type(s, i, k), place(w, places, part, part_type(s, i, k), l.iv));
        if (s->red[i].cls == TR_REDS_CARRIED)
            tr_red_join(s, i, x);
    }
    if (s->ncarry)
        tr_lloop_end(s, &l, LLVMBuildNUWAdd(w->b, l.iv, l_int(w->m->i64, 1), ""));
    part = 0;
    for (unsigned i = from; i < tr_pat_nred(s->p); i++) {
        if (s->red[i].cls == TR_REDS_JOINED) {
            lv o = l_int(w->m->i64, (long long)part * TR_PAR_RANGES);
            tr_join_ranges(w, s->red[i].join, s->caps,
                           LLVMBuildInBoundsGEP2(w->b, w->m->i64, places, &o, 1, ""), nranges, s->red[i].init,
                           out + n);
            n += tr_ty_nparts(s->red[i].ty);
            part += tr_ty_nparts(s->red[i].ty);
            continue;
        }
        for (unsigned k = 0; k < tr_ty_nparts(s->red[i].ty); k++, part++) {
            if (s->red[i].cls == TR_REDS_CARRIED) {
                out[n++] = s->carry[s->red[i].carry + k];
                continue;
            }
            lt t = part_type(s, i, k);
            lv sum = tr_lower_sum_join(w, t, place(w, places, part, t, zero), nranges);
            out[n++] = LLVMBuildFAdd(w->b, s->red[i].init[k], sum, "");
        }
    }
}

/* The values that a chain begins with. */
static lv new_chain(tr_lpat *s) {
    tr_lf *w = s->w;
    unsigned n = count_parts(s, 0, s->p->nscan);
    lv chain = tr_lower_buffer(w, sizeof(tr_chain) + n * sizeof(tr_slot), 8, "chain"), parts[2 * UINT8_MAX];
    LLVMBuildStore(w->b, l_int(w->m->i64, 0), chain);
    for (unsigned i = 0, part = 0; i < s->p->nscan; i++)
        for (unsigned k = 0; k < tr_ty_nparts(s->red[i].ty); k++)
            parts[part++] = s->red[i].init[k];
    put_values(s, chain, parts);
    return chain;
}

/* What ranges are of: indices of the outermost axis, or all elements. None where an axis has none. */
static lv count_rounds(const tr_lpat *s, bool cuts) {
    LLVMBuilderRef b = s->w->b;
    lv n = s->ext[s->outer], zero = l_int(s->w->m->i64, 0), none = l_icmp(b, LLVMIntEQ, n, zero);
    if (!cuts)
        return n;
    for (unsigned k = 1; k < s->ndim; k++) {
        lv ext = s->ext[s->axis[k]];
        none = LLVMBuildOr(b, none, l_icmp(b, LLVMIntEQ, ext, zero), "");
        n = LLVMBuildMul(b, n, ext, "");
    }
    return l_select(b, none, zero, n);
}

static lv count_ranges(tr_lpat *s, lv rounds, lv grain) {
    LLVMBuilderRef b = s->w->b;
    lv up = LLVMBuildNSWAdd(b, rounds, l_sub(b, grain, l_int(s->w->m->i64, 1)), "");
    return LLVMBuildUDiv(b, up, grain, "");
}

/* Parts of all reductions, from where the ranges have left them. */
static void results(tr_lpat *s, lv places, lv chain, lv nranges, lv *out) {
    unsigned part = 0;
    for (unsigned i = 0; i < s->p->nscan && chain; i++)
        for (unsigned k = 0; k < tr_ty_nparts(s->red[i].ty); k++, part++)
            out[part] = load_as(s->w, part_type(s, i, k), link_at(s->w, chain, part));
    if (first_placed(s) >= tr_pat_nred(s->p))
        return;
    join(s, places, nranges, out + part);
}

/* Places for what the ranges reduce; *mem: what to free after, where the stack is not asked for that much. */
static lv make_places(tr_lpat *s, unsigned nparts, lv *mem) {
    enum { FEW = 24 << 10 };
    tr_lf *w = s->w;
    uint64_t bytes = (uint64_t)nparts * TR_PAR_RANGES * sizeof(tr_slot);
    if (bytes <= FEW)
        return tr_lower_buffer(w, bytes, 8, "places");
    *mem = tr_lower_memory(w, s->v, l_int(w->m->i64, (long long)bytes));
    lv head = l_int(w->m->i64, TR_MEM_ALIGN);
    return LLVMBuildInBoundsGEP2(w->b, w->m->i8, *mem, &head, 1, "");
}

/* So few rounds that no thread would help. */
static lv is_short(tr_lpat *s, lv n, lv rounds) {
    tr_lm *m = s->w->m;
    LLVMBuilderRef b = s->w->b;
    lv fixed = LLVMGetNamedGlobal(m->mod, TR_RT_FIXED);
    if (!fixed)
        fixed = LLVMAddGlobal(m->mod, m->i64, TR_RT_FIXED);
    lv chosen = l_icmp(b, LLVMIntEQ, LLVMBuildLoad2(b, m->i64, fixed, ""), l_int(m->i64, 0));
    return l_and(b, l_icmp(b, LLVMIntSLE, n, rounds), chosen);
}

static void hand_out(tr_lpat *s, const tr_nest *n, lv *out);

/* A small loop inside of others: what a call of the runtime costs is not little beside it. */
static void here_or_handed_out(tr_lpat *s, const tr_nest *n) {
    LLVMBuilderRef b = s->w->b;
    lb few = tr_lower_block(s->w, ""), many = tr_lower_block(s->w, ""), go_on = tr_lower_block(s->w, "");
    tr_lpat c = copy_of(s, s->w);
    LLVMBuildCondBr(b, is_short(s, s->ext[s->outer], worthy_rounds(s)), few, many);
    l_at_end(b, few);
    tr_lower_nest(&c, n->in, NULL);
    LLVMBuildBr(b, go_on);
    l_at_end(b, many);
    hand_out(s, n->by, NULL);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
}

void tr_lower_parallel(tr_lpat *s, const tr_nest *n, lv *out) {
    if (n->kind == TR_NEST_HERE)
        here_or_handed_out(s, n);
    else
        hand_out(s, n, out);
}

static void hand_out(tr_lpat *s, const tr_nest *n, lv *out) {
    assert(tr_pat_is_parallel(s->p) && n->kind == TR_NEST_RANGES);
    tr_lf *w = s->w;
    tr_lm *m = w->m;
    LLVMBuilderRef b = w->b;
    share u = {w, NULL, FIRST};
    if (s->p->ntable)
        tr_table_begin(s, true);
    lv none = LLVMConstNull(m->ptr), chain = is_chain(s) ? new_chain(s) : NULL, rows = NULL, parts = NULL,
       places = s->spreads ? tr_spread_begin(s, &rows, &parts) : none, fn = make_range(s, n),
       all = count_rounds(s, n->cuts), rounds = all, code;
    bool plain = tr_pat_is_region(s->p) && !tr_pat_nred(s->p);
    lv grain = s->spreads     ? rows
               : s->p->ntable ? l_int(m->i64, 1)
               : plain        ? worthy_rounds(s)
                              : call_grain(s, rounds, n->cuts);
    if (s->spreads) {
        lv some = l_icmp(b, LLVMIntSGT, parts, l_int(m->i64, 0));
        rounds = l_select(b, some, parts, rounds);
        grain = l_select(b, some, l_int(m->i64, 1), rows);
    }
    unsigned nparts = count_parts(s, first_placed(s), tr_pat_nred(s->p));
    each_value(s, count, &u);
    u.slots = tr_lower_buffer(w, u.n * sizeof(tr_slot), 8, "share");
    u.n = FIRST;
    each_value(s, give, &u);
    lv mem = NULL, nranges = NULL;
    if (nparts)
        places = make_places(s, nparts, &mem);
    if (is_one_choice(s)) {
        nranges = count_ranges(s, all, grain);
        places = tr_top_places(s, nranges, &mem);
    }
    LLVMBuildStore(b, grain, slot(w, u.slots, GRAIN));
    LLVMBuildStore(b, places, slot(w, u.slots, PLACES));
    LLVMBuildStore(b, chain ? chain : parts ? parts : none, slot(w, u.slots, CHAIN));
    tr_lower_rt(w,
                chain   ? TR_RT_CHAIN
                : plain ? TR_RT_REGION
                        : TR_RT_PARALLEL,
                4, (lv[]){fn, u.slots, rounds, grain}, NULL, &code);
    lb go_on = tr_lower_unless(w, l_icmp(b, LLVMIntEQ, code, l_int(m->i32, 0)));
    tr_lower_leave(w, code);
    l_at_end(b, go_on);
    if (s->spreads)
        tr_spread_end(s, places, rows);
    else if (nranges)
        tr_top_join(s, places, nranges);
    else
        results(s, places, chain, nparts ? count_ranges(s, all, grain) : NULL, out);
    if (s->p->ntable)
        tr_table_end(s, true);
    if (mem)
        tr_lower_rt(w, TR_RT_FREE, 1, &mem, NULL, NULL);
}
