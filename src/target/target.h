/* All that depends on where code runs: a constant table per target (x86_64.c, nvptx64.c), chosen by name.
 *
 * The compiler's stages ask it instead of knowing a machine: which ops are there (legal.def), who
 * computes a function of mathematics (columns of ir/math.def), which functions of the runtime exist (a
 * column of rt/rt.def), what an entry looks like, what is emitted. Nothing here knows LLVM: lower/ and
 * jit/ do what the table says. */
#ifndef TR_TARGET_TARGET_H
#define TR_TARGET_TARGET_H

#include "ir/prog.h"

/* What an entry looks like from outside. */
typedef enum tr_abi {
    TR_ABI_SLOTS, /* tr_entry(frame, slots, slots), rt/layout.h: arguments and results in memory */
    TR_ABI_FLAT   /* functions under their own names: (tr_dev_error *, parts of arguments ...), rt/layout.h */
} tr_abi;

typedef enum tr_provider {
    TR_MATH_HOST,     /* vmath/ where it has the function, else libm */
    TR_MATH_LIBDEVICE /* NVIDIA's bitcode, linked where it is found */
} tr_provider;

typedef enum tr_form { TR_FORM_ELF, TR_FORM_PTX } tr_form; /* what is emitted */

typedef struct tr_processor {
    const char *name, *cpu, *features; /* as the user names it; as LLVM does */
} tr_processor;

typedef struct tr_target {
    const char *name;
    const char *triple; /* NULL: this machine's, as LLVM names it */
    /* The first is the usual one, an empty name ends; NULL: this machine's and base/opts.h's TR_CPUS. */
    const tr_processor *processors;
    tr_abi abi;
    tr_provider math;
    tr_form form;
    uint8_t shared; /* LLVM's number of the address space of what a block's threads share; 0: there is none */
    /* the runtime's library is there; else only rows of rt.def that are typed code (W_TYPED), or W_DEVICE */
    bool runtime;
    bool late;                /* code may be compiled when it is first reached */
    bool pools;               /* there are threads that a pattern can hand ranges to */
    const char *const *legal; /* per op: legal.def's column */
} tr_target;

/* What is asked of a device's code beside the program; all zero: nothing. */
#define TR_DEVICE_OPTS(X)                                                                             \
    X(max_registers) /* of a thread; 0: as many as it takes */                                        \
    X(max_threads)   /* of a block: a launch bound; 0: none is said */                                \
    X(min_blocks)    /* on a multiprocessor at once; the same */                                      \
    X(max_blocks)    /* of a cluster; the same */                                                     \
    X(separate)      /* a product and a sum of it are rounded one after the other, never fused */     \
    X(flush)         /* float32 numbers too small for their full precision are zero */                \
    X(lines)         /* says which line of the source each instruction is of; opts.debug says more */ \
    X(plain)         /* a device function that C may call: parts in, the result out, no code, no record */
typedef struct tr_device_opts {
#define X(field) uint32_t field;
    TR_DEVICE_OPTS(X)
#undef X
} tr_device_opts;

/* A parameter of a kernel of TR_ABI_FLAT. The first points to the launch's tr_dev_error (rt/layout.h); then
 * come the arguments' parts (ty/ty.h) in order, each for itself, all but the owners of arrays,
 * tuples item by item: a scalar; re and im; data, shape and, for layout any, strides in elements.
 * Each lies at a multiple of its size. */
enum { TR_PARAM_ERROR = UINT32_MAX };
typedef struct tr_param {
    uint32_t arg; /* which argument, or TR_PARAM_ERROR */
    uint8_t part; /* which of its parts: the slot, of those that the argument takes, whose low bytes it is */
    uint8_t type; /* tr_part */
    uint8_t size; /* bytes */
    uint32_t offset; /* in the buffer of all of them */
} tr_param;
typedef struct tr_params {
    uint32_t n, bytes;
    tr_param *d;
} tr_params;

/* Parameters of a kernel that takes arguments of these types. */
void tr_target_params(tr_arena *a, uint32_t n, const tr_ty *const *args, tr_params *out);

extern const tr_target tr_target_x86_64, tr_target_nvptx64;

/* "nvptx64:sm_80", "nvptx64", "x86-64". NULL with an error in ctx that lists what there is. proc: NULL
 * where the target names none. */
const tr_target *tr_target_find(tr_ctx *ctx, const char *text, const tr_processor **proc);
/* Does the target have the op at all; for scalars of kind k as its first operand? */
bool tr_target_has(const tr_target *t, tr_op op);
bool tr_target_takes(const tr_target *t, tr_op op, tr_tyk k);

/* Can each of the program's functions that are `wanted` (per instance; NULL: all) run there? An error per
 * function, at the place of the first thing that cannot, naming it. */
bool tr_target_check(const tr_target *t, const tr_prog *p, const bool *wanted);

#endif
