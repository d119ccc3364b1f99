/* A pattern by all threads of the pool: its loops as a function over a range of the outermost one, and a call of the runtime
 * that runs it range by range (rt/parallel.c).
 *
 * The ranges depend on the extents alone (tr_rt_grain): at most TR_PAR_RANGES of them, a power of two long. Each leaves the values of its
 * reductions in a place of its own, and the calling thread joins them in order; so results do not depend on the number of
 * threads. Sums of floats over a line are the very ones of the sequential loop: a range is a node of their tree.
 * What the loops use of the function around them goes through an array of slots. */
#include "base/plant.h"
#include "lower/pattern.h"

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

static void each_of(tr_larr *arr, unsigned n, bool strides, void (*visit)(share *, lv *), share *u) {
    for (unsigned i = 0; i < n; i++) {
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
    for (unsigned i = 0; i < s->p->nred; i++)
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

/* Slots 0 and 1: the length of a range, and where the places are. */
enum { GRAIN, PLACES, FIRST };

static lt part_type(const tr_lpat *s, unsigned i, unsigned k) {
    return LLVMTypeOf(s->red[i].init[k]);
}

/* Address of part number `part` (over all reductions) of range r: each part has an array of its own. */
static lv place(tr_lf *w, lv places, unsigned part, lt t, lv r) {
    lv o = l_int(w->m->i64, (long long)part * TR_PAR_RANGES);
    lv base = LLVMBuildInBoundsGEP2(w->b, w->m->i64, places, &o, 1, "");
    return LLVMBuildInBoundsGEP2(w->b, memory_type(w->m, t), base, &r, 1, "");
}

static unsigned count_parts(const tr_lpat *s) {
    unsigned n = 0;
    for (unsigned i = 0; i < s->p->nred && !s->p->keep; i++)
        n += tr_ty_nparts(s->red[i].ty);
    return n;
}

/* --- the function over a range --- */

/* Rounds of unknown length: a loop, a call, or a pattern in each. */
static bool is_heavy(tr_fn *lam) {
    tr_cfg_compute(lam);
    for (uint32_t i = 0; i < lam->rpo.n; i++) {
        const tr_ins *t = tr_term(lam, lam->rpo.d[i]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++)
            if (tr_blk_at(lam, t->imm.succ[s].to)->rpo <= i)
                return true;
        for (tr_val v = tr_blk_at(lam, lam->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(lam, v)->next)
            if (tr_at(lam, v)->op == TR_OP_CALL || tr_at(lam, v)->op == TR_OP_PATTERN)
                return true;
    }
    return false;
}

static bool is_region(const tr_lpat *s) {
    return s->p->nin + s->p->nout + s->p->neout == 0;
}

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
    c.red = tr_arena_copy(a, s->red, (s->p->nred + 1u) * sizeof *s->red);
    c.caps = tr_arena_copy(a, s->caps, (s->ncaps + 1u) * sizeof *s->caps);
    c.carry = TR_NEW_N(a, lv, tr_most_carried(s->p));
    c.off = TR_NEW_N(a, lv, (s->ndim + 1) * s->narr + 1);
    for (unsigned i = 0; i < s->narr; i++)
        c.off[i] = l_int(w->m->i64, 0);
    return c;
}

static void leave_values(tr_lpat *c, const share *u, const lv *out) {
    tr_lf *w = c->w;
    lv grain = LLVMBuildLoad2(w->b, w->m->i64, slot(w, u->slots, GRAIN), "");
    lv places = LLVMBuildLoad2(w->b, w->m->ptr, slot(w, u->slots, PLACES), "");
    lv r = LLVMBuildUDiv(w->b, c->first, grain, "");
    unsigned part = 0;
    for (unsigned i = 0; i < c->p->nred; i++)
        for (unsigned k = 0; k < tr_ty_nparts(c->red[i].ty); k++, part++)
            store_as(w, out[part], place(w, places, part, LLVMTypeOf(out[part]), r));
}

static lv make_range(tr_lpat *s) {
    tr_lm *m = s->w->m;
    tr_lf w = {.m = m, .inst = s->w->inst, .body = s->w->body};
    w.fn = new_function(s->w);
    w.ret_type = m->i32;
    w.frame = LLVMGetParam(w.fn, 0);
    w.b = LLVMCreateBuilderInContext(m->lc);
    w.ab = LLVMCreateBuilderInContext(m->lc);
    if (m->dbg)
        tr_lower_debug_fn(m, w.fn, w.body->f);
    l_at_end(w.b, tr_lower_block(&w, "entry"));
    if (m->dbg)
        tr_lower_debug_at(&w, s->loc);
    tr_lpat c = copy_of(s, &w);
    c.ticks = is_region(s) && is_heavy(s->p->lam);
    if (c.ticks) {
        w.steps = tr_lower_alloca(&w, m->i64, "steps");
        w.pace = tr_lower_alloca(&w, m->i64, "pace");
        LLVMBuildStore(w.b, l_int(m->i64, 1), w.steps);
        LLVMBuildStore(w.b, l_int(m->i64, 1), w.pace);
    }
    share u = {&w, LLVMGetParam(w.fn, 1), FIRST};
    each_value(&c, take, &u);
    for (unsigned i = 0; i < c.p->nred && !c.p->keep; i++)
        tr_red_neutral(&c, i);
    c.first = LLVMGetParam(w.fn, 2);
    if (tr_plant(m->ctx, TR_PLANT_RANGE)) {
        lv late = l_icmp(w.b, LLVMIntSGT, c.first, l_int(m->i64, 0));
        c.first = LLVMBuildAdd(w.b, c.first, LLVMBuildZExt(w.b, late, m->i64, ""), "");
    }
    c.end = LLVMGetParam(w.fn, 3);
    lv *out = TR_NEW_N(&m->ctx->arena, lv, 2u * c.p->nred + 1u);
    tr_lower_nest(&c, out);
    if (c.p->nred && !c.p->keep)
        leave_values(&c, &u, out);
    LLVMBuildRet(w.b, l_int(m->i32, 0));
    uint64_t room = tr_lower_room(&w);
    s->w->ranges = s->w->ranges > room ? s->w->ranges : room;
    LLVMDisposeBuilder(w.ab);
    LLVMDisposeBuilder(w.b);
    return w.fn;
}

/* --- the calling side --- */

/* Of one round, in operations; the runtime makes ranges that are worth handing to a thread. */
static unsigned cost_of(const tr_fn *lam) {
    unsigned n = 0;
    for (uint32_t v = 0; v < lam->ins.n; v++)
        if (tr_at(lam, v)->blk != TR_NOBLK)
            n += tr_ins_cost(lam, v);
    return n;
}

/* A prange loop is no line of elements: any number of rounds may be a range, and a heavy one is a range by itself. */
static lv region_grain(tr_lpat *s, lv n) {
    tr_lf *w = s->w;
    enum { ALONE = 1 << 20 };
    lv args[] = {n, l_int(w->m->i64, 0), l_int(w->m->i64, is_heavy(s->p->lam) ? ALONE : cost_of(s->p->lam))};
    lv out = NULL;
    tr_lower_rt(w, TR_RT_GRAIN, 3, args, NULL, &out);
    return out;
}

static lv call_grain(tr_lpat *s, lv n) {
    tr_lf *w = s->w;
    if (is_region(s))
        return region_grain(s, n);
    lv inner = l_int(w->m->i64, 1), out = NULL;
    for (unsigned k = 0; k < s->ndim; k++)
        if (s->axis[k] != s->outer)
            inner = LLVMBuildNSWMul(w->b, inner, s->ext[s->axis[k]], "");
    unsigned cost = cost_of(s->p->lam) + s->narr;
    lv args[] = {n, inner, l_int(w->m->i64, cost)};
    tr_lower_rt(w, TR_RT_GRAIN, 3, args, NULL, &out);
    return out;
}

/* The value of all ranges together. */
static void join(tr_lpat *s, lv places, lv nranges, lv *out) {
    tr_lf *w = s->w;
    lv zero = l_int(w->m->i64, 0);
    unsigned part = 0, n = 0;
    s->ncarry = 0;
    for (unsigned i = 0; i < s->p->nred; i++) {
        s->red[i].carry = s->ncarry;
        for (unsigned k = 0; k < tr_ty_nparts(s->red[i].ty) && s->red[i].cls == RED_PHI; k++)
            s->carry[s->ncarry++] = s->red[i].init[k];
    }
    tr_lloop l;
    if (s->ncarry)
        tr_lloop_begin(s, &l, zero, nranges);
    for (unsigned i = 0; i < s->p->nred; i++) {
        lv x[2];
        for (unsigned k = 0; k < tr_ty_nparts(s->red[i].ty); k++, part++)
            if (s->red[i].cls == RED_PHI)
                x[k] = load_as(w, part_type(s, i, k), place(w, places, part, part_type(s, i, k), l.iv));
        if (s->red[i].cls == RED_PHI)
            tr_red_join(s, i, x);
    }
    if (s->ncarry)
        tr_lloop_end(s, &l, LLVMBuildNUWAdd(w->b, l.iv, l_int(w->m->i64, 1), ""));
    part = 0;
    for (unsigned i = 0; i < s->p->nred; i++)
        for (unsigned k = 0; k < tr_ty_nparts(s->red[i].ty); k++, part++) {
            if (s->red[i].cls == RED_PHI) {
                out[n++] = s->carry[s->red[i].carry + k];
                continue;
            }
            lt t = part_type(s, i, k);
            lv sum = tr_lower_sum_join(w, t, place(w, places, part, t, zero), nranges);
            out[n++] = LLVMBuildFAdd(w->b, s->red[i].init[k], sum, "");
        }
}

void tr_lower_parallel(tr_lpat *s, lv *out) {
    tr_lf *w = s->w;
    tr_lm *m = w->m;
    LLVMBuilderRef b = w->b;
    share u = {w, NULL, FIRST};
    lv fn = make_range(s), places = LLVMConstNull(m->ptr), n = s->ext[s->outer], grain = call_grain(s, n),
       code;
    unsigned nparts = count_parts(s);
    each_value(s, count, &u);
    u.slots = tr_lower_buffer(w, u.n * sizeof(tr_slot), 8, "share");
    u.n = FIRST;
    each_value(s, give, &u);
    if (nparts)
        places = tr_lower_buffer(w, (uint64_t)nparts * TR_PAR_RANGES * sizeof(tr_slot), 8, "places");
    LLVMBuildStore(b, grain, slot(w, u.slots, GRAIN));
    LLVMBuildStore(b, places, slot(w, u.slots, PLACES));
    tr_lower_rt(w, TR_RT_PARALLEL, 4, (lv[]){fn, u.slots, n, grain}, NULL, &code);
    lb go_on = tr_lower_unless(w, l_icmp(b, LLVMIntEQ, code, l_int(m->i32, 0)));
    tr_lower_leave(w, code);
    l_at_end(b, go_on);
    if (nparts) {
        lv up = LLVMBuildNSWAdd(b, n, l_sub(b, grain, l_int(m->i64, 1)), "");
        join(s, places, LLVMBuildUDiv(b, up, grain, ""), out);
    }
}
