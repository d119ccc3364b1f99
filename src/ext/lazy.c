/* class LazyArray: building nodes by operators, methods and NumPy's protocols; and what asks for values.
 * See lazy.h. Long, as operators, methods and protocols are a few lines each, which share how nodes are made.
 *
 * Cost: an object per node, some 50 ns with its operator; through NumPy's protocols 0.3 us. */
#include "ext/lazy.h"

#include <assert.h>
#include <string.h>

#include "ext/compat.h"
#include "ext/pyerr.h"

/* ndarray's methods that make nodes; all others ask for the value, but those that change it. */
#define TR_LAZY_METHODS(X) \
    X(sum)                 \
    X(prod)                \
    X(min)                 \
    X(max)                 \
    X(mean)                \
    X(std)                 \
    X(var)                 \
    X(any)                 \
    X(all)                 \
    X(argmin)              \
    X(argmax)              \
    X(cumsum)              \
    X(cumprod)             \
    X(dot)                 \
    X(reshape)             \
    X(ravel)               \
    X(flatten)             \
    X(transpose)           \
    X(swapaxes)            \
    X(squeeze)             \
    X(astype)              \
    X(round)               \
    X(clip)                \
    X(take)                \
    X(repeat)              \
    X(nonzero)             \
    X(copy)                \
    X(conj)                \
    X(conjugate)           \
    X(diagonal)            \
    X(trace)               \
    X(argsort)             \
    X(searchsorted)        \
    X(compress)
#define TR_LAZY_ATTRS(X) X(T) X(mT) X(real) X(imag)
/* Those that change an array, and what to write in their place. */
#define TR_LAZY_CHANGES(X)                    \
    X("sort", "numpy.sort(x)")                \
    X("partition", "numpy.partition(x, kth)") \
    X("fill", "treadle.parallel.full(...)")   \
    X("put", "x.at[i].set(v)")                \
    X("itemset", "x.at[i].set(v)")            \
    X("resize", "numpy.resize(x, shape)")     \
    X("setfield", "x.at[i].set(v)")           \
    X("setflags", "numpy.asarray(x)")         \
    X("byteswap", "numpy.asarray(x).byteswap()")

/* The name of a node's method or attribute, as l->methods has it. */
typedef enum method_name {
#define X(name) METHOD_##name,
    TR_LAZY_METHODS(X) TR_LAZY_ATTRS(X)
#undef X
        METHOD__COUNT
} method_name;
static const char *const method_names[] = {
#define X(name) #name,
    TR_LAZY_METHODS(X) TR_LAZY_ATTRS(X)
#undef X
};

static const char *const fn_names[] = {
#define X(slot, id, name) name,
    TR_LAZY_BINARY(X) TR_LAZY_UNARY(X)
#undef X
#define X(id, name) name,
        TR_LAZY_COMPARE(X) TR_LAZY_OTHER(X)
#undef X
};

static void lazy_dealloc(PyObject *self);
static bool is_lazy(PyObject *o) {
    return Py_TYPE(o)->tp_dealloc == lazy_dealloc;
}

/* --- nodes --- */

static bool list_waiting(const tr_lazy *x, PyObject *list) {
    bool ok = true;
    for (Py_ssize_t i = 0; ok && i < Py_SIZE(x); i++) {
        tr_lazy *a = is_lazy(x->args[i]) ? (tr_lazy *)x->args[i] : NULL;
        if (a && !a->value)
            ok = tr_lazy_has_value(a) ? PyList_Append(list, x->args[i]) == 0 : list_waiting(a, list);
    }
    return ok;
}

/* Operands of a graph that has grown too large are evaluated, which is told of. */
static bool bound(tr_lazies *l, tr_lazy *x) {
    uint32_t n = tr_lazy_count((PyObject *)x);
    if (n < TR_LAZY_BOUND) {
        x->below = (uint16_t)n;
        return n > 0;
    }
    PyObject *list = PyList_New(0), *cls = tr_pyerr_class("PerformanceWarning");
    bool ok =
        list && cls && list_waiting(x, list) &&
        tr_lazy_evaluate(l, ((PyListObject *)list)->ob_item, PyList_GET_SIZE(list), false) &&
        PyErr_WarnFormat(cls, 1,
                         "%d operations on lazy arrays wait here, and are evaluated now: a loop that goes "
                         "on from its own results is faster with .evaluate() in each turn",
                         TR_LAZY_BOUND) == 0;
    x->below = 1;
    Py_XDECREF(list);
    Py_XDECREF(cls);
    return ok;
}

static PyObject *node_new(tr_lazies *l, tr_gop op, PyObject *fn, PyObject *const *args, Py_ssize_t n,
                          PyObject *kwnames) {
    PyObject *x = tr_lazy_node(l, op, fn, args, n, kwnames);
    if (x && ((tr_lazy *)x)->below >= TR_LAZY_BOUND && !bound(l, (tr_lazy *)x))
        Py_CLEAR(x);
    return x;
}

PyObject *tr_lazy_leaf(tr_lazies *l, PyObject *value) {
    tr_lazy *x = tr_lazy_new(l, 0);
    if (!x)
        return NULL;
    x->value = Py_NewRef(value);
    x->leaf = true;
    if (l->check) {
        tr_lazy_note_place(x);
        x->sum = tr_lazy_sum(value);
    }
    PyObject_GC_Track((PyObject *)x);
    return (PyObject *)x;
}

static bool is_number(PyObject *o) {
    return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyComplex_CheckExact(o) || PyBool_Check(o);
}

static bool lies_on_device(tr_lazies *l, PyObject *o) {
    return tr_device_mem(l->st, o) != NULL;
}

static bool is_operand(tr_lazies *l, PyObject *o) {
    return tr_lazy_is(l, o) || PyArray_Check(o) || lies_on_device(l, o) || is_number(o) ||
           PyArray_IsScalar(o, Generic);
}

/* What is no plain operand. */
static PyObject *other_operand(tr_lazies *l, PyObject *o) {
    if (PyList_Check(o) || PyTuple_Check(o))
        return PyArray_FromAny(o, NULL, 0, 0, 0, NULL);
    if (!is_operand(l, o))
        return NULL;
    return (PyArray_Check(o) && l->check) || lies_on_device(l, o) ? tr_lazy_leaf(l, o) : Py_NewRef(o);
}

/* What an operator takes as it stands, or made an array of; NULL without an exception: nothing for us. Under
 * checks arrays are leaves of their own, that their changes be seen. A new reference. */
static inline PyObject *operand(tr_lazies *l, PyObject *o) {
    bool plain = tr_lazy_is(l, o) || PyFloat_CheckExact(o) || PyLong_CheckExact(o) ||
                 (PyArray_CheckExact(o) && !l->check);
    return plain ? Py_NewRef(o) : other_operand(l, o);
}

/* --- shapes that are known where the node is made --- */

typedef struct dims {
    int n;
    npy_intp d[NPY_MAXDIMS];
} dims;

/* What says the shape of an operand: an array, a tuple, or Py_None for a number. NULL: nobody knows.
 * Borrowed. */
static inline PyObject *shape_source(PyObject *o) {
    if (is_lazy(o))
        o = ((tr_lazy *)o)->value ? tr_lazy_memory((tr_lazy *)o) : ((tr_lazy *)o)->shape;
    if (!o || PyArray_Check(o) || PyTuple_Check(o))
        return o;
    return is_number(o) || PyArray_IsScalar(o, Generic) ? Py_None : NULL; /* a device array, say */
}

static void read_dims(PyObject *source, dims *out) {
    out->n = 0;
    if (PyArray_Check(source)) {
        out->n = PyArray_NDIM((PyArrayObject *)source);
        for (int i = 0; i < out->n; i++)
            out->d[i] = PyArray_DIM((PyArrayObject *)source, i);
    } else if (PyTuple_Check(source)) {
        out->n = (int)PyTuple_GET_SIZE(source);
        for (int i = 0; i < out->n; i++)
            out->d[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(source, i));
    }
}

static bool same_dims(const dims *a, const dims *b) {
    return a->n == b->n && memcmp(a->d, b->d, (size_t)a->n * sizeof *a->d) == 0;
}

static bool are_arrays_of_one_shape(PyObject *a, PyObject *b) {
    if (!PyArray_Check(a) || !PyArray_Check(b))
        return false;
    PyArrayObject *x = (PyArrayObject *)a, *y = (PyArrayObject *)b;
    return PyArray_NDIM(x) == PyArray_NDIM(y) &&
           PyArray_CompareLists(PyArray_DIMS(x), PyArray_DIMS(y), PyArray_NDIM(x));
}

static PyObject *disagree(const dims *a, const dims *b) {
    PyObject *x = PyArray_IntTupleFromIntp(a->n, a->d), *y = PyArray_IntTupleFromIntp(b->n, b->d);
    if (x && y)
        PyErr_Format(PyExc_ValueError, "operands could not be broadcast together with shapes %S %S", x, y);
    Py_XDECREF(x);
    Py_XDECREF(y);
    return NULL;
}

/* What says the shape of both together; *ok: false with an exception. A new reference, or NULL. */
static PyObject *shape_together(PyObject *sa, PyObject *sb, bool *ok) {
    dims a, b, r;
    if (!sa || !sb)
        return NULL;
    if (sa == sb || sb == Py_None || are_arrays_of_one_shape(sa, sb))
        return Py_NewRef(sa);
    if (sa == Py_None)
        return Py_NewRef(sb);
    read_dims(sa, &a);
    read_dims(sb, &b);
    r.n = a.n > b.n ? a.n : b.n;
    for (int i = 0; i < r.n; i++) { /* from the last axis on */
        npy_intp x = i < a.n ? a.d[a.n - 1 - i] : 1, y = i < b.n ? b.d[b.n - 1 - i] : 1;
        if (x != y && x != 1 && y != 1) {
            *ok = false;
            return disagree(&a, &b);
        }
        r.d[r.n - 1 - i] = x == 1 ? y : x;
    }
    if (same_dims(&r, &a))
        return Py_NewRef(sa);
    if (same_dims(&r, &b))
        return Py_NewRef(sb);
    PyObject *t = PyArray_IntTupleFromIntp(r.n, r.d);
    *ok = t != NULL;
    return t;
}

/* --- values --- */

/* The value of an evaluated node; borrowed. */
static PyObject *value_of(PyObject *self) {
    if (((tr_lazy *)self)->value)
        return ((tr_lazy *)self)->value;
    return tr_lazy_evaluate(tr_lazies_of(self), &self, 1, false) ? ((tr_lazy *)self)->value : NULL;
}

/* The value as an array; a leaf's is the user's own. */
static PyObject *memory_of(PyObject *self) {
    PyObject *v = value_of(self);
    if (v && PyArray_CheckExact(v))
        return Py_NewRef(v);
    return v ? PyArray_FromAny(v, NULL, 0, 0, 0, NULL) : NULL;
}

static PyObject *read_only(PyObject *a) {
    PyObject *v = a ? PyArray_View((PyArrayObject *)a, NULL, NULL) : NULL;
    if (v)
        PyArray_CLEARFLAGS((PyArrayObject *)v, NPY_ARRAY_WRITEABLE);
    Py_XDECREF(a);
    return v;
}

/* The same for whoever may keep it: what was computed is not written to. */
static PyObject *array_of(PyObject *self) {
    PyObject *a = memory_of(self);
    return ((tr_lazy *)self)->leaf ? a : read_only(a);
}

/* --- operators --- */

/* A call of a ufunc with one result per item. */
static PyObject *elementwise(tr_lazies *l, PyObject *ufunc, PyObject *const *args, Py_ssize_t n) {
    bool ok = true;
    PyObject *shape = n ? Py_XNewRef(shape_source(args[0])) : NULL;
    for (Py_ssize_t i = 1; ok && i < n; i++)
        Py_XSETREF(shape, shape_together(shape, shape_source(args[i]), &ok));
    PyObject *r = ok ? node_new(l, TR_G_CALL, ufunc, args, n, NULL) : NULL;
    if (r) {
        ((tr_lazy *)r)->loose = true;
        if (shape != Py_None) {
            ((tr_lazy *)r)->shape = shape;
            return r;
        }
    }
    Py_XDECREF(shape);
    return r;
}

/* Which of several results it is, is part of the structure: they may have types of their own. */
PyObject *tr_lazy_items(PyObject *node, Py_ssize_t n) {
    PyObject *t = PyTuple_New(n);
    for (Py_ssize_t i = 0; t && i < n; i++) {
        PyObject *at = PyLong_FromSsize_t(i), *args[2] = {node, at}, *item = NULL;
        if (at)
            item = node_new(tr_lazies_of(node), TR_G_ITEM, NULL, args, 2, NULL);
        Py_XDECREF(at);
        if (item)
            PyTuple_SET_ITEM(t, i, item);
        else
            Py_CLEAR(t);
    }
    return t;
}

static PyObject *binary(tr_lazyfn f, PyObject *a, PyObject *b) {
    tr_lazies *l = tr_lazies_of(is_lazy(a) ? a : b);
    PyObject *x = operand(l, a), *y = x ? operand(l, b) : NULL, *args[2] = {x, y}, *r = NULL;
    PyObject *ufunc = l->fns[f];
    if (!x || !y) {
        r = PyErr_Occurred() ? NULL : Py_NewRef(Py_NotImplemented);
    } else if (f == TR_LAZY_MATMUL || f == TR_LAZY_DIVMOD) {
        r = node_new(l, TR_G_CALL, ufunc, args, 2, NULL);
        if (r) {
            ((tr_lazy *)r)->loose = true;
            if (f == TR_LAZY_DIVMOD)
                Py_SETREF(r, tr_lazy_items(r, 2));
        }
    } else {
        r = elementwise(l, ufunc, args, 2);
    }
    Py_XDECREF(x);
    Py_XDECREF(y);
    return r;
}

#define X(slot, id, name)                                    \
    static PyObject *lazy_##slot(PyObject *a, PyObject *b) { \
        return binary(TR_LAZY_##id, a, b);                   \
    }
TR_LAZY_BINARY(X)
#undef X
#define X(slot, id, name)                                                               \
    static PyObject *lazy_##slot(PyObject *a) {                                         \
        return elementwise(tr_lazies_of(a), tr_lazies_of(a)->fns[TR_LAZY_##id], &a, 1); \
    }
TR_LAZY_UNARY(X)
#undef X

static PyObject *lazy_power(PyObject *a, PyObject *b, PyObject *mod) {
    if (mod != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    return binary(TR_LAZY_POWER, a, b);
}

/* What is no operand is compared with the value, item by item, as NumPy does. */
static PyObject *lazy_compare(PyObject *a, PyObject *b, int op) {
    PyObject *r = binary((tr_lazyfn)(TR_LAZY_LT + op), a, b);
    if (r != Py_NotImplemented)
        return r;
    PyObject *v = array_of(a);
    Py_SETREF(r, v ? PyObject_RichCompare(v, b, op) : NULL);
    Py_XDECREF(v);
    return r;
}

/* --- indices --- */

/* The functions whose captured values are being looked at. */
typedef struct within {
    PyObject *fn;
    const struct within *up;
} within;
typedef PyObject *(*part_fn)(tr_lazies *l, PyObject *o, bool loose, const within *up);

/* A node of a tuple's items, each made an operand by `part`. */
static PyObject *tuple_node(tr_lazies *l, PyObject *t, bool loose, part_fn part, const within *up) {
    Py_ssize_t n = PyTuple_GET_SIZE(t);
    PyObject *parts = PyTuple_New(n), *r = NULL;
    for (Py_ssize_t k = 0; parts && k < n; k++) {
        PyObject *x = part(l, PyTuple_GET_ITEM(t, k), loose, up);
        if (x)
            PyTuple_SET_ITEM(parts, k, x);
        else
            Py_CLEAR(parts);
    }
    if (parts)
        r = node_new(l, TR_G_TUPLE, NULL, ((PyTupleObject *)parts)->ob_item, n, NULL);
    if (r)
        ((tr_lazy *)r)->loose = loose;
    Py_XDECREF(parts);
    return r;
}

/* A part of an index: a slice becomes a node of its own parts, a list an array. */
static PyObject *index_part(tr_lazies *l, PyObject *i, bool loose, const within *up) {
    (void)loose; /* its integers always are */
    (void)up;
    if (PySlice_Check(i)) {
        PySliceObject *s = (PySliceObject *)i;
        PyObject *r = node_new(l, TR_G_SLICE, NULL, (PyObject *[]){s->start, s->stop, s->step}, 3, NULL);
        if (r)
            ((tr_lazy *)r)->loose = true;
        return r;
    }
    if (PyList_Check(i) || (PyArray_Check(i) && l->check))
        return operand(l, i);
    return Py_NewRef(i);
}

static PyObject *lazy_item(PyObject *a, PyObject *i) {
    tr_lazies *l = tr_lazies_of(a);
    PyObject *part =
                 PyTuple_Check(i) ? tuple_node(l, i, true, index_part, NULL) : index_part(l, i, true, NULL),
             *args[2] = {a, part};
    PyObject *r = part ? node_new(l, TR_G_ITEM, NULL, args, 2, NULL) : NULL;
    if (r)
        ((tr_lazy *)r)->loose = true;
    Py_XDECREF(part);
    return r;
}

static int lazy_set_item(PyObject *a, PyObject *i, PyObject *v) {
    (void)a;
    (void)i;
    PyErr_SetString(PyExc_TypeError,
                    v ? "lazy arrays are not changed: x = x.at[i].set(v) makes one that differs"
                      : "items of arrays cannot be deleted");
    return -1;
}

/* --- calls --- */

/* What a function captures is an operand where it is a number or an array, or holds such; else it is part of
 * the structure: a function, a module, a string. */
static bool is_captured_operand(tr_lazies *l, PyObject *v) {
    bool is = (is_operand(l, v) && !PyBool_Check(v)) || PySlice_Check(v);
    for (Py_ssize_t i = 0; PyTuple_CheckExact(v) && !is && i < PyTuple_GET_SIZE(v); i++)
        is = is_captured_operand(l, PyTuple_GET_ITEM(v, i));
    return is;
}

static PyObject *captured(tr_lazies *l, PyObject *o, bool loose, const within *up);

static bool is_within(const within *up, const PyObject *fn) {
    while (up && up->fn != fn)
        up = up->up;
    return up != NULL;
}

static bool holds_arrays(tr_lazies *l, PyObject *list) {
    bool is = false;
    for (Py_ssize_t i = 0; !is && i < PyList_GET_SIZE(list); i++)
        is = tr_lazy_is(l, PyList_GET_ITEM(list, i)) || PyArray_Check(PyList_GET_ITEM(list, i));
    return is;
}

/* A function of the user's: those of NumPy and of ours compiled code knows by what they are. */
static bool is_users(PyObject *o) {
    PyObject *module = PyFunction_Check(o) ? PyFunction_GetModule(o) : NULL;
    const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : "";
    if (!name)
        PyErr_Clear();
    return PyFunction_Check(o) && name && strncmp(name, "numpy", 5) != 0 && strncmp(name, "treadle", 7) != 0;
}

/* A function as a node of its defaults and of what it captures that are operands: one that is made anew
 * compiles nothing. */
static PyObject *closure_node(tr_lazies *l, PyObject *o, const within *up) {
    const within here = {o, up};
    PyObject *cells = PyFunction_GetClosure(o), *defaults = PyFunction_GetDefaults(o);
    PyObject *args[TR_LAZY_CELLS + 1], *r = NULL;
    Py_ssize_t n = cells ? PyTuple_GET_SIZE(cells) : 0, k = 0;
    uint32_t which = 0;
    if (n > TR_LAZY_CELLS)
        return PyErr_Format(PyExc_TypeError, "%U() captures %zd variables; in a graph %d are the most",
                            ((PyFunctionObject *)o)->func_name, n, TR_LAZY_CELLS);
    bool ok =
        (args[0] = defaults ? tuple_node(l, defaults, true, captured, &here) : Py_NewRef(Py_None)) != NULL;
    k += ok;
    for (Py_ssize_t i = 0; ok && i < n && i < TR_LAZY_CELLS; i++) {
        PyObject *v = PyCell_Get(PyTuple_GET_ITEM(cells, i));
        PyObject *x = v && !is_within(&here, v) ? captured(l, v, true, &here) : NULL;
        ok = x || !PyErr_Occurred();
        if (x && (tr_lazy_is(l, x) || is_captured_operand(l, x))) {
            args[k++] = Py_NewRef(x);
            which |= 1u << i;
        }
        Py_XDECREF(x);
        Py_XDECREF(v);
    }
    if (ok)
        r = node_new(l, TR_G_CLOSURE, o, args, k, NULL);
    if (r) {
        ((tr_lazy *)r)->cells = which;
        ((tr_lazy *)r)->loose = true;
    }
    while (k-- > 0)
        Py_XDECREF(args[k]);
    return r;
}

/* An argument as an operand: another closure of a function's code compiles nothing. A new reference. */
static PyObject *captured(tr_lazies *l, PyObject *o, bool loose, const within *up) {
    if (is_users(o)) /* one that comes to itself again is what it is */
        return is_within(up, o) ? Py_NewRef(o) : closure_node(l, o, up);
    if (PyTuple_CheckExact(o) && is_captured_operand(l, o))
        return tuple_node(l, o, loose, captured, up);
    if (PyList_CheckExact(o) && holds_arrays(l, o)) { /* lists in it are arrays, as NumPy has it */
        PyObject *t = PyList_AsTuple(o), *r = NULL;
        bool ok = t != NULL;
        for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(t); i++)
            if (PyList_Check(PyTuple_GET_ITEM(t, i))) {
                PyObject *a = operand(l, PyTuple_GET_ITEM(t, i)), *old = PyTuple_GET_ITEM(t, i);
                ok = a != NULL;
                if (ok) {
                    PyTuple_SET_ITEM(t, i, a);
                    Py_DECREF(old);
                }
            }
        if (ok)
            r = tuple_node(l, t, loose, captured, up);
        Py_XDECREF(t);
        return r;
    }
    if (PySlice_Check(o))
        return index_part(l, o, true, NULL);
    return PyList_Check(o) || PyArray_Check(o) ? operand(l, o) : Py_NewRef(o);
}

/* numpy.copyto(out, v, where=where); a new reference to out. */
static PyObject *store(PyObject *out, PyObject *v, PyObject *where) {
    if (!where)
        return PyArray_CopyInto((PyArrayObject *)out, (PyArrayObject *)v) == 0 ? Py_NewRef(out) : NULL;
    PyObject *np = PyImport_ImportModule("numpy"), *f = np ? PyObject_GetAttrString(np, "copyto") : NULL;
    PyObject *mask = f ? PyArray_FromAny(where, NULL, 0, 0, 0, NULL) : NULL;
    PyObject *args = mask ? PyTuple_Pack(2, out, v) : NULL, *kw = args ? PyDict_New() : NULL, *done = NULL;
    if (kw && PyDict_SetItemString(kw, "where", mask) == 0)
        done = PyObject_Call(f, args, kw);
    Py_XDECREF(np);
    Py_XDECREF(f);
    Py_XDECREF(mask);
    Py_XDECREF(args);
    Py_XDECREF(kw);
    Py_XDECREF(done);
    return done ? Py_NewRef(out) : NULL;
}

/* What results are stored in asks for them. */
static PyObject *into(PyObject *node, PyObject *out, PyObject *where) {
    if (PyTuple_Check(out) && PyTuple_GET_SIZE(out) == 1)
        out = PyTuple_GET_ITEM(out, 0);
    PyObject *r = NULL;
    if (!PyArray_Check(out))
        PyErr_Format(PyExc_TypeError, "out= must be an array, not %s: lazy arrays are not written to",
                     Py_TYPE(out)->tp_name);
    else if (tr_lazy_evaluate(tr_lazies_of(node), &node, 1, false)) {
        PyObject *v = PyArray_FromAny(((tr_lazy *)node)->value, NULL, 0, 0, 0, NULL);
        if (v && PyArray_CanCastTypeTo(PyArray_DESCR((PyArrayObject *)v), PyArray_DESCR((PyArrayObject *)out),
                                       NPY_SAME_KIND_CASTING))
            r = store(out, v, where);
        else if (v)
            PyErr_Format(PyExc_TypeError, "a result of %S cannot be stored in out=, an array of %S",
                         PyArray_DESCR((PyArrayObject *)v), PyArray_DESCR((PyArrayObject *)out));
        Py_XDECREF(v);
    }
    return r;
}

/* Of keywords: where results go, and which of them. These are no operands. */
static bool says_where(PyObject *name, bool into_out) {
    if (PyUnicode_GET_LENGTH(name) != 3 && PyUnicode_GET_LENGTH(name) != 5)
        return false;
    return PyUnicode_CompareWithASCIIString(name, "out") == 0 ||
           (into_out && PyUnicode_CompareWithASCIIString(name, "where") == 0);
}

static bool has_out(PyObject *kwnames, PyObject *const *values) {
    bool has = false;
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
        has = has || (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "out") == 0 &&
                      values[i] != Py_None);
    return has;
}

/* A node of n arguments and of as many more as there are names; `out` among these asks for the value. */
PyObject *tr_lazy_call(tr_lazies *l, tr_gop op, PyObject *fn, PyObject *const *args, Py_ssize_t n,
                       PyObject *kwnames) {
    Py_ssize_t all = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0), k = 0, names = 0;
    bool loose = op == TR_G_CALL && PyObject_TypeCheck(fn, &PyUFunc_Type);
    bool to_out = loose && has_out(kwnames, args + n);
    PyObject *few[16], **a = all <= 16 ? few : PyMem_Malloc((size_t)all * sizeof *a), *out = NULL,
                       *where = NULL, *kw = NULL, *r = NULL;
    bool ok = a != NULL;
    if (!ok)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; ok && i < all; i++) {
        PyObject *name = i < n ? NULL : PyTuple_GET_ITEM(kwnames, i - n);
        if (name && says_where(name, to_out)) {
            bool is_out = PyUnicode_CompareWithASCIIString(name, "out") == 0;
            *(is_out ? &out : &where) = args[i] == Py_None ? NULL : args[i];
            continue;
        }
        ok = (a[k] = captured(l, args[i], loose, NULL)) != NULL;
        k += ok;
        names += name != NULL;
    }
    if (ok && names && n + names == all) {
        kw = Py_NewRef(kwnames);
    } else if (ok && names) {
        kw = PyTuple_New(names);
        ok = kw != NULL;
        for (Py_ssize_t i = n, m = 0; ok && i < all; i++)
            if (!says_where(PyTuple_GET_ITEM(kwnames, i - n), to_out))
                PyTuple_SET_ITEM(kw, m++, Py_NewRef(PyTuple_GET_ITEM(kwnames, i - n)));
    }
    if (ok && loose && !kw && ((PyUFuncObject *)fn)->nout == 1 && ((PyUFuncObject *)fn)->core_enabled == 0)
        r = elementwise(l, fn, a, k);
    else if (ok)
        r = node_new(l, op, fn, a, k, kw);
    if (r)
        ((tr_lazy *)r)->loose = loose;
    if (r && out)
        Py_SETREF(r, into(r, out, where));
    while (k-- > 0)
        Py_DECREF(a[k]);
    Py_XDECREF(kw);
    if (a != few)
        PyMem_Free(a);
    return r;
}

/* A method of an object's: the object, then the arguments. */
static PyObject *method(tr_lazies *l, PyObject *name, PyObject *self, PyObject *const *args, Py_ssize_t n,
                        PyObject *kwnames) {
    size_t all = (size_t)n + (kwnames ? (size_t)PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *few[16], **a = all < 16 ? few : PyMem_Malloc((all + 1) * sizeof *a);
    if (!a)
        return PyErr_NoMemory();
    a[0] = self;
    for (size_t i = 0; i < all; i++)
        a[i + 1] = args[i];
    PyObject *r = tr_lazy_call(l, TR_G_METHOD, name, a, n + 1, kwnames);
    if (a != few)
        PyMem_Free(a);
    return r;
}

#define X(name)                                                                                            \
    static PyObject *lazy_##name(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) { \
        tr_lazies *l = tr_lazies_of(self);                                                                 \
        return method(l, l->methods[METHOD_##name], self, args, n, kwnames);                               \
    }
TR_LAZY_METHODS(X)
#undef X

PyObject *tr_lazy_like(PyObject *node, PyObject *const *args, Py_ssize_t n) {
    tr_lazy *of = (tr_lazy *)node, *x;
    tr_lazies *l = tr_lazies_of(node);
    PyObject *own = PyTuple_New(n), *r = NULL;
    for (Py_ssize_t i = 0; own && i < n; i++) {
        PyObject *a = args[i];
        if (of->op != TR_G_ITEM || i == 0)
            a = captured(l, a, of->loose, NULL);
        else
            a = PyTuple_Check(a) ? tuple_node(l, a, true, index_part, NULL) : index_part(l, a, true, NULL);
        if (a)
            PyTuple_SET_ITEM(own, i, a);
        else
            Py_CLEAR(own);
    }
    if (own)
        r = tr_lazy_node(l, (tr_gop)of->op, of->fn, ((PyTupleObject *)own)->ob_item, n, of->kwnames);
    if ((x = (tr_lazy *)r)) {
        x->loose = of->loose;
        x->cells = of->cells;
        x->lasti = of->lasti;
        Py_XSETREF(x->code, Py_XNewRef(of->code));
        Py_XSETREF(x->tag, Py_XNewRef(of->tag));
    }
    Py_XDECREF(own);
    return r;
}

/* --- NumPy's protocols --- */

/* __array_ufunc__(ufunc, method, *inputs, **kwargs) */
static PyObject *lazy_ufunc(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    const char *how = n >= 2 && PyUnicode_Check(args[1]) ? PyUnicode_AsUTF8(args[1]) : NULL;
    tr_lazies *l = tr_lazies_of(self);
    if (!how)
        return PyErr_Format(PyExc_TypeError, "__array_ufunc__() takes a ufunc and a method's name");
    if (strcmp(how, "at") == 0)
        return PyErr_Format(PyExc_TypeError, "lazy arrays are not changed: x = x.at[i].add(v) makes one that "
                                             "differs");
    if (strcmp(how, "__call__") != 0) {
        PyObject *name = PyUnicode_InternFromString(how);
        PyObject *r = name ? method(l, name, args[0], args + 2, n - 2, kwnames) : NULL;
        Py_XDECREF(name);
        return r;
    }
    PyObject *r = tr_lazy_call(l, TR_G_CALL, args[0], args + 2, n - 2, kwnames);
    int nout = PyObject_TypeCheck(args[0], &PyUFunc_Type) ? ((PyUFuncObject *)args[0])->nout : 1;
    if (r && nout > 1 && is_lazy(r))
        Py_SETREF(r, tr_lazy_items(r, nout));
    return r;
}

/* What NumPy's functions say of a shape they say at once. NULL without an exception: it is another
 * function. */
static PyObject *shape_function(PyObject *self, PyObject *fn, PyObject *args) {
    if (fn != tr_lazies_of(self)->fns[TR_LAZY_SHAPE] || PyTuple_GET_SIZE(args) != 1 ||
        !is_lazy(PyTuple_GET_ITEM(args, 0)))
        return NULL;
    return tr_lazy_shape(PyTuple_GET_ITEM(args, 0));
}

/* Lazy arrays in a value, also in tuples and lists, as the arrays that they are. A new reference. */
static PyObject *with_values(PyObject *o, int deep) {
    if (is_lazy(o))
        return array_of(o);
    if ((!PyTuple_CheckExact(o) && !PyList_CheckExact(o)) || deep == 0)
        return Py_NewRef(o);
    PyObject *l = PySequence_List(o), *r = l;
    for (Py_ssize_t i = 0; l && i < PyList_GET_SIZE(l); i++) {
        PyObject *x = with_values(PyList_GET_ITEM(l, i), deep - 1);
        if (!x || PyList_SetItem(l, i, x) < 0)
            Py_CLEAR(l);
    }
    r = l && PyTuple_CheckExact(o) ? PyList_AsTuple(l) : Py_XNewRef(l);
    Py_XDECREF(l);
    return r;
}

/* NumPy's functions that do something, or write texts, or ask for types, are called with values; `block` is
 * taken apart. NULL without an exception: it is another function, which is remembered. */
static PyObject *host_function(PyObject *self, PyObject *fn, PyObject *args, PyObject *kw) {
    PyObject **known = &tr_lazies_of(self)->plain[((uintptr_t)fn >> 4) % TR_LAZY_PLAIN];
    if (*known == fn)
        return NULL;
    static const char *const names[] = {
        "array2string",     "array_repr",    "array_str",        "save",         "savez",
        "savez_compressed", "savetxt",       "result_type",      "can_cast",     "min_scalar_type",
        "common_type",      "shares_memory", "may_share_memory", "iscomplexobj", "isrealobj"};
    static const char *const writers[] = {"copyto",         "put",          "place", "putmask",
                                          "put_along_axis", "fill_diagonal"};
    PyObject *name = PyObject_GetAttrString(fn, "__name__");
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : "";
    bool is = false, writes = false;
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++)
        is = is || strcmp(text, names[i]) == 0;
    for (size_t i = 0; text && i < sizeof writers / sizeof *writers; i++)
        writes = writes || strcmp(text, writers[i]) == 0;
    PyObject *r = NULL;
    PyErr_Clear();
    if (text && strcmp(text, "block") == 0) {
        PyObject *m = PyImport_ImportModule("treadle.parallel._block");
        PyObject *block = m ? PyObject_GetAttrString(m, "block") : NULL;
        r = block ? PyObject_Call(block, args, kw) : NULL;
        Py_XDECREF(block);
        Py_XDECREF(m);
    } else if (writes && PyTuple_GET_SIZE(args) > 0 && is_lazy(PyTuple_GET_ITEM(args, 0))) {
        PyErr_Format(PyExc_TypeError,
                     "%s(): lazy arrays are not changed: x = x.at[i].set(v) makes one that differs", text);
    } else if (is || writes) {
        PyObject *own = with_values(args, 2), *named = PyDict_New(), *key, *value;
        Py_ssize_t at = 0;
        bool ok = own && named;
        while (ok && PyDict_Next(kw, &at, &key, &value)) {
            PyObject *v = with_values(value, 2);
            ok = v && PyDict_SetItem(named, key, v) == 0;
            Py_XDECREF(v);
        }
        if (ok)
            r = PyObject_Call(fn, own, named);
        Py_XDECREF(own);
        Py_XDECREF(named);
    } else {
#ifndef Py_GIL_DISABLED
        Py_XSETREF(*known, Py_NewRef(fn));
#endif
    }
    Py_XDECREF(name);
    return r;
}

/* __array_function__(func, types, args, kwargs) */
static PyObject *lazy_function(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    if (n != 4 || !PyTuple_Check(args[2]) || !PyDict_Check(args[3]))
        return PyErr_Format(PyExc_TypeError,
                            "__array_function__() takes a function, types, a tuple and a dict");
    Py_ssize_t pos = PyTuple_GET_SIZE(args[2]), nkw = PyDict_GET_SIZE(args[3]), at = 0, k = 0;
    PyObject *known = shape_function(self, args[0], args[2]), *key, *value, *r = NULL;
    if (!known && !PyErr_Occurred())
        known = host_function(self, args[0], args[2], args[3]);
    if (known || PyErr_Occurred())
        return known;
    PyObject **a = PyMem_Malloc(((size_t)(pos + nkw) + 1) * sizeof *a), *names = PyTuple_New(nkw);
    for (; a && k < pos; k++)
        a[k] = PyTuple_GET_ITEM(args[2], k);
    for (Py_ssize_t i = 0; a && names && PyDict_Next(args[3], &at, &key, &value); i++) {
        PyTuple_SET_ITEM(names, i, Py_NewRef(key));
        a[k++] = value;
    }
    if (a && names)
        r = tr_lazy_call(tr_lazies_of(self), TR_G_CALL, args[0], a, pos, names);
    else if (!a)
        PyErr_NoMemory();
    PyMem_Free(a);
    Py_XDECREF(names);
    return r;
}

/* --- what asks for the value --- */

static PyObject *lazy_evaluate(PyObject *self, PyObject *unused) {
    (void)unused;
    return value_of(self) ? Py_NewRef(self) : NULL;
}

static PyObject *lazy_array(PyObject *self, PyObject *args, PyObject *kw) {
    static char *names[] = {"dtype", "copy", NULL};
    PyObject *dtype = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|OO:__array__", names, &dtype, &copy))
        return NULL;
    PyObject *a = array_of(self);
    int copies = copy == Py_None ? 0 : PyObject_IsTrue(copy);
    PyArray_Descr *as = NULL;
    if (!a || copies < 0 || (dtype != Py_None && !PyArray_DescrConverter(dtype, &as))) {
        Py_XDECREF(a);
        return NULL;
    }
    if (as && copy == Py_False && !PyArray_EquivTypes(as, PyArray_DESCR((PyArrayObject *)a))) {
        PyErr_SetString(PyExc_ValueError, "another dtype needs a copy, which copy=False rules out");
        Py_CLEAR(a);
        Py_DECREF(as);
        return NULL;
    }
    if (as || copies)
        Py_SETREF(
            a, PyArray_FromAny(a, as, 0, 0, NPY_ARRAY_FORCECAST | (copies ? NPY_ARRAY_ENSURECOPY : 0), NULL));
    return a;
}

/* Others' ways to the memory of an array. */
static PyObject *lazy_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    PyObject *a = memory_of(self), *name = PyUnicode_InternFromString("__dlpack__"), *r = NULL;
    PyObject *f = a && name ? PyObject_GetAttr(a, name) : NULL;
    if (f)
        r = PyObject_Vectorcall(f, args, (size_t)n, kwnames);
    Py_XDECREF(f);
    Py_XDECREF(a);
    Py_XDECREF(name);
    return r;
}

/* __reduce__: parts, or the value; several are a tuple that waits. */
static PyObject *lazy_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *m = PyImport_ImportModule("treadle.parallel._pickle"),
             *r = NULL; /* may evaluate what it likes */
    PyObject *v = ((tr_lazy *)self)->value;
    bool several = v && PyTuple_CheckExact(v);
    PyObject *which = several ? PyTuple_New(PyTuple_GET_SIZE(v)) : NULL, *what;
    for (Py_ssize_t i = 0; which && i < PyTuple_GET_SIZE(v); i++)
        PyTuple_SET_ITEM(which, i, Py_NewRef(Py_False));
    if (several)
        what =
            Py_BuildValue("[(iOiOOOOO)]", (int)TR_G_TUPLE, Py_True, 0, Py_None, Py_None, v, which, Py_None);
    else
        what = v ? Py_NewRef(v) : tr_lazy_parts(tr_lazies_of(self), self);
    PyObject *f = m && what ? PyObject_GetAttrString(m, v && !several ? "leaf" : "rebuild") : NULL;
    if (f)
        r = Py_BuildValue("(O(O))", f, what);
    Py_XDECREF(which);
    Py_XDECREF(m);
    Py_XDECREF(f);
    Py_XDECREF(what);
    return r;
}

/* What a function of a module of treadle.parallel's makes of the array, and of arguments. */
static PyObject *call_with(const char *module, const char *name, PyObject *self, PyObject *const *args,
                           Py_ssize_t n, PyObject *kwnames) {
    Py_ssize_t all = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *m = PyImport_ImportModule(module), *f = m ? PyObject_GetAttrString(m, name) : NULL, *r = NULL;
    PyObject **a = PyMem_Malloc(((size_t)all + 1) * sizeof *a);
    if (!a)
        PyErr_NoMemory();
    if (a && f) {
        a[0] = self;
        for (Py_ssize_t i = 0; i < all; i++)
            a[i + 1] = args[i];
        r = PyObject_Vectorcall(f, a, (size_t)n + 1, kwnames);
    }
    PyMem_Free(a);
    Py_XDECREF(f);
    Py_XDECREF(m);
    return r;
}

static PyObject *lazy_namespace(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    return call_with("treadle.parallel._standard", "namespace_of", self, args, n, kwnames);
}

static PyObject *lazy_to_device(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    return call_with("treadle.parallel._standard", "to_device", self, args, n, kwnames);
}

static PyObject *lazy_token(PyObject *self, PyObject *unused) {
    (void)unused;
    return call_with("treadle.parallel._pickle", "token", self, NULL, 0, NULL);
}

static PyObject *lazy_itself(PyObject *self, PyObject *unused) {
    (void)unused;
    return Py_NewRef(self);
}

static PyObject *lazy_dlpack_device(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    return Py_BuildValue("ii", 1, 0); /* kDLCPU */
}

/* The format of an array's items, which are numbers as this machine has them; NULL: others. */
static const char *plain_format(PyArrayObject *a) {
    static const char *const formats[] = {"?", "b", "B", "h", "H", "i", "I",
                                          "l", "L", "q", "Q", "e", "f", "d"};
    const char *r = NULL;
    char type = PyArray_DESCR(a)->type;
    for (size_t i = 0; i < sizeof formats / sizeof *formats && PyArray_ISNOTSWAPPED(a); i++)
        if (formats[i][0] == type)
            r = formats[i];
    return r;
}

/* What was computed stays where it is as long as the node, so a view that asks for no more than its strides
 * needs no array of its own: as memoryviews do, and NumPy through these. False: ask an array. */
static bool fill_buffer(PyObject *self, Py_buffer *view, int flags) {
    tr_lazy *x = (tr_lazy *)self;
    PyArrayObject *a =
        x->value && !x->leaf && PyArray_CheckExact(x->value) ? (PyArrayObject *)x->value : NULL;
    const char *format = a && PyArray_NDIM(a) > 0 ? plain_format(a) : NULL;
    if (!format || (flags & PyBUF_WRITABLE) || (flags & PyBUF_STRIDES) != PyBUF_STRIDES ||
        (flags & ~PyBUF_FULL_RO))
        return false;
    *view = (Py_buffer){.buf = PyArray_DATA(a),
                        .obj = Py_NewRef(self),
                        .len = PyArray_NBYTES(a),
                        .itemsize = PyArray_ITEMSIZE(a),
                        .readonly = 1,
                        .ndim = PyArray_NDIM(a),
                        .format = flags & PyBUF_FORMAT ? (char *)(uintptr_t)format : NULL,
                        .shape = (Py_ssize_t *)PyArray_DIMS(a),
                        .strides = (Py_ssize_t *)PyArray_STRIDES(a)};
    return true;
}

static int lazy_buffer(PyObject *self, Py_buffer *view, int flags) {
    PyObject *v = value_of(self);
    if (!v)
        return -1;
    if (fill_buffer(self, view, flags))
        return 0;
    if (PyArray_IsScalar(v, Number) || PyArray_IsScalar(v, Bool))
        return PyObject_GetBuffer(v, view, flags);
    PyObject *a = array_of(self);
    int r = a ? PyObject_GetBuffer(a, view, flags) : -1;
    Py_XDECREF(a);
    return r;
}

static PyObject *lazy_str(PyObject *self) {
    PyObject *v = value_of(self);
    return v ? PyObject_Str(v) : NULL;
}

static PyObject *lazy_repr(PyObject *self) {
    PyObject *v = value_of(self), *a = v && !PyTuple_Check(v) ? array_of(self) : Py_XNewRef(v);
    PyObject *text = a ? PyObject_Repr(a) : NULL, *r = NULL;
    const char *s = text ? PyUnicode_AsUTF8(text) : NULL;
    Py_XDECREF(a);
    if (s && strncmp(s, "array(", 6) == 0)
        r = PyUnicode_FromFormat("LazyArray(%s", s + 6);
    else if (s)
        r = PyUnicode_FromFormat("LazyArray(%s)", s);
    Py_XDECREF(text);
    return r;
}

#define TR_LAZY_CONVERSIONS(X) X(float, PyNumber_Float) X(int, PyNumber_Long) X(index, PyNumber_Index)
#define X(name, fn)                                \
    static PyObject *lazy_##name(PyObject *self) { \
        PyObject *v = value_of(self);              \
        return v ? fn(v) : NULL;                   \
    }
TR_LAZY_CONVERSIONS(X)
#undef X

static PyObject *lazy_complex(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *v = value_of(self);
    return v ? PyObject_CallOneArg((PyObject *)&PyComplex_Type, v) : NULL;
}

static PyObject *lazy_format(PyObject *self, PyObject *spec) {
    PyObject *v = value_of(self);
    return v ? PyObject_Format(v, spec) : NULL;
}

static PyObject *lazy_builtin_round(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    PyObject *v = value_of(self), *f = v ? PyObject_GetAttrString(v, "__round__") : NULL;
    PyObject *r = f ? PyObject_Vectorcall(f, args, (size_t)n, NULL) : NULL;
    Py_XDECREF(f);
    return r;
}

static int lazy_bool(PyObject *self) {
    PyObject *v = value_of(self);
    return v ? PyObject_IsTrue(v) : -1;
}

static int lazy_contains(PyObject *self, PyObject *o) {
    PyObject *a = array_of(self);
    int r = a ? PySequence_Contains(a, o) : -1;
    Py_XDECREF(a);
    return r;
}

/* The arrays of a function that has given several. */
static PyObject *read_only_items(PyObject *t) {
    PyObject *r = PyTuple_New(PyTuple_GET_SIZE(t));
    for (Py_ssize_t i = 0; r && i < PyTuple_GET_SIZE(t); i++) {
        PyObject *x = PyTuple_GET_ITEM(t, i), *own = Py_NewRef(x);
        if (PyArray_Check(x))
            own = read_only(own);
        if (own)
            PyTuple_SET_ITEM(r, i, own);
        else
            Py_CLEAR(r);
    }
    return r;
}

enum { FEW_ROWS = 16 };

/* The rows of an array of few, each a node: so x, y = a unpacks one that is not computed. NULL without an
 * exception: there are more, or they are numbers. */
static PyObject *few_rows(PyObject *self, const tr_kindof *k) {
    PyObject *shape = k->ndim > 1 ? tr_lazy_shape(self) : NULL;
    Py_ssize_t n = shape ? PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, 0)) : FEW_ROWS + 1;
    Py_XDECREF(shape);
    return n <= FEW_ROWS && !((tr_lazy *)self)->value ? tr_lazy_items(self, n) : NULL;
}

/* The results of a function that has several; else the items along the first axis. */
static PyObject *lazy_iter(PyObject *self) {
    const tr_kindof *k = tr_lazy_kind(self);
    if (!k)
        return NULL;
    PyObject *of;
    if (k->tuple && ((tr_lazy *)self)->value)
        of = read_only_items(((tr_lazy *)self)->value);
    else
        of = k->tuple ? tr_lazy_items(self, k->n) : few_rows(self, k);
    if (!of && !PyErr_Occurred())
        of = array_of(self);
    PyObject *r = of ? PyObject_GetIter(of) : NULL;
    Py_XDECREF(of);
    return r;
}

static Py_ssize_t lazy_length(PyObject *self) {
    const tr_kindof *k = tr_lazy_kind(self);
    if (!k)
        return -1;
    if (k->tuple)
        return (Py_ssize_t)k->n;
    PyObject *shape = k->ndim ? tr_lazy_shape(self) : NULL;
    if (!k->ndim)
        PyErr_SetString(PyExc_TypeError, "len() of unsized object");
    Py_ssize_t n = shape ? PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, 0)) : -1;
    Py_XDECREF(shape);
    return n;
}

/* --- attributes --- */

static PyObject *lazy_dtype(PyObject *self, void *unused) {
    (void)unused;
    const tr_kindof *k = tr_lazy_kind(self);
    if (!k)
        return NULL;
    if (k->tuple || k->dtype >= TR_TY__SCALARS || ((tr_lazy *)self)->value) { /* dates have units */
        PyObject *a = k->tuple ? NULL : array_of(self);
        if (k->tuple)
            PyErr_SetString(PyExc_AttributeError, "several results have no dtype together: unpack them");
        PyObject *d = a ? Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)a)) : NULL;
        Py_XDECREF(a);
        return d;
    }
    return (PyObject *)PyArray_DescrFromType(tr_value_npy_num[k->dtype]);
}

static PyObject *lazy_ndim(PyObject *self, void *unused) {
    (void)unused;
    const tr_kindof *k = tr_lazy_kind(self);
    return k ? PyLong_FromLong(k->ndim) : NULL;
}

static PyObject *lazy_shape(PyObject *self, void *unused) {
    (void)unused;
    return tr_lazy_shape(self);
}

static PyObject *lazy_size(PyObject *self, void *unused) {
    (void)unused;
    PyObject *shape = tr_lazy_shape(self);
    Py_ssize_t n = 1;
    for (Py_ssize_t i = 0; shape && i < PyTuple_GET_SIZE(shape); i++)
        n *= PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
    Py_XDECREF(shape);
    return shape ? PyLong_FromSsize_t(n) : NULL;
}

static PyObject *lazy_evaluated(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(((tr_lazy *)self)->value != NULL);
}

static PyObject *lazy_device(PyObject *self, void *unused) {
    (void)self;
    (void)unused;
    return PyUnicode_FromString("cpu");
}

static PyObject *lazy_at(PyObject *self, void *unused) {
    (void)unused;
    tr_lazies *l = tr_lazies_of(self);
    if (!l->at) {
        PyObject *m = PyImport_ImportModule("treadle.parallel._at");
        PyObject *at = m ? PyObject_GetAttrString(m, "At") : NULL;
        Py_XDECREF(m);
        if (!at)
            return NULL;
        Py_XSETREF(l->at, at);
    }
    return PyObject_CallOneArg(l->at, self);
}

#define X(name)                                                                   \
    static PyObject *lazy_##name(PyObject *self, void *unused) {                  \
        tr_lazies *l = tr_lazies_of(self);                                        \
        (void)unused;                                                             \
        return node_new(l, TR_G_ATTR, l->methods[METHOD_##name], &self, 1, NULL); \
    }
TR_LAZY_ATTRS(X)
#undef X

/* What ndarrays have and nodes have not is the value's: `name` of it. */
static PyObject *member_of_value(PyObject *name, PyObject *self) {
    PyObject *a = array_of(self), *r = a ? PyObject_GetAttr(a, name) : NULL;
    Py_XDECREF(a);
    return r;
}

/* What changes arrays nobody has here; `hint` says so. */
static PyObject *no_member(PyObject *hint, PyObject *self) {
    (void)self;
    PyErr_SetObject(PyExc_AttributeError, hint);
    return NULL;
}

/* A property of the class that calls a function of an object and the node. Takes the object's reference. */
static bool add_property(PyTypeObject *type, PyObject *name, PyMethodDef *get, PyObject *of) {
    PyObject *f = name && of ? PyCFunction_New(get, of) : NULL;
    PyObject *p = f ? PyObject_CallOneArg((PyObject *)&PyProperty_Type, f) : NULL;
    bool ok = p && PyDict_SetItem(type->tp_dict, name, p) == 0;
    Py_XDECREF(of);
    Py_XDECREF(f);
    Py_XDECREF(p);
    return ok;
}

/* The class gets a property for each member of ndarray's that it has not: so looking up a member is what it
 * is for every class, and calls of methods make no object of them. */
static bool add_members_of_values(PyTypeObject *type) {
    static PyMethodDef of_value = {"member", member_of_value, METH_O,
                                   "What numpy.ndarray has under this name, of the value."};
    static PyMethodDef none = {"member", no_member, METH_O, "Nothing: it would change the array."};
    static const char *const changes[][2] = {
#define X(name, hint) {name, hint},
        TR_LAZY_CHANGES(X)
#undef X
    };
    PyObject *names = PyObject_Dir((PyObject *)&PyArray_Type);
    bool ok = names != NULL;
    for (size_t i = 0; ok && i < sizeof changes / sizeof *changes; i++) {
        PyObject *name = PyUnicode_InternFromString(changes[i][0]);
        PyObject *hint = PyUnicode_FromFormat("lazy arrays are not changed, so they have no '%s': use %s",
                                              changes[i][0], changes[i][1]);
        ok = add_property(type, name, &none, hint);
        Py_XDECREF(name);
    }
    for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(names); i++) {
        PyObject *name = PyList_GET_ITEM(names, i);
        bool special = PyUnicode_GET_LENGTH(name) > 1 && PyUnicode_READ_CHAR(name, 0) == '_' &&
                       PyUnicode_READ_CHAR(name, 1) == '_';
        if (!special && !PyDict_Contains(type->tp_dict, name))
            ok = add_property(type, name, &of_value, Py_NewRef(name));
    }
    Py_XDECREF(names);
    PyType_Modified(type);
    return ok;
}

/* --- the type --- */

static int lazy_traverse(PyObject *self, visitproc visit, void *arg) {
    tr_lazy *x = (tr_lazy *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(x->value);
    Py_VISIT(x->fn);
    Py_VISIT(x->kwnames);
    for (Py_ssize_t i = 0; i < Py_SIZE(x); i++)
        Py_VISIT(x->args[i]);
    return 0;
}

static int lazy_clear(PyObject *self) {
    tr_lazy *x = (tr_lazy *)self;
    Py_CLEAR(x->value);
    Py_CLEAR(x->fn);
    Py_CLEAR(x->kwnames);
    Py_CLEAR(x->tag);
    Py_CLEAR(x->shape);
    for (Py_ssize_t i = 0; i < Py_SIZE(x); i++)
        Py_CLEAR(x->args[i]);
    return 0;
}

/* Of one that nobody comes across any more. */
static inline void end_node(tr_lazy *x) {
    PyTypeObject *tp = Py_TYPE(x);
    Py_XDECREF(x->value);
    Py_XDECREF(x->fn);
    Py_XDECREF(x->shape);
    Py_XDECREF(x->kwnames);
    Py_XDECREF(x->tag);
    Py_XDECREF(x->code);
    tr_lazy_free(x);
    Py_DECREF(tp); /* last: it keeps the module */
}

/* Lets go of operands, but of nodes that go with it: false where there are such. */
static inline bool drop_operands(tr_lazy *x) {
    bool all = true;
    for (Py_ssize_t i = 0; i < Py_SIZE(x); i++) {
        PyObject *o = x->args[i];
#ifdef Py_GIL_DISABLED /* counts are split between threads there */
        bool ends = o != NULL;
#else
        bool ends = o && Py_REFCNT(o) == 1 && is_lazy(o);
#endif
        if (!ends) {
            x->args[i] = NULL;
            Py_XDECREF(o);
        }
        all = all && !ends;
    }
    return all;
}

static void lazy_dealloc(PyObject *self) {
    tr_lazy *x = (tr_lazy *)self;
    PyObject_GC_UnTrack(self);
    if (drop_operands(x)) {
        end_node(x);
        return;
    }
    Py_TRASHCAN_BEGIN(self, lazy_dealloc) /* a chain of nodes is as deep as it is long */
        for (Py_ssize_t i = 0; i < Py_SIZE(x); i++) Py_CLEAR(x->args[i]);
    end_node(x);
    Py_TRASHCAN_END
}

PyDoc_STRVAR(evaluate_doc,
             "evaluate()\n--\n\nCompute the value, and return the lazy array, which has it from then on.");

static PyMethodDef methods[] = {
    {"evaluate", lazy_evaluate, METH_NOARGS, evaluate_doc},
    {"__array__", (PyCFunction)(void (*)(void))lazy_array, METH_VARARGS | METH_KEYWORDS,
     "Return the value as an array."},
    {"__array_ufunc__", (PyCFunction)(void (*)(void))lazy_ufunc, METH_FASTCALL | METH_KEYWORDS,
     "Make a node of a ufunc's call."},
    {"__array_function__", (PyCFunction)(void (*)(void))lazy_function, METH_FASTCALL,
     "Make a node of a call of a function of NumPy's."},
    {"__dlpack__", (PyCFunction)(void (*)(void))lazy_dlpack, METH_FASTCALL | METH_KEYWORDS,
     "Return a DLPack capsule of the value."},
    {"__dlpack_device__", lazy_dlpack_device, METH_NOARGS, "Return where the value lies: the host."},
    {"__reduce__", lazy_reduce, METH_NOARGS, "Pickle the nodes, or the value where it is there."},
    {"__array_namespace__", (PyCFunction)(void (*)(void))lazy_namespace, METH_FASTCALL | METH_KEYWORDS,
     "Return treadle.parallel.array_api, the functions of the array API standard."},
    {"to_device", (PyCFunction)(void (*)(void))lazy_to_device, METH_FASTCALL | METH_KEYWORDS,
     "Return the array itself: it is on the host."},
    {"__dask_tokenize__", lazy_token, METH_NOARGS,
     "Return what Dask names the array by: its nodes, functions and leaves."},
    {"__copy__", lazy_itself, METH_NOARGS, "Return the array itself: it never changes."},
    {"__format__", lazy_format, METH_O, "Format the value."},
    {"__round__", (PyCFunction)(void (*)(void))lazy_builtin_round, METH_FASTCALL, "Round the value."},
    {"__complex__", lazy_complex, METH_NOARGS, "Return the value as a complex number."},
#define X(name)                                                                      \
    {#name, (PyCFunction)(void (*)(void))lazy_##name, METH_FASTCALL | METH_KEYWORDS, \
     "Return what numpy.ndarray." #name "(...) gives, as a lazy array: see numpy.ndarray." #name "."},
    TR_LAZY_METHODS(X)
#undef X
        {NULL, NULL, 0, NULL}};

static PyGetSetDef members[] = {
    {"dtype", lazy_dtype, NULL, "dtype: of the items. It is inferred; the value is not computed.", NULL},
    {"ndim", lazy_ndim, NULL, "int: how many axes there are. It is inferred; the value is not computed.",
     NULL},
    {"shape", lazy_shape, NULL,
     "tuple of int: the extents. Only what these depend on is computed: of x[x > 0] how many items are kept.",
     NULL},
    {"size", lazy_size, NULL, "int: the number of items, as `shape` has it.", NULL},
    {"at", lazy_at, NULL, "At: makes arrays that differ at some places, as in x.at[i].set(v).", NULL},
    {"device", lazy_device, NULL, "str: where the value lies, \"cpu\".", NULL},
    {"evaluated", lazy_evaluated, NULL, "bool: whether the value is there.", NULL},
#define X(name) {#name, lazy_##name, NULL, "LazyArray: as numpy.ndarray." #name ".", NULL},
    TR_LAZY_ATTRS(X)
#undef X
        {NULL, NULL, NULL, NULL, NULL}};

PyDoc_STRVAR(
    lazy_doc,
    "An array that is not there yet: what it is made of is noted, and computed when its value "
    "is asked for.\n\nOperators, NumPy's functions and the methods below make further ones. Its value "
    "is asked for by `evaluate`, by numpy.asarray and DLPack, by float(), int(), bool(), by iterating "
    "and printing.");

static PyType_Slot slots[] = {{Py_tp_dealloc, lazy_dealloc},
                              {Py_tp_doc, (void *)lazy_doc},
                              {Py_tp_traverse, lazy_traverse},
                              {Py_tp_clear, lazy_clear},
                              {Py_tp_str, lazy_str},
                              {Py_tp_repr, lazy_repr},
                              {Py_tp_richcompare, lazy_compare},
                              {Py_tp_hash, PyObject_HashNotImplemented},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, members},
                              {Py_tp_iter, lazy_iter},
                              {Py_mp_subscript, lazy_item},
                              {Py_mp_ass_subscript, lazy_set_item},
                              {Py_mp_length, lazy_length},
                              {Py_sq_contains, lazy_contains},
                              {Py_bf_getbuffer, lazy_buffer},
                              {Py_nb_power, lazy_power},
                              {Py_nb_bool, lazy_bool},
#define X(name, fn) {Py_nb_##name, lazy_##name},
                              TR_LAZY_CONVERSIONS(X)
#undef X
#define X(slot, id, name) {Py_##slot, lazy_##slot},
                                  TR_LAZY_BINARY(X) TR_LAZY_UNARY(X)
#undef X
                                      {0, NULL}};
static PyType_Spec spec = {
    .name = "treadle._core.LazyArray",
    .basicsize = offsetof(tr_lazy, args),
    .itemsize = sizeof(PyObject *),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

bool tr_lazy_add(PyObject *module) {
    tr_state *st = tr_ext_state(module);
    PyObject *np = PyImport_ImportModule("numpy");
    tr_lazies *l = st->lazies = PyMem_Calloc(1, sizeof *l);
    if (!l)
        PyErr_NoMemory();
    st->lazy_type = l ? (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL) : NULL;
    bool ok = np && l && st->lazy_type;
    if (l) {
        l->st = st;
        l->type = st->lazy_type;
    }
    for (unsigned i = 0; ok && i < TR_LAZY__FNS; i++)
        ok = (l->fns[i] = PyObject_GetAttrString(np, fn_names[i])) != NULL;
    Py_XDECREF(np);
    ok = ok && (l->methods = PyMem_Calloc(METHOD__COUNT + 1, sizeof *l->methods));
    for (unsigned i = 0; ok && i < METHOD__COUNT; i++)
        ok = (l->methods[i] = PyUnicode_InternFromString(method_names[i])) != NULL;
    return ok && add_members_of_values(st->lazy_type) &&
           PyModule_AddObjectRef(module, "LazyArray", (PyObject *)st->lazy_type) == 0 &&
           tr_lazy_add_functions(module);
}
