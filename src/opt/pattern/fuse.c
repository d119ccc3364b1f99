/* Merges patterns (loop fusion and array contraction): what one writes and the next reads at the same index
 * never has to go through memory.
 *
 * Within a block, a pattern moves down to one that follows and has the same space, if one reads what the
 * other writes, or if both read the same array. The new lambda is the first one's followed by the second's. A
 * pattern over what another's kept axes leave goes into its epilogue. A fresh array that nobody reads any
 * more then is not made at all. What stands between the two and depends on the first goes behind both
 * (fuse_order.c).
 *
 * What is tested before the second pattern and after the first, as the indices of what it loads are, comes
 * behind where the loads can be guarded. That is tried when all else has been merged, as it keeps apart what
 * is stored into arrays that others know.
 *
 * Never merged: regions (lambdas with memory of their own), so no work is done twice; patterns whose arrays
 * might overlap; more than MAX_ARRAYS arrays or MAX_SIZE instructions, since values would leave the
 * registers. Cost: pairs of patterns within a block, MAX_BACK apart at most. */
#include <stdarg.h>
#include <string.h>

#include "base/plant.h"
#include "ir/summary.h"
#include "opt/pattern/fuse.h"
#include "opt/emit.h"

enum { MAX_ARRAYS = 24, MAX_SIZE = 600, MAX_BACK = 16, MAX_ROUNDS = 4, MAX_CHAINED = 12 };

typedef struct fuser {
    tr_prog *p;
    tr_fn *f;
    tr_u32s pats; /* of the block, in order */
    /* packed arrays of filters whose reductions were merged: no larger than arrays that are there */
    tr_u32s rooms;
    uint32_t *uses; /* of the first `nuses` values, as it is while patterns are merged */
    uint32_t nuses;
    tr_u32s made;   /* nodes made from others: their own values have no uses yet */
    tr_u32s behind; /* what comes behind the two that are looked at */
    tr_fuse_results results;
    tr_repl r;
    bool changed, tells;
    bool rose;                 /* the second of the two that were merged went to where the first one stands */
    bool guards, wants_guards; /* loads may be guarded in this round; one that would be was met */
} fuser;

/* --- what is said of it: TREADLE_DUMP=fuse --- */

static uint32_t line_of(const fuser *u, tr_val v) {
    return (uint32_t)tr_fn_place(u->f, tr_at(u->f, v)->loc).span.line;
}

static __attribute__((format(printf, 4, 5))) void tell(fuser *u, tr_val p, tr_val c, const char *fmt, ...) {
    tr_ctx *ctx = u->p->ctx;
    if (!u->tells || tr_blk_at(u->f, tr_at(u->f, c)->blk)->cold || (u->guards && !strncmp(fmt, "not ", 4)))
        return; /* in the second round, what is new */
    va_list ap;
    va_start(ap, fmt);
    const char *text = tr_arena_vprintf(&ctx->arena, fmt, ap);
    va_end(ap);
    if (tr_dump_wants(&ctx->dump, TR_STAGE_FUSE, NULL, u->f->name))
        tr_sb_printf(&ctx->dump_text, "%s: patterns of lines %u and %u: %s\n", u->f->name, line_of(u, p),
                     line_of(u, c), text);
    if (!strncmp(text, "not ", 4) && line_of(u, p) != line_of(u, c)) /* what was merged is seen in the code */
        tr_remark_add(ctx, TR_REMARK_APART, tr_fn_place(u->f, tr_at(u->f, c)->loc),
                      "not merged with line %u: %s", line_of(u, p), text + strlen("not merged: "));
}

/* --- questions about one pattern --- */

static uint32_t size_of(const tr_fn *f) {
    uint32_t n = 0;
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next)
            n++;
    return n;
}

/* --- may rounds of both be done by turns? --- */

/* Does no element of an output lie where one of another index lies of an input? As tr_pat.apart has it. */
static bool outputs_lie_apart(const tr_fn *f, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    for (uint32_t k = 0; k < t->nout; k++)
        for (uint32_t j = 0; j < t->nin; j++)
            if (tr_fuse_out(p)[k] != tr_fuse_in(p)[j] &&
                !tr_arrays_apart(f, tr_fuse_out(p)[k], tr_fuse_in(p)[j], p->blk))
                return false;
    return t->nout > 0 && !t->neout && !t->nscat;
}

/* May c's operand x be written while rounds to come of p's part read r? */
static bool write_mixes(const tr_fn *f, tr_role role, tr_val x, tr_val r, tr_bid b) {
    return role == P_OUT    ? x == r || tr_arrays_apart(f, x, r, b)
           : role == P_SCAT ? tr_arrays_disjoint(f, x, r, b)
                            : tr_arrays_distinct(f, x, r, b); /* an epilogue runs when some rounds have not */
}

/* May each round of one node do p's part and then c's, before the next round does p's? What either writes,
 * the other must not read elsewhere: the same array at the same index is fine. */
static bool rounds_mix(const tr_fn *f, const tr_ins *p, const tr_ins *c) {
    const tr_pat *tp = p->imm.pat, *tc = c->imm.pat;
    for (uint32_t k = 0; (k = tr_pat_with(tc, TR_MEM_WRITE, k)) < c->nargs; k++)
        if (tr_fuse_loads_from(f, p, c->args[k]))
            return false;
    for (uint32_t k = 0; (k = tr_pat_with(tp, TR_MEM_WRITE, k)) < p->nargs; k++)
        if (tr_fuse_loads_from(f, c, p->args[k]))
            return false;
    for (uint32_t k = 0; (k = tr_pat_with(tc, TR_MEM_UPDATE, k)) < c->nargs; k++) {
        tr_val x = c->args[k];
        tr_role role = tr_pat_role(tc, k);
        for (uint32_t j = 0; tr_role_info[role].memory & TR_MEM_WRITE && j < tp->nin; j++)
            if (!write_mixes(f, role, x, tr_fuse_in(p)[j], p->blk))
                return false;
        for (uint32_t j = 0; j < tp->nout; j++)
            if (!(role == P_IN && x == tr_fuse_out(p)[j]) &&
                !tr_arrays_distinct(f, tr_fuse_out(p)[j], x, p->blk))
                return false;
    }
    return true;
}

/* The same for c as part of p's epilogue, which runs when some rounds have not: nothing that c writes may be
 * read by p, and nothing that p writes by c, but what is handed on. */
static bool epilogue_mixes(const tr_fn *f, const tr_ins *p, const tr_ins *c) {
    const tr_pat *tp = p->imm.pat, *tc = c->imm.pat;
    for (uint32_t k = 0; k < tc->nout; k++)
        if (tr_fuse_loads_from(f, p, tr_fuse_out(c)[k]) ||
            !tr_fuse_distinct_from_all(f, tr_fuse_out(c)[k], tr_fuse_in(p), (uint32_t)tp->nin + tp->nout,
                                       p->blk) ||
            !tr_fuse_distinct_from_all(f, tr_fuse_out(c)[k], tr_fuse_ein(p), (uint32_t)tp->nein + tp->neout,
                                       p->blk))
            return false;
    for (uint32_t k = 0; k < tc->nin; k++) {
        tr_val x = tr_fuse_in(c)[k];
        if (!tr_fuse_distinct_from_all(f, x, tr_fuse_out(p), tp->nout, p->blk) ||
            (!tr_opt_among(x, tr_fuse_eout(p), tp->neout) &&
             !tr_fuse_distinct_from_all(f, x, tr_fuse_eout(p), tp->neout, p->blk)))
            return false;
    }
    return true;
}

/* An input that repeats along an axis is not what was written at the same index. */
static bool reads_whole(const tr_fn *f, tr_val a, const tr_ins *c) {
    const tr_ins *in = tr_at(f, a);
    return in->op == TR_OP_ALLOC && in->nargs == c->imm.pat->nspace &&
           tr_vals_same(in->args, c->args, in->nargs);
}

/* --- one node after another, at the same index --- */

/* Inputs of c but those that p writes. */
static void place_inputs(tr_fusing *m) {
    const tr_ins *p = m->p.in, *c = m->c.in;
    tr_fuse_take(m, &m->p, P_IN);
    for (uint32_t k = tr_pat_at(c->imm.pat, P_IN); k < tr_pat_at(c->imm.pat, P_IN + 1); k++) {
        uint32_t of = tr_fuse_written_as(p, P_OUT, c->args[k]);
        if (of != UINT32_MAX)
            tr_fuse_link(m, k, of);
        else
            tr_fuse_put(m, &m->c, k, P_IN, true);
    }
}

/* Values of a merged pattern's reductions: items `first`... of the node's now. */
static void redirect(fuser *u, tr_val old, const tr_pat *t, tr_val node, uint32_t first) {
    for (uint32_t i = 0; i < u->results.n; i++)
        if (u->results.d[i].node == old) {
            u->results.d[i].node = node;
            u->results.d[i].first += first;
        }
    tr_fuse_result r = {old, node, first, tr_pat_nred(t)};
    if (tr_pat_nred(t) && !tr_opt_among(old, u->made.d, u->made.n))
        tr_vec_push(&u->f->ctx->arena, &u->results, r);
}

/* Once a block's patterns have found their places: what used the old values uses the new ones'. */
static void take_results(fuser *u) {
    tr_fn *f = u->f;
    for (uint32_t i = 0; i < u->results.n; i++) {
        tr_fuse_result r = u->results.d[i];
        const tr_ty *t = tr_fuse_type(f, r.old);
        if (tr_pat_nred(tr_at(f, r.node)->imm.pat) == r.nred) {
            tr_repl_set(f, &u->r, r.old, r.node);
            continue;
        }
        tr_bld b = {.fn = f,
                    .blk = tr_at(f, r.node)->blk,
                    .before = tr_at(f, r.node)->next,
                    .loc = tr_at(f, r.node)->loc};
        tr_val *x = TR_NEW_N(&f->ctx->arena, tr_val, r.nred);
        for (uint32_t k = 0; k < r.nred; k++) {
            x[k] = tr_emit1(&b, TR_OP_EXTRACT, r.nred == 1 ? t : t->items[k], r.node);
            tr_at(f, x[k])->imm.i = r.first + k;
        }
        tr_repl_set(f, &u->r, r.old, r.nred == 1 ? x[0] : tr_emit_v(&b, TR_OP_TUPLE, t, r.nred, x));
    }
    u->results.n = 0;
}

static tr_val merge(fuser *u, tr_val pv, tr_val cv, bool guards) {
    tr_fn *f = u->f;
    tr_ins p = *tr_at(f, pv), c = *tr_at(f, cv);
    if (guards)
        c.imm.pat = tr_fuse_guarded(f, c.imm.pat);
    const tr_pat *tp = p.imm.pat, *tc = c.imm.pat;
    tr_fusing m = tr_fuse_new(f, &p, &c);
    m.node.t = (tr_pat){
        .par = tp->par < tc->par ? tp->par : tc->par, .apart = tp->apart && tc->apart, .keep = tc->keep};
    place_inputs(&m);
    tr_fuse_take(&m, &m.c, P_RED); /* before p's */
    tr_fuse_take_rest(&m, &m.p);
    tr_fuse_take_rest(&m, &m.c);
    m.node.t.lam = tr_fuse_compose(&m, TR_LAM, TR_LAM, TR_LAM);
    if (tc->epi)
        m.node.t.epi = tr_fuse_compose(&m, TR_EPI, TR_NOFN, TR_EPI);
    tr_bld b = {.fn = f, .blk = c.blk, .before = cv, .loc = c.loc};
    tr_val node = tr_node_emit(&m.node, &b);
    tr_pat *t = tr_at(f, node)->imm.pat;
    t->apart = t->apart || outputs_lie_apart(f, tr_at(f, node));
    if (!tc->keep) {
        redirect(u, cv, tc, node, tp->nscan);
        redirect(u, pv, tp, node, tp->nscan ? 0 : tr_pat_nred(tc));
    }
    tr_vec_push(&f->ctx->arena, &u->made, node);
    tr_ins_remove(f, pv);
    tr_ins_remove(f, cv);
    return node;
}

/* --- a map over what kept axes leave, into the epilogue --- */

static tr_val merge_epilogue(fuser *u, tr_val pv, tr_val cv) {
    tr_fn *f = u->f;
    tr_ins p = *tr_at(f, pv), c = *tr_at(f, cv);
    const tr_pat *tp = p.imm.pat, *tc = c.imm.pat;
    tr_fusing m = tr_fuse_new(f, &p, &c);
    m.node.t = *tp;
    tr_fuse_take_rest(&m, &m.p);
    for (uint32_t k = tr_pat_at(tc, P_IN); k < tr_pat_at(tc, P_IN + 1); k++) {
        uint32_t of = tr_fuse_written_as(&p, P_EOUT, c.args[k]);
        if (of != UINT32_MAX)
            tr_fuse_link(&m, k, of);
        else
            tr_fuse_put(&m, &m.c, k, P_EIN, false);
    }
    for (uint32_t k = tr_pat_at(tc, P_OUT); k < tr_pat_at(tc, P_OUT + 1); k++)
        tr_fuse_put(&m, &m.c, k, P_EOUT, false);
    tr_fuse_take(&m, &m.c, P_CAP);
    m.node.t.lam = tr_fuse_compose(&m, TR_LAM, TR_LAM, TR_NOFN); /* it has more captures now */
    m.node.t.epi = tr_fuse_compose(&m, TR_EPI, TR_EPI, TR_LAM);
    tr_bld b = {.fn = f, .blk = c.blk, .before = cv, .loc = c.loc};
    tr_val node = tr_node_emit(&m.node, &b);
    tr_ins_remove(f, pv);
    tr_ins_remove(f, cv);
    return node;
}

/* --- reductions over what a filter has kept, into the filter --- */

/* How many the filter p has kept. */
static bool is_count_of_filter(const fuser *u, tr_val v, tr_val p) {
    if (v == p)
        return tr_pat_nred(tr_at(u->f, p)->imm.pat) == 1;
    for (uint32_t i = 0; i < u->results.n; i++)
        if (u->results.d[i].node == p && u->results.d[i].old == v)
            return u->results.d[i].first == 0 && u->results.d[i].nred == 1;
    return false;
}

/* The packed array of p that x is the kept part of, or TR_NOVAL. */
static tr_val packed_part(const fuser *u, tr_val x, tr_val pv) {
    const tr_ins *in = tr_at(u->f, x), *p = tr_at(u->f, pv);
    bool part = in->op == TR_OP_VIEW && in->ty->ndim == 1 && tr_view_nbase(in) == 1 &&
                tr_is_int(u->f, tr_view_starts(in)[0], 0) && tr_is_int(u->f, tr_view_steps(in)[0], 1) &&
                is_count_of_filter(u, tr_made_sizes(in)[0], pv);
    const tr_val *filt = p->args + tr_pat_at(p->imm.pat, P_PACK);
    for (uint32_t k = 0; part && k < p->imm.pat->nfilt; k++)
        if (filt[k] == in->args[0])
            return k;
    return TR_NOVAL;
}

static bool reads_packed(const fuser *u, tr_val pv, tr_val cv) {
    const tr_ins *c = tr_at(u->f, cv);
    const tr_pat *tp = tr_at(u->f, pv)->imm.pat, *tc = c->imm.pat;
    if (!tp->nfilt || tc->nspace != 1 || !tc->nin || !is_count_of_filter(u, c->args[0], pv))
        return false;
    for (uint32_t k = 0; k < tc->nin; k++)
        if (packed_part(u, tr_fuse_in(c)[k], pv) == TR_NOVAL)
            return false;
    return true;
}

static bool pattern_only_folds(const tr_pat *t) {
    for (uint32_t k = 0; k < tr_pat_nred(t); k++)
        if (tr_red_info[tr_pat_red(t, k)].place || tr_red_info[tr_pat_red(t, k)].joins)
            return false;
    return t->nfold && !t->keep && tr_pat_has_only(t, P_(SPACE) | P_(IN) | P_(RED) | P_(CAP)) &&
           tr_fn_is_scalar(t->lam);
}

/* Does c need the value v, or, where v is a node made of others, that of one of these? */
static bool needs_value(const fuser *u, const tr_ins *c, tr_val v) {
    const tr_pat *t = c->imm.pat;
    for (uint32_t k = tr_pat_at(t, P_SCAN); k < tr_pat_at(t, P_SCAN) + tr_pat_nred(t); k++)
        if (tr_fuse_is_result(&u->results, c->args[k], v))
            return true;
    for (uint32_t k = 0; k < t->ncap; k++)
        if (tr_fuse_is_result(&u->results, c->args[tr_pat_at(t, P_CAP) + k], v) &&
            tr_fuse_lam_uses(t->lam, tr_pat_param(t, TR_LAM, P_CAP) + k))
            return true;
    return false;
}

/* May c's part be done where p is? Nothing between them writes what p packs, and what c
 * needs is known by then. */
static const char *cannot_rise(const fuser *u, tr_val pv, tr_val cv) {
    const tr_fn *f = u->f;
    const tr_ins *p = tr_at(f, pv), *c = tr_at(f, cv);
    const tr_pat *tp = p->imm.pat;
    for (tr_val q = p->next; q != cv; q = tr_at(f, q)->next) {
        const tr_ins *in = tr_at(f, q);
        if (needs_value(u, c, q))
            return "what the second needs is not known yet where the first stands";
        bool counts = in->op == TR_OP_RETAIN || in->op == TR_OP_RELEASE;
        if (tr_ins_effects(in) & (E_WRITE | E_SIDE) && !counts &&
            !tr_fuse_leaves_alone(f, in, p->args + tr_pat_at(tp, P_PACK), tp->nfilt, p->blk))
            return "what the second reads may be written between them";
    }
    return NULL;
}

/* Where p stands: p's part, then c's on what the round would pack, whose contributions count if the round is
 * kept. c's index is where the scan stands, the place among what is kept. */
static tr_val merge_packed(fuser *u, tr_val pv, tr_val cv) {
    tr_fn *f = u->f;
    tr_ins p = *tr_at(f, pv), c = *tr_at(f, cv);
    const tr_pat *tp = p.imm.pat, *tc = c.imm.pat;
    tr_fusing m = tr_fuse_new(f, &p, &c);
    m.packed = true;
    tr_fuse_take_rest(&m, &m.p);
    tr_fuse_share(&m.c, 0, P_SCAN, 0);
    for (uint32_t k = tr_pat_at(tc, P_IN); k < tr_pat_at(tc, P_IN + 1); k++)
        tr_fuse_link(&m, k, tr_pat_at(tp, P_PACK) + packed_part(u, c.args[k], pv));
    for (uint32_t k = 0; k < tc->ncap; k++) { /* one that is not looked at may come later */
        tr_val *x = &c.args[tr_pat_at(tc, P_CAP) + k];
        if (!tr_fuse_lam_uses(tc->lam, tr_pat_param(tc, TR_LAM, P_CAP) + k))
            *x = tr_const_undef(f, tr_fuse_type(f, *x));
    }
    tr_fuse_take_rest(&m, &m.c);
    m.node.t = (tr_pat){.par = tp->par < tc->par ? tp->par : tc->par};
    m.node.t.lam = tr_fuse_compose(&m, TR_LAM, TR_LAM, TR_LAM);
    for (uint32_t k = 0; k < tp->nfilt; k++)
        tr_vec_push(&f->ctx->arena, &u->rooms, p.args[tr_pat_at(tp, P_PACK) + k]);
    tr_bld b = {.fn = f, .blk = p.blk, .before = pv, .loc = p.loc};
    tr_val node = tr_node_emit(&m.node, &b);
    redirect(u, pv, tp, node, 0);
    redirect(u, cv, tc, node, tr_pat_nred(tp));
    tr_vec_push(&f->ctx->arena, &u->made, node);
    tr_ins_remove(f, pv);
    tr_ins_remove(f, cv);
    return node;
}

/* --- which --- */

static uint32_t shared_inputs(const tr_ins *p, const tr_ins *c) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < c->imm.pat->nin; k++)
        n += tr_opt_among(tr_fuse_in(c)[k], tr_fuse_in(p), p->imm.pat->nin);
    return n;
}

/* Does c read, whole, something that p writes? False with `why` when it reads it otherwise. */
static bool patterns_are_linked(const fuser *u, const tr_ins *p, const tr_ins *c, const tr_val *out,
                                uint32_t nout, const char **why) {
    bool any = false;
    for (uint32_t k = 0; k < c->imm.pat->nin; k++) {
        tr_val x = tr_fuse_in(c)[k];
        if (!tr_opt_among(x, out, nout)) {
            for (uint32_t o = 0; o < nout; o++)
                if (tr_array_root(u->f, x) == tr_array_root(u->f, out[o]))
                    *why = "the second reads the array by another view";
            continue;
        }
        if (tr_array_is_fresh(u->f, x) && !reads_whole(u->f, x, c))
            *why = "the array repeats in the second";
        any = true;
    }
    (void)p;
    return any;
}

static uint32_t times_used(const tr_ins *p, tr_val v) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < p->nargs; k++)
        n += p->args[k] == v;
    return n;
}

/* By so many more: 1, or one less. */
static void count_args(fuser *u, const tr_ins *in, uint32_t by) {
    for (uint32_t k = 0; k < in->nargs; k++)
        if (in->args[k] < u->nuses)
            u->uses[in->args[k]] += by;
}

/* A new array that nobody but these two knows is none when they are one. */
static bool array_goes(const fuser *u, const tr_ins *p, const tr_ins *c, tr_val a) {
    return tr_array_is_fresh(u->f, a) && a < u->nuses && u->uses[a] == times_used(p, a) + times_used(c, a);
}

/* Arrays of both when they are one, each once: it is read once for all that look at it. */
static uint32_t arrays_of(const fuser *u, const tr_ins *p, const tr_ins *c) {
    tr_val seen[MAX_ARRAYS + 1];
    const tr_ins *of[] = {p, c};
    uint32_t n = 0;
    for (uint32_t i = 0; i < 2; i++) {
        const tr_pat *t = of[i]->imm.pat;
        for (uint32_t k = 0; n < MAX_ARRAYS + 1u && (k = tr_pat_with(t, TR_MEM_UPDATE, k)) < of[i]->nargs;
             k++)
            if (!tr_opt_among(of[i]->args[k], seen, n) && !array_goes(u, p, c, of[i]->args[k]))
                seen[n++] = of[i]->args[k];
    }
    return n;
}

/* What the first one packs is not counted: it may go. */
static bool fused_is_too_large(const fuser *u, const tr_ins *p, const tr_ins *c) {
    const tr_pat *a = p->imm.pat, *b = c->imm.pat;
    return arrays_of(u, p, c) > (uint32_t)MAX_ARRAYS + a->nfilt ||
           size_of(a->lam) + size_of(b->lam) > MAX_SIZE || tr_pat_nred(a) + tr_pat_nred(b) > TR_MAX_REDS;
}

static tr_val try_packed(fuser *u, tr_val pv, tr_val cv) {
    const tr_ins *p = tr_at(u->f, pv), *c = tr_at(u->f, cv);
    const char *why = !pattern_only_folds(c->imm.pat) ? "the second does more than reduce what was kept"
                      : fused_is_too_large(u, p, c)   ? "together they would be too large"
                                                      : cannot_rise(u, pv, cv);
    tell(u, pv, cv, why ? "not merged: %s" : "merged, what is kept is reduced at once", why);
    if (why)
        return TR_NOVAL;
    u->changed = u->rose = true;
    return merge_packed(u, pv, cv);
}

/* What scans ask for. They are walked one by one, so a lambda that vectors would speed up is better left
 * beside them; and blocks of floats are walked twice. Those have no other reductions, and no scan contributes
 * what another one gives (ir/scans.c). */
static const char *scans_object(const tr_pat *tp, const tr_pat *tc, bool link) {
    if (tp->nscan && (tp->keep || tp->nfilt || tr_pat_nred(tp) > tp->nscan || tc->nfilt))
        return "the first one reduces, filters or scans some axes";
    if (tp->nscan && tc->nscan && link)
        return "the second scans what the first one gives";
    bool joins = (tp->nscan && tr_pat_joins(tp)) || (tc->nscan && tr_pat_joins(tc));
    if (joins && (tr_pat_nred(tp) + tr_pat_nred(tc) > 1 || tc->nfilt + tp->nfilt + tc->nscat + tp->nscat))
        return "a scan by a function goes with no other";
    bool blocks = (tp->nscan && tr_pat_scan_regroups(tp)) || (tc->nscan && tr_pat_scan_regroups(tc));
    if (blocks && tr_pat_nred(tp) + tr_pat_nred(tc) > tp->nscan + tc->nscan)
        return "a scan of floats goes with no other reduction";
    if ((tp->nscan && tr_fn_cost(tc->lam) > MAX_CHAINED) || (blocks && tr_fn_cost(tp->lam) > MAX_CHAINED))
        return "the scan would slow down what the other one computes";
    return NULL;
}

/* It only computes, and has no operand that is not known here: the one of a loop over a prange that says
 * whether it runs on all cores would be lost. */
static bool pattern_may_fuse(const tr_pat *t) {
    return tr_pat_only_computes(t) &&
           tr_pat_has_only(t, P_(SPACE) | P_(IN) | P_(OUT) | P_(PACK) | P_(BEST) | P_(SCAN) | P_(RED) |
                                  P_(TOP) | P_(SCAT) | P_(EIN) | P_(EOUT) | P_(CAP));
}

/* Are the inputs of both what they were after p has written? But for what c reads of p itself. */
static bool inputs_stay(const tr_fn *f, const tr_ins *p, const tr_ins *c) {
    const tr_val *out = tr_fuse_out(p);
    for (uint32_t k = 0; k < p->imm.pat->nout; k++) {
        if (!tr_fuse_distinct_from_all(f, out[k], tr_fuse_in(p), p->imm.pat->nin, c->blk))
            return false;
        for (uint32_t i = 0; i < c->imm.pat->nin; i++)
            if (tr_fuse_in(c)[i] != out[k] && !tr_arrays_distinct(f, out[k], tr_fuse_in(c)[i], c->blk))
                return false;
    }
    return true;
}

/* Merges p into c, or says why not. */
static tr_val try_pair(fuser *u, tr_val pv, tr_val cv) {
    const tr_ins *p = tr_at(u->f, pv), *c = tr_at(u->f, cv);
    const tr_pat *tp = p->imm.pat, *tc = c->imm.pat;
    const char *why = NULL;
    if (reads_packed(u, pv, cv))
        return try_packed(u, pv, cv);
    bool over = tp->epi && tp->keep && !tc->keep && !tr_pat_nred(tc) && tc->nspace == tr_pat_nkeep(tp);
    bool link = over ? patterns_are_linked(u, p, c, tr_fuse_eout(p), tp->neout, &why)
                     : patterns_are_linked(u, p, c, tr_fuse_out(p), tp->nout, &why);
    bool beside = !link && !over && shared_inputs(p, c) > 0 && !tp->keep && tp->nspace > 0;
    if (!link && !beside && !why)
        return TR_NOVAL;
    if (!why && !over && !tr_pats_share_space(p, c))
        why = "their index spaces are not known to be equal";
    if (!why && tp->keep && !over)
        why = "the first one reduces or scans";
    if (!why && (tp->nscan || tc->nscan))
        why = scans_object(tp, tc, link);
    if (!why && tp->nscat)
        why = "the first one scatters";
    if (!why && tc->nscat && (tr_pat_nred(tp) || tp->nscan || tp->nfilt || tc->keep))
        why = "a scatter goes with no reduction of another one";
    if (!why && tp->ntop)
        why = "the first one chooses";
    if (!why && tc->ntop && (tp->nscan || tp->nfilt || tr_pat_nred(tp)))
        why = "the first one does something with all elements, of which the second chooses some";
    if (!why && tc->ntop && !inputs_stay(u->f, p, c))
        why = "the second reads once more what it has chosen, and the first one may have written there";
    if (!why && tc->keep && tr_pat_nred(tp))
        why = "they reduce different axes";
    if (!why && (!pattern_may_fuse(tp) || !pattern_may_fuse(tc)))
        why = "one of them does more than compute";
    for (uint32_t k = 0; !why && k < c->nargs; k++)
        if (tr_fuse_is_result(&u->results, c->args[k], pv))
            why = "the second needs the first one's result";
    if (!why && over && !tr_fn_is_scalar(tc->lam))
        why = "an epilogue reads no arrays but its own";
    if (!why && !over && !rounds_mix(u->f, p, c))
        why = "their arrays may overlap";
    if (!why && over && !epilogue_mixes(u->f, p, c))
        why = "their arrays may overlap";
    if (!why && fused_is_too_large(u, p, c))
        why = "together they would be too large";
    bool guards = false;
    if (!why)
        why = tr_fuse_order(u->f, &u->results, pv, cv, !beside || tr_fuse_loads(c), &u->behind, &guards);
    if (!why && guards && (over || !u->guards)) {
        u->wants_guards |= !over;
        why = "what the second loads is tested after the first";
    }
    if (!why && beside && u->behind.n && !guards)
        why = TR_FUSE_WAITS;
    if (why) {
        tell(u, pv, cv, "not merged: %s", why);
        return TR_NOVAL;
    }
    tell(u, pv, cv,
         over   ? "the second goes into the first one's epilogue"
         : link ? "merged, what the first writes is read at once"
                : "merged, both read the same array");
    u->changed = true;
    tr_val node = over ? merge_epilogue(u, pv, cv) : merge(u, pv, cv, guards);
    for (uint32_t i = u->behind.n; i-- > 0;)
        tr_ins_move_before(u->f, u->behind.d[i], tr_at(u->f, node)->next);
    return node;
}

/* The patterns at k and c of the block's list have become the node: what went behind it comes behind it
 * there, too. Returns where the node is. */
static uint32_t place_node(fuser *u, uint32_t k, uint32_t c, tr_val node) {
    uint32_t n = 0, at = k;
    tr_val *behind = TR_NEW_N(&u->f->ctx->arena, tr_val, c - k);
    for (uint32_t i = k + 1; i < c; i++)
        if (u->rose || tr_opt_among(u->pats.d[i], u->behind.d, u->behind.n))
            behind[n++] = u->pats.d[i];
        else
            u->pats.d[at++] = u->pats.d[i];
    u->pats.d[at] = node;
    memcpy(u->pats.d + at + 1, behind, n * sizeof *behind);
    memmove(u->pats.d + at + 1 + n, u->pats.d + c + 1, (u->pats.n - c - 1) * sizeof *u->pats.d);
    u->pats.n--;
    return at;
}

/* True if something was filtered in it. */
static bool fuse_block(fuser *u, tr_bid b) {
    tr_fn *f = u->f;
    bool filters = false;
    u->pats.n = 0;
    for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL; v = tr_at(f, v)->next)
        if (tr_at(f, v)->op == TR_OP_PATTERN) {
            tr_vec_push(&f->ctx->arena, &u->pats, v);
            filters = filters || tr_at(f, v)->imm.pat->nfilt;
        }
    for (uint32_t c = 1; c < u->pats.n; c++)
        for (uint32_t k = c, tried = 0; k-- > 0 && tried < MAX_BACK; tried++) {
            u->behind.n = 0;
            u->rose = false;
            tr_val first = u->pats.d[k], second = u->pats.d[c], node = try_pair(u, first, second);
            if (node == TR_NOVAL)
                continue;
            count_args(u, tr_at(f, first), UINT32_MAX);
            count_args(u, tr_at(f, second), UINT32_MAX);
            count_args(u, tr_at(f, node), 1);
            k = c = place_node(u, k, c, node);
        }
    take_results(u);
    return filters;
}

/* What is chosen where two arrays overlap, which do not. */
static void settle_choices(fuser *u, tr_bid b) {
    tr_fn *f = u->f;
    for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
        const tr_ins *in = tr_at(f, v);
        const tr_ins *c = in->op == TR_OP_SELECT ? tr_at(f, in->args[0]) : in;
        if (c == in || c->op != TR_OP_OVERLAP || !tr_arrays_disjoint(f, c->args[0], c->args[1], b))
            continue;
        tr_repl_set(f, &u->r, v, in->args[2]);
        u->changed = true;
    }
}

/* Where something is filtered, more than once: what read it may do no more than reduce now, and the array it
 * was counted for be gone. */
static void fuse_rounds(fuser *u) {
    tr_fn *f = u->f;
    bool changed = true, filters = true;
    for (unsigned round = 0; round < MAX_ROUNDS && changed && filters; round++) {
        changed = filters = false;
        u->uses = tr_use_counts(f);
        u->nuses = f->ins.n;
        for (uint32_t i = 0; i < f->rpo.n; i++)
            filters |= fuse_block(u, f->rpo.d[i]);
        tr_repl_apply(f, &u->r);
        while (tr_fuse_drop(f, &u->rooms))
            changed = true;
        u->changed |= changed;
        u->r = tr_repl_new(f);
        u->made.n = 0;
    }
}

bool tr_opt_fuse(tr_prog *p, tr_fn *f) {
    fuser u = {.p = p, .f = f, .r = tr_repl_new(f)};
    u.tells = !f->is_lambda &&
              (tr_remarks_wanted(p->ctx) || tr_dump_wants(&p->ctx->dump, TR_STAGE_FUSE, NULL, f->name));
    for (uint32_t i = 0; i < f->rpo.n; i++)
        settle_choices(&u, f->rpo.d[i]);
    if (u.changed) {
        tr_repl_apply(f, &u.r);
        u.r = tr_repl_new(f);
        while (tr_fuse_drop(f, &u.rooms))
            ;
    }
    fuse_rounds(&u);
    u.guards =
        u.wants_guards && f->kind == TR_FN_HOST && !f->ctx->opts.offload; /* a device has no such loads */
    if (u.guards)
        fuse_rounds(&u);
    return u.changed;
}
