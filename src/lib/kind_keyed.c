/* Names with values: what `**kw` collects, and a dict display whose keys are names. Which names there are is
 * part of the type, so each has a value of a type of its own, and nothing is looked up when the program runs.
 * It is two tuples, of names known when compiling and of their values, and it is only read.
 * Cost: that of a tuple. */
#include "lib/fam.h"

#include <assert.h>
#include <string.h>

#include "lib/kinds.h"
#include "lib/priv.h"
#include "lib/table.h"

uint32_t tr_em_keyed_n(const tr_ty *t) {
    assert(t->kind == TR_TY_KEYED && t->n == 2 && "names and values");
    return t->items[0]->n;
}

const char *tr_em_keyed_name(const tr_ty *t, uint32_t k) {
    const tr_ty *name = t->items[0]->items[k];
    assert(name->kind == TR_TY_LIT && name->lit->kind == TR_OBJ_STR && "a name is known");
    return name->lit->u.s.d;
}

tr_tv tr_em_keyed_value(tr_em *e, tr_tv x, uint32_t k) {
    return tr_em_item(e, tr_em_item(e, x, 1), k);
}

/* Which one has that name; how many there are: none has. */
static uint32_t find(const tr_ty *t, const char *name) {
    uint32_t k = 0, n = tr_em_keyed_n(t);
    while (k < n && strcmp(tr_em_keyed_name(t, k), name) != 0)
        k++;
    return k;
}

/* A key has to be a string that is known; what is no string is no name. */
static bool known_name(tr_em *e, tr_tv key, const char **name) {
    *name = NULL;
    if (tr_tv_lit_str(key, name) || !tr_lib_is_text(key))
        return true;
    return tr_em_unsupported(e, "dict", "a key of a dictionary that is only known when the program runs");
}

/* The place of a name that is only known when the program runs, -1: there is none. */
static bool find_late(tr_em *e, tr_tv x, tr_tv key, tr_tv *at) {
    *at = tr_em_i64(e, -1);
    for (uint32_t k = 0; k < tr_em_keyed_n(x.ty); k++) {
        tr_tv eq, name = tr_em_item(e, tr_em_item(e, x, 0), k);
        if (!tr_em_compare(e, TR_CMP_EQ, key, name, &eq))
            return false;
        *at = tr_em_select(e, tr_em_strong(e, eq), tr_em_i64(e, k), *at);
    }
    return true;
}

static bool is_late(tr_tv key) {
    const char *name;
    return tr_lib_is_text(key) && !tr_tv_lit_str(key, &name);
}

bool tr_lib_contains_keyed(tr_em *e, tr_tv x, tr_tv key, tr_tv *out) {
    const char *name;
    tr_tv at;
    if (is_late(key)) {
        if (!find_late(e, x, key, &at))
            return false;
        *out = tr_table_found(e, at);
        return true;
    }
    if (!known_name(e, key, &name))
        return false;
    *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, name && find(x.ty, name) < tr_em_keyed_n(x.ty)));
    return true;
}

bool tr_lib_get_keyed(tr_em *e, tr_tv x, tr_tv key, tr_tv *out) {
    const char *name;
    tr_tv at;
    if (is_late(key)) { /* of values that have a type in common */
        if (!find_late(e, x, key, &at))
            return false;
        tr_table_check_key(e, tr_table_found(e, at), key);
        return tr_lib_at_tuple(e, tr_em_item(e, x, 1), at, out);
    }
    if (!known_name(e, key, &name))
        return false;
    uint32_t k = name ? find(x.ty, name) : UINT32_MAX;
    if (k >= tr_em_keyed_n(x.ty))
        return tr_em_error(e, "KeyError: the dictionary has no key %s",
                           name ? tr_arena_printf(&e->ctx->arena, "'%s'", name) : tr_em_tyname(e, key.ty));
    *out = tr_em_keyed_value(e, x, k);
    return true;
}

bool tr_lib_set_keyed(tr_em *e, tr_tv x, tr_tv key, tr_tv v, bool itself) {
    (void)x, (void)key, (void)v, (void)itself;
    return tr_em_unsupported(e, "dict", "changing a dictionary");
}

bool tr_lib_count_keyed(tr_em *e, tr_tv x, tr_tv *n) {
    *n = tr_em_lit(e, tr_obj_int(&e->ctx->arena, tr_em_keyed_n(x.ty)));
    return true;
}

bool tr_lib_len_keyed(tr_em *e, tr_tv x, tr_tv *n) {
    return tr_lib_count_keyed(e, x, n);
}

bool tr_lib_truth_keyed(tr_em *e, tr_tv x, tr_tv *out) {
    *out = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, tr_em_keyed_n(x.ty) != 0));
    return true;
}

/* Iterating gives the names. */
bool tr_lib_at_keyed(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    return tr_lib_at_tuple(e, tr_em_item(e, x, 0), i, out);
}

/* --- methods --- */

/* x.get(key, default=None) */
bool tr_lib_keyed_get(tr_em *e, const tr_bcall *c, tr_tv *out) {
    const char *name;
    if (!known_name(e, c->a[1], &name))
        return false;
    uint32_t k = name ? find(c->a[0].ty, name) : UINT32_MAX;
    *out = k < tr_em_keyed_n(c->a[0].ty) ? tr_em_keyed_value(e, c->a[0], k)
           : c->a[2].ty                  ? c->a[2]
                                         : tr_em_none(e);
    return true;
}

/* aux: 0 keys(), 1 values(), 2 items(): views, which are only run over. */
bool tr_lib_keyed_view(tr_em *e, const tr_bcall *c, tr_tv *out) {
    uint32_t n = tr_em_keyed_n(c->a[0].ty);
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
    const tr_ty **t = TR_NEW_N(&e->ctx->arena, const tr_ty *, n + 1u);
    for (uint32_t k = 0; k < n; k++) {
        tr_tv pair[2] = {tr_em_item(e, tr_em_item(e, c->a[0], 0), k), tr_em_keyed_value(e, c->a[0], k)};
        it[k] = c->aux == 2 ? tr_em_tuple(e, 2, pair) : pair[c->aux];
        t[k] = it[k].ty;
    }
    *out = tr_em_make(e, tr_ty_list(e->types, n, t), n, it);
    return true;
}
