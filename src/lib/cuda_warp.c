/* What the threads of a warp do together (CUDA's warp intrinsics), and a thread's place in its warp.
 *
 * A warp is 32 threads of a block, numbered through it with x first. A mask names lanes of it, a bit
 * for each: uint32, as CUDA has them. */
#include "lib/fam.h"

#include <assert.h>

#include "lib/families.h"

static tr_tv emit(tr_em *e, tr_op op, unsigned sub, const tr_ty *t, uint32_t n, const tr_tv *x) {
    assert(n <= 3 && tr_em_are_whole(e, n, x) && "operands are values, three at most");
    tr_val v[3];
    for (uint32_t k = 0; k < n; k++)
        v[k] = x[k].v;
    tr_tv out = tr_lib_emit(e, op, t, n, v);
    if (!e->dry)
        tr_at(e->b.fn, out.v)->sub = (uint8_t)sub;
    return out;
}

static tr_tv ask(tr_em *e, tr_op op, int64_t axis) {
    tr_tv v = tr_lib_emit(e, op, tr_fam_ty(e, TR_TY_I64), 0, NULL);
    if (!e->dry)
        tr_at(e->b.fn, v.v)->imm.i = axis;
    return v;
}

/* --- places --- */

static tr_tv lane(tr_em *e) {
    tr_tv n = ask(e, TR_OP_THREADIDX, 2);
    for (int64_t k = 1; k >= 0; k--) {
        n = tr_em_nsw(e, TR_OP_MUL, n, ask(e, TR_OP_BLOCKDIM, k));
        n = tr_em_nsw(e, TR_OP_ADD, n, ask(e, TR_OP_THREADIDX, k));
    }
    return tr_em_op2(e, TR_OP_AND, n, tr_em_i64(e, TR_WARP - 1));
}

/* cuda.laneid: a number wherever it is looked at, as tr_em_obj() has it. */
bool tr_lib_cu_lane(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (c)
        return tr_em_error(e, "%s is a number; it cannot be called", tr_fam_name(c));
    *out = lane(e);
    return true;
}

bool tr_lib_cu_lanes_below(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv one = tr_em_i64(e, 1), bits = tr_em_op2(e, TR_OP_SHL, one, lane(e));
    (void)c;
    *out = tr_em_conv(e, tr_em_op2(e, TR_OP_SUB, bits, one), tr_fam_ty(e, TR_TY_U32));
    return true;
}

/* --- arguments --- */

static bool integer(tr_em *e, const tr_bcall *c, tr_tv x, const char *what, tr_tyk to, tr_tv *out) {
    char k = tr_fam_class(e, x);
    if (k != 'i' && k != 'b')
        return tr_em_error(e, "%s(): %s must be an integer, not %s", tr_fam_name(c), what,
                           tr_em_tyname(e, x.ty));
    *out = tr_em_conv(e, x, tr_fam_ty(e, to));
    return true;
}

static bool mask(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return integer(e, c, c->a[0], "the mask", TR_TY_U32, out);
}

/* A condition: whatever has a truth. */
static bool condition(tr_em *e, tr_tv x, tr_tv *out) {
    if (!tr_em_truth(e, x, out))
        return false;
    *out = tr_em_strong(e, *out);
    return true;
}

/* What moves between lanes: 32 bits or 64; narrower integers as 32. */
static bool wide(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *out) {
    if (!tr_fam_number(e, c, x, "bif"))
        return false;
    x = tr_em_strong(e, x);
    if (tr_ty_size(x.ty) < 4)
        x = tr_em_conv(e, x, tr_fam_ty(e, tr_ty_class(x.ty) == 'u' ? TR_TY_U32 : TR_TY_I32));
    *out = x;
    return true;
}

/* --- the warp's operations --- */

bool tr_lib_cu_syncwarp(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv m = tr_em_conv(e, tr_em_i64(e, UINT32_MAX), tr_fam_ty(e, TR_TY_U32));
    if (c->a[0].ty && !mask(e, c, &m))
        return false;
    if (!e->dry)
        tr_emit1(&e->b, TR_OP_SYNCWARP, NULL, m.v);
    *out = tr_em_none(e);
    return true;
}

/* aux: the tr_shfl. The result has the value's type. */
bool tr_lib_cu_shfl(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x[3], v;
    if (!mask(e, c, &x[0]) || !wide(e, c, c->a[1], &x[1]) ||
        !integer(e, c, c->a[2], "where the value comes from", TR_TY_I32, &x[2]))
        return false;
    v = emit(e, TR_OP_SHFL, (unsigned)c->aux, x[1].ty, 3, x);
    *out = tr_em_conv(e, v, tr_em_strong(e, c->a[1]).ty);
    return true;
}

/* Lanes as a bit mask; with promotion="numba" an int32, as Numba declares these functions, so
 * that what is computed of it is signed. */
static tr_tv lanes(tr_em *e, tr_tv mask) {
    return e->opts->promote_numba ? tr_em_conv(e, mask, tr_fam_ty(e, TR_TY_I32)) : mask;
}

/* aux: the tr_vote. */
bool tr_lib_cu_vote(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x[2];
    if (!mask(e, c, &x[0]) || !condition(e, c->a[1], &x[1]))
        return false;
    const tr_ty *t = tr_fam_ty(e, c->aux == TR_VOTE_BALLOT ? TR_TY_U32 : TR_TY_BOOL);
    *out = emit(e, TR_OP_VOTE, (unsigned)c->aux, t, 2, x);
    *out = c->aux == TR_VOTE_BALLOT ? lanes(e, *out) : *out;
    return true;
}

/* aux: the tr_vote; all: the mask, and whether it is not 0. */
bool tr_lib_cu_match(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x[2], v[2];
    if (!mask(e, c, &x[0]) || !wide(e, c, c->a[1], &x[1]))
        return false;
    v[0] = emit(e, TR_OP_MATCH, (unsigned)c->aux, tr_fam_ty(e, TR_TY_U32), 2, x);
    *out = lanes(e, v[0]);
    if (c->aux == TR_VOTE_ANY)
        return true;
    v[1] = tr_em_conv(e, v[0], tr_fam_ty(e, TR_TY_BOOL));
    v[0] = *out;
    *out = tr_em_tuple(e, 2, v);
    return true;
}

bool tr_lib_cu_active(tr_em *e, const tr_bcall *c, tr_tv *out) {
    (void)c;
    *out = tr_lib_emit(e, TR_OP_ACTIVEMASK, tr_fam_ty(e, TR_TY_U32), 0, NULL);
    return true;
}

/* --- the grid's: cuda.cg --- */

/* The group is known when compiling: there is one. */
bool tr_lib_cu_this_grid(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_obj *o = TR_NEW(&e->ctx->arena, tr_obj);
    (void)c;
    *o = (tr_obj){.kind = TR_OBJ_BUILTIN, .repr = tr_builtins[TR_B_CU_GROUP].path};
    o->u.builtin = TR_B_CU_GROUP;
    *out = tr_em_lit(e, o);
    return true;
}

bool tr_lib_cu_group(tr_em *e, const tr_bcall *c, tr_tv *out) {
    (void)out;
    return tr_em_error(e, "%s() makes no group: cuda.cg.this_grid() gives it", tr_fam_name(c));
}

bool tr_lib_cu_grid_sync(tr_em *e, const tr_bcall *c, tr_tv *out) {
    (void)c;
    if (!e->dry)
        tr_emit0(&e->b, TR_OP_GRIDBARRIER, NULL);
    *out = tr_em_none(e);
    return true;
}

/* --- the block's --- */

/* aux: the tr_vote. */
bool tr_lib_cu_barvote(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x;
    if (!condition(e, c->a[0], &x))
        return false;
    *out = emit(e, TR_OP_BARVOTE, (unsigned)c->aux, tr_fam_ty(e, TR_TY_I32), 1, &x);
    return true;
}
