/* Text of print(), as Python has it. */
#ifndef TR_EXT_PRINTED_H
#define TR_EXT_PRINTED_H

#include "ext/py.h"

/* New reference; NULL with an exception. The GIL is held. */
PyObject *tr_printed(const char *text, size_t n);

#endif
