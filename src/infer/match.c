/* Patterns of `match` statements that ask what a value is: the answer is known when the function compiles,
 * as the type says it, so code of other cases is not even typed. Which keys a dict has is asked when it
 * runs. Literals, captures, guards and items of sequences are comparisons, assignments and unpacking to the
 * front. */
#include <assert.h>
#include <string.h>

#include "infer/priv.h"
#include "lib/table.h"

/* As CPython's flag says it: arrays are none, as NumPy's are not. */
static bool is_sequence(const tr_ty *t) {
    return t->kind == TR_TY_TUPLE || t->kind == TR_TY_RANGE || t->kind == TR_TY_LIST;
}

tr_tv tr_infer_is_sequence(tr_em *e, tr_tv x) {
    if (x.ty->kind == TR_TY_OPT && is_sequence(x.ty->items[1]))
        return tr_em_item(e, x, 0);
    return tr_em_lit(e, tr_obj_bool(&e->ctx->arena, is_sequence(x.ty)));
}

/* Classes of which the one pattern by position is for the value itself. */
static bool matches_itself(const tr_obj *cls) {
    static const uint16_t rows[] = {TR_B_BOOL,  TR_B_FLOAT, TR_B_INT,  TR_B_STR,
                                    TR_B_TUPLE, TR_B_LIST,  TR_B_DICT, TR_B_SET};
    bool any = false;
    for (uint32_t i = 0; cls->kind == TR_OBJ_BUILTIN && i < sizeof rows / sizeof *rows; i++)
        any = any || cls->u.builtin == rows[i];
    return any;
}

/* How many patterns by position the class takes. */
static uint32_t most_by_position(const tr_obj *cls) {
    return cls->kind == TR_OBJ_NTCLASS ? cls->u.t.n : matches_itself(cls);
}

static bool attribute(tr_em *e, tr_tv x, const char *name, bool *there, tr_tv *out) {
    tr_em probe = *e;
    probe.dry = true;
    *there = tr_em_getattr(&probe, (tr_tv){x.ty, TR_NOVAL}, name, out);
    return !*there || tr_em_getattr(e, x, name, out);
}

bool tr_infer_match_class(tr_em *e, tr_tv x, tr_tv cls, tr_tv names, uint32_t npos, tr_tv *out) {
    tr_tv is, both[2] = {x, cls};
    int64_t known;
    const tr_obj *c = cls.ty->kind == TR_TY_LIT ? cls.ty->lit : NULL;
    if (!c || names.ty->kind != TR_TY_TUPLE)
        return tr_em_error(e, "called match pattern must be a class");
    bool maybe = x.ty->kind == TR_TY_OPT; /* None is of no class that a pattern names */
    if (maybe)
        both[0] = tr_em_item(e, x, 1);
    if (!tr_em_builtin(e, TR_B_ISINSTANCE, (tr_tv){NULL, TR_NOVAL}, &(tr_args){2, both, 0, NULL}, &is))
        return false;
    if (!tr_tv_lit_int(is, &known))
        return tr_em_unsupported(e, "match", "a class pattern of %s", tr_em_tyname(e, x.ty));
    if (npos > most_by_position(c))
        return tr_em_error(e, "%s accepts %u positional sub-pattern%s (%u given)", c->repr,
                           most_by_position(c), most_by_position(c) == 1 ? "" : "s", npos);
    *out = tr_em_none(e);
    if (!known)
        return true;
    uint32_t n = npos + names.ty->n;
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
    for (uint32_t i = 0; i < n; i++) {
        const char *name = i < npos && c->kind == TR_OBJ_NTCLASS ? c->u.t.fields[i] : NULL;
        bool there = true;
        if (i >= npos && !tr_tv_lit_str(tr_em_item(e, names, i - npos), &name))
            return tr_em_error(e, "a pattern of an attribute has no name");
        it[i] = both[0];
        if (name && !attribute(e, both[0], name, &there, &it[i]))
            return false;
        if (!there)
            return true;
    }
    *out = tr_em_tuple(e, n, it);
    if (!maybe)
        return true;
    tr_tv has[2] = {tr_em_item(e, x, 0), tr_em_strong(e, *out)};
    const tr_ty *ty = tr_ty_optional(e->types, has[1].ty);
    if (!ty)
        return tr_em_unsupported(e, "match", "a class pattern of %s", tr_em_tyname(e, x.ty));
    *out = tr_em_make(e, ty, 2, has);
    return true;
}

/* --- mappings --- */

bool tr_infer_mapping(const tr_ty *t) {
    return t->kind == TR_TY_KEYED || t->kind == TR_TY_DICT ||
           (t->kind == TR_TY_FACED && t->items[0]->kind == TR_TY_DICT);
}

tr_tv tr_infer_is_mapping(tr_em *e, tr_tv x) {
    if (x.ty->kind == TR_TY_OPT && tr_infer_mapping(x.ty->items[1]))
        return tr_em_item(e, x, 0);
    return tr_em_lit(e, tr_obj_bool(&e->ctx->arena, tr_infer_mapping(x.ty)));
}

/* Which name of a record the key is; its number of names: none. */
static uint32_t name_of(const tr_ty *record, tr_tv key) {
    uint32_t k = 0;
    const char *name;
    if (!tr_tv_lit_str(key, &name))
        return tr_em_keyed_n(record);
    while (k < tr_em_keyed_n(record) && strcmp(tr_em_keyed_name(record, k), name) != 0)
        k++;
    return k;
}

/* Is the key of a type that the dict's keys may be equal to? */
static bool may_be_key(tr_em *e, tr_tv x, tr_tv key) {
    tr_em probe = *e;
    tr_tv is;
    probe.dry = true;
    return tr_em_in(&probe, false, (tr_tv){key.ty, TR_NOVAL}, (tr_tv){x.ty, TR_NOVAL}, &is);
}

/* What a dict has at a key, or nothing of that type. */
static bool value_of(tr_em *e, tr_tv x, tr_tv key, tr_tv *out) {
    tr_em probe = *e;
    tr_tv get, value;
    probe.dry = true;
    if (!tr_em_getattr(e, x, "get", &get) || !e->call(e, get, &(tr_args){1, &key, 0, NULL}, out) ||
        !tr_em_getitem(&probe, (tr_tv){x.ty, TR_NOVAL}, (tr_tv){key.ty, TR_NOVAL}, &value))
        return false;
    if (out->ty && value.ty && out->ty->kind == TR_TY_OPT && value.ty->kind != TR_TY_OPT)
        *out = tr_em_item(e, *out, 1);
    return true;
}

bool tr_infer_match_keys(tr_em *e, tr_tv x, tr_tv keys, tr_tv *out) {
    uint32_t n = keys.ty->n;
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u), has = {NULL, TR_NOVAL}, is;
    if (keys.ty->kind != TR_TY_TUPLE)
        return tr_em_error(e, "keys of a pattern are no tuple");
    if (x.ty->kind == TR_TY_OPT)
        x = tr_em_item(e, x, 1); /* which has been asked for */
    *out = tr_em_none(e);
    if (n && x.ty->kind != TR_TY_KEYED && tr_table_gives_nothing(e, x))
        return true;
    for (uint32_t i = 0; i < n; i++) {
        tr_tv key = tr_em_item(e, keys, i);
        if (x.ty->kind == TR_TY_KEYED) {
            uint32_t k = name_of(x.ty, key);
            if (k == tr_em_keyed_n(x.ty))
                return true;
            it[i] = tr_em_keyed_value(e, x, k);
            continue;
        }
        if (!may_be_key(e, x, key))
            return true;
        if (!tr_em_in(e, false, key, x, &is) || !value_of(e, x, key, &it[i]))
            return false;
        if (!it[i].ty) {
            *out = (tr_tv){NULL, TR_NOVAL};
            return true;
        }
        is = tr_em_strong(e, is);
        has = has.ty ? tr_em_op2(e, TR_OP_AND, has, is) : is;
    }
    *out = tr_em_tuple(e, n, it);
    if (!has.ty)
        return true;
    tr_tv both[2] = {has, tr_em_strong(e, *out)};
    const tr_ty *ty = tr_ty_optional(e->types, both[1].ty);
    if (!ty)
        return tr_em_unsupported(e, "match", "a pattern of keys of %s", tr_em_tyname(e, x.ty));
    *out = tr_em_make(e, ty, 2, both);
    return true;
}

bool tr_infer_match_rest(tr_em *e, tr_tv x, tr_tv keys, tr_tv *out) {
    if (x.ty->kind != TR_TY_KEYED) {
        if (!tr_em_builtin(e, TR_B_DICT, (tr_tv){NULL, TR_NOVAL}, &(tr_args){1, &x, 0, NULL}, out))
            return false;
        for (uint32_t i = 0; i < keys.ty->n; i++)
            if (!tr_em_delitem(e, *out, tr_em_item(e, keys, i)))
                return false;
        return true;
    }
    uint32_t n = tr_em_keyed_n(x.ty), left = 0;
    tr_tv *names = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u), *values = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
    for (uint32_t k = 0; k < n; k++) {
        bool taken = false;
        for (uint32_t i = 0; i < keys.ty->n; i++)
            taken = taken || name_of(x.ty, tr_em_item(e, keys, i)) == k;
        if (taken)
            continue;
        names[left] = tr_em_lit(e, tr_obj_str(&e->ctx->arena, tr_em_keyed_name(x.ty, k)));
        values[left++] = tr_em_keyed_value(e, x, k);
    }
    *out = tr_em_keyed(e, tr_em_tuple(e, left, names), tr_em_tuple(e, left, values));
    return true;
}
