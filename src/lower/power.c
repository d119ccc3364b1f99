/* Powers of floats by numbers that are known: products, reciprocals and roots, which loops compute many at a time and a few instructions each. pow() takes forty.
 *
 * Each is within 4 ULP, as docs/semantics.md has it. A rounding costs up to one ULP, and the error of what is squared doubles: n - 1 for x ** n. So from 7 on the fourth
 * power and the eighth are made with what roundings before them lost (Dekker's products, by fused operations), and are within one ULP themselves; for 14 and 15 so are
 * the second power and the third. 1 / x ** 2 would be 0 where the result is denormal, the square of the reciprocal is not. x ** 0.5 differs from
 * the root in two places: pow(-0.0, 0.5) is 0.0, and pow(-inf, 0.5) inf.
 *
 * Powers by an integer that only the running program knows look at it: from 0 to 7 they are the same products (7: 6 ULP), from -1 to -3 products of the reciprocal, and others
 * pow()'s. Where it is one for all rounds of a loop, LLVM makes a loop for each of these (TR_REC_POWERS), so that vectors have no more to do. */
#include <math.h>
#include <string.h>

#include "lower/internal.h"

static const double lowest = -2, plain = 6, highest = 16;
enum { whole_lowest = 3, whole_highest = 7 }; /* of n that the running program knows */

bool tr_lower_is_power(double n) {
    return n == 0.5 || (n == floor(n) && n >= lowest && n <= highest);
}

static lv times(tr_lf *w, lv x, lv y) {
    return tr_lower_fast(w, LLVMBuildFMul(w->b, x, y, ""));
}

static lv fused(tr_lf *w, lv x, lv y, lv z) {
    return tr_lower_intrinsic(w, "llvm.fma", LLVMTypeOf(x), 3, (lv[]){x, y, z});
}

/* v, or 0 if it is infinite or nan: the power is infinite then, or nan by itself. */
static lv if_finite(tr_lf *w, lv v) {
    lt t = LLVMTypeOf(v);
    lv size = tr_lower_intrinsic(w, "llvm.fabs", t, 1, &v);
    lv is = LLVMBuildFCmp(w->b, LLVMRealOLT, size, LLVMConstReal(t, INFINITY), "");
    return LLVMBuildSelect(w->b, is, v, LLVMConstReal(t, 0.0), "");
}

/* `right` is nearer to the exact power than r, but for infinities; and of zeros r has the sign. */
static lv corrected(tr_lf *w, lv r, lv right) {
    lt t = LLVMTypeOf(r);
    lv size = tr_lower_intrinsic(w, "llvm.fabs", t, 1, &right);
    lv is = l_fcmp(w->b, LLVMRealOLT, size, LLVMConstReal(t, INFINITY));
    return l_select(w->b, is, tr_lower_intrinsic(w, "llvm.copysign", t, 2, (lv[]){right, r}), r);
}

/* The fourth power of x and the eighth. */
static void fourth_and_eighth(tr_lf *w, lv x, lv *out) {
    LLVMBuilderRef b = w->b;
    lv two = LLVMBuildFMul(b, x, x, ""), lost = fused(w, x, x, LLVMBuildFNeg(b, two, ""));
    lv four = LLVMBuildFMul(b, two, two, ""), more = fused(w, two, two, LLVMBuildFNeg(b, four, ""));
    more = if_finite(w, fused(w, LLVMBuildFAdd(b, two, two, ""), lost, more));
    lv twice = LLVMBuildFMul(b, LLVMBuildFAdd(b, four, four, ""), more, "");
    out[0] = LLVMBuildFAdd(b, four, more, "");
    out[1] = fused(w, four, four, if_finite(w, twice));
}

/* x ** 14 and x ** 15, from the twelfth power. */
static lv above_twelve(tr_lf *w, lv x, unsigned n) {
    LLVMBuilderRef b = w->b;
    lv high[2], low = LLVMBuildFMul(b, x, x, ""), lost = fused(w, x, x, LLVMBuildFNeg(b, low, ""));
    fourth_and_eighth(w, x, high);
    if (n == 15) {
        lv cube = LLVMBuildFMul(b, low, x, "");
        lost = fused(w, lost, x, fused(w, low, x, LLVMBuildFNeg(b, cube, "")));
        low = cube;
    }
    lv twelfth = LLVMBuildFMul(b, high[0], high[1], ""), r = LLVMBuildFMul(b, twelfth, low, "");
    lv right = fused(w, twelfth, low, LLVMBuildFMul(b, twelfth, lost, ""));
    return corrected(w, r, right);
}

/* x ** n from x, its square, and so on. */
static lv by_squaring(tr_lf *w, lv x, unsigned n, bool exact) {
    lv r = NULL, high[2] = {NULL, NULL};
    if (exact)
        fourth_and_eighth(w, x, high);
    for (unsigned bit = 1; bit <= n; bit *= 2) {
        if (bit > 1)
            x = bit == 4 && exact ? high[0] : bit == 8 && exact ? high[1] : times(w, x, x);
        if (n & bit)
            r = r ? times(w, x, r) : x;
    }
    return r;
}

static lv root(tr_lf *w, lv x) {
    lt t = LLVMTypeOf(x);
    lv r = tr_lower_intrinsic(w, "llvm.sqrt", t, 1, &x);
    r = tr_lower_fast(w, LLVMBuildFAdd(w->b, tr_lower_fast(w, r), LLVMConstReal(t, 0.0), ""));
    lv below = tr_lower_fast(w, LLVMBuildFCmp(w->b, LLVMRealOEQ, x, LLVMConstReal(t, -INFINITY), ""));
    return LLVMBuildSelect(w->b, below, LLVMConstReal(t, INFINITY), r, "");
}

/* x ** n for a number n from 0 to `most` that the running program knows: the products that by_squaring() makes of a known one, those that are not needed times 1. */
static lv some_product(tr_lf *w, lv x, lv n, unsigned most) {
    LLVMBuilderRef b = w->b;
    lt t = LLVMTypeOf(x), whole = LLVMTypeOf(n);
    lv r = NULL;
    for (unsigned bit = 1; bit <= most; bit *= 2) {
        lv has = l_icmp(b, LLVMIntNE, l_and(b, n, l_int(whole, (int64_t)bit)), l_int(whole, 0));
        if (bit > 1)
            x = times(w, x, x);
        r = l_select(b, has, r ? times(w, x, r) : x, r ? r : LLVMConstReal(t, 1.0));
    }
    return r;
}

/* x ** -m, m from 1 to 3 (a longer way LLVM would not take out of a loop): the power of the reciprocal, put right by what the reciprocal's rounding lost, m times; so it is m roundings. */
static lv some_reciprocal(tr_lf *w, lv x, lv m) {
    LLVMBuilderRef b = w->b;
    lt t = LLVMTypeOf(x);
    lv one = LLVMConstReal(t, 1.0), by = LLVMBuildFDiv(b, one, x, "");
    lv lost = fused(w, LLVMBuildFNeg(b, by, ""), x, one), r = some_product(w, by, m, whole_lowest);
    lv right = fused(w, r, LLVMBuildFMul(b, lost, LLVMBuildUIToFP(b, m, t, ""), ""), r);
    return corrected(w, r, right);
}

static lv join(tr_lf *w, lb to, const lv *x, const lb *from, unsigned n) {
    LLVMPositionBuilderAtEnd(w->b, to);
    lv r = LLVMBuildPhi(w->b, LLVMTypeOf(x[0]), "");
    LLVMAddIncoming(r, (lv *)x, (lb *)from, n);
    return r;
}

/* -1.0 to n. What a float rounds is even. */
static lv sign_of(tr_lf *w, lt t, lv n, bool is_signed) {
    LLVMBuilderRef b = w->b;
    lv wide = LLVMBuildIntCast2(b, n, w->m->i64, is_signed, "");
    int64_t limit = INT64_C(1) << (t == w->m->f64 ? 53 : 24), below = is_signed ? limit : 0;
    lv odd = l_icmp(b, LLVMIntNE, l_and(b, wide, l_int(w->m->i64, 1)), l_int(w->m->i64, 0));
    lv from = l_add(b, wide, l_int(w->m->i64, below));
    lv exact = l_icmp(b, LLVMIntULE, from, l_int(w->m->i64, below + limit));
    return l_select(b, l_and(b, odd, exact), LLVMConstReal(t, -1.0), LLVMConstReal(t, 1.0));
}

lv tr_lower_whole_power(tr_lf *w, lv x, lv n, bool is_signed, tr_rest rest, void *self) {
    LLVMBuilderRef b = w->b;
    lt whole = LLVMTypeOf(n);
    lv r[3];
    LLVMBool inexact;
    if (LLVMIsAConstantFP(x) && LLVMConstRealGetDouble(x, &inexact) == -1)
        return sign_of(w, LLVMTypeOf(x), n, is_signed);
    lb from[3], few = tr_lower_block(w, "few"), more = tr_lower_block(w, "more"),
                end = tr_lower_block(w, "power");
    unsigned ways = 0;
    w->m->powers = true;
    LLVMBuildCondBr(b, l_icmp(b, LLVMIntULE, n, l_int(whole, whole_highest)), few, more);
    LLVMPositionBuilderAtEnd(b, few);
    r[ways] = some_product(w, x, n, whole_highest);
    from[ways++] = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, end);
    LLVMPositionBuilderAtEnd(b, more);
    if (is_signed && strstr(w->m->want->features, "+fma")) {
        lb below = tr_lower_block(w, "below"), other = tr_lower_block(w, "other");
        lv m = LLVMBuildNeg(b, n, "");
        LLVMBuildCondBr(b, l_icmp(b, LLVMIntULE, m, l_int(whole, whole_lowest)), below, other);
        LLVMPositionBuilderAtEnd(b, below);
        r[ways] = some_reciprocal(w, x, m);
        from[ways++] = LLVMGetInsertBlock(b);
        LLVMBuildBr(b, end);
        LLVMPositionBuilderAtEnd(b, other);
    }
    r[ways] = rest(w, self);
    from[ways++] = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, end);
    return join(w, end, r, from, ways);
}

lv tr_lower_power(tr_lf *w, lv x, double n) {
    lt t = LLVMTypeOf(x);
    if (n == 2)
        return times(w, x, x);
    if (w->m->want->target->math != TR_MATH_HOST || !tr_lower_is_power(n) ||
        (n > plain && !strstr(w->m->want->features, "+fma")))
        return NULL;
    if (n == 0.5)
        return root(w, x);
    if (n == 0)
        return LLVMConstReal(t, 1.0);
    if (n < 0)
        x = tr_lower_fast(w, LLVMBuildFDiv(w->b, LLVMConstReal(t, 1.0), x, ""));
    return n == 14 || n == 15 ? above_twelve(w, x, (unsigned)n)
                              : by_squaring(w, x, (unsigned)fabs(n), n > plain);
}
