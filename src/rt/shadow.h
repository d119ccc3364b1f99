/* What is remembered of memory that threads share: who wrote and read it last, and how far they had come. */
#ifndef TR_RT_SHADOW_H
#define TR_RT_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include "rt/layout.h"

/* An access: which thread of the block (10 bits), in which phase (30), in which phase of its warp within that (12), and where in the source (12).
 * Phases count barriers through the whole launch, and each block begins a new one, so a phase tells the block, too. 0: none. */
typedef uint64_t tr_mark;
enum {
    TR_MARK_SITES = 1 << 12,
    TR_MARK_WARPS = 1 << 12,
    TR_MARK_PHASES = 1 << 30,
    TR_MARK_THREADS = 1 << 10
};
#define TR_MARK_FRESH 1 /* of memory that nobody wrote; its phase is 0, as is that of an answer (tr_clash) */

static inline tr_mark tr_mark_of(uint64_t phase, uint64_t thread, uint64_t warp, uint64_t site) {
    return phase << 34 | thread << 24 | warp << 12 | site;
}
static inline uint64_t tr_mark_phase(tr_mark m) {
    return m >> 34;
}
static inline uint64_t tr_mark_thread(tr_mark m) {
    return m >> 24 & (TR_MARK_THREADS - 1);
}
static inline uint64_t tr_mark_warp(tr_mark m) {
    return m >> 12 & (TR_MARK_WARPS - 1);
}
static inline uint64_t tr_mark_site(tr_mark m) {
    return m & (TR_MARK_SITES - 1);
}

/* Accesses that do not disturb each other, as far as a later one must know of them: the last one; one of the same phase by a thread that
 * nothing orders against that; one of an earlier block. */
typedef struct tr_marks {
    tr_mark last, other, old;
} tr_marks;

typedef struct tr_cell {
    tr_mark write;
    tr_marks reads;
} tr_cell;

/* 4 KiB of memory, a cell for each 1 << shift bytes: as fine as it has been looked at. */
enum { TR_SHADOW_PAGE = 12, TR_SHADOW_LATEST = 16 };
typedef struct tr_spage {
    uint64_t number; /* address >> TR_SHADOW_PAGE */
    unsigned shift;
    tr_cell *cells;
    tr_marks *atomics; /* parallel to cells; NULL: there were none */
} tr_spage;

typedef struct tr_shadow {
    tr_frame *frame;  /* whose blocks its memory is */
    tr_spage **pages; /* open addressing, 1 << bits of them */
    unsigned bits;
    uint64_t n;
    tr_spage *latest[TR_SHADOW_LATEST]; /* by the last bits of their numbers */
    uint64_t floor; /* phases from here on can be met: all that was before comes before them */
    bool full;      /* there was no memory */
} tr_shadow;

/* Does nothing order x, of an earlier moment, and m? They are of two threads then. What has no phase is nobody's. */
bool tr_mark_apart(const tr_shadow *s, tr_mark x, tr_mark m, uint64_t base);

void *tr_shadow_alloc(tr_frame *f, uint64_t bytes); /* zeroed; NULL without memory */
void tr_shadow_free(tr_frame *f, void *data);

/* Where an access meets what it must not: `with` an earlier one of `how` (TR_TOUCH_*); it looks (FRESH) at what nobody wrote; it writes (SETTLED) where somebody
 * looked before, and `with` is what that was answered with. The answer to FRESH is a mark of phase 0 to remember; others are not asked for one. */
enum { TR_CLASH_FRESH = 8, TR_CLASH_SETTLED };
typedef struct tr_clash {
    tr_mark with;
    int how;
} tr_clash;
typedef tr_mark tr_clash_fn(void *self, uint64_t address, tr_clash clash);
/* base: the phase in which the block of `m` began. */
void tr_shadow_touch(tr_shadow *s, uint64_t address, uint64_t size, int how, tr_mark m, uint64_t base,
                     tr_clash_fn *fn, void *self);
/* What of [lo, hi) was read, and what was written: runs of bytes, those that are both as written. False: fn said so. */
bool tr_shadow_spans(const tr_shadow *s, uint64_t lo, uint64_t hi,
                     bool (*fn)(void *self, uint64_t lo, uint64_t hi, bool written), void *self);
/* Nobody wrote these bytes; `known`: but where something was written or told since. */
void tr_shadow_fresh(tr_shadow *s, uint64_t address, uint64_t size, bool known);

#endif
