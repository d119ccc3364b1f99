/* Methods of strings, ord() and chr(), and numbers that strings spell: each a call of the runtime (rt/str*.c)
 * and what CPython says where it does not take an argument. What is a part of the string is a view of it. */
#include "base/fspec.h"
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

/* --- split() and its kin: as many parts as were counted before, each a view --- */

typedef struct split {
    tr_tv s, n, list, items; /* of what, its length; the parts */
    tr_tv sep, m, count;     /* absent: at spaces; its length; how many parts */
    tr_tv rest;              /* is the last part all that is left? */
    bool right, bytes;
} split;

static tr_tv next_place(tr_em *e, const split *x, int how, tr_tv from) {
    how |= x->bytes ? TR_STR_OF_BYTES : 0;
    return i64_call(e, TR_RT_STR_NEXT, 3, (tr_tv[]){tr_em_i64(e, how), x->s, from});
}

static bool put_part(tr_em *e, const split *x, tr_tv at, tr_tv start, tr_tv end) {
    tr_tv part = tr_em_substr(e, x->s, start, tr_em_nsw(e, TR_OP_SUB, end, start));
    part = x->bytes ? tr_lib_bytes_of(e, part) : part;
    if (!tr_lib_list_item(e, x->list, part, &part))
        return false;
    tr_lib_put_item(e, x->items, at, part);
    return true;
}

/* acc: where what is left begins, or from the right ends. */
static bool each_part(tr_em *e, tr_tv i, const void *user, tr_tv *acc, tr_tv *stop) {
    const split *x = user;
    tr_tv last = tr_em_nsw(e, TR_OP_SUB, x->count, tr_em_i64(e, 1)), is_last, start, end, at;
    (void)stop;
    is_last = tr_fam_and(e, tr_em_cmp(e, TR_CMP_EQ, i, last), x->rest);
    if (x->right) {
        end = x->sep.ty ? acc[0] : next_place(e, x, TR_STR_LAST_WORD, acc[0]);
        at = x->sep.ty ? tr_em_seek(e, TR_STR_RFIND, x->s, x->sep, zero(e), end)
                       : next_place(e, x, TR_STR_LAST_SPACE, end);
        start = x->sep.ty ? tr_em_nsw(e, TR_OP_ADD, at, x->m) : at;
        if (!put_part(e, x, tr_em_nsw(e, TR_OP_SUB, last, i), tr_em_select(e, is_last, zero(e), start), end))
            return false;
        acc[0] = tr_em_select(e, is_last, zero(e), at);
        return true;
    }
    start = x->sep.ty ? acc[0] : next_place(e, x, TR_STR_NEXT_WORD, acc[0]);
    at = x->sep.ty ? tr_em_seek(e, TR_STR_FIND, x->s, x->sep, start, x->n)
                   : next_place(e, x, TR_STR_NEXT_SPACE, start);
    if (!put_part(e, x, i, start, tr_em_select(e, is_last, x->n, at)))
        return false;
    at = x->sep.ty ? tr_em_nsw(e, TR_OP_ADD, at, x->m) : at;
    acc[0] = tr_em_select(e, is_last, x->n, at);
    return true;
}

static bool each_line(tr_em *e, tr_tv i, const void *user, tr_tv *acc, tr_tv *stop) {
    const split *x = user;
    tr_tv end = next_place(e, x, TR_STR_LINE_END, acc[0]), next = next_place(e, x, TR_STR_NEXT_LINE, end);
    (void)stop;
    if (!put_part(e, x, i, acc[0], tr_em_select(e, x->m, next, end)))
        return false;
    acc[0] = next;
    return true;
}

static bool parts_of(tr_em *e, split *x, tr_tv from, tr_eachfn each, tr_tv *out) {
    tr_tv p[3] = {zero(e), x->count, tr_em_i64(e, 1)}, acc[1] = {tr_em_strong(e, from)};
    const tr_ty *of = x->bytes ? tr_ty_bytes(e->types) : tr_ty_string(e->types);
    if (!tr_lib_list_of_n(e, of, x->count, &x->list, &x->items))
        return false;
    *out = x->list;
    return tr_em_each(e, tr_em_make(e, tr_ty_range(e->types, tr_fam_ty(e, TR_TY_I64), 0), 3, p), 1, acc, each,
                      x);
}

bool tr_lib_split(tr_em *e, const tr_bcall *c, bool bytes, tr_tv *out) {
    split x = {.right = c->aux == TR_SIDE_RIGHT, .bytes = bytes};
    tr_tv most, one = tr_em_i64(e, 1);
    if (!tr_em_string(e, c->a[0], &x.s) || !int_arg(e, c, c->a[2], "maxsplit", -1, &most))
        return false;
    x.n = tr_em_strlen(e, x.s);
    most = tr_em_select(e, tr_em_cmp(e, TR_CMP_LT, most, zero(e)), tr_em_i64(e, INT64_MAX), most);
    if (tr_fam_given(c->a[1])) {
        if (!text_arg(e, c, c->a[1], &x.sep))
            return false;
        x.m = tr_em_strlen(e, x.sep);
        tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, x.m, zero(e)), TR_EXC_VALUE, "empty separator", 0, NULL);
        x.count = tr_em_seek(e, TR_STR_COUNT, x.s, x.sep, zero(e), x.n);
        x.rest = tr_em_strong(e, tr_em_bool(e, true));
    } else {
        x.count = tr_em_nsw(e, TR_OP_SUB, next_place(e, &x, TR_STR_WORDS, zero(e)), one);
        x.rest = tr_em_cmp(e, TR_CMP_GE, x.count, most);
    }
    x.count = tr_em_nsw(e, TR_OP_ADD, tr_em_op2(e, TR_OP_MIN, x.count, most), one);
    return parts_of(e, &x, x.right ? x.n : zero(e), each_part, out);
}

bool tr_lib_str_split(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_lib_split(e, c, false, out);
}

bool tr_lib_lines(tr_em *e, const tr_bcall *c, bool bytes, tr_tv *out) {
    split x = {.bytes = bytes};
    if (!tr_em_string(e, c->a[0], &x.s))
        return false;
    x.m = tr_em_bool(e, false);
    if (c->a[1].ty && !tr_em_truth(e, c->a[1], &x.m))
        return false;
    x.m = tr_em_strong(e, x.m);
    x.n = tr_em_strlen(e, x.s);
    x.count = next_place(e, &x, TR_STR_LINES, zero(e));
    return parts_of(e, &x, zero(e), each_line, out);
}

bool tr_lib_str_lines(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_lib_lines(e, c, false, out);
}

/* --- join() --- */

static bool join_one(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    const tr_tv *sep = user;
    tr_tv n = tr_em_strlen(e, *sep), first = tr_em_cmp(e, TR_CMP_EQ, acc[0], zero(e));
    (void)stop;
    tr_lib_put_piece(e, tr_em_substr(e, *sep, zero(e), tr_em_select(e, first, zero(e), n)));
    tr_lib_put_piece(e, x);
    acc[0] = tr_em_nsw(e, TR_OP_ADD, acc[0], tr_em_i64(e, 1));
    return true;
}

/* The characters of a string. */
static bool join_chars(tr_em *e, tr_tv sep, tr_tv it, tr_tv *out) {
    tr_tv acc[1] = {tr_em_strong(e, zero(e))};
    if (!tr_em_string(e, it, &it))
        return false;
    tr_tv mark = i64_call(e, TR_RT_STR_MAKE, 0, NULL);
    if (!tr_em_iter(e, it, &it) || !tr_em_each(e, it, 1, acc, join_one, &sep))
        return false;
    *out = tr_em_make_string(e, TR_RT_STR_MADE, 1, &mark);
    return true;
}

static bool not_strings(tr_em *e, const tr_ty *t) {
    return tr_em_error(e, "join() takes strings, not %s", tr_em_tyname(e, t));
}

/* Nothing may raise while pieces are put, so the strings are there before. */
static bool join_tuple(tr_em *e, tr_tv sep, tr_tv it, tr_tv *out) {
    tr_tv *s = TR_NEW_N(&e->ctx->arena, tr_tv, it.ty->n + 1u);
    for (uint32_t i = 0; i < it.ty->n; i++) {
        s[i] = tr_em_item(e, it, i);
        if (!tr_lib_is_text(s[i]))
            return not_strings(e, s[i].ty);
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

/* A list is joined by the runtime, which knows how long the string will be; what else gives strings becomes
 * one before, as in CPython. */
bool tr_lib_str_join(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv sep, it = c->a[1];
    if (!tr_em_string(e, c->a[0], &sep))
        return false;
    if (it.ty->kind == TR_TY_TUPLE)
        return join_tuple(e, sep, it, out);
    if (tr_lib_is_text(it))
        return join_chars(e, sep, it, out);
    if (it.ty->kind != TR_TY_LIST && !tr_em_list_of(e, it, &it))
        return false;
    const tr_ty *item = tr_ty_list_item(e->types, it.ty, false);
    if (!item) /* nothing was ever put into it */
        return tr_em_string(e, tr_em_lit(e, tr_obj_str(&e->ctx->arena, "")), out);
    if (item->kind != TR_TY_STRING)
        return not_strings(e, item);
    *out = tr_em_make_string(e, TR_RT_STR_JOIN, 2, (tr_tv[]){sep, it});
    return true;
}

/* --- numbers and characters --- */

/* What spells a number, a string or bytes: its characters, and what an error shows. */
static bool spelt(tr_em *e, tr_tv x, tr_tv *chars, tr_tv *told) {
    bool bytes = x.ty->kind == TR_TY_BYTES;
    *told = x;
    if (!bytes)
        return tr_em_string(e, x, chars) && (*told = *chars, true);
    *chars = tr_em_item(e, x, 0);
    return true;
}

/* Other digits and blanks than ASCII's spell something in a string alone. */
static tr_tv spells(tr_em *e, tr_rt row, uint32_t n, const tr_tv *v, tr_tv x) {
    tr_tv is = i64_call(e, row, n, v);
    if (x.ty->kind != TR_TY_BYTES)
        return is;
    tr_tv bad = i64_call(e, TR_RT_BYTES_BAD, 2, (tr_tv[]){tr_em_i64(e, TR_CODE_ASCII), v[0]});
    return tr_em_select(e, tr_em_cmp(e, TR_CMP_LT, bad, zero(e)), is, tr_em_i64(e, TR_STR_INT_BAD));
}

bool tr_lib_int_of_string(tr_em *e, tr_tv s, tr_tv base, tr_tv *out) {
    tr_tv v[2], b = tr_em_i64(e, 10), told[2];
    if (!spelt(e, s, &v[0], &told[0]))
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
    v[1] = told[1] = b;
    tr_tv is = spells(e, TR_RT_STR_INT_IS, 2, v, s);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, is, tr_em_i64(e, TR_STR_INT_BAD)), TR_EXC_VALUE,
                "invalid literal for int() with base {1}: {0:" TR_SPEC_REPR "}", 2, told);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, is, tr_em_i64(e, TR_STR_INT_LARGE)), TR_EXC_OVERFLOW,
                "int() of a string gives a number that does not fit int64", 0, NULL);
    *out = i64_call(e, TR_RT_STR_INT, 2, v);
    return true;
}

bool tr_lib_float_of_string(tr_em *e, tr_tv s, tr_tv *out) {
    tr_tv v[1], told;
    if (!spelt(e, s, v, &told))
        return false;
    tr_tv is = spells(e, TR_RT_STR_FLOAT_IS, 1, v, s);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, is, tr_em_i64(e, TR_STR_INT_BAD)), TR_EXC_VALUE,
                "could not convert string to float: {0:" TR_SPEC_REPR "}", 1, &told);
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
    if (e->ctx->python < 313) { /* later ones say of every number that it is out of the range */
        tr_tv fits = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, i, tr_em_i64(e, INT32_MIN)),
                                tr_em_cmp(e, TR_CMP_LE, i, tr_em_i64(e, INT32_MAX)));
        tr_em_check(e, fits, TR_EXC_OVERFLOW, "Python int too large to convert to C int", 0, NULL);
    }
    tr_tv ok = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, i, zero(e)),
                          tr_em_cmp(e, TR_CMP_LE, i, tr_em_i64(e, 0x10ffff)));
    tr_em_check(e, ok, TR_EXC_VALUE, "chr() arg not in range(0x110000)", 0, NULL);
    *out = tr_em_make_string(e, TR_RT_STR_CHAR, 1, &i);
    return true;
}
