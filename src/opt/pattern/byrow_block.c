/* The round of a loop over rows (byrow.c) that is a block of rows: the chain's patterns as they are, of as
 * many rows as a block has, on the block's parts of arrays. What only the chain reads is an array of the
 * round.
 *
 * Each row is reduced as before, so all bits stay; what is reduced of all rows is so for each block, and the
 * loop joins that, where the order does not matter. Params of the round as in byrow_row.c; its index counts
 * blocks. Cost: linear in the chain and its lambdas. */
#include <assert.h>
#include <string.h>

#include "ir/sched.h"
#include "opt/pattern/byrow.h"
#include "opt/emit.h"

/* A part of layout C, of which the round sees how far apart its items lie where sizes are numbers: it is a
 * function of its own, and does not know how long the array's axes are. */
static tr_val lying_in_rows(tr_rows *c, tr_val part) {
    const tr_ins in = *tr_at(c->b.fn, part);
    const tr_val *sizes = tr_made_sizes(&in);
    bool known = false;
    for (unsigned j = 1; j < in.ty->ndim; j++)
        known = known || (tr_is_const(tr_at(c->b.fn, sizes[j])) && !tr_is_int(c->b.fn, sizes[j], 1));
    if (in.ty->layout != TR_LAYOUT_C || !known)
        return part;
    tr_val args[2 + TR_MAX_NDIM] = {part, tr_const_int(c->b.fn, tr_rows_i64(c), 0)};
    memcpy(args + 2, sizes, in.ty->ndim * sizeof *sizes);
    return tr_emit_v(&c->b, TR_OP_RESTRIDE, in.ty, 2u + in.ty->ndim, args);
}

/* The rows of a block, of an array whose first axis is that: from `lo` on, all of them; or the one that there
 * is for all. */
static tr_val rows_of(tr_rows *c, tr_val a, const tr_val *sizes, bool whole, tr_val lo) {
    unsigned n = tr_rows_def(c, a)->ty->ndim, at = 0;
    tr_val args[1 + TR_VIEW_BASE_AXES + 2 * TR_VIEW_AXES], zero = tr_const_int(c->b.fn, tr_rows_i64(c), 0),
                                                           one = tr_const_int(c->b.fn, tr_rows_i64(c), 1);
    tr_val m = c->rows;
    int64_t along = 0;
    args[at++] = tr_rows_captured(c, a);
    if (!whole) {
        tr_val repeats = tr_emit_cmp(&c->b, TR_CMP_EQ, tr_rows_size_of(c, a, 0), one);
        lo = tr_emit_select(&c->b, repeats, zero, lo);
        m = tr_emit_select(&c->b, repeats, one, m);
    }
    for (unsigned j = 0; j < n; j++)
        args[at++] = j ? zero : lo;
    for (unsigned j = 0; j < n; j++)
        args[at++] = j ? sizes[j] : m;
    for (unsigned j = 0; j < n; j++) {
        args[at++] = one;
        along |= tr_view_along(j, (int)j);
    }
    const tr_ty *t = tr_rows_def(c, a)->ty;
    tr_layout layout = t->layout == TR_LAYOUT_C ? TR_LAYOUT_C : TR_LAYOUT_ANY;
    tr_val v = tr_emit_v(&c->b, TR_OP_VIEW,
                         tr_ty_array_as(c->f->ctx->types, t->elem, n, layout, t->readonly, t->sub), at, args);
    tr_at(c->b.fn, v)->imm.i = along;
    return lying_in_rows(c, v);
}

/* This block's part of an array that the chain writes: an array of the round where nobody else reads it. */
tr_val tr_rows_block_of_written(tr_rows *c, const tr_rows_array *w) {
    tr_val a = w->place, sizes[TR_MAX_NDIM] = {c->rows};
    const tr_ins made = *tr_rows_def(c, a);
    if (c->part[a] != TR_NOVAL)
        return c->part[a];
    for (uint32_t j = 1; j < made.nargs; j++)
        sizes[j] = tr_rows_captured(c, made.args[j]);
    if (tr_rows_find(c, a)->seen)
        return c->part[a] = rows_of(c, a, sizes, true, c->written);
    c->part[a] = tr_emit_v(&c->b, TR_OP_ALLOC, made.ty, made.nargs, sizes);
    tr_at(c->b.fn, c->part[a])->imm = made.imm;
    tr_at(c->b.fn, c->part[a])->sub = made.sub;
    return c->part[a];
}

/* A view whose first axis is that of the rows, of this block's part of its base or of all of it: made again.
 * `whole`: as long as the rows. */
static tr_val view_in_block(tr_rows *c, tr_val v, tr_val base, bool whole) {
    const tr_ins in = *tr_rows_def(c, v);
    tr_val args[1 + TR_VIEW_BASE_AXES + 2 * TR_VIEW_AXES] = {base};
    for (uint32_t i = 1; i < in.nargs; i++)
        args[i] = tr_rows_captured(c, in.args[i]);
    if (whole)
        args[1 + tr_view_nbase(&in)] = c->rows;
    tr_val made = tr_emit_v(&c->b, TR_OP_VIEW, in.ty, in.nargs, args);
    tr_at(c->b.fn, made)->imm = in.imm;
    tr_at(c->b.fn, made)->sub = in.sub;
    return lying_in_rows(c, made);
}

/* This block's part of input number `which` of pattern p. */
static tr_val block_of(tr_rows *c, const tr_ins *p, uint32_t which) {
    tr_val a = tr_fuse_in(p)[which], sizes[TR_MAX_NDIM];
    const tr_rows_array *w = tr_rows_find(c, a), *row = tr_rows_of_view(c, a);
    bool whole = tr_pat_is_as_long(c->f, p, which, 0), same = true;
    if (w)
        return tr_rows_block_of_written(c, w);
    if (row)
        return view_in_block(c, a, tr_rows_block_of_written(c, row), true);
    if (tr_rows_repeat(c, a))
        return view_in_block(c, a, tr_rows_seen(c, tr_rows_def(c, a)->args[0]), whole);
    for (unsigned j = 1; j < p->imm.pat->nspace; j++) {
        bool as_long = tr_pat_is_as_long(c->f, p, which, j);
        sizes[j] = as_long ? tr_rows_captured(c, p->args[j]) : tr_rows_size_of(c, a, j);
        same = same && as_long;
    }
    if (!same || !whole)
        return rows_of(c, a, sizes, whole, c->first);
    return c->part[a] != TR_NOVAL ? c->part[a] : (c->part[a] = rows_of(c, a, sizes, true, c->first));
}

/* A function of the pattern, whose first index counts from the block's first row: that is its last param. */
static tr_fn *from_first_row(tr_rows *c, const tr_fn *from) {
    tr_fn *g = tr_fn_clone(from);
    tr_val first = tr_blk_param(g, 0, tr_rows_i64(c), NULL), row = tr_fuse_params(g, 0)[0];
    tr_bld b = {.fn = g, .blk = 0, .before = tr_blk_at(g, 0)->first};
    tr_repl r = tr_repl_new(g);
    tr_val x = tr_emit2(&b, TR_OP_ADD, tr_rows_i64(c), row, first);
    tr_repl_set(g, &r, row, x);
    tr_repl_apply(g, &r);
    tr_at(g, x)->args[0] = row;
    return g;
}

/* A capture that is known when the loop is made: its place among them, and its param. */
static tr_val known_later(tr_rows *c, uint32_t *at) {
    *at = c->caps.n;
    tr_vec_push(&c->f->ctx->arena, &c->caps, TR_NOVAL);
    return tr_blk_param(c->b.fn, 0, tr_rows_i64(c), NULL);
}

/* Which rows are the round's. */
void tr_rows_begin_block(tr_rows *c) {
    tr_bld *b = &c->b;
    tr_val most = known_later(c, &c->most), n;
    c->first = c->written = tr_emit2(b, TR_OP_MUL, tr_rows_i64(c), tr_rows_index(c, 0), most);
    if (c->nt) {
        c->first = tr_emit2(b, TR_OP_ADD, tr_rows_i64(c), c->first, known_later(c, &c->from));
        n = known_later(c, &c->to);
    } else {
        n = tr_rows_captured(c, tr_rows_pattern(c, 0)->args[0]);
    }
    c->rows = tr_emit_least(b, most, tr_emit2(b, TR_OP_SUB, tr_rows_i64(c), n, c->first));
}

/* The reductions of a pattern are of what it stores, and what that is made of calls functions of vector math:
 * stored first and then reduced, both loops have full vectors. */
static bool is_two_loops(const tr_rows *c, const tr_ins *p) {
    const tr_pat *t = p->imm.pat;
    const tr_val *y = tr_term(t->lam, 0)->args;
    if (!t->keep || !t->nout || !t->nfold || !tr_fn_calls_math(t->lam) ||
        !tr_pat_has_only(t, P_(SPACE) | P_(IN) | P_(OUT) | P_(RED) | P_(EIN) | P_(EOUT) | P_(CAP)) ||
        tr_term(t->lam, 0)->op != TR_OP_YIELD)
        return false;
    for (uint32_t r = 0; r < t->nfold; r++) {
        bool stored = false;
        tr_val x = y[tr_pat_slot(t, TR_LAM, P_RED) + r];
        for (uint32_t o = 0; o < t->nout; o++)
            stored =
                stored || (y[o] == x && tr_at(t->lam, x)->ty == tr_rows_def(c, tr_fuse_out(p)[o])->ty->elem);
        if (!stored)
            return false;
    }
    return true;
}

/* Which output it is that reduction r reduces. */
static uint32_t reduced_output(const tr_pat *t, uint32_t r) {
    const tr_val *y = tr_term(t->lam, 0)->args;
    uint32_t o = 0;
    while (y[o] != y[tr_pat_slot(t, TR_LAM, P_RED) + r])
        o++;
    assert(o < t->nout && "is_two_loops() has seen it");
    return o;
}

/* What is stored, by a map; behind it the same pattern reads that: its new lambda. */
static void store_first(tr_rows *c, const tr_ins *p, tr_node *m, bool counts) {
    tr_node map = tr_node_new(c->b.fn);
    const tr_pat *t = p->imm.pat;
    map.t = (tr_pat){.apart = t->apart, .lam = m->t.lam};
    for (uint32_t k = 0; k < p->nargs; k++) {
        tr_role role = tr_pat_role(t, k);
        tr_val x = p->args[k];
        if (role == P_SPACE)
            tr_node_put(&map, role, k == 0 ? c->rows : tr_rows_captured(c, x));
        else if (role == P_IN)
            tr_node_put(&map, role, block_of(c, p, k - tr_pat_at(t, P_IN)));
        else if (role == P_OUT)
            tr_node_put(&map, role, tr_rows_block_of_written(c, tr_rows_find(c, x)));
        else if (role == P_CAP)
            tr_node_put(&map, role, tr_rows_captured(c, x));
    }
    if (counts)
        tr_node_put(&map, P_CAP, c->first);
    tr_fn *g = tr_fuse_lambda(t->lam);
    tr_val items[TR_MAX_REDS];
    assert(t->nfold <= TR_MAX_REDS && "as many as a chain has");
    for (uint32_t j = 0; j < t->nspace; j++)
        tr_fuse_param(g, tr_rows_i64(c));
    for (uint32_t r = 0; r < t->nfold; r++)
        items[r] = tr_fuse_param(g, tr_rows_def(c, tr_fuse_out(p)[reduced_output(t, r)])->ty->elem);
    for (uint32_t k = 0; k < t->ncap; k++)
        tr_fuse_param(g, tr_rows_def(c, p->args[tr_pat_at(t, P_CAP) + k])->ty);
    if (counts)
        tr_fuse_param(g, tr_rows_i64(c));
    tr_bld b = {.fn = g, .blk = 0, .before = TR_NOVAL};
    tr_emit_v(&b, TR_OP_YIELD, NULL, t->nfold, items);
    tr_term(map.t.lam, 0)->nargs = t->nout;
    m->t.lam = g;
    tr_node_emit(&map, &c->b);
}

static tr_val emit_pattern(tr_rows *c, unsigned number) {
    const tr_ins p = *tr_rows_pattern(c, number);
    const tr_pat *t = c->guards[number] ? tr_fuse_guarded(c->f, p.imm.pat) : p.imm.pat;
    const tr_rows_target *to = tr_rows_target_of(c, number);
    tr_node m = tr_node_new(c->b.fn);
    bool counts =
        tr_fuse_lam_uses(t->lam, 0) || (t->epi && tr_fuse_lam_uses(t->epi, 0)); /* asks which row it is */
    m.t = (tr_pat){.apart = t->apart,
                   .keep = t->keep,
                   .lam = counts ? from_first_row(c, t->lam) : tr_fn_clone(t->lam),
                   .epi = !t->epi  ? NULL
                          : counts ? from_first_row(c, t->epi)
                                   : tr_fn_clone(t->epi)};
    if (to)
        tr_rows_fill_target(c, to);
    bool two = is_two_loops(c, &p);
    if (two)
        store_first(c, &p, &m, counts);
    for (uint32_t r = 0; two && r < t->nfold; r++)
        tr_node_put(&m, P_IN,
                    tr_rows_block_of_written(c, tr_rows_find(c, tr_fuse_out(&p)[reduced_output(t, r)])));
    for (uint32_t k = 0; k < p.nargs; k++) {
        tr_role role = tr_pat_role(t, k);
        tr_val x = p.args[k];
        if (two && (role == P_IN || role == P_OUT))
            continue;
        if (role == P_SPACE)
            x = k ? tr_rows_captured(c, x) : to ? tr_rows_of_scatter(c, to) : c->rows;
        else if (role == P_IN)
            x = block_of(c, &p, k - tr_pat_at(t, P_IN));
        else if (role != P_SCAT && tr_role_info[role].memory & TR_MEM_WRITE)
            x = tr_rows_block_of_written(c, tr_rows_find(c, x));
        else if (role == P_RED && !t->keep)
            x = tr_red_identity(c->b.fn, tr_pat_red(t, k - tr_pat_at(t, P_SCAN)), tr_rows_def(c, x)->ty);
        else
            x = tr_rows_captured(c, x);
        if (tr_role_info[role].join)
            tr_node_join(&m, role, x, *tr_pat_join(t, k));
        else
            tr_node_put(&m, role, x);
    }
    if (counts)
        tr_node_put(&m, P_CAP, c->first);
    return tr_node_emit(&m, &c->b);
}

void tr_rows_by_block(tr_rows *c, unsigned i) {
    const tr_ins p = *tr_rows_pattern(c, i);
    tr_rows_products_before(c, i);
    tr_val reduced = emit_pattern(c, i);
    for (uint32_t r = 0; !p.imm.pat->keep && r < tr_pat_nred(p.imm.pat); r++)
        tr_rows_contribute(c, &p, r, tr_rows_reduced(c, &p, reduced, r));
}
