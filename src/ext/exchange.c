/* DLPack's table for C, `__dlpack_c_exchange_api__` of a type: ours for device arrays, and those of others
 * for launches, which take an array by it without a call of Python's.
 *
 * The standard gives the functions of a table no word of whose it is, and wants one table for the life of the
 * process. So what is asked of an array finds the module's state by the array's type, which derives from
 * DeviceObject; the other functions import the module.
 * Nothing here waits for streams, but for this: the emulated device's memory is the host's, for which DLPack
 * knows no streams, so what an array is bound to has been done before it is given. */
#include "ext/exchange.h"

#include <assert.h>
#include <stdlib.h>

#include "ext/compat.h"
#include "ext/dlpack.h"

static const char table_name[] = "dlpack_exchange_api";

/* --- class DeviceObject --- */

/* What device arrays derive from. A tensor that is only looked at has strides in items, which must
 * lie somewhere as long as the array. */
typedef struct device_object {
    PyObject_HEAD
    int64_t *_Atomic strides; /* behind their number; NULL: nobody has looked */
} device_object;

static void object_dealloc(PyObject *self) {
    PyTypeObject *tp = Py_TYPE(self);
    free(atomic_load(&((device_object *)self)->strides));
    tp->tp_free(self);
    Py_DECREF(tp);
}

/* Room for n strides. NULL with an exception. */
static int64_t *strides_of(device_object *o, int n) {
    int64_t *room = atomic_load(&o->strides), *old = NULL;
    if (!room) {
        if (!(room = malloc(((size_t)n + 1) * sizeof *room))) {
            PyErr_NoMemory();
            return NULL;
        }
        room[0] = n;
        if (!atomic_compare_exchange_strong(&o->strides, &old, room)) {
            free(room);
            room = old;
        }
    }
    if (room[0] == n)
        return room + 1;
    PyErr_SetString(PyExc_BufferError, "the array was made anew, with another number of axes");
    return NULL;
}

static PyType_Slot object_slots[] = {
    {Py_tp_dealloc, object_dealloc},
    {Py_tp_doc, "What device arrays derive from: it has room for what DLPack says of them."},
    {0, NULL},
};

static PyType_Spec object_spec = {
    .name = "treadle._core.DeviceObject",
    .basicsize = sizeof(device_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = object_slots,
};

/* --- our table --- */

/* The ndarray of one of our arrays, which can be used now, and its device. NULL with an exception. */
static PyArrayObject *array_of(PyObject *o, dl_device *device) {
    PyObject *module = PyType_GetModuleByDef(Py_TYPE(o), tr_ext_definition());
    tr_state *st = module ? PyModule_GetState(module) : NULL;
    tr_dev *d = st ? tr_device_get(st) : NULL;
    PyObject *mem = d ? tr_device_mem(st, o) : NULL;
    if (d && !mem) { /* its class says why */
        Py_XDECREF(PyObject_GetAttrString(o, "_mem"));
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "%R is no array of the device", o);
    }
    if (!mem || !tr_device_check(st, d, mem))
        return NULL;
    *device = tr_dlpack_device(d);
    if (device->kind != DL_CPU) {
        const tr_devmem *m = tr_device_block(st, mem);
        device->id = m && m->mem.number >= 0 ? m->mem.number : d->ops->number(d, NULL);
        d->ops->show(d, PyArray_DATA((PyArrayObject *)mem));
        return (PyArrayObject *)mem;
    }
    PyObject *stream = PyObject_GetAttrString(o, "stream"), *r = NULL;
    if (stream && PyObject_TypeCheck(stream, st->stream_type))
        r = PyObject_CallMethod(stream, "synchronize", NULL);
    else if (stream)
        r = Py_NewRef(Py_None);
    Py_XDECREF(stream);
    Py_XDECREF(r);
    return r ? (PyArrayObject *)mem : NULL;
}

static int give(void *array, dl_versioned **out) {
    dl_device device;
    PyArrayObject *a = array_of(array, &device);
    *out = a ? tr_dlpack_give(a, device) : NULL;
    return *out ? 0 : -1;
}

static int look(void *array, dl_tensor *out) {
    dl_device device;
    PyArrayObject *a = array_of(array, &device);
    if (!a || !tr_dlpack_describe(a, device, out))
        return -1;
    if (!PyArray_ISWRITEABLE(a)) {
        PyErr_SetString(
            PyExc_BufferError,
            "the array is read-only, which only a tensor of managed_tensor_from_py_object_no_sync says");
        return -1;
    }
    int n = PyArray_NDIM(a);
    if (n == 0)
        return 0;
    _Static_assert(sizeof(npy_intp) == sizeof *out->shape, "NumPy's sizes are DLPack's");
    out->shape = (int64_t *)PyArray_DIMS(a);
    if (!(out->strides = strides_of(array, n)))
        return -1;
    for (int k = 0; k < n; k++)
        out->strides[k] = PyArray_STRIDE(a, k) / PyArray_ITEMSIZE(a);
    return 0;
}

static int make(dl_versioned *t, void **out) {
    *out = NULL;
    if (t->major != DL_MAJOR) {
        PyErr_Format(PyExc_BufferError, "a DLPack tensor of version %u.%u", t->major, t->minor);
        return -1;
    }
    PyObject *interop = PyImport_ImportModule("treadle.cuda._interop"), *made = NULL;
    PyObject *owner = interop ? tr_dlpack_keep(t) : NULL;
    uint64_t lo, hi;
    PyObject *told = owner && tr_dlpack_kind(&t->t) && tr_dlpack_span(&t->t, &lo, &hi)
                         ? tr_dlpack_tuple(&t->t, t->flags & DL_READ_ONLY, owner)
                         : NULL;
    if (told)
        made = PyObject_CallMethod(interop, "from_tensor", "Oii", told, t->t.device.kind, t->t.device.id);
    if (made)
        PyCapsule_SetDestructor(owner, tr_dlpack_kept_over); /* from here on it is ours */
    Py_XDECREF(told);
    Py_XDECREF(owner);
    Py_XDECREF(interop);
    *out = made;
    return made ? 0 : -1;
}

static bool has_device(tr_dev *d, int32_t id) {
    return id >= 0 && id < (d->ops->count ? d->ops->count(d) : 1);
}

/* An ndarray in new memory of the device. NULL with an exception. */
static PyArrayObject *new_like(const dl_tensor *like, dl_device *device) {
    PyObject *module = PyImport_ImportModule("treadle._core"), *arrays = NULL, *told = NULL, *made = NULL;
    tr_dev *d = module ? tr_device_get(tr_ext_state(module)) : NULL;
    if (d)
        *device = tr_dlpack_device(d);
    char msg[300];
    int here = d && d->ops->number ? d->ops->number(d, NULL) : 0;
    device->id = like->device.id;
    if (d && (like->device.kind != device->kind || !has_device(d, like->device.id)))
        PyErr_Format(PyExc_BufferError, "Treadle's arrays are not on device %d of DLPack's kind %d",
                     (int)like->device.id, (int)like->device.kind);
    else if (d && device->id != here && !d->ops->select(d, device->id, msg, sizeof msg))
        PyErr_Format(PyExc_BufferError, "device %d: %s", (int)device->id, msg);
    else if (d && (told = tr_dlpack_tuple(&(dl_tensor){.ndim = like->ndim,
                                                       .code = like->code,
                                                       .bits = like->bits,
                                                       .lanes = like->lanes,
                                                       .shape = like->shape},
                                          false, Py_None)))
        arrays = PyImport_ImportModule("treadle.cuda._array");
    if (arrays)
        made = PyObject_CallMethod(arrays, "allocate", "OO", PyTuple_GET_ITEM(told, 1),
                                   PyTuple_GET_ITEM(told, 3));
    if (d && d->ops->select)
        d->ops->select(d, here, msg, sizeof msg);
    Py_XDECREF(module);
    Py_XDECREF(arrays);
    Py_XDECREF(told);
    return (PyArrayObject *)made;
}

/* The kind is an exception of Python's own, which others know. */
static void tell(void *context, void (*error)(void *context, const char *kind, const char *message)) {
    assert(PyErr_Occurred() && "there is something to tell");
    PyObject *exc = tr_py_fetch(), *text = PyObject_Str(exc);
    PyObject *all = Py_TYPE(exc)->tp_mro, *cls;
    Py_ssize_t k = 0;
    do
        cls = PyTuple_GET_ITEM(all, k++);
    while (((PyTypeObject *)cls)->tp_flags & Py_TPFLAGS_HEAPTYPE);
    PyObject *name = PyType_GetName((PyTypeObject *)cls);
    const char *said = text ? PyUnicode_AsUTF8(text) : NULL, *kind = name ? PyUnicode_AsUTF8(name) : NULL;
    PyErr_Clear();
    error(context, kind ? kind : "RuntimeError", said ? said : "");
    Py_XDECREF(text);
    Py_XDECREF(name);
    Py_DECREF(exc);
}

static int allocate(dl_tensor *like, dl_versioned **out, void *context,
                    void (*error)(void *context, const char *kind, const char *message)) {
    PyGILState_STATE gil = PyGILState_Ensure();
    dl_device device;
    PyArrayObject *a = new_like(like, &device);
    *out = a ? tr_dlpack_give(a, device) : NULL;
    Py_XDECREF(a);
    if (!*out)
        tell(context, error);
    PyGILState_Release(gil);
    return *out ? 0 : -1;
}

/* CUDA's legacy default stream, behind which all of ours come. */
static int stream(int32_t kind, int32_t id, void **out) {
    PyObject *module = PyImport_ImportModule("treadle._core");
    tr_dev *d = module ? tr_device_get(tr_ext_state(module)) : NULL;
    Py_XDECREF(module);
    *out = NULL;
    if (d && (kind == DL_CPU || kind == DL_CUDA) && has_device(d, id))
        return 0;
    if (!d)
        return -1;
    PyErr_Format(PyExc_BufferError, "Treadle has no streams of device %d of DLPack's kind %d", (int)id,
                 (int)kind);
    return -1;
}

static const dl_exchange ours = {.major = DL_MAJOR,
                                 .minor = DL_MINOR,
                                 .allocate = allocate,
                                 .give = give,
                                 .make = make,
                                 .look = look,
                                 .stream = stream};

/* --- the tables of others --- */

const dl_exchange *tr_exchange_of(const tr_state *st, PyObject *o) {
    PyTypeObject *cls = Py_TYPE(o);
    if (PyTuple_Check(o) || PyUnicode_Check(o) ||
        (st->devarray_type && PyType_IsSubtype(cls, st->devarray_type)))
        return NULL;
    PyObject *capsule = PyObject_GetAttr((PyObject *)cls, st->exchange_name);
    if (!capsule) {
        PyErr_Clear();
        return NULL;
    }
    const dl_exchange *t =
        PyCapsule_IsValid(capsule, table_name) ? PyCapsule_GetPointer(capsule, table_name) : NULL;
    Py_DECREF(capsule); /* what it tells of lives as long as the process */
    while (t && t->major > DL_MAJOR)
        t = t->older;
    return t && t->major == DL_MAJOR ? t : NULL;
}

/* What NumPy has for the items, as a new reference. NULL with BufferError. */
static PyArray_Descr *items_of(const dl_tensor *t) {
    char kind = tr_dlpack_kind(t);
    for (int num = NPY_BOOL; kind && num <= NPY_HALF; num++) {
        PyArray_Descr *d = PyArray_DescrFromType(num);
        if (d && d->kind == kind && PyDataType_ELSIZE(d) * 8 == t->bits)
            return d;
        Py_XDECREF(d);
    }
    if (kind)
        PyErr_Format(PyExc_BufferError, "NumPy has no items of kind '%c' with %d bits", kind, t->bits);
    return NULL;
}

/* Of the host's memory the kernel is asked once for each span, which takes as long as many launches, and
 * afterwards whether it is still mapped. */
static const char *lacks(tr_state *st, tr_dev *d, uint64_t lo, uint64_t hi, bool written) {
    uint64_t key = (lo ^ (hi << 20 | hi >> 44)) * UINT64_C(0x9E3779B97F4A7C15) + written;
    _Atomic uint64_t *slot = &st->exchange_seen[key >> 58];
    bool host = !d->ops->sees && !d->ops->owns(d, (const void *)(uintptr_t)lo);
    if (host && atomic_load_explicit(slot, memory_order_relaxed) == key && tr_dev_host_maps(lo, hi))
        return NULL;
    const char *why = tr_device_lacks(d, lo, hi, written);
    if (host && !why)
        atomic_store_explicit(slot, key, memory_order_relaxed);
    return why;
}

/* The items lie where the device can use them. A GPU finds the memory of its own kind by itself, and says so
 * when the kernel has run. False with BufferError. */
static bool is_usable(tr_state *st, tr_dev *d, const dl_tensor *t, bool readonly) {
    uint64_t lo, hi;
    if (!tr_dlpack_kind(t) || !tr_dlpack_span(t, &lo, &hi))
        return false;
    const char *why = t->device.kind == DL_CUDA ? NULL : lacks(st, d, lo, hi, !readonly);
    if (why)
        PyErr_SetString(PyExc_BufferError, why);
    return !why;
}

/* An ndarray over the tensor's memory, which keeps the owner. NULL with an exception. */
static PyObject *array_over(tr_state *st, tr_dev *d, const dl_tensor *t, bool readonly, PyObject *owner) {
    npy_intp shape[NPY_MAXDIMS], strides[NPY_MAXDIMS];
    bool any = true;
    PyArray_Descr *items = is_usable(st, d, t, readonly) ? items_of(t) : NULL;
    if (!items)
        return NULL;
    for (int32_t k = 0; k < t->ndim; k++) {
        shape[k] = t->shape[k];
        /* what no item is reached by may be any number */
        strides[k] = t->strides ? (npy_intp)((uint64_t)t->strides[k] * (t->bits / 8u)) : 0;
        any = any && shape[k];
    }
    PyTypeObject *cls = any && t->device.kind == DL_CUDA ? st->remote_type : &PyArray_Type;
    void *at = any ? (char *)t->data + t->byte_offset : NULL; /* NumPy makes room for nothing by itself */
    PyObject *a = PyArray_NewFromDescr(cls, items, t->ndim, shape, any && t->strides ? strides : NULL, at,
                                       readonly ? 0 : NPY_ARRAY_WRITEABLE, NULL);
    if (a && PyArray_SetBaseObject((PyArrayObject *)a, Py_NewRef(owner)) < 0)
        Py_CLEAR(a);
    if (a && readonly)
        PyArray_CLEARFLAGS((PyArrayObject *)a, NPY_ARRAY_WRITEABLE);
    return a;
}

/* What the stream was given comes before what `to` is given from now on. */
static bool precede(tr_dev *d, int gpu, void *handle, tr_dev_stream *to) {
    char msg[300];
    int here = d->ops->number(d, NULL);
    bool there = gpu == here || d->ops->select(d, gpu, msg, sizeof msg);
    tr_dev_stream *s = there ? d->ops->stream_wrap(d, (uintptr_t)handle) : NULL;
    tr_dev_event *e = s ? d->ops->event_new(d, false) : NULL;
    if (gpu != here)
        d->ops->select(d, here, msg, sizeof msg);
    int32_t code = e ? d->ops->record(d, s, e) : TR_CODE_MEMORY;
    code = code ? code : d->ops->wait(d, to, e);
    if (code)
        tr_device_raise(d, code);
    if (e)
        d->ops->event_free(d, e);
    if (s)
        d->ops->stream_free(d, s);
    return code == 0;
}

/* What its maker has put on its stream comes before the launch. */
static bool in_order(tr_dev *d, const dl_exchange *x, const dl_tensor *t, tr_exchange_order *order) {
    enum { LEGACY = 1 };
    void *handle = NULL;
    if (t->device.kind != DL_CUDA)
        return true;
    if (x->stream(t->device.kind, t->device.id, &handle))
        return false;
    uintptr_t s = (uintptr_t)handle;
    bool before = s == 0 || s == LEGACY || handle == order->behind ||
                  (order->stream && s == d->ops->stream_handle(d, order->stream));
    if (before)
        return true;
    order->behind = handle;
    return precede(d, t->device.id, handle, order->stream);
}

/* It lies on the GPU of the launch. */
static bool array_is_on_gpu_of(tr_dev *d, dl_device where, const tr_dev_stream *s) {
    if (where.kind != DL_CUDA || where.id == d->ops->number(d, s))
        return true;
    PyErr_Format(PyExc_ValueError,
                 "an array lies on device %d, and the launch is on device %d: select_device(%d) before it",
                 (int)where.id, d->ops->number(d, s), (int)where.id);
    return false;
}

bool tr_exchange_take(tr_state *st, tr_dev *d, const dl_exchange *x, PyObject *o, tr_exchange_order *order,
                      PyObject **out) {
    dl_tensor look;
    dl_versioned *t = NULL;
    PyObject *owner = NULL;
    *out = NULL;
    bool looked = !order->keep && x->look && x->look(o, &look) == 0;
    if (!looked && PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_BufferError))
        return false;
    if (!looked) { /* it is to be kept, or is read-only, which a look does not tell */
        PyErr_Clear();
        if (x->give(o, &t) || !(owner = tr_dlpack_keep(t))) {
            if (t && t->deleter)
                t->deleter(t);
            return false;
        }
        PyCapsule_SetDestructor(owner, tr_dlpack_kept_over);
    }
    bool ok = true;
    if (t && t->major != DL_MAJOR) {
        PyErr_Format(PyExc_BufferError, "a DLPack tensor of version %u.%u", t->major, t->minor);
        ok = false;
    } else if (tr_dlpack_sees(d, t ? t->t.device : look.device)) {
        const dl_tensor *seen = t ? &t->t : &look;
        ok = array_is_on_gpu_of(d, seen->device, order->stream) && in_order(d, x, seen, order) &&
             (*out = array_over(st, d, seen, t && t->flags & DL_READ_ONLY, owner ? owner : o)) != NULL;
    }
    Py_XDECREF(owner);
    assert((ok || PyErr_Occurred()) && "a tensor that is refused has raised");
    return ok;
}

bool tr_exchange_add(PyObject *module) {
    tr_state *st = tr_ext_state(module);
    PyObject *cls = PyType_FromModuleAndSpec(module, &object_spec, NULL);
    PyObject *table = PyCapsule_New((void *)(uintptr_t)&ours, table_name, NULL);
    st->exchange_name = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
    bool ok = cls && table && st->exchange_name && PyModule_AddType(module, (PyTypeObject *)cls) == 0 &&
              PyModule_AddObjectRef(module, "_dlpack_exchange", table) == 0;
    Py_XDECREF(cls);
    Py_XDECREF(table);
    return ok;
}
