/* Python's builtin functions on numbers and iterables. print() and conversions to text are in pyprint.c.
 * Results have Python's meaning on the types of docs/semantics.md: abs, min, max and round keep the width of
 * their operands where it holds the result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fam.h"
#include "lib/kinds.h"
#include "lib/families.h"

static const tr_ty *scalar_of(tr_em *e, tr_tv x) {
    return tr_lib_scalar(e, x.ty);
}
static bool is_tuple(tr_tv x) {
    return x.ty->kind == TR_TY_TUPLE;
}

/* --- abs, round --- */

static bool elt_abs(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)user;
    const tr_ty *s = scalar_of(e, *x);
    tr_tv v = tr_em_strong(e, *x);
    if (tr_ty_class(s) == 'u')
        *out = v;
    else if (tr_ty_is_complex(s))
        *out = tr_lib_emit(e, TR_OP_ABS, tr_lib_real_of(e, v.ty), 1, &v.v);
    else
        *out = tr_fam_weaken(e, tr_em_op1(e, TR_OP_ABS, v), s->weak);
    return true;
}

bool tr_lib_py_abs(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0];
    if (tr_lib_is_array(x)) {
        if (x.ty->elem->kind == TR_TY_BOOL)
            return tr_em_copy(e, x, TR_LAYOUT_C, out);
        return tr_lib_lift(e, 1, &x, elt_abs, NULL, out);
    }
    if (!tr_fam_number(e, c, x, "bifc"))
        return false;
    if (tr_fam_class(e, x) == 'b')
        *out = tr_em_conv(e, x, tr_fam_ty(e, TR_TY_I64));
    else
        return elt_abs(e, NULL, &x, out);
    return true;
}

/* round(x, n): correctly rounded in float64, then to x's width. promotion="numba" makes an integer what it
 * counts as beside a float. */
static bool round_digits(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *out) {
    tr_tv n, v = tr_em_strong(e, x);
    if (e->opts->promote_numba)
        v = tr_em_conv(e, v, tr_ty_arith(e->types, 'c', v.ty, v.ty, true));
    if (!tr_fam_int(e, c, c->a[1], "ndigits", &n))
        return false;
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64);
    if (tr_ty_is_float(v.ty)) {
        tr_tv r = tr_em_callrt(e, TR_RT_ROUND, f64, NULL, 2, (tr_tv[]){tr_em_conv(e, v, f64), n});
        *out = tr_em_conv(e, r, v.ty);
    } else {
        tr_tv r = tr_fam_round_int(e, v, n);
        *out = tr_em_conv(e, r, v.ty->kind == TR_TY_BOOL ? r.ty : v.ty);
    }
    *out = tr_fam_weaken(e, *out, tr_fam_weak(e, x));
    return true;
}

bool tr_lib_py_round(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0];
    if (!tr_fam_number(e, c, x, "bif"))
        return false;
    if (tr_fam_given(c->a[1]))
        return round_digits(e, c, x, out);
    const tr_ty *i64 = tr_fam_ty(e, TR_TY_I64);
    switch (tr_fam_class(e, x)) {
    case 'f': *out = tr_lib_float_to_int(e, tr_fam_math1(e, TR_MATH_RINT, x)); return true;
    case 'b': *out = tr_em_conv(e, x, i64); return true;
    default:
        *out = tr_ty_class(scalar_of(e, x)) == 'u' || e->opts->promote_numba ? tr_lib_int_to_int(e, x) : x;
        return true;
    }
}

/* --- conversions --- */

/* A Python int that is known, and stays what it is. */
static bool is_int_literal(tr_em *e, tr_tv x) {
    int64_t v;
    return x.ty->kind == TR_TY_LIT && x.ty->lit->kind == TR_OBJ_INT &&
           (!e->opts->promote_numba || tr_tv_lit_int(x, &v));
}

bool tr_lib_py_int(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0];
    if (!x.ty) {
        *out = tr_em_lit(e, tr_obj_int(&e->ctx->arena, 0));
        return true;
    }
    if (tr_lib_is_text(x) || x.ty->kind == TR_TY_BYTES)
        return tr_lib_int_of_string(e, x, c->a[1], out);
    if (c->a[1].ty)
        return tr_em_error(e, "int() can't convert non-string with explicit base");
    if (is_int_literal(e, x)) {
        *out = x;
        return true;
    }
    if (!tr_fam_number(e, c, x, "bif"))
        return false;
    if (e->opts->promote_numba && tr_fam_class(e, x) == 'i')
        *out = tr_em_strong(e, x);
    else if (tr_fam_class(e, x) == 'f')
        *out = tr_lib_float_to_int(e, x);
    else
        *out = tr_lib_int_to_int(e, x);
    return true;
}

/* float("inf") and the like: text known when compiling. What strtod does not read as Python does, and what
 * spells no number, which may be caught, is left to the running program. */
static bool float_of_text(tr_em *e, const char *s, tr_tv *out) {
    char *end;
    s += strspn(s, " \t\n");
    size_t n = strlen(s);
    double v = strtod(s, &end);
    bool hex = strpbrk(s, "xX(") != NULL; /* strtod reads more than Python does */
    if (n == 0 || hex || end == s || strspn(end, " \t\n") != strlen(end))
        return false;
    *out = tr_em_lit(e, tr_obj_float(&e->ctx->arena, v));
    return true;
}

bool tr_lib_py_float(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0];
    const char *text;
    if ((!x.ty || tr_tv_lit_str(x, &text)) && float_of_text(e, x.ty ? text : "0", out))
        return true;
    if (tr_lib_is_text(x) || x.ty->kind == TR_TY_BYTES)
        return tr_lib_float_of_string(e, x, out);
    if (tr_lib_huge_float(e, x, out))
        return true;
    if (!tr_fam_number(e, c, x, "bif"))
        return false;
    int64_t i;
    if (tr_tv_lit_int(x, &i)) {
        *out = tr_em_lit(e, tr_obj_float(&e->ctx->arena, (double)i));
        return true;
    }
    if (tr_fam_class(e, x) == 'f' && (tr_fam_weak(e, x) || e->opts->promote_numba))
        *out = x;
    else
        *out = tr_em_conv(e, x, tr_fam_ty(e, TR_TY_F64));
    return true;
}

bool tr_lib_py_bool(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (c->a[0].ty)
        return tr_em_truth(e, c->a[0], out);
    *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, false));
    return true;
}

bool tr_lib_py_complex(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64), *c128 = tr_fam_ty(e, TR_TY_C128);
    tr_tv part[2][2], zero = tr_em_f64(e, 0.0);
    for (int i = 0; i < 2; i++) {
        tr_tv x = c->a[i];
        part[i][0] = part[i][1] = zero;
        if (!x.ty)
            continue;
        if (!tr_fam_number(e, c, x, "bifc"))
            return false;
        tr_tv z = tr_em_conv(e, x, tr_fam_class(e, x) == 'c' ? c128 : f64);
        part[i][0] = tr_em_re(e, z);
        if (z.ty == c128)
            part[i][1] = tr_em_im(e, z);
    }
    /* real + imag * 1j, where either may be complex */
    bool re_c = tr_fam_class(e, c->a[0]) == 'c', im_c = tr_fam_class(e, c->a[1]) == 'c';
    tr_tv re = im_c ? tr_em_op2(e, TR_OP_SUB, part[0][0], part[1][1]) : part[0][0];
    tr_tv im = !re_c         ? part[1][0]
               : !c->a[1].ty ? part[0][1]
                             : tr_em_op2(e, TR_OP_ADD, part[0][1], part[1][0]);
    *out = tr_em_cplx(e, re, im);
    if (e->opts->promote_numba && !c->a[1].ty && c->a[0].ty && scalar_of(e, c->a[0])->kind == TR_TY_F32)
        *out = tr_em_conv(e, *out, tr_fam_ty(e, TR_TY_C64));
    return true;
}

/* --- sum, any, all --- */

/* Type that a running sum or product settles on. */
static const tr_ty *running_type(tr_em *e, const tr_ty *start, const tr_ty *item) {
    bool numba = e->opts->promote_numba;
    const tr_ty *t = tr_ty_arith(e->types, '+', start, item, numba);
    return t ? tr_ty_strong(e->types, tr_ty_arith(e->types, '+', t, item, numba)) : NULL;
}

/* promotion="numba": the type that numbers of a tuple are brought to before they are added, where one is no
 * integer; else NULL. */
static const tr_ty *numba_items(tr_em *e, const tr_ty *t) {
    const tr_ty *all = t->n ? t->items[0] : NULL;
    for (uint32_t i = 1; all && i < t->n; i++)
        all = tr_ty_join(e->types, all, t->items[i], true);
    bool inexact = false;
    for (uint32_t i = 0; i < t->n; i++)
        inexact = inexact || tr_ty_is_float(t->items[i]) || tr_ty_is_complex(t->items[i]);
    return inexact && all && tr_ty_is_scalar(all) ? all : NULL;
}

static bool join_list(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    tr_tv a[2] = {*(const tr_tv *)user, x}, none;
    (void)acc, (void)stop;
    if (x.ty->kind != TR_TY_LIST && !tr_ty_is_list(x.ty))
        return tr_em_error(e, "can only concatenate list (not %s) to list", tr_em_tyname(e, x.ty));
    return tr_lib_list_extend(e, &(tr_bcall){.row = TR_B_L_EXTEND, .n = 2, .a = a}, &none);
}

/* sum(lists, []): one list, which all are put behind. */
static bool joined_lists(tr_em *e, tr_tv it, tr_tv start, tr_tv *out) {
    tr_tv none[1], stop;
    if (!tr_em_list_of(e, start, out))
        return false;
    for (uint32_t i = 0; is_tuple(it) && i < it.ty->n; i++)
        if (!join_list(e, tr_em_item(e, it, i), out, none, &stop))
            return false;
    return is_tuple(it) || tr_fam_gives_nothing(it.ty) ||
           (tr_em_iter(e, it, &it) && tr_em_each(e, it, 0, none, join_list, out));
}

bool tr_lib_py_sum(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv it = c->a[0], start = c->a[1];
    tr_binop op = c->aux == TR_RED_MUL ? TR_BIN_MUL : TR_BIN_ADD;
    if (!start.ty)
        start = tr_em_lit(e, tr_obj_int(&e->ctx->arena, op == TR_BIN_MUL));
    if (op == TR_BIN_ADD && (start.ty->kind == TR_TY_LIST || tr_ty_is_list(start.ty)))
        return joined_lists(e, it, start, out);
    if (is_tuple(it)) {
        const tr_ty *all = e->opts->promote_numba ? numba_items(e, it.ty) : NULL;
        for (uint32_t i = 0; i < it.ty->n; i++) {
            tr_tv x = tr_em_item(e, it, i);
            if (!tr_em_binary(e, op, start, all ? tr_em_conv(e, x, all) : x, &start))
                return false;
        }
        *out = start;
        return true;
    }
    if (tr_fam_gives_nothing(it.ty)) {
        *out = start;
        return true;
    }
    const tr_ty *t, *s = tr_lib_scalar(e, start.ty);
    if (!tr_em_iter(e, it, &it) || !tr_fam_item_type(e, it, &t))
        return false;
    if (!s || !tr_ty_is_scalar(t)) {
        tr_em_error(e, "%s() of items of %s", tr_fam_name(c), tr_em_tyname(e, t));
        if (t->kind == TR_TY_ARRAY)
            tr_em_hint(e, "use np.sum for all elements of an array");
        return false;
    }
    const tr_ty *r = running_type(e, s, t);
    return tr_fam_reduce(e, it, (tr_redk)c->aux, tr_em_conv(e, start, r), NULL, NULL, out);
}

static bool item_truth(tr_em *e, tr_tv x, const void *user, tr_tv *out) {
    (void)user;
    return tr_em_truth(e, x, out);
}

bool tr_lib_py_anyall(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv it = c->a[0], t;
    bool all = c->aux == TR_RED_AND;
    if (!is_tuple(it))
        return tr_em_iter(e, it, &it) &&
               tr_fam_reduce(e, it, (tr_redk)c->aux, tr_em_bool(e, all), item_truth, NULL, out);
    *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, all));
    for (uint32_t i = 0; i < it.ty->n; i++) {
        if (!tr_em_truth(e, tr_em_item(e, it, i), &t))
            return false;
        *out = i == 0 ? t : tr_em_op2(e, all ? TR_OP_AND : TR_OP_OR, *out, t);
    }
    return true;
}

/* --- iterables --- */

/* A generator that raises it does not end so. */
static bool in_generator(const tr_em *e) {
    uint32_t func = e->b.fn->func;
    const tr_round *r = func < e->prog->funcs.n ? e->prog->funcs.d[func].round : NULL;
    return r && !r->list;
}

/* StopIteration() has no arguments. */
static void check_more(tr_em *e, tr_tv more) {
    if (e->dry)
        return;
    if (in_generator(e)) {
        tr_em_check(e, tr_em_strong(e, more), TR_EXC_RUNTIME, "generator raised StopIteration", 0, NULL);
        return;
    }
    tr_site *s = TR_NEW(&e->ctx->arena, tr_site);
    s->exc = TR_EXC_STOPITER;
    tr_val v = tr_em_strong(e, more).v;
    tr_at(e->b.fn, tr_emit_v(&e->b, TR_OP_CHECK, NULL, 1, &v))->imm.site = s;
}

/* The item of a step, or `other` where there is none. */
static bool next_or(tr_em *e, tr_tv other, tr_tv it, tr_tv more, tr_tv place, tr_tv *out) {
    tr_tv x;
    const tr_ty *item;
    if (!tr_fam_item_type(e, it, &item))
        return false;
    const tr_ty *t = tr_ty_join(e->types, tr_ty_strong(e->types, item), tr_ty_strong(e->types, other.ty),
                                e->opts->promote_numba);
    if (!t)
        return tr_em_error(e, "next() gives %s, or else %s: they have no common type", tr_em_tyname(e, item),
                           tr_em_tyname(e, other.ty));
    if (e->dry) {
        *out = (tr_tv){t, TR_NOVAL};
        return tr_em_iterget(e, it, place, &x);
    }
    tr_fn *f = e->b.fn;
    tr_bid some = tr_blk_new(f), none = tr_blk_new(f), join = tr_blk_new(f);
    tr_cbr(&e->b, tr_em_strong(e, more).v, some, 0, NULL, none, 0, NULL);
    e->b.blk = some;
    if (!tr_em_iterget(e, it, place, &x) || !tr_em_coerce(e, x, t, &x))
        return false;
    tr_br(&e->b, join, 1, &x.v);
    e->b.blk = none;
    if (!tr_em_coerce(e, other, t, &x))
        return false;
    tr_br(&e->b, join, 1, &x.v);
    e->b.blk = join;
    *out = (tr_tv){t, tr_blk_param(f, join, t, NULL)};
    return true;
}

bool tr_lib_py_range(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (c->nvar < 1 || c->nvar > 3)
        return tr_em_error(e, "%s expected 1 to 3 arguments, got %u", c->aux ? "prange" : "range", c->nvar);
    tr_tv part[3] = {tr_em_i64(e, 0), tr_em_i64(e, 0), tr_em_i64(e, 1)};
    int64_t step = 1;
    bool all_u64 = false;
    for (uint32_t i = 0; i < c->nvar; i++) {
        tr_tv *to = &part[c->nvar == 1 ? 1 : i];
        bool cut = e->opts->promote_numba && tr_fam_class(e, c->var[i]) == 'f'; /* as Numba has it */
        if (cut)
            *to = tr_em_conv(e, c->var[i], tr_fam_ty(e, TR_TY_I64));
        else if (!tr_fam_int(e, c, c->var[i], "an argument", to))
            return false;
        const tr_ty *s = scalar_of(e, c->var[i]);
        all_u64 = all_u64 || s->kind == TR_TY_U64;
    }
    for (uint32_t i = 0; i < c->nvar; i++) {
        const tr_ty *s = scalar_of(e, c->var[i]);
        all_u64 = all_u64 && (s->weak || tr_ty_class(s) == 'u');
    }
    bool known = c->nvar < 3 || tr_tv_lit_int(c->var[2], &step);
    if (!known || step == 0)
        tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, part[2], tr_em_i64(e, 0)), TR_EXC_VALUE,
                    "range() arg 3 must not be zero", 0, NULL);
    unsigned sub = (known && step == 1 ? TR_RANGE_STEP1 : 0u) | (c->aux ? TR_RANGE_PAR : 0u);
    const tr_ty *elem = tr_fam_ty(e, all_u64 && !c->aux ? TR_TY_U64 : TR_TY_I64); /* a prange's is signed */
    *out = tr_em_make(e, tr_ty_range(e->types, elem, sub), 3, part);
    return true;
}

bool tr_lib_py_len(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_lib_kind(c->a[0].ty)->len(e, c->a[0], out);
}

bool tr_lib_py_enumerate(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv it[2] = {tr_em_i64(e, 0), c->a[0]};
    if (c->a[1].ty && !tr_fam_int(e, c, c->a[1], "start", &it[0]))
        return false;
    if (!tr_lib_iter_part(e, it[1], &it[1]))
        return false;
    *out = tr_em_make(e, tr_ty_of(e->types, TR_TY_ENUMERATE, 0, 2, (const tr_ty *[]){it[0].ty, it[1].ty}), 2,
                      it);
    return true;
}

bool tr_lib_py_zip(tr_em *e, const tr_bcall *c, tr_tv *out) {
    bool strict;
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, c->nvar + 1u), n0, n;
    const tr_ty **ty = TR_NEW_N(&e->ctx->arena, const tr_ty *, c->nvar + 1u);
    if (!tr_fam_flag(e, c, c->a[c->n - 1], "strict", false, &strict))
        return false;
    for (uint32_t i = 0; i < c->nvar; i++) {
        if (!tr_lib_iter_part(e, c->var[i], &it[i]))
            return false;
        ty[i] = it[i].ty;
        if (!strict)
            continue;
        if (!tr_em_iterlen(e, it[i], &n))
            return false;
        if (tr_tv_is_none(n))
            return tr_em_unsupported(e, "iterator-length", "zip() with strict=True of %s",
                                     tr_em_tyname(e, it[i].ty));
        if (i == 0)
            n0 = n;
        else
            tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, n0, n), TR_EXC_VALUE,
                        "zip() arguments have different lengths: {0} and {1}", 2, (tr_tv[]){n0, n});
    }
    *out = tr_em_make(e, tr_ty_of(e->types, TR_TY_ZIP, 0, c->nvar, ty), c->nvar, it);
    return true;
}

static bool it_is_set(tr_tv x) {
    return x.ty->kind == TR_TY_SET || x.ty->kind == TR_TY_FROZEN;
}

/* Of a dict or a view: of what they give now. */
static bool reversed_table(tr_em *e, tr_tv x, tr_tv *out) {
    tr_tv l, none = {NULL, TR_NOVAL};
    return tr_em_builtin(e, TR_B_LIST, none, &(tr_args){1, &x, 0, NULL}, &l) &&
           tr_em_builtin(e, TR_B_REVERSED, none, &(tr_args){1, &l, 0, NULL}, out);
}

bool tr_lib_py_reversed(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv it;
    if (c->a[0].ty->kind == TR_TY_LIST) {
        tr_tv x[2] = {c->a[0]};
        if (!tr_lib_len_list(e, x[0], &x[1]))
            return false;
        *out = tr_em_make(
            e, tr_ty_of(e->types, TR_TY_REVERSED, 0, 2, (const tr_ty *const[]){x[0].ty, x[1].ty}), 2, x);
        return true;
    }
    if (tr_lib_is_forward(c->a[0]))
        return tr_em_error(e, "%s is not reversible", tr_em_tyname(e, c->a[0].ty));
    if (!tr_em_iter(e, c->a[0], &it))
        return false;
    if (it.ty->kind == TR_TY_WALK)
        return it_is_set(c->a[0]) ? tr_em_error(e, "'set' object is not reversible")
                                  : reversed_table(e, c->a[0], out);
    *out = tr_em_make(e, tr_ty_of(e->types, TR_TY_REVERSED, 0, 1, &it.ty), 1, &it);
    return true;
}

bool tr_lib_py_iter(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_em_iter(e, c->a[0], out) && tr_em_iterator(e, *out, out);
}

/* next(it), next(it, default) */
bool tr_lib_py_next(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv it = c->a[0], step;
    if (!tr_lib_is_once(it)) {
        tr_em_error(e, "%s is not an iterator", tr_em_tyname(e, it.ty));
        if (tr_lib_kind(it.ty)->iter != tr_lib_iter_no)
            tr_em_hint(e, "make one before: it = iter(x)");
        return false;
    }
    if (!tr_em_next(e, it, tr_em_none(e), tr_em_i64(e, 0), &step))
        return false;
    tr_tv more = tr_em_item(e, step, TR_STEP_MORE), place = tr_em_item(e, step, TR_STEP_PLACE);
    *out = c->a[1];
    if (out->ty && more.ty->kind == TR_TY_LIT) /* of (), whose items have no type */
        return true;
    if (c->a[1].ty)
        return next_or(e, c->a[1], it, more, place, out);
    check_more(e, more);
    return tr_em_iterget(e, it, place, out);
}

/* map(f, a, b ...) */
bool tr_lib_py_map(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv it[2] = {c->a[0], {NULL, TR_NOVAL}};
    if (c->nvar == 0)
        return tr_em_error(e, "map() must have at least two arguments.");
    tr_tv *x = TR_NEW_N(&e->ctx->arena, tr_tv, c->nvar);
    const tr_ty **ty = TR_NEW_N(&e->ctx->arena, const tr_ty *, c->nvar);
    for (uint32_t i = 0; i < c->nvar; i++) {
        if (!tr_lib_iter_part(e, c->var[i], &x[i]))
            return false;
        ty[i] = x[i].ty;
    }
    it[1] = tr_em_make(e, tr_ty_of(e->types, TR_TY_ZIP, 0, c->nvar, ty), c->nvar, x);
    *out = tr_em_make(e, tr_ty_of(e->types, TR_TY_MAP, 0, 2, (const tr_ty *[]){it[0].ty, it[1].ty}), 2, it);
    return true;
}

bool tr_lib_py_filter(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv it[2] = {c->a[0], {NULL, TR_NOVAL}};
    if (!tr_em_iter(e, c->a[1], &it[1]) || !tr_em_iterator(e, it[1], &it[1]))
        return false;
    *out =
        tr_em_make(e, tr_ty_of(e->types, TR_TY_FILTER, 0, 2, (const tr_ty *[]){it[0].ty, it[1].ty}), 2, it);
    return true;
}

bool tr_lib_py_slice(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (c->nvar < 1 || c->nvar > 3)
        return tr_em_error(e, "slice expected 1 to 3 arguments, got %u", c->nvar);
    tr_tv it[3] = {tr_em_none(e), tr_em_none(e), tr_em_none(e)};
    for (uint32_t i = 0; i < c->nvar; i++) {
        tr_tv x = c->var[i];
        int64_t v;
        if (tr_tv_is_none(x))
            continue;
        if (!tr_fam_number(e, c, x, "bi"))
            return false;
        it[c->nvar == 1 ? 1 : i] = tr_tv_lit_int(x, &v) ? x : tr_em_strong(e, x);
    }
    *out = tr_em_make(e, tr_ty_slice(e->types, it[0].ty, it[1].ty, it[2].ty), 3, it);
    return true;
}

bool tr_lib_py_tuple(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0];
    if (!x.ty)
        *out = tr_em_tuple(e, 0, NULL);
    else if (is_tuple(x)) {
        tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, x.ty->n + 1u);
        for (uint32_t i = 0; i < x.ty->n; i++)
            it[i] = tr_em_item(e, x, i);
        *out = tr_em_tuple(e, x.ty->n, it); /* a named tuple loses its name */
    } else
        return tr_em_unsupported(e, "tuple-length", "tuple() of %s, whose length is not part of its type",
                                 tr_em_tyname(e, x.ty));
    return true;
}

/* --- arithmetic --- */

bool tr_lib_py_divmod(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x[2], a[2] = {c->a[0], c->a[1]};
    const tr_ty *xs = scalar_of(e, a[0]), *ys = scalar_of(e, a[1]);
    if (e->opts->promote_numba && xs && ys)
        for (int i = 0; i < 2; i++)
            a[i] = tr_em_conv(e, c->a[i], tr_ty_arith(e->types, 'd', xs, ys, true));
    if (!tr_em_binary(e, TR_BIN_FLOORDIV, a[0], a[1], &x[0]) ||
        !tr_em_binary(e, TR_BIN_MOD, a[0], a[1], &x[1]))
        return false;
    *out = tr_em_tuple(e, 2, x);
    return true;
}

/* pow(x, y, m): integers; a negative exponent needs an inverse of x. */
bool tr_lib_py_pow(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (!tr_fam_given(c->a[2]))
        return tr_em_binary(e, TR_BIN_POW, c->a[0], c->a[1], out);
    tr_tv v[3], zero = tr_em_i64(e, 0);
    const tr_ty *i64 = tr_fam_ty(e, TR_TY_I64);
    for (uint32_t i = 0; i < 3; i++)
        if (!tr_fam_int(e, c, c->a[i], "with a modulus, every argument", &v[i]))
            return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, v[2], zero), TR_EXC_VALUE, "pow() 3rd argument cannot be 0", 0,
                NULL);
    tr_tv g = tr_em_callrt(e, TR_RT_GCD, i64, NULL, 2, (tr_tv[]){v[0], v[2]});
    tr_tv ok = tr_fam_or(e, tr_em_cmp(e, TR_CMP_GE, v[1], zero), tr_em_cmp(e, TR_CMP_EQ, g, tr_em_i64(e, 1)));
    tr_em_check(e, ok, TR_EXC_VALUE, "base is not invertible for the given modulus", 0, NULL);
    *out = tr_em_callrt(e, TR_RT_POWMOD, i64, NULL, 3, v);
    return true;
}

/* --- isinstance --- */

/* The scalars that are instances of the class of a row: TR_CLS_*. */
static uint32_t scalars_of(const tr_builtin *b) {
    bool is_class = b->fn == tr_lib_py_class || b->fn == tr_lib_py_int || b->fn == tr_lib_py_float ||
                    b->fn == tr_lib_py_bool || b->fn == tr_lib_py_complex;
    return is_class ? (uint32_t)b->aux : 0;
}

/* A class of dicts, which is a form of one kind. */
static uint32_t face_row(const tr_ty *t) {
    return t->sub == TR_FACE_COUNTER   ? TR_B_COUNTER
           : t->sub == TR_FACE_ORDERED ? TR_B_ORDEREDDICT
                                       : TR_B_DEFAULTDICT;
}

static bool is_class_row(uint32_t row) {
    if (row == TR_B_COUNTER || row == TR_B_ORDEREDDICT || row == TR_B_DEFAULTDICT)
        return true;
    for (uint32_t k = 0; k < TR_TY__COUNT - TR_TY_NUMBERS; k++)
        if (tr_lib_kinds[k].cls == row)
            return true;
    return row == TR_B_TYPED_LIST || tr_builtins[row].fn == tr_lib_py_class ||
           tr_builtins[row].fn == tr_lib_np_date || scalars_of(&tr_builtins[row]);
}

static uint32_t class_bit(const tr_ty *scalar) {
    static const char classes[] = "biufc"; /* TR_CLS_* */
    return 1u << (strchr(classes, tr_ty_class(scalar)) - classes);
}

static bool is_class(tr_tv x) {
    if (x.ty->kind == TR_TY_TUPLE) { /* a union */
        for (uint32_t i = 0; i < x.ty->n; i++)
            if (!is_class((tr_tv){x.ty->items[i], TR_NOVAL}))
                return false;
        return x.ty->n > 1;
    }
    const tr_obj *o = x.ty->kind == TR_TY_LIT ? x.ty->lit : NULL;
    return tr_tv_is_none(x) || (o && (o->kind == TR_OBJ_TYPE || o->kind == TR_OBJ_NTCLASS ||
                                      (o->kind == TR_OBJ_BUILTIN && is_class_row((uint32_t)o->u.builtin))));
}

/* `int | None`, as isinstance() takes it: a tuple. */
tr_answer tr_lib_binary_union(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    if (op != TR_BIN_OR || !is_class(x) || !is_class(y))
        return TR_OPEN;
    *out = tr_em_tuple(e, 2, (tr_tv[]){x, y});
    return TR_DONE;
}

tr_answer tr_lib_binary_known(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_answer a = tr_lib_binary_lit(e, op, x, y, out);
    return a == TR_OPEN ? tr_lib_binary_union(e, op, x, y, out) : a;
}

/* A timedelta64 is one of NumPy's signed integers. */
static bool date_is(const tr_ty *date, const tr_builtin *b) {
    bool delta = tr_ty_is_delta(date);
    if (b->fn == tr_lib_np_date)
        return (b->aux != 0) == delta;
    if (b->fn != tr_lib_py_class)
        return false;
    return b == &tr_builtins[TR_B_NP_GENERIC] || (delta && (b->aux & TR_CLS_I));
}

/* Is x, which is not None, an instance of what a builtin row names? -1: that is no class. */
static int instance_of_builtin(tr_em *e, tr_tv x, uint32_t row) {
    const tr_ty *s = scalar_of(e, x);
    if (!is_class_row(row))
        return -1;
    if (x.ty->kind == TR_TY_DATE)
        return date_is(x.ty, &tr_builtins[row]);
    if (s)
        return (scalars_of(&tr_builtins[row]) & class_bit(s)) != 0;
    if (tr_lib_is_text(x))
        return row == TR_B_STR;
    if (x.ty->kind == TR_TY_FACED && row == face_row(x.ty))
        return true;
    if (row == TR_B_TYPED_LIST) /* what it was made as is not known of a list */
        row = TR_B_LIST;
    return row == (tr_ty_is_list(x.ty) ? TR_B_LIST : tr_lib_kind(x.ty)->cls);
}

/* Is x, which is no optional, an instance of cls? -1: that is not known when compiling. */
static int instance_of(tr_em *e, tr_tv x, tr_tv cls) {
    const tr_ty *s = scalar_of(e, x);
    if (tr_tv_is_none(cls))
        return tr_tv_is_none(x);
    const tr_obj *o = cls.ty->kind == TR_TY_LIT ? cls.ty->lit : NULL;
    if (o && o->kind == TR_OBJ_TYPE)
        return s && tr_ty_strong(e->types, s) == o->ty;
    if (o && o->kind == TR_OBJ_NTCLASS) {
        tr_ty named = {.n = o->u.t.n, .fields = o->u.t.fields, .name = o->u.t.name, .serial = o->u.t.serial};
        return is_tuple(x) && tr_ty_same_class(x.ty, &named);
    }
    if (o && o->kind == TR_OBJ_OPAQUE && o->u.absent)
        return 0;
    return o && o->kind == TR_OBJ_BUILTIN ? instance_of_builtin(e, x, (uint32_t)o->u.builtin) : -1;
}

/* r |= x is an instance of cls, or of a class in cls. */
static bool any_instance(tr_em *e, tr_tv x, tr_tv cls, bool *r) {
    for (uint32_t i = 0; is_tuple(cls) && i < cls.ty->n; i++)
        if (!any_instance(e, x, tr_em_item(e, cls, i), r))
            return false;
    if (is_tuple(cls))
        return true;
    int one = instance_of(e, x, cls);
    *r |= one > 0;
    return one >= 0 ||
           tr_em_error(e, "isinstance() with %s is not known when compiling", tr_em_tyname(e, cls.ty));
}

/* A name for getattr and setattr; of what a constant has, but for a number or a string, the snapshot knows
 * what the text of the program asks for. */
static bool attr_name(tr_em *e, const tr_bcall *c, const char **name) {
    const tr_obj *o = c->a[0].ty->kind == TR_TY_LIT ? c->a[0].ty->lit : NULL;
    bool plain = !o || (!o->member && (o->kind == TR_OBJ_STR || tr_lib_scalar(e, c->a[0].ty)));
    if (!plain || !tr_tv_lit_str(c->a[1], name)) {
        tr_em_error(e, "%s() takes a value and a constant name", tr_fam_name(c));
        tr_em_hint(e, "names are looked up when the function compiles: write x.name, or choose outside");
        return false;
    }
    return true;
}

bool tr_lib_py_getattr(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const char *name;
    return attr_name(e, c, &name) && tr_em_getattr(e, c->a[0], name, out);
}

static bool is_among(const char *name, const char *const *names) {
    while (*names && strcmp(*names, name))
        names++;
    return *names;
}

/* What Python's objects of x's type have under a name, whether compiled code has it or not: 1, 0, or -1 where
 * that is not known. A number may be one of Python's or of NumPy's, which have more. */
static int has_attribute(tr_em *e, tr_tv x, const char *name) {
    static const char *const container[] = {"__len__", "__iter__", "__getitem__", "__contains__", NULL},
                             *const array[] = {"__array__", "__setitem__", "__array_interface__", NULL},
                             *const of_fields[] = {"_asdict", "_replace", "_make", "_field_defaults", NULL},
                             *const number[] = {"numerator",        "denominator",  "to_bytes", "from_bytes",
                                                "as_integer_ratio", "hex",          "fromhex",  "from_number",
                                                "is_integer",       "newbyteorder", NULL},
                             *const of_all[] = {"real", "imag", "conjugate", NULL};
    bool dunder = !strncmp(name, "__", 2), is_array = tr_lib_is_array(x), tuple = x.ty->kind == TR_TY_TUPLE;
    const char *path = tr_arena_printf(&e->ctx->arena, "ndarray.%s", name);
    bool of_arrays = tr_builtin_member("array", name) >= 0 || tr_em_method_of(e, "array", name) ||
                     tr_em_advice(path, strlen(path));
    if (is_array)
        return is_among(name, container) || is_among(name, array) || of_arrays ? 1 : dunder ? -1 : 0;
    if (tuple) {
        tr_em probe = *e;
        tr_tv r;
        probe.dry = true;
        bool named = tr_em_member(e, x, "_fields") >= 0 && tr_em_getattr(&probe, x, "_fields", &r);
        if (is_among(name, of_fields))
            return named;
        return is_among(name, container) || tr_em_getattr(&probe, x, name, &r) ? 1 : dunder ? -1 : 0;
    }
    if (!tr_lib_scalar(e, x.ty))
        return -1;
    if (is_among(name, of_all))
        return 1;
    if (!strcmp(name, "__len__") || !strcmp(name, "__iter__"))
        return 0;
    return dunder || of_arrays || is_among(name, number) || tr_builtin_member("number", name) >= 0 ? -1 : 0;
}

/* Known when the function compiles. */
bool tr_lib_py_hasattr(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const char *name;
    tr_tv x = c->a[0];
    if (!tr_tv_lit_str(c->a[1], &name))
        return tr_em_error(e, "hasattr() takes a value and a constant name");
    int has = x.ty->kind == TR_TY_LIT && !tr_lib_scalar(e, x.ty) ? -1 : has_attribute(e, x, name);
    if (has < 0) {
        tr_em_error(e, "whether %s has an attribute '%s' is not known in compiled code",
                    tr_em_tyname(e, x.ty), name);
        tr_em_hint(e, "isinstance(x, np.ndarray) and isinstance(x, tuple) are known");
        return false;
    }
    *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, has));
    return true;
}

bool tr_lib_py_setattr(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const char *name;
    *out = tr_em_none(e);
    return attr_name(e, c, &name) && tr_em_setattr(e, c->a[0], name, c->a[2], false);
}

bool tr_lib_py_isinstance(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0], none = {tr_ty_none(e->types), TR_NOVAL};
    bool optional = x.ty->kind == TR_TY_OPT, held = false, other = false;
    if (tr_em_is_caught(x.ty))
        return tr_em_is_of_class(e, x, c->a[1], out);
    if (!any_instance(e, optional ? tr_em_item(e, x, 1) : x, c->a[1], &held) ||
        (optional && !any_instance(e, none, c->a[1], &other)))
        return false;
    if (!optional || held == other)
        *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, held));
    else if (held)
        *out = tr_em_item(e, x, 0);
    else
        return tr_em_unary(e, TR_UN_NOT, tr_em_item(e, x, 0), out);
    return true;
}

/* What functions in treadle/_library ask: is it known when the function compiles? */
bool tr_lib_py_constant(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, c->a[0].ty->kind == TR_TY_LIT || tr_tv_is_none(c->a[0])));
    return true;
}

/* With numbers or arrays of one type, and with functions, a variable of a loop has one type. */
bool tr_lib_unroll_differs(tr_em *e, const tr_ty *t) {
    for (uint32_t i = 1; t->kind == TR_TY_TUPLE && i < t->n; i++) {
        const tr_ty *x = tr_ty_strong(e->types, t->items[0]), *y = tr_ty_strong(e->types, t->items[i]);
        bool data = tr_lib_scalar(e, x) || tr_lib_scalar(e, y) || x->kind == TR_TY_ARRAY ||
                    y->kind == TR_TY_ARRAY || x->kind == TR_TY_TUPLE || y->kind == TR_TY_TUPLE;
        if (x != y && data)
            return true;
    }
    return false;
}

/* A loop over it has a variable of each item's own type, which infer/unroll.c sees to. */
bool tr_lib_py_unroll(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = c->a[0];
    return out->ty->kind == TR_TY_TUPLE ||
           tr_em_error(e, "literal_unroll() takes a tuple, not %s", tr_em_tyname(e, out->ty));
}

/* Without keywords: a call with some comes from infer/calls.c, which has their names. */
bool tr_lib_py_partial(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv none = tr_em_tuple(e, 0, NULL);
    *out = tr_em_partial(e, c->a[0], tr_em_tuple(e, c->n - 1, c->a + 1), none, none);
    return true;
}

bool tr_lib_py_refuse(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const char *text = tr_lib_known_text(e, c->a[0]);
    (void)out;
    return tr_em_error(e, "%s", text ? text : "it cannot be compiled for these arguments");
}

/* Classes that stand in isinstance() only. */
bool tr_lib_py_class(tr_em *e, const tr_bcall *c, tr_tv *out) {
    (void)out;
    tr_em_unsupported(e, "class-call", "calls of %s()", tr_fam_name(c));
    tr_em_hint_missing(e, tr_arena_printf(&e->ctx->arena, "'%s'", tr_builtins[c->row].path));
    return false;
}
