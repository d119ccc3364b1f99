/* Short switches as tests, for LLVM's vectoriser. */
#ifndef TR_JIT_CHOICES_H
#define TR_JIT_CHOICES_H

#include "lower/compat.h"

/* In all functions of the module. What pays as a switch becomes one again in simplifycfg. */
void tr_choices_expand(LLVMModuleRef mod);

#endif
