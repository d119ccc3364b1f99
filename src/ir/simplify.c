/* Control flow made plain: unreachable blocks, useless block params, forwarding blocks and straight lines.
 * Each sweep is linear; sweeps repeat until nothing changes, which takes two or three. */
#include <assert.h>
#include <string.h>

#include "ir/internal.h"

/* --- block params --- */

enum { MAX_ROUND = 32 }; /* params that hand a constant to each other */

static bool is_block_param(const tr_fn *f, tr_val v) {
    return tr_at(f, v)->op == TR_OP_PARAM && tr_at(f, v)->blk != 0;
}

static uint32_t index_of(const tr_blk *b, tr_val param) {
    assert(b->params.n > 0);
    uint32_t p = 0;
    while (p < b->params.n && b->params.d[p] != param)
        p++;
    return p;
}

/* What arrives at some params: params, and at most one constant. */
typedef struct arrivals {
    tr_val params[MAX_ROUND], constant;
    uint32_t n;
} arrivals;

static bool take_arrival(const tr_fn *f, arrivals *s, tr_val v) {
    if (!is_block_param(f, v)) {
        bool fits = s->constant == TR_NOVAL ? tr_is_const(tr_at(f, v)) : s->constant == v;
        s->constant = v;
        return fits;
    }
    for (uint32_t i = 0; i < s->n; i++)
        if (s->params[i] == v)
            return true;
    if (s->n == MAX_ROUND)
        return false;
    s->params[s->n++] = v;
    return true;
}

/* The one constant that arrives at param v, be it through other params, and they may hand it to each other: a
 * flag that is set before two loops and in the inner one. TR_NOVAL when anything else arrives. */
static tr_val only_constant(const tr_fn *f, const tr_repl *r, tr_val v) {
    arrivals all;
    all.constant = TR_NOVAL;
    all.params[0] = v;
    all.n = 1;
    for (uint32_t i = 0; i < all.n; i++) {
        tr_bid b = tr_at(f, all.params[i])->blk;
        const tr_blk *blk = tr_blk_at(f, b);
        uint32_t p = index_of(blk, all.params[i]);
        for (uint32_t k = 0; k < blk->preds.n; k++) {
            const tr_ins *t = tr_term(f, blk->preds.d[k]);
            for (uint32_t s = 0; s < tr_nsucc(t); s++)
                if (t->imm.succ[s].to == b && !take_arrival(f, &all, tr_repl_get(r, t->imm.succ[s].args[p])))
                    return TR_NOVAL;
        }
    }
    return all.constant;
}

/* May two values that are not the same be one constant in the end? */
static bool may_be_constant(const tr_fn *f, tr_val x, tr_val y) {
    bool px = is_block_param(f, x), py = is_block_param(f, y);
    return (px || py) && (px || tr_is_const(tr_at(f, x))) && (py || tr_is_const(tr_at(f, y)));
}

/* The one value that arrives at param number p of block b on every edge but those that carry the param
 * itself, or in the end; TR_NOVAL when there are several or none. */
static tr_val only_arrival(const tr_fn *f, const tr_repl *r, tr_bid b, uint32_t p) {
    assert(b != 0 && p < tr_blk_at(f, b)->params.n);
    const tr_blk *blk = tr_blk_at(f, b);
    tr_val self = blk->params.d[p], only = TR_NOVAL;
    for (uint32_t k = 0; k < blk->preds.n; k++) {
        const tr_ins *t = tr_term(f, blk->preds.d[k]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++) {
            if (t->imm.succ[s].to != b)
                continue;
            tr_val v = tr_repl_get(r, t->imm.succ[s].args[p]);
            if (v == self || v == only)
                continue;
            if (only != TR_NOVAL)
                return may_be_constant(f, only, v) ? only_constant(f, r, self) : TR_NOVAL;
            only = v;
        }
    }
    return only;
}

static bool find_trivial(tr_fn *f, tr_repl *r) {
    bool any = false;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 1; i < f->rpo.n; i++) {
            tr_bid b = f->rpo.d[i];
            for (uint32_t p = 0; p < f->blks.d[b].params.n; p++) {
                tr_val v = f->blks.d[b].params.d[p], only;
                if (tr_repl_get(r, v) != v || (only = only_arrival(f, r, b, p)) == TR_NOVAL)
                    continue;
                tr_repl_set(f, r, v, only);
                changed = any = true;
            }
        }
    }
    return any;
}

/* Params that something other than a dead param's edge argument uses. */
static void mark_used(const tr_fn *f, const tr_repl *r, uint8_t *used) {
    tr_u32s work = {0};
    tr_arena *a = &f->ctx->arena;
#define USE(x)                                   \
    do {                                         \
        tr_val u_ = tr_repl_get(r, (x));         \
        if (!used[u_]) {                         \
            used[u_] = 1;                        \
            if (tr_at(f, u_)->op == TR_OP_PARAM) \
                tr_vec_push(a, &work, u_);       \
        }                                        \
    } while (0)
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = f->blks.d[f->rpo.d[i]].first; v != TR_NOVAL; v = tr_at(f, v)->next)
            for (uint32_t k = 0; k < tr_at(f, v)->nargs; k++)
                USE(tr_arg(f, v, k));
    while (work.n) {
        tr_val v = work.d[--work.n];
        tr_bid b = tr_at(f, v)->blk;
        const tr_blk *blk = tr_blk_at(f, b);
        uint32_t p = index_of(blk, v);
        for (uint32_t k = 0; k < blk->preds.n; k++) {
            const tr_ins *t = tr_term(f, blk->preds.d[k]);
            for (uint32_t s = 0; s < tr_nsucc(t); s++)
                if (t->imm.succ[s].to == b)
                    USE(t->imm.succ[s].args[p]);
        }
    }
#undef USE
}

/* Drops param p of block b and what the edges pass for it. */
static void drop_param(tr_fn *f, tr_bid b, uint32_t p) {
    assert(b != 0 && p < f->blks.d[b].params.n);
    tr_blk *blk = &f->blks.d[b];
    tr_at(f, blk->params.d[p])->blk = TR_NOBLK;
    blk->params.n--;
    memmove(blk->params.d + p, blk->params.d + p + 1, (blk->params.n - p) * sizeof *blk->params.d);
    for (uint32_t k = 0; k < blk->preds.n; k++) {
        tr_ins *t = tr_term(f, blk->preds.d[k]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++) {
            tr_edge *e = &t->imm.succ[s];
            if (e->to != b || e->n == blk->params.n) /* a branch with both edges here is met twice */
                continue;
            e->n--;
            memmove(e->args + p, e->args + p + 1, (e->n - p) * sizeof *e->args);
        }
    }
}

bool tr_remove_params(tr_fn *f) {
    tr_cfg_compute(f);
    tr_repl r = tr_repl_new(f);
    bool any = find_trivial(f, &r);
    uint8_t *used = TR_NEW_N(&f->ctx->arena, uint8_t, f->ins.n + 1);
    mark_used(f, &r, used);
    for (uint32_t i = 1; i < f->rpo.n; i++) {
        tr_bid b = f->rpo.d[i];
        for (uint32_t p = f->blks.d[b].params.n; p-- > 0;) {
            tr_val v = f->blks.d[b].params.d[p];
            if (tr_repl_get(&r, v) == v && used[v])
                continue;
            drop_param(f, b, p);
            any = true;
        }
    }
    tr_repl_apply(f, &r);
    return any;
}

/* --- blocks --- */

static bool kill_unreachable(tr_fn *f) {
    bool any = false;
    tr_cfg_compute(f);
    for (tr_bid b = 0; b < f->blks.n; b++) {
        tr_blk *blk = &f->blks.d[b];
        if (blk->rpo != TR_NOBLK || blk->dead)
            continue;
        for (tr_val v = blk->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            tr_at(f, v)->blk = TR_NOBLK;
        for (uint32_t p = 0; p < blk->params.n; p++)
            tr_at(f, blk->params.d[p])->blk = TR_NOBLK;
        blk->first = blk->last = TR_NOVAL;
        blk->params.n = 0;
        blk->dead = any = true;
    }
    return any;
}

/* A branch whose way is known, or the same both ways, becomes a jump. */
static bool fold_branch(tr_fn *f, tr_bid b) {
    tr_ins *t = f->blks.d[b].last == TR_NOVAL ? NULL : tr_term(f, b);
    int64_t c;
    if (!t || t->op != TR_OP_CBR)
        return false;
    if (tr_get_int(f, t->args[0], &c))
        t->imm.succ = &t->imm.succ[c ? 0 : 1];
    else if (!tr_edge_same(&t->imm.succ[0], &t->imm.succ[1]))
        return false;
    t->op = TR_OP_BR;
    t->nargs = 0;
    t->args = NULL;
    return true;
}

/* A block that only jumps on, and whose params nothing but that jump uses. */
static const tr_edge *forwards(const tr_fn *f, const uint32_t *uses, tr_bid b) {
    const tr_blk *blk = tr_blk_at(f, b);
    if (b == 0 || blk->first == TR_NOVAL || blk->first != blk->last || tr_at(f, blk->first)->op != TR_OP_BR)
        return NULL;
    const tr_edge *e = tr_at(f, blk->first)->imm.succ;
    if (e->to == b)
        return NULL;
    for (uint32_t p = 0; p < blk->params.n; p++) {
        uint32_t here = 0;
        for (uint32_t k = 0; k < e->n; k++)
            here += e->args[k] == blk->params.d[p];
        if (uses[blk->params.d[p]] != here)
            return NULL;
    }
    return e;
}

static tr_edge through(tr_fn *f, const tr_edge *in, const tr_edge *on) {
    assert(in->n == tr_blk_at(f, in->to)->params.n && on->to != in->to);
    const tr_blk *mid = tr_blk_at(f, in->to);
    tr_edge e = tr_edge_make(f, on->to, on->n, on->args);
    for (uint32_t k = 0; k < e.n; k++)
        for (uint32_t p = 0; p < mid->params.n; p++)
            if (on->args[k] == mid->params.d[p])
                e.args[k] = in->args[p];
    return e;
}

/* The way into a protected block stays, as what it leads to is what is protected. */
static bool edge_is_protected(const tr_ins *t, uint32_t s) {
    return t->op == TR_OP_TRY && s == 0;
}

static void count_edge(uint32_t *uses, const tr_edge *e, uint32_t by) {
    for (uint32_t k = 0; k < e->n; k++)
        uses[e->args[k]] += by;
}

static bool skip_forwarders(tr_fn *f) {
    bool any = false;
    uint32_t *uses = tr_use_counts(f);
    for (uint32_t i = 0; i < f->rpo.n; i++) {
        tr_ins *t = tr_term(f, f->rpo.d[i]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++) {
            tr_edge *e = &t->imm.succ[s];
            const tr_edge *on = edge_is_protected(t, s) ? NULL : forwards(f, uses, e->to);
            if (!on)
                continue;
            tr_edge longer = through(f, e, on);
            count_edge(uses, e, UINT32_MAX); /* minus one */
            count_edge(uses, &longer, 1);
            *e = longer;
            any = true;
        }
    }
    return any;
}

/* Appends block `to` to its only predecessor. */
static void absorb(tr_fn *f, tr_repl *r, tr_bid b, tr_bid to) {
    assert(to != 0 && to != b && f->blks.d[to].preds.n == 1);
    tr_val jump = f->blks.d[b].last;
    const tr_edge *e = tr_at(f, jump)->imm.succ;
    tr_blk *t = &f->blks.d[to];
    for (uint32_t p = 0; p < e->n; p++) {
        tr_repl_set(f, r, t->params.d[p], tr_repl_get(r, e->args[p]));
        tr_at(f, t->params.d[p])->blk = TR_NOBLK;
    }
    tr_ins_remove(f, jump);
    for (tr_val v = t->first; v != TR_NOVAL; v = tr_at(f, v)->next)
        tr_at(f, v)->blk = b;
    tr_val last = f->blks.d[b].last;
    tr_at(f, t->first)->prev = last;
    if (last == TR_NOVAL)
        f->blks.d[b].first = t->first;
    else
        tr_at(f, last)->next = t->first;
    f->blks.d[b].last = t->last;
    t->first = t->last = TR_NOVAL;
    t->params.n = 0;
    t->dead = true;
}

/* Per block the `try` that protects it, or TR_NOVAL; NULL: nothing is protected. */
static tr_val *protectors(const tr_fn *f) {
    tr_val *by = NULL;
    for (uint32_t i = 0; i < f->rpo.n; i++) {
        const tr_blk *b = &f->blks.d[f->rpo.d[i]];
        if (b->dead || tr_at(f, b->last)->op != TR_OP_TRY)
            continue;
        if (!by) {
            by = TR_NEW_N(&f->ctx->arena, tr_val, f->blks.n + 1u);
            memset(by, 0xff, f->blks.n * sizeof *by);
        }
        by[tr_at(f, b->last)->imm.succ->to] = b->last;
    }
    return by;
}

static bool merge_lines(tr_fn *f) {
    bool any = false;
    const tr_val *by = protectors(f);
    tr_repl r = tr_repl_new(f);
    for (uint32_t i = 0; i < f->rpo.n; i++) {
        tr_bid b = f->rpo.d[i];
        while (!f->blks.d[b].dead && tr_term(f, b)->op == TR_OP_BR) {
            tr_bid to = tr_term(f, b)->imm.succ->to;
            if (to == 0 || to == b || f->blks.d[to].preds.n != 1 ||
                (by && by[b] != TR_NOVAL && tr_blk_raises(f, to)))
                break;
            absorb(f, &r, b, to);
            any = true;
        }
    }
    tr_repl_apply(f, &r);
    return any;
}

/* A handler that raises again at once, out of the function. */
static bool is_idle(const tr_fn *f, const tr_val *by, tr_bid b) {
    tr_val c = f->blks.d[b].first, v = c;
    if (tr_at(f, c)->op != TR_OP_CATCH || by[b] != TR_NOVAL)
        return false;
    do
        v = tr_at(f, v)->next;
    while (tr_at(f, v)->op == TR_OP_TUPLE || tr_at(f, v)->op == TR_OP_EXTRACT);
    return tr_at(f, v)->op == TR_OP_RERAISE && tr_caught(f, v) == c;
}

/* A handler that raises again at once, to another handler: the way there, which needs
 * nothing of it. NULL: it does more. */
static const tr_edge *hands_on(const tr_fn *f, tr_bid b) {
    tr_val c = f->blks.d[b].first, v = c;
    if (tr_at(f, c)->op != TR_OP_CATCH)
        return NULL;
    do
        v = tr_at(f, v)->next;
    while (tr_at(f, v)->op == TR_OP_TUPLE || tr_at(f, v)->op == TR_OP_EXTRACT);
    if (tr_at(f, v)->op != TR_OP_TRY)
        return NULL;
    tr_val again = f->blks.d[tr_at(f, v)->imm.succ[0].to].first;
    const tr_edge *e = &tr_at(f, v)->imm.succ[1];
    if (tr_at(f, again)->op != TR_OP_RERAISE || tr_caught(f, again) != c || e->to == b)
        return NULL;
    for (uint32_t k = 0; k < e->n; k++)
        if (tr_at(f, e->args[k])->blk == b)
            return NULL;
    return e;
}

/* Per block: a value of it is used in another one, but for the exception that a handler raises again. */
static uint8_t *looked_into(const tr_fn *f) {
    uint8_t *out = TR_NEW_N(&f->ctx->arena, uint8_t, f->blks.n + 1u);
#define USE(x)                                                                 \
    do {                                                                       \
        tr_bid from_ = tr_at(f, (x))->blk;                                     \
        if (from_ != TR_NOBLK && from_ != b &&                                 \
            !(in->op == TR_OP_RERAISE && tr_term(f, from_)->op == TR_OP_TRY && \
              tr_term(f, from_)->imm.succ[0].to == b))                         \
            out[from_] = 1;                                                    \
    } while (0)
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = f->blks.d[b].dead ? TR_NOVAL : f->blks.d[b].first; v != TR_NOVAL;
             v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            for (uint32_t k = 0; k < in->nargs; k++)
                USE(in->args[k]);
            for (uint32_t s = 0; s < tr_nsucc(in); s++)
                for (uint32_t k = 0; k < in->imm.succ[s].n; k++)
                    USE(in->imm.succ[s].args[k]);
        }
#undef USE
    return out;
}

/* What raises goes to the handler that does something. Leaves predecessors as they were. */
static bool pass_over(tr_fn *f) {
    bool any = false;
    const uint8_t *looked = NULL;
    for (tr_bid b = 0; b < f->blks.n; b++) {
        if (f->blks.d[b].dead || tr_term(f, b)->op != TR_OP_TRY)
            continue;
        tr_edge *e = &tr_term(f, b)->imm.succ[1];
        const tr_edge *on = hands_on(f, e->to);
        if (on && !looked)
            looked = looked_into(f);
        if (on && !looked[e->to]) {
            *e = (tr_edge){on->to, on->n, tr_arena_copy(&f->ctx->arena, on->args, on->n * sizeof *on->args)};
            any = true;
        }
    }
    return any;
}

/* A protected block in which nothing raises needs no handler; one that is protected like the block before it,
 * and has no other way in, is part of it. */
static bool drop_tries(tr_fn *f) {
    tr_val *by = protectors(f);
    bool any = false;
    for (uint32_t i = 0; by && i < f->rpo.n; i++) {
        tr_bid b = f->rpo.d[i];
        while (!f->blks.d[b].dead && tr_term(f, b)->op == TR_OP_TRY) {
            tr_ins *t = tr_term(f, b), *outer = by[b] == TR_NOVAL ? NULL : tr_at(f, by[b]);
            tr_bid body = t->imm.succ[0].to;
            bool raises = tr_blk_raises(f, body) && !is_idle(f, by, t->imm.succ[1].to);
            if (raises &&
                !(outer && outer->op == TR_OP_TRY && tr_edge_same(&outer->imm.succ[1], &t->imm.succ[1])))
                break;
            t->op = TR_OP_BR;
            any = true;
            if (!raises)
                break;
            tr_repl none = tr_repl_new(f);
            absorb(f, &none, b, body);
        }
    }
    return any;
}

void tr_simplify_tries(tr_fn *f) {
    tr_cfg_compute(f);
    bool any = drop_tries(f);
    kill_unreachable(f);
    if (any)
        merge_lines(f);
    tr_cfg_compute(f);
}

bool tr_simplify_cfg(tr_fn *f) {
    bool any = false;
    for (bool changed = true; changed;) {
        changed = false;
        for (tr_bid b = 0; b < f->blks.n; b++)
            if (!f->blks.d[b].dead && fold_branch(f, b))
                changed = true;
        changed |= pass_over(f);
        changed |= kill_unreachable(f);
        changed |= drop_tries(f);
        changed |= tr_remove_params(f);
        if (skip_forwarders(f)) {
            kill_unreachable(f);
            changed = true;
        }
        changed |= merge_lines(f);
        any |= changed;
    }
    tr_cfg_compute(f);
    return any;
}
