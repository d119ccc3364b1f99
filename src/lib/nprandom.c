/* Random numbers: np.random's functions over the thread's own RandomState, and Python's random over another generator. All numbers come from the runtime
 * (rt/random.c, rt/pyrandom.c), which keeps the generators; here stand what arguments may be, as NumPy and CPython have it, and what is made of the numbers. A new array is
 * filled by one call. Each call changes the thread's generator, so calls stay in the order in which they are written; ranges of a loop over a prange have
 * generators of their own (rt/mt.c).
 * Parameters of distributions are numbers. */
#include <math.h>

#include "lib/fam.h"
#include "lib/families.h"
#include "lib/kinds.h"

static const tr_ty *f64(tr_em *e) {
    return tr_fam_ty(e, TR_TY_F64);
}
static const tr_ty *i64(tr_em *e) {
    return tr_fam_ty(e, TR_TY_I64);
}
static const tr_ty *u64(tr_em *e) {
    return tr_fam_ty(e, TR_TY_U64);
}
static tr_tv run(tr_em *e, tr_rt row, const tr_ty *ret, uint32_t n, const tr_tv *x) {
    return tr_em_callrt(e, row, ret, NULL, n, x);
}
static tr_tv as_u64(tr_em *e, tr_tv x) {
    return tr_em_conv(e, x, u64(e));
}
static tr_tv zero(tr_em *e) {
    return tr_em_i64(e, 0);
}

/* --- parameters of distributions --- */

/* What NumPy asks of a parameter. */
enum rule { ANY, NOT_NEGATIVE, POSITIVE, FROM_0_TO_1, ABOVE_0_TO_1, FROM_0_BELOW_1, ABOVE_1, POISSON_MEAN };

typedef struct param {
    const char *name;
    uint8_t rule;
    double dflt; /* where the call leaves it out, or the function has no such parameter */
} param;

static const param params[][3] = {
    [TR_RANDOM_BETA] = {{"a", POSITIVE, 0}, {"b", POSITIVE, 0}},
    [TR_RANDOM_CHISQUARE] = {{"df", POSITIVE, 0}},
    [TR_RANDOM_EXPONENTIAL] = {{"scale", NOT_NEGATIVE, 1}},
    [TR_RANDOM_F] = {{"dfnum", POSITIVE, 0}, {"dfden", POSITIVE, 0}},
    [TR_RANDOM_GAMMA] = {{"shape", NOT_NEGATIVE, 0}, {"scale", NOT_NEGATIVE, 1}},
    [TR_RANDOM_GUMBEL] = {{"loc", ANY, 0}, {"scale", NOT_NEGATIVE, 1}},
    [TR_RANDOM_LAPLACE] = {{"loc", ANY, 0}, {"scale", NOT_NEGATIVE, 1}},
    [TR_RANDOM_LOGISTIC] = {{"loc", ANY, 0}, {"scale", NOT_NEGATIVE, 1}},
    [TR_RANDOM_LOGNORMAL] = {{"mean", ANY, 0}, {"sigma", NOT_NEGATIVE, 1}},
    [TR_RANDOM_NONCENTRAL_CHISQUARE] = {{"df", POSITIVE, 0}, {"nonc", NOT_NEGATIVE, 0}},
    [TR_RANDOM_NONCENTRAL_F] = {{"dfnum", POSITIVE, 0}, {"dfden", POSITIVE, 0}, {"nonc", NOT_NEGATIVE, 0}},
    [TR_RANDOM_NORMAL] = {{"loc", ANY, 0}, {"scale", NOT_NEGATIVE, 1}},
    [TR_RANDOM_PARETO] = {{"a", POSITIVE, 0}},
    [TR_RANDOM_POWER] = {{"a", POSITIVE, 0}},
    [TR_RANDOM_RAYLEIGH] = {{"scale", NOT_NEGATIVE, 1}},
    [TR_RANDOM_T] = {{"df", POSITIVE, 0}},
    [TR_RANDOM_TRIANGULAR] = {{"left", ANY, 0}, {"mode", ANY, 0}, {"right", ANY, 0}},
    [TR_RANDOM_UNIFORM] = {{"low", ANY, 0}, {"high", ANY, 1}},
    [TR_RANDOM_VONMISES] = {{"mu", ANY, 0}, {"kappa", NOT_NEGATIVE, 0}},
    [TR_RANDOM_WALD] = {{"mean", POSITIVE, 0}, {"scale", POSITIVE, 0}},
    [TR_RANDOM_WEIBULL] = {{"a", NOT_NEGATIVE, 0}},
    [TR_RANDOM_BINOMIAL] = {{"p", FROM_0_TO_1, 0}},
    [TR_RANDOM_GEOMETRIC] = {{"p", ABOVE_0_TO_1, 0}},
    [TR_RANDOM_LOGSERIES] = {{"p", FROM_0_BELOW_1, 0}},
    [TR_RANDOM_NEGATIVE_BINOMIAL] = {{"n", POSITIVE, 0}, {"p", FROM_0_TO_1, 0}},
    [TR_RANDOM_POISSON] = {{"lam", POISSON_MEAN, 1}},
    [TR_RANDOM_ZIPF] = {{"a", ABOVE_1, 0}},
    [TR_RANDOM_PY_BETA] = {{"alpha", ANY, 0}, {"beta", ANY, 0}},
    [TR_RANDOM_PY_EXPO] = {{"lambd", ANY, 1}},
    [TR_RANDOM_PY_GAMMA] = {{"alpha", ANY, 0}, {"beta", ANY, 0}},
    [TR_RANDOM_PY_GAUSS] = {{"mu", ANY, 0}, {"sigma", ANY, 1}},
    [TR_RANDOM_PY_LOGNORM] = {{"mu", ANY, 0}, {"sigma", ANY, 1}},
    [TR_RANDOM_PY_NORMAL] = {{"mu", ANY, 0}, {"sigma", ANY, 1}},
    [TR_RANDOM_PY_PARETO] = {{"alpha", ANY, 0}},
    [TR_RANDOM_PY_TRIANGULAR] = {{"low", ANY, 0}, {"high", ANY, 1}, {"mode", ANY, 0}},
    [TR_RANDOM_PY_UNIFORM] = {{"a", ANY, 0}, {"b", ANY, 0}},
    [TR_RANDOM_PY_VONMISES] = {{"mu", ANY, 0}, {"kappa", ANY, 0}},
    [TR_RANDOM_PY_WEIBULL] = {{"alpha", ANY, 0}, {"beta", ANY, 0}},
};

static void need(tr_em *e, tr_tv cond, const param *p, const char *text) {
    tr_em_check(e, cond, TR_EXC_VALUE, tr_arena_printf(&e->ctx->arena, text, p->name, p->name, p->name), 0,
                NULL);
}

static tr_tv between(tr_em *e, tr_tv x, tr_cmpop least, tr_cmpop most) {
    return tr_fam_and(e, tr_em_cmp(e, least, x, tr_em_f64(e, 0.0)), tr_em_cmp(e, most, x, tr_em_f64(e, 1.0)));
}

static void keep_rule(tr_em *e, const param *p, tr_tv x) {
    tr_tv none = tr_em_f64(e, 0.0), ok;
    switch (p->rule) {
    case NOT_NEGATIVE: /* neither is -0.0; but NaN may be what it likes */
        ok = tr_fam_or(e, tr_fam_not(e, tr_fam_math1(e, TR_MATH_SIGNBIT, x)), tr_em_cmp(e, TR_CMP_NE, x, x));
        need(e, ok, p, "%s < 0");
        break;
    case POSITIVE: need(e, tr_fam_not(e, tr_em_cmp(e, TR_CMP_LE, x, none)), p, "%s <= 0"); break;
    case FROM_0_TO_1: need(e, between(e, x, TR_CMP_GE, TR_CMP_LE), p, "%s < 0, %s > 1 or %s is NaN"); break;
    case ABOVE_0_TO_1:
        need(e, between(e, x, TR_CMP_GT, TR_CMP_LE), p, "%s <= 0, %s > 1 or %s contains NaNs");
        break;
    case FROM_0_BELOW_1:
        need(e, between(e, x, TR_CMP_GE, TR_CMP_LT), p, "%s < 0, %s >= 1 or %s is NaN");
        break;
    case ABOVE_1: need(e, tr_em_cmp(e, TR_CMP_GT, x, tr_em_f64(e, 1.0)), p, "%s <= 1 or %s is NaN"); break;
    case POISSON_MEAN:
        need(e, tr_em_cmp(e, TR_CMP_GE, x, none), p, "%s < 0 or %s is NaN");
        need(e, tr_em_cmp(e, TR_CMP_LE, x, tr_em_f64(e, 0x1p63 - 10 * 0x1.6a09e667f3bcdp31)), p,
             "%s value too large");
        break;
    default: break;
    }
}

static bool parameter(tr_em *e, const tr_bcall *c, tr_tv x, const char *name, tr_tv *out) {
    if (tr_lib_is_array(x) || x.ty->kind == TR_TY_TUPLE)
        return tr_em_unsupported(e, "random-arrays", "%s(): %s is no number", tr_fam_name(c), name);
    if (!tr_fam_number(e, c, x, "bif"))
        return false;
    *out = tr_em_conv(e, x, f64(e));
    return true;
}

/* The first n arguments as parameters of the distribution; those that it has besides, by their defaults. */
static bool parameters(tr_em *e, const tr_bcall *c, int what, uint32_t first, uint32_t n, tr_tv *out) {
    for (uint32_t k = 0; k < 3; k++) {
        const param *p = &params[what][k];
        out[k] = tr_em_f64(e, p->dflt);
        if (k >= n || !p->name || !c->a[first + k].ty)
            continue;
        if (!parameter(e, c, c->a[first + k], p->name, &out[k]))
            return false;
        keep_rule(e, p, out[k]);
    }
    return true;
}

/* --- where numbers go --- */

/* A new array of the extents that size= names, with an axis of `extra` more, where that is given. */
static bool sized(tr_em *e, const tr_bcall *c, tr_tv size, const tr_ty *elem, tr_tv extra, tr_tv *out) {
    tr_tv n[TR_MAX_NDIM + 1];
    uint32_t nd = 0;
    if (tr_fam_given(size) && tr_fam_class(e, size) == 'b')
        return tr_em_error(e, "%s(): size is an integer or a tuple of them, not %s", tr_fam_name(c),
                           tr_em_tyname(e, size.ty));
    if (tr_fam_given(size) && !tr_fam_extents(e, c, size, n, &nd))
        return false;
    if (extra.ty) {
        if (nd == TR_MAX_NDIM)
            return tr_em_error(e, "%s(): more than %d dimensions", tr_fam_name(c), TR_MAX_NDIM);
        n[nd++] = extra;
    }
    *out = tr_em_alloc(e, elem, nd, TR_LAYOUT_C, n);
    return true;
}

/* All items of a new array in a row. */
static tr_tv in_a_row(tr_em *e, tr_tv a) {
    tr_tv n = tr_em_size(e, a);
    if (a.ty->ndim == 1)
        return a;
    return tr_em_restride(e, tr_ty_array(e->types, a.ty->elem, 1, TR_LAYOUT_C, false), a, zero(e), &n, NULL);
}

static const tr_tv absent = {NULL, TR_NOVAL};

/* --- floats --- */

/* One number. Those that programs draw one by one have short ways. */
static tr_tv one_float(tr_em *e, int what, const tr_tv *p) {
    switch (what) {
    case TR_RANDOM_RANDOM: return run(e, TR_RT_NP_RANDOM, f64(e), 0, NULL);
    case TR_RANDOM_GAUSS: return run(e, TR_RT_NP_GAUSS, f64(e), 0, NULL);
    case TR_RANDOM_UNIFORM:
    case TR_RANDOM_NORMAL: {
        tr_tv x = run(e, what == TR_RANDOM_UNIFORM ? TR_RT_NP_RANDOM : TR_RT_NP_GAUSS, f64(e), 0, NULL);
        return tr_em_op2(e, TR_OP_ADD, p[0], tr_em_op2(e, TR_OP_MUL, p[1], x));
    }
    default: return run(e, TR_RT_NP_FLOAT, f64(e), 4, (tr_tv[]){tr_em_i64(e, what), p[0], p[1], p[2]});
    }
}

static bool floats(tr_em *e, const tr_bcall *c, int what, tr_tv size, const tr_tv *p, tr_tv *out) {
    if (!tr_fam_given(size)) {
        *out = one_float(e, what, p);
        return true;
    }
    if (!sized(e, c, size, f64(e), absent, out))
        return false;
    run(e, TR_RT_NP_FILL, NULL, 5, (tr_tv[]){tr_em_i64(e, what), in_a_row(e, *out), p[0], p[1], p[2]});
    return true;
}

/* aux: TR_RANDOM_*. Parameters: those of the distribution, size. */
bool tr_lib_rnd_float(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv p[3];
    if (!parameters(e, c, c->aux, 0, c->n - 1, p))
        return false;
    if (c->aux == TR_RANDOM_UNIFORM) { /* the least, and how far above it */
        p[1] = tr_em_op2(e, TR_OP_SUB, p[1], p[0]);
        tr_em_check(e, tr_fam_math1(e, TR_MATH_ISFINITE, p[1]), TR_EXC_OVERFLOW, "Range exceeds valid bounds",
                    0, NULL);
    }
    if (c->aux == TR_RANDOM_TRIANGULAR) {
        const param *q = params[c->aux];
        need(e, tr_fam_not(e, tr_em_cmp(e, TR_CMP_GT, p[0], p[1])), q, "left > mode");
        need(e, tr_fam_not(e, tr_em_cmp(e, TR_CMP_GT, p[1], p[2])), q, "mode > right");
        need(e, tr_em_cmp(e, TR_CMP_NE, p[0], p[2]), q, "left == right");
    }
    return floats(e, c, c->aux, c->a[c->n - 1], p, out);
}

/* rand and randn: the extents are the arguments. */
bool tr_lib_rnd_rand(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv none = tr_em_f64(e, 0.0), p[3] = {none, none, none};
    tr_tv size = c->nvar ? tr_em_tuple(e, c->nvar, c->var) : absent;
    return floats(e, c, c->aux, size, p, out);
}

/* --- counts --- */

static bool counts(tr_em *e, const tr_bcall *c, tr_tv n, const tr_tv *p, tr_tv *out) {
    tr_tv size = c->a[c->n - 1], what = tr_em_i64(e, c->aux);
    if (!tr_fam_given(size)) {
        *out = run(e, TR_RT_NP_COUNT, i64(e), 4, (tr_tv[]){what, n, p[0], p[1]});
        return true;
    }
    if (!sized(e, c, size, i64(e), absent, out))
        return false;
    run(e, TR_RT_NP_FILLCOUNTS, NULL, 5, (tr_tv[]){what, in_a_row(e, *out), n, p[0], p[1]});
    return true;
}

/* aux: TR_RANDOM_*. Parameters: those of the distribution, size. */
bool tr_lib_rnd_count(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv p[3];
    return parameters(e, c, c->aux, 0, c->n - 1, p) && counts(e, c, zero(e), p, out);
}

static void need_least(tr_em *e, tr_tv x, int64_t least, const char *text) {
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, x, tr_em_i64(e, least)), TR_EXC_VALUE, text, 0, NULL);
}

/* Parameters: n, p, size. */
bool tr_lib_rnd_binomial(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv p[3], n;
    if (!parameters(e, c, c->aux, 1, 1, p) || !tr_fam_int(e, c, c->a[0], "n", &n))
        return false;
    need_least(e, n, 0, "n < 0");
    return counts(e, c, n, p, out);
}

/* Parameters: ngood, nbad, nsample, size. */
bool tr_lib_rnd_hypergeometric(tr_em *e, const tr_bcall *c, tr_tv *out) {
    static const char *const names[] = {"ngood", "nbad", "nsample"};
    tr_tv x[4];
    for (int k = 0; k < 3; k++)
        if (!tr_fam_int(e, c, c->a[k], names[k], &x[k + 1]))
            return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, tr_em_op2(e, TR_OP_ADD, x[1], x[2]), x[3]), TR_EXC_VALUE,
                "ngood + nbad < nsample", 0, NULL);
    need_least(e, x[1], 0, "ngood < 0");
    need_least(e, x[2], 0, "nbad < 0");
    need_least(e, x[3], 1, "nsample < 1 or nsample is NaN");
    if (!tr_fam_given(c->a[3])) {
        *out = run(e, TR_RT_NP_HYPER, i64(e), 3, x + 1);
        return true;
    }
    if (!sized(e, c, c->a[3], i64(e), absent, out))
        return false;
    x[0] = in_a_row(e, *out);
    run(e, TR_RT_NP_FILLHYPER, NULL, 4, x);
    return true;
}

/* --- whole numbers in a range --- */

/* The range of randint: from low to high, without it, in the 64 bits of wide; high is one less already. */
typedef struct bounds {
    const tr_ty *t, *wide;
    tr_tv low, most;
} bounds;

static const char *out_of(tr_em *e, const char *name, const tr_ty *t) {
    return tr_arena_printf(&e->ctx->arena, "%s is out of bounds for %s", name,
                           t->kind == TR_TY_BOOL ? "bool" : tr_tyk_user_name((tr_tyk)t->kind));
}

/* An integer in the type's 64 bits: ValueError where that has no room for it. */
static bool bound(tr_em *e, const tr_bcall *c, tr_tv x, const char *name, const bounds *b, tr_tv *out) {
    char k = tr_fam_class(e, x);
    if (k != 'i' && k != 'b')
        return tr_em_error(e, "%s(): %s must be an integer, not %s", tr_fam_name(c), name,
                           tr_em_tyname(e, x.ty));
    tr_bigint v;
    if (tr_tv_lit_integer(x, &v) && !tr_bigint_fits(&v, b->wide)) {
        tr_em_check(e, tr_em_bool(e, false), TR_EXC_VALUE, out_of(e, name, b->t), 0, NULL);
        *out = tr_em_conv(e, zero(e), b->wide);
        return true;
    }
    const tr_ty *from = tr_ty_strong(e->types, tr_lib_scalar(e, x.ty));
    bool from_unsigned = tr_ty_class(from) != 'i', to_unsigned = b->wide->kind == TR_TY_U64;
    *out = tr_em_conv(e, tr_em_strong(e, x), b->wide);
    if (from_unsigned != to_unsigned && (to_unsigned || from->kind == TR_TY_U64)) /* the other one's sign */
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, tr_em_conv(e, *out, i64(e)), zero(e)), TR_EXC_VALUE,
                    out_of(e, name, b->t), 0, NULL);
    return true;
}

/* high - 1. A literal may be one above what 64 bits hold. */
static bool upper(tr_em *e, const tr_bcall *c, tr_tv x, bounds *b) {
    tr_bigint v, one = tr_bigint_of(1);
    int64_t small;
    if (tr_tv_lit_integer(x, &v) && !tr_tv_lit_int(x, &small) && !v.negative &&
        tr_bigint_sub(&e->ctx->arena, &v, &one, &v) == TR_BIGINT_FINE)
        return bound(e, c, tr_em_lit(e, tr_obj_bigint(&e->ctx->arena, v)), "high", b, &b->most);
    if (!bound(e, c, x, "high", b, &b->most))
        return false;
    tr_tv none = tr_em_conv(e, zero(e), b->wide), is_0 = tr_em_cmp(e, TR_CMP_EQ, b->low, none);
    tr_em_check(e, tr_fam_or(e, tr_fam_not(e, is_0), tr_em_cmp(e, TR_CMP_GT, b->most, none)), TR_EXC_VALUE,
                "high <= 0", 0, NULL);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_LT, b->low, b->most), TR_EXC_VALUE, "low >= high", 0, NULL);
    b->most = tr_em_op2(e, TR_OP_SUB, b->most, tr_em_conv(e, tr_em_i64(e, 1), b->wide));
    return true;
}

/* Types of less than 64 bits hold both ends. */
static void keep_narrow(tr_em *e, const bounds *b) {
    unsigned bits = b->t->kind == TR_TY_BOOL ? 1 : 8u * (unsigned)tr_ty_size(b->t);
    if (bits == 64)
        return;
    bool sign = tr_ty_class(b->t) == 'i';
    int64_t most = (int64_t)(UINT64_MAX >> (64u - bits + sign));
    tr_tv hi = tr_em_conv(e, tr_em_i64(e, most), b->wide),
          lo = tr_em_conv(e, tr_em_i64(e, sign ? -most - 1 : 0), b->wide);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, b->low, lo), TR_EXC_VALUE, out_of(e, "low", b->t), 0, NULL);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_LE, b->most, hi), TR_EXC_VALUE, out_of(e, "high", b->t), 0, NULL);
}

/* Parameters: low, high, size, dtype. */
bool tr_lib_rnd_randint(tr_em *e, const tr_bcall *c, tr_tv *out) {
    bounds b = {.t = i64(e)};
    tr_tv low = c->a[0], high = c->a[1];
    if (tr_fam_given(c->a[3]) && !tr_fam_dtype(e, c, c->a[3], &b.t))
        return false;
    if (!tr_ty_is_int(b.t) && b.t->kind != TR_TY_BOOL)
        return tr_em_error(e, "randint(): dtype must be of integers, not %s", tr_em_tyname(e, b.t));
    b.wide = tr_ty_class(b.t) == 'i' ? i64(e) : u64(e);
    if (!tr_fam_given(high)) {
        high = low;
        low = tr_em_lit(e, tr_obj_int(&e->ctx->arena, 0));
    }
    if (!bound(e, c, low, "low", &b, &b.low) || !upper(e, c, high, &b))
        return false;
    keep_narrow(e, &b);
    tr_tv least = as_u64(e, b.low), most = tr_em_op2(e, TR_OP_SUB, as_u64(e, b.most), least);
    int64_t bits = b.t->kind == TR_TY_BOOL ? 1 : 8 * (int64_t)tr_ty_size(b.t);
    if (tr_fam_given(c->a[2])) {
        if (!sized(e, c, c->a[2], b.t, absent, out))
            return false;
        run(e, TR_RT_NP_FILLINTS, NULL, 4, (tr_tv[]){tr_em_i64(e, bits), in_a_row(e, *out), least, most});
        return true;
    }
    tr_tv x = bits < 32 ? run(e, TR_RT_NP_PIECE, u64(e), 2, (tr_tv[]){tr_em_i64(e, bits), most})
                        : run(e, TR_RT_NP_UPTO, u64(e), 1, &most);
    *out = tr_em_conv(e, tr_em_op2(e, TR_OP_ADD, least, x), b.t);
    return true;
}

/* --- seeds --- */

bool tr_lib_rnd_seed(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0], a;
    const char *range = "Seed must be between 0 and 2**32 - 1";
    *out = tr_em_none(e);
    if (!tr_fam_given(x)) {
        run(e, TR_RT_NP_SEEDANY, NULL, 0, NULL);
        return true;
    }
    if (tr_lib_is_array(x) || x.ty->kind == TR_TY_TUPLE) {
        if (!tr_fam_as_array(e, c, x, NULL, &a))
            return false;
        if (a.ty->ndim != 1 || !tr_ty_is_int(a.ty->elem))
            return tr_em_error(e, "seed(): an array of seeds has one axis and integers");
        if (!tr_fam_copy_as(e, a, i64(e), TR_LAYOUT_C, &a))
            return false;
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GT, tr_em_dim(e, a, 0), zero(e)), TR_EXC_VALUE,
                    "Seed must be non-empty", 0, NULL);
        tr_tv row[2] = {tr_em_i64(e, tr_lib_is_array(x)), a}; /* NumPy squeezes arrays, not lists */
        tr_em_check(e, run(e, TR_RT_NP_SEEDROW, tr_fam_ty(e, TR_TY_BOOL), 2, row), TR_EXC_VALUE, range, 0,
                    NULL);
        return true;
    }
    if (!tr_fam_int(e, c, x, "the seed", &x))
        return false;
    tr_tv fits = tr_em_cmp(e, TR_CMP_LE, as_u64(e, x), as_u64(e, tr_em_i64(e, UINT32_MAX)));
    tr_em_check(e, fits, TR_EXC_VALUE, range, 0, NULL);
    x = as_u64(e, x);
    run(e, TR_RT_NP_SEED, NULL, 1, &x);
    return true;
}

/* Python's takes the magnitude. */
bool tr_lib_rnd_py_seed(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0];
    char k = x.ty ? tr_fam_class(e, x) : 0;
    *out = tr_em_none(e);
    if (!tr_fam_given(x)) {
        run(e, TR_RT_PY_SEEDANY, NULL, 0, NULL);
        return true;
    }
    if (k != 'i' && k != 'b')
        return tr_em_error(e, "seed() takes an integer or None, not %s", tr_em_tyname(e, x.ty));
    x = tr_em_strong(e, x);
    if (tr_ty_class(x.ty) == 'i') {
        x = tr_em_conv(e, x, i64(e));
        tr_tv minus = tr_em_op2(e, TR_OP_SUB, zero(e), x);
        x = tr_em_select(e, tr_em_cmp(e, TR_CMP_LT, x, zero(e)), minus, x);
    }
    x = as_u64(e, x);
    run(e, TR_RT_PY_SEED, NULL, 1, &x);
    return true;
}

/* --- order --- */

static bool lam_index(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                      tr_tv *yields) {
    (void)e;
    (void)d;
    (void)elems;
    (void)caps;
    yields[0] = idx[0];
    return true;
}

/* The numbers below n in a row. */
static bool numbers(tr_em *e, tr_tv n, tr_tv *out) {
    tr_tv none;
    *out = tr_em_alloc(e, i64(e), 1, TR_LAYOUT_C, &n);
    tr_pdesc d = {.nspace = 1, .nout = 1, .space = &n, .out = out, .lam = lam_index};
    return tr_em_pattern(e, &d, &none);
}

/* An array of one axis, in place. */
static void mix(tr_em *e, bool python, tr_tv a) {
    tr_tv n = tr_em_dim(e, a, 0),
          step = a.ty->layout == TR_LAYOUT_ANY ? tr_em_stride(e, a, 0) : tr_em_i64(e, 1);
    const tr_ty *any = tr_ty_array(e->types, a.ty->elem, 1, TR_LAYOUT_ANY, false);
    a = tr_em_restride(e, any, a, zero(e), &n, &step);
    run(e, TR_RT_SHUFFLE, NULL, 3,
        (tr_tv[]){tr_em_i64(e, python), tr_em_i64(e, (int64_t)tr_ty_size(a.ty->elem)), a});
}

static bool permuted(tr_em *e, tr_tv n, tr_tv *out) {
    n = tr_em_select(e, tr_em_cmp(e, TR_CMP_LT, n, zero(e)), zero(e), n);
    if (!numbers(e, n, out))
        return false;
    mix(e, false, *out);
    return true;
}

/* aux 1: Python's, of one axis alone. */
bool tr_lib_rnd_shuffle(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a = c->a[0], order, rows;
    if (!tr_lib_is_array(a) || !a.ty->ndim || (c->aux && a.ty->ndim > 1))
        return tr_em_error(e, "shuffle() takes an array%s, not %s", c->aux ? " of one axis" : "",
                           tr_em_tyname(e, a.ty));
    if (a.ty->readonly)
        return tr_em_error(e, "shuffle(): the array is read-only");
    *out = tr_em_none(e);
    if (a.ty->ndim == 1) {
        mix(e, c->aux, a);
        return true;
    }
    /* rows: NumPy draws nothing where they have no items */
    tr_tv n = tr_em_dim(e, a, 0), all = tr_em_size(e, a);
    if (!numbers(e, n, &order))
        return false;
    tr_axes x = {0};
    tr_axes_part(&x, 0, zero(e), tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, all, zero(e)), zero(e), n),
                 tr_em_i64(e, 1));
    mix(e, false, tr_em_view(e, tr_ty_array(e->types, i64(e), 1, TR_LAYOUT_C, false), order, &x));
    return tr_em_getitem(e, a, order, &rows) && tr_em_assign(e, a, rows);
}

bool tr_lib_rnd_permutation(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv n, a, order;
    if (tr_lib_scalar(e, c->a[0].ty))
        return tr_fam_int(e, c, c->a[0], "x", &n) && permuted(e, n, out);
    if (!tr_fam_as_array(e, c, c->a[0], NULL, &a))
        return false;
    if (!a.ty->ndim)
        return tr_em_error(e, "permutation(): x must be an integer or at least 1-dimensional");
    if (a.ty->ndim > 1)
        return permuted(e, tr_em_dim(e, a, 0), &order) && tr_em_getitem(e, a, order, out);
    if (!tr_fam_copy_as(e, a, a.ty->elem, TR_LAYOUT_C, out))
        return false;
    mix(e, false, *out);
    return true;
}

/* --- choices --- */

static void not_so(tr_em *e, tr_tv code, int which, tr_exc exc, const char *text) {
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, code, tr_em_i64(e, which)), exc, text, 0, NULL);
}

/* Contiguous float64 numbers. */
static bool doubles(tr_em *e, const tr_bcall *c, tr_tv x, const char *name, tr_tv *a) {
    if (!tr_fam_as_array(e, c, x, NULL, a))
        return false;
    if (a->ty->ndim != 1 || tr_ty_is_complex(a->ty->elem))
        return tr_em_error(e, "%s(): '%s' must be 1-dimensional, of real numbers", tr_fam_name(c), name);
    return (a->ty->elem == f64(e) && a->ty->layout == TR_LAYOUT_C) ||
           tr_fam_copy_as(e, *a, f64(e), TR_LAYOUT_C, a);
}

/* Indices of n items among `pop`, all of them in `row`; p may be absent. */
static bool choose(tr_em *e, const tr_bcall *c, bool again, tr_tv pop, tr_tv p, tr_tv row) {
    if (!tr_fam_given(p)) {
        tr_tv most = as_u64(e, tr_em_op2(e, TR_OP_SUB, pop, tr_em_i64(e, 1)));
        run(e, TR_RT_NP_FILLINTS, NULL, 4, (tr_tv[]){tr_em_i64(e, 64), row, as_u64(e, zero(e)), most});
        return true;
    }
    tr_tv q;
    if (!doubles(e, c, p, "p", &q))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, tr_em_dim(e, q, 0), pop), TR_EXC_VALUE,
                "'a' and 'p' must have same size", 0, NULL);
    tr_tv code = run(e, TR_RT_NP_CHOOSE, i64(e), 3, (tr_tv[]){tr_em_i64(e, again), row, q});
    not_so(e, code, TR_RANDOM_NAN, TR_EXC_VALUE, "probabilities contain NaN");
    not_so(e, code, TR_RANDOM_RANGE, TR_EXC_VALUE, "probabilities are not non-negative");
    not_so(e, code, TR_RANDOM_SUM, TR_EXC_VALUE, "probabilities do not sum to 1");
    not_so(e, code, TR_RANDOM_FEW, TR_EXC_VALUE, "Fewer non-zero entries in p than size");
    not_so(e, code, TR_RANDOM_MEMORY, TR_EXC_MEMORY, "cannot allocate memory for the probabilities");
    return true;
}

/* Parameters: a, size, replace, p. */
bool tr_lib_rnd_choice(tr_em *e, const tr_bcall *c, tr_tv *out) {
    bool again, number = tr_lib_scalar(e, c->a[0].ty) != NULL, one = !tr_fam_given(c->a[1]);
    tr_tv a = absent, pop, idx, row, at = zero(e);
    if (!tr_fam_flag(e, c, c->a[2], "replace", true, &again))
        return false;
    if (number ? !tr_fam_int(e, c, c->a[0], "a", &pop) : !tr_fam_as_array(e, c, c->a[0], NULL, &a))
        return false;
    if (!number && a.ty->ndim != 1)
        return tr_em_error(e, "choice(): a must be 1-dimensional");
    if (!number)
        pop = tr_em_dim(e, a, 0);
    if (!sized(e, c, c->a[1], i64(e), one ? tr_em_i64(e, 1) : absent, &idx))
        return false;
    row = in_a_row(e, idx);
    tr_tv n = tr_em_dim(e, row, 0), none = tr_em_cmp(e, TR_CMP_EQ, n, zero(e));
    tr_em_check(e, tr_fam_or(e, none, tr_em_cmp(e, TR_CMP_GT, pop, zero(e))), TR_EXC_VALUE,
                number ? "a must be greater than 0 unless no samples are taken"
                       : "'a' cannot be empty unless no samples are taken",
                0, NULL);
    if (!again)
        tr_em_check(e, tr_em_cmp(e, TR_CMP_LE, n, pop), TR_EXC_VALUE,
                    "Cannot take a larger sample than population when 'replace=False'", 0, NULL);
    if (again || tr_fam_given(c->a[3])) {
        if (!choose(e, c, again, pop, c->a[3], row))
            return false;
    } else { /* the first of all in another order */
        tr_tv all;
        tr_axes x = {0};
        if (!permuted(e, pop, &all))
            return false;
        tr_axes_part(&x, 0, zero(e), n, tr_em_i64(e, 1));
        all = tr_em_view(e, tr_ty_array(e->types, i64(e), 1, TR_LAYOUT_C, false), all, &x);
        if (!tr_lib_map_into(e, row, all))
            return false;
    }
    if (one)
        idx = tr_em_load(e, idx, &at);
    *out = idx;
    return number || tr_em_getitem(e, a, idx, out);
}

/* Parameters: n, pvals, size. */
bool tr_lib_rnd_multinomial(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv n, p;
    if (!tr_fam_int(e, c, c->a[0], "n", &n) || !doubles(e, c, c->a[1], "pvals", &p) ||
        !sized(e, c, c->a[2], i64(e), tr_em_dim(e, p, 0), out))
        return false;
    need_least(e, n, 0, "n < 0");
    tr_tv code = run(e, TR_RT_NP_MULTINOMIAL, i64(e), 3, (tr_tv[]){n, in_a_row(e, *out), p});
    not_so(e, code, TR_RANDOM_RANGE, TR_EXC_VALUE, "pvals < 0, pvals > 1 or pvals contains NaNs");
    not_so(e, code, TR_RANDOM_SUM, TR_EXC_VALUE, "sum(pvals[:-1]) > 1.0");
    return true;
}

/* Parameters: alpha, size. */
bool tr_lib_rnd_dirichlet(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv alpha;
    if (!doubles(e, c, c->a[0], "alpha", &alpha) ||
        !sized(e, c, c->a[1], f64(e), tr_em_dim(e, alpha, 0), out))
        return false;
    tr_tv ok = run(e, TR_RT_NP_DIRICHLET, tr_fam_ty(e, TR_TY_BOOL), 2, (tr_tv[]){in_a_row(e, *out), alpha});
    tr_em_check(e, ok, TR_EXC_VALUE, "alpha <= 0", 0, NULL);
    return true;
}

/* --- Python's random --- */

static tr_tv py_below(tr_em *e, tr_tv n) {
    n = as_u64(e, n);
    return tr_em_conv(e, run(e, TR_RT_PY_BELOW, u64(e), 1, &n), i64(e));
}

bool tr_lib_rnd_py_random(tr_em *e, const tr_bcall *c, tr_tv *out) {
    (void)c;
    *out = run(e, TR_RT_PY_RANDOM, f64(e), 0, NULL);
    return true;
}

static void not_zero(tr_em *e, tr_tv x) {
    if (tr_lib_rules(e) == TR_RULES_PYTHON)
        tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, x, tr_em_f64(e, 0.0)), TR_EXC_ZERODIV,
                    tr_lib_zero_text(e, TR_BIN_DIV, x.ty), 0, NULL);
}

/* aux: TR_RANDOM_PY_*. */
bool tr_lib_rnd_py_float(tr_em *e, const tr_bcall *c, tr_tv *out) {
    int what = c->aux;
    tr_tv p[4], none = tr_em_f64(e, 0.0);
    uint32_t n = c->n;
    if (what == TR_RANDOM_PY_TRIANGULAR && !tr_fam_given(c->a[2]))
        n = 2;
    if (!parameters(e, c, what, 0, n, p + 1))
        return false;
    switch (what) {
    case TR_RANDOM_PY_GAMMA:
    case TR_RANDOM_PY_BETA:
        tr_em_check(e,
                    tr_fam_not(e, tr_fam_or(e, tr_em_cmp(e, TR_CMP_LE, p[1], none),
                                            tr_em_cmp(e, TR_CMP_LE, p[2], none))),
                    TR_EXC_VALUE, "gammavariate: alpha and beta must be > 0.0", 0, NULL);
        break;
    case TR_RANDOM_PY_EXPO:
    case TR_RANDOM_PY_PARETO: not_zero(e, p[1]); break;
    case TR_RANDOM_PY_WEIBULL: not_zero(e, p[2]); break;
    case TR_RANDOM_PY_TRIANGULAR: what = n == 3 ? TR_RANDOM_PY_TRIANGULAR_AT : what; break;
    default: break;
    }
    p[0] = tr_em_i64(e, what);
    *out = run(e, TR_RT_PY_FLOAT, f64(e), 4, p);
    return true;
}

/* Up to 63 bits by a constant are an int64, more a uint64. */
bool tr_lib_rnd_py_bits(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv k;
    int64_t known = 64;
    if (!tr_fam_int(e, c, c->a[0], "k", &k))
        return false;
    tr_tv_lit_int(c->a[0], &known);
    need_least(e, k, 0, "number of bits must be non-negative");
    tr_em_check(e, tr_em_cmp(e, TR_CMP_LE, k, tr_em_i64(e, 64)), TR_EXC_OVERFLOW,
                "getrandbits(): compiled code has integers of 64 bits", 0, NULL);
    *out = run(e, TR_RT_PY_BITS, u64(e), 1, &k);
    if (known < 64)
        *out = tr_em_conv(e, *out, i64(e));
    return true;
}

/* aux 0: randrange(start, stop, step); 1: randint(a, b). */
bool tr_lib_rnd_py_range(tr_em *e, const tr_bcall *c, tr_tv *out) {
    static const char *const names[] = {"start", "stop", "step"};
    tr_tv x[3] = {zero(e), zero(e), tr_em_i64(e, 1)}, n;
    bool whole = c->aux || tr_fam_given(c->a[1]), steps = !c->aux && tr_fam_given(c->a[2]);
    for (uint32_t k = 0; k < c->n; k++)
        if (tr_fam_given(c->a[k]) && !tr_fam_int(e, c, c->a[k], names[k], &x[k]))
            return false;
    if (!whole) {
        if (steps)
            return tr_em_error(e, "randrange(): Missing a non-None stop argument");
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GT, x[0], zero(e)), TR_EXC_VALUE, "empty range for randrange()", 0,
                    NULL);
        *out = py_below(e, x[0]);
        return true;
    }
    if (!steps) {
        n = tr_em_op2(e, TR_OP_SUB, x[1], x[0]);
        tr_tv some = tr_em_cmp(e, c->aux ? TR_CMP_LE : TR_CMP_LT, x[0], x[1]);
        if (c->aux) {
            n = tr_em_op2(e, TR_OP_ADD, n, x[2]);
            x[1] = tr_em_op2(e, TR_OP_ADD, x[1], x[2]);
        }
        tr_em_check(e, some, TR_EXC_VALUE, "empty range in randrange({0}, {1})", 2, x);
        *out = tr_em_op2(e, TR_OP_ADD, x[0], py_below(e, n));
        return true;
    }
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, x[2], zero(e)), TR_EXC_VALUE, "zero step for randrange()", 0,
                NULL);
    if (!tr_lib_range_size(e, tr_em_make(e, tr_ty_range(e->types, i64(e), 0), 3, x), &n))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GT, n, zero(e)), TR_EXC_VALUE,
                "empty range in randrange({0}, {1}, {2})", 3, x);
    *out = tr_em_op2(e, TR_OP_ADD, x[0], tr_em_op2(e, TR_OP_MUL, x[2], py_below(e, n)));
    return true;
}

bool tr_lib_rnd_py_choice(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv n;
    if (!tr_lib_kind(c->a[0].ty)->len(e, c->a[0], &n))
        return false;
    n = tr_em_conv(e, tr_em_strong(e, n), i64(e));
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GT, n, zero(e)), TR_EXC_INDEX, "Cannot choose from an empty sequence",
                0, NULL);
    return tr_em_getitem(e, c->a[0], py_below(e, n), out);
}
