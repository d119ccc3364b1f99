/* Sums over rows of few numbers, vectors in space, get a version for each of some lengths (specialisation by
 * value), where the running program finds that there are many:
 *
 *   [keep n, k] in(a) red(add) then out(r) becomes
 *   if (k == 12 || k == 10 || k == 7 || k == 6 || k == 5) && n * k >= many: ...
 *   else if (k == 16 || k == 8 || k == 4 || k == 3 || k == 2) && n * k >= many:
 *     if k == 16: [keep n, 16] in(a as [n, 16]) red(add) then out(r)  else if k == 8: ...
 *   else as it was
 *
 * How long a row is decides how its sum is grouped, and asking that for each row keeps LLVM from making
 * vectors of several rows: distances of points take a third to a ninth of the time where it is known. Such a
 * pattern may stand in the rounds of a loop over rows (byrow.c), which then has the versions.
 *
 * Arrays of layout C whose last axis is the row are looked at as ones of that length, so that the way from
 * row to row is known, too. The versions of each set of lengths are compiled when one of them is first
 * reached (TR_COLD_LARGE); a loop over rows is such a piece itself, and the versions of the second set
 * another one. With exponentials and the like in a round each version is one. Bits stay: the sum of a row in
 * C order is grouped by its length alone. Cost: linear; ten copies of each such pattern. */
#include <assert.h>

#include "ir/ports.h"
#include "ir/sched.h"
#include "opt/emit.h"
#include "opt/priv.h"
#include "opt/versions.h"

/* The usual ones, and others. Each set is a piece of code that is compiled when it is first reached. */
enum { SETS = 2, LENGTHS = 5, SMALL = 24, MANY = 1 << 16 };
static const int64_t lengths[SETS][LENGTHS] = {{16, 8, 4, 3, 2}, {12, 10, 7, 6, 5}};

/* Does it add up the last axis alone, by floats, each row for itself, and with few instructions? What lies in
 * C order has no tiles along its rows, whose sums would be grouped in another way (ir/sched.h). */
static bool adds_up_rows(const tr_fn *f, const tr_ins *in) {
    const tr_pat *p = in->op == TR_OP_PATTERN ? in->imm.pat : NULL;
    if (!p || p->nspace < 2 || p->keep != (1u << (p->nspace - 1)) - 1 || !p->nfold || p->nscan || p->nfilt ||
        p->nscat || p->ntop || tr_term(p->lam, 0)->op != TR_OP_YIELD || tr_fn_cost(p->lam) > SMALL)
        return false;
    for (uint32_t i = 0; i < p->nin; i++)
        if (tr_at(f, in->args[tr_pat_at(p, P_IN) + i])->ty->layout != TR_LAYOUT_C)
            return false;
    for (uint32_t i = 0; i < tr_pat_nred(p); i++)
        if (!tr_pat_is_buffered(p, i, tr_at(f, in->args[tr_pat_at(p, P_SCAN) + i])->ty))
            return false;
    return true;
}

/* Of which operand of the node is that param of its lambda? UINT32_MAX: of no captured one. */
static uint32_t captured(const tr_ins *in, tr_val param) {
    const tr_pat *p = in->imm.pat;
    for (uint32_t k = tr_pat_at(p, P_CAP); k < tr_pat_at(p, P_CAP) + p->ncap; k++)
        if (tr_port_param(p, TR_LAM, k) == param)
            return k;
    return UINT32_MAX;
}

/* A block of rows that stores what functions of vector math give: vectors are full whatever the rows' length
 * is (byrow_block.c). */
static bool has_full_vectors(const tr_fn *lam) {
    for (tr_val x = 0; x < lam->ins.n; x++) {
        const tr_ins *in = tr_at(lam, x);
        if (in->op != TR_OP_PATTERN || in->blk == TR_NOBLK)
            continue;
        if ((in->imm.pat->nspace > 1 && tr_pat_is_map(in->imm.pat) && tr_fn_calls_math(in->imm.pat->lam)) ||
            has_full_vectors(in->imm.pat->lam))
            return true;
    }
    return false;
}

/* Which operand of the pattern is the length of such rows, its own, a round's, or one of a round's rounds?
 * UINT32_MAX: none. */
static uint32_t length_operand(const tr_fn *f, const tr_ins *in) {
    const tr_fn *lam = in->op == TR_OP_PATTERN ? in->imm.pat->lam : NULL;
    if (adds_up_rows(f, in))
        return tr_pat_at(in->imm.pat, P_SPACE) + in->imm.pat->nspace - 1;
    for (tr_val x = lam && lam->blks.n == 1 ? tr_blk_at(lam, 0)->first : TR_NOVAL; x != TR_NOVAL;
         x = tr_at(lam, x)->next) {
        uint32_t k = length_operand(lam, tr_at(lam, x));
        if (k != UINT32_MAX)
            return captured(in, tr_at(lam, x)->args[k]);
    }
    return UINT32_MAX;
}

static uint32_t length_of_rows(const tr_fn *f, const tr_ins *in) {
    bool full = !adds_up_rows(f, in) && has_full_vectors(in->imm.pat->lam);
    return full ? UINT32_MAX : length_operand(f, in);
}

static tr_val size_of(tr_bld *b, tr_val array, unsigned axis) {
    const tr_val *sizes = tr_made_sizes(tr_at(b->fn, array));
    return sizes ? sizes[axis] : tr_emit_dim(b, array, axis);
}

/* Is the last axis of an array of layout C that long? */
static bool has_rows_of(const tr_fn *f, tr_val array, tr_val length) {
    const tr_ins *in = tr_at(f, array), *by = tr_at(f, length);
    const tr_ty *t = in->ty;
    if (t->kind != TR_TY_ARRAY || t->ndim < 2 || t->layout != TR_LAYOUT_C)
        return false;
    const tr_val *sizes = tr_made_sizes(in);
    return sizes ? sizes[t->ndim - 1] == length
                 : by->op == TR_OP_DIM && by->args[0] == array && by->imm.i == (int64_t)t->ndim - 1;
}

/* The same array, whose rows are known to be n long. */
static tr_val as_rows(tr_bld *b, tr_val array, tr_val n) {
    const tr_ty *t = tr_at(b->fn, array)->ty;
    tr_val args[TR_MAX_NDIM + 2] = {array, tr_emit_int(b, 0)};
    for (unsigned k = 0; k + 1 < t->ndim; k++)
        args[2 + k] = size_of(b, array, k);
    args[1 + t->ndim] = n;
    return tr_emit_v(b, TR_OP_RESTRIDE, t, 2 + t->ndim, args);
}

/* A copy of pattern v at the end of a block. */
static tr_val copy_to(tr_fn *f, tr_val v, tr_bid blk) {
    const tr_ins in = *tr_at(f, v);
    tr_bld b = tr_bld_at_end(f, blk);
    b.loc = in.loc;
    tr_node m = tr_node_new(f);
    m.t = *in.imm.pat;
    m.t.lam = tr_fn_clone(in.imm.pat->lam);
    m.t.epi = in.imm.pat->epi ? tr_fn_clone(in.imm.pat->epi) : NULL;
    for (unsigned r = 0; r < TR_ROLE__COUNT; r++)
        tr_node_take(&m, r, &in);
    return tr_node_emit(&m, &b);
}

/* What is captured as operand k of pattern v is n, which its lambda sees as a number then: how loops of
 * patterns in it go is decided by what is known there, and in their rounds. */
static void know_inside(tr_fn *f, tr_val v, uint32_t k, int64_t n) {
    const tr_pat *p = tr_at(f, v)->imm.pat;
    tr_val param = tr_port_param(p, TR_LAM, k);
    for (tr_val x = 0; x < p->lam->ins.n; x++) {
        const tr_ins *in = tr_at(p->lam, x);
        for (uint32_t i = 0; in->blk != TR_NOBLK && in->op == TR_OP_PATTERN && i < in->nargs; i++)
            if (in->args[i] == param && tr_pat_role(in->imm.pat, i) == P_CAP)
                know_inside(p->lam, x, i, n);
    }
    tr_repl r = tr_repl_new(p->lam);
    tr_repl_set(p->lam, &r, param, tr_const_int(p->lam, tr_at(p->lam, param)->ty, n));
    tr_repl_apply(p->lam, &r);
}

/* Rows of pattern v are n long. */
static void make_known(tr_fn *f, tr_val v, tr_val length, int64_t n) {
    tr_bld b = tr_bld_before(f, v);
    tr_val known = tr_emit_int(&b, n);
    const tr_pat *p = tr_at(f, v)->imm.pat;
    uint32_t nargs = tr_at(f, v)->nargs;
    const tr_val *was = tr_arena_copy(&f->ctx->arena, tr_at(f, v)->args, nargs * sizeof *was);
    for (uint32_t k = 0; k < nargs; k++) {
        tr_val x = was[k], now = x;
        tr_role role = tr_pat_role(p, k);
        bool whole = role == P_IN || role == P_OUT || role == P_TABLE || role == P_CAP;
        if (x == length && role == P_CAP)
            know_inside(f, v, k, n);
        for (uint32_t i = 0; i < k && whole; i++) /* an array that has tables is captured, too */
            now = was[i] == x ? tr_arg(f, v, i) : now;
        if (x == length)
            now = known;
        else if (whole && now == x && has_rows_of(f, x, length))
            now = as_rows(&b, x, known);
        tr_at(f, v)->args[k] = now;
    }
}

/* What pattern v gives is, behind both forms, what it or its copy in the other one has given. */
static void hand_on_value(const tr_fork *k, tr_fn *f, tr_val v, tr_val copy) {
    const tr_ty *t = tr_at(f, v)->ty;
    if (!t || t->kind == TR_TY_NONE)
        return;
    tr_repl r = tr_repl_new(f);
    tr_repl_set(f, &r, v, tr_blk_param(f, k->after, t, NULL));
    tr_repl_apply(f, &r);
    tr_fork_hand_on(f, k, 1, &v, &copy);
}

/* Gives pattern v a version for each of the first n lengths of a set, where `enough` holds (TR_NOVAL: it
 * does): the block that goes on behind them. */
static tr_bid versions_by_length(tr_versions *forms, tr_val v, uint32_t at, unsigned set, unsigned n,
                                 tr_val enough) {
    tr_fn *f = forms->f;
    tr_val length = tr_at(f, v)->args[at];
    tr_bid on = TR_NOBLK;
    for (unsigned i = 0; i < n; i++) {
        tr_fork k = tr_fork_cut(forms, v, tr_at(f, v)->loc);
        tr_val is = tr_emit_cmp(&k.b, TR_CMP_EQ, length, tr_emit_int(&k.b, lengths[set][i]));
        if (enough != TR_NOVAL)
            is = tr_emit_both(&k.b, is, enough);
        tr_ins_move_end(f, v, k.plain);
        tr_fork_make(forms, &k, TR_COLD_LARGE);
        tr_val copy = copy_to(f, v, k.other);
        hand_on_value(&k, f, v, copy);
        make_known(f, copy, length, lengths[set][i]);
        tr_fork_pick(forms, &k, is, k.other);
        on = on == TR_NOBLK ? k.after : on;
    }
    return on;
}

/* Are rows as long as one of a set? A bit for each length, as comparisons with numbers that the loop over the
 * rows makes, too, would take registers there. */
static tr_val is_of_set(tr_bld *b, tr_val length, unsigned set) {
    int64_t bits = 0;
    for (unsigned i = 0; i < LENGTHS; i++)
        bits |= INT64_C(1) << lengths[set][i];
    tr_val at = tr_emit_least(b, length, tr_emit_int(b, 63));
    tr_val bit = tr_emit_op(b, TR_OP_SHR, tr_emit_int(b, bits), at);
    bit = tr_emit_op(b, TR_OP_AND, bit, tr_emit_int(b, 1));
    return tr_emit_cmp(b, TR_CMP_NE, bit, tr_emit_int(b, 0));
}

/* Is there much to add up? */
static tr_val is_much(tr_bld *b, const tr_ins *in) {
    unsigned last = in->imm.pat->nspace - 1u;
    tr_val all = tr_emit_times(b, in->args[last], in->args, last);
    return tr_emit_cmp(b, TR_CMP_GE, all, tr_emit_int(b, MANY));
}

/* The pattern, and a block with its versions for a set, which is compiled when it is reached: all at once, as
 * each place where code may be left to costs compile time, too. `large`: the pattern itself is such a piece,
 * and whether there is much was asked before. */
static tr_bid two_ways(tr_versions *forms, tr_val v, uint32_t at, unsigned set, bool large) {
    tr_fn *f = forms->f;
    const tr_ins in = *tr_at(f, v);
    tr_fork k = tr_fork_cut(forms, v, in.loc);
    tr_val worth = is_of_set(&k.b, in.args[at], set);
    if (!large)
        worth = tr_emit_both(&k.b, is_much(&k.b, &in), worth);
    tr_ins_move_end(f, v, k.plain);
    tr_fork_make(forms, &k, TR_COLD_LARGE);
    tr_val copy = copy_to(f, v, k.other);
    hand_on_value(&k, f, v, copy);
    tr_fork_pick(forms, &k, worth, k.other);
    if (large) /* pieces are apart where what lies between is none */
        tr_blk_at(f, k.b.blk)->cold = tr_blk_at(f, k.after)->cold = TR_COLD_NO;
    versions_by_length(forms, copy, at, set, LENGTHS - 1, TR_NOVAL);
    make_known(f, copy, tr_at(f, copy)->args[at], lengths[set][LENGTHS - 1]);
    return k.after;
}

/* The same for all sets, each version compiled when it is reached. */
static tr_bid ways_apart(tr_versions *forms, tr_val v, uint32_t at) {
    tr_bld b = tr_bld_before(forms->f, v);
    tr_val enough = is_much(&b, tr_at(forms->f, v));
    tr_bid on = TR_NOBLK;
    for (unsigned set = 0; set < SETS; set++) {
        tr_bid after = versions_by_length(forms, v, at, set, LENGTHS, enough);
        on = on == TR_NOBLK ? after : on;
    }
    return on;
}

static tr_bid try_pattern(tr_versions *forms, tr_val v) {
    const tr_fn *f = forms->f;
    const tr_ins *in = tr_at(f, v);
    uint32_t at = length_of_rows(f, in);
    if (at == UINT32_MAX || tr_pat_joins(in->imm.pat) || tr_is_const(tr_at(f, in->args[at])))
        return TR_NOBLK;
    bool large = tr_blk_at(f, in->blk)->cold == TR_COLD_LARGE; /* byrow.c */
    /* LLVM makes as many vectors of such functions as a row has items, which takes 12 ms for three and 85 for
     * sixteen. */
    if (!large && adds_up_rows(f, in) && tr_fn_calls_math(in->imm.pat->lam))
        return ways_apart(forms, v, at);
    tr_bid on = two_ways(forms, v, at, SETS - 1, large);
    for (unsigned set = SETS - 1; set-- > 0;)
        if (large)
            versions_by_length(forms, v, at, set, LENGTHS, TR_NOVAL);
        else
            two_ways(forms, v, at, set, false);
    return on;
}

bool tr_opt_vectors(tr_prog *p, tr_fn *f) {
    tr_versions forms = tr_versions_new(f);
    uint32_t n = f->blks.n;
    (void)p;
    for (tr_bid b = 0; b < n && !f->is_lambda; b++) {
        const tr_blk *blk = tr_blk_at(f, b);
        for (tr_val v = blk->dead || blk->cold > TR_COLD_LARGE ? TR_NOVAL : blk->first; v != TR_NOVAL;) {
            tr_bid on = tr_at(f, v)->op == TR_OP_PATTERN ? try_pattern(&forms, v) : TR_NOBLK;
            v = on == TR_NOBLK ? tr_at(f, v)->next : tr_blk_at(f, on)->first;
        }
    }
    return tr_versions_end(&forms);
}
