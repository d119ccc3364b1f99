/* Counted memory of compiled code, and the frame around a call.
 *
 * Every block is linked into the frame of the call that made it until it is detached (handed out as a result) or freed.
 * So when a call raises, tr_rt_frame_fini frees what is left and compiled code needs no clean-up paths.
 * Cost: one malloc per block; detach and free are O(1). Counts are not atomic while a block belongs to a frame; a
 * detached block's owner serialises (ext/ holds it in one Python object). */
#include "rt/rt.h"

#include <stdlib.h>

#include "rt/fns.h"

/* Past what x86-64 can address there is no point in asking; it also keeps the sums below from wrapping. */
static const uint64_t max_bytes = UINT64_C(1) << 47;

static void unlink_mem(tr_mem *m) {
    m->prev->next = m->next;
    m->next->prev = m->prev;
    m->next = m->prev = m;
}

void *tr_rt_alloc(tr_frame *f, uint64_t bytes) {
    if (bytes > max_bytes)
        return NULL;
    void *raw = malloc(bytes + 2 * TR_MEM_ALIGN);
    if (!raw)
        return NULL;
    uintptr_t at = ((uintptr_t)raw + TR_MEM_ALIGN - 1) & ~(uintptr_t)(TR_MEM_ALIGN - 1);
    tr_mem *m = (tr_mem *)at;
    *m = (tr_mem){.next = f->mems.next, .prev = &f->mems, .refs = 1, .size = bytes, .raw = raw};
    m->next->prev = m;
    f->mems.next = m;
    f->nalloc++;
    return m;
}

void tr_rt_free(tr_frame *f, void *mem) {
    tr_mem *m = mem;
    unlink_mem(m);
    f->nfree++;
    free(m->raw);
}

void tr_rt_frame_init(tr_frame *f, const tr_host *host) {
    f->mems = (tr_mem){.next = &f->mems, .prev = &f->mems};
    f->host = host;
    f->ntrace = f->depth = 0;
    f->nalloc = f->nfree = 0;
    f->out = NULL;
    f->nout = f->capout = 0;
}

void tr_rt_frame_fini(tr_frame *f) {
    while (f->mems.next != &f->mems)
        tr_rt_free(f, f->mems.next);
    free(f->out);
    f->out = NULL;
    f->nout = f->capout = 0;
}

void tr_rt_mem_detach(tr_frame *f, tr_mem *m) {
    (void)f; /* part of the contract: a pooled allocator needs it */
    unlink_mem(m);
}

void tr_rt_mem_unref(tr_mem *m) {
    if (--m->refs == 0)
        free(m->raw);
}
