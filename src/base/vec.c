/* Growth of arena vectors. */
#include "base/vec.h"

#include <assert.h>
#include <string.h>

void *tr_vec_grow(tr_arena *a, void *d, uint32_t n, uint32_t *cap, size_t elem) {
    assert(n == *cap && (d || !n) && elem && "a vector grows when it is full");
    uint32_t want = *cap ? *cap * 2 : 8;
    if (want <= *cap) /* 2^32 elements: ask for what no system has, and go the way of no memory */
        return tr_arena_alloc(a, SIZE_MAX);
    void *p = tr_arena_alloc(a, (size_t)want * elem);
    if (n)
        memcpy(p, d, (size_t)n * elem);
    *cap = want;
    return p;
}
