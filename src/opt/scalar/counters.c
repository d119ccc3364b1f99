/* What is known of a loop's params at its header: counters (induction variables), tests at the loop's end,
 * guessed loop invariants. */
#include <assert.h>
#include <string.h>

#include "opt/scalar/bounds.h"

enum { MAX_GUESSES = 64 };

/* --- conditions --- */

bool tr_bounds_leads_to(const tr_fn *f, tr_bid b, tr_val *cond, bool *truth) {
    assert(tr_blk_at(f, b)->rpo != TR_NOBLK);
    const tr_blk *blk = tr_blk_at(f, b);
    tr_bid from = TR_NOBLK;
    for (uint32_t i = 0; i < blk->preds.n; i++) {
        if (tr_dominates(f, b, blk->preds.d[i]))
            continue;
        if (from != TR_NOBLK)
            return false;
        from = blk->preds.d[i];
    }
    if (from == TR_NOBLK || tr_term(f, from)->op != TR_OP_CBR)
        return false;
    *cond = tr_term(f, from)->args[0];
    *truth = tr_term(f, from)->imm.succ[0].to == b;
    return true;
}

/* --- loop counters --- */

bool tr_bounds_can_carry(const tr_ty *t) {
    return strchr("iufc", tr_ty_class(t));
}

typedef struct scope {
    const bounder *s;
    uint32_t loop;
} scope;

static bool value_varies(void *self, tr_val v) {
    const scope *c = self;
    return !tr_forest_is_outside(&c->s->loops, c->loop, v);
}

bool tr_bounds_free_of(bounder *s, uint32_t loop, const tr_lin *goal, tr_lin *out) {
    assert(loop < s->loops.all.n && "a loop of this walk");
    scope c = {s, loop};
    return tr_derive(&s->pr, goal, value_varies, &c, out);
}

bool tr_bounds_derive(bounder *s, uint32_t loop, const tr_lin *goal, tr_lin *out) {
    return tr_bounds_free_of(s, loop, goal, out) && (out->n == 0 || tr_opt_testable(s->f, out));
}

/* A condition that compares v, as `v op other`. */
static bool cond_compares_value(const tr_fn *f, tr_val cond, bool truth, tr_val v, tr_cmpop *op,
                                tr_val *other) {
    assert(tr_at(f, cond)->op != TR_OP_CMP || tr_at(f, cond)->sub < TR_CMP__COUNT);
    const tr_ins *c = tr_at(f, cond);
    if (c->op != TR_OP_CMP || (c->args[0] != v && c->args[1] != v))
        return false;
    bool left = c->args[0] == v;
    *op = truth ? (tr_cmpop)c->sub : tr_cmp_inverse[c->sub];
    *op = left ? *op : tr_cmp_mirrored[*op];
    *other = c->args[left ? 1 : 0];
    return true;
}

/* x op y as an expression that is not negative; only for the four orders. */
static bool order_of(const tr_lin *x, tr_cmpop op, const tr_lin *y, tr_lin *out) {
    bool less = op == TR_CMP_LT || op == TR_CMP_LE;
    *out = less ? *y : *x;
    out->c -= op == TR_CMP_LT || op == TR_CMP_GT;
    return op != TR_CMP_EQ && op != TR_CMP_NE && tr_lin_add(out, less ? x : y, -1);
}

/* A comparison of v with something that the loop does not change, true whenever the jump `from` -> header is
 * taken. */
static bool tested_on_way(const bounder *s, uint32_t loop, tr_bid from, tr_val v, tr_cmpop *op,
                          tr_val *other) {
    tr_fn *f = s->f;
    tr_bid h = s->loops.all.d[loop].header;
    const tr_ins *t = tr_term(f, from);
    tr_val cond = t->op == TR_OP_CBR ? t->args[0] : TR_NOVAL;
    bool truth = cond != TR_NOVAL && t->imm.succ[0].to == h;
    for (tr_bid b = from;; b = tr_blk_at(f, b)->idom) {
        if (cond != TR_NOVAL && cond_compares_value(f, cond, truth, v, op, other)) {
            if (tr_forest_is_outside(&s->loops, loop, *other))
                return true;
        }
        if (b == h || b == TR_NOBLK)
            return false;
        if (!tr_bounds_leads_to(f, b, &cond, &truth))
            cond = TR_NOVAL;
    }
}

/* A loop that is tested at its end: `p < n` holds at the header when it holds at first and each jump back has
 * tested it for the next value of p. */
static void assume_tested(bounder *s, uint32_t loop, tr_val p, uint32_t index) {
    assert(tr_blk_at(s->f, s->loops.all.d[loop].header)->params.d[index] == p);
    tr_fn *f = s->f;
    const tr_blk *h = tr_blk_at(f, s->loops.all.d[loop].header);
    tr_cmpop op = TR_CMP_EQ, again;
    tr_val bound = TR_NOVAL, other;
    for (int back = 1; back >= 0; back--) /* first the jumps back, which say what to test, then the way in */
        for (uint32_t i = 0; i < h->preds.n; i++) {
            const tr_ins *t = tr_term(f, h->preds.d[i]);
            if (tr_forest_has(&s->loops, loop, h->preds.d[i]) != back)
                continue;
            if (tr_nsucc(t) == 2 && t->imm.succ[0].to == t->imm.succ[1].to)
                return;
            tr_val v = t->imm.succ[t->imm.succ[0].to == s->loops.all.d[loop].header ? 0 : 1].args[index];
            if (!back) {
                if (bound == TR_NOVAL)
                    return;
                tr_lin x = tr_linearize(&s->pr, v), y = tr_linearize(&s->pr, bound), e;
                if (!order_of(&x, op, &y, &e) || !tr_prove(&s->pr, &e))
                    return;
            } else if (!tested_on_way(s, loop, h->preds.d[i], v, &again, &other) ||
                       (bound != TR_NOVAL && (other != bound || again != op))) {
                return;
            } else {
                bound = other;
                op = again;
            }
        }
    tr_lin x = tr_lin_val(p), y = bound == TR_NOVAL ? x : tr_linearize(&s->pr, bound), e;
    if (bound != TR_NOVAL && order_of(&x, op, &y, &e))
        tr_assume(&s->pr, &e);
}

/* Does p + k not wrap where it is computed? Either what is known at the header says so, or a branch between
 * there and here. */
static bool step_is_exact(bounder *s, tr_val next, tr_val p, int64_t k, tr_bid header) {
    tr_fn *f = s->f;
    tr_wide lo, hi, room = (tr_wide)1 << 63;
    tr_lin rest = tr_lin_const(k > 0 ? room - 1 - k : room + k), v = tr_lin_val(p);
    if (tr_at(f, next)->flags & F_NSW || (tr_lin_add(&rest, &v, k > 0 ? -1 : 1) && tr_prove(&s->pr, &rest)))
        return true;
    for (tr_bid b = tr_at(f, next)->blk; b != header && b != TR_NOBLK; b = tr_blk_at(f, b)->idom) {
        tr_val cond, other;
        tr_cmpop op;
        bool truth;
        if (!tr_bounds_leads_to(f, b, &cond, &truth) || !cond_compares_value(f, cond, truth, p, &op, &other))
            continue;
        tr_range_of(f, other, &lo, &hi);
        if (k > 0 && ((op == TR_CMP_LT && hi - 1 + k < room) || (op == TR_CMP_LE && hi + k < room)))
            return true;
        if (k < 0 && ((op == TR_CMP_GT && lo + 1 + k >= -room) || (op == TR_CMP_GE && lo + k >= -room)))
            return true;
    }
    return false;
}

/* v as p + k; false for anything else. */
static bool is_step(bounder *s, tr_val v, tr_val p, int64_t *k, tr_bid header) {
    const tr_ins *in = tr_at(s->f, v);
    if (v == p) {
        *k = 0;
        return true;
    }
    if ((in->op != TR_OP_ADD && in->op != TR_OP_SUB) || in->args[0] != p ||
        !tr_get_int(s->f, in->args[1], k) || *k > TR_MAX_DIM || *k < -TR_MAX_DIM)
        return false;
    if (in->op == TR_OP_SUB)
        *k = -*k;
    return step_is_exact(s, v, p, *k, header);
}

/* v as p and something that is not negative, exactly. */
static bool value_only_grows(const bounder *s, tr_val v, tr_val p) {
    const tr_ins *in = tr_at(s->f, v);
    tr_wide lo = -1, hi;
    if (in->op == TR_OP_ADD && in->flags & F_NSW && in->args[0] == p)
        tr_range_of(s->f, in->args[1], &lo, &hi);
    return lo >= 0;
}

/* A param that only grows (or only shrinks) never lies below (above) what it starts from. */
static void assume_counter(bounder *s, uint32_t loop, tr_val p, uint32_t index) {
    tr_fn *f = s->f;
    tr_bid h = s->loops.all.d[loop].header;
    tr_val start = tr_loop_start(f, h, p);
    bool up = true, down = true;
    if (start == TR_NOVAL)
        return;
    for (tr_way w = {0}; tr_next_way(f, h, &w);) {
        int64_t k;
        tr_val v = w.edge->args[index];
        if (!tr_forest_has(&s->loops, loop, w.from))
            continue;
        if (is_step(s, v, p, &k, h)) {
            up = up && k >= 0;
            down = down && k <= 0;
        } else if (value_only_grows(s, v, p)) {
            down = false;
        } else {
            return;
        }
    }
    tr_lin begin = tr_linearize(&s->pr, start), low = tr_lin_val(p), high = begin;
    if (up && tr_lin_add(&low, &begin, -1))
        tr_assume(&s->pr, &low);
    if (down && tr_lin_add(&high, &low, 0) && tr_lin_add(&high, &(tr_lin){.n = 1, .t = {{p, 1}}}, -1))
        tr_assume(&s->pr, &high);
}

/* --- guesses --- */

/* What guess g says of a value x that stands for its param. */
static bool guess_of(bounder *s, const tr_guess *g, tr_val x, tr_lin *out) {
    tr_lin v = tr_linearize(&s->pr, x), hole = tr_lin_val(TR_NOVAL);
    int64_t k = 0;
    for (uint32_t i = 0; i < g->e.n; i++)
        if (g->e.t[i].v == TR_NOVAL)
            k = g->e.t[i].k;
    *out = g->e;
    return tr_lin_add(out, &hole, -k) && tr_lin_add(out, &v, k);
}

static void assume_guesses(bounder *s, tr_bid b) {
    for (uint32_t k = 0; k < s->guesses.n; k++) {
        const tr_guess *g = &s->guesses.d[k];
        tr_lin e;
        if (!g->wrong && g->blk == b && guess_of(s, g, tr_blk_at(s->f, b)->params.d[g->index], &e))
            tr_assume(&s->pr, &e);
    }
}

/* The guess fails on a way into its block. If something that can be tested before the outermost loop would
 * mend that, it is noted, for an index that asks for it. */
static void fail(bounder *s, tr_guess *g, const tr_lin *goal) {
    uint32_t l = tr_forest_in(&s->loops, g->blk);
    tr_lin need;
    bool more = !g->wrong || g->nneeds;
    g->wrong = s->retry = true;
    while (l != UINT32_MAX && s->loops.all.d[l].parent != UINT32_MAX)
        l = s->loops.all.d[l].parent;
    if (more && goal && l != UINT32_MAX && g->nneeds < MAX_NEEDS && tr_bounds_derive(s, l, goal, &need) &&
        need.n)
        g->needs[g->nneeds++] = need;
    else
        g->nneeds = 0;
}

static void try_jump(bounder *s, const tr_edge *e) {
    for (uint32_t k = 0; k < s->guesses.n; k++) {
        tr_guess *g = &s->guesses.d[k];
        tr_lin goal;
        if ((g->wrong && !g->nneeds) || g->blk != e->to)
            continue;
        if (!guess_of(s, g, e->args[g->index], &goal))
            fail(s, g, NULL);
        else if (!tr_prove(&s->pr, &goal))
            fail(s, g, &goal);
    }
}

void tr_bounds_at_end(bounder *s, tr_bid b) {
    const tr_ins *t = tr_term(s->f, b);
    for (uint32_t i = 0; i < tr_nsucc(t) && s->guesses.n; i++) {
        uint32_t mark = tr_prover_mark(&s->pr);
        if (t->op == TR_OP_CBR)
            tr_assume_cond(
                &s->pr, t->args[0],
                i == 0); /* the jump knows its own condition, also where both ways lead to one block */
        try_jump(s, &t->imm.succ[i]);
        tr_prover_pop(&s->pr, mark);
    }
}

/* --- which guesses are worth a try --- */

/* The values that indices are computed from: through sums and quotients, and through params to what jumps
 * pass for them. */
typedef struct sources {
    tr_fn *f;
    uint8_t *seen;
    tr_u32s work;
    tr_val sizes[4]; /* what indices are checked against */
    uint32_t nsizes;
} sources;

static void note_source(sources *q, tr_val v) {
    const tr_ty *t = tr_at(q->f, v)->ty;
    if (q->seen[v] || !t || (t->kind != TR_TY_I64 && t->kind != TR_TY_U64))
        return;
    q->seen[v] = 1;
    tr_vec_push(&q->f->ctx->arena, &q->work, v);
}

static void note_size(sources *q, tr_val v) {
    for (uint32_t i = 0; i < q->nsizes; i++)
        if (q->sizes[i] == v)
            return;
    if (q->nsizes < 4 && !tr_is_const(tr_at(q->f, v)))
        q->sizes[q->nsizes++] = v;
}

static void follow(sources *q, tr_val v) {
    tr_fn *f = q->f;
    const tr_ins *in = tr_at(f, v);
    switch ((tr_op)in->op) {
    case TR_OP_ADD:
    case TR_OP_SUB:
    case TR_OP_MUL:
    case TR_OP_CONV:
    case TR_OP_FLOORDIV:
    case TR_OP_QUOT:
    case TR_OP_SHL:
    case TR_OP_SHR:
    case TR_OP_WRAP:
    case TR_OP_SELECT:
    case TR_OP_MIN:
    case TR_OP_MAX:
    case TR_OP_RANGELEN:
        for (uint32_t i = 0; i < in->nargs; i++)
            note_source(q, in->args[i]);
        break;
    case TR_OP_PARAM: {
        uint32_t index = tr_param_index(f, v);
        for (tr_way w = {0}; tr_next_way(f, in->blk, &w);)
            note_source(q, w.edge->args[index]);
        break;
    }
    default: break;
    }
}

static void find_sources(sources *q) {
    tr_fn *f = q->f;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            if (in->op != TR_OP_CHECKIDX && in->op != TR_OP_WRAP)
                continue;
            note_source(q, in->args[0]);
            note_size(q, in->args[1]);
        }
    while (q->work.n)
        follow(q, q->work.d[--q->work.n]);
}

/* Does every jump back pass the param itself or the param and a constant? Those need no guess. */
static bool is_counter(const bounder *s, tr_bid h, tr_val p, uint32_t index) {
    tr_fn *f = s->f;
    bool loop = false;
    for (tr_way w = {0}; tr_next_way(f, h, &w);) {
        const tr_ins *in = tr_at(f, w.edge->args[index]);
        bool sum = in->op == TR_OP_ADD || in->op == TR_OP_SUB;
        if (!tr_dominates(f, h, w.from))
            continue;
        loop = true;
        if (w.edge->args[index] != p && !(sum && in->args[0] == p && tr_is_const(tr_at(f, in->args[1]))))
            return false;
    }
    return loop;
}

static void add_guess(bounder *s, tr_bid b, uint32_t index, const tr_lin *e) {
    if (s->guesses.n < MAX_GUESSES)
        tr_vec_push(&s->f->ctx->arena, &s->guesses, (tr_guess){.blk = b, .index = index, .e = *e});
}

/* What the jumps back of a loop test of the next value, when all else in it comes from before the loop. */
static void guess_tested(bounder *s, tr_bid b, uint32_t index) {
    tr_fn *f = s->f;
    for (uint32_t i = 0; i < tr_blk_at(f, b)->preds.n; i++) {
        tr_bid from = tr_blk_at(f, b)->preds.d[i];
        const tr_ins *t = tr_term(f, from), *c = t->op == TR_OP_CBR ? tr_at(f, t->args[0]) : NULL;
        if (!c || c->op != TR_OP_CMP || !tr_dominates(f, b, from) ||
            tr_at(f, c->args[0])->ty->kind != TR_TY_I64)
            continue;
        bool truth = t->imm.succ[0].to == b;
        tr_val v = t->imm.succ[truth ? 0 : 1].args[index];
        tr_lin x = tr_linearize(&s->pr, c->args[0]), y = tr_linearize(&s->pr, c->args[1]), e,
               var = tr_lin_val(v), hole = tr_lin_val(TR_NOVAL);
        if (!order_of(&x, truth ? (tr_cmpop)c->sub : tr_cmp_inverse[c->sub], &y, &e))
            continue;
        int64_t k = 0;
        bool above = true;
        for (uint32_t n = 0; n < e.n; n++) {
            if (e.t[n].v == v)
                k = e.t[n].k;
            else
                above = above && tr_loop_is_before(f, b, e.t[n].v);
        }
        if (k && above && tr_lin_add(&e, &var, -k) && tr_lin_add(&e, &hole, k))
            add_guess(s, b, index, &e);
    }
}

void tr_bounds_make_guesses(bounder *s) {
    tr_fn *f = s->f;
    sources q = {.f = f, .seen = TR_NEW_N(&f->ctx->arena, uint8_t, f->ins.n + 1u)};
    s->guesses.n = 0;
    find_sources(&q);
    s->pr.guess = true;
    for (uint32_t i = 1; i < f->rpo.n; i++) {
        tr_bid b = f->rpo.d[i];
        for (uint32_t k = 0; k < tr_blk_at(f, b)->params.n; k++) {
            tr_val p = tr_blk_at(f, b)->params.d[k];
            if (!q.seen[p] || tr_at(f, p)->ty->kind != TR_TY_I64 || is_counter(s, b, p, k))
                continue;
            tr_lin hole = tr_lin_val(TR_NOVAL);
            add_guess(s, b, k, &hole);
            for (uint32_t z = 0; z < q.nsizes; z++) {
                if (!tr_loop_is_before(f, b, q.sizes[z]))
                    continue;
                for (int slack = 0; slack < 2; slack++) { /* param < size, param <= size */
                    tr_lin e = tr_lin_val(q.sizes[z]);
                    e.c = slack - 1;
                    if (tr_lin_add(&e, &hole, -1))
                        add_guess(s, b, k, &e);
                }
            }
            guess_tested(s, b, k);
        }
    }
    s->pr.guess = false;
}

/* --- together --- */

void tr_bounds_at_start(bounder *s, tr_bid b) {
    uint32_t l = tr_forest_headed(&s->loops, b);
    for (uint32_t i = 0; l != TR_NOLOOP && i < tr_blk_at(s->f, b)->params.n; i++) {
        tr_val p = tr_blk_at(s->f, b)->params.d[i];
        if (tr_at(s->f, p)->ty->kind != TR_TY_I64)
            continue;
        assume_tested(s, l, p, i);
        assume_counter(s, l, p, i);
    }
    assume_guesses(s, b);
}
