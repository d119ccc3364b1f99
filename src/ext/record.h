/* Records: NumPy's structured dtypes as types, and back. */
#ifndef TR_EXT_RECORD_H
#define TR_EXT_RECORD_H

#include "ext/value.h"

/* The STRUCT that a structured dtype is. NULL: it has none, and *why says it (a text that goes on "an array
 * of ..."), or without memory an exception is set and *why NULL. Runs no code of Python's but for dtypes that
 * compiled code cannot read, whose text it asks. */
const tr_ty *tr_record_struct(tr_tytab *t, PyArray_Descr *d, const char **why);
/* The dtype of a STRUCT: a new reference; NULL with an exception. */
PyArray_Descr *tr_record_dtype(tr_state *st, const tr_ty *s);
/* Of an array or scalar of dtype void. */
PyArray_Descr *tr_record_descr(PyObject *o);
/* Keys of such; TR_K_OTHER where they are no records. */
uint32_t tr_record_array_key(PyArrayObject *a);
uint32_t tr_record_scalar_key(PyObject *o);
uint32_t tr_record_place_key(PyArrayObject *a); /* of an array without axes, as if it were its item */
/* `o`, which has the pattern's key, has its dtype. */
bool tr_record_stands_for(const tr_argk *k, PyObject *o);
/* Items of dtype d are what an array of `elem` has. */
bool tr_record_has_items(tr_state *st, PyArray_Descr *d, const tr_ty *elem);
/* Dtypes that are the same to NumPy may be of other classes, void or numpy.record, they
 * themselves or those of fields: are these not? */
bool tr_record_same_classes(PyArray_Descr *a, PyArray_Descr *b);
bool tr_record_is_writable(PyObject *scalar);

#endif
