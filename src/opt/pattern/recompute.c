/* Computes again what is cheap, in place of keeping it until it is packed, or of reading it beside what it is
 * made of (rematerialization).
 *
 * `y = x * x + 1; y[y > c]` must count what is kept before there is room for it: one pattern makes y and the
 * mask, and counts; the filter reads both. Storing and loading what a few instructions make of x takes longer
 * than these do, so the filter gets a pattern of its own that makes them, which is merged into it at once
 * (fuse): then the first pattern only counts, and neither y nor the mask is an array. That the mask may
 * differ when it is computed again, since another thread has stored to x, a filter takes into account anyway.
 *
 * For arrays that these two patterns alone see, where nothing is stored between them, and where storing and
 * loading them moves more bytes than must be loaded anew (`a[b > 0]` keeps its mask: b is not read again).
 *
 * `((x[None] - x[:, None]) * abs(x)).sum(axis=1)` reads `abs(x)` for all pairs, whose items lie beside those
 * of `x[None]`. One instruction takes no longer than a load, so a pattern that reads an array by the same
 * view as all that it is made of, by such an instruction, makes the items of that: the forces of 2,000 bodies
 * take 0.6 of the time. Where that is not read anyway it would be work done again, in place of none.
 *
 * Cost: one look along each block with a filter, the lambda once more; for each input of a pattern a look at
 * what its array is made of. */
#include "ir/ports.h"
#include "ir/sched.h"
#include "opt/pattern/fuse.h"
#include "opt/emit.h"

/* Instructions that take less than storing and loading (tr_fn_cost); no longer than loading: one, and the
 * yield. */
enum { CHEAP = 12, AS_LOAD = 2 };

/* A map with a reduction beside it, of few instructions. */
static bool is_cheap(const tr_pat *p) {
    return p->nfold && p->nout && !p->nscan && !p->nfilt && !p->nscat && !p->keep &&
           tr_term(p->lam, 0)->op == TR_OP_YIELD && tr_fn_is_scalar(p->lam) && tr_fn_cost(p->lam) <= CHEAP;
}

static uint32_t times(const tr_val *v, uint32_t n, tr_val x) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++)
        found += v[i] == x;
    return found;
}

/* Is output o of p an array for the filter c alone? */
static bool is_for_filter(const tr_fn *f, const uint32_t *uses, const tr_ins *p, uint32_t o,
                          const tr_ins *c) {
    tr_val a = p->args[tr_pat_at(p->imm.pat, P_OUT) + o];
    uint32_t read = times(c->args + tr_pat_at(c->imm.pat, P_IN), c->imm.pat->nin, a);
    return tr_at(f, a)->op == TR_OP_ALLOC && read > 0 && uses[a] == read + 1 &&
           tr_vals_same(tr_made_sizes(tr_at(f, a)), p->args, p->imm.pat->nspace);
}

static uint32_t item_size(const tr_fn *f, tr_val array) {
    return tr_ty_size(tr_at(f, array)->ty->elem);
}

/* Is more stored and loaded of what only the filter c reads than must be loaded for it anew? */
static bool saves_bytes(const tr_fn *f, const uint32_t *uses, const tr_ins *p, const tr_ins *c) {
    const tr_val *in = p->args + tr_pat_at(p->imm.pat, P_IN), *given = c->args + tr_pat_at(c->imm.pat, P_IN);
    uint32_t saved = 0, more = 0;
    for (uint32_t o = 0; o < p->imm.pat->nout; o++)
        if (is_for_filter(f, uses, p, o, c))
            saved += 2 * item_size(f, p->args[tr_pat_at(p->imm.pat, P_OUT) + o]);
    for (uint32_t k = 0; k < p->imm.pat->nin; k++)
        if (!times(given, c->imm.pat->nin, in[k]) && !times(in, k, in[k]))
            more += item_size(f, in[k]);
    return saved > more;
}

/* Before the filter cv: what it reads of pv's outputs, into arrays of their own. */
static void make_again(tr_fn *f, const uint32_t *uses, tr_val pv, tr_val cv) {
    const tr_ins p = *tr_at(f, pv), c = *tr_at(f, cv);
    tr_bld b = {.fn = f, .blk = c.blk, .before = cv, .loc = p.loc};
    uint32_t first = tr_pat_at(p.imm.pat, P_OUT), n = 0;
    tr_val *yields = TR_NEW_N(&f->ctx->arena, tr_val, p.imm.pat->nout);
    tr_node m = tr_node_new(f);
    m.t = *p.imm.pat;
    m.t.lam = tr_fn_clone(p.imm.pat->lam);
    tr_ins *y = tr_term(m.t.lam, 0);
    tr_node_take(&m, P_SPACE, &p);
    tr_node_take(&m, P_IN, &p);
    for (uint32_t o = 0; o < p.imm.pat->nout; o++) {
        if (!is_for_filter(f, uses, &p, o, &c))
            continue;
        tr_val old = p.args[first + o];
        const tr_ins *made = tr_at(f, old);
        tr_val now = tr_emit_v(&b, TR_OP_ALLOC, made->ty, made->nargs, made->args);
        tr_at(f, now)->imm = tr_at(f, old)->imm;
        tr_at(f, now)->sub = tr_at(f, old)->sub;
        for (uint32_t k = 0; k < c.imm.pat->nin; k++)
            if (c.args[tr_pat_at(c.imm.pat, P_IN) + k] == old)
                c.args[tr_pat_at(c.imm.pat, P_IN) + k] = now;
        yields[n++] = y->args[o];
        tr_node_put(&m, P_OUT, now);
    }
    y->args = yields;
    y->nargs = n;
    tr_node_take(&m, P_CAP, &p);
    tr_node_take(&m, P_WHEN, &p);
    tr_node_take(&m, P_COST, &p);
    tr_node_emit(&m, &b);
}

static bool try_filter(tr_fn *f, const uint32_t *uses, tr_val cv) {
    const tr_ins *c = tr_at(f, cv);
    for (tr_val v = c->prev; v != TR_NOVAL; v = tr_at(f, v)->prev) {
        const tr_ins *p = tr_at(f, v);
        if (p->op == TR_OP_PATTERN && is_cheap(p->imm.pat) && p->imm.pat->nspace == c->imm.pat->nspace &&
            tr_vals_same(p->args, c->args, c->imm.pat->nspace) && saves_bytes(f, uses, p, c)) {
            make_again(f, uses, v, cv);
            return true;
        }
        if (tr_ins_effects(p) & (E_WRITE | E_SIDE))
            return false;
    }
    return false;
}

/* --- beside what it is made of --- */

/* Is y the array `of`, as x is `array`, or the same view of it? */
static bool views_are_alike(const tr_fn *f, tr_val x, tr_val array, tr_val y, tr_val of) {
    const tr_ins *a = tr_at(f, x), *b = tr_at(f, y);
    if (x == array)
        return y == of;
    return a->op == TR_OP_VIEW && b->op == TR_OP_VIEW && a->args[0] == array && b->args[0] == of &&
           a->nargs == b->nargs && a->imm.i == b->imm.i &&
           tr_vals_same(a->args + 1, b->args + 1, a->nargs - 1u);
}

/* Does each processor do it with vectors in one instruction or two, of numbers as they lie in memory? */
static bool is_one_step(const tr_ins *in) {
    bool real = in->ty && (in->ty->kind == TR_TY_F32 || in->ty->kind == TR_TY_F64);
    switch (in->op) {
    case TR_OP_YIELD: return true;
    case TR_OP_MUL:
    case TR_OP_ABS: return real;
    case TR_OP_ADD:
    case TR_OP_SUB:
    case TR_OP_NEG: return real || (in->ty && tr_ty_is_int(in->ty));
    default: return false;
    }
}

/* A map of one instruction into a new array, of other arrays that are as long, which asks for no index. */
static bool is_as_cheap_as_loading(const tr_fn *f, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    if (!tr_pat_is_map(t) || t->nout != 1 || !t->nin || tr_term(t->lam, 0)->op != TR_OP_YIELD ||
        !tr_fn_is_scalar(t->lam) || tr_fn_cost(t->lam) > AS_LOAD || !tr_array_is_fresh(f, tr_fuse_out(p)[0]))
        return false;
    for (tr_val v = tr_blk_at(t->lam, 0)->first; v != TR_NOVAL; v = tr_at(t->lam, v)->next)
        if (!is_one_step(tr_at(t->lam, v)))
            return false;
    for (uint32_t k = 0; k < t->nin; k++) /* what is changed in place is not there any more */
        if (tr_array_root(f, tr_fuse_in(p)[k]) == tr_array_root(f, tr_fuse_out(p)[0]))
            return false;
    for (unsigned x = 0; x < t->nspace; x++) {
        if (tr_fuse_lam_uses(t->lam, x))
            return false;
        for (uint32_t k = 0; k < t->nin; k++)
            if (!tr_pat_is_as_long(f, p, k, x))
                return false;
    }
    return true;
}

/* Which input of c lies beside input number `in` as p's does beside what it makes? UINT32_MAX: none. */
static uint32_t beside(const tr_fn *f, const tr_ins *p, uint32_t k, const tr_ins *c, uint32_t in) {
    for (uint32_t i = 0; i < c->imm.pat->nin; i++)
        if (views_are_alike(f, tr_fuse_in(c)[in], tr_fuse_out(p)[0], tr_fuse_in(c)[i], tr_fuse_in(p)[k]))
            return i;
    return UINT32_MAX;
}

/* Is what p has read, and written, the same when c reads it? Nothing in between, nor c itself, stores
 * there. */
static bool stays_until(const tr_fn *f, tr_val pv, tr_val cv) {
    const tr_ins *p = tr_at(f, pv), *c = tr_at(f, cv);
    for (tr_val q = p->next; q != cv; q = tr_at(f, q)->next) {
        const tr_ins *in = tr_at(f, q);
        if (tr_fuse_writes_inputs(f, in, p) ||
            (tr_ins_effects(in) & (E_WRITE | E_SIDE) && in->op != TR_OP_ALLOC &&
             !tr_fuse_leaves_alone(f, in, tr_fuse_out(p), 1, p->blk)))
            return false;
    }
    for (uint32_t k = 0; (k = tr_pat_with(c->imm.pat, TR_MEM_WRITE, k)) < c->nargs; k++)
        if (!tr_fuse_distinct_from_all(f, c->args[k], tr_fuse_in(p), p->imm.pat->nin, c->blk))
            return false;
    return true;
}

/* c, whose input number `in` is what p makes of others that c reads. */
static tr_val compute_beside(tr_fn *f, tr_val pv, tr_val cv, uint32_t in) {
    tr_ins p = *tr_at(f, pv), c = *tr_at(f, cv);
    const tr_pat *tp = p.imm.pat, *tc = c.imm.pat;
    uint32_t first = tr_pat_at(tc, P_IN);
    tr_fusing m = tr_fuse_new(f, &c, &c);
    m.p = tr_fuse_new(f, &p, &c).p;
    m.node.t = *tc;
    for (uint32_t k = 0; k < tc->nin; k++)
        if (k == in)
            tr_fuse_link(&m, first + k, tr_pat_at(tp, P_OUT));
        else
            tr_fuse_put(&m, &m.c, first + k, P_IN, false);
    for (uint32_t k = 0; k < tp->nin; k++)
        tr_fuse_share(&m.p, tr_pat_at(tp, P_IN) + k, P_IN, m.c.fate[first + beside(f, &p, k, &c, in)].k);
    tr_fuse_take_rest(&m, &m.c);
    tr_fuse_take(&m, &m.p, P_CAP);
    m.node.t.lam = tr_fuse_compose(&m, TR_LAM, TR_LAM, TR_LAM);
    if (tc->epi)
        m.node.t.epi = tr_fuse_compose(&m, TR_EPI, TR_NOFN, TR_EPI);
    tr_bld b = {.fn = f, .blk = c.blk, .before = cv, .loc = c.loc};
    return tr_node_emit(&m.node, &b);
}

/* The pattern of its block that makes an array, for c; TR_NOVAL: none that is looked for. */
static tr_val maker_of(const tr_fn *f, tr_val cv, tr_val array) {
    for (tr_val v = tr_at(f, cv)->prev; v != TR_NOVAL && v != array; v = tr_at(f, v)->prev)
        if (tr_at(f, v)->op == TR_OP_PATTERN && tr_at(f, v)->imm.pat->nout == 1 &&
            tr_fuse_out(tr_at(f, v))[0] == array)
            return v;
    return TR_NOVAL;
}

/* What c has become, or TR_NOVAL: it stays. */
static tr_val try_beside(tr_fn *f, tr_val cv) {
    const tr_ins *c = tr_at(f, cv);
    const tr_pat *tc = c->imm.pat;
    if (tc->nin < 2 || !tr_pat_only_computes(tc) || tc->nwhen || tc->ncost)
        return TR_NOVAL;
    for (uint32_t in = 0; in < tc->nin; in++) {
        tr_val array = tr_array_root(f, tr_fuse_in(c)[in]), pv = maker_of(f, cv, array);
        if (pv == TR_NOVAL || !is_as_cheap_as_loading(f, tr_at(f, pv)) || !stays_until(f, pv, cv))
            continue;
        uint32_t found = 0;
        while (found < tr_at(f, pv)->imm.pat->nin && beside(f, tr_at(f, pv), found, c, in) != UINT32_MAX)
            found++;
        if (found == tr_at(f, pv)->imm.pat->nin)
            return compute_beside(f, pv, cv, in);
    }
    return TR_NOVAL;
}

static bool compute_all_beside(tr_fn *f) {
    tr_repl r = tr_repl_new(f);
    bool changed = false;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first, next; v != TR_NOVAL; v = next) {
            next = tr_at(f, v)->next;
            tr_val node = tr_at(f, v)->op == TR_OP_PATTERN ? try_beside(f, v) : TR_NOVAL;
            if (node == TR_NOVAL)
                continue;
            tr_repl_set(f, &r, v, node);
            tr_ins_remove(f, v);
            next = node; /* and what else it reads */
            changed = true;
        }
    tr_repl_apply(f, &r);
    return changed;
}

bool tr_opt_recompute(tr_prog *p, tr_fn *f) {
    bool changed = compute_all_beside(f);
    const uint32_t *uses = NULL;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first, next; v != TR_NOVAL; v = next) {
            next = tr_at(f, v)->next;
            if (tr_at(f, v)->op != TR_OP_PATTERN || !tr_at(f, v)->imm.pat->nfilt)
                continue;
            uses = uses ? uses : tr_use_counts(f);
            changed |= try_filter(f, uses, v);
        }
    if (changed)
        tr_opt_fuse(p, f);
    return changed;
}
