/* What users write for types: "f8(i4, i4)", "void(f4[:])", "float64[:, ::1]", with blanks and newlines anywhere, and
 * what tr_ty_print_user prints. */
#include <ctype.h>
#include <string.h>

#include "base/vec.h"
#include "ty/ty.h"

const tr_tyname tr_ty_names[] = {
#define X(name, kind) {name, TR_TY_##kind},
#include "ty/names.def"
#undef X
};
const unsigned tr_ty_nnames = sizeof tr_ty_names / sizeof *tr_ty_names;

enum { MAX_DEPTH = 32 };

typedef struct reader {
    tr_arena *a;
    tr_tytab *t;
    const char *text, *p;
    const char *msg;
    int depth;
} reader;

typedef TR_VEC(const tr_ty *) types;

static const tr_ty *read_type(reader *r);

static void skip_blank(reader *r) {
    while (isspace((unsigned char)*r->p))
        r->p++;
}

static char peek(reader *r) {
    skip_blank(r);
    return *r->p;
}

static bool accept(reader *r, char c) {
    if (peek(r) != c)
        return false;
    r->p++;
    return true;
}

/* The first message stays. Positions count characters from 1. */
static void *fail(reader *r, const char *at, const char *what) {
    if (!r->msg)
        r->msg = tr_arena_printf(r->a, "%s at position %d of '%s'", what, (int)(at - r->text) + 1, r->text);
    return NULL;
}

static void *expected(reader *r, const char *what) {
    const char *shown = peek(r) ? tr_arena_printf(r->a, "'%c'", *r->p) : "the end";
    return fail(r, r->p, tr_arena_printf(r->a, "expected %s but found %s", what, shown));
}

static size_t word_length(const char *p) {
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_')
        n++;
    return n;
}

static bool accept_word(reader *r, const char *word) {
    skip_blank(r);
    size_t n = word_length(r->p);
    if (n != strlen(word) || memcmp(r->p, word, n) != 0)
        return false;
    r->p += n;
    return true;
}

static const tr_ty *read_name(reader *r) {
    skip_blank(r);
    size_t n = word_length(r->p);
    if (!n)
        return expected(r, "a type");
    for (unsigned i = 0; i < tr_ty_nnames; i++)
        if (strlen(tr_ty_names[i].name) == n && !memcmp(tr_ty_names[i].name, r->p, n)) {
            r->p += n;
            return tr_ty_scalar(r->t, tr_ty_names[i].kind);
        }
    return fail(r, r->p, tr_arena_printf(r->a, "unknown type '%.*s'", (int)n, r->p));
}

/* One axis: ":" or "::1". */
static bool read_axis(reader *r, bool *unit) {
    if (!accept(r, ':'))
        return expected(r, "':' or '::1'") != NULL;
    *unit = accept(r, ':');
    return !*unit || accept(r, '1') || expected(r, "'1' after '::'") != NULL;
}

/* After "[": the axes. C order has "::1" last, Fortran order first. */
static const tr_ty *read_axes(reader *r, const tr_ty *elem) {
    const char *start = r->p - 1;
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
    } while (accept(r, ','));
    if (!accept(r, ']'))
        return expected(r, "',' or ']'");
    if (units > 1 || (units && !unit && !first))
        return fail(r, start, "'::1' may stand at the last axis (C order) or the first (Fortran order)");
    return tr_ty_array(r->t, elem, n, unit ? TR_LAYOUT_C : first ? TR_LAYOUT_F : TR_LAYOUT_ANY, false);
}

/* After "array(": "float64, 2d, C)". */
static const tr_ty *read_array(reader *r, bool readonly) {
    const tr_ty *elem = accept(r, '(') ? read_type(r) : expected(r, "'('");
    if (!elem)
        return NULL;
    if (!tr_ty_is_scalar(elem))
        return fail(r, r->p, "arrays hold numbers");
    if (!accept(r, ','))
        return expected(r, "','");
    skip_blank(r);
    unsigned n = 0;
    const char *start = r->p;
    while (isdigit((unsigned char)*r->p) && n <= TR_MAX_NDIM)
        n = n * 10 + (unsigned)(*r->p++ - '0');
    if (r->p == start || *r->p++ != 'd' || n > TR_MAX_NDIM)
        return fail(r, start, "expected a rank as in '2d'");
    if (!accept(r, ','))
        return expected(r, "','");
    const char *layouts = "CFA", *l = peek(r) ? strchr(layouts, *r->p) : NULL;
    if (!l)
        return expected(r, "a layout: C, F or A");
    r->p++;
    if (!accept(r, ')'))
        return expected(r, "')'");
    return tr_ty_array(r->t, elem, n, (tr_layout)(l - layouts), readonly);
}

/* After "(": types up to ")". */
static bool read_list(reader *r, types *out) {
    while (peek(r) != ')') {
        const tr_ty *ty = read_type(r);
        if (!ty)
            return false;
        tr_vec_push(r->a, out, ty);
        if (!accept(r, ',') && peek(r) != ')')
            return expected(r, "',' or ')'") != NULL;
    }
    r->p++;
    return true;
}

static const tr_ty *read_type(reader *r) {
    const tr_ty *ty = NULL;
    if (r->depth++ > MAX_DEPTH)
        return fail(r, r->p, "too deeply nested");
    skip_blank(r);
    const char *start = r->p;
    if (accept(r, '(')) {
        types items = {0};
        ty = read_list(r, &items) ? tr_ty_tuple(r->t, items.n, items.d) : NULL;
    } else if (accept_word(r, "readonly")) {
        ty = accept_word(r, "array") ? read_array(r, true) : expected(r, "'array'");
    } else if (accept_word(r, "array")) {
        ty = read_array(r, false);
    } else {
        ty = read_name(r);
    }
    if (ty && peek(r) == '[') {
        if (!tr_ty_is_scalar(ty))
            return fail(r, start, "only a number's type can be followed by '[...]'");
        r->p++;
        ty = read_axes(r, ty);
    }
    r->depth--;
    return ty;
}

static bool finish(reader *r, const char **msg) {
    if (!r->msg && peek(r))
        expected(r, "the end");
    *msg = r->msg;
    return !r->msg;
}

bool tr_ty_parse_sig(tr_arena *a, tr_tytab *t, const char *text, tr_sig *out, const char **msg) {
    reader r = {.a = a, .t = t, .text = text, .p = text};
    types args = {0};
    *out = (tr_sig){0};
    bool parens = accept(&r, '(');
    if (!parens) {
        out->ret = read_type(&r);
        parens = out->ret && accept(&r, '(');
    }
    if (parens && !r.msg && read_list(&r, &args)) {
        out->n = args.n;
        out->args = args.d ? args.d : TR_NEW_N(a, const tr_ty *, 1);
    }
    return finish(&r, msg);
}

const tr_ty *tr_ty_parse_user(tr_arena *a, tr_tytab *t, const char *text, const char **msg) {
    reader r = {.a = a, .t = t, .text = text, .p = text};
    const tr_ty *ty = read_type(&r);
    return finish(&r, msg) ? ty : NULL;
}
