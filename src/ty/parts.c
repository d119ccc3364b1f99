/* The scalars a value is made of at run time, in the order of rt/layout.h. */
#include "ty/ty.h"

#include "ty/obj.h"

#include <assert.h>

static unsigned walk(const tr_ty *t, tr_part *out);

static unsigned put(tr_part *out, unsigned at, tr_part p, unsigned n) {
    for (unsigned i = 0; out && i < n; i++)
        out[at + i] = p;
    return at + n;
}

static tr_part scalar_part(const tr_ty *t) {
    switch ((tr_tyk)t->kind) {
    case TR_TY_BOOL: return TR_PART_I1;
    case TR_TY_I8:
    case TR_TY_U8: return TR_PART_I8;
    case TR_TY_I16:
    case TR_TY_U16: return TR_PART_I16;
    case TR_TY_I32:
    case TR_TY_U32: return TR_PART_I32;
    case TR_TY_F16: return TR_PART_F16;
    case TR_TY_F32:
    case TR_TY_C64: return TR_PART_F32;
    case TR_TY_F64:
    case TR_TY_C128: return TR_PART_F64;
    default: return TR_PART_I64;
    }
}

static unsigned parts_number(const tr_ty *t, tr_part *out) {
    return put(out, 0, scalar_part(t), tr_ty_is_complex(t) ? 2 : 1);
}

static unsigned parts_array(const tr_ty *t, tr_part *out) {
    assert(t->kind == TR_TY_ARRAY && t->ndim <= TR_MAX_NDIM && "the cell is the kind's");
    unsigned n = put(out, 0, TR_PART_PTR, 2);
    return put(out, n, TR_PART_I64, t->layout == TR_LAYOUT_ANY ? 2u * t->ndim : t->ndim);
}

/* The block that all who have it share. */
static unsigned parts_list(const tr_ty *t, tr_part *out) {
    (void)t;
    return put(out, 0, TR_PART_PTR, 1);
}

/* rt/layout.h: tr_str. */
static unsigned parts_string(const tr_ty *t, tr_part *out) {
    (void)t;
    return put(out, put(out, 0, TR_PART_PTR, 2), TR_PART_I64, 1);
}

static unsigned parts_nothing(const tr_ty *t, tr_part *out) {
    (void)t;
    return put(out, 0, TR_PART_I64, 0);
}

static unsigned parts_items(const tr_ty *t, tr_part *out) {
    unsigned n = 0;
    for (uint32_t i = 0; i < t->n; i++)
        n += walk(t->items[i], out ? out + n : NULL);
    return n;
}

typedef unsigned (*parts_fn)(const tr_ty *t, tr_part *out);
static const parts_fn parts_of[] = {
#define KIND(ID, word, user, items, ty, ...) ty,
#define TY(parts, ...)                       parts_##parts
#include "ty/kinds.def"
};

static unsigned walk(const tr_ty *t, tr_part *out) {
    return parts_of[tr_ty_row(t)](t, out);
}

bool tr_ty_is_items(const tr_ty *t) {
    return parts_of[tr_ty_row(t)] == parts_items;
}

/* Parameters of a kernel that are given by their items. */
static bool by_items(const tr_ty *t) {
    return t->kind == TR_TY_TUPLE || t->kind == TR_TY_RECORDS || t->kind == TR_TY_RECORD ||
           t->kind == TR_TY_DATES || t->kind == TR_TY_DATE;
}

/* Known when the kernel is compiled: a dtype, a member of an enum, None. */
static bool is_known(const tr_ty *t) {
    if (t->kind != TR_TY_LIT)
        return t->kind == TR_TY_NONE;
    const tr_obj *o = t->lit;
    return o->kind == TR_OBJ_TYPE || o->kind == TR_OBJ_MODULE || o->kind == TR_OBJ_NONE || o->member;
}

bool tr_ty_is_launchable(const tr_ty *t) {
    bool yes = tr_ty_is_scalar(t) || t->kind == TR_TY_ARRAY || is_known(t) || by_items(t);
    for (uint32_t k = 0; yes && by_items(t) && k < t->n; k++)
        yes = tr_ty_is_launchable(t->items[k]);
    return yes;
}

unsigned tr_ty_launched(const tr_ty *t, bool *given) {
    assert(tr_ty_is_launchable(t) && "a kernel takes it");
    unsigned n = 0;
    if (by_items(t)) {
        for (uint32_t k = 0; k < t->n; k++)
            n += tr_ty_launched(t->items[k], given + n);
        assert(n == tr_ty_nparts(t) && "a mark for each part");
        return n;
    }
    n = tr_ty_nparts(t);
    for (unsigned k = 0; k < n; k++)
        given[k] = k || t->kind != TR_TY_ARRAY;
    return n;
}

/* --- who owns memory --- */

typedef bool (*is_fn)(const tr_ty *t);

static bool some_item(const tr_ty *t, is_fn is) {
    for (uint32_t i = 0; i < t->n; i++)
        if (is(t->items[i]))
            return true;
    return false;
}

static bool owned_itself(const tr_ty *t) {
    (void)t;
    return true;
}

static bool owned_fixed(const tr_ty *t) {
    return owned_itself(t);
}

static bool owned_items(const tr_ty *t) {
    return some_item(t, tr_ty_is_counted);
}

bool tr_ty_is_counted(const tr_ty *t) {
    static const is_fn owned[] = {
#define KIND(ID, word, user, items, ty, ...) ty,
#define TY(parts, owned, ...)                owned_##owned
#include "ty/kinds.def"
    };
    return t && owned[tr_ty_row(t)](t);
}

static bool changes_itself(const tr_ty *t) {
    (void)t;
    return true;
}

static bool changes_fixed(const tr_ty *t) {
    (void)t;
    return false;
}

static bool changes_items(const tr_ty *t) {
    return some_item(t, tr_ty_has_arrays);
}

bool tr_ty_has_arrays(const tr_ty *t) {
    static const is_fn changes[] = {
#define KIND(ID, word, user, items, ty, ...) ty,
#define TY(parts, owned, ...)                changes_##owned
#include "ty/kinds.def"
    };
    return t && changes[tr_ty_row(t)](t);
}

bool tr_ty_holds_arrays(const tr_ty *t) {
    if (t->kind == TR_TY_LIST)
        return tr_ty_has_arrays(t->items[0]);
    if (tr_ty_is_slots(t))
        return tr_ty_has_arrays(t->elem->items[0]);
    return some_item(t, tr_ty_holds_arrays);
}

static unsigned owners(const tr_ty *t, unsigned from, uint32_t *part, unsigned n);

static unsigned owners_itself(const tr_ty *t, unsigned from, uint32_t *part, unsigned n) {
    (void)t;
    if (part)
        part[n] = from;
    return n + 1;
}

static unsigned owners_fixed(const tr_ty *t, unsigned from, uint32_t *part, unsigned n) {
    return owners_itself(t, from, part, n);
}

static unsigned owners_items(const tr_ty *t, unsigned from, uint32_t *part, unsigned n) {
    for (uint32_t i = 0; i < t->n; i++) {
        n = owners(t->items[i], from, part, n);
        from += walk(t->items[i], NULL);
    }
    return n;
}

static unsigned owners(const tr_ty *t, unsigned from, uint32_t *part, unsigned n) {
    static unsigned (*const owned[])(const tr_ty *, unsigned, uint32_t *, unsigned) = {
#define KIND(ID, word, user, items, ty, ...) ty,
#define TY(parts, owned, ...)                owners_##owned
#include "ty/kinds.def"
    };
    return owned[tr_ty_row(t)](t, from, part, n);
}

unsigned tr_ty_owners(const tr_ty *t, uint32_t *part) {
    return owners(t, 0, part, 0);
}

bool tr_ty_fits(const tr_ty *t, unsigned *left) {
    if (t->kind != TR_TY_TUPLE)
        return true;
    if (t->n > *left)
        return false;
    *left -= t->n;
    for (uint32_t i = 0; i < t->n; i++)
        if (!tr_ty_fits(t->items[i], left))
            return false;
    return true;
}

unsigned tr_ty_nparts(const tr_ty *t) {
    return walk(t, NULL);
}

void tr_ty_parts(const tr_ty *t, tr_part *out) {
    unsigned n = walk(t, out);
    assert(n == tr_ty_nparts(t) && "as many parts as were asked for room");
    (void)n;
}
