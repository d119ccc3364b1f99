/* Pairwise sums of floats, independent of how a pattern is laid out or fused.
 *
 * The values of a sum form one sequence (C order of the space). It is cut into blocks of TR_SUM_BLOCK; a block is added up in
 * TR_SUM_LANES lanes (value i goes to lane i mod 16), the lanes in a fixed tree; block sums are combined like the bits
 * of a binary counter, so two sums are only ever added when they cover equally many blocks. The order depends on the number of
 * values alone, a value takes part in at most 16 + 4 + log2(blocks) additions (NumPy's pairwise sum: 16 + 3 + log2(n / 128)),
 * and the lanes are LLVM vectors, so it is fast without licence to reassociate.
 * Empty places hold -0.0, the one value that changes nothing it is added to.
 *
 * The code is one internal function per type and module, void(state, data, n), beside a small one for the total. */
#include "lower/internal.h"

typedef struct gen { /* a helper being written */
    tr_lm *m;
    LLVMBuilderRef b;
    lv fn;
    lt t, vec;
} gen;

static const char *name_of(const tr_lm *m, lt t, const char *f32, const char *f64) {
    return t == m->f32 ? f32 : f64;
}

static unsigned size_of(const tr_lm *m, lt t) {
    return t == m->f32 ? 4 : 8;
}

/* State: the number of blocks so far, then one partial sum per bit of it. */
static lt state_type(const tr_lm *m, lt t) {
    lt fields[2] = {m->i64, LLVMArrayType2(t, TR_SUM_LEVELS)};
    return LLVMStructTypeInContext(m->lc, fields, 2, 0);
}

static lv level_at(gen *g, lv state, lv i) {
    lv at[3] = {l_int(g->m->i64, 0), l_int(g->m->i32, 1), i};
    return LLVMBuildInBoundsGEP2(g->b, state_type(g->m, g->t), state, at, 3, "");
}

static lb block(gen *g) {
    return LLVMAppendBasicBlockInContext(g->m->lc, g->fn, "");
}

static lv phi(gen *g, lt t, lv first, lb from) {
    lv p = LLVMBuildPhi(g->b, t, "");
    l_incoming(p, first, from);
    return p;
}

static lv splat(gen *g, double x) {
    lv c[TR_SUM_LANES];
    for (int i = 0; i < TR_SUM_LANES; i++)
        c[i] = LLVMConstReal(g->t, x);
    return LLVMConstVector(c, TR_SUM_LANES);
}

static gen begin(tr_lm *m, lt t, const char *name, lt type) {
    gen g = {.m = m, .t = t, .vec = LLVMVectorType(t, TR_SUM_LANES), .b = LLVMCreateBuilderInContext(m->lc)};
    g.fn = LLVMAddFunction(m->mod, name, type);
    LLVMSetLinkage(g.fn, LLVMInternalLinkage);
    tr_lower_common_attrs(m, g.fn);
    tr_lower_fn_attr(m, g.fn, TR_LA_NOINLINE);
    tr_lower_fn_attr(m, g.fn, TR_LA_ARGMEM);
    tr_lower_fn_attr(m, g.fn, TR_LA_WILLRETURN);
    for (unsigned i = 0; i < LLVMCountParams(g.fn) && i < 2;
         i++) /* or the buffers count as shared with everything */
        tr_lower_param_attr(m, g.fn, i, TR_LA_NOCAPTURE);
    l_at_end(g.b, block(&g));
    return g;
}

/* Adds the last n % LANES values to the lanes: they are laid over a vector of -0.0. */
static lv add_tail(gen *g, lv acc, lv data, lv at, lv n) {
    tr_lm *m = g->m;
    lv spare = LLVMBuildAlloca(g->b, g->vec, "");
    LLVMSetAlignment(LLVMBuildStore(g->b, splat(g, -0.0), spare), size_of(m, g->t));
    lb from = l_here(g->b), loop = block(g), done = block(g);
    LLVMBuildBr(g->b, loop);
    l_at_end(g->b, loop);
    lv i = phi(g, m->i64, at, from);
    lv x = LLVMBuildLoad2(g->b, g->t, LLVMBuildInBoundsGEP2(g->b, g->t, data, &i, 1, ""), "");
    lv k = l_sub(g->b, i, at);
    LLVMBuildStore(g->b, x, LLVMBuildInBoundsGEP2(g->b, g->t, spare, &k, 1, ""));
    lv next = l_add(g->b, i, l_int(m->i64, 1));
    l_incoming(i, next, loop);
    LLVMBuildCondBr(g->b, l_icmp(g->b, LLVMIntSLT, next, n), loop, done);
    l_at_end(g->b, done);
    lv v = LLVMBuildLoad2(g->b, g->vec, spare, "");
    LLVMSetAlignment(v, size_of(m, g->t));
    return LLVMBuildFAdd(g->b, acc, v, "");
}

/* Lane k + lane k + half, until one is left. */
static lv fold_lanes(gen *g, lv acc) {
    for (unsigned half = TR_SUM_LANES / 2; half; half /= 2) {
        lv lo[TR_SUM_LANES], hi[TR_SUM_LANES];
        for (unsigned i = 0; i < half; i++) {
            lo[i] = l_int(g->m->i32, i);
            hi[i] = l_int(g->m->i32, i + half);
        }
        lv none = LLVMGetUndef(LLVMTypeOf(acc));
        acc = LLVMBuildFAdd(g->b, LLVMBuildShuffleVector(g->b, acc, none, LLVMConstVector(lo, half), ""),
                            LLVMBuildShuffleVector(g->b, acc, none, LLVMConstVector(hi, half), ""), "");
    }
    return LLVMBuildExtractElement(g->b, acc, l_int(g->m->i32, 0), "");
}

/* Sum of the n values at data, in lanes. */
static lv sum_values(gen *g, lv data, lv n) {
    tr_lm *m = g->m;
    lv lanes = l_int(m->i64, TR_SUM_LANES), zero = l_int(m->i64, 0);
    lv whole = l_and(g->b, n, l_int(m->i64, -TR_SUM_LANES));
    lb from = l_here(g->b), loop = block(g), more = block(g), tail = block(g), done = block(g);
    LLVMBuildCondBr(g->b, l_icmp(g->b, LLVMIntSGT, whole, zero), loop, more);
    l_at_end(g->b, loop);
    lv i = phi(g, m->i64, zero, from), acc = phi(g, g->vec, splat(g, -0.0), from);
    lv x = LLVMBuildLoad2(g->b, g->vec, LLVMBuildInBoundsGEP2(g->b, g->t, data, &i, 1, ""), "");
    LLVMSetAlignment(x, size_of(m, g->t));
    lv sum = LLVMBuildFAdd(g->b, acc, x, ""), next = l_add(g->b, i, lanes);
    l_incoming(i, next, loop);
    l_incoming(acc, sum, loop);
    LLVMBuildCondBr(g->b, l_icmp(g->b, LLVMIntSLT, next, whole), loop, more);
    l_at_end(g->b, more);
    lv all = phi(g, g->vec, splat(g, -0.0), from);
    l_incoming(all, sum, loop);
    LLVMBuildCondBr(g->b, l_icmp(g->b, LLVMIntSLT, whole, n), tail, done);
    l_at_end(g->b, tail);
    lv with_tail = add_tail(g, all, data, whole, n);
    lb tail_end = l_here(g->b);
    LLVMBuildBr(g->b, done);
    l_at_end(g->b, done);
    lv r = phi(g, g->vec, all, more);
    l_incoming(r, with_tail, tail_end);
    return fold_lanes(g, r);
}

/* The carry of a binary counter: while a bit of the count is set, the sum of that level joins the new one. */
static void push(gen *g, lv state, lv x) {
    tr_lm *m = g->m;
    lv count = LLVMBuildLoad2(g->b, m->i64, state, ""), one = l_int(m->i64, 1), zero = l_int(m->i64, 0);
    lb from = l_here(g->b), head = block(g), carry = block(g), done = block(g);
    LLVMBuildBr(g->b, head);
    l_at_end(g->b, head);
    lv level = phi(g, m->i64, zero, from), bits = phi(g, m->i64, count, from), sum = phi(g, g->t, x, from);
    LLVMBuildCondBr(g->b, l_icmp(g->b, LLVMIntNE, l_and(g->b, bits, one), zero), carry, done);
    l_at_end(g->b, carry);
    lv earlier = LLVMBuildLoad2(g->b, g->t, level_at(g, state, level), "");
    l_incoming(sum, LLVMBuildFAdd(g->b, earlier, sum, ""), carry);
    l_incoming(level, l_add(g->b, level, one), carry);
    l_incoming(bits, LLVMBuildLShr(g->b, bits, one, ""), carry);
    LLVMBuildBr(g->b, head);
    l_at_end(g->b, done);
    LLVMBuildStore(g->b, sum, level_at(g, state, level));
    LLVMBuildStore(g->b, l_add(g->b, count, one), state);
    LLVMBuildRetVoid(g->b);
}

static lv block_fn(tr_lm *m, lt t) {
    const char *name = name_of(m, t, "sum.block.f32", "sum.block.f64");
    lv fn = LLVMGetNamedFunction(m->mod, name);
    if (fn)
        return fn;
    lt params[3] = {m->ptr, m->ptr, m->i64};
    gen g = begin(m, t, name, LLVMFunctionType(m->void_, params, 3, 0));
    lv x = sum_values(&g, LLVMGetParam(g.fn, 1), LLVMGetParam(g.fn, 2));
    push(&g, LLVMGetParam(g.fn, 0), x);
    LLVMDisposeBuilder(g.b);
    return g.fn;
}

/* From the lowest level up: what came later is added to what came before. */
static lv total_fn(tr_lm *m, lt t) {
    const char *name = name_of(m, t, "sum.total.f32", "sum.total.f64");
    lv fn = LLVMGetNamedFunction(m->mod, name);
    if (fn)
        return fn;
    gen g = begin(m, t, name, LLVMFunctionType(t, &m->ptr, 1, 0));
    lv state = LLVMGetParam(g.fn, 0), one = l_int(m->i64, 1), zero = l_int(m->i64, 0);
    lv count = LLVMBuildLoad2(g.b, m->i64, state, "");
    lb from = l_here(g.b), head = block(&g), body = block(&g), done = block(&g);
    LLVMBuildBr(g.b, head);
    l_at_end(g.b, head);
    lv level = phi(&g, m->i64, zero, from), bits = phi(&g, m->i64, count, from);
    lv sum = phi(&g, t, LLVMConstReal(t, -0.0), from);
    LLVMBuildCondBr(g.b, l_icmp(g.b, LLVMIntNE, bits, zero), body, done);
    l_at_end(g.b, body);
    lv set = l_icmp(g.b, LLVMIntNE, l_and(g.b, bits, one), zero);
    lv part = LLVMBuildLoad2(g.b, t, level_at(&g, state, level), "");
    l_incoming(sum, l_select(g.b, set, LLVMBuildFAdd(g.b, part, sum, ""), sum), body);
    l_incoming(level, l_add(g.b, level, one), body);
    l_incoming(bits, LLVMBuildLShr(g.b, bits, one, ""), body);
    LLVMBuildBr(g.b, head);
    l_at_end(g.b, done);
    LLVMBuildRet(g.b, sum);
    LLVMDisposeBuilder(g.b);
    return g.fn;
}

lv tr_lower_sum_state(tr_lf *w, lt t) {
    return tr_lower_alloca(w, state_type(w->m, t), "sum");
}

void tr_lower_sum_clear(tr_lf *w, lt t, lv state) {
    (void)t;
    LLVMBuildStore(w->b, l_int(w->m->i64, 0), state);
}

void tr_lower_sum_block(tr_lf *w, lt t, lv state, lv data, lv n) {
    lv fn = block_fn(w->m, t), args[3] = {state, data, n};
    LLVMBuildCall2(w->b, LLVMGlobalGetValueType(fn), fn, args, 3, "");
}

lv tr_lower_sum_total(tr_lf *w, lt t, lv state) {
    lv fn = total_fn(w->m, t);
    return LLVMBuildCall2(w->b, LLVMGlobalGetValueType(fn), fn, &state, 1, "");
}
