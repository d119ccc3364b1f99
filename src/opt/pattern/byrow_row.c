/* The round of a loop over rows (byrow.c) that is one row: patterns of its elements, and values of the row,
 * which are in arrays only where others read them.
 *
 * Params of the round: the row's indices, then what it captures, in the order in which that was asked for.
 * Cost: linear in the chain and its lambdas. */
#include <string.h>

#include "ir/sched.h"
#include "opt/pattern/byrow.h"
#include "opt/emit.h"

/* A value from outside. */
tr_val tr_rows_captured(tr_rows *c, tr_val v) {
    if (c->map[v] != TR_NOVAL)
        return c->map[v];
    if (tr_is_const(tr_rows_def(c, v)))
        return c->map[v] = tr_const_import(c->b.fn, tr_rows_def(c, v));
    tr_vec_push(&c->f->ctx->arena, &c->caps, v);
    return c->map[v] = tr_blk_param(c->b.fn, 0, tr_rows_def(c, v)->ty, NULL);
}

tr_val tr_rows_size_of(tr_rows *c, tr_val array, unsigned axis) {
    const tr_val *sizes = tr_made_sizes(tr_rows_def(c, array));
    if (sizes && tr_is_const(tr_rows_def(c, sizes[axis])))
        return tr_rows_captured(c, sizes[axis]);
    return tr_emit_dim(&c->b, tr_rows_captured(c, array), axis);
}

static const tr_ty *part_type(const tr_rows *c, tr_val array) {
    const tr_ty *t = tr_rows_def(c, array)->ty;
    tr_layout layout = t->layout == TR_LAYOUT_C ? TR_LAYOUT_C : TR_LAYOUT_ANY;
    return tr_ty_array_as(c->f->ctx->types, t->elem, t->ndim - c->k, layout, t->readonly, t->sub);
}

/* An array that is made in each round, as long as a row of the one that it stands for. */
static tr_val make_local(tr_rows *c, tr_val array) {
    const tr_ins a = *tr_rows_def(c, array);
    tr_val sizes[TR_MAX_NDIM];
    for (uint32_t j = c->k; j < a.nargs; j++)
        sizes[j - c->k] = tr_rows_captured(c, a.args[j]);
    tr_val v = tr_emit_v(&c->b, TR_OP_ALLOC, part_type(c, array), a.nargs - c->k, sizes);
    tr_at(c->b.fn, v)->imm = a.imm;
    tr_at(c->b.fn, v)->sub = a.sub;
    return v;
}

/* This round's part of an array that the chain writes. */
static tr_val part_of_written(tr_rows *c, const tr_rows_array *w) {
    tr_val a = w->place, args[1 + 3 * TR_MAX_NDIM];
    uint32_t n = tr_rows_def(c, a)->ty->ndim, at = 0;
    int64_t along = 0;
    if (c->part[a] != TR_NOVAL)
        return c->part[a];
    if (tr_rows_find(c, a)->local)
        return c->part[a] = make_local(c, a);
    args[at++] = tr_rows_captured(c, a);
    for (unsigned j = 0; j < n; j++)
        args[at++] = j < c->k ? tr_rows_index(c, j) : tr_const_int(c->b.fn, tr_rows_i64(c), 0);
    for (unsigned j = c->k; j < n; j++)
        args[at++] = tr_rows_captured(c, tr_rows_def(c, a)->args[j]);
    for (unsigned j = c->k; j < n; j++) {
        args[at++] = tr_const_int(c->b.fn, tr_rows_i64(c), 1);
        along |= tr_view_along(j - c->k, (int)j);
    }
    c->part[a] = tr_emit_v(&c->b, TR_OP_VIEW, part_type(c, a), at, args);
    tr_at(c->b.fn, c->part[a])->imm.i = along;
    return c->part[a];
}

/* A value from outside, which is made again where it is a view: what the view says of sizes and strides is
 * seen in the round then, which is a function of its own. */
tr_val tr_rows_seen(tr_rows *c, tr_val v) {
    const tr_ins in = *tr_rows_def(c, v);
    if (!tr_is_view(&in) || c->map[v] != TR_NOVAL)
        return tr_rows_captured(c, v);
    tr_val *args = TR_NEW_N(&c->f->ctx->arena, tr_val, in.nargs);
    args[0] = tr_rows_seen(c, in.args[0]);
    for (uint32_t i = 1; i < in.nargs; i++)
        args[i] = tr_rows_captured(c, in.args[i]);
    c->map[v] = tr_emit_v(&c->b, (tr_op)in.op, in.ty, in.nargs, args);
    tr_at(c->b.fn, c->map[v])->imm = in.imm;
    tr_at(c->b.fn, c->map[v])->sub = in.sub;
    return c->map[v];
}

/* What all rounds see of a view with new axes for rows: it without these. */
static tr_val shared_part(tr_rows *c, tr_val a) {
    const tr_ins in = *tr_rows_def(c, a);
    uint32_t at = 1, n = in.ty->ndim;
    int64_t along = 0;
    tr_val args[1 + TR_VIEW_BASE_AXES + 2 * TR_VIEW_AXES] = {tr_rows_seen(c, in.args[0])};
    for (unsigned j = 0; j < tr_view_nbase(&in); j++)
        args[at++] = tr_rows_captured(c, tr_view_starts(&in)[j]);
    for (unsigned j = c->k; j < n; j++)
        args[at++] = tr_rows_captured(c, tr_made_sizes(&in)[j]);
    for (unsigned j = c->k; j < n; j++) {
        args[at++] = tr_rows_captured(c, tr_view_steps(&in)[j]);
        along |= tr_view_along(j - c->k, tr_view_axis(&in, j));
    }
    tr_val v = tr_emit_v(&c->b, TR_OP_VIEW, part_type(c, a), at, args);
    tr_at(c->b.fn, v)->imm.i = along;
    return v;
}

/* This round's part of input number `which` of pattern p. Axes of extent 1 repeat. */
static tr_val part_of(tr_rows *c, const tr_ins *p, uint32_t which) {
    tr_val a = p->args[tr_pat_at(p->imm.pat, P_IN) + which];
    if (tr_rows_find(c, a))
        return part_of_written(c, tr_rows_find(c, a));
    if (tr_rows_repeat(c, a))
        return c->part[a] != TR_NOVAL ? c->part[a] : (c->part[a] = shared_part(c, a));
    uint32_t n = p->imm.pat->nspace, k = c->k, at = 0;
    bool whole = true;
    for (unsigned j = 0; j < n; j++)
        whole = whole && tr_pat_is_as_long(c->f, p, which, j);
    if (whole && c->part[a] != TR_NOVAL)
        return c->part[a];
    tr_val args[1 + 3 * TR_MAX_CHAIN_OPERANDS], one = tr_const_int(c->b.fn, tr_rows_i64(c), 1),
                                                zero = tr_const_int(c->b.fn, tr_rows_i64(c), 0);
    int64_t along = 0;
    args[at++] = tr_rows_captured(c, a);
    for (unsigned j = 0; j < k; j++) {
        args[at++] = tr_rows_index(c, j);
        if (tr_pat_is_as_long(c->f, p, which, j))
            continue;
        tr_val repeats = tr_emit_cmp(&c->b, TR_CMP_EQ, tr_rows_size_of(c, a, j), one);
        args[at - 1] = tr_emit_select(&c->b, repeats, zero, args[at - 1]);
    }
    for (unsigned j = k; j < n; j++)
        args[at++] = zero;
    for (unsigned j = k; j < n; j++)
        args[at++] =
            tr_pat_is_as_long(c->f, p, which, j) ? tr_rows_captured(c, p->args[j]) : tr_rows_size_of(c, a, j);
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
static bool input_is_item(tr_rows *c, const tr_ins *p, uint32_t which) {
    tr_val a = tr_fuse_in(p)[which];
    return tr_rows_of_view(c, a) ||
           (!tr_rows_find(c, a) && tr_rows_are_short(c, tr_rows_def(c, a), p->imm.pat->nspace));
}

/* The one element that this row has of an input: a value of the round, or loaded. */
static tr_val item_of_row(tr_rows *c, const tr_ins *p, uint32_t which) {
    tr_val a = tr_fuse_in(p)[which], args[1 + TR_VIEW_BASE_AXES],
           zero = tr_const_int(c->b.fn, tr_rows_i64(c), 0);
    const tr_ins *in = tr_rows_def(c, a);
    const tr_rows_array *itself = tr_rows_find(c, a), *w = itself ? itself : tr_rows_of_view(c, a);
    uint32_t at = 1;
    if (w && w->row)
        return w->value;
    if (w) { /* of an array whose part is a row */
        args[0] = part_of_written(c, w);
        for (unsigned j = c->k; j < tr_rows_def(c, w->array)->nargs; j++)
            args[at++] = itself ? zero : tr_rows_captured(c, tr_view_starts(in)[j]);
        return tr_emit_v(&c->b, TR_OP_LOAD, in->ty->elem, at, args);
    }
    args[0] = tr_rows_captured(c, a);
    for (unsigned j = 0; j < p->imm.pat->nspace; j++) {
        args[at++] = j < c->k ? tr_rows_index(c, j) : zero;
        if (j >= c->k || tr_pat_is_as_long(c->f, p, which, j))
            continue;
        tr_val repeats =
            tr_emit_cmp(&c->b, TR_CMP_EQ, tr_rows_size_of(c, a, j), tr_const_int(c->b.fn, tr_rows_i64(c), 1));
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

static void clone_function(tr_rows *c, inner *s, unsigned fn, tr_fn *from) {
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
static void capture_indices(tr_rows *c, inner *s, const tr_val *lam, const tr_val *epi) {
    for (unsigned j = 0; j < c->k; j++)
        if (value_is_used(s->fn[TR_LAM], lam[j]) || (epi && value_is_used(s->fn[TR_EPI], epi[j])))
            capture(s, (tr_val[]){lam[j], epi ? epi[j] : TR_NOVAL}, tr_rows_index(c, j));
}

static tr_val emit_inner(tr_rows *c, unsigned number) {
    const tr_ins p = *tr_rows_pattern(c, number);
    const tr_pat *t = p.imm.pat;
    tr_arena *a = &c->f->ctx->arena;
    tr_rows_form as = tr_rows_form_of(c, &p);
    inner s = {.p = &p, .m = tr_node_new(c->b.fn)};
    tr_u32s kept = {0}, ekept = {0};
    clone_function(c, &s, TR_LAM, c->guards[number] ? tr_fuse_guarded(c->f, t)->lam : t->lam);
    clone_function(c, &s, TR_EPI, as == TR_ROWS_INNER ? t->epi : NULL);
    const tr_val *old = tr_arena_copy(a, tr_fuse_params(s.fn[TR_LAM], 0),
                                      tr_pat_nparams(t, TR_LAM) * sizeof *old),
                 *eold = s.fn[TR_EPI] ? tr_arena_copy(a, tr_fuse_params(s.fn[TR_EPI], 0),
                                                      tr_pat_nparams(t, TR_EPI) * sizeof *eold)
                                      : NULL;
    s.m.t = (tr_pat){.apart = t->apart,
                     .lam = s.fn[TR_LAM],
                     .epi = s.fn[TR_EPI],
                     .keep = as == TR_ROWS_INNER ? t->keep >> c->k : 0};
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
                tr_rows_captured(c, p.args[tr_pat_at(t, P_CAP) + i]));
    set_params(&s, TR_LAM, &kept);
    if (eold)
        set_params(&s, TR_EPI, &ekept);
    for (unsigned j = c->k; j < t->nspace; j++)
        tr_node_put(&s.m, P_SPACE, tr_rows_captured(c, p.args[j]));
    for (uint32_t i = 0; i < t->nout; i++)
        tr_node_put(&s.m, P_OUT, part_of_written(c, tr_rows_find(c, p.args[tr_pat_at(t, P_OUT) + i])));
    for (uint32_t i = 0; i < t->nbest; i++)
        tr_node_put(&s.m, P_BEST, part_of_written(c, tr_rows_find(c, p.args[tr_pat_at(t, P_BEST) + i])));
    for (uint32_t k = tr_pat_at(t, P_TOP); k < tr_pat_at(t, P_TOP + 1); k++)
        tr_node_join(&s.m, P_TOP, tr_rows_captured(c, p.args[k]), *tr_pat_join(t, k));
    for (uint32_t i = 0; i < t->neout && as == TR_ROWS_INNER; i++)
        tr_node_put(&s.m, P_EOUT, part_of_written(c, tr_rows_find(c, p.args[tr_pat_at(t, P_EOUT) + i])));
    for (uint32_t i = 0; i < tr_pat_nred(t); i++) {
        uint32_t k = tr_pat_at(t, P_SCAN) + i;
        tr_val first = as == TR_ROWS_WHOLE
                           ? tr_red_identity(c->b.fn, tr_pat_red(t, i), tr_rows_def(c, p.args[k])->ty)
                           : tr_rows_captured(c, p.args[k]);
        tr_node_join(&s.m, P_RED, first, *tr_pat_join(t, k));
    }
    return tr_node_emit(&s.m, &c->b);
}

/* Value i of those that pattern p has reduced. */
tr_val tr_rows_reduced(tr_rows *c, const tr_ins *p, tr_val reduced, uint32_t i) {
    const tr_pat *t = p->imm.pat;
    if (tr_pat_nred(t) == 1)
        return reduced;
    tr_val x = tr_emit1(&c->b, TR_OP_EXTRACT, tr_rows_def(c, p->args[tr_pat_at(t, P_SCAN) + i])->ty, reduced);
    tr_at(c->b.fn, x)->imm.i = i;
    return x;
}

/* A straight function's instructions, in the round, where its params are known; what it yields. */
static const tr_val *emit_straight(tr_rows *c, const tr_fn *fn, tr_val *map) {
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
static void emit_epilogue(tr_rows *c, const tr_ins *p, tr_val reduced) {
    const tr_pat *t = p->imm.pat;
    const tr_val *param = tr_fuse_params(t->epi, 0);
    tr_val *map = tr_no_vals(t->epi);
    for (unsigned j = 0; j < c->k; j++)
        map[*param++] = tr_rows_index(c, j);
    for (uint32_t i = 0; i < tr_pat_nred(t); i++)
        map[*param++] = tr_rows_reduced(c, p, reduced, i);
    for (uint32_t i = 0; i < t->ncap; i++)
        map[*param++] = tr_rows_captured(c, p->args[tr_pat_at(t, P_CAP) + i]);
    const tr_val *y = emit_straight(c, t->epi, map);
    for (uint32_t i = 0; i < t->neout; i++)
        tr_rows_find(c, p->args[tr_pat_at(t, P_EOUT) + i])->value = y[i];
}

/* What the rounds contribute to reduction i of pattern p. */
void tr_rows_contribute(tr_rows *c, const tr_ins *p, uint32_t i, tr_val x) {
    uint32_t k = tr_pat_at(p->imm.pat, P_SCAN) + i;
    tr_node_join(&c->outer, P_RED, p->args[k], *tr_pat_join(p->imm.pat, k));
    c->red[c->nred++] = x;
}

/* A pattern with an element a row. */
static void emit_values(tr_rows *c, unsigned number) {
    const tr_ins p = *tr_rows_pattern(c, number);
    const tr_pat *t = c->guards[number] ? tr_fuse_guarded(c->f, p.imm.pat) : p.imm.pat;
    const tr_val *param = tr_fuse_params(t->lam, 0);
    tr_val *map = tr_no_vals(t->lam);
    for (unsigned j = 0; j < t->nspace; j++)
        map[*param++] = j < c->k ? tr_rows_index(c, j) : tr_const_int(c->b.fn, tr_rows_i64(c), 0);
    for (uint32_t i = 0; i < t->nin; i++)
        map[*param++] = item_of_row(c, &p, i);
    for (uint32_t i = 0; i < t->ncap; i++)
        map[*param++] = tr_rows_captured(c, p.args[tr_pat_at(t, P_CAP) + i]);
    const tr_val *y = emit_straight(c, t->lam, map);
    for (uint32_t i = 0; i < t->nout; i++)
        tr_rows_find(c, p.args[tr_pat_at(t, P_OUT) + i])->value = y[i];
    for (uint32_t i = 0; i < tr_pat_nred(t); i++)
        tr_rows_contribute(c, &p, i, y[t->nout + i]);
}

static void store_rows(tr_rows *c, unsigned by) {
    for (unsigned i = 0; i < c->nw; i++) {
        const tr_rows_array *w = &c->w[i];
        tr_val args[TR_MAX_CHAIN_OPERANDS + 2];
        if (!w->row || !w->seen || w->by != by)
            continue;
        args[0] = tr_rows_captured(c, w->array);
        uint32_t naxes = tr_rows_def(c, w->array)->ty->ndim;
        for (unsigned j = 0; j < naxes; j++)
            args[1 + j] = j < c->k ? tr_rows_index(c, j) : tr_const_int(c->b.fn, tr_rows_i64(c), 0);
        args[1 + naxes] = w->value;
        tr_emit_v(&c->b, TR_OP_STORE, NULL, naxes + 2, args);
    }
}

void tr_rows_by_row(tr_rows *c, unsigned i) {
    const tr_ins p = *tr_rows_pattern(c, i);
    tr_rows_form as = tr_rows_form_of(c, &p);
    tr_val reduced = TR_NOVAL;
    if (as == TR_ROWS_VALUES)
        emit_values(c, i);
    else
        reduced = emit_inner(c, i);
    if (as == TR_ROWS_ROW)
        emit_epilogue(c, &p, reduced);
    for (uint32_t r = 0; as == TR_ROWS_WHOLE && r < tr_pat_nred(p.imm.pat); r++)
        tr_rows_contribute(c, &p, r, tr_rows_reduced(c, &p, reduced, r));
    store_rows(c, i);
}
