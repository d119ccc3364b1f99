/* Indices in range (bounds-check elimination, by loop versioning where proofs end).
 *
 * A walk of the dominator tree collects what is known - conditions that were passed, loop counters, sizes -
 * and asks the prover (prove.h) about each wrap and each check. What it proves goes. For what it cannot, it
 * looks for a condition on values from outside the loop that would do, and versions the loop on it
 * (version.h): one test before it picks the loop without these checks, or an exact copy with all of them. A
 * second walk then proves what the test has shown. The rest is tested where it stands.
 *
 * So a condition that is too strong costs speed, never correctness: nothing is dropped that the second walk
 * cannot prove. */
#include <string.h>

#include "opt/scalar/bounds.h"
#include "opt/emit.h"

enum {
    MAX_TRIES = 5,
    FEW_BELOW = 16,
    MAX_GOALS = 12,
    MAX_OWN = 2 * MAX_NEEDS,
    MAX_TRUSTED = (MAX_GOALS - MAX_OWN) / 2
};

#define SMALL ((int64_t)1 << 58)

/* --- conditions to test before a loop --- */

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

/* Conditions that were passed on the way to a check, `i + k < n`, of sums that may wrap for all that is
 * known: they say something of i and k only where the sums fit. */
typedef struct trust {
    tr_val cond[MAX_TRUSTED];
    bool truth[MAX_TRUSTED];
    tr_lin fits[MAX_GOALS - MAX_OWN]; /* goals that make the sums fit */
    uint32_t nconds, nfits;
} trust;

static bool derive_all(bounder *s, uint32_t loop, const tr_lin *goals, uint32_t n, tr_lin *out) {
    for (uint32_t i = 0; i < n; i++)
        if (!tr_bounds_derive(s, loop, &goals[i], &out[i]))
            return false;
    return true;
}

/* The same, if sums are trusted to fit, and what makes that true; how many in all. 0: none,
 * or it makes no difference. */
static uint32_t derive_trusting(bounder *s, uint32_t loop, const tr_lin *goals, uint32_t n, const trust *t,
                                tr_lin *out) {
    uint32_t mark = tr_prover_mark(&s->pr);
    if (!t || !t->nconds || !derive_all(s, loop, t->fits, t->nfits, out + n))
        return 0;
    s->pr.guess = true;
    for (uint32_t k = 0; k < t->nconds; k++)
        tr_assume_cond(&s->pr, t->cond[k], t->truth[k]);
    s->pr.guess = false;
    bool ok = derive_all(s, loop, goals, n, out);
    tr_prover_pop(&s->pr, mark);
    return ok ? n + t->nfits : 0;
}

/* Plans tests before `loop` that would make all goals true. */
static bool plan_goals(bounder *s, uint32_t loop, const tr_lin *goals, uint32_t n, const trust *t) {
    tr_lin out[MAX_GOALS], plain[MAX_GOALS];
    uint32_t all = derive_trusting(s, loop, goals, n, t, out), same = 0;
    bool ok = derive_all(s, loop, goals, n, plain);
    while (ok && all && same < n && tr_lin_same(&out[same], &plain[same]))
        same++;
    if (!all || same == n) {
        if (!ok)
            return false;
        memcpy(out, plain, n * sizeof *out);
        all = n;
    }
    plan *p = &s->plans[loop], before = *p;
    for (uint32_t i = 0; i < all; i++)
        if (!add_cond(p, &out[i])) {
            *p = before;
            return false;
        }
    return true;
}

static bool block_is_slow(const bounder *s, tr_bid b) {
    return b < s->nslow && s->slow[b];
}

/* Are the least places of goal's rounds a known few items before 0? */
static bool begins_just_below_zero(bounder *s, uint32_t loop, const tr_lin *goal) {
    tr_lin some = *goal, out;
    some.c += FEW_BELOW;
    return tr_bounds_free_of(s, loop, &some, &out) && out.n == 0;
}

/* From the outermost loop inwards: the first that can be tested for. `otherwise`, where it is not NULL, are
 * goals that will do where the first rounds are just below those. */
static void plan_for(bounder *s, tr_bid b, const tr_lin *goals, uint32_t n, const tr_lin *otherwise,
                     const trust *t) {
    uint32_t chain[64], depth = 0;
    if (block_is_slow(s, b))
        return;
    for (uint32_t l = tr_forest_in(&s->loops, b); l != TR_NOLOOP && depth < 64; l = s->loops.all.d[l].parent)
        chain[depth++] = l;
    while (depth-- > 0) {
        uint32_t l = chain[depth];
        if (s->plans[l].done)
            continue;
        if (plan_goals(s, l, goals, n, t) ||
            (otherwise && begins_just_below_zero(s, l, goals) && plan_goals(s, l, otherwise, n, t)))
            return;
    }
}

/* The operand of a condition fits, if it is a sum of which that is not known. Far from the ends of the
 * integers: so what is tested for it is small, too. */
static bool trust_operand(bounder *s, tr_val v, trust *t) {
    tr_lin plain = tr_linearize(&s->pr, v), low, high = tr_lin_const(SMALL);
    s->pr.guess = true;
    low = tr_linearize(&s->pr, v);
    s->pr.guess = false;
    if (tr_lin_same(&plain, &low))
        return false;
    if (t->nfits + 2 > MAX_GOALS - MAX_OWN || !tr_lin_add(&high, &low, -1))
        return false;
    low.c += SMALL;
    t->fits[t->nfits++] = low;
    t->fits[t->nfits++] = high;
    return true;
}

/* Of conditions on the way to b, from the outermost loop on. */
static trust trust_conds(bounder *s, tr_bid b) {
    trust t = {.nconds = 0};
    for (; b != TR_NOBLK && tr_forest_in(&s->loops, b) != TR_NOLOOP && t.nconds < MAX_TRUSTED;
         b = tr_blk_at(s->f, b)->idom) {
        tr_val cond;
        bool truth;
        if (!tr_bounds_leads_to(s->f, b, &cond, &truth))
            continue;
        const tr_ins *c = tr_at(s->f, cond);
        if (c->op != TR_OP_CMP || tr_at(s->f, c->args[0])->ty->kind != TR_TY_I64)
            continue;
        bool first = trust_operand(s, c->args[0], &t), second = trust_operand(s, c->args[1], &t);
        if (first || second) {
            t.cond[t.nconds] = cond;
            t.truth[t.nconds++] = truth;
        }
    }
    return t;
}

/* Of a param that is one of several values: what a guess that fails only for want of it needs, in place of a
 * goal that nothing proves. How many goals that makes. */
static uint32_t wanted_for(bounder *s, tr_val i, const tr_lin *goals, uint32_t n, tr_lin *out) {
    const tr_ins *in = tr_at(s->f, i);
    tr_lin v = tr_lin_val(i), hole = tr_lin_val(TR_NOVAL);
    uint32_t m = 0;
    bool any = false;
    if (in->op != TR_OP_PARAM)
        return 0;
    uint32_t index = tr_param_index(s->f, i);
    for (uint32_t k = 0; k < n; k++) {
        tr_lin e = goals[k];
        int64_t c = k ? -1 : 1; /* i, and n - 1 - i */
        const tr_guess *found = NULL;
        if (!tr_lin_add(&e, &v, -c) || !tr_lin_add(&e, &hole, c))
            return 0;
        for (uint32_t g = 0; g < s->wanted.n && !tr_prove(&s->pr, &goals[k]); g++)
            if (s->wanted.d[g].blk == in->blk && s->wanted.d[g].index == index &&
                tr_lin_same(&s->wanted.d[g].e, &e))
                found = &s->wanted.d[g];
        any = any || found;
        for (uint32_t d = 0; found && d < found->nneeds; d++)
            out[m++] = found->needs[d];
        if (!found)
            out[m++] = goals[k];
    }
    return any ? m : 0;
}

/* 0 <= i and i < n, on trust that sums do not wrap: the second walk proves that too. A wrapped index may
 * begin behind the array's beginning, as y[i - 1] does from i = 0 on: -n <= i will do. */
static void plan_check(bounder *s, tr_bid b, tr_val i, tr_val n, bool wrapped) {
    s->pr.guess = true;
    tr_lin at = tr_linearize(&s->pr, i), size = tr_linearize(&s->pr, n), goals[2] = {at, size}, wide[2];
    s->pr.guess = false;
    goals[1].c -= 1;
    if (!tr_lin_add(&goals[1], &at, -1))
        return;
    wide[0] = at;
    wide[1] = goals[1];
    trust t = trust_conds(s, b);
    tr_lin wanted[MAX_OWN];
    uint32_t n_wanted = wanted_for(s, i, goals, 2, wanted);
    if (n_wanted) {
        plan_for(s, b, wanted, n_wanted, NULL, NULL);
        return;
    }
    plan_for(s, b, goals, 2, wrapped && tr_lin_add(&wide[0], &size, 1) ? wide : NULL, &t);
}

static void plan_wrap(bounder *s, tr_bid b, tr_val i) {
    s->pr.guess = true;
    tr_lin goal = tr_linearize(&s->pr, i);
    s->pr.guess = false;
    trust t = trust_conds(s, b);
    plan_for(s, b, &goal, 1, NULL, &t);
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
        in->flags = in->sub = 0;
        s->changed = true;
    } else if (in->sub == TR_LOAD_GUARDED) {
        plan_wrap(s, in->blk, in->args[0]);
    }
}

/* Past a check it has held. */
static void assume_check(bounder *s, const tr_lin *i, const tr_lin *room) {
    s->pr.leaf = true;
    tr_assume(&s->pr, i);
    if (room)
        tr_assume(&s->pr, room);
    s->pr.leaf = false;
}

static void visit_check(bounder *s, tr_val v) {
    const tr_ins *in = tr_at(s->f, v);
    tr_lin i = tr_linearize(&s->pr, in->args[0]), n = tr_linearize(&s->pr, in->args[1]), room = n;
    room.c -= 1;
    bool sum = tr_lin_add(&room, &i, -1);
    if (s->dry || !sum || !tr_prove(&s->pr, &i) || !tr_prove(&s->pr, &room)) {
        const tr_ins *w = tr_at(s->f, in->args[0]);
        bool wrapped = w->op == TR_OP_WRAP;
        if (!s->dry)
            plan_check(s, in->blk, wrapped ? w->args[0] : in->args[0], in->args[1], wrapped);
        assume_check(s, &i, sum ? &room : NULL);
        return;
    }
    tr_ins_remove(s->f, v);
    s->changed = true;
}

/* Other checks on integers, such as that of a divisor: a comparison that always holds needs none. */
static void visit_cond(bounder *s, tr_val v) {
    const tr_ins *in = tr_at(s->f, v), *c = tr_at(s->f, in->args[0]);
    if (!s->dry && c->op == TR_OP_CMP && tr_at(s->f, c->args[0])->ty->kind == TR_TY_I64) {
        tr_lin x = tr_linearize(&s->pr, c->args[0]), y = tr_linearize(&s->pr, c->args[1]), up = x, down = y;
        bool fit = tr_lin_add(&up, &y, -1) && tr_lin_add(&down, &x, -1); /* x - y, y - x */
        bool below = c->sub == TR_CMP_LT || c->sub == TR_CMP_LE || c->sub == TR_CMP_NE;
        bool above = c->sub == TR_CMP_GT || c->sub == TR_CMP_GE || c->sub == TR_CMP_NE;
        int strict = c->sub == TR_CMP_LT || c->sub == TR_CMP_GT || c->sub == TR_CMP_NE;
        up.c -= strict;
        down.c -= strict;
        if (fit && ((below && tr_prove(&s->pr, &down)) || (above && tr_prove(&s->pr, &up)))) {
            tr_ins_remove(s->f, v);
            s->changed = true;
            return;
        }
    }
    tr_assume_cond(&s->pr, in->args[0], true);
}

/* --- remainders --- */

static bool at_least(bounder *s, const tr_lin *a, const tr_lin *b, int64_t k,
                     tr_wide c) { /* a + k*b + c >= 0 */
    tr_lin e = *a;
    e.c += c;
    return tr_lin_add(&e, b, k) && tr_prove(&s->pr, &e);
}

/* v becomes `x op bound ? x + sign*n : x` */
static void remainder_as_select(bounder *s, tr_val v, tr_cmpop op, tr_val bound, tr_op sign) {
    tr_fn *f = s->f;
    tr_ins in = *tr_at(f, v);
    tr_bld b = {.fn = f, .blk = in.blk, .before = v, .loc = in.loc};
    tr_val c = tr_emit_cmp(&b, op, in.args[0], bound);
    tr_val other = tr_emit2(&b, sign, in.ty, in.args[0], in.args[1]), args[] = {c, other, in.args[0]};
    tr_ins *to = tr_at(f, v);
    to->op = TR_OP_SELECT;
    to->flags = 0;
    to->nargs = 3;
    to->args = tr_arena_copy(&f->ctx->arena, args, sizeof args);
    s->changed = true;
}

/* x % n of Python for 0 <= x: no sign to mend; for x within one n of the range: no division at all, as in (i
 * + 1) % n. */
static void visit_floormod(bounder *s, tr_val v) {
    tr_ins *in = tr_at(s->f, v);
    tr_lin x = tr_linearize(&s->pr, in->args[0]), n = tr_linearize(&s->pr, in->args[1]), r = tr_lin_val(v),
           room = n;
    tr_lin zero = tr_lin_const(0);
    room.c -= 1;
    bool positive = at_least(s, &n, &zero, 1, -1), forward = at_least(s, &x, &zero, 1, 0);
    if (in->ty->kind != TR_TY_I64 || tr_is_const(tr_at(s->f, in->args[1])) || !positive)
        return;
    if (tr_lin_add(&room, &r, -1)) {
        tr_assume(&s->pr, &r);
        tr_assume(&s->pr, &room);
    }
    tr_lin twice = zero;
    if (forward && tr_lin_add(&twice, &n, 2) && at_least(s, &twice, &x, -1, -1))
        remainder_as_select(s, v, TR_CMP_GE, in->args[1], TR_OP_SUB);
    else if (!forward && at_least(s, &x, &n, 1, 0) && at_least(s, &n, &x, -1, -1))
        remainder_as_select(s, v, TR_CMP_LT, tr_const_int(s->f, in->ty, 0), TR_OP_ADD);
    else if (forward) {
        in->op = TR_OP_REM;
        s->changed = true;
    }
}

/* --- sums --- */

/* A sum that is known to fit says so: LLVM then sees how addresses move from round to round. */
static void visit_sum(bounder *s, tr_val v) {
    tr_ins *in = tr_at(s->f, v);
    if (in->ty->kind != TR_TY_I64 || in->flags & F_NSW)
        return;
    tr_lin e = tr_linearize(&s->pr, v), whole = tr_lin_val(v);
    if (!tr_lin_same(&e, &whole)) { /* it came apart */
        in->flags |= F_NSW;
        s->changed = true;
    }
}

static void visit(bounder *s, tr_val v) {
    tr_ins *in = tr_at(s->f, v);
    for (uint32_t i = 0; i < in->nargs; i++)
        in->args[i] = tr_repl_get(&s->r, in->args[i]);
    tr_prover_meet(&s->pr, v);
    switch ((tr_op)in->op) {
    case TR_OP_WRAP:
        if (!s->dry)
            visit_wrap(s, v);
        break;
    case TR_OP_CHECKIDX: visit_check(s, v); break;
    case TR_OP_FLOORMOD:
        if (!s->dry)
            visit_floormod(s, v);
        break;
    case TR_OP_CHECK: visit_cond(s, v); break;
    case TR_OP_STORE: tr_bounds_see_store(s, v); break;
    case TR_OP_ADD:
    case TR_OP_SUB:
    case TR_OP_MUL:
    case TR_OP_NEG:
        if (!s->dry)
            visit_sum(s, v);
        break;
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
    if (tr_bounds_leads_to(f, b, &cond, &truth))
        tr_assume_cond(&s->pr, cond, truth);
    tr_bounds_at_start(s, b);
    tr_bounds_find_carried(s, b);
    for (tr_val v = tr_blk_at(f, b)->first, next; v != TR_NOVAL; v = next) {
        next = tr_at(f, v)->next;
        visit(s, v);
    }
    if (s->dry)
        tr_bounds_at_end(s, b);
    for (tr_bid c = s->dom.first[b]; c != TR_NOBLK; c = s->dom.next[c])
        walk(s, c);
    tr_prover_pop(&s->pr, mark);
}

/* --- guesses --- */

/* Walks until the guesses that are left hold together; after a few walks without an end all are dropped. */
static void try_guesses(bounder *s) {
    tr_bounds_make_guesses(s);
    s->dry = true;
    s->wanted.n = 0;
    for (int k = 0; k < MAX_TRIES && s->guesses.n; k++) {
        s->retry = false;
        walk(s, 0);
        if (!s->retry)
            break;
        uint32_t n = 0;
        for (uint32_t i = 0; i < s->guesses.n; i++)
            if (!s->guesses.d[i].wrong)
                s->guesses.d[n++] = s->guesses.d[i];
            else if (s->guesses.d[i].nneeds)
                tr_vec_push(&s->f->ctx->arena, &s->wanted, s->guesses.d[i]);
        s->guesses.n = k + 1 < MAX_TRIES ? n : 0;
    }
    s->dry = false;
}

/* --- rounds --- */

/* Outer loops have smaller numbers; one that is versioned takes the loops inside it along. */
static bool loop_is_covered(const bounder *s, uint32_t l, const uint8_t *versioned) {
    for (uint32_t up = s->loops.all.d[l].parent; up != UINT32_MAX; up = s->loops.all.d[up].parent)
        if (versioned[up])
            return true;
    return false;
}

/* A test may use a value of another loop that is copied with this one: it is mended with all other uses. */
static bool version_loops(bounder *s, uint32_t *growth, tr_u32s *slow) {
    tr_fn *f = s->f;
    tr_arena *a = &f->ctx->arena;
    uint8_t *versioned = TR_NEW_N(a, uint8_t, s->loops.all.n + 1u);
    TR_VEC(tr_version) now = {0};
    for (uint32_t l = 0; l < s->loops.all.n; l++) {
        if (!s->plans[l].n || loop_is_covered(s, l, versioned))
            continue;
        uint32_t size = tr_loop_size(f, &s->loops.all.d[l]);
        if (size > MAX_LOOP || *growth + size > MAX_GROWTH)
            continue;
        tr_version v = {&s->loops.all.d[l], s->plans[l].conds, s->plans[l].n};
        versioned[l] = 1;
        tr_vec_push(a, &now, v);
        tr_vec_push(a, &s->versioned, s->loops.all.d[l].header);
        *growth += size;
    }
    if (now.n)
        tr_opt_version(f, now.d, now.n, slow);
    return now.n > 0;
}

/* Do threads wait for each other in it? All that meet must run the same instruction, so that it may
 * not have a copy which some of them take: what a test finds can differ from thread to thread. A
 * function that is called may do anything. */
static bool loop_has_meeting(const tr_fn *f, const tr_loop *l) {
    if (f->kind != TR_FN_KERNEL && f->kind != TR_FN_DEVICE)
        return false;
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (tr_op_meets(tr_at(f, v)->op) != TR_MEETING_NONE || tr_at(f, v)->op == TR_OP_CALL)
                return true;
    return false;
}

static void set_up(bounder *s, const tr_u32s *slow) {
    tr_fn *f = s->f;
    tr_arena *a = &f->ctx->arena;
    tr_cfg_compute(f);
    tr_dom_compute(f);
    s->pr = tr_prover_new(f);
    s->dom = tr_opt_domtree(f);
    s->loops = tr_forest_find(f);
    s->plans = TR_NEW_N(a, plan, s->loops.all.n + 1u);
    s->nslow = f->blks.n;
    s->slow = TR_NEW_N(a, uint8_t, f->blks.n + 1u);
    for (uint32_t i = 0; i < slow->n; i++)
        s->slow[slow->d[i]] = 1;
    for (uint32_t i = 0; i < s->versioned.n; i++) /* once is enough: what it did not make provable stays */
        s->plans[tr_forest_in(&s->loops, s->versioned.d[i])].done = true;
    for (uint32_t i = 0; i < s->loops.all.n; i++)
        if (loop_has_meeting(f, &s->loops.all.d[i]))
            s->plans[i].done = true;
    s->r = tr_repl_new(f);
}

static bool has_work(const tr_fn *f) {
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (tr_at(f, v)->op == TR_OP_WRAP || tr_at(f, v)->op == TR_OP_CHECKIDX)
                return true;
    return false;
}

/* What rounds hand on goes in registers; threads of a kernel and iterations of a prange hand on nothing. */
static void hand_on(bounder *s) {
    if (s->f->kind == TR_FN_KERNEL || s->f->kind == TR_FN_DEVICE || tr_opt_has(s->f, TR_OP_PRANGE))
        return;
    tr_bounds_carry(s);
    tr_bounds_carry_behind(s);
    tr_repl_apply(s->f, &s->r);
}

bool tr_opt_bounds(tr_prog *p, tr_fn *f) {
    (void)p;
    bounder s = {.f = f};
    tr_u32s slow = {0};
    uint32_t growth = 0;
    for (int round = 0; round < ROUNDS && has_work(f); round++) {
        set_up(&s, &slow);
        try_guesses(&s);
        s.carried.n = s.kept.n = 0;
        walk(&s, 0);
        tr_repl_apply(f, &s.r);
        if (round + 1 == ROUNDS || !version_loops(&s, &growth, &slow)) {
            hand_on(&s);
            break;
        }
        s.changed = true;
    }
    return s.changed;
}
