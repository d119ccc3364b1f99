/* Loops of our own for small matrices (small.c), in place of those that call LAPACK. */
#ifndef TR_RT_SMALL_H
#define TR_RT_SMALL_H

#include "rt/layout.h"

/* What takes the place of the loop of numpy.linalg._umath_linalg of this name, for float64, up to
 * TR_SMALL_MOST rows. NULL: nothing does. */
tr_small_fn *tr_rt_small(const char *name);

#endif
