/* LLVM's bitcode of others in a module of ours. */
#ifndef TR_JIT_BITCODE_H
#define TR_JIT_BITCODE_H

#include "ir/prog.h"
#include "jit/cpus.h"
#include "lower/internal.h"

/* Bitcode as a module: of a file, or of memory under a name for messages. NULL with an error. */
LLVMModuleRef tr_bitcode_read(tr_ctx *ctx, LLVMContextRef lc, const char *path);
/* Links what the program has to link to its functions of others (lower/extern.c), for them to be inlined;
 * `cpu` is the host's that the code is for. False with an error: one is in none of them, has other types, or
 * has code that the host cannot run. */
bool tr_bitcode_link(tr_prog *p, LLVMModuleRef mod, LLVMTargetMachineRef tm, const tr_cpu *cpu);

#endif
