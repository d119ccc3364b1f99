/* Numbers across the border, both ways (number.c). */
#ifndef TR_EXT_NUMBER_H
#define TR_EXT_NUMBER_H

#include "ext/state.h"

/* Writes a number, which is of no higher class than `ty`, as one of that type at *at and advances it. False
 * with an exception that names the argument. */
bool tr_number_unbox(tr_state *st, PyObject *o, const tr_ty *ty, const char *fn, const char *arg,
                     tr_slot **at);
/* int that does not fit: OverflowError that names the argument. Always false. */
bool tr_number_overflow(PyObject *o, const tr_ty *ty, const char *fn, const char *arg);
/* Python's number: a new reference; advances *at. */
PyObject *tr_number_box(const tr_ty *ty, const tr_slot **at);

#endif
