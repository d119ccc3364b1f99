/* Random numbers: np.random's functions over the thread's own RandomState, the methods of a
 * np.random.Generator that was passed in, and Python's random over another generator. All numbers come
 * from the runtime (rt/random.c, rt/gen.c, rt/pyrandom.c), which keeps the generators or reaches them;
 * here stand what arguments may be, as NumPy and CPython have it, and what is made of the numbers. A
 * new array is filled by one call. Each call changes a generator, so calls stay in the order in which
 * they are written; ranges of a loop over a prange have generators of their own (rt/mt.c), and a
 * Generator may not be used there (opt/prange/prange.c).
 * A method's template is the function's: `stream` says whose numbers it draws. Where a parameter of a
 * distribution is an array, one call draws a number for each set of parameters. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/families.h"
#include "lib/kinds.h"
#include "lib/random.h"

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

tr_bcall tr_rnd_without_self(const tr_bcall *c, tr_stream *s) {
    tr_bcall r = *c;
    *s = (tr_stream){{NULL, TR_NOVAL}};
    assert((tr_builtins[c->row].kind != TR_B_METHOD || c->n > 0) && "a method has its object");
    if (tr_builtins[c->row].kind == TR_B_METHOD) {
        s->generator = c->a[0];
        r.a++;
        r.n--;
    }
    return r;
}

tr_tv tr_rnd_draw(tr_em *e, const tr_stream *s, tr_rt own, tr_rt of, const tr_ty *ret, uint32_t n,
                  const tr_tv *x) {
    enum { MOST = 6 };
    assert(n <= MOST && tr_em_are_whole(e, n, x) && "there is room for what it is drawn by");
    tr_tv a[MOST + 2];
    if (!s->generator.ty)
        return run(e, own, ret, n, x);
    a[0] = tr_em_i64(e, s->generator.ty->sub);
    a[1] = tr_em_item(e, s->generator, 0);
    for (uint32_t k = 0; k < n && k < MOST; k++)
        a[k + 2] = x[k];
    return run(e, of, ret, n + 2, a);
}

static tr_tv as_u64(tr_em *e, tr_tv x) {
    return tr_em_conv(e, x, u64(e));
}
static tr_tv zero(tr_em *e) {
    return tr_em_i64(e, 0);
}

/* --- parameters of distributions --- */

/* What NumPy asks of a parameter. */
enum rule {
    ANY,
    NOT_NEGATIVE,
    POSITIVE,
    FROM_0_TO_1,
    ABOVE_0_TO_1,
    FROM_0_BELOW_1,
    ABOVE_1,
    POISSON_MEAN,
    POSITIVE_NOT_NAN
};

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
    [TR_RANDOM_STANDARD_EXPONENTIAL] = {{NULL, ANY, 0}},
    [TR_RANDOM_STANDARD_GAMMA] = {{"shape", NOT_NEGATIVE, 0}},
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

/* The conditions of a rule, one or two, and what is said where one does not hold. */
static uint32_t conditions(tr_em *e, uint8_t rule, tr_tv x, tr_tv *ok, const char **text) {
    tr_tv none = tr_em_f64(e, 0.0);
    switch (rule) {
    case NOT_NEGATIVE: /* neither is -0.0; but NaN may be what it likes */
        ok[0] =
            tr_fam_or(e, tr_fam_not(e, tr_fam_math1(e, TR_MATH_SIGNBIT, x)), tr_em_cmp(e, TR_CMP_NE, x, x));
        text[0] = "%s < 0";
        return 1;
    case POSITIVE:
        ok[0] = tr_fam_not(e, tr_em_cmp(e, TR_CMP_LE, x, none));
        text[0] = "%s <= 0";
        return 1;
    case POSITIVE_NOT_NAN:
        ok[0] = tr_em_cmp(e, TR_CMP_GT, x, none);
        text[0] = "%s <= 0 or %s contains NaNs";
        return 1;
    case FROM_0_TO_1:
        ok[0] = between(e, x, TR_CMP_GE, TR_CMP_LE);
        text[0] = "%s < 0, %s > 1 or %s is NaN";
        return 1;
    case ABOVE_0_TO_1:
        ok[0] = between(e, x, TR_CMP_GT, TR_CMP_LE);
        text[0] = "%s <= 0, %s > 1 or %s contains NaNs";
        return 1;
    case FROM_0_BELOW_1:
        ok[0] = between(e, x, TR_CMP_GE, TR_CMP_LT);
        text[0] = "%s < 0, %s >= 1 or %s is NaN";
        return 1;
    case ABOVE_1:
        ok[0] = tr_em_cmp(e, TR_CMP_GT, x, tr_em_f64(e, 1.0));
        text[0] = "%s <= 1 or %s is NaN";
        return 1;
    case POISSON_MEAN:
        ok[0] = tr_em_cmp(e, TR_CMP_GE, x, none);
        text[0] = "%s < 0 or %s is NaN";
        ok[1] = tr_em_cmp(e, TR_CMP_LE, x, tr_em_f64(e, 0x1p63 - 10 * 0x1.6a09e667f3bcdp31));
        text[1] = "%s value too large";
        return 2;
    default: return 0;
    }
}

static bool lam_rule(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                     tr_tv *yields) {
    const char *text[2];
    (void)idx;
    (void)caps;
    conditions(e, *(const uint8_t *)d->user, elems[0], yields, text);
    return true;
}

/* Of a number, or of all items of an array. */
static bool keep_rule(tr_em *e, const param *p, tr_tv x) {
    tr_tv ok[2], yes = tr_em_bool(e, true), n;
    const char *text[2];
    if (!tr_lib_is_array(x)) {
        uint32_t many = conditions(e, p->rule, x, ok, text);
        for (uint32_t k = 0; k < many; k++)
            need(e, ok[k], p, text[k]);
        return true;
    }
    uint32_t many = conditions(e, p->rule, tr_em_f64(e, 1.0), ok, text);
    static const tr_redk both[] = {TR_RED_AND, TR_RED_AND};
    tr_tv init[] = {yes, yes}, r;
    x = tr_rnd_in_a_row(e, x);
    n = tr_em_dim(e, x, 0);
    tr_pdesc d = {.nspace = 1,
                  .nin = 1,
                  .nred = many,
                  .space = &n,
                  .in = &x,
                  .reds = both,
                  .init = init,
                  .lam = lam_rule,
                  .user = &p->rule};
    if (!many)
        return true;
    if (!tr_em_pattern(e, &d, &r))
        return false;
    for (uint32_t k = 0; k < many; k++)
        need(e, many == 1 ? r : tr_em_item(e, r, k), p, text[k]);
    return true;
}

/* A parameter's float64 number, or, with `rows`, its float64 items in an array. */
static bool parameter(tr_em *e, const tr_bcall *c, tr_tv x, const char *name, tr_tv *out) {
    tr_tv a = x, none = zero(e);
    if (tr_lib_is_array(x) || x.ty->kind == TR_TY_TUPLE) {
        if (!tr_fam_as_array(e, c, x, NULL, &a))
            return false;
        if (tr_ty_is_complex(a.ty->elem))
            return tr_em_error(e, "%s(): %s must be real", tr_fam_name(c), name);
        if (a.ty->ndim)
            return tr_rnd_contiguous(e, a, f64(e), out);
        a = tr_em_load(e, a, &none);
    } else if (!tr_fam_number(e, c, x, "bif")) {
        return false;
    }
    *out = tr_em_conv(e, a, f64(e));
    return true;
}

/* The first n arguments as parameters of the distribution; those that it has besides, by their defaults. */
static bool parameters(tr_em *e, const tr_bcall *c, const param *rules, uint32_t first, uint32_t n,
                       tr_tv *out) {
    for (uint32_t k = 0; k < 3; k++) {
        const param *p = &rules[k];
        out[k] = tr_em_f64(e, p->dflt);
        if (k >= n || !p->name || !c->a[first + k].ty)
            continue;
        if (!parameter(e, c, c->a[first + k], p->name, &out[k]) || !keep_rule(e, p, out[k]))
            return false;
    }
    return true;
}

static bool any_array(const tr_tv *x, uint32_t n) {
    for (uint32_t k = 0; k < n; k++)
        if (tr_lib_is_array(x[k]))
            return true;
    return false;
}

/* --- where numbers go --- */

bool tr_rnd_sized(tr_em *e, const tr_bcall *c, tr_tv size, const tr_ty *elem, tr_tv extra, tr_tv *out) {
    tr_tv n[TR_MAX_NDIM + 1];
    uint32_t nd = 0;
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

tr_tv tr_rnd_in_a_row(tr_em *e, tr_tv a) {
    tr_tv n = tr_em_size(e, a);
    if (a.ty->ndim == 1)
        return a;
    return tr_em_restride(e, tr_ty_array(e->types, a.ty->elem, 1, TR_LAYOUT_C, false), a, zero(e), &n, NULL);
}

static const tr_tv absent = {NULL, TR_NOVAL};

bool tr_rnd_contiguous(tr_em *e, tr_tv a, const tr_ty *t, tr_tv *out) {
    *out = a;
    return (a.ty->elem == t && a.ty->layout == TR_LAYOUT_C) || tr_fam_copy_as(e, a, t, TR_LAYOUT_C, out);
}

bool tr_rnd_sized_by(tr_em *e, const tr_bcall *c, tr_tv size, const tr_ty *elem, const tr_tv *x, uint32_t n,
                     tr_tv *out) {
    static const char text[] = "shape mismatch: objects cannot be broadcast to a single shape: ";
    tr_tv shape[TR_MAX_NDIM] = {0};
    uint32_t nd = 0;
    for (uint32_t k = 0; k < n; k++)
        if (tr_lib_is_array(x[k]) && x[k].ty->ndim > nd)
            nd = x[k].ty->ndim;
    if (tr_fam_given(size)) {
        uint32_t has = 0;
        if (!tr_fam_extents(e, c, size, shape, &has))
            return false;
        if (has < nd)
            return tr_em_error(e, "%s(): size has %u axes, and a parameter has %u", tr_fam_name(c), has, nd);
        nd = has;
        for (uint32_t k = 0; k < n; k++)
            if (tr_lib_is_array(x[k]))
                tr_lib_check_broadcast(e, x[k], nd, shape);
    } else {
        for (uint32_t k = 0; k < n; k++)
            if (tr_lib_is_array(x[k]))
                tr_lib_merge_shape(e, x[k], nd, shape, TR_EXC_VALUE, text);
    }
    *out = tr_em_alloc(e, elem, nd, TR_LAYOUT_C, shape);
    return true;
}

bool tr_rnd_repeated(tr_em *e, tr_tv like, tr_tv x, tr_tv *out) {
    tr_tv n = tr_em_size(e, like), one = tr_em_i64(e, 1), at = zero(e), shape[TR_MAX_NDIM], step = at, a;
    const tr_ty *any = tr_ty_array(e->types, tr_lib_is_array(x) ? x.ty->elem : x.ty, 1, TR_LAYOUT_ANY, false);
    if (tr_lib_is_array(x)) {
        tr_fam_shape(e, like, shape);
        a = tr_em_alloc(e, x.ty->elem, like.ty->ndim, TR_LAYOUT_C, shape);
        step = one;
        if (!tr_em_assign(e, a, x))
            return false;
    } else {
        a = tr_em_alloc(e, x.ty, 1, TR_LAYOUT_C, &one);
        tr_em_store(e, a, &at, x);
    }
    *out = tr_em_restride(e, any, a, zero(e), &n, &step);
    return true;
}

/* --- floats --- */

/* One number. Those that programs draw one by one have short ways. */
static tr_tv one_float(tr_em *e, const tr_stream *s, int what, const tr_tv *p) {
    switch (what) {
    case TR_RANDOM_RANDOM: return TR_DRAW(RANDOM, f64(e), 0, absent);
    case TR_RANDOM_GAUSS: return TR_DRAW(GAUSS, f64(e), 0, absent);
    case TR_RANDOM_UNIFORM:
    case TR_RANDOM_NORMAL: {
        tr_tv x = what == TR_RANDOM_UNIFORM ? TR_DRAW(RANDOM, f64(e), 0, absent)
                                            : TR_DRAW(GAUSS, f64(e), 0, absent);
        return tr_em_op2(e, TR_OP_ADD, p[0], tr_em_op2(e, TR_OP_MUL, p[1], x));
    }
    case TR_RANDOM_STANDARD_EXPONENTIAL:
    case TR_RANDOM_EXPONENTIAL:
        if (s->generator.ty) {
            tr_tv x = tr_rnd_draw(e, s, TR_RT_GEN_EXPO, TR_RT_GEN_EXPO, f64(e), 0, NULL);
            return what == TR_RANDOM_EXPONENTIAL ? tr_em_op2(e, TR_OP_MUL, p[0], x) : x;
        }
    /* fall through */
    default: return TR_DRAW(FLOAT, f64(e), 4, tr_em_i64(e, what), p[0], p[1], p[2]);
    }
}

static bool floats(tr_em *e, const tr_bcall *c, const tr_stream *s, int what, tr_tv size, const tr_tv *p,
                   tr_tv *out) {
    tr_tv row[3];
    if (any_array(p, 3)) {
        if (!tr_rnd_sized_by(e, c, size, f64(e), p, 3, out))
            return false;
        for (uint32_t k = 0; k < 3; k++)
            if (!tr_rnd_repeated(e, *out, p[k], &row[k]))
                return false;
        TR_DRAW(EACH, NULL, 5, tr_em_i64(e, what), tr_rnd_in_a_row(e, *out), row[0], row[1], row[2]);
        return true;
    }
    if (!tr_fam_given(size)) {
        *out = one_float(e, s, what, p);
        return true;
    }
    if (!tr_rnd_sized(e, c, size, f64(e), absent, out))
        return false;
    TR_DRAW(FILL, NULL, 5, tr_em_i64(e, what), tr_rnd_in_a_row(e, *out), p[0], p[1], p[2]);
    return true;
}

/* Does a condition hold of numbers, or of all sets of items of arrays? */
static bool cond_holds_of_all(tr_em *e, uint32_t n, const tr_tv *x, tr_eltfn cond, tr_tv *ok) {
    static const tr_redk all = TR_RED_AND;
    tr_tv yes = tr_em_bool(e, true), size;
    if (!tr_lib_lift(e, n, x, cond, NULL, ok))
        return false;
    if (!tr_lib_is_array(*ok))
        return true;
    tr_tv row = tr_rnd_in_a_row(e, *ok);
    size = tr_em_dim(e, row, 0);
    tr_pdesc d = {.nspace = 1,
                  .nin = 1,
                  .nred = 1,
                  .space = &size,
                  .in = &row,
                  .reds = &all,
                  .init = &yes,
                  .lam = tr_lib_lam_item};
    return tr_em_pattern(e, &d, ok);
}

static bool check_all(tr_em *e, uint32_t n, const tr_tv *x, tr_eltfn cond, tr_exc exc, const char *text) {
    tr_tv ok;
    if (!cond_holds_of_all(e, n, x, cond, &ok))
        return false;
    tr_em_check(e, ok, exc, text, 0, NULL);
    return true;
}

static bool elt_finite(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user;
    *out = tr_fam_math1(e, TR_MATH_ISFINITE, x[0]);
    return true;
}
static bool elt_not_above(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user;
    *out = tr_fam_not(e, tr_em_cmp(e, TR_CMP_GT, x[0], x[1]));
    return true;
}
static bool elt_same(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user;
    *out = tr_em_cmp(e, TR_CMP_EQ, x[0], x[1]);
    return true;
}
static bool elt_differ(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user;
    *out = tr_em_cmp(e, TR_CMP_NE, x[0], x[1]);
    return true;
}
static bool elt_minus(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user;
    *out = tr_em_op2(e, TR_OP_SUB, x[0], x[1]);
    return true;
}

/* Of uniform numbers the end becomes how far it is above the beginning; what NumPy asks of these,
 * and of the corners of triangular ones. */
static bool several(tr_em *e, const tr_stream *s, int what, tr_tv *p) {
    if (what == TR_RANDOM_UNIFORM) {
        const char *text = s->generator.ty && !any_array(p, 2) ? "high - low range exceeds valid bounds"
                                                               : "Range exceeds valid bounds";
        tr_tv x[2] = {p[1], p[0]};
        static const param width = {"high - low", NOT_NEGATIVE, 0};
        return tr_lib_lift(e, 2, x, elt_minus, NULL, &p[1]) &&
               check_all(e, 1, &p[1], elt_finite, TR_EXC_OVERFLOW, text) &&
               (!s->generator.ty || keep_rule(e, &width, p[1]));
    }
    if (what == TR_RANDOM_TRIANGULAR) {
        tr_tv ends[2] = {p[0], p[2]};
        return check_all(e, 2, p, elt_not_above, TR_EXC_VALUE, "left > mode") &&
               check_all(e, 2, p + 1, elt_not_above, TR_EXC_VALUE, "mode > right") &&
               check_all(e, 2, ends, elt_differ, TR_EXC_VALUE, "left == right");
    }
    return true;
}

/* aux: TR_RANDOM_*. Parameters: those of the distribution, size. */
bool tr_lib_rnd_float(tr_em *e, const tr_bcall *with_self, tr_tv *out) {
    tr_stream s;
    tr_bcall c = tr_rnd_without_self(with_self, &s);
    tr_tv p[3];
    return parameters(e, &c, params[c.aux], 0, c.n - 1, p) && several(e, &s, c.aux, p) &&
           floats(e, &c, &s, c.aux, c.a[c.n - 1], p, out);
}

/* rand and randn: the extents are the arguments. */
bool tr_lib_rnd_rand(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv none = tr_em_f64(e, 0.0), p[3] = {none, none, none};
    tr_tv size = c->nvar ? tr_em_tuple(e, c->nvar, c->var) : absent;
    return floats(e, c, &(tr_stream){absent}, c->aux, size, p, out);
}

/* What a Generator puts into an array that is there. */
static bool into(tr_em *e, const tr_bcall *c, tr_tv dst, tr_tv size, const tr_ty *elem, tr_tv *out) {
    tr_tv n[TR_MAX_NDIM];
    uint32_t nd = 0;
    if (!tr_lib_is_array(dst) || dst.ty->elem != elem || dst.ty->layout != TR_LAYOUT_C || dst.ty->readonly) {
        tr_em_error(e, "%s(): out must be a contiguous array of %s that may be written, not %s",
                    tr_fam_name(c), tr_tyk_user_name((tr_tyk)elem->kind), tr_em_tyname(e, dst.ty));
        return false;
    }
    if (tr_fam_given(size)) {
        if (!tr_fam_extents(e, c, size, n, &nd))
            return false;
        if (nd != dst.ty->ndim)
            return tr_em_error(e, "%s(): size must match out.shape when used together", tr_fam_name(c));
        for (uint32_t k = 0; k < nd; k++)
            tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, n[k], tr_em_dim(e, dst, k)), TR_EXC_VALUE,
                        "size must match out.shape when used together", 0, NULL);
    }
    *out = dst;
    return true;
}

/* Methods of Generators that have dtype= and out=. aux: TR_RANDOM_*. Parameters: shape of standard_gamma
 * alone, size, dtype, out, and method of standard_exponential alone. */
bool tr_lib_rnd_typed(tr_em *e, const tr_bcall *with_self, tr_tv *out) {
    tr_stream st, *s = &st;
    tr_bcall c = tr_rnd_without_self(with_self, s);
    int what = c.aux;
    bool expo = what == TR_RANDOM_STANDARD_EXPONENTIAL;
    uint32_t first = what == TR_RANDOM_STANDARD_GAMMA;
    tr_tv p[3], size = c.a[first], dst = c.a[first + 2 + expo];
    const tr_ty *t = f64(e);
    const char *method = "zig";
    if (!parameters(e, &c, params[what], 0, first, p))
        return false;
    if (tr_fam_given(c.a[first + 1]) && !tr_fam_dtype(e, &c, c.a[first + 1], &t))
        return false;
    if (t->kind != TR_TY_F64 && t->kind != TR_TY_F32)
        return tr_em_error(e, "%s(): dtype must be float64 or float32, not %s", tr_fam_name(&c),
                           tr_em_tyname(e, t));
    if (expo && tr_fam_given(c.a[2])) {
        if (!tr_tv_lit_str(c.a[2], &method))
            return tr_em_error(e, "%s(): method must be the constant 'zig' or 'inv'", tr_fam_name(&c));
        if (strcmp(method, "zig") != 0) /* NumPy takes any other for 'inv' */
            what = TR_RANDOM_INVERSE;
    }
    bool wide = t->kind == TR_TY_F64, given = tr_fam_given(dst);
    if (any_array(p, 3) && (given || !wide))
        return tr_em_unsupported(e, "random-arrays", "%s() of arrays with out= or dtype=np.float32",
                                 tr_fam_name(&c));
    if (wide && !given)
        return floats(e, &c, s, what, size, p, out);
    tr_tv code = tr_em_i64(e, what), shape = tr_em_conv(e, p[0], tr_fam_ty(e, TR_TY_F32));
    if (given ? !into(e, &c, dst, size, t, out)
              : tr_fam_given(size) && !tr_rnd_sized(e, &c, size, t, absent, out))
        return false;
    if (!given && !tr_fam_given(size))
        *out = tr_rnd_draw(e, s, TR_RT_GEN_FLOAT32, TR_RT_GEN_FLOAT32, t, 2, (tr_tv[]){code, shape});
    else if (wide)
        TR_DRAW(FILL, NULL, 5, code, tr_rnd_in_a_row(e, *out), p[0], p[1], p[2]);
    else
        tr_rnd_draw(e, s, TR_RT_GEN_FILL32, TR_RT_GEN_FILL32, NULL, 3,
                    (tr_tv[]){code, tr_rnd_in_a_row(e, *out), shape});
    return true;
}

/* --- counts --- */

static bool counts(tr_em *e, const tr_bcall *c, const tr_stream *s, tr_tv n, const tr_tv *p, tr_tv *out) {
    tr_tv size = c->a[c->n - 1], what = tr_em_i64(e, c->aux), x[3] = {n, p[0], p[1]}, row[3];
    if (any_array(x, 3)) {
        if (!tr_rnd_sized_by(e, c, size, i64(e), x, 3, out))
            return false;
        for (uint32_t k = 0; k < 3; k++)
            if (!tr_rnd_repeated(e, *out, x[k], &row[k]))
                return false;
        TR_DRAW(EACHCOUNT, NULL, 5, what, tr_rnd_in_a_row(e, *out), row[0], row[1], row[2]);
        return true;
    }
    if (!tr_fam_given(size)) {
        *out = TR_DRAW(COUNT, i64(e), 4, what, n, p[0], p[1]);
        return true;
    }
    if (!tr_rnd_sized(e, c, size, i64(e), absent, out))
        return false;
    TR_DRAW(FILLCOUNTS, NULL, 5, what, tr_rnd_in_a_row(e, *out), n, p[0], p[1]);
    return true;
}

/* The mean that a negative binomial number's Poisson one may have, with ten times its deviation to spare. */
static bool elt_fits_poisson(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user;
    tr_tv odds = tr_em_op2(e, TR_OP_DIV, tr_em_op2(e, TR_OP_SUB, tr_em_f64(e, 1.0), x[1]), x[1]),
          far = tr_em_op2(e, TR_OP_MUL, tr_em_f64(e, 10.0), tr_fam_math1(e, TR_MATH_SQRT, x[0])),
          mean = tr_em_op2(e, TR_OP_MUL, odds, tr_em_op2(e, TR_OP_ADD, x[0], far));
    *out = tr_fam_not(e, tr_em_cmp(e, TR_CMP_GT, mean, tr_em_f64(e, 0x1p63 - 10 * 0x1.6a09e667f3bcdp31)));
    return true;
}

/* aux: TR_RANDOM_*. Parameters: those of the distribution, size. */
bool tr_lib_rnd_count(tr_em *e, const tr_bcall *with_self, tr_tv *out) {
    tr_stream s;
    tr_bcall c = tr_rnd_without_self(with_self, &s);
    tr_tv p[3];
    static const param own[] = {{"n", POSITIVE_NOT_NAN, 0}, {"p", ABOVE_0_TO_1, 0}, {NULL, ANY, 0}};
    bool of_own = s.generator.ty && c.aux == TR_RANDOM_NEGATIVE_BINOMIAL;
    if (!parameters(e, &c, of_own ? own : params[c.aux], 0, c.n - 1, p) ||
        (of_own && !check_all(e, 2, p, elt_fits_poisson, TR_EXC_VALUE,
                              "n too large or p too small, see Generator.negative_binomial Notes")))
        return false;
    return counts(e, &c, &s, zero(e), p, out);
}

static bool elt_not_below(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user;
    *out = tr_em_cmp(e, TR_CMP_GE, x[0], x[1]);
    return true;
}

bool tr_rnd_need_least(tr_em *e, tr_tv x, int64_t least, const char *text) {
    tr_tv two[] = {x, tr_em_i64(e, least)};
    return check_all(e, 2, two, elt_not_below, TR_EXC_VALUE, text);
}

bool tr_rnd_whole(tr_em *e, const tr_bcall *c, tr_tv x, const char *name, tr_tv *out) {
    tr_tv a, none = zero(e);
    if (!tr_lib_is_array(x) && x.ty->kind != TR_TY_TUPLE)
        return tr_fam_int(e, c, x, name, out);
    if (!tr_fam_as_array(e, c, x, NULL, &a))
        return false;
    if (!tr_ty_is_int(a.ty->elem) && a.ty->elem->kind != TR_TY_BOOL)
        return tr_em_error(e, "%s(): %s must be integers, not %s", tr_fam_name(c), name,
                           tr_em_tyname(e, a.ty));
    if (!a.ty->ndim) {
        *out = tr_em_conv(e, tr_em_load(e, a, &none), i64(e));
        return true;
    }
    return tr_rnd_contiguous(e, a, i64(e), out);
}

/* Parameters: n, p, size. */
bool tr_lib_rnd_binomial(tr_em *e, const tr_bcall *with_self, tr_tv *out) {
    tr_stream s;
    tr_bcall c = tr_rnd_without_self(with_self, &s);
    tr_tv p[3], n;
    return parameters(e, &c, params[c.aux], 1, 1, p) && tr_rnd_whole(e, &c, c.a[0], "n", &n) &&
           tr_rnd_need_least(e, n, 0, "n < 0") && counts(e, &c, &s, n, p, out);
}

static bool elt_enough(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user;
    *out = tr_em_cmp(e, TR_CMP_GE, tr_em_op2(e, TR_OP_ADD, x[0], x[1]), x[2]);
    return true;
}

/* Parameters: ngood, nbad, nsample, size. */
bool tr_lib_rnd_hypergeometric(tr_em *e, const tr_bcall *with_self, tr_tv *out) {
    static const char *const names[] = {"ngood", "nbad", "nsample"};
    tr_stream st, *s = &st;
    const tr_bcall call = tr_rnd_without_self(with_self, s), *c = &call;
    tr_tv x[3], row[3], most = tr_em_i64(e, 1000000000 - 1), size = c->a[3];
    bool own = !s->generator.ty;
    for (int k = 0; k < 3; k++)
        if (!tr_rnd_whole(e, c, c->a[k], names[k], &x[k]))
            return false;
    for (int k = 0; !own && k < 2; k++)
        if (!check_all(e, 2, (tr_tv[]){x[k], most}, elt_not_above, TR_EXC_VALUE,
                       "both ngood and nbad must be less than 1000000000"))
            return false;
    if (!check_all(e, 3, x, elt_enough, TR_EXC_VALUE, "ngood + nbad < nsample") ||
        !tr_rnd_need_least(e, x[0], 0, "ngood < 0") || !tr_rnd_need_least(e, x[1], 0, "nbad < 0") ||
        !tr_rnd_need_least(e, x[2], own, own ? "nsample < 1 or nsample is NaN" : "nsample < 0"))
        return false;
    if (any_array(x, 3)) {
        if (!tr_rnd_sized_by(e, c, size, i64(e), x, 3, out))
            return false;
        for (int k = 0; k < 3; k++)
            if (!tr_rnd_repeated(e, *out, x[k], &row[k]))
                return false;
        TR_DRAW(EACHHYPER, NULL, 4, tr_rnd_in_a_row(e, *out), row[0], row[1], row[2]);
        return true;
    }
    if (!tr_fam_given(size)) {
        *out = TR_DRAW(HYPER, i64(e), 3, x[0], x[1], x[2]);
        return true;
    }
    if (!tr_rnd_sized(e, c, size, i64(e), absent, out))
        return false;
    TR_DRAW(FILLHYPER, NULL, 4, tr_rnd_in_a_row(e, *out), x[0], x[1], x[2]);
    return true;
}

/* --- whole numbers in a range --- */

/* The range of randint: from low to most, both of them numbers of it, in the 64 bits of
 * wide; either may be an array. */
typedef struct bounds {
    const tr_ty *t, *wide;
    tr_tv low, most;
    bool closed; /* high is one of the numbers */
} bounds;

static const char *out_of(tr_em *e, const char *name, const tr_ty *t) {
    return tr_arena_printf(&e->ctx->arena, "%s is out of bounds for %s", name,
                           t->kind == TR_TY_BOOL ? "bool" : tr_tyk_user_name((tr_tyk)t->kind));
}

static bool elt_as(tr_em *e, const void *ty, const tr_tv *x, tr_tv *out) {
    *out = tr_em_conv(e, x[0], ty);
    return true;
}
/* In the other kind of 64 bits: the highest is the sign of one of them. */
static bool elt_has_no_sign(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user;
    *out = tr_em_cmp(e, TR_CMP_GE, tr_em_conv(e, x[0], i64(e)), zero(e));
    return true;
}
static bool elt_less(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user;
    *out = tr_em_cmp(e, TR_CMP_LT, x[0], x[1]);
    return true;
}

/* An integer, or an array of them, in the type's 64 bits: ValueError where that has no room for one. */
static bool bound(tr_em *e, const tr_bcall *c, tr_tv x, const char *name, const bounds *b, tr_tv *out) {
    if (tr_lib_is_array(x) || x.ty->kind == TR_TY_TUPLE) {
        if (!tr_fam_as_array(e, c, x, NULL, &x))
            return false;
        if (!x.ty->ndim)
            x = tr_em_load(e, x, NULL);
    }
    const tr_ty *from = tr_lib_is_array(x) ? x.ty->elem : tr_lib_scalar(e, x.ty);
    if (!from || (!tr_ty_is_int(from) && from->kind != TR_TY_BOOL))
        return tr_em_error(e, "%s(): %s must be an integer, not %s", tr_fam_name(c), name,
                           tr_em_tyname(e, x.ty));
    tr_bigint v;
    if (tr_tv_lit_integer(x, &v) && !tr_bigint_fits(&v, b->wide)) {
        tr_em_check(e, tr_em_bool(e, false), TR_EXC_VALUE, out_of(e, name, b->t), 0, NULL);
        *out = tr_em_conv(e, zero(e), b->wide);
        return true;
    }
    from = tr_ty_strong(e->types, from);
    bool from_unsigned = tr_ty_class(from) != 'i', to_unsigned = b->wide->kind == TR_TY_U64,
         other = from_unsigned != to_unsigned && (to_unsigned || from->kind == TR_TY_U64);
    if (!tr_lib_is_array(x))
        x = tr_em_strong(e, x);
    return tr_lib_lift(e, 1, &x, elt_as, b->wide, out) &&
           (!other || check_all(e, 1, out, elt_has_no_sign, TR_EXC_VALUE, out_of(e, name, b->t)));
}

/* high - 1, or high where the range is closed. A literal may be one above what 64 bits hold. */
static bool upper(tr_em *e, const tr_bcall *c, tr_tv x, bounds *b) {
    tr_bigint v, one = tr_bigint_of(1);
    int64_t small;
    tr_tv none = tr_em_conv(e, zero(e), b->wide), is_0, fine;
    if (!b->closed && tr_tv_lit_integer(x, &v) && !tr_tv_lit_int(x, &small) && !v.negative &&
        tr_bigint_sub(&e->ctx->arena, &v, &one, &v) == TR_BIGINT_FINE)
        return bound(e, c, tr_em_lit(e, tr_obj_bigint(&e->ctx->arena, v)), "high", b, &b->most);
    if (!bound(e, c, x, "high", b, &b->most) ||
        !cond_holds_of_all(e, 2, (tr_tv[]){b->low, none}, elt_same, &is_0) ||
        !cond_holds_of_all(e, 2, (tr_tv[]){none, b->most}, b->closed ? elt_not_above : elt_less, &fine))
        return false;
    tr_em_check(e, tr_fam_or(e, tr_fam_not(e, is_0), fine), TR_EXC_VALUE,
                b->closed ? "high < 0" : "high <= 0", 0, NULL);
    if (!check_all(e, 2, (tr_tv[]){b->low, b->most}, b->closed ? elt_not_above : elt_less, TR_EXC_VALUE,
                   b->closed ? "low > high" : "low >= high"))
        return false;
    tr_tv both[] = {b->most, tr_em_conv(e, tr_em_i64(e, 1), b->wide)};
    return b->closed || tr_lib_lift(e, 2, both, elt_minus, NULL, &b->most);
}

/* Types of less than 64 bits hold both ends. */
static bool keep_narrow(tr_em *e, const bounds *b) {
    unsigned bits = b->t->kind == TR_TY_BOOL ? 1 : 8u * (unsigned)tr_ty_size(b->t);
    if (bits == 64)
        return true;
    bool sign = tr_ty_class(b->t) == 'i';
    int64_t most = (int64_t)(UINT64_MAX >> (64u - bits + sign));
    tr_tv hi = tr_em_conv(e, tr_em_i64(e, most), b->wide),
          lo = tr_em_conv(e, tr_em_i64(e, sign ? -most - 1 : 0), b->wide);
    return check_all(e, 2, (tr_tv[]){lo, b->low}, elt_not_above, TR_EXC_VALUE, out_of(e, "low", b->t)) &&
           check_all(e, 2, (tr_tv[]){b->most, hi}, elt_not_above, TR_EXC_VALUE, out_of(e, "high", b->t));
}

/* Parameters: low, high, size, dtype, and of Generators endpoint. */
bool tr_lib_rnd_randint(tr_em *e, const tr_bcall *with_self, tr_tv *out) {
    tr_stream st, *s = &st;
    const tr_bcall call = tr_rnd_without_self(with_self, s), *c = &call;
    bounds b = {.t = i64(e)};
    tr_tv low = c->a[0], high = c->a[1], size = c->a[2], x[2], row[2];
    if (tr_fam_given(c->a[3]) && !tr_fam_dtype(e, c, c->a[3], &b.t))
        return false;
    if (s->generator.ty && !tr_fam_flag(e, c, c->a[4], "endpoint", false, &b.closed))
        return false;
    if (!tr_ty_is_int(b.t) && b.t->kind != TR_TY_BOOL)
        return tr_em_error(e, "%s(): dtype must be of integers, not %s",
                           s->generator.ty ? "integers" : "randint", tr_em_tyname(e, b.t));
    b.wide = tr_ty_class(b.t) == 'i' ? i64(e) : u64(e);
    if (!tr_fam_given(high)) {
        high = low;
        low = tr_em_lit(e, tr_obj_int(&e->ctx->arena, 0));
    }
    if (!bound(e, c, low, "low", &b, &b.low) || !upper(e, c, high, &b) || !keep_narrow(e, &b))
        return false;
    tr_tv bits = tr_em_i64(e, b.t->kind == TR_TY_BOOL ? 1 : 8 * (int64_t)tr_ty_size(b.t)),
          ends[] = {b.most, b.low};
    if (!tr_lib_lift(e, 1, &b.low, elt_as, u64(e), &x[0]) ||
        !tr_lib_lift(e, 2, ends, elt_minus, NULL, &x[1]) || !tr_lib_lift(e, 1, &x[1], elt_as, u64(e), &x[1]))
        return false;
    if (any_array(x, 2)) {
        if (!tr_rnd_sized_by(e, c, size, b.t, x, 2, out) || !tr_rnd_repeated(e, *out, x[0], &row[0]) ||
            !tr_rnd_repeated(e, *out, x[1], &row[1]))
            return false;
        TR_DRAW(EACHINT, NULL, 4, bits, tr_rnd_in_a_row(e, *out), row[0], row[1]);
        return true;
    }
    if (tr_fam_given(size)) {
        if (!tr_rnd_sized(e, c, size, b.t, absent, out))
            return false;
        TR_DRAW(FILLINTS, NULL, 4, bits, tr_rnd_in_a_row(e, *out), x[0], x[1]);
        return true;
    }
    bool piece = tr_ty_size(b.t) < 4;
    tr_tv r = piece ? TR_DRAW(PIECE, u64(e), 2, bits, x[1]) : TR_DRAW(UPTO, u64(e), 1, x[1]);
    *out = tr_em_conv(e, tr_em_op2(e, TR_OP_ADD, x[0], r), b.t);
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
    for (uint32_t k = 0; k < n; k++) /* arrays of them are NumPy's */
        if (tr_fam_given(c->a[k]) && !tr_fam_number(e, c, c->a[k], "biuf"))
            return false;
    if (!parameters(e, c, params[what], 0, n, p + 1))
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
    if (!tr_rnd_need_least(e, k, 0, "number of bits must be non-negative"))
        return false;
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
