/* rt/rt.def as data, with the effects that passes ask for. */
#include "ir/rtinfo.h"

const tr_rtinfo tr_rt_info[TR_RT__COUNT] = {
#define X(id, symbol, sig, effects) {#id, symbol, sig, effects},
#include "rt/rt.def"
#undef X
};

uint8_t tr_ins_effects(const tr_ins *i) {
    return i->op == TR_OP_CALLRT && i->imm.rt ? tr_rt_info[i->imm.rt->row].effects
                                              : tr_op_info[i->op].effects;
}
