/* Scatters in the round of a loop over rows (byrow.c), labels and what is added up by them: a round stores
 * what its rows give into the whole target. Rounds go in their order, and so do the rows of each, so every
 * place is given what it was, in the order in which it was. A target is made here, and the chain does nothing
 * else with it; what it begins with (`np.zeros`) is stored by the first round.
 *
 * Not on all cores, where rounds have no order; and not where a scatter adds up floats in blocks of its
 * rounds (ir/scatters.c), which a block of rows is not.
 *
 * Where places are tested behind the chain, a round may meet one that is out of range. It stores to the first
 * place then, whatever it is: the test raises before anybody looks. Of an empty target no round stores.
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
    const tr_ins *a = tr_rows_def(c, target_of(p));
    return c->k == 1 && t->nscat == 1 && t->par == TR_PAR_NO && !t->keep &&
           tr_pat_has_only(t, P_(SPACE) | P_(IN) | P_(SCAT) | P_(CAP)) && tr_fn_is_scalar(t->lam) &&
           tr_term(t->lam, 0)->op == TR_OP_YIELD && (t->nspace > 1 || !tr_pat_scatter_regroups(t)) &&
           a->op == TR_OP_ALLOC;
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
        bool fills = t && tr_pat_is_map(t) && !t->nin && t->nout == 1 && tr_fuse_out(in)[0] == array &&
                     t->par == TR_PAR_NO && tr_fn_is_scalar(t->lam);
        return fills ? v : TR_NOVAL;
    }
    return TR_NOVAL;
}

bool tr_rows_take_scatter(tr_rows *c, tr_val v) {
    const tr_ins *p = tr_rows_def(c, v);
    tr_val array = target_of(p);
    for (unsigned i = 0; i < c->n; i++)
        if (names(c->f, tr_rows_pattern(c, i), array))
            return false;
    if (c->nt == TR_MAX_CHAIN_TARGETS)
        return false;
    c->t[c->nt++] = (tr_rows_target){
        .array = array, .by = c->n, .fill = fill_of(c, v, array), .guarded = c->tests, .empty = TR_NOVAL};
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
    tr_bld e = {.fn = c->f, .blk = c->blk, .before = c->pats[0]};
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
    return tr_emit_select(&c->b, tr_rows_captured(c, t->empty), tr_const_int(c->b.fn, tr_rows_i64(c), 0), c->rows);
}

/* In the first round; in others the same of no items. */
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
            x = tr_emit_select(&c->b, tr_emit_cmp(&c->b, TR_CMP_EQ, tr_rows_index(c, 0), zero), x, zero);
        tr_node_put(&m, tr_pat_role(p.imm.pat, k), x);
    }
    tr_node_emit(&m, &c->b);
}
