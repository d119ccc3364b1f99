/* Objects that are compared by a function of the user's, as functools.cmp_to_key makes them: the function,
 * whose result is compared with 0, and the object. All of one function have one type, so that a list of them
 * holds the objects with what the function captured, and a comparison is a call that is known, and inlined.
 * They are made in python/treadle/_library/operators.py. Python cannot be given one. */
#include "lib/fam.h"

#include <assert.h>

#include "lib/kinds.h"

bool tr_lib_py_ordered_by(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *items[2] = {c->a[0].ty, tr_ty_told(e->types, tr_ty_strong(e->types, c->a[1].ty))};
    tr_tv x[2] = {c->a[0]};
    if (!tr_em_coerce(e, c->a[1], items[1], &x[1]))
        return tr_em_error(e, "%s cannot be compared by a function", tr_em_tyname(e, c->a[1].ty));
    *out = tr_em_make(e, tr_ty_of(e->types, TR_TY_ORDERED, 0, 2, items), 2, x);
    return true;
}

/* The left one's function decides, with the objects in their order. */
tr_answer tr_lib_compare_ordered(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv both[2], r;
    if (x.ty->kind != TR_TY_ORDERED || y.ty->kind != TR_TY_ORDERED)
        return tr_em_error(e, "other argument must be K instance") ? TR_DONE : TR_REFUSED;
    both[0] = tr_em_item(e, x, 1);
    both[1] = tr_em_item(e, y, 1);
    return tr_answered(tr_fam_call(e, tr_em_item(e, x, 0), 2, both, tr_ty_scalar(e->types, TR_TY_I64), &r) &&
                       tr_em_compare(e, op, r, tr_em_i64(e, 0), out));
}
