/* What a PTX text becomes, and the state that runs it.
 *
 * A thread's registers are slots of 8 bytes in one row, constants behind them, so that each operand
 * is the number of a slot. What of a slot is beyond the width of an instruction's type means
 * nothing: whoever reads it cuts it off. A predicate is 0 or 1. A function's parameters lie in slots
 * as well; those of a kernel where the launch has them. Functions do not call themselves, so how
 * much a thread needs is known before it starts. */
#ifndef TR_FAKE_PTX_PRIV_H
#define TR_FAKE_PTX_PRIV_H

#include <string.h>

#include "ptx.h"

/* --- code --- */

typedef enum ptx_op {
#define OP(id, names, operands, ...) PTX_##id,
#include "ptx_ops.def"
#undef OP
    PTX__COUNT
} ptx_op;

typedef struct ptx_ins {
    uint16_t op;
    uint16_t aux;
    int32_t d, a, b, c, e; /* slots; e: more of it, as the op says */
    int64_t imm;
} ptx_ins;

enum { PTX_BARRIERS = 16 };

/* The first slots of a frame: the instruction behind the call, the caller's row, where the
 * function's local memory begins. */
enum { PTX_BACK, PTX_CALLER, PTX_LOCAL, PTX_SCRATCH, PTX_FRAME = PTX_SCRATCH + 12 };

/* A parameter: where it lies. */
typedef struct ptx_param {
    char *name;
    uint32_t at, bytes; /* at: a slot; of a kernel's: an offset */
} ptx_param;

struct ptx_fn {
    char *name;
    ptx_module *module;
    bool entry, defined, waits; /* waits: it may look again and again for what others do */
    uint32_t line;
    ptx_param *params; /* the results first */
    uint32_t nparams, nresults, param_bytes;
    ptx_ins *code;
    uint32_t *lines; /* of the text, of each instruction */
    uint32_t ncode, capcode;
    uint64_t *image; /* what the slots of a frame hold at first */
    uint32_t nslots, capslots;
    uint32_t local_bytes;
    uint32_t threads;            /* most of a block; 0: as many as there may be */
    uint32_t stack, stack_local; /* with what it calls: slots, bytes */
    int visit;
    ptx_fn **calls;
    uint32_t ncalls, capcalls;
    int64_t *tables; /* of brx: counts and places */
    uint32_t ntables, captables;
};

typedef struct ptx_var {
    char *data;
    uint64_t bytes;
} ptx_var;

struct ptx_module {
    ptx_fn **fns;
    uint32_t nfns, capfns;
    ptx_var *vars;
    uint32_t nvars, capvars;
    uint32_t shared; /* bytes of the block's memory that the text asks for */
};

/* --- addresses --- */

/* Windows of the generic address space. */
#define PTX_SHARED_WINDOW (1ull << 56)
#define PTX_LOCAL_WINDOW  (2ull << 56)
enum { PTX_GENERIC, PTX_IN_SHARED, PTX_IN_LOCAL };

/* --- running --- */

typedef enum ptx_state { PTX_RUNS, PTX_AT_BARRIER, PTX_AT_WARP, PTX_ENDED } ptx_state;

typedef struct ptx_thread {
    uint64_t *r; /* the row of the function that runs */
    const ptx_fn *fn;
    const ptx_ins *pc;
    const ptx_ins *at; /* where it waits; its pc is behind it */
    struct ptx_block *block;
    char *local;
    uint32_t tid[3];
    uint16_t number; /* in its block */
    uint8_t state;
    uint8_t carry;
    uint16_t tried; /* how often those beside it have had their turn while it waits at an activemask */
    uint64_t value; /* that it brings where it waits */
} ptx_thread;

typedef struct ptx_block {
    struct ptx_grid *grid;
    uint32_t id[3];
    uint32_t nthreads, left;
    char *shared, *locals;
    uint64_t *rows;
    ptx_thread *threads;
} ptx_block;

typedef struct ptx_grid {
    const ptx_fn *fn;
    const ptx_launch *l;
    uint32_t shared; /* bytes */
    uint64_t steps;
    int status;
} ptx_grid;

/* Runs a thread until it ends, waits, fails (the grid's status) or has made `steps` steps. */
void ptx_step(ptx_thread *t, int64_t steps);
/* What lies at an address; NULL: the launch ends with a status. */
char *ptx_at(ptx_grid *g, uint64_t at, unsigned bytes);
char *ptx_at_space(ptx_thread *t, int space, uint64_t at, unsigned bytes);

/* --- values --- */

/* Of conversions: types by their name, and how. */
#define PTX_TYPES(X) X(u8) X(u16) X(u32) X(u64) X(s8) X(s16) X(s32) X(s64) X(f16) X(f32) X(f64)
typedef enum ptx_type {
#define X(t) PTX_TYPE_##t,
    PTX_TYPES(X)
#undef X
        PTX_TYPE__COUNT
} ptx_type;
typedef enum ptx_round { PTX_RN, PTX_RZ, PTX_RM, PTX_RP, PTX_RNI, PTX_RZI, PTX_RMI, PTX_RPI } ptx_round;
typedef struct ptx_cvt {
    uint8_t to, from, round;
    bool flush, saturate;
} ptx_cvt;
/* As an instruction has it: c of the type, and its e. */
uint64_t ptx_convert(ptx_cvt how, uint64_t x);
float ptx_half(uint64_t h);
uint64_t ptx_to_half(double x);
/* What an operation of +, -, *, /, f (a * b + c), s (square root) gives with a rounding. */
float ptx_rounded_f32(ptx_round how, char op, float a, float b, float c);
double ptx_rounded_f64(ptx_round how, char op, double a, double b, double c);
/* What a print of a format and its values writes. */
int ptx_print(ptx_thread *t, uint64_t format, uint64_t values);

static inline float ptx_f32(uint64_t x) {
    uint32_t bits = (uint32_t)x;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}
static inline double ptx_f64(uint64_t x) {
    double d;
    memcpy(&d, &x, sizeof d);
    return d;
}
static inline uint64_t ptx_of_f32(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}
static inline uint64_t ptx_of_f64(double d) {
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

#endif
