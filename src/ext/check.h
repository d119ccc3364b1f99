/* What the files of this folder rely on where they meet Python, as questions that assertions
 * ask: nothing of it is in a release. */
#ifndef TR_EXT_CHECK_H
#define TR_EXT_CHECK_H

#include <assert.h>
#include <stdbool.h>

#include "ext/py.h"

/* The thread has the interpreter: with the GIL, where there is one. */
static inline bool tr_py_is_held(void) {
    return PyGILState_Check();
}

/* An exception is set just where a result says so. */
static inline bool tr_py_agrees(bool ok) {
    return ok == !PyErr_Occurred();
}

#endif
