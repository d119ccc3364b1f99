/* What two patterns would compute twice (common-subexpression elimination, for patterns): equal reductions of
 * equal inputs are one, equal masks are, and two filters by one mask pack in one pass, so that what is read
 * of both, `x[m] * w[m]`, is read at one place and can be merged into it.
 *
 * Within a block. A filter moves down to the second one, and with it what waits for it: what looks at its
 * count, and patterns that read what it packs and write new arrays. Nothing else in between may read or
 * write what these write, or write what they read. The second one's count is the first one's from then
 * on, so their sizes agree without a test.
 * Lambdas are compared as expressions: those of one straight block only.
 * Cost: pairs of reductions, and of filters, within a block, MAX_BACK apart at most. */
#include "opt/pattern/fuse.h"

#include <string.h>

enum { MAX_BACK = 8, MAX_DEPTH = 24, MAX_PACKED = 16 };

/* --- equal expressions in two lambdas --- */

typedef struct side {
    const tr_fn *f; /* in which the pattern stands */
    const tr_ins *in;
    const tr_fn *lam;
} side;

static side side_of(const tr_fn *f, const tr_ins *in) {
    return (side){f, in, in->imm.pat->lam};
}

/* The operands among whose params is number i of the lambda. */
static tr_ports ports_of_param(const tr_pat *t, uint32_t i) {
    tr_ports g = tr_ports_of(t, TR_LAM);
    while (!g.is->takes[TR_LAM] || i >= g.param + g.n)
        tr_ports_next(t, TR_LAM, &g);
    return g;
}

/* Are param i of p's lambda and param k of c's the same: an index, an element of one array, one value?
 * Running values are their own patterns'. */
static bool same_param(const side *p, uint32_t i, const side *c, uint32_t k) {
    tr_ports a = ports_of_param(p->in->imm.pat, i), b = ports_of_param(c->in->imm.pat, k);
    if (a.role != b.role || a.is->join)
        return false;
    return a.role == P_SPACE ? i == k : p->in->args[a.arg + i - a.param] == c->in->args[b.arg + k - b.param];
}

static bool same_imm(const tr_ins *a, const tr_ins *b) {
    return a->op == TR_OP_CONST ? !memcmp(&a->imm, &b->imm, sizeof a->imm) : tr_opt_imm(a) == tr_opt_imm(b);
}

static bool same_value(const side *p, tr_val x, const side *c, tr_val y, unsigned depth) {
    const tr_ins *a = tr_at(p->lam, x), *b = tr_at(c->lam, y);
    if (a->op != b->op || a->ty != b->ty || depth > MAX_DEPTH)
        return false;
    if (a->op == TR_OP_PARAM)
        return a->blk == 0 && b->blk == 0 &&
               same_param(p, tr_param_index(p->lam, x), c, tr_param_index(c->lam, y));
    if (a->nargs != b->nargs || a->sub != b->sub || a->flags != b->flags || !same_imm(a, b) ||
        tr_ins_effects(a))
        return false;
    for (uint32_t k = 0; k < a->nargs; k++)
        if (!same_value(p, a->args[k], c, b->args[k], depth + 1))
            return false;
    return true;
}

static bool lambda_is_straight(const tr_pat *t) {
    return tr_term(t->lam, 0)->op == TR_OP_YIELD && tr_fn_is_scalar(t->lam);
}

/* Do the first n reductions of both take the same values? */
static bool same_reductions(const tr_fn *f, const tr_ins *p, const tr_ins *c, uint32_t n) {
    const tr_pat *tp = p->imm.pat, *tc = c->imm.pat;
    side a = side_of(f, p), b = side_of(f, c);
    const tr_ins *y = tr_pat_yield(tp->lam), *z = tr_pat_yield(tc->lam);
    for (uint32_t k = 0; k < n; k++)
        if (tr_pat_red(tp, k) != tr_pat_red(tc, k) || tp->joins[k].by ||
            tr_pat_fast(tp, k) != tr_pat_fast(tc, k) ||
            p->args[tr_pat_at(tp, P_SCAN) + k] != c->args[tr_pat_at(tc, P_SCAN) + k] ||
            !same_value(&a, y->args[tr_pat_slot(tp, TR_LAM, P_SCAN) + k], &b,
                        z->args[tr_pat_slot(tc, TR_LAM, P_SCAN) + k], 0))
            return false;
    return true;
}

/* --- counting what is known to be few --- */

static bool only_reduces(const tr_pat *t) {
    return t->nfold && !t->keep && tr_pat_has_only(t, P_(SPACE) | P_(IN) | P_(RED) | P_(CAP)) &&
           lambda_is_straight(t);
}

/* Does it reduce the array to its smallest and its largest item? */
static bool finds_ends_of(const tr_ins *p, tr_val array) {
    const tr_pat *t = p->imm.pat;
    const tr_ins *y = only_reduces(t) ? tr_pat_yield(t->lam) : NULL;
    return y && t->nspace == 1 && t->nin == 1 && t->nfold == 2 && tr_fuse_in(p)[0] == array &&
           tr_pat_red(t, 0) == TR_RED_MIN && tr_pat_red(t, 1) == TR_RED_MAX && y->args[0] == y->args[1] &&
           y->args[0] == tr_fuse_params(t->lam, 0)[tr_pat_param(t, TR_LAM, P_IN)];
}

/* The pattern that does, before v in its block, since when nothing has written to the array. */
static tr_val ends_before(const tr_fn *f, tr_val v, tr_val array) {
    for (tr_val p = tr_at(f, v)->prev; p != TR_NOVAL; p = tr_at(f, p)->prev) {
        if (tr_at(f, p)->op != TR_OP_PATTERN || !finds_ends_of(tr_at(f, p), array))
            continue;
        for (tr_val q = tr_at(f, p)->next; q != v; q = tr_at(f, q)->next)
            if (tr_fuse_writes_inputs(f, tr_at(f, q), tr_at(f, p)))
                return TR_NOVAL;
        return p;
    }
    return TR_NOVAL;
}

/* np.bincount counts many items before it has looked for the largest (COUNT_FEW). Where that has been found
 * before, keys that were tested, nothing is gained: none is counted so, and what is left is all there is. */
static bool count_by_ends(tr_fn *f, tr_bid b) {
    tr_repl r = tr_repl_new(f);
    bool changed = false;
    for (tr_val v = tr_blk_at(f, b)->first, next; v != TR_NOVAL; v = next) {
        const tr_ins in = *tr_at(f, v);
        next = in.next;
        if (in.op != TR_OP_CALLRT || in.imm.rt->row != TR_RT_COUNT_FEW)
            continue;
        tr_val ends = ends_before(f, v, in.args[0]), left = TR_NOVAL;
        if (ends == TR_NOVAL)
            continue;
        for (tr_val q = next; q != TR_NOVAL; q = tr_at(f, q)->next) {
            const tr_ins *u = tr_at(f, q);
            if (u->op == TR_OP_SUB && u->args[1] == v && u->args[0] == tr_at(f, ends)->args[0])
                tr_repl_set(f, &r, left = q, u->args[0]);
            else if (u->op == TR_OP_VIEW && u->args[0] == in.args[0] && tr_view_starts(u)[0] == v &&
                     left != TR_NOVAL && tr_made_sizes(u)[0] == left)
                tr_repl_set(f, &r, q, in.args[0]);
        }
        tr_repl_set(f, &r, v, tr_const_int(f, in.ty, 0));
        tr_ins_remove(f, v);
        changed = true;
    }
    tr_repl_apply(f, &r);
    return changed;
}

/* --- what stands between --- */

/* Does q name one of these arrays, or a view of one? */
static bool names_one_of_arrays(const tr_fn *f, const tr_ins *q, const tr_val *rooms, uint32_t n) {
    for (uint32_t k = 0; k < q->nargs; k++)
        if (tr_fuse_type(f, q->args[k]) && tr_ty_has_arrays(tr_fuse_type(f, q->args[k])) &&
            tr_opt_among(tr_array_root(f, q->args[k]), rooms, n))
            return true;
    return false;
}

static bool is_among_args(const tr_ins *q, const tr_val *v, uint32_t n) {
    for (uint32_t k = 0; k < q->nargs; k++)
        if (tr_opt_among(q->args[k], v, n))
            return true;
    return false;
}

/* --- equal reductions --- */

/* Are the reductions of p, which stands before c in its block, the first ones of c? */
static bool equal_first(const tr_fn *f, tr_val pv, tr_val cv) {
    const tr_ins *p = tr_at(f, pv), *c = tr_at(f, cv);
    if (!tr_pats_share_space(p, c) || !same_reductions(f, p, c, tr_pat_nred(p->imm.pat)))
        return false;
    for (tr_val q = p->next; q != cv; q = tr_at(f, q)->next)
        if (tr_fuse_writes_inputs(f, tr_at(f, q), p))
            return false;
    return true;
}

static bool equal_reductions(const tr_fn *f, tr_val pv, tr_val cv) {
    const tr_pat *tp = tr_at(f, pv)->imm.pat, *tc = tr_at(f, cv)->imm.pat;
    return only_reduces(tp) && only_reduces(tc) && tr_pat_nred(tp) == tr_pat_nred(tc) &&
           equal_first(f, pv, cv);
}

bool tr_opt_is_count_of(const tr_fn *f, tr_val pv, tr_val cv) {
    const tr_pat *tp = tr_at(f, pv)->imm.pat, *tc = tr_at(f, cv)->imm.pat;
    return only_reduces(tp) && tr_pat_nred(tp) == 1 && tc->nfilt && lambda_is_straight(tc) &&
           equal_first(f, pv, cv);
}

/* --- equal masks --- */

static bool makes_mask(const tr_fn *f, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    if (t->nout != 1 || !tr_pat_is_map(t) || !lambda_is_straight(t))
        return false;
    const tr_ins *a = tr_at(f, tr_fuse_out(p)[0]);
    return a->op == TR_OP_ALLOC && a->blk == p->blk && a->ty->elem == tr_ty_scalar(f->ctx->types, TR_TY_BOOL);
}

/* Patterns read the array, and nothing else but its maker knows it. */
static bool is_only_read(const tr_fn *f, tr_val array) {
    uint32_t known = 1;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *p = tr_at(f, v);
            for (uint32_t k = 0; p->op == TR_OP_PATTERN && k < p->nargs; k++)
                known +=
                    p->args[k] == array && tr_role_info[tr_pat_role(p->imm.pat, k)].memory == TR_MEM_READ;
        }
    return tr_use_counts(f)[array] == known;
}

static bool equal_masks(const tr_fn *f, tr_val pv, tr_val cv) {
    const tr_ins *p = tr_at(f, pv), *c = tr_at(f, cv);
    if (!tr_pats_share_space(p, c))
        return false;
    tr_val a = tr_fuse_out(p)[0], b = tr_fuse_out(c)[0];
    const tr_ins *x = tr_at(f, a), *y = tr_at(f, b);
    side s = side_of(f, p), t = side_of(f, c);
    if (x->nargs != y->nargs || !tr_vals_same(x->args, y->args, x->nargs) ||
        !same_value(&s, tr_pat_yield(s.lam)->args[0], &t, tr_pat_yield(t.lam)->args[0], 0))
        return false;
    for (tr_val q = p->next; q != cv; q = tr_at(f, q)->next)
        if (tr_fuse_writes_inputs(f, tr_at(f, q), p))
            return false;
    return is_only_read(f, a) && is_only_read(f, b);
}

/* `a[x > 0] * b[x > 0]`: the second mask is the first one. */
static bool share_masks(tr_fn *f, tr_bid b) {
    tr_u32s masks = {0};
    bool changed = false;
    for (tr_val v = tr_blk_at(f, b)->first, next; v != TR_NOVAL; v = next) {
        next = tr_at(f, v)->next; /* not its array, which stands before it */
        if (tr_at(f, v)->op != TR_OP_PATTERN || !makes_mask(f, tr_at(f, v)))
            continue;
        uint32_t k = masks.n, end = k > MAX_BACK ? k - MAX_BACK : 0;
        while (k > end && !equal_masks(f, masks.d[k - 1], v))
            k--;
        if (k == end) {
            tr_vec_push(&f->ctx->arena, &masks, v);
            continue;
        }
        tr_repl r = tr_repl_new(f);
        tr_val twice = tr_fuse_out(tr_at(f, v))[0];
        tr_repl_set(f, &r, twice, tr_fuse_out(tr_at(f, masks.d[k - 1]))[0]);
        tr_ins_remove(f, v);
        tr_ins_remove(f, twice);
        tr_repl_apply(f, &r);
        changed = true;
    }
    return changed;
}

/* --- filters by one mask --- */

static bool only_packs(const tr_pat *t) {
    return t->nfilt && t->nscan == 1 && lambda_is_straight(t) &&
           tr_pat_has_only(t, P_(SPACE) | P_(IN) | P_(PACK) | P_(SCAN) | P_(CAP));
}

/* What waits for p's count or reads what it packs, and the arrays that it writes. */
typedef struct waiting {
    tr_u32s all, patterns, written;
} waiting;

/* May it wait with p: does it compute, make an array, or write what nobody has seen? */
static bool ins_may_wait(const tr_fn *f, const tr_ins *q) {
    return !tr_ins_effects(q) || q->op == TR_OP_ALLOC ||
           (q->op == TR_OP_PATTERN && lambda_is_straight(q->imm.pat) && tr_fuse_writes_unseen(f, q));
}

static void wait(const tr_fn *f, waiting *w, tr_val v) {
    tr_arena *a = &f->ctx->arena;
    const tr_ins *q = tr_at(f, v);
    tr_vec_push(a, &w->all, v);
    if (q->op != TR_OP_PATTERN)
        return;
    const tr_pat *t = q->imm.pat;
    tr_vec_push(a, &w->patterns, v);
    for (uint32_t k = 0; (k = tr_pat_with(t, TR_MEM_WRITE, k)) < q->nargs; k++)
        tr_vec_push(a, &w->written, tr_array_root(f, q->args[k]));
}

/* q stays where it is, before all that waits. */
static bool ins_goes_first(const tr_fn *f, const waiting *w, const tr_ins *q) {
    if (names_one_of_arrays(f, q, w->written.d, w->written.n))
        return false;
    for (uint32_t k = 0; k < w->patterns.n; k++)
        if (tr_fuse_writes_inputs(f, q, tr_at(f, w->patterns.d[k])))
            return false;
    return true;
}

/* What must move down with p to just before c, the patterns among it that read what p
 * packs. False where that does not do. */
static bool find_what_moves(const tr_fn *f, tr_val pv, tr_val cv, waiting *w) {
    wait(f, w, pv);
    for (tr_val v = tr_at(f, pv)->next; v != cv; v = tr_at(f, v)->next) {
        const tr_ins *q = tr_at(f, v);
        if (!is_among_args(q, w->all.d, w->all.n) && ins_goes_first(f, w, q))
            continue;
        if (!ins_may_wait(f, q))
            return false;
        wait(f, w, v);
    }
    const tr_ins *c = tr_at(f, cv);
    return !is_among_args(c, w->all.d, w->all.n) && ins_goes_first(f, w, c);
}

/* They pack into new arrays, and the first one reads nothing that the second one writes. */
static bool packs_apart(const tr_fn *f, const tr_ins *p, const tr_ins *c) {
    const tr_val *rooms = c->args + tr_pat_at(c->imm.pat, P_PACK);
    for (uint32_t k = 0; k < p->imm.pat->nfilt; k++)
        if (!tr_fuse_unseen(f, p, p->args[tr_pat_at(p->imm.pat, P_PACK) + k]))
            return false;
    for (uint32_t k = 0; k < c->imm.pat->nfilt; k++)
        if (!tr_array_is_fresh(f, rooms[k]))
            return false;
    return !names_one_of_arrays(f, p, rooms, c->imm.pat->nfilt);
}

static bool packs_alike(const tr_fn *f, tr_val pv, tr_val cv, waiting *w) {
    const tr_ins *p = tr_at(f, pv), *c = tr_at(f, cv);
    const tr_pat *tp = p->imm.pat, *tc = c->imm.pat;
    return only_packs(tp) && only_packs(tc) && tr_pats_share_space(p, c) && same_reductions(f, p, c, 1) &&
           tp->par == tc->par && packs_apart(f, p, c) && find_what_moves(f, pv, cv, w);
}

/* Where c stands; what waited follows. c's part is given p's count, and packs what p would count. */
static tr_val pack_together(tr_fn *f, tr_val pv, tr_val cv, const waiting *w) {
    tr_ins p = *tr_at(f, pv), c = *tr_at(f, cv);
    const tr_pat *tp = p.imm.pat, *tc = c.imm.pat;
    tr_fusing m = tr_fuse_new(f, &p, &c);
    tr_fuse_take_rest(&m, &m.p);
    for (uint32_t k = tr_pat_at(tc, P_IN); k < tr_pat_at(tc, P_IN + 1); k++)
        tr_fuse_put(&m, &m.c, k, P_IN, true);
    tr_fuse_share(&m.c, tr_pat_at(tc, P_SCAN), P_SCAN, 0);
    tr_fuse_take_rest(&m, &m.c);
    m.node.t = (tr_pat){.par = tp->par};
    m.node.t.lam = tr_fuse_compose(&m, TR_LAM, TR_LAM, TR_LAM);
    tr_bld b = {.fn = f, .blk = c.blk, .before = cv, .loc = c.loc};
    tr_val node = tr_node_emit(&m.node, &b);
    for (uint32_t k = 1; k < w->all.n; k++)
        tr_ins_move_before(f, w->all.d[k], cv);
    tr_repl r = tr_repl_new(f);
    tr_repl_set(f, &r, pv, node);
    tr_repl_set(f, &r, cv, node);
    tr_repl_apply(f, &r);
    tr_ins_remove(f, pv);
    tr_ins_remove(f, cv);
    return node;
}

/* --- which --- */

static bool packed_fit_limits(const tr_ins *p, const tr_ins *c) {
    return p->imm.pat->nfilt + c->imm.pat->nfilt <= MAX_PACKED &&
           p->imm.pat->nin + c->imm.pat->nin <= MAX_PACKED;
}

/* Sizes that are one value now need no test. */
static void drop_broadcasts(tr_fn *f, tr_bid b) {
    tr_repl r = tr_repl_new(f);
    for (tr_val v = tr_blk_at(f, b)->first, next; v != TR_NOVAL; v = next) {
        next = tr_at(f, v)->next;
        if (tr_at(f, v)->op != TR_OP_BCAST || tr_at(f, v)->args[0] != tr_at(f, v)->args[1])
            continue;
        tr_repl_set(f, &r, v, tr_at(f, v)->args[0]);
        tr_ins_remove(f, v);
    }
    tr_repl_apply(f, &r);
}

/* Of p, which comes first, and c; what stands for c then, or TR_NOVAL. */
static tr_val try_pair(tr_fn *f, tr_val pv, tr_val cv) {
    waiting w = {0};
    if (equal_reductions(f, pv, cv)) {
        tr_repl r = tr_repl_new(f);
        tr_repl_set(f, &r, cv, pv);
        tr_repl_apply(f, &r);
        tr_ins_remove(f, cv);
        return pv;
    }
    if (packed_fit_limits(tr_at(f, pv), tr_at(f, cv)) && packs_alike(f, pv, cv, &w)) {
        tr_val node = pack_together(f, pv, cv, &w);
        drop_broadcasts(f, tr_at(f, node)->blk); /* which could not wait for the next one */
        return node;
    }
    return TR_NOVAL;
}

static bool twins_of_block(tr_fn *f, tr_bid b) {
    tr_u32s pats = {0};
    bool changed = false;
    for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
        const tr_pat *t = tr_at(f, v)->op == TR_OP_PATTERN ? tr_at(f, v)->imm.pat : NULL;
        if (t && (only_reduces(t) || only_packs(t)))
            tr_vec_push(&f->ctx->arena, &pats, v);
    }
    for (uint32_t c = 1; c < pats.n; c++)
        for (uint32_t k = c, tried = 0; k-- > 0 && tried < MAX_BACK && pats.d[c] != TR_NOVAL;) {
            if (pats.d[k] == TR_NOVAL)
                continue;
            tried++;
            tr_val now = try_pair(f, pats.d[k], pats.d[c]);
            if (now == TR_NOVAL)
                continue;
            changed = true;
            pats.d[now == pats.d[k] ? c : k] = TR_NOVAL;
            if (pats.d[c] != TR_NOVAL)
                pats.d[c] = now;
        }
    return changed;
}

bool tr_opt_twins(tr_prog *p, tr_fn *f) {
    bool changed = false;
    (void)p;
    for (uint32_t i = 0; i < f->rpo.n; i++) {
        changed |= share_masks(f, f->rpo.d[i]);
        changed |= count_by_ends(f, f->rpo.d[i]);
        changed |= twins_of_block(f, f->rpo.d[i]);
    }
    return changed;
}
