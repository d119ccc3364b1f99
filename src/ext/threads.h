/* The thread pool's surface in Python: threads.c. */
#ifndef TR_EXT_THREADS_H
#define TR_EXT_THREADS_H

#include "ext/py.h"

#include <stdbool.h>

/* Adds the functions to the module and sizes the pool by TREADLE_NUM_THREADS. False with a Python
 * exception. */
bool tr_threads_add(PyObject *module);

#endif
