/* What passes add to a function, said shortly: numbers are i64, tests are i1, and all
 * stands where the builder does.
 *
 * A name for each instruction that several passes make, so that a pass reads as what it computes. Nothing is
 * folded, but where a test is put together: TR_NOVAL is one that asks nothing. Operands are emitted before,
 * as C's calls are: where the order of two matters they are two statements. */
#ifndef TR_OPT_EMIT_H
#define TR_OPT_EMIT_H

#include <assert.h>

#include "ir/ir.h"
#include "rt/rt.h"

static inline const tr_ty *tr_emit_ty(const tr_bld *b, tr_tyk kind) {
    return tr_ty_scalar(b->fn->ctx->types, kind);
}

/* --- where --- */

/* In front of an instruction, with its place in the source. */
static inline tr_bld tr_bld_before(tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    assert(in->blk != TR_NOBLK && "what is emitted has a block to stand in");
    return (tr_bld){.fn = f, .blk = in->blk, .before = v, .loc = in->loc};
}
/* Behind all else in a block that has an end, with the place of that. */
static inline tr_bld tr_bld_at_end(tr_fn *f, tr_bid blk) {
    return tr_bld_before(f, tr_blk_at(f, blk)->last);
}

/* --- numbers --- */

static inline tr_val tr_emit_int(const tr_bld *b, int64_t n) {
    return tr_const_int(b->fn, tr_emit_ty(b, TR_TY_I64), n);
}
static inline tr_val tr_emit_op(tr_bld *b, tr_op op, tr_val x, tr_val y) {
    assert(tr_at(b->fn, x)->ty->kind == TR_TY_I64 && tr_at(b->fn, y)->ty->kind == TR_TY_I64 && "numbers");
    return tr_emit2(b, op, tr_emit_ty(b, TR_TY_I64), x, y);
}
static inline tr_val tr_emit_dim(tr_bld *b, tr_val array, unsigned axis) {
    assert(tr_at(b->fn, array)->ty->kind == TR_TY_ARRAY && axis < tr_at(b->fn, array)->ty->ndim &&
           "an axis of the array");
    tr_val v = tr_emit1(b, TR_OP_DIM, tr_emit_ty(b, TR_TY_I64), array);
    tr_at(b->fn, v)->imm.i = axis;
    return v;
}

/* x times all of these. */
static inline tr_val tr_emit_times(tr_bld *b, tr_val x, const tr_val *by, uint32_t n) {
    for (uint32_t k = 0; k < n; k++)
        x = tr_emit_op(b, TR_OP_MUL, x, by[k]);
    return x;
}

/* --- tests --- */

static inline tr_val tr_emit_cmp(tr_bld *b, tr_cmpop how, tr_val x, tr_val y) {
    assert(tr_at(b->fn, x)->ty == tr_at(b->fn, y)->ty && "what is compared has one type");
    tr_val v = tr_emit2(b, TR_OP_CMP, tr_emit_ty(b, TR_TY_BOOL), x, y);
    tr_at(b->fn, v)->sub = (uint8_t)how;
    return v;
}
static inline tr_val tr_emit_not(tr_bld *b, tr_val x) {
    return tr_emit1(b, TR_OP_NOT, tr_emit_ty(b, TR_TY_BOOL), x);
}
static inline tr_val tr_emit_both(tr_bld *b, tr_val x, tr_val y) {
    return x == TR_NOVAL ? y : y == TR_NOVAL ? x : tr_emit2(b, TR_OP_AND, tr_emit_ty(b, TR_TY_BOOL), x, y);
}
static inline tr_val tr_emit_either(tr_bld *b, tr_val x, tr_val y) {
    return x == TR_NOVAL ? y : y == TR_NOVAL ? x : tr_emit2(b, TR_OP_OR, tr_emit_ty(b, TR_TY_BOOL), x, y);
}

/* Do two arrays share nothing but an item that is at the same place in both? `strict`: nothing at all. */
static inline tr_val tr_emit_apart(tr_bld *b, tr_val x, tr_val y, bool strict) {
    tr_val v = tr_emit2(b, strict ? TR_OP_OVERLAP : TR_OP_APART, tr_emit_ty(b, TR_TY_BOOL), x, y);
    return strict ? tr_emit_not(b, v) : v;
}

/* --- choices --- */

static inline tr_val tr_emit_select(tr_bld *b, tr_val c, tr_val x, tr_val y) {
    assert(tr_at(b->fn, x)->ty == tr_at(b->fn, y)->ty && "both arms of a choice have one type");
    return tr_emit3(b, TR_OP_SELECT, tr_at(b->fn, x)->ty, c, x, y);
}
/* The smaller, the larger of two i64. */
static inline tr_val tr_emit_least(tr_bld *b, tr_val x, tr_val y) {
    return x == y ? x : tr_emit2(b, TR_OP_MIN, tr_at(b->fn, x)->ty, x, y);
}
static inline tr_val tr_emit_most(tr_bld *b, tr_val x, tr_val y) {
    return x == y ? x : tr_emit2(b, TR_OP_MAX, tr_at(b->fn, x)->ty, x, y);
}

/* --- calls --- */

/* A call of a row of rt.def, with the text it takes (NULL: none). */
static inline tr_val tr_emit_rt(tr_bld *b, tr_rt row, const tr_ty *ty, uint32_t n, const tr_val *args,
                                const char *text) {
    tr_rtcall *rt = TR_NEW(&b->fn->ctx->arena, tr_rtcall);
    *rt = (tr_rtcall){(uint16_t)row, text};
    tr_val v = tr_emit_v(b, TR_OP_CALLRT, ty, n, args);
    tr_at(b->fn, v)->imm.rt = rt;
    return v;
}

#endif
