/* From Treadle's errors to Python's. */
#ifndef TR_EXT_PYERR_H
#define TR_EXT_PYERR_H

#include "ext/function.h"

/* Raises what a compilation collected in ctx (one exception for all of its errors). Always NULL. */
PyObject *tr_pyerr_raise_ctx(tr_ctx *ctx, PyObject *globals);
/* Raises what `code`, the result of compiled code, says: the exception of a raise site, with its arguments,
 * or one of the runtime's own (TR_CODES). Traceback entries lie in the user's files. */
void tr_pyerr_raise_code(tr_function *f, const tr_meta *meta, int32_t code, const tr_frame *frame);
/* The exception of a launch that was watched says where it was, and what was found (watch.c). */
void tr_pyerr_watched(const tr_frame *frame);
/* One that ended well may be worth a warning; false with an exception, which a warning may be. */
bool tr_pyerr_watched_well(const tr_frame *frame);
/* Calls `ran` with the parts of its arguments that a watched launch read and wrote: (first
 * byte, that behind the last, written). */
void tr_pyerr_touched(const tr_frame *frame, PyObject *ran);
/* The exception of a negative code, without traceback entries. */
void tr_pyerr_raise_reason(int32_t code);

/* Class `name` of treadle.errors: new reference. NULL with an exception when the package is broken. */
PyObject *tr_pyerr_class(const char *name);

#endif
