/* The table of named tuples' classes; see ntclass.h. It holds them weakly: a class that is made anew for each
 * call must not stay for ever, and its successor takes its place and its number. */
#include "ext/ntclass.h"

#include <assert.h>
#include <string.h>

#include "ext/compat.h"

typedef struct tr_ntclass {
    PyObject *ref;    /* weak reference */
    const void *id;   /* address of what it refers to */
    PyObject *pin;    /* the class, or NULL */
    PyObject *fields; /* its `_fields` */
    char *name;
    uint32_t serial;
} ntclass;

/* New reference; NULL when the class is gone. To let go of the last one may run code that comes back here. */
static PyObject *alive(const ntclass *c) {
    return tr_py_weakref_get(c->ref);
}

/* A tuple of texts whose UTF-8 is there already, where they have one: who reads them later runs no code of
 * Python's. New reference. */
static PyObject *fields_of(PyObject *cls) {
    PyObject *f = PyObject_GetAttrString(cls, "_fields");
    bool ok = f && PyTuple_CheckExact(f);
    for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(f); i++)
        if ((ok = PyUnicode_Check(PyTuple_GET_ITEM(f, i))) && !PyUnicode_AsUTF8(PyTuple_GET_ITEM(f, i)))
            PyErr_Clear();
    if (f && !ok) {
        Py_CLEAR(f);
        PyErr_Format(PyExc_TypeError, "%R is no named tuple class", cls);
    }
    return f;
}

/* Same name and same fields, by their characters. */
static bool class_has_fields(const ntclass *c, const char *name, PyObject *fields) {
    Py_ssize_t n = PyTuple_GET_SIZE(fields);
    bool same = strcmp(c->name, name) == 0 && PyTuple_GET_SIZE(c->fields) == n;
    for (Py_ssize_t i = 0; same && i < n; i++)
        same = PyUnicode_Compare(PyTuple_GET_ITEM(c->fields, i), PyTuple_GET_ITEM(fields, i)) == 0;
    return same;
}

static void drop(ntclass *c) {
    Py_CLEAR(c->ref);
    Py_CLEAR(c->pin);
    Py_CLEAR(c->fields);
    PyMem_Free(c->name);
    c->name = NULL;
}

/* The entry of a class that is known already. Runs no code: what it lets go of is `cls`, which the caller
 * holds. */
static ntclass *known(tr_state *st, PyObject *cls) {
    for (uint32_t i = 0; i < st->nntclasses; i++) {
        PyObject *o = st->ntclasses[i].id == cls ? alive(&st->ntclasses[i]) : NULL;
        Py_XDECREF(o);
        if (o)
            return &st->ntclasses[i];
    }
    return NULL;
}

/* The smallest number that no living class of this name and these fields has. */
static uint32_t free_serial(const tr_state *st, PyObject *const *living, const ntclass *new) {
    for (uint32_t serial = 0;; serial++) {
        bool taken = false;
        for (uint32_t i = 0; i < st->nntclasses && !taken; i++) {
            const ntclass *c = &st->ntclasses[i];
            taken = living[i] && c->serial == serial && class_has_fields(c, new->name, new->fields);
        }
        if (!taken)
            return serial;
    }
}

/* The whole entry but its number. On failure with what it has, for drop. */
static bool describe(PyObject *cls, ntclass *new) {
    *new = (ntclass){.id = cls, .fields = fields_of(cls)};
    if (!new->fields || !(new->ref = PyWeakref_NewRef(cls, NULL)))
        return false;
    const char *name = ((PyTypeObject *)cls)->tp_name; /* copied before it can be another */
    size_t n = strlen(name) + 1;
    if ((new->name = PyMem_Malloc(n)))
        memcpy(new->name, name, n);
    else
        PyErr_NoMemory();
    return new->name != NULL;
}

/* Puts *new where a class is gone, or at the end; *new is then what was there. `living` has room for all
 * there are, and gets a reference to each that lives. Runs no code: those references go later. */
static bool place(tr_state *st, ntclass *new, PyObject **living) {
    uint32_t at = st->nntclasses;
    for (uint32_t i = 0; i < st->nntclasses; i++)
        if (!(living[i] = alive(&st->ntclasses[i])))
            at = i;
    if (at == st->nntclasses) {
        ntclass *p = PyMem_Realloc(st->ntclasses, (at + 1u) * sizeof *p);
        if (!p) {
            PyErr_NoMemory();
            return false;
        }
        st->ntclasses = p;
        p[at] = (ntclass){0};
    }
    assert(at <= st->nntclasses && "a class takes a place that is free, or the next one");
    new->serial = free_serial(st, living, new);
    st->nntclasses += at == st->nntclasses;
    ntclass old = st->ntclasses[at];
    st->ntclasses[at] = *new;
    *new = old;
    return true;
}

/* Adds the class, unless it was added while its fields were read. */
static bool enter(tr_state *st, PyObject *cls) {
    ntclass new;
    bool ok = describe(cls, &new);
    if (ok && !known(st, cls)) {
        uint32_t n = st->nntclasses;
        PyObject **living = PyMem_Calloc(n + 1u, sizeof *living);
        ok = living && place(st, &new, living);
        if (!living)
            PyErr_NoMemory();
        for (uint32_t i = 0; living && i < n; i++)
            Py_XDECREF(living[i]);
        PyMem_Free(living);
    }
    drop(&new);
    return ok;
}

bool tr_ntclass_serial(tr_state *st, PyObject *cls, bool pin, uint32_t *out) {
    tr_py_section gate;
    tr_py_section_begin(&gate, st->gate);
    bool ok = known(st, cls) || enter(st, cls);
    ntclass *c = ok ? known(st, cls) : NULL;
    if (c && pin && !c->pin)
        c->pin = Py_NewRef(cls);
    if (c)
        *out = c->serial;
    assert((ok ? c != NULL : PyErr_Occurred() != NULL) && "a class that was entered is known");
    tr_py_section_end(&gate);
    return ok;
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
    assert((ty || PyErr_Occurred()) && "a class without a type has raised");
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
        if (c->serial != ty->serial || strcmp(c->name, ty->name) != 0 || !names_fit(c->fields, ty))
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
