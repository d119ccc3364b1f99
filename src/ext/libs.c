/* What CUDA's libraries do, for Python: which library is open, and plans of Fourier transforms.
 *
 * Arrays come as ndarrays over the device's memory, or on the emulated device the host's, one item behind
 * the other; how many items a call touches is looked at here, so that no library reads past an end. What a
 * call on a stream refers to lives until it has run.
 * Cost of a call on the emulated device: some hundred nanoseconds. */
#include <assert.h>
#include <string.h>

#include "dev/libs.h"
#include "ext/compat.h"
#include "ext/device.h"
#include "libs/fft.h"

enum { SMALL = 64 << 10 }; /* bytes; more is done without the GIL */

/* --- libraries --- */

/* _lib_open(name, path): why not; None: it is open. */
static PyObject *lib_open(PyObject *module, PyObject *args) {
    const char *name, *path;
    char msg[300];
    (void)module;
    if (!PyArg_ParseTuple(args, "ss:_lib_open", &name, &path))
        return NULL;
    tr_lib l = tr_lib_by_name(name);
    if (l == TR_LIB__COUNT)
        return PyErr_Format(PyExc_ValueError, "no library of CUDA's is called '%s' here", name);
    bool ok;
    Py_BEGIN_ALLOW_THREADS
    ok = tr_lib_open(l, path, msg, sizeof msg);
    Py_END_ALLOW_THREADS
    return ok ? Py_NewRef(Py_None) : PyUnicode_FromString(msg);
}

static PyObject *fft_version(PyObject *module, PyObject *unused) {
    const tr_cufft_fns *fn = tr_lib_cufft();
    int version = 0;
    (void)module;
    (void)unused;
    int status = fn ? fn->version(&version) : 0;
    if (status)
        return tr_device_raise(NULL, tr_lib_refused(TR_LIB_CUFFT, "cufftGetVersion", status));
    return PyLong_FromLong(version);
}

/* --- plans of Fourier transforms --- */

typedef struct plan {
    PyObject_HEAD
    tr_state *st;
    tr_fft_form form;
    tr_fft *on[TR_DEV_GPUS]; /* NULL: not used there yet */
} plan;

/* That of a GPU, made at its first use. NULL with an exception. */
static tr_fft *plan_on(plan *p, tr_dev *d, int gpu) {
    tr_fft *made;
    int32_t code;
    if (p->on[gpu])
        return p->on[gpu];
    if (d->ops->load && !tr_lib_cufft()) {
        PyErr_SetString(PyExc_RuntimeError, "cuFFT was not opened");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    code = tr_fft_new(d, gpu, &p->form, &p->st->fft, &made);
    Py_END_ALLOW_THREADS
    if (code || !made) {
        if (code)
            tr_device_raise(d, code);
        else
            PyErr_SetString(PyExc_NotImplementedError, "NumPy's loops are needed, and there are none");
        return NULL;
    }
    if (p->on[gpu]) /* another thread's */
        tr_fft_free(made);
    else
        p->on[gpu] = made;
    return p->on[gpu];
}

/* Sizes, all at least 1, whose items have addresses. */
static bool read_sizes(tr_fft_form *f, PyObject *shape, Py_ssize_t batch) {
    double items = (double)batch * 2;
    f->rank = (int)PyTuple_GET_SIZE(shape);
    f->batch = batch;
    for (int k = 0; k < f->rank; k++) {
        f->n[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, k));
        if (f->n[k] == -1 && PyErr_Occurred())
            return false;
        items *= (double)f->n[k] + 2;
        if (f->n[k] < 1)
            batch = 0;
    }
    if (batch >= 1 && items < 1e18 / 16)
        return true;
    PyErr_SetString(PyExc_ValueError, batch < 1 ? "sizes and number of transforms are at least 1"
                                                : "these are more items than there are addresses");
    return false;
}

static PyObject *plan_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    static char *names[] = {"kind", "wide", "shape", "batch", NULL};
    int kind, wide;
    PyObject *shape;
    Py_ssize_t batch;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "ipO!n:FFT", names, &kind, &wide, &PyTuple_Type, &shape,
                                     &batch))
        return NULL;
    if (kind < TR_FFT_C2C || kind > TR_FFT_C2R || PyTuple_GET_SIZE(shape) < 1 ||
        PyTuple_GET_SIZE(shape) > TR_FFT_RANK)
        return PyErr_Format(PyExc_ValueError, "no kind of transform %d of %zd axes", kind,
                            PyTuple_GET_SIZE(shape));
    PyObject *module = PyType_GetModuleByDef(type, tr_ext_definition());
    tr_state *st = module ? tr_ext_state(module) : NULL;
    tr_dev *d = st ? tr_device_get(st) : NULL;
    plan *p = d ? (plan *)type->tp_alloc(type, 0) : NULL;
    if (!p)
        return NULL;
    p->st = st;
    p->form = (tr_fft_form){.kind = (tr_fft_kind)kind, .wide = wide};
    if (!read_sizes(&p->form, shape, batch) || !plan_on(p, d, d->ops->number ? d->ops->number(d, NULL) : 0)) {
        Py_DECREF(p);
        return NULL;
    }
    return (PyObject *)p;
}

static void plan_dealloc(PyObject *self) {
    plan *p = (plan *)self;
    PyTypeObject *tp = Py_TYPE(self);
    for (int k = 0; k < TR_DEV_GPUS; k++)
        if (p->on[k]) { /* a library may wait for the GPU here, and that for a call of Python's */
            PyThreadState *ts = tr_device_leave(p->st);
            tr_fft_free(p->on[k]);
            tr_device_return(ts);
        }
    tp->tp_free(self);
    Py_DECREF(tp);
}

/* An array that a transform may be made of, or (`written`) written to. */
static bool array_is_fit(const plan *p, PyArrayObject *a, bool written) {
    const char *what = written ? "the array that is written" : "the array that is transformed";
    if (PyArray_ITEMSIZE(a) != tr_fft_item(&p->form, !written))
        PyErr_Format(PyExc_TypeError, "%s has other items than the plan", what);
    else if (PyArray_SIZE(a) < tr_fft_items(&p->form, !written))
        PyErr_Format(PyExc_ValueError, "%s has %zd items, and the plan needs %lld", what,
                     (Py_ssize_t)PyArray_SIZE(a), (long long)tr_fft_items(&p->form, !written));
    else if (!PyArray_IS_C_CONTIGUOUS(a) || !PyArray_ISALIGNED(a))
        PyErr_Format(PyExc_ValueError, "%s does not lie one item behind the other", what);
    else if (written && !PyArray_ISWRITEABLE(a))
        PyErr_Format(PyExc_ValueError, "%s is read-only", what);
    else
        return true;
    return false;
}

/* With arrays that were looked at. */
static bool run(plan *p, tr_dev *d, PyArrayObject *in, PyArrayObject *out, bool inverse, PyObject *stream) {
    tr_state *st = p->st;
    tr_dev_stream *s;
    if (!tr_stream_of(st, stream, &s) || !tr_device_check(st, d, (PyObject *)in) ||
        !tr_device_check(st, d, (PyObject *)out))
        return false;
    int gpu = d->ops->number ? d->ops->number(d, s) : 0;
    tr_fft_call c = {
        .plan = plan_on(p, d, gpu), .in = PyArray_DATA(in), .out = PyArray_DATA(out), .inverse = inverse};
    uint64_t bytes = c.plan ? tr_fft_area(c.plan) : 0;
    tr_dev_stream *order = s && !tr_stream_is_foreign(stream) ? s : NULL;
    PyObject *area = bytes ? tr_device_alloc(st, d, TR_DEV_LOCAL, order, bytes) : Py_NewRef(Py_None);
    bool ok = c.plan && area;
    if (ok) {
        c.area = bytes ? ((tr_devmem *)area)->mem.at : NULL;
        PyObject *keep[] = {(PyObject *)p, (PyObject *)in, (PyObject *)out, area};
        tr_libwork w = {.fn = tr_fft_run, .arg = &c, .bytes = sizeof c, .gpu = gpu, .keep = keep, .nkeep = 4};
        w.away = !d->ops->load && tr_fft_items(&p->form, true) * tr_fft_item(&p->form, true) > SMALL;
        ok = tr_stream_work(st, d, s, &w);
    }
    Py_XDECREF(area);
    return ok;
}

static PyObject *plan_run(PyObject *self, PyObject *args) {
    plan *p = (plan *)self;
    PyArrayObject *in, *out;
    PyObject *stream;
    int inverse;
    if (!PyArg_ParseTuple(args, "O!O!pO:run", &PyArray_Type, &in, &PyArray_Type, &out, &inverse, &stream))
        return NULL;
    tr_dev *d = tr_device_get(p->st);
    bool ok =
        d && array_is_fit(p, in, false) && array_is_fit(p, out, true) && run(p, d, in, out, inverse, stream);
    return ok ? Py_NewRef(Py_None) : NULL;
}

/* The ndarray of what is the device's, or (`host`) the host's; NULL: another way must be found. */
static PyArrayObject *plain_array(const plan *p, PyObject *o, bool host, bool written) {
    PyObject *mem = tr_device_mem(p->st, o);
    const tr_fft_form *f = &p->form;
    bool real = f->kind == (written ? TR_FFT_C2R : TR_FFT_R2C),
         half = f->kind == (written ? TR_FFT_R2C : TR_FFT_C2R);
    int num = real ? (f->wide ? NPY_DOUBLE : NPY_FLOAT) : f->wide ? NPY_CDOUBLE : NPY_CFLOAT;
    if (!mem && (!host || !PyArray_CheckExact(o)))
        return NULL;
    PyArrayObject *a = (PyArrayObject *)(mem ? mem : o);
    int lead = f->batch > 1;
    if (PyArray_TYPE(a) != num || PyArray_NDIM(a) != f->rank + lead || !PyArray_ISNOTSWAPPED(a) ||
        !PyArray_IS_C_CONTIGUOUS(a) || !PyArray_ISALIGNED(a) || (written && !PyArray_ISWRITEABLE(a)) ||
        (lead && PyArray_DIM(a, 0) != f->batch))
        return NULL;
    for (int k = 0; k < f->rank; k++)
        if (PyArray_DIM(a, lead + k) != (half && k + 1 == f->rank ? f->n[k] / 2 + 1 : f->n[k]))
            return NULL;
    return a;
}

/* try_run(ary, out, inverse, stream): False where something has to be done before or behind it. */
static PyObject *plan_try_run(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    plan *p = (plan *)self;
    const tr_fft_form *f = &p->form;
    tr_dev *d = p->st->dev;
    if (n != 4)
        return PyErr_Format(PyExc_TypeError, "try_run() takes four arguments");
    bool own = d->ops->load != NULL,
         plain = !args[3] || (PyLong_CheckExact(args[3]) && PyObject_Not(args[3]));
    if (own && f->kind == TR_FFT_C2R && f->rank > 1) /* which would overwrite what it is made of */
        Py_RETURN_FALSE;
    PyArrayObject *in = plain_array(p, args[0], !own && plain, false);
    PyArrayObject *out = in ? plain_array(p, args[1], !own && plain, true) : NULL;
    if (!out)
        Py_RETURN_FALSE;
    uintptr_t x = (uintptr_t)PyArray_DATA(in), y = (uintptr_t)PyArray_DATA(out), pair = f->wide ? 16 : 8;
    bool apart = x + (uintptr_t)PyArray_NBYTES(in) <= y || y + (uintptr_t)PyArray_NBYTES(out) <= x;
    if ((!apart && (x != y || f->kind != TR_FFT_C2C)) || (own && (x % pair || y % pair)))
        Py_RETURN_FALSE;
    return run(p, d, in, out, args[2] == Py_True, args[3]) ? Py_NewRef(Py_True) : NULL;
}

#define FAST(f) (PyCFunction)(void (*)(void))(f), METH_FASTCALL
static PyMethodDef plan_methods[] = {
    {"run", plan_run, METH_VARARGS,
     "run(ary, out, inverse, stream, /)\n--\n\nTransform ``ary`` to ``out``, which lie in C order without "
     "gaps."},
    {"try_run", FAST(plan_try_run),
     "try_run(ary, out, inverse, stream, /)\n--\n\nThe same for arrays that are the device's, or on the "
     "emulated "
     "one without a stream the host's, and have the plan's own shapes: False for all others."},
    {0},
};

static PyType_Slot plan_slots[] = {
    {Py_tp_new, plan_new},
    {Py_tp_dealloc, plan_dealloc},
    {Py_tp_methods, plan_methods},
    {Py_tp_doc, "A plan of Fourier transforms."},
    {0, NULL},
};

static PyType_Spec plan_spec = {
    .name = "treadle._core.FFT",
    .basicsize = sizeof(plan),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = plan_slots,
};

/* The loop of a generalised ufunc of NumPy's for rows of that precision: complex or real items, a factor of
 * the same precision. NULL: it has none. */
static bool find_loop(PyObject *o, int which, int wide, tr_fft_loops *out) {
    int real = wide ? NPY_DOUBLE : NPY_FLOAT, pairs = wide ? NPY_CDOUBLE : NPY_CFLOAT;
    int in = which == TR_FFT_REAL_EVEN || which == TR_FFT_REAL_ODD ? real : pairs;
    const PyUFuncObject *u = (PyUFuncObject *)o;
    bool fits = u->nin == 2 && u->nout == 1 && u->core_enabled && u->core_num_dim_ix == 2 &&
                u->core_num_dims[0] == 1 && u->core_num_dims[1] == 0 && u->core_num_dims[2] == 1 &&
                u->core_dim_ixs[0] == 0 && u->core_dim_ixs[1] == 1;
    for (int i = 0; fits && i < u->ntypes; i++) {
        const char *t = u->types + i * 3;
        if (t[0] != in || t[1] != real || t[2] != (which == TR_FFT_TO_REAL ? real : pairs) ||
            !u->functions[i])
            continue;
        _Static_assert(sizeof(npy_intp) == sizeof(int64_t), "NumPy's loops are ours");
        memcpy(&out->of[which][wide].fn, &u->functions[i], sizeof out->of[which][wide].fn);
        out->of[which][wide].data = u->data ? (void *)(uintptr_t)u->data[i] : NULL;
        return true;
    }
    return false;
}

/* _fft_loops(forward, inverse, real_even, real_odd, to_real): whether they are what is needed. */
static PyObject *fft_loops(PyObject *module, PyObject *args) {
    tr_state *st = tr_ext_state(module);
    tr_fft_loops found = {0};
    bool all = PyTuple_GET_SIZE(args) == TR_FFT_LOOPS;
    for (int k = 0; all && k < TR_FFT_LOOPS; k++) {
        PyObject *o = PyTuple_GET_ITEM(args, k);
        all = Py_TYPE(o) == st->np_ufunc && find_loop(o, k, 0, &found) && find_loop(o, k, 1, &found);
    }
    st->fft = all ? found : (tr_fft_loops){0};
    return PyBool_FromLong(all);
}

bool tr_libs_add(PyObject *module) {
    static PyMethodDef methods[] = {
        {"_lib_open", lib_open, METH_VARARGS,
         "_lib_open(name, path)\n--\n\nOpen a library of CUDA's: None, or why not."},
        {"_fft_version", fft_version, METH_NOARGS,
         "_fft_version()\n--\n\nThe version of cuFFT, 1000 times its major one; 0: it is not open."},
        {"_fft_loops", fft_loops, METH_VARARGS,
         "_fft_loops(forward, inverse, real_even, real_odd, to_real)\n--\n\nTake NumPy's loops for rows: "
         "whether "
         "they are what is needed."},
        {NULL, NULL, 0, NULL},
    };
    PyObject *type = PyType_FromModuleAndSpec(module, &plan_spec, NULL);
    bool ok = type && PyModule_AddType(module, (PyTypeObject *)type) == 0 &&
              PyModule_AddFunctions(module, methods) == 0;
    Py_XDECREF(type);
    return ok;
}
