/* Lists of numbers: a value is the list itself, whoever has it. What it holds is seen through `items`, an
 * array of one axis, so indexing, loops and patterns are an array's; it is asked for anew by each operation,
 * as the items may have moved since.
 *
 * While types are found, what is put into a list flows into its cell (ty/cell.c), and who reads items of
 * which nothing is known yet waits. An iteration has no length: each step asks how long the list is then, as
 * CPython's does. */
#include "lib/fam.h"

#include <assert.h>

#include "lib/kinds.h"

enum { NEW_LIST = 1, OTHER_LIST }; /* tr_em.list: of the list that an operation gives; of another operand */

static const tr_ty *i64_of(tr_em *e) {
    return tr_fam_ty(e, TR_TY_I64);
}

static tr_tv zero(tr_em *e) {
    return tr_em_i64(e, 0);
}

bool tr_em_items(tr_em *e, tr_tv list, tr_tv *out) {
    bool set = list.ty->kind == TR_TY_SET;
    assert((set || list.ty->kind == TR_TY_LIST) && "a list has items");
    const tr_ty *item = tr_ty_list_item(e->types, list.ty, true);
    if (!item) {
        *e->waits = true;
        return false;
    }
    *out = tr_lib_emit(e, TR_OP_ITEMS,
                       tr_ty_array(e->types, tr_ty_as_elem(e->types, item), 1, TR_LAYOUT_C, set), 1, &list.v);
    return true;
}

static tr_tv length(tr_em *e, tr_tv list) {
    tr_tv a;
    if (e->dry)
        return (tr_tv){i64_of(e), TR_NOVAL};
    return tr_em_items(e, list, &a) ? tr_em_dim(e, a, 0) : zero(e);
}

/* --- what changes it --- */

bool tr_lib_list_item(tr_em *e, tr_tv list, tr_tv x, tr_tv *out) {
    if (tr_ty_list_takes(e->types, list.ty, x.ty, e->place.span.line, e->opts->promote_numba)) {
        *out = tr_em_conv(e, x, tr_ty_list_item(e->types, list.ty, true));
        return true;
    }
    if (!tr_ty_is_scalar(tr_ty_strong(e->types, x.ty)))
        return tr_em_unsupported(e, "list-items", "a list of %s", tr_em_tyname(e, x.ty));
    if (!e->dry && e->ctx->nerrs) /* that the items have no type in common has been told */
        return false;
    return tr_em_error(e, "%s cannot be an item of %s", tr_em_tyname(e, x.ty), tr_em_tyname(e, list.ty));
}

static const tr_site *no_room(tr_em *e) {
    return tr_lib_site(e, TR_EXC_MEMORY, "cannot allocate a list of {0} items");
}

static void set_length(tr_em *e, tr_tv list, tr_tv n) {
    if (!e->dry)
        tr_at(e->b.fn, tr_emit2(&e->b, TR_OP_RESIZE, NULL, list.v, n.v))->imm.site = no_room(e);
}

/* A list of n items, which are not initialised: while types are found of what flows into it. */
static tr_tv new_of(tr_em *e, const tr_ty *ty, tr_tv n) {
    tr_tv list = tr_lib_emit(e, TR_OP_NEWLIST, ty, 1, &n.v);
    if (!e->dry)
        tr_at(e->b.fn, list.v)->imm.site = no_room(e);
    return list;
}

static bool append(tr_em *e, tr_tv list, tr_tv x) {
    if (!tr_lib_list_item(e, list, x, &x))
        return false;
    if (!e->dry)
        tr_at(e->b.fn, tr_emit2(&e->b, TR_OP_APPEND, NULL, list.v, x.v))->imm.site = no_room(e);
    return true;
}

static bool each_append(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    (void)acc;
    (void)stop;
    return append(e, *(const tr_tv *)user, x);
}

bool tr_em_new_list(tr_em *e, uint32_t which, uint32_t n, const tr_tv *x, tr_tv *out) {
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u), a;
    const tr_ty *ty = e->list(e, which);
    for (uint32_t k = 0; k < n; k++)
        if (!tr_lib_list_item(e, (tr_tv){ty, TR_NOVAL}, x[k], &it[k]))
            return false;
    *out = new_of(e, ty, tr_em_i64(e, n));
    if (n && !tr_em_items(e, *out, &a))
        return false;
    for (uint32_t k = 0; k < n; k++) {
        tr_tv at = tr_em_i64(e, k);
        tr_em_store(e, a, &at, it[k]);
    }
    return true;
}

bool tr_em_collect_list(tr_em *e, uint32_t which, tr_tv closure, tr_tv it, tr_tv *out) {
    tr_tv gen, none[1];
    tr_tv list = new_of(e, e->list(e, which), zero(e));
    *out = list;
    return tr_em_genexpr(e, closure, it, false, &gen) && tr_em_each(e, gen, 0, none, each_append, &list);
}

/* What is in a list, or was, flows into the list that is made of it. */
static bool flows_on(tr_em *e, const tr_ty *to, tr_tv list) {
    const tr_ty *item = tr_ty_list_item(e->types, list.ty, false);
    return !item || tr_ty_list_takes(e->types, to, item, e->place.span.line, e->opts->promote_numba) ||
           tr_em_error(e, "%s cannot be an item of %s", tr_em_tyname(e, item), tr_em_tyname(e, to));
}

/* A list of some of a list's items, an array. */
static bool part_of(tr_em *e, tr_tv list, tr_tv a, tr_tv *out) {
    tr_tv items;
    const tr_ty *ty = e->list(e, NEW_LIST);
    if (!flows_on(e, ty, list))
        return false;
    *out = new_of(e, ty, tr_em_dim(e, a, 0));
    return tr_em_items(e, *out, &items) && tr_lib_map_into(e, items, a);
}

static bool moved(tr_em *e, tr_tv list, tr_tv to, tr_tv from) {
    tr_tv a;
    if (!tr_em_items(e, list, &a))
        return false;
    tr_tv x[4] = {a, to, from, tr_em_i64(e, tr_ty_size(a.ty->elem))};
    tr_em_callrt(e, TR_RT_LIST_MOVE, NULL, NULL, 4, x);
    return true;
}

/* --- methods --- */

bool tr_lib_list_append(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_em_none(e);
    return append(e, c->a[0], c->a[1]);
}

bool tr_lib_list_clear(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_em_none(e);
    set_length(e, c->a[0], zero(e));
    return true;
}

bool tr_lib_list_copy(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    return tr_em_items(e, c->a[0], &a) && part_of(e, c->a[0], a, out);
}

/* A list is taken as long as it is now: it may be the one that grows. */
bool tr_lib_list_extend(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv list = c->a[0], it = c->a[1], none[1];
    *out = tr_em_none(e);
    if ((it.ty->kind == TR_TY_TUPLE && !it.ty->n) ||
        (it.ty->kind == TR_TY_LIST && !tr_ty_list_item(e->types, it.ty, false)))
        return true; /* there are none, and of no type */
    if (it.ty->kind == TR_TY_LIST &&
        (!tr_em_items(e, it, &it) || !tr_fam_copy_as(e, it, it.ty->elem, TR_LAYOUT_C, &it)))
        return false;
    return tr_em_iter(e, it, &it) && tr_em_each(e, it, 0, none, each_append, &list);
}

/* An index that counts from the end where it is negative, and is moved into range. */
static bool clamped(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv n, tr_tv *out) {
    if (!tr_fam_int(e, c, x, "index", &x))
        return false;
    x = tr_em_op2(e, TR_OP_MAX, tr_lib_wrap(e, x, n), zero(e));
    *out = tr_em_op2(e, TR_OP_MIN, x, n);
    return true;
}

bool tr_lib_list_insert(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv list = c->a[0], n = length(e, list), at, x, a;
    *out = tr_em_none(e);
    if (!clamped(e, c, c->a[1], n, &at) || !tr_lib_list_item(e, list, c->a[2], &x))
        return false;
    set_length(e, list, tr_em_nsw(e, TR_OP_ADD, n, tr_em_i64(e, 1)));
    if (!moved(e, list, tr_em_nsw(e, TR_OP_ADD, at, tr_em_i64(e, 1)), at) || !tr_em_items(e, list, &a))
        return false;
    tr_em_store(e, a, &at, x);
    return true;
}

bool tr_lib_list_pop(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv list = c->a[0], n, a, one = tr_em_i64(e, 1), at;
    if (!tr_em_items(e, list, &a))
        return false;
    n = tr_em_dim(e, a, 0);
    tr_tv left = tr_em_nsw(e, TR_OP_SUB, n, one);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GT, n, zero(e)), TR_EXC_INDEX, "pop from empty list", 0, NULL);
    at = left;
    if (tr_fam_given(c->a[1])) {
        if (!tr_fam_int(e, c, c->a[1], "index", &at))
            return false;
        at = tr_lib_wrap(e, at, n);
        tr_tv ok = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, at, zero(e)), tr_em_cmp(e, TR_CMP_LT, at, n));
        tr_em_check(e, ok, TR_EXC_INDEX, "pop index out of range", 0, NULL);
    }
    *out = tr_em_load(e, a, &at);
    if (tr_fam_given(c->a[1]) && !moved(e, list, at, tr_em_nsw(e, TR_OP_ADD, at, one)))
        return false;
    set_length(e, list, left);
    return true;
}

bool tr_lib_list_reverse(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a;
    tr_axes x = {0};
    *out = tr_em_none(e);
    if (!tr_em_items(e, c->a[0], &a))
        return false;
    tr_tv n = tr_em_dim(e, a, 0), last = tr_em_nsw(e, TR_OP_SUB, n, tr_em_i64(e, 1));
    tr_axes_part(&x, 0, last, n, tr_em_i64(e, -1));
    tr_tv back = tr_em_view(e, tr_ty_array(e->types, a.ty->elem, 1, TR_LAYOUT_ANY, false), a, &x);
    return tr_fam_copy_as(e, back, a.ty->elem, TR_LAYOUT_C, &back) && tr_lib_map_into(e, a, back);
}

/* --- items --- */

bool tr_lib_get_list(tr_em *e, tr_tv list, tr_tv i, tr_tv *out) {
    tr_tv a, part;
    if (!tr_em_items(e, list, &a))
        return false;
    if (i.ty->kind == TR_TY_SLICE)
        return tr_em_getitem(e, a, i, &part) && part_of(e, list, part, out);
    if (!tr_lib_is_index(e, i))
        return tr_em_error(e, "list indices must be integers or slices, not %s", tr_em_tyname(e, i.ty));
    tr_tv at = tr_lib_checked_index(e, i, tr_em_dim(e, a, 0), 0, "list index out of range");
    *out = tr_em_load(e, a, &at);
    return true;
}

bool tr_lib_set_list(tr_em *e, tr_tv list, tr_tv i, tr_tv v, bool itself) {
    tr_tv a;
    (void)itself;
    if (i.ty->kind == TR_TY_SLICE)
        return tr_em_unsupported(e, "list", "an assignment to a slice of a list");
    if (!tr_lib_is_index(e, i))
        return tr_em_error(e, "list indices must be integers or slices, not %s", tr_em_tyname(e, i.ty));
    if (!tr_lib_list_item(e, list, v, &v) || !tr_em_items(e, list, &a))
        return false;
    tr_tv at = tr_lib_checked_index(e, i, tr_em_dim(e, a, 0), 0, "list assignment index out of range");
    tr_em_store(e, a, &at, v);
    return true;
}

bool tr_lib_next_list(tr_em *e, tr_tv list, tr_tv i, tr_tv go, tr_tv *out) {
    tr_tv more = tr_em_cmp(e, TR_CMP_LT, i, length(e, list));
    if (go.ty)
        more = tr_em_op2(e, TR_OP_AND, go, more);
    *out = tr_lib_step(e, more, i, i);
    return true;
}

/* What stood between may have made the list shorter, as in zip(l, map(f, m)). */
bool tr_lib_at_list(tr_em *e, tr_tv list, tr_tv i, tr_tv *out) {
    tr_tv a;
    if (!tr_em_items(e, list, &a))
        return false;
    tr_tv n = tr_em_dim(e, a, 0);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_LT, i, n), TR_EXC_INDEX, "list index out of range", 0, NULL);
    *out = tr_em_load(e, a, &i);
    return true;
}

bool tr_lib_unpack_list(tr_em *e, tr_tv list, uint32_t i, uint32_t n, tr_tv *out) {
    tr_tv a, at = tr_em_i64(e, i);
    if (!tr_em_items(e, list, &a))
        return false;
    tr_tv x[2] = {tr_em_i64(e, n), tr_em_dim(e, a, 0)};
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, x[1], x[0]), TR_EXC_VALUE,
                "not enough values to unpack (expected {0}, got {1})", 2, x);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_LE, x[1], x[0]), TR_EXC_VALUE,
                "too many values to unpack (expected {0})", 1, x);
    *out = tr_em_load(e, a, &at);
    return true;
}

bool tr_lib_len_list(tr_em *e, tr_tv list, tr_tv *n) {
    *n = length(e, list);
    return true;
}

bool tr_lib_truth_list(tr_em *e, tr_tv list, tr_tv *out) {
    *out = tr_em_cmp(e, TR_CMP_NE, length(e, list), zero(e));
    return true;
}

/* --- operators --- */

static bool concat(tr_em *e, tr_tv x, tr_tv y, tr_tv *out) {
    const tr_ty *ty = e->list(e, NEW_LIST);
    tr_tv a, b, all;
    if (!tr_em_items(e, x, &a) || !tr_em_items(e, y, &b) || !flows_on(e, ty, x) || !flows_on(e, ty, y))
        return false;
    tr_tv n = tr_em_dim(e, a, 0), m = tr_em_dim(e, b, 0);
    *out = new_of(e, ty, tr_em_nsw(e, TR_OP_ADD, n, m));
    return tr_em_items(e, *out, &all) && tr_lib_map_into(e, tr_fam_part(e, all, 0, zero(e), n), a) &&
           tr_lib_map_into(e, tr_fam_part(e, all, 0, n, m), b);
}

/* The items as rows of a matrix. */
static bool repeat(tr_em *e, tr_tv x, tr_tv k, tr_tv *out) {
    const tr_ty *ty = e->list(e, NEW_LIST);
    tr_tv a, all, shape[2];
    if (!tr_em_items(e, x, &a) || !flows_on(e, ty, x))
        return false;
    shape[0] = tr_em_op2(e, TR_OP_MAX, tr_em_conv(e, k, i64_of(e)), zero(e));
    shape[1] = tr_em_dim(e, a, 0);
    *out = new_of(e, ty, tr_em_extent_product(e, shape[0], shape[1]));
    if (!tr_em_items(e, *out, &all))
        return false;
    const tr_ty *rows = tr_ty_array(e->types, all.ty->elem, 2, TR_LAYOUT_C, false);
    return tr_em_assign(e, tr_em_restride(e, rows, all, zero(e), shape, NULL), a);
}

tr_answer tr_lib_binary_list(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    bool lx = x.ty->kind == TR_TY_LIST, ly = y.ty->kind == TR_TY_LIST;
    if (op == TR_BIN_ADD && lx && ly)
        return tr_answered(concat(e, x, y, out));
    if (op == TR_BIN_MUL && lx != ly && tr_lib_is_index(e, lx ? y : x))
        return tr_answered(repeat(e, lx ? x : y, lx ? y : x, out));
    return TR_OPEN;
}

/* `l += x` is l.extend(x), and l. */
bool tr_lib_inplace_list(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv a[2] = {x, y}, none;
    if (op != TR_BIN_ADD)
        return tr_em_unsupported(e, "list", "'%s=' on a list", tr_lib_sign(op));
    *out = x;
    return tr_lib_list_extend(e, &(tr_bcall){.row = TR_B_L_EXTEND, .n = 2, .a = a}, &none);
}

static bool lam_equal(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                      tr_tv *yields) {
    (void)d;
    (void)idx;
    (void)caps;
    if (!tr_em_compare(e, TR_CMP_EQ, elems[0], elems[1], &yields[0]))
        return false;
    yields[0] = tr_em_strong(e, yields[0]);
    return true;
}

/* As many items, and each is equal. */
static bool lists_equal(tr_em *e, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv in[2], n[2], yes = tr_em_strong(e, tr_em_bool(e, true)), all;
    tr_redk both = TR_RED_AND;
    if (!tr_em_items(e, x, &in[0]) || !tr_em_items(e, y, &in[1]))
        return false;
    for (int k = 0; k < 2; k++)
        n[k] = tr_em_dim(e, in[k], 0);
    tr_tv few = tr_em_op2(e, TR_OP_MIN, n[0], n[1]);
    for (int k = 0; k < 2; k++)
        in[k] = tr_fam_part(e, in[k], 0, zero(e), few);
    tr_pdesc d = {.nspace = 1,
                  .space = &few,
                  .nin = 2,
                  .in = in,
                  .nred = 1,
                  .reds = &both,
                  .init = &yes,
                  .lam = lam_equal};
    if (!tr_em_pattern(e, &d, &all))
        return false;
    *out = tr_fam_and(e, tr_em_cmp(e, TR_CMP_EQ, n[0], n[1]), all);
    return true;
}

/* A display that is only read is no list, but equal to one. */
static bool as_list(tr_em *e, tr_tv x, tr_tv *out) {
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, x.ty->n + 1u);
    *out = x;
    if (x.ty->kind == TR_TY_LIST)
        return true;
    for (uint32_t k = 0; k < x.ty->n; k++)
        it[k] = tr_em_item(e, x, k);
    return tr_em_new_list(e, OTHER_LIST, x.ty->n, it, out);
}

tr_answer tr_lib_compare_list(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    bool lx = x.ty->kind == TR_TY_LIST || tr_ty_is_list(x.ty),
         ly = y.ty->kind == TR_TY_LIST || tr_ty_is_list(y.ty);
    if (!lx || !ly)
        return TR_OPEN;
    if (op != TR_CMP_EQ && op != TR_CMP_NE)
        return tr_answered(tr_em_unsupported(e, "list", "'%s' of lists", tr_lib_cmp_sign(op)));
    return tr_answered(as_list(e, x, &x) && as_list(e, y, &y) && lists_equal(e, x, y, out) &&
                       (op == TR_CMP_EQ || tr_em_unary(e, TR_UN_NOT, *out, out)));
}

/* Of one cell, or of one type. */
bool tr_lib_coerce_list(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out) {
    *out = (tr_tv){to, x.v};
    return e->cells && x.ty->kind == TR_TY_LIST && tr_ty_join(e->types, x.ty, to, e->opts->promote_numba);
}
