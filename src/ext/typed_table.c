/* treadle.typed.Dict and treadle.typed.Set: tables that Python and compiled code share without a copy.
 *
 * The object has a table's block, and a dict's values beside it (rt/dict.c), which calls get as their
 * argument (lists.c); typed_items.c says what becomes of what items refer to. What has to be fast is
 * here; the rest of a mapping's and a set's methods is Python's own, of collections.abc
 * (python/treadle/typed).
 * Cost: a look-up, and the object that is made. */
#include "ext/typed.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ext/compat.h"
#include "ext/lists.h"
#include "ext/typed_items.h"
#include "ext/types.h"
#include "rt/fns.h"

static tr_typed *self_of(PyObject *o) {
    return (tr_typed *)o;
}

static bool is_dict(const tr_typed *t) {
    return t->ty->kind == TR_TY_DICT;
}

static bool is_used(const tr_typed *t) {
    PyErr_Format(PyExc_RuntimeError, "%s is in use by another thread", tr_typed_name(t));
    return false;
}

static bool may_read(const tr_typed *t) {
    return __builtin_expect(tr_typed_users(t) >= 0, 1) || is_used(t);
}

static bool may_write(const tr_typed *t) {
    return __builtin_expect(tr_typed_users(t) == 0, 1) || is_used(t);
}

static tr_table *table_of(const tr_typed *t) {
    return tr_table_of(t->mem);
}

static char *place(tr_mem *block, int64_t e) {
    return (char *)tr_list_of(block)->items + e * block->shape->size;
}

static PyObject *key_at(const tr_typed *t, int64_t e) {
    return tr_typed_load(t, t->item, place(t->mem, e));
}

static PyObject *value_at(const tr_typed *t, int64_t e) {
    return tr_typed_load(t, t->value, place(t->values, e));
}

static void dealloc(PyObject *self) {
    PyTypeObject *tp = Py_TYPE(self);
    tr_typed_free(self_of(self));
    tp->tp_free(self);
    Py_DECREF(tp);
}

/* --- types --- */

/* The keys of a value's type here. NULL: it has none. */
static const tr_ty *as_key(tr_state *st, const tr_ty *ty) {
    return ty ? tr_ty_as_key(st->types, ty) : NULL;
}

/* NULL with an exception. */
static const tr_ty *key_type(tr_state *st, PyObject *o) {
    const tr_ty *ty = tr_types_from(st, o), *key = as_key(st, ty);
    if (ty && !key)
        PyErr_Format(PyExc_TypeError, "%R is no type of keys", o);
    return key;
}

static const tr_ty *type_with(tr_tytab *t, bool dict, const tr_ty *key, const tr_ty *value) {
    const tr_ty *set = tr_ty_set_like(t, tr_ty_list_of(t, key));
    return dict ? tr_ty_dict_of(t, set, tr_ty_list_of(t, value)) : set;
}

/* Of nothing yet, it is of such keys and values from now on. */
static bool take_types(tr_typed *t, PyObject *k, PyObject *v) {
    if (t->item)
        return true;
    const tr_ty *ty = tr_typed_type_of(t->st, k), *key = as_key(t->st, ty),
                *value = v ? tr_typed_type_of(t->st, v) : NULL;
    if (key && (value || !v))
        return tr_typed_become(t, type_with(t->st->types, v != NULL, key, value));
    PyErr_Format(PyExc_TypeError, "%.200s cannot be %s of a %s", Py_TYPE(key ? v : k)->tp_name,
                 key ? "a value"
                 : v ? "a key"
                     : "an item",
                 tr_typed_name(t));
    return false;
}

/* --- entries --- */

static PyObject *no_key(PyObject *key) {
    PyObject *args = PyTuple_Pack(1, key);
    if (args)
        PyErr_SetObject(PyExc_KeyError, args);
    Py_XDECREF(args);
    return NULL;
}

/* A new entry for a key that is not there, with a value that lies in `from`. */
static bool enter_new(tr_typed *t, PyObject *k, const char *from) {
    char few[64], *lies = few;
    tr_items it;
    bool ok = tr_items_init(&it, t->item);
    if (ok && it.size > sizeof few && !(lies = PyMem_Malloc(it.size))) {
        PyErr_NoMemory();
        ok = false;
    }
    ok = ok && tr_typed_store(t, k, t->item, lies);
    int64_t e = ok ? tr_items_enter_key(t->item, tr_items_load(&it, lies), t->mem, t->values) : -1;
    if (ok && e < 0)
        PyErr_NoMemory();
    if (lies != few)
        PyMem_Free(lies);
    tr_items_fini(&it);
    if (e >= 0 && t->values)
        memcpy(place(t->values, e), from, t->values->shape->size);
    return e >= 0;
}

/* Sets the key's value, if there are any; its entry is made where there is none. */
static bool enter(tr_typed *t, PyObject *k, PyObject *v) {
    char few[128], *value = few;
    if (!may_write(t) || !take_types(t, k, v))
        return false;
    size_t size = v ? t->values->shape->size : 0;
    int64_t e = tr_typed_find(t, k);
    if (e < -1 || (size > sizeof few && !(value = malloc(size))))
        return e < -1 ? false : (PyErr_NoMemory(), false);
    bool ok = !v || tr_typed_store(t, v, t->value, value);
    if (ok && e < 0)
        ok = enter_new(t, k, value);
    else if (ok && v)
        memcpy(place(t->values, e), value, size);
    if (value != few)
        free(value);
    return ok && tr_typed_tidy(t);
}

static void leave(tr_typed *t, int64_t e) {
    tr_frame f;
    tr_rt_frame_init(&f, &t->st->host);
    tr_items_leave(t->item, &f, t->mem, e, t->values);
    tr_rt_frame_fini(&f);
}

static Py_ssize_t length(PyObject *self) {
    const tr_typed *t = self_of(self);
    return may_read(t) ? (Py_ssize_t)table_of(t)->live : -1;
}

static int contains(PyObject *self, PyObject *key) {
    tr_typed *t = self_of(self);
    int64_t e = may_read(t) ? tr_typed_find(t, key) : -2;
    return e < -1 ? -1 : e >= 0;
}

static PyObject *subscript(PyObject *self, PyObject *key) {
    tr_typed *t = self_of(self);
    int64_t e = may_read(t) ? tr_typed_find(t, key) : -2;
    return e >= 0 ? value_at(t, e) : e == -1 ? no_key(key) : NULL;
}

/* 1; 0: there is no such key; -1 with an exception. */
static int discard(tr_typed *t, PyObject *key) {
    int64_t e = may_write(t) ? tr_typed_find(t, key) : -2;
    if (e < 0)
        return e == -1 ? 0 : -1;
    leave(t, e);
    return tr_typed_tidy(t) ? 1 : -1;
}

static int assign_subscript(PyObject *self, PyObject *key, PyObject *v) {
    if (v)
        return enter(self_of(self), key, v) ? 0 : -1;
    int r = discard(self_of(self), key);
    if (r == 0)
        no_key(key);
    return r > 0 ? 0 : -1;
}

static PyObject *dict_get(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    tr_typed *t = self_of(self);
    if (n < 1 || n > 2)
        return PyErr_Format(PyExc_TypeError, "get expected 1 or 2 arguments, got %zd", n);
    int64_t e = may_read(t) ? tr_typed_find(t, args[0]) : -2;
    return e >= 0 ? value_at(t, e) : e < -1 ? NULL : Py_NewRef(n == 2 ? args[1] : Py_None);
}

static PyObject *dict_pop(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    tr_typed *t = self_of(self);
    if (n < 1 || n > 2)
        return PyErr_Format(PyExc_TypeError, "pop expected 1 or 2 arguments, got %zd", n);
    int64_t e = may_write(t) ? tr_typed_find(t, args[0]) : -2;
    if (e < 0)
        return e < -1 ? NULL : n == 2 ? Py_NewRef(args[1]) : no_key(args[0]);
    PyObject *r = value_at(t, e);
    if (r) {
        leave(t, e);
        if (!tr_typed_tidy(t))
            Py_CLEAR(r);
    }
    return r;
}

static PyObject *dict_popitem(PyObject *self, PyObject *unused) {
    tr_typed *t = self_of(self);
    (void)unused;
    if (!may_write(t))
        return NULL;
    if (!table_of(t)->live) {
        PyErr_SetString(PyExc_KeyError, "popitem(): dictionary is empty");
        return NULL;
    }
    int64_t e = table_of(t)->keys.len - 1; /* the last entry is always there */
    PyObject *k = key_at(t, e), *v = k ? value_at(t, e) : NULL, *r = v ? PyTuple_Pack(2, k, v) : NULL;
    if (r) {
        leave(t, e);
        if (!tr_typed_tidy(t))
            Py_CLEAR(r);
    }
    Py_XDECREF(k);
    Py_XDECREF(v);
    return r;
}

static PyObject *set_add(PyObject *self, PyObject *key) {
    if (!enter(self_of(self), key, NULL))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *set_discard(PyObject *self, PyObject *key) {
    if (discard(self_of(self), key) < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* --- the whole of it --- */

/* Its keys in their order, of a dict with their values where `pairs`. */
static PyObject *entries(const tr_typed *t, bool pairs) {
    if (!may_read(t))
        return NULL;
    PyObject *r = PyList_New(0);
    for (int64_t e = tr_rt_table_next(table_of(t), 0); r && e >= 0;
         e = tr_rt_table_next(table_of(t), e + 1)) {
        PyObject *x = key_at(t, e), *v = x && pairs ? value_at(t, e) : NULL;
        if (v)
            Py_SETREF(x, PyTuple_Pack(2, x, v));
        else if (pairs)
            Py_CLEAR(x);
        Py_XDECREF(v);
        if (!x || PyList_Append(r, x) < 0)
            Py_CLEAR(r);
        Py_XDECREF(x);
    }
    return r;
}

static PyObject *get_keys(PyObject *self, PyObject *unused) {
    (void)unused;
    return entries(self_of(self), false);
}

static PyObject *get_entries(PyObject *self, PyObject *unused) {
    (void)unused;
    return entries(self_of(self), is_dict(self_of(self)));
}

static PyObject *clear(PyObject *self, PyObject *unused) {
    tr_typed *t = self_of(self);
    (void)unused;
    if (!may_write(t))
        return NULL;
    tr_frame f;
    tr_rt_frame_init(&f, &t->st->host);
    tr_rt_dict_clear(&f, t->mem, t->values);
    tr_rt_frame_fini(&f);
    Py_CLEAR(t->kept);
    Py_RETURN_NONE;
}

static bool add_pairs(tr_typed *t, PyObject *pairs) {
    bool ok = true;
    for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(pairs); i++) {
        PyObject *x = Py_NewRef(PyList_GET_ITEM(pairs, i));
        ok = is_dict(t) ? enter(t, PyTuple_GET_ITEM(x, 0), PyTuple_GET_ITEM(x, 1)) : enter(t, x, NULL);
        Py_DECREF(x);
    }
    return ok;
}

/* What dict() takes, or set(); a dict's items are Python's to make. */
static bool update(tr_typed *t, PyObject *args, PyObject *kw) {
    PyObject *all = is_dict(t) ? PyObject_Call((PyObject *)&PyDict_Type, args, kw) : NULL;
    PyObject *list = !is_dict(t) ? PyList_New(0) : all ? PyDict_Items(all) : NULL;
    for (Py_ssize_t i = 0; !is_dict(t) && list && i < PyTuple_GET_SIZE(args); i++) {
        PyObject *done = PyObject_CallMethod(list, "extend", "O", PyTuple_GET_ITEM(args, i));
        if (!done)
            Py_CLEAR(list);
        Py_XDECREF(done);
    }
    bool ok = list && add_pairs(t, list);
    Py_XDECREF(all);
    Py_XDECREF(list);
    return ok;
}

static PyObject *method_update(PyObject *self, PyObject *args, PyObject *kw) {
    if (!update(self_of(self), args, kw))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *copy(PyObject *self, PyObject *unused) {
    const tr_typed *t = self_of(self);
    (void)unused;
    PyObject *all = entries(t, is_dict(t)), *r = all ? tr_typed_make(t->st, t->ty) : NULL;
    if (r && !add_pairs(self_of(r), all))
        Py_CLEAR(r);
    Py_XDECREF(all);
    return r;
}

/* --- text --- */

static PyObject *as_python(const tr_typed *t) {
    PyObject *all = entries(t, is_dict(t));
    PyObject *r = !all         ? NULL
                  : is_dict(t) ? PyObject_CallOneArg((PyObject *)&PyDict_Type, all)
                               : PySet_New(all);
    Py_XDECREF(all);
    return r;
}

static PyObject *text(PyObject *self) {
    PyObject *x = as_python(self_of(self)), *r = x ? PyObject_Repr(x) : NULL;
    Py_XDECREF(x);
    return r;
}

static PyObject *repr(PyObject *self) {
    const tr_typed *t = self_of(self);
    PyObject *all = text(self), *key = t->item ? tr_types_object(t->st, t->item) : NULL;
    PyObject *value = t->value ? tr_types_object(t->st, t->value) : NULL, *r = NULL;
    if (all && !t->item)
        r = PyUnicode_FromFormat("%s[Undefined](%U)", is_dict(t) ? "DictType" : "SetType", all);
    else if (all && key && value)
        r = PyUnicode_FromFormat("DictType[%R,%R](%U)", key, value, all);
    else if (all && key && !t->value)
        r = PyUnicode_FromFormat("SetType[%R](%U)", key, all);
    Py_XDECREF(all);
    Py_XDECREF(key);
    Py_XDECREF(value);
    return r;
}

/* --- from outside --- */

static PyObject *make_new(PyTypeObject *cls, bool dict, PyObject *args, PyObject *kw) {
    tr_state *st = PyType_GetModuleState(cls);
    if (PyTuple_GET_SIZE(args) > 1)
        return PyErr_Format(PyExc_TypeError, "%s expected at most 1 argument, got %zd", dict ? "Dict" : "Set",
                            PyTuple_GET_SIZE(args));
    PyObject *r = tr_typed_make(st, type_with(st->types, dict, NULL, NULL));
    if (r && (PyTuple_GET_SIZE(args) || kw) && !update(self_of(r), args, kw))
        Py_CLEAR(r);
    return r;
}

static PyObject *dict_new(PyTypeObject *cls, PyObject *args, PyObject *kw) {
    return make_new(cls, true, args, kw);
}

static PyObject *set_new(PyTypeObject *cls, PyObject *args, PyObject *kw) {
    if (kw && PyDict_GET_SIZE(kw))
        return PyErr_Format(PyExc_TypeError, "Set() takes no keyword arguments");
    return make_new(cls, false, args, NULL);
}

/* `value`: of a dict. */
static PyObject *make_empty(PyObject *cls, PyObject *key, PyObject *value) {
    tr_state *st = PyType_GetModuleState((PyTypeObject *)cls);
    const tr_ty *k = key_type(st, key), *v = k && value ? tr_types_from(st, value) : NULL;
    if (v && !tr_ty_may_be_item(v)) {
        PyErr_Format(PyExc_TypeError, "%R is no type of a typed.Dict's values", value);
        return NULL;
    }
    return k && (v || !value) ? tr_typed_make(st, type_with(st->types, value != NULL, k, v)) : NULL;
}

static PyObject *dict_empty(PyObject *cls, PyObject *args, PyObject *kw) {
    PyObject *key, *value;
    Py_ssize_t n = 0;
    static char *names[] = {"key_type", "value_type", "n_keys", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kw, "OO|n:empty", names, &key, &value, &n))
        return NULL;
    return make_empty(cls, key, value);
}

static PyObject *set_empty(PyObject *cls, PyObject *args, PyObject *kw) {
    PyObject *key;
    Py_ssize_t n = 0;
    static char *names[] = {"item_type", "n_keys", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kw, "O|n:empty", names, &key, &n))
        return NULL;
    return make_empty(cls, key, NULL);
}

/* What __reduce__ names: the types, None of what is of nothing yet, and the entries. */
static PyObject *from_parts(PyObject *cls, PyObject *args) {
    PyObject *key, *value, *all;
    tr_state *st = PyType_GetModuleState((PyTypeObject *)cls);
    bool dict = (PyTypeObject *)cls == st->typed_dict_type;
    if (!PyArg_ParseTuple(args, "OOO!:_from", &key, &value, &PyList_Type, &all))
        return NULL;
    PyObject *r = key == Py_None ? tr_typed_make(st, type_with(st->types, dict, NULL, NULL))
                                 : make_empty(cls, key, dict ? value : NULL);
    if (r && !add_pairs(self_of(r), all))
        Py_CLEAR(r);
    return r;
}

static PyObject *type_or_none(const tr_typed *t, const tr_ty *ty) {
    return ty ? tr_types_object(t->st, ty) : Py_NewRef(Py_None);
}

static PyObject *reduce(PyObject *self, PyObject *unused) {
    const tr_typed *t = self_of(self);
    (void)unused;
    PyObject *make = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "_from"),
             *key = type_or_none(t, t->item);
    PyObject *value = type_or_none(t, t->value), *all = entries(t, is_dict(t));
    PyObject *r = make && key && value && all ? Py_BuildValue("O(OOO)", make, key, value, all) : NULL;
    Py_XDECREF(make);
    Py_XDECREF(key);
    Py_XDECREF(value);
    Py_XDECREF(all);
    return r;
}

static PyObject *get_key_type(PyObject *self, void *unused) {
    (void)unused;
    return type_or_none(self_of(self), self_of(self)->item);
}

static PyObject *get_value_type(PyObject *self, void *unused) {
    (void)unused;
    return type_or_none(self_of(self), self_of(self)->value);
}

static PyObject *get_typed(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(self_of(self)->item != NULL);
}

/* --- one thread at a time, where there is no GIL --- */

#define LOCKED(type, name, params, ...) \
    static type locked_##name params {  \
        tr_py_section s;                \
        tr_py_section_begin(&s, self);  \
        type r = name(__VA_ARGS__);     \
        tr_py_section_end(&s);          \
        return r;                       \
    }
LOCKED(PyObject *, subscript, (PyObject * self, PyObject *k), self, k)
LOCKED(int, assign_subscript, (PyObject * self, PyObject *k, PyObject *v), self, k, v)
LOCKED(int, contains, (PyObject * self, PyObject *k), self, k)
LOCKED(PyObject *, dict_get, (PyObject * self, PyObject *const *a, Py_ssize_t n), self, a, n)
LOCKED(PyObject *, dict_pop, (PyObject * self, PyObject *const *a, Py_ssize_t n), self, a, n)
LOCKED(PyObject *, dict_popitem, (PyObject * self, PyObject *x), self, x)
LOCKED(PyObject *, set_add, (PyObject * self, PyObject *x), self, x)
LOCKED(PyObject *, set_discard, (PyObject * self, PyObject *x), self, x)
LOCKED(PyObject *, get_keys, (PyObject * self, PyObject *x), self, x)
LOCKED(PyObject *, get_entries, (PyObject * self, PyObject *x), self, x)
LOCKED(PyObject *, clear, (PyObject * self, PyObject *x), self, x)
LOCKED(PyObject *, copy, (PyObject * self, PyObject *x), self, x)
LOCKED(PyObject *, reduce, (PyObject * self, PyObject *x), self, x)
LOCKED(PyObject *, method_update, (PyObject * self, PyObject *args, PyObject *kw), self, args, kw)

static PyGetSetDef getset[] = {
    {"_key_type", get_key_type, NULL, "Type of the keys; None: not known yet.", NULL},
    {"_value_type", get_value_type, NULL, "Type of a dict's values; None: not known yet.", NULL},
    {"_typed", get_typed, NULL, "It is known what it is of.", NULL},
    {0},
};

#define COMMON                                                                                              \
    {"update", (PyCFunction)(void (*)(void))locked_method_update, METH_VARARGS | METH_KEYWORDS,             \
     "Add all entries of others."},                                                                         \
        {"clear", locked_clear, METH_NOARGS, "clear($self, /)\n--\n\nTake all entries out."},               \
        {"copy", locked_copy, METH_NOARGS, "copy($self, /)\n--\n\nAnother one with the same entries."},     \
        {"_keys", locked_get_keys, METH_NOARGS, NULL}, {"_entries", locked_get_entries, METH_NOARGS, NULL}, \
        {"_from", from_parts, METH_VARARGS | METH_CLASS, NULL},                                             \
        {"__copy__", locked_copy, METH_NOARGS, NULL}, {"__reduce__", locked_reduce, METH_NOARGS, NULL}, {   \
        "__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, NULL                                     \
    }

static PyMethodDef dict_methods[] = {
    {"get", (PyCFunction)(void (*)(void))locked_dict_get, METH_FASTCALL,
     "get($self, key, default=None, /)\n--\n\nThe key's value, or the default."},
    {"pop", (PyCFunction)(void (*)(void))locked_dict_pop, METH_FASTCALL,
     "Take an entry out: its value, or the default if there is none, or else KeyError."},
    {"popitem", locked_dict_popitem, METH_NOARGS, "popitem($self, /)\n--\n\nTake the last entry out."},
    {"empty", (PyCFunction)(void (*)(void))dict_empty, METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "empty($type, /, key_type, value_type, n_keys=0)\n--\n\nA dict of such types."},
    COMMON,
    {0},
};

static PyMethodDef set_methods[] = {
    {"add", locked_set_add, METH_O, "add($self, item, /)\n--\n\nPut an item in."},
    {"discard", locked_set_discard, METH_O,
     "discard($self, item, /)\n--\n\nTake an item out, if it is there."},
    {"empty", (PyCFunction)(void (*)(void))set_empty, METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "empty($type, /, item_type, n_keys=0)\n--\n\nA set of such items."},
    COMMON,
    {0},
};

PyDoc_STRVAR(
    dict_doc,
    "Dict(mapping=(), /, **items)\n--\n\n"
    "A dict that Python and compiled code share without a copy: its keys are numbers, strings or pairs\n"
    "of integers, its values what a `List` may be of.\n\n"
    "Parameters\n----------\n"
    "mapping\n    A mapping, or pairs. The first entry says the types.\n\n"
    "Raises\n------\n"
    "TypeError\n    A key or a value is not of the dict's types.\n"
    "KeyError\n    There is no such key.\n"
    "RuntimeError\n    Another thread's call changes it, or reads what would be changed.\n\n"
    "Examples\n--------\n"
    ">>> treadle.typed.Dict({\"a\": 1.5})\nDictType[str,float64]({'a': 1.5})");

PyDoc_STRVAR(set_doc,
             "Set(iterable=(), /)\n--\n\n"
             "A set that Python and compiled code share without a copy, of numbers, strings or pairs of\n"
             "integers, in the order in which they came.\n\n"
             "Parameters\n----------\n"
             "iterable\n    Items, of which the first says the type.\n\n"
             "Raises\n------\n"
             "TypeError\n    An item is not of the set's type.\n"
             "RuntimeError\n    Another thread's call changes it, or reads what would be changed.\n\n"
             "Examples\n--------\n"
             ">>> treadle.typed.Set([3, 1])\nSetType[int64]({1, 3})");

#define SLOTS(which)                                                                                 \
    {Py_tp_new, which##_new}, {Py_tp_dealloc, dealloc}, {Py_tp_doc, (void *)(uintptr_t)which##_doc}, \
        {Py_tp_repr, repr}, {Py_tp_str, text}, {Py_tp_hash, PyObject_HashNotImplemented},            \
        {Py_tp_methods, which##_methods}, {Py_tp_getset, getset}, {Py_sq_length, length},            \
        {Py_mp_length, length}, {                                                                    \
        Py_sq_contains, locked_contains                                                              \
    }

static PyType_Slot dict_slots[] = {
    SLOTS(dict),
    {Py_mp_subscript, locked_subscript},
    {Py_mp_ass_subscript, locked_assign_subscript},
    {0, NULL},
};

static PyType_Slot set_slots[] = {SLOTS(set), {0, NULL}};

/* Python adds the rest of the methods (python/treadle/typed), so the classes may be changed. */
static PyType_Spec dict_spec = {
    .name = "treadle.typed.Dict",
    .basicsize = sizeof(tr_typed),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_MAPPING,
    .slots = dict_slots,
};
static PyType_Spec set_spec = {
    .name = "treadle.typed.Set",
    .basicsize = sizeof(tr_typed),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = set_slots,
};

bool tr_typed_tables_add(PyObject *module) {
    tr_state *st = tr_ext_state(module);
    st->typed_dict_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &dict_spec, NULL);
    st->typed_set_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &set_spec, NULL);
    return st->typed_dict_type && st->typed_set_type &&
           PyModule_AddObjectRef(module, "TypedDict", (PyObject *)st->typed_dict_type) == 0 &&
           PyModule_AddObjectRef(module, "TypedSet", (PyObject *)st->typed_set_type) == 0;
}
