/* Running an inner loop: operands go into the slots of the compiled entry.
 *
 * Operands that compiled code cannot walk (steps that are no whole number of items, addresses out of alignment, float16) go through buffers, a
 * stretch at a time. An output that the next element reads again (reduce, accumulate) runs in the chain, a loop of its own. No GIL is needed, none
 * is taken but to raise. Cost: some 10 ns beside the loop itself. */
#include "ext/ufunc.h"

#include <string.h>

#include "ext/pyerr.h"

enum { STRETCH = 512, MAX_ITEM = 16, SLOTS = 4 * TR_MAX_OPERANDS, CORE_SLOTS = 2 + 2 * (1 + TR_MAX_NDIM) };

/* Owner of the operands: the caller, for the time of the call (rt/layout.h). */
#define BORROWED ((void *)(uintptr_t)1)

/* --- calling compiled code --- */

static __attribute__((noinline)) bool settle(tr_state *st, tr_frame *frame, bool ok) {
    bool printed = frame->capout != 0;
    uint64_t freed = frame->nfree;
    for (tr_mem *m = frame->mems.next; m != &frame->mems; m = m->next)
        freed++;
    atomic_fetch_add_explicit(&st->allocated, frame->nalloc, memory_order_relaxed);
    atomic_fetch_add_explicit(&st->freed, freed, memory_order_relaxed);
    tr_rt_frame_fini(frame);
    if (printed && ok) { /* print() may have met an error */
        PyGILState_STATE g = PyGILState_Ensure();
        ok = !PyErr_Occurred();
        PyGILState_Release(g);
    }
    return ok;
}

static __attribute__((noinline)) bool raise_site(const tr_uloop *l, const tr_module *m, int32_t code,
                                                 const tr_frame *frame) {
    PyGILState_STATE g = PyGILState_Ensure();
    if (!PyErr_Occurred())
        tr_pyerr_raise_code(l->uf->fn, tr_module_meta(m), code, frame);
    PyGILState_Release(g);
    return false;
}

static bool enter(const tr_uloop *l, const tr_module *m, tr_entry_fn entry, const tr_slot *slots) {
    tr_state *st = l->uf->st;
    tr_frame frame;
    tr_slot ret[1];
    tr_rt_frame_init(&frame, &st->host);
    int32_t code = entry(&frame, slots, ret);
    bool ok = code == 0 || raise_site(l, m, code, &frame);
    if (frame.nalloc || frame.nfree || frame.capout)
        ok = settle(st, &frame, ok);
    return ok;
}

static inline tr_slot *put_array(tr_slot *s, char *data, npy_intp n, npy_intp stride) {
    (s++)->p = BORROWED;
    (s++)->p = data;
    (s++)->i = n;
    (s++)->i = stride;
    return s;
}

static inline unsigned log2_of(const tr_uloop *l, uint32_t k) {
    return (unsigned)__builtin_ctz(l->size[k]);
}

static bool map(const tr_uloop *l, char *const *args, npy_intp n, const npy_intp *steps) {
    tr_slot slots[SLOTS], *s = slots;
    for (uint32_t k = 0; k < l->uf->nop; k++)
        s = put_array(s, args[k], n, steps[k] >> log2_of(l, k));
    return enter(l, l->module, l->entry, slots);
}

/* --- float16 --- */

static void halves_to_floats(const char *from, npy_intp step, float *to, npy_intp n) {
    for (npy_intp i = 0; i < n; i++) {
        _Float16 h;
        memcpy(&h, from + i * step, sizeof h);
        to[i] = (float)h;
    }
}

static void floats_to_halves(const float *from, char *to, npy_intp step, npy_intp n) {
    for (npy_intp i = 0; i < n; i++) {
        _Float16 h = (_Float16)from[i];
        memcpy(to + i * step, &h, sizeof h);
    }
}

/* --- buffers --- */

static bool is_half(const tr_uloop *l, uint32_t k) {
    return l->half >> k & 1u;
}

/* Bytes of an item as compiled code sees it. */
static npy_intp item_size(const tr_uloop *l, uint32_t k) {
    return is_half(l, k) ? (npy_intp)sizeof(float) : l->size[k];
}

static uintptr_t alignment(const tr_uloop *l, uint32_t k) {
    return l->size[k] > 8 || l->num[k] == NPY_CFLOAT ? l->size[k] / 2u : l->size[k];
}

static bool needs_buffer(const tr_uloop *l, uint32_t k, const char *data, npy_intp step) {
    return is_half(l, k) || (step & (l->size[k] - 1)) || ((uintptr_t)data & (alignment(l, k) - 1));
}

static void copy_items(char *to, npy_intp to_step, const char *from, npy_intp from_step, npy_intp n,
                       size_t size) {
    for (npy_intp i = 0; i < n; i++)
        memcpy(to + i * to_step, from + i * from_step, size);
}

static void buffer_in(const tr_uloop *l, uint32_t k, char *buf, const char *from, npy_intp step, npy_intp n) {
    if (is_half(l, k))
        halves_to_floats(from, step, (float *)(void *)buf, n);
    else
        copy_items(buf, l->size[k], from, step, n, l->size[k]);
}

static void buffer_out(const tr_uloop *l, uint32_t k, const char *buf, char *to, npy_intp step, npy_intp n) {
    if (is_half(l, k))
        floats_to_halves((const float *)(const void *)buf, to, step, n);
    else
        copy_items(to, step, buf, l->size[k], n, l->size[k]);
}

static bool no_memory(void) {
    PyGILState_STATE g = PyGILState_Ensure();
    PyErr_NoMemory();
    PyGILState_Release(g);
    return false;
}

/* One stretch of m items from item `at` on; buf[k] is NULL where the operand is used as it lies. */
static bool stretch(const tr_uloop *l, char *const *args, const npy_intp *steps, char *const *buf,
                    npy_intp at, npy_intp m) {
    tr_slot slots[SLOTS], *s = slots;
    uint32_t nin = l->uf->nin, nop = l->uf->nop;
    for (uint32_t k = 0; k < nop; k++) {
        char *p = args[k] + at * steps[k];
        if (buf[k] && k < nin)
            buffer_in(l, k, buf[k], p, steps[k], m);
        s = put_array(s, buf[k] ? buf[k] : p, m, buf[k] ? 1 : steps[k] >> log2_of(l, k));
    }
    bool ok = enter(l, l->module, l->entry, slots);
    for (uint32_t k = nin; ok && k < nop; k++)
        if (buf[k])
            buffer_out(l, k, buf[k], args[k] + at * steps[k], steps[k], m);
    return ok;
}

static bool map_buffered(const tr_uloop *l, char *const *args, npy_intp n, const npy_intp *steps) {
    char *buf[TR_MAX_OPERANDS], *room = PyMem_RawMalloc((size_t)l->uf->nop * STRETCH * MAX_ITEM);
    if (!room)
        return no_memory();
    for (uint32_t k = 0; k < l->uf->nop; k++)
        buf[k] = needs_buffer(l, k, args[k], steps[k]) ? room + (size_t)k * STRETCH * MAX_ITEM : NULL;
    bool ok = true;
    for (npy_intp at = 0; ok && at < n; at += STRETCH)
        ok = stretch(l, args, steps, buf, at, n - at < STRETCH ? n - at : STRETCH);
    PyMem_RawFree(room);
    return ok;
}

/* --- chains: out[i] = f(out[i - 1], b[i]) --- */

static bool is_chain(const tr_uloop *l, char *const *args, npy_intp n, const npy_intp *steps) {
    return l->uf->nin == 2 && l->uf->nop == 3 && n > 1 && steps[0] == steps[2] &&
           args[0] == args[2] - steps[2] && l->num[0] == l->num[2];
}

static bool chain_direct(const tr_uloop *l, char *const *args, npy_intp n, const npy_intp *steps) {
    tr_slot slots[SLOTS], *s = slots;
    for (uint32_t k = 0; k < 3; k++)
        s = put_array(s, args[k], n, steps[k] >> log2_of(l, k));
    return enter(l, l->chain_module, l->chain, slots);
}

/* Everything through buffers; what goes from one stretch to the next is not rounded to float16 on the way. */
static bool chain_buffered(const tr_uloop *l, char *const *args, npy_intp n, const npy_intp *steps) {
    char *room = PyMem_RawMalloc((size_t)3 * STRETCH * MAX_ITEM);
    if (!room)
        return no_memory();
    char *a = room, *b = room + STRETCH * MAX_ITEM, *out = b + STRETCH * MAX_ITEM;
    buffer_in(l, 0, a, args[0], 0, 1);
    bool ok = true;
    for (npy_intp at = 0; ok && at < n; at += STRETCH) {
        npy_intp m = n - at < STRETCH ? n - at : STRETCH;
        tr_slot slots[12], *s = slots;
        buffer_in(l, 1, b, args[1] + at * steps[1], steps[1], m);
        s = put_array(s, a, m, 0);
        s = put_array(s, b, m, 1);
        put_array(s, out, m, 1);
        ok = enter(l, l->chain_module, l->chain, slots);
        memcpy(a, out + (m - 1) * item_size(l, 2), (size_t)item_size(l, 2));
        if (ok && steps[2])
            buffer_out(l, 2, out, args[2] + at * steps[2], steps[2], m);
    }
    if (ok && !steps[2])
        buffer_out(l, 2, a, args[2], 0, 1);
    PyMem_RawFree(room);
    return ok;
}

static bool chain(tr_uloop *l, char *const *args, npy_intp n, const npy_intp *steps, bool buffered) {
    if (!atomic_load_explicit(&l->chain, memory_order_acquire) && !tr_uloop_need_chain(l))
        return false;
    return buffered ? chain_buffered(l, args, n, steps) : chain_direct(l, args, n, steps);
}

/* --- gufuncs --- */

/* Core axes of operand k: extents and steps in bytes. */
static void core_axes(const tr_ufunc *uf, uint32_t k, const npy_intp *dims, const npy_intp *core_steps,
                      npy_intp *ext, npy_intp *step) {
    for (uint32_t d = 0; d < uf->ncore[k]; d++) {
        ext[d] = dims[1 + uf->u->core_dim_ixs[uf->u->core_offsets[k] + (int)d]];
        step[d] = core_steps[d];
    }
}

static tr_slot *put_core(const tr_uloop *l, uint32_t k, tr_slot *s, char *data, npy_intp n, npy_intp step,
                         const npy_intp *ext, const npy_intp *steps) {
    uint32_t nc = l->uf->ncore[k];
    unsigned shift = log2_of(l, k);
    (s++)->p = BORROWED;
    (s++)->p = data;
    (s++)->i = n;
    for (uint32_t d = 0; d < nc; d++)
        (s++)->i = ext[d];
    (s++)->i = step >> shift;
    for (uint32_t d = 0; d < nc; d++)
        (s++)->i = steps[d] >> shift;
    return s;
}

/* Copies a core between memory as it lies and a packed buffer. */
static char *pack(char *buf, char *data, uint32_t nd, const npy_intp *ext, const npy_intp *step, size_t size,
                  bool out) {
    if (nd == 0) {
        memcpy(out ? data : buf, out ? buf : data, size);
        return buf + size;
    }
    for (npy_intp i = 0; i < ext[0]; i++)
        buf = pack(buf, data + i * step[0], nd - 1, ext + 1, step + 1, size, out);
    return buf;
}

typedef struct corearg {
    npy_intp ext[TR_MAX_NDIM], step[TR_MAX_NDIM], packed[TR_MAX_NDIM];
    char *buf; /* NULL: used as it lies */
} corearg;

static bool core_needs_buffer(const tr_uloop *l, uint32_t k, const char *data, npy_intp outer,
                              const corearg *c) {
    bool bad = needs_buffer(l, k, data, outer);
    for (uint32_t d = 0; d < l->uf->ncore[k]; d++)
        bad |= (c->step[d] & (l->size[k] - 1)) != 0;
    return bad;
}

/* One outer index at a time, with copies; inputs are written back where the function may store into them. */
static bool core_buffered(tr_uloop *l, char *const *args, npy_intp n, const npy_intp *steps, corearg *c) {
    tr_ufunc *uf = l->uf;
    tr_slot slots[TR_MAX_OPERANDS * CORE_SLOTS];
    bool ok = true;
    for (npy_intp i = 0; ok && i < n; i++) {
        tr_slot *s = slots;
        for (uint32_t k = 0; k < uf->nop; k++) {
            char *p = args[k] + i * steps[k];
            if (c[k].buf)
                pack(c[k].buf, p, uf->ncore[k], c[k].ext, c[k].step, l->size[k], false);
            s = put_core(l, k, s, c[k].buf ? c[k].buf : p, 1, 0, c[k].ext,
                         c[k].buf ? c[k].packed : c[k].step);
        }
        ok = enter(l, l->module, l->entry, slots);
        for (uint32_t k = 0; ok && k < uf->nop; k++)
            if (c[k].buf && (k >= uf->nin || (uf->u->op_flags[k] & NPY_ITER_READWRITE)))
                pack(c[k].buf, args[k] + i * steps[k], uf->ncore[k], c[k].ext, c[k].step, l->size[k], true);
    }
    return ok;
}

static bool core_with_buffers(tr_uloop *l, char *const *args, npy_intp n, const npy_intp *steps, corearg *c,
                              const bool *bad) {
    tr_ufunc *uf = l->uf;
    bool ok = true;
    for (uint32_t k = 0; ok && k < uf->nop; k++) {
        size_t bytes = l->size[k];
        for (uint32_t d = uf->ncore[k]; d-- > 0; bytes *= (size_t)c[k].ext[d])
            c[k].packed[d] = (npy_intp)bytes;
        ok = !bad[k] || (c[k].buf = PyMem_RawMalloc(bytes + 1));
    }
    ok = ok ? core_buffered(l, args, n, steps, c) : no_memory();
    for (uint32_t k = 0; k < uf->nop; k++)
        PyMem_RawFree(c[k].buf);
    return ok;
}

static bool core(tr_uloop *l, char *const *args, const npy_intp *dims, const npy_intp *steps) {
    tr_ufunc *uf = l->uf;
    tr_slot slots[TR_MAX_OPERANDS * CORE_SLOTS], *s = slots;
    corearg c[TR_MAX_OPERANDS];
    bool bad[TR_MAX_OPERANDS], any = false;
    const npy_intp *core_steps = steps + uf->nop;
    for (uint32_t k = 0; k < uf->nop; k++) {
        c[k].buf = NULL;
        core_axes(uf, k, dims, core_steps, c[k].ext, c[k].step);
        core_steps += uf->ncore[k];
        any |= bad[k] = core_needs_buffer(l, k, args[k], steps[k], &c[k]);
        s = put_core(l, k, s, args[k], dims[0], steps[k], c[k].ext, c[k].step);
    }
    return any ? core_with_buffers(l, args, dims[0], steps, c, bad) : enter(l, l->module, l->entry, slots);
}

/* --- entry --- */

bool tr_uloop_run(tr_uloop *l, char *const *args, const npy_intp *dims, const npy_intp *steps) {
    npy_intp n = dims[0];
    bool buffered = l->half != 0;
    if (n == 0)
        return true;
    if (l->uf->core)
        return core(l, args, dims, steps);
    for (uint32_t k = 0; !buffered && k < l->uf->nop; k++)
        buffered = needs_buffer(l, k, args[k], steps[k]);
    if (is_chain(l, args, n, steps))
        return chain(l, args, n, steps, buffered);
    return buffered ? map_buffered(l, args, n, steps) : map(l, args, n, steps);
}
