/* An array of another package: the functions of DLPack's table for C of a class whose objects say by
 * their attribute `at` where a `foreign` is.
 *
 * The layouts are the test's (tests/py/exchange.py): what is handed out are its bytes, so
 * nothing here repeats what is tested. */
#include <Python.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct foreign {
    const void *tensor, *managed; /* the second with `foreign_over` as its deleter */
    size_t tensor_bytes, managed_bytes;
    int refuses; /* to be looked at: 1: BufferError; 2: KeyError, also to be given */
} foreign;

EXPORT struct {
    unsigned looks, gives, streams, alive;
    void *stream; /* the current one */
} foreign_told;

typedef struct given {
    PyObject *owner;
    size_t unused; /* what is handed out lies at a multiple of 16 */
    char managed[];
} given;

static const foreign *of(PyObject *o) {
    PyObject *at = PyObject_GetAttrString(o, "at");
    const foreign *f = at ? PyLong_AsVoidPtr(at) : NULL;
    Py_XDECREF(at);
    return f;
}

EXPORT int foreign_look(PyObject *o, void *out) {
    const foreign *f = of(o);
    foreign_told.looks++;
    if (!f)
        return -1;
    if (f->refuses) {
        PyErr_SetString(f->refuses == 1 ? PyExc_BufferError : PyExc_KeyError, "it is not looked at");
        return -1;
    }
    memcpy(out, f->tensor, f->tensor_bytes);
    return 0;
}

EXPORT int foreign_give(PyObject *o, void **out) {
    const foreign *f = of(o);
    given *g = f ? malloc(sizeof *g + f->managed_bytes) : NULL;
    foreign_told.gives++;
    if (f && f->refuses == 2)
        PyErr_SetString(PyExc_KeyError, "it is not given");
    else if (f && !g)
        PyErr_NoMemory();
    if (PyErr_Occurred()) {
        free(g);
        return -1;
    }
    memcpy(g->managed, f->managed, f->managed_bytes);
    g->owner = Py_NewRef(o);
    foreign_told.alive++;
    *out = g->managed;
    return 0;
}

/* It may be called with an exception under way, as a careless one would be: what it calls
 * then clears that. */
EXPORT void foreign_over(void *managed) {
    given *g = (given *)((char *)managed - offsetof(given, managed));
    PyGILState_STATE gil = PyGILState_Ensure();
    PyErr_Clear();
    Py_DECREF(g->owner);
    foreign_told.alive--;
    free(g);
    PyGILState_Release(gil);
}

EXPORT int foreign_stream(int kind, int id, void **out) {
    (void)kind;
    (void)id;
    foreign_told.streams++;
    *out = foreign_told.stream;
    return 0;
}
