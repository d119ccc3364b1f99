/* What stands for the length of a range, computed: see expand.c. */
#ifndef TR_OPT_EXPAND_H
#define TR_OPT_EXPAND_H

#include "ir/ir.h"

/* Makes a choice of a `rangelen`, `some ? count : 0`, with what computes both before it. */
void tr_expand_range(tr_fn *f, tr_val v);

#endif
