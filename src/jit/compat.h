/* LLVM's headers, and the one place for what differs between its versions. Built with LLVM 19, nothing differs yet. */
#ifndef TR_JIT_COMPAT_H
#define TR_JIT_COMPAT_H

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#endif
