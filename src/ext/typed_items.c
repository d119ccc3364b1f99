/* What lies in containers that Python and compiled code share, and whose it is.
 *
 * A container's block is in no frame, and its count is never kept: the object alone has it. What its
 * items refer to are Python's objects, which it keeps: strings and arrays as borrowed parts
 * (rt/layout.h), and for a container in a container, whose block lies in the item, that container's
 * object. So a call need not count for it, whatever it does and however it ends. After a call that may
 * have changed it the items are walked over: what is the frame's, or was an argument, becomes an object
 * that is kept. Containers that lie in others are used by one thread at a time all together.
 * Cost: items that are numbers, nothing; else that walk after each call that may change the container,
 * some 5 ns for an item that was there before. */
#include "ext/typed_items.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ext/compat.h"
#include "ext/lists.h"
#include "rt/fns.h"

bool tr_typed_is(const tr_state *st, const PyObject *o) {
    const PyTypeObject *t = Py_TYPE(o);
    return t == st->typed_list_type || t == st->typed_dict_type || t == st->typed_set_type;
}

/* --- used together --- */

static tr_together *root_of(tr_together *g) {
    while (g->up)
        g = g->up;
    return g;
}

tr_together *tr_typed_root(const tr_typed *t) {
    return root_of(t->together);
}

static void let_go(tr_together *g) {
    while (g && --g->refs == 0) {
        tr_together *up = g->up;
        free(g);
        g = up;
    }
}

/* Nobody else uses either of the two. */
static void put_together(const tr_typed *a, const tr_typed *b) {
    tr_together *x = tr_typed_root(a), *y = tr_typed_root(b);
    if (x == y)
        return;
    y->up = x;
    x->exports += y->exports;
    x->refs++;
}

/* --- making one --- */

static PyTypeObject *class_of(const tr_state *st, const tr_ty *ty) {
    assert((ty->kind == TR_TY_LIST || ty->kind == TR_TY_DICT || ty->kind == TR_TY_SET) && "a container");
    return ty->kind == TR_TY_LIST   ? st->typed_list_type
           : ty->kind == TR_TY_DICT ? st->typed_dict_type
                                    : st->typed_set_type;
}

/* Those of `keys` and `values` go by the type. */
static void take_type(tr_typed *t, const tr_ty *ty) {
    tr_tytab *types = t->st->types;
    bool dict = ty->kind == TR_TY_DICT;
    t->ty = ty;
    t->item = tr_ty_list_item(types, dict ? ty->items[0] : ty, false);
    t->value = dict ? tr_ty_list_item(types, ty->items[1], false) : NULL;
}

static void take_block(tr_typed *t, tr_mem *m) {
    tr_rt_mem_detach(NULL, m);
    m->refs = TR_MEM_FOR_EVER;
    m->of = t;
}

/* The object that has the blocks from here on; they are a frame's. `with`: what it is in; NULL: in
 * nothing. */
static PyObject *object_for(tr_state *st, const tr_ty *ty, tr_mem *mem, tr_mem *values,
                            const tr_typed *with) {
    PyTypeObject *cls = class_of(st, ty);
    tr_together *g = with ? tr_typed_root(with) : calloc(1, sizeof *g);
    tr_typed *t = g ? (tr_typed *)cls->tp_alloc(cls, 0) : NULL;
    if (!t) {
        if (!with)
            free(g);
        return g ? NULL : PyErr_NoMemory();
    }
    g->refs++;
    t->together = g;
    t->st = st;
    take_type(t, ty);
    t->mem = mem;
    t->values = values;
    take_block(t, mem);
    if (values)
        take_block(t, values);
    return (PyObject *)t;
}

PyObject *tr_typed_make(tr_state *st, const tr_ty *ty) {
    tr_frame f;
    bool dict = ty->kind == TR_TY_DICT;
    const tr_ty *key = tr_ty_list_item(st->types, dict ? ty->items[0] : ty, false),
                *value = dict ? tr_ty_list_item(st->types, ty->items[1], false) : NULL;
    const tr_shape *keys = (ty->kind == TR_TY_LIST ? tr_lists_shape : tr_lists_shape_of_keys)(key),
                   *under = dict ? tr_lists_shape(value) : NULL;
    tr_rt_frame_init(&f, &st->host);
    tr_mem *m = !keys                    ? NULL
                : ty->kind == TR_TY_LIST ? tr_rt_list_new(&f, 0, keys)
                                         : tr_rt_dict_new(&f, keys);
    tr_mem *v = under ? tr_rt_list_new(&f, 0, under) : NULL;
    PyObject *r = NULL;
    if (m && (v || !dict))
        r = object_for(st, ty, m, v, NULL);
    else
        PyErr_NoMemory();
    if (r)
        atomic_fetch_add_explicit(&st->allocated, dict ? 2 : 1, memory_order_relaxed);
    tr_rt_frame_fini(&f);
    return r;
}

static uint64_t free_block(tr_mem *m) {
    m->refs = 1;
    return tr_rt_mem_unref(m);
}

void tr_typed_free(tr_typed *t) {
    uint64_t n = 0;
    if (!t->mem)
        return;
    assert(tr_typed_users(t) >= 0 && t->exports == 0 && "who has it has a reference to it");
    n += free_block(t->mem); /* first, as it refers to what is kept */
    if (t->values)
        n += free_block(t->values);
    t->mem = t->values = NULL;
    Py_CLEAR(t->kept);
    let_go(t->together);
    atomic_fetch_add_explicit(&t->st->freed, n, memory_order_relaxed);
}

bool tr_typed_takes(const tr_typed *t, const tr_ty *ty) {
    return t->ty == ty || (!t->item && t->ty->kind == ty->kind);
}

bool tr_typed_become(tr_typed *t, const tr_ty *ty) {
    tr_tytab *types = t->st->types;
    assert(tr_typed_takes(t, ty) && "a container has one type, once it has one");
    bool dict = ty->kind == TR_TY_DICT;
    const tr_ty *key = tr_ty_list_item(types, dict ? ty->items[0] : ty, false);
    const tr_shape *keys = (ty->kind == TR_TY_LIST ? tr_lists_shape : tr_lists_shape_of_keys)(key),
                   *under = dict ? tr_lists_shape(tr_ty_list_item(types, ty->items[1], false)) : NULL;
    if (!keys || (dict && !under)) {
        PyErr_NoMemory();
        return false;
    }
    t->mem->shape = keys;
    if (dict)
        t->values->shape = under;
    take_type(t, ty);
    return true;
}

/* --- what is kept --- */

static bool keep(tr_typed *t, PyObject *o) {
    if (!t->kept && !(t->kept = PyList_New(0)))
        return false;
    return PyList_Append(t->kept, o) == 0;
}

/* A container that lies in this one; False with an exception: another thread uses it. */
static bool keep_container(tr_typed *t, PyObject *o) {
    const tr_typed *x = (const tr_typed *)o;
    if (tr_typed_root(x) != tr_typed_root(t) && tr_typed_users(x)) {
        PyErr_Format(PyExc_RuntimeError, "%s is in use by another thread", tr_typed_name(x));
        return false;
    }
    if (!keep(t, o))
        return false;
    put_together(t, x);
    return true;
}

bool tr_typed_share(tr_typed *t, const tr_typed *from) {
    for (Py_ssize_t i = 0; from->kept && i < PyList_GET_SIZE(from->kept); i++) {
        PyObject *o = PyList_GET_ITEM(from->kept, i);
        if (!(tr_typed_is(t->st, o) ? keep_container : keep)(t, o))
            return false;
    }
    return true;
}

/* --- one value --- */

const tr_ty *tr_typed_type_of(tr_state *st, PyObject *o) {
    if (tr_typed_is(st, o))
        return ((const tr_typed *)o)->ty;
    return tr_items_type(st, o);
}

static bool put_value(tr_typed *t, PyObject *o, const tr_ty *ty, tr_slot **at);

/* Python's list, dict or set as a container of its own with the same items. New reference. */
static PyObject *container_of(tr_typed *t, PyObject *o, const tr_ty *ty) {
    PyTypeObject *cls = class_of(t->st, ty);
    PyObject *r = tr_typed_make(t->st, ty);
    PyObject *done =
        r ? PyObject_CallMethod(r, cls == t->st->typed_list_type ? "extend" : "update", "O", o) : NULL;
    if (!done)
        Py_CLEAR(r);
    Py_XDECREF(done);
    return r;
}

static bool put_container(tr_typed *t, PyObject *o, const tr_ty *ty, tr_slot **at) {
    PyObject *x = tr_typed_is(t->st, o) ? Py_NewRef(o) : container_of(t, o, ty);
    tr_typed *c = (tr_typed *)x;
    bool ok = x && (c->ty == ty || tr_typed_become(c, ty)) && keep_container(t, x);
    if (ok) {
        (*at)++->p = c->mem;
        if (c->values)
            (*at)++->p = c->values;
    }
    Py_XDECREF(x);
    return ok;
}

static bool put_tuple(tr_typed *t, PyObject *o, const tr_ty *ty, tr_slot **at) {
    assert(PyTuple_Check(o) && PyTuple_GET_SIZE(o) == (Py_ssize_t)ty->n && "its type was looked at");
    for (uint32_t i = 0; i < ty->n; i++)
        if (!put_value(t, PyTuple_GET_ITEM(o, i), ty->items[i], at))
            return false;
    return true;
}

/* The parts of a value, whose type `ty` takes. */
static bool put_value(tr_typed *t, PyObject *o, const tr_ty *ty, tr_slot **at) {
    tr_unboxer u = {t->st, tr_typed_name(t), "item", NULL, '-'};
    switch ((tr_tyk)ty->kind) {
    case TR_TY_LIST:
    case TR_TY_SET:
    case TR_TY_DICT: return put_container(t, o, ty, at);
    case TR_TY_TUPLE: return put_tuple(t, o, ty, at);
    case TR_TY_OPT:
        (*at)++->u = o != Py_None;
        if (o != Py_None)
            return put_value(t, o, ty->items[1], at);
        memset(*at, 0, tr_ty_nparts(ty->items[1]) * sizeof **at);
        *at += tr_ty_nparts(ty->items[1]);
        return true;
    default:
        if (!tr_value_unbox(&u, o, ty, at))
            return false;
        return !tr_ty_owners(ty, NULL) || keep(t, o);
    }
}

static bool is_taken(tr_state *st, const tr_ty *from, const tr_ty *item) {
    if (tr_ty_is_scalar(from) && tr_ty_is_scalar(item))
        return tr_ty_accept_scalar((tr_tyk)from->kind, item) >= 0;
    return tr_items_join(st->types, item, from) == item;
}

/* A container that is of nothing yet is taken for any of its kind. */
static bool is_taken_empty(PyObject *o, const tr_typed *t, const tr_ty *item) {
    return tr_typed_is(t->st, o) && tr_typed_takes((const tr_typed *)o, item);
}

static bool tell_type(const tr_typed *t, PyObject *o, const tr_ty *item) {
    tr_sb b;
    tr_sb_init(&b);
    tr_ty_print_user(&b, item);
    PyErr_Format(PyExc_TypeError, "%.200s cannot be an item of a %s of %.300s", Py_TYPE(o)->tp_name,
                 tr_typed_name(t), b.d ? b.d : "");
    tr_sb_fini(&b);
    return false;
}

bool tr_typed_store(tr_typed *t, PyObject *o, const tr_ty *item, void *to) {
    if (item->kind == TR_TY_STRING && PyUnicode_CheckExact(o)) {
        tr_slot *at = to;
        return tr_value_unbox_string(o, &at) && keep(t, o);
    }
    if (tr_ty_is_scalar(item)) {
        unsigned kind = tr_lists_kind(t->st, o);
        if (kind == TR_LISTS_NONE || tr_ty_accept_scalar((tr_tyk)kind, item) < 0)
            return tell_type(t, o, item);
        return tr_lists_store(t->st, o, item, tr_typed_name(t), "item", to);
    }
    const tr_ty *ty = tr_typed_type_of(t->st, o);
    if (!ty || (!is_taken(t->st, ty, item) && !is_taken_empty(o, t, item)))
        return tell_type(t, o, item);
    tr_items it;
    tr_slot *at = NULL;
    bool ok = tr_items_init(&it, item);
    if (ok) {
        at = it.parts;
        memset(it.parts, 0, it.n * sizeof *it.parts);
        ok = put_value(t, o, item, &at);
    }
    if (ok)
        tr_items_store(&it, to);
    tr_items_fini(&it);
    return ok;
}

PyObject *tr_typed_load(const tr_typed *t, const tr_ty *item, const void *from) {
    if (tr_ty_is_scalar(item))
        return tr_lists_item(item, from);
    if (item->kind == TR_TY_STRING)
        return tr_box_string(from);
    tr_items it;
    PyObject *r = NULL;
    if (tr_items_init(&it, item)) {
        const tr_slot *at = tr_items_load(&it, from);
        tr_boxer b = {.st = t->st};
        r = tr_box(&b, item, &at);
    }
    tr_items_fini(&it);
    return r;
}

/* --- keys --- */

static PyObject *as_number(PyObject *o, const tr_ty *key);

static PyObject *as_numbers(PyObject *o, const tr_ty *key) {
    PyObject *r = PyTuple_New((Py_ssize_t)key->n);
    for (uint32_t i = 0; r && i < key->n; i++) {
        PyObject *x = as_number(PyTuple_GET_ITEM(o, i), key->items[i]);
        if (x)
            PyTuple_SET_ITEM(r, i, x);
        else
            Py_CLEAR(r);
    }
    return r;
}

/* A number that is equal to one of the keys' type, where it is another: Python's 1.0 is 1. */
static PyObject *as_number(PyObject *o, const tr_ty *key) {
    if (key->kind == TR_TY_TUPLE && PyTuple_CheckExact(o) && PyTuple_GET_SIZE(o) == (Py_ssize_t)key->n)
        return as_numbers(o, key);
    key = key->kind == TR_TY_OPT ? key->items[1] : key;
    double d = PyFloat_Check(o) ? PyFloat_AS_DOUBLE(o) : 0.5;
    return tr_ty_is_int(key) && isfinite(d) && d == trunc(d) ? PyLong_FromDouble(d) : Py_NewRef(o);
}

int64_t tr_typed_find(tr_typed *t, PyObject *o) {
    tr_slot few[16] = {{0}}, *x = few, *at = few;
    const tr_ty *key = t->item;
    if (!key)
        return PyObject_Hash(o) == -1 && PyErr_Occurred() ? -2 : -1;
    if (key->kind == TR_TY_I64 && PyLong_CheckExact(o) && tr_py_small_int(o, &x->i))
        return tr_rt_dict_find_i64(t->mem, x->u);
    if (key->kind == TR_TY_STRING && PyUnicode_CheckExact(o))
        return tr_value_unbox_string(o, &at) ? tr_rt_dict_find_str(t->mem, x[0].p, x[1].p, x[2].i) : -2;
    if (PyObject_Hash(o) == -1 && PyErr_Occurred())
        return -2;
    PyObject *n = as_number(o, key);
    const tr_ty *ty = n ? tr_typed_type_of(t->st, n) : NULL;
    int64_t e = n ? -1 : -2;
    if (ty && is_taken(t->st, ty, key)) {
        tr_unboxer u = {t->st, tr_typed_name(t), "key", NULL, '-'};
        unsigned parts = tr_ty_nparts(key);
        if (parts > sizeof few / sizeof *few)
            at = x = PyMem_Calloc(parts, sizeof *x);
        if (!x)
            e = -2;
        else if (tr_value_unbox(&u, n, key, &at))
            e = tr_items_find(key, x, t->mem);
        else /* such a number is no key */
            PyErr_Clear();
        if (e == -2)
            PyErr_NoMemory();
        if (x != few)
            PyMem_Free(x);
    }
    Py_XDECREF(n);
    return e;
}

/* --- after a call --- */

/* The walk over a container's items. What they refer to is mostly what they did, in that order. */
typedef struct walk {
    tr_typed *t;
    const tr_boxer *b;
    Py_ssize_t
        same; /* so many of the objects that were kept are met again; `kept` comes with the first other */
    PyObject *kept;  /* what is kept from now on; NULL: those, and what was put behind them */
    PyObject **gone; /* what was kept and is not any more */
    bool changed;    /* parts of the item that is looked at */
} walk;

static bool settle_value(walk *w, const tr_ty *ty, tr_slot **at);

static bool note(walk *w, PyObject *o) {
    PyObject *was = w->t->kept;
    Py_ssize_t n = was ? PyList_GET_SIZE(was) : 0;
    if (!o)
        return false;
    if (!w->kept && w->same < n && PyList_GET_ITEM(was, w->same) == o) {
        w->same++;
        return true;
    }
    if (!w->kept && w->same == n) {
        w->same++;
        return keep(w->t, o);
    }
    if (!w->kept && !(w->kept = PyList_GetSlice(was, 0, w->same)))
        return false;
    return PyList_Append(w->kept, o) == 0;
}

static bool is_object(const void *owner) {
    return (uintptr_t)owner & 1u;
}

/* Characters or an array: of an object; what is a block's, or the code's, becomes one's. */
static bool settle_object(walk *w, const tr_ty *ty, tr_slot *at) {
    if (is_object(at[0].p))
        return note(w, (PyObject *)((uintptr_t)at[0].p & ~(uintptr_t)1));
    const tr_slot *from = at;
    PyObject *o = tr_box(w->b, ty, &from);
    tr_unboxer u = {w->t->st, "", "", NULL, '-'};
    bool ok = o && tr_value_unbox(&u, o, ty, &at) && note(w, o);
    w->changed = true;
    Py_XDECREF(o);
    return ok;
}

/* A container that the call made becomes an object; it may have changed any of them. */
static bool settle_container(walk *w, const tr_ty *ty, tr_slot *at) {
    PyObject *o = Py_XNewRef(tr_typed_of(at[0].p));
    if (!o)
        o = object_for(w->t->st, ty, at[0].p, ty->kind == TR_TY_DICT ? at[1].p : NULL, w->t);
    bool ok = o && note(w, o) && tr_typed_settle((tr_typed *)o, w->b, w->gone);
    if (ok)
        put_together(w->t, (const tr_typed *)o); /* the call has both alone */
    Py_XDECREF(o);
    return ok;
}

static bool settle_value(walk *w, const tr_ty *ty, tr_slot **at) {
    tr_slot *x = *at;
    bool ok = true;
    *at += tr_ty_nparts(ty);
    switch ((tr_tyk)ty->kind) {
    case TR_TY_STRING:
    case TR_TY_BYTES:
    case TR_TY_ARRAY:
    case TR_TY_RECORD:
    case TR_TY_RECORDS:
    case TR_TY_DATES:
    case TR_TY_CHARS: return settle_object(w, ty, x);
    case TR_TY_LIST:
    case TR_TY_SET:
    case TR_TY_DICT: return settle_container(w, ty, x);
    case TR_TY_OPT: {
        tr_slot *in = x + 1;
        return !x->b || settle_value(w, ty->items[1], &in);
    }
    case TR_TY_TUPLE:
        for (uint32_t i = 0; ok && i < ty->n; i++)
            ok = settle_value(w, ty->items[i], &x);
        return ok;
    default: return true;
    }
}

/* Entry e of a list of items, or all that are there; a table says which of its entries are. */
static bool settle_items(walk *w, const tr_list *l, const tr_ty *item, const tr_table *live) {
    tr_items it;
    if (!item || !tr_ty_owners(item, NULL))
        return true;
    bool ok = tr_items_init(&it, item), string = item->kind == TR_TY_STRING;
    int64_t e = live ? tr_rt_table_next(live, 0) : 0;
    while (ok && e >= 0 && e < l->len) {
        char *place = (char *)l->items + e * it.size;
        if (string) { /* whose parts lie as they are handed over */
            ok = settle_object(w, item, (tr_slot *)(void *)place);
            e = live ? tr_rt_table_next(live, e + 1) : e + 1;
            continue;
        }
        tr_items_load(&it, place);
        tr_slot *at = it.parts;
        w->changed = false;
        ok = settle_value(w, item, &at);
        if (ok && w->changed)
            tr_items_store(&it, place);
        e = live ? tr_rt_table_next(live, e + 1) : e + 1;
    }
    tr_items_fini(&it);
    return ok;
}

/* Nothing is in it. */
static void empty(tr_typed *t) {
    if (t->ty->kind == TR_TY_LIST)
        tr_typed_list(t)->len = 0;
    else
        tr_rt_dict_clear(NULL, t->mem, t->values);
}

/* What it kept is `kept` from now on. */
static bool change_kept(tr_typed *t, PyObject *kept, PyObject **gone) {
    PyObject *was = t->kept;
    t->kept = kept;
    if (!*gone)
        *gone = PyList_New(0);
    bool ok = *gone && (!was || PyList_Append(*gone, was) == 0);
    Py_XDECREF(was);
    return ok;
}

bool tr_typed_settle(tr_typed *t, const tr_boxer *b, PyObject **gone) {
    const tr_table *table = t->ty->kind == TR_TY_LIST ? NULL : tr_table_of(t->mem);
    bool objects = t->item && (tr_ty_owners(t->item, NULL) || (t->value && tr_ty_owners(t->value, NULL)));
    if (!objects)
        return true;
    walk w = {.t = t, .b = b, .gone = gone};
    bool ok = settle_items(&w, tr_typed_list(t), t->item, table) &&
              (!t->values || settle_items(&w, tr_mem_data(t->values), t->value, table));
    if (ok && !w.kept && t->kept && w.same < PyList_GET_SIZE(t->kept))
        ok = (w.kept = PyList_GetSlice(t->kept, 0, w.same)) != NULL;
    if (w.kept)
        ok = change_kept(t, w.kept, gone) && ok;
    if (!ok)
        empty(t);
    return ok;
}

bool tr_typed_tidy(tr_typed *t) {
    enum { FEW = 64 };
    if (!t->kept || PyList_GET_SIZE(t->kept) <= FEW)
        return true;
    const tr_table *table = t->ty->kind == TR_TY_LIST ? NULL : tr_table_of(t->mem);
    unsigned each = tr_ty_owners(t->item, NULL) + (t->value ? tr_ty_owners(t->value, NULL) : 0);
    int64_t n = table ? table->live : tr_typed_list(t)->len;
    if (PyList_GET_SIZE(t->kept) <= 2 * n * (int64_t)each + FEW)
        return true;
    tr_boxer b = {.st = t->st};
    PyObject *gone = NULL;
    bool ok = tr_typed_settle(t, &b, &gone);
    Py_XDECREF(gone);
    return ok;
}
