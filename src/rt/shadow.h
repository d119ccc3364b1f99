/* What is remembered of memory that threads share: who wrote and read it last, and how far they had come. */
#ifndef TR_RT_SHADOW_H
#define TR_RT_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include "rt/layout.h"

/* An access: at which time (41 bits), which thread of the block (10), and where in the source (12). 0: none.
 * With the highest bit it is something else, by nobody. A thread's time is a count that never goes back: it
 * goes on where the thread has met others, at a barrier of the block or of its warp, and is there more than
 * the time of each of them before. Each phase, what lies between two barriers of the block, begins at a time
 * that nobody had before, and so does each block. */
typedef uint64_t tr_mark;
enum { TR_MARK_SITES = 1 << 12, TR_MARK_THREADS = 1 << 10, TR_LANES = 32 };
#define TR_MARK_TIMES (UINT64_C(1) << 41)
#define TR_MARK_OTHER (UINT64_C(1) << 63)
#define TR_MARK_FRESH (TR_MARK_OTHER | 1) /* of memory that nobody wrote; answers (tr_clash) are others */

static inline tr_mark tr_mark_of(uint64_t time, uint64_t thread, uint64_t site) {
    return time << 22 | thread << 12 | site;
}
static inline uint64_t tr_mark_time(tr_mark m) { /* 0: it is no access */
    return m & TR_MARK_OTHER ? 0 : m >> 22;
}
static inline uint64_t tr_mark_thread(tr_mark m) {
    return m >> 12 & (TR_MARK_THREADS - 1);
}
static inline uint64_t tr_mark_site(tr_mark m) {
    return m & (TR_MARK_SITES - 1);
}

/* Marks are as their times are, what is no access before all of them. */
static inline bool tr_mark_before(tr_mark x, tr_mark y) {
    return (int64_t)x < (int64_t)y;
}

/* Who makes an access now. `known`, of each lane of its warp: up to which time what it did
 * comes before; NULL: nothing. */
typedef struct tr_now {
    tr_mark m;
    tr_mark base, start; /* before which is what other blocks did, and earlier phases */
    const uint64_t *known;
} tr_now;

/* Accesses that do not disturb each other, as far as a later one must know of them: the last one; of
 * the same phase one by another warp, or else what of this warp's is ordered before none of the rest
 * (LANES, MANY); one of an earlier block. */
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
    tr_mark floor;                      /* not 0; what is before it comes before all */
    bool full;                          /* there was no memory */
    struct tr_lanes *lanes;             /* MANY of tr_marks: by number */
    uint32_t nlanes, caplanes, spare;   /* spare: 1 + the number of one that is free */
} tr_shadow;

/* Does nothing order x, of an earlier moment, and what is done now? They are of two threads
 * then. What is no access is nobody's. */
bool tr_mark_apart(const tr_shadow *s, tr_mark x, const tr_now *now);

void *tr_shadow_alloc(tr_frame *f, uint64_t bytes); /* zeroed; NULL without memory */
void tr_shadow_free(tr_frame *f, void *data);

/* Where an access meets what it must not: `with` an earlier one of `how` (TR_TOUCH_*); it looks (FRESH) at
 * what nobody wrote; it writes (SETTLED) where somebody looked before, and `with` is what that was answered
 * with. The answer to FRESH is to be remembered, with TR_MARK_OTHER; others are not asked for one. */
enum { TR_CLASH_FRESH = 8, TR_CLASH_SETTLED };
typedef struct tr_clash {
    tr_mark with;
    int how;
} tr_clash;
typedef tr_mark tr_clash_fn(void *self, uint64_t address, tr_clash clash);
void tr_shadow_touch(tr_shadow *s, uint64_t address, uint64_t size, int how, const tr_now *now,
                     tr_clash_fn *fn, void *self);
/* What of [lo, hi) was read, and what was written: runs of bytes, those that are both as
 * written. False: fn said so. */
bool tr_shadow_spans(const tr_shadow *s, uint64_t lo, uint64_t hi,
                     bool (*fn)(void *self, uint64_t lo, uint64_t hi, bool written), void *self);
/* Nobody wrote these bytes; `known`: but where something was written or told since. */
void tr_shadow_fresh(tr_shadow *s, uint64_t address, uint64_t size, bool known);
/* It is no longer known that nobody wrote them. */
void tr_shadow_unseen(tr_shadow *s, uint64_t address, uint64_t size);

#endif
