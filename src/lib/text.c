/* Text as a value: pieces that f-strings, str() and + put side by side. What is made of constants alone is
 * one constant; the rest can only be printed, or be the message of an exception. */
#include <math.h>
#include <string.h>

#include "lib/kinds.h"
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

bool tr_lib_is_text(tr_tv x) {
    const char *s;
    return x.ty->kind == TR_TY_TEXT || tr_tv_lit_str(x, &s);
}

/* --- what strings are asked, those known when compiling too --- */

enum { MAX_TEXT = 1 << 16 }; /* doubling thirty times is a short program */

tr_answer tr_lib_binary_text(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    const char *a, *b;
    if (op != TR_BIN_ADD || !tr_lib_is_text(x) || !tr_lib_is_text(y))
        return TR_OPEN;
    if (tr_tv_lit_str(x, &a) && tr_tv_lit_str(y, &b)) {
        if (strlen(a) + strlen(b) > MAX_TEXT)
            return tr_answered(tr_em_error(e, "a text of more than %d bytes", MAX_TEXT));
        *out = tr_em_lit(e, tr_obj_str(&e->ctx->arena, tr_arena_printf(&e->ctx->arena, "%s%s", a, b)));
        return TR_DONE;
    }
    return tr_answered(tr_em_text(e, 2, (tr_tv[]){x, y}, out));
}

/* One made at run time cannot be compared with a string, nor with what answers to the name of a dtype; from
 * all else it differs. */
tr_answer tr_lib_compare_text(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    const char *a, *b;
    bool made = x.ty->kind == TR_TY_TEXT || y.ty->kind == TR_TY_TEXT;
    tr_tv other = x.ty->kind == TR_TY_TEXT ? y : x;
    if (tr_tv_lit_str(x, &a) && tr_tv_lit_str(y, &b)) {
        *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, tr_lib_holds(op, strcmp(a, b))));
        return TR_DONE;
    }
    if (!made || tr_tv_is_none(other) || tr_lib_scalar(e, other.ty) || other.ty->kind == TR_TY_TUPLE ||
        other.ty->kind == TR_TY_OPT)
        return TR_OPEN;
    return tr_answered(
        tr_lib_no_text(e, tr_arena_printf(&e->ctx->arena, "'%s' on a string", tr_lib_cmp_sign(op))));
}

bool tr_lib_contains_text(tr_em *e, tr_tv x, tr_tv item, tr_tv *out) {
    const char *part, *whole;
    if (tr_tv_lit_str(x, &whole) && tr_tv_lit_str(item, &part)) {
        *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, strstr(whole, part) != NULL));
        return true;
    }
    if (tr_lib_is_text(item)) /* one of them is made at run time */
        return tr_lib_no_text(e, "'in' on a string");
    return tr_em_error(e, "only a string can be 'in' a string, not %s", tr_em_tyname(e, item.ty));
}

bool tr_lib_get_text(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    (void)x, (void)i, (void)out;
    return tr_lib_no_text(e, "indexing of a string");
}

bool tr_lib_get_lit(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    if (tr_lib_is_text(x))
        return tr_em_unsupported(e, "string", "indexing of strings");
    return tr_lib_get_no(e, x, i, out);
}

bool tr_lib_iter_text(tr_em *e, tr_tv x) {
    (void)x;
    return tr_lib_no_text(e, "iteration over a string");
}

bool tr_lib_iter_lit(tr_em *e, tr_tv x) {
    return tr_lib_is_text(x) ? tr_em_unsupported(e, "string", "iteration over strings")
                             : tr_lib_iter_no(e, x);
}

bool tr_lib_len_text(tr_em *e, tr_tv x, tr_tv *n) {
    (void)x, (void)n;
    return tr_lib_no_text(e, "len() of a string");
}

/* Characters: bytes that do not continue one. */
bool tr_lib_len_lit(tr_em *e, tr_tv x, tr_tv *n) {
    const char *s;
    int64_t k = 0;
    if (!tr_tv_lit_str(x, &s))
        return tr_lib_len_no(e, x, n);
    for (; *s; s++)
        k += ((unsigned char)*s & 0xc0) != 0x80;
    *n = tr_em_lit(e, tr_obj_int(&e->ctx->arena, k));
    return true;
}

bool tr_lib_truth_text(tr_em *e, tr_tv x, tr_tv *out) {
    (void)x, (void)out;
    return tr_lib_no_text(e, "the truth of a string");
}
