/* The end of a frame that compiled code ran in. */
#ifndef TR_EXT_FRAME_H
#define TR_EXT_FRAME_H

#include "ext/state.h"

/* What a call leaves behind beside its result: counts, blocks, pending text, an error that print() met.
 * Returns the result or NULL. */
PyObject *tr_frame_settle(tr_state *st, tr_frame *frame, PyObject *r);
/* The exception of a launch that was watched, which is set, is nobody's to catch, and is set no more. */
bool tr_frame_passes(tr_state *st);

#endif
