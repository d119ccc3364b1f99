/* Growable arrays in an arena. `TR_VEC(T) v = {0}` is an empty one; elements are v.d[0 .. v.n).
 * Cost: doubling; the old storage stays in the arena until it ends. */
#ifndef TR_BASE_VEC_H
#define TR_BASE_VEC_H

#include <stdint.h>

#include "base/arena.h"

#define TR_VEC(T)        \
    struct {             \
        T *d;            \
        uint32_t n, cap; \
    }

/* Makes room for one more element and returns the storage to use. */
void *tr_vec_grow(tr_arena *a, void *d, uint32_t n, uint32_t *cap, size_t elem);

#define tr_vec_push(a, v, ...)                                                    \
    do {                                                                          \
        if ((v)->n == (v)->cap)                                                   \
            (v)->d = tr_vec_grow((a), (v)->d, (v)->n, &(v)->cap, sizeof *(v)->d); \
        (v)->d[(v)->n++] = (__VA_ARGS__);                                         \
    } while (0)

typedef TR_VEC(uint32_t) tr_u32s;

#endif
