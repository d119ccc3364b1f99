/* Memory of the device as Python objects.
 *
 * A DeviceMemory gives its bytes by the buffer protocol, to those of the package's own modules that make
 * arrays of them; the arrays keep it alive. It never moves, so nobody counts who looks at it: `free` is for
 * those who end a context, and all uses look at `live` before. */
#include "ext/device.h"

#include <assert.h>

#include "dev/libs.h"
#include "ext/compat.h"
#include "ext/pyerr.h"

/* --- the device --- */

static bool stop_at_exit(const tr_state *st) {
    PyObject *module = PyType_GetModule(st->devmem_type);
    PyObject *stop = module ? PyObject_GetAttrString(module, "_dev_stop") : NULL;
    PyObject *atexit = stop ? PyImport_ImportModule("atexit") : NULL;
    PyObject *r = atexit ? PyObject_CallMethod(atexit, "register", "O", stop) : NULL;
    Py_XDECREF(stop);
    Py_XDECREF(atexit);
    Py_XDECREF(r);
    return r != NULL;
}

/* The package says which one it is. */
static bool choose(void) {
    PyObject *devices = PyImport_ImportModule("treadle.cuda._devices");
    PyObject *r = devices ? PyObject_CallMethod(devices, "ready", NULL) : NULL;
    Py_XDECREF(devices);
    Py_XDECREF(r);
    return r != NULL;
}

tr_dev *tr_device_get(tr_state *st) {
    tr_dev *d = atomic_load_explicit(&st->dev, memory_order_acquire);
    if (__builtin_expect(d != NULL, 1) || !choose())
        return d;
    if (!(d = atomic_load_explicit(&st->dev, memory_order_acquire)))
        PyErr_SetString(PyExc_RuntimeError, "no device was chosen");
    return d;
}

/* _dev_open(name, driver): opens it, where none is open yet. */
static PyObject *dev_open(PyObject *module, PyObject *args) {
    tr_state *st = tr_ext_state(module);
    const char *name, *driver;
    char msg[300];
    if (!PyArg_ParseTuple(args, "sz:_dev_open", &name, &driver))
        return NULL;
    tr_dev *d = atomic_load_explicit(&st->dev, memory_order_acquire);
    if (!d) {
        tr_dev_host h = {.host = &st->host, .write = tr_stream_write, .self = st, .driver = driver};
        if (!(d = tr_dev_open(name, &h, msg, sizeof msg)))
            return PyErr_Format(PyExc_RuntimeError, "%s", msg);
        if (!stop_at_exit(st))
            return NULL;
        atomic_store_explicit(&st->dev, d, memory_order_release);
    }
    if (strcmp(d->ops->name, name) != 0)
        return PyErr_Format(PyExc_RuntimeError, "the device %s is in use already", d->ops->name);
    return PyLong_FromLong(d->ops->count ? d->ops->count(d) : 1);
}

/* The device, and the number of one of its GPUs that `arg` is. NULL with an exception. */
static tr_dev *one_of(PyObject *module, PyObject *arg, int *number) {
    tr_dev *d = tr_device_get(tr_ext_state(module));
    long n = d ? PyLong_AsLong(arg) : -1;
    if (!d || (n == -1 && PyErr_Occurred()))
        return NULL;
    long all = d->ops->count ? d->ops->count(d) : 1;
    if (n < 0 || n >= all)
        return PyErr_Format(PyExc_IndexError, "there is no device %ld: %ld in all, numbered from 0", n, all),
               NULL;
    *number = (int)n;
    return d;
}

static PyObject *dev_about(PyObject *module, PyObject *arg) {
    tr_dev_about about;
    int number;
    tr_dev *d = one_of(module, arg, &number);
    if (!d)
        return NULL;
    d->ops->describe(d, number, &about);
    return Py_BuildValue("(sy#i)", about.name, (char *)about.uuid, (Py_ssize_t)sizeof about.uuid,
                         about.driver);
}

static PyObject *dev_select(PyObject *module, PyObject *arg) {
    char msg[300];
    int number;
    tr_dev *d = one_of(module, arg, &number);
    if (!d)
        return NULL;
    if (d->ops->select && !d->ops->select(d, number, msg, sizeof msg))
        return PyErr_Format(PyExc_RuntimeError, "device %d: %s", number, msg);
    Py_RETURN_NONE;
}

static PyObject *dev_selected(PyObject *module, PyObject *unused) {
    (void)unused;
    tr_dev *d = tr_device_get(tr_ext_state(module));
    return d ? PyLong_FromLong(d->ops->number ? d->ops->number(d, NULL) : 0) : NULL;
}

/* _dev_befriend(user, of, ask): whether the one GPU may use the memory of the other; from now on it
 * does, unless that is only asked for. */
static PyObject *dev_befriend(PyObject *module, PyObject *args) {
    PyObject *user, *of;
    int ask, a, b;
    bool can = true;
    if (!PyArg_ParseTuple(args, "OOp:_dev_befriend", &user, &of, &ask))
        return NULL;
    tr_dev *d = one_of(module, user, &a);
    if (!d || !one_of(module, of, &b))
        return NULL;
    int32_t code = d->ops->befriend ? d->ops->befriend(d, a, b, ask, &can) : 0;
    return code ? tr_device_raise(d, code) : PyBool_FromLong(can);
}

/* What a library of CUDA's did not do. */
static PyObject *raise_library(void) {
    tr_lib_refusal r = tr_lib_latest();
    PyObject *errors = PyImport_ImportModule("treadle.cuda._errors");
    PyObject *cls = errors ? PyObject_GetAttrString(errors, "LibraryError") : NULL;
    PyObject *exc = cls ? PyObject_CallFunction(cls, "siss", r.library, r.status, r.name, r.what) : NULL;
    if (exc)
        PyErr_SetObject(cls, exc);
    Py_XDECREF(errors);
    Py_XDECREF(cls);
    Py_XDECREF(exc);
    assert(PyErr_Occurred() && "why a library did not do something is raised");
    return NULL;
}

PyObject *tr_device_raise(tr_dev *d, int32_t code) {
    char msg[300];
    if (code == TR_CODE_LIBRARY)
        return raise_library();
    if (code != TR_CODE_DEVICE || !d->ops->explain) {
        tr_pyerr_raise_reason(code);
        return NULL;
    }
    int status = d->ops->explain(d, msg, sizeof msg);
    PyObject *errors = PyImport_ImportModule("treadle.cuda._errors");
    PyObject *cls = errors ? PyObject_GetAttrString(errors, "CudaAPIError") : NULL;
    PyObject *exc = cls ? PyObject_CallFunction(cls, "is", status, msg) : NULL;
    if (exc)
        PyErr_SetObject(cls, exc);
    Py_XDECREF(errors);
    Py_XDECREF(cls);
    Py_XDECREF(exc);
    assert(PyErr_Occurred() && "why the device did not do something is raised");
    return NULL;
}

/* --- class DeviceMemory --- */

static bool freed(const void *at) {
    PyErr_Format(PyExc_ValueError,
                 "the device's memory at %p was freed: what lay there cannot be used any more", at);
    return false;
}

/* False: somebody else has freed it. */
static bool give_back(tr_devmem *m) {
    tr_dev *d = m->st->dev;
    if (!atomic_exchange(&m->live, false))
        return false;
    assert(d && "a live block lies on a device");
    PyThreadState *ts = tr_device_leave(m->st);
    d->ops->free(d, &m->mem);
    tr_device_return(ts);
    return true;
}

static void mem_dealloc(PyObject *self) {
    tr_devmem *m = (tr_devmem *)self;
    PyTypeObject *tp = Py_TYPE(self);
    if (m->weakrefs)
        PyObject_ClearWeakRefs(self);
    if (m->live)
        give_back(m);
    tp->tp_free(self);
    Py_DECREF(tp); /* last: the type keeps the module and with it the state */
}

static int mem_buffer(PyObject *self, Py_buffer *view, int flags) {
    tr_devmem *m = (tr_devmem *)self;
    if (!m->live) {
        view->obj = NULL;
        PyErr_Format(PyExc_BufferError, "the device memory at %p was freed", m->mem.at);
        return -1;
    }
    return PyBuffer_FillInfo(view, self, m->mem.at, (Py_ssize_t)m->mem.bytes, 0, flags);
}

static PyObject *mem_free(PyObject *self, PyObject *unused) {
    (void)unused;
    give_back((tr_devmem *)self);
    Py_RETURN_NONE;
}

static PyObject *get_ptr(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromVoidPtr(((tr_devmem *)self)->mem.at);
}

static PyObject *get_nbytes(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(((tr_devmem *)self)->mem.bytes);
}

static PyObject *get_freed(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(!((tr_devmem *)self)->live);
}

static PyObject *get_number(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(((tr_devmem *)self)->mem.number);
}

static PyObject *get_place(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong((long)((tr_devmem *)self)->mem.place);
}

static PyMethodDef mem_methods[] = {
    {"free", mem_free, METH_NOARGS,
     "free()\n--\n\nGive the memory back now. What lies there cannot be used any more."},
    {0},
};

static PyGetSetDef mem_getset[] = {
    {"ptr", get_ptr, NULL, "The address.", NULL},
    {"nbytes", get_nbytes, NULL, "How many bytes there are.", NULL},
    {"place", get_place, NULL, "Where it lies: on the device (0), on the host (1), where it is used (2).",
     NULL},
    {"number", get_number, NULL, "The number of the device on which it lies; -1: all see it.", NULL},
    {"freed", get_freed, NULL, "Whether it was given back.", NULL},
    {0},
};

static PyMemberDef mem_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(tr_devmem, weakrefs), READONLY, NULL},
    {0},
};

PyDoc_STRVAR(mem_doc, "A block of the device's memory; base of the arrays that lie in it.");

static PyType_Slot mem_slots[] = {
    {Py_tp_dealloc, mem_dealloc},
    {Py_tp_methods, mem_methods},
    {Py_tp_getset, mem_getset},
    {Py_tp_members, mem_members},
    {Py_bf_getbuffer, mem_buffer},
    {Py_tp_doc, (void *)mem_doc},
    {0, NULL},
};

static PyType_Spec mem_spec = {
    .name = "treadle._core.DeviceMemory",
    .basicsize = sizeof(tr_devmem),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = mem_slots,
};

/* --- device arrays, a class of the package's --- */

bool tr_device_check(tr_state *st, tr_dev *d, PyObject *array) {
    PyArrayObject *a = (PyArrayObject *)array;
    const tr_devmem *m = tr_device_block(st, array);
    tr_dev_mem found;
    if (m && !m->live)
        return freed(m->mem.at);
    if (m || !d->ops->owns(d, PyArray_DATA(a)) || d->ops->find(d, PyArray_DATA(a), &found))
        return true;
    if (PyArray_SIZE(a) == 0 || (d->ops->sees && d->ops->sees(d, PyArray_DATA(a)) == 2))
        return true; /* others' blocks lie between ours */
    return freed(PyArray_DATA(a));
}

const char *tr_device_lacks(tr_dev *d, uint64_t lo, uint64_t hi, bool written) {
    const void *at = (const void *)(uintptr_t)lo, *last = (const void *)(uintptr_t)(hi - 1);
    tr_dev_mem m;
    if (lo >= hi)
        return NULL;
    bool emulated = !d->ops->sees;
    if (d->ops->owns(d, at)) {
        bool live = d->ops->find(d, at, &m);
        if (live ? hi <= (uintptr_t)m.at + m.bytes
                 : !emulated && d->ops->sees(d, at) == 2 && d->ops->sees(d, last) == 2)
            return NULL; /* others' blocks lie between ours */
        return "the array's memory is the device's, and was freed, or is less than the array has";
    }
    if (!emulated && !(d->ops->sees(d, at) && d->ops->sees(d, last)))
        return "the array's memory is none that the GPU sees: copy it there with cuda.to_device()";
    if (emulated && !tr_dev_host_has((uintptr_t)lo, (uintptr_t)hi, written))
        return "the array's memory is not the host's, and the emulated device has no other: copy it to the "
               "host "
               "first, then cuda.to_device()";
    return NULL;
}

/* _dev_lacks(lo, hi, written) */
static PyObject *dev_lacks(PyObject *module, PyObject *args) {
    tr_dev *d = tr_device_get(tr_ext_state(module));
    PyObject *lo, *hi;
    int written;
    if (!d || !PyArg_ParseTuple(args, "O!O!p:_dev_lacks", &PyLong_Type, &lo, &PyLong_Type, &hi, &written))
        return NULL;
    unsigned long long at = PyLong_AsUnsignedLongLong(lo), end = PyLong_AsUnsignedLongLong(hi);
    if (PyErr_Occurred())
        return NULL;
    const char *why = tr_device_lacks(d, at, end, written);
    return why ? PyUnicode_FromString(why) : Py_NewRef(Py_None);
}

/* _dev_class(arrays, memory) */
static PyObject *dev_class(PyObject *module, PyObject *args) {
    tr_state *st = tr_ext_state(module);
    PyTypeObject *cls, *remote;
    if (!PyArg_ParseTuple(args, "O!O!:_dev_class", &PyType_Type, &cls, &PyType_Type, &remote))
        return NULL;
    PyObject *slot = PyObject_GetAttrString((PyObject *)cls, "_mem");
    if (!slot)
        return NULL;
    const PyMemberDef *m =
        Py_IS_TYPE(slot, &PyMemberDescr_Type) ? ((PyMemberDescrObject *)slot)->d_member : NULL;
    bool ok = m && m->type == T_OBJECT_EX && PyType_IsSubtype(remote, &PyArray_Type);
    if (ok) {
        st->devarray_slot = m->offset;
        Py_XSETREF(st->devarray_type, (PyTypeObject *)Py_NewRef((PyObject *)cls));
        Py_XSETREF(st->remote_type, (PyTypeObject *)Py_NewRef((PyObject *)remote));
    } else {
        PyErr_SetString(PyExc_TypeError, "a class of device arrays has its ndarray in the slot _mem");
    }
    Py_DECREF(slot);
    return ok ? Py_NewRef(Py_None) : NULL;
}

/* --- functions --- */

/* Where there is no room, it waits for what is on its way back. */
static int32_t try_alloc(tr_state *st, tr_dev *d, tr_dev_place place, tr_dev_stream *s, uint64_t bytes,
                         tr_dev_mem *out) {
    PyThreadState *ts = tr_device_leave(st);
    int32_t code = d->ops->alloc(d, place, s, bytes, out);
    tr_device_return(ts);
    return code;
}

/* _dev_alloc(nbytes, place, stream) */
PyObject *tr_device_alloc(tr_state *st, tr_dev *d, tr_dev_place place, tr_dev_stream *s, uint64_t bytes) {
    tr_devmem *m = (tr_devmem *)st->devmem_type->tp_alloc(st->devmem_type, 0);
    if (!m)
        return NULL;
    m->st = st;
    int32_t code = try_alloc(st, d, place, s, bytes, &m->mem);
    uint64_t ticket = 0;
    if (code && !tr_dev_is_called()) /* what jobs hold that are over */
        d->ops->reached(d, NULL, &ticket, 0);
    if (code && tr_stream_drain(st))
        code = try_alloc(st, d, place, s, bytes, &m->mem);
    if (PyErr_Occurred()) {
        Py_DECREF(m);
        return NULL;
    }
    if (code) {
        uint64_t left, total;
        Py_DECREF(m);
        if (code != TR_CODE_MEMORY)
            return tr_device_raise(d, code);
        d->ops->memory(d, &left, &total);
        return PyErr_Format(PyExc_MemoryError, "%llu bytes of the device's memory: %llu of %llu are free",
                            (unsigned long long)bytes, (unsigned long long)left, (unsigned long long)total);
    }
    assert((place != TR_DEV_LOCAL || d->ops->owns(d, m->mem.at)) && "the device's memory is where it says");
    m->live = true;
    return (PyObject *)m;
}

static PyObject *dev_alloc(PyObject *module, PyObject *args) {
    tr_state *st = tr_ext_state(module);
    tr_dev *d = tr_device_get(st);
    tr_dev_stream *s = NULL;
    PyObject *stream = Py_None;
    Py_ssize_t bytes;
    int place = TR_DEV_LOCAL;
    if (!d || !PyArg_ParseTuple(args, "n|iO:_dev_alloc", &bytes, &place, &stream) ||
        (stream != Py_None && !tr_stream_of(st, stream, &s)))
        return NULL;
    if (bytes < 0 || place < TR_DEV_LOCAL || place > TR_DEV_MANAGED)
        return PyErr_Format(PyExc_ValueError, "no memory of %zd bytes, or no place %d", bytes, place);
    return tr_device_alloc(st, d, (tr_dev_place)place, s, (uint64_t)bytes);
}

static PyObject *dev_find(PyObject *module, PyObject *arg) {
    tr_dev *d = tr_device_get(tr_ext_state(module));
    void *at = d ? PyLong_AsVoidPtr(arg) : NULL;
    tr_dev_mem m;
    if (!d || (!at && PyErr_Occurred()))
        return NULL;
    if (!d->ops->find(d, at, &m))
        Py_RETURN_NONE;
    return Py_BuildValue("NKi", PyLong_FromVoidPtr(m.at), (unsigned long long)m.bytes, m.number);
}

static PyObject *dev_owns(PyObject *module, PyObject *arg) {
    tr_dev *d = tr_device_get(tr_ext_state(module));
    void *at = d ? PyLong_AsVoidPtr(arg) : NULL;
    if (!d || (!at && PyErr_Occurred()))
        return NULL;
    return PyBool_FromLong(d->ops->owns(d, at));
}

static PyObject *dev_show(PyObject *module, PyObject *arg) {
    tr_dev *d = tr_device_get(tr_ext_state(module));
    void *at = d ? PyLong_AsVoidPtr(arg) : NULL;
    if (!d || (!at && PyErr_Occurred()))
        return NULL;
    if (d->ops->show)
        d->ops->show(d, at);
    Py_RETURN_NONE;
}

static PyObject *dev_sees(PyObject *module, PyObject *arg) {
    tr_dev *d = tr_device_get(tr_ext_state(module));
    void *at = d ? PyLong_AsVoidPtr(arg) : NULL;
    if (!d || (!at && PyErr_Occurred()))
        return NULL;
    return PyLong_FromLong(d->ops->sees ? d->ops->sees(d, at) : 0);
}

static PyObject *dev_pin(PyObject *module, PyObject *args) {
    tr_dev *d = tr_device_get(tr_ext_state(module));
    unsigned long long at, bytes;
    if (!d || !PyArg_ParseTuple(args, "KK:_dev_pin", &at, &bytes))
        return NULL;
    int32_t code = d->ops->pin ? d->ops->pin(d, (void *)(uintptr_t)at, bytes) : 0;
    return code ? tr_device_raise(d, code) : Py_NewRef(Py_None);
}

static PyObject *dev_unpin(PyObject *module, PyObject *arg) {
    tr_dev *d = tr_device_get(tr_ext_state(module));
    void *at = d ? PyLong_AsVoidPtr(arg) : NULL;
    if (!d || (!at && PyErr_Occurred()))
        return NULL;
    int32_t code = d->ops->unpin ? d->ops->unpin(d, at) : 0;
    return code ? tr_device_raise(d, code) : Py_NewRef(Py_None);
}

static PyObject *dev_memory(PyObject *module, PyObject *unused) {
    (void)unused;
    tr_dev *d = tr_device_get(tr_ext_state(module));
    uint64_t left, total;
    if (!d)
        return NULL;
    d->ops->memory(d, &left, &total);
    return Py_BuildValue("KK", (unsigned long long)left, (unsigned long long)total);
}

static PyObject *dev_attributes(PyObject *module, PyObject *arg) {
    int number;
    tr_dev *d = one_of(module, arg, &number);
    PyObject *all = d ? PyDict_New() : NULL;
    for (int k = 0; all && k < TR_DEV_ATTR__COUNT; k++) {
        PyObject *v = PyLong_FromLongLong(d->ops->attribute(d, number, (tr_dev_attr)k));
        if (!v || PyDict_SetItemString(all, tr_dev_attr_name[k], v) < 0)
            Py_CLEAR(all);
        Py_XDECREF(v);
    }
    return all;
}

bool tr_device_add(PyObject *module) {
    static PyMethodDef methods[] = {
        {"_dev_open", dev_open, METH_VARARGS,
         "_dev_open(name, driver)\n--\n\nOpens the device, by that library where ``driver`` is not None: how "
         "many "
         "GPUs it is."},
        {"_dev_about", dev_about, METH_O,
         "_dev_about(number)\n--\n\nName and uuid of that GPU, and the driver's version."},
        {"_dev_select", dev_select, METH_O,
         "_dev_select(number)\n--\n\nThis thread uses that GPU from now on."},
        {"_dev_selected", dev_selected, METH_NOARGS,
         "_dev_selected()\n--\n\nThe number of the GPU that this thread uses."},
        {"_dev_befriend", dev_befriend, METH_VARARGS,
         "_dev_befriend(user, of, ask)\n--\n\nWhether a GPU can use the memory of another one; from now on "
         "it "
         "does, where not only that was asked."},
        {"_dev_alloc", dev_alloc, METH_VARARGS,
         "_dev_alloc(nbytes, place=0, stream=None)\n--\n\nA block of the device's memory, not initialised, "
         "in the "
         "order of the stream that uses it first, where that is known: on the device "
         "(0), on the "
         "host where both see it (1), or where it is used (2)."},
        {"_dev_class", dev_class, METH_VARARGS,
         "_dev_class(cls, remote)\n--\n\nSays which class device arrays are of, with their ndarray in the "
         "slot "
         "_mem; and which one that is of where the host cannot touch the memory."},
        {"_dev_find", dev_find, METH_O,
         "_dev_find(ptr)\n--\n\nAddress and bytes of the block that holds an address; None: no live block of "
         "the device does."},
        {"_dev_lacks", dev_lacks, METH_VARARGS,
         "_dev_lacks(lo, hi, written)\n--\n\nWhy the device cannot use these bytes; None: it can."},
        {"_dev_owns", dev_owns, METH_O,
         "_dev_owns(ptr)\n--\n\nWhether an address is the device's, in a live block or not."},
        {"_dev_show", dev_show, METH_O,
         "_dev_show(ptr)\n--\n\nOthers use the block at this address, too, on the default stream."},
        {"_dev_sees", dev_sees, METH_O,
         "_dev_sees(ptr)\n--\n\nWhether a GPU can use an address: of the host's memory (1), of a device's "
         "(2), or not (0), as the "
         "emulated device says of all."},
        {"_dev_pin", dev_pin, METH_VARARGS,
         "_dev_pin(ptr, nbytes)\n--\n\nA GPU sees that memory of the host until `_dev_unpin`."},
        {"_dev_unpin", dev_unpin, METH_O, "_dev_unpin(ptr)\n--\n\nThe end of `_dev_pin`."},
        {"_dev_memory", dev_memory, METH_NOARGS,
         "_dev_memory()\n--\n\nBytes that are free, and all there are."},
        {"_dev_attributes", dev_attributes, METH_O,
         "_dev_attributes(number)\n--\n\nLimits and properties by CUDA's names."},
        {NULL, NULL, 0, NULL},
    };
    tr_state *st = tr_ext_state(module);
    st->devmem_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &mem_spec, NULL);
    return st->devmem_type && PyModule_AddType(module, st->devmem_type) == 0 &&
           PyModule_AddFunctions(module, methods) == 0;
}
