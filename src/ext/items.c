/* Items of lists of Python's that are no single numbers: their type, their way into a list's memory, and
 * whether one has changed.
 *
 * The type is what all items have in common, as of what compiled code puts into a list (ty/cell.c);
 * lists in lists are joined by what they are of, as both are made here. Arrays and strings that lie in a
 * list are borrowed, as arguments are (rt/layout.h); a list that lies in one is a block of the call's,
 * which counts for each place where it lies.
 * Cost: an item is compared with the pattern of the one before it; only one of another pattern has its
 * own made. */
#include "ext/items.h"

#include <assert.h>
#include <string.h>

#include "ext/compat.h"
#include "ext/face.h"
#include "ext/lists.h"
#include "ext/typed_items.h"
#include "rt/fns.h"

bool tr_items_init(tr_items *it, const tr_ty *item) {
    unsigned n = tr_ty_nparts(item);
    *it = (tr_items){.item = item, .n = n};
    it->kinds = PyMem_New(tr_part, n + 1);
    it->lies = PyMem_New(uint32_t, n + 1);
    it->parts = PyMem_New(tr_slot, n + 1);
    if (!it->kinds || !it->lies || !it->parts) {
        PyErr_NoMemory();
        return false;
    }
    it->size = tr_ty_lies(item, it->lies, NULL);
    tr_ty_parts(item, it->kinds);
    return true;
}

void tr_items_fini(tr_items *it) {
    PyMem_Free(it->kinds);
    PyMem_Free(it->lies);
    PyMem_Free(it->parts);
}

const tr_slot *tr_items_load(tr_items *it, const void *from) {
    memset(it->parts, 0, it->n * sizeof *it->parts);
    for (unsigned k = 0; k < it->n; k++)
        memcpy(&it->parts[k], (const char *)from + it->lies[k], tr_part_size(it->kinds[k]));
    return it->parts;
}

void tr_items_store(const tr_items *it, void *to) {
    for (unsigned k = 0; k < it->n; k++)
        memcpy((char *)to + it->lies[k], &it->parts[k], tr_part_size(it->kinds[k]));
}

/* --- types --- */

static const tr_ty *join_lists(tr_tytab *t, const tr_ty *a, const tr_ty *b) {
    const tr_ty *x = tr_ty_list_item(t, a, false), *y = tr_ty_list_item(t, b, false);
    if (!x || !y)
        return x ? a : b;
    const tr_ty *j = tr_items_join(t, x, y);
    return j ? tr_ty_list_of(t, j) : NULL;
}

/* Sets of a type of keys; NULL: of nothing. */
static const tr_ty *set_of(tr_tytab *t, const tr_ty *key) {
    return tr_ty_set_like(t, tr_ty_list_of(t, key));
}

static const tr_ty *join_sets(tr_tytab *t, const tr_ty *a, const tr_ty *b) {
    const tr_ty *x = tr_ty_list_item(t, a, false), *y = tr_ty_list_item(t, b, false);
    if (!x || !y)
        return x ? a : b;
    const tr_ty *j = tr_items_join(t, x, y), *key = j ? tr_ty_as_key(t, j) : NULL;
    return key ? set_of(t, key) : NULL;
}

static const tr_ty *join_tuples(tr_tytab *t, const tr_ty *a, const tr_ty *b) {
    const tr_ty *few[16], **items = a->n <= 16 ? few : PyMem_New(const tr_ty *, a->n);
    bool ok = items != NULL;
    for (uint32_t i = 0; ok && i < a->n; i++)
        ok = (items[i] = tr_items_join(t, a->items[i], b->items[i])) != NULL;
    const tr_ty *r = ok ? tr_ty_like(t, a, items) : NULL;
    if (items != few)
        PyMem_Free((void *)items);
    return r;
}

const tr_ty *tr_items_join(tr_tytab *t, const tr_ty *a, const tr_ty *b) {
    if (a == b)
        return a;
    if (a->kind == TR_TY_LIST && b->kind == TR_TY_LIST)
        return join_lists(t, a, b);
    if (a->kind == TR_TY_SET && b->kind == TR_TY_SET)
        return join_sets(t, a, b);
    if (a->kind == TR_TY_DICT && b->kind == TR_TY_DICT) {
        const tr_ty *k = join_sets(t, a->items[0], b->items[0]), *v = join_lists(t, a->items[1], b->items[1]);
        return k && v ? tr_ty_dict_of(t, k, v) : NULL;
    }
    if (a->kind == TR_TY_DEQUE && b->kind == TR_TY_DEQUE) {
        const tr_ty *of = join_lists(t, a->items[0], b->items[0]);
        return of ? tr_ty_of(t, TR_TY_DEQUE, 0, 2, (const tr_ty *[]){of, a->items[1]}) : NULL;
    }
    if ((a->kind == TR_TY_FACED || a->kind == TR_TY_FROZEN) && b->kind == a->kind && b->sub == a->sub &&
        a->n == 1) {
        const tr_ty *of = tr_items_join(t, a->items[0], b->items[0]);
        return of ? tr_ty_of(t, (tr_tyk)a->kind, a->sub, 1, &of) : NULL;
    }
    if (a->kind == TR_TY_TUPLE && b->kind == TR_TY_TUPLE && a->n == b->n && tr_ty_like(t, a, b->items) == b &&
        (tr_ty_has_lists(a) || tr_ty_has_lists(b)))
        return join_tuples(t, a, b);
    if (a->kind == TR_TY_OPT && b->kind != TR_TY_OPT && b->kind != TR_TY_NONE) {
        const tr_ty *j = tr_items_join(t, a->items[1], b);
        return j ? tr_ty_join(t, a, j, false) : NULL;
    }
    return tr_ty_join(t, a, b, false);
}

/* Of a list whose items all have the pattern of the one before them there is one pattern to be made. */
typedef struct common {
    tr_state *st;
    unsigned lists;
    tr_argk last; /* and its type: */
    const tr_ty *item, *all;
    PyObject *before;
} common;

/* The type of a value that may be an item; NULL: it has none, or cannot be one. */
static const tr_ty *type_of(common *c, PyObject *o) {
    tr_argk_clear(&c->last);
    c->item = NULL;
    if (tr_typed_is(c->st, o) || !tr_value_pattern_in(c->st, o, c->lists, &c->last))
        return NULL;
    tr_argk_forget_strings(&c->last);
    if (tr_argk_has_const(&c->last))
        return NULL;
    c->item = tr_argk_type(c->st->types, &c->last, NULL, NULL);
    return c->item;
}

const tr_ty *tr_items_type(tr_state *st, PyObject *o) {
    common c = {.st = st, .lists = 1};
    const tr_ty *ty = type_of(&c, o);
    tr_argk_clear(&c.last);
    return ty && tr_ty_may_be_item(ty) ? ty : NULL;
}

static bool add(common *c, PyObject *o) {
    if (o == c->before || (c->item && tr_value_matches(c->st, &c->last, o)))
        return true;
    const tr_ty *ty = type_of(c, o);
    c->before = o;
    c->all = !ty ? NULL : c->all ? tr_items_join(c->st->types, c->all, ty) : ty;
    return c->all && tr_ty_may_be_item(c->all);
}

/* An item of a list; of pairs: of each the key or the value. */
typedef enum column { WHOLE, KEY, VALUE } column;

static PyObject *item_at(PyObject *seq, Py_ssize_t i, column which) {
    PyObject *o = PySequence_Fast_GET_ITEM(seq, i);
    return which == WHOLE ? o : PyTuple_GET_ITEM(o, which == VALUE);
}

/* *i: the first item that has nothing in common with those before it, or the end. */
static const tr_ty *in_common(tr_state *st, PyObject *seq, column which, unsigned lists, Py_ssize_t *i) {
    common c = {.st = st, .lists = lists};
    for (*i = 0; *i < PySequence_Fast_GET_SIZE(seq); ++*i)
        if (!add(&c, item_at(seq, *i, which)))
            break;
    bool all = *i == PySequence_Fast_GET_SIZE(seq);
    tr_argk_clear(&c.last);
    return all ? c.all : NULL;
}

const tr_ty *tr_items_of(tr_state *st, PyObject *list, unsigned lists) {
    tr_py_section s;
    Py_ssize_t i;
    tr_py_section_begin(&s, list);
    const tr_ty *r = lists > TR_MAX_LISTS ? NULL : in_common(st, list, WHOLE, lists, &i);
    tr_py_section_end(&s);
    return r;
}

Py_ssize_t tr_items_misfit(tr_state *st, PyObject *list, unsigned lists) {
    Py_ssize_t i;
    in_common(st, list, WHOLE, lists, &i);
    return i;
}

bool tr_items_fit(tr_state *st, PyObject *tuple, const tr_ty *item) {
    Py_ssize_t i;
    const tr_ty *all = in_common(st, tuple, WHOLE, 1, &i);
    return PyTuple_GET_SIZE(tuple) == 0 || (all && tr_items_join(st->types, item, all) == item);
}

/* The type of a dict, or a set, with such items. */
static const tr_ty *table_type(tr_state *st, PyObject *items, bool dict, unsigned lists) {
    Py_ssize_t n = PyList_GET_SIZE(items), i;
    const tr_ty *key = in_common(st, items, dict ? KEY : WHOLE, lists, &i);
    key = key ? tr_ty_as_key(st->types, key) : NULL;
    if (n && !key)
        return NULL;
    const tr_ty *set = set_of(st->types, key), *value = NULL;
    if (!dict)
        return set;
    value = in_common(st, items, VALUE, lists, &i);
    return n && !value ? NULL : tr_ty_dict_of(st->types, set, tr_ty_list_of(st->types, value));
}

/* The type of a deque with such items: its numbers lie in an array (lib/kind_deque.c). */
static const tr_ty *deque_type(tr_state *st, PyObject *items, unsigned lists) {
    Py_ssize_t i;
    const tr_ty *item = in_common(st, items, WHOLE, lists, &i), *it[2];
    if (!item && PyList_GET_SIZE(items))
        return NULL;
    it[0] = tr_ty_list_of(st->types, item);
    it[1] = tr_ty_array(st->types, tr_ty_scalar(st->types, TR_TY_I64), 1, TR_LAYOUT_C, false);
    return tr_ty_of(st->types, TR_TY_DEQUE, 0, 2, it);
}

const tr_ty *tr_items_table_of(tr_state *st, PyObject *o, unsigned lists) {
    PyObject *items = tr_face_items(o);
    bool deque = tr_face_is_deque(st, o);
    const tr_ty *r = !items  ? NULL
                     : deque ? deque_type(st, items, lists)
                             : table_type(st, items, tr_face_is_dict(o), lists);
    r = r && !deque ? tr_face_type(st, o, r) : r;
    Py_XDECREF(items);
    PyErr_Clear();
    return r;
}

bool tr_items_fit_table(tr_state *st, PyObject *items, const tr_ty *ty) {
    ty = tr_face_plain(ty);
    const tr_ty *is =
        ty->kind == TR_TY_DEQUE ? deque_type(st, items, 1) : table_type(st, items, ty->kind == TR_TY_DICT, 1);
    return is && tr_items_join(st->types, ty, is) == ty;
}

int tr_items_cost(tr_tytab *t, const tr_ty *from, const tr_ty *to) {
    if (from == to)
        return 0;
    if (tr_ty_is_scalar(from))
        return tr_ty_accept_scalar((tr_tyk)from->kind, to);
    if (from->kind == TR_TY_LIST && to->kind == TR_TY_LIST) {
        const tr_ty *x = tr_ty_list_item(t, from, false), *y = tr_ty_list_item(t, to, false);
        return !y ? -1 : !x ? 1 : tr_items_cost(t, x, y);
    }
    if (from->kind == TR_TY_TUPLE && to->kind == TR_TY_TUPLE && from->n == to->n && !from->fields &&
        !to->fields) {
        int total = 0;
        for (uint32_t i = 0; i < from->n && total >= 0; i++) {
            int c = tr_items_cost(t, from->items[i], to->items[i]);
            total = c < 0 ? -1 : total + c;
        }
        return total;
    }
    return tr_ty_accept(from, to);
}

/* Of keys that no class of the runtime's is for: by its name, as code has it. */
static const tr_shape *named_shape(const tr_ty *key, uint32_t size, unsigned n, const uint32_t *at) {
    tr_sb name;
    tr_sb_init(&name);
    tr_sb_printf(&name, TR_SHAPE_NAME "_%u", size);
    for (unsigned k = 0; k < n; k++)
        tr_sb_printf(&name, "_%u", at[k]);
    tr_ty_key_words(key, &name);
    const tr_shape *s = name.oom ? NULL : tr_rt_shape_named(name.d);
    tr_sb_fini(&name);
    return s;
}

const tr_shape *tr_items_shape(const tr_ty *item, bool keys) {
    uint32_t few[64], *at = few;
    unsigned np = tr_ty_nparts(item), n = tr_ty_owners(item, NULL);
    if (np + n > 64 && !(at = PyMem_New(uint32_t, np + n)))
        return NULL;
    uint32_t size = tr_ty_lies(item, at, NULL), *own = at + np;
    tr_ty_owners(item, own);
    for (unsigned k = 0; k < n; k++)
        own[k] = at[own[k]];
    const tr_shape *s = keys && tr_ty_key_class(item) == TR_KEYS_ANY ? named_shape(item, size, n, own)
                                                                     : tr_rt_shape(size, n, own);
    if (at != few)
        PyMem_Free(at);
    return s;
}

/* --- in --- */

bool tr_items_fill(const tr_unboxer *u, PyObject *tuple, const tr_ty *item, const tr_shape *shape, char *to) {
    tr_items it;
    bool ok = tr_items_init(&it, item);
    assert((!ok || it.size == shape->size) && "items lie as compiled code has them");
    for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(tuple); i++) {
        tr_slot *at = it.parts;
        char *place = to + i * it.size;
        memset(it.parts, 0, it.n * sizeof *it.parts);
        ok = tr_value_unbox(u, PyTuple_GET_ITEM(tuple, i), item, &at);
        if (ok) {
            tr_items_store(&it, place);
            tr_rt_items_keep(shape, place, 1);
        } else if (!PyErr_ExceptionMatches(PyExc_MemoryError)) { /* once more, for the message */
            char path[256];
            tr_unboxer named = *u;
            snprintf(path, sizeof path, "%.200s[%lld]", u->arg, (long long)i);
            named.arg = path;
            at = it.parts;
            PyErr_Clear();
            if (tr_value_unbox(&named, PyTuple_GET_ITEM(tuple, i), item, &at))
                PyErr_Format(PyExc_RuntimeError, "%s(): argument '%s' changes while it is read", u->fn, path);
        }
    }
    tr_items_fini(&it);
    return ok;
}

/* What the runtime has for each class of keys whose parts are an entry's arguments: a macro's argument gets
 * the class and a key's parts. Strings are borrowed, as arguments are. */
#define BY_CLASS(key, DO)                                                \
    switch (tr_ty_key_class(key)) {                                      \
    case TR_KEYS_BOOL: DO(bool, k[0].b); break;                          \
    case TR_KEYS_I64: DO(i64, k[0].u); break;                            \
    case TR_KEYS_F64: DO(f64, k[0].f); break;                            \
    case TR_KEYS_C128: DO(c128, k[0].f, k[1].f); break;                  \
    case TR_KEYS_2I64: DO(2i64, k[0].u, k[1].u); break;                  \
    case TR_KEYS_STRING: DO(str, k[0].p, k[1].p, k[2].i); break;         \
    case TR_KEYS_ANY: assert(false && "keys that lie in memory"); break; \
    }

/* A key in memory of its own, `few` where there is room; NULL without memory. */
static char *laid(const tr_ty *key, const tr_slot *k, char *few, size_t room) {
    tr_items it;
    char *to = NULL;
    if (tr_items_init(&it, key)) {
        memcpy(it.parts, k, it.n * sizeof *k);
        to = it.size <= room ? few : PyMem_Malloc(it.size);
        if (to)
            tr_items_store(&it, to);
    }
    tr_items_fini(&it);
    return to;
}

int64_t tr_items_find(const tr_ty *key, const tr_slot *k, const void *t) {
    int64_t e = -1;
    if (tr_ty_key_class(key) == TR_KEYS_ANY) {
        char few[256], *at = laid(key, k, few, sizeof few);
        e = at ? tr_rt_dict_find_any(t, at) : -2;
        if (at != few)
            PyMem_Free(at);
        return e;
    }
#define FIND(cls, ...) e = tr_rt_dict_find_##cls(t, __VA_ARGS__)
    BY_CLASS(key, FIND)
    return e;
}

int64_t tr_items_enter_key(const tr_ty *key, const tr_slot *k, void *t, void *values) {
    int64_t e = -1;
    if (tr_ty_key_class(key) == TR_KEYS_ANY) {
        char few[256], *at = laid(key, k, few, sizeof few);
        e = at ? tr_rt_dict_find_any(t, at) : -1;
        e = at && e < 0 ? tr_rt_dict_enter_any(t, at, values) : e;
        if (at != few)
            PyMem_Free(at);
        return e;
    }
    e = tr_items_find(key, k, t);
    if (e >= 0)
        return e;
#define ENTER(cls, ...) e = tr_rt_dict_enter_##cls(t, __VA_ARGS__, values)
    BY_CLASS(key, ENTER)
    return e;
}

void tr_items_leave(const tr_ty *key, tr_frame *f, void *t, int64_t e, void *values) {
    if (tr_ty_key_class(key) == TR_KEYS_ANY) {
        tr_rt_dict_leave_any(f, t, e, values);
        return;
    }
#define LEAVE(cls, ...) tr_rt_dict_leave_##cls(f, t, e, values)
    BY_CLASS(key, LEAVE)
}

/* One key, and its value. */
static bool enter_one(const tr_unboxer *u, PyObject *k, PyObject *v, tr_items *key, tr_items *value,
                      void *table, void *values) {
    tr_slot *at = key->parts, *to = value->parts;
    memset(key->parts, 0, key->n * sizeof *key->parts);
    if (!tr_value_unbox(u, k, key->item, &at))
        return false;
    memset(value->parts, 0, value->n * sizeof *value->parts);
    if (v && !tr_value_unbox(u, v, value->item, &to))
        return false;
    int64_t e = tr_items_enter_key(key->item, key->parts, table, values);
    if (e < 0) {
        PyErr_NoMemory();
        return false;
    }
    if (v) {
        const tr_shape *s = ((const tr_mem *)values)->shape;
        char *place = (char *)tr_list_of(values)->items + e * value->size;
        tr_items_store(value, place);
        tr_rt_items_keep(s, place, 1);
    }
    return true;
}

bool tr_items_enter(const tr_unboxer *u, PyObject *items, const tr_ty *ty, void *table, void *values) {
    const tr_ty *set = values ? ty->items[0] : ty;
    tr_items key, value = {0};
    bool ok = tr_items_init(&key, set->items[0]) &&
              tr_items_init(&value, values ? ty->items[1]->items[0] : set->items[0]);
    for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(items); i++)
        ok = enter_one(u, item_at(items, i, values ? KEY : WHOLE), values ? item_at(items, i, VALUE) : NULL,
                       &key, &value, table, values);
    tr_items_fini(&key);
    tr_items_fini(&value);
    return ok;
}

/* --- back --- */

/* The array that was passed, as it was: what owns the parts is the object. */
static bool same_array(PyObject *o, const tr_ty *ty, const tr_slot *at) {
    tr_slot now[2 + 2 * TR_MAX_NDIM], *end = now;
    if (at[0].u != ((uintptr_t)o | 1u) || !PyArray_Check(o) || PyArray_NDIM((PyArrayObject *)o) != ty->ndim)
        return false;
    if (!tr_value_unbox_array((PyArrayObject *)o, ty, "", "", &end)) {
        PyErr_Clear();
        return false;
    }
    return memcmp(now, at, (size_t)(end - now) * sizeof *now) == 0;
}

static bool same_bytes(PyObject *o, const tr_slot *at) {
    tr_str s = {at[0].p, at[1].p, at[2].i};
    return at[0].u == ((uintptr_t)o | 1u) && PyBytes_CheckExact(o) && s.data == PyBytes_AS_STRING(o) &&
           tr_str_len(&s) == PyBytes_GET_SIZE(o);
}

static bool same_string(PyObject *o, const tr_slot *at) {
    tr_slot now[3], *end = now;
    if (at[0].u != ((uintptr_t)o | 1u) || !PyUnicode_CheckExact(o))
        return false;
    return tr_value_unbox_string(o, &end) && memcmp(now, at, sizeof now) == 0;
}

static bool same_tuple(const tr_held *h, PyObject *o, const tr_ty *ty, const tr_slot *at) {
    if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) != (Py_ssize_t)ty->n)
        return false;
    for (uint32_t i = 0; i < ty->n; i++)
        if (!tr_items_same(h, PyTuple_GET_ITEM(o, i), ty->items[i], &at))
            return false;
    return true;
}

bool tr_items_same(const tr_held *h, PyObject *o, const tr_ty *ty, const tr_slot **at) {
    const tr_slot *x = *at;
    *at += tr_ty_nparts(ty);
    switch ((tr_tyk)ty->kind) {
    case TR_TY_NONE: return o == Py_None;
    case TR_TY_OPT: x++; return x[-1].b ? tr_items_same(h, o, ty->items[1], &x) : o == Py_None;
    case TR_TY_TUPLE: return same_tuple(h, o, ty, x);
    case TR_TY_STRING: return same_string(o, x);
    case TR_TY_BYTES: return same_bytes(o, x);
    case TR_TY_ARRAY: return same_array(o, ty, x);
    case TR_TY_RECORDS:
    case TR_TY_DATES: return same_array(o, ty->items[0], x);
    case TR_TY_LIST:
    case TR_TY_SET:
    case TR_TY_FACED:
    case TR_TY_FROZEN:
    case TR_TY_DEQUE:
    case TR_TY_DICT: return tr_held_find(h, x[0].p) == o;
    default: return tr_ty_is_scalar(ty) && tr_lists_is(h->st, o, ty, x);
    }
}
