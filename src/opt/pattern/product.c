/* Products of matrices that sum over few terms, and of whose items the best are chosen, become patterns.
 *
 * A call of a BLAS keeps what makes the operands and what reads the product apart, and makes an array of it.
 * That is how it should be where much is multiplied for an item; of a few terms, three coordinates say,
 * storing and loading the item takes longer than computing it. So `c = a @ b` is written out,
 *
 *   [m, n] in(a[:, 0], a[:, 1], ..., b[0], b[1], ...) out(c) { 0 + a0 * b0 + a1 * b1 + ... }
 *
 * each of these a view that repeats along the other axis, and `fuse` merges it into what reads it:
 * `tp.topk(c @ V.T, k, axis=1)` makes no array of products.
 *
 * How many terms there are is known when compiling; floats; nobody but patterns sees the product. And one of
 * them chooses (`top`), or is handed what maps make of it: such rows are long. With rows of a hundred other
 * readers would gain as much, a sum or a map two to five times; but with rows of four they lose as much, as
 * what lies in one line is then a loop of four rounds, and how long rows are is not known here.
 *
 * Terms are added in their order, each rounded, whatever the number of threads; a BLAS may round in another
 * order or not at all between, so the last place may differ from what such a call gives. Of `b` lines are
 * read; where it lies in rows of as many items as there are few terms (`V.T`), these are looked at through a
 * view which says so: strides are constants then, which vectors are taken apart by. Of anything else a copy
 * in lines is made. Cost: one look along each block with a product. */
#include "opt/pattern/fuse.h"

#include "opt/emit.h"

/* MAX_TERMS: two inputs each, and a pattern that goes by rows has 16 operands (byrow.h); of more terms
 * products of few rows are called for there, which is as fast. WOVEN: of rows that lie one after the other,
 * the terms that vectors are taken apart for. MAX_MAPS: one after the other, between the product and what
 * chooses. */
enum { MAX_TERMS = 7, WOVEN = 4, MAX_MAPS = 4 };

typedef struct product {
    tr_fn *f;
    tr_val call, made; /* the array that it fills */
    tr_val reader;     /* the first pattern that reads it */
    int64_t terms;
    tr_bld b;
} product;

/* --- which --- */

/* How often a pattern of block b reads the array at the index where it stands. */
static uint32_t reads_of(product *s, tr_bid b) {
    const tr_fn *f = s->f;
    uint32_t n = 0;
    for (tr_val v = tr_at(f, s->call)->next; v != TR_NOVAL; v = tr_at(f, v)->next) {
        const tr_ins *p = tr_at(f, v);
        if (p->op != TR_OP_PATTERN)
            continue;
        for (uint32_t k = 0; k < p->imm.pat->nin; k++) {
            if (tr_fuse_in(p)[k] != s->made)
                continue;
            if (p->imm.pat->nspace != 2 || !tr_vals_same(p->args, tr_at(f, s->made)->args, 2))
                return 0;
            s->reader = s->reader == TR_NOVAL ? v : s->reader;
            n++;
        }
    }
    return tr_at(f, s->call)->blk == b ? n : 0;
}

/* Is the array, or what a map makes of it, read by a pattern that chooses? */
static bool is_chosen_from(const tr_fn *f, tr_val from, tr_val array, unsigned maps) {
    for (tr_val v = tr_at(f, from)->next; v != TR_NOVAL; v = tr_at(f, v)->next) {
        const tr_ins *p = tr_at(f, v);
        if (p->op != TR_OP_PATTERN || !tr_opt_among(array, tr_fuse_in(p), p->imm.pat->nin))
            continue;
        if (p->imm.pat->ntop)
            return true;
        for (uint32_t k = 0; maps && tr_pat_is_map(p->imm.pat) && k < p->imm.pat->nout; k++)
            if (is_chosen_from(f, v, tr_fuse_out(p)[k], maps - 1))
                return true;
    }
    return false;
}

static bool know_terms(product *s) {
    const tr_ins *in = tr_at(s->f, s->call);
    const tr_val *left = tr_made_sizes(tr_at(s->f, in->args[TR_MUL_LEFT])),
                 *right = tr_made_sizes(tr_at(s->f, in->args[TR_MUL_RIGHT]));
    return ((left && tr_get_int(s->f, left[1], &s->terms)) ||
            (right && tr_get_int(s->f, right[0], &s->terms))) &&
           s->terms > 0 && s->terms <= MAX_TERMS;
}

/* Is the call's result all of a new array that patterns alone read? */
static bool is_wanted(product *s, const uint32_t *uses) {
    const tr_fn *f = s->f;
    const tr_ins *in = tr_at(f, s->call);
    if (!tr_opt_is_matmul(in))
        return false;
    const tr_ins *to = tr_at(f, in->args[TR_MUL_RESULT]);
    if (to->op != TR_OP_VIEW || uses[in->args[TR_MUL_RESULT]] != 1 ||
        tr_at(f, in->args[TR_MUL_LEFT])->op != TR_OP_VIEW ||
        tr_at(f, in->args[TR_MUL_RIGHT])->op != TR_OP_VIEW)
        return false;
    s->made = to->args[0];
    const tr_ins *made = tr_at(f, s->made);
    if (made->op != TR_OP_ALLOC || made->ty->ndim != 2 || made->ty->layout != TR_LAYOUT_C ||
        !tr_ty_is_float(made->ty->elem) || !tr_fuse_unseen(f, in, s->made))
        return false;
    uint32_t n = know_terms(s) ? reads_of(s, in->blk) : 0;
    return n && uses[s->made] == n + 1 && is_chosen_from(f, s->call, s->made, MAX_MAPS);
}

/* --- the pattern --- */

/* The view shows all of a matrix of two axes in rows, and axis `summed` runs along these. */
static bool is_rows(const tr_fn *f, const tr_ins *view, unsigned summed) {
    const tr_ins *in = tr_at(f, view->args[0]), *size = tr_at(f, tr_made_sizes(view)[summed]);
    bool all =
        in->ty->ndim == 2 && in->ty->layout == TR_LAYOUT_C && tr_view_axis(view, summed) == 1 &&
        tr_view_axis(view, !summed) == 0 &&
        (tr_made_sizes(in) ? tr_made_sizes(in)[1] == tr_made_sizes(view)[summed]
                           : size->op == TR_OP_DIM && size->args[0] == view->args[0] && size->imm.i == 1);
    for (unsigned k = 0; all && k < 2; k++)
        all = tr_is_int(f, tr_view_starts(view)[k], 0) && tr_is_int(f, tr_view_steps(view)[k], 1);
    return all;
}

bool tr_fuse_is_lines(const tr_fn *f, const tr_ins *view) {
    const tr_ty *base = tr_at(f, view->args[0])->ty;
    return base->layout == TR_LAYOUT_C && tr_view_axis(view, 1) == (int)base->ndim - 1 &&
           tr_is_int(f, tr_view_steps(view)[1], 1);
}

/* The whole base of such a view, with the number of terms for a size. */
static tr_val with_known_rows(product *s, const tr_ins *view, unsigned summed) {
    tr_val zero = tr_emit_int(&s->b, 0), one = tr_emit_int(&s->b, 1), base = view->args[0],
           args[] = {base, zero, zero, tr_made_sizes(view)[!summed], tr_emit_int(&s->b, s->terms), one, one};
    tr_val v = tr_emit_v(&s->b, TR_OP_VIEW, tr_at(s->f, base)->ty, 7, args);
    tr_at(s->f, v)->imm.i = tr_view_along(0, 0) | tr_view_along(1, 1);
    return v;
}

tr_val tr_fuse_in_lines(tr_bld *b, tr_val matrix, tr_val terms, tr_val made, tr_val p) {
    tr_fn *f = b->fn;
    const tr_ins like = *tr_at(f, made);
    const tr_pat *t = tr_at(f, p)->imm.pat;
    const tr_ty *ty = tr_at(f, matrix)->ty;
    tr_val space[] = {terms, tr_made_sizes(tr_at(f, matrix))[1]}, zero = tr_emit_int(b, 0),
           one = tr_emit_int(b, 1);
    tr_val v = tr_emit_v(b, TR_OP_ALLOC, like.ty, 2, space);
    tr_at(f, v)->imm = like.imm;
    tr_at(f, v)->sub = like.sub;
    tr_node node = tr_node_new(f);
    node.t = (tr_pat){.par = t->par, .lam = tr_fuse_lambda(t->lam)};
    for (unsigned k = 0; k < 2; k++)
        tr_fuse_param(node.t.lam, tr_ty_scalar(f->ctx->types, TR_TY_I64));
    tr_val x = tr_fuse_param(node.t.lam, like.ty->elem);
    tr_bld in = {.fn = node.t.lam, .blk = 0, .before = TR_NOVAL};
    tr_emit_v(&in, TR_OP_YIELD, NULL, 1, &x);
    tr_node_put_all(&node, P_SPACE, space, 2);
    tr_node_put(&node, P_IN, matrix);
    tr_node_put(&node, P_OUT, v);
    tr_node_emit(&node, b);
    tr_val args[] = {v, zero, zero, space[0], space[1], one, one};
    v = tr_emit_v(b, TR_OP_VIEW, ty, 7, args);
    tr_at(f, v)->imm.i = tr_view_along(0, 0) | tr_view_along(1, 1);
    return v;
}

/* Term t of an operand, which stands along axis `stays` of the product and repeats along the other: a view of
 * the array that the operand is a view of. */
static tr_val term_of(product *s, const tr_ins *view, tr_val base, unsigned stays, int64_t t) {
    tr_fn *f = s->f;
    unsigned nbase = tr_view_nbase(view), summed = !stays;
    const tr_ty *is = tr_at(f, base)->ty;
    tr_val args[1 + TR_VIEW_BASE_AXES + 2 * 2] = {base};
    memcpy(args + 1, tr_view_starts(view), nbase * sizeof *args);
    if (tr_view_axis(view, summed) >= 0) {
        tr_val *start = &args[1 + tr_view_axis(view, summed)], step = tr_view_steps(view)[summed];
        tr_val off = tr_is_int(f, step, 1) ? tr_emit_int(&s->b, t)
                                           : tr_emit_op(&s->b, TR_OP_MUL, step, tr_emit_int(&s->b, t));
        *start = tr_is_int(f, *start, 0) ? off : tr_emit_op(&s->b, TR_OP_ADD, *start, off);
    }
    for (unsigned k = 0; k < 2; k++) {
        args[1 + nbase + k] = k == stays ? tr_made_sizes(view)[stays] : tr_emit_int(&s->b, 1);
        args[1 + nbase + 2 + k] = k == stays ? tr_view_steps(view)[stays] : tr_emit_int(&s->b, 1);
    }
    const tr_ty *ty = tr_ty_array_as(f->ctx->types, is->elem, 2, TR_LAYOUT_ANY, is->readonly, is->sub);
    tr_val v = tr_emit_v(&s->b, TR_OP_VIEW, ty, 1 + nbase + 4, args);
    tr_at(f, v)->imm.i = tr_view_along(stays, tr_view_axis(view, stays)) | tr_view_along(summed, -1);
    return v;
}

/* Zero plus the products from the left, each rounded. Without the zero, what is -0 in each product would be
 * -0 in the sum, and its inverse -inf, where all that multiplies matrices says 0. */
static tr_fn *summing(product *s, const tr_ty *t) {
    tr_fn *g = tr_fuse_lambda(tr_at(s->f, s->reader)->imm.pat->lam);
    tr_val x[2 * MAX_TERMS], sum = tr_const_float(g, t, 0.0);
    for (unsigned k = 0; k < 2; k++)
        tr_fuse_param(g, tr_ty_scalar(g->ctx->types, TR_TY_I64));
    for (unsigned k = 0; k < 2 * s->terms; k++)
        x[k] = tr_fuse_param(g, t);
    tr_bld b = {.fn = g, .blk = 0, .before = TR_NOVAL};
    for (unsigned k = 0; k < s->terms; k++) {
        tr_val y = tr_emit2(&b, TR_OP_MUL, t, x[k], x[s->terms + k]);
        sum = tr_emit2(&b, TR_OP_ADD, t, sum, y);
    }
    tr_emit_v(&b, TR_OP_YIELD, NULL, 1, &sum);
    return g;
}

static void write_out(product *s) {
    tr_fn *f = s->f;
    const tr_ins in = *tr_at(f, s->call), made = *tr_at(f, s->made);
    tr_node node = tr_node_new(f);
    s->b = (tr_bld){.fn = f, .blk = in.blk, .before = s->call, .loc = in.loc};
    node.t = (tr_pat){.par = tr_at(s->f, s->reader)->imm.pat->par};
    node.t.lam = summing(s, made.ty->elem);
    tr_node_put_all(&node, P_SPACE, made.args, 2);
    for (unsigned stays = 0; stays < 2; stays++) {
        tr_val matrix = in.args[TR_MUL_LEFT + stays];
        bool rows = is_rows(f, tr_at(f, matrix), !stays);
        if (stays && !tr_fuse_is_lines(f, tr_at(f, matrix)) && (!rows || s->terms > WOVEN)) {
            matrix = tr_fuse_in_lines(&s->b, matrix, tr_emit_int(&s->b, s->terms), s->made, s->reader);
            rows = false;
        }
        const tr_ins view = *tr_at(f, matrix);
        tr_val base = rows ? with_known_rows(s, &view, !stays) : view.args[0];
        for (int64_t t = 0; t < s->terms; t++)
            tr_node_put(&node, P_IN, term_of(s, &view, base, stays, t));
    }
    tr_node_put(&node, P_OUT, s->made);
    tr_node_emit(&node, &s->b);
    tr_ins_remove(f, s->call);
    tr_ins_remove(f, in.args[TR_MUL_RESULT]);
}

bool tr_opt_product(tr_prog *p, tr_fn *f) {
    bool changed = false;
    const uint32_t *uses = NULL;
    (void)p;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first, next; v != TR_NOVAL; v = next) {
            next = tr_at(f, v)->next;
            if (tr_at(f, v)->op != TR_OP_CALLRT)
                continue;
            uses = uses ? uses : tr_use_counts(f);
            product s = {.f = f, .call = v, .reader = TR_NOVAL};
            if (!is_wanted(&s, uses))
                continue;
            write_out(&s);
            changed = true;
        }
    return changed;
}
