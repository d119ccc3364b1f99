/* Products of matrices in a chain that goes row by row (byrow.c): of the rows of a round, by a call.
 *
 *   s = x @ m; v = [keep n, p] in(s) best ...
 *   becomes
 *   { s = x[rows] @ m; v[rows] = [keep rows, p] in(s) best ... }
 *
 * A row of a product is made of a row of the left matrix and of all of the right one, so that it may be one
 * of the round like what a pattern makes: neither the product nor, mostly, what is left of it is an array
 * that goes through memory. Few rows cost a library most where the right matrix has to be laid out anew for
 * each call; so one whose lines are not lines of memory (`V.T`) is copied, once, before the loop. Of few
 * terms that is as fast as all rows at once, or faster: what it makes stays in the cache. Of many, laying out
 * is what counts: a test when the program runs leaves those alone (TR_ROWS_TERMS).
 *
 * A library may round in another order for other numbers of rows. How many these are depends on sizes alone,
 * and so do the tests, whether there are several threads or one. Cost: a look at the function's uses for each
 * product. */
#include <assert.h>
#include <string.h>

#include "ir/alias.h"
#include "opt/pattern/byrow.h"
#include "opt/emit.h"
#include "opt/priv.h"

/* All of an array of two axes, in their order. */
static bool shows_all(const tr_rows *c, const tr_ins *view, tr_val array) {
    const tr_val *sizes = tr_made_sizes(tr_rows_def(c, array));
    bool all = view->op == TR_OP_VIEW && view->args[0] == array && sizes && view->ty->ndim == 2 &&
               tr_rows_def(c, array)->ty->ndim == 2;
    for (unsigned k = 0; all && k < 2; k++)
        all = tr_view_axis(view, k) == (int)k && tr_made_sizes(view)[k] == sizes[k] &&
              tr_is_int(c->f, tr_view_starts(view)[k], 0) && tr_is_int(c->f, tr_view_steps(view)[k], 1);
    return all;
}

tr_val tr_rows_made_by(const tr_rows *c, const tr_ins *call) {
    const tr_ins *to = tr_opt_is_matmul(call) ? tr_rows_def(c, call->args[TR_MUL_RESULT]) : NULL;
    return to && to->op == TR_OP_VIEW ? to->args[0] : TR_NOVAL;
}

/* Does the chain write what the array may share memory with? */
static bool is_written(const tr_rows *c, tr_val array) {
    for (unsigned i = 0; i < c->nw; i++)
        if (!tr_arrays_distinct(c->f, array, c->w[i].array, c->blk))
            return true;
    return false;
}

bool tr_rows_take_product(tr_rows *c, tr_val v) {
    const tr_ins *in = tr_rows_def(c, v);
    tr_val made = tr_rows_made_by(c, in);
    if (made == TR_NOVAL || c->k != 1 || c->nmul == TR_MAX_CHAIN_PRODUCTS || c->nw == TR_MAX_CHAIN_ARRAYS)
        return false;
    const tr_ins *to = tr_rows_def(c, in->args[TR_MUL_RESULT]), *left = tr_rows_def(c, in->args[TR_MUL_LEFT]);
    const uint32_t *uses = tr_use_counts(c->f);
    if (!shows_all(c, to, made) || uses[in->args[TR_MUL_RESULT]] != 1 || uses[in->args[TR_MUL_LEFT]] != 1 ||
        tr_rows_find(c, made) || !tr_ty_is_float(to->ty->elem) || left->op != TR_OP_VIEW ||
        tr_rows_def(c, in->args[TR_MUL_RIGHT])->op != TR_OP_VIEW || left->ty->ndim != 2 ||
        tr_view_axis(left, 0) < 0 || tr_made_sizes(left)[0] != tr_rows_def(c, made)->args[0] ||
        (c->n && tr_rows_pattern(c, 0)->args[0] != tr_rows_def(c, made)->args[0]))
        return false;
    tr_rows_array *w = tr_rows_find(c, left->args[0]);
    if (c->n + c->nmul && !w) /* nothing of the chain's */
        return false;
    if (is_written(c, in->args[TR_MUL_RIGHT]) ||
        (w ? w->row || !shows_all(c, left, w->array) : is_written(c, left->args[0])))
        return false;
    if (w)
        w->stays = true;
    c->w[c->nw++] = (tr_rows_array){
        .array = made, .by = c->n ? c->n - 1 : 0, .place = made, .value = TR_NOVAL, .stays = !c->n};
    c->muls[c->nmul++] = (tr_rows_mul){.call = v, .made = made, .before = c->n};
    return true;
}

bool tr_rows_are_multiplied(const tr_rows *c, tr_val array) {
    for (unsigned i = 0; i < c->nmul; i++) {
        const tr_ins *in = tr_rows_def(c, c->muls[i].call);
        for (unsigned k = TR_MUL_LEFT; k <= TR_MUL_RIGHT; k++)
            if (tr_array_root(c->f, in->args[k]) == tr_array_root(c->f, array))
                return true;
    }
    return false;
}

bool tr_rows_is_of_product(const tr_rows *c, tr_val v) {
    for (unsigned i = 0; i < c->nmul; i++) {
        const tr_ins *in = tr_rows_def(c, c->muls[i].call);
        if (v == c->muls[i].call || v == in->args[TR_MUL_RESULT] || v == in->args[TR_MUL_LEFT])
            return true;
    }
    return false;
}

tr_val tr_rows_few_terms(const tr_rows *c, tr_bld *b, tr_val test) {
    for (unsigned i = 0; i < c->nmul; i++) {
        const tr_ins *left = tr_rows_def(c, tr_rows_def(c, c->muls[i].call)->args[TR_MUL_LEFT]);
        tr_val n = tr_made_sizes(left)[1];
        test = tr_emit_both(b, test, tr_emit_cmp(b, TR_CMP_LE, n, tr_emit_int(b, TR_ROWS_TERMS)));
    }
    return test;
}

/* --- in the round: rows of a block --- */

/* The block's rows of what the chain has made, as a matrix of that type. */
static tr_val rows_as_matrix(tr_rows *c, const tr_rows_array *w, const tr_ty *ty) {
    tr_val zero = tr_const_int(c->b.fn, tr_rows_i64(c), 0), one = tr_const_int(c->b.fn, tr_rows_i64(c), 1),
           args[] = {tr_rows_block_of_written(c, w),
                     zero,
                     zero,
                     c->rows,
                     tr_rows_captured(c, tr_rows_def(c, w->place)->args[1]),
                     one,
                     one};
    tr_val v = tr_emit_v(&c->b, TR_OP_VIEW, ty, 7, args);
    tr_at(c->b.fn, v)->imm.i = tr_view_along(0, 0) | tr_view_along(1, 1);
    return v;
}

/* The same of a view of an array from elsewhere. */
static tr_val rows_of_matrix(tr_rows *c, tr_val matrix) {
    const tr_ins in = *tr_rows_def(c, matrix);
    tr_val args[1 + TR_VIEW_BASE_AXES + 2 * TR_VIEW_AXES] = {tr_rows_captured(c, in.args[0])};
    for (uint32_t i = 1; i < in.nargs; i++)
        args[i] = tr_rows_captured(c, in.args[i]);
    tr_val *start = &args[1 + tr_view_axis(&in, 0)], *size = &args[1 + tr_view_nbase(&in)];
    tr_val first = tr_emit2(&c->b, TR_OP_MUL, tr_rows_i64(c), c->first, size[2]);
    *start = tr_emit2(&c->b, TR_OP_ADD, tr_rows_i64(c), *start, first);
    *size = c->rows;
    tr_val v = tr_emit_v(&c->b, TR_OP_VIEW, in.ty, in.nargs, args);
    tr_at(c->b.fn, v)->imm = in.imm;
    tr_at(c->b.fn, v)->sub = in.sub;
    return v;
}

/* A place of f's in g. */
static uint32_t same_place(tr_fn *g, const tr_fn *f, uint32_t loc) {
    if (!loc)
        return 0;
    tr_loc at = f->locs.d[loc];
    return tr_loc_add(g, at.place, same_place(g, f, at.parent));
}

void tr_rows_products_before(tr_rows *c, unsigned pattern) {
    for (unsigned i = 0; i < c->nmul; i++) {
        if (c->muls[i].before != pattern)
            continue;
        const tr_ins in = *tr_rows_def(c, c->muls[i].call);
        const tr_ins *left = tr_rows_def(c, in.args[TR_MUL_LEFT]);
        const tr_rows_array *w = tr_rows_find(c, left->args[0]);
        tr_val args[TR_MUL_ARGS];
        assert(in.nargs == TR_MUL_ARGS && "kind, result and operands");
        args[TR_MUL_KIND] = tr_rows_captured(c, in.args[TR_MUL_KIND]);
        args[TR_MUL_LEFT] = w ? rows_as_matrix(c, w, left->ty) : rows_of_matrix(c, in.args[TR_MUL_LEFT]);
        args[TR_MUL_RIGHT] = tr_rows_captured(c, in.args[TR_MUL_RIGHT]);
        args[TR_MUL_RESULT] =
            rows_as_matrix(c, tr_rows_find(c, c->muls[i].made), tr_rows_def(c, in.args[TR_MUL_RESULT])->ty);
        tr_val v = tr_emit_v(&c->b, TR_OP_CALLRT, in.ty, in.nargs, args);
        tr_at(c->b.fn, v)->loc = same_place(c->b.fn, c->f, in.loc);
        tr_at(c->b.fn, v)->imm = in.imm;
        tr_at(c->b.fn, v)->sub = in.sub;
    }
}

/* --- before the loop --- */

void tr_rows_lay_lines(tr_rows *c, tr_bld *b) {
    for (unsigned i = 0; i < c->nmul; i++) {
        tr_val right = tr_rows_def(c, c->muls[i].call)->args[TR_MUL_RIGHT];
        if (tr_fuse_is_lines(c->f, tr_rows_def(c, right)))
            continue;
        tr_val terms = tr_emit_dim(b, right, 0);
        for (uint32_t k = 0; k < c->caps.n; k++)
            if (c->caps.d[k] == right)
                c->caps.d[k] = tr_fuse_in_lines(b, right, terms, c->muls[i].made, c->pats[0]);
    }
}
