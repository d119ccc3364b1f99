/* Conversions and comparisons.
 *
 * Float to integer is what C and NumPy compute on x86-64: truncation, and INT_MIN of the width the processor
 * converts to where the value does not fit or is NaN (32 bits for types up to 32 signed and up to 16
 * unsigned, 64 above; then the low bits are taken). LLVM's own conversion is poison there, so a select
 * replaces it: the result never depends on what LLVM folds or vectorises. */
#include "base/plant.h"
#include "lower/internal.h"

#include <assert.h>

/* --- comparisons --- */

static lv cmp_int(tr_lf *w, tr_cmpop p, bool is_signed, lv x, lv y) {
    assert(LLVMTypeOf(x) == LLVMTypeOf(y));
    static const LLVMIntPredicate s[TR_CMP__COUNT] = {
        [TR_CMP_LT] = LLVMIntSLT, [TR_CMP_LE] = LLVMIntSLE, [TR_CMP_EQ] = LLVMIntEQ,
        [TR_CMP_NE] = LLVMIntNE,  [TR_CMP_GT] = LLVMIntSGT, [TR_CMP_GE] = LLVMIntSGE};
    static const LLVMIntPredicate u[TR_CMP__COUNT] = {
        [TR_CMP_LT] = LLVMIntULT, [TR_CMP_LE] = LLVMIntULE, [TR_CMP_EQ] = LLVMIntEQ,
        [TR_CMP_NE] = LLVMIntNE,  [TR_CMP_GT] = LLVMIntUGT, [TR_CMP_GE] = LLVMIntUGE};
    if (p == TR_CMP_LE && is_signed && tr_plant(w->m->ctx, TR_PLANT_CMPLE))
        p = TR_CMP_LT;
    return l_icmp(w->b, (is_signed ? s : u)[p], x, y);
}

static lv cmp_float(tr_lf *w, tr_cmpop p, lv x, lv y) {
    static const LLVMRealPredicate of[TR_CMP__COUNT] = {
        [TR_CMP_LT] = LLVMRealOLT, [TR_CMP_LE] = LLVMRealOLE, [TR_CMP_EQ] = LLVMRealOEQ,
        [TR_CMP_NE] = LLVMRealUNE, [TR_CMP_GT] = LLVMRealOGT, [TR_CMP_GE] = LLVMRealOGE};
    if (p == TR_CMP_NE && tr_plant(w->m->ctx, TR_PLANT_FNE))
        return l_fcmp(w->b, LLVMRealONE, x, y);
    return tr_lower_fast(w, l_fcmp(w->b, of[p], x, y));
}

lv tr_lower_cmp(tr_lf *w, tr_cmpop p, const tr_ty *t, const lv *x, const lv *y) {
    switch (tr_ty_class(t)) {
    case 'f': return cmp_float(w, p, x[0], y[0]);
    case 'c': {
        lv re = cmp_float(w, p, x[0], y[0]), im = cmp_float(w, p, x[1], y[1]);
        return p == TR_CMP_EQ ? l_and(w->b, re, im) : l_or(w->b, re, im);
    }
    case 'i': return cmp_int(w, p, true, x[0], y[0]);
    default: return cmp_int(w, p, false, x[0], y[0]);
    }
}

/* --- conversions --- */

/* Truncation to iN as cvttsd2si: INT_MIN where it does not fit. |x| < 2^(N-1) leaves out -2^(N-1) and what
 * truncates to it, whose result is INT_MIN as well. */
static lv truncate(tr_lf *w, lv x, lt to) {
    lt ft = LLVMTypeOf(x);
    unsigned bits = LLVMGetIntTypeWidth(to);
    lv limit = LLVMConstReal(ft, bits == 32 ? 0x1p31 : 0x1p63);
    lv fits = l_fcmp(w->b, LLVMRealOLT, tr_lower_intrinsic(w, "llvm.fabs", ft, 1, &x), limit);
    lv min = l_int(to, bits == 32 ? INT32_MIN : INT64_MIN);
    return l_select(w->b, fits, LLVMBuildFPToSI(w->b, x, to, ""), min);
}

bool tr_lower_asks_fit(const tr_fn *f, tr_val v) {
    const tr_ins *c = v == TR_NOVAL ? NULL : tr_at(f, v);
    if (!c || c->op != TR_OP_CMP || c->sub != TR_CMP_GE)
        return false;
    const tr_ins *r = tr_at(f, c->args[0]), *least = tr_at(f, c->args[1]);
    return r->op == TR_OP_CONV && r->ty->kind == TR_TY_I64 && tr_ty_is_float(tr_at(f, r->args[0])->ty) &&
           least->op == TR_OP_CONST && least->imm.i == TR_FITS_LEAST;
}

/* The processor's own instruction, where what follows asks whether the number fit: LLVM's
 * poison would have to be kept from it by a comparison of floats in front. No vectors are
 * lost, a loop that may raise has none. */
static lv truncate_asked(tr_lf *w, lv x) {
    bool wide = LLVMTypeOf(x) == w->m->f64;
    const char *name = wide ? "llvm.x86.sse2.cvttsd2si64" : "llvm.x86.sse.cvttss2si64";
    lt vec = LLVMVectorType(LLVMTypeOf(x), wide ? 2 : 4);
    lv one = LLVMBuildInsertElement(w->b, LLVMGetPoison(vec), x, l_int(w->m->i32, 0), "");
    return tr_lower_intrinsic(w, name, NULL, 1, &one);
}

static lv float_to_int(tr_lf *w, lv x, const tr_ty *to) {
    assert(tr_ty_is_int(to));
    lt t = tr_lower_elem(w->m, to);
    x = tr_lower_widened(w, x); /* which can hold the limits */
    switch (to->kind) {
    case TR_TY_I64: return truncate(w, x, w->m->i64);
    case TR_TY_I32: return truncate(w, x, w->m->i32);
    case TR_TY_U32: return LLVMBuildTrunc(w->b, truncate(w, x, w->m->i64), t, "");
    case TR_TY_U64: {
        /* In two halves, as compilers do: above 2^63 the offset is taken off before and put back after. */
        lv half = LLVMConstReal(LLVMTypeOf(x), 0x1p63), zero = l_int(t, 0);
        lv big = l_fcmp(w->b, LLVMRealOGE, x, half);
        lv low = l_select(w->b, big, LLVMBuildFSub(w->b, x, half, ""), x);
        return LLVMBuildXor(w->b, truncate(w, low, t), l_select(w->b, big, l_int(t, INT64_MIN), zero), "");
    }
    default: return LLVMBuildTrunc(w->b, truncate(w, x, w->m->i32), t, "");
    }
}

static lv int_to_int(tr_lf *w, lv x, const tr_ty *from, lt to) {
    unsigned a = LLVMGetIntTypeWidth(LLVMTypeOf(x)), b = LLVMGetIntTypeWidth(to);
    if (a == b)
        return x;
    if (a > b)
        return LLVMBuildTrunc(w->b, x, to, "");
    bool sign = tr_ty_class(from) == 'i' && !tr_plant(w->m->ctx, TR_PLANT_SEXT);
    w->m->wraps = w->m->wraps || !sign;
    return sign ? LLVMBuildSExt(w->b, x, to, "") : LLVMBuildZExt(w->b, x, to, "");
}

/* Integers become float16 by way of float32, as NumPy has it. */
static lv to_float(tr_lf *w, lv x, const tr_ty *from, lt to) {
    char cls = tr_ty_class(from);
    if (to == w->m->f16 && cls != 'f' && cls != 'c')
        return LLVMBuildFPTrunc(w->b, to_float(w, x, from, w->m->f32), to, "");
    switch (cls) {
    case 'i': return LLVMBuildSIToFP(w->b, x, to, "");
    case 'f':
    case 'c':
        if (LLVMTypeOf(x) == to)
            return x;
        return to == w->m->f64 || LLVMTypeOf(x) == w->m->f16 ? LLVMBuildFPExt(w->b, x, to, "")
                                                             : LLVMBuildFPTrunc(w->b, x, to, "");
    default: return LLVMBuildUIToFP(w->b, x, to, "");
    }
}

/* x != 0; NaN counts as true. */
static lv truth(tr_lf *w, const tr_ty *from, const lv *x) {
    lt t = LLVMTypeOf(x[0]);
    switch (tr_ty_class(from)) {
    case 'b': return x[0];
    case 'f': return l_fcmp(w->b, LLVMRealUNE, x[0], LLVMConstNull(t));
    case 'c':
        return l_or(w->b, l_fcmp(w->b, LLVMRealUNE, x[0], LLVMConstNull(t)),
                    l_fcmp(w->b, LLVMRealUNE, x[1], LLVMConstNull(t)));
    default: return l_icmp(w->b, LLVMIntNE, x[0], l_int(t, 0));
    }
}

static void convert(tr_lf *w, const tr_ty *from, const tr_ty *to, const lv *x, lv *out) {
    assert(tr_ty_is_scalar(from) && tr_ty_is_scalar(to));
    char a = tr_ty_class(from), b = tr_ty_class(to);
    switch (b) {
    case 'b': out[0] = truth(w, from, x); break;
    case 'f': out[0] = to_float(w, x[0], from, tr_lower_elem(w->m, to)); break;
    case 'c':
        out[0] = to_float(w, x[0], from, tr_lower_elem(w->m, to));
        out[1] = a == 'c' ? to_float(w, x[1], from, tr_lower_elem(w->m, to))
                          : LLVMConstNull(tr_lower_elem(w->m, to));
        break;
    default:
        out[0] = a == 'f' || a == 'c' ? float_to_int(w, x[0], to)
                                      : int_to_int(w, x[0], from, tr_lower_elem(w->m, to));
    }
}

void tr_lower_conv(tr_lf *w, tr_val v, const tr_ins *in) {
    const tr_fn *f = w->body->f;
    const lv *x = tr_lower_parts(w, in->args[0]);
    lv out[2];
    if (!tr_lower_is_flat(w->m) && tr_lower_asks_fit(f, in->next) && tr_at(f, in->next)->args[0] == v)
        out[0] = truncate_asked(w, tr_lower_widened(w, x[0]));
    else
        convert(w, tr_lower_ty(w, in->args[0]), in->ty, x, out);
    tr_lower_set(w, v, tr_ty_nparts(in->ty), out);
}

/* The same bits under another type of the same size; a bool is its byte. */
void tr_lower_bitcast(tr_lf *w, tr_val v, const tr_ins *in) {
    assert(in->nargs == 1);
    const tr_ty *from = tr_lower_ty(w, in->args[0]), *to = in->ty;
    const lv *x = tr_lower_parts(w, in->args[0]);
    if (tr_ty_is_complex(from) == tr_ty_is_complex(to) && tr_ty_size(from) == tr_ty_size(to)) {
        lv out[2];
        for (unsigned i = 0; i < tr_ty_nparts(to); i++) {
            out[i] = from->kind == TR_TY_BOOL ? LLVMBuildZExt(w->b, x[i], w->m->i8, "") : x[i];
            out[i] = LLVMBuildBitCast(w->b, out[i], tr_lower_elem(w->m, to), "");
            if (to->kind == TR_TY_BOOL)
                out[i] = l_icmp(w->b, LLVMIntNE, out[i], l_int(w->m->i8, 0));
        }
        tr_lower_set(w, v, tr_ty_nparts(to), out);
        return;
    }
    tr_lower_error(w, v, "'bitcast' cannot be compiled from %s to %s", tr_ty_user(&w->m->ctx->arena, from),
                   tr_ty_user(&w->m->ctx->arena, to));
    tr_lower_set(w, v, 2, (lv[]){LLVMGetUndef(w->m->i64), LLVMGetUndef(w->m->i64)});
}
