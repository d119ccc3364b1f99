/* Arrays: computed extents, broadcasting, assignment, copies, and elementwise operators.
 * Whatever touches more than one element is a pattern (docs/design/patterns.md). */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "ir/alias.h"
#include "lib/em.h"
#include "lib/fam.h"
#include "lib/kinds.h"
#include "lib/priv.h"

static const tr_ty *i64_ty(tr_em *e) {
    return tr_ty_scalar(e->types, TR_TY_I64);
}

/* --- extents that are computed --- */

static void check_room(tr_em *e, tr_tv ok) {
    tr_em_check(e, ok, TR_EXC_VALUE, TR_TOO_BIG, 0, NULL);
}

/* The sum itself is looked at: opt/scalar/prove.c then knows that it did not wrap. */
tr_tv tr_em_extent_sum(tr_em *e, tr_tv x, tr_tv y) {
    assert(tr_em_are_i64(e, 1, &x) && tr_em_are_i64(e, 1, &y) && "extents are int64");
    tr_tv n = tr_em_op2(e, TR_OP_ADD, x, y);
    check_room(e, tr_em_cmp(e, TR_CMP_GE, n, tr_em_i64(e, 0)));
    return n;
}

tr_tv tr_em_extent_product(tr_em *e, tr_tv x, tr_tv y) {
    assert(tr_em_are_i64(e, 1, &x) && tr_em_are_i64(e, 1, &y) && "extents are int64");
    tr_tv none = tr_em_cmp(e, TR_CMP_EQ, y, tr_em_i64(e, 0));
    tr_tv most = tr_em_op2(e, TR_OP_QUOT, tr_em_i64(e, INT64_MAX), y);
    check_room(e, tr_fam_or(e, none, tr_em_cmp(e, TR_CMP_LE, x, most)));
    return tr_em_op2(e, TR_OP_MUL, x, y);
}

tr_tv tr_lib_size_estimate(tr_em *e, uint32_t ndim, const tr_tv *shape) {
    const tr_ty *f64 = tr_ty_scalar(e->types, TR_TY_F64);
    tr_tv n = tr_em_f64(e, 1.0), zero = tr_em_i64(e, 0), one = tr_em_i64(e, 1);
    for (uint32_t i = 0; i < ndim; i++) {
        tr_tv d = tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, shape[i], zero), one, shape[i]);
        n = tr_em_op2(e, TR_OP_MUL, n, tr_em_conv(e, d, f64));
    }
    return n;
}

tr_tv tr_lib_has_room(tr_em *e, const tr_ty *elem, tr_tv estimate) {
    assert(tr_ty_size(elem) > 0 && "items have a size in memory");
    return tr_em_cmp(e, TR_CMP_LT, estimate, tr_em_f64(e, TR_MOST_BYTES / tr_ty_size(elem)));
}

void tr_em_check_size(tr_em *e, const tr_ty *elem, uint32_t ndim, const tr_tv *shape) {
    assert(tr_ty_size(elem) > 0 && tr_em_are_i64(e, ndim, shape) &&
           "items have a size, and so has each axis");
    check_room(e, ndim == 1
                      ? tr_em_cmp(e, TR_CMP_LE, shape[0], tr_em_i64(e, INT64_MAX / (int64_t)tr_ty_size(elem)))
                      : tr_lib_has_room(e, elem, tr_lib_size_estimate(e, ndim, shape)));
}

/* --- broadcasting --- */

static void shape_of(tr_em *e, tr_tv a, tr_tv *shape) {
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        shape[i] = tr_em_dim(e, a, i);
}

/* Sizes of one axis: BCAST or BCASTTO. The first two values of the message are what is compared. */
static tr_tv merge(tr_em *e, tr_op op, tr_exc exc, const tr_shapes *s) {
    assert(s->n >= 2 && tr_em_are_i64(e, s->n, s->x) && "two sizes meet");
    tr_val v[TR_SHAPES_SHOWN];
    const tr_ty *i64 = i64_ty(e);
    if (e->dry)
        return (tr_tv){i64, TR_NOVAL};
    for (uint32_t k = 0; k < s->n; k++)
        v[k] = tr_em_strong(e, s->x[k]).v;
    tr_val r = tr_emit_v(&e->b, op, i64, s->n, v);
    tr_at(e->b.fn, r)->imm.site = tr_lib_site(e, exc, s->text);
    return (tr_tv){i64, r};
}

bool tr_lib_too_many_axes(tr_em *e, tr_tv a, uint32_t ndim) {
    if (a.ty->ndim <= ndim)
        return false;
    return !tr_em_error(e, "could not broadcast a %u-d array into %u dimensions", (unsigned)a.ty->ndim, ndim);
}

/* Checks that the array broadcasts to the shape, whose last axes are the array's. */
void tr_lib_check_broadcast(tr_em *e, tr_tv a, uint32_t ndim, const tr_tv *shape) {
    assert(a.ty->ndim <= ndim && "who has more axes was refused before");
    uint32_t skip = ndim - a.ty->ndim;
    tr_tv own[TR_MAX_NDIM];
    shape_of(e, a, own);
    for (uint32_t i = skip; i < ndim; i++) {
        tr_shapes s = {.n = 2, .x = {own[i - skip], shape[i]}};
        tr_em_shapes(e, &s, "could not broadcast input array from shape ", a.ty->ndim, own, " into shape ",
                     ndim, shape);
        merge(e, TR_OP_BCASTTO, TR_EXC_VALUE, &s);
    }
}

bool tr_em_broadcast(tr_em *e, tr_tv a, uint32_t ndim, const tr_tv *shape, tr_tv *out) {
    if (tr_lib_too_many_axes(e, a, ndim))
        return false;
    uint32_t skip = ndim - a.ty->ndim;
    tr_tv zero = tr_em_i64(e, 0), one = tr_em_i64(e, 1);
    tr_axes x = {0};
    tr_lib_check_broadcast(e, a, ndim, shape);
    for (uint32_t i = 0; i < skip; i++)
        tr_axes_new(e, &x, shape[i]);
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        tr_axes_part(&x, i, zero, shape[skip + i],
                     tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, tr_em_dim(e, a, i), one), zero, one));
    const tr_ty *ty =
        tr_ty_array(e->types, a.ty->elem, ndim, ndim ? TR_LAYOUT_ANY : TR_LAYOUT_C, a.ty->readonly);
    *out = tr_em_view(e, ty, a, &x);
    return true;
}

tr_tv tr_lib_expand_at(tr_em *e, tr_tv a, uint32_t end, uint32_t ndim) {
    uint32_t first = end - a.ty->ndim;
    assert(a.ty->ndim <= end && end <= ndim && "its axes end before those that are there");
    tr_axes x = {0};
    if (a.ty->ndim == ndim)
        return a;
    for (uint32_t i = 0; i < ndim; i++)
        if (i >= first && i < end)
            tr_axes_own(e, &x, a, i - first);
        else
            tr_axes_new(e, &x, tr_em_i64(e, 1));
    tr_layout lay = a.ty->ndim == 0 ? TR_LAYOUT_C : (tr_layout)a.ty->layout;
    const tr_ty *ty = tr_ty_array(e->types, a.ty->elem, ndim, lay, a.ty->readonly);
    return tr_em_view(e, ty, a, &x);
}

/* --- assignment, fill, copy --- */

static bool lam_first(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                      tr_tv *yields) {
    (void)idx;
    const tr_ty *to = d->out[0].ty->elem;
    assert(d->nout == 1 && d->nin + d->ncap == 1 && "one input or one number, one output");
    yields[0] = tr_em_conv(e, d->nin ? elems[0] : caps[0], to);
    return true;
}

/* Arrays without axes have one item: a loop that stores it, as over what np.nditer writes, is one that
 * cannot raise, and may have vectors. */
static bool is_number(const tr_ty *t) {
    return t->ndim == 0 && t->elem->kind != TR_TY_STRUCT;
}

static bool set_only(tr_em *e, tr_tv dst, tr_tv x) {
    tr_em_store(e, dst, NULL, tr_em_conv(e, x, dst.ty->elem));
    return true;
}

bool tr_em_fill(tr_em *e, tr_tv dst, tr_tv x) {
    assert(!dst.ty->readonly && tr_lib_scalar(e, x.ty) && "a number fills what may be written");
    tr_tv shape[TR_MAX_NDIM], none;
    if (is_number(dst.ty))
        return set_only(e, dst, x);
    shape_of(e, dst, shape);
    x = tr_em_conv(e, x, dst.ty->elem);
    tr_pdesc d = {.nspace = dst.ty->ndim,
                  .nout = 1,
                  .ncap = 1,
                  .space = shape,
                  .out = &dst,
                  .caps = &x,
                  .lam = lam_first};
    return tr_em_pattern(e, &d, &none);
}

bool tr_lib_map_into(tr_em *e, tr_tv dst, tr_tv src) {
    assert(dst.ty->ndim == src.ty->ndim && "both have one shape");
    tr_tv shape[TR_MAX_NDIM], none;
    if (is_number(dst.ty))
        return set_only(e, dst, tr_em_load(e, src, NULL));
    shape_of(e, dst, shape);
    tr_pdesc d = {.nspace = dst.ty->ndim,
                  .nin = 1,
                  .nout = 1,
                  .space = shape,
                  .in = &src,
                  .out = &dst,
                  .lam = lam_first};
    return tr_em_pattern(e, &d, &none);
}

bool tr_em_copy(tr_em *e, tr_tv a, tr_layout layout, tr_tv *out) {
    tr_tv shape[TR_MAX_NDIM];
    shape_of(e, a, shape);
    *out = tr_em_alloc(e, a.ty->elem, a.ty->ndim, layout, shape);
    return tr_lib_map_into(e, *out, a);
}

/* Was src made here, and dst not of it? That src is new says nothing yet: a[::-1] = a
 * stores into what was made before. */
static bool is_apart(const tr_em *e, tr_tv dst, tr_tv src) {
    return !e->dry && tr_array_is_fresh(e->b.fn, src.v) &&
           tr_arrays_distinct(e->b.fn, dst.v, src.v, e->b.blk);
}

bool tr_lib_unaliased(tr_em *e, tr_tv dst, tr_tv src, tr_tv *out) {
    if (is_apart(e, dst, src)) {
        *out = src;
        return true;
    }
    if (tr_ty_is_loose(src.ty)) /* a copy of it is of another type, so there is no choice */
        return tr_em_copy(e, src, TR_LAYOUT_C, out);
    tr_layout layout = src.ty->layout == TR_LAYOUT_C || !src.ty->ndim ? TR_LAYOUT_C : TR_LAYOUT_ANY;
    const tr_ty *ty = tr_ty_array(e->types, src.ty->elem, src.ty->ndim, layout, src.ty->readonly);
    tr_tv plain, copy;
    if (e->dry) {
        *out = (tr_tv){ty, TR_NOVAL};
        return tr_em_copy(e, src, TR_LAYOUT_C, &copy);
    }
    tr_fn *f = e->b.fn;
    tr_tv shape[TR_MAX_NDIM];
    tr_val sizes[TR_MAX_NDIM];
    shape_of(e, src, shape);
    for (uint32_t i = 0; i < src.ty->ndim; i++)
        sizes[i] = shape[i].v;
    tr_bid slow = tr_blk_new(f), join = tr_blk_new(f);
    if (!tr_em_coerce(e, src, ty, &plain))
        return false;
    tr_val c = tr_emit2(&e->b, TR_OP_OVERLAP, tr_ty_scalar(e->types, TR_TY_BOOL), dst.v, src.v);
    tr_cbr(&e->b, c, slow, 0, NULL, join, 1, &plain.v);
    e->b.blk = slow;
    if (!tr_em_copy(e, src, TR_LAYOUT_C, &copy) || !tr_em_coerce(e, copy, ty, &copy))
        return false;
    tr_br(&e->b, join, 1, &copy.v);
    e->b.blk = join;
    *out = (tr_tv){ty, tr_blk_param(f, join, ty, NULL)};
    if (src.ty->ndim)
        out->v = tr_emit_resized(&e->b, ty, out->v, sizes); /* src's, whichever it is */
    return true;
}

/* The copy is of no elements where none is needed. */
bool tr_lib_separate(tr_em *e, tr_tv dst, tr_tv src, tr_tv *out) {
    const tr_ty *i1 = tr_ty_scalar(e->types, TR_TY_BOOL);
    tr_tv shape[TR_MAX_NDIM], some[TR_MAX_NDIM], strides[TR_MAX_NDIM], part, copy;
    tr_layout layout = src.ty->layout == TR_LAYOUT_F ? TR_LAYOUT_F : TR_LAYOUT_C;
    if (!src.ty->ndim || tr_ty_is_loose(src.ty))
        return tr_lib_unaliased(e, dst, src, out);
    *out = src;
    if (is_apart(e, dst, src))
        return true;
    tr_tv meet = {i1, e->dry ? TR_NOVAL : tr_emit2(&e->b, TR_OP_OVERLAP, i1, dst.v, src.v)};
    shape_of(e, src, shape);
    for (uint32_t i = 0; i < src.ty->ndim; i++) {
        some[i] = i ? shape[i] : tr_em_select(e, meet, shape[0], tr_em_i64(e, 0));
        strides[i] = tr_em_stride(e, src, i);
    }
    part = tr_em_restride(e, src.ty, src, tr_em_i64(e, 0), some, strides);
    if (!tr_em_copy(e, part, layout, &copy))
        return false;
    strides[src.ty->ndim - 1] = tr_em_i64(e, 1); /* where it is of any layout, the copy is C */
    for (uint32_t i = src.ty->ndim - 1; i-- > 0;)
        strides[i] = tr_em_op2(e, TR_OP_MUL, strides[i + 1], shape[i + 1]);
    copy = tr_em_restride(e, src.ty, copy, tr_em_i64(e, 0), shape, strides);
    if (e->dry)
        return true;
    out->v = tr_emit3(&e->b, TR_OP_SELECT, src.ty, meet.v, copy.v, src.v);
    for (uint32_t i = 0; i < src.ty->ndim; i++)
        strides[i] = tr_em_stride(e, *out, i);
    *out = tr_em_restride(e, src.ty, *out, tr_em_i64(e, 0), shape, strides); /* its sizes are src's */
    return true;
}

/* dst[...] = (a, b): numbers go straight to their places on an axis of their count; else a tuple is an array
 * first. */
static bool assign_tuple(tr_em *e, tr_tv dst, tr_tv src) {
    uint32_t n = src.ty->n;
    bool direct = dst.ty->ndim == 1 && n > 1;
    for (uint32_t i = 0; i < n && direct; i++) {
        const tr_ty *s = tr_lib_scalar(e, src.ty->items[i]);
        direct = s && (!tr_ty_is_complex(s) || tr_ty_is_complex(dst.ty->elem));
    }
    if (!direct) {
        tr_tv a;
        tr_bcall c = {.row = TR_B_NP_ARRAY};
        return tr_fam_as_array(e, &c, src, NULL, &a) && tr_em_assign(e, dst, a);
    }
    tr_tv d = tr_em_dim(e, dst, 0), want = tr_em_i64(e, n);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, d, want), TR_EXC_VALUE,
                "could not broadcast input array from shape ({0},) into shape ({1},)", 2, (tr_tv[]){want, d});
    for (uint32_t i = 0; i < n; i++) {
        tr_tv at = tr_em_i64(e, i);
        tr_em_store(e, dst, &at, tr_em_item(e, src, i));
    }
    return true;
}

tr_tv tr_lib_without_first(tr_em *e, tr_tv a, uint32_t n) {
    assert(n <= a.ty->ndim && "what is left out is there");
    tr_tv one = tr_em_i64(e, 1);
    tr_axes x = {0};
    for (uint32_t i = 0; i < a.ty->ndim; i++) {
        tr_tv size = tr_em_dim(e, a, i);
        if (i < n)
            tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, size, one), TR_EXC_VALUE,
                        "could not broadcast an axis of size {0} to size {1}", 2, (tr_tv[]){size, one});
        else
            tr_axes_own(e, &x, a, i);
    }
    tr_layout lay = x.n ? (tr_layout)a.ty->layout : TR_LAYOUT_C;
    return tr_em_view(e, tr_ty_array(e->types, a.ty->elem, x.n, lay, a.ty->readonly), a, &x);
}

bool tr_em_assign(tr_em *e, tr_tv dst, tr_tv src) {
    if (dst.ty->readonly)
        return tr_em_error(e, "assignment destination is read-only");
    if (src.ty->kind == TR_TY_TUPLE)
        return assign_tuple(e, dst, src);
    if (src.ty->kind == TR_TY_RANGE) {
        tr_tv a;
        return tr_fam_as_array(e, &(tr_bcall){.row = TR_B_NP_ARRAY}, src, NULL, &a) &&
               tr_em_assign(e, dst, a);
    }
    const tr_ty *s = tr_lib_scalar(e, src.ty);
    const tr_ty *from = s ? s : tr_lib_is_array(src) ? src.ty->elem : NULL;
    if (!from)
        return tr_em_error(e, "cannot assign %s to an array of %s", tr_em_tyname(e, src.ty),
                           tr_em_tyname(e, dst.ty->elem));
    if (tr_ty_is_complex(from) && !tr_ty_is_complex(dst.ty->elem))
        return tr_em_error(e, "cannot convert complex to %s", tr_em_tyname(e, dst.ty->elem));
    if (s)
        return tr_em_fill(e, dst, src);
    tr_tv shape[TR_MAX_NDIM], u;
    shape_of(e, dst, shape);
    if (!tr_lib_unaliased(e, dst, src, &u) || tr_lib_too_many_axes(e, u, dst.ty->ndim))
        return false;
    tr_lib_check_broadcast(e, u, dst.ty->ndim, shape);
    return tr_lib_map_into(e, dst, tr_lib_expand_at(e, u, dst.ty->ndim, dst.ty->ndim));
}

/* --- elementwise functions: broadcast, one map --- */

typedef struct mapped {
    uint32_t n;
    const bool *is_array; /* per operand: an element of an input, or a captured scalar */
    tr_lib_eltfn fn;
    const void *user;
} mapped;

static bool lam_mapped(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                       tr_tv *yields) {
    (void)idx;
    const mapped *m = d->user;
    assert(m->n == d->nin + d->ncap && "an operand is an element or a number that is captured");
    tr_tv *x = TR_NEW_N(&e->ctx->arena, tr_tv, m->n + 1u), r;
    for (uint32_t i = 0; i < m->n; i++)
        x[i] = m->is_array[i] ? *elems++ : *caps++;
    if (!m->fn(e, m->user, x, &r))
        return false;
    yields[0] = tr_em_conv(e, r, d->out[0].ty->elem);
    return true;
}

void tr_lib_merge_sizes(tr_em *e, uint32_t n, const tr_tv *x, uint32_t ndim, tr_tv *shape, tr_exc exc,
                        const char *text) {
    uint32_t skip = ndim - n, open = 0;
    assert(n <= ndim && ndim <= TR_MAX_NDIM && tr_em_are_i64(e, n, x) && "sizes for the last axes");
    tr_tv before[TR_MAX_NDIM];
    memcpy(before, shape, ndim * sizeof *shape);
    while (open < ndim && !before[open].ty)
        open++;
    for (uint32_t i = skip; i < ndim; i++) {
        tr_shapes s = {.n = 2, .x = {shape[i], x[i - skip]}};
        if (!shape[i].ty) {
            shape[i] = x[i - skip];
            continue;
        }
        tr_em_shapes(e, &s, text, ndim - open, before + open, " ", n, x);
        shape[i] = merge(e, TR_OP_BCAST, exc, &s);
    }
}

void tr_lib_merge_shape(tr_em *e, tr_tv a, uint32_t ndim, tr_tv *shape, tr_exc exc, const char *text) {
    tr_tv own[TR_MAX_NDIM];
    shape_of(e, a, own);
    tr_lib_merge_sizes(e, a.ty->ndim, own, ndim, shape, exc, text);
}

/* Layout of a new array as NumPy chooses it: that of the operands of full rank, where all agree. */
static tr_layout map_layout(uint32_t n, const tr_tv *x, uint32_t ndim) {
    for (uint32_t i = 0; i < n; i++)
        if (tr_lib_is_array(x[i]) && x[i].ty->ndim == ndim && x[i].ty->layout != TR_LAYOUT_F)
            return TR_LAYOUT_C;
    return ndim > 1 ? TR_LAYOUT_F : TR_LAYOUT_C;
}

/* As NumPy: arrays without axes give a scalar. */
static bool map_scalars(tr_em *e, uint32_t n, const tr_tv *x, const tr_ty *elem, tr_lib_eltfn fn,
                        const void *user, tr_tv *out) {
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        v[i] = tr_lib_is_array(x[i]) ? tr_em_load(e, x[i], NULL) : x[i];
    if (!fn(e, user, v, out))
        return false;
    *out = tr_em_conv(e, *out, elem);
    return true;
}

bool tr_lib_map(tr_em *e, uint32_t n, const tr_tv *x, const tr_ty *elem, const tr_tv *dst, tr_lib_eltfn fn,
                const void *user, tr_tv *out) {
    tr_arena *a = &e->ctx->arena;
    tr_tv shape[TR_MAX_NDIM] = {{NULL, TR_NOVAL}}, none;
    tr_tv *in = TR_NEW_N(a, tr_tv, n + 1u), *caps = TR_NEW_N(a, tr_tv, n + 1u);
    bool *is_array = TR_NEW_N(a, bool, n + 1u);
    mapped *m = TR_NEW(a, mapped);
    uint32_t nin = 0, ncap = 0, ndim = 0;
    for (uint32_t i = 0; i < n; i++) {
        is_array[i] = tr_lib_is_array(x[i]);
        if (is_array[i] && x[i].ty->ndim > ndim)
            ndim = x[i].ty->ndim;
    }
    if (!dst && ndim == 0)
        return map_scalars(e, n, x, elem, fn, user, out);
    if (dst) {
        ndim = dst->ty->ndim;
        shape_of(e, *dst, shape);
    } else {
        for (uint32_t i = 0; i < n; i++)
            if (is_array[i])
                tr_lib_merge_shape(e, x[i], ndim, shape, TR_EXC_VALUE,
                                   "operands could not be broadcast together with shapes ");
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!is_array[i]) {
            caps[ncap++] = x[i];
            continue;
        }
        if (tr_lib_too_many_axes(e, x[i], ndim))
            return false;
        if (dst && (e->dry || x[i].v != dst->v))
            tr_lib_check_broadcast(e, x[i], ndim, shape);
        in[nin++] = tr_lib_expand_at(e, x[i], ndim, ndim);
    }
    *out = dst ? *dst : tr_em_alloc(e, elem, ndim, map_layout(n, x, ndim), shape);
    assert(nin + ncap == n && "an operand is an array or a number");
    *m = (mapped){n, is_array, fn, user};
    tr_pdesc d = {.nspace = ndim,
                  .nin = nin,
                  .nout = 1,
                  .ncap = ncap,
                  .space = shape,
                  .in = in,
                  .out = out,
                  .caps = caps,
                  .lam = lam_mapped,
                  .user = m};
    return tr_em_pattern(e, &d, &none);
}

bool tr_lib_lift_type(tr_em *e, uint32_t n, const tr_tv *x, tr_lib_eltfn fn, const void *user,
                      const tr_ty **out) {
    tr_em probe = *e;
    tr_tv *el = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u), r;
    for (uint32_t i = 0; i < n; i++)
        el[i] = tr_lib_is_array(x[i]) ? (tr_tv){x[i].ty->elem, TR_NOVAL} : x[i];
    probe.dry = true;
    if (!fn(&probe, user, el, &r) || !r.ty) { /* no type: of a function that fails, or has not returned yet */
        for (uint32_t i = 0; i < n && !e->dry; i++)
            if (tr_lib_is_array(x[i]))
                el[i] = tr_lib_undef(e, el[i].ty);
        return fn(e, user, el, &r) && r.ty &&
               tr_em_fail(e, TR_ERR_INTERNAL, "an elementwise function failed dry only");
    }
    const tr_ty *s = tr_lib_scalar(e, r.ty);
    if (!s)
        return tr_em_unsupported(e, "elementwise", "a function with a result of %s on arrays",
                                 tr_em_tyname(e, r.ty));
    *out = tr_ty_strong(e->types, s);
    return true;
}

bool tr_lib_lift(tr_em *e, uint32_t n, const tr_tv *x, tr_lib_eltfn fn, const void *user, tr_tv *out) {
    bool any = false;
    const tr_ty *t;
    for (uint32_t i = 0; i < n; i++)
        any = any || tr_lib_is_array(x[i]);
    if (!any)
        return fn(e, user, x, out);
    return tr_lib_lift_type(e, n, x, fn, user, &t) && tr_lib_map(e, n, x, t, NULL, fn, user, out);
}

typedef struct elementwise {
    tr_binop op;
    tr_cmpop cmp;
    tr_unop un;
    const tr_ty *common; /* both operands are converted to it */
} elementwise;

/* Powers that NumPy computes otherwise where the exponent is a number beside an array: square roots and
 * reciprocals. */
static bool known_power(tr_em *e, tr_tv x, tr_tv y, const tr_ty *t, tr_tv *out) {
    double k = 0.0;
    tr_tv_lit_real(y, &k);
    x = tr_em_conv(e, x, t);
    if (tr_ty_is_complex(t) && k == 0.5)
        return tr_fam_cplx_math(e, TR_MATH_SQRT, x, out);
    if (tr_ty_is_complex(t) && k == -1.0)
        *out = tr_fam_cplx_reciprocal(e, x);
    else if (tr_ty_is_float(t) && k == 0.5)
        *out = tr_fam_math1(e, TR_MATH_SQRT, x);
    else if (tr_ty_is_float(t) && k == -1.0)
        *out = tr_em_op2(e, TR_OP_DIV, tr_em_num(e, t, 1.0), x);
    else if (k == 2.0)
        *out = tr_em_op2(e, TR_OP_MUL, x, x);
    else
        return false;
    return true;
}

/* Operators on integers of one width stay in it; a division of 32 bits is cheaper than one of 64, and
 * vectorises. */
static tr_op narrow_op(tr_binop op) {
    switch (op) {
    case TR_BIN_FLOORDIV: return TR_OP_FLOORDIV;
    case TR_BIN_MOD: return TR_OP_FLOORMOD;
    default: return tr_lib_plain_op(op);
    }
}

/* op on two scalars in type t, which NumPy computes in. */
static bool binary_in(tr_em *e, tr_binop op, tr_tv x, tr_tv y, const tr_ty *t, tr_tv *out) {
    tr_op narrow = tr_ty_is_int(t) ? narrow_op(op) : TR_OP__COUNT;
    x = tr_em_conv(e, x, t);
    y = tr_em_conv(e, y, t);
    if (narrow == TR_OP__COUNT)
        return tr_lib_scalar_binary(e, op, x, y, TR_RULES_NUMPY, out);
    *out = tr_em_op2(e, narrow, x, y);
    return true;
}

static bool elt_binary(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const elementwise *w = user;
    if (w->common->kind == TR_TY_F16) {
        elementwise wide = *w;
        tr_tv v[2];
        wide.common = tr_ty_scalar(e->types, TR_TY_F32);
        tr_lib_unhalve(e, 2, x, v);
        bool known = w->op == TR_BIN_POW && known_power(e, v[0], x[1], wide.common, out);
        if (!known && !elt_binary(e, &wide, v, out))
            return false;
        *out = tr_lib_halved(e, *out);
        return true;
    }
    if (w->op == TR_BIN_POW && known_power(e, x[0], x[1], w->common, out))
        return true;
    if (w->op == TR_BIN_POW &&
        ((tr_ty_is_float(w->common) && x[1].ty->kind == TR_TY_LIT) ||
         tr_ty_is_complex(w->common))) /* small powers are products, real ones cheaper */
        return tr_lib_scalar_binary(e, w->op, tr_em_conv(e, x[0], w->common), x[1], TR_RULES_NUMPY, out);
    return binary_in(e, w->op, x[0], x[1], w->common, out);
}

static bool elt_compare(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    return tr_lib_np_compare(e, ((const elementwise *)user)->cmp, x[0], x[1], out);
}

static bool elt_unary(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    return tr_em_unary(e, ((const elementwise *)user)->un, x[0], out);
}

const tr_ty *tr_lib_common(tr_em *e, const tr_ty *x, const tr_ty *y) {
    return tr_ty_common(e->types, x, y, e->opts->promote_numba);
}

const tr_ty *tr_lib_ufunc_type(tr_em *e, bool quotient, const tr_ty *x, const tr_ty *y) {
    if (e->opts->promote_numba)
        return tr_ty_arith(e->types, quotient ? 'q' : 'u', x, y, true);
    return tr_lib_common(e, x, y);
}

/* Type of NumPy's result: that of the operands together, but for true division and for arithmetic on two
 * bools. */
static const tr_ty *np_result(tr_em *e, tr_binop op, const tr_ty *x, const tr_ty *y) {
    const tr_ty *t = tr_ty_strong(e->types, tr_lib_ufunc_type(e, op == TR_BIN_DIV, x, y));
    if (op == TR_BIN_DIV && !tr_ty_is_float(t) && !tr_ty_is_complex(t))
        return tr_ty_scalar(e->types, TR_TY_F64);
    bool wide =
        op == TR_BIN_FLOORDIV || op == TR_BIN_MOD || op == TR_BIN_POW || op == TR_BIN_SHL || op == TR_BIN_SHR;
    return wide && t->kind == TR_TY_BOOL ? tr_ty_scalar(e->types, TR_TY_I8) : t;
}

static const tr_ty *elem_of(tr_em *e, tr_tv x) {
    return tr_lib_is_array(x) ? x.ty->elem : tr_lib_scalar(e, x.ty);
}

bool tr_lib_np_compare(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    const tr_ty *t = tr_ty_strong(e->types, tr_lib_ufunc_type(e, false, elem_of(e, x), elem_of(e, y)));
    if (!tr_ty_is_complex(t))
        return tr_em_compare(e, op, x, y, out);
    *out = tr_fam_cplx_compare(e, op, tr_em_conv(e, x, t), tr_em_conv(e, y, t));
    return true;
}

/* --- literals that the other operand's type cannot hold --- */

/* A Python integer that is known when the program runs: a graph was given it. */
static void check_weak_integer(tr_em *e, tr_tv x, const tr_ty *t) {
    unsigned bits = 8 * tr_ty_size(t);
    bool is_unsigned = tr_ty_class(t) == 'u';
    tr_tv v = tr_em_strong(e, x), ok = tr_em_bool(e, true);
    if (is_unsigned || bits < 64) {
        int64_t least = is_unsigned ? 0 : -((int64_t)1 << (bits - 1));
        ok = tr_em_cmp(e, TR_CMP_GE, v, tr_em_i64(e, least));
    }
    if (bits < 64) {
        int64_t most = ((int64_t)1 << (bits - !is_unsigned)) - 1;
        ok = tr_fam_and(e, ok, tr_em_cmp(e, TR_CMP_LE, v, tr_em_i64(e, most)));
    }
    tr_em_check(
        e, ok, TR_EXC_OVERFLOW,
        tr_arena_printf(&e->ctx->arena, "Python integer {0} out of bounds for %s", tr_em_tyname(e, t)), 1,
        &v);
}

void tr_lib_check_literal(tr_em *e, tr_tv x, const tr_ty *t) {
    if (x.ty->weak && x.ty->kind == TR_TY_I64 && tr_ty_is_int(t) && t->kind != TR_TY_I64)
        check_weak_integer(e, x, t);
    if (tr_ty_is_int(t) && !tr_tv_fits(x, t))
        tr_em_check(e, tr_em_bool(e, false), TR_EXC_OVERFLOW,
                    tr_arena_printf(&e->ctx->arena, "Python integer %s out of bounds for %s", x.ty->lit->repr,
                                    tr_em_tyname(e, t)),
                    0, NULL);
}

void tr_lib_check_real_literal(tr_em *e, tr_tv x, const tr_ty *t) {
    double d;
    tr_bigint v;
    if (!tr_ty_is_int(t) || tr_tv_lit_integer(x, &v) || !tr_tv_lit_real(x, &d))
        return;
    if (isnan(d)) {
        tr_em_check(e, tr_em_bool(e, false), TR_EXC_VALUE, "cannot convert float NaN to integer", 0, NULL);
        return;
    }
    bool fits = fabs(d) < 0x1p63
                    ? (v = tr_bigint_of((int64_t)d), tr_bigint_fits(&v, t))
                    : d > 0 && d < 0x1p64 && (v = tr_bigint_of_u64((uint64_t)d), tr_bigint_fits(&v, t));
    if (!fits)
        tr_em_check(e, tr_em_bool(e, false), TR_EXC_OVERFLOW,
                    tr_arena_printf(&e->ctx->arena, "Python float %s out of bounds for %s", x.ty->lit->repr,
                                    tr_em_tyname(e, t)),
                    0, NULL);
}

bool tr_lib_check_literals(tr_em *e, uint32_t n, const tr_tv *x) {
    const tr_ty *t = NULL;
    for (uint32_t i = 0; i < n; i++)
        t = t ? tr_lib_ufunc_type(e, false, t, elem_of(e, x[i])) : elem_of(e, x[i]);
    t = tr_ty_strong(e->types, t);
    for (uint32_t i = 0; i < n; i++)
        tr_lib_check_literal(e, x[i], t);
    return true;
}

/* --- x in a: (a == x).any(), as NumPy --- */

bool tr_lib_lam_item(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                     tr_tv *yields) {
    (void)e, (void)d, (void)idx, (void)caps;
    yields[0] = elems[0];
    return true;
}

bool tr_lib_contains_array(tr_em *e, tr_tv a, tr_tv x, tr_tv *out) {
    tr_tv same, shape[TR_MAX_NDIM], none = tr_em_strong(e, tr_em_bool(e, false));
    tr_redk any = TR_RED_OR;
    if (!tr_em_compare(e, TR_CMP_EQ, a, x, &same))
        return false;
    if (!tr_lib_is_array(same)) {
        *out = same;
        return true;
    }
    shape_of(e, same, shape);
    tr_pdesc d = {.nspace = same.ty->ndim,
                  .nin = 1,
                  .nred = 1,
                  .space = shape,
                  .in = &same,
                  .reds = &any,
                  .init = &none,
                  .lam = tr_lib_lam_item};
    return tr_em_pattern(e, &d, out);
}

/* --- integers to negative powers raise, as in NumPy; the exponents are looked at before --- */

static bool lam_negative(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                         tr_tv *yields) {
    (void)d;
    (void)idx;
    (void)caps;
    yields[0] = tr_em_cmp(e, TR_CMP_LT, elems[0], tr_em_num(e, elems[0].ty, 0.0));
    return true;
}

bool tr_lib_check_power(tr_em *e, tr_tv x, tr_tv y) {
    const tr_ty *xs = elem_of(e, x), *ys = elem_of(e, y);
    tr_tv bad, shape[TR_MAX_NDIM], init = tr_em_bool(e, false);
    tr_redk red = TR_RED_OR;
    if (tr_ty_class(ys) != 'i' || (!tr_ty_is_int(xs) && xs->kind != TR_TY_BOOL))
        return true;
    if (tr_ty_is_float(np_result(e, TR_BIN_POW, xs, ys)))
        return true;
    if (!tr_lib_is_array(y)) {
        bad = tr_em_cmp(e, TR_CMP_LT, y, tr_em_num(e, ys, 0.0));
    } else {
        shape_of(e, y, shape);
        tr_pdesc d = {.nspace = y.ty->ndim,
                      .nin = 1,
                      .nred = 1,
                      .space = shape,
                      .in = &y,
                      .reds = &red,
                      .init = &init,
                      .lam = lam_negative};
        if (!tr_em_pattern(e, &d, &bad))
            return false;
    }
    if (tr_lib_is_array(x)) /* nothing is computed without items */
        bad = tr_fam_and(e, bad, tr_em_cmp(e, TR_CMP_NE, tr_em_size(e, x), tr_em_i64(e, 0)));
    tr_em_check(e, tr_fam_not(e, bad), TR_EXC_VALUE, "Integers to negative integer powers are not allowed.",
                0, NULL);
    return true;
}

/* The operator has a meaning where NumPy's result is a `t`. Said of the operands' own types: what they are
 * converted to need not be theirs. */
static bool check_operator(tr_em *e, tr_binop op, const tr_ty *x, const tr_ty *y, const tr_ty *t) {
    if (op == TR_BIN_SUB && t->kind == TR_TY_BOOL)
        return tr_em_error(e, "NumPy has no subtraction of booleans; use ^ or logical_xor");
    return !tr_lib_is_bitwise(op) || tr_ty_is_int(t) || t->kind == TR_TY_BOOL || tr_lib_op_error(e, op, x, y);
}

bool tr_lib_np_binary(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    const tr_ty *xs = tr_lib_scalar(e, x.ty), *ys = tr_lib_scalar(e, y.ty), *t = np_result(e, op, xs, ys);
    if (!check_operator(e, op, xs, ys, t))
        return false;
    if (!binary_in(e, op, x, y, t, out))
        return false;
    *out = tr_em_conv(e, *out, t);
    return true;
}

static bool no_place(tr_em *e, const tr_ty *result, tr_tv x) {
    tr_em_error(e, "cannot store a result of %s into an array of %s in place", tr_em_tyname(e, result),
                tr_em_tyname(e, x.ty->elem));
    tr_em_hint(e, "make a new array, as in b = a * x, or begin with a.astype(%s)",
               tr_ty_is_complex(result) ? "complex" : "float");
    return false;
}

static bool matmul_into(tr_em *e, tr_tv x, tr_tv *out) {
    tr_tv r = *out;
    *out = x;
    if (!tr_lib_is_array(r) || r.ty->ndim != x.ty->ndim)
        return tr_em_error(e, "@= cannot change the number of axes");
    if (!tr_fam_same_kind(r.ty->elem, x.ty->elem))
        return no_place(e, r.ty->elem, x);
    return tr_em_assign(e, x, r);
}

bool tr_lib_array_binary(tr_em *e, tr_binop op, tr_tv x, tr_tv y, bool inplace, tr_tv *out) {
    if (op == TR_BIN_MATMUL) /* in place: the product first, then a copy into x */
        return tr_lib_matmul(e, x, y, out) && (!inplace || matmul_into(e, x, out));
    const tr_ty *t = np_result(e, op, elem_of(e, x), elem_of(e, y));
    elementwise *w = TR_NEW(&e->ctx->arena, elementwise);
    *w = (elementwise){.op = op, .common = t};
    if (!check_operator(e, op, elem_of(e, x), elem_of(e, y), t))
        return false;
    if (tr_ty_is_int(t) && !tr_lib_check_literals(e, 2, (tr_tv[]){x, y}))
        return false;
    if (op == TR_BIN_POW && !tr_lib_check_power(e, x, y))
        return false;
    if (!inplace)
        return tr_lib_map(e, 2, (tr_tv[]){x, y}, t, NULL, elt_binary, w, out);
    if (x.ty->readonly)
        return tr_em_error(e, "assignment destination is read-only");
    if (!tr_fam_same_kind(t, x.ty->elem))
        return no_place(e, t, x);
    tr_tv u = y;
    if (tr_lib_is_array(y) && !tr_lib_unaliased(e, x, y, &u))
        return false;
    return tr_lib_map(e, 2, (tr_tv[]){x, u}, x.ty->elem, &x, elt_binary, w, out);
}

bool tr_lib_array_compare(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    elementwise *w = TR_NEW(&e->ctx->arena, elementwise);
    w->cmp = op;
    return tr_lib_map(e, 2, (tr_tv[]){x, y}, tr_ty_scalar(e->types, TR_TY_BOOL), NULL, elt_compare, w, out);
}

bool tr_lib_unary_array(tr_em *e, tr_unop op, tr_tv x, tr_tv *out) {
    if ((op == TR_UN_NEG || op == TR_UN_POS) && x.ty->elem->kind == TR_TY_BOOL)
        return tr_em_error(e, "bad operand type for unary %s: an array of bool", op == TR_UN_NEG ? "-" : "+");
    elementwise *w = TR_NEW(&e->ctx->arena, elementwise);
    w->un = op;
    return tr_lib_map(e, 1, &x, x.ty->elem, NULL, elt_unary, w, out);
}
