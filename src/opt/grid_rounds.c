/* A kernel's body with barriers in any flow of control, on the host: after each piece the block asks where its threads have come to
 * (continuation-based synchronisation).
 *
 * A piece is all that can be run from a barrier on up to the next ones; a block of the body has a copy in each piece that reaches it. All threads at one
 * barrier: the piece behind it is next. At two: an error that names both. Who has ended is not waited for. So nothing has to be known of what is the same
 * for all, and divergence is found when it happens. */
#include <assert.h>
#include <string.h>

#include "opt/grid.h"
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

/* A copy of these blocks, entered from where the builder is; threads that end or come to a barrier go to `done` with the barrier's number. */
static void put_piece(tr_grid *s, const tr_u32s *blks, const tr_val *known, tr_bid done) {
    tr_fn *lam = s->lam;
    tr_bid *bmap = tr_grid_copy(s, blks, known, done);
    uint32_t no = 0;
    for (uint32_t k = 0; k < blks->n; k++) {
        tr_bid b = bmap[blks->d[k]];
        tr_val last = tr_blk_at(lam, b)->last, where = tr_grid_number(s, 0);
        const tr_stop *stop = stop_at(s, blks->d[k], &no);
        if (!stop && tr_at(lam, last)->op != TR_OP_RET)
            continue;
        if (stop)
            where = tr_grid_number(s, no);
        tr_bld e = {.fn = lam, .blk = b, .before = TR_NOVAL, .loc = tr_at(lam, last)->loc};
        tr_ins_remove(lam, last);
        tr_br(&e, done, 1, &where);
    }
}

/* The loops over the threads around a piece. `here`: the barrier that it stands behind, 0 the kernel's beginning; `at`: per thread, the barrier where it
 * waits. Carried: the least and the largest number of a barrier that a thread has come to, and whether one has ended. */
static void put_loops(tr_grid *s, tr_bid from, int64_t here, tr_val at, tr_val everybody, const tr_val *known,
                      tr_val *carry) {
    tr_threads l;
    tr_grid_begin_threads(s, &l, 3, carry);
    tr_bid done = tr_blk_new(s->lam), next = tr_blk_new(s->lam);
    tr_val where = tr_blk_param(s->lam, done, s->i64, NULL), me = tr_grid_me(s);
    for (unsigned k = 0; k < 3; k++)
        tr_blk_param(s->lam, next, s->i64, NULL);
    if (here) {
        tr_bid mine = tr_blk_new(s->lam);
        tr_val waits = tr_emit2(&s->b, TR_OP_LOAD, s->i64, at, me);
        waits = tr_grid_compare(s, TR_CMP_EQ, waits, tr_grid_number(s, here));
        waits = tr_emit2(&s->b, TR_OP_OR, s->i1, everybody, waits);
        tr_cbr(&s->b, waits, mine, 0, NULL, next, 3, carry);
        s->b.blk = mine;
    }
    tr_u32s blks = piece_from(s, from);
    put_piece(s, &blks, known, done);
    s->b.blk = done;
    tr_val ended = tr_grid_compare(s, TR_CMP_EQ, where, tr_grid_number(s, 0)), out[3];
    tr_emit3(&s->b, TR_OP_STORE, NULL, at, me, where);
    tr_val later = tr_grid_compare(s, TR_CMP_GT, where, carry[0]);
    out[0] = tr_grid_choose(s, tr_emit2(&s->b, TR_OP_OR, s->i1, ended, later), carry[0], where);
    out[1] = tr_grid_choose(s, tr_grid_compare(s, TR_CMP_GT, where, carry[1]), where, carry[1]);
    out[2] = tr_grid_choose(s, ended, tr_grid_number(s, 1), carry[2]);
    tr_br(&s->b, next, 3, out);
    s->b.blk = next;
    memcpy(carry, tr_blk_at(s->lam, next)->params.d, 3 * sizeof *carry);
    tr_grid_end_threads(s, &l, carry);
}

/* The line of the barrier of this number. */
static tr_val line_of(tr_grid *s, tr_val no) {
    tr_val line = tr_grid_number(s, 0);
    for (uint32_t k = 0; k < s->stops.n; k++)
        line = tr_grid_choose(s, tr_grid_compare(s, TR_CMP_EQ, no, tr_grid_number(s, k + 1)),
                              tr_grid_number(s, s->stops.d[k].line), line);
    return line;
}

/* Piece after piece, until no thread waits. */
void tr_grid_rounds_put(tr_grid *s, tr_val *known) {
    tr_val carry[3] = {tr_grid_number(s, INT64_MAX), tr_grid_number(s, 0), tr_grid_number(s, 0)};
    tr_val at = tr_grid_room(s, s->i64, 1, &s->threads);
    put_loops(s, 0, 0, at, TR_NOVAL, known, carry);
    tr_bid ask = tr_blk_new(s->lam), go = tr_blk_new(s->lam), end = tr_blk_new(s->lam);
    tr_val p[3];
    tr_br(&s->b, ask, 3, carry);
    for (unsigned k = 0; k < 3; k++)
        p[k] = tr_blk_param(s->lam, ask, s->i64, NULL);
    s->b.blk = ask;
    tr_cbr(&s->b, tr_grid_compare(s, TR_CMP_EQ, p[1], tr_grid_number(s, 0)), end, 0, NULL, go, 0, NULL);
    s->b.blk = go;
    tr_val lines[2] = {line_of(s, p[0]), line_of(s, p[1])};
    tr_val same = tr_grid_compare(s, TR_CMP_EQ, p[0], p[1]),
           everybody = tr_grid_compare(s, TR_CMP_EQ, p[2], tr_grid_number(s, 0));
    tr_val check = tr_emit3(&s->b, TR_OP_CHECK, NULL, same, lines[0], lines[1]);
    tr_at(s->lam, check)->imm.site = tr_grid_site(
        s, TR_EXC_RUNTIME,
        tr_arena_printf(tr_grid_arena(s),
                        "%s: threads of a block wait at different barriers: in line {0} and in line {1}",
                        s->p->funcs.n > s->g->func ? s->p->funcs.d[s->g->func].name : s->g->name));
    tr_bid here = go;
    for (uint32_t k = 0; k < s->stops.n; k++) {
        tr_bid piece = tr_blk_new(s->lam), other = k + 1 < s->stops.n ? tr_blk_new(s->lam) : TR_NOBLK;
        s->b.blk = here;
        if (other == TR_NOBLK)
            tr_br(&s->b, piece, 0, NULL);
        else
            tr_cbr(&s->b, tr_grid_compare(s, TR_CMP_EQ, p[0], tr_grid_number(s, k + 1)), piece, 0, NULL,
                   other, 0, NULL);
        s->b.blk = piece;
        tr_val out[3] = {tr_grid_number(s, INT64_MAX), tr_grid_number(s, 0),
                         tr_grid_choose(s, everybody, tr_grid_number(s, 0), tr_grid_number(s, 1))};
        put_loops(s, s->stops.d[k].on, k + 1, at, everybody, known, out);
        tr_br(&s->b, ask, 3, out);
        here = other;
    }
    s->b.blk = end;
}
