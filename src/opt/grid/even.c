/* Loops in which each thread takes its own items of a range, so many apart (grid-stride loops), on their
 * way to be run by the block: made even.
 *
 *   for i in range(grid(1), n, gridsize(1)): ...        i = grid(1); while i < n: ...; i += gridsize(1)
 *
 * Threads run such a loop for different numbers of rounds, and one after the other they would walk memory
 * with the stride of the grid. After this all run the rounds together: a round counts for those whose
 * condition holds, and there is another while it holds for one (a vote of the block). Counters become what
 * they are in round k: start + k * step. Then threads are the innermost loop, and neighbours look at
 * neighbours (level.c). For loops that all threads come to, with one way out, at the head, and whose
 * counters nobody asks for afterwards. CPython tests a `while` at its end, behind a first test before the
 * loop: of the two one is made, at the head, which asks what the other one found. */
#include <assert.h>
#include <string.h>

#include "opt/grid/even.h"
#include "opt/emit.h"
#include "opt/priv.h"

/* Who has left goes through the head again in later rounds: nothing may happen there, and the answer must
 * stay no. It does where it is a param, which keeps what it was, or where a counter that only rises is
 * compared with what does not change. */
static bool thread_stays_out(const even *e) {
    const tr_fn *g = e->g;
    tr_bid h = e->loop->header;
    const tr_ins *c = tr_at(g, tr_term(g, h)->args[0]);
    tr_loop_test t;
    tr_counter counts;
    for (tr_val v = tr_blk_at(g, h)->first; v != tr_blk_at(g, h)->last; v = tr_at(g, v)->next)
        if (!tr_opt_is_pure(tr_at(g, v)))
            return false;
    if (c->op == TR_OP_PARAM)
        return c->blk == h;
    return tr_forest_test(&e->loops, e->number, &t) && tr_even_counter(e, t.counter, &counts) &&
           tr_is_int(g, counts.step, 1);
}

/* All threads come to it, only its head leads out, and that for each thread as it will. */
static bool loop_can_be_even(even *e) {
    const tr_fn *g = e->g;
    tr_bid h = e->loop->header;
    const tr_ins *t = tr_term(g, h);
    if (t->op != TR_OP_CBR || tr_is_const(tr_at(g, t->args[0])) || !e->u.varies[t->args[0]])
        return false;
    e->body = t->imm.succ[tr_even_has(e, t->imm.succ[0].to) ? 0 : 1].to;
    e->exit = t->imm.succ[tr_even_has(e, t->imm.succ[0].to) ? 1 : 0].to;
    if (!tr_even_has(e, e->body) || tr_even_has(e, e->exit) ||
        !tr_forest_leaves_only_at(&e->loops, e->number, h))
        return false;
    for (uint32_t k = 0; k < e->loop->blks.n; k++) {
        tr_bid b = e->loop->blks.d[k];
        if (!tr_nsucc(tr_term(g, b)))
            return false;
        for (tr_val v = tr_blk_at(g, b)->first; v != TR_NOVAL; v = tr_at(g, v)->next)
            if (tr_op_meets(tr_at(g, v)->op) != TR_MEETING_NONE || tr_at(g, v)->op == TR_OP_LOCAL)
                return false;
    }
    for (tr_way w = {0}; tr_next_way(g, h, &w);)
        if (!tr_even_has(e, w.from) && (e->u.split[w.from] || tr_nsucc(tr_term(g, w.from)) != 1))
            return false;
    for (tr_val v = tr_blk_at(g, h)->first; v != TR_NOVAL; v = tr_at(g, v)->next)
        if (tr_even_is_used_outside(e, v))
            return false;
    return true;
}

static void make_even(even *e) {
    tr_fn *g = e->g;
    tr_bid h = e->loop->header, join = tr_blk_new(g);
    uint32_t n = tr_blk_at(g, h)->params.n - 1;
    tr_val *args = TR_NEW_N(tr_grid_arena(e->s), tr_val, n + 2u);
    for (uint32_t p = 0; p < n; p++)
        tr_blk_param(g, join, tr_at(g, tr_blk_at(g, h)->params.d[p])->ty, NULL);
    tr_val live = tr_blk_param(g, join, e->s->i1, NULL);
    tr_val yes = tr_const_int(g, e->s->i1, 1), no = tr_const_int(g, e->s->i1, 0);
    for (uint32_t j = 0; j < e->loop->blks.n; j++) {
        tr_ins *t = tr_term(g, e->loop->blks.d[j]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++) {
            tr_edge *edge = &t->imm.succ[s];
            if (edge->to != h)
                continue;
            memcpy(args, edge->args, n * sizeof *args);
            args[n] = yes;
            *edge = (tr_edge){join, n + 1, tr_arena_copy(tr_grid_arena(e->s), args, (n + 1) * sizeof *args)};
        }
    }
    tr_ins *t = tr_term(g, h);
    tr_edge *out = &t->imm.succ[t->imm.succ[0].to == e->exit ? 0 : 1], old = *out;
    memcpy(args, tr_blk_at(g, h)->params.d, n * sizeof *args);
    args[n] = no;
    *out = (tr_edge){join, n + 1, tr_arena_copy(tr_grid_arena(e->s), args, (n + 1) * sizeof *args)};
    tr_bld b = {.fn = g, .blk = join, .before = TR_NOVAL, .loc = t->loc};
    tr_val any = tr_emit1(&b, TR_OP_BARVOTE, tr_ty_scalar(e->s->p->ctx->types, TR_TY_I32), live);
    tr_at(g, any)->sub = TR_VOTE_ANY;
    any = tr_emit_cmp(&b, TR_CMP_NE, any, tr_const_int(g, tr_at(g, any)->ty, 0));
    memcpy(args, tr_blk_at(g, join)->params.d, n * sizeof *args);
    tr_val k = tr_blk_at(g, h)->params.d[n];
    args[n] = tr_emit2(&b, TR_OP_ADD, e->s->i64, k, tr_const_int(g, e->s->i64, 1));
    tr_at(g, args[n])->flags |= F_NSW;
    tr_cbr(&b, any, h, n + 1, args, old.to, old.n, old.args);
}

static bool loop_has_counter(const even *e) {
    const tr_blk *head = tr_blk_at(e->g, e->loop->header);
    tr_counter c;
    for (uint32_t p = 0; p < head->params.n; p++)
        if (tr_even_counter(e, head->params.d[p], &c) && !tr_even_is_used_outside(e, head->params.d[p]))
            return true;
    return false;
}

/* --- tests at the end --- */

/* What leads there from block b; NULL: nothing, or both of its ways. */
static tr_edge *way_to(tr_fn *g, tr_bid b, tr_bid to) {
    tr_ins *t = tr_term(g, b);
    if (t->op != TR_OP_CBR || (t->imm.succ[0].to == to) == (t->imm.succ[1].to == to))
        return NULL;
    return &t->imm.succ[t->imm.succ[0].to == to ? 0 : 1];
}

/* Both tests ask whether a param of the head is below what is the same before and in the loop: which one;
 * UINT32_MAX: they ask something else. */
static uint32_t same_test(const even *e, tr_bid before, tr_bid latch, const tr_edge *in,
                          const tr_edge *back) {
    tr_fn *g = e->g;
    const tr_ins *c = tr_at(g, tr_term(g, before)->args[0]), *d = tr_at(g, tr_term(g, latch)->args[0]);
    if (c->op != TR_OP_CMP || d->op != TR_OP_CMP || c->sub != TR_CMP_LT || d->sub != TR_CMP_LT ||
        tr_at(g, c->args[0])->ty != e->s->i64 || !tr_even_is_outside(e, c->args[1]))
        return UINT32_MAX;
    if (c->args[1] != d->args[1] && !tr_opt_same(g, c->args[1], d->args[1]))
        return UINT32_MAX;
    for (uint32_t p = 0; p < in->n; p++)
        if (in->args[p] == c->args[0] && back->args[p] == d->args[0])
            return p;
    return UINT32_MAX;
}

/* `if c: do ... while c` as a loop with its test at the head. */
static bool test_at_head(even *e) {
    tr_fn *g = e->g;
    tr_bid h = e->loop->header, before = tr_even_comes_from(e, false), latch = tr_even_comes_from(e, true);
    if (before == TR_NOBLK || latch == TR_NOBLK || e->u.split[before])
        return false;
    tr_edge *in = way_to(g, before, h), *back = way_to(g, latch, h);
    if (!in || !back || !e->u.varies[tr_term(g, before)->args[0]])
        return false;
    tr_edge *skip = in == &tr_term(g, before)->imm.succ[0] ? in + 1 : in - 1;
    tr_edge *leave = back == &tr_term(g, latch)->imm.succ[0] ? back + 1 : back - 1;
    bool in_yes = in == &tr_term(g, before)->imm.succ[0], back_yes = back == &tr_term(g, latch)->imm.succ[0];
    if (skip->to != leave->to || tr_even_has(e, skip->to) || !in_yes || !back_yes)
        return false;
    if (!tr_forest_leaves_only_at(&e->loops, e->number, latch))
        return false;
    /* what leaves is what the head would have, or the same on both ways */
    uint32_t n = tr_blk_at(g, h)->params.n;
    uint32_t *which = TR_NEW_N(tr_grid_arena(e->s), uint32_t, skip->n + 1u);
    for (uint32_t k = 0; k < skip->n; k++) {
        which[k] = UINT32_MAX;
        for (uint32_t p = 0; p < n && which[k] == UINT32_MAX; p++)
            if (in->args[p] == skip->args[k] && back->args[p] == leave->args[k])
                which[k] = p;
        if (which[k] == UINT32_MAX &&
            (skip->args[k] != leave->args[k] || !tr_even_is_outside(e, skip->args[k])))
            return false;
    }
    tr_bid head = tr_blk_new(g);
    uint32_t count = same_test(e, before, latch, in, back);
    tr_val bound = count == UINT32_MAX ? TR_NOVAL : tr_at(g, tr_term(g, before)->args[0])->args[1];
    tr_val *args = TR_NEW_N(tr_grid_arena(e->s), tr_val, n + skip->n + 1u);
    tr_val *out = TR_NEW_N(tr_grid_arena(e->s), tr_val, skip->n + 1u),
           *own = TR_NEW_N(tr_grid_arena(e->s), tr_val, n + 1u);
    for (uint32_t p = 0; p < n; p++)
        own[p] = tr_blk_param(g, head, tr_at(g, tr_blk_at(g, h)->params.d[p])->ty, NULL);
    tr_val live = bound == TR_NOVAL ? tr_blk_param(g, head, e->s->i1, NULL) : TR_NOVAL;
    tr_bid leads[2] = {before, latch};
    for (unsigned k = 0; k < 2; k++) {
        tr_ins *t = tr_term(g, leads[k]);
        tr_edge *edge = way_to(g, leads[k], h);
        tr_bld b = {.fn = g, .blk = leads[k], .before = TR_NOVAL, .loc = t->loc};
        memcpy(args, edge->args, n * sizeof *args);
        args[n] = t->args[0];
        if (k == 0)
            for (uint32_t j = 0; j < skip->n; j++)
                out[j] = which[j] == UINT32_MAX ? skip->args[j] : own[which[j]];
        tr_ins_remove(g, tr_blk_at(g, leads[k])->last);
        tr_br(&b, head, n + (bound == TR_NOVAL), args);
    }
    tr_bld b = {.fn = g, .blk = head, .before = TR_NOVAL, .loc = tr_term(g, before)->loc};
    if (bound != TR_NOVAL) {
        live = tr_emit_cmp(&b, TR_CMP_LT, own[count], bound);
    }
    tr_cbr(&b, live, h, n, own, skip->to, skip->n, out);
    return true;
}

/* Blocks that only return are one. */
static void merge_ends(tr_fn *g) {
    tr_bid end = TR_NOBLK;
    for (tr_bid b = 0; b < g->blks.n; b++) {
        const tr_blk *blk = tr_blk_at(g, b);
        if (b == 0 || blk->dead || blk->first != blk->last || tr_term(g, b)->op != TR_OP_RET || blk->params.n)
            continue;
        if (end == TR_NOBLK)
            end = b;
        for (tr_bid x = 0; x < g->blks.n; x++) {
            tr_ins *t = tr_blk_at(g, x)->dead ? NULL : tr_term(g, x);
            for (uint32_t s = 0; t && s < tr_nsucc(t); s++)
                if (t->imm.succ[s].to == b)
                    t->imm.succ[s].to = end;
        }
    }
}

/* Made of sizes alone? Then it is made where the body begins, if `move`. */
static bool lift_made_of_sizes(tr_fn *g, tr_val v, unsigned depth, bool move) {
    const tr_ins *in = tr_at(g, v);
    if (tr_is_const(in) || in->blk == 0)
        return true;
    bool yes = depth && in->op != TR_OP_THREADIDX && tr_opt_is_pure(in) && in->op != TR_OP_PARAM;
    for (uint32_t a = 0; a < in->nargs && yes; a++)
        yes = lift_made_of_sizes(g, tr_at(g, v)->args[a], depth - 1, move);
    if (yes && move)
        tr_ins_move_end(g, v, 0);
    return yes;
}

/* A step that is written in the loop, as in i += gridsize(1), is none of its own. */
static bool lift_steps(const even *e) {
    tr_fn *g = e->g;
    bool lifted = false;
    for (tr_way w = {0}; tr_next_way(g, e->loop->header, &w);)
        for (uint32_t p = 0; p < w.edge->n && tr_even_has(e, w.from); p++) {
            const tr_ins *next = tr_at(g, w.edge->args[p]);
            tr_val v = tr_blk_at(g, e->loop->header)->params.d[p];
            if (next->op != TR_OP_ADD || (next->args[0] != v && next->args[1] != v))
                continue;
            tr_val by = next->args[next->args[0] == v];
            if (!tr_is_const(tr_at(g, by)) && tr_at(g, by)->blk != 0 && lift_made_of_sizes(g, by, 4, false))
                lifted = lift_made_of_sizes(g, by, 4, true);
        }
    return lifted;
}

static void find_loops(even *e) {
    tr_fn *g = e->g;
    tr_cfg_compute(g);
    tr_dom_compute(g);
    e->loops = tr_forest_find(g);
    uint8_t *stop = TR_NEW_N(tr_grid_arena(e->s), uint8_t, g->blks.n + 1u);
    for (uint32_t k = 0; k < e->loops.all.n; k++)
        stop[e->loops.all.d[k].header] = 1;
    tr_uniform_find(&e->u, g, stop);
}

static void take_loop(even *e, uint32_t loop) {
    e->number = loop;
    e->loop = tr_forest_at(&e->loops, loop);
}

bool tr_grid_even_loops(tr_grid *s) {
    enum { MOST = 8 };
    even e = {.s = s, .g = s->g};
    bool changed = false;
    merge_ends(s->g);
    for (uint32_t done = 0, more = 1; more && done < 2 * MOST; done++) {
        more = 0;
        find_loops(&e);
        for (uint32_t k = 0; k < e.loops.all.n && !more; k++) {
            take_loop(&e, k);
            if (lift_steps(&e)) { /* and is the same for all now */
                more = 1;
                break;
            }
            if (!loop_has_counter(&e) || !tr_grid_is_worth(s, &e.u, e.loop))
                continue;
            if (test_at_head(&e)) {
                tr_simplify_cfg(s->g);
                more = 1;
            } else if (loop_can_be_even(&e) && tr_grid_stride(&e)) {
                more = changed = true;
            } else if (loop_can_be_even(&e) && thread_stays_out(&e)) {
                tr_even_count_rounds(&e, tr_even_add_counter(&e));
                make_even(&e);
                more = changed = true;
            }
        }
    }
    if (changed) {
        tr_simplify_cfg(s->g);
        tr_cfg_compute(s->g);
        tr_opt_dce(s->p, s->g); /* how many items a thread's range has is asked no more */
    }
    return changed;
}
