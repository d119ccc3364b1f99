/* Arrays of NumPy's fixed-width strings, dtypes S and U.
 *
 * Such an array is an array of bytes that has one axis more, an item's bytes, so indices, views and copies
 * are those of arrays, and how wide items are is known when the program runs. Items come out as str or bytes
 * of their own, since the array may change: NULs at their end are no part of them. What is stored is cut, or
 * padded with NULs, as in NumPy. Values of this kind are no arrays to anybody else; which of NumPy's
 * functions take them says lib/npchars.c. */
#include "lib/chars.h"

#include <assert.h>
#include <string.h>

#include "lib/fam.h"
#include "lib/kinds.h"
#include "lib/priv.h"

static const tr_ty *byte_ty(tr_em *e) {
    return tr_fam_ty(e, TR_TY_U8);
}

tr_tv tr_chars_raw(tr_em *e, tr_tv x) {
    return tr_em_item(e, x, 0);
}

tr_tv tr_chars_of(tr_em *e, bool wide, tr_tv raw) {
    return tr_em_make(e, tr_ty_chars(e->types, wide, raw.ty), 1, &raw);
}

tr_tv tr_chars_unit(tr_em *e, bool wide) {
    return tr_em_i64(e, wide ? 4 : 1);
}

static tr_tv how_of(tr_em *e, bool wide, int more) {
    return tr_em_i64(e, (wide ? TR_CHARS_WIDE : 0) | more);
}

/* The bytes of one item, as the runtime takes them. */
static tr_tv in_line(tr_em *e, tr_tv row) {
    assert(row.ty->ndim == 1 && "an item is a line of bytes");
    if (row.ty->layout == TR_LAYOUT_C)
        return row;
    tr_tv n = tr_em_dim(e, row, 0);
    return tr_em_restride(e, tr_ty_array(e->types, row.ty->elem, 1, TR_LAYOUT_C, row.ty->readonly), row,
                          tr_em_i64(e, 0), &n, NULL);
}

tr_tv tr_chars_item(tr_em *e, bool wide, tr_tv row) {
    tr_tv v[2] = {how_of(e, wide, 0), in_line(e, row)};
    tr_tv s = tr_em_callrt(e, TR_RT_CHARS_GET, tr_ty_string(e->types), NULL, 2, v), n = tr_em_strlen(e, s);
    if (wide)
        tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, n, tr_em_i64(e, TR_CHARS_NONE >> TR_STR_LENGTH)), TR_EXC_VALUE,
                    "a character of the array is not in range [U+0000; U+10ffff]", 0, NULL);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, n, tr_em_i64(e, 0)), TR_EXC_MEMORY, "cannot allocate a string", 0,
                NULL);
    return wide ? s : tr_lib_bytes_of(e, s);
}

/* --- storing --- */

bool tr_chars_is_value(tr_em *e, tr_tv x) {
    return tr_lib_is_text(x) || x.ty->kind == TR_TY_BYTES || tr_lib_scalar(e, x.ty);
}

/* The characters of a value, numbers as str() has them. */
static bool characters(tr_em *e, tr_tv x, tr_tv *out, int *how) {
    *how = x.ty->kind == TR_TY_BYTES ? TR_CHARS_BYTES : 0;
    if (*how) {
        *out = tr_em_item(e, x, 0);
        return true;
    }
    if (!tr_lib_is_text(x) && !tr_em_str(e, x, false, &x))
        return false;
    return tr_em_string(e, x, out);
}

bool tr_chars_put(tr_em *e, bool wide, tr_tv row, tr_tv x) {
    int how;
    tr_tv s;
    if (!characters(e, x, &s, &how))
        return false;
    tr_tv v[3] = {how_of(e, wide, how), s, in_line(e, row)};
    tr_tv ok = tr_em_callrt(e, TR_RT_CHARS_PUT, tr_fam_ty(e, TR_TY_BOOL), NULL, 3, v);
    bool bytes = x.ty->kind == TR_TY_BYTES;
    if (bytes == wide) /* between str and bytes */
        tr_chars_check_ascii(e, ok, bytes ? x : s, s);
    return true;
}

tr_tv tr_chars_alloc(tr_em *e, uint32_t ndim, const tr_tv *shape, tr_tv bytes) {
    tr_tv n[TR_MAX_NDIM + 1];
    assert(ndim < TR_MAX_NDIM && "there is room for the items' axis");
    memcpy(n, shape, ndim * sizeof *n);
    n[ndim] = bytes;
    return tr_em_alloc(e, byte_ty(e), ndim + 1, TR_LAYOUT_C, n);
}

/* As many rows as the items are, so many bytes each and so far apart. */
static tr_tv lines(tr_em *e, tr_tv raw, tr_tv n, tr_tv bytes, tr_tv step) {
    const tr_ty *ty = tr_ty_array(e->types, raw.ty->elem, 2, TR_LAYOUT_ANY, raw.ty->readonly);
    return tr_em_restride(e, ty, raw, tr_em_i64(e, 0), (tr_tv[]){n, bytes}, (tr_tv[]){step, tr_em_i64(e, 1)});
}

static tr_tv count_of(tr_em *e, tr_tv raw) {
    tr_tv n = tr_em_i64(e, 1);
    for (uint32_t k = 0; k + 1 < raw.ty->ndim; k++)
        n = tr_em_nsw(e, TR_OP_MUL, n, tr_em_dim(e, raw, k));
    return n;
}

bool tr_chars_rows(tr_em *e, tr_tv raw, tr_tv *out) {
    tr_tv bytes = tr_em_dim(e, raw, raw.ty->ndim - 1u);
    if (raw.ty->ndim == 2) {
        *out = lines(e, raw, tr_em_dim(e, raw, 0), bytes, tr_em_stride(e, raw, 0));
        return true;
    }
    if (raw.ty->ndim > 2 && raw.ty->layout != TR_LAYOUT_C && !tr_em_copy(e, raw, TR_LAYOUT_C, &raw))
        return false;
    *out = lines(e, raw, count_of(e, raw), bytes, bytes);
    return true;
}

/* The same, as what is stored to: of a new array. */
static tr_tv new_rows(tr_em *e, tr_tv raw) {
    const tr_ty *ty = tr_ty_array(e->types, raw.ty->elem, 2, TR_LAYOUT_C, false);
    assert(raw.ty->layout == TR_LAYOUT_C && "a new array's items are in one line");
    return tr_em_restride(e, ty, raw, tr_em_i64(e, 0),
                          (tr_tv[]){count_of(e, raw), tr_em_dim(e, raw, raw.ty->ndim - 1u)}, NULL);
}

/* Leaves with what is wrong with an item. */
static bool check_item(tr_em *e, tr_tv item, const void *user, tr_tv *acc, tr_tv *stop) {
    (void)user, (void)acc, (void)stop;
    tr_chars_check_ascii(e, (tr_tv){NULL, TR_NOVAL}, item,
                         item.ty->kind == TR_TY_BYTES ? tr_em_item(e, item, 0) : item);
    return true;
}

/* Unless `ok` holds an item of a list could not be converted; which one it was is looked for. */
static bool check_filled(tr_em *e, tr_tv ok, tr_tv list) {
    if (e->dry)
        return true;
    tr_bid cold = tr_blk_new(e->b.fn), join = tr_blk_new(e->b.fn);
    tr_cbr(&e->b, ok.v, join, 0, NULL, cold, 0, NULL);
    e->b.blk = cold;
    if (!tr_em_each(e, list, 0, NULL, check_item, NULL))
        return false;
    tr_br(&e->b, join, 0, NULL);
    e->b.blk = join;
    return true;
}

/* Line `bad` of these, unless it is -1, could not be converted; the item says why. */
static bool check_fit(tr_em *e, tr_tv bad, tr_tv rows, bool wide) {
    tr_tv row, item;
    if (e->dry)
        return true;
    tr_bid cold = tr_blk_new(e->b.fn), join = tr_blk_new(e->b.fn);
    tr_cbr(&e->b, tr_em_cmp(e, TR_CMP_LT, bad, tr_em_i64(e, 0)).v, join, 0, NULL, cold, 0, NULL);
    e->b.blk = cold;
    if (!tr_lib_get_array(e, rows, bad, &row))
        return false;
    item = tr_chars_item(e, wide, row);
    tr_chars_check_ascii(e, (tr_tv){NULL, TR_NOVAL}, item, wide ? item : tr_em_item(e, item, 0));
    tr_br(&e->b, join, 0, NULL);
    e->b.blk = join;
    return true;
}

bool tr_chars_fit(tr_em *e, tr_tv x, bool wide, tr_tv bytes, tr_tv *out) {
    tr_tv n[TR_MAX_NDIM] = {{NULL, TR_NOVAL}}, rows;
    if (!tr_chars_is(x.ty)) {
        *out = tr_chars_alloc(e, 0, n, bytes);
        return tr_chars_put(e, wide, *out, x);
    }
    tr_tv raw = tr_chars_raw(e, x);
    for (uint32_t k = 0; k + 1 < raw.ty->ndim; k++)
        n[k] = tr_em_dim(e, raw, k);
    *out = tr_chars_alloc(e, raw.ty->ndim - 1u, n, bytes);
    if (!tr_chars_rows(e, raw, &rows))
        return false;
    bool from = tr_chars_is_wide(x.ty);
    tr_tv v[3] = {how_of(e, wide, from ? TR_CHARS_FROM_WIDE : 0), new_rows(e, *out), rows};
    tr_tv bad = tr_em_callrt(e, TR_RT_CHARS_FIT, tr_fam_ty(e, TR_TY_I64), NULL, 3, v);
    return from == wide || check_fit(e, bad, rows, from);
}

/* --- sequences of strings, the order of strings --- */

/* The strings that a sequence is of, or a string itself: 'U' or 'S'; 0: it is of others. */
char tr_chars_letter_in(tr_em *e, tr_tv x) {
    const tr_ty *t = x.ty->kind == TR_TY_LIST ? tr_ty_list_item(e->types, x.ty, false) : x.ty;
    char letter = 0;
    if (x.ty->kind == TR_TY_TUPLE) {
        for (uint32_t k = 0; k < x.ty->n; k++) {
            tr_tv item = tr_em_item(e, x, k);
            char one =
                item.ty->kind == TR_TY_TUPLE || item.ty->kind == TR_TY_LIST ? 0 : tr_chars_letter_in(e, item);
            if (!one || (letter && one != letter))
                return 0;
            letter = one;
        }
        return letter;
    }
    return !t ? 0 : t->kind == TR_TY_BYTES ? 'S' : tr_lib_is_text((tr_tv){t, TR_NOVAL}) ? 'U' : 0;
}

/* Bytes that the items of a call's result have: what the dtype says, else `needed`, a character at least. */
tr_tv tr_chars_enough(tr_em *e, uint32_t said, bool wide, tr_tv needed) {
    return said ? tr_em_i64(e, said) : tr_em_op2(e, TR_OP_MAX, needed, tr_chars_unit(e, wide));
}

/* Of a string, as an item of that letter. */
bool tr_chars_needs(tr_em *e, tr_tv x, bool wide, tr_tv *out) {
    tr_tv s = x;
    if (tr_chars_is(x.ty)) {
        tr_tv raw = tr_chars_raw(e, x), from = tr_chars_unit(e, tr_chars_is_wide(x.ty));
        tr_tv bytes = tr_em_dim(e, raw, raw.ty->ndim - 1u);
        *out = tr_em_op2(e, TR_OP_MUL, tr_em_op2(e, TR_OP_FLOORDIV, bytes, from), tr_chars_unit(e, wide));
        return true;
    }
    if (x.ty->kind == TR_TY_BYTES)
        s = tr_em_item(e, x, 0);
    else if (!tr_lib_is_text(x) || !tr_em_string(e, x, &s))
        return tr_em_error(e, "%s among strings", tr_em_tyname(e, x.ty));
    *out = tr_em_nsw(e, TR_OP_MUL, tr_em_strlen(e, s), tr_chars_unit(e, wide));
    return true;
}

/* Items of a display, or of a list. */
bool tr_chars_made_of(tr_em *e, tr_tv x, char letter, uint32_t said, tr_tv *out) {
    assert((x.ty->kind == TR_TY_LIST || x.ty->kind == TR_TY_TUPLE) && "a display or a list");
    bool wide = letter == 'U', list = x.ty->kind == TR_TY_LIST;
    tr_tv n = tr_em_i64(e, list ? 0 : x.ty->n), bytes, unit = tr_chars_unit(e, wide), rows;
    if (list && !tr_lib_len_list(e, x, &n))
        return false;
    bytes = unit;
    if (list)
        bytes = tr_em_op2(e, TR_OP_MUL, tr_em_callrt(e, TR_RT_CHARS_WIDTH, n.ty, NULL, 1, &x), unit);
    for (uint32_t k = 0; !list && k < x.ty->n; k++) {
        tr_tv one;
        if (!tr_chars_needs(e, tr_em_item(e, x, k), wide, &one))
            return false;
        bytes = tr_em_op2(e, TR_OP_MAX, bytes, one);
    }
    tr_tv raw = tr_chars_alloc(e, 1, &n, tr_chars_enough(e, said, wide, bytes));
    *out = tr_chars_of(e, wide, raw);
    if (list) {
        bool of_bytes = tr_ty_list_item(e->types, x.ty, false)->kind == TR_TY_BYTES;
        tr_tv v[3] = {how_of(e, wide, of_bytes ? TR_CHARS_BYTES : 0), x, raw};
        tr_tv ok = tr_em_callrt(e, TR_RT_CHARS_FILL, tr_fam_ty(e, TR_TY_BOOL), NULL, 3, v);
        return of_bytes != wide || check_filled(e, ok, x);
    }
    for (uint32_t k = 0; k < x.ty->n; k++)
        if (!tr_lib_get_array(e, raw, tr_em_i64(e, k), &rows) ||
            !tr_chars_put(e, wide, rows, tr_em_item(e, x, k)))
            return false;
    return true;
}

bool tr_chars_of_sequence(tr_em *e, tr_tv x, tr_tv *out) {
    char letter = x.ty->kind == TR_TY_LIST || x.ty->kind == TR_TY_TUPLE ? tr_chars_letter_in(e, x) : 0;
    return letter && tr_chars_made_of(e, x, letter, 0, out);
}

/* Places of the items of one axis, in order; equal ones keep theirs, whatever `kind` asks for. */
bool tr_chars_order(tr_em *e, tr_tv x, tr_tv *out, tr_tv *ranks) {
    int more = ranks ? TR_CHARS_RANKS : 0;
    tr_tv rows, n = tr_em_dim(e, tr_chars_raw(e, x), 0);
    if (!tr_chars_rows(e, tr_chars_raw(e, x), &rows))
        return false;
    *out = tr_em_alloc(e, tr_fam_ty(e, TR_TY_I64), 1, TR_LAYOUT_C, &n);
    tr_tv room = tr_em_alloc(e, out->ty->elem, 1, TR_LAYOUT_C, &n);
    tr_em_callrt(e, TR_RT_CHARS_ARGSORT, tr_ty_none(e->types), NULL, 4,
                 (tr_tv[]){how_of(e, tr_chars_is_wide(x.ty), more), rows, *out, room});
    if (ranks)
        *ranks = room;
    return true;
}

bool tr_chars_ranks(tr_em *e, tr_tv x, tr_tv *out) {
    tr_tv order;
    return tr_chars_order(e, x, &order, out);
}

/* --- indices --- */

static bool is_ellipsis(tr_tv x) {
    return x.ty->kind == TR_TY_LIT && x.ty->lit->kind == TR_OBJ_ELLIPSIS;
}

static tr_tv full_slice(tr_em *e) {
    tr_tv none = tr_em_none(e), it[3] = {none, none, none};
    return tr_em_make(e, tr_ty_slice(e->types, none.ty, none.ty, none.ty), 3, it);
}

/* The index of the bytes: an Ellipsis does not reach the items' own axis. *one: it names one item. */
static bool index_of(tr_em *e, tr_tv x, tr_tv i, tr_tv *out, bool *one) {
    bool many = i.ty->kind == TR_TY_TUPLE && !tr_ty_is_list(i.ty), dots = false, whole = true;
    uint32_t n = many ? i.ty->n : 1, axes = 0;
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, n + 1u);
    for (uint32_t k = 0; k < n; k++) {
        it[k] = many ? tr_em_item(e, i, k) : i;
        bool is_dots = is_ellipsis(it[k]), fresh = tr_tv_is_none(it[k]);
        bool mask = tr_lib_is_array(it[k]) && it[k].ty->elem->kind == TR_TY_BOOL;
        axes += is_dots || fresh ? 0 : mask ? it[k].ty->ndim : 1u;
        dots = dots || is_dots;
        whole = whole && tr_lib_is_index(e, it[k]);
    }
    if (axes > tr_chars_ndim(x.ty))
        return tr_em_error(e, "too many indices: the array is %u-dimensional, but %u were indexed",
                           tr_chars_ndim(x.ty), axes);
    *one = whole && axes == tr_chars_ndim(x.ty);
    *out = i;
    if (dots) {
        it[n] = full_slice(e);
        *out = tr_em_tuple(e, n + 1, it);
    }
    return true;
}

bool tr_lib_get_chars(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    bool one;
    tr_tv raw;
    if (!index_of(e, x, i, &i, &one) || !tr_lib_get_array(e, tr_chars_raw(e, x), i, &raw))
        return false;
    *out = one ? tr_chars_item(e, tr_chars_is_wide(x.ty), raw) : tr_chars_of(e, tr_chars_is_wide(x.ty), raw);
    return true;
}

bool tr_lib_set_chars(tr_em *e, tr_tv x, tr_tv i, tr_tv v, bool itself) {
    bool one, wide = tr_chars_is_wide(x.ty);
    tr_tv raw = tr_chars_raw(e, x), place, from;
    v = tr_em_value(e, v);
    if (!tr_chars_is(v.ty) && !tr_chars_is_value(e, v) && !tr_chars_of_sequence(e, v, &v))
        return tr_em_error(e, "cannot store %s in %s", tr_em_tyname(e, v.ty), tr_em_tyname(e, x.ty));
    if (raw.ty->readonly)
        return tr_em_error(e, "cannot assign to a read-only array");
    if (!index_of(e, x, i, &i, &one))
        return false;
    if (one && !tr_chars_is(v.ty))
        return tr_lib_get_array(e, raw, i, &place) && tr_chars_put(e, wide, place, v);
    return tr_chars_fit(e, v, wide, tr_em_dim(e, raw, raw.ty->ndim - 1u), &from) &&
           tr_lib_set_array(e, raw, i, from, itself);
}

bool tr_lib_iter_chars(tr_em *e, tr_tv x) {
    return tr_chars_ndim(x.ty) > 0 || tr_em_error(e, "iteration over a 0-d array");
}

bool tr_lib_count_chars(tr_em *e, tr_tv x, tr_tv *n) {
    if (!tr_chars_ndim(x.ty))
        return tr_em_error(e, "len() of unsized object");
    *n = tr_em_dim(e, tr_chars_raw(e, x), 0);
    return true;
}

bool tr_lib_len_chars(tr_em *e, tr_tv x, tr_tv *n) {
    return tr_lib_count_chars(e, x, n);
}

/* The host's NumPy writes it, which knows that the last axis is an item's. */
bool tr_lib_show_chars(tr_em *e, tr_tv x, bool repr, tr_shown *to) {
    return tr_lib_show_items(e, tr_chars_raw(e, x), repr, tr_chars_is_wide(x.ty) ? "U" : "S", to);
}

bool tr_lib_at_chars(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    bool wide = tr_chars_is_wide(x.ty);
    if (!tr_lib_at_array(e, tr_chars_raw(e, x), i, out))
        return false;
    *out = out->ty->ndim == 1 ? tr_chars_item(e, wide, *out) : tr_chars_of(e, wide, *out);
    return true;
}

/* --- comparison --- */

/* One side as items, of one letter with the other: *out absent, they are of different ones. */
static bool side(tr_em *e, tr_tv x, bool wide, tr_tv *out) {
    *out = (tr_tv){NULL, TR_NOVAL};
    x = tr_em_value(e, x);
    if (tr_chars_is(x.ty)) {
        if (tr_chars_is_wide(x.ty) == wide)
            *out = tr_chars_raw(e, x);
        return true;
    }
    if (wide ? !tr_lib_is_text(x) : x.ty->kind != TR_TY_BYTES)
        return true;
    tr_tv s;
    int how;
    if (!characters(e, x, &s, &how))
        return false;
    tr_tv bytes = tr_em_nsw(e, TR_OP_MUL, tr_em_strlen(e, s), tr_chars_unit(e, wide));
    return tr_chars_fit(e, x, wide, bytes, out);
}

static const int op_of[] = {[TR_CMP_LT] = TR_CHARS_LT, [TR_CMP_LE] = TR_CHARS_LE, [TR_CMP_EQ] = TR_CHARS_EQ,
                            [TR_CMP_NE] = TR_CHARS_NE, [TR_CMP_GT] = TR_CHARS_GT, [TR_CMP_GE] = TR_CHARS_GE};

/* Rows of raw as they stand beside others of that shape. */
static bool beside(tr_em *e, tr_tv raw, uint32_t ndim, const tr_tv *shape, tr_tv *out) {
    tr_tv n[TR_MAX_NDIM + 1], zero = tr_em_i64(e, 0), bytes = tr_em_dim(e, raw, raw.ty->ndim - 1u);
    if (ndim == 1) { /* nothing is copied */
        tr_tv step = zero;
        if (raw.ty->ndim == 2)
            step = tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, tr_em_dim(e, raw, 0), tr_em_i64(e, 1)), zero,
                                tr_em_stride(e, raw, 0));
        *out = lines(e, raw, shape[0], bytes, step);
        return true;
    }
    memcpy(n, shape, ndim * sizeof *n);
    n[ndim] = bytes;
    return tr_em_broadcast(e, raw, ndim + 1, n, &raw) && tr_chars_rows(e, raw, out);
}

/* The shape that both have beside each other: its axes. */
static uint32_t common_shape(tr_em *e, tr_tv x, tr_tv y, tr_tv *shape) {
    tr_tv own[TR_MAX_NDIM];
    uint32_t nx = x.ty->ndim - 1u, ny = y.ty->ndim - 1u, ndim = nx > ny ? nx : ny;
    memset(shape, 0, TR_MAX_NDIM * sizeof *shape);
    for (uint32_t s = 0; s < 2; s++) {
        for (uint32_t k = 0; k < (s ? ny : nx); k++)
            own[k] = tr_em_dim(e, s ? y : x, k);
        tr_lib_merge_sizes(e, s ? ny : nx, own, ndim, shape, TR_EXC_VALUE,
                           "operands could not be broadcast together with shapes ");
    }
    return ndim;
}

static bool compared(tr_em *e, tr_cmpop op, bool wide, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv shape[TR_MAX_NDIM], v[4];
    uint32_t ndim = common_shape(e, x, y, shape);
    *out = tr_em_alloc(e, tr_fam_ty(e, TR_TY_BOOL), ndim, TR_LAYOUT_C, shape);
    tr_tv n = tr_em_size(e, *out);
    v[0] = how_of(e, wide, op_of[op]);
    v[1] = ndim == 1 ? *out
                     : tr_em_restride(e, tr_ty_array(e->types, out->ty->elem, 1, TR_LAYOUT_C, false), *out,
                                      tr_em_i64(e, 0), &n, NULL);
    if (!beside(e, x, ndim, shape, &v[2]) || !beside(e, y, ndim, shape, &v[3]))
        return false;
    tr_em_callrt(e, TR_RT_CHARS_COMPARE, tr_ty_none(e->types), NULL, 4, v);
    if (!ndim)
        *out = tr_em_load(e, *out, NULL);
    return true;
}

/* What is of another letter, or no string, is unequal, as in NumPy. */
static bool unequal(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv v[2] = {x, y}, shape[TR_MAX_NDIM], own[TR_MAX_NDIM];
    uint32_t n[2] = {0, 0};
    memset(shape, 0, sizeof shape);
    for (uint32_t s = 0; s < 2; s++) {
        bool chars = tr_chars_is(v[s].ty);
        v[s] = chars ? tr_chars_raw(e, v[s]) : v[s];
        n[s] = chars ? v[s].ty->ndim - 1u : tr_lib_is_array(v[s]) ? v[s].ty->ndim : 0;
    }
    uint32_t ndim = n[0] > n[1] ? n[0] : n[1];
    for (uint32_t s = 0; s < 2; s++) {
        for (uint32_t k = 0; k < n[s]; k++)
            own[k] = tr_em_dim(e, v[s], k);
        tr_lib_merge_sizes(e, n[s], own, ndim, shape, TR_EXC_VALUE,
                           "operands could not be broadcast together with shapes ");
    }
    *out = tr_em_alloc(e, tr_fam_ty(e, TR_TY_BOOL), ndim, TR_LAYOUT_C, shape);
    return tr_em_fill(e, *out, tr_em_num(e, out->ty->elem, op == TR_CMP_NE ? 1.0 : 0.0));
}

tr_answer tr_lib_compare_chars(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv of = tr_chars_is(x.ty) ? x : y, other = tr_chars_is(x.ty) ? y : x, v[2];
    bool wide = tr_chars_is_wide(of.ty), equality = op == TR_CMP_EQ || op == TR_CMP_NE;
    if (!side(e, x, wide, &v[0]) || !side(e, y, wide, &v[1]))
        return TR_REFUSED;
    if (v[0].ty && v[1].ty)
        return tr_answered(compared(e, op, wide, v[0], v[1], out));
    bool comparable = tr_chars_is(other.ty) || tr_lib_is_array(other) || tr_lib_is_text(other) ||
                      other.ty->kind == TR_TY_BYTES || tr_lib_scalar(e, other.ty) || tr_tv_is_none(other);
    if (!equality || !comparable)
        return TR_OPEN;
    return tr_answered(unequal(e, op, x, y, out));
}

bool tr_lib_contains_chars(tr_em *e, tr_tv x, tr_tv item, tr_tv *out) {
    tr_tv same, any;
    return tr_em_compare(e, TR_CMP_EQ, x, item, &same) && tr_em_getattr(e, same, "any", &any) &&
           e->call(e, any, &(tr_args){0, NULL, 0, NULL}, out);
}

/* --- one behind the other --- */

static bool is_string(tr_tv x) {
    return tr_lib_is_text(x) || x.ty->kind == TR_TY_BYTES;
}

/* The sum's bytes: a string that is empty counts as one character, as in NumPy. */
static tr_tv width_of(tr_em *e, bool wide, tr_tv raw) {
    return tr_chars_enough(e, 0, wide, tr_em_dim(e, raw, raw.ty->ndim - 1u));
}

tr_answer tr_lib_binary_chars(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv shape[TR_MAX_NDIM], v[4], a, b;
    bool wide = tr_chars_is_wide(tr_chars_is(x.ty) ? x.ty : y.ty);
    if (op != TR_BIN_ADD)
        return TR_OPEN;
    tr_tv *other = tr_chars_is(x.ty) ? &y : &x;
    if (!tr_chars_is(other->ty) && !is_string(*other) && !tr_chars_of_sequence(e, *other, other))
        return TR_OPEN;
    if (!side(e, x, wide, &a) || !side(e, y, wide, &b))
        return TR_REFUSED;
    if (!a.ty || !b.ty)
        return TR_OPEN;
    uint32_t ndim = common_shape(e, a, b, shape);
    tr_tv bytes = tr_em_nsw(e, TR_OP_ADD, width_of(e, wide, a), width_of(e, wide, b));
    tr_tv raw = tr_chars_alloc(e, ndim, shape, bytes);
    v[0] = how_of(e, wide, 0);
    v[1] = new_rows(e, raw);
    if (!beside(e, a, ndim, shape, &v[2]) || !beside(e, b, ndim, shape, &v[3]))
        return TR_REFUSED;
    tr_em_callrt(e, TR_RT_CHARS_JOIN, tr_ty_none(e->types), NULL, 4, v);
    *out = ndim ? tr_chars_of(e, wide, raw) : tr_chars_item(e, wide, raw);
    return TR_DONE;
}

/* The array itself changes: what is too long is cut. */
bool tr_lib_inplace_chars(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv sum, raw = tr_chars_raw(e, x);
    if (!tr_em_binary(e, op, x, y, &sum))
        return false;
    if (raw.ty->readonly)
        return tr_em_error(e, "cannot assign to a read-only array");
    if (tr_chars_is(sum.ty) && tr_chars_ndim(sum.ty) > tr_chars_ndim(x.ty))
        return tr_em_error(e, "the sum has %u axes, and the array that it is stored in has %u",
                           tr_chars_ndim(sum.ty), tr_chars_ndim(x.ty));
    *out = x;
    return tr_chars_fit(e, sum, tr_chars_is_wide(x.ty), tr_em_dim(e, raw, raw.ty->ndim - 1u), &sum) &&
           tr_em_assign(e, raw, sum);
}

/* --- dtypes --- */

char tr_chars_dtype(tr_tv x, uint32_t *bytes) {
    const char *s;
    const tr_obj *o = x.ty && x.ty->kind == TR_TY_LIT ? x.ty->lit : NULL;
    uint64_t n = 0;
    *bytes = 0;
    if (o && o->kind == TR_OBJ_TYPE) {
        char letter = tr_chars_letter(o->ty);
        *bytes = letter ? tr_ty_size(o->ty) : 0;
        return letter;
    }
    if (o && o->kind == TR_OBJ_BUILTIN)
        return o->u.builtin == TR_B_STR ? 'U' : o->u.builtin == TR_B_BYTES ? 'S' : 0;
    if (!x.ty || !tr_tv_lit_str(x, &s))
        return 0;
    if (strcmp(s, "str") == 0)
        return 'U';
    s += *s == '<' || *s == '=' || *s == '|';
    char letter = *s;
    if (letter != 'U' && letter != 'S')
        return 0;
    for (s++; *s >= '0' && *s <= '9' && n < 1u << 28; s++)
        n = n * 10 + (uint64_t)(*s - '0');
    *bytes = (uint32_t)n * (letter == 'U' ? 4u : 1u);
    return *s ? 0 : letter;
}
