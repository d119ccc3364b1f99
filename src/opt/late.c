/* Code that hardly ever runs becomes a function of its own, which is compiled when it is first reached (driver/late.c).
 *
 * Checked copies of loops and the copies beside array expressions with sizes that agree are as large as what they stand beside, and most calls never enter
 * them: compiling them with the rest would double the wait. A region is a connected piece of cold blocks with one way in, and one block that
 * its ways out lead to, or none but returns. What it uses from outside becomes its params, what it hands on its result. Counts of references
 * are explicit by now (own.c) and simply move. In its function it is a call; the instance is marked `late`.
 * Pieces with calls stay: their callees would be compiled twice. Cost: linear in the cold blocks. */
#include <string.h>

#include "opt/priv.h"

enum { WORTH = 12, MAX_RESULTS = 32 };

typedef struct region {
    tr_u32s blks; /* entry first */
    bool open;    /* what it computes is used outside, other than through the exit's params */
} region;

typedef struct finder {
    tr_prog *p;
    tr_fn *f;
    uint32_t *of; /* per block: number of its region, from 1; 0: none */
    TR_VEC(region) all;
    /* of the one at hand */
    uint32_t number;
    tr_u32s blks;
    tr_bid exit; /* TR_NOBLK: it returns, or raises */
    uint32_t weight;
    uint8_t cold; /* its entry */
    tr_u32s in;   /* values from outside */
    tr_fn *g;
    tr_val *map; /* both for tr_clone_blocks, empty between two */
    tr_bid *bmap;
} finder;

/* --- is it one? --- */

/* All cold blocks that hang together with b, in both directions. */
static void gather(finder *r, tr_bid b) {
    tr_fn *f = r->f;
    region new = {0};
    r->of[b] = r->all.n + 1;
    tr_vec_push(&f->ctx->arena, &new.blks, b);
    for (uint32_t i = 0; i < new.blks.n; i++) {
        const tr_blk *blk = tr_blk_at(f, new.blks.d[i]);
        const tr_ins *t = tr_term(f, new.blks.d[i]);
        for (uint32_t k = 0; k < blk->preds.n + tr_nsucc(t); k++) {
            tr_bid to = k < blk->preds.n ? blk->preds.d[k] : t->imm.succ[k - blk->preds.n].to;
            if (!tr_blk_at(f, to)->cold || r->of[to])
                continue;
            r->of[to] = r->all.n + 1;
            tr_vec_push(&f->ctx->arena, &new.blks, to);
        }
    }
    tr_vec_push(&f->ctx->arena, &r->all, new);
}

static void note_use(finder *r, tr_bid at, tr_val v) {
    const tr_ins *in = tr_at(r->f, v);
    if (!tr_is_const(in) && r->of[in->blk] && r->of[in->blk] != r->of[at])
        r->all.d[r->of[in->blk] - 1].open = true;
}

static void find_open(finder *r) {
    const tr_fn *f = r->f;
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

static bool inside(const finder *r, tr_bid b) {
    return r->of[b] == r->number;
}

/* Puts the only block with ways in from outside first. */
static bool find_entry(finder *r) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->blks.n; i++) {
        const tr_blk *b = tr_blk_at(r->f, r->blks.d[i]);
        bool entered = r->blks.d[i] == 0;
        for (uint32_t k = 0; k < b->preds.n; k++)
            entered = entered || !inside(r, b->preds.d[k]);
        if (!entered)
            continue;
        tr_bid first = r->blks.d[0];
        r->blks.d[0] = r->blks.d[i];
        r->blks.d[i] = first;
        n++;
    }
    return n == 1 && r->blks.d[0] != 0;
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
    r->exit = TR_NOBLK;
    r->weight = 0;
    for (uint32_t i = 0; i < r->blks.n; i++) {
        const tr_ins *t = tr_term(r->f, r->blks.d[i]);
        returns = returns || t->op == TR_OP_RET;
        for (uint32_t s = 0; s < tr_nsucc(t); s++) {
            tr_bid to = t->imm.succ[s].to;
            if (inside(r, to))
                continue;
            if (r->exit != TR_NOBLK && r->exit != to)
                return false;
            r->exit = to;
        }
        for (tr_val v = tr_blk_at(r->f, r->blks.d[i])->first; v != TR_NOVAL; v = tr_at(r->f, v)->next)
            if (!may_move(r, tr_at(r->f, v)))
                return false;
    }
    return !(returns && r->exit != TR_NOBLK) && r->weight >= WORTH &&
           (r->exit == TR_NOBLK || tr_blk_at(r->f, r->exit)->params.n <= MAX_RESULTS);
}

/* --- the function --- */

/* Not handed over from outside. */
static bool is_local(const finder *r, tr_val v) {
    return tr_is_const(tr_at(r->f, v)) || inside(r, tr_at(r->f, v)->blk);
}

/* A length is asked for again: an array that spans a pattern's whole space is known by it. */
static void take_in(finder *r, tr_val v) {
    const tr_ins *in = tr_at(r->f, v);
    if (is_local(r, v) || r->map[v] != TR_NOVAL)
        return;
    const char *name = v < r->f->names.n ? r->f->names.d[v] : NULL;
    if (in->op == TR_OP_DIM && !is_local(r, in->args[0])) {
        tr_bld b = {.fn = r->g, .blk = 0, .before = TR_NOVAL};
        take_in(r, in->args[0]);
        r->map[v] = tr_emit1(&b, TR_OP_DIM, in->ty, r->map[in->args[0]]);
        tr_at(r->g, r->map[v])->imm.i = in->imm.i;
    } else {
        r->map[v] = tr_blk_param(r->g, 0, in->ty, name);
        tr_vec_push(&r->f->ctx->arena, &r->in, v);
    }
}

static void take_all_in(finder *r) {
    const tr_fn *f = r->f;
    r->in.n = 0;
    for (uint32_t i = 0; i < r->blks.n; i++)
        for (tr_val v = tr_blk_at(f, r->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            for (uint32_t k = 0; k < in->nargs; k++)
                take_in(r, in->args[k]);
            for (uint32_t s = 0; s < tr_nsucc(in); s++)
                for (uint32_t k = 0; k < in->imm.succ[s].n; k++)
                    take_in(r, in->imm.succ[s].args[k]);
        }
}

/* What the region hands to the block that it leads to. */
static const tr_ty *result_type(const finder *r) {
    tr_fn *f = r->f;
    if (r->exit == TR_NOBLK)
        return f->ret;
    const tr_blk *to = tr_blk_at(f, r->exit);
    const tr_ty *types[MAX_RESULTS];
    for (uint32_t i = 0; i < to->params.n; i++)
        types[i] = tr_at(f, to->params.d[i])->ty;
    return to->params.n == 0   ? tr_ty_none(f->ctx->types)
           : to->params.n == 1 ? types[0]
                               : tr_ty_tuple(f->ctx->types, to->params.n, types);
}

/* Takes the exit's place: returns what would be its params. */
static tr_bid make_end(finder *r, const tr_ty *ret) {
    tr_fn *g = r->g;
    const tr_blk *to = tr_blk_at(r->f, r->exit);
    tr_bld b = {.fn = g, .blk = tr_blk_new(g), .before = TR_NOVAL};
    tr_val v[MAX_RESULTS], result;
    for (uint32_t i = 0; i < to->params.n; i++)
        v[i] = tr_blk_param(g, b.blk, tr_at(r->f, to->params.d[i])->ty, NULL);
    result = to->params.n == 0   ? tr_const_undef(g, ret)
             : to->params.n == 1 ? v[0]
                                 : tr_emit_v(&b, TR_OP_TUPLE, ret, to->params.n, v);
    tr_emit1(&b, TR_OP_RET, NULL, result);
    return b.blk;
}

static void make_function(finder *r, const tr_ty *ret) {
    tr_fn *f = r->f, *g;
    tr_arena *a = &f->ctx->arena;
    const tr_blk *entry = tr_blk_at(f, r->blks.d[0]);
    r->cold = entry->cold;
    r->g = g = tr_fn_new(f->ctx, tr_arena_printf(a, "%s.late%u", f->name, r->number), S_T);
    g->file = f->file;
    g->func = f->func;
    g->ret = ret;
    tr_bld b = {.fn = g, .blk = tr_blk_new(g), .before = TR_NOVAL};
    tr_val *first = TR_NEW_N(a, tr_val, entry->params.n + 1u);
    for (uint32_t i = 0; i < entry->params.n; i++)
        first[i] = tr_blk_param(g, 0, tr_at(f, entry->params.d[i])->ty, NULL);
    take_all_in(r);
    if (r->exit != TR_NOBLK)
        r->bmap[r->exit] = make_end(r, ret);
    tr_clone_blocks(g, f, r->blks.d, r->blks.n, r->map, r->bmap, 0);
    tr_br(&b, r->bmap[r->blks.d[0]], entry->params.n, first);
    for (tr_bid k = 0; k < g->blks.n; k++)
        g->blks.d[k].cold = 0; /* all of it; the instance says how seldom it runs */
}

static uint32_t add_instance(finder *r) {
    tr_fn *g = r->g;
    const tr_blk *entry = tr_blk_at(g, 0);
    tr_inst inst = {.func = UINT32_MAX, .nargs = entry->params.n, .ret = g->ret, .fn = g, .late = r->cold};
    inst.args = TR_NEW_N(&g->ctx->arena, const tr_ty *, inst.nargs + 1u);
    for (uint32_t i = 0; i < inst.nargs; i++)
        inst.args[i] = tr_at(g, entry->params.d[i])->ty;
    tr_vec_push(&g->ctx->arena, &r->p->insts, inst);
    return r->p->insts.n - 1;
}

/* --- the call --- */

static void forget(finder *r, tr_val v) {
    r->map[v] = TR_NOVAL;
}

/* Takes the blocks out, and all that the maps know of them. */
static void remove_blocks(finder *r) {
    tr_fn *f = r->f;
    if (r->exit != TR_NOBLK)
        r->bmap[r->exit] = TR_NOBLK;
    for (uint32_t i = 0; i < r->in.n; i++)
        forget(r, r->in.d[i]);
    for (uint32_t i = 0; i < r->blks.n; i++) {
        tr_blk *b = tr_blk_at(f, r->blks.d[i]);
        r->bmap[r->blks.d[i]] = TR_NOBLK;
        while (b->first != TR_NOVAL) {
            const tr_ins *in = tr_at(f, b->first);
            forget(r, b->first);
            for (uint32_t k = 0; k < in->nargs; k++)
                forget(r, in->args[k]);
            for (uint32_t s = 0; s < tr_nsucc(in); s++)
                for (uint32_t k = 0; k < in->imm.succ[s].n; k++)
                    forget(r, in->imm.succ[s].args[k]);
            tr_ins_remove(f, b->first);
        }
        for (uint32_t k = 0; k < b->params.n; k++) {
            forget(r, b->params.d[k]);
            tr_at(f, b->params.d[k])->blk = TR_NOBLK;
        }
        b->dead = true;
    }
}

/* A block that calls, in place of the region. */
static void call_it(finder *r, const tr_ty *ret) {
    tr_fn *f = r->f;
    tr_arena *a = &f->ctx->arena;
    tr_bid entry = r->blks.d[0], here = tr_blk_new(f);
    uint32_t n = tr_blk_at(f, entry)->params.n, nout = 0;
    tr_val *args = TR_NEW_N(a, tr_val, n + r->in.n + 1u), out[MAX_RESULTS];
    for (uint32_t i = 0; i < n; i++)
        args[i] = tr_blk_param(f, here, tr_at(f, tr_blk_at(f, entry)->params.d[i])->ty, NULL);
    if (r->in.n)
        memcpy(args + n, r->in.d, r->in.n * sizeof *args);
    for (uint32_t k = 0; k < tr_blk_at(f, entry)->preds.n; k++) {
        tr_ins *t = tr_term(f, tr_blk_at(f, entry)->preds.d[k]);
        for (uint32_t s = 0; s < tr_nsucc(t) && !inside(r, t->blk); s++)
            if (t->imm.succ[s].to == entry)
                t->imm.succ[s].to = here;
    }
    tr_val first = tr_blk_at(f, entry)->first;
    tr_bld b = {.fn = f, .blk = here, .before = TR_NOVAL, .loc = tr_at(f, first)->loc};
    tr_val call = tr_emit_v(&b, TR_OP_CALL, ret, n + r->in.n, args);
    tr_at(f, call)->imm.fn = add_instance(r);
    if (r->exit == TR_NOBLK) {
        tr_emit1(&b, TR_OP_RET, NULL, call);
        return;
    }
    nout = tr_blk_at(f, r->exit)->params.n;
    for (uint32_t i = 0; i < nout; i++) {
        out[i] = call;
        if (nout > 1) {
            out[i] = tr_emit1(&b, TR_OP_EXTRACT, ret->items[i], call);
            tr_at(f, out[i])->imm.i = i;
        }
    }
    tr_br(&b, r->exit, nout, out);
}

bool tr_opt_late(tr_prog *p, tr_fn *f) {
    finder r = {.p = p, .f = f};
    tr_arena *a = &f->ctx->arena;
    uint32_t nvals = f->ins.n, nblks = f->blks.n;
    bool changed = false;
    if (f->is_lambda || f->ctx->opts.debug || f->ctx->opts.opt_level == 0)
        return false;
    r.of = TR_NEW_N(a, uint32_t, nblks + 1u);
    for (uint32_t i = 0; i < f->rpo.n; i++)
        if (tr_blk_at(f, f->rpo.d[i])->cold && !r.of[f->rpo.d[i]])
            gather(&r, f->rpo.d[i]);
    if (!r.all.n)
        return false;
    find_open(&r);
    r.map = TR_NEW_N(a, tr_val, nvals + 1u);
    r.bmap = TR_NEW_N(a, tr_bid, nblks + 1u);
    memset(r.map, 0xff, nvals * sizeof *r.map);
    memset(r.bmap, 0xff, nblks * sizeof *r.bmap);
    for (r.number = 1; r.number <= r.all.n; r.number++) {
        r.blks = r.all.d[r.number - 1].blks;
        if (r.all.d[r.number - 1].open || !find_entry(&r) || !find_exit(&r))
            continue;
        const tr_ty *ret = result_type(&r);
        make_function(&r, ret);
        call_it(&r, ret);
        remove_blocks(&r);
        changed = true;
    }
    return changed;
}
