/* The classes of treadle.typed (typed.c, typed_table.c). */
#ifndef TR_EXT_TYPED_H
#define TR_EXT_TYPED_H

#include "ext/py.h"

#include <stdbool.h>

bool tr_typed_add(PyObject *module);        /* the class TypedList */
bool tr_typed_tables_add(PyObject *module); /* TypedDict and TypedSet */

#endif
