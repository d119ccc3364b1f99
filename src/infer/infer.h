/* Types for every value: from the untyped SSA of a program to typed instances. */
#ifndef TR_INFER_INFER_H
#define TR_INFER_INFER_H

#include "ir/prog.h"

/* Instantiates p->funcs.d[p->root_func] for the given argument types (all its parameters, *args as one
 * tuple), and all it calls; fills p->insts and p->root. `ret`: declared return type, or NULL. On failure
 * false, with every independent error. */
bool tr_infer(tr_prog *p, uint32_t nargs, const tr_ty *const *args, const tr_ty *ret);
/* Adds an instance of one more function to a program whose instances are made, and all that it calls, with
 * names that nothing there has; *inst: its number. Else false, with errors. What kinds of functions are new
 * is not looked at in the others. */
bool tr_infer_more(tr_prog *p, uint32_t func, tr_fnkind kind, uint32_t nargs, const tr_ty *const *args,
                   uint32_t *inst);
/* The function of a gufunc, whose last parameters are outputs and whose instance is made, may store to
 * each of them. Else false, with errors. */
bool tr_infer_check_outputs(tr_prog *p, uint32_t func, uint32_t nin, uint32_t nout);

#endif
