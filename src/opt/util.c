/* Small questions that several passes ask, and small changes that several make. */
#include <assert.h>
#include <string.h>

#include "graph/graph.h"
#include "opt/priv.h"

enum { MAX_DEPTH = 6 }; /* steps of a computation */

bool tr_opt_has(const tr_fn *f, tr_op op) {
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (tr_at(f, v)->op == op)
                return true;
    return false;
}

unsigned tr_opt_place_bits(unsigned op) {
    switch ((tr_op)op) {
    case TR_OP_THREADIDX: return TR_THREAD_BITS;
    case TR_OP_BLOCKDIM: return TR_THREAD_BITS + 1;
    case TR_OP_BLOCKIDX:
    case TR_OP_GRIDDIM: return TR_BLOCK_BITS;
    default: return 0;
    }
}

bool tr_opt_is_int_type(const tr_ty *t) {
    char c = t ? tr_ty_class(t) : 0;
    return c == 'b' || c == 'i' || c == 'u';
}

bool tr_opt_is_pure(const tr_ins *in) {
    return in->op != TR_OP_PARAM && !tr_is_const(in) && !(in->op == TR_OP_CALLRT && in->imm.rt->text) &&
           tr_ins_effects(in) == 0;
}

int64_t tr_opt_imm(const tr_ins *in) {
    switch ((tr_op)in->op) {
    case TR_OP_MEET:
    case TR_OP_VIEW:
    case TR_OP_EXTRACT:
    case TR_OP_FIELD:
    case TR_OP_DIM:
    case TR_OP_STRIDE: return in->imm.i;
    case TR_OP_CALLRT: return in->imm.rt->row;
    default: return 0;
    }
}

bool tr_opt_nothing_between(const tr_fn *f, tr_val x, tr_val y, bool (*writes)(const void *self, tr_val v),
                            const void *self) {
    assert(tr_at(f, x)->blk != TR_NOBLK && tr_at(f, y)->blk != TR_NOBLK);
    tr_bid first = tr_at(f, x)->blk, last = tr_at(f, y)->blk;
    for (tr_val v = tr_at(f, y)->prev; v != TR_NOVAL; v = tr_at(f, v)->prev) {
        if (v == x)
            return true;
        if (writes(self, v))
            return false;
    }
    if (first == last || !tr_dominates(f, first, last))
        return false;
    tr_u32s work = {0};
    uint8_t *seen = TR_NEW_N(&f->ctx->arena, uint8_t, f->blks.n + 1u);
    tr_vec_push(&f->ctx->arena, &work, last);
    while (work.n) {
        const tr_blk *b = tr_blk_at(f, work.d[--work.n]);
        for (uint32_t i = 0; i < b->preds.n; i++) {
            tr_bid p = b->preds.d[i];
            if (seen[p])
                continue;
            seen[p] = 1;
            for (tr_val v = tr_blk_at(f, p)->last; v != TR_NOVAL && v != x; v = tr_at(f, v)->prev)
                if (writes(self, v))
                    return false;
            if (p != first)
                tr_vec_push(&f->ctx->arena, &work, p);
        }
    }
    return true;
}

static bool writes_any(const void *f, tr_val v) {
    return tr_ins_effects(tr_at(f, v)) & (E_WRITE | E_SIDE);
}

static bool values_are_same(const tr_fn *f, tr_val x, tr_val y, int depth) {
    const tr_ins *a = tr_at(f, x), *b = tr_at(f, y);
    if (x == y)
        return true;
    if (!depth || a->op != b->op || a->ty != b->ty || a->sub != b->sub || a->nargs != b->nargs)
        return false;
    if (a->op == TR_OP_LOAD ? !tr_opt_nothing_between(f, x, y, writes_any, f) &&
                                  !tr_opt_nothing_between(f, y, x, writes_any, f)
                            : !tr_opt_is_pure(a) || tr_opt_imm(a) != tr_opt_imm(b))
        return false;
    for (uint32_t k = 0; k < a->nargs; k++)
        if (!values_are_same(f, a->args[k], b->args[k], depth - 1))
            return false;
    return true;
}

bool tr_opt_same(const tr_fn *f, tr_val x, tr_val y) {
    return values_are_same(f, x, y, MAX_DEPTH);
}

tr_domtree tr_opt_domtree(tr_fn *f) {
    assert(f->rpo.n > 0);
    tr_arena *a = &f->ctx->arena;
    tr_domtree t = {TR_NEW_N(a, tr_bid, f->blks.n), TR_NEW_N(a, tr_bid, f->blks.n)};
    for (tr_bid b = 0; b < f->blks.n; b++)
        t.first[b] = t.next[b] = TR_NOBLK;
    for (uint32_t i = f->rpo.n; i-- > 1;) { /* backwards, so that each list ends up in order */
        tr_bid b = f->rpo.d[i], up = f->blks.d[b].idom;
        t.next[b] = t.first[up];
        t.first[up] = b;
    }
    return t;
}

tr_bid tr_opt_block_before(tr_fn *f, tr_bid h) {
    assert(h != 0 && !tr_blk_at(f, h)->dead);
    tr_bid before = tr_blk_new(f);
    tr_blk_at(f, before)->cold = tr_blk_at(f, h)->cold;
    for (uint32_t k = 0; k < tr_blk_at(f, h)->params.n; k++)
        tr_blk_param(f, before, tr_at(f, tr_blk_at(f, h)->params.d[k])->ty, NULL);
    const tr_blk *head = tr_blk_at(f, h);
    for (uint32_t i = 0; i < head->preds.n; i++) {
        tr_ins *t = tr_term(f, head->preds.d[i]);
        for (uint32_t s = 0; s < tr_nsucc(t) && !tr_dominates(f, h, head->preds.d[i]); s++)
            if (t->imm.succ[s].to == h)
                t->imm.succ[s].to = before;
    }
    return before;
}

tr_bid tr_opt_preheader(tr_fn *f, tr_bid h) {
    uint32_t n = tr_blk_at(f, h)->params.n;
    tr_val *args = TR_NEW_N(&f->ctx->arena, tr_val, n + 1u);
    bool first = true;
    for (tr_way w = {0}; tr_next_way(f, h, &w);) {
        if (tr_dominates(f, h, w.from))
            continue;
        for (uint32_t k = 0; k < n; k++)
            args[k] = first || args[k] == w.edge->args[k] ? w.edge->args[k] : TR_NOVAL;
        first = false;
    }
    tr_bid before = tr_opt_block_before(f, h);
    for (uint32_t k = 0; k < n; k++)
        if (args[k] == TR_NOVAL)
            args[k] = tr_blk_at(f, before)->params.d[k];
    tr_bld b = {.fn = f, .blk = before, .before = TR_NOVAL, .loc = tr_term(f, h)->loc};
    tr_br(&b, h, n, args);
    return before;
}

/* --- nodes of graphs --- */

/* The graph's line that the place lies in or was inlined into; 0: none. */
static uint32_t node_of(const tr_fn *f, uint32_t loc) {
    for (; loc; loc = f->locs.d[loc].parent) {
        const tr_place *p = &f->locs.d[loc].place;
        if (p->file && strcmp(p->file, TR_GRAPH_FILE) == 0 && p->fn && strcmp(p->fn, TR_GRAPH_NODE) == 0)
            return (uint32_t)p->span.line;
    }
    return 0;
}

static void add_node(tr_arena *a, tr_u32s *met, uint32_t line) {
    if (line != 0 && !tr_opt_among(line, met->d, met->n))
        tr_vec_push(a, met, line);
}

static void add_nodes_of(tr_u32s *met, const tr_fn *lam) {
    for (tr_val v = 0; v < lam->ins.n; v++) {
        const tr_ins *in = tr_at(lam, v);
        if (in->blk == TR_NOBLK)
            continue;
        add_node(&lam->ctx->arena, met, node_of(lam, in->loc));
        if (in->op == TR_OP_PATTERN) /* of a loop over rows (pattern/byrow.c) */
            add_nodes_of(met, in->imm.pat->lam);
    }
}

tr_u32s tr_opt_nodes(const tr_fn *f, uint32_t loc, const tr_fn *lam) {
    tr_u32s met = {0};
    add_node(&f->ctx->arena, &met, node_of(f, loc));
    if (lam)
        add_nodes_of(&met, lam);
    return met;
}
