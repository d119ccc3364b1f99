/* Counted memory of compiled code, and the frame around a call.
 *
 * Every block is linked into the frame of the call that made it until it is detached (handed out as a result)
 * or freed. So when a call raises, tr_rt_frame_fini frees what is left and compiled code that
 * catches nothing needs no clean-up paths. Large blocks come from the host's cache (blocks.c)
 * and go back to the one they came from.
 * Cost: one malloc per small block, but that the one that was freed last waits in its frame: a loop whose
 * rounds make an array has it again each time. Strings, and what lists and tables are known by, take less
 * memory than arrays, as nothing but malloc() aligns them: of many, reaching memory is what takes the time.
 * Detach and free are O(1). Counts are not atomic while a block belongs to a frame. The owners of a detached
 * one, Python objects, go on any thread. */
#include "base/meet.h"
#include "rt/rt.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#include "rt/blocks.h"
#include "rt/fns.h"
#include "rt/str.h"

/* Past what x86-64 can address there is no point in asking; it also keeps the sums below from wrapping. */
static const uint64_t max_bytes = UINT64_C(1) << 47;

/* What the frame has of a block, or the host after the call. */
static __attribute__((unused)) bool is_block(const tr_mem *m) {
    return (uintptr_t)m % _Alignof(max_align_t) == 0 && m->refs > 0 && m->raw && m->size <= max_bytes;
}

static void unlink_mem(tr_mem *m) {
    assert(m->next->prev == m && m->prev->next == m && "it is in its frame's list");
    m->prev->next = m->next;
    m->next->prev = m->prev;
    m->next = m->prev = m;
}

/* Aligned as an array is, or as malloc() does it. */
static tr_mem *small_block(tr_blocks *home, uint64_t bytes, bool array, void **raw) {
    size_t all = (size_t)bytes + (array ? 2u : 1u) * (size_t)TR_MEM_ALIGN;
    *raw = malloc(all);
    if (!*raw && tr_rt_blocks_empty(home))
        *raw = malloc(all);
    uintptr_t at = (uintptr_t)*raw;
    return (tr_mem *)(array ? (at + TR_MEM_ALIGN - 1) & ~(uintptr_t)(TR_MEM_ALIGN - 1) : at);
}

static void drop(tr_mem *m) {
    assert(m->next == m && m->prev == m && "no frame has it any more");
    if (m->far)
        m->far->drop(m->far);
    if (m->size < TR_BLOCK_MIN)
        free(m->raw);
    else
        tr_rt_blocks_put(m->home, m, m->size, m->raw);
}

const tr_shape tr_rt_room = {.size = 0};

static bool is_list(const tr_mem *m) {
    return !m->far && m->shape && m->shape->size;
}

/* The memory of a list's items, whatever they hold. */
static void drop_items(tr_mem *m) {
    if (!is_list(m))
        return;
    free(tr_list_of(m)->items);
    if (m->size == sizeof(tr_table))
        free(((tr_table *)tr_mem_data(m))->index);
    m->shape = NULL;
}

/* A sanitizer is to see that a block is freed. */
#ifdef __SANITIZE_ADDRESS__
enum { SPARES = 0 };
#else
enum { SPARES = 1 };
#endif

static void drop_spare(tr_frame *f) {
    if (f->spare)
        drop(f->spare);
    f->spare = NULL;
}

static void *alloc(tr_frame *f, uint64_t bytes, bool array) {
    if (bytes > max_bytes)
        return NULL;
    tr_blocks *home = f->host ? f->host->blocks : NULL;
    void *raw;
    tr_mem *m = f->spare;
    if (m && m->size == bytes && (!array || (uintptr_t)m % TR_MEM_ALIGN == 0)) {
        f->spare = NULL;
        raw = m->raw;
    } else
        m = bytes < TR_BLOCK_MIN ? small_block(home, bytes, array, &raw)
                                 : tr_rt_blocks_get(home, bytes, &raw);
    if (!raw)
        return NULL;
    if (bytes >= TR_LARGE && bytes > f->most)
        f->most = bytes;
    *m = (tr_mem){.next = f->mems.next, .prev = &f->mems, .refs = 1, .size = bytes, .raw = raw, .home = home};
    m->next->prev = m;
    f->mems.next = m;
    assert(is_block(m) && "a block is aligned, and has an owner");
    f->nalloc++;
    return m;
}

void *tr_rt_alloc(tr_frame *f, uint64_t bytes) {
    return alloc(f, bytes, true);
}

void *tr_rt_cell(tr_frame *f, uint64_t bytes) {
    return alloc(f, bytes, false);
}

/* One that is in no list any more. */
static void let_go(tr_frame *f, tr_mem *m) {
    f->nfree++;
    drop_items(m);
    if (!SPARES || f->spare || m->far || m->size >= TR_BLOCK_MIN)
        drop(m);
    else
        f->spare = m;
}

/* The block that a pointer of an item is counted for; NULL: none. */
static tr_mem *counted(const tr_shape *s, const void *items, int64_t i, uint32_t k) {
    tr_mem *held = *(tr_mem *const *)((const char *)items + i * s->size + s->at[k]);
    return (uintptr_t)held & 1u ? NULL : held;
}

/* Takes one reference back: that was the last. Several threads may count, as with what is captured by a
 * parallel region; nobody but who has the only one. */
static bool give_back(tr_mem *m) {
    assert(__atomic_load_n(&m->refs, __ATOMIC_RELAXED) > 0 && "who gives a reference back has one");
    return __atomic_load_n(&m->refs, __ATOMIC_ACQUIRE) == 1 ||
           __atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL) == 0;
}

/* Takes back a reference to what each item holds; what nobody has any more leaves its frame's ring and is
 * chained to `todo` by `next`. */
static tr_mem *release_items(const tr_shape *s, const void *items, int64_t n, tr_mem *todo) {
    for (int64_t i = 0; s->n && i < n; i++)
        for (uint32_t k = 0; k < s->n; k++) {
            tr_mem *held = counted(s, items, i, k);
            if (!held || !give_back(held))
                continue;
            unlink_mem(held);
            held->next = todo;
            todo = held;
        }
    return todo;
}

static tr_mem *release_held(const tr_mem *m, tr_mem *todo) {
    const tr_list *l = tr_list_of(m);
    return is_list(m) ? release_items(m->shape, l->items, l->len, todo) : todo;
}

/* Blocks that nobody has, chained by `next`, go one after the other, and what only they held: a chain of
 * lists may be as long as memory is large. How many; without a frame they are nobody's. */
static uint64_t free_chain(tr_frame *f, tr_mem *m) {
    uint64_t n = 0;
    for (; m; n++) {
        tr_mem *todo = release_held(m, m->next);
        m->next = m;
        if (f) {
            let_go(f, m);
        } else {
            drop_items(m);
            drop(m);
        }
        m = todo;
    }
    return n;
}

void tr_rt_items_drop(tr_frame *f, const tr_shape *shape, const void *items, int64_t n) {
    free_chain(f, release_items(shape, items, n, NULL));
}

void tr_rt_items_keep(const tr_shape *shape, const void *items, int64_t n) {
    for (int64_t i = 0; shape->n && i < n; i++)
        for (uint32_t k = 0; k < shape->n; k++) {
            tr_mem *held = counted(shape, items, i, k);
            if (held)
                __atomic_add_fetch(&held->refs, 1, __ATOMIC_RELAXED);
        }
}

/* What a list holds goes with it. */
void tr_rt_free(tr_frame *f, void *mem) {
    tr_mem *m = mem;
    assert((uintptr_t)m % _Alignof(max_align_t) == 0 && m->raw && m->size <= max_bytes &&
           "a block is freed, nothing else");
    unlink_mem(m);
    m->next = NULL;
    free_chain(f, m);
}

/* What compiled code does in place in a loop. */
void tr_rt_release(tr_frame *f, void *owner) {
    bool counted = owner && !((uintptr_t)owner & 1u);
    if (counted && give_back(owner))
        tr_rt_free(f, owner);
}

/* The next array of those that `parts` describes; strides that are not given go to `room`. */
static tr_extent next_extent(const int64_t **parts, int64_t *room) {
    const int64_t *p = *parts;
    unsigned n = (unsigned)(p[0] >> TR_MEET_AXES & 255);
    assert(n <= TR_MEET_NDIM && (p[0] & 255) > 0 && "there is room for its axes, and items have a size");
    bool given = p[0] & TR_MEET_GIVEN;
    *parts = p + 2 + n + (given ? n : 0);
    for (unsigned k = n; k-- > 0 && !given;)
        room[k] = k + 1 < n ? room[k + 1] * p[2 + k + 1] : 1;
    return (tr_extent){(const void *)(intptr_t)p[1], p[0] & 255, p + 2, given ? p + 2 + n : room, n};
}

bool tr_rt_meet(const int64_t *parts, int64_t n, int64_t written, int64_t same) {
    tr_extent e[TR_MEET_MAX];
    int64_t room[TR_MEET_MAX][TR_MEET_NDIM];
    assert(n <= TR_MEET_MAX && written <= n && "there is room for all arrays");
    for (int64_t k = 0; k < n; k++)
        e[k] = next_extent(&parts, room[k]);
    return tr_some_meet(e, (unsigned)n, (unsigned)written, (uint64_t)same);
}

/* As a ring: each block is in it once, and knows both neighbours. Looks at some, for its cost. */
static __attribute__((unused)) bool is_ring(const tr_frame *f) {
    const tr_mem *m = &f->mems;
    for (unsigned k = 0; k < 64 && (k == 0 || m != &f->mems); k++, m = m->next)
        if (m->next->prev != m || m->prev->next != m)
            return false;
    return true;
}

void tr_rt_frame_fini(tr_frame *f) {
    assert(is_ring(f) && "a frame's blocks are a ring");
    while (f->mems.next != &f->mems) { /* also what lists hold is in the ring, so nobody counts any more */
        tr_mem *m = f->mems.next;
        unlink_mem(m);
        let_go(f, m);
    }
    drop_spare(f);
    tr_rt_links_fini(f);
    free(f->out);
    f->out = NULL;
    f->nout = f->capout = f->nheld = 0;
    f->nmake = 0;
    f->lost = false;
}

void tr_rt_frame_merge(tr_frame *into, tr_frame *from) {
    assert(into != from && "no frame merges with itself");
    if (from->mems.next != &from->mems) {
        from->mems.next->prev = &into->mems;
        from->mems.prev->next = into->mems.next;
        into->mems.next->prev = from->mems.prev;
        into->mems.next = from->mems.next;
        from->mems.next = from->mems.prev = &from->mems;
    }
    drop_spare(from);
    into->nalloc += from->nalloc;
    assert(is_ring(into) && "a frame's blocks are a ring");
    into->nfree += from->nfree;
    into->most = into->most > from->most ? into->most : from->most;
    from->nalloc = from->nfree = 0;
}

void tr_rt_mem_detach(tr_frame *f, tr_mem *m) {
    assert(is_block(m) && "what a call hands out is a block that somebody has");
    (void)f;
    unlink_mem(m);
}

uint64_t tr_rt_mem_unref(tr_mem *m) {
    if (!give_back(m))
        return 0;
    m->next = NULL;
    return free_chain(NULL, m);
}
