/* Patterns that reduce each row of arrays, and those that use what came out at the rows' elements (`e /
 * e.sum(axis=-1, keepdims=True)`: softmax, normalisation, rows made to length 1), go row by row, while a row
 * is in the cache (fusion of outer loops):
 *
 *   m = [keep n, k] in(x) red(max); e, s = [keep n, k] in(x, m) out(e) red(add); [n, k] in(e, s) out(o)
 *   becomes
 *   [n] { m = [k] in(x[i]) red(max); s = [k] in(x[i]) out(o[i]) red(add) cap(m);
 *         [k] in(o[i]) out(o[i]) cap(s) }
 *
 * A chain: patterns of one block whose first axes are the same, that write to arrays made here. Those that
 * reduce keep just these axes, and what they give is a value of the round then, and an array only where
 * others read it; or they keep more, and are patterns of the round with kept axes of their own; or they
 * reduce all there is, where the order does not matter (`min`, not a sum of floats) or what is reduced has an
 * item a row: then the loop over the rows does, on all cores unless it adds up floats. What has one element a
 * row (`keepdims`, a column) is a value of the round, too; and what chooses the best of a row (`top`) is a
 * pattern of the round. An array of the space that only the chain reads gives way to the one that is made of
 * it last, or is one of the round, as long as a row. A map between them that needs nothing of the chain
 * stands before it. What depends on such a whole reduction comes behind the chain; where it tests indices,
 * loads of the chain are guarded, as in fuse.c.
 *
 * Products of matrices are in the chain like what patterns make (byrow_product.c).
 *
 * What rows are scattered by is a pattern of the round, too, of rounds in blocks (byrow_scatter.c).
 *
 * A round is a row (byrow_row.c); where it makes arrays, a block of rows (byrow_block.c), so that short rows
 * do not pay for that one by one; where it calls functions of vector math, either, as rows are long or short.
 * It pays where a row is read again, arrays do not stay in the cache, and what is done in a round takes
 * longer than what a round costs: a test when the program runs chooses between both forms. The new one is
 * compiled when it is first chosen (TR_COLD_LARGE, opt/late.c). Bits stay: inputs are of layout C, along
 * whose rows no reduction is done in tiles (ir/sched.h), so that one of a row is one of a line; or they are
 * the same for all rows, and no sum of floats asks for them. Patterns that may run on all cores do so over
 * rows, where these are many. Cost: linear in a block, and in its chains' lambdas, for each number of axes
 * that the rows may have; a look at each map that is none of a chain for each array and pattern of it. */
#include <assert.h>
#include <string.h>

#include "ir/alias.h"
#include "ir/sched.h"
#include "opt/pattern/byrow.h"
#include "opt/emit.h"
#include "opt/priv.h"
#include "rt/layout.h"

/* Rows of fewer are written out (opt/pattern/vectors.c). Elements of a row, and where each round of one row
 * makes an array; of all rows; rows for all cores. About how many elements a block of rows has: what it makes
 * stays in the nearest caches, and making it is a hundredth of the work. Blocks that have tables, for all
 * cores. */
enum {
    MORE_THAN_FEW = 9,
    LONG_ROW = 32,
    LONG_TO_MAKE = 64,
    MANY = 1 << 17,
    MANY_ROWS = 64,
    MANY_BLOCKS = 4,
    BLOCK = 1 << 13
};
/* Products are of so many columns at least, and of so many rows. */
enum { SHORT_PRODUCT = 8, FEW_ROWS = 4 };

/* --- which --- */

tr_rows_array *tr_rows_find(tr_rows *c, tr_val array) {
    for (unsigned i = 0; i < c->nw; i++)
        if (c->w[i].array == array)
            return &c->w[i];
    return NULL;
}

/* An array of the chain's of which a row has one element here: one with an element per row, or a view that
 * has indices where rows have axes, with new axes behind them. Else NULL. */
tr_rows_array *tr_rows_of_view(tr_rows *c, tr_val v) {
    const tr_ins *in = tr_rows_def(c, v);
    tr_rows_array *w = tr_rows_find(c, v);
    if (w)
        return w->row && in->ty->ndim > c->k ? w : NULL;
    w = in->op == TR_OP_VIEW ? tr_rows_find(c, in->args[0]) : NULL;
    if (!w || in->ty->ndim < c->k)
        return NULL;
    for (unsigned j = 0; j < in->ty->ndim; j++) {
        if (tr_view_axis(in, j) != (j < c->k ? (int)j : -1))
            return NULL;
        if (j < c->k &&
            (tr_made_sizes(in)[j] != tr_rows_def(c, w->array)->args[j] ||
             !tr_is_int(c->f, tr_view_starts(in)[j], 0) || !tr_is_int(c->f, tr_view_steps(in)[j], 1)))
            return NULL;
    }
    return w;
}

/* Is an axis one element long, as far as is known? */
static bool axis_is_short(const tr_rows *c, const tr_ins *in, unsigned axis) {
    const tr_val *sizes = in->op == TR_OP_PATTERN ? in->args : tr_made_sizes(in);
    return sizes && tr_is_int(c->f, sizes[axis], 1);
}

/* Has a row of it one element? */
bool tr_rows_are_short(const tr_rows *c, const tr_ins *in, unsigned naxes) {
    for (unsigned j = c->k; j < naxes; j++)
        if (!axis_is_short(c, in, j))
            return false;
    return true;
}

/* Is the array, which was made here, as large as the pattern's space? */
static bool is_of_space(const tr_rows *c, const tr_ins *p, tr_val array) {
    const tr_ins *a = tr_rows_def(c, array);
    return a->nargs == p->imm.pat->nspace && tr_vals_same(a->args, p->args, a->nargs);
}

/* Where there is a handler, in what it protects: it sees no array half-way. */
static bool is_made_here(const tr_rows *c, const tr_val *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (tr_rows_def(c, v[i])->op != TR_OP_ALLOC || tr_rows_def(c, v[i])->ty->layout != TR_LAYOUT_C ||
            (c->guarded && tr_versions_whole(c->forms, tr_rows_def(c, v[i])->blk) != c->whole))
            return false;
    return true;
}

/* A straight epilogue, of which the round can take a copy. */
static bool epilogue_is_plain(const tr_fn *epi) {
    return !epi || (tr_term(epi, 0)->op == TR_OP_YIELD && tr_fn_is_scalar(epi));
}

/* Does nothing that it reduces depend on how elements are grouped? */
static bool reduces_in_any_groups(const tr_rows *c, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    for (uint32_t i = 0; i < tr_pat_nred(t); i++)
        if (tr_red_regroups(tr_pat_red(t, i), tr_rows_def(c, p->args[tr_pat_at(t, P_SCAN) + i])->ty))
            return false;
    return true;
}

/* May each row reduce on its own, and the rounds what comes out? */
static bool reduces_in_any_order(const tr_rows *c, const tr_ins *p) {
    for (uint32_t i = 0; i < tr_pat_nred(p->imm.pat); i++)
        if (tr_red_info[tr_pat_red(p->imm.pat, i)].place)
            return false;
    return reduces_in_any_groups(c, p);
}

/* It has an item a row: may the loop over the rows reduce it? On all cores threads take a few rows each, and
 * what is added up by so few is no node of the tree in which one core adds. Beside products a round is a
 * block of rows, and the same for one core and for all, as a product's bits may depend on it. */
static bool reduces_over_rows(const tr_rows *c, const tr_ins *p) {
    if (c->nmul)
        return reduces_in_any_order(c, p);
    return p->imm.pat->par == TR_PAR_NO || reduces_in_any_groups(c, p);
}

/* Is it the same for all rows? */
bool tr_rows_repeat(const tr_rows *c, tr_val v) {
    const tr_ins *in = tr_rows_def(c, v);
    for (unsigned j = 0; j < c->k; j++)
        if (in->op != TR_OP_VIEW || tr_view_axis(in, j) >= 0)
            return false;
    return true;
}

/* Rows of an array from elsewhere: one after the other in memory; one and the same; or an element each. */
static bool rows_lie_well(const tr_rows *c, const tr_ins *p, tr_val v) {
    return tr_rows_def(c, v)->ty->layout == TR_LAYOUT_C ||
           tr_rows_are_short(c, tr_rows_def(c, v), p->imm.pat->nspace) ||
           (tr_rows_repeat(c, v) && reduces_in_any_groups(c, p));
}

static bool input_fits_chain(tr_rows *c, const tr_ins *p, tr_val v, bool *linked) {
    tr_rows_array *w = tr_rows_of_view(c, v);
    if (!w && (w = tr_rows_find(c, v)) != NULL &&
        (!is_of_space(c, p, v) || (w->row && p->imm.pat->nspace > c->k)))
        return false;
    *linked = *linked || w;
    if (w)
        return true;
    if (!rows_lie_well(c, p, v))
        return false;
    for (unsigned i = 0; i < c->nw; i++)
        if (!tr_arrays_distinct(c->f, v, c->w[i].array, c->blk))
            return false;
    return true;
}

static bool is_straight(const tr_fn *f) {
    return tr_term(f, 0)->op == TR_OP_YIELD;
}

tr_rows_form tr_rows_form_of(const tr_rows *c, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    uint32_t rows = tr_all_axes(c->k);
    if (t->nspace < c->k || !tr_vals_same(p->args, tr_rows_pattern(c, 0)->args, c->k))
        return TR_ROWS_NONE;
    if (t->nscat)
        return tr_rows_scatter(c, p) ? TR_ROWS_SCATTER : TR_ROWS_NONE;
    if (t->ntop)
        return (t->keep & rows) == rows ? TR_ROWS_INNER : TR_ROWS_NONE;
    if (t->nspace == c->k)
        return t->keep || !is_straight(t->lam) || !reduces_over_rows(c, p) ? TR_ROWS_NONE : TR_ROWS_VALUES;
    if (tr_pat_is_map(t) && is_straight(t->lam) && tr_rows_are_short(c, p, t->nspace))
        return TR_ROWS_VALUES;
    if (t->keep == rows)
        return t->neout && epilogue_is_plain(t->epi) ? TR_ROWS_ROW : TR_ROWS_NONE;
    if (t->keep)
        return (t->keep & rows) == rows ? TR_ROWS_INNER : TR_ROWS_NONE;
    return !tr_pat_nred(t) ? TR_ROWS_INNER : reduces_in_any_order(c, p) ? TR_ROWS_WHOLE : TR_ROWS_NONE;
}

/* May the rounds load what the lambda loads? Nothing that the chain writes, and where indices are tested
 * behind it, nothing that would fault then. */
static bool loads_fit_chain(tr_rows *c, const tr_ins *p) {
    for (unsigned i = 0; i < c->nw; i++)
        if (tr_fuse_loads_from(c->f, p, c->w[i].array))
            return false;
    return !c->tests || (p->imm.pat->nscat ? tr_fuse_has_inputs(c->f, p) : tr_fuse_fits_untested(c->f, p));
}

/* Does the instruction depend on what the chain reduces? */
static bool depends_on_results(const tr_rows *c, const tr_ins *in) {
    for (uint32_t i = 0; i < in->nargs; i++) {
        if (tr_opt_among(in->args[i], c->behind.d, c->behind.n))
            return true;
        for (unsigned k = 0; k < c->n; k++)
            if (c->pats[k] == in->args[i])
                return true;
    }
    return false;
}

/* Rounds that scatter are blocks of rows, for which nothing is reduced that depends on how rows are
 * grouped. */
static bool rounds_have_order(const tr_rows *c, const tr_ins *p) {
    bool scatters = c->nt || p->imm.pat->nscat;
    for (unsigned i = 0; i <= c->n && scatters; i++) {
        const tr_ins *q = i < c->n ? tr_rows_pattern(c, i) : p;
        if (tr_rows_form_of(c, q) == TR_ROWS_VALUES && !reduces_in_any_order(c, q))
            return false;
    }
    return true;
}

/* Does it write what a product of the chain reads? */
static bool disturbs_products(const tr_rows *c, const tr_ins *p) {
    for (uint32_t k = 0; c->nmul && (k = tr_pat_with(p->imm.pat, TR_MEM_WRITE, k)) < p->nargs; k++)
        if (tr_rows_are_multiplied(c, p->args[k]))
            return true;
    return false;
}

static bool pattern_fits_chain(tr_rows *c, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    bool plain = t->par == tr_rows_pattern(c, 0)->imm.pat->par && t->par != TR_PAR_PRANGE &&
                 !tr_pat_joins(t) &&
                 tr_pat_has_only(t, P_(SPACE) | P_(IN) | P_(OUT) | P_(BEST) | P_(RED) | P_(TOP) | P_(SCAT) |
                                        P_(EOUT) | P_(CAP));
    return plain && tr_rows_form_of(c, p) != TR_ROWS_NONE && tr_fn_only_reads(t->lam) &&
           !depends_on_results(c, p) && loads_fit_chain(c, p) && !tr_rows_is_target(c, p) &&
           rounds_have_order(c, p) && !disturbs_products(c, p) &&
           0u + t->nin + t->nout + t->nbest + t->neout + tr_pat_nred(t) <= TR_MAX_CHAIN_OPERANDS &&
           is_made_here(c, p->args + tr_pat_at(t, P_OUT), t->nout) &&
           is_made_here(c, p->args + tr_pat_at(t, P_BEST), t->nbest) &&
           is_made_here(c, p->args + tr_pat_at(t, P_SCAT), t->nscat) &&
           is_made_here(c, p->args + tr_pat_at(t, P_EOUT), t->neout);
}

/* The arrays of one role that the pattern writes. */
static void add_written(tr_rows *c, const tr_ins *p, tr_role role, bool row) {
    for (uint32_t k = tr_pat_at(p->imm.pat, role); k < tr_pat_at(p->imm.pat, role + 1); k++)
        c->w[c->nw++] = (tr_rows_array){.array = p->args[k],
                                        .by = c->n,
                                        .row = row,
                                        .chosen = role == P_BEST,
                                        .place = p->args[k],
                                        .value = TR_NOVAL};
}

/* Does the chain write an array of that role already? */
static bool writes_again(tr_rows *c, const tr_ins *p, tr_role role) {
    for (uint32_t k = tr_pat_at(p->imm.pat, role); k < tr_pat_at(p->imm.pat, role + 1); k++)
        if (tr_rows_find(c, p->args[k]))
            return true;
    return false;
}

/* Takes the pattern into the chain; false: it is none of it. The first one is what the others are like. */
static bool take_pattern(tr_rows *c, tr_val v) {
    const tr_ins *p = tr_rows_def(c, v);
    const tr_pat *t = p->imm.pat;
    bool linked = c->n + c->nmul == 0;
    if (c->n == 0 && c->nmul && p->args[0] != tr_rows_def(c, c->muls[0].made)->args[0])
        return false;
    if (c->n == TR_MAX_CHAIN || c->nw + t->nout + t->nbest + t->neout > TR_MAX_CHAIN_ARRAYS)
        return false;
    if (c->n == 0)
        c->pats[0] = v;
    tr_rows_form as = tr_rows_form_of(c, p);
    unsigned nred = as == TR_ROWS_WHOLE || as == TR_ROWS_VALUES ? tr_pat_nred(t) : 0;
    if (!pattern_fits_chain(c, p) || c->nred + nred > TR_MAX_REDS)
        return false;
    for (uint32_t i = 0; i < t->nin; i++)
        if (!input_fits_chain(c, p, p->args[tr_pat_at(t, P_IN) + i], &linked))
            return false;
    if (!linked || writes_again(c, p, P_OUT) || writes_again(c, p, P_BEST) || writes_again(c, p, P_EOUT) ||
        (t->nscat && !tr_rows_take_scatter(c, v)))
        return false;
    add_written(c, p, P_OUT, as == TR_ROWS_VALUES);
    add_written(c, p, P_BEST, false);
    add_written(c, p, P_EOUT, as == TR_ROWS_ROW);
    c->guards[c->n] = c->tests && tr_fuse_loads(p);
    c->nred += nred;
    c->pats[c->n++] = v;
    return true;
}

/* The same of a product of matrices. Patterns of the chain stay what they are beside it. */
static bool take_product(tr_rows *c, tr_val v) {
    const tr_ins *in = tr_rows_def(c, v);
    tr_val made = tr_rows_made_by(c, in);
    if (made == TR_NOVAL || !is_made_here(c, &made, 1) || depends_on_results(c, in) ||
        !tr_rows_take_product(c, v))
        return false;
    for (unsigned i = 0; i < c->n; i++)
        if (tr_rows_form_of(c, tr_rows_pattern(c, i)) == TR_ROWS_NONE) {
            c->nmul--;
            c->nw--;
            return false;
        }
    return true;
}

/* What may stand between: it sees no element, and what it raises happens before all that the
 * chain does, which nobody sees then. */
static bool may_stand_between(const tr_ins *in) {
    return !(tr_ins_effects(in) & ~(unsigned)(E_RAISE | E_ALLOC)) && in->op != TR_OP_CALL;
}

/* --- who else uses what is written --- */

static void note_use(tr_rows *c, tr_val user, tr_val v) {
    const tr_ins *in = tr_rows_def(c, user);
    tr_rows_array *w = tr_rows_find(c, v);
    bool chained = tr_rows_is_of_product(c, user);
    for (unsigned i = 0; i < c->n; i++)
        chained = chained || c->pats[i] == user;
    if (w && !chained && !(in->op == TR_OP_VIEW && tr_rows_of_view(c, user)))
        w->seen = true;
    if (!w && (w = tr_rows_of_view(c, v)) != NULL && !chained)
        w->seen = true;
}

static void note_uses(tr_rows *c) {
    for (tr_bid b = 0; b < c->f->blks.n; b++)
        for (tr_val v = tr_blk_at(c->f, b)->dead ? TR_NOVAL : tr_blk_at(c->f, b)->first; v != TR_NOVAL;
             v = tr_rows_def(c, v)->next) {
            const tr_ins *in = tr_rows_def(c, v);
            for (uint32_t i = 0; i < in->nargs; i++)
                note_use(c, v, in->args[i]);
            for (uint32_t s = 0; s < tr_nsucc(in); s++)
                for (uint32_t i = 0; i < in->imm.succ[s].n; i++)
                    note_use(c, v, in->imm.succ[s].args[i]);
        }
}

static bool pattern_reads_array(const tr_ins *p, tr_val array) {
    return tr_opt_among(array, tr_fuse_in(p), p->imm.pat->nin);
}

/* Itself, or an element of each row? */
static bool pattern_reads_written(const tr_rows *c, const tr_ins *p, const tr_rows_array *w) {
    for (uint32_t i = 0; i < p->imm.pat->nin; i++)
        if (tr_array_root(c->f, tr_fuse_in(p)[i]) == w->array)
            return true;
    return false;
}

/* An array that is made, element by element, by the last pattern that reads w: w's rows may
 * stand in it until then. What chooses looks at its inputs again, at the end of a row. */
static void find_place(tr_rows *c, tr_rows_array *w) {
    unsigned last = c->n;
    while (last > w->by && !pattern_reads_written(c, tr_rows_pattern(c, last - 1), w))
        last--;
    if (w->row || w->seen || w->stays || last <= w->by + 1u || tr_rows_pattern(c, last - 1)->imm.pat->ntop)
        return;
    for (unsigned i = 0; i < c->nw && w->place == w->array; i++) {
        const tr_rows_array *o = &c->w[i];
        bool taken = false;
        for (unsigned j = 0; j < c->nw; j++)
            taken = taken || (&c->w[j] != o && c->w[j].place == o->place);
        if (o->by == last - 1 && !o->row && !o->stays && !taken &&
            tr_rows_def(c, o->array)->ty == tr_rows_def(c, w->array)->ty &&
            tr_rows_def(c, o->array)->nargs == tr_rows_def(c, w->array)->nargs &&
            tr_vals_same(tr_rows_def(c, o->array)->args, tr_rows_def(c, w->array)->args,
                         tr_rows_def(c, w->array)->nargs))
            w->place = o->place;
    }
}

/* --- the loop over rows --- */

static void begin_round(tr_rows *c) {
    tr_fn *g = tr_fn_new(c->f->ctx, c->f->name, S_T);
    g->is_lambda = true;
    g->file = c->f->file;
    g->func = c->f->func;
    c->b = (tr_bld){.fn = g, .blk = tr_blk_new(g), .before = TR_NOVAL};
    for (unsigned j = 0; j < c->k; j++)
        tr_blk_param(g, 0, tr_rows_i64(c), NULL);
    c->map = tr_no_vals(c->f);
    c->part = tr_no_vals(c->f);
    c->outer = tr_node_new(c->f);
    c->nred = 0;
}

static bool makes_arrays(const tr_rows *c) {
    for (unsigned i = 0; i < c->nw; i++)
        if (c->w[i].local)
            return true;
    return false;
}

/* Is a round a block of rows? Where it makes arrays: these are as long as is worth it then, however short
 * rows are. What all rows are reduced to is joined from blocks. */
static bool goes_by_blocks(const tr_rows *c) {
    for (unsigned i = 0; i < c->n; i++)
        if (tr_rows_form_of(c, tr_rows_pattern(c, i)) == TR_ROWS_VALUES &&
            !reduces_in_any_order(c, tr_rows_pattern(c, i)))
            return false;
    return c->k == 1 && (c->nt || c->nmul || makes_arrays(c));
}

/* Functions of vector math want full vectors, which a row that is short has not: those of a block have
 * (lower/flat.c). What the rounds join would have two forms, too. */
static bool goes_either_way(const tr_rows *c) {
    bool math = false;
    for (unsigned i = 0; i < c->n; i++) {
        tr_rows_form as = tr_rows_form_of(c, tr_rows_pattern(c, i));
        if (as == TR_ROWS_WHOLE || (as == TR_ROWS_VALUES && tr_pat_nred(tr_rows_pattern(c, i)->imm.pat)))
            return false;
        math = math || tr_fn_calls_math(tr_rows_pattern(c, i)->imm.pat->lam);
    }
    return math && c->k == 1 && !goes_by_blocks(c);
}

/* The pattern with the most axes a row. */
static const tr_ins *widest(const tr_rows *c) {
    const tr_ins *p = tr_rows_pattern(c, 0);
    for (unsigned i = 1; i < c->n; i++)
        p = tr_rows_pattern(c, i)->imm.pat->nspace > p->imm.pat->nspace ? tr_rows_pattern(c, i) : p;
    return p;
}

/* How many elements a row has of the longest of those. */
static tr_val row_size(const tr_rows *c, tr_bld *b) {
    unsigned naxes = widest(c)->imm.pat->nspace;
    tr_val most = TR_NOVAL;
    for (unsigned i = 0; i < c->n; i++) {
        const tr_val *size = tr_rows_pattern(c, i)->args + c->k;
        bool again = tr_rows_pattern(c, i)->imm.pat->nspace != naxes;
        for (unsigned j = 0; j < i && !again; j++)
            again = tr_rows_pattern(c, j)->imm.pat->nspace == naxes &&
                    tr_vals_same(tr_rows_pattern(c, j)->args + c->k, size, naxes - c->k);
        if (again)
            continue;
        tr_val n = tr_emit_times(b, size[0], size + 1, naxes - c->k - 1u);
        most = most == TR_NOVAL ? n : tr_emit_most(b, most, n);
    }
    return most;
}

/* The pattern over the rows. */
static tr_val emit_outer(tr_rows *c, tr_bid blk) {
    tr_bld b = tr_bld_at_end(c->f, blk);
    tr_rows_lay_lines(c, &b);
    const tr_ins *p = widest(c);
    c->outer.t.lam = c->b.fn;
    c->outer.t.par = p->imm.pat->par;
    if (c->blocks) {
        tr_val one = tr_emit_int(&b, 1), size = row_size(c, &b),
               most = tr_emit_most(&b, tr_emit_op(&b, TR_OP_QUOT, tr_emit_int(&b, BLOCK), size), one);
        if (c->nt)
            return tr_rows_in_tables(c, &b, most);
        tr_val up =
            tr_emit_op(&b, TR_OP_ADD, tr_rows_pattern(c, 0)->args[0], tr_emit_op(&b, TR_OP_SUB, most, one));
        tr_node_put(&c->outer, P_SPACE, tr_emit_op(&b, TR_OP_QUOT, up, most));
        c->caps.d[c->most] = most;
    } else {
        tr_node_put_all(&c->outer, P_SPACE, tr_rows_pattern(c, 0)->args, c->k);
    }
    tr_node_put_all(&c->outer, P_CAP, c->caps.d, c->caps.n);
    return tr_node_emit(&c->outer, &b);
}

/* Is v a pattern of the chain, an array that only the chain needs and no longer does, or a view of one? */
static bool is_of_chain(tr_rows *c, tr_val v) {
    const tr_rows_array *w = tr_rows_find(c, v), *row = tr_rows_of_view(c, v);
    for (unsigned i = 0; i < c->n; i++)
        if (c->pats[i] == v)
            return true;
    for (unsigned i = 0; i < c->nt; i++)
        if (c->t[i].fill == v)
            return true;
    if (tr_rows_is_of_product(c, v))
        return true;
    return (w && !w->seen && (w->row || w->local || w->place != w->array)) || (row && !row->seen);
}

/* Are the rows long, and is it many elements? For all cores, are they many? */
static tr_val is_worth_it(tr_rows *c, tr_bld *b) {
    const tr_ins *p = tr_rows_pattern(c, 0);
    const tr_val *n = p->args;
    int64_t least = c->nmul           ? SHORT_PRODUCT
                    : c->blocks       ? 1
                    : c->either       ? MORE_THAN_FEW
                    : makes_arrays(c) ? LONG_TO_MAKE
                                      : LONG_ROW;
    tr_val row = row_size(c, b), rows = tr_emit_times(b, n[0], n + 1, c->k - 1u),
           all = tr_emit_times(b, row, &rows, 1),
           pays = tr_emit_both(b, tr_emit_cmp(b, TR_CMP_GE, row, tr_emit_int(b, least)),
                               tr_emit_cmp(b, TR_CMP_GE, all, tr_emit_int(b, MANY)));
    if (c->nmul) {
        tr_val most = tr_emit_int(b, BLOCK / FEW_ROWS);
        pays = tr_rows_few_terms(c, b, tr_emit_both(b, pays, tr_emit_cmp(b, TR_CMP_LE, row, most)));
    }
    if (p->imm.pat->par == TR_PAR_NO && !c->nmul)
        return pays;
    /* A large target has one table, and then each pattern by itself has more to hand out. */
    if (c->nt && p->imm.pat->par != TR_PAR_NO) {
        tr_val many = tr_emit_op(b, TR_OP_MUL, c->a_block, tr_emit_int(b, MANY_BLOCKS)),
               enough = tr_emit_cmp(b, TR_CMP_GE, n[0], many),
               few = tr_emit_cmp(b, TR_CMP_LE, c->a_block, tr_emit_int(b, TR_SCATTER_BLOCK));
        return tr_emit_both(b, pays, tr_emit_either(b, enough, few));
    }
    return tr_emit_both(b, pays, tr_emit_cmp(b, TR_CMP_GE, rows, tr_emit_int(b, MANY_ROWS)));
}

/* What was reduced, in either form, for those that come behind. */
static void hand_on_results(tr_rows *c, const tr_fork *k, tr_val outer) {
    tr_fn *f = c->f;
    tr_val plain[TR_MAX_CHAIN], other[TR_MAX_CHAIN];
    tr_bld b = {.fn = f, .blk = k->other, .before = tr_blk_at(f, k->other)->last};
    tr_repl r = tr_repl_new(f);
    uint32_t n = 0, at = 0;
    for (unsigned i = 0; i < c->n; i++) {
        const tr_pat *t = tr_rows_pattern(c, i)->imm.pat;
        const tr_ty *ty = tr_rows_pattern(c, i)->ty;
        tr_val x[TR_MAX_REDS];
        uint32_t nred = t->keep ? 0 : tr_pat_nred(t);
        for (uint32_t j = 0; j < nred; j++) {
            x[j] = outer;
            if (c->nred > 1) {
                x[j] = tr_emit1(&b, TR_OP_EXTRACT, nred == 1 ? ty : ty->items[j], outer);
                tr_at(f, x[j])->imm.i = at + j;
            }
        }
        at += nred;
        if (!nred)
            continue;
        plain[n] = c->pats[i];
        other[n++] = nred == 1 ? x[0] : tr_emit_v(&b, TR_OP_TUPLE, ty, nred, x);
        tr_repl_set(f, &r, c->pats[i], tr_blk_param(f, k->after, ty, NULL));
    }
    if (!n)
        return;
    tr_repl_apply(f, &r);
    tr_fork_hand_on(f, k, n, plain, other);
}

static void fill_round(tr_rows *c, bool blocks) {
    begin_round(c);
    c->blocks = blocks;
    if (blocks)
        tr_rows_begin_block(c);
    for (unsigned i = 0; i < c->n; i++)
        if (blocks)
            tr_rows_by_block(c, i);
        else
            tr_rows_by_row(c, i);
    tr_emit_v(&c->b, TR_OP_YIELD, NULL, c->nred, c->red);
}

/* Where rows are short, blocks of them in place of the loop over them. */
static void block_of_short_rows(tr_rows *c, tr_val outer) {
    tr_fork k = tr_fork_cut(c->forms, outer, tr_at(c->f, outer)->loc);
    tr_val is_short = tr_emit_cmp(&k.b, TR_CMP_LT, row_size(c, &k.b), tr_emit_int(&k.b, LONG_ROW));
    tr_ins_move_end(c->f, outer, k.plain);
    tr_fork_make(c->forms, &k, TR_COLD_LARGE);
    c->caps.n = 0;
    fill_round(c, true);
    emit_outer(c, k.other);
    tr_fork_pick(c->forms, &k, is_short, k.other);
}

/* The chain as it was goes to a block of its own, and the round to another. */
static tr_bid two_ways(tr_rows *c) {
    tr_fn *f = c->f;
    tr_val last = c->pats[c->n - 1];
    tr_fork k = tr_fork_cut(c->forms, last, tr_rows_def(c, last)->loc);
    for (tr_val v = tr_blk_at(f, c->blk)->first, next; v != TR_NOVAL; v = next) {
        next = tr_at(f, v)->next;
        if (is_of_chain(c, v))
            tr_ins_move_end(f, v, k.plain);
    }
    for (uint32_t i = c->behind.n; i-- > 0;)
        tr_ins_move_before(f, c->behind.d[i], tr_blk_at(f, k.after)->first);
    for (unsigned i = 0; i < c->n; i++) /* the tests come behind this form, too */
        if (c->guards[i])
            tr_at(f, c->pats[i])->imm.pat = tr_fuse_guarded(f, tr_rows_pattern(c, i)->imm.pat);
    tr_rows_guard_plain(c);
    tr_fork_make(c->forms, &k, TR_COLD_LARGE);
    c->a_block = c->nt ? tr_rows_a_block(c, &k.b) : TR_NOVAL;
    tr_val outer = emit_outer(c, k.other);
    hand_on_results(c, &k, outer);
    tr_fork_pick(c->forms, &k, is_worth_it(c, &k.b), k.other);
    if (c->either)
        block_of_short_rows(c, outer);
    return k.after;
}

/* What follows stands in the block that is returned. */
static tr_bid go_by_row(tr_rows *c) {
    note_uses(c);
    for (unsigned i = 0; i < c->nw; i++)
        find_place(c, &c->w[c->nw - 1 - i]); /* the last ones first: what is made of them is known then */
    for (unsigned i = 0; i < c->nw; i++)
        c->w[i].local = !c->w[i].row && !c->w[i].seen && c->w[i].place == c->w[i].array;
    c->either = goes_either_way(c);
    tr_rows_guard_scatters(c);
    fill_round(c, goes_by_blocks(c));
    return two_ways(c);
}

/* --- the pass --- */

/* Does a row stay in the cache for another pattern of the chain, an array's that was there before or one that
 * the chain writes? What was chosen of a row is short. */
static bool reads_again(tr_rows *c) {
    for (unsigned i = c->nmul ? 0 : 1; i < c->n; i++) {
        const tr_ins *p = tr_rows_pattern(c, i);
        for (uint32_t a = 0; p->imm.pat->nspace > c->k && a < p->imm.pat->nin; a++) {
            tr_val v = p->args[tr_pat_at(p->imm.pat, P_IN) + a];
            const tr_rows_array *w = tr_rows_find(c, v);
            if (w && !w->chosen)
                return true;
            for (unsigned k = 0; k < i && !w && !tr_rows_of_view(c, v); k++)
                if (tr_rows_pattern(c, k)->imm.pat->nspace > c->k &&
                    pattern_reads_array(tr_rows_pattern(c, k), v))
                    return true;
        }
    }
    return false;
}

/* Is it a test of a size that no array has, which protects nothing? Its array has gone (fuse_drop.c). */
static bool is_test_of_size(const tr_ins *in) {
    return in->op == TR_OP_CHECK && in->imm.site->text && !strcmp(in->imm.site->text, TR_TOO_BIG);
}

/* Something that is no pattern, behind the first: false, the chain ends before it. */
static bool pass_by(tr_rows *c, tr_val v) {
    const tr_ins *in = tr_rows_def(c, v);
    bool raises = tr_ins_effects(in) & E_RAISE && in->op != TR_OP_ALLOC, depends = depends_on_results(c, in);
    bool waits = raises && c->tests; /* what raises has its order */
    if (!may_stand_between(in) || (waits && !depends && !is_test_of_size(in)))
        return false;
    if (!depends && !waits)
        return true;
    tr_vec_push(&c->f->ctx->arena, &c->behind, v);
    c->tests = c->tests || raises;
    return true;
}

/* A pattern that is none of the chain, and needs nothing of it: it may stand before. It writes arrays made
 * here, which the chain has not met, and reads none that the chain writes. */
static bool may_stand_before(tr_rows *c, tr_val v) {
    const tr_ins *p = tr_rows_def(c, v);
    const tr_pat *t = p->imm.pat;
    if (!tr_pat_is_map(t) || !tr_fn_is_scalar(t->lam) || t->par == TR_PAR_PRANGE ||
        depends_on_results(c, p) || tr_rows_is_target(c, p) || !is_made_here(c, tr_fuse_out(p), t->nout))
        return false;
    for (unsigned i = 0; i < c->nw; i++)
        for (uint32_t k = 0; k < t->nin + t->nout; k++)
            if (!tr_arrays_distinct(c->f, p->args[tr_pat_at(t, P_IN) + k], c->w[i].array, c->blk))
                return false;
    for (unsigned i = 0; i < c->n; i++)
        for (uint32_t k = 0; k < tr_rows_pattern(c, i)->nargs; k++)
            for (uint32_t o = 0; o < t->nout; o++)
                if (tr_array_root(c->f, tr_rows_pattern(c, i)->args[k]) == tr_fuse_out(p)[o])
                    return false;
    return !disturbs_products(c, p);
}

/* The chain of rows of k axes that begins with pattern v. */
static tr_rows chain_from(tr_fn *f, tr_versions *forms, tr_bid b, tr_val v, unsigned k) {
    tr_rows c = {.f = f, .blk = b, .forms = forms, .whole = tr_versions_whole(forms, b), .k = k};
    uint32_t nbehind = 0;
    bool rows = false;
    c.guarded = tr_handler_now(f, c.whole);
    for (tr_val x = v; x != TR_NOVAL && (c.n + c.nmul || x == v); x = tr_at(f, x)->next)
        if (tr_at(f, x)->op != TR_OP_PATTERN) {
            if (!take_product(&c, x) && !pass_by(&c, x))
                break;
        } else if (take_pattern(&c, x)) {
            rows = rows || tr_at(f, x)->imm.pat->keep;
            nbehind = c.behind.n;
        } else if (!may_stand_before(&c, x)) {
            break;
        }
    c.behind.n = nbehind; /* the others stand behind the last pattern already */
    c.n = rows && reads_again(&c) ? c.n : 0;
    while (c.nmul && c.muls[c.nmul - 1].before >= c.n) { /* nothing of the chain reads it */
        tr_rows_array *w = tr_rows_find(&c, c.muls[--c.nmul].made);
        memmove(w, w + 1, (size_t)(&c.w[c.nw--] - (w + 1)) * sizeof *w);
    }
    return c;
}

/* The longest chain that begins with pattern v, of the most axes: where it goes on behind it; TR_NOBLK: there
 * is none. */
static tr_bid try_chain(tr_fn *f, tr_versions *forms, tr_bid b, tr_val v) {
    tr_rows best = {.n = 1};
    unsigned naxes = tr_at(f, v)->op == TR_OP_PATTERN ? tr_at(f, v)->imm.pat->nspace : 2;
    for (unsigned k = naxes; k-- > 1;) {
        tr_rows c = chain_from(f, forms, b, v, k);
        best = c.n + c.nmul > best.n + best.nmul ? c : best;
    }
    return best.n + best.nmul < 2 ? TR_NOBLK : go_by_row(&best);
}

static void rows_of_block(tr_fn *f, tr_versions *forms, tr_bid b) {
    for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL;) {
        bool begins = tr_at(f, v)->op == TR_OP_PATTERN || tr_opt_is_matmul(tr_at(f, v));
        tr_bid on = begins ? try_chain(f, forms, b, v) : TR_NOBLK;
        v = on == TR_NOBLK ? tr_at(f, v)->next : tr_blk_at(f, on)->first;
        b = on == TR_NOBLK ? b : on;
    }
}

bool tr_opt_byrow(tr_prog *p, tr_fn *f) {
    tr_versions forms = tr_versions_new(f);
    uint32_t n = f->blks.n;
    (void)p;
    for (tr_bid b = 0; b < n; b++)
        if (!tr_blk_at(f, b)->dead && !tr_blk_at(f, b)->cold)
            rows_of_block(f, &forms, b);
    return tr_versions_end(&forms);
}
