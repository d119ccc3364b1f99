/* What all of NumPy's elementwise functions share: their operands, and the arguments out= and dtype=.
 *
 * dtype= is the type in which NumPy computes: operands are converted to it first, and the function must then
 * have a result of that type. out= is an array that the operands broadcast to; operands that may share memory
 * with it are copied before, but for one that is the same array, whose items are read before they are
 * written. */
#include <assert.h>
#include <string.h>

#include "lib/fam.h"
#include "lib/families.h"

bool tr_fam_operands(tr_em *e, const tr_bcall *c, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        tr_tv x = c->a[i];
        if (x.ty->kind == TR_TY_LIST) { /* NumPy converts it, too */
            if (!tr_fam_as_array(e, c, x, NULL, &c->a[i]))
                return false;
            continue;
        }
        if (!tr_lib_is_array(x) && !tr_lib_scalar(e, x.ty))
            return tr_em_error(e, "%s() takes numbers or arrays, not %s", tr_fam_name(c),
                               tr_em_tyname(e, x.ty));
    }
    return true;
}

typedef struct cast {
    const tr_bcall *c;
    uint32_t n;
    const tr_ty *t;
    tr_lib_eltfn fn;
} cast;

static bool elt_cast(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const cast *w = user;
    tr_tv v[3];
    for (uint32_t i = 0; i < w->n; i++) {
        const tr_ty *s = tr_lib_scalar(e, x[i].ty);
        if (!(s->weak && tr_ty_is_int(s) && tr_ty_is_int(w->t)) && !tr_fam_same_kind(s, w->t))
            return tr_em_error(e, "%s(): cannot cast %s to %s as dtype= asks", tr_fam_name(w->c),
                               tr_em_tyname(e, s), tr_em_tyname(e, w->t));
        v[i] = tr_em_conv(e, x[i], w->t);
    }
    bool half = tr_lib_unhalve(e, w->n, v, v);
    if (!w->fn(e, w->c, v, out))
        return false;
    *out = half ? tr_lib_halved(e, *out) : *out;
    if (tr_ty_strong(e->types, out->ty) != w->t)
        return tr_em_error(e, "%s() has no loop of dtype %s", tr_fam_name(w->c), tr_em_tyname(e, w->t));
    return true;
}

bool tr_em_elementwise(tr_em *e, const char *name, uint32_t n, const tr_tv *x, tr_tv dst, tr_eltfn fn,
                       const void *user, tr_tv *out) {
    const tr_ty *t;
    if (!tr_fam_given(dst))
        return tr_lib_lift(e, n, x, fn, user, out);
    if (!tr_lib_is_array(dst))
        return tr_em_error(e, "%s(): out must be an array, not %s", name, tr_em_tyname(e, dst.ty));
    if (dst.ty->readonly)
        return tr_em_error(e, "%s(): out is read-only", name);
    if (!tr_lib_lift_type(e, n, x, fn, user, &t))
        return false;
    if (!tr_fam_same_kind(t, dst.ty->elem))
        return tr_em_error(e, "%s(): cannot store a result of %s in out, an array of %s", name,
                           tr_em_tyname(e, t), tr_em_tyname(e, dst.ty->elem));
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
    for (uint32_t i = 0; i < n; i++) {
        v[i] = x[i];
        bool itself = x[i].v == dst.v && x[i].ty == dst.ty;
        if (tr_lib_is_array(x[i]) && !itself && !tr_lib_unaliased(e, dst, x[i], &v[i]))
            return false;
    }
    return tr_lib_map(e, n, v, dst.ty->elem, &dst, fn, user, out);
}

bool tr_fam_map_out(tr_em *e, const tr_bcall *c, uint32_t n, const tr_tv *x, tr_tv dst, tr_lib_eltfn fn,
                    const void *user, tr_tv *out) {
    return tr_em_elementwise(e, tr_fam_name(c), n, x, dst, fn, user, out);
}

/* Or an integer that is weak as one: of a graph. */
static bool has_literal(uint32_t n, const tr_tv *x) {
    int64_t v;
    for (uint32_t i = 0; i < n; i++)
        if (tr_tv_lit_int(x[i], &v) || (x[i].ty->weak && x[i].ty->kind == TR_TY_I64))
            return true;
    return false;
}

/* In float32, and rounded at the end. */
static bool elt_half(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const cast *w = user;
    tr_tv v[3];
    bool half = tr_lib_unhalve(e, w->n, x, v);
    if (!w->fn(e, w->c, v, out))
        return false;
    if (half)
        *out = tr_lib_halved(e, *out);
    return true;
}

/* Asks for the very type, or rounds once as it is. */
static bool is_of_its_own(uint16_t row) {
    return row == TR_B_NP_NEXTAFTER || row == TR_B_NP_SPACING || row == TR_B_NP_LDEXP;
}

bool tr_fam_has_half(const tr_bcall *c, uint32_t n) {
    bool any = false;
    for (uint32_t i = 0; i < n; i++)
        any = any || (c->a[i].ty->kind == TR_TY_ARRAY ? c->a[i].ty->elem : c->a[i].ty)->kind == TR_TY_F16;
    return any;
}

/* --- where=: items that are left as they are --- */

typedef struct chosen {
    uint32_t n;
    tr_eltfn fn;
    const void *user;
    const tr_ty *t; /* out's */
    const tr_tv *x; /* of one item */
} chosen;

/* x: the operands, whether the item is chosen, what is there. */
static bool elt_chosen(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const chosen *w = user;
    tr_tv v;
    if (!w->fn(e, w->user, x, &v))
        return false;
    *out = tr_em_select(e, x[w->n], tr_em_conv(e, v, w->t), x[w->n + 1]);
    return true;
}

static bool when_chosen(tr_em *e, const void *user, tr_tv *acc) {
    const chosen *w = user;
    tr_tv v;
    if (!w->fn(e, w->user, w->x, &v) || !v.ty)
        return false;
    *acc = tr_em_conv(e, v, w->t);
    return true;
}

/* The same with a branch, for a function that may raise. */
static bool elt_apart(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const chosen *w = user;
    chosen item = *w;
    item.x = x;
    *out = x[w->n + 1];
    return tr_fam_when(e, x[w->n], 1, out, when_chosen, &item);
}

bool tr_em_elementwise_where(tr_em *e, const char *name, uint32_t n, const tr_tv *x, tr_tv where, tr_tv dst,
                             bool apart, tr_eltfn fn, const void *user, tr_tv *out) {
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, n + 2u);
    const tr_ty *t;
    if (!tr_fam_given(dst)) {
        tr_em_error(e, "%s(): where= without out= leaves items that have no value", name);
        tr_em_hint(e, "give out=, an array that has the values of items that are not chosen");
        return false;
    }
    if (!tr_lib_is_array(dst))
        return tr_em_error(e, "%s(): out must be an array, not %s", name, tr_em_tyname(e, dst.ty));
    if (!tr_fam_mask(e, name, where, &v[n]) || !tr_lib_lift_type(e, n, x, fn, user, &t))
        return false;
    if (!tr_fam_same_kind(t, dst.ty->elem))
        return tr_em_error(e, "%s(): cannot store a result of %s in out, an array of %s", name,
                           tr_em_tyname(e, t), tr_em_tyname(e, dst.ty->elem));
    memcpy(v, x, n * sizeof *x);
    v[n + 1] = dst;
    chosen *w = TR_NEW(&e->ctx->arena, chosen);
    *w = (chosen){n, fn, user, dst.ty->elem, NULL};
    return tr_em_elementwise(e, name, n + 2, v, dst, apart ? elt_apart : elt_chosen, w, out);
}

static tr_tv where_of(const tr_bcall *c, uint32_t nin, bool has_dtype) {
    uint32_t at = nin + 1 + has_dtype;
    return c->n > at ? c->a[at] : (tr_tv){NULL, TR_NOVAL};
}

bool tr_fam_ufunc(tr_em *e, const tr_bcall *c, uint32_t nin, tr_lib_eltfn fn, tr_tv *out) {
    bool has_dtype = strstr(tr_builtins[c->row].params, "dtype=") != NULL;
    const void *user = c;
    tr_tv dst = c->n > nin ? c->a[nin] : (tr_tv){NULL, TR_NOVAL},
          dtype = has_dtype && c->n > nin + 1 ? c->a[nin + 1] : (tr_tv){NULL, TR_NOVAL},
          where = where_of(c, nin, has_dtype);
    if (!tr_fam_operands(e, c, nin))
        return false;
    if (tr_fam_given(dtype)) {
        cast *w = TR_NEW(&e->ctx->arena, cast);
        *w = (cast){c, nin, NULL, fn};
        if (!tr_fam_dtype(e, c, dtype, &w->t))
            return false;
        user = w;
        fn = elt_cast;
    } else if (tr_fam_has_half(c, nin) && !is_of_its_own(c->row)) {
        cast *w = TR_NEW(&e->ctx->arena, cast);
        *w = (cast){c, nin, NULL, fn};
        user = w;
        fn = elt_half;
    } else if (has_literal(nin, c->a)) {
        /* What computes in floats takes any number, and comparisons are exact whatever the literal. */
        const tr_ty *t;
        if (!tr_lib_lift_type(e, nin, c->a, fn, user, &t) ||
            (tr_ty_is_int(t) && !tr_lib_check_literals(e, nin, c->a)))
            return false;
    }
    return tr_fam_masks(where)
               ? tr_em_elementwise_where(e, tr_fam_name(c), nin, c->a, where, dst, false, fn, user, out)
               : tr_fam_map_out(e, c, nin, c->a, dst, fn, user, out);
}

/* --- methods of NumPy's own ufuncs: reduce, accumulate, outer, at; self is the function, known when
 * compiling --- */

static uint16_t row_of(tr_tv self) {
    assert(self.ty->kind == TR_TY_LIT && self.ty->lit->kind == TR_OBJ_BUILTIN && "one of NumPy's own ufuncs");
    return (uint16_t)self.ty->lit->u.builtin;
}

static bool no_method(tr_em *e, const tr_bcall *c) {
    const tr_ufn *u = tr_fam_users_ufunc(e, c->a[0]);
    if (u)
        return tr_em_error(e, "%s.%s() is only for ufuncs of two arguments and one result", u->name,
                           tr_fam_name(c));
    tr_em_error(e, "%s has no %s() in compiled code", tr_builtins[row_of(c->a[0])].path, tr_fam_name(c));
    tr_em_hint(e, "write it as a loop over the items");
    return false;
}

static tr_tv first_axis(tr_em *e, tr_tv axis) {
    return axis.ty ? axis : tr_em_lit(e, tr_obj_int(&e->ctx->arena, 0));
}

static bool ufunc_takes_two(tr_em *e, tr_tv self) {
    const tr_ufn *u = tr_fam_users_ufunc(e, self);
    return u ? u->nin == 2 && u->nout == 1 : strncmp(tr_builtins[row_of(self)].params, "x1, x2", 6) == 0;
}

/* Results can be operands again: not those of comparisons, but of truth values. */
static bool ufunc_can_fold(tr_em *e, tr_tv self, const tr_ty *elem) {
    if (!ufunc_takes_two(e, self))
        return false;
    if (tr_fam_users_ufunc(e, self))
        return true;
    uint16_t row = row_of(self);
    bool compares = row == TR_B_NP_LESS || row == TR_B_NP_LESS_EQUAL || row == TR_B_NP_EQUAL ||
                    row == TR_B_NP_NOT_EQUAL || row == TR_B_NP_GREATER || row == TR_B_NP_GREATER_EQUAL;
    return row != TR_B_NP_DIVMOD && row != TR_B_NP_MATMUL && row != TR_B_NP_LDEXP &&
           (!compares || elem->kind == TR_TY_BOOL);
}

/* c: the function, array, axis, dtype, out, keepdims, initial, where. alone: an identity takes no part. */
static bool reduce_by(tr_em *e, const tr_bcall *c, bool alone, tr_tv *out) {
    tr_tv a, axis = first_axis(e, c->a[2]);
    tr_tv six[7] = {c->a[1], axis, c->a[3], c->a[4], c->a[5], c->a[6], c->a[7]},
          five[6] = {c->a[1], axis, c->a[4], c->a[5], c->a[6], c->a[7]};
    const tr_bcall with = {.row = c->row, .n = 7, .a = six};
    bool plain = !tr_fam_given(c->a[3]), first = tr_fam_given(c->a[6]);
    tr_bcall run = with;
    if (!tr_fam_as_array(e, &with, c->a[1], NULL, &a))
        return false;
    switch (tr_fam_users_ufunc(e, c->a[0]) ? TR_B__COUNT : row_of(c->a[0])) {
    case TR_B_NP_ADD:
        if (alone && tr_ty_is_float(a.ty->elem)) /* what leaves a zero its sign */
            six[5] = tr_em_lit(e, tr_obj_float(&e->ctx->arena, -0.0));
        run.aux = TR_RED_ADD;
        return tr_lib_arr_sum(e, &run, out);
    case TR_B_NP_MULTIPLY: run.aux = TR_RED_MUL; return tr_lib_arr_sum(e, &run, out);
    case TR_B_NP_BITWISE_AND: run.aux = TR_RED_AND; return tr_lib_arr_bits(e, &run, out);
    case TR_B_NP_BITWISE_OR: run.aux = TR_RED_OR; return tr_lib_arr_bits(e, &run, out);
    case TR_B_NP_MINIMUM:
    case TR_B_NP_MAXIMUM:
        run = (tr_bcall){.row = c->row, .n = 6, .a = five};
        run.aux = row_of(c->a[0]) == TR_B_NP_MINIMUM ? TR_RED_MIN : TR_RED_MAX;
        if (plain && !tr_ty_is_complex(a.ty->elem))
            return tr_lib_arr_extreme(e, &run, out);
        break;
    case TR_B_NP_LOGICAL_AND:
    case TR_B_NP_LOGICAL_OR:
        five[4] = c->a[7];
        run = (tr_bcall){.row = c->row, .n = 5, .a = five};
        run.aux = row_of(c->a[0]) == TR_B_NP_LOGICAL_AND ? TR_RED_AND : TR_RED_OR;
        if (plain && !first)
            return tr_lib_arr_truth(e, &run, out);
        break;
    default: break;
    }
    if (tr_fam_masks(c->a[7]))
        return tr_em_error(e, "%s(): no where= for this function; choose the items before", tr_fam_name(c));
    return ufunc_can_fold(e, c->a[0], a.ty->elem) ? tr_fam_fold(e, &with, c->a[0], alone, out)
                                                  : no_method(e, c);
}

/* Parameters: array, axis, dtype, out, keepdims, initial. */
bool tr_lib_ufm_reduce(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return reduce_by(e, c, false, out);
}

/* Parameters: array, axis, dtype, out. */
bool tr_lib_ufm_accumulate(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, four[4] = {c->a[1], first_axis(e, c->a[2]), c->a[3], c->a[4]};
    const tr_bcall run = {.row = c->row, .n = 4, .a = four};
    if (!tr_fam_as_array(e, &run, c->a[1], NULL, &a))
        return false;
    const tr_ty *t = a.ty->elem, *truth = tr_fam_ty(e, TR_TY_BOOL);
    bool bits = t->kind == TR_TY_BOOL || tr_ty_is_int(t), plain = !tr_fam_given(c->a[3]);
    switch (tr_fam_users_ufunc(e, c->a[0]) ? TR_B__COUNT : row_of(c->a[0])) {
    case TR_B_NP_ADD: return tr_fam_running(e, &run, TR_RED_ADD, NULL, out);
    case TR_B_NP_MULTIPLY: return tr_fam_running(e, &run, TR_RED_MUL, NULL, out);
    case TR_B_NP_MINIMUM:
        if (!tr_ty_is_complex(t) && plain)
            return tr_fam_running(e, &run, TR_RED_MIN, t, out);
        break;
    case TR_B_NP_MAXIMUM:
        if (!tr_ty_is_complex(t) && plain)
            return tr_fam_running(e, &run, TR_RED_MAX, t, out);
        break;
    case TR_B_NP_BITWISE_AND:
        if (bits && plain)
            return tr_fam_running(e, &run, TR_RED_AND, t, out);
        break;
    case TR_B_NP_BITWISE_OR:
        if (bits && plain)
            return tr_fam_running(e, &run, TR_RED_OR, t, out);
        break;
    case TR_B_NP_LOGICAL_AND:
        if (plain)
            return tr_fam_running(e, &run, TR_RED_AND, truth, out);
        break;
    case TR_B_NP_LOGICAL_OR:
        if (plain)
            return tr_fam_running(e, &run, TR_RED_OR, truth, out);
        break;
    default: break;
    }
    return ufunc_can_fold(e, c->a[0], t) ? tr_fam_fold_running(e, &run, c->a[0], out) : no_method(e, c);
}

/* --- reduceat: a reduction of each piece --- */

typedef struct pieces {
    const tr_bcall *c;
    uint32_t axis;
} pieces;

/* The reduction of items [lo, lo + n) along the axis, at an index of the result. */
static bool one_piece(tr_em *e, const pieces *p, const tr_tv *idx, tr_tv a, tr_tv lo, tr_tv n, tr_tv *out) {
    tr_axes x = {0};
    const tr_bcall *c = p->c;
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        if (i == p->axis)
            tr_axes_part(&x, i, lo, n, tr_em_i64(e, 1));
        else
            x.start[i] = idx[i];
    const tr_ty *ty = tr_ty_array(e->types, a.ty->elem, 1, TR_LAYOUT_ANY, a.ty->readonly);
    tr_tv eight[8] = {c->a[0], tr_em_view(e, ty, a, &x)};
    eight[3] = c->a[4];
    return reduce_by(e, &(tr_bcall){.row = c->row, .n = 8, .a = eight}, true, out);
}

/* caps: array, indices, result. A piece ends where the next begins; one that would be empty has one item. */
static bool lam_piece(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                      tr_tv *yields) {
    const pieces *p = d->user;
    tr_tv i64 = {tr_fam_ty(e, TR_TY_I64), TR_NOVAL}, one = tr_em_i64(e, 1), i = idx[p->axis], v;
    tr_tv last = tr_em_op2(e, TR_OP_SUB, tr_em_dim(e, caps[1], 0), one);
    tr_tv ends = tr_em_cmp(e, TR_CMP_EQ, i, last);
    tr_tv next = tr_em_select(e, ends, i, tr_em_op2(e, TR_OP_ADD, i, one));
    tr_tv lo = tr_em_conv(e, tr_em_load(e, caps[1], &i), i64.ty),
          hi = tr_em_select(e, ends, tr_em_dim(e, caps[0], p->axis),
                            tr_em_conv(e, tr_em_load(e, caps[1], &next), i64.ty));
    tr_tv n = tr_em_select(e, tr_em_cmp(e, TR_CMP_LT, lo, hi), tr_em_op2(e, TR_OP_SUB, hi, lo), one);
    (void)elems;
    (void)yields;
    if (!one_piece(e, p, idx, caps[0], lo, n, &v))
        return false;
    tr_em_store(e, caps[2], idx, tr_em_conv(e, v, caps[2].ty->elem));
    return true;
}

/* All indices are of items. */
static bool check_indices(tr_em *e, const char *name, tr_tv at, tr_tv n) {
    tr_tv least, most;
    const char *text =
        tr_arena_printf(&e->ctx->arena, "index {0} out-of-bounds in %s.reduceat [0, {1})", name);
    if (!tr_fam_ends(e, at, &least, &most))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, least, tr_em_i64(e, 0)), TR_EXC_INDEX, text, 2,
                (tr_tv[]){least, n});
    tr_em_check(e, tr_em_cmp(e, TR_CMP_LT, most, n), TR_EXC_INDEX, text, 2, (tr_tv[]){most, n});
    return true;
}

/* Parameters: array, indices, axis, dtype, out. */
bool tr_lib_ufm_reduceat(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, at, v, shape[TR_MAX_NDIM], zeros[TR_MAX_NDIM], none;
    pieces *p = TR_NEW(&e->ctx->arena, pieces);
    *p = (pieces){.c = c};
    const tr_ufn *u = tr_fam_users_ufunc(e, c->a[0]);
    if (!ufunc_takes_two(e, c->a[0]))
        return no_method(e, c);
    if (!tr_fam_as_array(e, c, c->a[1], NULL, &a) || !tr_fam_as_array(e, c, c->a[2], NULL, &at))
        return false;
    if (!a.ty->ndim)
        return tr_em_error(e, "cannot reduceat on a scalar");
    bool truths = at.ty->elem->kind == TR_TY_BOOL; /* the places 0 and 1, as NumPy casts them */
    if ((!tr_ty_is_int(at.ty->elem) && !truths) || at.ty->ndim != 1)
        return tr_em_error(e, "reduceat(): indices are integers along one axis, not %s",
                           tr_em_tyname(e, at.ty));
    if (truths && !tr_fam_copy_as(e, at, tr_fam_ty(e, TR_TY_I64), TR_LAYOUT_C, &at))
        return false;
    if (!tr_fam_axis(e, c, a.ty->ndim, first_axis(e, c->a[3]), &p->axis) ||
        !check_indices(e, u ? u->name : strrchr(tr_builtins[row_of(c->a[0])].path, '.') + 1, at,
                       tr_em_dim(e, a, p->axis)))
        return false;
    tr_em probe = *e;
    probe.dry = true;
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        zeros[i] = tr_em_i64(&probe, 0);
    if (!one_piece(&probe, p, zeros, a, zeros[0], zeros[0], &v)) {
        for (uint32_t i = 0; i < a.ty->ndim; i++) /* once more, so that the reason is reported */
            zeros[i] = tr_em_i64(e, 0);
        return one_piece(e, p, zeros, a, zeros[0], zeros[0], &v) &&
               tr_em_fail(e, TR_ERR_INTERNAL, "a reduction failed dry only");
    }
    tr_fam_shape(e, a, shape);
    shape[p->axis] = tr_em_dim(e, at, 0);
    *out = tr_em_alloc(e, tr_ty_strong(e->types, v.ty), a.ty->ndim, TR_LAYOUT_C, shape);
    tr_tv caps[3] = {a, at, *out};
    tr_pdesc d = {.nspace = a.ty->ndim, .ncap = 3, .space = shape, .caps = caps, .lam = lam_piece, .user = p};
    return tr_em_pattern(e, &d, &none) &&
           tr_fam_delivered(e, c, *out, tr_all_axes(a.ty->ndim), false, c->a[5], out);
}

/* The function itself of two operands; its row has out= and dtype= after them, or out= alone. */
static bool call_itself(tr_em *e, tr_tv self, tr_tv x, tr_tv y, tr_tv *out) {
    const tr_args args = {2, (tr_tv[]){x, y}, 0, NULL};
    if (tr_fam_users_ufunc(e, self))
        return e->call(e, self, &args, out);
    return tr_em_builtin(e, row_of(self), (tr_tv){NULL, TR_NOVAL}, &args, out);
}

static tr_tv strong(tr_em *e, tr_tv x) {
    return tr_lib_scalar(e, x.ty) ? tr_em_strong(e, x) : x;
}

/* Parameters: A, B: every item of A with every one of B. */
bool tr_lib_ufm_outer(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, b;
    if (!ufunc_takes_two(e, c->a[0]))
        return no_method(e, c);
    if (tr_lib_scalar(e, c->a[1].ty) || tr_lib_scalar(e, c->a[2].ty))
        return call_itself(e, c->a[0], strong(e, c->a[1]), strong(e, c->a[2]),
                           out); /* numbers are not weak here */
    if (!tr_fam_as_array(e, c, c->a[1], NULL, &a) || !tr_fam_as_array(e, c, c->a[2], NULL, &b))
        return false;
    if (a.ty->ndim + b.ty->ndim > TR_MAX_NDIM)
        return tr_em_error(e, "outer(): more than %d dimensions", TR_MAX_NDIM);
    a = tr_lib_expand_at(e, a, a.ty->ndim, (uint32_t)a.ty->ndim + b.ty->ndim);
    return call_itself(e, c->a[0], a, b, out);
}

static bool elt_itself(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    return call_itself(e, *(const tr_tv *)user, x[0], x[1], out);
}

/* A scatter that does what at() of the function does: how it joins, and the type that
 * values have before they get the target's. */
typedef struct joining {
    uint8_t how;
    bool minus;
    const tr_ty *t;
} joining;

static bool elt_joined(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const joining *j = user;
    *out = tr_em_conv(e, x[0], j->t);
    if (j->minus)
        *out = tr_em_op1(e, TR_OP_NEG, *out);
    return true;
}

/* NumPy computes in type t and stores each result in the target's. Values may have the target's type at once
 * where that is the same: the low bits of sums, products and bits follow from the low bits alone, and
 * rounding keeps the order of floats. */
static bool joins_in(uint8_t how, const tr_ty *t, const tr_ty *elem) {
    bool order = how == TR_RED_MIN || how == TR_RED_MAX;
    return t == elem ||
           (order ? tr_ty_is_float(t) && tr_ty_is_float(elem) : tr_ty_is_int(t) && tr_ty_is_int(elem));
}

/* Of truth values alone: what the function is there. */
static uint8_t joins_truth(uint16_t row) {
    switch (row) {
    case TR_B_NP_ADD:
    case TR_B_NP_LOGICAL_OR: return TR_RED_OR;
    case TR_B_NP_MULTIPLY:
    case TR_B_NP_LOGICAL_AND: return TR_RED_AND;
    case TR_B_NP_LOGICAL_XOR: return TR_RED_XOR;
    default: return TR_SCATTER__COUNT;
    }
}

static uint8_t joins_numbers(uint16_t row) {
    switch (row) {
    case TR_B_NP_ADD:
    case TR_B_NP_SUBTRACT: return TR_RED_ADD;
    case TR_B_NP_MULTIPLY: return TR_RED_MUL;
    case TR_B_NP_MINIMUM: return TR_RED_MIN;
    case TR_B_NP_MAXIMUM: return TR_RED_MAX;
    case TR_B_NP_BITWISE_AND: return TR_RED_AND;
    case TR_B_NP_BITWISE_OR: return TR_RED_OR;
    case TR_B_NP_BITWISE_XOR: return TR_RED_XOR;
    default: return TR_SCATTER__COUNT;
    }
}

/* The scatter for a function with results of type t; its `how` is TR_SCATTER__COUNT where there is none. */
static joining scatter_of(tr_em *e, tr_tv self, const tr_ty *t, const tr_ty *elem) {
    if (tr_fam_users_ufunc(e, self))
        return (joining){TR_SCATTER__COUNT, false, t};
    uint16_t row = row_of(self);
    uint8_t how = elem->kind == TR_TY_BOOL ? joins_truth(row) : TR_SCATTER__COUNT;
    if (how == TR_SCATTER__COUNT)
        how = joins_numbers(row);
    bool can = how != TR_SCATTER__COUNT && tr_scatter_takes(how, elem) && joins_in(how, t, elem);
    return (joining){can ? how : TR_SCATTER__COUNT, row == TR_B_NP_SUBTRACT, t};
}

/* Parameters: a, indices, b. Unbuffered: an index that comes twice counts twice. */
bool tr_lib_at(tr_em *e, const tr_bcall *c, bool keys) {
    tr_tv a = c->a[1], b = c->a[3], x[2];
    tr_idx it[4 * TR_MAX_NDIM];
    uint32_t n;
    bool fancy = false;
    const tr_ty *t;
    if (!ufunc_takes_two(e, c->a[0]) || !b.ty)
        return no_method(e, c);
    if (!tr_lib_is_array(a) || a.ty->readonly)
        return tr_em_error(e, "at() takes an array that can be written to, not %s", tr_em_tyname(e, a.ty));
    if (b.ty->kind == TR_TY_TUPLE && !tr_fam_as_array(e, c, b, NULL, &b))
        return false;
    if (!tr_lib_is_array(b) && !tr_lib_scalar(e, b.ty))
        return tr_em_error(e, "at() takes numbers or arrays, not %s", tr_em_tyname(e, b.ty));
    x[0] = a;
    x[1] = b;
    tr_tv *self = tr_arena_copy(&e->ctx->arena, &c->a[0], sizeof c->a[0]);
    if (!tr_lib_lift_type(e, 2, x, elt_itself, self, &t) || !tr_lib_index_parts(e, a, c->a[2], it, &n))
        return false;
    if (!tr_fam_same_kind(t, a.ty->elem))
        return tr_em_error(e, "at(): cannot store a result of %s in an array of %s", tr_em_tyname(e, t),
                           tr_em_tyname(e, a.ty->elem));
    for (uint32_t i = 0; i < n; i++)
        fancy = fancy || it[i].kind == 'a' || it[i].kind == 'm';
    if (fancy) {
        joining j = scatter_of(e, *self, t, a.ty->elem), *kept = tr_arena_copy(&e->ctx->arena, &j, sizeof j);
        bool scatters = j.how != TR_SCATTER__COUNT;
        return tr_lib_fancy_update(e, a, it, n, b,
                                   &(tr_update){.how = j.how,
                                                .fn = scatters ? elt_joined : elt_itself,
                                                .user = scatters ? (const void *)kept : self,
                                                .keys = keys});
    }
    tr_tv old, now;
    return tr_em_getitem(e, a, c->a[2], &old) && call_itself(e, *self, old, b, &now) &&
           tr_em_setitem(e, a, c->a[2], now, false);
}

bool tr_lib_ufm_at(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_em_none(e);
    return tr_lib_at(e, c, false);
}
