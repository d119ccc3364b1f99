/* Merges patterns (loop fusion and array contraction): what one writes and the next reads at the same index
 * never has to go through memory.
 *
 * Within a block, a pattern moves down to one that follows and has the same space, if one reads what the
 * other writes, or if both read the same array. The new lambda is the first one's followed by the
 * second's. A pattern over what another's kept axes leave goes into its epilogue. A fresh array that
 * nobody reads any more then is not made at all.
 *
 * Never merged: regions (lambdas with memory of their own), so no work is done twice and peak memory
 * never grows; patterns whose arrays might overlap; more than MAX_ARRAYS arrays or MAX_SIZE instructions,
 * since values would leave the registers.
 * Cost: pairs of patterns within a block, MAX_BACK apart at most. */
#include <stdarg.h>
#include <string.h>

#include "base/plant.h"
#include "ir/summary.h"
#include "opt/pattern/fuse.h"
#include "opt/emit.h"

enum { MAX_ARRAYS = 24, MAX_SIZE = 600, MAX_BACK = 16, MAX_ROUNDS = 4, MAX_CHAINED = 12 };

/* The reductions of a pattern that has been merged. */
typedef struct result {
    tr_val old, node;
    uint32_t first, nred;
} result;

typedef struct fuser {
    tr_prog *p;
    tr_fn *f;
    tr_u32s pats; /* of the block, in order */
    /* packed arrays of filters whose reductions were merged: no larger than arrays that are there */
    tr_u32s rooms;
    tr_u32s made; /* nodes made from others: their own values have no uses yet */
    TR_VEC(result) results;
    tr_repl r;
    bool changed, tells;
} fuser;

/* --- what is said of it: TREADLE_DUMP=fuse --- */

static uint32_t line_of(const fuser *u, tr_val v) {
    return (uint32_t)tr_fn_place(u->f, tr_at(u->f, v)->loc).span.line;
}

static __attribute__((format(printf, 4, 5))) void tell(fuser *u, tr_val p, tr_val c, const char *fmt, ...) {
    tr_ctx *ctx = u->p->ctx;
    if (!u->tells || tr_blk_at(u->f, tr_at(u->f, c)->blk)->cold)
        return;
    va_list ap;
    va_start(ap, fmt);
    const char *text = tr_arena_vprintf(&ctx->arena, fmt, ap);
    va_end(ap);
    if (tr_dump_wants(&ctx->dump, TR_STAGE_FUSE, NULL, u->f->name))
        tr_sb_printf(&ctx->dump_text, "%s: patterns of lines %u and %u: %s\n", u->f->name, line_of(u, p),
                     line_of(u, c), text);
    if (!strncmp(text, "not ", 4) && line_of(u, p) != line_of(u, c)) /* what was merged is seen in the code */
        tr_remark_add(ctx, TR_REMARK_APART, tr_fn_place(u->f, tr_at(u->f, c)->loc),
                      "not merged with line %u: %s", line_of(u, p), text + strlen("not merged: "));
}

/* --- memory --- */

static bool distinct_from_all(const tr_fn *f, tr_val x, const tr_val *v, uint32_t n, tr_bid b) {
    for (uint32_t i = 0; i < n; i++)
        if (!tr_arrays_distinct(f, x, v[i], b))
            return false;
    return true;
}

/* --- questions about one pattern --- */

static uint32_t size_of(const tr_fn *f) {
    uint32_t n = 0;
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next)
            n++;
    return n;
}

bool tr_fuse_writes_inputs(const tr_fn *f, const tr_ins *q, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    return (tr_ins_effects(q) & (E_WRITE | E_SIDE)) && q->op != TR_OP_ALLOC &&
           !(tr_fuse_leaves_alone(f, q, tr_fuse_in(p), t->nin, p->blk) &&
             tr_fuse_leaves_alone(f, q, tr_fuse_ein(p), t->nein, p->blk));
}

/* Outputs, packed arrays and targets of scatters. */
static uint32_t nwritten(const tr_pat *p) {
    return (uint32_t)p->nout + p->nfilt + p->nscat;
}

bool tr_fuse_writes_unseen(const tr_fn *f, const tr_ins *i) {
    const tr_pat *p = i->imm.pat;
    for (uint32_t k = 0; k < nwritten(p); k++)
        if (!tr_fuse_unseen(f, i, tr_fuse_out(i)[k]))
            return false;
    for (uint32_t k = 0; k < p->neout; k++)
        if (!tr_fuse_unseen(f, i, tr_fuse_eout(i)[k]))
            return false;
    return true;
}

/* Is v the value of the pattern p's reductions, or of those that it has taken in? */
static bool is_result(const fuser *u, tr_val v, tr_val p) {
    for (uint32_t i = 0; i < u->results.n; i++)
        if (u->results.d[i].node == p && u->results.d[i].old == v)
            return true;
    return v == p;
}

static bool uses_result(const fuser *u, const tr_ins *in, tr_val p) {
    for (uint32_t k = 0; k < in->nargs; k++)
        if (is_result(u, in->args[k], p))
            return true;
    return false;
}

/* --- may p move down to just before c? --- */

/* q, which writes, writes none of these. */
bool tr_fuse_leaves_alone(const tr_fn *f, const tr_ins *q, const tr_val *arrays, uint32_t n, tr_bid b) {
    if (q->op == TR_OP_STORE)
        return distinct_from_all(f, q->args[0], arrays, n, b);
    if (q->op != TR_OP_PATTERN || !tr_fn_is_scalar(q->imm.pat->lam))
        return false;
    uint32_t nw = nwritten(q->imm.pat);
    bool alone = true;
    for (uint32_t k = 0; k < nw + q->imm.pat->neout && alone; k++)
        alone = distinct_from_all(f, k < nw ? tr_fuse_out(q)[k] : tr_fuse_eout(q)[k - nw], arrays, n, b);
    return alone;
}

/* Does q use what p writes? By a view of it, too, which may have been made before. */
static bool uses_outputs(const tr_fn *f, const tr_ins *p, const tr_ins *q) {
    const tr_pat *t = p->imm.pat;
    bool touches = tr_ins_effects(q) & (E_READ | E_WRITE), asks = q->op == TR_OP_DIM || q->op == TR_OP_STRIDE;
    for (uint32_t k = 0; k < q->nargs; k++) {
        tr_val a = q->args[k];
        if (!asks && (tr_opt_among(a, tr_fuse_out(p), t->nout) || tr_opt_among(a, tr_fuse_eout(p), t->neout)))
            return true;
        if (touches && tr_ty_is_managed(tr_at(f, a)->ty) &&
            !(distinct_from_all(f, a, tr_fuse_out(p), nwritten(t), p->blk) &&
              distinct_from_all(f, a, tr_fuse_eout(p), t->neout, p->blk)))
            return true;
    }
    return false;
}

/* May q, which stands between, see or disturb what p reads and writes? */
static const char *obstacle(const fuser *u, const tr_ins *p, tr_val pv, const tr_ins *q, bool fresh) {
    const tr_fn *f = u->f;
    const tr_pat *t = p->imm.pat;
    tr_bid b = p->blk;
    uint8_t e = tr_ins_effects(q);
    if (uses_result(u, q, pv))
        return "the first one's result is used before the second";
    if (uses_outputs(f, p, q))
        return "something between them uses the array";
    if (e & E_SIDE && q->op != TR_OP_RELEASE && q->op != TR_OP_RETAIN)
        return "there is a call between them";
    if (!fresh && q->op != TR_OP_ALLOC && e & (E_RAISE | E_READ | E_WRITE))
        return "what stands between them may see the first one's result, or raise before it";
    if (!(e & E_WRITE) || tr_plant(f->ctx, TR_PLANT_FUSE))
        return NULL;
    return tr_fuse_leaves_alone(f, q, tr_fuse_in(p), t->nin, b) &&
                   tr_fuse_leaves_alone(f, q, tr_fuse_ein(p), t->nein, b)
               ? NULL
               : "what the first one reads may be written between them";
}

static const char *cannot_move(const fuser *u, tr_val p, tr_val c) {
    const tr_ins *pi = tr_at(u->f, p);
    bool fresh = tr_fuse_writes_unseen(u->f, pi);
    const char *why = NULL;
    for (tr_val q = pi->next; q != c && !why; q = tr_at(u->f, q)->next)
        why = obstacle(u, pi, p, tr_at(u->f, q), fresh);
    return why;
}

/* Does no element of an output lie where one of another index lies of an input? As tr_pat.apart has it. */
static bool outputs_lie_apart(const tr_fn *f, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    for (uint32_t k = 0; k < t->nout; k++)
        for (uint32_t j = 0; j < t->nin; j++)
            if (tr_fuse_out(p)[k] != tr_fuse_in(p)[j] &&
                !tr_arrays_apart(f, tr_fuse_out(p)[k], tr_fuse_in(p)[j], p->blk))
                return false;
    return t->nout > 0 && !t->neout && !t->nscat;
}

/* May each round of one node do p's part and then c's, before the next round does p's? What either writes,
 * the other must not read elsewhere: the same array at the same index is fine. */
static bool rounds_mix(const tr_fn *f, const tr_ins *p, const tr_ins *c) {
    const tr_pat *tp = p->imm.pat, *tc = c->imm.pat;
    for (uint32_t k = 0; k < nwritten(tc); k++)
        for (uint32_t j = 0; j < tp->nin; j++)
            if (k < tc->nout ? tr_fuse_out(c)[k] != tr_fuse_in(p)[j] &&
                                   !tr_arrays_apart(f, tr_fuse_out(c)[k], tr_fuse_in(p)[j], p->blk)
                : k >= (uint32_t)tc->nout + tc->nfilt
                    ? !tr_arrays_disjoint(f, tr_fuse_out(c)[k], tr_fuse_in(p)[j], p->blk)
                    : !tr_arrays_distinct(f, tr_fuse_out(c)[k], tr_fuse_in(p)[j], p->blk))
                return false;
    for (uint32_t k = 0; k < tp->nout; k++) {
        for (uint32_t j = 0; j < tc->nin; j++)
            if (tr_fuse_out(p)[k] != tr_fuse_in(c)[j] &&
                !tr_arrays_distinct(f, tr_fuse_out(p)[k], tr_fuse_in(c)[j], p->blk))
                return false;
        for (uint32_t j = 0; j < nwritten(tc); j++)
            if (!tr_arrays_distinct(f, tr_fuse_out(p)[k], tr_fuse_out(c)[j], p->blk))
                return false;
    }
    /* the epilogue runs when some rounds have not */
    for (uint32_t k = 0; k < tc->neout; k++)
        if (!distinct_from_all(f, tr_fuse_eout(c)[k], tr_fuse_in(p), tp->nin, p->blk) ||
            !distinct_from_all(f, tr_fuse_eout(c)[k], tr_fuse_out(p), tp->nout, p->blk))
            return false;
    for (uint32_t k = 0; k < tp->nout; k++)
        if (!distinct_from_all(f, tr_fuse_out(p)[k], tr_fuse_ein(c), tc->nein, p->blk))
            return false;
    return true;
}

/* The same for c as part of p's epilogue, which runs when some rounds have not: nothing that c writes may be
 * read by p, and nothing that p writes by c, but what is handed on. */
static bool epilogue_mixes(const tr_fn *f, const tr_ins *p, const tr_ins *c) {
    const tr_pat *tp = p->imm.pat, *tc = c->imm.pat;
    for (uint32_t k = 0; k < tc->nout; k++)
        if (!distinct_from_all(f, tr_fuse_out(c)[k], tr_fuse_in(p), (uint32_t)tp->nin + tp->nout, p->blk) ||
            !distinct_from_all(f, tr_fuse_out(c)[k], tr_fuse_ein(p), (uint32_t)tp->nein + tp->neout, p->blk))
            return false;
    for (uint32_t k = 0; k < tc->nin; k++) {
        tr_val x = tr_fuse_in(c)[k];
        if (!distinct_from_all(f, x, tr_fuse_out(p), tp->nout, p->blk) ||
            (!tr_opt_among(x, tr_fuse_eout(p), tp->neout) &&
             !distinct_from_all(f, x, tr_fuse_eout(p), tp->neout, p->blk)))
            return false;
    }
    return true;
}

/* An input that repeats along an axis is not what was written at the same index. */
static bool reads_whole(const tr_fn *f, tr_val a, const tr_ins *c) {
    const tr_ins *in = tr_at(f, a);
    return in->op == TR_OP_ALLOC && in->nargs == c->imm.pat->nspace &&
           tr_vals_same(in->args, c->args, in->nargs);
}

/* --- composing --- */

typedef struct arglist {
    tr_val *v;
    uint32_t n;
} arglist;

static void pass(arglist *j, tr_val v) {
    j->v[j->n++] = v;
}

/* --- one node after another, at the same index --- */

/* The lambda of both. in_at, cap_at: places of c's inputs and captures among all. */
static tr_fn *compose(tr_fusing *m, const uint32_t *in_at, const uint32_t *cap_at) {
    tr_fn *f = m->f;
    tr_arena *a = &f->ctx->arena;
    const tr_pat *tp = m->p->imm.pat, *tc = m->c->imm.pat;
    tr_fn *g = tr_fuse_lambda(tc->lam);
    uint32_t ns = tp->nspace, nin = m->in.v.n, nscan = 0u + tp->nscan + tc->nscan, ncap = m->cap.v.n, n = 0;
    tr_val *e = TR_NEW_N(a, tr_val, ns + nin + nscan + ncap + 1u);
    for (uint32_t k = 0; k < ns; k++)
        e[n++] = tr_fuse_param(g, tr_ty_scalar(f->ctx->types, TR_TY_I64));
    for (uint32_t k = 0; k < nin; k++)
        e[n++] = tr_fuse_param(g, tr_fuse_type(f, m->in.v.d[k])->elem);
    for (uint32_t k = 0; k < nscan; k++)
        e[n++] = tr_fuse_param(g, tr_fuse_type(f, m->init.v.d[k]));
    for (uint32_t k = 0; k < ncap; k++)
        e[n++] = tr_fuse_param(g, tr_fuse_type(f, m->cap.v.d[k]));
    arglist j = {TR_NEW_N(a, tr_val, tr_pat_lam_cap(tp) + tp->ncap + tr_pat_lam_cap(tc) + tc->ncap + 1u), 0};
    for (uint32_t k = 0; k < ns + tp->nin; k++)
        pass(&j, e[k]);
    for (uint32_t k = 0; k < tp->nscan; k++)
        pass(&j, e[ns + nin + k]);
    for (uint32_t k = 0; k < tp->ncap; k++)
        pass(&j, e[ns + nin + nscan + k]);
    tr_bid after = tr_fuse_append(g, 0, tp->lam, j.v);
    j.n = 0;
    for (uint32_t k = 0; k < ns; k++)
        pass(&j, e[k]);
    for (uint32_t k = 0; k < tc->nin; k++) {
        tr_val x = tr_fuse_in(m->c)[k], linked = TR_NOVAL;
        for (uint32_t o = 0; o < tp->nout; o++)
            if (tr_fuse_out(m->p)[o] == x)
                linked = tr_fuse_params(g, after)[o];
        pass(&j, linked != TR_NOVAL ? linked : e[ns + in_at[k]]);
    }
    for (uint32_t k = 0; k < tc->nscan; k++)
        pass(&j, e[ns + nin + tp->nscan + k]);
    for (uint32_t k = 0; k < tc->ncap; k++)
        pass(&j, e[ns + nin + nscan + cap_at[k]]);
    tr_bid end = tr_fuse_append(g, after, tc->lam, j.v);
    /* outputs of both, then what c packs, reductions of both, p's first where they are
     * scans, else c's, and what c scatters */
    uint32_t nscattered = tr_pat_nyield(f, m->c) - tr_pat_lam_scat(tc);
    tr_val *y = TR_NEW_N(a, tr_val, tr_pat_lam_scat(tp) + tr_pat_lam_scat(tc) + nscattered + 1u);
    const tr_val *py = tr_fuse_params(g, after), *cy = tr_fuse_params(g, end);
    n = 0;
    for (uint32_t k = 0; k < tp->nout; k++)
        y[n++] = py[k];
    for (uint32_t k = 0; k < tr_pat_lam_red(tc); k++)
        y[n++] = cy[k];
    for (uint32_t k = 0; k < tp->nscan; k++)
        y[n++] = py[tp->nout + k];
    for (uint32_t k = 0; k < tc->nred; k++)
        y[n++] = cy[tr_pat_lam_red(tc) + k];
    for (uint32_t k = tp->nscan; k < tp->nred; k++)
        y[n++] = py[tp->nout + k];
    for (uint32_t k = 0; k < nscattered; k++)
        y[n++] = cy[tr_pat_lam_scat(tc) + k];
    tr_bld b = {.fn = g, .blk = end, .before = TR_NOVAL, .loc = 0};
    tr_emit_v(&b, TR_OP_YIELD, NULL, n, y);
    tr_simplify_cfg(g);
    return g;
}

/* Inputs of c but those that p writes. */
static uint32_t *place_inputs(tr_fusing *m) {
    tr_arena *a = &m->f->ctx->arena;
    const tr_pat *tp = m->p->imm.pat, *tc = m->c->imm.pat;
    uint32_t *at = TR_NEW_N(a, uint32_t, tc->nin + 1u);
    tr_fuse_put_all(a, &m->in, tr_fuse_in(m->p), tp->nin);
    for (uint32_t k = 0; k < tc->nin; k++)
        if (!tr_opt_among(tr_fuse_in(m->c)[k], tr_fuse_out(m->p), tp->nout))
            at[k] = tr_fuse_put(a, &m->in, tr_fuse_in(m->c)[k], true);
    return at;
}

static const tr_ty *result_type(const tr_fusing *m) {
    tr_fn *f = m->f;
    uint32_t n = m->t->keep ? 0 : m->init.v.n;
    if (n == 0)
        return tr_ty_none(f->ctx->types);
    if (n == 1)
        return tr_fuse_type(f, m->init.v.d[0]);
    const tr_ty **t = TR_NEW_N(&f->ctx->arena, const tr_ty *, n);
    for (uint32_t i = 0; i < n; i++)
        t[i] = tr_fuse_type(f, m->init.v.d[i]);
    return tr_ty_tuple(f->ctx->types, n, t);
}

/* The reductions of x, then those of y. */
static void put_reductions(tr_fusing *m, const tr_ins *x, const tr_ins *y) {
    tr_arena *a = &m->f->ctx->arena;
    const tr_pat *tx = x->imm.pat, *ty = y->imm.pat;
    tr_fuse_put_all(a, &m->init, x->args + tr_pat_init(tx), tx->nred);
    tr_fuse_put_all(a, &m->init, y->args + tr_pat_init(ty), ty->nred);
    m->t->reds = TR_NEW_N(a, tr_redk, m->init.v.n + 1u);
    m->t->fast = TR_NEW_N(a, uint8_t, m->init.v.n + 1u);
    for (uint32_t k = 0; k < m->init.v.n; k++) {
        m->t->reds[k] = k < tx->nred ? tx->reds[k] : ty->reds[k - tx->nred];
        m->t->fast[k] = k < tx->nred ? tx->fast[k] : ty->fast[k - tx->nred];
    }
}

/* Values of a merged pattern's reductions: items `first`... of the node's now. */
static void redirect(fuser *u, tr_val old, const tr_pat *t, tr_val node, uint32_t first) {
    for (uint32_t i = 0; i < u->results.n; i++)
        if (u->results.d[i].node == old) {
            u->results.d[i].node = node;
            u->results.d[i].first += first;
        }
    result r = {old, node, first, t->nred};
    if (t->nred && !tr_opt_among(old, u->made.d, u->made.n))
        tr_vec_push(&u->f->ctx->arena, &u->results, r);
}

/* Once a block's patterns have found their places: what used the old values uses the new ones'. */
static void take_results(fuser *u) {
    tr_fn *f = u->f;
    for (uint32_t i = 0; i < u->results.n; i++) {
        result r = u->results.d[i];
        const tr_ty *t = tr_fuse_type(f, r.old);
        if (tr_at(f, r.node)->imm.pat->nred == r.nred) {
            tr_repl_set(f, &u->r, r.old, r.node);
            continue;
        }
        tr_bld b = {.fn = f,
                    .blk = tr_at(f, r.node)->blk,
                    .before = tr_at(f, r.node)->next,
                    .loc = tr_at(f, r.node)->loc};
        tr_val *x = TR_NEW_N(&f->ctx->arena, tr_val, r.nred);
        for (uint32_t k = 0; k < r.nred; k++) {
            x[k] = tr_emit1(&b, TR_OP_EXTRACT, r.nred == 1 ? t : t->items[k], r.node);
            tr_at(f, x[k])->imm.i = r.first + k;
        }
        tr_repl_set(f, &u->r, r.old, r.nred == 1 ? x[0] : tr_emit_v(&b, TR_OP_TUPLE, t, r.nred, x));
    }
    u->results.n = 0;
}

static tr_val merge(fuser *u, tr_val pv, tr_val cv) {
    tr_fn *f = u->f;
    tr_arena *a = &f->ctx->arena;
    tr_ins p = *tr_at(f, pv), c = *tr_at(f, cv);
    const tr_pat *tp = p.imm.pat, *tc = c.imm.pat;
    tr_fusing m = {.f = f, .p = &p, .c = &c, .t = TR_NEW(a, tr_pat)};
    uint32_t *in_at = place_inputs(&m);
    tr_fuse_put_all(a, &m.out, tr_fuse_out(&p), tp->nout);
    tr_fuse_put_all(a, &m.out, tr_fuse_out(&c), tc->nout);
    tr_fuse_put_all(a, &m.filt, c.args + tr_pat_filt(tc), tc->nfilt);
    tr_fuse_put_all(a, &m.scat, c.args + tr_pat_scat(tc), tc->nscat);
    tr_fuse_put_all(a, &m.cap, p.args + tr_pat_cap(tp), tp->ncap);
    uint32_t *cap_at = TR_NEW_N(a, uint32_t, tc->ncap + 1u);
    for (uint32_t k = 0; k < tc->ncap; k++) /* c's epilogue takes them too: each has its place */
        cap_at[k] = tr_fuse_put(a, &m.cap, c.args[tr_pat_cap(tc) + k], false);
    tr_fuse_put_all(a, &m.ein, tr_fuse_ein(&c), tc->nein);
    tr_fuse_put_all(a, &m.eout, tr_fuse_eout(&c), tc->neout);
    *m.t = (tr_pat){.nspace = tc->nspace,
                    .nscan = (uint8_t)(tp->nscan + tc->nscan),
                    .par = tp->par < tc->par ? tp->par : tc->par,
                    .apart = tp->apart && tc->apart,
                    .keep = tc->keep,
                    .scats = tc->scats};
    put_reductions(&m, tp->nscan ? &p : &c, tp->nscan ? &c : &p);
    m.t->lam = compose(&m, in_at, cap_at);
    if (tc->epi) { /* the captures before its own are p's, which it does not know */
        tr_fn *g = tr_fuse_lambda(tc->epi);
        uint32_t own = tr_pat_epi_cap(tc), n = 0;
        tr_val *e = TR_NEW_N(a, tr_val, own + tc->ncap + 1u);
        for (uint32_t k = 0; k < own; k++)
            e[n++] = tr_fuse_param(g, tr_fuse_type(tc->epi, tr_fuse_params(tc->epi, 0)[k]));
        for (uint32_t k = 0; k < tp->ncap; k++)
            tr_fuse_param(g, tr_fuse_type(f, m.cap.v.d[k]));
        for (uint32_t k = 0; k < tc->ncap; k++)
            e[n++] = tr_fuse_param(g, tr_fuse_type(f, m.cap.v.d[tp->ncap + k]));
        tr_bid end = tr_fuse_append(g, 0, tc->epi, e);
        tr_bld b = {.fn = g, .blk = end, .before = TR_NOVAL};
        tr_emit_v(&b, TR_OP_YIELD, NULL, tc->neout, tr_fuse_params(g, end));
        tr_simplify_cfg(g);
        m.t->epi = g;
    }
    tr_val node = tr_fuse_node(&m, cv, result_type(&m));
    m.t->apart = m.t->apart || outputs_lie_apart(f, tr_at(f, node));
    if (!tc->keep) {
        redirect(u, cv, tc, node, tp->nscan);
        redirect(u, pv, tp, node, tp->nscan ? 0 : tc->nred);
    }
    tr_vec_push(a, &u->made, node);
    tr_ins_remove(f, pv);
    tr_ins_remove(f, cv);
    return node;
}

/* --- a map over what kept axes leave, into the epilogue --- */

static tr_val merge_epilogue(fuser *u, tr_val pv, tr_val cv) {
    tr_fn *f = u->f;
    tr_arena *a = &f->ctx->arena;
    tr_ins p = *tr_at(f, pv), c = *tr_at(f, cv);
    const tr_pat *tp = p.imm.pat, *tc = c.imm.pat;
    tr_fusing m = {.f = f, .p = &p, .c = &c, .t = TR_NEW(a, tr_pat)};
    *m.t = *tp;
    tr_fuse_put_all(a, &m.in, tr_fuse_in(&p), tp->nin);
    tr_fuse_put_all(a, &m.out, tr_fuse_out(&p), tp->nout);
    tr_fuse_put_all(a, &m.init, p.args + tr_pat_init(tp), tp->nred);
    tr_fuse_put_all(a, &m.cap, p.args + tr_pat_cap(tp), tp->ncap);
    tr_fuse_put_all(a, &m.cap, c.args + tr_pat_cap(tc), tc->ncap);
    tr_fuse_put_all(a, &m.ein, tr_fuse_ein(&p), tp->nein);
    tr_fuse_put_all(a, &m.eout, tr_fuse_eout(&p), tp->neout);
    tr_fuse_put_all(a, &m.eout, tr_fuse_out(&c), tc->nout);
    for (uint32_t k = 0; k < tc->nin; k++)
        if (!tr_opt_among(tr_fuse_in(&c)[k], tr_fuse_eout(&p), tp->neout))
            tr_fuse_put(a, &m.ein, tr_fuse_in(&c)[k], false);
    /* the lambda has more captures now, which it does not use */
    m.t->lam = tr_fn_clone(tp->lam);
    for (uint32_t k = 0; k < tc->ncap; k++)
        tr_fuse_param(m.t->lam, tr_fuse_type(f, c.args[tr_pat_cap(tc) + k]));
    tr_fn *g = tr_fuse_lambda(tc->lam);
    uint32_t nkeep = tr_pat_nkeep(tp), own = nkeep + tp->nred + tp->nein, n = 0, more = 0;
    tr_val *e = TR_NEW_N(a, tr_val, own + tp->ncap + 1u), *x = TR_NEW_N(a, tr_val, tc->nin + 1u);
    tr_val *y = TR_NEW_N(a, tr_val, nkeep + tc->nin + tc->ncap + tp->neout + tc->nout + 1u);
    for (uint32_t k = 0; k < own; k++)
        e[n++] = tr_fuse_param(g, tr_fuse_type(tp->epi, tr_fuse_params(tp->epi, 0)[k]));
    for (uint32_t k = tp->nein; k < m.ein.v.n; k++)
        x[more++] = tr_fuse_param(g, tr_fuse_type(f, m.ein.v.d[k])->elem);
    for (uint32_t k = 0; k < tp->ncap; k++)
        e[n++] = tr_fuse_param(g, tr_fuse_type(f, m.cap.v.d[k]));
    tr_bid after = tr_fuse_append(g, 0, tp->epi, e);
    n = more = 0;
    for (uint32_t k = 0; k < nkeep; k++)
        y[n++] = e[k];
    for (uint32_t k = 0; k < tc->nin; k++) {
        tr_val linked = TR_NOVAL;
        for (uint32_t o = 0; o < tp->neout; o++)
            if (tr_fuse_eout(&p)[o] == tr_fuse_in(&c)[k])
                linked = tr_fuse_params(g, after)[o];
        y[n++] = linked != TR_NOVAL ? linked : x[more++];
    }
    for (uint32_t k = 0; k < tc->ncap; k++)
        y[n++] = tr_fuse_param(g, tr_fuse_type(f, c.args[tr_pat_cap(tc) + k]));
    tr_bid end = tr_fuse_append(g, after, tc->lam, y);
    n = 0;
    for (uint32_t k = 0; k < tp->neout; k++)
        y[n++] = tr_fuse_params(g, after)[k];
    for (uint32_t k = 0; k < tc->nout; k++)
        y[n++] = tr_fuse_params(g, end)[k];
    tr_bld b = {.fn = g, .blk = end, .before = TR_NOVAL};
    tr_emit_v(&b, TR_OP_YIELD, NULL, n, y);
    tr_simplify_cfg(g);
    m.t->epi = g;
    tr_val node = tr_fuse_node(&m, cv, tr_ty_none(f->ctx->types));
    tr_ins_remove(f, pv);
    tr_ins_remove(f, cv);
    return node;
}

/* --- reductions over what a filter has kept, into the filter --- */

/* How many the filter p has kept. */
static bool is_count_of_filter(const fuser *u, tr_val v, tr_val p) {
    if (v == p)
        return tr_at(u->f, p)->imm.pat->nred == 1;
    for (uint32_t i = 0; i < u->results.n; i++)
        if (u->results.d[i].node == p && u->results.d[i].old == v)
            return u->results.d[i].first == 0 && u->results.d[i].nred == 1;
    return false;
}

/* The packed array of p that x is the kept part of, or TR_NOVAL. */
static tr_val packed_part(const fuser *u, tr_val x, tr_val pv) {
    const tr_ins *in = tr_at(u->f, x), *p = tr_at(u->f, pv);
    bool part = in->op == TR_OP_VIEW && in->ty->ndim == 1 && tr_view_nbase(in) == 1 &&
                tr_is_int(u->f, tr_view_starts(in)[0], 0) && tr_is_int(u->f, tr_view_steps(in)[0], 1) &&
                is_count_of_filter(u, tr_made_sizes(in)[0], pv);
    const tr_val *filt = p->args + tr_pat_filt(p->imm.pat);
    for (uint32_t k = 0; part && k < p->imm.pat->nfilt; k++)
        if (filt[k] == in->args[0])
            return k;
    return TR_NOVAL;
}

static bool reads_packed(const fuser *u, tr_val pv, tr_val cv) {
    const tr_ins *c = tr_at(u->f, cv);
    const tr_pat *tp = tr_at(u->f, pv)->imm.pat, *tc = c->imm.pat;
    if (!tp->nfilt || tc->nspace != 1 || !tc->nin || !is_count_of_filter(u, c->args[0], pv))
        return false;
    for (uint32_t k = 0; k < tc->nin; k++)
        if (packed_part(u, tr_fuse_in(c)[k], pv) == TR_NOVAL)
            return false;
    return true;
}

static bool pattern_only_folds(const tr_pat *t) {
    for (uint32_t k = 0; k < t->nred; k++)
        if (tr_red_info[t->reds[k]].place)
            return false;
    return t->nred && !t->nout && !t->nfilt && !t->nscat && !t->nscan && !t->keep && tr_fn_is_scalar(t->lam);
}

static bool needs_capture(const tr_pat *t, const tr_val *args, tr_val v) {
    for (uint32_t k = 0; k < t->ncap; k++)
        if (args[tr_pat_cap(t) + k] == v && tr_fuse_lam_uses(t->lam, tr_pat_lam_cap(t) + k))
            return true;
    return false;
}

/* May c's part be done where p is? Nothing between them writes what p packs, and what c
 * needs is known by then. */
static const char *cannot_rise(const fuser *u, tr_val pv, tr_val cv) {
    const tr_fn *f = u->f;
    const tr_ins *p = tr_at(f, pv), *c = tr_at(f, cv);
    const tr_pat *tp = p->imm.pat, *tc = c->imm.pat;
    for (tr_val q = p->next; q != cv; q = tr_at(f, q)->next) {
        const tr_ins *in = tr_at(f, q);
        if (tr_opt_among(q, c->args + tr_pat_init(tc), tc->nred) || needs_capture(tc, c->args, q))
            return "what the second needs is not known yet where the first stands";
        bool counts = in->op == TR_OP_RETAIN || in->op == TR_OP_RELEASE;
        if (tr_ins_effects(in) & (E_WRITE | E_SIDE) && !counts &&
            !tr_fuse_leaves_alone(f, in, p->args + tr_pat_filt(tp), tp->nfilt, p->blk))
            return "what the second reads may be written between them";
    }
    return NULL;
}

/* p's lambda, then c's on what the round would pack, where its contributions count if the round is kept. */
static tr_fn *compose_packed(tr_fusing *m, const uint32_t *part) {
    tr_fn *f = m->f;
    tr_arena *a = &f->ctx->arena;
    const tr_pat *tp = m->p->imm.pat, *tc = m->c->imm.pat;
    tr_fn *g = tr_fuse_lambda(tc->lam);
    uint32_t own = tr_pat_lam_cap(tp) + tp->ncap, n = 0;
    tr_val *e = TR_NEW_N(a, tr_val, own + 1u), *x = TR_NEW_N(a, tr_val, tr_pat_lam_cap(tc) + tc->ncap + 1u);
    for (uint32_t k = 0; k < own; k++)
        e[k] = tr_fuse_param(g, tr_fuse_type(tp->lam, tr_fuse_params(tp->lam, 0)[k]));
    tr_bid after = tr_fuse_append(g, 0, tp->lam, e);
    const tr_val *py = tr_fuse_params(g, after);
    x[n++] = e[tp->nspace + tp->nin]; /* where the scan stands: the place among what is kept */
    for (uint32_t k = 0; k < tc->nin; k++)
        x[n++] = py[tp->nout + part[k]];
    for (uint32_t k = 0; k < tc->ncap; k++)
        x[n++] = tr_fuse_param(g, tr_fuse_type(f, m->c->args[tr_pat_cap(tc) + k]));
    tr_bid end = tr_fuse_append(g, after, tc->lam, x);
    py = tr_fuse_params(g, after);
    const tr_val *cy = tr_fuse_params(g, end);
    tr_val *y = TR_NEW_N(a, tr_val, tr_pat_lam_red(tp) + tp->nred + tc->nred + 1u);
    uint32_t count = tr_pat_lam_red(tp);
    memcpy(y, py, (count + tp->nred) * sizeof *y);
    n = count + tp->nred;
    tr_bld b = {.fn = g, .blk = end, .before = TR_NOVAL};
    tr_val zero = tr_const_int(g, tr_fuse_type(g, y[count]), 0);
    tr_val kept = tr_emit_cmp(&b, TR_CMP_NE, y[count], zero);
    for (uint32_t k = 0; k < tc->nred; k++) {
        const tr_ty *t = tr_fuse_type(g, cy[k]);
        y[n++] = tr_emit_select(&b, kept, cy[k], tr_red_identity(g, tc->reds[k], t));
    }
    tr_emit_v(&b, TR_OP_YIELD, NULL, n, y);
    tr_simplify_cfg(g);
    return g;
}

/* Where p stands. */
static tr_val merge_packed(fuser *u, tr_val pv, tr_val cv) {
    tr_fn *f = u->f;
    tr_arena *a = &f->ctx->arena;
    tr_ins p = *tr_at(f, pv), c = *tr_at(f, cv);
    const tr_pat *tp = p.imm.pat, *tc = c.imm.pat;
    tr_fusing m = {.f = f, .p = &p, .c = &c, .t = TR_NEW(a, tr_pat)};
    uint32_t *part = TR_NEW_N(a, uint32_t, tc->nin + 1u);
    for (uint32_t k = 0; k < tc->nin; k++)
        part[k] = packed_part(u, tr_fuse_in(&c)[k], pv);
    tr_fuse_put_all(a, &m.in, tr_fuse_in(&p), tp->nin);
    tr_fuse_put_all(a, &m.out, tr_fuse_out(&p), tp->nout);
    tr_fuse_put_all(a, &m.filt, p.args + tr_pat_filt(tp), tp->nfilt);
    tr_fuse_put_all(a, &m.cap, p.args + tr_pat_cap(tp), tp->ncap);
    for (uint32_t k = 0; k < tc->ncap; k++) { /* one that is not looked at may come later */
        tr_val x = c.args[tr_pat_cap(tc) + k];
        tr_fuse_put(a, &m.cap,
                    tr_fuse_lam_uses(tc->lam, tr_pat_lam_cap(tc) + k) ? x
                                                                      : tr_const_undef(f, tr_fuse_type(f, x)),
                    false);
    }
    *m.t = (tr_pat){.nspace = tp->nspace, .nscan = tp->nscan, .par = tp->par < tc->par ? tp->par : tc->par};
    put_reductions(&m, &p, &c);
    m.t->lam = compose_packed(&m, part);
    m.c = &p; /* where the node stands */
    for (uint32_t k = 0; k < tp->nfilt; k++)
        tr_vec_push(a, &u->rooms, m.filt.v.d[k]);
    tr_val node = tr_fuse_node(&m, pv, result_type(&m));
    redirect(u, pv, tp, node, 0);
    redirect(u, cv, tc, node, tp->nred);
    tr_vec_push(a, &u->made, node);
    tr_ins_remove(f, pv);
    tr_ins_remove(f, cv);
    return node;
}

/* --- which --- */

static uint32_t shared_inputs(const tr_ins *p, const tr_ins *c) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < c->imm.pat->nin; k++)
        n += tr_opt_among(tr_fuse_in(c)[k], tr_fuse_in(p), p->imm.pat->nin);
    return n;
}

/* Does c read, whole, something that p writes? False with `why` when it reads it otherwise. */
static bool patterns_are_linked(const fuser *u, const tr_ins *p, const tr_ins *c, const tr_val *out,
                                uint32_t nout, const char **why) {
    bool any = false;
    for (uint32_t k = 0; k < c->imm.pat->nin; k++) {
        tr_val x = tr_fuse_in(c)[k];
        if (!tr_opt_among(x, out, nout)) {
            for (uint32_t o = 0; o < nout; o++)
                if (tr_array_root(u->f, x) == tr_array_root(u->f, out[o]))
                    *why = "the second reads the array by another view";
            continue;
        }
        if (tr_array_is_fresh(u->f, x) && !reads_whole(u->f, x, c))
            *why = "the array repeats in the second";
        any = true;
    }
    (void)p;
    return any;
}

static bool fused_is_too_large(const tr_ins *p, const tr_ins *c) {
    const tr_pat *a = p->imm.pat, *b = c->imm.pat;
    return a->nin + a->nout + 0u + b->nin + nwritten(b) + a->nein + a->neout + b->nein + b->neout >
               MAX_ARRAYS ||
           size_of(a->lam) + size_of(b->lam) > MAX_SIZE || a->nred + b->nred > TR_MAX_REDS;
}

static tr_val try_packed(fuser *u, tr_val pv, tr_val cv) {
    const tr_ins *p = tr_at(u->f, pv), *c = tr_at(u->f, cv);
    const char *why = !pattern_only_folds(c->imm.pat) ? "the second does more than reduce what was kept"
                      : fused_is_too_large(p, c)      ? "together they would be too large"
                                                      : cannot_rise(u, pv, cv);
    tell(u, pv, cv, why ? "not merged: %s" : "merged, what is kept is reduced at once", why);
    if (why)
        return TR_NOVAL;
    u->changed = true;
    return merge_packed(u, pv, cv);
}

/* What scans ask for. They are walked one by one, so a lambda that vectors would speed up is better left
 * beside them; and blocks of floats are walked twice. Those have no other reductions, and no scan contributes
 * what another one gives (ir/scans.c). */
static const char *scans_object(const tr_pat *tp, const tr_pat *tc, bool link) {
    if (tp->nscan && (tp->keep || tp->nfilt || tp->nred > tp->nscan || tc->nfilt))
        return "the first one reduces, filters or scans some axes";
    if (tp->nscan && tc->nscan && link)
        return "the second scans what the first one gives";
    bool blocks = (tp->nscan && tr_pat_scan_regroups(tp)) || (tc->nscan && tr_pat_scan_regroups(tc));
    if (blocks && tp->nred + tc->nred > tp->nscan + tc->nscan)
        return "a scan of floats goes with no other reduction";
    if ((tp->nscan && tr_fn_cost(tc->lam) > MAX_CHAINED) || (blocks && tr_fn_cost(tp->lam) > MAX_CHAINED))
        return "the scan would slow down what the other one computes";
    return NULL;
}

/* Merges p into c, or says why not. */
static tr_val try_pair(fuser *u, tr_val pv, tr_val cv) {
    const tr_ins *p = tr_at(u->f, pv), *c = tr_at(u->f, cv);
    const tr_pat *tp = p->imm.pat, *tc = c->imm.pat;
    const char *why = NULL;
    if (reads_packed(u, pv, cv))
        return try_packed(u, pv, cv);
    bool over = tp->epi && tp->keep && !tc->keep && !tc->nred && tc->nspace == tr_pat_nkeep(tp);
    bool link = over ? patterns_are_linked(u, p, c, tr_fuse_eout(p), tp->neout, &why)
                     : patterns_are_linked(u, p, c, tr_fuse_out(p), tp->nout, &why);
    bool beside = !link && !over && shared_inputs(p, c) > 0 && !tp->keep && tp->nspace > 0;
    if (!link && !beside && !why)
        return TR_NOVAL;
    if (!why && !over && !tr_pats_share_space(p, c))
        why = "their index spaces are not known to be equal";
    if (!why && tp->keep && !over)
        why = "the first one reduces or scans";
    if (!why && (tp->nscan || tc->nscan))
        why = scans_object(tp, tc, link);
    if (!why && tp->nscat)
        why = "the first one scatters";
    if (!why && tc->nscat && (tp->nred || tp->nscan || tp->nfilt || tc->keep))
        why = "a scatter goes with no reduction of another one";
    if (!why && tc->keep && tp->nred)
        why = "they reduce different axes";
    if (!why && (!tr_fn_is_scalar(tp->lam) || !tr_fn_is_scalar(tc->lam)))
        why = "one of them does more than compute";
    if (!why && uses_result(u, c, pv))
        why = "the second needs the first one's result";
    if (!why && !over && !rounds_mix(u->f, p, c))
        why = "their arrays may overlap";
    if (!why && over && !epilogue_mixes(u->f, p, c))
        why = "their arrays may overlap";
    if (!why && fused_is_too_large(p, c))
        why = "together they would be too large";
    if (!why)
        why = cannot_move(u, pv, cv);
    if (why) {
        tell(u, pv, cv, "not merged: %s", why);
        return TR_NOVAL;
    }
    tell(u, pv, cv,
         over   ? "the second goes into the first one's epilogue"
         : link ? "merged, what the first writes is read at once"
                : "merged, both read the same array");
    u->changed = true;
    return over ? merge_epilogue(u, pv, cv) : merge(u, pv, cv);
}

/* True if something was filtered in it. */
static bool fuse_block(fuser *u, tr_bid b) {
    tr_fn *f = u->f;
    bool filters = false;
    u->pats.n = 0;
    for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL; v = tr_at(f, v)->next)
        if (tr_at(f, v)->op == TR_OP_PATTERN) {
            tr_vec_push(&f->ctx->arena, &u->pats, v);
            filters = filters || tr_at(f, v)->imm.pat->nfilt;
        }
    for (uint32_t c = 1; c < u->pats.n; c++)
        for (uint32_t k = c, tried = 0; k-- > 0 && tried < MAX_BACK;) {
            if (u->pats.d[k] == TR_NOVAL)
                continue;
            tried++;
            tr_val node = try_pair(u, u->pats.d[k], u->pats.d[c]);
            if (node == TR_NOVAL)
                continue;
            u->pats.d[k] = TR_NOVAL;
            u->pats.d[c] = node;
        }
    take_results(u);
    return filters;
}

/* What is chosen where two arrays overlap, which do not. */
static void settle_choices(fuser *u, tr_bid b) {
    tr_fn *f = u->f;
    for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
        const tr_ins *in = tr_at(f, v);
        const tr_ins *c = in->op == TR_OP_SELECT ? tr_at(f, in->args[0]) : in;
        if (c == in || c->op != TR_OP_OVERLAP || !tr_arrays_disjoint(f, c->args[0], c->args[1], b))
            continue;
        tr_repl_set(f, &u->r, v, in->args[2]);
        u->changed = true;
    }
}

bool tr_opt_fuse(tr_prog *p, tr_fn *f) {
    fuser u = {.p = p, .f = f, .r = tr_repl_new(f)};
    u.tells = !f->is_lambda &&
              (tr_remarks_wanted(p->ctx) || tr_dump_wants(&p->ctx->dump, TR_STAGE_FUSE, NULL, f->name));
    for (uint32_t i = 0; i < f->rpo.n; i++)
        settle_choices(&u, f->rpo.d[i]);
    if (u.changed) {
        tr_repl_apply(f, &u.r);
        u.r = tr_repl_new(f);
        while (tr_fuse_drop(f, &u.rooms))
            ;
    }
    /* Where something is filtered, more than once: what read it may do no more than reduce now, and the
     * array it was counted for be gone. */
    bool changed = true, filters = true;
    for (unsigned round = 0; round < MAX_ROUNDS && changed && filters; round++) {
        changed = filters = false;
        for (uint32_t i = 0; i < f->rpo.n; i++)
            filters |= fuse_block(&u, f->rpo.d[i]);
        tr_repl_apply(f, &u.r);
        while (tr_fuse_drop(f, &u.rooms))
            changed = true;
        u.changed |= changed;
        u.r = tr_repl_new(f);
        u.made.n = 0;
    }
    return u.changed;
}
