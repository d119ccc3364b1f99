/* Patterns that reduce each row of arrays, and those that use what came out at the rows' elements (`e /
 * e.sum(axis=-1, keepdims=True)`: softmax, normalisation, rows made to length 1), go row by row, while a row
 * is in the cache (fusion of outer loops):
 *
 *   m = [keep n, k] in(x) red(max); e, s = [keep n, k] in(x, m) out(e) red(add); [n, k] in(e, s) out(o)
 * becomes
 *   [n] { m = [k] in(x[i]) red(max); s = [k] in(x[i]) out(o[i]) red(add) cap(m);
 *         [k] in(o[i]) out(o[i]) cap(s) }
 *
 * A chain: patterns of one block whose first axes are the same, of which those that reduce keep
 * just these, and that write to arrays made here. What is reduced is a value of the round then,
 * and an array only where others read it. An array of the space that only the chain reads gives
 * way to the one that is made of it last.
 * It pays where arrays do not stay in the cache, and rows are longer than what a row costs: a
 * test when the program runs chooses between both forms. The new one is compiled when it is
 * first chosen (TR_COLD_LARGE, opt/late.c).
 * Bits stay: inputs are of layout C, along whose rows no reduction is done in tiles (ir/sched.h), so that one
 * of a row is one of a line. Not for patterns that may run on all cores: the rows may be few.
 * Cost: linear in a block, and in its chains' lambdas. */
#include <assert.h>
#include <string.h>

#include "ir/alias.h"
#include "ir/sched.h"
#include "opt/pattern/fuse.h"
#include "opt/emit.h"
#include "opt/priv.h"
#include "opt/versions.h"

enum { MAX_CHAIN = 12, MAX_OPERANDS = 16, MAX_ARRAYS = 2 * MAX_CHAIN };
enum { LONG_ROW = 32, MANY = 1 << 17 }; /* elements of a row, of all rows */

/* An array that the chain writes. */
typedef struct written {
    tr_val array;
    unsigned by;  /* which pattern */
    bool row;     /* an element per round: what a reduction's epilogue makes */
    bool seen;    /* others than the chain use it */
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
    unsigned nw;
    written w[MAX_ARRAYS];
    /* the round */
    tr_bld b;
    tr_u32s caps; /* values of f, in the order of g's params behind the indices */
    tr_val *part; /* per array of f: the round's part of it */
    tr_val *map;  /* per value of f: what it is in the round */
} chain;

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

/* An array of the chain's with an element per row, seen with new axes behind them: that; else NULL. */
static written *row_of(chain *c, tr_val v) {
    const tr_ins *in = def(c, v);
    written *w = in->op == TR_OP_VIEW ? find(c, in->args[0]) : NULL;
    if (!w || !w->row || in->ty->ndim < c->k)
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

/* Does the pattern walk all that the one which wrote w does? */
static bool same_space(const chain *c, const tr_ins *p, const written *w) {
    const tr_ins *q = pattern(c, w->by);
    return p->imm.pat->nspace == q->imm.pat->nspace && tr_vals_same(p->args, q->args, p->imm.pat->nspace);
}

static bool input_fits_chain(chain *c, const tr_ins *p, tr_val v, bool *linked) {
    written *w = row_of(c, v);
    if (!w && (w = find(c, v)) != NULL && (w->row || !same_space(c, p, w)))
        return false;
    *linked = *linked || w;
    if (w)
        return true;
    if (def(c, v)->ty->layout != TR_LAYOUT_C)
        return false;
    for (unsigned i = 0; i < c->nw; i++)
        if (!tr_arrays_distinct(c->f, v, c->w[i].array, c->blk))
            return false;
    return true;
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

/* Rows, and what there is at each element of them. */
static bool pattern_has_row_form(const chain *c, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    bool plain = t->par == TR_PAR_NO && !tr_pat_joins(t) &&
                 tr_pat_has_only(t, P_(SPACE) | P_(IN) | P_(OUT) | P_(RED) | P_(EOUT) | P_(CAP));
    bool reduces = tr_pat_nred(t) > 0, keeps = t->keep == tr_all_axes(c->k);
    return plain && t->nspace > c->k && (reduces ? keeps && t->neout : !t->keep) && tr_fn_is_scalar(t->lam) &&
           epilogue_is_plain(t->epi) && 0u + t->nin + t->nout + t->neout + tr_pat_nred(t) <= MAX_OPERANDS &&
           is_made_here(c, p->args + tr_pat_at(t, P_OUT), t->nout) &&
           is_made_here(c, p->args + tr_pat_at(t, P_EOUT), t->neout);
}

static void add_written(chain *c, const tr_val *v, uint32_t n, bool row) {
    for (uint32_t i = 0; i < n; i++)
        c->w[c->nw++] = (written){.array = v[i], .by = c->n, .row = row, .place = v[i], .value = TR_NOVAL};
}

/* Takes the pattern into the chain; false: it is none of it. The first one is what the others are like. */
static bool take_pattern(chain *c, tr_val v) {
    const tr_ins *p = def(c, v);
    const tr_pat *t = p->imm.pat;
    bool linked = c->n == 0;
    if (c->n == 0)
        c->k = tr_pat_nkeep(t);
    if (!c->k || c->n == MAX_CHAIN || !pattern_has_row_form(c, p) ||
        c->nw + t->nout + t->neout > MAX_ARRAYS ||
        (c->n && !tr_vals_same(p->args, pattern(c, 0)->args, c->k)))
        return false;
    for (uint32_t i = 0; i < t->nin; i++)
        if (!input_fits_chain(c, p, p->args[tr_pat_at(t, P_IN) + i], &linked))
            return false;
    for (uint32_t i = 0; i < (uint32_t)t->nout + t->neout; i++)
        if (find(c, p->args[i < t->nout ? tr_pat_at(t, P_OUT) + i : tr_pat_at(t, P_EOUT) + i - t->nout]))
            return false;
    if (!linked)
        return false;
    add_written(c, p->args + tr_pat_at(t, P_OUT), t->nout, false);
    add_written(c, p->args + tr_pat_at(t, P_EOUT), t->neout, true);
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
    for (uint32_t i = 0; i < p->imm.pat->nin; i++)
        if (p->args[tr_pat_at(p->imm.pat, P_IN) + i] == array)
            return true;
    return false;
}

/* An array that is made, element by element, by the last pattern that reads w: w's rows may
 * stand in it until then. */
static void find_place(chain *c, written *w) {
    unsigned last = c->n;
    while (last > w->by && !pattern_reads_array(pattern(c, last - 1), w->array))
        last--;
    if (w->row || w->seen || last <= w->by + 1u)
        return;
    for (unsigned i = 0; i < c->nw && w->place == w->array; i++) {
        const written *o = &c->w[i];
        bool taken = false;
        for (unsigned j = 0; j < c->nw; j++)
            taken = taken || (&c->w[j] != o && c->w[j].place == o->place);
        if (o->by == last - 1 && !o->row && !taken && def(c, o->array)->ty == def(c, w->array)->ty &&
            same_space(c, pattern(c, w->by), o))
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

/* This round's part of an operand of pattern p, number `which` of its inputs and outputs.
 * Axes of extent 1 repeat. */
static tr_val part_of(chain *c, const tr_ins *p, uint32_t which) {
    const written *w = find(c, p->args[tr_pat_at(p->imm.pat, P_IN) + which]);
    tr_val a = w ? w->place : p->args[tr_pat_at(p->imm.pat, P_IN) + which];
    const tr_ty *t = def(c, a)->ty;
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
    const tr_ty *part = tr_ty_array_as(c->f->ctx->types, t->elem, n - k, TR_LAYOUT_C, t->readonly, t->sub);
    tr_val v = tr_emit_v(&c->b, TR_OP_VIEW, part, at, args);
    tr_at(c->b.fn, v)->imm.i = along;
    if (whole)
        c->part[a] = v;
    return v;
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

/* A param of the lambda for the next capture of the inner pattern. */
static void capture(tr_node *m, tr_val *caps, tr_val param, tr_val v) {
    caps[tr_node_put(m, P_CAP, v)] = param;
}

/* The pattern in the round. Its lambda's params: inner indices, elements; then, captured, indices of the row,
 * its values, and what was captured before. */
static tr_val emit_inner(chain *c, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    tr_arena *a = &c->f->ctx->arena;
    tr_fn *lam = tr_fn_clone(t->lam);
    tr_blk *entry = tr_blk_at(lam, 0);
    uint32_t n = entry->params.n, at = 0;
    const tr_val *old = tr_arena_copy(a, entry->params.d, n * sizeof *old);
    tr_val *caps = TR_NEW_N(a, tr_val, n + 1u);
    tr_node m = tr_node_new(c->b.fn);
    m.t = (tr_pat){.apart = t->apart, .lam = lam};
    for (unsigned j = c->k; j < t->nspace; j++)
        entry->params.d[at++] = old[j];
    for (unsigned j = 0; j < c->k; j++)
        if (value_is_used(lam, old[j]))
            capture(&m, caps, old[j], index_at(c, j));
    for (uint32_t i = 0; i < t->nin; i++) {
        const written *w = row_of(c, p->args[tr_pat_at(t, P_IN) + i]);
        tr_val param = old[tr_pat_param(t, TR_LAM, P_IN) + i];
        if (w) {
            capture(&m, caps, param, w->value);
        } else {
            tr_node_put(&m, P_IN, part_of(c, p, i));
            entry->params.d[at++] = param;
        }
    }
    for (uint32_t i = 0; i < t->ncap; i++)
        capture(&m, caps, old[tr_pat_param(t, TR_LAM, P_CAP) + i],
                captured(c, p->args[tr_pat_at(t, P_CAP) + i]));
    memcpy(entry->params.d + at, caps, m.of[P_CAP].n * sizeof *caps);
    entry->params.n = at + m.of[P_CAP].n;
    for (unsigned j = c->k; j < t->nspace; j++)
        tr_node_put(&m, P_SPACE, captured(c, p->args[j]));
    for (uint32_t i = 0; i < t->nout; i++)
        tr_node_put(&m, P_OUT, part_of(c, p, t->nin + i));
    for (uint32_t i = 0; i < tr_pat_nred(t); i++) {
        uint32_t k = tr_pat_at(t, P_SCAN) + i;
        tr_node_join(&m, P_RED, captured(c, p->args[k]), *tr_pat_join(t, k));
    }
    return tr_node_emit(&m, &c->b);
}

/* What the epilogue makes of the reduced values: its instructions, in the round. */
static void emit_epilogue(chain *c, const tr_ins *p, tr_val reduced) {
    const tr_pat *t = p->imm.pat;
    const tr_fn *epi = t->epi;
    const tr_val *param = tr_blk_at(epi, 0)->params.d;
    tr_val *map = tr_no_vals(epi), args[4];
    for (unsigned j = 0; j < c->k; j++)
        map[*param++] = index_at(c, j);
    for (uint32_t i = 0; i < tr_pat_nred(t); i++) {
        tr_val x = reduced;
        if (tr_pat_nred(t) > 1) {
            x = tr_emit1(&c->b, TR_OP_EXTRACT, def(c, p->args[tr_pat_at(t, P_SCAN) + i])->ty, reduced);
            tr_at(c->b.fn, x)->imm.i = i;
        }
        map[*param++] = x;
    }
    for (uint32_t i = 0; i < t->ncap; i++)
        map[*param++] = captured(c, p->args[tr_pat_at(t, P_CAP) + i]);
    for (tr_val v = tr_blk_at(epi, 0)->first; v != TR_NOVAL; v = tr_at(epi, v)->next) {
        const tr_ins *in = tr_at(epi, v);
        tr_val *to = in->nargs <= 4 ? args : TR_NEW_N(&c->f->ctx->arena, tr_val, in->nargs);
        for (uint32_t i = 0; i < in->nargs; i++) {
            tr_val x = in->args[i];
            to[i] = map[x] != TR_NOVAL ? map[x] : tr_const_import(c->b.fn, tr_at(epi, x));
        }
        if (in->op == TR_OP_YIELD) {
            for (uint32_t i = 0; i < t->neout; i++)
                find(c, p->args[tr_pat_at(t, P_EOUT) + i])->value = to[i];
            break;
        }
        map[v] = tr_emit_v(&c->b, (tr_op)in->op, in->ty, in->nargs, to);
        tr_ins *copy = tr_at(c->b.fn, map[v]);
        copy->sub = in->sub;
        copy->flags = in->flags;
        copy->imm = in->imm;
    }
}

static void store_rows(chain *c, unsigned by) {
    for (unsigned i = 0; i < c->nw; i++) {
        const written *w = &c->w[i];
        tr_val args[MAX_OPERANDS + 2];
        if (!w->row || !w->seen || w->by != by)
            continue;
        args[0] = captured(c, w->array);
        for (unsigned j = 0; j < c->k; j++)
            args[1 + j] = index_at(c, j);
        args[1 + c->k] = w->value;
        tr_emit_v(&c->b, TR_OP_STORE, NULL, c->k + 2, args);
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
}

/* The pattern over the rows. */
static void emit_outer(chain *c, tr_bid blk) {
    tr_bld b = tr_bld_at_end(c->f, blk);
    tr_node m = tr_node_new(c->f);
    m.t.lam = c->b.fn;
    tr_node_put_all(&m, P_SPACE, pattern(c, 0)->args, c->k);
    tr_node_put_all(&m, P_CAP, c->caps.d, c->caps.n);
    tr_node_emit(&m, &b);
}

/* Is v a pattern of the chain, an array that only the chain needs and no longer does, or a view of one? */
static bool is_of_chain(chain *c, tr_val v) {
    const written *w = find(c, v), *row = row_of(c, v);
    for (unsigned i = 0; i < c->n; i++)
        if (c->pats[i] == v)
            return true;
    return (w && !w->seen && (w->row || w->place != w->array)) || (row && !row->seen);
}

/* Are the rows long, and is it many elements? */
static tr_val is_worth_it(chain *c, tr_bld *b) {
    const tr_ins *p = pattern(c, 0);
    const tr_val *size = p->args;
    tr_val row = tr_emit_times(b, size[c->k], size + c->k + 1, p->imm.pat->nspace - c->k - 1u),
           all = tr_emit_times(b, row, size, c->k),
           long_ones = tr_emit_cmp(b, TR_CMP_GE, row, tr_emit_int(b, LONG_ROW));
    return tr_emit_both(b, long_ones, tr_emit_cmp(b, TR_CMP_GE, all, tr_emit_int(b, MANY)));
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
    tr_fork_make(c->forms, &k, TR_COLD_LARGE);
    emit_outer(c, k.other);
    tr_fork_pick(c->forms, &k, is_worth_it(c, &k.b), k.other);
    return k.after;
}

/* What follows stands in the block that is returned. */
static tr_bid go_by_row(chain *c) {
    note_uses(c);
    for (unsigned i = 0; i < c->nw; i++)
        find_place(c, &c->w[c->nw - 1 - i]); /* the last ones first: what is made of them is known then */
    begin_round(c);
    for (unsigned i = 0; i < c->n; i++) {
        const tr_ins p = *pattern(c, i);
        tr_val reduced = emit_inner(c, &p);
        if (tr_pat_nred(p.imm.pat))
            emit_epilogue(c, &p, reduced);
        store_rows(c, i);
    }
    tr_emit_v(&c->b, TR_OP_YIELD, NULL, 0, NULL);
    return two_ways(c);
}

/* --- the pass --- */

/* The chain that begins with pattern v: where it goes on behind it; TR_NOBLK: there is none. */
static tr_bid try_chain(tr_fn *f, tr_versions *forms, tr_bid b, tr_val v) {
    chain c = {.f = f, .blk = b, .forms = forms, .whole = tr_versions_whole(forms, b)};
    if (!tr_at(f, v)->imm.pat->keep)
        return TR_NOBLK;
    c.guarded = tr_handler_now(f, c.whole);
    if (!take_pattern(&c, v))
        return TR_NOBLK;
    for (tr_val x = tr_at(f, v)->next; x != TR_NOVAL; x = tr_at(f, x)->next)
        if (tr_at(f, x)->op == TR_OP_PATTERN ? !take_pattern(&c, x) : !may_stand_between(tr_at(f, x)))
            break;
    return c.n < 2 ? TR_NOBLK : go_by_row(&c);
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
