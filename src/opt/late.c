/* Code that hardly ever runs becomes a function of its own (hot/cold splitting), which is compiled when it is
 * first reached (driver/late.c).
 *
 * Checked copies of loops and the copies beside array expressions with sizes that agree are as large as what
 * they stand beside, and most calls never enter them: compiling them with the rest would double the wait. A
 * region is a connected piece of cold blocks with one way in, and one block that its ways out lead to, or
 * none but returns. What it uses from outside becomes its params, what it hands on its result. Counts of
 * references are explicit by now (own.c) and simply move. In its function it is a call; the instance is
 * marked `late`. Pieces with calls stay: their callees would be compiled twice.
 * Cost: linear in the cold
 * blocks. */
#include <assert.h>

#include "opt/outline.h"
#include "opt/priv.h"

enum { WORTH = 12, MAX_RESULTS = 32 };

typedef struct region {
    tr_u32s blks; /* entry first */
    bool open;    /* what it computes is used outside, other than through the exit's params */
} region;

typedef struct finder {
    tr_outline o;
    TR_VEC(region) all;
    uint32_t weight; /* of the one at hand */
} finder;

/* --- is it one? --- */

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

/* Puts the only block with ways in from outside first. */
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
    return n == 1 && r->o.blks.d[0] != 0;
}

static bool may_move(finder *r, const tr_ins *in) {
    const tr_fn *g;
    r->weight += in->op == TR_OP_PATTERN ? WORTH : 1;
    for (unsigned k = 0; in->op == TR_OP_PATTERN && (g = tr_pat_fn(in->imm.pat, k)); k++)
        for (uint32_t v = 0; v < g->ins.n; v++)
            if (tr_at(g, v)->blk != TR_NOBLK && tr_at(g, v)->op != TR_OP_PARAM && !may_move(r, tr_at(g, v)))
                return false;
    return in->op != TR_OP_CALL && in->op != TR_OP_CLOSURE;
}

/* One block to lead to, or returns alone. */
static bool find_exit(finder *r) {
    bool returns = false;
    r->o.exit = TR_NOBLK;
    r->weight = 0;
    for (uint32_t i = 0; i < r->o.blks.n; i++) {
        const tr_ins *t = tr_term(r->o.f, r->o.blks.d[i]);
        if (t->op == TR_OP_YIELD)
            return false;
        returns = returns || t->op == TR_OP_RET;
        for (uint32_t s = 0; s < tr_nsucc(t); s++) {
            tr_bid to = t->imm.succ[s].to;
            if (tr_outline_has(&r->o, to))
                continue;
            if (r->o.exit != TR_NOBLK && r->o.exit != to)
                return false;
            r->o.exit = to;
        }
        for (tr_val v = tr_blk_at(r->o.f, r->o.blks.d[i])->first; v != TR_NOVAL; v = tr_at(r->o.f, v)->next)
            if (!may_move(r, tr_at(r->o.f, v)))
                return false;
    }
    return !(returns && r->o.exit != TR_NOBLK) && r->weight >= WORTH &&
           (r->o.exit == TR_NOBLK || tr_blk_at(r->o.f, r->o.exit)->params.n <= MAX_RESULTS);
}

bool tr_opt_late(tr_prog *p, tr_fn *f) {
    finder r = {.o = {.p = p, .f = f, .name = "late"}};
    tr_arena *a = &f->ctx->arena;
    bool changed = false;
    if (p->handles || f->ctx->opts.debug || f->ctx->opts.opt_level == 0)
        return false;
    if (f->is_lambda) /* the bodies of a function's patterns have its name */
        r.o.name = tr_arena_printf(a, "body%u.late", (unsigned)p->insts.n);
    r.o.of = TR_NEW_N(a, uint32_t, f->blks.n + 1u);
    for (uint32_t i = 0; i < f->rpo.n; i++)
        if (tr_blk_at(f, f->rpo.d[i])->cold && !r.o.of[f->rpo.d[i]])
            gather(&r, f->rpo.d[i]);
    if (!r.all.n)
        return false;
    find_open(&r);
    tr_outline_begin(&r.o);
    for (r.o.number = 1; r.o.number <= r.all.n; r.o.number++) {
        r.o.blks = r.all.d[r.o.number - 1].blks;
        if (r.all.d[r.o.number - 1].open || !find_entry(&r) || !find_exit(&r))
            continue;
        r.o.late = true;
        tr_outline_make(&r.o);
        changed = true;
    }
    return changed;
}
