/* Memory of the device as Python objects.
 *
 * A DeviceMemory gives its bytes by the buffer protocol, to those of the package's own modules that make arrays of them; the arrays keep it alive. It never moves, so
 * nobody counts who looks at it: `free` is for those who end a context, and all uses look at `live` before. */
#include "ext/device.h"

#include "ext/compat.h"

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

tr_dev *tr_device_get(tr_state *st) {
    tr_dev *d = atomic_load_explicit(&st->dev, memory_order_acquire);
    char msg[160];
    if (d)
        return d;
    tr_dev_host h = {.host = &st->host, .write = tr_stream_write, .self = st};
    d = tr_dev_open("emu", &h, msg, sizeof msg);
    if (!d) {
        PyErr_SetString(PyExc_RuntimeError, msg);
        return NULL;
    }
    if (!stop_at_exit(st))
        return NULL;
    atomic_store_explicit(&st->dev, d, memory_order_release);
    return d;
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
    d->ops->free(d, &m->mem);
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

static PyMethodDef mem_methods[] = {
    {"free", mem_free, METH_NOARGS,
     "free()\n--\n\nGive the memory back now. What lies there cannot be used any more."},
    {0},
};

static PyGetSetDef mem_getset[] = {
    {"ptr", get_ptr, NULL, "The address.", NULL},
    {"nbytes", get_nbytes, NULL, "How many bytes there are.", NULL},
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
    return PyArray_SIZE(a) == 0 || freed(PyArray_DATA(a));
}

static PyObject *dev_class(PyObject *module, PyObject *cls) {
    tr_state *st = tr_ext_state(module);
    PyObject *slot = PyObject_GetAttrString(cls, "_mem");
    if (!slot)
        return NULL;
    const PyMemberDef *m =
        Py_IS_TYPE(slot, &PyMemberDescr_Type) ? ((PyMemberDescrObject *)slot)->d_member : NULL;
    bool ok = m && m->type == T_OBJECT_EX && PyType_Check(cls);
    if (ok) {
        st->devarray_slot = m->offset;
        Py_XSETREF(st->devarray_type, (PyTypeObject *)Py_NewRef(cls));
    } else {
        PyErr_SetString(PyExc_TypeError, "a class of device arrays has its ndarray in the slot _mem");
    }
    Py_DECREF(slot);
    return ok ? Py_NewRef(Py_None) : NULL;
}

/* --- functions --- */

static PyObject *dev_alloc(PyObject *module, PyObject *arg) {
    tr_state *st = tr_ext_state(module);
    tr_dev *d = tr_device_get(st);
    size_t bytes = d ? PyLong_AsSize_t(arg) : 0;
    if (!d || (bytes == (size_t)-1 && PyErr_Occurred()))
        return NULL;
    tr_devmem *m = (tr_devmem *)st->devmem_type->tp_alloc(st->devmem_type, 0);
    if (!m)
        return NULL;
    m->st = st;
    int32_t code = d->ops->alloc(d, bytes, &m->mem);
    if (code && tr_stream_drain(st)) /* arguments of launches that are over */
        code = d->ops->alloc(d, bytes, &m->mem);
    if (PyErr_Occurred()) {
        Py_DECREF(m);
        return NULL;
    }
    if (code) {
        uint64_t left, total;
        Py_DECREF(m);
        d->ops->memory(d, &left, &total);
        return PyErr_Format(PyExc_MemoryError, "%zu bytes of the device's memory: %llu of %llu are free",
                            bytes, (unsigned long long)left, (unsigned long long)total);
    }
    m->live = true;
    return (PyObject *)m;
}

static PyObject *dev_find(PyObject *module, PyObject *arg) {
    tr_dev *d = tr_device_get(tr_ext_state(module));
    void *at = d ? PyLong_AsVoidPtr(arg) : NULL;
    tr_dev_mem m;
    if (!d || (!at && PyErr_Occurred()))
        return NULL;
    if (!d->ops->find(d, at, &m))
        Py_RETURN_NONE;
    return Py_BuildValue("NK", PyLong_FromVoidPtr(m.at), (unsigned long long)m.bytes);
}

static PyObject *dev_owns(PyObject *module, PyObject *arg) {
    tr_dev *d = tr_device_get(tr_ext_state(module));
    void *at = d ? PyLong_AsVoidPtr(arg) : NULL;
    if (!d || (!at && PyErr_Occurred()))
        return NULL;
    return PyBool_FromLong(d->ops->owns(d, at));
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

static PyObject *dev_attributes(PyObject *module, PyObject *unused) {
    (void)unused;
    tr_dev *d = tr_device_get(tr_ext_state(module));
    PyObject *all = d ? PyDict_New() : NULL;
    for (int k = 0; all && k < TR_DEV_ATTR__COUNT; k++) {
        PyObject *v = PyLong_FromLongLong(d->ops->attribute(d, (tr_dev_attr)k));
        if (!v || PyDict_SetItemString(all, tr_dev_attr_name[k], v) < 0)
            Py_CLEAR(all);
        Py_XDECREF(v);
    }
    return all;
}

bool tr_device_add(PyObject *module) {
    static PyMethodDef methods[] = {
        {"_dev_alloc", dev_alloc, METH_O,
         "_dev_alloc(nbytes)\n--\n\nA block of the device's memory, not initialised."},
        {"_dev_class", dev_class, METH_O,
         "_dev_class(cls)\n--\n\nSays which class device arrays are of, with their ndarray in the slot "
         "_mem."},
        {"_dev_find", dev_find, METH_O,
         "_dev_find(ptr)\n--\n\nAddress and bytes of the block that holds an address; None: no live block of "
         "the device does."},
        {"_dev_owns", dev_owns, METH_O,
         "_dev_owns(ptr)\n--\n\nWhether an address is the device's, in a live block or not."},
        {"_dev_memory", dev_memory, METH_NOARGS,
         "_dev_memory()\n--\n\nBytes that are free, and all there are."},
        {"_dev_attributes", dev_attributes, METH_NOARGS,
         "_dev_attributes()\n--\n\nLimits and properties by CUDA's names."},
        {NULL, NULL, 0, NULL},
    };
    tr_state *st = tr_ext_state(module);
    st->devmem_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &mem_spec, NULL);
    return st->devmem_type && PyModule_AddType(module, st->devmem_type) == 0 &&
           PyModule_AddFunctions(module, methods) == 0;
}
