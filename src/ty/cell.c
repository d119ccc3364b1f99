/* Cells: what is known of the items of a list, or a set, while types are found (unification of type
 * variables, in the field's words).
 *
 * A list's type names the cell it was made with. Where two lists may be one value their cells become one, by
 * union and find; the content of a cell is the type that all items have in common which were put into any
 * list of it. Both only grow, so whoever sweeps until nothing changes comes to an end: numbers have few types
 * above each other, and there is a cell for each place that makes a list. What has no common type is noted,
 * with both places, and told when code is made; so is what would make a list an item of itself, or lists in
 * lists without end: contents are trees, of a few lists' depth. A list into which nothing comes is taken for
 * one of bool: who reads its items, which are never there, gets a type, and nobody else hears of it.
 * Cost: a find is as long as the chain to the cell's root, which it shortens. */
#include <assert.h>

#include "ty/internal.h"

static const tr_ty *of_item(tr_tytab *t, uint8_t kind, const tr_ty *item) {
    assert((!item || tr_ty_may_lie(item)) && "items have a place in memory");
    unsigned form = item ? 0 : TR_LIST_NOTHING;
    item = item ? item : tr_ty_scalar(t, TR_TY_BOOL);
    return tr_ty_of(t, (tr_tyk)kind, form, 1, &item);
}

const tr_ty *tr_ty_list_of(tr_tytab *t, const tr_ty *item) {
    return of_item(t, TR_TY_LIST, item);
}

static const tr_ty *of_cell(tr_tytab *t, uint8_t kind, uint32_t k) {
    const tr_ty *none = tr_ty_none(t);
    tr_ty key = {.kind = kind, .sub = TR_LIST_CELL, .n = 1, .items = &none, .nums = &k, .nnums = 1};
    return tr_ty_intern(t, &key);
}

static bool has_cells(const tr_ty *t) {
    return t->kind == TR_TY_LIST || t->kind == TR_TY_SET;
}

static bool is_cell(const tr_ty *list) {
    assert(has_cells(list) && "lists and sets have items");
    return list->sub == TR_LIST_CELL;
}

static uint32_t root_of(tr_cells *c, const tr_ty *list) {
    uint32_t k = list->nums[0];
    assert(k < c->all.n && "a cell of this table");
    while (c->all.d[k].up != k)
        k = c->all.d[k].up = c->all.d[c->all.d[k].up].up;
    return k;
}

static tr_cell *cell_of(const tr_tytab *t, const tr_ty *list) {
    tr_cells *c = tr_tytab_cells((tr_tytab *)(uintptr_t)t);
    return &c->all.d[root_of(c, list)];
}

static void note_role(tr_tytab *t, const tr_ty *list, tr_cell_role role) {
    if (is_cell(list) && cell_of(t, list)->role < role)
        cell_of(t, list)->role = (uint8_t)role;
}

/* A tuple of keys is one. */
static const tr_ty *key_of_items(tr_tytab *t, const tr_ty *x) {
    const tr_ty *few[TR_TY_FEW];
    tr_arena scratch;
    tr_arena_init(&scratch, NULL);
    const tr_ty **items = tr_ty_room(&scratch, few, x->n);
    bool all = true;
    for (uint32_t i = 0; all && i < x->n; i++)
        all = (items[i] = tr_ty_as_key(t, x->items[i])) != NULL;
    const tr_ty *r = all ? tr_ty_like(t, x, items) : NULL;
    tr_arena_fini(&scratch);
    return r;
}

const tr_ty *tr_ty_as_key(tr_tytab *t, const tr_ty *x) {
    x = tr_ty_told(t, tr_ty_strong(t, x));
    if (x->kind == TR_TY_STRING || x->kind == TR_TY_BYTES || x->kind == TR_TY_DATE || x->kind == TR_TY_NONE)
        return x;
    if (x->kind == TR_TY_TUPLE && !tr_ty_is_list(x))
        return key_of_items(t, x);
    if (x->kind == TR_TY_OPT) {
        const tr_ty *of = tr_ty_as_key(t, x->items[1]);
        return of ? tr_ty_optional(t, of) : NULL;
    }
    if (!tr_ty_is_scalar(x))
        return NULL;
    if (tr_ty_is_complex(x))
        return tr_ty_scalar(t, TR_TY_C128);
    if (tr_ty_is_float(x))
        return tr_ty_scalar(t, TR_TY_F64);
    return x->kind == TR_TY_BOOL || x->kind == TR_TY_U64 ? x : tr_ty_scalar(t, TR_TY_I64);
}

const tr_ty *tr_ty_dict_of(tr_tytab *t, const tr_ty *keys, const tr_ty *values) {
    assert(keys->kind == TR_TY_SET && values->kind == TR_TY_LIST && "a set of keys, a list of values");
    note_role(t, keys, TR_CELL_KEYS);
    note_role(t, values, TR_CELL_VALUES);
    return tr_ty_of(t, TR_TY_DICT, 0, 2, (const tr_ty *[]){keys, values});
}

const tr_ty *tr_ty_new_cell(tr_tytab *t) {
    tr_cells *c = tr_tytab_cells(t);
    tr_cell new = {.up = c->all.n};
    tr_vec_push(tr_tytab_arena(t), &c->all, new);
    return of_cell(t, TR_TY_LIST, c->all.n - 1);
}

const tr_ty *tr_ty_set_like(tr_tytab *t, const tr_ty *list) {
    note_role(t, list, TR_CELL_SET);
    if (is_cell(list))
        return of_cell(t, TR_TY_SET, list->nums[0]);
    return of_item(t, TR_TY_SET, tr_ty_list_item(t, list, false));
}

bool tr_ty_same_cell(const tr_tytab *t, const tr_ty *a, const tr_ty *b) {
    tr_cells *c = tr_tytab_cells((tr_tytab *)(uintptr_t)t);
    return a->kind == b->kind && is_cell(a) && is_cell(b) && root_of(c, a) == root_of(c, b);
}

const tr_ty *tr_ty_list_item(const tr_tytab *t, const tr_ty *list, bool guessed) {
    const tr_cell *c = is_cell(list) ? cell_of(t, list) : NULL;
    bool guess = c ? c->guess : list->sub == TR_LIST_NOTHING;
    return guess && !guessed ? NULL : c ? c->content : list->items[0];
}

bool tr_ty_list_guess(tr_tytab *t, const tr_ty *list) {
    tr_cell *c = is_cell(list) ? cell_of(t, list) : NULL;
    if (!c || c->content)
        return false;
    c->content = tr_ty_scalar(t, TR_TY_BOOL);
    c->guess = true;
    tr_tytab_cells(t)->changes++;
    return true;
}

bool tr_ty_list_clash(const tr_tytab *t, const tr_ty *list, tr_clash *out) {
    if (!is_cell(list))
        return false;
    const tr_cell *c = cell_of(t, list);
    *out = c->clash;
    out->role = (tr_cell_role)c->role;
    return out->type[1] != NULL;
}

uint32_t tr_ty_cell_changes(const tr_tytab *t) {
    return tr_tytab_cells((tr_tytab *)(uintptr_t)t)->changes;
}

/* What an item may be: a value that has a form of its own in memory, whoever reads it. */
bool tr_ty_may_be_item(const tr_ty *t) {
    switch ((tr_tyk)t->kind) {
    case TR_TY_TUPLE:
        for (uint32_t i = 0; i < t->n; i++)
            if (t->items[i]->kind != TR_TY_LIT && !tr_ty_may_be_item(t->items[i]))
                return false;
        return !tr_ty_is_list(t);
    case TR_TY_OPT: return tr_ty_may_be_item(t->items[1]);
    case TR_TY_PARTIAL:
        return (t->items[0]->kind == TR_TY_LIT || tr_ty_may_be_item(t->items[0])) &&
               tr_ty_may_be_item(t->items[1]) && tr_ty_may_be_item(t->items[2]->items[1]);
    case TR_TY_FACED: return t->sub != TR_FACE_MADE || t->items[1]->kind == TR_TY_LIT;
    case TR_TY_LIT: return tr_obj_is_one(t->lit);
    case TR_TY_CLOSURE:
    case TR_TY_ONEOF:
    case TR_TY_DRAWN:
    case TR_TY_GENEXPR:
    case TR_TY_FLAT:
    case TR_TY_SLICE:
    case TR_TY_METHOD:
    case TR_TY_ORDERED:
    case TR_TY_ITERATOR:
    case TR_TY_MAP:
    case TR_TY_FILTER:
    case TR_TY_ZIP:
    case TR_TY_ENUMERATE:
    case TR_TY_REVERSED:
    case TR_TY_NDINDEX:
    case TR_TY_WALK:
        for (uint32_t i = 0; i < t->n; i++)
            if (t->items[i]->kind != TR_TY_LIT && !tr_ty_may_be_item(t->items[i]))
                return false;
        return true;
    case TR_TY_RANGE:
    case TR_TY_DICTVIEW:
    case TR_TY_NONE:
    case TR_TY_LIST:
    case TR_TY_SET:
    case TR_TY_DICT:
    case TR_TY_FROZEN:
    case TR_TY_DEQUE:
    case TR_TY_STRING:
    case TR_TY_BYTES:
    case TR_TY_ARRAY:
    case TR_TY_RECORDS:
    case TR_TY_RECORD:
    case TR_TY_DATE:
    case TR_TY_DATES:
    case TR_TY_CHARS: return true;
    default: return tr_ty_is_scalar(t);
    }
}

/* How deep lists lie in lists in x, up to `most`; whether one of them is of cell k, which would then be an
 * item of itself. There are no such cycles, as this is asked before any could come about. */
static unsigned depth_of(const tr_tytab *t, const tr_ty *x, uint32_t k, unsigned most, bool *meets) {
    unsigned deepest = 0;
    if (has_cells(x)) {
        const tr_ty *item = tr_ty_list_item(t, x, false);
        bool cell = is_cell(x);
        *meets = *meets || (cell && root_of(tr_tytab_cells((tr_tytab *)(uintptr_t)t), x) == k);
        return 1 + (item && most ? depth_of(t, item, k, most - 1, meets) : 0);
    }
    for (uint32_t i = 0; i < x->n; i++) {
        unsigned d = depth_of(t, x->items[i], k, most, meets);
        deepest = d > deepest ? d : deepest;
    }
    return deepest;
}

bool tr_ty_holds_cell(const tr_tytab *t, const tr_ty *x, const tr_ty *list) {
    bool meets = false;
    if (is_cell(list))
        depth_of(t, x, root_of(tr_tytab_cells((tr_tytab *)(uintptr_t)t), list), TR_MAX_LISTS, &meets);
    return meets;
}

static void note_clash(tr_tytab *t, tr_cell *c, const tr_ty *x, int32_t line, tr_clash_why why) {
    if (c->clash.type[1])
        return;
    c->clash = (tr_clash){{c->content, x}, {c->line, line}, why, TR_CELL_LIST};
    tr_tytab_cells(t)->changes++;
}

/* The content of cell k becomes what it has in common with x. */
static bool grow(tr_tytab *t, uint32_t k, const tr_ty *x, int32_t line, bool numba) {
    tr_cells *cells = tr_tytab_cells(t);
    tr_cell *c = &cells->all.d[k];
    bool itself = false;
    if (tr_ty_has_lists(x)) {
        unsigned deep = depth_of(t, x, k, TR_MAX_LISTS, &itself);
        if (itself || deep >= TR_MAX_LISTS) {
            note_clash(t, c, x, line, itself ? TR_CLASH_ITSELF : TR_CLASH_DEEP);
            return false;
        }
    }
    const tr_ty *j = c->content && !c->guess ? tr_ty_join(t, c->content, x, numba) : x;
    if (!j || !tr_ty_may_be_item(j)) {
        note_clash(t, c, x, line, TR_CLASH_TYPES);
        return false;
    }
    if (j == c->content && !c->guess)
        return true;
    c->content = j;
    c->guess = false;
    c->line = line;
    cells->changes++;
    return true;
}

bool tr_ty_list_takes(tr_tytab *t, const tr_ty *list, const tr_ty *x, int32_t line, bool numba) {
    x = tr_ty_told(t, tr_ty_strong(t, x));
    x = list->kind == TR_TY_SET ? tr_ty_as_key(t, x) : x;
    if (!x || !tr_ty_may_be_item(x))
        return false;
    if (is_cell(list))
        return grow(t, root_of(tr_tytab_cells(t), list), x, line, numba);
    return tr_ty_join(t, list->items[0], x, numba) == list->items[0];
}

const tr_ty *tr_ty_join_lists(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba) {
    if (is_cell(b)) {
        const tr_ty *other = a;
        a = b;
        b = other;
    }
    if (!is_cell(a))
        return a == b ? a : NULL;
    if (!is_cell(b)) /* one that is closed: its items are all that there may be */
        return NULL;
    tr_cells *c = tr_tytab_cells(t);
    uint32_t x = root_of(c, a), y = root_of(c, b), low = x < y ? x : y, high = x < y ? y : x;
    if (x != y) {
        tr_cell was = c->all.d[high];
        bool itself = false;
        depth_of(t, a, y, TR_MAX_LISTS, &itself);
        depth_of(t, b, x, TR_MAX_LISTS, &itself);
        if (itself) { /* the one would be an item of the other */
            note_clash(t, &c->all.d[low], a, was.line, TR_CLASH_ITSELF);
            return NULL;
        }
        c->all.d[high].up = low;
        if (was.role > c->all.d[low].role)
            c->all.d[low].role = was.role;
        c->changes++;
        if (was.content && !was.guess)
            grow(t, low, was.content, was.line, numba);
        if (was.clash.type[1] && !c->all.d[low].clash.type[1])
            c->all.d[low].clash = was.clash;
    }
    return of_cell(t, a->kind, low);
}

bool tr_ty_has_lists(const tr_ty *t) {
    if (has_cells(t))
        return true;
    for (uint32_t i = 0; i < t->n; i++)
        if (tr_ty_has_lists(t->items[i]))
            return true;
    return false;
}

bool tr_ty_is_fixed(const tr_ty *t) {
    return has_cells(t) ? t->sub == TR_LIST_FIXED : t->kind == TR_TY_DICT && tr_ty_is_fixed(t->items[0]);
}

/* A type with other lists: what `each` makes of its items. */
static const tr_ty *with_each(tr_tytab *t, const tr_ty *ty, const tr_ty *(*each)(tr_tytab *, const tr_ty *)) {
    const tr_ty *few[TR_TY_FEW];
    tr_arena scratch;
    tr_arena_init(&scratch, NULL);
    const tr_ty **items = tr_ty_room(&scratch, few, ty->n);
    for (uint32_t i = 0; i < ty->n; i++)
        items[i] = each(t, ty->items[i]);
    const tr_ty *r = tr_ty_like(t, ty, items);
    tr_arena_fini(&scratch);
    return r;
}

const tr_ty *tr_ty_fixed(tr_tytab *t, const tr_ty *ty) {
    if (ty->kind == TR_TY_ARRAY)
        return tr_ty_array_as(t, ty->elem, ty->ndim, (tr_layout)ty->layout, true, ty->sub);
    if (!has_cells(ty))
        return ty->n ? with_each(t, ty, tr_ty_fixed) : ty;
    assert(!is_cell(ty) && "what is in a constant is known");
    const tr_ty *item = tr_ty_fixed(t, ty->items[0]);
    return ty->sub == TR_LIST_NOTHING ? ty : tr_ty_of(t, (tr_tyk)ty->kind, TR_LIST_FIXED, 1, &item);
}

const tr_ty *tr_ty_closed(tr_tytab *t, const tr_ty *ty) {
    if (!tr_ty_has_lists(ty) || tr_ty_is_fixed(ty))
        return ty;
    if (!has_cells(ty))
        return with_each(t, ty, tr_ty_closed);
    const tr_ty *item = tr_ty_list_item(t, ty, false);
    return of_item(t, ty->kind, item ? tr_ty_closed(t, item) : NULL);
}
