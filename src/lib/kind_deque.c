/* collections.deque: a list whose first item may be anywhere in it, so that both ends come and go in constant
 * time.
 *
 * What has left at the front stays in the list until that is half of it, and is deleted then; where something
 * is to come to the front and there is no place, as many places as there are items are made. Three numbers in
 * an array that all who have the deque share say where the first item is, how many there may be, and how
 * often items came or went, by which a loop knows that it was changed. So a deque is items of a list to
 * loops, indices and equality, and the list knows nothing of it. Weighed: a list whose block says where its
 * first item is (each use of a list's memory would have to know), a ring (two pieces, which no array is).
 * Cost: amortised constant at both ends, as list.append; an item that has left is held until the front is
 * deleted; `del` and what turns the deque take as long as it is. */
#include "lib/families.h"
#include "lib/kinds.h"
#include "lib/table.h"

enum { PLACES = UINT32_C(1) << 12 }; /* tr_em.list: of what fills places before the first item */

static tr_tv list_of(tr_em *e, tr_tv x) {
    return tr_em_item(e, x, 0);
}

static tr_tv number(tr_em *e, tr_tv x, int64_t which) {
    tr_tv at = tr_em_i64(e, which);
    return tr_em_load(e, tr_em_item(e, x, 1), &at);
}

static void set_number(tr_em *e, tr_tv x, int64_t which, tr_tv n) {
    tr_tv at = tr_em_i64(e, which);
    tr_em_store(e, tr_em_item(e, x, 1), &at, n);
}

static tr_tv zero(tr_em *e) {
    return tr_em_i64(e, 0);
}

static tr_tv minus(tr_em *e, tr_tv x, tr_tv y) {
    return tr_em_nsw(e, TR_OP_SUB, x, y);
}

static tr_tv plus(tr_em *e, tr_tv x, tr_tv y) {
    return tr_em_nsw(e, TR_OP_ADD, x, y);
}

static bool all_length(tr_em *e, tr_tv x, tr_tv *n) {
    return tr_lib_len_list(e, list_of(e, x), n);
}

static bool length(tr_em *e, tr_tv x, tr_tv *n) {
    if (!all_length(e, x, n))
        return false;
    *n = minus(e, *n, number(e, x, TR_DEQUE_HEAD));
    return true;
}

static tr_tv slice_to(tr_em *e, tr_tv end) {
    tr_tv it[3] = {tr_em_none(e), end, tr_em_none(e)};
    return tr_em_make(e, tr_ty_slice(e->types, it[0].ty, end.ty, it[2].ty), 3, it);
}

static tr_tv slice_from(tr_em *e, tr_tv begin) {
    tr_tv it[3] = {begin, tr_em_none(e), tr_em_none(e)};
    return tr_em_make(e, tr_ty_slice(e->types, begin.ty, it[1].ty, it[2].ty), 3, it);
}

static void note_change(tr_em *e, tr_tv x) {
    set_number(e, x, TR_DEQUE_CHANGES, plus(e, number(e, x, TR_DEQUE_CHANGES), tr_em_i64(e, 1)));
}

/* --- what makes one --- */

static tr_tv of_list(tr_em *e, tr_tv list, tr_tv most) {
    tr_tv three = tr_em_i64(e, TR_DEQUE_NUMBERS),
          it[2] = {list, tr_em_alloc(e, zero(e).ty, 1, TR_LAYOUT_C, &three)};
    tr_tv x =
        tr_em_make(e, tr_ty_of(e->types, TR_TY_DEQUE, 0, 2, (const tr_ty *[]){it[0].ty, it[1].ty}), 2, it);
    set_number(e, x, TR_DEQUE_HEAD, zero(e));
    set_number(e, x, TR_DEQUE_MOST, most);
    set_number(e, x, TR_DEQUE_CHANGES, zero(e));
    return x;
}

static bool each_append(tr_em *e, tr_tv item, const void *user, tr_tv *acc, tr_tv *stop);

static bool extend(tr_em *e, tr_tv x, tr_tv it, bool left);

/* deque([iterable[, maxlen]]) */
bool tr_lib_py_deque(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv list, most = tr_em_i64(e, -1);
    bool bounded = c->a[1].ty && !tr_tv_is_none(c->a[1]);
    if (bounded) {
        if (!tr_ty_is_int(tr_ty_strong(e->types, c->a[1].ty)))
            return tr_em_error(e, "an integer is required");
        most = tr_em_conv(e, tr_em_strong(e, c->a[1]), zero(e).ty);
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, most, zero(e)), TR_EXC_VALUE, "maxlen must be non-negative", 0,
                    NULL);
    }
    if (!tr_em_new_list(e, TR_TABLE_VALUES, 0, NULL, &list))
        return false;
    *out = of_list(e, list, most);
    return !c->a[0].ty || extend(e, *out, c->a[0], false);
}

bool tr_lib_deque_maxlen(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const tr_ty *t = tr_ty_optional(e->types, zero(e).ty);
    tr_tv most = number(e, c->a[0], TR_DEQUE_MOST), it[2] = {tr_em_cmp(e, TR_CMP_GE, most, zero(e)), most};
    *out = tr_em_make(e, t, 2, it);
    return true;
}

/* --- both ends --- */

static bool delete_front(tr_em *e, const void *user, tr_tv *acc) {
    tr_tv x = *(const tr_tv *)user;
    (void)acc;
    if (!tr_lib_del_list(e, list_of(e, x), slice_to(e, number(e, x, TR_DEQUE_HEAD))))
        return false;
    set_number(e, x, TR_DEQUE_HEAD, zero(e));
    return true;
}

/* The first item goes, which is there. */
static bool drop_first(tr_em *e, tr_tv x) {
    tr_tv head = plus(e, number(e, x, TR_DEQUE_HEAD), tr_em_i64(e, 1)), n, none[1];
    set_number(e, x, TR_DEQUE_HEAD, head);
    if (!all_length(e, x, &n))
        return false;
    tr_tv half = tr_em_cmp(e, TR_CMP_GE, plus(e, head, head), n);
    return tr_fam_when(e, half, 0, none, delete_front, &x);
}

static bool drop_last(tr_em *e, tr_tv x) {
    tr_tv gone;
    tr_bcall c = {.row = TR_B_L_POP, .a = (tr_tv[]){list_of(e, x), {NULL, TR_NOVAL}}, .n = 2};
    return tr_lib_list_pop(e, &c, &gone);
}

static bool drop_one(tr_em *e, const void *user, tr_tv *acc) {
    const tr_tv *x = user; /* the deque, whether it came from the left, which is known */
    (void)acc;
    return x[1].ty ? drop_last(e, x[0]) : drop_first(e, x[0]);
}

typedef struct coming {
    tr_tv x, item;
} coming;

/* Places before the first item: of what comes there first, as anything else of that type would do. */
static bool make_places(tr_em *e, const void *user, tr_tv *acc) {
    const coming *c = user;
    tr_tv n, one, many, list = list_of(e, c->x);
    (void)acc;
    if (!all_length(e, c->x, &n))
        return false;
    n = plus(e, n, tr_em_i64(e, 4));
    if (!tr_em_new_list(e, PLACES, 1, &c->item, &one) || !tr_em_binary(e, TR_BIN_MUL, one, n, &many) ||
        !tr_lib_set_list(e, list, slice_to(e, zero(e)), many, false))
        return false;
    set_number(e, c->x, TR_DEQUE_HEAD, n);
    return true;
}

static bool add(tr_em *e, tr_tv x, tr_tv item, bool left) {
    tr_tv none[1], n, a, list = list_of(e, x), most;
    if (left) {
        if (!tr_lib_list_item(e, list, item, &item))
            return false;
        coming c = {x, item};
        if (!tr_fam_when(e, tr_em_cmp(e, TR_CMP_EQ, number(e, x, TR_DEQUE_HEAD), zero(e)), 0, none,
                         make_places, &c) ||
            !tr_em_items(e, list, &a))
            return false;
        tr_tv head = minus(e, number(e, x, TR_DEQUE_HEAD), tr_em_i64(e, 1));
        tr_lib_put_item(e, a, head, item);
        set_number(e, x, TR_DEQUE_HEAD, head);
    } else {
        tr_bcall c = {.row = TR_B_L_APPEND, .a = (tr_tv[]){list, item}, .n = 2};
        if (!tr_lib_list_append(e, &c, &a))
            return false;
    }
    note_change(e, x);
    if (!length(e, x, &n))
        return false;
    most = number(e, x, TR_DEQUE_MOST);
    tr_tv over = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, most, zero(e)), tr_em_cmp(e, TR_CMP_GT, n, most));
    tr_tv of[2] = {x, left ? x : (tr_tv){NULL, TR_NOVAL}};
    return tr_fam_when(e, over, 0, none, drop_one, of);
}

/* aux: 1 at the left end */
bool tr_lib_deque_append(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_em_none(e);
    return add(e, c->a[0], c->a[1], c->aux);
}

bool tr_lib_deque_pop(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0], list = list_of(e, x), n, a, head = number(e, x, TR_DEQUE_HEAD);
    if (!all_length(e, x, &n))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_LT, head, n), TR_EXC_INDEX, "pop from an empty deque", 0, NULL);
    if (!tr_em_items(e, list, &a))
        return false;
    *out = tr_lib_item_at(e, a, c->aux ? head : minus(e, n, tr_em_i64(e, 1)));
    tr_fam_takes_item(e, list);
    note_change(e, x);
    return c->aux ? drop_first(e, x) : drop_last(e, x);
}

static bool each_append(tr_em *e, tr_tv item, const void *user, tr_tv *acc, tr_tv *stop) {
    const tr_tv *x = user; /* the deque, whether to its left, which is known */
    (void)acc, (void)stop;
    return add(e, x[0], item, x[1].ty != NULL);
}

/* What a deque is extended by may be itself: what it has now, then. */
static bool extend(tr_em *e, tr_tv x, tr_tv it, bool left) {
    tr_tv none[1], of[2] = {x, left ? x : (tr_tv){NULL, TR_NOVAL}};
    if (it.ty->kind == TR_TY_DEQUE &&
        !tr_lib_get_list(e, list_of(e, it), slice_from(e, number(e, it, TR_DEQUE_HEAD)), &it))
        return false;
    return tr_table_gives_nothing(e, it) ||
           (tr_em_iter(e, it, &it) && tr_em_each(e, it, 0, none, each_append, of));
}

bool tr_lib_deque_extend(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_em_none(e);
    return extend(e, c->a[0], c->a[1], c->aux);
}

bool tr_lib_deque_clear(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_bcall of = {.row = TR_B_L_CLEAR, .a = (tr_tv[]){list_of(e, c->a[0])}, .n = 1};
    tr_tv n;
    if (!length(e, c->a[0], &n))
        return false;
    n = tr_em_select(e, tr_em_cmp(e, TR_CMP_NE, n, zero(e)), tr_em_i64(e, 1),
                     zero(e)); /* one that is empty stays so */
    set_number(e, c->a[0], TR_DEQUE_CHANGES, plus(e, number(e, c->a[0], TR_DEQUE_CHANGES), n));
    set_number(e, c->a[0], TR_DEQUE_HEAD, zero(e));
    return tr_lib_list_clear(e, &of, out);
}

bool tr_lib_deque_items(tr_em *e, tr_tv x, tr_tv *out) {
    return tr_lib_get_list(e, list_of(e, x), slice_from(e, number(e, x, TR_DEQUE_HEAD)), out);
}

bool tr_lib_deque_copy(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv list;
    if (!tr_lib_deque_items(e, c->a[0], &list))
        return false;
    *out = of_list(e, list, number(e, c->a[0], TR_DEQUE_MOST));
    return true;
}

/* --- what any sequence is asked --- */

bool tr_lib_len_deque(tr_em *e, tr_tv x, tr_tv *n) {
    return length(e, x, n);
}

bool tr_lib_truth_deque(tr_em *e, tr_tv x, tr_tv *out) {
    tr_tv n;
    if (!length(e, x, &n))
        return false;
    *out = tr_em_cmp(e, TR_CMP_NE, n, zero(e));
    return true;
}

/* Where in the list item i is. */
static bool place_of(tr_em *e, tr_tv x, tr_tv i, tr_tv *at) {
    tr_tv n;
    if (!tr_ty_is_int(tr_ty_strong(e->types, i.ty)) && tr_ty_strong(e->types, i.ty)->kind != TR_TY_BOOL)
        return tr_em_error(e, "sequence index must be integer, not '%s'", tr_em_tyname(e, i.ty));
    i = tr_em_conv(e, tr_em_strong(e, i), zero(e).ty);
    if (!length(e, x, &n))
        return false;
    i = tr_em_select(e, tr_em_cmp(e, TR_CMP_LT, i, zero(e)), plus(e, i, n), i);
    tr_tv in = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, i, zero(e)), tr_em_cmp(e, TR_CMP_LT, i, n));
    tr_em_check(e, in, TR_EXC_INDEX, "deque index out of range", 0, NULL);
    *at = plus(e, i, number(e, x, TR_DEQUE_HEAD));
    return true;
}

bool tr_lib_get_deque(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    tr_tv at, a;
    if (!place_of(e, x, i, &at) || !tr_em_items(e, list_of(e, x), &a))
        return false;
    *out = tr_lib_item_at(e, a, at);
    tr_fam_takes_item(e, list_of(e, x));
    return true;
}

bool tr_lib_set_deque(tr_em *e, tr_tv x, tr_tv i, tr_tv v, bool itself) {
    tr_tv at, a;
    (void)itself;
    if (!place_of(e, x, i, &at) || !tr_lib_list_item(e, list_of(e, x), v, &v) ||
        !tr_em_items(e, list_of(e, x), &a))
        return false;
    tr_lib_put_item(e, a, at, v);
    return true;
}

bool tr_lib_del_deque(tr_em *e, tr_tv x, tr_tv i) {
    tr_tv at;
    if (!place_of(e, x, i, &at) || !tr_lib_del_list(e, list_of(e, x), at))
        return false;
    note_change(e, x);
    return true;
}

/* A deque as bounded as x of what is in a list. */
static bool bounded_as(tr_em *e, tr_tv x, tr_tv items, tr_tv *out) {
    tr_tv list;
    if (!tr_em_new_list(e, TR_TABLE_VALUES, 0, NULL, &list))
        return false;
    *out = of_list(e, list, number(e, x, TR_DEQUE_MOST));
    return extend(e, *out, items, false);
}

tr_answer tr_lib_binary_deque(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    bool dx = x.ty->kind == TR_TY_DEQUE, dy = y.ty->kind == TR_TY_DEQUE;
    tr_tv a, b, both;
    if (op == TR_BIN_ADD && dx && dy)
        return tr_answered(tr_lib_deque_items(e, x, &a) && tr_lib_deque_items(e, y, &b) &&
                           tr_em_binary(e, TR_BIN_ADD, a, b, &both) && bounded_as(e, x, both, out));
    if (op == TR_BIN_MUL && dx != dy && tr_lib_is_place(e, dx ? y : x))
        return tr_answered(tr_lib_deque_items(e, dx ? x : y, &a) &&
                           tr_em_binary(e, TR_BIN_MUL, a, dx ? y : x, &both) &&
                           bounded_as(e, dx ? x : y, both, out));
    return TR_OPEN;
}

/* `d += x` is d.extend(x), `d *= n` empties it and adds its items n times; and d. */
bool tr_lib_inplace_deque(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv a, many, none;
    *out = x;
    if (op == TR_BIN_ADD)
        return extend(e, x, y, false);
    if (op == TR_BIN_MUL && tr_lib_is_place(e, y))
        return tr_lib_deque_items(e, x, &a) && tr_em_binary(e, TR_BIN_MUL, a, y, &many) &&
               tr_lib_deque_clear(e, &(tr_bcall){.a = &x, .n = 1}, &none) && extend(e, x, many, false);
    return tr_em_error(e, "unsupported operand type(s) for %s=: '%s' and '%s'", tr_lib_sign(op),
                       tr_em_tyname(e, x.ty), tr_em_tyname(e, y.ty));
}

bool tr_lib_contains_deque(tr_em *e, tr_tv x, tr_tv item, tr_tv *out) {
    tr_tv it;
    return tr_em_iter(e, x, &it) && tr_lib_contains_items(e, it, item, out);
}

tr_answer tr_lib_compare_deque(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv a, b;
    if (x.ty->kind != TR_TY_DEQUE || y.ty->kind != TR_TY_DEQUE)
        return TR_OPEN;
    return tr_answered(tr_lib_deque_items(e, x, &a) && tr_lib_deque_items(e, y, &b) &&
                       tr_em_compare(e, op, a, b, out));
}

/* --- iteration: by position, as long as there are as many items --- */

bool tr_lib_next_in_deque(tr_em *e, tr_tv it, tr_tv i, tr_tv go, tr_tv *out) {
    tr_tv x = tr_em_item(e, it, 0), n, more;
    if (!length(e, x, &n))
        return false;
    tr_tv same = tr_em_cmp(e, TR_CMP_EQ, number(e, x, TR_DEQUE_CHANGES), tr_em_item(e, it, 1));
    if (go.ty)
        same = tr_fam_or(e, same, tr_fam_not(e, tr_em_strong(e, go)));
    tr_em_check(e, same, TR_EXC_RUNTIME, "deque mutated during iteration", 0, NULL);
    more = tr_em_cmp(e, TR_CMP_LT, i, n);
    if (go.ty)
        more = tr_fam_and(e, tr_em_strong(e, go), more);
    *out = tr_lib_step(e, more, i, i);
    return true;
}

bool tr_lib_at_in_deque(tr_em *e, tr_tv x, tr_tv place, tr_tv *out) {
    tr_tv n, a;
    if (!length(e, x, &n) || !tr_em_items(e, list_of(e, x), &a))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_LT, place, n), TR_EXC_RUNTIME, "deque mutated during iteration", 0,
                NULL);
    *out = tr_lib_item_at(e, a, plus(e, place, number(e, x, TR_DEQUE_HEAD)));
    tr_fam_takes_item(e, list_of(e, x));
    return true;
}
