/* bytes: a string whose characters are bytes, in a kind of its own (ty/kinds.def), so what strings do is done
 * by the same code (lib/kind_string.c, rt/str.c) and is given this face: an item is an integer. */
#include <string.h>

#include "lib/fam.h"
#include "lib/kinds.h"
#include "lib/priv.h"

static bool is_bytes(tr_tv x) {
    return x.ty->kind == TR_TY_BYTES;
}

static tr_tv chars_of(tr_em *e, tr_tv x) {
    return tr_em_item(e, x, 0);
}

tr_tv tr_lib_bytes_of(tr_em *e, tr_tv chars) {
    return tr_em_make(e, tr_ty_bytes(e->types), 1, &chars);
}

static bool made(tr_em *e, bool ok, tr_tv s, tr_tv *out) {
    if (ok)
        *out = tr_lib_bytes_of(e, s);
    return ok;
}

tr_tv tr_lib_bytes_made(tr_em *e, int how, tr_tv s) {
    return tr_em_make_string(e, TR_RT_BYTES_MAKE, 2, (tr_tv[]){tr_em_i64(e, how), s});
}

/* repr() with escapes. */
bool tr_em_ascii(tr_em *e, tr_tv x, tr_tv *out) {
    if (!tr_em_str(e, x, true, out) || !tr_em_string(e, *out, out))
        return false;
    *out = tr_lib_bytes_made(e, TR_BYTES_ASCII, *out);
    return true;
}

/* In a constant's text a NUL is the character 256, for texts end with one. */
tr_tv tr_lib_bytes_known(tr_em *e, const char *text, tr_tv s) {
    return tr_lib_bytes_of(e, strstr(text, "\xc4\x80") ? tr_lib_bytes_made(e, TR_BYTES_LOW, s) : s);
}

tr_tv tr_em_bytes(tr_em *e, const tr_obj *o) {
    tr_tv s;
    if (!tr_em_string(e, tr_em_lit(e, tr_obj_str(&e->ctx->arena, o->u.s.d)), &s))
        return (tr_tv){NULL, TR_NOVAL};
    return tr_lib_bytes_known(e, o->u.s.d, s);
}

/* --- operators --- */

tr_answer tr_lib_binary_bytes(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    bool bx = is_bytes(x), by = is_bytes(y);
    tr_tv s;
    if (op == TR_BIN_MOD && bx)
        return tr_answered(tr_em_unsupported(e, "bytes", "'%%' of bytes made at run time"));
    if ((op != TR_BIN_ADD || !bx || !by) && (op != TR_BIN_MUL || bx == by))
        return TR_OPEN;
    tr_answer r = tr_lib_binary_string(e, op, bx ? chars_of(e, x) : x, by ? chars_of(e, y) : y, &s);
    if (r == TR_DONE)
        made(e, true, s, out);
    return r;
}

/* A str differs from it, as in Python. */
tr_answer tr_lib_compare_bytes(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    if (is_bytes(x) && is_bytes(y))
        return tr_lib_compare_string(e, op, chars_of(e, x), chars_of(e, y), out);
    if ((tr_lib_is_text(x) || tr_lib_is_text(y)) && (op == TR_CMP_EQ || op == TR_CMP_NE)) {
        *out = tr_em_bool(e, op == TR_CMP_NE);
        return TR_DONE;
    }
    return TR_OPEN;
}

/* A byte as bytes of length one. */
static bool one_byte(tr_em *e, tr_tv i, tr_tv *out) {
    i = tr_em_conv(e, i, tr_fam_ty(e, TR_TY_I64));
    tr_tv fits = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, i, tr_em_i64(e, 0)),
                            tr_em_cmp(e, TR_CMP_LE, i, tr_em_i64(e, 255)));
    tr_em_check(e, fits, TR_EXC_VALUE, "byte must be in range(0, 256)", 0, NULL);
    *out = tr_em_make_string(e, TR_RT_STR_CHAR, 1, &i);
    return true;
}

bool tr_lib_bytes_part(tr_em *e, tr_tv x, bool byte_too, tr_tv *out) {
    if (is_bytes(x)) {
        *out = chars_of(e, x);
        return true;
    }
    if (byte_too && tr_lib_is_index(e, x))
        return one_byte(e, x, out);
    return tr_em_error(e, "a bytes-like object is required, not '%s'", tr_em_tyname(e, x.ty));
}

bool tr_lib_contains_bytes(tr_em *e, tr_tv x, tr_tv item, tr_tv *out) {
    return tr_lib_bytes_part(e, tr_em_value(e, item), true, &item) &&
           tr_lib_contains_string(e, chars_of(e, x), item, out);
}

/* --- as a sequence --- */

bool tr_lib_get_bytes(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    tr_tv s = chars_of(e, x);
    if (i.ty->kind == TR_TY_SLICE) {
        bool ok = tr_lib_get_string(e, s, i, &s);
        return made(e, ok, s, out);
    }
    if (!tr_lib_is_place(e, i))
        return tr_em_error(e, "byte indices must be integers or slices, not %s", tr_em_tyname(e, i.ty));
    *out = tr_em_charat(e, s, tr_lib_checked_index(e, i, tr_em_strlen(e, s), 0, "index out of range"));
    return true;
}

bool tr_lib_count_bytes(tr_em *e, tr_tv x, tr_tv *n) {
    *n = tr_em_strlen(e, chars_of(e, x));
    return true;
}

bool tr_lib_at_bytes(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    *out = tr_em_charat(e, chars_of(e, x), i);
    return true;
}

bool tr_lib_len_bytes(tr_em *e, tr_tv x, tr_tv *n) {
    return tr_lib_count_bytes(e, x, n);
}

bool tr_lib_truth_bytes(tr_em *e, tr_tv x, tr_tv *out) {
    return tr_lib_truth_string(e, chars_of(e, x), out);
}

bool tr_lib_show_bytes(tr_em *e, tr_tv x, bool repr, tr_shown *to) {
    (void)repr; /* both are one */
    return tr_lib_show_string(e, tr_lib_bytes_made(e, TR_BYTES_REPR, chars_of(e, x)), false, to);
}
