/* Which class a named tuple's type stands for.
 *
 * Types live as long as the process and know no objects, so a class has a number among the living ones with
 * its name and its fields: 0 for the first. Programs that make their classes in one order get the same
 * numbers, so cached code is found again.
 * Cost: a walk over the classes met so far, when something is
 * compiled and when a named tuple is returned. */
#ifndef TR_EXT_NTCLASS_H
#define TR_EXT_NTCLASS_H

#include "ext/state.h"

/* Number of a class with `_fields`, all of them text; `pin` keeps it alive as long as the module. False with
 * an exception. */
bool tr_ntclass_serial(tr_state *st, PyObject *cls, bool pin, uint32_t *out);
/* The type of a class with that number and these items; NULL with an exception, also when there are not as
 * many fields. */
const tr_ty *tr_ntclass_type(tr_tytab *t, PyObject *cls, uint32_t serial, uint32_t n,
                             const tr_ty *const *items);
/* The class of a type: new reference; NULL, without an exception, when it is gone. */
PyObject *tr_ntclass_find(const tr_state *st, const tr_ty *ty);
int tr_ntclass_visit(const tr_state *st, visitproc visit, void *arg);
void tr_ntclass_clear(tr_state *st);

#endif
