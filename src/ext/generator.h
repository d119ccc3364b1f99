/* np.random.Generator objects as arguments of compiled code. */
#ifndef TR_EXT_GENERATOR_H
#define TR_EXT_GENERATOR_H

#include "ext/state.h"

/* It is one, of NumPy's own class; its class is made of that one. Never sets an exception. */
bool tr_generator_is(PyObject *o);
bool tr_generator_derives(PyObject *o);
/* Which bit generator one has: TR_GEN_*. Never sets an exception. */
uint32_t tr_generator_which(tr_state *st, PyObject *o);
/* The type of one that has that bit generator. */
const tr_ty *tr_generator_type(tr_tytab *types, uint32_t which);
/* Its parts (ty/kinds.def) at *at, which is advanced. False with an exception that names the argument. */
bool tr_generator_read(tr_state *st, PyObject *o, const char *fn, const char *arg, tr_slot **at);

#endif
