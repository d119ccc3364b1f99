/* Loop versioning: a copy of a loop beside it, and a test before both that picks one. */
#ifndef TR_OPT_VERSION_H
#define TR_OPT_VERSION_H

#include "opt/lin.h"
#include "opt/priv.h"

/* Before the loop: if all of conds hold (>= 0), the loop as it stands; else a copy of it, whose blocks are added to slow.
 * Edges out of the loop and values used after it are mended. Analyses are out of date afterwards. */
void tr_opt_version(tr_fn *f, const tr_loop *l, const tr_lin *conds, uint32_t n, tr_u32s *slow);
/* Can the condition be tested without overflow? */
bool tr_opt_testable(const tr_fn *f, const tr_lin *cond);

#endif
