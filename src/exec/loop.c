/* The inner loop: operands go into the slots of the compiled entry.
 *
 * The compiled loop of a map knows one layout: items side by side. All else (other steps, addresses out of
 * alignment, float16, an output that meets another item of an input) goes through buffers, a stretch at a
 * time, which costs compile time nothing and run time little. An output that the next element reads again
 * (reduce, accumulate) runs in the chain, a loop of its own.
 * Cost: some 10 ns beside the loop itself. */
#include <assert.h>

#include "exec/priv.h"
#include "rt/rt.h"

/* Slots of an operand in a map, and in a chain. */
enum { PACKED = 3, STRIDED = 4 };

/* --- where operands meet --- */

/* As tr_extent_of, of one axis whose items are all there. */
static inline tr_extent row_extent(const tr_exec *l, uint32_t k, char *const *args, int64_t n,
                                   const int64_t *steps) {
    int64_t far = (n - 1) * steps[k];
    uintptr_t at = (uintptr_t)args[k];
    return (tr_extent){at + (uintptr_t)(far < 0 ? far : 0),
                       at + (uintptr_t)(far > 0 ? far : 0) + l->item[k].size};
}

/* Does output k, which lies in x, write items that input m has at another index? NumPy lets that happen where
 * the input is ahead. */
static inline bool meet(const tr_exec *l, uint32_t k, tr_extent x, uint32_t m, char *const *args, int64_t n,
                        const int64_t *steps) {
    if (args[k] == args[m] && steps[k] == steps[m] && l->item[k].size == l->item[m].size)
        return false;
    return tr_extents_meet(x, row_extent(l, m, args, n, steps));
}

/* May the items be done in any order? */
static bool is_apart(const tr_exec *l, char *const *args, int64_t n, const int64_t *steps) {
    for (uint32_t k = l->nin; k < l->nop; k++) {
        tr_extent x = row_extent(l, k, args, n, steps);
        for (uint32_t m = 0; m < l->nin; m++)
            if (meet(l, k, x, m, args, n, steps))
                return false;
    }
    return true;
}

/* Compiled code wants items side by side, or one for all, and inputs that no output of another index
 * meets. */
static inline uint32_t to_buffer(const tr_exec *l, char *const *args, int64_t n, const int64_t *steps,
                                 uint32_t once) {
    uint32_t set = 0, nin = l->nin, nop = l->nop;
    for (uint32_t k = 0; k < nop; k++)
        if ((n > 1 && steps[k] != l->item[k].size && !(once >> k & 1)) ||
            tr_item_needs_buffer(&l->item[k], args[k], n > 1 ? steps[k] : 0))
            set |= 1u << k;
    for (uint32_t k = nin; k < nop; k++) {
        tr_extent x = row_extent(l, k, args, n, steps);
        for (uint32_t m = 0; m < nin; m++)
            if (!(set >> m & 1) && meet(l, k, x, m, args, n, steps))
                set |= 1u << m;
    }
    return set;
}

/* --- maps --- */

/* Items that lie side by side. */
static inline tr_slot *put_packed(tr_slot *s, char *data, int64_t n) {
    (s++)->p = TR_BORROWED;
    (s++)->p = data;
    (s++)->i = n;
    return s;
}

static int32_t map(const tr_exec *l, tr_entry_fn entry, tr_frame *frame, char *const *args, int64_t n) {
    assert(n > 0);
    tr_slot slots[PACKED * TR_MAX_OPERANDS], *s = slots;
    for (uint32_t k = 0, nop = l->nop; k < nop; k++)
        s = put_packed(s, args[k], n);
    return tr_enter(frame, entry, slots);
}

/* Code that may raise leaves items behind it as they are, in a buffer as in the output itself: the buffer
 * begins as a copy. What was computed before the raise is written back. */
static bool may_raise(const tr_meta *m) {
    return m->nsites > 0;
}

/* Operands with a buffer go through it. */
static int32_t stretch(const tr_exec *l, tr_entry_fn entry, tr_frame *frame, char *const *args,
                       const int64_t *steps, tr_buffers *b, tr_slot *slots, int64_t at, int64_t m) {
    uint32_t nin = l->nin, nop = l->nop;
    for (uint32_t k = 0; k < nop; k++) {
        tr_slot *s = slots + k * PACKED;
        s[2].i = m;
        if (!b->at[k]) {
            s[1].p = args[k] + at * steps[k];
        } else if (k < nin ? steps[k] || b->repeated[k] != args[k] : may_raise(l->meta)) {
            tr_buffer_load(&l->item[k], b->at[k], args[k] + at * steps[k], steps[k], m);
            b->repeated[k] = steps[k] ? NULL : args[k];
        }
    }
    int32_t code = tr_enter(frame, entry, slots);
    for (uint32_t k = nin; (!code || may_raise(l->meta)) && k < nop; k++)
        if (b->at[k])
            tr_buffer_store(&l->item[k], b->at[k], args[k] + at * steps[k], steps[k], m);
    return code;
}

static int32_t map_buffered(const tr_exec *l, tr_entry_fn entry, tr_frame *frame, char *const *args,
                            int64_t n, const int64_t *steps, uint32_t set, tr_buffers *b) {
    assert(set != 0);
    tr_slot slots[PACKED * TR_MAX_OPERANDS], *s = slots;
    if (!tr_buffers_ready(b, l, n, set))
        return TR_CODE_MEMORY;
    for (uint32_t k = 0; k < l->nop; k++)
        s = put_packed(s, b->at[k], b->len);
    int32_t code = 0;
    for (int64_t at = 0; !code && at < n; at += b->len)
        code = stretch(l, entry, frame, args, steps, b, slots, at, n - at < b->len ? n - at : b->len);
    return code;
}

/* --- variants of maps: what repeats is read once --- */

/* Items after which a variant has paid, if a buffer costs a twentieth of a nanosecond for each; and how
 * many variants at most. */
static const uint64_t worth_items = 64u << 20;
enum { MAX_VARIANTS = 8 };

static inline uint32_t repeating(const tr_exec *l, const int64_t *steps) {
    uint32_t once = 0;
    for (uint32_t k = 0, nin = l->nin; k < nin; k++)
        once |= steps[k] == 0 ? 1u << k : 0;
    return once;
}

static inline tr_exec_variant *variant(const tr_exec *l, uint32_t once) {
    assert(once != 0);
    tr_exec_variant *v = atomic_load_explicit(&l->variants, memory_order_acquire);
    while (v && v->once != once)
        v = v->next;
    return v;
}

static __attribute__((noinline)) bool expect_repeated(tr_exec *l, int64_t items, uint32_t once) {
    assert(items > 0 && once != 0 && once < 1u << l->nin);
    uint32_t n = 0;
    if (l->core || l->inner || variant(l, once) ||
        atomic_fetch_add_explicit(&l->repeated, (uint64_t)items, memory_order_relaxed) < worth_items)
        return true;
    atomic_store_explicit(&l->repeated, 0, memory_order_relaxed); /* the next one has to pay again */
    for (const tr_exec_variant *v = atomic_load(&l->variants); v; v = v->next)
        n++;
    return n >= MAX_VARIANTS || l->host->add_variant(l, once);
}

static inline bool expect(tr_exec *l, int64_t items, const int64_t *steps) {
    uint32_t once = repeating(l, steps);
    return !once || expect_repeated(l, items, once);
}

bool tr_exec_expect(tr_exec *l, int64_t items, const int64_t *steps) {
    return expect(l, items, steps);
}

/* A code of other code than the loop's own. */
static int32_t code_of(const tr_meta *m, tr_frame *frame, int32_t code) {
    if (code > 0) {
        frame->inner = m;
        frame->ninner = (uint16_t)frame->ntrace; /* at most TR_FRAME_TRACE */
        tr_rt_links_of(frame, m);
    }
    return code;
}

/* --- chains: out[i] = f(out[i - 1], b[i]) --- */

static inline bool is_chain(const tr_exec *l, char *const *args, int64_t n, const int64_t *steps) {
    return l->chains && n > 1 && steps[0] == steps[2] && args[0] == args[2] - steps[2];
}

static inline tr_slot *put_strided(tr_slot *s, char *data, int64_t n, int64_t stride) {
    (s++)->p = TR_BORROWED;
    (s++)->p = data;
    (s++)->i = n;
    (s++)->i = stride; /* in items */
    return s;
}

static int32_t chain_direct(const tr_exec *l, tr_frame *frame, char *const *args, int64_t n,
                            const int64_t *steps) {
    tr_slot slots[3 * STRIDED], *s = slots;
    for (uint32_t k = 0; k < 3; k++)
        s = put_strided(s, args[k], n, steps[k] >> tr_item_shift(&l->item[k]));
    return tr_enter(frame, l->chain, slots);
}

/* Everything through buffers; what goes from one stretch to the next is not rounded to float16 on the way. */
static int32_t chain_buffered(const tr_exec *l, tr_frame *frame, char *const *args, int64_t n,
                              const int64_t *steps) {
    tr_buffers b;
    int32_t code = 0;
    tr_buffers_init(&b);
    if (!tr_buffers_divide(&b, l, n, 7))
        return TR_CODE_MEMORY;
    bool raises = may_raise(l->chain_meta);
    char *last = b.at[0], *out = b.at[2];
    tr_buffer_load(&l->item[0], last, args[0], 0, 1);
    for (int64_t at = 0; !code && at < n; at += b.len) {
        int64_t m = n - at < b.len ? n - at : b.len;
        tr_slot slots[3 * STRIDED], *s = slots;
        tr_buffer_load(&l->item[1], b.at[1], args[1] + at * steps[1], steps[1], m);
        if (steps[2] && raises)
            tr_buffer_load(&l->item[2], out, args[2] + at * steps[2], steps[2], m);
        s = put_strided(s, last, m, 0);
        s = put_strided(s, b.at[1], m, 1);
        put_strided(s, out, m, 1);
        code = tr_enter(frame, l->chain, slots);
        memcpy(last, out + (m - 1) * tr_item_seen(&l->item[2]), (size_t)tr_item_seen(&l->item[2]));
        if (steps[2] && (!code || raises))
            tr_buffer_store(&l->item[2], out, args[2] + at * steps[2], steps[2], m);
    }
    if (!code && !steps[2])
        tr_buffer_store(&l->item[2], last, args[2], 0, 1);
    tr_buffers_fini(&b);
    return code;
}

static int32_t chain(tr_exec *l, tr_frame *frame, char *const *args, int64_t n, const int64_t *steps) {
    assert(l->chains && l->nin == 2 && l->nop == 3);
    if (!atomic_load_explicit(&l->chain, memory_order_acquire) && !l->host->need_chain(l))
        return TR_CODE_HOST;
    bool any = false;
    for (uint32_t k = 0; !any && k < 3; k++)
        any = tr_item_needs_buffer(&l->item[k], args[k], steps[k]);
    int32_t code = any ? chain_buffered(l, frame, args, n, steps) : chain_direct(l, frame, args, n, steps);
    return code_of(l->chain_meta, frame, code);
}

/* --- one thread --- */

static inline int32_t row(const tr_exec *l, tr_frame *frame, char *const *args, int64_t n,
                          const int64_t *steps, tr_buffers *b) {
    uint32_t once = n > 1 ? repeating(l, steps) : 0;
    const tr_exec_variant *v = once ? variant(l, once) : NULL;
    tr_entry_fn entry = v ? v->entry : l->entry;
    uint32_t set = to_buffer(l, args, n, steps, v ? once : 0);
    int32_t code =
        set ? map_buffered(l, entry, frame, args, n, steps, set, b) : map(l, entry, frame, args, n);
    return v ? code_of(v->meta, frame, code) : code;
}

int32_t tr_exec_row(tr_exec *l, tr_frame *frame, char *const *args, int64_t n, const int64_t *steps,
                    tr_buffers *b) {
    return l->inner ? l->inner(l->self, frame, args, &n, steps) : row(l, frame, args, n, steps, b);
}

static inline int32_t serial(tr_exec *l, tr_frame *frame, char *const *args, const int64_t *dims,
                             const int64_t *steps) {
    tr_buffers b;
    if (l->inner)
        return l->inner(l->self, frame, args, dims, steps);
    if (l->core)
        return tr_exec_run_cores(l, frame, args, dims, steps);
    tr_buffers_init(&b);
    int32_t code = row(l, frame, args, dims[0], steps, &b);
    tr_buffers_fini(&b);
    return code;
}

/* --- all of them --- */

typedef struct split {
    tr_exec *l;
    char *const *args;
    const int64_t *dims, *steps;
} split;

static int32_t split_range(tr_frame *frame, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    assert(lo < hi);
    const split *p = ctx;
    const tr_exec *l = p->l;
    char *at[TR_MAX_OPERANDS];
    int64_t dims[1 + TR_MAX_NDIM];
    (void)worker;
    for (uint32_t k = 0; k < l->nop; k++)
        at[k] = p->args[k] + lo * p->steps[k];
    memcpy(dims, p->dims, (1u + (l->core ? (size_t)l->core->nsizes : 0)) * sizeof *dims);
    dims[0] = hi - lo;
    return serial(p->l, frame, at, dims, p->steps);
}

int32_t tr_exec_run(tr_exec *l, tr_frame *frame, char *const *args, const int64_t *dims,
                    const int64_t *steps) {
    assert(dims[0] >= 0 && l->nin <= l->nop && l->nop <= TR_MAX_OPERANDS && (l->inner || l->entry));
    int64_t n = dims[0];
    if (n == 0)
        return 0;
    if (is_chain(l, args, n, steps))
        return chain(l, frame, args, n, steps);
    if (!expect(l, n, steps))
        return TR_CODE_HOST;
    if (!l->spreads || n == 1 || !(l->core || is_apart(l, args, n, steps)))
        return serial(l, frame, args, dims, steps);
    split p = {l, args, dims, steps};
    return tr_exec_spread(l, frame, split_range, &p, n, 1);
}
