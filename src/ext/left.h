/* Exceptions that C loops of others leave behind (left.c). */
#ifndef TR_EXT_LEFT_H
#define TR_EXT_LEFT_H

#include "ext/py.h"
#include "rt/rt.h"

struct tr_state;
/* What a table of loops asks of its host; all but the classes. */
void tr_left_fill(tr_cloops *t, struct tr_state *st);
/* The exception that the payload names, a new reference, or NULL with another one. */
PyObject *tr_left_exception(const tr_frame *f, int64_t payload);

#endif
