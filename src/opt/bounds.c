/* Indices in range (D22).
 *
 * A walk of the dominator tree collects what is known - conditions that were passed, loop counters, sizes - and asks the
 * prover (prove.h) about each wrap and each check. What it proves goes. For what it cannot, it looks for a condition
 * on values from outside the loop that would do, and versions the loop on it (version.h): one test before it picks the loop
 * without these checks, or an exact copy with all of them. A second walk then proves what the test has shown. The rest is
 * tested where it stands.
 *
 * So a condition that is too strong costs speed, never correctness: nothing is dropped that the second walk cannot prove. */
#include <string.h>

#include "opt/prove.h"
#include "opt/version.h"

enum { MAX_CONDS = 16, MAX_LOOP = 600, MAX_GROWTH = 2000, ROUNDS = 3 };

typedef struct plan { /* what to test before one loop */
    tr_lin conds[MAX_CONDS];
    uint32_t n;
    bool done; /* versioned already */
} plan;

typedef struct bounder {
    tr_fn *f;
    tr_prover pr;
    tr_domtree dom;
    tr_loops loops;
    uint32_t *innermost;
    plan *plans;       /* per loop */
    uint8_t *slow;     /* per block: in a checked copy, leave it */
    uint32_t nslow;    /* blocks `slow` speaks of */
    tr_u32s versioned; /* headers */
    tr_repl r;
    bool changed;
} bounder;

/* --- conditions --- */

/* The branch that alone leads to b from outside what b dominates, and which way it goes there. Edges back to a loop's header do not
 * count: the branch speaks of values from before the loop, and they do not change in it. */
static bool leads_to(const tr_fn *f, tr_bid b, tr_val *cond, bool *truth) {
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

static bool in_loop(const bounder *s, uint32_t loop, tr_bid b) {
    for (uint32_t l = s->innermost[b]; l != UINT32_MAX; l = s->loops.d[l].parent)
        if (l == loop)
            return true;
    return false;
}

/* ORDER CMP: LT LE EQ NE GT GE */
static const uint8_t inverse[] = {TR_CMP_GE, TR_CMP_GT, TR_CMP_NE, TR_CMP_EQ, TR_CMP_LE, TR_CMP_LT};
static const uint8_t mirrored[] = {TR_CMP_GT, TR_CMP_GE, TR_CMP_EQ, TR_CMP_NE, TR_CMP_LT, TR_CMP_LE};

/* A condition that compares v, as `v op other`. */
static bool compares(const tr_fn *f, tr_val cond, bool truth, tr_val v, tr_cmpop *op, tr_val *other) {
    const tr_ins *c = tr_at(f, cond);
    if (c->op != TR_OP_CMP || (c->args[0] != v && c->args[1] != v))
        return false;
    bool left = c->args[0] == v;
    *op = (tr_cmpop)(truth ? c->sub : inverse[c->sub]);
    *op = left ? *op : (tr_cmpop)mirrored[*op];
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

/* A comparison of v with something that the loop does not change, true whenever the jump `from` -> header is taken. */
static bool tested_on_way(const bounder *s, uint32_t loop, tr_bid from, tr_val v, tr_cmpop *op,
                          tr_val *other) {
    tr_fn *f = s->f;
    tr_bid h = s->loops.d[loop].header;
    const tr_ins *t = tr_term(f, from);
    tr_val cond = t->op == TR_OP_CBR ? t->args[0] : TR_NOVAL;
    bool truth = cond != TR_NOVAL && t->imm.succ[0].to == h;
    for (tr_bid b = from;; b = tr_blk_at(f, b)->idom) {
        if (cond != TR_NOVAL && compares(f, cond, truth, v, op, other)) {
            tr_bid d = tr_at(f, *other)->blk;
            if (d == TR_NOBLK || !in_loop(s, loop, d))
                return true;
        }
        if (b == h || b == TR_NOBLK)
            return false;
        if (!leads_to(f, b, &cond, &truth))
            cond = TR_NOVAL;
    }
}

/* A loop that is tested at its end: `p < n` holds at the header when it holds at first and each jump back has tested it for
 * the next value of p. */
static void assume_tested(bounder *s, uint32_t loop, tr_val p, uint32_t index) {
    tr_fn *f = s->f;
    const tr_blk *h = tr_blk_at(f, s->loops.d[loop].header);
    tr_cmpop op = TR_CMP_EQ, again;
    tr_val bound = TR_NOVAL, other;
    for (int back = 1; back >= 0; back--) /* first the jumps back, which say what to test, then the way in */
        for (uint32_t i = 0; i < h->preds.n; i++) {
            const tr_ins *t = tr_term(f, h->preds.d[i]);
            if (in_loop(s, loop, h->preds.d[i]) != back)
                continue;
            if (tr_nsucc(t) == 2 && t->imm.succ[0].to == t->imm.succ[1].to)
                return;
            tr_val v = t->imm.succ[t->imm.succ[0].to == s->loops.d[loop].header ? 0 : 1].args[index];
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

/* Does p + k not wrap where it is computed? Either what is known at the header says so, or a branch between there and here. */
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
        if (!leads_to(f, b, &cond, &truth) || !compares(f, cond, truth, p, &op, &other))
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

/* A param that only grows (or only shrinks) never lies below (above) what it starts from. */
static void assume_counter(bounder *s, uint32_t loop, tr_val p, uint32_t index) {
    tr_fn *f = s->f;
    tr_bid h = s->loops.d[loop].header;
    tr_val start = TR_NOVAL;
    bool up = true, down = true;
    for (uint32_t i = 0; i < tr_blk_at(f, h)->preds.n; i++) {
        tr_bid from = tr_blk_at(f, h)->preds.d[i];
        const tr_ins *t = tr_term(f, from);
        for (uint32_t e = 0; e < tr_nsucc(t); e++) {
            int64_t k;
            tr_val v = t->imm.succ[e].to == h ? t->imm.succ[e].args[index] : TR_NOVAL;
            if (v == TR_NOVAL)
                continue;
            if (!in_loop(s, loop, from)) {
                if (start != TR_NOVAL && start != v)
                    return;
                start = v;
            } else if (is_step(s, v, p, &k, h)) {
                up = up && k >= 0;
                down = down && k <= 0;
            } else {
                return;
            }
        }
    }
    tr_lin begin = start == TR_NOVAL ? tr_lin_const(0) : tr_linearize(&s->pr, start), low = tr_lin_val(p),
           high = begin;
    if (start == TR_NOVAL)
        return;
    if (up && tr_lin_add(&low, &begin, -1))
        tr_assume(&s->pr, &low);
    if (down && tr_lin_add(&high, &low, 0) && tr_lin_add(&high, &(tr_lin){.n = 1, .t = {{p, 1}}}, -1))
        tr_assume(&s->pr, &high);
}

static void assume_counters(bounder *s, tr_bid b) {
    uint32_t l = s->innermost[b];
    if (l == UINT32_MAX || s->loops.d[l].header != b)
        return;
    for (uint32_t i = 0; i < tr_blk_at(s->f, b)->params.n; i++) {
        tr_val p = tr_blk_at(s->f, b)->params.d[i];
        if (tr_at(s->f, p)->ty->kind != TR_TY_I64)
            continue;
        assume_tested(s, l, p, i);
        assume_counter(s, l, p, i);
    }
}

/* --- conditions to test before a loop --- */

typedef struct scope {
    const bounder *s;
    uint32_t loop;
} scope;

static bool varies(void *self, tr_val v) {
    const scope *c = self;
    tr_bid b = tr_at(c->s->f, v)->blk;
    return b != TR_NOBLK && in_loop(c->s, c->loop, b);
}

static bool add_cond(plan *p, const tr_lin *e) {
    if (e->n == 0)
        return true;
    for (uint32_t i = 0; i < p->n; i++)
        if (tr_lin_same(&p->conds[i], e))
            return true;
    if (p->n == MAX_CONDS)
        return false;
    p->conds[p->n++] = *e;
    return true;
}

/* Plans tests before `loop` that would make both goals true. */
static bool plan_goals(bounder *s, uint32_t loop, const tr_lin *goals, uint32_t n) {
    scope c = {s, loop};
    tr_lin out[2];
    for (uint32_t i = 0; i < n; i++)
        if (!tr_derive(&s->pr, &goals[i], varies, &c, &out[i]) ||
            (out[i].n > 0 && !tr_opt_testable(s->f, &out[i])))
            return false;
    plan *p = &s->plans[loop], before = *p;
    for (uint32_t i = 0; i < n; i++)
        if (!add_cond(p, &out[i])) {
            *p = before;
            return false;
        }
    return true;
}

static bool slow_block(const bounder *s, tr_bid b) {
    return b < s->nslow && s->slow[b];
}

/* From the outermost loop inwards: the first that can be tested for. */
static void plan_for(bounder *s, tr_bid b, const tr_lin *goals, uint32_t n) {
    uint32_t chain[64], depth = 0;
    if (slow_block(s, b))
        return;
    for (uint32_t l = s->innermost[b]; l != UINT32_MAX && depth < 64; l = s->loops.d[l].parent)
        chain[depth++] = l;
    while (depth-- > 0)
        if (!s->plans[chain[depth]].done && plan_goals(s, chain[depth], goals, n))
            return;
}

/* 0 <= i and i < n, on trust that sums do not wrap: the second walk proves that too. */
static void plan_check(bounder *s, tr_bid b, tr_val i, tr_val n) {
    s->pr.guess = true;
    tr_lin at = tr_linearize(&s->pr, i), goals[2] = {at, tr_linearize(&s->pr, n)};
    s->pr.guess = false;
    goals[1].c -= 1;
    if (tr_lin_add(&goals[1], &at, -1))
        plan_for(s, b, goals, 2);
}

static void plan_wrap(bounder *s, tr_bid b, tr_val i) {
    s->pr.guess = true;
    tr_lin goal = tr_linearize(&s->pr, i);
    s->pr.guess = false;
    plan_for(s, b, &goal, 1);
}

/* --- the walk --- */

static void replace(bounder *s, tr_val v, tr_val by) {
    tr_repl_set(s->f, &s->r, v, by);
    tr_ins_remove(s->f, v);
    s->changed = true;
}

/* An index that is never negative stays as it is. One that always is becomes a sum. */
static void visit_wrap(bounder *s, tr_val v) {
    tr_ins *in = tr_at(s->f, v);
    tr_lin i = tr_linearize(&s->pr, in->args[0]), negative = tr_lin_const(-1);
    if (tr_prove(&s->pr, &i)) {
        replace(s, v, in->args[0]);
    } else if (tr_lin_add(&negative, &i, -1) && tr_prove(&s->pr, &negative)) {
        in->op = TR_OP_ADD;
        in->flags = 0;
        s->changed = true;
    } else if (!s->f->ctx->opts.boundscheck) {
        plan_wrap(s, in->blk, in->args[0]);
    }
}

static void visit_check(bounder *s, tr_val v) {
    const tr_ins *in = tr_at(s->f, v);
    tr_lin i = tr_linearize(&s->pr, in->args[0]), n = tr_linearize(&s->pr, in->args[1]), room = n;
    room.c -= 1;
    bool sum = tr_lin_add(&room, &i, -1), proven = sum && tr_prove(&s->pr, &i) && tr_prove(&s->pr, &room);
    if (!proven) {
        const tr_ins *w = tr_at(s->f, in->args[0]);
        plan_check(s, in->blk, w->op == TR_OP_WRAP ? w->args[0] : in->args[0], in->args[1]);
        s->pr.leaf = true;
        tr_assume(&s->pr, &i); /* past here it has held */
        if (sum)
            tr_assume(&s->pr, &room);
        s->pr.leaf = false;
        return;
    }
    tr_ins_remove(s->f, v);
    s->changed = true;
}

static void visit(bounder *s, tr_val v) {
    tr_ins *in = tr_at(s->f, v);
    for (uint32_t i = 0; i < in->nargs; i++)
        in->args[i] = tr_repl_get(&s->r, in->args[i]);
    tr_prover_meet(&s->pr, v);
    switch ((tr_op)in->op) {
    case TR_OP_WRAP: visit_wrap(s, v); break;
    case TR_OP_CHECKIDX: visit_check(s, v); break;
    case TR_OP_CHECK: tr_assume_cond(&s->pr, in->args[0], true); break;
    default: break;
    }
}

static void walk(bounder *s, tr_bid b) {
    tr_fn *f = s->f;
    uint32_t mark = tr_prover_mark(&s->pr);
    const tr_blk *blk = tr_blk_at(f, b);
    for (uint32_t i = 0; i < blk->params.n; i++)
        tr_prover_meet(&s->pr, blk->params.d[i]);
    tr_val cond;
    bool truth;
    if (leads_to(f, b, &cond, &truth))
        tr_assume_cond(&s->pr, cond, truth);
    assume_counters(s, b);
    for (tr_val v = tr_blk_at(f, b)->first, next; v != TR_NOVAL; v = next) {
        next = tr_at(f, v)->next;
        visit(s, v);
    }
    for (tr_bid c = s->dom.first[b]; c != TR_NOBLK; c = s->dom.next[c])
        walk(s, c);
    tr_prover_pop(&s->pr, mark);
}

/* --- rounds --- */

static uint32_t loop_size(const tr_fn *f, const tr_loop *l) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            n++;
    return n;
}

/* Outer loops have smaller numbers; one that is versioned takes the loops inside it along. */
static bool covered(const bounder *s, uint32_t l, const uint8_t *versioned) {
    for (uint32_t up = s->loops.d[l].parent; up != UINT32_MAX; up = s->loops.d[up].parent)
        if (versioned[up])
            return true;
    return false;
}

static bool version_loops(bounder *s, uint32_t *growth, tr_u32s *slow) {
    tr_fn *f = s->f;
    uint8_t *versioned = TR_NEW_N(&f->ctx->arena, uint8_t, s->loops.n + 1u);
    bool any = false;
    for (uint32_t l = 0; l < s->loops.n; l++) {
        uint32_t size = loop_size(f, &s->loops.d[l]);
        if (!s->plans[l].n || covered(s, l, versioned) || size > MAX_LOOP || *growth + size > MAX_GROWTH)
            continue;
        tr_opt_version(f, &s->loops.d[l], s->plans[l].conds, s->plans[l].n, slow);
        versioned[l] = 1;
        tr_vec_push(&f->ctx->arena, &s->versioned, s->loops.d[l].header);
        *growth += size;
        any = true;
    }
    return any;
}

static void set_up(bounder *s, const tr_u32s *slow) {
    tr_fn *f = s->f;
    tr_arena *a = &f->ctx->arena;
    tr_cfg_compute(f);
    tr_dom_compute(f);
    s->pr = tr_prover_new(f);
    s->dom = tr_opt_domtree(f);
    s->innermost = TR_NEW_N(a, uint32_t, f->blks.n + 1u);
    tr_loops_find(f, &s->loops, s->innermost);
    s->plans = TR_NEW_N(a, plan, s->loops.n + 1u);
    s->nslow = f->blks.n;
    s->slow = TR_NEW_N(a, uint8_t, f->blks.n + 1u);
    for (uint32_t i = 0; i < slow->n; i++)
        s->slow[slow->d[i]] = 1;
    for (uint32_t i = 0; i < s->versioned.n; i++) /* once is enough: what it did not make provable stays */
        s->plans[s->innermost[s->versioned.d[i]]].done = true;
    s->r = tr_repl_new(f);
}

static bool has_work(const tr_fn *f) {
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (tr_at(f, v)->op == TR_OP_WRAP || tr_at(f, v)->op == TR_OP_CHECKIDX)
                return true;
    return false;
}

bool tr_opt_bounds(tr_prog *p, tr_fn *f) {
    (void)p;
    bounder s = {.f = f};
    tr_u32s slow = {0};
    uint32_t growth = 0;
    for (int round = 0; round < ROUNDS && has_work(f); round++) {
        set_up(&s, &slow);
        walk(&s, 0);
        tr_repl_apply(f, &s.r);
        if (round + 1 == ROUNDS || !version_loops(&s, &growth, &slow))
            break;
        s.changed = true;
    }
    return s.changed;
}
