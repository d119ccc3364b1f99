/* cuda.atomic: an element of an array is changed in one step. Ops of their own (op.def), on
 * the host real atomics between blocks. */
#include <string.h>

#include "lib/fam.h"
#include "lib/families.h"

/* Numba converts indices of atomics to intp whatever they are. Its rules make a float64 of an index that is
 * an int64 on one path and a uint64 on another, so programs rely on that. */
static tr_tv whole(tr_em *e, tr_tv idx) {
    if (tr_ty_is_float(idx.ty))
        return tr_em_conv(e, idx, tr_fam_ty(e, TR_TY_I64));
    if (idx.ty->kind != TR_TY_TUPLE || idx.ty->n > TR_MAX_NDIM)
        return idx;
    tr_tv it[TR_MAX_NDIM];
    bool any = false;
    for (uint32_t k = 0; k < idx.ty->n; k++) {
        it[k] = tr_em_item(e, idx, k);
        any = any || tr_ty_is_float(it[k].ty);
        it[k] = tr_ty_is_float(it[k].ty) ? whole(e, it[k]) : it[k];
    }
    return any ? tr_em_tuple(e, idx.ty->n, it) : idx;
}

/* Of an atomic the element: its array, indices in range, then room for values. */
static bool element(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv idx, tr_val *args, uint32_t *n) {
    tr_idx it[TR_MAX_NDIM + 1];
    if (a.ty->kind != TR_TY_ARRAY || !tr_ty_is_scalar(a.ty->elem))
        return tr_em_error(e, "%s() takes an array, not %s", tr_fam_name(c), tr_em_tyname(e, a.ty));
    if (a.ty->readonly)
        return tr_em_error(e, "%s(): the array is read-only", tr_fam_name(c));
    if (!tr_lib_index_parts(e, a, e->opts->promote_numba ? whole(e, idx) : idx, it, n))
        return false;
    args[0] = a.v;
    for (uint32_t k = 0; k < *n; k++) {
        if (it[k].kind != 'i')
            return tr_em_error(e, "%s() takes an index of each axis: one element", tr_fam_name(c));
        args[1 + k] = tr_lib_checked_index(e, it[k].v, tr_em_dim(e, a, k), k, NULL).v;
    }
    return true;
}

static bool value(tr_em *e, const tr_bcall *c, const tr_ty *elem, tr_tv x, tr_val *out) {
    if (!tr_fam_number(e, c, x, tr_ty_is_complex(elem) ? "bifc" : "bif"))
        return false;
    *out = tr_em_conv(e, x, elem).v;
    return true;
}

/* aux: the tr_atomic; sub adds what is negated, and integers are never NaN. */
bool tr_lib_cu_atomic(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a = c->a[0], x = c->a[2];
    tr_val args[TR_MAX_NDIM + 3];
    uint32_t n;
    bool sub = c->aux == TR_ATOMIC_SUB;
    tr_atomic how = sub ? TR_ATOMIC_ADD : (tr_atomic)c->aux;
    if (!element(e, c, a, c->a[1], args, &n))
        return false;
    const tr_ty *t = a.ty->elem;
    if (!tr_ty_is_float(t) && (how == TR_ATOMIC_NANMIN || how == TR_ATOMIC_NANMAX))
        how = how == TR_ATOMIC_NANMIN ? TR_ATOMIC_MIN : TR_ATOMIC_MAX;
    if (!strchr(tr_atomic_info[how].of, tr_ty_class(t)) || tr_ty_size(t) < 4)
        return tr_em_error(e, "%s() is not defined for arrays of %s", tr_fam_name(c), tr_em_tyname(e, t));
    if (!value(e, c, t, x, &args[1 + n]))
        return false;
    if (sub)
        args[1 + n] = tr_em_op1(e, TR_OP_NEG, (tr_tv){t, args[1 + n]}).v;
    *out = tr_lib_emit(e, TR_OP_ATOMIC, t, n + 2, args);
    if (!e->dry)
        tr_at(e->b.fn, out->v)->sub = (uint8_t)how;
    return true;
}

/* Where `old` is, `val` comes. */
static bool cas(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv idx, const tr_tv *vals, tr_tv *out) {
    tr_val args[TR_MAX_NDIM + 3];
    uint32_t n;
    if (!element(e, c, a, idx, args, &n))
        return false;
    const tr_ty *t = a.ty->elem;
    if (!strchr("iu", tr_ty_class(t)) || tr_ty_size(t) < 4)
        return tr_em_error(e, "%s() is not defined for arrays of %s", tr_fam_name(c), tr_em_tyname(e, t));
    if (!value(e, c, t, vals[0], &args[1 + n]) || !value(e, c, t, vals[1], &args[2 + n]))
        return false;
    *out = tr_lib_emit(e, TR_OP_CAS, t, n + 3, args);
    return true;
}

bool tr_lib_cu_cas(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return cas(e, c, c->a[0], c->a[1], c->a + 2, out);
}

/* Of the first element. */
bool tr_lib_cu_cas_first(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return cas(e, c, c->a[0], tr_em_i64(e, 0), c->a + 1, out);
}
