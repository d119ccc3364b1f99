/* Code for NVIDIA's GPUs: LLVM's target for it, and libdevice. */
#ifndef TR_JIT_NVPTX_H
#define TR_JIT_NVPTX_H

#include "base/ctx.h"
#include "lower/compat.h"
#include "lower/llvm.h"
#include "target/target.h"

/* The processor as this LLVM knows it: by its own name, where the table has a former one's
 * (lower/compat.h). */
tr_processor tr_nvptx_processor(const tr_processor *p);

/* A machine of the caller's to make code for the processor; NULL: this LLVM has none. The first call in a
 * process sets the target up. */
LLVMTargetMachineRef tr_nvptx_machine(const tr_target *t, const tr_processor *proc, int level);

/* Links into mod what it calls of the bitcode library at `path`, and no more. Whatever else is called
 * stays declared. False with an error in ctx. Cost: the library is read whole, about 30 ms; nothing where
 * mod calls nothing of it. */
bool tr_nvptx_link(tr_ctx *ctx, LLVMModuleRef mod, const char *path, bool flush);

/* The first function of libdevice's that mod calls and does not have, or NULL. */
const char *tr_nvptx_lacks(LLVMModuleRef mod);

#endif
