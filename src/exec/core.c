/* Generalised loops: compiled code that takes a whole array of each operand. One call does all outer
 * indices, unless an operand cannot be taken as it lies: then it goes through a buffer, one outer index at
 * a time. */
#include <assert.h>

#include "exec/priv.h"

typedef struct corearg {
    int64_t *ext, *step, *packed; /* of its axes */
    char *buf;                    /* NULL: used as it lies */
} corearg;

/* One call of a core. What it needs room for depends on the layout and may be some 50 KiB, so it lies on
 * the heap. */
typedef struct corecall {
    tr_slot *slots;
    corearg arg[];
} corecall;

/* Core axes of operand k: extents and steps in bytes. */
static void core_axes(const tr_cores *c, uint32_t k, const int64_t *dims, const int64_t *core_steps,
                      int64_t *ext, int64_t *step) {
    assert(c->n[k] <= TR_MAX_NDIM);
    for (uint32_t d = 0; d < c->n[k]; d++) {
        ext[d] = dims[1 + c->which[k * TR_MAX_NDIM + d]];
        step[d] = core_steps[d];
    }
}

static corecall *core_new(const tr_exec *l, const int64_t *dims, const int64_t *core_steps) {
    size_t nop = l->nop, axes = 0, head = sizeof(corecall) + nop * sizeof(corearg);
    for (uint32_t k = 0; k < nop; k++)
        axes += l->core->n[k];
    corecall *c = malloc(head + 3 * axes * sizeof(int64_t) + (4 * nop + 2 * axes) * sizeof(tr_slot));
    if (!c)
        return NULL;
    int64_t *p = (int64_t *)(void *)((char *)c + head);
    for (uint32_t k = 0; k < nop; k++) {
        size_t n = l->core->n[k];
        c->arg[k] = (corearg){p, p + n, p + 2 * n, NULL};
        core_axes(l->core, k, dims, core_steps, c->arg[k].ext, c->arg[k].step);
        core_steps += n;
        p += 3 * n;
    }
    c->slots = (tr_slot *)(void *)p;
    return c;
}

static tr_slot *put_core(const tr_exec *l, uint32_t k, tr_slot *s, char *data, int64_t n, int64_t step,
                         const int64_t *ext, const int64_t *steps) {
    uint32_t nc = l->core->n[k];
    unsigned shift = tr_item_shift(&l->item[k]);
    (s++)->p = TR_BORROWED;
    (s++)->p = data;
    (s++)->i = n;
    for (uint32_t d = 0; d < nc; d++)
        (s++)->i = ext[d];
    (s++)->i = step >> shift;
    for (uint32_t d = 0; d < nc; d++)
        (s++)->i = steps[d] >> shift;
    return s;
}

static bool needs_buffer(const tr_exec *l, uint32_t k, const char *data, int64_t outer, const corearg *c) {
    bool bad = tr_item_needs_buffer(&l->item[k], data, outer);
    for (uint32_t d = 0; d < l->core->n[k]; d++)
        bad |= (c->step[d] & (l->item[k].size - 1)) != 0;
    return bad;
}

static bool give_buffer(const tr_exec *l, uint32_t k, corearg *c) {
    assert(!c->buf);
    size_t bytes = l->item[k].size;
    for (uint32_t d = l->core->n[k]; d-- > 0;) {
        c->packed[d] = (int64_t)bytes;
        if (__builtin_mul_overflow(bytes, (size_t)c->ext[d], &bytes))
            return false;
    }
    return (c->buf = malloc(bytes + 1)) != NULL;
}

/* Inputs are written back where the function may store into them, and what it stored before it raised is
 * there as it would be without a copy. */
static int32_t buffered(const tr_exec *l, tr_frame *frame, char *const *args, int64_t n, const int64_t *steps,
                        corecall *c) {
    int32_t code = 0;
    for (int64_t i = 0; !code && i < n; i++) {
        tr_slot *s = c->slots;
        for (uint32_t k = 0; k < l->nop; k++) {
            const corearg *a = &c->arg[k];
            char *p = args[k] + i * steps[k];
            if (a->buf)
                tr_buffer_load_nd(&l->item[k], a->buf, p, l->core->n[k], a->ext, a->step);
            s = put_core(l, k, s, a->buf ? a->buf : p, 1, 0, a->ext, a->buf ? a->packed : a->step);
        }
        code = tr_enter(frame, l->entry, c->slots);
        for (uint32_t k = 0; k < l->nop; k++)
            if (c->arg[k].buf && (k >= l->nin || (l->core->writable >> k & 1)))
                tr_buffer_store_nd(&l->item[k], c->arg[k].buf, args[k] + i * steps[k], l->core->n[k],
                                   c->arg[k].ext, c->arg[k].step);
    }
    return code;
}

int32_t tr_exec_run_cores(const tr_exec *l, tr_frame *frame, char *const *args, const int64_t *dims,
                          const int64_t *steps) {
    assert(l->core && l->nin <= l->nop && l->nop <= TR_MAX_OPERANDS);
    bool any = false, ok = true;
    corecall *c = core_new(l, dims, steps + l->nop);
    if (!c)
        return TR_CODE_MEMORY;
    tr_slot *s = c->slots;
    for (uint32_t k = 0; k < l->nop; k++) {
        corearg *a = &c->arg[k];
        bool bad = needs_buffer(l, k, args[k], steps[k], a);
        any |= bad;
        ok = ok && (!bad || give_buffer(l, k, a));
        s = put_core(l, k, s, args[k], dims[0], steps[k], a->ext, a->step);
    }
    int32_t code = !ok   ? TR_CODE_MEMORY
                   : any ? buffered(l, frame, args, dims[0], steps, c)
                         : tr_enter(frame, l->entry, c->slots);
    for (uint32_t k = 0; k < l->nop; k++)
        free(c->arg[k].buf);
    free(c);
    return code;
}
