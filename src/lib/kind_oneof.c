/* One of several functions, or of several members of enums: what a tuple of such gives at a place that the
 * running program knows, or a variable is that is one on each path. Its items are which one it is, from 0,
 * and all of them with what they hold; infer/axes.c calls it. It has no form of Python's. */
#include "lib/fam.h"

#include <assert.h>

#include "lib/kinds.h"
#include "lib/priv.h"

static bool is_one(const tr_ty *t) {
    if (t->kind != TR_TY_LIT)
        return t->kind == TR_TY_CLOSURE || t->kind == TR_TY_METHOD || t->kind == TR_TY_ONEOF ||
               t->kind == TR_TY_PARTIAL;
    return tr_obj_is_one(t->lit);
}

bool tr_lib_one_of(tr_em *e, tr_tv t, tr_tv i, tr_tv *out) {
    assert(t.ty->kind == TR_TY_TUPLE && tr_lib_is_place(e, i) && "a place in a tuple");
    uint32_t n = t.ty->n;
    tr_tv *x = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
    const tr_ty **ty = TR_NEW_N(&e->ctx->arena, const tr_ty *, n + 1u);
    for (uint32_t k = 0; k < n; k++)
        if (!is_one(t.ty->items[k]))
            return false;
    x[0] = tr_em_conv(e, i, tr_fam_ty(e, TR_TY_I64));
    for (uint32_t k = 0; k < n; k++)
        x[k + 1] = tr_em_item(e, t, k);
    for (uint32_t k = 0; k <= n; k++)
        ty[k] = x[k].ty;
    *out = tr_em_make(e, tr_ty_of(e->types, TR_TY_ONEOF, 0, n + 1, ty), n + 1, x);
    return true;
}

/* Which of the functions of `to` it is, from 1 on; 0: none, or a place has another one of several. */
static uint32_t place_of(tr_em *e, const tr_ty *f, const tr_ty *to) {
    for (uint32_t k = 1; k < to->n; k++) {
        const tr_ty *t = to->items[k];
        if (t == f || (t->kind == TR_TY_CLOSURE && f->kind == TR_TY_CLOSURE && t->func == f->func &&
                       tr_ty_join(e->types, t, f, e->opts->promote_numba) == t))
            return k;
    }
    return 0;
}

/* It has the same functions at the same places. */
static bool has_places(tr_em *e, const tr_ty *from, const tr_ty *to) {
    for (uint32_t k = 1; from->n == to->n && k < to->n; k++)
        if (tr_ty_join(e->types, from->items[k], to->items[k], e->opts->promote_numba) != to->items[k])
            return false;
    return from->n == to->n;
}

/* What x holds, to where the functions of `to` hold it, and which of them it is. Of two closures of one
 * function only one could hold what is wanted: false. */
static bool take_in(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *it, bool *taken, tr_tv *which) {
    tr_tv one;
    if (x.ty->kind != TR_TY_ONEOF) {
        uint32_t k = place_of(e, x.ty, to);
        if (!k || (taken[k] && tr_ty_nparts(x.ty)) || !tr_em_coerce(e, x, to->items[k], &it[k]))
            return false;
        taken[k] = true;
        *which = tr_em_i64(e, k - 1);
        return true;
    }
    *which = tr_em_i64(e, 0);
    for (uint32_t m = 1; m < x.ty->n; m++) {
        if (!take_in(e, tr_em_item(e, x, m), to, it, taken, &one))
            return false;
        tr_tv here = tr_em_cmp(e, TR_CMP_EQ, tr_em_item(e, x, 0), tr_em_i64(e, m - 1));
        *which = tr_em_select(e, here, one, *which);
    }
    return true;
}

/* As one of more. What the others hold is nothing. */
bool tr_lib_coerce_oneof(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out) {
    assert(to->kind == TR_TY_ONEOF && to->n > 1 && "which one it is, then all of them");
    if (x.ty->kind == TR_TY_ONEOF && has_places(e, x.ty, to))
        return tr_lib_coerce_items(e, x, to, out);
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, to->n);
    bool *taken = TR_NEW_N(&e->ctx->arena, bool, to->n);
    for (uint32_t k = 1; k < to->n; k++)
        it[k] = tr_lib_undef(e, to->items[k]);
    if (!take_in(e, x, to, it, taken, &it[0]))
        return false;
    *out = tr_em_make(e, to, to->n, it);
    return true;
}

tr_answer tr_lib_compare_oneof(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    if (op != TR_CMP_EQ && op != TR_CMP_NE)
        return TR_OPEN;
    if (!tr_lib_is_one_of(e, x, y, out))
        return tr_answered(tr_em_error(e, "whether %s is %s is not known in compiled code",
                                       tr_em_tyname(e, x.ty), tr_em_tyname(e, y.ty)));
    return tr_answered(op == TR_CMP_EQ || tr_em_unary(e, TR_UN_NOT, *out, out));
}

bool tr_lib_truth_oneof(tr_em *e, tr_tv x, tr_tv *out) {
    (void)x;
    *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, true));
    return true;
}
