/* Unpacking: what targets that are written as a tuple ask of what they are assigned. Of a tuple they are its
 * items, and a wrong number of them is told when the function compiles; of what else can be iterated they are
 * asked for one by one, and a wrong number raises. */
#include <assert.h>

#include "lib/kinds.h"
#include "lib/priv.h"
#include "lib/table.h"

/* --- unpacking --- */

/* How many items `x` has, for who wants n. */
static bool check_number(tr_em *e, tr_tv x, uint32_t n) {
    tr_tv d, want = tr_em_i64(e, n), v[2];
    if (!tr_em_iterlen(e, x, &d))
        return false;
    if (tr_lib_is_text(x)) {
        v[0] = want;
        v[1] = d;
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, d, want), TR_EXC_VALUE,
                    "not enough values to unpack (expected {0}, got {1})", 2, v);
        tr_em_check(e, tr_em_cmp(e, TR_CMP_LE, d, want), TR_EXC_VALUE,
                    "too many values to unpack (expected {0})", 1, v);
        return true;
    }
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, tr_em_strong(e, d), want), TR_EXC_VALUE,
                "cannot unpack {0} items into {1}", 2, (tr_tv[]){d, want});
    return true;
}

/* From what remembers where it is: the next one, and behind the last that there are no more. */
static bool unpack_next(tr_em *e, tr_tv x, uint32_t i, uint32_t n, tr_tv *out) {
    tr_tv none = tr_em_none(e), step, got = tr_em_i64(e, i), want = tr_em_i64(e, n);
    if (!tr_em_next(e, x, none, got, &step))
        return false;
    tr_em_check(e, tr_em_item(e, step, TR_STEP_MORE), TR_EXC_VALUE,
                "not enough values to unpack (expected {0}, got {1})", 2, (tr_tv[]){want, got});
    if (!tr_em_iterget(e, x, tr_em_item(e, step, TR_STEP_PLACE), out))
        return false;
    if (i + 1 < n)
        return true;
    if (!tr_em_next(e, x, none, want, &step))
        return false;
    tr_em_check(e, tr_em_op1(e, TR_OP_NOT, tr_em_item(e, step, TR_STEP_MORE)), TR_EXC_VALUE,
                "too many values to unpack (expected {0})", 1, &want);
    return true;
}

/* From a set, a dict or a view of one: each target goes to its entry from the first one on. */
static bool unpack_table(tr_em *e, tr_tv x, uint32_t i, uint32_t n, tr_tv *out) {
    tr_tv none = tr_em_none(e), step, at = tr_em_i64(e, 0), v[2] = {tr_em_i64(e, n), tr_em_item(e, x, 1)};
    tr_tv of = tr_em_item(e, x, 0);
    if (of.ty->kind == TR_TY_DEQUE && !tr_lib_kind(of.ty)->len(e, of, &v[1])) /* it has its changes there */
        return false;
    if (i == 0) {
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, v[1], v[0]), TR_EXC_VALUE,
                    "not enough values to unpack (expected {0}, got {1})", 2, v);
        tr_em_check(e, tr_em_cmp(e, TR_CMP_LE, v[1], v[0]), TR_EXC_VALUE,
                    "too many values to unpack (expected {0})", 1, v);
    }
    for (uint32_t k = 0; k <= i; k++) {
        if (!tr_em_next(e, x, none, at, &step))
            return false;
        at = tr_em_nsw(e, TR_OP_ADD, tr_em_item(e, step, TR_STEP_PLACE), tr_em_i64(e, 1));
    }
    return tr_em_iterget(e, x, tr_em_item(e, step, TR_STEP_PLACE), out);
}

bool tr_em_unpack(tr_em *e, tr_tv x, uint32_t i, uint32_t n, tr_tv *out) {
    if (x.ty->kind == TR_TY_TUPLE) {
        if (x.ty->n != n && tr_ty_is_list(x.ty)) /* what a list is found to have only when it runs */
            return tr_lib_never(e, TR_EXC_VALUE,
                                tr_arena_printf(&e->ctx->arena,
                                                x.ty->n < n
                                                    ? "not enough values to unpack (expected %u, got %u)"
                                                    : "too many values to unpack (expected %u)",
                                                n, x.ty->n),
                                out);
        if (x.ty->n != n)
            return tr_em_error(e, "cannot unpack %u items into %u", x.ty->n, n);
        *out = tr_em_item(e, x, i);
        return true;
    }
    if (x.ty->kind == TR_TY_LIST)
        return tr_lib_unpack_list(e, x, i, n, out);
    if (!tr_em_iter(e, x, &x))
        return false;
    if (x.ty->kind == TR_TY_WALK)
        return unpack_table(e, x, i, n, out);
    if (tr_lib_is_once(x))
        return unpack_next(e, x, i, n, out);
    return (i > 0 || check_number(e, x, n)) && tr_em_iterget(e, x, tr_em_i64(e, i), out);
}

/* --- unpacking with a star --- */

static bool star_of_tuple(tr_em *e, tr_tv x, uint32_t i, uint32_t before, uint32_t after, tr_tv *out) {
    uint32_t n = x.ty->n, rest = n - before - after;
    if (n < before + after)
        return tr_lib_never(e, TR_EXC_VALUE,
                            tr_arena_printf(&e->ctx->arena,
                                            "not enough values to unpack (expected at least %u, got %u)",
                                            before + after, n),
                            out);
    if (i != before) {
        *out = tr_em_item(e, x, i < before ? i : i - 1 + rest);
        return true;
    }
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, rest + 1u);
    const tr_ty **t = TR_NEW_N(&e->ctx->arena, const tr_ty *, rest + 1u);
    for (uint32_t k = 0; k < rest; k++) {
        it[k] = tr_em_item(e, x, before + k);
        t[k] = it[k].ty;
    }
    *out = tr_em_make(e, tr_ty_list(e->types, rest, t), rest, it);
    return true;
}

/* The items of a range from position `from` up to `end`, as an array. */
static bool star_range(tr_em *e, tr_tv r, tr_tv from, tr_tv end, tr_tv *out) {
    tr_tv n = tr_em_op2(e, TR_OP_SUB, end, from), first = tr_em_op2(e, TR_OP_MUL, from, tr_em_item(e, r, 2));
    first = tr_em_op2(e, TR_OP_ADD, tr_em_item(e, r, 0), first);
    return tr_em_builtin(e, TR_B_NP_ARANGE, (tr_tv){NULL, TR_NOVAL}, &(tr_args){1, &n, 0, NULL}, out) &&
           tr_em_binary(e, TR_BIN_MUL, *out, tr_em_item(e, r, 2), out) &&
           tr_em_binary(e, TR_BIN_ADD, *out, first, out);
}

/* The items from position `from` up to `end` of an array: a list of numbers is a copy of them; where items
 * are views themselves, so are those of a slice. */
static bool star_slice(tr_em *e, tr_tv x, tr_tv from, tr_tv end, tr_tv *out) {
    if (x.ty->kind == TR_TY_RANGE)
        return star_range(e, x, from, end, out);
    tr_tv it[3] = {from, end, tr_em_none(e)}, view, copy;
    tr_tv slice = tr_em_make(e, tr_ty_slice(e->types, from.ty, end.ty, it[2].ty), 3, it);
    if (!tr_em_getitem(e, x, slice, &view))
        return false;
    *out = view;
    bool numbers = (x.ty->kind == TR_TY_ARRAY && x.ty->ndim == 1) ||
                   (x.ty->kind == TR_TY_DATES && x.ty->items[0]->ndim == 1);
    return !numbers ||
           (tr_em_getattr(e, view, "copy", &copy) && e->call(e, copy, &(tr_args){0, NULL, 0, NULL}, out));
}

bool tr_em_unpack_star(tr_em *e, tr_tv x, uint32_t i, uint32_t before, uint32_t after, bool only_read,
                       tr_tv *out) {
    tr_tv n, need = tr_em_i64(e, before + after);
    assert(i <= before + after && "one of the variables that it binds");
    if (x.ty->kind == TR_TY_TUPLE)
        return star_of_tuple(e, x, i, before, after, out) &&
               (i != before || only_read || tr_em_list_of(e, *out, out));
    if (x.ty->kind == TR_TY_DEQUE && !tr_lib_deque_items(e, x, &x))
        return false;
    if (!tr_em_iter(e, x, &x))
        return false;
    bool list = x.ty->kind == TR_TY_LIST;
    if (list ? !tr_lib_len_list(e, x, &n) : !tr_em_iterlen(e, x, &n))
        return false;
    n = tr_em_strong(e, n);
    if (i == 0)
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, n, need), TR_EXC_VALUE,
                    "not enough values to unpack (expected at least {0}, got {1})", 2, (tr_tv[]){need, n});
    if (i < before)
        return tr_em_iterget(e, x, tr_em_i64(e, i), out);
    tr_tv from = tr_em_i64(e, before), end = tr_em_nsw(e, TR_OP_SUB, n, tr_em_i64(e, after)), part;
    if (i == before && list) {
        tr_tv it[3] = {from, end, tr_em_none(e)};
        return tr_lib_get_list(e, x, tr_em_make(e, tr_ty_slice(e->types, from.ty, end.ty, it[2].ty), 3, it),
                               out);
    }
    if (i == before && only_read)
        return star_slice(e, x, from, end, out);
    if (i == before)
        return star_slice(e, x, from, end, &part) && tr_em_list_of(e, part, out);
    return tr_em_iterget(e, x, tr_em_nsw(e, TR_OP_SUB, n, tr_em_i64(e, before + 1 + after - i)), out);
}
