/* The length of a range, `rangelen start, stop, step`, as the instructions that compute it (expansion of a
 * high-level operation).
 *
 * Until here it is one operation, of which bounds, prange, grid, stride and rotate know what it means; what
 * they would have to find again in some ten instructions they read from its operands. After them: what is
 * left is the choice `stop > start ? count : 0`. A count past int64 is 2**63 - 1, which no loop reaches;
 * where ends are known to lie less far apart there is no test of that.
 * Cost: one look at each instruction. */
#include "opt/scalar/expand.h"

#include <assert.h>

#include "opt/emit.h"
#include "opt/priv.h"
#include "opt/scalar/prove.h"

/* What a range goes through: whether that is anything, how far its ends lie apart, and by which steps. */
typedef struct walk {
    tr_val some, span, by; /* bool; i64 and u64, modulo 2**64: right where there is some */
    bool fits;             /* the number of items is less than 2**63 */
} walk;

static tr_val minus(tr_bld *b, tr_val x, tr_val y) {
    return tr_is_int(b->fn, y, 0) ? x : tr_emit_op(b, TR_OP_SUB, x, y);
}

/* Whether less than 2**63 steps lead from low to high. */
static bool steps_fit(const tr_fn *f, tr_val low, tr_val high, uint64_t by) {
    tr_wide from, to, other;
    tr_range_of(f, low, &from, &other);
    tr_range_of(f, high, &other, &to);
    return to - from <= (tr_wide)by * INT64_MAX;
}

static walk walk_by_const(tr_bld *b, tr_val start, tr_val stop, int64_t step) {
    tr_val low = step > 0 ? start : stop, high = step > 0 ? stop : start;
    uint64_t by = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    tr_val some = tr_emit_cmp(b, TR_CMP_GT, high, low), span = minus(b, high, low);
    return (walk){some, span, tr_const_int(b->fn, tr_emit_ty(b, TR_TY_U64), (int64_t)by),
                  steps_fit(b->fn, low, high, by)};
}

static walk walk_by(tr_bld *b, tr_val start, tr_val stop, tr_val step) {
    const tr_ty *i64 = tr_emit_ty(b, TR_TY_I64), *u64 = tr_emit_ty(b, TR_TY_U64);
    tr_val up = tr_emit_cmp(b, TR_CMP_GT, step, tr_emit_int(b, 0)),
           more = tr_emit_cmp(b, TR_CMP_GT, stop, start), less = tr_emit_cmp(b, TR_CMP_LT, stop, start),
           some = tr_emit_select(b, up, more, less);
    tr_val rise = minus(b, stop, start), fall = minus(b, start, stop),
           span = tr_emit_select(b, up, rise, fall);
    tr_val back = tr_emit1(b, TR_OP_NEG, i64, step), by = tr_emit_select(b, up, step, back);
    return (walk){some, span, tr_emit1(b, TR_OP_CONV, u64, by),
                  steps_fit(b->fn, start, stop, 1) && steps_fit(b->fn, stop, start, 1)};
}

/* How many items there are, if there are some. Unsigned quotients, so that the largest spans are right. */
static tr_val count(tr_bld *b, const walk *w) {
    const tr_ty *i64 = tr_emit_ty(b, TR_TY_I64), *u64 = tr_emit_ty(b, TR_TY_U64);
    tr_val n = w->span, one = tr_emit_int(b, 1);
    if (!tr_is_int(b->fn, w->by, 1)) {
        tr_val last = tr_emit1(b, TR_OP_CONV, u64, tr_emit_op(b, TR_OP_SUB, n, one));
        n = tr_emit1(b, TR_OP_CONV, i64, tr_emit2(b, TR_OP_QUOT, u64, last, w->by));
        n = tr_emit_op(b, TR_OP_ADD, n, one);
    }
    return w->fits ? n
                   : tr_emit_select(b, tr_emit_cmp(b, TR_CMP_LT, n, tr_emit_int(b, 0)),
                                    tr_emit_int(b, INT64_MAX), n);
}

void tr_expand_range(tr_fn *f, tr_val v) {
    assert(tr_at(f, v)->op == TR_OP_RANGELEN && tr_at(f, v)->nargs == 3 && "the length of a range");
    tr_bld b = tr_bld_before(f, v);
    tr_val start = tr_arg(f, v, 0), stop = tr_arg(f, v, 1), step = tr_arg(f, v, 2);
    int64_t k;
    walk w = tr_get_int(f, step, &k) ? walk_by_const(&b, start, stop, k) : walk_by(&b, start, stop, step);
    tr_val n = count(&b, &w), zero = tr_emit_int(&b, 0);
    tr_ins *in = tr_at(f, v);
    in->op = TR_OP_SELECT;
    in->args[0] = w.some;
    in->args[1] = n;
    in->args[2] = zero;
}

bool tr_opt_expand(tr_prog *p, tr_fn *f) {
    (void)p;
    bool changed = false;
    for (tr_bid blk = 0; blk < f->blks.n; blk++)
        for (tr_val v = tr_blk_at(f, blk)->dead ? TR_NOVAL : tr_blk_at(f, blk)->first; v != TR_NOVAL;
             v = tr_at(f, v)->next)
            if (tr_at(f, v)->op == TR_OP_RANGELEN) {
                tr_expand_range(f, v);
                changed = true;
            }
    return changed;
}
