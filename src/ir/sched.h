/* Schedules: how the loops of a pattern go - their order, what is done side by side, how much a thread takes.
 * Data on the node, of which no choice changes a result, but that sums of floats under `tile` are grouped by
 * its rows (rt/tile.c) and without it by elements: so `tile` follows from how memory lies.
 * opt/pattern/schedule.c chooses, verify.c refuses what does not fit, lower/ writes it out,
 * interp.c need not look. */
#ifndef TR_IR_SCHED_H
#define TR_IR_SCHED_H

#include "ir/ir.h"

typedef enum tr_schedform { TR_SCHED_FLAG, TR_SCHED_NUMBER, TR_SCHED_AXIS } tr_schedform;
typedef struct tr_schedinfo {
    const char *word;
    tr_schedform form;
    uint32_t max;
    bool tag;    /* users may say it */
    uint32_t at; /* byte of tr_sched where it stands */
} tr_schedinfo;
enum {
#define X(id, word, form, max, tag, what) TR_SCHED_##id,
#include "ir/sched.def"
#undef X
    TR_SCHED__COUNT
};
extern const tr_schedinfo tr_sched_info[TR_SCHED__COUNT];
static inline uint32_t *tr_sched_field(tr_sched *s, unsigned i) {
    return (uint32_t *)(void *)((char *)s + tr_sched_info[i].at);
}

/* How far apart neighbours along an axis of an input or output lie, as far as it is known when compiling. */
typedef enum tr_step { TR_STEP_OPEN, TR_STEP_ZERO, TR_STEP_ONE, TR_STEP_FAR } tr_step;
tr_step tr_pat_step(const tr_fn *f, const tr_ins *pat, uint32_t array,
                    unsigned axis); /* inputs, then outputs */

/* Is an axis of an input, or an output, surely as long as the space? */
/* Does it call functions of vector math? An element costs so much then that vectors have to be full. */
bool tr_fn_calls_math(const tr_fn *f);
bool tr_pat_is_as_long(const tr_fn *f, const tr_ins *pat, uint32_t array, unsigned axis);

/* May an axis of input `array` be of extent 1 where the space is longer? It repeats then. */
bool tr_pat_repeats(const tr_fn *f, const tr_ins *pat, uint32_t array);

/* The extent of an axis, where it is a number that is known when compiling. */
bool tr_pat_extent(const tr_fn *f, const tr_ins *pat, unsigned axis, int64_t *n);

/* How a reduction comes to its value: as a value that loops carry; in a buffer that is added up as a tree
 * (pairwise summation), or looked through for the place of an extreme; or joined by a function. */
typedef enum tr_redclass { TR_REDS_CARRIED, TR_REDS_BUFFERED, TR_REDS_PLACE, TR_REDS_JOINED } tr_redclass;
/* Of what type the lambda contributes to reduction i; NULL: it never does. */
const tr_ty *tr_pat_contribution(const tr_pat *p, uint32_t i);
tr_redclass tr_pat_red_class(const tr_pat *p, uint32_t i, const tr_ty *t); /* of values of t */
static inline bool tr_pat_is_buffered(const tr_pat *p, uint32_t i, const tr_ty *t) {
    return tr_pat_red_class(p, i, t) == TR_REDS_BUFFERED;
}

/* A loop over a prange: no elements, but a round that reads and writes what it likes. */
bool tr_pat_is_region(const tr_pat *p);

/* Reads words that users may say, as "chunk 512, unroll 4"; false: `why`, of n bytes, says what is wrong. */
bool tr_sched_read(const char *text, tr_sched *out, char *why, size_t n);

/* Why the schedule on the pattern of function f is none for it: a phrase; NULL: it is one. */
const char *tr_sched_misfit(const tr_fn *f, const tr_ins *pat);

#endif
