/* Strings: a value is a view of characters that never change. Parts of one, a character among them, are views
 * too, so slices, iteration and what `in` and `==` ask of them make nothing; what is made is the runtime's
 * (rt/str.c), and a new reference.
 *
 * Constants are known when compiling as long as nothing is asked of them that only running can tell; an
 * f-string stays the pieces it is made of (lib/text.c). Both become values here, where a string is needed. */
#include "base/fspec.h"
#include "base/str.h"
#include "lib/fam.h"

#include <assert.h>
#include <string.h>

#include "lib/kinds.h"
#include "lib/priv.h"

static const tr_ty *i64_of(tr_em *e) {
    return tr_fam_ty(e, TR_TY_I64);
}

tr_tv tr_em_strlen(tr_em *e, tr_tv s) {
    return tr_lib_emit(e, TR_OP_STRLEN, i64_of(e), 1, &s.v);
}

tr_tv tr_em_substr(tr_em *e, tr_tv s, tr_tv start, tr_tv n) {
    return tr_lib_emit(e, TR_OP_SUBSTR, s.ty, 3, (tr_val[]){s.v, start.v, n.v});
}

tr_tv tr_em_charat(tr_em *e, tr_tv s, tr_tv i) {
    return tr_lib_emit(e, TR_OP_CHARAT, i64_of(e), 2, (tr_val[]){s.v, i.v});
}

tr_tv tr_em_make_string(tr_em *e, tr_rt row, uint32_t n, const tr_tv *x) {
    tr_tv s = tr_em_callrt(e, row, tr_ty_string(e->types), NULL, n, x);
    tr_tv ok = tr_em_cmp(e, TR_CMP_GE, tr_em_strlen(e, s), tr_em_i64(e, 0));
    tr_em_check(e, ok, TR_EXC_MEMORY, "cannot allocate a string", 0, NULL);
    return s;
}

/* What is printed between is the string's text; nothing there raises. */
static bool of_pieces(tr_em *e, tr_tv x, tr_tv *out) {
    tr_tv from = tr_em_callrt(e, TR_RT_STR_MAKE, i64_of(e), NULL, 0, NULL), array;
    const char *spec;
    for (uint32_t i = 0; i < x.ty->n; i++) {
        tr_tv piece = tr_em_item(e, x, i);
        if (tr_em_spec_piece(e, piece, &array, &spec) && tr_lib_is_array(array))
            return tr_em_unsupported(e, "format-value", "a string made of an array, but for print()");
        tr_lib_put_piece(e, piece);
    }
    *out = tr_em_make_string(e, TR_RT_STR_MADE, 1, &from);
    return true;
}

bool tr_em_string(tr_em *e, tr_tv x, tr_tv *out) {
    const char *s;
    x = tr_em_value(e, x);
    *out = x;
    if (x.ty->kind == TR_TY_STRING)
        return true;
    if (tr_tv_lit_str(x, &s)) {
        *out = tr_lib_emit(e, TR_OP_STRING, tr_ty_string(e->types), 1, &x.v);
        return true;
    }
    return x.ty->kind == TR_TY_TEXT ? of_pieces(e, x, out)
                                    : tr_em_error(e, "a string is needed, not %s", tr_em_tyname(e, x.ty));
}

/* --- operators --- */

tr_answer tr_lib_binary_string(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    bool tx = tr_lib_is_text(x), ty = tr_lib_is_text(y);
    tr_tv v[2];
    if (op == TR_BIN_ADD && tx && ty) {
        if (!tr_em_string(e, x, &v[0]) || !tr_em_string(e, y, &v[1]))
            return TR_REFUSED;
        *out = tr_em_make_string(e, TR_RT_STR_CONCAT, 2, v);
        return TR_DONE;
    }
    if (op == TR_BIN_MUL && tx != ty && tr_lib_is_place(e, tx ? y : x)) {
        if (!tr_em_string(e, tx ? x : y, &v[0]))
            return TR_REFUSED;
        v[1] = tr_em_conv(e, tx ? y : x, i64_of(e));
        *out = tr_em_make_string(e, TR_RT_STR_REPEAT, 2, v);
        return TR_DONE;
    }
    if (op == TR_BIN_MOD && tx)
        return tr_answered(tr_lib_percent(e, x, y, out));
    return TR_OPEN;
}

/* The code point of a string that is known, and one character; -1: it is no such. */
static int64_t known_char(tr_tv x) {
    const char *s;
    if (!tr_tv_lit_str(x, &s) || !*s)
        return -1;
    const uint8_t *at = (const uint8_t *)s;
    int64_t c = tr_utf8_next(&at);
    return *at ? -1 : c;
}

/* Is s the one character c? Nothing is called for that. */
static tr_tv is_char(tr_em *e, tr_tv s, int64_t c) {
    tr_tv one = tr_em_cmp(e, TR_CMP_EQ, tr_em_strlen(e, s), tr_em_i64(e, 1));
    tr_tv same = tr_em_cmp(e, TR_CMP_EQ, tr_em_charat(e, s, tr_em_i64(e, 0)), tr_em_i64(e, c));
    return tr_em_op2(e, TR_OP_AND, one, same);
}

static bool equal(tr_em *e, tr_tv x, tr_tv y, tr_tv *out) {
    int64_t cx = known_char(x), cy = known_char(y);
    tr_tv v[2];
    if (!tr_em_string(e, x, &v[0]) || !tr_em_string(e, y, &v[1]))
        return false;
    *out = cx >= 0   ? is_char(e, v[1], cx)
           : cy >= 0 ? is_char(e, v[0], cy)
                     : tr_em_callrt(e, TR_RT_STR_EQUAL, tr_fam_ty(e, TR_TY_BOOL), NULL, 2, v);
    return true;
}

static bool compare(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv v[2];
    if (op == TR_CMP_EQ || op == TR_CMP_NE)
        return equal(e, x, y, out) && (op == TR_CMP_EQ || tr_em_unary(e, TR_UN_NOT, *out, out));
    if (!tr_em_string(e, x, &v[0]) || !tr_em_string(e, y, &v[1]))
        return false;
    tr_tv order = tr_em_callrt(e, TR_RT_STR_ORDER, i64_of(e), NULL, 2, v);
    *out = tr_em_cmp(e, op, order, tr_em_i64(e, 0));
    return true;
}

/* From a value of another kind it differs; but what answers to the name of a dtype is asked by a string that
 * is known. */
tr_answer tr_lib_compare_string(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    bool tx = tr_lib_is_text(x), ty = tr_lib_is_text(y);
    tr_tv other = tx ? y : x;
    if (tx && ty)
        return tr_answered(compare(e, op, x, y, out));
    if (tr_tv_is_none(other) || tr_lib_scalar(e, other.ty) || other.ty->kind == TR_TY_TUPLE ||
        other.ty->kind == TR_TY_OPT || other.ty->kind == TR_TY_CHARS)
        return TR_OPEN;
    return tr_answered(tr_em_unsupported(e, "string-compare", "'%s' of a string and %s", tr_lib_cmp_sign(op),
                                         tr_em_tyname(e, other.ty)));
}

tr_tv tr_em_seek(tr_em *e, int how, tr_tv s, tr_tv what, tr_tv start, tr_tv end) {
    tr_tv v[5] = {tr_em_i64(e, how), s, what, start, end};
    return tr_em_callrt(e, TR_RT_STR_SEEK, i64_of(e), NULL, 5, v);
}

bool tr_lib_contains_string(tr_em *e, tr_tv x, tr_tv item, tr_tv *out) {
    tr_tv v[2];
    item = tr_em_value(e, item);
    if (!tr_lib_is_text(item))
        return tr_em_error(e, "only a string can be 'in' a string, not %s", tr_em_tyname(e, item.ty));
    if (!tr_em_string(e, x, &v[0]) || !tr_em_string(e, item, &v[1]))
        return false;
    tr_tv at = tr_em_seek(e, TR_STR_FIND, v[0], v[1], tr_em_i64(e, 0), tr_em_i64(e, INT64_MAX));
    *out = tr_em_cmp(e, TR_CMP_GE, at, tr_em_i64(e, 0));
    return true;
}

/* --- as a sequence --- */

bool tr_lib_get_string(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    tr_tv s, start, n, step, one = tr_em_i64(e, 1);
    int64_t by;
    if (!tr_em_string(e, x, &s))
        return false;
    if (i.ty->kind != TR_TY_SLICE) {
        if (!tr_lib_is_place(e, i))
            return tr_em_error(e, "string indices must be integers, not '%s'", tr_em_tyname(e, i.ty));
        tr_tv at = tr_lib_checked_index(e, i, tr_em_strlen(e, s), 0, "string index out of range");
        *out = tr_em_substr(e, s, at, one);
        return true;
    }
    tr_tv k = tr_em_item(e, i, 2);
    if (!tr_lib_slice_bounds(e, i, tr_em_strlen(e, s), &start, &n, &step))
        return false;
    if (tr_tv_is_none(k) || (tr_tv_lit_int(k, &by) && by == 1)) {
        start = tr_em_op2(e, TR_OP_MIN, start, tr_em_strlen(e, s));
        *out = tr_em_substr(e, s, start, n);
        return true;
    }
    *out = tr_em_make_string(e, TR_RT_STR_SLICE, 4, (tr_tv[]){s, start, n, step});
    return true;
}

bool tr_lib_count_string(tr_em *e, tr_tv x, tr_tv *n) {
    tr_tv s;
    if (!tr_em_string(e, x, &s))
        return false;
    *n = tr_em_strlen(e, s);
    return true;
}

bool tr_lib_at_string(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    tr_tv s;
    if (!tr_em_string(e, x, &s))
        return false;
    *out = tr_em_substr(e, s, i, tr_em_i64(e, 1));
    return true;
}

bool tr_lib_len_string(tr_em *e, tr_tv x, tr_tv *n) {
    return tr_lib_count_string(e, x, n);
}

bool tr_lib_truth_string(tr_em *e, tr_tv x, tr_tv *out) {
    tr_tv n;
    if (!tr_lib_count_string(e, x, &n))
        return false;
    *out = tr_em_cmp(e, TR_CMP_NE, n, tr_em_i64(e, 0));
    return true;
}

bool tr_lib_coerce_string(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out) {
    assert(to->kind == TR_TY_STRING && "the cell is of the kind that is coerced to");
    (void)to;
    return tr_lib_is_text(x) && tr_em_string(e, x, out);
}

bool tr_lib_show_string(tr_em *e, tr_tv x, bool repr, tr_shown *to) {
    tr_lib_show_end(e, to);
    if (repr)
        x = tr_em_tuple(e, 2, (tr_tv[]){tr_em_lit(e, tr_obj_str(&e->ctx->arena, TR_SPEC_REPR)), x});
    tr_vec_push(&e->ctx->arena, &to->pieces, x);
    return true;
}
