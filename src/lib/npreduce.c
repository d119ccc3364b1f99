/* Reductions: sum, prod, min, max, mean, var, std, any, all, argmin, argmax, count_nonzero, ptp.
 *
 * Each is one pattern whose reductions run over the given axes. What is made of the reduced values (mean: the
 * quotient by their number) is the pattern's epilogue when axes are kept, and plain code when none is. An
 * axis that is no constant is moved to the end first, by a view. keepdims= is a view of the result; out= gets
 * a copy of it. A new reduction is a row of builtins.def and a `reduction`: its item function, its kinds, and
 * its end. Long, as all kinds share what is known of axes, the pattern and how a result is delivered. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/fam.h"
#include "lib/families.h"

static const tr_tv absent = {NULL, TR_NOVAL};

static tr_tv arg(const tr_bcall *c, uint32_t i) {
    return i < c->n ? c->a[i] : absent;
}

/* --- axis=, keepdims= --- */

typedef struct axes {
    tr_tv a;       /* the array; with the axis last when that is no constant */
    uint32_t keep; /* axes that stay, a bit each */
    uint32_t nkeep;
    bool keepdims;
    tr_tv moved; /* the axis, when it is no constant; else absent */
} axes;

static bool is_reduced(const axes *x, uint32_t axis) {
    assert(axis < x->a.ty->ndim && "an axis of the array");
    return !(x->keep & (1u << axis));
}

/* a with axis k, a number at run time, moved to the end. */
static bool move_axis(tr_em *e, const tr_bcall *c, tr_tv axis, axes *x) {
    tr_tv a = x->a, k, shape[TR_MAX_NDIM], strides[TR_MAX_NDIM];
    uint32_t last = a.ty->ndim - 1u;
    assert(a.ty->ndim > 0 && "an array without axes has none to move");
    if (!tr_fam_late_axis(e, c, a.ty->ndim, axis, &k))
        return false;
    shape[last] = tr_em_dim(e, a, last);
    strides[last] = tr_em_stride(e, a, last);
    for (uint32_t i = 0; i < last; i++) {
        tr_tv before = tr_em_cmp(e, TR_CMP_LT, tr_em_i64(e, i), k),
              here = tr_em_cmp(e, TR_CMP_EQ, tr_em_i64(e, i), k);
        tr_tv n = tr_em_dim(e, a, i), st = tr_em_stride(e, a, i);
        shape[last] = tr_em_select(e, here, n, shape[last]);
        strides[last] = tr_em_select(e, here, st, strides[last]);
        shape[i] = tr_em_select(e, before, n, tr_em_dim(e, a, i + 1));
        strides[i] = tr_em_select(e, before, st, tr_em_stride(e, a, i + 1));
    }
    const tr_ty *ty = tr_ty_array(e->types, a.ty->elem, a.ty->ndim, TR_LAYOUT_ANY, a.ty->readonly);
    x->a = tr_em_restride(e, ty, a, tr_em_i64(e, 0), shape, strides);
    x->moved = k;
    x->keep = tr_all_axes(last);
    return true;
}

static bool one_axis(tr_em *e, const tr_bcall *c, tr_tv axis, axes *x) {
    uint32_t k;
    if (!tr_fam_axis(e, c, x->a.ty->ndim, axis, &k))
        return false;
    if (is_reduced(x, k))
        return tr_em_error(e, "%s(): duplicate value in 'axis'", tr_fam_name(c));
    x->keep &= ~(1u << k);
    return true;
}

/* axis=(): each item is reduced by itself, along a first axis of extent 1. */
static void by_itself(tr_em *e, axes *x) {
    tr_tv a = x->a;
    tr_axes v = {0};
    tr_axes_new(e, &v, tr_em_i64(e, 1));
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        tr_axes_own(e, &v, a, i);
    const tr_ty *ty = tr_ty_array(e->types, a.ty->elem, a.ty->ndim + 1, TR_LAYOUT_ANY, a.ty->readonly);
    x->a = tr_em_view(e, ty, a, &v);
    x->keep = tr_all_axes(a.ty->ndim) << 1;
    x->keepdims = false;
}

/* many: whether a tuple of axes will do. */
static bool axes_arg(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv axis, tr_tv keepdims, bool many, axes *x) {
    int64_t lit;
    *x = (axes){.a = a, .moved = absent};
    if (!tr_fam_flag(e, c, keepdims, "keepdims", false, &x->keepdims))
        return false;
    if (!tr_fam_given(axis))
        return true;
    x->keep = tr_all_axes(a.ty->ndim);
    if (axis.ty->kind == TR_TY_TUPLE && many) {
        for (uint32_t i = 0; i < axis.ty->n; i++)
            if (!one_axis(e, c, tr_em_item(e, axis, i), x))
                return false;
        if (axis.ty->n == 0)
            by_itself(e, x);
    } else if (tr_tv_lit_int(axis, &lit)) {
        if (!one_axis(e, c, axis, x))
            return false;
    } else if (a.ty->ndim == 0 || !move_axis(e, c, axis, x)) {
        return tr_em_error(e, "%s(): axis must be an integer%s", tr_fam_name(c),
                           many ? ", or a tuple of them" : "");
    }
    x->nkeep = (uint32_t)__builtin_popcount(x->keep);
    assert((x->keep & ~tr_all_axes(x->a.ty->ndim)) == 0 && "axes that stay are the array's");
    return true;
}

/* Number of items that each value is reduced from. */
static tr_tv extent_of(tr_em *e, const axes *x) {
    tr_tv n = tr_em_i64(e, 1);
    for (uint32_t i = 0; i < x->a.ty->ndim; i++)
        if (is_reduced(x, i))
            n = tr_em_nsw(e, TR_OP_MUL, n, tr_em_dim(e, x->a, i));
    return n;
}

/* Shape with the reduced axes as ones. */
static void kept_shape(tr_em *e, const axes *x, tr_tv *shape) {
    uint32_t n = x->a.ty->ndim;
    tr_tv one = tr_em_i64(e, 1);
    for (uint32_t i = 0; i < n; i++)
        shape[i] = is_reduced(x, i) ? one : tr_em_dim(e, x->a, i);
    if (!x->moved.ty)
        return;
    for (uint32_t i = n - 1; i > 0; i--) { /* the one goes from the end to where the axis was */
        tr_tv after = tr_em_cmp(e, TR_CMP_GT, tr_em_i64(e, i), x->moved);
        tr_tv before = tr_em_cmp(e, TR_CMP_LT, tr_em_i64(e, i), x->moved);
        tr_tv same = tr_em_select(e, before, i < n - 1 ? tr_em_dim(e, x->a, i) : one, one);
        shape[i] = tr_em_select(e, after, tr_em_dim(e, x->a, i - 1), same);
    }
    shape[0] =
        tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, x->moved, tr_em_i64(e, 0)), one, tr_em_dim(e, x->a, 0));
}

/* --- the pattern --- */

enum { MAX_RED = 2, MAX_IN = 2, MAX_CAP = 4 };

typedef struct reduction reduction;
struct reduction {
    uint32_t nred, nin, ncap;
    tr_redk reds[MAX_RED];
    tr_tv init[MAX_RED], in[MAX_IN],
        caps[MAX_CAP]; /* in[0]: set by reduce(), the array; others repeat along axes of extent 1 */
    /* An item's contributions, in the types of init. NULL: the item, converted. */
    bool (*item)(tr_em *e, const reduction *r, const tr_tv *elems, const tr_tv *caps, tr_tv *out);
    /* The result from the reduced values. NULL: the first of them. */
    bool (*end)(tr_em *e, const reduction *r, const tr_tv *values, const tr_tv *caps, tr_tv *out);
    const tr_ty *result; /* its type */
    const tr_tv
        *fold; /* a function of the value so far and an item, the one reduction's, in order; NULL: none */
    bool from_first; /* it begins with the first item, and not with init */
    uint32_t keep;
};

static tr_tv is_first(tr_em *e, const tr_pdesc *d, uint32_t keep, const tr_tv *idx) {
    tr_tv all = tr_em_strong(e, tr_em_bool(e, true));
    for (uint32_t i = 0; i < d->nspace; i++)
        if (!(keep >> i & 1u))
            all = tr_fam_and(e, all, tr_em_cmp(e, TR_CMP_EQ, idx[i], tr_em_i64(e, 0)));
    return all;
}

/* The next value of a fold, in the type of init. elems: the item, the value so far. */
static bool fold_step(tr_em *e, const tr_pdesc *d, const reduction *r, const tr_tv *idx, const tr_tv *elems,
                      tr_tv *out) {
    const tr_ty *t = d->init[0].ty;
    tr_tv x = tr_em_conv(e, elems[0], t), v, two[2] = {elems[1], x};
    assert(elems[1].ty == t && r->fold && "the value so far is of the type that it began with");
    if (!r->from_first || e->dry) {
        if (!tr_fam_call(e, *r->fold, 2, two, t, &v))
            return false;
        *out = tr_em_conv(e, v, t);
        return true;
    }
    tr_bid next = tr_blk_new(e->b.fn), join = tr_blk_new(e->b.fn);
    tr_cbr(&e->b, is_first(e, d, r->keep, idx).v, join, 1, &x.v, next, 0, NULL);
    e->b.blk = next;
    if (!tr_fam_call(e, *r->fold, 2, two, t, &v))
        return false;
    v = tr_em_conv(e, v, t);
    tr_br(&e->b, join, 1, &v.v);
    e->b.blk = join;
    *out = (tr_tv){t, tr_blk_param(e->b.fn, join, t, NULL)};
    return true;
}

static bool lam_item(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                     tr_tv *yields) {
    const reduction *r = d->user;
    if (r->fold)
        return fold_step(e, d, r, idx, elems, yields);
    if (r->item)
        return r->item(e, r, elems, caps, yields);
    bool where = tr_red_info[d->reds[0]].place;
    yields[0] = tr_em_conv(e, elems[0], where ? tr_fam_wide(e, elems[0].ty) : d->init[0].ty);
    return true;
}

static bool finished(tr_em *e, const reduction *r, const tr_tv *values, const tr_tv *caps, tr_tv *out) {
    *out = values[0];
    if (r->end && !r->end(e, r, values, caps, out))
        return false;
    assert(tr_lib_scalar(e, out->ty) && "what is reduced is a number");
    *out = tr_em_conv(e, *out, r->result);
    return true;
}

static bool lam_end(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                    tr_tv *yields) {
    (void)idx;
    return finished(e, d->user, elems, caps, yields);
}

/* The reduction of x->a: a number, or an array of the kept axes. */
static bool reduce(tr_em *e, const axes *x, const reduction *given, tr_tv *out) {
    assert(given->nred > 0 && given->nred <= MAX_RED && given->nin <= MAX_IN && given->ncap <= MAX_CAP &&
           "a reduction has room for what it takes");
    assert(given->result && tr_ty_is_scalar(given->result) && "its results are numbers");
    reduction *r = tr_arena_copy(&e->ctx->arena, given, sizeof *given);
    tr_tv space[TR_MAX_NDIM], kept[TR_MAX_NDIM], none, v, values[MAX_RED];
    uint32_t k = 0;
    r->in[0] = x->a;
    r->nin = r->nin ? r->nin : 1;
    tr_fam_shape(e, x->a, space);
    for (uint32_t i = 0; i < x->a.ty->ndim; i++)
        if (!is_reduced(x, i))
            kept[k++] = space[i];
    tr_pdesc d = {.nspace = x->a.ty->ndim,
                  .nin = r->nin,
                  .nred = r->nred,
                  .nscan = r->fold ? 1 : 0,
                  .ncap = r->ncap,
                  .space = space,
                  .in = r->in,
                  .reds = r->reds,
                  .init = r->init,
                  .caps = r->caps,
                  .lam = lam_item,
                  .user = r};
    assert(k == x->nkeep && "a size for each axis that stays");
    if (x->nkeep) {
        *out = tr_em_alloc(e, r->result, x->nkeep, TR_LAYOUT_C, kept);
        d.keep = x->keep;
        d.neout = 1;
        d.eout = out;
        d.epi = lam_end;
        return tr_em_pattern(e, &d, &none);
    }
    if (!tr_em_pattern(e, &d, &v))
        return false;
    for (uint32_t i = 0; i < r->nred; i++)
        values[i] = r->nred > 1 ? tr_em_item(e, v, i) : v;
    return finished(e, r, values, r->caps, out);
}

/* keepdims: the result with axes of extent 1 where axes were reduced. */
static tr_tv spread_out(tr_em *e, const axes *x, const tr_ty *ty, tr_tv r) {
    tr_axes v = {0};
    uint32_t next = 0;
    for (uint32_t i = 0; i < x->a.ty->ndim; i++)
        if (is_reduced(x, i))
            tr_axes_new(e, &v, tr_em_i64(e, 1));
        else
            tr_axes_own(e, &v, r, next++);
    assert(next == r.ty->ndim && "each axis of the result is one that stayed");
    return tr_em_view(e, ty, r, &v);
}

static bool with_axes(tr_em *e, const axes *x, tr_tv *r) {
    tr_tv shape[TR_MAX_NDIM], one = tr_em_i64(e, 1);
    uint32_t n = x->a.ty->ndim;
    if (!tr_lib_is_array(*r)) {
        for (uint32_t i = 0; i < n; i++)
            shape[i] = one;
        tr_tv v = *r;
        *r = tr_em_alloc(e, v.ty, n, TR_LAYOUT_C, shape);
        return tr_em_fill(e, *r, v);
    }
    const tr_ty *ty = tr_ty_array(e->types, r->ty->elem, n, TR_LAYOUT_C, false);
    if (!x->moved.ty) {
        *r = spread_out(e, x, ty, *r);
        return true;
    }
    kept_shape(e, x, shape);
    *r = tr_em_restride(e, ty, *r, tr_em_i64(e, 0), shape, NULL);
    return true;
}

/* keepdims= and out= of a result. */
static bool delivered(tr_em *e, const tr_bcall *c, const axes *x, tr_tv dst, tr_tv *out) {
    if (x->keepdims && x->a.ty->ndim && !with_axes(e, x, out))
        return false;
    if (!tr_fam_given(dst))
        return true;
    uint32_t ndim = tr_lib_is_array(*out) ? out->ty->ndim : 0;
    const tr_ty *t = tr_lib_is_array(*out) ? out->ty->elem : tr_ty_strong(e->types, out->ty);
    if (!tr_lib_is_array(dst) || dst.ty->ndim != ndim || dst.ty->readonly)
        return tr_em_error(e, "%s(): out must be an array of %u dimensions that can be written to",
                           tr_fam_name(c), ndim);
    if (!tr_fam_same_kind(t, dst.ty->elem))
        return tr_em_error(e, "%s(): cannot store a result of %s in out, an array of %s", tr_fam_name(c),
                           tr_em_tyname(e, t), tr_em_tyname(e, dst.ty->elem));
    tr_tv r = *out;
    for (uint32_t i = 0; i < ndim; i++) {
        tr_tv n = tr_em_dim(e, r, i), m = tr_em_dim(e, dst, i);
        tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, n, m), TR_EXC_VALUE,
                    "output array has an axis of size {0} where the result has {1}", 2, (tr_tv[]){m, n});
    }
    *out = dst;
    return tr_em_assign(e, dst, r);
}

bool tr_fam_delivered(tr_em *e, const tr_bcall *c, tr_tv a, uint32_t keep, bool keepdims, tr_tv dst,
                      tr_tv *out) {
    axes x = {.a = a,
              .keep = keep,
              .nkeep = (uint32_t)__builtin_popcount(keep),
              .keepdims = keepdims,
              .moved = absent};
    return delivered(e, c, &x, dst, out);
}

static bool array_arg(tr_em *e, const tr_bcall *c, tr_tv *a) {
    return tr_fam_as_array(e, c, c->a[0], NULL, a);
}

static bool dtype_or(tr_em *e, const tr_bcall *c, tr_tv x, const tr_ty *dflt, const tr_ty **t) {
    *t = dflt;
    if (!tr_fam_given(x))
        return true;
    return tr_fam_dtype(e, c, x, t);
}

/* --- where=: items that take no part --- */

bool tr_fam_mask(tr_em *e, const char *name, tr_tv where, tr_tv *mask) {
    *mask = where;
    if (where.ty->kind == TR_TY_TUPLE &&
        !tr_fam_as_array(e, &(tr_bcall){.row = TR_B_NP_ASARRAY}, where, NULL, mask))
        return false;
    const tr_ty *t = tr_lib_is_array(*mask) ? mask->ty->elem : tr_lib_scalar(e, mask->ty);
    if (!t || t->kind != TR_TY_BOOL)
        return tr_em_error(e, "%s(): where must be of bool, not %s", name, tr_em_tyname(e, where.ty));
    if (!tr_lib_is_array(*mask))
        *mask = tr_em_strong(e, *mask);
    return true;
}

bool tr_fam_masks(tr_tv where) {
    return tr_fam_given(where) &&
           !(where.ty->kind == TR_TY_LIT && where.ty->lit->kind == TR_OBJ_BOOL && where.ty->lit->u.i);
}

static bool elt_masked(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user;
    *out = tr_em_select(e, x[0], x[1], tr_em_conv(e, x[2], x[1].ty));
    return true;
}

static bool elt_mask(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user, (void)e;
    *out = x[0];
    return true;
}

/* The mask repeats along axes of the array, not the other way. */
static bool check_mask(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv m) {
    if (!tr_lib_is_array(m))
        return true;
    if (m.ty->ndim > a.ty->ndim)
        return tr_em_error(e, "%s(): where has more dimensions than the array", tr_fam_name(c));
    for (uint32_t i = 0; i < m.ty->ndim; i++) {
        tr_tv n = tr_em_dim(e, m, i), want = tr_em_dim(e, a, a.ty->ndim - m.ty->ndim + i);
        tr_em_check(
            e, tr_fam_or(e, tr_em_cmp(e, TR_CMP_EQ, n, want), tr_em_cmp(e, TR_CMP_EQ, n, tr_em_i64(e, 1))),
            TR_EXC_VALUE, "where has an axis of size {0} where the array has {1}", 2, (tr_tv[]){n, want});
    }
    return true;
}

/* The array with `fill` where a mask that fits it is false. */
static bool put_fill(tr_em *e, const tr_bcall *c, tr_tv mask, tr_tv fill, tr_tv *a) {
    tr_tv x[3] = {mask, *a, fill};
    return tr_lib_lift(e, 3, x, elt_masked, NULL, a) && tr_fam_as_array(e, c, *a, NULL, a);
}

/* The array with `fill` in place of what takes no part. */
static bool masked(tr_em *e, const tr_bcall *c, tr_tv where, tr_tv fill, tr_tv *a) {
    tr_tv mask;
    if (!tr_fam_masks(where))
        return true;
    return tr_fam_mask(e, tr_fam_name(c), where, &mask) && check_mask(e, c, *a, mask) &&
           put_fill(e, c, mask, fill, a);
}

/* The mask, with the array's shape. */
static bool full_mask(tr_em *e, const tr_bcall *c, tr_tv where, tr_tv a, tr_tv *out) {
    tr_tv x[2] = {where, a};
    return tr_fam_mask(e, tr_fam_name(c), where, &x[0]) && check_mask(e, c, a, x[0]) &&
           tr_lib_lift(e, 2, x, elt_mask, NULL, out) && tr_fam_as_array(e, c, *out, NULL, out);
}

/* --- sum, prod --- */

const tr_ty *tr_fam_sum_type(tr_em *e, const tr_ty *t) {
    char k = tr_ty_class(t);
    if (k == 'b' || k == 'i')
        return tr_fam_ty(e, TR_TY_I64);
    return k == 'u' ? tr_fam_ty(e, TR_TY_U64) : t;
}

/* The type of a sum that no dtype= says. NumPy's is out's, if that is given: what it makes of numbers a
 * conversion at the end makes, too, but truth values among themselves are joined. */
static const tr_ty *sum_into(tr_em *e, const tr_ty *t, tr_tv dst) {
    bool truths = t->kind == TR_TY_BOOL && tr_fam_given(dst) && tr_lib_is_array(dst) && dst.ty->elem == t;
    return truths ? t : tr_fam_sum_type(e, t);
}

/* A first value given by the caller, in the reduction's type. */
static bool initial(tr_em *e, const tr_bcall *c, tr_tv x, const tr_ty *t, tr_tv *init) {
    if (!tr_fam_given(x))
        return true;
    const tr_ty *s = tr_lib_scalar(e, x.ty);
    if (!s || (!s->weak && !tr_fam_same_kind(s, t)) || (tr_ty_is_complex(s) && !tr_ty_is_complex(t)))
        return tr_em_error(e, "%s(): initial must be a number that fits %s", tr_fam_name(c),
                           tr_em_tyname(e, t));
    tr_lib_check_literal(e, x, t);
    tr_lib_check_real_literal(e, x, t);
    *init = tr_em_conv(e, x, t);
    return true;
}

/* Parameters: a, axis, dtype, out, keepdims, initial, where. aux: TR_RED_ADD or TR_RED_MUL. */
bool tr_lib_arr_sum(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    axes x;
    const tr_ty *t;
    if (!array_arg(e, c, &a) || !masked(e, c, arg(c, 6), tr_em_i64(e, c->aux == TR_RED_MUL), &a) ||
        !axes_arg(e, c, a, arg(c, 1), arg(c, 4), true, &x) ||
        !dtype_or(e, c, arg(c, 2), sum_into(e, a.ty->elem, arg(c, 3)), &t))
        return false;
    tr_redk red = (tr_redk)c->aux;
    if (t->kind == TR_TY_BOOL)
        red = red == TR_RED_ADD ? TR_RED_OR : TR_RED_AND;
    reduction r = {.nred = 1,
                   .reds = {red},
                   .init = {tr_em_num(e, tr_fam_wide(e, t), c->aux == TR_RED_MUL)},
                   .result = t};
    return initial(e, c, arg(c, 5), tr_fam_wide(e, t), &r.init[0]) && reduce(e, &x, &r, out) &&
           delivered(e, c, &x, arg(c, 3), out);
}

/* --- min, max, ptp, argmin, argmax --- */

static void check_some(tr_em *e, const axes *x, tr_redk red) {
    static const char *const text[TR_RED__COUNT] = {
        [TR_RED_MIN] = "zero-size array to reduction operation minimum which has no identity",
        [TR_RED_MAX] = "zero-size array to reduction operation maximum which has no identity",
        [TR_RED_ARGMIN] = "attempt to get argmin of an empty sequence",
        [TR_RED_ARGMAX] = "attempt to get argmax of an empty sequence",
    };
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, extent_of(e, x), tr_em_i64(e, 0)), TR_EXC_VALUE, text[red], 0,
                NULL);
}

/* NumPy's own. */
static tr_tv ufunc_of(tr_em *e, uint16_t row) {
    tr_obj *o = TR_NEW(&e->ctx->arena, tr_obj);
    *o = (tr_obj){.kind = TR_OBJ_BUILTIN, .repr = tr_builtins[row].path};
    o->u.builtin = row;
    return tr_em_lit(e, o);
}

/* The least or greatest of complex numbers, by real, then imaginary parts: a fold by what picks one of two,
 * so that NaN is the first there is, both parts of it. v: as the parameters of min. */
static bool extreme_complex(tr_em *e, const tr_bcall *c, tr_redk red, const tr_tv *v, tr_tv *out) {
    tr_tv of = ufunc_of(e, red == TR_RED_MIN ? TR_B_NP_MINIMUM : TR_B_NP_MAXIMUM);
    tr_tv six[6] = {v[0], v[1], absent, v[2], v[3], v[4]};
    return tr_fam_fold(e, &(tr_bcall){.row = c->row, .n = 6, .a = six}, of, false, out);
}

/* x: an item, the best of all. Whether it is that. */
static bool elt_is_best(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    tr_tv re = tr_em_re(e, x[0]), im = tr_em_im(e, x[0]);
    (void)user;
    tr_tv best = tr_fam_and(e, tr_em_cmp(e, TR_CMP_EQ, re, tr_em_re(e, x[1])),
                            tr_em_cmp(e, TR_CMP_EQ, im, tr_em_im(e, x[1])));
    tr_tv nan = tr_fam_or(e, tr_em_cmp(e, TR_CMP_NE, re, re), tr_em_cmp(e, TR_CMP_NE, im, im));
    *out = tr_fam_or(e, best, nan); /* with a NaN nothing equals the best, which is one */
    return true;
}

/* Where the best of complex numbers is true, along the axis, else false: the first true is its place. */
static bool best_complex(tr_em *e, const tr_bcall *c, tr_redk red, tr_tv axis, tr_tv *a) {
    tr_tv v[5] = {*a, axis, absent, tr_em_lit(e, tr_obj_bool(&e->ctx->arena, tr_fam_given(axis))), absent},
          x[2];
    x[0] = *a;
    return extreme_complex(e, c, red, v, &x[1]) && tr_lib_lift(e, 2, x, elt_is_best, NULL, a) &&
           tr_fam_as_array(e, c, *a, NULL, a);
}

static tr_redk extreme_of(const tr_ty *t, tr_redk red) {
    if (t->kind != TR_TY_BOOL)
        return red;
    return red == TR_RED_MIN ? TR_RED_AND : TR_RED_OR;
}

/* Parameters: a, axis, out, keepdims, initial, where. aux: TR_RED_MIN or TR_RED_MAX. */
bool tr_lib_arr_extreme(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    axes x;
    tr_redk red = (tr_redk)c->aux;
    if (!array_arg(e, c, &a))
        return false;
    const tr_ty *t = tr_fam_wide(e, a.ty->elem);
    if (tr_fam_masks(arg(c, 5)) && !tr_fam_given(arg(c, 4)))
        return tr_em_error(
            e,
            "reduction operation '%s' does not have an identity, so to use a where mask one has "
            "to specify 'initial'",
            red == TR_RED_MIN ? "minimum" : "maximum");
    if (tr_ty_is_complex(t)) {
        tr_tv v[5] = {a, arg(c, 1), arg(c, 2), arg(c, 3), arg(c, 4)}, fill = tr_em_num(e, t, 0.0);
        return initial(e, c, v[4], t, &fill) && masked(e, c, arg(c, 5), fill, &v[0]) &&
               extreme_complex(e, c, red, v, out);
    }
    if (!masked(e, c, arg(c, 5), tr_fam_start(e, red, t), &a) ||
        !axes_arg(e, c, a, arg(c, 1), arg(c, 3), true, &x))
        return false;
    reduction r = {
        .nred = 1, .reds = {extreme_of(t, red)}, .init = {tr_fam_start(e, red, t)}, .result = a.ty->elem};
    if (!tr_fam_given(arg(c, 4)))
        check_some(e, &x, red);
    return initial(e, c, arg(c, 4), t, &r.init[0]) && reduce(e, &x, &r, out) &&
           delivered(e, c, &x, arg(c, 2), out);
}

static bool item_twice(tr_em *e, const reduction *r, const tr_tv *elems, const tr_tv *caps, tr_tv *out) {
    (void)caps;
    out[0] = out[1] = tr_em_conv(e, elems[0], r->init[0].ty);
    return true;
}

static bool end_difference(tr_em *e, const reduction *r, const tr_tv *values, const tr_tv *caps, tr_tv *out) {
    (void)r;
    (void)caps;
    *out = tr_em_op2(e, TR_OP_SUB, values[1], values[0]);
    return true;
}

static bool elt_difference(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user;
    *out = tr_em_op2(e, TR_OP_SUB, x[0], x[1]);
    return true;
}

/* Parameters: a, axis, out, keepdims. */
bool tr_lib_arr_ptp(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    axes x;
    if (!array_arg(e, c, &a) || !axes_arg(e, c, a, arg(c, 1), arg(c, 3), true, &x))
        return false;
    const tr_ty *t = tr_fam_wide(e, a.ty->elem);
    if (t->kind == TR_TY_BOOL)
        return tr_em_error(e, "%s() of bool items", tr_fam_name(c));
    check_some(e, &x, TR_RED_MAX);
    if (tr_ty_is_complex(t)) {
        tr_tv v[5] = {a, arg(c, 1), absent, arg(c, 3), absent}, two[2];
        x.keepdims = false; /* both have them already */
        return extreme_complex(e, c, TR_RED_MAX, v, &two[0]) &&
               extreme_complex(e, c, TR_RED_MIN, v, &two[1]) &&
               tr_lib_lift(e, 2, two, elt_difference, NULL, out) && delivered(e, c, &x, arg(c, 2), out);
    }
    reduction r = {.nred = 2,
                   .reds = {TR_RED_MIN, TR_RED_MAX},
                   .init = {tr_fam_start(e, TR_RED_MIN, t), tr_fam_start(e, TR_RED_MAX, t)},
                   .item = item_twice,
                   .end = end_difference,
                   .result = a.ty->elem};
    return reduce(e, &x, &r, out) && delivered(e, c, &x, arg(c, 2), out);
}

/* Parameters: a, axis, out, keepdims. The index is along the axis, or in C order of all. aux: TR_RED_ARGMIN
 * or TR_RED_ARGMAX. */
bool tr_lib_arr_arg(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    axes x;
    tr_redk red = (tr_redk)c->aux;
    if (!array_arg(e, c, &a) || !axes_arg(e, c, a, arg(c, 1), arg(c, 3), false, &x))
        return false;
    check_some(e, &x, red);
    if (tr_ty_is_complex(a.ty->elem)) {
        bool least = red == TR_RED_ARGMIN;
        red = TR_RED_ARGMAX;
        if (!best_complex(e, c, least ? TR_RED_MIN : TR_RED_MAX, arg(c, 1), &a) ||
            !axes_arg(e, c, a, arg(c, 1), arg(c, 3), false, &x))
            return false;
    }
    reduction r = {.nred = 1, .reds = {red}, .init = {tr_em_i64(e, 0)}, .result = tr_fam_ty(e, TR_TY_I64)};
    return reduce(e, &x, &r, out) && delivered(e, c, &x, arg(c, 2), out);
}

/* --- any, all, count_nonzero --- */

static bool item_truth(tr_em *e, const reduction *r, const tr_tv *elems, const tr_tv *caps, tr_tv *out) {
    (void)caps;
    if (!tr_em_truth(e, elems[0], out))
        return false;
    *out = tr_em_conv(e, *out, r->result);
    return true;
}

/* Parameters: a, axis, out, keepdims, where; count_nonzero: a, axis, keepdims. aux: TR_RED_OR, TR_RED_AND or
 * TR_RED_ADD. */
bool tr_lib_arr_truth(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    axes x;
    bool count = c->aux == TR_RED_ADD;
    if (!array_arg(e, c, &a) ||
        !masked(e, c, count ? absent : arg(c, 4), tr_em_i64(e, c->aux == TR_RED_AND), &a) ||
        !axes_arg(e, c, a, arg(c, 1), arg(c, count ? 2 : 3), true, &x))
        return false;
    reduction r = {.nred = 1,
                   .reds = {(tr_redk)c->aux},
                   .init = {tr_fam_start(e, (tr_redk)c->aux, tr_fam_ty(e, count ? TR_TY_I64 : TR_TY_BOOL))},
                   .item = item_truth,
                   .result = tr_fam_ty(e, count ? TR_TY_I64 : TR_TY_BOOL)};
    return reduce(e, &x, &r, out) && delivered(e, c, &x, count ? absent : arg(c, 2), out);
}

/* --- mean, var, std --- */

/* The type NumPy averages in: float64 for integers, else the items' own. */
static bool mean_type(tr_em *e, const tr_bcall *c, tr_tv dtype, const tr_ty *t, const tr_ty **out) {
    bool own = tr_ty_is_float(t) || tr_ty_is_complex(t);
    if (!dtype_or(e, c, dtype, own ? t : tr_fam_ty(e, TR_TY_F64), out))
        return false;
    return tr_ty_is_float(*out) || tr_ty_is_complex(*out) ||
           tr_em_error(e, "%s() with a dtype that is not a float", tr_fam_name(c));
}

/* A sum by a float64, rounded once: numbers of items above 2**24 are no float32. */
static tr_tv quotient(tr_em *e, tr_tv sum, tr_tv n) {
    const tr_ty *wide = tr_fam_ty(e, tr_ty_is_complex(sum.ty) ? TR_TY_C128 : TR_TY_F64);
    return tr_em_conv(e, tr_em_op2(e, TR_OP_DIV, tr_em_conv(e, sum, wide), tr_em_conv(e, n, wide)), sum.ty);
}

/* caps[0]: the number that the sum is divided by, a float64. */
static bool end_quotient(tr_em *e, const reduction *r, const tr_tv *values, const tr_tv *caps, tr_tv *out) {
    (void)r;
    *out = quotient(e, values[0], caps[0]);
    return true;
}

static bool mean(tr_em *e, const axes *x, const tr_ty *t, tr_tv *out) {
    reduction r = {.nred = 1,
                   .reds = {TR_RED_ADD},
                   .init = {tr_em_num(e, tr_fam_wide(e, t), 0.0)},
                   .ncap = 1,
                   .caps = {tr_em_conv(e, extent_of(e, x), tr_fam_ty(e, TR_TY_F64))},
                   .end = end_quotient,
                   .result = t};
    return reduce(e, x, &r, out);
}

/* |item - mean|**2; the mean is the second element, or the second capture. */
static bool item_square(tr_em *e, const reduction *r, const tr_tv *elems, const tr_tv *caps, tr_tv *out) {
    tr_tv m = r->nin > 1 ? elems[1] : caps[1], x = tr_em_op2(e, TR_OP_SUB, tr_em_conv(e, elems[0], m.ty), m);
    tr_tv re = tr_em_re(e, x), im = tr_em_im(e, x), sq = tr_em_op2(e, TR_OP_MUL, re, re);
    *out = tr_ty_is_complex(x.ty) ? tr_em_op2(e, TR_OP_ADD, sq, tr_em_op2(e, TR_OP_MUL, im, im)) : sq;
    return true;
}

/* What a sum over a mask is divided by: a number of items, less ddof, not below 0. */
typedef struct share {
    tr_tv ddof;
    bool root;
    const tr_ty *t;
} share;

/* x: the sum, the number of its items, ddof. */
static bool elt_share(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const share *w = user;
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64);
    tr_tv n = tr_em_conv(e, x[1], f64), zero = tr_em_f64(e, 0.0);
    n = tr_em_op2(e, TR_OP_SUB, n, tr_em_conv(e, x[2], f64));
    n = tr_em_select(e, tr_em_cmp(e, TR_CMP_LT, n, zero), zero, n);
    *out = quotient(e, x[0], n);
    if (w->root)
        *out = tr_fam_math1(e, TR_MATH_SQRT, *out);
    *out = tr_em_conv(e, *out, w->t);
    return true;
}

/* A sum in type `wide`, of squares if `square`, by the number of items that take part, as t. x: axes of
 * what is added up; mask: of its shape. */
static bool shared(tr_em *e, const tr_bcall *c, const axes *x, tr_tv mask, bool square, const tr_ty *wide,
                   tr_tv keepdims, const share *w, tr_tv *out) {
    axes y;
    tr_tv v[3] = {absent, absent, w->ddof};
    reduction sum = {.nred = 1,
                     .reds = {TR_RED_ADD},
                     .init = {tr_em_num(e, wide, 0.0)},
                     .ncap = square ? 2 : 0,
                     .item = square ? item_square : NULL,
                     .result = wide},
              count = {.nred = 1,
                       .reds = {TR_RED_ADD},
                       .init = {tr_em_i64(e, 0)},
                       .item = item_truth,
                       .result = tr_fam_ty(e, TR_TY_I64)};
    if (square) {
        sum.caps[0] = tr_em_f64(e, 0.0);
        sum.caps[1] = tr_em_num(e, x->a.ty->elem, 0.0);
    }
    return axes_arg(e, c, mask, arg(c, 1), keepdims, true, &y) && reduce(e, x, &sum, &v[0]) &&
           reduce(e, &y, &count, &v[1]) &&
           tr_lib_lift(e, 3, v, elt_share, tr_arena_copy(&e->ctx->arena, w, sizeof *w), out);
}

/* The mean of those items of a that a mask of its shape chooses, as t. */
static bool mean_of_some(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv mask, const tr_ty *t, tr_tv keepdims,
                         axes *x, tr_tv *out) {
    return put_fill(e, c, mask, tr_em_i64(e, 0), &a) && axes_arg(e, c, a, arg(c, 1), keepdims, true, x) &&
           shared(e, c, x, mask, false, tr_fam_wide(e, t), keepdims, &(share){tr_em_i64(e, 0), false, t},
                  out);
}

static bool elt_from_mean(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user;
    tr_tv d = tr_em_op2(e, TR_OP_SUB, tr_em_conv(e, x[1], x[2].ty), x[2]);
    *out = tr_em_select(e, x[0], d, tr_em_num(e, x[2].ty, 0.0));
    return true;
}

/* Of the items that the mask chooses; the distances of others are 0. */
static bool var_of_some(tr_em *e, const tr_bcall *c, tr_tv a, const tr_ty *t, tr_tv ddof, tr_tv *out) {
    tr_tv x[3], m, d;
    axes ax;
    const tr_ty *result = tr_ty_is_complex(t) ? tr_lib_real_of(e, t) : t, *wide = tr_fam_wide(e, t);
    if (!full_mask(e, c, arg(c, 7), a, &x[0]) || !mean_of_some(e, c, a, x[0], wide, arg(c, 5), &ax, &m))
        return false;
    if (ax.moved.ty)
        return tr_em_error(e, "%s(): with where= the axis must be a constant", tr_fam_name(c));
    if (tr_lib_is_array(m))
        m = spread_out(e, &ax, tr_ty_array(e->types, wide, a.ty->ndim, TR_LAYOUT_C, false), m);
    if (ddof.ty && !tr_fam_number(e, c, ddof, "bif"))
        return false;
    x[1] = a;
    x[2] = m;
    return tr_lib_lift(e, 3, x, elt_from_mean, NULL, &d) && tr_fam_as_array(e, c, d, NULL, &d) &&
           axes_arg(e, c, d, arg(c, 1), arg(c, 5), true, &ax) &&
           shared(e, c, &ax, x[0], true, tr_fam_wide(e, result), arg(c, 5),
                  &(share){ddof.ty ? ddof : tr_em_i64(e, 0), c->aux != 0, result}, out) &&
           delivered(e, c, &ax, arg(c, 3), out);
}

/* Parameters: a, axis, dtype, out, keepdims, where. */
bool tr_lib_arr_mean(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, mask;
    axes x;
    const tr_ty *t;
    if (tr_fam_masks(arg(c, 5)))
        return array_arg(e, c, &a) && mean_type(e, c, arg(c, 2), a.ty->elem, &t) &&
               full_mask(e, c, arg(c, 5), a, &mask) && mean_of_some(e, c, a, mask, t, arg(c, 4), &x, out) &&
               delivered(e, c, &x, arg(c, 3), out);
    return array_arg(e, c, &a) && axes_arg(e, c, a, arg(c, 1), arg(c, 4), true, &x) &&
           mean_type(e, c, arg(c, 2), a.ty->elem, &t) && mean(e, &x, t, out) &&
           delivered(e, c, &x, arg(c, 3), out);
}

static bool end_root(tr_em *e, const reduction *r, const tr_tv *values, const tr_tv *caps, tr_tv *out) {
    if (!end_quotient(e, r, values, caps, out))
        return false;
    *out = tr_fam_math1(e, TR_MATH_SQRT, *out);
    return true;
}

/* Number of items less ddof, not below 0, as float64. */
static bool freedom(tr_em *e, const tr_bcall *c, const axes *x, tr_tv ddof, tr_tv *out) {
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64);
    tr_tv n = tr_em_conv(e, extent_of(e, x), f64), zero = tr_em_f64(e, 0.0);
    if (ddof.ty) {
        if (!tr_fam_number(e, c, ddof, "bif"))
            return false;
        n = tr_em_op2(e, TR_OP_SUB, n, tr_em_conv(e, ddof, f64));
    }
    *out = tr_em_select(e, tr_em_cmp(e, TR_CMP_LT, n, zero), zero, n);
    return true;
}

/* Two passes, as NumPy: the mean, then the squares of the distances from it. Parameters: a, axis, dtype, out,
 * ddof, keepdims, correction (another name for ddof), where. aux 1: the square root. */
bool tr_lib_arr_var(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, m, ddof = arg(c, 4);
    axes x;
    const tr_ty *t;
    if (!array_arg(e, c, &a) || !axes_arg(e, c, a, arg(c, 1), arg(c, 5), true, &x) ||
        !mean_type(e, c, arg(c, 2), a.ty->elem, &t))
        return false;
    if (arg(c, 6).ty && ddof.ty)
        return tr_em_error(e, "%s(): ddof and correction are the same", tr_fam_name(c));
    ddof = arg(c, 6).ty ? arg(c, 6) : ddof;
    if (tr_fam_masks(arg(c, 7)))
        return var_of_some(e, c, a, t, ddof, out);
    const tr_ty *result = tr_ty_is_complex(t) ? tr_lib_real_of(e, t) : t, *real = tr_fam_wide(e, result);
    t = tr_fam_wide(e, t);
    reduction r = {.nred = 1,
                   .reds = {TR_RED_ADD},
                   .init = {tr_em_num(e, real, 0.0)},
                   .ncap = 1,
                   .item = item_square,
                   .end = c->aux ? end_root : end_quotient,
                   .result = result};
    if (!mean(e, &x, t, &m) || !freedom(e, c, &x, ddof, &r.caps[0]))
        return false;
    if (tr_lib_is_array(m)) {
        r.nin = 2;
        r.in[1] = spread_out(e, &x, tr_ty_array(e->types, t, x.a.ty->ndim, TR_LAYOUT_C, false), m);
    } else {
        r.caps[r.ncap++] = m;
    }
    return reduce(e, &x, &r, out) && delivered(e, c, &x, arg(c, 3), out);
}

/* --- bits: bitwise_and.reduce, bitwise_or.reduce --- */

static bool has_bits(tr_em *e, const tr_bcall *c, const tr_ty *t) {
    return t->kind == TR_TY_BOOL || tr_ty_is_int(t) ||
           tr_em_error(e, "%s() of the bits of %s", tr_fam_name(c), tr_em_tyname(e, t));
}

/* Parameters: a, axis, dtype, out, keepdims, initial, where. aux: TR_RED_AND or TR_RED_OR. */
bool tr_lib_arr_bits(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    axes x;
    const tr_ty *t;
    tr_redk red = (tr_redk)c->aux;
    if (!array_arg(e, c, &a) || !has_bits(e, c, a.ty->elem) ||
        !masked(e, c, arg(c, 6), tr_fam_start(e, red, a.ty->elem), &a) ||
        !axes_arg(e, c, a, arg(c, 1), arg(c, 4), true, &x) || !dtype_or(e, c, arg(c, 2), a.ty->elem, &t) ||
        !has_bits(e, c, t))
        return false;
    reduction r = {.nred = 1, .reds = {red}, .init = {tr_fam_start(e, red, t)}, .result = t};
    return initial(e, c, arg(c, 5), t, &r.init[0]) && reduce(e, &x, &r, out) &&
           delivered(e, c, &x, arg(c, 3), out);
}

/* --- cumsum, cumprod, and other running values: np.maximum.accumulate --- */

/* elems: the item, the value so far. An extreme contributes itself, so that what is carried is what was
 * stored, with its sign of zero. */
static bool lam_running(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                        tr_tv *yields) {
    tr_redk red = d->reds[0];
    (void)idx;
    (void)caps;
    yields[1] = tr_em_conv(e, elems[0], d->init[0].ty);
    if (red == TR_RED_MIN || red == TR_RED_MAX) {
        yields[0] = yields[1] =
            tr_lib_pick(e, red == TR_RED_MIN ? TR_UF_MINIMUM : TR_UF_MAXIMUM, elems[1], yields[1]);
        return true;
    }
    yields[0] = tr_em_op2(e, tr_red_info[red].op, elems[1], yields[1]);
    return true;
}

/* The type of what is carried: with an argument of which the result has it too. */
static bool fold_type(tr_em *e, const tr_bcall *c, tr_tv self, tr_tv dtype, const tr_ty *elem,
                      const tr_ty **out) {
    *out = elem;
    if (tr_fam_given(dtype))
        return dtype_or(e, c, dtype, elem, out);
    tr_em probe = *e;
    probe.dry = true;
    for (unsigned n = 0; n < 2; n++) {
        tr_tv r, x[2] = {{*out, TR_NOVAL}, {*out, TR_NOVAL}};
        if (!tr_fam_call(&probe, self, 2, x, *out, &r)) {
            x[0] = x[1] = tr_lib_undef(e, *out); /* once more, so that the reason is reported */
            return tr_fam_call(e, self, 2, x, *out, &r) &&
                   tr_em_fail(e, TR_ERR_INTERNAL, "a ufunc failed dry only");
        }
        if (r.ty == *out)
            return true;
        *out = tr_ty_strong(e->types, r.ty);
    }
    return tr_em_error(e, "%s() of a ufunc that takes %s and returns %s", tr_fam_name(c),
                       tr_em_tyname(e, elem), tr_em_tyname(e, *out));
}

/* elems: the item, the value so far. */
static bool lam_fold_running(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems,
                             const tr_tv *caps, tr_tv *yields) {
    (void)caps;
    if (!fold_step(e, d, d->user, idx, elems, &yields[0]))
        return false;
    yields[1] = yields[0];
    return true;
}

/* fold: a function's, or NULL. */
static bool running(tr_em *e, const tr_bcall *c, tr_redk red, const tr_ty *t, reduction *fold, tr_tv *out) {
    tr_tv a, shape[TR_MAX_NDIM], none, dst = arg(c, 3);
    axes x;
    if (!array_arg(e, c, &a))
        return false;
    if (!tr_fam_given(arg(c, 1))) {
        tr_tv args[2] = {a, absent};
        if (!tr_lib_arr_ravel(e, &(tr_bcall){.row = c->row, .n = 2, .a = args}, &a))
            return false;
    }
    if (!axes_arg(e, c, a, arg(c, 1), absent, false, &x))
        return false;
    if (fold ? !fold_type(e, c, *fold->fold, arg(c, 2), a.ty->elem, &t)
             : !dtype_or(e, c, arg(c, 2), t ? t : sum_into(e, a.ty->elem, dst), &t))
        return false;
    if (x.moved.ty)
        return tr_em_error(e, "%s(): axis must be a constant", tr_fam_name(c));
    if (red == TR_RED_MUL && tr_ty_is_complex(t)) /* 1+0j times what is not finite is another number */
        return tr_fam_fold_running(e, c, ufunc_of(e, TR_B_NP_MULTIPLY), out);
    if (t->kind == TR_TY_BOOL && !fold)
        red = red == TR_RED_ADD || red == TR_RED_MAX || red == TR_RED_OR ? TR_RED_OR : TR_RED_AND;
    tr_tv init = fold ? tr_em_num(e, t, 0.0) : tr_fam_start(e, red, t);
    if (fold)
        fold->keep = x.keep;
    tr_fam_shape(e, a, shape);
    tr_tv r = tr_em_alloc(e, t, a.ty->ndim, TR_LAYOUT_C, shape);
    tr_pdesc d = {.nspace = a.ty->ndim,
                  .nin = 1,
                  .nout = 1,
                  .nred = 1,
                  .nscan = 1,
                  .space = shape,
                  .in = &a,
                  .out = &r,
                  .reds = &red,
                  .init = &init,
                  .keep = x.keep,
                  .lam = fold ? lam_fold_running : lam_running,
                  .user = fold};
    *out = r;
    if (!tr_em_pattern(e, &d, &none))
        return false;
    x.keepdims = false;
    return delivered(e, c, &x, dst, out);
}

bool tr_fam_running(tr_em *e, const tr_bcall *c, tr_redk red, const tr_ty *t, tr_tv *out) {
    return running(e, c, red, t, NULL, out);
}

/* Parameters: a, axis, dtype, out. aux: TR_RED_ADD or TR_RED_MUL. Without an axis of the flat array. */
bool tr_lib_arr_running(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_fam_running(e, c, (tr_redk)c->aux, NULL, out);
}

/* --- any ufunc: f.reduce, f.accumulate; values are made one of the other, in order --- */

/* What a fold must know of a ufunc. */
typedef struct folded {
    const char *name;
    bool reorders;
    const tr_obj *identity; /* a number; NULL: it has none */
} folded;

/* NumPy's that have an identity, or may be joined in any order. */
static folded about_row(tr_em *e, uint16_t row) {
    folded f = {.name = strrchr(tr_builtins[row].path, '.') + 1, .reorders = true};
    switch (row) {
    case TR_B_NP_BITWISE_XOR:
    case TR_B_NP_GCD: f.identity = tr_obj_int(&e->ctx->arena, 0); return f;
    case TR_B_NP_LOGICAL_OR:
    case TR_B_NP_LOGICAL_XOR: f.identity = tr_obj_bool(&e->ctx->arena, false); return f;
    case TR_B_NP_LOGICAL_AND: f.identity = tr_obj_bool(&e->ctx->arena, true); return f;
    case TR_B_NP_HYPOT: f.identity = tr_obj_float(&e->ctx->arena, 0.0); return f;
    case TR_B_NP_LOGADDEXP:
    case TR_B_NP_LOGADDEXP2: f.identity = tr_obj_float(&e->ctx->arena, -HUGE_VAL); return f;
    case TR_B_NP_MINIMUM:
    case TR_B_NP_MAXIMUM:
    case TR_B_NP_FMIN:
    case TR_B_NP_FMAX: return f;
    default: f.reorders = false; return f;
    }
}

static folded about(tr_em *e, tr_tv self) {
    const tr_ufn *u = tr_fam_users_ufunc(e, self);
    return u ? (folded){u->name, u->reorders, u->identity} : about_row(e, (uint16_t)self.ty->lit->u.builtin);
}

bool tr_fam_has_identity(tr_em *e, tr_tv self) {
    if (tr_fam_users_ufunc(e, self))
        return about(e, self).identity != NULL;
    switch ((uint16_t)self.ty->lit->u.builtin) { /* which sums and their like have, without a fold */
    case TR_B_NP_ADD:
    case TR_B_NP_MULTIPLY:
    case TR_B_NP_BITWISE_AND:
    case TR_B_NP_BITWISE_OR: return true;
    default: return about(e, self).identity != NULL;
    }
}

static bool fold_start(tr_em *e, const tr_bcall *c, const folded *u, const axes *x, reduction *r) {
    tr_tv given = arg(c, 5);
    r->init[0] = tr_em_num(e, r->result, 0.0);
    r->from_first = !tr_fam_given(given) && !u->identity;
    if (x->a.ty->ndim > x->nkeep + 1u && !u->reorders)
        return tr_em_error(
            e, "reduction operation '%s' is not reorderable, so at most one axis may be specified", u->name);
    if (r->from_first)
        tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, extent_of(e, x), tr_em_i64(e, 0)), TR_EXC_VALUE,
                    tr_arena_printf(&e->ctx->arena,
                                    "zero-size array to reduction operation %s which has no identity",
                                    u->name),
                    0, NULL);
    else if (!tr_fam_given(given))
        r->init[0] = tr_em_conv(e, tr_em_lit(e, u->identity), r->result);
    return initial(e, c, given, r->result, &r->init[0]);
}

bool tr_fam_fold(tr_em *e, const tr_bcall *c, tr_tv self, bool alone, tr_tv *out) {
    folded u = about(e, self);
    tr_tv a;
    axes x;
    reduction r = {
        .nred = 1, .reds = {TR_RED_LAST}, .fold = tr_arena_copy(&e->ctx->arena, &self, sizeof self)};
    if (alone)
        u.identity = NULL;
    if (!array_arg(e, c, &a) || !axes_arg(e, c, a, arg(c, 1), arg(c, 4), true, &x) ||
        !fold_type(e, c, self, arg(c, 2), a.ty->elem, &r.result))
        return false;
    r.keep = x.keep;
    return fold_start(e, c, &u, &x, &r) && reduce(e, &x, &r, out) && delivered(e, c, &x, arg(c, 3), out);
}

bool tr_fam_fold_running(tr_em *e, const tr_bcall *c, tr_tv self, tr_tv *out) {
    reduction *r = TR_NEW(&e->ctx->arena, reduction);
    *r = (reduction){.fold = tr_arena_copy(&e->ctx->arena, &self, sizeof self), .from_first = true};
    return running(e, c, TR_RED_LAST, NULL, r, out);
}
