/* Our kernels (kern.h) for one number at a time. */
#include "vmath/lanes_scalar.h"

#include "vmath/kern.h"
