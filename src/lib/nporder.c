/* Random orders and choices, of np.random's functions, of a Generator's methods and of Python's
 * random: shuffle, permutation, permuted, choice, multinomial, dirichlet. What is mixed lies in
 * one row for the runtime: an array of one axis itself, of more of them the numbers of its
 * rows, by which they are taken then. */
#include "lib/families.h"
#include "lib/random.h"

static const tr_ty *f64(tr_em *e) {
    return tr_fam_ty(e, TR_TY_F64);
}
static const tr_ty *i64(tr_em *e) {
    return tr_fam_ty(e, TR_TY_I64);
}
static tr_tv zero(tr_em *e) {
    return tr_em_i64(e, 0);
}
static const tr_tv absent = {NULL, TR_NOVAL};

/* --- order --- */

/* An array of one axis, in place. */
static void mix(tr_em *e, const tr_stream *s, bool python, tr_tv a) {
    tr_tv n = tr_em_dim(e, a, 0), size = tr_em_i64(e, (int64_t)tr_ty_size(a.ty->elem)),
          step = a.ty->layout == TR_LAYOUT_ANY ? tr_em_stride(e, a, 0) : tr_em_i64(e, 1);
    const tr_ty *any = tr_ty_array(e->types, a.ty->elem, 1, TR_LAYOUT_ANY, false);
    a = tr_em_restride(e, any, a, zero(e), &n, &step);
    if (s->generator.ty)
        tr_rnd_draw(e, s, TR_RT_GEN_SHUFFLE, TR_RT_GEN_SHUFFLE, NULL, 2, (tr_tv[]){size, a});
    else
        tr_em_callrt(e, TR_RT_SHUFFLE, NULL, NULL, 3, (tr_tv[]){tr_em_i64(e, python), size, a});
}

static bool permuted(tr_em *e, const tr_stream *s, tr_tv n, tr_tv *out) {
    n = tr_em_op2(e, TR_OP_MAX, n, zero(e));
    if (!tr_fam_numbers(e, n, out))
        return false;
    mix(e, s, false, *out);
    return true;
}

/* The array with the axis of a Generator's axis= in front, a view; without it as it is. */
static bool axis_first(tr_em *e, const tr_bcall *c, tr_tv a, uint32_t *axis, tr_tv *out) {
    uint32_t perm[TR_MAX_NDIM];
    *axis = 0;
    *out = a;
    if (c->n < 2 || !tr_fam_given(c->a[1]))
        return true;
    if (!tr_fam_axis(e, c, a.ty->ndim, c->a[1], axis))
        return false;
    for (uint32_t k = 0; k < a.ty->ndim; k++)
        perm[k] = k == 0 ? *axis : k == *axis ? 0 : k;
    if (*axis)
        *out = tr_fam_permuted(e, a, perm);
    return true;
}

/* aux 1: Python's, of one axis alone. */
bool tr_lib_rnd_shuffle(tr_em *e, const tr_bcall *with_self, tr_tv *out) {
    tr_stream s;
    const tr_bcall call = tr_rnd_without_self(with_self, &s), *c = &call;
    tr_tv a = c->a[0], order, rows;
    uint32_t axis;
    if (!tr_lib_is_array(a) || !a.ty->ndim || (c->aux && a.ty->ndim > 1))
        return tr_em_error(e, "shuffle() takes an array%s, not %s", c->aux ? " of one axis" : "",
                           tr_em_tyname(e, a.ty));
    if (a.ty->readonly)
        return tr_em_error(e, "shuffle(): the array is read-only");
    *out = tr_em_none(e);
    if (!axis_first(e, c, a, &axis, &a))
        return false;
    if (a.ty->ndim == 1) {
        mix(e, &s, c->aux, a);
        return true;
    }
    /* rows: NumPy draws nothing where they have no items */
    tr_tv n = tr_em_dim(e, a, 0), all = tr_em_size(e, a);
    if (!tr_fam_numbers(e, n, &order))
        return false;
    tr_axes x = {0};
    tr_axes_part(&x, 0, zero(e), tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, all, zero(e)), zero(e), n),
                 tr_em_i64(e, 1));
    mix(e, &s, false, tr_em_view(e, tr_ty_array(e->types, i64(e), 1, TR_LAYOUT_C, false), order, &x));
    return tr_em_getitem(e, a, order, &rows) && tr_em_assign(e, a, rows);
}

bool tr_lib_rnd_permutation(tr_em *e, const tr_bcall *with_self, tr_tv *out) {
    tr_stream s;
    const tr_bcall call = tr_rnd_without_self(with_self, &s), *c = &call;
    tr_tv n, a, order;
    uint32_t axis, perm[TR_MAX_NDIM];
    if (tr_lib_scalar(e, c->a[0].ty))
        return tr_fam_int(e, c, c->a[0], "x", &n) && permuted(e, &s, n, out);
    if (!tr_fam_as_array(e, c, c->a[0], NULL, &a))
        return false;
    if (!a.ty->ndim)
        return tr_em_error(e, "permutation(): x must be an integer or at least 1-dimensional");
    if (!axis_first(e, c, a, &axis, &a))
        return false;
    if (a.ty->ndim > 1) {
        if (!permuted(e, &s, tr_em_dim(e, a, 0), &order) || !tr_em_getitem(e, a, order, out))
            return false;
        for (uint32_t k = 0; k < a.ty->ndim; k++)
            perm[k] = k == 0 ? axis : k == axis ? 0 : k;
        return !axis || tr_fam_copy_as(e, tr_fam_permuted(e, *out, perm), a.ty->elem, TR_LAYOUT_C, out);
    }
    if (!tr_fam_copy_as(e, a, a.ty->elem, TR_LAYOUT_C, out))
        return false;
    mix(e, &s, false, *out);
    return true;
}

/* Lines along an axis each find an order of their own; without an axis, all items.
 * Parameters: x, axis, out. */
bool tr_lib_rnd_permuted(tr_em *e, const tr_bcall *with_self, tr_tv *out) {
    tr_stream s;
    const tr_bcall call = tr_rnd_without_self(with_self, &s), *c = &call;
    tr_tv a, shape[2], lines;
    uint32_t axis = 0, perm[TR_MAX_NDIM], back[TR_MAX_NDIM], nd;
    if (!tr_fam_as_array(e, c, c->a[0], NULL, &a))
        return false;
    if (!(nd = a.ty->ndim))
        return tr_em_error(e, "permuted(): x must be at least 1-dimensional");
    bool all = !tr_fam_given(c->a[1]);
    if (all && nd > 1 && a.ty->layout == TR_LAYOUT_ANY)
        return tr_em_unsupported(e, "random-permuted", "permuted() of %s without an axis",
                                 tr_em_tyname(e, a.ty));
    if (!all && !tr_fam_axis(e, c, nd, c->a[1], &axis))
        return false;
    const tr_tv dst = c->a[2]; /* is looked at before anything is drawn */
    if (tr_fam_given(dst) &&
        (!tr_lib_is_array(dst) || dst.ty->ndim != nd || dst.ty->elem != a.ty->elem || dst.ty->readonly))
        return tr_em_error(e, "permuted(): out must be an array like x that may be written, not %s",
                           tr_em_tyname(e, dst.ty));
    for (uint32_t k = 0; tr_fam_given(dst) && k < nd; k++)
        tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, tr_em_dim(e, dst, k), tr_em_dim(e, a, k)), TR_EXC_VALUE,
                    "out must have the same shape as x", 0, NULL);
    for (uint32_t k = 0; k < nd; k++) /* the axis comes last, the others stay in order */
        perm[k] = k + 1 == nd ? axis : k + (k >= axis);
    for (uint32_t k = 0; k < nd; k++)
        back[perm[k]] = k;
    tr_layout lay = all && nd > 1 ? (tr_layout)a.ty->layout : TR_LAYOUT_C;
    if (!tr_fam_copy_as(e, all || nd == 1 ? a : tr_fam_permuted(e, a, perm), a.ty->elem, lay, out))
        return false;
    if (all || nd == 1) {
        tr_tv n = tr_em_size(e, *out);
        lines = tr_em_restride(e, tr_ty_array(e->types, a.ty->elem, 1, TR_LAYOUT_C, false), *out, zero(e), &n,
                               NULL);
        mix(e, &s, false, lines);
    } else {
        shape[1] = tr_em_dim(e, *out, nd - 1);
        shape[0] = tr_em_i64(e, 1);
        for (uint32_t k = 0; k + 1 < nd; k++)
            shape[0] = tr_em_op2(e, TR_OP_MUL, shape[0], tr_em_dim(e, *out, k));
        lines = tr_em_restride(e, tr_ty_array(e->types, a.ty->elem, 2, TR_LAYOUT_C, false), *out, zero(e),
                               shape, NULL);
        tr_tv size = tr_em_i64(e, (int64_t)tr_ty_size(a.ty->elem));
        tr_rnd_draw(e, &s, TR_RT_GEN_LINES, TR_RT_GEN_LINES, NULL, 2, (tr_tv[]){size, lines});
        if (!tr_fam_copy_as(e, tr_fam_permuted(e, *out, back), a.ty->elem, TR_LAYOUT_C, out))
            return false;
    }
    if (!tr_fam_given(dst))
        return true;
    tr_tv made = *out;
    *out = dst;
    return tr_em_assign(e, dst, made);
}

/* --- choices --- */

static void not_so(tr_em *e, tr_tv code, int which, tr_exc exc, const char *text) {
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, code, tr_em_i64(e, which)), exc, text, 0, NULL);
}

/* Contiguous float64 numbers, of any number of axes but none; of one. */
static bool reals(tr_em *e, const tr_bcall *c, tr_tv x, const char *name, tr_tv *a) {
    if (!tr_fam_as_array(e, c, x, NULL, a))
        return false;
    if (!a->ty->ndim || tr_ty_is_complex(a->ty->elem))
        return tr_em_error(e, "%s(): '%s' must be an array of real numbers", tr_fam_name(c), name);
    return tr_rnd_contiguous(e, *a, f64(e), a);
}
static bool doubles(tr_em *e, const tr_bcall *c, tr_tv x, const char *name, tr_tv *a) {
    if (!tr_fam_as_array(e, c, x, NULL, a))
        return false;
    if (a->ty->ndim != 1 || tr_ty_is_complex(a->ty->elem))
        return tr_em_error(e, "%s(): '%s' must be 1-dimensional, of real numbers", tr_fam_name(c), name);
    return tr_rnd_contiguous(e, *a, f64(e), a);
}

/* Indices of n items among `pop`, all of them in `row`; p may be absent. */
static bool choose(tr_em *e, const tr_bcall *c, const tr_stream *s, bool again, tr_tv pop, tr_tv p,
                   tr_tv row) {
    if (!tr_fam_given(p)) {
        const tr_ty *u64 = tr_fam_ty(e, TR_TY_U64);
        tr_tv most = tr_em_op2(e, TR_OP_SUB, pop, tr_em_i64(e, 1));
        TR_DRAW(FILLINTS, NULL, 4, tr_em_i64(e, 64), row, tr_em_conv(e, zero(e), u64),
                tr_em_conv(e, most, u64));
        return true;
    }
    tr_tv q;
    bool own = !s->generator.ty;
    if (!doubles(e, c, p, "p", &q))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, tr_em_dim(e, q, 0), pop), TR_EXC_VALUE,
                own ? "'a' and 'p' must have same size" : "a and p must have same size", 0, NULL);
    tr_tv code = TR_DRAW(CHOOSE, i64(e), 3, tr_em_i64(e, again), row, q);
    not_so(e, code, TR_RANDOM_NAN, TR_EXC_VALUE,
           own ? "probabilities contain NaN" : "Probabilities contain NaN");
    not_so(e, code, TR_RANDOM_RANGE, TR_EXC_VALUE,
           own ? "probabilities are not non-negative" : "Probabilities are not non-negative");
    not_so(e, code, TR_RANDOM_SUM, TR_EXC_VALUE,
           own ? "probabilities do not sum to 1" : "Probabilities do not sum to 1");
    not_so(e, code, TR_RANDOM_FEW, TR_EXC_VALUE, "Fewer non-zero entries in p than size");
    not_so(e, code, TR_RANDOM_MEMORY, TR_EXC_MEMORY, "cannot allocate memory for the probabilities");
    return true;
}

/* The same without putting back, and without probabilities. */
static bool some_of(tr_em *e, const tr_stream *s, bool shuffled, tr_tv pop, tr_tv row) {
    tr_tv all, n = tr_em_dim(e, row, 0);
    tr_axes x = {0};
    if (s->generator.ty) {
        tr_tv code = tr_rnd_draw(e, s, TR_RT_GEN_SOME, TR_RT_GEN_SOME, i64(e), 3,
                                 (tr_tv[]){tr_em_i64(e, shuffled), row, pop});
        not_so(e, code, TR_RANDOM_MEMORY, TR_EXC_MEMORY, "cannot allocate memory for the sample");
        return true;
    }
    if (!permuted(e, s, pop, &all)) /* the first of all in another order */
        return false;
    tr_axes_part(&x, 0, zero(e), n, tr_em_i64(e, 1));
    all = tr_em_view(e, tr_ty_array(e->types, i64(e), 1, TR_LAYOUT_C, false), all, &x);
    return tr_lib_map_into(e, row, all);
}

/* Parameters: a, size, replace, p, and of Generators axis and shuffle. */
bool tr_lib_rnd_choice(tr_em *e, const tr_bcall *with_self, tr_tv *out) {
    tr_stream s;
    const tr_bcall call = tr_rnd_without_self(with_self, &s), *c = &call;
    bool again, shuffled = true, number = tr_lib_scalar(e, c->a[0].ty) != NULL, one = !tr_fam_given(c->a[1]),
                own = !s.generator.ty;
    tr_tv a = absent, pop, idx, row, at = zero(e);
    uint32_t axis = 0;
    if (!tr_fam_flag(e, c, c->a[2], "replace", true, &again) ||
        (!own && !tr_fam_flag(e, c, c->a[5], "shuffle", true, &shuffled)))
        return false;
    if (number ? !tr_fam_int(e, c, c->a[0], "a", &pop) : !tr_fam_as_array(e, c, c->a[0], NULL, &a))
        return false;
    if (!number && (own ? a.ty->ndim != 1 : !a.ty->ndim))
        return tr_em_error(e, own ? "choice(): a must be 1-dimensional"
                                  : "choice(): a must be a sequence or an integer");
    if (!number && !own && tr_fam_given(c->a[4]) && !tr_fam_axis(e, c, a.ty->ndim, c->a[4], &axis))
        return false;
    if (axis)
        return tr_em_unsupported(e, "random-axis", "%s() along another axis than the first", tr_fam_name(c));
    if (!number)
        pop = tr_em_dim(e, a, 0);
    if (!tr_rnd_sized(e, c, c->a[1], i64(e), one ? tr_em_i64(e, 1) : absent, &idx))
        return false;
    row = tr_rnd_in_a_row(e, idx);
    tr_tv n = tr_em_dim(e, row, 0), none = tr_em_cmp(e, TR_CMP_EQ, n, zero(e));
    const char *empty = number ? own ? "a must be greater than 0 unless no samples are taken"
                                     : "a must be a positive integer unless no samples are taken"
                        : own  ? "'a' cannot be empty unless no samples are taken"
                               : "a cannot be empty unless no samples are taken";
    tr_em_check(e, tr_fam_or(e, none, tr_em_cmp(e, TR_CMP_GT, pop, zero(e))), TR_EXC_VALUE, empty, 0, NULL);
    if (!again)
        tr_em_check(e, tr_em_cmp(e, TR_CMP_LE, n, pop), TR_EXC_VALUE,
                    own ? "Cannot take a larger sample than population when 'replace=False'"
                        : "Cannot take a larger sample than population when replace is False",
                    0, NULL);
    if (again || tr_fam_given(c->a[3]) ? !choose(e, c, &s, again, pop, c->a[3], row)
                                       : !some_of(e, &s, shuffled, pop, row))
        return false;
    if (one)
        idx = tr_em_load(e, idx, &at);
    *out = idx;
    return number || tr_em_getitem(e, a, idx, out);
}

static void keep_parts(tr_em *e, tr_tv code) {
    not_so(e, code, TR_RANDOM_RANGE, TR_EXC_VALUE, "pvals < 0, pvals > 1 or pvals contains NaNs");
    not_so(e, code, TR_RANDOM_SUM, TR_EXC_VALUE, "sum(pvals[:-1]) > 1.0");
}

/* Of a Generator: for each of several n, or of several rows of probabilities. */
static bool multinomials(tr_em *e, const tr_bcall *c, const tr_stream *s, tr_tv n, tr_tv p, tr_tv *out) {
    uint32_t lead = p.ty->ndim - 1u;
    tr_tv shape[TR_MAX_NDIM + 1], parts, x[2] = {n, zero(e)}, row[2], like, count = tr_em_i64(e, 1);
    tr_fam_shape(e, p, shape);
    parts = shape[lead];
    for (uint32_t k = 0; k < lead; k++)
        count = tr_em_op2(e, TR_OP_MUL, count, shape[k]);
    if (lead) {
        if (!tr_fam_numbers(e, count, &x[1]))
            return false;
        x[1] = tr_em_restride(e, tr_ty_array(e->types, i64(e), lead, TR_LAYOUT_C, false), x[1], zero(e),
                              shape, NULL);
    }
    if (!tr_rnd_sized_by(e, c, c->a[2], i64(e), x, 2, &like) || !tr_rnd_repeated(e, like, x[0], &row[0]) ||
        !tr_rnd_repeated(e, like, x[1], &row[1]))
        return false;
    if (like.ty->ndim == TR_MAX_NDIM)
        return tr_em_error(e, "%s(): more than %d dimensions", tr_fam_name(c), TR_MAX_NDIM);
    tr_fam_shape(e, like, shape);
    shape[like.ty->ndim] = parts;
    *out = tr_em_alloc(e, i64(e), like.ty->ndim + 1u, TR_LAYOUT_C, shape);
    keep_parts(
        e, tr_rnd_draw(e, s, TR_RT_GEN_MULTINOMIALS, TR_RT_GEN_MULTINOMIALS, i64(e), 5,
                       (tr_tv[]){row[0], row[1], tr_rnd_in_a_row(e, *out), tr_rnd_in_a_row(e, p), parts}));
    return true;
}

/* Parameters: n, pvals, size. */
bool tr_lib_rnd_multinomial(tr_em *e, const tr_bcall *with_self, tr_tv *out) {
    tr_stream st, *s = &st;
    const tr_bcall call = tr_rnd_without_self(with_self, s), *c = &call;
    tr_tv n, p;
    bool own = !s->generator.ty;
    if (own ? !tr_fam_int(e, c, c->a[0], "n", &n) || !doubles(e, c, c->a[1], "pvals", &p)
            : !tr_rnd_whole(e, c, c->a[0], "n", &n) || !reals(e, c, c->a[1], "pvals", &p))
        return false;
    if (!tr_rnd_need_least(e, n, 0, "n < 0"))
        return false;
    if (!own)
        tr_em_check(
            e, tr_em_cmp(e, TR_CMP_GT, tr_em_dim(e, p, p.ty->ndim - 1u), zero(e)), TR_EXC_VALUE,
            "pvals must have at least 1 dimension and the last dimension of pvals must be greater than 0.", 0,
            NULL);
    if (tr_lib_is_array(n) || p.ty->ndim > 1)
        return multinomials(e, c, s, n, p, out);
    if (!tr_rnd_sized(e, c, c->a[2], i64(e), tr_em_dim(e, p, 0), out))
        return false;
    keep_parts(e, TR_DRAW(MULTINOMIAL, i64(e), 3, n, tr_rnd_in_a_row(e, *out), p));
    return true;
}

/* Parameters: alpha, size. */
bool tr_lib_rnd_dirichlet(tr_em *e, const tr_bcall *with_self, tr_tv *out) {
    tr_stream st, *s = &st;
    const tr_bcall call = tr_rnd_without_self(with_self, s), *c = &call;
    tr_tv alpha;
    if (!doubles(e, c, c->a[0], "alpha", &alpha) ||
        !tr_rnd_sized(e, c, c->a[1], f64(e), tr_em_dim(e, alpha, 0), out))
        return false;
    if (s->generator.ty) {
        tr_tv code = TR_DRAW(DIRICHLET, i64(e), 2, tr_rnd_in_a_row(e, *out), alpha);
        not_so(e, code, TR_RANDOM_RANGE, TR_EXC_VALUE, "alpha < 0");
        not_so(e, code, TR_RANDOM_MEMORY, TR_EXC_MEMORY, "cannot allocate memory for alpha");
        return true;
    }
    tr_tv ok = tr_em_callrt(e, TR_RT_NP_DIRICHLET, tr_fam_ty(e, TR_TY_BOOL), NULL, 2,
                            (tr_tv[]){tr_rnd_in_a_row(e, *out), alpha});
    tr_em_check(e, ok, TR_EXC_VALUE, "alpha <= 0", 0, NULL);
    return true;
}
