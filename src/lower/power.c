/* Powers of floats by numbers that are known: products, reciprocals and roots, which loops compute many at a
 * time and a few instructions each. pow() takes forty.
 *
 * Each is within 4 ULP, as docs/semantics.md has it. A rounding costs up to one ULP, and the error of what
 * is squared doubles: n - 1 for x ** n. So from 7 on the powers that are squared are made with what
 * roundings before them lost. 1 / x ** 2 would be 0 where the result is denormal, the square of the
 * reciprocal is not. x ** 0.5 differs from the root in two places: pow(-0.0, 0.5) is 0.0, and pow(-inf,
 * 0.5) inf. x ** 31 would be five roundings.
 *
 * Powers by an integer that only the running program knows look at it: from 0 to 7 they are the same products
 * (7: 6 ULP), from -1 to -3 products of the reciprocal, and others pow()'s. Where it is one for all rounds of
 * a loop, LLVM makes a loop for each of these (TR_REC_POWERS), so that vectors have no more to do.
 *
 * Powers of an integer that is known are looked up: of an even one, no more than 64 are not 0. */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lower/internal.h"

static const double lowest = -2, plain = 6, highest = 30;
enum { most_roundings = 4 };
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

/* `right` is nearer to the exact power than r, but for infinities; and of zeros r has the sign. */
static lv corrected(tr_lf *w, lv r, lv right) {
    lt t = LLVMTypeOf(r);
    lv size = tr_lower_intrinsic(w, "llvm.fabs", t, 1, &right);
    lv is = l_fcmp(w->b, LLVMRealOLT, size, LLVMConstReal(t, INFINITY));
    return l_select(w->b, is, tr_lower_intrinsic(w, "llvm.copysign", t, 2, (lv[]){right, r}), r);
}

/* x ** 2, and no more than what still has an infinite n-th power; nan where x is. */
static lv square(tr_lf *w, lv x, unsigned n) {
    lt t = LLVMTypeOf(x);
    lv r = LLVMBuildFMul(w->b, x, x, "");
    lv most = LLVMConstReal(t, exp2(2 * ((t == w->m->f64 ? DBL_MAX_EXP : FLT_MAX_EXP) + 0.5) / n));
    return LLVMBuildSelect(w->b, LLVMBuildFCmp(w->b, LLVMRealOGT, r, most, ""), most, r, "");
}

/* x ** n for n from 7 on. What the roundings of a power that is squared have lost stands beside it (Dekker's
 * products, by fused operations), so the greatest has one rounding, and each step from there to x ** n one,
 * or one more where it leaves out what is beside the smaller factor. Above the limit of the square no product
 * but the last is infinite, and all that is lost is positive: so nothing is infinity less infinity. */
static lv by_exact_squares(tr_lf *w, lv x, unsigned n) {
    LLVMBuilderRef b = w->b;
    lv power[5], lost[5]; /* of x ** 2 ** k */
    unsigned top = 1, roundings = 1;
    for (unsigned k = 1; 2u << k <= n; k++) {
        top = k + 1;
        roundings += n >> (k - 1) & 1;
    }
    /* where a product of the last square, three roundings, leaves room for the rest */
    unsigned rest = n - (1u << top);
    bool twice = top > 2 && n != 8 && roundings <= 2 && rest < 1u << (top - 1);
    roundings += 2u * twice;
    unsigned greatest = top - twice;
    power[1] = square(w, x, n);
    lost[1] = fused(w, x, x, LLVMBuildFNeg(b, power[1], ""));
    for (unsigned k = 2; k <= greatest; k++) {
        lv p = power[k - 1], more = lost[k - 1], doubled = LLVMBuildFAdd(b, p, p, "");
        if (k < greatest) {
            power[k] = LLVMBuildFMul(b, p, p, "");
            lost[k] = fused(w, doubled, more, fused(w, p, p, LLVMBuildFNeg(b, power[k], "")));
        } else {
            power[k] = fused(w, p, p, LLVMBuildFMul(b, doubled, more, ""));
        }
    }
    lv r = power[greatest];
    if (twice)
        r = times(w, r, r);
    for (unsigned k = greatest - 1; k > 1; k--)
        if (n >> k & 1)
            r = fused(w, r, power[k], LLVMBuildFMul(b, r, lost[k], ""));
    if (n & 2)
        r = roundings < most_roundings ? LLVMBuildFMul(b, r, power[1], "")
                                       : fused(w, r, power[1], LLVMBuildFMul(b, r, lost[1], ""));
    return n & 1 ? times(w, r, x) : r;
}

/* x ** n from x, its square, and so on. */
static lv by_squaring(tr_lf *w, lv x, unsigned n) {
    lv r = NULL;
    for (unsigned bit = 1; bit <= n; bit *= 2) {
        if (bit > 1)
            x = times(w, x, x);
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

/* x ** n for a number n from 0 to `most` that the running program knows: the products that by_squaring()
 * makes of a known one, those that are not needed times 1. */
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

/* x ** -m, m from 1 to 3 (a longer way LLVM would not take out of a loop): the power of the reciprocal, put
 * right by what the reciprocal's rounding lost, m times; so it is m roundings. */
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
    return n > plain ? by_exact_squares(w, x, (unsigned)n) : by_squaring(w, x, (unsigned)fabs(n));
}

/* --- of integers --- */

enum { N_POWERS = 64 };

/* Where they lie. */
static lv table_of(tr_lf *w, lt t, uint64_t base) {
    tr_lm *m = w->m;
    char *name = tr_arena_printf(&m->ctx->arena, "tr_powers_%" PRIx64 "_%u", base, LLVMGetIntTypeWidth(t));
    lv g = LLVMGetNamedGlobal(m->mod, name), x[N_POWERS];
    if (g)
        return g;
    uint64_t r = 1;
    for (unsigned k = 0; k < N_POWERS; k++, r *= base)
        x[k] = LLVMConstInt(t, r, 0);
    g = LLVMAddGlobal(m->mod, LLVMArrayType2(t, N_POWERS), name);
    LLVMSetInitializer(g, LLVMConstArray2(t, x, N_POWERS));
    LLVMSetGlobalConstant(g, 1);
    LLVMSetLinkage(g, LLVMInternalLinkage);
    LLVMSetUnnamedAddress(g, LLVMGlobalUnnamedAddr);
    return g;
}

lv tr_lower_power_of(tr_lf *w, lv x, lv n, tr_rest rest, void *self) {
    LLVMBuilderRef b = w->b;
    lt t = LLVMTypeOf(x);
    if (!LLVMIsAConstantInt(x) || tr_lower_is_flat(w->m))
        return rest(w, self);
    uint64_t base = LLVMConstIntGetZExtValue(x);
    lv few = l_icmp(b, LLVMIntULT, n, l_int(t, N_POWERS));
    lv at = LLVMBuildIntCast2(b, l_and(b, n, l_int(t, N_POWERS - 1)), w->m->i64, false, "");
    lv r[2], place = LLVMBuildGEP2(b, t, table_of(w, t, base), &at, 1, "");
    r[0] = LLVMBuildLoad2(b, t, place, "");
    if (base % 2 == 0)
        return l_select(b, few, r[0], l_int(t, 0));
    lb from[2] = {LLVMGetInsertBlock(b), tr_lower_block(w, "more")}, end = tr_lower_block(w, "power");
    LLVMBuildCondBr(b, few, end, from[1]);
    LLVMPositionBuilderAtEnd(b, from[1]);
    r[1] = rest(w, self);
    from[1] = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, end);
    return join(w, end, r, from, 2);
}
