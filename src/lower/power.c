/* Powers of floats by numbers that are known: products, reciprocals and roots, which loops compute many at a time and a few instructions each. pow() takes forty.
 *
 * Each is within 4 ULP, as docs/semantics.md has it. A rounding costs up to one ULP, and the error of what is squared doubles: n - 1 for x ** n. So from 7 on the fourth
 * power and the eighth are made with what roundings before them lost (Dekker's products, by fused operations), and are within one ULP themselves; what is left for
 * 14 and 15 would be too much. 1 / x ** 2 would be 0 where the result is denormal, the square of the reciprocal is not. x ** 0.5 differs from
 * the root in two places: pow(-0.0, 0.5) is 0.0, and pow(-inf, 0.5) inf. */
#include <math.h>
#include <string.h>

#include "lower/internal.h"

static const double lowest = -2, plain = 6, highest = 16;

bool tr_lower_is_power(double n) {
    return n == 0.5 || (n == floor(n) && n >= lowest && n <= highest && n != 14 && n != 15);
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
    return by_squaring(w, x, (unsigned)fabs(n), n > plain);
}
