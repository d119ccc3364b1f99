/* a[i] and a[i] = v: basic indexing with integers, slices, Ellipsis and newaxis (arrays as indices: fancy.c);
 * ranges, a.flat. Negative indices wrap once; out of range raises IndexError unless boundscheck is off. */
#include <assert.h>
#include <string.h>

#include "lib/fam.h"
#include "lib/kinds.h"
#include "lib/table.h"

static const tr_ty *i64_ty(tr_em *e) {
    return tr_ty_scalar(e->types, TR_TY_I64);
}
static tr_tv one(tr_em *e) {
    return tr_em_i64(e, 1);
}
static tr_tv zero(tr_em *e) {
    return tr_em_i64(e, 0);
}
static tr_tv add(tr_em *e, tr_tv x, tr_tv y) {
    return tr_em_nsw(e, TR_OP_ADD, x, y);
}
static tr_tv sub(tr_em *e, tr_tv x, tr_tv y) {
    return tr_em_nsw(e, TR_OP_SUB, x, y);
}

bool tr_lib_is_index(tr_em *e, tr_tv x) {
    const tr_ty *s = tr_lib_scalar(e, x.ty);
    return s && tr_ty_is_int(s);
}

bool tr_lib_is_place(tr_em *e, tr_tv x) {
    const tr_ty *s = tr_lib_scalar(e, x.ty);
    return s && (tr_ty_is_int(s) || s->kind == TR_TY_BOOL);
}

static bool slice_is_full(tr_tv s) {
    assert(s.ty->kind == TR_TY_SLICE && s.ty->n == 3 && "a slice has start, stop and step");
    int64_t step;
    return tr_tv_is_none((tr_tv){s.ty->items[0], s.v}) && tr_tv_is_none((tr_tv){s.ty->items[1], s.v}) &&
           (tr_tv_is_none((tr_tv){s.ty->items[2], s.v}) ||
            (tr_tv_lit_int((tr_tv){s.ty->items[2], s.v}, &step) && step == 1));
}

static bool classify(tr_em *e, tr_tv a, tr_tv x, tr_idx *out) {
    if (tr_lib_is_index(e, x))
        *out = (tr_idx){'i', x};
    else if (x.ty->kind == TR_TY_SLICE)
        *out = (tr_idx){slice_is_full(x) ? 'f' : 's', x};
    else if (tr_tv_is_none(x))
        *out = (tr_idx){'n', x};
    else if (tr_lib_is_array(x) && x.ty->ndim == 0 && tr_ty_is_int(x.ty->elem))
        *out = (tr_idx){'i', tr_em_load(e, x, NULL)};
    else if (tr_lib_is_array(x) && tr_ty_is_int(x.ty->elem))
        *out = (tr_idx){'a', x};
    else if (tr_lib_is_array(x) && x.ty->elem->kind == TR_TY_BOOL && x.ty->ndim > 0)
        *out = (tr_idx){'m', x};
    else {
        tr_em_error(e, "%s cannot be indexed with %s", tr_em_tyname(e, a.ty), tr_em_tyname(e, x.ty));
        if (tr_lib_is_array(x))
            tr_em_hint(e, "arrays that index are of integers or bool, and have an axis");
        if (tr_lib_scalar(e, x.ty) && tr_ty_is_float(tr_lib_scalar(e, x.ty)))
            tr_em_hint(e, "convert the index with int(), or divide with //");
        return false;
    }
    return true;
}

static bool is_ellipsis(tr_tv x) {
    return x.ty->kind == TR_TY_LIT && x.ty->lit->kind == TR_OBJ_ELLIPSIS;
}

static bool is_mask(tr_tv x) {
    return tr_lib_is_array(x) && x.ty->elem->kind == TR_TY_BOOL;
}

/* Lists [0, 2, 1] are arrays of integers. */
static bool as_index(tr_em *e, tr_tv x, tr_tv *out) {
    tr_bcall c = {.row = TR_B_NP_ARRAY};
    *out = x;
    return !tr_ty_is_list(x.ty) || tr_fam_as_array(e, &c, x, NULL, out);
}

/* The index as one item per axis (and newaxes), Ellipsis expanded, missing axes full. */
static bool collect(tr_em *e, tr_tv a, tr_tv idx, tr_idx *items, uint32_t *n) {
    bool many = idx.ty->kind == TR_TY_TUPLE && !tr_ty_is_list(idx.ty);
    uint32_t k = many ? idx.ty->n : 1, axes = 0, dots = 0;
    *n = 0;
    tr_tv *x = TR_NEW_N(&e->ctx->arena, tr_tv, k + 1u);
    if (k > 2 * TR_MAX_NDIM)
        return tr_em_error(e, "too many indices: %u", k);
    for (uint32_t i = 0; i < k; i++) {
        if (!as_index(e, many ? tr_em_item(e, idx, i) : idx, &x[i]))
            return false;
        if (is_ellipsis(x[i]))
            dots++;
        else if (!tr_tv_is_none(x[i]))
            axes += is_mask(x[i]) ? x[i].ty->ndim : 1u;
    }
    if (dots > 1)
        return tr_em_error(e, "an index can only have a single ellipsis ('...')");
    if (axes > a.ty->ndim)
        return tr_em_error(e, "too many indices: the array is %u-dimensional, but %u were indexed",
                           (unsigned)a.ty->ndim, axes);
    uint32_t missing = a.ty->ndim - axes;
    assert(k + missing <= 4 * TR_MAX_NDIM && "there is room for all parts");
    for (uint32_t i = 0; i < k; i++) {
        if (is_ellipsis(x[i])) {
            if (missing == 0)
                items[(*n)++] = (tr_idx){'.', x[i]};
            for (; missing > 0; missing--)
                items[(*n)++] = (tr_idx){'f', x[i]};
        } else if (!classify(e, a, x[i], &items[(*n)++])) {
            return false;
        }
    }
    for (; missing > 0; missing--)
        items[(*n)++] = (tr_idx){'f', idx};
    return true;
}

tr_tv tr_lib_wrap(tr_em *e, tr_tv i, tr_tv n) {
    assert(tr_em_are_i64(e, 1, &i) && tr_em_are_i64(e, 1, &n) && "an index and a size");
    tr_tv w = tr_lib_emit(e, TR_OP_WRAP, i64_ty(e), 2, (tr_val[]){i.v, n.v});
    if (!e->dry)
        tr_at(e->b.fn, w.v)->sub = !e->opts->boundscheck;
    return w;
}

/* An index into an axis of n items as an int64 in range. */
tr_tv tr_lib_checked_index(tr_em *e, tr_tv x, tr_tv n, uint32_t axis, const char *what) {
    assert(tr_lib_is_place(e, x) && tr_em_are_i64(e, 1, &n) && "an integer, and a size");
    int64_t lit;
    bool known = tr_tv_lit_int(x, &lit) && lit >= 0;
    bool is_unsigned = tr_ty_class(tr_lib_scalar(e, x.ty)) == 'u';
    tr_tv i = tr_em_conv(e, x, i64_ty(e));
    if (!known && !is_unsigned)
        i = tr_lib_wrap(e, i, n);
    if (e->opts->boundscheck && !e->dry) {
        tr_val c = tr_emit2(&e->b, TR_OP_CHECKIDX, NULL, i.v, n.v);
        const char *text =
            what ? what
                 : tr_arena_printf(&e->ctx->arena, "index {%c} is out of bounds for axis %u with size {1}",
                                   is_unsigned ? 'u' : 'w', axis);
        tr_at(e->b.fn, c)->imm.site = tr_lib_site(e, TR_EXC_INDEX, text);
    }
    return i;
}

static tr_tv clamp(tr_em *e, tr_tv x, tr_tv lo, tr_tv hi) {
    assert(tr_em_are_i64(e, 3, (tr_tv[]){x, lo, hi}) && "bounds are int64");
    tr_tv low = tr_em_op2(e, TR_OP_MAX, x, lo);
    return tr_em_op2(e, TR_OP_MIN, low, hi);
}

/* start or stop of a slice brought into [lo, hi]. */
static tr_tv bound(tr_em *e, tr_tv x, tr_tv n, tr_tv lo, tr_tv hi) {
    tr_tv i = tr_em_conv(e, x, i64_ty(e));
    return clamp(e, tr_lib_wrap(e, i, n), lo, hi);
}

static tr_tv at_least_0(tr_em *e, tr_tv x) {
    return tr_em_op2(e, TR_OP_MAX, x, zero(e));
}

/* How many items a slice leaves out, where that is a number whatever the size: a[1:], a[:-1],
 * a[1:-2], a[::-1]. Those that leave out as many have one size then, and what is computed of several
 * needs no test that their sizes agree. */
static bool slice_leaves_out(tr_tv from, tr_tv to, int64_t step, int64_t *k) {
    int64_t start = 0, stop = 0;
    bool whole = tr_tv_is_none(from) && tr_tv_is_none(to);
    bool known = (tr_tv_is_none(from) || (tr_tv_lit_int(from, &start) && start >= 0 && start <= INT32_MAX)) &&
                 (tr_tv_is_none(to) || (tr_tv_lit_int(to, &stop) && stop < 0 && stop >= -INT32_MAX));
    *k = start - stop;
    return whole ? step == 1 || step == -1 : known && step == 1;
}

bool tr_lib_slice_bounds(tr_em *e, tr_tv s, tr_tv n, tr_tv *start, tr_tv *len, tr_tv *step) {
    assert(s.ty->kind == TR_TY_SLICE && tr_em_are_i64(e, 1, &n) && "a slice of an axis");
    tr_tv b = tr_em_item(e, s, 0), t = tr_em_item(e, s, 1), k = tr_em_item(e, s, 2);
    tr_tv *it[3] = {&b, &t, &k};
    for (int i = 0; i < 3; i++)
        if (!tr_tv_is_none(*it[i]) && !tr_lib_is_index(e, *it[i]))
            return tr_em_error(e, "slice indices must be integers or None, not %s",
                               tr_em_tyname(e, it[i]->ty));
    int64_t lit = 1;
    bool known = tr_tv_is_none(k) || (tr_tv_lit_int(k, &lit) && lit != 0);
    if (known) {
        *step = tr_em_i64(e, lit);
        tr_tv lo = tr_em_i64(e, lit > 0 ? 0 : -1), hi = lit > 0 ? n : sub(e, n, one(e));
        *start = tr_tv_is_none(b) ? (lit > 0 ? lo : hi) : bound(e, b, n, lo, hi);
        int64_t out;
        if (slice_leaves_out(b, t, lit, &out)) {
            *len = out ? at_least_0(e, add(e, n, tr_em_i64(e, -out))) : n;
            return true;
        }
        tr_tv stop = tr_tv_is_none(t) ? (lit > 0 ? hi : lo) : bound(e, t, n, lo, hi);
        if (lit == 1 || lit == -1)
            *len = at_least_0(e, lit > 0 ? sub(e, stop, *start) : sub(e, *start, stop));
        else
            *len = tr_lib_range_len(e, *start, stop, *step);
        return true;
    }
    *step = tr_em_conv(e, k, i64_ty(e));
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, *step, zero(e)), TR_EXC_VALUE, "slice step cannot be zero", 0,
                NULL);
    tr_tv neg = tr_em_cmp(e, TR_CMP_LT, *step, zero(e)), n1 = sub(e, n, one(e));
    tr_tv lo = tr_em_select(e, neg, tr_em_i64(e, -1), zero(e)), hi = tr_em_select(e, neg, n1, n);
    *start = tr_tv_is_none(b) ? tr_em_select(e, neg, hi, lo) : bound(e, b, n, lo, hi);
    tr_tv stop = tr_tv_is_none(t) ? tr_em_select(e, neg, lo, hi) : bound(e, t, n, lo, hi);
    *len = tr_lib_range_len(e, *start, stop, *step);
    return true;
}

/* Layout of the view: C when leading integers are followed by at most one partial step-1
 * slice and then full axes. */
static tr_layout view_layout(tr_tv a, const tr_idx *it, uint32_t n) {
    if (a.ty->layout == TR_LAYOUT_ANY)
        return TR_LAYOUT_ANY;
    bool lead = true, ok_c = true, ok_f = a.ty->layout == TR_LAYOUT_F || a.ty->ndim <= 1;
    int64_t step;
    for (uint32_t i = 0; i < n; i++) {
        if (it[i].kind == 'n' || it[i].kind == 'f' || it[i].kind == '.') {
            if (it[i].kind == 'f')
                lead = false;
            continue;
        }
        ok_f = false;
        if (!lead)
            ok_c = false;
        if (it[i].kind == 's') {
            tr_tv k = {it[i].v.ty->items[2], TR_NOVAL};
            if (!tr_tv_is_none(k) && !(tr_tv_lit_int(k, &step) && step == 1))
                ok_c = false;
            lead = false;
        }
    }
    if (a.ty->layout == TR_LAYOUT_C && ok_c)
        return TR_LAYOUT_C;
    return a.ty->layout == TR_LAYOUT_F && ok_f ? TR_LAYOUT_F : TR_LAYOUT_ANY;
}

/* Resolves an index into a scalar position (all integers) or a view. */
typedef struct place {
    tr_idx it[4 * TR_MAX_NDIM];
    uint32_t n;
    bool scalar, fancy; /* fancy: some part is an array, nothing is resolved */
    tr_tv idx[TR_MAX_NDIM];
    tr_tv view;
} place;

bool tr_lib_index_view(tr_em *e, tr_tv a, const tr_idx *it, uint32_t n, tr_tv *out) {
    uint32_t ax = 0;
    tr_axes x = {0};
    for (uint32_t i = 0; i < n; i++) {
        if (it[i].kind == '.')
            continue;
        if (it[i].kind != 'i' && x.n >= TR_MAX_NDIM)
            return tr_em_error(e, "more than %d dimensions", TR_MAX_NDIM);
        if (it[i].kind == 'n') {
            tr_axes_new(e, &x, one(e));
            continue;
        }
        tr_tv dim = tr_em_dim(e, a, ax), start, len, step;
        if (it[i].kind == 'i')
            x.start[ax] = tr_lib_checked_index(e, it[i].v, dim, ax, NULL);
        else if (it[i].kind == 'f')
            tr_axes_own(e, &x, a, ax);
        else if (tr_lib_slice_bounds(e, it[i].v, dim, &start, &len, &step))
            tr_axes_part(&x, ax, start, len, step);
        else
            return false;
        ax++;
    }
    assert(ax == a.ty->ndim && "every axis has its part");
    tr_layout lay = x.n == 0 ? TR_LAYOUT_C : view_layout(a, it, n);
    *out = tr_em_view(e, tr_ty_array(e->types, a.ty->elem, x.n, lay, a.ty->readonly), a, &x);
    return true;
}

bool tr_lib_index_parts(tr_em *e, tr_tv a, tr_tv idx, tr_idx *items, uint32_t *n) {
    return collect(e, a, idx, items, n);
}

static bool resolve(tr_em *e, tr_tv a, tr_tv idx, place *p) {
    if (!collect(e, a, idx, p->it, &p->n))
        return false;
    p->scalar = true;
    p->fancy = false;
    for (uint32_t i = 0; i < p->n; i++) {
        p->scalar = p->scalar && p->it[i].kind == 'i';
        p->fancy = p->fancy || p->it[i].kind == 'a' || p->it[i].kind == 'm';
    }
    if (p->fancy)
        return true;
    for (uint32_t i = 0; i < p->n && p->scalar; i++)
        p->idx[i] = tr_lib_checked_index(e, p->it[i].v, tr_em_dim(e, a, i), i, NULL);
    return p->scalar || tr_lib_index_view(e, a, p->it, p->n, &p->view);
}

tr_tv tr_lib_at_place(tr_em *e, tr_tv a, uint32_t axis, tr_tv at, tr_layout lay) {
    assert(axis < a.ty->ndim && tr_em_are_i64(e, 1, &at) && "a place on an axis");
    tr_axes x = {0};
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        if (i == axis)
            x.start[i] = at;
        else
            tr_axes_own(e, &x, a, i);
    return tr_em_view(e, tr_ty_array(e->types, a.ty->elem, x.n, lay, a.ty->readonly), a, &x);
}

bool tr_lib_at_array(tr_em *e, tr_tv a, tr_tv i, tr_tv *out) {
    if (a.ty->ndim == 0)
        return tr_em_error(e, "iteration over a 0-d array");
    if (a.ty->ndim == 1) {
        *out = tr_em_load(e, a, &i);
        return true;
    }
    *out = tr_lib_at_place(e, a, 0, i, a.ty->layout == TR_LAYOUT_C ? TR_LAYOUT_C : TR_LAYOUT_ANY);
    return true;
}

/* --- ranges, flat --- */

static bool is_flat(tr_tv a) {
    return a.ty->kind == TR_TY_FLAT;
}

/* An index into a range or a flat, checked, and from the beginning. */
static bool sequence_index(tr_em *e, tr_tv a, tr_tv i, tr_tv *out) {
    assert((is_flat(a) || a.ty->kind == TR_TY_RANGE) && "both have a number for each item");
    tr_tv n;
    const char *text =
        is_flat(a) ? "index {w} is out of bounds for size {1}" : "range object index out of range";
    if (!(is_flat(a) ? tr_em_iterlen(e, a, &n) : tr_lib_range_size(e, a, &n)))
        return false;
    *out = tr_lib_checked_index(e, i, n, 0, text);
    return true;
}

/* a[idx] = v for a number v, or an array of no axes. */
static bool store_item(tr_em *e, tr_tv a, const tr_tv *idx, tr_tv v) {
    assert(!a.ty->readonly && "who is read-only was refused before");
    const tr_ty *s = tr_lib_scalar(e, v.ty);
    if (!s && tr_lib_is_array(v) && v.ty->ndim == 0) {
        v = tr_em_load(e, v, NULL);
        s = v.ty;
    }
    if (!s || (tr_ty_is_complex(s) && !tr_ty_is_complex(a.ty->elem)))
        return tr_em_error(e, "cannot store %s in an array of %s", tr_em_tyname(e, v.ty),
                           tr_em_tyname(e, a.ty->elem));
    tr_em_store(e, a, idx, v);
    return true;
}

static bool read_only(tr_em *e) {
    return tr_em_error(e, "cannot assign to a read-only array");
}

static bool flat_set(tr_em *e, tr_tv flat, tr_tv i, tr_tv v) {
    tr_tv a = tr_em_item(e, flat, 0), idx[TR_MAX_NDIM];
    if (a.ty->readonly)
        return read_only(e);
    if (!sequence_index(e, flat, i, &i))
        return false;
    a = tr_lib_flat_place(e, a, i, idx);
    return store_item(e, a, idx, v);
}

/* --- by kind --- */

void tr_lib_advise_container(tr_em *e, tr_tv x) {
    if (x.ty->kind != TR_TY_LIT || x.ty->lit->kind != TR_OBJ_OPAQUE)
        return;
    if (strstr(x.ty->lit->repr, "a list"))
        tr_em_hint(e, "make it an array, np.array(x), or pass it as an argument");
    else if (strstr(x.ty->lit->repr, "class 'dict'"))
        tr_em_hint(
            e, "a dict that is a global is compiled where its keys are names: pass this one as an argument");
}

bool tr_lib_get_range(tr_em *e, tr_tv r, tr_tv i, tr_tv *out) {
    if (!tr_lib_is_index(e, i))
        return tr_lib_get_no(e, r, i, out);
    return sequence_index(e, r, i, &i) && tr_em_iterget(e, r, i, out);
}

bool tr_lib_get_flat(tr_em *e, tr_tv flat, tr_tv i, tr_tv *out) {
    return tr_lib_get_range(e, flat, i, out);
}

bool tr_lib_get_array(tr_em *e, tr_tv a, tr_tv i, tr_tv *out) {
    place p;
    if (!resolve(e, a, i, &p))
        return false;
    if (p.fancy)
        return tr_lib_fancy_get(e, a, p.it, p.n, out);
    *out = p.scalar ? tr_em_load(e, a, p.idx) : p.view;
    return true;
}

bool tr_em_getitem(tr_em *e, tr_tv a, tr_tv i, tr_tv *out) {
    assert(tr_em_is_whole(e, a) && tr_em_is_whole(e, i) && "a value is indexed by one");
    bool ok = tr_lib_kind(a.ty)->get(e, a, i, out);
    assert((!ok || !out->ty || tr_em_is_given(e, *out)) && "an item is a value, if it is known already");
    return ok;
}

bool tr_lib_set_flat(tr_em *e, tr_tv flat, tr_tv i, tr_tv v, bool itself) {
    return tr_lib_is_index(e, i) ? flat_set(e, flat, i, v) : tr_lib_set_no(e, flat, i, v, itself);
}

bool tr_lib_set_array(tr_em *e, tr_tv a, tr_tv i, tr_tv v, bool itself) {
    place p;
    if (a.ty->readonly)
        return read_only(e);
    if (!resolve(e, a, i, &p))
        return false;
    if (p.fancy)
        return tr_lib_fancy_set(e, a, p.it, p.n, v);
    if (!p.scalar && itself)
        return true; /* what was changed in place stands there */
    if (!p.scalar && tr_lib_is_array(v) && v.ty->ndim > p.view.ty->ndim)
        v = tr_lib_without_first(e, v, v.ty->ndim - p.view.ty->ndim);
    if (!p.scalar)
        return tr_em_assign(e, p.view, v);
    return store_item(e, a, p.idx, v);
}

bool tr_em_delitem(tr_em *e, tr_tv a, tr_tv i) {
    if (a.ty->kind == TR_TY_BYTEARRAY)
        return tr_lib_del_bytearray(e, a, i);
    if (a.ty->kind == TR_TY_FACED)
        return tr_lib_del_face(e, a, i);
    if (a.ty->kind == TR_TY_LIST)
        return tr_lib_del_list(e, a, i);
    if (a.ty->kind == TR_TY_DEQUE)
        return tr_lib_del_deque(e, a, i);
    if (a.ty->kind == TR_TY_DICT)
        return tr_lib_del_dict(e, a, i);
    if (a.ty->kind == TR_TY_ARRAY) {
        tr_em_error(e, "cannot delete array elements");
        tr_em_hint(e, "copy the elements to keep into a new array, or np.delete(a, i)");
        return false;
    }
    return tr_em_error(e, "'%s' object doesn't support item deletion", tr_em_tyname(e, a.ty));
}

bool tr_em_setitem(tr_em *e, tr_tv a, tr_tv i, tr_tv v, bool itself) {
    assert(tr_em_is_whole(e, a) && tr_em_is_whole(e, i) && tr_em_is_whole(e, v) && "all three are values");
    return tr_lib_kind(a.ty)->set(e, a, i, v, itself);
}
