/* Computes again what is cheap, in place of keeping it until it is packed (rematerialization).
 *
 * `y = x * x + 1; y[y > c]` must count what is kept before there is room for it: one pattern makes y and
 * the mask, and counts; the filter reads both. Storing and loading what a few instructions make of x takes
 * longer than these do, so the filter gets a pattern of its own that makes them, which is merged into it
 * at once (fuse): then the first pattern only counts, and neither y nor the mask is an array. That the
 * mask may differ when it is computed again, since another thread has stored to x, a filter takes into
 * account anyway.
 *
 * For arrays that these two patterns alone see, where nothing is stored between them, and where storing
 * and loading them moves more bytes than must be loaded anew (`a[b > 0]` keeps its mask: b is not read
 * again). Cost: one look along each block with a filter; the lambda once more. */
#include "ir/ports.h"
#include "ir/alias.h"
#include "opt/priv.h"

enum { CHEAP = 12 }; /* instructions that take less than storing and loading (tr_fn_cost) */

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

bool tr_opt_recompute(tr_prog *p, tr_fn *f) {
    bool changed = false;
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
