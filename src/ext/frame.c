/* The end of a frame: counts go to the state, what compiled code left goes back, and an
 * exception that print() or a watched launch met takes the place of the result. Under the
 * GIL. Cost: a walk over what is freed. */
#include "ext/frame.h"

#include <assert.h>

#include "ext/compat.h"
#include "ext/pyerr.h"

PyObject *tr_frame_settle(tr_state *st, tr_frame *frame, PyObject *r) {
    bool printed = frame->capout != 0;
    assert(tr_py_is_held() && "a result is given back with the GIL");
    if (r && frame->watch && !tr_pyerr_watched_well(frame))
        Py_CLEAR(r);
    atomic_fetch_add_explicit(&st->allocated, frame->nalloc, memory_order_relaxed);
    uint64_t before = frame->nfree;
    for (tr_mem *m = frame->mems.next; m != &frame->mems; m = m->next) {
        /* None: a tick ended the call between its last reference and tr_rt_free. */
        assert(m->refs >= 0 && m->next->prev == m && "what a frame lists is there, and is in the list once");
        before++; /* what frame_fini is about to free */
    }
    atomic_fetch_add_explicit(&st->freed, before, memory_order_relaxed);
    tr_rt_frame_fini(frame);
    if (printed && r && PyErr_Occurred())
        Py_CLEAR(r);
    return r;
}

bool tr_frame_passes(tr_state *st) {
    assert(PyErr_Occurred() && "there is an exception to pass over");
    PyObject *exc = st->launch_passes ? tr_py_fetch() : NULL;
    PyObject *r = exc ? PyObject_CallOneArg(st->launch_passes, exc) : NULL;
    int passes = r ? PyObject_IsTrue(r) : 0;
    Py_XDECREF(r);
    if (exc && !PyErr_Occurred() && !passes)
        tr_py_restore(Py_NewRef(exc));
    Py_XDECREF(exc);
    assert(tr_py_agrees(passes > 0) && "what is passed over is set no more");
    return passes > 0;
}
