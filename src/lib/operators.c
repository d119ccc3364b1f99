/* Python's operators on scalars, literals, tuples, strings known at compile time, and (through arrays.c)
 * arrays. Rules: docs/semantics.md. Literals fold here, so that `2 * math.pi` stays weak. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fam.h"
#include "lib/kinds.h"

/* --- folding of literals --- */

/* A literal bool, int or float. */
typedef struct real {
    bool whole; /* an integer or a bool: n */
    tr_bigint n;
    double f; /* infinite for an integer that no float holds */
} real;

static bool real_of(tr_tv x, real *r) {
    r->whole = tr_tv_lit_integer(x, &r->n);
    return tr_tv_lit_real(x, &r->f);
}

/* A literal integer beyond 64 bits. */
static bool is_huge(tr_tv x) {
    tr_bigint n;
    return tr_tv_lit_integer(x, &n) && !tr_bigint_fits64(&n);
}

static bool beyond_floats(const real *r) {
    return r->whole && isinf(r->f);
}

/* promotion="numba" takes it for a uint64, with which nothing is folded. */
static bool is_numbas_uint64(const tr_em *e, const real *r) {
    int64_t i;
    uint64_t u;
    return e->opts->promote_numba && r->whole && !tr_bigint_i64(&r->n, &i) && tr_bigint_u64(&r->n, &u);
}

static tr_bigint_fn exact_operator(tr_binop op) {
    switch (op) {
    case TR_BIN_ADD: return tr_bigint_add;
    case TR_BIN_SUB: return tr_bigint_sub;
    case TR_BIN_MUL: return tr_bigint_mul;
    case TR_BIN_FLOORDIV: return tr_bigint_floordiv;
    case TR_BIN_MOD: return tr_bigint_mod;
    case TR_BIN_POW: return tr_bigint_pow;
    case TR_BIN_AND: return tr_bigint_and;
    case TR_BIN_OR: return tr_bigint_or;
    case TR_BIN_XOR: return tr_bigint_xor;
    case TR_BIN_SHL: return tr_bigint_shl;
    case TR_BIN_SHR: return tr_bigint_shr;
    default: return NULL;
    }
}

static tr_answer fold_integers(tr_em *e, tr_binop op, const tr_bigint *x, const tr_bigint *y, tr_tv *out) {
    tr_arena *a = &e->ctx->arena;
    tr_bigint r;
    int64_t v;
    tr_bigint_status s = exact_operator(op)(a, x, y, &r);
    if (s == TR_BIGINT_UNDEFINED)
        return TR_OPEN;
    bool wraps = s == TR_BIGINT_TOO_LARGE || !tr_bigint_i64(&r, &v);
    if (e->opts->promote_numba && wraps && tr_bigint_fits64(x) && tr_bigint_fits64(y))
        return TR_OPEN;
    if (s == TR_BIGINT_TOO_LARGE) {
        tr_em_error(e, "the result of %s %s %s has more than %d bits", tr_bigint_shown(a, x), tr_lib_sign(op),
                    tr_bigint_shown(a, y), TR_BIGINT_BITS);
        return TR_REFUSED;
    }
    *out = tr_em_lit(e, tr_obj_bigint(a, r));
    return TR_DONE;
}

static bool fold_float(tr_binop op, double a, double b, double *r) {
    switch (op) {
    case TR_BIN_ADD: *r = a + b; return true;
    case TR_BIN_SUB: *r = a - b; return true;
    case TR_BIN_MUL: *r = a * b; return true;
    case TR_BIN_DIV: *r = a / b; return b != 0;
    case TR_BIN_POW: *r = pow(a, b); return a > 0;
    default: return false;
    }
}

static bool is_bool(tr_tv x) {
    return x.ty->lit->kind == TR_OBJ_BOOL;
}

static tr_answer fold_binary(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    real a, b;
    double r;
    if (!real_of(x, &a) || !real_of(y, &b) || (is_bool(x) && is_bool(y)) || is_numbas_uint64(e, &a) ||
        is_numbas_uint64(e, &b))
        return TR_OPEN;
    bool ints = a.whole && b.whole, inverse = op == TR_BIN_POW && ints && b.n.negative;
    if (inverse && e->opts->promote_numba) /* an integer there */
        return TR_OPEN;
    if (ints && exact_operator(op) && !inverse)
        return fold_integers(e, op, &a.n, &b.n, out);
    if (ints && op == TR_BIN_DIV && b.n.n && !e->opts->promote_numba) {
        r = tr_bigint_divide(&e->ctx->arena, &a.n, &b.n);
        if (isinf(r))
            return TR_OPEN;
    } else if (beyond_floats(&a) || beyond_floats(&b) || !fold_float(op, a.f, b.f, &r)) {
        return TR_OPEN;
    }
    *out = tr_em_lit(e, tr_obj_float(&e->ctx->arena, r));
    return TR_DONE;
}

bool tr_lib_huge_float(tr_em *e, tr_tv x, tr_tv *out) {
    real r;
    if (!is_huge(x) || !real_of(x, &r) || beyond_floats(&r))
        return false;
    *out = tr_em_lit(e, tr_obj_float(&e->ctx->arena, r.f));
    return true;
}

/* Beside a float, or an integer in a quotient. */
static bool huge(tr_em *e, bool quotient, tr_tv x, tr_tv beside, tr_tv *out) {
    const tr_ty *t = tr_lib_is_array(beside) ? beside.ty->elem : tr_lib_scalar(e, beside.ty);
    return t && (quotient || tr_ty_is_float(t) || tr_ty_is_complex(t)) && tr_lib_huge_float(e, x, out);
}

/* --- scalars --- */

static bool op_error(tr_em *e, const char *sign, tr_tv x, tr_tv y) {
    if (*sign == '*' && (x.ty->kind == TR_TY_TUPLE || y.ty->kind == TR_TY_TUPLE) &&
        (tr_lib_scalar(e, x.ty) || tr_lib_scalar(e, y.ty)))
        return tr_em_unsupported(e, "tuple-length", "a tuple whose length is a variable");
    tr_em_error(e, "unsupported operand types for %s: %s and %s", sign, tr_em_tyname(e, x.ty),
                tr_em_tyname(e, y.ty));
    const tr_ty *xs = tr_lib_scalar(e, x.ty), *ys = tr_lib_scalar(e, y.ty);
    bool ints = xs && ys && tr_ty_is_int(xs) && tr_ty_is_int(ys);
    if (is_huge(x) || is_huge(y))
        tr_em_hint(e, "integers have 64 bits in compiled code: make it a float, or compute it outside");
    else if (ints &&
             tr_ty_is_float(tr_ty_scalar(e->types, tr_ty_promote((tr_tyk)xs->kind, (tr_tyk)ys->kind))))
        tr_em_hint(e,
                   "no integer type holds both: convert one, with .astype(np.int64) or .astype(np.uint64); "
                   "the bits stay what they are");
    else if ((*sign == '&' || *sign == '|') && xs && ys)
        tr_em_hint(e, "%s binds tighter than comparisons: write (a > 0) %s (b > 0)", sign, sign);
    else if (*sign == '%' && tr_tv_lit_str(x, &(const char *){NULL}))
        tr_em_hint(e, "write an f-string: messages of exceptions and print() may be f\"... {x}\"");
    return false;
}

bool tr_lib_op_error(tr_em *e, tr_binop op, const tr_ty *x, const tr_ty *y) {
    return op_error(e, tr_lib_sign(op), (tr_tv){x, TR_NOVAL}, (tr_tv){y, TR_NOVAL});
}

static tr_tv not_zero(tr_em *e, tr_tv y) {
    return tr_em_cmp(e, TR_CMP_NE, y, tr_em_num(e, y.ty, 0.0));
}

const char *tr_lib_zero_text(const tr_em *e, tr_binop op, const tr_ty *t) {
    if (e->ctx->python >= 314)
        return op == TR_BIN_POW ? "zero to a negative power" : "division by zero";
    if (op == TR_BIN_POW)
        return "0.0 cannot be raised to a negative power";
    if (tr_ty_is_complex(t))
        return "complex division by zero";
    if (tr_ty_is_float(t))
        return op == TR_BIN_DIV   ? "float division by zero"
               : op == TR_BIN_MOD ? e->ctx->python >= 313 ? "float modulo by zero" : "float modulo"
                                  : "float floor division by zero";
    return op == TR_BIN_DIV   ? "division by zero"
           : op == TR_BIN_MOD ? "integer modulo by zero"
                              : "integer division or modulo by zero";
}

/* The zero check is on the divisor as written: an int divisor of `/` is tested as an int. */
static void check_zero(tr_em *e, tr_binop op, tr_tv y, const tr_ty *as) {
    tr_em_check(e, not_zero(e, tr_em_strong(e, y)), TR_EXC_ZERODIV, tr_lib_zero_text(e, op, as), 0, NULL);
}

/* A complex128 is Python's own number; Python has no complex64, and Numba divides both alike. */
static tr_op division(tr_em *e, tr_binop op, const tr_ty *t, tr_rules rules) {
    bool python = t->kind == TR_TY_C128 || (t->kind == TR_TY_C64 && e->opts->promote_numba);
    switch (op) {
    case TR_BIN_MOD: return TR_OP_FLOORMOD;
    case TR_BIN_FLOORDIV: return TR_OP_FLOORDIV;
    default: return python && rules != TR_RULES_NUMPY ? TR_OP_PYDIV : TR_OP_DIV;
    }
}

static bool divide(tr_em *e, tr_binop op, tr_tv x, tr_tv y, const tr_ty *t, tr_rules rules, tr_tv *out) {
    assert(tr_ty_is_scalar(t) && (op == TR_BIN_DIV || op == TR_BIN_FLOORDIV || op == TR_BIN_MOD) &&
           "a quotient or a rest");
    const tr_ty *xs = tr_lib_scalar(e, x.ty), *ys = tr_lib_scalar(e, y.ty);
    if (op != TR_BIN_DIV && tr_ty_is_complex(t))
        return op_error(e, tr_lib_sign(op), x, y);
    tr_tv a = tr_em_conv(e, x, t), b = tr_em_conv(e, y, t);
    if (rules == TR_RULES_PYTHON)
        check_zero(e, op, b,
                   tr_ty_class(xs) != 'f' && tr_ty_class(ys) != 'f' && !tr_ty_is_complex(t) ? xs : t);
    *out = tr_em_op2(e, division(e, op, t, rules), a, b);
    return true;
}

/* x is NaN, infinite, or beyond int64 but for its least value. */
static void check_cold(tr_em *e, tr_tv x) {
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, x, x), TR_EXC_VALUE, "cannot convert float NaN to integer", 0,
                NULL);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, x, tr_em_num(e, x.ty, -0x1p63)), TR_EXC_OVERFLOW,
                "cannot convert float {0} to a 64-bit integer", 1, &x);
}

/* What does not fit comes out as INT64_MIN, and so one test of the result says that all is well;
 * lowering knows the form (lower/conv.c). */
tr_tv tr_lib_float_to_int(tr_em *e, tr_tv x) {
    x = tr_em_strong(e, x);
    assert(tr_ty_is_float(x.ty) && "a float becomes an int");
    tr_tv r = tr_em_conv(e, x, tr_ty_scalar(e->types, TR_TY_I64));
    if (e->dry || tr_lib_rules(e) != TR_RULES_PYTHON)
        return r;
    tr_bid cold = tr_blk_new(e->b.fn), join = tr_blk_new(e->b.fn);
    tr_tv fits = tr_em_cmp(e, TR_CMP_GE, r, tr_em_i64(e, TR_FITS_LEAST));
    tr_cbr(&e->b, fits.v, join, 0, NULL, cold, 0, NULL);
    e->b.blk = cold;
    check_cold(e, x);
    tr_br(&e->b, join, 0, NULL);
    e->b.blk = join;
    return r;
}

tr_tv tr_lib_int_to_int(tr_em *e, tr_tv x) {
    assert(tr_lib_scalar(e, x.ty) && "a number becomes an int");
    const tr_ty *i64 = tr_ty_scalar(e->types, TR_TY_I64);
    x = tr_em_strong(e, x);
    tr_tv r = tr_em_conv(e, x, i64);
    if (x.ty->kind == TR_TY_U64 && tr_lib_rules(e) == TR_RULES_PYTHON)
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, r, tr_em_i64(e, 0)), TR_EXC_OVERFLOW,
                    "uint64 {0} does not fit int64, which int is in compiled code", 1, &x);
    return r;
}

/* Powers of floats up to this exponent are products, as in Numba: within 4 ULP of pow(), and many times
 * faster. A product overflows or vanishes only where the power does. */
enum { MAX_POWER = 8 };

static tr_tv by_squaring(tr_em *e, tr_tv x, int64_t n) {
    assert(n > 0 && "a product has a factor");
    tr_tv r = x;
    bool first = true;
    for (; n; n >>= 1) {
        if (n & 1) {
            r = first ? x : tr_em_op2(e, TR_OP_MUL, r, x);
            first = false;
        }
        if (n > 1)
            x = tr_em_op2(e, TR_OP_MUL, x, x);
    }
    return r;
}

/* promotion="numba": integer powers of integers are integers, 1 / x ** n cut to one where n is negative;
 * those of a float have its type. */
static void numba_power(tr_em *e, tr_tv x, tr_tv y, const tr_ty *t, tr_rules rules, tr_tv *out) {
    const tr_ty *by = tr_ty_is_int(t) ? t : tr_ty_scalar(e->types, TR_TY_F64);
    tr_tv a = tr_em_conv(e, x, by), b = tr_em_conv(e, y, by);
    if (rules == TR_RULES_PYTHON) {
        tr_tv ok = tr_em_op2(e, TR_OP_OR, not_zero(e, a), tr_em_cmp(e, TR_CMP_GE, b, tr_em_num(e, by, 0.0)));
        tr_em_check(e, ok, TR_EXC_ZERODIV, "0 cannot be raised to a negative power", 0, NULL);
    }
    *out = tr_em_conv(e, tr_em_op2(e, TR_OP_POW, a, b), t);
}

static bool power(tr_em *e, tr_tv x, tr_tv y, const tr_ty *t, tr_rules rules, tr_tv *out) {
    int64_t n;
    const tr_ty *ys = tr_lib_scalar(e, y.ty);
    bool ints = tr_ty_is_int(t), literal = tr_tv_lit_int(y, &n);
    bool integral = tr_ty_is_int(ys) || ys->kind == TR_TY_BOOL;
    if (e->opts->promote_numba && rules != TR_RULES_NUMPY && integral && !tr_ty_is_complex(t) &&
        (tr_ty_class(ys) == 'i' || !ints) && !(literal && n >= 0 && n <= (ints ? 64 : MAX_POWER))) {
        numba_power(e, x, y, t, rules, out);
        return true;
    }
    if (literal) {
        if (ints && n < 0) { /* a literal negative exponent: float64, as Python's */
            const tr_ty *f = tr_ty_scalar(e->types, TR_TY_F64);
            tr_tv xf = tr_em_conv(e, x, f);
            if (rules == TR_RULES_PYTHON)
                tr_em_check(e, not_zero(e, xf), TR_EXC_ZERODIV, tr_lib_zero_text(e, TR_BIN_POW, f), 0, NULL);
            *out = tr_em_op2(e, TR_OP_POW, xf, tr_em_f64(e, (double)n));
            return true;
        }
        if (n >= 2 && n <= (ints ? 64 : MAX_POWER) && !tr_ty_is_complex(t)) {
            *out = by_squaring(e, tr_em_conv(e, x, t), n);
            return true;
        }
    }
    if (tr_ty_is_complex(t) && tr_fam_cplx_power(e, tr_em_conv(e, x, t), y, rules == TR_RULES_NUMPY, out))
        return true;
    if (ints && ys->kind == TR_TY_U64 &&
        tr_ty_class(t) == 'i') { /* as int64 a large exponent would be negative */
        *out = tr_em_conv(e, tr_em_op2(e, TR_OP_POW, tr_em_conv(e, x, ys), tr_em_conv(e, y, ys)), t);
        return true;
    }
    tr_tv a = tr_em_conv(e, x, t), b = tr_em_conv(e, y, t);
    if (ints && tr_ty_class(ys) == 'i' && !tr_tv_lit_int(y, &n) && rules == TR_RULES_PYTHON)
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, b, tr_em_num(e, t, 0.0)), TR_EXC_VALUE,
                    "integers to negative integer powers are not allowed", 0, NULL);
    *out = tr_em_op2(e, TR_OP_POW, a, b);
    return true;
}

static char op_class(tr_binop op) {
    switch (op) {
    case TR_BIN_DIV: return '/';
    case TR_BIN_POW: return 'p';
    case TR_BIN_AND:
    case TR_BIN_OR:
    case TR_BIN_XOR: return '&';
    case TR_BIN_SHL:
    case TR_BIN_SHR: return '<';
    default: return '+';
    }
}

bool tr_lib_is_bitwise(tr_binop op) {
    return op_class(op) == '&' || op_class(op) == '<';
}

tr_op tr_lib_plain_op(tr_binop op) {
    switch (op) {
    case TR_BIN_ADD: return TR_OP_ADD;
    case TR_BIN_SUB: return TR_OP_SUB;
    case TR_BIN_MUL: return TR_OP_MUL;
    case TR_BIN_AND: return TR_OP_AND;
    case TR_BIN_OR: return TR_OP_OR;
    case TR_BIN_XOR: return TR_OP_XOR;
    case TR_BIN_SHL: return TR_OP_SHL;
    case TR_BIN_SHR: return TR_OP_SHR;
    default: return TR_OP__COUNT;
    }
}

bool tr_lib_scalar_binary(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_rules rules, tr_tv *out) {
    if (op == TR_BIN_MATMUL)
        return op_error(e, tr_lib_sign(op), x, y);
    if (x.ty->kind == TR_TY_F16 || y.ty->kind == TR_TY_F16) {
        tr_tv v[2];
        bool half = tr_lib_unhalve(e, 2, (tr_tv[]){x, y}, v);
        if (!tr_lib_scalar_binary(e, op, v[0], v[1], rules, out))
            return false;
        *out = half ? tr_lib_halved(e, *out) : *out;
        return true;
    }
    const tr_ty *t = tr_ty_arith(e->types, op_class(op), x.ty, y.ty, e->opts->promote_numba);
    if (!t)
        return op_error(e, tr_lib_sign(op), x, y);
    bool weak = t->weak;
    const tr_ty *s = tr_ty_strong(e->types, t);
    bool ok;
    switch (op) {
    case TR_BIN_DIV:
    case TR_BIN_FLOORDIV:
    case TR_BIN_MOD: ok = divide(e, op, x, y, s, rules, out); break;
    case TR_BIN_POW: ok = power(e, x, y, s, rules, out); break;
    default: *out = tr_em_op2(e, tr_lib_plain_op(op), tr_em_conv(e, x, s), tr_em_conv(e, y, s)); ok = true;
    }
    if (ok && weak && out->ty == s)
        out->ty = t;
    return ok;
}

/* Literals are folded; the others' type is what they have in common. */
tr_answer tr_lib_binary_number(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_answer known = fold_binary(e, op, x, y, out);
    if (known != TR_OPEN)
        return known;
    if (huge(e, op == TR_BIN_DIV, x, y, &x) || huge(e, op == TR_BIN_DIV, y, x, &y))
        return tr_answered(tr_em_binary(e, op, x, y, out));
    if (tr_lib_scalar(e, x.ty) && tr_lib_scalar(e, y.ty))
        return tr_answered(tr_lib_scalar_binary(e, op, x, y, tr_lib_rules(e), out));
    return TR_OPEN;
}

/* Both are arrays or numbers. */
static bool is_elementwise(tr_em *e, tr_tv x, tr_tv y) {
    return (tr_lib_is_array(x) || tr_lib_scalar(e, x.ty)) && (tr_lib_is_array(y) || tr_lib_scalar(e, y.ty));
}

tr_answer tr_lib_binary_array(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    if (huge(e, op == TR_BIN_DIV, x, y, &x) || huge(e, op == TR_BIN_DIV, y, x, &y))
        return tr_answered(tr_em_binary(e, op, x, y, out));
    return is_elementwise(e, x, y) ? tr_answered(tr_lib_array_binary(e, op, x, y, false, out)) : TR_OPEN;
}

/* Beside an array a list or a tuple is the array of its items, as to NumPy. */
static bool as_operand(tr_em *e, tr_tv *x, const tr_tv *beside) {
    bool sequence = x->ty->kind == TR_TY_LIST || (x->ty->kind == TR_TY_TUPLE && !x->ty->name);
    return beside->ty->kind != TR_TY_ARRAY || !sequence ||
           tr_em_builtin(e, TR_B_NP_ASARRAY, (tr_tv){NULL, TR_NOVAL}, &(tr_args){1, x, 0, NULL}, x);
}

bool tr_em_binary(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    if (!as_operand(e, &x, &y) || !as_operand(e, &y, &x))
        return false;
    const tr_kind *kx = tr_lib_kind(x.ty), *ky = tr_lib_kind(y.ty);
    tr_answer a = kx->binary(e, op, x, y, out);
    if (a == TR_OPEN && ky->binary != kx->binary)
        a = ky->binary(e, op, x, y, out);
    return a == TR_OPEN ? op_error(e, tr_lib_sign(op), x, y) : a == TR_DONE;
}

bool tr_lib_inplace_binary(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    return tr_em_binary(e, op, x, y, out);
}

bool tr_em_inplace(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    return as_operand(e, &y, &x) && tr_lib_kind(x.ty)->inplace(e, op, x, y, out);
}

/* The array itself changes. */
bool tr_lib_inplace_array(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    if (!tr_lib_is_array(y) && !tr_lib_scalar(e, y.ty))
        return op_error(e, tr_lib_sign(op), x, y);
    return tr_lib_array_binary(e, op, x, y, true, out);
}

/* --- unary --- */

/* Of literals, whose values are Python's. ~ of a bool is NumPy's; with promotion="numba" the least int64
 * stays what it is. */
static bool fold_unary(tr_em *e, tr_unop op, tr_tv x, tr_tv *out) {
    tr_arena *a = &e->ctx->arena;
    real r;
    int64_t i;
    bool numba = e->opts->promote_numba;
    if (!real_of(x, &r) || (op != TR_UN_NEG && (numba || !r.whole || is_bool(x))))
        return false;
    if (op == TR_UN_INVERT && tr_bigint_invert(a, &r.n, &r.n) != TR_BIGINT_FINE)
        return false;
    if (op == TR_UN_NEG) {
        if (numba && r.whole && tr_bigint_i64(&r.n, &i) && i == INT64_MIN)
            return false;
        r.n = tr_bigint_negative(r.n);
    }
    *out = tr_em_lit(e, r.whole ? tr_obj_bigint(a, r.n) : tr_obj_float(a, -r.f));
    return true;
}

bool tr_em_unary(tr_em *e, tr_unop op, tr_tv x, tr_tv *out) {
    if (op == TR_UN_NOT) {
        tr_tv t;
        int64_t v;
        if (!tr_em_truth(e, x, &t))
            return false;
        if (tr_tv_lit_int(t, &v))
            *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, !v));
        else
            *out = tr_em_op1(e, TR_OP_NOT, t);
        return true;
    }
    if (op == TR_UN_INVERT && x.ty->kind == TR_TY_LIT && x.ty->lit->member) {
        tr_em_error(e, "~ of a member of an enum: of flags, its value is another than the number's");
        tr_em_hint(e, "write ~x.value, or what other flags there are");
        return false;
    }
    return tr_lib_kind(x.ty)->unary(e, op, x, out);
}

bool tr_lib_unary_number(tr_em *e, tr_unop op, tr_tv x, tr_tv *out) {
    if (fold_unary(e, op, x, out))
        return true;
    const tr_ty *s = tr_lib_scalar(e, x.ty);
    if (!s || (op == TR_UN_INVERT && !tr_ty_is_int(s) && s->kind != TR_TY_BOOL))
        return tr_lib_unary_no(e, op, x, out);
    if (op == TR_UN_INVERT && s->kind == TR_TY_BOOL) { /* NumPy's and Numba's ~ of a bool */
        *out = tr_em_op1(e, TR_OP_NOT, x);
        return true;
    }
    /* An integer stays in its type, as in NumPy, so that ~ of a uint8 is one. Numba computes there too, and
     * widens what it gets. */
    const tr_ty *t = s->kind == TR_TY_BOOL ? tr_ty_scalar(e->types, TR_TY_I64) : s;
    tr_tv v = tr_em_conv(e, x, t);
    *out = op == TR_UN_POS ? v : tr_em_op1(e, op == TR_UN_NEG ? TR_OP_NEG : TR_OP_NOT, v);
    if (e->opts->promote_numba && tr_ty_is_int(t))
        *out = tr_em_conv(e, *out, tr_ty_arith(e->types, '+', t, t, true));
    *out = tr_fam_weaken(e, *out, t->weak);
    return true;
}

/* --- comparison --- */

/* int64 against uint64: by sign first. */
static tr_tv cmp_mixed(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y) {
    bool x_signed = tr_ty_class(x.ty) == 'i';
    tr_tv s = x_signed ? x : y;
    const tr_ty *u64 = tr_ty_scalar(e->types, TR_TY_U64);
    tr_tv neg = tr_em_cmp(e, TR_CMP_LT, s, tr_em_num(e, s.ty, 0.0));
    tr_tv plain = tr_em_cmp(e, op, tr_em_conv(e, x, u64), tr_em_conv(e, y, u64));
    return tr_em_select(e, neg, tr_em_bool(e, tr_lib_holds(op, x_signed ? -1 : 1)), plain);
}

static bool cmp_scalar(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    const tr_ty *xs = tr_lib_scalar(e, x.ty), *ys = tr_lib_scalar(e, y.ty);
    const tr_ty *t = tr_ty_compare(e->types, xs, ys, e->opts->promote_numba);
    if (!t) {
        if (!tr_ty_is_int(xs) || !tr_ty_is_int(ys))
            return op_error(e, tr_lib_cmp_sign(op), x, y);
        *out = cmp_mixed(e, op, tr_em_strong(e, x), tr_em_strong(e, y));
        return true;
    }
    if (tr_ty_is_complex(t) && op != TR_CMP_EQ && op != TR_CMP_NE)
        return op_error(e, tr_lib_cmp_sign(op), x, y);
    t = tr_ty_strong(e->types, t);
    *out = tr_em_cmp(e, op, tr_em_conv(e, x, t), tr_em_conv(e, y, t));
    return true;
}

/* Two literals that Python compares exactly. */
static bool fold_compare(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    real u, v;
    if (!real_of(x, &u) || !real_of(y, &v) ||
        ((!u.whole || !v.whole) && (beyond_floats(&u) || beyond_floats(&v))))
        return false;
    bool r;
    if (u.whole && v.whole)
        r = tr_lib_holds(op, tr_bigint_compare(&u.n, &v.n));
    else if (isnan(u.f) || isnan(v.f))
        r = op == TR_CMP_NE;
    else
        r = tr_lib_holds(op, (u.f > v.f) - (u.f < v.f));
    *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, r));
    return true;
}

tr_answer tr_lib_compare_number(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    if (fold_compare(e, op, x, y, out))
        return TR_DONE;
    if (huge(e, false, x, y, &x) || huge(e, false, y, x, &y))
        return tr_answered(tr_em_compare(e, op, x, y, out));
    if (tr_lib_scalar(e, x.ty) && tr_lib_scalar(e, y.ty))
        return tr_answered(cmp_scalar(e, op, x, y, out));
    return TR_OPEN;
}

tr_answer tr_lib_compare_array(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    if (huge(e, false, x, y, &x) || huge(e, false, y, x, &y))
        return tr_answered(tr_em_compare(e, op, x, y, out));
    return is_elementwise(e, x, y) ? tr_answered(tr_lib_array_compare(e, op, x, y, out)) : TR_OPEN;
}

/* None, a constant or a string: what differs from every value of another kind. */
static bool is_static(tr_tv x) {
    return tr_tv_is_none(x) || x.ty->kind == TR_TY_LIT || tr_lib_is_text(x);
}

static const tr_ty *any_dtype(tr_em *e, tr_tv x) {
    const tr_ty *t = tr_tv_dtype(e, x);
    return t ? t : tr_lib_date_dtype(e, x);
}

/* Of values that have nothing to do with each other: None or a string against something else; dtypes and
 * functions by identity. */
static bool compare_apart(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    if ((op != TR_CMP_EQ && op != TR_CMP_NE) || (!is_static(x) && !is_static(y)) || tr_lib_is_array(x) ||
        tr_lib_is_array(y))
        return op_error(e, tr_lib_cmp_sign(op), x, y);
    const tr_ty *dx = any_dtype(e, x), *dy = any_dtype(e, y);
    bool same = x.ty == y.ty || (dx && dx == dy) || (tr_tv_is_none(x) && tr_tv_is_none(y));
    *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, same == (op == TR_CMP_EQ)));
    return true;
}

/* A member of an enum whose class has an __eq__ of its own. */
static bool has_own_equality(tr_tv x) {
    const tr_obj *o = x.ty->kind == TR_TY_LIT ? x.ty->lit : NULL;
    return o && o->kind == TR_OBJ_MODULE && o->u.m.own_eq;
}

/* A member of an enum that is a str, or the like, compares as that. */
static tr_tv as_value(tr_em *e, tr_tv x) {
    const tr_obj *o = x.ty->kind == TR_TY_LIT ? x.ty->lit : NULL;
    return o && o->kind == TR_OBJ_MODULE && o->u.m.is_value ? tr_em_lit(e, o->u.m.attrs[0].obj) : x;
}

bool tr_em_compare(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    if (!as_operand(e, &x, &y) || !as_operand(e, &y, &x))
        return false;
    x = as_value(e, x);
    y = as_value(e, y);
    const tr_kind *kx = tr_lib_kind(x.ty), *ky = tr_lib_kind(y.ty);
    if (has_own_equality(x) || has_own_equality(y))
        return tr_em_unsupported(e, "enum-own", "'%s' of %s, whose class has an __eq__ of its own",
                                 tr_lib_cmp_sign(op), tr_em_tyname(e, has_own_equality(x) ? x.ty : y.ty));
    if (tr_lib_is_exc_class(x.ty) || tr_lib_is_exc_class(y.ty))
        return tr_lib_no_exc_class(e);
    tr_answer a = kx->compare(e, op, x, y, out);
    if (a == TR_OPEN && ky->compare != kx->compare)
        a = ky->compare(e, op, x, y, out);
    return a == TR_OPEN ? compare_apart(e, op, x, y, out) : a == TR_DONE;
}

/* --- identity --- */

/* The type of a value that may be None, where it is not. */
static const tr_ty *held(const tr_ty *t) {
    return t->kind == TR_TY_OPT ? t->items[1] : t;
}

/* What a value's Python object is an instance of, as far as it matters here: bool, int, float, complex or
 * str; 0: anything else. */
static char python_class(tr_em *e, const tr_ty *t) {
    const tr_ty *s = tr_lib_scalar(e, held(t));
    if (!s)
        return tr_lib_is_text((tr_tv){t, TR_NOVAL}) ? 's' : 0;
    return tr_ty_class(s) == 'u' ? 'i' : tr_ty_class(s);
}

/* Whether x and y are one object is known: one is a constant, and the other one too, or of another class. */
static bool identity_known(tr_em *e, tr_tv x, tr_tv y) {
    bool lx = x.ty->kind == TR_TY_LIT, ly = y.ty->kind == TR_TY_LIT;
    char c = python_class(e, x.ty);
    return (lx && ly) || ((lx || ly) && (!c || c != python_class(e, y.ty)));
}

/* Constants that are one object. A type is itself by whatever name (int is what type() of an int64 gives),
 * but not the text of its name. */
static bool same_object(tr_em *e, tr_tv x, tr_tv y) {
    if (x.ty == y.ty)
        return true;
    const tr_ty *d = tr_lib_is_text(x) || tr_lib_is_text(y) ? NULL : tr_tv_dtype(e, x);
    return d && d == tr_tv_dtype(e, y);
}

/* Whether f, one of several functions, is the constant c: where the one at that place is. */
static bool is_constant(tr_em *e, tr_tv f, tr_tv c, tr_tv *out) {
    tr_tv which = tr_em_item(e, f, 0), one = tr_em_bool(e, true);
    *out = tr_em_bool(e, false);
    for (uint32_t k = 1; k < f.ty->n; k++) {
        bool deeper = f.ty->items[k]->kind == TR_TY_ONEOF;
        if (!deeper && f.ty->items[k] != c.ty)
            continue;
        tr_tv here = tr_em_cmp(e, TR_CMP_EQ, which, tr_em_i64(e, k - 1));
        if (deeper && !is_constant(e, tr_em_item(e, f, k), c, &one))
            return false;
        *out = tr_em_op2(e, TR_OP_OR, *out, deeper ? tr_em_op2(e, TR_OP_AND, here, one) : here);
    }
    return true;
}

bool tr_lib_is_one_of(tr_em *e, tr_tv x, tr_tv y, tr_tv *out) {
    if (x.ty->kind != TR_TY_ONEOF) {
        tr_tv swap = x;
        x = y;
        y = swap;
    }
    if (x.ty->kind != TR_TY_ONEOF || y.ty->kind == TR_TY_LIT)
        return x.ty->kind == TR_TY_ONEOF && is_constant(e, x, y, out);
    if (y.ty->kind != TR_TY_ONEOF)
        return false;
    tr_tv same = tr_em_bool(e, false), one;
    for (uint32_t k = 1; k < y.ty->n; k++) {
        if (!tr_lib_is_one_of(e, x, tr_em_item(e, y, k), &one))
            return false;
        tr_tv here = tr_em_cmp(e, TR_CMP_EQ, tr_em_item(e, y, 0), tr_em_i64(e, k - 1));
        same = tr_em_op2(e, TR_OP_OR, same, tr_em_op2(e, TR_OP_AND, here, one));
    }
    *out = same;
    return true;
}

/* One of both may be None, the other one is not. */
static bool held_is(tr_em *e, bool negate, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv may = x.ty->kind == TR_TY_OPT ? x : y, other = x.ty->kind == TR_TY_OPT ? y : x;
    if (!tr_em_is(e, false, tr_em_item(e, may, 1), other, out))
        return false;
    *out = tr_em_op2(e, TR_OP_AND, tr_em_item(e, may, 0), tr_em_strong(e, *out));
    return !negate || tr_em_unary(e, TR_UN_NOT, *out, out);
}

static bool is_block(const tr_ty *t) {
    return t->kind == TR_TY_LIST || t->kind == TR_TY_SET || t->kind == TR_TY_DICT ||
           t->kind == TR_TY_BYTEARRAY;
}

/* Containers, or None: of one type, which are one block, or both None. */
static bool same_block(tr_em *e, tr_tv x, tr_tv y, tr_tv *out) {
    bool ox = x.ty->kind == TR_TY_OPT, oy = y.ty->kind == TR_TY_OPT;
    tr_tv b[2] = {ox ? tr_em_item(e, x, 1) : x, oy ? tr_em_item(e, y, 1) : y};
    const tr_ty *bool_ = tr_ty_scalar(e->types, TR_TY_BOOL);
    tr_tv hx = ox ? tr_em_item(e, x, 0) : tr_em_strong(e, tr_em_bool(e, true)),
          hy = oy ? tr_em_item(e, y, 0) : tr_em_strong(e, tr_em_bool(e, true));
    tr_tv same = tr_em_strong(e, tr_em_bool(e, false));
    if (e->dry || b[0].ty == b[1].ty) {
        for (unsigned i = 0; i < 2; i++)
            if (b[i].ty->kind == TR_TY_DICT || b[i].ty->kind == TR_TY_BYTEARRAY)
                b[i] = tr_em_item(e, b[i], 0);
        same = tr_em_callrt(e, TR_RT_SAME, bool_, NULL, 2, b);
    }
    *out = same;
    if (ox || oy)
        *out = tr_em_select(e, tr_em_op2(e, TR_OP_AND, hx, hy), same, tr_em_cmp(e, TR_CMP_EQ, hx, hy));
    return true;
}

bool tr_em_is(tr_em *e, bool negate, tr_tv x, tr_tv y, tr_tv *out) {
    bool nx = tr_tv_is_none(x), ny = tr_tv_is_none(y);
    if ((x.ty->kind == TR_TY_OPT && ny) || (y.ty->kind == TR_TY_OPT && nx)) {
        *out = tr_em_item(e, ny ? x : y, 0);
        return negate || tr_em_unary(e, TR_UN_NOT, *out, out);
    }
    bool none = nx || ny;
    if (tr_lib_is_exc_class(x.ty) || tr_lib_is_exc_class(y.ty))
        return tr_lib_no_exc_class(e);
    if (is_block(held(x.ty)) && is_block(held(y.ty)))
        return same_block(e, x, y, out) && (!negate || tr_em_unary(e, TR_UN_NOT, *out, out));
    if (!none && python_class(e, x.ty) == 'b' && python_class(e, y.ty) == 'b')
        return tr_em_compare(e, negate ? TR_CMP_NE : TR_CMP_EQ, x, y, out);
    if (!none && (x.ty->kind == TR_TY_OPT) != (y.ty->kind == TR_TY_OPT))
        return held_is(e, negate, x, y, out);
    if (!none && tr_lib_is_one_of(e, x, y, out))
        return !negate || tr_em_unary(e, TR_UN_NOT, *out, out);
    if (!none && !identity_known(e, x, y)) {
        tr_em_unsupported(e, "identity", "'is' between %s and %s", tr_em_tyname(e, x.ty),
                          tr_em_tyname(e, y.ty));
        if (tr_lib_is_array(x) || tr_lib_is_array(y))
            tr_em_hint(
                e, "whether two arrays are one object is Python's to know: pass it in, `f(a, b, a is b)`");
        return false;
    }
    bool same = none ? nx && ny : same_object(e, x, y);
    *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, same != negate));
    return true;
}

/* --- in, truth --- */

bool tr_em_in(tr_em *e, bool negate, tr_tv x, tr_tv y, tr_tv *out) {
    return tr_lib_kind(y.ty)->contains(e, y, x, out) && (!negate || tr_em_unary(e, TR_UN_NOT, *out, out));
}

bool tr_lib_truth_number(tr_em *e, tr_tv x, tr_tv *out) {
    *out = tr_em_conv(e, x, tr_ty_scalar(e->types, TR_TY_BOOL));
    return true;
}

/* By Numba's rules an array of one item is true as that is, which only the running program knows. A plain
 * function is told when it compiles: what was meant is another thing nearly always. */
bool tr_lib_truth_array(tr_em *e, tr_tv x, tr_tv *out) {
    if (e->opts->promote_numba) {
        tr_tv n = tr_em_size(e, x), idx[TR_MAX_NDIM];
        tr_em_check(
            e, tr_em_cmp(e, TR_CMP_LE, n, tr_em_i64(e, 1)), TR_EXC_VALUE,
            "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()", 0,
            NULL);
        tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, n, tr_em_i64(e, 1)), TR_EXC_VALUE,
                    "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an "
                    "array is not empty.",
                    0, NULL);
        for (uint32_t k = 0; k < x.ty->ndim; k++)
            idx[k] = tr_em_i64(e, 0);
        return tr_em_truth(e, tr_em_load(e, x, idx), out);
    }
    tr_lib_truth_no(e, x, out);
    tr_em_hint(e, "use .any() or .all(); for items, & and | instead of `and` and `or`, with parentheses");
    return false;
}

bool tr_em_truth(tr_em *e, tr_tv x, tr_tv *out) {
    return tr_lib_kind(x.ty)->truth(e, x, out);
}

/* --- constants: numbers, strings, None, and what is itself --- */

tr_answer tr_lib_binary_lit(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_answer a = tr_lib_binary_number(e, op, x, y, out);
    return a == TR_OPEN ? tr_lib_binary_text(e, op, x, y, out) : a;
}

tr_answer tr_lib_compare_lit(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_answer a = tr_lib_compare_number(e, op, x, y, out);
    return a == TR_OPEN ? tr_lib_compare_text(e, op, x, y, out) : a;
}

bool tr_lib_contains_lit(tr_em *e, tr_tv x, tr_tv item, tr_tv *out) {
    return tr_lib_is_text(x) ? tr_lib_contains_text(e, x, item, out) : tr_lib_contains_no(e, x, item, out);
}

bool tr_lib_truth_lit(tr_em *e, tr_tv x, tr_tv *out) {
    const char *text;
    real r;
    bool known = true; /* functions, types, modules */
    x = as_value(e, x);
    if (x.ty->lit->kind == TR_OBJ_MODULE && x.ty->lit->u.m.own_bool)
        return tr_em_unsupported(e, "enum-own", "whether %s is true, whose class says that itself",
                                 tr_em_tyname(e, x.ty));
    if (x.ty->lit->kind == TR_OBJ_MODULE)
        known = !x.ty->lit->u.m.is_false;
    else if (real_of(x, &r))
        known = r.f != 0;
    else if (tr_tv_lit_str(x, &text))
        known = *text != 0;
    else if (tr_tv_is_none(x))
        known = false;
    else if (tr_lib_scalar(e, x.ty))
        return tr_lib_truth_number(e, x, out);
    *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, known));
    return true;
}

bool tr_lib_truth_none(tr_em *e, tr_tv x, tr_tv *out) {
    (void)x;
    *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, false));
    return true;
}
