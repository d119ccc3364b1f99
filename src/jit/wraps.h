/* Indices that wrap, kept from LLVM's loop vectoriser. */
#ifndef TR_JIT_WRAPS_H
#define TR_JIT_WRAPS_H

#include "lower/compat.h"

/* In all functions of the module, just before the vectoriser. */
void tr_wraps_hide(LLVMModuleRef mod);

#endif
