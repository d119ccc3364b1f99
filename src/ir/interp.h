/* A slow, obvious interpreter of typed IR. It defines what each op means; tests hold passes and generated
 * code against it.
 *
 * A value is the parts of its type (tr_ty_parts), one slot each, as in rt/layout.h; integers lie in a slot
 * extended to 64 bits by their sign. Arrays that a program allocates live in the context's arena. Sums of
 * floats inside a pattern are plain left-to-right sums: their last bits may differ from generated code. */
#ifndef TR_IR_INTERP_H
#define TR_IR_INTERP_H

#include "ir/prog.h"
#include "rt/layout.h"

/* An exception that was caught: the fields of the same names below. */
struct tr_icaught {
    const tr_site *site;
    tr_slot payload[TR_FRAME_PAYLOAD];
    const tr_ty *payload_ty[TR_FRAME_PAYLOAD];
    uint32_t npayload;
    tr_place place;
};

/* Shared memory of an instruction's; NULL: dynamic. */
struct tr_istore {
    const tr_ins *of;
    void *at;
    struct tr_istore *next;
};

typedef struct tr_interp {
    tr_ctx *ctx;
    const tr_prog *prog;               /* for CALL */
    void *(*symbol)(const char *name); /* functions of libm and rt.def */
    tr_frame *frame;                   /* for CALLRT of functions that print; may be NULL when none does */
    int64_t grid[3], block[3];         /* of a kernel's launch: blocks, threads of each; 0 counts as 1 */
    int64_t at[6];   /* the thread that is running: its place in its block, the block's in the grid */
    int64_t dynamic; /* bytes of shared memory that the launch asks for */
    struct tr_istore *shared;                  /* storage of the block's; NULL: nothing was launched */
    uint64_t steps;                            /* how many instructions it may still take */
    const tr_site *site;                       /* why it ended: an exception of the program, with */
    tr_slot payload[TR_FRAME_PAYLOAD];         /*   the parts of its values and */
    const tr_ty *payload_ty[TR_FRAME_PAYLOAD]; /* their types; */
    uint32_t npayload;
    tr_place place;    /*   where */
    const char *fault; /* or a defect: an unchecked index out of range, no steps left, ... */
    int depth;
    /* bytes that patterns have moved: an input's items once each for a round of the node, what their
     * functions load, and all that is stored; of a round's own patterns, the arrays that these walk; and what
     * calls outside of patterns move (tr_call_memory). It is counted item by item, and so tells whether
     * opt/account.c says the same. */
    uint64_t read, written;
    int patterns;                     /* that are being run */
    TR_VEC(struct tr_icaught) caught; /* exceptions that handlers took */
} tr_interp;

/* A kernel is run thread by thread, each up to a barrier or to its end, then the next; block after block.
 * The launch ends at the first exception, where a device's other threads would go on. `args`: the parts
 * of all params. `ret`: room for the parts of the result. False: see site and fault. */
bool tr_ir_interp(tr_interp *in, const tr_fn *f, const tr_slot *args, tr_slot *ret);

#endif
