/* Stores of vectors that go past the caches. */
#ifndef TR_JIT_NONTEMPORAL_H
#define TR_JIT_NONTEMPORAL_H

#include "lower/compat.h"

/* After LLVM's passes, which make no vectors of stores that are marked before: those with
 * this TBAA tag (tr_lower_made.past). */
void tr_nontemporal_mark(LLVMModuleRef mod, LLVMValueRef tag);

#endif
