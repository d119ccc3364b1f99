/* The device as Python sees it: blocks of its memory, streams, events, and how its failures
 * are raised (device.c, stream.c). */
#ifndef TR_EXT_DEVICE_H
#define TR_EXT_DEVICE_H

#include "code/code.h"
#include "dev/dev.h"
#include "ext/function.h"
#include "ext/state.h"

/* A block. It lives as long as arrays that lie in it, which have it as their base; `free` ends it early,
 * and who uses it then gets an error. */
typedef struct tr_devmem {
    PyObject_HEAD
    tr_state *st;
    tr_dev_mem mem;
    _Atomic bool live;
    PyObject *weakrefs;
} tr_devmem;

bool tr_device_add(PyObject *module);
/* The device, opened at its first use. NULL with an exception. */
tr_dev *tr_device_get(tr_state *st);
/* A block of its memory, which comes in the order of stream s. NULL with an exception. */
PyObject *tr_device_alloc(tr_state *st, tr_dev *d, tr_dev_place place, tr_dev_stream *s, uint64_t bytes);
/* Raises why the device did not do something: NULL. Right behind the call that gave `code`, on its thread. */
PyObject *tr_device_raise(tr_dev *d, int32_t code);
/* The ndarray of a device array; NULL: it is none, or has none any more. Borrowed. */
static inline PyObject *tr_device_mem(const tr_state *st, PyObject *o) {
    PyTypeObject *cls = st->devarray_type;
    return cls && (Py_IS_TYPE(o, cls) || PyType_IsSubtype(Py_TYPE(o), cls))
               ? *(PyObject **)((char *)o + st->devarray_slot)
               : NULL;
}
/* The block at the end of an array's bases; NULL: none. Borrowed. */
static inline tr_devmem *tr_device_block(const tr_state *st, PyObject *array) {
    PyObject *o = array;
    while (o && PyArray_Check(o))
        o = PyArray_BASE((PyArrayObject *)o);
    while (o && PyMemoryView_Check(o)) /* np.frombuffer has one between */
        o = PyMemoryView_GET_BUFFER(o)->obj;
    return o && Py_IS_TYPE(o, st->devmem_type) ? (tr_devmem *)o : NULL;
}
/* Around what may wait for the device: a call of Python's on a stream may have to come first, and
 * needs the GIL. NULL: there is none. */
static inline PyThreadState *tr_device_leave(const tr_state *st) {
    return atomic_load_explicit(&st->calls, memory_order_relaxed) ? PyEval_SaveThread() : NULL;
}
static inline void tr_device_return(PyThreadState *ts) {
    if (ts)
        PyEval_RestoreThread(ts);
}
/* The device can use the array: it lies in a live block, or is the host's own. False with ValueError. */
bool tr_device_check(tr_state *st, tr_dev *d, PyObject *array);

/* Why the device cannot use the bytes from lo to before hi, which others say to be an array's; NULL:
 * it can, and `written`: write there. */
const char *tr_device_lacks(tr_dev *d, uint64_t lo, uint64_t hi, bool written);

/* --- dlpack.c --- */

bool tr_dlpack_add(PyObject *module);

/* --- libs.c, blas.c --- */

bool tr_libs_add(PyObject *module);
bool tr_blas_add(PyObject *module);

/* --- librand.c --- */

bool tr_librand_add(PyObject *module);

/* --- libsort.c --- */

bool tr_libsort_add(PyObject *module);

/* --- libsparse.c --- */

bool tr_libsparse_add(PyObject *module);

/* --- stream.c --- */

bool tr_stream_add(PyObject *module);
void tr_stream_write(void *self, const char *text, size_t n); /* tr_dev_host.write; self: the state */

/* Frees what is over, and writes what was printed. False: an exception that this met is set. */
bool tr_stream_drain(tr_state *st);
/* All that s was given has been done, or a failure is raised. NULL: all streams. */
bool tr_stream_synchronize(tr_state *st, tr_dev *d, tr_dev_stream *s);
/* As tr_stream_drain where the device may be used: not in a callback of a stream's. */
bool tr_stream_ready(tr_state *st);
/* What a stream object stands for: 0 and None, too. False with TypeError. *out: NULL, the default one. */
bool tr_stream_of(tr_state *st, PyObject *o, tr_dev_stream **out);

/* Of another library's, whose order the device's memory does not know. `stream`: a Stream, or NULL. */
bool tr_stream_is_foreign(PyObject *stream);

/* A job that outlives the call that makes it, with what must live until it has run. */
typedef struct tr_devjob {
    tr_dev_job job;
    struct tr_devjob *older; /* in the state's list of those that are over */
    tr_state *st;
    PyObject *ran;  /* is told what a launch touched; NULL, None: nothing is. Strong */
    tr_function *f; /* a launch's, with the code that it runs; strong */
    tr_module *code;
    tr_frame frame;
    uint32_t nkeep, nslots;
    PyObject **keep; /* strong */
    tr_slot slots[];
} tr_devjob;
/* NULL with MemoryError. It has room for so many slots and objects. */
tr_devjob *tr_devjob_new(tr_state *st, tr_dev_op op, uint32_t nslots, uint32_t nkeep);
void tr_devjob_free(tr_devjob *j);
/* Gives it to the stream; takes it, also on failure. */
bool tr_devjob_submit(tr_devjob *j, tr_dev *d, tr_dev_stream *s);

/* Work of a library's. On the default stream it is done when tr_stream_work returns, or a GPU's; on others it
 * is a job with a copy of what it is told, and what it refers to lives until it has run. */
typedef struct tr_libwork {
    int32_t (*fn)(void *arg, const tr_dev_at *at);
    void *arg; /* `bytes` of them, which are the caller's again at the return */
    size_t bytes;
    int gpu;               /* whose default stream, as tr_dev_work has it */
    bool away;             /* it takes so long that others have the GIL meanwhile */
    PyObject *const *keep; /* borrowed; NULL: there is none at that place */
    uint32_t nkeep;
} tr_libwork;
/* False with an exception. */
bool tr_stream_work(tr_state *st, tr_dev *d, tr_dev_stream *s, const tr_libwork *w);

/* Raises a failure, and gives its job back. True: it is passed over. */
bool tr_stream_raise(tr_state *st, tr_dev_failure *f);
/* The default stream is the caller's until tr_stream_end: all other work is done. False with an exception:
 * Ctrl-C, or a failure that is told now. */
bool tr_stream_begin_slow(tr_state *st, tr_dev *d);
static inline bool tr_stream_begin(tr_state *st, tr_dev *d) {
    uint64_t ticket = 0;
    tr_dev_failure f;
    if (__builtin_expect(tr_dev_is_called() || atomic_load_explicit(&st->over, memory_order_relaxed) ||
                             !d->ops->begin(d, &ticket, 0),
                         0))
        return tr_stream_begin_slow(st, d);
    if (__builtin_expect(!d->ops->take(d, NULL, &f), 1))
        return true;
    if (tr_stream_raise(st, &f))
        return true;
    d->ops->end(d);
    return false;
}

#endif
