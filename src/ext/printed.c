/* What print() of compiled code wrote, as a str: arrays by NumPy, so that its print options hold. */
#include "ext/printed.h"

#include "ext/py.h"
#include "rt/rt.h"

/* str() or repr() of an array, of a copy of its items, as those may have to be aligned. Axes that were handed
 * over without the items, for want of memory, are lost. */
static PyObject *array_text(const tr_rt_piece *p) {
    npy_intp shape[NPY_MAXDIMS];
    PyArray_Descr *d = NULL;
    PyObject *name = PyUnicode_FromString(p->dtype), *a = NULL, *out = NULL;
    for (uint32_t i = 0; i < p->ndim; i++)
        shape[i] = (npy_intp)tr_rt_piece_axis(p, i);
    if (name && PyArray_DescrConverter(name, &d) == NPY_SUCCEED)
        a = PyArray_NewFromDescr(&PyArray_Type, d, (int)p->ndim, shape, NULL, NULL, 0, NULL);
    if (a) {
        bool whole = (size_t)PyArray_NBYTES((PyArrayObject *)a) == p->n;
        if (whole && p->n)
            memcpy(PyArray_DATA((PyArrayObject *)a), p->text, p->n);
        out = !whole ? PyUnicode_FromString("...") : p->how == 'r' ? PyObject_Repr(a) : PyObject_Str(a);
    }
    Py_XDECREF(a);
    Py_XDECREF(name);
    return out;
}

static PyObject *piece_text(const tr_rt_piece *p) {
    return p->how ? array_text(p) : PyUnicode_DecodeUTF8(p->text ? p->text : "", (Py_ssize_t)p->n, "replace");
}

PyObject *tr_printed(const char *text, size_t n) {
    const char *end = text + n;
    tr_rt_piece p;
    PyObject *all = PyUnicode_FromString("");
    while (all && tr_rt_piece_next(&text, end, &p)) {
        PyObject *s = piece_text(&p), *both = s ? PyUnicode_Concat(all, s) : NULL;
        Py_XDECREF(s);
        Py_SETREF(all, both);
    }
    return all;
}
