/* Launches: class Launcher, a kernel with a configuration. */
#ifndef TR_EXT_LAUNCH_H
#define TR_EXT_LAUNCH_H

#include "ext/state.h"

bool tr_launch_add(PyObject *module);

#endif
