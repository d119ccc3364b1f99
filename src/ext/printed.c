/* What print() of compiled code wrote, as a str: arrays by NumPy, so that its print options hold. */
#include "ext/printed.h"

#include "ext/py.h"
#include "rt/rt.h"

/* Of strings of fixed width, `S` and `U`, the last axis is an item's bytes. */
static PyObject *dtype_name(const tr_rt_piece *p, uint32_t *ndim) {
    char kind = p->dtype[0];
    if (!kind || p->dtype[1] || !*ndim)
        return PyUnicode_FromString(p->dtype);
    --*ndim;
    return PyUnicode_FromFormat("%c%zd", kind,
                                (Py_ssize_t)(tr_rt_piece_axis(p, *ndim) / (kind == 'U' ? 4 : 1)));
}

/* str() or repr() of an array, of a copy of its items, as those may have to be aligned. Axes that were handed
 * over without the items, for want of memory, are lost. */
static PyObject *array_text(const tr_rt_piece *p) {
    npy_intp shape[NPY_MAXDIMS + 1];
    PyArray_Descr *d = NULL;
    uint32_t ndim = p->ndim;
    for (uint32_t i = 0; i < ndim; i++)
        shape[i] = (npy_intp)tr_rt_piece_axis(p, i);
    PyObject *name = dtype_name(p, &ndim), *a = NULL, *out = NULL;
    if (name && PyArray_DescrConverter(name, &d) == NPY_SUCCEED)
        a = PyArray_NewFromDescr(&PyArray_Type, d, (int)ndim, shape, NULL, NULL, 0, NULL);
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
