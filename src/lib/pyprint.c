/* str() and print(): a value's text is its kind's (the column `show`). Text known when compiling is one constant; numbers go through the runtime,
 * which gathers a line. */
#include "lib/date.h"
#include "lib/fam.h"
#include "lib/families.h"
#include "lib/kinds.h"

/* str(): of a number at run time a text for messages and print() alone. */
bool tr_lib_py_str(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_em_text(e, c->a[0].ty ? 1 : 0, &c->a[0], out);
}

/* --- print() --- */

static void put_known(tr_em *e, const char *s) {
    tr_em_callrt(e, TR_RT_PRINT_STR, NULL, s, 0, NULL);
}

static void put_date(tr_em *e, tr_tv x) {
    tr_tv v[2] = {tr_date_raw(e, x), {NULL, TR_NOVAL}};
    if (tr_ty_is_delta(x.ty)) {
        tr_em_callrt(e, TR_RT_PRINT_SPAN, NULL, tr_unit_text(tr_ty_date_unit(x.ty)), 1, v);
        return;
    }
    v[1] = tr_date_precision(e, x.ty, &v[0]);
    tr_em_callrt(e, TR_RT_PRINT_DATE, NULL, NULL, 2, v);
}

static void put_number(tr_em *e, tr_tv x) {
    tr_tyk to = TR_TY_I64;
    tr_rt row = TR_RT_PRINT_I64;
    switch (tr_ty_class(x.ty)) {
    case 'b':
        row = TR_RT_PRINT_BOOL;
        to = TR_TY_BOOL;
        break;
    case 'u':
        row = TR_RT_PRINT_U64;
        to = TR_TY_U64;
        break;
    case 'f':
        to = x.ty->kind == TR_TY_F64 ? TR_TY_F64 : TR_TY_F32;
        row = x.ty->kind == TR_TY_F16 ? TR_RT_PRINT_F16 : to == TR_TY_F32 ? TR_RT_PRINT_F32 : TR_RT_PRINT_F64;
        break;
    case 'c':
        to = TR_TY_C128;
        row = x.ty->kind == TR_TY_C64 ? TR_RT_PRINT_C64 : TR_RT_PRINT_C128;
        break;
    default: break;
    }
    x = tr_em_conv(e, x, tr_fam_ty(e, to));
    tr_em_callrt(e, row, NULL, NULL, 1, &x);
}

static bool text_arg(tr_em *e, tr_tv x, const char *what, const char *dflt, const char **out) {
    *out = dflt;
    if (!tr_fam_given(x) || tr_tv_lit_str(x, out))
        return true;
    return tr_em_error(e, "print(): %s must be a constant string", what);
}

static bool put_all(tr_em *e, const tr_bcall *c, const char *sep, const char *end) {
    tr_shown all = {0};
    const char *s;
    for (uint32_t i = 0; i < c->nvar; i++) {
        tr_lib_show_known(e, &all, i ? sep : "");
        if (tr_lib_show(e, c->var[i], false, &all))
            continue;
        const char *what = tr_em_tyname(e, all.none.ty);
        if (all.none.ty->kind == TR_TY_TEXT)
            return tr_em_unsupported(e, "format-value", "text made at run time inside of a tuple");
        return tr_lib_is_array(all.none) ? tr_em_unsupported(e, "print-array", "print() of %s", what)
                                         : tr_em_error(e, "print() of %s", what);
    }
    tr_lib_show_known(e, &all, end);
    tr_lib_show_end(e, &all);
    for (uint32_t i = 0; i < all.pieces.n; i++)
        if (tr_tv_lit_str(all.pieces.d[i], &s))
            put_known(e, s);
        else if (all.pieces.d[i].ty->kind == TR_TY_DATE)
            put_date(e, all.pieces.d[i]);
        else
            put_number(e, all.pieces.d[i]);
    tr_em_callrt(e, TR_RT_PRINT_END, NULL, NULL, 0, NULL);
    return true;
}

/* Parameters: *args, sep, end, file, flush. */
bool tr_lib_py_print(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const char *sep, *end;
    bool flushed;
    if (!text_arg(e, c->a[1], "sep", " ", &sep) || !text_arg(e, c->a[2], "end", "\n", &end))
        return false;
    if (tr_fam_given(c->a[3]))
        return tr_em_unsupported(e, "print-file", "print() to a file");
    if (!tr_fam_flag(e, c, c->a[4], "flush", false, &flushed))
        return false;
    *out = tr_em_none(e);
    return put_all(e, c, sep, end);
}
