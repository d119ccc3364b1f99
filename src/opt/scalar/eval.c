/* Scalar operations on constants: op.def's meaning, bit for bit, in plain C.
 *
 * Only what is exact everywhere is computed: IEEE operations and functions that are correctly rounded by
 * definition (sqrt, floor ...). exp or pow may differ between C libraries, and a cached object may meet
 * another one; those stay calls. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "opt/priv.h"

typedef struct num {
    const tr_ty *ty;
    int64_t i;   /* bool and ints, sign- or zero-extended from their width; uint64 as bits */
    double c[2]; /* floats in c[0]; float32 values are exact in it */
} num;

static bool get_number(const tr_fn *f, tr_val v, num *out) {
    const tr_ins *in = tr_at(f, v);
    if (in->op != TR_OP_CONST || !in->ty || !tr_ty_is_scalar(in->ty))
        return false;
    *out = (num){.ty = in->ty};
    if (tr_ty_is_complex(in->ty))
        memcpy(out->c, in->imm.c, sizeof out->c);
    else if (tr_ty_is_float(in->ty))
        out->c[0] = in->imm.f;
    else
        out->i = in->imm.i;
    return true;
}

static bool put_int(tr_fn *f, const tr_ty *t, uint64_t v, tr_val *out) {
    *out = tr_const_int(f, t, (int64_t)v); /* wraps to the width */
    return true;
}

static bool put_bool(tr_fn *f, const tr_ins *in, bool v, tr_val *out) {
    *out = tr_const_int(f, in->ty, v);
    return true;
}

/* A float result of one operation: for float32 and float16 rounding the double result once is the same as
 * computing in them. */
static double narrow(const tr_ty *t, double x) {
    return t->kind == TR_TY_F16                           ? (double)(_Float16)x
           : t->kind == TR_TY_F32 || t->kind == TR_TY_C64 ? (double)(float)x
                                                          : x;
}

static bool put_float(tr_fn *f, const tr_ty *t, double x, tr_val *out) {
    *out = tr_const_float(f, t, narrow(t, x));
    return true;
}

static unsigned width(const tr_ty *t) {
    return t->kind == TR_TY_BOOL ? 1 : 8 * tr_ty_size(t);
}
static bool is_signed(const tr_ty *t) {
    return tr_ty_class(t) == 'i';
}

/* --- integers --- */

static int64_t int_quot(bool sgn, int64_t x, int64_t y) {
    if (y == 0)
        return 0;
    if (!sgn)
        return (int64_t)((uint64_t)x / (uint64_t)y);
    return y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}

static int64_t int_rem(bool sgn, int64_t x, int64_t y) {
    if (y == 0)
        return 0;
    if (!sgn)
        return (int64_t)((uint64_t)x % (uint64_t)y);
    return y == -1 ? 0 : x % y;
}

static uint64_t int_pow(bool sgn, int64_t base, int64_t exp) {
    if (sgn && exp < 0)
        return base == 1 ? 1 : base == -1 ? (exp & 1 ? UINT64_MAX : 1) : 0;
    uint64_t r = 1, b = (uint64_t)base;
    for (uint64_t e = (uint64_t)exp; e; e >>= 1) {
        if (e & 1)
            r *= b;
        b *= b;
    }
    return r;
}

static bool int_binary(tr_fn *f, const tr_ins *in, num x, num y, tr_val *out) {
    bool sgn = is_signed(in->ty);
    uint64_t a = (uint64_t)x.i, b = (uint64_t)y.i;
    unsigned w = width(in->ty);
    bool wild = b >= w; /* also negative counts */
    int64_t r;
    switch ((tr_op)in->op) {
    case TR_OP_ADD: return put_int(f, in->ty, a + b, out);
    case TR_OP_SUB: return put_int(f, in->ty, a - b, out);
    case TR_OP_MUL: return put_int(f, in->ty, a * b, out);
    case TR_OP_MIN:
    case TR_OP_MAX:
        return put_int(f, in->ty, (sgn ? x.i < y.i : a < b) == (in->op == TR_OP_MIN) ? a : b, out);
    case TR_OP_AND: return put_int(f, in->ty, a & b, out);
    case TR_OP_OR: return put_int(f, in->ty, a | b, out);
    case TR_OP_XOR: return put_int(f, in->ty, a ^ b, out);
    case TR_OP_QUOT: return put_int(f, in->ty, (uint64_t)int_quot(sgn, x.i, y.i), out);
    case TR_OP_REM: return put_int(f, in->ty, (uint64_t)int_rem(sgn, x.i, y.i), out);
    case TR_OP_FLOORDIV:
        r = int_quot(sgn, x.i, y.i);
        if (sgn && int_rem(sgn, x.i, y.i) != 0 && (x.i < 0) != (y.i < 0))
            r--;
        return put_int(f, in->ty, (uint64_t)r, out);
    case TR_OP_FLOORMOD:
        r = int_rem(sgn, x.i, y.i);
        if (sgn && r != 0 && (r < 0) != (y.i < 0))
            r += y.i;
        return put_int(f, in->ty, (uint64_t)r, out);
    case TR_OP_POW: return put_int(f, in->ty, int_pow(sgn, x.i, y.i), out);
    case TR_OP_SHL: return put_int(f, in->ty, wild ? 0 : a << b, out);
    case TR_OP_SHR:
        if (sgn)
            return put_int(f, in->ty, (uint64_t)(x.i >> (wild ? w - 1 : b)), out);
        return put_int(f, in->ty, wild ? 0 : a >> b, out);
    default: return false;
    }
}

/* --- floats --- */

static double floor_mod(double x, double y) {
    double m = fmod(x, y);
    if (m == 0)
        return copysign(0.0, y);
    return (y < 0) != (m < 0) ? m + y : m;
}

/* As the runtime's floordiv in double; in float32 every step rounds, so that one is left to run time. */
static double floor_div(double x, double y) {
    if (y == 0)
        return x / y;
    double m = fmod(x, y), q = (x - m) / y;
    if (m != 0 && (y < 0) != (m < 0))
        q -= 1;
    if (q == 0)
        return copysign(0.0, x / y);
    double r = floor(q);
    return q - r > 0.5 ? r + 1 : r;
}

static bool float_binary(tr_fn *f, const tr_ins *in, double x, double y, tr_val *out) {
    switch ((tr_op)in->op) {
    case TR_OP_ADD: return put_float(f, in->ty, x + y, out);
    case TR_OP_SUB: return put_float(f, in->ty, x - y, out);
    case TR_OP_MUL: return put_float(f, in->ty, x * y, out);
    case TR_OP_DIV: return put_float(f, in->ty, x / y, out);
    case TR_OP_REM: return put_float(f, in->ty, fmod(x, y), out);
    case TR_OP_FLOORMOD: return in->ty->kind == TR_TY_F64 && put_float(f, in->ty, floor_mod(x, y), out);
    case TR_OP_FLOORDIV: return in->ty->kind == TR_TY_F64 && put_float(f, in->ty, floor_div(x, y), out);
    default: return false;
    }
}

static bool complex_binary(tr_fn *f, const tr_ins *in, const double x[2], const double y[2], tr_val *out) {
    double sign = in->op == TR_OP_SUB ? -1.0 : 1.0;
    if (in->op != TR_OP_ADD && in->op != TR_OP_SUB)
        return false;
    *out =
        tr_const_complex(f, in->ty, narrow(in->ty, x[0] + sign * y[0]), narrow(in->ty, x[1] + sign * y[1]));
    return true;
}

/* --- comparisons --- */

static bool comparison_holds(tr_cmpop p, bool lt, bool eq, bool ordered) {
    switch (p) {
    case TR_CMP_LT: return lt;
    case TR_CMP_LE: return lt || eq;
    case TR_CMP_EQ: return eq;
    case TR_CMP_NE: return !eq;
    case TR_CMP_GT: return ordered && !lt && !eq;
    default: return ordered && !lt;
    }
}

static bool compare(tr_fn *f, const tr_ins *in, num x, num y, tr_val *out) {
    tr_cmpop p = (tr_cmpop)in->sub;
    if (tr_ty_is_complex(x.ty)) {
        bool eq = x.c[0] == y.c[0] && x.c[1] == y.c[1];
        return (p == TR_CMP_EQ || p == TR_CMP_NE) && put_bool(f, in, eq == (p == TR_CMP_EQ), out);
    }
    if (tr_ty_is_float(x.ty)) {
        bool ordered = !isnan(x.c[0]) && !isnan(y.c[0]);
        return put_bool(f, in, comparison_holds(p, x.c[0] < y.c[0], x.c[0] == y.c[0], ordered), out);
    }
    bool lt = is_signed(x.ty) ? x.i < y.i : (uint64_t)x.i < (uint64_t)y.i;
    return put_bool(f, in, comparison_holds(p, lt, x.i == y.i, true), out);
}

/* --- one operand --- */

/* Float to int is folded only where every target agrees: in range. */
static bool float_to_int(tr_fn *f, const tr_ty *to, double x, tr_val *out) {
    double t = trunc(x), top = is_signed(to) ? ldexp(1, (int)width(to) - 1) : ldexp(1, (int)width(to));
    if (!(t < top && t >= (is_signed(to) ? -top : 0.0)))
        return false;
    return put_int(f, to, is_signed(to) ? (uint64_t)(int64_t)t : (uint64_t)t, out);
}

static bool convert(tr_fn *f, const tr_ins *in, num x, tr_val *out) {
    const tr_ty *to = in->ty;
    bool from_int = tr_opt_is_int_type(x.ty);
    if (!tr_ty_is_scalar(to))
        return false;
    if (to->kind == TR_TY_BOOL)
        return put_bool(f, in, from_int ? x.i != 0 : x.c[0] != 0 || (tr_ty_is_complex(x.ty) && x.c[1] != 0),
                        out);
    if (tr_opt_is_int_type(to))
        return from_int ? put_int(f, to, (uint64_t)x.i, out) : float_to_int(f, to, x.c[0], out);
    double re = x.c[0];
    if (from_int) { /* not through double; to float16 by way of float32, as NumPy */
        bool sgn = is_signed(x.ty);
        if (to->kind != TR_TY_F64 && to->kind != TR_TY_C128)
            re = sgn ? (double)(float)x.i : (double)(float)(uint64_t)x.i;
        else
            re = sgn ? (double)x.i : (double)(uint64_t)x.i;
    }
    if (tr_ty_is_float(to))
        return put_float(f, to, re, out);
    *out = tr_const_complex(f, to, narrow(to, re), tr_ty_is_complex(x.ty) ? narrow(to, x.c[1]) : 0.0);
    return true;
}

static bool math_exact(tr_fn *f, const tr_ins *in, const num *x, tr_val *out) {
    double a = x[0].c[0];
    if (!tr_ty_is_float(x[0].ty))
        return false;
    switch ((tr_mathfn)in->sub) {
    case TR_MATH_SQRT: return put_float(f, in->ty, sqrt(a), out);
    case TR_MATH_FLOOR: return put_float(f, in->ty, floor(a), out);
    case TR_MATH_CEIL: return put_float(f, in->ty, ceil(a), out);
    case TR_MATH_TRUNC: return put_float(f, in->ty, trunc(a), out);
    case TR_MATH_RINT: return put_float(f, in->ty, nearbyint(a), out);
    case TR_MATH_COPYSIGN: return put_float(f, in->ty, copysign(a, x[1].c[0]), out);
    case TR_MATH_ISNAN: return put_bool(f, in, isnan(a), out);
    case TR_MATH_ISINF: return put_bool(f, in, isinf(a), out);
    case TR_MATH_ISFINITE: return put_bool(f, in, isfinite(a), out);
    case TR_MATH_SIGNBIT: return put_bool(f, in, signbit(a), out);
    default: return false;
    }
}

static bool unary(tr_fn *f, const tr_ins *in, num x, tr_val *out) {
    bool is_int = tr_opt_is_int_type(x.ty), cplx = tr_ty_is_complex(x.ty);
    uint64_t u = (uint64_t)x.i;
    switch ((tr_op)in->op) {
    case TR_OP_NEG:
        if (is_int)
            return put_int(f, in->ty, 0 - u, out);
        if (!cplx)
            return put_float(f, in->ty, -x.c[0], out);
        *out = tr_const_complex(f, in->ty, -x.c[0], -x.c[1]);
        return true;
    case TR_OP_ABS:
        if (cplx)
            return false;
        return is_int ? put_int(f, in->ty, is_signed(x.ty) && x.i < 0 ? 0 - u : u, out)
                      : put_float(f, in->ty, fabs(x.c[0]), out);
    case TR_OP_BITS: return put_int(f, in->ty, (uint64_t)tr_bits_of((tr_bitop)in->sub, x.ty, x.i), out);
    case TR_OP_NOT: return put_int(f, in->ty, x.ty->kind == TR_TY_BOOL ? !u : ~u, out);
    case TR_OP_RE: return put_float(f, in->ty, x.c[0], out);
    case TR_OP_IM: return put_float(f, in->ty, x.c[1], out);
    case TR_OP_CONV: return convert(f, in, x, out);
    default: return false;
    }
}

bool tr_opt_eval(tr_fn *f, const tr_ins *in, tr_val *out) {
    assert(!tr_ins_ends(in));
    num x[2];
    int64_t n[3];
    if (in->op == TR_OP_RANGELEN && tr_get_int(f, in->args[0], &n[0]) && tr_get_int(f, in->args[1], &n[1]) &&
        tr_get_int(f, in->args[2], &n[2]))
        return put_int(f, in->ty, (uint64_t)tr_range_len(n[0], n[1], n[2]), out);
    if (in->op == TR_OP_CALLRT || in->nargs < 1 || in->nargs > 2 || !in->ty || !tr_ty_is_scalar(in->ty))
        return false;
    for (uint32_t i = 0; i < in->nargs; i++)
        if (!get_number(f, in->args[i], &x[i]))
            return false;
    if (in->op == TR_OP_MATH)
        return math_exact(f, in, x, out);
    if (in->nargs == 1)
        return unary(f, in, x[0], out);
    if (in->op == TR_OP_CMP)
        return compare(f, in, x[0], x[1], out);
    if (in->op == TR_OP_CPLX) {
        *out = tr_const_complex(f, in->ty, x[0].c[0], x[1].c[0]);
        return true;
    }
    if (tr_opt_is_int_type(in->ty))
        return tr_opt_is_int_type(x[0].ty) && int_binary(f, in, x[0], x[1], out);
    return tr_ty_is_float(in->ty) ? float_binary(f, in, x[0].c[0], x[1].c[0], out)
                                  : complex_binary(f, in, x[0].c, x[1].c, out);
}
