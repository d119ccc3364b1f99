/* What the families of library functions share: looking at bound arguments, folding an iterable. */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "lib/fam.h"
#include "lib/families.h"

const char *tr_fam_name(const tr_bcall *c) {
    assert(c->row < TR_B__COUNT && "a row of builtins.def");
    const tr_builtin *b = &tr_builtins[c->row];
    if (b->kind != TR_B_FUNC)
        return b->name;
    return strncmp(b->path, "builtins.", 9) == 0 ? b->path + 9 : b->path;
}

char tr_fam_class(tr_em *e, tr_tv x) {
    const tr_ty *s = x.ty ? tr_lib_scalar(e, x.ty) : NULL;
    char c = s ? tr_ty_class(s) : 0;
    return c == 'u' ? 'i' : c;
}

bool tr_fam_number(tr_em *e, const tr_bcall *c, tr_tv x, const char *classes) {
    assert(tr_em_is_whole(e, x) && *classes && "a value, which may be of some classes");
    char k = tr_fam_class(e, x);
    if (k && strchr(classes, k))
        return true;
    const char *what = strchr(classes, 'c')   ? "a number"
                       : strchr(classes, 'f') ? "a real number"
                                              : "an integer";
    tr_em_error(e, "%s() takes %s, not %s", tr_fam_name(c), what, tr_em_tyname(e, x.ty));
    const char *path = tr_builtins[c->row].path;
    if (k == 'c' && strncmp(path, "math.", 5) == 0)
        tr_em_hint(e, "module cmath has the functions of complex numbers");
    if (tr_lib_is_array(x) && strncmp(path, "math.", 5) == 0)
        tr_em_hint(e, "NumPy's functions work on whole arrays");
    return false;
}

tr_tv tr_fam_weaken(tr_em *e, tr_tv r, bool weak) {
    assert(tr_em_is_whole(e, r) && "a result is a value");
    if (weak && (r.ty->kind == TR_TY_I64 || r.ty->kind == TR_TY_F64 || r.ty->kind == TR_TY_C128))
        r.ty = tr_ty_weak(e->types, (tr_tyk)r.ty->kind);
    return r;
}

bool tr_fam_int(tr_em *e, const tr_bcall *c, tr_tv x, const char *what, tr_tv *out) {
    char k = tr_fam_class(e, x);
    if (k != 'i' && k != 'b')
        return tr_em_error(e, "%s(): %s must be an integer, not %s", tr_fam_name(c), what,
                           tr_em_tyname(e, x.ty));
    *out = tr_em_conv(e, x, tr_fam_ty(e, TR_TY_I64));
    if (tr_lib_scalar(e, x.ty)->kind == TR_TY_U64)
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, *out, tr_em_i64(e, 0)), TR_EXC_OVERFLOW,
                    "an unsigned integer does not fit int64", 0, NULL);
    return true;
}

tr_tv tr_fam_round_int(tr_em *e, tr_tv x, tr_tv ndigits) {
    assert(tr_ty_is_scalar(x.ty) && tr_em_are_i64(e, 1, &ndigits) && "a number, to so many digits");
    bool sign = tr_ty_class(x.ty) != 'u';
    const tr_ty *t = tr_fam_ty(e, sign ? TR_TY_I64 : TR_TY_U64);
    return tr_em_callrt(e, sign ? TR_RT_ROUNDI : TR_RT_ROUNDU, t, NULL, 2,
                        (tr_tv[]){tr_em_conv(e, x, t), ndigits});
}

/* What to compute with instead of a dtype that compiled code lacks. */
static const char *other_dtype(const char *name) {
    static const struct {
        const char *part, *instead;
    } rows[] = {{"clongdouble", "complex128"},
                {"CLong", "complex128"},
                {"longdouble", "float64"},
                {"LongDouble", "float64"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(name, rows[i].part))
            return rows[i].instead;
    return NULL;
}

bool tr_fam_dtype(tr_em *e, const tr_bcall *c, tr_tv x, const tr_ty **out) {
    *out = tr_tv_dtype(e, x);
    if (*out)
        return true;
    const char *name = x.ty->kind == TR_TY_LIT ? x.ty->lit->repr : tr_em_tyname(e, x.ty);
    tr_em_error(e, "%s(): %s is not a dtype that compiled code knows", tr_fam_name(c), name);
    const char *text, *rest;
    bool delta;
    if (tr_tv_lit_str(x, &text) && tr_ty_looks_like_date(text, &delta, &rest))
        tr_em_hint(e, "units of dates are plain ones, like 'datetime64[s]'; functions of numbers take none");
    else if (other_dtype(name))
        tr_em_hint(e, "use %s, and convert the result outside", other_dtype(name));
    return false;
}

bool tr_fam_flag(tr_em *e, const tr_bcall *c, tr_tv x, const char *what, bool dflt, bool *out) {
    int64_t v = dflt;
    if (tr_fam_given(x) && !tr_tv_lit_int(x, &v))
        return tr_em_error(e, "%s(): %s must be a constant, True or False", tr_fam_name(c), what);
    *out = v != 0;
    return true;
}

bool tr_fam_axis(tr_em *e, const tr_bcall *c, uint32_t ndim, tr_tv x, uint32_t *out) {
    int64_t k, nd = ndim;
    assert(ndim <= 2 * TR_MAX_NDIM && "as many axes as there can be");
    if (!tr_tv_lit_int(x, &k))
        return tr_em_error(e, "%s(): axes must be constants", tr_fam_name(c));
    if (k < -nd || k >= nd)
        return tr_em_fail(e, TR_ERR_AXIS, "%s(): axis %lld is out of bounds for array of dimension %lld",
                          tr_fam_name(c), (long long)k, (long long)nd);
    *out = (uint32_t)(k < 0 ? k + nd : k);
    return true;
}

bool tr_fam_late_axis(tr_em *e, const tr_bcall *c, uint32_t ndim, tr_tv x, tr_tv *out) {
    uint32_t known;
    int64_t lit;
    tr_tv nd = tr_em_i64(e, ndim), asked;
    if (tr_tv_lit_int(x, &lit)) {
        if (!tr_fam_axis(e, c, ndim, x, &known))
            return false;
        *out = tr_em_i64(e, known);
        return true;
    }
    if (!tr_fam_int(e, c, x, "axis", &asked))
        return false;
    *out = tr_lib_emit(e, TR_OP_WRAP, asked.ty, 2, (tr_val[]){asked.v, nd.v});
    tr_tv ok =
        tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, *out, tr_em_i64(e, 0)), tr_em_cmp(e, TR_CMP_LT, *out, nd));
    tr_em_check(e, ok, TR_EXC_AXIS, "axis {0} is out of bounds for array of dimension {1}", 2,
                (tr_tv[]){asked, nd});
    return true;
}

bool tr_fam_are_known(uint32_t n, const tr_tv *x) {
    int64_t v;
    for (uint32_t i = 0; i < n; i++)
        if (!tr_tv_lit_int(x[i], &v))
            return false;
    return true;
}

bool tr_fam_list(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *out, uint32_t *n) {
    *n = 1;
    out[0] = x;
    if (x.ty->kind != TR_TY_TUPLE)
        return tr_fam_number(e, c, x, "bi");
    if (x.ty->n > TR_MAX_NDIM)
        return tr_em_error(e, "%s(): more than %d dimensions", tr_fam_name(c), TR_MAX_NDIM);
    *n = x.ty->n;
    for (uint32_t i = 0; i < *n; i++)
        out[i] = tr_em_item(e, x, i);
    return true;
}

bool tr_fam_axes(tr_em *e, const tr_bcall *c, uint32_t ndim, tr_tv x, uint32_t *mask) {
    tr_tv v[TR_MAX_NDIM];
    uint32_t n, k;
    *mask = 0;
    if (!tr_fam_list(e, c, x, v, &n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!tr_fam_axis(e, c, ndim, v[i], &k))
            return false;
        if (*mask & 1u << k)
            return tr_em_error(e, "%s(): repeated axis", tr_fam_name(c));
        *mask |= 1u << k;
    }
    return true;
}

void tr_fam_shape(tr_em *e, tr_tv a, tr_tv *shape) {
    assert(tr_em_is_array(e, a) && "arrays have a shape");
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        shape[i] = tr_em_dim(e, a, i);
}

static int kind_order(const tr_ty *t) {
    switch (tr_ty_class(t)) {
    case 'b': return 0;
    case 'u':
    case 'i': return 1;
    case 'f': return 2;
    default: return 3;
    }
}

bool tr_fam_same_kind(const tr_ty *from, const tr_ty *to) {
    assert(tr_ty_is_scalar(from) && tr_ty_is_scalar(to) && "numbers are cast");
    return kind_order(from) <= kind_order(to);
}

/* minimum and maximum give NaN where there is one, fmin and fmax the other operand. */
tr_tv tr_lib_pick(tr_em *e, int how, tr_tv a, tr_tv b) {
    assert(a.ty == b.ty && how >= TR_UF_MINIMUM && how <= TR_UF_FMAX && "two numbers of one type");
    bool max = how == TR_UF_MAXIMUM || how == TR_UF_FMAX;
    if (a.ty->kind == TR_TY_BOOL)
        return tr_em_op2(e, max ? TR_OP_OR : TR_OP_AND, a, b);
    if (tr_ty_is_int(a.ty))
        return tr_em_op2(e, max ? TR_OP_MAX : TR_OP_MIN, a, b);
    bool cplx = tr_ty_is_complex(a.ty);
    tr_cmpop op = max ? TR_CMP_GE : TR_CMP_LE;
    tr_tv first = cplx ? tr_fam_cplx_compare(e, op, a, b) : tr_em_cmp(e, op, a, b);
    tr_tv special = how >= TR_UF_FMIN ? b : a;
    if (cplx)
        first = tr_fam_or(e, first, tr_fam_cplx_isnan(e, special));
    else if (tr_ty_is_float(a.ty))
        first = tr_fam_or(e, first, tr_fam_math1(e, TR_MATH_ISNAN, special));
    return tr_em_select(e, first, a, b);
}

tr_tv tr_fam_part(tr_em *e, tr_tv a, uint32_t axis, tr_tv from, tr_tv n) {
    assert(tr_em_is_array(e, a) && axis < a.ty->ndim && "a part of an axis");
    tr_axes x = {0};
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        if (i == axis)
            tr_axes_part(&x, i, from, n, tr_em_i64(e, 1));
        else
            tr_axes_own(e, &x, a, i);
    tr_layout lay = a.ty->layout == TR_LAYOUT_C && axis == 0 ? TR_LAYOUT_C : TR_LAYOUT_ANY;
    const tr_ty *ty = tr_ty_array(e->types, a.ty->elem, a.ty->ndim, lay, a.ty->readonly);
    return tr_em_view(e, ty, a, &x);
}

/* --- folding an iterable --- */

static bool first_item(tr_em *e, tr_tv it, tr_tv *out) {
    tr_tv n, step;
    return tr_em_iterlen(e, it, &n) && tr_em_next(e, it, n, tr_em_i64(e, 0), &step) &&
           tr_em_iterget(e, it, tr_em_item(e, step, TR_STEP_PLACE), out);
}

bool tr_fam_item_type(tr_em *e, tr_tv it, const tr_ty **out) {
    tr_em probe = *e;
    probe.dry = true;
    tr_tv x;
    if (it.ty->kind == TR_TY_GENEXPR && tr_em_has_loops(e, it)) /* whoever asks runs through all of them */
        return tr_lib_type_of_values(e, it, out);
    if (!first_item(&probe, (tr_tv){it.ty, TR_NOVAL}, &x)) {
        tr_tv undef = tr_lib_undef(e, it.ty); /* once more, so that the reason is reported */
        return first_item(e, undef, &x) && tr_em_fail(e, TR_ERR_INTERNAL, "an iterable failed dry only");
    }
    const tr_ty *number = x.ty->kind == TR_TY_LIT ? tr_lib_scalar(e, x.ty) : NULL; /* len() of a constant */
    *out = number ? number : x.ty;
    return true;
}

typedef struct fold {
    bool direct; /* items come as pattern inputs, not through the captured iterable */
    tr_fam_itemfn item;
    const void *user;
} fold;

static bool lam_fold(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                     tr_tv *yields) {
    const fold *f = d->user;
    assert(f->direct ? d->nin == 1 && !d->ncap : d->ncap == 1 && "items come as inputs, or are asked for");
    tr_tv x;
    if (f->direct)
        x = elems[0];
    else if (!tr_em_iterget(e, caps[0], idx[0], &x))
        return false;
    if (f->item && !f->item(e, x, f->user, &x))
        return false;
    yields[0] = tr_red_info[d->reds[0]].place ? tr_em_strong(e, x) : tr_em_conv(e, x, d->init[0].ty);
    return true;
}

/* --- a loop --- */

/* What a loop carries from round to round, the counter first. */
static tr_bid loop_block(tr_em *e, uint32_t n, const tr_tv *acc, tr_tv *params) {
    assert(!e->dry && tr_em_are_whole(e, n, acc) && "what a loop carries are values, of types that stay");
    tr_bid b = tr_blk_new(e->b.fn);
    for (uint32_t k = 0; k < n; k++)
        params[k] = (tr_tv){acc[k].ty, tr_blk_param(e->b.fn, b, acc[k].ty, NULL)};
    return b;
}

static tr_val *values_of(tr_em *e, uint32_t n, const tr_tv *x) {
    tr_val *v = TR_NEW_N(&e->ctx->arena, tr_val, n + 1u);
    for (uint32_t k = 0; k < n; k++)
        v[k] = x[k].v;
    return v;
}

static bool one_round(tr_em *e, tr_tv it, tr_tv step, tr_eachfn each, const void *user, tr_tv *acc,
                      tr_tv *stop) {
    tr_tv x;
    bool before = e->ends;
    *stop = (tr_tv){NULL, TR_NOVAL};
    e->ends = false;
    bool ok = tr_em_iterget(e, it, tr_em_item(e, step, TR_STEP_PLACE), &x), never = e->ends;
    e->ends = before;
    return ok &&
           (never || each(e, x, user, acc, stop)); /* of nothing: no type is known, and no round comes here */
}

static bool is_over(tr_em *e, tr_tv step) {
    int64_t more;
    return tr_tv_lit_int(tr_em_item(e, step, TR_STEP_MORE), &more) && !more;
}

bool tr_fam_never_gives(tr_em *e, tr_tv it) {
    tr_em probe = *e;
    bool waits = false;
    tr_tv len, step, x;
    probe.dry = true;
    probe.ends = false;
    probe.waits = &waits;
    it.v = TR_NOVAL;
    if (tr_fam_gives_nothing(it.ty))
        return true;
    if (it.ty->kind == TR_TY_GENEXPR || !tr_lib_serial_len(&probe, it, &len) ||
        !tr_em_next(&probe, it, len, tr_em_i64(&probe, 0), &step))
        return false;
    return is_over(&probe, step) ||
           (tr_em_iterget(&probe, it, tr_em_item(&probe, step, TR_STEP_PLACE), &x) && probe.ends);
}

/* To ask for an item changes nothing. */
static bool asks_for_free(const tr_ty *it) {
    return it->kind == TR_TY_TUPLE || it->kind == TR_TY_LIST || it->kind == TR_TY_ARRAY ||
           it->kind == TR_TY_RANGE || it->kind == TR_TY_STRING;
}

bool tr_fam_gives_nothing(const tr_ty *it) {
    switch ((tr_tyk)it->kind) {
    case TR_TY_TUPLE: return !it->n;
    case TR_TY_GENEXPR:
    case TR_TY_ENUMERATE: return tr_fam_gives_nothing(it->items[1]);
    case TR_TY_REVERSED: return tr_fam_gives_nothing(it->items[0]);
    case TR_TY_ZIP:
        for (uint32_t k = 0; k < it->n; k++) {
            if (tr_fam_gives_nothing(it->items[k]))
                return true;
            if (!asks_for_free(it->items[k]))
                return false;
        }
        return false;
    default: return false;
    }
}

bool tr_em_each(tr_em *e, tr_tv it, uint32_t n, tr_tv *acc, tr_eachfn each, const void *user) {
    assert(tr_em_is_whole(e, it) && tr_em_are_whole(e, n, acc) && "a loop begins with values");
    if (it.ty->kind == TR_TY_GENEXPR)
        return tr_lib_each_genexpr(e, it, n, acc, each, user);
    if (tr_fam_gives_nothing(it.ty))
        return true;
    tr_tv *c = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u), *end = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u), len,
          step, stop = {NULL, TR_NOVAL};
    c[0] = tr_em_i64(e, 0);
    for (uint32_t k = 0; k < n; k++)
        c[k + 1] = acc[k];
    if (!tr_lib_serial_len(e, it, &len))
        return false;
    if (e->dry)
        return tr_em_next(e, it, len, c[0], &step) &&
               (is_over(e, step) || one_round(e, it, step, each, user, acc, &stop));
    tr_val *start = values_of(e, n + 1, c);
    tr_bid head = loop_block(e, n + 1, c, c), body = tr_blk_new(e->b.fn), done = loop_block(e, n, acc, end);
    tr_br(&e->b, head, n + 1, start);
    e->b.blk = head;
    if (!tr_em_next(e, it, len, c[0], &step))
        return false;
    tr_tv more = tr_em_strong(e, tr_em_item(e, step, TR_STEP_MORE));
    tr_cbr(&e->b, more.v, body, 0, NULL, done, n, values_of(e, n, c + 1));
    e->b.blk = body;
    if (!is_over(e, step) && !one_round(e, it, step, each, user, c + 1, &stop))
        return false;
    for (uint32_t k = 0; k < n; k++)
        assert(c[k + 1].ty == end[k].ty && "a round leaves the types of what the loop carries");
    c[0] = tr_em_nsw(e, TR_OP_ADD, tr_em_item(e, step, TR_STEP_COUNT), tr_em_i64(e, 1));
    tr_val *next = values_of(e, n + 1, c);
    if (stop.ty)
        tr_cbr(&e->b, tr_em_strong(e, stop).v, done, n, next + 1, head, n + 1, next);
    else
        tr_br(&e->b, head, n + 1, next);
    e->b.blk = done;
    for (uint32_t k = 0; k < n; k++)
        acc[k] = end[k];
    return true;
}

bool tr_fam_when(tr_em *e, tr_tv cond, uint32_t n, tr_tv *acc, tr_whenfn fn, const void *user) {
    assert(tr_em_is_whole(e, cond) && tr_em_are_whole(e, n, acc) && "a condition, and what may change");
    tr_tv *end = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
    if (e->dry)
        return fn(e, user, acc);
    tr_bid body = tr_blk_new(e->b.fn), done = loop_block(e, n, acc, end);
    tr_cbr(&e->b, cond.v, body, 0, NULL, done, n, values_of(e, n, acc));
    e->b.blk = body;
    if (!fn(e, user, acc))
        return false;
    for (uint32_t k = 0; k < n; k++)
        assert(acc[k].ty == end[k].ty && "a branch leaves the types of what it changes");
    tr_br(&e->b, done, n, values_of(e, n, acc));
    e->b.blk = done;
    memcpy(acc, end, n * sizeof *acc);
    return true;
}

typedef struct serial {
    tr_redk red;
    tr_fam_itemfn item;
    const void *user;
} serial;

static bool each_fold(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    const serial *s = user;
    if (s->item && !s->item(e, x, s->user, &x))
        return false;
    x = tr_em_conv(e, x, acc->ty);
    if (s->red == TR_RED_AND || s->red == TR_RED_OR)
        *stop = s->red == TR_RED_OR ? x : tr_fam_not(e, x);
    tr_op op = s->red == TR_RED_MUL   ? TR_OP_MUL
               : s->red == TR_RED_AND ? TR_OP_AND
               : s->red == TR_RED_OR  ? TR_OP_OR
                                      : TR_OP_ADD;
    *acc = tr_em_op2(e, op, *acc, x);
    return true;
}

bool tr_fam_reduce(tr_em *e, tr_tv it, tr_redk red, tr_tv init, tr_fam_itemfn item, const void *user,
                   tr_tv *out) {
    fold f = {.direct = tr_lib_is_array(it) && it.ty->ndim == 1, .item = item, .user = user};
    tr_tv n;
    if (!tr_em_iterlen(e, it, &n))
        return false;
    if (tr_tv_is_none(n)) {
        serial s = {red, item, user};
        *out = init;
        return tr_em_each(e, it, 1, out, each_fold, &s);
    }
    tr_pdesc d = {
        .nspace = 1, .nred = 1, .space = &n, .reds = &red, .init = &init, .lam = lam_fold, .user = &f};
    if (f.direct) {
        d.nin = 1;
        d.in = &it;
    } else {
        d.ncap = 1;
        d.caps = &it;
    }
    return tr_em_pattern(e, &d, out);
}

tr_tv tr_fam_start(tr_em *e, tr_redk red, const tr_ty *t) {
    t = tr_ty_strong(e->types, t);
    return (tr_tv){t, e->dry ? TR_NOVAL : tr_red_identity(e->b.fn, red, t)};
}

/* --- bits of integers --- */

tr_tv tr_fam_bits(tr_em *e, tr_bitop op, tr_tv x) {
    tr_tv n = tr_em_op1(e, TR_OP_BITS, x);
    assert(tr_ty_is_int(n.ty) && op < TR_BITS__COUNT && "bits of an integer");
    if (!e->dry)
        tr_at(e->b.fn, n.v)->sub = (uint8_t)op;
    return n;
}

tr_tv tr_fam_magnitude(tr_em *e, tr_tv v) {
    if (tr_ty_class(v.ty) == 'i')
        v = tr_em_op1(e, TR_OP_ABS, tr_em_conv(e, v, tr_fam_ty(e, TR_TY_I64)));
    return tr_em_conv(e, v, tr_fam_ty(e, TR_TY_U64));
}
