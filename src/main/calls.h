/* Calls that treadlec makes: "f(1, [2.0, 3.0])", by the interpreter or by compiled code. */
#ifndef TR_MAIN_CALLS_H
#define TR_MAIN_CALLS_H

#include "ir/prog.h"

/* Makes the call and writes one line: the result, then each array argument that changed, as in
 *     none; %a = [1.0, 2.0]
 * or "raises IndexError: message". `compiled`: through the whole pipeline rather than the interpreter;
 * p->root is set. `count`: interpreted, another line says what patterns have moved (ir/interp.h). False with
 * an error in the context for a call that cannot be made, a defect that the interpreter met, or a failed
 * compile. */
bool tr_call(tr_prog *p, const char *text, bool compiled, bool count, tr_sb *out);

#endif
