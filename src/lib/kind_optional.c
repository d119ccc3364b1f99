/* Optionals: None or a value, which one run time knows. Most operations want the value (tr_em_value). */
#include "lib/kinds.h"

#include <assert.h>

#include "lib/priv.h"

/* What stands for the value of an optional that is None: zeros, an array of no items and no memory. */
static tr_tv zeros(tr_em *e, const tr_ty *t) {
    if (tr_ty_is_scalar(t))
        return tr_em_num(e, t, 0.0);
    if (t->kind != TR_TY_TUPLE && t->kind != TR_TY_OPT)
        return (tr_tv){t, e->dry ? TR_NOVAL : tr_const_undef(e->b.fn, t)};
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, t->n + 1u);
    for (uint32_t i = 0; i < t->n; i++)
        it[i] = zeros(e, t->items[i]);
    return tr_em_make(e, t, t->n, it);
}

bool tr_lib_coerce_held(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out) {
    assert(to->kind == TR_TY_OPT && to->n == 2 && "the cell is of the kind that is coerced to");
    tr_tv it[2] = {tr_em_bool(e, !tr_tv_is_none(x)), {NULL, TR_NOVAL}};
    if (tr_tv_is_none(x)) {
        it[1] = zeros(e, to->items[1]);
    } else {
        if (x.ty->kind == TR_TY_OPT)
            it[0] = tr_em_item(e, x, 0);
        if (!tr_em_coerce(e, x.ty->kind == TR_TY_OPT ? tr_em_item(e, x, 1) : x, to->items[1], &it[1]))
            return false;
    }
    *out = tr_em_make(e, to, 2, it);
    return true;
}

/* A question about values, of which there may be none. */
typedef bool (*asking)(tr_em *e, const tr_tv *x, tr_tv *out);

/* The answer where `some`, else false. What a container is asked looks at its block, which is only there
 * then. */
static bool where(tr_em *e, tr_tv some, asking ask, const tr_tv *x, tr_tv *out) {
    const tr_ty *b = tr_ty_scalar(e->types, TR_TY_BOOL);
    tr_tv yes;
    if (e->dry || (!tr_ty_has_lists(x[0].ty) && !(x[1].ty && tr_ty_has_lists(x[1].ty)))) {
        if (!ask(e, x, &yes))
            return false;
        *out = tr_em_op2(e, TR_OP_AND, some, tr_em_conv(e, yes, b));
        return true;
    }
    tr_fn *f = e->b.fn;
    tr_bid there = tr_blk_new(f), none = tr_blk_new(f), join = tr_blk_new(f);
    tr_cbr(&e->b, some.v, there, 0, NULL, none, 0, NULL);
    e->b.blk = there;
    if (!ask(e, x, &yes))
        return false;
    yes = tr_em_conv(e, yes, b);
    tr_br(&e->b, join, 1, &yes.v);
    e->b.blk = none;
    yes = tr_em_strong(e, tr_em_bool(e, false));
    tr_br(&e->b, join, 1, &yes.v);
    e->b.blk = join;
    *out = (tr_tv){b, tr_blk_param(f, join, b, NULL)};
    return true;
}

static bool ask_truth(tr_em *e, const tr_tv *x, tr_tv *out) {
    return tr_em_truth(e, x[0], out);
}

static bool ask_equal(tr_em *e, const tr_tv *x, tr_tv *out) {
    return tr_em_compare(e, TR_CMP_EQ, x[0], x[1], out);
}

/* An array, or one in a tuple: not such as lie in lists, whose == is a list's. */
static bool has_plain_arrays(const tr_ty *t) {
    return !tr_ty_has_lists(t) && t->kind != TR_TY_STRING && tr_ty_has_arrays(t);
}

/* == of values one of which may be None, which equals itself alone. */
static bool equal_optional(tr_em *e, tr_tv x, tr_tv y, tr_tv *out) {
    bool ox = x.ty->kind == TR_TY_OPT, oy = y.ty->kind == TR_TY_OPT;
    const tr_ty *tx = ox ? x.ty->items[1] : x.ty, *ty = oy ? y.ty->items[1] : y.ty;
    if (has_plain_arrays(tx) || has_plain_arrays(ty)) { /* an array's == is an array, that of None no */
        tr_em_error(e, "== and != of %s", tr_em_tyname(e, ox ? x.ty : y.ty));
        tr_em_hint(e, "ask `is None` first: beyond that it is an array");
        return false;
    }
    tr_tv eq, both, v[2] = {ox ? tr_em_item(e, x, 1) : x, oy ? tr_em_item(e, y, 1) : y};
    tr_tv hx = ox ? tr_em_item(e, x, 0) : tr_em_bool(e, true),
          hy = oy ? tr_em_item(e, y, 0) : tr_em_bool(e, true);
    if (tr_tv_is_none(x) || tr_tv_is_none(y))
        return tr_em_is(e, false, x, y, out);
    both = tr_em_op2(e, TR_OP_AND, hx, hy);
    if (!where(e, both, ask_equal, v, &eq))
        return false;
    *out = tr_em_select(e, both, eq, tr_em_cmp(e, TR_CMP_EQ, hx, hy));
    return true;
}

tr_answer tr_lib_compare_held(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    if (op != TR_CMP_EQ && op != TR_CMP_NE)
        return TR_OPEN;
    return tr_answered(equal_optional(e, x, y, out) &&
                       (op == TR_CMP_EQ || tr_em_unary(e, TR_UN_NOT, *out, out)));
}

bool tr_lib_truth_held(tr_em *e, tr_tv x, tr_tv *out) {
    assert(x.ty->kind == TR_TY_OPT && x.ty->n == 2 && "whether it is a value, and which");
    return where(e, tr_em_item(e, x, 0), ask_truth, (tr_tv[2]){tr_em_item(e, x, 1)}, out);
}
