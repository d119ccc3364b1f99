/* What the compiler knows of the run-time functions: rt/rt.def as data. */
#ifndef TR_IR_RTINFO_H
#define TR_IR_RTINFO_H

#include "ir/ir.h"
#include "rt/rt.h"

extern const tr_rtinfo tr_rt_info[TR_RT__COUNT]; /* `name` is the row's id, as the IR's text shows it */
/* Does it draw from a Generator: does it change the state that an argument has? */
static inline bool tr_rt_draws(const tr_rtinfo *r) {
    return r >= &tr_rt_info[TR_RT_GEN_RANDOM] && r <= &tr_rt_info[TR_RT_GEN_LINES] && r->effects;
}

/* Does it change the state of any bit generator, a Generator's or the thread's? */
static inline bool tr_rt_random(const tr_rtinfo *r) {
    return r >= &tr_rt_info[TR_RT_NP_SEED] && r <= &tr_rt_info[TR_RT_PY_FLOAT] && r->effects;
}

#endif
