/* Changing functions: moving, replacing, splitting, cloning. simplify.c has the passes over control flow. */
#include <assert.h>
#include <string.h>

#include "ir/internal.h"

void tr_ins_remove(tr_fn *f, tr_val v) {
    assert(v < f->ins.n && tr_at(f, v)->blk != TR_NOBLK && tr_at(f, v)->op != TR_OP_PARAM);
    tr_ins *i = tr_at(f, v);
    tr_blk *b = &f->blks.d[i->blk];
    if (i->prev == TR_NOVAL)
        b->first = i->next;
    else
        tr_at(f, i->prev)->next = i->next;
    if (i->next == TR_NOVAL)
        b->last = i->prev;
    else
        tr_at(f, i->next)->prev = i->prev;
    i->blk = TR_NOBLK;
    i->prev = i->next = TR_NOVAL;
}

void tr_ins_move_before(tr_fn *f, tr_val v, tr_val before) {
    assert(tr_at(f, before)->blk != TR_NOBLK && !tr_ins_ends(tr_at(f, v)));
    if (v == before)
        return;
    tr_ins_remove(f, v);
    tr_ins_link(f, v, tr_at(f, before)->blk, before);
}

void tr_ins_move_end(tr_fn *f, tr_val v, tr_bid b) {
    assert(!f->blks.d[b].dead && !tr_ins_ends(tr_at(f, v)));
    tr_val last = f->blks.d[b].last;
    bool ended = last != TR_NOVAL && tr_ins_ends(tr_at(f, last));
    if (v == last)
        return;
    tr_ins_remove(f, v);
    tr_ins_link(f, v, b, ended ? last : TR_NOVAL);
}

/* --- maps of values and blocks --- */

static uint32_t *none(const tr_fn *f, uint32_t n) {
    static_assert(TR_NOVAL == UINT32_MAX && TR_NOBLK == UINT32_MAX, "bytes of 0xff");
    uint32_t *out = TR_NEW_N(&f->ctx->arena, uint32_t, n + 1u);
    memset(out, 0xff, (n + 1u) * sizeof *out);
    return out;
}

tr_val *tr_no_vals(const tr_fn *f) {
    return none(f, f->ins.n);
}

tr_bid *tr_no_blks(const tr_fn *f) {
    return none(f, f->blks.n);
}

/* --- replacement --- */

tr_repl tr_repl_new(tr_fn *f) {
    return (tr_repl){.to = tr_no_vals(f), .n = f->ins.n};
}

void tr_repl_set(tr_fn *f, tr_repl *r, tr_val from, tr_val to) {
    assert(from < f->ins.n && to < f->ins.n && from != to);
    if (from >= r->n) { /* made after the map */
        tr_repl more = tr_repl_new(f);
        memcpy(more.to, r->to, r->n * sizeof *r->to);
        more.any = r->any;
        *r = more;
    }
    assert(tr_repl_get(r, to) != from);
    r->to[from] = to;
    r->any = true;
}

tr_val tr_repl_get(const tr_repl *r, tr_val v) {
    while (v < r->n && r->to[v] != TR_NOVAL)
        v = r->to[v];
    return v;
}

static void replace_in(const tr_repl *r, tr_val *args, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        args[i] = tr_repl_get(r, args[i]);
}

void tr_repl_apply(tr_fn *f, tr_repl *r) {
    assert(r->n <= f->ins.n);
    if (!r->any)
        return;
    for (tr_bid b = 0; b < f->blks.n; b++) {
        if (f->blks.d[b].dead)
            continue;
        for (tr_val v = f->blks.d[b].first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            tr_ins *i = tr_at(f, v);
            replace_in(r, i->args, i->nargs);
            for (uint32_t s = 0; s < tr_nsucc(i); s++)
                replace_in(r, i->imm.succ[s].args, i->imm.succ[s].n);
        }
    }
}

tr_bid tr_blk_split(tr_fn *f, tr_val at) {
    assert(tr_at(f, at)->blk != TR_NOBLK && tr_at(f, at)->op != TR_OP_PARAM);
    tr_bid old = tr_at(f, at)->blk, b = tr_blk_new(f);
    tr_val prev = tr_at(f, at)->prev;
    f->blks.d[b].cold = f->blks.d[old].cold;
    f->blks.d[b].first = at;
    f->blks.d[b].last = f->blks.d[old].last;
    f->blks.d[old].last = prev;
    if (prev == TR_NOVAL)
        f->blks.d[old].first = TR_NOVAL;
    else
        tr_at(f, prev)->next = TR_NOVAL;
    tr_at(f, at)->prev = TR_NOVAL;
    for (tr_val v = at; v != TR_NOVAL; v = tr_at(f, v)->next)
        tr_at(f, v)->blk = b;
    return b;
}

tr_bid tr_blk_cut(tr_fn *f, tr_val at, uint32_t loc) {
    tr_bld b = {.fn = f, .blk = tr_at(f, at)->blk, .before = TR_NOVAL, .loc = loc};
    tr_bid on = tr_blk_split(f, at);
    tr_br(&b, on, 0, NULL);
    return on;
}

/* --- handlers --- */

tr_bid tr_blk_protect(tr_fn *f, tr_bid b, const tr_edge *handler) {
    tr_val at = f->blks.d[b].first;
    for (tr_val v = at; v != TR_NOVAL; v = tr_at(f, v)->next)
        if (tr_at(f, v)->op == TR_OP_CATCH)
            at = tr_at(f, v)->next; /* catching comes first, and does not raise */
    tr_bid body = tr_blk_split(f, at);
    tr_try(&(tr_bld){.fn = f, .blk = b, .before = TR_NOVAL, .loc = 0}, body, handler);
    return body;
}

void tr_blk_protect_parts(tr_fn *f, tr_bid head, const tr_bid *parts, uint32_t n) {
    const tr_edge *e = tr_handler_now(f, head);
    if (!e)
        return;
    tr_edge own = *e;
    for (uint32_t i = 0; i < n; i++)
        if (tr_blk_raises(f, parts[i]))
            tr_blk_protect(f, parts[i], &own);
}

bool tr_blk_raises(const tr_fn *f, tr_bid b) {
    for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL; v = tr_at(f, v)->next)
        if (tr_ins_raises(tr_at(f, v)))
            return true;
    return false;
}

tr_val tr_caught(const tr_fn *f, tr_val reraise) {
    tr_val v = tr_arg(f, reraise, 0);
    while (tr_at(f, v)->op == TR_OP_EXTRACT && tr_at(f, tr_arg(f, v, 0))->op == TR_OP_TUPLE)
        v = tr_arg(f, tr_arg(f, v, 0), (uint32_t)tr_at(f, v)->imm.i);
    return tr_at(f, v)->op == TR_OP_CATCH ? v : TR_NOVAL;
}

bool tr_fn_handles(const tr_fn *f) {
    for (tr_val v = 0; v < f->ins.n; v++) {
        const tr_ins *in = tr_at(f, v);
        if (in->blk == TR_NOBLK)
            continue;
        if (in->op == TR_OP_TRY)
            return true;
        for (unsigned k = 0; in->op == TR_OP_PATTERN && tr_pat_any(in->imm.pat, k); k++)
            if (tr_fn_handles(tr_pat_any(in->imm.pat, k)))
                return true;
    }
    return false;
}

/* --- cloning --- */

typedef struct cloner {
    tr_fn *dst;
    const tr_fn *src;
    tr_val *map;
    tr_bid *bmap;
    uint32_t at_loc, *locs; /* locs[src loc]: dst loc, UINT32_MAX = not yet */
} cloner;

static uint32_t clone_loc(cloner *c, uint32_t l) {
    assert(l < c->src->locs.n);
    if (c->dst == c->src && !c->at_loc)
        return l;
    if (!l)
        return c->at_loc;
    if (c->locs[l] == UINT32_MAX) {
        tr_loc from = c->src->locs.d[l];
        uint32_t parent = clone_loc(c, from.parent);
        c->locs[l] = tr_loc_add(c->dst, from.place, parent);
    }
    return c->locs[l];
}

static tr_val clone_val(cloner *c, tr_val v) {
    assert(v < c->src->ins.n);
    if (c->map[v] != TR_NOVAL)
        return c->map[v];
    if (c->dst == c->src)
        return v;
    assert(tr_is_const(tr_at(c->src, v)));
    c->map[v] = tr_const_import(c->dst, tr_at(c->src, v));
    return c->map[v];
}

static tr_val *clone_vals(cloner *c, const tr_val *v, uint32_t n) {
    tr_val *out = n ? TR_NEW_N(&c->dst->ctx->arena, tr_val, n) : NULL;
    for (uint32_t i = 0; i < n; i++)
        out[i] = clone_val(c, v[i]);
    return out;
}

static tr_edge *clone_edges(cloner *c, const tr_edge *e, uint32_t n) {
    tr_edge *out = TR_NEW_N(&c->dst->ctx->arena, tr_edge, n);
    for (uint32_t s = 0; s < n; s++) {
        tr_bid to = c->bmap[e[s].to];
        assert(to != TR_NOBLK || c->dst == c->src);
        out[s] = tr_edge_make(c->dst, to == TR_NOBLK ? e[s].to : to, e[s].n, e[s].args);
        for (uint32_t i = 0; i < e[s].n; i++)
            out[s].args[i] = clone_val(c, e[s].args[i]);
    }
    return out;
}

/* The chain of calls that ends in dst's at_loc, as locs of a lambda. */
static uint32_t import_chain(tr_fn *lam, const tr_fn *dst, uint32_t at_loc) {
    if (!at_loc)
        return 0;
    uint32_t parent = import_chain(lam, dst, dst->locs.d[at_loc].parent);
    return tr_loc_add(lam, dst->locs.d[at_loc].place, parent);
}

static tr_fn *clone_lambda(cloner *c, const tr_fn *from) {
    tr_fn *lam = tr_fn_clone(from);
    uint32_t own = lam->locs.n, chain = import_chain(lam, c->dst, c->at_loc);
    for (uint32_t l = 1; chain && l < own; l++)
        if (!lam->locs.d[l].parent)
            lam->locs.d[l].parent = chain;
    return lam;
}

static tr_pat *clone_pattern(cloner *c, const tr_pat *p) {
    assert(p->lam->is_lambda);
    tr_pat *out = tr_arena_copy(&c->dst->ctx->arena, p, sizeof *p);
    out->joins = tr_arena_copy(&c->dst->ctx->arena, p->joins, tr_pat_njoins(p) * sizeof *p->joins);
    out->lam = clone_lambda(c, p->lam);
    out->epi = p->epi ? clone_lambda(c, p->epi) : NULL;
    for (uint32_t k = 0; k < tr_pat_njoins(p); k++)
        out->joins[k].by = p->joins[k].by ? clone_lambda(c, p->joins[k].by) : NULL;
    return out;
}

static void clone_ins(cloner *c, tr_val v) {
    assert(c->map[v] != TR_NOVAL);
    tr_val w = c->map[v];
    tr_ins from = *tr_at(c->src, v);
    tr_val *args = clone_vals(c, from.args, from.nargs);
    if (tr_nsucc(&from))
        from.imm.succ = clone_edges(c, from.imm.succ, tr_nsucc(&from));
    if (from.op == TR_OP_PATTERN)
        from.imm.pat = clone_pattern(c, from.imm.pat);
    uint32_t loc = clone_loc(c, from.loc);
    tr_ins *to = tr_at(c->dst, w);
    to->sub = from.sub;
    to->flags = from.flags;
    to->nargs = from.nargs;
    to->args = args;
    to->imm = from.imm;
    to->loc = loc;
}

static const char *name_of(const tr_fn *f, tr_val v) {
    return v < f->names.n ? f->names.d[v] : NULL;
}

/* First all blocks, params and results get their numbers, so that order does not matter; then operands
 * follow. */
void tr_clone_blocks(tr_fn *dst, const tr_fn *src, const tr_bid *blks, uint32_t nblks, tr_val *map,
                     tr_bid *bmap, uint32_t at_loc) {
    assert(dst->stage == src->stage);
    cloner c = {.dst = dst, .src = src, .map = map, .bmap = bmap, .at_loc = at_loc};
    if (dst != src || at_loc) { /* else they stay as they are: many small clones must not cost a table each */
        c.locs = TR_NEW_N(&dst->ctx->arena, uint32_t, src->locs.n);
        memset(c.locs, 0xff, src->locs.n * sizeof *c.locs);
    }
    for (uint32_t k = 0; k < nblks; k++) {
        tr_bid b = tr_blk_new(dst);
        bmap[blks[k]] = b;
        dst->blks.d[b].cold = src->blks.d[blks[k]].cold;
        for (uint32_t p = 0; p < src->blks.d[blks[k]].params.n; p++) {
            tr_val v = src->blks.d[blks[k]].params.d[p];
            map[v] = tr_blk_param(dst, b, tr_at(src, v)->ty, name_of(src, v));
        }
        for (tr_val v = src->blks.d[blks[k]].first; v != TR_NOVAL; v = tr_at(src, v)->next) {
            map[v] = tr_ins_new(dst, (tr_op)tr_at(src, v)->op, tr_at(src, v)->ty);
            tr_ins_link(dst, map[v], b, TR_NOVAL);
            if (name_of(src, v))
                tr_val_name(dst, map[v], name_of(src, v));
        }
    }
    for (uint32_t k = 0; k < nblks; k++)
        for (tr_val v = src->blks.d[blks[k]].first; v != TR_NOVAL; v = tr_at(src, v)->next)
            clone_ins(&c, v);
}

tr_fn *tr_fn_clone(const tr_fn *f) {
    tr_arena *a = &f->ctx->arena;
    tr_fn *g = tr_fn_new(f->ctx, f->name, f->stage);
    g->file = f->file;
    g->is_lambda = f->is_lambda;
    g->kind = f->kind;
    g->ret = f->ret;
    g->func = f->func;
    g->locs.n = 0;
    for (uint32_t l = 0; l < f->locs.n; l++)
        tr_vec_push(a, &g->locs, f->locs.d[l]);
    tr_val *map = tr_no_vals(f);
    tr_bid *bmap = tr_no_blks(f);
    tr_u32s live = tr_live_blocks(f);
    tr_clone_blocks(g, f, live.d, live.n, map, bmap, 0);
    for (uint32_t k = 0; k < live.n; k++) /* the locs are the same, one to one */
        for (tr_val v = f->blks.d[live.d[k]].first; v != TR_NOVAL; v = tr_at(f, v)->next)
            tr_at(g, map[v])->loc = tr_at(f, v)->loc;
    return g;
}

/* --- fast-math --- */

static bool is_real(const tr_fn *f, tr_val v) {
    const tr_ty *t = tr_at(f, v)->ty;
    return t && (tr_ty_is_float(t) || tr_ty_is_complex(t));
}

bool tr_ins_is_real(const tr_fn *f, const tr_ins *i) {
    switch ((tr_op)i->op) {
    case TR_OP_CONV: /* to bool: a comparison */
    case TR_OP_ADD:
    case TR_OP_SUB:
    case TR_OP_MUL:
    case TR_OP_DIV:
    case TR_OP_PYDIV:
    case TR_OP_FLOORDIV:
    case TR_OP_FLOORMOD:
    case TR_OP_REM:
    case TR_OP_POW:
    case TR_OP_NEG:
    case TR_OP_ABS:
    case TR_OP_CMP:
    case TR_OP_MATH: return is_real(f, i->args[0]);
    default: return false;
    }
}

static void mark_pattern(tr_fn *f, const tr_ins *in, uint8_t fast) {
    assert(in->op == TR_OP_PATTERN && in->nargs == tr_pat_nargs(in->imm.pat));
    tr_pat *p = in->imm.pat;
    for (uint32_t k = 0; k < tr_pat_nred(p); k++)
        if (is_real(f, in->args[tr_pat_at(p, P_SCAN) + k]))
            p->joins[k].fast = fast;
    for (unsigned k = 0; tr_pat_any(p, k); k++)
        tr_fn_mark_fast(tr_pat_any(p, k), fast);
}

void tr_fn_mark_fast(tr_fn *f, uint8_t fast) {
    for (uint32_t v = 0; fast && v < f->ins.n; v++) {
        tr_ins *in = tr_at(f, v);
        if (in->op == TR_OP_PATTERN)
            mark_pattern(f, in, fast);
        else if (tr_ins_is_real(f, in))
            in->flags = (uint8_t)((in->flags & ~F_FAST) | fast << F_FAST_SHIFT);
    }
}
