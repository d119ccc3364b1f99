/* Running a loop over n-d operands in memory, without Python and without the compiler.
 *
 * A *loop* computes items of outputs from items of inputs: compiled code for items side by side, or a
 * host's function for items that lie anyhow. A *walk* brings it to operands of any shape and strides: they
 * broadcast, axes are ordered by their strides and coalesced, the innermost one that is left is the inner
 * loop, the others count its rows (the outer loops). What compiled code cannot take as it lies goes
 * through buffers; a loop that spreads is given to all cores in ranges of a grain that the clock has told.
 * Errors are codes as in rt/layout.h (TR_CODES and raise sites); what was computed before one is there.
 * Nothing here keeps state but the loop. */
#ifndef TR_EXEC_EXEC_H
#define TR_EXEC_EXEC_H

#include <stdatomic.h>

#include "code/code.h"
#include "ty/obj.h"

/* --- loops --- */

/* Items of an operand as they are stored, and what code sees of them. */
typedef struct tr_item {
    uint8_t size; /* bytes as stored: 1, 2, 4, 8 or 16 */
    uint8_t odd;  /* bits of an address that only items out of alignment have */
    bool half;    /* stored as float16, seen as float32 */
} tr_item;
tr_item tr_item_of(const tr_ty *scalar, bool half);

/* Compiled code for operands of which some inputs repeat one item. */
typedef struct tr_exec_variant {
    struct tr_exec_variant *next;
    uint32_t once; /* which, a bit each */
    tr_entry_fn entry;
    const tr_meta *meta; /* its raise sites */
} tr_exec_variant;

/* dims[0] items of each operand, from args[k] on in steps[k] bytes. Generalised: dims goes on with the
 * extents of core axes, steps with the strides of each operand's. This is how NumPy calls its loops too. */
typedef int32_t tr_inner_fn(void *self, tr_frame *frame, char *const *args, const int64_t *dims,
                            const int64_t *steps);

struct tr_exec;
/* What a loop asks for when it has seen that it is needed or pays. False: the host has an exception. */
typedef struct tr_exec_host {
    bool (*need_chain)(struct tr_exec *l);                 /* sets `chain`, after its `chain_meta` */
    bool (*add_variant)(struct tr_exec *l, uint32_t once); /* or does nothing */
} tr_exec_host;

/* All zero but what is set before it first runs; what is _Atomic may then change while other threads run
 * it. */
typedef struct tr_exec {
    uint32_t nin, nop; /* operands, inputs first */
    tr_item item[TR_MAX_OPERANDS];
    bool spreads; /* over all cores, where that pays */
    bool chains;  /* two inputs, one output of the first one's type: may be asked to feed its results back */
    const tr_cores *core;     /* generalised: whole arrays in place of items. NULL: elementwise */
    tr_inner_fn *inner;       /* takes items as they lie. NULL: compiled code does it */
    void *self;               /* inner's */
    tr_entry_fn entry;        /* elementwise: for items side by side, any of which may be done first */
    const tr_meta *meta;      /* its raise sites */
    const tr_exec_host *host; /* of compiled code */
    /* out[i] = f(out[i - 1], b[i]) for any steps, as reductions and scans are asked for */
    _Atomic(tr_entry_fn) chain;
    const tr_meta *chain_meta;
    _Atomic(tr_exec_variant *) variants;
    _Atomic uint64_t repeated; /* items that came without one */
    _Atomic uint32_t calls;    /* short ones of a loop that spreads */
    _Atomic float item_ns;     /* what an item takes, as far as is known; 0: it is not */
} tr_exec;

/* dims[0] items (cores) of each operand; an output may meet inputs in memory as NumPy allows. 0 or a code;
 * one of a variant's or the chain's has `frame->inner`. */
int32_t tr_exec_run(tr_exec *l, tr_frame *frame, char *const *args, const int64_t *dims,
                    const int64_t *steps);

/* --- walks --- */

enum { TR_WALK_NDIM = 64, TR_ND_ABSENT = -1 };
/* Steps that a walk has room for itself: there may be 2048, too many for a short stack. */
enum { TR_WALK_STEPS = 32 };

/* An n-d operand. */
typedef struct tr_nd {
    char *data;
    int32_t ndim; /* TR_ND_ABSENT: an output that is yet to be made, which has nothing else */
    bool packed;  /* known to lie in C order without gaps; false says nothing */
    const int64_t *shape, *strides; /* bytes */
} tr_nd;

typedef enum tr_walk_status {
    TR_WALK_OK,
    TR_WALK_SHAPES,  /* they do not broadcast, or not to the outputs */
    TR_WALK_OVERLAP, /* an output meets another operand other than element for element, or itself */
    TR_WALK_SIZE,    /* more items or axes than there can be */
    TR_WALK_MEMORY
} tr_walk_status;

/* `op` is the caller's to fill; it may change `data` of what lies elsewhere meanwhile, and sets that of
 * what was absent. */
typedef struct tr_walk {
    tr_nd op[TR_MAX_OPERANDS];
    /* Of the result, once the walk has begun. */
    int32_t ndim;
    const int64_t *shape;
    int64_t count; /* items */
    /* Its own. */
    bool flat;                      /* one axis over all there is, in C order */
    int64_t *step[TR_MAX_OPERANDS]; /* of each operand along each axis, 0 where it repeats */
    int64_t *heap;                  /* where they lie, if not in `room` */
    int64_t room[TR_WALK_STEPS];
    int64_t dims[TR_WALK_NDIM];
    int32_t perm[TR_WALK_NDIM]; /* axes, innermost first */
} tr_walk;

/* Of an elementwise loop: shape of the result and order of the axes. With TR_WALK_OK, tr_walk_end comes
 * after it. */
tr_walk_status tr_walk_begin(tr_walk *w, const tr_exec *l);
/* Strides that an absent output shall have, so that its items lie as the walk goes; true: it is plain C
 * order. The caller then sets its `data`. */
bool tr_walk_layout(tr_walk *w, const tr_exec *l, uint32_t k, int64_t *strides);
/* Once, when no output is absent any more. Coalesces axes, so `shape` is spent. */
int32_t tr_walk_run(tr_walk *w, tr_exec *l, tr_frame *frame);
void tr_walk_free(tr_walk *w);
static inline void tr_walk_end(tr_walk *w) {
    if (w->heap)
        tr_walk_free(w);
}

/* --- memory --- */

/* Addresses from the first byte of an operand to behind its last one. What does not fit into the address
 * space is all of it. */
typedef struct tr_extent {
    uintptr_t from, to;
} tr_extent;
/* Without items it meets none. */
tr_extent tr_extent_of(const void *data, int64_t size, int32_t ndim, const int64_t *shape,
                       const int64_t *strides);
static inline bool tr_extents_meet(tr_extent x, tr_extent y) {
    return x.from < y.to && y.from < x.to;
}

#endif
