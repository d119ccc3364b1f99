/* Names in untyped text IR: `@range`, `@numpy`, `@helper` become what inference knows under that name. */
#ifndef TR_MAIN_RESOLVE_H
#define TR_MAIN_RESOLVE_H

#include "ir/prog.h"

/* Gives the opaque objects of all untyped functions their meaning, in this order: a function of the program,
 * an exception class, a row of builtins.def, a module that rows or constants belong to. Other names stay
 * opaque. */
void tr_resolve_names(tr_prog *p);

#endif
