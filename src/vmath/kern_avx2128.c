/* Our kernels (kern.h) for vectors of 128 bits with AVX2. */
#define VK_BITS 128
#include "vmath/lanes_avx2.h"

#include "vmath/kern.h"
