/* Arithmetic on scalars: exactly op.def's meaning, whatever LLVM leaves undefined.
 *
 * Integers wrap; F_NSW alone lets LLVM assume they do not. A division never traps: the divisor is replaced by
 * 1 where it is 0 or where INT_MIN / -1 would overflow, and the result is put right by a select. LLVM drops
 * each of these where it knows the divisor. Shifts by too much are undefined in LLVM, but a select that does
 * not choose them hides them. Floats: no fast-math flag but those of the instruction; nothing is
 * contracted. */
#include <assert.h>

#include "base/plant.h"
#include "lower/internal.h"

unsigned tr_lower_fmf(uint8_t fast) {
    assert((fast & ~TR_FM_ALL) == 0);
    static const unsigned to[7] = {LLVMFastMathNoNaNs,        LLVMFastMathNoInfs,
                                   LLVMFastMathNoSignedZeros, LLVMFastMathAllowReciprocal,
                                   LLVMFastMathAllowContract, LLVMFastMathApproxFunc,
                                   LLVMFastMathAllowReassoc};
    unsigned r = 0;
    for (unsigned i = 0; i < 7; i++)
        if (fast & (1u << i))
            r |= to[i];
    return r;
}

static lv fbin(tr_lf *w, LLVMOpcode op, lv x, lv y) {
    return tr_lower_fast(w, LLVMBuildBinOp(w->b, op, x, y, ""));
}

/* --- integer division --- */

typedef struct divisor {
    lv safe;            /* never 0; signed: never -1 either */
    lv zero, minus_one; /* conditions; NULL when known to be false */
    bool constant;
    long long value;
} divisor;

static divisor guard(tr_lf *w, lv y, bool is_signed) {
    lt t = LLVMTypeOf(y);
    divisor d = {.safe = y};
    if (LLVMIsAConstantInt(y)) {
        d.constant = true;
        d.value = LLVMConstIntGetSExtValue(y);
        if (d.value != 0 && !(is_signed && d.value == -1))
            return d;
    }
    lv one = l_int(t, 1);
    d.zero = l_icmp(w->b, LLVMIntEQ, y, l_int(t, 0));
    d.safe = l_select(w->b, d.zero, one, y);
    if (is_signed) {
        d.minus_one = l_icmp(w->b, LLVMIntEQ, y, l_int(t, -1));
        d.safe = l_select(w->b, d.minus_one, one, d.safe);
    }
    return d;
}

/* The quotient computed with d.safe made into that of the real divisor. */
static lv mend(tr_lf *w, const divisor *d, lv x, lv q) {
    if (d->minus_one)
        q = l_select(w->b, d->minus_one, LLVMBuildNeg(w->b, x, ""), q);
    if (d->zero)
        q = l_select(w->b, d->zero, l_int(LLVMTypeOf(x), 0), q);
    return q;
}

static bool power_of_two(const divisor *d, unsigned *log2) {
    if (!d->constant || d->value <= 0 || (d->value & (d->value - 1)))
        return false;
    *log2 = (unsigned)__builtin_ctzll((unsigned long long)d->value);
    return true;
}

/* remainder != 0 and its sign is not the divisor's: the truncated result is off by one divisor. */
static lv needs_fix(tr_lf *w, lv r, lv y) {
    lv zero = l_int(LLVMTypeOf(r), 0);
    lv differ = l_icmp(w->b, LLVMIntSLT, LLVMBuildXor(w->b, r, y, ""), zero);
    return l_and(w->b, l_icmp(w->b, LLVMIntNE, r, zero), differ);
}

/* --- 64-bit quotients by a constant, in vectors ---
 *
 * A quotient is the upper half of a product with 2^k / divisor, rounded up (Granlund and Montgomery 1994).
 * LLVM computes that too, but no vector instruction gives the upper half of 64 bits, so it makes no vectors
 * of a loop with such a division. Here it is four products of halves, which all processors have; one after
 * the other they take as long as the single product and what mends it. */

static bool is_array_expression(const tr_lf *w) {
    return w->body->outer && w->body->f->rpo.n == 1 && w->m->want->target->form == TR_FORM_ELF;
}

/* The upper 64 bits of u * m. */
static lv upper_half(tr_lf *w, lv u, uint64_t m) {
    lt t = w->m->i64;
    lv half = l_int(t, 32), low = LLVMConstInt(t, 0xffffffff, 0), ml = LLVMConstInt(t, m & 0xffffffff, 0),
       mh = LLVMConstInt(t, m >> 32, 0);
    lv ul = l_and(w->b, u, low), uh = LLVMBuildLShr(w->b, u, half, "");
    lv p = LLVMBuildLShr(w->b, l_mul(w->b, ul, ml), half, "");
    lv q = l_add(w->b, l_mul(w->b, ul, mh), p);
    lv r = l_add(w->b, l_mul(w->b, uh, ml), l_and(w->b, q, low));
    lv both = l_add(w->b, LLVMBuildLShr(w->b, q, half, ""), LLVMBuildLShr(w->b, r, half, ""));
    return l_add(w->b, l_mul(w->b, uh, mh), both);
}

/* n: the least for which 2^n is not below d. */
static unsigned bits_above(uint64_t d) {
    return d < 2 ? 0 : 64 - (unsigned)__builtin_clzll(d - 1);
}

/* x / d; d is no power of two. */
static lv quotient_of_unsigned(tr_lf *w, lv x, uint64_t d) {
    unsigned n = bits_above(d);
    unsigned __int128 over = n == 64 ? -(unsigned __int128)d & UINT64_MAX : ((unsigned __int128)1 << n) - d;
    lv t = upper_half(w, x, (uint64_t)((over << 64) / d + 1));
    lv rest = LLVMBuildLShr(w->b, l_sub(w->b, x, t), l_int(w->m->i64, 1), "");
    return LLVMBuildLShr(w->b, l_add(w->b, t, rest), l_int(w->m->i64, n - 1), "");
}

/* floor(x / d), d from 2 to 2^63 - 1: below 0 that is ~(~x / d), so 63 bits are divided. */
static lv quotient_of_signed(tr_lf *w, lv x, uint64_t d) {
    lt t = w->m->i64;
    unsigned n = bits_above(d);
    if (!(d & (d - 1)))
        return LLVMBuildAShr(w->b, x, l_int(t, n), "");
    lv sign = LLVMBuildAShr(w->b, x, l_int(t, 63), "");
    uint64_t m = (uint64_t)(((unsigned __int128)1 << (63 + n)) / d + 1);
    lv q = upper_half(w, LLVMBuildXor(w->b, x, sign, ""), m);
    return LLVMBuildXor(w->b, LLVMBuildLShr(w->b, q, l_int(t, n - 1), ""), sign, "");
}

/* floor(x / -d): of -x = ~x + 1, whose quotient is one more than that of ~x where d divides it. */
static lv quotient_by_negative(tr_lf *w, lv x, uint64_t d) {
    lt t = w->m->i64;
    lv y = LLVMBuildNot(w->b, x, ""), q = quotient_of_signed(w, y, d);
    lv rest = l_sub(w->b, y, l_mul(w->b, q, LLVMConstInt(t, d, 0)));
    lv more = l_icmp(w->b, LLVMIntEQ, rest, LLVMConstInt(t, d - 1, 0));
    return l_add(w->b, q, LLVMBuildZExt(w->b, more, t, ""));
}

/* NULL: the division is none of these. */
static lv quotient_in_vectors(tr_lf *w, bool is_signed, lv x, const divisor *d) {
    uint64_t v = (uint64_t)d->value;
    if (!d->constant || LLVMTypeOf(x) != w->m->i64 || !is_array_expression(w))
        return NULL;
    if (!is_signed)
        return v & (v - 1) ? quotient_of_unsigned(w, x, v) : NULL;
    if (d->value >= 2)
        return quotient_of_signed(w, x, v);
    return d->value <= -2 && d->value != INT64_MIN ? quotient_by_negative(w, x, -v) : NULL;
}

static lv floordiv_int(tr_lf *w, bool is_signed, lv x, lv y) {
    lt t = LLVMTypeOf(x);
    divisor d = guard(w, y, is_signed);
    unsigned k;
    lv known = quotient_in_vectors(w, is_signed, x, &d);
    if (known && !tr_plant(w->m->ctx, TR_PLANT_FLOORDIV) && !tr_plant(w->m->ctx, TR_PLANT_UDIV))
        return known;
    if (is_signed && power_of_two(&d, &k))
        return LLVMBuildAShr(w->b, x, l_int(t, k), "");
    if (!is_signed) {
        bool wrong = tr_plant(w->m->ctx, TR_PLANT_UDIV);
        return mend(w, &d, x,
                    wrong ? LLVMBuildSDiv(w->b, x, d.safe, "") : LLVMBuildUDiv(w->b, x, d.safe, ""));
    }
    lv q = LLVMBuildSDiv(w->b, x, d.safe, "");
    if (!tr_plant(w->m->ctx, TR_PLANT_FLOORDIV)) {
        lv r = l_sub(w->b, x, l_mul(w->b, q, d.safe));
        q = l_sub(w->b, q, LLVMBuildZExt(w->b, needs_fix(w, r, d.safe), t, ""));
    }
    return mend(w, &d, x, q);
}

/* With the divisor replaced by 1 a remainder is 0, which is what op.def wants for 0 and what -1 gives:
 * nothing to mend. */
static lv floormod_int(tr_lf *w, bool is_signed, lv x, lv y) {
    divisor d = guard(w, y, is_signed);
    unsigned k;
    if (is_signed && power_of_two(&d, &k))
        return l_and(w->b, x, l_int(LLVMTypeOf(x), d.value - 1));
    lv q = quotient_in_vectors(w, is_signed, x, &d);
    if (q)
        return l_sub(w->b, x, l_mul(w->b, q, y));
    if (!is_signed)
        return LLVMBuildURem(w->b, x, d.safe, "");
    lv r = LLVMBuildSRem(w->b, x, d.safe, "");
    return l_select(w->b, needs_fix(w, r, d.safe), l_add(w->b, r, d.safe), r);
}

static lv rem_int(tr_lf *w, bool is_signed, lv x, lv y) {
    divisor d = guard(w, y, is_signed);
    return is_signed ? LLVMBuildSRem(w->b, x, d.safe, "") : LLVMBuildURem(w->b, x, d.safe, "");
}

static lv quot_int(tr_lf *w, bool is_signed, lv x, lv y) {
    divisor d = guard(w, y, is_signed);
    lv q = is_signed ? LLVMBuildSDiv(w->b, x, d.safe, "") : LLVMBuildUDiv(w->b, x, d.safe, "");
    return mend(w, &d, x, q);
}

/* --- shifts, powers, signs --- */

/* A value that is written as q 2^k + r, r < 2^k: the index of rounds that are written one after the other
 * (unroll.c). Without its last bits it is the same value in all of them, before LLVM's passes go through each
 * round by itself and write it differently. */
typedef struct parted {
    lv q;
    unsigned k;
    uint64_t r;
} parted;

static bool is_small(lv x, uint64_t *n) {
    if (!LLVMIsAConstantInt(x) || LLVMGetIntTypeWidth(LLVMTypeOf(x)) > 64)
        return false;
    *n = LLVMConstIntGetZExtValue(x);
    return true;
}

static bool is_parted(lv x, parted *p) {
    uint64_t n;
    if (!LLVMIsAInstruction(x) ||
        (LLVMGetInstructionOpcode(x) != LLVMAdd && LLVMGetInstructionOpcode(x) != LLVMMul))
        return false;
    unsigned number = is_small(LLVMGetOperand(x, 0), &n) ? 0 : 1;
    lv other = LLVMGetOperand(x, 1 - number);
    if (!is_small(LLVMGetOperand(x, number), &n))
        return false;
    if (LLVMGetInstructionOpcode(x) == LLVMAdd) {
        if (!is_parted(other, p) || n >= (UINT64_C(1) << p->k) - p->r)
            return false;
        p->r += n;
        return true;
    }
    if (n == 1)
        return is_parted(other, p);
    *p = (parted){.q = other, .k = (unsigned)__builtin_ctzll(n | UINT64_C(1) << 63)};
    return n == UINT64_C(1) << p->k && p->k < 8 && LLVMGetNUW(x);
}

/* x >> n, of an unsigned one; NULL: as any other. */
static lv shifted_index(tr_lf *w, lv x, lv by) {
    parted p;
    uint64_t n;
    if (!is_small(by, &n) || !n || !is_parted(x, &p) || n > p.k)
        return NULL;
    if (n == p.k)
        return p.q;
    lt t = LLVMTypeOf(x);
    lv r = LLVMBuildNUWMul(w->b, p.q, LLVMConstInt(t, UINT64_C(1) << (p.k - n), 0), "");
    return LLVMBuildNUWAdd(w->b, r, LLVMConstInt(t, p.r >> n, 0), "");
}

/* x & mask, of its last bits. */
static lv masked_index(lv x, lv mask) {
    parted p;
    uint64_t n;
    if (!is_small(mask, &n) || !is_parted(x, &p) || n >> p.k)
        return NULL;
    return LLVMConstInt(LLVMTypeOf(x), p.r & n, 0);
}

static lv shift(tr_lf *w, tr_op op, bool is_signed, lv x, lv n) {
    lt t = LLVMTypeOf(x);
    unsigned width = LLVMGetIntTypeWidth(t);
    lv part = op == TR_OP_SHR && !is_signed ? shifted_index(w, x, n) : NULL;
    if (part)
        return part;
    bool known = LLVMIsAConstantInt(n) && LLVMConstIntGetZExtValue(n) < width;
    lv fits = known ? NULL : l_icmp(w->b, LLVMIntULT, n, l_int(t, width));
    if (op == TR_OP_SHR && is_signed && !tr_plant(w->m->ctx, TR_PLANT_SHR))
        return LLVMBuildAShr(w->b, x, known ? n : l_select(w->b, fits, n, l_int(t, width - 1)), "");
    lv r = op == TR_OP_SHL ? LLVMBuildShl(w->b, x, n, "") : LLVMBuildLShr(w->b, x, n, "");
    return known ? r : l_select(w->b, fits, r, l_int(t, 0));
}

typedef struct {
    const tr_ty *ty;
    lv x, e;
} int_power;

/* Widened to 64 bits, where the runtime squares and multiplies; the low bits are the narrow type's. A u64
 * exponent may look negative there, so it is halved: x ** e = (x ** (e / 2)) ** 2 * (x if e is odd). */
static lv any_int_power(tr_lf *w, void *self) {
    const int_power *p = self;
    lv x = p->x, e = p->e;
    lt t = LLVMTypeOf(x), i64 = w->m->i64;
    bool is_signed = tr_ty_class(p->ty) == 'i', wide = p->ty->kind == TR_TY_U64;
    lv a[2] = {
        is_signed ? LLVMBuildSExtOrBitCast(w->b, x, i64, "") : LLVMBuildZExtOrBitCast(w->b, x, i64, ""),
        is_signed ? LLVMBuildSExtOrBitCast(w->b, e, i64, "") : LLVMBuildZExtOrBitCast(w->b, e, i64, "")};
    lv odd = NULL, r;
    if (wide) {
        odd = l_icmp(w->b, LLVMIntNE, l_and(w->b, e, l_int(t, 1)), l_int(t, 0));
        a[1] = LLVMBuildLShr(w->b, a[1], l_int(t, 1), "");
    }
    tr_lower_rt(w, TR_RT_IPOW, 2, a, NULL, &r);
    if (wide)
        r = l_mul(w->b, l_mul(w->b, r, r), l_select(w->b, odd, x, l_int(t, 1)));
    return LLVMBuildTruncOrBitCast(w->b, r, t, "");
}

static lv abs_scalar(tr_lf *w, const tr_ty *t, const lv *x) {
    switch (tr_ty_class(t)) {
    case 'i': {
        lv neg = l_icmp(w->b, LLVMIntSLT, x[0], l_int(LLVMTypeOf(x[0]), 0));
        return l_select(w->b, neg, LLVMBuildNeg(w->b, x[0], ""), x[0]);
    }
    case 'f': return tr_lower_fast(w, tr_lower_intrinsic(w, "llvm.fabs", LLVMTypeOf(x[0]), 1, x));
    default: return x[0]; /* unsigned */
    }
}

/* --- floats --- */

static lv real(lv like, double x) {
    return LLVMConstReal(LLVMTypeOf(like), x);
}

static lv copysign_of(tr_lf *w, double x, lv sign) {
    return tr_lower_real_math(w, TR_MATH_COPYSIGN, (lv[]){real(sign, x), sign});
}

/* x[0] less x[1] times their quotient's whole part; *off: its sign is not the divisor's, so the floor lies
 * one lower. */
static lv remainder_of(tr_lf *w, const lv *x, lv *off) {
    lv m = tr_lower_real_math(w, TR_MATH_FMOD, x), zero = real(m, 0);
    lv differ =
        LLVMBuildXor(w->b, l_fcmp(w->b, LLVMRealOLT, x[1], zero), l_fcmp(w->b, LLVMRealOLT, m, zero), "");
    *off = l_and(w->b, l_fcmp(w->b, LLVMRealUNE, m, zero), differ);
    return m;
}

/* As CPython's float_rem, which NumPy shares. */
static lv floormod_float(tr_lf *w, const lv *x) {
    lv low = tr_lower_low_part(w, x, NULL);
    if (low) {
        lv negative = l_fcmp(w->b, LLVMRealOLT, low, real(low, 0));
        return l_select(w->b, negative, LLVMBuildFAdd(w->b, low, x[1], ""), low);
    }
    lv off, m = remainder_of(w, x, &off);
    lv r = l_select(w->b, off, fbin(w, LLVMFAdd, m, x[1]), m);
    return l_select(w->b, l_fcmp(w->b, LLVMRealOEQ, m, real(m, 0)), copysign_of(w, 0, x[1]), r);
}

/* As CPython's float_floor_div, which NumPy shares; where CPython raises for a zero divisor this is the IEEE
 * quotient, as in NumPy. */
static lv floordiv_float(tr_lf *w, const lv *x) {
    lv whole, low = tr_lower_low_part(w, x, &whole);
    if (low) { /* its difference from itself is 0.0, or nan where x is infinite */
        lv negative = l_fcmp(w->b, LLVMRealOLT, low, real(low, 0));
        lv r = l_select(w->b, negative, LLVMBuildFSub(w->b, whole, real(low, 1), ""), whole);
        return LLVMBuildFSub(w->b, r, LLVMBuildFSub(w->b, low, low, ""), "");
    }
    lv off, m = remainder_of(w, x, &off), zero = real(m, 0), ratio = fbin(w, LLVMFDiv, x[0], x[1]);
    lv q = fbin(w, LLVMFDiv, fbin(w, LLVMFSub, x[0], m), x[1]);
    q = l_select(w->b, off, fbin(w, LLVMFSub, q, real(m, 1)), q);
    lv r = tr_lower_real_math(w, TR_MATH_FLOOR, &q);
    lv up = l_fcmp(w->b, LLVMRealOGT, fbin(w, LLVMFSub, q, r), real(m, 0.5));
    r = l_select(w->b, up, fbin(w, LLVMFAdd, r, real(m, 1)), r);
    r = l_select(w->b, l_fcmp(w->b, LLVMRealOEQ, q, zero), copysign_of(w, 0, ratio), r);
    return l_select(w->b, l_fcmp(w->b, LLVMRealOEQ, x[1], zero), ratio, r);
}

static void float_op(tr_lf *w, tr_val v, const tr_ins *in) {
    const tr_ty *t = tr_lower_ty(w, in->args[0]);
    lv x[2] = {tr_lower_parts(w, in->args[0])[0], in->nargs > 1 ? tr_lower_parts(w, in->args[1])[0] : NULL},
       r = NULL;
    bool wide = t->kind == TR_TY_F16 && (in->op == TR_OP_FLOORDIV || in->op == TR_OP_FLOORMOD);
    for (uint32_t i = 0; wide && i < 2; i++) /* of several steps: rounded once, at the end */
        x[i] = tr_lower_widened(w, x[i]);
    switch ((tr_op)in->op) {
    case TR_OP_ADD: r = fbin(w, LLVMFAdd, x[0], x[1]); break;
    case TR_OP_SUB: r = fbin(w, LLVMFSub, x[0], x[1]); break;
    case TR_OP_MUL: r = fbin(w, LLVMFMul, x[0], x[1]); break;
    case TR_OP_DIV:
        r = tr_lower_approx(w, "div", 2, x);
        r = r ? r : fbin(w, LLVMFDiv, x[0], x[1]);
        break;
    case TR_OP_REM: r = tr_lower_real_math(w, TR_MATH_FMOD, x); break;
    case TR_OP_NEG: r = tr_lower_fast(w, LLVMBuildFNeg(w->b, x[0], "")); break;
    case TR_OP_ABS: r = abs_scalar(w, t, x); break;
    case TR_OP_FLOORDIV: r = floordiv_float(w, x); break;
    case TR_OP_FLOORMOD: r = floormod_float(w, x); break;
    default: r = x[0]; tr_lower_error(w, v, "'%s' is not defined for floats", tr_op_info[in->op].name);
    }
    tr_lower_set1(w, v, wide ? LLVMBuildFPTrunc(w->b, r, w->m->f16, "") : r);
}

/* --- complex: textbook formulas, as CPython and NumPy; power by the runtime --- */

void tr_lower_cmul(tr_lf *w, const lv *x, const lv *y, lv *out) {
    w->m->complex = true;
    LLVMOpcode im = tr_plant(w->m->ctx, TR_PLANT_CMUL) ? LLVMFSub : LLVMFAdd;
    lv re = fbin(w, LLVMFSub, fbin(w, LLVMFMul, x[0], y[0]), fbin(w, LLVMFMul, x[1], y[1]));
    out[1] = fbin(w, im, fbin(w, LLVMFMul, x[0], y[1]), fbin(w, LLVMFMul, x[1], y[0]));
    out[0] = re; /* last: out may be x */
}

/* Smith's quotient without branches, so that it vectorises: every operand is chosen by the larger part of the
 * divisor. A zero divisor divides both parts by +0. At the end `np` multiplies by a reciprocal, as NumPy;
 * else it divides, as CPython. */
static void complex_div(tr_lf *w, bool np, const lv *x, const lv *y, lv *out) {
    lt t = LLVMTypeOf(x[0]);
    lv zero = LLVMConstReal(t, 0.0), mag[2];
    for (int i = 0; i < 2; i++)
        mag[i] = tr_lower_intrinsic(w, "llvm.fabs", t, 1, &y[i]);
    lv by_re = l_fcmp(w->b, LLVMRealOGE, mag[0], mag[1]);
    lv none = l_and(w->b, l_fcmp(w->b, LLVMRealOEQ, mag[0], zero), l_fcmp(w->b, LLVMRealOEQ, mag[1], zero));
    lv p = l_select(w->b, by_re, y[0], y[1]), q = l_select(w->b, by_re, y[1], y[0]);
    lv s = l_select(w->b, by_re, x[0], x[1]), u = l_select(w->b, by_re, x[1], x[0]);
    lv ratio = fbin(w, LLVMFDiv, q, p), den = fbin(w, LLVMFAdd, p, fbin(w, LLVMFMul, q, ratio));
    lv re = fbin(w, LLVMFAdd, s, fbin(w, LLVMFMul, u, ratio)), m = fbin(w, LLVMFMul, s, ratio);
    lv im = fbin(w, LLVMFSub, l_select(w->b, by_re, u, m), l_select(w->b, by_re, m, u));
    re = l_select(w->b, none, x[0], re);
    im = l_select(w->b, none, x[1], im);
    den = l_select(w->b, none, mag[0], den);
    if (np)
        den = fbin(w, LLVMFDiv, LLVMConstReal(t, 1.0), den);
    out[0] = fbin(w, np ? LLVMFMul : LLVMFDiv, re, den);
    out[1] = fbin(w, np ? LLVMFMul : LLVMFDiv, im, den);
}

/* The runtime computes in doubles. */
static void complex_pow(tr_lf *w, const tr_ty *t, const lv *x, const lv *y, lv *out) {
    lv a[4] = {x[0], x[1], y[0], y[1]};
    bool narrow = t->kind == TR_TY_C64;
    for (int i = 0; i < 4 && narrow; i++)
        a[i] = LLVMBuildFPExt(w->b, a[i], w->m->f64, "");
    tr_lower_rt(w, TR_RT_CPOW, 4, a, NULL, out);
    for (int i = 0; i < 2 && narrow; i++)
        out[i] = LLVMBuildFPTrunc(w->b, out[i], w->m->f32, "");
}

static void complex_op(tr_lf *w, tr_val v, const tr_ins *in) {
    const tr_ty *t = tr_lower_ty(w, in->args[0]);
    const lv *x = tr_lower_parts(w, in->args[0]), *y = in->nargs > 1 ? tr_lower_parts(w, in->args[1]) : NULL;
    lv out[2] = {x[0], x[1]};
    unsigned n = 2;
    switch ((tr_op)in->op) {
    case TR_OP_ADD:
    case TR_OP_SUB:
        for (int i = 0; i < 2; i++)
            out[i] = fbin(w, in->op == TR_OP_ADD ? LLVMFAdd : LLVMFSub, x[i], y[i]);
        break;
    case TR_OP_MUL: tr_lower_cmul(w, x, y, out); break;
    case TR_OP_DIV:
    case TR_OP_PYDIV: complex_div(w, in->op == TR_OP_DIV, x, y, out); break;
    case TR_OP_POW: complex_pow(w, t, x, y, out); break;
    case TR_OP_NEG:
        for (int i = 0; i < 2; i++)
            out[i] = tr_lower_fast(w, LLVMBuildFNeg(w->b, x[i], ""));
        break;
    case TR_OP_ABS:
        out[0] = tr_lower_real_math(w, TR_MATH_HYPOT, x);
        n = 1;
        break;
    default: tr_lower_error(w, v, "'%s' is not defined for complex numbers", tr_op_info[in->op].name);
    }
    tr_lower_set(w, v, n, out);
}

/* --- integers and bool --- */

static lv wrapping(tr_lf *w, const tr_ins *in, lv x, lv y) {
    bool nsw = in->flags & F_NSW;
    if (in->op == TR_OP_ADD && in->sub == TR_TURN_PLACE)
        return LLVMBuildFreeze(w->b, LLVMBuildAdd(w->b, x, y, ""), "");
    switch ((tr_op)in->op) {
    case TR_OP_ADD: return nsw ? LLVMBuildNSWAdd(w->b, x, y, "") : l_add(w->b, x, y);
    case TR_OP_SUB: return nsw ? LLVMBuildNSWSub(w->b, x, y, "") : l_sub(w->b, x, y);
    default: return nsw ? LLVMBuildNSWMul(w->b, x, y, "") : l_mul(w->b, x, y);
    }
}

static lv bits(tr_lf *w, tr_bitop how, lv x) {
    static const char *const names[TR_BITS__COUNT] = {
        [TR_BITS_POPC] = "llvm.ctpop",
        [TR_BITS_BREV] = "llvm.bitreverse",
        [TR_BITS_CLZ] = "llvm.ctlz",
        [TR_BITS_CTZ] = "llvm.cttz",
    };
    bool zeros = how == TR_BITS_CLZ || how == TR_BITS_CTZ; /* those take whether 0 is undefined */
    return tr_lower_intrinsic(w, names[how], LLVMTypeOf(x), zeros ? 2 : 1, (lv[]){x, l_int(w->m->i1, 0)});
}

/* May LLVM make low bits of a number of it, as of x - x // 32 * 32? */
static bool may_cut(tr_op op, lv y) {
    return y && LLVMIsAConstantInt(y) &&
           (op == TR_OP_AND || op == TR_OP_OR || op == TR_OP_FLOORMOD || op == TR_OP_REM || op == TR_OP_SHR ||
            op == TR_OP_FLOORDIV || op == TR_OP_QUOT);
}

static void int_op(tr_lf *w, tr_val v, const tr_ins *in) {
    const tr_ty *t = tr_lower_ty(w, in->args[0]);
    bool s = tr_ty_class(t) == 'i';
    lv x = tr_lower_parts(w, in->args[0])[0], y = in->nargs > 1 ? tr_lower_parts(w, in->args[1])[0] : NULL,
       r = x;
    w->m->wraps = w->m->wraps || may_cut((tr_op)in->op, y);
    switch ((tr_op)in->op) {
    case TR_OP_ADD:
    case TR_OP_SUB:
    case TR_OP_MUL: r = wrapping(w, in, x, y); break;
    case TR_OP_FLOORDIV: r = floordiv_int(w, s, x, y); break;
    case TR_OP_FLOORMOD: r = floormod_int(w, s, x, y); break;
    case TR_OP_REM: r = rem_int(w, s, x, y); break;
    case TR_OP_QUOT: r = quot_int(w, s, x, y); break;
    case TR_OP_POW: r = tr_lower_power_of(w, x, y, any_int_power, &(int_power){t, x, y}); break;
    case TR_OP_NEG: r = in->flags & F_NSW ? LLVMBuildNSWNeg(w->b, x, "") : LLVMBuildNeg(w->b, x, ""); break;
    case TR_OP_ABS: r = abs_scalar(w, t, &x); break;
    case TR_OP_MIN:
        r = l_select(w->b, LLVMBuildICmp(w->b, s ? LLVMIntSLT : LLVMIntULT, x, y, ""), x, y);
        break;
    case TR_OP_MAX:
        r = l_select(w->b, LLVMBuildICmp(w->b, s ? LLVMIntSGT : LLVMIntUGT, x, y, ""), x, y);
        break;
    case TR_OP_AND:
        r = masked_index(x, y);
        r = r ? r : l_and(w->b, x, y);
        break;
    case TR_OP_OR: r = l_or(w->b, x, y); break;
    case TR_OP_XOR: r = LLVMBuildXor(w->b, x, y, ""); break;
    case TR_OP_NOT: r = LLVMBuildNot(w->b, x, ""); break;
    case TR_OP_BITS: r = bits(w, (tr_bitop)in->sub, x); break;
    case TR_OP_SHL:
    case TR_OP_SHR: r = shift(w, (tr_op)in->op, s, x, y); break;
    default: tr_lower_error(w, v, "'%s' is not lowered", tr_op_info[in->op].name);
    }
    tr_lower_set1(w, v, r);
}

void tr_lower_arith(tr_lf *w, tr_val v, const tr_ins *in) {
    assert(in->nargs >= 1 && in->nargs <= 2);
    const tr_ty *t = tr_lower_ty(w, in->args[0]);
    if (!tr_ty_is_scalar(t) || !tr_target_takes(w->m->want->target, (tr_op)in->op, (tr_tyk)t->kind)) {
        tr_lower_error(w, v, "'%s' cannot be compiled for operands of type %s", tr_op_info[in->op].name,
                       tr_ty_user(&w->m->ctx->arena, t));
        tr_lower_set(w, v, 2, (lv[]){LLVMGetUndef(w->m->i64), LLVMGetUndef(w->m->i64)});
        return;
    }
    if (in->op == TR_OP_POW && tr_ty_is_float(t))
        tr_lower_math(w, v, in);
    else if (tr_ty_is_float(t))
        float_op(w, v, in);
    else if (tr_ty_is_complex(t))
        complex_op(w, v, in);
    else
        int_op(w, v, in);
}
