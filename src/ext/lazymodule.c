/* Functions of the extension module about lazy arrays: what treadle.parallel is made of. See lazy.h. */
#include <assert.h>
#include <string.h>

#include "ext/lazy.h"
#include "ir/sched.h"

/* _lazy(array): a leaf. */
static PyObject *make_leaf(PyObject *module, PyObject *o) {
    tr_state *st = tr_ext_state(module);
    if (Py_IS_TYPE(o, st->lazy_type))
        return Py_NewRef(o);
    bool as_it_is = PyArray_CheckExact(o) || tr_device_mem(st, o);
    PyObject *a = as_it_is ? Py_NewRef(o) : PyArray_FromAny(o, NULL, 0, 0, 0, NULL);
    PyObject *r = a ? tr_lazy_leaf(st->lazies, a) : NULL;
    Py_XDECREF(a);
    return r;
}

/* _lazy_call(fn, *args, **kw): a node. */
static PyObject *make_call(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    tr_state *st = tr_ext_state(module);
    if (n < 1)
        return PyErr_Format(PyExc_TypeError, "a function is needed");
    return tr_lazy_call(st->lazies, TR_G_CALL, args[0], args + 1, n - 1, kwnames);
}

/* Are they nodes that wait? Else an exception. */
static bool wait(const tr_state *st, PyObject *const *roots, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (!Py_IS_TYPE(roots[i], st->lazy_type) || ((tr_lazy *)roots[i])->value) {
            PyErr_SetString(PyExc_TypeError, "lazy arrays that are not evaluated yet are needed");
            return false;
        }
    if (n < 1)
        PyErr_SetString(PyExc_TypeError, "at least one lazy array is needed");
    return n > 0;
}

/* A result's dtype, of what stands for it: that itself, or an array that has it. */
static PyArray_Descr *described(const tr_state *st, PyObject *t) {
    PyArray_Descr *d = NULL;
    PyObject *of = NULL;
    if (Py_IS_TYPE(t, st->lazy_type) && ((tr_lazy *)t)->value)
        t = ((tr_lazy *)t)->value;
    if (PyArray_Check(t)) {
        of = Py_NewRef((PyObject *)PyArray_DESCR((PyArrayObject *)t));
    } else if (!PyType_Check(t) && !(of = PyObject_GetAttrString(t, "dtype"))) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return NULL;
        PyErr_Clear();
    }
    if (!PyArray_DescrConverter(of ? of : t, &d))
        d = NULL;
    Py_XDECREF(of);
    return d;
}

/* What a node that Python computes is going to have, as functions of its arguments say; None: nobody says. */
static bool promise(const tr_state *st, tr_lazy *x, PyObject *shape_of, PyObject *dtype_of,
                    PyObject *const *args, size_t n, PyObject *kwnames) {
    PyArray_Descr *dtype = NULL;
    PyObject *shape = NULL, *r = NULL;
    bool ok = true;
    if (dtype_of != Py_None) {
        r = PyObject_Vectorcall(dtype_of, args, n, kwnames);
        dtype = r && r != Py_None ? described(st, r) : NULL;
        ok = r && (dtype || r == Py_None);
        Py_CLEAR(r);
    }
    if (ok && shape_of != Py_None) {
        r = PyObject_Vectorcall(shape_of, args, n, kwnames);
        shape = r ? PySequence_Tuple(r) : NULL;
        ok = shape != NULL;
        Py_CLEAR(r);
    }
    for (Py_ssize_t i = 0; ok && shape && i < PyTuple_GET_SIZE(shape); i++)
        if (PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i)) < 0) {
            ok = false;
            if (!PyErr_Occurred())
                PyErr_Format(PyExc_ValueError, "a shape of %R", shape);
        }
    if (ok && shape)
        x->shape = Py_NewRef(shape);
    if (ok && dtype) {
        int num = dtype->type_num;
        x->kind.dtype = num >= 0 && num < 24 ? tr_value_npy_kind[num] : 255;
        x->kind.n = 1;
        x->kind.known = shape != NULL;
        x->kind.ndim = shape ? (uint8_t)PyTuple_GET_SIZE(shape) : 0;
        x->kind.array = x->kind.ndim > 0;
    }
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    return ok;
}

/* _lazy_host(fn, shape, dtype, *args, **kw): a node that Python computes, and what is promised of it. */
static PyObject *make_host(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    tr_state *st = tr_ext_state(module);
    if (n < 3)
        return PyErr_Format(PyExc_TypeError, "a function is needed, and two that promise, or None");
    st->lazies->hosts = true;
    PyObject *x = tr_lazy_node(st->lazies, TR_G_HOST, args[0], args + 3,
                               n - 3 + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0), kwnames);
    if (x && !promise(st, (tr_lazy *)x, args[1], args[2], args + 3, (size_t)(n - 3), kwnames))
        Py_CLEAR(x);
    return x;
}

/* _lazy_parts(array): what it is made of, as a list of a row for each node, operands first: (op, loose,
 * cells, fn, names of keywords, operands, which of these are numbers of rows, words of a schedule). */
static PyObject *parts(PyObject *module, PyObject *o) {
    tr_state *st = tr_ext_state(module);
    return wait(st, &o, 1) ? tr_lazy_parts(st->lazies, o) : NULL;
}

/* What the compiler counts on. */
static bool is_sound(unsigned op, PyObject *fn, Py_ssize_t n) {
    switch ((tr_gop)op) {
    case TR_G_CALL:
    case TR_G_HOST: return fn != Py_None;
    case TR_G_METHOD:
    case TR_G_ATTR: return PyUnicode_Check(fn) && n > 0;
    case TR_G_ITEM: return n == 2;
    case TR_G_SLICE: return n == 3;
    case TR_G_CLOSURE: return PyFunction_Check(fn) && n > 0;
    default: return true;
    }
}

/* _lazy_nodes(*arrays): what waits below them, operands first, a row for each: (node, op, fn, names of
 * keywords, operands, where it was written and what it calls). Leaves are looked at where that is asked
 * for. */
static PyObject *nodes(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    tr_state *st = tr_ext_state(module);
    return wait(st, args, n) ? tr_lazy_nodes(st->lazies, args, n) : NULL;
}

/* _lazy_like(node, *args): the same operation on other operands; the last have the names of its own. */
static PyObject *like(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    if (!wait(tr_ext_state(module), args, n < 1 ? 0 : 1))
        return NULL;
    const tr_lazy *x = (const tr_lazy *)args[0];
    if (!is_sound(x->op, x->fn ? x->fn : Py_None, n - 1) ||
        n - 1 < (x->kwnames ? PyTuple_GET_SIZE(x->kwnames) : 0))
        return PyErr_Format(PyExc_ValueError, "these are no operands of it");
    return tr_lazy_like(args[0], args + 1, n - 1);
}

/* _lazy_give(node, value): the value of one that waits. */
static PyObject *give(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    if (n != 2 || (!PyArray_Check(args[1]) && !PyArray_IsScalar(args[1], Generic)))
        return PyErr_Format(PyExc_TypeError, "a lazy array and its value are needed");
    if (!wait(tr_ext_state(module), args, 1) || !tr_lazy_give(args[0], args[1]))
        return NULL;
    Py_RETURN_NONE;
}

/* _lazy_rebuild(parts): the array that these are parts of. */
static PyObject *rebuild(PyObject *module, PyObject *list) {
    tr_state *st = tr_ext_state(module);
    PyObject *made = PyList_New(0), *r = NULL;
    bool ok = made && PyList_Check(list);
    if (made && !ok)
        PyErr_SetString(PyExc_TypeError, "a list is needed");
    for (Py_ssize_t k = 0; ok && k < PyList_GET_SIZE(list); k++) {
        unsigned op, cells;
        int loose;
        PyObject *fn, *kwnames, *args, *which, *tag;
        ok = PyArg_ParseTuple(PyList_GET_ITEM(list, k), "IpIOOO!O!O", &op, &loose, &cells, &fn, &kwnames,
                              &PyTuple_Type, &args, &PyTuple_Type, &which, &tag);
        Py_ssize_t n = ok ? PyTuple_GET_SIZE(args) : 0;
        PyObject *own = ok ? PyTuple_New(n) : NULL;
        ok = own && PyTuple_GET_SIZE(which) == n && op <= TR_G_CLOSURE && is_sound(op, fn, n);
        for (Py_ssize_t i = 0; ok && i < n; i++) {
            PyObject *a = PyTuple_GET_ITEM(args, i);
            if (PyTuple_GET_ITEM(which, i) == Py_True) {
                Py_ssize_t at = PyLong_AsSsize_t(a);
                ok = at >= 0 && at < PyList_GET_SIZE(made);
                a = ok ? PyList_GET_ITEM(made, at) : NULL;
            }
            if (ok)
                PyTuple_SET_ITEM(own, i, Py_NewRef(a));
        }
        if (own && !ok && !PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "these are no parts of a lazy array");
        PyObject *x =
            ok ? tr_lazy_node(st->lazies, (tr_gop)op, fn == Py_None ? NULL : fn,
                              ((PyTupleObject *)own)->ob_item, n, kwnames == Py_None ? NULL : kwnames)
               : NULL;
        if (x) {
            ((tr_lazy *)x)->loose = loose != 0;
            ((tr_lazy *)x)->cells = cells;
            Py_XSETREF(((tr_lazy *)x)->tag, PyUnicode_Check(tag) ? Py_NewRef(tag) : NULL);
            st->lazies->hosts = st->lazies->hosts || op == TR_G_HOST;
        }
        ok = x && PyList_Append(made, x) == 0;
        Py_XDECREF(x);
        Py_XDECREF(own);
    }
    if (ok && PyList_GET_SIZE(made) == 0)
        PyErr_SetString(PyExc_ValueError, "these are no parts of a lazy array");
    else if (ok)
        r = Py_NewRef(PyList_GET_ITEM(made, PyList_GET_SIZE(made) - 1));
    Py_XDECREF(made);
    return r;
}

/* _lazy_items(node, n): results of a function that has so many. */
static PyObject *items(PyObject *module, PyObject *args) {
    PyObject *node;
    Py_ssize_t n;
    if (!PyArg_ParseTuple(args, "O!n:_lazy_items", tr_ext_state(module)->lazy_type, &node, &n))
        return NULL;
    return tr_lazy_items(node, n);
}

/* _lazy_evaluate(serial, *arrays): in one program. */
static PyObject *evaluate_all(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    tr_state *st = tr_ext_state(module);
    for (Py_ssize_t i = 1; i < n; i++)
        if (!Py_IS_TYPE(args[i], st->lazy_type))
            return PyErr_Format(PyExc_TypeError, "evaluate() takes lazy arrays, not %s",
                                Py_TYPE(args[i])->tp_name);
    if (n < 1 || !tr_lazy_evaluate(st->lazies, args + 1, n - 1, args[0] == Py_True))
        return NULL;
    Py_RETURN_NONE;
}

/* _lazy_explain(serial, log, *arrays): evaluated, with accounts. */
static PyObject *explain_all(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    tr_state *st = tr_ext_state(module);
    if (!wait(st, args + 2, n - 2))
        return NULL;
    if (!PyArray_Check(args[1]))
        return PyErr_Format(PyExc_TypeError, "an array for accounts is needed");
    return tr_lazy_explain(st->lazies, args + 2, n - 2, args[0] == Py_True, args[1]);
}

/* _lazy_params(*arrays): what the program is called with. */
static PyObject *params(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    tr_state *st = tr_ext_state(module);
    return wait(st, args, n) ? tr_lazy_params(st->lazies, args, n) : NULL;
}

/* _lazy_text(stage, log, *arrays): stage "infer" or "opt"; log: an array for accounts, or None. */
static PyObject *text(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    tr_state *st = tr_ext_state(module);
    if (!wait(st, args + 2, n - 2))
        return NULL;
    const char *stage = PyUnicode_Check(args[0]) ? PyUnicode_AsUTF8(args[0]) : NULL;
    if (!stage || (strcmp(stage, "infer") != 0 && strcmp(stage, "opt") != 0))
        return PyErr_Format(PyExc_ValueError, "the stage is 'infer' or 'opt'");
    return tr_lazy_text(st->lazies, args + 2, n - 2, args[1] == Py_None ? NULL : args[1],
                        *stage == 'i' ? TR_STAGE_INFER : TR_STAGE_OPT);
}

/* _lazy_words(text): words of a schedule, or an exception that says why they are none. */
static PyObject *words(PyObject *module, PyObject *text) {
    const char *s = PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : NULL;
    char why[400];
    tr_sched sched;
    if (!s)
        return PyErr_Format(PyExc_TypeError, "a schedule is a text of words, not %s", Py_TYPE(text)->tp_name);
    if (!tr_sched_read(s, &sched, why, sizeof why))
        return PyErr_Format(PyExc_ValueError, "schedule(): %s", why);
    tr_ext_state(module)->lazies->tagged = true;
    Py_RETURN_NONE;
}

/* _lazy_setup(folder, check, flags, tag): what is called from there was written by its caller; whether leaves
 * are looked at; the context variable of schedules. */
static PyObject *setup(PyObject *module, PyObject *args) {
    tr_lazies *l = tr_ext_state(module)->lazies;
    const char *s;
    PyObject *flags, *tag;
    int check;
    if (!PyArg_ParseTuple(args, "spO!O!:_lazy_setup", &s, &check, &PyDict_Type, &flags, &PyContextVar_Type,
                          &tag))
        return NULL;
    char *home = PyMem_Malloc(strlen(s) + 1);
    if (!home)
        return PyErr_NoMemory();
    PyMem_Free(l->home);
    l->home = strcpy(home, s);
    l->nhome = strlen(s);
    Py_CLEAR(l->named[false]);
    Py_CLEAR(l->named[true]);
    l->check = check != 0;
    Py_XSETREF(l->flags, Py_NewRef(flags));
    Py_XSETREF(l->tag, Py_NewRef(tag));
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"_lazy", make_leaf, METH_O, NULL},
    {"_lazy_call", (PyCFunction)(void (*)(void))make_call, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"_lazy_evaluate", (PyCFunction)(void (*)(void))evaluate_all, METH_FASTCALL, NULL},
    {"_lazy_explain", (PyCFunction)(void (*)(void))explain_all, METH_FASTCALL, NULL},
    {"_lazy_host", (PyCFunction)(void (*)(void))make_host, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"_lazy_items", items, METH_VARARGS, NULL},
    {"_lazy_parts", parts, METH_O, NULL},
    {"_lazy_nodes", (PyCFunction)(void (*)(void))nodes, METH_FASTCALL, NULL},
    {"_lazy_like", (PyCFunction)(void (*)(void))like, METH_FASTCALL, NULL},
    {"_lazy_give", (PyCFunction)(void (*)(void))give, METH_FASTCALL, NULL},
    {"_lazy_rebuild", rebuild, METH_O, NULL},
    {"_lazy_params", (PyCFunction)(void (*)(void))params, METH_FASTCALL, NULL},
    {"_lazy_text", (PyCFunction)(void (*)(void))text, METH_FASTCALL, NULL},
    {"_lazy_words", words, METH_O, NULL},
    {"_lazy_setup", setup, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};

bool tr_lazy_add_functions(PyObject *module) {
    return PyModule_AddFunctions(module, functions) == 0;
}
