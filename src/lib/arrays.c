/* Arrays: extents, element access, views, allocation, broadcasting, assignment, copies, and elementwise operators.
 * Whatever touches more than one element is a pattern (DESIGN, idea 2). */
#include <string.h>

#include "lib/em.h"
#include "lib/priv.h"

static const tr_ty *i64_ty(tr_em *e) { return tr_ty_scalar(e->types, TR_TY_I64); }

static tr_tv axis_op(tr_em *e, tr_op op, tr_tv a, uint32_t axis) {
    tr_tv r = tr_lib_emit(e, op, i64_ty(e), 1, &a.v);
    if (!e->dry) tr_at(e->b.fn, r.v)->imm.i = (int64_t)axis;
    return r;
}

tr_tv tr_em_dim(tr_em *e, tr_tv a, uint32_t axis) { return axis_op(e, TR_OP_DIM, a, axis); }
tr_tv tr_em_stride(tr_em *e, tr_tv a, uint32_t axis) { return axis_op(e, TR_OP_STRIDE, a, axis); }

tr_tv tr_em_size(tr_em *e, tr_tv a) {
    if (a.ty->ndim == 0) return tr_em_i64(e, 1);
    tr_tv n = tr_em_dim(e, a, 0);
    for (uint32_t i = 1; i < a.ty->ndim; i++) n = tr_em_nsw(e, TR_OP_MUL, n, tr_em_dim(e, a, i));
    return n;
}

tr_tv tr_em_load(tr_em *e, tr_tv a, const tr_tv *idx) {
    tr_val v[TR_MAX_NDIM + 1];
    v[0] = a.v;
    for (uint32_t i = 0; i < a.ty->ndim; i++) v[i + 1] = idx[i].v;
    return tr_lib_emit(e, TR_OP_LOAD, a.ty->elem, a.ty->ndim + 1u, v);
}

void tr_em_store(tr_em *e, tr_tv a, const tr_tv *idx, tr_tv x) {
    if (e->dry) return;
    tr_val v[TR_MAX_NDIM + 2];
    v[0] = a.v;
    for (uint32_t i = 0; i < a.ty->ndim; i++) v[i + 1] = idx[i].v;
    v[a.ty->ndim + 1] = tr_em_conv(e, x, a.ty->elem).v;
    tr_emit_v(&e->b, TR_OP_STORE, NULL, a.ty->ndim + 2u, v);
}

tr_tv tr_em_view(tr_em *e, const tr_ty *ty, tr_tv a, tr_tv offset, const tr_tv *shape, const tr_tv *strides) {
    if (e->dry) return (tr_tv){ty, TR_NOVAL};
    tr_val v[2 * TR_MAX_NDIM + 2];
    uint32_t n = 0;
    v[n++] = a.v;
    v[n++] = tr_em_strong(e, offset).v;
    for (uint32_t i = 0; i < ty->ndim; i++) v[n++] = tr_em_strong(e, shape[i]).v;
    if (ty->layout == TR_LAYOUT_ANY)
        for (uint32_t i = 0; i < ty->ndim; i++) v[n++] = tr_em_strong(e, strides[i]).v;
    return (tr_tv){ty, tr_emit_v(&e->b, TR_OP_VIEW, ty, n, v)};
}

tr_tv tr_em_alloc(tr_em *e, const tr_ty *elem, uint32_t ndim, tr_layout layout, const tr_tv *shape) {
    const tr_ty *ty = tr_ty_array(e->types, elem, ndim, layout, false);
    if (e->dry) return (tr_tv){ty, TR_NOVAL};
    tr_val v[TR_MAX_NDIM + 1] = {0};
    for (uint32_t i = 0; i < ndim; i++) v[i] = tr_em_conv(e, shape[i], i64_ty(e)).v;
    tr_val r = tr_emit_v(&e->b, TR_OP_ALLOC, ty, ndim, v);
    tr_at(e->b.fn, r)->imm.site = tr_lib_site(e, TR_EXC_MEMORY, "cannot allocate an array of {0} bytes");
    return (tr_tv){ty, r};
}

/* --- broadcasting --- */

bool tr_em_broadcast(tr_em *e, tr_tv a, uint32_t ndim, const tr_tv *shape, tr_tv *out) {
    if (a.ty->ndim > ndim)
        return tr_em_error(e, "could not broadcast a %u-d array into %u dimensions", (unsigned)a.ty->ndim, ndim);
    uint32_t skip = ndim - a.ty->ndim;
    tr_tv strides[TR_MAX_NDIM], zero = tr_em_i64(e, 0), one = tr_em_i64(e, 1);
    for (uint32_t i = 0; i < ndim; i++) {
        if (i < skip) {
            strides[i] = zero;
            continue;
        }
        tr_tv d = tr_em_dim(e, a, i - skip), is1 = tr_em_cmp(e, TR_CMP_EQ, d, one);
        tr_tv ok = tr_em_op2(e, TR_OP_OR, is1, tr_em_cmp(e, TR_CMP_EQ, d, shape[i]));
        tr_em_check(e, ok, TR_EXC_VALUE, "could not broadcast an axis of size {0} to size {1}", 2, (tr_tv[]){d, shape[i]});
        strides[i] = tr_em_select(e, is1, zero, tr_em_stride(e, a, i - skip));
    }
    const tr_ty *ty = tr_ty_array(e->types, a.ty->elem, ndim, ndim ? TR_LAYOUT_ANY : TR_LAYOUT_C, a.ty->readonly);
    *out = tr_em_view(e, ty, a, zero, shape, strides);
    return true;
}

/* --- assignment, fill, copy --- */

static void shape_of(tr_em *e, tr_tv a, tr_tv *shape) {
    for (uint32_t i = 0; i < a.ty->ndim; i++) shape[i] = tr_em_dim(e, a, i);
}

static bool lam_first(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps, tr_tv *yields) {
    (void)idx;
    const tr_ty *to = d->out[0].ty->elem;
    yields[0] = tr_em_conv(e, d->nin ? elems[0] : caps[0], to);
    return true;
}

bool tr_em_fill(tr_em *e, tr_tv dst, tr_tv x) {
    tr_tv shape[TR_MAX_NDIM], none;
    shape_of(e, dst, shape);
    x = tr_em_conv(e, x, dst.ty->elem);
    tr_pdesc d = {.nspace = dst.ty->ndim, .nout = 1, .ncap = 1, .space = shape, .out = &dst, .caps = &x, .lam = lam_first};
    return tr_em_pattern(e, &d, &none);
}

static bool map_into(tr_em *e, tr_tv dst, tr_tv src) {
    tr_tv shape[TR_MAX_NDIM], none;
    shape_of(e, dst, shape);
    tr_pdesc d = {.nspace = dst.ty->ndim, .nin = 1, .nout = 1, .space = shape, .in = &src, .out = &dst, .lam = lam_first};
    return tr_em_pattern(e, &d, &none);
}

bool tr_em_copy(tr_em *e, tr_tv a, tr_layout layout, tr_tv *out) {
    tr_tv shape[TR_MAX_NDIM];
    shape_of(e, a, shape);
    *out = tr_em_alloc(e, a.ty->elem, a.ty->ndim, layout, shape);
    return map_into(e, *out, a);
}

/* src, or a copy of it made at run time when dst and src may share memory. */
static bool unaliased(tr_em *e, tr_tv dst, tr_tv src, tr_tv *out) {
    if (!e->dry && tr_at(e->b.fn, src.v)->op == TR_OP_ALLOC) {
        *out = src;
        return true;
    }
    const tr_ty *ty = tr_ty_array(e->types, src.ty->elem, src.ty->ndim, src.ty->ndim ? TR_LAYOUT_ANY : TR_LAYOUT_C, src.ty->readonly);
    tr_tv plain, copy;
    if (e->dry) {
        *out = (tr_tv){ty, TR_NOVAL};
        return tr_em_copy(e, src, TR_LAYOUT_C, &copy);
    }
    tr_fn *f = e->b.fn;
    tr_bid slow = tr_blk_new(f), join = tr_blk_new(f);
    if (!tr_em_coerce(e, src, ty, &plain)) return false;
    tr_val c = tr_emit2(&e->b, TR_OP_OVERLAP, tr_ty_scalar(e->types, TR_TY_BOOL), dst.v, src.v);
    tr_cbr(&e->b, c, slow, 0, NULL, join, 1, &plain.v);
    e->b.blk = slow;
    if (!tr_em_copy(e, src, TR_LAYOUT_C, &copy) || !tr_em_coerce(e, copy, ty, &copy)) return false;
    tr_br(&e->b, join, 1, &copy.v);
    e->b.blk = join;
    *out = (tr_tv){ty, tr_blk_param(f, join, ty, NULL)};
    return true;
}

bool tr_em_assign(tr_em *e, tr_tv dst, tr_tv src) {
    if (dst.ty->readonly) return tr_em_error(e, "assignment destination is read-only");
    const tr_ty *s = tr_lib_scalar(e, src.ty);
    const tr_ty *from = s ? s : tr_lib_is_array(src) ? src.ty->elem : NULL;
    if (!from) return tr_em_error(e, "cannot assign %s to an array of %s", tr_em_tyname(e, src.ty), tr_em_tyname(e, dst.ty->elem));
    if (tr_ty_is_complex(from) && !tr_ty_is_complex(dst.ty->elem))
        return tr_em_error(e, "cannot convert complex to %s", tr_em_tyname(e, dst.ty->elem));
    if (s) return tr_em_fill(e, dst, src);
    tr_tv shape[TR_MAX_NDIM], u, b;
    shape_of(e, dst, shape);
    if (!unaliased(e, dst, src, &u) || !tr_em_broadcast(e, u, dst.ty->ndim, shape, &b)) return false;
    return map_into(e, dst, b);
}

/* --- elementwise operators: broadcast, one map --- */

typedef struct elementwise {
    tr_binop op;
    tr_cmpop cmp;
    tr_unop un;
    char what; /* b c u */
    const tr_ty *weak_x, *weak_y; /* scalar operands keep their weak type inside the lambda */
    bool x_array, y_array;
} elementwise;

static bool lam_elementwise(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps, tr_tv *yields) {
    (void)idx;
    const elementwise *w = d->user;
    uint32_t k = 0, c = 0;
    tr_tv x = w->x_array ? elems[k++] : caps[c++], y = {NULL, TR_NOVAL}, r;
    const tr_ty *t = d->out[0].ty->elem;
    if (w->what == 'u') {
        if (!tr_em_unary(e, w->un, x, &r)) return false;
    } else {
        y = w->y_array ? elems[k] : caps[c];
        bool ok = w->what == 'c' ? tr_em_compare(e, w->cmp, x, y, &r)
                                 : tr_lib_scalar_binary(e, w->op, tr_em_conv(e, x, w->weak_x), tr_em_conv(e, y, w->weak_y), true, &r);
        if (!ok) return false;
    }
    yields[0] = tr_em_conv(e, r, t);
    return true;
}

/* Common shape of two arrays under broadcasting; raises ValueError at run time. */
static void common_shape(tr_em *e, tr_tv x, tr_tv y, uint32_t ndim, tr_tv *shape) {
    uint32_t sx = ndim - x.ty->ndim, sy = ndim - y.ty->ndim;
    tr_tv one = tr_em_i64(e, 1);
    for (uint32_t i = 0; i < ndim; i++) {
        if (i < sx) {
            shape[i] = tr_em_dim(e, y, i - sy);
            continue;
        }
        tr_tv dx = tr_em_dim(e, x, i - sx);
        if (i < sy) {
            shape[i] = dx;
            continue;
        }
        tr_tv dy = tr_em_dim(e, y, i - sy), x1 = tr_em_cmp(e, TR_CMP_EQ, dx, one);
        tr_tv ok = tr_em_op2(e, TR_OP_OR, tr_em_cmp(e, TR_CMP_EQ, dx, dy), tr_em_op2(e, TR_OP_OR, x1, tr_em_cmp(e, TR_CMP_EQ, dy, one)));
        tr_em_check(e, ok, TR_EXC_VALUE, "operands could not be broadcast together: sizes {0} and {1}", 2, (tr_tv[]){dx, dy});
        shape[i] = tr_em_select(e, x1, dy, dx);
    }
}

/* x op y over the broadcast shape, result elements of type t, into `dst` or a new array. */
static bool map2(tr_em *e, const elementwise *w, tr_tv x, tr_tv y, const tr_ty *t, tr_tv *dst, tr_tv *out) {
    tr_tv shape[TR_MAX_NDIM], in[2], caps[2], none, o;
    uint32_t nin = 0, ncap = 0, ndim = w->x_array ? x.ty->ndim : 0;
    if (y.ty && w->y_array && y.ty->ndim > ndim) ndim = y.ty->ndim;
    if (dst) shape_of(e, *dst, shape);
    else if (w->x_array && y.ty && w->y_array) common_shape(e, x, y, ndim, shape);
    else shape_of(e, w->x_array ? x : y, shape);
    if (dst) ndim = dst->ty->ndim;
    bool exact = !dst && !(w->x_array && y.ty && w->y_array);
    if (w->x_array) {
        in[nin] = x;
        if (!exact && !(dst && x.v == dst->v && x.ty == dst->ty) && !tr_em_broadcast(e, x, ndim, shape, &in[nin])) return false;
        nin++;
    } else caps[ncap++] = x;
    if (y.ty) {
        if (w->y_array) {
            in[nin] = y;
            if (!exact && !tr_em_broadcast(e, y, ndim, shape, &in[nin])) return false;
            nin++;
        } else caps[ncap++] = y;
    }
    o = dst ? *dst : tr_em_alloc(e, t, ndim, TR_LAYOUT_C, shape);
    tr_pdesc d = {.nspace = ndim, .nin = nin, .nout = 1, .ncap = ncap, .space = shape, .in = in, .out = &o, .caps = caps,
                  .lam = lam_elementwise, .user = w};
    *out = o;
    return tr_em_pattern(e, &d, &none);
}

/* NumPy's result type: weak scalars do not widen, arrays keep their width. */
static const tr_ty *np_result(tr_em *e, tr_binop op, const tr_ty *x, const tr_ty *y) {
    const tr_ty *xs = tr_ty_strong(e->types, x), *ys = tr_ty_strong(e->types, y);
    tr_tyk k;
    if (x->weak || y->weak) {
        const tr_ty *strong = x->weak ? ys : xs, *weak = x->weak ? xs : ys;
        char cs = tr_ty_class(strong), cw = tr_ty_class(weak);
        if (cs == 'b') k = (tr_tyk)weak->kind;
        else if (cw == 'i') k = (tr_tyk)strong->kind;
        else if (cw == 'f') k = cs == 'i' || cs == 'u' ? TR_TY_F64 : (tr_tyk)strong->kind;
        else k = cs == 'f' ? (strong->kind == TR_TY_F32 ? TR_TY_C64 : TR_TY_C128) : cs == 'c' ? (tr_tyk)strong->kind : TR_TY_C128;
    } else {
        k = tr_ty_promote((tr_tyk)xs->kind, (tr_tyk)ys->kind);
    }
    if (op == TR_BIN_DIV && k < TR_TY_F32) k = TR_TY_F64;
    return tr_ty_scalar(e->types, k);
}

static const tr_ty *elem_of(tr_em *e, tr_tv x) { return tr_lib_is_array(x) ? x.ty->elem : tr_lib_scalar(e, x.ty); }

bool tr_lib_array_binary(tr_em *e, tr_binop op, tr_tv x, tr_tv y, bool inplace, tr_tv *out) {
    if (op == TR_BIN_MATMUL) return tr_em_unsupported(e, "matmul", "@ between arrays");
    const tr_ty *ex = elem_of(e, x), *ey = elem_of(e, y), *t = np_result(e, op, ex, ey);
    elementwise w = {.op = op, .what = 'b', .weak_x = t, .weak_y = t, .x_array = tr_lib_is_array(x), .y_array = tr_lib_is_array(y)};
    if (op == TR_BIN_POW && !tr_ty_is_int(t)) w.weak_x = w.weak_y = t;
    if (!inplace) return map2(e, &w, x, y, t, NULL, out);
    if (x.ty->readonly) return tr_em_error(e, "assignment destination is read-only");
    char ct = tr_ty_class(t), cx = tr_ty_class(x.ty->elem);
    if ((ct == 'c' && cx != 'c') || (ct == 'f' && (cx == 'i' || cx == 'u' || cx == 'b')))
        return tr_em_error(e, "cannot store a result of %s into an array of %s in place", tr_em_tyname(e, t), tr_em_tyname(e, x.ty->elem));
    tr_tv u = y;
    if (w.y_array && !unaliased(e, x, y, &u)) return false;
    return map2(e, &w, x, u, x.ty->elem, &x, out);
}

bool tr_lib_array_compare(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    elementwise w = {.cmp = op, .what = 'c', .x_array = tr_lib_is_array(x), .y_array = tr_lib_is_array(y)};
    return map2(e, &w, x, y, tr_ty_scalar(e->types, TR_TY_BOOL), NULL, out);
}

bool tr_lib_array_unary(tr_em *e, tr_unop op, tr_tv x, tr_tv *out) {
    elementwise w = {.un = op, .what = 'u', .x_array = true};
    if (op == TR_UN_NEG && x.ty->elem->kind == TR_TY_BOOL)
        return tr_em_error(e, "bad operand type for unary -: an array of bool");
    return map2(e, &w, x, (tr_tv){NULL, TR_NOVAL}, x.ty->elem, NULL, out);
}
