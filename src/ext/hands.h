/* Functions as results for Python.
 *
 * A function's type is a number of one program, and what it holds; results outlive the program. So a result
 * with functions in it is known to Python's border by a type of the same parts with the kind HANDED in their
 * place, which numbers them from 0 in the order in which the type has them. What a number stands for is made
 * of the snapshot: an object that Python has already, as a global function, in a tuple of one, or
 * treadle._closure.Made, which makes an object of the values that a function holds. Of code that comes from
 * the cache the types are inferred once more. Cost: nothing where no function is a result. */
#ifndef TR_EXT_HANDS_H
#define TR_EXT_HANDS_H

#include "ext/job.h"

/* The type by which Python's border knows a result of type `t`; NULL: it is none that outlives the
 * program. */
const tr_ty *tr_hands_type(tr_job *j, const tr_ty *t);
/* Of a result that has none: what a function in it holds for which that is so; NULL: no function does. */
const tr_ty *tr_hands_misfit(tr_job *j, const tr_ty *t);
/* When the job has run: the functions of its result, by their number, as a list; NULL where there are none.
 * False with an exception. */
bool tr_hands_fill(tr_job *j, PyObject **out);

#endif
