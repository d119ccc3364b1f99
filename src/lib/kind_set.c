/* Sets, and the keys of dicts: a value is the table itself, whoever has it (rt/dict.c). A key has an entry,
 * which has a number; `items` are all keys in the order in which they came, those that have left among them.
 *
 * While types are found keys flow into a cell as items of lists do. A key that is only looked for does not:
 * it is converted to what the set holds where that is exact, and not found where it is not, as Python's
 * numbers are equal across types. Order is that of insertion, where Python's is any. */
#include "lib/table.h"

#include <assert.h>
#include <string.h>

#include "lib/kinds.h"

static const tr_ty *i64_of(tr_em *e) {
    return tr_fam_ty(e, TR_TY_I64);
}

static tr_tv zero(tr_em *e) {
    return tr_em_i64(e, 0);
}

/* --- tables --- */

static tr_tv number_of(tr_em *e, tr_op op, tr_tv x, tr_tv y) {
    return tr_lib_emit(e, op, i64_of(e), y.ty ? 2 : 1, (tr_val[]){x.v, y.v});
}

tr_tv tr_table_values(tr_em *e, tr_tv x) {
    while (x.ty->kind == TR_TY_DICTVIEW || x.ty->kind == TR_TY_WALK || x.ty->kind == TR_TY_FACED)
        x = tr_em_item(e, x, 0);
    return x.ty->kind == TR_TY_DICT ? tr_em_item(e, x, 1) : (tr_tv){NULL, TR_NOVAL};
}

tr_tv tr_table_found(tr_em *e, tr_tv entry) {
    return tr_em_cmp(e, TR_CMP_GE, entry, zero(e));
}

static const tr_site *no_room(tr_em *e) {
    return tr_lib_site(e, TR_EXC_MEMORY, "cannot allocate a table of more than {0} keys");
}

tr_tv tr_table_new_set(tr_em *e, uint32_t which) {
    tr_tv set = tr_lib_emit(e, TR_OP_NEWSET, tr_ty_set_like(e->types, e->list(e, which)), 0, NULL);
    if (!e->dry)
        tr_at(e->b.fn, set.v)->imm.site = no_room(e);
    return set;
}

const char *tr_lib_unhashable(const tr_ty *t) {
    if (t->kind == TR_TY_LIST || tr_ty_is_list(t))
        return "list";
    if (t->kind == TR_TY_SET)
        return "set";
    if (t->kind == TR_TY_BYTEARRAY)
        return "bytearray";
    if (t->kind == TR_TY_DICT || t->kind == TR_TY_KEYED)
        return "dict";
    if (t->kind == TR_TY_ARRAY || t->kind == TR_TY_RECORDS || t->kind == TR_TY_DATES ||
        t->kind == TR_TY_CHARS)
        return "numpy.ndarray";
    const char *name = t->kind == TR_TY_FACED ? tr_lib_face_class(t) : NULL;
    for (uint32_t k = 0; !name && (t->kind == TR_TY_TUPLE || t->kind == TR_TY_OPT) && k < t->n; k++)
        name = tr_lib_unhashable(t->items[k]);
    return name;
}

static bool is_key(tr_em *e, tr_tv x) {
    if (tr_ty_as_key(e->types, x.ty))
        return true;
    const char *name = tr_lib_unhashable(x.ty);
    return name ? tr_em_error(e, "unhashable type: '%s'", name)
                : tr_em_unsupported(e, "dict-keys", "%s as a key", tr_em_tyname(e, x.ty));
}

static bool as_type(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out) {
    if (!tr_ty_is_scalar(to) || !tr_ty_is_scalar(x.ty))
        return tr_em_coerce(e, x, to, out);
    *out = tr_em_conv(e, x, to);
    return true;
}

bool tr_table_as_key(tr_em *e, tr_tv set, tr_tv x, tr_tv *key) {
    if (!is_key(e, x))
        return false;
    if (tr_ty_list_takes(e->types, set.ty, x.ty, e->place.span.line, e->opts->promote_numba)) {
        return as_type(e, x, tr_ty_list_item(e->types, set.ty, true), key);
    }
    if (!e->dry && e->ctx->nerrs) /* that the keys have no type in common has been told */
        return false;
    return tr_em_error(e, "%s cannot be a key of %s", tr_em_tyname(e, x.ty), tr_em_tyname(e, set.ty));
}

/* The number as one of type `to`, and whether it is equal to it. */
static tr_tv exact_number(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *ok) {
    const tr_ty *t = x.ty = tr_ty_strong(e->types, x.ty);
    tr_tv y;
    *ok = tr_em_strong(e, tr_em_bool(e, true));
    if (t == to)
        return x;
    if (tr_ty_is_complex(t) && !tr_ty_is_complex(to)) {
        tr_tv im = tr_em_im(e, x), also;
        y = exact_number(e, tr_em_re(e, x), to, &also);
        *ok = tr_fam_and(e, also, tr_em_cmp(e, TR_CMP_EQ, im, tr_em_num(e, im.ty, 0)));
        return y;
    }
    if (tr_ty_is_complex(to)) {
        const tr_ty *f = tr_fam_ty(e, TR_TY_F64);
        return tr_ty_is_complex(t) ? tr_em_conv(e, x, to)
                                   : tr_em_cplx(e, exact_number(e, x, f, ok), tr_em_f64(e, 0));
    }
    if (tr_ty_is_float(to)) {
        y = tr_em_conv(e, x, to);
        if (tr_ty_is_float(t) || t->kind == TR_TY_BOOL || tr_ty_size(t) < 8)
            return y;
        tr_tv less = tr_em_cmp(e, TR_CMP_LT, y, tr_em_f64(e, t->kind == TR_TY_U64 ? 0x1p64 : 0x1p63));
        tr_tv back = tr_em_conv(e, tr_em_select(e, less, y, tr_em_f64(e, 0)), t);
        *ok = tr_fam_and(e, less, tr_em_cmp(e, TR_CMP_EQ, back, x));
        return y;
    }
    if (tr_ty_is_float(t)) {
        bool u = to->kind == TR_TY_U64, b = to->kind == TR_TY_BOOL;
        y = tr_em_conv(e, x, tr_fam_ty(e, TR_TY_F64));
        *ok = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, y, tr_em_f64(e, u || b ? 0.0 : -0x1p63)),
                         tr_em_cmp(e, TR_CMP_LT, y,
                                   tr_em_f64(e, b   ? 2.0
                                                : u ? 0x1p64
                                                    : 0x1p63)));
        y = tr_em_select(e, *ok, y, tr_em_f64(e, 0));
        *ok = tr_fam_and(e, *ok, tr_em_cmp(e, TR_CMP_EQ, tr_fam_math1(e, TR_MATH_FLOOR, y), y));
        return tr_em_conv(e, y, to);
    }
    const tr_ty *wide = t->kind == TR_TY_U64 ? t : i64_of(e);
    y = tr_em_conv(e, x, wide);
    if (to->kind == TR_TY_BOOL)
        *ok = tr_fam_or(e, tr_em_cmp(e, TR_CMP_EQ, y, tr_em_num(e, wide, 0)),
                        tr_em_cmp(e, TR_CMP_EQ, y, tr_em_num(e, wide, 1)));
    else if ((to->kind == TR_TY_U64) != (wide->kind == TR_TY_U64)) /* one sign bit too many */
        *ok = tr_em_cmp(e, TR_CMP_GE, tr_em_conv(e, y, i64_of(e)), zero(e));
    return tr_em_conv(e, y, to);
}

/* The key as one of type `to`, and whether it is equal to it. False: no key of that type ever is. */
static bool exactly(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out, tr_tv *ok);

static bool exact_items(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out, tr_tv *ok) {
    if (x.ty->kind != TR_TY_TUPLE || x.ty->n != to->n)
        return false;
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, to->n + 1u), also;
    for (uint32_t k = 0; k < to->n; k++) {
        if (!exactly(e, tr_em_item(e, x, k), to->items[k], &it[k], &also))
            return false;
        *ok = tr_fam_and(e, *ok, also);
    }
    *out = tr_em_make(e, to, to->n, it);
    return true;
}

/* Where the key, or what it is to be, may be None. */
static bool exact_optional(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out, tr_tv *ok) {
    bool may = x.ty->kind == TR_TY_OPT;
    tr_tv given = may ? tr_em_item(e, x, 0) : *ok, it[2];
    if (to->kind == TR_TY_NONE) {
        *ok = tr_fam_not(e, given);
        *out = tr_em_none(e);
        return may;
    }
    bool value =
        exactly(e, may ? tr_em_item(e, x, 1) : x, to->kind == TR_TY_OPT ? to->items[1] : to, &it[1], ok);
    if (to->kind != TR_TY_OPT) {
        *ok = value ? tr_fam_and(e, given, *ok) : given;
        *out = it[1];
        return value;
    }
    if (!value) { /* None may be there */
        *ok = tr_fam_not(e, given);
        return may && tr_em_coerce(e, tr_em_none(e), to, out);
    }
    it[0] = given;
    *ok = may ? tr_fam_or(e, tr_fam_not(e, given), *ok) : *ok;
    *out = tr_em_make(e, to, 2, it);
    return true;
}

static bool exactly(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out, tr_tv *ok) {
    *ok = tr_em_strong(e, tr_em_bool(e, true));
    if (tr_tv_is_none(x) && (to->kind == TR_TY_NONE || to->kind == TR_TY_OPT))
        return tr_em_coerce(e, x, to, out);
    if (x.ty->kind == TR_TY_OPT || to->kind == TR_TY_OPT)
        return exact_optional(e, x, to, out, ok);
    if (to->kind == TR_TY_TUPLE)
        return exact_items(e, x, to, out, ok);
    if (to->kind == TR_TY_STRING)
        return tr_lib_is_text(x) && tr_em_string(e, x, out);
    if (tr_lib_is_text(x))
        return false;
    x = tr_em_strong(e, x);
    if (tr_ty_is_scalar(to) && tr_ty_is_scalar(x.ty)) {
        *out = exact_number(e, x, to, ok);
        return true;
    }
    *out = x;
    if (x.ty == to)
        return true;
    bool dates = x.ty->kind == TR_TY_DATE && to->kind == TR_TY_DATE;
    return dates && tr_ty_join(e->types, x.ty, to, false) == to && tr_em_coerce(e, x, to, out);
}

bool tr_table_find(tr_em *e, tr_tv x, tr_tv key, tr_tv *entry) {
    tr_tv set = tr_table_set(e, x), ok, k;
    const tr_ty *t = tr_ty_list_item(e->types, set.ty, true);
    if (!is_key(e, key))
        return false;
    if (e->dry) { /* whatever the keys are, so nobody waits for them */
        *entry = (tr_tv){i64_of(e), TR_NOVAL};
        return true;
    }
    if (!t) { /* none was ever entered */
        *entry = tr_em_i64(e, -1);
        return true;
    }
    if (!exactly(e, key, t, &k, &ok)) { /* never equal */
        *entry = tr_em_i64(e, -1);
        return true;
    }
    *entry = number_of(e, TR_OP_FIND, set, k);
    *entry = tr_em_select(e, ok, *entry, tr_em_i64(e, -1));
    return true;
}

typedef struct put {
    tr_tv set, key, values;
} put;

static bool enter(tr_em *e, const void *user, tr_tv *acc) {
    const put *p = user;
    tr_val v[3] = {p->set.v, p->key.v, p->values.v};
    *acc = tr_lib_emit(e, TR_OP_ENTER, i64_of(e), p->values.ty ? 3 : 2, v);
    if (!e->dry)
        tr_at(e->b.fn, acc->v)->imm.site = no_room(e);
    return true;
}

bool tr_table_put(tr_em *e, tr_tv set, tr_tv key, tr_tv values, tr_tv *entry) {
    put p = {set, key, values};
    *entry = number_of(e, TR_OP_FIND, set, key);
    return tr_fam_when(e, tr_fam_not(e, tr_table_found(e, *entry)), 1, entry, enter, &p);
}

void tr_table_leave(tr_em *e, tr_tv x, tr_tv entry) {
    tr_tv set = tr_table_set(e, x), values = tr_table_values(e, x);
    tr_val v[3] = {set.v, entry.v, values.v};
    if (!e->dry)
        tr_emit_v(&e->b, TR_OP_LEAVE, NULL, values.ty ? 3 : 2, v);
}

void tr_table_empty(tr_em *e, tr_tv x) {
    tr_tv set = tr_table_set(e, x), values = tr_table_values(e, x);
    tr_val v[2] = {set.v, values.v};
    if (!e->dry)
        tr_emit_v(&e->b, TR_OP_EMPTY, NULL, values.ty ? 2 : 1, v);
}

bool tr_table_key_at(tr_em *e, tr_tv x, tr_tv entry, tr_tv *out) {
    tr_tv a;
    if (!tr_em_items(e, tr_table_set(e, x), &a))
        return false;
    *out = tr_lib_item_at(e, a, entry);
    return true;
}

bool tr_table_value_at(tr_em *e, tr_tv x, tr_tv entry, tr_tv *out) {
    tr_tv a;
    if (!tr_em_items(e, tr_table_values(e, x), &a))
        return false;
    *out = tr_lib_item_at(e, a, entry);
    return true;
}

enum { MOST_TOLD = 3 * TR_FRAME_PAYLOAD };

typedef struct told {
    const tr_obj *of[MOST_TOLD];
    tr_val v[TR_FRAME_PAYLOAD + 1];
    uint32_t nof, nv, slots;
} told;

/* The key as an argument of KeyError: a tuple is its length, then its items. False: it is none. */
static bool tell(tr_em *e, tr_tv x, told *t) {
    const tr_obj *known = tr_tv_is_none(x) ? tr_obj_none() : x.ty->kind == TR_TY_LIT ? x.ty->lit : NULL;
    if (t->nof == MOST_TOLD)
        return false;
    if (x.ty->kind == TR_TY_TUPLE && !x.ty->name) {
        tr_obj *o = TR_NEW(&e->ctx->arena, tr_obj);
        *o = (tr_obj){.kind = TR_OBJ_TUPLE, .repr = "tuple", .u.t.n = x.ty->n};
        t->of[t->nof++] = o;
        for (uint32_t k = 0; k < x.ty->n; k++)
            if (!tell(e, tr_em_item(e, x, k), t))
                return false;
        return true;
    }
    t->of[t->nof++] = known;
    if (known)
        return true;
    if (tr_lib_is_text(x) && !tr_em_string(e, x, &x))
        return false;
    x = tr_em_strong(e, x);
    t->slots += tr_ty_nparts(x.ty);
    if (t->slots > TR_FRAME_PAYLOAD ||
        (!tr_ty_is_scalar(x.ty) && x.ty->kind != TR_TY_STRING && x.ty->kind != TR_TY_BYTES))
        return false;
    t->v[++t->nv] = x.v;
    return true;
}

/* The first part of a key that may be None: the key with None there, and with the value. */
static bool split_key(tr_em *e, tr_tv key, tr_tv *is, tr_tv *none, tr_tv *value) {
    if (key.ty->kind == TR_TY_OPT) {
        *is = tr_em_item(e, key, 0);
        *none = tr_em_none(e);
        *value = tr_em_item(e, key, 1);
        return true;
    }
    for (uint32_t k = 0; key.ty->kind == TR_TY_TUPLE && !key.ty->name && k < key.ty->n; k++) {
        tr_tv with[2];
        if (!split_key(e, tr_em_item(e, key, k), is, &with[0], &with[1]))
            continue;
        for (unsigned side = 0; side < 2; side++) {
            tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, key.ty->n);
            for (uint32_t i = 0; i < key.ty->n; i++)
                it[i] = i == k ? with[side] : tr_em_item(e, key, i);
            *(side ? value : none) = tr_em_tuple(e, key.ty->n, it);
        }
        return true;
    }
    return false;
}

enum { MOST_SPLIT = 3 }; /* parts that may be None: each doubles the checks */

static void check_split(tr_em *e, tr_tv cond, tr_tv key, unsigned left);

void tr_table_check_key(tr_em *e, tr_tv cond, tr_tv key) {
    check_split(e, cond, key, MOST_SPLIT);
}

static void check_split(tr_em *e, tr_tv cond, tr_tv key, unsigned left) {
    tr_tv is, none, value;
    if (left && split_key(e, key, &is, &none, &value)) {
        check_split(e, tr_fam_or(e, cond, is), none, left - 1);
        check_split(e, tr_fam_or(e, cond, tr_fam_not(e, is)), value, left - 1);
        return;
    }
    if (e->dry)
        return;
    told t = {.v = {tr_em_strong(e, cond).v}};
    if (!tell(e, key, &t)) {
        tr_em_check(e, cond, TR_EXC_KEY, "the key is not there", 0, NULL);
        return;
    }
    const tr_obj **of = TR_NEW_N(&e->ctx->arena, const tr_obj *, t.nof);
    memcpy(of, t.of, t.nof * sizeof *of);
    tr_site *s = TR_NEW(&e->ctx->arena, tr_site);
    *s = (tr_site){.exc = TR_EXC_KEY, .nargs = (uint8_t)t.nof, .args = of};
    tr_at(e->b.fn, tr_emit_v(&e->b, TR_OP_CHECK, NULL, t.nv + 1, t.v))->imm.site = s;
}

bool tr_table_pop_last(tr_em *e, tr_tv x, const char *what, tr_tv *key, tr_tv *value) {
    tr_tv a, set = tr_table_set(e, x);
    if (!tr_em_items(e, set, &a))
        return false;
    tr_tv last = tr_em_nsw(e, TR_OP_SUB, tr_em_dim(e, a, 0), tr_em_i64(e, 1));
    tr_em_check(e, tr_table_found(e, last), TR_EXC_KEY, what, 0, NULL);
    tr_fam_takes_item(e, set);
    if (!tr_table_key_at(e, set, last, key) || (value && !tr_table_value_at(e, x, last, value)))
        return false;
    tr_table_leave(e, x, last);
    return true;
}

/* --- iteration --- */

static const char *changed_text(tr_tv x) {
    return x.ty->kind == TR_TY_SET || x.ty->kind == TR_TY_FROZEN ? "Set changed size during iteration"
                                                                 : "dictionary changed size during iteration";
}

/* A dict's counter tells two numbers: of the entry, which is below 2^32, and above it how many were given. */
enum { GIVEN_BITS = 32 };

static tr_tv entry_of(tr_em *e, tr_tv i) {
    return tr_em_op2(e, TR_OP_AND, i, tr_em_i64(e, (1ll << GIVEN_BITS) - 1));
}

/* As many as there were at first, and one more was found: others have left. As in CPython, which asks for no
 * more than that; a set is gone through to its end. */
static void check_keys(tr_em *e, tr_tv it, tr_tv given, tr_tv more) {
    tr_tv all = tr_em_op2(e, TR_OP_SHL, tr_em_item(e, it, 1), tr_em_i64(e, GIVEN_BITS));
    tr_tv some = tr_em_cmp(e, TR_CMP_LT, given, all);
    tr_em_check(e, tr_fam_or(e, some, tr_fam_not(e, more)), TR_EXC_RUNTIME,
                "dictionary keys changed during iteration", 0, NULL);
}

/* The counter is the number of the entry that is asked for next, which may have left. */
bool tr_lib_next_walk(tr_em *e, tr_tv it, tr_tv i, tr_tv go, tr_tv *out) {
    tr_tv x = tr_em_item(e, it, 0);
    if (x.ty->kind == TR_TY_DEQUE)
        return tr_lib_next_in_deque(e, it, i, go, out);
    tr_tv set = tr_table_set(e, x);
    tr_tv same = tr_em_cmp(e, TR_CMP_EQ, tr_table_live(e, x), tr_em_item(e, it, 1));
    if (go.ty)
        same = tr_fam_or(e, same, tr_fam_not(e, tr_em_strong(e, go)));
    tr_em_check(e, same, TR_EXC_RUNTIME, changed_text(x), 0, NULL);
    bool dict = x.ty->kind != TR_TY_SET && x.ty->kind != TR_TY_FROZEN;
    tr_tv at = dict ? entry_of(e, i) : i, count;
    tr_tv place = number_of(e, TR_OP_WALKON, set, at), more = tr_table_found(e, place);
    count = place = tr_em_select(e, more, place, at);
    if (go.ty)
        more = tr_fam_and(e, tr_em_strong(e, go), more);
    if (dict) {
        tr_tv given = tr_em_nsw(e, TR_OP_SUB, i, at);
        check_keys(e, it, given, more);
        given = tr_em_nsw(e, TR_OP_ADD, given, tr_em_i64(e, 1ll << GIVEN_BITS));
        count = tr_em_nsw(e, TR_OP_ADD, given, place);
    }
    *out = tr_lib_step(e, more, place, tr_em_select(e, more, count, i));
    return true;
}

/* What stood between may have taken the entry out, as in zip(d, map(f, l)). */
bool tr_lib_at_walk(tr_em *e, tr_tv it, tr_tv place, tr_tv *out) {
    tr_tv x = tr_em_item(e, it, 0), pair[2], a;
    if (x.ty->kind == TR_TY_DEQUE)
        return tr_lib_at_in_deque(e, x, place, out);
    if (!tr_em_items(e, tr_table_set(e, x), &a))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_LT, place, tr_em_dim(e, a, 0)), TR_EXC_RUNTIME, changed_text(x), 0,
                NULL);
    tr_fam_takes_item(e, tr_table_set(e, x));
    bool values = x.ty->kind == TR_TY_DICTVIEW && x.ty->sub == TR_VIEW_VALUES;
    if (x.ty->kind != TR_TY_DICTVIEW || x.ty->sub != TR_VIEW_ITEMS)
        return values ? tr_table_value_at(e, x, place, out) : tr_table_key_at(e, x, place, out);
    if (!tr_table_key_at(e, x, place, &pair[0]) || !tr_table_value_at(e, x, place, &pair[1]))
        return false;
    *out = tr_em_tuple(e, 2, pair);
    return true;
}

/* --- sets --- */

static bool add(tr_em *e, tr_tv set, tr_tv x) {
    tr_tv entry;
    return tr_table_as_key(e, set, x, &x) && tr_table_put(e, set, x, (tr_tv){NULL, TR_NOVAL}, &entry);
}

static bool each_add(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    (void)acc, (void)stop;
    return add(e, *(const tr_tv *)user, x);
}

bool tr_table_gives_nothing(tr_em *e, tr_tv it) {
    it = it.ty->kind == TR_TY_DEQUE ? tr_em_item(e, it, 0) : tr_table_plain(e, it);
    if (it.ty->kind == TR_TY_TUPLE)
        return !it.ty->n;
    bool table = it.ty->kind == TR_TY_SET || it.ty->kind == TR_TY_DICT;
    return (it.ty->kind == TR_TY_LIST || table) &&
           !tr_ty_list_item(e->types, table ? tr_table_set(e, it).ty : it.ty, false);
}

/* A set is gone through as it is, for adding its own keys changes nothing. */
bool tr_table_add_all(tr_em *e, tr_tv set, tr_tv it) {
    tr_tv none[1];
    return tr_table_gives_nothing(e, it) ||
           (tr_em_iter(e, it, &it) && tr_em_each(e, it, 0, none, each_add, &set));
}

bool tr_em_new_set(tr_em *e, uint32_t n, const tr_tv *x, tr_tv *out) {
    *out = tr_table_new_set(e, TR_TABLE_KEYS);
    for (uint32_t k = 0; k < n; k++)
        if (!add(e, *out, x[k]))
            return false;
    return true;
}

bool tr_em_collect_set(tr_em *e, tr_tv closure, tr_tv it, tr_tv *out) {
    tr_tv none[1], set = *out = tr_table_new_set(e, TR_TABLE_KEYS);
    return tr_em_each(e, tr_em_genexpr(e, closure, it), 0, none, each_add, &set);
}

static bool copied(tr_em *e, tr_tv x, uint32_t which, tr_tv *out) {
    *out = tr_table_new_set(e, which);
    return tr_table_add_all(e, *out, x);
}

/* What is given as an iterable, as a set. */
static bool as_set(tr_em *e, tr_tv x, tr_tv *out) {
    x = *out = tr_table_plain(e, x);
    if (x.ty->kind == TR_TY_SET || x.ty->kind == TR_TY_DICT)
        return true;
    return copied(e, x, TR_TABLE_OTHER, out);
}

bool tr_lib_py_set(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_table_new_set(e, TR_TABLE_KEYS);
    if (c->nvar > 1)
        return tr_em_error(e, "set expected at most 1 argument, got %u", c->nvar);
    return !c->nvar || tr_table_add_all(e, *out, c->var[0]);
}

/* --- what one set is made of, by another one: which of its keys stay --- */

typedef struct kept {
    tr_tv to, other;
    bool in; /* those that are in the other one, or those that are not */
} kept;

static bool put_kept(tr_em *e, const void *user, tr_tv *acc) {
    (void)acc;
    const tr_tv *x = user; /* the set, the key */
    return add(e, x[0], x[1]);
}

static bool each_kept(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    const kept *k = user;
    tr_tv entry, to[2] = {k->to, x}, none[1];
    (void)acc, (void)stop;
    if (!tr_table_find(e, k->other, x, &entry))
        return false;
    tr_tv found = tr_table_found(e, entry);
    return tr_fam_when(e, k->in ? found : tr_fam_not(e, found), 0, none, put_kept, to);
}

/* The keys of x that are in `other`, or are not, into `to`. */
static bool keep(tr_em *e, tr_tv to, tr_tv x, tr_tv other, bool in) {
    kept k = {to, other, in};
    tr_tv none[1];
    if (tr_table_gives_nothing(e, x) || (tr_table_gives_nothing(e, other) && in))
        return true;
    if (tr_table_gives_nothing(e, other))
        return tr_table_add_all(e, to, x);
    return tr_em_iter(e, x, &x) && tr_em_each(e, x, 0, none, each_kept, &k);
}

bool tr_table_combined(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    *out = tr_table_new_set(e, TR_TABLE_KEYS);
    if (op == TR_BIN_OR)
        return tr_table_add_all(e, *out, x) && tr_table_add_all(e, *out, y);
    return keep(e, *out, x, y, op == TR_BIN_AND) && (op != TR_BIN_XOR || keep(e, *out, y, x, false));
}

/* The keys of x become those of y, a set of its own. */
static bool replaced(tr_em *e, tr_tv x, tr_tv y) {
    tr_table_empty(e, x);
    return tr_table_add_all(e, x, y);
}

static bool is_set_op(tr_binop op) {
    return op == TR_BIN_OR || op == TR_BIN_AND || op == TR_BIN_SUB || op == TR_BIN_XOR;
}

tr_answer tr_lib_binary_set(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    if (!is_set_op(op) || x.ty->kind != TR_TY_SET || y.ty->kind != TR_TY_SET)
        return TR_OPEN;
    return tr_answered(tr_table_combined(e, op, x, y, out));
}

bool tr_lib_inplace_set(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv r;
    if (!is_set_op(op) || y.ty->kind != TR_TY_SET)
        return tr_lib_op_error(e, op, x.ty, y.ty);
    *out = x;
    if (op == TR_BIN_OR)
        return tr_table_add_all(e, x, y);
    return tr_table_combined(e, op, x, y, &r) && replaced(e, x, r);
}

/* aux of the methods' rows: the operator, and whether it is done in place. */
bool tr_lib_set_combine(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_binop op = (tr_binop)(c->aux & 255);
    bool inplace = c->aux & 256;
    tr_tv x = c->a[0], y, r;
    *out = x;
    if (op == TR_BIN_OR) {
        if (!inplace && !copied(e, x, TR_TABLE_KEYS, out))
            return false;
        for (uint32_t k = 0; k < c->nvar; k++)
            if (!tr_table_add_all(e, *out, c->var[k]))
                return false;
    } else if (!c->nvar) {
        if (!inplace && !copied(e, x, TR_TABLE_KEYS, out))
            return false;
    } else {
        r = x;
        for (uint32_t k = 0; k < c->nvar; k++)
            if (!as_set(e, c->var[k], &y) || !tr_table_combined(e, op, r, y, &r))
                return false;
        if (inplace && !replaced(e, x, r))
            return false;
        *out = r;
    }
    if (inplace)
        *out = tr_em_none(e);
    return true;
}

bool tr_lib_set_symmetric(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_bcall one = *c;
    one.nvar = 1;
    one.var = &c->a[1];
    return tr_lib_set_combine(e, &one, out);
}

/* acc: so far each key of what is gone through is in the other one; or is not. */
static bool each_in(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    const kept *k = user;
    tr_tv entry;
    if (!tr_table_find(e, k->other, x, &entry))
        return false;
    tr_tv found = tr_table_found(e, entry);
    *acc = k->in ? found : tr_fam_not(e, found);
    *stop = tr_fam_not(e, *acc);
    return true;
}

/* All keys of x are in y, or none is. */
static bool all_in(tr_em *e, tr_tv x, tr_tv y, bool in, tr_tv *out) {
    kept k = {.other = y, .in = in};
    *out = tr_em_strong(e, tr_em_bool(e, true));
    if (tr_table_gives_nothing(e, x) || (tr_table_gives_nothing(e, y) && !in))
        return true;
    if (tr_table_gives_nothing(e, y)) {
        *out = tr_em_cmp(e, TR_CMP_EQ, tr_table_live(e, x), zero(e));
        return true;
    }
    return tr_em_iter(e, x, &x) && tr_em_each(e, x, 1, out, each_in, &k);
}

bool tr_table_compared(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    if (op == TR_CMP_GT || op == TR_CMP_GE)
        return tr_table_compared(e, op == TR_CMP_GT ? TR_CMP_LT : TR_CMP_LE, y, x, out);
    tr_tv n = tr_table_live(e, x), m = tr_table_live(e, y), all;
    if (!all_in(e, x, y, true, &all))
        return false;
    tr_cmpop of = op == TR_CMP_NE ? TR_CMP_EQ : op;
    *out = tr_fam_and(e, tr_em_cmp(e, of, n, m), all);
    if (op == TR_CMP_NE)
        *out = tr_fam_not(e, *out);
    return true;
}

tr_answer tr_lib_compare_set(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    if (x.ty->kind != TR_TY_SET || y.ty->kind != TR_TY_SET)
        return TR_OPEN;
    return tr_answered(tr_table_compared(e, op, x, y, out));
}

/* aux: 0 issubset, 1 issuperset, 2 isdisjoint */
bool tr_lib_set_relation(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv y;
    if (!as_set(e, c->a[1], &y))
        return false;
    return c->aux == 2 ? all_in(e, y, c->a[0], false, out)
                       : tr_table_compared(e, c->aux ? TR_CMP_GE : TR_CMP_LE, c->a[0], y, out);
}

/* --- methods --- */

bool tr_lib_set_add(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_em_none(e);
    return add(e, c->a[0], c->a[1]);
}

static bool take_out(tr_em *e, const void *user, tr_tv *acc) {
    const tr_tv *x = user; /* the set, the entry */
    (void)acc;
    tr_table_leave(e, x[0], x[1]);
    return true;
}

/* aux: 0 discard, 1 remove */
bool tr_lib_set_remove(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x[2] = {c->a[0], {NULL, TR_NOVAL}}, none[1];
    *out = tr_em_none(e);
    if (!tr_table_find(e, x[0], c->a[1], &x[1]))
        return false;
    tr_tv found = tr_table_found(e, x[1]);
    if (c->aux) {
        tr_table_check_key(e, found, c->a[1]);
        tr_table_leave(e, x[0], x[1]);
        return true;
    }
    return tr_fam_when(e, found, 0, none, take_out, x);
}

bool tr_lib_set_pop(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return tr_table_pop_last(e, c->a[0], "pop from an empty set", out, NULL);
}

bool tr_lib_table_clear(tr_em *e, const tr_bcall *c, tr_tv *out) {
    *out = tr_em_none(e);
    tr_table_empty(e, c->a[0]);
    return true;
}

bool tr_lib_set_copy(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return copied(e, c->a[0], TR_TABLE_KEYS, out);
}

bool tr_lib_contains_set(tr_em *e, tr_tv x, tr_tv key, tr_tv *out) {
    tr_tv entry;
    if (!tr_table_find(e, x, key, &entry))
        return false;
    *out = tr_table_found(e, entry);
    return true;
}

bool tr_lib_len_set(tr_em *e, tr_tv x, tr_tv *n) {
    *n = tr_table_live(e, x);
    return true;
}

bool tr_lib_truth_set(tr_em *e, tr_tv x, tr_tv *out) {
    *out = tr_em_cmp(e, TR_CMP_NE, tr_table_live(e, x), zero(e));
    return true;
}
