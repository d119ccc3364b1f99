/* What was found in a launch that was watched, for who reports it. */
#ifndef TR_RT_WATCH_H
#define TR_RT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "rt/layout.h"

typedef enum tr_mistake {
    TR_MISTAKE_RACE,    /* two threads and nothing that orders them; at least one writes */
    TR_MISTAKE_UNINIT,  /* a read of what nobody wrote */
    TR_MISTAKE_BARRIER, /* threads of a block at different barriers */
    TR_MISTAKE_EXIT,    /* a thread ended where others wait; no error */
    TR_MISTAKE_LOST     /* there was no memory, or no numbers, to watch to the end */
} tr_mistake;

/* A thread, and what it did. */
typedef struct tr_watch_side {
    const char *site; /* "line|column|array|function|file"; NULL: nowhere */
    int64_t block[3], thread[3];
    int how; /* TR_TOUCH_* */
} tr_watch_side;

enum { TR_WATCH_AXES = 8 };
typedef struct tr_watch_report {
    tr_mistake kind;
    const char *array; /* "": it is none that is known */
    bool shared;
    unsigned ndim; /* axes of which the next two tell */
    int64_t index[TR_WATCH_AXES], size[TR_WATCH_AXES];
    tr_watch_side of[2]; /* the earlier one first; of an UNINIT and of an EXIT the first */
    uint64_t times;      /* with the same lines and the same array */
} tr_watch_report;

/* A launch as far as it came. */
typedef struct tr_watch_state {
    const char *kernel; /* "line|function|file" */
    bool ended;
    int64_t block[3], thread[3]; /* which thread ran last */
    const tr_watch_report *reports;
    uint32_t n;
    uint64_t more; /* reports beyond those */
} tr_watch_state;

/* False: nothing was watched in this call. */
bool tr_rt_watch_state(const tr_frame *f, tr_watch_state *out);

/* The memory of its arguments that it read or wrote: bytes from lo to before hi. False: fn
 * said so, or nothing was watched. */
typedef bool tr_watch_span_fn(void *self, uint64_t lo, uint64_t hi, bool written);
bool tr_rt_watch_spans(const tr_frame *f, tr_watch_span_fn *fn, void *self);

#endif
