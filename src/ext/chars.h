/* Arrays of NumPy's fixed-width strings, dtypes S and U: keys, parts, and back. */
#ifndef TR_EXT_CHARS_H
#define TR_EXT_CHARS_H

#include "ext/value.h"

/* The dtype is of these, of this machine's byte order or not. */
static inline bool tr_npchars_is_dtype(const PyArray_Descr *d) {
    return d->type_num == NPY_STRING || d->type_num == NPY_UNICODE;
}
/* 'S' or 'U' for what compiled code reads, else 0. */
char tr_npchars_letter(const PyArray_Descr *d);
/* Key of an array of such a dtype; TR_K_OTHER where compiled code cannot read it. */
uint32_t tr_npchars_key(PyArrayObject *a);
const tr_ty *tr_npchars_of_key(tr_tytab *t, uint32_t key);
/* Writes the parts of the array as a CHARS. */
void tr_npchars_parts(PyArrayObject *a, const tr_ty *ty, tr_slot **at);
/* The dtype of items of so many bytes: a new reference, NULL with an exception. */
PyArray_Descr *tr_npchars_dtype(bool wide, npy_intp bytes);

#endif
