/* Running a loop for NumPy or a call: the room on the stack before it, and what its code says after it. No
 * GIL is needed, none is taken but to raise. */
#include "ext/pyerr.h"

#include <assert.h>
#include "ext/ufunc.h"
#include "rt/fns.h"

_Static_assert(sizeof(npy_intp) == sizeof(int64_t), "NumPy's shapes and strides are those of exec/");

/* Raises what `code` says, and counts what is left. */
static __attribute__((noinline)) bool settle(const tr_uloop *l, int32_t code, tr_frame *frame) {
    tr_state *st = l->uf->st;
    PyGILState_STATE g = PyGILState_Ensure();
    if (code && !l->uf->fn)
        PyErr_Format(PyExc_RuntimeError, "%U() is being destroyed", l->uf->name);
    else if (code && !PyErr_Occurred())
        tr_pyerr_raise_code(l->uf->fn, tr_module_meta(l->module), code, frame);
    assert((!code || PyErr_Occurred()) && "a loop that ends with a code has raised");
    uint64_t freed = frame->nfree;
    for (tr_mem *b = frame->mems.next; b != &frame->mems; b = b->next)
        freed++;
    atomic_fetch_add_explicit(&st->allocated, frame->nalloc, memory_order_relaxed);
    atomic_fetch_add_explicit(&st->freed, freed, memory_order_relaxed);
    bool ok = code == 0;
    tr_rt_frame_fini(frame);
    if (ok && PyErr_Occurred()) /* print() met an error */
        ok = false;
    PyGILState_Release(g);
    return ok;
}

bool tr_uloop_end(const tr_uloop *l, int32_t code, tr_frame *frame) {
    return code || frame->nalloc || frame->nfree || frame->capout || frame->links ? settle(l, code, frame)
                                                                                  : true;
}

static __attribute__((cold, noinline)) bool no_room(const tr_ufunc *uf) {
    PyGILState_STATE g = PyGILState_Ensure();
    PyErr_Format(PyExc_RecursionError, "the stack of this thread has no room for a call of %U()", uf->name);
    PyGILState_Release(g);
    return false;
}

bool tr_ufunc_room(const tr_ufunc *uf, size_t bytes) {
    return tr_rt_stack_left() >= bytes || no_room(uf);
}

bool tr_uloop_run(tr_uloop *l, char *const *args, const npy_intp *dims, const npy_intp *steps) {
    tr_frame frame;
    PyThreadState *ts = l->lets_go && PyGILState_Check() ? PyEval_SaveThread()
                                                         : NULL; /* NumPy lets go of it for many items */
    tr_rt_frame_init(&frame, &l->uf->st->host);
    bool ok = tr_uloop_end(l, tr_exec_run(&l->exec, &frame, args, dims, steps), &frame);
    if (ts)
        PyEval_RestoreThread(ts);
    return ok;
}
