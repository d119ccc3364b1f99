/* Variables that all iterations of a prange loop assign, or none, as a condition decides that the loop does
 * not change (loop unswitching, of which only the result is used):
 *
 *     bounds = make(0)
 *     for i in prange(n):
 *         if unequal:
 *             bounds = make(i)
 *         out[i] = work(bounds)
 *
 * Such a variable is a param of the loop's head. Where the condition holds, no iteration reads what comes in
 * by it; where it does not, what goes out by it is what came in. So in both cases each iteration may begin
 * with the value from before the loop, and nothing is handed on. Both are looked at on the paths that the
 * condition leaves. A variable that is read after the loop is not one of these: there it would be the last
 * iteration's.
 * Cost: linear in the loop for each param of the head and each condition, of which at most MAX_CONDITIONS
 * are looked at. */

#include <assert.h>

#include "opt/emit.h"
#include "opt/prange/ploop.h"

enum {
    MAX_CONDITIONS = 8, /* loops have one or two */
    MAX_CHECKS = 32     /* for a value, of one variable: each is followed by itself */
};

/* A param of the head, in iterations where the condition holds, or does not. */
typedef struct look {
    const tr_ploop *l;
    const tr_fn *f;
    tr_val p, cond;
    uint32_t at; /* p's place among the head's params */
    bool holds;
    uint8_t *runs;   /* blocks that the condition leaves */
    unsigned checks; /* that were followed */
} look;

static bool asks(const look *k, tr_val cond) {
    return tr_loop_is_before(k->f, k->l->header, cond) && tr_opt_same(k->f, cond, k->cond);
}

static bool is_taken(const look *k, const tr_ins *term, const tr_edge *e) {
    return term->op != TR_OP_CBR || !asks(k, term->args[0]) || e == &term->imm.succ[k->holds ? 0 : 1];
}

/* What a choice by the condition comes to; TR_NOVAL: v is no such choice. */
static tr_val chosen(const look *k, tr_val v) {
    const tr_ins *in = tr_at(k->f, v);
    if (in->op != TR_OP_SELECT || !asks(k, in->args[0]))
        return TR_NOVAL;
    return in->args[k->holds ? 1 : 2];
}

static look look_at(const tr_ploop *l, uint32_t at, tr_val cond, bool holds) {
    tr_arena *a = &l->f->ctx->arena;
    look k = {.l = l,
              .f = l->f,
              .p = tr_blk_at(l->f, l->header)->params.d[at],
              .cond = cond,
              .at = at,
              .holds = holds,
              .runs = TR_NEW_N(a, uint8_t, l->f->blks.n + 1u)};
    tr_u32s work = {0};
    k.runs[l->header] = 1;
    tr_vec_push(a, &work, l->header);
    while (work.n) {
        const tr_ins *t = tr_term(l->f, work.d[--work.n]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++) {
            tr_bid to = t->imm.succ[s].to;
            if (!l->in[to] || k.runs[to] || !is_taken(&k, t, &t->imm.succ[s]))
                continue;
            k.runs[to] = 1;
            tr_vec_push(a, &work, to);
        }
    }
    return k;
}

static bool is_kept(look *k, tr_val v, tr_bid from, uint8_t *met);

/* Whether a variable has a value (unbound.c) is known behind a check for it: true is what p is there. */
static bool is_checked(look *k, tr_bid from, const uint8_t *met) {
    for (tr_bid b = from;; b = tr_blk_at(k->f, b)->idom) {
        for (tr_val v = tr_blk_at(k->f, b)->first; v != TR_NOVAL; v = tr_at(k->f, v)->next) {
            const tr_ins *in = tr_at(k->f, v);
            if (in->op != TR_OP_CHECK || in->imm.site->exc != TR_EXC_UNBOUND || k->checks++ >= MAX_CHECKS)
                continue;
            uint8_t *here = tr_arena_copy(&k->f->ctx->arena, met, k->f->ins.n + 1u); /* it may fail */
            if (is_kept(k, in->args[0], b, here))
                return true;
        }
        if (b == k->l->header)
            return false;
    }
}

/* Is v, at the end of block `from`, what came in by p, on all these paths? `met`: params that are so unless
 * another one is not. */
static bool is_kept(look *k, tr_val v, tr_bid from, uint8_t *met) {
    const tr_ins *in = tr_at(k->f, v);
    if (v == k->p || met[v])
        return true;
    if (tr_is_const(in))
        return in->ty->kind == TR_TY_BOOL && tr_is_int(k->f, v, 1) && is_checked(k, from, met);
    met[v] = 1;
    tr_val choice = chosen(k, v);
    if (choice != TR_NOVAL)
        return is_kept(k, choice, from, met);
    if (in->op != TR_OP_PARAM || !k->l->in[in->blk] || in->blk == k->l->header)
        return false;
    uint32_t at = tr_param_index(k->f, v);
    for (tr_way w = {0}; tr_next_way(k->f, in->blk, &w);)
        if (k->runs[w.from] && is_taken(k, tr_term(k->f, w.from), w.edge) &&
            !is_kept(k, w.edge->args[at], w.from, met))
            return false;
    return true;
}

static bool goes_out_as_it_came(look *k) {
    uint8_t *met = TR_NEW_N(&k->f->ctx->arena, uint8_t, k->f->ins.n + 1u);
    for (tr_way w = {0}; tr_next_way(k->f, k->l->header, &w);)
        if (k->l->in[w.from] && k->runs[w.from] && !is_kept(k, w.edge->args[k->at], w.from, met))
            return false;
    return true;
}

/* Follows what came in by p through v; false where v does anything with it but pass it on. */
static bool passes_on(const look *k, tr_val v, uint8_t *is, bool *more) {
    const tr_ins *in = tr_at(k->f, v);
    tr_val choice = chosen(k, v);
    if (choice != TR_NOVAL) {
        *more = *more || (is[choice] && !is[v]);
        is[v] |= is[choice];
        return true;
    }
    for (uint32_t i = 0; i < in->nargs; i++)
        if (is[in->args[i]])
            return false;
    for (uint32_t s = 0; s < tr_nsucc(in); s++) {
        const tr_edge *e = &in->imm.succ[s];
        for (uint32_t i = 0; is_taken(k, in, e) && i < e->n; i++) {
            if (!is[e->args[i]])
                continue;
            if (e->to == k->l->header ? i != k->at : !k->l->in[e->to])
                return false;
            tr_val to = tr_blk_at(k->f, e->to)->params.d[i];
            *more = *more || !is[to];
            is[to] = 1;
        }
    }
    return true;
}

static bool is_never_read(const look *k) {
    uint8_t *is = TR_NEW_N(&k->f->ctx->arena, uint8_t, k->f->ins.n + 1u);
    is[k->p] = 1;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < k->l->blks.n; i++)
            for (tr_val v = k->runs[k->l->blks.d[i]] ? tr_blk_at(k->f, k->l->blks.d[i])->first : TR_NOVAL;
                 v != TR_NOVAL; v = tr_at(k->f, v)->next)
                if (!passes_on(k, v, is, &more))
                    return false;
    }
    return true;
}

static bool uses(const tr_ins *in, tr_val p) {
    for (uint32_t i = 0; i < in->nargs; i++)
        if (in->args[i] == p)
            return true;
    for (uint32_t s = 0; s < tr_nsucc(in); s++)
        for (uint32_t i = 0; i < in->imm.succ[s].n; i++)
            if (in->imm.succ[s].args[i] == p)
                return true;
    return false;
}

static bool is_used_after(const tr_ploop *l, tr_val p) {
    const tr_fn *f = l->f;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = l->in [f->rpo.d[i]] ? TR_NOVAL : tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL;
             v = tr_at(f, v)->next)
            if (uses(tr_at(f, v), p))
                return true;
    const tr_edge *out = &tr_term(f, l->header)->imm.succ[0];
    for (uint32_t s = 0; s < 2; s++)
        for (uint32_t i = 0; out[s].to == l->exit && i < out[s].n; i++)
            if (out[s].args[i] == p)
                return true;
    return false;
}

static bool is_switched(const tr_ploop *l, uint32_t at, tr_val cond) {
    for (unsigned holds = 0; holds < 2; holds++) {
        look set = look_at(l, at, cond, holds), left = look_at(l, at, cond, !holds);
        if (is_never_read(&set) && goes_out_as_it_came(&left))
            return true;
    }
    return false;
}

/* Conditions of the loop's branches and choices that it does not change, each once. */
static uint32_t find_conditions(const tr_ploop *l, tr_val *out) {
    const tr_fn *f = l->f;
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            if (n == MAX_CONDITIONS)
                return n;
            if ((in->op == TR_OP_CBR || in->op == TR_OP_SELECT) &&
                tr_loop_is_before(f, l->header, in->args[0]) && !tr_opt_among(in->args[0], out, n))
                out[n++] = in->args[0];
        }
    return n;
}

/* The value of param `at` before the loop; TR_NOVAL: several. */
static tr_val value_before(const tr_ploop *l, uint32_t at) {
    tr_val before = TR_NOVAL;
    for (tr_way w = {0}; tr_next_way(l->f, l->header, &w);) {
        if (l->in[w.from])
            continue;
        if (before != TR_NOVAL && before != w.edge->args[at])
            return TR_NOVAL;
        before = w.edge->args[at];
    }
    return before;
}

bool tr_ploop_switched(tr_ploop *l) {
    tr_fn *f = l->f;
    tr_val conds[MAX_CONDITIONS];
    uint32_t nconds = find_conditions(l, conds);
    for (uint32_t at = 0; nconds && at < tr_blk_at(f, l->header)->params.n; at++) {
        tr_val p = tr_blk_at(f, l->header)->params.d[at], before = value_before(l, at);
        if (at == l->counter_at || is_used_after(l, p))
            continue;
        for (uint32_t c = 0; c < nconds; c++) {
            if (!is_switched(l, at, conds[c]))
                continue;
            if (before == TR_NOVAL) { /* a block of its own in front makes one of them */
                tr_bid b = tr_opt_block_before(f, l->header);
                tr_bld to = {.fn = f, .blk = b, .before = TR_NOVAL, .loc = tr_term(f, l->header)->loc};
                tr_br(&to, l->header, tr_blk_at(f, b)->params.n, tr_blk_at(f, b)->params.d);
                before = tr_blk_at(f, b)->params.d[at];
            }
            tr_ploop_replace(l, p, before);
            tr_remove_params(f);
            return true;
        }
    }
    return false;
}
