/* Types and compile-time objects as text: the IR's (docs/ir.md) and the user's. */
#include <inttypes.h>
#include <string.h>

#include "ty/internal.h"

/* --- the IR's text --- */

static void print_items(tr_sb *b, const tr_ty *t, const char *before, void (*print)(tr_sb *, const tr_ty *)) {
    for (uint32_t i = 0; i < t->n; i++) {
        tr_sb_puts(b, i ? ", " : before);
        print(b, t->items[i]);
    }
}

/* The second class of a name is "Point#2". */
static void print_class(tr_sb *b, const char *before, const char *name, uint32_t serial) {
    tr_sb_printf(b, "%s%s", before, name);
    if (serial)
        tr_sb_printf(b, "#%" PRIu32, serial + 1);
}

static void print_quoted(tr_sb *b, const char *s, size_t n);

static void text_tuple(tr_sb *b, const tr_ty *t) {
    bool bare = !t->name && !tr_ty_is_list(t);
    if (t->name)
        print_class(b, "nt ", t->name, t->serial);
    if (!tr_ty_is_list(t))
        tr_sb_putc(b, '(');
    for (uint32_t i = 0; i < t->n; i++) {
        if (i)
            tr_sb_puts(b, ", ");
        if (tr_ty_is_dict_record(t)) { /* any string is a key */
            print_quoted(b, t->fields[i], strlen(t->fields[i]));
            tr_sb_puts(b, ": ");
        } else if (t->fields) {
            tr_sb_printf(b, "%s: ", t->fields[i]);
        }
        tr_ty_print_ir(b, t->items[i]);
    }
    tr_sb_puts(b, t->n == 1 && bare ? ",)" : ")");
}

static void text_number(tr_sb *b, const tr_ty *t) {
    tr_sb_puts(b, tr_tyk_ir_name((tr_tyk)t->kind));
    tr_sb_puts(b, t->weak ? "~" : "");
}

static void text_array(tr_sb *b, const tr_ty *t) {
    tr_ty_print_ir(b, t->elem);
    tr_sb_putc(b, '[');
    tr_sb_uint(b, t->ndim);
    tr_sb_putc(b, tr_ty_is_packed(t) ? 'p' : (tr_ty_is_loose(t) ? "CFA" : "cfa")[t->layout]);
    tr_sb_puts(b, t->readonly ? ",ro]" : "]");
}

static void text_items(tr_sb *b, const tr_ty *t) {
    print_items(b, t, "", tr_ty_print_ir);
    tr_sb_putc(b, ')');
}

static void text_elem(tr_sb *b, const tr_ty *t) {
    tr_ty_print_ir(b, t->elem);
    tr_sb_putc(b, ')');
}

/* What an optional holds: all the rest follows from it. */
static void text_held(tr_sb *b, const tr_ty *t) {
    tr_ty_print_ir(b, t->items[1]);
    tr_sb_putc(b, ')');
}

/* What stands in quotes as it is. A name of a file is part of many lines. */
static size_t plain_length(const char *s, size_t n) {
    size_t i = 0;
    while (i < n && (unsigned char)s[i] >= 32 && s[i] != 127 && s[i] != '"' && s[i] != '\\')
        i++;
    return i;
}

static void print_quoted(tr_sb *b, const char *s, size_t n) {
    tr_sb_putc(b, '"');
    for (size_t i = 0; i < n; i++) {
        size_t plain = plain_length(s + i, n - i);
        tr_sb_write(b, s + i, plain);
        if ((i += plain) == n)
            break;
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            tr_sb_printf(b, "\\%c", c);
        else if (c == '\n')
            tr_sb_puts(b, "\\n");
        else
            tr_sb_printf(b, "\\x%02x", c);
    }
    tr_sb_putc(b, '"');
}

static void text_lit(tr_sb *b, const tr_ty *t) {
    tr_obj_print_ir(b, t->lit);
    tr_sb_putc(b, ')');
}

static void text_closure(tr_sb *b, const tr_ty *t) {
    tr_sb_printf(b, "%" PRIu32, t->func);
    if (t->opts)
        tr_sb_printf(b, "/%" PRIu32, t->opts);
    print_items(b, t, ", ", tr_ty_print_ir);
    tr_sb_putc(b, ')');
}

static void text_method(tr_sb *b, const tr_ty *t) {
    tr_ty_print_ir(b, t->items[0]);
    tr_sb_printf(b, ", %s)", t->name);
}

static void text_exc(tr_sb *b, const tr_ty *t) {
    tr_obj_print_ir(b, t->lit);
    print_items(b, t, ", ", tr_ty_print_ir);
    tr_sb_putc(b, ')');
}

/* Bytes, flags, then of each field its name, where it lies, its type, and the axes of its sub-array. */
static void text_struct(tr_sb *b, const tr_ty *t) {
    tr_sb_uint(b, tr_ty_size(t));
    if (t->sub == TR_STRUCT_OPAQUE) {
        tr_sb_puts(b, ", ");
        print_quoted(b, t->name, strlen(t->name));
    } else {
        tr_sb_printf(b, ", %u", tr_ty_struct_flags(t));
    }
    for (uint32_t i = 0; i < t->n; i++) {
        tr_field f = tr_ty_field(t, i);
        tr_sb_puts(b, ", ");
        print_quoted(b, f.name, strlen(f.name));
        tr_sb_printf(b, ", %" PRIu32 ", ", f.offset);
        tr_ty_print_ir(b, f.ty);
        tr_sb_printf(b, ", %" PRIu32, f.ndim);
        for (uint32_t k = 0; k < f.ndim; k++)
            tr_sb_printf(b, ", %" PRIu32, f.shape[k]);
    }
    tr_sb_putc(b, ')');
}

/* "MD", "mns", "M": as NumPy's letters, without the brackets. */
static void print_letters(tr_sb *b, const tr_ty *t) {
    tr_sb_putc(b, tr_ty_is_delta(t) ? 'm' : 'M');
    tr_sb_puts(b, tr_unit_name(tr_ty_date_unit(t)));
}

static void text_date(tr_sb *b, const tr_ty *t) {
    print_letters(b, t);
    tr_sb_putc(b, ')');
}

static void text_dates(tr_sb *b, const tr_ty *t) {
    print_letters(b, t);
    tr_sb_puts(b, ", ");
    tr_ty_print_ir(b, t->items[0]);
    tr_sb_putc(b, ')');
}

typedef void (*text_fn)(tr_sb *b, const tr_ty *t);
#define text_word NULL /* the word is all */

void tr_ty_print_ir(tr_sb *b, const tr_ty *t) {
    static const text_fn texts[] = {
#define KIND(ID, word, user, items, ty, ...) ty,
#define TY(parts, owned, text, ...)          text_##text
#include "ty/kinds.def"
    };
    text_fn print = texts[tr_ty_row(t)];
    const char *word = tr_ty_word(t);
    tr_sb_puts(b, word ? word : "");
    tr_sb_puts(b, word && print ? "(" : "");
    if (print)
        print(b, t);
}

static bool is_word(const char *s, size_t n) {
    if (!n || strchr("0123456789.", *s))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!s[i] || !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.", s[i]))
            return false;
    return true;
}

/* What stands after "@": for a function or module its name, which messages show in quotes after the kind. */
static const char *name_of(const tr_obj *o, size_t *n) {
    const char *first = strchr(o->repr, '\''), *last = strrchr(o->repr, '\'');
    bool quoted =
        (o->kind == TR_OBJ_FUNC || o->kind == TR_OBJ_CODE || o->kind == TR_OBJ_MODULE) && last > first;
    *n = quoted ? (size_t)(last - first - 1) : strlen(o->repr);
    return quoted ? first + 1 : o->repr;
}

static void print_complex(tr_sb *b, const double *c, bool narrow) {
    tr_sb_puts(b, "complex(");
    for (int i = 0; i < 2; i++) {
        if (i)
            tr_sb_puts(b, ", ");
        if (narrow)
            tr_sb_f32(b, (float)c[i]);
        else
            tr_sb_f64(b, c[i]);
    }
    tr_sb_putc(b, ')');
}

static void print_scalar(tr_sb *b, const tr_obj *o) {
    switch (tr_ty_class(o->ty)) {
    case 'b': tr_sb_puts(b, o->u.i ? "True" : "False"); break;
    case 'i': tr_sb_int(b, o->u.i); break;
    case 'u': tr_sb_uint(b, o->u.u); break;
    case 'f':
        if (o->ty->kind == TR_TY_F16)
            tr_sb_f16(b, (_Float16)o->u.f);
        else if (o->ty->kind == TR_TY_F32)
            tr_sb_f32(b, (float)o->u.f);
        else
            tr_sb_f64(b, o->u.f);
        break;
    default: print_complex(b, o->u.c, o->ty->kind == TR_TY_C64);
    }
    tr_sb_putc(b, ':');
    tr_sb_puts(b, tr_tyk_ir_name((tr_tyk)o->ty->kind));
}

static void print_tuple_obj(tr_sb *b, const tr_obj *o) {
    if (o->u.t.name)
        print_class(b, "nt ", o->u.t.name, o->u.t.serial);
    tr_sb_putc(b, '(');
    for (uint32_t i = 0; i < o->u.t.n; i++) {
        if (i)
            tr_sb_puts(b, ", ");
        if (o->u.t.fields)
            tr_sb_printf(b, "%s: ", o->u.t.fields[i]);
        tr_obj_print_ir(b, o->u.t.items[i]);
    }
    tr_sb_puts(b, o->u.t.n == 1 && !o->u.t.name ? ",)" : ")");
}

static void print_array_obj(tr_sb *b, const tr_obj *o) {
    tr_sb_printf(b, "array(%" PRIu32 ", ", o->u.a.index);
    tr_ty_print_ir(b, o->ty);
    for (unsigned i = 0; i < o->ty->ndim; i++)
        tr_sb_printf(b, ", %" PRIi64 ":%" PRIi64, o->u.a.shape[i], o->u.a.strides[i]);
    tr_sb_putc(b, ')');
}

void tr_obj_print_ir(tr_sb *b, const tr_obj *o) {
    switch ((tr_objk)o->kind) {
    case TR_OBJ_NONE: tr_sb_puts(b, "None"); return;
    case TR_OBJ_BOOL: tr_sb_puts(b, o->u.i ? "True" : "False"); return;
    case TR_OBJ_INT: tr_bigint_print(b, &o->u.n); return;
    case TR_OBJ_FLOAT: tr_sb_f64(b, o->u.f); return;
    case TR_OBJ_COMPLEX: print_complex(b, o->u.c, false); return;
    case TR_OBJ_SCALAR: print_scalar(b, o); return;
    case TR_OBJ_STR: print_quoted(b, o->u.s.d, o->u.s.n); return;
    case TR_OBJ_ELLIPSIS: tr_sb_puts(b, "..."); return;
    case TR_OBJ_SLICE:
    case TR_OBJ_LIST:
    case TR_OBJ_DICT:
    case TR_OBJ_PARTIAL:
        tr_sb_puts(b, o->kind == TR_OBJ_SLICE  ? "slice("
                      : o->kind == TR_OBJ_LIST ? "list("
                      : o->kind == TR_OBJ_DICT ? "dict("
                                               : "partial(");
        for (uint32_t i = 0; i < o->u.t.n; i++) {
            tr_sb_puts(b, i ? ", " : "");
            tr_obj_print_ir(b, o->u.t.items[i]);
        }
        tr_sb_putc(b, ')');
        return;
    case TR_OBJ_TUPLE: print_tuple_obj(b, o); return;
    case TR_OBJ_TYPE:
        tr_sb_puts(b, "type(");
        tr_ty_print_ir(b, o->ty);
        tr_sb_putc(b, ')');
        return;
    case TR_OBJ_ARRAY: print_array_obj(b, o); return;
    default: break;
    }
    size_t n;
    const char *name = name_of(o, &n);
    tr_sb_putc(b, '@');
    if (is_word(name, n))
        tr_sb_write(b, name, n);
    else
        print_quoted(b, name, n);
}

/* --- the user's text --- */

enum { MAX_USER_TEXT = 300, MIN_RUN = 4 };

static void print_user(tr_sb *b, const tr_ty *t);

/* Many equal items in a row are counted: "int64 x 2000". */
static void print_user_items(tr_sb *b, const tr_ty *t) {
    uint32_t run;
    for (uint32_t i = 0; i < t->n; i += run) {
        for (run = 1; i + run < t->n && t->items[i + run] == t->items[i];)
            run++;
        run = run < MIN_RUN ? 1 : run;
        tr_sb_puts(b, i ? ", " : "");
        print_user(b, t->items[i]);
        if (run > 1)
            tr_sb_printf(b, " x %" PRIu32, run);
    }
}

static void user_number(tr_sb *b, const tr_ty *t) {
    tr_sb_puts(b, tr_tyk_user_name((tr_tyk)t->kind));
}

static void user_tuple(tr_sb *b, const tr_ty *t) {
    bool bare = !t->name && !tr_ty_is_list(t);
    if (t->name)
        print_class(b, "", t->name, tr_ty_is_dict_record(t) ? 0 : t->serial);
    tr_sb_printf(b, "%s(", tr_ty_words(t)->user);
    print_user_items(b, t);
    tr_sb_puts(b, t->n == 1 && bare ? ",)" : ")");
}

/* `item` is what its items are. */
static void print_user_array(tr_sb *b, const tr_ty *t, const tr_ty *item) {
    tr_sb_puts(b, tr_ty_is_loose(t) ? "unaligned " : "");
    tr_sb_puts(b, t->readonly ? "readonly array(" : "array(");
    if (tr_ty_is_date(item))
        tr_ty_print_date(b, item);
    else
        print_user(b, item);
    tr_sb_printf(b, ", %ud, %c)", t->ndim, "CFA"[t->layout]);
}

static void user_array(tr_sb *b, const tr_ty *t) {
    print_user_array(b, t, t->elem);
}

static void user_date(tr_sb *b, const tr_ty *t) {
    tr_ty_print_date(b, t);
}

static void user_dates(tr_sb *b, const tr_ty *t) {
    print_user_array(b, t->items[0], t);
}

static void user_chars(tr_sb *b, const tr_ty *t) {
    const tr_ty *a = t->items[0];
    tr_sb_printf(b, "%sarray(%s, %ud, %c)", a->readonly ? "readonly " : "", t->sub ? "str" : "bytes",
                 a->ndim - 1u, "CFA"[a->layout]);
}

static void user_struct(tr_sb *b, const tr_ty *t) {
    if (t->sub == TR_STRUCT_OPAQUE) {
        tr_sb_puts(b, t->name);
        return;
    }
    tr_sb_printf(b, "%s(", tr_ty_words(t)->user);
    for (uint32_t i = 0; i < t->n; i++) {
        tr_field f = tr_ty_field(t, i);
        tr_sb_printf(b, "%s%s: ", i ? ", " : "", f.name);
        print_user(b, f.ty);
        for (uint32_t k = 0; k < f.ndim; k++)
            tr_sb_printf(b, "%s%" PRIu32 "%s", k ? ", " : "[", f.shape[k], k + 1 == f.ndim ? "]" : "");
    }
    tr_sb_putc(b, ')');
}

static void user_first(tr_sb *b, const tr_ty *t) {
    print_user(b, t->items[0]);
}

static void user_record(tr_sb *b, const tr_ty *t) {
    tr_sb_puts(b, t->items[0]->readonly ? "readonly " : "");
    print_user(b, t->items[0]->elem);
}

static void user_word(tr_sb *b, const tr_ty *t) {
    tr_sb_puts(b, tr_ty_words(t)->user);
}

static void user_items(tr_sb *b, const tr_ty *t) {
    tr_sb_printf(b, "%s(", tr_ty_words(t)->user);
    print_user_items(b, t);
    tr_sb_putc(b, ')');
}

/* "list()" and "set()" are of nothing: what their items would be is a guess. */
static void user_list(tr_sb *b, const tr_ty *t) {
    if (t->sub == TR_LIST_NOTHING)
        tr_sb_printf(b, "%s()", tr_ty_words(t)->user);
    else
        user_items(b, t);
}

/* Of a dict the keys' type and the values'. */
static void user_dict(tr_sb *b, const tr_ty *t) {
    if (t->items[0]->sub == TR_LIST_NOTHING) {
        tr_sb_puts(b, "dict()");
        return;
    }
    tr_sb_puts(b, "dict(");
    print_user_items(b, t->items[0]);
    tr_sb_puts(b, ", ");
    print_user_items(b, t->items[1]);
    tr_sb_putc(b, ')');
}

static void user_elem(tr_sb *b, const tr_ty *t) {
    tr_sb_printf(b, "%s(", tr_ty_words(t)->user);
    print_user(b, t->elem);
    tr_sb_putc(b, ')');
}

static void user_held(tr_sb *b, const tr_ty *t) {
    tr_sb_printf(b, "%s(", tr_ty_words(t)->user);
    print_user(b, t->items[1]);
    tr_sb_putc(b, ')');
}

/* All but the first. */
static void user_others(tr_sb *b, const tr_ty *t) {
    tr_sb_printf(b, "%s (", tr_ty_words(t)->user);
    for (uint32_t i = 1; i < t->n; i++) {
        tr_sb_puts(b, i > 1 ? ", " : "");
        print_user(b, t->items[i]);
    }
    tr_sb_putc(b, ')');
}

static void user_lit(tr_sb *b, const tr_ty *t) {
    tr_sb_puts(b, t->lit->repr);
}

static void user_method(tr_sb *b, const tr_ty *t) {
    tr_sb_printf(b, "method %s of ", t->name);
    print_user(b, t->items[0]);
}

static void user_exc(tr_sb *b, const tr_ty *t) {
    if (t->lit->kind == TR_OBJ_NONE) {
        tr_sb_puts(b, "a caught exception");
        return;
    }
    tr_sb_printf(b, "%s(", t->lit->repr);
    print_user_items(b, t);
    tr_sb_putc(b, ')');
}

static void print_user(tr_sb *b, const tr_ty *t) {
    static const text_fn texts[] = {
#define KIND(ID, word, user, items, ty, ...)    ty,
#define TY(parts, owned, text, read, user, ...) user_##user
#include "ty/kinds.def"
    };
    texts[tr_ty_row(t)](b, t);
}

/* Long ones are left out in the middle: this is for reading. */
void tr_ty_print_user(tr_sb *b, const tr_ty *t) {
    size_t from = b->n;
    print_user(b, t);
    tr_sb_cut_middle(b, from, MAX_USER_TEXT);
}

const char *tr_ty_user(tr_arena *a, const tr_ty *t) {
    tr_sb b;
    tr_sb_init(&b);
    tr_ty_print_user(&b, t);
    const char *s = tr_arena_strndup(a, b.d, b.n);
    tr_sb_fini(&b);
    return s;
}
