/* The table of named tuples' classes; see ntclass.h. It holds them weakly: a class that is made anew for each call must not stay
 * for ever, and its successor takes its place and its number. */
#include "ext/ntclass.h"

#include <string.h>

#include "ext/compat.h"

typedef struct tr_ntclass {
    PyObject *ref;    /* weak reference */
    PyObject *pin;    /* the class, or NULL */
    PyObject *fields; /* its `_fields` */
    char *name;
    uint32_t serial;
} ntclass;

/* New reference; NULL when the class is gone. */
static PyObject *alive(const ntclass *c) {
    return tr_py_weakref_get(c->ref);
}

static bool lives(const ntclass *c) {
    PyObject *o = alive(c);
    Py_XDECREF(o);
    return o != NULL;
}

static PyObject *fields_of(PyObject *cls) {
    PyObject *f = PyObject_GetAttrString(cls, "_fields");
    bool ok = f && PyTuple_CheckExact(f);
    for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(f); i++)
        ok = PyUnicode_Check(PyTuple_GET_ITEM(f, i));
    if (f && !ok) {
        Py_CLEAR(f);
        PyErr_Format(PyExc_TypeError, "%R is no named tuple class", cls);
    }
    return f;
}

/* Same name and same fields; -1 with an exception. */
static int alike(const ntclass *c, const char *name, PyObject *fields) {
    return strcmp(c->name, name) != 0 ? 0 : PyObject_RichCompareBool(c->fields, fields, Py_EQ);
}

static void drop(ntclass *c) {
    Py_CLEAR(c->ref);
    Py_CLEAR(c->pin);
    Py_CLEAR(c->fields);
    PyMem_Free(c->name);
    c->name = NULL;
}

/* The entry of a class that is known already. */
static ntclass *known(tr_state *st, PyObject *cls) {
    for (uint32_t i = 0; i < st->nntclasses; i++) {
        PyObject *o = alive(&st->ntclasses[i]);
        Py_XDECREF(o); /* the caller holds `cls` */
        if (o == cls)
            return &st->ntclasses[i];
    }
    return NULL;
}

/* The smallest number that no living class of this name and these fields has; -1 with an exception. */
static int64_t free_serial(const tr_state *st, const char *name, PyObject *fields) {
    for (uint32_t serial = 0;; serial++) {
        bool taken = false;
        for (uint32_t i = 0; i < st->nntclasses && !taken; i++) {
            const ntclass *c = &st->ntclasses[i];
            int same = c->serial == serial && lives(c) ? alike(c, name, fields) : 0;
            if (same < 0)
                return -1;
            taken = same;
        }
        if (!taken)
            return serial;
    }
}

/* Room for one more: where a class is gone, or at the end. */
static ntclass *room(tr_state *st) {
    for (uint32_t i = 0; i < st->nntclasses; i++)
        if (!lives(&st->ntclasses[i])) {
            drop(&st->ntclasses[i]);
            return &st->ntclasses[i];
        }
    ntclass *p = PyMem_Realloc(st->ntclasses, (st->nntclasses + 1u) * sizeof *p);
    if (!p)
        return NULL;
    st->ntclasses = p;
    p[st->nntclasses] = (ntclass){0};
    return &p[st->nntclasses++];
}

static ntclass *enter(tr_state *st, PyObject *cls) {
    const char *name = ((PyTypeObject *)cls)->tp_name;
    PyObject *fields = fields_of(cls), *ref = fields ? PyWeakref_NewRef(cls, NULL) : NULL;
    int64_t serial = ref ? free_serial(st, name, fields) : -1;
    size_t n = strlen(name) + 1;
    char *copy = serial >= 0 ? PyMem_Malloc(n) : NULL;
    ntclass *c = copy ? room(st) : NULL;
    if (!c) {
        PyMem_Free(copy);
        Py_XDECREF(ref);
        Py_XDECREF(fields);
        if (!PyErr_Occurred())
            PyErr_NoMemory();
        return NULL;
    }
    *c = (ntclass){ref, NULL, fields, memcpy(copy, name, n), (uint32_t)serial};
    return c;
}

bool tr_ntclass_serial(tr_state *st, PyObject *cls, bool pin, uint32_t *out) {
    tr_py_section gate;
    tr_py_section_begin(&gate, st->gate);
    ntclass *c = known(st, cls);
    if (!c)
        c = enter(st, cls);
    if (c && pin && !c->pin)
        c->pin = Py_NewRef(cls);
    if (c)
        *out = c->serial;
    tr_py_section_end(&gate);
    return c != NULL;
}

const tr_ty *tr_ntclass_type(tr_tytab *t, PyObject *cls, uint32_t serial, uint32_t n,
                             const tr_ty *const *items) {
    PyObject *fields = fields_of(cls);
    if (!fields)
        return NULL;
    const tr_ty *ty = NULL;
    const char **names = PyMem_Calloc(n + 1u, sizeof *names);
    bool ok = names && PyTuple_GET_SIZE(fields) == (Py_ssize_t)n;
    for (uint32_t i = 0; ok && i < n; i++)
        ok = (names[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(fields, i))) != NULL;
    if (ok)
        ty = tr_ty_named_tuple(t, ((PyTypeObject *)cls)->tp_name, serial, n, items, names);
    else if (!names)
        PyErr_NoMemory();
    else if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%R is no named tuple class with %u fields", cls, n);
    PyMem_Free(names);
    Py_DECREF(fields);
    return ty;
}

/* Names as Python compares them, whatever their characters. */
static bool names_fit(PyObject *fields, const tr_ty *ty) {
    if (PyTuple_GET_SIZE(fields) != (Py_ssize_t)ty->n)
        return false;
    for (uint32_t i = 0; i < ty->n; i++) {
        const char *s = PyUnicode_AsUTF8(PyTuple_GET_ITEM(fields, i));
        if (!s)
            PyErr_Clear();
        if (!s || strcmp(s, ty->fields[i]) != 0)
            return false;
    }
    return true;
}

static PyObject *find(const tr_state *st, const tr_ty *ty) {
    for (uint32_t i = 0; i < st->nntclasses; i++) {
        const ntclass *c = &st->ntclasses[i];
        if (!c->name || c->serial != ty->serial || strcmp(c->name, ty->name) != 0 ||
            !names_fit(c->fields, ty))
            continue;
        PyObject *o = alive(c);
        if (o)
            return o;
    }
    return NULL;
}

PyObject *tr_ntclass_find(const tr_state *st, const tr_ty *ty) {
    tr_py_section gate;
    tr_py_section_begin(&gate, st->gate);
    PyObject *cls = find(st, ty);
    tr_py_section_end(&gate);
    return cls;
}

int tr_ntclass_visit(const tr_state *st, visitproc visit, void *arg) {
    for (uint32_t i = 0; i < st->nntclasses; i++) {
        Py_VISIT(st->ntclasses[i].ref);
        Py_VISIT(st->ntclasses[i].pin);
        Py_VISIT(st->ntclasses[i].fields);
    }
    return 0;
}

void tr_ntclass_clear(tr_state *st) {
    for (uint32_t i = 0; i < st->nntclasses; i++)
        drop(&st->ntclasses[i]);
    PyMem_Free(st->ntclasses);
    st->ntclasses = NULL;
    st->nntclasses = 0;
}
