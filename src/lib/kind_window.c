/* Stencils: a kernel, a function of the user's, called at each place of an array, which
 * looks at the items beside that place.
 *
 * The kernel is a plain function to inference: an array that it indexes is given to it as a window (a
 * row of ty/kinds.def), whose index is relative. All places of the inside are one pattern, which is
 * parallel as any other. How far a kernel looks is what its neighborhood says, else what the constants
 * in its code do (`find_reach`), so no place of the inside needs a check; an index that is computed is
 * compared with the neighborhood, which is constant.
 * Cost: a pattern over the inside, and two small ones per axis for the edges. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/fam.h"
#include "lib/families.h"
#include "lib/kinds.h"

/* How far an index may be from its place: the sum of both fits int64. */
enum { FARTHEST = 1 << 30 };

/* --- windows --- */

/* A window's items: the array, the place along each axis, then the least and the greatest
 * index along each. */
static uint32_t axes_of(const tr_ty *t) {
    return (t->n - 1) / 3;
}

static tr_tv array_of(tr_em *e, tr_tv w) {
    return tr_em_item(e, w, 0);
}

static int64_t bound_of(tr_em *e, tr_tv w, uint32_t axis, bool most) {
    assert(w.ty->kind == TR_TY_WINDOW && axis < axes_of(w.ty) && "a bound of an axis");
    int64_t v = 0;
    tr_tv_lit_int(tr_em_item(e, w, 1 + axes_of(w.ty) + 2 * axis + most), &v);
    return v;
}

static tr_tv make_window(tr_em *e, tr_tv a, const tr_tv *place, const int64_t *lo, const int64_t *hi) {
    uint32_t n = a.ty->ndim, k = 0;
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, 3 * n + 1u);
    const tr_ty **t = TR_NEW_N(&e->ctx->arena, const tr_ty *, 3 * n + 1u);
    it[k++] = a;
    for (uint32_t i = 0; i < n; i++)
        it[k++] = place[i];
    for (uint32_t i = 0; i < n; i++) {
        it[k++] = tr_em_lit(e, tr_obj_int(&e->ctx->arena, lo[i]));
        it[k++] = tr_em_lit(e, tr_obj_int(&e->ctx->arena, hi[i]));
    }
    for (uint32_t i = 0; i < k; i++)
        t[i] = it[i].ty;
    return tr_em_make(e, tr_ty_of(e->types, TR_TY_WINDOW, 0, k, t), k, it);
}

/* --- an index --- */

static bool refuse_outside_window(tr_em *e, tr_tv w, uint32_t axis, const char *what) {
    return tr_em_error(e, "index %s is outside of the neighborhood (%lld, %lld) of axis %u", what,
                       (long long)bound_of(e, w, axis, false), (long long)bound_of(e, w, axis, true), axis);
}

static void check(tr_em *e, tr_tv w, uint32_t axis, tr_tv ok, tr_tv shown) {
    const char *text =
        tr_arena_printf(&e->ctx->arena, "index {0} is outside of the neighborhood (%lld, %lld) of axis %u",
                        (long long)bound_of(e, w, axis, false), (long long)bound_of(e, w, axis, true), axis);
    if (e->opts->boundscheck)
        tr_em_check(e, ok, TR_EXC_INDEX, text, 1, &shown);
}

/* An integer counted from the place, as int64; a constant stays one. */
static bool as_offset(tr_em *e, tr_tv w, uint32_t axis, tr_tv x, tr_tv *out) {
    const tr_ty *t = tr_lib_scalar(e, x.ty);
    int64_t lit;
    tr_bigint n;
    *out = x;
    if (tr_tv_lit_int(x, &lit))
        return true;
    if (tr_tv_lit_integer(x, &n))
        return refuse_outside_window(e, w, axis, x.ty->lit->repr);
    if (t->kind == TR_TY_U64) /* int64 would wrap */
        check(e, w, axis, tr_em_cmp(e, TR_CMP_LE, tr_em_strong(e, x), tr_em_num(e, t, FARTHEST)), x);
    *out = tr_em_conv(e, x, tr_fam_ty(e, TR_TY_I64));
    return true;
}

/* It is of the neighborhood. */
static bool check_offset(tr_em *e, tr_tv w, uint32_t axis, tr_tv at) {
    int64_t lo = bound_of(e, w, axis, false), hi = bound_of(e, w, axis, true), lit;
    if (tr_tv_lit_int(at, &lit))
        return (lo <= lit && lit <= hi) || refuse_outside_window(e, w, axis, at.ty->lit->repr);
    check(e, w, axis, tr_em_cmp(e, TR_CMP_GE, at, tr_em_i64(e, lo)), at);
    check(e, w, axis, tr_em_cmp(e, TR_CMP_LE, at, tr_em_i64(e, hi)), at);
    return true;
}

/* A part of one axis, of which both ends are given. What is between them is of the neighborhood. */
static bool part_beside(tr_em *e, tr_tv w, uint32_t axis, tr_tv s, tr_axes *x) {
    tr_tv first = tr_em_item(e, s, 0), stop = tr_em_item(e, s, 1), step = tr_em_item(e, s, 2);
    int64_t one = 1, lo = bound_of(e, w, axis, false), hi = bound_of(e, w, axis, true);
    if ((!tr_tv_is_none(step) && !(tr_tv_lit_int(step, &one) && one == 1)) || !tr_lib_is_index(e, first) ||
        !tr_lib_is_index(e, stop))
        return tr_em_error(e, "a slice as a relative index has both ends, which are integers, and no step");
    if (!as_offset(e, w, axis, first, &first) || !as_offset(e, w, axis, stop, &stop))
        return false;
    first = tr_em_strong(e, first);
    stop = tr_em_strong(e, stop);
    tr_tv empty = tr_em_cmp(e, TR_CMP_LE, stop, first);
    check(e, w, axis, tr_fam_or(e, empty, tr_em_cmp(e, TR_CMP_GE, first, tr_em_i64(e, lo))), first);
    check(e, w, axis, tr_fam_or(e, empty, tr_em_cmp(e, TR_CMP_LE, stop, tr_em_i64(e, hi + 1))),
          tr_em_op2(e, TR_OP_SUB, stop, tr_em_i64(e, 1)));
    tr_tv size = tr_em_select(e, empty, tr_em_i64(e, 0), tr_em_op2(e, TR_OP_SUB, stop, first));
    tr_axes_part(x, axis, tr_em_op2(e, TR_OP_ADD, tr_em_item(e, w, 1 + axis), first), size, tr_em_i64(e, 1));
    return true;
}

bool tr_lib_get_window(tr_em *e, tr_tv w, tr_tv i, tr_tv *out) {
    uint32_t n = axes_of(w.ty);
    bool many = i.ty->kind == TR_TY_TUPLE && !tr_ty_is_list(i.ty);
    tr_tv a = array_of(e, w), at;
    tr_axes x = {0};
    if ((many ? i.ty->n : 1) != n)
        return tr_em_error(e, "a relative index has a number for each axis, %u here, not %u", n,
                           many ? i.ty->n : 1u);
    for (uint32_t k = 0; k < n; k++) {
        at = many ? tr_em_item(e, i, k) : i;
        if (at.ty->kind == TR_TY_SLICE) {
            if (!part_beside(e, w, k, at, &x))
                return false;
            continue;
        }
        if (!tr_lib_is_index(e, at))
            return tr_em_error(e, "a relative index is made of integers and slices, not of %s",
                               tr_em_tyname(e, at.ty));
        if (!as_offset(e, w, k, at, &at) || !check_offset(e, w, k, at))
            return false;
        x.start[k] = tr_em_nsw(e, TR_OP_ADD, tr_em_item(e, w, 1 + k), tr_em_strong(e, at));
    }
    if (x.n == 0)
        *out = tr_em_load(e, a, x.start);
    else
        *out =
            tr_em_view(e, tr_ty_array_as(e->types, a.ty->elem, x.n, TR_LAYOUT_ANY, true, a.ty->sub), a, &x);
    return true;
}

bool tr_lib_set_window(tr_em *e, tr_tv w, tr_tv i, tr_tv v, bool itself) {
    (void)w, (void)i, (void)v, (void)itself;
    return tr_em_error(e, "a stencil's kernel does not assign to the arrays that it is given");
}

/* --- how far a kernel looks --- */

typedef struct sweep {
    tr_tv kernel;
    const tr_func *fn;
    uint32_t n, nargs; /* axes; arguments */
    uint64_t standard; /* a bit for each argument that is indexed as elsewhere */
    bool given;        /* the neighborhood is */
    int64_t lo[TR_MAX_NDIM], hi[TR_MAX_NDIM];
    bool *relative; /* per argument: its indices are relative */
} sweep;

#define SAY_NEIGHBORHOOD "say how far the kernel looks: neighborhood=((-1, 1),) for one item on both sides"

/* An error at an instruction of the kernel's. */
static bool fail_at(tr_em *e, const sweep *s, const tr_ins *in, const char *text, const char *hint) {
    tr_place before = e->place;
    tr_span op = e->op_span;
    e->place = tr_fn_place(s->fn->ssa, in->loc);
    e->op_span = (tr_span){0, -1, 0, -1};
    tr_em_error(e, "%s", text);
    if (hint)
        tr_em_hint(e, "%s", hint);
    if (!e->dry && e->ctx->last_err) /* it is told there, and not at the call */
        e->ctx->last_err->where = tr_arena_printf(&e->ctx->arena, "%s()", s->fn->name);
    e->place = before;
    e->op_span = op;
    return false;
}

/* An integer that the code says, or computes of such. */
static bool constant(const tr_fn *f, tr_val v, int64_t *out) {
    const tr_ins *in = tr_at(f, v);
    int64_t x, y;
    tr_bigint big;
    if (in->op == TR_OP_OBJ) {
        const tr_obj *o = in->imm.obj;
        if (o->kind == TR_OBJ_SCALAR && o->ty && tr_ty_class(o->ty) == 'i')
            *out = o->u.i;
        else if (o->kind != TR_OBJ_INT || !tr_obj_integer(o, &big) || !tr_bigint_i64(&big, out))
            return false;
    } else if (in->op == TR_OP_UNARY && in->sub == TR_UN_NEG && constant(f, in->args[0], &x)) {
        *out = -x;
    } else if (in->op == TR_OP_BINARY && (in->sub == TR_BIN_ADD || in->sub == TR_BIN_SUB) &&
               constant(f, in->args[0], &x) && constant(f, in->args[1], &y)) {
        *out = in->sub == TR_BIN_ADD ? x + y : x - y;
    } else {
        return false;
    }
    return *out >= -FARTHEST && *out <= FARTHEST;
}

/* The number of parts of an index, and whether part k is a constant. */
static uint32_t parts_of(const tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    if (in->op == TR_OP_BUILDTUP)
        return in->nargs;
    return in->op == TR_OP_OBJ && in->imm.obj->kind == TR_OBJ_TUPLE ? in->imm.obj->u.t.n : 1;
}

static bool part_of(const tr_fn *f, tr_val v, uint32_t k, int64_t *out) {
    const tr_ins *in = tr_at(f, v);
    tr_bigint n;
    if (in->op == TR_OP_BUILDTUP)
        return constant(f, in->args[k], out);
    if (in->op != TR_OP_OBJ || in->imm.obj->kind != TR_OBJ_TUPLE)
        return constant(f, v, out);
    const tr_obj *o = in->imm.obj->u.t.items[k];
    return o->kind == TR_OBJ_INT && tr_obj_integer(o, &n) && tr_bigint_i64(&n, out) && *out >= -FARTHEST &&
           *out <= FARTHEST;
}

static bool add_index(tr_em *e, sweep *s, const tr_ins *in) {
    const tr_fn *f = s->fn->ssa;
    tr_arena *a = &e->ctx->arena;
    uint32_t n = parts_of(f, in->args[1]);
    int64_t at;
    if (n != s->n)
        return fail_at(
            e, s, in,
            tr_arena_printf(a, "a relative index has a number for each axis, %u here, not %u", s->n, n),
            "arrays that are indexed as elsewhere are named in standard_indexing=");
    for (uint32_t k = 0; k < n; k++) {
        if (!part_of(f, in->args[1], k, &at))
            return fail_at(e, s, in, "a relative index is no integer constant", SAY_NEIGHBORHOOD);
        s->lo[k] = at < s->lo[k] ? at : s->lo[k];
        s->hi[k] = at > s->hi[k] ? at : s->hi[k];
    }
    return true;
}

/* What becomes of an argument in an instruction: it is indexed; it comes to be called otherwise, in a way
 * that the code alone does not show; or neither, as it is an array to others. */
typedef enum use { USE_NONE, USE_INDEX, USE_OTHER } use;

static use used(const tr_ins *in, tr_val v) {
    if ((in->op == TR_OP_GETITEM || in->op == TR_OP_SETITEM) && in->args[0] == v)
        return USE_INDEX;
    for (uint32_t k = 0; in->op == TR_OP_CLOSURE && k < in->nargs; k++)
        if (in->args[k] == v)
            return USE_OTHER;
    for (uint32_t k = 0; k < tr_nsucc(in); k++)
        for (uint32_t i = 0; i < in->imm.succ[k].n; i++)
            if (in->imm.succ[k].args[i] == v)
                return USE_OTHER;
    return USE_NONE;
}

static bool add_use(tr_em *e, sweep *s, const tr_ins *in, uint32_t arg, use u) {
    if (u == USE_NONE || (s->standard >> arg & 1))
        return true;
    s->relative[arg] = true;
    if (s->given || in->op == TR_OP_SETITEM)
        return true;
    return u == USE_INDEX
               ? add_index(e, s, in)
               : fail_at(e, s, in,
                         tr_arena_printf(&e->ctx->arena,
                                         "how far the kernel looks is not known, as '%s' gets another "
                                         "name here",
                                         s->fn->argnames[arg]),
                         SAY_NEIGHBORHOOD);
}

/* Which arguments have relative indices, and how far from its place the kernel looks where
 * no neighborhood is given. */
static bool find_reach(tr_em *e, sweep *s, const tr_tv *x) {
    const tr_fn *f = s->fn->ssa;
    const tr_blk *entry = tr_blk_at(f, 0);
    bool any = s->given;
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (tr_val v = tr_blk_at(f, b)->dead ? TR_NOVAL : tr_blk_at(f, b)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next)
            for (uint32_t k = 0; k < s->nargs && k < entry->params.n; k++) {
                const tr_ins *in = tr_at(f, v);
                use u = used(in, entry->params.d[k]);
                if (u == USE_OTHER && !tr_lib_is_array(x[k]))
                    continue; /* a number */
                if (!add_use(e, s, in, k, u))
                    return false;
                any = any || s->relative[k];
            }
    return any || tr_em_error(e, "the stencil's kernel %s() has no relative index", s->fn->name);
}

/* --- arguments --- */

static bool take_bounds(tr_em *e, sweep *s, tr_tv hood) {
    if (tr_tv_is_none(hood))
        return true;
    s->given = true;
    if (hood.ty->n != s->n)
        return tr_em_error(e, "%s() has a neighborhood of %u axes, but an array of %u", s->fn->name,
                           hood.ty->n, s->n);
    for (uint32_t i = 0; i < s->n; i++) {
        tr_tv pair = tr_em_item(e, hood, i);
        if (!tr_tv_lit_int(tr_em_item(e, pair, 0), &s->lo[i]) ||
            !tr_tv_lit_int(tr_em_item(e, pair, 1), &s->hi[i]))
            return tr_em_fail(e, TR_ERR_INTERNAL, "a neighborhood that is no constant");
    }
    return true;
}

/* The number of items of the inside that no place has along an axis: before it, behind it. */
static int64_t edge(const sweep *s, uint32_t axis, bool behind) {
    int64_t v = behind ? s->hi[axis] : -s->lo[axis];
    return v > 0 ? v : 0;
}

static bool check_arrays(tr_em *e, const sweep *s, const tr_tv *x) {
    for (uint32_t k = 0; k < s->nargs; k++) {
        if (!s->relative[k])
            continue;
        const char *name = s->fn->argnames[k];
        if (!tr_lib_is_array(x[k]) || x[k].ty->ndim != s->n)
            return tr_em_error(
                e, "'%s' has relative indices, as the first array, and is %s, not an array of %u %s", name,
                tr_em_tyname(e, x[k].ty), s->n, s->n == 1 ? "axis" : "axes");
        for (uint32_t i = 0; k && i < s->n; i++) {
            tr_tv two[2] = {tr_em_dim(e, x[k], i), tr_em_dim(e, x[0], i)};
            tr_em_check(
                e, tr_em_cmp(e, TR_CMP_GE, two[0], two[1]), TR_EXC_VALUE,
                tr_arena_printf(&e->ctx->arena,
                                "%s(): '%s' has size {0} along axis %u, where the first array has {1}",
                                s->fn->name, name, i),
                2, two);
        }
    }
    return true;
}

/* cval as an item of the result, which must have it. */
static bool edge_value(tr_em *e, const sweep *s, tr_tv cval, const tr_ty *t, tr_tv *out) {
    double v = 0.0;
    tr_bigint n;
    bool whole = tr_tv_lit_integer(cval, &n), real = tr_tv_lit_real(cval, &v), fits = real;
    if (t->kind == TR_TY_BOOL)
        fits = real && (v == 0.0 || v == 1.0);
    else if (tr_ty_is_int(t) && whole)
        fits = tr_tv_fits(cval, t);
    else if (tr_ty_is_int(t)) {
        double top = ldexp(1.0, (int)(8 * tr_ty_size(t)) - (tr_ty_class(t) == 'i'));
        fits = real && v == floor(v) && v < top && v >= (tr_ty_class(t) == 'i' ? -top : 0.0);
    } else if (tr_ty_is_complex(t))
        fits = true;
    if (!fits)
        return tr_em_error(e, "cval=%s does not fit the results of %s(), which are %s", cval.ty->lit->repr,
                           s->fn->name, tr_em_tyname(e, t));
    *out = tr_em_conv(e, cval, t);
    return true;
}

/* --- all places --- */

static bool call_at(tr_em *e, const sweep *s, const tr_tv *place, const tr_tv *x, tr_tv *out) {
    tr_tv *a = TR_NEW_N(&e->ctx->arena, tr_tv, s->nargs + 1u);
    for (uint32_t k = 0; k < s->nargs; k++)
        a[k] = s->relative[k] ? make_window(e, x[k], place, s->lo, s->hi) : x[k];
    e->ends = false;
    bool ok = e->call(e, s->kernel, &(tr_args){s->nargs, a, 0, NULL}, out);
    if (ok && e->ends && out->ty) /* it never returns: no number of it gets to be seen */
        *out = tr_lib_undef(e, tr_fam_ty(e, TR_TY_F64));
    e->ends = false; /* there may be no place */
    return ok;
}

static bool lam_place(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                      tr_tv *yields) {
    const sweep *s = d->user;
    tr_tv place[TR_MAX_NDIM], v;
    (void)elems;
    for (uint32_t i = 0; i < s->n; i++)
        place[i] = tr_em_nsw(e, TR_OP_ADD, idx[i], tr_em_i64(e, edge(s, i, false)));
    if (!call_at(e, s, place, caps, &v) || !v.ty)
        return false;
    yields[0] = tr_em_conv(e, v, d->out[0].ty->elem);
    return true;
}

/* The type of what the kernel gives, a number; *t is NULL while that is being inferred, or where
 * the kernel has an error of its own. */
static bool result_type(tr_em *e, const sweep *s, const tr_tv *x, const tr_ty **t) {
    tr_em probe = *e;
    tr_tv place[TR_MAX_NDIM], v;
    probe.dry = true;
    *t = NULL;
    for (uint32_t i = 0; i < s->n; i++)
        place[i] = (tr_tv){tr_fam_ty(e, TR_TY_I64), TR_NOVAL};
    bool ok = call_at(&probe, s, place, x, &v);
    if (!e->dry && (!ok || !v.ty)) { /* once more, so that the reason is reported */
        for (uint32_t i = 0; i < s->n; i++)
            place[i] = tr_em_i64(e, 0);
        ok = call_at(e, s, place, x, &v);
    }
    if (!ok || !v.ty)
        return ok;
    *t = tr_ty_strong(e->types, v.ty);
    return tr_ty_is_scalar(*t) || tr_em_error(e, "a stencil's kernel gives a number, and %s() gives %s",
                                              s->fn->name, tr_em_tyname(e, v.ty));
}

/* The part of an array that has n items along each axis, from `first` on. */
static tr_tv part(tr_em *e, tr_tv a, const tr_tv *first, const tr_tv *n) {
    tr_axes x = {0};
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        tr_axes_part(&x, i, first[i], n[i], tr_em_i64(e, 1));
    return tr_em_view(e, tr_ty_array_as(e->types, a.ty->elem, a.ty->ndim, TR_LAYOUT_ANY, false, a.ty->sub), a,
                      &x);
}

/* Both edges along an axis. In an array that is too small for an inside they meet. */
static bool fill_edges(tr_em *e, const sweep *s, tr_tv a, uint32_t axis, tr_tv v) {
    tr_tv first[TR_MAX_NDIM], n[TR_MAX_NDIM], size = tr_em_dim(e, a, axis);
    for (uint32_t i = 0; i < s->n; i++) {
        first[i] = tr_em_i64(e, 0);
        n[i] = tr_em_dim(e, a, i);
    }
    for (unsigned behind = 0; behind < 2; behind++) {
        int64_t k = edge(s, axis, behind);
        if (k == 0)
            continue;
        n[axis] = tr_em_op2(e, TR_OP_MIN, tr_em_i64(e, k), size);
        first[axis] = behind ? tr_em_nsw(e, TR_OP_SUB, size, n[axis]) : tr_em_i64(e, 0);
        if (!tr_em_fill(e, part(e, a, first, n), v))
            return false;
    }
    return true;
}

static bool sweep_all(tr_em *e, const sweep *s, const tr_tv *x, tr_tv to) {
    tr_tv first[TR_MAX_NDIM], n[TR_MAX_NDIM], none, zero = tr_em_i64(e, 0);
    for (uint32_t i = 0; i < s->n; i++) {
        tr_tv size = tr_em_dim(e, to, i);
        n[i] = tr_em_nsw(e, TR_OP_SUB, size, tr_em_i64(e, edge(s, i, false) + edge(s, i, true)));
        n[i] = tr_em_op2(e, TR_OP_MAX, n[i], zero);
        first[i] = tr_em_op2(e, TR_OP_MIN, tr_em_i64(e, edge(s, i, false)), size);
    }
    tr_tv inside = part(e, to, first, n);
    tr_pdesc d = {.nspace = s->n,
                  .nout = 1,
                  .ncap = s->nargs,
                  .space = n,
                  .out = &inside,
                  .caps = x,
                  .lam = lam_place,
                  .user = s};
    return tr_em_pattern(e, &d, &none);
}

/* An array as a kernel has it that does not look beside its place: it may not be stored to. */
static bool as_read(tr_em *e, tr_tv *x) {
    if (!tr_lib_is_array(*x) || x->ty->readonly)
        return true;
    return tr_em_coerce(
        e, *x, tr_ty_array_as(e->types, x->ty->elem, x->ty->ndim, (tr_layout)x->ty->layout, true, x->ty->sub),
        x);
}

static bool result_into(tr_em *e, const sweep *s, tr_tv *x, tr_tv dst, const tr_ty *t) {
    if (!tr_lib_is_array(dst) || dst.ty->ndim != s->n || dst.ty->readonly)
        return tr_em_error(e, "%s(): out is an array of %u %s that can be written to, not %s", s->fn->name,
                           s->n, s->n == 1 ? "axis" : "axes", tr_em_tyname(e, dst.ty));
    if (tr_ty_is_complex(t) && !tr_ty_is_complex(dst.ty->elem))
        return tr_em_error(e, "%s(): results are %s, which an array of %s does not take", s->fn->name,
                           tr_em_tyname(e, t), tr_em_tyname(e, dst.ty->elem));
    for (uint32_t i = 0; i < s->n; i++) {
        tr_tv two[2] = {tr_em_dim(e, dst, i), tr_em_dim(e, x[0], i)};
        tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, two[0], two[1]), TR_EXC_VALUE,
                    tr_arena_printf(&e->ctx->arena,
                                    "%s(): out has size {0} along axis %u, where the first array has {1}",
                                    s->fn->name, i),
                    2, two);
    }
    for (uint32_t k = 0; k < s->nargs; k++)
        if (tr_lib_is_array(x[k]) && !tr_lib_separate(e, dst, x[k], &x[k]))
            return false;
    return true;
}

static bool run(tr_em *e, sweep *s, const tr_bcall *c, tr_tv *out) {
    tr_tv *x = TR_NEW_N(&e->ctx->arena, tr_tv, s->nargs + 1u), dst = c->a[4], cval = c->a[3], tv;
    const tr_ty *t = NULL;
    for (uint32_t k = 0; k < s->nargs; k++)
        x[k] = tr_em_item(e, c->a[5], k);
    if (!s->nargs || !tr_lib_is_array(x[0]) || !x[0].ty->ndim)
        return tr_em_error(e, "the first argument of a stencil is the array that it goes over, not %s",
                           s->nargs ? tr_em_tyname(e, x[0].ty) : "missing");
    s->n = x[0].ty->ndim;
    if (!take_bounds(e, s, c->a[1]) || !find_reach(e, s, x) || !check_arrays(e, s, x))
        return false;
    bool given = tr_fam_given(dst);
    for (uint32_t k = 0; k < s->nargs; k++)
        if (!as_read(e, &x[k]))
            return false;
    if (!result_type(e, s, x, &t))
        return false;
    *out = (tr_tv){NULL, TR_NOVAL};
    if (!t)
        return true;
    if (given && !result_into(e, s, x, dst, t))
        return false;
    tr_tv shape[TR_MAX_NDIM];
    tr_fam_shape(e, x[0], shape);
    *out = given ? dst : tr_em_alloc(e, t, s->n, TR_LAYOUT_C, shape);
    if (!given || !tr_tv_is_none(cval)) {
        if (tr_tv_is_none(cval))
            tv = tr_em_num(e, t, 0.0);
        else if (!edge_value(e, s, cval, out->ty->elem, &tv))
            return false;
        for (uint32_t i = 0; i < s->n; i++)
            if (!fill_edges(e, s, *out, i, tv))
                return false;
    }
    return sweep_all(e, s, x, *out);
}

/* treadle._library.swept(kernel, neighborhood, standard, cval, out, args): a stencil's result. `standard` has
 * a bit for each of args that is indexed as arrays are elsewhere. */
bool tr_lib_stencil(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_obj *o = c->a[0].ty->kind == TR_TY_LIT ? c->a[0].ty->lit : NULL;
    int64_t standard;
    if (!o || o->kind != TR_OBJ_FUNC || !tr_tv_lit_int(c->a[2], &standard) || c->a[5].ty->kind != TR_TY_TUPLE)
        return tr_em_error(e, "swept() is for what stencil() makes");
    sweep s = {.kernel = c->a[0], .fn = &e->prog->funcs.d[o->u.func], .nargs = c->a[5].ty->n};
    s.standard = (uint64_t)standard;
    s.relative = TR_NEW_N(&e->ctx->arena, bool, s.nargs + 1u);
    if (!s.fn->ssa || s.nargs > s.fn->nargs) { /* the call says why not */
        tr_tv *x = TR_NEW_N(&e->ctx->arena, tr_tv, s.nargs + 1u);
        for (uint32_t k = 0; k < s.nargs; k++)
            x[k] = tr_em_item(e, c->a[5], k);
        return e->call(e, c->a[0], &(tr_args){s.nargs, x, 0, NULL}, out) &&
               tr_em_fail(e, TR_ERR_INTERNAL, "a stencil's kernel without a body");
    }
    tr_place before = e->place;
    e->place = (tr_place){.file = s.fn->file,
                          .fn = s.fn->name,
                          .span = {s.fn->code ? (int32_t)s.fn->code->firstline : 0, -1, 0, -1}};
    bool ok = run(e, &s, c, out);
    e->place = before;
    return ok;
}

/* --- stencils that are made in compiled code: a method of a tuple of their parts, which no
 * attribute names --- */

/* The kernel as a constant: a plain function, or an inner one that uses nothing of what is around it. */
static bool constant_kernel(tr_em *e, tr_tv kernel, tr_tv *out) {
    const tr_ty *t = kernel.ty;
    *out = kernel;
    if (t->kind == TR_TY_LIT && t->lit->kind == TR_OBJ_FUNC)
        return true;
    if (t->kind != TR_TY_CLOSURE)
        return tr_em_error(e, "in compiled code stencil() takes the kernel, a function, not %s",
                           tr_em_tyname(e, t));
    if (t->n > 1 || (t->n == 1 && t->items[0]->kind != TR_TY_NONE))
        return tr_em_unsupported(
            e, "stencil-closure",
            "a stencil's kernel that uses variables of the function it is made in, or has defaults");
    tr_obj *o = TR_NEW(&e->ctx->arena, tr_obj);
    *o = (tr_obj){.kind = TR_OBJ_FUNC,
                  .repr = tr_arena_printf(&e->ctx->arena, "function '%s'", e->prog->funcs.d[t->func].name)};
    o->u.func = t->func;
    *out = tr_em_lit(e, o);
    return true;
}

/* A bit for each parameter that is named, as in stencils.py. */
static bool standard_bits(tr_em *e, const tr_func *fn, tr_tv names, int64_t *bits) {
    uint32_t n = names.ty->kind == TR_TY_TUPLE ? names.ty->n : 1;
    *bits = 0;
    for (uint32_t i = 0; i < n; i++) {
        const char *name;
        uint32_t k = 0;
        if (!tr_tv_lit_str(names.ty->kind == TR_TY_TUPLE ? tr_em_item(e, names, i) : names, &name))
            return tr_em_error(e, "standard_indexing must be constant names of parameters");
        while (k < fn->nargs && strcmp(fn->argnames[k], name) != 0)
            k++;
        if (k == 0 || k >= fn->nargs || k > 62)
            return tr_em_error(e,
                               "standard_indexing has '%s', which is no parameter of %s() that can have it",
                               name, fn->name);
        *bits |= (int64_t)1 << k;
    }
    return true;
}

/* Pairs of integers that are known, as stencils.py has them. */
static bool check_neighborhood(tr_em *e, tr_tv hood) {
    bool ok = hood.ty->kind == TR_TY_TUPLE && hood.ty->n;
    for (uint32_t i = 0; ok && i < hood.ty->n; i++) {
        tr_tv pair = tr_em_item(e, hood, i);
        int64_t lo, hi;
        ok = pair.ty->kind == TR_TY_TUPLE && pair.ty->n == 2 && tr_tv_lit_int(tr_em_item(e, pair, 0), &lo) &&
             tr_tv_lit_int(tr_em_item(e, pair, 1), &hi) && lo <= hi && lo >= -FARTHEST && hi <= FARTHEST;
    }
    return ok ||
           tr_em_error(e, "neighborhood must have a constant pair of integers for each axis, as ((-1, 1), "
                          "(-1, 1)), the smaller one first");
}

/* Parameters: kernel, neighborhood, cval, standard_indexing. */
bool tr_lib_make_stencil(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv kernel, parts[4], self;
    int64_t bits = 0;
    if (!constant_kernel(e, c->a[0], &kernel))
        return false;
    if (tr_fam_given(c->a[3]) && !standard_bits(e, &e->prog->funcs.d[kernel.ty->lit->u.func], c->a[3], &bits))
        return false;
    if (tr_fam_given(c->a[1]) && !check_neighborhood(e, c->a[1]))
        return false;
    if (tr_fam_given(c->a[2]) && (c->a[2].ty->kind != TR_TY_LIT || !tr_lib_scalar(e, c->a[2].ty)))
        return tr_em_error(e, "in compiled code cval must be a constant number, not %s",
                           tr_em_tyname(e, c->a[2].ty));
    parts[0] = c->a[0];
    parts[1] = tr_fam_given(c->a[1]) ? c->a[1] : tr_em_none(e);
    parts[2] = tr_em_lit(e, tr_obj_int(&e->ctx->arena, bits));
    parts[3] = tr_fam_given(c->a[2]) ? c->a[2] : tr_em_none(e);
    self = tr_em_tuple(e, 4, parts);
    *out = tr_em_make(e, tr_ty_method(e->types, self.ty, "__stencil__"), 1, &self);
    return true;
}

/* Is it what tr_lib_make_stencil made, and no tuple of the program's? */
static bool is_made(const tr_ty *t) {
    return t->kind == TR_TY_TUPLE && t->n == 4 &&
           (t->items[0]->kind == TR_TY_LIT || t->items[0]->kind == TR_TY_CLOSURE) &&
           t->items[2]->kind == TR_TY_LIT && t->items[2]->lit->kind == TR_OBJ_INT;
}

/* Parameters: the parts, *args, out. */
bool tr_lib_call_stencil(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a[6];
    if (!is_made(c->a[0].ty))
        return tr_em_error(e, "%s has no attribute '__stencil__'", tr_em_tyname(e, c->a[0].ty));
    for (uint32_t k = 0; k < 4; k++)
        a[k] = tr_em_item(e, c->a[0], k);
    if (!constant_kernel(e, a[0], &a[0]))
        return false;
    a[4] = tr_fam_given(c->a[c->n - 1]) ? c->a[c->n - 1] : tr_em_none(e);
    a[5] = tr_em_tuple(e, c->nvar, c->var);
    return tr_lib_stencil(e, &(tr_bcall){.row = c->row, .n = 6, .a = a}, out);
}
