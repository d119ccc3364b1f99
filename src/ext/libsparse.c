/* A sparse matrix times a vector on the emulated device, for Python: the common call, of plain numbers and
 * arrays on the default stream, done when it returns. All others, and all mistakes, are the package's.
 * Cost of a call: some hundred nanoseconds. */
#include "ext/compat.h"
#include "ext/device.h"
#include "libs/sparse.h"

enum { SMALL = 4 << 10, ARRAYS = 5 }; /* entries; more is done without the GIL */

/* A number from 0 on that indices of 32 bits can count; -1: it is none, or not plain. */
static int64_t size_of(PyObject *o) {
    int overflow;
    long long n = PyLong_CheckExact(o) ? PyLong_AsLongLongAndOverflow(o, &overflow) : -1;
    return n > INT32_MAX ? -1 : n;
}

/* A factor; false: not plain. Integers that a float64 has. */
static bool read_factor(PyObject *o, double *out) {
    enum { BITS = 53 };
    int overflow = 0;
    long long n = PyLong_CheckExact(o) ? PyLong_AsLongLongAndOverflow(o, &overflow) : 0;
    *out = PyFloat_Check(o) ? PyFloat_AS_DOUBLE(o) : (double)n;
    return PyFloat_Check(o) || (PyLong_CheckExact(o) && !overflow && n >= -(1LL << BITS) && n <= 1LL << BITS);
}

/* The ndarray, of the device or the host, of at least so many items that lie one behind the other. NULL:
 * another way must be found. */
static PyArrayObject *plain_array(const tr_state *st, PyObject *o, int type, int64_t least) {
    PyObject *mem = tr_device_mem(st, o);
    PyArrayObject *a = (PyArrayObject *)(mem ? mem : o);
    bool fit = (mem || PyArray_CheckExact(o)) && PyArray_NDIM(a) == 1 && PyArray_IS_C_CONTIGUOUS(a) &&
               PyArray_TYPE(a) == type && PyArray_ISALIGNED(a) && PyArray_ISNOTSWAPPED(a) &&
               PyArray_DIM(a, 0) >= least;
    return fit ? a : NULL;
}

static bool are_apart(PyArrayObject *a, PyArrayObject *b) {
    const char *x = PyArray_DATA(a), *y = PyArray_DATA(b);
    return x + PyArray_NBYTES(a) <= y || y + PyArray_NBYTES(b) <= x;
}

/* _csrmv(m, n, nnz, alpha, val, ptr, ind, base, x, beta, y) */
static PyObject *csrmv(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    tr_state *st = tr_ext_state(module);
    tr_dev *d = tr_device_get(st);
    if (!d || nargs != 11)
        return d ? PyErr_Format(PyExc_TypeError, "_csrmv() takes eleven arguments") : NULL;
    int64_t m = size_of(args[0]), n = size_of(args[1]), nnz = size_of(args[2]), base = size_of(args[7]);
    PyObject *mem = tr_device_mem(st, args[4]);
    const PyObject *val = mem ? mem : args[4];
    int type = PyArray_Check(val) ? PyArray_TYPE((const PyArrayObject *)val) : NPY_VOID;
    double alpha, beta;
    bool plain = !d->ops->load && m >= 0 && n >= 0 && nnz >= 0 && base >= 0 && read_factor(args[3], &alpha) &&
                 read_factor(args[9], &beta) && (type == NPY_FLOAT || type == NPY_DOUBLE);
    PyArrayObject *a[ARRAYS];
    const struct {
        int arg, type;
        int64_t least;
    } want[ARRAYS] = {
        {10, type, m}, {4, type, nnz}, {5, NPY_INT32, m + 1}, {6, NPY_INT32, nnz}, {8, type, n}};
    for (int k = 0; plain && k < ARRAYS; k++) {
        a[k] = plain_array(st, args[want[k].arg], want[k].type, want[k].least);
        plain = a[k] && (k ? are_apart(a[k], a[0]) : PyArray_ISWRITEABLE(a[0]));
    }
    if (!plain)
        Py_RETURN_FALSE;
    for (int k = 0; k < ARRAYS; k++)
        if (!tr_device_check(st, d, (PyObject *)a[k]))
            return NULL;
    tr_csrmv c = {.rows = m,
                  .entries = nnz,
                  .columns = (uint32_t)n,
                  .base = (int32_t)base,
                  .wide = type == NPY_DOUBLE,
                  .alpha = alpha,
                  .beta = beta,
                  .y = PyArray_DATA(a[0]),
                  .val = PyArray_DATA(a[1]),
                  .ptr = PyArray_DATA(a[2]),
                  .ind = PyArray_DATA(a[3]),
                  .x = PyArray_DATA(a[4])};
    tr_libwork w = {.fn = tr_csrmv_run, .arg = &c, .gpu = TR_DEV_HERE, .away = nnz > SMALL};
    return tr_stream_work(st, d, NULL, &w) ? PyBool_FromLong(!c.left) : NULL;
}

bool tr_libsparse_add(PyObject *module) {
    static PyMethodDef methods[] = {
        {"_csrmv", (PyCFunction)(void (*)(void))csrmv, METH_FASTCALL,
         "_csrmv(m, n, nnz, alpha, val, ptr, ind, base, x, beta, y)\n--\n\n"
         "Rows times a vector, on the emulated device; False: it is left to who calls."},
        {NULL, NULL, 0, NULL},
    };
    return PyModule_AddFunctions(module, methods) == 0;
}
