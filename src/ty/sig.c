/* What users write for types: "f8(i4, i4)", "void(f4[:])", "float64[:, ::1]", with blanks and newlines
 * anywhere, and what tr_ty_print_user prints. Arguments alone may stand without parentheses: "f8, i4[:]". */
#include <string.h>

#include "base/reader.h"
#include "base/vec.h"
#include "ty/ty.h"

const tr_tyname tr_ty_names[] = {
#define X(name, kind) {name, TR_TY_##kind},
#include "ty/names.def"
#undef X
};
const unsigned tr_ty_nnames = sizeof tr_ty_names / sizeof *tr_ty_names;

const tr_ty *tr_ty_parse_dtype(tr_tytab *t, const char *text) {
    static const tr_tyname dtypes[] = {
#define X(name, kind) {name, TR_TY_##kind},
#include "ty/dtypes.def"
#undef X
    };
    bool coded = *text == '<' || *text == '=' || *text == '|', swapped = *text == '>';
    text += coded || swapped;
    size_t n = strlen(text);
    if ((coded || swapped) && n != 1 && (n > 3 || text[n - 1] < '0' || text[n - 1] > '9'))
        return NULL; /* the mark stands before codes, not before names */
    for (unsigned i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (!strcmp(dtypes[i].name, text)) {
            const tr_ty *ty = tr_ty_scalar(t, dtypes[i].kind);
            return swapped && tr_ty_size(ty) > 1 ? NULL : ty;
        }
    return NULL;
}

enum { MAX_DEPTH = 32 };

typedef struct reader {
    tr_reader in;
    tr_tytab *t;
    const char *msg; /* NULL: no error yet */
} reader;

typedef TR_VEC(const tr_ty *) types;

static const tr_ty *read_type(reader *r);

static reader open_text(tr_arena *a, tr_tytab *t, const char *text) {
    return (reader){.in = {.a = a, .text = text, .p = text, .blanks = " \t\n\v\f\r"}, .t = t};
}

/* The first message stays. Positions count characters from 1. */
static void *fail(reader *r, const char *at, const char *what) {
    if (!r->msg)
        r->msg = tr_arena_printf(r->in.a, "%s at position %d of '%s'", what, (int)(at - r->in.text) + 1,
                                 r->in.text);
    return NULL;
}

static void *expected(reader *r, const char *what) {
    const char *shown = tr_rd_peek(&r->in) ? tr_arena_printf(r->in.a, "'%c'", *r->in.p) : "the end";
    return fail(r, r->in.p, tr_arena_printf(r->in.a, "expected %s but found %s", what, shown));
}

static const tr_ty *read_name(reader *r) {
    tr_rd_skip(&r->in);
    size_t n = tr_rd_word_length(r->in.p);
    if (!n)
        return expected(r, "a type");
    for (unsigned i = 0; i < tr_ty_nnames; i++)
        if (strlen(tr_ty_names[i].name) == n && !memcmp(tr_ty_names[i].name, r->in.p, n)) {
            r->in.p += n;
            return tr_ty_named(r->t, tr_ty_names[i].kind);
        }
    return fail(r, r->in.p, tr_arena_printf(r->in.a, "unknown type '%.*s'", (int)n, r->in.p));
}

/* One axis: ":" or "::1". */
static bool read_axis(reader *r, bool *unit) {
    if (!tr_rd_accept(&r->in, ':'))
        return expected(r, "':' or '::1'") != NULL;
    *unit = tr_rd_accept(&r->in, ':');
    return !*unit || tr_rd_accept(&r->in, '1') || expected(r, "'1' after '::'") != NULL;
}

/* After "[": the axes. C order has "::1" last, Fortran order first. */
static const tr_ty *read_axes(reader *r, const tr_ty *elem) {
    const char *start = r->in.p - 1;
    unsigned n = 0, units = 0;
    bool unit = false, first = false;
    do {
        if (n == TR_MAX_NDIM)
            return fail(r, start, "more than 32 dimensions");
        if (!read_axis(r, &unit))
            return NULL;
        first = n ? first : unit;
        units += unit;
        n++;
    } while (tr_rd_accept(&r->in, ','));
    if (!tr_rd_accept(&r->in, ']'))
        return expected(r, "',' or ']'");
    if (units > 1 || (units && !unit && !first))
        return fail(r, start, "'::1' may stand at the last axis (C order) or the first (Fortran order)");
    return tr_ty_array(r->t, elem, n, unit ? TR_LAYOUT_C : first ? TR_LAYOUT_F : TR_LAYOUT_ANY, false);
}

/* After "array(": "float64, 2d, C)". */
static const tr_ty *read_array(reader *r, bool readonly) {
    const tr_ty *elem = tr_rd_accept(&r->in, '(') ? read_type(r) : expected(r, "'('");
    if (!elem)
        return NULL;
    if (!tr_ty_is_scalar(elem))
        return fail(r, r->in.p, "arrays hold numbers");
    if (!tr_rd_accept(&r->in, ','))
        return expected(r, "','");
    tr_rd_skip(&r->in);
    const char *at = r->in.p;
    int64_t n;
    if (!tr_rd_int(&r->in, 0, TR_MAX_NDIM, &n) || *r->in.p != 'd')
        return fail(r, at, "expected a rank as in '2d'");
    r->in.p++;
    if (!tr_rd_accept(&r->in, ','))
        return expected(r, "','");
    const char *layouts = "CFA", *l = tr_rd_peek(&r->in) ? strchr(layouts, *r->in.p) : NULL;
    if (!l)
        return expected(r, "a layout: C, F or A");
    r->in.p++;
    if (!tr_rd_accept(&r->in, ')'))
        return expected(r, "')'");
    return tr_ty_array(r->t, elem, (unsigned)n, (tr_layout)(l - layouts), readonly);
}

/* After "(": types up to ")". */
static bool read_list(reader *r, types *out) {
    while (tr_rd_peek(&r->in) != ')') {
        const tr_ty *ty = read_type(r);
        if (!ty)
            return false;
        tr_vec_push(r->in.a, out, ty);
        if (!tr_rd_accept(&r->in, ',') && tr_rd_peek(&r->in) != ')')
            return expected(r, "',' or ')'") != NULL;
    }
    r->in.p++;
    return true;
}

/* After "Tuple": "((f8, i4))". */
static const tr_ty *read_tuple(reader *r) {
    types items = {0};
    if (!tr_rd_accept(&r->in, '(') || !tr_rd_accept(&r->in, '('))
        return expected(r, "'((' as in Tuple((f8, i4))");
    if (!read_list(r, &items))
        return NULL;
    return tr_rd_accept(&r->in, ')') ? tr_ty_tuple(r->t, items.n, items.d) : expected(r, "')'");
}

/* After "UniTuple": "(f8, 3)". */
static const tr_ty *read_unituple(reader *r) {
    const tr_ty *ty = tr_rd_accept(&r->in, '(') ? read_type(r) : expected(r, "'('");
    int64_t n;
    if (!ty)
        return NULL;
    if (!tr_rd_accept(&r->in, ','))
        return expected(r, "','");
    tr_rd_skip(&r->in);
    const char *at = r->in.p;
    if (!tr_rd_int(&r->in, 0, INT64_MAX, &n))
        return expected(r, "a number of items");
    if (n > TR_MAX_ITEMS)
        return fail(r, at, tr_arena_printf(r->in.a, "a tuple of more than %d items", TR_MAX_ITEMS));
    const tr_ty **items = TR_NEW_N(r->in.a, const tr_ty *, (size_t)n + 1);
    for (int64_t i = 0; i < n; i++)
        items[i] = ty;
    return tr_rd_accept(&r->in, ')') ? tr_ty_tuple(r->t, (uint32_t)n, items) : expected(r, "')'");
}

/* After a word for lists: "(int64)", or "[int64]" as typed lists have it, or "()". */
static const tr_ty *read_list_type(reader *r) {
    bool square = tr_rd_accept(&r->in, '[');
    if (!square && !tr_rd_accept(&r->in, '('))
        return expected(r, "'('");
    if (!square && tr_rd_accept(&r->in, ')'))
        return tr_ty_list_of(r->t, NULL);
    const tr_ty *item = read_type(r);
    if (item && !tr_ty_may_be_item(item))
        return fail(r, r->in.p, "this is no type of a list's items");
    if (item && !tr_rd_accept(&r->in, square ? ']' : ')'))
        return expected(r, square ? "']'" : "')'");
    return item ? tr_ty_list_of(r->t, item) : NULL;
}

/* A type of keys; NULL: it is none. */
static const tr_ty *read_key(reader *r) {
    const tr_ty *item = read_type(r), *key = item ? tr_ty_as_key(r->t, item) : NULL;
    return key || !item ? key : fail(r, r->in.p, "this is no type of keys");
}

/* After a word for sets: "(int64)", "[int64]" or "()". */
static const tr_ty *read_set_type(reader *r) {
    bool square = tr_rd_accept(&r->in, '[');
    if (!square && !tr_rd_accept(&r->in, '('))
        return expected(r, "'('");
    bool none = !square && tr_rd_accept(&r->in, ')');
    const tr_ty *key = none ? NULL : read_key(r);
    if (!none && key && !tr_rd_accept(&r->in, square ? ']' : ')'))
        return expected(r, square ? "']'" : "')'");
    return none || key ? tr_ty_set_like(r->t, tr_ty_list_of(r->t, key)) : NULL;
}

/* After a word for dicts: "(int64, float64)", "[int64, float64]" or "()". */
static const tr_ty *read_dict_type(reader *r) {
    bool square = tr_rd_accept(&r->in, '[');
    if (!square && !tr_rd_accept(&r->in, '('))
        return expected(r, "'('");
    bool none = !square && tr_rd_accept(&r->in, ')');
    const tr_ty *key = none ? NULL : read_key(r), *value = NULL;
    if (!none && !key)
        return NULL;
    if (!none && !tr_rd_accept(&r->in, ','))
        return expected(r, "','");
    if (!none && !(value = read_type(r)))
        return NULL;
    if (value && !tr_ty_may_be_item(value))
        return fail(r, r->in.p, "this is no type of a dict's values");
    if (!none && !tr_rd_accept(&r->in, square ? ']' : ')'))
        return expected(r, square ? "']'" : "')'");
    const tr_ty *keys = tr_ty_set_like(r->t, tr_ty_list_of(r->t, key));
    return tr_ty_dict_of(r->t, keys, tr_ty_list_of(r->t, value));
}

/* After "optional": "(int64)": None or that. */
static const tr_ty *read_optional_type(reader *r) {
    if (!tr_rd_accept(&r->in, '('))
        return expected(r, "'('");
    const tr_ty *of = read_type(r), *ty = of ? tr_ty_optional(r->t, of) : NULL;
    if (of && !ty)
        return fail(r, r->in.p, "None beside that has no type");
    return !of || tr_rd_accept(&r->in, ')') ? ty : expected(r, "')'");
}

/* Numba's words for containers, and what tr_ty_print_user prints. */
static const tr_ty *(*read_container_word(reader *r))(reader *) {
    static const struct {
        const char *word;
        const tr_ty *(*rest)(reader *);
    } rows[] = {{"List", read_list_type},         {"ListType", read_list_type},
                {"list", read_list_type},         {"reflected_list", read_list_type},
                {"Set", read_set_type},           {"SetType", read_set_type},
                {"set", read_set_type},           {"reflected_set", read_set_type},
                {"DictType", read_dict_type},     {"dict", read_dict_type},
                {"optional", read_optional_type}, {"Optional", read_optional_type}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (tr_rd_accept_word(&r->in, rows[i].word))
            return rows[i].rest;
    return NULL;
}

static const tr_ty *read_type(reader *r) {
    const tr_ty *ty = NULL;
    if (r->in.depth++ > MAX_DEPTH)
        return fail(r, r->in.p, "too deeply nested");
    tr_rd_skip(&r->in);
    const char *start = r->in.p;
    const tr_ty *(*rest)(reader *) = read_container_word(r);
    if (rest) {
        ty = rest(r);
    } else if (tr_rd_accept(&r->in, '(')) {
        types items = {0};
        ty = read_list(r, &items) ? tr_ty_tuple(r->t, items.n, items.d) : NULL;
    } else if (tr_rd_accept_word(&r->in, "readonly")) {
        ty = tr_rd_accept_word(&r->in, "array") ? read_array(r, true) : expected(r, "'array'");
    } else if (tr_rd_accept_word(&r->in, "array")) {
        ty = read_array(r, false);
    } else if (tr_rd_accept_word(&r->in, "Tuple")) {
        ty = read_tuple(r);
    } else if (tr_rd_accept_word(&r->in, "UniTuple")) {
        ty = read_unituple(r);
    } else {
        ty = read_name(r);
    }
    if (ty && tr_rd_peek(&r->in) == '[') {
        if (!tr_ty_is_scalar(ty))
            return fail(r, start, "only a number's type can be followed by '[...]'");
        r->in.p++;
        ty = read_axes(r, ty);
    }
    r->in.depth--;
    return ty;
}

static bool finish(reader *r, const char **msg) {
    if (!r->msg && tr_rd_peek(&r->in))
        expected(r, "the end");
    *msg = r->msg;
    return !r->msg;
}

bool tr_ty_parse_sig(tr_arena *a, tr_tytab *t, const char *text, tr_sig *out, const char **msg) {
    reader r = open_text(a, t, text);
    types args = {0};
    *out = (tr_sig){0};
    bool parens = tr_rd_accept(&r.in, '(');
    if (!parens) {
        out->ret = read_type(&r);
        parens = out->ret && tr_rd_accept(&r.in, '(');
    }
    bool bare = !parens && out->ret && tr_rd_peek(&r.in) == ','; /* "f8, i4": arguments alone */
    if (bare) {
        tr_vec_push(a, &args, out->ret);
        out->ret = NULL;
    }
    while (bare && tr_rd_accept(&r.in, ',') && tr_rd_peek(&r.in)) {
        const tr_ty *ty = read_type(&r);
        if (!ty)
            break;
        tr_vec_push(a, &args, ty);
    }
    if (bare || (parens && !r.msg && read_list(&r, &args))) {
        out->n = args.n;
        out->args = args.d ? args.d : TR_NEW_N(a, const tr_ty *, 1);
    }
    return finish(&r, msg);
}

const tr_ty *tr_ty_parse_user(tr_arena *a, tr_tytab *t, const char *text, const char **msg) {
    reader r = open_text(a, t, text);
    const tr_ty *ty = read_type(&r);
    return finish(&r, msg) ? ty : NULL;
}
