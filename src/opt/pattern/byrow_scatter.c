/* Scatters in the round of a loop over rows (byrow.c), labels and what is added up by them: a round stores
 * what its rows give into the whole target. A target is made here, and the chain does nothing else with it;
 * what it begins with (`np.zeros`) is stored by the first round.
 *
 * Rounds are grouped in blocks, each of which has a table of the target (P_TABLE), so that they go on all
 * cores. Sums of floats depend on how they are grouped, and blocks are what the scatter by itself has
 * (tr_rt_scatter_rows): all bits stay. Scatters of a chain that have blocks have the same ones.
 *
 *   [blocks] tables(add out) { [rounds] { d = [rows, k] ..; lab = [rows, k] ..; [rows] scatter(add table) } }
 *
 * Where places are tested behind the chain, a round may meet one that is out of range. It stores to another
 * one then: the test raises before anybody looks. To an empty target no round stores.
 * Cost: linear in what stands between the fill and the scatter. */
#include <assert.h>

#include "ir/alias.h"
#include "ir/summary.h"
#include "opt/pattern/byrow.h"
#include "opt/emit.h"

/* Is the array, or a view of it, an operand? */
static bool names(const tr_fn *f, const tr_ins *in, tr_val array) {
    for (uint32_t k = 0; k < in->nargs; k++)
        if (tr_array_root(f, in->args[k]) == array)
            return true;
    return false;
}

static tr_val target_of(const tr_ins *p) {
    return p->args[tr_pat_at(p->imm.pat, P_SCAT)];
}

bool tr_rows_scatter(const tr_rows *c, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    return c->k == 1 && c->n && t->nscat == 1 && !t->keep && tr_pat_scatter(t, 0) != TR_SCATTER_PUT &&
           !tr_red_info[tr_pat_scatter(t, 0)].joins &&
           tr_pat_has_only(t, P_(SPACE) | P_(IN) | P_(SCAT) | P_(CAP)) && tr_fn_is_scalar(t->lam) &&
           tr_term(t->lam, 0)->op == TR_OP_YIELD && tr_rows_def(c, target_of(p))->op == TR_OP_ALLOC &&
           tr_rows_def(c, target_of(p))->nargs;
}

bool tr_rows_is_target(const tr_rows *c, const tr_ins *in) {
    for (unsigned i = 0; i < c->nt; i++)
        if (names(c->f, in, c->t[i].array))
            return true;
    return false;
}

/* The pattern that the target begins with, if nothing else looks at it before the scatter does. */
static tr_val fill_of(const tr_rows *c, tr_val scatter, tr_val array) {
    for (tr_val v = tr_at(c->f, scatter)->prev; v != TR_NOVAL && v != array; v = tr_at(c->f, v)->prev) {
        const tr_ins *in = tr_at(c->f, v);
        if (!names(c->f, in, array))
            continue;
        const tr_pat *t = in->op == TR_OP_PATTERN ? in->imm.pat : NULL;
        bool fills = t && t->nspace && tr_pat_is_map(t) && !t->nin && t->nout == 1 &&
                     tr_fuse_out(in)[0] == array && tr_fn_is_scalar(t->lam);
        return fills ? v : TR_NOVAL;
    }
    return TR_NOVAL;
}

/* Is the second target's size one of the first's, or less? Then its tables cost no more. */
static bool is_no_larger(const tr_ins *a, const tr_ins *b) {
    uint32_t met = 0;
    for (uint32_t k = 0; k < b->nargs; k++) {
        uint32_t i = 0;
        while (i < a->nargs && (met >> i & 1u || a->args[i] != b->args[k]))
            i++;
        if (i == a->nargs)
            return false;
        met |= 1u << i;
    }
    return true;
}

/* Do blocks that suit the one scatter suit the other? Where both add up floats, they must be the same. */
static bool share_blocks(const tr_rows *c, const tr_rows_target *t, const tr_ins *q) {
    const tr_ins *p = tr_rows_pattern(c, t->by);
    const tr_ins *a = tr_rows_def(c, t->array), *b = tr_rows_def(c, target_of(q));
    bool blocks = tr_pat_scatter_regroups(q->imm.pat);
    if (!t->blocks || !blocks)
        return is_no_larger(t->blocks || !blocks ? a : b, t->blocks || !blocks ? b : a);
    return p->imm.pat->nspace == q->imm.pat->nspace && tr_vals_same(p->args, q->args, p->imm.pat->nspace) &&
           a->nargs == b->nargs && tr_vals_same(a->args, b->args, a->nargs);
}

bool tr_rows_take_scatter(tr_rows *c, tr_val v) {
    const tr_ins *p = tr_rows_def(c, v);
    tr_val array = target_of(p);
    for (unsigned i = 0; i < c->n; i++)
        if (names(c->f, tr_rows_pattern(c, i), array))
            return false;
    for (unsigned i = 0; i < c->nt; i++)
        if (!share_blocks(c, &c->t[i], p))
            return false;
    if (c->nt == TR_MAX_CHAIN_TARGETS)
        return false;
    c->t[c->nt++] = (tr_rows_target){.array = array,
                                     .by = c->n,
                                     .fill = fill_of(c, v, array),
                                     .guarded = c->tests,
                                     .blocks = tr_pat_scatter_regroups(p->imm.pat),
                                     .empty = TR_NOVAL};
    return true;
}

tr_rows_target *tr_rows_target_of(tr_rows *c, unsigned by) {
    for (unsigned i = 0; i < c->nt; i++)
        if (c->t[i].by == by)
            return &c->t[i];
    return NULL;
}

/* The index where it is in range, else one that is; `last` is -1 where none is, and then nobody stores. */
static tr_val in_range(tr_bld *b, tr_val i, tr_val last) {
    return tr_emit_most(b, tr_emit_least(b, i, last), tr_emit_int(b, 0));
}

/* Is a place an index of the node's own, along an axis as long as the target's? */
static bool is_own_index(const tr_ins *p, tr_val place, tr_val size) {
    const tr_val *param = tr_fuse_params(p->imm.pat->lam, 0);
    for (unsigned j = 1; j < p->imm.pat->nspace; j++)
        if (param[j] == place && p->args[j] == size)
            return true;
    return false;
}

/* The lambda of a scatter with places in range; the target's last places are captured last of all. */
static void guard(tr_rows *c, tr_rows_target *t) {
    tr_val v = c->pats[t->by];
    const tr_ins p = *tr_at(c->f, v), a = *tr_rows_def(c, t->array);
    tr_node m = tr_node_new(c->f);
    for (unsigned r = 0; r < TR_ROLE__COUNT; r++)
        tr_node_take(&m, (tr_role)r, &p);
    tr_fn *g = tr_fn_clone(p.imm.pat->lam);
    tr_bld e = {.fn = c->f, .blk = c->blk, .before = v};
    tr_val y = tr_blk_at(g, 0)->last;
    tr_bld b = {.fn = g, .blk = 0, .before = y};
    uint32_t at = tr_pat_slot(p.imm.pat, TR_LAM, P_SCAT);
    for (uint32_t k = 0; k < a.nargs; k++) {
        if (is_own_index(&p, tr_at(g, y)->args[at + k], a.args[k]))
            continue;
        tr_node_put(&m, P_CAP, tr_emit_op(&e, TR_OP_SUB, a.args[k], tr_emit_int(&e, 1)));
        tr_val place = in_range(&b, tr_at(g, y)->args[at + k], tr_fuse_param(g, tr_rows_i64(c)));
        tr_at(g, y)->args[at + k] = place;
    }
    m.t = *p.imm.pat;
    m.t.lam = g;
    tr_ins *in = tr_at(c->f, v);
    tr_val *args;
    in->imm.pat = tr_node_make(&m, &args);
    in->args = args;
    in->nargs = tr_pat_nargs(in->imm.pat);
    t->empty = tr_emit_cmp(&e, TR_CMP_EQ, tr_emit_times(&e, a.args[0], a.args + 1, a.nargs - 1u),
                           tr_emit_int(&e, 0));
}

void tr_rows_guard_scatters(tr_rows *c) {
    for (unsigned i = 0; i < c->nt; i++)
        if (c->t[i].guarded)
            guard(c, &c->t[i]);
}

/* The chain as it was: of an empty target nothing is stored. */
void tr_rows_guard_plain(tr_rows *c) {
    for (unsigned i = 0; i < c->nt; i++) {
        if (c->t[i].empty == TR_NOVAL)
            continue;
        tr_val p = c->pats[c->t[i].by];
        tr_bld b = {.fn = c->f, .blk = tr_at(c->f, p)->blk, .before = p};
        tr_val n = tr_emit_select(&b, c->t[i].empty, tr_emit_int(&b, 0), tr_at(c->f, p)->args[0]);
        tr_at(c->f, p)->args[0] = n;
    }
}

tr_val tr_rows_of_scatter(tr_rows *c, const tr_rows_target *t) {
    if (t->empty == TR_NOVAL)
        return c->rows;
    return tr_emit_select(&c->b, tr_rows_captured(c, t->empty), tr_const_int(c->b.fn, tr_rows_i64(c), 0),
                          c->rows);
}

/* In the first round of all; in others the same of no items. */
void tr_rows_fill_target(tr_rows *c, const tr_rows_target *t) {
    if (t->fill == TR_NOVAL)
        return;
    const tr_ins p = *tr_at(c->f, t->fill);
    tr_node m = tr_node_new(c->b.fn);
    tr_val zero = tr_const_int(c->b.fn, tr_rows_i64(c), 0);
    m.t = (tr_pat){.apart = p.imm.pat->apart, .lam = tr_fn_clone(p.imm.pat->lam)};
    for (uint32_t k = 0; k < p.nargs; k++) {
        tr_val x = tr_rows_captured(c, p.args[k]);
        if (k == 0)
            x = tr_emit_select(&c->b, tr_emit_cmp(&c->b, TR_CMP_EQ, c->first, zero), x, zero);
        tr_node_put(&m, tr_pat_role(p.imm.pat, k), x);
    }
    tr_node_emit(&m, &c->b);
}

/* --- blocks of rounds --- */

tr_val tr_rows_a_block(tr_rows *c, tr_bld *b) {
    const tr_rows_target *t = &c->t[0];
    for (unsigned i = 0; i < c->nt; i++)
        t = c->t[i].blocks ? &c->t[i] : t;
    const tr_ins *p = tr_rows_pattern(c, t->by), *a = tr_rows_def(c, t->array);
    const tr_ins in = *p, made = *a;
    tr_val args[] = {tr_rows_pattern(c, 0)->args[0],
                     tr_emit_times(b, tr_emit_int(b, 1), in.args + 1, in.imm.pat->nspace - 1u),
                     tr_emit_times(b, made.args[0], made.args + 1, made.nargs - 1u),
                     tr_emit_int(b, !t->blocks)};
    return tr_emit_rt(b, TR_RT_SCATTERROWS, tr_rows_i64(c), 4, args, NULL);
}

/* So many pieces of `each` make up n. */
static tr_val pieces(tr_bld *b, tr_val n, tr_val each) {
    tr_val more = tr_emit_op(b, TR_OP_SUB, each, tr_emit_int(b, 1));
    return tr_emit_op(b, TR_OP_QUOT, tr_emit_op(b, TR_OP_ADD, n, more), each);
}

/* What the rounds of a block are given, params of the block's function behind its own: arrays that have
 * tables come first. */
typedef struct block {
    tr_node outer;
    tr_fn *g;
} block;

static tr_val param_of(block *k, tr_val v) {
    uint32_t at = tr_node_once(&k->outer, P_CAP, v);
    while (tr_blk_at(k->g, 0)->params.n <= 1 + at)
        tr_blk_param(k->g, 0, tr_at(k->outer.f, v)->ty, NULL);
    return tr_blk_at(k->g, 0)->params.d[1 + at];
}

/* The block's rows of an array that its rounds write, of which others know: so each block has a part. */
static tr_val block_of(block *k, tr_bld *e, tr_val array, tr_val from, tr_val rows) {
    const tr_ty *t = tr_at(k->outer.f, array)->ty;
    tr_val args[1 + TR_VIEW_BASE_AXES + 2 * TR_VIEW_AXES] = {param_of(k, array)};
    int64_t along = 0;
    unsigned n = t->ndim;
    for (unsigned j = 0; j < n; j++) {
        args[1 + j] = j ? tr_emit_int(e, 0) : from;
        args[1 + n + j] = j ? tr_emit_dim(e, args[0], j) : rows;
        args[1 + 2 * n + j] = tr_emit_int(e, 1);
        along |= tr_view_along(j, (int)j);
    }
    tr_val v = tr_emit_v(e, TR_OP_VIEW, t, 1 + 3 * n, args);
    tr_at(k->g, v)->imm.i = along;
    return v;
}

tr_val tr_rows_in_tables(tr_rows *c, tr_bld *b, tr_val most) {
    block k = {.outer = tr_node_new(c->f), .g = tr_fuse_lambda(c->b.fn)};
    tr_node inner = tr_node_new(k.g);
    tr_val n = tr_rows_pattern(c, 0)->args[0], rows = c->a_block, x[TR_MAX_REDS];
    tr_bld e = {.fn = k.g, .blk = 0, .before = TR_NOVAL};
    tr_val at = tr_fuse_param(k.g, tr_rows_i64(c));
    for (unsigned i = 0; i < c->nt; i++) {
        const tr_pat *t = tr_rows_pattern(c, c->t[i].by)->imm.pat;
        tr_node_join(&k.outer, P_TABLE, c->t[i].array, *tr_pat_join(t, tr_pat_at(t, P_SCAT)));
        param_of(&k, c->t[i].array);
    }
    tr_val each = param_of(&k, rows), from = tr_emit_op(&e, TR_OP_MUL, at, each),
           left = tr_emit_least(&e, each, tr_emit_op(&e, TR_OP_SUB, param_of(&k, n), from));
    tr_node_put(&inner, P_SPACE, pieces(&e, left, param_of(&k, most)));
    for (uint32_t i = 0; i < c->outer.of[P_RED].n; i++) {
        tr_join how = c->outer.joins[P_RED].d[i];
        tr_val init = c->outer.of[P_RED].d[i];
        tr_node_join(&k.outer, P_RED, init, how);
        tr_node_join(&inner, P_RED, tr_red_identity(k.g, (tr_redk)how.how, tr_at(c->f, init)->ty), how);
    }
    tr_val to = tr_emit_op(&e, TR_OP_ADD, from, left);
    for (uint32_t i = 0; i < c->caps.n; i++)
        tr_node_put(&inner, P_CAP,
                    i == c->most                    ? param_of(&k, most)
                    : i == c->from                  ? from
                    : i == c->to                    ? to
                    : tr_rows_find(c, c->caps.d[i]) ? block_of(&k, &e, c->caps.d[i], from, left)
                                                    : param_of(&k, c->caps.d[i]));
    inner.t.lam = c->b.fn;
    tr_val got = tr_node_emit(&inner, &e);
    for (uint32_t i = 0; i < c->nred; i++) {
        x[i] = got;
        if (c->nred > 1) {
            x[i] = tr_emit1(&e, TR_OP_EXTRACT, tr_at(k.g, got)->ty->items[i], got);
            tr_at(k.g, x[i])->imm.i = i;
        }
    }
    tr_emit_v(&e, TR_OP_YIELD, NULL, c->nred, x);
    tr_node_put(&k.outer, P_SPACE, pieces(b, n, rows));
    k.outer.t.lam = k.g;
    k.outer.t.par = tr_rows_pattern(c, 0)->imm.pat->par;
    return tr_node_emit(&k.outer, b);
}
