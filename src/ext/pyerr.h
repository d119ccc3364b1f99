/* From Treadle's errors to Python's. */
#ifndef TR_EXT_PYERR_H
#define TR_EXT_PYERR_H

#include "ext/function.h"

/* Raises what a compilation collected in ctx (one exception for all of its errors). Always NULL. */
PyObject *tr_pyerr_raise_ctx(tr_state *st, tr_ctx *ctx, PyObject *globals);
/* Raises the exception of a raise site of compiled code, with its arguments and traceback entries in the
 * user's files. */
void tr_pyerr_raise_site(tr_function *f, const tr_meta *meta, uint32_t site, const tr_frame *frame);

#endif
