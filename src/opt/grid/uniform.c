/* Uniformity (divergence analysis): which values are the same for all threads of a block,
 * and which blocks all of them run.
 *
 * A value varies where it comes from a thread's place, from what threads find in memory at places that vary,
 * or from calls; and where it depends on the way that a thread has come (sync dependence): params of blocks
 * in which the ways of a varying branch meet, and all that is made between the two, of which a thread that
 * leaves a loop early has another round's (temporal divergence). Where ways meet is the branch's nearest
 * post-dominator. Threads that leave for good do not count there: a branch to what leads to no more stops,
 * taken by some, makes fewer threads and not two kinds of them.
 * What is read at one place is one value: threads read it at the same moment, and who writes
 * there without a barrier between races. Marks are only ever added, so it ends; each round
 * costs the blocks times the branches. */
#include "opt/grid/uniform.h"

#include <assert.h>
#include <string.h>

#include "opt/priv.h"

static tr_arena *arena(const tr_uniform *u) {
    return &u->g->ctx->arena;
}

static bool branch_varies(const tr_uniform *u, tr_bid b) {
    const tr_ins *t = tr_term(u->g, b);
    return t->op == TR_OP_TRY || (t->op == TR_OP_CBR && u->varies[t->args[0]]);
}

bool tr_uniform_threads_leave(const tr_uniform *u, tr_bid b, const tr_edge *e) {
    assert(b < u->g->blks.n && e->to < u->g->blks.n && "blocks that were there when it was found");
    const tr_ins *t = tr_term(u->g, b);
    if (u->last[b] || t->op != TR_OP_CBR || !u->last[e->to])
        return false;
    return !u->last[t->imm.succ[0].to] || !u->last[t->imm.succ[1].to];
}

/* --- blocks from which no stop is reached --- */

static void find_last(tr_uniform *u) {
    const tr_fn *g = u->g;
    memset(u->last, 1, g->blks.n);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = g->rpo.n; k-- > 0;) {
            tr_bid b = g->rpo.d[k];
            bool stops = u->stop[b];
            const tr_ins *t = tr_term(g, b);
            for (uint32_t e = 0; e < tr_nsucc(t); e++)
                stops = stops || !u->last[t->imm.succ[e].to];
            changed = changed || (stops && u->last[b]);
            if (stops)
                u->last[b] = 0;
        }
    }
}

/* --- post-dominators: Cooper, Harvey and Kennedy's, on the way back from a node `n` behind all ends --- */

typedef struct back {
    const tr_uniform *u;
    uint8_t *keep;    /* per block: its ways to the end count though threads leave by them */
    tr_bid *idom;     /* per node */
    uint32_t *number; /* per node: in post-order of the way back; UINT32_MAX: no end is reached */
    tr_u32s order;    /* by rising number */
    uint32_t n;
} back;

static bool edge_counts_for_end(const back *s, tr_bid b, const tr_edge *e) {
    return s->keep[b] || !branch_varies(s->u, b) || !tr_uniform_threads_leave(s->u, b, e);
}

static void visit(back *s, uint32_t node) {
    const tr_fn *g = s->u->g;
    /* an explicit stack: bodies may be long */
    tr_u32s stack = {0}, at = {0};
    tr_arena *a = arena(s->u);
    s->number[node] = UINT32_MAX - 1;
    tr_vec_push(a, &stack, node);
    tr_vec_push(a, &at, 0);
    while (stack.n) {
        uint32_t x = stack.d[stack.n - 1], k = at.d[at.n - 1]++;
        tr_bid from = TR_NOBLK;
        if (x == s->n) {
            if (k < g->rpo.n && !tr_nsucc(tr_term(g, g->rpo.d[k])))
                from = g->rpo.d[k];
            else if (k < g->rpo.n)
                continue;
        } else if (k < tr_blk_at(g, x)->preds.n) {
            from = tr_blk_at(g, x)->preds.d[k];
            const tr_ins *t = tr_term(g, from);
            bool yes = false;
            for (uint32_t e = 0; e < tr_nsucc(t); e++)
                yes = yes || (t->imm.succ[e].to == x && edge_counts_for_end(s, from, &t->imm.succ[e]));
            if (!yes)
                continue;
        }
        if (from == TR_NOBLK) {
            s->number[x] = s->order.n;
            tr_vec_push(a, &s->order, x);
            stack.n--;
            at.n--;
        } else if (s->number[from] == UINT32_MAX) {
            s->number[from] = UINT32_MAX - 1;
            tr_vec_push(a, &stack, from);
            tr_vec_push(a, &at, 0);
        }
    }
}

static uint32_t intersect(const back *s, uint32_t x, uint32_t y) {
    while (x != y)
        if (s->number[x] < s->number[y])
            x = s->idom[x];
        else
            y = s->idom[y];
    return x;
}

static void find_post_dominators(back *s) {
    const tr_fn *g = s->u->g;
    for (uint32_t k = 0; k <= s->n; k++) {
        s->number[k] = UINT32_MAX;
        s->idom[k] = TR_NOBLK;
    }
    s->order.n = 0;
    visit(s, s->n);
    s->idom[s->n] = s->n;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = s->order.n - 1; k-- > 0;) {
            tr_bid b = s->order.d[k], to = TR_NOBLK;
            const tr_ins *t = tr_term(g, b);
            if (!tr_nsucc(t))
                to = s->n;
            for (uint32_t e = 0; e < tr_nsucc(t); e++) {
                tr_bid x = t->imm.succ[e].to;
                if (edge_counts_for_end(s, b, &t->imm.succ[e]) && s->number[x] != UINT32_MAX &&
                    s->idom[x] != TR_NOBLK)
                    to = to == TR_NOBLK ? x : intersect(s, to, x);
            }
            changed = changed || s->idom[b] != to;
            s->idom[b] = to;
        }
    }
}

/* Ways by which threads leave are left out where the end is reached without them: so a loop
 * that is left for good still ends. */
static void find_meets(tr_uniform *u) {
    tr_fn *g = u->g;
    back s = {.u = u, .n = g->blks.n};
    s.keep = TR_NEW_N(arena(u), uint8_t, s.n + 1u);
    s.idom = TR_NEW_N(arena(u), tr_bid, s.n + 1u);
    s.number = TR_NEW_N(arena(u), uint32_t, s.n + 1u);
    find_post_dominators(&s);
    bool again = false;
    for (uint32_t k = 0; k < g->rpo.n; k++) {
        tr_bid b = g->rpo.d[k];
        s.keep[b] = s.number[b] == UINT32_MAX;
        again = again || s.keep[b];
    }
    if (again)
        find_post_dominators(&s);
    for (uint32_t k = 0; k < g->rpo.n; k++) {
        tr_bid b = g->rpo.d[k];
        u->meet[b] = TR_NOBLK;
        if (tr_nsucc(tr_term(g, b)) < 2)
            continue;
        if (s.number[b] != UINT32_MAX && s.idom[b] != s.n)
            u->meet[b] = s.idom[b];
        /* what is run until then */
        tr_u32s todo = {0};
        u->between[b] = tr_bits_new(arena(u), s.n);
        const tr_ins *t = tr_term(g, b);
        for (uint32_t e = 0; e < 2; e++)
            if (edge_counts_for_end(&s, b, &t->imm.succ[e]) ||
                tr_uniform_threads_leave(u, b, &t->imm.succ[e]))
                tr_vec_push(arena(u), &todo, t->imm.succ[e].to);
        while (todo.n) {
            tr_bid x = todo.d[--todo.n];
            if (x == u->meet[b] || tr_bits_get(&u->between[b], x))
                continue;
            tr_bits_set(&u->between[b], x);
            t = tr_term(g, x);
            for (uint32_t e = 0; e < tr_nsucc(t); e++)
                tr_vec_push(arena(u), &todo, t->imm.succ[e].to);
        }
    }
}

/* --- values --- */

/* The same for all where its operands are. */
static bool follows_operands(const tr_ins *in) {
    switch ((tr_op)in->op) {
    case TR_OP_BLOCKIDX:
    case TR_OP_BLOCKDIM:
    case TR_OP_GRIDDIM:
    case TR_OP_SHARED:
    case TR_OP_DYNSHARED:
    case TR_OP_LOAD: return true;
    case TR_OP_THREADIDX: return false;
    default: return tr_opt_is_pure(in);
    }
}

static bool find_values(tr_uniform *u) {
    tr_fn *g = u->g;
    bool any = false;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < g->rpo.n; k++) {
            tr_bid b = g->rpo.d[k];
            for (uint32_t p = 0; b && p < tr_blk_at(g, b)->params.n; p++) {
                tr_val v = tr_blk_at(g, b)->params.d[p];
                bool varies = u->split[b];
                for (tr_way w = {0}; !varies && tr_next_way(g, b, &w);)
                    varies = p >= w.edge->n || u->varies[w.edge->args[p]];
                changed = changed || (varies && !u->varies[v]);
                u->varies[v] |= varies;
            }
            for (tr_val v = tr_blk_at(g, b)->first; v != TR_NOVAL; v = tr_at(g, v)->next) {
                const tr_ins *in = tr_at(g, v);
                bool varies = u->split[b] || !follows_operands(in);
                for (uint32_t a = 0; !varies && a < in->nargs; a++)
                    varies = u->varies[in->args[a]];
                if (u->varies[v] || !varies || !in->ty)
                    continue;
                u->varies[v] = 1;
                changed = true;
            }
        }
        any = any || changed;
    }
    return any;
}

/* Blocks that a varying branch decides about, and what is chosen where its ways meet. */
static bool find_split(tr_uniform *u) {
    tr_fn *g = u->g;
    bool any = false;
    for (uint32_t k = 0; k < g->rpo.n; k++) {
        tr_bid b = g->rpo.d[k];
        if (tr_nsucc(tr_term(g, b)) < 2 || !branch_varies(u, b))
            continue;
        for (tr_bid x = 0; x < g->blks.n; x++) {
            if (!tr_bits_get(&u->between[b], x) || u->split[x])
                continue;
            u->split[x] = 1;
            any = true;
        }
        const tr_ins *t = tr_term(g, b);
        bool leaves = tr_uniform_threads_leave(u, b, &t->imm.succ[0]) ||
                      tr_uniform_threads_leave(u, b, &t->imm.succ[1]);
        for (uint32_t p = 0; !leaves && u->meet[b] != TR_NOBLK && p < tr_blk_at(g, u->meet[b])->params.n;
             p++) {
            tr_val v = tr_blk_at(g, u->meet[b])->params.d[p];
            any = any || !u->varies[v];
            u->varies[v] = 1;
        }
    }
    return any;
}

void tr_uniform_find(tr_uniform *u, tr_fn *g, const uint8_t *stop) {
    tr_arena *a = &g->ctx->arena;
    uint32_t n = g->blks.n;
    *u = (tr_uniform){.g = g, .stop = stop};
    u->varies = TR_NEW_N(a, uint8_t, g->ins.n + 1u);
    u->split = TR_NEW_N(a, uint8_t, n + 1u);
    u->last = TR_NEW_N(a, uint8_t, n + 1u);
    u->meet = TR_NEW_N(a, tr_bid, n + 1u);
    u->between = TR_NEW_N(a, tr_bits, n + 1u);
    tr_cfg_compute(g);
    find_last(u);
    do {
        find_values(u);
        find_meets(u);
    } while (find_split(u) || find_values(u));
}
