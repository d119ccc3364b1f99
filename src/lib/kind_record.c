/* Records: arrays of a structured dtype and their items.
 *
 * A record is a view of its place in an array (an array without axes), so that what is stored to one
 * of its fields is stored there. A field of an array is an array (op `field`), that of a record
 * without axes is the value. Whole records are copied number by number where there are few, all read
 * before the first is stored; else byte by byte.
 * Values of these kinds are no arrays to anybody else: a function of arrays takes none by accident. */
#include <assert.h>
#include <string.h>

#include "lib/chars.h"
#include "lib/date.h"
#include "lib/fam.h"
#include "lib/families.h"
#include "lib/kinds.h"
#include "lib/priv.h"

enum { MOST_LEAVES = 16 };

static tr_tv array_of(tr_em *e, tr_tv x) {
    return tr_em_item(e, x, 0);
}

static const tr_ty *struct_of(const tr_ty *t) {
    assert(t->n == 1 && tr_ty_is_records(t->items[0]) && "records are an array of them");
    return t->items[0]->elem;
}

static bool is_records(tr_tv x) {
    return x.ty->kind == TR_TY_RECORDS || x.ty->kind == TR_TY_RECORD;
}

static bool is_readonly(tr_tv x) {
    return x.ty->items[0]->readonly;
}

/* What an array of records, or of a field, is as a value; others are as they are. */
static tr_tv as_value(tr_em *e, tr_tv a) {
    return tr_ty_is_records(a.ty) ? tr_em_records(e, a, false) : a;
}

const tr_ty *tr_lib_struct(tr_tv x) {
    const tr_ty *t = x.ty && x.ty->kind == TR_TY_LIT && x.ty->lit->kind == TR_OBJ_TYPE ? x.ty->lit->ty : NULL;
    if (t && t->kind == TR_TY_RECORD)
        t = t->items[0]->elem;
    return t && t->kind == TR_TY_STRUCT ? t : NULL;
}

/* --- fields --- */

/* So many axes may be added to those of the array. */
static bool has_room(tr_em *e, const tr_ty *array, uint32_t more) {
    return array->ndim + more <= TR_MAX_NDIM || tr_em_error(e, "more than %d dimensions", TR_MAX_NDIM);
}

/* Field k is one that code can read. */
static bool is_readable(tr_em *e, tr_tv x, uint32_t k) {
    const tr_ty *s = struct_of(x.ty), *t = s->items[k];
    bool chars = tr_chars_letter(t) != 0;
    if (t->kind == TR_TY_STRUCT && t->sub == TR_STRUCT_OPAQUE && !chars)
        return tr_em_unsupported(e, "field-type", "field '%s', whose dtype is %s,", s->fields[k], t->name);
    return has_room(e, x.ty->items[0], tr_ty_field(s, k).ndim + (chars ? 1 : 0));
}

/* `what` it is that is not there: a field, or an attribute as well. */
static bool find(tr_em *e, tr_tv x, const char *name, const char *what, uint32_t *k) {
    int found = tr_ty_find_field(struct_of(x.ty), name);
    if (found < 0) {
        tr_em_error(e, "%s has no %s '%s'", tr_em_tyname(e, x.ty), what, name);
        tr_lib_suggest_field(e, struct_of(x.ty), name);
        return false;
    }
    *k = (uint32_t)found;
    return is_readable(e, x, *k);
}

/* The DATE that a field is, or NULL. */
static const tr_ty *date_of(const tr_ty *s, uint32_t k) {
    return s->items[k]->kind == TR_TY_DATE ? s->items[k] : NULL;
}

/* The letter of the strings that a field is of, or 0. */
static char letter_of(const tr_ty *s, uint32_t k) {
    return tr_chars_letter(s->items[k]);
}

/* The bytes of a field's strings. */
static tr_tv strings_of(tr_em *e, tr_tv x, uint32_t k) {
    tr_tv f = tr_em_field(e, array_of(e, x), k);
    return tr_em_field(e, f, f.ty->elem->n);
}

/* A number for one of a record that has no axes; else an array, or records. */
static tr_tv place_of(tr_em *e, tr_tv x, uint32_t k) {
    tr_tv f = tr_em_field(e, array_of(e, x), k);
    if (f.ty->ndim)
        return as_value(e, f);
    if (x.ty->kind == TR_TY_RECORDS && !tr_ty_is_records(f.ty))
        return f; /* of an array without axes it is one */
    return tr_em_load(e, f, NULL);
}

static tr_tv field_of(tr_em *e, tr_tv x, uint32_t k) {
    const tr_ty *date = date_of(struct_of(x.ty), k);
    bool wide = letter_of(struct_of(x.ty), k) == 'U';
    if (letter_of(struct_of(x.ty), k)) {
        tr_tv raw = strings_of(e, x, k);
        return raw.ty->ndim == 1 && x.ty->kind == TR_TY_RECORD ? tr_chars_item(e, wide, raw)
                                                               : tr_chars_of(e, wide, raw);
    }
    tr_tv v = place_of(e, x, k);
    return date ? tr_date_of(e, date, v) : v;
}

bool tr_lib_field(tr_em *e, tr_tv x, const char *name, tr_tv *out) {
    uint32_t k;
    if (!find(e, x, name, "field or attribute", &k))
        return false;
    *out = field_of(e, x, k);
    return true;
}

/* --- whole records --- */

/* Numbers of a record that has few, one by one. */
typedef struct leaves {
    uint32_t n;
    tr_tv at[MOST_LEAVES];
} leaves;

static void add_leaves(tr_em *e, tr_tv a, leaves *to) {
    for (uint32_t k = 0; k < a.ty->elem->n; k++) {
        tr_tv f = tr_em_field(e, a, k);
        if (tr_ty_is_records(f.ty))
            add_leaves(e, f, to);
        else
            to->at[to->n++] = f;
        assert(to->n <= MOST_LEAVES && "few_leaves() has counted them");
    }
}

/* Are there no more than `left`, and nothing else? */
static bool few_leaves(const tr_ty *s, uint32_t *left) {
    bool ok = s->sub != TR_STRUCT_OPAQUE;
    for (uint32_t k = 0; ok && k < s->n; k++) {
        tr_field f = tr_ty_field(s, k);
        ok = !f.ndim && (f.ty->kind == TR_TY_STRUCT ? few_leaves(f.ty, left)
                                                    : f.ty->kind != TR_TY_BOOL && (*left)-- > 0);
    }
    return ok;
}

static tr_tv bytes_of(tr_em *e, tr_tv a) {
    return tr_em_field(e, a, a.ty->elem->n);
}

/* to[...] = from for arrays of the same fields. */
static bool copy_bytes(tr_em *e, tr_tv to, tr_tv from) {
    assert(tr_ty_size(to.ty->elem) == tr_ty_size(from.ty->elem) && "both have as many bytes");
    return has_room(e, to.ty, 1) && has_room(e, from.ty, 1) &&
           tr_em_assign(e, bytes_of(e, to), bytes_of(e, from));
}

static bool copy_one(tr_em *e, tr_tv to, tr_tv from) {
    uint32_t left = MOST_LEAVES;
    leaves x = {0}, y = {0};
    if (!few_leaves(to.ty->elem, &left))
        return copy_bytes(e, to, from);
    add_leaves(e, from, &x);
    add_leaves(e, to, &y);
    assert(x.n == y.n && "both have the same fields");
    for (uint32_t i = 0; i < x.n; i++)
        x.at[i] = tr_em_load(e, x.at[i], NULL);
    for (uint32_t i = 0; i < y.n; i++)
        tr_em_store(e, y.at[i], NULL, x.at[i]);
    return true;
}

static bool store_field(tr_em *e, tr_tv x, uint32_t k, tr_tv v, bool itself);

/* x[...] = v, where x is the place of one record or an array of them. */
static bool store_whole(tr_em *e, tr_tv x, tr_tv v) {
    const tr_ty *s = struct_of(x.ty);
    if (v.ty->kind == TR_TY_TUPLE && !tr_ty_is_list(v.ty) && v.ty->n == s->n) {
        for (uint32_t k = 0; k < s->n; k++)
            if (!is_readable(e, x, k) || !store_field(e, x, k, tr_em_item(e, v, k), false))
                return false;
        return true;
    }
    if (!is_records(v) || !tr_ty_same_fields(struct_of(v.ty), s)) {
        tr_em_error(e, "cannot store %s in %s", tr_em_tyname(e, v.ty), tr_em_tyname(e, x.ty));
        tr_em_hint(
            e, is_records(v)
                   ? "only records of the same fields, in the same places, are copied: store field by field"
                   : "store records of the same dtype, tuples of as many items, or field by field");
        return false;
    }
    if (x.ty->kind == TR_TY_RECORD && v.ty->kind == TR_TY_RECORD)
        return copy_one(e, array_of(e, x), array_of(e, v));
    if (x.ty->kind == TR_TY_RECORD)
        return tr_em_error(e, "cannot store %s in %s", tr_em_tyname(e, v.ty), tr_em_tyname(e, x.ty));
    return copy_bytes(e, array_of(e, x), array_of(e, v));
}

static bool store_strings(tr_em *e, tr_tv x, uint32_t k, tr_tv v) {
    bool wide = letter_of(struct_of(x.ty), k) == 'U';
    tr_tv to = strings_of(e, x, k), from;
    v = tr_em_value(e, v);
    if (!tr_chars_is(v.ty) && !tr_chars_is_value(e, v) && !tr_chars_of_sequence(e, v, &v))
        return tr_em_error(e, "cannot store %s in field '%s' of strings", tr_em_tyname(e, v.ty),
                           struct_of(x.ty)->fields[k]);
    if (to.ty->ndim == 1 && !tr_chars_is(v.ty))
        return tr_chars_put(e, wide, to, v);
    return tr_chars_fit(e, v, wide, tr_em_dim(e, to, to.ty->ndim - 1u), &from) && tr_em_assign(e, to, from);
}

static bool store_field(tr_em *e, tr_tv x, uint32_t k, tr_tv v, bool itself) {
    tr_tv f = tr_em_field(e, array_of(e, x), k);
    bool one = x.ty->kind == TR_TY_RECORD && !f.ty->ndim;
    if (is_readonly(x))
        return tr_em_error(e, "cannot assign to a field of read-only records");
    if (itself && !one)
        return true; /* what was changed in place stands there */
    if (letter_of(struct_of(x.ty), k))
        return store_strings(e, x, k, v);
    if (tr_ty_is_records(f.ty))
        return store_whole(e, tr_em_records(e, f, one), v);
    const tr_ty *date = date_of(struct_of(x.ty), k);
    if (date && !tr_date_as(e, v, date, &v))
        return false;
    return tr_em_assign(e, f, v);
}

bool tr_em_setattr(tr_em *e, tr_tv x, const char *name, tr_tv v, bool itself) {
    uint32_t k;
    if (!is_records(x))
        return tr_em_unsupported(e, "store-attr", "assignment to '%s' of %s", name, tr_em_tyname(e, x.ty));
    return find(e, x, name, "field", &k) && store_field(e, x, k, v, itself);
}

/* --- by kind --- */

static bool no_index(tr_em *e, tr_tv x, tr_tv i) {
    tr_em_error(e, "%s cannot be indexed with %s", tr_em_tyname(e, x.ty), tr_em_tyname(e, i.ty));
    if (x.ty->kind == TR_TY_RECORD)
        tr_em_hint(e, "fields have names that are known when the function compiles: r['x'] or r.x");
    return false;
}

/* The field that a constant names: 1; 0: it is no name; -1: there is none. Numbers count
 * fields of a record. */
static int named(tr_em *e, tr_tv x, tr_tv i, uint32_t *k) {
    const char *name;
    int64_t n;
    if (tr_tv_lit_str(i, &name))
        return find(e, x, name, "field", k) ? 1 : -1;
    if (x.ty->kind != TR_TY_RECORD || !tr_tv_lit_int(i, &n))
        return 0;
    const tr_ty *s = struct_of(x.ty);
    n += n < 0 ? s->n : 0;
    if (n < 0 || n >= s->n)
        return tr_em_error(e, "%s has %u fields", tr_em_tyname(e, x.ty), s->n) ? 1 : -1;
    *k = (uint32_t)n;
    return is_readable(e, x, *k) ? 1 : -1;
}

bool tr_lib_get_record(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    uint32_t k;
    int is = named(e, x, i, &k);
    if (is == 0)
        return no_index(e, x, i);
    if (is > 0)
        *out = field_of(e, x, k);
    return is > 0;
}

/* Integers, slices, None and Ellipsis. */
static bool is_basic(tr_tv i) {
    if (i.ty->kind != TR_TY_TUPLE)
        return !tr_lib_is_array(i);
    for (uint32_t k = 0; k < i.ty->n; k++)
        if (i.ty->items[k]->kind == TR_TY_ARRAY || i.ty->items[k]->kind == TR_TY_TUPLE)
            return false;
    return !tr_ty_is_list(i.ty);
}

/* By arrays: what is chosen of the bytes makes new records. */
static bool chosen_of(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    tr_tv a = array_of(e, x), bytes, shape[TR_MAX_NDIM];
    if (!has_room(e, a.ty, 1) || !tr_lib_get_array(e, bytes_of(e, a), i, &bytes))
        return false;
    if (!tr_lib_is_array(bytes) || bytes.ty->layout != TR_LAYOUT_C)
        return no_index(e, x, i);
    tr_fam_shape(e, bytes, shape);
    const tr_ty *ty = tr_ty_array(e->types, a.ty->elem, bytes.ty->ndim - 1u, TR_LAYOUT_C, false);
    *out = tr_em_records(e, tr_em_restride(e, ty, bytes, tr_em_i64(e, 0), shape, NULL), false);
    return true;
}

static bool part_of(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    if (!is_basic(i))
        return chosen_of(e, x, i, out);
    if (!tr_lib_get_array(e, array_of(e, x), i, out))
        return false;
    *out = as_value(e, *out);
    return true;
}

bool tr_lib_get_records(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    uint32_t k;
    int is = named(e, x, i, &k);
    if (is == 0)
        return part_of(e, x, i, out);
    if (is > 0)
        *out = field_of(e, x, k);
    return is > 0;
}

bool tr_lib_set_record(tr_em *e, tr_tv x, tr_tv i, tr_tv v, bool itself) {
    uint32_t k;
    int is = named(e, x, i, &k);
    return is > 0 ? store_field(e, x, k, v, itself) : is == 0 && no_index(e, x, i);
}

bool tr_lib_set_records(tr_em *e, tr_tv x, tr_tv i, tr_tv v, bool itself) {
    uint32_t k;
    tr_tv part;
    int is = named(e, x, i, &k);
    if (is)
        return is > 0 && store_field(e, x, k, v, itself);
    if (is_readonly(x))
        return tr_em_error(e, "cannot assign to read-only records");
    if (is_basic(i))
        return part_of(e, x, i, &part) && store_whole(e, part, v);
    if (!is_records(v) || !tr_ty_same_fields(struct_of(v.ty), struct_of(x.ty)))
        return tr_em_error(e, "cannot store %s in chosen items of %s", tr_em_tyname(e, v.ty),
                           tr_em_tyname(e, x.ty));
    tr_tv to = array_of(e, x), from = array_of(e, v);
    return has_room(e, to.ty, 1) && has_room(e, from.ty, 1) &&
           tr_em_setitem(e, bytes_of(e, to), i, bytes_of(e, from), itself);
}

bool tr_lib_count_records(tr_em *e, tr_tv x, tr_tv *n) {
    return tr_lib_count_array(e, array_of(e, x), n);
}

bool tr_lib_len_records(tr_em *e, tr_tv x, tr_tv *n) {
    return tr_lib_len_array(e, array_of(e, x), n);
}

bool tr_lib_iter_records(tr_em *e, tr_tv x) {
    return x.ty->items[0]->ndim > 0 || tr_em_error(e, "iteration over a 0-d array");
}

bool tr_lib_at_records(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    if (!tr_lib_at_array(e, array_of(e, x), i, out))
        return false;
    *out = as_value(e, *out);
    return true;
}

/* --- attributes, methods --- */

/* aux: the row of arrays that means the same. */
bool tr_lib_records_as(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_bcall of = *c;
    of.row = (uint16_t)c->aux;
    of.aux = tr_builtins[c->aux].aux;
    of.a = tr_arena_copy(&e->ctx->arena, c->a, c->n * sizeof *c->a);
    of.a[0] = array_of(e, c->a[0]);
    if (!tr_builtins[c->aux].fn(e, &of, out))
        return false;
    *out = as_value(e, *out);
    return true;
}

bool tr_lib_records_dtype(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_obj *o = TR_NEW(&e->ctx->arena, tr_obj);
    const tr_ty *s = struct_of(c->a[0].ty);
    *o = (tr_obj){.kind = TR_OBJ_TYPE, .ty = s, .repr = tr_em_tyname(e, s)};
    *out = tr_em_lit(e, o);
    return true;
}

bool tr_lib_new_records(tr_em *e, const tr_ty *s, uint32_t ndim, tr_layout layout, const tr_tv *shape,
                        bool zero, tr_tv *out) {
    tr_tv a = tr_em_alloc(e, s, ndim, layout, shape);
    *out = tr_em_records(e, a, false);
    return !zero || (has_room(e, a.ty, 1) &&
                     tr_em_fill(e, bytes_of(e, a), tr_em_num(e, tr_ty_scalar(e->types, TR_TY_U8), 0.0)));
}

bool tr_lib_records_copy(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a = array_of(e, c->a[0]), n[TR_MAX_NDIM];
    if (c->aux) { /* one record */
        tr_tv to = tr_em_alloc(e, a.ty->elem, 0, TR_LAYOUT_C, NULL);
        *out = tr_em_records(e, to, true);
        return copy_one(e, to, a);
    }
    tr_fam_shape(e, a, n);
    return tr_lib_new_records(e, a.ty->elem, a.ty->ndim,
                              a.ty->layout == TR_LAYOUT_F ? TR_LAYOUT_F : TR_LAYOUT_C, n, false, out) &&
           copy_bytes(e, array_of(e, *out), a);
}
