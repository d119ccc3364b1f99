/* Values as text: the arguments and results of calls that treadlec makes (docs/ir.md, "Calls"). A value is
 * the parts of its type, one slot each, as in rt/layout.h. */
#ifndef TR_MAIN_VALUES_H
#define TR_MAIN_VALUES_H

#include "base/ctx.h"
#include "rt/layout.h"
#include "ty/ty.h"

/* Reads a value of type t at *s and advances it. False with a message: position and what was expected. */
bool tr_value_read(tr_ctx *ctx, const tr_ty *t, const char **s, tr_slot *out, const char **msg);
void tr_value_write(tr_sb *b, const tr_ty *t, const tr_slot *v);

#endif
