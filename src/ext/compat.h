/* What differs between CPython versions, in one place: each function has one meaning on all of them. */
#ifndef TR_EXT_COMPAT_H
#define TR_EXT_COMPAT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ext/py.h"

/* The value of an exact int that fits one word of its digits, as nearly all do; false: ask PyLong. */
static inline bool tr_py_small_int(PyObject *o, int64_t *out) {
#if PY_VERSION_HEX >= 0x030C0000
    bool small = PyUnstable_Long_IsCompact((PyLongObject *)o);
    if (small)
        *out = PyUnstable_Long_CompactValue((PyLongObject *)o);
    return small;
#else
    Py_ssize_t size = Py_SIZE(o);
    *out = size * (int64_t)((PyLongObject *)o)->ob_digit[0];
    return size >= -1 && size <= 1;
#endif
}

/* The exception under way, with its traceback, and none is under way any more. */
static inline PyObject *tr_py_fetch(void) {
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *tb;
    PyErr_Fetch(&type, &value, &tb);
    PyErr_NormalizeException(&type, &value, &tb);
    if (value && tb)
        PyException_SetTraceback(value, tb);
    Py_XDECREF(type);
    Py_XDECREF(tb);
    return value;
#endif
}

/* The thread of this state, which need not hold the GIL but is the caller's own, has an
 * exception under way. */
static inline bool tr_py_has_raised(const PyThreadState *ts) {
#if PY_VERSION_HEX >= 0x030C0000
    return ts->current_exception != NULL;
#else
    return ts->curexc_type != NULL;
#endif
}

/* It is under way again; steals it. */
static inline void tr_py_restore(PyObject *exc) {
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(exc);
#else
    PyErr_Restore(exc ? Py_NewRef((PyObject *)Py_TYPE(exc)) : NULL, exc,
                  exc ? PyException_GetTraceback(exc) : NULL);
#endif
}

/* What a weak reference refers to, as a new reference; NULL without an exception when it is gone. */
static inline PyObject *tr_py_weakref_get(PyObject *ref) {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *o = NULL;
    if (PyWeakref_GetRef(ref, &o) < 0)
        PyErr_Clear();
    return o;
#else
    PyObject *o = PyWeakref_GetObject(ref);
    return o == Py_None ? NULL : Py_NewRef(o);
#endif
}

/* What a dict has for a key, as a new reference. NULL without an exception: nothing. */
static inline PyObject *tr_py_dict_get(PyObject *d, PyObject *key) {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *o = NULL;
    PyDict_GetItemRef(d, key, &o);
    return o;
#else
    return Py_XNewRef(PyDict_GetItemWithError(d, key));
#endif
}

/* The same for a text; never an exception. */
static inline PyObject *tr_py_dict_get_text(PyObject *d, const char *key) {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *o = NULL;
    if (PyDict_GetItemStringRef(d, key, &o) < 0)
        PyErr_Clear();
    return o;
#else
    return Py_XNewRef(PyDict_GetItemString(d, key));
#endif
}

/* sys.stdout as it is now, as a new reference; NULL without an exception: there is none. */
static inline PyObject *tr_py_stdout(void) {
#if PY_VERSION_HEX >= 0x030F0000
    PyObject *out = NULL;
    if (PySys_GetOptionalAttrString("stdout", &out) < 0)
        PyErr_Clear();
    return out;
#elif defined(Py_GIL_DISABLED) /* another thread may be replacing it */
    PyObject *sys = PyImport_ImportModule("sys"), *out = sys ? PyObject_GetAttrString(sys, "stdout") : NULL;
    PyErr_Clear();
    Py_XDECREF(sys);
    return out;
#else
    return Py_XNewRef(PySys_GetObject("stdout"));
#endif
}

/* From 3.15 on a global may stand for something that is imported when it is first used (PEP 810). */
static inline bool tr_py_is_lazy_import(PyObject *o) {
#if PY_VERSION_HEX >= 0x030F0000
    return !(Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE) && strcmp(Py_TYPE(o)->tp_name, "lazy_import") == 0;
#else
    (void)o;
    return false;
#endif
}

/* Between the two one thread at a time, as under the GIL; and as there, another gets its turn wherever this
 * one waits, lets go of Python, or calls what does. So sections may be nested, and no order of locks can be
 * wrong. Nothing where there is a GIL. */
#ifdef Py_GIL_DISABLED
typedef PyCriticalSection tr_py_section;
static inline void tr_py_section_begin(tr_py_section *s, PyObject *gate) {
    PyCriticalSection_Begin(s, gate);
}
static inline void tr_py_section_end(tr_py_section *s) {
    PyCriticalSection_End(s);
}
#else
typedef char tr_py_section;
static inline void tr_py_section_begin(tr_py_section *s, PyObject *gate) {
    (void)s;
    (void)gate;
}
static inline void tr_py_section_end(tr_py_section *s) {
    (void)s;
}
#endif

/* Slots that a module has only on some versions; they stand in a list of slots. */
#if PY_VERSION_HEX >= 0x030C0000
#define TR_PY_ONE_INTERPRETER {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#else
#define TR_PY_ONE_INTERPRETER
#endif
#if PY_VERSION_HEX >= 0x030E0000 /* 3.13 has it too, but nothing is tested there without the GIL */
#define TR_PY_NO_GIL {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#else
#define TR_PY_NO_GIL
#endif

#endif
