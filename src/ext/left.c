/* Exceptions that C loops of others leave behind, taken from Python so that compiled code
 * raises them (rt/loop.c).
 *
 * Loops for numbers are called without the GIL, and take it where they have something to say: an error of
 * scipy.special, a warning that may be an error. What they raised is then in the state that Python keeps of
 * the thread. It is read without the GIL, as nobody else writes it, and only where there is one is the GIL
 * taken. Threads of the pool have no such state, and a loop would make one and lose it with what it says:
 * they get one that stays. Who calls code that may run loops there has let go of the GIL
 * (tr_variant.lets_go), or they would wait for each other. Which `except` clauses take the exception is asked
 * by number: that of the first class in its class's order of resolution that the program knows. Of two bases
 * that have nothing to do with each other that is the first. */
#include "ext/left.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ext/compat.h"
#include "ext/state.h"
#include "rt/enter.h"

typedef struct left {
    tr_kept kept;
    PyObject *exc;
} left;

static void left_drop(tr_kept *k) {
    PyGILState_STATE g = PyGILState_Ensure();
    Py_DECREF(((left *)k)->exc);
    PyGILState_Release(g);
    for (unsigned i = 0; i < sizeof k->text / sizeof *k->text; i++)
        free((char *)(uintptr_t)k->text[i]);
    free(k);
}

static uint64_t class_number(const tr_cloops *t, PyTypeObject *cls) {
    const PyObject *const *classes = t->classes;
    PyObject *order = cls->tp_mro;
    for (Py_ssize_t i = 0; order && i < PyTuple_GET_SIZE(order); i++)
        for (int64_t k = 0; k < t->nclasses; k++)
            if (classes[k] == PyTuple_GET_ITEM(order, i))
                return (uint64_t)k;
    return TR_EXC_EXCEPTION;
}

/* Gives back the reference. Only threads with the GIL can ask an exception what it says, so that is now. */
static const char *copy_text(PyObject *o) {
    const char *s = o ? PyUnicode_AsUTF8(o) : NULL;
    char *copy = s ? strdup(s) : NULL;
    Py_XDECREF(o);
    PyErr_Clear();
    return copy;
}

/* Takes the exception. The payload that names it; without memory its number is 0. */
static int64_t keep(const tr_cloops *t, tr_frame *f, PyObject *exc) {
    uint64_t of = class_number(t, Py_TYPE(exc)) << TR_CAUGHT_BITS;
    assert(t->host && "a table of loops has a host");
    left *l = malloc(sizeof *l);
    if (!l) {
        Py_DECREF(exc);
        return (int64_t)of;
    }
    *l = (left){.kept = {.number = 1 + atomic_fetch_add(&((tr_state *)t->host)->left, 1),
                         .text = {copy_text(PyObject_Str(exc)), copy_text(PyObject_Repr(exc)),
                                  copy_text(PyObject_GetAttrString((PyObject *)Py_TYPE(exc), "__name__"))},
                         .drop = left_drop},
                .exc = exc};
    return (int64_t)(of | tr_rt_keep(f, &l->kept));
}

/* KeyboardInterrupt and its like, which Python's own code raised that a warning runs, end the call. */
static __attribute__((noinline)) int64_t take(const tr_cloops *t, tr_frame *f) {
    PyGILState_STATE g = PyGILState_Ensure();
    PyObject *exc = tr_py_fetch();
    bool ends =
        exc && !PyObject_TypeCheck(exc, (PyTypeObject *)PyExc_Exception) && syscall(SYS_gettid) == getpid();
    int64_t r = 0;
    if (ends)
        tr_py_restore(exc);
    else if (exc)
        r = keep(t, f, exc);
    PyGILState_Release(g);
    if (ends)
        tr_rt_end_now(TR_CODE_HOST);
    return r;
}

static int64_t raised(const tr_cloops *t, tr_frame *f) {
    const PyThreadState *ts = PyGILState_GetThisThreadState();
    return ts && tr_py_has_raised(ts) ? take(t, f) : 0;
}

static void ready(void) {
    if (PyGILState_GetThisThreadState())
        return;
    (void)PyGILState_Ensure(); /* there is no matching release, so the state stays */
    (void)PyEval_SaveThread();
}

void tr_left_fill(tr_cloops *t, tr_state *st) {
    t->ready = ready;
    t->raised = raised;
    t->host = st;
}

PyObject *tr_left_exception(const tr_frame *f, int64_t payload) {
    uint64_t number = (uint64_t)payload & ((UINT64_C(1) << TR_CAUGHT_BITS) - 1);
    const tr_kept *k = number ? tr_rt_kept(f, number) : NULL;
    if (k)
        return Py_NewRef(((const left *)k)->exc);
    if (!number)
        PyErr_NoMemory();
    else
        PyErr_Format(PyExc_RuntimeError,
                     "an exception of a ufunc was raised again after %d others, and is not known any more",
                     TR_FRAME_KEPT);
    return NULL;
}
