/* Arrays whose items are computed from where they stand: what a function of the language gives for the index along
 * the last axis and for the number of the row. One pattern without inputs, so the function fuses into what uses it. */
#include "lib/fam.h"
#include "lib/families.h"

/* The function, an index, a row's number, and what is the same for all; the extents come after these. */
enum { FIXED = 3 };

typedef struct indexed {
    uint32_t ndim, nargs; /* of the function */
} indexed;

/* What stands for the item of a function that raises in any case. */
static const tr_ty *never(tr_em *e) {
    return tr_fam_ty(e, TR_TY_F64);
}

/* The type of an item. */
static bool item_type(tr_em *e, uint32_t n, const tr_tv *x, const tr_ty **t) {
    tr_em probe = *e;
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u), r;
    for (uint32_t i = 0; i <= n; i++)
        v[i] = x[i];
    v[1] = v[2] = (tr_tv){tr_fam_ty(e, TR_TY_I64), TR_NOVAL};
    probe.dry = true;
    if (!tr_fam_call(&probe, v[0], n, v + 1, never(e), &r)) {
        v[1] = v[2] = tr_em_i64(e, 0);
        return !e->dry && tr_fam_call(e, v[0], n, v + 1, never(e), &r) &&
               tr_em_fail(e, TR_ERR_INTERNAL, "a function failed dry only");
    }
    *t = r.ty;
    return true;
}

static bool lam_indexed(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                        tr_tv *yields) {
    (void)elems;
    const indexed *m = d->user;
    const tr_tv *extents = caps + 1 + (m->nargs - 2);
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, m->nargs + 1u), row = tr_em_i64(e, 0);
    for (uint32_t k = 0; k + 1 < m->ndim; k++) {
        tr_tv above = k ? tr_em_op2(e, TR_OP_MUL, row, extents[k]) : row;
        row = k ? tr_em_op2(e, TR_OP_ADD, above, idx[k]) : idx[k];
    }
    v[0] = idx[m->ndim - 1];
    v[1] = row;
    for (uint32_t i = 2; i < m->nargs; i++)
        v[i] = caps[i - 1];
    return tr_fam_call(e, caps[0], m->nargs, v, never(e), &yields[0]);
}

bool tr_lib_indexed(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_arena *a = &e->ctx->arena;
    uint32_t n = 2 + c->nvar, ndim, ncap = 0;
    tr_tv *x = TR_NEW_N(a, tr_tv, n + 1u), *caps = TR_NEW_N(a, tr_tv, n + TR_MAX_NDIM), shape[TR_MAX_NDIM],
          none;
    const tr_ty *t = NULL;
    x[0] = caps[ncap++] = c->a[0];
    x[1] = x[2] = tr_em_i64(e, 0);
    for (uint32_t i = 0; i < c->nvar; i++) {
        if (!tr_lib_scalar(e, c->var[i].ty))
            return tr_em_error(e, "indexed() takes numbers, not %s", tr_em_tyname(e, c->var[i].ty));
        x[FIXED + i] = caps[ncap++] = c->var[i];
    }
    if (!tr_fam_extents(e, c, c->a[1], shape, &ndim))
        return false;
    if (ndim == 0)
        return tr_fam_call(e, x[0], n, x + 1, never(e), out);
    if (!item_type(e, n, x, &t))
        return false;
    const tr_ty *s = tr_lib_scalar(e, t);
    if (!s)
        return tr_em_error(e, "indexed() takes a function that returns a number");
    for (uint32_t k = 0; k < ndim; k++)
        caps[ncap++] = shape[k];
    indexed *m = TR_NEW(a, indexed);
    *m = (indexed){ndim, n};
    *out = tr_em_alloc(e, tr_ty_strong(e->types, s), ndim, TR_LAYOUT_C, shape);
    tr_pdesc d = {.nspace = ndim,
                  .nout = 1,
                  .ncap = ncap,
                  .space = shape,
                  .out = out,
                  .caps = caps,
                  .lam = lam_indexed,
                  .user = m};
    return tr_em_pattern(e, &d, &none);
}
