/* The functions of the module math. Those of floats never raise: where Python raises "math domain error" or
 * OverflowError they give nan or an infinity, as Numba's do. Functions of integers check their arguments and
 * raise ValueError, or OverflowError where the result does not fit int64. float32 stays float32; other
 * numbers become float64. */
#include <math.h>

#include "lib/fam.h"
#include "lib/families.h"

static const tr_ty *i64_ty(tr_em *e) {
    return tr_fam_ty(e, TR_TY_I64);
}

/* promotion="numba": copysign takes integers for what they count as beside a float, others for float64. */
static const tr_ty *numba_float(tr_em *e, const tr_bcall *c, const tr_ty *a, const tr_ty *b) {
    bool copysign = tr_builtins[c->row].fn == tr_lib_math_fn && c->aux == TR_MATH_COPYSIGN;
    return tr_ty_arith(e->types, copysign ? 'c' : 'm', a, b, true);
}

/* Arguments brought to one float type; *weak says that all were literals. */
static bool floats(tr_em *e, const tr_bcall *c, uint32_t n, const tr_tv *x, tr_tv *out, bool *weak) {
    const tr_ty *t = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (!tr_fam_number(e, c, x[i], "bif"))
            return false;
        const tr_ty *s = tr_lib_scalar(e, x[i].ty);
        t = !t ? s : e->opts->promote_numba ? numba_float(e, c, t, s) : tr_lib_common(e, t, s);
    }
    *weak = t->weak;
    if (!tr_ty_is_float(t))
        t = tr_fam_ty(e, TR_TY_F64);
    for (uint32_t i = 0; i < n; i++)
        out[i] = tr_em_conv(e, x[i], t);
    return true;
}

/* --- one function of ir/math.def: aux --- */

bool tr_lib_math_fn(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v[4];
    bool weak;
    if (!floats(e, c, c->n, c->a, v, &weak))
        return false;
    *out = tr_fam_weaken(e, tr_em_math(e, (tr_mathfn)c->aux, c->n, v), weak);
    return true;
}

bool tr_lib_math_fabs(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v;
    bool weak;
    if (!floats(e, c, 1, c->a, &v, &weak))
        return false;
    *out = tr_fam_weaken(e, tr_em_op1(e, TR_OP_ABS, v), weak);
    return true;
}

bool tr_lib_math_pow(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v[2];
    bool weak;
    if (!floats(e, c, 2, c->a, v, &weak))
        return false;
    *out = tr_fam_weaken(e, tr_em_op2(e, TR_OP_POW, v[0], v[1]), weak);
    return true;
}

/* log(x[, base]): base 1 divides by zero as in Python. */
bool tr_lib_math_log(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v[2];
    bool weak, base = tr_fam_given(c->a[1]);
    if (!floats(e, c, base ? 2 : 1, c->a, v, &weak))
        return false;
    *out = tr_fam_math1(e, TR_MATH_LOG, v[0]);
    if (base &&
        !tr_lib_scalar_binary(e, TR_BIN_DIV, *out, tr_fam_math1(e, TR_MATH_LOG, v[1]), tr_lib_rules(e), out))
        return false;
    *out = tr_fam_weaken(e, *out, weak);
    return true;
}

/* degrees, radians: Python's constants. aux 0: degrees. */
bool tr_lib_math_angle(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v;
    bool weak;
    if (!floats(e, c, 1, c->a, &v, &weak))
        return false;
    tr_tv k = tr_em_num(e, v.ty, c->aux ? M_PI / 180.0 : 180.0 / M_PI);
    *out = tr_fam_weaken(e, tr_em_op2(e, TR_OP_MUL, v, k), weak);
    return true;
}

/* floor, ceil, trunc give integers. aux: the rounding function. */
bool tr_lib_math_toint(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0];
    if (!tr_fam_number(e, c, x, "bif"))
        return false;
    bool weak = tr_fam_weak(e, x);
    if (e->opts->promote_numba && tr_ty_class(tr_lib_scalar(e, x.ty)) == 'u') {
        *out = tr_em_conv(e, x, tr_fam_ty(e, TR_TY_U64));
        return true;
    }
    if (tr_fam_class(e, x) == 'f')
        x = tr_lib_float_to_int(e, tr_fam_math1(e, (tr_mathfn)c->aux, tr_em_strong(e, x)));
    *out = tr_fam_weaken(e, tr_lib_int_to_int(e, x), weak);
    return true;
}

/* --- functions made of several --- */

bool tr_lib_math_hypot(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, c->nvar + 1u);
    bool weak;
    if (c->nvar == 0) {
        *out = tr_em_f64(e, 0.0);
        return true;
    }
    if (!floats(e, c, c->nvar, c->var, v, &weak))
        return false;
    tr_tv r = tr_em_op1(e, TR_OP_ABS, v[0]);
    for (uint32_t i = 1; i < c->nvar; i++)
        r = tr_fam_math2(e, TR_MATH_HYPOT, i == 1 ? v[0] : r, v[i]);
    *out = tr_fam_weaken(e, r, weak);
    return true;
}

bool tr_lib_math_ldexp(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v, n;
    bool weak;
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64);
    if (!floats(e, c, 1, c->a, &v, &weak) || !tr_fam_int(e, c, c->a[1], "the exponent", &n))
        return false;
    tr_tv r = tr_em_callrt(e, TR_RT_LDEXP, f64, NULL, 2, (tr_tv[]){tr_em_conv(e, v, f64), n});
    *out = tr_fam_weaken(e, tr_em_conv(e, r, v.ty), weak);
    return true;
}

/* frexp: mantissa in [0.5, 1) and exponent. */
bool tr_lib_math_frexp(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v, r[2];
    bool weak;
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64);
    if (!floats(e, c, 1, c->a, &v, &weak))
        return false;
    tr_tv d = tr_em_conv(e, v, f64);
    r[0] = tr_em_conv(e, tr_em_callrt(e, TR_RT_FREXPM, f64, NULL, 1, &d), v.ty);
    r[1] = tr_em_callrt(e, TR_RT_FREXPE, i64_ty(e), NULL, 1, &d);
    if (e->opts->promote_numba)
        r[1] = tr_em_conv(e, r[1], tr_fam_ty(e, TR_TY_I32));
    *out = tr_em_tuple(e, 2, r);
    return true;
}

/* modf: fraction and whole part, both with x's sign; of an infinity 0 and itself. */
bool tr_lib_math_modf(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v, r[2];
    bool weak;
    if (!floats(e, c, 1, c->a, &v, &weak))
        return false;
    r[1] = tr_fam_math1(e, TR_MATH_TRUNC, v);
    tr_tv zero = tr_em_num(e, v.ty, 0.0), frac = tr_em_op2(e, TR_OP_SUB, v, r[1]);
    frac = tr_em_select(e, tr_fam_math1(e, TR_MATH_ISINF, v), zero, frac);
    r[0] = tr_fam_math2(e, TR_MATH_COPYSIGN, frac, v);
    *out = tr_em_tuple(e, 2, r);
    return true;
}

/* ulp: distance to the next float up, or down from the largest one. */
bool tr_lib_math_ulp(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v;
    bool weak;
    if (!floats(e, c, 1, c->a, &v, &weak))
        return false;
    v = tr_em_op1(e, TR_OP_ABS, v);
    tr_tv inf = tr_em_num(e, v.ty, HUGE_VAL);
    tr_tv up = tr_fam_math2(e, TR_MATH_NEXTAFTER, v, inf),
          down = tr_fam_math2(e, TR_MATH_NEXTAFTER, v, tr_em_num(e, v.ty, -HUGE_VAL));
    tr_tv r = tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, up, inf), tr_em_op2(e, TR_OP_SUB, v, down),
                           tr_em_op2(e, TR_OP_SUB, up, v));
    *out = tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, v, inf), inf, r);
    return true;
}

/* nextafter(x, y, *, steps) */
bool tr_lib_math_nextafter(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v[3];
    bool weak;
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64);
    if (!floats(e, c, 2, c->a, v, &weak))
        return false;
    if (!tr_fam_given(c->a[2])) {
        *out = tr_fam_math2(e, TR_MATH_NEXTAFTER, v[0], v[1]);
        return true;
    }
    if (v[0].ty != f64)
        return tr_em_error(e, "%s(): steps need float64 arguments", tr_fam_name(c));
    if (!tr_fam_int(e, c, c->a[2], "steps", &v[2]))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, v[2], tr_em_i64(e, 0)), TR_EXC_VALUE,
                "steps must be a non-negative integer", 0, NULL);
    *out = tr_em_callrt(e, TR_RT_NEXTSTEPS, f64, NULL, 3, v);
    return true;
}

/* isclose, as CPython: relative to the larger magnitude, or absolute; infinities only to themselves. */
bool tr_lib_math_isclose(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x[4] = {c->a[0], c->a[1], c->a[2], c->a[3]}, v[4];
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64);
    if (!x[2].ty)
        x[2] = tr_em_lit(e, tr_obj_float(&e->ctx->arena, 1e-9));
    if (!x[3].ty)
        x[3] = tr_em_lit(e, tr_obj_float(&e->ctx->arena, 0.0));
    for (int i = 0; i < 4; i++) {
        if (!tr_fam_number(e, c, x[i], "bif"))
            return false;
        v[i] = tr_em_conv(e, x[i], f64);
    }
    tr_tv zero = tr_em_f64(e, 0.0);
    tr_tv ok = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, v[2], zero), tr_em_cmp(e, TR_CMP_GE, v[3], zero));
    tr_em_check(e, ok, TR_EXC_VALUE, "tolerances must be non-negative", 0, NULL);
    tr_tv same = tr_em_cmp(e, TR_CMP_EQ, v[0], v[1]);
    tr_tv inf = tr_fam_or(e, tr_fam_math1(e, TR_MATH_ISINF, v[0]), tr_fam_math1(e, TR_MATH_ISINF, v[1]));
    tr_tv diff = tr_em_op1(e, TR_OP_ABS, tr_em_op2(e, TR_OP_SUB, v[1], v[0]));
    tr_tv near = tr_em_cmp(e, TR_CMP_LE, diff, v[3]);
    for (int i = 0; i < 2; i++)
        near = tr_fam_or(
            e, near,
            tr_em_cmp(e, TR_CMP_LE, diff, tr_em_op1(e, TR_OP_ABS, tr_em_op2(e, TR_OP_MUL, v[2], v[i]))));
    *out = tr_fam_or(e, same, tr_fam_and(e, tr_fam_not(e, inf), near));
    return true;
}

/* --- integers --- */

static void not_negative(tr_em *e, tr_tv x, const char *text) {
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, x, tr_em_i64(e, 0)), TR_EXC_VALUE, text, 0, NULL);
}

/* The runtime gives -1 for what does not fit. */
static tr_tv fits(tr_em *e, tr_tv r) {
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, r, tr_em_i64(e, 0)), TR_EXC_OVERFLOW,
                "the result does not fit int64", 0, NULL);
    return r;
}

bool tr_lib_math_factorial(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv n;
    if (!tr_fam_int(e, c, c->a[0], "the argument", &n))
        return false;
    not_negative(e, n, "factorial() not defined for negative values");
    *out = fits(e, tr_em_callrt(e, TR_RT_FACTORIAL, i64_ty(e), NULL, 1, &n));
    return true;
}

bool tr_lib_math_isqrt(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv n;
    if (!tr_fam_int(e, c, c->a[0], "the argument", &n))
        return false;
    not_negative(e, n, "isqrt() argument must be nonnegative");
    *out = tr_em_callrt(e, TR_RT_ISQRT, i64_ty(e), NULL, 1, &n);
    return true;
}

/* comb(n, k), perm(n, k=None). aux 1: perm. */
bool tr_lib_math_choose(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv v[2];
    if (!tr_fam_int(e, c, c->a[0], "n", &v[0]))
        return false;
    v[1] = v[0];
    if (tr_fam_given(c->a[1]) && !tr_fam_int(e, c, c->a[1], "k", &v[1]))
        return false;
    not_negative(e, v[0], "n must be a non-negative integer");
    not_negative(e, v[1], "k must be a non-negative integer");
    *out = fits(e, tr_em_callrt(e, c->aux ? TR_RT_PERM : TR_RT_COMB, i64_ty(e), NULL, 2, v));
    return true;
}

/* gcd(*integers), lcm(*integers). aux 1: lcm. */
bool tr_lib_math_gcd(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv r = tr_em_i64(e, c->aux ? 1 : 0), v;
    for (uint32_t i = 0; i < c->nvar; i++) {
        if (!tr_fam_int(e, c, c->var[i], "an argument", &v))
            return false;
        if (i == 0 && c->nvar > 1 && !c->aux) {
            r = v;
            continue;
        }
        r = tr_em_callrt(e, c->aux ? TR_RT_LCM : TR_RT_GCD, i64_ty(e), NULL, 2, (tr_tv[]){r, v});
        if (c->aux)
            r = fits(e, r);
    }
    *out = c->aux || c->nvar == 0 ? r : fits(e, r);
    return true;
}

/* --- sequences --- */

static bool sequence(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *out) {
    if (x.ty->kind == TR_TY_GENEXPR)
        return tr_em_collect(e, tr_em_item(e, x, 0), tr_em_item(e, x, 1), out);
    bool ok = x.ty->kind == TR_TY_TUPLE || (tr_lib_is_array(x) && x.ty->ndim == 1);
    if (!ok)
        return tr_em_error(e, "%s() takes a tuple or a one-dimensional array, not %s", tr_fam_name(c),
                           tr_em_tyname(e, x.ty));
    return tr_fam_as_array(e, c, x, NULL, out);
}

/* A sequence of real numbers as a contiguous float64 array. */
static bool doubles(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *a) {
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64);
    if (!sequence(e, c, x, a))
        return false;
    if (tr_ty_is_complex(a->ty->elem))
        return tr_em_error(e, "%s() takes real numbers", tr_fam_name(c));
    if (a->ty->elem != f64)
        return tr_fam_as_array(e, c, *a, f64, a);
    return a->ty->layout == TR_LAYOUT_C || tr_em_copy(e, *a, TR_LAYOUT_C, a);
}

static void same_length(tr_em *e, tr_tv n, tr_tv m, const char *text) {
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, n, m), TR_EXC_VALUE, text, 0, NULL);
}

/* fsum: exact sum of the items, rounded once. */
bool tr_lib_math_fsum(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    if (!doubles(e, c, c->a[0], &a))
        return false;
    *out = tr_em_callrt(e, TR_RT_FSUM, tr_fam_ty(e, TR_TY_F64), NULL, 1, &a);
    return true;
}

static bool lam_product(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                        tr_tv *yields) {
    (void)idx;
    (void)caps;
    const tr_ty *t = d->init[0].ty;
    yields[0] = tr_em_op2(e, TR_OP_MUL, tr_em_conv(e, elems[0], t), tr_em_conv(e, elems[1], t));
    return true;
}

/* sumprod: integers add up as int64, anything else exactly and rounded once. */
bool tr_lib_math_sumprod(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv in[2];
    bool ints = true;
    for (int i = 0; i < 2; i++) {
        if (!sequence(e, c, c->a[i], &in[i]))
            return false;
        ints = ints && (tr_ty_is_int(in[i].ty->elem) || in[i].ty->elem->kind == TR_TY_BOOL);
    }
    tr_tv n = tr_em_dim(e, in[0], 0);
    same_length(e, n, tr_em_dim(e, in[1], 0), "Inputs are not the same length");
    if (!ints) {
        for (int i = 0; i < 2; i++)
            if (!doubles(e, c, in[i], &in[i]))
                return false;
        *out = tr_em_callrt(e, TR_RT_SUMPROD, tr_fam_ty(e, TR_TY_F64), NULL, 2, in);
        return true;
    }
    tr_redk add = TR_RED_ADD;
    tr_tv init = tr_em_i64(e, 0);
    tr_pdesc d = {.nspace = 1,
                  .nin = 2,
                  .nred = 1,
                  .space = &n,
                  .in = in,
                  .reds = &add,
                  .init = &init,
                  .lam = lam_product};
    return tr_em_pattern(e, &d, out);
}

/* dist(p, q): scaled by the largest difference, so that nothing overflows on the way. */
typedef struct dist {
    bool scaled;
} dist;

static bool lam_dist(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                     tr_tv *yields) {
    (void)idx;
    const dist *w = d->user;
    const tr_ty *t = d->init[0].ty;
    tr_tv x = tr_em_op1(e, TR_OP_ABS,
                        tr_em_op2(e, TR_OP_SUB, tr_em_conv(e, elems[0], t), tr_em_conv(e, elems[1], t)));
    if (w->scaled) {
        x = tr_em_op2(e, TR_OP_DIV, x, caps[0]);
        x = tr_em_op2(e, TR_OP_MUL, x, x);
    }
    yields[0] = x;
    return true;
}

static bool dist_pattern(tr_em *e, tr_redk red, const tr_tv *in, tr_tv n, const tr_ty *t, const tr_tv *scale,
                         tr_tv *out) {
    dist w = {scale != NULL};
    tr_tv init = tr_em_num(e, t, 0.0);
    tr_pdesc d = {.nspace = 1,
                  .nin = 2,
                  .nred = 1,
                  .ncap = scale ? 1 : 0,
                  .space = &n,
                  .in = in,
                  .reds = &red,
                  .init = &init,
                  .caps = scale,
                  .lam = lam_dist,
                  .user = &w};
    return tr_em_pattern(e, &d, out);
}

bool tr_lib_math_dist(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv in[2], sum, scale;
    for (int i = 0; i < 2; i++) {
        if (!sequence(e, c, c->a[i], &in[i]))
            return false;
        if (tr_ty_is_complex(in[i].ty->elem))
            return tr_em_error(e, "%s() takes real numbers", tr_fam_name(c));
    }
    const tr_ty *t = tr_lib_common(e, in[0].ty->elem, in[1].ty->elem);
    if (!tr_ty_is_float(t))
        t = tr_fam_ty(e, TR_TY_F64);
    tr_tv n = tr_em_dim(e, in[0], 0), zero = tr_em_num(e, t, 0.0), one = tr_em_num(e, t, 1.0),
          inf = tr_em_num(e, t, HUGE_VAL);
    same_length(e, n, tr_em_dim(e, in[1], 0), "both points must have the same number of dimensions");
    if (!dist_pattern(e, TR_RED_MAX, in, n, t, NULL, &scale))
        return false;
    tr_tv plain = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GT, scale, zero), tr_em_cmp(e, TR_CMP_LT, scale, inf));
    tr_tv by = tr_em_select(e, plain, scale, one);
    if (!dist_pattern(e, TR_RED_ADD, in, n, t, &by, &sum))
        return false;
    /* no distance, or an infinite or undefined one, is the largest difference itself */
    *out = tr_em_select(e, plain, tr_em_op2(e, TR_OP_MUL, by, tr_fam_math1(e, TR_MATH_SQRT, sum)), scale);
    return true;
}
