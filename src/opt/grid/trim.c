/* Loops over threads lose the turns in which nothing happens (index-set restriction, loop bound narrowing):
 *
 *   for x in 0..B: if base + x < n: ...        for x in 0..min(B, max(0, n - base)): ...
 *
 * A kernel begins with such a test, as a grid rarely has as many threads as there is work. Left in the
 * loop it would be a mask on each vector. Tests of the counter, and what a test of another axis asks,
 * become bounds of the loop; what is left has no branch. Which turns are run changes, and never what one
 * does: a turn that is left out has no effect.
 * A test is of the form x + a < n, x the counter, a and n from outside of the loop. Sums of more than
 * that are looked through where all turns made them, so that they fit: what is known of a sum that some
 * turns did not make says nothing of these.
 * After bounds, which believes the tests. Cost: a few instructions before each loop; linear in the loops. */
#include <assert.h>

#include "ir/loops.h"
#include "opt/priv.h"
#include "opt/emit.h"

enum { MOST_BLOCKS = 16, MOST_TERMS = 4 };

typedef struct trimming {
    tr_fn *f;
    tr_forest loops;
    uint32_t loop; /* the one that is looked at */
    const tr_loop *l;
    tr_val x, n; /* the counter, and how far it goes */
    tr_val next; /* the counter's next value */
    tr_bid body;
    bool first; /* no test was taken yet: what is computed here all turns have computed */
    tr_val lo, hi;
    tr_bld b; /* before the loop */
    const tr_ty *i64;
} trimming;

/* x + the terms, where all terms come from outside */
typedef struct sum {
    bool has_x;
    uint32_t n;
    tr_val term[MOST_TERMS];
} sum;

/* --- the loop --- */

static bool block_is_inside(const trimming *t, tr_bid b) {
    return tr_forest_has(&t->loops, t->loop, b);
}

static bool value_is_outside(const trimming *t, tr_val v) {
    return tr_forest_is_outside(&t->loops, t->loop, v);
}

static bool has_effect(const tr_ins *in) {
    return tr_ins_effects(in) & (E_WRITE | E_RAISE | E_SIDE | E_ALLOC);
}

/* Nothing here is seen by anybody but values, the terminator aside. */
static bool block_is_quiet(const trimming *t, tr_bid b) {
    for (tr_val v = tr_blk_at(t->f, b)->first; v != tr_blk_at(t->f, b)->last; v = tr_at(t->f, v)->next)
        if (has_effect(tr_at(t->f, v)))
            return false;
    return true;
}

/* The only thing that comes round is a counter of turns. */
static bool loop_counts_turns(const tr_fn *f, const tr_loop *l, tr_counter *turns) {
    return l->header != 0 && l->latch != TR_NOBLK && tr_blk_at(f, l->header)->params.n == 1 &&
           tr_loop_counter(f, l->header, tr_blk_at(f, l->header)->params.d[0], turns) &&
           tr_term(f, l->latch)->op == TR_OP_BR && tr_turn_of(tr_at(f, turns->next)) != TR_TURN_NONE;
}

/* Bounds are made in a block before the loop. */
static void make_preheaders(tr_fn *f) {
    tr_counter turns;
    for (bool again = true; again;) {
        again = false;
        tr_cfg_compute(f);
        tr_dom_compute(f);
        const tr_loops loops = tr_forest_find(f).all;
        for (uint32_t k = 0; k < loops.n && !again; k++)
            if (loops.d[k].preheader == TR_NOBLK && loop_counts_turns(f, &loops.d[k], &turns)) {
                tr_opt_preheader(f, loops.d[k].header);
                again = true;
            }
    }
}

/* What the counter begins with is 0: as it is, or by all ways to the block before the loop. */
static bool is_0_by_all_ways(const tr_fn *f, const tr_loop *l, tr_val start) {
    if (tr_at(f, start)->op != TR_OP_PARAM || tr_at(f, start)->blk != l->preheader || l->preheader == 0)
        return tr_is_int(f, start, 0);
    uint32_t at = tr_param_index(f, start);
    for (tr_way w = {0}; tr_next_way(f, l->preheader, &w);)
        if (!tr_is_int(f, w.edge->args[at], 0))
            return false;
    return true;
}

/* From 0 up to a number. */
static bool take_loop(trimming *t, uint32_t loop) {
    const tr_fn *f = t->f;
    const tr_loop *l = t->l = tr_forest_at(&t->loops, loop);
    t->loop = loop;
    t->lo = t->hi = TR_NOVAL;
    t->first = true;
    tr_loop_test test;
    tr_counter turns;
    if (!loop_counts_turns(f, l, &turns))
        return false;
    assert(l->preheader != TR_NOBLK && "each such loop has a block before it");
    if (tr_term(f, l->preheader)->op != TR_OP_BR || !tr_forest_test(&t->loops, loop, &test))
        return false;
    t->x = test.counter;
    t->n = test.bound;
    t->next = turns.next;
    t->body = test.body;
    if (!is_0_by_all_ways(f, l, turns.start) || !block_is_quiet(t, l->header))
        return false;
    t->b = (tr_bld){.fn = t->f,
                    .blk = l->preheader,
                    .before = tr_blk_at(f, l->preheader)->last,
                    .loc = tr_term(f, l->header)->loc};
    return t->body != l->latch;
}

/* By this way the turn ends, and does nothing more. */
static bool edge_ends_turn(const trimming *t, const tr_edge *e) {
    tr_bid b = e->to;
    for (uint32_t k = 0; k < MOST_BLOCKS && block_is_inside(t, b) && block_is_quiet(t, b); k++) {
        const tr_ins *last = tr_term(t->f, b);
        if (b == t->l->latch)
            return true;
        if (last->op != TR_OP_BR)
            return false;
        b = last->imm.succ[0].to;
    }
    return false;
}

/* --- bounds --- */

static tr_val pick(trimming *t, tr_cmpop how, tr_val a, tr_val b, tr_val yes, tr_val no) {
    tr_val c = tr_emit_cmp(&t->b, how, a, b);
    return tr_emit_select(&t->b, c, yes, no);
}

/* n - a within lowest and t->n, whatever the two are: a difference that does not fit has
 * the sign that n has. */
static tr_val distance(trimming *t, tr_val n, tr_val a, int64_t lowest) {
    tr_val low = tr_emit_int(&t->b, lowest), d = n;
    if (a != TR_NOVAL) {
        d = tr_emit_op(&t->b, TR_OP_SUB, n, a);
        tr_val wrong = tr_emit_op(&t->b, TR_OP_AND, tr_emit_op(&t->b, TR_OP_XOR, n, a),
                                  tr_emit_op(&t->b, TR_OP_XOR, n, d));
        tr_val far = pick(t, TR_CMP_LT, n, tr_emit_int(&t->b, 0), low, t->n);
        d = pick(t, TR_CMP_LT, wrong, tr_emit_int(&t->b, 0), far, d);
    }
    return tr_emit_least(&t->b, tr_emit_most(&t->b, d, low), t->n);
}

/* Turns from this one on, and up to the other, are run. */
static void narrow(trimming *t, tr_val lo, tr_val hi) {
    if (lo != TR_NOVAL)
        t->lo = t->lo == TR_NOVAL ? lo : tr_emit_most(&t->b, t->lo, lo);
    if (hi != TR_NOVAL)
        t->hi = t->hi == TR_NOVAL ? hi : tr_emit_least(&t->b, t->hi, hi);
}

/* --- tests --- */

/* v as x and terms. Sums were made without overflow where they say so; deeper ones only if
 * every turn made them. */
static bool split_into_terms(const trimming *t, tr_val v, unsigned depth, sum *s) {
    const tr_ins *in = tr_at(t->f, v);
    if (v == t->x) {
        bool once = !s->has_x;
        s->has_x = true;
        return once;
    }
    if (value_is_outside(t, v)) {
        if (s->n == MOST_TERMS)
            return false;
        s->term[s->n++] = v;
        return true;
    }
    return depth && in->op == TR_OP_ADD && in->flags & F_NSW && (depth == MOST_TERMS || t->first) &&
           split_into_terms(t, in->args[0], depth - 1, s) && split_into_terms(t, in->args[1], depth - 1, s);
}

/* x + a as its a: NOVAL where there is none. Round 0 is run, if any is, so the terms' sum
 * is what v was then, and fits. */
static tr_val rest_of(trimming *t, const sum *s) {
    tr_val a = TR_NOVAL;
    for (uint32_t k = 0; k < s->n; k++)
        a = a == TR_NOVAL ? s->term[k] : tr_emit_op(&t->b, TR_OP_ADD, a, s->term[k]);
    return a;
}

/* The turns for which `x + a how n` is true. */
static void narrow_by(trimming *t, tr_cmpop how, tr_val a, tr_val n) {
    tr_val one = tr_emit_int(&t->b, 1);
    switch (how) {
    case TR_CMP_LT: narrow(t, TR_NOVAL, distance(t, n, a, 0)); break;
    case TR_CMP_LE:
        narrow(t, TR_NOVAL,
               tr_emit_least(&t->b, tr_emit_op(&t->b, TR_OP_ADD, distance(t, n, a, -1), one), t->n));
        break;
    case TR_CMP_GE: narrow(t, distance(t, n, a, 0), TR_NOVAL); break;
    case TR_CMP_GT: narrow(t, tr_emit_op(&t->b, TR_OP_ADD, distance(t, n, a, -1), one), TR_NOVAL); break;
    default:
        narrow_by(t, TR_CMP_GE, a, n);
        narrow_by(t, TR_CMP_LE, a, n);
        break;
    }
}

/* The test is true, or false, as `truth` has it, in the turns that are left. */
static bool take_test(trimming *t, tr_val cond, bool truth) {
    const tr_ins *c = tr_at(t->f, cond);
    if (value_is_outside(t, cond)) {
        tr_val all = t->n, none = tr_emit_int(&t->b, 0);
        narrow(t, TR_NOVAL, tr_emit_select(&t->b, cond, truth ? all : none, truth ? none : all));
        return true;
    }
    if (c->op != TR_OP_CMP || tr_at(t->f, c->args[0])->ty != t->i64)
        return false;
    bool left = value_is_outside(t, c->args[1]);
    tr_val e = c->args[!left], n = c->args[left];
    tr_cmpop how = left ? (tr_cmpop)c->sub : tr_cmp_mirrored[c->sub];
    how = truth ? how : tr_cmp_inverse[how];
    sum s = {0};
    if (!value_is_outside(t, n) || how == TR_CMP_NE || !split_into_terms(t, e, MOST_TERMS, &s) || !s.has_x)
        return false;
    narrow_by(t, how, rest_of(t, &s), n);
    return true;
}

/* From the body's beginning on, as long as there is one way on. */
static bool take_tests(trimming *t) {
    tr_fn *f = t->f;
    tr_bid b = t->body;
    bool changed = false;
    for (uint32_t k = 0; k < MOST_BLOCKS && b != t->l->latch && block_is_quiet(t, b); k++) {
        tr_ins *last = tr_term(f, b);
        if (last->op == TR_OP_CBR) {
            bool yes = !edge_ends_turn(t, &last->imm.succ[0]), no = !edge_ends_turn(t, &last->imm.succ[1]);
            if (yes == no || !block_is_inside(t, last->imm.succ[yes ? 0 : 1].to) ||
                !take_test(t, last->args[0], yes))
                break;
            last = tr_term(f, b); /* emitting moves instructions */
            tr_edge on = last->imm.succ[yes ? 0 : 1];
            tr_bld end = {.fn = f, .blk = b, .before = TR_NOVAL, .loc = last->loc};
            tr_ins_remove(f, tr_blk_at(f, b)->last);
            tr_br(&end, on.to, on.n, on.args);
            changed = true;
            t->first = false;
        } else if (last->op != TR_OP_BR) {
            break;
        }
        b = tr_term(f, b)->imm.succ[0].to;
        if (!block_is_inside(t, b) || tr_blk_at(f, b)->preds.n != 1)
            break;
    }
    return changed;
}

static void set_bounds(trimming *t) {
    tr_fn *f = t->f;
    tr_bid h = t->l->header;
    tr_at(f, t->next)->sub = TR_TURN_TRIMMED;
    if (t->lo != TR_NOVAL)
        tr_term(f, t->l->preheader)->imm.succ[0].args[0] = t->lo;
    if (t->hi == TR_NOVAL)
        return;
    tr_bld b = tr_bld_at_end(f, h);
    tr_val c = tr_emit_cmp(&b, TR_CMP_LT, t->x, t->hi);
    tr_term(f, h)->args[0] = c;
}

bool tr_opt_trim(tr_prog *p, tr_fn *f) {
    uint32_t nblks = f->blks.n;
    make_preheaders(f);
    trimming t = {.f = f, .loops = tr_forest_find(f), .i64 = tr_ty_scalar(p->ctx->types, TR_TY_I64)};
    bool changed = f->blks.n > nblks;
    for (uint32_t k = t.loops.all.n; k-- > 0;)
        if (take_loop(&t, k) && take_tests(&t)) {
            set_bounds(&t);
            changed = true;
        }
    return changed;
}
