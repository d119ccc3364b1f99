/* Launches of kernels: from `kernel[grid, block, stream](*args)` to the device.
 *
 * A launch is a call of the kernel's entry, a Function whose parameters are the sizes and then `*args`
 * (cuda/_kernel.py), so which code runs is found among that one's variants; but nothing is boxed and no tuple
 * is made: sizes lie in the launcher as slots, and arguments go into slots as items of a variant's tuple.
 * Arrays of the device are taken by the ndarray that they have (state.h: devarray_slot), those of others by
 * the table for C of their type (exchange.h), and all arrays are looked at: what was freed, or is the
 * device's without its knowing, is refused. On the default stream it is done when the call returns, and
 * nothing is allocated. On others slots and objects go into a job.
 * A device with code of its own (`own`: the entry has a target) is the kernel itself, and takes sizes beside
 * its parameters. It needs no job: it has copied what it takes when the call returns, and memory that is
 * freed meanwhile stays until what was launched before has ended (dev/cuda.c). Arrays of the host are not
 * there: the package copies them, and launches again (`launch_stage`).
 * A launch of many threads lets go of the GIL. Launchers are found by their configuration in C too (class
 * Configurable): that costs as much as the launch in Python. */
#include "ext/launch.h"

#include <assert.h>
#include <stddef.h>

#include "ext/device.h"
#include "ext/exchange.h"
#include "ext/frame.h"
#include "ext/pyerr.h"
#include "ext/take.h"
#include "rt/fns.h"

enum { SIZES = 7, SLOTS = 256, ITEMS = 64 };
static const double small_launch = 4096; /* threads */

typedef struct tr_launcher {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    tr_state *st;
    tr_function *fn; /* the entry; strong */
    PyObject *kernel, *grid, *block, *stream, *shared, *weakrefs;
    PyObject *before; /* called with the launcher and the arguments before each launch; NULL: nothing is */
    int64_t sizes[SIZES]; /* grid, block, bytes of shared memory */
    bool large, told;
    bool own;  /* the device has code of its own */
    bool keep; /* with that: arrays are kept until it has run */
    bool sync; /* with that: what it raises is looked for after each launch */
} tr_launcher;

/* As make_launcher leaves it, and as it stays but for `told` and `sync`. */
static __attribute__((unused)) bool is_configured(const tr_launcher *l) {
    bool ok = l->own == (l->fn->target != NULL) && (l->own || l->fn->varargs) && (!l->keep || l->stream);
    for (int k = 0; ok && k + 1 < SIZES; k++)
        ok = l->sizes[k] > 0;
    return ok;
}

/* --- arguments --- */

/* What a launch made of its arguments. */
typedef struct made_items {
    PyObject *all; /* a list; NULL: it has made nothing */
    void *behind;  /* tr_exchange_order */
} made_items;

/* The object that stands for what is neither a number nor an array of ours: by the table of
 * its type, else asked of the package. */
static __attribute__((noinline)) bool make_item(const tr_launcher *l, tr_dev *d, PyObject *o, PyObject **out,
                                                made_items *own) {
    tr_state *st = l->st;
    const struct dl_exchange *x = tr_exchange_of(st, o);
    PyObject *made = NULL;
    bool ok = true;
    if (x) {
        tr_exchange_order order = {.keep = l->stream && (!l->own || l->keep), .behind = own->behind};
        ok = (!l->stream || tr_stream_of(st, l->stream, &order.stream)) &&
             tr_exchange_take(st, d, x, o, &order, &made);
        own->behind = order.behind;
    }
    if (ok && !made)
        made = st->launch_convert ? PyObject_CallOneArg(st->launch_convert, o) : Py_NewRef(o);
    if (made && !own->all)
        own->all = PyList_New(0);
    ok = made && own->all && PyList_Append(own->all, made) == 0;
    *out = made;
    Py_XDECREF(made); /* the list has it */
    return ok && (!PyArray_Check(made) || tr_device_check(st, d, made));
}

/* The object that stands for an argument: an ndarray or a number. */
static bool item_of(const tr_launcher *l, tr_dev *d, PyObject *o, PyObject **out, made_items *own) {
    tr_state *st = l->st;
    PyObject *m = tr_device_mem(st, o);
    if (m &&
        UNLIKELY(PyArray_NDIM((PyArrayObject *)m) == 0)) /* of a record the array says what stands for it */
        m = NULL;
    *out = m ? m : o;
    if (m || PyArray_CheckExact(o) || Py_IS_TYPE(o, st->remote_type)) {
        const tr_devmem *b = tr_device_block(st, *out);
        if (LIKELY(b ? b->live : !d->ops->owns(d, PyArray_DATA((PyArrayObject *)*out))))
            return true;
        return tr_device_check(st, d, *out);
    }
    if (PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) || PyComplex_CheckExact(o) ||
        PyArray_IsScalar(o, Generic))
        return true;
    return make_item(l, d, o, out, own);
}

/* Slots of the sizes and the items. */
static inline outcome take_items(const tr_launcher *l, const tr_variant *v, PyObject *const *items,
                                 uint32_t n, tr_slot *s) {
    tr_function *f = l->fn;
    uint32_t first = f->npos;
    const tr_slot *end = s + v->nslots;
    (void)end;
    assert(first <= SIZES && "an entry's own parameters are sizes");
    if (UNLIKELY(v->nargs != first + 1 || v->arg[first].op != TR_U_TUPLE || v->arg[first].n != n))
        return MISS;
    for (uint32_t k = 0; k < first; k++) {
        if (UNLIKELY(v->arg[k].op != TR_U_INT))
            return MISS;
        (s++)->i = l->sizes[k];
    }
    const tr_varg *va = v->arg[first].items;
    for (uint32_t i = 0; i < n; i++) {
        outcome r = take_one(f, items[i], &va[i], first, NULL, &s);
        if (UNLIKELY(r != HIT))
            return r;
    }
    assert(s == end && "sizes and items fill the variant's slots");
    return HIT;
}

/* The same for code of the device's own: sizes, then the kernel's arguments. */
static inline outcome take_own(const tr_launcher *l, const tr_variant *v, PyObject *const *items, uint32_t n,
                               tr_slot *s) {
    const tr_slot *end = s + SIZES + v->nslots;
    (void)end;
    if (UNLIKELY(v->nargs != n))
        return MISS;
    for (uint32_t k = 0; k < SIZES; k++)
        (s++)->i = l->sizes[k];
    for (uint32_t i = 0; i < n; i++) {
        outcome r = take_one(l->fn, items[i], &v->arg[i], i, NULL, &s);
        if (UNLIKELY(r != HIT))
            return r;
    }
    assert(s == end && "sizes and arguments fill the slots of a launch");
    return HIT;
}

/* --- running --- */

static PyObject *run_now(const tr_launcher *l, tr_dev *d, const tr_variant *v, tr_slot *slots) {
    tr_state *st = l->st;
    tr_frame frame;
    tr_dev_job j;
    assert(!l->own && v->entry && "a device with code of its own is given it with a stream's job");
    if (UNLIKELY(!tr_stream_begin(st, d)))
        return NULL;
    tr_rt_frame_init(&frame, &st->host);
    j.op = TR_DEV_LAUNCH;
    j.u.launch = (tr_dev_launch){(const void *)(uintptr_t)v->entry, slots, v->nslots, l->fn->npos, &frame};
    PyThreadState *ts = l->large ? PyEval_SaveThread() : NULL;
    int32_t code = d->ops->submit(d, NULL, &j);
    d->ops->end(d);
    if (ts)
        PyEval_RestoreThread(ts);
    PyObject *r = NULL;
    bool watched = frame.watch != NULL;
    if (LIKELY(!code))
        r = Py_NewRef(Py_None);
    else
        tr_pyerr_raise_code(l->fn, tr_module_meta(v->spec->module), code, &frame);
    assert((r || PyErr_Occurred()) && "a launch that ends with a code has raised");
    if (UNLIKELY(frame.nalloc || frame.nfree || frame.capout || frame.links))
        r = tr_frame_settle(st, &frame, r);
    if (UNLIKELY(watched && !r) && tr_frame_passes(st))
        r = Py_NewRef(Py_None);
    return r;
}

/* hook(launcher, items) */
static __attribute__((noinline)) PyObject *call_hook(PyObject *hook, const tr_launcher *l,
                                                     PyObject *const *items, Py_ssize_t n) {
    assert(hook && "the package has said what it does with launches");
    PyObject *t = PyTuple_New(n);
    for (Py_ssize_t i = 0; t && i < n; i++)
        PyTuple_SET_ITEM(t, i, Py_NewRef(items[i]));
    PyObject *r = t ? PyObject_CallFunctionObjArgs(hook, (PyObject *)l, t, NULL) : NULL;
    Py_XDECREF(t);
    return r;
}

static bool ask(PyObject *hook, const tr_launcher *l, PyObject *const *items, Py_ssize_t n) {
    PyObject *r = call_hook(hook, l, items, n);
    Py_XDECREF(r);
    return r != NULL;
}

static PyObject *run_on(const tr_launcher *l, tr_dev *d, tr_dev_stream *s, const tr_variant *v,
                        const tr_slot *slots, PyObject *const *items, uint32_t n) {
    uint32_t nslots = v->nslots + (l->own ? SIZES : 0), nsizes = l->own ? SIZES : l->fn->npos;
    assert(nsizes <= nslots && "the sizes are the first slots of a launch");
    assert(s && "what goes on after the call goes on on a stream");
    tr_devjob *j = tr_devjob_new(l->st, TR_DEV_LAUNCH, nslots, n + 1);
    if (!j)
        return NULL;
    memcpy(j->slots, slots, nslots * sizeof *slots);
    for (uint32_t i = 0; i < n; i++)
        j->keep[i] = Py_NewRef(items[i]);
    j->keep[n] = Py_XNewRef(v->spec->keep);
    j->f = (tr_function *)Py_NewRef(l->fn);
    j->code = v->spec->module;
    tr_module_ref(j->code);
    if (UNLIKELY(l->st->launch_on_stream != NULL) &&
        !(j->ran = call_hook(l->st->launch_on_stream, l, items, n))) {
        tr_devjob_free(j);
        return NULL;
    }
    const void *code = l->own ? (const void *)v->code->code : (const void *)(uintptr_t)v->entry;
    j->job.u.launch = (tr_dev_launch){code, j->slots, nslots, nsizes, &j->frame};
    return tr_devjob_submit(j, d, s) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *run_own(const tr_launcher *l, tr_dev *d, tr_dev_stream *s, const tr_variant *v,
                         tr_slot *slots) {
    tr_dev_launch job = {.code = v->code->code, .slots = slots, .nslots = SIZES + v->nslots, .nsizes = SIZES};
    if (UNLIKELY(atomic_load_explicit(&l->st->over, memory_order_relaxed) || tr_dev_is_called()) &&
        !(s ? tr_stream_drain(l->st) : tr_stream_ready(l->st)))
        return NULL;
    PyThreadState *ts = tr_device_leave(l->st); /* a queue of the driver's may be full */
    int32_t code = d->ops->launch(d, s, &job);
    tr_device_return(ts);
    if (UNLIKELY(code))
        return tr_device_raise(d, code);
    tr_dev_failure f;
    if (UNLIKELY(d->ops->take(d, NULL, &f)) && !tr_stream_raise(l->st, &f))
        return NULL;
    return LIKELY(!l->sync) || tr_stream_synchronize(l->st, d, s) ? Py_NewRef(Py_None) : NULL;
}

static bool gpu_may_use_argument(tr_state *st, tr_dev *d, PyObject *o, int gpu, int *of);

/* Arrays that are globals of the kernel's: they are there yet, and lie where the launch is. */
static __attribute__((noinline)) bool placed_can_be_used(const tr_launcher *l, tr_dev *d, PyObject *placed) {
    tr_dev_stream *s;
    bool ok = tr_stream_of(l->st, l->stream, &s);
    for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(placed); i++) {
        PyObject *a = PyList_GET_ITEM(placed, i);
        int of = 0, gpu = d->several ? d->ops->number(d, s) : 0;
        ok = tr_device_check(l->st, d, a);
        if (ok && d->several && !gpu_may_use_argument(l->st, d, a, gpu, &of)) {
            PyErr_Format(
                PyExc_ValueError,
                "%U: an array that is a global of it lies on device %d, and the launch is on device %d",
                l->fn->qualname, of, gpu);
            ok = false;
        }
    }
    return ok;
}

static PyObject *run(const tr_launcher *l, tr_dev *d, const tr_variant *v, tr_slot *slots,
                     PyObject *const *items, uint32_t n) {
    tr_dev_stream *s = NULL;
    if (l->stream && !tr_stream_of(l->st, l->stream, &s))
        return NULL;
    if (UNLIKELY(v->spec->placed != NULL) && !placed_can_be_used(l, d, v->spec->placed))
        return NULL;
    if (l->own && LIKELY(!l->keep))
        return run_own(l, d, s, v, slots);
    return s ? run_on(l, d, s, v, slots, items, n) : run_now(l, d, v, slots);
}

static outcome try_one(const tr_launcher *l, tr_dev *d, const tr_variant *v, PyObject *const *items,
                       uint32_t n, PyObject **result) {
    tr_slot room[SLOTS], *slots = room;
    assert(l->own == (v->code != NULL) && "code of the device's own was loaded on it, and no other");
    assert((!l->own || v->code->d == d) && "it was loaded on the device that launches it");
    if (UNLIKELY(v->nslots + SIZES > SLOTS) && !(slots = PyMem_Malloc((v->nslots + SIZES) * sizeof *slots))) {
        PyErr_NoMemory();
        return FAIL;
    }
    outcome r = l->own ? take_own(l, v, items, n, slots) : take_items(l, v, items, n, slots);
    if (LIKELY(r == HIT))
        *result = run(l, d, v, slots, items, n);
    if (UNLIKELY(slots != room))
        PyMem_Free(slots);
    return r;
}

static outcome try_all(const tr_launcher *l, tr_dev *d, PyObject *const *items, uint32_t n,
                       PyObject **result) {
    tr_function *f = l->fn;
    tr_function_enter(f);
    const tr_varlist *list = atomic_load_explicit(&f->list, memory_order_acquire);
    uint32_t last = atomic_load_explicit(&f->last, memory_order_relaxed);
    *result = NULL;
    outcome r = LIKELY(list && last < list->n) ? try_one(l, d, list->v[last], items, n, result) : MISS;
    for (uint32_t i = 0; UNLIKELY(r == MISS) && list && i < list->n; i++)
        if (i != last && (r = try_one(l, d, list->v[i], items, n, result)) != MISS)
            tr_spec_switch(f, list, last, i);
    tr_function_leave(f);
    assert(tr_py_agrees(r == MISS || *result) && "a launch gives a result or an exception, a miss neither");
    return r;
}

/* --- new types of arguments --- */

static uint64_t aligned(uint64_t at, uint64_t size) {
    return (at + size - 1) / size * size + size;
}

static uint64_t scalar_bytes(PyObject *o, uint64_t at) {
    PyArray_Descr *descr = PyArray_DescrFromScalar(o);
    bool pair = descr && PyDataType_ISCOMPLEX(descr);
    uint64_t size = descr ? (uint64_t)PyDataType_ELSIZE(descr) / (pair ? 2 : 1) : 8;
    Py_XDECREF(descr);
    return aligned(at, size ? size : 1) + (pair ? size : 0);
}

/* Where the parameters of a kernel end on hardware, which begin at `at`: the parts of each
 * argument (lower/device.c). */
static uint64_t parameter_bytes(PyObject *const *items, Py_ssize_t n, uint64_t at) {
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = items[i];
        if (PyArray_Check(o)) {
            PyArrayObject *a = (PyArrayObject *)o;
            bool dense = PyArray_IS_C_CONTIGUOUS(a) || PyArray_IS_F_CONTIGUOUS(a);
            at = aligned(at, 8) + (uint64_t)PyArray_NDIM(a) * (dense ? 8u : 16u);
        } else if (PyTuple_Check(o)) {
            at = parameter_bytes(PySequence_Fast_ITEMS(o), PyTuple_GET_SIZE(o), at);
        } else if (PyBool_Check(o)) {
            at++;
        } else if (PyArray_IsScalar(o, Generic) &&
                   !PyArray_IsScalar(o, Void)) { /* records by their address */
            at = scalar_bytes(o, at);
        } else if (o != Py_None) {
            at = aligned(at, 8) + (PyComplex_CheckExact(o) ? 8 : 0);
        }
    }
    return at;
}

/* The kernel's own word on arguments that it never saw. */
static bool check_items(const tr_launcher *l, PyObject *items) {
    PyObject *check = PyObject_GetAttrString(l->kernel, "_check_arguments");
    if (!check && PyErr_ExceptionMatches(PyExc_AttributeError)) { /* whoever else launches entries */
        PyErr_Clear();
        return true;
    }
    PyObject *r = check ? PyObject_CallOneArg(check, items) : NULL;
    Py_XDECREF(check);
    Py_XDECREF(r);
    return r != NULL;
}

/* Compiles for these arguments. */
static bool compile(const tr_launcher *l, tr_dev *d, PyObject *const *items, uint32_t n) {
    PyObject *bound[SIZES + 1] = {NULL};
    enum { FAILURE = 8 }; /* what it may raise goes where the first parameter points */
    uint64_t bytes = parameter_bytes(items, n, FAILURE),
             most = (uint64_t)d->ops->attribute(d, TR_DEV_HERE, TR_DEV_MAX_PARAMETER_BYTES);
    if (bytes > most) {
        PyErr_Format(PyExc_ValueError,
                     "%U: its arguments are %llu bytes of parameters; a device takes at most %llu (an array "
                     "is an address, its sizes and, "
                     "where it is not contiguous, strides)",
                     l->fn->qualname, (unsigned long long)bytes, (unsigned long long)most);
        return false;
    }
    uint32_t first = l->own ? 0 : l->fn->npos;
    bool ok = (bound[first] = PyTuple_New(n)) != NULL;
    for (uint32_t i = 0; ok && i < n; i++)
        PyTuple_SET_ITEM(bound[first], i, Py_NewRef(items[i]));
    ok = ok && check_items(l, bound[first]);
    if (l->own) {
        Py_DECREF(bound[0]);
        return ok && tr_spec_for(l->fn, items);
    }
    for (uint32_t k = 0; ok && k < first; k++)
        ok = (bound[k] = PyLong_FromLongLong(l->sizes[k])) != NULL;
    ok = ok && tr_spec_for(l->fn, bound);
    for (uint32_t k = 0; k <= first; k++)
        Py_XDECREF(bound[k]);
    return ok;
}

static bool is_loose(PyArrayObject *a) {
    return !PyArray_ISALIGNED(a) || tr_value_array_key(a) & (uint32_t)TR_KEY_PACKED;
}

/* The items of the host's arrays lie at multiples of their sizes, so that kernels can work on them in place.
 * Asked where no code fits, as none is made for others: whether they do is in an array's key. */
static bool are_aligned(PyObject *const *args, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = args[i];
        if (PyArray_Check(o)
                ? is_loose((PyArrayObject *)o)
                : PyTuple_Check(o) && !are_aligned(PySequence_Fast_ITEMS(o), PyTuple_GET_SIZE(o)))
            return false;
    }
    return true;
}

/* Of these arguments, `staged` when arrays that kernels cannot work on have been copied. */
static PyObject *launch_items(const tr_launcher *l, tr_dev *d, PyObject *const *items, uint32_t n,
                              PyObject *const *args, bool staged) {
    PyObject *result;
    if (LIKELY(try_all(l, d, items, n, &result) != MISS))
        return result;
    if (!staged && !l->own && !are_aligned(args, n))
        return call_hook(l->st->launch_stage, l, args, n);
    for (int tries = 0; tries < 8; tries++) { /* as call_bound in call.c */
        if (!compile(l, d, items, n))
            return NULL;
        if (try_all(l, d, items, n, &result) != MISS)
            return result;
    }
    return PyErr_Format(PyExc_RuntimeError, "%U: the arguments keep changing while they are read",
                        l->fn->qualname);
}

/* --- the call --- */

/* All of them can be passed as they are: numbers, and arrays of the device, or (who has a table
 * says so when it is asked) of others. */
static bool args_pass_as_they_are(tr_state *st, PyObject *const *args, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *o = args[i], *m = Py_IS_TYPE(o, st->remote_type) ? o : tr_device_mem(st, o);
        if (!m && !(PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) ||
                    PyComplex_CheckExact(o) || (PyArray_IsScalar(o, Generic) && !PyArray_IsScalar(o, Void)) ||
                    (!PyArray_CheckExact(o) && tr_exchange_of(st, o))))
            return false;
    }
    return true;
}

/* The GPU may use the memory of an argument. */
static bool gpu_may_use_argument(tr_state *st, tr_dev *d, PyObject *o, int gpu, int *of) {
    if (PyTuple_Check(o)) {
        bool ok = true;
        for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(o); i++)
            ok = gpu_may_use_argument(st, d, PyTuple_GET_ITEM(o, i), gpu, of);
        return ok;
    }
    if (!PyArray_Check(o))
        return true;
    const tr_devmem *m = tr_device_block(st, o);
    tr_dev_mem mem = m ? m->mem : (tr_dev_mem){0};
    void *at = PyArray_DATA((PyArrayObject *)o);
    if (!m && !(d->ops->owns(d, at) && d->ops->find(d, at, &mem)))
        return true; /* of others */
    *of = mem.number;
    return !mem.users || mem.number == gpu || atomic_load(mem.users) >> gpu & 1;
}

/* Where there are several: arguments lie on the one of the launch. */
static __attribute__((noinline)) bool gpu_may_use_all(const tr_launcher *l, tr_dev *d, PyObject *const *items,
                                                      Py_ssize_t n) {
    tr_dev_stream *s;
    int of = 0;
    if (!tr_stream_of(l->st, l->stream, &s))
        return false;
    int gpu = d->ops->number(d, s);
    Py_ssize_t i = 0;
    while (i < n && gpu_may_use_argument(l->st, d, items[i], gpu, &of))
        i++;
    if (i < n)
        PyErr_Format(PyExc_ValueError,
                     "%U: argument %zd lies on device %d, and the launch is on device %d: select_device(%d) "
                     "before it, or a copy of the array made there",
                     l->fn->qualname, i + 1, of, gpu, of);
    return i == n;
}

/* A kernel of the device's own with defaults, or *args. */
static __attribute__((noinline)) PyObject *launch_bound(const tr_launcher *l, tr_dev *d,
                                                        PyObject *const *items, Py_ssize_t n) {
    tr_bound b;
    if (!tr_bind(l->fn, items, n, NULL, &b))
        return NULL;
    PyObject *r = launch_items(l, d, b.v, l->fn->nparams, b.v, true);
    tr_bound_clear(&b);
    return r;
}

static PyObject *launch_args(tr_launcher *l, PyObject *const *args, Py_ssize_t n, bool staged) {
    PyObject *room[ITEMS], **items = room, *r = NULL;
    tr_dev *d = l->st->dev;
    made_items own = {0};
    if (UNLIKELY(n > ITEMS) && !(items = PyMem_Malloc((size_t)n * sizeof *items)))
        return PyErr_NoMemory();
    Py_ssize_t i = 0;
    while (i < n && LIKELY(item_of(l, d, args[i], &items[i], &own)))
        i++;
    assert((i == n || PyErr_Occurred()) && "an item that is refused has raised");
    bool ok = i == n && (LIKELY(!d->several) || gpu_may_use_all(l, d, items, n));
    if (ok && l->own && UNLIKELY(n != (Py_ssize_t)l->fn->nparams || l->fn->varargs))
        r = launch_bound(l, d, items, n);
    else if (ok)
        r = launch_items(l, d, items, (uint32_t)n, args, staged);
    if (UNLIKELY(items != room))
        PyMem_Free(items);
    Py_XDECREF(own.all);
    return r;
}

static PyObject *launch(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    tr_launcher *l = (tr_launcher *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    assert(tr_py_is_held() && "arguments are looked at with the GIL");
    assert(is_configured(l) && "a launcher's sizes are those that it was made with");
    if (UNLIKELY(kwnames && PyTuple_GET_SIZE(kwnames)))
        return PyErr_Format(PyExc_TypeError, "%U: a launch takes no keyword arguments", l->fn->qualname);
    if (UNLIKELY(!l->told) && l->st->launch_first) {
        l->told = true;
        if (!ask(l->st->launch_first, l, args, n))
            return NULL;
    }
    if (UNLIKELY(l->before != NULL) && !ask(l->before, l, args, n))
        return tr_frame_passes(l->st) ? Py_NewRef(Py_None) : NULL;
    if ((l->own || l->stream) && UNLIKELY(!args_pass_as_they_are(l->st, args, n)))
        return call_hook(l->st->launch_stage, l, args, n); /* which copies what is not, or waits for it */
    return launch_args(l, args, n, false);
}

static PyObject *launcher_staged(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    return launch_args((tr_launcher *)self, args, n, true);
}

/* --- class Launcher --- */

static int launcher_traverse(PyObject *self, visitproc visit, void *arg) {
    tr_launcher *l = (tr_launcher *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(l->fn);
    Py_VISIT(l->kernel);
    Py_VISIT(l->stream);
    Py_VISIT(l->before);
    return 0;
}

static int launcher_clear(PyObject *self) {
    tr_launcher *l = (tr_launcher *)self;
    Py_CLEAR(l->before);
    Py_CLEAR(l->kernel); /* who holds it can launch it; cycles go through these two */
    return 0;
}

static void launcher_dealloc(PyObject *self) {
    tr_launcher *l = (tr_launcher *)self;
    PyTypeObject *tp = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (l->weakrefs)
        PyObject_ClearWeakRefs(self);
    launcher_clear(self);
    Py_CLEAR(l->fn);
    Py_CLEAR(l->grid);
    Py_CLEAR(l->block);
    Py_CLEAR(l->stream);
    Py_CLEAR(l->shared);
    tp->tp_free(self);
    Py_DECREF(tp);
}

static PyObject *launcher_repr(PyObject *self) {
    tr_launcher *l = (tr_launcher *)self;
    return PyUnicode_FromFormat("<%U[%R, %R]>", l->fn->qualname, l->grid, l->block);
}

static PyMethodDef launcher_methods[] = {
    {"_staged", (PyCFunction)(void (*)(void))launcher_staged, METH_FASTCALL,
     "_staged(*args)\n--\n\nThe launch, with arrays that are the device's."},
    {0},
};

static PyMemberDef launcher_members[] = {
    {"kernel", T_OBJECT, offsetof(tr_launcher, kernel), READONLY, "The kernel."},
    {"grid", T_OBJECT, offsetof(tr_launcher, grid), READONLY, "Blocks along x, y, z."},
    {"block", T_OBJECT, offsetof(tr_launcher, block), READONLY, "Threads of a block along x, y, z."},
    {"griddim", T_OBJECT, offsetof(tr_launcher, grid), READONLY, "The same as grid."},
    {"blockdim", T_OBJECT, offsetof(tr_launcher, block), READONLY, "The same as block."},
    {"stream", T_OBJECT, offsetof(tr_launcher, stream), READONLY, "The stream; None: the default one."},
    {"sharedmem", T_OBJECT, offsetof(tr_launcher, shared), READONLY, "Bytes of dynamic shared memory."},
    {"_sync", T_BOOL, offsetof(tr_launcher, sync), 0,
     "Whether a launch is waited for: what it raises is raised by it."},
    {"_told", T_BOOL, offsetof(tr_launcher, told), 0, "Whether what is told at a first launch was."},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(tr_launcher, vectorcall), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(tr_launcher, weakrefs), READONLY, NULL},
    {0},
};

PyDoc_STRVAR(doc, "A kernel with a configuration: ``kernel[grid, block, stream, shared_bytes]``. Calling it "
                  "runs the kernel.\n\n"
                  "On the default stream all threads have ended when the call returns; on another one when "
                  "that is waited for.");

static PyType_Slot slots[] = {
    {Py_tp_dealloc, launcher_dealloc},
    {Py_tp_traverse, launcher_traverse},
    {Py_tp_clear, launcher_clear},
    {Py_tp_repr, launcher_repr},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, launcher_members},
    {Py_tp_methods, launcher_methods},
    {Py_tp_doc, (void *)doc},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "treadle._core.Launcher",
    .basicsize = sizeof(tr_launcher),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
             Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

/* --- functions --- */

static bool read_sizes(tr_launcher *l) {
    double threads = 1;
    for (uint32_t k = 0; k < 6; k++) {
        PyObject *of = k < 3 ? l->grid : l->block;
        l->sizes[k] = PyTuple_GET_SIZE(of) == 3 ? PyLong_AsLongLong(PyTuple_GET_ITEM(of, k % 3)) : -1;
        if (l->sizes[k] < 1) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "sizes are three positive numbers");
            return false;
        }
        threads *= (double)l->sizes[k];
    }
    l->sizes[6] = PyLong_AsLongLong(l->shared);
    l->large = threads > small_launch;
    return !PyErr_Occurred();
}

static PyObject *make_launcher(PyObject *module, PyObject *args) {
    tr_state *st = tr_ext_state(module);
    PyObject *fn, *kernel, *grid, *block, *stream, *shared, *before = Py_None;
    if (!PyArg_ParseTuple(args, "O!OO!O!OO|O:_launcher", st->fn_type, &fn, &kernel, &PyTuple_Type, &grid,
                          &PyTuple_Type, &block, &stream, &shared, &before))
        return NULL;
    tr_dev_stream *s;
    uint32_t npos = ((tr_function *)fn)->npos;
    bool own = ((tr_function *)fn)->target != NULL;
    if (!own && (npos > SIZES || !((tr_function *)fn)->varargs))
        return PyErr_Format(PyExc_TypeError, "an entry of launches has at most %d sizes, and *args", SIZES);
    tr_launcher *l = tr_device_get(st) && tr_stream_of(st, stream, &s)
                         ? (tr_launcher *)st->launcher_type->tp_alloc(st->launcher_type, 0)
                         : NULL;
    if (!l)
        return NULL;
    l->vectorcall = launch;
    l->own = own;
    l->st = st;
    l->fn = (tr_function *)Py_NewRef(fn);
    l->kernel = Py_NewRef(kernel);
    l->grid = Py_NewRef(grid);
    l->block = Py_NewRef(block);
    l->stream = PyObject_TypeCheck(stream, st->stream_type) ? Py_NewRef(stream) : NULL;
    l->keep = tr_stream_is_foreign(l->stream);
    l->shared = Py_NewRef(shared);
    l->before = before == Py_None ? NULL : Py_NewRef(before);
    if (!read_sizes(l))
        Py_CLEAR(l);
    return (PyObject *)l;
}

static PyObject *launch_hooks(PyObject *module, PyObject *args) {
    tr_state *st = tr_ext_state(module);
    PyObject *convert, *first, *passes, *on_stream, *staged;
    if (!PyArg_ParseTuple(args, "OOOOO:_launch_hooks", &convert, &first, &passes, &on_stream, &staged))
        return NULL;
    Py_XSETREF(st->launch_stage, Py_NewRef(staged));
    Py_XSETREF(st->launch_on_stream, on_stream == Py_None ? NULL : Py_NewRef(on_stream));
    Py_XSETREF(st->launch_passes, Py_NewRef(passes));
    Py_XSETREF(st->launch_convert, Py_NewRef(convert));
    Py_XSETREF(st->launch_first, Py_NewRef(first));
    Py_RETURN_NONE;
}

/* --- class Configurable --- */

enum { LAUNCHERS = 64 };
typedef struct tr_configurable {
    /* dict: those that were asked for, but for those of streams, which live as long as they like */
    PyObject_HEAD
    PyObject *launchers;
} tr_configurable;

static PyObject *configurable_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    (void)args;
    (void)kw; /* the class that is derived from this one reads them */
    tr_configurable *k = (tr_configurable *)type->tp_alloc(type, 0);
    if (k && !(k->launchers = PyDict_New()))
        Py_CLEAR(k);
    return (PyObject *)k;
}

static int configurable_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((tr_configurable *)self)->launchers);
    return 0;
}

static int configurable_clear(PyObject *self) {
    Py_CLEAR(((tr_configurable *)self)->launchers);
    return 0;
}

static void configurable_dealloc(PyObject *self) {
    PyTypeObject *tp = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    configurable_clear(self);
    tp->tp_free(self);
    Py_DECREF(tp);
}

static bool names_stream(PyObject *config) {
    if (!PyTuple_CheckExact(config) || PyTuple_GET_SIZE(config) < 3)
        return false;
    PyObject *s = PyTuple_GET_ITEM(config, 2);
    return !(s == Py_None || PyLong_CheckExact(s));
}

static PyObject *configure(PyObject *self, PyObject *config) {
    return PyObject_CallMethod(self, "_configure", "(O)", config);
}

static PyObject *configurable_get(PyObject *self, PyObject *config) {
    PyObject *all = ((tr_configurable *)self)->launchers;
    if (!all || names_stream(config))
        return configure(self, config);
    PyObject *l = tr_py_dict_get(all, config);
    if (l)
        return l;
    if (PyErr_Occurred()) { /* a list in it has no hash */
        if (!PyErr_ExceptionMatches(PyExc_TypeError))
            return NULL;
        PyErr_Clear();
        return configure(self, config);
    }
    l = configure(self, config);
    if (l && PyDict_GET_SIZE(all) >= LAUNCHERS)
        PyDict_Clear(all);
    if (l && PyDict_SetItem(all, config, l) < 0)
        Py_CLEAR(l);
    return l;
}

static PyMethodDef configurable_methods[] = {
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, "What annotations say of it."},
    {0},
};

static PyType_Slot configurable_slots[] = {
    {Py_tp_new, configurable_new},
    {Py_tp_dealloc, configurable_dealloc},
    {Py_tp_traverse, configurable_traverse},
    {Py_tp_clear, configurable_clear},
    {Py_mp_subscript, configurable_get},
    {Py_tp_methods, configurable_methods},
    {Py_tp_doc, "What `x[config]` makes a launcher of: ``x._configure(config)`` is asked once for each."},
    {0, NULL},
};

static PyType_Spec configurable_spec = {
    .name = "treadle._core.Configurable",
    .basicsize = sizeof(tr_configurable),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = configurable_slots,
};

bool tr_launch_add(PyObject *module) {
    static PyMethodDef methods[] = {
        {"_launcher", make_launcher, METH_VARARGS,
         "_launcher(entry, kernel, grid, block, stream, shared_bytes, before=None)\n--\n\nA kernel with a "
         "configuration; "
         "``before(launcher, args)`` is called before each launch, and may refuse it."},
        {"_launch_hooks", launch_hooks, METH_VARARGS,
         "_launch_hooks(convert, first, passes, on_stream, stage)\n--\n\nWhat is asked for arguments that "
         "are "
         "neither numbers nor arrays; called with a launcher and the "
         "arguments before its first launch; asked whether the exception of a watched launch is passed "
         "over; asked, with a launcher and the arrays, when a launch is put on a stream, for what to call "
         "with the memory that it touched (None: nothing); called with a launcher and arguments that are not "
         "all on the device, to copy them there, launch, and copy them back."},
        {NULL, NULL, 0, NULL},
    };
    tr_state *st = tr_ext_state(module);
    st->launcher_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    PyObject *base = PyType_FromModuleAndSpec(module, &configurable_spec, NULL);
    PyObject *placed = PyLong_FromVoidPtr((void *)(uintptr_t)tr_rt_placed);
    bool ok = base && PyModule_AddType(module, (PyTypeObject *)base) == 0 &&
              PyModule_AddObjectRef(module, "_placed", placed) == 0;
    Py_XDECREF(placed);
    Py_XDECREF(base);
    return ok && st->launcher_type && PyModule_AddType(module, st->launcher_type) == 0 &&
           PyModule_AddFunctions(module, methods) == 0;
}
