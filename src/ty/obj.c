/* Compile-time objects: comparing, copying, making, and the type inference gives them. */
#include "ty/obj.h"

#include <assert.h>
#include <string.h>

#include "base/map.h"
#include "ty/internal.h"

static bool items_by_value(const tr_obj *o) {
    for (uint32_t i = 0; i < o->u.t.n; i++)
        if (!tr_obj_by_value(o->u.t.items[i]))
            return false;
    return true;
}

bool tr_obj_by_value(const tr_obj *o) {
    switch ((tr_objk)o->kind) {
    case TR_OBJ_NONE:
    case TR_OBJ_BOOL:
    case TR_OBJ_FLOAT:
    case TR_OBJ_COMPLEX:
    case TR_OBJ_SCALAR:
    case TR_OBJ_DATE:
    case TR_OBJ_STR:
    case TR_OBJ_BYTES:
    case TR_OBJ_ELLIPSIS:
    case TR_OBJ_BUILTIN:
    case TR_OBJ_TYPE:
    case TR_OBJ_EXC:
    case TR_OBJ_EXCVAL: return true;
    case TR_OBJ_INT: return !o->member;
    case TR_OBJ_SLICE:
    case TR_OBJ_PARTIAL:
    case TR_OBJ_LIST:
    case TR_OBJ_DICT:
    case TR_OBJ_TUPLE: return items_by_value(o);
    default: return false;
    }
}

/* The bytes that make up a scalar's value; floats compare by bits so that 0.0, -0.0 and NaNs stay apart. */
static size_t value_size(const tr_obj *o) {
    switch ((tr_objk)o->kind) {
    case TR_OBJ_BOOL:
    case TR_OBJ_DATE:
    case TR_OBJ_FLOAT: return 8;
    case TR_OBJ_COMPLEX: return 16;
    case TR_OBJ_SCALAR: return tr_ty_is_complex(o->ty) ? 16 : 8;
    case TR_OBJ_BUILTIN:
    case TR_OBJ_EXC:
    case TR_OBJ_EXCVAL: return 4;
    default: return 0;
    }
}

/* Its type is part of the value. */
static bool has_type(const tr_obj *o) {
    return o->kind == TR_OBJ_SCALAR || o->kind == TR_OBJ_DATE;
}

bool tr_obj_has_items(const tr_obj *o) {
    return o->kind == TR_OBJ_TUPLE || o->kind == TR_OBJ_LIST || o->kind == TR_OBJ_DICT ||
           o->kind == TR_OBJ_SLICE || o->kind == TR_OBJ_PARTIAL;
}

uint64_t tr_obj_hash(const tr_obj *o) {
    uint64_t h = o->kind;
    if (!tr_obj_by_value(o))
        return tr_hash_bytes(&o, sizeof o, h);
    switch ((tr_objk)o->kind) {
    case TR_OBJ_INT: return tr_bigint_hash(&o->u.n, h);
    case TR_OBJ_BYTES:
    case TR_OBJ_STR: return tr_hash_bytes(o->u.s.d, o->u.s.n, h);
    case TR_OBJ_TYPE: return tr_hash_bytes(&o->ty, sizeof o->ty, h);
    case TR_OBJ_SLICE:
    case TR_OBJ_PARTIAL:
    case TR_OBJ_LIST:
    case TR_OBJ_DICT:
    case TR_OBJ_TUPLE:
        h += o->u.t.n;
        for (uint32_t i = 0; i < o->u.t.n; i++)
            h = h * UINT64_C(0x9e3779b97f4a7c15) + tr_obj_hash(o->u.t.items[i]);
        return h;
    default:
        return tr_hash_bytes(&o->u, value_size(o), h ^ (uint64_t)(uintptr_t)(has_type(o) ? o->ty : NULL));
    }
}

static bool same_items(const tr_obj *a, const tr_obj *b) {
    if (a->u.t.n != b->u.t.n || a->u.t.serial != b->u.t.serial || !a->u.t.fields != !b->u.t.fields ||
        !a->u.t.name != !b->u.t.name || (a->u.t.name && strcmp(a->u.t.name, b->u.t.name) != 0))
        return false;
    for (uint32_t i = 0; i < a->u.t.n; i++) {
        if (!tr_obj_equal(a->u.t.items[i], b->u.t.items[i]))
            return false;
        if (a->u.t.fields && strcmp(a->u.t.fields[i], b->u.t.fields[i]) != 0)
            return false;
    }
    return true;
}

const tr_obj *tr_obj_attr(const tr_obj *m, const char *name) {
    assert(m->kind == TR_OBJ_MODULE && "only these have attributes");
    for (uint32_t i = 0; i < m->u.m.n; i++)
        if (strcmp(m->u.m.attrs[i].name, name) == 0)
            return m->u.m.attrs[i].obj;
    return NULL;
}

bool tr_obj_equal(const tr_obj *a, const tr_obj *b) {
    if (a == b)
        return true;
    if (a->kind != b->kind || !tr_obj_by_value(a) || !tr_obj_by_value(b))
        return false;
    switch ((tr_objk)a->kind) {
    case TR_OBJ_INT: return tr_bigint_compare(&a->u.n, &b->u.n) == 0;
    case TR_OBJ_BYTES:
    case TR_OBJ_STR: return a->u.s.n == b->u.s.n && (!a->u.s.n || !memcmp(a->u.s.d, b->u.s.d, a->u.s.n));
    case TR_OBJ_TYPE: return a->ty == b->ty;
    case TR_OBJ_SLICE:
    case TR_OBJ_PARTIAL:
    case TR_OBJ_LIST:
    case TR_OBJ_DICT:
    case TR_OBJ_TUPLE: return same_items(a, b);
    default: return (!has_type(a) || a->ty == b->ty) && !memcmp(&a->u, &b->u, value_size(a));
    }
}

const tr_obj *tr_obj_copy(tr_arena *a, const tr_obj *o) {
    if (!tr_obj_by_value(o))
        return o;
    tr_obj *c = tr_arena_copy(a, o, sizeof *o);
    c->repr = tr_arena_strdup(a, o->repr);
    c->py = NULL; /* an identity, and that object's owner may go */
    if (o->kind == TR_OBJ_STR || o->kind == TR_OBJ_BYTES)
        c->u.s.d = tr_arena_strndup(a, o->u.s.d, o->u.s.n);
    if (o->kind == TR_OBJ_INT)
        c->u.n = tr_bigint_copy(a, &o->u.n);
    if (!tr_obj_has_items(o))
        return c;
    const tr_obj **items = TR_NEW_N(a, const tr_obj *, o->u.t.n);
    const char **fields = o->u.t.fields ? TR_NEW_N(a, const char *, o->u.t.n) : NULL;
    for (uint32_t i = 0; i < o->u.t.n; i++) {
        items[i] = tr_obj_copy(a, o->u.t.items[i]);
        if (fields)
            fields[i] = tr_arena_strdup(a, o->u.t.fields[i]);
    }
    c->u.t.items = items;
    c->u.t.fields = fields;
    c->u.t.name = o->u.t.name ? tr_arena_strdup(a, o->u.t.name) : NULL;
    return c;
}

static const tr_ty *tuple_type(tr_arena *a, tr_tytab *t, const tr_obj *o) {
    uint32_t n = o->u.t.n;
    const tr_ty **items = TR_NEW_N(a, const tr_ty *, n);
    for (uint32_t i = 0; i < n; i++)
        items[i] = tr_obj_type(a, t, o->u.t.items[i]);
    return o->u.t.name ? tr_ty_named_tuple(t, o->u.t.name, o->u.t.serial, n, items, o->u.t.fields)
                       : tr_ty_tuple(t, n, items);
}

const tr_ty *tr_obj_type(tr_arena *a, tr_tytab *t, const tr_obj *o) {
    if (o->kind == TR_OBJ_DATE)
        return o->ty;
    bool is_array = o->kind == TR_OBJ_ARRAY || o->kind == TR_OBJ_PLACED;
    if (is_array && o->date)
        return tr_ty_dates(t, o->date, o->ty);
    if (is_array && o->chars)
        return tr_ty_chars(t, o->chars == 'U', o->ty);
    if (is_array)
        return tr_ty_is_records(o->ty) ? tr_ty_records(t, o->ty, false) : o->ty;
    if (o->kind == TR_OBJ_GENERATOR || o->kind == TR_OBJ_CONTAINER)
        return o->ty;
    if (o->kind == TR_OBJ_DICT) {
        const tr_ty *items[2] = {tr_obj_type(a, t, o->u.t.items[0]), tr_obj_type(a, t, o->u.t.items[1])};
        return tr_ty_of(t, TR_TY_KEYED, 0, 2, items);
    }
    if (o->kind != TR_OBJ_TUPLE && o->kind != TR_OBJ_LIST)
        return tr_ty_lit(t, o);
    const tr_ty *tuple = tuple_type(a, t, o);
    return o->kind == TR_OBJ_LIST ? tr_ty_list(t, tuple->n, tuple->items) : tuple;
}

static tr_obj *make(tr_arena *a, tr_objk kind, const char *repr) {
    tr_obj *o = TR_NEW(a, tr_obj);
    o->kind = (uint8_t)kind;
    o->repr = repr;
    return o;
}

const tr_obj *tr_obj_bigint(tr_arena *a, tr_bigint v) {
    tr_obj *o = make(a, TR_OBJ_INT, tr_bigint_shown(a, &v));
    o->u.n = v;
    return o;
}

const tr_obj *tr_obj_int(tr_arena *a, int64_t v) {
    return tr_obj_bigint(a, tr_bigint_of(v));
}

uint32_t tr_obj_items(const tr_obj *o) {
    enum { MOST = 64 };
    int64_t n = 1;
    if (o->kind != TR_OBJ_ARRAY || !o->u.a.data || o->u.a.bound || o->ty->layout == TR_LAYOUT_ANY ||
        !tr_ty_is_scalar(o->ty->elem))
        return 0;
    for (uint32_t k = 0; k < o->ty->ndim; k++) {
        int64_t size = o->u.a.shape[k];
        if (size <= 0 || size > MOST || (n *= size) > MOST)
            return 0;
    }
    return (uint32_t)n;
}

bool tr_obj_integer(const tr_obj *o, tr_bigint *out) {
    *out = o->kind == TR_OBJ_INT ? o->u.n : tr_bigint_of(o->kind == TR_OBJ_BOOL ? o->u.i : 0);
    return o->kind == TR_OBJ_INT || o->kind == TR_OBJ_BOOL;
}

const tr_obj *tr_obj_float(tr_arena *a, double v) {
    tr_sb b;
    tr_sb_init(&b);
    tr_sb_f64(&b, v);
    tr_obj *o = make(a, TR_OBJ_FLOAT, NULL);
    o->repr = tr_arena_strndup(a, b.d, b.n);
    o->u.f = v;
    tr_sb_fini(&b);
    return o;
}

const tr_obj *tr_obj_bool(tr_arena *a, bool v) {
    tr_obj *o = make(a, TR_OBJ_BOOL, v ? "True" : "False");
    o->u.i = v;
    return o;
}

const tr_obj *tr_obj_str(tr_arena *a, const char *s) {
    size_t n = strlen(s);
    tr_obj *o = make(a, TR_OBJ_STR, tr_arena_printf(a, "'%s'", s));
    o->u.s.d = tr_arena_strndup(a, s, n);
    o->u.s.n = (uint32_t)n;
    return o;
}

const tr_obj *tr_obj_none(void) {
    static const tr_obj none = {.kind = TR_OBJ_NONE, .repr = "None"};
    return &none;
}
