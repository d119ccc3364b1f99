/* Attributes of arrays, and NumPy's functions that are the same by another name. */
#include "lib/fam.h"
#include "lib/families.h"

/* --- attributes --- */

static tr_tv lit_int(tr_em *e, int64_t v) {
    return tr_em_lit(e, tr_obj_int(&e->ctx->arena, v));
}

bool tr_lib_arr_shape(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv n[TR_MAX_NDIM], a;
    if (!tr_fam_as_array(e, c, c->a[0], NULL, &a))
        return false;
    tr_fam_shape(e, a, n);
    *out = tr_em_tuple(e, a.ty->ndim, n);
    return true;
}

bool tr_lib_arr_strides(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv n[TR_MAX_NDIM], a = c->a[0], size = tr_em_i64(e, tr_ty_unit(a.ty));
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        n[i] = tr_em_nsw(e, TR_OP_MUL, tr_em_stride(e, a, i), size);
    *out = tr_em_tuple(e, a.ty->ndim, n);
    return true;
}

/* aux: what is counted. */
bool tr_lib_arr_count(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    if (!tr_fam_as_array(e, c, c->a[0], NULL, &a))
        return false;
    unsigned item = tr_ty_size(a.ty->elem);
    switch (c->aux) {
    case TR_COUNT_NDIM: *out = lit_int(e, a.ty->ndim); break;
    case TR_COUNT_ITEMSIZE: *out = lit_int(e, item); break;
    case TR_COUNT_NBYTES: *out = tr_em_nsw(e, TR_OP_MUL, tr_em_size(e, a), tr_em_i64(e, item)); break;
    default: *out = tr_em_size(e, a);
    }
    return true;
}
