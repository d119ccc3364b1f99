/* Objects of functools.partial, taken apart and made. Cost: two tuples for each look at one. */
#include "ext/partial.h"

#include <assert.h>

#include "ext/check.h"

bool tr_partial_add(tr_state *st) {
    PyObject *m = PyImport_ImportModule("functools");
    st->partial_type = m ? (PyTypeObject *)PyObject_GetAttrString(m, "partial") : NULL;
    Py_XDECREF(m);
    return st->partial_type != NULL;
}

/* A class that is derived from it, and calls what it does. */
bool tr_partial_is(const tr_state *st, PyObject *o) {
    const PyTypeObject *t = Py_TYPE(o);
    return t == st->partial_type ||
           (t->tp_base == st->partial_type && t->tp_call == st->partial_type->tp_call);
}

void tr_partial_clear(PyObject *part[TR_PARTIAL_PARTS]) {
    for (int i = 0; i < TR_PARTIAL_PARTS; i++)
        Py_CLEAR(part[i]);
}

bool tr_partial_parts(PyObject *o, PyObject *out[TR_PARTIAL_PARTS]) {
    PyObject *keywords = PyObject_GetAttrString(o, "keywords");
    for (int i = 0; i < TR_PARTIAL_PARTS; i++)
        out[i] = NULL;
    bool ok = keywords && PyDict_Check(keywords) && (out[0] = PyObject_GetAttrString(o, "func")) &&
              (out[1] = PyObject_GetAttrString(o, "args"));
    PyObject *names = ok ? PyDict_Keys(keywords) : NULL, *values = ok ? PyDict_Values(keywords) : NULL;
    out[2] = names ? PyList_AsTuple(names) : NULL;
    out[3] = values ? PyList_AsTuple(values) : NULL;
    Py_XDECREF(names);
    Py_XDECREF(values);
    Py_XDECREF(keywords);
    ok = ok && out[2] && out[3] && PyTuple_CheckExact(out[1]);
    if (!ok) {
        tr_partial_clear(out);
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "a partial has no arguments that are a tuple and a dict");
    }
    return ok;
}

PyObject *tr_partial_new(tr_state *st, PyObject *parts) {
    PyObject *fn = PyTuple_GET_ITEM(parts, 0), *first = PyTuple_GET_ITEM(parts, 1),
             *named = PyTuple_GET_ITEM(parts, 2);
    Py_ssize_t n = PyTuple_GET_SIZE(first);
    PyObject *args = PyTuple_New(n + 1);
    for (Py_ssize_t i = 0; args && i <= n; i++)
        PyTuple_SET_ITEM(args, i, Py_NewRef(i ? PyTuple_GET_ITEM(first, i - 1) : fn));
    PyObject *r = args ? PyObject_Call((PyObject *)st->partial_type, args,
                                       PyDict_Check(named) && PyDict_GET_SIZE(named) ? named : NULL)
                       : NULL;
    Py_XDECREF(args);
    return r;
}
