/* treadle.typed.List (typed.c). */
#ifndef TR_EXT_TYPED_H
#define TR_EXT_TYPED_H

#include "ext/py.h"

#include <stdbool.h>

bool tr_typed_add(PyObject *module); /* the class TypedList */

#endif
