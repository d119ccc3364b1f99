/* functools.partial at Python's border: objects of it, and of the class of functions that compiled code made
 * (treadle._closure), which is derived from it, as arguments and as results. */
#ifndef TR_EXT_PARTIAL_H
#define TR_EXT_PARTIAL_H

#include "ext/state.h"

/* What it calls, a tuple of its first arguments, those by keyword: names and values. */
enum { TR_PARTIAL_FUNC, TR_PARTIAL_ARGS, TR_PARTIAL_NAMES, TR_PARTIAL_VALUES, TR_PARTIAL_PARTS };

bool tr_partial_add(tr_state *st); /* finds the class; false with an exception */
bool tr_partial_is(const tr_state *st, PyObject *o);
/* New references. False with an exception. */
bool tr_partial_parts(PyObject *o, PyObject *out[TR_PARTIAL_PARTS]);
void tr_partial_clear(PyObject *part[TR_PARTIAL_PARTS]);
/* Of a tuple: what it calls, the tuple of its first arguments, a dict of those by keyword. */
PyObject *tr_partial_new(tr_state *st, PyObject *parts);

#endif
