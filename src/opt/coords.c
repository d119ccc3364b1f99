/* Views by the axes of their array (delinearisation): offset and strides, which is all a view has, taken
 * apart into start and step per axis.
 *
 * A stride of the parent names an axis: the offset is a sum of indices times strides, and each of the view's strides a multiple of
 * one. Where neighbours lie side by side the stride is 1 and so no value; what has no stride belongs to that axis. Strides that the layout
 * implies are not written down; then the sizes have to say which axis is which, as reshaping makes views of the same form.
 * Bounds of slices are clamped to the axis, `min(max(x, 0), size)`. A view that has an item starts before the size, so that clamp is looked
 * through; the other one, and wrapping, only where x varies in the loop, and `loose` says that it might matter: else the bound is one number,
 * whatever it is. */
#include "opt/coords.h"

enum { MAX_VIEWS = 64 }; /* of views */

static const tr_ins *at(const tr_prover *pr, tr_val v) {
    return tr_at(pr->f, v);
}

static bool varies(const tr_coords_loop *l, tr_val v) {
    tr_bid b = tr_at(l->pr->f, v)->blk;
    return b != TR_NOBLK && l->in[b];
}

static bool is_explicit(const tr_ins *v) {
    return v->nargs == 2 + 2u * v->ty->ndim;
}

/* --- the parent's sizes and strides --- */

static bool is_dim(const tr_prover *pr, tr_val x, tr_val p, unsigned k) {
    const tr_ins *in = at(pr, x), *v = at(pr, p);
    if (in->op == TR_OP_DIM && in->args[0] == p && in->imm.i == k)
        return true;
    return v->op == TR_OP_VIEW && v->args[2 + k] == x;
}

/* Which axis of p has the stride x; -1: none. */
static int stride_axis(const tr_prover *pr, tr_val x, tr_val p) {
    const tr_ins *in = at(pr, x), *v = at(pr, p);
    unsigned n = v->ty->ndim;
    for (unsigned k = 0; k < n; k++) {
        if (in->op == TR_OP_STRIDE && in->args[0] == p && in->imm.i == k)
            return (int)k;
        if (v->op == TR_OP_VIEW && is_explicit(v) && v->args[2 + n + k] == x)
            return (int)k;
    }
    return -1;
}

/* The axis of p whose stride is a number, and that; false: several are. -1: none. */
static bool unit_axis(const tr_prover *pr, tr_val p, int *axis, int64_t *unit) {
    const tr_ins *v = at(pr, p);
    unsigned n = v->ty->ndim;
    int64_t s;
    *unit = 1;
    *axis = -1;
    if (v->ty->layout != TR_LAYOUT_ANY) {
        *axis = !n ? -1 : v->ty->layout == TR_LAYOUT_F ? 0 : (int)n - 1;
        return true;
    }
    for (unsigned k = 0; v->op == TR_OP_VIEW && is_explicit(v) && k < n; k++)
        if (tr_get_int(pr->f, v->args[2 + n + k], &s)) {
            if (*axis >= 0 || s == 0)
                return false;
            *axis = (int)k;
            *unit = s;
        }
    return true;
}

/* --- indices as they were given --- */

typedef struct clamps {
    bool low, high; /* to 0; to the axis' size */
} clamps;

/* What a bound of a slice of axis k of p, or its size, was before it was clamped. from: where a view starts, which is not looked
 * through the lower bound if it is one number. */
static tr_val unclamped(const tr_coords_loop *l, tr_val x, tr_val p, unsigned k, bool from, clamps *found) {
    const tr_prover *pr = l->pr;
    for (;;) {
        const tr_ins *in = at(pr, x);
        int64_t zero;
        if (in->op == TR_OP_WRAP && varies(l, x)) {
            x = in->args[0];
            continue;
        }
        const tr_ins *c = in->op == TR_OP_SELECT ? at(pr, in->args[0]) : NULL;
        if (!c || c->op != TR_OP_CMP)
            return x;
        tr_val a = in->args[1], b = in->args[2];
        bool same = c->args[0] == a && c->args[1] == b, swapped = c->args[0] == b && c->args[1] == a;
        bool less = c->sub == TR_CMP_LT || c->sub == TR_CMP_LE,
             more = c->sub == TR_CMP_GT || c->sub == TR_CMP_GE;
        if ((!same && !swapped) || (!less && !more))
            return x;
        bool least = same == less;
        if (least && (is_dim(pr, a, p, k) || is_dim(pr, b, p, k))) {
            x = is_dim(pr, a, p, k) ? b : a;
            found->high = true;
        } else if (!least && (!from || varies(l, x)) && tr_get_int(pr->f, a, &zero) && zero == 0) {
            x = b;
            found->low = true;
        } else if (!least && (!from || varies(l, x)) && tr_get_int(pr->f, b, &zero) && zero == 0) {
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
    tr_val from[TR_MAX_NDIM]; /* the one value that ax[k].at is; TR_NOVAL: it is a number, or several */
    bool named[TR_MAX_NDIM];  /* the offset has a multiple of the axis' stride */
} step;

static bool add_index(const tr_coords_loop *l, step *s, unsigned k, tr_val x, int64_t times) {
    tr_coord *a = &s->ax[k];
    clamps found = {a->loose, false};
    tr_lin e = tr_linearize(l->pr, unclamped(l, x, s->p, k, true, &found));
    a->loose = found.low;
    s->from[k] = a->at.n == 0 && a->at.c == 0 && times == 1 ? x : TR_NOVAL;
    return tr_lin_add(&a->at, &e, times);
}

static void add_number(step *s, unsigned k, tr_wide n) {
    s->from[k] = TR_NOVAL;
    s->ax[k].at.c += n;
}

static bool add_term(const tr_coords_loop *l, step *s, tr_lterm t, int unit, int64_t units) {
    const tr_ins *m = at(l->pr, t.v);
    int k = stride_axis(l->pr, t.v, s->p);
    if (k >= 0) {
        s->named[k] = true;
        add_number(s, (unsigned)k, t.k);
        return true;
    }
    for (unsigned i = 0; m->op == TR_OP_MUL && i < 2; i++)
        if ((k = stride_axis(l->pr, m->args[i], s->p)) >= 0) {
            s->named[k] = true;
            return add_index(l, s, (unsigned)k, m->args[1 - i], t.k);
        }
    return unit >= 0 && t.k % units == 0 && add_index(l, s, (unsigned)unit, t.v, t.k / units);
}

static bool take_offset(const tr_coords_loop *l, step *s, tr_val off) {
    tr_lin e = tr_linearize(l->pr, off);
    int unit;
    int64_t units;
    if (!unit_axis(l->pr, s->p, &unit, &units))
        return false;
    for (uint32_t i = 0; i < e.n; i++)
        if (!add_term(l, s, e.t[i], unit, units))
            return false;
    if (e.c == 0)
        return true;
    if (unit < 0 || e.c % units)
        return false;
    add_number(s, (unsigned)unit, e.c / units);
    return true;
}

/* Along which axis of the parent, and how far apart, do items with that stride lie? False: along several. */
static bool take_stride(const tr_coords_loop *l, step *s, int j, tr_val stride) {
    tr_lin e = tr_linearize(l->pr, stride);
    int unit, k = -1;
    int64_t units, by = 0;
    if (e.n == 0 && e.c == 0) /* one item, over and over */
        return true;
    if (!unit_axis(l->pr, s->p, &unit, &units))
        return false;
    if (e.n == 0 && unit >= 0 && e.c % units == 0) {
        k = unit;
        by = (int64_t)(e.c / units);
    } else if (e.n == 1 && e.c == 0) {
        k = stride_axis(l->pr, e.t[0].v, s->p);
        by = e.t[0].k;
    }
    if (k < 0 || s->ax[k].dim >= 0 || by > TR_LIN_COEF || by < -TR_LIN_COEF)
        return false;
    s->ax[k].dim = j;
    s->ax[k].step = by;
    return true;
}

/* Is the size that of a slice of axis k: end - start, or the end where it starts at 0, clamped? */
static bool is_slice(const tr_coords_loop *l, tr_val size, tr_val p, unsigned k) {
    clamps found = {0};
    const tr_ins *d = at(l->pr, unclamped(l, size, p, k, false, &found));
    if (d->op != TR_OP_SUB)
        return found.high;
    unclamped(l, d->args[0], p, k, false, &found);
    return found.high || is_dim(l->pr, d->args[0], p, k);
}

/* Implied strides: the view's axis j is the parent's axis k, in full. One axis, the outermost, may be in part. */
static bool take_whole(const tr_coords_loop *l, step *s, const tr_ins *v, unsigned j, unsigned k,
                       bool in_part) {
    s->ax[k].dim = (int)j;
    return is_dim(l->pr, v->args[2 + j], s->p, k) || (in_part && is_slice(l, v->args[2 + j], s->p, k));
}

static bool take_axes(const tr_coords_loop *l, step *s, const tr_ins *v) {
    const tr_ty *t = v->ty, *pt = at(l->pr, s->p)->ty;
    unsigned n = t->ndim, np = pt->ndim;
    bool ok = true;
    if (n && is_explicit(v)) {
        for (unsigned j = 0; j < n && ok; j++)
            ok = take_stride(l, s, (int)j, v->args[2 + n + j]);
        return ok;
    }
    if (n > np || pt->layout == TR_LAYOUT_ANY)
        return false;
    bool c = t->layout == TR_LAYOUT_C, pc = pt->layout == TR_LAYOUT_C, turned = c != pc && n > 1;
    if (turned && n != np)
        return false;
    for (unsigned j = 0; j < n && ok; j++) {
        unsigned k = turned ? n - 1 - j : pc ? np - n + j : j;
        bool outer = !turned && j == (pc ? 0 : n - 1);
        ok = take_whole(l, s, v, j, k, outer);
        for (unsigned i = 0; !ok && outer && i < np; i++) /* an index of an axis that is gone: not reshaped */
            ok = s->named[i] && i != k && (pc ? i < k : i > k);
    }
    return ok;
}

/* Where the slices end: size is end - start. */
static void take_ends(const tr_coords_loop *l, step *s, const tr_ins *v) {
    for (unsigned k = 0; k < at(l->pr, s->p)->ty->ndim; k++) {
        tr_coord *a = &s->ax[k];
        if (a->dim < 0 || a->step != 1)
            continue;
        clamps found = {0};
        tr_val size = unclamped(l, v->args[2 + a->dim], s->p, k, false, &found), to = size;
        const tr_ins *d = at(l->pr, size);
        tr_lin length = tr_linearize(l->pr, size);
        if (length.n == 0) {
            a->end = a->at;
            a->has_end = tr_lin_add(&a->end, &length, 1);
            continue;
        }
        bool from_zero = a->at.n == 0 && a->at.c == 0;
        if (d->op == TR_OP_SUB && s->from[k] != TR_NOVAL && d->args[1] == s->from[k])
            to = d->args[0];
        else if (!from_zero)
            continue;
        a->end = tr_linearize(l->pr, unclamped(l, to, s->p, k, false, &found));
        a->has_end = true;
    }
}

/* --- all of them --- */

/* c, of the parent, becomes that of the view. */
static bool compose(tr_coords *c, const step *s) {
    for (uint32_t r = 0; r < c->n; r++) {
        tr_coord *a = &c->ax[r];
        if (a->dim < 0)
            continue;
        const tr_coord *b = &s->ax[a->dim];
        bool was_loose = a->loose;
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

/* The items of p, whose coordinates `out` has, in other axes. All of an array's in one axis are the same whichever way they came there. */
static bool reshaped(const tr_coords_loop *l, tr_val v, const tr_ins *in, tr_val p, tr_coords *out) {
    int64_t zero;
    if (is_explicit(in) || in->ty->layout == TR_LAYOUT_ANY) /* items might lie upon each other */
        return false;
    bool whole = p == out->root && !out->flat && at(l->pr, p)->ty->layout != TR_LAYOUT_ANY;
    out->flat = whole && in->ty->ndim == 1 && tr_get_int(l->pr->f, in->args[1], &zero) && zero == 0;
    if (!out->flat && varies(l, v))
        return false;
    out->root = out->flat ? p : v;
    out->n = in->ty->ndim;
    own_axes(out->ax, out->n, true);
    return true;
}

static bool of(const tr_coords_loop *l, tr_val v, tr_coords *out, unsigned depth) {
    v = v == l->chosen ? l->instead : v;
    const tr_ins *in = at(l->pr, v);
    if (in->op != TR_OP_VIEW) {
        out->root = v;
        out->flat = false;
        out->n = in->ty->ndim;
        own_axes(out->ax, out->n, true);
        return true;
    }
    step s = {.p = in->args[0]};
    const tr_ty *pt = at(l->pr, s.p)->ty;
    if (depth == 0 || in->ty->elem != pt->elem || !of(l, s.p, out, depth - 1))
        return false;
    own_axes(s.ax, pt->ndim, false);
    for (unsigned k = 0; k < pt->ndim; k++)
        s.from[k] = TR_NOVAL;
    if (!take_offset(l, &s, in->args[1]) || !take_axes(l, &s, in))
        return reshaped(l, v, in, s.p, out);
    take_ends(l, &s, in);
    return compose(out, &s);
}

bool tr_coords_of(const tr_coords_loop *l, tr_val v, tr_coords *out) {
    return of(l, v, out, MAX_VIEWS);
}
