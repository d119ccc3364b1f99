/* Loop versioning by sums of values: a copy of a loop beside it, and a test before both that picks one. */
#ifndef TR_OPT_VERSION_H
#define TR_OPT_VERSION_H

#include "opt/scalar/lin.h"
#include "opt/priv.h"

/* If all of conds hold (>= 0) before the loop, the loop as it stands; else a copy of it. */
typedef struct tr_version {
    const tr_loop *loop; /* none of those given together lies in another */
    const tr_lin *conds;
    uint32_t n;
} tr_version;
/* Adds the copies' blocks to slow. Edges out of the loops and values used after them are mended. Loops and
 * analyses are out of date afterwards. */
void tr_opt_version(tr_fn *f, const tr_version *v, uint32_t n, tr_u32s *slow);
/* Can the condition be tested without overflow? */
bool tr_opt_testable(const tr_fn *f, const tr_lin *cond);

#endif
