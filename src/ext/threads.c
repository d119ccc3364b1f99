/* What Python sees of the thread pool (rt/pool.h), and private functions for its tests and benchmark:
 *
 *   _set_pool_size(name, text)                     sizes the pool by a setting's text; None: by the
 *                                                  processors
 *   _pool_size() -> the most that set_num_threads() takes
 *   _pool_run(body, n, grain, nogil) -> (code, ranges run, threads that took part)
 *       one region; body "empty", "sleep" (1 ms a range), "print" (its first index) or
 *       "raise" (code 1 + first index)
 *   _pool_grain(n, backwards=False)                ranges of n rounds wherever the runtime chooses; 0: its
 *                                                  own choice; the last first
 *   _pool_launch(ranges, times) -> seconds that so many empty regions took */
#include "ext/threads.h"

#include "ext/pyerr.h"
#include "rt/fns.h"
#include "rt/pool.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- public --- */

static PyObject *get_num_threads(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyLong_FromLongLong(tr_rt_num_threads());
}

static PyObject *set_num_threads(PyObject *module, PyObject *arg) {
    (void)module;
    PyObject *index = PyNumber_Index(arg);
    if (!index)
        return NULL;
    int over;
    long long n = PyLong_AsLongLongAndOverflow(index, &over);
    Py_DECREF(index);
    if (over || !tr_rt_set_num_threads(n)) {
        PyErr_Format(PyExc_ValueError,
                     "the number of threads must be between 1 and %u (TREADLE_NUM_THREADS), not %S",
                     tr_rt_pool_size(), arg);
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *get_thread_id(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyLong_FromLongLong(tr_rt_thread_id());
}

/* --- private --- */

static bool set_size(const char *name, const char *text) {
    char msg[160];
    if (tr_rt_pool_configure(name, text, msg, sizeof msg))
        return true;
    PyErr_SetString(PyExc_ValueError, msg);
    return false;
}

static PyObject *set_pool_size(PyObject *module, PyObject *args) {
    (void)module;
    const char *name, *text;
    if (!PyArg_ParseTuple(args, "sz", &name, &text) || !set_size(name, text))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *pool_size(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    return PyLong_FromUnsignedLong(tr_rt_pool_size());
}

typedef struct trial {
    _Atomic int64_t ranges;
    _Atomic uint64_t threads; /* a bit each */
} trial;

static void count(void *ctx, uint32_t worker) {
    trial *t = ctx;
    atomic_fetch_add_explicit(&t->ranges, 1, memory_order_relaxed);
    atomic_fetch_or_explicit(&t->threads, UINT64_C(1) << worker % 64, memory_order_relaxed);
}

static int32_t body_nothing(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    (void)f, (void)ctx, (void)lo, (void)hi, (void)worker;
    return 0;
}

static int32_t body_empty(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    (void)f, (void)lo, (void)hi;
    count(ctx, worker);
    return 0;
}

static int32_t body_sleep(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    const struct timespec ms = {0, 1000000};
    nanosleep(&ms, NULL);
    return body_empty(f, ctx, lo, hi, worker);
}

static int32_t body_print(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    tr_rt_print_str(f, "at ");
    tr_rt_print_i64(f, lo);
    tr_rt_print_str(f, "\n");
    tr_rt_print_end(f);
    return body_empty(f, ctx, lo, hi, worker);
}

static int32_t body_raise(tr_frame *f, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    body_empty(f, ctx, lo, hi, worker);
    return lo > 0 ? (int32_t)(1 + lo % INT32_MAX) : 0;
}

static PyObject *pool_run(PyObject *module, PyObject *args) {
    static const struct {
        const char *name;
        tr_par_fn *fn;
    } bodies[] = {{"empty", body_empty}, {"sleep", body_sleep}, {"print", body_print}, {"raise", body_raise}};
    const char *name;
    long long n, grain;
    int nogil;
    if (!PyArg_ParseTuple(args, "sLLp", &name, &n, &grain, &nogil))
        return NULL;
    tr_par_fn *fn = NULL;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        if (strcmp(bodies[i].name, name) == 0)
            fn = bodies[i].fn;
    if (!fn) {
        PyErr_Format(PyExc_ValueError, "no body '%s'", name);
        return NULL;
    }
    trial t = {0};
    tr_frame frame;
    tr_rt_frame_init(&frame, &tr_ext_state(module)->host);
    PyThreadState *ts = nogil ? PyEval_SaveThread() : NULL;
    int32_t code = tr_rt_parallel(&frame, fn, &t, n, grain);
    if (ts)
        PyEval_RestoreThread(ts);
    tr_rt_frame_fini(&frame);
    if (code < 0)
        tr_pyerr_raise_reason(code);
    assert((code || t.ranges > 0 || n <= 0) && "a region that went well has run its ranges");
    if (PyErr_Occurred())
        return NULL;
    return Py_BuildValue("iLi", (int)code, (long long)t.ranges, __builtin_popcountll(t.threads));
}

static PyObject *pool_grain(PyObject *module, PyObject *args) {
    long long n;
    int backwards = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "L|p", &n, &backwards))
        return NULL;
    if (n < 0) {
        PyErr_Format(PyExc_ValueError, "ranges of %lld rounds", n);
        return NULL;
    }
    tr_rt_fix_grain(n, backwards);
    Py_RETURN_NONE;
}

static PyObject *pool_launch(PyObject *module, PyObject *args) {
    long long ranges, times;
    if (!PyArg_ParseTuple(args, "LL", &ranges, &times))
        return NULL;
    tr_frame frame;
    tr_rt_frame_init(&frame, &tr_ext_state(module)->host);
    int64_t start = tr_rt_now();
    int32_t code = 0;
    for (long long i = 0; i < times && !code; i++)
        code = tr_rt_parallel(&frame, body_nothing, NULL, ranges, 1);
    int64_t took = tr_rt_now() - start;
    tr_rt_frame_fini(&frame);
    if (code < 0) {
        tr_pyerr_raise_reason(code);
        return NULL;
    }
    return PyFloat_FromDouble((double)took * 1e-9);
}

/* prange as Python itself runs it. */
static PyObject *prange(PyObject *module, PyObject *args) {
    (void)module;
    return PyObject_CallObject((PyObject *)&PyRange_Type, args);
}

/* --- the module --- */

PyDoc_STRVAR(
    get_doc,
    "get_num_threads()\n--\n\n"
    "Threads that a parallel region of the calling thread uses at most.\n\n"
    "Returns\n-------\nint\n    The pool's size (TREADLE_NUM_THREADS, else the processors this process "
    "may use), unless\n    set_num_threads() was called on this thread.");
PyDoc_STRVAR(set_doc,
             "set_num_threads(n, /)\n--\n\n"
             "Limit the parallel regions that the calling thread begins to n threads, itself among them.\n\n"
             "Results do not depend on it. Other threads keep their own limit; a new one starts without.\n\n"
             "Parameters\n----------\nn : int\n    From 1 to the pool's size.\n\n"
             "Raises\n------\nValueError\n    n is outside of that.");
PyDoc_STRVAR(
    id_doc,
    "get_thread_id()\n--\n\n"
    "Number of the calling thread in its parallel region.\n\n"
    "Returns\n-------\nint\n    From 0 to get_num_threads() - 1, different for each thread in one region; 0 "
    "outside of any.");

PyDoc_STRVAR(prange_doc, "prange([start,] stop[, step])\n--\n\n"
                         "A range whose loop runs on all cores in a function compiled with "
                         "``parallel=True``; a plain range elsewhere.\n\n"
                         "The index is a signed integer. Reductions with ``+ - * / & | min max and or`` are "
                         "found; a loop whose iterations depend\n"
                         "on each other is refused.\n\n"
                         "Returns\n-------\nrange\n\n"
                         "Examples\n--------\n>>> @njit(parallel=True)\n... def total(a):\n...     s = 0.0\n"
                         "...     for i in prange(len(a)):\n...         s += a[i]\n...     return s\n"
                         ">>> total(np.ones(1000))\n1000.0");

bool tr_threads_add(PyObject *module) {
    static PyMethodDef methods[] = {
        {"get_num_threads", get_num_threads, METH_NOARGS, get_doc},
        {"set_num_threads", set_num_threads, METH_O, set_doc},
        {"get_thread_id", get_thread_id, METH_NOARGS, id_doc},
        {"prange", prange, METH_VARARGS, prange_doc},
        {"_set_pool_size", set_pool_size, METH_VARARGS, NULL},
        {"_pool_size", pool_size, METH_NOARGS, NULL},
        {"_pool_run", pool_run, METH_VARARGS, NULL},
        {"_pool_grain", pool_grain, METH_VARARGS, NULL},
        {"_pool_launch", pool_launch, METH_VARARGS, NULL},
        {NULL, NULL, 0, NULL},
    };
    if (!set_size("TREADLE_NUM_THREADS", getenv("TREADLE_NUM_THREADS")) ||
        PyModule_AddFunctions(module, methods) != 0)
        return false;
    if (Py_AtExit(tr_rt_pool_stop) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "too many functions wait for the interpreter's end");
        return false;
    }
    return true;
}
