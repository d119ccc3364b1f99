/* Functions of others (cuda.declare_device) and what is linked to a program, as plain data.
 *
 * A declaration is recognised by an attribute of its own, TR_EXTERN_ATTR: a tuple (symbol, by Numba's rule?,
 * result's type or None, types of the arguments, which of them are pointers, what is to be linked). What is
 * to be linked is Python's to prepare (treadle/cuda/_link.py), which may run compilers: it is asked once,
 * when all is frozen, and only of programs that have such. */
#include "ext/freeze.h"

#include "ext/compat.h"

#define TR_EXTERN_ATTR "__treadle_extern__"

/* No user code runs. Borrowed: `o` has it. */
static PyObject *declared(PyObject *o) {
    PyObject *d = PyType_Check(o) ? NULL : PyObject_GenericGetDict(o, NULL);
    PyObject *t = d ? tr_py_dict_get_text(d, TR_EXTERN_ATTR) : NULL;
    Py_XDECREF(d);
    Py_XDECREF(t);
    PyErr_Clear();
    return t && PyTuple_CheckExact(t) && PyTuple_GET_SIZE(t) == 6 ? t : NULL;
}

tr_extern *tr_freeze_extern(tr_frozen *z, PyObject *o) {
    tr_arena *a = &z->ctx->arena;
    PyObject *t = declared(o), *args;
    const char *name = t ? PyUnicode_AsUTF8(PyTuple_GET_ITEM(t, 0)) : NULL;
    if (!name || !tr_freeze_add_links(z, PyTuple_GET_ITEM(t, 5)))
        return NULL;
    args = PyTuple_GET_ITEM(t, 3);
    tr_extern *x = TR_NEW(a, tr_extern);
    *x = (tr_extern){.name = tr_arena_strdup(a, name),
                     .py = o,
                     .numba = PyTuple_GET_ITEM(t, 1) == Py_True,
                     .nargs = (uint32_t)PyTuple_GET_SIZE(args)};
    const tr_ty **types = TR_NEW_N(a, const tr_ty *, x->nargs + 1u);
    bool *pointer = TR_NEW_N(a, bool, x->nargs + 1u);
    for (uint32_t i = 0; i <= x->nargs; i++) {
        PyObject *of = i < x->nargs ? PyTuple_GET_ITEM(args, i) : PyTuple_GET_ITEM(t, 2);
        types[i] = of == Py_None ? NULL : z->host->as_type(z->host->user, of);
        if (of != Py_None && !types[i]) {
            PyErr_Format(PyExc_TypeError, "%R is no type", of);
            return NULL;
        }
        pointer[i] = i < x->nargs && PyTuple_GET_ITEM(PyTuple_GET_ITEM(t, 4), i) == Py_True;
    }
    x->ret = types[x->nargs];
    x->args = types;
    x->pointer = pointer;
    return x;
}

bool tr_freeze_add_links(tr_frozen *z, PyObject *links) {
    if (!z->links && !(z->links = PyList_New(0)))
        return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(links); i++) {
        int has = PySequence_Contains(z->links, PyTuple_GET_ITEM(links, i));
        if (has < 0 || (!has && PyList_Append(z->links, PyTuple_GET_ITEM(links, i)) < 0))
            return false;
    }
    return true;
}

/* Pairs of a name and bytes. */
static bool take_pairs(tr_frozen *z, PyObject *pairs, tr_linked *out) {
    tr_arena *a = &z->ctx->arena;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pairs); i++) {
        PyObject *pair = PyTuple_GET_ITEM(pairs, i), *bytes = PyTuple_GET_ITEM(pair, 1);
        const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(pair, 0));
        if (!name)
            return false;
        tr_link l = {tr_arena_strdup(a, name), PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes)};
        tr_vec_push(a, out, l);
    }
    return true;
}

/* Takes over what treadle.cuda._link.prepare made: a text of names, bitcode, PTX, for each function its
 * address or 0, and whether any of it asks for a thread's place. */
static bool take(tr_frozen *z, PyObject *made) {
    if (PyList_Append(z->keep, made) < 0)
        return false;
    const char *names = PyUnicode_AsUTF8(PyTuple_GET_ITEM(made, 0));
    PyObject *where = PyTuple_GET_ITEM(made, 3);
    if (!names || !take_pairs(z, PyTuple_GET_ITEM(made, 1), &z->prog->links) ||
        !take_pairs(z, PyTuple_GET_ITEM(made, 2), &z->prog->texts))
        return false;
    z->prog->links_ask_place = PyTuple_GET_ITEM(made, 4) == Py_True;
    z->prog->link_names = tr_arena_strdup(&z->ctx->arena, names);
    for (uint32_t i = 0; i < z->prog->externs.n; i++) {
        tr_extern *x = z->prog->externs.d[i];
        int64_t at = PyLong_AsLongLong(PyTuple_GET_ITEM(where, (Py_ssize_t)i));
        if (at == -1 && PyErr_Occurred())
            return false;
        x->by_address = at != 0;
        memcpy(x->table->u.a.data, &at, sizeof at);
    }
    return true;
}

bool tr_freeze_links(tr_frozen *z, const char *device) {
    if (!z->prog->externs.n)
        return true;
    PyObject *all = PyList_New(0), *m = all ? PyImport_ImportModule("treadle.cuda._link") : NULL;
    bool ok = m != NULL;
    for (uint32_t i = 0; ok && i < z->prog->externs.n; i++)
        ok = PyList_Append(all, (PyObject *)(uintptr_t)z->prog->externs.d[i]->py) == 0;
    PyObject *made = ok ? PyObject_CallMethod(m, "prepare", "OOz", z->links, all, device) : NULL;
    ok = made && take(z, made);
    Py_XDECREF(made);
    Py_XDECREF(m);
    Py_XDECREF(all);
    return ok;
}
