/* A kernel's body with barriers in any flow of control, on the host: after each piece the block asks where
 * its threads have come to (continuation-based synchronisation).
 *
 * A piece is all that can be run from a barrier on up to the next ones; a block of the body has a copy in
 * each piece that reaches it. All threads at one barrier: the piece behind it is next. At two: an error that
 * names both. Who has ended is not waited for. So nothing has to be known of what is the same for all, and
 * divergence is found when it happens. */
#include <assert.h>
#include <string.h>

#include "opt/emit.h"
#include "opt/grid/grid.h"
#include "opt/priv.h"

bool tr_grid_rounds_cut(tr_grid *s) {
    tr_arena *a = tr_grid_arena(s);
    uint8_t *head = TR_NEW_N(a, uint8_t, s->g->blks.n + 1u), *once = TR_NEW_N(a, uint8_t, s->g->ins.n + 1u);
    uint32_t *piece = TR_NEW_N(a, uint32_t, s->g->blks.n + 1u);
    for (tr_bid b = 0; b < s->g->blks.n; b++)
        piece[b] =
            b; /* copies of one block are in many pieces: none finds what another has left but in memory */
    for (uint32_t k = 0; k < s->stops.n; k++)
        head[s->stops.d[k].on] = 1;
    return tr_grid_cross(s, &(tr_pieces){head, piece, once});
}

/* --- a piece: the body's blocks from one on, up to barriers --- */

static const tr_stop *stop_at(const tr_grid *s, tr_bid b, uint32_t *no) {
    for (uint32_t k = 0; k < s->stops.n; k++)
        if (s->stops.d[k].at == b) {
            *no = k + 1;
            return &s->stops.d[k];
        }
    return NULL;
}

static tr_u32s piece_from(const tr_grid *s, tr_bid from) {
    tr_u32s out = {0};
    uint8_t *seen = TR_NEW_N(tr_grid_arena(s), uint8_t, s->g->blks.n + 1u);
    uint32_t no;
    seen[from] = 1;
    tr_vec_push(tr_grid_arena(s), &out, from);
    for (uint32_t k = 0; k < out.n; k++) {
        const tr_ins *t = tr_term(s->g, out.d[k]);
        for (uint32_t e = 0; e < tr_nsucc(t) && !stop_at(s, out.d[k], &no); e++)
            if (!seen[t->imm.succ[e].to]) {
                seen[t->imm.succ[e].to] = 1;
                tr_vec_push(tr_grid_arena(s), &out, t->imm.succ[e].to);
            }
    }
    return out;
}

/* A copy of these blocks, entered from where the builder is; threads that end or come to a barrier go
 * to `done` with the barrier's number. */
static void put_piece(tr_grid *s, const tr_u32s *blks, const tr_val *known, tr_bid done) {
    tr_fn *lam = s->lam;
    tr_bid *bmap = tr_grid_copy(s, blks, known, done);
    uint32_t no = 0;
    for (uint32_t k = 0; k < blks->n; k++) {
        tr_bid b = bmap[blks->d[k]];
        tr_val last = tr_blk_at(lam, b)->last, where = tr_emit_int(&s->b, 0);
        const tr_stop *stop = stop_at(s, blks->d[k], &no);
        if (!stop && tr_at(lam, last)->op != TR_OP_RET)
            continue;
        if (stop)
            where = tr_emit_int(&s->b, no);
        tr_bld e = {.fn = lam, .blk = b, .before = TR_NOVAL, .loc = tr_at(lam, last)->loc};
        tr_ins_remove(lam, last);
        tr_br(&e, done, 1, &where);
    }
}

/* The loops over the threads around a piece. `here`: what the state of a thread is that goes on here, 0:
 * everybody begins. `at`: per thread, the number of the stop where it waits, 0: it has ended. `moved`: a cell
 * that counts who went on, or NOVAL. */
static void put_loops(tr_grid *s, tr_bid from, int64_t here, tr_val at, tr_val moved, const tr_val *known) {
    tr_threads l;
    tr_grid_begin_threads(s, &l, 0, NULL);
    tr_bid done = tr_blk_new(s->lam), next = tr_blk_new(s->lam);
    tr_val where = tr_blk_param(s->lam, done, s->i64, NULL), me = tr_grid_me(s);
    if (here) {
        tr_bid mine = tr_blk_new(s->lam);
        tr_val waits = tr_emit2(&s->b, TR_OP_LOAD, s->i64, at, me);
        tr_cbr(&s->b, tr_emit_cmp(&s->b, TR_CMP_EQ, waits, tr_emit_int(&s->b, here)), mine, 0, NULL, next, 0,
               NULL);
        s->b.blk = mine;
    }
    tr_u32s blks = piece_from(s, from);
    put_piece(s, &blks, known, done);
    s->b.blk = done;
    tr_emit3(&s->b, TR_OP_STORE, NULL, at, me, where);
    if (moved != TR_NOVAL)
        tr_emit3(&s->b, TR_OP_STORE, NULL, moved, tr_emit_int(&s->b, 0), tr_emit_int(&s->b, 1));
    tr_br(&s->b, next, 0, NULL);
    s->b.blk = next;
    tr_grid_end_threads(s, &l, NULL);
}

/* --- the rounds --- */

/* The line of the barrier of this number. */
static tr_val line_of(tr_grid *s, tr_val no) {
    tr_val line = tr_emit_int(&s->b, 0);
    s->p->says_lines = true;
    for (uint32_t k = 0; k < s->stops.n; k++) {
        tr_val same = tr_emit_cmp(&s->b, TR_CMP_EQ, no, tr_emit_int(&s->b, k + 1));
        line = tr_emit_select(&s->b, same, tr_emit_int(&s->b, s->stops.d[k].line), line);
    }
    return line;
}

/* Lanes of a warp, a block, the grid. */
static unsigned class_of(const tr_stop *stop) {
    tr_meeting m = tr_op_meets(stop->op);
    return m == TR_MEETING_WARP ? 0 : m == TR_MEETING_GRID ? 2 : 1;
}

/* Where lanes of a warp meet comes first, each before what comes behind it; barriers of the grid come last.
 * n: how many there are of each class. */
static void sort_stops(tr_grid *s, uint32_t *n) {
    tr_stops out = {0};
    for (unsigned class = 0; class < 3; class ++) {
        n[class] = 0;
        for (uint32_t k = 0; k < s->g->rpo.n; k++)
            for (uint32_t j = 0; j < s->stops.n; j++)
                if (s->stops.d[j].at == s->g->rpo.d[k] && class_of(&s->stops.d[j]) == class) {
                    tr_vec_push(tr_grid_arena(s), &out, s->stops.d[j]);
                    n[class]++;
                }
    }
    s->stops = out;
}

static void raise_unless(tr_grid *s, tr_val ok, const char *text, uint32_t n, const tr_val *payload) {
    tr_val args[3] = {ok, n > 0 ? payload[0] : TR_NOVAL, n > 1 ? payload[1] : TR_NOVAL};
    tr_val check = tr_emit_v(&s->b, TR_OP_CHECK, NULL, n + 1, args);
    const char *name = s->p->funcs.n > s->g->func ? s->p->funcs.d[s->g->func].name : s->g->name;
    tr_at(s->lam, check)->imm.site =
        tr_grid_site(s, TR_EXC_RUNTIME, tr_arena_printf(tr_grid_arena(s), "%s: %s", name, text));
}

void tr_grid_raise_apart(tr_grid *s, tr_val ok, const char *text, const tr_val *numbers) {
    tr_val lines[2] = {line_of(s, numbers[0]), line_of(s, numbers[1])};
    raise_unless(s, ok, text, 2, lines);
}

void tr_grid_look(tr_grid *s, tr_val at, tr_val threads, tr_val *carry) {
    assert(tr_at(s->b.fn, at)->ty->kind == TR_TY_ARRAY && "where threads are is an array over them");
    tr_turns l;
    carry[0] = tr_emit_int(&s->b, INT64_MAX);
    carry[1] = tr_emit_int(&s->b, 0);
    tr_grid_begin_turns(s, &l, threads, 2, carry);
    tr_val where = tr_emit2(&s->b, TR_OP_LOAD, s->i64, at, l.i), out[2];
    tr_val ended = tr_emit_cmp(&s->b, TR_CMP_EQ, where, tr_emit_int(&s->b, 0));
    tr_val later = tr_emit_cmp(&s->b, TR_CMP_GT, where, carry[0]);
    out[0] = tr_emit_select(&s->b, tr_emit2(&s->b, TR_OP_OR, s->i1, ended, later), carry[0], where);
    out[1] = tr_emit_most(&s->b, where, carry[1]);
    tr_grid_end_turns(s, &l, memcpy(carry, out, sizeof out));
}

/* One after the other, the lanes that can go on do. If none can, they wait for each other. */
static void put_warps(tr_grid *s, uint32_t nwarp, tr_val at, tr_val moved, const tr_val *known, tr_bid ask) {
    tr_val zero = tr_emit_int(&s->b, 0);
    tr_emit3(&s->b, TR_OP_STORE, NULL, moved, zero, zero);
    for (uint32_t k = 0; k < nwarp; k++) {
        tr_val state[2];
        tr_present who = {at, tr_emit_int(&s->b, k + 1), TR_NOVAL, true};
        tr_grid_look(s, at, s->threads, state);
        tr_bid here = tr_blk_new(s->lam), next = tr_blk_new(s->lam);
        tr_val in = tr_emit_cmp(&s->b, TR_CMP_LE, state[0], who.here);
        tr_cbr(&s->b, in, here, 0, NULL, next, 0, NULL);
        s->b.blk = here;
        tr_grid_meet(s, &s->stops.d[k], known, &who);
        put_loops(s, s->stops.d[k].on, -(int64_t)k - 1, at, moved, known);
        tr_br(&s->b, next, 0, NULL);
        s->b.blk = next;
    }
    tr_val any = tr_emit2(&s->b, TR_OP_LOAD, s->i64, moved, zero), state[2];
    tr_grid_look(s, at, s->threads, state);
    tr_grid_raise_apart(s, tr_emit_cmp(&s->b, TR_CMP_NE, any, zero),
                        "lanes of a warp wait for lanes that are elsewhere: in line {0} and in line {1}",
                        state);
    tr_br(&s->b, ask, 0, NULL);
}

/* All threads are at one barrier, or it is an error. Of those from number first on. */
static void put_barriers(tr_grid *s, uint32_t first, uint32_t last, tr_val at, const tr_val *state,
                         const tr_val *known, tr_bid ask) {
    tr_grid_raise_apart(s, tr_emit_cmp(&s->b, TR_CMP_EQ, state[0], state[1]),
                        "threads of a block wait at different barriers: in line {0} and in line {1}", state);
    for (uint32_t k = first; k < last; k++) {
        tr_bid piece = tr_blk_new(s->lam), other = tr_blk_new(s->lam);
        tr_present who = {at, tr_emit_int(&s->b, k + 1), TR_NOVAL, false};
        tr_cbr(&s->b, tr_emit_cmp(&s->b, TR_CMP_EQ, state[0], who.here), piece, 0, NULL, other, 0, NULL);
        s->b.blk = piece;
        tr_grid_meet(s, &s->stops.d[k], known, &who);
        put_loops(s, s->stops.d[k].on, k + 1, at, TR_NOVAL, known);
        tr_br(&s->b, ask, 0, NULL);
        s->b.blk = other;
    }
    tr_br(&s->b, ask, 0, NULL); /* not reached */
}

/* Threads begin, or go on behind the barrier of the grid that the stage names. */
static void put_beginning(tr_grid *s, uint32_t first, tr_val at, const tr_val *known, tr_bid ask) {
    if (!s->stages) {
        put_loops(s, 0, 0, at, TR_NOVAL, known);
        tr_br(&s->b, ask, 0, NULL);
        return;
    }
    for (uint32_t k = first; k <= s->stops.n; k++) {
        int64_t here = k < s->stops.n ? (int64_t)k + 1 : 0;
        tr_bid mine = tr_blk_new(s->lam), other = tr_blk_new(s->lam);
        tr_cbr(&s->b, tr_emit_cmp(&s->b, TR_CMP_EQ, s->stage, tr_emit_int(&s->b, here)), mine, 0, NULL, other,
               0, NULL);
        s->b.blk = mine;
        put_loops(s, here ? s->stops.d[k].on : 0, here, at, TR_NOVAL, known);
        tr_br(&s->b, ask, 0, NULL);
        s->b.blk = other;
    }
    tr_br(&s->b, ask, 0, NULL); /* not reached */
}

/* Piece after piece, until no thread waits, or all that do wait for other blocks. */
void tr_grid_rounds_put(tr_grid *s, tr_val *known) {
    uint32_t n[3];
    sort_stops(s, n);
    s->at_memory = s->memory.n;
    tr_val one = tr_emit_int(&s->b, 1), at = tr_grid_room(s, s->i64, 1, &s->threads), state[2];
    tr_val moved = n[0] ? tr_grid_room(s, s->i64, 1, &one) : TR_NOVAL;
    tr_bid ask = tr_blk_new(s->lam), go = tr_blk_new(s->lam), end = tr_blk_new(s->lam);
    put_beginning(s, n[0] + n[1], at, known, ask);
    s->b.blk = ask;
    tr_grid_look(s, at, s->threads, state); /* where nobody waits the least is more than any number */
    tr_val last = tr_emit_int(&s->b, n[0] + n[1]);
    tr_cbr(&s->b, tr_emit_cmp(&s->b, TR_CMP_GT, state[0], last), end, 0, NULL, go, 0, NULL);
    s->b.blk = go;
    if (n[0]) {
        tr_bid warps = tr_blk_new(s->lam), barriers = tr_blk_new(s->lam);
        tr_val some = tr_emit_cmp(&s->b, TR_CMP_LE, state[0], tr_emit_int(&s->b, n[0]));
        tr_cbr(&s->b, some, warps, 0, NULL, barriers, 0, NULL);
        s->b.blk = warps;
        put_warps(s, n[0], at, moved, known, ask);
        s->b.blk = barriers;
    }
    put_barriers(s, n[0], n[0] + n[1], at, state, known, ask);
    s->b.blk = end;
}
