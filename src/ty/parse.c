/* Reads the IR's text for types and compile-time objects (docs/ir.md). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/reader.h"
#include "base/vec.h"
#include "ty/internal.h"
#include "ty/ty.h"

enum { MAX_DEPTH = 64 };

typedef struct reader {
    tr_reader in;
    tr_tytab *t;
} reader;

typedef TR_VEC(const tr_ty *) types;
typedef TR_VEC(const tr_obj *) objs;
typedef TR_VEC(const char *) texts;

static const tr_ty *read_type(reader *r);
static char *read_quoted(reader *r, uint32_t *n);
static const tr_obj *read_obj(reader *r);

static reader open_text(tr_tytab *t, const char *text) {
    return (reader){.in = {.a = tr_tytab_arena(t), .text = text, .p = text, .blanks = " \t"}, .t = t};
}

/* What follows the n items read so far of a list that ")" ends; the ")" is taken. With `names`, an item has
 * "name:" before it. */
typedef enum next { ITEM, END, WRONG } next;

static next next_item(reader *r, uint32_t n, texts *names) {
    if (tr_rd_accept(&r->in, ')'))
        return END;
    if (n && !tr_rd_accept(&r->in, ','))
        return WRONG;
    if (n && tr_rd_accept(&r->in, ')'))
        return END;
    if (!names)
        return ITEM;
    uint32_t length = 0;
    const char *name = tr_rd_accept(&r->in, '"') ? read_quoted(r, &length) : tr_rd_word(&r->in);
    if (!name || !tr_rd_accept(&r->in, ':'))
        return WRONG;
    tr_vec_push(r->in.a, names, name);
    return ITEM;
}

/* --- types --- */

static bool read_list(reader *r, types *out, texts *names) {
    next what;
    while ((what = next_item(r, out->n, names)) == ITEM) {
        const tr_ty *item = read_type(r);
        if (!item)
            return false;
        tr_vec_push(r->in.a, out, item);
    }
    return what == END;
}

/* Point or Point#2 */
static const char *read_class(reader *r, uint32_t *serial) {
    const char *name = tr_rd_word(&r->in);
    int64_t number = 1;
    if (name && *r->in.p == '#' && (r->in.p++, !tr_rd_int(&r->in, 2, UINT32_MAX, &number)))
        return NULL;
    *serial = (uint32_t)(number - 1);
    return name;
}

/* --- behind "word(", by kind --- */

static const tr_ty *read_named(reader *r) {
    types items = {0};
    texts names = {0};
    uint32_t serial;
    const char *name = read_class(r, &serial);
    if (!name || !tr_rd_accept(&r->in, '(') || !read_list(r, &items, &names))
        return NULL;
    return tr_ty_named_tuple(r->t, name, serial, items.n, items.d, names.d);
}

/* Integers are int64; np.mgrid and np.r_ have other numbers. */
static bool valid_slice_item(const tr_ty *t) {
    return t->kind == TR_TY_NONE || t->kind == TR_TY_I64 || t->kind == TR_TY_LIT ||
           (tr_ty_is_scalar(t) && !tr_ty_is_int(t));
}

static const tr_ty *read_handed(reader *r, const tr_words *w) {
    types items = {0};
    int64_t which;
    (void)w;
    if (!tr_rd_int(&r->in, 0, UINT32_MAX, &which))
        return NULL;
    if (!tr_rd_accept(&r->in, ',') ? !tr_rd_accept(&r->in, ')') : !read_list(r, &items, NULL))
        return NULL;
    return tr_ty_handed(r->t, (uint32_t)which, items.n, items.d);
}

static const tr_ty *read_closure(reader *r, const tr_words *w) {
    types items = {0};
    int64_t func, opts = 0;
    (void)w;
    if (!tr_rd_int(&r->in, 0, UINT32_MAX, &func) ||
        (tr_rd_accept(&r->in, '/') && !tr_rd_int(&r->in, 0, UINT32_MAX, &opts)))
        return NULL;
    if (!tr_rd_accept(&r->in, ',') ? !tr_rd_accept(&r->in, ')') : !read_list(r, &items, NULL))
        return NULL;
    return tr_ty_closure(r->t, (uint32_t)func, (uint32_t)opts, items.n, items.d);
}

static const tr_ty *read_method(reader *r, const tr_words *w) {
    (void)w;
    const tr_ty *self = read_type(r);
    const char *name = self && tr_rd_accept(&r->in, ',') ? tr_rd_word(&r->in) : NULL;
    return name && tr_rd_accept(&r->in, ')') ? tr_ty_method(r->t, self, name) : NULL;
}

static const tr_ty *read_exc(reader *r, const tr_words *w) {
    types items = {0};
    (void)w;
    const tr_obj *cls = read_obj(r);
    if (!cls || (!tr_rd_accept(&r->in, ',') ? !tr_rd_accept(&r->in, ')') : !read_list(r, &items, NULL)))
        return NULL;
    return tr_ty_exc(r->t, cls, items.n, items.d);
}

static const tr_ty *read_range(reader *r, const tr_words *w) {
    const tr_ty *elem = read_type(r);
    return elem && tr_ty_is_int(elem) && tr_rd_accept(&r->in, ')') ? tr_ty_range(r->t, elem, w->sub) : NULL;
}

static const tr_ty *read_lit(reader *r, const tr_words *w) {
    (void)w;
    const tr_obj *o = read_obj(r);
    return o && tr_rd_accept(&r->in, ')') ? tr_ty_lit(r->t, o) : NULL;
}

static const tr_ty *read_items(reader *r, const tr_words *w) {
    types items = {0};
    bool ok = read_list(r, &items, NULL) && tr_ty_may_have(&(tr_ty){.kind = (uint8_t)w->kind}, items.n);
    return ok ? tr_ty_of(r->t, w->kind, w->sub, items.n, items.d) : NULL;
}

/* A cell is a compilation's, and has no text that could be read. */
static const tr_ty *read_list_of(reader *r, const tr_words *w) {
    const tr_ty *t = w->sub == TR_LIST_CELL ? NULL : read_items(r, w);
    return t && tr_ty_may_lie(t->items[0]) ? t : NULL;
}

/* Of a list it says how long that was. */
static const tr_ty *read_reversed(reader *r, const tr_words *w) {
    const tr_ty *t = read_items(r, w);
    bool list = t && t->n == 2 && t->items[0]->kind == TR_TY_LIST && t->items[1]->kind == TR_TY_I64;
    return list || (t && t->n == 1) ? t : NULL;
}

static const tr_ty *read_slot(reader *r, const tr_words *w) {
    const tr_ty *t = read_items(r, w);
    return t && tr_ty_may_lie(t->items[0]) ? tr_ty_slot(r->t, t->items[0]) : NULL;
}

static const tr_ty *read_set_of(reader *r, const tr_words *w) {
    const tr_ty *t = read_list_of(r, w);
    return t && tr_ty_as_key(r->t, t->items[0]) == t->items[0] ? t : NULL;
}

static const tr_ty *read_dict_of(reader *r, const tr_words *w) {
    const tr_ty *t = read_items(r, w);
    return t && t->items[0]->kind == TR_TY_SET && t->items[1]->kind == TR_TY_LIST ? t : NULL;
}

static const tr_ty *read_slice(reader *r, const tr_words *w) {
    const tr_ty *t = read_items(r, w);
    for (uint32_t i = 0; t && i < t->n; i++)
        if (!valid_slice_item(t->items[i]))
            return NULL;
    return t;
}

static const tr_ty *read_opt(reader *r, const tr_words *w) {
    (void)w;
    const tr_ty *of = read_type(r);
    return of && tr_rd_accept(&r->in, ')') ? tr_ty_optional(r->t, of) : NULL;
}

static const tr_ty *read_records(reader *r, const tr_words *w) {
    const tr_ty *t = read_items(r, w);
    bool ok = t && tr_ty_is_records(t->items[0]) && (w->kind != TR_TY_RECORD || !t->items[0]->ndim);
    return ok ? t : NULL;
}

static const tr_ty *read_bytearray(reader *r, const tr_words *w) {
    const tr_ty *t = read_items(r, w), *l = t ? t->items[0] : NULL;
    return l && l->kind == TR_TY_LIST && !l->sub && l->n == 1 && l->items[0]->kind == TR_TY_U8 ? t : NULL;
}

static const tr_ty *read_chars(reader *r, const tr_words *w) {
    const tr_ty *t = read_items(r, w), *a = t && t->n == 1 ? t->items[0] : NULL;
    bool ok = a && a->kind == TR_TY_ARRAY && a->elem->kind == TR_TY_U8 && a->ndim && !a->sub;
    return ok ? t : NULL;
}

/* An array, its place, and constants: lib/kind_window.c reads them by number. */
static const tr_ty *read_window(reader *r, const tr_words *w) {
    const tr_ty *t = read_items(r, w), *a = t && t->n ? t->items[0] : NULL;
    bool ok = a && a->kind == TR_TY_ARRAY && a->ndim && t->n == 1 + 3u * a->ndim;
    for (uint32_t i = 1; ok && i < t->n; i++)
        ok = i <= a->ndim ? t->items[i]->kind == TR_TY_I64
                          : t->items[i]->kind == TR_TY_LIT && t->items[i]->lit->kind == TR_OBJ_INT;
    return ok ? t : NULL;
}

/* "MD": the letter and the unit. */
static const tr_ty *read_letters(reader *r) {
    const char *word = tr_rd_word(&r->in);
    tr_unit u = TR_UNIT_GENERIC;
    if (!word || (*word != 'M' && *word != 'm') || (word[1] && !tr_unit_find(word + 1, strlen(word + 1), &u)))
        return NULL;
    return tr_ty_date(r->t, *word == 'm', u);
}

static const tr_ty *read_date(reader *r, const tr_words *w) {
    (void)w;
    const tr_ty *t = read_letters(r);
    return t && tr_rd_accept(&r->in, ')') ? t : NULL;
}

static const tr_ty *read_dates(reader *r, const tr_words *w) {
    (void)w;
    const tr_ty *t = read_letters(r), *a = t && tr_rd_accept(&r->in, ',') ? read_type(r) : NULL;
    bool ok = a && a->kind == TR_TY_ARRAY && a->elem->kind == TR_TY_I64 && tr_rd_accept(&r->in, ')');
    return ok ? tr_ty_dates(r->t, t, a) : NULL;
}

/* A field's name, where it lies, its type and its axes; those go to *dims. */
static bool read_field(reader *r, uint32_t size, tr_field *f) {
    int64_t at, ndim, d;
    uint32_t n = 0;
    tr_rd_skip(&r->in);
    f->name = tr_rd_accept(&r->in, '"') ? read_quoted(r, &n) : NULL;
    if (!f->name || memchr(f->name, 0, n) || !tr_rd_accept(&r->in, ',') || !tr_rd_int(&r->in, 0, size, &at) ||
        !tr_rd_accept(&r->in, ',') || !(f->ty = read_type(r)) ||
        (!tr_ty_is_scalar(f->ty) && f->ty->kind != TR_TY_DATE && f->ty->kind != TR_TY_STRUCT) ||
        f->ty->weak || !tr_rd_accept(&r->in, ',') || !tr_rd_int(&r->in, 0, TR_MAX_FIELD_AXES, &ndim))
        return false;
    uint32_t *shape = TR_NEW_N(r->in.a, uint32_t, TR_MAX_FIELD_AXES);
    uint64_t bytes = tr_ty_size(f->ty);
    for (int64_t k = 0; k < ndim; k++) {
        if (!tr_rd_accept(&r->in, ',') || !tr_rd_int(&r->in, 0, INT32_MAX, &d))
            return false;
        shape[k] = (uint32_t)d;
        bytes = bytes > INT32_MAX ? bytes : bytes * (uint64_t)d;
    }
    f->offset = (uint32_t)at;
    f->ndim = (uint32_t)ndim;
    f->shape = shape;
    return bytes + f->offset <= size;
}

static const tr_ty *read_struct(reader *r, const tr_words *w) {
    int64_t size, flags;
    uint32_t n = 0;
    TR_VEC(tr_field) fields = {0};
    if (!tr_rd_int(&r->in, 0, INT32_MAX, &size) || !tr_rd_accept(&r->in, ','))
        return NULL;
    if (w->sub == TR_STRUCT_OPAQUE) {
        tr_rd_skip(&r->in);
        const char *name = tr_rd_accept(&r->in, '"') ? read_quoted(r, &n) : NULL;
        bool ok = name && !memchr(name, 0, n) && tr_rd_accept(&r->in, ')');
        return ok ? tr_ty_opaque(r->t, (uint32_t)size, name) : NULL;
    }
    if (!tr_rd_int(&r->in, 0, TR_STRUCT_RECORD, &flags))
        return NULL;
    while (tr_rd_accept(&r->in, ',')) {
        tr_field f;
        if (fields.n == TR_MAX_ITEMS || !read_field(r, (uint32_t)size, &f))
            return NULL;
        tr_vec_push(r->in.a, &fields, f);
    }
    return tr_rd_accept(&r->in, ')') ? tr_ty_struct(r->t, (uint32_t)size, (unsigned)flags, fields.n, fields.d)
                                     : NULL;
}

typedef const tr_ty *(*read_fn)(reader *r, const tr_words *w);
#define read_no NULL

/* word "(" ...: the types that look like calls. */
static const tr_ty *read_call(reader *r, const char *word) {
    static const read_fn reads[] = {
#define KIND(ID, word, user, items, ty, ...) ty,
#define TY(parts, owned, text, read, ...)    read_##read
#include "ty/kinds.def"
    };
    const tr_words *w = tr_ty_by_word(word);
    read_fn read = w ? reads[tr_ty_row(&(tr_ty){.kind = (uint8_t)w->kind})] : NULL;
    return read ? read(r, w) : NULL;
}

static const tr_ty *read_scalar(reader *r, const char *word) {
    for (unsigned k = 0; k < TR_TY__SCALARS; k++) {
        const char *name = tr_tyk_ir_name((tr_tyk)k);
        if (*word != *name || strcmp(word, name) != 0)
            continue;
        if (*r->in.p == '~' && (k == TR_TY_I64 || k == TR_TY_F64 || k == TR_TY_C128)) {
            r->in.p++;
            return tr_ty_weak(r->t, (tr_tyk)k);
        }
        return tr_ty_scalar(r->t, (tr_tyk)k);
    }
    return NULL;
}

/* "[2c,ro]" after a scalar; a capital letter: loose. */
static const tr_ty *read_array(reader *r, const tr_ty *elem) {
    int64_t n;
    if (!tr_rd_int(&r->in, 0, TR_MAX_NDIM, &n))
        return NULL;
    const char *layouts = "cfaCFAp", *l = *r->in.p ? strchr(layouts, *r->in.p) : NULL;
    if (!l)
        return NULL;
    r->in.p++;
    bool ro = tr_rd_accept(&r->in, ',');
    if ((ro && !tr_rd_accept_word(&r->in, "ro")) || !tr_rd_accept(&r->in, ']'))
        return NULL;
    unsigned form = *l == 'p' ? TR_ARRAY_PACKED : l - layouts >= 3 ? TR_ARRAY_LOOSE : 0;
    return tr_ty_array_as(r->t, elem, (unsigned)n, (tr_layout)((l - layouts) % 3), ro, form);
}

static const tr_ty *read_type(reader *r) {
    const tr_ty *ty = NULL;
    if (r->in.depth >= MAX_DEPTH)
        return NULL;
    r->in.depth++;
    if (tr_rd_accept(&r->in, '(')) {
        types items = {0};
        ty = read_list(r, &items, NULL) ? tr_ty_tuple(r->t, items.n, items.d) : NULL;
    } else {
        const char *word = tr_rd_word(&r->in);
        if (!word)
            return NULL;
        if (!strcmp(word, "nt"))
            ty = read_named(r);
        else if (!strcmp(word, "none"))
            ty = tr_ty_none(r->t);
        else if (!strcmp(word, "str"))
            ty = tr_ty_string(r->t);
        else if (!strcmp(word, "bytes"))
            ty = tr_ty_bytes(r->t);
        else if (*r->in.p == '(')
            ty = (r->in.p++, read_call(r, word));
        else
            ty = read_scalar(r, word);
        if (ty && (tr_ty_is_scalar(ty) || ty->kind == TR_TY_STRUCT || ty->kind == TR_TY_SLOT) &&
            *r->in.p == '[')
            ty = ty->weak ? NULL : (r->in.p++, read_array(r, ty));
    }
    r->in.depth--;
    return ty;
}

const tr_ty *tr_ty_parse_ir(tr_tytab *t, const char **s) {
    reader r = open_text(t, *s);
    const tr_ty *ty = read_type(&r);
    *s = r.in.p;
    return ty;
}

/* --- objects --- */

static tr_obj *make(reader *r, tr_objk kind, const char *from) {
    tr_obj *o = TR_NEW(r->in.a, tr_obj);
    o->kind = (uint8_t)kind;
    o->repr = tr_arena_strndup(r->in.a, from, (size_t)(r->in.p - from));
    return o;
}

static int hex(char c) {
    return isdigit((unsigned char)c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* After the opening quote; NULL without a closing one. */
static char *read_quoted(reader *r, uint32_t *n) {
    const char *end = r->in.p;
    bool plain = true;
    for (; *end && *end != '"' && *end != '\n'; end++)
        if (end[0] == '\\' && end[1]) {
            end++;
            plain = false;
        }
    if (*end != '"')
        return NULL;
    if (plain) {
        *n = (uint32_t)(end - r->in.p);
        r->in.p = end + 1;
        return tr_arena_strndup(r->in.a, end - *n, *n);
    }
    char *s = tr_arena_alloc(r->in.a, (size_t)(end - r->in.p) + 1);
    uint32_t k = 0;
    while (r->in.p < end) {
        char c = *r->in.p++;
        if (c == '\\') {
            c = *r->in.p++;
            if (c == 'n') {
                c = '\n';
            } else if (c == 'x') {
                int hi = hex(r->in.p[0]), lo = hi >= 0 ? hex(r->in.p[1]) : -1;
                if (lo < 0)
                    return NULL;
                c = (char)(hi * 16 + lo);
                r->in.p += 2;
            }
        }
        s[k++] = c;
    }
    r->in.p++;
    *n = k;
    return s;
}

static bool read_double(reader *r, double *out) {
    tr_rd_skip(&r->in);
    char *end;
    *out = strtod(r->in.p, &end);
    bool ok = end > r->in.p;
    r->in.p = end;
    return ok;
}

/* The integer of an INT as a scalar's; whether 64 bits hold it. */
static bool to_scalar(tr_obj *o, char cls) {
    tr_bigint n = o->u.n;
    return cls == 'i' ? tr_bigint_i64(&n, &o->u.i) : tr_bigint_u64(&n, &o->u.u);
}

/* Suffix ":f32" makes a NumPy scalar of a number. */
static const tr_obj *with_type(reader *r, tr_obj *o) {
    if (*r->in.p != ':')
        return o;
    const char *start = r->in.p++;
    const char *word = tr_rd_word(&r->in);
    const tr_ty *ty = word ? read_scalar(r, word) : NULL;
    char want = !ty || ty->weak ? 0 : tr_ty_class(ty);
    bool fits = o->kind == TR_OBJ_BOOL      ? want == 'b'
                : o->kind == TR_OBJ_INT     ? (want == 'i' || want == 'u') && to_scalar(o, want)
                : o->kind == TR_OBJ_FLOAT   ? want == 'f'
                : o->kind == TR_OBJ_COMPLEX ? want == 'c'
                                            : false;
    if (!fits) {
        r->in.p = start;
        return NULL;
    }
    o->kind = TR_OBJ_SCALAR;
    o->ty = ty;
    return o;
}

static const tr_obj *read_number(reader *r) {
    const char *start = r->in.p;
    size_t sign = *start == '-' || *start == '+', n = sign;
    while (isdigit((unsigned char)start[n]))
        n++;
    bool word = isalpha((unsigned char)start[sign]); /* inf, nan */
    if (!word && !strchr(".eE", start[n] ? start[n] : ' ')) {
        tr_bigint v;
        if (n == sign || !tr_bigint_parse(r->in.a, start, n, &v))
            return NULL;
        r->in.p += n;
        tr_obj *o = make(r, TR_OBJ_INT, start);
        o->u.n = v;
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
    if (!tr_rd_accept(&r->in, '(') || !read_double(r, &c[0]) || !tr_rd_accept(&r->in, ',') ||
        !read_double(r, &c[1]) || !tr_rd_accept(&r->in, ')'))
        return NULL;
    tr_obj *o = make(r, TR_OBJ_COMPLEX, start);
    memcpy(o->u.c, c, sizeof c);
    return with_type(r, o);
}

static bool read_objs(reader *r, objs *out, texts *names) {
    next what;
    while ((what = next_item(r, out->n, names)) == ITEM) {
        const tr_obj *item = read_obj(r);
        if (!item)
            return false;
        tr_vec_push(r->in.a, out, item);
    }
    return what == END;
}

static tr_obj *read_seq(reader *r, tr_objk kind, const char *name, const char *start) {
    objs items = {0};
    texts names = {0};
    if (!tr_rd_accept(&r->in, '(') || !read_objs(r, &items, name ? &names : NULL) ||
        (kind == TR_OBJ_SLICE && items.n != 3) || (kind == TR_OBJ_PARTIAL && items.n != 4))
        return NULL;
    tr_obj *o = make(r, kind, start);
    o->u.t.n = items.n;
    o->u.t.items = items.d;
    static const char *const none[1];
    o->u.t.fields = !name ? NULL : names.d ? names.d : none;
    o->u.t.name = name;
    return o;
}

/* A frozen array's description; its data are not part of the text. */
static const tr_obj *read_array_obj(reader *r, const char *start) {
    int64_t index;
    if (!tr_rd_accept(&r->in, '(') || !tr_rd_int(&r->in, 0, UINT32_MAX, &index) || !tr_rd_accept(&r->in, ','))
        return NULL;
    const tr_ty *ty = read_type(r);
    if (!ty || ty->kind != TR_TY_ARRAY)
        return NULL;
    int64_t *dims = TR_NEW_N(r->in.a, int64_t, 2u * ty->ndim + 1u);
    for (unsigned i = 0; i < ty->ndim; i++)
        if (!tr_rd_accept(&r->in, ',') || !tr_rd_int(&r->in, 0, INT64_MAX, &dims[i]) ||
            !tr_rd_accept(&r->in, ':') || !tr_rd_int(&r->in, INT64_MIN, INT64_MAX, &dims[ty->ndim + i]))
            return NULL;
    if (!tr_rd_accept(&r->in, ')'))
        return NULL;
    tr_obj *o = make(r, TR_OBJ_ARRAY, start);
    o->ty = ty;
    o->u.a.index = (uint32_t)index;
    o->u.a.shape = dims;
    o->u.a.strides = dims + ty->ndim;
    return o;
}

static const tr_obj *read_opaque(reader *r) {
    uint32_t n = 0;
    if (tr_rd_accept(&r->in, '"')) {
        const char *s = read_quoted(r, &n);
        return s && !memchr(s, 0, n) ? tr_tytab_opaque(r->t, s, n) : NULL;
    }
    const char *s = r->in.p;
    while (tr_rd_is_word_char(*r->in.p) || *r->in.p == '.')
        r->in.p++;
    return r->in.p > s ? tr_tytab_opaque(r->t, s, (size_t)(r->in.p - s)) : NULL;
}

static const tr_obj *read_word_obj(reader *r, const char *start) {
    if (tr_rd_accept_word(&r->in, "None"))
        return tr_obj_none();
    bool yes = tr_rd_accept_word(&r->in, "True");
    if (yes || tr_rd_accept_word(&r->in, "False")) {
        tr_obj *o = make(r, TR_OBJ_BOOL, start);
        o->u.i = yes;
        return with_type(r, o);
    }
    if (tr_rd_accept_word(&r->in, "complex"))
        return read_complex(r, start);
    if (tr_rd_accept_word(&r->in, "slice"))
        return read_seq(r, TR_OBJ_SLICE, NULL, start);
    if (tr_rd_accept_word(&r->in, "partial"))
        return read_seq(r, TR_OBJ_PARTIAL, NULL, start);
    if (tr_rd_accept_word(&r->in, "list"))
        return read_seq(r, TR_OBJ_LIST, NULL, start);
    if (tr_rd_accept_word(&r->in, "dict"))
        return read_seq(r, TR_OBJ_DICT, NULL, start);
    if (tr_rd_accept_word(&r->in, "array"))
        return read_array_obj(r, start);
    if (tr_rd_accept_word(&r->in, "nt")) {
        uint32_t serial;
        const char *name = read_class(r, &serial);
        tr_obj *o = name ? read_seq(r, TR_OBJ_TUPLE, name, start) : NULL;
        if (o)
            o->u.t.serial = serial;
        return o;
    }
    if (!tr_rd_accept_word(&r->in, "type"))
        return read_number(r); /* inf, nan */
    const tr_ty *ty = tr_rd_accept(&r->in, '(') ? read_type(r) : NULL;
    if (!ty || !tr_rd_accept(&r->in, ')'))
        return NULL;
    tr_obj *o = make(r, TR_OBJ_TYPE, start);
    o->ty = ty;
    return o;
}

static const tr_obj *read_obj(reader *r) {
    const tr_obj *o = NULL;
    if (r->in.depth >= MAX_DEPTH)
        return NULL;
    r->in.depth++;
    tr_rd_skip(&r->in);
    const char *start = r->in.p;
    if (*start == '"') {
        r->in.p++;
        uint32_t n = 0;
        const char *s = read_quoted(r, &n);
        if (s) {
            tr_obj *str = make(r, TR_OBJ_STR, start);
            str->u.s.d = s;
            str->u.s.n = n;
            o = str;
        }
    } else if (*start == '@') {
        r->in.p++;
        o = read_opaque(r);
    } else if (*start == '(') {
        o = read_seq(r, TR_OBJ_TUPLE, NULL, start);
    } else if (!strncmp(start, "...", 3)) {
        r->in.p += 3;
        o = make(r, TR_OBJ_ELLIPSIS, start);
    } else {
        o = isalpha((unsigned char)*start) ? read_word_obj(r, start) : read_number(r);
    }
    r->in.depth--;
    return o;
}

const tr_obj *tr_obj_parse_ir(tr_tytab *t, const char **s) {
    reader r = open_text(t, *s);
    const tr_obj *o = read_obj(&r);
    *s = r.in.p;
    return o;
}
