/* What a loop reads one or two places behind the one it stores to, `out[i] = f(out[i - 1], x[i])`, goes from
 * round to round in params of the loop's head. Each round waited for what the round before had stored, where
 * LLVM does not see that it is that place: behind a test, a check, or a stride. It is stored as ever, so
 * whatever else reads the array finds what it found.
 *
 * Each way through a round must store to that one place, which moves by the same distance in all rounds, and
 * nothing else in the loop may write to that memory. Places are compared modulo 2**64, as indices are. The
 * first values are read before the loop, where they are in range: a round that would read others raises, or
 * does not read. One place behind lies what was stored last, until the round stores, however the array lies
 * in memory; for other loads no two of its elements may share memory.
 *
 * Not where a prange is in the function (carry.c). Cost: a look at each instruction of an innermost loop with
 * a store, for each place that is stored to there. */
#include <string.h>

#include "ir/alias.h"
#include "opt/scalar/bounds.h"
#include "opt/emit.h"

enum { MAX_BEHIND = 2, MAX_PLACES = 4, MAX_DEPTH = 8 };

typedef TR_VEC(tr_val) vals;

/* The stores of a loop that are to one place. */
typedef struct place {
    uint32_t loop;
    tr_val store; /* one of them */
    vals stores, loads[MAX_BEHIND];
    unsigned naxes, axis; /* the axis it moves along */
    tr_lin at;            /* where on that axis, in params of the loop's head and values from outside */
    int64_t step;
} place;

/* --- places --- */

/* v, modulo 2**64. */
static tr_lin sum_of(const tr_fn *f, tr_val v, int depth) {
    const tr_ins *in = tr_at(f, v);
    int64_t k;
    if (tr_get_int(f, v, &k))
        return tr_lin_const(k);
    if (!depth || in->ty->kind != TR_TY_I64)
        return tr_lin_val(v);
    bool sum = in->op == TR_OP_ADD || in->op == TR_OP_SUB;
    bool product =
        in->op == TR_OP_MUL && tr_get_int(f, in->args[1], &k) && k <= TR_LIN_COEF && k >= -TR_LIN_COEF;
    if (!sum && !product)
        return tr_lin_val(v);
    tr_lin x = sum_of(f, in->args[0], depth - 1), e = product ? tr_lin_const(0) : x;
    tr_lin y = product ? x : sum_of(f, in->args[1], depth - 1);
    return tr_lin_add(&e, &y, product ? k : in->op == TR_OP_ADD ? 1 : -1) ? e : tr_lin_val(v);
}

/* x - y, where that is a number. */
static bool find_distance(const tr_lin *x, const tr_lin *y, int64_t *out) {
    tr_lin d = *x;
    bool ok = tr_lin_add(&d, y, -1) && d.n == 0;
    *out = (int64_t)(uint64_t)d.c;
    return ok;
}

/* By how much does v, a value of the loop, grow in each round? */
static bool value_grows_by(const bounder *s, uint32_t l, tr_val v, int64_t *step) {
    const tr_fn *f = s->f;
    tr_bid head = s->loops.all.d[l].header;
    const tr_ins *in = tr_at(f, v);
    bool any = false;
    if (in->op != TR_OP_PARAM || in->blk != head || in->ty->kind != TR_TY_I64)
        return false;
    uint32_t index = tr_param_index(f, v);
    tr_lin now = tr_lin_val(v);
    for (tr_way w = {0}; tr_next_way(f, head, &w);) {
        if (!tr_forest_has(&s->loops, l, w.from))
            continue;
        tr_lin next = sum_of(f, w.edge->args[index], MAX_DEPTH);
        int64_t d;
        if (!find_distance(&next, &now, &d) || (any && d != *step))
            return false;
        *step = d;
        any = true;
    }
    return any;
}

static bool expr_moves_by(const bounder *s, uint32_t l, const tr_lin *e, int64_t *step) {
    uint64_t sum = 0;
    for (uint32_t k = 0; k < e->n; k++) {
        int64_t d = 0;
        if (tr_at(s->f, e->t[k].v)->ty->kind != TR_TY_I64 ||
            (!tr_forest_is_outside(&s->loops, l, e->t[k].v) && !value_grows_by(s, l, e->t[k].v, &d)))
            return false;
        sum += (uint64_t)e->t[k].k * (uint64_t)d;
    }
    *step = (int64_t)sum;
    return e->c >= INT64_MIN && e->c <= INT64_MAX;
}

static bool store_moves(const bounder *s, place *p) {
    const tr_fn *f = s->f;
    const tr_ins *st = tr_at(f, p->store);
    bool found = false;
    p->naxes = st->nargs - 2u;
    if (!tr_forest_is_outside(&s->loops, p->loop, st->args[0]) ||
        !tr_bounds_can_carry(tr_at(f, st->args[st->nargs - 1u])->ty))
        return false;
    for (unsigned a = 0; a < p->naxes; a++) {
        if (tr_forest_is_outside(&s->loops, p->loop, st->args[1 + a]))
            continue;
        if (found)
            return false;
        found = true;
        p->axis = a;
    }
    if (!found)
        return false;
    p->at = sum_of(f, st->args[1 + p->axis], MAX_DEPTH);
    return expr_moves_by(s, p->loop, &p->at, &p->step) && p->step != 0;
}

/* How far from the place is what `in` reads or stores? False: not on its line, or not by a number. */
static bool lies_off_place_by(const bounder *s, const place *p, const tr_ins *in, const tr_ty *ty,
                              int64_t *by) {
    const tr_ins *st = tr_at(s->f, p->store);
    if (in->args[0] != st->args[0] || ty != tr_at(s->f, st->args[st->nargs - 1u])->ty)
        return false;
    for (unsigned a = 0; a < p->naxes; a++)
        if (a != p->axis && in->args[1 + a] != st->args[1 + a])
            return false;
    tr_lin e = sum_of(s->f, in->args[1 + p->axis], MAX_DEPTH);
    return find_distance(&e, &p->at, by);
}

/* --- what the loop does --- */

/* The load, if it reads from d places behind. */
static void gather_load(bounder *s, place *p, tr_val v, bool stored) {
    tr_fn *f = s->f;
    bool apart = tr_at(f, tr_arg(f, p->store, 0))->ty->layout != TR_LAYOUT_ANY;
    int64_t by;
    if (!lies_off_place_by(s, p, tr_at(f, v), tr_at(f, v)->ty, &by))
        return;
    for (unsigned d = 1; d <= MAX_BEHIND; d++)
        if ((uint64_t)by + d * (uint64_t)p->step == 0 && (apart || (d == 1 && !stored)))
            tr_vec_push(&f->ctx->arena, &p->loads[d - 1], v);
}

/* Gathers stores to the place, and loads from behind it. False: something else may write
 * there. Blocks come in order. */
static bool gather_accesses(bounder *s, place *p) {
    tr_fn *f = s->f;
    const tr_loop *loop = &s->loops.all.d[p->loop];
    const tr_ins *st = tr_at(f, p->store);
    uint8_t *stores = TR_NEW_N(&f->ctx->arena, uint8_t,
                               f->blks.n + 1u); /* has the round stored at the block's end, on some way? */
    for (uint32_t k = 0; k < loop->blks.n; k++) {
        const tr_blk *blk = tr_blk_at(f, loop->blks.d[k]);
        bool stored = false;
        for (uint32_t i = 0; k > 0 && i < blk->preds.n; i++)
            stored = stored || stores[blk->preds.d[i]];
        for (tr_val v = blk->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            int64_t by;
            if (in->op == TR_OP_TRY)
                return false;
            if (in->op == TR_OP_LOAD)
                gather_load(s, p, v, stored);
            if (!(tr_ins_effects(in) & (E_WRITE | E_SIDE)))
                continue;
            if (in->op != TR_OP_STORE)
                return false;
            if (lies_off_place_by(s, p, in, tr_at(f, in->args[in->nargs - 1u])->ty, &by) && by == 0) {
                tr_vec_push(&f->ctx->arena, &p->stores, v);
                stored = true;
            } else if (!tr_arrays_distinct(f, in->args[0], st->args[0], loop->blks.d[k])) {
                return false;
            }
        }
        stores[loop->blks.d[k]] = stored;
    }
    return p->loads[0].n > 0;
}

/* What block b stores to the place last; TR_NOVAL: nothing. */
static tr_val stored_in(const tr_fn *f, const place *p, tr_bid b) {
    for (tr_val v = tr_blk_at(f, b)->last; v != TR_NOVAL; v = tr_at(f, v)->prev)
        if (tr_at(f, v)->op == TR_OP_STORE && tr_opt_among(v, p->stores.d, p->stores.n))
            return tr_arg(f, v, tr_at(f, v)->nargs - 1u);
    return TR_NOVAL;
}

/* Has each way from the loop's head to the end of b stored? Blocks come in order. */
static bool always_stores(const bounder *s, const place *p) {
    const tr_fn *f = s->f;
    const tr_loop *loop = &s->loops.all.d[p->loop];
    uint8_t *stored = TR_NEW_N(&f->ctx->arena, uint8_t, f->blks.n + 1u);
    for (uint32_t k = 0; k < loop->blks.n; k++) {
        tr_bid b = loop->blks.d[k];
        const tr_blk *blk = tr_blk_at(f, b);
        bool all = b != loop->header;
        for (uint32_t i = 0; all && i < blk->preds.n; i++)
            all = stored[blk->preds.d[i]];
        stored[b] = all || stored_in(f, p, b) != TR_NOVAL;
    }
    for (tr_way w = {0}; tr_next_way(f, loop->header, &w);)
        if (tr_forest_has(&s->loops, p->loop, w.from) && !stored[w.from])
            return false;
    return true;
}

/* --- changing it --- */

/* What the place holds at the end of b, where each way has stored. */
static tr_val held(bounder *s, const place *p, tr_bid b, tr_val *memo) {
    tr_fn *f = s->f;
    if (memo[b] == TR_NOVAL)
        memo[b] = stored_in(f, p, b);
    if (memo[b] != TR_NOVAL)
        return memo[b];
    tr_bid only = tr_blk_at(f, b)->preds.d[0];
    const tr_ty *ty = tr_at(f, p->loads[0].d[0])->ty;
    bool one = true;
    for (tr_way w = {0}; tr_next_way(f, b, &w);)
        one = one && w.from == only;
    if (one)
        return memo[b] = held(s, p, only, memo);
    memo[b] = tr_blk_param(f, b, ty, NULL);
    for (tr_way w = {0}; tr_next_way(f, b, &w);) {
        tr_val v = held(s, p, w.from, memo);
        tr_edge_add(f, &tr_term(f, w.from)->imm.succ[w.succ - 1], v);
    }
    return memo[b];
}

static tr_val nothing(tr_fn *f, const tr_ty *ty) {
    char c = tr_ty_class(ty);
    return c == 'f'   ? tr_const_float(f, ty, 0.0)
           : c == 'c' ? tr_const_complex(f, ty, 0.0, 0.0)
                      : tr_const_int(f, ty, 0);
}

/* Where the place is in the first round, d rounds before. `in` is the edge into the loop. */
static tr_val first_index(tr_bld *b, const place *p, tr_bid head, const tr_edge *in, unsigned d) {
    tr_fn *f = b->fn;
    const tr_ty *i64 = tr_ty_scalar(f->ctx->types, TR_TY_I64);
    uint64_t c = (uint64_t)p->at.c - (uint64_t)p->step * d;
    tr_val sum = TR_NOVAL;
    for (uint32_t k = 0; k < p->at.n; k++) {
        tr_val v = p->at.t[k].v;
        const tr_ins *i = tr_at(f, v);
        if (i->op == TR_OP_PARAM && i->blk == head)
            v = in->args[tr_param_index(f, v)];
        int64_t known;
        if (tr_get_int(f, v, &known)) {
            c += (uint64_t)known * (uint64_t)p->at.t[k].k;
            continue;
        }
        if (p->at.t[k].k != 1)
            v = tr_emit2(b, TR_OP_MUL, i64, v, tr_const_int(f, i64, p->at.t[k].k));
        sum = sum == TR_NOVAL ? v : tr_emit2(b, TR_OP_ADD, i64, sum, v);
    }
    tr_val by = tr_const_int(f, i64, (int64_t)c);
    return sum == TR_NOVAL ? by : c ? tr_emit2(b, TR_OP_ADD, i64, sum, by) : sum;
}

/* What lies d places behind the first round's is read in a block before the loop, where
 * there is such a place. */
static tr_val first_value(bounder *s, const place *p, unsigned d) {
    tr_fn *f = s->f;
    tr_loop *loop = &s->loops.all.d[p->loop];
    tr_bid before = loop->preheader;
    const tr_ins load = *tr_at(f, p->loads[0].d[0]);
    tr_edge in = tr_term(f, before)->imm.succ[0];
    tr_ins_remove(f, tr_blk_at(f, before)->last);
    tr_bld b = {.fn = f, .blk = before, .before = TR_NOVAL, .loc = load.loc};
    tr_val *args = TR_NEW_N(&f->ctx->arena, tr_val, load.nargs + 1u), ok = TR_NOVAL;
    memcpy(args, load.args, load.nargs * sizeof *args);
    args[1 + p->axis] = first_index(&b, p, loop->header, &in, d);
    for (unsigned a = 0; a < p->naxes; a++) {
        tr_val size = tr_emit_dim(&b, args[0], a);
        ok = tr_emit_both(&b, ok, tr_emit_cmp(&b, TR_CMP_LT, args[1 + a], size));
        int64_t known;
        if (!tr_get_int(f, args[1 + a], &known) || known < 0)
            ok = tr_emit_both(&b, ok, tr_emit_cmp(&b, TR_CMP_GE, args[1 + a], tr_emit_int(&b, 0)));
    }
    tr_bid read = tr_blk_new(f), on = tr_blk_new(f);
    tr_blk_at(f, read)->cold = tr_blk_at(f, on)->cold = tr_blk_at(f, before)->cold;
    tr_val out = tr_blk_param(f, on, load.ty, NULL), none = nothing(f, load.ty);
    tr_cbr(&b, ok, read, 0, NULL, on, 1, &none);
    b.blk = read;
    tr_val value = tr_emit_v(&b, TR_OP_LOAD, load.ty, load.nargs, args);
    tr_at(f, value)->flags = load.flags;
    tr_br(&b, on, 1, &value);
    b.blk = on;
    tr_br(&b, loop->header, in.n, in.args);
    loop->preheader = on;
    return out;
}

static void hand_on(bounder *s, const place *p) {
    tr_fn *f = s->f;
    tr_loop *loop = &s->loops.all.d[p->loop];
    const tr_ty *ty = tr_at(f, p->loads[0].d[0])->ty;
    tr_val *memo = TR_NEW_N(&f->ctx->arena, tr_val, f->blks.n + 1u), param[MAX_BEHIND] = {0},
           first[MAX_BEHIND] = {0};
    unsigned n = p->loads[1].n ? 2 : 1;
    for (tr_bid b = 0; b < f->blks.n; b++)
        memo[b] = TR_NOVAL;
    if (loop->preheader == TR_NOBLK)
        loop->preheader = tr_opt_preheader(f, loop->header);
    for (unsigned d = 0; d < n; d++) {
        first[d] = first_value(s, p, d + 1);
        param[d] = tr_blk_param(f, loop->header, ty, NULL);
    }
    for (tr_way w = {0}; tr_next_way(f, loop->header, &w);)
        if (tr_forest_has(&s->loops, p->loop, w.from))
            for (unsigned d = 0; d < n; d++) {
                tr_val v = d ? param[d - 1] : held(s, p, w.from, memo);
                tr_edge_add(f, &tr_term(f, w.from)->imm.succ[w.succ - 1], v);
            }
    for (unsigned d = 0; d < n; d++)
        tr_edge_add(f, &tr_term(f, loop->preheader)->imm.succ[0], first[d]);
    for (unsigned d = 0; d < n; d++)
        for (uint32_t k = 0; k < p->loads[d].n; k++) {
            tr_repl_set(f, &s->r, p->loads[d].d[k], param[d]);
            tr_ins_remove(f, p->loads[d].d[k]);
        }
    s->changed = true;
}

/* The places that the loop stores to, each once. */
static void look_at(bounder *s, uint32_t l) {
    tr_fn *f = s->f;
    const tr_loop *loop = &s->loops.all.d[l];
    TR_VEC(place) found = {0};
    uint32_t tries = 0;
    for (uint32_t k = 0; k < loop->blks.n; k++)
        for (tr_val v = tr_blk_at(f, loop->blks.d[k])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            place p = {.loop = l, .store = v};
            bool seen = false;
            if (tr_at(f, v)->op != TR_OP_STORE)
                continue;
            for (uint32_t i = 0; i < found.n; i++)
                seen = seen || tr_opt_among(v, found.d[i].stores.d, found.d[i].stores.n);
            if (seen || !store_moves(s, &p))
                continue;
            if (tries++ == MAX_PLACES)
                return;
            if (gather_accesses(s, &p) && always_stores(s, &p))
                tr_vec_push(&f->ctx->arena, &found, p);
        }
    for (uint32_t i = 0; i < found.n; i++)
        hand_on(s, &found.d[i]);
}

void tr_bounds_carry_behind(bounder *s) {
    const tr_fn *f = s->f;
    uint8_t *outer = TR_NEW_N(&f->ctx->arena, uint8_t, s->loops.all.n + 1u);
    for (uint32_t l = 0; l < s->loops.all.n; l++)
        if (s->loops.all.d[l].parent != UINT32_MAX)
            outer[s->loops.all.d[l].parent] = 1;
    for (uint32_t l = 0; l < s->loops.all.n; l++)
        if (!outer[l] && !tr_blk_at(f, s->loops.all.d[l].header)->cold)
            look_at(s, l);
}
