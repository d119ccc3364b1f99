/* LLVM's headers, and the one place for what differs between its versions. It builds with LLVM 19 and 22, and
 * between them as LLVM's history tells. */
#ifndef TR_LOWER_COMPAT_H
#define TR_LOWER_COMPAT_H

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>
#include <stdio.h>
#include <string.h>

/* A pointer that the callee keeps no copy of: since 21 a set of what it may keep, where 0 is nothing. */
#if LLVM_VERSION_MAJOR >= 21
#define TR_LLVM_NOCAPTURE "captures"
#else
#define TR_LLVM_NOCAPTURE "nocapture"
#endif

/* Where the threads of a block meet. Since 21 barriers have numbers, and what they ask and
 * answer is a bit. */
#if LLVM_VERSION_MAJOR >= 21
enum { TR_LLVM_BARRIERS_NUMBERED = 1 };
#define TR_LLVM_BARRIER          "llvm.nvvm.barrier.cta.sync.aligned.all"
#define TR_LLVM_BARRIER_ASK(how) "llvm.nvvm.barrier.cta.red." how ".aligned.all"
#else
enum { TR_LLVM_BARRIERS_NUMBERED = 0 };
#define TR_LLVM_BARRIER          "llvm.nvvm.barrier0"
#define TR_LLVM_BARRIER_ASK(how) "llvm.nvvm.barrier0." how
#endif

/* Limits of a kernel, by their names before 21, where they were rows of a table, and since,
 * where they are attributes. */
#define TR_LLVM_MAX_THREADS   "maxntidx", "nvvm.maxntid"
#define TR_LLVM_MIN_BLOCKS    "minctasm", "nvvm.minctasm"
#define TR_LLVM_MAX_BLOCKS    "maxclusterrank", "nvvm.maxclusterrank"
#define TR_LLVM_MAX_REGISTERS "maxnreg", "nvvm.maxnreg"

static inline void tr_llvm_limit(LLVMModuleRef mod, LLVMValueRef fn, const char *row, const char *attribute,
                                 unsigned n) {
    LLVMContextRef lc = LLVMGetModuleContext(mod);
    if (!n)
        return;
#if LLVM_VERSION_MAJOR >= 21
    char text[16];
    snprintf(text, sizeof text, "%u", n);
    LLVMAddTargetDependentFunctionAttr(fn, attribute, text);
    (void)lc, (void)row;
#else
    LLVMMetadataRef what[3] = {LLVMValueAsMetadata(fn), LLVMMDStringInContext2(lc, row, strlen(row)),
                               LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(lc), n, 0))};
    LLVMAddNamedMetadataOperand(mod, "nvvm.annotations",
                                LLVMMetadataAsValue(lc, LLVMMDNodeInContext2(lc, what, 3)));
    (void)attribute;
#endif
}

/* The value of a switch's case: i counts from 0, without the default. Until 21 an operand. */
static inline LLVMValueRef tr_llvm_case(LLVMValueRef sw, unsigned i) {
#if LLVM_VERSION_MAJOR >= 22
    return LLVMGetSwitchCaseValue(sw, i + 1);
#else
    return LLVMGetOperand(sw, 2 * i + 2);
#endif
}

/* GPUs that are not known to all versions, for which target/nvptx64.c has a former one:
 * X(name, PTX version). */
#if LLVM_VERSION_MAJOR >= 21
#define TR_LLVM_NEWER_GPUS(X) X("sm_100", "+ptx86") X("sm_103", "+ptx88") X("sm_120", "+ptx87")
#else
#define TR_LLVM_NEWER_GPUS(X)
#endif

#endif
