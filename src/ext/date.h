/* Dates: NumPy's datetime64 and timedelta64 as types, and back. */
#ifndef TR_EXT_DATE_H
#define TR_EXT_DATE_H

#include "ext/value.h"

/* The DATE that a dtype is; NULL: it is another dtype, or its unit is none that is
 * compiled. Byte order is not asked. */
const tr_ty *tr_date_type(tr_tytab *t, PyArray_Descr *d);
/* The dtype of a DATE: a new reference; NULL with an exception. */
PyArray_Descr *tr_date_dtype(tr_state *st, const tr_ty *date);
/* Keys of arrays and scalars of such dtypes; TR_K_OTHER where compiled code cannot read them. */
uint32_t tr_date_array_key(PyArrayObject *a);
uint32_t tr_date_scalar_key(PyObject *o);
/* The DATE that a key's bits 8 to 15 say. */
const tr_ty *tr_date_of_key(tr_tytab *t, uint32_t key);
bool tr_date_is_same(const PyArray_Descr *a,
                     const PyArray_Descr *b); /* both are dates', of one unit and byte order */
static inline bool tr_date_is_dtype(const PyArray_Descr *d) {
    return d->type_num == NPY_DATETIME || d->type_num == NPY_TIMEDELTA;
}

#endif
