/* Memory of the emulated device: blocks of one range of addresses that is nobody else's, so whether a
 * pointer is the device's is two comparisons.
 *
 * The range is as large as the machine's memory, or the container's, and reserved when the device is
 * opened; pages come when they are touched. Blocks are multiples of 256 bytes, as CUDA's, and lie side by
 * side: a list by address, and lists of free ones by size. A block that is freed joins its neighbours.
 * What was touched and is free stays with the process up to a limit, as the next arrays need no new pages
 * then; beyond it goes back to the system. A block of 1 MiB or more begins at another line of its page
 * than the one before (rt/blocks.c says why).
 *
 * Invariants: neighbours in the list are neighbours in memory and fill the range; two free ones are never
 * neighbours; a free one is in the bin of its size.
 * Cost: an allocation looks at a few blocks of a bin; `find` walks the list. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dev/emu.h"

struct emu_block {
    emu_block *prev, *next; /* by address */
    emu_block *up, *down;   /* in a bin */
    uint64_t at, size;      /* offset */
    uint64_t kept;          /* of a free one: bytes that were touched, about */
    uint64_t start, asked;  /* of a used one: the offset that was given out, bytes */
    bool free;
};

enum { GRAIN = 256, LOG_GRAIN = 8, LOOKS = 32, COLOUR = 5 * GRAIN, PAGE = 4096 };
#define COLOUR_FROM (UINT64_C(1) << 20)
#define KEEP        (UINT64_C(256) << 20)
#define LEAST       (UINT64_C(64) << 20)

/* --- bins --- */

static unsigned bin_of(uint64_t size) {
    unsigned lg = 63u - (unsigned)__builtin_clzll(size >> LOG_GRAIN);
    return lg < EMU_BINS ? lg : EMU_BINS - 1;
}

static void bin_add(emu_mem *m, emu_block *b) {
    assert(b->size >= GRAIN && !b->free && "a block is in one bin");
    emu_block **top = &m->bins[bin_of(b->size)];
    b->free = true;
    b->up = NULL;
    b->down = *top;
    if (*top)
        (*top)->up = b;
    *top = b;
}

static void bin_remove(emu_mem *m, emu_block *b) {
    assert(b->free && (b->up || m->bins[bin_of(b->size)] == b) && "a free block is in the bin of its size");
    if (b->up)
        b->up->down = b->down;
    else
        m->bins[bin_of(b->size)] = b->down;
    if (b->down)
        b->down->up = b->up;
    b->free = false;
}

/* A free block of at least that size. In the size's own bin some are too small: a few are
 * looked at first, all of them last. */
static emu_block *bin_find(const emu_mem *m, uint64_t size) {
    unsigned own = bin_of(size), k = own + 1;
    emu_block *b = m->bins[own];
    for (unsigned i = 0; b && b->size < size && i < LOOKS; i++)
        b = b->down;
    if (b && b->size >= size)
        return b;
    while (k < EMU_BINS && !m->bins[k])
        k++;
    if (k < EMU_BINS)
        return m->bins[k];
    while (b && b->size < size)
        b = b->down;
    return b;
}

/* --- records --- */

static emu_block *record_new(emu_mem *m) {
    emu_block *b = m->spare;
    if (b)
        m->spare = b->next;
    else
        b = malloc(sizeof *b);
    if (b)
        *b = (emu_block){0};
    return b;
}

static void record_free(emu_mem *m, emu_block *b) {
    b->next = m->spare;
    m->spare = b;
}

/* The first `size` bytes of a free block that is in no bin; what is left becomes a free one. Without
 * memory for its record all of it is used. */
static void split(emu_mem *m, emu_block *b, uint64_t size) {
    emu_block *rest = b->size > size ? record_new(m) : NULL;
    if (!rest)
        return;
    rest->at = b->at + size;
    rest->size = b->size - size;
    rest->kept = b->kept > size ? b->kept - size : 0;
    rest->prev = b;
    rest->next = b->next;
    if (rest->next)
        rest->next->prev = rest;
    b->next = rest;
    b->size = size;
    b->kept -= rest->kept;
    bin_add(m, rest);
}

/* b takes in its neighbour behind. */
static void join(emu_mem *m, emu_block *b) {
    emu_block *n = b->next;
    assert(n->prev == b && b->at + b->size == n->at && "neighbours in the list are neighbours in memory");
    b->size += n->size;
    b->kept += n->kept;
    b->next = n->next;
    if (b->next)
        b->next->prev = b;
    record_free(m, n);
}

/* --- the range --- */

static uint64_t number_in(const char *path) {
    unsigned long long n = 0;
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%llu", &n) != 1)
        n = 0; /* "max" */
    if (f)
        fclose(f);
    return n;
}

static uint64_t machine_memory(void) {
    uint64_t ram = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    const char *const paths[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++) {
        uint64_t n = number_in(paths[i]);
        if (n && n < ram)
            ram = n;
    }
    return ram;
}

bool emu_mem_open(emu_mem *m, char *msg, size_t room) {
    uint64_t size = machine_memory() & ~(uint64_t)(LEAST - 1);
    char *p = MAP_FAILED;
    for (size = size < LEAST ? LEAST : size; p == MAP_FAILED && size >= LEAST; size /= 2) {
        size &= ~(uint64_t)(PAGE - 1);
        p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED)
            break;
    }
    emu_block *all = p == MAP_FAILED ? NULL : record_new(m);
    if (!all) {
        snprintf(msg, room, "the emulated device: no range of addresses of %d MiB is free",
                 (int)(LEAST >> 20));
        return false;
    }
    madvise(p, size, MADV_HUGEPAGE); /* advice: systems without are fine */
    madvise(p, size, MADV_DONTDUMP);
    m->lo = (uintptr_t)p;
    m->hi = m->lo + size;
    m->left = all->size = size;
    m->first = all;
    bin_add(m, all);
    return true;
}

/* --- blocks --- */

int32_t emu_alloc(emu_mem *m, uint64_t bytes, tr_dev_mem *out) {
    uint64_t size = bytes ? (bytes + GRAIN - 1) & ~(uint64_t)(GRAIN - 1) : GRAIN, shift = 0;
    if (size < bytes || size > m->left)
        return TR_CODE_MEMORY;
    if (size >= COLOUR_FROM && m->left - size >= PAGE) {
        shift = m->turn++ * COLOUR % PAGE;
        size += PAGE;
    }
    emu_block *b = bin_find(m, size);
    if (!b)
        return TR_CODE_MEMORY;
    bin_remove(m, b);
    split(m, b, size);
    m->kept -= b->kept < m->kept ? b->kept : m->kept;
    b->kept = 0;
    b->start = b->at + shift;
    b->asked = bytes;
    m->used += b->size;
    m->left -= b->size;
    if (b->at + b->size > m->touched)
        m->touched = b->at + b->size;
    assert(b->start + bytes <= b->at + b->size && "what is given out lies in its block");
    *out = (tr_dev_mem){.at = (void *)(m->lo + b->start), .bytes = bytes, .of = b};
    return 0;
}

/* Pages of a free block back to the system. */
static void give_back(emu_mem *m, emu_block *b) {
    uint64_t end = b->at + b->size < m->touched ? b->at + b->size : m->touched;
    uintptr_t lo = (m->lo + b->at + PAGE - 1) & ~(uintptr_t)(PAGE - 1),
              hi = (m->lo + end) & ~(uintptr_t)(PAGE - 1);
    if (hi > lo)
        madvise((void *)lo, hi - lo, MADV_DONTNEED);
    m->kept -= b->kept < m->kept ? b->kept : m->kept;
    b->kept = 0;
}

void emu_free(emu_mem *m, const tr_dev_mem *given) {
    emu_block *b = given->of;
    assert(!b->free && m->lo + b->start == (uintptr_t)given->at && "what is given back was given out");
    assert(m->used >= b->size && "and is counted");
    m->used -= b->size;
    m->left += b->size;
    m->kept += b->kept = b->size;
    if (b->next && b->next->free) {
        bin_remove(m, b->next);
        join(m, b);
    }
    if (b->prev && b->prev->free) {
        b = b->prev;
        bin_remove(m, b);
        join(m, b);
    }
    bin_add(m, b);
    if (m->kept > KEEP)
        give_back(m, b);
}

bool emu_find(const emu_mem *m, const void *at, tr_dev_mem *out) {
    if (!emu_owns(m, at))
        return false;
    uint64_t offset = (uintptr_t)at - m->lo;
    emu_block *b = m->first;
    while (b && b->at + b->size <= offset)
        b = b->next;
    if (!b || b->free || offset < b->start || offset >= b->start + (b->asked ? b->asked : 1))
        return false;
    *out = (tr_dev_mem){.at = (void *)(m->lo + b->start), .bytes = b->asked, .of = b};
    return true;
}

const char *emu_mem_check(const emu_mem *m) {
    uint64_t at = 0, used = 0, nfree = 0, binned = 0;
    for (const emu_block *b = m->first; b; b = b->next) {
        if (b->at != at || !b->size || b->size % GRAIN)
            return "blocks do not lie side by side";
        if (b->next && b->next->prev != b)
            return "the list of blocks is broken";
        if (b->free && b->next && b->next->free)
            return "two free blocks are neighbours";
        at += b->size;
        used += b->free ? 0 : b->size;
        nfree += b->free;
    }
    for (unsigned k = 0; k < EMU_BINS; k++)
        for (const emu_block *b = m->bins[k]; b; b = b->down, binned++)
            if (!b->free || bin_of(b->size) != k)
                return "a bin holds what is not of it";
    if (at != m->hi - m->lo || used != m->used || used + m->left != at)
        return "the bytes do not add up";
    return nfree == binned ? NULL : "a free block is in no bin";
}
