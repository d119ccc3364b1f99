/* Dicts of numbers: a set, which has the keys, and a list with the value of each of its entries, under the
 * same number (rt/dict.c). Who reads `d[k]`, or stores to it, looks the entry up and is at an array from
 * there on: `d[k] += 1` looks once, for nothing in between changes what is there. */
#include "lib/table.h"

#include <assert.h>

#include "lib/kinds.h"

static tr_tv pair_of(tr_em *e, tr_tv keys, tr_tv values) {
    tr_tv it[2] = {keys, values};
    return tr_em_make(e, tr_ty_dict_of(e->types, keys.ty, values.ty), 2, it);
}

static bool new_dict(tr_em *e, uint32_t keys, uint32_t values, tr_tv *out) {
    tr_tv k = tr_table_new_set(e, keys), v;
    if (!tr_em_new_list(e, values, 0, NULL, &v))
        return false;
    *out = pair_of(e, k, v);
    return true;
}

bool tr_lib_set_dict(tr_em *e, tr_tv d, tr_tv k, tr_tv v, bool itself) {
    tr_tv set = tr_em_item(e, d, 0), values = tr_em_item(e, d, 1), entry, a;
    (void)itself;
    if (!tr_table_as_key(e, set, k, &k) || !tr_lib_list_item(e, values, v, &v) ||
        !tr_table_put(e, set, k, values, &entry) || !tr_em_items(e, values, &a))
        return false;
    tr_lib_put_item(e, a, entry, v);
    return true;
}

bool tr_lib_get_dict(tr_em *e, tr_tv d, tr_tv k, tr_tv *out) {
    tr_tv entry;
    if (!tr_table_find(e, d, k, &entry))
        return false;
    tr_table_check_key(e, tr_table_found(e, entry), k);
    tr_fam_takes_item(e, tr_table_values(e, d));
    return tr_table_value_at(e, d, entry, out);
}

bool tr_lib_del_dict(tr_em *e, tr_tv d, tr_tv k) {
    tr_tv entry;
    if (!tr_table_find(e, d, k, &entry))
        return false;
    tr_table_check_key(e, tr_table_found(e, entry), k);
    tr_table_leave(e, d, entry);
    return true;
}

/* --- displays --- */

bool tr_lib_numbered_dict(tr_em *e, uint32_t which, uint32_t n, const tr_tv *x, tr_tv *out) {
    if (!new_dict(e, which, which + 1, out))
        return false;
    for (uint32_t k = 0; k < n; k += 2)
        if (!tr_lib_set_dict(e, *out, x[k], x[k + 1], false))
            return false;
    return true;
}

bool tr_em_new_dict(tr_em *e, uint32_t n, const tr_tv *x, tr_tv *out) {
    assert(TR_TABLE_VALUES == TR_TABLE_KEYS + 1 && "keys, then values");
    return tr_lib_numbered_dict(e, TR_TABLE_KEYS, n, x, out);
}

static bool each_pair(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    (void)acc, (void)stop;
    if (x.ty->kind != TR_TY_TUPLE)
        return tr_em_unsupported(e, "dict", "a dict of what gives %s", tr_em_tyname(e, x.ty));
    if (x.ty->n != 2)
        return tr_em_error(e, "dictionary update sequence element has length %u; 2 is required", x.ty->n);
    return tr_lib_set_dict(e, *(const tr_tv *)user, tr_em_item(e, x, 0), tr_em_item(e, x, 1), false);
}

/* A key and its value that are two items of a list or an array, or two characters. acc: how many pairs came
 * before. */
static bool each_two(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    tr_tv n, kv[2];
    (void)stop;
    if (!tr_em_builtin(e, TR_B_LEN, (tr_tv){NULL, TR_NOVAL}, &(tr_args){1, &x, 0, NULL}, &n))
        return false;
    n = tr_em_strong(e, n);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, n, tr_em_i64(e, 2)), TR_EXC_VALUE,
                "dictionary update sequence element #{0} has length {1}; 2 is required", 2,
                (tr_tv[]){acc[0], n});
    acc[0] = tr_em_nsw(e, TR_OP_ADD, acc[0], tr_em_i64(e, 1));
    return tr_em_iter(e, x, &x) && tr_em_iterget(e, x, tr_em_i64(e, 0), &kv[0]) &&
           tr_em_iterget(e, x, tr_em_i64(e, 1), &kv[1]) &&
           tr_lib_set_dict(e, *(const tr_tv *)user, kv[0], kv[1], false);
}

/* Puts the pairs that `it` gives into the dict. */
static bool put_pairs(tr_em *e, tr_tv d, tr_tv it) {
    tr_tv acc[1] = {tr_em_strong(e, tr_em_i64(e, 0))};
    const tr_ty *pair;
    if (!tr_fam_item_type(e, it, &pair))
        return false;
    bool two =
        pair->kind == TR_TY_LIST || pair->kind == TR_TY_STRING || (pair->kind == TR_TY_ARRAY && pair->ndim);
    return tr_em_each(e, it, two, acc, two ? each_two : each_pair, &d);
}

bool tr_em_collect_dict(tr_em *e, tr_tv closure, tr_tv it, tr_tv *out) {
    tr_tv none[1], d; /* what a comprehension's round gives is a tuple */
    if (!new_dict(e, TR_TABLE_KEYS, TR_TABLE_VALUES, &d))
        return false;
    *out = d;
    return tr_em_each(e, tr_em_genexpr(e, closure, it), 0, none, each_pair, &d);
}

static tr_tv view_of(tr_em *e, tr_tv d, unsigned form) {
    return tr_em_make(e, tr_ty_of(e->types, TR_TY_DICTVIEW, form, 1, &d.ty), 1, &d);
}

bool tr_lib_dict_put_all(tr_em *e, tr_tv d, tr_tv x) {
    x = tr_table_plain(e, x);
    if (tr_table_gives_nothing(e, x))
        return true;
    for (uint32_t k = 0; x.ty->kind == TR_TY_KEYED && k < tr_em_keyed_n(x.ty); k++) {
        tr_tv name = tr_em_lit(e, tr_obj_str(&e->ctx->arena, tr_em_keyed_name(x.ty, k)));
        if (!tr_lib_set_dict(e, d, name, tr_em_keyed_value(e, x, k), false))
            return false;
    }
    if (x.ty->kind == TR_TY_KEYED)
        return true;
    if (x.ty->kind == TR_TY_DICT)
        x = view_of(e, x, TR_VIEW_ITEMS);
    return tr_em_iter(e, x, &x) && put_pairs(e, d, x);
}

/* The row of dict() is called for those of its kin, too. */
bool tr_lib_py_dict(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (c->nvar > 1)
        return tr_em_error(e, "dict expected at most 1 argument, got %u", c->nvar);
    return new_dict(e, TR_TABLE_KEYS, TR_TABLE_VALUES, out) &&
           (!c->nvar || tr_lib_dict_put_all(e, *out, c->var[0])) &&
           (!c->a[1].ty || tr_lib_dict_put_all(e, *out, c->a[1]));
}

typedef struct same_value {
    tr_tv d, v;
} same_value;

static bool each_key(tr_em *e, tr_tv k, const void *user, tr_tv *acc, tr_tv *stop) {
    const same_value *s = user;
    (void)acc, (void)stop;
    return tr_lib_set_dict(e, s->d, k, s->v, false);
}

/* dict.fromkeys(iterable, value=None, /) */
bool tr_lib_dict_fromkeys(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv it = c->a[1], none[1];
    same_value s = {.v = c->a[2].ty ? c->a[2] : tr_em_none(e)};
    if (!new_dict(e, TR_TABLE_KEYS, TR_TABLE_VALUES, &s.d))
        return false;
    *out = s.d;
    return tr_table_gives_nothing(e, it) ||
           (tr_em_iter(e, it, &it) && tr_em_each(e, it, 0, none, each_key, &s));
}

/* --- methods --- */

/* aux: 0 keys(), 1 values(), 2 items() */
bool tr_lib_dict_view(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = view_of(e, c->a[0], (unsigned)c->aux);
    return true;
}

bool tr_lib_dict_update(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_em_none(e);
    return (!tr_fam_given(c->a[1]) || tr_lib_dict_put_all(e, c->a[0], c->a[1])) &&
           (!c->a[2].ty || tr_lib_dict_put_all(e, c->a[0], c->a[2]));
}

bool tr_lib_dict_copy(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return new_dict(e, TR_TABLE_KEYS, TR_TABLE_VALUES, out) && tr_lib_dict_put_all(e, *out, c->a[0]);
}

/* The value of an entry, or another one, as a type that both have. `goes`: the entry leaves. */
static bool value_or(tr_em *e, tr_tv d, tr_tv entry, tr_tv other, bool goes, tr_tv *out) {
    tr_tv x;
    tr_em probe = *e;
    probe.dry = true;
    if (!tr_table_value_at(&probe, (tr_tv){d.ty, TR_NOVAL}, (tr_tv){entry.ty, TR_NOVAL}, &x))
        return false;
    const tr_ty *t = tr_ty_join(e->types, tr_ty_strong(e->types, x.ty), tr_ty_strong(e->types, other.ty),
                                e->opts->promote_numba);
    if (!t)
        return tr_em_error(e, "the value is %s, or else %s: they have no common type", tr_em_tyname(e, x.ty),
                           tr_em_tyname(e, other.ty));
    *out = (tr_tv){t, TR_NOVAL};
    if (e->dry)
        return true;
    tr_fn *f = e->b.fn;
    tr_bid some = tr_blk_new(f), none = tr_blk_new(f), join = tr_blk_new(f);
    tr_cbr(&e->b, tr_table_found(e, entry).v, some, 0, NULL, none, 0, NULL);
    e->b.blk = some;
    if (!tr_table_value_at(e, d, entry, &x) || !tr_em_coerce(e, x, t, &x))
        return false;
    if (goes)
        tr_table_leave(e, d, entry);
    tr_br(&e->b, join, 1, &x.v);
    e->b.blk = none;
    if (!tr_em_coerce(e, other, t, &x))
        return false;
    tr_br(&e->b, join, 1, &x.v);
    e->b.blk = join;
    out->v = tr_blk_param(f, join, t, NULL);
    return true;
}

/* d.get(key, default=None, /). Of no values it is the default, from which `d[k] = d.get(k, 0) + 1` learns
 * what they are. */
bool tr_lib_dict_get(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv entry, other = tr_fam_given(c->a[2]) ? c->a[2] : tr_em_none(e);
    if (!tr_table_find(e, c->a[0], c->a[1], &entry))
        return false;
    if (tr_ty_list_item(e->types, tr_em_item(e, c->a[0], 1).ty, false))
        return value_or(e, c->a[0], entry, other, false, out);
    *out = other;
    return tr_tv_is_none(other) || tr_em_coerce(e, other, tr_ty_strong(e->types, other.ty), out);
}

/* d.pop(key[, default]) */
bool tr_lib_dict_pop(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv entry, d = c->a[0];
    if (!tr_table_find(e, d, c->a[1], &entry))
        return false;
    bool nothing = !tr_ty_list_item(e->types, tr_em_item(e, d, 1).ty, false);
    if (c->a[2].ty && nothing) /* so it is the other one */
        return tr_em_coerce(e, c->a[2], tr_ty_strong(e->types, c->a[2].ty), out);
    if (c->a[2].ty)
        return value_or(e, d, entry, c->a[2], true, out);
    tr_table_check_key(e, tr_table_found(e, entry), c->a[1]);
    tr_fam_takes_item(e, tr_table_values(e, d));
    if (!tr_table_value_at(e, d, entry, out))
        return false;
    tr_table_leave(e, d, entry);
    return true;
}

bool tr_lib_dict_popitem(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x[2];
    if (!tr_table_pop_last(e, c->a[0], "popitem(): dictionary is empty", &x[0], &x[1]))
        return false;
    *out = tr_em_tuple(e, 2, x);
    return true;
}

typedef struct fresh {
    tr_tv d, k, v;
} fresh;

static bool put_fresh(tr_em *e, const void *user, tr_tv *acc) {
    const fresh *x = user;
    tr_tv set = tr_em_item(e, x->d, 0), values = tr_em_item(e, x->d, 1), a;
    if (!tr_table_put(e, set, x->k, values, acc) || !tr_em_items(e, values, &a))
        return false;
    tr_lib_put_item(e, a, *acc, x->v);
    return true;
}

/* d.setdefault(key, default=None) */
bool tr_lib_dict_setdefault(tr_em *e, const tr_bcall *c, tr_tv *out) {
    fresh x = {c->a[0], c->a[1], c->a[2]};
    tr_tv entry;
    if (!tr_fam_given(x.v))
        x.v = tr_em_none(e);
    if (!tr_table_as_key(e, tr_em_item(e, x.d, 0), x.k, &x.k) ||
        !tr_lib_list_item(e, tr_em_item(e, x.d, 1), x.v, &x.v) || !tr_table_find(e, x.d, x.k, &entry))
        return false;
    return tr_fam_when(e, tr_fam_not(e, tr_table_found(e, entry)), 1, &entry, put_fresh, &x) &&
           tr_table_value_at(e, x.d, entry, out);
}

/* --- operators --- */

tr_answer tr_lib_binary_dict(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    if (op != TR_BIN_OR || x.ty->kind != TR_TY_DICT || y.ty->kind != TR_TY_DICT)
        return TR_OPEN;
    return tr_answered(new_dict(e, TR_TABLE_KEYS, TR_TABLE_VALUES, out) && tr_lib_dict_put_all(e, *out, x) &&
                       tr_lib_dict_put_all(e, *out, y));
}

bool tr_lib_inplace_dict(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    *out = x;
    if (op != TR_BIN_OR)
        return tr_lib_op_error(e, op, x.ty, y.ty);
    return tr_lib_dict_put_all(e, x, y);
}

/* acc: so far each item of x is one of y, too */
static bool each_equal(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop);

typedef struct same {
    tr_tv y, entry, v;
} same;

static bool value_equal(tr_em *e, const void *user, tr_tv *acc) {
    const same *s = user;
    tr_tv other;
    if (!tr_table_value_at(e, s->y, s->entry, &other) || !tr_em_compare(e, TR_CMP_EQ, s->v, other, acc))
        return false;
    *acc = tr_em_strong(e, *acc);
    return true;
}

static bool each_equal(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    same s = {.y = *(const tr_tv *)user, .v = tr_em_item(e, x, 1)};
    if (!tr_table_find(e, s.y, tr_em_item(e, x, 0), &s.entry))
        return false;
    *acc = tr_em_strong(e, tr_em_bool(e, false));
    if (!tr_fam_when(e, tr_table_found(e, s.entry), 1, acc, value_equal, &s))
        return false;
    *stop = tr_fam_not(e, *acc);
    return true;
}

typedef struct named {
    tr_tv d, pair;
} named;

static bool pair_equal(tr_em *e, const void *user, tr_tv *acc) {
    const named *p = user;
    tr_tv stop;
    return each_equal(e, p->pair, &p->d, acc, &stop);
}

/* Does a dict have the entries of a display of names, and no others? */
static bool equals_display(tr_em *e, tr_tv d, tr_tv display, tr_tv *all) {
    uint32_t n = tr_em_keyed_n(display.ty);
    *all = tr_em_strong(e, tr_em_cmp(e, TR_CMP_EQ, tr_table_live(e, d), tr_em_i64(e, n)));
    for (uint32_t k = 0; k < n && !tr_table_gives_nothing(e, d); k++) {
        named p = {.d = d};
        tr_tv both[2] = {tr_em_item(e, tr_em_item(e, display, 0), k), tr_em_keyed_value(e, display, k)};
        p.pair = tr_em_tuple(e, 2, both);
        if (!tr_fam_when(e, *all, 1, all, pair_equal, &p))
            return false;
    }
    return true;
}

tr_answer tr_lib_compare_dict(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    bool equality = op == TR_CMP_EQ || op == TR_CMP_NE, first = x.ty->kind == TR_TY_KEYED;
    if (equality && (first || y.ty->kind == TR_TY_KEYED)) {
        if (!equals_display(e, first ? y : x, first ? x : y, out))
            return TR_REFUSED;
        if (op == TR_CMP_NE)
            *out = tr_fam_not(e, *out);
        return TR_DONE;
    }
    if (!equality || x.ty->kind != TR_TY_DICT || y.ty->kind != TR_TY_DICT)
        return TR_OPEN;
    tr_tv n = tr_table_live(e, x), m = tr_table_live(e, y), all = tr_em_strong(e, tr_em_bool(e, true));
    if (!tr_table_gives_nothing(e, x) && !tr_table_gives_nothing(e, y)) {
        tr_tv it = tr_table_walk(e, view_of(e, x, TR_VIEW_ITEMS));
        if (!tr_em_each(e, it, 1, &all, each_equal, &y))
            return TR_REFUSED;
    }
    *out = tr_fam_and(e, tr_em_cmp(e, TR_CMP_EQ, n, m), all);
    if (op == TR_CMP_NE)
        *out = tr_fam_not(e, *out);
    return TR_DONE;
}

bool tr_lib_contains_dict(tr_em *e, tr_tv d, tr_tv key, tr_tv *out) {
    return tr_lib_contains_set(e, d, key, out);
}

bool tr_lib_len_dict(tr_em *e, tr_tv d, tr_tv *n) {
    return tr_lib_len_set(e, d, n);
}

bool tr_lib_truth_dict(tr_em *e, tr_tv d, tr_tv *out) {
    return tr_lib_truth_set(e, d, out);
}

/* --- views --- */

bool tr_lib_contains_dictview(tr_em *e, tr_tv x, tr_tv item, tr_tv *out) {
    return x.ty->sub ? tr_lib_contains_items(e, tr_table_walk(e, x), item, out)
                     : tr_lib_contains_set(e, x, item, out);
}

/* Of keys the dict, which is as good as the set of them; of pairs a set; what else can be iterated is a set,
 * too, where a view is beside it. False: an error, or (*open) nothing that is like a set. */
static bool as_operand(tr_em *e, tr_tv x, uint32_t which, tr_tv *out, bool *open) {
    *open = x.ty->kind == TR_TY_DICTVIEW && x.ty->sub == TR_VIEW_VALUES;
    *out = x.ty->kind == TR_TY_DICTVIEW && !x.ty->sub ? tr_em_item(e, x, 0) : tr_table_plain(e, x);
    if (*open)
        return false;
    if (out->ty->kind == TR_TY_SET || (out->ty->kind == TR_TY_DICT && x.ty->kind == TR_TY_DICTVIEW))
        return true;
    tr_tv set = tr_table_new_set(e, which);
    bool ok = tr_table_add_all(e, set, x);
    *out = set;
    return ok;
}

tr_answer tr_lib_binary_dictview(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    bool open, also = false;
    if (op != TR_BIN_AND && op != TR_BIN_OR && op != TR_BIN_SUB && op != TR_BIN_XOR)
        return TR_OPEN;
    tr_tv a, b;
    if (!as_operand(e, x, TR_TABLE_OTHER, &a, &open) || !as_operand(e, y, TR_TABLE_OTHER_VALUES, &b, &also))
        return open || also ? TR_OPEN : TR_REFUSED;
    return tr_answered(tr_table_combined(e, op, a, b, out));
}

tr_answer tr_lib_compare_dictview(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    bool open, sets = (x.ty->kind == TR_TY_DICTVIEW || tr_table_plain(e, x).ty->kind == TR_TY_SET) &&
                      (y.ty->kind == TR_TY_DICTVIEW || tr_table_plain(e, y).ty->kind == TR_TY_SET);
    tr_tv a, b;
    if (!sets)
        return TR_OPEN;
    if (!as_operand(e, x, TR_TABLE_OTHER, &a, &open) || !as_operand(e, y, TR_TABLE_OTHER_VALUES, &b, &open))
        return open ? TR_OPEN : TR_REFUSED;
    return tr_answered(tr_table_compared(e, op, a, b, out));
}

bool tr_lib_len_dictview(tr_em *e, tr_tv x, tr_tv *n) {
    return tr_lib_len_set(e, x, n);
}

bool tr_lib_truth_dictview(tr_em *e, tr_tv x, tr_tv *out) {
    return tr_lib_truth_set(e, x, out);
}
