/* Classes of Python's collections that are a dict, and frozenset, which is a set: the same blocks under
 * another name (FACED, FROZEN), so whoever has no rule of its own here asks what is inside.
 *
 * A Counter gives 0 for a key that is not there, a defaultdict makes a value and enters it, an OrderedDict
 * equals another one only in the same order. What makes a defaultdict's values is part of its type: a class
 * of Python's, which its form names, or a function, which is a value beside the dict.
 * Cost: none beside the dict's. */
#include <assert.h>
#include <string.h>

#include "lib/families.h"
#include "lib/kinds.h"
#include "lib/table.h"

static tr_tv inner(tr_em *e, tr_tv x) {
    return tr_em_item(e, x, 0);
}

static bool is_faced(tr_tv x) {
    return x.ty->kind == TR_TY_FACED;
}

static bool is_counter(tr_tv x) {
    return is_faced(x) && x.ty->sub == TR_FACE_COUNTER;
}

/* A dict as of the class of `like`, or a set as a frozenset. */
static tr_tv like(tr_em *e, tr_tv x, tr_tv d) {
    tr_tv it[2] = {d};
    const tr_ty *ty[2] = {d.ty, x.ty->n > 1 ? x.ty->items[1] : NULL};
    if (x.ty->n > 1)
        it[1] = tr_em_item(e, x, 1);
    return tr_em_make(e, tr_ty_of(e->types, (tr_tyk)x.ty->kind, x.ty->sub, x.ty->n, ty), x.ty->n, it);
}

static tr_tv faced(tr_em *e, tr_tyk kind, unsigned form, tr_tv x) {
    return tr_em_make(e, tr_ty_of(e->types, kind, form, 1, &x.ty), 1, &x);
}

/* --- counting --- */

typedef struct counts {
    tr_tv d;
    tr_binop op; /* what joins a number to the one that is there: +, - */
} counts;

static bool count_of(tr_em *e, tr_tv d, tr_tv k, tr_tv *n) {
    tr_bcall c = {.a = (tr_tv[]){d, k, tr_em_num(e, tr_fam_ty(e, TR_TY_I64), 0)}, .n = 3};
    return tr_lib_dict_get(e, &c, n);
}

static bool join_count(tr_em *e, const counts *to, tr_tv k, tr_tv n) {
    tr_tv was;
    return count_of(e, to->d, k, &was) && tr_em_binary(e, to->op, was, n, &n) &&
           tr_lib_set_dict(e, to->d, k, n, false);
}

static bool each_one(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    (void)acc, (void)stop;
    return join_count(e, user, x, tr_em_i64(e, 1));
}

static bool each_count(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    (void)acc, (void)stop;
    return join_count(e, user, tr_em_item(e, x, 0), tr_em_item(e, x, 1));
}

static tr_tv items_of(tr_em *e, tr_tv d) {
    d = tr_table_plain(e, d);
    return tr_table_walk(e,
                         tr_em_make(e, tr_ty_of(e->types, TR_TY_DICTVIEW, TR_VIEW_ITEMS, 1, &d.ty), 1, &d));
}

/* What an iterable gives, or a dict's numbers. */
static bool join_counts(tr_em *e, tr_tv d, tr_binop op, tr_tv x) {
    counts to = {d, op};
    tr_tv none[1];
    for (uint32_t k = 0; x.ty->kind == TR_TY_KEYED && k < tr_em_keyed_n(x.ty); k++) {
        tr_tv name = tr_em_lit(e, tr_obj_str(&e->ctx->arena, tr_em_keyed_name(x.ty, k)));
        if (!join_count(e, &to, name, tr_em_keyed_value(e, x, k)))
            return false;
    }
    if (x.ty->kind == TR_TY_KEYED || tr_table_gives_nothing(e, x))
        return true;
    if (tr_table_plain(e, x).ty->kind == TR_TY_DICT)
        return tr_em_each(e, items_of(e, x), 0, none, each_count, &to);
    return tr_em_iter(e, x, &x) && tr_em_each(e, x, 0, none, each_one, &to);
}

/* --- what makes them --- */

bool tr_lib_py_counter(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv d;
    if (!tr_em_new_dict(e, 0, NULL, &d) ||
        (tr_fam_given(c->a[0]) && !join_counts(e, d, TR_BIN_ADD, c->a[0])) ||
        (c->a[1].ty && !join_counts(e, d, TR_BIN_ADD, c->a[1])))
        return false;
    *out = faced(e, TR_TY_FACED, TR_FACE_COUNTER, d);
    return true;
}

bool tr_lib_py_ordered(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv d;
    if (!tr_lib_py_dict(e, c, &d))
        return false;
    *out = faced(e, TR_TY_FACED, TR_FACE_ORDERED, d);
    return true;
}

bool tr_lib_py_frozenset(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv s;
    if (c->nvar == 1 && c->var[0].ty->kind == TR_TY_FROZEN) { /* it is one */
        *out = c->var[0];
        return true;
    }
    if (!tr_lib_py_set(e, c, &s))
        return false;
    *out = faced(e, TR_TY_FROZEN, 0, s);
    return true;
}

static const struct {
    uint16_t row;
    uint8_t form;
} factories[] = {
    {TR_B_INT, TR_FACE_INT}, {TR_B_FLOAT, TR_FACE_FLOAT}, {TR_B_BOOL, TR_FACE_BOOL},
    {TR_B_STR, TR_FACE_STR}, {TR_B_LIST, TR_FACE_LIST},   {TR_B_DICT, TR_FACE_DICT},
    {TR_B_SET, TR_FACE_SET},
};
enum { FACTORIES = sizeof factories / sizeof *factories };

/* defaultdict(default_factory=None, /, [...]) */
bool tr_lib_py_defaultdict(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv f = c->a[0], it[2];
    tr_bcall of = {.a = &c->a[1], .n = 2, .nvar = tr_fam_given(c->a[1]), .var = &c->a[1]};
    if (!tr_lib_py_dict(e, &of, &it[0]))
        return false;
    if (!tr_fam_given(f)) {
        *out = faced(e, TR_TY_FACED, TR_FACE_PLAIN, it[0]);
        return true;
    }
    bool builtin = f.ty->kind == TR_TY_LIT && f.ty->lit->kind == TR_OBJ_BUILTIN;
    for (unsigned k = 0; builtin && k < FACTORIES; k++)
        if (f.ty->lit->u.builtin == factories[k].row) {
            *out = faced(e, TR_TY_FACED, factories[k].form, it[0]);
            return true;
        }
    bool function = f.ty->kind == TR_TY_CLOSURE || f.ty->kind == TR_TY_ONEOF || f.ty->kind == TR_TY_PARTIAL ||
                    (f.ty->kind == TR_TY_LIT && f.ty->lit->kind == TR_OBJ_FUNC);
    if (!function)
        return builtin ? tr_em_unsupported(e, "dict", "a defaultdict of %s", tr_em_tyname(e, f.ty))
                       : tr_em_error(e, "first argument must be callable or None");
    it[1] = f;
    *out = tr_em_make(e, tr_ty_of(e->types, TR_TY_FACED, TR_FACE_MADE, 2, (const tr_ty *[]){it[0].ty, f.ty}),
                      2, it);
    return true;
}

/* A new value for a key that is not there. */
static bool make_value(tr_em *e, tr_tv x, tr_tv *out) {
    switch ((tr_face)x.ty->sub) {
    case TR_FACE_INT: *out = tr_em_i64(e, 0); return true;
    case TR_FACE_FLOAT: *out = tr_em_f64(e, 0); return true;
    case TR_FACE_BOOL: *out = tr_em_bool(e, false); return true;
    case TR_FACE_STR: *out = tr_em_lit(e, tr_obj_str(&e->ctx->arena, "")); return true;
    case TR_FACE_LIST: return tr_em_new_list(e, TR_TABLE_VALUES, 0, NULL, out);
    case TR_FACE_DICT: return tr_em_new_dict(e, 0, NULL, out);
    case TR_FACE_SET: return tr_em_new_set(e, 0, NULL, out);
    default:
        assert(x.ty->sub == TR_FACE_MADE && "the others make none");
        return e->call(e, tr_em_item(e, x, 1), &(tr_args){0, NULL, 0, NULL}, out);
    }
}

/* --- items --- */

typedef struct fresh {
    tr_tv x, key;
} fresh;

/* The key has no entry: it gets one, with a new value. */
static bool put_fresh(tr_em *e, const void *user, tr_tv *entry) {
    const fresh *f = user;
    tr_tv v, a, d = inner(e, f->x), values = tr_em_item(e, d, 1);
    if (!make_value(e, f->x, &v) || !tr_lib_list_item(e, values, v, &v) ||
        !tr_table_put(e, tr_em_item(e, d, 0), f->key, values, entry) || !tr_em_items(e, values, &a))
        return false;
    tr_lib_put_item(e, a, *entry, v);
    return true;
}

static bool makes_values(const tr_ty *t) {
    return t->kind == TR_TY_FACED && t->sub >= TR_FACE_MADE;
}

bool tr_lib_get_face(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    tr_tv d = inner(e, x), entry;
    if (x.ty->kind == TR_TY_FROZEN)
        return tr_lib_get_no(e, x, i, out);
    if (is_counter(x))
        return count_of(e, d, i, out);
    if (!makes_values(x.ty))
        return tr_lib_get_dict(e, d, i, out);
    fresh f = {x, i};
    if (!tr_table_as_key(e, tr_em_item(e, d, 0), i, &f.key))
        return false;
    entry = (tr_tv){tr_fam_ty(e, TR_TY_I64), TR_NOVAL};
    return tr_table_find(e, d, f.key, &entry) &&
           tr_fam_when(e, tr_fam_not(e, tr_table_found(e, entry)), 1, &entry, put_fresh, &f) &&
           tr_table_value_at(e, d, entry, out);
}

bool tr_lib_set_face(tr_em *e, tr_tv x, tr_tv i, tr_tv v, bool itself) {
    return x.ty->kind == TR_TY_FROZEN ? tr_lib_set_no(e, x, i, v, itself)
                                      : tr_lib_set_dict(e, inner(e, x), i, v, itself);
}

static bool take_out(tr_em *e, const void *user, tr_tv *acc) {
    const tr_tv *x = user; /* the dict, the entry */
    (void)acc;
    tr_table_leave(e, x[0], x[1]);
    return true;
}

/* A Counter is asked for a key that it has not as if it had: nothing goes then. */
bool tr_lib_del_face(tr_em *e, tr_tv x, tr_tv i) {
    tr_tv v[2] = {inner(e, x), {NULL, TR_NOVAL}}, none[1];
    if (!is_counter(x))
        return tr_em_delitem(e, v[0], i);
    return tr_table_find(e, v[0], i, &v[1]) && tr_fam_when(e, tr_table_found(e, v[1]), 0, none, take_out, v);
}

bool tr_lib_contains_face(tr_em *e, tr_tv x, tr_tv item, tr_tv *out) {
    return tr_lib_contains_set(e, x, item, out);
}

bool tr_lib_len_face(tr_em *e, tr_tv x, tr_tv *n) {
    return tr_lib_len_set(e, x, n);
}

bool tr_lib_truth_face(tr_em *e, tr_tv x, tr_tv *out) {
    return tr_lib_truth_set(e, x, out);
}

/* --- operators --- */

typedef struct merged {
    tr_tv to, other;
    tr_binop op;
    bool rest; /* keys of the second that are not in the first */
} merged;

typedef struct pair {
    tr_tv d, k, n;
} pair;

static bool put_pair(tr_em *e, const void *user, tr_tv *acc) {
    const pair *p = user;
    (void)acc;
    return tr_lib_set_dict(e, p->d, p->k, p->n, false);
}

/* A key, and the number of it in the one, joined to that of the other: kept where it is above zero. */
static bool each_merged(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    const merged *m = user;
    tr_tv k = tr_em_item(e, x, 0), n = tr_em_item(e, x, 1), other, keep, entry, none[1];
    (void)acc, (void)stop;
    if (!count_of(e, m->other, k, &other) || !tr_table_find(e, m->other, k, &entry))
        return false;
    tr_tv zero = tr_em_i64(e, 0), less;
    if (m->rest && m->op == TR_BIN_SUB) {
        if (!tr_em_binary(e, TR_BIN_SUB, zero, n, &n))
            return false;
    } else if (!m->rest && (m->op == TR_BIN_ADD || m->op == TR_BIN_SUB)) {
        if (!tr_em_binary(e, m->op, n, other, &n))
            return false;
    } else if (!m->rest) {
        if (!tr_em_compare(e, m->op == TR_BIN_AND ? TR_CMP_LT : TR_CMP_GT, other, n, &less))
            return false;
        const tr_ty *t = tr_ty_join(e->types, tr_ty_strong(e->types, n.ty), tr_ty_strong(e->types, other.ty),
                                    e->opts->promote_numba);
        if (!t || !tr_em_coerce(e, n, t, &n) || !tr_em_coerce(e, other, t, &other))
            return tr_em_error(e, "the numbers of both have no common type");
        n = tr_em_select(e, tr_em_strong(e, less), other, n);
    }
    if (!tr_em_compare(e, TR_CMP_GT, n, zero, &keep))
        return false;
    keep = tr_em_strong(e, keep);
    if (m->rest)
        keep = tr_fam_and(e, keep, tr_fam_not(e, tr_table_found(e, entry)));
    pair p = {m->to, k, n};
    return tr_fam_when(e, keep, 0, none, put_pair, &p);
}

static bool merge_counters(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv d, none[1];
    if (!tr_em_new_dict(e, 0, NULL, &d))
        return false;
    x = tr_table_plain(e, x);
    y = tr_table_plain(e, y);
    merged m = {d, y, op, false};
    *out = faced(e, TR_TY_FACED, TR_FACE_COUNTER, d);
    if (!tr_table_gives_nothing(e, x) && !tr_em_each(e, items_of(e, x), 0, none, each_merged, &m))
        return false;
    m = (merged){d, x, op, true};
    return op == TR_BIN_AND || tr_table_gives_nothing(e, y) ||
           tr_em_each(e, items_of(e, y), 0, none, each_merged, &m);
}

static bool is_of_counters(tr_binop op) {
    return op == TR_BIN_ADD || op == TR_BIN_SUB || op == TR_BIN_AND || op == TR_BIN_OR;
}

tr_answer tr_lib_binary_face(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    if (is_counter(x) && is_counter(y) && is_of_counters(op))
        return tr_answered(merge_counters(e, op, x, y, out));
    tr_tv a = tr_table_plain(e, x), b = tr_table_plain(e, y), r;
    bool own = x.ty->kind == TR_TY_FACED || x.ty->kind == TR_TY_FROZEN;
    tr_answer is = a.ty->kind != b.ty->kind   ? TR_OPEN
                   : a.ty->kind == TR_TY_DICT ? tr_lib_binary_dict(e, op, a, b, &r)
                   : a.ty->kind == TR_TY_SET  ? tr_lib_binary_set(e, op, a, b, &r)
                                              : TR_OPEN;
    if (is == TR_DONE)
        *out = own ? like(e, x, r) : is_faced(y) ? like(e, y, r) : r;
    return is;
}

bool tr_lib_inplace_face(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv r;
    if (x.ty->kind == TR_TY_FROZEN)
        return tr_em_binary(e, op, x, y, out);
    *out = x;
    if (!is_counter(x) || !is_counter(y) || !is_of_counters(op))
        return tr_lib_inplace_dict(e, op, inner(e, x), tr_table_plain(e, y), &r);
    if (!merge_counters(e, op, x, y, &r))
        return false;
    tr_table_empty(e, x);
    return tr_lib_dict_put_all(e, inner(e, x), inner(e, r));
}

/* acc: so far all numbers are the same in the other one, where a key that is not there has 0 */
static bool each_same(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    tr_tv n;
    if (!count_of(e, *(const tr_tv *)user, tr_em_item(e, x, 0), &n) ||
        !tr_em_compare(e, TR_CMP_EQ, n, tr_em_item(e, x, 1), acc))
        return false;
    *acc = tr_em_strong(e, *acc);
    *stop = tr_fam_not(e, *acc);
    return true;
}

static bool same_counts(tr_em *e, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv all[2];
    x = tr_table_plain(e, x);
    y = tr_table_plain(e, y);
    for (unsigned k = 0; k < 2; k++) {
        tr_tv of = k ? y : x, other = k ? x : y;
        all[k] = tr_em_strong(e, tr_em_bool(e, true));
        if (!tr_table_gives_nothing(e, of) && !tr_em_each(e, items_of(e, of), 1, &all[k], each_same, &other))
            return false;
    }
    *out = tr_fam_and(e, all[0], all[1]);
    return true;
}

/* acc: so far the keys of two dicts are the same, one by one */
static bool each_in_order(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    (void)user;
    if (!tr_em_compare(e, TR_CMP_EQ, tr_em_item(e, x, 0), tr_em_item(e, x, 1), acc))
        return false;
    *acc = tr_em_strong(e, *acc);
    *stop = tr_fam_not(e, *acc);
    return true;
}

static bool same_order(tr_em *e, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv zip, v[2] = {tr_table_plain(e, x), tr_table_plain(e, y)};
    if (tr_table_gives_nothing(e, x) || tr_table_gives_nothing(e, y))
        return true;
    return tr_em_builtin(e, TR_B_ZIP, (tr_tv){NULL, TR_NOVAL}, &(tr_args){2, v, 0, NULL}, &zip) &&
           tr_em_each(e, zip, 1, out, each_in_order, NULL);
}

tr_answer tr_lib_compare_face(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv a = tr_table_plain(e, x), b = tr_table_plain(e, y), in_order;
    if (a.ty->kind != b.ty->kind)
        return TR_OPEN;
    if (a.ty->kind == TR_TY_SET)
        return tr_lib_compare_set(e, op, a, b, out);
    if (op != TR_CMP_EQ && op != TR_CMP_NE)
        return is_counter(x) && is_counter(y)
                   ? tr_answered(tr_em_unsupported(e, "dict", "'%s' of Counters", tr_lib_cmp_sign(op)))
                   : TR_OPEN;
    if (is_counter(x) && is_counter(y)) {
        if (!same_counts(e, x, y, out))
            return TR_REFUSED;
    } else {
        bool order =
            is_faced(x) && is_faced(y) && x.ty->sub == TR_FACE_ORDERED && y.ty->sub == TR_FACE_ORDERED;
        if (tr_lib_compare_dict(e, TR_CMP_EQ, a, b, out) != TR_DONE)
            return TR_REFUSED;
        in_order = tr_em_strong(e, *out);
        if (order && !same_order(e, x, y, &in_order))
            return TR_REFUSED;
        *out = order ? tr_fam_and(e, tr_em_strong(e, *out), in_order) : *out;
    }
    if (op == TR_CMP_NE)
        *out = tr_fam_not(e, *out);
    return TR_DONE;
}

/* --- methods --- */

bool tr_lib_face_copy(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0], r;
    tr_bcall of = {.a = (tr_tv[]){inner(e, x)}, .n = 1};
    if (x.ty->kind == TR_TY_FROZEN) { /* nobody changes it */
        *out = x;
        return true;
    }
    if (!tr_lib_dict_copy(e, &of, &r))
        return false;
    *out = like(e, x, r);
    return true;
}

/* aux: TR_BIN_ADD update, TR_BIN_SUB subtract */
bool tr_lib_counter_join(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_em_none(e);
    tr_tv d = inner(e, c->a[0]);
    return (!tr_fam_given(c->a[1]) || join_counts(e, d, (tr_binop)c->aux, c->a[1])) &&
           (!c->a[2].ty || join_counts(e, d, (tr_binop)c->aux, c->a[2]));
}

/* od.popitem(last=True) */
bool tr_lib_ordered_popitem(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv d = inner(e, c->a[0]), set = tr_table_set(e, d), a, at, both[2], last = tr_em_bool(e, true);
    if ((c->a[1].ty && !tr_em_truth(e, c->a[1], &last)) || !tr_em_items(e, set, &a))
        return false;
    tr_tv end = tr_em_nsw(e, TR_OP_SUB, tr_em_dim(e, a, 0), tr_em_i64(e, 1));
    at = tr_lib_emit(e, TR_OP_WALKON, end.ty, 2, (tr_val[]){set.v, tr_em_i64(e, 0).v});
    at = tr_em_select(e, tr_em_strong(e, last), end, at);
    tr_em_check(e, tr_table_found(e, at), TR_EXC_KEY, "dictionary is empty", 0, NULL);
    if (!tr_table_key_at(e, set, at, &both[0]) || !tr_table_value_at(e, d, at, &both[1]))
        return false;
    tr_table_leave(e, d, at);
    *out = tr_em_tuple(e, 2, both);
    return true;
}

/* The methods of sets whose result is a frozenset: as aux says. */
bool tr_lib_frozen_combine(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv s;
    tr_bcall of = *c;
    of.a = tr_arena_copy(&e->ctx->arena, c->a, c->n * sizeof *c->a);
    of.a[0] = inner(e, c->a[0]);
    bool symmetric = c->aux == TR_BIN_XOR;
    if (!(symmetric ? tr_lib_set_symmetric : tr_lib_set_combine)(e, &of, &s))
        return false;
    *out = faced(e, TR_TY_FROZEN, 0, s);
    return true;
}
