/* Our kernels (kern.h) for vectors of 256 bits with AVX2. */
#define VK_BITS 256
#include "vmath/lanes_avx2.h"

#include "vmath/kern.h"
