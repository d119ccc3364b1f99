/* Methods of strings, ord() and chr(), and numbers that strings spell: each a call of the runtime (rt/str*.c)
 * and what CPython says where it does not take an argument. What is a part of the string is a view of it. */
#include "lib/fam.h"

#include <string.h>

#include "lib/families.h"
#include "lib/kinds.h"
#include "lib/priv.h"

static tr_tv zero(tr_em *e) {
    return tr_em_i64(e, 0);
}

static tr_tv i64_call(tr_em *e, tr_rt row, uint32_t n, const tr_tv *x) {
    return tr_em_callrt(e, row, tr_fam_ty(e, TR_TY_I64), NULL, n, x);
}

/* An argument that has to be a string. */
static bool text_arg(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *out) {
    if (tr_lib_is_text(x) || (x.ty->kind == TR_TY_OPT && tr_ty_is_text(x.ty->items[1])))
        return tr_em_string(e, x, out);
    return tr_em_error(e, "%s() takes a string here, not %s", tr_fam_name(c), tr_em_tyname(e, x.ty));
}

/* An integer that may be left out, or None. */
static bool int_arg(tr_em *e, const tr_bcall *c, tr_tv x, const char *what, int64_t dflt, tr_tv *out) {
    *out = tr_em_i64(e, dflt);
    return !tr_fam_given(x) || tr_fam_int(e, c, x, what, out);
}

/* --- upper() and its kin, isalpha() and its kin --- */

bool tr_lib_str_case(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v[2] = {tr_em_i64(e, c->aux)};
    if (!tr_em_string(e, c->a[0], &v[1]))
        return false;
    *out = tr_em_make_string(e, TR_RT_STR_CASE, 2, v);
    return true;
}

bool tr_lib_str_is(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v[2] = {tr_em_i64(e, c->aux)};
    if (!tr_em_string(e, c->a[0], &v[1]))
        return false;
    *out = tr_em_callrt(e, TR_RT_STR_IS, tr_fam_ty(e, TR_TY_BOOL), NULL, 2, v);
    return true;
}

/* --- searching: s.find(what, start, end) --- */

static bool seek(tr_em *e, const tr_bcall *c, int how, tr_tv what, tr_tv *out) {
    tr_tv s, w, start, end;
    if (!tr_em_string(e, c->a[0], &s) || !text_arg(e, c, what, &w) ||
        !int_arg(e, c, c->a[2], "start", 0, &start) || !int_arg(e, c, c->a[3], "end", INT64_MAX, &end))
        return false;
    *out = tr_em_seek(e, how, s, w, start, end);
    return true;
}

bool tr_lib_str_seek(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return seek(e, c, c->aux, c->a[1], out);
}

bool tr_lib_str_index(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (!seek(e, c, c->aux, c->a[1], out))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, *out, zero(e)), TR_EXC_VALUE, "substring not found", 0, NULL);
    return true;
}

/* Of a tuple any of its strings. */
bool tr_lib_str_ends(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv what = c->a[1], one;
    if (what.ty->kind != TR_TY_TUPLE) {
        if (!seek(e, c, c->aux, what, &one))
            return false;
        *out = tr_em_cmp(e, TR_CMP_NE, one, zero(e));
        return true;
    }
    *out = tr_em_strong(e, tr_em_bool(e, false));
    for (uint32_t i = 0; i < what.ty->n; i++) {
        if (!seek(e, c, c->aux, tr_em_item(e, what, i), &one))
            return false;
        *out = tr_em_op2(e, TR_OP_OR, *out, tr_em_cmp(e, TR_CMP_NE, one, zero(e)));
    }
    return true;
}

/* --- parts --- */

static bool edge(tr_em *e, bool end, bool spaces, tr_tv s, tr_tv set, tr_tv from, tr_tv *out) {
    int how = (end ? TR_STR_AT_END : 0) | (spaces ? TR_STR_SPACES : 0);
    *out = i64_call(e, TR_RT_STR_EDGE, 4, (tr_tv[]){tr_em_i64(e, how), s, set, from});
    return true;
}

bool tr_lib_str_strip(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv s, set, from = zero(e), end;
    bool spaces = !tr_fam_given(c->a[1]);
    if (!tr_em_string(e, c->a[0], &s))
        return false;
    set = s;
    end = tr_em_strlen(e, s);
    if ((!spaces && !text_arg(e, c, c->a[1], &set)) ||
        ((c->aux & TR_SIDE_LEFT) && !edge(e, false, spaces, s, set, from, &from)) ||
        ((c->aux & TR_SIDE_RIGHT) && !edge(e, true, spaces, s, set, from, &end)))
        return false;
    *out = tr_em_substr(e, s, from, tr_em_nsw(e, TR_OP_SUB, end, from));
    return true;
}

/* removeprefix(), removesuffix(). */
bool tr_lib_str_remove(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv s, w;
    if (!tr_em_string(e, c->a[0], &s) || !text_arg(e, c, c->a[1], &w))
        return false;
    tr_tv n = tr_em_strlen(e, s), m = tr_em_strlen(e, w);
    tr_tv there = tr_em_seek(e, c->aux == TR_SIDE_LEFT ? TR_STR_STARTS : TR_STR_ENDS, s, w, zero(e), n);
    m = tr_em_select(e, tr_em_cmp(e, TR_CMP_NE, there, zero(e)), m, zero(e));
    *out = tr_em_substr(e, s, c->aux == TR_SIDE_LEFT ? m : zero(e), tr_em_nsw(e, TR_OP_SUB, n, m));
    return true;
}

/* What is before the separator, it, and what is behind it; where it is not, all is before, or from the right
 * behind. */
bool tr_lib_str_partition(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv s, w, part[3];
    if (!tr_em_string(e, c->a[0], &s) || !text_arg(e, c, c->a[1], &w))
        return false;
    tr_tv n = tr_em_strlen(e, s), m = tr_em_strlen(e, w), last = c->aux == TR_SIDE_RIGHT ? zero(e) : n;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, m, zero(e)), TR_EXC_VALUE, "empty separator", 0, NULL);
    tr_tv at = tr_em_seek(e, c->aux == TR_SIDE_RIGHT ? TR_STR_RFIND : TR_STR_FIND, s, w, zero(e), n);
    tr_tv there = tr_em_cmp(e, TR_CMP_GE, at, zero(e));
    at = tr_em_select(e, there, at, last);
    m = tr_em_select(e, there, m, zero(e));
    tr_tv behind = tr_em_nsw(e, TR_OP_ADD, at, m);
    part[0] = tr_em_substr(e, s, zero(e), at);
    part[1] = tr_em_substr(e, s, at, m);
    part[2] = tr_em_substr(e, s, behind, tr_em_nsw(e, TR_OP_SUB, n, behind));
    *out = tr_em_tuple(e, 3, part);
    return true;
}

/* --- made of one --- */

bool tr_lib_str_replace(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v[4];
    if (!tr_em_string(e, c->a[0], &v[0]) || !text_arg(e, c, c->a[1], &v[1]) ||
        !text_arg(e, c, c->a[2], &v[2]) || !int_arg(e, c, c->a[3], "count", -1, &v[3]))
        return false;
    *out = tr_em_make_string(e, TR_RT_STR_REPLACE, 4, v);
    return true;
}

bool tr_lib_str_pad(tr_em *e, const tr_bcall *c, tr_tv *out) {
    bool zeros = c->aux == TR_STR_ZFILL;
    tr_tv v[4] = {tr_em_i64(e, c->aux)}, fill;
    if (!tr_em_string(e, c->a[0], &v[1]) || !int_arg(e, c, c->a[1], "width", 0, &v[2]))
        return false;
    v[3] = tr_em_i64(e, zeros ? '0' : ' ');
    if (!zeros && tr_fam_given(c->a[2])) {
        if (!text_arg(e, c, c->a[2], &fill))
            return false;
        tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, tr_em_strlen(e, fill), tr_em_i64(e, 1)), TR_EXC_TYPE,
                    "The fill character must be exactly one character long", 0, NULL);
        v[3] = tr_em_charat(e, fill, zero(e));
    }
    *out = tr_em_make_string(e, TR_RT_STR_PAD, 4, v);
    return true;
}

bool tr_lib_str_tabs(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v[2];
    if (!tr_em_string(e, c->a[0], &v[0]) || !int_arg(e, c, c->a[1], "tabsize", 8, &v[1]))
        return false;
    *out = tr_em_make_string(e, TR_RT_STR_TABS, 2, v);
    return true;
}

/* --- join() --- */

static bool join_one(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    const tr_tv *sep = user;
    tr_tv s, n = tr_em_strlen(e, *sep), one = tr_em_i64(e, 1);
    (void)stop;
    if (!tr_lib_is_text(x))
        return tr_em_error(e, "join() takes strings, not %s", tr_em_tyname(e, x.ty));
    if (!tr_em_string(e, x, &s))
        return false;
    tr_tv first = tr_em_cmp(e, TR_CMP_EQ, acc[0], zero(e));
    tr_lib_put_piece(e, tr_em_substr(e, *sep, zero(e), tr_em_select(e, first, zero(e), n)));
    tr_lib_put_piece(e, s);
    acc[0] = tr_em_nsw(e, TR_OP_ADD, acc[0], one);
    return true;
}

/* What gives the strings is there before, for nothing may raise while a string is made. */
bool tr_lib_str_join(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv sep, it = c->a[1], acc[1] = {zero(e)};
    if (!tr_em_string(e, c->a[0], &sep))
        return false;
    acc[0] = tr_em_strong(e, acc[0]);
    if (it.ty->kind != TR_TY_TUPLE && it.ty->kind != TR_TY_LIST && !tr_lib_is_text(it))
        return tr_em_unsupported(e, "string-join", "join() of %s", tr_em_tyname(e, it.ty));
    if (it.ty->kind == TR_TY_TUPLE) {
        tr_tv *s = TR_NEW_N(&e->ctx->arena, tr_tv, it.ty->n + 1u);
        for (uint32_t i = 0; i < it.ty->n; i++) {
            s[i] = tr_em_item(e, it, i);
            if (!tr_lib_is_text(s[i]))
                return tr_em_error(e, "join() takes strings, not %s", tr_em_tyname(e, s[i].ty));
            if (!tr_em_string(e, s[i], &s[i]))
                return false;
        }
        tr_tv mark = i64_call(e, TR_RT_STR_MAKE, 0, NULL);
        for (uint32_t i = 0; i < it.ty->n; i++) {
            if (i)
                tr_lib_put_piece(e, sep);
            tr_lib_put_piece(e, s[i]);
        }
        *out = tr_em_make_string(e, TR_RT_STR_MADE, 1, &mark);
        return true;
    }
    if (tr_lib_is_text(it) && !tr_em_string(e, it, &it))
        return false;
    tr_tv mark = i64_call(e, TR_RT_STR_MAKE, 0, NULL);
    if (!tr_em_iter(e, it, &it) || !tr_em_each(e, it, 1, acc, join_one, &sep))
        return false;
    *out = tr_em_make_string(e, TR_RT_STR_MADE, 1, &mark);
    return true;
}

/* --- numbers and characters --- */

bool tr_lib_int_of_string(tr_em *e, tr_tv s, tr_tv base, tr_tv *out) {
    tr_tv v[2], b = tr_em_i64(e, 10);
    if (!tr_em_string(e, s, &v[0]))
        return false;
    if (base.ty) {
        if (!tr_lib_is_index(e, base))
            return tr_em_error(e, "int() takes an integer as its base, not %s", tr_em_tyname(e, base.ty));
        b = tr_em_conv(e, base, tr_fam_ty(e, TR_TY_I64));
        tr_tv ok = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, b, tr_em_i64(e, 2)),
                              tr_em_cmp(e, TR_CMP_LE, b, tr_em_i64(e, 36)));
        ok = tr_em_op2(e, TR_OP_OR, ok, tr_em_cmp(e, TR_CMP_EQ, b, zero(e)));
        tr_em_check(e, ok, TR_EXC_VALUE, "int() base must be >= 2 and <= 36, or 0", 0, NULL);
    }
    v[1] = b;
    tr_tv is = i64_call(e, TR_RT_STR_INT_IS, 2, v);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, is, tr_em_i64(e, TR_STR_INT_BAD)), TR_EXC_VALUE,
                "invalid literal for int() with base {1}: {0:" TR_SPEC_REPR "}", 2, v);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, is, tr_em_i64(e, TR_STR_INT_LARGE)), TR_EXC_OVERFLOW,
                "int() of a string gives a number that does not fit int64", 0, NULL);
    *out = i64_call(e, TR_RT_STR_INT, 2, v);
    return true;
}

bool tr_lib_float_of_string(tr_em *e, tr_tv s, tr_tv *out) {
    tr_tv v[1];
    if (!tr_em_string(e, s, v))
        return false;
    tr_tv is = i64_call(e, TR_RT_STR_FLOAT_IS, 1, v);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, is, tr_em_i64(e, TR_STR_INT_BAD)), TR_EXC_VALUE,
                "could not convert string to float: {0:" TR_SPEC_REPR "}", 1, v);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, is, zero(e)), TR_EXC_MEMORY, "cannot allocate a string", 0, NULL);
    *out = tr_em_callrt(e, TR_RT_STR_FLOAT, tr_fam_ty(e, TR_TY_F64), NULL, 1, v);
    return true;
}

bool tr_lib_py_ord(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv s, n;
    if (!tr_lib_is_text(c->a[0]))
        return tr_em_error(e, "ord() expected string of length 1, but %s found", tr_em_tyname(e, c->a[0].ty));
    if (!tr_em_string(e, c->a[0], &s))
        return false;
    n = tr_em_strlen(e, s);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, n, tr_em_i64(e, 1)), TR_EXC_TYPE,
                "ord() expected a character, but string of length {0} found", 1, &n);
    *out = tr_em_charat(e, s, zero(e));
    return true;
}

bool tr_lib_py_chr(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv i;
    if (!tr_fam_number(e, c, c->a[0], "bi") || !tr_fam_int(e, c, c->a[0], "i", &i))
        return false;
    tr_tv fits = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, i, tr_em_i64(e, INT32_MIN)),
                            tr_em_cmp(e, TR_CMP_LE, i, tr_em_i64(e, INT32_MAX)));
    tr_em_check(e, fits, TR_EXC_OVERFLOW, "Python int too large to convert to C int", 0, NULL);
    tr_tv ok = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, i, zero(e)),
                          tr_em_cmp(e, TR_CMP_LE, i, tr_em_i64(e, 0x10ffff)));
    tr_em_check(e, ok, TR_EXC_VALUE, "chr() arg not in range(0x110000)", 0, NULL);
    *out = tr_em_make_string(e, TR_RT_STR_CHAR, 1, &i);
    return true;
}
