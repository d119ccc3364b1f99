/* What a program whose arrays lie on a device has of it (far.c). */
#ifndef TR_EXT_FAR_H
#define TR_EXT_FAR_H

#include "ext/state.h"

/* A block. */
typedef struct tr_farblock {
    tr_far far;
    PyObject *mem; /* DeviceMemory; strong */
} tr_farblock;

/* Of tr_host; self: the state. */
tr_far *tr_far_alloc(void *self, uint64_t bytes);
int32_t tr_far_launch(void *self, tr_late *l, const tr_slot *slots, uint32_t n);
int32_t tr_far_fetch(void *self, void *to, const void *from, uint64_t bytes);
/* This thread runs the Function now: it is whose kernels are compiled. False with an exception. */
bool tr_far_begin(PyObject *fn);

#endif
