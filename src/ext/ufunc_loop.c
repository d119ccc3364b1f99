/* Running an inner loop: operands go into the slots of the compiled entry.
 *
 * The compiled loop of a map knows one layout: items side by side. All else (other steps, addresses out of alignment, float16, an output that
 * meets another item of an input) goes through buffers, a stretch at a time, which costs compile time nothing and run time little. An output that the next element reads again (reduce, accumulate) runs in the chain, a loop of its own. No GIL is needed, none
 * is taken but to raise. Cost: some 10 ns beside the loop itself. */
#include "ext/ufunc.h"

#include <string.h>

#include "ext/pyerr.h"
#include "rt/fns.h"
#include "rt/pool.h"

enum { STRETCH = 512, MAX_ITEM = 16, SLOTS = 4 * TR_MAX_OPERANDS };
/* Bytes of a stretch's buffers together, and of a line of the cache: each begins with one. */
enum { ROOM = 16 << 10, LINE = 64 };

/* Owner of the operands: the caller, for the time of the call (rt/layout.h). */
#define BORROWED ((void *)(uintptr_t)1)

/* --- calling compiled code --- */

/* Ends a call: raises what `code` says, and counts what is left. */
static __attribute__((noinline)) bool settle(const tr_uloop *l, const tr_module *m, int32_t code,
                                             tr_frame *frame) {
    tr_state *st = l->uf->st;
    PyGILState_STATE g = PyGILState_Ensure();
    if (code && !l->uf->fn)
        PyErr_Format(PyExc_RuntimeError, "%U() is being destroyed", l->uf->name);
    else if (code && !PyErr_Occurred())
        tr_pyerr_raise_code(l->uf->fn, tr_module_meta(m), code, frame);
    uint64_t freed = frame->nfree;
    for (tr_mem *b = frame->mems.next; b != &frame->mems; b = b->next)
        freed++;
    atomic_fetch_add_explicit(&st->allocated, frame->nalloc, memory_order_relaxed);
    atomic_fetch_add_explicit(&st->freed, freed, memory_order_relaxed);
    bool ok = code == 0;
    tr_rt_frame_fini(frame);
    if (ok && PyErr_Occurred()) /* print() met an error */
        ok = false;
    PyGILState_Release(g);
    return ok;
}

static inline bool end(const tr_uloop *l, const tr_module *m, int32_t code, tr_frame *frame) {
    return code || frame->nalloc || frame->nfree || frame->capout ? settle(l, m, code, frame) : true;
}

bool tr_uloop_end(const tr_uloop *l, int32_t code, tr_frame *frame) {
    return end(l, l->module, code, frame);
}

static inline int32_t enter(tr_frame *frame, tr_entry_fn entry, const tr_slot *slots) {
    tr_slot ret[1];
    return entry(frame, slots, ret);
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

/* Items that lie side by side. */
static inline tr_slot *put_packed(tr_slot *s, char *data, npy_intp n) {
    (s++)->p = BORROWED;
    (s++)->p = data;
    (s++)->i = n;
    return s;
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

static bool needs_buffer(const tr_uloop *l, uint32_t k, const char *data, npy_intp step) {
    return is_half(l, k) || (step & (l->size[k] - 1)) || ((uintptr_t)data & l->odd[k]);
}

static void buffer_in(const tr_uloop *l, uint32_t k, char *buf, const char *from, npy_intp step, npy_intp n) {
    if (is_half(l, k))
        halves_to_floats(from, step, (float *)(void *)buf, n);
    else
        tr_rt_gather(buf, from, step, n, l->size[k]);
}

static void buffer_out(const tr_uloop *l, uint32_t k, const char *buf, char *to, npy_intp step, npy_intp n) {
    if (is_half(l, k))
        floats_to_halves((const float *)(const void *)buf, to, step, n);
    else
        tr_rt_scatter(to, step, buf, n, l->size[k]);
}

/* --- maps --- */

static void span(const tr_uloop *l, uint32_t k, char *const *args, npy_intp n, const npy_intp *steps,
                 const char **lo, const char **hi) {
    npy_intp far = (n - 1) * steps[k];
    *lo = args[k] + (far < 0 ? far : 0);
    *hi = args[k] + (far > 0 ? far : 0) + l->size[k];
}

/* Does output k write items that input m has at another index? NumPy lets that happen where the input is ahead. */
static inline bool meet(const tr_uloop *l, uint32_t k, uint32_t m, char *const *args, npy_intp n,
                        const npy_intp *steps) {
    const char *a, *b, *x, *y;
    if (args[k] == args[m] && steps[k] == steps[m] && l->size[k] == l->size[m])
        return false;
    span(l, k, args, n, steps, &a, &b);
    span(l, m, args, n, steps, &x, &y);
    return a < y && x < b;
}

/* May the items be done in any order? */
static bool is_apart(const tr_uloop *l, char *const *args, npy_intp n, const npy_intp *steps) {
    for (uint32_t k = l->uf->nin; k < l->uf->nop; k++)
        for (uint32_t m = 0; m < l->uf->nin; m++)
            if (meet(l, k, m, args, n, steps))
                return false;
    return true;
}

/* Compiled code wants items side by side, or one for all, and inputs that no output of another index meets. */
static uint32_t to_buffer(const tr_uloop *l, char *const *args, npy_intp n, const npy_intp *steps,
                          uint32_t once) {
    uint32_t set = 0, nin = l->uf->nin, nop = l->uf->nop;
    for (uint32_t k = 0; k < nop; k++)
        if ((n > 1 && steps[k] != l->size[k] && !(once >> k & 1)) ||
            needs_buffer(l, k, args[k], n > 1 ? steps[k] : 0))
            set |= 1u << k;
    for (uint32_t k = nin; k < nop; k++)
        for (uint32_t m = 0; m < nin; m++)
            if (!(set >> m & 1) && meet(l, k, m, args, n, steps))
                set |= 1u << m;
    return set;
}

static int32_t map(const tr_uloop *l, tr_entry_fn entry, tr_frame *frame, char *const *args, npy_intp n) {
    tr_slot slots[SLOTS], *s = slots;
    for (uint32_t k = 0, nop = l->uf->nop; k < nop; k++)
        s = put_packed(s, args[k], n);
    return enter(frame, entry, slots);
}

enum { PACKED = 3 }; /* slots of an operand */

/* Code that may raise leaves items behind it as they are, in a buffer as in the output itself: the buffer begins as a copy. What was computed
 * before the raise is written back. */
static bool may_raise(const tr_module *m) {
    return tr_module_meta(m)->nsites > 0;
}

/* Operands with a buffer go through it. */
static int32_t stretch(const tr_uloop *l, tr_entry_fn entry, tr_frame *frame, char *const *args,
                       const npy_intp *steps, tr_ubuffers *b, tr_slot *slots, npy_intp at, npy_intp m) {
    uint32_t nin = l->uf->nin, nop = l->uf->nop;
    for (uint32_t k = 0; k < nop; k++) {
        tr_slot *s = slots + k * PACKED;
        s[2].i = m;
        if (!b->at[k]) {
            s[1].p = args[k] + at * steps[k];
        } else if (k < nin ? steps[k] || b->repeated[k] != args[k] : may_raise(l->module)) {
            buffer_in(l, k, b->at[k], args[k] + at * steps[k], steps[k], m);
            b->repeated[k] = steps[k] ? NULL : args[k];
        }
    }
    int32_t code = enter(frame, entry, slots);
    for (uint32_t k = nin; (!code || may_raise(l->module)) && k < nop; k++)
        if (b->at[k])
            buffer_out(l, k, b->at[k], args[k] + at * steps[k], steps[k], m);
    return code;
}

static size_t lines(npy_intp bytes) {
    return (size_t)(bytes + LINE - 1) & ~(size_t)(LINE - 1);
}

/* Divides the room; what repeats in it is still there if it is divided as before. False without memory. */
static bool divide(const tr_uloop *l, tr_ubuffers *b, npy_intp n, uint32_t set) {
    npy_intp bytes = 0, len = STRETCH;
    size_t room = LINE; /* it may begin anywhere in one */
    for (uint32_t k = 0; k < l->uf->nop; k++)
        bytes += set >> k & 1 ? item_size(l, k) : 0;
    len = ROOM / bytes < len ? ROOM / bytes : len;
    len = len < n ? len : n;
    if (b->set == set && b->len == len)
        return true;
    for (uint32_t k = 0; k < l->uf->nop; k++)
        room += set >> k & 1 ? lines(len * item_size(l, k)) : 0;
    if (room > b->nroom) {
        tr_ubuffers_fini(b);
        b->room = PyMem_RawMalloc(room);
        b->nroom = b->room ? room : 0;
    }
    b->set = b->room ? set : 0;
    b->len = len;
    char *p = b->room + (-(uintptr_t)b->room & (LINE - 1));
    for (uint32_t k = 0; k < l->uf->nop; k++) {
        b->at[k] = set >> k & 1 ? p : NULL;
        b->repeated[k] = NULL;
        p += set >> k & 1 ? lines(len * item_size(l, k)) : 0;
    }
    return b->room != NULL;
}

static int32_t map_buffered(const tr_uloop *l, tr_entry_fn entry, tr_frame *frame, char *const *args,
                            npy_intp n, const npy_intp *steps, uint32_t set, tr_ubuffers *b) {
    tr_slot slots[SLOTS], *s = slots;
    if (!divide(l, b, n, set))
        return TR_CODE_MEMORY;
    for (uint32_t k = 0; k < l->uf->nop; k++)
        s = put_packed(s, b->at[k], b->len);
    int32_t code = 0;
    for (npy_intp at = 0; !code && at < n; at += b->len)
        code = stretch(l, entry, frame, args, steps, b, slots, at, n - at < b->len ? n - at : b->len);
    return code;
}

/* --- variants of maps: what repeats is read once --- */

/* Items after which a variant has paid, if a buffer costs a twentieth of a nanosecond for each; and how many variants at most. */
static const uint64_t worth_items = 64u << 20;
enum { MAX_VARIANTS = 8 };

static inline uint32_t repeating(const tr_uloop *l, const npy_intp *steps) {
    uint32_t once = 0;
    for (uint32_t k = 0, nin = l->uf->nin; k < nin; k++)
        once |= steps[k] == 0 ? 1u << k : 0;
    return once;
}

static inline tr_uvariant *variant(const tr_uloop *l, uint32_t once) {
    tr_uvariant *v = atomic_load_explicit(&l->variants, memory_order_acquire);
    while (v && v->once != once)
        v = v->next;
    return v;
}

bool tr_uloop_expect(tr_uloop *l, npy_intp items, const npy_intp *steps) {
    uint32_t once = repeating(l, steps), n = 0;
    if (!once || l->uf->core || l->uf->python || variant(l, once) ||
        atomic_fetch_add_explicit(&l->repeated, (uint64_t)items, memory_order_relaxed) < worth_items)
        return true;
    atomic_store_explicit(&l->repeated, 0, memory_order_relaxed); /* the next one has to pay again */
    for (const tr_uvariant *v = atomic_load(&l->variants); v; v = v->next)
        n++;
    return n >= MAX_VARIANTS || tr_uloop_add_variant(l, once);
}

/* --- chains: out[i] = f(out[i - 1], b[i]) --- */

static bool is_chain(const tr_uloop *l, char *const *args, npy_intp n, const npy_intp *steps) {
    return l->uf->nin == 2 && l->uf->nop == 3 && n > 1 && steps[0] == steps[2] &&
           args[0] == args[2] - steps[2] && l->num[0] == l->num[2];
}

static int32_t chain_direct(const tr_uloop *l, tr_frame *frame, char *const *args, npy_intp n,
                            const npy_intp *steps) {
    tr_slot slots[SLOTS], *s = slots;
    for (uint32_t k = 0; k < 3; k++)
        s = put_array(s, args[k], n, steps[k] >> log2_of(l, k));
    return enter(frame, l->chain, slots);
}

/* Everything through buffers; what goes from one stretch to the next is not rounded to float16 on the way. */
static int32_t chain_buffered(const tr_uloop *l, tr_frame *frame, char *const *args, npy_intp n,
                              const npy_intp *steps) {
    char *room = PyMem_RawMalloc((size_t)3 * STRETCH * MAX_ITEM);
    if (!room)
        return TR_CODE_MEMORY;
    char *a = room, *b = room + STRETCH * MAX_ITEM, *out = b + STRETCH * MAX_ITEM;
    buffer_in(l, 0, a, args[0], 0, 1);
    int32_t code = 0;
    for (npy_intp at = 0; !code && at < n; at += STRETCH) {
        npy_intp m = n - at < STRETCH ? n - at : STRETCH;
        tr_slot slots[12], *s = slots;
        buffer_in(l, 1, b, args[1] + at * steps[1], steps[1], m);
        if (steps[2] && may_raise(l->chain_module))
            buffer_in(l, 2, out, args[2] + at * steps[2], steps[2], m);
        s = put_array(s, a, m, 0);
        s = put_array(s, b, m, 1);
        put_array(s, out, m, 1);
        code = enter(frame, l->chain, slots);
        memcpy(a, out + (m - 1) * item_size(l, 2), (size_t)item_size(l, 2));
        if (steps[2] && (!code || may_raise(l->chain_module)))
            buffer_out(l, 2, out, args[2] + at * steps[2], steps[2], m);
    }
    if (!code && !steps[2])
        buffer_out(l, 2, a, args[2], 0, 1);
    PyMem_RawFree(room);
    return code;
}

static bool chain(tr_uloop *l, char *const *args, npy_intp n, const npy_intp *steps, bool buffered) {
    tr_frame frame;
    if (!atomic_load_explicit(&l->chain, memory_order_acquire) && !tr_uloop_need_chain(l))
        return false;
    tr_rt_frame_init(&frame, &l->uf->st->host);
    int32_t code =
        buffered ? chain_buffered(l, &frame, args, n, steps) : chain_direct(l, &frame, args, n, steps);
    return end(l, l->chain_module, code, &frame);
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
    npy_intp *ext, *step, *packed; /* of its axes */
    char *buf;                     /* NULL: used as it lies */
} corearg;

/* One call of a core. What it needs room for depends on the layout and may be some 50 KiB, so it lies on the heap. */
typedef struct corecall {
    tr_slot *slots;
    corearg arg[];
} corecall;

static corecall *core_new(const tr_uloop *l, const npy_intp *dims, const npy_intp *core_steps) {
    const tr_ufunc *uf = l->uf;
    size_t nop = uf->nop, axes = 0, head = sizeof(corecall) + nop * sizeof(corearg);
    for (uint32_t k = 0; k < nop; k++)
        axes += uf->ncore[k];
    corecall *c =
        PyMem_RawMalloc(head + 3 * axes * sizeof(npy_intp) + (4 * nop + 2 * axes) * sizeof(tr_slot));
    if (!c)
        return NULL;
    npy_intp *p = (npy_intp *)(void *)((char *)c + head);
    for (uint32_t k = 0; k < nop; k++) {
        size_t n = uf->ncore[k];
        c->arg[k] = (corearg){p, p + n, p + 2 * n, NULL};
        core_axes(uf, k, dims, core_steps, c->arg[k].ext, c->arg[k].step);
        core_steps += n;
        p += 3 * n;
    }
    c->slots = (tr_slot *)(void *)p;
    return c;
}

static bool core_needs_buffer(const tr_uloop *l, uint32_t k, const char *data, npy_intp outer,
                              const corearg *c) {
    bool bad = needs_buffer(l, k, data, outer);
    for (uint32_t d = 0; d < l->uf->ncore[k]; d++)
        bad |= (c->step[d] & (l->size[k] - 1)) != 0;
    return bad;
}

static bool core_give_buffer(const tr_uloop *l, uint32_t k, corearg *c) {
    size_t bytes = l->size[k];
    for (uint32_t d = l->uf->ncore[k]; d-- > 0; bytes *= (size_t)c->ext[d])
        c->packed[d] = (npy_intp)bytes;
    return (c->buf = PyMem_RawMalloc(bytes + 1)) != NULL;
}

/* One outer index at a time, with copies; inputs are written back where the function may store into them, and what it stored before it raised
 * is there as it would be without a copy. */
static int32_t core_buffered(const tr_uloop *l, tr_frame *frame, char *const *args, npy_intp n,
                             const npy_intp *steps, corecall *c) {
    tr_ufunc *uf = l->uf;
    int32_t code = 0;
    for (npy_intp i = 0; !code && i < n; i++) {
        tr_slot *s = c->slots;
        for (uint32_t k = 0; k < uf->nop; k++) {
            const corearg *a = &c->arg[k];
            char *p = args[k] + i * steps[k];
            if (a->buf)
                pack(a->buf, p, uf->ncore[k], a->ext, a->step, l->size[k], false);
            s = put_core(l, k, s, a->buf ? a->buf : p, 1, 0, a->ext, a->buf ? a->packed : a->step);
        }
        code = enter(frame, l->entry, c->slots);
        for (uint32_t k = 0; k < uf->nop; k++)
            if (c->arg[k].buf && (uf->u->op_flags[k] & NPY_ITER_READWRITE))
                pack(c->arg[k].buf, args[k] + i * steps[k], uf->ncore[k], c->arg[k].ext, c->arg[k].step,
                     l->size[k], true);
    }
    return code;
}

static int32_t core(const tr_uloop *l, tr_frame *frame, char *const *args, const npy_intp *dims,
                    const npy_intp *steps) {
    tr_ufunc *uf = l->uf;
    bool any = false, ok = true;
    corecall *c = core_new(l, dims, steps + uf->nop);
    if (!c)
        return TR_CODE_MEMORY;
    tr_slot *s = c->slots;
    for (uint32_t k = 0; k < uf->nop; k++) {
        corearg *a = &c->arg[k];
        bool bad = core_needs_buffer(l, k, args[k], steps[k], a);
        any |= bad;
        ok = ok && (!bad || core_give_buffer(l, k, a));
        s = put_core(l, k, s, args[k], dims[0], steps[k], a->ext, a->step);
    }
    int32_t code = !ok   ? TR_CODE_MEMORY
                   : any ? core_buffered(l, frame, args, dims[0], steps, c)
                         : enter(frame, l->entry, c->slots);
    for (uint32_t k = 0; k < uf->nop; k++)
        PyMem_RawFree(c->arg[k].buf);
    PyMem_RawFree(c);
    return code;
}

/* --- one thread --- */

static bool any_needs_buffer(const tr_uloop *l, char *const *args, const npy_intp *steps) {
    bool any = l->half != 0;
    for (uint32_t k = 0; !any && k < l->uf->nop; k++)
        any = needs_buffer(l, k, args[k], steps[k]);
    return any;
}

static inline int32_t row(const tr_uloop *l, tr_frame *frame, char *const *args, npy_intp n,
                          const npy_intp *steps, tr_ubuffers *b) {
    uint32_t once = n > 1 ? repeating(l, steps) : 0;
    const tr_uvariant *v = once ? variant(l, once) : NULL;
    tr_entry_fn entry = v ? v->entry : l->entry;
    uint32_t set = to_buffer(l, args, n, steps, v ? once : 0);
    int32_t code =
        set ? map_buffered(l, entry, frame, args, n, steps, set, b) : map(l, entry, frame, args, n);
    if (code > 0 && v) {
        frame->inner = tr_module_meta(v->module);
        frame->ninner = frame->ntrace;
    }
    return code;
}

int32_t tr_uloop_row(tr_uloop *l, tr_frame *frame, char *const *args, npy_intp n, const npy_intp *steps,
                     tr_ubuffers *b) {
    return l->uf->python ? tr_uloop_python(l, args, &n, steps) : row(l, frame, args, n, steps, b);
}

static int32_t serial(tr_uloop *l, tr_frame *frame, char *const *args, const npy_intp *dims,
                      const npy_intp *steps) {
    tr_ubuffers b;
    if (l->uf->python)
        return tr_uloop_python(l, args, dims, steps);
    if (l->uf->core)
        return core(l, frame, args, dims, steps);
    tr_ubuffers_init(&b);
    int32_t code = row(l, frame, args, dims[0], steps, &b);
    tr_ubuffers_fini(&b);
    return code;
}

/* --- all of them --- */

/* What a thread must have to do before it is worth waking; what it does at most before it looks up (Ctrl-C); and how long a trial runs before
 * the time of an item is believed. */
static const double worth_ns = 10e3, most_ns = 2e6, trial_ns = 500;
enum { LOOK = 32 }; /* calls that are not worth it for one that is timed */

/* What loops that may run in parallel take for an item; the mean of what was seen, weighted towards the last. What is far from it is taken at
 * once: one of the two was a short run. */
static void learn(tr_uloop *l, double ns, npy_intp items) {
    float now = (float)(ns / (double)items), was = atomic_load_explicit(&l->item_ns, memory_order_relaxed);
    bool near = now < was * 4 && was < now * 4;
    atomic_store_explicit(&l->item_ns, near ? was * 0.75f + now * 0.25f : now, memory_order_relaxed);
}

npy_intp tr_uloop_grain(const tr_uloop *l, npy_intp items, npy_intp per_row) {
    double row_ns = (double)atomic_load_explicit(&l->item_ns, memory_order_relaxed) * (double)per_row;
    int64_t fixed = tr_rt_fixed_grain();
    if (fixed)
        return items > fixed ? (npy_intp)fixed : 0;
    if (!(row_ns * (double)items >= 2 * worth_ns) || tr_rt_num_threads() < 2)
        return 0;
    double grain = (double)items / 256;
    grain = grain * row_ns > most_ns ? most_ns / row_ns : grain;
    grain = grain * row_ns < worth_ns ? worth_ns / row_ns : grain;
    return grain > 1 ? (npy_intp)grain : 1;
}

/* With how many rows a trial begins: what is known to last is not done on one thread. */
static npy_intp few_rows(const tr_uloop *l, npy_intp per_row) {
    double item = (double)atomic_load_explicit(&l->item_ns, memory_order_relaxed);
    npy_intp items = item > 0 && item * 64 < trial_ns ? 64 : item > 0 ? (npy_intp)(trial_ns / item) : 1;
    return items > per_row ? items / per_row : 1;
}

int32_t tr_uloop_trial(tr_uloop *l, tr_frame *frame, tr_par_fn *fn, void *ctx, npy_intp rows,
                       npy_intp per_row, npy_intp *done) {
    int32_t code = 0;
    npy_intp m = few_rows(l, per_row);
    uint64_t start = tr_now_ns();
    *done = 0;
    for (double ns = 0; !code && ns < trial_ns && *done < rows; m *= 2) {
        npy_intp from = *done, to = rows - from < m ? rows : from + m;
        code = fn(frame, ctx, from, to, 0);
        uint64_t end = tr_now_ns();
        ns = (double)(end - start);
        start = end;
        if (ns >= trial_ns || to == rows)
            learn(l, ns, (to - from) * per_row);
        *done = to;
    }
    return code;
}

typedef struct split {
    tr_uloop *l;
    char *const *args;
    const npy_intp *dims, *steps;
} split;

static int32_t split_range(tr_frame *frame, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    const split *p = ctx;
    const tr_ufunc *uf = p->l->uf;
    char *at[TR_MAX_OPERANDS];
    npy_intp dims[1 + TR_MAX_NDIM];
    (void)worker;
    for (uint32_t k = 0; k < uf->nop; k++)
        at[k] = p->args[k] + lo * p->steps[k];
    memcpy(dims, p->dims, (1u + (uf->core ? (size_t)uf->u->core_num_dim_ix : 0)) * sizeof *dims);
    dims[0] = hi - lo;
    return serial(p->l, frame, at, dims, p->steps);
}

static int32_t in_parallel(tr_uloop *l, tr_frame *frame, char *const *args, const npy_intp *dims,
                           const npy_intp *steps) {
    split p = {l, args, dims, steps};
    npy_intp done, n = dims[0];
    float item = atomic_load_explicit(&l->item_ns, memory_order_relaxed);
    if (tr_rt_fixed_grain()) {
        npy_intp fixed = tr_uloop_grain(l, n, 1);
        return fixed ? tr_rt_parallel(frame, split_range, &p, n, fixed) : serial(l, frame, args, dims, steps);
    }
    /* Not worth it; now and then with a look at the clock, for it may depend on the data. A call that another thread counts over is no loss. */
    if (item > 0 && !tr_uloop_grain(l, n, 1)) {
        unsigned calls = atomic_load_explicit(&l->calls, memory_order_relaxed);
        atomic_store_explicit(&l->calls, calls + 1, memory_order_relaxed);
        if (calls % LOOK)
            return serial(l, frame, args, dims, steps);
    }
    int32_t code = tr_uloop_trial(l, frame, split_range, &p, n, 1, &done);
    npy_intp grain = tr_uloop_grain(l, n - done, 1);
    if (code || done == n)
        return code;
    if (!grain)
        return split_range(frame, &p, done, n, 0);
    char *rest[TR_MAX_OPERANDS];
    for (uint32_t k = 0; k < l->uf->nop; k++)
        rest[k] = args[k] + done * steps[k];
    p.args = rest;
    return tr_rt_parallel(frame, split_range, &p, n - done, grain);
}

/* --- entry --- */

static __attribute__((cold, noinline)) bool no_room(const tr_ufunc *uf) {
    PyGILState_STATE g = PyGILState_Ensure();
    PyErr_Format(PyExc_RecursionError, "the stack of this thread has no room for a call of %U()", uf->name);
    PyGILState_Release(g);
    return false;
}

bool tr_ufunc_room(const tr_ufunc *uf, size_t bytes) {
    return tr_rt_stack_left() >= bytes || no_room(uf);
}

bool tr_uloop_run(tr_uloop *l, char *const *args, const npy_intp *dims, const npy_intp *steps) {
    tr_frame frame;
    if (dims[0] == 0)
        return true;
    if (!l->uf->core && !l->uf->python && is_chain(l, args, dims[0], steps))
        return chain(l, args, dims[0], steps, any_needs_buffer(l, args, steps));
    if (!tr_uloop_expect(l, dims[0], steps))
        return false;
    tr_rt_frame_init(&frame, &l->uf->st->host);
    bool many = tr_ufunc_spreads(l->uf) && dims[0] > 1 && (l->uf->core || is_apart(l, args, dims[0], steps));
    int32_t code = many ? in_parallel(l, &frame, args, dims, steps) : serial(l, &frame, args, dims, steps);
    return end(l, l->module, code, &frame);
}
