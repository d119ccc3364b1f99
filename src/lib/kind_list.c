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

/* tr_em.list: of the list that an operation gives; of another operand; of displays among items, from there
 * on */
enum { NEW_LIST = 1, OTHER_LIST, NESTED };

static const tr_ty *i64_of(tr_em *e) {
    return tr_fam_ty(e, TR_TY_I64);
}

static tr_tv zero(tr_em *e) {
    return tr_em_i64(e, 0);
}

static const tr_ty *array_of(tr_em *e, const tr_ty *item, bool readonly) {
    return tr_ty_array(e->types, tr_ty_as_elem(e->types, item), 1, TR_LAYOUT_C, readonly);
}

bool tr_em_items(tr_em *e, tr_tv list, tr_tv *out) {
    bool set = list.ty->kind == TR_TY_SET;
    assert((set || list.ty->kind == TR_TY_LIST) && "a list has items");
    const tr_ty *item = tr_ty_list_item(e->types, list.ty, true);
    if (!item) {
        *e->waits = true;
        return false;
    }
    bool readonly = set || tr_ty_is_fixed(list.ty);
    *out = tr_lib_emit(e, TR_OP_ITEMS, array_of(e, item, readonly), 1, &list.v);
    return true;
}

void tr_fam_takes_item(tr_em *e, tr_tv list) {
    if (!tr_ty_list_item(e->types, list.ty, false))
        e->ends = true;
}

tr_tv tr_lib_item_at(tr_em *e, tr_tv a, tr_tv at) {
    if (!tr_ty_is_slots(a.ty))
        return tr_em_load(e, a, &at);
    return tr_lib_emit(e, TR_OP_TAKE, a.ty->elem->items[0], 2, (tr_val[]){a.v, tr_em_strong(e, at).v});
}

void tr_lib_put_item(tr_em *e, tr_tv a, tr_tv at, tr_tv x) {
    if (!tr_ty_is_slots(a.ty))
        tr_em_store(e, a, &at, x);
    else if (!e->dry)
        tr_emit3(&e->b, TR_OP_PUT, NULL, a.v, tr_em_strong(e, at).v, x.v);
}

/* What a function of the runtime does to lists that are of one type. */
static void runtime(tr_em *e, tr_rt row, uint32_t n, const tr_tv *x) {
    tr_em_callrt(e, row, NULL, NULL, n, x);
}

static tr_tv length(tr_em *e, tr_tv list) {
    tr_tv a;
    if (e->dry)
        return (tr_tv){i64_of(e), TR_NOVAL};
    return tr_em_items(e, list, &a) ? tr_em_dim(e, a, 0) : zero(e);
}

/* --- what changes it --- */

/* Are there displays in it that are only read? What a partial has by name is none. */
static bool has_displays(const tr_ty *t) {
    if (tr_ty_is_list(t) || t->kind == TR_TY_KEYED)
        return true;
    for (uint32_t i = 0; t->kind != TR_TY_PARTIAL && i < t->n; i++)
        if (has_displays(t->items[i]))
            return true;
    return false;
}

static bool with_lists(tr_em *e, tr_tv x, uint32_t *which, tr_tv *out);

static bool as_dict(tr_em *e, tr_tv x, uint32_t *which, tr_tv *out) {
    uint32_t n = tr_em_keyed_n(x.ty), mine = *which;
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, 2 * n + 1u);
    *which += 2;
    for (uint32_t k = 0; k < n; k++) {
        it[2 * k] = tr_em_item(e, tr_em_item(e, x, 0), k);
        if (!with_lists(e, tr_em_keyed_value(e, x, k), which, &it[2 * k + 1]))
            return false;
    }
    return tr_lib_numbered_dict(e, mine, 2 * n, it, out);
}

/* A display that is only read becomes a list, or a dict, where it is an item of a list, which nobody else has
 * then. */
static bool with_lists(tr_em *e, tr_tv x, uint32_t *which, tr_tv *out) {
    *out = x;
    if (!has_displays(x.ty))
        return true;
    if (x.ty->kind == TR_TY_KEYED)
        return as_dict(e, x, which, out);
    bool list = tr_ty_is_list(x.ty);
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, x.ty->n + 1u);
    const tr_ty **ty = TR_NEW_N(&e->ctx->arena, const tr_ty *, x.ty->n + 1u);
    uint32_t mine = (*which)++;
    for (uint32_t k = 0; k < x.ty->n; k++) {
        if (!with_lists(e, tr_em_item(e, x, k), which, &it[k]))
            return false;
        ty[k] = it[k].ty;
    }
    if (list)
        return tr_em_new_list(e, mine, x.ty->n, it, out);
    *out = tr_em_make(e, tr_ty_like(e->types, x.ty, ty), x.ty->n, it);
    return true;
}

/* Is there a function in it that was made for an item of a comprehension, whose variable is the next item's
 * by the time the function is called? */
static bool outlives_item(const tr_em *e, const tr_ty *t) {
    if (t->kind == TR_TY_CLOSURE && e->prog->funcs.d[t->func].of_item)
        return true;
    for (uint32_t i = 0; i < t->n; i++)
        if (outlives_item(e, t->items[i]))
            return true;
    return false;
}

/* x as an item. */
static bool as_item(tr_em *e, tr_tv list, tr_tv x, uint32_t *which, tr_tv *out) {
    if (!e->packaged && outlives_item(e, x.ty))
        return tr_em_unsupported(e, "closure-late",
                                 "a function or generator that is kept, and uses a variable of the "
                                 "comprehension that it is made in, which the next item changes");
    if (!with_lists(e, x, which, &x))
        return false;
    const tr_ty *strong = tr_ty_told(e->types, tr_ty_strong(e->types, x.ty));
    if (tr_ty_list_takes(e->types, list.ty, x.ty, e->place.span.line, e->opts->promote_numba)) {
        const tr_ty *item = tr_ty_list_item(e->types, list.ty, true);
        if (e->dry) {
            *out = (tr_tv){item, TR_NOVAL};
            return true;
        }
        if (tr_ty_is_scalar(item) && tr_ty_is_scalar(strong)) {
            *out = tr_em_conv(e, x, item);
            return true;
        }
        if (tr_em_coerce(e, x, item, out))
            return true;
    }
    if (!tr_ty_may_be_item(strong))
        return tr_em_unsupported(e, x.ty->kind == TR_TY_EXC ? "exc-value" : "list-items", "a list of %s",
                                 tr_em_tyname(e, x.ty));
    if (!e->dry && e->ctx->nerrs) /* that the items have no type in common has been told */
        return false;
    return tr_em_error(e, "%s cannot be an item of %s", tr_em_tyname(e, x.ty), tr_em_tyname(e, list.ty));
}

bool tr_lib_list_item(tr_em *e, tr_tv list, tr_tv x, tr_tv *out) {
    uint32_t which = NESTED;
    return as_item(e, list, x, &which, out);
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
    if (tr_ty_is_fixed(ty)) /* a copy is no constant */
        ty = tr_ty_list_of(e->types, ty->items[0]);
    tr_tv list = tr_lib_emit(e, TR_OP_NEWLIST, ty, 1, &n.v);
    if (!e->dry)
        tr_at(e->b.fn, list.v)->imm.site = no_room(e);
    return list;
}

bool tr_lib_list_of_n(tr_em *e, const tr_ty *item, tr_tv n, tr_tv *out, tr_tv *items) {
    const tr_ty *ty = e->list(e, NEW_LIST);
    if (!tr_ty_list_takes(e->types, ty, item, e->place.span.line, e->opts->promote_numba))
        return tr_em_error(e, "%s cannot be an item of %s", tr_em_tyname(e, item), tr_em_tyname(e, ty));
    *out = new_of(e, ty, n);
    return tr_em_items(e, *out, items);
}

static bool append(tr_em *e, tr_tv list, tr_tv x) {
    uint32_t which = NESTED;
    if (!as_item(e, list, x, &which, &x))
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

/* The first list of an operation has number 0; displays among what is in it are numbered behind its own. */
bool tr_em_new_list(tr_em *e, uint32_t which, uint32_t n, const tr_tv *x, tr_tv *out) {
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u), a;
    const tr_ty *ty = e->list(e, which);
    uint32_t nested = which < NESTED ? NESTED + (which << 16) : which + 1;
    for (uint32_t k = 0; k < n; k++)
        if (!as_item(e, (tr_tv){ty, TR_NOVAL}, x[k], &nested, &it[k]))
            return false;
    *out = new_of(e, ty, tr_em_i64(e, n));
    if (n && !tr_em_items(e, *out, &a))
        return false;
    for (uint32_t k = 0; k < n; k++)
        tr_lib_put_item(e, a, tr_em_i64(e, k), it[k]);
    return true;
}

bool tr_em_collect_list(tr_em *e, uint32_t which, tr_tv closure, tr_tv it, tr_tv *out) {
    tr_tv none[1];
    tr_tv list = new_of(e, e->list(e, which), zero(e));
    *out = list;
    return tr_em_each(e, tr_em_genexpr(e, closure, it), 0, none, each_append, &list);
}

/* What is in a list, or was, flows into the list that is made of it. */
static bool flows_on(tr_em *e, const tr_ty *to, tr_tv list) {
    const tr_ty *item = tr_ty_list_item(e->types, list.ty, false);
    return !item || tr_ty_list_takes(e->types, to, item, e->place.span.line, e->opts->promote_numba) ||
           tr_em_error(e, "%s cannot be an item of %s", tr_em_tyname(e, item), tr_em_tyname(e, to));
}

/* Appends what is in a list, of which only that many items count, to one of another type. */
static bool add_each(tr_em *e, tr_tv to, tr_tv from) {
    tr_tv none[1];
    if (!tr_ty_list_item(e->types, from.ty, false)) /* there are none, and of no type */
        return true;
    return tr_em_each(e, from, 0, none, each_append, &to);
}

/* Items of a list, so many from a place on with a step, go to a place of another, where nothing is. */
static bool fill(tr_em *e, tr_tv to, tr_tv at, tr_tv from, tr_tv start, tr_tv step, tr_tv n) {
    runtime(e, TR_RT_LIST_FILL, 6, (tr_tv[]){to, at, from, start, step, n});
    return true;
}

/* A list of some of a list's items: slots are copied by the runtime; where they become others, one by one. */
static bool some_slots(tr_em *e, tr_tv list, tr_tv start, tr_tv step, tr_tv n, tr_tv *out) {
    const tr_ty *ty = e->list(e, NEW_LIST);
    if (!flows_on(e, ty, list))
        return false;
    tr_tv part = new_of(e, list.ty, n);
    fill(e, part, zero(e), list, start, step, n);
    *out = part;
    if (e->dry || part.ty == ty) {
        out->ty = ty;
        return true;
    }
    *out = new_of(e, ty, zero(e));
    return add_each(e, *out, part);
}

/* Its items are slots, which those of what flows into it need not be. */
static bool has_slots(tr_em *e, const tr_ty *list) {
    const tr_ty *item = tr_ty_list_item(e->types, list, true);
    return item && !tr_ty_is_scalar(item);
}

/* A list of some of a list's items, an array. */
static bool part_of(tr_em *e, tr_tv list, tr_tv a, tr_tv *out) {
    tr_tv items;
    const tr_ty *ty = e->list(e, NEW_LIST);
    if (!flows_on(e, ty, list))
        return false;
    bool others = has_slots(e, ty);
    tr_tv part = new_of(e, others ? list.ty : ty, tr_em_dim(e, a, 0));
    if (!tr_em_items(e, part, &items) || !tr_lib_map_into(e, items, a))
        return false;
    *out = others ? new_of(e, ty, zero(e)) : part;
    return !others || add_each(e, *out, part);
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
    tr_tv a, list = c->a[0];
    if (!tr_em_items(e, list, &a))
        return false;
    if (tr_ty_is_slots(a.ty))
        return some_slots(e, list, zero(e), tr_em_i64(e, 1), tr_em_dim(e, a, 0), out);
    return part_of(e, list, a, out);
}

/* A list is taken as long as it is now: it may be the one that grows. */
bool tr_lib_list_extend(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv list = c->a[0], it = c->a[1], none[1];
    *out = tr_em_none(e);
    if (it.ty->kind == TR_TY_LIST && !tr_ty_list_item(e->types, it.ty, false))
        return true; /* there are none, and of no type */
    for (uint32_t k = 0; it.ty->kind == TR_TY_TUPLE && k < it.ty->n; k++)
        if (!append(e, list, tr_em_item(e, it, k)))
            return false;
    if (it.ty->kind == TR_TY_TUPLE)
        return true;
    if (it.ty->kind == TR_TY_LIST) {
        tr_tv a;
        if (!tr_em_items(e, it, &a))
            return false;
        if (!tr_ty_is_slots(a.ty)) {
            if (!tr_fam_copy_as(e, a, a.ty->elem, TR_LAYOUT_C, &it))
                return false;
        } else {
            tr_tv n = tr_em_dim(e, a, 0), part = new_of(e, it.ty, n);
            fill(e, part, zero(e), it, zero(e), tr_em_i64(e, 1), n);
            it = part;
        }
    }
    return tr_em_iter(e, it, &it) && tr_em_each(e, it, 0, none, each_append, &list);
}

bool tr_em_list_of(tr_em *e, tr_tv x, tr_tv *out) {
    tr_tv a[2] = {new_of(e, e->list(e, 0), zero(e)), x}, none;
    *out = a[0];
    return tr_lib_list_extend(e, &(tr_bcall){.row = TR_B_L_EXTEND, .n = 2, .a = a}, &none);
}

/* list(), list(x) */
bool tr_lib_py_list(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (tr_fam_given(c->a[0]))
        return tr_em_list_of(e, c->a[0], out);
    *out = new_of(e, e->list(e, 0), zero(e));
    return true;
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
    uint32_t which = NESTED;
    if (!clamped(e, c, c->a[1], n, &at) || !as_item(e, list, c->a[2], &which, &x))
        return false;
    set_length(e, list, tr_em_nsw(e, TR_OP_ADD, n, tr_em_i64(e, 1)));
    if (tr_em_items(e, list, &a) && tr_ty_is_slots(a.ty)) {
        runtime(e, TR_RT_LIST_GAP, 3, (tr_tv[]){list, at, tr_em_i64(e, 1)});
        tr_lib_put_item(e, a, at, x);
        return true;
    }
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
    *out = tr_lib_item_at(e, a, at);
    tr_fam_takes_item(e, list);
    if (tr_ty_is_slots(a.ty)) {
        runtime(e, TR_RT_LIST_CUT, 4, (tr_tv[]){list, at, one, one});
        return true;
    }
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
    if (tr_ty_is_slots(a.ty)) {
        runtime(e, TR_RT_LIST_REVERSE, 1, c->a);
        return true;
    }
    tr_tv n = tr_em_dim(e, a, 0), last = tr_em_nsw(e, TR_OP_SUB, n, tr_em_i64(e, 1));
    tr_axes_part(&x, 0, last, n, tr_em_i64(e, -1));
    tr_tv back = tr_em_view(e, tr_ty_array(e->types, a.ty->elem, 1, TR_LAYOUT_ANY, false), a, &x);
    return tr_fam_copy_as(e, back, a.ty->elem, TR_LAYOUT_C, &back) && tr_lib_map_into(e, a, back);
}

/* typed.List(x): a list like any other. */
bool tr_lib_typed_list(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv none, list = new_of(e, e->list(e, NEW_LIST), zero(e)), a[2] = {list, c->a[0]};
    *out = list;
    return !tr_fam_given(c->a[0]) ||
           tr_lib_list_extend(e, &(tr_bcall){.row = TR_B_L_EXTEND, .n = 2, .a = a}, &none);
}

/* --- items --- */

bool tr_lib_get_list(tr_em *e, tr_tv list, tr_tv i, tr_tv *out) {
    tr_tv a, part, b[3];
    if (!tr_em_items(e, list, &a))
        return false;
    if (i.ty->kind == TR_TY_SLICE && tr_ty_is_slots(a.ty))
        return tr_lib_slice_bounds(e, i, tr_em_dim(e, a, 0), &b[0], &b[1], &b[2]) &&
               some_slots(e, list, b[0], b[2], b[1], out);
    if (i.ty->kind == TR_TY_SLICE)
        return tr_em_getitem(e, a, i, &part) && part_of(e, list, part, out);
    if (!tr_lib_is_place(e, i))
        return tr_em_error(e, "list indices must be integers or slices, not %s", tr_em_tyname(e, i.ty));
    tr_tv at = tr_lib_checked_index(e, i, tr_em_dim(e, a, 0), 0, "list index out of range");
    *out = tr_lib_item_at(e, a, at);
    tr_fam_takes_item(e, list);
    return true;
}

/* Where the items are that an assignment to a slice replaces, or that `del` drops: counted upwards. */
static bool slice_upwards(tr_em *e, tr_tv list, tr_tv slice, tr_tv *b) {
    if (!tr_lib_slice_bounds(e, slice, length(e, list), &b[0], &b[1], &b[2]))
        return false;
    tr_tv down = tr_em_cmp(e, TR_CMP_LT, b[2], zero(e));
    tr_tv last = tr_em_op2(e, TR_OP_MUL, tr_em_op2(e, TR_OP_SUB, b[1], tr_em_i64(e, 1)), b[2]);
    b[0] = tr_em_select(e, down, tr_em_op2(e, TR_OP_ADD, b[0], last), b[0]);
    b[2] = tr_em_select(e, down, tr_em_op1(e, TR_OP_NEG, b[2]), b[2]);
    return true;
}

/* Whether the slice has a step that was written out, and is not 1. */
static bool has_step(tr_em *e, tr_tv slice) {
    int64_t step;
    tr_tv s = tr_em_item(e, slice, 2);
    return !tr_tv_is_none(s) && !(tr_tv_lit_int(s, &step) && step == 1);
}

typedef struct slots {
    tr_tv list, start, step;
} slots;

/* acc: how many have been put. */
static bool each_put(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    const slots *s = user;
    tr_tv a, at = tr_em_op2(e, TR_OP_ADD, s->start, tr_em_op2(e, TR_OP_MUL, acc[0], s->step));
    (void)stop;
    if (!tr_em_items(e, s->list, &a))
        return false;
    tr_lib_put_item(e, a, at, x);
    acc[0] = tr_em_nsw(e, TR_OP_ADD, acc[0], tr_em_i64(e, 1));
    return true;
}

/* What is assigned becomes a list of its own first: it may be of the same list, or raise midway. */
static bool set_slice(tr_em *e, tr_tv list, tr_tv slice, tr_tv v) {
    tr_tv b[3], none, one = tr_em_i64(e, 1), acc = zero(e), given[2] = {new_of(e, list.ty, zero(e)), v};
    if (!tr_lib_list_extend(e, &(tr_bcall){.row = TR_B_L_EXTEND, .n = 2, .a = given}, &none) ||
        !tr_lib_slice_bounds(e, slice, length(e, list), &b[0], &b[1], &b[2]))
        return false;
    tr_tv n = length(e, given[0]);
    if (has_step(e, slice)) {
        tr_tv sizes[2] = {n, b[1]};
        slots s = {list, b[0], b[2]};
        tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, n, b[1]), TR_EXC_VALUE,
                    "attempt to assign sequence of size {0} to extended slice of size {1}", 2, sizes);
        return tr_em_each(e, given[0], 1, &acc, each_put, &s);
    }
    runtime(e, TR_RT_LIST_CUT, 4, (tr_tv[]){list, b[0], one, b[1]});
    set_length(e, list, tr_em_nsw(e, TR_OP_ADD, length(e, list), n));
    runtime(e, TR_RT_LIST_GAP, 3, (tr_tv[]){list, b[0], n});
    return fill(e, list, b[0], given[0], zero(e), one, n);
}

bool tr_lib_del_list(tr_em *e, tr_tv list, tr_tv i) {
    tr_tv b[3], one = tr_em_i64(e, 1);
    if (i.ty->kind == TR_TY_SLICE) {
        if (!slice_upwards(e, list, i, b))
            return false;
    } else {
        if (!tr_lib_is_place(e, i))
            return tr_em_error(e, "list indices must be integers or slices, not %s", tr_em_tyname(e, i.ty));
        b[0] = tr_lib_checked_index(e, i, length(e, list), 0, "list assignment index out of range");
        b[1] = b[2] = one;
    }
    runtime(e, TR_RT_LIST_CUT, 4, (tr_tv[]){list, b[0], b[2], b[1]});
    return true;
}

bool tr_lib_set_list(tr_em *e, tr_tv list, tr_tv i, tr_tv v, bool itself) {
    tr_tv a;
    uint32_t which = NESTED;
    (void)itself;
    if (i.ty->kind == TR_TY_SLICE)
        return set_slice(e, list, i, v);
    if (!tr_lib_is_place(e, i))
        return tr_em_error(e, "list indices must be integers or slices, not %s", tr_em_tyname(e, i.ty));
    if (!as_item(e, list, v, &which, &v) || !tr_em_items(e, list, &a))
        return false;
    tr_tv at = tr_lib_checked_index(e, i, tr_em_dim(e, a, 0), 0, "list assignment index out of range");
    tr_lib_put_item(e, a, at, v);
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
    *out = tr_lib_item_at(e, a, i);
    tr_fam_takes_item(e, list);
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
    *out = tr_lib_item_at(e, a, at);
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
    tr_tv n = tr_em_dim(e, a, 0), m = tr_em_dim(e, b, 0), one = tr_em_i64(e, 1);
    if (tr_ty_is_slots(a.ty) || tr_ty_is_slots(b.ty) || has_slots(e, ty)) {
        bool same = e->dry || (x.ty == ty && y.ty == ty);
        *out = new_of(e, ty, same ? tr_em_nsw(e, TR_OP_ADD, n, m) : zero(e));
        if (!same)
            return add_each(e, *out, x) && add_each(e, *out, y);
        return fill(e, *out, zero(e), x, zero(e), one, n) && fill(e, *out, n, y, zero(e), one, m);
    }
    *out = new_of(e, ty, tr_em_nsw(e, TR_OP_ADD, n, m));
    return tr_em_items(e, *out, &all) && tr_lib_map_into(e, tr_fam_part(e, all, 0, zero(e), n), a) &&
           tr_lib_map_into(e, tr_fam_part(e, all, 0, n, m), b);
}

/* n items, k times: more than can be counted are more than there is memory for. */
static tr_tv repeated_length(tr_em *e, tr_tv n, tr_tv k) {
    tr_tv most = tr_em_op2(e, TR_OP_QUOT, tr_em_i64(e, INT64_MAX), n);
    tr_tv fits = tr_fam_or(e, tr_em_cmp(e, TR_CMP_EQ, n, zero(e)), tr_em_cmp(e, TR_CMP_LE, k, most));
    tr_tv parts[2] = {k, n};
    tr_em_check(e, fits, TR_EXC_MEMORY, "cannot allocate a list of {0} times {1} items", 2, parts);
    return tr_em_op2(e, TR_OP_MUL, k, n);
}

/* The items as rows of a matrix. */
static bool repeat(tr_em *e, tr_tv x, tr_tv k, tr_tv *out) {
    const tr_ty *ty = e->list(e, NEW_LIST);
    tr_tv a, all, shape[2];
    if (!tr_em_items(e, x, &a) || !flows_on(e, ty, x))
        return false;
    shape[0] = tr_em_op2(e, TR_OP_MAX, tr_em_conv(e, k, i64_of(e)), zero(e));
    shape[1] = tr_em_dim(e, a, 0);
    if (tr_ty_is_slots(a.ty) || has_slots(e, ty)) {
        tr_tv once = x;
        if (!e->dry && x.ty != ty) {
            once = new_of(e, ty, zero(e));
            if (!add_each(e, once, x))
                return false;
        }
        *out = new_of(e, ty, repeated_length(e, shape[1], shape[0]));
        runtime(e, TR_RT_LIST_REPEAT, 4, (tr_tv[]){*out, zero(e), once, shape[1]});
        return true;
    }
    *out = new_of(e, ty, repeated_length(e, shape[1], shape[0]));
    if (!tr_em_items(e, *out, &all))
        return false;
    const tr_ty *rows = tr_ty_array(e->types, all.ty->elem, 2, TR_LAYOUT_C, false);
    return tr_em_assign(e, tr_em_restride(e, rows, all, zero(e), shape, NULL), a);
}

tr_answer tr_lib_binary_list(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    bool lx = x.ty->kind == TR_TY_LIST, ly = y.ty->kind == TR_TY_LIST;
    if (op == TR_BIN_ADD && lx && ly)
        return tr_answered(concat(e, x, y, out));
    if (op == TR_BIN_MUL && lx != ly && tr_lib_is_place(e, lx ? y : x))
        return tr_answered(repeat(e, lx ? x : y, lx ? y : x, out));
    return TR_OPEN;
}

/* `l *= k`: the list itself gets longer. */
static bool repeat_itself(tr_em *e, tr_tv x, tr_tv k) {
    tr_tv n = length(e, x);
    k = tr_em_op2(e, TR_OP_MAX, tr_em_conv(e, k, i64_of(e)), zero(e));
    set_length(e, x, repeated_length(e, n, k));
    runtime(e, TR_RT_LIST_REPEAT, 4, (tr_tv[]){x, n, x, n});
    return true;
}

/* `l += x` is l.extend(x), and l. */
bool tr_lib_inplace_list(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv a[2] = {x, y}, none;
    *out = x;
    if (op == TR_BIN_MUL && tr_lib_is_place(e, y))
        return repeat_itself(e, x, y);
    if (op != TR_BIN_ADD)
        return tr_em_error(e, "unsupported operand type(s) for %s=: '%s' and '%s'", tr_lib_sign(op),
                           tr_em_tyname(e, x.ty), tr_em_tyname(e, y.ty));
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

/* How lists compare: by the first two items that are not equal, else by length. */
typedef struct order {
    tr_cmpop op;
} order;

/* acc: are all so far equal; what the first two that are not say. */
static bool each_compared(tr_em *e, tr_tv pair, const void *user, tr_tv *acc, tr_tv *stop) {
    const order *o = user;
    tr_tv x = tr_em_item(e, pair, 0), y = tr_em_item(e, pair, 1), eq, says;
    if (!tr_em_compare(e, TR_CMP_EQ, x, y, &eq) || !tr_em_truth(e, eq, &eq))
        return false;
    eq = tr_em_strong(e, eq);
    if (o->op != TR_CMP_EQ) {
        if (!tr_em_compare(e, o->op, x, y, &says) || !tr_em_truth(e, says, &says))
            return false;
        acc[1] = tr_em_strong(e, says);
    }
    acc[0] = eq;
    *stop = tr_em_op1(e, TR_OP_NOT, eq);
    return true;
}

/* No item was ever put into it, of any type. */
static bool gives_nothing(tr_em *e, tr_tv list) {
    return !tr_ty_list_item(e->types, list.ty, false);
}

static bool in_order(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    order o = {op};
    tr_tv n[2] = {length(e, x), length(e, y)}, acc[2];
    if (gives_nothing(e, x) || gives_nothing(e, y)) {
        *out = tr_em_cmp(e, op, n[0], n[1]);
        return true;
    }
    const tr_ty *ty[2] = {x.ty, y.ty};
    tr_tv both = tr_em_make(e, tr_ty_of(e->types, TR_TY_ZIP, 0, 2, ty), 2, (tr_tv[]){x, y});
    acc[0] = acc[1] = tr_em_strong(e, tr_em_bool(e, true));
    if (!tr_em_each(e, both, op == TR_CMP_EQ ? 1 : 2, acc, each_compared, &o))
        return false;
    tr_tv lengths = tr_em_cmp(e, op, n[0], n[1]);
    *out = op == TR_CMP_EQ ? tr_fam_and(e, acc[0], lengths) : tr_em_select(e, acc[0], lengths, acc[1]);
    return true;
}

/* As many items, and each is equal. */
static bool lists_equal(tr_em *e, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv in[2], n[2], yes = tr_em_strong(e, tr_em_bool(e, true)), all;
    tr_redk both = TR_RED_AND;
    if (!tr_em_items(e, x, &in[0]) || !tr_em_items(e, y, &in[1]))
        return false;
    if (tr_ty_is_slots(in[0].ty) || tr_ty_is_slots(in[1].ty) || gives_nothing(e, x) || gives_nothing(e, y))
        return in_order(e, TR_CMP_EQ, x, y, out);
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
static bool as_list(tr_em *e, tr_tv x, uint32_t which, tr_tv *out) {
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, x.ty->n + 1u);
    *out = x;
    if (x.ty->kind == TR_TY_LIST)
        return true;
    for (uint32_t k = 0; k < x.ty->n; k++)
        it[k] = tr_em_item(e, x, k);
    return tr_em_new_list(e, which, x.ty->n, it, out);
}

tr_answer tr_lib_compare_list(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    bool lx = x.ty->kind == TR_TY_LIST || tr_ty_is_list(x.ty),
         ly = y.ty->kind == TR_TY_LIST || tr_ty_is_list(y.ty);
    if (!lx || !ly)
        return TR_OPEN;
    if (op != TR_CMP_EQ && op != TR_CMP_NE)
        return tr_answered(as_list(e, x, OTHER_LIST, &x) && as_list(e, y, NEW_LIST, &y) &&
                           in_order(e, op, x, y, out));
    return tr_answered(as_list(e, x, OTHER_LIST, &x) && as_list(e, y, NEW_LIST, &y) &&
                       lists_equal(e, x, y, out) &&
                       (op == TR_CMP_EQ || tr_em_unary(e, TR_UN_NOT, *out, out)));
}

/* Of one cell, or of one type. */
bool tr_lib_coerce_list(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out) {
    *out = (tr_tv){to, x.v};
    return e->cells && x.ty->kind == to->kind && tr_ty_join(e->types, x.ty, to, e->opts->promote_numba);
}
