/* Launches: class Launcher, a kernel with a configuration. */
#ifndef TR_EXT_LAUNCH_H
#define TR_EXT_LAUNCH_H

#include "ext/state.h"

/* The exception of a launch that was watched, which is set, is nobody's to catch, and is set no more. */
bool tr_launch_passes(tr_state *st);
bool tr_launch_add(PyObject *module);

#endif
