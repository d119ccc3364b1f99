/* DLPack capsules of memory that NumPy knows nothing of, both ways.
 *
 * What is given away refers to its array until the consumer says that it has done. What is taken is
 * described for the package, which makes an array of it; the capsule's tensor lives in a capsule of ours,
 * and its maker is told when that ends. */
#include "ext/dlpack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ext/compat.h"
#include "ext/exchange.h"

enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_COMPLEX = 5, DL_BOOL = 6 };

static const char plain_name[] = "dltensor", plain_used[] = "used_dltensor",
                  versioned_name[] = "dltensor_versioned", versioned_used[] = "used_dltensor_versioned",
                  kept_plain[] = "treadle.dltensor", kept_versioned[] = "treadle.dltensor_versioned";

/* --- giving --- */

/* What is handed out: the tensor first, so that a pointer to either is one to it; sizes behind it. */
typedef struct given {
    union {
        dl_plain plain;
        dl_versioned versioned;
    } u;
    PyObject *array;
    int64_t sizes[];
} given;

static void let_go(given *g) {
    assert(g->array && "what was given away refers to its array once");
    if (Py_IsInitialized()) {
        PyGILState_STATE gil = PyGILState_Ensure();
        Py_DECREF(g->array);
        PyGILState_Release(gil);
    }
    free(g);
}

static void plain_over(dl_plain *p) {
    let_go((given *)(void *)p);
}

static void versioned_over(dl_versioned *p) {
    let_go((given *)(void *)p);
}

/* Nobody took it. */
static void capsule_over(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, plain_name) || PyCapsule_IsValid(capsule, versioned_name))
        let_go(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
}

bool tr_dlpack_describe(PyArrayObject *a, dl_device device, dl_tensor *out) {
    const PyArray_Descr *d = PyArray_DESCR(a);
    int size = (int)PyArray_ITEMSIZE(a);
    if (!strchr("iufcb", d->kind) || size > 16 || !PyArray_ISNOTSWAPPED(a)) {
        PyErr_Format(PyExc_BufferError, "DLPack has no type for items of %S", (PyObject *)d);
        return false;
    }
    for (int k = 0; k < PyArray_NDIM(a); k++)
        if (PyArray_STRIDE(a, k) % size) {
            PyErr_SetString(PyExc_BufferError,
                            "DLPack counts strides in items, and the array's are no multiples of one");
            return false;
        }
    *out = (dl_tensor){.data = PyArray_SIZE(a) ? PyArray_DATA(a) : NULL,
                       .device = device,
                       .ndim = PyArray_NDIM(a),
                       .code = d->kind == 'i'   ? DL_INT
                               : d->kind == 'u' ? DL_UINT
                               : d->kind == 'f' ? DL_FLOAT
                               : d->kind == 'c' ? DL_COMPLEX
                                                : DL_BOOL,
                       .bits = (uint8_t)(size * 8),
                       .lanes = 1};
    return true;
}

static given *give(PyArrayObject *a, dl_device device, bool versioned) {
    dl_tensor t;
    if (!tr_dlpack_describe(a, device, &t))
        return NULL;
    int n = PyArray_NDIM(a);
    given *g = calloc(1, sizeof *g + 2u * (unsigned)n * sizeof *g->sizes);
    if (!g) {
        PyErr_NoMemory();
        return NULL;
    }
    t.shape = g->sizes;
    t.strides = g->sizes + n;
    for (int k = 0; k < n; k++) {
        t.shape[k] = PyArray_DIM(a, k);
        t.strides[k] = PyArray_STRIDE(a, k) / PyArray_ITEMSIZE(a);
    }
    g->array = Py_NewRef((PyObject *)a);
    if (versioned)
        g->u.versioned = (dl_versioned){.major = DL_MAJOR,
                                        .minor = DL_MINOR,
                                        .deleter = versioned_over,
                                        .flags = PyArray_ISWRITEABLE(a) ? 0 : DL_READ_ONLY,
                                        .t = t};
    else
        g->u.plain = (dl_plain){.t = t, .deleter = plain_over};
    return g;
}

dl_versioned *tr_dlpack_give(PyArrayObject *a, dl_device device) {
    given *g = give(a, device, true);
    return g ? &g->u.versioned : NULL;
}

static PyObject *give_capsule(PyObject *module, PyObject *args) {
    PyArrayObject *a;
    dl_device device;
    int versioned;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!iip:_dlpack_give", &PyArray_Type, &a, &device.kind, &device.id,
                          &versioned))
        return NULL;
    if (!versioned && !PyArray_ISWRITEABLE(a))
        return PyErr_Format(PyExc_BufferError,
                            "the array is read-only, which this version of DLPack cannot say");
    given *g = give(a, device, versioned);
    PyObject *capsule = g ? PyCapsule_New(g, versioned ? versioned_name : plain_name, capsule_over) : NULL;
    if (g && !capsule)
        let_go(g);
    return capsule;
}

/* --- taking --- */

void tr_dlpack_kept_over(PyObject *capsule) {
    bool versioned = PyCapsule_IsValid(capsule, kept_versioned);
    assert((versioned || PyCapsule_IsValid(capsule, kept_plain)) && "it is a capsule of ours");
    void *p = PyCapsule_GetPointer(capsule, versioned ? kept_versioned : kept_plain);
    dl_plain *plain = p;
    dl_versioned *other = p;
    PyObject *raised = tr_py_fetch(); /* an exception may be under way, which is none of the maker's */
    if (versioned && other->deleter)
        other->deleter(other);
    else if (!versioned && plain->deleter)
        plain->deleter(plain);
    tr_py_restore(raised);
}

PyObject *tr_dlpack_keep(dl_versioned *t) {
    return PyCapsule_New(t, kept_versioned, NULL);
}

char tr_dlpack_kind(const dl_tensor *t) {
    static const char kinds[] = {
        [DL_INT] = 'i', [DL_UINT] = 'u', [DL_FLOAT] = 'f', [DL_COMPLEX] = 'c', [DL_BOOL] = 'b'};
    char kind = t->code < sizeof kinds ? kinds[t->code] : 0;
    if (kind && t->lanes == 1 && t->bits % 8 == 0 && t->ndim >= 0 && t->ndim <= NPY_MAXDIMS &&
        (t->shape || !t->ndim))
        return kind;
    PyErr_Format(PyExc_BufferError,
                 "items of DLPack's type %d with %d bits, %d together, or %d axes are not known", t->code,
                 t->bits, t->lanes, (int)t->ndim);
    return 0;
}

/* Strides of a tensor, or those of order C, in bytes. False: one overflows, or there is a
 * negative size; *items: how many there are. */
static bool steps_of(const dl_tensor *t, int64_t *steps, int64_t *items) {
    int64_t size = t->bits / 8, n = 1, whole = size;
    bool none = false, bad = false;
    for (int32_t k = 0; k < t->ndim && !bad; k++) {
        bad = t->shape[k] < 0;
        none |= t->shape[k] == 0;
    }
    for (int32_t k = t->ndim; k-- > 0 && !bad && !none;) {
        steps[k] = whole;
        bad = (t->strides && __builtin_mul_overflow(t->strides[k], size, &steps[k])) ||
              __builtin_mul_overflow(n, t->shape[k], &n) ||
              (!t->strides && __builtin_mul_overflow(whole, t->shape[k], &whole));
    }
    *items = none ? 0 : n;
    return !bad;
}

bool tr_dlpack_span(const dl_tensor *t, uint64_t *lo, uint64_t *hi) {
    int64_t steps[NPY_MAXDIMS], items, before = 0, after = t->bits / 8;
    bool ok = steps_of(t, steps, &items);
    *lo = *hi = 0;
    if (ok && !items)
        return true;
    for (int32_t k = 0; ok && k < t->ndim; k++) {
        int64_t reach, *end = steps[k] < 0 ? &before : &after;
        ok = !__builtin_mul_overflow(t->shape[k] - 1, steps[k], &reach) &&
             !__builtin_add_overflow(*end, reach, end);
    }
    uint64_t at = (uintptr_t)t->data;
    ok = ok && at && !__builtin_add_overflow(at, t->byte_offset, &at) && at >= 0 - (uint64_t)before &&
         !__builtin_add_overflow(at, (uint64_t)after, hi);
    assert((!ok || (before <= 0 && after >= 0)) && "items lie on both sides of the first");
    *lo = at + (uint64_t)before;
    if (!ok)
        PyErr_SetString(PyExc_BufferError,
                        "no array lies where the DLPack tensor says: its address, sizes or strides");
    return ok;
}

static PyObject *sizes_of(const int64_t *sizes, int32_t n, int64_t factor) {
    PyObject *t = PyTuple_New(n);
    for (int32_t k = 0; t && k < n; k++) {
        PyObject *v = PyLong_FromLongLong((int64_t)((uint64_t)sizes[k] * (uint64_t)factor));
        if (!v)
            Py_CLEAR(t);
        else
            PyTuple_SET_ITEM(t, k, v);
    }
    return t;
}

PyObject *tr_dlpack_tuple(const dl_tensor *t, bool readonly, PyObject *owner) {
    char items[8], kind = tr_dlpack_kind(t);
    PyObject *shape = NULL, *strides = NULL, *at = NULL, *r = NULL;
    if (!kind)
        return NULL;
    snprintf(items, sizeof items, "<%c%d", kind, t->bits / 8);
    shape = sizes_of(t->shape, t->ndim, 1);
    strides = t->strides ? sizes_of(t->strides, t->ndim, t->bits / 8) : Py_NewRef(Py_None);
    at = PyLong_FromUnsignedLongLong((uint64_t)(uintptr_t)t->data + t->byte_offset);
    if (shape && strides && at)
        r = Py_BuildValue("(OOOsOO)", at, shape, strides, items, readonly ? Py_True : Py_False, owner);
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    Py_XDECREF(at);
    return r;
}

static PyObject *take(PyObject *module, PyObject *capsule) {
    (void)module;
    bool versioned = PyCapsule_IsValid(capsule, versioned_name);
    if (!versioned && !PyCapsule_IsValid(capsule, plain_name))
        return PyErr_Format(PyExc_BufferError, "no DLPack capsule, or one that was used: %R", capsule);
    void *p = PyCapsule_GetPointer(capsule, versioned ? versioned_name : plain_name);
    const dl_versioned *v = p;
    if (versioned && v->major > DL_MAJOR)
        return PyErr_Format(PyExc_BufferError, "a DLPack capsule of version %u.%u", v->major, v->minor);
    PyObject *owner = PyCapsule_New(p, versioned ? kept_versioned : kept_plain, NULL);
    if (!owner || PyCapsule_SetName(capsule, versioned ? versioned_used : plain_used) < 0)
        return NULL;
    PyCapsule_SetDestructor(owner, tr_dlpack_kept_over);
    const dl_tensor *t = versioned ? &v->t : &((const dl_plain *)p)->t;
    uint64_t lo, hi;
    PyObject *r = tr_dlpack_kind(t) && tr_dlpack_span(t, &lo, &hi)
                      ? tr_dlpack_tuple(t, versioned && v->flags & DL_READ_ONLY, owner)
                      : NULL;
    Py_DECREF(owner);
    return r;
}

/* --- whose memory is which --- */

/* The emulated device has the host's memory (tr_dev_ops.sees). */
static bool device_has_own_memory(const tr_dev *d) {
    return d->ops->sees != NULL;
}

dl_device tr_dlpack_device(const tr_dev *d) {
    return (dl_device){device_has_own_memory(d) ? DL_CUDA : DL_CPU, 0};
}

bool tr_dlpack_sees(tr_dev *d, dl_device where) {
    switch (where.kind) {
    case DL_CPU:
    case DL_ROCM_HOST: return !device_has_own_memory(d);
    case DL_CUDA: return device_has_own_memory(d) && where.id >= 0 && where.id < d->ops->count(d);
    case DL_CUDA_HOST:
    case DL_CUDA_MANAGED: return true;
    default: return false;
    }
}

static PyObject *sees(PyObject *module, PyObject *args) {
    dl_device where;
    tr_dev *d = tr_device_get(tr_ext_state(module));
    if (!d || !PyArg_ParseTuple(args, "ii:_dlpack_sees", &where.kind, &where.id))
        return NULL;
    return PyBool_FromLong(tr_dlpack_sees(d, where));
}

bool tr_dlpack_add(PyObject *module) {
    static PyMethodDef methods[] = {
        {"_dlpack_give", give_capsule, METH_VARARGS,
         "_dlpack_give(array, device_type, device_id, versioned)\n--\n\nA DLPack capsule of an array's "
         "memory, which lies "
         "on that device."},
        {"_dlpack_take", take, METH_O,
         "_dlpack_take(capsule)\n--\n\nWhat a DLPack capsule describes: (address, shape, strides in bytes or "
         "None, "
         "typestr, readonly, owner). The capsule is used up."},
        {"_dlpack_sees", sees, METH_VARARGS,
         "_dlpack_sees(device_type, device_id)\n--\n\nWhether the device can use memory that lies there."},
        {NULL, NULL, 0, NULL},
    };
    return PyModule_AddFunctions(module, methods) == 0 && tr_exchange_add(module);
}
