/* The loops of a pattern as a tree (a loop tree, in the field's words): which loop goes over which axis,
 * where reductions begin and end, what is done in blocks, by other threads, or in one go by the runtime.
 *
 * The tree follows from the node and its schedule, by tr_nest_of and nothing else, so it is not stored:
 * passes change a node and need not look after it. lower/, the interpreter and opt/pattern/serial.c are walks
 * over it; `treadlec --loops` prints it. */
#ifndef TR_IR_NEST_H
#define TR_IR_NEST_H

#include "base/strbuf.h"
#include "ir/ir.h"

typedef enum tr_nestk {
#define X(id, ...) TR_NEST_##id,
#include "ir/nest.def"
#undef X
    TR_NEST__COUNT
} tr_nestk;
typedef enum tr_nestform {
    TR_NEST_OF_ORDER,
    TR_NEST_OF_AXIS,
    TR_NEST_OF_ALL,
    TR_NEST_OF_ONE,
    TR_NEST_OF_FIRST,
    TR_NEST_OF_EITHER,
    TR_NEST_OF_POINT
} tr_nestform;
typedef struct tr_nestinfo {
    const char *word;
    tr_nestform form;
} tr_nestinfo;
extern const tr_nestinfo tr_nest_info[TR_NEST__COUNT];

enum { TR_NEST_SHORT_MOST = 16 }; /* elements of a row that is written out, where their number is known */

typedef struct tr_nest tr_nest;
struct tr_nest {
    tr_nestk kind;
    uint8_t level;          /* of the axis, in the order; ndim: within all of them */
    bool sums;              /* CHUNK: buffers of sums are filled, too */
    bool cuts;              /* RANGES: of elements, so that one begins and ends within rows */
    uint32_t n;             /* in one go; 0: there is no such number */
    const tr_nest *in, *by; /* inside; FIRST and EITHER: the second. NULL: none */
    /* ORDER */
    bool line, tiled;
    uint8_t ndim, axis[TR_MAX_NDIM]; /* of the loops: 1 for a line; of each level */
};

/* The loops of the pattern in function f. pools: there are threads that may take ranges. Cost: linear in the
 * lambda, times the depth of the tree. */
const tr_nest *tr_nest_of(const tr_fn *f, const tr_ins *pat, bool pools);

/* What the node means, without a schedule: one thread, element by element. For whoever has no other way: the
 * interpreter, and targets without patterns. */
const tr_nest *tr_nest_plain(const tr_fn *f, const tr_ins *pat);

/* The input whose elements are that value of the lambda's; nin: it is none. */
uint32_t tr_pat_input(const tr_pat *p, tr_val v);
/* The input whose items say what the first reduction gets: 0 where their bits are zero, else one; nin: there
 * is none. The lambda is one block. */
uint32_t tr_pat_mask(const tr_pat *p);
/* Which of the captured values is the array that the first output's value is loaded from; -1: none is. */
int64_t tr_pat_table(const tr_pat *p);

/* What is wrong with a tree: a phrase; NULL: each axis is walked once on each way to a point, in order, and
 * reductions begin where kept axes end. */
const char *tr_nest_fault(const tr_nest *t, const tr_pat *p);

/* A line for each, indented by what it stands in. */
void tr_nest_print(tr_sb *out, const tr_nest *t, unsigned indent);
/* Of all patterns of a function, and of those in these. */
void tr_nest_print_all(tr_sb *out, const tr_fn *f, bool pools);

#endif
