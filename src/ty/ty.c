/* Interning of types and their constructors.
 *
 * Two kinds of table. The process's has a lock; what it holds lives as long as the process. A compilation's
 * table holds the types that mention objects of its snapshot, and remembers those it got from the process's
 * table, so that asking again needs no lock. Scalars are made with the table and read without a lock. Cost:
 * one hash and one probe; a new type is one arena allocation. */
#include "ty/ty.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "ty/internal.h"
#include "ty/obj.h"

enum { LOCAL_ID = 1 << 30 };

struct tr_tytab {
    tr_tytab *parent;
    pthread_mutex_t lock; /* of a table without parent */
    tr_arena arena;
    const tr_arena *owner; /* whose handler to use without memory */
    const tr_ty **slots;
    uint64_t *hashes;
    uint32_t n, cap, next_id;
    const tr_ty *scalars[TR_TY__SCALARS], *weak[TR_TY__SCALARS], *none;
    tr_smap opaque; /* objects that text names with @name */
    tr_cells cells;
};

static const struct {
    const char *ir, *user;
    uint8_t size;
    char cls;
} scalars[TR_TY__SCALARS] = {
#define X(id, ir, user, size, cls) {ir, user, size, cls},
    TR_SCALARS(X)
#undef X
};

char tr_ty_class(const tr_ty *t) {
    return tr_ty_is_scalar(t) ? scalars[t->kind].cls : 0;
}

int64_t tr_ty_truncate(const tr_ty *to, double x) {
    assert(tr_ty_is_int(to) && "a float becomes an integer");
    bool wide = to->kind == TR_TY_I64 || to->kind == TR_TY_U64 || to->kind == TR_TY_U32;
    if (to->kind == TR_TY_U64 && x >= 0x1p63)
        return x < 0x1p64 ? (int64_t)(uint64_t)x : 0;
    if (wide)
        return x > -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
    return x > -0x1p31 - 1 && x < 0x1p31 ? (int64_t)x : INT32_MIN;
}

unsigned tr_ty_size(const tr_ty *t) {
    switch ((tr_tyk)t->kind) {
    case TR_TY_STRUCT:
    case TR_TY_SLOT: return t->nums[0];
    case TR_TY_DATE: return scalars[TR_TY_I64].size;
    default: return tr_ty_is_scalar(t) ? scalars[t->kind].size : 0;
    }
}

const char *tr_tyk_ir_name(tr_tyk k) {
    return k < TR_TY__SCALARS ? scalars[k].ir : "none";
}

const char *tr_tyk_user_name(tr_tyk k) {
    return k < TR_TY__SCALARS ? scalars[k].user : "none";
}

/* --- kinds --- */

enum { ANY_NUMBER = -1 };

bool tr_ty_may_have(const tr_ty *t, uint32_t n) {
    static const int wanted[] = {
#define KIND(ID, word, user, items, ...) items,
#include "ty/kinds.def"
    };
    int want = wanted[tr_ty_row(t)];
    return want == ANY_NUMBER || (uint32_t)want == n;
}

static const tr_words words[] = {
#define KIND(ID, word, user, ...) {TR_TY_##ID, 0, word, user},
#define FORM(ID, sub, word, user) {TR_TY_##ID, sub, word, user},
#include "ty/kinds.def"
};

const tr_words *tr_ty_words(const tr_ty *t) {
    const tr_words *w = words;
    while (w->kind != (tr_tyk)t->kind || w->sub != t->sub) {
        w++;
        assert(w < words + sizeof words / sizeof *words && "each form of a kind has its row");
    }
    return w;
}

const char *tr_ty_word(const tr_ty *t) {
    return tr_ty_is_scalar(t) ? NULL : tr_ty_words(t)->ir;
}

const tr_words *tr_ty_by_word(const char *word) {
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].ir && !strcmp(words[i].ir, word))
            return &words[i];
    return NULL;
}

/* --- the table --- */

static uint64_t hash_type(const tr_ty *k) {
    uint64_t h = tr_hash_bytes(&(struct {
        uint64_t a, b, c;
    }){(uint64_t)k->kind | (uint64_t)k->weak << 8 | (uint64_t)k->ndim << 16 | (uint64_t)k->layout << 24 |
                                   (uint64_t)k->readonly << 32 | (uint64_t)k->sub << 40,
                               (uint64_t)k->n | (uint64_t)(k->func + k->serial + k->opts) << 32,
                               (uint64_t)(uintptr_t)k->elem},
                               24, 0);
    if (k->items && k->n)
        h = tr_hash_bytes(k->items, k->n * sizeof *k->items, h);
    if (k->name)
        h = tr_hash_bytes(k->name, strlen(k->name), h);
    for (uint32_t i = 0; k->fields && i < k->n; i++)
        h = tr_hash_bytes(k->fields[i], strlen(k->fields[i]), h);
    if (k->nums)
        h = tr_hash_bytes(k->nums, k->nnums * sizeof *k->nums, h);
    return k->lit ? h ^ tr_obj_hash(k->lit) : h;
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

static bool same_type(const tr_ty *a, const tr_ty *b) {
    if (a->kind != b->kind || a->weak != b->weak || a->ndim != b->ndim || a->layout != b->layout ||
        a->readonly != b->readonly || a->sub != b->sub || a->n != b->n || a->func != b->func ||
        a->serial != b->serial || a->opts != b->opts || a->elem != b->elem || !a->fields != !b->fields ||
        !a->lit != !b->lit || !same_text(a->name, b->name) || a->nnums != b->nnums ||
        (a->nnums && memcmp(a->nums, b->nums, a->nnums * sizeof *a->nums) != 0))
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->items[i] != b->items[i] || (a->fields && strcmp(a->fields[i], b->fields[i]) != 0))
            return false;
    return !a->lit || tr_obj_equal(a->lit, b->lit);
}

static const tr_ty *lookup(const tr_tytab *t, uint64_t h, const tr_ty *key) {
    if (!t->cap)
        return NULL;
    for (uint32_t i = (uint32_t)h & (t->cap - 1); t->slots[i]; i = (i + 1) & (t->cap - 1))
        if (t->hashes[i] == h && same_type(t->slots[i], key))
            return t->slots[i];
    return NULL;
}

static void put(tr_tytab *t, uint64_t h, const tr_ty *ty) {
    assert(t->n < t->cap && "there is a free place, or the search would not end");
    uint32_t i = (uint32_t)h & (t->cap - 1);
    while (t->slots[i])
        i = (i + 1) & (t->cap - 1);
    t->slots[i] = ty;
    t->hashes[i] = h;
}

static void insert(tr_tytab *t, uint64_t h, const tr_ty *ty) {
    if (t->n >= t->cap - t->cap / 4) {
        uint32_t cap = t->cap ? t->cap * 2 : 64, old = t->cap;
        const tr_ty **was = t->slots;
        uint64_t *hashes = t->hashes;
        const tr_ty **slots = TR_NEW_N(&t->arena, const tr_ty *, cap);
        t->hashes = TR_NEW_N(&t->arena, uint64_t, cap);
        t->slots = slots;
        t->cap = cap;
        for (uint32_t i = 0; i < old; i++)
            if (was[i])
                put(t, hashes[i], was[i]);
    }
    put(t, h, ty);
    t->n++;
}

/* Its parts live as long as the table. */
static __attribute__((unused)) bool parts_outlive_table(const tr_ty *key, const tr_tytab *t) {
    for (uint32_t i = 0; i < key->n && !t->parent && key->items; i++)
        if (key->items[i]->local)
            return false;
    return t->parent || !key->elem || !key->elem->local;
}

/* Copies the key with all it points to into the table. */
static const tr_ty *add(tr_tytab *t, uint64_t h, const tr_ty *key) {
    assert(key->kind < TR_TY__COUNT && parts_outlive_table(key, t) && "the process's types are of such");
    assert((!key->n || key->items) && (!key->fields || key->name || key->kind == TR_TY_STRUCT) &&
           "items are there, and names of fields are some class's");
    tr_arena *a = &t->arena;
    tr_ty *ty = tr_arena_copy(a, key, sizeof *key);
    ty->id = t->next_id;
    ty->local = t->parent != NULL;
    if (key->items)
        ty->items = tr_arena_copy(a, key->items, key->n * sizeof *key->items);
    if (key->fields) {
        const char **fields = TR_NEW_N(a, const char *, key->n + 1u);
        for (uint32_t i = 0; i < key->n; i++)
            fields[i] = tr_arena_strdup(a, key->fields[i]);
        ty->fields = fields;
    }
    if (key->name)
        ty->name = tr_arena_strdup(a, key->name);
    if (key->nums)
        ty->nums = tr_arena_copy(a, key->nums, key->nnums * sizeof *key->nums);
    if (key->lit && !t->parent) /* the compilation that owns it may end first */
        ty->lit = tr_obj_copy(a, key->lit);
    insert(t, h, ty);
    t->next_id++;
    return ty;
}

static const tr_ty *intern_shared(tr_tytab *t, uint64_t h, const tr_ty *key) {
    jmp_buf jump;
    const tr_ty *volatile ty = NULL;
    pthread_mutex_lock(&t->lock);
    t->arena.oom = &jump;
    if (!setjmp(jump)) {
        ty = lookup(t, h, key);
        if (!ty)
            ty = add(t, h, key);
    }
    t->arena.oom = NULL;
    pthread_mutex_unlock(&t->lock);
    return ty;
}

static _Noreturn void no_memory(tr_tytab *t) {
    if (t->owner && t->owner->oom)
        longjmp(*t->owner->oom, 1);
    fputs("treadle: out of memory\n", stderr);
    abort();
}

static bool mentions_local(const tr_ty *k) {
    if (k->kind == TR_TY_LIT || k->kind == TR_TY_CLOSURE || k->kind == TR_TY_EXC ||
        ((k->kind == TR_TY_LIST || k->kind == TR_TY_SET) && k->sub == TR_LIST_CELL) ||
        (k->elem && k->elem->local))
        return true;
    for (uint32_t i = 0; i < k->n; i++)
        if (k->items[i]->local)
            return true;
    return false;
}

const tr_ty *tr_ty_intern(tr_tytab *t, const tr_ty *key) {
    uint64_t h = hash_type(key);
    const tr_ty *ty;
    if (!t->parent) {
        ty = intern_shared(t, h, key);
        if (!ty)
            no_memory(t);
        return ty;
    }
    t->arena.oom = t->owner ? t->owner->oom : NULL;
    ty = lookup(t, h, key);
    if (ty)
        return ty;
    if (mentions_local(key))
        return add(t, h, key);
    ty = intern_shared(t->parent, h, key);
    if (!ty)
        no_memory(t);
    insert(t, h, ty);
    return ty;
}

static bool make_scalars(tr_tytab *t) {
    jmp_buf jump;
    t->arena.oom = &jump;
    if (setjmp(jump))
        return false;
    for (unsigned k = 0; k < TR_TY__SCALARS; k++) {
        tr_ty key = {.kind = (uint8_t)k};
        t->scalars[k] = add(t, hash_type(&key), &key);
        key.weak = 1;
        if (k == TR_TY_I64 || k == TR_TY_F64 || k == TR_TY_C128)
            t->weak[k] = add(t, hash_type(&key), &key);
    }
    tr_ty none = {.kind = TR_TY_NONE};
    t->none = add(t, hash_type(&none), &none);
    t->arena.oom = NULL;
    return true;
}

tr_tytab *tr_tytab_new(tr_tytab *parent) {
    tr_tytab *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    assert((!parent || !parent->parent) && "a compilation's table stands on the process's");
    tr_arena_init(&t->arena, NULL);
    if (parent) {
        t->parent = parent;
        t->next_id = LOCAL_ID;
        memcpy(t->scalars, parent->scalars, sizeof t->scalars);
        memcpy(t->weak, parent->weak, sizeof t->weak);
        t->none = parent->none;
        return t;
    }
    if (pthread_mutex_init(&t->lock, NULL) == 0) {
        if (make_scalars(t))
            return t;
        pthread_mutex_destroy(&t->lock);
    }
    tr_arena_fini(&t->arena);
    free(t);
    return NULL;
}

void tr_tytab_free(tr_tytab *t) {
    if (!t)
        return;
    if (!t->parent)
        pthread_mutex_destroy(&t->lock);
    tr_arena_fini(&t->arena);
    free(t);
}

void tr_tytab_follow(tr_tytab *t, const tr_arena *owner) {
    assert(t->parent && "a compilation's table follows its arena");
    t->owner = owner;
}

/* --- what the text reader needs (ty/internal.h) --- */

tr_arena *tr_tytab_arena(tr_tytab *t) {
    return &t->arena;
}

tr_cells *tr_tytab_cells(tr_tytab *t) {
    t->arena.oom = t->owner ? t->owner->oom : NULL;
    return &t->cells;
}

const tr_obj *tr_tytab_opaque(tr_tytab *t, const char *name, size_t n) {
    const tr_obj *o = tr_smap_get(&t->opaque, name, n);
    if (!o) {
        tr_obj *made = TR_NEW(&t->arena, tr_obj);
        made->kind = TR_OBJ_OPAQUE;
        made->repr = tr_arena_strndup(&t->arena, name, n);
        tr_smap_set(&t->arena, &t->opaque, name, n, made);
        o = made;
    }
    return o;
}

/* --- constructors --- */

const tr_ty *tr_ty_scalar(tr_tytab *t, tr_tyk kind) {
    assert(kind <= TR_TY__SCALARS && "a number's kind, or none");
    return kind == TR_TY_NONE ? t->none : t->scalars[kind];
}

const tr_ty *tr_ty_weak(tr_tytab *t, tr_tyk kind) {
    assert(kind < TR_TY__SCALARS && t->weak[kind] && "int64, float64 and complex128 have weak forms");
    return t->weak[kind];
}

const tr_ty *tr_ty_none(tr_tytab *t) {
    return t->none;
}

const tr_ty *tr_ty_bytes(tr_tytab *t) {
    return tr_ty_of(t, TR_TY_BYTES, 0, 1, (const tr_ty *const[]){tr_ty_string(t)});
}

const tr_ty *tr_ty_string(tr_tytab *t) {
    return tr_ty_of(t, TR_TY_STRING, 0, 0, NULL);
}

const tr_ty *tr_ty_named(tr_tytab *t, tr_tyk kind) {
    return kind == TR_TY_STRING  ? tr_ty_string(t)
           : kind == TR_TY_BYTES ? tr_ty_bytes(t)
                                 : tr_ty_scalar(t, kind);
}

static const tr_ty *with_items(tr_tytab *t, tr_ty key, uint32_t n, const tr_ty *const *items) {
    assert(tr_ty_may_have(&key, n) && "as many items as kinds.def says");
    key.n = n;
    key.items = n ? items : NULL;
    return tr_ty_intern(t, &key);
}

const tr_ty *tr_ty_of(tr_tytab *t, tr_tyk kind, unsigned sub, uint32_t n, const tr_ty *const *items) {
    return with_items(t, (tr_ty){.kind = (uint8_t)kind, .sub = (uint8_t)sub}, n, items);
}

const tr_ty *tr_ty_like(tr_tytab *t, const tr_ty *a, const tr_ty *const *items) {
    return with_items(t, *a, a->n, items);
}

const tr_ty *tr_ty_tuple(tr_tytab *t, uint32_t n, const tr_ty *const *items) {
    return tr_ty_of(t, TR_TY_TUPLE, 0, n, items);
}

const tr_ty *tr_ty_named_tuple(tr_tytab *t, const char *name, uint32_t serial, uint32_t n,
                               const tr_ty *const *items, const char *const *fields) {
    static const char *const none[1];
    tr_ty key = {.kind = TR_TY_TUPLE, .name = name, .serial = serial, .fields = n ? fields : none};
    return with_items(t, key, n, items);
}

bool tr_ty_is_dict_record(const tr_ty *t) {
    return t->kind == TR_TY_TUPLE && t->name && t->serial == TR_SERIAL_DICT;
}

bool tr_ty_same_class(const tr_ty *a, const tr_ty *b) {
    if (a->n != b->n || a->sub != b->sub || a->serial != b->serial || !a->fields != !b->fields ||
        !same_text(a->name, b->name))
        return false;
    for (uint32_t i = 0; a->fields && i < a->n; i++)
        if (strcmp(a->fields[i], b->fields[i]) != 0)
            return false;
    return true;
}

const tr_ty *tr_ty_list(tr_tytab *t, uint32_t n, const tr_ty *const *items) {
    return tr_ty_of(t, TR_TY_TUPLE, TR_TUPLE_LIST, n, items);
}

bool tr_ty_is_list(const tr_ty *t) {
    return t->kind == TR_TY_TUPLE && t->sub == TR_TUPLE_LIST;
}

bool tr_ty_has_list(const tr_ty *t) {
    if (tr_ty_is_list(t))
        return true;
    for (uint32_t i = 0; i < t->n; i++)
        if (tr_ty_has_list(t->items[i]))
            return true;
    return false;
}

/* What may be None on another path: what Python may be given, a function that compiled code knows, or what a
 * loop within another runs over (tr_round). */
static bool can_be_held(const tr_ty *t) {
    switch ((tr_tyk)t->kind) {
    case TR_TY_TUPLE:
        for (uint32_t i = 0; i < t->n; i++)
            if (t->items[i]->kind != TR_TY_NONE && t->items[i]->kind != TR_TY_OPT &&
                !can_be_held(t->items[i]))
                return false;
        return !tr_ty_is_list(t);
    case TR_TY_ARRAY:
    case TR_TY_LIST:
    case TR_TY_SET:
    case TR_TY_DICT:
    case TR_TY_FACED:
    case TR_TY_FROZEN:
    case TR_TY_DEQUE:
    case TR_TY_STRING:
    case TR_TY_BYTES:
    case TR_TY_RECORDS:
    case TR_TY_RECORD:
    case TR_TY_RANGE:
    case TR_TY_ENUMERATE:
    case TR_TY_ZIP:
    case TR_TY_REVERSED:
    case TR_TY_FLAT:
    case TR_TY_NDINDEX:
    case TR_TY_MAP:
    case TR_TY_FILTER:
    case TR_TY_GENEXPR:
    case TR_TY_ITERATOR:
    case TR_TY_DRAWN:
    case TR_TY_ORDERED:
    case TR_TY_LIT:
    case TR_TY_CLOSURE:
    case TR_TY_ONEOF:
    case TR_TY_DATE:
    case TR_TY_DATES:
    case TR_TY_CHARS:
    case TR_TY_GENERATOR: return true;
    default: return tr_ty_is_scalar(t);
    }
}

const tr_ty *tr_ty_optional(tr_tytab *t, const tr_ty *of) {
    if (of->kind == TR_TY_OPT || of->kind == TR_TY_NONE)
        return of;
    const tr_ty *items[2] = {tr_ty_scalar(t, TR_TY_BOOL), of};
    return can_be_held(of) ? tr_ty_of(t, TR_TY_OPT, 0, 2, items) : NULL;
}

const tr_ty *tr_ty_array(tr_tytab *t, const tr_ty *elem, unsigned ndim, tr_layout layout, bool readonly) {
    return tr_ty_array_as(t, elem, ndim, layout, readonly, 0);
}

const tr_ty *tr_ty_array_as(tr_tytab *t, const tr_ty *elem, unsigned ndim, tr_layout layout, bool readonly,
                            unsigned form) {
    assert(ndim <= TR_MAX_NDIM && layout <= TR_LAYOUT_ANY && form <= TR_ARRAY_LOOSE &&
           "a rank, layout and form that there are");
    assert(
        ((tr_ty_is_scalar(elem) && !elem->weak) || elem->kind == TR_TY_STRUCT || elem->kind == TR_TY_SLOT) &&
        "items are numbers, records or slots");
    if (form == TR_ARRAY_PACKED)
        layout = TR_LAYOUT_ANY;
    if (!ndim || (ndim == 1 && layout == TR_LAYOUT_F))
        layout = TR_LAYOUT_C;
    return tr_ty_intern(t, &(tr_ty){.kind = TR_TY_ARRAY,
                                    .sub = (uint8_t)form,
                                    .ndim = (uint8_t)ndim,
                                    .layout = (uint8_t)layout,
                                    .readonly = readonly,
                                    .elem = elem});
}

const tr_ty *tr_ty_core(tr_tytab *t, const tr_ty *elem, unsigned n, bool output) {
    elem = tr_ty_strong(t, elem);
    return n || output ? tr_ty_array(t, elem, n ? n : 1, TR_LAYOUT_ANY, false) : elem;
}

const tr_ty *tr_ty_range(tr_tytab *t, const tr_ty *elem, unsigned sub) {
    const tr_ty *i64 = t->scalars[TR_TY_I64], *items[3] = {i64, i64, i64};
    return with_items(t, (tr_ty){.kind = TR_TY_RANGE, .sub = (uint8_t)sub, .elem = elem}, 3, items);
}

const tr_ty *tr_ty_slice(tr_tytab *t, const tr_ty *start, const tr_ty *stop, const tr_ty *step) {
    return tr_ty_of(t, TR_TY_SLICE, 0, 3, (const tr_ty *const[]){start, stop, step});
}

const tr_ty *tr_ty_lit(tr_tytab *t, const tr_obj *lit) {
    return tr_ty_intern(t, &(tr_ty){.kind = TR_TY_LIT, .lit = lit});
}

const tr_ty *tr_ty_closure(tr_tytab *t, uint32_t func, uint32_t opts, uint32_t n,
                           const tr_ty *const *captured) {
    return with_items(t, (tr_ty){.kind = TR_TY_CLOSURE, .func = func, .opts = opts}, n, captured);
}

const tr_ty *tr_ty_handed(tr_tytab *t, uint32_t which, uint32_t n, const tr_ty *const *items) {
    return with_items(t, (tr_ty){.kind = TR_TY_HANDED, .func = which}, n, items);
}

const tr_ty *tr_ty_method(tr_tytab *t, const tr_ty *self, const char *name) {
    return with_items(t, (tr_ty){.kind = TR_TY_METHOD, .name = name}, 1, &self);
}

const tr_ty *tr_ty_exc(tr_tytab *t, const tr_obj *cls, uint32_t n, const tr_ty *const *args) {
    return with_items(t, (tr_ty){.kind = TR_TY_EXC, .lit = cls}, n, args);
}
