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
    bool runtime; /* the runtime's library is there; else only rows of rt.def that are typed code (W_TYPED) */
    bool late;    /* code may be compiled when it is first reached */
    bool pools;   /* there are threads that a pattern can hand ranges to */
    const char *const *legal; /* per op: legal.def's column */
} tr_target;

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
