/* Our passes: what LLVM cannot know. Each is a row of passes.def and one file. */
#ifndef TR_OPT_OPT_H
#define TR_OPT_OPT_H

#include "ir/prog.h"
#include "target/target.h"

/* Runs all passes over every instance; skip, dump, time and verify as the context's dump says. */
bool tr_opt_run(tr_prog *p);
/* What is left to do for a function that was kept to be compiled anew (tr_prog.large). */
bool tr_opt_run_large(tr_prog *p);
/* The same as tr_opt_run for a program whose root is a device's. */
bool tr_opt_run_for(tr_prog *p, const tr_target *t);
/* For a program whose arrays lie on a device: its loops become kernels, and the rest is a host's program. */
bool tr_opt_run_offload(tr_prog *p);
/* Is the text one of the passes? Their names, with commas between them. */
bool tr_opt_is_pass(const char *name, size_t n);
const char *tr_opt_pass_names(void);
/* What stops the pass from running over f as it is: a sentence in the arena; NULL: nothing that can be seen.
 * Changes f's analyses. */
const char *tr_opt_unready(tr_prog *p, tr_fn *f, const char *name, size_t n);
/* Runs the named passes ("fold,dce") over one function: for tests and treadlec. False with an error for an
 * unknown name, or a wrong order. */
bool tr_opt_run_named(tr_prog *p, tr_fn *f, const char *names);

/* Makes a program one that the target can take, as far as passes can: patterns become loops, and
 * functions of the runtime typed code, where it has none. */
bool tr_opt_for(tr_prog *p, const tr_target *t);

#endif
