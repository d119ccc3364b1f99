/* NumPy's functions that sort, handed to the runtime (sorts.c). */
#ifndef TR_EXT_SORTS_H
#define TR_EXT_SORTS_H

#include <stdbool.h>

#include "ext/py.h"

/* Once for the process, with NumPy's API imported. False: a Python exception is set. */
bool tr_sorts_find(void);

#endif
