/* Our kernels (kern.h) for vectors of 512 bits. */
#include "vmath/lanes_avx512f.h"

#include "vmath/kern.h"
