/* Variables that have no value before a prange loop (privatisation of scalars): each iteration begins
 * without them, as the first one does.
 *
 * Such a variable is a param of the loop's head that starts undefined. Where some path reads it unassigned,
 * a second param goes with it, its flag: whether it has a value, false at first, which only checks for
 * UnboundLocalError read. In order, an iteration would see what the one before left. On all cores none is
 * before, so what the iteration itself does not assign is not assigned: reading it raises. That is decided
 * while it runs, as paths that cannot be taken, `if a or b: if a: x = .. if b: x = ..`, look as if they read.
 *
 * In the loop, both params are replaced by what they start from; all at once, so that an iteration finds
 * what the first one finds, which is code that stands. After the loop they are what they were, and reading
 * one there is refused like reading any other variable that a loop assigns.
 * Cost: linear in the loop for each flag. */

#include "opt/emit.h"
#include "opt/prange/ploop.h"

/* Is v, where it comes to the loop, what `start` is, or else what an earlier run of this very loop left in
 * p? The latter is no value of an iteration: a loop around brings it here. */
static bool comes_from(const tr_ploop *l, tr_val v, tr_val p, tr_val *start, uint8_t *met) {
    const tr_fn *f = l->f;
    const tr_ins *in = tr_at(f, v);
    if (v == p || met[v])
        return true;
    met[v] = 1;
    if (in->op == TR_OP_UNDEF || tr_is_int(f, v, 0)) {
        bool ok = *start == TR_NOVAL || tr_opt_same(f, *start, v);
        *start = v;
        return ok;
    }
    if (in->op != TR_OP_PARAM || l->in[in->blk])
        return false;
    uint32_t k = tr_param_index(f, v);
    uint32_t ways = 0;
    for (tr_way w = {0}; tr_next_way(f, in->blk, &w); ways++)
        if (!comes_from(l, w.edge->args[k], p, start, met))
            return false;
    return ways > 0;
}

/* What the param starts from in the loop's first iteration: undefined, or false; TR_NOVAL: something else. */
static tr_val start_of(const tr_ploop *l, uint32_t k) {
    tr_val start = TR_NOVAL, p = tr_blk_at(l->f, l->header)->params.d[k];
    uint8_t *met = TR_NEW_N(&l->f->ctx->arena, uint8_t, l->f->ins.n + 1u);
    for (tr_way w = {0}; tr_next_way(l->f, l->header, &w);)
        if (!l->in[w.from] && !comes_from(l, w.edge->args[k], p, &start, met))
            return TR_NOVAL;
    return start;
}

static bool joins_flags(const tr_ins *in) {
    return in->ty && in->ty->kind == TR_TY_BOOL &&
           (in->op == TR_OP_SELECT || in->op == TR_OP_OR || in->op == TR_OP_AND);
}

static bool asks_for_value(const tr_ins *in) {
    return in->op == TR_OP_CHECK && in->imm.site->exc == TR_EXC_UNBOUND;
}

/* Marks what v makes of a flag; false where it does with one what nobody does with flags. */
static bool follow_ins(const tr_ploop *l, tr_val v, uint8_t *is, bool *asks, bool *more) {
    const tr_fn *f = l->f;
    const tr_ins *in = tr_at(f, v);
    for (uint32_t i = 0; i < in->nargs; i++) {
        if (!is[in->args[i]])
            continue;
        if (asks_for_value(in)) {
            *asks = true;
            continue;
        }
        if (!joins_flags(in))
            return false;
        *more = *more || !is[v];
        is[v] = 1;
    }
    for (uint32_t s = 0; s < tr_nsucc(in); s++) {
        const tr_edge *e = &in->imm.succ[s];
        for (uint32_t i = 0; l->in[e->to] && e->to != l->header && i < e->n; i++) {
            tr_val p = tr_blk_at(f, e->to)->params.d[i];
            *more = *more || (is[e->args[i]] && !is[p]);
            is[p] |= is[e->args[i]];
        }
    }
    return true;
}

/* Do checks for a value read it in the loop, and nothing else? */
static bool is_flag(const tr_ploop *l, tr_val p) {
    const tr_fn *f = l->f;
    uint8_t *is = TR_NEW_N(&f->ctx->arena, uint8_t, f->ins.n + 1u);
    bool asks = false;
    is[p] = 1;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < l->blks.n; i++)
            for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
                if (!follow_ins(l, v, is, &asks, &more))
                    return false;
    }
    return asks;
}

bool tr_ploop_replace(const tr_ploop *l, tr_val p, tr_val by) {
    tr_fn *f = l->f;
    bool any = false;
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            tr_ins *in = tr_at(f, v);
            for (uint32_t k = 0; k < in->nargs; k++)
                if (in->args[k] == p) {
                    in->args[k] = by;
                    any = true;
                }
            for (uint32_t s = 0; s < tr_nsucc(in); s++)
                for (uint32_t k = 0; l->in[in->imm.succ[s].to] && k < in->imm.succ[s].n; k++)
                    if (in->imm.succ[s].args[k] == p) {
                        in->imm.succ[s].args[k] = by;
                        any = true;
                    }
        }
    return any;
}

bool tr_ploop_unbound(tr_ploop *l) {
    tr_fn *f = l->f;
    const tr_blk *h = tr_blk_at(f, l->header);
    tr_val *start = TR_NEW_N(&f->ctx->arena, tr_val, h->params.n + 1u);
    for (uint32_t k = 0; k < h->params.n; k++) {
        tr_val p = h->params.d[k], from = start_of(l, k);
        bool no_value = from != TR_NOVAL && tr_at(f, from)->op == TR_OP_UNDEF;
        bool unset = from != TR_NOVAL && tr_at(f, p)->ty->kind == TR_TY_BOOL && tr_is_int(f, from, 0);
        start[k] = no_value || (unset && is_flag(l, p)) ? from : TR_NOVAL;
    }
    bool any = false;
    for (uint32_t k = 0; k < h->params.n; k++)
        if (start[k] != TR_NOVAL)
            any |= tr_ploop_replace(l, h->params.d[k], start[k]);
    if (any)
        tr_remove_params(f);
    return any;
}
