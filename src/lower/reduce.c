/* Sums of floats inside patterns: calls of rt/sum.c, which says in which order values are added and why. The state of a
 * sum and the buffer before it are allocas that no call keeps, so LLVM knows that array accesses cannot touch them. */
#include "lower/internal.h"

static lv call(tr_lf *w, unsigned row, unsigned n, const lv *args) {
    lv out = NULL;
    tr_lower_rt(w, row, n, args, NULL, &out);
    return out;
}

static bool is_f32(const tr_lf *w, lt t) {
    return t == w->m->f32;
}

lv tr_lower_sum_state(tr_lf *w, lt t) {
    size_t size = is_f32(w, t) ? sizeof(tr_sum_f32) : sizeof(tr_sum_f64);
    lv state = tr_lower_alloca(w, LLVMArrayType2(w->m->i8, size), "sum");
    LLVMSetAlignment(state, 8);
    return state;
}

void tr_lower_sum_clear(tr_lf *w, lv state) {
    _Static_assert(offsetof(tr_sum_f64, count) == 0 && offsetof(tr_sum_f32, count) == 0,
                   "the count comes first");
    LLVMBuildStore(w->b, l_int(w->m->i64, 0), state);
}

void tr_lower_sum_add(tr_lf *w, lt t, lv state, lv data, lv n) {
    call(w, is_f32(w, t) ? TR_RT_SUM_ADD_F32 : TR_RT_SUM_ADD_F64, 3, (lv[]){state, data, n});
}

lv tr_lower_sum_end(tr_lf *w, lt t, lv state, lv data, lv n) {
    return call(w, is_f32(w, t) ? TR_RT_SUM_END_F32 : TR_RT_SUM_END_F64, 3, (lv[]){state, data, n});
}

lv tr_lower_sum_join(tr_lf *w, lt t, lv data, lv n) {
    return call(w, is_f32(w, t) ? TR_RT_SUM_JOIN_F32 : TR_RT_SUM_JOIN_F64, 2, (lv[]){data, n});
}

lv tr_lower_sum_of(tr_lf *w, lt t, lv data, lv n) {
    return call(w, is_f32(w, t) ? TR_RT_SUM_F32 : TR_RT_SUM_F64, 2, (lv[]){data, n});
}
