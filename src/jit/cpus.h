/* The processors that code is made for: this machine's, and those that TREADLE_CPU names (base/opts.h). */
#ifndef TR_JIT_CPUS_H
#define TR_JIT_CPUS_H

#include <stdbool.h>

#include "base/opts.h"
#include "lower/compat.h"

typedef struct tr_cpu {
    const char *name;
    char *features;       /* as LLVM writes them */
    unsigned vector_bits; /* widest vectors that pay */
    unsigned math_bits;   /* the same where functions of mathematics are called */
    bool foreign;         /* this machine lacks something of it: its code can be read, not run */
} tr_cpu;

/* This machine's, told by LLVM. False: no memory. Once per process. */
bool tr_cpus_host(tr_cpu *out);
/* Number `which` of TR_CPUS, beyond NATIVE; `host` is this machine's. The caller frees its features. False:
 * no memory. Costs a run of LLVM's inliner for each level that the processor lacks, about 1 ms in all. */
bool tr_cpus_named(unsigned which, const tr_cpu *host, LLVMTargetRef target, const char *triple, tr_cpu *out);
/* Has the processor of a target machine what these features ask for? Costs a run of LLVM's inliner. */
bool tr_cpus_covers(LLVMTargetMachineRef tm, const tr_cpu *c, const char *features);
LLVMTargetMachineRef tr_cpus_machine(const tr_cpu *c, LLVMTargetRef target, const char *triple, int level);

#endif
