/* What a program whose arrays lie on a device has of it (far.c). */
#ifndef TR_EXT_FAR_H
#define TR_EXT_FAR_H

#include "ext/state.h"

/* Of tr_host; self: the state. */
tr_far *tr_far_alloc(void *self, uint64_t bytes);
/* The DeviceMemory of a block; borrowed. */
PyObject *tr_far_block(const tr_far *far);

#endif
