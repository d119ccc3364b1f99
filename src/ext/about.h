/* Registers _about (about.c) on the module. */
#ifndef TR_EXT_ABOUT_H
#define TR_EXT_ABOUT_H

#include "ext/py.h"

#include <stdbool.h>

/* False with a Python exception. */
bool tr_about_add(PyObject *module);

#endif
