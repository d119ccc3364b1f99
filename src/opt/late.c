/* Code that hardly ever runs becomes a function of its own (hot/cold splitting), which is compiled when it is
 * first reached (driver/late.c).
 *
 * Checked copies of loops and the copies beside array expressions with sizes that agree are as large as what
 * they stand beside, and most calls never enter them: compiling them with the rest would double the wait. A
 * region is a connected piece of cold blocks with one way in, and one block that its ways out lead to, or
 * none but returns. What it uses from outside becomes its params, what it hands on its result. Counts of
 * references are explicit by now (own.c) and simply move. In its function it is a call; the instance is
 * marked `late`. Pieces with calls stay: their callees would be compiled twice. What a region
 * raises leaves the new function, and goes from the call to where it went: out, or to the one
 * handler of all that the region raises.
 * Cost: linear in the cold blocks. */
#include <assert.h>
#include <string.h>

#include "opt/outline.h"
#include "opt/priv.h"

enum { WORTH = 12, MAX_RESULTS = 32 };

typedef struct region {
    tr_u32s blks; /* entry first */
    bool open;    /* what it computes is used outside, other than through the exit's params */
    /* of one that is to become a function */
    bool fits;
    tr_bid exit;
    const tr_edge *handler; /* where what it raises is caught; NULL: nowhere here */
    bool resumes;           /* it has ways to blocks that raise again */
} region;

typedef struct finder {
    tr_outline o;
    TR_VEC(region) all;
    uint32_t weight; /* of the one at hand */
} finder;

/* --- regions --- */

/* All cold blocks that hang together with b, in both directions. */
static void gather(finder *r, tr_bid b) {
    assert(tr_blk_at(r->o.f, b)->cold && !r->o.of[b]);
    tr_fn *f = r->o.f;
    region new = {0};
    r->o.of[b] = r->all.n + 1;
    tr_vec_push(&f->ctx->arena, &new.blks, b);
    for (uint32_t i = 0; i < new.blks.n; i++) {
        const tr_blk *blk = tr_blk_at(f, new.blks.d[i]);
        const tr_ins *t = tr_term(f, new.blks.d[i]);
        for (uint32_t k = 0; k < blk->preds.n + tr_nsucc(t); k++) {
            tr_bid to = k < blk->preds.n ? blk->preds.d[k] : t->imm.succ[k - blk->preds.n].to;
            if (!tr_blk_at(f, to)->cold || r->o.of[to])
                continue;
            r->o.of[to] = r->all.n + 1;
            tr_vec_push(&f->ctx->arena, &new.blks, to);
        }
    }
    tr_vec_push(&f->ctx->arena, &r->all, new);
}

static void note_use(finder *r, tr_bid at, tr_val v) {
    const tr_ins *in = tr_at(r->o.f, v);
    if (!tr_is_const(in) && r->o.of[in->blk] && r->o.of[in->blk] != r->o.of[at])
        r->all.d[r->o.of[in->blk] - 1].open = true;
}

static void find_open(finder *r) {
    const tr_fn *f = r->o.f;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            for (uint32_t k = 0; k < in->nargs; k++)
                note_use(r, f->rpo.d[i], in->args[k]);
            for (uint32_t s = 0; s < tr_nsucc(in); s++)
                for (uint32_t k = 0; k < in->imm.succ[s].n; k++)
                    note_use(r, f->rpo.d[i], in->imm.succ[s].args[k]);
        }
}

/* --- what it raises --- */

/* Raises again what comes to it, and does nothing else. */
static bool block_only_reraises(const tr_fn *f, tr_bid b) {
    const tr_blk *blk = tr_blk_at(f, b);
    return blk->params.n == 0 && tr_at(f, blk->first)->op == TR_OP_CATCH &&
           tr_term(f, b)->op == TR_OP_RERAISE && tr_at(f, blk->first)->next == blk->last;
}

static bool block_catches(const tr_fn *f, tr_bid b) {
    return tr_at(f, tr_blk_at(f, b)->first)->op == TR_OP_CATCH;
}

/* A way of the region's exceptions to a handler outside: there is one, with what is known
 * before the region. */
static bool add_handler(const finder *r, region *g, const tr_edge *e) {
    for (uint32_t k = 0; k < e->n; k++) {
        const tr_ins *in = tr_at(r->o.f, e->args[k]);
        if (!tr_is_const(in) && tr_outline_has(&r->o, in->blk))
            return false;
    }
    if (g->handler && !tr_edge_same(g->handler, e))
        return false;
    g->handler = tr_arena_copy(&r->o.f->ctx->arena, e, sizeof *e);
    return true;
}

/* A call takes the region's place, and what that raises goes one way: to its handler if all
 * that the region raises does. */
static bool raises_one_way(const finder *r, const region *g) {
    for (uint32_t i = 0; g->handler && i < g->blks.n; i++)
        if (tr_blk_raises(r->o.f, g->blks.d[i]) && !tr_handler(r->o.f, g->blks.d[i]))
            return false;
    return !(g->handler && g->resumes);
}

static tr_bid resume_block(finder *r, uint32_t number) {
    tr_fn *f = r->o.f;
    tr_bld b = {.fn = f, .blk = tr_blk_new(f), .before = TR_NOVAL};
    tr_val c = tr_emit0(&b, TR_OP_CATCH, tr_ty_scalar(f->ctx->types, TR_TY_I64));
    tr_emit1(&b, TR_OP_RERAISE, NULL, c);
    tr_blk_at(f, b.blk)->cold = true;
    r->o.of[b.blk] = number;
    tr_vec_push(&f->ctx->arena, &r->all.d[number - 1].blks, b.blk);
    return b.blk;
}

/* Inside of the function its exceptions leave it. */
static void give_resume(finder *r, uint32_t number) {
    tr_fn *f = r->o.f;
    const region *g = &r->all.d[number - 1];
    tr_bid own = TR_NOBLK;
    for (uint32_t k = 0, n = g->blks.n; k < n; k++)
        for (uint32_t s = 0; s < tr_nsucc(tr_term(f, g->blks.d[k])); s++) {
            tr_bid to = tr_term(f, g->blks.d[k])->imm.succ[s].to;
            if (r->o.of[to] == number || !block_catches(f, to))
                continue;
            own = own == TR_NOBLK ? resume_block(r, number) : own;
            tr_term(f, g->blks.d[k])->imm.succ[s] = (tr_edge){.to = own};
        }
}

/* --- is it one? --- */

/* Puts the only block with ways in from outside first. One that catches stays where its `try` leads. */
static bool find_entry(finder *r) {
    assert(r->o.blks.n > 0);
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->o.blks.n; i++) {
        const tr_blk *b = tr_blk_at(r->o.f, r->o.blks.d[i]);
        bool entered = r->o.blks.d[i] == 0;
        for (uint32_t k = 0; k < b->preds.n; k++)
            entered = entered || !tr_outline_has(&r->o, b->preds.d[k]);
        if (!entered)
            continue;
        tr_bid first = r->o.blks.d[0];
        r->o.blks.d[0] = r->o.blks.d[i];
        r->o.blks.d[i] = first;
        n++;
    }
    return n == 1 && r->o.blks.d[0] != 0 && !block_catches(r->o.f, r->o.blks.d[0]);
}

static bool ins_may_move(finder *r, const tr_ins *in) {
    const tr_fn *g;
    r->weight += in->op == TR_OP_PATTERN ? WORTH : 1;
    for (unsigned k = 0; in->op == TR_OP_PATTERN && (g = tr_pat_any(in->imm.pat, k)); k++)
        for (uint32_t v = 0; v < g->ins.n; v++)
            if (tr_at(g, v)->blk != TR_NOBLK && tr_at(g, v)->op != TR_OP_PARAM &&
                !ins_may_move(r, tr_at(g, v)))
                return false;
    return in->op != TR_OP_CALL && in->op != TR_OP_CLOSURE && in->op != TR_OP_CALLX;
}

/* One block to lead to, or returns alone, and one way for what is raised. */
static bool find_exit(finder *r, region *g) {
    const tr_fn *f = r->o.f;
    bool returns = false;
    g->exit = TR_NOBLK;
    r->weight = 0;
    if (tr_handler(f, g->blks.d[0])) {
        tr_ins *by = tr_term(f, tr_blk_at(f, g->blks.d[0])->preds.d[0]);
        if (block_only_reraises(f, by->imm.succ[1].to) || !add_handler(r, g, &by->imm.succ[1]))
            return false;
    }
    for (uint32_t i = 0; i < g->blks.n; i++) {
        const tr_ins *t = tr_term(f, g->blks.d[i]);
        if (t->op == TR_OP_YIELD)
            return false;
        returns = returns || t->op == TR_OP_RET;
        for (uint32_t s = 0; s < tr_nsucc(t); s++) {
            tr_bid to = t->imm.succ[s].to;
            if (tr_outline_has(&r->o, to))
                continue;
            if (block_only_reraises(f, to)) {
                g->resumes = true;
            } else if (block_catches(f, to)) {
                if (!add_handler(r, g, &t->imm.succ[s]))
                    return false;
            } else if (g->exit != TR_NOBLK && g->exit != to) {
                return false;
            } else {
                g->exit = to;
            }
        }
        for (tr_val v = tr_blk_at(f, g->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (!ins_may_move(r, tr_at(f, v)))
                return false;
    }
    return !(returns && g->exit != TR_NOBLK) && r->weight >= WORTH && raises_one_way(r, g) &&
           (g->exit == TR_NOBLK || tr_blk_at(f, g->exit)->params.n <= MAX_RESULTS);
}

bool tr_opt_late(tr_prog *p, tr_fn *f) {
    finder r = {.o = {.p = p, .f = f, .name = "late"}};
    tr_arena *a = &f->ctx->arena;
    bool changed = false;
    if (f->ctx->opts.debug || f->ctx->opts.opt_level == 0)
        return false;
    if (f->is_lambda) /* the bodies of a function's patterns have its name */
        r.o.name = tr_arena_printf(a, "body%u.late", (unsigned)p->insts.n);
    r.o.of = TR_NEW_N(a, uint32_t, 2u * f->blks.n + 1u); /* a block more for each region */
    for (uint32_t i = 0; i < f->rpo.n; i++)
        if (tr_blk_at(f, f->rpo.d[i])->cold && !r.o.of[f->rpo.d[i]])
            gather(&r, f->rpo.d[i]);
    if (!r.all.n)
        return false;
    find_open(&r);
    for (uint32_t n = 1; n <= r.all.n; n++) {
        region *g = &r.all.d[n - 1];
        r.o.number = n;
        r.o.blks = g->blks;
        g->fits = !g->open && find_entry(&r) && find_exit(&r, g);
    }
    for (uint32_t n = 1; n <= r.all.n; n++)
        if (r.all.d[n - 1].fits && (r.all.d[n - 1].handler || r.all.d[n - 1].resumes))
            give_resume(&r, n);
    tr_outline_begin(&r.o);
    for (uint32_t n = 1; n <= r.all.n; n++) {
        const region *g = &r.all.d[n - 1];
        if (!g->fits)
            continue;
        r.o.number = n;
        r.o.blks = g->blks;
        r.o.exit = g->exit;
        r.o.handler = g->handler;
        r.o.late = true;
        tr_outline_make(&r.o);
        changed = true;
    }
    if (changed && p->handles) /* nobody may lead any more to what raises again */
        tr_simplify_tries(f);
    return changed;
}
