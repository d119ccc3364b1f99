/* min() and max(): of arguments, tuples and iterables, by a key, or else by default. As CPython has
 * them: a later item takes the place of the best only where it compares smaller (larger), so a NaN that
 * comes first stays, and of equals the first.
 * Numbers without a key are selects, or a reduction of a pattern where their number is known; all else is a
 * loop that carries the best item and its key. */
#include "lib/fam.h"
#include "lib/kinds.h"
#include "lib/table.h"

static const tr_ty *scalar_of(tr_em *e, tr_tv x) {
    return tr_lib_scalar(e, x.ty);
}

/* Of integers alone, a type that holds each: int64 for literals that the others' type does not hold, and, as
 * operators have it, for int64 beside uint64. */
static const tr_ty *integers_type(tr_em *e, uint32_t n, const tr_tv *x, const tr_ty *t) {
    tr_bigint v;
    bool wide = !tr_ty_is_int(t);
    for (uint32_t i = 0; i < n; i++) {
        if (tr_ty_is_float(scalar_of(e, x[i])))
            return t;
        wide = wide || (tr_tv_lit_integer(x[i], &v) ? !tr_tv_fits(x[i], t) : tr_fam_weak(e, x[i]));
    }
    return wide && t->kind != TR_TY_BOOL ? tr_fam_ty(e, TR_TY_I64) : t;
}

static bool common_of(tr_em *e, const tr_bcall *c, uint32_t n, const tr_tv *x, const tr_ty **t) {
    *t = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (!tr_fam_number(e, c, x[i], "bif"))
            return false;
        const tr_ty *s = scalar_of(e, x[i]);
        if (e->opts->promote_numba)
            s = tr_ty_strong(e->types, s);
        *t = *t ? tr_lib_common(e, *t, s) : s;
    }
    if (!e->opts->promote_numba)
        *t = integers_type(e, n, x, *t);
    return true;
}

static bool is_u64(tr_em *e, tr_tv x) {
    return tr_ty_strong(e->types, scalar_of(e, x))->kind == TR_TY_U64;
}

/* uint64 numbers and others, whose result is an int64: the best of each kind, and exactly the better one. */
static bool extreme_of_mixed(tr_em *e, const tr_bcall *c, uint32_t n, const tr_tv *x, tr_tv *out) {
    const tr_ty *i64 = tr_fam_ty(e, TR_TY_I64);
    tr_cmpop op = c->aux ? TR_CMP_GT : TR_CMP_LT;
    tr_tv best[2] = {{NULL, TR_NOVAL}, {NULL, TR_NOVAL}}, wins;
    for (uint32_t i = 0; i < n; i++) {
        bool u64 = is_u64(e, x[i]);
        if (u64 && c->aux && x[i].ty->kind == TR_TY_LIT)
            return tr_em_error(e, "%s(): %s does not fit int64, which the result is", tr_fam_name(c),
                               x[i].ty->lit->repr);
        tr_tv v = tr_em_conv(e, x[i], u64 ? tr_fam_ty(e, TR_TY_U64) : i64), *b = &best[u64];
        *b = b->ty ? tr_em_select(e, tr_em_cmp(e, op, v, *b), v, *b) : v;
    }
    if (!tr_em_compare(e, op, best[1], best[0], &wins))
        return false;
    *out = tr_em_select(e, wins, tr_em_conv(e, best[1], i64), best[0]);
    return true;
}

static bool mixes_u64_with_i64(tr_em *e, uint32_t n, const tr_tv *x, const tr_ty *t) {
    for (uint32_t i = 0; i < n && t->kind == TR_TY_I64; i++) /* which uint64 alone are not */
        if (is_u64(e, x[i]))
            return true;
    return false;
}

/* As CPython: a later item replaces the best so far only when it compares smaller (larger). */
static bool extreme_of(tr_em *e, const tr_bcall *c, uint32_t n, const tr_tv *x, tr_tv *out) {
    const tr_ty *t;
    if (!common_of(e, c, n, x, &t))
        return false;
    if (!e->opts->promote_numba && mixes_u64_with_i64(e, n, x, t))
        return extreme_of_mixed(e, c, n, x, out);
    tr_cmpop op = c->aux ? TR_CMP_GT : TR_CMP_LT;
    tr_tv best = tr_em_conv(e, x[0], t);
    for (uint32_t i = 1; i < n; i++) {
        tr_tv v = tr_em_conv(e, x[i], t);
        best = tr_em_select(e, tr_em_cmp(e, op, v, best), v, best);
    }
    *out = tr_fam_weaken(e, best, t->weak);
    return true;
}

/* NaN never replaces the best, so it stands for the worst value. */
static bool item_no_nan(tr_em *e, tr_tv x, const void *user, tr_tv *out) {
    tr_tv nan = tr_fam_math1(e, TR_MATH_ISNAN, x);
    *out = tr_em_select(e, nan, tr_fam_start(e, user ? TR_RED_MAX : TR_RED_MIN, x.ty), x);
    return true;
}

/* As the Python that compiles says it. */
static const char *none_text(tr_em *e, bool max) {
    if (e->ctx->python < 312)
        return max ? "max() arg is an empty sequence" : "min() arg is an empty sequence";
    return max ? "max() iterable argument is empty" : "min() iterable argument is empty";
}

static void check_some(tr_em *e, const tr_bcall *c, tr_tv some) {
    tr_em_check(e, some, TR_EXC_VALUE, none_text(e, c->aux), 0, NULL);
}

/* acc: the best so far, whether there is one */
static bool each_extreme(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    (void)stop;
    const tr_bcall *c = user;
    x = tr_em_conv(e, x, acc[0].ty);
    tr_tv wins = tr_em_cmp(e, c->aux ? TR_CMP_GT : TR_CMP_LT, x, acc[0]);
    acc[0] = tr_em_select(e, tr_fam_or(e, tr_fam_not(e, acc[1]), wins), x, acc[0]);
    acc[1] = tr_em_bool(e, true);
    return true;
}

/* Of what has no length. */
static bool extreme_asked(tr_em *e, const tr_bcall *c, tr_tv it, const tr_ty *t, tr_tv *out) {
    tr_tv acc[2] = {tr_em_num(e, tr_ty_strong(e->types, t), 0.0), tr_em_bool(e, false)};
    if (!tr_em_each(e, it, 2, acc, each_extreme, c))
        return false;
    check_some(e, c, acc[1]);
    *out = acc[0];
    return true;
}

/* Of an iterable: where the first item is NaN it stays; else the first smallest (largest) item. */
static bool extreme_iter(tr_em *e, const tr_bcall *c, tr_tv it, tr_tv *out) {
    const tr_ty *t;
    tr_redk red = c->aux ? TR_RED_MAX : TR_RED_MIN;
    tr_tv n, i;
    if (!tr_em_iter(e, it, &it) || !tr_fam_item_type(e, it, &t) || !tr_em_iterlen(e, it, &n))
        return false;
    if (!tr_ty_is_scalar(t) || tr_ty_is_complex(t))
        return tr_em_error(e, "%s() of items of %s", tr_fam_name(c), tr_em_tyname(e, t));
    if (tr_tv_is_none(n))
        return extreme_asked(e, c, it, t, out);
    check_some(e, c, tr_em_cmp(e, TR_CMP_NE, n, tr_em_i64(e, 0)));
    if (!tr_ty_is_float(t))
        return tr_fam_reduce(e, it, red, tr_fam_start(e, red, t), NULL, NULL, out);
    if (!tr_fam_reduce(e, it, c->aux ? TR_RED_ARGMAX : TR_RED_ARGMIN, tr_em_i64(e, 0), item_no_nan,
                       c->aux ? c : NULL, &i))
        return false;
    tr_tv first;
    if (!tr_em_iterget(e, it, tr_em_i64(e, 0), &first))
        return false;
    i = tr_em_select(e, tr_fam_math1(e, TR_MATH_ISNAN, first), tr_em_i64(e, 0), i);
    return tr_em_iterget(e, it, i, out);
}

/* --- by a key, and what is no number --- */

typedef struct best {
    tr_tv key; /* the function; no type: items are compared themselves */
    bool greatest;
    const tr_ty *item, *by; /* the types that the best one and its key are carried in */
} best;

static bool key_of(tr_em *e, const best *b, tr_tv x, tr_tv *out) {
    *out = x;
    if (!b->key.ty)
        return true;
    if (!tr_fam_call(e, b->key, 1, &x, tr_fam_ty(e, TR_TY_F64), out))
        return false;
    *out = out->ty ? tr_em_value(e, *out) : *out; /* as d.get gives it */
    return true;
}

/* acc: is it better? user: two keys, the new one first. */
typedef struct rivals {
    const best *b;
    tr_tv x, y;
} rivals;

static bool compare_keys(tr_em *e, const void *user, tr_tv *acc) {
    const rivals *r = user;
    tr_tv wins;
    if (!tr_em_compare(e, r->b->greatest ? TR_CMP_GT : TR_CMP_LT, r->x, r->y, &wins) ||
        !tr_em_truth(e, wins, &wins))
        return false;
    acc[0] = tr_em_strong(e, wins);
    return true;
}

/* acc: the best item, its key. user: the item that takes its place, and its key. */
static bool replace(tr_em *e, const void *user, tr_tv *acc) {
    (void)e;
    memcpy(acc, user, 2 * sizeof *acc);
    return true;
}

/* acc: the best item, its key, whether there is one. */
static bool each_better(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    const best *b = user;
    tr_tv k, now[2], wins = tr_em_strong(e, tr_em_bool(e, true));
    (void)stop;
    if (!key_of(e, b, x, &k) || !tr_em_coerce(e, x, b->item, &now[0]) || !tr_em_coerce(e, k, b->by, &now[1]))
        return false;
    rivals r = {b, now[1], acc[1]};
    if (!tr_fam_when(e, tr_em_strong(e, acc[2]), 1, &wins, compare_keys, &r) ||
        !tr_fam_when(e, wins, 2, acc, replace, now))
        return false;
    acc[2] = tr_em_strong(e, tr_em_bool(e, true));
    return true;
}

static const tr_ty *carried(tr_em *e, const tr_ty *t) {
    return tr_ty_told(e->types, tr_ty_strong(e->types, t));
}

/* Has it a value that holds no memory, which a loop may carry before there is one? */
static bool is_container(const tr_ty *t) {
    return t->kind == TR_TY_LIST || t->kind == TR_TY_DICT || t->kind == TR_TY_SET || t->kind == TR_TY_ARRAY;
}

static bool may_be_nothing(const tr_ty *t) {
    if (t->kind != TR_TY_TUPLE)
        return tr_ty_is_scalar(t) || t->kind == TR_TY_NONE || t->kind == TR_TY_STRING ||
               t->kind == TR_TY_BYTES || is_container(t);
    for (uint32_t k = 0; k < t->n; k++)
        if (!may_be_nothing(t->items[k]))
            return false;
    return true;
}

static bool nothing_of(tr_em *e, const tr_ty *t, tr_tv *out) {
    if (t->kind == TR_TY_STRING)
        return tr_em_string(e, tr_em_lit(e, tr_obj_str(&e->ctx->arena, "")), out);
    if (t->kind == TR_TY_BYTES) {
        *out = tr_em_bytes(e, tr_obj_str(&e->ctx->arena, ""));
        return true;
    }
    if (t->kind != TR_TY_TUPLE) {
        *out = tr_lib_undef(e, t);
        return true;
    }
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, t->n + 1u);
    for (uint32_t k = 0; k < t->n; k++)
        if (!nothing_of(e, t->items[k], &it[k]))
            return false;
    *out = tr_em_make(e, t, t->n, it);
    return true;
}

/* The type of an item's key, found dry. */
static bool key_type(tr_em *e, best *b, const tr_ty *item) {
    tr_em probe = *e;
    tr_tv k;
    probe.dry = true;
    if (!key_of(&probe, b, (tr_tv){item, TR_NOVAL}, &k))
        return key_of(e, b, tr_lib_undef(e, item), &k) && /* once more, so that the reason is reported */
               tr_em_fail(e, TR_ERR_INTERNAL, "a function failed dry only");
    b->by = carried(e, k.ty);
    return true;
}

/* One type for both, or an error. */
static bool join_types(tr_em *e, const tr_bcall *c, const tr_ty *x, const tr_ty *y, const tr_ty **out) {
    *out = tr_ty_join(e->types, carried(e, x), carried(e, y), e->opts->promote_numba);
    return *out || tr_em_error(e, "%s() of %s and %s: they have no common type", tr_fam_name(c),
                               tr_em_tyname(e, x), tr_em_tyname(e, y));
}

/* Of items that are there one by one, n of them. */
static bool best_of(tr_em *e, const tr_bcall *c, best *b, uint32_t n, const tr_tv *x, tr_tv *out) {
    tr_tv *k = TR_NEW_N(&e->ctx->arena, tr_tv, n), acc[2], now[2];
    b->item = carried(e, x[0].ty);
    for (uint32_t i = 0; i < n; i++) {
        if (!key_of(e, b, x[i], &k[i]) || !join_types(e, c, b->item, x[i].ty, &b->item) ||
            !join_types(e, c, i ? b->by : k[i].ty, k[i].ty, &b->by))
            return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        tr_tv wins;
        if (!tr_em_coerce(e, x[i], b->item, &now[0]) || !tr_em_coerce(e, k[i], b->by, &now[1]))
            return false;
        if (i == 0) {
            memcpy(acc, now, sizeof acc);
            continue;
        }
        rivals r = {b, now[1], acc[1]};
        if (!compare_keys(e, &r, &wins) || !tr_fam_when(e, wins, 2, acc, replace, now))
            return false;
    }
    *out = acc[0];
    return true;
}

/* --- what there is where there are no items --- */

typedef struct fallback {
    const tr_bcall *c;
    tr_tv it;
} fallback;

static bool some_items(tr_em *e, const void *user, tr_tv *acc) {
    const fallback *f = user;
    const tr_ty *t = acc[0].ty;
    return extreme_iter(e, f->c, f->it, &acc[0]) && tr_em_coerce(e, acc[0], t, &acc[0]);
}

static bool give_best(tr_em *e, const void *user, tr_tv *acc) {
    const tr_ty *t = acc[0].ty;
    return tr_em_coerce(e, *(const tr_tv *)user, t, &acc[0]);
}

/* The items of an iterable; other.ty: what there is where there are none. */
static bool best_item(tr_em *e, const tr_bcall *c, best *b, tr_tv it, tr_tv other, tr_tv *out) {
    const tr_ty *t;
    tr_tv n, r, of = it;
    if (!tr_em_iter(e, it, &it) || !tr_fam_item_type(e, it, &t) || !tr_em_iterlen(e, it, &n))
        return false;
    b->item = carried(e, t);
    if (tr_table_gives_nothing(e, of)) { /* no key is asked for, and the type is a guess */
        *out = other.ty ? other : tr_lib_undef(e, b->item);
        if (!other.ty)
            check_some(e, c, tr_em_bool(e, false));
        return true;
    }
    bool numbers = !b->key.ty && t->kind != TR_TY_TUPLE && t->kind != TR_TY_LIST && t->kind != TR_TY_BYTES &&
                   !tr_ty_is_text(t);
    if (numbers && !other.ty)
        return extreme_iter(e, c, it, out);
    if (!may_be_nothing(b->item))
        return tr_em_error(e, "%s() of items of %s", tr_fam_name(c), tr_em_tyname(e, t));
    t = b->item;
    if (other.ty && (!join_types(e, c, b->item, other.ty, &t) || !tr_em_coerce(e, other, t, &r)))
        return false;
    if (numbers && !tr_tv_is_none(n)) {
        fallback f = {c, it};
        *out = r;
        return tr_fam_when(e, tr_em_cmp(e, TR_CMP_NE, n, tr_em_i64(e, 0)), 1, out, some_items, &f);
    }
    tr_tv acc[3] = {[2] = tr_em_strong(e, tr_em_bool(e, false))};
    if (!key_type(e, b, b->item))
        return false;
    if (!nothing_of(e, b->item, &acc[0]) || !nothing_of(e, b->by, &acc[1]) ||
        !tr_em_each(e, it, 3, acc, each_better, b))
        return false;
    *out = acc[0];
    if (other.ty) {
        *out = r;
        return tr_fam_when(e, acc[2], 1, out, give_best, &acc[0]);
    }
    check_some(e, c, acc[2]);
    return true;
}

/* Parameters: *args, key, default. */
bool tr_lib_py_minmax(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv other = c->a[2];
    best b = {.key = tr_fam_given(c->a[1]) ? c->a[1] : (tr_tv){NULL, TR_NOVAL}, .greatest = c->aux};
    if (c->nvar == 0)
        return tr_em_error(e, "%s() expects at least one argument", tr_fam_name(c));
    if (c->nvar > 1 && other.ty)
        return tr_em_error(e, "Cannot specify a default for %s() with multiple positional arguments",
                           tr_fam_name(c));
    uint32_t n = c->nvar;
    tr_tv *x = c->var;
    if (n == 1) {
        if (c->var[0].ty->kind != TR_TY_TUPLE)
            return best_item(e, c, &b, c->var[0], other, out);
        n = c->var[0].ty->n;
        x = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
        for (uint32_t i = 0; i < n; i++)
            x[i] = tr_em_item(e, c->var[0], i);
    }
    if (n == 0 && other.ty) {
        *out = other;
        return true;
    }
    if (n == 0)
        return tr_em_error(e, "%s", none_text(e, c->aux));
    tr_tyk k = (tr_tyk)x[0].ty->kind;
    return b.key.ty || k == TR_TY_TUPLE || k == TR_TY_LIST || k == TR_TY_BYTES || tr_lib_is_text(x[0])
               ? best_of(e, c, &b, n, x, out)
               : extreme_of(e, c, n, x, out);
}
