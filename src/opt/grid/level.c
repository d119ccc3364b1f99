/* A kernel's body on the host where all threads of a block go one way (uniform control flow): the block
 * itself goes that way, and loops over the threads stand only around what lies between (parallel regions of a
 * work-group function, as OpenCL's compilers for CPUs call them).
 *
 * The body falls into pieces, each entered at its head. A piece ends at a barrier, at a branch that the
 * block takes (`kept`), and where ways meet again. Branches that decide about no barrier stay inside a
 * piece, as do all that vary. Counters and conditions of kept branches are values that the block has once
 * (`once`); where one is read from memory, the piece ends before, so that all threads have written what
 * they write. Loops that all threads run for equally many rounds are kept, too, where what they read lies
 * side by side for neighbouring threads (loop interchange): threads are the innermost loop then, whose
 * rounds are independent, as vectors want it.
 * A thread that ends while others go on is marked, and the block asks before each thread's turn from then on.
 * What does not fit, a barrier in a branch that varies above all, is run in rounds (rounds.c). */
#include <assert.h>
#include <string.h>

#include "base/bitset.h"
#include "ir/loops.h"
#include "opt/emit.h"
#include "opt/grid/grid.h"
#include "opt/priv.h"
#include "opt/grid/uniform.h"

enum {
    HEAD = 1,
    READ = 2,
    ASTRAY = 4
}; /* why a piece begins at a block; READ: with a value for the block; ASTRAY: for crossing values alone */
enum {
    MOST_HOMES = 6,
    MOST_CUTS = 16
}; /* arrays that a loop may need to be interchanged; values read for branches */

typedef struct plan {
    tr_grid *s;
    tr_fn *g;
    tr_level *l;
    TR_VEC(tr_bid) cuts; /* blocks at whose end a value is read for the block */
    tr_val wanted;       /* a read that needs a cut before it, or NOVAL */
} plan;

struct tr_level {
    tr_uniform u;
    uint8_t *stop, *head, *kept; /* per block */
    uint8_t *once;               /* per value */
    uint32_t *piece;             /* per block: the head of its piece */
    tr_bid *to;                  /* per head: its block in the lambda */
    plan plan;
    bool early; /* threads may end while others go on */
    /* they end in the first piece alone, by what every piece can ask again; nobody is marked */
    bool asks_again;
    tr_val alive, everybody; /* then: per thread, and in one cell, whether nobody has ended */
};

static bool branch_spans_stop(const plan *p, tr_bid b) {
    const tr_bits *between = &p->l->u.between[b];
    for (tr_bid x = 0; x < p->g->blks.n; x++)
        if (tr_bits_get(between, x) && p->l->stop[x])
            return true;
    return false;
}

static bool may_keep_branch(const plan *p, tr_bid b) {
    const tr_ins *t = tr_term(p->g, b);
    return t->op == TR_OP_CBR && !p->l->u.split[b] &&
           (tr_is_const(tr_at(p->g, t->args[0])) || !p->l->u.varies[t->args[0]]);
}

/* --- loops to interchange --- */

/* Does v, an index, count along x, one by one? Looked at through sums and what checks and wraps. */
static bool index_counts_along_x(const tr_fn *g, tr_val v, unsigned depth) {
    const tr_ins *in = tr_at(g, v);
    if (in->op == TR_OP_THREADIDX)
        return in->imm.i == TR_AXIS_X;
    tr_way first = {0};
    if (depth && in->op == TR_OP_PARAM && in->blk &&
        tr_next_way(g, in->blk, &first)) /* what a counter begins with */
        return index_counts_along_x(g, first.edge->args[tr_param_index(g, v)], depth - 1);
    if (depth == 0 || tr_is_const(in) || in->op == TR_OP_PARAM || in->op == TR_OP_MUL || !tr_opt_is_pure(in))
        return false;
    for (uint32_t k = 0; k < in->nargs; k++)
        if (index_counts_along_x(g, in->args[k], depth - 1))
            return true;
    return false;
}

/* A float that is collected from round to round, and may not be regrouped: no vector along the rounds. */
static bool is_strict_sum(const tr_fn *g, tr_val param) {
    if (!tr_ty_is_float(tr_at(g, param)->ty))
        return false;
    for (tr_way w = {0}; tr_next_way(g, tr_at(g, param)->blk, &w);) {
        const tr_ins *in = tr_at(g, w.edge->args[tr_param_index(g, param)]);
        bool sum = in->op == TR_OP_ADD || in->op == TR_OP_SUB;
        if (sum && (in->args[0] == param || in->args[1] == param) && !(in->flags & F_FAST))
            return true;
    }
    return false;
}

/* More of the loop's reads and writes lie side by side for neighbours than do not, or all are of
 * the same for all and threads collect strict sums, as a tile of bodies is gone through; nothing
 * in it takes much longer than a turn. */
bool tr_grid_is_worth(const tr_grid *s, const tr_uniform *u, const tr_loop *loop) {
    const tr_fn *g = s->g;
    int score = 0;
    uint32_t homes = 0, apart = 0, sums = 0;
    for (uint32_t k = 0; k < tr_blk_at(g, loop->header)->params.n; k++) {
        tr_val v = tr_blk_at(g, loop->header)->params.d[k];
        homes += u->varies[v];
        sums += u->varies[v] && is_strict_sum(g, v);
    }
    if (homes > MOST_HOMES)
        return false;
    for (uint32_t k = 0; k < loop->blks.n; k++)
        for (tr_val v = tr_blk_at(g, loop->blks.d[k])->first; v != TR_NOVAL; v = tr_at(g, v)->next) {
            const tr_ins *in = tr_at(g, v);
            if (in->op == TR_OP_CALL || in->op == TR_OP_CALLRT || in->op == TR_OP_CALLX ||
                in->op == TR_OP_PATTERN || in->op == TR_OP_ATOMIC || in->op == TR_OP_CAS ||
                in->op == TR_OP_RAISE)
                return false;
            if (in->op != TR_OP_LOAD && in->op != TR_OP_STORE)
                continue;
            unsigned n = tr_at(g, in->args[0])->ty->ndim;
            bool last = n && index_counts_along_x(g, in->args[n], 12), other = false;
            for (unsigned a = 1; a < n; a++)
                other = other || index_counts_along_x(g, in->args[a], 12);
            score += other ? -1 : last ? 1 : 0;
            apart += u->varies[v] && !last;
        }
    return score > 0 || (score == 0 && sums && sums == homes && !apart);
}

/* One way out, at its head, that all take. */
static bool loop_is_even(const plan *p, const tr_forest *loops, uint32_t number) {
    const tr_loop *loop = tr_forest_at(loops, number);
    for (uint32_t k = 0; k < loop->blks.n; k++) {
        tr_bid b = loop->blks.d[k];
        if (!tr_nsucc(tr_term(p->g, b)) || (p->l->stop[b] && b != loop->header))
            return false;
    }
    return tr_forest_leaves_only_at(loops, number, loop->header) &&
           tr_nsucc(tr_term(p->g, loop->header)) == 2 && may_keep_branch(p, loop->header);
}

/* Local memory that one thread after the other has: then a thread runs to its end. */
static bool has_locals(const tr_fn *g) {
    for (tr_bid b = 0; b < g->blks.n; b++)
        for (tr_val v = tr_blk_at(g, b)->dead ? TR_NOVAL : tr_blk_at(g, b)->first; v != TR_NOVAL;
             v = tr_at(g, v)->next)
            if (tr_at(g, v)->op == TR_OP_LOCAL)
                return true;
    return false;
}

/* Marks the heads of such loops as stops. */
static void choose_loops(plan *p) {
    tr_fn *g = p->g;
    tr_level *l = p->l;
    tr_dom_compute(g);
    const tr_forest loops = tr_forest_find(g);
    uint8_t *barriers = l->stop, *all = tr_arena_copy(tr_grid_arena(p->s), l->stop, g->blks.n);
    for (uint32_t k = 0; k < loops.all.n; k++)
        all[loops.all.d[k].header] = 1;
    l->stop = all;
    tr_uniform_find(&l->u, g, l->stop);
    for (uint32_t k = 0; k < loops.all.n; k++) {
        const tr_loop *loop = tr_forest_at(&loops, k);
        bool fits =
            tr_forest_is_innermost(&loops, k) || tr_opt_among(loop->header, p->s->strides.d, p->s->strides.n);
        if (fits && loop_is_even(p, &loops, k) && tr_grid_is_worth(p->s, &p->l->u, loop))
            barriers[loop->header] |= 2;
    }
    l->stop = barriers;
}

/* What varies must decide about no barrier; about a loop it may, which then stays as it is. */
static bool settle_loops(plan *p) {
    tr_level *l = p->l;
    for (bool again = true; again;) {
        again = false;
        tr_uniform_find(&l->u, p->g, l->stop);
        for (uint32_t k = 0; k < p->g->rpo.n; k++) {
            tr_bid b = p->g->rpo.d[k];
            if (tr_nsucc(tr_term(p->g, b)) < 2 || may_keep_branch(p, b))
                continue;
            for (tr_bid x = 0; x < p->g->blks.n; x++) {
                if (!tr_bits_get(&l->u.between[b], x) || !l->stop[x])
                    continue;
                if (l->stop[x] & 1) {
                    p->s->why[0] = tr_grid_line(p->s, x);
                    p->s->why[1] = tr_grid_line(p->s, b);
                    return false;
                }
                l->stop[x] = 0;
                again = true;
            }
        }
    }
    return true;
}

/* --- what the block decides, and what it has once --- */

static void want(plan *p, tr_val v) {
    const tr_ins *in = tr_at(p->g, v);
    tr_level *l = p->l;
    if (tr_is_const(in) || l->once[v] || (in->op == TR_OP_PARAM && in->blk == 0) || tr_grid_is_storage(in))
        return;
    assert(!l->u.varies[v]);
    l->once[v] = 1;
    if (in->op == TR_OP_PARAM) {
        uint32_t at = tr_param_index(p->g, v);
        for (tr_way w = {0}; tr_next_way(p->g, in->blk, &w);)
            want(p, w.edge->args[at]);
        return;
    }
    if (in->op == TR_OP_LOAD && !(tr_blk_at(p->g, in->blk)->first == v && l->head[in->blk] & READ))
        p->wanted = v;
    for (uint32_t k = 0; k < tr_at(p->g, v)->nargs; k++)
        want(p, tr_at(p->g, v)->args[k]);
}

/* Branches that decide about a stop, or which threads leave by; what they ask; and what
 * decides about that. */
static void find_kept(plan *p) {
    tr_fn *g = p->g;
    tr_level *l = p->l;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < g->rpo.n; k++) {
            tr_bid b = g->rpo.d[k];
            const tr_ins *t = tr_term(g, b);
            if (l->kept[b] || !may_keep_branch(p, b))
                continue;
            bool keep = branch_spans_stop(p, b) || tr_uniform_threads_leave(&l->u, b, &t->imm.succ[0]) ||
                        tr_uniform_threads_leave(&l->u, b, &t->imm.succ[1]);
            for (tr_bid x = 0; x < g->blks.n && !keep; x++)
                for (uint32_t q = 0; q < tr_blk_at(g, x)->params.n && !tr_blk_at(g, x)->dead; q++)
                    keep = keep || (l->once[tr_blk_at(g, x)->params.d[q]] &&
                                    (x == l->u.meet[b] || tr_bits_get(&l->u.between[b], x)));
            if (!keep)
                continue;
            l->kept[b] = 1;
            want(p, t->args[0]);
            changed = true;
        }
    }
}

/* --- pieces --- */

/* By this way some threads leave for good. Where they go is part of the piece that they
 * leave from, in each such piece anew. */
static bool some_threads_leave(const plan *p, tr_bid b, const tr_edge *e) {
    return !may_keep_branch(p, b) && tr_uniform_threads_leave(&p->l->u, b, e);
}

/* A piece is what is reached from its head without passing another head. */
static bool spread_piece(plan *p, tr_bid head) {
    tr_level *l = p->l;
    tr_u32s todo = {0};
    bool clean = true;
    l->piece[head] = head;
    tr_vec_push(tr_grid_arena(p->s), &todo, head);
    while (todo.n) {
        tr_bid b = todo.d[--todo.n];
        const tr_ins *t = tr_term(p->g, b);
        for (uint32_t e = 0; e < tr_nsucc(t); e++) {
            tr_bid to = t->imm.succ[e].to;
            if (l->head[to] || l->piece[to] == head || some_threads_leave(p, b, &t->imm.succ[e]))
                continue;
            if (l->piece[to] != TR_NOBLK) { /* of two pieces: where they meet another begins */
                l->head[to] |= HEAD;
                clean = false;
                continue;
            }
            l->piece[to] = head;
            tr_vec_push(tr_grid_arena(p->s), &todo, to);
        }
    }
    return clean;
}

static void find_pieces(plan *p) {
    tr_fn *g = p->g;
    tr_level *l = p->l;
    l->head[0] |= HEAD;
    for (uint32_t k = 0; k < g->rpo.n; k++) {
        tr_bid b = g->rpo.d[k];
        const tr_ins *t = tr_term(g, b);
        if (l->stop[b] & 1)
            l->head[t->imm.succ[0].to] |= HEAD;
        if (l->stop[b] & 2)
            l->head[b] |= HEAD;
        for (uint32_t e = 0; l->kept[b] && e < 2; e++)
            l->head[t->imm.succ[e].to] |= HEAD;
        if (l->kept[b] && l->u.meet[b] != TR_NOBLK)
            l->head[l->u.meet[b]] |= HEAD;
    }
    /* from the beginning after each new head: blocks behind it count as another's */
    for (bool clean = false; !clean;) {
        clean = true;
        for (tr_bid b = 0; b < g->blks.n; b++)
            l->piece[b] = TR_NOBLK;
        for (uint32_t k = 0; k < g->rpo.n && clean; k++)
            clean = !l->head[g->rpo.d[k]] || spread_piece(p, g->rpo.d[k]);
    }
    for (uint32_t k = 0; k < g->rpo.n; k++)
        if (l->piece[g->rpo.d[k]] == TR_NOBLK) {
            l->piece[g->rpo.d[k]] = g->rpo.d[k];
            l->head[g->rpo.d[k]] = ASTRAY;
        }
}

/* All blocks that the piece's threads run, head first: its own, and those to which some go astray. */
static tr_u32s blocks_of(const plan *p, tr_bid head) {
    const tr_level *l = p->l;
    tr_u32s out = {0};
    uint8_t *seen = TR_NEW_N(tr_grid_arena(p->s), uint8_t, p->g->blks.n + 1u);
    seen[head] = 1;
    tr_vec_push(tr_grid_arena(p->s), &out, head);
    for (uint32_t k = 0; k < out.n; k++) {
        tr_bid b = out.d[k];
        bool astray = l->piece[b] != head;
        const tr_ins *t = tr_term(p->g, b);
        for (uint32_t e = 0; e < tr_nsucc(t); e++) {
            tr_bid to = t->imm.succ[e].to;
            bool in =
                astray || some_threads_leave(p, b, &t->imm.succ[e]) || (l->piece[to] == head && to != head);
            if (!in || seen[to] || l->kept[b])
                continue;
            seen[to] = 1;
            tr_vec_push(tr_grid_arena(p->s), &out, to);
        }
    }
    return out;
}

/* Where a piece's threads go: one place, or a branch that the block takes. False: to more than one. */
static bool one_way_on(const plan *p, tr_bid head, tr_bid *by) {
    const tr_level *l = p->l;
    tr_bid to = TR_NOBLK, kept = TR_NOBLK;
    for (uint32_t k = 0; k < p->g->rpo.n; k++) {
        tr_bid b = p->g->rpo.d[k];
        if (l->piece[b] != head)
            continue;
        const tr_ins *t = tr_term(p->g, b);
        if (l->kept[b]) {
            if (kept != TR_NOBLK || to != TR_NOBLK)
                return false;
            kept = b;
            continue;
        }
        for (uint32_t e = 0; e < tr_nsucc(t); e++) {
            if (!(l->head[t->imm.succ[e].to] & HEAD) || some_threads_leave(p, b, &t->imm.succ[e]))
                continue;
            if (kept != TR_NOBLK || (to != TR_NOBLK && to != t->imm.succ[e].to))
                return false;
            to = t->imm.succ[e].to;
            *by = b;
        }
    }
    if (kept != TR_NOBLK)
        *by = kept;
    else if (to == TR_NOBLK)
        *by = TR_NOBLK;
    return true;
}

/* From each piece there is one way to here at most, so the block knows what params are. */
static bool ways_are_known(const plan *p, tr_bid head) {
    for (tr_way w = {0}; tr_next_way(p->g, head, &w);)
        for (tr_way x = {0}; tr_next_way(p->g, head, &x);)
            if (x.from != w.from && p->l->piece[x.from] == p->l->piece[w.from])
                return false;
    return true;
}

static bool plan_is_sound(const plan *p) {
    const tr_level *l = p->l;
    tr_bid by;
    for (uint32_t k = 0; k < p->g->rpo.n; k++) {
        tr_bid b = p->g->rpo.d[k];
        if (l->head[b] & HEAD && (!one_way_on(p, b, &by) || (b && l->u.split[b])))
            return false;
        for (uint32_t q = 0; q < tr_blk_at(p->g, b)->params.n; q++)
            if (b && l->once[tr_blk_at(p->g, b)->params.d[q]] &&
                (!(l->head[b] & HEAD) || !ways_are_known(p, b)))
                return false;
    }
    return true;
}

/* Values that cross and are the same for all need no array where the block can have them. */
static bool block_can_have_value(const plan *p, tr_val v, uint8_t *seen) {
    const tr_ins *in = tr_at(p->g, v);
    if (tr_is_const(in) || seen[v] || p->l->once[v] || tr_grid_is_storage(in) ||
        (in->op == TR_OP_PARAM && in->blk == 0))
        return true;
    if (p->l->u.varies[v] || in->op == TR_OP_LOAD ||
        (in->op == TR_OP_PARAM && !(p->l->head[in->blk] & HEAD && ways_are_known(p, in->blk))))
        return false;
    seen[v] = 1;
    if (in->op == TR_OP_PARAM) {
        uint32_t at = tr_param_index(p->g, v);
        for (tr_way w = {0}; tr_next_way(p->g, in->blk, &w);)
            if (!block_can_have_value(p, w.edge->args[at], seen))
                return false;
        return true;
    }
    for (uint32_t k = 0; k < in->nargs; k++)
        if (!block_can_have_value(p, in->args[k], seen))
            return false;
    return true;
}

static void want_crossing(plan *p) {
    const tr_bits *live = tr_grid_live(p->s);
    const tr_fn *g = p->g;
    for (tr_bid h = 0; h < g->blks.n; h++)
        for (tr_val v = 0; p->l->head[h] && v < g->ins.n; v++) {
            const tr_ins *in = tr_at(g, v);
            if (!tr_bits_get(&live[h], v) && !(in->op == TR_OP_PARAM && in->blk == h && h))
                continue;
            if (!p->l->u.varies[v] &&
                block_can_have_value(p, v, TR_NEW_N(tr_grid_arena(p->s), uint8_t, g->ins.n + 1u)))
                want(p, v);
        }
}

/* --- the plan --- */

/* Edges of branches that carry values get a block of their own: what they carry is stored there. */
static void split_edges(plan *p) {
    tr_fn *g = p->g;
    for (tr_bid b = 0; b < g->blks.n; b++) {
        if (tr_blk_at(g, b)->dead || tr_term(g, b)->op != TR_OP_CBR)
            continue;
        for (uint32_t e = 0; e < 2; e++) {
            tr_edge old = tr_term(g, b)->imm.succ[e];
            tr_bld in = {.fn = g, .blk = tr_blk_new(g), .before = TR_NOVAL, .loc = tr_term(g, b)->loc};
            tr_br(&in, old.to, old.n, old.args);
            tr_term(g, b)->imm.succ[e] = (tr_edge){.to = in.blk};
        }
    }
}

static void begin(plan *p) {
    tr_arena *a = tr_grid_arena(p->s);
    tr_level *l = p->l = TR_NEW(a, tr_level);
    uint32_t n = p->g->blks.n;
    l->stop = TR_NEW_N(a, uint8_t, n + 1u);
    l->head = TR_NEW_N(a, uint8_t, n + 1u);
    l->kept = TR_NEW_N(a, uint8_t, n + 1u);
    l->piece = TR_NEW_N(a, uint32_t, n + 1u);
    l->once = TR_NEW_N(a, uint8_t, p->g->ins.n + 1u);
    p->wanted = TR_NOVAL;
    for (uint32_t k = 0; k < p->s->stops.n; k++)
        l->stop[p->s->stops.d[k].at] = 1;
    for (uint32_t k = 0; k < p->cuts.n; k++) {
        l->stop[p->cuts.d[k]] = 1;
        l->head[tr_term(p->g, p->cuts.d[k])->imm.succ[0].to] = HEAD | READ;
    }
    tr_cfg_compute(p->g);
}

/* Without a stop the body is one piece. */
static bool try_plan(plan *p, bool loops) {
    begin(p);
    if (loops)
        choose_loops(p);
    if (!settle_loops(p))
        return false;
    find_kept(p);
    if (p->wanted != TR_NOVAL)
        return true;
    find_pieces(p);
    if (!plan_is_sound(p))
        return false;
    want_crossing(p);
    return plan_is_sound(p);
}

static bool find_plan(plan *p, bool loops) {
    while (p->cuts.n < MOST_CUTS) {
        if (!try_plan(p, loops))
            return false;
        if (p->wanted == TR_NOVAL)
            return true;
        tr_bid at = tr_at(p->g, p->wanted)->blk;
        tr_bid on = tr_blk_cut(p->s->g, p->wanted, tr_at(p->s->g, p->wanted)->loc);
        for (uint32_t k = 0; k < p->s->stops.n; k++) /* the block's end has moved */
            if (p->s->stops.d[k].at == at)
                p->s->stops.d[k].at = on;
        for (uint32_t k = 0; k < p->cuts.n; k++)
            if (p->cuts.d[k] == at)
                p->cuts.d[k] = on;
        tr_vec_push(tr_grid_arena(p->s), &p->cuts, at);
    }
    return false;
}

/* Do these blocks, first one first, lead back to one that comes before? */
static bool blocks_form_loop(const plan *p, const tr_u32s *blks) {
    for (uint32_t k = 0; k < blks->n; k++) {
        const tr_ins *t = tr_term(p->g, blks->d[k]);
        for (uint32_t e = 0; e < tr_nsucc(t); e++)
            for (uint32_t j = 0; j < blks->n; j++)
                if (blks->d[j] == t->imm.succ[e].to &&
                    tr_blk_at(p->g, blks->d[j])->rpo <= tr_blk_at(p->g, blks->d[k])->rpo)
                    return true;
    }
    return false;
}

static void find_early(plan *p) {
    tr_level *l = p->l;
    for (uint32_t k = 0; k < p->g->rpo.n; k++) {
        tr_bid b = p->g->rpo.d[k], by = TR_NOBLK;
        if (!(l->head[b] & HEAD) || !one_way_on(p, b, &by) || by == TR_NOBLK)
            continue;
        tr_u32s blks = blocks_of(p, b);
        for (uint32_t j = 0; j < blks.n; j++)
            l->early = l->early || tr_term(p->g, blks.d[j])->op == TR_OP_RET;
    }
}

/* Who ends does so in the first piece, by branches on what can be computed again; and nobody but the
 * threads asks who is left: no vote, no lane, no value that the block reads from memory though all
 * have ended. So each piece asks again, which costs no memory, and a test of a thread's place is
 * then one of a loop's bounds (trim.c). */
static bool may_ask_again(const plan *p) {
    const tr_level *l = p->l;
    const uint8_t *is_free = tr_grid_free(p->s, l->once);
    for (uint32_t k = 0; k < p->s->stops.n; k++)
        if (p->s->stops.d[k].op != TR_OP_BARRIER)
            return false;
    for (uint32_t k = 0; k < p->g->rpo.n; k++) {
        tr_bid b = p->g->rpo.d[k], by = TR_NOBLK;
        for (tr_val v = tr_blk_at(p->g, b)->first; v != TR_NOVAL; v = tr_at(p->g, v)->next)
            if (l->once[v] && tr_at(p->g, v)->op == TR_OP_LOAD)
                return false;
        if (!(l->head[b] & HEAD) || !one_way_on(p, b, &by) || by == TR_NOBLK)
            continue;
        tr_u32s blks = blocks_of(p, b);
        for (uint32_t j = 0; j < blks.n; j++) {
            const tr_ins *t = tr_term(p->g, blks.d[j]);
            bool asks = t->op == TR_OP_CBR && !l->kept[blks.d[j]];
            if ((b && t->op == TR_OP_RET) || t->op == TR_OP_TRY ||
                (!b && asks && !tr_is_const(tr_at(p->g, t->args[0])) && !is_free[t->args[0]]))
                return false;
        }
        if (!b && blocks_form_loop(p, &blks))
            return false;
    }
    return true;
}

/* An array that threads choose differently cannot lie in an array over them. */
static void number_what_varies(plan *p) {
    begin(p);
    tr_uniform_find(&p->l->u, p->g, p->l->stop);
    tr_grid_number_arrays(p->s, p->l->u.varies);
}

/* The body had n values when it was looked at; what came since is each thread's: loads from arrays over the
 * threads, on which branches may depend. */
static void grow(plan *p, uint32_t n) {
    tr_arena *a = tr_grid_arena(p->s);
    uint32_t now = p->g->ins.n;
    uint8_t *once = TR_NEW_N(a, uint8_t, now + 1u), *varies = TR_NEW_N(a, uint8_t, now + 1u);
    memcpy(once, p->l->once, n);
    memcpy(varies, p->l->u.varies, n);
    memset(varies + n, 1, now - n);
    p->l->once = once;
    p->l->u.varies = varies;
}

tr_level *tr_grid_level(tr_grid *s, bool *failed) {
    plan p = {.s = s, .g = s->g};
    bool plain = !s->stops.n && tr_fn_handles(s->g);
    *failed = false;
    if (plain) {
        begin(&p);
        tr_uniform_find(&p.l->u, s->g, p.l->stop);
        p.l->head[0] = HEAD;
    } else {
        split_edges(&p);
        number_what_varies(&p);
        if (has_locals(s->g) || !find_plan(&p, true)) {
            p.cuts.n = 0;
            if (!find_plan(&p, false))
                return NULL;
        }
        find_early(&p);
        p.l->asks_again = p.l->early && may_ask_again(&p);
        p.l->early = p.l->early && !p.l->asks_again;
        uint32_t n = s->g->ins.n;
        *failed = !tr_grid_cross(s, &(tr_pieces){p.l->head, p.l->piece, p.l->once});
        grow(&p, n);
    }
    p.l->plan = p;
    return p.l;
}

/* --- writing it --- */

static tr_val of_block(const plan *p, const tr_val *known, tr_val v) {
    const tr_ins *in = tr_at(p->g, v);
    assert(tr_is_const(in) || known[v] != TR_NOVAL);
    return tr_is_const(in) ? tr_const_import(p->s->lam, in) : known[v];
}

/* What the block has once of this piece. */
static void put_once(const plan *p, tr_bid head, tr_val *known) {
    tr_grid *s = p->s;
    for (uint32_t k = 0; k < p->g->rpo.n; k++) {
        tr_bid b = p->g->rpo.d[k];
        if (p->l->piece[b] != head)
            continue;
        for (tr_val v = tr_blk_at(p->g, b)->first; v != TR_NOVAL; v = tr_at(p->g, v)->next) {
            const tr_ins *in = tr_at(p->g, v);
            if (!p->l->once[v] || known[v] != TR_NOVAL)
                continue;
            if ((known[v] = tr_grid_meaning(s, in)) != TR_NOVAL)
                continue;
            tr_val *args = TR_NEW_N(tr_grid_arena(s), tr_val, in->nargs + 1u);
            for (uint32_t a = 0; a < in->nargs; a++)
                args[a] = of_block(p, known, in->args[a]);
            known[v] = tr_emit_v(&s->b, (tr_op)in->op, in->ty, in->nargs, args);
            tr_ins *out = tr_at(s->lam, known[v]);
            out->imm = in->imm;
            out->sub = in->sub;
            out->flags = in->flags;
        }
    }
}

/* Something in these blocks that each thread has to do. */
static bool blocks_have_work(const plan *p, const tr_u32s *blks, bool marks) {
    for (uint32_t k = 0; k < blks->n; k++)
        for (tr_val v = tr_blk_at(p->g, blks->d[k])->first; v != TR_NOVAL; v = tr_at(p->g, v)->next) {
            const tr_ins *in = tr_at(p->g, v);
            if (p->l->once[v] || tr_opt_is_pure(in) || in->op == TR_OP_BR || in->op == TR_OP_CBR ||
                in->op == TR_OP_THREADIDX)
                continue;
            if (in->op != TR_OP_RET || marks)
                return true;
        }
    return false;
}

/* The piece's blocks as a thread runs them. Who goes on comes to `done`, with 1 where it is asked
 * who has ended; who ends, too, with 0. */
static void put_thread(const plan *p, tr_bid head, const tr_u32s *blks, const tr_val *known, tr_bid done,
                       bool marks) {
    tr_grid *s = p->s;
    tr_fn *lam = s->lam;
    tr_bid *bmap = tr_grid_copy(s, blks, known, done);
    for (uint32_t k = 0; k < blks->n; k++) {
        const tr_ins *t = tr_term(p->g, blks->d[k]);
        bool own = p->l->piece[blks->d[k]] == head;
        bool out =
            own && (p->l->kept[blks->d[k]] || (t->op == TR_OP_BR && p->l->head[t->imm.succ[0].to] & HEAD));
        if (!out && t->op != TR_OP_RET)
            continue;
        tr_val last = tr_blk_at(lam, bmap[blks->d[k]])->last, on = tr_emit_int(&s->b, out);
        tr_bld e = {.fn = lam, .blk = bmap[blks->d[k]], .before = TR_NOVAL, .loc = tr_at(lam, last)->loc};
        tr_ins_remove(lam, last);
        tr_br(&e, done, marks, &on);
    }
}

/* What can be computed in any piece, where the builder is. */
static tr_val compute(const plan *p, const tr_val *known, tr_val v) {
    tr_grid *s = p->s;
    const tr_ins *in = tr_at(p->g, v);
    if (tr_is_const(in))
        return tr_const_import(s->lam, in);
    tr_val to = known[v] != TR_NOVAL ? known[v] : tr_grid_meaning(s, in);
    if (to != TR_NOVAL)
        return to;
    tr_val *args = TR_NEW_N(tr_grid_arena(s), tr_val, in->nargs + 1u);
    for (uint32_t a = 0; a < in->nargs; a++)
        args[a] = compute(p, known, in->args[a]);
    tr_val out = tr_emit_v(&s->b, (tr_op)in->op, in->ty, in->nargs, args);
    tr_at(s->lam, out)->imm = in->imm;
    tr_at(s->lam, out)->sub = in->sub;
    tr_at(s->lam, out)->flags = in->flags & (uint8_t)~F_NSW; /* promised where it stood */
    return out;
}

/* The branches of the first piece once more: who went on there does so here, others to `next`. */
static void ask_again(const plan *p, const tr_val *known, tr_bid next) {
    tr_grid *s = p->s;
    tr_u32s blks = blocks_of(p, 0);
    tr_bid mine = tr_blk_new(s->lam), *to = TR_NEW_N(tr_grid_arena(s), tr_bid, p->g->blks.n + 1u);
    memset(to, 0xff, p->g->blks.n * sizeof *to);
    for (uint32_t k = 0; k < blks.n; k++)
        to[blks.d[k]] = k ? tr_blk_new(s->lam) : s->b.blk;
    for (uint32_t k = 0; k < blks.n; k++) {
        tr_bid b = blks.d[k];
        const tr_ins *t = tr_term(p->g, b);
        s->b.blk = to[b];
        bool out = p->l->piece[b] == 0 &&
                   (p->l->kept[b] || (t->op == TR_OP_BR && p->l->head[t->imm.succ[0].to] & HEAD));
        if (out)
            tr_br(&s->b, mine, 0, NULL);
        else if (t->op == TR_OP_BR)
            tr_br(&s->b, to[t->imm.succ[0].to], 0, NULL);
        else if (t->op == TR_OP_CBR)
            tr_cbr(&s->b, compute(p, known, t->args[0]), to[t->imm.succ[0].to], 0, NULL,
                   to[t->imm.succ[1].to], 0, NULL);
        else
            tr_br(&s->b, next, 0, NULL);
    }
    s->b.blk = mine;
}

/* The loops over the threads around a piece. `marks`: some may end in it, while others go on. */
static void put_threads(const plan *p, tr_bid head, const tr_u32s *blks, const tr_val *known, bool marks,
                        tr_bid end) {
    tr_grid *s = p->s;
    const tr_level *l = p->l;
    tr_fn *lam = s->lam;
    tr_val carry[2] = {tr_emit_int(&s->b, 0), tr_emit_int(&s->b, 0)}, cell = tr_emit_int(&s->b, 0),
           everybody = TR_NOVAL;
    if (l->early)
        everybody = tr_emit2(&s->b, TR_OP_LOAD, s->i1, l->everybody, cell);
    tr_threads t;
    tr_grid_begin_threads(s, &t, marks ? 2 : 0, carry);
    tr_bid done = tr_blk_new(lam), next = marks ? tr_blk_new(lam) : done;
    tr_val on = marks ? tr_blk_param(lam, done, s->i64, NULL) : TR_NOVAL,
           me = l->early ? tr_grid_me(s) : TR_NOVAL;
    for (unsigned k = 0; k < 2 && marks; k++)
        tr_blk_param(lam, next, s->i64, NULL);
    if (l->early && head != 0) {
        tr_bid mine = tr_blk_new(lam);
        tr_val goes = tr_emit2(&s->b, TR_OP_LOAD, s->i1, l->alive, me);
        goes = tr_emit2(&s->b, TR_OP_OR, s->i1, everybody, goes);
        tr_cbr(&s->b, goes, mine, 0, NULL, next, marks ? 2 : 0, carry);
        s->b.blk = mine;
    }
    if (l->asks_again && head != 0)
        ask_again(p, known, done);
    put_thread(p, head, blks, known, done, marks);
    s->b.blk = done;
    if (marks) {
        tr_val lives = tr_emit_cmp(&s->b, TR_CMP_NE, on, tr_emit_int(&s->b, 0));
        tr_emit3(&s->b, TR_OP_STORE, NULL, l->alive, me, lives);
        tr_val out[2] = {tr_emit_select(&s->b, lives, tr_emit_int(&s->b, 1), carry[0]),
                         tr_emit_select(&s->b, lives, carry[1], tr_emit_int(&s->b, 1))};
        tr_br(&s->b, next, 2, out);
        s->b.blk = next;
        memcpy(carry, tr_blk_at(lam, next)->params.d, sizeof carry);
    }
    tr_grid_end_threads(s, &t, carry);
    if (!marks)
        return;
    tr_bid some = tr_blk_new(lam);
    tr_val all = tr_emit_cmp(&s->b, TR_CMP_EQ, carry[1], tr_emit_int(&s->b, 0));
    tr_emit3(&s->b, TR_OP_STORE, NULL, l->everybody, cell, tr_emit2(&s->b, TR_OP_AND, s->i1, everybody, all));
    tr_val goes = tr_emit_cmp(&s->b, TR_CMP_NE, carry[0], tr_emit_int(&s->b, 0));
    tr_cbr(&s->b, goes, some, 0, NULL, end, 0, NULL);
    s->b.blk = some;
}

/* The block goes to the head of another piece, with what it has once. */
static void put_way(const plan *p, const tr_edge *e, const tr_val *known) {
    tr_val *args = TR_NEW_N(tr_grid_arena(p->s), tr_val, e->n + 1u);
    uint32_t n = 0;
    for (uint32_t k = 0; k < e->n; k++)
        if (p->l->once[tr_blk_at(p->g, e->to)->params.d[k]])
            args[n++] = of_block(p, known, e->args[k]);
    tr_br(&p->s->b, p->l->to[e->to], n, args);
}

/* What threads get that have met at the end of a piece. */
static void put_meeting(const plan *p, const tr_stop *stop, const tr_val *known) {
    tr_present who = {TR_NOVAL, TR_NOVAL, TR_NOVAL, false};
    if (p->l->early && tr_op_meets(stop->op) != TR_MEETING_NONE) {
        who.state = p->l->alive;
        who.all = tr_emit2(&p->s->b, TR_OP_LOAD, p->s->i1, p->l->everybody, tr_emit_int(&p->s->b, 0));
    }
    tr_grid_meet(p->s, stop, known, &who);
}

static void put_piece(const plan *p, tr_bid head, tr_val *known, tr_bid end) {
    tr_grid *s = p->s;
    const tr_level *l = p->l;
    tr_bid by = TR_NOBLK;
    tr_u32s blks = blocks_of(p, head);
    bool marks = false;
    if (!one_way_on(p, head, &by))
        assert(false);
    for (uint32_t k = 0; k < blks.n && by != TR_NOBLK; k++)
        marks = marks || (!l->asks_again && tr_term(p->g, blks.d[k])->op == TR_OP_RET);
    s->b.blk = l->to[head];
    put_once(p, head, known);
    if (blocks_have_work(p, &blks, marks))
        put_threads(p, head, &blks, known, marks, end);
    for (uint32_t k = 0; k < s->stops.n; k++)
        if (s->stops.d[k].at == by)
            put_meeting(p, &s->stops.d[k], known);
    if (by == TR_NOBLK) {
        tr_br(&s->b, end, 0, NULL);
    } else if (l->kept[by]) {
        const tr_ins *t = tr_term(p->g, by);
        tr_cbr(&s->b, of_block(p, known, t->args[0]), l->to[t->imm.succ[0].to], 0, NULL,
               l->to[t->imm.succ[1].to], 0, NULL);
    } else {
        const tr_ins *t = tr_term(p->g, by);
        for (uint32_t e = 0; e < tr_nsucc(t); e++)
            if (l->head[t->imm.succ[e].to] & HEAD) {
                put_way(p, &t->imm.succ[e], known);
                return;
            }
    }
}

void tr_grid_level_tell(const tr_grid *s, const tr_level *l) {
    uint32_t pieces = 0;
    for (uint32_t k = 0; k < s->g->rpo.n; k++)
        pieces += (l->head[s->g->rpo.d[k]] & HEAD) != 0;
    if (pieces > 1)
        tr_grid_say(s,
                    "%u pieces with loops over the threads of their own; the block goes from one to the next",
                    (unsigned)pieces);
    for (uint32_t k = 0; k < s->g->rpo.n; k++) {
        tr_bid b = s->g->rpo.d[k];
        bool stride = false;
        for (uint32_t j = 0; j < s->strides.n; j++)
            stride = stride || s->strides.d[j] == b;
        if (!(l->stop[b] & 2))
            continue;
        tr_grid_say(s, "the loop in line %d is the block's, with its threads innermost%s",
                    (int)tr_grid_line(s, b), stride ? ": they walk a stride apart, in step" : "");
    }
    if (l->asks_again)
        tr_grid_say(s, "who has ended is asked again in each piece");
    if (l->early)
        tr_grid_say(s, "who has ended is kept in an array over the threads");
}

void tr_grid_level_put(tr_grid *s, tr_level *l, tr_val *known) {
    plan *p = &l->plan;
    tr_fn *g = s->g;
    tr_bid end = tr_blk_new(s->lam);
    p->s = s;
    l->to = TR_NEW_N(tr_grid_arena(s), tr_bid, g->blks.n + 1u);
    if (l->early) {
        tr_val one = tr_emit_int(&s->b, 1);
        l->alive = tr_grid_room(s, s->i1, 1, &s->threads);
        l->everybody = tr_grid_room(s, s->i1, 1, &one);
        tr_emit3(&s->b, TR_OP_STORE, NULL, l->everybody, tr_emit_int(&s->b, 0),
                 tr_const_int(s->lam, s->i1, 1));
    }
    for (uint32_t k = 0; k < g->rpo.n; k++) {
        tr_bid h = g->rpo.d[k];
        if (!(l->head[h] & HEAD))
            continue;
        l->to[h] = tr_blk_new(s->lam);
        for (uint32_t q = 0; h && q < tr_blk_at(g, h)->params.n; q++) {
            tr_val v = tr_blk_at(g, h)->params.d[q];
            if (l->once[v])
                known[v] = tr_blk_param(s->lam, l->to[h], tr_at(g, v)->ty, NULL);
        }
    }
    tr_br(&s->b, l->to[0], 0, NULL);
    for (uint32_t k = 0; k < g->rpo.n; k++)
        if (l->head[g->rpo.d[k]] & HEAD)
            put_piece(p, g->rpo.d[k], known, end);
    s->b.blk = end;
}
