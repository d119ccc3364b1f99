/* Registers the private test functions of selftest.c on the module. */
#ifndef TR_EXT_SELFTEST_H
#define TR_EXT_SELFTEST_H

#include "ext/py.h"

#include <stdbool.h>

/* False with a Python exception. */
bool tr_selftest_add(PyObject *module);

#endif
