/* Text as a value: pieces that f-strings, str() and + put side by side. What is made of constants alone is
 * one constant; the rest is printed, or the message of an exception, without being made; elsewhere it becomes
 * a string (lib/kind_string.c). A piece is a string, a number or a date; or the tuple of a format
 * specification and what it is for, for no tuple is a piece otherwise: a number, a string, or an array, whose
 * "specification" is that of the runtime's PRINT_ARRAY. */
#include <math.h>
#include <string.h>

#include "base/fspec.h"
#include "lib/fam.h"
#include "lib/kinds.h"
#include "lib/priv.h"

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

/* --- the column `show` --- */

void tr_lib_show_known(tr_em *e, tr_shown *to, const char *s) {
    to->text = tr_arena_printf(&e->ctx->arena, "%s%s", to->text ? to->text : "", s);
}

void tr_lib_show_end(tr_em *e, tr_shown *to) {
    if (to->text && *to->text) {
        tr_tv piece = tr_em_lit(e, tr_obj_str(&e->ctx->arena, to->text));
        tr_vec_push(&e->ctx->arena, &to->pieces, piece);
    }
    to->text = NULL;
}

bool tr_lib_show(tr_em *e, tr_tv x, bool repr, tr_shown *to) {
    return tr_lib_kind(x.ty)->show(e, x, repr, to);
}

static bool is_ascii(const char *s) {
    while (*s && (unsigned char)*s < 0x80)
        s++;
    return !*s;
}

/* A str as repr() shows it; only the escapes of plain text. */
static const char *quoted(tr_em *e, const char *s) {
    char q = strchr(s, '\'') && !strchr(s, '"') ? '"' : '\'';
    tr_sb b;
    tr_sb_init(&b);
    tr_sb_putc(&b, q);
    for (; *s; s++) {
        if (*s == q || *s == '\\')
            tr_sb_printf(&b, "\\%c", *s);
        else if (*s == '\n')
            tr_sb_puts(&b, "\\n");
        else if (*s == '\t')
            tr_sb_puts(&b, "\\t");
        else if (*s == '\r')
            tr_sb_puts(&b, "\\r");
        else if ((unsigned char)*s < 32 || *s == 127)
            tr_sb_printf(&b, "\\x%02x", (unsigned)(unsigned char)*s);
        else
            tr_sb_putc(&b, *s);
    }
    tr_sb_putc(&b, q);
    const char *out = tr_arena_strdup(&e->ctx->arena, b.d);
    tr_sb_fini(&b);
    return out;
}

bool tr_lib_show_number(tr_em *e, tr_tv x, bool repr, tr_shown *to) {
    (void)repr;
    tr_lib_show_end(e, to);
    x = tr_em_strong(e, x);
    tr_vec_push(&e->ctx->arena, &to->pieces, x);
    return true;
}

/* A copy, for text is of what was there when it was made. */
bool tr_lib_show_items(tr_em *e, tr_tv x, bool repr, const char *dtype, tr_shown *to) {
    const char *how = tr_arena_printf(&e->ctx->arena, "%c%s", repr ? 'r' : 's', dtype);
    tr_tv piece[2] = {tr_em_lit(e, tr_obj_str(&e->ctx->arena, how)), {NULL, TR_NOVAL}}, pair;
    tr_lib_show_end(e, to);
    if (!tr_em_copy(e, x, TR_LAYOUT_C, &piece[1]))
        return tr_lib_show_no(e, x, repr, to);
    pair = tr_em_tuple(e, 2, piece);
    tr_vec_push(&e->ctx->arena, &to->pieces, pair);
    return true;
}

bool tr_lib_show_array(tr_em *e, tr_tv x, bool repr, tr_shown *to) {
    return tr_lib_show_items(e, x, repr, tr_em_tyname(e, x.ty->elem), to);
}

bool tr_lib_show_none(tr_em *e, tr_tv x, bool repr, tr_shown *to) {
    (void)x, (void)repr;
    tr_lib_show_known(e, to, "None");
    return true;
}

bool tr_lib_show_lit(tr_em *e, tr_tv x, bool repr, tr_shown *to) {
    const char *s;
    tr_tv made;
    if (repr && tr_tv_lit_str(x, &s) && !is_ascii(s)) /* which of these are printable the runtime knows */
        return tr_em_string(e, x, &made) && tr_lib_show_string(e, made, true, to);
    if (tr_tv_lit_str(x, &s))
        s = repr ? quoted(e, s) : s;
    else
        s = tr_lib_known_text(e, x);
    if (!s)
        return tr_lib_scalar(e, x.ty) ? tr_lib_show_number(e, x, repr, to) : tr_lib_show_no(e, x, repr, to);
    tr_lib_show_known(e, to, s);
    return true;
}

bool tr_lib_show_tuple(tr_em *e, tr_tv x, bool repr, tr_shown *to) {
    bool list = tr_ty_is_list(x.ty);
    (void)repr;
    tr_lib_show_known(e, to, x.ty->name ? x.ty->name : "");
    tr_lib_show_known(e, to, list ? "[" : "(");
    for (uint32_t i = 0; i < x.ty->n; i++) {
        tr_lib_show_known(e, to, i ? ", " : "");
        if (x.ty->fields)
            tr_lib_show_known(e, to, tr_arena_printf(&e->ctx->arena, "%s=", x.ty->fields[i]));
        if (!tr_lib_show(e, tr_em_item(e, x, i), true, to))
            return false;
    }
    tr_lib_show_known(e, to, list ? "]" : x.ty->n == 1 && !x.ty->fields ? ",)" : ")");
    return true;
}

bool tr_lib_show_text(tr_em *e, tr_tv x, bool repr, tr_shown *to) {
    tr_tv s;
    if (repr)
        return tr_em_string(e, x, &s) && tr_lib_show_string(e, s, true, to);
    for (uint32_t i = 0; i < x.ty->n; i++) {
        tr_tv piece = tr_em_item(e, x, i);
        if (piece.ty->kind == TR_TY_TUPLE) { /* a number and its specification */
            tr_lib_show_end(e, to);
            tr_vec_push(&e->ctx->arena, &to->pieces, piece);
        } else if (!tr_lib_show(e, piece, false, to)) {
            return false;
        }
    }
    return true;
}

/* What was shown, as a value; `ok` says whether all of it was. */
static bool shown(tr_em *e, bool ok, tr_shown *all, tr_tv *out) {
    if (!ok)
        return tr_em_unsupported(e, "format-value", "text made of a value of %s",
                                 tr_em_tyname(e, all->none.ty));
    if (!all->pieces.n) {
        *out = tr_em_lit(e, tr_obj_str(&e->ctx->arena, all->text ? all->text : ""));
        return true;
    }
    tr_lib_show_end(e, all);
    uint32_t n = all->pieces.n;
    if (n == 1 && all->pieces.d[0].ty->kind == TR_TY_STRING) {
        *out = all->pieces.d[0];
        return true;
    }
    const tr_ty **t = TR_NEW_N(&e->ctx->arena, const tr_ty *, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        t[i] = all->pieces.d[i].ty;
    *out = tr_em_make(e, tr_ty_of(e->types, TR_TY_TEXT, 0, n, t), n, all->pieces.d);
    return true;
}

bool tr_em_text(tr_em *e, uint32_t npieces, const tr_tv *pieces, tr_tv *out) {
    tr_shown all = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < npieces; i++) {
        tr_tv x = pieces[i];
        if (tr_lib_is_array(x) && !x.ty->ndim) /* as NumPy formats it, and does not str() it */
            x = tr_em_load(e, x, NULL);
        ok = tr_lib_show(e, x, false, &all);
    }
    return shown(e, ok, &all, out);
}

bool tr_em_str(tr_em *e, tr_tv x, bool repr, tr_tv *out) {
    tr_shown all = {0};
    return shown(e, tr_lib_show(e, x, repr, &all), &all, out);
}

/* --- format specifications --- */

bool tr_em_spec_piece(tr_em *e, tr_tv piece, tr_tv *number, const char **spec) {
    if (piece.ty->kind != TR_TY_TUPLE)
        return false;
    *number = tr_em_item(e, piece, 1);
    return tr_tv_lit_str(tr_em_item(e, piece, 0), spec);
}

static bool refuse_spec(tr_em *e, const char *spec, const tr_ty *t) {
    return tr_em_unsupported(e, "format-spec", "the format specification '%s' for a value of %s", spec,
                             tr_em_tyname(e, t));
}

/* What Python does not take is an error in its words. */
static bool read_spec(tr_em *e, const char *spec, char kind, const char *of, const tr_ty *t, tr_fspec *out) {
    tr_sb why;
    tr_sb_init(&why);
    bool ok = tr_fspec_read(spec, kind, of, out, &why);
    if (!ok && why.n)
        tr_em_error(e, "%s", why.d);
    else if (!ok)
        refuse_spec(e, spec, t);
    tr_sb_fini(&why);
    return ok;
}

/* A value and its specification, as text. */
static void with_spec(tr_em *e, const char *spec, tr_tv x, tr_tv *out) {
    tr_tv pair = tr_em_tuple(e, 2, (tr_tv[]){tr_em_lit(e, tr_obj_str(&e->ctx->arena, spec)), x});
    const tr_ty *t[1] = {pair.ty};
    *out = tr_em_make(e, tr_ty_of(e->types, TR_TY_TEXT, 0, 1, t), 1, &pair);
}

static bool spec_made(tr_em *e, tr_tv x, const char *spec, tr_tv *out) {
    tr_fspec s;
    if (!read_spec(e, spec, 's', "str", x.ty, &s) || !tr_em_string(e, x, &x))
        return false;
    with_spec(e, spec, x, out);
    return true;
}

static bool spec_string(tr_em *e, const char *text, tr_tv x, const char *spec, tr_tv *out) {
    tr_fspec s;
    tr_sb b;
    if (!read_spec(e, spec, 's', "str", x.ty, &s))
        return false;
    tr_sb_init(&b);
    tr_fspec_string(&s, text, &b);
    *out = tr_em_lit(e, tr_obj_str(&e->ctx->arena, tr_arena_strdup(&e->ctx->arena, b.d ? b.d : "")));
    tr_sb_fini(&b);
    return true;
}

/* As Python and NumPy have it: what is neither float nor complex is formatted as an int, a bool too,
 * and a float of any width as a double. */
static bool spec_number(tr_em *e, tr_tv x, const char *spec, tr_tv *out) {
    tr_fspec s;
    char class = tr_ty_class(x.ty), kind = class == 'f' || class == 'c' ? class : 'i';
    const char *of = class == 'f' ? "float" : class == 'c' ? "complex" : class == 'b' ? "bool" : "int";
    if (!read_spec(e, spec, kind, of, x.ty, &s))
        return false;
    tr_tyk to = class == 'c'                            ? TR_TY_C128
                : class == 'f' || tr_fspec_of_float(&s) ? TR_TY_F64
                : class == 'u'                          ? TR_TY_U64
                                                        : TR_TY_I64;
    with_spec(e, spec, tr_em_conv(e, x, tr_fam_ty(e, to)), out);
    return true;
}

/* What has a text, and none by a specification. */
static bool spec_other(tr_em *e, tr_tv x, const char *spec) {
    bool tuple = x.ty->kind == TR_TY_TUPLE && !x.ty->name;
    if (!tuple && !tr_tv_is_none(x))
        return refuse_spec(e, spec, x.ty);
    return tr_em_error(e, "unsupported format string passed to %s.__format__",
                       !tuple                ? "NoneType"
                       : tr_ty_is_list(x.ty) ? "list"
                                             : "tuple");
}

/* How the runtime is told of a value, and as which type it takes it. */
static int late_kind(const tr_ty *t, tr_tyk *to) {
    char class = tr_ty_class(t);
    *to = class == 'f' ? TR_TY_F64 : class == 'c' ? TR_TY_C128 : TR_TY_I64; /* of an uint64 the bits */
    return class == 'f'           ? TR_SPEC_FLOAT
           : class == 'c'         ? TR_SPEC_COMPLEX
           : class == 'b'         ? TR_SPEC_BOOL
           : t->kind == TR_TY_U64 ? TR_SPEC_UINT
                                  : TR_SPEC_INT;
}

/* By a specification that running makes: it is looked at first, for nothing may raise while a string is
 * made. */
static bool spec_late(tr_em *e, tr_tv x, tr_tv spec, tr_tv *out) {
    const tr_ty *i64 = tr_ty_scalar(e->types, TR_TY_I64);
    tr_tyk to = TR_TY_I64;
    bool text = tr_lib_is_text(x);
    tr_tv v[3], why;
    x = text ? x : tr_em_strong(e, x);
    if (!text && !tr_lib_scalar(e, x.ty))
        return tr_em_unsupported(e, "format-spec",
                                 "a format specification made at run time for a value of %s",
                                 tr_em_tyname(e, x.ty));
    int how = text ? TR_SPEC_STRING : late_kind(x.ty, &to);
    if (!tr_em_string(e, spec, &v[2]) || (text && !tr_em_string(e, x, &x)))
        return false;
    v[0] = tr_em_i64(e, how);
    v[1] = text ? x : tr_em_conv(e, x, tr_ty_scalar(e->types, to));
    tr_tv of[2] = {v[0], v[2]}, is = tr_em_callrt(e, TR_RT_STR_SPEC_IS, i64, NULL, 2, of);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, is, tr_em_i64(e, TR_SPEC_LEFT_OUT)), TR_EXC_NOTIMPL,
                "compiled code has no format specification {0:" TR_SPEC_REPR "}", 1, &v[2]);
    why = tr_em_make_string(e, TR_RT_STR_SPEC_WHY, 2, of);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, is, tr_em_i64(e, TR_SPEC_GOOD)), TR_EXC_VALUE, "{0}", 1, &why);
    tr_tv mark = tr_em_callrt(e, TR_RT_STR_MAKE, i64, NULL, 0, NULL);
    tr_rt row = text                     ? TR_RT_PRINT_BY_STRING
                : how == TR_SPEC_FLOAT   ? TR_RT_PRINT_BY_FLOAT
                : how == TR_SPEC_COMPLEX ? TR_RT_PRINT_BY_COMPLEX
                                         : TR_RT_PRINT_BY_INT;
    bool kind_too = row == TR_RT_PRINT_BY_INT;
    tr_em_callrt(e, row, NULL, NULL, kind_too ? 3 : 2, kind_too ? v : v + 1);
    *out = tr_em_make_string(e, TR_RT_STR_MADE, 1, &mark);
    return true;
}

bool tr_em_spec(tr_em *e, tr_tv x, tr_tv spec, tr_tv *out) {
    const char *s, *text;
    if (!tr_tv_lit_str(spec, &s))
        return tr_lib_is_text(spec)
                   ? spec_late(e, x, spec, out)
                   : tr_em_error(e, "a format specification is a string, not %s", tr_em_tyname(e, spec.ty));
    if (!*s)
        return tr_em_text(e, 1, &x, out);
    if (tr_tv_lit_str(x, &text))
        return spec_string(e, text, x, s, out);
    if (tr_lib_is_text(x))
        return spec_made(e, x, s, out);
    x = tr_em_strong(e, x);
    return tr_lib_scalar(e, x.ty) ? spec_number(e, x, s, out) : spec_other(e, x, s);
}

bool tr_lib_is_text(tr_tv x) {
    return tr_ty_is_text(x.ty);
}

/* --- what strings are asked, those known when compiling too --- */

enum { MAX_TEXT = 1 << 16 }; /* doubling thirty times is a short program */

tr_answer tr_lib_binary_text(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    const char *a, *b;
    if (x.ty->kind == TR_TY_STRING || y.ty->kind == TR_TY_STRING || op != TR_BIN_ADD || !tr_lib_is_text(x) ||
        !tr_lib_is_text(y))
        return tr_lib_is_text(x) || tr_lib_is_text(y) ? tr_lib_binary_string(e, op, x, y, out) : TR_OPEN;
    if (tr_tv_lit_str(x, &a) && tr_tv_lit_str(y, &b)) {
        if (strlen(a) + strlen(b) > MAX_TEXT)
            return tr_answered(tr_em_error(e, "a text of more than %d bytes", MAX_TEXT));
        *out = tr_em_lit(e, tr_obj_str(&e->ctx->arena, tr_arena_printf(&e->ctx->arena, "%s%s", a, b)));
        return TR_DONE;
    }
    return tr_answered(tr_em_text(e, 2, (tr_tv[]){x, y}, out));
}

tr_answer tr_lib_compare_text(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    const char *a, *b;
    if (tr_tv_lit_str(x, &a) && tr_tv_lit_str(y, &b)) {
        *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, tr_lib_holds(op, strcmp(a, b))));
        return TR_DONE;
    }
    return tr_lib_is_text(x) && tr_lib_is_text(y) ? tr_lib_compare_string(e, op, x, y, out) : TR_OPEN;
}

bool tr_lib_contains_text(tr_em *e, tr_tv x, tr_tv item, tr_tv *out) {
    const char *part, *whole;
    if (tr_tv_lit_str(x, &whole) && tr_tv_lit_str(item, &part)) {
        *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, strstr(whole, part) != NULL));
        return true;
    }
    return tr_lib_contains_string(e, x, item, out);
}

/* Of an enum the member of that name; NULL: there is none, or o is something else. */
static const tr_obj *member_of(const tr_obj *o, const char *name) {
    const tr_obj *found = o->kind == TR_OBJ_MODULE ? tr_obj_attr(o, name) : NULL,
                 *m = found && found->member ? found->member : found;
    size_t n = m && m->kind == TR_OBJ_MODULE ? strlen(o->u.m.name) : 0;
    bool is_own = n && strncmp(m->u.m.name, o->u.m.name, n) == 0 && m->u.m.name[n] == '.';
    return is_own && tr_obj_attr(m, "_name_") ? found : NULL;
}

/* Of an axis of an array type: 0 for `:`, 1 for `::1`; -1: it is neither. */
static int axis_step(tr_tv x) {
    int64_t step = 0;
    if (x.ty->kind != TR_TY_SLICE || !tr_tv_is_none((tr_tv){x.ty->items[0], x.v}) ||
        !tr_tv_is_none((tr_tv){x.ty->items[1], x.v}))
        return -1;
    tr_tv s = {x.ty->items[2], x.v};
    return tr_tv_is_none(s) ? 0 : tr_tv_lit_int(s, &step) && step == 1 ? 1 : -1;
}

/* T[:], T[:, ::1]: the type of arrays of a number's type; false: it is none. */
static bool array_type(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    const tr_ty *item = x.ty->lit->kind == TR_OBJ_TYPE ? x.ty->lit->ty : NULL;
    bool many = i.ty->kind == TR_TY_TUPLE;
    uint32_t n = many ? i.ty->n : 1;
    tr_layout layout = TR_LAYOUT_ANY;
    if (!item || !tr_ty_is_scalar(item) || !n || n > TR_MAX_NDIM)
        return false;
    for (uint32_t k = 0; k < n; k++) {
        int step = axis_step(many ? tr_em_item(e, i, k) : i);
        if (step < 0 || (step && (layout != TR_LAYOUT_ANY || (k && k != n - 1))))
            return false;
        if (step)
            layout = k == n - 1 ? TR_LAYOUT_C : TR_LAYOUT_F;
    }
    tr_obj *o = TR_NEW(&e->ctx->arena, tr_obj);
    const tr_ty *t = tr_ty_array(e->types, item, n, layout, false);
    *o = (tr_obj){.kind = TR_OBJ_TYPE, .ty = t, .repr = tr_em_tyname(e, t)};
    *out = tr_em_lit(e, o);
    return true;
}

bool tr_lib_get_lit(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    if (tr_lib_is_text(x))
        return tr_lib_get_string(e, x, i, out);
    const char *name;
    const tr_obj *member = tr_tv_lit_str(i, &name) ? member_of(x.ty->lit, name) : NULL;
    if (member) {
        *out = tr_em_obj(e, member);
        return true;
    }
    const tr_contract *k = x.ty->lit->kind == TR_OBJ_FUNC ? x.ty->lit->u.contract : NULL;
    if (k && k->subscripted)
        return e->call(e, x, &(tr_args){1, &i, 0, NULL}, out);
    return array_type(e, x, i, out) || tr_lib_get_no(e, x, i, out);
}

bool tr_lib_iter_lit(tr_em *e, tr_tv x) {
    return tr_lib_is_text(x) || tr_lib_iter_no(e, x);
}

/* Characters: bytes that do not continue one. */
bool tr_lib_len_lit(tr_em *e, tr_tv x, tr_tv *n) {
    const char *s;
    int64_t k = 0;
    if (x.ty->lit->kind == TR_OBJ_MODULE && x.ty->lit->u.m.members) {
        tr_tv all = tr_em_obj(e, x.ty->lit->u.m.members);
        return tr_lib_kind(all.ty)->len(e, all, n);
    }
    if (!tr_tv_lit_str(x, &s))
        return tr_lib_len_no(e, x, n);
    for (; *s; s++)
        k += ((unsigned char)*s & 0xc0) != 0x80;
    *n = tr_em_lit(e, tr_obj_int(&e->ctx->arena, k));
    return true;
}
