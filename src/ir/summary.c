/* The summary of a pattern's effects (privatisation and dependence, in the field's words): one walk over its
 * functions, in which every load, store, call and inner pattern says which captures it reaches, and where.
 *
 * An array that a round makes is its own. One that comes in by a capture is reached at the round's own
 * elements where all of the pattern's indices are among the access' indices; or through a view that takes the
 * round's part of each indexed axis and all of others, the form in which lib/npgufunc.c hands out operands;
 * a block of an axis, of as many places as rounds are apart, is such a part (opt/pattern/byrow_block.c).
 * Everything else, a choice between arrays too, is anywhere. What a call does to its arguments is found the
 * same way, once per instance; a recursive one may do anything.
 * Cost: linear in the functions, but for arrays that were chosen (alias.c). */
#include "ir/summary.h"

#include "base/plant.h"
#include "ir/alias.h"
#include "ir/ports.h"
#include "ir/rtinfo.h"
#include "ir/sched.h"

/* What an instance does to its params. */
typedef struct called {
    bool done; /* else: it is being looked at */
    tr_access *params;
    bool shows;
} called;

typedef struct walker {
    const tr_prog *p; /* or NULL */
    tr_arena *a;
    called **known; /* per instance; NULL before the first call */
} walker;

/* A function being walked. */
typedef struct body {
    walker *w;
    tr_fn *f;
    const tr_pat *pat; /* it is its lambda; NULL: another function, whose places have no names */
    tr_access *params; /* per param of the entry */
    bool shows;
} body;

static const tr_ins *def(const body *b, tr_val v) {
    return tr_at(b->f, v);
}

static bool is_entry_param(const body *b, tr_val v) {
    return def(b, v)->op == TR_OP_PARAM && def(b, v)->blk == 0;
}

static uint64_t all_indices(const body *b) {
    return (UINT64_C(1) << b->pat->nspace) - 1;
}

/* Which of the pattern's indices v is, or -1. */
static int index_of(const body *b, tr_val v) {
    for (unsigned k = 0; k < b->pat->nspace; k++)
        if (tr_blk_at(b->f, 0)->params.d[k] == v)
            return (int)k;
    return -1;
}

/* --- a view that is the round's part of an array --- */

/* All of an axis. */
static bool axis_is_whole(const body *b, const tr_ins *view, unsigned k, unsigned of) {
    const tr_ins *size = def(b, tr_made_sizes(view)[k]);
    return size->op == TR_OP_DIM && size->args[0] == view->args[0] && size->imm.i == of &&
           tr_is_int(b->f, tr_view_starts(view)[of], 0) && tr_is_int(b->f, tr_view_steps(view)[k], 1);
}

/* Is it the same for all rounds: a number, or captured? */
static bool is_given(const body *b, tr_val v) {
    return tr_is_const(def(b, v)) ||
           (is_entry_param(b, v) && tr_param_index(b->f, v) >= tr_pat_cap(b->pat, b->f));
}

/* Of which of the pattern's indices an axis is a block: from `index * n`, or so much after a place that all
 * rounds begin at, n at most; -1: it is none. */
static int axis_is_block(const body *b, const tr_ins *view, unsigned k, unsigned of) {
    const tr_ins *from = def(b, tr_view_starts(view)[of]), *size = def(b, tr_made_sizes(view)[k]);
    if (from->op == TR_OP_ADD && is_given(b, from->args[1]))
        from = def(b, from->args[0]);
    if (from->op != TR_OP_MUL || size->op != TR_OP_MIN || !is_given(b, from->args[1]) ||
        (size->args[0] != from->args[1] && size->args[1] != from->args[1]) ||
        !tr_is_int(b->f, tr_view_steps(view)[k], 1))
        return -1;
    return index_of(b, from->args[0]);
}

/* An axis of the array for each of the pattern's indices, or a block of one; all of every other, or one place
 * of it. */
static bool is_own_part(const body *b, const tr_ins *view) {
    uint64_t walked = 0, met = 0;
    if (view->op != TR_OP_VIEW)
        return false;
    for (unsigned k = 0; k < view->ty->ndim; k++) {
        int of = tr_view_axis(view, k), index = of < 0 ? -1 : axis_is_block(b, view, k, (unsigned)of);
        if (of >= 0 && (index < 0 ? !axis_is_whole(b, view, k, (unsigned)of) : met >> index & 1u))
            return false;
        met |= index < 0 ? 0 : UINT64_C(1) << index;
        walked |= of >= 0 ? UINT64_C(1) << of : 0;
    }
    for (unsigned of = 0; of < tr_view_nbase(view); of++) {
        int index = index_of(b, tr_view_starts(view)[of]);
        int64_t place;
        if (walked >> of & 1u)
            continue;
        if (index < 0 ? !tr_get_int(b->f, tr_view_starts(view)[of], &place) : met >> index & 1u)
            return false;
        met |= index < 0 ? 0 : UINT64_C(1) << index;
    }
    return met == all_indices(b);
}

/* --- accesses --- */

static bool names_all_indices(const body *b, const tr_val *idx, uint32_t n) {
    uint64_t met = 0;
    for (uint32_t i = 0; i < n; i++) {
        int k = index_of(b, idx[i]);
        met |= k < 0 ? 0 : UINT64_C(1) << k;
    }
    return met == all_indices(b);
}

/* What is done to memory; who makes a list longer or shorter writes, too. STORES: to that of arrays, which
 * may be items of a container that stays as it is. */
typedef enum deed { READS, STORES, WRITES, GROWS } deed;

static void note(body *b, tr_val param, tr_reach reach, deed how) {
    tr_access *x = &b->params[tr_param_index(b->f, param)];
    uint8_t *r = how == READS ? &x->reads : &x->writes;
    *r = *r > reach ? *r : (uint8_t)reach;
    x->changes = x->changes || how >= WRITES;
    x->grows = x->grows || how == GROWS;
}

static bool is_array(const body *b, tr_val v) {
    const tr_ty *t = def(b, v)->ty;
    return t->kind == TR_TY_ARRAY && !tr_ty_is_slots(t);
}

/* May that array be the memory in which a list has its items? One of `from` is such then. */
static bool may_be_items(const body *b, tr_val array, const uint8_t *from) {
    for (tr_val x = 0; x < b->f->ins.n; x++)
        if (from[x] && def(b, x)->op == TR_OP_ITEMS && def(b, x)->ty->elem == def(b, array)->ty->elem)
            return true;
    return false;
}

/* Of what v may be or have, all that the function was given is reached anywhere. */
static void anywhere(body *b, tr_val v, deed how) {
    uint8_t *from = TR_NEW_N(b->w->a, uint8_t, b->f->ins.n + 1u);
    tr_array_sources(b->f, v, from);
    if (how >= STORES && is_array(b, v))
        how = may_be_items(b, v, from) ? WRITES : STORES;
    for (tr_val x = 0; x < b->f->ins.n; x++) {
        tr_val whole = x;
        while (from[x] && def(b, whole)->op == TR_OP_EXTRACT)
            whole = def(b, whole)->args[0];
        if (from[x] && is_entry_param(b, whole))
            note(b, whole, TR_REACH_ANY, how);
    }
}

/* A field that has the axes of its records, so what is at a place of it is of the record there. */
static bool is_same_places(const body *b, tr_val v) {
    const tr_ins *in = def(b, v);
    return in->op == TR_OP_FIELD && in->ty->ndim == def(b, in->args[0])->ty->ndim;
}

/* An access to v at n indices, or (NULL) to all of it. */
static void reach(body *b, tr_val v, const tr_val *idx, uint32_t n, deed how) {
    tr_val root = v, view = TR_NOVAL;
    if (!tr_ty_has_arrays(def(b, v)->ty))
        return;
    for (; tr_is_view(def(b, root)); root = def(b, root)->args[0])
        view = is_same_places(b, root) ? view : root;
    for (; def(b, root)->op == TR_OP_ITEMS; how = how == STORES ? WRITES : how)
        root = view = def(b, root)->args[0];
    if (def(b, root)->op == TR_OP_ALLOC || def(b, root)->op == TR_OP_CONSTARR ||
        def(b, root)->op == TR_OP_NEWLIST || def(b, root)->op == TR_OP_NEWSET)
        return;
    bool own = b->pat && is_entry_param(b, root) && def(b, root)->ty->kind == TR_TY_ARRAY &&
               (view != TR_NOVAL ? is_own_part(b, def(b, view)) : idx && names_all_indices(b, idx, n));
    if (own)
        note(b, root, TR_REACH_OWN, how);
    else
        anywhere(b, root, how);
}

static void reach_all(body *b, const tr_ins *in, const tr_access *x) {
    for (uint32_t k = 0; k < in->nargs; k++) {
        if (x[k].reads)
            reach(b, in->args[k], NULL, 0, READS);
        if (x[k].writes)
            reach(b, in->args[k], NULL, 0, x[k].grows ? GROWS : x[k].changes ? WRITES : STORES);
    }
}

/* --- what calls and inner patterns do --- */

static void walk(body *b);

static const called *call_of(walker *w, uint32_t inst) {
    tr_fn *f = w->p && inst < w->p->insts.n ? w->p->insts.d[inst].fn : NULL;
    if (!f)
        return NULL;
    if (!w->known)
        w->known = TR_NEW_N(w->a, called *, w->p->insts.n);
    called *c = w->known[inst];
    if (c)
        return c->done ? c : NULL;
    c = w->known[inst] = TR_NEW(w->a, called);
    body b = {.w = w, .f = f, .params = TR_NEW_N(w->a, tr_access, tr_blk_at(f, 0)->params.n + 1u)};
    walk(&b);
    *c = (called){true, b.params, b.shows};
    return c;
}

static void walk_call(body *b, const tr_ins *in) {
    const called *c = call_of(b->w, in->imm.fn);
    if (c) {
        b->shows = b->shows || c->shows;
        reach_all(b, in, c->params);
        return;
    }
    b->shows = true;
    for (uint32_t k = 0; k < in->nargs; k++)
        reach(b, in->args[k], NULL, 0, GROWS);
}

static tr_summary summary_of(walker *w, const tr_pat *t);

static void walk_pattern(body *b, const tr_ins *in) {
    const tr_pat *t = in->imm.pat;
    tr_access *x = TR_NEW_N(b->w->a, tr_access, in->nargs + 1u);
    tr_summary s = summary_of(b->w, t);
    b->shows = b->shows || s.shows;
    for (uint32_t k = 0; k < in->nargs; k++) {
        unsigned m = tr_role_info[tr_pat_role(t, k)].memory;
        x[k].reads = m & TR_MEM_READ ? TR_REACH_ANY : x[k].reads;
        x[k].writes = m & TR_MEM_WRITE ? TR_REACH_ANY : x[k].writes;
        if (m & TR_MEM_INSIDE)
            x[k] = s.caps[k - tr_pat_at(t, P_CAP)];
    }
    reach_all(b, in, x);
}

/* What an instruction with effects e does to operand k. What is only read may be copied to another container,
 * by way of which what it leads to is stored to, and containers that lie in it are changed. */
static deed does_to(const body *b, const tr_ins *in, uint8_t e, uint32_t k) {
    const tr_ty *t = def(b, in->args[k])->ty;
    if (e & E_WRITE && tr_call_only_reads(b->f, in, k))
        return !tr_ty_holds_arrays(t) ? READS : tr_ty_has_lists(t->items[0]) ? GROWS : STORES;
    return e & E_GROW ? GROWS : e & E_WRITE ? WRITES : READS;
}

static void walk_ins(body *b, const tr_ins *in) {
    uint8_t e = tr_ins_effects(in);
    switch ((tr_op)in->op) {
    case TR_OP_LOAD: reach(b, in->args[0], in->args + 1, in->nargs - 1, READS); break;
    case TR_OP_STORE: reach(b, in->args[0], in->args + 1, in->nargs - 2, WRITES); break;
    case TR_OP_CALL: walk_call(b, in); break;
    case TR_OP_PATTERN: walk_pattern(b, in); break;
    case TR_OP_LIVE:
    case TR_OP_FIND:
    case TR_OP_WALKON:
    case TR_OP_ITEMS:
    case TR_OP_TAKE:
    case TR_OP_PEEK: reach(b, in->args[0], NULL, 0, READS); break;
    case TR_OP_PUT: reach(b, in->args[0], NULL, 0, WRITES); break;
    case TR_OP_APPEND: /* of a round's own list nobody else can tell */
    case TR_OP_RESIZE:
    case TR_OP_ENTER:
    case TR_OP_LEAVE:
    case TR_OP_EMPTY:
        for (uint32_t k = 0; k < in->nargs; k++)
            reach(b, in->args[k], NULL, 0, GROWS);
        break;
    case TR_OP_RETAIN: /* counts are kept by several at once, if need be */
    case TR_OP_RELEASE:
    case TR_OP_CATCH:
        break; /* it reads and writes only as it parts what comes before from what comes after */
    default:
        b->shows = b->shows || (e & E_SIDE);
        for (uint32_t k = 0; (e & (E_READ | E_WRITE)) && k < in->nargs; k++)
            reach(b, in->args[k], NULL, 0, does_to(b, in, e, k));
    }
}

static void walk(body *b) {
    tr_cfg_compute(b->f);
    for (uint32_t i = 0; i < b->f->rpo.n; i++)
        for (tr_val v = tr_blk_at(b->f, b->f->rpo.d[i])->first; v != TR_NOVAL; v = def(b, v)->next)
            walk_ins(b, def(b, v));
}

/* --- together --- */

static void walk_function(walker *w, const tr_pat *t, unsigned n, tr_summary *s) {
    tr_fn *f = tr_pat_any(t, n);
    uint32_t first_cap = tr_pat_cap(t, f);
    body b = {.w = w, .f = f, .params = TR_NEW_N(w->a, tr_access, tr_blk_at(f, 0)->params.n + 1u)};
    b.pat = f == t->lam ? t : NULL;
    walk(&b);
    s->shows = s->shows || b.shows;
    for (uint32_t k = 0; k < t->ncap; k++) {
        const tr_access *x = &b.params[first_cap + k];
        s->caps[k].reads = s->caps[k].reads > x->reads ? s->caps[k].reads : x->reads;
        s->caps[k].writes = s->caps[k].writes > x->writes ? s->caps[k].writes : x->writes;
        s->caps[k].changes = s->caps[k].changes || x->changes;
        s->caps[k].grows = s->caps[k].grows || x->grows;
    }
}

static tr_summary summary_of(walker *w, const tr_pat *t) {
    tr_summary s = {.caps = TR_NEW_N(w->a, tr_access, t->ncap + 1u)};
    for (unsigned n = 0; tr_pat_any(t, n); n++)
        walk_function(w, t, n, &s);
    return s;
}

tr_summary tr_pat_summary(const tr_prog *p, const tr_pat *t) {
    walker w = {.p = p, .a = &t->lam->ctx->arena};
    return summary_of(&w, t);
}

const tr_access *tr_params_summary(const tr_prog *p, uint32_t inst) {
    walker w = {.p = p, .a = &p->ctx->arena};
    return call_of(&w, inst)->params;
}

const char *tr_pat_form(const tr_pat *t) {
    if (!t->nspace)
        return "it has no axes";
    if (t->nscan && !t->keep && t->par == TR_PAR_PRANGE)
        return "each element needs the one before";
    for (uint32_t i = 0; i < tr_pat_nred(t) && !t->keep; i++)
        if (tr_red_info[tr_pat_red(t, i)].place)
            return "it looks for the place of an extreme";
    return NULL;
}

/* Is there a product of floats over all there is, of elements? A tree of it may overflow on its way where in
 * order it does not (1e200, 1e-200, 1e200, 1e-200), so it stays in order: ranges would be such a tree. The
 * products of a loop over a prange are ranges by its meaning. What reads no array (`np.prod(1 / np.arange(1,
 * n))`) is no such loop. */
static bool multiplies_in_order(const tr_pat *t) {
    for (uint32_t i = t->nscan; i < tr_pat_nred(t) && !t->keep && t->par != TR_PAR_PRANGE; i++) {
        const tr_ty *ty = tr_pat_contribution(t, i);
        if (ty && tr_red_regroups(tr_pat_red(t, i), ty) && !(tr_pat_fast(t, i) & TR_FM_REASSOC) &&
            tr_pat_red_class(t, i, ty) == TR_REDS_CARRIED)
            return true;
    }
    return false;
}

const char *tr_pat_one_core(const tr_prog *p, const tr_pat *t) {
    const char *why = tr_pat_form(t);
    if (why)
        return why;
    if (multiplies_in_order(t))
        return "its product of floats goes in order";
    if (t->nscan && !t->keep && !tr_pat_in_ranges(t))
        return "each element needs the one before";
    if (t->nscat && !tr_pat_spreads(t) && !tr_plant(t->lam->ctx, TR_PLANT_SCATTER))
        return "it may store to one element more than once";
    tr_summary s = tr_pat_summary(p, t);
    for (uint32_t k = 0; k < t->ncap && !tr_plant(t->lam->ctx, TR_PLANT_SCATTER); k++) {
        if (k < t->ntable) /* each round has its own */
            continue;
        if (s.caps[k].writes == TR_REACH_ANY)
            return "it may store to one element more than once";
        if (s.caps[k].writes && s.caps[k].reads == TR_REACH_ANY)
            return "it reads elements that it stores";
    }
    return s.shows ? "what it prints comes in order" : NULL;
}
