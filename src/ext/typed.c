/* treadle.typed.List: a list that Python and compiled code share without a copy.
 *
 * The object has a list's block (rt/layout.h), which calls get as their argument (lists.c); what its items
 * refer to, the object keeps (typed_items.c). While a call may change it nobody else has it, and while one
 * reads it nobody changes it; numbers over which there are buffers stay where they are (`exports`). Methods
 * that move no more than a few items work on the block; what is rarer (sort, index, a slice that is assigned
 * to) is a list's own method on a list of Python's, whose items go back.
 * Cost: an item asked for is a look at the index and the number that is made. */
#include "ext/typed.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ext/check.h"
#include "ext/compat.h"
#include "ext/lists.h"
#include "ext/typed_items.h"
#include "ext/types.h"
#include "ext/value.h"
#include "rt/fns.h"

static tr_typed *self_of(PyObject *o) {
    return (tr_typed *)o;
}

/* --- who has it --- */

static bool may_read(const tr_typed *t) {
    if (__builtin_expect(tr_typed_users(t) >= 0, 1))
        return true;
    PyErr_SetString(PyExc_RuntimeError, "typed.List is in use by another thread");
    return false;
}

static bool may_write(const tr_typed *t) {
    if (__builtin_expect(tr_typed_users(t) == 0, 1))
        return true;
    PyErr_SetString(PyExc_RuntimeError, "typed.List is in use by another thread");
    return false;
}

/* Its items may move, and their number change. */
static bool may_grow(const tr_typed *t) {
    if (!may_write(t))
        return false;
    if (t->exports)
        PyErr_SetString(PyExc_BufferError, "Existing exports of data: object cannot be re-sized");
    return !t->exports;
}

/* --- making one --- */

static PyObject *new_list(tr_state *st, const tr_ty *item) {
    return tr_typed_make(st, tr_ty_list_of(st->types, item));
}

static void list_dealloc(PyObject *self) {
    PyTypeObject *tp = Py_TYPE(self);
    tr_typed_free(self_of(self));
    tp->tp_free(self);
    Py_DECREF(tp);
}

static PyObject *copy_of(const tr_typed *t, Py_ssize_t n) {
    PyObject *r = new_list(t->st, t->item);
    if (r && n && !tr_rt_list_room(self_of(r)->mem, n)) {
        Py_DECREF(r);
        return PyErr_NoMemory();
    }
    if (r && n && !tr_typed_share(self_of(r), t))
        Py_CLEAR(r);
    if (r)
        tr_typed_list(self_of(r))->len = n;
    return r;
}

/* --- items --- */

/* It is of such items from now on. */
static bool set_type(tr_typed *t, const tr_ty *item) {
    return tr_typed_become(t, tr_ty_list_of(t->st->types, item));
}

static bool has_numbers(const tr_typed *t) {
    return !t->item || tr_ty_is_scalar(t->item);
}

static unsigned item_size(const tr_ty *item) {
    return tr_ty_is_scalar(item) ? tr_ty_size(item) : tr_ty_lies(item, NULL, NULL);
}

static char *place(const tr_typed *t, Py_ssize_t i) {
    return (char *)tr_typed_list(t)->items + (size_t)i * item_size(t->item);
}

static Py_ssize_t length(PyObject *self) {
    const tr_typed *t = self_of(self);
    return may_read(t) ? (Py_ssize_t)tr_typed_list(t)->len : -1;
}

/* x can be an item: where the list is of nothing yet, it is of such from now on. */
static bool take_type(tr_typed *t, PyObject *x) {
    if (t->item)
        return true;
    const tr_ty *ty = tr_typed_type_of(t->st, x);
    if (ty)
        return set_type(t, ty);
    PyErr_Format(PyExc_TypeError, "%.200s cannot be an item of a typed.List", Py_TYPE(x)->tp_name);
    return false;
}

/* As one that lies at `to`, where the list's type is known or there is room for any. */
static bool store(tr_typed *t, PyObject *x, void *to) {
    return take_type(t, x) && tr_typed_store(t, x, t->item, to);
}

/* Room for n items in all. */
static bool give_room(tr_typed *t, Py_ssize_t n) {
    if (tr_rt_list_room(t->mem, n))
        return true;
    PyErr_NoMemory();
    return false;
}

static bool index_of(PyObject *key, Py_ssize_t *out) {
    int64_t i;
    if (PyLong_CheckExact(key) && tr_py_small_int(key, &i))
        *out = (Py_ssize_t)i;
    else
        *out = PyNumber_AsSsize_t(key, PyExc_IndexError);
    return *out != -1 || !PyErr_Occurred();
}

static bool is_in_range(const tr_typed *t, Py_ssize_t *i, const char *what) {
    Py_ssize_t n = (Py_ssize_t)tr_typed_list(t)->len;
    if (*i < 0)
        *i += n;
    if ((size_t)*i < (size_t)n)
        return true;
    PyErr_SetString(PyExc_IndexError, what);
    return false;
}

static PyObject *item_at(PyObject *self, Py_ssize_t i) {
    const tr_typed *t = self_of(self);
    if (!may_read(t))
        return NULL;
    if ((size_t)i >= (size_t)tr_typed_list(t)->len) {
        PyErr_SetString(PyExc_IndexError, "list index out of range");
        return NULL;
    }
    return tr_typed_load(t, t->item, place(t, i));
}

static PyObject *slice_of(const tr_typed *t, PyObject *key) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(key, &start, &stop, &step) < 0 || !may_read(t))
        return NULL;
    Py_ssize_t n = PySlice_AdjustIndices((Py_ssize_t)tr_typed_list(t)->len, &start, &stop, step);
    PyObject *r = copy_of(t, n);
    for (Py_ssize_t k = 0; r && k < n; k++)
        memcpy(place(self_of(r), k), place(t, start + k * step), item_size(t->item));
    return r;
}

static PyObject *subscript(PyObject *self, PyObject *key) {
    const tr_typed *t = self_of(self);
    Py_ssize_t i;
    if (PySlice_Check(key))
        return slice_of(t, key);
    if (!PyIndex_Check(key))
        return PyErr_Format(PyExc_TypeError, "list indices must be integers or slices, not %.200s",
                            Py_TYPE(key)->tp_name);
    if (!index_of(key, &i) || !may_read(t) || !is_in_range(t, &i, "list index out of range"))
        return NULL;
    return tr_typed_load(t, t->item, place(t, i));
}

/* --- the whole of it --- */

static PyObject *objects_of(const tr_typed *t) {
    Py_ssize_t n = (Py_ssize_t)tr_typed_list(t)->len;
    PyObject *r = PyList_New(n);
    for (Py_ssize_t i = 0; r && i < n; i++) {
        PyObject *o = tr_typed_load(t, t->item, place(t, i));
        if (!o)
            Py_CLEAR(r);
        else
            PyList_SET_ITEM(r, i, o);
    }
    return r;
}

static PyObject *to_python(tr_typed *t) {
    tr_py_section s;
    PyObject *r = NULL;
    tr_py_section_begin(&s, (PyObject *)t);
    if (may_read(t))
        r = !t->item         ? PyList_New(0)
            : has_numbers(t) ? tr_lists_python(t->item, tr_typed_list(t))
                             : objects_of(t);
    tr_py_section_end(&s);
    return r;
}

/* Numbers, which a list of nothing may become one of. */
static int fill_numbers(tr_typed *t, PyObject *list, uint32_t key, char *to) {
    bool fits = tr_key_kind(key) == TR_K_LIST && tr_ty_accept_scalar(tr_key_tyk(key), t->item) >= 0;
    return fits ? tr_lists_fill(t->st, list, key, t->item, "typed.List", "items", to) : 0;
}

static bool fill(tr_typed *t, PyObject *list, Py_ssize_t n, char *to) {
    unsigned size = item_size(t->item);
    bool ok = true;
    for (Py_ssize_t i = 0; ok && i < n && i < PyList_GET_SIZE(list); i++)
        ok = tr_typed_store(t, PyList_GET_ITEM(list, i), t->item, to + (size_t)i * size);
    if (ok && PyList_GET_SIZE(list) != n)
        PyErr_SetString(PyExc_RuntimeError, "the list changes while it is read");
    return ok && PyList_GET_SIZE(list) == n;
}

/* Of nothing yet, it is of what the items have in common. */
static bool take_types(tr_typed *t, PyObject *list, uint32_t key) {
    if (t->item)
        return true;
    PyObject *first = PyList_GET_ITEM(list, 0);
    const tr_ty *item = tr_key_kind(key) == TR_K_LIST ? tr_ty_scalar(t->st->types, tr_key_tyk(key))
                        : tr_typed_is(t->st, first)   ? tr_typed_type_of(t->st, first)
                                                      : tr_items_of(t->st, list, 1);
    return item ? set_type(t, item) : take_type(t, first);
}

/* The items of a list of Python's, in memory of their own; NULL with an exception. */
static char *items_of(tr_typed *t, PyObject *list, Py_ssize_t n) {
    uint32_t key = tr_lists_key(t->st, list);
    if (n && !take_types(t, list, key))
        return NULL;
    unsigned size = t->item ? item_size(t->item) : 1;
    char *items = (size_t)n < PY_SSIZE_T_MAX / size / 2 ? malloc((size_t)(n ? n : 1) * size) : NULL;
    int r = !items ? -1 : !n ? 1 : has_numbers(t) ? fill_numbers(t, list, key, items) : 0;
    if (r == 0) /* one of them has the reason, where they are none */
        r = fill(t, list, n, items) ? 1 : -1;
    if (r > 0)
        return items;
    if (!PyErr_Occurred())
        PyErr_NoMemory();
    free(items);
    return NULL;
}

/* It becomes what the list is. */
static bool assign(tr_typed *t, PyObject *list) {
    Py_ssize_t n = PyList_GET_SIZE(list);
    tr_list *l = tr_typed_list(t);
    bool same = n == (Py_ssize_t)l->len;
    if (!(same ? may_write(t) : may_grow(t)))
        return false;
    if (!n) {
        l->len = 0;
        return true;
    }
    char *items = items_of(t, list, n);
    bool ok = items && (same || give_room(t, n));
    if (ok) {
        memcpy(l->items, items, (size_t)n * item_size(t->item));
        l->len = n;
    }
    free(items);
    return ok && tr_typed_tidy(t);
}

/* A list's own method on a list of Python's with the same items. changes: those that it leaves go back. */
static PyObject *by_list(PyObject *self, const char *name, PyObject *args, PyObject *kw, bool changes) {
    tr_typed *t = self_of(self);
    if (changes && !may_write(t))
        return NULL;
    PyObject *list = to_python(t), *method = list ? PyObject_GetAttrString(list, name) : NULL;
    PyObject *r = method ? PyObject_Call(method, args, kw) : NULL;
    if (r && changes && !assign(t, list))
        Py_CLEAR(r);
    Py_XDECREF(method);
    Py_XDECREF(list);
    return r;
}

static int assign_subscript(PyObject *self, PyObject *key, PyObject *x) {
    tr_typed *t = self_of(self);
    Py_ssize_t i;
    if (x && PyIndex_Check(key)) {
        if (!index_of(key, &i) || !may_write(t) || !is_in_range(t, &i, "list assignment index out of range"))
            return -1;
        return store(t, x, place(t, i)) && tr_typed_tidy(t) ? 0 : -1;
    }
    PyObject *given = x && Py_IS_TYPE(x, Py_TYPE(self)) ? to_python(self_of(x)) : Py_XNewRef(x);
    PyObject *args = x ? given ? PyTuple_Pack(2, key, given) : NULL : PyTuple_Pack(1, key);
    PyObject *r = args ? by_list(self, x ? "__setitem__" : "__delitem__", args, NULL, true) : NULL;
    Py_XDECREF(given);
    Py_XDECREF(args);
    Py_XDECREF(r);
    return r ? 0 : -1;
}

/* --- adding items --- */

static PyObject *list_append(PyObject *self, PyObject *x) {
    tr_typed *t = self_of(self);
    Py_ssize_t n = (Py_ssize_t)tr_typed_list(t)->len;
    if (!may_grow(t) || !take_type(t, x) || !give_room(t, n + 1) || !store(t, x, place(t, n)))
        return NULL;
    tr_typed_list(t)->len++;
    Py_RETURN_NONE;
}

/* n items of the list's type that lie one after another, perhaps its own. */
static bool add_bytes(tr_typed *t, const char *from, Py_ssize_t n) {
    tr_list *l = tr_typed_list(t);
    bool own = from == l->items;
    if (n && !give_room(t, (Py_ssize_t)l->len + n))
        return false;
    if (n)
        memcpy(place(t, (Py_ssize_t)l->len), own ? l->items : from, (size_t)n * item_size(t->item));
    l->len += n;
    return true;
}

/* An array of one axis whose items are the list's, or what these may be. */
static bool is_such_array(const tr_typed *t, PyObject *o, const tr_ty **item) {
    if (!PyArray_CheckExact(o) || PyArray_NDIM((PyArrayObject *)o) != 1 ||
        !PyArray_ISCARRAY_RO((PyArrayObject *)o))
        return false;
    uint32_t key = tr_value_array_key((PyArrayObject *)o);
    if (tr_key_kind(key) != TR_K_ARRAY)
        return false;
    *item = tr_ty_scalar(t->st->types, tr_key_tyk(key));
    return !t->item || t->item == *item;
}

static bool add_list(tr_typed *t, PyObject *list) {
    Py_ssize_t n = PyList_GET_SIZE(list);
    if (!n)
        return true;
    char *items = items_of(t, list, n);
    bool ok = items && add_bytes(t, items, n);
    free(items);
    return ok;
}

static PyObject *list_copy(PyObject *self, PyObject *unused) {
    const tr_typed *t = self_of(self);
    (void)unused;
    if (!may_read(t))
        return NULL;
    Py_ssize_t n = (Py_ssize_t)tr_typed_list(t)->len;
    PyObject *r = copy_of(t, n);
    if (r && n)
        memcpy(tr_typed_list(self_of(r))->items, tr_typed_list(t)->items, (size_t)n * item_size(t->item));
    return r;
}

/* Of a list that others may change meanwhile. */
static PyObject *copy_of_other(PyObject *o) {
    tr_py_section s;
    tr_py_section_begin(&s, o);
    PyObject *r = list_copy(o, NULL);
    tr_py_section_end(&s);
    return r;
}

/* Items of a list of the same type, or of one that this one is of from now on: 1; 0: it is of another; -1
 * with an exception. */
static int extend_typed(tr_typed *t, const tr_typed *from) {
    if (!t->item && from->item && !set_type(t, from->item))
        return -1;
    if (t->item != from->item)
        return 0;
    if (t != from && !tr_typed_share(t, from))
        return -1;
    return add_bytes(t, tr_typed_list(from)->items, (Py_ssize_t)tr_typed_list(from)->len) ? 1 : -1;
}

static bool extend(tr_typed *t, PyObject *x) {
    if (!may_grow(t))
        return false;
    if (Py_IS_TYPE(x, Py_TYPE(t))) {
        PyObject *from = x == (PyObject *)t ? Py_NewRef(x) : copy_of_other(x);
        int r = !from || !may_grow(t) ? -1 : extend_typed(t, self_of(from));
        Py_XDECREF(from);
        if (r)
            return r > 0;
    }
    const tr_ty *item;
    if (is_such_array(t, x, &item))
        return (t->item || set_type(t, item)) &&
               add_bytes(t, PyArray_DATA((PyArrayObject *)x), PyArray_DIM((PyArrayObject *)x, 0));
    PyObject *list = PyList_CheckExact(x) ? Py_NewRef(x) : PySequence_List(x);
    bool ok = list && may_grow(t) && add_list(t, list); /* an iterator may run anything */
    Py_XDECREF(list);
    return ok;
}

static PyObject *list_extend(PyObject *self, PyObject *x) {
    if (!extend(self_of(self), x))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *list_insert(PyObject *self, PyObject *args) {
    tr_typed *t = self_of(self);
    PyObject *x;
    Py_ssize_t i;
    char item[16];
    if (!PyArg_ParseTuple(args, "nO:insert", &i, &x) || !may_grow(t) || !take_type(t, x))
        return NULL;
    if (!has_numbers(t))
        return by_list(self, "insert", args, NULL, true);
    if (!store(t, x, item))
        return NULL;
    Py_ssize_t n = (Py_ssize_t)tr_typed_list(t)->len;
    i = i < 0 ? (i + n < 0 ? 0 : i + n) : i > n ? n : i;
    if (!give_room(t, n + 1))
        return NULL;
    memmove(place(t, i + 1), place(t, i), (size_t)(n - i) * item_size(t->item));
    memcpy(place(t, i), item, item_size(t->item));
    tr_typed_list(t)->len++;
    Py_RETURN_NONE;
}

static PyObject *list_pop(PyObject *self, PyObject *args) {
    tr_typed *t = self_of(self);
    Py_ssize_t i = -1;
    if (!PyArg_ParseTuple(args, "|n:pop", &i) || !may_grow(t))
        return NULL;
    Py_ssize_t n = (Py_ssize_t)tr_typed_list(t)->len;
    if (!n) {
        PyErr_SetString(PyExc_IndexError, "pop from empty list");
        return NULL;
    }
    if (!is_in_range(t, &i, "pop index out of range"))
        return NULL;
    PyObject *r = tr_typed_load(t, t->item, place(t, i));
    if (r) {
        memmove(place(t, i), place(t, i + 1), (size_t)(n - 1 - i) * item_size(t->item));
        tr_typed_list(t)->len--;
        if (!tr_typed_tidy(t))
            Py_CLEAR(r);
    }
    return r;
}

static PyObject *list_clear(PyObject *self, PyObject *unused) {
    tr_typed *t = self_of(self);
    (void)unused;
    if (!may_grow(t))
        return NULL;
    tr_typed_list(t)->len = 0;
    Py_CLEAR(t->kept);
    Py_RETURN_NONE;
}

static PyObject *list_sort(PyObject *self, PyObject *args, PyObject *kw) {
    return by_list(self, "sort", args, kw, true);
}

static PyObject *list_reverse(PyObject *self, PyObject *unused) {
    PyObject *args = PyTuple_New(0), *r = args ? by_list(self, "reverse", args, NULL, true) : NULL;
    (void)unused;
    Py_XDECREF(args);
    return r;
}

static PyObject *list_remove(PyObject *self, PyObject *args) {
    return by_list(self, "remove", args, NULL, true);
}

static PyObject *list_index(PyObject *self, PyObject *args) {
    return by_list(self, "index", args, NULL, false);
}

static PyObject *list_count(PyObject *self, PyObject *args) {
    return by_list(self, "count", args, NULL, false);
}

static int contains(PyObject *self, PyObject *x) {
    PyObject *list = to_python(self_of(self));
    int r = list ? PySequence_Contains(list, x) : -1;
    Py_XDECREF(list);
    return r;
}

static PyObject *concat(PyObject *a, PyObject *b) {
    PyObject *r = list_copy(a, NULL);
    if (r && !extend(self_of(r), b))
        Py_CLEAR(r);
    return r;
}

static PyObject *inplace_concat(PyObject *a, PyObject *b) {
    return extend(self_of(a), b) ? Py_NewRef(a) : NULL;
}

/* --- comparison and text --- */

static PyObject *compare(PyObject *a, PyObject *b, int op) {
    bool typed = Py_IS_TYPE(b, Py_TYPE(a));
    if (!typed && !PyList_Check(b))
        Py_RETURN_NOTIMPLEMENTED;
    PyObject *x = to_python(self_of(a)), *y = typed ? to_python(self_of(b)) : Py_NewRef(b);
    PyObject *r = x && y ? PyObject_RichCompare(x, y, op) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(y);
    return r;
}

static PyObject *list_str(PyObject *self) {
    PyObject *list = to_python(self_of(self)), *r = list ? PyObject_Repr(list) : NULL;
    Py_XDECREF(list);
    return r;
}

static PyObject *list_repr(PyObject *self) {
    const tr_typed *t = self_of(self);
    PyObject *text = list_str(self), *item = t->item ? tr_types_object(t->st, t->item) : NULL, *r = NULL;
    if (text && (item || !t->item))
        r = item ? PyUnicode_FromFormat("ListType[%R](%U)", item, text)
                 : PyUnicode_FromFormat("ListType[Undefined](%U)", text);
    Py_XDECREF(text);
    Py_XDECREF(item);
    return r;
}

/* --- buffers --- */

static const char *format_of(const tr_ty *item) {
    switch ((tr_tyk)item->kind) {
    case TR_TY_BOOL: return "?";
    case TR_TY_I8: return "b";
    case TR_TY_I16: return "h";
    case TR_TY_I32: return "i";
    case TR_TY_I64: return "l";
    case TR_TY_U8: return "B";
    case TR_TY_U16: return "H";
    case TR_TY_U32: return "I";
    case TR_TY_U64: return "L";
    case TR_TY_F16: return "e";
    case TR_TY_F32: return "f";
    case TR_TY_F64: return "d";
    case TR_TY_C64: return "Zf";
    default: return "Zd";
    }
}

static int get_buffer(PyObject *self, Py_buffer *view, int flags) {
    tr_typed *t = self_of(self);
    static char nothing[1];
    const tr_ty *item = t->item ? t->item : tr_ty_scalar(t->st->types, TR_TY_F64); /* as np.array([]) */
    unsigned size = item_size(item);
    if (!may_write(t))
        return -1;
    if (!has_numbers(t)) {
        PyErr_SetString(PyExc_BufferError, "only a typed.List of numbers has a buffer");
        return -1;
    }
    tr_list *l = tr_typed_list(t);
    t->shape = (Py_ssize_t)l->len;
    *view = (Py_buffer){.buf = l->items ? l->items : nothing,
                        .obj = Py_NewRef(self),
                        .len = t->shape * (Py_ssize_t)size,
                        .itemsize = (Py_ssize_t)size,
                        .ndim = 1,
                        .format = flags & PyBUF_FORMAT ? (char *)(uintptr_t)format_of(item) : NULL,
                        .shape = (flags & PyBUF_ND) == PyBUF_ND ? &t->shape : NULL};
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &view->itemsize : NULL;
    t->exports++;
    tr_typed_root(t)->exports++;
    return 0;
}

static void release_buffer(PyObject *self, Py_buffer *view) {
    tr_typed *t = self_of(self);
    tr_together *root = tr_typed_root(t);
    (void)view;
    assert(t->exports > 0 && root->exports >= t->exports && "a buffer is given back once");
    t->exports--;
    root->exports--;
}

/* --- from outside --- */

/* The type of items that is meant; NULL with an exception. */
static const tr_ty *item_type(tr_state *st, PyObject *o) {
    const tr_ty *ty = tr_types_from(st, o);
    if (!ty || tr_ty_may_be_item(ty))
        return ty;
    PyErr_Format(PyExc_TypeError, "%R is no type of a typed.List's items", o);
    return NULL;
}

static PyObject *list_new(PyTypeObject *cls, PyObject *args, PyObject *kw) {
    PyObject *x = NULL;
    static char *names[] = {"", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|O:List", names, &x))
        return NULL;
    tr_state *st = PyType_GetModuleState(cls);
    PyObject *r = new_list(st, NULL);
    if (r && x && !extend(self_of(r), x))
        Py_CLEAR(r);
    return r;
}

static PyObject *list_empty(PyObject *cls, PyObject *args, PyObject *kw) {
    PyObject *of;
    Py_ssize_t room = 0;
    static char *names[] = {"item_type", "allocated", NULL};
    tr_state *st = PyType_GetModuleState((PyTypeObject *)cls);
    if (!PyArg_ParseTupleAndKeywords(args, kw, "O|n:empty_list", names, &of, &room))
        return NULL;
    const tr_ty *item = item_type(st, of);
    PyObject *r = item ? new_list(st, item) : NULL;
    if (r && room > 0 && !give_room(self_of(r), room))
        Py_CLEAR(r);
    return r;
}

/* What __reduce__ names: numbers as bytes, other items as a list; None: of nothing. */
static PyObject *list_from(PyObject *cls, PyObject *args) {
    PyObject *of, *from;
    tr_state *st = PyType_GetModuleState((PyTypeObject *)cls);
    if (!PyArg_ParseTuple(args, "OO:_from", &of, &from))
        return NULL;
    const tr_ty *item = of == Py_None ? NULL : item_type(st, of);
    if (!item && of != Py_None)
        return NULL;
    PyObject *r = new_list(st, item);
    if (!PyBytes_Check(from)) {
        if (r && !extend(self_of(r), from))
            Py_CLEAR(r);
        return r;
    }
    Py_ssize_t n = PyBytes_GET_SIZE(from);
    unsigned size = item && tr_ty_is_scalar(item) ? tr_ty_size(item) : 1;
    if (n % (Py_ssize_t)size || (n && (!item || !tr_ty_is_scalar(item)))) {
        Py_XDECREF(r);
        return PyErr_Format(PyExc_ValueError, "%zd bytes are no items of a typed.List", n);
    }
    if (r && n && !add_bytes(self_of(r), PyBytes_AS_STRING(from), n / (Py_ssize_t)size))
        Py_CLEAR(r);
    return r;
}

static PyObject *list_reduce(PyObject *self, PyObject *unused) {
    tr_typed *t = self_of(self);
    (void)unused;
    if (!may_read(t))
        return NULL;
    Py_ssize_t n =
        t->item && has_numbers(t) ? (Py_ssize_t)tr_typed_list(t)->len * (Py_ssize_t)item_size(t->item) : 0;
    PyObject *make = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "_from");
    PyObject *of = t->item ? tr_types_object(t->st, t->item) : Py_NewRef(Py_None);
    PyObject *items = has_numbers(t) ? PyBytes_FromStringAndSize(tr_typed_list(t)->items, n) : to_python(t);
    PyObject *r = make && of && items ? Py_BuildValue("O(OO)", make, of, items) : NULL;
    Py_XDECREF(make);
    Py_XDECREF(of);
    Py_XDECREF(items);
    return r;
}

static PyObject *list_sizeof(PyObject *self, PyObject *unused) {
    const tr_typed *t = self_of(self);
    (void)unused;
    size_t size = t->item ? item_size(t->item) : 0;
    return PyLong_FromSize_t(sizeof *t + 2 * TR_MEM_ALIGN + (size_t)tr_typed_list(t)->cap * size);
}

static PyObject *get_dtype(PyObject *self, void *unused) {
    (void)unused;
    const tr_typed *t = self_of(self);
    return t->item ? tr_types_object(t->st, t->item) : Py_NewRef(Py_None);
}

static PyObject *get_typed(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(self_of(self)->item != NULL);
}

/* --- one thread at a time, where there is no GIL --- */

#define LOCKED(name, params, ...)           \
    static PyObject *locked_##name params { \
        tr_py_section s;                    \
        tr_py_section_begin(&s, self);      \
        PyObject *r = name(__VA_ARGS__);    \
        tr_py_section_end(&s);              \
        return r;                           \
    }
LOCKED(list_append, (PyObject * self, PyObject *x), self, x)
LOCKED(list_extend, (PyObject * self, PyObject *x), self, x)
LOCKED(list_insert, (PyObject * self, PyObject *x), self, x)
LOCKED(list_pop, (PyObject * self, PyObject *x), self, x)
LOCKED(list_clear, (PyObject * self, PyObject *x), self, x)
LOCKED(list_copy, (PyObject * self, PyObject *x), self, x)
LOCKED(list_reduce, (PyObject * self, PyObject *x), self, x)
LOCKED(list_sort, (PyObject * self, PyObject *x, PyObject *kw), self, x, kw)
LOCKED(list_reverse, (PyObject * self, PyObject *x), self, x)
LOCKED(list_remove, (PyObject * self, PyObject *x), self, x)
LOCKED(list_index, (PyObject * self, PyObject *x), self, x)
LOCKED(list_count, (PyObject * self, PyObject *x), self, x)
LOCKED(list_str, (PyObject * self), self)
LOCKED(list_repr, (PyObject * self), self)
LOCKED(subscript, (PyObject * self, PyObject *x), self, x)
LOCKED(item_at, (PyObject * self, Py_ssize_t i), self, i)

static int locked_assign_subscript(PyObject *self, PyObject *key, PyObject *x) {
    tr_py_section s;
    tr_py_section_begin(&s, self);
    int r = assign_subscript(self, key, x);
    tr_py_section_end(&s);
    return r;
}

static int locked_get_buffer(PyObject *self, Py_buffer *view, int flags) {
    tr_py_section s;
    tr_py_section_begin(&s, self);
    int r = get_buffer(self, view, flags);
    tr_py_section_end(&s);
    return r;
}

static void locked_release_buffer(PyObject *self, Py_buffer *view) {
    tr_py_section s;
    tr_py_section_begin(&s, self);
    release_buffer(self, view);
    tr_py_section_end(&s);
}

static PyGetSetDef getset[] = {
    {"_dtype", get_dtype, NULL, "Type of the items; None: not known yet.", NULL},
    {"_typed", get_typed, NULL, "It is known what the items are.", NULL},
    {0},
};

static PyMethodDef methods[] = {
    {"append", locked_list_append, METH_O, "append($self, item, /)\n--\n\nAdd an item at the end."},
    {"extend", locked_list_extend, METH_O,
     "extend($self, iterable, /)\n--\n\nAdd all items of another list."},
    {"insert", locked_list_insert, METH_VARARGS,
     "insert($self, index, item, /)\n--\n\nAdd an item before another."},
    {"pop", locked_list_pop, METH_VARARGS, "pop($self, index=-1, /)\n--\n\nTake an item out."},
    {"remove", locked_list_remove, METH_VARARGS,
     "remove($self, value, /)\n--\n\nTake the first such item out."},
    {"clear", locked_list_clear, METH_NOARGS, "clear($self, /)\n--\n\nTake all items out."},
    {"copy", locked_list_copy, METH_NOARGS, "copy($self, /)\n--\n\nAnother typed list with the same items."},
    {"count", locked_list_count, METH_VARARGS,
     "count($self, value, /)\n--\n\nHow many such items there are."},
    {"index", locked_list_index, METH_VARARGS,
     "index($self, value, start=0, stop=sys.maxsize, /)\n--\n\nPlace of the first such item."},
    {"reverse", locked_list_reverse, METH_NOARGS,
     "reverse($self, /)\n--\n\nTurn the order of the items round."},
    {"sort", (PyCFunction)(void (*)(void))locked_list_sort, METH_VARARGS | METH_KEYWORDS,
     "sort($self, /, *, key=None, reverse=False)\n--\n\nPut the items in order."},
    {"empty_list", (PyCFunction)(void (*)(void))list_empty, METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "empty_list($type, /, item_type, allocated=0)\n--\n\nA list of a type, with room for so many items."},
    {"_from", list_from, METH_VARARGS | METH_CLASS, NULL},
    {"__copy__", locked_list_copy, METH_NOARGS, NULL},
    {"__reduce__", locked_list_reduce, METH_NOARGS, NULL},
    {"__sizeof__", list_sizeof, METH_NOARGS, NULL},
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, NULL},
    {0},
};

PyDoc_STRVAR(
    doc,
    "List(iterable=(), /)\n--\n\n"
    "A list that Python and compiled code share without a copy: of numbers, strings, arrays, dates, tuples\n"
    "of these, and of lists, dicts and sets, which are typed ones in it.\n\n"
    "Parameters\n----------\n"
    "iterable\n    Items, of which all have the type that the first ones have in common; without, the\n"
    "    first item that comes says it.\n\n"
    "Raises\n------\n"
    "TypeError\n    Compiled code has no such items, or it is not of the list's type.\n"
    "BufferError\n    It would become longer or shorter while an array is over its items.\n"
    "RuntimeError\n    Another thread's call changes it, or reads what would be changed.\n\n"
    "Examples\n--------\n"
    ">>> treadle.typed.List([1, 2])\nListType[int64]([1, 2])");

static PyType_Slot slots[] = {
    {Py_tp_new, list_new},
    {Py_tp_dealloc, list_dealloc},
    {Py_tp_doc, (void *)doc},
    {Py_tp_repr, locked_list_repr},
    {Py_tp_str, locked_list_str},
    {Py_tp_iter, PySeqIter_New},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_tp_richcompare, compare},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_sq_length, length},
    {Py_sq_item, locked_item_at},
    {Py_sq_contains, contains},
    {Py_sq_concat, concat},
    {Py_sq_inplace_concat, inplace_concat},
    {Py_mp_length, length},
    {Py_mp_subscript, locked_subscript},
    {Py_mp_ass_subscript, locked_assign_subscript},
    {Py_bf_getbuffer, locked_get_buffer},
    {Py_bf_releasebuffer, locked_release_buffer},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "treadle.typed.List",
    .basicsize = sizeof(tr_typed),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_SEQUENCE | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

bool tr_typed_add(PyObject *module) {
    tr_state *st = tr_ext_state(module);
    st->typed_list_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return st->typed_list_type &&
           PyModule_AddObjectRef(module, "TypedList", (PyObject *)st->typed_list_type) == 0;
}
