/* Containers that are made of types: typed.List.empty_list(T), typed.Dict.empty(K, V), typed.Set.empty(T).
 *
 * They are containers like any others; the types are what flows into them first. A container that such a type
 * has in it is of what else flows into that one, too, as that of a display in a list: it has a cell. */
#include "lib/fam.h"
#include "lib/table.h"

enum { INNER = 8 }; /* tr_em.list: of containers in these, the numbers from here on */

/* The type that an argument names; NULL: it names none. */
static const tr_ty *named(tr_em *e, tr_tv x) {
    const tr_ty *item = tr_tv_dtype(e, x);
    if (item || x.ty->kind != TR_TY_LIT)
        return item;
    const tr_obj *o = x.ty->lit;
    if (o->kind == TR_OBJ_BUILTIN && o->u.builtin == TR_B_STR)
        return tr_ty_string(e->types);
    return o->kind == TR_OBJ_TYPE && tr_ty_may_be_item(o->ty) ? o->ty : NULL;
}

static bool flows(tr_em *e, const tr_ty *into, const tr_ty *item) {
    return tr_ty_list_takes(e->types, into, item, e->place.span.line, e->opts->promote_numba);
}

/* The type, with cells for containers that are in it. */
static const tr_ty *opened(tr_em *e, const tr_ty *t, uint32_t *which) {
    if (t->kind == TR_TY_DICT) {
        const tr_ty *keys = opened(e, t->items[0], which), *values = opened(e, t->items[1], which);
        return tr_ty_dict_of(e->types, keys, values);
    }
    if (t->kind != TR_TY_LIST && t->kind != TR_TY_SET) /* in a tuple it stays closed */
        return t;
    const tr_ty *cell = e->list(e, (*which)++), *item = tr_ty_list_item(e->types, t, false);
    if (item)
        flows(e, cell, opened(e, item, which));
    return t->kind == TR_TY_SET ? tr_ty_set_like(e->types, cell) : cell;
}

/* The type that is meant, which may flow in. */
static bool type_of(tr_em *e, tr_tv x, const char *fn, const char *what, uint32_t *which, const tr_ty **out) {
    const tr_ty *t = named(e, x);
    if (!t)
        return tr_em_error(e, "%s() takes the type of the %s, as types.int64, not %s", fn, what,
                           tr_em_tyname(e, x.ty));
    *out = opened(e, t, which);
    return true;
}

bool tr_lib_typed_empty(tr_em *e, const tr_bcall *c, tr_tv *out) {
    uint32_t which = INNER;
    const tr_ty *item;
    tr_tv items;
    return type_of(e, c->a[1], "empty_list", "items", &which, &item) &&
           tr_lib_list_of_n(e, item, tr_em_i64(e, 0), out, &items);
}

static bool keys_flow(tr_em *e, const tr_ty *set, tr_tv x, const tr_ty *key) {
    return flows(e, set, key) || tr_em_error(e, "%s cannot be a key", tr_em_tyname(e, x.ty));
}

bool tr_lib_typed_empty_dict(tr_em *e, const tr_bcall *c, tr_tv *out) {
    uint32_t which = INNER;
    const tr_ty *key, *value;
    return type_of(e, c->a[1], "empty", "keys", &which, &key) &&
           type_of(e, c->a[2], "empty", "values", &which, &value) && tr_em_new_dict(e, 0, NULL, out) &&
           keys_flow(e, out->ty->items[0], c->a[1], key) &&
           (flows(e, out->ty->items[1], value) ||
            tr_em_error(e, "%s cannot be a value of a dict", tr_em_tyname(e, c->a[2].ty)));
}

bool tr_lib_typed_empty_set(tr_em *e, const tr_bcall *c, tr_tv *out) {
    uint32_t which = INNER;
    const tr_ty *key;
    if (!type_of(e, c->a[1], "empty", "items", &which, &key))
        return false;
    *out = tr_table_new_set(e, TR_TABLE_KEYS);
    return keys_flow(e, out->ty, c->a[1], key);
}
