/* Control flow: predecessors, order, dominators, loops, use counts. Linear but for dominators, which are so
 * in practice. */
#include <assert.h>
#include <string.h>

#include "ir/internal.h"

tr_u32s tr_live_blocks(const tr_fn *f) {
    tr_u32s out = {0};
    for (tr_bid b = 0; b < f->blks.n; b++)
        if (!f->blks.d[b].dead)
            tr_vec_push(&f->ctx->arena, &out, b);
    return out;
}

static uint32_t edge_count(const tr_fn *f, tr_bid b) {
    const tr_blk *blk = tr_blk_at(f, b);
    return blk->last == TR_NOVAL ? 0 : tr_nsucc(tr_at(f, blk->last));
}

/* Room for n numbers in v, what it held is lost. */
static void room(const tr_fn *f, tr_u32s *v, uint32_t n) {
    if (v->cap < n) {
        v->cap = n + n / 2;
        v->d = TR_NEW_N(&f->ctx->arena, uint32_t, v->cap);
    }
    v->n = 0;
}

/* Depth first from the entry. `work` holds a stack and, per block, the edges still to be followed plus one
 * (0: not seen); the true edge goes last, so that its target comes first in the order. */
static void order(const tr_fn *f, tr_u32s *out, tr_u32s *work) {
    uint32_t n = f->blks.n, depth = 0, k = n;
    room(f, out, n + 1);
    room(f, work, 2 * n + 1);
    tr_bid *stack = work->d;
    uint32_t *left = work->d + n;
    memset(left, 0, n * sizeof *left);
    if (n) {
        stack[depth++] = 0;
        left[0] = edge_count(f, 0) + 1;
    }
    while (depth) {
        tr_bid b = stack[depth - 1];
        if (left[b] == 1) {
            out->d[--k] = b;
            depth--;
            continue;
        }
        tr_bid to = tr_term(f, b)->imm.succ[--left[b] - 1].to;
        if (to >= n || left[to])
            continue;
        left[to] = edge_count(f, to) + 1;
        stack[depth++] = to;
    }
    out->n = n - k;
    memmove(out->d, out->d + k, out->n * sizeof *out->d);
}

tr_u32s tr_cfg_order(const tr_fn *f) {
    tr_u32s out = {0}, work = {0};
    order(f, &out, &work);
    return out;
}

void tr_cfg_compute(tr_fn *f) {
    order(f, &f->rpo, &f->work);
    for (tr_bid b = 0; b < f->blks.n; b++) {
        f->blks.d[b].preds.n = 0;
        f->blks.d[b].rpo = TR_NOBLK;
    }
    for (uint32_t i = 0; i < f->rpo.n; i++) {
        tr_bid b = f->rpo.d[i];
        f->blks.d[b].rpo = i;
        const tr_ins *t = f->blks.d[b].last == TR_NOVAL ? NULL : tr_term(f, b);
        for (uint32_t s = 0; t && s < tr_nsucc(t); s++)
            if (t->imm.succ[s].to < f->blks.n)
                tr_vec_push(&f->ctx->arena, &f->blks.d[t->imm.succ[s].to].preds, b);
    }
}

/* Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm". */
static tr_bid intersect(const tr_fn *f, tr_bid a, tr_bid b) {
    assert(f->blks.d[a].rpo != TR_NOBLK && f->blks.d[b].rpo != TR_NOBLK);
    while (a != b) {
        while (f->blks.d[a].rpo > f->blks.d[b].rpo)
            a = f->blks.d[a].idom;
        while (f->blks.d[b].rpo > f->blks.d[a].rpo)
            b = f->blks.d[b].idom;
    }
    return a;
}

void tr_dom_compute(tr_fn *f) {
    for (tr_bid b = 0; b < f->blks.n; b++)
        f->blks.d[b].idom = TR_NOBLK;
    if (!f->rpo.n)
        return;
    f->blks.d[0].idom = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 1; i < f->rpo.n; i++) {
            tr_blk *blk = &f->blks.d[f->rpo.d[i]];
            tr_bid dom = TR_NOBLK;
            for (uint32_t p = 0; p < blk->preds.n; p++) {
                tr_bid q = blk->preds.d[p];
                if (f->blks.d[q].idom != TR_NOBLK)
                    dom = dom == TR_NOBLK ? q : intersect(f, dom, q);
            }
            changed = changed || blk->idom != dom;
            blk->idom = dom;
        }
    }
    f->blks.d[0].idom = TR_NOBLK;
}

bool tr_dominates(const tr_fn *f, tr_bid a, tr_bid b) {
    assert(a < f->blks.n && b < f->blks.n);
    if (f->blks.d[b].rpo == TR_NOBLK)
        return true;
    uint32_t at = f->blks.d[a].rpo;
    while (b != TR_NOBLK && f->blks.d[b].rpo > at)
        b = f->blks.d[b].idom;
    return a == b;
}

const tr_edge *tr_handler(const tr_fn *f, tr_bid b) {
    const tr_u32s *preds = &tr_blk_at(f, b)->preds;
    const tr_ins *t = preds->n == 1 ? tr_term(f, preds->d[0]) : NULL;
    return t && t->op == TR_OP_TRY && t->imm.succ[0].to == b ? &t->imm.succ[1] : NULL;
}

const tr_edge *tr_handler_now(const tr_fn *f, tr_bid b) {
    for (tr_bid p = 0; p < f->blks.n; p++) {
        const tr_ins *t = f->blks.d[p].dead || f->blks.d[p].last == TR_NOVAL ? NULL : tr_term(f, p);
        if (t && t->op == TR_OP_TRY && t->imm.succ[0].to == b)
            return &t->imm.succ[1];
    }
    return NULL;
}

bool tr_next_way(const tr_fn *f, tr_bid b, tr_way *w) {
    assert(w->pred <= tr_blk_at(f, b)->preds.n);
    const tr_u32s *preds = &tr_blk_at(f, b)->preds;
    for (; w->pred < preds->n; w->pred++, w->succ = 0) {
        w->from = preds->d[w->pred];
        if (w->pred > 0 && preds->d[w->pred - 1] == w->from)
            continue; /* an entry per edge, side by side: they were all met at the first */
        const tr_ins *t = tr_term(f, w->from);
        while (w->succ < tr_nsucc(t)) {
            w->edge = &t->imm.succ[w->succ++];
            if (w->edge->to == b)
                return true;
        }
    }
    return false;
}

uint32_t tr_param_index(const tr_fn *f, tr_val param) {
    assert(tr_at(f, param)->op == TR_OP_PARAM && tr_at(f, param)->blk != TR_NOBLK);
    const tr_blk *b = tr_blk_at(f, tr_at(f, param)->blk);
    uint32_t k = 0;
    while (b->params.d[k] != param)
        k++;
    return k;
}

/* --- loops --- */

typedef struct finder {
    tr_fn *f;
    tr_loops *out;
    uint32_t *innermost;
    tr_bid *stack;
    uint32_t depth;
} finder;

/* Adds block b to loop l, or the whole loop around it that was found already. */
static void join_loop(finder *s, uint32_t l, tr_bid b) {
    assert(l < s->out->n && b < s->f->blks.n);
    uint32_t in = s->innermost[b];
    if (in == UINT32_MAX) {
        s->innermost[b] = l;
    } else {
        while (s->out->d[in].parent != UINT32_MAX && in != l)
            in = s->out->d[in].parent;
        if (in == l)
            return;
        s->out->d[in].parent = l;
        b = s->out->d[in].header;
    }
    s->stack[s->depth++] = b;
}

static bool is_latch(const tr_fn *f, tr_bid header, tr_bid b) {
    return f->blks.d[b].rpo != TR_NOBLK && tr_dominates(f, header, b);
}

static void find_body(finder *s, uint32_t l) {
    assert(s->depth == 0);
    tr_bid h = s->out->d[l].header;
    const tr_blk *blk = tr_blk_at(s->f, h);
    s->innermost[h] = l;
    for (uint32_t p = 0; p < blk->preds.n; p++)
        if (is_latch(s->f, h, blk->preds.d[p]) && blk->preds.d[p] != h)
            join_loop(s, l, blk->preds.d[p]);
    while (s->depth) {
        const tr_blk *b = tr_blk_at(s->f, s->stack[--s->depth]);
        for (uint32_t p = 0; p < b->preds.n; p++)
            join_loop(s, l, b->preds.d[p]);
    }
}

static void describe(tr_fn *f, tr_loop *l) {
    assert(tr_blk_at(f, l->header)->preds.n > 0);
    const tr_blk *h = tr_blk_at(f, l->header);
    tr_bid out = TR_NOBLK, in = TR_NOBLK;
    bool many_out = false, many_in = false;
    for (uint32_t p = 0; p < h->preds.n; p++) {
        tr_bid b = h->preds.d[p];
        if (is_latch(f, l->header, b)) {
            many_in = many_in || (in != TR_NOBLK && in != b);
            in = b;
        } else {
            many_out = many_out || out != TR_NOBLK;
            out = b;
        }
    }
    l->latch = many_in ? TR_NOBLK : in;
    l->preheader = many_out || out == TR_NOBLK || tr_nsucc(tr_term(f, out)) != 1 ? TR_NOBLK : out;
}

static bool is_header(const tr_fn *f, tr_bid b) {
    const tr_blk *blk = tr_blk_at(f, b);
    for (uint32_t p = 0; p < blk->preds.n; p++)
        if (is_latch(f, b, blk->preds.d[p]))
            return true;
    return false;
}

/* Loops come out with an outer one before the loops inside it. */
void tr_loops_find(tr_fn *f, tr_loops *out, uint32_t *innermost) {
    tr_arena *a = &f->ctx->arena;
    *out = (tr_loops){0};
    for (tr_bid b = 0; b < f->blks.n; b++)
        innermost[b] = UINT32_MAX;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        if (is_header(f, f->rpo.d[i]))
            tr_vec_push(a, out, (tr_loop){.header = f->rpo.d[i], .parent = UINT32_MAX});
    finder s = {
        .f = f, .out = out, .innermost = innermost, .stack = TR_NEW_N(a, tr_bid, 2u * f->blks.n + 2u)};
    for (uint32_t l = out->n; l-- > 0;)
        find_body(&s, l);
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (uint32_t l = innermost[f->rpo.d[i]]; l != UINT32_MAX; l = out->d[l].parent)
            tr_vec_push(a, &out->d[l].blks, f->rpo.d[i]);
    for (uint32_t l = 0; l < out->n; l++) {
        out->d[l].depth = out->d[l].parent == UINT32_MAX ? 1 : out->d[out->d[l].parent].depth + 1;
        describe(f, &out->d[l]);
    }
}

uint32_t tr_loop_size(const tr_fn *f, const tr_loop *l) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            n++;
    return n;
}

uint32_t *tr_use_counts(const tr_fn *f) {
    uint32_t *n = TR_NEW_N(&f->ctx->arena, uint32_t, f->ins.n + 1);
    for (tr_bid b = 0; b < f->blks.n; b++) {
        if (f->blks.d[b].dead)
            continue;
        for (tr_val v = f->blks.d[b].first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *i = tr_at(f, v);
            for (uint32_t k = 0; k < i->nargs; k++)
                n[i->args[k]]++;
            for (uint32_t s = 0; s < tr_nsucc(i); s++)
                for (uint32_t k = 0; k < i->imm.succ[s].n; k++)
                    n[i->imm.succ[s].args[k]]++;
        }
    }
    return n;
}
