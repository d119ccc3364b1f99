/* Normal numbers by the C library, for Python: work on a stream of the emulated device.
 * Cost of a call: some hundred nanoseconds. */
#include "ext/compat.h"
#include "ext/device.h"
#include "libs/rand.h"

enum { SMALL = 1 << 10 }; /* pairs; more is done without the GIL */

/* _normal(items, log, mean, deviation, stream) */
static PyObject *normal(PyObject *module, PyObject *args) {
    tr_state *st = tr_ext_state(module);
    tr_dev *d = tr_device_get(st);
    PyObject *given, *stream;
    tr_dev_stream *s;
    tr_normal c;
    int log;
    if (!d || !PyArg_ParseTuple(args, "OpddO:_normal", &given, &log, &c.mean, &c.deviation, &stream))
        return NULL;
    PyObject *mem = tr_device_mem(st, given);
    PyArrayObject *a = (PyArrayObject *)(mem ? mem : given);
    int type = PyArray_Check(a) ? PyArray_TYPE(a) : NPY_VOID;
    if (d->ops->load || (type != NPY_FLOAT && type != NPY_DOUBLE) || !PyArray_IS_C_CONTIGUOUS(a) ||
        !PyArray_ISALIGNED(a) || !PyArray_ISNOTSWAPPED(a) || !PyArray_ISWRITEABLE(a) || PyArray_SIZE(a) % 2)
        return PyErr_Format(PyExc_ValueError, "these are no pairs");
    if (!tr_stream_of(st, stream, &s) || !tr_device_check(st, d, (PyObject *)a))
        return NULL;
    c.items = PyArray_DATA(a);
    c.pairs = PyArray_SIZE(a) / 2;
    c.wide = type == NPY_DOUBLE;
    c.log = log;
    PyObject *keep[] = {(PyObject *)a};
    tr_libwork w = {.fn = tr_normal_run,
                    .arg = &c,
                    .bytes = sizeof c,
                    .gpu = TR_DEV_HERE,
                    .away = c.pairs > SMALL,
                    .keep = keep,
                    .nkeep = 1};
    return tr_stream_work(st, d, s, &w) ? Py_NewRef(Py_None) : NULL;
}

bool tr_librand_add(PyObject *module) {
    static PyMethodDef methods[] = {
        {"_normal", normal, METH_VARARGS,
         "_normal(items, log, mean, deviation, stream)\n--\n\n"
         "Normal numbers of pairs of a number and an angle, in their place, on the emulated device."},
        {NULL, NULL, 0, NULL},
    };
    return PyModule_AddFunctions(module, methods) == 0;
}
