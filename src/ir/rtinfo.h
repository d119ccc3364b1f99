/* What the compiler knows of the run-time functions: rt/rt.def as data. */
#ifndef TR_IR_RTINFO_H
#define TR_IR_RTINFO_H

#include "ir/ir.h"
#include "rt/rt.h"

extern const tr_rtinfo tr_rt_info[TR_RT__COUNT]; /* `name` is the row's id, as the IR's text shows it */
/* What a call moves of the arrays that its operand k is, or holds: TR_MEM_READ, _WRITE or both (ports.h), of
 * a row as its signature says; functions read what they are given. What stands there twice moves once. */
uint8_t tr_call_memory(const tr_fn *f, const tr_ins *in, uint32_t k);
/* Operand k is a list that a row reads, and leaves as it is, whatever its effects say of others. */
bool tr_call_only_reads(const tr_fn *f, const tr_ins *in, uint32_t k);
/* What patterns and calls of the lambda's own, a round's, do to a captured array that they are given views
 * of: TR_MEM_*. */
uint8_t tr_pat_walked(const tr_pat *p, uint32_t cap);

/* What a pattern's function loads of arrays that it is given whole (LOAD), or stores to such (STORE), in a
 * round: bytes. What stands in a branch or a loop counts once, as nobody knows how often it is reached; a
 * store there not at all. */
int64_t tr_fn_moves(const tr_fn *f, tr_op op);

/* Does it draw from a Generator: does it change the state that an argument has? */
static inline bool tr_rt_draws(const tr_rtinfo *r) {
    return r >= &tr_rt_info[TR_RT_GEN_RANDOM] && r <= &tr_rt_info[TR_RT_GEN_LINES] && r->effects;
}

/* Does it change the state of any bit generator, a Generator's or the thread's? */
static inline bool tr_rt_random(const tr_rtinfo *r) {
    return r >= &tr_rt_info[TR_RT_NP_SEED] && r <= &tr_rt_info[TR_RT_PY_FLOAT] && r->effects;
}

#endif
