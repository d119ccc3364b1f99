/* What differs between LLVM versions, in one place. Treadle is built with LLVM 19; a newer one is a change here. */
#ifndef TR_JIT_COMPAT_H
#define TR_JIT_COMPAT_H

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

/* LLVM 19's LLVM_VERSION_MAJOR is in llvm/Config, which the C headers do not include; its C API has LLVMGetVersion. */

#endif
