/* hash() of numbers, strings, bytes and tuples of these: calls of the runtime (rt/pyhash.c), which answer as
 * CPython does. What has no hash is an error in Python's words; what has one that is its place in memory is
 * refused. */
#include "lib/fam.h"

#include <string.h>

#include "lib/families.h"
#include "lib/kinds.h"
#include "lib/priv.h"

static tr_tv i64_call(tr_em *e, tr_rt row, uint32_t n, const tr_tv *x) {
    return tr_em_callrt(e, row, tr_fam_ty(e, TR_TY_I64), NULL, n, x);
}

static bool of_number(tr_em *e, tr_tv x, tr_tv *out) {
    bool wide = tr_lib_scalar(e, x.ty)->kind == TR_TY_U64;
    tr_tv v[2];
    switch (tr_fam_class(e, x)) {
    case 'c':
        if (!tr_em_getattr(e, x, "real", &v[0]) || !tr_em_getattr(e, x, "imag", &v[1]))
            return false;
        for (int k = 0; k < 2; k++)
            v[k] = tr_em_conv(e, v[k], tr_fam_ty(e, TR_TY_F64));
        *out = i64_call(e, TR_RT_HASH_COMPLEX, 2, v);
        return true;
    case 'f':
        v[0] = tr_em_conv(e, x, tr_fam_ty(e, TR_TY_F64));
        *out = i64_call(e, TR_RT_HASH_F64, 1, v);
        return true;
    default:
        v[0] = tr_em_conv(e, x, tr_fam_ty(e, wide ? TR_TY_U64 : TR_TY_I64));
        *out = i64_call(e, wide ? TR_RT_HASH_U64 : TR_RT_HASH_I64, 1, v);
        return true;
    }
}

static bool of_text(tr_em *e, tr_tv s, tr_tv *out) {
    *out = i64_call(e, TR_RT_HASH_STR, 1, &s);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, *out, tr_em_i64(e, -1)), TR_EXC_MEMORY, "cannot allocate a string",
                0, NULL);
    return true;
}

static bool hash_of(tr_em *e, tr_tv x, tr_tv *out) {
    x = tr_em_value(e, x);
    if (tr_fam_class(e, x))
        return of_number(e, x, out);
    if (tr_lib_is_text(x))
        return tr_em_string(e, x, &x) && of_text(e, x, out);
    if (x.ty->kind == TR_TY_BYTES)
        return of_text(e, tr_em_item(e, x, 0), out);
    if (x.ty->kind != TR_TY_TUPLE || tr_ty_is_list(x.ty)) {
        const char *name = tr_lib_unhashable(x.ty);
        return name ? tr_em_error(e, "unhashable type: '%s'", name)
                    : tr_em_unsupported(e, "hash", "hash() of %s", tr_em_tyname(e, x.ty));
    }
    tr_tv v[2] = {tr_em_conv(e, tr_em_i64(e, TR_HASH_TUPLE), tr_fam_ty(e, TR_TY_U64))};
    for (uint32_t i = 0; i < x.ty->n; i++) {
        if (!hash_of(e, tr_em_item(e, x, i), &v[1]))
            return false;
        v[0] = tr_em_callrt(e, TR_RT_HASH_ITEM, tr_fam_ty(e, TR_TY_U64), NULL, 2, v);
    }
    v[1] = tr_em_i64(e, x.ty->n);
    *out = i64_call(e, TR_RT_HASH_TUPLE, 2, v);
    return true;
}

bool tr_lib_py_hash(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return hash_of(e, c->a[0], out);
}
