/* Python objects for types and signatures: treadle.int32, treadle.float32[:, ::1],
 * treadle.float64(treadle.int32). */
#ifndef TR_EXT_TYPES_H
#define TR_EXT_TYPES_H

#include "ext/value.h"

/* A type of the process's table, or the type of a constant argument (then `value`, and `ty` is NULL). One
 * object per process type, so that identity, equality and hash agree. */
typedef struct tr_typeobj {
    PyObject_HEAD
    const tr_ty *ty;
    PyObject *value;
} tr_typeobj;

typedef struct tr_sigobj {
    PyObject_HEAD
    PyObject *args; /* tuple of Type */
    PyObject *ret;  /* Type or None: not declared */
} tr_sigobj;

/* A declared signature as C: argument types and return type (NULL: not declared). */
typedef struct tr_csig {
    uint32_t n;
    const tr_ty **args; /* PyMem */
    const tr_ty *ret;
} tr_csig;

bool tr_types_add(PyObject *module); /* the classes Type and Signature, and their functions */
bool tr_sig_add(PyObject *module);   /* sig.c's share of it */
/* "float64(int32, int32)" of a result and a tuple of types; without a result, None, "(int32, int32)". New
 * reference. */
PyObject *tr_sig_text(PyObject *ret, PyObject *args);
PyObject *tr_types_object(tr_state *st, const tr_ty *ty);      /* new reference */
PyObject *tr_types_of_pattern(tr_state *st, const tr_argk *k); /* new reference; constants too */
/* The text of a type or a signature: all of it, so one with a NUL in it is a TypeError. NULL with an
 * exception. */
const char *tr_types_text(PyObject *o);
/* Type, or NULL with TypeError, from what users write where a type is meant: a Type, text, None, dtypes,
 * int, float ... */
const tr_ty *tr_types_from(tr_state *st, PyObject *o);
/* Signature object, text, or tuple of argument types. */
bool tr_types_csig(tr_state *st, PyObject *o, tr_csig *out);
void tr_csig_clear(tr_csig *s);
/* The same as a Signature object: new reference. */
PyObject *tr_types_sigobj(tr_state *st, const tr_csig *c);
PyObject *tr_types_signature(tr_state *st, PyObject *o);

#endif
