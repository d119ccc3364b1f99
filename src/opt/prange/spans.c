/* Slices of a prange loop's iterations whose places only the running program knows, compared before the loop.
 *
 * `a[i*s + c:i*s + c + w]` moves by one number from iteration to iteration, so two such slices are four
 * lines: where each starts and ends in iteration 0, and by how much that changes. Of slices that move alike,
 * x lies d items before w in the same iteration, and D iterations later it has moved by D * s: they meet
 * where D * s is between d - (x's length) and d + (w's), for a D that is not 0 and less than the number of
 * iterations. That is exact. Of others it is asked whether all that one of them reaches lies before all that
 * the other one does. An index is a slice of one item.
 * What is clamped (`min(n, (i + 1) * s)`) is seen as where it would be without that, which is only more of
 * the array. A bound that is negative counts from the end: where one may be, and where numbers are so large
 * that they might wrap around, nothing is said.
 * Of two slices of which one stays where it is, the other one may meet it in one iteration alone, as `d[i]`
 * does what all read, `d[k]`, where i is k. That iteration is told, and those before and after it are apart
 * (l->alone); there may be two such iterations.
 * Axes that keep iterations apart are enough, each of them. Where none does, the loop runs in order; where it
 * is sure, too, that two iterations meet, it raises.
 * Invariant: a condition that says `apart` is never wrong, however the bounds of slices were made.
 * Cost: some fifty instructions for each pair of accesses, before the loop. */
#include <assert.h>

#include "opt/prange/coords.h"
#include "opt/emit.h"
#include "opt/prange/ploop.h"

enum { MAX_DEPTH = 8, MAX_CLAMPS = 4, MANY = 2 };

/* --- what is a line --- */

/* 0: one number in all iterations; 1: it changes by the same number in each; MANY: neither,
 * or not to be seen. */
static unsigned degree(const tr_ploop *l, tr_val v, unsigned depth) {
    const tr_ins *in = tr_at(l->f, v);
    if (v == l->counter)
        return 1;
    if (!tr_ploop_varies(l, v))
        return 0;
    if (depth == 0 || in->ty->kind != TR_TY_I64)
        return MANY;
    unsigned a = in->nargs ? degree(l, tr_arg(l->f, v, 0), depth - 1) : MANY;
    unsigned b = in->nargs == 2 && a < MANY ? degree(l, tr_arg(l->f, v, 1), depth - 1) : MANY;
    switch ((tr_op)in->op) {
    case TR_OP_ADD:
    case TR_OP_SUB: return a > b ? a : b;
    case TR_OP_MUL: return a < MANY && b < MANY && a + b < MANY ? a + b : MANY;
    case TR_OP_NEG: return a;
    default: return MANY;
    }
}

static bool is_line_of(const tr_ploop *l, tr_val v) {
    return tr_at(l->f, v)->ty->kind == TR_TY_I64 && degree(l, v, MAX_DEPTH) != MANY;
}

static bool is_line(const tr_ploop *l, const tr_lin *e) {
    for (uint32_t i = 0; i < e->n; i++)
        if (!is_line_of(l, e->t[i].v))
            return false;
    return true;
}

/* min(a, b) or max(a, b)? */
static bool is_clamp(const tr_fn *f, tr_val v, tr_val *a, tr_val *b, bool *least) {
    const tr_ins *in = tr_at(f, v);
    bool is = (in->op == TR_OP_MIN || in->op == TR_OP_MAX) && in->ty->kind == TR_TY_I64;
    *least = in->op == TR_OP_MIN;
    *a = is ? in->args[0] : TR_NOVAL;
    *b = is ? in->args[1] : TR_NOVAL;
    return is;
}

/* Makes a line of e that is nowhere below it (upper), or above it, by leaving out clamps. */
static bool bound(const tr_ploop *l, tr_prover *pr, tr_lin *e, bool upper, bool *exact) {
    for (unsigned n = 0; n < MAX_CLAMPS && !is_line(l, e); n++) {
        tr_val a, b, v = TR_NOVAL;
        int64_t k = 0;
        bool least;
        for (uint32_t i = 0; i < e->n; i++)
            if (!is_line_of(l, e->t[i].v)) {
                if (v != TR_NOVAL)
                    return false;
                v = e->t[i].v;
                k = e->t[i].k;
            }
        if (!is_clamp(l->f, v, &a, &b, &least) || least != (upper == (k > 0)))
            return false;
        tr_lin whole = tr_lin_val(v), part = tr_linearize(pr, tr_ploop_varies(l, a) ? a : b);
        if (!tr_lin_add(e, &whole, -k) || !tr_lin_add(e, &part, k))
            return false;
        *exact = false;
    }
    return is_line(l, e);
}

/* Both ends of a slice clamped by one number: what is left of it lies between the ends that it had. */
static void leave_out_common(const tr_ploop *l, tr_prover *pr, tr_pplace *p, bool *exact) {
    tr_val of[2][2];
    bool least[2];
    const tr_lin *e[] = {&p->from, &p->to};
    for (unsigned k = 0; k < 2; k++)
        if (e[k]->n != 1 || e[k]->t[0].k != 1 || e[k]->c != 0 ||
            !is_clamp(l->f, e[k]->t[0].v, &of[k][0], &of[k][1], &least[k]))
            return;
    for (unsigned i = 0; i < 4 && least[0] == least[1]; i++)
        if (of[0][i & 1] == of[1][i >> 1] && !tr_ploop_varies(l, of[0][i & 1])) {
            p->from = tr_linearize(pr, of[0][1 - (i & 1)]);
            p->to = tr_linearize(pr, of[1][1 - (i >> 1)]);
            *exact = false;
            return;
        }
}

/* Is there a number that it is never below? */
static bool has_least(const tr_ploop *l, tr_prover *pr, tr_val v, unsigned depth) {
    tr_val a, b;
    bool least;
    tr_lin e = tr_linearize(pr, v);
    if (is_line(l, &e))
        return true;
    return depth && is_clamp(l->f, v, &a, &b, &least) && has_least(l, pr, a, depth - 1) &&
           has_least(l, pr, b, depth - 1);
}

bool tr_span_place(const tr_ploop *l, tr_prover *pr, tr_pplace *p) {
    p->exact = true;
    for (uint32_t i = 0; i < p->nwraps; i++)
        if (i >= TR_COORD_WRAPS || !has_least(l, pr, p->wraps[i], MAX_CLAMPS))
            return false;
    if (!p->to_end)
        leave_out_common(l, pr, p, &p->exact);
    return bound(l, pr, &p->from, false, &p->exact) && (p->to_end || bound(l, pr, &p->to, true, &p->exact));
}

bool tr_span_same(const tr_pplace *a, const tr_pplace *b) {
    assert(a->nwraps <= TR_COORD_WRAPS && b->nwraps <= TR_COORD_WRAPS && "all are known (tr_span_place)");
    bool same = tr_lin_same(&a->from, &b->from) && a->to_end == b->to_end && a->nwraps == b->nwraps &&
                (a->to_end || tr_lin_same(&a->to, &b->to));
    for (uint32_t i = 0; same && i < a->nwraps; i++)
        same = a->wraps[i] == b->wraps[i];
    return same;
}

/* --- the conditions --- */

typedef struct maker {
    const tr_ploop *l;
    tr_bld *b;
    tr_prover *pr;
    tr_val last;  /* number of the last iteration, or 0 */
    tr_val flast; /* the same as a float */
} maker;

/* A number in iteration 0, and by how much it changes from one iteration to the next;
 * TR_NOVAL: not at all. */
typedef struct line {
    tr_val at, by;
} line;

static const tr_ty *type(const maker *m, tr_tyk k) {
    return tr_ty_scalar(m->b->fn->ctx->types, k);
}

/* x * y, x or y perhaps nothing. */
static tr_val times(const maker *m, tr_val x, tr_val y) {
    return x == TR_NOVAL || y == TR_NOVAL ? TR_NOVAL : tr_emit_op(m->b, TR_OP_MUL, x, y);
}

static tr_val plus(const maker *m, tr_op o, tr_val x, tr_val y) {
    if (y == TR_NOVAL)
        return x;
    return tr_emit_op(m->b, o, x == TR_NOVAL ? tr_emit_int(m->b, 0) : x, y);
}

/* v, whose degree is at most 1, as wide numbers wrap around: so do these. */
static line line_of(const maker *m, tr_val v) {
    const tr_fn *f = m->l->f;
    if (v == m->l->counter)
        return (line){tr_emit_int(m->b, 0), tr_emit_int(m->b, 1)};
    if (!tr_ploop_varies(m->l, v))
        return (line){v, TR_NOVAL};
    tr_op o = (tr_op)tr_at(f, v)->op;
    line x = line_of(m, tr_arg(f, v, 0));
    if (o == TR_OP_NEG)
        return (line){plus(m, TR_OP_SUB, tr_emit_int(m->b, 0), x.at), plus(m, TR_OP_SUB, TR_NOVAL, x.by)};
    line y = line_of(m, tr_arg(f, v, 1));
    if (o == TR_OP_MUL) /* one of them does not change */
        return (line){times(m, x.at, y.at), x.by == TR_NOVAL ? times(m, x.at, y.by) : times(m, x.by, y.at)};
    return (line){plus(m, o, x.at, y.at), plus(m, o, x.by, y.by)};
}

static line line_of_lin(const maker *m, const tr_lin *e) {
    line sum = {tr_emit_int(m->b, (int64_t)e->c), TR_NOVAL};
    for (uint32_t i = 0; i < e->n; i++) {
        line t = line_of(m, e->t[i].v);
        tr_val k = tr_emit_int(m->b, e->t[i].k);
        sum.at = plus(m, TR_OP_ADD, sum.at, times(m, t.at, k));
        sum.by = plus(m, TR_OP_ADD, sum.by, times(m, t.by, k));
    }
    return sum;
}

/* In the last iteration. */
static tr_val at_last(const maker *m, line x) {
    return plus(m, TR_OP_ADD, x.at, times(m, x.by, m->last));
}

/* Are all its numbers so small that sums of some do not wrap around? */
static tr_val is_small(const maker *m, line x) {
    const tr_ty *f64 = type(m, TR_TY_F64);
    tr_val sum = tr_emit1(m->b, TR_OP_ABS, f64, tr_emit1(m->b, TR_OP_CONV, f64, x.at));
    if (x.by != TR_NOVAL) {
        tr_val by = tr_emit1(m->b, TR_OP_ABS, f64, tr_emit1(m->b, TR_OP_CONV, f64, x.by));
        sum = tr_emit2(m->b, TR_OP_ADD, f64, sum, tr_emit2(m->b, TR_OP_MUL, f64, by, m->flast));
    }
    return tr_emit_cmp(m->b, TR_CMP_LE, sum, tr_const_float(m->b->fn, f64, (double)TR_MAX_DIM));
}

/* The least that v is in any iteration; *small: and all that it is made of, too, is small. */
static tr_val least_of(const maker *m, tr_val v, tr_val *small) {
    tr_val a, b;
    bool min;
    tr_lin e = tr_linearize(m->pr, v);
    if (is_line(m->l, &e)) {
        line x = line_of_lin(m, &e);
        *small = tr_emit_both(m->b, *small, is_small(m, x));
        return tr_emit_least(m->b, x.at, at_last(m, x));
    }
    is_clamp(m->l->f, v, &a, &b, &min);
    tr_val x = least_of(m, a, small), y = least_of(m, b, small);
    return min ? tr_emit_least(m->b, x, y) : tr_emit_most(m->b, x, y);
}

/* A slice in all iterations. */
typedef struct slice {
    line from, to;
    tr_val lo, hi, n; /* all of them lie there; the length of the longest */
} slice;

static slice slice_of(const maker *m, const tr_pplace *p, tr_val size) {
    slice s = {.from = line_of_lin(m, &p->from), .to = {size, TR_NOVAL}};
    if (!p->to_end)
        s.to = line_of_lin(m, &p->to);
    tr_val from = at_last(m, s.from), to = at_last(m, s.to);
    s.lo = tr_emit_least(m->b, s.from.at, from);
    s.hi = tr_emit_most(m->b, s.to.at, to);
    s.n = tr_emit_most(m->b, tr_emit_op(m->b, TR_OP_SUB, s.to.at, s.from.at),
                       tr_emit_op(m->b, TR_OP_SUB, to, from));
    return s;
}

/* None of its numbers wraps around, and none counts from the end. */
static tr_val is_plain(const maker *m, const tr_pplace *p, const slice *s) {
    tr_val small = tr_emit_both(m->b, is_small(m, s->from), is_small(m, s->to));
    for (uint32_t i = 0; i < p->nwraps; i++) {
        tr_val v = least_of(m, p->wraps[i], &small);
        small = tr_emit_both(m->b, small, tr_emit_cmp(m->b, TR_CMP_GE, v, tr_emit_int(m->b, 0)));
    }
    return small;
}

static tr_val by_of(const maker *m, line x) {
    return x.by == TR_NOVAL ? tr_emit_int(m->b, 0) : x.by;
}

/* In which of the next iterations is `step` times its distance, which is not negative, first
 * between lo and hi? *found: is there one? */
static tr_val meet_after(const maker *m, tr_val step, tr_val lo, tr_val hi, tr_val *found) {
    tr_val one = tr_emit_int(m->b, 1),
           far = tr_emit_most(m->b, one,
                              tr_emit_op(m->b, TR_OP_ADD, tr_emit_op(m->b, TR_OP_FLOORDIV, lo, step), one));
    tr_val at = tr_emit_op(m->b, TR_OP_MUL, far, step);
    *found = tr_emit_both(
        m->b, tr_emit_both(m->b, tr_emit_cmp(m->b, TR_CMP_GT, at, lo), tr_emit_cmp(m->b, TR_CMP_LT, at, hi)),
        tr_emit_cmp(m->b, TR_CMP_LE, far, m->last));
    return far;
}

/* Slices that move alike: how many iterations apart do they meet? */
static tr_val meet_alike(const maker *m, const slice *w, const slice *x, bool same, tr_val *found) {
    tr_val zero = tr_emit_int(m->b, 0), by = by_of(m, w->from), up, down;
    tr_val back = tr_emit_cmp(m->b, TR_CMP_LT, by, zero),
           step = tr_emit_select(m->b, back, tr_emit_op(m->b, TR_OP_SUB, zero, by), by);
    if (same) { /* then it is the next one */
        *found = tr_emit_both(m->b, tr_emit_cmp(m->b, TR_CMP_LT, step, w->n),
                              tr_emit_cmp(m->b, TR_CMP_GT, m->last, zero));
        return tr_emit_int(m->b, 1);
    }
    tr_val d = tr_emit_op(m->b, TR_OP_SUB, w->from.at, x->from.at);
    tr_val lo = tr_emit_op(m->b, TR_OP_SUB, d, x->n), hi = tr_emit_op(m->b, TR_OP_ADD, d, w->n);
    tr_val after = meet_after(m, step, lo, hi, &up);
    tr_val before = meet_after(m, step, tr_emit_op(m->b, TR_OP_SUB, zero, hi),
                               tr_emit_op(m->b, TR_OP_SUB, zero, lo), &down);
    *found = tr_emit_either(m->b, up, down);
    return tr_emit_select(
        m->b,
        tr_emit_both(
            m->b, up,
            tr_emit_not(m->b, tr_emit_both(m->b, down, tr_emit_cmp(m->b, TR_CMP_LT, before, after)))),
        after, before);
}

/* How many items the axis has; flat: the whole array has. */
static tr_val size_of(const maker *m, const tr_pspans *p, uint32_t k) {
    const tr_ty *t = tr_at(m->b->fn, p->space)->ty;
    tr_val n = TR_NOVAL;
    for (uint32_t r = p->flat ? 0 : k; r < (p->flat ? t->ndim : k + 1); r++) {
        tr_val d = tr_emit_dim(m->b, p->space, r);
        n = n == TR_NOVAL ? d : tr_emit_op(m->b, TR_OP_MUL, n, d);
    }
    return n;
}

static bool stays(const slice *s) {
    return s->from.by == TR_NOVAL && s->to.by == TR_NOVAL;
}

/* What is asked of one axis, or of all. TR_NOVAL: that is not to be said. */
typedef struct answer {
    tr_val apart;     /* are they, whichever the iterations? */
    tr_val sure, far; /* do they meet, so many iterations apart? */
    tr_val only, at; /* do they meet in this iteration alone, or in none: that of the one which goes along? */
} answer;

/* `rest` stays, and `go` goes along, taken to be as long everywhere as it ever is. */
static void meet_alone(const maker *m, const slice *go, const slice *rest, answer *out) {
    tr_val zero = tr_emit_int(m->b, 0), one = tr_emit_int(m->b, 1), by = by_of(m, go->from),
           back = tr_emit_cmp(m->b, TR_CMP_LT, by, zero);
    tr_val step = tr_emit_select(m->b, back, tr_emit_op(m->b, TR_OP_SUB, zero, by), by);
    tr_val lo = tr_emit_op(m->b, TR_OP_SUB, rest->from.at, go->n), hi = rest->to.at, at = go->from.at;
    tr_val far =
        tr_emit_select(m->b, back, tr_emit_op(m->b, TR_OP_SUB, at, hi), tr_emit_op(m->b, TR_OP_SUB, lo, at));
    tr_val end =
        tr_emit_op(m->b, TR_OP_ADD, far,
                   tr_emit_op(m->b, TR_OP_SUB, hi, lo)); /* they meet at multiples of step in between */
    tr_val q = tr_emit_op(m->b, TR_OP_ADD, tr_emit_op(m->b, TR_OP_FLOORDIV, far, step), one),
           at_q = tr_emit_op(m->b, TR_OP_MUL, q, step);
    out->at = tr_emit_select(m->b, tr_emit_cmp(m->b, TR_CMP_LT, at_q, end), q, tr_emit_int(m->b, -1));
    out->only = tr_emit_both(m->b, tr_emit_cmp(m->b, TR_CMP_GT, step, zero),
                             tr_emit_cmp(m->b, TR_CMP_GE, tr_emit_op(m->b, TR_OP_ADD, at_q, step), end));
}

/* On one axis. */
static answer apart_on(const maker *m, const tr_pspans *p, const tr_pspan *a) {
    tr_val size = size_of(m, p, a->axis), zero = tr_emit_int(m->b, 0), found;
    bool same = tr_span_same(&a->w, &a->x);
    slice w = slice_of(m, &a->w, size), x = same ? w : slice_of(m, &a->x, size);
    tr_val plain = is_plain(m, &a->w, &w);
    if (!same)
        plain = tr_emit_both(m->b, plain, is_plain(m, &a->x, &x));
    answer out = {.sure = TR_NOVAL, .only = TR_NOVAL, .far = meet_alike(m, &w, &x, same, &found)};
    tr_val alike = same ? TR_NOVAL : tr_emit_cmp(m->b, TR_CMP_EQ, by_of(m, w.from), by_of(m, x.from));
    tr_val apart = tr_emit_both(m->b, alike, tr_emit_not(m->b, found));
    apart = tr_emit_either(m->b, apart, tr_emit_cmp(m->b, TR_CMP_LE, w.n, zero));
    if (!same) {
        apart = tr_emit_either(m->b, apart, tr_emit_cmp(m->b, TR_CMP_LE, x.n, zero));
        apart = tr_emit_either(m->b, apart, tr_emit_cmp(m->b, TR_CMP_LE, w.hi, x.lo));
        apart = tr_emit_either(m->b, apart, tr_emit_cmp(m->b, TR_CMP_LE, x.hi, w.lo));
    }
    if (p->sure && a->w.exact && a->x.exact) {
        const slice *all[] = {&w, &x};
        out.sure = tr_emit_both(m->b, tr_emit_both(m->b, alike, found), plain);
        for (unsigned k = 0; k < (same ? 1 : 2); k++) {
            out.sure = tr_emit_both(
                m->b, out.sure, tr_emit_cmp(m->b, TR_CMP_EQ, by_of(m, all[k]->from), by_of(m, all[k]->to)));
            out.sure = tr_emit_both(m->b, out.sure, tr_emit_cmp(m->b, TR_CMP_GT, all[k]->n, zero));
            out.sure = tr_emit_both(m->b, out.sure, tr_emit_cmp(m->b, TR_CMP_GE, all[k]->lo, zero));
            out.sure = tr_emit_both(m->b, out.sure, tr_emit_cmp(m->b, TR_CMP_LE, all[k]->hi, size));
        }
    }
    if (stays(&w) != stays(&x)) {
        meet_alone(m, stays(&w) ? &x : &w, stays(&w) ? &w : &x, &out);
        out.only = tr_emit_both(m->b, plain, out.only);
    }
    out.apart = tr_emit_both(m->b, plain, apart);
    return out;
}

/* All axes of a pair together. */
static answer apart(const maker *m, const tr_pspans *p) {
    answer out = {TR_NOVAL, TR_NOVAL, TR_NOVAL, TR_NOVAL, TR_NOVAL};
    for (uint32_t k = 0; k < p->n; k++) {
        answer a = apart_on(m, p, &p->ax[k]);
        out.apart = tr_emit_either(m->b, out.apart, a.apart);
        out.sure = a.sure; /* asked where there is one axis alone */
        out.far = a.far;
        if (a.only == TR_NOVAL)
            continue;
        out.at = out.only == TR_NOVAL ? a.at : tr_emit_select(m->b, out.only, out.at, a.at);
        out.only = tr_emit_either(m->b, out.only, a.only);
    }
    for (uint32_t k = 0; out.sure != TR_NOVAL && !p->flat && k < tr_at(m->b->fn, p->space)->ty->ndim; k++)
        out.sure = tr_emit_both(m->b, out.sure,
                                tr_emit_cmp(m->b, TR_CMP_GT, size_of(m, p, k), tr_emit_int(m->b, 0)));
    for (uint32_t k = 0; out.sure != TR_NOVAL && k < p->nsome; k++)
        out.sure =
            tr_emit_both(m->b, out.sure, tr_emit_cmp(m->b, TR_CMP_GT, p->some[k], tr_emit_int(m->b, 0)));
    out.apart =
        tr_emit_either(m->b, out.apart, tr_emit_cmp(m->b, TR_CMP_LE, m->l->length, tr_emit_int(m->b, 1)));
    return out;
}

/* Of a pair, into `cuts`; the loop's length where there is none. */
static void add_cut(const maker *m, tr_u32s *cuts, answer *a) {
    tr_val none = m->l->length;
    tr_val inside = tr_emit_both(m->b, tr_emit_cmp(m->b, TR_CMP_GE, a->at, tr_emit_int(m->b, 0)),
                                 tr_emit_cmp(m->b, TR_CMP_LT, a->at, none));
    tr_val at = tr_emit_select(m->b, tr_emit_both(m->b, inside, tr_emit_not(m->b, a->apart)), a->at, none);
    tr_vec_push(&m->l->f->ctx->arena, cuts, at);
    a->apart = tr_emit_either(m->b, a->apart, a->only);
}

/* The first and the last of them; are all others one of these? */
static tr_val set_cuts(const maker *m, tr_ploop *l, const tr_u32s *cuts, tr_val all) {
    tr_val before = tr_emit_int(m->b, -1);
    for (uint32_t i = 0; i < cuts->n; i++) {
        tr_val at = cuts->d[i],
               back = tr_emit_select(m->b, tr_emit_cmp(m->b, TR_CMP_LT, at, l->length), at, before);
        l->alone[0] = i ? tr_emit_least(m->b, l->alone[0], at) : at;
        if (cuts->n > 1)
            l->alone[1] = i ? tr_emit_most(m->b, l->alone[1], back) : back;
    }
    for (uint32_t i = 0; i < cuts->n && cuts->n > TR_CUTS; i++) {
        tr_val one = tr_emit_cmp(m->b, TR_CMP_EQ, cuts->d[i], l->length);
        for (unsigned k = 0; k < TR_CUTS; k++)
            one = tr_emit_either(m->b, one, tr_emit_cmp(m->b, TR_CMP_EQ, cuts->d[i], l->alone[k]));
        all = tr_emit_both(m->b, all, one);
    }
    return all;
}

tr_val tr_spans_apart(tr_ploop *l, tr_bld *b, const tr_site *(*site)(const tr_ploop *, const tr_pdepend *)) {
    tr_prover pr = tr_prover_new(l->f);
    pr.guess = true;
    maker m = {l, b, &pr, TR_NOVAL, TR_NOVAL};
    tr_val all = TR_NOVAL;
    tr_u32s cuts = {0};
    m.last = tr_emit_most(b, tr_emit_op(b, TR_OP_SUB, l->length, tr_emit_int(b, 1)), tr_emit_int(b, 0));
    m.flast = tr_emit1(b, TR_OP_CONV, type(&m, TR_TY_F64), m.last);
    for (uint32_t i = 0; i < l->spans.n; i++) {
        const tr_pspans *p = &l->spans.d[i];
        b->loc = tr_at(b->fn, p->d.write)->loc;
        answer a = apart(&m, p);
        if (a.only != TR_NOVAL)
            add_cut(&m, &cuts, &a);
        all = tr_emit_both(b, all, a.apart);
        if (a.sure == TR_NOVAL)
            continue;
        tr_val check = tr_emit2(b, TR_OP_CHECK, NULL, tr_emit_not(b, a.sure), a.far);
        tr_at(b->fn, check)->imm.site = site(l, &p->d);
    }
    return set_cuts(&m, l, &cuts, all);
}
