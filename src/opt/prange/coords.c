/* Views of views by the axes of their array (access functions): starts and steps of each, composed.
 *
 * Bounds of slices are clamped to the axis, `min(max(x, 0), size)`. A view that has an item starts before the
 * size, so that clamp is looked through; the other one, and wrapping, only where x varies in the loop, and
 * `loose` says that it might matter: else the bound is one number, whatever it is. */
#include <assert.h>

#include "opt/prange/coords.h"
#include "ir/loops.h"

enum { MAX_VIEWS = 64 }; /* of views */

static const tr_ins *at(const tr_prover *pr, tr_val v) {
    return tr_at(pr->f, v);
}

static bool varies(const tr_coords_loop *l, tr_val v) {
    return !tr_loop_is_outside(l->pr->f, l->in, v);
}

static bool is_dim(const tr_prover *pr, tr_val x, tr_val p, unsigned k) {
    const tr_ins *in = at(pr, x), *v = at(pr, p);
    if (in->op == TR_OP_DIM && in->args[0] == p && in->imm.i == k)
        return true;
    return tr_made_sizes(v) && tr_made_sizes(v)[k] == x;
}

/* --- indices as they were given --- */

typedef struct clamps {
    bool low, high; /* to 0; to the axis' size */
    tr_coord *of;   /* what learns which numbers may count from the end; or NULL */
} clamps;

void tr_coord_wraps(tr_coord *c, tr_val v) {
    if (c->nwraps < TR_COORD_WRAPS)
        c->wraps[c->nwraps] = v;
    c->nwraps++;
}

/* Is it the axis' size, or what is left of it from `begin` on, which the size of a view
 * that begins there does not exceed? */
static bool is_limit(const tr_prover *pr, tr_val x, tr_val p, unsigned k, tr_val begin) {
    const tr_ins *in = at(pr, x);
    if (is_dim(pr, x, p, k))
        return true;
    if (in->op == TR_OP_MAX && tr_is_int(pr->f, in->args[1], 0))
        in = at(pr, in->args[0]);
    return begin != TR_NOVAL && in->op == TR_OP_SUB && in->args[1] == begin && is_dim(pr, in->args[0], p, k);
}

/* What a bound of a slice of axis k of p, or its size, was before it was clamped. from:
 * where a view starts, which is not looked through the lower bound if it is one number.
 * begin: of a size, where it does; or TR_NOVAL. */
static tr_val unclamped(const tr_coords_loop *l, tr_val x, tr_val p, unsigned k, bool from, tr_val begin,
                        clamps *found) {
    const tr_prover *pr = l->pr;
    for (;;) {
        const tr_ins *in = at(pr, x);
        if (in->op == TR_OP_WRAP && varies(l, x)) {
            x = in->args[0];
            if (found->of)
                tr_coord_wraps(found->of, x);
            continue;
        }
        bool least = in->op == TR_OP_MIN;
        if (!least && in->op != TR_OP_MAX)
            return x;
        tr_val a = in->args[0], b = in->args[1];
        bool of_a = least && is_limit(pr, a, p, k, begin);
        if (of_a || (least && is_limit(pr, b, p, k, begin))) {
            x = of_a ? b : a;
            found->high = true;
        } else if (!least && (!from || varies(l, x)) && tr_is_int(pr->f, b, 0)) {
            x = a;
            found->low = true;
        } else {
            return x;
        }
    }
}

/* The index -1 and its like are numbers from the end. */
tr_lin tr_coords_index(const tr_coords_loop *l, tr_val v) {
    const tr_ins *in = at(l->pr, v);
    int64_t k;
    if (in->op != TR_OP_WRAP)
        return tr_linearize(l->pr, v);
    if (tr_get_int(l->pr->f, in->args[0], &k) && k < 0) {
        tr_lin e = tr_linearize(l->pr, in->args[1]);
        e.c += k;
        return e;
    }
    return tr_linearize(l->pr, varies(l, v) ? in->args[0] : v);
}

/* --- one view --- */

/* A view by the axes of its parent. */
typedef struct step {
    tr_val p;
    tr_coord ax[TR_MAX_NDIM];
    tr_val from[TR_MAX_NDIM], first[TR_MAX_NDIM]; /* where it starts; the same before it was clamped */
} step;

static void take_start(const tr_coords_loop *l, step *s, unsigned k, tr_val x) {
    tr_coord *a = &s->ax[k];
    clamps found = {.of = a};
    s->first[k] = unclamped(l, x, s->p, k, true, TR_NOVAL, &found);
    a->at = tr_linearize(l->pr, s->first[k]);
    a->loose = found.low;
    a->start = s->first[k];
    s->from[k] = x;
}

/* False: the step is not a number, or too large. */
static bool take_axis(const tr_coords_loop *l, step *s, const tr_ins *v, unsigned j) {
    int k = tr_view_axis(v, j);
    int64_t by;
    if (k < 0)
        return true;
    if (!tr_get_int(l->pr->f, tr_view_steps(v)[j], &by) || by > TR_LIN_COEF || by < -TR_LIN_COEF)
        return false;
    s->ax[k].step = by;
    if (by) /* else one item, over and over */
        s->ax[k].dim = (int)j;
    return true;
}

static bool take_axes(const tr_coords_loop *l, step *s, const tr_ins *v) {
    bool ok = true;
    for (unsigned k = 0; k < tr_view_nbase(v); k++)
        take_start(l, s, k, tr_view_starts(v)[k]);
    for (unsigned j = 0; j < v->ty->ndim && ok; j++)
        ok = take_axis(l, s, v, j);
    return ok;
}

/* Where the slices end: size is end - start. */
static void take_ends(const tr_coords_loop *l, step *s, const tr_ins *v) {
    for (unsigned k = 0; k < at(l->pr, s->p)->ty->ndim; k++) {
        tr_coord *a = &s->ax[k];
        if (a->dim < 0 || a->step != 1)
            continue;
        clamps found = {.of = a};
        tr_val size = unclamped(l, tr_made_sizes(v)[a->dim], s->p, k, false, s->from[k], &found), to = size;
        const tr_ins *d = at(l->pr, size);
        tr_lin length = tr_linearize(l->pr, size);
        bool from_zero = a->at.n == 0 && a->at.c == 0,
             by_ends = d->op == TR_OP_SUB && d->args[1] == s->from[k];
        if (length.n == 0 || (!by_ends && !from_zero)) {
            if (a->loose) /* it would begin, and end, later */
                tr_coord_wraps(a, s->first[k]);
            a->end = a->at;
            a->has_end = tr_lin_add(&a->end, &length, 1);
            continue;
        }
        if (by_ends)
            to = d->args[0];
        a->end = tr_linearize(l->pr, unclamped(l, to, s->p, k, false, TR_NOVAL, &found));
        a->has_end = true;
    }
}

/* --- all of them --- */

/* Does the axis end where the one of the array does? */
static bool ends_there(const tr_coords_loop *l, const tr_coords *c, uint32_t r) {
    const tr_coord *a = &c->ax[r];
    return !c->flat && a->end.n == 1 && a->end.t[0].k == 1 && a->end.c == 0 &&
           is_dim(l->pr, a->end.t[0].v, c->root, r);
}

/* c, of the parent, becomes that of the view. */
static bool compose(const tr_coords_loop *l, tr_coords *c, const step *s) {
    for (uint32_t r = 0; r < c->n; r++) {
        tr_coord *a = &c->ax[r];
        if (a->dim < 0)
            continue;
        const tr_coord *b = &s->ax[a->dim];
        bool was_loose = a->loose;
        if (was_loose) /* what is told from its first item on may lie later than `at` has it */
            tr_coord_wraps(a, a->start);
        a->cut = a->cut || b->cut || (b->dim >= 0 && !b->has_end) || (a->has_end && !ends_there(l, c, r));
        if (b->has_end && a->step == 1) {
            tr_lin end = a->at;
            a->has_end = tr_lin_add(&end, &b->end, 1);
            a->end = end;
        } else {
            a->has_end = a->has_end && a->step > 0;
        }
        if (!tr_lin_add(&a->at, &b->at, a->step))
            return false;
        a->loose = was_loose || b->loose;
        a->start = b->loose ? b->start : a->start;
        for (uint32_t i = 0; i < b->nwraps; i++)
            tr_coord_wraps(a, i < TR_COORD_WRAPS ? b->wraps[i] : TR_NOVAL);
        a->step *= b->step; /* both at most 2**20 */
        if (a->step > TR_LIN_COEF || a->step < -TR_LIN_COEF)
            return false;
        a->dim = b->dim;
    }
    return true;
}

static void own_axes(tr_coord *ax, unsigned n, bool all) {
    for (unsigned k = 0; k < n; k++)
        ax[k] = (tr_coord){.at = tr_lin_const(0), .dim = all ? (int)k : -1, .step = 1};
}

/* The items of p, whose coordinates `out` has, in other axes. All of an array's in one axis are the
 * same whichever way they came there. */
static bool reshaped(const tr_coords_loop *l, tr_val v, const tr_ins *in, tr_val p, tr_coords *out) {
    if (in->ty->layout == TR_LAYOUT_ANY) /* items might lie upon each other */
        return false;
    bool whole = p == out->root && !out->flat && at(l->pr, p)->ty->layout != TR_LAYOUT_ANY;
    out->flat = whole && in->ty->ndim == 1 && tr_is_int(l->pr->f, in->args[1], 0);
    if (!out->flat && varies(l, v))
        return false;
    if (!out->flat) {
        out->lo = 0;
        out->hi = UINT32_MAX;
        out->part = false;
    }
    out->root = out->flat ? p : v;
    out->n = in->ty->ndim;
    own_axes(out->ax, out->n, true);
    return true;
}

/* A field lies where its records do; the axes of a sub-array are none of theirs. */
static bool field_of(const tr_coords_loop *l, const tr_ins *in, tr_coords *out) {
    const tr_ty *s = at(l->pr, in->args[0])->ty->elem;
    if ((uint64_t)in->imm.i >= s->n)
        return true;
    tr_field f = tr_ty_field(s, (uint32_t)in->imm.i);
    uint64_t bytes = tr_ty_size(f.ty);
    for (uint32_t k = 0; k < f.ndim; k++)
        bytes *= f.shape[k];
    out->lo += f.offset;
    out->hi = out->lo + (uint32_t)bytes;
    out->part = out->part || f.ndim;
    return true;
}

static bool of(const tr_coords_loop *l, tr_val v, tr_coords *out, unsigned depth) {
    v = v == l->chosen ? l->instead : v;
    const tr_ins *in = at(l->pr, v);
    if (!tr_is_view(in)) {
        out->root = v;
        out->flat = out->part = false;
        out->lo = 0;
        out->hi = UINT32_MAX;
        out->n = in->ty->ndim;
        own_axes(out->ax, out->n, true);
        return true;
    }
    if (in->op == TR_OP_FIELD)
        return depth > 0 && of(l, in->args[0], out, depth - 1) && field_of(l, in, out);
    step s = {.p = in->args[0]};
    const tr_ty *pt = at(l->pr, s.p)->ty;
    if (depth == 0 || in->ty->elem != pt->elem || !of(l, s.p, out, depth - 1))
        return false;
    if (in->op == TR_OP_RESTRIDE)
        return reshaped(l, v, in, s.p, out);
    own_axes(s.ax, pt->ndim, false);
    if (!take_axes(l, &s, in))
        return false;
    take_ends(l, &s, in);
    return compose(l, out, &s);
}

bool tr_coords_of(const tr_coords_loop *l, tr_val v, tr_coords *out) {
    assert(tr_at(l->pr->f, v)->ty->kind == TR_TY_ARRAY && "only arrays lie in others");
    return of(l, v, out, MAX_VIEWS);
}

bool tr_coords_item(const tr_coords_loop *l, tr_val v, tr_val *from, tr_val *idx) {
    const tr_ins *in = at(l->pr, v);
    if (in->op == TR_OP_ITEMS)
        in = at(l->pr, in->args[0]);
    if ((in->op != TR_OP_TAKE && in->op != TR_OP_PEEK) || in->nargs != 2)
        return false;
    const tr_ins *slots = at(l->pr, in->args[0]);
    *from = slots->op == TR_OP_ITEMS ? slots->args[0] : in->args[0];
    *idx = in->args[1];
    return !varies(l, *from);
}
