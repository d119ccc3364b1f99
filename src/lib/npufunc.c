/* What all of NumPy's elementwise functions share: their operands, and the arguments out= and dtype=.
 *
 * dtype= is the type in which NumPy computes: operands are converted to it first, and the function must then have a result
 * of that type. out= is an array that the operands broadcast to; operands that may share memory with it are copied before,
 * but for one that is the same array, whose items are read before they are written. */
#include "lib/fam.h"
#include "lib/families.h"

bool tr_fam_operands(tr_em *e, const tr_bcall *c, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        tr_tv x = c->a[i];
        if (!tr_lib_is_array(x) && !tr_lib_scalar(e, x.ty))
            return tr_em_error(e, "%s() takes numbers or arrays, not %s", tr_fam_name(c),
                               tr_em_tyname(e, x.ty));
    }
    return true;
}

static int kind_order(const tr_ty *t) {
    switch (tr_ty_class(t)) {
    case 'b': return 0;
    case 'u':
    case 'i': return 1;
    case 'f': return 2;
    default: return 3;
    }
}

bool tr_fam_same_kind(const tr_ty *from, const tr_ty *to) {
    return kind_order(from) <= kind_order(to);
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
    if (!w->fn(e, w->c, v, out))
        return false;
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

/* A comparison is exact whatever the literal. */
static bool is_compare(tr_bfn fn) {
    return fn == tr_lib_uf_compare || fn == tr_lib_uf_logical;
}

bool tr_fam_ufunc(tr_em *e, const tr_bcall *c, uint32_t nin, tr_lib_eltfn fn, tr_tv *out) {
    const void *user = c;
    tr_tv dst = c->n > nin ? c->a[nin] : (tr_tv){NULL, TR_NOVAL},
          dtype = c->n > nin + 1 ? c->a[nin + 1] : (tr_tv){NULL, TR_NOVAL};
    if (!tr_fam_operands(e, c, nin))
        return false;
    if (tr_fam_given(dtype)) {
        cast *w = TR_NEW(&e->ctx->arena, cast);
        *w = (cast){c, nin, tr_tv_dtype(e, dtype), fn};
        if (!w->t)
            return tr_em_error(e, "%s(): %s is not a dtype that compiled code knows", tr_fam_name(c),
                               tr_em_tyname(e, dtype.ty));
        user = w;
        fn = elt_cast;
    } else if (!is_compare(tr_builtins[c->row].fn) && !tr_lib_check_literals(e, nin, c->a)) {
        return false;
    }
    return tr_fam_map_out(e, c, nin, c->a, dst, fn, user, out);
}
