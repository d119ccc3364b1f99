/* Methods of bytes, their encodings, bytes(). Methods that strings have, too, are theirs (lib/pystr.c), of
 * the characters that bytes are; what is a letter or a blank is so in ASCII alone (rt/bytes.c). */
#include <string.h>

#include "lib/chars.h"
#include "lib/fam.h"
#include "lib/families.h"
#include "lib/kinds.h"
#include "lib/priv.h"

static bool is_bytes(tr_tv x) {
    return x.ty && x.ty->kind == TR_TY_BYTES;
}

static tr_tv chars_of(tr_em *e, tr_tv x) {
    return tr_em_item(e, x, 0);
}

static bool made(tr_em *e, bool ok, tr_tv s, tr_tv *out) {
    if (ok)
        *out = tr_lib_bytes_of(e, s);
    return ok;
}

/* --- methods --- */

static tr_tv back(tr_em *e, tr_tv r) {
    if (r.ty->kind == TR_TY_STRING) {
        made(e, true, r, &r);
    } else if (r.ty->kind == TR_TY_TUPLE) {
        tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, r.ty->n + 1u);
        for (uint32_t i = 0; i < r.ty->n; i++)
            it[i] = back(e, tr_em_item(e, r, i));
        r = tr_em_tuple(e, r.ty->n, it);
    }
    return r;
}

/* An argument of a method as that of strings takes it: bytes as a string, integers as they are. */
static bool as_string(tr_em *e, const tr_bcall *c, tr_tv x, bool byte_too, tr_tv *out) {
    *out = x;
    if (!x.ty || tr_tv_is_none(x))
        return true;
    if (x.ty->kind == TR_TY_TUPLE) {
        tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, x.ty->n + 1u);
        for (uint32_t i = 0; i < x.ty->n; i++)
            if (!as_string(e, c, tr_em_item(e, x, i), false, &it[i]))
                return false;
        *out = tr_em_tuple(e, x.ty->n, it);
        return true;
    }
    if (is_bytes(x) || byte_too || !tr_lib_is_index(e, x))
        return tr_lib_bytes_part(e, x, byte_too, out);
    return true;
}

/* What the method of strings that the row names does; `find` and its kin take a byte, too. */
bool tr_lib_bytes_method(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_builtin *b = &tr_builtins[c->aux];
    bool seeks = b->fn == tr_lib_str_seek || b->fn == tr_lib_str_index;
    tr_bcall to = {.row = (uint16_t)c->aux, .aux = b->aux, .n = c->n};
    to.a = TR_NEW_N(&e->ctx->arena, tr_tv, c->n + 1u);
    for (uint32_t i = 0; i < c->n; i++)
        if (!as_string(e, c, c->a[i], seeks && i == 1, &to.a[i]))
            return false;
    if (b->fn == tr_lib_str_strip && !tr_fam_given(to.a[1]))
        to.a[1] = tr_em_lit(e, tr_obj_str(&e->ctx->arena, " \t\n\r\v\f"));
    if (b->fn == tr_lib_str_index) {
        if (!tr_lib_str_seek(e, &to, out))
            return false;
        tr_tv there = tr_em_cmp(e, TR_CMP_GE, *out, tr_em_i64(e, 0));
        tr_em_check(e, there, TR_EXC_VALUE, "subsection not found", 0, NULL);
        return true;
    }
    if (!b->fn(e, &to, out))
        return false;
    *out = back(e, *out);
    return true;
}

/* --- split(), join() and their kin --- */

/* The call as strings have it. */
static bool as_call(tr_em *e, const tr_bcall *c, tr_bcall *to) {
    *to = (tr_bcall){.row = c->row, .aux = c->aux, .n = c->n};
    to->a = TR_NEW_N(&e->ctx->arena, tr_tv, c->n + 1u);
    for (uint32_t i = 0; i < c->n; i++)
        if (!as_string(e, c, c->a[i], false, &to->a[i]))
            return false;
    return true;
}

bool tr_lib_bytes_split(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_bcall to;
    return as_call(e, c, &to) && tr_lib_split(e, &to, true, out);
}

bool tr_lib_bytes_lines(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_bcall to = {.row = c->row, .n = c->n, .a = (tr_tv[2]){chars_of(e, c->a[0]), c->a[1]}};
    return tr_lib_lines(e, &to, true, out);
}

static bool no_bytes(tr_em *e, const tr_ty *t) {
    return tr_em_error(e, "join() takes bytes, not %s", tr_em_tyname(e, t));
}

/* A list of bytes lies as one of strings does. */
bool tr_lib_bytes_join(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv it = c->a[1], s[2] = {chars_of(e, c->a[0])};
    if (is_bytes(it))
        return no_bytes(e, tr_fam_ty(e, TR_TY_I64));
    if (it.ty->kind == TR_TY_TUPLE) {
        for (uint32_t i = 0; i < it.ty->n; i++)
            if (!is_bytes(tr_em_item(e, it, i)))
                return no_bytes(e, it.ty->items[i]);
    }
    if (it.ty->kind == TR_TY_TUPLE && !it.ty->n)
        return tr_lib_py_bytes(e, &(tr_bcall){.n = 3, .a = (tr_tv[3]){{0}}}, out);
    if (it.ty->kind != TR_TY_LIST && !tr_em_list_of(e, it, &it))
        return false;
    const tr_ty *item = tr_ty_list_item(e->types, it.ty, false);
    if (item && item->kind != TR_TY_BYTES)
        return no_bytes(e, item);
    if (!item)
        return tr_lib_py_bytes(e, &(tr_bcall){.n = 3, .a = (tr_tv[3]){{0}}}, out);
    s[1] = it;
    return made(e, true, tr_em_make_string(e, TR_RT_STR_JOIN, 2, s), out);
}

/* --- tables --- */

bool tr_lib_bytes_translate(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v[3] = {chars_of(e, c->a[0])}, nothing;
    if (!tr_em_string(e, tr_em_lit(e, tr_obj_str(&e->ctx->arena, "")), &nothing))
        return false;
    v[1] = v[2] = nothing;
    if ((tr_fam_given(c->a[1]) && !tr_lib_bytes_part(e, c->a[1], false, &v[1])) ||
        (tr_fam_given(c->a[2]) && !tr_lib_bytes_part(e, c->a[2], false, &v[2])))
        return false;
    if (tr_fam_given(c->a[1]))
        tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, tr_em_strlen(e, v[1]), tr_em_i64(e, 256)), TR_EXC_VALUE,
                    "translation table must be 256 characters long", 0, NULL);
    return made(e, true, tr_em_make_string(e, TR_RT_BYTES_TRANSLATE, 3, v), out);
}

bool tr_lib_bytes_table(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v[2];
    if (!tr_lib_bytes_part(e, c->a[1], false, &v[0]) || !tr_lib_bytes_part(e, c->a[2], false, &v[1]))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, tr_em_strlen(e, v[0]), tr_em_strlen(e, v[1])), TR_EXC_VALUE,
                "maketrans arguments must have same length", 0, NULL);
    return made(e, true, tr_em_make_string(e, TR_RT_BYTES_TABLE, 2, v), out);
}

bool tr_lib_bytes_fromhex(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv s;
    if (!tr_lib_is_text(c->a[1]))
        return tr_em_error(e, "fromhex() argument must be str, not %s", tr_em_tyname(e, c->a[1].ty));
    if (!tr_em_string(e, c->a[1], &s))
        return false;
    tr_tv bad = tr_em_callrt(e, TR_RT_BYTES_UNHEX_BAD, tr_fam_ty(e, TR_TY_I64), NULL, 1, &s);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_LT, bad, tr_em_i64(e, 0)), TR_EXC_VALUE,
                "non-hexadecimal number found in fromhex() arg at position {0}", 1, &bad);
    return made(e, true, tr_em_make_string(e, TR_RT_BYTES_UNHEX, 1, &s), out);
}

/* upper() and its kin. */
bool tr_lib_bytes_make(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return made(e, true, tr_lib_bytes_made(e, c->aux, chars_of(e, c->a[0])), out);
}

bool tr_lib_bytes_hex(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_lib_bytes_made(e, TR_BYTES_HEX, chars_of(e, c->a[0]));
    return true;
}

bool tr_lib_bytes_is(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v[2] = {tr_em_i64(e, c->aux), chars_of(e, c->a[0])};
    *out = tr_em_callrt(e, TR_RT_BYTES_IS, tr_fam_ty(e, TR_TY_BOOL), NULL, 2, v);
    return true;
}

/* --- encode(), decode() --- */

/* The name of an encoding, without what does not tell two apart. */
static bool coding(tr_em *e, tr_tv x, int *out) {
    static const struct {
        const char *name;
        int how;
    } all[] = {{"utf8", TR_CODE_UTF8},       {"u8", TR_CODE_UTF8},       {"utf", TR_CODE_UTF8},
               {"ascii", TR_CODE_ASCII},     {"usascii", TR_CODE_ASCII}, {"us", TR_CODE_ASCII},
               {"646", TR_CODE_ASCII},       {"latin1", TR_CODE_LATIN1}, {"latin", TR_CODE_LATIN1},
               {"l1", TR_CODE_LATIN1},       {"8859", TR_CODE_LATIN1},   {"iso8859", TR_CODE_LATIN1},
               {"iso88591", TR_CODE_LATIN1}, {"cp819", TR_CODE_LATIN1}};
    const char *s = "utf8";
    char name[16];
    size_t n = 0;
    if (x.ty && !tr_tv_lit_str(x, &s))
        return tr_em_unsupported(e, "bytes", "an encoding that is not known when the function compiles");
    for (const char *at = s; *at && n + 1 < sizeof name; at++)
        if (*at != '-' && *at != '_' && *at != ' ')
            name[n++] = (char)(*at >= 'A' && *at <= 'Z' ? *at + 32 : *at);
    name[n] = '\0';
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0) {
            *out = all[i].how;
            return true;
        }
    return tr_em_unsupported(e, "bytes", "the encoding '%s'", s);
}

/* The handler of errors. */
static bool on_errors(tr_em *e, tr_tv x, bool decode, int *out) {
    static const struct {
        const char *name;
        int how;
        bool decodes;
    } all[] = {{"strict", TR_CODE_STRICT, true},          {"replace", TR_CODE_REPLACE, true},
               {"ignore", TR_CODE_IGNORE, true},          {"backslashreplace", TR_CODE_BACKSLASH, true},
               {"surrogateescape", TR_CODE_ESCAPE, true}, {"surrogatepass", TR_CODE_PASS, true},
               {"xmlcharrefreplace", TR_CODE_XML, false}};
    const char *s = "strict";
    if (x.ty && !tr_tv_lit_str(x, &s))
        return tr_em_unsupported(e, "bytes", "errors= that is not known when the function compiles");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, s) == 0 && (all[i].decodes || !decode)) {
            *out = all[i].how;
            return true;
        }
    return tr_em_unsupported(e, "bytes", "errors='%s' of %s()", s, decode ? "decode" : "encode");
}

static tr_tv constant(tr_em *e, const char *s) {
    return tr_em_lit(e, tr_obj_str(&e->ctx->arena, s));
}

/* Leaves with what is wrong unless `good` holds (no type: unless nothing is). `object`: what is converted, a
 * str or bytes; s: its characters. */
static void check_codec(tr_em *e, int how, tr_tv good, tr_tv object, tr_tv s) {
    static const char *const names[] = {"utf-8", "ascii", "latin-1"},
                             *const reasons[] = {"surrogates not allowed", "ordinal not in range(128)",
                                                 "ordinal not in range(256)"},
                             *const malformed[] = {[TR_CODE_BAD_START] = "invalid start byte",
                                                   [TR_CODE_BAD_MIDDLE] = "invalid continuation byte",
                                                   [TR_CODE_BAD_END] = "unexpected end of data"};
    const tr_ty *i64 = tr_fam_ty(e, TR_TY_I64);
    int kind = how & TR_CODE_KIND;
    bool decode = how & TR_CODE_DECODE, several = decode && kind == TR_CODE_UTF8;
    tr_tv v[3] = {tr_em_i64(e, how), s}, start = tr_em_callrt(e, TR_RT_BYTES_BAD, i64, NULL, 2, v);
    v[1] = start;
    v[2] = s;
    tr_tv why = tr_em_callrt(e, TR_RT_BYTES_WHY, i64, NULL, 3, v),
          end = tr_em_op2(e, TR_OP_SHR, why, tr_em_i64(e, TR_CODE_WHY_BITS)),
          which = tr_em_op2(e, TR_OP_AND, why, tr_em_i64(e, (1 << TR_CODE_WHY_BITS) - 1));
    for (int k = TR_CODE_BAD_START; k <= (several ? TR_CODE_BAD_END : TR_CODE_BAD_START); k++) {
        tr_tv fine = several   ? tr_em_cmp(e, TR_CMP_NE, which, tr_em_i64(e, k))
                     : good.ty ? good
                               : tr_em_cmp(e, TR_CMP_LT, start, tr_em_i64(e, 0)),
              args[] = {constant(e, names[kind]), object, start, end,
                        constant(e, several ? malformed[k] : reasons[kind])};
        tr_em_check_args(e, fine, decode ? TR_EXC_UNIDECODE : TR_EXC_UNIENCODE, 5, args);
    }
}

void tr_chars_check_ascii(tr_em *e, tr_tv good, tr_tv object, tr_tv s) {
    check_codec(e, TR_CODE_ASCII | (is_bytes(object) ? TR_CODE_DECODE : 0), good, object, s);
}

/* Raises where the handler of errors does. */
static void check_coded(tr_em *e, int how, tr_tv object, tr_tv s) {
    int handler = how & TR_CODE_HANDLER;
    bool raises = handler == TR_CODE_STRICT || handler == TR_CODE_ESCAPE || handler == TR_CODE_PASS,
         all = how & TR_CODE_DECODE && (how & TR_CODE_KIND) == TR_CODE_LATIN1;
    if (raises && !all)
        check_codec(e, how, (tr_tv){NULL, TR_NOVAL}, object, s);
}

static bool coded(tr_em *e, const tr_bcall *c, tr_tv object, tr_tv s, bool decode, tr_tv *out) {
    int how = 0, errors = 0;
    if (!coding(e, c->a[1], &how) || !on_errors(e, c->a[2], decode, &errors))
        return false;
    how |= errors | (decode ? TR_CODE_DECODE : 0);
    tr_tv v[2] = {tr_em_i64(e, how), s};
    check_coded(e, how, object, s);
    *out = tr_em_make_string(e, TR_RT_BYTES_CODE, 2, v);
    return true;
}

bool tr_lib_bytes_decode(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return coded(e, c, c->a[0], chars_of(e, c->a[0]), true, out);
}

bool tr_lib_str_encode(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv s;
    return tr_em_string(e, c->a[0], &s) && made(e, coded(e, c, s, s, false, &s), s, out);
}

/* Its items as they lie in memory, in C order. */
static bool of_array(tr_em *e, tr_tv x, tr_tv *out) {
    tr_tv v[2], n;
    if (!tr_em_copy(e, x, TR_LAYOUT_C, &x))
        return false;
    n = tr_em_size(e, x);
    v[0] = tr_em_restride(e, tr_ty_array(e->types, x.ty->elem, 1, TR_LAYOUT_C, x.ty->readonly), x,
                          tr_em_i64(e, 0), &n, NULL);
    v[1] = tr_em_i64(e, tr_ty_size(x.ty->elem));
    return made(e, true, tr_em_make_string(e, TR_RT_BYTES_OF_ITEMS, 2, v), out);
}

/* tobytes(): of another order than C's the items would have to be moved first. */
bool tr_lib_arr_tobytes(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const char *order = "C";
    if (!tr_lib_is_array(c->a[0]))
        return tr_em_unsupported(e, "array-member", "'tobytes' of %s", tr_em_tyname(e, c->a[0].ty));
    if (tr_fam_given(c->a[1]) && (!tr_tv_lit_str(c->a[1], &order) || strcmp(order, "C") != 0))
        return tr_em_unsupported(e, "order", "tobytes() in an order other than C");
    return of_array(e, c->a[0], out);
}

bool tr_lib_str_decoded(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x[3] = {c->a[0], c->a[1], c->a[2]};
    if (!x[0].ty)
        return tr_em_text(e, 0, NULL, out);
    if (tr_lib_is_text(x[0]))
        return tr_em_error(e, "decoding str is not supported");
    if (!tr_lib_bytearray_bytes(e, x[0], &x[0]) || (tr_lib_is_array(x[0]) && !of_array(e, x[0], &x[0])))
        return false;
    if (!is_bytes(x[0]))
        return tr_em_error(e, "decoding to str: need a bytes-like object, %s found",
                           tr_em_tyname(e, x[0].ty));
    return tr_lib_bytes_decode(e, &(tr_bcall){.n = 3, .a = x}, out);
}

/* Of an iterable of integers, which become a list first. */
static bool of_items(tr_em *e, tr_tv x, tr_tv *out) {
    if (tr_lib_kind(x.ty)->iter == tr_lib_iter_no && x.ty->kind != TR_TY_LIST)
        return tr_em_error(e, "cannot convert '%s' object to bytes", tr_em_tyname(e, x.ty));
    if (x.ty->kind != TR_TY_LIST && !tr_em_list_of(e, x, &x))
        return false;
    const tr_ty *item = tr_ty_list_item(e->types, x.ty, false);
    if (!item)
        return tr_lib_py_bytes(e, &(tr_bcall){.n = 3, .a = (tr_tv[3]){{0}}}, out);
    if (item->kind != TR_TY_I64)
        return tr_em_unsupported(e, "bytes", "bytes() of items of %s", tr_em_tyname(e, item));
    tr_tv s = tr_em_callrt(e, TR_RT_BYTES_OF_LIST, tr_ty_string(e->types), NULL, 1, &x),
          n = tr_em_strlen(e, s);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, n, tr_em_i64(e, -2)), TR_EXC_VALUE,
                "bytes must be in range(0, 256)", 0, NULL);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, n, tr_em_i64(e, 0)), TR_EXC_MEMORY, "cannot allocate a string", 0,
                NULL);
    return made(e, true, s, out);
}

/* bytes(): of nothing, of bytes, so many zeros, a str with its encoding. */
bool tr_lib_py_bytes(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0], v[2];
    if (x.ty && !tr_lib_bytearray_bytes(e, x, &x))
        return false;
    if (!x.ty)
        return tr_em_string(e, tr_em_lit(e, tr_obj_str(&e->ctx->arena, "")), &v[0]) &&
               made(e, true, v[0], out);
    if (is_bytes(x) && !c->a[1].ty) {
        *out = x;
        return true;
    }
    if (tr_lib_is_text(x)) {
        if (!c->a[1].ty)
            return tr_em_error(e, "string argument without an encoding");
        return tr_lib_str_encode(e, c, out);
    }
    if (tr_lib_is_array(x) && x.ty->ndim)
        return of_array(e, x, out);
    if (!tr_lib_is_index(e, x))
        return of_items(e, x, out);
    v[1] = tr_em_conv(e, x, tr_fam_ty(e, TR_TY_I64));
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, v[1], tr_em_i64(e, 0)), TR_EXC_VALUE, "negative count", 0, NULL);
    tr_tv nul = tr_em_i64(e, 0);
    v[0] = tr_em_make_string(e, TR_RT_STR_CHAR, 1, &nul);
    return made(e, true, tr_em_make_string(e, TR_RT_STR_REPEAT, 2, v), out);
}

/* bytearray(): a str with its encoding, or what bytearrays are made of. */
bool tr_lib_py_bytearray(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0];
    if (x.ty && tr_lib_is_text(x) && c->a[1].ty && !tr_lib_str_encode(e, c, &x))
        return false;
    return tr_lib_bytearray_of(e, x, out);
}
