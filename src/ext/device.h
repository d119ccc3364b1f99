/* The device as Python sees it: class DeviceMemory, a block of its memory, and arrays that lie there. */
#ifndef TR_EXT_DEVICE_H
#define TR_EXT_DEVICE_H

#include "dev/dev.h"
#include "ext/state.h"

/* A block. It lives as long as arrays that lie in it, which have it as their base; `free` ends it early, and who uses it then gets an error. */
typedef struct tr_devmem {
    PyObject_HEAD
    tr_state *st;
    tr_dev_mem mem;
    _Atomic bool live;
    PyObject *weakrefs;
} tr_devmem;

bool tr_device_add(PyObject *module);
/* The ndarray of a device array; NULL: it is none, or has none any more. Borrowed. */
static inline PyObject *tr_device_mem(const tr_state *st, PyObject *o) {
    PyTypeObject *cls = st->devarray_type;
    return cls && (Py_IS_TYPE(o, cls) || PyType_IsSubtype(Py_TYPE(o), cls))
               ? *(PyObject **)((char *)o + st->devarray_slot)
               : NULL;
}
/* The device, opened at its first use. NULL with an exception. */
tr_dev *tr_device_get(tr_state *st);
/* ValueError: it was freed. Always false. */
bool tr_device_freed(const tr_devmem *m);
/* The block at the end of an array's bases; NULL: none. Borrowed. */
tr_devmem *tr_device_block(const tr_state *st, PyObject *array);

#endif
