/* Scans (prefix sums) begun in the middle: what a scan's value is at some element follows from the total of
 * the contributions before it, so ranges of elements can be walked at once if their totals are taken first.
 * That needs contributions which do not look at the running value.
 *
 * Sums and products of floats depend on how they are grouped. Those go block by block: the value before a
 * block is that of the block before and its total, whoever computes it, so it depends on the length alone.
 * Such a pattern has one axis to walk, and no reductions beside its scans.
 *
 * Products are multiplied one after the other within a block (of a tree the factors' products could overflow
 * and vanish where no value of the sequence does). Sums go by groups of TR_SCAN_GROUP elements, which a core
 * adds up side by side (Sklansky's prefix network): of elements x and their halves at each level, the sum up
 * to an element of the right half is the left half's sum + that within the right half; and
 *   value = before the block + (sum of the groups before in the block + sum within the group),
 * where groups are added one after the other, and the value after a block's last element stands before the
 * next one. Each value is one of the former ones + something that rises with the elements, so sums of what is
 * not negative never fall, and stay where zeros are added. Where the lambda adds what it contributes to the
 * value that it is given, the sum is the value after the element (tr_pat_scan_after). A function of the node
 * joins what it joins by blocks of TR_SUM_BLOCK in those of TR_JOIN_BLOCK, each of which is a tree (tr_pat).
 * Before an element stands, joined from left to right: the value before the block; the totals of the smaller
 * blocks before it, one after the other, as one value; the totals of the left halves, from the largest on, in
 * whose right half its group of TR_JOIN_GROUP is; the items before it in the group. After the block stands
 * the value before it with all totals. Such a scan is the only reduction, and its function only computes;
 * else it is plain, too. Cost: linear in the lambda, times the depth of its loops (scalar lambdas hardly have
 * any). */
#include <assert.h>

#include "ir/ports.h"
#include "ir/summary.h"

static bool any_is_tainted(const uint8_t *tainted, const tr_val *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (tainted[v[i]])
            return true;
    return false;
}

/* Marks what an instruction hands on; true if something is new. `far`: a branch that looked at a running
 * value was met. */
static bool spread_taint(const tr_fn *f, tr_val v, uint8_t *tainted, bool *far) {
    const tr_ins *in = tr_at(f, v);
    bool any = any_is_tainted(tainted, in->args, in->nargs), fresh = any && !tainted[v];
    tainted[v] |= any;
    uint32_t nsucc = tr_nsucc(in);
    *far = *far || (any && nsucc > 1);
    for (uint32_t s = 0; s < nsucc; s++) {
        const tr_edge *e = &in->imm.succ[s];
        for (uint32_t k = 0; k < e->n; k++) {
            tr_val to = tr_blk_at(f, e->to)->params.d[k];
            fresh = fresh || (tainted[e->args[k]] && !tainted[to]);
            tainted[to] |= tainted[e->args[k]];
        }
    }
    return fresh;
}

/* Does no scan contribute what looks at a running value? */
static bool contribute_alone(const tr_pat *t) {
    const tr_fn *f = t->lam;
    const tr_ins *y = tr_pat_yield(f);
    uint8_t *tainted = TR_NEW_N(&f->ctx->arena, uint8_t, f->ins.n + 1u);
    bool more = true, far = false;
    for (uint32_t k = 0; k < t->nscan; k++)
        if (tr_pat_red(t, k) == TR_RED_LAST)
            return false;
    for (uint32_t k = 0; k < t->nscan; k++)
        tainted[tr_blk_at(f, 0)->params.d[tr_pat_param(t, TR_LAM, P_SCAN) + k]] = 1;
    while (more) {
        more = false;
        for (tr_bid b = 0; b < f->blks.n; b++)
            for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
                 v = tr_at(f, v)->next)
                more |= spread_taint(f, v, tainted, &far);
    }
    return !far && y && !any_is_tainted(tainted, y->args + tr_pat_slot(t, TR_LAM, P_SCAN), t->nscan);
}

const tr_ins *tr_pat_yield(const tr_fn *lam) {
    for (tr_bid b = 0; b < lam->blks.n; b++)
        if (!tr_blk_at(lam, b)->dead && tr_term(lam, b)->op == TR_OP_YIELD)
            return tr_term(lam, b);
    return NULL;
}

bool tr_pat_scan_regroups(const tr_pat *t) {
    const tr_ins *y = tr_pat_yield(t->lam);
    for (uint32_t k = 0; k < t->nscan && y; k++)
        if (tr_red_regroups(tr_pat_red(t, k), tr_at(t->lam, y->args[tr_pat_slot(t, TR_LAM, P_SCAN) + k])->ty))
            return true;
    return false;
}

bool tr_pat_in_blocks(const tr_pat *t) {
    if (tr_pat_joins(t) && (t->nscan != 1 || t->nfilt || t->nscat || !tr_pat_only_computes(t)))
        return false;
    return t->nscan && t->nscan == tr_pat_nred(t) && t->nspace - tr_pat_nkeep(t) == 1 &&
           tr_pat_scan_regroups(t) && tr_fn_only_reads(t->lam) && contribute_alone(t);
}

bool tr_pat_scan_in_groups(const tr_pat *t, uint32_t k) {
    const tr_ins *y = tr_pat_yield(t->lam);
    return tr_pat_red(t, k) == TR_RED_ADD &&
           tr_red_regroups(TR_RED_ADD, tr_at(t->lam, y->args[tr_pat_slot(t, TR_LAM, P_SCAN) + k])->ty);
}

/* Is it the sum of the value that scan k hands in, and of what the lambda contributes to it? */
static bool is_joined(const tr_pat *t, const tr_fn *f, const tr_ins *in, uint32_t k) {
    tr_val before = f->blks.d[0].params.d[tr_pat_param(t, TR_LAM, P_CAP) - t->nscan + k];
    tr_val own = tr_pat_yield(f)->args[tr_pat_slot(t, TR_LAM, P_SCAN) + k];
    return in->op == TR_OP_ADD &&
           ((in->args[0] == before && in->args[1] == own) || (in->args[1] == before && in->args[0] == own));
}

tr_fn *tr_pat_scan_after(const tr_pat *t) {
    assert(tr_pat_in_blocks(t));
    tr_fn *f = tr_fn_clone(t->lam);
    tr_repl r;
    uint32_t n = f->ins.n;
    tr_val *after = TR_NEW_N(&f->ctx->arena, tr_val, t->nscan + 1u);
    for (uint32_t k = 0; k < t->nscan; k++)
        after[k] =
            tr_blk_param(f, 0, tr_at(f, tr_pat_yield(f)->args[tr_pat_slot(t, TR_LAM, P_SCAN) + k])->ty, NULL);
    r = tr_repl_new(f);
    for (uint32_t v = 0; v < n; v++)
        for (uint32_t k = 0; k < t->nscan; k++)
            if (tr_at(f, v)->blk != TR_NOBLK && tr_pat_scan_in_groups(t, k) &&
                is_joined(t, f, tr_at(f, v), k))
                tr_repl_set(f, &r, v, after[k]);
    tr_repl_apply(f, &r);
    return f;
}

bool tr_pat_in_ranges(const tr_pat *t) {
    return t->nscan && !t->keep && tr_fn_only_reads(t->lam) &&
           (tr_pat_scan_regroups(t) ? tr_pat_in_blocks(t) : contribute_alone(t));
}
