/* Programs of the host's whose arrays lie on a device: what these ask of Python's side while they run
 * (rt/far.c).
 *
 * A block is a DeviceMemory like those that device arrays lie in, so what such a program returns is one, and
 * what it did not is given back in the order of the default stream. The functions come with the GIL or
 * without, and take it. */
#include "ext/far.h"

#include <assert.h>
#include <stdlib.h>

#include "ext/device.h"

typedef struct block {
    tr_far far;
    PyObject *mem; /* DeviceMemory; strong */
} block;

static void block_drop(tr_far *far) {
    PyGILState_STATE g = PyGILState_Ensure();
    Py_DECREF(((block *)far)->mem);
    PyGILState_Release(g);
    free(far);
}

tr_far *tr_far_alloc(void *self, uint64_t bytes) {
    tr_state *st = self;
    block *b = malloc(sizeof *b);
    PyGILState_STATE g = PyGILState_Ensure();
    tr_dev *d = b && bytes <= PY_SSIZE_T_MAX ? tr_device_get(st) : NULL;
    PyObject *mem = d ? tr_device_alloc(st, d, TR_DEV_LOCAL, NULL, bytes) : NULL;
    if (!mem)
        PyErr_Clear(); /* the program raises, and tells of the line */
    PyGILState_Release(g);
    if (!mem) {
        free(b);
        return NULL;
    }
    *b = (block){{((tr_devmem *)mem)->mem.at, block_drop}, mem};
    return &b->far;
}

PyObject *tr_far_block(const tr_far *far) {
    assert(far->drop == block_drop && "a block of this file");
    return ((const block *)far)->mem;
}
