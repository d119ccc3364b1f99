/* str(), repr(), format() and print(): a value's text is its kind's (the column `show`). Text known when
 * compiling is one constant; numbers go through the runtime, which gathers a line. */
#include "lib/date.h"

#include <assert.h>
#include <string.h>

#include "base/fspec.h"
#include "lib/fam.h"
#include "lib/families.h"
#include "lib/kinds.h"

/* str(): of a number at run time a text for messages and print() alone. */
bool tr_lib_py_str(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (c->a[1].ty || c->a[2].ty)
        return tr_lib_str_decoded(e, c, out);
    return c->a[0].ty ? tr_em_str(e, c->a[0], false, out) : tr_em_text(e, 0, NULL, out);
}

/* format(), repr(), and hex() and its like, which are format() of an integer: likewise. */
bool tr_lib_py_format(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_fam_given(c->a[1]) ? tr_em_spec(e, c->a[0], c->a[1], out) : tr_em_text(e, 1, &c->a[0], out);
}

bool tr_lib_py_repr(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_em_str(e, c->a[0], true, out);
}

bool tr_lib_py_ascii(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_em_ascii(e, c->a[0], out);
}

static bool in_base(tr_em *e, const tr_bcall *c, const char *spec, tr_tv *out) {
    return tr_fam_number(e, c, c->a[0], "bi") &&
           tr_em_spec(e, c->a[0], tr_em_lit(e, tr_obj_str(&e->ctx->arena, spec)), out);
}

bool tr_lib_py_hex(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return in_base(e, c, "#x", out);
}

bool tr_lib_py_oct(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return in_base(e, c, "#o", out);
}

bool tr_lib_py_bin(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return in_base(e, c, "#b", out);
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
    assert(tr_ty_is_scalar(x.ty) && "numbers are written by their class");
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

/* A contiguous array: its axes, then its items as one line. */
static void put_array(tr_em *e, tr_tv x, const char *how) {
    assert(tr_em_is_array(e, x) && x.ty->layout == TR_LAYOUT_C && "its items lie side by side");
    for (uint32_t i = 0; i < x.ty->ndim; i++) {
        tr_tv n = tr_em_dim(e, x, i);
        tr_em_callrt(e, TR_RT_PRINT_AXIS, NULL, NULL, 1, &n);
    }
    tr_tv n = tr_em_size(e, x);
    tr_tv v[2] = {tr_em_restride(e, tr_ty_array(e->types, x.ty->elem, 1, TR_LAYOUT_C, x.ty->readonly), x,
                                 tr_em_i64(e, 0), &n, NULL),
                  tr_em_i64(e, tr_ty_size(x.ty->elem))};
    tr_em_callrt(e, TR_RT_PRINT_ARRAY, NULL, how, 2, v);
}

static void put_spec(tr_em *e, tr_tv x, const char *spec) {
    if (tr_lib_is_array(x)) {
        put_array(e, x, spec);
        return;
    }
    if (x.ty->kind == TR_TY_STRING) {
        bool repr = strcmp(spec, TR_SPEC_REPR) == 0;
        tr_em_callrt(e, repr ? TR_RT_PRINT_REPR : TR_RT_PRINT_SPEC_STRING, NULL, repr ? NULL : spec, 1, &x);
        return;
    }
    char class = tr_ty_class(x.ty);
    tr_rt row = class == 'f'   ? TR_RT_PRINT_SPEC_F64
                : class == 'c' ? TR_RT_PRINT_SPEC_C128
                : class == 'u' ? TR_RT_PRINT_SPEC_U64
                               : TR_RT_PRINT_SPEC_I64;
    tr_em_callrt(e, row, NULL, spec, 1, &x);
}

void tr_lib_put_piece(tr_em *e, tr_tv piece) {
    const char *s;
    tr_tv x;
    if (tr_tv_lit_str(piece, &s))
        put_known(e, s);
    else if (tr_em_spec_piece(e, piece, &x, &s))
        put_spec(e, x, s);
    else if (piece.ty->kind == TR_TY_STRING)
        tr_em_callrt(e, TR_RT_PRINT_STRING, NULL, NULL, 1, &piece);
    else if (piece.ty->kind == TR_TY_DATE)
        put_date(e, piece);
    else
        put_number(e, piece);
}

static bool text_arg(tr_em *e, tr_tv x, const char *what, const char *dflt, const char **out) {
    *out = dflt;
    if (!tr_fam_given(x) || tr_tv_lit_str(x, out))
        return true;
    return tr_em_error(e, "print(): %s must be a constant string", what);
}

static bool put_all(tr_em *e, const tr_bcall *c, const char *sep, const char *end) {
    tr_shown all = {0};
    for (uint32_t i = 0; i < c->nvar; i++) {
        tr_lib_show_known(e, &all, i ? sep : "");
        if (tr_lib_show(e, c->var[i], false, &all))
            continue;
        const char *what = tr_em_tyname(e, all.none.ty);
        return all.none.ty->kind == TR_TY_RECORDS
                   ? tr_em_unsupported(e, "print-records", "print() of %s", what)
                   : tr_em_error(e, "print() of %s", what);
    }
    tr_lib_show_known(e, &all, end);
    tr_lib_show_end(e, &all);
    for (uint32_t i = 0; i < all.pieces.n; i++)
        tr_lib_put_piece(e, all.pieces.d[i]);
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
