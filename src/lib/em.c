/* The emission calls every template is made of: constants, conversions, typed operations, checks, errors.
 * Invariants: in a dry run no IR is made and v is TR_NOVAL; IR values always have strong types. */
#include "lib/em.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ir/nyi.h"
#include "lib/kinds.h"
#include "lib/priv.h"

/* --- errors --- */

static bool error_v(tr_em *e, tr_errkind kind, const char *nyi, const char *fmt, va_list ap) {
    assert(fmt && (!nyi || tr_nyi_find(nyi)) && "what is refused has a row in nyi.def");
    if (e->dry)
        return false;
    tr_err *err = tr_err_add(e->ctx, kind, e->place, "%s", tr_arena_vprintf(&e->ctx->arena, fmt, ap));
    err->op_span = e->op_span;
    err->nyi = nyi;
    return false;
}

bool tr_em_error(tr_em *e, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    error_v(e, TR_ERR_TYPING, NULL, fmt, ap);
    va_end(ap);
    return false;
}

bool tr_em_fail(tr_em *e, tr_errkind kind, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    error_v(e, kind, NULL, fmt, ap);
    va_end(ap);
    return false;
}

bool tr_em_unsupported(tr_em *e, const char *nyi, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *text = tr_arena_printf(&e->ctx->arena, "Treadle does not compile %s", fmt);
    error_v(e, TR_ERR_UNSUPPORTED, nyi, text, ap);
    va_end(ap);
    const tr_nyi *row = tr_nyi_find(nyi);
    if (row)
        tr_em_hint(e, "%s", row->text);
    return false;
}

void tr_em_hint(tr_em *e, const char *fmt, ...) {
    if (e->dry || !e->ctx->last_err)
        return;
    va_list ap;
    va_start(ap, fmt);
    e->ctx->last_err->hint = tr_arena_vprintf(&e->ctx->arena, fmt, ap);
    va_end(ap);
}

const char *tr_em_tyname(tr_em *e, const tr_ty *t) {
    if (t->kind == TR_TY_LIT) {
        const tr_ty *s = tr_lib_scalar(e, t);
        int64_t v;
        bool long_int = t->lit->kind == TR_OBJ_INT && !tr_tv_lit_int((tr_tv){t, TR_NOVAL}, &v);
        if (s && !long_int) /* which no type names, and uint64 would be read as NumPy's */
            return tr_ty_user(&e->ctx->arena, tr_ty_strong(e->types, s));
        if (t->lit->kind == TR_OBJ_STR)
            return "str";
        if (t->lit->kind == TR_OBJ_NONE)
            return "None";
        if (t->lit->kind == TR_OBJ_TYPE) /* its bare name would read as a number's type */
            return tr_arena_printf(&e->ctx->arena, "dtype %s", t->lit->repr);
        return t->lit->repr;
    }
    return tr_ty_user(&e->ctx->arena, t->weak ? tr_ty_strong(e->types, t) : t);
}

static const char *exact_name(tr_em *e, const tr_ty *t) {
    if (t->kind == TR_TY_LIT)
        return t->lit->repr;
    return t->kind == TR_TY_TEXT ? "an f-string" : tr_em_tyname(e, t);
}

void tr_em_tynames(tr_em *e, const tr_ty *a, const tr_ty *b, const char *out[2]) {
    out[0] = tr_em_tyname(e, a);
    out[1] = tr_em_tyname(e, b);
    if (strcmp(out[0], out[1]) != 0)
        return;
    out[0] = exact_name(e, a);
    out[1] = strcmp(out[0], exact_name(e, b)) == 0 ? "another one" : exact_name(e, b);
}

/* --- scalars seen through literals --- */

const tr_ty *tr_lib_scalar(tr_em *e, const tr_ty *t) {
    if (!t)
        return NULL;
    if (tr_ty_is_scalar(t))
        return t;
    if (t->kind != TR_TY_LIT)
        return NULL;
    return tr_obj_number(e->types, t->lit);
}

/* --- constants --- */

static tr_tv mk(const tr_ty *ty, tr_val v) {
    return (tr_tv){ty, v};
}

tr_tv tr_em_i64(tr_em *e, int64_t v) {
    const tr_ty *t = tr_ty_scalar(e->types, TR_TY_I64);
    return mk(t, e->dry ? TR_NOVAL : tr_const_int(e->b.fn, t, v));
}

tr_tv tr_em_bool(tr_em *e, bool v) {
    const tr_ty *t = tr_ty_scalar(e->types, TR_TY_BOOL);
    return mk(t, e->dry ? TR_NOVAL : tr_const_int(e->b.fn, t, v));
}

tr_tv tr_em_f64(tr_em *e, double v) {
    return tr_em_num(e, tr_ty_scalar(e->types, TR_TY_F64), v);
}

tr_tv tr_em_num(tr_em *e, const tr_ty *t, double v) {
    t = tr_ty_strong(e->types, t);
    if (e->dry)
        return mk(t, TR_NOVAL);
    if (tr_ty_is_float(t))
        return mk(t, tr_const_float(e->b.fn, t, v));
    if (tr_ty_is_complex(t))
        return mk(t, tr_const_complex(e->b.fn, t, v, 0.0));
    return mk(t, tr_const_int(e->b.fn, t, (int64_t)v));
}

tr_tv tr_lib_undef(tr_em *e, const tr_ty *t) {
    return mk(t, e->dry ? TR_NOVAL : tr_const_undef(e->b.fn, t));
}

bool tr_lib_never(tr_em *e, tr_exc exc, const char *text, tr_tv *out) {
    tr_em_check(e, tr_em_strong(e, tr_em_bool(e, false)), exc, text, 0, NULL);
    e->ends = true;
    *out = tr_lib_undef(e, tr_ty_scalar(e->types, TR_TY_BOOL));
    return true;
}

tr_tv tr_em_none(tr_em *e) {
    return tr_lib_undef(e, tr_ty_none(e->types));
}

tr_tv tr_em_lit(tr_em *e, const tr_obj *o) {
    if (o->kind == TR_OBJ_NONE)
        return tr_em_none(e);
    return tr_lib_undef(e, tr_ty_lit(e->types, o));
}

/* An array of a device, where it lies. */
static tr_tv placed(tr_em *e, const tr_obj *o) {
    const tr_obj *table = o->u.p.table;
    bool any = o->ty->layout == TR_LAYOUT_ANY;
    if (e->dry)
        return mk(o->ty, TR_NOVAL);
    tr_val v[1 + 2 * TR_MAX_NDIM];
    uint32_t n = 0;
    v[n++] = tr_const_arr(e->b.fn, table->ty, table);
    for (uint32_t k = 0; k < o->ty->ndim * (any ? 2u : 1u); k++)
        v[n++] = tr_em_i64(e, k < o->ty->ndim ? o->u.p.shape[k] : o->u.p.strides[k - o->ty->ndim]).v;
    tr_val a = tr_emit_v(&e->b, TR_OP_ARRAYAT, o->ty, n, v);
    if (o->u.p.name)
        tr_val_name(e->b.fn, a, o->u.p.name);
    return mk(o->ty, a);
}

tr_tv tr_em_obj(tr_em *e, const tr_obj *o) {
    switch (o->kind) {
    case TR_OBJ_PLACED:
    case TR_OBJ_ARRAY: {
        tr_tv a = o->kind == TR_OBJ_PLACED ? placed(e, o)
                                           : mk(o->ty, e->dry ? TR_NOVAL : tr_const_arr(e->b.fn, o->ty, o));
        if (o->date)
            return tr_em_make(e, tr_ty_dates(e->types, o->date, o->ty), 1, &a);
        if (o->chars)
            return tr_em_make(e, tr_ty_chars(e->types, o->chars == 'U', o->ty), 1, &a);
        return tr_ty_is_records(o->ty) ? tr_em_records(e, a, false) : a;
    }
    case TR_OBJ_BYTES: return tr_em_bytes(e, o);
    case TR_OBJ_DATE: {
        tr_tv n = tr_em_i64(e, o->u.i);
        return tr_em_make(e, o->ty, 1, &n);
    }
    case TR_OBJ_TUPLE: {
        tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, o->u.t.n);
        const tr_ty **ty = TR_NEW_N(&e->ctx->arena, const tr_ty *, o->u.t.n);
        for (uint32_t i = 0; i < o->u.t.n; i++) {
            it[i] = tr_em_obj(e, o->u.t.items[i]);
            ty[i] = it[i].ty;
        }
        if (!o->u.t.fields)
            return tr_em_tuple(e, o->u.t.n, it);
        return tr_em_make(
            e, tr_ty_named_tuple(e->types, o->u.t.name, o->u.t.serial, o->u.t.n, ty, o->u.t.fields), o->u.t.n,
            it);
    }
    case TR_OBJ_LIST: {
        tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, o->u.t.n + 1u);
        for (uint32_t i = 0; i < o->u.t.n; i++)
            it[i] = tr_em_obj(e, o->u.t.items[i]);
        return tr_em_display(e, o->u.t.n, it);
    }
    case TR_OBJ_DICT: return tr_em_keyed(e, tr_em_obj(e, o->u.t.items[0]), tr_em_obj(e, o->u.t.items[1]));
    case TR_OBJ_SLICE: {
        tr_tv it[3];
        for (int i = 0; i < 3; i++)
            it[i] = tr_em_obj(e, o->u.t.items[i]);
        return tr_em_make(e, tr_ty_slice(e->types, it[0].ty, it[1].ty, it[2].ty), 3, it);
    }
    case TR_OBJ_PARTIAL: {
        tr_tv it[4];
        for (int i = 0; i < 4; i++)
            it[i] = tr_em_obj(e, o->u.t.items[i]);
        return tr_em_partial(e, it[0], it[1], it[2], it[3]);
    }
    case TR_OBJ_GENERATOR: {
        tr_tv words = tr_em_obj(e, o->u.parts), part[2];
        for (int i = 0; i < 2; i++) {
            tr_tv at = tr_em_i64(e, i);
            part[i] = tr_em_load(e, words, &at);
        }
        return tr_em_make(e, o->ty, 2, part);
    }
    case TR_OBJ_CONTAINER: {
        tr_tv slot = tr_em_obj(e, o->u.parts), at = tr_em_strong(e, tr_em_i64(e, 0));
        return mk(o->ty, e->dry ? TR_NOVAL : tr_emit2(&e->b, TR_OP_TAKE, o->ty, slot.v, at.v));
    }
    case TR_OBJ_BUILTIN: {
        tr_tv v;
        if (o->u.builtin != TR_B_CU_LANEID) /* no function: a number, known when the program runs */
            return tr_em_lit(e, o);
        tr_builtins[TR_B_CU_LANEID].fn(e, NULL, &v);
        return v;
    }
    default: return tr_em_lit(e, o);
    }
}

/* The value of an integer or a bool, NumPy's too; false: it is another number. */
static bool integer_of(const tr_obj *o, tr_bigint *out) {
    if (o->kind != TR_OBJ_SCALAR)
        return tr_obj_integer(o, out);
    *out = tr_ty_class(o->ty) == 'u' ? tr_bigint_of_u64(o->u.u) : tr_bigint_of(o->u.i);
    return tr_ty_is_int(o->ty) || o->ty->kind == TR_TY_BOOL;
}

/* A literal number as a constant of scalar type `to`. */
static tr_tv lit_const(tr_em *e, const tr_obj *o, const tr_ty *to) {
    assert(tr_ty_is_scalar(to) && !to->weak && "a constant is of a number's own type");
    if (e->dry)
        return mk(to, TR_NOVAL);
    double re = 0, im = 0;
    tr_bigint n;
    bool whole = integer_of(o, &n);
    if (whole) {
        re = tr_bigint_f64(&n);
    } else if (o->kind == TR_OBJ_FLOAT || (o->kind == TR_OBJ_SCALAR && tr_ty_is_float(o->ty))) {
        re = o->u.f;
    } else {
        re = o->u.c[0];
        im = o->u.c[1];
    }
    tr_fn *f = e->b.fn;
    if (tr_ty_is_float(to))
        return mk(to, tr_const_float(f, to, re));
    if (tr_ty_is_complex(to))
        return mk(to, tr_const_complex(f, to, re, im));
    if (to->kind == TR_TY_BOOL)
        return mk(to, tr_const_int(f, to, re != 0 || im != 0));
    if (whole)
        return mk(to, tr_const_int(f, to, (int64_t)tr_bigint_wrapped(&n)));
    return mk(to, tr_const_int(f, to, tr_ty_truncate(to, re)));
}

/* A tuple whose items are strong, and so are the parts of slices among these; an f-string is a string. */
static tr_tv strong_items(tr_em *e, tr_tv x) {
    const tr_ty *to = tr_ty_strong(e->types, x.ty);
    if (to == x.ty)
        return x;
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, x.ty->n);
    for (uint32_t i = 0; i < x.ty->n; i++) {
        it[i] = tr_em_item(e, x, i);
        if (it[i].ty->kind == TR_TY_TEXT && !tr_em_string(e, it[i], &it[i]))
            it[i] = tr_lib_undef(e, to->items[i]); /* why has been told */
        it[i] = it[i].ty->kind == TR_TY_SLICE ? strong_items(e, it[i]) : tr_em_strong(e, it[i]);
        if (it[i].ty != to->items[i]) /* a text, str(x), is the string */
            tr_em_coerce(e, it[i], to->items[i], &it[i]);
        assert(it[i].ty == to->items[i] && "an item is what the tuple's type says");
    }
    return tr_em_make(e, to, x.ty->n, it);
}

tr_tv tr_em_strong(tr_em *e, tr_tv x) {
    const tr_ty *s = tr_lib_scalar(e, x.ty);
    if (!s)
        return x.ty->kind == TR_TY_TUPLE ? strong_items(e, x) : x;
    if (x.ty->kind == TR_TY_LIT)
        return lit_const(e, x.ty->lit, tr_ty_strong(e->types, s));
    return mk(tr_ty_strong(e->types, x.ty), x.v);
}

tr_tv tr_em_conv(tr_em *e, tr_tv x, const tr_ty *to) {
    assert(tr_em_is_whole(e, x) && "what is converted is a value");
    assert(tr_ty_is_scalar(to) && "numbers become numbers: other kinds are coerced");
    to = tr_ty_strong(e->types, to);
    if (x.ty->kind == TR_TY_LIT)
        return lit_const(e, x.ty->lit, to);
    x = tr_em_strong(e, x);
    if (x.ty == to)
        return x;
    assert(tr_ty_is_scalar(x.ty) && "only numbers are converted");
    if (tr_ty_is_complex(x.ty) && !tr_ty_is_complex(to) && to->kind != TR_TY_BOOL)
        x = tr_em_re(e, x);
    if (x.ty == to)
        return x;
    return mk(to, e->dry ? TR_NOVAL : tr_emit1(&e->b, TR_OP_CONV, to, x.v));
}

tr_tv tr_em_same_bits(tr_em *e, tr_tv x, const tr_ty *to) {
    assert(tr_ty_size(to) == tr_ty_size(x.ty) && "both have as many bits");
    return x.ty == to ? x : mk(to, e->dry ? TR_NOVAL : tr_emit1(&e->b, TR_OP_BITCAST, to, x.v));
}

/* Records count by their fields, whatever the class of their values. */
static bool are_same_items(const tr_ty *a, const tr_ty *b) {
    return a == b || (a->kind == TR_TY_STRUCT && b->kind == TR_TY_STRUCT && tr_ty_same_fields(a, b));
}

/* Array of another layout or writability, or one that may lie anywhere: the same memory
 * under a wider type. */
bool tr_lib_coerce_array(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out) {
    assert(to->kind == TR_TY_ARRAY && "the cell is of the kind that is coerced to");
    if (x.ty->kind != TR_TY_ARRAY || !are_same_items(x.ty->elem, to->elem) || x.ty->ndim != to->ndim ||
        (x.ty->sub != to->sub && !(x.ty->sub == 0 && to->sub == TR_ARRAY_LOOSE)))
        return false;
    if (x.ty->readonly && !to->readonly)
        return false;
    if (x.ty->layout != to->layout && to->layout != TR_LAYOUT_ANY)
        return false;
    tr_axes all = {0};
    for (uint32_t i = 0; i < to->ndim; i++)
        tr_axes_own(e, &all, x, i);
    *out = tr_em_view(e, to, x, &all);
    assert(out->ty == to && "a view of an array's own axes is of the type that is asked for");
    return true;
}

static bool has_keys_of(const tr_ty *keyed, const tr_ty *record) {
    const tr_ty *names = keyed->items[0];
    bool same = names->n == record->n;
    for (uint32_t k = 0; same && k < record->n; k++)
        same = strcmp(names->items[k]->lit->u.s.d, record->fields[k]) == 0;
    return same;
}

bool tr_lib_coerce_items(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out) {
    if (x.ty->kind == TR_TY_KEYED && tr_ty_is_dict_record(to) && has_keys_of(x.ty, to))
        x = tr_em_item(e, x, 1);
    if (x.ty->kind != to->kind || x.ty->n != to->n)
        return false;
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, to->n + 1u);
    for (uint32_t i = 0; i < to->n; i++)
        if (!tr_em_coerce(e, tr_em_item(e, x, i), to->items[i], &it[i]))
            return false;
    *out = tr_em_make(e, to, to->n, it);
    assert(out->ty == to && "what is coerced is of the type that is asked for");
    return true;
}

bool tr_lib_coerce_number(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out) {
    const tr_ty *from = tr_lib_scalar(e, x.ty);
    if (!from ||
        (tr_ty_is_complex(from) && !tr_ty_is_complex(to))) /* what is imaginary is not dropped in silence */
        return false;
    *out = tr_em_conv(e, x, to);
    return true;
}

tr_tv tr_em_value(tr_em *e, tr_tv x) {
    if (x.ty->kind != TR_TY_OPT)
        return x;
    tr_em_check(e, tr_em_item(e, x, 0), TR_EXC_TYPE, "a value is needed here, and it is None", 0, NULL);
    return tr_em_item(e, x, 1);
}

bool tr_em_coerce(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out) {
    if (x.ty == to) {
        *out = x;
        return true;
    }
    if (to->kind != TR_TY_OPT)
        x = tr_em_value(e, x);
    if (x.ty == to)
        *out = x;
    else if (!tr_lib_kind(to)->coerce(e, x, to, out))
        return false;
    assert(tr_em_is_whole(e, *out) && tr_em_same_ir(e, out->ty, to) && "a coercion gives what was asked for");
    return true;
}

/* --- compile-time knowledge --- */

static const char *const bin_sign[] = {
#define X(id, name, sign) sign,
    TR_BINOPS(X)
#undef X
};
static const char *const cmp_sign[] = {
#define X(id, name, sign, inverse, mirrored) sign,
    TR_CMPOPS(X)
#undef X
};

const char *tr_lib_sign(tr_binop op) {
    return bin_sign[op];
}

const char *tr_lib_cmp_sign(tr_cmpop op) {
    return cmp_sign[op];
}

bool tr_lib_holds(tr_cmpop op, int c) {
    switch (op) {
    case TR_CMP_LT: return c < 0;
    case TR_CMP_LE: return c <= 0;
    case TR_CMP_EQ: return c == 0;
    case TR_CMP_NE: return c != 0;
    case TR_CMP_GT: return c > 0;
    default: return c >= 0;
    }
}

bool tr_tv_lit_int(tr_tv x, int64_t *out) {
    tr_bigint v;
    return tr_tv_lit_integer(x, &v) && tr_bigint_i64(&v, out);
}

bool tr_tv_lit_integer(tr_tv x, tr_bigint *out) {
    return x.ty && x.ty->kind == TR_TY_LIT && tr_obj_integer(x.ty->lit, out);
}

bool tr_tv_lit_real(tr_tv x, double *out) {
    tr_bigint v;
    if (tr_tv_lit_integer(x, &v)) {
        *out = tr_bigint_f64(&v);
        return true;
    }
    if (!x.ty || x.ty->kind != TR_TY_LIT || x.ty->lit->kind != TR_OBJ_FLOAT)
        return false;
    *out = x.ty->lit->u.f;
    return true;
}

bool tr_tv_fits(tr_tv x, const tr_ty *t) {
    tr_bigint v;
    return !tr_tv_lit_integer(x, &v) || tr_bigint_fits(&v, t);
}

bool tr_tv_lit_str(tr_tv x, const char **out) {
    if (!x.ty || x.ty->kind != TR_TY_LIT || x.ty->lit->kind != TR_OBJ_STR)
        return false;
    *out = x.ty->lit->u.s.d;
    return true;
}

bool tr_tv_is_none(tr_tv x) {
    return x.ty && (x.ty->kind == TR_TY_NONE || (x.ty->kind == TR_TY_LIT && x.ty->lit->kind == TR_OBJ_NONE));
}

/* --- typed operations --- */

tr_tv tr_lib_emit(tr_em *e, tr_op op, const tr_ty *ty, uint32_t n, const tr_val *v) {
    assert(op < TR_OP__COUNT && (tr_op_info[op].stages & S_T) && "templates make typed operations");
    assert((tr_op_info[op].nargs < 0 || (uint32_t)tr_op_info[op].nargs == n) &&
           "operands as op.def has them");
    assert((tr_op_info[op].result == '-' || ty) && "an operation with a result has a type");
    return mk(ty, e->dry ? TR_NOVAL : tr_emit_v(&e->b, op, ty, n, v));
}

tr_tv tr_em_op1(tr_em *e, tr_op op, tr_tv x) {
    x = tr_em_strong(e, x);
    assert(tr_em_is_whole(e, x) && tr_ty_is_scalar(x.ty) && "arithmetic is of numbers");
    return tr_lib_emit(e, op, x.ty, 1, &x.v);
}

tr_tv tr_em_op2(tr_em *e, tr_op op, tr_tv x, tr_tv y) {
    x = tr_em_strong(e, x);
    y = tr_em_strong(e, y);
    assert(tr_em_is_whole(e, x) && tr_em_is_whole(e, y) && "both operands are values");
    assert(tr_ty_is_scalar(x.ty) && "arithmetic is of numbers");
    assert(x.ty == y.ty && "operands of one operation have one type");
    return tr_lib_emit(e, op, x.ty, 2, (tr_val[]){x.v, y.v});
}

tr_tv tr_em_nsw(tr_em *e, tr_op op, tr_tv x, tr_tv y) {
    assert((op == TR_OP_ADD || op == TR_OP_SUB || op == TR_OP_MUL) && "only these can be known to fit");
    tr_tv r = tr_em_op2(e, op, x, y);
    if (!e->dry)
        tr_at(e->b.fn, r.v)->flags |= F_NSW;
    return r;
}

tr_tv tr_em_cmp(tr_em *e, tr_cmpop pred, tr_tv x, tr_tv y) {
    x = tr_em_strong(e, x);
    y = tr_em_strong(e, y);
    assert(tr_em_is_whole(e, x) && tr_em_is_whole(e, y) && "both operands are values");
    assert(tr_ty_is_scalar(x.ty) && x.ty == y.ty && "what is compared is of one type of numbers");
    assert((!tr_ty_is_complex(x.ty) || pred == TR_CMP_EQ || pred == TR_CMP_NE) &&
           "complex numbers have no order");
    tr_tv r = tr_lib_emit(e, TR_OP_CMP, tr_ty_scalar(e->types, TR_TY_BOOL), 2, (tr_val[]){x.v, y.v});
    if (!e->dry)
        tr_at(e->b.fn, r.v)->sub = (uint8_t)pred;
    return r;
}

tr_tv tr_em_select(tr_em *e, tr_tv c, tr_tv a, tr_tv b) {
    a = tr_em_strong(e, a);
    b = tr_em_strong(e, b);
    c = tr_em_strong(e, c);
    assert(tr_em_is_whole(e, a) && tr_em_is_whole(e, b) && tr_em_is_whole(e, c) && "all three are values");
    assert(c.ty->kind == TR_TY_BOOL && "a bool selects");
    assert(a.ty == b.ty && "both arms have one type");
    return tr_lib_emit(e, TR_OP_SELECT, a.ty, 3, (tr_val[]){c.v, a.v, b.v});
}

bool tr_lib_unhalve(tr_em *e, uint32_t n, const tr_tv *x, tr_tv *out) {
    bool any = false, all = true;
    for (uint32_t i = 0; i < n; i++) {
        const tr_ty *s = tr_lib_scalar(e, x[i].ty);
        bool half = s && s->kind == TR_TY_F16;
        any = any || half;
        all = all && s &&
              (s->weak ? !tr_ty_is_complex(s) : tr_ty_promote((tr_tyk)s->kind, TR_TY_F16) == TR_TY_F16);
    }
    for (uint32_t i = 0; i < n; i++) {
        const tr_ty *s = tr_lib_scalar(e, x[i].ty);
        int64_t k;
        bool exact =
            tr_tv_lit_int(x[i], &k) && k >= -2048 && k <= 2048; /* stays what it is: an exponent, say */
        out[i] = x[i];
        if (any && all && !exact) /* numbers beside it are first rounded to it, as by NumPy */
            out[i] = tr_em_conv(e, x[i], tr_ty_scalar(e->types, TR_TY_F16));
        if (s && ((any && all && !exact) || s->kind == TR_TY_F16))
            out[i] = tr_em_conv(e, out[i], tr_ty_scalar(e->types, TR_TY_F32));
    }
    return any && all;
}

tr_tv tr_lib_halved(tr_em *e, tr_tv x) {
    return x.ty && x.ty->kind == TR_TY_F32 ? tr_em_conv(e, x, tr_ty_scalar(e->types, TR_TY_F16)) : x;
}

tr_tv tr_em_math(tr_em *e, tr_mathfn fn, uint32_t n, const tr_tv *x) {
    tr_val v[4] = {TR_NOVAL, TR_NOVAL, TR_NOVAL, TR_NOVAL};
    const tr_ty *t = tr_ty_strong(e->types, tr_lib_scalar(e, x[0].ty));
    assert(n == tr_math_info[fn].arity && "operands as math.def has them");
    assert(tr_ty_is_float(t) && "functions of math.def are of floats");
    for (uint32_t i = 0; i < n && i < 4; i++)
        v[i] = tr_em_strong(e, x[i]).v;
    const tr_ty *r = tr_math_info[fn].result == 'b' ? tr_ty_scalar(e->types, TR_TY_BOOL) : t;
    tr_tv out = tr_lib_emit(e, TR_OP_MATH, r, n, v);
    if (!e->dry)
        tr_at(e->b.fn, out.v)->sub = (uint8_t)fn;
    return out;
}

const tr_ty *tr_lib_complex_of(tr_em *e, const tr_ty *f) {
    assert(tr_ty_is_float(f) && "parts of complex numbers are floats");
    return tr_ty_scalar(e->types, f->kind == TR_TY_F64 ? TR_TY_C128 : TR_TY_C64);
}

const tr_ty *tr_lib_real_of(tr_em *e, const tr_ty *c) {
    assert(tr_ty_is_complex(c) && "only complex numbers have parts");
    return tr_ty_scalar(e->types, c->kind == TR_TY_C64 ? TR_TY_F32 : TR_TY_F64);
}

tr_tv tr_em_cplx(tr_em *e, tr_tv re, tr_tv im) {
    re = tr_em_strong(e, re);
    im = tr_em_strong(e, im);
    assert(re.ty == im.ty && re.ty->kind != TR_TY_F16 &&
           "both parts are of one type, which has a complex one");
    return tr_lib_emit(e, TR_OP_CPLX, tr_lib_complex_of(e, re.ty), 2, (tr_val[]){re.v, im.v});
}

tr_tv tr_em_re(tr_em *e, tr_tv x) {
    x = tr_em_strong(e, x);
    if (!tr_ty_is_complex(x.ty))
        return x;
    return tr_lib_emit(e, TR_OP_RE, tr_lib_real_of(e, x.ty), 1, &x.v);
}

tr_tv tr_em_im(tr_em *e, tr_tv x) {
    x = tr_em_strong(e, x);
    if (!tr_ty_is_complex(x.ty))
        return tr_em_num(e, x.ty, 0.0);
    return tr_lib_emit(e, TR_OP_IM, tr_lib_real_of(e, x.ty), 1, &x.v);
}

tr_tv tr_em_display(tr_em *e, uint32_t n, const tr_tv *items) {
    tr_tv x = tr_em_tuple(e, n, items);
    x.ty = tr_ty_list(e->types, x.ty->n, x.ty->items);
    if (!e->dry)
        tr_at(e->b.fn, x.v)->ty = x.ty;
    return x;
}

tr_tv tr_em_keyed(tr_em *e, tr_tv names, tr_tv values) {
    assert(names.ty->kind == TR_TY_TUPLE && values.ty->kind == TR_TY_TUPLE && names.ty->n == values.ty->n &&
           "each name has a value");
    const tr_ty *t[2] = {names.ty, values.ty};
    return tr_em_make(e, tr_ty_of(e->types, TR_TY_KEYED, 0, 2, t), 2, (tr_tv[]){names, values});
}

tr_tv tr_em_row(tr_em *e, uint32_t row) {
    tr_obj *o = TR_NEW(&e->ctx->arena, tr_obj);
    *o = (tr_obj){.kind = TR_OBJ_BUILTIN, .repr = tr_builtins[row].path, .u.builtin = row};
    return tr_em_lit(e, o);
}

tr_tv tr_em_partial(tr_em *e, tr_tv callee, tr_tv args, tr_tv names, tr_tv values) {
    tr_tv it[3] = {callee, args, tr_em_keyed(e, names, values)};
    const tr_ty *t[3] = {it[0].ty, it[1].ty, it[2].ty};
    return tr_em_make(e, tr_ty_of(e->types, TR_TY_PARTIAL, 0, 3, t), 3, it);
}

tr_tv tr_em_make(tr_em *e, const tr_ty *ty, uint32_t n, const tr_tv *items) {
    assert(tr_ty_is_items(ty) && n == ty->n && "a value has as many items as its type");
    for (uint32_t i = 0; i < n; i++)
        assert(tr_em_is_whole(e, items[i]) && tr_em_same_ir(e, items[i].ty, ty->items[i]) &&
               "items are of the types that the whole says");
    if (e->dry)
        return mk(ty, TR_NOVAL);
    tr_val *v = TR_NEW_N(&e->ctx->arena, tr_val, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        v[i] = items[i].v;
    return mk(ty, tr_emit_v(&e->b, TR_OP_TUPLE, ty, n, v));
}

/* Items of literal or weak type keep them in the type; their IR value is an undef of the literal type or the
 * strong value. */
tr_tv tr_em_tuple(tr_em *e, uint32_t n, const tr_tv *x) {
    const tr_ty **t = TR_NEW_N(&e->ctx->arena, const tr_ty *, n + 1u);
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
    for (uint32_t i = 0; i < n; i++) {
        it[i] = x[i];
        if (x[i].ty->weak && !e->weak_items)
            it[i] = tr_em_strong(e, x[i]);
        t[i] = it[i].ty;
    }
    return tr_em_make(e, tr_ty_tuple(e->types, n, t), n, it);
}

tr_tv tr_em_item(tr_em *e, tr_tv agg, uint32_t i) {
    assert(tr_em_is_whole(e, agg) && i < agg.ty->n && "what is taken is there");
    const tr_ty *t = agg.ty->items[i];
    if (t->kind == TR_TY_LIT || t->kind == TR_TY_NONE)
        return tr_lib_undef(e, t);
    if (e->dry)
        return mk(t, TR_NOVAL);
    const tr_ins *d = tr_at(e->b.fn, agg.v);
    if (d->op == TR_OP_TUPLE && !t->weak && tr_at(e->b.fn, d->args[i])->ty == t)
        return mk(t, d->args[i]);
    tr_val v = tr_emit1(&e->b, TR_OP_EXTRACT, t->weak ? tr_ty_strong(e->types, t) : t, agg.v);
    tr_at(e->b.fn, v)->imm.i = (int64_t)i;
    return mk(t, v);
}

tr_tv tr_em_callrt(tr_em *e, tr_rt row, const tr_ty *ret, const char *text, uint32_t n, const tr_tv *x) {
    assert(row < TR_RT__COUNT && n <= 2 + TR_LOOP_OPERANDS && "a row of rt.def, with its operands");
    assert(tr_em_are_whole(e, n, x) && "what the run-time library is given are values");
    tr_val v[2 + TR_LOOP_OPERANDS] = {0};
    for (uint32_t i = 0; i < n && i < 2 + TR_LOOP_OPERANDS; i++)
        v[i] = tr_em_strong(e, x[i]).v;
    tr_tv out = tr_lib_emit(e, TR_OP_CALLRT, ret ? ret : tr_ty_none(e->types), n, v);
    if (!e->dry) {
        tr_rtcall *rt = TR_NEW(&e->ctx->arena, tr_rtcall);
        rt->row = (uint16_t)row;
        rt->text = text;
        tr_at(e->b.fn, out.v)->imm.rt = rt;
    }
    return out;
}

/* --- arrays, an instruction each --- */

static tr_tv axis_op(tr_em *e, tr_op op, tr_tv a, uint32_t axis) {
    assert(tr_em_is_array(e, a) && axis < a.ty->ndim && "an axis of an array");
    tr_tv r = tr_lib_emit(e, op, tr_ty_scalar(e->types, TR_TY_I64), 1, &a.v);
    if (!e->dry)
        tr_at(e->b.fn, r.v)->imm.i = (int64_t)axis;
    return r;
}

tr_tv tr_em_dim(tr_em *e, tr_tv a, uint32_t axis) {
    return axis_op(e, TR_OP_DIM, a, axis);
}
tr_tv tr_em_stride(tr_em *e, tr_tv a, uint32_t axis) {
    return axis_op(e, TR_OP_STRIDE, a, axis);
}

void tr_axes_part(tr_axes *x, uint32_t axis, tr_tv start, tr_tv size, tr_tv step) {
    assert(axis < TR_MAX_NDIM && x->n <= TR_MAX_NDIM && "there is room for the axis");
    x->start[axis] = start;
    x->ax[x->n++] = (tr_axis){(int)axis, size, step};
}

void tr_axes_own(tr_em *e, tr_axes *x, tr_tv a, uint32_t axis) {
    tr_axes_part(x, axis, tr_em_i64(e, 0), tr_em_dim(e, a, axis), tr_em_i64(e, 1));
}

void tr_axes_new(tr_em *e, tr_axes *x, tr_tv size) {
    assert(x->n <= TR_MAX_NDIM && "there is room for the axis");
    x->ax[x->n++] = (tr_axis){-1, size, tr_em_i64(e, 0)};
}

/* The type that a view of loose items has: they stay where they are, and of packed ones
 * strides go on counting bytes. */
static const tr_ty *view_type(tr_em *e, const tr_ty *ty, tr_tv a) {
    if (!tr_ty_is_loose(a.ty) || tr_ty_is_loose(ty))
        return ty;
    return tr_ty_array_as(e->types, ty->elem, ty->ndim, (tr_layout)ty->layout, ty->readonly, a.ty->sub);
}

tr_tv tr_em_restride(tr_em *e, const tr_ty *ty, tr_tv a, tr_tv offset, const tr_tv *shape,
                     const tr_tv *strides) {
    if (ty->elem == a.ty->elem || !tr_ty_is_packed(a.ty))
        ty = view_type(e, ty, a);
    assert(tr_em_is_array(e, a) && ty->kind == TR_TY_ARRAY && "memory of an array is seen as an array");
    assert(tr_em_are_i64(e, 1, &offset) && tr_em_are_i64(e, ty->ndim, shape) && "sizes are int64");
    assert((ty->layout != TR_LAYOUT_ANY || tr_em_are_i64(e, ty->ndim, strides)) &&
           "strides where no layout says them");
    if (e->dry)
        return (tr_tv){ty, TR_NOVAL};
    tr_val v[2 * TR_MAX_NDIM + 2];
    uint32_t n = 0;
    v[n++] = a.v;
    v[n++] = tr_em_strong(e, offset).v;
    for (uint32_t i = 0; i < ty->ndim; i++)
        v[n++] = tr_em_strong(e, shape[i]).v;
    if (ty->layout == TR_LAYOUT_ANY)
        for (uint32_t i = 0; i < ty->ndim; i++)
            v[n++] = tr_em_strong(e, strides[i]).v;
    return (tr_tv){ty, tr_emit_v(&e->b, TR_OP_RESTRIDE, ty, n, v)};
}

tr_tv tr_em_field(tr_em *e, tr_tv a, uint32_t k) {
    assert(tr_em_is_array(e, a) && tr_ty_is_records(a.ty) && k <= a.ty->elem->n && "a field of records");
    const tr_ty *s = a.ty->elem, *ty = tr_ty_field_array(e->types, a.ty, k);
    if (e->dry)
        return (tr_tv){ty, TR_NOVAL};
    tr_val v[1 + TR_MAX_NDIM] = {a.v};
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        v[1 + i] = tr_em_dim(e, a, i).v;
    for (uint32_t i = a.ty->ndim; i < ty->ndim; i++)
        v[1 + i] = tr_em_i64(e, k < s->n ? tr_ty_field(s, k).shape[i - a.ty->ndim] : tr_ty_size(s)).v;
    tr_val f = tr_emit_v(&e->b, TR_OP_FIELD, ty, 1u + ty->ndim, v);
    tr_at(e->b.fn, f)->imm.i = (int64_t)k;
    return (tr_tv){ty, f};
}

tr_tv tr_em_records(tr_em *e, tr_tv a, bool one) {
    assert(tr_em_is_array(e, a) && tr_ty_is_records(a.ty) && "records are an array of them");
    return tr_em_make(e, tr_ty_records(e->types, a.ty, one), 1, &a);
}

/* More axes than a VIEW takes. */
static tr_tv view_by_strides(tr_em *e, const tr_ty *ty, tr_tv a, const tr_axes *x) {
    tr_tv off = tr_em_i64(e, 0), shape[TR_MAX_NDIM], strides[TR_MAX_NDIM];
    for (uint32_t k = 0; k < a.ty->ndim; k++)
        if (x->start[k].ty)
            off = tr_em_nsw(e, TR_OP_ADD, off, tr_em_nsw(e, TR_OP_MUL, x->start[k], tr_em_stride(e, a, k)));
    for (uint32_t k = 0; k < x->n; k++) {
        shape[k] = x->ax[k].size;
        strides[k] = x->ax[k].of < 0
                         ? x->ax[k].step
                         : tr_em_op2(e, TR_OP_MUL, tr_em_stride(e, a, (uint32_t)x->ax[k].of), x->ax[k].step);
    }
    return tr_em_restride(e, ty, a, off, shape, strides);
}

tr_tv tr_em_view(tr_em *e, const tr_ty *ty, tr_tv a, const tr_axes *x) {
    tr_val v[1 + TR_VIEW_BASE_AXES + 2 * TR_VIEW_AXES];
    int64_t along = 0;
    uint32_t n = 0;
    assert(tr_em_is_array(e, a) && ty->kind == TR_TY_ARRAY && "memory of an array is seen as an array");
    assert(x->n == ty->ndim && "an axis of the result each");
    assert(are_same_items(a.ty->elem, ty->elem) && "a view has the items of its base");
    for (uint32_t k = 0; k < x->n; k++)
        assert(x->ax[k].of < (int)a.ty->ndim && tr_em_are_i64(e, 1, &x->ax[k].size) &&
               tr_em_are_i64(e, 1, &x->ax[k].step) && "an axis of the base or a new one, a size and a step");
    ty = view_type(e, ty, a);
    if (e->dry)
        return (tr_tv){ty, TR_NOVAL};
    if (x->n > TR_VIEW_AXES || a.ty->ndim > TR_VIEW_BASE_AXES)
        return view_by_strides(e, ty, a, x);
    v[n++] = a.v;
    for (uint32_t k = 0; k < a.ty->ndim; k++)
        v[n++] = (x->start[k].ty ? tr_em_strong(e, x->start[k]) : tr_em_i64(e, 0)).v;
    for (uint32_t k = 0; k < x->n; k++)
        v[n++] = tr_em_strong(e, x->ax[k].size).v;
    for (uint32_t k = 0; k < x->n; k++) {
        v[n++] = tr_em_strong(e, x->ax[k].step).v;
        along |= tr_view_along(k, x->ax[k].of);
    }
    tr_val view = tr_emit_v(&e->b, TR_OP_VIEW, ty, n, v);
    tr_at(e->b.fn, view)->imm.i = along;
    return (tr_tv){ty, view};
}

tr_tv tr_em_size(tr_em *e, tr_tv a) {
    assert(tr_em_is_array(e, a) && "arrays have a size");
    if (a.ty->ndim == 0)
        return tr_em_i64(e, 1);
    tr_tv n = tr_em_dim(e, a, 0);
    for (uint32_t i = 1; i < a.ty->ndim; i++)
        n = tr_em_nsw(e, TR_OP_MUL, n, tr_em_dim(e, a, i));
    return n;
}

tr_tv tr_em_load(tr_em *e, tr_tv a, const tr_tv *idx) {
    assert(tr_em_is_array(e, a) && "arrays are loaded from");
    assert(tr_em_are_i64(e, a.ty->ndim, idx) && "an index for each axis");
    tr_val v[TR_MAX_NDIM + 1];
    if (a.ty->elem->kind == TR_TY_STRUCT) { /* a view of the item */
        tr_axes x = {0};
        for (uint32_t i = 0; i < a.ty->ndim; i++)
            x.start[i] = idx[i];
        const tr_ty *ty = tr_ty_array_as(e->types, a.ty->elem, 0, TR_LAYOUT_C, a.ty->readonly, a.ty->sub);
        return tr_em_records(e, a.ty->ndim ? tr_em_view(e, ty, a, &x) : a, true);
    }
    v[0] = a.v;
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        v[i + 1] = idx[i].v;
    return tr_lib_emit(e, TR_OP_LOAD, a.ty->elem, a.ty->ndim + 1u, v);
}

void tr_em_store(tr_em *e, tr_tv a, const tr_tv *idx, tr_tv x) {
    assert(tr_em_is_array(e, a) && !a.ty->readonly && "arrays are stored to, unless they are read-only");
    assert(tr_em_are_i64(e, a.ty->ndim, idx) && "an index for each axis");
    assert(a.ty->elem->kind != TR_TY_STRUCT && "records are stored field by field");
    if (e->dry)
        return;
    tr_val v[TR_MAX_NDIM + 2];
    v[0] = a.v;
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        v[i + 1] = idx[i].v;
    v[a.ty->ndim + 1] = tr_em_conv(e, x, a.ty->elem).v;
    tr_emit_v(&e->b, TR_OP_STORE, NULL, a.ty->ndim + 2u, v);
}

tr_tv tr_em_alloc(tr_em *e, const tr_ty *elem, uint32_t ndim, tr_layout layout, const tr_tv *shape) {
    assert(layout != TR_LAYOUT_ANY && "a new array lies in one of two orders");
    assert(tr_em_are_whole(e, ndim, shape) && "a size for each axis");
    const tr_ty *ty = tr_ty_array(e->types, elem, ndim, layout, false);
    if (e->dry)
        return (tr_tv){ty, TR_NOVAL};
    tr_val v[TR_MAX_NDIM + 1] = {0};
    for (uint32_t i = 0; i < ndim; i++)
        v[i] = tr_em_conv(e, shape[i], tr_ty_scalar(e->types, TR_TY_I64)).v;
    tr_val r = tr_emit_v(&e->b, TR_OP_ALLOC, ty, ndim, v);
    tr_at(e->b.fn, r)->imm.site = tr_lib_site(e, TR_EXC_MEMORY, "cannot allocate an array of {0} bytes");
    return (tr_tv){ty, r};
}

/* --- checks --- */

const tr_site *tr_lib_site(tr_em *e, tr_exc exc, const char *text) {
    tr_site *s = TR_NEW(&e->ctx->arena, tr_site);
    s->exc = exc;
    s->text = text;
    s->nargs = -1;
    return s;
}

void tr_em_check(tr_em *e, tr_tv cond, tr_exc exc, const char *text, uint32_t n, const tr_tv *payload) {
    assert(tr_em_is_whole(e, cond) && tr_em_same_ir(e, cond.ty, tr_ty_scalar(e->types, TR_TY_BOOL)) &&
           "a bool is checked");
    assert(n <= TR_SHAPES_SHOWN && tr_em_are_whole(e, n, payload) && "what a message shows is there");
    if (e->dry)
        return;
    tr_val v[TR_SHAPES_SHOWN + 1];
    v[0] = tr_em_strong(e, cond).v;
    for (uint32_t i = 0; i < n; i++)
        v[i + 1] = tr_em_strong(e, payload[i]).v;
    tr_val c = tr_emit_v(&e->b, TR_OP_CHECK, NULL, n + 1, v);
    tr_at(e->b.fn, c)->imm.site = tr_lib_site(e, exc, text);
}

void tr_em_check_args(tr_em *e, tr_tv cond, tr_exc exc, uint32_t n, const tr_tv *args) {
    tr_val v[TR_FRAME_PAYLOAD + 1];
    uint32_t nv = 0;
    assert(tr_em_are_whole(e, n, args) && "what an exception is given is there");
    if (e->dry)
        return;
    tr_site *s = TR_NEW(&e->ctx->arena, tr_site);
    const tr_obj **of = TR_NEW_N(&e->ctx->arena, const tr_obj *, n);
    v[nv++] = tr_em_strong(e, cond).v;
    for (uint32_t i = 0; i < n; i++) {
        of[i] = args[i].ty->kind == TR_TY_LIT ? args[i].ty->lit : NULL;
        if (!of[i])
            v[nv++] = args[i].v;
        assert(nv <= TR_FRAME_PAYLOAD && "a frame has room for it");
    }
    *s = (tr_site){.exc = exc, .nargs = (int32_t)n, .args = of};
    tr_at(e->b.fn, tr_emit_v(&e->b, TR_OP_CHECK, NULL, nv, v))->imm.site = s;
}

/* The payload's place of a size, which it gets unless it is there; TR_SHAPES_SHOWN: there is no room. */
static uint32_t shown_at(tr_em *e, tr_shapes *s, tr_tv x) {
    x = tr_em_strong(e, x);
    for (uint32_t k = 0; k < s->n; k++)
        if (tr_em_strong(e, s->x[k]).v == x.v)
            return k;
    if (s->n < TR_SHAPES_SHOWN)
        s->x[s->n++] = x;
    else
        return TR_SHAPES_SHOWN;
    return s->n - 1;
}

/* As Python writes a tuple, but for blanks, as NumPy does. */
static bool put_shape(tr_em *e, tr_shapes *s, tr_sb *b, uint32_t n, const tr_tv *x) {
    tr_sb_putc(b, '(');
    for (uint32_t k = 0; k < n; k++) {
        uint32_t at = shown_at(e, s, x[k]);
        if (at == TR_SHAPES_SHOWN)
            return false;
        tr_sb_printf(b, "%s{%u}", k ? "," : "", at);
    }
    tr_sb_puts(b, n == 1 ? ",)" : ")");
    return true;
}

void tr_em_shapes(tr_em *e, tr_shapes *s, const char *lead, uint32_t n, const tr_tv *x, const char *between,
                  uint32_t m, const tr_tv *y) {
    uint32_t had = s->n;
    assert(had <= TR_SHAPES_SHOWN && (!between || had >= 2) &&
           "what differs is the beginning of the payload");
    tr_arena *a = &e->ctx->arena;
    s->text = "";
    if (e->dry)
        return;
    tr_sb b;
    tr_sb_init(&b);
    tr_sb_puts(&b, lead);
    bool all = put_shape(e, s, &b, n, x);
    if (between) {
        tr_sb_puts(&b, between);
        all = all && put_shape(e, s, &b, m, y);
    }
    s->n = all ? s->n : had;
    s->text = all       ? tr_arena_printf(a, "%s", b.d)
              : between ? tr_arena_printf(a, "%sof %u and %u axes, with sizes {0} and {1} of one", lead, n, m)
                        : tr_arena_printf(a, "%sof %u axes", lead, n);
    tr_sb_fini(&b);
}

/* --- exceptions that were caught: lib/kind_exc.c --- */

bool tr_em_is_caught(const tr_ty *t) {
    return t->kind == TR_TY_EXC && t->lit->kind == TR_OBJ_NONE;
}

bool tr_lib_is_exc_class(const tr_ty *t) {
    return t->kind == TR_TY_METHOD && strcmp(t->name, "__class__") == 0;
}

bool tr_lib_no_exc_class(tr_em *e) {
    tr_em_unsupported(e, "class-value", "comparing the class of an exception that was caught");
    tr_em_hint(e, "isinstance(e, ValueError) asks for its class and those derived from it");
    return false;
}
