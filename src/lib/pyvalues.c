/* Attributes and methods of numbers, tuples, ranges, slices and dtypes. */
#include <float.h>
#include <string.h>

#include "lib/fam.h"
#include "lib/families.h"

/* --- numbers --- */

/* real, imag. aux 1: imag. */
bool tr_lib_num_part(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = tr_em_strong(e, c->a[0]);
    bool weak = tr_fam_weak(e, c->a[0]);
    if (x.ty->kind == TR_TY_BOOL)
        x = tr_em_conv(e, x, tr_fam_ty(e, TR_TY_I64));
    *out = tr_fam_weaken(e, c->aux ? tr_em_im(e, x) : tr_em_re(e, x), weak);
    return true;
}

bool tr_lib_num_conjugate(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = tr_em_strong(e, c->a[0]);
    if (tr_ty_is_complex(x.ty))
        x = tr_em_cplx(e, tr_em_re(e, x), tr_em_op1(e, TR_OP_NEG, tr_em_im(e, x)));
    *out = tr_fam_weaken(e, x, tr_fam_weak(e, c->a[0]));
    return true;
}

bool tr_lib_num_item(tr_em *e, const tr_bcall *c, tr_tv *out) {
    (void)e;
    *out = c->a[0];
    return true;
}

bool tr_lib_num_astype(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *t;
    if (!tr_fam_dtype(e, c, c->a[1], &t))
        return false;
    *out = tr_em_conv(e, c->a[0], t);
    return true;
}

/* view(dtype): the number that has the same bits in another type of the same size. */
bool tr_lib_num_view(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = tr_em_strong(e, c->a[0]);
    const tr_ty *to;
    *out = x;
    if (!tr_fam_given(c->a[1]))
        return true;
    if (!tr_fam_number(e, c, x, "iuf") || !tr_fam_dtype(e, c, c->a[1], &to))
        return false;
    if (!(tr_ty_is_int(to) || tr_ty_is_float(to)) || tr_ty_size(to) != tr_ty_size(x.ty))
        return tr_em_error(e, "view(): %s has not the same number of bits as %s, or is no integer or float",
                           tr_em_tyname(e, to), tr_em_tyname(e, x.ty));
    *out = tr_em_same_bits(e, x, to);
    return true;
}

bool tr_lib_num_is_integer(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = tr_em_strong(e, c->a[0]);
    if (!tr_fam_number(e, c, x, "bif"))
        return false;
    if (!tr_ty_is_float(x.ty)) {
        *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, true));
        return true;
    }
    tr_tv whole = tr_em_cmp(e, TR_CMP_EQ, tr_fam_math1(e, TR_MATH_FLOOR, x), x);
    *out = tr_fam_and(e, whole, tr_fam_math1(e, TR_MATH_ISFINITE, x));
    return true;
}

/* int.bit_count(), int.bit_length(): of the magnitude, whose zeros above the highest bit the
 * length is without. aux: the tr_bitop. */
bool tr_lib_num_bits(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (!tr_fam_number(e, c, c->a[0], "bi"))
        return false;
    tr_tv x = tr_fam_magnitude(e, tr_em_strong(e, c->a[0]));
    tr_tv n = tr_em_conv(e, tr_fam_bits(e, (tr_bitop)c->aux, x), tr_fam_ty(e, TR_TY_I64));
    *out = c->aux == TR_BITS_CLZ ? tr_em_op2(e, TR_OP_SUB, tr_em_i64(e, 64), n) : n;
    return true;
}

/* --- tuples --- */

/* list.index(x) has not found it: CPython's message has its repr, up to 3.13. */
static bool tell_not_in_list(tr_em *e, const void *user, tr_tv *acc) {
    tr_tv piece[2] = {{NULL, TR_NOVAL}, tr_em_lit(e, tr_obj_str(&e->ctx->arena, " is not in list"))}, text;
    (void)acc;
    if (e->ctx->python >= 314) {
        tr_em_check(e, tr_em_strong(e, tr_em_bool(e, false)), TR_EXC_VALUE, "list.index(x): x not in list", 0,
                    NULL);
        return true;
    }
    if (!tr_em_str(e, *(const tr_tv *)user, true, &piece[0]) || !tr_em_text(e, 2, piece, &text) ||
        !tr_em_string(e, text, &text))
        return false;
    tr_em_check(e, tr_em_strong(e, tr_em_bool(e, false)), TR_EXC_VALUE, "{0}", 1, &text);
    return true;
}

/* count(x), index(x). aux 1: index, which raises when there is none. */
bool tr_lib_tuple_find(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv t = c->a[0], n = tr_em_i64(e, 0), at = tr_em_i64(e, -1), eq;
    const tr_ty *bool_ty = tr_fam_ty(e, TR_TY_BOOL);
    for (uint32_t i = t.ty->n; i-- > 0;) {
        if (!tr_em_compare(e, TR_CMP_EQ, tr_em_item(e, t, i), c->a[1], &eq) || !tr_em_truth(e, eq, &eq))
            return false;
        eq = tr_em_conv(e, eq, bool_ty);
        if (c->aux)
            at = tr_em_select(e, eq, tr_em_i64(e, i), at);
        else
            n = tr_em_op2(e, TR_OP_ADD, n, tr_em_conv(e, eq, n.ty));
    }
    *out = c->aux ? at : n;
    if (!c->aux)
        return true;
    tr_tv there = tr_em_cmp(e, TR_CMP_GE, at, n);
    if (tr_ty_is_list(t.ty))
        return tr_fam_when(e, tr_fam_not(e, there), 0, NULL, tell_not_in_list, &c->a[1]);
    tr_em_check(e, there, TR_EXC_VALUE, "tuple.index(x): x not in tuple", 0, NULL);
    return true;
}

bool tr_lib_tuple_fields(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv t = c->a[0], *it = TR_NEW_N(&e->ctx->arena, tr_tv, t.ty->n + 1u);
    if (!t.ty->fields)
        return tr_em_error(e, "a plain tuple has no attribute '_fields'");
    for (uint32_t i = 0; i < t.ty->n; i++)
        it[i] = tr_em_lit(e, tr_obj_str(&e->ctx->arena, t.ty->fields[i]));
    *out = tr_em_tuple(e, t.ty->n, it);
    return true;
}

/* p._replace(x=1): the named tuple with other values, whose types may be others, too. */
bool tr_lib_tuple_replace(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv t = c->a[0], names = c->a[1], *it = TR_NEW_N(&e->ctx->arena, tr_tv, t.ty->n + 1u);
    uint32_t n = t.ty->n, given = names.ty ? tr_em_keyed_n(names.ty) : 0, used = 0;
    if (!t.ty->fields)
        return tr_em_error(e, "a plain tuple has no method '_replace'");
    for (uint32_t i = 0; i < n; i++) {
        it[i] = tr_em_item(e, t, i);
        for (uint32_t k = 0; k < given; k++)
            if (strcmp(tr_em_keyed_name(names.ty, k), t.ty->fields[i]) == 0) {
                it[i] = tr_em_keyed_value(e, names, k);
                used++;
            }
    }
    if (used < given)
        return tr_em_error(e, "%s has no field of one of the names that _replace() got",
                           tr_em_tyname(e, t.ty));
    tr_tv plain = tr_em_tuple(e, n, it);
    for (uint32_t i = 0; i < n; i++)
        it[i] = tr_em_item(e, plain, i);
    *out = tr_em_make(
        e, tr_ty_named_tuple(e->types, t.ty->name, t.ty->serial, n, plain.ty->items, t.ty->fields), n, it);
    return true;
}

bool tr_lib_tuple_asdict(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv t = c->a[0], names, *it = TR_NEW_N(&e->ctx->arena, tr_tv, t.ty->n + 1u);
    if (!t.ty->fields)
        return tr_em_error(e, "a plain tuple has no method '_asdict'");
    if (!tr_lib_tuple_fields(e, c, &names))
        return false;
    for (uint32_t i = 0; i < t.ty->n; i++)
        it[i] = tr_em_item(e, t, i);
    *out = tr_em_keyed(e, names, tr_em_tuple(e, t.ty->n, it));
    return true;
}

/* --- ranges, slices --- */

/* aux: 0 start, 1 stop, 2 step. */
bool tr_lib_range_part(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_em_item(e, c->a[0], (uint32_t)c->aux);
    if (c->a[0].ty->kind == TR_TY_RANGE)
        *out = tr_em_conv(e, *out, c->a[0].ty->elem);
    return true;
}

/* --- dtypes --- */

static tr_tv dtype_value(tr_em *e, const tr_ty *t) {
    tr_obj *o = TR_NEW(&e->ctx->arena, tr_obj);
    t = tr_ty_strong(e->types, t);
    o->kind = TR_OBJ_TYPE;
    o->ty = t;
    o->repr = tr_tyk_user_name((tr_tyk)t->kind);
    return tr_em_lit(e, o);
}

bool tr_lib_val_dtype(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = dtype_value(e, tr_lib_is_array(c->a[0]) ? c->a[0].ty->elem : tr_lib_scalar(e, c->a[0].ty));
    return true;
}

/* type(x) of a number: a class to call. A Python number is of the class that its array would have. */
bool tr_lib_py_type(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *t = tr_lib_scalar(e, c->a[0].ty);
    if (tr_em_is_caught(c->a[0].ty))
        return tr_lib_exc_class(e, c, out);
    if (!t)
        return tr_em_unsupported(e, "class-value", "type() of %s", tr_em_tyname(e, c->a[0].ty));
    *out = dtype_value(e, t);
    return true;
}

static bool date_attr(tr_em *e, int what, const tr_ty *date, tr_tv *out) {
    tr_arena *a = &e->ctx->arena;
    if (what == TR_DT_TYPE)
        return tr_em_unsupported(e, "class-value", "'type' of a dtype of dates");
    if (what == TR_DT_ITEMSIZE)
        *out = tr_em_lit(e, tr_obj_int(a, (int64_t)sizeof(int64_t)));
    else
        *out = tr_em_lit(e, tr_obj_str(a, what == TR_DT_NAME     ? tr_em_tyname(e, date)
                                          : tr_ty_is_delta(date) ? "m"
                                                                 : "M"));
    return true;
}

bool tr_lib_dtype_attr(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *t = tr_tv_dtype(e, c->a[0]), *date = t ? NULL : tr_lib_date_dtype(e, c->a[0]);
    if (date)
        return date_attr(e, c->aux, date, out);
    char kind[2] = {tr_ty_class(t), 0};
    switch (c->aux) {
    case TR_DT_TYPE: *out = dtype_value(e, t); break;
    case TR_DT_ITEMSIZE: *out = tr_em_lit(e, tr_obj_int(&e->ctx->arena, tr_ty_size(t))); break;
    case TR_DT_NAME:
        *out = tr_em_lit(e, tr_obj_str(&e->ctx->arena, tr_tyk_user_name((tr_tyk)t->kind)));
        break;
    default: *out = tr_em_lit(e, tr_obj_str(&e->ctx->arena, tr_arena_strdup(&e->ctx->arena, kind)));
    }
    return true;
}

/* --- limits of types: np.iinfo, np.finfo --- */

/* A value that has attributes alone: the type's (aux: 0 iinfo, 1 finfo). */
bool tr_lib_np_info(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *t = tr_tv_dtype(e, c->a[0]);
    if (!t)
        t = tr_lib_is_array(c->a[0]) ? c->a[0].ty->elem : tr_lib_scalar(e, c->a[0].ty);
    t = t ? tr_ty_strong(e->types, t) : NULL;
    if (t && c->aux && tr_ty_is_complex(t))
        t = tr_lib_real_of(e, t);
    if (!t || !(c->aux ? tr_ty_is_float(t) : tr_ty_is_int(t)))
        return tr_em_error(e, "%s() takes %s type, not %s", tr_fam_name(c), c->aux ? "a float" : "an integer",
                           tr_em_tyname(e, c->a[0].ty));
    tr_tv ty = dtype_value(e, t);
    *out = tr_em_make(e, tr_ty_of(e->types, TR_TY_INFO, c->aux ? TR_INFO_FLOAT : 0, 1, &ty.ty), 1, &ty);
    return true;
}

static const tr_ty *type_of_info(tr_em *e, tr_tv info) {
    return tr_tv_dtype(e, (tr_tv){info.ty->items[0], TR_NOVAL});
}

bool tr_lib_iinfo_attr(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *t = type_of_info(e, c->a[0]);
    uint32_t bits = 8u * (uint32_t)tr_ty_size(t);
    bool sign = tr_ty_class(t) == 'i';
    int64_t most = (int64_t)(UINT64_MAX >> (64u - bits + sign));
    if (c->aux == TR_LIM_MAX && most < 0) /* of uint64: no int64, so no weak number */
        *out = tr_em_conv(e, tr_em_i64(e, -1), t);
    else
        *out = tr_em_lit(e, tr_obj_int(&e->ctx->arena, c->aux == TR_LIM_BITS  ? (int64_t)bits
                                                       : c->aux == TR_LIM_MAX ? most
                                                       : sign                 ? -most - 1
                                                                              : 0));
    return true;
}

bool tr_lib_finfo_attr(tr_em *e, const tr_bcall *c, tr_tv *out) {
    static const struct {
        double max, tiny, subnormal, eps, resolution;
        int bits, precision;
    } of[] = {{65504.0, 0x1p-14, 0x1p-24, 0x1p-10, 0.001, 16, 3},
              {(double)FLT_MAX, (double)FLT_MIN, 0x1p-149, (double)FLT_EPSILON, (double)1e-6f, 32, 6},
              {DBL_MAX, DBL_MIN, 0x1p-1074, DBL_EPSILON, 1e-15, 64, 15}};
    const tr_ty *t = type_of_info(e, c->a[0]);
    int k = t->kind == TR_TY_F64 ? 2 : t->kind == TR_TY_F32 ? 1 : 0;
    double v = 0.0;
    switch (c->aux) {
    case TR_LIM_MIN: v = -of[k].max; break;
    case TR_LIM_MAX: v = of[k].max; break;
    case TR_LIM_TINY: v = of[k].tiny; break;
    case TR_LIM_SUBNORMAL: v = of[k].subnormal; break;
    case TR_LIM_EPS: v = of[k].eps; break;
    case TR_LIM_EPSNEG: v = of[k].eps / 2; break;
    case TR_LIM_RESOLUTION: v = of[k].resolution; break;
    default:
        *out = tr_em_lit(e, tr_obj_int(&e->ctx->arena, c->aux == TR_LIM_BITS ? of[k].bits : of[k].precision));
        return true;
    }
    *out = tr_em_num(e, t, v);
    return true;
}

/* --- operator: what operators do, as functions --- */

bool tr_lib_py_binary(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_em_binary(e, (tr_binop)c->aux, c->a[0], c->a[1], out);
}

bool tr_lib_py_inplace(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_em_inplace(e, (tr_binop)c->aux, c->a[0], c->a[1], out);
}

bool tr_lib_py_is(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_em_is(e, c->aux != 0, c->a[0], c->a[1], out);
}

bool tr_lib_py_compare(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_em_compare(e, (tr_cmpop)c->aux, c->a[0], c->a[1], out);
}

bool tr_lib_py_unary(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_em_unary(e, (tr_unop)c->aux, c->a[0], out);
}

bool tr_lib_py_getitem(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_em_getitem(e, c->a[0], c->a[1], out);
}

bool tr_lib_py_setitem(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_em_none(e);
    return tr_em_setitem(e, c->a[0], c->a[1], c->a[2], false);
}

bool tr_lib_py_contains(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_em_in(e, false, c->a[1], c->a[0], out);
}

/* --- time --- */

bool tr_lib_py_clock(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv which = tr_em_i64(e, c->aux & ~TR_CLOCK_NS);
    *out = tr_em_callrt(e, TR_RT_CLOCK, which.ty, NULL, 1, &which);
    if (!(c->aux & TR_CLOCK_NS)) /* as CPython has it: one division */
        *out = tr_em_op2(e, TR_OP_DIV, tr_em_conv(e, *out, tr_fam_ty(e, TR_TY_F64)), tr_em_f64(e, 1e9));
    return true;
}

/* --- what kind of value it is, which is known when the function compiles --- */

bool tr_lib_np_kind_of(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0];
    const tr_ty *s = tr_lib_is_array(x) ? x.ty->elem : tr_lib_scalar(e, x.ty);
    bool is_complex = s && tr_ty_is_complex(s), yes = c->aux == TR_KIND_COMPLEX ? is_complex : !is_complex;
    if (c->aux == TR_KIND_SCALAR)
        yes = !tr_lib_is_array(x) && (s || tr_lib_is_text(x));
    *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, yes));
    return true;
}
