/* Merges patterns: what one writes and the next reads at the same index never has to go through memory.
 *
 * Within a block, a pattern moves down to one that follows and has the same space, if one reads what the other writes, or if both
 * read the same array. The new lambda is the first one's followed by the second's. A pattern over what another's kept axes
 * leave goes into its epilogue. A fresh array that nobody reads any more then is not made at all.
 *
 * Never merged: regions (lambdas with memory of their own), so no work is done twice and peak memory never grows; patterns whose
 * arrays might overlap; more than MAX_ARRAYS arrays or MAX_SIZE instructions, since values would leave the registers.
 * Cost: pairs of patterns within a block, MAX_BACK apart at most. */
#include <stdarg.h>
#include <string.h>

#include "base/plant.h"
#include "opt/priv.h"
#include "ir/sources.h"

enum { MAX_ARRAYS = 24, MAX_SIZE = 600, MAX_BACK = 16, MAX_ROUNDS = 4 };

/* The reductions of a pattern that has been merged. */
typedef struct result {
    tr_val old, node;
    uint32_t first, nred;
} result;

typedef struct fuser {
    tr_prog *p;
    tr_fn *f;
    tr_u32s pats; /* of the block, in order */
    tr_u32s
        rooms; /* packed arrays of filters whose reductions were merged: no larger than arrays that are there */
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
    if (!u->tells || tr_blk_at(u->f, tr_at(u->f, c)->blk)->cold)
        return;
    va_list ap;
    va_start(ap, fmt);
    tr_sb_printf(&u->p->ctx->dump_text, "%s: patterns of lines %u and %u: %s\n", u->f->name, line_of(u, p),
                 line_of(u, c), tr_arena_vprintf(&u->p->ctx->arena, fmt, ap));
    va_end(ap);
}

/* --- memory --- */

/* An array that was there before the block began, or that the block makes: what a call gives might be any of them. */
static bool has_origin(const tr_fn *f, tr_val root, tr_bid b) {
    const tr_ins *in = tr_at(f, root);
    return in->op == TR_OP_ALLOC || in->op == TR_OP_PARAM || in->op == TR_OP_CONSTARR || in->blk != b;
}

/* Surely no common element. `b`: the block in which both are used. */
static bool distinct(const tr_fn *f, tr_val x, tr_val y, tr_bid b) {
    tr_val rx = tr_array_root(f, x), ry = tr_array_root(f, y);
    if (rx == ry)
        return false;
    const tr_ins *ix = tr_at(f, rx), *iy = tr_at(f, ry);
    bool fresh_x = ix->op == TR_OP_ALLOC && ix->blk == b, fresh_y = iy->op == TR_OP_ALLOC && iy->blk == b;
    return (fresh_x && has_origin(f, ry, b)) || (fresh_y && has_origin(f, rx, b)) ||
           (ix->op == TR_OP_ALLOC && iy->op == TR_OP_ALLOC) || ix->op == TR_OP_CONSTARR ||
           iy->op == TR_OP_CONSTARR;
}

static bool distinct_from_all(const tr_fn *f, tr_val x, const tr_val *v, uint32_t n, tr_bid b) {
    for (uint32_t i = 0; i < n; i++)
        if (!distinct(f, x, v[i], b))
            return false;
    return true;
}

static bool among(tr_val x, const tr_val *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (v[i] == x)
            return true;
    return false;
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

static const tr_val *arrays_in(const tr_ins *i) {
    return i->args + tr_pat_in(i->imm.pat);
}
static const tr_val *arrays_out(const tr_ins *i) {
    return i->args + tr_pat_out(i->imm.pat);
}
static const tr_val *epi_in(const tr_ins *i) {
    return i->args + tr_pat_ein(i->imm.pat);
}
static const tr_val *epi_out(const tr_ins *i) {
    return i->args + tr_pat_eout(i->imm.pat);
}

static bool is_fresh(const tr_fn *f, tr_val a) {
    return tr_at(f, a)->op == TR_OP_ALLOC;
}

/* Outputs and packed arrays. */
static uint32_t nwritten(const tr_pat *p) {
    return (uint32_t)p->nout + p->nfilt;
}

static bool writes_fresh_only(const tr_fn *f, const tr_ins *i) {
    const tr_pat *p = i->imm.pat;
    for (uint32_t k = 0; k < nwritten(p); k++)
        if (!is_fresh(f, arrays_out(i)[k]))
            return false;
    for (uint32_t k = 0; k < p->neout; k++)
        if (!is_fresh(f, epi_out(i)[k]))
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

/* May q, which stands between, see or disturb what p reads and writes? */
static const char *obstacle(const fuser *u, const tr_ins *p, tr_val pv, const tr_ins *q, bool fresh) {
    const tr_fn *f = u->f;
    const tr_pat *t = p->imm.pat;
    tr_bid b = p->blk;
    uint8_t e = tr_ins_effects(q);
    if (uses_result(u, q, pv))
        return "the first one's result is used before the second";
    for (uint32_t k = 0; k < q->nargs; k++) {
        tr_val a = q->args[k];
        bool mine = among(a, arrays_out(p), t->nout) || among(a, epi_out(p), t->neout);
        if (mine && q->op != TR_OP_DIM && q->op != TR_OP_STRIDE)
            return "something between them uses the array";
    }
    if (e & E_SIDE && q->op != TR_OP_RELEASE && q->op != TR_OP_RETAIN)
        return "there is a call between them";
    if (!fresh && q->op != TR_OP_ALLOC && e & (E_RAISE | E_READ | E_WRITE))
        return "what stands between them may see the first one's result, or raise before it";
    if (!(e & E_WRITE) || tr_plant(f->ctx, TR_PLANT_FUSE))
        return NULL;
    if (q->op == TR_OP_STORE)
        return distinct_from_all(f, q->args[0], arrays_in(p), t->nin, b) &&
                       distinct_from_all(f, q->args[0], epi_in(p), t->nein, b)
                   ? NULL
                   : "an element of what the first one reads may be written between them";
    if (q->op != TR_OP_PATTERN || !tr_fn_is_scalar(q->imm.pat->lam))
        return "something between them writes memory";
    uint32_t nw = nwritten(q->imm.pat);
    for (uint32_t k = 0; k < nw + q->imm.pat->neout; k++) {
        tr_val o = k < nw ? arrays_out(q)[k] : epi_out(q)[k - nw];
        if (!distinct_from_all(f, o, arrays_in(p), t->nin, b) ||
            !distinct_from_all(f, o, epi_in(p), t->nein, b))
            return "what the first one reads may be written between them";
    }
    return NULL;
}

static const char *cannot_move(const fuser *u, tr_val p, tr_val c) {
    const tr_ins *pi = tr_at(u->f, p);
    bool fresh = writes_fresh_only(u->f, pi);
    const char *why = NULL;
    for (tr_val q = pi->next; q != c && !why; q = tr_at(u->f, q)->next)
        why = obstacle(u, pi, p, tr_at(u->f, q), fresh);
    return why;
}

/* May each round of one node do p's part and then c's, before the next round does p's? What either writes, the other must not
 * read elsewhere: the same array at the same index is fine. */
static bool rounds_mix(const tr_fn *f, const tr_ins *p, const tr_ins *c) {
    const tr_pat *tp = p->imm.pat, *tc = c->imm.pat;
    for (uint32_t k = 0; k < nwritten(tc); k++)
        for (uint32_t j = 0; j < tp->nin; j++)
            if ((arrays_out(c)[k] != arrays_in(p)[j] || k >= tc->nout) &&
                !distinct(f, arrays_out(c)[k], arrays_in(p)[j], p->blk))
                return false;
    for (uint32_t k = 0; k < tp->nout; k++) {
        for (uint32_t j = 0; j < tc->nin; j++)
            if (arrays_out(p)[k] != arrays_in(c)[j] &&
                !distinct(f, arrays_out(p)[k], arrays_in(c)[j], p->blk))
                return false;
        for (uint32_t j = 0; j < nwritten(tc); j++)
            if (!distinct(f, arrays_out(p)[k], arrays_out(c)[j], p->blk))
                return false;
    }
    /* the epilogue runs when some rounds have not */
    for (uint32_t k = 0; k < tc->neout; k++)
        if (!distinct_from_all(f, epi_out(c)[k], arrays_in(p), tp->nin, p->blk) ||
            !distinct_from_all(f, epi_out(c)[k], arrays_out(p), tp->nout, p->blk))
            return false;
    for (uint32_t k = 0; k < tp->nout; k++)
        if (!distinct_from_all(f, arrays_out(p)[k], epi_in(c), tc->nein, p->blk))
            return false;
    return true;
}

/* The same for c as part of p's epilogue, which runs when some rounds have not: nothing that c writes may be read by p, and
 * nothing that p writes by c, but what is handed on. */
static bool epilogue_mixes(const tr_fn *f, const tr_ins *p, const tr_ins *c) {
    const tr_pat *tp = p->imm.pat, *tc = c->imm.pat;
    for (uint32_t k = 0; k < tc->nout; k++)
        if (!distinct_from_all(f, arrays_out(c)[k], arrays_in(p), (uint32_t)tp->nin + tp->nout, p->blk) ||
            !distinct_from_all(f, arrays_out(c)[k], epi_in(p), (uint32_t)tp->nein + tp->neout, p->blk))
            return false;
    for (uint32_t k = 0; k < tc->nin; k++) {
        tr_val x = arrays_in(c)[k];
        if (!distinct_from_all(f, x, arrays_out(p), tp->nout, p->blk) ||
            (!among(x, epi_out(p), tp->neout) && !distinct_from_all(f, x, epi_out(p), tp->neout, p->blk)))
            return false;
    }
    return true;
}

static bool same_space(const tr_ins *p, const tr_ins *c) {
    return p->imm.pat->nspace == c->imm.pat->nspace &&
           !memcmp(p->args, c->args, p->imm.pat->nspace * sizeof *p->args);
}

/* An input that repeats along an axis is not what was written at the same index. */
static bool reads_whole(const tr_fn *f, tr_val a, const tr_ins *c) {
    const tr_ins *in = tr_at(f, a);
    return in->op == TR_OP_ALLOC && in->nargs == c->imm.pat->nspace &&
           !memcmp(in->args, c->args, in->nargs * sizeof *in->args);
}

/* --- composing --- */

typedef struct group {
    TR_VEC(tr_val) v;
} group;

static uint32_t put(tr_arena *a, group *g, tr_val v, bool once) {
    for (uint32_t i = 0; once && i < g->v.n; i++)
        if (g->v.d[i] == v)
            return i;
    tr_vec_push(a, &g->v, v);
    return g->v.n - 1;
}

static void put_all(tr_arena *a, group *g, const tr_val *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        put(a, g, v[i], false);
}

static tr_fn *new_lambda(const tr_fn *like) {
    tr_fn *g = tr_fn_new(like->ctx, like->name, S_T);
    g->is_lambda = true;
    g->file = like->file;
    g->func = like->func;
    tr_blk_new(g);
    return g;
}

/* Appends a copy of `src`; its yields become jumps to a new block whose params are the values. Returns that block. */
static tr_bid append(tr_fn *g, tr_bid from, const tr_fn *src, const tr_val *args) {
    tr_arena *a = &g->ctx->arena;
    tr_u32s blks = tr_live_blocks(src);
    tr_val *map = TR_NEW_N(a, tr_val, src->ins.n + 1u);
    tr_bid *bmap = TR_NEW_N(a, tr_bid, src->blks.n + 1u), join = TR_NOBLK;
    memset(map, 0xff, src->ins.n * sizeof *map);
    memset(bmap, 0xff, src->blks.n * sizeof *bmap);
    tr_clone_blocks(g, src, blks.d, blks.n, map, bmap, 0);
    tr_bld b = {.fn = g, .blk = from, .before = TR_NOVAL};
    tr_br(&b, bmap[0], tr_blk_at(src, 0)->params.n, args);
    for (uint32_t i = 0; i < blks.n; i++) {
        b.blk = bmap[blks.d[i]];
        tr_val last = tr_blk_at(g, b.blk)->last;
        if (tr_at(g, last)->op != TR_OP_YIELD)
            continue;
        tr_ins y = *tr_at(g, last);
        if (join == TR_NOBLK) {
            join = tr_blk_new(g);
            for (uint32_t k = 0; k < y.nargs; k++)
                tr_blk_param(g, join, tr_at(g, y.args[k])->ty, NULL);
        }
        tr_ins_remove(g, last);
        tr_br(&b, join, y.nargs, y.args);
    }
    return join;
}

static const tr_val *params_of(const tr_fn *g, tr_bid b) {
    return tr_blk_at(g, b)->params.d;
}

typedef struct arglist {
    tr_val *v;
    uint32_t n;
} arglist;

static void pass(arglist *j, tr_val v) {
    j->v[j->n++] = v;
}

static tr_val entry_param(tr_fn *g, const tr_ty *t) {
    return tr_blk_param(g, 0, t, NULL);
}

static const tr_ty *type_of(const tr_fn *f, tr_val v) {
    return tr_at(f, v)->ty;
}

/* A new node with both parts. Its operands by group, then its lambda. */
typedef struct builder {
    fuser *u;
    const tr_ins *p, *c;
    group in, out, filt, init, cap, ein, eout;
    tr_pat *t;
} builder;

static tr_val make_node(builder *m, tr_val before, const tr_ty *ty) {
    tr_fn *f = m->u->f;
    tr_pat *t = m->t;
    t->nin = (uint16_t)m->in.v.n;
    t->nout = (uint16_t)m->out.v.n;
    t->nfilt = (uint16_t)m->filt.v.n;
    t->nred = (uint16_t)m->init.v.n;
    t->ncap = (uint16_t)m->cap.v.n;
    t->nein = (uint16_t)m->ein.v.n;
    t->neout = (uint16_t)m->eout.v.n;
    tr_val *v = TR_NEW_N(&f->ctx->arena, tr_val, tr_pat_nargs(t) + 1u);
    uint32_t n = t->nspace;
    memcpy(v, m->p->args, n * sizeof *v);
    const group *all[] = {&m->in, &m->out, &m->filt, &m->init, &m->cap, &m->ein, &m->eout};
    for (unsigned k = 0; k < sizeof all / sizeof *all; k++)
        for (uint32_t i = 0; i < all[k]->v.n; i++)
            v[n++] = all[k]->v.d[i];
    tr_bld b = {.fn = f, .blk = m->c->blk, .before = before, .loc = m->c->loc};
    tr_val r = tr_emit_v(&b, TR_OP_PATTERN, ty, n, v);
    tr_at(f, r)->imm.pat = t;
    return r;
}

/* --- one node after another, at the same index --- */

/* The lambda of both. in_at, cap_at: places of c's inputs and captures among all. */
static tr_fn *compose(builder *m, const uint32_t *in_at, const uint32_t *cap_at) {
    tr_fn *f = m->u->f;
    tr_arena *a = &f->ctx->arena;
    const tr_pat *tp = m->p->imm.pat, *tc = m->c->imm.pat;
    tr_fn *g = new_lambda(tc->lam);
    uint32_t ns = tp->nspace, nin = m->in.v.n, nscan = 0u + tp->nscan + tc->nscan, ncap = m->cap.v.n, n = 0;
    tr_val *e = TR_NEW_N(a, tr_val, ns + nin + nscan + ncap + 1u);
    for (uint32_t k = 0; k < ns; k++)
        e[n++] = entry_param(g, tr_ty_scalar(f->ctx->types, TR_TY_I64));
    for (uint32_t k = 0; k < nin; k++)
        e[n++] = entry_param(g, type_of(f, m->in.v.d[k])->elem);
    for (uint32_t k = 0; k < nscan; k++)
        e[n++] = entry_param(g, type_of(f, m->init.v.d[k]));
    for (uint32_t k = 0; k < ncap; k++)
        e[n++] = entry_param(g, type_of(f, m->cap.v.d[k]));
    arglist j = {TR_NEW_N(a, tr_val, tr_pat_lam_cap(tp) + tp->ncap + tr_pat_lam_cap(tc) + tc->ncap + 1u), 0};
    for (uint32_t k = 0; k < ns + tp->nin; k++)
        pass(&j, e[k]);
    for (uint32_t k = 0; k < tp->ncap; k++)
        pass(&j, e[ns + nin + nscan + k]);
    tr_bid after = append(g, 0, tp->lam, j.v);
    j.n = 0;
    for (uint32_t k = 0; k < ns; k++)
        pass(&j, e[k]);
    for (uint32_t k = 0; k < tc->nin; k++) {
        tr_val x = arrays_in(m->c)[k], linked = TR_NOVAL;
        for (uint32_t o = 0; o < tp->nout; o++)
            if (arrays_out(m->p)[o] == x)
                linked = params_of(g, after)[o];
        pass(&j, linked != TR_NOVAL ? linked : e[ns + in_at[k]]);
    }
    for (uint32_t k = 0; k < tc->nscan; k++)
        pass(&j, e[ns + nin + k]);
    for (uint32_t k = 0; k < tc->ncap; k++)
        pass(&j, e[ns + nin + nscan + cap_at[k]]);
    tr_bid end = append(g, after, tc->lam, j.v);
    /* outputs of both, then what c packs and reductions of both; scans of c first, as p has none */
    tr_val *y = TR_NEW_N(a, tr_val, tr_pat_lam_red(tp) + tp->nred + tr_pat_lam_red(tc) + tc->nred + 1u);
    const tr_val *py = params_of(g, after), *cy = params_of(g, end);
    n = 0;
    for (uint32_t k = 0; k < tp->nout; k++)
        y[n++] = py[k];
    for (uint32_t k = 0; k < tr_pat_lam_red(tc) + tc->nred; k++)
        y[n++] = cy[k];
    for (uint32_t k = 0; k < tp->nred; k++)
        y[n++] = py[tp->nout + k];
    tr_bld b = {.fn = g, .blk = end, .before = TR_NOVAL, .loc = 0};
    tr_emit_v(&b, TR_OP_YIELD, NULL, n, y);
    tr_simplify_cfg(g);
    return g;
}

/* Inputs of c but those that p writes. */
static uint32_t *place_inputs(builder *m) {
    tr_arena *a = &m->u->f->ctx->arena;
    const tr_pat *tp = m->p->imm.pat, *tc = m->c->imm.pat;
    uint32_t *at = TR_NEW_N(a, uint32_t, tc->nin + 1u);
    put_all(a, &m->in, arrays_in(m->p), tp->nin);
    for (uint32_t k = 0; k < tc->nin; k++)
        if (!among(arrays_in(m->c)[k], arrays_out(m->p), tp->nout))
            at[k] = put(a, &m->in, arrays_in(m->c)[k], true);
    return at;
}

static const tr_ty *result_type(const builder *m) {
    tr_fn *f = m->u->f;
    uint32_t n = m->t->keep ? 0 : m->init.v.n;
    if (n == 0)
        return tr_ty_none(f->ctx->types);
    if (n == 1)
        return type_of(f, m->init.v.d[0]);
    const tr_ty **t = TR_NEW_N(&f->ctx->arena, const tr_ty *, n);
    for (uint32_t i = 0; i < n; i++)
        t[i] = type_of(f, m->init.v.d[i]);
    return tr_ty_tuple(f->ctx->types, n, t);
}

/* Values of a merged pattern's reductions: items `first`... of the node's now. */
static void redirect(fuser *u, tr_val old, const tr_pat *t, bool made, tr_val node, uint32_t first) {
    for (uint32_t i = 0; i < u->results.n; i++)
        if (u->results.d[i].node == old) {
            u->results.d[i].node = node;
            u->results.d[i].first += first;
        }
    result r = {old, node, first, t->nred};
    if (t->nred && !made)
        tr_vec_push(&u->f->ctx->arena, &u->results, r);
}

/* Once a block's patterns have found their places: what used the old values uses the new ones'. */
static void take_results(fuser *u) {
    tr_fn *f = u->f;
    for (uint32_t i = 0; i < u->results.n; i++) {
        result r = u->results.d[i];
        const tr_ty *t = type_of(f, r.old);
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
    builder m = {.u = u, .p = &p, .c = &c, .t = TR_NEW(a, tr_pat)};
    uint32_t *in_at = place_inputs(&m);
    put_all(a, &m.out, arrays_out(&p), tp->nout);
    put_all(a, &m.out, arrays_out(&c), tc->nout);
    put_all(a, &m.filt, c.args + tr_pat_filt(tc), tc->nfilt);
    put_all(a, &m.init, c.args + tr_pat_init(tc), tc->nred);
    put_all(a, &m.init, p.args + tr_pat_init(tp), tp->nred);
    put_all(a, &m.cap, p.args + tr_pat_cap(tp), tp->ncap);
    uint32_t *cap_at = TR_NEW_N(a, uint32_t, tc->ncap + 1u);
    for (uint32_t k = 0; k < tc->ncap; k++) /* c's epilogue takes them too: each has its place */
        cap_at[k] = put(a, &m.cap, c.args[tr_pat_cap(tc) + k], false);
    put_all(a, &m.ein, epi_in(&c), tc->nein);
    put_all(a, &m.eout, epi_out(&c), tc->neout);
    *m.t = (tr_pat){.nspace = tc->nspace,
                    .nscan = tc->nscan,
                    .par = tp->par < tc->par ? tp->par : tc->par,
                    .apart = tp->apart && tc->apart,
                    .keep = tc->keep};
    m.t->reds = TR_NEW_N(a, tr_redk, tp->nred + tc->nred + 1u);
    m.t->fast = TR_NEW_N(a, uint8_t, tp->nred + tc->nred + 1u);
    for (uint32_t k = 0; k < (uint32_t)tc->nred + tp->nred; k++) {
        m.t->reds[k] = k < tc->nred ? tc->reds[k] : tp->reds[k - tc->nred];
        m.t->fast[k] = k < tc->nred ? tc->fast[k] : tp->fast[k - tc->nred];
    }
    m.t->lam = compose(&m, in_at, cap_at);
    if (tc->epi) { /* the captures before its own are p's, which it does not know */
        tr_fn *g = new_lambda(tc->epi);
        uint32_t own = tr_pat_epi_cap(tc), n = 0;
        tr_val *e = TR_NEW_N(a, tr_val, own + tc->ncap + 1u);
        for (uint32_t k = 0; k < own; k++)
            e[n++] = entry_param(g, type_of(tc->epi, params_of(tc->epi, 0)[k]));
        for (uint32_t k = 0; k < tp->ncap; k++)
            entry_param(g, type_of(f, m.cap.v.d[k]));
        for (uint32_t k = 0; k < tc->ncap; k++)
            e[n++] = entry_param(g, type_of(f, m.cap.v.d[tp->ncap + k]));
        tr_bid end = append(g, 0, tc->epi, e);
        tr_bld b = {.fn = g, .blk = end, .before = TR_NOVAL};
        tr_emit_v(&b, TR_OP_YIELD, NULL, tc->neout, params_of(g, end));
        tr_simplify_cfg(g);
        m.t->epi = g;
    }
    tr_val node = make_node(&m, cv, result_type(&m));
    if (!tc->keep) {
        redirect(u, cv, tc, among(cv, u->made.d, u->made.n), node, 0);
        redirect(u, pv, tp, among(pv, u->made.d, u->made.n), node, tc->nred);
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
    builder m = {.u = u, .p = &p, .c = &c, .t = TR_NEW(a, tr_pat)};
    *m.t = *tp;
    put_all(a, &m.in, arrays_in(&p), tp->nin);
    put_all(a, &m.out, arrays_out(&p), tp->nout);
    put_all(a, &m.init, p.args + tr_pat_init(tp), tp->nred);
    put_all(a, &m.cap, p.args + tr_pat_cap(tp), tp->ncap);
    put_all(a, &m.cap, c.args + tr_pat_cap(tc), tc->ncap);
    put_all(a, &m.ein, epi_in(&p), tp->nein);
    put_all(a, &m.eout, epi_out(&p), tp->neout);
    put_all(a, &m.eout, arrays_out(&c), tc->nout);
    for (uint32_t k = 0; k < tc->nin; k++)
        if (!among(arrays_in(&c)[k], epi_out(&p), tp->neout))
            put(a, &m.ein, arrays_in(&c)[k], false);
    /* the lambda has more captures now, which it does not use */
    m.t->lam = tr_fn_clone(tp->lam);
    for (uint32_t k = 0; k < tc->ncap; k++)
        entry_param(m.t->lam, type_of(f, c.args[tr_pat_cap(tc) + k]));
    tr_fn *g = new_lambda(tc->lam);
    uint32_t nkeep = tr_pat_nkeep(tp), own = nkeep + tp->nred + tp->nein, n = 0, more = 0;
    tr_val *e = TR_NEW_N(a, tr_val, own + tp->ncap + 1u), *x = TR_NEW_N(a, tr_val, tc->nin + 1u);
    tr_val *y = TR_NEW_N(a, tr_val, nkeep + tc->nin + tc->ncap + tp->neout + tc->nout + 1u);
    for (uint32_t k = 0; k < own; k++)
        e[n++] = entry_param(g, type_of(tp->epi, params_of(tp->epi, 0)[k]));
    for (uint32_t k = tp->nein; k < m.ein.v.n; k++)
        x[more++] = entry_param(g, type_of(f, m.ein.v.d[k])->elem);
    for (uint32_t k = 0; k < tp->ncap; k++)
        e[n++] = entry_param(g, type_of(f, m.cap.v.d[k]));
    tr_bid after = append(g, 0, tp->epi, e);
    n = more = 0;
    for (uint32_t k = 0; k < nkeep; k++)
        y[n++] = e[k];
    for (uint32_t k = 0; k < tc->nin; k++) {
        tr_val linked = TR_NOVAL;
        for (uint32_t o = 0; o < tp->neout; o++)
            if (epi_out(&p)[o] == arrays_in(&c)[k])
                linked = params_of(g, after)[o];
        y[n++] = linked != TR_NOVAL ? linked : x[more++];
    }
    for (uint32_t k = 0; k < tc->ncap; k++)
        y[n++] = entry_param(g, type_of(f, c.args[tr_pat_cap(tc) + k]));
    tr_bid end = append(g, after, tc->lam, y);
    n = 0;
    for (uint32_t k = 0; k < tp->neout; k++)
        y[n++] = params_of(g, after)[k];
    for (uint32_t k = 0; k < tc->nout; k++)
        y[n++] = params_of(g, end)[k];
    tr_bld b = {.fn = g, .blk = end, .before = TR_NOVAL};
    tr_emit_v(&b, TR_OP_YIELD, NULL, n, y);
    tr_simplify_cfg(g);
    m.t->epi = g;
    tr_val node = make_node(&m, cv, tr_ty_none(f->ctx->types));
    tr_ins_remove(f, pv);
    tr_ins_remove(f, cv);
    return node;
}

/* --- reductions over what a filter has kept, into the filter --- */

static bool lam_uses(const tr_fn *lam, uint32_t param) {
    return tr_use_counts(lam)[params_of(lam, 0)[param]] != 0;
}

/* How many the filter p has kept. */
static bool is_count(const fuser *u, tr_val v, tr_val p) {
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
    int64_t off;
    bool part = in->op == TR_OP_VIEW && in->nargs == 3 && tr_get_int(u->f, in->args[1], &off) && off == 0 &&
                is_count(u, in->args[2], pv);
    const tr_val *filt = p->args + tr_pat_filt(p->imm.pat);
    for (uint32_t k = 0; part && k < p->imm.pat->nfilt; k++)
        if (filt[k] == in->args[0])
            return k;
    return TR_NOVAL;
}

static bool reads_packed(const fuser *u, tr_val pv, tr_val cv) {
    const tr_ins *c = tr_at(u->f, cv);
    const tr_pat *tp = tr_at(u->f, pv)->imm.pat, *tc = c->imm.pat;
    if (!tp->nfilt || tc->nspace != 1 || !tc->nin || !is_count(u, c->args[0], pv))
        return false;
    for (uint32_t k = 0; k < tc->nin; k++)
        if (packed_part(u, arrays_in(c)[k], pv) == TR_NOVAL)
            return false;
    return true;
}

static bool folds_only(const tr_pat *t) {
    for (uint32_t k = 0; k < t->nred; k++)
        if (tr_red_info[t->reds[k]].place)
            return false;
    return t->nred && !t->nout && !t->nfilt && !t->nscan && !t->keep && tr_fn_is_scalar(t->lam);
}

static bool needs_capture(const tr_pat *t, const tr_val *args, tr_val v) {
    for (uint32_t k = 0; k < t->ncap; k++)
        if (args[tr_pat_cap(t) + k] == v && lam_uses(t->lam, tr_pat_lam_cap(t) + k))
            return true;
    return false;
}

/* May c's part be done where p is? Nothing between them writes what p packs, and what c needs is known by then. */
static const char *cannot_rise(const fuser *u, tr_val pv, tr_val cv) {
    const tr_fn *f = u->f;
    const tr_ins *p = tr_at(f, pv), *c = tr_at(f, cv);
    const tr_pat *tp = p->imm.pat, *tc = c->imm.pat;
    for (tr_val q = p->next; q != cv; q = tr_at(f, q)->next) {
        const tr_ins *in = tr_at(f, q);
        if (among(q, c->args + tr_pat_init(tc), tc->nred) || needs_capture(tc, c->args, q))
            return "what the second needs is not known yet where the first stands";
        if (in->op == TR_OP_PATTERN && tr_fn_is_scalar(in->imm.pat->lam)) {
            for (uint32_t k = 0; k < nwritten(in->imm.pat) + in->imm.pat->neout; k++) {
                uint32_t nw = nwritten(in->imm.pat);
                tr_val o = k < nw ? arrays_out(in)[k] : epi_out(in)[k - nw];
                if (!distinct_from_all(f, o, p->args + tr_pat_filt(tp), tp->nfilt, p->blk))
                    return "what the second reads may be written between them";
            }
        } else if (in->op == TR_OP_STORE
                       ? !distinct_from_all(f, in->args[0], p->args + tr_pat_filt(tp), tp->nfilt, p->blk)
                       : (tr_ins_effects(in) & (E_WRITE | E_SIDE)) && in->op != TR_OP_RETAIN &&
                             in->op != TR_OP_RELEASE) {
            return "something between them writes memory";
        }
    }
    return NULL;
}

/* p's lambda, then c's on what the round would pack, where its contributions count if the round is kept. */
static tr_fn *compose_packed(builder *m, const uint32_t *part) {
    tr_fn *f = m->u->f;
    tr_arena *a = &f->ctx->arena;
    const tr_pat *tp = m->p->imm.pat, *tc = m->c->imm.pat;
    tr_fn *g = new_lambda(tc->lam);
    uint32_t own = tr_pat_lam_cap(tp) + tp->ncap, n = 0;
    tr_val *e = TR_NEW_N(a, tr_val, own + 1u), *x = TR_NEW_N(a, tr_val, tr_pat_lam_cap(tc) + tc->ncap + 1u);
    for (uint32_t k = 0; k < own; k++)
        e[k] = entry_param(g, type_of(tp->lam, params_of(tp->lam, 0)[k]));
    tr_bid after = append(g, 0, tp->lam, e);
    const tr_val *py = params_of(g, after);
    x[n++] = e[tp->nspace + tp->nin]; /* where the scan stands: the place among what is kept */
    for (uint32_t k = 0; k < tc->nin; k++)
        x[n++] = py[tp->nout + part[k]];
    for (uint32_t k = 0; k < tc->ncap; k++)
        x[n++] = entry_param(g, type_of(f, m->c->args[tr_pat_cap(tc) + k]));
    tr_bid end = append(g, after, tc->lam, x);
    py = params_of(g, after);
    const tr_val *cy = params_of(g, end);
    tr_val *y = TR_NEW_N(a, tr_val, tr_pat_lam_red(tp) + tp->nred + tc->nred + 1u);
    uint32_t count = tr_pat_lam_red(tp);
    memcpy(y, py, (count + tp->nred) * sizeof *y);
    n = count + tp->nred;
    tr_bld b = {.fn = g, .blk = end, .before = TR_NOVAL};
    tr_val zero = tr_const_int(g, type_of(g, y[count]), 0);
    tr_val kept = tr_emit2(&b, TR_OP_CMP, tr_ty_scalar(f->ctx->types, TR_TY_BOOL), y[count], zero);
    tr_at(g, kept)->sub = TR_CMP_NE;
    for (uint32_t k = 0; k < tc->nred; k++) {
        const tr_ty *t = type_of(g, cy[k]);
        y[n++] = tr_emit3(&b, TR_OP_SELECT, t, kept, cy[k], tr_red_identity(g, tc->reds[k], t));
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
    builder m = {.u = u, .p = &p, .c = &c, .t = TR_NEW(a, tr_pat)};
    uint32_t *part = TR_NEW_N(a, uint32_t, tc->nin + 1u);
    for (uint32_t k = 0; k < tc->nin; k++)
        part[k] = packed_part(u, arrays_in(&c)[k], pv);
    put_all(a, &m.in, arrays_in(&p), tp->nin);
    put_all(a, &m.out, arrays_out(&p), tp->nout);
    put_all(a, &m.filt, p.args + tr_pat_filt(tp), tp->nfilt);
    put_all(a, &m.init, p.args + tr_pat_init(tp), tp->nred);
    put_all(a, &m.init, c.args + tr_pat_init(tc), tc->nred);
    put_all(a, &m.cap, p.args + tr_pat_cap(tp), tp->ncap);
    for (uint32_t k = 0; k < tc->ncap; k++) { /* one that is not looked at may come later */
        tr_val x = c.args[tr_pat_cap(tc) + k];
        put(a, &m.cap, lam_uses(tc->lam, tr_pat_lam_cap(tc) + k) ? x : tr_const_undef(f, type_of(f, x)),
            false);
    }
    *m.t = (tr_pat){.nspace = tp->nspace, .nscan = tp->nscan, .par = tp->par < tc->par ? tp->par : tc->par};
    m.t->reds = TR_NEW_N(a, tr_redk, tp->nred + tc->nred + 1u);
    m.t->fast = TR_NEW_N(a, uint8_t, tp->nred + tc->nred + 1u);
    for (uint32_t k = 0; k < (uint32_t)tp->nred + tc->nred; k++) {
        m.t->reds[k] = k < tp->nred ? tp->reds[k] : tc->reds[k - tp->nred];
        m.t->fast[k] = k < tp->nred ? tp->fast[k] : tc->fast[k - tp->nred];
    }
    m.t->lam = compose_packed(&m, part);
    m.c = &p; /* where the node stands */
    for (uint32_t k = 0; k < tp->nfilt; k++)
        tr_vec_push(a, &u->rooms, m.filt.v.d[k]);
    tr_val node = make_node(&m, pv, result_type(&m));
    redirect(u, pv, tp, among(pv, u->made.d, u->made.n), node, 0);
    redirect(u, cv, tc, among(cv, u->made.d, u->made.n), node, tp->nred);
    tr_vec_push(a, &u->made, node);
    tr_ins_remove(f, pv);
    tr_ins_remove(f, cv);
    return node;
}

/* --- which --- */

static uint32_t shared_inputs(const tr_ins *p, const tr_ins *c) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < c->imm.pat->nin; k++)
        n += among(arrays_in(c)[k], arrays_in(p), p->imm.pat->nin);
    return n;
}

/* Does c read, whole, something that p writes? False with `why` when it reads it otherwise. */
static bool linked(const fuser *u, const tr_ins *p, const tr_ins *c, const tr_val *out, uint32_t nout,
                   const char **why) {
    bool any = false;
    for (uint32_t k = 0; k < c->imm.pat->nin; k++) {
        tr_val x = arrays_in(c)[k];
        if (!among(x, out, nout)) {
            for (uint32_t o = 0; o < nout; o++)
                if (tr_array_root(u->f, x) == tr_array_root(u->f, out[o]))
                    *why = "the second reads the array by another view";
            continue;
        }
        if (is_fresh(u->f, x) && !reads_whole(u->f, x, c))
            *why = "the array repeats in the second";
        any = true;
    }
    (void)p;
    return any;
}

static bool too_large(const tr_ins *p, const tr_ins *c) {
    const tr_pat *a = p->imm.pat, *b = c->imm.pat;
    return a->nin + a->nout + b->nin + b->nout + b->nfilt + a->nein + a->neout + b->nein + b->neout >
               MAX_ARRAYS ||
           size_of(a->lam) + size_of(b->lam) > MAX_SIZE || a->nred + b->nred > TR_MAX_REDS;
}

static tr_val try_packed(fuser *u, tr_val pv, tr_val cv) {
    const tr_ins *p = tr_at(u->f, pv), *c = tr_at(u->f, cv);
    const char *why = !folds_only(c->imm.pat) ? "the second does more than reduce what was kept"
                      : too_large(p, c)       ? "together they would be too large"
                                              : cannot_rise(u, pv, cv);
    tell(u, pv, cv, why ? "not merged: %s" : "merged, what is kept is reduced at once", why);
    if (why)
        return TR_NOVAL;
    u->changed = true;
    return merge_packed(u, pv, cv);
}

/* Merges p into c, or says why not. */
static tr_val try_pair(fuser *u, tr_val pv, tr_val cv) {
    const tr_ins *p = tr_at(u->f, pv), *c = tr_at(u->f, cv);
    const tr_pat *tp = p->imm.pat, *tc = c->imm.pat;
    const char *why = NULL;
    if (reads_packed(u, pv, cv))
        return try_packed(u, pv, cv);
    bool over = tp->epi && tp->keep && !tc->keep && !tc->nred && tc->nspace == tr_pat_nkeep(tp);
    bool link =
        over ? linked(u, p, c, epi_out(p), tp->neout, &why) : linked(u, p, c, arrays_out(p), tp->nout, &why);
    bool beside = !link && !over && shared_inputs(p, c) > 0 && !tp->keep && tp->nspace > 0;
    if (!link && !beside && !why)
        return TR_NOVAL;
    if (!why && !over && !same_space(p, c))
        why = "their index spaces are not known to be equal";
    if (!why && (tp->nscan || (tp->keep && !over)))
        why = "the first one reduces or scans";
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
    if (!why && too_large(p, c))
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

/* --- arrays that nobody reads --- */

/* Drops output k of the pattern, or output k of its epilogue. */
static void drop_output(tr_fn *f, tr_val v, uint32_t arg, tr_fn *lam, uint32_t k, uint16_t *count) {
    tr_ins *i = tr_at(f, v);
    i->nargs--;
    memmove(i->args + arg, i->args + arg + 1, (i->nargs - arg) * sizeof *i->args);
    --*count;
    for (tr_bid b = 0; b < lam->blks.n; b++) {
        tr_ins *y = tr_blk_at(lam, b)->dead ? NULL : tr_term(lam, b);
        if (!y || y->op != TR_OP_YIELD)
            continue;
        y->nargs--;
        memmove(y->args + k, y->args + k + 1, (y->nargs - k) * sizeof *y->args);
    }
}

/* Does the pattern store nothing but elements where it read them? That is left of `a += 0`. */
static bool stores_what_was_there(const tr_ins *in) {
    const tr_pat *t = in->imm.pat;
    if (t->lam->blks.n != 1 || t->neout)
        return false;
    for (uint32_t k = 0; k < t->nout; k++) {
        const tr_val *params = tr_blk_at(t->lam, 0)->params.d;
        uint32_t i = 0;
        while (i < t->nin && (params[t->nspace + i] != tr_term(t->lam, 0)->args[k] ||
                              in->args[tr_pat_in(t) + i] != in->args[tr_pat_out(t) + k]))
            i++;
        if (i == t->nin)
            return false;
    }
    return t->nout > 0;
}

static bool drop_outputs(tr_fn *f, tr_val v, const uint32_t *uses) {
    tr_pat *t = tr_at(f, v)->imm.pat;
    bool any = false, useless = stores_what_was_there(tr_at(f, v));
    for (uint32_t k = t->nout; k-- > 0;) {
        tr_val a = arrays_out(tr_at(f, v))[k];
        if (!useless && (!is_fresh(f, a) || uses[a] != 1))
            continue;
        drop_output(f, v, tr_pat_out(t) + k, t->lam, k, &t->nout);
        any = true;
    }
    for (uint32_t k = t->nfilt; k-- > 0;) {
        tr_val a = tr_arg(f, v, tr_pat_filt(t) + k);
        if (!is_fresh(f, a) || uses[a] != 1)
            continue;
        drop_output(f, v, tr_pat_filt(t) + k, t->lam, t->nout + k, &t->nfilt);
        any = true;
    }
    for (uint32_t k = t->neout; k-- > 0;) {
        tr_val a = epi_out(tr_at(f, v))[k];
        if (!is_fresh(f, a) || uses[a] != 1)
            continue;
        drop_output(f, v, tr_pat_eout(t) + k, t->epi, k, &t->neout);
        any = true;
    }
    return any;
}

/* --- reductions that nobody asks for --- */

/* Which values of pattern v are used: all, but where each is taken out. */
static void find_used(const tr_fn *f, tr_val v, uint32_t uses, uint8_t *used) {
    uint32_t n = tr_at(f, v)->imm.pat->nred;
    for (tr_val x = 0; n > 1 && x < f->ins.n; x++) {
        const tr_ins *in = tr_at(f, x);
        if (in->blk == TR_NOBLK || in->op != TR_OP_EXTRACT || in->args[0] != v)
            continue;
        used[in->imm.i] = 1;
        uses--;
    }
    if (uses)
        memset(used, 1, n);
}

static void drop_lam_param(tr_fn *lam, uint32_t k) {
    tr_blk *b = tr_blk_at(lam, 0);
    tr_at(lam, b->params.d[k])->blk = TR_NOBLK;
    b->params.n--;
    memmove(b->params.d + k, b->params.d + k + 1, (b->params.n - k) * sizeof *b->params.d);
}

/* Scans that no round looks at are reductions like others. Where one is looked at, those before it stay. */
static bool free_scans(tr_pat *t) {
    uint8_t n = t->nscan;
    uint32_t first = (uint32_t)t->nspace + t->nin;
    while (n && !(n == 1 && t->nfilt) && !lam_uses(t->lam, first + n - 1u))
        drop_lam_param(t->lam, first + --n);
    bool any = n < t->nscan;
    t->nscan = n;
    return any;
}

static void drop_reduction(tr_fn *f, tr_val v, uint32_t r) {
    tr_pat *t = tr_at(f, v)->imm.pat;
    drop_output(f, v, tr_pat_init(t) + r, t->lam, tr_pat_lam_red(t) + r, &t->nred);
    memmove(t->reds + r, t->reds + r + 1, (t->nred - r) * sizeof *t->reds);
    memmove(t->fast + r, t->fast + r + 1, (t->nred - r) * sizeof *t->fast);
}

/* Its type, and what takes its values out, once `at` says where each has gone. */
static void renumber(tr_fn *f, tr_val v, const uint32_t *at, uint32_t nbefore, tr_repl *repl) {
    const tr_pat *t = tr_at(f, v)->imm.pat;
    const tr_ty **ty = TR_NEW_N(&f->ctx->arena, const tr_ty *, t->nred + 1u);
    for (uint32_t k = 0; k < t->nred; k++)
        ty[k] = type_of(f, tr_arg(f, v, tr_pat_init(t) + k));
    tr_at(f, v)->ty = t->nred == 0   ? tr_ty_none(f->ctx->types)
                      : t->nred == 1 ? ty[0]
                                     : tr_ty_tuple(f->ctx->types, t->nred, ty);
    for (tr_val x = 0; nbefore > 1 && x < f->ins.n; x++) {
        tr_ins *in = tr_at(f, x);
        if (in->blk == TR_NOBLK || in->op != TR_OP_EXTRACT || in->args[0] != v)
            continue;
        in->imm.i = at[in->imm.i];
        if (t->nred == 1) {
            tr_repl_set(f, repl, x, v);
            tr_ins_remove(f, x);
        }
    }
}

static bool drop_reductions(tr_fn *f, tr_val v, uint32_t uses, tr_repl *repl) {
    tr_pat *t = tr_at(f, v)->imm.pat;
    if ((uses >= t->nred && !t->nscan) || t->keep || !tr_fn_is_scalar(t->lam))
        return false;
    bool any = free_scans(t);
    uint32_t n = t->nred, kept = 0, *at = TR_NEW_N(&f->ctx->arena, uint32_t, n + 1u);
    uint8_t *used = TR_NEW_N(&f->ctx->arena, uint8_t, n + 1u);
    find_used(f, v, uses, used);
    for (uint32_t k = 0; k < n; k++) {
        at[k] = kept;
        kept += used[k] || k < t->nscan;
    }
    if (kept == n || (!kept && !t->nout && !t->nfilt))
        return any;
    for (uint32_t k = n; k-- > 0;)
        if (!used[k] && k >= t->nscan)
            drop_reduction(f, v, k);
    renumber(f, v, at, n, repl);
    return true;
}

/* No array has an axis as long as this, whatever the machine's memory. */
static const int64_t too_long = INT64_C(1) << 44;

/* What has been looked at: per value the block in which it was, plus one (made when it is needed); the last array of several axes. */
typedef struct tests {
    uint32_t *in_block;
    tr_bid blk;
    const tr_ty *ty;
    tr_val shape[TR_MAX_NDIM];
} tests;

static tr_val less_than(tr_bld *b, tr_val x, tr_val limit) {
    tr_val ok = tr_emit2(b, TR_OP_CMP, tr_ty_scalar(b->fn->ctx->types, TR_TY_BOOL), x, limit);
    tr_at(b->fn, ok)->sub = TR_CMP_LT;
    return ok;
}

static bool is_size(const tr_ins *n) {
    return n->op == TR_OP_DIM || n->op == TR_OP_BCAST;
}

/* An axis that no machine has room for: its loop would run for years where NumPy raises at once. Sizes of other arrays are no such
 * sizes. */
static void test_axis(tr_bld *b, tests *t, tr_val n) {
    static const tr_site site = {TR_EXC_MEMORY, "cannot allocate an array with an axis of {0} elements", -1,
                                 NULL};
    tr_fn *f = b->fn;
    int64_t known;
    if (is_size(tr_at(f, n)) || t->in_block[n] == b->blk + 1u ||
        (tr_get_int(f, n, &known) && known < too_long))
        return;
    t->in_block[n] = b->blk + 1u;
    tr_val check =
        tr_emit2(b, TR_OP_CHECK, NULL, less_than(b, n, tr_const_int(f, tr_at(f, n)->ty, too_long)), n);
    tr_at(f, check)->imm.site = &site;
}

/* Bits that an extent takes at most, where test_axis has passed it. */
static uint32_t bits_of(const tr_fn *f, tr_val n) {
    int64_t known;
    if (tr_get_int(f, n, &known))
        return known > 0 ? 64u - (uint32_t)__builtin_clzll((uint64_t)known) : 0;
    return is_size(tr_at(f, n)) ? 63 : 44;
}

static bool is_small(const tr_fn *f, const tr_ins *alloc) {
    uint32_t bits = 4; /* of a complex number's bytes */
    for (uint32_t k = 0; k < alloc->nargs; k++)
        bits += bits_of(f, alloc->args[k]);
    return bits < 63;
}

/* Axes of one array, each once, beside those of extent 1: that array's size fits. */
static bool is_of_one_array(const tr_fn *f, const tr_ins *alloc) {
    tr_val array = TR_NOVAL;
    uint32_t axes = 0;
    for (uint32_t k = 0; k < alloc->nargs; k++) {
        const tr_ins *n = tr_at(f, alloc->args[k]);
        int64_t known;
        if (tr_get_int(f, alloc->args[k], &known) && known == 1)
            continue;
        if (n->op != TR_OP_DIM || (axes && n->args[0] != array) || axes & 1u << n->imm.i)
            return false;
        array = n->args[0];
        axes |= 1u << n->imm.i;
    }
    return true;
}

/* The extents' product, those of 0 left out as in an allocation: what counts the items must not wrap around. */
static void test_product(tr_bld *b, tests *t, tr_val alloc) {
    static const tr_site site = {TR_EXC_VALUE, TR_TOO_BIG, -1, NULL};
    tr_fn *f = b->fn;
    const tr_ins in = *tr_at(f, alloc);
    if (is_small(f, &in) || is_of_one_array(f, &in) ||
        (t->blk == b->blk && t->ty == in.ty && !memcmp(t->shape, in.args, in.nargs * sizeof *in.args)))
        return;
    t->blk = b->blk;
    t->ty = in.ty;
    memcpy(t->shape, in.args, in.nargs * sizeof *in.args);
    const tr_ty *f64 = tr_ty_scalar(f->ctx->types, TR_TY_F64), *i64 = tr_at(f, in.args[0])->ty;
    tr_val bytes = tr_const_float(f, f64, tr_ty_size(in.ty->elem));
    for (uint32_t k = 0; k < in.nargs; k++) {
        tr_val zero = tr_const_int(f, i64, 0);
        tr_val none = tr_emit2(b, TR_OP_CMP, tr_ty_scalar(f->ctx->types, TR_TY_BOOL), in.args[k], zero);
        tr_at(f, none)->sub = TR_CMP_EQ;
        tr_val n = tr_emit3(b, TR_OP_SELECT, i64, none, tr_const_int(f, i64, 1), in.args[k]);
        bytes = tr_emit2(b, TR_OP_MUL, f64, bytes, tr_emit1(b, TR_OP_CONV, f64, n));
    }
    tr_val ok = less_than(b, bytes, tr_const_float(f, f64, TR_MOST_BYTES));
    tr_at(f, tr_emit1(b, TR_OP_CHECK, NULL, ok))->imm.site = &site;
}

/* Before an array goes: what its allocation would have found. */
static void test_size(tr_fn *f, tr_val alloc, tests *t) {
    tr_bld b = {f, tr_at(f, alloc)->blk, alloc, tr_at(f, alloc)->loc};
    if (!t->in_block)
        t->in_block = TR_NEW_N(&f->ctx->arena, uint32_t, f->ins.n);
    for (uint32_t k = 0; k < tr_at(f, alloc)->nargs; k++)
        test_axis(&b, t, tr_arg(f, alloc, k));
    if (tr_at(f, alloc)->nargs > 1)
        test_product(&b, t, alloc);
}

/* A pattern with nothing left to do, and arrays that nothing uses. */
static bool drop_useless(tr_fn *f, tr_u32s *rooms) {
    uint32_t *uses = tr_use_counts(f);
    tests t = {.in_block = NULL};
    tr_repl repl = tr_repl_new(f);
    bool any = false;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first, next; v != TR_NOVAL; v = next) {
            const tr_ins *in = tr_at(f, v);
            next = in->next;
            if (in->op == TR_OP_PATTERN) {
                const tr_pat *p = in->imm.pat;
                any |= drop_outputs(f, v, uses);
                any |= drop_reductions(f, v, uses[v], &repl);
                if (p->nout || p->nfilt || p->neout || (uses[v] && p->nred) || !tr_fn_is_scalar(p->lam))
                    continue;
            } else if ((in->op != TR_OP_ALLOC && !tr_opt_is_pure(in)) || uses[v]) {
                continue;
            } else if (in->op == TR_OP_ALLOC && !among(v, rooms->d, rooms->n)) {
                test_size(f, v, &t);
            }
            tr_ins_remove(f, v);
            any = true;
        }
    tr_repl_apply(f, &repl);
    return any;
}

bool tr_opt_fuse(tr_prog *p, tr_fn *f) {
    fuser u = {.p = p, .f = f, .r = tr_repl_new(f)};
    u.tells = !f->is_lambda && tr_dump_wants(&p->ctx->dump, TR_STAGE_FUSE, NULL, f->name);
    /* Where something is filtered, more than once: what read it may do no more than reduce now, and the array it was counted for be gone. */
    bool changed = true, filters = true;
    for (unsigned round = 0; round < MAX_ROUNDS && changed && filters; round++) {
        changed = filters = false;
        for (uint32_t i = 0; i < f->rpo.n; i++)
            filters |= fuse_block(&u, f->rpo.d[i]);
        tr_repl_apply(f, &u.r);
        while (drop_useless(f, &u.rooms))
            changed = true;
        u.changed |= changed;
        u.r = tr_repl_new(f);
        u.made.n = 0;
    }
    return u.changed;
}
