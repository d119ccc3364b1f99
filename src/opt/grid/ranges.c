/* Loops in which threads walk a range the grid's stride apart, on the host: run by the block, in step.
 *
 *   for i in range(start, stop, step): ...        i = start; while i < stop: ...; i += step
 *
 * stop and step are the same for all threads, the step is a number of threads or blocks, or a constant, and
 * start is a place in the block, delta, and something that all share. Then the thread at place 0 is the last
 * to leave, and who has left is told by his place alone: delta < rest, where rest is what is left of the
 * range for that one, before a round. So the block counts down, once for all, and no thread has to say
 * whether it goes on (as in even.c, which has the loops that do not fit here). The rest is exact, as it
 * has 64 bits and no sign; starts are taken apart only where their sums fit. */
#include <assert.h>
#include <string.h>

#include "opt/grid/even.h"
#include "opt/emit.h"
#include "opt/priv.h"

enum { FITS = 62, DEEP = 6 }; /* bits */

typedef struct stride {
    tr_range_parts r;
    tr_val all, delta; /* start: what all share, and the place; NOVAL: 0 */
} stride;

/* --- sizes --- */

/* More than FITS: another number. */
unsigned tr_grid_bits(const tr_fn *g, tr_val v, unsigned depth) {
    const tr_ins *in = tr_at(g, v);
    int64_t n;
    if (tr_get_int(g, v, &n))
        return n < 0 ? FITS + 1 : n == 0 ? 0 : 64 - (unsigned)__builtin_clzll((unsigned long long)n);
    if (tr_opt_place_bits(in->op))
        return tr_opt_place_bits(in->op);
    if (!depth || (in->op != TR_OP_ADD && in->op != TR_OP_MUL))
        return FITS + 1;
    unsigned a = tr_grid_bits(g, in->args[0], depth - 1), b = tr_grid_bits(g, in->args[1], depth - 1);
    if (in->op == TR_OP_MUL)
        return a + b;
    return (a > b ? a : b) + 1;
}

bool tr_grid_is_count(const tr_fn *g, tr_val v, unsigned depth) {
    const tr_ins *in = tr_at(g, v);
    int64_t n;
    if (tr_get_int(g, v, &n))
        return n > 0;
    return in->op == TR_OP_BLOCKDIM || in->op == TR_OP_GRIDDIM ||
           (in->op == TR_OP_MUL && depth && tr_grid_is_count(g, in->args[0], depth - 1) &&
            tr_grid_is_count(g, in->args[1], depth - 1));
}

/* --- does it fit? --- */

/* start as what all share and a place that is not negative. */
static bool split_start(const even *e, stride *st) {
    tr_fn *g = e->g;
    tr_val at = st->r.start;
    st->all = st->delta = TR_NOVAL;
    for (unsigned k = 0; k < DEEP; k++) {
        const tr_ins *in = tr_at(g, at);
        if (!e->u.varies[at]) {
            st->all = at;
            return true;
        }
        bool whole = tr_grid_bits(g, at, DEEP) <= FITS;
        if (in->op != TR_OP_ADD || (!whole && !(in->flags & F_NSW)))
            return st->delta == TR_NOVAL && whole && (st->delta = at, true);
        bool first = e->u.varies[in->args[0]] != 0;
        if (first && e->u.varies[in->args[1]]) /* places of two axes */
            return st->delta == TR_NOVAL && whole && (st->delta = at, true);
        tr_val place = in->args[!first];
        if (st->delta != TR_NOVAL || tr_grid_bits(g, place, DEEP) > FITS)
            return false;
        st->delta = place;
        st->all = in->args[first];
        return true;
    }
    return false;
}

static bool find_stride(const even *e, stride *st) {
    const tr_fn *g = e->g;
    tr_bid h = e->loop->header;
    tr_loop_test t;
    tr_counter walks;
    if (!tr_forest_test(&e->loops, e->number, &t) || tr_at(g, t.counter)->ty != e->s->i64 ||
        !tr_loop_counter(g, h, t.counter, &walks) || walks.start == TR_NOVAL)
        return false;
    *st = (stride){.r = {.start = walks.start, .stop = t.bound, .step = walks.step}};
    if (e->u.varies[st->r.stop] && (!tr_is_int(g, st->r.step, 1) || !tr_is_int(g, st->r.start, 0) ||
                                    !tr_grid_range(g, st->r.stop, &st->r)))
        return false;
    return !e->u.varies[st->r.stop] && !e->u.varies[st->r.step] && tr_grid_is_count(g, st->r.step, DEEP) &&
           split_start(e, st);
}

/* --- making it --- */

static tr_val choose(tr_bld *b, tr_cmpop how, tr_val x, tr_val y, tr_val yes, tr_val no) {
    tr_val c = tr_emit_cmp(b, how, x, y);
    return tr_emit_select(b, c, yes, no);
}

/* Where a value of the loop's outside may be used: at the end of the block before it. */
static tr_val first_rest(const even *e, const stride *st, const tr_ty *u64, tr_bid before) {
    tr_fn *g = e->g;
    tr_bld b = tr_bld_at_end(g, before);
    tr_val zero = tr_const_int(g, e->s->i64, 0), from = st->all == TR_NOVAL ? zero : st->all;
    tr_val n = tr_emit2(&b, TR_OP_SUB, e->s->i64, st->r.stop, from);
    return tr_emit1(&b, TR_OP_CONV, u64, choose(&b, TR_CMP_GT, st->r.stop, from, n, zero));
}

static void set_edge(const even *e, tr_edge *edge, tr_bid to, uint32_t n, const tr_val *args) {
    *edge = (tr_edge){to, n, tr_arena_copy(tr_grid_arena(e->s), args, (n + 1u) * sizeof *args)};
}

/* The head asks whether the range is done; a block behind it, whether it is for this
 * thread; all ways back meet in one. */
static void make_stride(even *e, const stride *st, tr_val round, tr_bid before) {
    tr_fn *g = e->g;
    const tr_ty *u64 = tr_ty_scalar(e->s->p->ctx->types, TR_TY_U64), *i64 = e->s->i64;
    tr_bid h = e->loop->header, join = tr_blk_new(g), lane = tr_blk_new(g);
    uint32_t n = tr_blk_at(g, h)->params.n - 1;
    tr_val *args = TR_NEW_N(tr_grid_arena(e->s), tr_val, n + 3u), zero = tr_const_int(g, u64, 0);
    tr_edge_add(g, &tr_term(g, before)->imm.succ[0], first_rest(e, st, u64, before));
    for (uint32_t j = 0; j < e->loop->blks.n; j++) {
        tr_ins *t = tr_term(g, e->loop->blks.d[j]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++)
            if (t->imm.succ[s].to == h)
                set_edge(e, &t->imm.succ[s], join, n, memcpy(args, t->imm.succ[s].args, n * sizeof *args));
    }
    tr_val rest = tr_blk_param(g, h, u64, NULL);
    for (uint32_t p = 0; p < n; p++)
        tr_blk_param(g, join, tr_at(g, tr_blk_at(g, h)->params.d[p])->ty, NULL);
    tr_edge body = tr_term(g, h)->imm.succ[0], out = tr_term(g, h)->imm.succ[1];
    uint32_t loc = tr_term(g, h)->loc;
    tr_ins_remove(g, tr_blk_at(g, h)->last);
    tr_bld b = {.fn = g, .blk = h, .before = TR_NOVAL, .loc = loc};
    tr_val more = tr_emit2(&b, TR_OP_CMP, e->s->i1, zero, rest),
           most = tr_const_int(g, u64, (int64_t)1 << FITS);
    tr_at(g, more)->sub = TR_CMP_LT;
    tr_val whole = tr_emit1(&b, TR_OP_CONV, i64, rest);
    tr_val lim = choose(&b, TR_CMP_LT, rest, most, whole, tr_const_int(g, i64, (int64_t)1 << FITS));
    tr_cbr(&b, more, lane, 0, NULL, out.to, out.n, out.args);
    b.blk = lane;
    tr_val mine =
        tr_emit_cmp(&b, TR_CMP_LT, st->delta == TR_NOVAL ? tr_const_int(g, i64, 0) : st->delta, lim);
    tr_cbr(&b, mine, body.to, body.n, body.args, join, n, tr_blk_at(g, h)->params.d);
    b.blk = join;
    memcpy(args, tr_blk_at(g, join)->params.d, n * sizeof *args);
    args[n] = tr_emit2(&b, TR_OP_ADD, i64, round, tr_const_int(g, i64, 1));
    tr_at(g, args[n])->flags |= F_NSW;
    tr_val by = tr_emit1(&b, TR_OP_CONV, u64, st->r.step);
    args[n + 1] = choose(&b, TR_CMP_LT, by, rest, tr_emit2(&b, TR_OP_SUB, u64, rest, by), zero);
    tr_br(&b, h, n + 2, args);
}

bool tr_grid_stride(even *e) {
    stride st;
    tr_bid before = tr_even_comes_from(e, false);
    if (before == TR_NOBLK || !find_stride(e, &st))
        return false;
    tr_val round = tr_even_add_counter(e);
    tr_even_count_rounds(e, round);
    make_stride(e, &st, round, before);
    tr_vec_push(tr_grid_arena(e->s), &e->s->strides, e->loop->header);
    return true;
}
