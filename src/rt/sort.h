/* What sorting and selecting share (sort.c, select.c): items and their order, and lines of
 * them that lie any distance apart. */
#ifndef TR_RT_SORT_H
#define TR_RT_SORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "rt/fns.h"

/* Functions that sort n items that lie side by side, or the places of such items, as NumPy has them for its
 * dtypes: 0, or less for want of memory. The last argument is for none of our types. */
typedef int tr_sort_fn(void *items, intptr_t n, void *unused);
typedef int tr_argsort_fn(void *items, intptr_t *places, intptr_t n, void *unused);
typedef struct tr_sorts {
    tr_sort_fn *sort[TR_SORT__TYPES][TR_SORT__HOWS];
    tr_argsort_fn *argsort[TR_SORT__TYPES][TR_SORT__HOWS];
} tr_sorts;

/* From now on these sort instead of our own; the first call alone counts. Entries that are NULL stay ours. */
void tr_rt_sorts_set(const tr_sorts *s);

/* --- items --- */

typedef struct tr_item_half {
    uint16_t bits;
} tr_item_half;
typedef struct tr_item_c64 {
    float re, im;
} tr_item_c64;
typedef struct tr_item_c128 {
    double re, im;
} tr_item_c128;

/* X(name, type, less, is NaN, less where there is no NaN): NumPy's order, in which NaN
 * comes after all others. A bool is a u8. */
#define TR_SORT_ITEMS(X)                                                  \
    X(i8, int8_t, TR_LESS_PLAIN, TR_NAN_NONE, TR_LESS_PLAIN)              \
    X(u8, uint8_t, TR_LESS_PLAIN, TR_NAN_NONE, TR_LESS_PLAIN)             \
    X(i16, int16_t, TR_LESS_PLAIN, TR_NAN_NONE, TR_LESS_PLAIN)            \
    X(u16, uint16_t, TR_LESS_PLAIN, TR_NAN_NONE, TR_LESS_PLAIN)           \
    X(i32, int32_t, TR_LESS_PLAIN, TR_NAN_NONE, TR_LESS_PLAIN)            \
    X(u32, uint32_t, TR_LESS_PLAIN, TR_NAN_NONE, TR_LESS_PLAIN)           \
    X(i64, int64_t, TR_LESS_PLAIN, TR_NAN_NONE, TR_LESS_PLAIN)            \
    X(u64, uint64_t, TR_LESS_PLAIN, TR_NAN_NONE, TR_LESS_PLAIN)           \
    X(f16, tr_item_half, tr_less_half, tr_nan_half, tr_less_half)         \
    X(f32, float, TR_LESS_FLOAT, TR_NAN_FLOAT, TR_LESS_PLAIN)             \
    X(f64, double, TR_LESS_FLOAT, TR_NAN_FLOAT, TR_LESS_PLAIN)            \
    X(c64, tr_item_c64, TR_LESS_COMPLEX, TR_NAN_COMPLEX, TR_LESS_COMPLEX) \
    X(c128, tr_item_c128, TR_LESS_COMPLEX, TR_NAN_COMPLEX, TR_LESS_COMPLEX)
/* Of each TR_SORT_* which of those. */
#define TR_SORT_TABLE(name)                                                              \
    {                                                                                    \
        [TR_SORT_BOOL] = name(u8), [TR_SORT_I8] = name(i8), [TR_SORT_U8] = name(u8),     \
        [TR_SORT_I16] = name(i16), [TR_SORT_U16] = name(u16), [TR_SORT_I32] = name(i32), \
        [TR_SORT_U32] = name(u32), [TR_SORT_I64] = name(i64), [TR_SORT_U64] = name(u64), \
        [TR_SORT_F16] = name(f16), [TR_SORT_F32] = name(f32), [TR_SORT_F64] = name(f64), \
        [TR_SORT_C64] = name(c64), [TR_SORT_C128] = name(c128)                           \
    }

/* Without jumps, as a loop of ours may be about half of the answers. */
#define TR_LESS_PLAIN(a, b) ((a) < (b))
#define TR_NAN_NONE(a)      ((void)(a), 0)
#define TR_LESS_FLOAT(a, b) (((a) < (b)) | (((b) != (b)) & ((a) == (a))))
#define TR_NAN_FLOAT(a)     ((a) != (a))
/* By real parts, then by imaginary ones. Behind numbers come those whose imaginary part is NaN, then
 * those whose real part is, then both. */
#define TR_LESS_COMPLEX(a, b)                                                                         \
    ((a).re < (b).re   ? ((a).im == (a).im) | ((b).im != (b).im)                                      \
     : (a).re > (b).re ? ((b).im != (b).im) & ((a).im == (a).im)                                      \
     : ((a).re == (b).re) | (((a).re != (a).re) & ((b).re != (b).re)) ? TR_LESS_FLOAT((a).im, (b).im) \
                                                                      : (b).re != (b).re)
#define TR_NAN_COMPLEX(a) (((a).re != (a).re) | ((a).im != (a).im))

static inline int tr_nan_half(tr_item_half a) {
    return (a.bits & 0x7fff) > 0x7c00;
}
/* Its value as an integer in the same order; both zeros are 0. */
static inline int tr_half_key(tr_item_half a) {
    int m = a.bits & 0x7fff, minus = -(a.bits >> 15);
    return m > 0x7c00 ? 0x8000 : (m ^ minus) - minus;
}
static inline int tr_less_half(tr_item_half a, tr_item_half b) {
    return tr_half_key(a) < tr_half_key(b);
}

static inline int64_t tr_sort_size(int64_t type) {
    static const uint8_t sizes[TR_SORT__TYPES] = {
        [TR_SORT_BOOL] = 1, [TR_SORT_I8] = 1,  [TR_SORT_U8] = 1,  [TR_SORT_I16] = 2,  [TR_SORT_U16] = 2,
        [TR_SORT_I32] = 4,  [TR_SORT_U32] = 4, [TR_SORT_I64] = 8, [TR_SORT_U64] = 8,  [TR_SORT_F16] = 2,
        [TR_SORT_F32] = 4,  [TR_SORT_F64] = 8, [TR_SORT_C64] = 8, [TR_SORT_C128] = 16};
    return sizes[type];
}

/* --- lines --- */

/* n items of a line side by side: where they lie, or in a buffer. */
enum { TR_LINE_SMALL = 1024 };
typedef struct tr_line {
    void *items; /* NULL: no memory */
    char *data;
    int64_t n, step, size;
    void *heap;
    _Alignas(16) char small[TR_LINE_SMALL];
} tr_line;

/* copy: into a buffer wherever they lie, as what is made of them must not be seen. */
static inline bool tr_line_open(tr_line *l, const void *data, int64_t n, int64_t stride, int64_t size,
                                bool read, bool copy) {
    l->data = (char *)(uintptr_t)data;
    l->n = n;
    l->step = stride * size;
    l->size = size;
    l->heap = NULL;
    l->items = l->data;
    if (!copy && (stride == 1 || n <= 1))
        return true;
    if (n * size > TR_LINE_SMALL)
        l->heap = malloc((size_t)(n * size));
    l->items = n * size > TR_LINE_SMALL ? l->heap : l->small;
    if (read && l->items)
        tr_rt_gather(l->items, l->data, l->step, n, size);
    return l->items != NULL;
}
static inline void tr_line_close(tr_line *l, bool write) {
    if (write && l->items && l->items != l->data)
        tr_rt_scatter(l->data, l->step, l->items, l->n, l->size);
    free(l->heap);
}

#endif
