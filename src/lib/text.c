/* Text as a value: pieces that f-strings, str() and + put side by side. What is made of constants alone is
 * one constant; the rest can only be printed, or be the message of an exception. */
#include <math.h>

#include "lib/em.h"
#include "lib/priv.h"

/* Pieces with those of texts among them in their place. */
static uint32_t flatten(tr_em *e, uint32_t n, const tr_tv *x, tr_tv *out) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool is_text = x[i].ty->kind == TR_TY_TEXT;
        for (uint32_t j = 0; j < (is_text ? x[i].ty->n : 1u); j++, k++)
            if (out)
                out[k] = is_text ? tr_em_item(e, x[i], j) : x[i];
    }
    return k;
}

/* Numbers, None, strings known now, and tuples of these. */
static bool has_text(tr_em *e, const tr_ty *t) {
    const tr_tv x = {t, TR_NOVAL};
    if (t->kind != TR_TY_TUPLE)
        return tr_tv_lit_str(x, &(const char *){NULL}) || tr_tv_lit_integer(x, &(tr_bigint){0}) ||
               tr_tv_is_none(x) || tr_lib_scalar(e, t);
    for (uint32_t i = 0; i < t->n; i++)
        if (!has_text(e, t->items[i]))
            return false;
    return true;
}

const char *tr_lib_known_text(tr_em *e, tr_tv x) {
    const char *s;
    if (tr_tv_lit_str(x, &s))
        return s;
    if (tr_tv_is_none(x))
        return "None";
    if (x.ty->kind != TR_TY_LIT)
        return NULL;
    const tr_obj *o = x.ty->lit;
    switch (o->kind) {
    case TR_OBJ_BOOL: return o->u.i ? "True" : "False";
    case TR_OBJ_INT: return tr_bigint_text(&e->ctx->arena, &o->u.n);
    case TR_OBJ_FLOAT: return isnan(o->u.f) ? "nan" : tr_obj_float(&e->ctx->arena, o->u.f)->repr;
    default: return NULL;
    }
}

bool tr_em_text(tr_em *e, uint32_t npieces, const tr_tv *pieces, tr_tv *out) {
    uint32_t n = flatten(e, npieces, pieces, NULL);
    const tr_ty **t = TR_NEW_N(&e->ctx->arena, const tr_ty *, n + 1u);
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
    const char *all = "", *s;
    flatten(e, npieces, pieces, v);
    for (uint32_t i = 0; i < n; i++) {
        tr_tv x = v[i];
        s = all ? tr_lib_known_text(e, x) : NULL;
        all = s ? tr_arena_printf(&e->ctx->arena, "%s%s", all, s) : NULL;
        v[i] = x.ty->weak ? tr_em_strong(e, x) : x;
        t[i] = v[i].ty;
        if (!has_text(e, x.ty))
            return tr_em_unsupported(e, "format-value", "text made of a value of %s", tr_em_tyname(e, x.ty));
    }
    *out = all ? tr_em_lit(e, tr_obj_str(&e->ctx->arena, all))
               : tr_em_make(e, tr_ty_of(e->types, TR_TY_TEXT, 0, n, t), n, v);
    return true;
}

bool tr_lib_no_text(tr_em *e, const char *what) {
    return tr_em_unsupported(
        e, "made-string",
        "%s made of run-time values: compiled code makes strings only for print() and exceptions", what);
}
