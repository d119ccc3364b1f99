/* Ranges that a device's threads walk, a number of threads apart, count places in place of rounds (induction
 * variable elimination, linear function test replacement):
 *
 *   k = 0; while k < count: i = start + k * step; ...; k += 1
 * becomes
 *   i = start; while i < stop: ...; i += step
 *
 * That takes a division out of the kernel, which costs a GPU more than many a body, and lets bounds see
 * that i only grows. How many items a range has is a formula (lib/iter.c), by which it is known again. Sums
 * are exact: start is a place, step has fewer than STEP bits, and stop is held to 2^STOP, which threads
 * would take centuries to reach from there.
 * For devices only: on the host the passes of grid.c have made loops over threads of these
 * by now. Before bounds. Cost: linear. */
#include <assert.h>

#include "ir/loops.h"
#include "opt/grid/grid.h"
#include "opt/emit.h"
#include "opt/priv.h"

enum { DEPTH = 6 };

typedef struct walk {
    tr_fn *f;
    const tr_loop *l;
    uint32_t loop; /* its number */
    tr_range_parts r;
    tr_val k, i; /* the counter of rounds; the place, made here */
    tr_repl *repl;
} walk;

static bool value_is_outside(const walk *w, tr_val v) {
    return tr_forest_is_outside(w->f->forest, w->loop, v);
}

static bool take_loop(walk *w) {
    const tr_fn *f = w->f;
    tr_loop_test t;
    if (w->l->preheader == TR_NOBLK || !tr_forest_test(f->forest, w->loop, &t) ||
        tr_at(f, t.cond)->blk != w->l->header || !tr_grid_range(f, t.bound, &w->r))
        return false;
    w->k = t.counter;
    return value_is_outside(w, w->r.start) && value_is_outside(w, w->r.stop) &&
           value_is_outside(w, w->r.step) && tr_grid_bits(f, w->r.start, DEPTH) < TR_WALK_STOP &&
           tr_grid_is_count(f, w->r.step, DEPTH) && tr_grid_bits(f, w->r.step, DEPTH) < TR_WALK_STEP &&
           tr_loop_counts(f, w->l->header, w->k);
}

static bool is_sum(const tr_ins *in, tr_op op, tr_val a, tr_val b) {
    return in->op == op && ((in->args[0] == a && in->args[1] == b) || (in->args[0] == b && in->args[1] == a));
}

/* The places of all rounds become `i`. False: there are none. */
static bool find_places(walk *w) {
    tr_fn *f = w->f;
    bool any = false;
    for (uint32_t n = 0; n < w->l->blks.n; n++)
        for (tr_val v = tr_blk_at(f, w->l->blks.d[n])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            if (in->op != TR_OP_ADD)
                continue;
            tr_val other = in->args[0] == w->r.start ? in->args[1] : in->args[0];
            if (!is_sum(in, TR_OP_ADD, w->r.start, other) ||
                !is_sum(tr_at(f, other), TR_OP_MUL, w->k, w->r.step))
                continue;
            if (w->i == TR_NOVAL)
                w->i = tr_blk_param(f, w->l->header, tr_at(f, v)->ty, NULL);
            tr_repl_set(f, w->repl, v, w->i);
            any = true;
        }
    return any;
}

static void put_place(walk *w) {
    tr_fn *f = w->f;
    tr_bid h = w->l->header, ph = w->l->preheader;
    const tr_ty *i64 = tr_at(f, w->i)->ty;
    tr_bld b = {.fn = f, .blk = ph, .before = tr_blk_at(f, ph)->last, .loc = tr_term(f, h)->loc};
    tr_val most = tr_const_int(f, i64, (int64_t)1 << TR_WALK_STOP), stop = w->r.stop;
    if (tr_at(f, stop)->op != TR_OP_DIM)
        stop = tr_emit_least(&b, stop, most);
    for (tr_way y = {0}; tr_next_way(f, h, &y);) {
        tr_val next = w->r.start;
        if (tr_forest_has(f->forest, w->loop, y.from)) {
            tr_bld at = {
                .fn = f, .blk = y.from, .before = tr_blk_at(f, y.from)->last, .loc = tr_term(f, y.from)->loc};
            next = tr_emit2(&at, TR_OP_ADD, i64, w->i, w->r.step);
            tr_at(f, next)->flags |= F_NSW;
        }
        tr_edge_add(f, &tr_term(f, y.from)->imm.succ[y.succ - 1], next);
    }
    b.blk = h;
    b.before = tr_blk_at(f, h)->last;
    tr_val c = tr_emit_cmp(&b, TR_CMP_LT, w->i, stop);
    tr_term(f, h)->args[0] = c;
}

bool tr_opt_stride(tr_prog *p, tr_fn *f) {
    (void)p;
    tr_repl repl = tr_repl_new(f);
    bool changed = false;
    if (f->kind != TR_FN_KERNEL && f->kind != TR_FN_DEVICE)
        return false;
    for (uint32_t k = 0; k < f->forest->all.n; k++) {
        walk w = {.f = f, .l = tr_forest_at(f->forest, k), .loop = k, .i = TR_NOVAL, .repl = &repl};
        if (!take_loop(&w) || !find_places(&w))
            continue;
        put_place(&w);
        changed = true;
    }
    if (changed)
        tr_repl_apply(f, &repl);
    return changed;
}
