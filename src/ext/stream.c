/* Streams and events of the device as Python objects, copies, and what happens on the way back from a stream.
 *
 * A job on a stream refers to Python objects that must live until it has run; the device gives it back
 * on a thread of its own, without the GIL, so it is put into a list (`over`) that the next call of
 * ours empties. What launches printed waits likewise, as CUDA's printf does, for a synchronisation.
 * Only calls that the user puts on a stream take the GIL there. Whoever waits lets go of the GIL, and
 * looks for signals twenty times a second.
 * A failure is raised by who synchronises, from the job that failed: it has the frame with the exception. At
 * the interpreter's end the device is stopped, and what nobody was told is told then. */
#include "ext/device.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ext/compat.h"
#include "ext/frame.h"
#include "ext/pyerr.h"
#include "rt/fns.h"
#include "rt/pool.h"

static const int64_t look_ns = 50000000, stop_ns = 500000000;
enum { SMALL_COPY = 64 << 10 }; /* bytes; larger ones are done without the GIL */

typedef struct tr_devtext {
    struct tr_devtext *older;
    size_t n;
    char text[];
} tr_devtext;

typedef enum kind { OWN, DEFAULT, LEGACY, PER_THREAD, FOREIGN, KINDS } kind;
typedef struct tr_streamobj {
    PyObject_HEAD
    tr_state *st;
    tr_dev_stream *s; /* OWN, FOREIGN */
    kind kind;
} tr_streamobj;

typedef struct tr_eventobj {
    PyObject_HEAD
    tr_state *st;
    tr_dev_event *e;
} tr_eventobj;

/* --- what comes back from the device --- */

void tr_stream_write(void *self, const char *text, size_t n) {
    tr_state *st = self;
    tr_devtext *t = malloc(sizeof *t + n);
    if (!t)
        return;
    t->n = n;
    memcpy(t->text, text, n);
    t->older = atomic_load(&st->texts);
    while (!atomic_compare_exchange_weak(&st->texts, &t->older, t)) {}
}

static void job_over(tr_dev_job *job) {
    tr_devjob *j = (tr_devjob *)job;
    assert(job->refs == 0 && "a job is over when nobody refers to it");
    j->older = atomic_load(&j->st->over);
    while (!atomic_compare_exchange_weak(&j->st->over, &j->older, j)) {}
}

void tr_devjob_free(tr_devjob *j) {
    bool ran = j->job.op == TR_DEV_LAUNCH && !j->job.code; /* or was passed over */
    assert(tr_py_is_held() && "what a job kept is let go with the GIL");
    assert(j->job.refs <= 1 && "only who made it, or nobody, refers to a job that goes");
    if (ran && j->ran && j->ran != Py_None)
        tr_pyerr_touched(&j->frame, j->ran);
    Py_XDECREF(tr_frame_settle(j->st, &j->frame, ran ? Py_NewRef(Py_None) : NULL));
    if (j->code)
        tr_module_unref(j->code);
    for (uint32_t i = 0; i < j->nkeep; i++)
        Py_XDECREF(j->keep[i]);
    Py_XDECREF(j->ran);
    Py_XDECREF(j->f);
    free(j);
}

bool tr_stream_drain(tr_state *st) {
    PyObject *exc = NULL;
    for (tr_devjob *j = atomic_exchange(&st->over, NULL), *older; j; j = older) {
        older = j->older;
        tr_devjob_free(j);
        if (PyErr_Occurred()) { /* of warnings that are errors */
            PyObject *one = tr_py_fetch();
            Py_XSETREF(exc, one);
        }
    }
    if (exc)
        tr_py_restore(exc);
    tr_devtext *t = atomic_load(&st->texts) ? atomic_exchange(&st->texts, NULL) : NULL, *first = NULL;
    while (t) {
        tr_devtext *older = t->older;
        t->older = first;
        first = t;
        t = older;
    }
    while ((t = first)) {
        first = t->older;
        st->host.write(st->host.self, t->text, t->n);
        free(t);
    }
    return !PyErr_Occurred();
}

/* --- jobs --- */

tr_devjob *tr_devjob_new(tr_state *st, tr_dev_op op, uint32_t nslots, uint32_t nkeep) {
    tr_devjob *j = malloc(sizeof *j + nslots * sizeof(tr_slot) + nkeep * sizeof(PyObject *));
    if (!j) {
        PyErr_NoMemory();
        return NULL;
    }
    memset(&j->job, 0, offsetof(tr_dev_job, u));
    j->job.op = op;
    j->job.refs = 1;
    j->job.release = job_over;
    j->st = st;
    j->ran = NULL;
    j->f = NULL;
    j->code = NULL;
    j->nslots = nslots;
    j->nkeep = nkeep;
    j->keep = (PyObject **)(void *)(j->slots + nslots);
    memset((void *)j->keep, 0, nkeep * sizeof *j->keep);
    tr_rt_frame_init(&j->frame, NULL);
    return j;
}

/* It is the caller's still, and keeps what it runs on. */
static __attribute__((unused)) bool job_is_ready(const tr_devjob *j) {
    bool all = j->job.refs == 1 && j->job.release == job_over && !j->job.next;
    for (uint32_t i = 0; all && i < j->nkeep; i++)
        all = j->keep[i] || j->job.op == TR_DEV_LAUNCH; /* of a launch the last is what its code keeps */
    return all && (j->job.op != TR_DEV_LAUNCH || (j->f && j->code));
}

bool tr_devjob_submit(tr_devjob *j, tr_dev *d, tr_dev_stream *s) {
    tr_state *st = j->st;
    assert(job_is_ready(j) && "a job that is submitted has all that it needs, and one owner");
    j->job.threads = (unsigned)tr_rt_num_threads();
    PyThreadState *ts = tr_device_leave(st);
    int32_t code = d->ops->submit(d, s, &j->job);
    tr_device_return(ts);
    if (code) {
        tr_device_raise(d, code);
        tr_devjob_free(j);
        return false;
    }
    return !atomic_load_explicit(&st->over, memory_order_relaxed) || tr_stream_drain(st);
}

/* --- work of libraries --- */

static bool work_now(tr_state *st, tr_dev *d, const tr_libwork *w) {
    tr_dev_job j = {.op = TR_DEV_WORK, .u.work = {w->fn, w->arg, w->gpu}};
    if (!tr_stream_begin(st, d))
        return false;
    PyThreadState *ts = w->away ? PyEval_SaveThread() : tr_device_leave(st);
    int32_t code = d->ops->submit(d, NULL, &j);
    d->ops->end(d);
    tr_device_return(ts);
    if (PyErr_Occurred()) /* of NumPy's loops, which return nothing: they found no memory */
        return false;
    return !code || tr_device_raise(d, code);
}

static bool work_later(tr_state *st, tr_dev *d, tr_dev_stream *s, const tr_libwork *w) {
    uint32_t nslots = (uint32_t)((w->bytes + sizeof(tr_slot) - 1) / sizeof(tr_slot));
    tr_devjob *j = tr_devjob_new(st, TR_DEV_WORK, nslots, w->nkeep);
    if (!j)
        return false;
    memcpy(j->slots, w->arg, w->bytes);
    j->job.u.work = (tr_dev_work){w->fn, j->slots, TR_DEV_HERE};
    for (uint32_t k = 0; k < w->nkeep; k++)
        j->keep[k] = Py_NewRef(w->keep[k] ? w->keep[k] : Py_None);
    return tr_devjob_submit(j, d, s);
}

bool tr_stream_work(tr_state *st, tr_dev *d, tr_dev_stream *s, const tr_libwork *w) {
    return s ? work_later(st, d, s, w) : work_now(st, d, w);
}

/* --- waiting --- */

/* Who it happened to. */
static void add_note(const tr_dev_error *e) {
    PyObject *exc = tr_py_fetch();
    PyObject *note =
        exc ? PyUnicode_FromFormat("thread (%u, %u, %u) of block (%u, %u, %u)", e->thread[0], e->thread[1],
                                   e->thread[2], e->block[0], e->block[1], e->block[2])
            : NULL;
    PyObject *r = note ? PyObject_CallMethod(exc, "add_note", "O", note) : NULL;
    Py_XDECREF(note);
    Py_XDECREF(r);
    PyErr_Clear();
    if (exc)
        tr_py_restore(exc);
}

/* What a kernel has raised; or how it ended, of which the driver knows no more than a number. */
static void raise_owned(tr_dev *d, const tr_dev_failure *f) {
    const tr_devcode *k = f->owner;
    tr_frame frame;
    if (f->code <= 0) {
        tr_device_raise(d, f->code);
        return;
    }
    tr_rt_frame_init(&frame, NULL);
    memcpy(frame.payload, f->error.payload, sizeof frame.payload);
    tr_pyerr_raise_code(k->f, tr_module_meta(k->module), f->code, &frame);
    add_note(&f->error);
}

bool tr_stream_raise(tr_state *st, tr_dev_failure *f) {
    tr_devjob *j = (tr_devjob *)f->job;
    assert(f->code && (!j || j->job.refs > 0) && "a failure has a reason, and a reference to its job");
    bool watched = j && j->frame.watch;
    if (j && j->f)
        tr_pyerr_raise_code(j->f, tr_module_meta(j->code), f->code, &j->frame);
    else if (f->owner)
        raise_owned(st->dev, f);
    else
        tr_device_raise(st->dev, f->code);
    assert(PyErr_Occurred() && "a failure is an exception");
    tr_dev_unref(f->job);
    return watched && tr_frame_passes(st);
}

static bool caller_may_wait(void) {
    if (tr_dev_is_called())
        PyErr_SetString(
            PyExc_RuntimeError,
            "a callback of a stream may not wait for the device: the stream goes on when it returns");
    return !tr_dev_is_called();
}

bool tr_stream_ready(tr_state *st) {
    return caller_may_wait() && tr_stream_drain(st);
}

typedef struct wait {
    tr_dev *d;
    tr_dev_stream *s;
    tr_dev_event *e;
    uint64_t ticket;
} wait;
typedef bool wait_fn(wait *w, int64_t ns);

static bool for_stream(wait *w, int64_t ns) {
    return w->d->ops->reached(w->d, w->s, &w->ticket, ns);
}

static bool for_event(wait *w, int64_t ns) {
    return w->d->ops->happened(w->d, w->e, ns);
}

static bool for_default(wait *w, int64_t ns) {
    return w->d->ops->begin(w->d, &w->ticket, ns);
}

static bool wait_for(wait_fn *ready, wait *w) {
    if (!caller_may_wait())
        return false;
    bool done = ready(w, 0);
    while (!done) {
        Py_BEGIN_ALLOW_THREADS
        done = ready(w, look_ns);
        Py_END_ALLOW_THREADS
        if (!done && PyErr_CheckSignals() < 0)
            return false;
    }
    return true;
}

static bool is_told(tr_state *st, tr_dev *d, tr_dev_stream *s) {
    tr_dev_failure f;
    return !d->ops->take(d, s, &f) || tr_stream_raise(st, &f);
}

/* A GPU's context may have ended; whoever waits is told each time. */
static bool device_lives(tr_dev *d) {
    tr_dev_job nothing = {.op = TR_DEV_FILL};
    int32_t code = d->ops->load ? d->ops->submit(d, NULL, &nothing) : 0;
    return (code != TR_CODE_DEVICE && code != TR_CODE_GPU) || tr_device_raise(d, code);
}

bool tr_stream_synchronize(tr_state *st, tr_dev *d, tr_dev_stream *s) {
    wait w = {.d = d, .s = s};
    return wait_for(for_stream, &w) && tr_stream_drain(st) && is_told(st, d, s) && device_lives(d);
}

bool tr_stream_begin_slow(tr_state *st, tr_dev *d) {
    wait w = {.d = d};
    if (!tr_stream_drain(st) || !wait_for(for_default, &w))
        return false;
    if (tr_stream_drain(st) && is_told(st, d, NULL))
        return true;
    d->ops->end(d);
    return false;
}

/* Why the device did not make something. */
static PyObject *no_more(tr_dev *d) {
    return device_lives(d) ? PyErr_NoMemory() : NULL;
}

/* --- class Stream --- */

enum { LEGACY_HANDLE = 1, PER_THREAD_HANDLE = 2 }; /* CUDA's own numbers */

static pthread_key_t own_key; /* of the process: a thread's own stream */
static pthread_once_t own_once = PTHREAD_ONCE_INIT;

typedef struct own_streams {
    tr_dev *d;
    tr_dev_stream *s[TR_DEV_GPUS]; /* NULL: none yet */
} own_streams;

static void own_free(void *arg) {
    own_streams *o = arg;
    for (unsigned k = 0; k < TR_DEV_GPUS; k++)
        if (o->s[k])
            o->d->ops->stream_free(o->d, o->s[k]);
    free(o);
}

static void own_open(void) {
    pthread_key_create(&own_key, own_free);
}

/* The streams that this thread has for itself, one a GPU. NULL without memory. */
static own_streams *own_of_thread(tr_dev *d) {
    pthread_once(&own_once, own_open);
    own_streams *o = pthread_getspecific(own_key);
    if (o || !(o = calloc(1, sizeof *o)))
        return o;
    o->d = d;
    if (pthread_setspecific(own_key, o) == 0)
        return o;
    free(o);
    return NULL;
}

/* That of the GPU that the thread uses. NULL with an exception. */
static tr_dev_stream *own_stream(tr_dev *d) {
    own_streams *o = own_of_thread(d);
    tr_dev_stream **s = o ? &o->s[d->ops->number ? d->ops->number(d, NULL) : 0] : NULL;
    /* not CUDA's own: that has one handle for all threads, so that only its thread can ask how far it is */
    assert((!o || o->d == d) && "there is one device in a process");
    if (s && !*s)
        *s = d->ops->stream_new(d);
    if (!s || !*s)
        no_more(d);
    return s ? *s : NULL;
}

bool tr_stream_of(tr_state *st, PyObject *o, tr_dev_stream **out) {
    *out = NULL;
    if (!o || o == Py_None || (PyLong_CheckExact(o) && PyObject_Not(o)))
        return true;
    if (!PyObject_TypeCheck(o, st->stream_type)) {
        PyErr_Format(PyExc_TypeError, "a stream is made by cuda.stream(), and %R is none", o);
        return false;
    }
    tr_streamobj *s = (tr_streamobj *)o;
    tr_dev *d = s->kind == PER_THREAD ? tr_device_get(st) : NULL;
    *out = s->kind == PER_THREAD && d ? own_stream(d) : s->s;
    return s->kind != PER_THREAD || *out;
}

bool tr_stream_is_foreign(PyObject *stream) {
    return stream && ((tr_streamobj *)stream)->kind == FOREIGN;
}

static PyObject *stream_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    static char *names[] = {"kind", "handle", NULL};
    int k = OWN;
    unsigned long long handle = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|iK:Stream", names, &k, &handle))
        return NULL;
    if (k < 0 || k >= KINDS)
        return PyErr_Format(PyExc_ValueError, "no kind of stream: %d", k);
    PyObject *module = PyType_GetModuleByDef(type, tr_ext_definition());
    tr_state *st = module ? tr_ext_state(module) : NULL;
    tr_dev *d = st ? tr_device_get(st) : NULL;
    tr_streamobj *s = d ? (tr_streamobj *)type->tp_alloc(type, 0) : NULL;
    if (!s)
        return NULL;
    s->st = st;
    s->kind = (kind)k;
    if (k == OWN)
        s->s = d->ops->stream_new(d);
    else if (k == FOREIGN)
        s->s = d->ops->stream_wrap(d, (uintptr_t)handle);
    if (!s->s && (k == OWN || k == FOREIGN)) {
        Py_DECREF(s);
        return k == OWN ? no_more(d)
                        : PyErr_Format(PyExc_ValueError, "the device has no stream %#llx", handle);
    }
    return (PyObject *)s;
}

static void stream_dealloc(PyObject *self) {
    tr_streamobj *s = (tr_streamobj *)self;
    PyTypeObject *tp = Py_TYPE(self);
    tr_dev *d = s->s ? s->st->dev : NULL;
    if (d)
        d->ops->stream_free(d, s->s);
    tp->tp_free(self);
    Py_DECREF(tp);
}

static PyObject *stream_synchronize(PyObject *self, PyObject *unused) {
    tr_streamobj *s = (tr_streamobj *)self;
    tr_dev_stream *of;
    (void)unused;
    if (!tr_stream_of(s->st, self, &of) || !tr_stream_synchronize(s->st, s->st->dev, of))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *stream_done(PyObject *self, PyObject *unused) {
    tr_streamobj *s = (tr_streamobj *)self;
    tr_dev *d = s->st->dev;
    tr_dev_stream *of;
    uint64_t ticket = 0;
    (void)unused;
    if (!tr_stream_of(s->st, self, &of))
        return NULL;
    return PyBool_FromLong(d->ops->reached(d, of, &ticket, 0));
}

static PyObject *stream_tell(PyObject *self, PyObject *unused) {
    tr_streamobj *s = (tr_streamobj *)self;
    tr_dev_stream *of;
    (void)unused;
    if (!tr_stream_of(s->st, self, &of) || !tr_stream_drain(s->st) || !is_told(s->st, s->st->dev, of))
        return NULL;
    Py_RETURN_NONE;
}

/* On a thread of the device's. */
static void call_python(void *arg, int32_t code) {
    enum { LAUNCH_FAILED = 719 }; /* CUDA_ERROR_LAUNCH_FAILED */
    PyObject *fn = ((tr_devjob *)arg)->keep[0];
    tr_state *st = ((tr_devjob *)arg)->st;
    PyGILState_STATE g = PyGILState_Ensure();
    assert(tr_dev_is_called() && "a callback runs on a thread of the device's");
    PyObject *r = PyObject_CallFunction(fn, "i", code ? LAUNCH_FAILED : 0);
    if (!r)
        PyErr_WriteUnraisable(fn);
    Py_XDECREF(r);
    assert((!st->dev->ops->load || st->calls > 0) && "a callback that runs was counted");
    if (st->dev->ops->load)
        atomic_fetch_sub(&st->calls, 1);
    PyGILState_Release(g);
}

static PyObject *stream_call(PyObject *self, PyObject *fn) {
    tr_streamobj *s = (tr_streamobj *)self;
    tr_dev *d = s->st->dev;
    tr_dev_stream *of;
    if (!tr_stream_of(s->st, self, &of))
        return NULL;
    if (!of) { /* all before it is done when it is reached */
        bool own = d->ops->load != NULL;
        if (own ? !tr_stream_synchronize(s->st, d, NULL) : !tr_stream_begin(s->st, d))
            return NULL;
        if (!own)
            d->ops->end(d);
        PyObject *r = PyObject_CallFunction(fn, "i", 0);
        Py_XDECREF(r);
        return r ? Py_NewRef(Py_None) : NULL;
    }
    tr_devjob *j = tr_devjob_new(s->st, TR_DEV_CALL, 0, 1);
    if (!j)
        return NULL;
    j->keep[0] = Py_NewRef(fn);
    j->job.u.call = (tr_dev_call){call_python, j};
    if (!d->ops->load) /* its own threads are not in anybody's way */
        return tr_devjob_submit(j, d, of) ? Py_NewRef(Py_None) : NULL;
    atomic_fetch_add(&s->st->calls, 1);
    if (tr_devjob_submit(j, d, of))
        Py_RETURN_NONE;
    atomic_fetch_sub(&s->st->calls, 1);
    return NULL;
}

static PyObject *stream_handle(PyObject *self, void *unused) {
    static const int64_t fixed[KINDS] = {[LEGACY] = LEGACY_HANDLE, [PER_THREAD] = PER_THREAD_HANDLE};
    tr_streamobj *s = (tr_streamobj *)self;
    const tr_dev *d = s->st->dev;
    (void)unused;
    return s->s ? PyLong_FromVoidPtr((void *)d->ops->stream_handle(d, s->s))
                : PyLong_FromLongLong(fixed[s->kind]);
}

/* What the driver knows the stream by, where it is this thread's, too. */
static PyObject *stream_real(PyObject *self, void *unused) {
    tr_streamobj *s = (tr_streamobj *)self;
    const tr_dev *d = s->st->dev;
    tr_dev_stream *of;
    (void)unused;
    if (!tr_stream_of(s->st, self, &of))
        return NULL;
    return of ? PyLong_FromVoidPtr((void *)d->ops->stream_handle(d, of)) : PyLong_FromLong(LEGACY_HANDLE);
}

static PyObject *stream_kind(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromLong((long)((tr_streamobj *)self)->kind);
}

static PyMethodDef stream_methods[] = {
    {"synchronize", stream_synchronize, METH_NOARGS,
     "synchronize()\n--\n\nWait until all that the stream was given is done.\n\nRaises\n------\nException\n"
     "    What a kernel on it raised."},
    {"_done", stream_done, METH_NOARGS, "_done()\n--\n\nWhether it has nothing to do."},
    {"_tell", stream_tell, METH_NOARGS, "_tell()\n--\n\nRaise what a kernel on it raised, without waiting."},
    {"_call", stream_call, METH_O,
     "_call(fn)\n--\n\nCall ``fn(status)`` when all before is done, on a thread of the stream's."},
    {0},
};

static PyGetSetDef stream_getset[] = {
    {"_number", stream_handle, NULL, "The handle: CUDA's number, or an address.", NULL},
    {"_real", stream_real, NULL, "The handle by which others order their work behind this stream's.", NULL},
    {"_kind", stream_kind, NULL,
     "0: a stream of its own; 1, 2, 3: default, legacy default, per-thread default; 4: another library's.",
     NULL},
    {0},
};

static PyType_Slot stream_slots[] = {
    {Py_tp_new, stream_new},
    {Py_tp_dealloc, stream_dealloc},
    {Py_tp_methods, stream_methods},
    {Py_tp_getset, stream_getset},
    {Py_tp_doc, "A queue of the device's work."},
    {0, NULL},
};

static PyType_Spec stream_spec = {
    .name = "treadle._core.Stream",
    .basicsize = sizeof(tr_streamobj),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = stream_slots,
};

/* --- class Event --- */

static PyObject *event_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    static char *names[] = {"timing", NULL};
    int timing = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|p:Event", names, &timing))
        return NULL;
    PyObject *module = PyType_GetModuleByDef(type, tr_ext_definition());
    tr_state *st = module ? tr_ext_state(module) : NULL;
    tr_dev *d = st ? tr_device_get(st) : NULL;
    tr_eventobj *e = d ? (tr_eventobj *)type->tp_alloc(type, 0) : NULL;
    if (!e)
        return NULL;
    e->st = st;
    if (!(e->e = d->ops->event_new(d, timing))) {
        Py_DECREF(e);
        return no_more(d);
    }
    return (PyObject *)e;
}

static void event_dealloc(PyObject *self) {
    tr_eventobj *e = (tr_eventobj *)self;
    PyTypeObject *tp = Py_TYPE(self);
    tr_dev *d = e->e ? e->st->dev : NULL;
    if (d)
        d->ops->event_free(d, e->e);
    tp->tp_free(self);
    Py_DECREF(tp);
}

static PyObject *done_or(tr_dev *d, int32_t code) {
    if (!code)
        Py_RETURN_NONE;
    return tr_device_raise(d, code);
}

static PyObject *event_record(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    tr_eventobj *e = (tr_eventobj *)self;
    tr_dev *d = e->st->dev;
    tr_dev_stream *s;
    if (n > 1)
        return PyErr_Format(PyExc_TypeError, "record() takes one stream");
    if (!tr_stream_of(e->st, n ? args[0] : NULL, &s) || (!s && !tr_stream_begin(e->st, d)))
        return NULL;
    int32_t code = d->ops->record(d, s, e->e);
    if (!s)
        d->ops->end(d);
    return done_or(d, code);
}

static PyObject *event_wait(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    tr_eventobj *e = (tr_eventobj *)self;
    tr_dev *d = e->st->dev;
    tr_dev_stream *s;
    if (n > 1)
        return PyErr_Format(PyExc_TypeError, "wait() takes one stream");
    if (!tr_stream_of(e->st, n ? args[0] : NULL, &s))
        return NULL;
    wait w = {.d = d, .e = e->e};
    if (!s) /* what comes on the default stream, and all that waits for it, comes after */
        return wait_for(for_event, &w) && tr_stream_drain(e->st) ? Py_NewRef(Py_None) : NULL;
    return done_or(d, d->ops->wait(d, s, e->e));
}

static PyObject *event_synchronize(PyObject *self, PyObject *unused) {
    tr_eventobj *e = (tr_eventobj *)self;
    tr_dev_failure f;
    wait w = {.d = e->st->dev, .e = e->e};
    (void)unused;
    if (!wait_for(for_event, &w) || !tr_stream_drain(e->st))
        return NULL;
    if (w.d->ops->event_take(w.d, e->e, &f) && !tr_stream_raise(e->st, &f))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *event_query(PyObject *self, PyObject *unused) {
    tr_eventobj *e = (tr_eventobj *)self;
    tr_dev *d = e->st->dev;
    (void)unused;
    return PyBool_FromLong(d->ops->happened(d, e->e, 0));
}

/* Milliseconds; None: one of them has no time yet. */
static PyObject *event_elapsed(PyObject *self, PyObject *other) {
    tr_eventobj *a = (tr_eventobj *)self;
    tr_dev *d = a->st->dev;
    double ms;
    if (!PyObject_TypeCheck(other, a->st->event_type))
        return PyErr_Format(PyExc_TypeError, "an event is made by cuda.event(), and %R is none", other);
    if (!d->ops->elapsed(d, a->e, ((tr_eventobj *)other)->e, &ms))
        Py_RETURN_NONE;
    return PyFloat_FromDouble(ms);
}

#define FAST(f) (PyCFunction)(void (*)(void))(f), METH_FASTCALL
static PyMethodDef event_methods[] = {
    {"record", FAST(event_record),
     "record(stream=0, /)\n--\n\nThe event happens when all that the stream was given so far is done."},
    {"wait", FAST(event_wait),
     "wait(stream=0, /)\n--\n\nWhat the stream is given from now on comes after the event."},
    {"synchronize", event_synchronize, METH_NOARGS,
     "synchronize()\n--\n\nWait until it has happened.\n\nRaises\n------\nException\n"
     "    What a kernel raised that came before it on its stream."},
    {"query", event_query, METH_NOARGS,
     "query()\n--\n\nWhether it has happened: True if it was never recorded."},
    {"_elapsed", event_elapsed, METH_O,
     "_elapsed(other)\n--\n\nMilliseconds to the other event; None where one of them has no time."},
    {0},
};

static PyType_Slot event_slots[] = {
    {Py_tp_new, event_new},
    {Py_tp_dealloc, event_dealloc},
    {Py_tp_methods, event_methods},
    {Py_tp_doc, "A place in a stream."},
    {0, NULL},
};

static PyType_Spec event_spec = {
    .name = "treadle._core.Event",
    .basicsize = sizeof(tr_eventobj),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = event_slots,
};

/* --- functions --- */

static PyObject *dev_synchronize(PyObject *module, PyObject *unused) {
    tr_state *st = tr_ext_state(module);
    (void)unused;
    tr_dev *d = st->dev; /* without one nothing was launched */
    return !d || tr_stream_synchronize(st, d, NULL) ? Py_NewRef(Py_None) : NULL;
}

/* Array `a` of a copy: its strides, where an axis of it is repeated (length 1 in `a` alone) 0. */
static bool copy_fits(PyArrayObject *to, PyArrayObject *from) {
    if (PyArray_NDIM(to) > TR_DEV_NDIM) {
        PyErr_Format(PyExc_ValueError, "an array of %d axes: a device takes at most %d", PyArray_NDIM(to),
                     TR_DEV_NDIM);
        return false;
    }
    if (PyArray_NDIM(to) != PyArray_NDIM(from) ||
        !PyArray_CompareLists(PyArray_DIMS(to), PyArray_DIMS(from), PyArray_NDIM(to))) {
        PyErr_SetString(PyExc_ValueError, "a copy is of arrays of one shape");
        return false;
    }
    if (!PyArray_EquivTypes(PyArray_DESCR(to), PyArray_DESCR(from)) || PyDataType_REFCHK(PyArray_DESCR(to))) {
        PyErr_SetString(PyExc_TypeError, "a copy is of arrays of one dtype, without Python objects");
        return false;
    }
    if (!PyArray_ISWRITEABLE(to)) {
        PyErr_SetString(PyExc_ValueError, "the array that is copied to is read-only");
        return false;
    }
    return true;
}

static void describe(tr_dev_copy *c, PyArrayObject *to, PyArrayObject *from) {
    c->to = PyArray_DATA(to);
    c->from = PyArray_DATA(from);
    c->item = (uint64_t)PyArray_ITEMSIZE(to);
    c->ndim = (uint32_t)PyArray_NDIM(to);
    for (uint32_t k = 0; k < c->ndim; k++) {
        c->shape[k] = PyArray_DIM(to, (int)k);
        c->to_stride[k] = PyArray_STRIDE(to, (int)k);
        c->from_stride[k] = PyArray_STRIDE(from, (int)k);
    }
    tr_dev_copy_plan(c);
}

static bool copy_now(tr_state *st, tr_dev *d, PyArrayObject *to, PyArrayObject *from) {
    tr_dev_job j = {.op = TR_DEV_COPY};
    describe(&j.u.copy, to, from);
    if (!tr_stream_begin(st, d))
        return false;
    bool large = tr_dev_copy_bytes(&j.u.copy) > SMALL_COPY;
    PyThreadState *ts = large ? PyEval_SaveThread() : tr_device_leave(st);
    int32_t code = d->ops->submit(d, NULL, &j);
    d->ops->end(d);
    tr_device_return(ts);
    if (code)
        tr_device_raise(d, code);
    return !code && (!d->ops->load || is_told(st, d, NULL));
}

static PyObject *dev_copy(PyObject *module, PyObject *args) {
    tr_state *st = tr_ext_state(module);
    PyArrayObject *to, *from;
    PyObject *on = NULL;
    tr_dev_stream *s;
    if (!PyArg_ParseTuple(args, "O!O!|O:_dev_copy", &PyArray_Type, &to, &PyArray_Type, &from, &on))
        return NULL;
    tr_dev *d = tr_device_get(st);
    if (!d || !copy_fits(to, from) || !tr_stream_of(st, on, &s) || !tr_device_check(st, d, (PyObject *)to) ||
        !tr_device_check(st, d, (PyObject *)from))
        return NULL;
    if (!s)
        return copy_now(st, d, to, from) ? Py_NewRef(Py_None) : NULL;
    tr_devjob *j = tr_devjob_new(st, TR_DEV_COPY, 0, 2);
    if (!j)
        return NULL;
    describe(&j->job.u.copy, to, from);
    j->keep[0] = Py_NewRef(to);
    j->keep[1] = Py_NewRef(from);
    return tr_devjob_submit(j, d, s) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *dev_stop(PyObject *module, PyObject *unused) {
    tr_state *st = tr_ext_state(module);
    tr_dev *d = st->dev;
    tr_dev_failure f;
    (void)unused;
    if (!d)
        Py_RETURN_NONE;
    Py_BEGIN_ALLOW_THREADS
    d->ops->stop(d, stop_ns);
    Py_END_ALLOW_THREADS
    if (!tr_stream_drain(st))
        PyErr_WriteUnraisable(module);
    while (d->ops->take(d, NULL, &f)) { /* nobody synchronised */
        if (f.code == TR_CODE_HOST) {   /* it was at work just now, and was asked to end */
            tr_dev_unref(f.job);
            continue;
        }
        if (!tr_stream_raise(st, &f))
            PyErr_WriteUnraisable((PyObject *)st->stream_type);
    }
    Py_RETURN_NONE;
}

bool tr_stream_add(PyObject *module) {
    static PyMethodDef methods[] = {
        {"_dev_copy", dev_copy, METH_VARARGS,
         "_dev_copy(to, source, stream=0)\n--\n\nCopy between arrays of one shape and dtype, of host or "
         "device."},
        {"_dev_synchronize", dev_synchronize, METH_NOARGS,
         "_dev_synchronize()\n--\n\nWait until all streams have done what they were given."},
        {"_dev_stop", dev_stop, METH_NOARGS,
         "_dev_stop()\n--\n\nEnd all streams; for the interpreter's end. What nobody was told is told."},
        {NULL, NULL, 0, NULL},
    };
    tr_state *st = tr_ext_state(module);
    st->stream_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &stream_spec, NULL);
    st->event_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &event_spec, NULL);
    return st->stream_type && st->event_type && PyModule_AddType(module, st->stream_type) == 0 &&
           PyModule_AddType(module, st->event_type) == 0 && PyModule_AddFunctions(module, methods) == 0;
}
