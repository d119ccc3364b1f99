/* Containers of Python's as constants of a program (constant.c). */
#ifndef TR_EXT_CONSTANT_H
#define TR_EXT_CONSTANT_H

#include "ext/py.h"

#include "ext/state.h"
#include "ty/ty.h"

/* One with the items of a list, a dict or a set, its type and its blocks, a dict's values second; a new
 * reference. NULL: it is none, its items have no type in common, or with an exception. */
PyObject *tr_constant_make(tr_state *st, PyObject *o, const tr_ty **ty, int64_t words[2]);

#endif
