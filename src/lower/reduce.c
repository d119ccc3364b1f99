/* Sums of floats and places of extremes inside patterns: calls of rt/sum.c, which says in which order values
 * are added and why, and of rt/arg.c. The state and the buffer before it are allocas (room.c) that no call
 * keeps, so LLVM knows that array accesses cannot touch them. */
#include <assert.h>

#include "lower/internal.h"

static lv call(tr_lf *w, unsigned row, unsigned n, const lv *args) {
    lv out = NULL;
    tr_lower_rt(w, row, n, args, NULL, &out);
    return out;
}

static bool is_f32(const tr_lf *w, lt t) {
    assert(t == w->m->f32 || t == w->m->f64);
    return t == w->m->f32;
}

lv tr_lower_sum_state(tr_lf *w, lt t) {
    size_t size = is_f32(w, t) ? sizeof(tr_sum_f32) : sizeof(tr_sum_f64);
    return tr_lower_buffer(w, size, 8, "sum");
}

void tr_lower_sum_clear(tr_lf *w, lv state) {
    assert(LLVMTypeOf(state) == w->m->ptr);
    _Static_assert(offsetof(tr_sum_f64, count) == 0 && offsetof(tr_sum_f32, count) == 0,
                   "the count comes first");
    LLVMBuildStore(w->b, l_int(w->m->i64, 0), state);
}

void tr_lower_sum_add(tr_lf *w, lt t, lv state, lv data, lv n) {
    assert(LLVMTypeOf(n) == w->m->i64 && LLVMTypeOf(data) == w->m->ptr);
    call(w, is_f32(w, t) ? TR_RT_SUM_ADD_F32 : TR_RT_SUM_ADD_F64, 3, (lv[]){state, data, n});
}

lv tr_lower_sum_end(tr_lf *w, lt t, lv state, lv data, lv n) {
    assert(LLVMTypeOf(n) == w->m->i64 && LLVMTypeOf(state) == w->m->ptr);
    return call(w, is_f32(w, t) ? TR_RT_SUM_END_F32 : TR_RT_SUM_END_F64, 3, (lv[]){state, data, n});
}

lv tr_lower_sum_join(tr_lf *w, lt t, lv data, lv n) {
    assert(LLVMTypeOf(n) == w->m->i64);
    return call(w, is_f32(w, t) ? TR_RT_SUM_JOIN_F32 : TR_RT_SUM_JOIN_F64, 2, (lv[]){data, n});
}

/* Where what changes no sum lies. */
static lv nothing(tr_lf *w, lt t) {
    tr_lm *m = w->m;
    const char *name = is_f32(w, t) ? "nothing.f32" : "nothing.f64";
    lv g = LLVMGetNamedGlobal(m->mod, name);
    if (g)
        return g;
    g = LLVMAddGlobal(m->mod, t, name);
    LLVMSetInitializer(g, LLVMConstReal(t, -0.0));
    LLVMSetGlobalConstant(g, 1);
    LLVMSetLinkage(g, LLVMPrivateLinkage);
    return g;
}

/* Of 1 to FEW values, in the tree of rt/sum.c, where it stands. A place is chosen and not a value: nothing
 * past the last one is read, and nothing is guessed of how many there are. */
enum { FEW = 8 };
static lv sum_of_few(tr_lf *w, lt t, lv data, lv n) {
    LLVMBuilderRef b = w->b;
    lv x[FEW];
    for (unsigned k = 0; k < FEW; k++) {
        lv i = l_int(w->m->i64, k), at = LLVMBuildGEP2(b, t, data, &i, 1, "");
        x[k] = LLVMBuildLoad2(b, t, k ? l_select(b, l_icmp(b, LLVMIntULT, i, n), at, nothing(w, t)) : at, "");
        LLVMSetAlignment(x[k], (unsigned)tr_lower_bytes(w->m, t));
    }
    for (unsigned half = FEW / 2; half > 0; half /= 2)
        for (unsigned k = 0; k < half; k++)
            x[k] = LLVMBuildFAdd(b, x[k], x[k + half], "");
    return x[0];
}

lv tr_lower_sum_of(tr_lf *w, lt t, lv data, lv n) {
    LLVMBuilderRef b = w->b;
    lb few = tr_lower_block(w, ""), many = tr_lower_block(w, ""), go_on = tr_lower_block(w, ""), from[2];
    lv sum[2], less = l_sub(b, n, l_int(w->m->i64, 1));
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntULT, less, l_int(w->m->i64, FEW)), few, many);
    l_at_end(b, few);
    sum[0] = sum_of_few(w, t, data, n);
    from[0] = l_here(b);
    LLVMBuildBr(b, go_on);
    l_at_end(b, many);
    sum[1] = call(w, is_f32(w, t) ? TR_RT_SUM_F32 : TR_RT_SUM_F64, 2, (lv[]){data, n});
    from[1] = l_here(b);
    LLVMBuildBr(b, go_on);
    l_at_end(b, go_on);
    lv out = LLVMBuildPhi(b, t, "");
    LLVMAddIncoming(out, sum, from, 2);
    return out;
}

/* --- places of extremes --- */

static lv what_of(const tr_lf *w, const tr_ty *t, bool max) {
    assert(tr_ty_is_scalar(t));
    static const uint8_t ids[TR_TY__SCALARS] = {
        [TR_TY_BOOL] = TR_ARG_BOOL, [TR_TY_I8] = TR_ARG_I8,   [TR_TY_I16] = TR_ARG_I16,
        [TR_TY_I32] = TR_ARG_I32,   [TR_TY_I64] = TR_ARG_I64, [TR_TY_U8] = TR_ARG_U8,
        [TR_TY_U16] = TR_ARG_U16,   [TR_TY_U32] = TR_ARG_U32, [TR_TY_U64] = TR_ARG_U64,
        [TR_TY_F32] = TR_ARG_F32,   [TR_TY_F64] = TR_ARG_F64};
    return l_int(w->m->i64, ids[t->kind] * 2 + max);
}

lv tr_lower_arg_state(tr_lf *w) {
    return tr_lower_buffer(w, sizeof(tr_extreme), 8, "place");
}

void tr_lower_arg_clear(tr_lf *w, lv state) {
    LLVMBuildStore(w->b, LLVMConstNull(LLVMArrayType2(w->m->i64, sizeof(tr_extreme) / 8)), state);
}

void tr_lower_arg_add(tr_lf *w, const tr_ty *t, bool max, lv state, lv data, lv n) {
    call(w, TR_RT_ARG_ADD, 4, (lv[]){what_of(w, t, max), state, data, n});
}

lv tr_lower_arg_end(tr_lf *w, const tr_ty *t, bool max, lv state, lv data, lv n) {
    _Static_assert(offsetof(tr_extreme, at) == 8, "the place comes second");
    lv one = l_int(w->m->i64, 1);
    tr_lower_arg_add(w, t, max, state, data, n);
    return LLVMBuildLoad2(w->b, w->m->i64, LLVMBuildInBoundsGEP2(w->b, w->m->i64, state, &one, 1, ""), "");
}

/* Is x better than `best`? Of floats the ordered comparison alone, which a processor has as one instruction
 * with the choice. */
static lv is_better(LLVMBuilderRef b, const tr_ty *t, bool max, lv x, lv best) {
    if (tr_ty_is_float(t))
        return l_fcmp(b, max ? LLVMRealOGT : LLVMRealOLT, x, best);
    bool is_signed = tr_ty_class(t) == 'i';
    return l_icmp(b,
                  max         ? is_signed ? LLVMIntSGT : LLVMIntUGT
                  : is_signed ? LLVMIntSLT
                              : LLVMIntULT,
                  x, best);
}

/* An item in memory; any byte but zero is true. */
static lv item_at(tr_lf *w, const tr_ty *t, lv data, lv i) {
    bool truth = t->kind == TR_TY_BOOL;
    lt e = truth ? w->m->i8 : tr_lower_elem(w->m, t);
    lv x = LLVMBuildLoad2(w->b, e, LLVMBuildInBoundsGEP2(w->b, e, data, &i, 1, ""), "");
    return truth ? LLVMBuildZExt(w->b, l_icmp(w->b, LLVMIntNE, x, l_int(e, 0)), e, "") : x;
}

/* Of n items in memory, one at least, item by item: rows have nothing to do with each other, so that a
 * processor looks at several short ones at once. nan: whether there is one, and the place is none. */
static lv arg_of_few(tr_lf *w, const tr_ty *t, bool max, lv data, lv n, lv *nan) {
    LLVMBuilderRef b = w->b;
    lt i64 = w->m->i64;
    lb from = l_here(b), head = tr_lower_block(w, ""), body = tr_lower_block(w, ""),
       end = tr_lower_block(w, "");
    lv one = l_int(i64, 1), first = item_at(w, t, data, l_int(i64, 0)), x = first, i, best, at;
    lv none = tr_ty_is_float(t) ? l_fcmp(b, LLVMRealUNO, x, x) : NULL, some = none;
    LLVMBuildBr(b, head);
    l_at_end(b, head);
    i = LLVMBuildPhi(b, i64, "");
    best = LLVMBuildPhi(b, LLVMTypeOf(first), "");
    at = LLVMBuildPhi(b, i64, "");
    *nan = none ? LLVMBuildPhi(b, w->m->i1, "") : NULL;
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntSLT, i, n), body, end);
    l_at_end(b, body);
    x = item_at(w, t, data, i);
    lv better = is_better(b, t, max, x, best);
    if (none)
        some = l_or(b, *nan, l_fcmp(b, LLVMRealUNO, x, x));
    lv now[][3] = {{i, one, LLVMBuildNUWAdd(b, i, one, "")},
                   {best, first, l_select(b, better, x, best)},
                   {at, l_int(i64, 0), l_select(b, better, i, at)},
                   {*nan, none, some}};
    for (unsigned k = 0; k < 3 + (none != NULL); k++) {
        l_incoming(now[k][0], now[k][1], from);
        l_incoming(now[k][0], now[k][2], body);
    }
    LLVMBuildBr(b, head);
    l_at_end(b, end);
    return at;
}

lv tr_lower_arg_of(tr_lf *w, const tr_ty *t, bool max, lv data, lv n) {
    enum { SHORT = 16 };
    LLVMBuilderRef b = w->b;
    lb few = tr_lower_block(w, ""), many = tr_lower_block(w, ""), end = tr_lower_block(w, ""), from[2];
    lv less = l_sub(b, n, l_int(w->m->i64, 1)), out[2], nan;
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntULT, less, l_int(w->m->i64, SHORT)), few, many);
    l_at_end(b, few);
    out[0] = arg_of_few(w, t, max, data, n, &nan);
    from[0] = l_here(b);
    if (nan)
        LLVMBuildCondBr(b, nan, many, end);
    else
        LLVMBuildBr(b, end);
    l_at_end(b, many);
    out[1] = call(w, TR_RT_ARG, 3, (lv[]){what_of(w, t, max), data, n});
    from[1] = l_here(b);
    LLVMBuildBr(b, end);
    l_at_end(b, end);
    lv at = LLVMBuildPhi(b, w->m->i64, "");
    LLVMAddIncoming(at, out, from, 2);
    return at;
}
