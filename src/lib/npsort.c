/* Order: sort, argsort, partition, argpartition, lexsort, and what is made of them: median, unique.
 *
 * A line of items is a call of the runtime (rt/sort.c, rt/select.c), which takes it as it lies; more axes are
 * a region over the others, whose rounds are a line each and run on all cores where that is asked for. What
 * needs memory says so, and a MemoryError is raised then. Orders are NumPy's, NaN behind all numbers; those
 * of equal items are NumPy's too where its own functions sort. */
#include <assert.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/plant.h"
#include "lib/chars.h"
#include "lib/date.h"
#include "lib/fam.h"
#include "lib/families.h"
#include "lib/priv.h"

static const tr_tv absent = {NULL, TR_NOVAL};

static tr_tv i64(tr_em *e, int64_t v) {
    return tr_em_i64(e, v);
}

static tr_tv kind_of(tr_em *e, const tr_ty *t) {
    static const int8_t kinds[] = {
        [TR_TY_BOOL] = TR_SORT_BOOL, [TR_TY_I8] = TR_SORT_I8,    [TR_TY_U8] = TR_SORT_U8,
        [TR_TY_I16] = TR_SORT_I16,   [TR_TY_U16] = TR_SORT_U16,  [TR_TY_I32] = TR_SORT_I32,
        [TR_TY_U32] = TR_SORT_U32,   [TR_TY_I64] = TR_SORT_I64,  [TR_TY_U64] = TR_SORT_U64,
        [TR_TY_F16] = TR_SORT_F16,   [TR_TY_F32] = TR_SORT_F32,  [TR_TY_F64] = TR_SORT_F64,
        [TR_TY_C64] = TR_SORT_C64,   [TR_TY_C128] = TR_SORT_C128};
    assert(tr_ty_is_scalar(t) && t->kind < sizeof kinds && "numbers have an order");
    return i64(e, kinds[t->kind]);
}

/* --- lines --- */

enum { MOST_ARRAYS = 2, MOST_WORDS = 1 };

/* A call for each line along an axis of arrays of one shape: row(type of items, word, line
 * of each array ..., tail). */
typedef struct lines {
    tr_rt row;
    uint32_t axis, n;
    tr_tv a[MOST_ARRAYS];
    tr_tv word, tail; /* absent: none */
} lines;

static tr_tv line_at(tr_em *e, tr_tv a, uint32_t axis, const tr_tv *at) {
    assert(axis < a.ty->ndim && tr_em_are_i64(e, a.ty->ndim - 1u, at) &&
           "a line along an axis, at a place of the others");
    tr_axes x = {0};
    for (uint32_t i = 0, k = 0; i < a.ty->ndim; i++)
        if (i == axis)
            tr_axes_own(e, &x, a, i);
        else
            x.start[i] = at[k++];
    return tr_em_view(e, tr_ty_array(e->types, a.ty->elem, 1, TR_LAYOUT_ANY, a.ty->readonly), a, &x);
}

static void check_memory(tr_em *e, tr_tv r) {
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, r, i64(e, 0)), TR_EXC_MEMORY, "cannot allocate memory to sort in",
                0, NULL);
}

static void call_line(tr_em *e, const lines *l, const tr_tv *at) {
    tr_tv x[2 + MOST_ARRAYS + MOST_WORDS];
    uint32_t n = 0;
    x[n++] = kind_of(e, l->a[0].ty->elem);
    if (l->word.ty)
        x[n++] = l->word;
    for (uint32_t i = 0; i < l->n; i++)
        x[n++] = line_at(e, l->a[i], l->axis, at);
    if (l->tail.ty)
        x[n++] = l->tail;
    check_memory(e, tr_em_callrt(e, l->row, tr_fam_ty(e, TR_TY_I64), NULL, n, x));
}

/* caps: the arrays, then the word and the tail where they are. */
static bool lam_line(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                     tr_tv *yields) {
    lines l = *(const lines *)d->user;
    uint32_t k = 0;
    (void)elems;
    (void)yields;
    for (; k < l.n; k++)
        l.a[k] = caps[k];
    if (l.word.ty)
        l.word = caps[k++];
    if (l.tail.ty)
        l.tail = caps[k];
    call_line(e, &l, idx);
    return true;
}

/* The sizes of all axes but one. */
static uint32_t other_axes(tr_em *e, tr_tv a, uint32_t axis, tr_tv *shape) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        if (i != axis)
            shape[n++] = tr_em_dim(e, a, i);
    return n;
}

static bool each_line(tr_em *e, const lines *l) {
    assert(l->n > 0 && l->n <= MOST_ARRAYS && "there is room for the arrays");
    assert((l->n == 1 || l->a[1].ty->ndim == l->a[0].ty->ndim) && "arrays of one shape");
    tr_tv space[TR_MAX_NDIM], caps[MOST_ARRAYS + 2], none;
    uint32_t ncap = 0;
    if (l->a[0].ty->ndim == 1) {
        call_line(e, l, NULL);
        return true;
    }
    for (uint32_t i = 0; i < l->n; i++)
        caps[ncap++] = l->a[i];
    if (l->word.ty)
        caps[ncap++] = l->word;
    if (l->tail.ty)
        caps[ncap++] = l->tail;
    tr_pdesc d = {.nspace = other_axes(e, l->a[0], l->axis, space),
                  .ncap = ncap,
                  .space = space,
                  .caps = caps,
                  .lam = lam_line,
                  .user = tr_arena_copy(&e->ctx->arena, l, sizeof *l)};
    return tr_em_pattern(e, &d, &none);
}

/* --- arguments --- */

static bool flat(tr_em *e, const tr_bcall *c, tr_tv a, bool copy, tr_tv *out) {
    tr_tv args[2] = {a, absent};
    return tr_lib_arr_ravel(e, &(tr_bcall){.row = c->row, .aux = copy, .n = 2, .a = args}, out);
}

/* The axis, the last one unless it is given. Without axes there is none. */
static bool axis_arg(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv x, uint32_t *axis) {
    if (x.ty)
        return tr_fam_axis(e, c, a.ty->ndim, x, axis);
    *axis = a.ty->ndim - 1u;
    return a.ty->ndim || tr_em_fail(e, TR_ERR_AXIS, "%s(): axis -1 is out of bounds for array of dimension 0",
                                    tr_fam_name(c));
}

/* What is looked at: an array along an axis; all items in C order for axis=None, and (of0)
 * for an array of no axes. */
static bool look_along(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv axis_is, bool of0, tr_tv *a,
                       uint32_t *axis) {
    int64_t k;
    if (!tr_fam_as_array(e, c, x, NULL, a))
        return false;
    bool none = axis_is.ty && tr_tv_is_none(axis_is);
    if (of0 && a->ty->ndim == 0 && (!axis_is.ty || (tr_tv_lit_int(axis_is, &k) && (k == 0 || k == -1))))
        none = true;
    *axis = 0;
    return none ? flat(e, c, *a, false, a) : axis_arg(e, c, *a, axis_is, axis);
}

/* A copy of it, which is then changed. */
static bool copy_along(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv axis_is, tr_tv *a, uint32_t *axis) {
    if (!tr_fam_as_array(e, c, x, NULL, a))
        return false;
    *axis = 0;
    if (axis_is.ty && tr_tv_is_none(axis_is))
        return flat(e, c, *a, true, a);
    return axis_arg(e, c, *a, axis_is, axis) &&
           tr_em_copy(e, *a, a->ty->layout == TR_LAYOUT_F ? TR_LAYOUT_F : TR_LAYOUT_C, a);
}

static bool check_changeable(tr_em *e, tr_tv a) {
    return !a.ty->readonly || tr_em_error(e, "assignment destination is read-only");
}

static bool no_order(tr_em *e, const tr_bcall *c, tr_tv order) {
    return !tr_fam_given(order) ||
           tr_em_error(e, "%s(): Cannot specify order when the array has no fields.", tr_fam_name(c));
}

/* kind= and stable= of sort and argsort. */
static bool how_arg(tr_em *e, const tr_bcall *c, tr_tv kind, tr_tv stable, int64_t *how) {
    static const struct {
        const char *name;
        int64_t how;
    } kinds[] = {{"quicksort", TR_SORT_QUICK},
                 {"heapsort", TR_SORT_HEAP},
                 {"mergesort", TR_SORT_STABLE},
                 {"stable", TR_SORT_STABLE}};
    const char *text;
    bool is_stable;
    if (!tr_fam_flag(e, c, stable, "stable", false, &is_stable))
        return false;
    *how = is_stable ? TR_SORT_STABLE : TR_SORT_QUICK;
    if (!tr_fam_given(kind))
        return true;
    if (tr_fam_given(stable))
        return tr_em_error(
            e,
            "%s(): `kind` and `stable` parameters can't be provided at the same time. Use only "
            "one of them.",
            tr_fam_name(c));
    if (!tr_tv_lit_str(kind, &text))
        return tr_em_error(e, "%s(): kind must be a constant, the name of a way to sort", tr_fam_name(c));
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcasecmp(text, kinds[i].name)) {
            *how = kinds[i].how;
            return true;
        }
    return tr_em_error(e, "sort kind must be one of 'quick', 'heap', or 'stable' (got '%s')", text);
}

/* --- sort, argsort --- */

static bool sort_along(tr_em *e, tr_tv a, uint32_t axis, int64_t how) {
    return each_line(
        e, &(lines){.row = TR_RT_SORT, .axis = axis, .n = 1, .a = {a}, .word = i64(e, how), .tail = absent});
}

static bool argsort_along(tr_em *e, tr_tv a, tr_tv places, uint32_t axis, tr_tv how) {
    if (tr_plant(e->ctx, TR_PLANT_TIE))
        how = i64(e, TR_SORT_QUICK);
    return each_line(
        e,
        &(lines){.row = TR_RT_ARGSORT, .axis = axis, .n = 2, .a = {a, places}, .word = how, .tail = absent});
}

/* Room for places of all items. */
static tr_tv places_of(tr_em *e, tr_tv a) {
    tr_tv shape[TR_MAX_NDIM];
    tr_fam_shape(e, a, shape);
    return tr_em_alloc(e, tr_fam_ty(e, TR_TY_I64), a.ty->ndim, TR_LAYOUT_C, shape);
}

/* --- records: by their fields --- */

/* The fields in the order in which they count: those that order= names, then the others. k
 * has room for all. */
static bool fields_in_order(tr_em *e, const tr_bcall *c, const tr_ty *s, tr_tv order, uint32_t *k) {
    bool given = tr_fam_given(order), many = given && order.ty->kind == TR_TY_TUPLE;
    uint32_t n = 0, names = many ? order.ty->n : given;
    bool *taken = TR_NEW_N(&e->ctx->arena, bool, s->n + 1u);
    for (uint32_t i = 0; i < names; i++) {
        const char *name;
        if (!tr_tv_lit_str(many ? tr_em_item(e, order, i) : order, &name))
            return tr_em_error(e, "%s(): order must be names of fields, as constants", tr_fam_name(c));
        int at = tr_ty_find_field(s, name);
        if (at < 0) {
            tr_em_error(e, "%s(): unknown field name: '%s'", tr_fam_name(c), name);
            tr_lib_suggest_field(e, s, name);
            return false;
        }
        if (taken[at])
            return tr_em_error(e, "%s(): duplicate field: '%s'", tr_fam_name(c), name);
        taken[at] = true;
        k[n++] = (uint32_t)at;
    }
    for (uint32_t at = 0; at < s->n; at++)
        if (!taken[at])
            k[n++] = at;
    return true;
}

/* A field as numbers that can be sorted: a copy, side by side. A NaT is less than all else as
 * a number and comes behind all dates. */
static bool field_key(tr_em *e, const tr_bcall *c, tr_tv x, const char *name, tr_tv *key) {
    tr_tv f;
    if (!tr_em_getitem(e, x, tr_em_lit(e, tr_obj_str(&e->ctx->arena, name)), &f))
        return false;
    if (f.ty->kind == TR_TY_DATES)
        return tr_em_binary(e, TR_BIN_SUB, tr_date_raw(e, f), i64(e, 1), key);
    if (tr_chars_is(f.ty) && tr_chars_ndim(f.ty) == 1)
        return tr_chars_ranks(e, f, key);
    if (f.ty->kind == TR_TY_ARRAY && f.ty->ndim == 1)
        return tr_em_copy(e, f, TR_LAYOUT_C, key);
    tr_em_error(e,
                "%s(): field '%s', which decides between records whose other fields are equal, is no number "
                "or string",
                tr_fam_name(c), name);
    tr_em_hint(e, "sort by one field, or by several that are numbers: a[np.argsort(a['x'])], "
                  "a[np.lexsort((a['y'], a['x']))]");
    return false;
}

/* Places of records in order. Whatever way of sorting is asked for: records that it could
 * tell apart are different. */
static bool records_order(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv axis, tr_tv order, tr_tv *out) {
    const tr_ty *s = x.ty->items[0]->elem;
    uint32_t *k = TR_NEW_N(&e->ctx->arena, uint32_t, s->n + 1u), at;
    tr_tv *keys = TR_NEW_N(&e->ctx->arena, tr_tv, s->n + 1u);
    if (x.ty->items[0]->ndim != 1)
        return tr_em_error(e, "%s(): only an array of one axis is sorted by its fields, not %s",
                           tr_fam_name(c), tr_em_tyname(e, x.ty));
    if (tr_fam_given(axis) && !tr_fam_axis(e, c, 1, axis, &at))
        return false;
    if (s->n == 0)
        return tr_em_error(e, "%s(): records without fields", tr_fam_name(c));
    if (!fields_in_order(e, c, s, order, k))
        return false;
    for (uint32_t i = 0; i < s->n; i++) /* of lexsort's keys the last one counts most */
        if (!field_key(e, c, x, s->fields[k[i]], &keys[s->n - 1 - i]))
            return false;
    tr_tv args[2] = {tr_em_tuple(e, s->n, keys), absent};
    return tr_lib_np_lexsort(e, &(tr_bcall){.row = c->row, .n = 2, .a = args}, out);
}

static bool is_records(tr_tv x) {
    return x.ty->kind == TR_TY_RECORDS;
}

/* In place. */
bool tr_lib_records_sort(tr_em *e, const tr_bcall *c, tr_tv *out) {
    int64_t how;
    tr_tv x = c->a[0], places, sorted;
    tr_tv all =
        tr_em_make(e, tr_ty_slice(e->types, tr_ty_none(e->types), tr_ty_none(e->types), tr_ty_none(e->types)),
                   3, (tr_tv[]){tr_em_none(e), tr_em_none(e), tr_em_none(e)});
    *out = tr_em_none(e);
    return how_arg(e, c, c->a[2], c->a[4], &how) && check_changeable(e, tr_em_item(e, x, 0)) &&
           records_order(e, c, x, c->a[1], c->a[3], &places) && tr_em_getitem(e, x, places, &sorted) &&
           tr_em_setitem(e, x, all, sorted, false);
}

/* Parameters: a, axis, kind, order, stable. */
bool tr_lib_np_sort(tr_em *e, const tr_bcall *c, tr_tv *out) {
    uint32_t axis;
    int64_t how;
    tr_tv places;
    if (is_records(c->a[0]))
        return how_arg(e, c, c->a[2], c->a[4], &how) &&
               records_order(e, c, c->a[0], c->a[1], c->a[3], &places) &&
               tr_em_getitem(e, c->a[0], places, out);
    return no_order(e, c, c->a[3]) && how_arg(e, c, c->a[2], c->a[4], &how) &&
           copy_along(e, c, c->a[0], c->a[1], out, &axis) && sort_along(e, *out, axis, how);
}

/* In place. */
bool tr_lib_arr_sort(tr_em *e, const tr_bcall *c, tr_tv *out) {
    uint32_t axis;
    int64_t how;
    tr_tv a = c->a[0];
    *out = tr_em_none(e);
    return no_order(e, c, c->a[3]) && how_arg(e, c, c->a[2], c->a[4], &how) && check_changeable(e, a) &&
           axis_arg(e, c, a, c->a[1], &axis) && sort_along(e, a, axis, how);
}

/* The same, of places. */
bool tr_lib_np_argsort(tr_em *e, const tr_bcall *c, tr_tv *out) {
    uint32_t axis;
    int64_t how;
    tr_tv a;
    if (is_records(c->a[0]))
        return how_arg(e, c, c->a[2], c->a[4], &how) && records_order(e, c, c->a[0], c->a[1], c->a[3], out);
    if (!no_order(e, c, c->a[3]) || !how_arg(e, c, c->a[2], c->a[4], &how) ||
        !look_along(e, c, c->a[0], c->a[1], true, &a, &axis))
        return false;
    *out = places_of(e, a);
    return argsort_along(e, a, *out, axis, i64(e, how));
}

/* sort_complex(a): sorted along the last axis, and complex. */
bool tr_lib_np_sort_complex(tr_em *e, const tr_bcall *c, tr_tv *out) {
    uint32_t axis;
    tr_tv a;
    if (!copy_along(e, c, c->a[0], absent, &a, &axis) || !sort_along(e, a, axis, TR_SORT_QUICK))
        return false;
    *out = a;
    const tr_ty *t = a.ty->elem;
    bool is_short = tr_ty_is_int(t) && tr_ty_size(t) <= 2;
    return tr_ty_is_complex(t) ||
           tr_fam_copy_as(e, a, tr_fam_ty(e, is_short ? TR_TY_C64 : TR_TY_C128), TR_LAYOUT_C, out);
}

/* --- lexsort --- */

/* Sorts places by one more key, which counts more than those before. */
static bool by_key(tr_em *e, tr_tv key, tr_tv places, uint32_t axis, tr_tv is_first) {
    tr_tv how = tr_em_select(e, is_first, i64(e, TR_SORT_STABLE), i64(e, TR_SORT_STABLE | TR_SORT_GOES_ON));
    return argsort_along(e, key, places, axis, how);
}

typedef struct keys {
    tr_tv a, places;
    uint32_t axis;
} keys;

static bool by_each_key(tr_em *e, tr_tv k, const void *user, tr_tv *acc, tr_tv *stop) {
    const keys *x = user;
    (void)acc;
    (void)stop;
    return by_key(e, tr_lib_at_place(e, x->a, 0, k, TR_LAYOUT_ANY), x->places, x->axis,
                  tr_em_cmp(e, TR_CMP_EQ, k, i64(e, 0)));
}

/* An array's first axis counts keys. */
static bool lexsort_array(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv axis, tr_tv *out) {
    if (a.ty->ndim == 1) { /* numbers, of which there is one place */
        *out = i64(e, 0);
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GT, tr_em_dim(e, a, 0), *out), TR_EXC_TYPE,
                    "need sequence of keys with len > 0 in lexsort", 0, NULL);
        return true;
    }
    if (a.ty->ndim == 0)
        return tr_em_error(e, "need sequence of keys with len > 0 in lexsort");
    keys *x = TR_NEW(&e->ctx->arena, keys);
    tr_tv n = tr_em_dim(e, a, 0), zero = i64(e, 0), one = i64(e, 1), acc = zero;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GT, n, zero), TR_EXC_TYPE,
                "need sequence of keys with len > 0 in lexsort", 0, NULL);
    tr_tv first = tr_lib_at_place(e, a, 0, zero, TR_LAYOUT_ANY);
    *x = (keys){.a = a, .places = places_of(e, first)};
    *out = x->places;
    tr_tv all = tr_em_make(e, tr_ty_range(e->types, tr_fam_ty(e, TR_TY_I64), 0), 3, (tr_tv[]){zero, n, one});
    return axis_arg(e, c, first, axis, &x->axis) && tr_em_each(e, all, 1, &acc, by_each_key, x);
}

static void check_shapes(tr_em *e, tr_tv a, tr_tv b) {
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, tr_em_dim(e, a, i), tr_em_dim(e, b, i)), TR_EXC_VALUE,
                    "all keys need to be the same shape", 0, NULL);
}

/* Parameters: keys, axis. Keys are a tuple of arrays, or an array of them; the last one counts most. */
bool tr_lib_np_lexsort(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv t = c->a[0], first, key;
    uint32_t axis = 0;
    if (t.ty->kind != TR_TY_TUPLE)
        return tr_fam_as_array(e, c, t, NULL, &t) && lexsort_array(e, c, t, c->a[1], out);
    if (t.ty->n == 0)
        return tr_em_error(e, "need sequence of keys with len > 0 in lexsort");
    if (!tr_fam_as_array(e, c, tr_em_item(e, t, 0), NULL, &first))
        return false;
    if (first.ty->ndim > 0 && !axis_arg(e, c, first, c->a[1], &axis))
        return false;
    *out = first.ty->ndim == 0 ? i64(e, 0) : places_of(e, first); /* of numbers there is one place */
    for (uint32_t k = 0; k < t.ty->n; k++) {
        if (!tr_fam_as_array(e, c, tr_em_item(e, t, k), NULL, &key))
            return false;
        if (key.ty->ndim != first.ty->ndim)
            return tr_em_error(e, "all keys need to be the same shape");
        check_shapes(e, first, key);
    }
    for (uint32_t k = 0; k < t.ty->n && first.ty->ndim > 0; k++)
        if (!tr_fam_as_array(e, c, tr_em_item(e, t, k), NULL, &key) ||
            !by_key(e, key, *out, axis, tr_em_bool(e, k == 0)))
            return false;
    return true;
}

/* --- partition, argpartition --- */

/* elems: a place, perhaps counted from the end. Gives it counted from the beginning; INT64_MAX, or if there
 * is no such one, itself or what comes next to that. caps: the length of a line, the number of all items.
 * Without items any place will do, as for NumPy. */
static bool lam_kth(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                    tr_tv *yields) {
    tr_tv n = caps[0], zero = i64(e, 0), k = tr_em_conv(e, elems[0], n.ty);
    (void)d;
    (void)idx;
    tr_tv at = tr_em_select(e, tr_em_cmp(e, TR_CMP_LT, k, zero), tr_em_op2(e, TR_OP_ADD, k, n), k);
    tr_tv ok = tr_fam_or(e, tr_em_cmp(e, TR_CMP_EQ, caps[1], zero),
                         tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, at, zero), tr_em_cmp(e, TR_CMP_LT, at, n)));
    yields[0] = at;
    tr_tv most = i64(e, INT64_MAX), below = i64(e, INT64_MAX - 1);
    yields[1] = tr_em_select(e, ok, most, tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, k, most), below, at));
    return true;
}

/* kth=: an integer, or several, as places in lines of a along an axis. */
static bool kth_arg(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv a, uint32_t axis, tr_tv *out) {
    static const tr_redk least = TR_RED_MIN;
    tr_tv k = x, init = i64(e, INT64_MAX), bad, caps[2] = {tr_em_dim(e, a, axis), tr_em_size(e, a)};
    if (tr_lib_scalar(e, x.ty))
        k = tr_em_tuple(e, 1, &x);
    if (!tr_fam_as_array(e, c, k, NULL, &k))
        return false;
    if (!tr_ty_is_int(k.ty->elem))
        return tr_em_error(e, "Partition index must be integer");
    if (k.ty->ndim > 1)
        return tr_em_error(e, "object too deep for desired array");
    if (k.ty->ndim == 0) {
        tr_tv one = tr_em_load(e, k, NULL);
        return kth_arg(e, c, one, a, axis, out);
    }
    tr_tv size = tr_em_dim(e, k, 0);
    *out = tr_em_alloc(e, tr_fam_ty(e, TR_TY_I64), 1, TR_LAYOUT_C, &size);
    tr_pdesc d = {.nspace = 1,
                  .nin = 1,
                  .nout = 1,
                  .nred = 1,
                  .ncap = 2,
                  .space = &size,
                  .in = &k,
                  .out = out,
                  .reds = &least,
                  .init = &init,
                  .caps = caps,
                  .lam = lam_kth};
    if (!tr_em_pattern(e, &d, &bad))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, bad, init), TR_EXC_VALUE, "kth(={0}) out of bounds ({1})", 2,
                (tr_tv[]){bad, caps[0]});
    return true;
}

static bool select_kind(tr_em *e, const tr_bcall *c, tr_tv kind) {
    const char *text;
    if (!tr_fam_given(kind) || (tr_tv_lit_str(kind, &text) && !strcasecmp(text, "introselect")))
        return true;
    return tr_em_error(e, "%s(): kind must be 'introselect'", tr_fam_name(c));
}

/* From a into `to`, which may be a. */
static bool partition_along(tr_em *e, tr_rt row, tr_tv a, tr_tv to, uint32_t axis, tr_tv kth) {
    return each_line(e,
                     &(lines){.row = row, .axis = axis, .n = 2, .a = {a, to}, .word = absent, .tail = kth});
}

/* Parameters: a, kth, axis, kind, order. */
bool tr_lib_np_partition(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, kth, shape[TR_MAX_NDIM];
    uint32_t axis;
    if (!no_order(e, c, c->a[4]) || !select_kind(e, c, c->a[3]) ||
        !look_along(e, c, c->a[0], c->a[2], false, &a, &axis) || !kth_arg(e, c, c->a[1], a, axis, &kth))
        return false;
    tr_fam_shape(e, a, shape);
    *out = tr_em_alloc(e, a.ty->elem, a.ty->ndim, a.ty->layout == TR_LAYOUT_F ? TR_LAYOUT_F : TR_LAYOUT_C,
                       shape);
    return partition_along(e, TR_RT_PARTITION, a, *out, axis, kth);
}

/* In place. */
bool tr_lib_arr_partition(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a = c->a[0], kth;
    uint32_t axis;
    *out = tr_em_none(e);
    return no_order(e, c, c->a[4]) && select_kind(e, c, c->a[3]) && check_changeable(e, a) &&
           axis_arg(e, c, a, c->a[2], &axis) && kth_arg(e, c, c->a[1], a, axis, &kth) &&
           partition_along(e, TR_RT_PARTITION, a, a, axis, kth);
}

bool tr_lib_np_argpartition(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, kth;
    uint32_t axis;
    if (!no_order(e, c, c->a[4]) || !select_kind(e, c, c->a[3]) ||
        !look_along(e, c, c->a[0], c->a[2], true, &a, &axis) || !kth_arg(e, c, c->a[1], a, axis, &kth))
        return false;
    *out = places_of(e, a);
    return partition_along(e, TR_RT_ARGPARTITION, a, *out, axis, kth);
}

/* --- median --- */

/* The type that a median of items of type t has, and the one that it is computed in. */
static const tr_ty *mean_of(tr_em *e, const tr_ty *t) {
    return tr_ty_is_float(t) || tr_ty_is_complex(t) ? t : tr_fam_ty(e, TR_TY_F64);
}

/* The middle of a line, or between its two middle items, which `two` has room for. NaN
 * where one is, and for nothing at all. */
static tr_tv middle(tr_em *e, tr_tv line, tr_tv two) {
    const tr_ty *result = mean_of(e, line.ty->elem), *t = tr_fam_wide(e, result);
    tr_tv zero = i64(e, 0), one = i64(e, 1), n = tr_em_dim(e, line, 0),
          last = tr_em_op2(e, TR_OP_SUB, n, one);
    tr_tv odd = tr_em_cmp(e, TR_CMP_NE, tr_em_op2(e, TR_OP_AND, n, one), zero);
    tr_tv x[4] = {kind_of(e, line.ty->elem), tr_em_op2(e, TR_OP_SHR, last, one), line, two};
    tr_tv r = tr_em_callrt(e, TR_RT_RANKED, tr_fam_ty(e, TR_TY_I64), NULL, 4, x);
    check_memory(e, r);
    tr_tv lo = tr_em_conv(e, tr_em_load(e, two, &zero), t), hi = tr_em_conv(e, tr_em_load(e, two, &one), t);
    tr_tv half = tr_em_op2(e, TR_OP_DIV, tr_em_op2(e, TR_OP_ADD, lo, hi), tr_em_num(e, t, 2.0));
    if (tr_ty_is_complex(
            t)) /* it is a mean then, too: with an infinite part, divided by 1, it is NaN in the other */
        lo = tr_em_op2(e, TR_OP_DIV, lo, tr_em_num(e, t, 1.0));
    tr_tv v = tr_em_select(e, odd, lo, half);
    tr_tv none = tr_em_num(e, t, (double)NAN);
    if (tr_ty_is_complex(t)) /* of nothing it is the mean: both parts are NaN */
        none = tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, n, zero),
                            tr_em_cplx(e, tr_em_re(e, none), tr_em_re(e, none)), none);
    v = tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, r, zero), v, none);
    return tr_em_conv(e, v, result);
}

/* caps: the array, and room for two items of each line. user: the axis. */
static bool lam_middle(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                       tr_tv *yields) {
    tr_axes x = {0};
    tr_tv two = caps[1];
    uint32_t last = two.ty->ndim - 1u;
    (void)elems;
    for (uint32_t i = 0; i < last; i++)
        x.start[i] = idx[i];
    tr_axes_own(e, &x, two, last);
    two = tr_em_view(e, tr_ty_array(e->types, two.ty->elem, 1, TR_LAYOUT_C, false), two, &x);
    yields[0] = middle(e, line_at(e, caps[0], *(const uint32_t *)d->user, idx), two);
    return true;
}

/* Several axes, of a mask, made one, the last, in a copy. */
static bool merged(tr_em *e, tr_tv a, uint32_t mask, tr_tv *out) {
    tr_axes x = {0};
    tr_tv shape[TR_MAX_NDIM], whole = i64(e, 1);
    uint32_t n = 0;
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < a.ty->ndim; i++)
            if ((mask >> i & 1u) == pass)
                tr_axes_own(e, &x, a, i);
    for (uint32_t i = 0; i < a.ty->ndim; i++)
        if (mask >> i & 1u)
            whole = tr_em_extent_product(e, whole, tr_em_dim(e, a, i));
        else
            shape[n++] = tr_em_dim(e, a, i);
    shape[n++] = whole;
    tr_tv v =
        tr_em_view(e, tr_ty_array(e->types, a.ty->elem, a.ty->ndim, TR_LAYOUT_ANY, a.ty->readonly), a, &x);
    if (!tr_em_copy(e, v, TR_LAYOUT_C, out))
        return false;
    *out = tr_em_restride(e, tr_ty_array(e->types, a.ty->elem, n, TR_LAYOUT_C, false), *out, i64(e, 0), shape,
                          NULL);
    return true;
}

/* Parameters: a, axis, out, overwrite_input, keepdims. */
bool tr_lib_np_median(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv a, line, shape[TR_MAX_NDIM + 1], caps[2], none;
    uint32_t axis = 0, mask = 0;
    bool keepdims, ignored;
    if (!tr_fam_as_array(e, c, c->a[0], NULL, &a) ||
        !tr_fam_flag(e, c, c->a[3], "overwrite_input", false, &ignored) ||
        !tr_fam_flag(e, c, c->a[4], "keepdims", false, &keepdims))
        return false;
    bool all = !tr_fam_given(c->a[1]);
    if (all ? !flat(e, c, a, false, &line) : !tr_fam_axes(e, c, a.ty->ndim, c->a[1], &mask))
        return false;
    uint32_t keep = all ? 0 : tr_all_axes(a.ty->ndim) & ~mask;
    const tr_tv given = a;
    if (!all && (mask & (mask - 1u) || !mask)) {
        if (!merged(e, a, mask, &a))
            return false;
        axis = a.ty->ndim - 1u;
    } else if (!all) {
        while (!(mask >> axis & 1u))
            axis++;
    }
    uint32_t n = all ? 0 : other_axes(e, a, axis, shape);
    shape[n] = i64(e, 2);
    if (n == TR_MAX_NDIM)
        return tr_em_error(e, "%s(): too many dimensions", tr_fam_name(c));
    caps[1] = tr_em_alloc(e, a.ty->elem, n + 1, TR_LAYOUT_C, shape);
    if (n == 0) {
        *out = middle(e, line_at(e, all ? line : a, 0, NULL), caps[1]);
        return tr_fam_delivered(e, c, given, keep, keepdims, c->a[2], out);
    }
    caps[0] = a;
    *out = tr_em_alloc(e, mean_of(e, a.ty->elem), n, TR_LAYOUT_C, shape);
    tr_pdesc d = {.nspace = n,
                  .nout = 1,
                  .ncap = 2,
                  .space = shape,
                  .out = out,
                  .caps = caps,
                  .lam = lam_middle,
                  .user = tr_arena_copy(&e->ctx->arena, &axis, sizeof axis)};
    return tr_em_pattern(e, &d, &none) && tr_fam_delivered(e, c, given, keep, keepdims, c->a[2], out);
}

/* --- unique --- */

static tr_tv is_nan(tr_em *e, tr_tv x) {
    return tr_ty_is_complex(x.ty) ? tr_fam_cplx_isnan(e, x) : tr_em_cmp(e, TR_CMP_NE, x, x);
}

static tr_tv differ(tr_em *e, tr_tv x, tr_tv y) {
    if (!tr_ty_is_complex(x.ty))
        return tr_em_cmp(e, TR_CMP_NE, x, y);
    return tr_fam_or(e, tr_em_cmp(e, TR_CMP_NE, tr_em_re(e, x), tr_em_re(e, y)),
                     tr_em_cmp(e, TR_CMP_NE, tr_em_im(e, x), tr_em_im(e, y)));
}

/* Is a sorted item the first of its kind? user: whether NaNs are one kind, or NULL. */
static bool lam_is_new(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                       tr_tv *yields) {
    tr_tv zero = i64(e, 0), first = tr_em_cmp(e, TR_CMP_EQ, idx[0], zero);
    tr_tv at = tr_em_select(e, first, zero, tr_em_nsw(e, TR_OP_SUB, idx[0], i64(e, 1)));
    tr_tv before = tr_em_load(e, caps[0], &at), other = differ(e, elems[0], before);
    const tr_ty *t = before.ty;
    if (d->user && (tr_ty_is_float(t) || tr_ty_is_complex(t)))
        other = tr_fam_and(e, other, tr_fam_not(e, tr_fam_and(e, is_nan(e, elems[0]), is_nan(e, before))));
    yields[0] = tr_fam_or(e, first, other);
    return true;
}

static bool new_ones(tr_em *e, tr_tv sorted, bool equal_nan, tr_tv *out) {
    tr_tv n = tr_em_dim(e, sorted, 0), none;
    *out = tr_em_alloc(e, tr_fam_ty(e, TR_TY_BOOL), 1, TR_LAYOUT_C, &n);
    tr_pdesc d = {.nspace = 1,
                  .nin = 1,
                  .nout = 1,
                  .ncap = 1,
                  .space = &n,
                  .in = &sorted,
                  .out = out,
                  .caps = &sorted,
                  .lam = lam_is_new,
                  .user = equal_nan ? "" : NULL};
    return tr_em_pattern(e, &d, &none);
}

/* How many items there are from each place to the next. caps: places, their number, that of items. */
static bool lam_count(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                      tr_tv *yields) {
    tr_tv one = i64(e, 1), next = tr_em_nsw(e, TR_OP_ADD, idx[0], one);
    tr_tv is_last = tr_em_cmp(e, TR_CMP_GE, next, caps[1]), at = tr_em_select(e, is_last, idx[0], next);
    (void)d;
    yields[0] =
        tr_em_op2(e, TR_OP_SUB, tr_em_select(e, is_last, caps[2], tr_em_load(e, caps[0], &at)), elems[0]);
    return true;
}

static bool counts_of(tr_em *e, tr_tv is_new, tr_tv *out) {
    tr_tv at, none;
    if (!tr_lib_nonzero(e, is_new, &at))
        return false;
    tr_tv n = tr_em_dim(e, at, 0), caps[3] = {at, n, tr_em_dim(e, is_new, 0)};
    *out = tr_em_alloc(e, tr_fam_ty(e, TR_TY_I64), 1, TR_LAYOUT_C, &n);
    tr_pdesc d = {.nspace = 1,
                  .nin = 1,
                  .nout = 1,
                  .ncap = 3,
                  .space = &n,
                  .in = &at,
                  .out = out,
                  .caps = caps,
                  .lam = lam_count};
    return tr_em_pattern(e, &d, &none);
}

/* Which of the values each item of a is, in a's shape. */
static bool inverse_of(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv is_new, tr_tv places, tr_tv *out) {
    tr_tv args[4] = {is_new, absent, absent, absent}, number, shape[TR_MAX_NDIM], n = tr_em_dim(e, places, 0);
    if (!tr_lib_arr_running(e, &(tr_bcall){.row = c->row, .aux = TR_RED_ADD, .n = 4, .a = args}, &number) ||
        !tr_em_binary(e, TR_BIN_SUB, number, i64(e, 1), &number))
        return false;
    *out = tr_em_alloc(e, tr_fam_ty(e, TR_TY_I64), 1, TR_LAYOUT_C, &n);
    if (!tr_em_setitem(e, *out, places, number, false))
        return false;
    tr_fam_shape(e, a, shape);
    *out = tr_em_restride(e, tr_ty_array(e->types, out->ty->elem, a.ty->ndim, TR_LAYOUT_C, false), *out,
                          i64(e, 0), shape, NULL);
    return true;
}

/* Parameters: ar, return_index, return_inverse, return_counts, equal_nan. */
bool tr_lib_np_unique(tr_em *e, const tr_bcall *c, tr_tv *out) {
    bool index, inverse, counts, equal_nan;
    tr_tv a, items, places = absent, is_new, r[4];
    uint32_t n = 1;
    if (!tr_fam_as_array(e, c, c->a[0], NULL, &a) ||
        !tr_fam_flag(e, c, c->a[1], "return_index", false, &index) ||
        !tr_fam_flag(e, c, c->a[2], "return_inverse", false, &inverse) ||
        !tr_fam_flag(e, c, c->a[3], "return_counts", false, &counts) ||
        !tr_fam_flag(e, c, c->a[4], "equal_nan", true, &equal_nan))
        return false;
    if (!flat(e, c, a, !index && !inverse, &items))
        return false;
    if (index || inverse) {
        places = places_of(e, items);
        bool stable =
            index ||
            tr_ty_is_int(items.ty->elem); /* equal integers are alike, so it is free to be the faster way */
        if (!argsort_along(e, items, places, 0, i64(e, stable ? TR_SORT_STABLE : TR_SORT_QUICK)) ||
            !tr_em_getitem(e, items, places, &items))
            return false;
    } else if (!sort_along(e, items, 0, TR_SORT_QUICK)) {
        return false;
    }
    if (!new_ones(e, items, equal_nan, &is_new) || !tr_em_getitem(e, items, is_new, &r[0]) ||
        (index && !tr_em_getitem(e, places, is_new, &r[n++])) ||
        (inverse && !inverse_of(e, c, a, is_new, places, &r[n++])) ||
        (counts && !counts_of(e, is_new, &r[n++])))
        return false;
    *out = n == 1 ? r[0] : tr_em_tuple(e, n, r);
    return true;
}
