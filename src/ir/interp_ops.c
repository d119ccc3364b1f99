/* What the scalar ops mean, one case each. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "ir/interp_ops.h"
#include "ir/rtinfo.h"

/* --- slots --- */

static int64_t get_int(const tr_ty *t, const tr_slot *s) {
    assert(t->kind <= TR_TY_U64);
    return tr_int_wrap(t, s->i);
}

static void put_int(const tr_ty *t, tr_slot *s, int64_t v) {
    s->i = tr_int_wrap(t, v);
}

static double get_part(const tr_ty *t, const tr_slot *s) {
    return t->kind == TR_TY_F16                           ? (double)s->f16
           : t->kind == TR_TY_F32 || t->kind == TR_TY_C64 ? (double)s->f32
                                                          : s->f;
}

static void put_part(const tr_ty *t, tr_slot *s, double v) {
    s->i = 0;
    if (t->kind == TR_TY_F32 || t->kind == TR_TY_C64)
        s->f32 = (float)v;
    else if (t->kind == TR_TY_F16)
        s->f16 = (_Float16)v;
    else
        s->f = v;
}

void tr_interp_load(const tr_ty *t, const void *p, tr_slot *out) {
    assert(tr_ty_is_scalar(t));
    unsigned n = tr_ty_is_complex(t) ? 2 : 1, size = tr_ty_size(t) / n;
    for (unsigned i = 0; i < n; i++) {
        out[i].i = 0;
        memcpy(&out[i], (const char *)p + i * size, size);
    }
    if (!tr_ty_is_float(t) && !tr_ty_is_complex(t))
        out->i = tr_int_wrap(t, out->i);
}

void tr_interp_store(const tr_ty *t, void *p, const tr_slot *v) {
    unsigned n = tr_ty_is_complex(t) ? 2 : 1, size = tr_ty_size(t) / n;
    for (unsigned i = 0; i < n; i++)
        memcpy((char *)p + i * size, &v[i], size);
}

void tr_interp_const(const tr_ins *i, tr_slot *out) {
    assert(i->op == TR_OP_CONST);
    switch (tr_ty_class(i->ty)) {
    case 'f': put_part(i->ty, out, i->imm.f); break;
    case 'c':
        put_part(i->ty, out, i->imm.c[0]);
        put_part(i->ty, out + 1, i->imm.c[1]);
        break;
    default: out->i = i->imm.i;
    }
}

/* --- conversion --- */

void tr_interp_conv(const tr_ty *from, const tr_ty *to, const tr_slot *x, tr_slot *out) {
    assert(tr_ty_is_scalar(from) && tr_ty_is_scalar(to));
    bool integral = !tr_ty_is_float(from) && !tr_ty_is_complex(from), uns = tr_ty_class(from) == 'u';
    int64_t i = integral ? get_int(from, x) : 0;
    double re = integral ? 0 : get_part(from, x), im = tr_ty_is_complex(from) ? get_part(from, x + 1) : 0;
    switch (tr_ty_class(to)) {
    case 'b': out->i = integral ? i != 0 : re != 0 || im != 0; break;
    case 'i':
    case 'u': put_int(to, out, integral ? i : tr_ty_truncate(to, re)); break;
    default:
        if (integral && to->kind != TR_TY_F64 &&
            to->kind != TR_TY_C128) /* not through double; to float16 by way of float32, as NumPy */
            re = uns ? (double)(float)(uint64_t)i : (double)(float)i;
        else if (integral)
            re = uns ? (double)(uint64_t)i : (double)i;
        put_part(to, out, re);
        if (tr_ty_is_complex(to))
            put_part(to, out + 1, im);
    }
}

/* --- integers --- */

static int64_t floor_div(const tr_ty *t, int64_t x, int64_t y) {
    if (!y)
        return 0;
    if (tr_ty_class(t) == 'u')
        return (int64_t)((uint64_t)x / (uint64_t)y);
    if (y == -1)
        return (int64_t)(0 - (uint64_t)x);
    int64_t q = x / y;
    return x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
}

static int64_t quotient(const tr_ty *t, int64_t x, int64_t y) {
    if (!y)
        return 0;
    if (tr_ty_class(t) == 'u')
        return (int64_t)((uint64_t)x / (uint64_t)y);
    return y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}

static int64_t power(const tr_ty *t, int64_t x, int64_t y) {
    if (tr_ty_class(t) == 'i' && y < 0)
        return x == 1 ? 1 : x == -1 ? (y & 1 ? -1 : 1) : 0;
    uint64_t r = 1, b = (uint64_t)x;
    for (uint64_t e = (uint64_t)y; e; e >>= 1, b *= b)
        if (e & 1)
            r *= b;
    return (int64_t)r;
}

static int64_t shift(tr_op op, const tr_ty *t, int64_t x, int64_t y) {
    bool s = tr_ty_class(t) == 'i';
    int64_t width = 8 * (int64_t)tr_ty_size(t);
    if (y < 0 || y >= width)
        return op == TR_OP_SHR && s && x < 0 ? -1 : 0;
    if (op == TR_OP_SHL)
        return (int64_t)((uint64_t)x << y);
    return s ? x >> y : (int64_t)((uint64_t)x >> y);
}

static int64_t int_op(tr_op op, const tr_ty *t, int64_t x, int64_t y) {
    uint64_t a = (uint64_t)x, b = (uint64_t)y;
    switch (op) {
    case TR_OP_ADD: return (int64_t)(a + b);
    case TR_OP_SUB: return (int64_t)(a - b);
    case TR_OP_MUL: return (int64_t)(a * b);
    case TR_OP_FLOORDIV: return floor_div(t, x, y);
    case TR_OP_FLOORMOD: return y ? (int64_t)(a - (uint64_t)floor_div(t, x, y) * b) : 0;
    case TR_OP_QUOT: return quotient(t, x, y);
    case TR_OP_REM: return y ? (int64_t)(a - (uint64_t)quotient(t, x, y) * b) : 0;
    case TR_OP_POW: return power(t, x, y);
    case TR_OP_NEG: return (int64_t)(0 - a);
    case TR_OP_ABS: return tr_ty_class(t) == 'i' && x < 0 ? (int64_t)(0 - a) : x;
    case TR_OP_MIN:
    case TR_OP_MAX: return (tr_ty_class(t) == 'i' ? x < y : a < b) == (op == TR_OP_MIN) ? x : y;
    case TR_OP_AND: return x & y;
    case TR_OP_OR: return x | y;
    case TR_OP_XOR: return x ^ y;
    case TR_OP_NOT: return ~x;
    case TR_OP_SHL:
    case TR_OP_SHR: return shift(op, t, x, y);
    default: return 0;
    }
}

static int compare_ints(const tr_ty *t, int64_t x, int64_t y) {
    if (tr_ty_class(t) == 'u')
        return (uint64_t)x < (uint64_t)y ? -1 : (uint64_t)x > (uint64_t)y;
    return x < y ? -1 : x > y;
}

/* --- floats: each op in its own type, so that rounding happens once --- */

/* CPython's float_rem and float_floor_div; for a zero divisor the IEEE values. */
#define FLOAT_OPS(T, SUFFIX)                                       \
    static T floor_mod_##T(T x, T y) {                             \
        T m = fmod##SUFFIX(x, y);                                  \
        if (m == 0)                                                \
            return copysign##SUFFIX(0, y);                         \
        return (y < 0) != (m < 0) ? m + y : m;                     \
    }                                                              \
    static T floor_div_##T(T x, T y) {                             \
        if (y == 0)                                                \
            return x / y;                                          \
        T m = fmod##SUFFIX(x, y), q = (x - m) / y;                 \
        if (m != 0 && (y < 0) != (m < 0))                          \
            q -= 1;                                                \
        if (q == 0)                                                \
            return copysign##SUFFIX(0, x / y);                     \
        T r = floor##SUFFIX(q);                                    \
        return q - r > (T)0.5 ? r + 1 : r;                         \
    }                                                              \
    static T float_op_##T(tr_op op, T x, T y) {                    \
        switch (op) {                                              \
        case TR_OP_ADD: return x + y;                              \
        case TR_OP_SUB: return x - y;                              \
        case TR_OP_MUL: return x * y;                              \
        case TR_OP_DIV: return x / y;                              \
        case TR_OP_REM: return fmod##SUFFIX(x, y);                 \
        case TR_OP_FLOORDIV: return floor_div_##T(x, y);           \
        case TR_OP_FLOORMOD: return floor_mod_##T(x, y);           \
        case TR_OP_POW: return y == 2 ? x * x : pow##SUFFIX(x, y); \
        case TR_OP_NEG: return -x;                                 \
        case TR_OP_ABS: return fabs##SUFFIX(x);                    \
        default: return 0;                                         \
        }                                                          \
    }
FLOAT_OPS(double, )
FLOAT_OPS(float, f)

static void float_op(tr_op op, const tr_ty *t, const tr_slot *x, const tr_slot *y, tr_slot *out) {
    out->i = 0;
    if (t->kind == TR_TY_F32)
        out->f32 = float_op_float(op, x->f32, y ? y->f32 : 0);
    else if (t->kind == TR_TY_F16)
        out->f16 = (_Float16)float_op_float(op, (float)x->f16, y ? (float)y->f16 : 0);
    else
        out->f = float_op_double(op, x->f, y ? y->f : 0);
}

/* --- complex: textbook formulas in the type's own width; power by the run-time library in doubles --- */

static bool complex_power(const tr_interp *in, const tr_ty *t, const tr_slot *x, const tr_slot *y,
                          tr_slot *out) {
    double r[2];
    void *sym = in->symbol ? in->symbol("tr_rt_cpow") : NULL;
    void (*cpow)(double, double, double, double, double *);
    if (!sym)
        return false;
    memcpy(&cpow, &sym, sizeof cpow);
    cpow(get_part(t, x), get_part(t, x + 1), get_part(t, y), get_part(t, y + 1), r);
    put_part(t, out, r[0]);
    put_part(t, out + 1, r[1]);
    return true;
}

static void multiply(const tr_ty *t, const tr_slot *x, const tr_slot *y, tr_slot *out) {
    if (t->kind == TR_TY_C64) {
        float a = x[0].f32, b = x[1].f32, c = y[0].f32, d = y[1].f32;
        float ac = a * c, bd = b * d, ad = a * d, bc = b * c;
        put_part(t, out, (double)(ac - bd));
        put_part(t, out + 1, (double)(ad + bc));
        return;
    }
    double a = x[0].f, b = x[1].f, c = y[0].f, d = y[1].f;
    double ac = a * c, bd = b * d, ad = a * d, bc = b * c;
    put_part(t, out, ac - bd);
    put_part(t, out + 1, ad + bc);
}

/* The quotient by the larger part of the divisor, in the type's own width: op.def's div (NumPy) multiplies by
 * a reciprocal at the end, pydiv (CPython) divides. */
#define QUOTIENT(T, name, FABS)                                                 \
    static void name(bool np, T a, T b, T c, T d, T out[2]) {                   \
        T mc = FABS(c), md = FABS(d);                                           \
        if (mc == 0 && md == 0) {                                               \
            out[0] = a / mc;                                                    \
            out[1] = b / mc;                                                    \
            return;                                                             \
        }                                                                       \
        bool by_c = mc >= md;                                                   \
        T t = by_c ? d / c : c / d, den = by_c ? c + d * t : d + c * t;         \
        T re = by_c ? a + b * t : a * t + b, im = by_c ? b - a * t : b * t - a; \
        T by = np ? 1 / den : den;                                              \
        out[0] = np ? re * by : re / by;                                        \
        out[1] = np ? im * by : im / by;                                        \
    }
QUOTIENT(double, quotient_double, fabs)
QUOTIENT(float, quotient_float, fabsf)
#undef QUOTIENT

static void complex_quotient(const tr_ty *t, bool np, const tr_slot *x, const tr_slot *y, tr_slot *out) {
    if (t->kind == TR_TY_C64) {
        float r[2];
        quotient_float(np, x[0].f32, x[1].f32, y[0].f32, y[1].f32, r);
        put_part(t, out, (double)r[0]);
        put_part(t, out + 1, (double)r[1]);
        return;
    }
    double r[2];
    quotient_double(np, x[0].f, x[1].f, y[0].f, y[1].f, r);
    put_part(t, out, r[0]);
    put_part(t, out + 1, r[1]);
}

static bool complex_op(const tr_interp *in, tr_op op, const tr_ty *t, const tr_slot *x, const tr_slot *y,
                       tr_slot *out) {
    bool narrow = t->kind == TR_TY_C64;
    switch (op) {
    case TR_OP_ADD:
    case TR_OP_SUB:
    case TR_OP_NEG:
        for (int i = 0; i < 2; i++) {
            out[i].i = 0;
            if (narrow)
                out[i].f32 = float_op_float(op, x[i].f32, y ? y[i].f32 : 0);
            else
                out[i].f = float_op_double(op, x[i].f, y ? y[i].f : 0);
        }
        return true;
    case TR_OP_MUL: multiply(t, x, y, out); return true;
    case TR_OP_DIV:
    case TR_OP_PYDIV: complex_quotient(t, op == TR_OP_DIV, x, y, out); return true;
    case TR_OP_POW: return complex_power(in, t, x, y, out);
    case TR_OP_ABS:
        out->i = 0;
        if (narrow)
            out->f32 = hypotf(x[0].f32, x[1].f32);
        else
            out->f = hypot(x[0].f, x[1].f);
        return true;
    default: return false;
    }
}

bool tr_interp_arith(const tr_interp *in, tr_op op, const tr_ty *t, const tr_slot *x, const tr_slot *y,
                     tr_slot *out) {
    switch (tr_ty_class(t)) {
    case 'f': float_op(op, t, x, y, out); return true;
    case 'c': return complex_op(in, op, t, x, y, out);
    default: put_int(t, out, int_op(op, t, get_int(t, x), y ? get_int(t, y) : 0)); return true;
    }
}

bool tr_interp_cmp(tr_cmpop op, const tr_ty *t, const tr_slot *x, const tr_slot *y) {
    if (tr_ty_is_complex(t)) {
        bool same = get_part(t, x) == get_part(t, y) && get_part(t, x + 1) == get_part(t, y + 1);
        return op == TR_CMP_EQ ? same : !same;
    }
    bool lt, eq, gt;
    if (tr_ty_is_float(t)) {
        double a = get_part(t, x), b = get_part(t, y);
        lt = a < b;
        eq = a == b;
        gt = a > b;
    } else {
        int c = compare_ints(t, get_int(t, x), get_int(t, y));
        lt = c < 0;
        eq = c == 0;
        gt = c > 0;
    }
    switch (op) {
    case TR_CMP_LT: return lt;
    case TR_CMP_LE: return lt || eq;
    case TR_CMP_EQ: return eq;
    case TR_CMP_NE: return !eq;
    case TR_CMP_GT: return gt;
    default: return gt || eq;
    }
}

/* --- named functions --- */

static bool test_float(tr_mathfn fn, double x) {
    switch (fn) {
    case TR_MATH_ISNAN: return isnan(x);
    case TR_MATH_ISINF: return isinf(x);
    case TR_MATH_ISFINITE: return isfinite(x);
    default: return signbit(x);
    }
}

static _Float16 next_half(_Float16 x, _Float16 to) {
    uint16_t bits;
    float a = (float)x, b = (float)to;
    if (isnan(a) || isnan(b))
        return (_Float16)(a + b);
    if (a == b)
        return to;
    if (a == 0)
        return (_Float16)copysignf(0x1p-24f, b);
    memcpy(&bits, &x, sizeof bits);
    bits = (uint16_t)(bits + ((a < b) == (a > 0) ? 1 : -1));
    memcpy(&x, &bits, sizeof bits);
    return x;
}

bool tr_interp_math(const tr_interp *in, tr_mathfn fn, const tr_ty *t, const tr_slot *const *x,
                    tr_slot *out) {
    const tr_mathinfo *m = &tr_math_info[fn];
    bool half = t->kind == TR_TY_F16, narrow = half || t->kind == TR_TY_F32;
    out->i = 0;
    if (m->result == 'b') {
        out->i = test_float(fn, get_part(t, x[0]));
        return true;
    }
    void *sym = in->symbol ? in->symbol(narrow ? m->f32 : m->f64) : NULL;
    if (!sym)
        return false;
    union {
        void *p;
        double (*d1)(double);
        double (*d2)(double, double);
        double (*d3)(double, double, double);
        float (*f1)(float);
        float (*f2)(float, float);
        float (*f3)(float, float, float);
    } f = {sym};
    if (half && fn == TR_MATH_NEXTAFTER) {
        out->f16 = next_half(x[0]->f16, x[1]->f16);
    } else if (half && fn == TR_MATH_FMA) {
        out->f16 = (_Float16)((double)x[0]->f16 * (double)x[1]->f16 + (double)x[2]->f16);
    } else if (narrow) {
        float a[3] = {0}, r;
        for (unsigned i = 0; i < m->arity && i < 3; i++)
            a[i] = half ? (float)x[i]->f16 : x[i]->f32;
        r = m->arity == 1 ? f.f1(a[0]) : m->arity == 2 ? f.f2(a[0], a[1]) : f.f3(a[0], a[1], a[2]);
        if (half)
            out->f16 = (_Float16)r;
        else
            out->f32 = r;
    } else
        out->f = m->arity == 1   ? f.d1(x[0]->f)
                 : m->arity == 2 ? f.d2(x[0]->f, x[1]->f)
                                 : f.d3(x[0]->f, x[1]->f, x[2]->f);
    return true;
}

/* --- reductions --- */

static bool is_nan(const tr_ty *t, const tr_slot *x) {
    return tr_ty_is_float(t) && isnan(get_part(t, x));
}

/* A NaN wins, and the first of them stays. */
bool tr_interp_better(tr_redk k, const tr_ty *t, const tr_slot *best, const tr_slot *x) {
    assert(k < TR_RED__COUNT);
    if (is_nan(t, best))
        return false;
    return is_nan(t, x) || tr_interp_cmp(tr_red_info[k].wins, t, x, best);
}

/* Of two zeros the one that MIN or MAX takes. */
static bool is_outer_zero(tr_redk k, const tr_ty *t, const tr_slot *x) {
    return tr_ty_is_float(t) && get_part(t, x) == 0 && !signbit(get_part(t, x)) == (k == TR_RED_MAX);
}

void tr_interp_reduce(const tr_interp *in, tr_redk k, const tr_ty *t, tr_slot *acc, const tr_slot *x) {
    tr_slot r[2];
    tr_op op = tr_red_op(k, t);
    if (k == TR_RED_LAST) {
        memcpy(acc, x, tr_ty_nparts(t) * sizeof *acc);
        return;
    }
    if (op == TR_OP__COUNT) {
        bool zero = tr_interp_cmp(TR_CMP_EQ, t, x, acc) && is_outer_zero(k, t, x);
        if (zero || is_nan(t, x) || tr_interp_better(k, t, acc, x))
            *acc = *x;
        return;
    }
    tr_interp_arith(in, op, t, acc, x, r);
    memcpy(acc, r, tr_ty_nparts(t) * sizeof *acc);
}
