/* Memory of a kernel's that begins at a multiple of some number, and the place of the thread that is at work,
 * for functions of others that ask for it, threadIdx and its kin of CUDA C: told before such a function is
 * called, on the thread of the host's that calls it.
 * Cost: a call and twelve stores; told only where something that is linked asks. */
#include "rt/fns.h"

static _Thread_local uint32_t now[12]; /* x, y, z of the thread, its block, a block's size, the grid's */

static void put_small(uint32_t *to, uint64_t packed) {
    for (int k = 0; k < 3; k++)
        to[k] = packed >> 16 * k & 0xffff;
}

static void put_large(uint32_t *to, uint64_t packed) {
    to[0] = (uint32_t)packed;
    to[1] = packed >> 32 & 0xffff;
    to[2] = (uint32_t)(packed >> 48);
}

void tr_rt_place(int64_t thread, int64_t block, int64_t block_size, int64_t grid_size) {
    put_small(now, (uint64_t)thread);
    put_large(now + 3, (uint64_t)block);
    put_small(now + 6, (uint64_t)block_size);
    put_large(now + 9, (uint64_t)grid_size);
}

int64_t tr_rt_align(const void *owner, const void *data, int64_t n, int64_t to) {
    (void)owner;
    (void)n;
    return (int64_t)(-(uintptr_t)data & (uintptr_t)(to - 1));
}

uint32_t tr_rt_placed(int32_t k) {
    return now[(uint32_t)k % 12];
}
