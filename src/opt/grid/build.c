/* What is made of a launch, piece by piece: numbers and rooms of a block, the loops over its threads, and
 * copies of the kernel's body in them. The ways to run a body (rounds.c, level.c, stages.c)
 * are made of these. */
#include <assert.h>
#include <stdarg.h>

#include "opt/emit.h"
#include "opt/grid/grid.h"
#include "opt/priv.h"

/* --- small pieces --- */

tr_val tr_grid_op(tr_grid *s, tr_op op, tr_val x, tr_val y) {
    tr_val v = tr_emit2(&s->b, op, s->i64, x, y);
    if (op == TR_OP_ADD || op == TR_OP_MUL) /* places fit: their number does */
        tr_at(s->b.fn, v)->flags |= F_NSW;
    return v;
}

const tr_site *tr_grid_site(const tr_grid *s, tr_exc exc, const char *text) {
    tr_site *t = TR_NEW(tr_grid_arena(s), tr_site);
    *t = (tr_site){exc, text, -1, NULL};
    return t;
}

bool tr_grid_fail(const tr_grid *s, tr_val at, const char *text) {
    tr_bid b = at == TR_NOVAL ? 0 : tr_at(s->g, at)->blk;
    bool whole = at == TR_NOVAL || tr_at(s->g, at)->op == TR_OP_PARAM; /* which has no place of its own */
    const tr_ins *in = tr_at(s->g, whole ? tr_blk_at(s->g, b)->first : at);
    tr_place place = tr_fn_place(s->g, in->loc);
    tr_err_add(s->p->ctx, TR_ERR_LOWERING, place, "%s: %s", s->g->name, text);
    return false;
}

/* Memory that a block finds again in the next stage. */
static tr_val lasting_room(tr_grid *s, const tr_ty *t, const tr_val *sizes) {
    const tr_ty *line = tr_ty_array(s->p->ctx->types, t->elem, 1, TR_LAYOUT_C, false);
    tr_grid_memory m = {.type = t, .param = tr_blk_param(s->lam, 0, line, NULL)};
    tr_val args[TR_MAX_NDIM + 3] = {m.param, tr_emit_int(&s->b, 1)};
    for (uint32_t k = 0; k < t->ndim; k++) {
        m.sizes[k] = args[2 + k] = sizes[k];
        args[1] = tr_grid_op(s, TR_OP_MUL, args[1], sizes[k]);
    }
    args[1] = tr_grid_op(s, TR_OP_MUL, args[1], s->number);
    tr_vec_push(tr_grid_arena(s), &s->memory, m);
    return tr_emit_v(&s->b, TR_OP_RESTRIDE, t, 2 + t->ndim, args);
}

tr_val tr_grid_room(tr_grid *s, const tr_ty *elem, uint32_t n, const tr_val *sizes) {
    assert(n > 0 && n <= TR_MAX_NDIM && "an array has axes");
    const tr_ty *t = tr_ty_array(s->p->ctx->types, elem, n, TR_LAYOUT_C, false);
    if (s->stages)
        return lasting_room(s, t, sizes);
    tr_val v = tr_emit_v(&s->b, TR_OP_ALLOC, t, n, sizes);
    tr_at(s->lam, v)->imm.site = tr_grid_site(s, TR_EXC_MEMORY, "cannot allocate an array of {0} bytes");
    return v;
}

tr_val tr_grid_meaning(const tr_grid *s, const tr_ins *in) {
    switch ((tr_op)in->op) {
    case TR_OP_THREADIDX: return s->thread[in->imm.i];
    case TR_OP_BLOCKIDX: return s->block[in->imm.i];
    case TR_OP_BLOCKDIM: return s->caps[3 + in->imm.i];
    case TR_OP_GRIDDIM: return s->caps[in->imm.i];
    default: return TR_NOVAL;
    }
}

void tr_grid_say(const tr_grid *s, const char *fmt, ...) {
    tr_ctx *c = s->p->ctx;
    bool dumps = tr_dump_wants(&c->dump, TR_STAGE_EMULATION, NULL, s->g->name);
    if (!dumps && !tr_remarks_wanted(c))
        return;
    va_list ap;
    va_start(ap, fmt);
    const char *text = tr_arena_vprintf(tr_grid_arena(s), fmt, ap);
    va_end(ap);
    if (dumps)
        tr_sb_printf(&c->dump_text, "%s: %s\n", s->g->name, text);
    tr_remark_add(c, TR_REMARK_THREADS, (tr_place){.file = s->g->file}, "%s", text);
}

int32_t tr_grid_line(const tr_grid *s, tr_bid b) {
    return tr_fn_place(s->g, tr_term(s->g, b)->loc).span.line;
}

/* --- loops over the threads --- */

void tr_grid_begin_turns(tr_grid *s, tr_turns *l, tr_val n, uint32_t ncarry, tr_val *carry) {
    assert(ncarry <= TR_CARRY);
    tr_val args[TR_CARRY + 1] = {tr_emit_int(&s->b, 0)};
    tr_bid body = tr_blk_new(s->lam);
    l->apart = false;
    l->head = tr_blk_new(s->lam);
    l->exit = tr_blk_new(s->lam);
    l->ncarry = ncarry;
    for (uint32_t c = 0; c < ncarry; c++)
        args[c + 1] = carry[c];
    tr_br(&s->b, l->head, ncarry + 1, args);
    l->i = tr_blk_param(s->lam, l->head, s->i64, NULL);
    for (uint32_t c = 0; c < ncarry; c++)
        carry[c] = l->carry[c] = tr_blk_param(s->lam, l->head, s->i64, NULL);
    s->b.blk = l->head;
    tr_cbr(&s->b, tr_emit_cmp(&s->b, TR_CMP_LT, l->i, n), body, 0, NULL, l->exit, 0, NULL);
    s->b.blk = body;
}

void tr_grid_end_turns(tr_grid *s, const tr_turns *l, tr_val *carry) {
    tr_val args[TR_CARRY + 1];
    args[0] = tr_grid_op(s, TR_OP_ADD, l->i, tr_emit_int(&s->b, 1));
    tr_at(s->lam, args[0])->sub = l->apart ? TR_TURN_APART : TR_TURN_NONE;
    for (uint32_t c = 0; c < l->ncarry; c++) {
        args[c + 1] = carry[c];
        carry[c] = l->carry[c];
    }
    tr_br(&s->b, l->head, l->ncarry + 1, args);
    s->b.blk = l->exit;
}

/* A block has one thread along it, wherever it runs. */
static bool axis_has_one_thread(const tr_grid *s, unsigned axis) {
    return tr_is_int(s->f, tr_at(s->f, s->call)->args[3 + axis], 1);
}

tr_val tr_grid_extent(const tr_grid *s, unsigned axis) {
    return s->wide.yes && axis == TR_AXIS_X ? s->wide.extent : s->caps[3 + axis];
}

/* A bijection: i * p + q modulo n with a prime p above all n. */
tr_val tr_grid_permuted(tr_grid *s, tr_val i, tr_val n, uint64_t by) {
    /* the largest primes below 2^k; https://oeis.org/A014234 */
    static const int64_t primes[] = {4294967291, 8589934583, 17179869143, 34359738337, 68719476731};
    enum { PRIMES = sizeof primes / sizeof *primes };
    uint64_t mixed = tr_hash_bytes(&by, sizeof by, 0);
    tr_val most = tr_emit_int(&s->b, INT32_MAX), one = tr_emit_int(&s->b, 1);
    tr_val p = tr_grid_op(s, TR_OP_REM, tr_emit_int(&s->b, primes[mixed % PRIMES]), n);
    tr_val q = tr_grid_op(s, TR_OP_REM, tr_emit_int(&s->b, (int64_t)(mixed >> 33)), n);
    tr_val few = tr_emit_cmp(&s->b, TR_CMP_LE, n, most);
    tr_val to = tr_grid_op(s, TR_OP_REM, tr_grid_op(s, TR_OP_MUL, i, tr_emit_select(&s->b, few, p, one)), n);
    to = tr_grid_op(s, TR_OP_REM, tr_grid_op(s, TR_OP_ADD, to, q), n);
    return tr_emit_select(&s->b, few, to, i);
}

uint32_t tr_grid_seed(const tr_grid *s) {
    return s->p->ctx->opts.watch ? 0 : s->p->ctx->opts.seed;
}

/* Sets the thread's place from its number. */
static void place_threads(tr_grid *s, tr_val i) {
    for (unsigned k = 0; k < TR_AXES; k++) {
        s->thread[k] = k == TR_AXIS_Z ? i : tr_grid_op(s, TR_OP_REM, i, s->caps[3 + k]);
        i = k == TR_AXIS_Z ? i : tr_grid_op(s, TR_OP_QUOT, i, s->caps[3 + k]);
    }
}

void tr_grid_begin_threads(tr_grid *s, tr_threads *l, uint32_t ncarry, tr_val *carry) {
    if (tr_grid_seed(s)) {
        tr_grid_begin_turns(s, &l->axis[0], s->threads, ncarry, carry);
        place_threads(s, tr_grid_permuted(s, l->axis[0].i, s->threads, (uint64_t)tr_grid_seed(s) << 1));
        return;
    }
    for (unsigned k = TR_AXES; k-- > 0;) {
        if (axis_has_one_thread(s, k)) {
            s->thread[k] = tr_emit_int(&s->b, 0);
            continue;
        }
        tr_grid_begin_turns(s, &l->axis[k], tr_grid_extent(s, k), ncarry, carry);
        l->axis[k].apart = !s->in_turn;
        s->thread[k] = l->axis[k].i;
    }
}

void tr_grid_end_threads(tr_grid *s, tr_threads *l, tr_val *carry) {
    for (unsigned k = 0; k < TR_AXES; k++) {
        if (tr_grid_seed(s) ? k == 0 : !axis_has_one_thread(s, k))
            tr_grid_end_turns(s, &l->axis[k], carry);
        s->thread[k] = TR_NOVAL;
    }
}

tr_val tr_grid_me(tr_grid *s) {
    tr_val me = TR_NOVAL;
    for (unsigned k = TR_AXES; k-- > 0;) {
        if (axis_has_one_thread(s, k) && (k || me != TR_NOVAL))
            continue;
        if (me != TR_NOVAL)
            me = tr_grid_op(s, TR_OP_MUL, me, tr_grid_extent(s, k));
        me = me == TR_NOVAL ? s->thread[k] : tr_grid_op(s, TR_OP_ADD, me, s->thread[k]);
    }
    return me;
}

static tr_val place(tr_bld *b, tr_op op, const tr_ty *i64, unsigned axis) {
    tr_val v = tr_emit0(b, op, i64);
    tr_at(b->fn, v)->imm.i = axis;
    return v;
}

tr_val tr_grid_my_number(const tr_grid *s, tr_bld *b) {
    tr_val n = TR_NOVAL;
    for (unsigned k = TR_AXES; k-- > 0;) {
        if (axis_has_one_thread(s, k) && (k || n != TR_NOVAL))
            continue;
        if (n != TR_NOVAL) {
            tr_val size = s->wide.yes && k == TR_AXIS_X ? s->wide.span : place(b, TR_OP_BLOCKDIM, s->i64, k);
            n = tr_emit2(b, TR_OP_MUL, s->i64, n, size);
            tr_at(b->fn, n)->flags |= F_NSW;
        }
        tr_val at = place(b, TR_OP_THREADIDX, s->i64, k);
        if (n != TR_NOVAL) {
            at = tr_emit2(b, TR_OP_ADD, s->i64, n, at);
            tr_at(b->fn, at)->flags |= F_NSW;
        }
        n = at;
    }
    return n;
}

tr_bid *tr_grid_copy(tr_grid *s, const tr_u32s *blks, const tr_val *known, tr_bid outside) {
    assert(blks->n > 0 && "a piece has a block to begin with");
    tr_fn *lam = s->lam, *g = s->g;
    tr_val *map = tr_arena_copy(tr_grid_arena(s), known, g->ins.n * sizeof *map);
    tr_bid *bmap = TR_NEW_N(tr_grid_arena(s), tr_bid, g->blks.n + 1u);
    for (tr_bid b = 0; b < g->blks.n; b++)
        bmap[b] = outside;
    tr_clone_blocks(lam, g, blks->d, blks->n, map, bmap, s->loc);
    const tr_blk *entry = tr_blk_at(g, blks->d[0]);
    tr_val *args = TR_NEW_N(tr_grid_arena(s), tr_val, entry->params.n + 1u);
    for (uint32_t k = 0; k < entry->params.n; k++) {
        tr_val v = known[entry->params.d[k]];
        args[k] = v != TR_NOVAL ? v : tr_const_undef(lam, tr_at(g, entry->params.d[k])->ty);
    }
    tr_br(&s->b, bmap[blks->d[0]], entry->params.n, args);
    tr_repl r = tr_repl_new(lam);
    for (uint32_t k = 0; k < blks->n; k++)
        for (tr_val v = tr_blk_at(g, blks->d[k])->first; v != TR_NOVAL; v = tr_at(g, v)->next) {
            tr_val to = known[v] != TR_NOVAL ? known[v] : tr_grid_meaning(s, tr_at(g, v));
            if (to == TR_NOVAL)
                continue;
            tr_repl_set(lam, &r, map[v], to);
            tr_ins_remove(lam, map[v]);
        }
    tr_repl_apply(lam, &r);
    return bmap;
}
