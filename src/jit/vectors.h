/* Which vectors LLVM's optimised code has, line by line. */
#ifndef TR_JIT_VECTORS_H
#define TR_JIT_VECTORS_H

#include "base/ctx.h"
#include "lower/compat.h"

/* Adds a row of base/remarks.h for each line and type of vector: "float64 x 8". The module has line
 * tables. */
void tr_vectors_tell(tr_ctx *c, LLVMModuleRef mod);

#endif
