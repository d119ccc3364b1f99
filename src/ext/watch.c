/* Exceptions of launches that were watched: treadle.cuda._checks words what the runtime found. */
#include "ext/pyerr.h"
#include "rt/watch.h"

static PyObject *side(const tr_watch_side *s) {
    if (!s->site)
        return Py_NewRef(Py_None);
    return Py_BuildValue("s(LLL)(LLL)i", s->site, (long long)s->block[0], (long long)s->block[1],
                         (long long)s->block[2], (long long)s->thread[0], (long long)s->thread[1],
                         (long long)s->thread[2], s->how);
}

static PyObject *numbers(unsigned n, const int64_t *x) {
    PyObject *t = PyTuple_New((Py_ssize_t)n);
    for (unsigned k = 0; t && k < n; k++) {
        PyObject *v = PyLong_FromLongLong(x[k]);
        if (!v)
            Py_CLEAR(t);
        else
            PyTuple_SET_ITEM(t, (Py_ssize_t)k, v);
    }
    return t;
}

/* kind, array, shared, index, size, two sides, times. */
static PyObject *report(const tr_watch_report *r) {
    return Py_BuildValue("isiNNNNK", (int)r->kind, r->array, (int)r->shared, numbers(r->ndim, r->index),
                         numbers(r->ndim, r->size), side(&r->of[0]), side(&r->of[1]),
                         (unsigned long long)r->times);
}

static PyObject *reports(const tr_watch_state *s) {
    PyObject *l = PyList_New(0);
    for (uint32_t k = 0; l && k < s->n; k++) {
        PyObject *r = report(&s->reports[k]);
        if (!r || PyList_Append(l, r) < 0)
            Py_CLEAR(l);
        Py_XDECREF(r);
    }
    return l;
}

/* treadle.cuda._checks.<name>(exc, kernel, block, thread, ended, reports, more). */
static PyObject *tell(const char *name, PyObject *exc, const tr_watch_state *s) {
    PyObject *found = reports(s), *r = NULL;
    PyObject *mod = found ? PyImport_ImportModule("treadle.cuda._checks") : NULL;
    if (mod)
        r = PyObject_CallMethod(mod, name, "Os(LLL)(LLL)iOK", exc ? exc : Py_None, s->kernel,
                                (long long)s->block[0], (long long)s->block[1], (long long)s->block[2],
                                (long long)s->thread[0], (long long)s->thread[1], (long long)s->thread[2],
                                (int)s->ended, found, (unsigned long long)s->more);
    Py_XDECREF(mod);
    Py_XDECREF(found);
    return r;
}

void tr_pyerr_watched(const tr_frame *frame) {
    tr_watch_state s;
    if (!tr_rt_watch_state(frame, &s))
        return;
    PyObject *exc = tr_py_fetch(), *told = tell("told", exc, &s);
    Py_XDECREF(exc);
    if (told) /* else what went wrong in telling is the exception */
        tr_py_restore(told);
}

bool tr_pyerr_watched_well(const tr_frame *frame) {
    tr_watch_state s;
    PyObject *r = tr_rt_watch_state(frame, &s) && s.n ? tell("warn", NULL, &s) : Py_NewRef(Py_None);
    Py_XDECREF(r);
    return r != NULL;
}

/* self: a list. */
static bool add_span(void *self, uint64_t lo, uint64_t hi, bool written) {
    PyObject *t =
        Py_BuildValue("KKN", (unsigned long long)lo, (unsigned long long)hi, PyBool_FromLong(written));
    bool ok = t && PyList_Append(self, t) == 0;
    Py_XDECREF(t);
    return ok;
}

void tr_pyerr_touched(const tr_frame *frame, PyObject *ran) {
    PyObject *l = PyList_New(0);
    PyObject *r = l && tr_rt_watch_spans(frame, add_span, l) ? PyObject_CallOneArg(ran, l) : NULL;
    if (!r && PyErr_Occurred())
        PyErr_WriteUnraisable(ran);
    Py_XDECREF(r);
    Py_XDECREF(l);
}
