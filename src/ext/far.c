/* Programs of the host's whose arrays lie on a device: what these ask of Python's side while they run
 * (rt/far.c).
 *
 * A block is a DeviceMemory like those that device arrays lie in, so what such a program returns is one, and
 * what it did not is given back in the order of the default stream. The functions come with the GIL or
 * without, and take it. */
#include "ext/far.h"

#include <assert.h>
#include <stdlib.h>

#include "ext/compat.h"
#include "ext/device.h"
#include "ext/job.h"
#include "ext/pyerr.h"

static void block_drop(tr_far *far) {
    PyGILState_STATE g = PyGILState_Ensure();
    Py_DECREF(((tr_farblock *)far)->mem);
    PyGILState_Release(g);
    free(far);
}

tr_far *tr_far_alloc(void *self, uint64_t bytes) {
    tr_state *st = self;
    tr_farblock *b = malloc(sizeof *b);
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
    *b = (tr_farblock){{((tr_devmem *)mem)->mem.at, block_drop}, mem};
    return &b->far;
}

/* --- launches --- */

#define RUNNING "treadle.far" /* of a thread's own: the Function that runs such a program */

bool tr_far_begin(PyObject *fn) {
    PyObject *own = PyThreadState_GetDict(); /* borrowed */
    return own && PyDict_SetItemString(own, RUNNING, fn) == 0;
}

static tr_function *running(void) {
    PyObject *own = PyThreadState_GetDict();
    return own ? (tr_function *)PyDict_GetItemString(own, RUNNING) : NULL;
}

/* The name of the processor for which kernels are made, as the package has it. A new reference. */
static PyObject *target_name(void) {
    PyObject *m = PyImport_ImportModule("treadle.parallel._device");
    PyObject *r = m ? PyObject_CallMethod(m, "target", NULL) : NULL;
    Py_XDECREF(m);
    return r;
}

/* Compiles a kernel and loads it; in the cell's lock. */
static bool make_kernel(tr_state *st, tr_dev *d, tr_late *l) {
    tr_ctx c;
    tr_prog p;
    PyObject *name = target_name();
    const char *target = name ? PyUnicode_AsUTF8(name) : NULL;
    tr_module *m = NULL;
    if (!target) {
        Py_XDECREF(name);
        return false;
    }
    tr_ctx_init(&c);
    c.dump = st->dump;
    c.types = tr_tytab_new(NULL);
    if (!c.types)
        PyErr_NoMemory();
    else if (!(m = tr_driver_far(l, target, &c, &p)))
        tr_pyerr_raise_ctx(&c, PyFunction_GetGlobals(running()->py_func));
    else if (tr_devcode_load_far(&c, &p, m, d, running()))
        tr_module_add_far(l, m);
    else
        tr_module_unref(m);
    if (c.types)
        tr_tytab_free(c.types);
    tr_ctx_fini(&c);
    Py_DECREF(name);
    return atomic_load(&l->entry) != NULL;
}

static const tr_devcode *kernel_of(tr_state *st, tr_dev *d, tr_late *l) {
    const tr_devcode *k = atomic_load(&l->entry);
    tr_py_section section;
    if (k)
        return k;
    tr_py_section_begin(&section, st->gate);
    if (atomic_load(&l->entry) || make_kernel(st, d, l))
        k = atomic_load(&l->entry);
    tr_py_section_end(&section);
    return k;
}

/* What a launch before has raised is raised now. */
static bool is_well(tr_state *st, tr_dev *d) {
    tr_dev_failure f;
    return !d->ops->take(d, NULL, &f) || tr_stream_raise(st, &f);
}

int32_t tr_far_launch(void *self, tr_late *l, const tr_slot *slots, uint32_t n) {
    tr_state *st = self;
    PyGILState_STATE g = PyGILState_Ensure();
    tr_dev *d = tr_device_get(st);
    const tr_devcode *k = d ? kernel_of(st, d, l) : NULL;
    tr_dev_launch job = {.slots = (tr_slot *)slots, .nslots = n, .nsizes = TR_LAUNCH_SIZES};
    int32_t code = 0;
    if (k) {
        job.code = k->code;
        if ((code = d->ops->launch(d, NULL, &job)))
            tr_device_raise(d, code);
    }
    bool ok = k && !code && is_well(st, d);
    assert(tr_py_agrees(ok) && "why it is not launched is raised");
    PyGILState_Release(g);
    return ok ? 0 : TR_CODE_HOST;
}

int32_t tr_far_fetch(void *self, void *to, const void *from, uint64_t bytes) {
    tr_state *st = self;
    PyGILState_STATE g = PyGILState_Ensure();
    tr_dev *d = tr_device_get(st);
    tr_dev_job j = {.op = TR_DEV_COPY, .u.copy = {.to = to, .from = from, .item = bytes}};
    bool ok = d && tr_stream_begin(st, d);
    if (ok) {
        int32_t code = d->ops->submit(d, NULL, &j);
        d->ops->end(d);
        if (code)
            tr_device_raise(d, code);
        ok = !code && is_well(st, d);
    }
    assert(tr_py_agrees(ok) && "why nothing is there is raised");
    PyGILState_Release(g);
    return ok ? 0 : TR_CODE_HOST;
}
