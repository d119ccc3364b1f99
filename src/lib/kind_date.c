/* Dates: np.datetime64, np.timedelta64, and arrays of them.
 *
 * A date is an int64 under a unit, so what it means is integer arithmetic on what is inside, with tests for
 * NaT, which is the least int64. Operands come to the finer of their units first, as in NumPy; results that
 * do not fit wrap, as those of integers do. To nobody else are these kinds numbers or arrays: a function
 * takes none by accident. lib/npdates.c says which functions of NumPy's take them. */
#include <assert.h>
#include <string.h>

#include "lib/date.h"
#include "lib/fam.h"
#include "lib/families.h"
#include "lib/kinds.h"

tr_tv tr_date_raw(tr_em *e, tr_tv x) {
    return tr_ty_is_date(x.ty) ? tr_em_item(e, x, 0) : x;
}

tr_tv tr_date_of(tr_em *e, const tr_ty *date, tr_tv raw) {
    assert(tr_ty_is_date(date) && (raw.ty->kind != TR_TY_ARRAY || raw.ty->elem->kind == TR_TY_I64) &&
           "a date is an int64");
    if (raw.ty->kind == TR_TY_ARRAY)
        return tr_em_make(e, tr_ty_dates(e->types, date, raw.ty), 1, &raw);
    raw = tr_em_conv(e, raw, tr_fam_ty(e, TR_TY_I64));
    return tr_em_make(e, tr_ty_one_date(e->types, date), 1, &raw);
}

tr_tv tr_date_nat(tr_em *e) {
    return tr_em_i64(e, INT64_MIN);
}

tr_tv tr_date_isnat(tr_em *e, tr_tv raw) {
    return tr_em_cmp(e, TR_CMP_EQ, raw, tr_date_nat(e));
}

/* --- units --- */

static tr_tv op_with(tr_em *e, tr_op op, tr_tv x, int64_t n) {
    return tr_em_op2(e, op, x, tr_em_i64(e, n));
}

static tr_tv floored(tr_em *e, tr_tv x, int64_t n) {
    assert(n > 0 && "days and months are counted in some");
    return op_with(e, TR_OP_FLOORDIV, x, n);
}

static tr_tv by_factor(tr_em *e, tr_tv v, tr_unit from, tr_unit to) {
    uint64_t up = from < to ? tr_unit_factor(from, to) : 1, down = from > to ? tr_unit_factor(to, from) : 1;
    if (up > 1)
        return op_with(e, TR_OP_MUL, v, (int64_t)up);
    return down > 1 ? floored(e, v, (int64_t)down) : v;
}

enum { MARCH = 2, DAYS_400_YEARS = 146097, MARCH_0000 = 719468 /* days from there to 1970 */ };

/* Days from 1970 to the first of a month, which counts from 1970. Years begin in March here, so
 * that a leap day is the last of one. */
static tr_tv days_of_months(tr_em *e, tr_tv m) {
    tr_tv from_march = op_with(e, TR_OP_SUB, m, MARCH);
    tr_tv y = floored(e, from_march, 12),
          month = tr_em_op2(e, TR_OP_SUB, from_march, op_with(e, TR_OP_MUL, y, 12));
    y = op_with(e, TR_OP_ADD, y, 1970);
    tr_tv days = op_with(e, TR_OP_MUL, y, 365);
    days = tr_em_op2(e, TR_OP_ADD, days, floored(e, y, 4));
    days = tr_em_op2(e, TR_OP_SUB, days, floored(e, y, 100));
    days = tr_em_op2(e, TR_OP_ADD, days, floored(e, y, 400));
    tr_tv in_year = floored(e, op_with(e, TR_OP_ADD, op_with(e, TR_OP_MUL, month, 153), 2), 5);
    return op_with(e, TR_OP_SUB, tr_em_op2(e, TR_OP_ADD, days, in_year), MARCH_0000);
}

/* The way back: which month a day is in. */
static tr_tv months_of_days(tr_em *e, tr_tv d) {
    tr_tv z = op_with(e, TR_OP_ADD, d, MARCH_0000), era = floored(e, z, DAYS_400_YEARS);
    tr_tv day = tr_em_op2(e, TR_OP_SUB, z, op_with(e, TR_OP_MUL, era, DAYS_400_YEARS)); /* of the 400 years */
    tr_tv year = tr_em_op2(e, TR_OP_SUB, day, floored(e, day, 1460));
    year = tr_em_op2(e, TR_OP_ADD, year, floored(e, day, 36524));
    year = floored(e, tr_em_op2(e, TR_OP_SUB, year, floored(e, day, DAYS_400_YEARS - 1)), 365);
    tr_tv before = tr_em_op2(e, TR_OP_ADD, op_with(e, TR_OP_MUL, year, 365), floored(e, year, 4));
    before = tr_em_op2(e, TR_OP_SUB, before, floored(e, year, 100));
    tr_tv in_year = tr_em_op2(e, TR_OP_SUB, day, before);
    tr_tv month = floored(e, op_with(e, TR_OP_ADD, op_with(e, TR_OP_MUL, in_year, 5), 2), 153);
    tr_tv y = tr_em_op2(e, TR_OP_ADD, year, op_with(e, TR_OP_MUL, era, 400));
    y = op_with(e, TR_OP_MUL, op_with(e, TR_OP_SUB, y, 1970), 12);
    return op_with(e, TR_OP_ADD, tr_em_op2(e, TR_OP_ADD, y, month), MARCH);
}

/* An int64 that counts `from` as one that counts `to`; of a NaT something that is not looked at. */
static tr_tv in_unit(tr_em *e, tr_tv v, tr_unit from, tr_unit to) {
    if (from == to || from == TR_UNIT_GENERIC || to == TR_UNIT_GENERIC)
        return v;
    bool calendar = tr_unit_is_calendar(from);
    if (calendar == tr_unit_is_calendar(to))
        return by_factor(e, v, from, to);
    if (calendar)
        return by_factor(e, days_of_months(e, by_factor(e, v, from, TR_UNIT_M)), TR_UNIT_D, to);
    return by_factor(e, months_of_days(e, by_factor(e, v, from, TR_UNIT_D)), TR_UNIT_M, to);
}

static bool has_factor(tr_unit a, tr_unit b) {
    return tr_unit_factor(a < b ? a : b, a < b ? b : a) != 0;
}

bool tr_date_can_convert(tr_unit from, tr_unit to, bool delta) {
    if (from == to || from == TR_UNIT_GENERIC || to == TR_UNIT_GENERIC)
        return true;
    bool calendar = tr_unit_is_calendar(from);
    if (calendar == tr_unit_is_calendar(to))
        return has_factor(from, to);
    return !delta && has_factor(TR_UNIT_D, calendar ? to : from);
}

/* The unit in which two are computed; else an error. */
bool tr_date_common(tr_em *e, const tr_ty *a, const tr_ty *b, tr_unit *out) {
    bool delta = tr_ty_is_delta(a) && tr_ty_is_delta(b);
    tr_unit ua = tr_ty_date_unit(a), ub = tr_ty_date_unit(b);
    tr_unit_meet meet = tr_unit_common(ua, ub, delta, out);
    const tr_ty *one[2] = {tr_ty_one_date(e->types, a), tr_ty_one_date(e->types, b)};
    const char *na = tr_em_tyname(e, one[0]), *nb = tr_em_tyname(e, one[1]);
    if (meet == TR_UNIT_MEET && (!tr_date_can_convert(ua, *out, tr_ty_is_delta(a)) ||
                                 !tr_date_can_convert(ub, *out, tr_ty_is_delta(b))))
        meet = tr_unit_is_calendar(ua) != tr_unit_is_calendar(ub) && (tr_ty_is_delta(a) || tr_ty_is_delta(b))
                   ? TR_UNIT_APART
                   : TR_UNIT_TOO_FINE;
    if (meet == TR_UNIT_APART) {
        tr_em_error(e, "%s and %s have no common unit: months and years have no fixed length", na, nb);
        tr_em_hint(e, "convert the date that it is added to, as with .astype('datetime64[M]')");
        return false;
    }
    if (meet == TR_UNIT_TOO_FINE)
        return tr_em_error(e, "%s and %s have no common unit: one is too fine for the other", na, nb);
    return true;
}

typedef struct scaling {
    tr_unit from, to;
} scaling;

static bool elt_scaled(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const scaling *s = user;
    *out = tr_em_select(e, tr_date_isnat(e, x[0]), x[0], in_unit(e, x[0], s->from, s->to));
    return true;
}

bool tr_date_scaled(tr_em *e, tr_tv raw, tr_unit from, tr_unit to, tr_tv *out) {
    assert(!tr_ty_is_date(raw.ty) && "what counts a unit is a number");
    *out = raw;
    if (from == to || from == TR_UNIT_GENERIC || to == TR_UNIT_GENERIC)
        return true;
    scaling *s = TR_NEW(&e->ctx->arena, scaling);
    *s = (scaling){from, to};
    return tr_lib_lift(e, 1, &raw, elt_scaled, s, out);
}

bool tr_date_as(tr_em *e, tr_tv x, const tr_ty *date, tr_tv *raw) {
    int64_t v;
    const char *text;
    const tr_ty *s = tr_lib_is_array(x) ? x.ty->elem : tr_lib_scalar(e, x.ty);
    if (tr_ty_is_date(x.ty)) {
        bool same = tr_ty_is_delta(x.ty) == tr_ty_is_delta(date);
        tr_unit from = tr_ty_date_unit(x.ty), to = tr_ty_date_unit(date);
        if (same && tr_date_can_convert(from, to, tr_ty_is_delta(date)))
            return tr_date_scaled(e, tr_date_raw(e, x), from, to, raw);
    } else if (tr_tv_lit_str(x, &text)) {
        tr_unit unit = tr_ty_date_unit(date);
        const char *why = tr_date_parse(text, tr_ty_is_delta(date), &unit, &v);
        if (why)
            return tr_em_error(e, "'%s' is no %s: %s", text, tr_em_tyname(e, date), why);
        *raw = tr_em_i64(e, v);
        return true;
    } else if (s && (tr_ty_is_int(s) || s->kind == TR_TY_BOOL)) {
        if (!tr_tv_fits(x, tr_fam_ty(e, TR_TY_I64)))
            return tr_em_error(e, "an integer that int64 does not hold is no %s", tr_em_tyname(e, date));
        *raw = x;
        return true;
    }
    return tr_em_error(e, "%s is no %s", tr_em_tyname(e, x.ty), tr_em_tyname(e, date));
}

/* --- operators --- */

/* What an operand is: M a datetime, m a timedelta, q an integer or bool, f a float; 0:
 * nothing that goes with dates. */
static char class_of(tr_em *e, tr_tv x) {
    if (tr_ty_is_date(x.ty))
        return tr_ty_is_delta(x.ty) ? 'm' : 'M';
    const tr_ty *s = tr_lib_is_array(x) ? x.ty->elem : tr_lib_scalar(e, x.ty);
    switch (s ? tr_ty_class(s) : 0) {
    case 'b':
    case 'i':
    case 'u': return 'q';
    case 'f': return 'f';
    default: return 0;
    }
}

static bool is_bool(tr_em *e, tr_tv x) {
    const tr_ty *s = tr_lib_is_array(x) ? x.ty->elem : tr_lib_scalar(e, x.ty);
    return s && s->kind == TR_TY_BOOL;
}

typedef struct operation {
    tr_binop op;
    tr_cmpop cmp;
    int pick;    /* TR_UF_MINIMUM ... */
    char cls[2]; /* of the operands */
    tr_unit of[2], in;
} operation;

/* Operand k: an int64 in the operation's unit, or a number. NaT is told by what comes in. */
static tr_tv operand(tr_em *e, const operation *w, const tr_tv *x, unsigned k) {
    tr_tv v = tr_em_conv(e, x[k], tr_fam_ty(e, w->cls[k] == 'f' ? TR_TY_F64 : TR_TY_I64));
    return w->cls[k] == 'M' || w->cls[k] == 'm' ? in_unit(e, v, w->of[k], w->in) : v;
}

static bool is_dated(char cls) {
    return cls == 'M' || cls == 'm';
}

/* Some operand is NaT. */
static tr_tv any_nat(tr_em *e, const operation *w, const tr_tv *x) {
    tr_tv nat = {NULL, TR_NOVAL};
    for (unsigned k = 0; k < 2; k++)
        if (is_dated(w->cls[k])) {
            tr_tv one = tr_date_isnat(e, x[k]);
            nat = nat.ty ? tr_fam_or(e, nat, one) : one;
        }
    return nat;
}

static tr_tv is_zero(tr_em *e, tr_tv y) {
    return tr_em_cmp(e, TR_CMP_EQ, y, tr_em_num(e, y.ty, 0.0));
}

/* y, or 1 where it is 0. */
static tr_tv divisor(tr_em *e, tr_tv y, tr_tv zero) {
    return tr_em_select(e, zero, tr_em_num(e, y.ty, 1.0), y);
}

/* The quotient of integers, cut to one. y is not 0. */
static tr_tv cut(tr_em *e, tr_tv x, tr_tv y) {
    tr_tv none = tr_em_i64(e, 0), q = tr_em_op2(e, TR_OP_FLOORDIV, x, y);
    tr_tv rest = tr_em_op2(e, TR_OP_SUB, x, tr_em_op2(e, TR_OP_MUL, q, y));
    tr_tv apart = tr_em_cmp(e, TR_CMP_LT, tr_em_op2(e, TR_OP_XOR, x, y), none);
    tr_tv up = tr_fam_and(e, apart, tr_em_cmp(e, TR_CMP_NE, rest, none));
    return tr_em_op2(e, TR_OP_ADD, q, tr_em_conv(e, up, q.ty));
}

static tr_tv where_nat(tr_em *e, tr_tv nat, tr_tv v) {
    return tr_em_select(e, nat, tr_date_nat(e), v);
}

/* A float as NumPy makes a timedelta of it: what int64 does not hold is NaT. */
static tr_tv from_float(tr_em *e, tr_tv f) {
    tr_tv fits = tr_em_cmp(e, TR_CMP_LT, tr_em_op1(e, TR_OP_ABS, f), tr_em_f64(e, 0x1p63));
    return tr_em_select(e, fits,
                        tr_em_conv(e, tr_em_select(e, fits, f, tr_em_f64(e, 0.0)), tr_fam_ty(e, TR_TY_I64)),
                        tr_date_nat(e));
}

static tr_tv as_float(tr_em *e, tr_tv x) {
    return tr_em_conv(e, x, tr_fam_ty(e, TR_TY_F64));
}

/* A timedelta by a number, or by another one. */
static tr_tv quotient(tr_em *e, const operation *w, tr_tv x, tr_tv y, tr_tv nat) {
    if (w->cls[1] == 'm' && w->op == TR_BIN_DIV) {
        tr_tv q = tr_em_op2(e, TR_OP_DIV, as_float(e, x), as_float(e, y));
        return tr_em_select(e, nat, tr_em_f64(e, __builtin_nan("")), q);
    }
    if (w->cls[1] == 'f')
        return where_nat(e, nat, from_float(e, tr_em_op2(e, TR_OP_DIV, as_float(e, x), y)));
    tr_tv zero = is_zero(e, y), by = divisor(e, y, zero), wrong = tr_fam_or(e, nat, zero);
    if (w->cls[1] == 'm')
        return tr_em_select(e, wrong, tr_em_i64(e, 0), tr_em_op2(e, TR_OP_FLOORDIV, x, by));
    return where_nat(e, wrong, cut(e, x, by));
}

static bool elt_binary(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const operation *w = user;
    tr_tv a = operand(e, w, x, 0), b = operand(e, w, x, 1), nat = any_nat(e, w, x);
    switch (w->op) {
    case TR_BIN_ADD: *out = where_nat(e, nat, tr_em_op2(e, TR_OP_ADD, a, b)); return true;
    case TR_BIN_SUB: *out = where_nat(e, nat, tr_em_op2(e, TR_OP_SUB, a, b)); return true;
    case TR_BIN_MUL:
        if (w->cls[0] == 'f' || w->cls[1] == 'f')
            *out = from_float(e, tr_em_op2(e, TR_OP_MUL, as_float(e, a), as_float(e, b)));
        else
            *out = tr_em_op2(e, TR_OP_MUL, a, b);
        *out = where_nat(e, nat, *out);
        return true;
    case TR_BIN_DIV:
    case TR_BIN_FLOORDIV: *out = quotient(e, w, a, b, nat); return true;
    default: {
        tr_tv zero = is_zero(e, b);
        *out = where_nat(e, tr_fam_or(e, nat, zero), tr_em_op2(e, TR_OP_FLOORMOD, a, divisor(e, b, zero)));
        return true;
    }
    }
}

/* The result's class, as a date's ('M', 'm'), 'q' or 'f'; 0: there is no such operation. */
static char result_of(tr_binop op, char x, char y) {
    bool number = y == 'q' || y == 'f';
    switch (op) {
    case TR_BIN_ADD:
        if (x == 'f' || y == 'f' || (x == 'M' && y == 'M'))
            return 0;
        return x == 'M' || y == 'M' ? 'M' : 'm';
    case TR_BIN_SUB:
        if (x == 'f' || y == 'f' || (x != 'M' && y == 'M'))
            return 0;
        return x == 'M' && y != 'M' ? 'M' : 'm';
    case TR_BIN_MUL: return (x == 'm' && number) || (y == 'm' && (x == 'q' || x == 'f')) ? 'm' : 0;
    case TR_BIN_DIV: return x != 'm' || y == 'M' ? 0 : number ? 'm' : 'f';
    case TR_BIN_FLOORDIV: return x != 'm' || y == 'M' ? 0 : number ? 'm' : 'q';
    case TR_BIN_MOD: return x == 'm' && y == 'm' ? 'm' : 0;
    default: return 0;
    }
}

/* Fills in operands and units. False: an error is told. */
static bool operands_of(tr_em *e, tr_tv x, tr_tv y, operation *w) {
    tr_tv v[2] = {x, y};
    for (unsigned k = 0; k < 2; k++) {
        w->cls[k] = class_of(e, v[k]);
        w->of[k] = is_dated(w->cls[k]) ? tr_ty_date_unit(v[k].ty) : TR_UNIT_GENERIC;
    }
    w->in = is_dated(w->cls[0]) ? w->of[0] : w->of[1];
    return !is_dated(w->cls[0]) || !is_dated(w->cls[1]) || tr_date_common(e, x.ty, y.ty, &w->in);
}

static bool lifted(tr_em *e, tr_tv x, tr_tv y, tr_eltfn fn, const operation *w, tr_tv *out) {
    const operation *kept = tr_arena_copy(&e->ctx->arena, w, sizeof *w);
    for (unsigned k = 0; k < 2; k++) {
        tr_tv v = k ? y : x;
        if (w->cls[k] == 'q' && !tr_tv_fits(v, tr_fam_ty(e, TR_TY_I64)))
            return tr_em_error(e, "an integer that int64 does not hold, beside dates");
    }
    return tr_lib_lift(e, 2, (tr_tv[]){tr_date_raw(e, x), tr_date_raw(e, y)}, fn, kept, out);
}

tr_answer tr_lib_binary_date(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    operation w = {.op = op};
    char cx = class_of(e, x), cy = class_of(e, y), r = cx && cy ? result_of(op, cx, cy) : 0;
    bool by_bool = (op == TR_BIN_DIV || op == TR_BIN_FLOORDIV) && is_bool(e, y);
    if (!r || by_bool)
        return TR_OPEN;
    if (!operands_of(e, x, y, &w) || !lifted(e, x, y, elt_binary, &w, out))
        return TR_REFUSED;
    if (is_dated(r))
        *out = tr_date_of(e, tr_ty_date(e->types, r == 'm', w.in), *out);
    return TR_DONE;
}

/* Into the memory of x, in its unit. */
bool tr_lib_inplace_dates(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv r, raw;
    if (x.ty->items[0]->readonly)
        return tr_em_error(e, "assignment destination is read-only");
    if (!tr_em_binary(e, op, x, y, &r))
        return false;
    if (!tr_ty_is_date(r.ty))
        return tr_em_error(e, "cannot store a result of %s in %s", tr_em_tyname(e, r.ty),
                           tr_em_tyname(e, x.ty));
    *out = x;
    return tr_date_as(e, r, tr_ty_one_date(e->types, x.ty), &raw) && tr_em_assign(e, tr_date_raw(e, x), raw);
}

static bool elt_unary(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    *out = tr_em_op1(e, *(const tr_op *)user, x[0]); /* of the least int64 both are that again */
    return true;
}

bool tr_date_unary(tr_em *e, tr_op op, const char *sign, tr_tv x, tr_tv *out) {
    tr_op *kept = tr_arena_copy(&e->ctx->arena, &op, sizeof op);
    if (!tr_ty_is_delta(x.ty))
        return tr_em_error(e, "bad operand type for %s: %s", sign, tr_em_tyname(e, x.ty));
    tr_tv raw = tr_date_raw(e, x);
    if (!tr_lib_lift(e, 1, &raw, elt_unary, kept, out))
        return false;
    *out = tr_date_of(e, tr_ty_one_date(e->types, x.ty), *out);
    return true;
}

bool tr_lib_unary_date(tr_em *e, tr_unop op, tr_tv x, tr_tv *out) {
    if (op == TR_UN_INVERT)
        return tr_lib_unary_no(e, op, x, out);
    if (op == TR_UN_NEG)
        return tr_date_unary(e, TR_OP_NEG, "unary -", x, out);
    *out = x;
    return tr_ty_is_delta(x.ty) || tr_lib_unary_no(e, op, x, out);
}

/* NaT is less than all else as a number, and here neither less, equal nor more than anything. */
static bool elt_compare(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const operation *w = user;
    tr_tv c = tr_em_cmp(e, w->cmp, operand(e, w, x, 0), operand(e, w, x, 1)), nat = any_nat(e, w, x);
    *out = w->cmp == TR_CMP_NE ? tr_fam_or(e, c, nat) : tr_fam_and(e, c, tr_fam_not(e, nat));
    return true;
}

tr_answer tr_lib_compare_date(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    operation w = {.cmp = op};
    char cx = class_of(e, x), cy = class_of(e, y);
    bool fine = cx == cy || (cx == 'm' && cy == 'q') || (cx == 'q' && cy == 'm');
    if (!cx || !cy || !fine)
        return TR_OPEN;
    return tr_answered(operands_of(e, x, y, &w) && lifted(e, x, y, elt_compare, &w, out));
}

/* --- np.minimum and its kin --- */

/* The least and the greatest, where a NaT wins, or (fmin, fmax) is passed over. One less than a NaT is the
 * greatest int64, and the order of all else stays. */
static bool elt_pick(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const operation *w = user;
    tr_tv v[2];
    bool least = w->pick == TR_UF_MINIMUM || w->pick == TR_UF_FMIN,
         last = w->pick == TR_UF_MAXIMUM || w->pick == TR_UF_FMIN; /* a NaT comes last */
    for (unsigned k = 0; k < 2; k++) {
        tr_tv nat = tr_date_isnat(e, x[k]);
        v[k] = where_nat(e, nat, operand(e, w, x, k));
    }
    tr_tv a = last ? op_with(e, TR_OP_SUB, v[0], 1) : v[0], b = last ? op_with(e, TR_OP_SUB, v[1], 1) : v[1];
    *out = tr_em_select(e, tr_em_cmp(e, least ? TR_CMP_LE : TR_CMP_GE, a, b), v[0], v[1]);
    return true;
}

bool tr_date_pick(tr_em *e, int pick, tr_tv x, tr_tv y, tr_tv *out) {
    operation w = {.pick = pick};
    if (!tr_ty_is_date(x.ty) || !tr_ty_is_date(y.ty) || class_of(e, x) != class_of(e, y))
        return tr_em_error(e, "the less and the greater of %s and %s", tr_em_tyname(e, x.ty),
                           tr_em_tyname(e, y.ty));
    if (!operands_of(e, x, y, &w) || !lifted(e, x, y, elt_pick, &w, out))
        return false;
    *out = tr_date_of(e, tr_ty_date(e->types, w.cls[0] == 'm', w.in), *out);
    return true;
}

/* --- by kind --- */

bool tr_lib_truth_date(tr_em *e, tr_tv x, tr_tv *out) {
    return tr_em_truth(e, tr_date_raw(e, x), out);
}

bool tr_lib_coerce_date(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out) {
    bool can = x.ty->kind == TR_TY_DATE && tr_ty_is_delta(x.ty) == tr_ty_is_delta(to) &&
               (tr_ty_date_unit(x.ty) == TR_UNIT_GENERIC || tr_ty_same_date(x.ty, to));
    if (can)
        *out = tr_date_of(e, to, tr_date_raw(e, x));
    return can;
}

bool tr_lib_coerce_dates(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out) {
    if (x.ty->kind != TR_TY_DATES || !tr_ty_same_date(x.ty, to) ||
        !tr_em_coerce(e, tr_date_raw(e, x), to->items[0], out))
        return false;
    *out = tr_date_of(e, to, *out);
    return true;
}

/* A piece of its own, which print() knows. Inside of a tuple it has another text, by NumPy's version. */
bool tr_lib_show_date(tr_em *e, tr_tv x, bool repr, tr_shown *to) {
    bool known = tr_ty_is_delta(x.ty) || tr_ty_date_unit(x.ty) != TR_UNIT_GENERIC;
    if (repr || !known)
        return tr_lib_show_no(e, x, repr, to);
    tr_lib_show_end(e, to);
    tr_vec_push(&e->ctx->arena, &to->pieces, x);
    return true;
}

bool tr_lib_show_dates(tr_em *e, tr_tv x, bool repr, tr_shown *to) {
    return tr_lib_show_items(e, tr_date_raw(e, x), repr, tr_em_tyname(e, tr_ty_one_date(e->types, x.ty)), to);
}

tr_tv tr_date_precision(tr_em *e, const tr_ty *date, tr_tv *raw) {
    assert(!tr_ty_is_delta(date) && "spans have no calendar");
    tr_unit u = tr_ty_date_unit(date);
    if (u == TR_UNIT_W)
        tr_date_scaled(e, *raw, u, TR_UNIT_D, raw);
    return tr_em_i64(e, u <= TR_UNIT_M ? (int64_t)u : u <= TR_UNIT_D ? 2 : (int64_t)u - TR_UNIT_D + 2);
}

bool tr_lib_get_dates(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    if (!tr_em_getitem(e, tr_date_raw(e, x), i, out))
        return false;
    *out = tr_date_of(e, x.ty, *out);
    return true;
}

bool tr_lib_set_dates(tr_em *e, tr_tv x, tr_tv i, tr_tv v, bool itself) {
    tr_tv raw;
    return tr_date_as(e, v, tr_ty_one_date(e->types, x.ty), &raw) &&
           tr_em_setitem(e, tr_date_raw(e, x), i, raw, itself);
}

bool tr_lib_count_dates(tr_em *e, tr_tv x, tr_tv *n) {
    return tr_lib_count_array(e, tr_date_raw(e, x), n);
}

bool tr_lib_len_dates(tr_em *e, tr_tv x, tr_tv *n) {
    return tr_lib_len_array(e, tr_date_raw(e, x), n);
}

bool tr_lib_at_dates(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    if (!tr_lib_at_array(e, tr_date_raw(e, x), i, out))
        return false;
    *out = tr_date_of(e, x.ty, *out);
    return true;
}
