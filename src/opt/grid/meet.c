/* Where threads of a block wait for each other, on the host: barriers, and what the lanes
 * of a warp do together.
 *
 * The body is cut there. Before the cut each thread stores what it gives (mask, value, number) into arrays
 * over the threads; between, where all of them have come, the block makes what they get; behind, each loads
 * its own. So a shuffle is a loop over 32 lanes, whose rounds are independent, and a vote two. The meaning is
 * that of the interpreter (ir/interp_meet.c): lanes that a mask names and that are not there, but have not
 * ended, are waited for; a shuffle from who is not there gives zero. */
#include <assert.h>
#include <string.h>

#include "opt/grid/grid.h"
#include "opt/emit.h"
#include "opt/priv.h"

/* --- cutting --- */

static const tr_ty *type(const tr_grid *s, tr_tyk k) {
    return tr_ty_scalar(s->p->ctx->types, k);
}

/* An array over the threads, or one cell. */
static tr_val new_home(tr_grid *s, const tr_ty *elem, bool cell) {
    tr_val v = tr_blk_param(s->g, 0, tr_ty_array(s->p->ctx->types, elem, 1, TR_LAYOUT_C, false), NULL);
    if (cell)
        tr_vec_push(tr_grid_arena(s), &s->cells, v);
    return v;
}

static tr_val give(tr_grid *s, tr_bld *b, tr_val v) {
    if (tr_is_const(tr_at(s->g, v)))
        return v;
    tr_val home = new_home(s, tr_at(s->g, v)->ty, false), me = tr_grid_my_number(s, b);
    tr_emit3(b, TR_OP_STORE, NULL, home, me, v);
    return home;
}

static void cut_at(tr_grid *s, tr_val v) {
    tr_fn *g = s->g;
    tr_ins in = *tr_at(g, v);
    tr_stop stop = {.line = g->locs.d[in.loc].place.span.line,
                    .op = (tr_op)in.op,
                    .sub = in.sub,
                    .given = {TR_NOVAL, TR_NOVAL, TR_NOVAL},
                    .result = TR_NOVAL};
    tr_bld b = {.fn = g, .blk = in.blk, .before = v, .loc = in.loc};
    bool block = in.op == TR_OP_BARVOTE;
    for (uint32_t k = 0; k < in.nargs; k++)
        stop.given[k + block] = give(s, &b, in.args[k]); /* of a warp the first is the mask */
    stop.on = tr_blk_cut(s->g, v, tr_at(s->g, v)->loc);
    stop.at = in.blk;
    if (in.ty) {
        b.blk = stop.on;
        stop.result = new_home(s, in.ty, block);
        tr_val me = block ? tr_const_int(g, s->i64, 0) : tr_grid_my_number(s, &b);
        tr_repl r = tr_repl_new(g);
        tr_repl_set(g, &r, v, tr_emit2(&b, TR_OP_LOAD, in.ty, stop.result, me));
        tr_repl_apply(g, &r);
    }
    tr_ins_remove(g, v);
    tr_vec_push(tr_grid_arena(s), &s->stops, stop);
}

void tr_grid_cut_meetings(tr_grid *s) {
    for (tr_bid b = 0; b < s->g->blks.n; b++)
        for (tr_val v = tr_blk_at(s->g, b)->dead ? TR_NOVAL : tr_blk_at(s->g, b)->first; v != TR_NOVAL;
             v = tr_at(s->g, v)->next)
            if (tr_op_meets(tr_at(s->g, v)->op) != TR_MEETING_NONE) {
                cut_at(s, v);
                break; /* the rest stands in a block of its own now, a later one */
            }
}

/* --- what they get --- */

typedef struct meet {
    tr_grid *s;
    const tr_stop *stop;
    const tr_val *known;
    const tr_present *who;
    tr_val first, lanes; /* the warp's first thread, how many it has */
    tr_val there, yes;   /* a bit for each lane, int64: who is there; for whom the value is true */
    tr_val others;       /* lanes that have not ended */
} meet;

static tr_val bit(meet *m, tr_op op, tr_val x, tr_val y) {
    return tr_emit2(&m->s->b, op, m->s->i64, x, y);
}
static tr_val lane_bit(meet *m, tr_val lane) {
    return bit(m, TR_OP_SHL, tr_emit_int(&m->s->b, 1), lane);
}
static tr_val wide(meet *m, tr_val v) {
    return tr_emit1(&m->s->b, TR_OP_CONV, m->s->i64, v);
}
static tr_val is_zero(meet *m, tr_val v) {
    return tr_emit_cmp(&m->s->b, TR_CMP_EQ, v, tr_emit_int(&m->s->b, 0));
}

/* What thread t gave. */
static tr_val given(meet *m, unsigned k, tr_val t) {
    tr_val v = m->stop->given[k];
    const tr_ins *in = tr_at(m->s->g, v);
    if (tr_is_const(in))
        return tr_const_import(m->s->lam, in);
    return tr_emit2(&m->s->b, TR_OP_LOAD, in->ty->elem, m->known[v], t);
}

static bool stop_names_all_threads(const meet *m) {
    const tr_ins *in = m->stop->given[0] == TR_NOVAL ? NULL : tr_at(m->s->g, m->stop->given[0]);
    return !in || (tr_is_const(in) && (uint32_t)in->imm.i == UINT32_MAX);
}

static tr_val is_there(meet *m, tr_val t) {
    const tr_present *w = m->who;
    if (w->state == TR_NOVAL)
        return tr_const_int(m->s->lam, m->s->i1, 1);
    const tr_ty *elem = tr_at(m->s->lam, w->state)->ty->elem;
    tr_val v = tr_emit2(&m->s->b, TR_OP_LOAD, elem, w->state, t);
    if (elem == m->s->i1)
        return tr_emit2(&m->s->b, TR_OP_OR, m->s->i1, w->all, v);
    return tr_emit_cmp(&m->s->b, TR_CMP_EQ, v, w->here);
}

/* Of each lane a bit, where it is there, gave what is true, has not ended. */
static void look_around(meet *m) {
    tr_grid *s = m->s;
    bool all = m->who->state == TR_NOVAL, asks = m->stop->op == TR_OP_VOTE;
    tr_val carry[3] = {tr_emit_int(&s->b, 0), tr_emit_int(&s->b, 0), tr_emit_int(&s->b, 0)}, zero = carry[0];
    tr_turns l;
    tr_grid_begin_turns(s, &l, m->lanes, 3, carry);
    tr_val t = tr_grid_op(s, TR_OP_ADD, m->first, l.i), mine = lane_bit(m, l.i), here = is_there(m, t);
    tr_val out[3] = {carry[0], carry[1], carry[2]};
    out[0] = bit(m, TR_OP_OR, carry[0], all ? mine : tr_emit_select(&m->s->b, here, mine, zero));
    if (asks) {
        tr_val yes = given(m, 1, t);
        if (!all)
            yes = tr_emit2(&s->b, TR_OP_AND, s->i1, yes, here);
        out[1] = bit(m, TR_OP_OR, carry[1], tr_emit_select(&m->s->b, yes, mine, zero));
    }
    if (m->who->waits) {
        tr_val ended = is_zero(m, tr_emit2(&s->b, TR_OP_LOAD, s->i64, m->who->state, t));
        out[2] = bit(m, TR_OP_OR, carry[2], tr_emit_select(&m->s->b, ended, zero, mine));
    }
    tr_grid_end_turns(s, &l, memcpy(carry, out, sizeof carry));
    m->there = carry[0];
    m->yes = carry[1];
    m->others = carry[2];
}

/* Lane's value from another: its own from beyond the warp, zero from a lane that is not
 * there, as GPUs have it. */
static tr_val shuffle(meet *m, tr_val lane, tr_val t, tr_val mask) {
    tr_grid *s = m->s;
    tr_val by = bit(m, TR_OP_AND, wide(m, given(m, 2, t)), tr_emit_int(&s->b, TR_WARP - 1)), from = by;
    if (m->stop->sub == TR_SHFL_UP)
        from = bit(m, TR_OP_SUB, lane, by);
    else if (m->stop->sub == TR_SHFL_DOWN)
        from = bit(m, TR_OP_ADD, lane, by);
    else if (m->stop->sub == TR_SHFL_XOR)
        from = bit(m, TR_OP_XOR, lane, by);
    tr_val size = tr_emit_int(&s->b, TR_WARP),
           in = tr_emit_cmp(&s->b, TR_CMP_GE, from, tr_emit_int(&s->b, 0));
    in = tr_emit2(&s->b, TR_OP_AND, s->i1, in, tr_emit_cmp(&s->b, TR_CMP_LT, from, size));
    from = tr_emit_select(&m->s->b, in, from, lane);
    tr_val ok = tr_emit_cmp(&s->b, TR_CMP_LT, from, m->lanes);
    if (mask != TR_NOVAL) {
        tr_val named = bit(m, TR_OP_AND, bit(m, TR_OP_SHR, mask, from), tr_emit_int(&s->b, 1));
        ok = tr_emit2(&s->b, TR_OP_AND, s->i1, ok,
                      tr_emit_cmp(&s->b, TR_CMP_NE, named, tr_emit_int(&s->b, 0)));
    }
    tr_val got = given(m, 1, tr_grid_op(s, TR_OP_ADD, m->first, tr_emit_select(&m->s->b, ok, from, lane)));
    const tr_ty *ty = tr_at(s->lam, got)->ty;
    tr_val none = tr_ty_is_float(ty) ? tr_const_float(s->lam, ty, 0) : tr_const_int(s->lam, ty, 0);
    return tr_emit_select(&m->s->b, ok, got, none);
}

static tr_val vote(meet *m, tr_val mask) {
    tr_grid *s = m->s;
    tr_val yes = bit(m, TR_OP_AND, m->yes, mask);
    tr_val all = tr_emit_cmp(&s->b, TR_CMP_EQ, yes, mask), none = is_zero(m, yes);
    switch ((tr_vote)m->stop->sub) {
    case TR_VOTE_ALL: return all;
    case TR_VOTE_ANY: return tr_emit1(&s->b, TR_OP_NOT, s->i1, none);
    case TR_VOTE_EQ: return tr_emit2(&s->b, TR_OP_OR, s->i1, all, none);
    default: return tr_emit1(&s->b, TR_OP_CONV, type(s, TR_TY_U32), yes);
    }
}

/* The array of values as one of integers: compared bit by bit. */
static tr_val as_bits(meet *m) {
    tr_grid *s = m->s;
    tr_val v = m->stop->given[1];
    const tr_ins *in = tr_at(s->g, v);
    if (tr_is_const(in) || !tr_ty_is_float(in->ty->elem))
        return TR_NOVAL;
    const tr_ty *elem = type(s, tr_ty_size(in->ty->elem) == 4 ? TR_TY_I32 : TR_TY_I64);
    tr_val args[3] = {m->known[v], tr_emit_int(&s->b, 0), s->threads};
    return tr_emit_v(&s->b, TR_OP_RESTRIDE, tr_ty_array(s->p->ctx->types, elem, 1, TR_LAYOUT_C, false), 3,
                     args);
}

static tr_val match(meet *m, tr_val bits, tr_val t, tr_val mask) {
    tr_grid *s = m->s;
    tr_val carry[1] = {tr_emit_int(&s->b, 0)}, mine, other;
    tr_turns l;
    const tr_ty *elem = bits == TR_NOVAL ? NULL : tr_at(s->lam, bits)->ty->elem;
    mine = elem ? tr_emit2(&s->b, TR_OP_LOAD, elem, bits, t) : given(m, 1, t);
    tr_grid_begin_turns(s, &l, m->lanes, 1, carry);
    tr_val at = tr_grid_op(s, TR_OP_ADD, m->first, l.i);
    other = elem ? tr_emit2(&s->b, TR_OP_LOAD, elem, bits, at) : given(m, 1, at);
    tr_val same = tr_emit_cmp(&s->b, TR_CMP_EQ, mine, other);
    carry[0] =
        bit(m, TR_OP_OR, carry[0], tr_emit_select(&m->s->b, same, lane_bit(m, l.i), tr_emit_int(&s->b, 0)));
    tr_grid_end_turns(s, &l, carry);
    tr_val out = bit(m, TR_OP_AND, carry[0], mask);
    if (m->stop->sub == TR_VOTE_ALL)
        out = tr_emit_select(&m->s->b, tr_emit_cmp(&s->b, TR_CMP_EQ, out, mask), out, tr_emit_int(&s->b, 0));
    return tr_emit1(&s->b, TR_OP_CONV, type(s, TR_TY_U32), out);
}

/* A lane that its own mask does not name waits for others and not for itself: nobody means that. */
static void check_named(meet *m, tr_val mask, tr_val mine) {
    tr_grid *s = m->s;
    tr_val named = tr_emit_cmp(&s->b, TR_CMP_NE, bit(m, TR_OP_AND, mask, mine), tr_emit_int(&s->b, 0));
    tr_val line = tr_emit_int(&s->b, m->stop->line), check = tr_emit2(&s->b, TR_OP_CHECK, NULL, named, line);
    tr_at(s->lam, check)->imm.site = tr_grid_site(
        s, TR_EXC_RUNTIME, "what a warp does in line {0} is reached by a lane that its mask does not name");
}

static void put_lane(meet *m, tr_val bits, tr_val lane) {
    tr_grid *s = m->s;
    tr_val t = tr_grid_op(s, TR_OP_ADD, m->first, lane), mask = m->there, got = TR_NOVAL;
    if (!stop_names_all_threads(m)) {
        tr_val own = wide(m, given(m, 0, t));
        check_named(m, own, lane_bit(m, lane));
        mask = mask == TR_NOVAL ? own : bit(m, TR_OP_AND, own, mask);
    }
    switch (m->stop->op) {
    case TR_OP_SHFL: got = shuffle(m, lane, t, mask); break;
    case TR_OP_VOTE: got = vote(m, mask); break;
    case TR_OP_MATCH: got = match(m, bits, t, mask); break;
    case TR_OP_ACTIVEMASK: got = tr_emit1(&s->b, TR_OP_CONV, type(s, TR_TY_U32), mask); break;
    default: break;
    }
    if (m->stop->result != TR_NOVAL && got != TR_NOVAL)
        tr_emit3(&s->b, TR_OP_STORE, NULL, m->known[m->stop->result], t, got);
}

/* May this lane go on? All that its mask names are here, or have ended. */
static tr_val may_go(meet *m, tr_val t) {
    tr_grid *s = m->s;
    tr_val mask =
        stop_names_all_threads(m) ? m->others : bit(m, TR_OP_AND, m->others, wide(m, given(m, 0, t)));
    if (m->stop->op == TR_OP_ACTIVEMASK) /* is waited for by nobody */
        mask = tr_emit_int(&s->b, 0);
    tr_val absent = bit(m, TR_OP_AND, mask, tr_emit1(&s->b, TR_OP_NOT, s->i64, m->there));
    return tr_emit2(&s->b, TR_OP_AND, s->i1, is_there(m, t), is_zero(m, absent));
}

static void put_warp(meet *m, tr_val bits) {
    tr_grid *s = m->s;
    bool all = m->who->state == TR_NOVAL;
    m->there = m->yes = m->others = TR_NOVAL;
    if (!all || m->stop->op != TR_OP_SHFL)
        look_around(m);
    tr_turns l;
    tr_grid_begin_turns(s, &l, m->lanes, 0, NULL);
    l.apart = true;
    if (m->who->waits || !(all || stop_names_all_threads(m))) { /* others' lanes have given nothing */
        tr_bid mine = tr_blk_new(s->lam), next = tr_blk_new(s->lam);
        tr_val t = tr_grid_op(s, TR_OP_ADD, m->first, l.i);
        tr_cbr(&s->b, m->who->waits ? may_go(m, t) : is_there(m, t), mine, 0, NULL, next, 0, NULL);
        s->b.blk = mine;
        put_lane(m, bits, l.i);
        if (m->who->waits)
            tr_emit3(&s->b, TR_OP_STORE, NULL, m->who->state, t,
                     tr_emit1(&s->b, TR_OP_NEG, s->i64, m->who->here));
        tr_br(&s->b, next, 0, NULL);
        s->b.blk = next;
    } else {
        put_lane(m, bits, l.i);
    }
    tr_grid_end_turns(s, &l, NULL);
}

static void put_warps(meet *m) {
    tr_grid *s = m->s;
    tr_val size = tr_emit_int(&s->b, TR_WARP), n, bits = TR_NOVAL;
    if (m->stop->op == TR_OP_MATCH)
        bits = as_bits(m);
    n = tr_emit2(&s->b, TR_OP_QUOT, s->i64,
                 tr_grid_op(s, TR_OP_ADD, s->threads, tr_emit_int(&s->b, TR_WARP - 1)), size);
    tr_turns l;
    tr_grid_begin_turns(s, &l, n, 0, NULL);
    m->first = tr_grid_op(s, TR_OP_MUL, l.i, size);
    tr_val left = bit(m, TR_OP_SUB, s->threads, m->first);
    m->lanes = tr_emit_least(&s->b, left, size);
    put_warp(m, bits);
    tr_grid_end_turns(s, &l, NULL);
}

/* For one of those that are there it is true: looked for up to the first, which mostly is
 * the first of all. */
static void put_any(meet *m) {
    tr_grid *s = m->s;
    tr_val zero = tr_emit_int(&s->b, 0), got;
    tr_bid found = tr_blk_new(s->lam), next = tr_blk_new(s->lam), done = tr_blk_new(s->lam);
    tr_turns l;
    tr_val answer = tr_blk_param(s->lam, done, s->i64, NULL), one = tr_emit_int(&s->b, 1);
    tr_grid_begin_turns(s, &l, s->threads, 0, NULL);
    tr_val here = is_there(m, l.i), yes = tr_emit2(&s->b, TR_OP_AND, s->i1, given(m, 1, l.i), here);
    tr_cbr(&s->b, yes, found, 0, NULL, next, 0, NULL);
    s->b.blk = found;
    tr_br(&s->b, done, 1, &one);
    s->b.blk = next;
    tr_grid_end_turns(s, &l, NULL);
    tr_br(&s->b, done, 1, &zero);
    s->b.blk = done;
    got = tr_emit1(&s->b, TR_OP_CONV, type(s, TR_TY_I32), answer);
    tr_emit3(&s->b, TR_OP_STORE, NULL, m->known[m->stop->result], zero, got);
}

/* A barrier with a result: how many there are, and of how many it is true. */
static void put_count(meet *m) {
    tr_grid *s = m->s;
    tr_val carry[2] = {tr_emit_int(&s->b, 0), tr_emit_int(&s->b, 0)}, zero = carry[0],
           one = tr_emit_int(&s->b, 1);
    tr_turns l;
    tr_grid_begin_turns(s, &l, s->threads, 2, carry);
    tr_val here = is_there(m, l.i), yes = tr_emit2(&s->b, TR_OP_AND, s->i1, given(m, 1, l.i), here);
    carry[0] = tr_grid_op(s, TR_OP_ADD, carry[0], tr_emit_select(&m->s->b, here, one, zero));
    carry[1] = tr_grid_op(s, TR_OP_ADD, carry[1], tr_emit_select(&m->s->b, yes, one, zero));
    tr_grid_end_turns(s, &l, carry);
    tr_val got = carry[1];
    if (m->stop->sub != TR_VOTE_COUNT) {
        tr_val c = tr_emit_cmp(&s->b, TR_CMP_EQ, carry[0], carry[1]);
        got = tr_emit_select(&m->s->b, c, one, zero);
    }
    got = tr_emit1(&s->b, TR_OP_CONV, type(s, TR_TY_I32), got);
    tr_emit3(&s->b, TR_OP_STORE, NULL, m->known[m->stop->result], zero, got);
}

void tr_grid_meet(tr_grid *s, const tr_stop *stop, const tr_val *known, const tr_present *who) {
    assert(tr_op_meets(stop->op) != TR_MEETING_NONE && "threads wait for each other there");
    meet m = {.s = s, .stop = stop, .known = known, .who = who};
    if (stop->op == TR_OP_BARVOTE && stop->sub == TR_VOTE_ANY)
        put_any(&m);
    else if (stop->op == TR_OP_BARVOTE)
        put_count(&m);
    else if (tr_op_meets(stop->op) == TR_MEETING_WARP && (who->waits || stop->op != TR_OP_SYNCWARP))
        put_warps(&m);
}
