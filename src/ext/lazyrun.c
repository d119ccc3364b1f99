/* Evaluating lazy arrays: the graph's function is called with what the walk has gathered, and what it returns
 * becomes the value of the roots. And what is known of a value without it: its type, its shape.
 *
 * A node that is computed a second time, since nobody asked for it the first time and somebody still holds
 * it, is made a root of its own: nothing is computed for ever. Errors tell of the graph's nodes by number
 * (graph/graph.h); here these become the user's lines. */
#include <assert.h>
#include <string.h>

#include "base/map.h"
#include "ext/compat.h"
#include "ext/far.h"
#include "ext/job.h"
#include "ext/lazy.h"
#include "ext/pyerr.h"

uint64_t tr_lazy_sum(PyObject *array) {
    Py_buffer view;
    uint64_t sum = 0;
    if (!PyArray_Check(array))
        return 0;
    PyArrayObject *a = (PyArrayObject *)array;
    if (PyArray_IS_C_CONTIGUOUS(a) || PyArray_IS_F_CONTIGUOUS(a))
        return tr_hash_bytes(PyArray_DATA(a), (size_t)PyArray_NBYTES(a), 1);
    PyObject *copy = PyArray_NewCopy(a, NPY_CORDER);
    if (copy && PyObject_GetBuffer(copy, &view, PyBUF_SIMPLE) == 0) {
        sum = tr_hash_bytes(view.buf, (size_t)view.len, 1);
        PyBuffer_Release(&view);
    }
    PyErr_Clear();
    Py_XDECREF(copy);
    return sum;
}

/* --- places --- */

/* A traceback entry where the node was written, in front of `next`. NULL without an exception: it is left
 * out. */
static PyObject *entry_at(const tr_lazy *x, PyObject *next) {
    PyCodeObject *code = (PyCodeObject *)x->code, *made = NULL;
    PyObject *globals = PyDict_New(), *r = NULL, *type = (PyObject *)&PyTraceBack_Type;
    int line = code ? PyCode_Addr2Line(code, x->lasti) : -1;
    const char *file = code ? PyUnicode_AsUTF8(code->co_filename) : NULL;
    const char *fn = code ? PyUnicode_AsUTF8(code->co_name) : NULL;
    if (globals && file && fn && line > 0)
        made = PyCode_NewEmpty(file, fn, line);
    PyFrameObject *frame = made ? PyFrame_New(PyThreadState_Get(), made, globals, NULL) : NULL;
    if (frame)
        r = PyObject_CallFunction(type, "OOii", next ? next : Py_None, (PyObject *)frame, 0, line);
    PyErr_Clear();
    Py_XDECREF(globals);
    Py_XDECREF((PyObject *)made);
    Py_XDECREF((PyObject *)frame);
    return r;
}

/* The entries from tb on, those of the graph as what the user wrote. A new reference, or NULL: none. */
static PyObject *translated(tr_gwalk *w, PyObject *tb, int *last) {
    if (!tb || tb == Py_None)
        return NULL;
    PyTracebackObject *t = (PyTracebackObject *)tb;
    PyObject *next = translated(w, (PyObject *)t->tb_next, last), *r = NULL; /* as deep as calls are */
    PyCodeObject *code = PyFrame_GetCode(t->tb_frame);
    if (PyUnicode_CompareWithASCIIString(code->co_filename, TR_GRAPH_FILE) != 0) {
        r = PyObject_CallFunction((PyObject *)&PyTraceBack_Type, "OOii", next ? next : Py_None,
                                  (PyObject *)t->tb_frame, t->tb_lasti, code->co_firstlineno);
        if (r)
            ((PyTracebackObject *)r)->tb_lineno = t->tb_lineno;
    } else {
        int k = code->co_firstlineno - 1; /* 0 also stands for the call itself, which nobody wrote */
        bool named = strcmp(PyUnicode_AsUTF8(code->co_name), TR_GRAPH_NODE) == 0;
        bool told =
            k == *last; /* the library's function that the node calls is inlined at the node's place */
        if (named && !told && k >= 0 && (uint32_t)k < w->nodes.n)
            r = entry_at((tr_lazy *)w->nodes.d[k], next);
        *last = k;
    }
    PyErr_Clear();
    Py_DECREF(code);
    if (!r)
        return next;
    Py_XDECREF(next);
    return r;
}

static void tell_places(tr_gwalk *w) {
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    int last = -1;
    PyObject *t = translated(w, tb, &last);
    Py_XSETREF(tb, t);
    if (value && t)
        PyException_SetTraceback(value, t);
    PyErr_Clear();
    PyErr_Restore(type, value, tb);
}

/* Whether the error says that the graph could not be compiled: then nothing of it has run. */
static bool is_refused(void) {
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    PyObject *cls = tr_pyerr_class("TreadleError");
    bool is = cls && type && PyErr_GivenExceptionMatches(type, cls);
    Py_XDECREF(cls);
    PyErr_Clear();
    PyErr_Restore(type, value, tb);
    return is;
}

/* --- leaves that changed --- */

static bool place_text(const tr_lazy *x, char *b, size_t n) {
    PyCodeObject *c = (PyCodeObject *)x->code;
    const char *file = c ? PyUnicode_AsUTF8(c->co_filename) : NULL;
    if (file)
        snprintf(b, n, "%s:%d", file, PyCode_Addr2Line(c, x->lasti));
    PyErr_Clear();
    return file != NULL;
}

static bool check_leaf(const tr_lazy *leaf, const tr_lazy *user) {
    char made[512], used[512];
    if (!leaf->value || !leaf->sum || tr_lazy_sum(leaf->value) == leaf->sum)
        return true;
    PyObject *cls = tr_pyerr_class("LeafChangedError");
    bool told = cls && place_text(leaf, made, sizeof made) && place_text(user, used, sizeof used);
    if (cls)
        PyErr_Format(
            cls,
            told ? "an array that was handed to the graph at %s has other items now that what uses it "
                   "at %s is evaluated: treadle.parallel.array(a, copy=True) keeps them"
                 : "an array that was handed to the graph has other items now that it is evaluated",
            made, used);
    Py_XDECREF(cls);
    return false;
}

static bool check_leaves(tr_gwalk *w) {
    bool ok = true;
    for (uint32_t k = 0; ok && w->l->check && k < w->nodes.n; k++) {
        tr_lazy *x = (tr_lazy *)w->nodes.d[k];
        for (Py_ssize_t i = 0; ok && i < Py_SIZE(x); i++)
            ok = !x->args[i] || !tr_lazy_is(w->l, x->args[i]) || check_leaf((tr_lazy *)x->args[i], x);
    }
    return ok;
}

/* --- evaluation --- */

/* treadle._library's function that roots go through. */
static bool find_result(tr_lazies *l) {
    if (l->result)
        return true;
    PyObject *m = PyImport_ImportModule("treadle._library.graphs");
    PyObject *f = m ? PyObject_GetAttrString(m, "result") : NULL;
    Py_XDECREF(m);
    if (f && !l->result)
        l->result = f;
    else
        Py_XDECREF(f);
    return f != NULL;
}

static bool is_operand(tr_gwalk *w, const PyArrayObject *a) {
    for (uint32_t i = 0; i < w->params.n; i++)
        if (w->params.d[i] == (const PyObject *)a)
            return true;
    return false;
}

/* On a device: a device array, of memory of its own. */
static PyObject *far_value(tr_gwalk *w, PyObject *a, bool is_view) {
    PyObject *m = PyImport_ImportModule("treadle.parallel._device");
    PyObject *r = m ? PyObject_CallMethod(m, "own", "OO", a, is_view ? Py_True : Py_False) : NULL;
    (void)w;
    Py_XDECREF(m);
    return r;
}

/* A value never changes: it is no operand and no view of one. Whoever asks for it gets a view that is not
 * written to (lazy.c). */
static PyObject *own_value(tr_gwalk *w, PyArrayObject *a) {
    bool is_view = is_operand(w, a) || (PyArray_BASE(a) && PyArray_Check(PyArray_BASE(a)));
    if (w->offload && PyArray_NDIM(a) > 0)
        return far_value(w, (PyObject *)a, is_view || !PyArray_ISWRITEABLE(a));
    PyObject *v =
        is_view || !PyArray_ISWRITEABLE(a) ? PyArray_NewCopy(a, NPY_KEEPORDER) : Py_NewRef((PyObject *)a);
    return v ? PyArray_Return((PyArrayObject *)v) : NULL;
}

/* An array without axes is handed out as a number, as NumPy does; a tuple of such, item by item. A list never
 * changes here: it is one, too. */
static PyObject *plain_value(tr_gwalk *w, PyObject *v) {
    if (PyList_CheckExact(v)) {
        PyObject *t = PyList_AsTuple(v), *r = t ? plain_value(w, t) : NULL;
        Py_XDECREF(t);
        return r;
    }
    if (!PyTuple_CheckExact(v))
        return PyArray_Check(v) ? own_value(w, (PyArrayObject *)v) : Py_NewRef(v);
    PyObject *t = PyTuple_New(PyTuple_GET_SIZE(v));
    for (Py_ssize_t i = 0; t && i < PyTuple_GET_SIZE(v); i++) {
        PyObject *item = plain_value(w, PyTuple_GET_ITEM(v, i));
        if (item)
            PyTuple_SET_ITEM(t, i, item);
        else
            Py_CLEAR(t);
    }
    return t;
}

/* What the node was made of goes when the walk does, which holds it until then. */
static void give_value(tr_lazy *x, PyObject *v, bool check) {
    if (x->value)
        return;
    x->value = Py_NewRef(v);
    x->sum = check ? tr_lazy_sum(v) : 0;
    Py_CLEAR(x->fn);
    Py_CLEAR(x->kwnames);
    Py_CLEAR(x->tag);
    Py_CLEAR(x->shape);
    for (Py_ssize_t i = 0; i < Py_SIZE(x); i++)
        Py_CLEAR(x->args[i]);
}

static bool give_values(tr_gwalk *w, PyObject *r) {
    PyObject *v = plain_value(w, r);
    for (Py_ssize_t i = 0; v && i < w->nroots; i++)
        give_value((tr_lazy *)w->roots[i], w->nroots == 1 ? v : PyTuple_GET_ITEM(v, i), w->l->check);
    Py_XDECREF(v);
    return v != NULL;
}

/* Nodes that somebody holds beside the graph: references that neither operands nor this walk have. */
static bool is_held(const tr_lazy *x) {
#ifdef Py_GIL_DISABLED
    return true; /* counts are split between threads there */
#else
    return Py_REFCNT(x) > (Py_ssize_t)x->uses + 1;
#endif
}

static bool is_root(const tr_gwalk *w, const tr_lazy *x) {
    for (Py_ssize_t i = 0; i < w->nroots; i++)
        if (w->roots[i] == (PyObject *)x)
            return true;
    return false;
}

static void note_ran(tr_gwalk *w) {
    for (uint32_t k = 0; k < w->nodes.n; k++) {
        tr_lazy *x = (tr_lazy *)w->nodes.d[k];
        x->ran = x->ran || (is_held(x) && tr_lazy_has_value(x) && !is_root(w, x));
    }
}

/* The plan's function; a new reference, or NULL with an exception. */
static PyObject *function_of(tr_gwalk *w) {
    tr_py_section section;
    tr_py_section_begin(&section, w->st->gate);
    PyObject *fn = w->gathered || tr_gwalk_gather(w) ? tr_gwalk_function(w) : NULL;
    tr_py_section_end(&section);
    return fn;
}

/* Arrays lie on the device, or on the host. */
static bool lie_together(const tr_gwalk *w) {
    if (w->point) {
        PyErr_SetString(PyExc_ValueError,
                        "an array without axes lies on a device, where numbers are operands as they are: "
                        "d.copy_to_host()[()], or a view of one axis, d.reshape(1)");
        return false;
    }
    if (!w->offload || !w->here)
        return true;
    PyErr_SetString(PyExc_ValueError,
                    "some arrays of the graph lie on a device and others on the host, and nothing is copied "
                    "behind anybody's back: cuda.to_device(a) before, or d.copy_to_host()");
    return false;
}

/* Calls it; with arrays on a device, between what the default stream was given before and what comes. */
static PyObject *run_where(tr_gwalk *w, PyObject *fn) {
    tr_dev *d = w->offload ? tr_device_get(w->st) : NULL;
    if (w->offload && (!d || !tr_far_begin(fn) || !tr_stream_begin(w->st, d)))
        return NULL;
    PyObject *r = PyObject_Vectorcall(fn, w->params.d, w->params.n, NULL);
    if (d)
        d->ops->end(d);
    return r;
}

/* Calls the function of the plan; what it returns, or NULL with an exception. */
static PyObject *call(tr_gwalk *w) {
    tr_py_section section;
    PyObject *fn = function_of(w);
    tr_py_section_begin(&section, w->st->gate);
    bool ok = fn && check_leaves(w);
    tr_py_section_end(&section);
    PyObject *r = ok && lie_together(w) ? run_where(w, fn) : NULL;
    if (!r && fn && is_refused()) { /* its errors are of where the first such graph was written */
        tr_py_section_begin(&section, w->st->gate);
        tr_gwalk_forget(w, fn);
        tr_py_section_end(&section);
    }
    Py_XDECREF(fn);
    return r;
}

/* Does a root have its value? Another thread may have evaluated it since it had none. */
static bool has_come(PyObject *const *roots, Py_ssize_t n) {
    bool has = false;
    for (Py_ssize_t i = 0; i < n; i++)
        has = has || ((tr_lazy *)roots[i])->value;
    return has;
}

/* The walk's graph was refused: is there another way to compile it? Then the walk is one at its beginning,
 * and the exception is gone. Not where a root has its value: a walk is one of nodes that wait. */
static bool begin_again(tr_gwalk *w) {
    if (!is_refused() || (!w->known && (!w->eased || w->fixed)) || has_come(w->roots, w->nroots))
        return false;
    bool raw = w->raw, serial = w->serial, fixed = w->fixed || !w->known;
    PyObject *log = w->log;
    PyErr_Clear();
    tr_gwalk_fini(w);
    tr_gwalk_begin(w, w->l, w->roots, w->nroots);
    w->raw = raw;
    w->serial = serial;
    w->fixed = fixed;
    w->log = log;
    return true;
}

/* The same; in other ways where the first is refused. */
static PyObject *call_or_retry(tr_gwalk *w) {
    PyObject *r = call(w);
    while (!r && begin_again(w))
        r = call(w);
    if (!r)
        tell_places(w);
    return r;
}

static bool run(tr_gwalk *w) {
    tr_py_section section;
    PyObject *r = call_or_retry(w);
    if (!r)
        return false;
    tr_py_section_begin(&section, w->st->gate);
    note_ran(w); /* before references to operands go */
    bool ok = give_values(w, r);
    tr_py_section_end(&section);
    Py_DECREF(r);
    return ok;
}

/* The roots, and those that were computed before and are still wanted: new references, and memory of PyMem.
 * NULL with an exception. */
static PyObject **wanted(tr_gwalk *w, Py_ssize_t *n) {
    PyObject **all = PyMem_Malloc(((size_t)w->nroots + w->nodes.n) * sizeof *all);
    if (!all) {
        PyErr_NoMemory();
        return NULL;
    }
    for (*n = 0; *n < w->nroots; ++*n)
        all[*n] = Py_NewRef(w->roots[*n]);
    for (uint32_t k = 0; k < w->nodes.n; k++) {
        tr_lazy *x = (tr_lazy *)w->nodes.d[k];
        if (x->ran && tr_lazy_has_value(x) && is_held(x) && !is_root(w, x))
            all[(*n)++] = Py_NewRef((PyObject *)x);
    }
    return all;
}

static bool run_with_more(tr_gwalk *w) {
    Py_ssize_t n;
    PyObject **all = wanted(w, &n);
    if (!all)
        return false;
    tr_gwalk next;
    tr_gwalk_begin(&next, w->l, all, n);
    next.serial = w->serial;
    bool ok = run(&next);
    tr_gwalk_fini(&next);
    while (n-- > 0)
        Py_DECREF(all[n]);
    PyMem_Free(all);
    return ok;
}

/* --- what Python computes --- */

/* A call's positional arguments and keywords as Python takes them: values of nodes, and all else as it is. In
 * the gate: *done: another thread has computed it. */
static PyObject *host_args(const tr_lazy *x, bool *done) {
    PyObject *t = PyTuple_New(Py_SIZE(x));
    *done = x->value != NULL;
    for (Py_ssize_t i = 0; t && !*done && i < Py_SIZE(x); i++) {
        PyObject *a = x->args[i];
        if (a && tr_lazy_is(x->l, a))
            a = ((tr_lazy *)a)->value;
        if (a) {
            PyTuple_SET_ITEM(t, i, Py_NewRef(a));
        } else {
            PyErr_SetString(PyExc_RuntimeError, "an operand has no value");
            Py_CLEAR(t);
        }
    }
    return t;
}

/* Numbers of NumPy's are arrays to functions of arrays. */
static bool as_arrays(PyObject *t) {
    bool ok = true;
    for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(t); i++) {
        PyObject *old = PyTuple_GET_ITEM(t, i);
        if (!PyArray_IsScalar(old, Generic))
            continue;
        PyObject *a = PyArray_FromAny(old, NULL, 0, 0, 0, NULL);
        ok = a != NULL;
        if (ok) {
            PyTuple_SET_ITEM(t, i, a);
            Py_DECREF(old);
        }
    }
    return ok;
}

/* An array as it is, anything else as one. */
static PyObject *array_of(PyObject *v) {
    return PyArray_CheckExact(v) ? Py_NewRef(v) : PyArray_FromAny(v, NULL, 0, 0, 0, NULL);
}

static bool kind_of_value(const tr_state *st, PyObject *v, tr_kindof *out) {
    v = tr_device_mem(st, v) ? tr_device_mem(st, v) : v;
    if (PyTuple_CheckExact(v)) {
        *out = (tr_kindof){.known = true, .tuple = true, .n = (uint32_t)PyTuple_GET_SIZE(v)};
        return true;
    }
    PyArrayObject *a = (PyArrayObject *)array_of(v);
    if (!a)
        return false;
    int num = PyArray_TYPE(a);
    *out = (tr_kindof){.known = true,
                       .array = PyArray_NDIM(a) > 0,
                       .dtype = num >= 0 && num < 24 ? tr_value_npy_kind[num] : 255,
                       .ndim = (uint8_t)PyArray_NDIM(a)};
    Py_DECREF(a);
    return true;
}

/* The shape and the dtype that were promised (_lazy_promise) are the value's; else an exception. */
static bool is_as_promised(const tr_lazy *x, PyObject *v) {
    tr_kindof is = {.known = false};
    if ((x->shape || x->kind.n) && PyTuple_CheckExact(v)) {
        PyErr_SetString(PyExc_ValueError,
                        "extension(): one array was promised, and the function gave several");
        return false;
    }
    if (x->kind.n && (!kind_of_value(x->l->st, v, &is) || is.dtype != x->kind.dtype)) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError,
                         "extension(): another dtype was promised than the function gave, %S",
                         PyArray_DESCR((PyArrayObject *)v));
        return false;
    }
    if (!x->shape)
        return true;
    const npy_intp *dims = PyArray_DIMS((PyArrayObject *)v);
    int ndim = PyArray_NDIM((PyArrayObject *)v);
    bool same = PyTuple_GET_SIZE(x->shape) == ndim;
    for (int i = 0; same && i < ndim; i++)
        same = PyLong_AsSsize_t(PyTuple_GET_ITEM(x->shape, i)) == dims[i];
    PyObject *shape = same || PyErr_Occurred() ? NULL : PyArray_IntTupleFromIntp(ndim, dims);
    if (shape)
        PyErr_Format(PyExc_ValueError, "extension(): the shape %R was promised, and the function gave %R",
                     x->shape, shape);
    Py_XDECREF(shape);
    return same;
}

/* Calls the function, and keeps what it gives: an array, or a tuple of such. */
static bool compute_host(tr_lazy *x) {
    tr_py_section section;
    bool done;
    tr_py_section_begin(&section, x->l->st->gate);
    PyObject *fn = Py_XNewRef(x->fn), *kwnames = Py_XNewRef(x->kwnames), *v = NULL;
    PyObject *args = host_args(x, &done);
    tr_py_section_end(&section);
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    PyObject *r = args && !done && fn && as_arrays(args)
                      ? PyObject_Vectorcall(fn, ((PyTupleObject *)args)->ob_item,
                                            (size_t)(PyTuple_GET_SIZE(args) - nkw), kwnames)
                      : NULL;
    if (r && PyTuple_CheckExact(r)) {
        v = PyTuple_New(PyTuple_GET_SIZE(r));
        for (Py_ssize_t i = 0; v && i < PyTuple_GET_SIZE(r); i++) {
            PyObject *a = array_of(PyTuple_GET_ITEM(r, i));
            if (a)
                PyTuple_SET_ITEM(v, i, a);
            else
                Py_CLEAR(v);
        }
    } else if (r) {
        v = array_of(r);
    }
    if (v && !is_as_promised(x, v))
        Py_CLEAR(v);
    if (v) {
        tr_py_section_begin(&section, x->l->st->gate);
        give_value(x, v, x->l->check);
        tr_py_section_end(&section);
    }
    bool ok = v != NULL || (args && done);
    Py_XDECREF(fn);
    Py_XDECREF(kwnames);
    Py_XDECREF(args);
    Py_XDECREF(r);
    Py_XDECREF(v);
    return ok;
}

/* Evaluates what a node takes, in one program. */
static bool evaluate_operands(tr_lazy *x) {
    tr_py_section section;
    PyObject *list = PyList_New(0);
    bool ok = list != NULL;
    tr_py_section_begin(&section, x->l->st->gate);
    for (Py_ssize_t i = 0; ok && i < Py_SIZE(x); i++)
        if (x->args[i] && tr_lazy_is(x->l, x->args[i]) && !((tr_lazy *)x->args[i])->value)
            ok = PyList_Append(list, x->args[i]) == 0;
    tr_py_section_end(&section);
    ok = ok && tr_lazy_evaluate(x->l, ((PyListObject *)list)->ob_item, PyList_GET_SIZE(list), false);
    Py_XDECREF(list);
    return ok;
}

/* Nodes below the roots that Python computes get their values, operands before what uses them: programs know
 * them as arrays. False with an exception. */
static bool settle(tr_lazies *l, PyObject *const *roots, Py_ssize_t n) {
    if (!l->hosts)
        return true;
    tr_gwalk w;
    tr_gwalk_begin(&w, l, roots, n);
    tr_py_section section;
    tr_py_section_begin(&section, w.st->gate);
    bool ok = tr_gwalk_gather(&w);
    tr_py_section_end(&section);
    for (uint32_t k = 0; ok && w.nhost && k < w.nodes.n; k++) {
        tr_lazy *x = (tr_lazy *)w.nodes.d[k];
        if (x->op == TR_G_HOST && !x->value)
            ok = evaluate_operands(x) && compute_host(x);
    }
    tr_gwalk_fini(&w);
    return ok;
}

/* What arrays there would have been is added to an error of memory. */
static void note_largest(PyObject *const *roots, Py_ssize_t n) {
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    PyErr_NormalizeException(&type, &value, &tb);
    PyObject *m = PyImport_ImportModule("treadle.parallel._evaluate"), *list = m ? PyList_New(n) : NULL;
    for (Py_ssize_t i = 0; list && i < n; i++)
        PyList_SET_ITEM(list, i, Py_NewRef(roots[i]));
    PyObject *f = list ? PyObject_GetAttrString(m, "note_largest") : NULL;
    PyObject *r = f && value ? PyObject_CallFunctionObjArgs(f, value, list, NULL) : NULL;
    PyErr_Clear();
    Py_XDECREF(m);
    Py_XDECREF(list);
    Py_XDECREF(f);
    Py_XDECREF(r);
    PyErr_Restore(type, value, tb);
}

bool tr_lazy_evaluate(tr_lazies *l, PyObject *const *roots, Py_ssize_t n, bool serial) {
    Py_ssize_t m = 0;
    for (Py_ssize_t i = 0; i < n; i++)
        m += !((tr_lazy *)roots[i])->value;
    if (m == 0)
        return true;
    PyObject *few[8] = {NULL}, **open = n <= 8 ? few : PyMem_Malloc((size_t)n * sizeof *open);
    if (!open) {
        PyErr_NoMemory();
        return false;
    }
    bool ok = settle(l, roots, n);
    m = 0; /* some may have theirs now */
    for (Py_ssize_t i = 0; i < n; i++)
        if (!((tr_lazy *)roots[i])->value)
            open[m++] = roots[i];
    tr_gwalk w;
    tr_gwalk_begin(&w, l, open, m);
    tr_py_section section;
    w.serial = serial;
    ok = ok && find_result(w.l);
    tr_py_section_begin(&section, w.st->gate);
    ok = ok && (m == 0 || tr_gwalk_gather(&w));
    tr_py_section_end(&section);
    ok = ok && (m == 0 || (w.nran ? run_with_more(&w) : run(&w)));
    tr_gwalk_fini(&w);
    bool again = !ok && has_come(open, m) && is_refused(); /* those that are left may go another way */
    if (open != few)
        PyMem_Free(open);
    if (again) {
        PyErr_Clear();
        return tr_lazy_evaluate(l, roots, n, serial);
    }
    if (!ok && PyErr_ExceptionMatches(PyExc_MemoryError))
        note_largest(roots, n);
    return ok;
}

/* --- accounts --- */

/* What reads nodes after a walk makes objects, which may collect garbage, and what goes then may evaluate
 * just these nodes: not before they are read. Gives, and takes, whether garbage was collected before. */
static int hold_garbage(void) {
    return PyGC_Disable();
}

static void let_garbage_go(int was) {
    if (was)
        PyGC_Enable();
}

/* (file, line, function, what): where a node was written, and what it calls. */
static PyObject *node_text(const tr_lazy *x) {
    PyCodeObject *c = (PyCodeObject *)x->code;
    PyObject *what = NULL, *r;
    if (x->op == TR_G_CALL || x->op == TR_G_CLOSURE)
        what = PyObject_GetAttrString(x->fn, "__name__");
    else if (x->fn)
        what = Py_NewRef(x->fn);
    PyErr_Clear();
    if (!what)
        what = PyUnicode_FromString(x->op == TR_G_ITEM ? "[]" : "");
    if (!what)
        return NULL;
    r = c ? Py_BuildValue("(OiOO)", c->co_filename, PyCode_Addr2Line(c, x->lasti), c->co_name, what)
          : Py_BuildValue("(sisO)", "", 0, "", what);
    Py_DECREF(what);
    return r;
}

PyObject *tr_lazy_explain(tr_lazies *l, PyObject *const *roots, Py_ssize_t n, bool serial, PyObject *log) {
    tr_gwalk w;
    tr_gwalk_begin(&w, l, roots, n);
    tr_py_section section;
    w.log = log;
    w.serial = serial;
    bool ok = settle(l, roots, n) && find_result(w.l);
    int was = hold_garbage();
    tr_py_section_begin(&section, w.st->gate);
    ok = ok && tr_gwalk_gather(&w);
    PyObject *list = ok ? PyList_New(w.nodes.n) : NULL;
    for (uint32_t k = 0; list && k < w.nodes.n; k++) {
        PyObject *t = node_text((tr_lazy *)w.nodes.d[k]);
        if (t)
            PyList_SET_ITEM(list, k, t);
        else
            Py_CLEAR(list);
    }
    tr_py_section_end(&section);
    let_garbage_go(was);
    if (list && !run(&w))
        Py_CLEAR(list);
    tr_gwalk_fini(&w);
    return list;
}

/* --- what is known without the value --- */

static tr_argk *patterns_of(tr_gwalk *w, const tr_function *f, tr_argk *pats) {
    for (uint32_t i = 0; i < w->params.n; i++)
        if (!tr_value_pattern(w->st, w->params.d[i], f->text, tr_function_param(f, i), &pats[i]))
            return NULL;
    return pats;
}

PyObject *tr_lazy_text(tr_lazies *l, PyObject *const *roots, Py_ssize_t n, PyObject *log, tr_stage stage) {
    tr_gwalk w;
    tr_gwalk_begin(&w, l, roots, n);
    w.log = log;
    w.serial = true;
    PyObject *fn = settle(l, roots, n) && find_result(w.l) ? function_of(&w) : NULL, *r = NULL;
    tr_function *f = (tr_function *)fn;
    tr_argk *pats = fn ? PyMem_Calloc(w.params.n + 1u, sizeof *pats) : NULL;
    if (fn && !pats)
        PyErr_NoMemory();
    tr_job *j = pats && patterns_of(&w, f, pats) ? tr_job_new(f, pats, NULL, w.params.n, NULL) : NULL;
    if (j) {
        r = tr_job_text(j, stage);
        tr_job_free(j);
    }
    for (uint32_t i = 0; pats && i < w.params.n; i++)
        tr_argk_clear(&pats[i]);
    PyMem_Free(pats);
    if (!r)
        tell_places(&w);
    Py_XDECREF(fn);
    tr_gwalk_fini(&w);
    return r;
}

static PyObject *part_of(const tr_gwalk *w, const tr_lazy *x) {
    PyObject *args = PyTuple_New(Py_SIZE(x)), *which = PyTuple_New(Py_SIZE(x)), *r = NULL;
    bool ok = args && which;
    for (Py_ssize_t i = 0; ok && i < Py_SIZE(x); i++) {
        tr_lazy *a = tr_lazy_is(w->l, x->args[i]) ? (tr_lazy *)x->args[i] : NULL;
        bool node = a && !a->value;
        PyObject *v = node ? PyLong_FromUnsignedLong(a->at) : Py_NewRef(a ? a->value : x->args[i]);
        ok = v != NULL;
        if (ok)
            PyTuple_SET_ITEM(args, i, v);
        PyTuple_SET_ITEM(which, i, PyBool_FromLong(node));
    }
    if (ok)
        r = Py_BuildValue("(iOIOOOOO)", (int)x->op, x->loose ? Py_True : Py_False, (unsigned)x->cells,
                          x->fn ? x->fn : Py_None, x->kwnames ? x->kwnames : Py_None, args, which,
                          x->tag ? x->tag : Py_None);
    Py_XDECREF(args);
    Py_XDECREF(which);
    return r;
}

PyObject *tr_lazy_parts(tr_lazies *l, PyObject *self) {
    tr_gwalk w;
    tr_gwalk_begin(&w, l, &self, 1);
    tr_py_section section;
    int was = hold_garbage();
    tr_py_section_begin(&section, w.st->gate);
    PyObject *list = tr_gwalk_gather(&w) ? PyList_New(w.nodes.n) : NULL;
    for (uint32_t k = 0; list && k < w.nodes.n; k++) {
        PyObject *row = part_of(&w, (tr_lazy *)w.nodes.d[k]);
        if (row)
            PyList_SET_ITEM(list, k, row);
        else
            Py_CLEAR(list);
    }
    tr_py_section_end(&section);
    let_garbage_go(was);
    tr_gwalk_fini(&w);
    return list;
}

PyObject *tr_lazy_nodes(tr_lazies *l, PyObject *const *roots, Py_ssize_t n) {
    tr_gwalk w;
    tr_gwalk_begin(&w, l, roots, n);
    tr_py_section section;
    int was = hold_garbage();
    tr_py_section_begin(&section, w.st->gate);
    PyObject *list = tr_gwalk_gather(&w) && check_leaves(&w) ? PyList_New(w.nodes.n) : NULL;
    for (uint32_t k = 0; list && k < w.nodes.n; k++) {
        tr_lazy *x = (tr_lazy *)w.nodes.d[k];
        PyObject *args = PyTuple_New(Py_SIZE(x)), *text = node_text(x), *row = NULL;
        for (Py_ssize_t i = 0; args && i < Py_SIZE(x); i++)
            PyTuple_SET_ITEM(args, i, Py_NewRef(x->args[i]));
        if (args && text)
            row = Py_BuildValue("(OiOOOO)", (PyObject *)x, (int)x->op, x->fn ? x->fn : Py_None,
                                x->kwnames ? x->kwnames : Py_None, args, text);
        if (row)
            PyList_SET_ITEM(list, k, row);
        else
            Py_CLEAR(list);
        Py_XDECREF(args);
        Py_XDECREF(text);
    }
    tr_py_section_end(&section);
    let_garbage_go(was);
    tr_gwalk_fini(&w);
    return list;
}

bool tr_lazy_give(PyObject *node, PyObject *value) {
    tr_lazies *l = tr_lazies_of(node);
    tr_gwalk w;
    tr_gwalk_begin(&w, l, &node, 1); /* holds what the node lets go of until the gate is open */
    PyObject *v = PyArray_Check(value) ? PyArray_Return((PyArrayObject *)Py_NewRef(value)) : Py_NewRef(value);
    tr_py_section section;
    tr_py_section_begin(&section, w.st->gate);
    bool ok = v && (((tr_lazy *)node)->value || tr_gwalk_gather(&w));
    if (ok)
        give_value((tr_lazy *)node, v, w.l->check);
    tr_py_section_end(&section);
    tr_gwalk_fini(&w);
    Py_XDECREF(v);
    return ok;
}

PyObject *tr_lazy_params(tr_lazies *l, PyObject *const *roots, Py_ssize_t n) {
    tr_gwalk w;
    tr_gwalk_begin(&w, l, roots, n);
    tr_py_section section;
    tr_py_section_begin(&section, w.st->gate);
    PyObject *list = tr_gwalk_gather(&w) ? PyList_New(w.params.n) : NULL;
    for (uint32_t i = 0; list && i < w.params.n; i++)
        PyList_SET_ITEM(list, i, Py_NewRef(w.params.d[i]));
    tr_py_section_end(&section);
    tr_gwalk_fini(&w);
    return list;
}

/* What a plan gave for the types of these arguments, or is inferred to. */
static bool kind_of_call(tr_gwalk *w, tr_function *f, tr_kindof *out) {
    uint32_t n = w->params.n;
    tr_pkind *k = PyMem_Calloc(1, sizeof *k + (n + 1) * sizeof *k->pats);
    bool ok = k != NULL;
    if (!ok)
        PyErr_NoMemory();
    ok = ok && patterns_of(w, f, k->pats);
    tr_py_section section;
    tr_py_section_begin(&section, w->st->gate);
    const tr_pkind *known = ok ? f->plan->kinds : NULL;
    for (; known; known = known->next) {
        bool same = true;
        for (uint32_t i = 0; same && i < n; i++)
            same = tr_argk_equal(&known->pats[i], &k->pats[i]);
        if (same)
            break;
    }
    if (known)
        *out = known->kind;
    tr_py_section_end(&section);
    bool fresh = ok && !known;
    if (fresh) {
        ok = tr_spec_result(f, k->pats, out);
        if (ok) {
            tr_py_section_begin(&section, w->st->gate);
            k->kind = *out;
            k->next = f->plan->kinds;
            f->plan->kinds = k;
            tr_py_section_end(&section);
            return true;
        }
    }
    for (uint32_t i = 0; k && i < n; i++)
        tr_argk_clear(&k->pats[i]);
    PyMem_Free(k);
    return ok;
}

/* Of the walk's graph; a plan that is refused is forgotten, as its errors are of where it was written. */
static bool kind_of_walk(tr_gwalk *w, tr_kindof *out) {
    tr_py_section section;
    PyObject *fn = function_of(w);
    bool ok = fn && kind_of_call(w, (tr_function *)fn, out);
    if (!ok && fn && is_refused()) {
        tr_py_section_begin(&section, w->st->gate);
        tr_gwalk_forget(w, fn);
        tr_py_section_end(&section);
    }
    Py_XDECREF(fn);
    return ok;
}

const tr_kindof *tr_lazy_kind(PyObject *self) {
    tr_lazy *x = (tr_lazy *)self;
    if (x->kind.known)
        return &x->kind;
    tr_kindof kind = {.known = false};
    if (!settle(tr_lazies_of(self), &self, 1))
        return NULL;
    if (x->value) {
        if (!kind_of_value(x->l->st, x->value, &kind))
            return NULL;
    } else {
        tr_gwalk w;
        tr_gwalk_begin(&w, tr_lazies_of(self), &self, 1);
        w.raw = true;
        w.serial = true;
        bool ok = kind_of_walk(&w, &kind);
        while (!ok && begin_again(&w))
            ok = kind_of_walk(&w, &kind);
        if (!ok)
            tell_places(&w);
        tr_gwalk_fini(&w);
        if (!ok && x->value && is_refused()) { /* it has come meanwhile, and says it */
            PyErr_Clear();
            ok = kind_of_value(x->l->st, x->value, &kind);
        }
        if (!ok)
            return NULL;
    }
    x->kind = kind;
    return &x->kind;
}

static PyObject *shape_of_array(PyArrayObject *a) {
    return PyArray_IntTupleFromIntp(PyArray_NDIM(a), PyArray_DIMS(a));
}

PyObject *tr_lazy_shape(PyObject *self) {
    tr_lazy *x = (tr_lazy *)self;
    if (!x->value && !x->shape && !settle(tr_lazies_of(self), &self, 1))
        return NULL;
    PyObject *of = x->value ? x->value : x->shape;
    if (of && PyTuple_CheckExact(of) && !x->value)
        return Py_NewRef(of);
    if (of && PyArray_Check(of))
        return shape_of_array((PyArrayObject *)of);
    if (of)
        return PyObject_GetAttrString(of, "shape");
    PyObject *fn = tr_lazies_of(self)->fns[TR_LAZY_SHAPE];
    PyObject *node = tr_lazy_node(tr_lazies_of(self), TR_G_CALL, fn, &self, 1, NULL), *t = NULL;
    if (!node)
        return NULL;
    tr_gwalk w;
    tr_gwalk_begin(&w, tr_lazies_of(self), &node, 1);
    w.raw = true;
    t = call_or_retry(&w);
    tr_gwalk_fini(&w);
    Py_DECREF(node);
    return t; /* it is not kept: operands may hold something else when the value is asked for */
}

uint32_t tr_lazy_count(PyObject *self) {
    tr_gwalk w;
    tr_gwalk_begin(&w, tr_lazies_of(self), &self, 1);
    tr_py_section section;
    tr_py_section_begin(&section, w.st->gate);
    uint32_t n = tr_gwalk_gather(&w) ? w.nodes.n : UINT32_MAX;
    tr_py_section_end(&section);
    tr_gwalk_fini(&w);
    return n;
}
