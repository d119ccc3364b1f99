/* Patterns that reduce each row of arrays, and those that use what came out at the rows' elements (`e /
 * e.sum(axis=-1, keepdims=True)`: softmax, normalisation, rows made to length 1), go row by row, while a row
 * is in the cache (fusion of outer loops):
 *
 *   m = [keep n, k] in(x) red(max); e, s = [keep n, k] in(x, m) out(e) red(add); [n, k] in(e, s) out(o)
 * becomes
 *   [n] { m = [k] in(x[i]) red(max); s = [k] in(x[i]) out(o[i]) red(add) cap(m);
 *         [k] in(o[i]) out(o[i]) cap(s) }
 *
 * A chain: patterns of one block whose first axes are the same, that write to arrays made here. Those that
 * reduce keep just these axes, and what they give is a value of the round then, and an array only where
 * others read it; or they keep more, and are patterns of the round with kept axes of their own; or they
 * reduce all there is, where the order does not matter (`min`, not a sum of floats) or what is reduced has
 * an item a row: then the loop over the rows does. What has one element a row (`keepdims`, a column) is a
 * value of the round, too; and what chooses the best of a row (`top`) is a pattern of the round. An array of
 * the space that only the chain reads gives way to the one that is made of it last, or is one of the round,
 * as long as a row. A map between them that needs nothing of the chain stands before it. What depends on
 * such a whole reduction comes behind the chain; where it tests indices, loads of the chain are guarded, as
 * in fuse.c. It pays where a row is read again, arrays do not stay in the cache, and rows are longer than
 * what a row costs: a test when the program runs chooses between both forms. The new one is compiled when it
 * is first chosen (TR_COLD_LARGE, opt/late.c). Bits stay: inputs are of layout C, along whose rows no
 * reduction is done in tiles (ir/sched.h), so that one of a row is one of a line; or they are the same for
 * all rows, and no sum of floats asks for them. Patterns that may run on all cores do so over rows, where
 * these are many. Cost: linear in a block, and in its chains' lambdas, for each number of axes that the rows
 * may have; a look at each map that is none of a chain for each array and pattern of it. */
#include <assert.h>
#include <string.h>

#include "ir/alias.h"
#include "ir/sched.h"
#include "opt/pattern/fuse.h"
#include "opt/emit.h"
#include "opt/priv.h"
#include "opt/versions.h"

enum { MAX_CHAIN = 12, MAX_OPERANDS = 16, MAX_ARRAYS = 2 * MAX_CHAIN };
/* Elements of a row, and where each round makes an array; of all rows; rows for all cores; what an element
 * costs there. */
enum { LONG_ROW = 32, LONG_TO_MAKE = 64, MANY = 1 << 17, MANY_ROWS = 64, ELEMENT = 8 };

/* An array that the chain writes. */
typedef struct written {
    tr_val array;
    unsigned by;  /* which pattern */
    bool row;     /* an element per round: what a reduction's epilogue makes, or a pattern with one a row */
    bool chosen;  /* the best of a row, which are known at its end */
    bool seen;    /* others than the chain use it */
    bool local;   /* an array of the round */
    tr_val place; /* where its elements stand: itself, or what is made of it */
    tr_val value; /* row: of this round */
} written;

typedef struct chain {
    tr_fn *f;
    tr_bid blk;
    tr_versions *forms;
    tr_bid whole;  /* the block of which blk is a part */
    bool guarded;  /* that is protected */
    unsigned k, n; /* axes of the rows; patterns */
    tr_val pats[MAX_CHAIN];
    bool guards[MAX_CHAIN]; /* what the pattern loads is tested behind the chain */
    tr_u32s behind;         /* what stands between them and depends on what they reduce, in order */
    bool tests;             /* some of that raises */
    unsigned nw;
    written w[MAX_ARRAYS];
    /* the round */
    tr_bld b;
    tr_u32s caps; /* values of f, in the order of g's params behind the indices */
    tr_val *part; /* per array of f: the round's part of it */
    tr_val *map;  /* per value of f: what it is in the round */
    tr_node outer;
    unsigned nred; /* values that the rounds contribute */
    tr_val red[TR_MAX_REDS];
} chain;

/* What a pattern of the chain is in a round. */
typedef enum form {
    NONE,
    INNER, /* a pattern, of a row's elements: a map, or some kept axes are the round's own */
    ROW,   /* one that gives values of the row */
    WHOLE, /* one whose values the rounds contribute */
    VALUES /* no pattern: computes with values of the row, that the rounds may contribute */
} form;

static tr_ins *def(const chain *c, tr_val v) {
    return tr_at(c->f, v);
}

static const tr_ins *pattern(const chain *c, unsigned i) {
    return def(c, c->pats[i]);
}

/* --- which --- */

static written *find(chain *c, tr_val array) {
    for (unsigned i = 0; i < c->nw; i++)
        if (c->w[i].array == array)
            return &c->w[i];
    return NULL;
}

/* An array of the chain's of which a row has one element here: one with an element per row, or a view that
 * has indices where rows have axes, with new axes behind them. Else NULL. */
static written *row_of(chain *c, tr_val v) {
    const tr_ins *in = def(c, v);
    written *w = find(c, v);
    if (w)
        return w->row && in->ty->ndim > c->k ? w : NULL;
    w = in->op == TR_OP_VIEW ? find(c, in->args[0]) : NULL;
    if (!w || in->ty->ndim < c->k)
        return NULL;
    for (unsigned j = 0; j < in->ty->ndim; j++) {
        if (tr_view_axis(in, j) != (j < c->k ? (int)j : -1))
            return NULL;
        if (j < c->k &&
            (tr_made_sizes(in)[j] != def(c, w->array)->args[j] ||
             !tr_is_int(c->f, tr_view_starts(in)[j], 0) || !tr_is_int(c->f, tr_view_steps(in)[j], 1)))
            return NULL;
    }
    return w;
}

/* Is an axis one element long, as far as is known? */
static bool axis_is_short(const chain *c, const tr_ins *in, unsigned axis) {
    const tr_val *sizes = in->op == TR_OP_PATTERN ? in->args : tr_made_sizes(in);
    return sizes && tr_is_int(c->f, sizes[axis], 1);
}

/* Has a row of it one element? */
static bool row_is_short(const chain *c, const tr_ins *in, unsigned naxes) {
    for (unsigned j = c->k; j < naxes; j++)
        if (!axis_is_short(c, in, j))
            return false;
    return true;
}

/* Is the array, which was made here, as large as the pattern's space? */
static bool is_of_space(const chain *c, const tr_ins *p, tr_val array) {
    const tr_ins *a = def(c, array);
    return a->nargs == p->imm.pat->nspace && tr_vals_same(a->args, p->args, a->nargs);
}

/* Where there is a handler, in what it protects: it sees no array half-way. */
static bool is_made_here(const chain *c, const tr_val *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        if (def(c, v[i])->op != TR_OP_ALLOC || def(c, v[i])->ty->layout != TR_LAYOUT_C ||
            (c->guarded && tr_versions_whole(c->forms, def(c, v[i])->blk) != c->whole))
            return false;
    return true;
}

/* A straight epilogue, of which the round can take a copy. */
static bool epilogue_is_plain(const tr_fn *epi) {
    return !epi || (tr_term(epi, 0)->op == TR_OP_YIELD && tr_fn_is_scalar(epi));
}

/* Does nothing that it reduces depend on how elements are grouped? */
static bool reduces_in_any_groups(const chain *c, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    for (uint32_t i = 0; i < tr_pat_nred(t); i++)
        if (tr_red_regroups(tr_pat_red(t, i), def(c, p->args[tr_pat_at(t, P_SCAN) + i])->ty))
            return false;
    return true;
}

/* May each row reduce on its own, and the rounds what comes out? */
static bool reduces_in_any_order(const chain *c, const tr_ins *p) {
    for (uint32_t i = 0; i < tr_pat_nred(p->imm.pat); i++)
        if (tr_red_info[tr_pat_red(p->imm.pat, i)].place)
            return false;
    return reduces_in_any_groups(c, p);
}

/* Is it the same for all rows? */
static bool repeats_along_rows(const chain *c, tr_val v) {
    const tr_ins *in = def(c, v);
    for (unsigned j = 0; j < c->k; j++)
        if (in->op != TR_OP_VIEW || tr_view_axis(in, j) >= 0)
            return false;
    return true;
}

/* Rows of an array from elsewhere: one after the other in memory; one and the same; or an element each. */
static bool rows_lie_well(const chain *c, const tr_ins *p, tr_val v) {
    return def(c, v)->ty->layout == TR_LAYOUT_C || row_is_short(c, def(c, v), p->imm.pat->nspace) ||
           (repeats_along_rows(c, v) && reduces_in_any_groups(c, p));
}

static bool input_fits_chain(chain *c, const tr_ins *p, tr_val v, bool *linked) {
    written *w = row_of(c, v);
    if (!w && (w = find(c, v)) != NULL && (!is_of_space(c, p, v) || (w->row && p->imm.pat->nspace > c->k)))
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

static form form_of(const chain *c, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    uint32_t rows = tr_all_axes(c->k);
    if (t->nspace < c->k || !tr_vals_same(p->args, pattern(c, 0)->args, c->k))
        return NONE;
    if (t->ntop)
        return (t->keep & rows) == rows ? INNER : NONE;
    if (t->nspace == c->k)
        return t->keep || !is_straight(t->lam) ? NONE : VALUES;
    if (tr_pat_is_map(t) && is_straight(t->lam) && row_is_short(c, p, t->nspace))
        return VALUES;
    if (t->keep == rows)
        return t->neout && epilogue_is_plain(t->epi) ? ROW : NONE;
    if (t->keep)
        return (t->keep & rows) == rows ? INNER : NONE;
    return !tr_pat_nred(t) ? INNER : reduces_in_any_order(c, p) ? WHOLE : NONE;
}

/* May the rounds load what the lambda loads? Nothing that the chain writes, and where indices are tested
 * behind it, nothing that would fault then. */
static bool loads_fit_chain(chain *c, const tr_ins *p) {
    for (unsigned i = 0; i < c->nw; i++)
        if (tr_fuse_loads_from(c->f, p, c->w[i].array))
            return false;
    return !c->tests || tr_fuse_fits_untested(c->f, p);
}

/* Does the instruction depend on what the chain reduces? */
static bool depends_on_results(const chain *c, const tr_ins *in) {
    for (uint32_t i = 0; i < in->nargs; i++) {
        if (tr_opt_among(in->args[i], c->behind.d, c->behind.n))
            return true;
        for (unsigned k = 0; k < c->n; k++)
            if (c->pats[k] == in->args[i])
                return true;
    }
    return false;
}

static bool pattern_fits_chain(chain *c, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    bool plain =
        t->par == pattern(c, 0)->imm.pat->par && t->par != TR_PAR_PRANGE && !tr_pat_joins(t) &&
        tr_pat_has_only(t, P_(SPACE) | P_(IN) | P_(OUT) | P_(BEST) | P_(RED) | P_(TOP) | P_(EOUT) | P_(CAP));
    return plain && form_of(c, p) != NONE && tr_fn_only_reads(t->lam) && !depends_on_results(c, p) &&
           loads_fit_chain(c, p) &&
           0u + t->nin + t->nout + t->nbest + t->neout + tr_pat_nred(t) <= MAX_OPERANDS &&
           is_made_here(c, p->args + tr_pat_at(t, P_OUT), t->nout) &&
           is_made_here(c, p->args + tr_pat_at(t, P_BEST), t->nbest) &&
           is_made_here(c, p->args + tr_pat_at(t, P_EOUT), t->neout);
}

/* The arrays of one role that the pattern writes. */
static void add_written(chain *c, const tr_ins *p, tr_role role, bool row) {
    for (uint32_t k = tr_pat_at(p->imm.pat, role); k < tr_pat_at(p->imm.pat, role + 1); k++)
        c->w[c->nw++] = (written){.array = p->args[k],
                                  .by = c->n,
                                  .row = row,
                                  .chosen = role == P_BEST,
                                  .place = p->args[k],
                                  .value = TR_NOVAL};
}

/* Does the chain write an array of that role already? */
static bool writes_again(chain *c, const tr_ins *p, tr_role role) {
    for (uint32_t k = tr_pat_at(p->imm.pat, role); k < tr_pat_at(p->imm.pat, role + 1); k++)
        if (find(c, p->args[k]))
            return true;
    return false;
}

/* Takes the pattern into the chain; false: it is none of it. The first one is what the others are like. */
static bool take_pattern(chain *c, tr_val v) {
    const tr_ins *p = def(c, v);
    const tr_pat *t = p->imm.pat;
    bool linked = c->n == 0;
    if (c->n == MAX_CHAIN || c->nw + t->nout + t->nbest + t->neout > MAX_ARRAYS)
        return false;
    if (c->n == 0)
        c->pats[0] = v;
    form as = form_of(c, p);
    unsigned nred = as == WHOLE || as == VALUES ? tr_pat_nred(t) : 0;
    if (!pattern_fits_chain(c, p) || c->nred + nred > TR_MAX_REDS)
        return false;
    for (uint32_t i = 0; i < t->nin; i++)
        if (!input_fits_chain(c, p, p->args[tr_pat_at(t, P_IN) + i], &linked))
            return false;
    if (!linked || writes_again(c, p, P_OUT) || writes_again(c, p, P_BEST) || writes_again(c, p, P_EOUT))
        return false;
    add_written(c, p, P_OUT, as == VALUES);
    add_written(c, p, P_BEST, false);
    add_written(c, p, P_EOUT, as == ROW);
    c->guards[c->n] = c->tests && tr_fuse_loads(p);
    c->nred += nred;
    c->pats[c->n++] = v;
    return true;
}

/* What may stand between: it sees no element, and what it raises happens before all that the
 * chain does, which nobody sees then. */
static bool may_stand_between(const tr_ins *in) {
    return !(tr_ins_effects(in) & ~(unsigned)(E_RAISE | E_ALLOC)) && in->op != TR_OP_CALL;
}

/* --- who else uses what is written --- */

static void note_use(chain *c, tr_val user, tr_val v) {
    const tr_ins *in = def(c, user);
    written *w = find(c, v);
    bool chained = false;
    for (unsigned i = 0; i < c->n; i++)
        chained = chained || c->pats[i] == user;
    if (w && !chained && !(in->op == TR_OP_VIEW && row_of(c, user)))
        w->seen = true;
    if (!w && (w = row_of(c, v)) != NULL && !chained)
        w->seen = true;
}

static void note_uses(chain *c) {
    for (tr_bid b = 0; b < c->f->blks.n; b++)
        for (tr_val v = tr_blk_at(c->f, b)->dead ? TR_NOVAL : tr_blk_at(c->f, b)->first; v != TR_NOVAL;
             v = def(c, v)->next) {
            const tr_ins *in = def(c, v);
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
static bool pattern_reads_written(const chain *c, const tr_ins *p, const written *w) {
    for (uint32_t i = 0; i < p->imm.pat->nin; i++)
        if (tr_array_root(c->f, tr_fuse_in(p)[i]) == w->array)
            return true;
    return false;
}

/* An array that is made, element by element, by the last pattern that reads w: w's rows may
 * stand in it until then. What chooses looks at its inputs again, at the end of a row. */
static void find_place(chain *c, written *w) {
    unsigned last = c->n;
    while (last > w->by && !pattern_reads_written(c, pattern(c, last - 1), w))
        last--;
    if (w->row || w->seen || last <= w->by + 1u || pattern(c, last - 1)->imm.pat->ntop)
        return;
    for (unsigned i = 0; i < c->nw && w->place == w->array; i++) {
        const written *o = &c->w[i];
        bool taken = false;
        for (unsigned j = 0; j < c->nw; j++)
            taken = taken || (&c->w[j] != o && c->w[j].place == o->place);
        if (o->by == last - 1 && !o->row && !taken && def(c, o->array)->ty == def(c, w->array)->ty &&
            def(c, o->array)->nargs == def(c, w->array)->nargs &&
            tr_vals_same(def(c, o->array)->args, def(c, w->array)->args, def(c, w->array)->nargs))
            w->place = o->place;
    }
}

/* --- the round --- */

static const tr_ty *i64(const chain *c) {
    return tr_ty_scalar(c->f->ctx->types, TR_TY_I64);
}

static tr_val index_at(const chain *c, unsigned j) {
    return tr_blk_at(c->b.fn, 0)->params.d[j];
}

/* A value from outside. */
static tr_val captured(chain *c, tr_val v) {
    if (c->map[v] != TR_NOVAL)
        return c->map[v];
    if (tr_is_const(def(c, v)))
        return c->map[v] = tr_const_import(c->b.fn, def(c, v));
    tr_vec_push(&c->f->ctx->arena, &c->caps, v);
    return c->map[v] = tr_blk_param(c->b.fn, 0, def(c, v)->ty, NULL);
}

static tr_val size_of(chain *c, tr_val array, unsigned axis) {
    return tr_emit_dim(&c->b, captured(c, array), axis);
}

static const tr_ty *part_type(const chain *c, tr_val array) {
    const tr_ty *t = def(c, array)->ty;
    tr_layout layout = t->layout == TR_LAYOUT_C ? TR_LAYOUT_C : TR_LAYOUT_ANY;
    return tr_ty_array_as(c->f->ctx->types, t->elem, t->ndim - c->k, layout, t->readonly, t->sub);
}

/* An array that is made in each round, as long as a row of the one that it stands for. */
static tr_val make_local(chain *c, tr_val array) {
    const tr_ins a = *def(c, array);
    tr_val sizes[TR_MAX_NDIM];
    for (uint32_t j = c->k; j < a.nargs; j++)
        sizes[j - c->k] = captured(c, a.args[j]);
    tr_val v = tr_emit_v(&c->b, TR_OP_ALLOC, part_type(c, array), a.nargs - c->k, sizes);
    tr_at(c->b.fn, v)->imm = a.imm;
    tr_at(c->b.fn, v)->sub = a.sub;
    return v;
}

/* This round's part of an array that the chain writes. */
static tr_val part_of_written(chain *c, const written *w) {
    tr_val a = w->place, args[1 + 3 * TR_MAX_NDIM];
    uint32_t n = def(c, a)->ty->ndim, at = 0;
    int64_t along = 0;
    if (c->part[a] != TR_NOVAL)
        return c->part[a];
    if (find(c, a)->local)
        return c->part[a] = make_local(c, a);
    args[at++] = captured(c, a);
    for (unsigned j = 0; j < n; j++)
        args[at++] = j < c->k ? index_at(c, j) : tr_const_int(c->b.fn, i64(c), 0);
    for (unsigned j = c->k; j < n; j++)
        args[at++] = captured(c, def(c, a)->args[j]);
    for (unsigned j = c->k; j < n; j++) {
        args[at++] = tr_const_int(c->b.fn, i64(c), 1);
        along |= tr_view_along(j - c->k, (int)j);
    }
    c->part[a] = tr_emit_v(&c->b, TR_OP_VIEW, part_type(c, a), at, args);
    tr_at(c->b.fn, c->part[a])->imm.i = along;
    return c->part[a];
}

/* A value from outside, which is made again where it is a view: what the view says of sizes and strides is
 * seen in the round then, which is a function of its own. */
static tr_val seen_in_round(chain *c, tr_val v) {
    const tr_ins in = *def(c, v);
    if (!tr_is_view(&in) || c->map[v] != TR_NOVAL)
        return captured(c, v);
    tr_val *args = TR_NEW_N(&c->f->ctx->arena, tr_val, in.nargs);
    args[0] = seen_in_round(c, in.args[0]);
    for (uint32_t i = 1; i < in.nargs; i++)
        args[i] = captured(c, in.args[i]);
    c->map[v] = tr_emit_v(&c->b, (tr_op)in.op, in.ty, in.nargs, args);
    tr_at(c->b.fn, c->map[v])->imm = in.imm;
    tr_at(c->b.fn, c->map[v])->sub = in.sub;
    return c->map[v];
}

/* What all rounds see of a view with new axes for rows: it without these. */
static tr_val shared_part(chain *c, tr_val a) {
    const tr_ins in = *def(c, a);
    uint32_t at = 1, n = in.ty->ndim;
    int64_t along = 0;
    tr_val args[1 + TR_VIEW_BASE_AXES + 2 * TR_VIEW_AXES] = {seen_in_round(c, in.args[0])};
    for (unsigned j = 0; j < tr_view_nbase(&in); j++)
        args[at++] = captured(c, tr_view_starts(&in)[j]);
    for (unsigned j = c->k; j < n; j++)
        args[at++] = captured(c, tr_made_sizes(&in)[j]);
    for (unsigned j = c->k; j < n; j++) {
        args[at++] = captured(c, tr_view_steps(&in)[j]);
        along |= tr_view_along(j - c->k, tr_view_axis(&in, j));
    }
    tr_val v = tr_emit_v(&c->b, TR_OP_VIEW, part_type(c, a), at, args);
    tr_at(c->b.fn, v)->imm.i = along;
    return v;
}

/* This round's part of input number `which` of pattern p. Axes of extent 1 repeat. */
static tr_val part_of(chain *c, const tr_ins *p, uint32_t which) {
    tr_val a = p->args[tr_pat_at(p->imm.pat, P_IN) + which];
    if (find(c, a))
        return part_of_written(c, find(c, a));
    if (repeats_along_rows(c, a))
        return c->part[a] != TR_NOVAL ? c->part[a] : (c->part[a] = shared_part(c, a));
    uint32_t n = p->imm.pat->nspace, k = c->k, at = 0;
    bool whole = true;
    for (unsigned j = 0; j < n; j++)
        whole = whole && tr_pat_is_as_long(c->f, p, which, j);
    if (whole && c->part[a] != TR_NOVAL)
        return c->part[a];
    tr_val args[1 + 3 * MAX_OPERANDS], one = tr_const_int(c->b.fn, i64(c), 1),
                                       zero = tr_const_int(c->b.fn, i64(c), 0);
    int64_t along = 0;
    args[at++] = captured(c, a);
    for (unsigned j = 0; j < k; j++) {
        args[at++] = index_at(c, j);
        if (tr_pat_is_as_long(c->f, p, which, j))
            continue;
        tr_val repeats = tr_emit_cmp(&c->b, TR_CMP_EQ, size_of(c, a, j), one);
        args[at - 1] = tr_emit_select(&c->b, repeats, zero, args[at - 1]);
    }
    for (unsigned j = k; j < n; j++)
        args[at++] = zero;
    for (unsigned j = k; j < n; j++)
        args[at++] = tr_pat_is_as_long(c->f, p, which, j) ? captured(c, p->args[j]) : size_of(c, a, j);
    for (unsigned j = k; j < n; j++) {
        args[at++] = one;
        along |= tr_view_along(j - k, (int)j);
    }
    tr_val v = tr_emit_v(&c->b, TR_OP_VIEW, part_type(c, a), at, args);
    tr_at(c->b.fn, v)->imm.i = along;
    if (whole)
        c->part[a] = v;
    return v;
}

/* Has a row one element of that input? */
static bool input_is_item(chain *c, const tr_ins *p, uint32_t which) {
    tr_val a = tr_fuse_in(p)[which];
    return row_of(c, a) || (!find(c, a) && row_is_short(c, def(c, a), p->imm.pat->nspace));
}

/* The one element that this row has of an input: a value of the round, or loaded. */
static tr_val item_of_row(chain *c, const tr_ins *p, uint32_t which) {
    tr_val a = tr_fuse_in(p)[which], args[1 + TR_VIEW_BASE_AXES], zero = tr_const_int(c->b.fn, i64(c), 0);
    const tr_ins *in = def(c, a);
    const written *itself = find(c, a), *w = itself ? itself : row_of(c, a);
    uint32_t at = 1;
    if (w && w->row)
        return w->value;
    if (w) { /* of an array whose part is a row */
        args[0] = part_of_written(c, w);
        for (unsigned j = c->k; j < def(c, w->array)->nargs; j++)
            args[at++] = itself ? zero : captured(c, tr_view_starts(in)[j]);
        return tr_emit_v(&c->b, TR_OP_LOAD, in->ty->elem, at, args);
    }
    args[0] = captured(c, a);
    for (unsigned j = 0; j < p->imm.pat->nspace; j++) {
        args[at++] = j < c->k ? index_at(c, j) : zero;
        if (j >= c->k || tr_pat_is_as_long(c->f, p, which, j))
            continue;
        tr_val repeats = tr_emit_cmp(&c->b, TR_CMP_EQ, size_of(c, a, j), tr_const_int(c->b.fn, i64(c), 1));
        args[at - 1] = tr_emit_select(&c->b, repeats, zero, args[at - 1]);
    }
    return tr_emit_v(&c->b, TR_OP_LOAD, in->ty->elem, at, args);
}

static bool value_is_used(const tr_fn *f, tr_val x) {
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            for (uint32_t i = 0; i < in->nargs; i++)
                if (in->args[i] == x)
                    return true;
            for (uint32_t s = 0; s < tr_nsucc(in); s++)
                for (uint32_t i = 0; i < in->imm.succ[s].n; i++)
                    if (in->imm.succ[s].args[i] == x)
                        return true;
        }
    return false;
}

/* A pattern of the round that is being made. Its functions' params: inner indices, elements or reduced
 * values; then, captured, indices of the row, its values, and what was captured before. */
typedef struct inner {
    const tr_ins *p;
    tr_node m;
    tr_fn *fn[2]; /* TR_LAM, TR_EPI, or NULL */
    tr_val *caps[2];
} inner;

/* The next capture of the inner pattern: its value in each function is a param that was there, or a new
 * one. */
static void capture(inner *s, const tr_val *param, tr_val v) {
    uint32_t at = tr_node_put(&s->m, P_CAP, v);
    for (unsigned fn = TR_LAM; fn <= TR_EPI; fn++)
        if (s->fn[fn])
            s->caps[fn][at] =
                param[fn] != TR_NOVAL ? param[fn] : tr_blk_param(s->fn[fn], 0, tr_at(s->m.f, v)->ty, NULL);
}

static void clone_function(chain *c, inner *s, unsigned fn, tr_fn *from) {
    if (!from)
        return;
    s->fn[fn] = tr_fn_clone(from);
    s->caps[fn] = TR_NEW_N(&c->f->ctx->arena, tr_val, tr_blk_at(from, 0)->params.n + TR_MAX_NDIM + 1u);
}

/* Params of the inner function: those that it keeps, then what is captured. */
static void set_params(inner *s, unsigned fn, const tr_u32s *kept) {
    tr_blk *entry = tr_blk_at(s->fn[fn], 0);
    uint32_t n = s->m.of[P_CAP].n;
    entry->params.d = TR_NEW_N(&s->fn[fn]->ctx->arena, tr_val, kept->n + n + 1u);
    memcpy(entry->params.d, kept->d, kept->n * sizeof *kept->d);
    memcpy(entry->params.d + kept->n, s->caps[fn], n * sizeof *s->caps[fn]);
    entry->params.n = entry->params.cap = kept->n + n;
}

/* Indices of the row that a function asks for, the lambda's and the epilogue's. */
static void capture_indices(chain *c, inner *s, const tr_val *lam, const tr_val *epi) {
    for (unsigned j = 0; j < c->k; j++)
        if (value_is_used(s->fn[TR_LAM], lam[j]) || (epi && value_is_used(s->fn[TR_EPI], epi[j])))
            capture(s, (tr_val[]){lam[j], epi ? epi[j] : TR_NOVAL}, index_at(c, j));
}

static tr_val emit_inner(chain *c, unsigned number) {
    const tr_ins p = *pattern(c, number);
    const tr_pat *t = p.imm.pat;
    tr_arena *a = &c->f->ctx->arena;
    form as = form_of(c, &p);
    inner s = {.p = &p, .m = tr_node_new(c->b.fn)};
    tr_u32s kept = {0}, ekept = {0};
    clone_function(c, &s, TR_LAM, c->guards[number] ? tr_fuse_guarded(c->f, t)->lam : t->lam);
    clone_function(c, &s, TR_EPI, as == INNER ? t->epi : NULL);
    const tr_val *old = tr_arena_copy(a, tr_fuse_params(s.fn[TR_LAM], 0),
                                      tr_pat_nparams(t, TR_LAM) * sizeof *old),
                 *eold = s.fn[TR_EPI] ? tr_arena_copy(a, tr_fuse_params(s.fn[TR_EPI], 0),
                                                      tr_pat_nparams(t, TR_EPI) * sizeof *eold)
                                      : NULL;
    s.m.t = (tr_pat){.apart = t->apart,
                     .lam = s.fn[TR_LAM],
                     .epi = s.fn[TR_EPI],
                     .keep = as == INNER ? t->keep >> c->k : 0};
    for (unsigned j = c->k; j < t->nspace; j++)
        tr_vec_push(a, &kept, old[j]);
    for (unsigned j = c->k; eold && j < tr_pat_nkeep(t) + tr_pat_nred(t); j++)
        tr_vec_push(a, &ekept, eold[j]);
    capture_indices(c, &s, old, eold);
    for (uint32_t i = 0; i < t->nin; i++) {
        tr_val param = old[tr_pat_param(t, TR_LAM, P_IN) + i];
        if (input_is_item(c, &p, i)) {
            capture(&s, (tr_val[]){param, TR_NOVAL}, item_of_row(c, &p, i));
        } else {
            tr_node_put(&s.m, P_IN, part_of(c, &p, i));
            tr_vec_push(a, &kept, param);
        }
    }
    for (uint32_t i = 0; i < t->ncap; i++)
        capture(&s,
                (tr_val[]){old[tr_pat_param(t, TR_LAM, P_CAP) + i],
                           eold ? eold[tr_pat_param(t, TR_EPI, P_CAP) + i] : TR_NOVAL},
                captured(c, p.args[tr_pat_at(t, P_CAP) + i]));
    set_params(&s, TR_LAM, &kept);
    if (eold)
        set_params(&s, TR_EPI, &ekept);
    for (unsigned j = c->k; j < t->nspace; j++)
        tr_node_put(&s.m, P_SPACE, captured(c, p.args[j]));
    for (uint32_t i = 0; i < t->nout; i++)
        tr_node_put(&s.m, P_OUT, part_of_written(c, find(c, p.args[tr_pat_at(t, P_OUT) + i])));
    for (uint32_t i = 0; i < t->nbest; i++)
        tr_node_put(&s.m, P_BEST, part_of_written(c, find(c, p.args[tr_pat_at(t, P_BEST) + i])));
    for (uint32_t k = tr_pat_at(t, P_TOP); k < tr_pat_at(t, P_TOP + 1); k++)
        tr_node_join(&s.m, P_TOP, captured(c, p.args[k]), *tr_pat_join(t, k));
    for (uint32_t i = 0; i < t->neout && as == INNER; i++)
        tr_node_put(&s.m, P_EOUT, part_of_written(c, find(c, p.args[tr_pat_at(t, P_EOUT) + i])));
    for (uint32_t i = 0; i < tr_pat_nred(t); i++) {
        uint32_t k = tr_pat_at(t, P_SCAN) + i;
        tr_val first = as == WHOLE ? tr_red_identity(c->b.fn, tr_pat_red(t, i), def(c, p.args[k])->ty)
                                   : captured(c, p.args[k]);
        tr_node_join(&s.m, P_RED, first, *tr_pat_join(t, k));
    }
    return tr_node_emit(&s.m, &c->b);
}

/* Value i of those that pattern p has reduced. */
static tr_val reduced_value(chain *c, const tr_ins *p, tr_val reduced, uint32_t i) {
    const tr_pat *t = p->imm.pat;
    if (tr_pat_nred(t) == 1)
        return reduced;
    tr_val x = tr_emit1(&c->b, TR_OP_EXTRACT, def(c, p->args[tr_pat_at(t, P_SCAN) + i])->ty, reduced);
    tr_at(c->b.fn, x)->imm.i = i;
    return x;
}

/* A straight function's instructions, in the round, where its params are known; what it yields. */
static const tr_val *emit_straight(chain *c, const tr_fn *fn, tr_val *map) {
    for (tr_val v = tr_blk_at(fn, 0)->first;; v = tr_at(fn, v)->next) {
        const tr_ins *in = tr_at(fn, v);
        tr_val *to = TR_NEW_N(&c->f->ctx->arena, tr_val, in->nargs + 1u);
        for (uint32_t i = 0; i < in->nargs; i++) {
            tr_val x = in->args[i];
            to[i] = map[x] != TR_NOVAL ? map[x] : tr_const_import(c->b.fn, tr_at(fn, x));
        }
        if (in->op == TR_OP_YIELD)
            return to;
        map[v] = tr_emit_v(&c->b, (tr_op)in->op, in->ty, in->nargs, to);
        tr_ins *copy = tr_at(c->b.fn, map[v]);
        copy->sub = in->sub;
        copy->flags = in->flags;
        copy->imm = in->imm;
    }
}

/* What the epilogue makes of the reduced values. */
static void emit_epilogue(chain *c, const tr_ins *p, tr_val reduced) {
    const tr_pat *t = p->imm.pat;
    const tr_val *param = tr_fuse_params(t->epi, 0);
    tr_val *map = tr_no_vals(t->epi);
    for (unsigned j = 0; j < c->k; j++)
        map[*param++] = index_at(c, j);
    for (uint32_t i = 0; i < tr_pat_nred(t); i++)
        map[*param++] = reduced_value(c, p, reduced, i);
    for (uint32_t i = 0; i < t->ncap; i++)
        map[*param++] = captured(c, p->args[tr_pat_at(t, P_CAP) + i]);
    const tr_val *y = emit_straight(c, t->epi, map);
    for (uint32_t i = 0; i < t->neout; i++)
        find(c, p->args[tr_pat_at(t, P_EOUT) + i])->value = y[i];
}

/* What the rounds contribute to reduction i of pattern p. */
static void contribute(chain *c, const tr_ins *p, uint32_t i, tr_val x) {
    uint32_t k = tr_pat_at(p->imm.pat, P_SCAN) + i;
    tr_node_join(&c->outer, P_RED, p->args[k], *tr_pat_join(p->imm.pat, k));
    c->red[c->nred++] = x;
}

/* A pattern with an element a row. */
static void emit_values(chain *c, unsigned number) {
    const tr_ins p = *pattern(c, number);
    const tr_pat *t = c->guards[number] ? tr_fuse_guarded(c->f, p.imm.pat) : p.imm.pat;
    const tr_val *param = tr_fuse_params(t->lam, 0);
    tr_val *map = tr_no_vals(t->lam);
    for (unsigned j = 0; j < t->nspace; j++)
        map[*param++] = j < c->k ? index_at(c, j) : tr_const_int(c->b.fn, i64(c), 0);
    for (uint32_t i = 0; i < t->nin; i++)
        map[*param++] = item_of_row(c, &p, i);
    for (uint32_t i = 0; i < t->ncap; i++)
        map[*param++] = captured(c, p.args[tr_pat_at(t, P_CAP) + i]);
    const tr_val *y = emit_straight(c, t->lam, map);
    for (uint32_t i = 0; i < t->nout; i++)
        find(c, p.args[tr_pat_at(t, P_OUT) + i])->value = y[i];
    for (uint32_t i = 0; i < tr_pat_nred(t); i++)
        contribute(c, &p, i, y[t->nout + i]);
}

static void store_rows(chain *c, unsigned by) {
    for (unsigned i = 0; i < c->nw; i++) {
        const written *w = &c->w[i];
        tr_val args[MAX_OPERANDS + 2];
        if (!w->row || !w->seen || w->by != by)
            continue;
        args[0] = captured(c, w->array);
        uint32_t naxes = def(c, w->array)->ty->ndim;
        for (unsigned j = 0; j < naxes; j++)
            args[1 + j] = j < c->k ? index_at(c, j) : tr_const_int(c->b.fn, i64(c), 0);
        args[1 + naxes] = w->value;
        tr_emit_v(&c->b, TR_OP_STORE, NULL, naxes + 2, args);
    }
}

static void begin_round(chain *c) {
    tr_fn *g = tr_fn_new(c->f->ctx, c->f->name, S_T);
    g->is_lambda = true;
    g->file = c->f->file;
    g->func = c->f->func;
    c->b = (tr_bld){.fn = g, .blk = tr_blk_new(g), .before = TR_NOVAL};
    for (unsigned j = 0; j < c->k; j++)
        tr_blk_param(g, 0, i64(c), NULL);
    c->map = tr_no_vals(c->f);
    c->part = tr_no_vals(c->f);
    c->outer = tr_node_new(c->f);
    c->nred = 0;
}

/* The pattern with the most axes a row. */
static const tr_ins *widest(const chain *c) {
    const tr_ins *p = pattern(c, 0);
    for (unsigned i = 1; i < c->n; i++)
        p = pattern(c, i)->imm.pat->nspace > p->imm.pat->nspace ? pattern(c, i) : p;
    return p;
}

/* How many elements a row has of the longest of those. */
static tr_val row_size(const chain *c, tr_bld *b) {
    unsigned naxes = widest(c)->imm.pat->nspace;
    tr_val most = TR_NOVAL;
    for (unsigned i = 0; i < c->n; i++) {
        const tr_val *size = pattern(c, i)->args + c->k;
        bool again = pattern(c, i)->imm.pat->nspace != naxes;
        for (unsigned j = 0; j < i && !again; j++)
            again = pattern(c, j)->imm.pat->nspace == naxes &&
                    tr_vals_same(pattern(c, j)->args + c->k, size, naxes - c->k);
        if (again)
            continue;
        tr_val n = tr_emit_times(b, size[0], size + 1, naxes - c->k - 1u);
        most = most == TR_NOVAL ? n : tr_emit_most(b, most, n);
    }
    return most;
}

/* The pattern over the rows. */
static tr_val emit_outer(chain *c, tr_bid blk) {
    tr_bld b = tr_bld_at_end(c->f, blk);
    const tr_ins *p = widest(c);
    c->outer.t.lam = c->b.fn;
    c->outer.t.par = p->imm.pat->par;
    if (tr_pat_is_parallel(p->imm.pat)) {
        tr_val row = row_size(c, &b), most = tr_emit_int(&b, TR_MAX_COST / ELEMENT),
               less = tr_emit_select(&b, tr_emit_cmp(&b, TR_CMP_LT, row, most), row, most);
        tr_node_put(&c->outer, P_COST, tr_emit2(&b, TR_OP_MUL, i64(c), less, tr_emit_int(&b, ELEMENT)));
    }
    tr_node_put_all(&c->outer, P_SPACE, pattern(c, 0)->args, c->k);
    tr_node_put_all(&c->outer, P_CAP, c->caps.d, c->caps.n);
    return tr_node_emit(&c->outer, &b);
}

/* Is v a pattern of the chain, an array that only the chain needs and no longer does, or a view of one? */
static bool is_of_chain(chain *c, tr_val v) {
    const written *w = find(c, v), *row = row_of(c, v);
    for (unsigned i = 0; i < c->n; i++)
        if (c->pats[i] == v)
            return true;
    return (w && !w->seen && (w->row || w->local || w->place != w->array)) || (row && !row->seen);
}

static bool makes_arrays(const chain *c) {
    for (unsigned i = 0; i < c->nw; i++)
        if (c->w[i].local)
            return true;
    return false;
}

/* Are the rows long, and is it many elements? For all cores, are they many? */
static tr_val is_worth_it(chain *c, tr_bld *b) {
    const tr_ins *p = widest(c);
    int64_t least = makes_arrays(c) ? LONG_TO_MAKE : LONG_ROW;
    tr_val row = row_size(c, b), rows = tr_emit_times(b, p->args[0], p->args + 1, c->k - 1u),
           all = tr_emit_times(b, row, &rows, 1),
           pays = tr_emit_both(b, tr_emit_cmp(b, TR_CMP_GE, row, tr_emit_int(b, least)),
                               tr_emit_cmp(b, TR_CMP_GE, all, tr_emit_int(b, MANY)));
    if (!tr_pat_is_parallel(p->imm.pat))
        return pays;
    return tr_emit_both(b, pays, tr_emit_cmp(b, TR_CMP_GE, rows, tr_emit_int(b, MANY_ROWS)));
}

/* What was reduced, in either form, for those that come behind. */
static void hand_on_results(chain *c, const tr_fork *k, tr_val outer) {
    tr_fn *f = c->f;
    tr_val plain[MAX_CHAIN], other[MAX_CHAIN];
    tr_bld b = {.fn = f, .blk = k->other, .before = tr_blk_at(f, k->other)->last};
    tr_repl r = tr_repl_new(f);
    uint32_t n = 0, at = 0;
    for (unsigned i = 0; i < c->n; i++) {
        const tr_pat *t = pattern(c, i)->imm.pat;
        const tr_ty *ty = pattern(c, i)->ty;
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

/* The chain as it was goes to a block of its own, and the round to another. */
static tr_bid two_ways(chain *c) {
    tr_fn *f = c->f;
    tr_val last = c->pats[c->n - 1];
    tr_fork k = tr_fork_cut(c->forms, last, def(c, last)->loc);
    for (tr_val v = tr_blk_at(f, c->blk)->first, next; v != TR_NOVAL; v = next) {
        next = tr_at(f, v)->next;
        if (is_of_chain(c, v))
            tr_ins_move_end(f, v, k.plain);
    }
    for (uint32_t i = c->behind.n; i-- > 0;)
        tr_ins_move_before(f, c->behind.d[i], tr_blk_at(f, k.after)->first);
    for (unsigned i = 0; i < c->n; i++) /* the tests come behind this form, too */
        if (c->guards[i])
            tr_at(f, c->pats[i])->imm.pat = tr_fuse_guarded(f, pattern(c, i)->imm.pat);
    tr_fork_make(c->forms, &k, TR_COLD_LARGE);
    hand_on_results(c, &k, emit_outer(c, k.other));
    tr_fork_pick(c->forms, &k, is_worth_it(c, &k.b), k.other);
    return k.after;
}

/* What follows stands in the block that is returned. */
static tr_bid go_by_row(chain *c) {
    note_uses(c);
    for (unsigned i = 0; i < c->nw; i++)
        find_place(c, &c->w[c->nw - 1 - i]); /* the last ones first: what is made of them is known then */
    for (unsigned i = 0; i < c->nw; i++)
        c->w[i].local = !c->w[i].row && !c->w[i].seen && c->w[i].place == c->w[i].array;
    begin_round(c);
    for (unsigned i = 0; i < c->n; i++) {
        const tr_ins p = *pattern(c, i);
        form as = form_of(c, &p);
        tr_val reduced = TR_NOVAL;
        if (as == VALUES)
            emit_values(c, i);
        else
            reduced = emit_inner(c, i);
        if (as == ROW)
            emit_epilogue(c, &p, reduced);
        for (uint32_t r = 0; as == WHOLE && r < tr_pat_nred(p.imm.pat); r++)
            contribute(c, &p, r, reduced_value(c, &p, reduced, r));
        store_rows(c, i);
    }
    tr_emit_v(&c->b, TR_OP_YIELD, NULL, c->nred, c->red);
    return two_ways(c);
}

/* --- the pass --- */

/* Does a row stay in the cache for another pattern of the chain, an array's that was there before or one that
 * the chain writes? What was chosen of a row is short. */
static bool reads_again(chain *c) {
    for (unsigned i = 1; i < c->n; i++) {
        const tr_ins *p = pattern(c, i);
        for (uint32_t a = 0; p->imm.pat->nspace > c->k && a < p->imm.pat->nin; a++) {
            tr_val v = p->args[tr_pat_at(p->imm.pat, P_IN) + a];
            const written *w = find(c, v);
            if (w && !w->chosen)
                return true;
            for (unsigned k = 0; k < i && !w && !row_of(c, v); k++)
                if (pattern(c, k)->imm.pat->nspace > c->k && pattern_reads_array(pattern(c, k), v))
                    return true;
        }
    }
    return false;
}

/* Something that is no pattern, behind the first: false, the chain ends before it. */
static bool pass_by(chain *c, tr_val v) {
    const tr_ins *in = def(c, v);
    bool raises = tr_ins_effects(in) & E_RAISE && in->op != TR_OP_ALLOC, depends = depends_on_results(c, in);
    if (!may_stand_between(in) || (raises && c->tests && !depends)) /* what raises has its order */
        return false;
    if (!depends)
        return true;
    tr_vec_push(&c->f->ctx->arena, &c->behind, v);
    c->tests = c->tests || raises;
    return true;
}

/* A pattern that is none of the chain, and needs nothing of it: it may stand before. It writes arrays made
 * here, which the chain has not met, and reads none that the chain writes. */
static bool may_stand_before(chain *c, tr_val v) {
    const tr_ins *p = def(c, v);
    const tr_pat *t = p->imm.pat;
    if (!tr_pat_is_map(t) || !tr_fn_is_scalar(t->lam) || t->par == TR_PAR_PRANGE ||
        depends_on_results(c, p) || !is_made_here(c, tr_fuse_out(p), t->nout))
        return false;
    for (unsigned i = 0; i < c->nw; i++)
        for (uint32_t k = 0; k < t->nin + t->nout; k++)
            if (!tr_arrays_distinct(c->f, p->args[tr_pat_at(t, P_IN) + k], c->w[i].array, c->blk))
                return false;
    for (unsigned i = 0; i < c->n; i++)
        for (uint32_t k = 0; k < pattern(c, i)->nargs; k++)
            for (uint32_t o = 0; o < t->nout; o++)
                if (tr_array_root(c->f, pattern(c, i)->args[k]) == tr_fuse_out(p)[o])
                    return false;
    return true;
}

/* The chain of rows of k axes that begins with pattern v. */
static chain chain_from(tr_fn *f, tr_versions *forms, tr_bid b, tr_val v, unsigned k) {
    chain c = {.f = f, .blk = b, .forms = forms, .whole = tr_versions_whole(forms, b), .k = k};
    uint32_t nbehind = 0;
    bool rows = false;
    c.guarded = tr_handler_now(f, c.whole);
    for (tr_val x = v; x != TR_NOVAL && (c.n || x == v); x = tr_at(f, x)->next)
        if (tr_at(f, x)->op != TR_OP_PATTERN) {
            if (!pass_by(&c, x))
                break;
        } else if (take_pattern(&c, x)) {
            rows = rows || tr_at(f, x)->imm.pat->keep;
            nbehind = c.behind.n;
        } else if (!may_stand_before(&c, x)) {
            break;
        }
    c.behind.n = nbehind; /* the others stand behind the last pattern already */
    c.n = rows && reads_again(&c) ? c.n : 0;
    return c;
}

/* The longest chain that begins with pattern v, of the most axes: where it goes on behind it; TR_NOBLK: there
 * is none. */
static tr_bid try_chain(tr_fn *f, tr_versions *forms, tr_bid b, tr_val v) {
    chain best = {.n = 1};
    for (unsigned k = tr_at(f, v)->imm.pat->nspace; k-- > 1;) {
        chain c = chain_from(f, forms, b, v, k);
        best = c.n > best.n ? c : best;
    }
    return best.n < 2 ? TR_NOBLK : go_by_row(&best);
}

static void rows_of_block(tr_fn *f, tr_versions *forms, tr_bid b) {
    for (tr_val v = tr_blk_at(f, b)->first; v != TR_NOVAL;) {
        tr_bid on = tr_at(f, v)->op == TR_OP_PATTERN ? try_chain(f, forms, b, v) : TR_NOBLK;
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
