/* The inner loop under TREADLE_DISABLE_JIT: the Python function itself, called for each item or core.
 *
 * All around it is as for compiled code: which loop there is for which types, and what NumPy does with it.
 * Numbers come as NumPy's scalars of the loop's types, float16 as the float32 that it is computed in; arrays
 * are copies, since the function may keep them. Slow, and meant for the debugger. */
#include "ext/ufunc.h"

#include <string.h>

static bool is_python_int(const tr_uloop *l, uint32_t k) {
    return l->num[k] == NPY_LONGLONG;
}

static PyObject *number(const tr_uloop *l, uint32_t k, char *data) {
    int64_t i;
    float f;
    if (is_python_int(l, k)) {
        memcpy(&i, data, sizeof i);
        return PyLong_FromLongLong(i);
    }
    bool half = l->exec.item[k].half;
    if (half) {
        _Float16 h;
        memcpy(&h, data, sizeof h);
        f = (float)h;
    }
    PyArray_Descr *d = PyArray_DescrFromType(half ? NPY_FLOAT : l->num[k]);
    PyObject *r = PyArray_Scalar(half ? (char *)&f : data, d, NULL);
    Py_DECREF(d);
    return r;
}

/* Converts as a store into an array does. */
static bool store(const tr_uloop *l, uint32_t k, char *data, PyObject *value) {
    PyObject *a = PyArray_SimpleNew(0, NULL, l->num[k]);
    bool ok = a && PyArray_SETITEM((PyArrayObject *)a, PyArray_DATA((PyArrayObject *)a), value) == 0;
    if (ok)
        memcpy(data, PyArray_DATA((PyArrayObject *)a), l->exec.item[k].size);
    Py_XDECREF(a);
    return ok;
}

static PyObject *call(const tr_uloop *l, PyObject *const *args, uint32_t n) {
    return l->uf->fn ? PyObject_Vectorcall(l->uf->fn->py_func, args, n, NULL)
                     : PyErr_Format(PyExc_RuntimeError, "%U() is being destroyed", l->uf->name);
}

static void drop(PyObject **v, uint32_t n) {
    while (n > 0)
        Py_DECREF(v[--n]);
}

/* --- maps --- */

static bool store_results(const tr_uloop *l, PyObject *r, char *const *at) {
    uint32_t nin = l->uf->nin, nout = l->uf->nop - nin;
    if (nout == 1)
        return store(l, nin, at[nin], r);
    if (!PyTuple_Check(r) || PyTuple_GET_SIZE(r) != (Py_ssize_t)nout) {
        PyErr_Format(PyExc_TypeError, "%U(): the function must return a tuple of %u values, not %R",
                     l->uf->name, nout, r);
        return false;
    }
    for (uint32_t i = 0; i < nout; i++)
        if (!store(l, nin + i, at[nin + i], PyTuple_GET_ITEM(r, i)))
            return false;
    return true;
}

static bool item(const tr_uloop *l, char *const *at) {
    PyObject *v[TR_MAX_OPERANDS], *r = NULL;
    uint32_t n = 0;
    while (n < l->uf->nin && (v[n] = number(l, n, at[n])))
        n++;
    if (n == l->uf->nin)
        r = call(l, v, n);
    drop(v, n);
    bool ok = r && store_results(l, r, at);
    Py_XDECREF(r);
    return ok;
}

/* --- cores --- */

/* Core k as it lies in memory. One without axes that the function takes as an array has one of length 1. */
static PyObject *lying(const tr_uloop *l, uint32_t k, char *data, const npy_intp *dims,
                       const npy_intp *steps) {
    const tr_ufunc *uf = l->uf;
    npy_intp ext[TR_MAX_NDIM] = {1};
    for (uint32_t d = 0; d < uf->ncore[k]; d++)
        ext[d] = dims[1 + uf->u->core_dim_ixs[uf->u->core_offsets[k] + (int)d]];
    npy_intp one = l->exec.item[k].size;
    return PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(l->num[k]),
                                uf->ncore[k] ? uf->ncore[k] : 1, ext, uf->ncore[k] ? steps : &one, data,
                                NPY_ARRAY_WRITEABLE, NULL);
}

static bool core(const tr_uloop *l, char *const *at, const npy_intp *dims, const npy_intp *steps) {
    const tr_ufunc *uf = l->uf;
    PyObject *view[TR_MAX_OPERANDS], *v[TR_MAX_OPERANDS], *r = NULL;
    uint32_t n = 0;
    for (bool ok = true; n < uf->nop && ok; n += ok) {
        bool array = l->args[n]->kind == TR_TY_ARRAY;
        view[n] = array ? lying(l, n, at[n], dims, steps) : Py_NewRef(Py_None);
        v[n] = !view[n] ? NULL
               : array  ? PyArray_NewCopy((PyArrayObject *)view[n], NPY_CORDER)
                        : number(l, n, at[n]);
        steps += uf->ncore[n];
        ok = v[n] != NULL;
        if (!ok)
            Py_XDECREF(view[n]);
    }
    if (n == uf->nop)
        r = call(l, v, n);
    bool ok = r != NULL;
    PyObject *type, *value, *trace; /* what was stored before it raised is kept */
    PyErr_Fetch(&type, &value, &trace);
    for (uint32_t k = 0; n == uf->nop && k < n; k++)
        if (uf->u->op_flags[k] & NPY_ITER_READWRITE)
            ok = PyArray_CopyInto((PyArrayObject *)view[k], (PyArrayObject *)v[k]) == 0 && ok;
    if (type)
        PyErr_Restore(type, value, trace);
    if (r && r != Py_None) {
        PyErr_Format(
            PyExc_TypeError,
            "%U(): the function of a gufunc stores its results into its last arguments and returns nothing",
            uf->name);
        ok = false;
    }
    Py_XDECREF(r);
    drop(v, n);
    drop(view, n);
    return ok;
}

/* --- entry --- */

int32_t tr_uloop_python(void *loop, tr_frame *frame, char *const *args, const int64_t *dims,
                        const int64_t *steps) {
    const tr_uloop *l = loop;
    char *at[TR_MAX_OPERANDS];
    bool ok = true;
    (void)frame;
    PyGILState_STATE g = PyGILState_Ensure();
    for (npy_intp i = 0; ok && i < dims[0]; i++) {
        for (uint32_t k = 0; k < l->uf->nop; k++)
            at[k] = args[k] + i * steps[k];
        ok = l->uf->core ? core(l, at, dims, steps + l->uf->nop) : item(l, at);
    }
    PyGILState_Release(g);
    return ok ? 0 : TR_CODE_HOST;
}
