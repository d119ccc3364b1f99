/* Buffers: items that lie apart, out of alignment or in a type that code does not compute in, moved side
 * by side and back. All such moves of a loop's operands are made here.
 * Cost: that of rt/copy.c; float16
 * about two cycles an item. */
#include <assert.h>

#include "exec/priv.h"

/* Items of a stretch at most; bytes of a stretch's buffers together, and of a line of the cache: each
 * begins with one. */
enum { STRETCH = 512, ROOM = 16 << 10, LINE = 64 };

tr_item tr_item_of(const tr_ty *scalar, bool half) {
    assert(tr_ty_is_scalar(scalar) && (!half || scalar->kind == TR_TY_F32));
    unsigned size = half ? 2 : tr_ty_size(scalar);
    unsigned align = tr_ty_is_complex(scalar) ? size / 2 : size; /* of its two parts */
    return (tr_item){.size = (uint8_t)size, .odd = (uint8_t)(align - 1), .half = half};
}

/* --- moving --- */

void tr_buffer_widen(float *to, const char *from, int64_t step, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        _Float16 h;
        memcpy(&h, from + i * step, sizeof h);
        to[i] = (float)h;
    }
}

void tr_buffer_narrow(char *to, int64_t step, const float *from, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        _Float16 h = (_Float16)from[i];
        memcpy(to + i * step, &h, sizeof h);
    }
}

static char *each_row(const tr_item *it, char *buf, char *at, uint32_t nd, const int64_t *shape,
                      const int64_t *strides, bool store) {
    int64_t n = nd ? shape[0] : 1, step = nd ? strides[0] : 0;
    if (nd > 1) {
        for (int64_t i = 0; i < n; i++)
            buf = each_row(it, buf, at + i * step, nd - 1, shape + 1, strides + 1, store);
        return buf;
    }
    if (store)
        tr_buffer_store(it, buf, at, step, n);
    else
        tr_buffer_load(it, buf, at, step, n);
    return buf + n * tr_item_seen(it);
}

char *tr_buffer_load_nd(const tr_item *it, char *buf, const char *from, uint32_t nd, const int64_t *shape,
                        const int64_t *strides) {
    return each_row(it, buf, (char *)(uintptr_t)from, nd, shape, strides, false);
}

char *tr_buffer_store_nd(const tr_item *it, char *buf, char *to, uint32_t nd, const int64_t *shape,
                         const int64_t *strides) {
    return each_row(it, buf, to, nd, shape, strides, true);
}

/* --- room --- */

static size_t lines(int64_t bytes) {
    return (size_t)(bytes + LINE - 1) & ~(size_t)(LINE - 1);
}

bool tr_buffers_divide(tr_buffers *b, const tr_exec *l, int64_t n, uint32_t set) {
    assert(set != 0 && set < 1u << l->nop && n > 0);
    int64_t bytes = 0, len = STRETCH;
    size_t room = LINE; /* it may begin anywhere in one */
    for (uint32_t k = 0; k < l->nop; k++)
        bytes += set >> k & 1 ? tr_item_seen(&l->item[k]) : 0;
    len = ROOM / bytes < len ? ROOM / bytes : len;
    len = len < n ? len : n;
    b->row = n;
    if (b->set == set && b->len == len)
        return true;
    for (uint32_t k = 0; k < l->nop; k++)
        room += set >> k & 1 ? lines(len * tr_item_seen(&l->item[k])) : 0;
    if (room > b->nroom) {
        tr_buffers_fini(b);
        b->room = malloc(room);
        b->nroom = b->room ? room : 0;
    }
    b->set = b->room ? set : 0;
    b->len = len;
    char *p = b->room + (-(uintptr_t)b->room & (LINE - 1));
    for (uint32_t k = 0; k < l->nop; k++) {
        b->at[k] = set >> k & 1 ? p : NULL;
        b->repeated[k] = NULL;
        p += set >> k & 1 ? lines(len * tr_item_seen(&l->item[k])) : 0;
    }
    return b->room != NULL;
}
