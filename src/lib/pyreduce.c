/* functools.reduce(): any function, any iterable (left fold). Items of an array, and numbers in between, are
 * a scan of a pattern whose round makes the new value of the old one (TR_RED_LAST), so that it is fused with
 * what makes the items; all else is a loop. In order, on one core, as Python says.
 *
 * What is carried has one type: the join of the first value's with all that the function returns. */
#include "lib/fam.h"

enum { MAX_TYPES = 8 }; /* a join of joins ends long before */

typedef struct fold {
    tr_tv fn;
    const tr_ty *t; /* of what is carried */
} fold;

/* fn(acc, x), as what is carried. */
static bool step(tr_em *e, const fold *f, tr_tv acc, tr_tv x, tr_tv *out) {
    return tr_fam_call(e, f->fn, 2, (tr_tv[]){acc, x}, f->t, out) && tr_em_coerce(e, *out, f->t, out);
}

static bool carried_type(tr_em *e, fold *f, const tr_ty *item) {
    for (unsigned n = 0; n < MAX_TYPES; n++) {
        tr_em probe = *e;
        probe.dry = true;
        tr_tv r, x[2] = {{f->t, TR_NOVAL}, {item, TR_NOVAL}};
        if (!tr_fam_call(&probe, f->fn, 2, x, f->t, &r)) {
            x[0] = tr_lib_undef(e, f->t); /* once more, so that the reason is reported */
            x[1] = tr_lib_undef(e, item);
            return tr_fam_call(e, f->fn, 2, x, f->t, &r) &&
                   tr_em_fail(e, TR_ERR_INTERNAL, "a function failed dry only");
        }
        const tr_ty *t = tr_ty_join(e->types, f->t, tr_ty_strong(e->types, r.ty), e->opts->promote_numba);
        if (!t)
            return tr_em_error(e, "reduce(): the function gets %s and returns %s", tr_em_tyname(e, f->t),
                               tr_em_tyname(e, r.ty));
        if (t == f->t)
            return true;
        f->t = t;
    }
    return tr_em_error(e, "reduce(): what the function returns has no one type");
}

static void check_some(tr_em *e, tr_tv some) {
    tr_em_check(e, some, TR_EXC_TYPE, "reduce() of empty iterable with no initial value", 0, NULL);
}

/* --- an array --- */

/* elems: the item, the value so far. */
static bool lam_step(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                     tr_tv *yields) {
    fold f = *(const fold *)d->user;
    (void)idx;
    f.fn = caps[0];
    return step(e, &f, elems[1], elems[0], yields);
}

static bool fold_array(tr_em *e, const fold *f, tr_tv a, tr_tv init, tr_tv *out) {
    tr_redk last = TR_RED_LAST;
    tr_tv n = tr_em_dim(e, a, 0), fn = f->fn;
    tr_pdesc d = {.nspace = 1,
                  .nin = 1,
                  .nred = 1,
                  .nscan = 1,
                  .ncap = 1,
                  .space = &n,
                  .in = &a,
                  .reds = &last,
                  .init = &init,
                  .caps = &fn,
                  .lam = lam_step,
                  .user = tr_arena_copy(&e->ctx->arena, f, sizeof *f)};
    return tr_em_pattern(e, &d, out);
}

/* The first item, and those behind it. */
static bool take_first(tr_em *e, tr_tv *a, const fold *f, tr_tv *init) {
    tr_tv n = tr_em_dim(e, *a, 0), one = tr_em_i64(e, 1), zero = tr_em_i64(e, 0);
    tr_axes rest = {0};
    check_some(e, tr_em_cmp(e, TR_CMP_GT, n, zero));
    if (!tr_em_coerce(e, tr_em_load(e, *a, &zero), f->t, init))
        return false;
    tr_axes_part(&rest, 0, one, tr_em_nsw(e, TR_OP_SUB, n, one), one);
    *a = tr_em_view(e, a->ty, *a, &rest);
    return true;
}

/* --- any iterable --- */

static bool each_step(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    (void)stop;
    return step(e, user, acc[0], x, &acc[0]);
}

/* acc: the value so far, whether there is one */
static bool each_or_first(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    const fold *f = user;
    tr_tv v;
    (void)stop;
    if (e->dry)
        return step(e, f, acc[0], x, &v);
    tr_bid later = tr_blk_new(e->b.fn), first = tr_blk_new(e->b.fn), join = tr_blk_new(e->b.fn);
    tr_cbr(&e->b, acc[1].v, later, 0, NULL, first, 0, NULL);
    e->b.blk = later;
    if (!step(e, f, acc[0], x, &v))
        return false;
    tr_br(&e->b, join, 1, &v.v);
    e->b.blk = first;
    if (!tr_em_coerce(e, x, f->t, &v))
        return false;
    tr_br(&e->b, join, 1, &v.v);
    e->b.blk = join;
    acc[0] = (tr_tv){f->t, tr_blk_param(e->b.fn, join, f->t, NULL)};
    acc[1] = tr_em_strong(e, tr_em_bool(e, true));
    return true;
}

static bool fold_items(tr_em *e, const fold *f, tr_tv it, tr_tv init, tr_tv *out) {
    if (init.ty) {
        *out = init;
        return tr_em_each(e, it, 1, out, each_step, f);
    }
    tr_tv acc[2] = {tr_lib_undef(e, f->t), tr_em_strong(e, tr_em_bool(e, false))};
    if (!tr_em_each(e, it, 2, acc, each_or_first, f))
        return false;
    check_some(e, acc[1]);
    *out = acc[0];
    return true;
}

/* --- the function --- */

static bool fold_tuple(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv t = c->a[1];
    uint32_t i = 0;
    if (!c->a[2].ty && t.ty->n == 0)
        return tr_em_error(e, "reduce() of empty iterable with no initial value");
    *out = c->a[2].ty ? c->a[2] : tr_em_item(e, t, i++);
    for (; i < t.ty->n; i++)
        if (!tr_fam_call(e, c->a[0], 2, (tr_tv[]){*out, tr_em_item(e, t, i)}, tr_ty_strong(e->types, out->ty),
                         out))
            return false;
    return true;
}

/* Parameters: function, iterable, initial. */
bool tr_lib_py_reduce(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv it = c->a[1], init = c->a[2];
    const tr_ty *item;
    if (it.ty->kind == TR_TY_TUPLE)
        return fold_tuple(e, c, out);
    if (!tr_em_iter(e, it, &it) || !tr_fam_item_type(e, it, &item))
        return false;
    fold f = {c->a[0], tr_ty_strong(e->types, init.ty ? init.ty : item)};
    if (!carried_type(e, &f, item) || (init.ty && !tr_em_coerce(e, init, f.t, &init)))
        return false;
    if (!tr_lib_is_array(it) || it.ty->ndim != 1 || !tr_ty_is_scalar(f.t))
        return fold_items(e, &f, it, init, out);
    return (init.ty || take_first(e, &it, &f, &init)) && fold_array(e, &f, it, init, out);
}
