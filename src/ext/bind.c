/* From a call's arguments to values in the order of parameters, with Python's own rules and messages.
 * Cost: nothing for plain positional calls (call.c does not come here); keyword names are interned, so a
 * pointer comparison finds each. Defaults were evaluated by Python when the function was defined. */
#include "ext/function.h"

#include <assert.h>

static uint32_t nnames(const tr_function *f) {
    return (uint32_t)PyTuple_GET_SIZE(f->names);
}

const char *tr_function_param(const tr_function *f, uint32_t i) {
    assert(i < f->nparams && "a parameter of the function");
    if (i < (uint32_t)PyTuple_GET_SIZE(f->names)) {
        const char *s = PyUnicode_AsUTF8(PyTuple_GET_ITEM(f->names, i));
        if (s)
            return s;
        PyErr_Clear();
        return "?";
    }
    return f->varargs && i == nnames(f) ? "*args" : "**kwargs";
}

static bool too_many(tr_function *f, Py_ssize_t given) {
    uint32_t need = 0;
    for (uint32_t i = 0; i < f->npos; i++)
        need += !f->defaults[i];
    assert(need <= f->npos && given > (Py_ssize_t)f->npos && "there are too many");
    if (need == f->npos)
        PyErr_Format(PyExc_TypeError, "%U() takes %u positional argument%s but %zd %s given", f->qualname,
                     f->npos, f->npos == 1 ? "" : "s", given, given == 1 ? "was" : "were");
    else
        PyErr_Format(PyExc_TypeError, "%U() takes from %u to %u positional arguments but %zd %s given",
                     f->qualname, need, f->npos, given, given == 1 ? "was" : "were");
    return false;
}

/* "'a'", "'a' and 'b'", "'a', 'b', and 'c'" as Python writes them. */
static bool missing(tr_function *f, PyObject **v, uint32_t from, uint32_t to, const char *what) {
    PyObject *text = PyUnicode_FromString("");
    uint32_t n = 0, seen = 0;
    for (uint32_t i = from; i < to; i++)
        n += !v[i];
    assert(n > 0 && "some are missing");
    for (uint32_t i = from; text && i < to; i++) {
        if (v[i])
            continue;
        const char *sep = seen == 0 ? "" : seen + 1 < n ? ", " : n == 2 ? " and " : ", and ";
        PyObject *next = PyUnicode_FromFormat("%U%s'%U'", text, sep, PyTuple_GET_ITEM(f->names, i));
        Py_SETREF(text, next);
        seen++;
    }
    if (text)
        PyErr_Format(PyExc_TypeError, "%U() missing %u required %s argument%s: %U", f->qualname, n, what,
                     n == 1 ? "" : "s", text);
    Py_XDECREF(text);
    return false;
}

/* Index of the parameter called `name`, or -1. */
static Py_ssize_t find_name(const tr_function *f, PyObject *name) {
    Py_ssize_t n = PyTuple_GET_SIZE(f->names);
    for (Py_ssize_t i = 0; i < n; i++)
        if (PyTuple_GET_ITEM(f->names, i) == name)
            return i;
    for (Py_ssize_t i = 0; i < n; i++)
        if (PyUnicode_Compare(PyTuple_GET_ITEM(f->names, i), name) == 0)
            return i;
    return -1;
}

static bool append(PyObject *list, PyObject *x) {
    return PyList_Append(list, x) == 0;
}

/* rest: lists of the names that no parameter has, and of their values, of a function with **kwargs. */
static bool take_keywords(tr_function *f, PyObject *const *values, PyObject *kwnames, PyObject **v,
                          PyObject *const *rest) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k);
        Py_ssize_t i = find_name(f, name);
        if (f->varkw && i < (Py_ssize_t)f->nposonly) {
            if (!append(rest[0], name) || !append(rest[1], values[k]))
                return false;
            continue;
        }
        if (i < 0) {
            PyErr_Format(PyExc_TypeError, "%U() got an unexpected keyword argument '%U'", f->qualname, name);
            return false;
        }
        if (i < (Py_ssize_t)f->nposonly) {
            PyErr_Format(PyExc_TypeError,
                         "%U() got some positional-only arguments passed as keyword arguments: '%U'",
                         f->qualname, name);
            return false;
        }
        if (v[i]) {
            PyErr_Format(PyExc_TypeError, "%U() got multiple values for argument '%U'", f->qualname, name);
            return false;
        }
        v[i] = values[k];
    }
    return true;
}

static bool fill_defaults(tr_function *f, PyObject **v) {
    uint32_t n = nnames(f);
    bool lacks_pos = false, lacks_kw = false;
    for (uint32_t i = 0; i < n; i++) {
        if (v[i])
            continue;
        v[i] = f->defaults[i];
        if (!v[i] && i < f->npos)
            lacks_pos = true;
        else if (!v[i])
            lacks_kw = true;
    }
    if (lacks_pos)
        return missing(f, v, 0, f->npos, "positional");
    return !lacks_kw || missing(f, v, f->npos, n, "keyword-only");
}

/* The keyword arguments, by parameter; *named: those of **kwargs. */
static bool bind_keywords(tr_function *f, PyObject *const *values, PyObject *kwnames, PyObject **v,
                          PyObject **named) {
    PyObject *rest[2] = {NULL, NULL}, *tuple[2] = {NULL, NULL};
    bool ok = true;
    for (int k = 0; k < 2 && f->varkw; k++)
        ok = ok && (rest[k] = PyList_New(0));
    ok = ok && (!kwnames || take_keywords(f, values, kwnames, v, rest)) && fill_defaults(f, v);
    for (int k = 0; k < 2 && f->varkw; k++)
        ok = ok && (tuple[k] = PyList_AsTuple(rest[k]));
    if (ok && f->varkw)
        ok = (*named = PyTuple_Pack(2, tuple[0], tuple[1])) != NULL;
    for (int k = 0; k < 2; k++) {
        Py_XDECREF(rest[k]);
        Py_XDECREF(tuple[k]);
    }
    return ok;
}

/* Each parameter has a value, *args a tuple, **kwargs two. */
static __attribute__((unused)) bool is_bound(const tr_function *f, const tr_bound *b) {
    bool all = (f->varargs ? b->star && b->v[nnames(f)] == b->star : !b->star) &&
               (f->varkw ? b->named && b->v[f->nparams - 1] == b->named : !b->named);
    for (uint32_t i = 0; all && i < f->nparams; i++)
        all = b->v[i] != NULL;
    return all;
}

bool tr_bind(tr_function *f, PyObject *const *args, Py_ssize_t n, PyObject *kwnames, tr_bound *b) {
    uint32_t np = nnames(f);
    assert(np + f->varargs + f->varkw == f->nparams && "every parameter but *args and **kwargs has a name");
    b->v = b->stack;
    b->star = b->named = NULL;
    if (f->nparams > TR_STACK_ARGS) {
        b->v = PyMem_Malloc(f->nparams * sizeof *b->v);
        if (!b->v) {
            PyErr_NoMemory();
            return false;
        }
    }
    Py_ssize_t pos = n < (Py_ssize_t)f->npos ? n : (Py_ssize_t)f->npos;
    for (Py_ssize_t i = 0; i < pos; i++)
        b->v[i] = args[i];
    for (Py_ssize_t i = pos; i < (Py_ssize_t)np; i++)
        b->v[i] = NULL;
    bool ok = f->varargs || n <= (Py_ssize_t)f->npos || too_many(f, n);
    ok = ok && bind_keywords(f, args + n, kwnames, b->v, &b->named);
    if (ok && f->varkw)
        b->v[f->nparams - 1] = b->named;
    if (ok && f->varargs) {
        Py_ssize_t extra = n - pos;
        b->star = PyTuple_New(extra);
        ok = b->star != NULL;
        for (Py_ssize_t i = 0; ok && i < extra; i++)
            PyTuple_SET_ITEM(b->star, i, Py_NewRef(args[pos + i]));
        b->v[np] = b->star;
    }
    assert((!ok || is_bound(f, b)) && "all parameters have values");
    assert(tr_py_agrees(ok) && "arguments that do not bind have raised");
    if (!ok)
        tr_bound_clear(b);
    return ok;
}

void tr_bound_clear(tr_bound *b) {
    Py_CLEAR(b->star);
    Py_CLEAR(b->named);
    if (b->v != b->stack)
        PyMem_Free(b->v);
    b->v = NULL;
}

/* --- reading the function --- */

static bool take_defaults(tr_function *f) {
    uint32_t n = nnames(f);
    f->defaults = PyMem_Calloc(n + 1u, sizeof *f->defaults);
    if (!f->defaults) {
        PyErr_NoMemory();
        return false;
    }
    PyObject *d = Py_XNewRef(PyFunction_GetDefaults(f->py_func)),
             *kd = Py_XNewRef(PyFunction_GetKwDefaults(f->py_func));
    Py_ssize_t nd = d && PyTuple_Check(d) ? PyTuple_GET_SIZE(d) : 0;
    for (Py_ssize_t i = 0; i < nd && i < (Py_ssize_t)f->npos; i++)
        f->defaults[(Py_ssize_t)f->npos - 1 - i] = Py_NewRef(PyTuple_GET_ITEM(d, nd - 1 - i));
    for (uint32_t i = f->npos; kd && PyDict_Check(kd) && i < n; i++)
        f->defaults[i] = tr_py_dict_get(kd, PyTuple_GET_ITEM(f->names, i));
    Py_XDECREF(d);
    Py_XDECREF(kd);
    return !PyErr_Occurred();
}

static bool take_parameters(tr_function *f, PyCodeObject *code) {
    uint32_t n = (uint32_t)(code->co_argcount + code->co_kwonlyargcount);
    f->varargs = (code->co_flags & CO_VARARGS) != 0;
    f->varkw = (code->co_flags & CO_VARKEYWORDS) != 0;
    f->npos = (uint32_t)code->co_argcount;
    f->nposonly = (uint32_t)code->co_posonlyargcount;
    f->nparams = n + f->varargs + f->varkw;
    f->nplain = f->varargs || f->varkw || code->co_kwonlyargcount ? -1 : (int32_t)n;
    PyObject *locals = PyCode_GetVarnames(code);
    f->names = locals ? PyTuple_GetSlice(locals, 0, n) : NULL;
    Py_XDECREF(locals);
    return f->names != NULL;
}

bool tr_bind_init(tr_function *f) {
    PyObject *code = Py_NewRef(PyFunction_GetCode(f->py_func));
    bool ok = take_parameters(f, (PyCodeObject *)code) && take_defaults(f);
    assert((!ok || (f->nposonly <= f->npos && f->npos <= f->nparams)) && "positional ones come first");
    Py_DECREF(code);
    return ok;
}
