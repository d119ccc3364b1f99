/* Reductions of a pattern: how values begin, are combined and end. They run in values that the loops
 * carry, but for sums of floats and places of extremes: their contributions go into a buffer of
 * TR_SUM_BLOCK values that is looked at whenever it is full (rt/sum.c, rt/arg.c), so the innermost loop
 * has no chain of additions, and no branch, and LLVM vectorises it. Under `reassoc` sums are plain
 * carried values and LLVM may regroup them. */
#include "base/plant.h"
#include "ir/summary.h"
#include "lower/pattern.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static lv extreme(tr_lpat *s, const tr_lred *r, lv best, lv x) {
    bool min = r->kind == TR_RED_MIN;
    const char *name;
    switch (tr_ty_class(r->ty)) {
    case 'f': name = min ? "llvm.minimum" : "llvm.maximum"; break; /* NaN wins, as in NumPy */
    case 'i': name = min ? "llvm.smin" : "llvm.smax"; break;
    case 'b': return min ? l_and(s->w->b, best, x) : l_or(s->w->b, best, x);
    default: name = min ? "llvm.umin" : "llvm.umax";
    }
    lt t = LLVMTypeOf(x);
    lv wide = tr_lower_fast(
        s->w, tr_lower_intrinsic(s->w, name, LLVMTypeOf(tr_lower_widened(s->w, x)), 2,
                                 (lv[]){tr_lower_widened(s->w, best), tr_lower_widened(s->w, x)}));
    return t == s->w->m->f16 ? LLVMBuildFPTrunc(s->w->b, wide, t, "") : wide;
}

/* --- extremes of floats: NaN wins and -0 < +0, as in `extreme`, but without its chain of five dependent
 * operations. Three values are carried: the extreme of numbers; all bits set once a NaN came; and bits whose
 * sign is that of a zero: an extreme of 0 is +0 for max if any value was without a sign, and -0 for min if
 * any had one. The comparison may assume numbers, which makes it one instruction: after a NaN its result is
 * poison and nobody looks at it. --- */

static lt bits_type(const tr_lpat *s, const tr_lred *r) {
    return r->ty->kind == TR_TY_F64 ? s->w->m->i64 : s->w->m->i32;
}

static lv nan_mask(tr_lpat *s, const tr_lred *r, lv x) {
    return LLVMBuildSExt(s->w->b, l_fcmp(s->w->b, LLVMRealUNO, x, x), bits_type(s, r), "");
}

static void split_step(tr_lpat *s, const tr_lred *r, lv x) {
    LLVMBuilderRef b = s->w->b;
    lv *acc = &s->carry[r->carry], bits = LLVMBuildBitCast(b, x, bits_type(s, r), "");
    bool min = r->kind == TR_RED_MIN;
    lv better = l_fcmp(b, min ? LLVMRealOLT : LLVMRealOGT, x, acc[0]);
    acc[0] = l_select(b, better, x, acc[0]);
    if (LLVMIsAFCmpInst(better)) { /* not folded */
        LLVMSetFastMathFlags(better, LLVMFastMathNoNaNs | LLVMFastMathNoSignedZeros);
        LLVMSetFastMathFlags(acc[0], LLVMFastMathNoNaNs | LLVMFastMathNoSignedZeros);
    }
    acc[1] = l_or(b, acc[1], nan_mask(s, r, x));
    acc[2] = min ? l_or(b, acc[2], bits) : l_and(b, acc[2], bits);
}

static lv split_end(tr_lpat *s, const tr_lred *r) {
    LLVMBuilderRef b = s->w->b;
    lt i = bits_type(s, r), t = LLVMTypeOf(r->init[0]);
    const lv *acc = &s->carry[r->carry];
    lv sign = LLVMConstInt(i, i == s->w->m->i64 ? UINT64_C(1) << 63 : UINT64_C(1) << 31, 0);
    lv zero = LLVMBuildBitCast(b, l_and(b, acc[2], sign), t, "");
    lv x = l_select(b, l_fcmp(b, LLVMRealOEQ, acc[0], LLVMConstReal(t, 0)), zero, acc[0]);
    return l_select(b, l_icmp(b, LLVMIntNE, acc[1], l_int(i, 0)), LLVMConstReal(t, NAN), x);
}

void tr_red_combine(tr_lpat *s, const tr_lred *r, lv *acc, const lv *x) {
    LLVMBuilderRef b = s->w->b;
    unsigned outer = s->w->fmf;
    s->w->fmf = r->fmf;
    char cls = tr_ty_class(r->ty);
    switch (r->kind) {
    case TR_RED_ADD:
        for (unsigned i = 0; i < tr_ty_nparts(r->ty); i++)
            acc[i] = cls == 'f' || cls == 'c' ? tr_lower_fast(s->w, LLVMBuildFAdd(b, acc[i], x[i], ""))
                                              : l_add(b, acc[i], x[i]);
        break;
    case TR_RED_MUL:
        if (cls == 'c')
            tr_lower_cmul(s->w, acc, x, acc);
        else
            acc[0] =
                cls == 'f' ? tr_lower_fast(s->w, LLVMBuildFMul(b, acc[0], x[0], "")) : l_mul(b, acc[0], x[0]);
        break;
    case TR_RED_MIN:
    case TR_RED_MAX: acc[0] = extreme(s, r, acc[0], x[0]); break;
    case TR_RED_AND: acc[0] = l_and(b, acc[0], x[0]); break;
    case TR_RED_JOIN: tr_join_two(s->w, r->join, s->caps, acc, x, acc); break;
    case TR_RED_LAST: memcpy(acc, x, tr_ty_nparts(r->ty) * sizeof *acc); break;
    case TR_RED_XOR: acc[0] = LLVMBuildXor(b, acc[0], x[0], ""); break;
    default: acc[0] = l_or(b, acc[0], x[0]);
    }
    s->w->fmf = outer;
}

static void contribute(tr_lpat *s, const tr_lred *r, const lv *x) {
    if (r->cls == TR_REDS_CARRIED) {
        if (r->groups)
            memcpy(&s->carry[r->carry], r->after, tr_ty_nparts(r->ty) * sizeof *r->after);
        else if (r->split)
            split_step(s, r, x[0]);
        else
            tr_red_combine(s, r, &s->carry[r->carry], x);
        return;
    }
    for (unsigned i = 0; i < tr_ty_nparts(r->ty); i++) {
        lv fill = s->carry[s->fill];
        lv v = LLVMTypeOf(x[i]) == s->w->m->i1 ? LLVMBuildZExt(s->w->b, x[i], s->w->m->i8, "") : x[i];
        lv at = r->cls == TR_REDS_JOINED
                    ? tr_join_place(s->w, r->join, i, fill)
                    : LLVMBuildInBoundsGEP2(s->w->b, LLVMTypeOf(v), r->buf[i], &fill, 1, "");
        LLVMBuildStore(s->w->b, v, at);
    }
}

void tr_red_step(tr_lpat *s, const lv *parts) {
    lv one = l_int(s->w->m->i64, 1);
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++) {
        contribute(s, &s->red[i], parts);
        parts += tr_ty_nparts(s->red[i].ty);
    }
    if (s->fill != UINT32_MAX)
        s->carry[s->fill] = LLVMBuildNUWAdd(s->w->b, s->carry[s->fill], one, "");
}

void tr_red_flush(tr_lpat *s) {
    lv *fill = &s->carry[s->fill];
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++) {
        const tr_lred *r = &s->red[i];
        if (r->cls == TR_REDS_PLACE)
            tr_lower_arg_add(s->w, r->ty, r->kind == TR_RED_ARGMAX, r->state[0], r->buf[0], *fill);
        if (r->cls == TR_REDS_JOINED)
            tr_join_add(s->w, r->join, s->caps);
        for (unsigned k = 0; r->cls == TR_REDS_BUFFERED && k < tr_ty_nparts(r->ty); k++)
            tr_lower_sum_add(s->w, tr_lower_elem(s->w->m, r->ty), r->state[k], r->buf[k], *fill);
    }
    *fill = l_int(s->w->m->i64, 0);
}

unsigned tr_red_running(const tr_lpat *s, lv *out) {
    unsigned n = 0;
    for (unsigned i = 0; i < s->p->nscan; i++)
        for (unsigned k = 0; k < tr_ty_nparts(s->red[i].ty); k++)
            out[n++] = s->carry[s->red[i].carry + k];
    return n;
}

/* --- setting up --- */

tr_ljoin *tr_red_by(const tr_lpat *s, tr_fn *by, unsigned n, const lt *types) {
    tr_arena *a = &s->w->m->ctx->arena;
    tr_ljoin *j = TR_NEW(a, tr_ljoin);
    *j = (tr_ljoin){
        .by = by, .loc = s->loc, .nparts = n, .ncaps = s->ncaps, .types = types, .made = TR_NEW_N(a, lv, 2)};
    return j;
}

static tr_ljoin *join_of(const tr_lpat *s, unsigned i, const tr_lred *r) {
    unsigned n = tr_ty_nparts(r->ty);
    lt *types = TR_NEW_N(&s->w->m->ctx->arena, lt, n);
    for (unsigned k = 0; k < n; k++)
        types[k] = LLVMTypeOf(r->init[k]);
    return tr_red_by(s, s->p->joins[i].by, n, types);
}

static void describe(tr_lpat *s, unsigned i, tr_val init, const tr_ty *t) {
    tr_lred *r = &s->red[i];
    *r = (tr_lred){.kind = tr_pat_red(s->p, i),
                   .fmf = tr_lower_fmf(tr_pat_fast(s->p, i)),
                   .ty = t,
                   .init_ty = tr_lower_ty(s->w, init)};
    unsigned n = tr_ty_nparts(r->init_ty);
    r->init = TR_NEW_N(&s->w->m->ctx->arena, lv, n > 2 ? n : 2);
    memcpy(r->init, tr_lower_parts(s->w, init), n * sizeof *r->init);
    r->cls = tr_pat_red_class(s->p, i, t);
    r->join = tr_red_info[r->kind].joins ? join_of(s, i, r) : NULL;
    r->split = (r->kind == TR_RED_MIN || r->kind == TR_RED_MAX) && tr_ty_is_float(t) &&
               t->kind != TR_TY_F16 && i >= s->p->nscan;
    r->groups = s->after && tr_pat_scan_in_groups(s->p, i);
    s->buffered = s->buffered || r->cls != TR_REDS_CARRIED;
}

tr_lred *tr_red_copy(const tr_lpat *s) {
    tr_arena *a = &s->w->m->ctx->arena;
    uint32_t n = tr_pat_nred(s->p);
    tr_lred *red = tr_arena_copy(a, s->red, (n + 1u) * sizeof *red);
    for (uint32_t i = 0; i < n; i++) {
        unsigned parts = tr_ty_nparts(red[i].init_ty);
        red[i].init = tr_arena_copy(a, red[i].init, (parts > 2 ? parts : 2) * sizeof(lv));
        red[i].join = red[i].join ? tr_arena_copy(a, red[i].join, sizeof *red[i].join) : NULL;
    }
    return red;
}

unsigned tr_red_room(const tr_pat *p) {
    unsigned n = 1;
    for (uint32_t i = 0; i < tr_pat_nred(p); i++) {
        const tr_ty *t = tr_pat_contribution(p, i);
        unsigned parts = t ? tr_ty_nparts(t) : 0;
        n += parts > 2 ? parts : 2;
    }
    return n;
}

bool tr_red_describe(tr_lpat *s, const tr_val *init) {
    s->fill = UINT32_MAX;
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++) {
        const tr_ty *t = tr_pat_contribution(s->p, i);
        if (!t || !tr_red_takes(tr_pat_red(s->p, i), t))
            return false;
        describe(s, i, init[i], t);
    }
    return true;
}

void tr_red_setup(tr_lpat *s) {
    tr_lf *w = s->w;
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++) {
        tr_lred *r = &s->red[i];
        if (r->cls == TR_REDS_JOINED || (r->join && s->after)) {
            tr_join_setup(w, r->join, r->cls == TR_REDS_CARRIED);
            continue;
        }
        if (r->cls == TR_REDS_CARRIED)
            continue;
        lt e = tr_lower_elem(w->m, r->ty);
        for (unsigned k = 0; k < tr_ty_nparts(r->ty); k++) {
            r->buf[k] = tr_lower_buffer(w, TR_SUM_BLOCK * tr_lower_bytes(w->m, e), 16, "values");
            r->state[k] = r->cls == TR_REDS_PLACE ? tr_lower_arg_state(w) : tr_lower_sum_state(w, e);
        }
    }
}

void tr_red_totals(tr_lpat *s) {
    s->fill = UINT32_MAX;
    s->buffered = false;
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++) {
        s->red[i].cls = tr_pat_red_class(s->p, i, s->red[i].ty);
        s->buffered = s->buffered || s->red[i].cls != TR_REDS_CARRIED;
        tr_red_neutral(s, i);
    }
    tr_red_setup(s);
}

void tr_red_join(tr_lpat *s, unsigned i, const lv *parts) {
    assert(i < tr_pat_nred(s->p) && s->red[i].cls == TR_REDS_CARRIED);
    tr_red_combine(s, &s->red[i], &s->carry[s->red[i].carry], parts);
}

void tr_red_identity_parts(tr_lpat *s, const tr_lred *r, lv *out) {
    lt e = tr_lower_elem(s->w->m, r->ty);
    tr_number n = tr_red_start(r->kind, r->ty);
    bool fp = tr_ty_is_float(r->ty) || tr_ty_is_complex(r->ty);
    if (tr_plant(s->w->m->ctx, TR_PLANT_IDENTITY))
        n = (tr_number){.re = 1 - n.re, .i = n.i ^ 1};
    for (unsigned k = 0; k < tr_ty_nparts(r->ty); k++)
        out[k] =
            fp ? LLVMConstReal(e, k ? n.im : n.re) : l_int(r->ty->kind == TR_TY_BOOL ? s->w->m->i1 : e, n.i);
}

void tr_red_neutral(tr_lpat *s, unsigned i) {
    assert(i < tr_pat_nred(s->p));
    tr_lred *r = &s->red[i];
    r->bare = true;
    if (tr_red_info[r->kind].repeats || tr_red_info[r->kind].place || tr_red_info[r->kind].joins)
        return; /* its own initial value may come in more than once */
    tr_red_identity_parts(s, r, r->init);
}

static unsigned carry_new(tr_lpat *s, lv x) {
    assert(s->ncarry < tr_most_carried(s->p));
    s->carry[s->ncarry] = x;
    return s->ncarry++;
}

void tr_red_begin(tr_lpat *s) {
    const tr_lm *m = s->w->m;
    s->ncarry = 0;
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++) {
        tr_lred *r = &s->red[i];
        unsigned n = tr_ty_nparts(r->ty);
        r->carry = s->ncarry;
        r->total = NULL;
        if (r->cls == TR_REDS_PLACE)
            tr_lower_arg_clear(s->w, r->state[0]);
        if (r->cls == TR_REDS_JOINED)
            tr_join_clear(s->w, r->join);
        for (unsigned k = 0; k < n && r->cls == TR_REDS_CARRIED; k++)
            carry_new(s, r->init[k]);
        if (r->split) {
            carry_new(s, nan_mask(s, r, r->init[0]));
            carry_new(s, LLVMBuildBitCast(s->w->b, r->init[0], bits_type(s, r), ""));
        }
        for (unsigned k = 0; k < n && r->cls == TR_REDS_BUFFERED; k++)
            tr_lower_sum_clear(s->w, r->state[k]);
    }
    s->fill = s->buffered ? carry_new(s, l_int(m->i64, 0)) : UINT32_MAX;
}

unsigned tr_red_end(tr_lpat *s, lv *out) {
    tr_lf *w = s->w;
    unsigned n = 0;
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++) {
        const tr_lred *r = &s->red[i];
        if (r->cls == TR_REDS_PLACE) {
            bool max = r->kind == TR_RED_ARGMAX;
            out[n++] = r->total ? r->total
                                : tr_lower_arg_end(w, r->ty, max, r->state[0], r->buf[0], s->carry[s->fill]);
            continue;
        }
        if (r->cls == TR_REDS_JOINED) {
            tr_join_end(w, r->join, s->caps, s->carry[s->fill], r->init, r->bare, out + n);
            n += tr_ty_nparts(r->ty);
            continue;
        }
        for (unsigned k = 0; k < tr_ty_nparts(r->ty); k++) {
            if (r->cls == TR_REDS_CARRIED) {
                out[n++] = r->split ? split_end(s, r) : s->carry[r->carry + k];
                continue;
            }
            lv total = r->total ? r->total
                                : tr_lower_sum_end(w, tr_lower_elem(w->m, r->ty), r->state[k], r->buf[k],
                                                   s->carry[s->fill]);
            out[n++] = LLVMBuildFAdd(w->b, r->init[k], total, "");
        }
    }
    return n;
}
