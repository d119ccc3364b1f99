/* NumPy's functions of dates: which there are is lib/dates.def. Most are those of integers on what is inside,
 * under the date's type again. Where a NaT is behind all else, which as a number it is not, they are given
 * one less of each number: the order of all others stays, and the least int64 becomes the greatest.
 * np.datetime64 and np.timedelta64 are here too. */
#include <string.h>

#include "lib/date.h"
#include "lib/fam.h"
#include "lib/families.h"

static const tr_tv absent = {NULL, TR_NOVAL};

/* --- what is among the arguments --- */

static bool is_date(const tr_ty *t) {
    return t && tr_ty_is_date(t);
}

/* The date that t holds first, itself or in a tuple; NULL: none. */
static const tr_ty *first_date(const tr_ty *t) {
    const tr_ty *found = is_date(t) ? t : NULL;
    for (uint32_t i = 0; t && t->kind == TR_TY_TUPLE && !found && i < t->n; i++)
        found = first_date(t->items[i]);
    return found;
}

/* Brings *all, NULL at first, to what it and the dates in t have in common; else an error. */
static bool gather(tr_em *e, const tr_ty *t, const tr_ty **all) {
    tr_unit unit;
    for (uint32_t i = 0; t && t->kind == TR_TY_TUPLE && i < t->n; i++)
        if (!gather(e, t->items[i], all))
            return false;
    if (!is_date(t))
        return true;
    const tr_ty *one = tr_ty_one_date(e->types, t);
    if (!*all) {
        *all = one;
        return true;
    }
    if (tr_ty_is_delta(*all) != tr_ty_is_delta(one))
        return tr_em_error(e, "%s and %s have no common type", tr_em_tyname(e, *all), tr_em_tyname(e, one));
    if (!tr_date_common(e, *all, one, &unit))
        return false;
    *all = tr_ty_date(e->types, tr_ty_is_delta(one), unit);
    return true;
}

static bool common_of(tr_em *e, const tr_bcall *c, const tr_ty **all) {
    *all = NULL;
    for (uint32_t i = 0; i < c->n; i++)
        if (!gather(e, c->a[i].ty, all))
            return false;
    for (uint32_t i = 0; i < c->nvar; i++)
        if (!gather(e, c->var[i].ty, all))
            return false;
    return true;
}

/* x + by, for what is inside. */
static bool elt_moved(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    *out = tr_em_op2(e, TR_OP_ADD, x[0], tr_em_i64(e, *(const int64_t *)user));
    return true;
}

static bool moved(tr_em *e, tr_tv raw, int64_t by, tr_tv *out) {
    int64_t *kept = tr_arena_copy(&e->ctx->arena, &by, sizeof by);
    *out = raw;
    return !by || tr_lib_lift(e, 1, &raw, elt_moved, kept, out);
}

/* The same value with what is inside its dates, in the unit of `date`, `by` more of each. A
 * tuple of dates holds nothing else. */
static bool inside(tr_em *e, tr_tv x, const tr_ty *date, int64_t by, tr_tv *out) {
    *out = x;
    if (!first_date(x.ty))
        return true;
    if (is_date(x.ty))
        return tr_date_as(e, x, date, out) && moved(e, *out, by, out);
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, x.ty->n);
    const tr_ty **t = TR_NEW_N(&e->ctx->arena, const tr_ty *, x.ty->n);
    for (uint32_t i = 0; i < x.ty->n; i++) {
        tr_tv item = tr_em_item(e, x, i);
        if (!first_date(item.ty))
            return tr_em_error(e, "%s and %s have no common type", tr_em_tyname(e, item.ty),
                               tr_em_tyname(e, date));
        if (!inside(e, item, date, by, &it[i]))
            return false;
        t[i] = it[i].ty;
    }
    bool list = tr_ty_is_list(x.ty);
    *out = tr_em_make(e, list ? tr_ty_list(e->types, x.ty->n, t) : tr_ty_tuple(e->types, x.ty->n, t), x.ty->n,
                      it);
    return true;
}

/* The call on what is inside. */
static bool inside_all(tr_em *e, const tr_bcall *c, const tr_ty *date, int64_t by, tr_bcall *to) {
    *to = *c;
    to->a = TR_NEW_N(&e->ctx->arena, tr_tv, c->n + 1u);
    to->var = TR_NEW_N(&e->ctx->arena, tr_tv, c->nvar + 1u);
    for (uint32_t i = 0; i < c->n; i++)
        if (!inside(e, c->a[i], date, by, &to->a[i]))
            return false;
    for (uint32_t i = 0; i < c->nvar; i++)
        if (!inside(e, c->var[i], date, by, &to->var[i]))
            return false;
    return true;
}

static bool call_row(tr_em *e, uint32_t row, uint32_t n, tr_tv *a, tr_tv *out) {
    tr_bcall b = {.row = (uint16_t)row, .aux = tr_builtins[row].aux, .n = n, .a = a};
    return tr_lib_call_bound(e, &b, out);
}

/* What comes out as dates: arrays and numbers, or a tuple of such, of which `first` alone
 * may be asked for. */
static tr_tv outside(tr_em *e, const tr_ty *date, tr_tv x, bool first) {
    if (x.ty->kind != TR_TY_TUPLE)
        return tr_date_of(e, date, x);
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, x.ty->n + 1u);
    for (uint32_t i = 0; i < x.ty->n; i++) {
        it[i] = tr_em_item(e, x, i);
        it[i] = i && first ? it[i] : tr_date_of(e, date, it[i]);
    }
    return tr_em_tuple(e, x.ty->n, it);
}

/* --- by the table --- */

static bool not_here(tr_em *e, const tr_bcall *c, const tr_ty *t) {
    return tr_em_unsupported(e, "date-function", "%s() of %s", tr_fam_name(c), tr_em_tyname(e, t));
}

/* Which arguments may be dates, [*lo, *hi]: of the places and numbers behind them none means one. */
static void at_of(const tr_bcall *c, uint32_t *lo, uint32_t *hi) {
    *lo = c->row == TR_B_NP_EXTRACT || c->row == TR_B_NP_COMPRESS;
    *hi = *lo + (c->row == TR_B_NP_SEARCHSORTED || c->row == TR_B_M_SEARCHSORTED);
}

static bool stand_well(tr_em *e, const tr_bcall *c) {
    uint32_t lo, hi;
    at_of(c, &lo, &hi);
    for (uint32_t i = 0; i < c->n; i++) {
        const tr_ty *date = first_date(c->a[i].ty);
        if (date && (i < lo || i > hi))
            return not_here(e, c, c->a[i].ty);
        if (!date && c->a[i].ty && !c->nvar && i >= lo && i <= hi)
            return tr_em_error(e, "%s(): %s among dates", tr_fam_name(c), tr_em_tyname(e, c->a[i].ty));
    }
    return true;
}

static bool same(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *date;
    tr_bcall b;
    if (!common_of(e, c, &date) || !inside_all(e, c, date, 0, &b) || !tr_lib_call_bound(e, &b, out))
        return false;
    *out = outside(e, date, *out, false);
    return true;
}

static bool plain(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *date;
    tr_bcall b;
    return common_of(e, c, &date) && inside_all(e, c, date, 0, &b) && tr_lib_call_bound(e, &b, out);
}

static bool places(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *date;
    tr_bcall b;
    if (!common_of(e, c, &date) || !inside_all(e, c, date, -1, &b))
        return false;
    return tr_lib_call_bound(e, &b, out);
}

static bool last(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *date;
    tr_bcall b;
    if (!common_of(e, c, &date) || !inside_all(e, c, date, -1, &b) || !tr_lib_call_bound(e, &b, out))
        return false;
    if (out->ty->kind != TR_TY_TUPLE) {
        if (!moved(e, *out, 1, out))
            return false;
        *out = tr_date_of(e, date, *out);
        return true;
    }
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, out->ty->n + 1u);
    for (uint32_t i = 0; i < out->ty->n; i++)
        it[i] = tr_em_item(e, *out, i);
    if (!moved(e, it[0], 1, &it[0]))
        return false;
    it[0] = tr_date_of(e, date, it[0]);
    *out = tr_em_tuple(e, out->ty->n, it);
    return true;
}

/* --- elementwise --- */

static bool own_operator(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_em_binary(e, (tr_binop)c->aux, c->a[0], c->a[1], out);
}

static bool own_compare(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_em_compare(e, (tr_cmpop)c->aux, c->a[0], c->a[1], out);
}

static bool own_pick(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_date_pick(e, c->aux, c->a[0], c->a[1], out);
}

static bool own_absolute(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_date_unary(e, TR_OP_ABS, "abs()", c->a[0], out);
}

static bool own_unary(tr_em *e, const tr_bcall *c, tr_tv *out) {
    switch (c->aux) {
    case TR_UF_NEGATIVE: return tr_em_unary(e, TR_UN_NEG, c->a[0], out);
    case TR_UF_POSITIVE: return tr_em_unary(e, TR_UN_POS, c->a[0], out);
    case TR_UF_ABS: return own_absolute(e, c, out);
    default: not_here(e, c, c->a[0].ty);
    }
    if (c->aux == TR_UF_SIGN)
        tr_em_hint(e,
                   "versions of NumPy differ in what it gives: write np.sign(x.view(np.int64)), or compare");
    return false;
}

static bool elt_isnat(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    *out = tr_date_isnat(e, x[0]);
    return user ? tr_em_unary(e, TR_UN_NOT, *out, out) : true;
}

static bool isnat_of(tr_em *e, tr_tv raw, tr_tv *out) {
    return tr_lib_lift(e, 1, &raw, elt_isnat, NULL, out);
}

static bool elt_false(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user, (void)x;
    *out = tr_em_bool(e, false);
    return true;
}

static bool own_test(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv raw = tr_date_raw(e, c->a[0]);
    switch (c->aux) {
    case TR_MATH_ISNAN: return isnat_of(e, raw, out);
    case TR_MATH_ISFINITE: return tr_lib_lift(e, 1, &raw, elt_isnat, &absent, out);
    case TR_MATH_ISINF: return tr_lib_lift(e, 1, &raw, elt_false, NULL, out);
    default: return not_here(e, c, c->a[0].ty);
    }
}

bool tr_lib_np_isnat(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (!is_date(c->a[0].ty))
        return tr_em_error(e, "isnat() takes dates, not %s", tr_em_tyname(e, c->a[0].ty));
    return isnat_of(e, tr_date_raw(e, c->a[0]), out);
}

static bool own_isnat(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_lib_np_isnat(e, c, out);
}

/* divmod() */
static bool own_both(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv r[2];
    if (!tr_em_binary(e, TR_BIN_MOD, c->a[0], c->a[1], &r[1]) ||
        !tr_em_binary(e, TR_BIN_FLOORDIV, c->a[0], c->a[1], &r[0]))
        return false;
    *out = tr_em_tuple(e, 2, r);
    return true;
}

/* Python's min and max: the first that no other one is less than. */
static bool own_least(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *date;
    tr_bcall b;
    for (uint32_t i = 0; i < c->nvar; i++)
        if (c->nvar < 2 || c->var[i].ty->kind != TR_TY_DATE || tr_fam_given(c->a[1]))
            return not_here(e, c, c->var[i].ty);
    if (!common_of(e, c, &date) || !inside_all(e, c, date, 0, &b))
        return false;
    *out = tr_date_of(e, date, b.var[0]);
    for (uint32_t i = 1; i < c->nvar; i++) {
        tr_tv less, next = tr_date_of(e, date, b.var[i]);
        if (!tr_em_compare(e, c->aux ? TR_CMP_GT : TR_CMP_LT, next, *out, &less))
            return false;
        *out = tr_date_of(e, date, tr_em_select(e, less, b.var[i], tr_date_raw(e, *out)));
    }
    return true;
}

static bool own_clip(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv lo = c->n > 4 && tr_fam_given(c->a[4]) ? c->a[4] : c->a[1],
          hi = c->n > 5 && tr_fam_given(c->a[5]) ? c->a[5] : c->a[2];
    *out = c->a[0];
    if (tr_fam_given(lo) && !tr_date_pick(e, TR_UF_MAXIMUM, *out, lo, out))
        return false;
    return !tr_fam_given(hi) || tr_date_pick(e, TR_UF_MINIMUM, *out, hi, out);
}

static bool own_where(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (is_date(c->a[0].ty))
        return not_here(e, c, c->a[0].ty);
    for (uint32_t i = 1; i < 3; i++)
        if (!is_date(c->a[i].ty))
            return tr_em_error(e, "where() takes dates and dates, not %s",
                               c->a[i].ty ? tr_em_tyname(e, c->a[i].ty) : "one of them alone");
    return same(e, c, out);
}

static bool own_append(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (first_date(c->a[2].ty))
        return not_here(e, c, c->a[2].ty);
    if (!first_date(c->a[0].ty) || !first_date(c->a[1].ty))
        return tr_em_error(e, "append() takes dates and dates, not %s and %s", tr_em_tyname(e, c->a[0].ty),
                           tr_em_tyname(e, c->a[1].ty));
    return same(e, c, out);
}

/* --- reductions --- */

static bool elt_with_nat(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user;
    *out = tr_em_select(e, x[0], tr_date_nat(e), x[1]);
    return true;
}

/* dtype=, initial= are not here. */
static bool no_more(tr_em *e, const tr_bcall *c, uint32_t dtype, uint32_t initial) {
    bool more =
        (dtype < c->n && tr_fam_given(c->a[dtype])) || (initial < c->n && tr_fam_given(c->a[initial]));
    return !more ||
           tr_em_unsupported(e, "date-function", "dtype= and initial= of %s() of dates", tr_fam_name(c));
}

static bool spans_only(tr_em *e, const tr_bcall *c) {
    return tr_ty_is_delta(c->a[0].ty) ||
           tr_em_error(e, "%s() is not defined for %s", tr_fam_name(c), tr_em_tyname(e, c->a[0].ty));
}

/* A NaT among them makes the sum one. Parameters: a, axis, dtype, out, keepdims, initial, where. */
static bool own_sum(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *date = c->a[0].ty;
    tr_tv v[2], raw, isnat;
    tr_bcall b;
    if (c->aux != TR_RED_ADD)
        return not_here(e, c, date);
    if (!spans_only(e, c) || !no_more(e, c, 2, 5) || !inside_all(e, c, date, 0, &b))
        return false;
    raw = b.a[0];
    if (!isnat_of(e, raw, &isnat) ||
        !call_row(e, TR_B_NP_ANY, 5, (tr_tv[]){isnat, c->a[1], absent, c->a[4], c->a[6]}, &v[0]) ||
        !tr_lib_call_bound(e, &b, &v[1]) || !tr_lib_lift(e, 2, v, elt_with_nat, NULL, out))
        return false;
    *out = tr_date_of(e, date, *out);
    return true;
}

/* How many items are added up for one of the result. */
static bool how_many(tr_em *e, const tr_bcall *c, tr_tv raw, tr_tv axis, tr_tv *n) {
    uint32_t mask;
    *n = tr_em_i64(e, 1);
    if (!tr_lib_is_array(raw))
        return true;
    if (!tr_fam_given(axis)) {
        *n = tr_em_size(e, raw);
        return true;
    }
    if (!tr_fam_axes(e, c, raw.ty->ndim, axis, &mask))
        return false;
    for (uint32_t k = 0; k < raw.ty->ndim; k++)
        if (mask >> k & 1u)
            *n = tr_em_nsw(e, TR_OP_MUL, *n, tr_em_dim(e, raw, k));
    return true;
}

/* Parameters: a, axis, dtype, out, keepdims, where. */
static bool own_mean(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv sum, n;
    if (!spans_only(e, c) || !no_more(e, c, 2, c->n))
        return false;
    if (tr_fam_given(c->a[5]))
        return tr_em_unsupported(e, "date-function", "where= of mean() of dates");
    tr_tv args[7] = {c->a[0], c->a[1], absent, absent, c->a[4], absent, absent};
    tr_bcall b = {.row = TR_B_NP_SUM, .aux = TR_RED_ADD, .n = 7, .a = args};
    return own_sum(e, &b, &sum) && how_many(e, c, tr_date_raw(e, c->a[0]), c->a[1], &n) &&
           tr_em_binary(e, TR_BIN_DIV, sum, n, out);
}

/* Parameters: a, axis, dtype, out. From the first NaT on all are NaT. */
static bool own_running(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *date = c->a[0].ty;
    tr_tv v[2], isnat;
    tr_bcall b;
    if (c->aux != TR_RED_ADD)
        return not_here(e, c, date);
    if (!spans_only(e, c) || !no_more(e, c, 2, c->n) || !inside_all(e, c, date, 0, &b) ||
        !isnat_of(e, b.a[0], &isnat))
        return false;
    tr_bcall any = {.row = c->row, .n = 4, .a = (tr_tv[]){isnat, c->a[1], absent, absent}};
    if (!tr_fam_running(e, &any, TR_RED_OR, tr_fam_ty(e, TR_TY_BOOL), &v[0]) ||
        !tr_lib_call_bound(e, &b, &v[1]) || !tr_lib_lift(e, 2, v, elt_with_nat, NULL, out))
        return false;
    *out = tr_date_of(e, date, *out);
    return true;
}

/* As a number a NaT is less than all else, and so wins the one way by itself. */
static bool own_extreme(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return c->aux == TR_RED_MIN ? same(e, c, out) : last(e, c, out);
}

static bool own_arg(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return c->aux == TR_RED_ARGMIN ? plain(e, c, out) : places(e, c, out);
}

/* Parameters: a, axis, out, keepdims. */
static bool own_ptp(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv args[6] = {c->a[0], c->a[1], absent, c->a[3], absent, absent}, most, least;
    tr_bcall b = {.row = TR_B_NP_MAX, .aux = TR_RED_MAX, .n = 6, .a = args};
    tr_bcall d = {.row = TR_B_NP_MIN, .aux = TR_RED_MIN, .n = 6, .a = args};
    return own_extreme(e, &b, &most) && own_extreme(e, &d, &least) &&
           tr_em_binary(e, TR_BIN_SUB, most, least, out);
}

/* --- order --- */

static bool own_sort_in_place(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_bcall b = *c;
    tr_tv sorted;
    if (c->a[0].ty->kind != TR_TY_DATES || c->a[0].ty->items[0]->readonly)
        return tr_em_error(e, "sort() of %s", tr_em_tyname(e, c->a[0].ty));
    b.row = TR_B_NP_SORT;
    b.aux = tr_builtins[b.row].aux;
    *out = tr_em_none(e);
    return last(e, &b, &sorted) && tr_em_assign(e, tr_date_raw(e, c->a[0]), tr_date_raw(e, sorted));
}

/* --- differences --- */

/* All but the first, or but the last, item along an axis. */
static tr_tv without(tr_em *e, tr_tv a, uint32_t axis, bool first) {
    tr_axes x = {0};
    tr_tv one = tr_em_i64(e, 1), none = tr_em_i64(e, 0);
    for (uint32_t k = 0; k < a.ty->ndim; k++) {
        if (k != axis) {
            tr_axes_own(e, &x, a, k);
            continue;
        }
        tr_tv n = tr_em_dim(e, a, k), some = tr_em_cmp(e, TR_CMP_GT, n, none);
        tr_tv less = tr_em_select(e, some, one, none);
        tr_axes_part(&x, k, first ? less : none, tr_em_op2(e, TR_OP_SUB, n, less), one);
    }
    return tr_em_view(e, tr_ty_array(e->types, a.ty->elem, a.ty->ndim, TR_LAYOUT_ANY, a.ty->readonly), a, &x);
}

/* Parameters: a, n, axis. */
static bool own_diff(tr_em *e, const tr_bcall *c, tr_tv *out) {
    enum { MOST = 8 };
    int64_t n = 1;
    tr_tv raw = tr_date_raw(e, c->a[0]);
    uint32_t axis;
    if (!tr_lib_is_array(raw) || !raw.ty->ndim)
        return tr_em_error(e, "diff requires input that is at least one dimensional");
    if (c->a[1].ty && (!tr_tv_lit_int(c->a[1], &n) || n < 0 || n > MOST))
        return tr_em_error(e, "diff(): n is a constant of 0 to %d for dates", MOST);
    axis = raw.ty->ndim - 1u;
    if (c->a[2].ty && !tr_fam_axis(e, c, raw.ty->ndim, c->a[2], &axis))
        return false;
    *out = c->a[0];
    for (int64_t i = 0; i < n; i++) {
        raw = tr_date_raw(e, *out);
        tr_tv x = tr_date_of(e, out->ty, without(e, raw, axis, true)),
              y = tr_date_of(e, out->ty, without(e, raw, axis, false));
        if (!tr_em_binary(e, TR_BIN_SUB, x, y, out))
            return false;
    }
    return true;
}

/* --- dtypes --- */

static tr_tv dtype_value(tr_em *e, const tr_ty *t) {
    tr_obj *o = TR_NEW(&e->ctx->arena, tr_obj);
    *o = (tr_obj){.kind = TR_OBJ_TYPE, .ty = t, .repr = tr_em_tyname(e, t)};
    return tr_em_lit(e, o);
}

static tr_tv int64_dtype(tr_em *e) {
    return dtype_value(e, tr_fam_ty(e, TR_TY_I64));
}

static bool own_dtype(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = dtype_value(e, tr_ty_one_date(e->types, c->a[0].ty));
    return true;
}

/* The call with other arguments in places i and j. */
static tr_bcall with(tr_em *e, const tr_bcall *c, uint32_t i, tr_tv x, uint32_t j, tr_tv y) {
    tr_bcall b = *c;
    b.a = tr_arena_copy(&e->ctx->arena, c->a, c->n * sizeof *c->a);
    b.a[i] = x;
    b.a[j] = y;
    return b;
}

static bool elt_from_float(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user;
    tr_tv f = tr_em_conv(e, x[0], tr_fam_ty(e, TR_TY_F64));
    tr_tv fits = tr_em_cmp(e, TR_CMP_LT, tr_em_op1(e, TR_OP_ABS, f), tr_em_f64(e, 0x1p63));
    tr_tv v = tr_em_conv(e, tr_em_select(e, fits, f, tr_em_f64(e, 0.0)), tr_fam_ty(e, TR_TY_I64));
    *out = tr_em_select(e, fits, v, tr_date_nat(e));
    return true;
}

/* Of one kind of date to another one: by the same number where the units are the same. */
static bool between(tr_em *e, const tr_ty *from, const tr_ty *to, tr_tv raw, tr_tv *out) {
    tr_unit a = tr_ty_date_unit(from), b = tr_ty_date_unit(to);
    bool same_kind = tr_ty_is_delta(from) == tr_ty_is_delta(to);
    if (same_kind ? !tr_date_can_convert(a, b, tr_ty_is_delta(to)) : a != b) {
        const char *name = tr_em_tyname(e, tr_ty_one_date(e->types, from));
        return tr_em_unsupported(e, "date-function", "conversion of %s to %s", name, tr_em_tyname(e, to));
    }
    return tr_date_scaled(e, raw, a, b, out);
}

/* Parameters: x, dtype[, order, copy]. */
static bool own_astype(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0];
    const tr_ty *to = tr_lib_date_dtype(e, c->a[1]);
    tr_bcall b = with(e, c, 0, tr_date_raw(e, x), 1, to ? int64_dtype(e) : c->a[1]);
    const tr_ty *s = tr_lib_is_array(x) ? x.ty->elem : tr_lib_scalar(e, x.ty);
    if (to && s && tr_ty_is_complex(s))
        return tr_em_error(e, "%s is no %s", tr_em_tyname(e, x.ty), tr_em_tyname(e, to));
    if (to && s && tr_ty_is_float(s) && !tr_lib_lift(e, 1, &x, elt_from_float, NULL, &b.a[0]))
        return false;
    if (!tr_lib_call_bound(e, &b, out))
        return false;
    if (to && is_date(x.ty) && !between(e, x.ty, to, *out, out))
        return false;
    *out = to ? tr_date_of(e, to, *out) : *out;
    return true;
}

/* Parameters: x, dtype. */
static bool own_view(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *to = tr_lib_date_dtype(e, c->a[1]);
    if (!tr_fam_given(c->a[1]))
        to = tr_ty_one_date(e->types, c->a[0].ty);
    tr_bcall b = with(e, c, 0, tr_date_raw(e, c->a[0]), 1, to ? int64_dtype(e) : c->a[1]);
    if (!tr_lib_call_bound(e, &b, out))
        return false;
    *out = to ? tr_date_of(e, to, *out) : *out;
    return true;
}

/* Parameters: shape, [fill_value,] dtype, order; and of the twins: prototype, [fill_value,]
 * dtype, order, shape. */
static bool filled(tr_em *e, const tr_bcall *c, const tr_ty *like, tr_tv *out) {
    bool full = c->aux == TR_FILL_VALUE;
    uint32_t k = full ? 2 : 1;
    const tr_ty *date = tr_lib_date_dtype(e, c->a[k]);
    if (!date && tr_fam_given(c->a[k])) { /* of a prototype's shape */
        if (full && is_date(c->a[1].ty))
            return tr_em_error(e, "%s is no %s", tr_em_tyname(e, c->a[1].ty), tr_em_tyname(e, c->a[k].ty));
        tr_bcall b = with(e, c, 0, tr_date_raw(e, c->a[0]), k, c->a[k]);
        return tr_lib_call_bound(e, &b, out);
    }
    date = date ? date : like ? tr_ty_one_date(e->types, like) : tr_ty_one_date(e->types, c->a[1].ty);
    tr_bcall b = with(e, c, 0, tr_date_raw(e, c->a[0]), k, int64_dtype(e));
    if (full && !tr_date_as(e, c->a[1], date, &b.a[1]))
        return false;
    if (!tr_lib_call_bound(e, &b, out))
        return false;
    *out = tr_date_of(e, date, *out);
    return true;
}

static bool own_new(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *shape = first_date(c->a[0].ty), *order = first_date(c->a[c->n - 1].ty);
    if (shape || order)
        return not_here(e, c, shape ? shape : order);
    return filled(e, c, NULL, out);
}

/* A prototype that is no array of dates, and no dtype: the fill value alone is one, which
 * NumPy converts to numbers. */
static bool own_like(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *like = is_date(c->a[0].ty) ? c->a[0].ty : NULL;
    uint32_t k = c->aux == TR_FILL_VALUE ? 2 : 1;
    if (!like && !tr_fam_given(c->a[k]))
        return not_here(e, c, c->a[1].ty);
    return filled(e, c, like, out);
}

static bool own_fill(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (c->a[0].ty->kind != TR_TY_DATES)
        return not_here(e, c, first_date(c->a[1].ty) ? c->a[1].ty : c->a[0].ty);
    tr_bcall b = with(e, c, 0, tr_date_raw(e, c->a[0]), 1, c->a[1]);
    return tr_date_as(e, c->a[1], tr_ty_one_date(e->types, c->a[0].ty), &b.a[1]) &&
           tr_lib_call_bound(e, &b, out);
}

/* Parameters: a[, dtype], order ... */
static bool own_asarray(tr_em *e, const tr_bcall *c, tr_tv *out) {
    bool has_dtype = c->aux != 2 && tr_fam_given(c->a[1]);
    const tr_ty *to = has_dtype ? tr_lib_date_dtype(e, c->a[1]) : NULL, *date;
    if (has_dtype && !to)
        return not_here(e, c, c->a[0].ty);
    if (!common_of(e, c, &date))
        return false;
    if (!date) { /* numbers, under such a dtype */
        tr_bcall b = with(e, c, 0, c->a[0], 1, int64_dtype(e));
        const tr_ty *elem = tr_lib_is_array(c->a[0]) ? c->a[0].ty->elem : NULL;
        if (!elem || !(tr_ty_is_int(elem) || elem->kind == TR_TY_BOOL))
            return not_here(e, c, c->a[0].ty);
        if (!tr_lib_call_bound(e, &b, out))
            return false;
        *out = tr_date_of(e, to, *out);
        return true;
    }
    tr_bcall b;
    if (!inside_all(e, c, date, 0, &b))
        return false;
    if (to)
        b.a[1] = int64_dtype(e);
    if (!tr_lib_call_bound(e, &b, out) || (to && !between(e, date, to, *out, out)))
        return false;
    *out = tr_date_of(e, to ? to : date, *out);
    return true;
}

/* One of arange()'s arguments as a number, which is no NaT. */
static bool bound_of(tr_em *e, tr_tv x, const tr_ty *date, tr_tv *out) {
    if (!tr_date_as(e, x, date, out))
        return false;
    *out = tr_em_conv(e, *out, tr_fam_ty(e, TR_TY_I64));
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, *out, tr_date_nat(e)), TR_EXC_VALUE,
                "arange: cannot use NaT (not-a-time) datetime values", 0, NULL);
    return true;
}

/* Parameters: start, stop, step, dtype: var, dtype. A number to stop at counts from the start of dates. */
static bool own_arange(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x[4], v[3] = {absent, absent, absent};
    if (!tr_fam_arange_args(e, c, x))
        return false;
    const tr_ty *date = tr_lib_date_dtype(e, x[3]), *span;
    if (!date && x[3].ty)
        return not_here(e, c, x[1].ty);
    bool delta = date && tr_ty_is_delta(date);
    if (!date) {
        tr_unit unit = TR_UNIT_GENERIC;
        delta = true;
        for (uint32_t i = 0; i < 3; i++) {
            if (!x[i].ty || !is_date(x[i].ty))
                continue;
            delta = delta && tr_ty_is_delta(x[i].ty);
            const tr_ty *so_far = tr_ty_date(e->types, delta, unit);
            if (!tr_date_common(e, so_far, x[i].ty, &unit))
                return false;
        }
        date = tr_ty_date(e->types, delta, unit);
    }
    span = tr_ty_date(e->types, true, tr_ty_date_unit(date));
    if (!delta && !x[0].ty)
        return tr_em_fail(e, TR_ERR_TYPING,
                          "arange requires both a start and a stop for NumPy datetime64 ranges");
    for (uint32_t i = 0; i < 3; i++) {
        if (!x[i].ty)
            continue;
        bool after = !delta && i == 1 && !is_date(x[i].ty) && tr_lib_scalar(e, x[i].ty);
        if (!bound_of(e, x[i], i == 2 || after ? span : date, &v[i]))
            return false;
        if (after)
            v[1] = tr_em_op2(e, TR_OP_ADD, v[0], v[1]);
    }
    tr_tv a[5] = {c->a[0], v[0], v[1], v[2], int64_dtype(e)};
    tr_bcall b = *c;
    b.a = a;
    b.nvar = 0;
    if (!tr_lib_call_bound(e, &b, out))
        return false;
    *out = tr_date_of(e, date, *out);
    return true;
}

/* --- np.datetime64, np.timedelta64 --- */

/* The unit that a text names. */
static bool unit_of(tr_em *e, const tr_bcall *c, tr_tv x, tr_unit *out) {
    const char *name;
    *out = TR_UNIT_GENERIC;
    if (!x.ty)
        return true;
    if (!tr_tv_lit_str(x, &name))
        return tr_em_error(e, "%s(): the unit must be a constant string", tr_fam_name(c));
    if (strcmp(name, "generic") == 0 || tr_unit_find(name, strlen(name), out))
        return true;
    return tr_em_unsupported(e, "date-unit", "the unit '%s' of dates", name);
}

/* aux: 1 of timedelta64. Parameters: *args, which are a value and a unit. */
bool tr_lib_np_date(tr_em *e, const tr_bcall *c, tr_tv *out) {
    bool delta = c->aux != 0;
    tr_unit unit;
    const char *text;
    int64_t n = delta ? 0 : INT64_MIN;
    if (c->nvar > 2 || !unit_of(e, c, c->nvar == 2 ? c->var[1] : absent, &unit))
        return c->nvar > 2 && tr_em_error(e, "%s() takes a value and a unit", tr_fam_name(c));
    const tr_ty *date = tr_ty_date(e->types, delta, unit);
    tr_tv x = c->nvar ? c->var[0] : tr_em_lit(e, tr_obj_int(&e->ctx->arena, n)), raw;
    if (tr_tv_lit_str(x, &text)) {
        const char *why = tr_date_parse(text, delta, &unit, &n);
        if (why)
            return tr_em_error(e, "%s('%s'): %s", tr_fam_name(c), text, why);
        *out = tr_date_of(e, tr_ty_date(e->types, delta, unit), tr_em_i64(e, n));
        return true;
    }
    if (x.ty->kind == TR_TY_DATE && c->nvar == 1)
        date = tr_ty_date(e->types, delta, tr_ty_date_unit(x.ty));
    if (x.ty->kind == TR_TY_DATES || tr_lib_is_array(x))
        return tr_em_error(e, "%s() takes one date, not %s: write .astype()", tr_fam_name(c),
                           tr_em_tyname(e, x.ty));
    if (!is_date(x.ty) && !delta && c->nvar == 1)
        return tr_em_error(e, "Converting an integer to a NumPy datetime requires a specified unit");
    if (!tr_date_as(e, x, date, &raw))
        return false;
    *out = tr_date_of(e, date, raw);
    return true;
}

static bool own_make(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_lib_np_date(e, c, out);
}

/* --- who is asked --- */

typedef bool (*handler)(tr_em *e, const tr_bcall *c, tr_tv *out);

static handler handler_of(tr_bfn fn) {
    static const struct {
        tr_bfn fn;
        handler by;
    } rows[] = {
#define SAME(fn)      {fn, same},
#define PLAIN(fn)     {fn, plain},
#define LAST(fn)      {fn, last},
#define PLACES(fn)    {fn, places},
#define OWN(fn, of)   {fn, own_##of},
#define FIRST(fn, of) {fn, own_##of},
#include "lib/dates.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].fn == fn)
            return rows[i].by;
    return NULL;
}

/* It looks itself where dates may stand. */
static bool looks_itself(tr_bfn fn) {
    static const tr_bfn rows[] = {
#define OWN(fn, of) fn,
#include "lib/dates.def"
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i] == fn)
            return true;
    return false;
}

/* NumPy's function, or what arrays and their items have. */
static bool is_numpys(const tr_builtin *b) {
    return b->kind == TR_B_FUNC ? strncmp(b->path, "numpy.", 6) == 0
                                : strcmp(b->path, "array") == 0 || strcmp(b->path, "number") == 0;
}

bool tr_lib_date_call(tr_em *e, const tr_bcall *c, const tr_dated *d, tr_tv *out, bool *mine) {
    const tr_builtin *b = &tr_builtins[c->row];
    const tr_ty *date = tr_lib_date_dtype(e, d->dtype);
    for (uint32_t i = 0; i < c->n && !date; i++)
        date = first_date(c->a[i].ty);
    for (uint32_t i = 0; i < c->nvar && !date; i++)
        date = first_date(c->var[i].ty);
    handler by = date ? handler_of(b->fn) : NULL;
    *mine = by || (date && is_numpys(b));
    if (!*mine)
        return true;
    if (!by)
        return not_here(e, c, date);
    bool ufunc = tr_fam_is_ufunc(c->row);
    const char *what = d->out                 ? "out="
                       : d->where && ufunc    ? "where="
                       : d->dtype.ty && ufunc ? "dtype="
                                              : NULL;
    if (what)
        return tr_em_unsupported(e, "date-function", "%s of %s() of dates", what, tr_fam_name(c));
    return (looks_itself(b->fn) || stand_well(e, c)) && by(e, c, out);
}

/* Functions written in NumPy: what they do with dates is known of those of the table alone. */
bool tr_lib_date_library(tr_em *e, const char *name, const tr_args *args) {
    static const char *const rows[] = {
#define LIBRARY(name) name,
#include "lib/dates.def"
    };
    const tr_ty *date = NULL;
    for (uint32_t i = 0; i < args->n && !date; i++)
        date = first_date(args->v[i].ty);
    for (size_t i = 0; date && i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i], name) == 0)
            date = NULL;
    return !date || tr_em_unsupported(e, "date-function", "%s() of %s", name, tr_em_tyname(e, date));
}
