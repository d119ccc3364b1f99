/* Tuples, named tuples and list displays: their items are values side by side, and how many
 * there are is known when compiling. */
#include "lib/fam.h"
#include "lib/kinds.h"

/* --- operators --- */

/* What is put together when compiling has bounds: doubling thirty times is a short program. */
enum { MAX_ITEMS = 1024 };

static bool too_many(tr_em *e) {
    return tr_em_error(e, "a tuple of more than %d items", MAX_ITEMS);
}

bool tr_em_may_grow_to(tr_em *e, uint32_t n) {
    return n <= MAX_ITEMS || too_many(e);
}

bool tr_em_tuple_fits(tr_em *e, uint32_t n, const tr_tv *x) {
    unsigned left = TR_MAX_ITEMS;
    for (uint32_t i = 0; i < n; i++)
        if (!tr_ty_fits(x[i].ty, &left))
            return tr_em_error(e, "tuples of more than %d items in all", TR_MAX_ITEMS);
    return true;
}

static bool tuple_concat(tr_em *e, tr_tv x, tr_tv y, tr_tv *out) {
    uint32_t n = x.ty->n + y.ty->n;
    if (!tr_em_may_grow_to(e, n))
        return false;
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        it[i] = i < x.ty->n ? tr_em_item(e, x, i) : tr_em_item(e, y, i - x.ty->n);
    if (!tr_em_tuple_fits(e, n, it))
        return false;
    *out = tr_em_tuple(e, n, it);
    return true;
}

static bool tuple_repeat(tr_em *e, tr_tv x, int64_t k, tr_tv *out) {
    k = k < 0 ? 0 : k;
    if (x.ty->n && k > MAX_ITEMS / (int64_t)x.ty->n)
        return too_many(e);
    uint32_t n = (uint32_t)k * x.ty->n;
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        it[i] = tr_em_item(e, x, i % x.ty->n);
    if (!tr_em_tuple_fits(e, n, it))
        return false;
    *out = tr_em_tuple(e, n, it);
    return true;
}

tr_answer tr_lib_binary_tuple(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    bool tx = x.ty->kind == TR_TY_TUPLE, ty = y.ty->kind == TR_TY_TUPLE;
    int64_t k;
    if (tr_ty_is_list(x.ty) || tr_ty_is_list(y.ty))
        return TR_OPEN;
    if (tx && ty && op == TR_BIN_ADD)
        return tr_answered(tuple_concat(e, x, y, out));
    if (tx && op == TR_BIN_MUL && tr_tv_lit_int(y, &k))
        return tr_answered(tuple_repeat(e, x, k, out));
    if (!tx || op != TR_BIN_ADD)
        return TR_OPEN;
    tr_lib_op_error(e, op, x.ty, y.ty); /* perhaps of f(a, *y) */
    tr_em_hint(e,
               "only a tuple can follow * or be added to a tuple: the length must be known when compiling");
    return TR_REFUSED;
}

/* Lexicographic comparison of tuples, from the last item back to the first. */
static bool compare_items(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    uint32_t n = x.ty->n < y.ty->n ? x.ty->n : y.ty->n;
    if ((op == TR_CMP_EQ || op == TR_CMP_NE) && x.ty->n != y.ty->n) {
        *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, op == TR_CMP_NE));
        return true;
    }
    int c = (x.ty->n > y.ty->n) - (x.ty->n < y.ty->n);
    tr_tv r = tr_em_bool(e, tr_lib_holds(op, c));
    tr_cmpop strict = op == TR_CMP_LE ? TR_CMP_LT : op == TR_CMP_GE ? TR_CMP_GT : op;
    for (uint32_t i = n; i-- > 0;) {
        tr_tv a = tr_em_item(e, x, i), b = tr_em_item(e, y, i), ne, lt;
        if (!tr_em_compare(e, TR_CMP_NE, a, b, &ne) || !tr_em_compare(e, strict, a, b, &lt))
            return false;
        r = tr_em_select(e, ne, lt, r);
    }
    *out = r;
    return true;
}

tr_answer tr_lib_compare_tuple(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    if (x.ty->kind != TR_TY_TUPLE || y.ty->kind != TR_TY_TUPLE)
        return TR_OPEN;
    if (tr_ty_is_list(x.ty) == tr_ty_is_list(y.ty))
        return tr_answered(compare_items(e, op, x, y, out));
    if (op != TR_CMP_EQ && op != TR_CMP_NE)
        return TR_OPEN;
    *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, op == TR_CMP_NE)); /* a list is no tuple */
    return tr_answered(true);
}

/* Any item equal. */
bool tr_lib_contains_tuple(tr_em *e, tr_tv t, tr_tv x, tr_tv *out) {
    *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, false));
    for (uint32_t i = 0; i < t.ty->n; i++) {
        tr_tv eq;
        int64_t v;
        if (!tr_em_compare(e, TR_CMP_EQ, x, tr_em_item(e, t, i), &eq) || !tr_em_truth(e, eq, &eq))
            return false;
        if (!tr_tv_lit_int(eq, &v))
            *out = tr_em_op2(e, TR_OP_OR, *out, eq);
        else if (v)
            return *out = eq, true;
    }
    return true;
}

bool tr_lib_truth_tuple(tr_em *e, tr_tv t, tr_tv *out) {
    *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, t.ty->n != 0));
    return true;
}

/* --- items --- */

static bool tuple_slice(tr_em *e, tr_tv t, tr_tv s, tr_tv *out) {
    int64_t v[3] = {0, 0, 1}, n = t.ty->n;
    bool none[3];
    for (uint32_t i = 0; i < 3; i++) {
        tr_tv x = {s.ty->items[i], TR_NOVAL};
        none[i] = tr_tv_is_none(x);
        if (!none[i] && !tr_tv_lit_int(x, &v[i]))
            return tr_em_error(e, "a tuple can only be sliced with constants");
    }
    if (v[2] == 0)
        return tr_em_error(e, "slice step cannot be zero");
    int64_t lo = v[2] > 0 ? 0 : -1, hi = v[2] > 0 ? n : n - 1;
    for (int i = 0; i < 2; i++) {
        if (none[i])
            v[i] = (i == 0) == (v[2] > 0) ? lo : hi;
        else {
            if (v[i] < 0)
                v[i] += n;
            v[i] = v[i] < lo ? lo : v[i] > hi ? hi : v[i];
        }
    }
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1);
    uint32_t k = 0;
    for (int64_t i = v[0]; v[2] > 0 ? i < v[1] : i > v[1]; i += v[2])
        it[k++] = tr_em_item(e, t, (uint32_t)i);
    *out = tr_ty_is_list(t.ty) ? tr_em_display(e, k, it) : tr_em_tuple(e, k, it);
    return true;
}

/* x[i] of n values of one type: a tree of selects by the bits of i, the highest first;
 * is_set[b] asks for bit b. What follows takes long over deep chains, and over values that live
 * long: so each half is made after the other. */
static tr_tv by_bits(tr_em *e, uint32_t n, const tr_tv *x, const tr_tv *is_set) {
    if (n == 1)
        return x[0];
    unsigned b = 31u - (unsigned)__builtin_clz(n - 1);
    tr_tv low = by_bits(e, 1u << b, x, is_set), high = by_bits(e, n - (1u << b), x + (1u << b), is_set);
    return tr_em_select(e, is_set[b], high, low);
}

/* Item at a run-time position already in range, of the joined type. */
bool tr_lib_at_tuple(tr_em *e, tr_tv t, tr_tv i, tr_tv *out) {
    if (t.ty->n == 0) { /* who asks has been told that there is none */
        e->ends = true;
        *out = tr_lib_undef(e, tr_ty_scalar(e->types, TR_TY_BOOL));
        return true;
    }
    const tr_ty *j = tr_ty_strong(e->types, t.ty->items[0]);
    for (uint32_t k = 1; j && k < t.ty->n; k++)
        j = tr_ty_join(e->types, j, t.ty->items[k], e->opts->promote_numba);
    if ((!j || j->kind == TR_TY_ONEOF) && tr_lib_one_of(e, t, i, out))
        return true;
    if (!j) {
        tr_em_error(e, "the items of %s have no common type, so one cannot be chosen at run time",
                    tr_em_tyname(e, t.ty));
        tr_em_hint(
            e,
            "use constant indices: write the iterations of the loop out, or call a function for each item");
        return false;
    }
    tr_tv *x = TR_NEW_N(&e->ctx->arena, tr_tv, t.ty->n);
    for (uint32_t k = 0; k < t.ty->n; k++)
        if (!tr_em_coerce(e, tr_em_item(e, t, k), j, &x[k]))
            return false;
    tr_tv is_set[32];
    for (unsigned b = 0; (1u << b) < t.ty->n; b++) {
        tr_tv bit = tr_em_op2(e, TR_OP_AND, i, tr_em_i64(e, (int64_t)1 << b));
        is_set[b] = tr_em_cmp(e, TR_CMP_NE, bit, tr_em_i64(e, 0));
    }
    *out = by_bits(e, t.ty->n, x, is_set);
    return true;
}

bool tr_lib_get_tuple(tr_em *e, tr_tv t, tr_tv i, tr_tv *out) {
    int64_t k;
    if (i.ty->kind == TR_TY_SLICE)
        return tuple_slice(e, t, i, out);
    if (tr_tv_lit_int(i, &k)) {
        if (k < -(int64_t)t.ty->n || k >= (int64_t)t.ty->n)
            return tr_lib_never(e, TR_EXC_INDEX,
                                tr_ty_is_list(t.ty) ? "list index out of range" : "tuple index out of range",
                                out);
        *out = tr_em_item(e, t, (uint32_t)(k < 0 ? k + t.ty->n : k));
        return true;
    }
    if (!tr_lib_is_place(e, i))
        return tr_em_error(e, "tuple indices must be integers or slices, not %s", tr_em_tyname(e, i.ty));
    return tr_lib_at_tuple(
        e, t,
        tr_lib_checked_index(e, i, tr_em_i64(e, t.ty->n), 0,
                             tr_ty_is_list(t.ty) ? "list index out of range" : "tuple index out of range"),
        out);
}

bool tr_lib_set_tuple(tr_em *e, tr_tv t, tr_tv i, tr_tv v, bool itself) {
    tr_lib_set_no(e, t, i, v, itself);
    tr_em_hint(e, "tuples keep their items: make a list, or an array with np.array or np.zeros");
    return false;
}

bool tr_lib_count_tuple(tr_em *e, tr_tv t, tr_tv *n) {
    *n = tr_em_lit(e, tr_obj_int(&e->ctx->arena, t.ty->n));
    return true;
}

bool tr_lib_len_tuple(tr_em *e, tr_tv t, tr_tv *n) {
    return tr_lib_count_tuple(e, t, n);
}
