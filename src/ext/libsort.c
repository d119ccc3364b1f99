/* Sorting on the emulated device, for Python: a call becomes work on a stream.
 *
 * Arrays come as ndarrays of one axis, one item behind the other; how many items a call touches is looked at
 * here. What a call on a stream refers to lives until it has run.
 * Cost of a call: some hundred nanoseconds. */
#include <string.h>

#include "ext/compat.h"
#include "ext/device.h"
#include "libs/sort.h"

enum { SMALL = 64 << 10 }; /* bytes; more is done without the GIL */

/* TR_SORT_* of keys; 0: there is none. */
static int64_t type_of(PyArrayObject *a) {
    int64_t size = PyArray_ITEMSIZE(a);
    switch (PyArray_DESCR(a)->kind) {
    case 'i': return size == 4 ? TR_SORT_I32 : size == 8 ? TR_SORT_I64 : 0;
    case 'u': return size == 4 ? TR_SORT_U32 : size == 8 ? TR_SORT_U64 : 0;
    case 'f': return size == 4 ? TR_SORT_F32 : size == 8 ? TR_SORT_F64 : 0;
    default: return 0;
    }
}

static bool array_is_fit(PyArrayObject *a, const char *what) {
    if (PyArray_IS_C_CONTIGUOUS(a) && PyArray_ISALIGNED(a) && PyArray_ISNOTSWAPPED(a) &&
        PyArray_ISWRITEABLE(a))
        return true;
    PyErr_Format(PyExc_ValueError, "%s are read-only, or do not lie one behind the other", what);
    return false;
}

/* Segments follow each other, and the last one ends with the items. */
static bool ends_are_fit(PyArrayObject *a, int64_t n) {
    const int64_t *ends = PyArray_DATA(a);
    int64_t many = PyArray_SIZE(a), last = 0;
    bool ok = PyArray_IS_C_CONTIGUOUS(a) && PyArray_TYPE(a) == NPY_INT64 && PyArray_ISALIGNED(a);
    for (int64_t s = 0; ok && s < many; last = ends[s++])
        ok = ends[s] >= last;
    if (ok && last == n)
        return true;
    PyErr_SetString(PyExc_ValueError, "segments do not follow each other to the end of the keys");
    return false;
}

/* `keep`: strong references of the job's. */
static bool run(tr_state *st, tr_dev *d, const tr_sort_call *c, PyObject *const keep[3], PyObject *stream) {
    tr_dev_stream *s;
    if (!tr_stream_of(st, stream, &s))
        return false;
    for (int k = 0; k < 2; k++)
        if (keep[k] != Py_None && !tr_device_check(st, d, keep[k]))
            return false;
    return tr_stream_work(st, d, s,
                          &(tr_libwork){.fn = tr_sort_run,
                                        .arg = (void *)(uintptr_t)c,
                                        .bytes = sizeof *c,
                                        .gpu = TR_DEV_HERE,
                                        .away = c->what.n * 8 > SMALL,
                                        .keep = keep,
                                        .nkeep = 3});
}

/* _sort(keys, vals, number, descending, begin_bit, end_bit, k, ends, stream) */
static PyObject *sort(PyObject *module, PyObject *args) {
    tr_state *st = tr_ext_state(module);
    PyArrayObject *keys, *vals;
    PyObject *given, *ends, *stream;
    int number, down;
    unsigned begin, end;
    long long k;
    if (!PyArg_ParseTuple(args, "O!OppIILOO:_sort", &PyArray_Type, &keys, &given, &number, &down, &begin,
                          &end, &k, &ends, &stream))
        return NULL;
    tr_dev *d = tr_device_get(st);
    if (!d)
        return NULL;
    int64_t n = PyArray_SIZE(keys);
    tr_sort_call c = {.what = {.type = type_of(keys),
                               .n = n,
                               .keys = PyArray_DATA(keys),
                               .number = number,
                               .down = down,
                               .begin = begin,
                               .end = end},
                      .k = k};
    vals = PyArray_Check(given) ? (PyArrayObject *)given : NULL;
    if (d->ops->load || !c.what.type || begin > end || end > 8 * (unsigned)PyArray_ITEMSIZE(keys) || k < 0 ||
        k > n || (ends != Py_None && (!PyArray_Check(ends) || number || k < n)) || (number && !vals))
        return PyErr_Format(PyExc_ValueError, "this is not sorted");
    if (!array_is_fit(keys, "keys") || (vals && !array_is_fit(vals, "vals")))
        return NULL;
    if (vals) {
        c.what.vals = PyArray_DATA(vals);
        c.what.size = PyArray_ITEMSIZE(vals);
        if ((c.what.size != 4 && c.what.size != 8) || PyArray_SIZE(vals) < (number ? k : n))
            return PyErr_Format(PyExc_ValueError, "vals have other items, or fewer, than keys");
    }
    if (ends != Py_None) {
        if (!ends_are_fit((PyArrayObject *)ends, n))
            return NULL;
        c.ends = PyArray_DATA((PyArrayObject *)ends);
        c.many = PyArray_SIZE((PyArrayObject *)ends);
    }
    PyObject *keep[] = {(PyObject *)keys, vals ? given : Py_None, ends};
    return run(st, d, &c, keep, stream) ? Py_NewRef(Py_None) : NULL;
}

bool tr_libsort_add(PyObject *module) {
    static PyMethodDef methods[] = {
        {"_sort", sort, METH_VARARGS,
         "_sort(keys, vals, number, descending, begin_bit, end_bit, k, ends, stream)\n--\n\n"
         "Put keys in order, on the emulated device."},
        {NULL, NULL, 0, NULL},
    };
    return PyModule_AddFunctions(module, methods) == 0;
}
