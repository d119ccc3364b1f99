/* What print() of compiled code wrote, as a str: arrays by NumPy, so that its print options hold. */
#include "ext/printed.h"

#include "ext/py.h"
#include "rt/rt.h"

/* str() or repr() of an array. Its memory is text's: a copy, as items may have to be aligned. */
static PyObject *array_text(const tr_rt_piece *p) {
    npy_intp shape[NPY_MAXDIMS];
    PyArray_Descr *d = NULL;
    PyObject *name = PyUnicode_FromString(p->dtype), *a = NULL, *out = NULL;
    for (uint32_t i = 0; i < p->ndim; i++)
        shape[i] = (npy_intp)tr_rt_piece_axis(p, i);
    if (name && PyArray_DescrConverter(name, &d) == NPY_SUCCEED)
        a = PyArray_NewFromDescr(&PyArray_Type, d, (int)p->ndim, shape, NULL, NULL, 0, NULL);
    if (a) {
        size_t n = (size_t)PyArray_NBYTES((PyArrayObject *)a);
        if (n && n == p->n)
            memcpy(PyArray_DATA((PyArrayObject *)a), p->text, n);
        out = p->how == 'r' ? PyObject_Repr(a) : PyObject_Str(a);
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
