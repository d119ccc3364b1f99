/* Reads the IR's text for types and compile-time objects (docs/ir.md). */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "ty/internal.h"
#include "ty/ty.h"

enum { MAX_DEPTH = 64, MAX_DIGITS = 5000 };

typedef struct reader {
    tr_tytab *t;
    tr_arena *a;
    const char *p;
    int depth;
} reader;

typedef TR_VEC(const tr_ty *) types;
typedef TR_VEC(const tr_obj *) objs;
typedef TR_VEC(const char *) texts;

static const tr_ty *read_type(reader *r);
static const tr_obj *read_obj(reader *r);

static void skip_blank(reader *r) {
    while (*r->p == ' ' || *r->p == '\t')
        r->p++;
}

static bool accept(reader *r, char c) {
    skip_blank(r);
    if (*r->p != c)
        return false;
    r->p++;
    return true;
}

static bool is_word_char(char c) {
    return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

static size_t word_length(const char *p) {
    size_t n = 0;
    while (is_word_char(p[n]))
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

static const char *read_word(reader *r) {
    skip_blank(r);
    size_t n = word_length(r->p);
    const char *s = n ? tr_arena_strndup(r->a, r->p, n) : NULL;
    r->p += n;
    return s;
}

static bool read_u32(reader *r, uint32_t *out) {
    skip_blank(r);
    uint64_t v = 0;
    const char *start = r->p;
    while (isdigit((unsigned char)*r->p) && v <= UINT32_MAX)
        v = v * 10 + (uint64_t)(*r->p++ - '0');
    *out = (uint32_t)v;
    return r->p > start && v <= UINT32_MAX;
}

static bool read_i64(reader *r, int64_t *out) {
    skip_blank(r);
    char *end;
    errno = 0;
    *out = strtoll(r->p, &end, 10);
    bool ok = end > r->p && !errno;
    r->p = end;
    return ok;
}

/* --- types --- */

/* Items up to ")", which is taken. With `names`, each may have "name:" before it. */
static bool read_items(reader *r, types *out, texts *names) {
    while (!accept(r, ')')) {
        if (out->n && !accept(r, ','))
            return false;
        if (accept(r, ')'))
            return true;
        if (names) {
            const char *name = read_word(r);
            if (!name || !accept(r, ':'))
                return false;
            tr_vec_push(r->a, names, name);
        }
        const tr_ty *ty = read_type(r);
        if (!ty)
            return false;
        tr_vec_push(r->a, out, ty);
    }
    return true;
}

static const tr_ty *read_named(reader *r) {
    types items = {0};
    texts names = {0};
    const char *name = read_word(r);
    if (!name || !accept(r, '(') || !read_items(r, &items, &names))
        return NULL;
    return tr_ty_named_tuple(r->t, name, items.n, items.d, names.d);
}

static bool valid_slice_item(const tr_ty *t) {
    return t->kind == TR_TY_NONE || t->kind == TR_TY_I64 || t->kind == TR_TY_LIT;
}

static const tr_ty *read_closure(reader *r) {
    types items = {0};
    uint32_t func;
    if (!read_u32(r, &func))
        return NULL;
    if (!accept(r, ',') ? !accept(r, ')') : !read_items(r, &items, NULL))
        return NULL;
    return tr_ty_closure(r->t, func, items.n, items.d);
}

static const tr_ty *read_method(reader *r) {
    const tr_ty *self = read_type(r);
    const char *name = self && accept(r, ',') ? read_word(r) : NULL;
    return name && accept(r, ')') ? tr_ty_method(r->t, self, name) : NULL;
}

static const tr_ty *read_exc(reader *r) {
    types items = {0};
    const tr_obj *cls = read_obj(r);
    if (!cls || (!accept(r, ',') ? !accept(r, ')') : !read_items(r, &items, NULL)))
        return NULL;
    return tr_ty_exc(r->t, cls, items.n, items.d);
}

static const tr_ty *read_range(reader *r, bool step1) {
    const tr_ty *elem = read_type(r);
    return elem && tr_ty_is_int(elem) && accept(r, ')') ? tr_ty_range(r->t, elem, step1) : NULL;
}

/* word "(" ...: the types that look like calls. */
static const tr_ty *read_call(reader *r, const char *word) {
    static const char *const iters[] = {"enumerate", "zip", "reversed", "flat"}; /* ORDER ITERK */
    types items = {0};
    if (!strcmp(word, "range") || !strcmp(word, "range1"))
        return read_range(r, word[5] != 0);
    if (!strcmp(word, "closure"))
        return read_closure(r);
    if (!strcmp(word, "method"))
        return read_method(r);
    if (!strcmp(word, "exc"))
        return read_exc(r);
    if (!strcmp(word, "lit")) {
        const tr_obj *o = read_obj(r);
        return o && accept(r, ')') ? tr_ty_lit(r->t, o) : NULL;
    }
    if (!read_items(r, &items, NULL))
        return NULL;
    if (!strcmp(word, "list"))
        return tr_ty_list(r->t, items.n, items.d);
    if (!strcmp(word, "text"))
        return tr_ty_text(r->t, items.n, items.d);
    if (!strcmp(word, "slice"))
        return items.n == 3 && valid_slice_item(items.d[0]) && valid_slice_item(items.d[1]) &&
                       valid_slice_item(items.d[2])
                   ? tr_ty_slice(r->t, items.d[0], items.d[1], items.d[2])
                   : NULL;
    for (unsigned i = 0; i < 4; i++)
        if (!strcmp(word, iters[i]))
            return (i == TR_ITER_ENUMERATE ? items.n == 2 : i == TR_ITER_ZIP || items.n == 1)
                       ? tr_ty_iter(r->t, (tr_iterk)i, items.n, items.d)
                       : NULL;
    return NULL;
}

static const tr_ty *read_scalar(reader *r, const char *word) {
    for (unsigned k = 0; k < TR_TY__SCALARS; k++) {
        if (strcmp(word, tr_tyk_ir_name((tr_tyk)k)) != 0)
            continue;
        if (*r->p == '~' && (k == TR_TY_I64 || k == TR_TY_F64 || k == TR_TY_C128)) {
            r->p++;
            return tr_ty_weak(r->t, (tr_tyk)k);
        }
        return tr_ty_scalar(r->t, (tr_tyk)k);
    }
    return NULL;
}

/* "[2c,ro]" after a scalar. */
static const tr_ty *read_array(reader *r, const tr_ty *elem) {
    uint32_t n;
    if (!read_u32(r, &n) || n > TR_MAX_NDIM)
        return NULL;
    const char *layouts = "cfa", *l = *r->p ? strchr(layouts, *r->p) : NULL;
    if (!l)
        return NULL;
    r->p++;
    bool ro = accept(r, ',');
    if ((ro && !accept_word(r, "ro")) || !accept(r, ']'))
        return NULL;
    return tr_ty_array(r->t, elem, n, (tr_layout)(l - layouts), ro);
}

static const tr_ty *read_type(reader *r) {
    const tr_ty *ty = NULL;
    if (r->depth >= MAX_DEPTH)
        return NULL;
    r->depth++;
    if (accept(r, '(')) {
        types items = {0};
        ty = read_items(r, &items, NULL) ? tr_ty_tuple(r->t, items.n, items.d) : NULL;
    } else {
        const char *word = read_word(r);
        if (!word)
            return NULL;
        if (!strcmp(word, "nt"))
            ty = read_named(r);
        else if (!strcmp(word, "none"))
            ty = tr_ty_none(r->t);
        else if (*r->p == '(')
            ty = (r->p++, read_call(r, word));
        else
            ty = read_scalar(r, word);
        if (ty && tr_ty_is_scalar(ty) && *r->p == '[')
            ty = ty->weak ? NULL : (r->p++, read_array(r, ty));
    }
    r->depth--;
    return ty;
}

const tr_ty *tr_ty_parse_ir(tr_tytab *t, const char **s) {
    reader r = {.t = t, .a = tr_tytab_arena(t), .p = *s};
    const tr_ty *ty = read_type(&r);
    *s = r.p;
    return ty;
}

/* --- objects --- */

static tr_obj *make(reader *r, tr_objk kind, const char *from) {
    tr_obj *o = TR_NEW(r->a, tr_obj);
    o->kind = (uint8_t)kind;
    o->repr = tr_arena_strndup(r->a, from, (size_t)(r->p - from));
    return o;
}

static int hex(char c) {
    return isdigit((unsigned char)c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* After the opening quote; NULL without a closing one. */
static char *read_quoted(reader *r, uint32_t *n) {
    const char *end = r->p;
    while (*end && *end != '"' && *end != '\n')
        end += end[0] == '\\' && end[1] ? 2 : 1;
    if (*end != '"')
        return NULL;
    char *s = tr_arena_alloc(r->a, (size_t)(end - r->p) + 1);
    uint32_t k = 0;
    while (r->p < end) {
        char c = *r->p++;
        if (c == '\\') {
            c = *r->p++;
            if (c == 'n') {
                c = '\n';
            } else if (c == 'x') {
                int hi = hex(r->p[0]), lo = hi >= 0 ? hex(r->p[1]) : -1;
                if (lo < 0)
                    return NULL;
                c = (char)(hi * 16 + lo);
                r->p += 2;
            }
        }
        s[k++] = c;
    }
    r->p++;
    *n = k;
    return s;
}

static bool read_double(reader *r, double *out) {
    skip_blank(r);
    char *end;
    *out = strtod(r->p, &end);
    bool ok = end > r->p;
    r->p = end;
    return ok;
}

/* Suffix ":f32" makes a NumPy scalar of a number. */
static const tr_obj *with_type(reader *r, tr_obj *o) {
    if (*r->p != ':')
        return o;
    const char *start = r->p++;
    const char *word = read_word(r);
    const tr_ty *ty = word ? read_scalar(r, word) : NULL;
    char want = !ty || ty->weak ? 0 : tr_ty_class(ty);
    bool fits = o->kind == TR_OBJ_BOOL      ? want == 'b'
                : o->kind == TR_OBJ_INT     ? want == 'i' || (want == 'u' && o->u.i >= 0)
                : o->kind == TR_OBJ_UINT    ? want == 'u'
                : o->kind == TR_OBJ_FLOAT   ? want == 'f'
                : o->kind == TR_OBJ_COMPLEX ? want == 'c'
                                            : false;
    if (!fits) {
        r->p = start;
        return NULL;
    }
    o->kind = TR_OBJ_SCALAR;
    o->ty = ty;
    return o;
}

static const tr_obj *read_number(reader *r) {
    const char *start = r->p;
    size_t sign = *start == '-' || *start == '+', n = sign;
    while (isdigit((unsigned char)start[n]))
        n++;
    bool word = isalpha((unsigned char)start[sign]); /* inf, nan */
    if (!word && !strchr(".eE", start[n] ? start[n] : ' ')) {
        if (n == sign || n > MAX_DIGITS)
            return NULL;
        char *end;
        errno = 0;
        int64_t i = strtoll(start, &end, 10);
        if (!errno) {
            r->p = end;
            tr_obj *o = make(r, TR_OBJ_INT, start);
            o->u.i = i;
            return with_type(r, o);
        }
        errno = 0;
        uint64_t u = strtoull(start, &end, 10);
        r->p = end;
        tr_obj *o = make(r, errno || *start == '-' ? TR_OBJ_BIGINT : TR_OBJ_UINT, start);
        o->u.u = o->kind == TR_OBJ_UINT ? u : 0;
        return with_type(r, o);
    }
    double f;
    if (!read_double(r, &f))
        return NULL;
    tr_obj *o = make(r, TR_OBJ_FLOAT, start);
    o->u.f = f;
    return with_type(r, o);
}

static const tr_obj *read_complex(reader *r, const char *start) {
    double c[2];
    if (!accept(r, '(') || !read_double(r, &c[0]) || !accept(r, ',') || !read_double(r, &c[1]) ||
        !accept(r, ')'))
        return NULL;
    tr_obj *o = make(r, TR_OBJ_COMPLEX, start);
    memcpy(o->u.c, c, sizeof c);
    return with_type(r, o);
}

/* Items up to ")". */
static bool read_objs(reader *r, objs *out, texts *names) {
    while (!accept(r, ')')) {
        if (out->n && !accept(r, ','))
            return false;
        if (accept(r, ')'))
            return true;
        if (names) {
            const char *name = read_word(r);
            if (!name || !accept(r, ':'))
                return false;
            tr_vec_push(r->a, names, name);
        }
        const tr_obj *o = read_obj(r);
        if (!o)
            return false;
        tr_vec_push(r->a, out, o);
    }
    return true;
}

static const tr_obj *read_seq(reader *r, tr_objk kind, const char *name, const char *start) {
    objs items = {0};
    texts names = {0};
    if (!accept(r, '(') || !read_objs(r, &items, name ? &names : NULL) ||
        (kind == TR_OBJ_SLICE && items.n != 3))
        return NULL;
    tr_obj *o = make(r, kind, start);
    o->u.t.n = items.n;
    o->u.t.items = items.d;
    o->u.t.fields = name ? names.d : NULL;
    o->u.t.name = name;
    return o;
}

/* A frozen array's description; its data are not part of the text. */
static const tr_obj *read_array_obj(reader *r, const char *start) {
    uint32_t index;
    if (!accept(r, '(') || !read_u32(r, &index) || !accept(r, ','))
        return NULL;
    const tr_ty *ty = read_type(r);
    if (!ty || ty->kind != TR_TY_ARRAY)
        return NULL;
    int64_t *dims = TR_NEW_N(r->a, int64_t, 2u * ty->ndim + 1u);
    for (unsigned i = 0; i < ty->ndim; i++)
        if (!accept(r, ',') || !read_i64(r, &dims[i]) || dims[i] < 0 || !accept(r, ':') ||
            !read_i64(r, &dims[ty->ndim + i]))
            return NULL;
    if (!accept(r, ')'))
        return NULL;
    tr_obj *o = make(r, TR_OBJ_ARRAY, start);
    o->ty = ty;
    o->u.a.index = index;
    o->u.a.shape = dims;
    o->u.a.strides = dims + ty->ndim;
    return o;
}

static const tr_obj *read_opaque(reader *r) {
    uint32_t n = 0;
    if (accept(r, '"')) {
        const char *s = read_quoted(r, &n);
        return s && !memchr(s, 0, n) ? tr_tytab_opaque(r->t, s, n) : NULL;
    }
    const char *s = r->p;
    while (is_word_char(*r->p) || *r->p == '.')
        r->p++;
    return r->p > s ? tr_tytab_opaque(r->t, s, (size_t)(r->p - s)) : NULL;
}

static const tr_obj *read_word_obj(reader *r, const char *start) {
    if (accept_word(r, "None"))
        return tr_obj_none();
    bool yes = accept_word(r, "True");
    if (yes || accept_word(r, "False")) {
        tr_obj *o = make(r, TR_OBJ_BOOL, start);
        o->u.i = yes;
        return with_type(r, o);
    }
    if (accept_word(r, "complex"))
        return read_complex(r, start);
    if (accept_word(r, "slice"))
        return read_seq(r, TR_OBJ_SLICE, NULL, start);
    if (accept_word(r, "array"))
        return read_array_obj(r, start);
    if (accept_word(r, "nt")) {
        const char *name = read_word(r);
        return name ? read_seq(r, TR_OBJ_TUPLE, name, start) : NULL;
    }
    if (!accept_word(r, "type"))
        return read_number(r); /* inf, nan */
    const tr_ty *ty = accept(r, '(') ? read_type(r) : NULL;
    if (!ty || !accept(r, ')'))
        return NULL;
    tr_obj *o = make(r, TR_OBJ_TYPE, start);
    o->ty = ty;
    return o;
}

static const tr_obj *read_obj(reader *r) {
    const tr_obj *o = NULL;
    if (r->depth >= MAX_DEPTH)
        return NULL;
    r->depth++;
    skip_blank(r);
    const char *start = r->p;
    if (*start == '"') {
        r->p++;
        uint32_t n = 0;
        const char *s = read_quoted(r, &n);
        if (s) {
            tr_obj *str = make(r, TR_OBJ_STR, start);
            str->u.s.d = s;
            str->u.s.n = n;
            o = str;
        }
    } else if (*start == '@') {
        r->p++;
        o = read_opaque(r);
    } else if (*start == '(') {
        o = read_seq(r, TR_OBJ_TUPLE, NULL, start);
    } else if (!strncmp(start, "...", 3)) {
        r->p += 3;
        o = make(r, TR_OBJ_ELLIPSIS, start);
    } else {
        o = isalpha((unsigned char)*start) ? read_word_obj(r, start) : read_number(r);
    }
    r->depth--;
    return o;
}

const tr_obj *tr_obj_parse_ir(tr_tytab *t, const char **s) {
    reader r = {.t = t, .a = tr_tytab_arena(t), .p = *s};
    const tr_obj *o = read_obj(&r);
    *s = r.p;
    return o;
}
