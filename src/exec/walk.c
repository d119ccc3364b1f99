/* Walks: shapes broadcast, axes are put in order and coalesced, and the inner loop goes over the longest
 * stretch there is.
 *
 * What is made on the way has the order in memory that NumPy would give it. The usual case, operands of
 * one shape in C order without gaps, skips all of that. */
#include <assert.h>

#include "exec/priv.h"

_Static_assert((int)TR_WALK_STEPS >= (int)TR_MAX_OPERANDS, "one axis fits");
_Static_assert((int)TR_WALK_NDIM >= (int)TR_MAX_NDIM, "arrays of compiled code can be walked");

enum { MAX_ITEM = 16 };

/* --- shape --- */

/* One for all: a scalar, or an array without axes. */
static inline bool is_single(const tr_walk *w, const tr_exec *l, uint32_t k) {
    return w->op[k].ndim < (k < l->nin ? 1 : 0);
}

/* Items in a row, none of them between others. */
static inline bool is_row(const tr_nd *a, const tr_nd *like) {
    bool same = a->ndim == like->ndim && a->packed;
    for (int32_t d = 0; same && d < like->ndim; d++)
        same = a->shape[d] == like->shape[d];
    return same;
}

/* Arrays of one shape that all lie in C order without gaps need no broadcasting and no order of axes. */
static inline bool is_flat(tr_walk *w, const tr_exec *l) {
    const tr_nd *like = NULL;
    int64_t n = 1;
    for (uint32_t k = 0, nop = l->nop; k < nop; k++) {
        if (is_single(w, l, k)) {
            w->room[k] = k < l->nin ? 0 : l->item[k].size;
            continue;
        }
        like = like ? like : &w->op[k];
        if (!is_row(&w->op[k], like))
            return false;
        w->room[k] = l->item[k].size;
    }
    if (!like)
        return false;
    for (int32_t d = 0; d < like->ndim; d++)
        if (__builtin_mul_overflow(n, like->shape[d], &n))
            return false;
    if (n > INT64_MAX / MAX_ITEM)
        return false;
    for (uint32_t k = 0, nop = l->nop; k < nop; k++)
        w->step[k] = w->room + k;
    w->flat = true;
    w->heap = NULL;
    w->ndim = like->ndim;
    w->shape = like->shape;
    w->count = n;
    return true;
}

static bool broadcast_one(tr_walk *w, const tr_nd *a) {
    assert(a->ndim <= w->ndim);
    int32_t skip = w->ndim - a->ndim;
    for (int32_t d = skip; d < w->ndim; d++) {
        int64_t n = a->shape[d - skip];
        if (w->dims[d] == 1)
            w->dims[d] = n;
        else if (n != 1 && n != w->dims[d])
            return false;
    }
    return true;
}

static bool is_shape(const tr_walk *w, const tr_nd *a) {
    bool same = a->ndim == w->ndim;
    for (int32_t d = 0; same && d < w->ndim; d++)
        same = a->shape[d] == w->dims[d];
    return same;
}

static tr_walk_status broadcast(tr_walk *w, const tr_exec *l) {
    w->ndim = 0;
    for (uint32_t k = 0; k < l->nop; k++)
        w->ndim = w->op[k].ndim > w->ndim ? w->op[k].ndim : w->ndim;
    if (w->ndim > TR_WALK_NDIM)
        return TR_WALK_SIZE;
    for (int32_t d = 0; d < w->ndim; d++)
        w->dims[d] = 1;
    for (uint32_t k = 0; k < l->nop; k++)
        if (w->op[k].ndim > 0 && !broadcast_one(w, &w->op[k]))
            return TR_WALK_SHAPES;
    for (uint32_t k = l->nin; k < l->nop; k++) /* an output never broadcasts */
        if (w->op[k].ndim != TR_ND_ABSENT && !is_shape(w, &w->op[k]))
            return TR_WALK_SHAPES;
    w->shape = w->dims;
    return TR_WALK_OK;
}

/* Items of the result, each of which may take MAX_ITEM bytes. */
static bool count_items(tr_walk *w) {
    assert(w->ndim <= TR_WALK_NDIM);
    bool fits = true, empty = false;
    w->count = 1;
    for (int32_t d = 0; d < w->ndim; d++) {
        empty |= w->dims[d] == 0;
        fits = fits && !__builtin_mul_overflow(w->count, w->dims[d], &w->count);
    }
    if (empty)
        w->count = 0;
    return empty || (fits && w->count <= INT64_MAX / MAX_ITEM);
}

/* --- axes --- */

static void steps_of(tr_walk *w, uint32_t k) {
    const tr_nd *a = &w->op[k];
    int32_t skip = w->ndim - (a->ndim > 0 ? a->ndim : 0);
    for (int32_t d = 0; d < w->ndim; d++)
        w->step[k][d] = d < skip || a->shape[d - skip] == 1 ? 0 : a->strides[d - skip];
}

static bool room_for_steps(tr_walk *w, const tr_exec *l) {
    size_t ndim = (size_t)w->ndim, n = l->nop * ndim;
    w->heap = n > TR_WALK_STEPS ? malloc(n * sizeof *w->heap) : NULL;
    if (n > TR_WALK_STEPS && !w->heap)
        return false;
    for (uint32_t k = 0; k < l->nop; k++)
        w->step[k] = (w->heap ? w->heap : w->room) + k * ndim;
    return true;
}

static uint64_t size_of_step(int64_t s) {
    return s < 0 ? -(uint64_t)s : (uint64_t)s;
}

/* Axis x should be walked inside axis y: decided by the operands that walk both; where they disagree C
 * order wins. 0: they do not say. */
static int inner(const tr_walk *w, uint32_t nop, int32_t x, int32_t y) {
    assert(x != y && x < w->ndim && y < w->ndim);
    int says = 0;
    for (uint32_t k = 0; k < nop; k++) {
        int64_t sx = w->step[k][x], sy = w->step[k][y];
        if (w->op[k].ndim <= 0 || !sx || !sy)
            continue;
        if (size_of_step(sy) <= size_of_step(sx))
            says = -1;
        else if (says == 0)
            says = 1;
    }
    return says;
}

/* The order of axes that NumPy's iterator would choose: an insertion sort from C order, innermost first. */
static void order_axes(tr_walk *w, uint32_t nop) {
    for (int32_t i = 0; i < w->ndim; i++)
        w->perm[i] = w->ndim - 1 - i;
    for (int32_t i = 1; i < w->ndim; i++) {
        int32_t axis = w->perm[i], at = i;
        for (int32_t j = i - 1; j >= 0; j--) {
            int says = inner(w, nop, axis, w->perm[j]);
            if (says < 0)
                break;
            if (says > 0)
                at = j;
        }
        memmove(w->perm + at + 1, w->perm + at, (size_t)(i - at) * sizeof *w->perm);
        w->perm[at] = axis;
    }
}

/* Axes that every operand steps over as one become one. */
static void coalesce_axes(tr_walk *w, uint32_t nop) {
    int32_t n = 0;
    for (int32_t i = 0; i < w->ndim; i++) {
        int32_t axis = w->perm[i];
        bool joins = n > 0;
        for (uint32_t k = 0; joins && k < nop; k++) {
            int64_t over;
            joins = !__builtin_mul_overflow(w->step[k][w->perm[n - 1]], w->dims[w->perm[n - 1]], &over) &&
                    w->step[k][axis] == over;
        }
        if (w->dims[axis] == 1)
            continue;
        if (joins)
            w->dims[w->perm[n - 1]] *= w->dims[axis];
        else
            w->perm[n++] = axis;
    }
    w->ndim = n;
}

/* --- overlap --- */

tr_extent tr_extent_of(const void *data, int64_t size, int32_t ndim, const int64_t *shape,
                       const int64_t *strides) {
    assert(size > 0 && ndim >= 0);
    int64_t low = 0, high = size, far;
    uintptr_t at = (uintptr_t)data;
    for (int32_t d = 0; d < ndim; d++)
        if (shape[d] == 0)
            return (tr_extent){UINTPTR_MAX, 0};
    for (int32_t d = 0; d < ndim; d++)
        if (__builtin_mul_overflow(strides[d], shape[d] - 1, &far) ||
            __builtin_add_overflow(far < 0 ? low : high, far, far < 0 ? &low : &high))
            return (tr_extent){0, UINTPTR_MAX};
    tr_extent x = {at + (uintptr_t)low, at + (uintptr_t)high};
    return x.from <= at && at <= x.to ? x : (tr_extent){0, UINTPTR_MAX};
}

static inline tr_extent extent(const tr_walk *w, const tr_exec *l, uint32_t k) {
    uintptr_t at = (uintptr_t)w->op[k].data;
    if (!w->flat)
        return tr_extent_of(w->op[k].data, l->item[k].size, w->ndim, w->shape, w->step[k]);
    return (tr_extent){at, at + (uintptr_t)(w->room[k] ? w->count : 1) * l->item[k].size};
}

/* Do they share memory only element for element? */
static bool is_same(const tr_walk *w, const tr_exec *l, uint32_t k, uint32_t m) {
    bool same = w->op[k].data == w->op[m].data && l->item[k].size == l->item[m].size && m < l->nin;
    if (w->flat)
        return same && (w->count == 1 || w->room[k] == w->room[m]);
    for (int32_t d = 0; same && d < w->ndim; d++)
        same = w->shape[d] == 1 || w->step[k][d] == w->step[m][d];
    return same;
}

/* No other operand meets output k, nor do its own items. */
static __attribute__((noinline)) bool is_alone(const tr_walk *w, const tr_exec *l, uint32_t k) {
    if (!w->count)
        return true;
    for (int32_t d = 0; !w->flat && d < w->ndim; d++)
        if (!w->step[k][d] && w->shape[d] > 1)
            return false;
    tr_extent x = extent(w, l, k);
    for (uint32_t m = 0; m < l->nop; m++)
        if (m != k && w->op[m].ndim != TR_ND_ABSENT && tr_extents_meet(x, extent(w, l, m)) &&
            !is_same(w, l, k, m))
            return false;
    return true;
}

static inline __attribute__((always_inline)) bool outputs_are_alone(const tr_walk *w, const tr_exec *l) {
    for (uint32_t k = l->nin, nop = l->nop; k < nop; k++)
        if (w->op[k].ndim != TR_ND_ABSENT && !is_alone(w, l, k))
            return false;
    return true;
}

/* --- beginning --- */

static __attribute__((noinline)) tr_walk_status begin_nd(tr_walk *w, const tr_exec *l) {
    w->flat = false;
    w->heap = NULL;
    tr_walk_status s = broadcast(w, l);
    if (s != TR_WALK_OK)
        return s;
    if (!count_items(w))
        return TR_WALK_SIZE;
    if (!room_for_steps(w, l))
        return TR_WALK_MEMORY;
    for (uint32_t k = 0; k < l->nop; k++)
        steps_of(w, k);
    if (!outputs_are_alone(w, l)) {
        tr_walk_end(w);
        return TR_WALK_OVERLAP;
    }
    order_axes(w, l->nop);
    return TR_WALK_OK;
}

tr_walk_status tr_walk_begin(tr_walk *w, const tr_exec *l) {
    assert(l->nin <= l->nop && l->nop <= TR_MAX_OPERANDS);
    if (is_flat(w, l))
        return outputs_are_alone(w, l) ? TR_WALK_OK : TR_WALK_OVERLAP;
    return begin_nd(w, l);
}

bool tr_walk_layout(tr_walk *w, const tr_exec *l, uint32_t k, int64_t *strides) {
    assert(k >= l->nin && k < l->nop);
    int64_t s = l->item[k].size;
    bool plain = true;
    if (w->flat)
        return true;
    for (int32_t i = 0; i < w->ndim; i++) {
        int32_t axis = w->perm[i];
        strides[axis] = s;
        w->step[k][axis] = w->shape[axis] == 1 ? 0 : s;
        s = (int64_t)((uint64_t)s * (uint64_t)w->shape[axis]); /* anything, where there are no items */
        plain &= axis == w->ndim - 1 - i;
    }
    return plain;
}

void tr_walk_free(tr_walk *w) {
    free(w->heap);
    w->heap = NULL;
}

/* --- running --- */

typedef struct walker {
    const tr_walk *w;
    tr_exec *l;
} walker;

/* Rows [lo, hi) of the walk: the innermost axis is a row, the others count them. */
static int32_t rows_of(tr_frame *frame, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    assert(lo <= hi);
    const walker *x = ctx;
    const tr_walk *w = x->w;
    uint32_t nop = x->l->nop;
    int64_t at[TR_WALK_NDIM], left = lo, steps[TR_MAX_OPERANDS], n = w->dims[w->perm[0]];
    char *p[TR_MAX_OPERANDS];
    tr_buffers b;
    (void)worker;
    tr_buffers_init(&b);
    for (uint32_t k = 0; k < nop; k++) {
        p[k] = w->op[k].data;
        steps[k] = w->step[k][w->perm[0]];
    }
    for (int32_t i = 1; i < w->ndim; i++) {
        int64_t ext = w->dims[w->perm[i]];
        at[i] = left % ext;
        left /= ext;
        for (uint32_t k = 0; k < nop; k++)
            p[k] += at[i] * w->step[k][w->perm[i]];
    }
    int32_t code = 0;
    for (int64_t row = lo; !code && row < hi; row++) {
        code = tr_exec_row(x->l, frame, p, n, steps, &b);
        for (int32_t i = 1; i < w->ndim; i++) {
            int64_t back = ++at[i] == w->dims[w->perm[i]] ? at[i] : 0;
            for (uint32_t k = 0; k < nop; k++)
                p[k] += (1 - back) * w->step[k][w->perm[i]];
            if (!back)
                break;
            at[i] = 0;
        }
    }
    tr_buffers_fini(&b);
    return code;
}

static int32_t run_rows(tr_walk *w, tr_exec *l, tr_frame *frame) {
    assert(!w->flat && w->ndim > 1 && w->count > 0);
    int64_t per_row = w->dims[w->perm[0]], rows = w->count / per_row, steps[TR_MAX_OPERANDS];
    walker x = {w, l};
    for (uint32_t k = 0; k < l->nop; k++)
        steps[k] = w->step[k][w->perm[0]];
    if (!tr_exec_expect(l, w->count, steps))
        return TR_CODE_HOST;
    return l->spreads ? tr_exec_spread(l, frame, rows_of, &x, rows, per_row) : rows_of(frame, &x, 0, rows, 0);
}

int32_t tr_walk_run(tr_walk *w, tr_exec *l, tr_frame *frame) {
    assert(w->count >= 0);
    int64_t steps[TR_MAX_OPERANDS];
    char *at[TR_MAX_OPERANDS];
    if (w->count == 0)
        return 0;
    if (!w->flat) {
        coalesce_axes(w, l->nop);
        if (w->ndim > 1)
            return run_rows(w, l, frame);
    }
    int32_t axis = w->flat || !w->ndim ? 0 : w->perm[0];
    for (uint32_t k = 0, nop = l->nop; k < nop; k++) {
        at[k] = w->op[k].data;
        steps[k] = w->flat || w->ndim ? w->step[k][axis] : l->item[k].size;
    }
    return tr_exec_run(l, frame, at, &w->count, steps);
}
