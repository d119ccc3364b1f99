/* Opening devices, and what all of them share: the ends of jobs, and plans of copies.
 * Cost of a plan: a few instructions for each axis, so it is made anew for each copy. */
#include "dev/dev.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X(name, open) tr_dev_open_fn open;
#include "dev/devices.def"
#undef X

const char *const tr_dev_attr_name[TR_DEV_ATTR__COUNT] = {
#define X(id, number) #id,
    TR_DEV_ATTRS(X)
#undef X
};

tr_dev *tr_dev_open(const char *name, const tr_dev_host *h, char *msg, size_t room) {
    static const struct {
        const char *name;
        tr_dev_open_fn *open;
    } rows[] = {
#define X(name, open) {name, open},
#include "dev/devices.def"
#undef X
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].open(h, msg, room);
    snprintf(msg, room, "there is no device '%.40s'", name);
    return NULL;
}

void tr_dev_unref(tr_dev_job *j) {
    assert((!j || j->refs > 0) && "a reference that is given back was one");
    if (j && atomic_fetch_sub_explicit(&j->refs, 1, memory_order_acq_rel) == 1)
        j->release(j);
}

static _Thread_local bool called;

bool tr_dev_is_called(void) {
    return called;
}

void tr_dev_call_host(const tr_dev_call *c, int32_t code) {
    assert(!called && "a call of the host's is not in another one");
    called = true;
    c->fn(c->arg, code);
    called = false;
}

/* --- copies --- */

static void drop_axis(tr_dev_copy *c, uint32_t k) {
    assert(k < c->ndim && "an axis that goes was there");
    uint32_t after = c->ndim - k - 1;
    memmove(c->shape + k, c->shape + k + 1, after * sizeof *c->shape);
    memmove(c->to_stride + k, c->to_stride + k + 1, after * sizeof *c->to_stride);
    memmove(c->from_stride + k, c->from_stride + k + 1, after * sizeof *c->from_stride);
    c->ndim--;
}

static uint64_t length(int64_t stride) {
    return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

static void swap(int64_t *v, uint32_t k) {
    int64_t t = v[k];
    v[k] = v[k - 1];
    v[k - 1] = t;
}

/* The target's longest strides first: it is written as it lies. */
static void sort_axes(tr_dev_copy *c) {
    for (uint32_t i = 1; i < c->ndim; i++)
        for (uint32_t k = i; k > 0 && length(c->to_stride[k]) > length(c->to_stride[k - 1]); k--) {
            swap(c->shape, k);
            swap(c->to_stride, k);
            swap(c->from_stride, k);
        }
}

void tr_dev_copy_plan(tr_dev_copy *c) {
    assert(c->ndim <= TR_DEV_NDIM && "axes have room");
    for (uint32_t k = c->ndim; k-- > 0;)
        if (c->shape[k] == 0) {
            c->ndim = 1;
            c->shape[0] = 0;
            return;
        }
    for (uint32_t k = c->ndim; k-- > 0;)
        if (c->shape[k] == 1)
            drop_axis(c, k);
    sort_axes(c);
    for (uint32_t k = c->ndim; k-- > 1;)
        if (c->to_stride[k - 1] == c->to_stride[k] * c->shape[k] &&
            c->from_stride[k - 1] == c->from_stride[k] * c->shape[k]) {
            c->shape[k] *= c->shape[k - 1];
            drop_axis(c, k - 1);
        }
    if (c->ndim && c->to_stride[c->ndim - 1] == (int64_t)c->item &&
        c->from_stride[c->ndim - 1] == (int64_t)c->item) {
        c->item *= (uint64_t)c->shape[c->ndim - 1];
        c->ndim--;
    }
}

uint64_t tr_dev_copy_bytes(const tr_dev_copy *c) {
    uint64_t n = c->item;
    for (uint32_t k = 0; k < c->ndim; k++)
        n *= (uint64_t)c->shape[k];
    return n;
}

#define ROW(type)                                           \
    for (int64_t i = 0; i < n; i++, to += dt, from += df) { \
        type v;                                             \
        memcpy(&v, from, sizeof v);                         \
        memcpy(to, &v, sizeof v);                           \
    }
typedef struct pair {
    uint64_t a, b;
} pair;

static void copy_row(char *to, const char *from, int64_t n, int64_t dt, int64_t df, uint64_t item) {
    switch (item) {
    case 1: ROW(uint8_t) break;
    case 2: ROW(uint16_t) break;
    case 4: ROW(uint32_t) break;
    case 8: ROW(uint64_t) break;
    case 16: ROW(pair) break;
    default:
        for (int64_t i = 0; i < n; i++, to += dt, from += df)
            memcpy(to, from, item);
    }
}

static void copy_axes(const tr_dev_copy *c, uint32_t k, char *to, const char *from) {
    assert(k < c->ndim && "a copy goes along its axes");
    int64_t n = c->shape[k], dt = c->to_stride[k], df = c->from_stride[k];
    if (k + 1 == c->ndim) {
        copy_row(to, from, n, dt, df, c->item);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        copy_axes(c, k + 1, to + i * dt, from + i * df);
}

bool tr_dev_copy_meets(const tr_dev_copy *c) {
    uintptr_t lo[2], hi[2];
    tr_dev_copy_extent(c, true, &lo[0], &hi[0]);
    tr_dev_copy_extent(c, false, &lo[1], &hi[1]);
    return lo[0] < hi[1] && lo[1] < hi[0];
}

/* As if all were read before anything is written. */
static int32_t copy_apart(const tr_dev_copy *c) {
    char *between = malloc(tr_dev_copy_bytes(c));
    tr_dev_copy in = *c, out = *c;
    int64_t stride = (int64_t)c->item;
    if (!between)
        return TR_CODE_MEMORY;
    in.to = between;
    out.from = between;
    for (uint32_t k = c->ndim; k-- > 0; stride *= c->shape[k])
        in.to_stride[k] = out.from_stride[k] = stride;
    copy_axes(&in, 0, in.to, in.from);
    copy_axes(&out, 0, out.to, out.from);
    free(between);
    return 0;
}

int32_t tr_dev_copy_here(const tr_dev_copy *c) {
    if (c->to == c->from && memcmp(c->to_stride, c->from_stride, c->ndim * sizeof *c->to_stride) == 0)
        return 0;
    if (c->ndim && tr_dev_copy_meets(c))
        return copy_apart(c);
    if (c->ndim)
        copy_axes(c, 0, c->to, c->from);
    else
        memmove(c->to, c->from, c->item);
    return 0;
}

void tr_dev_copy_extent(const tr_dev_copy *c, bool target, uintptr_t *lo, uintptr_t *hi) {
    const int64_t *stride = target ? c->to_stride : c->from_stride;
    *lo = *hi = (uintptr_t)(target ? c->to : c->from);
    for (uint32_t k = 0; k < c->ndim; k++) {
        if (c->shape[k] == 0) {
            *hi = *lo;
            return;
        }
        uintptr_t reach = (uintptr_t)((c->shape[k] - 1) * stride[k]);
        *(stride[k] < 0 ? lo : hi) += reach;
    }
    *hi += c->item;
}
