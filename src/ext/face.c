/* Classes of dicts and sets of Python's, and deque, told by what they are, made and filled.
 *
 * An OrderedDict has an order of its own beside the dict's, so it is asked, and changed, by its own methods;
 * the others are dicts to the C API. */
#include "ext/face.h"

#include <assert.h>

#include "ext/state.h"

static const struct {
    tr_face form;
    PyTypeObject *cls;
} factories[] = {
    {TR_FACE_INT, &PyLong_Type},    {TR_FACE_FLOAT, &PyFloat_Type}, {TR_FACE_BOOL, &PyBool_Type},
    {TR_FACE_STR, &PyUnicode_Type}, {TR_FACE_LIST, &PyList_Type},   {TR_FACE_DICT, &PyDict_Type},
    {TR_FACE_SET, &PySet_Type},
};
enum { FACTORIES = sizeof factories / sizeof *factories };

static PyTypeObject *class_named(PyObject *module, const char *name) {
    PyObject *o = PyObject_GetAttrString(module, name);
    if (o && !PyType_Check(o))
        Py_CLEAR(o);
    if (!o)
        PyErr_Clear(); /* somebody took it away: nothing is of that class */
    return (PyTypeObject *)o;
}

bool tr_face_init(tr_state *st) {
    PyObject *m = PyImport_ImportModule("collections");
    if (!m)
        return false;
    st->counter_class = class_named(m, "Counter");
    st->ordered_class = class_named(m, "OrderedDict");
    st->default_class = class_named(m, "defaultdict");
    st->deque_class = class_named(m, "deque");
    Py_DECREF(m);
    return true;
}

bool tr_face_is_table(const tr_state *st, PyObject *o) {
    PyTypeObject *t = Py_TYPE(o);
    return t == &PyDict_Type || t == &PySet_Type || t == &PyFrozenSet_Type || t == st->counter_class ||
           t == st->ordered_class || t == st->default_class || t == st->deque_class;
}

bool tr_face_is_deque(const tr_state *st, PyObject *o) {
    return Py_TYPE(o) == st->deque_class;
}

int64_t tr_face_maxlen(PyObject *o) {
    PyObject *n = PyObject_GetAttrString(o, "maxlen");
    int64_t r = !n || n == Py_None ? -1 : PyLong_AsSsize_t(n);
    Py_XDECREF(n);
    return r;
}

bool tr_face_is_dict(PyObject *o) {
    return PyDict_Check(o);
}

const tr_ty *tr_face_plain(const tr_ty *ty) {
    return ty->kind == TR_TY_FACED || ty->kind == TR_TY_FROZEN ? ty->items[0] : ty;
}

static const tr_ty *faced(tr_state *st, tr_face form, const tr_ty *plain) {
    return tr_ty_of(st->types, TR_TY_FACED, form, 1, &plain);
}

const tr_ty *tr_face_type(tr_state *st, PyObject *o, const tr_ty *plain) {
    PyTypeObject *t = Py_TYPE(o);
    const tr_ty *r = NULL;
    if (t == &PyDict_Type || t == &PySet_Type)
        return plain;
    if (t == &PyFrozenSet_Type)
        return tr_ty_of(st->types, TR_TY_FROZEN, 0, 1, &plain);
    if (t == st->counter_class)
        return faced(st, TR_FACE_COUNTER, plain);
    if (t == st->ordered_class)
        return faced(st, TR_FACE_ORDERED, plain);
    PyObject *f = PyObject_GetAttrString(o, "default_factory");
    if (f == Py_None)
        r = faced(st, TR_FACE_PLAIN, plain);
    for (unsigned k = 0; f && k < FACTORIES; k++)
        if (f == (PyObject *)factories[k].cls)
            r = faced(st, factories[k].form, plain);
    Py_XDECREF(f);
    PyErr_Clear();
    return r;
}

static PyObject *call_class(PyTypeObject *cls, PyObject *arg) {
    if (cls)
        return arg ? PyObject_CallOneArg((PyObject *)cls, arg) : PyObject_CallNoArgs((PyObject *)cls);
    PyErr_SetString(PyExc_SystemError, "a class of collections is gone");
    return NULL;
}

PyObject *tr_face_new(tr_state *st, const tr_ty *ty) {
    if (ty->kind == TR_TY_DICT)
        return PyDict_New();
    if (ty->kind == TR_TY_SET)
        return PySet_New(NULL);
    if (ty->kind == TR_TY_FROZEN)
        return PyFrozenSet_New(NULL);
    assert(ty->kind == TR_TY_FACED && ty->sub != TR_FACE_MADE && "what Python may be given");
    if (ty->sub == TR_FACE_COUNTER)
        return call_class(st->counter_class, NULL);
    if (ty->sub == TR_FACE_ORDERED)
        return call_class(st->ordered_class, NULL);
    for (unsigned k = 0; k < FACTORIES; k++)
        if (ty->sub == factories[k].form)
            return call_class(st->default_class, (PyObject *)factories[k].cls);
    return call_class(st->default_class, Py_None);
}

int tr_face_set(PyObject *o, PyObject *k, PyObject *v) {
    return PyDict_CheckExact(o) ? PyDict_SetItem(o, k, v) : PyObject_SetItem(o, k, v);
}

PyObject *tr_face_items(PyObject *o) {
    if (!tr_face_is_dict(o))
        return PySequence_List(o);
    return PyDict_CheckExact(o) ? PyDict_Items(o) : PyMapping_Items(o);
}

bool tr_face_clear(PyObject *o) {
    if (!tr_face_is_dict(o))
        return PySet_Clear(o) == 0;
    if (PyDict_CheckExact(o)) {
        PyDict_Clear(o);
        return true;
    }
    PyObject *none = PyObject_CallMethod(o, "clear", NULL);
    Py_XDECREF(none);
    return none != NULL;
}

PyObject *tr_face_deque(tr_state *st, PyObject *items, int64_t maxlen) {
    if (maxlen < 0)
        return call_class(st->deque_class, items);
    if (!st->deque_class)
        return call_class(NULL, items);
    return PyObject_CallFunction((PyObject *)st->deque_class, "OL", items, (long long)maxlen);
}
