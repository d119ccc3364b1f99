/* Shared by the files of exec/ alone. */
#ifndef TR_EXEC_PRIV_H
#define TR_EXEC_PRIV_H

#include <stdlib.h>
#include <string.h>

#include "exec/exec.h"
#include "rt/enter.h"
#include "rt/fns.h"

/* --- buffer.c: operands side by side, as compiled code wants them --- */

/* Room for the operands that cannot be taken as they lie, a stretch at a time. All 0 at first; one after
 * the other, many rows may use it: what repeats is in it already. The room is not on the stack, which may
 * be a short one. */
typedef struct tr_buffers {
    uint32_t set; /* operands with a buffer, a bit each */
    int64_t row;  /* items of a row */
    int64_t len;  /* of a stretch */
    char *room;   /* NULL: none was needed yet */
    size_t nroom;
    char *at[TR_MAX_OPERANDS];
    const char *repeated[TR_MAX_OPERANDS]; /* whose item the buffer is full of; NULL: none */
} tr_buffers;
static inline void tr_buffers_init(tr_buffers *b) {
    b->set = 0;
    b->room = NULL;
    b->nroom = 0;
}
static inline void tr_buffers_fini(tr_buffers *b) {
    if (b->room)
        free(b->room);
}
/* Divides the room among the operands of `set` for rows of n items; what repeats in it is still there if
 * it is divided as before. False without memory. */
bool tr_buffers_divide(tr_buffers *b, const tr_exec *l, int64_t n, uint32_t set);
static inline bool tr_buffers_ready(tr_buffers *b, const tr_exec *l, int64_t n, uint32_t set) {
    return (b->set == set && b->row == n) || tr_buffers_divide(b, l, n, set);
}
void tr_buffer_widen(float *to, const char *from, int64_t step, int64_t n);
void tr_buffer_narrow(char *to, int64_t step, const float *from, int64_t n);
/* n items to a buffer, and back. */
static inline void tr_buffer_load(const tr_item *it, char *buf, const char *from, int64_t step, int64_t n) {
    if (it->half)
        tr_buffer_widen((float *)(void *)buf, from, step, n);
    else
        tr_rt_gather(buf, from, step, n, it->size);
}
static inline void tr_buffer_store(const tr_item *it, const char *buf, char *to, int64_t step, int64_t n) {
    if (it->half)
        tr_buffer_narrow(to, step, (const float *)(const void *)buf, n);
    else
        tr_rt_scatter(to, step, buf, n, it->size);
}
/* The same of an n-d operand, in C order; returns the end of what the buffer holds of it. */
char *tr_buffer_load_nd(const tr_item *it, char *buf, const char *from, uint32_t nd, const int64_t *shape,
                        const int64_t *strides);
char *tr_buffer_store_nd(const tr_item *it, char *buf, char *to, uint32_t nd, const int64_t *shape,
                         const int64_t *strides);
/* Bytes of an item as code sees it. */
static inline int64_t tr_item_seen(const tr_item *it) {
    return it->half ? (int64_t)sizeof(float) : it->size;
}
/* Code cannot take it as it lies, whatever the layout. */
static inline bool tr_item_needs_buffer(const tr_item *it, const char *data, int64_t step) {
    return it->half || (step & (it->size - 1)) || ((uintptr_t)data & it->odd);
}

/* --- slots of an entry (rt/layout.h) --- */

/* Owner of the operands: the caller, for the time of the call. */
#define TR_BORROWED ((void *)(uintptr_t)1)

static inline int32_t tr_enter(tr_frame *frame, tr_entry_fn entry, const tr_slot *slots) {
    tr_slot ret[1];
    return tr_rt_run(entry, frame, slots, ret);
}
static inline unsigned tr_item_shift(const tr_item *it) {
    return (unsigned)__builtin_ctz(it->size);
}

/* --- loop.c, core.c: one thread --- */

/* Elementwise: a row of n items; many rows share buffers. */
int32_t tr_exec_row(tr_exec *l, tr_frame *frame, char *const *args, int64_t n, const int64_t *steps,
                    tr_buffers *b);
/* Before so many items are run by a thread that may compile: a variant for these steps if by now it would
 * have paid. False: the host has an exception. */
bool tr_exec_expect(tr_exec *l, int64_t items, const int64_t *steps);
/* Generalised. */
int32_t tr_exec_run_cores(const tr_exec *l, tr_frame *frame, char *const *args, const int64_t *dims,
                          const int64_t *steps);

/* --- grain.c: all threads --- */

/* fn over `rows` rows of `per_row` items each, in any order: here where that is all they are worth, else
 * by all cores. */
int32_t tr_exec_spread(tr_exec *l, tr_frame *frame, tr_par_fn *fn, void *ctx, int64_t rows, int64_t per_row);

#endif
