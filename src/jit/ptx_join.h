/* PTX of others as part of a GPU's code. */
#ifndef TR_JIT_PTX_JOIN_H
#define TR_JIT_PTX_JOIN_H

#include "ir/prog.h"

/* Does some text that is linked to the program define that function? */
bool tr_ptx_has(const tr_prog *p, const char *name);
/* A GPU's code with all texts in it. */
void tr_ptx_join(const tr_prog *p, const char *text, size_t size, tr_sb *out);

#endif
