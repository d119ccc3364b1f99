/* Every operation on every dtype it is legal for, compiled and compared with C: as a scalar
 * function, and as a pattern over arrays, where LLVM vectorises it. Values include every
 * corner that integers and floats have. */
#include "lower_util.h"

#include <math.h>

#include "vmath/vmath.h"

/* --- values --- */

typedef struct val { /* ints sign- or zero-extended; bool 0 or 1; floats and complex as doubles */
    int64_t i;
    double f[2];
} val;

static const char *const kind_name[] = {
#define X(id, ir, user, size, cls) user,
    TR_SCALARS(X)
#undef X
};
static const char kind_cls[] = {
#define X(id, ir, user, size, cls) cls,
    TR_SCALARS(X)
#undef X
};
static const unsigned kind_size[] = {
#define X(id, ir, user, size, cls) size,
    TR_SCALARS(X)
#undef X
};

static bool fp(tr_tyk k) {
    return k >= TR_TY_F16;
}

static int64_t wrap_to(tr_tyk k, __int128 x) {
    switch (k) {
    case TR_TY_BOOL: return x & 1;
    case TR_TY_I8: return (int8_t)x;
    case TR_TY_I16: return (int16_t)x;
    case TR_TY_I32: return (int32_t)x;
    case TR_TY_U8: return (uint8_t)x;
    case TR_TY_U16: return (uint16_t)x;
    case TR_TY_U32: return (uint32_t)x;
    default: return (int64_t)x;
    }
}

/* The value as a mathematical integer: u64 is the one whose bits mean something else. */
static __int128 num(tr_tyk k, int64_t i) {
    return k == TR_TY_U64 ? (__int128)(uint64_t)i : i;
}

static void put(tr_tyk k, val v, void *p) {
    float c[2] = {(float)v.f[0], (float)v.f[1]};
    _Float16 h = (_Float16)v.f[0];
    switch (k) {
    case TR_TY_F16: memcpy(p, &h, 2); break;
    case TR_TY_F32: memcpy(p, c, 4); break;
    case TR_TY_F64: memcpy(p, v.f, 8); break;
    case TR_TY_C64: memcpy(p, c, 8); break;
    case TR_TY_C128: memcpy(p, v.f, 16); break;
    default: memcpy(p, &v.i, kind_size[k]);
    }
}

static val get(tr_tyk k, const void *p) {
    val v = {0, {0, 0}};
    float c[2];
    _Float16 h;
    switch (k) {
    case TR_TY_F16:
        memcpy(&h, p, 2);
        v.f[0] = (double)h;
        break;
    case TR_TY_F32:
        memcpy(c, p, 4);
        v.f[0] = (double)c[0];
        break;
    case TR_TY_F64: memcpy(v.f, p, 8); break;
    case TR_TY_C64:
        memcpy(c, p, 8);
        v.f[0] = (double)c[0];
        v.f[1] = (double)c[1];
        break;
    case TR_TY_C128: memcpy(v.f, p, 16); break;
    default: memcpy(&v.i, p, kind_size[k]); v.i = wrap_to(k, v.i);
    }
    return v;
}

enum { MAX_VALS = 48 };

static unsigned values(tr_tyk k, val *out) {
    static const int64_t ints[] = {0,         1,         2,
                                   3,         5,         7,
                                   10,        -1,        -2,
                                   -3,        -7,        8,
                                   9,         31,        32,
                                   33,        63,        64,
                                   100,       127,       128,
                                   -128,      255,       -129,
                                   32767,     -32768,    65535,
                                   INT32_MAX, INT32_MIN, UINT32_MAX,
                                   INT64_MAX, INT64_MIN, INT64_MIN + 1};
    static const double floats[] = {0.0,         -0.0,          1.0,          -1.0,   0.5,    2.0,
                                    3.0,         -2.5,          7.3,          1e10,   -1e10,  1e-40,
                                    2147483648., -2147483648.5, 4294967295.0, 9.3e18, 1.9e19, 255.7,
                                    -128.9,      32768.25,      1e30,         -1e30,  100.0,  -0.3};
    static const double parts[] = {0.0, -0.0, 1.0, -2.5, 3.0};
    unsigned n = 0;
    switch (kind_cls[k]) {
    case 'b':
        for (int i = 0; i < 2; i++)
            out[n++] = (val){i, {0, 0}};
        break;
    case 'f':
        for (unsigned i = 0; i < sizeof floats / sizeof *floats; i++)
            out[n++] = (val){0, {floats[i], 0}};
        out[n++] = (val){0, {(double)INFINITY, 0}};
        out[n++] = (val){0, {-(double)INFINITY, 0}};
        out[n++] = (val){0, {(double)NAN, 0}};
        out[n++] = (val){0, {k == TR_TY_F16 ? 65504 : k == TR_TY_F32 ? 3e38 : 1e308, 0}};
        for (unsigned i = 0; i < n; i++)
            if (k != TR_TY_F64)
                out[i].f[0] = k == TR_TY_F16 ? (double)(_Float16)out[i].f[0] : (double)(float)out[i].f[0];
        break;
    case 'c':
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 5; j++)
                out[n++] = (val){0, {parts[i], parts[j]}};
        out[n++] = (val){0, {(double)INFINITY, 1}};
        out[n++] = (val){0, {(double)NAN, 1}};
        break;
    default:
        for (unsigned i = 0; i < sizeof ints / sizeof *ints; i++)
            out[n++] = (val){wrap_to(k, ints[i]), {0, 0}};
    }
    return n;
}

/* --- what C says --- */

typedef struct what {
    tr_op op;
    uint8_t sub;
    tr_tyk from, to; /* operands' and result's type */
    unsigned nargs;
} what;

static __int128 floor_div(__int128 a, __int128 b) {
    __int128 q = a / b;
    return a % b && (a % b < 0) != (b < 0) ? q - 1 : q;
}

static int64_t pow_ref(tr_tyk k, int64_t a, int64_t e) {
    if (num(k, e) < 0)
        return a == 1 ? 1 : a == -1 ? (e & 1 ? -1 : 1) : 0;
    uint64_t r = 1, b = (uint64_t)a, n = (uint64_t)e;
    for (; n; n >>= 1, b *= b)
        if (n & 1)
            r *= b;
    return (int64_t)r;
}

static val int_ref(const what *w, val x, val y) {
    tr_tyk k = w->from;
    __int128 a = num(k, x.i), b = num(k, y.i), r = 0;
    int width = k == TR_TY_BOOL ? 1 : (int)kind_size[k] * 8;
    switch ((int)w->op) {
    case TR_OP_ADD: r = a + b; break;
    case TR_OP_SUB: r = a - b; break;
    case TR_OP_MUL: r = (__int128)((unsigned __int128)a * (unsigned __int128)b); break;
    case TR_OP_FLOORDIV: r = b ? floor_div(a, b) : 0; break;
    case TR_OP_FLOORMOD: r = b ? a - floor_div(a, b) * b : 0; break;
    case TR_OP_REM: r = b ? a % b : 0; break;
    case TR_OP_QUOT: r = b ? a / b : 0; break;
    case TR_OP_POW: r = pow_ref(k, x.i, y.i); break;
    case TR_OP_NEG: r = -a; break;
    case TR_OP_ABS: r = a < 0 ? -a : a; break;
    case TR_OP_AND: r = a & b; break;
    case TR_OP_OR: r = a | b; break;
    case TR_OP_XOR: r = a ^ b; break;
    case TR_OP_NOT: r = ~a; break;
    case TR_OP_SHL: r = b < 0 || b >= width ? 0 : (__int128)((unsigned __int128)a << (int)b); break;
    case TR_OP_SHR: r = b < 0 || b >= width ? (a < 0 ? -1 : 0) : a >> (int)b; break;
    default: abort();
    }
    return (val){wrap_to(w->to, r), {0, 0}};
}

static bool cmp_ref(const what *w, val x, val y) {
#define CMP(a, b)                       \
    (w->sub == TR_CMP_LT   ? (a) < (b)  \
     : w->sub == TR_CMP_LE ? (a) <= (b) \
     : w->sub == TR_CMP_EQ ? (a) == (b) \
     : w->sub == TR_CMP_NE ? (a) != (b) \
     : w->sub == TR_CMP_GT ? (a) > (b)  \
                           : (a) >= (b))
    if (kind_cls[w->from] == 'c') {
        bool eq = x.f[0] == y.f[0] && x.f[1] == y.f[1];
        return w->sub == TR_CMP_EQ ? eq : !eq;
    }
    if (fp(w->from))
        return CMP(x.f[0], y.f[0]);
    return CMP(num(w->from, x.i), num(w->from, y.i));
}

static int64_t float_to_int(tr_tyk k, double x) {
    bool wide = k == TR_TY_I64 || k == TR_TY_U32 || k == TR_TY_U64;
    if (k == TR_TY_U64 && x >= 0x1p63)
        return (x < 0x1p64 ? (int64_t)(x - 0x1p63) : INT64_MIN) ^ INT64_MIN;
    if (wide)
        return wrap_to(k, fabs(x) < 0x1p63 ? (int64_t)x : INT64_MIN);
    return wrap_to(k, fabs(x) < 0x1p31 ? (int32_t)x : INT32_MIN);
}

static val conv_ref(const what *w, val x) {
    val r = {0, {0, 0}};
    bool from_fp = fp(w->from);
    double re = from_fp ? x.f[0] : (double)num(w->from, x.i);
    if (!from_fp && (w->to == TR_TY_F16 || w->to == TR_TY_F32 ||
                     w->to == TR_TY_C64)) /* one rounding, not two; to float16 by way of float32 */
        re = w->from == TR_TY_U64 ? (double)(float)(uint64_t)x.i : (double)(float)x.i;
    switch (kind_cls[w->to]) {
    case 'b': r.i = from_fp ? x.f[0] != 0 || (kind_cls[w->from] == 'c' && x.f[1] != 0) : x.i != 0; break;
    case 'f':
    case 'c':
        r.f[0] = re;
        r.f[1] = kind_cls[w->from] == 'c' && kind_cls[w->to] == 'c' ? x.f[1] : 0;
        break;
    default: r.i = from_fp ? float_to_int(w->to, re) : wrap_to(w->to, x.i);
    }
    return r;
}

/* Of all 65,536 the nearest beyond x towards y. */
static double next_half(double x, double y) {
    double best = y;
    if (isnan(x) || isnan(y) || x == y)
        return x == y ? y : x + y;
    for (unsigned i = 0; i < 1u << 16; i++) {
        _Float16 h;
        uint16_t bits = (uint16_t)i;
        memcpy(&h, &bits, sizeof h);
        double d = (double)h;
        bool beyond = y > x ? d > x && d < best : d < x && d > best;
        if (beyond && !(d == 0 && !signbit(d) != !signbit(x)))
            best = d;
    }
    return best;
}

static val math_ref(const what *w, val x, val y) {
    const tr_mathinfo *m = &tr_math_info[w->sub];
    val r = {0, {0, 0}};
    switch (w->sub) {
    case TR_MATH_ISNAN: r.i = isnan(x.f[0]); return r;
    case TR_MATH_ISINF: r.i = isinf(x.f[0]) != 0; return r;
    case TR_MATH_ISFINITE: r.i = isfinite(x.f[0]); return r;
    case TR_MATH_SIGNBIT: r.i = signbit(x.f[0]) != 0; return r;
    default: break;
    }
    /* libm's float functions may be off by more than one place where vector math promises
     * one: the double ones are not. */
    bool wide = tr_vmath_find(m->name, true, false, 'f') && w->sub != TR_MATH_NEXTAFTER;
    if (w->from == TR_TY_F16 && w->sub == TR_MATH_NEXTAFTER) {
        r.f[0] = next_half(x.f[0], y.f[0]);
    } else if (w->from != TR_TY_F64 && !wide) {
        void *p = tr_symbol_find(m->f32);
        float (*fn)(float, float, float);
        memcpy(&fn, &p, sizeof fn);
        r.f[0] = (double)fn((float)x.f[0], (float)y.f[0], 2.0f);
    } else {
        void *p = tr_symbol_find(m->f64);
        double (*fn)(double, double, double);
        memcpy(&fn, &p, sizeof fn);
        r.f[0] = fn(x.f[0], y.f[0], 2.0);
    }
    return r;
}

/* Smith's quotient in the type's width; NumPy multiplies by a reciprocal, CPython divides. */
static val quotient_ref(bool narrow, bool np, const double *a, const double *b) {
    bool re = fabs(b[0]) >= fabs(b[1]);
    double s = a[!re], u = a[re], p = b[!re], q = b[re];
    if (p == 0 && q == 0)
        return (val){0, {a[0] / 0.0, a[1] / 0.0}};
    if (narrow) {
        float t = (float)q / (float)p, d = (float)p + (float)q * t, st = (float)s * t, r[2];
        r[0] = (float)s + (float)u * t;
        r[1] = re ? (float)u - st : st - (float)u;
        float by = np ? 1 / d : d;
        return (val){0, {(double)(np ? r[0] * by : r[0] / by), (double)(np ? r[1] * by : r[1] / by)}};
    }
    double t = q / p, d = p + q * t, r[2] = {s + u * t, re ? u - s * t : s * t - u}, by = np ? 1 / d : d;
    return (val){0, {np ? r[0] * by : r[0] / by, np ? r[1] * by : r[1] / by}};
}

static val complex_ref(const what *w, val x, val y) {
    val r = {0, {0, 0}};
    bool narrow = w->from == TR_TY_C64;
    const double *a = x.f, *b = y.f;
    float fa[2] = {(float)a[0], (float)a[1]}, fb[2] = {(float)b[0], (float)b[1]};
    switch ((int)w->op) {
    case TR_OP_ADD: r = (val){0, {a[0] + b[0], a[1] + b[1]}}; break;
    case TR_OP_SUB: r = (val){0, {a[0] - b[0], a[1] - b[1]}}; break;
    case TR_OP_MUL:
        if (narrow)
            r = (val){0, {(double)(fa[0] * fb[0] - fa[1] * fb[1]), (double)(fa[0] * fb[1] + fa[1] * fb[0])}};
        else
            r = (val){0, {a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]}};
        break;
    case TR_OP_DIV: r = quotient_ref(narrow, true, a, b); break;
    case TR_OP_PYDIV: r = quotient_ref(narrow, false, a, b); break;
    case TR_OP_POW: tr_rt_cpow(a[0], a[1], b[0], b[1], r.f); break;
    case TR_OP_NEG: r = (val){0, {-a[0], -a[1]}}; break;
    case TR_OP_ABS: r.f[0] = narrow ? (double)hypotf(fa[0], fa[1]) : hypot(a[0], a[1]); break;
    default: abort();
    }
    return r;
}

/* CPython's float_rem and float_floor_div, with NumPy's values for a zero divisor: nan, the IEEE quotient. */
#define FLOOR_OPS(T, mod_name, div_name, FMOD, FLOOR, COPYSIGN) \
    static T mod_name(T x, T y) {                               \
        T m = FMOD(x, y);                                       \
        if (m == 0)                                             \
            return COPYSIGN(0, y);                              \
        return (y < 0) != (m < 0) ? m + y : m;                  \
    }                                                           \
    static T div_name(T x, T y) {                               \
        if (y == 0)                                             \
            return x / y;                                       \
        T m = FMOD(x, y), q = (x - m) / y;                      \
        if (m != 0 && (y < 0) != (m < 0))                       \
            q -= 1;                                             \
        if (q == 0)                                             \
            return COPYSIGN(0, x / y);                          \
        T r = FLOOR(q);                                         \
        return q - r > (T)0.5 ? r + 1 : r;                      \
    }
FLOOR_OPS(double, floormod, floordiv, fmod, floor, copysign)
FLOOR_OPS(float, floormodf, floordivf, fmodf, floorf, copysignf)

static val float_ref(const what *w, val x, val y) {
    val r = {0, {0, 0}};
    double a = x.f[0], b = y.f[0];
    float fa = (float)a, fb = (float)b;
    bool n = w->from != TR_TY_F64;
    switch ((int)w->op) {
    case TR_OP_ADD: r.f[0] = n ? (double)(fa + fb) : a + b; break;
    case TR_OP_SUB: r.f[0] = n ? (double)(fa - fb) : a - b; break;
    case TR_OP_MUL: r.f[0] = n ? (double)(fa * fb) : a * b; break;
    case TR_OP_DIV: r.f[0] = n ? (double)(fa / fb) : a / b; break;
    case TR_OP_FLOORDIV: r.f[0] = n ? (double)floordivf(fa, fb) : floordiv(a, b); break;
    case TR_OP_FLOORMOD: r.f[0] = n ? (double)floormodf(fa, fb) : floormod(a, b); break;
    case TR_OP_REM: r.f[0] = n ? (double)fmodf(fa, fb) : fmod(a, b); break;
    case TR_OP_POW: r.f[0] = n ? (double)powf(fa, fb) : pow(a, b); break;
    case TR_OP_NEG: r.f[0] = -a; break;
    case TR_OP_ABS: r.f[0] = fabs(a); break;
    default: abort();
    }
    return r;
}

static val reference(const what *w, val x, val y) {
    switch ((int)w->op) {
    case TR_OP_CMP: return (val){cmp_ref(w, x, y), {0, 0}};
    case TR_OP_CONV: return conv_ref(w, x);
    case TR_OP_MATH: return math_ref(w, x, y);
    case TR_OP_RE: return (val){0, {x.f[0], 0}};
    case TR_OP_IM: return (val){0, {x.f[1], 0}};
    case TR_OP_CPLX: return (val){0, {x.f[0], y.f[0]}};
    case TR_OP_SELECT:
        return fp(w->from) ? (x.f[0] != y.f[0] || x.f[1] != y.f[1] ? y : x) : x.i != y.i ? y : x;
    default: break;
    }
    if (kind_cls[w->from] == 'c')
        return complex_ref(w, x, y);
    return fp(w->from) ? float_ref(w, x, y) : int_ref(w, x, y);
}

/* Vector math rounds otherwise than libm: both are within 1.0 ULP, so they may differ by
 * one place (test_vmath.c measures). */
static bool one_place(const what *w, double a, double b) {
    const char *name = w->op == TR_OP_POW ? "pow" : w->op == TR_OP_MATH ? tr_math_info[w->sub].name : "";
    bool f32 = w->to != TR_TY_F64;
    if (kind_cls[w->to] != 'f' || !tr_vmath_find(name, f32, false, 'f'))
        return false;
    if (w->to == TR_TY_F16)
        return next_half(a, b) == b;
    return f32 ? nextafterf((float)a, (float)b) == (float)b : nextafter(a, b) == b;
}

static bool same_float(const what *w, double a, double b) {
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (a != b && one_place(w, a, b))
        return true;
    if (w->op == TR_OP_MATH && (w->sub == TR_MATH_FMAX || w->sub == TR_MATH_FMIN) && a == 0)
        return b == 0; /* C does not say which zero */
    return a == b && !signbit(a) == !signbit(b);
}

static bool same(const what *w, val a, val b) {
    if (!fp(w->to))
        return a.i == b.i;
    val n = b; /* the reference, rounded to the type */
    if (w->to == TR_TY_F16)
        n = (val){0, {(double)(_Float16)b.f[0], 0}};
    if (w->to == TR_TY_F32 || w->to == TR_TY_C64)
        n = (val){0, {(double)(float)b.f[0], (double)(float)b.f[1]}};
    return same_float(w, a.f[0], n.f[0]) && (kind_cls[w->to] != 'c' || same_float(w, a.f[1], n.f[1]));
}

/* --- compiled --- */

static tr_val emit_op(unit *u, const what *w, const tr_val *x) {
    const tr_ty *to = ty(u, w->to);
    tr_val a[3] = {x[0], x[1], TR_NOVAL};
    unsigned n = w->nargs;
    if (w->op == TR_OP_SELECT) { /* x != y ? y : x */
        a[0] = tr_emit2(&u->b, TR_OP_CMP, ty(u, TR_TY_BOOL), x[0], x[1]);
        tr_at(u->b.fn, a[0])->sub = TR_CMP_NE;
        a[1] = x[1];
        a[2] = x[0];
        n = 3;
    }
    if (w->op == TR_OP_MATH && n == 3)
        a[2] = tr_const_float(u->b.fn, to, 2.0);
    tr_val v = tr_emit_v(&u->b, w->op, to, n, a);
    tr_at(u->b.fn, v)->sub = w->sub;
    return v;
}

static tr_module *compile_scalar(const what *w, uint8_t level) {
    unit u;
    tr_val x[2];
    unit_open(&u);
    u.ctx.opts.opt_level = level;
    const tr_ty *args[2] = {ty(&u, w->from), ty(&u, w->from)};
    unit_fn(&u, "op", ty(&u, w->to), 2, args, x);
    tr_val r = emit_op(&u, w, x);
    tr_emit1(&u.b, TR_OP_RET, NULL, r);
    return unit_finish(&u);
}

/* z[i] = op(x[i], y[i]) */
static tr_module *compile_array(const what *w) {
    unit u;
    tr_val a[3], e[3];
    unit_open(&u);
    const tr_ty *args[3] = {arr_ty(&u, w->from, 1, TR_LAYOUT_C), arr_ty(&u, w->from, 1, TR_LAYOUT_C),
                            arr_ty(&u, w->to, 1, TR_LAYOUT_C)};
    unit_fn(&u, "ops", tr_ty_none(u.types), 3, args, a);
    tr_bld outer = u.b;
    tr_fn *lam = unit_lambda(&u);
    e[2] = tr_blk_param(lam, 0, ty(&u, TR_TY_I64), NULL);
    e[0] = tr_blk_param(lam, 0, ty(&u, w->from), NULL);
    e[1] = tr_blk_param(lam, 0, ty(&u, w->from), NULL);
    tr_emit1(&u.b, TR_OP_YIELD, NULL, emit_op(&u, w, e));
    u.b = outer;
    tr_val n = tr_emit1(&u.b, TR_OP_DIM, ty(&u, TR_TY_I64), a[0]);
    tr_val v = tr_emit_v(&u.b, TR_OP_PATTERN, tr_ty_none(u.types), 4, (tr_val[]){n, a[0], a[1], a[2]});
    tr_pat *p = TR_NEW(&u.ctx.arena, tr_pat);
    *p = (tr_pat){.nspace = 1, .nin = 2, .nout = 1, .lam = lam};
    tr_at(u.b.fn, v)->imm.pat = p;
    tr_emit1(&u.b, TR_OP_RET, NULL, v);
    return unit_finish(&u);
}

static unsigned nparts(tr_tyk k) {
    return kind_cls[k] == 'c' ? 2 : 1;
}

static void put_slots(tr_tyk k, val v, tr_slot *s) {
    uint8_t raw[16];
    put(k, v, raw);
    unsigned size = kind_size[k] / nparts(k);
    for (unsigned i = 0; i < nparts(k); i++) {
        memset(&s[i], 0x5a, sizeof s[i]); /* what lies beside a narrow part is not looked at */
        memcpy(&s[i], raw + i * size, size);
    }
}

static val get_slots(tr_tyk k, const tr_slot *s) {
    uint8_t raw[16];
    unsigned size = kind_size[k] / nparts(k);
    for (unsigned i = 0; i < nparts(k); i++)
        memcpy(raw + i * size, &s[i], size);
    return get(k, raw);
}

static void report(const what *w, const char *how, val x, val y, val got, val want) {
    CHECK(0, "%s x=(%lld %.17g %.17g) y=(%lld %.17g %.17g): got (%lld %.17g %.17g), want (%lld %.17g %.17g)",
          how, (long long)x.i, x.f[0], x.f[1], (long long)y.i, y.f[0], y.f[1], (long long)got.i, got.f[0],
          got.f[1], (long long)want.i, want.f[0], want.f[1]);
    (void)w;
}

static unsigned ran;

static void run(const what *w, uint8_t level) {
    static uint8_t x[MAX_VALS * MAX_VALS * 16], y[sizeof x], z[sizeof x];
    val v[MAX_VALS];
    unsigned nv = values(w->from, v), size = kind_size[w->from], n = 0, bad = 0;
    tr_module *one = compile_scalar(w, level), *all = level ? compile_array(w) : NULL;
    tr_frame frame;
    tr_rt_frame_init(&frame, NULL);
    for (unsigned i = 0; i < nv; i++)
        for (unsigned j = 0; j < (w->nargs > 1 ? nv : 1); j++, n++) {
            tr_slot args[4], ret[2];
            put_slots(w->from, v[i], args);
            put_slots(w->from, v[j], args + nparts(w->from));
            put(w->from, v[i], x + n * size);
            put(w->from, v[j], y + n * size);
            val want = reference(w, v[i], v[j]);
            if (one && tr_module_entry(one)(&frame, args, ret) != 0)
                CHECK(0, "raised");
            val got = get_slots(w->to, ret);
            if (one && !same(w, got, want) && bad++ < 3)
                report(w, level ? "scalar" : "scalar, level 0", v[i], v[j], got, want);
        }
    if (all) {
        int64_t count = n;
        tr_slot args[9] = {{.p = NULL},  {.p = x},    {.i = count}, {.p = NULL}, {.p = y},
                           {.i = count}, {.p = NULL}, {.p = z},     {.i = count}};
        CHECK(tr_module_entry(all)(&frame, args, args) == 0, "raised");
        for (unsigned i = 0; i < n; i++) {
            val a = get(w->from, x + i * size), b = get(w->from, y + i * size);
            val got = get(w->to, z + i * kind_size[w->to]), want = reference(w, a, b);
            if (!same(w, got, want) && bad++ < 6)
                report(w, "array", a, b, got, want);
        }
    }
    ran += n;
    if (one)
        tr_module_unref(one);
    if (all)
        tr_module_unref(all);
    tr_rt_frame_fini(&frame);
}

static void op_on(tr_op op, uint8_t sub, tr_tyk from, tr_tyk to, unsigned nargs) {
    what w = {op, sub, from, to, nargs};
    snprintf(now, 4096, "%s/%u %s -> %s", tr_op_info[op].name, sub, kind_name[from], kind_name[to]);
    run(&w, 2);
    run(&w, 0);
}

static bool one_of(const char *set, tr_tyk k) {
    return strchr(set, kind_cls[k]) != NULL;
}

static void tests(void) {
    static const struct {
        tr_op op;
        const char *classes;
        unsigned nargs;
    } rows[] = {
        {TR_OP_ADD, "iufc", 2},     {TR_OP_SUB, "iufc", 2},     {TR_OP_MUL, "iufc", 2},
        {TR_OP_DIV, "fc", 2},       {TR_OP_FLOORDIV, "iuf", 2}, {TR_OP_FLOORMOD, "iuf", 2},
        {TR_OP_REM, "iuf", 2},      {TR_OP_QUOT, "iu", 2},      {TR_OP_PYDIV, "c", 2},
        {TR_OP_POW, "iufc", 2},     {TR_OP_NEG, "iufc", 1},     {TR_OP_ABS, "iuf", 1},
        {TR_OP_AND, "biu", 2},      {TR_OP_OR, "biu", 2},       {TR_OP_XOR, "biu", 2},
        {TR_OP_NOT, "biu", 1},      {TR_OP_SHL, "iu", 2},       {TR_OP_SHR, "iu", 2},
        {TR_OP_SELECT, "biufc", 2},
    };
    for (int k = 0; k < TR_TY__SCALARS; k++) {
        tr_tyk t = (tr_tyk)k, real = t == TR_TY_C64 ? TR_TY_F32 : TR_TY_F64;
        for (unsigned r = 0; r < sizeof rows / sizeof *rows; r++)
            if (one_of(rows[r].classes, t))
                op_on(rows[r].op, 0, t, t, rows[r].nargs);
        for (int c = 0; c < TR_CMP__COUNT; c++)
            if (kind_cls[t] != 'c' || c == TR_CMP_EQ || c == TR_CMP_NE)
                op_on(TR_OP_CMP, (uint8_t)c, t, TR_TY_BOOL, 2);
        for (int to = 0; to < TR_TY__SCALARS; to++)
            op_on(TR_OP_CONV, 0, t, (tr_tyk)to, 1);
        for (int m = 0; m < TR_MATH__COUNT; m++) {
            const tr_mathinfo *i = &tr_math_info[m];
            if (kind_cls[t] == 'f')
                op_on(TR_OP_MATH, (uint8_t)m, t, i->result == 'b' ? TR_TY_BOOL : t, i->arity);
        }
        if (kind_cls[t] == 'c') {
            op_on(TR_OP_ABS, 0, t, real, 1);
            op_on(TR_OP_RE, 0, t, real, 1);
            op_on(TR_OP_IM, 0, t, real, 1);
        }
        if (kind_cls[t] == 'f' && t != TR_TY_F16)
            op_on(TR_OP_CPLX, 0, t, t == TR_TY_F32 ? TR_TY_C64 : TR_TY_C128, 2);
    }
    printf("%u values\n", ran);
}

int main(void) {
    return in_child(tests);
}
