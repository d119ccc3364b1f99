/* NumPy's functions of arrays of fixed-width strings (lib/kind_chars.c): which there are says the table at
 * the end. Items are bytes along an axis of their own, so what moves items is done to these; where two arrays
 * come together they are brought to the wider one's width first, which is known when the program runs. */
#include "lib/chars.h"

#include <assert.h>
#include <string.h>

#include "lib/fam.h"
#include "lib/families.h"
#include "lib/kinds.h"

static const tr_tv absent = {NULL, TR_NOVAL};

static tr_tv i64(tr_em *e, int64_t v) {
    return tr_em_i64(e, v);
}

static bool is_string(tr_tv x) {
    return tr_lib_is_text(x) || x.ty->kind == TR_TY_BYTES;
}

static char letter_of(const tr_ty *chars) {
    return tr_chars_is_wide(chars) ? 'U' : 'S';
}

/* The array's own shape. */
static uint32_t shape_of(tr_em *e, tr_tv x, tr_tv *n) {
    tr_tv raw = tr_chars_raw(e, x);
    for (uint32_t k = 0; k + 1 < raw.ty->ndim; k++)
        n[k] = tr_em_dim(e, raw, k);
    return raw.ty->ndim - 1u;
}

static tr_tv bytes_of(tr_em *e, tr_tv x) {
    tr_tv raw = tr_chars_raw(e, x);
    return tr_em_dim(e, raw, raw.ty->ndim - 1u);
}

static tr_tv size_of(tr_em *e, tr_tv x) {
    tr_tv n[TR_MAX_NDIM], size = i64(e, 1);
    uint32_t ndim = shape_of(e, x, n);
    for (uint32_t k = 0; k < ndim; k++)
        size = tr_em_nsw(e, TR_OP_MUL, size, n[k]);
    return size;
}

static bool not_here(tr_em *e, const tr_bcall *c, const char *what) {
    return tr_em_unsupported(e, "chars-function", "%s() of %s", tr_fam_name(c), what);
}

static bool only(tr_em *e, const tr_bcall *c, uint32_t n) {
    for (uint32_t k = n; k < c->n; k++)
        if (tr_fam_given(c->a[k]))
            return not_here(e, c, "an array of strings, with so many arguments");
    return true;
}

/* --- what is asked of one --- */

static bool own_shape(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv n[TR_MAX_NDIM];
    uint32_t ndim = shape_of(e, c->a[0], n);
    *out = tr_em_tuple(e, ndim, n);
    return true;
}

static bool own_count(tr_em *e, const tr_bcall *c, tr_tv *out) {
    switch (c->aux) {
    case TR_COUNT_NDIM: *out = tr_em_lit(e, tr_obj_int(&e->ctx->arena, tr_chars_ndim(c->a[0].ty))); break;
    case TR_COUNT_ITEMSIZE: *out = bytes_of(e, c->a[0]); break;
    case TR_COUNT_NBYTES: *out = tr_em_size(e, tr_chars_raw(e, c->a[0])); break;
    default: *out = size_of(e, c->a[0]);
    }
    return true;
}

/* A dtype of no width: that is known when the program runs. */
static bool own_dtype(tr_em *e, const tr_bcall *c, tr_tv *out) {
    bool wide = tr_chars_is_wide(c->a[0].ty);
    tr_obj *o = TR_NEW(&e->ctx->arena, tr_obj);
    *o = (tr_obj){.kind = TR_OBJ_TYPE,
                  .ty = tr_ty_opaque(e->types, 0, wide ? "?U" : "?S"),
                  .repr = wide ? "the dtype of an array of str" : "the dtype of an array of bytes"};
    *out = tr_em_lit(e, o);
    return true;
}

static bool own_attr(tr_em *e, const tr_bcall *c, tr_tv *out) {
    uint32_t bytes;
    char letter = tr_chars_dtype(c->a[0], &bytes);
    tr_arena *a = &e->ctx->arena;
    if (c->aux == TR_DT_KIND) {
        *out = tr_em_lit(e, tr_obj_str(a, letter == 'U' ? "U" : "S"));
        return true;
    }
    if (c->aux == TR_DT_ITEMSIZE && bytes) {
        *out = tr_em_lit(e, tr_obj_int(a, bytes));
        return true;
    }
    return not_here(e, c, "a dtype of strings");
}

/* --- copies, conversions --- */

static bool copied(tr_em *e, tr_tv x, tr_tv *out) {
    tr_tv raw = tr_chars_raw(e, x);
    if (!tr_em_copy(e, raw, TR_LAYOUT_C, &raw))
        return false;
    *out = tr_chars_of(e, tr_chars_is_wide(x.ty), raw);
    return true;
}

/* As items of that letter, of so many bytes; 0: of as many characters. */
static bool converted(tr_em *e, tr_tv x, char letter, uint32_t bytes, tr_tv *out) {
    bool wide = letter == 'U';
    tr_tv need, raw;
    if (letter == letter_of(x.ty) && !bytes)
        return copied(e, x, out);
    if (!tr_chars_needs(e, x, wide, &need) ||
        !tr_chars_fit(e, x, wide, tr_chars_enough(e, bytes, wide, need), &raw))
        return false;
    *out = tr_chars_of(e, wide, raw);
    return true;
}

static bool own_copy(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return only(e, c, 1) && copied(e, c->a[0], out);
}

static bool dtype_arg(tr_em *e, const tr_bcall *c, tr_tv x, char *letter, uint32_t *bytes) {
    bool others = x.ty->kind == TR_TY_LIT && x.ty->lit->kind == TR_OBJ_TYPE && x.ty->lit->ty->name &&
                  x.ty->lit->ty->name[0] == '?';
    *letter = others ? 0 : tr_chars_dtype(x, bytes);
    return *letter || not_here(e, c, "strings, and a dtype that is none of strings with a known width");
}

static bool own_astype(tr_em *e, const tr_bcall *c, tr_tv *out) {
    char letter;
    uint32_t bytes;
    if (!tr_chars_is(c->a[0].ty))
        return not_here(e, c, "what is no string, to strings");
    return dtype_arg(e, c, c->a[1], &letter, &bytes) && converted(e, c->a[0], letter, bytes, out);
}

static bool own_asarray(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0], raw, need, dtype = c->aux == 2 ? absent : c->a[1];
    uint32_t bytes = 0;
    char letter = tr_chars_is(x.ty) ? letter_of(x.ty) : tr_chars_letter_in(e, x);
    bool same = tr_chars_is(x.ty) && !tr_fam_given(dtype) && c->aux != 1 && c->aux != 2;
    if (!letter)
        return not_here(e, c, "what is neither strings nor a flat sequence of such");
    if (tr_fam_given(dtype) && !dtype_arg(e, c, dtype, &letter, &bytes))
        return false;
    if (same && (c->aux == 0 || x.ty->items[0]->layout == TR_LAYOUT_C)) {
        *out = x;
        return true;
    }
    if (tr_chars_is(x.ty))
        return converted(e, x, letter, bytes, out);
    if (!is_string(x))
        return tr_chars_made_of(e, x, letter, bytes, out);
    bool wide = letter == 'U';
    if (!tr_chars_needs(e, x, wide, &need) ||
        !tr_chars_fit(e, x, wide, tr_chars_enough(e, bytes, wide, need), &raw))
        return false;
    *out = tr_chars_of(e, wide, raw);
    return true;
}

/* --- new ones --- */

static bool filled(tr_em *e, const tr_bcall *c, bool wide, tr_tv value, uint32_t ndim, const tr_tv *n,
                   tr_tv bytes, tr_tv *out) {
    tr_tv raw = tr_chars_alloc(e, ndim, n, bytes), item;
    *out = tr_chars_of(e, wide, raw);
    if (c->aux == TR_FILL_VALUE)
        return tr_chars_fit(e, value, wide, bytes, &item) && tr_em_assign(e, raw, item);
    return tr_em_fill(e, raw, tr_em_num(e, raw.ty->elem, 0.0)); /* np.empty's may be anything: characters */
}

/* aux: how to fill. Parameters: shape, [fill_value,] dtype, order. */
static bool own_new(tr_em *e, const tr_bcall *c, tr_tv *out) {
    bool full = c->aux == TR_FILL_VALUE;
    tr_tv value = full ? c->a[1] : absent, dtype = c->a[full ? 2 : 1], n[TR_MAX_NDIM], need = i64(e, 0);
    uint32_t ndim, bytes = 0;
    char letter = full && is_string(value) ? tr_chars_letter_in(e, value) : 0;
    if (c->aux == TR_FILL_ONE || (full && !is_string(value)))
        return not_here(e, c, "strings");
    if (tr_fam_given(dtype) && !dtype_arg(e, c, dtype, &letter, &bytes))
        return false;
    if (full && !tr_chars_needs(e, value, letter == 'U', &need))
        return false;
    return tr_fam_extents(e, c, c->a[0], n, &ndim) &&
           filled(e, c, letter == 'U', value, ndim, n, tr_chars_enough(e, bytes, letter == 'U', need), out);
}

/* Parameters: prototype, [fill_value,] dtype, order, shape. */
static bool own_like(tr_em *e, const tr_bcall *c, tr_tv *out) {
    bool full = c->aux == TR_FILL_VALUE;
    uint32_t k = full ? 2 : 1, bytes = 0, ndim;
    tr_tv x = c->a[0], n[TR_MAX_NDIM], value = full ? c->a[1] : absent;
    if (!tr_chars_is(x.ty) || c->aux == TR_FILL_ONE || (full && !is_string(value)))
        return not_here(e, c, "strings");
    char letter = letter_of(x.ty);
    if (tr_fam_given(c->a[k]) && !dtype_arg(e, c, c->a[k], &letter, &bytes))
        return false;
    ndim = shape_of(e, x, n);
    if (tr_fam_given(c->a[k + 2]) && !tr_fam_extents(e, c, c->a[k + 2], n, &ndim))
        return false;
    return filled(e, c, letter == 'U', value, ndim, n, bytes ? i64(e, bytes) : bytes_of(e, x), out);
}

static bool own_fill(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv raw = tr_chars_raw(e, c->a[0]), item;
    *out = tr_em_none(e);
    if (raw.ty->readonly)
        return tr_em_error(e, "cannot assign to a read-only array");
    if (!is_string(c->a[1]))
        return not_here(e, c, "strings, by what is none");
    return tr_chars_fit(e, c->a[1], tr_chars_is_wide(c->a[0].ty), bytes_of(e, c->a[0]), &item) &&
           tr_em_assign(e, raw, item);
}

/* --- shapes --- */

/* The call on the bytes, whose shape has the items' axis at its end. */
static bool on_bytes(tr_em *e, const tr_bcall *c, uint32_t row, uint32_t n, tr_tv *a, tr_tv *out) {
    tr_bcall b = {.row = (uint16_t)row, .aux = tr_builtins[row].aux, .n = n, .a = a};
    if (!tr_lib_call_bound(e, &b, out))
        return false;
    *out = tr_chars_of(e, tr_chars_is_wide(c->a[0].ty), *out);
    return true;
}

static bool own_reshape(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv n[TR_MAX_NDIM], size = i64(e, 1), all = size_of(e, c->a[0]);
    uint32_t ndim = 0, open = UINT32_MAX;
    tr_tv given = c->aux ? c->a[1] : c->nvar == 1 ? c->var[0] : absent;
    if (tr_fam_given(c->a[2]))
        return not_here(e, c, "an array of strings, in an order");
    if (given.ty ? !tr_fam_list(e, c, given, n, &ndim) : c->nvar == 0 || c->nvar >= TR_MAX_NDIM)
        return tr_em_error(e, "reshape() needs a shape");
    for (; !given.ty && ndim < c->nvar; ndim++)
        if (!tr_fam_int(e, c, c->var[ndim], "a shape", &n[ndim]))
            return false;
    for (uint32_t k = 0; k < ndim; k++) {
        int64_t v;
        if (tr_tv_lit_int(given.ty ? (given.ty->kind == TR_TY_TUPLE ? tr_em_item(e, given, k) : given)
                                   : c->var[k],
                          &v) &&
            v == -1 && open == UINT32_MAX)
            open = k;
        else
            size = tr_em_nsw(e, TR_OP_MUL, size, n[k]);
    }
    if (open != UINT32_MAX) {
        tr_tv some = tr_em_cmp(e, TR_CMP_GT, size, i64(e, 0));
        n[open] = tr_em_op2(e, TR_OP_FLOORDIV, all, tr_em_select(e, some, size, i64(e, 1)));
        size = tr_em_nsw(e, TR_OP_MUL, size, n[open]);
    }
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, size, all), TR_EXC_VALUE,
                "cannot reshape array of size {0} into a shape of {1} items", 2, (tr_tv[]){all, size});
    if (ndim + 1 >= TR_MAX_NDIM)
        return tr_em_error(e, "more than %d dimensions", TR_MAX_NDIM);
    n[ndim++] = bytes_of(e, c->a[0]);
    tr_tv a[3] = {tr_chars_raw(e, c->a[0]), tr_em_tuple(e, ndim, n), absent};
    return on_bytes(e, c, TR_B_NP_RESHAPE, 3, a, out);
}

/* aux 1: flatten, which copies. */
static bool own_ravel(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0];
    if (!tr_chars_is(x.ty))
        return tr_chars_of_sequence(e, x, out);
    tr_tv n[2] = {size_of(e, x), bytes_of(e, x)}, raw = tr_chars_raw(e, x);
    if (!only(e, c, 1) || (c->aux && !tr_em_copy(e, raw, TR_LAYOUT_C, &raw)))
        return false;
    tr_tv a[3] = {raw, tr_em_tuple(e, 2, n), absent};
    return on_bytes(e, c, TR_B_NP_RESHAPE, 3, a, out);
}

static bool own_transpose(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv raw = tr_chars_raw(e, c->a[0]), axes[TR_MAX_NDIM];
    uint32_t ndim = raw.ty->ndim - 1u;
    if (c->nvar || !only(e, c, 1))
        return not_here(e, c, "an array of strings, by axes");
    for (uint32_t k = 0; k <= ndim; k++)
        axes[k] = tr_em_lit(e, tr_obj_int(&e->ctx->arena, k < ndim ? ndim - 1 - k : k));
    tr_tv a[2] = {raw, tr_em_tuple(e, ndim + 1, axes)};
    return on_bytes(e, c, TR_B_NP_TRANSPOSE, 2, a, out);
}

/* Of one axis: by places, or by truth. */
static bool own_take(tr_em *e, const tr_bcall *c, tr_tv *out) {
    if (!only(e, c, 2) || tr_chars_ndim(c->a[0].ty) != 1)
        return not_here(e, c, "strings, along an axis");
    return tr_em_getitem(e, c->a[0], c->a[1], out);
}

/* --- several --- */

static bool own_concatenate(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0], bytes = absent, need;
    uint32_t axis = 0, n = x.ty->kind == TR_TY_TUPLE ? x.ty->n : 0;
    bool wide = false;
    if (!n || tr_fam_given(c->a[2]))
        return not_here(e, c, "what is no tuple of arrays of strings");
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, n);
    for (uint32_t k = 0; k < n; k++) {
        it[k] = tr_em_item(e, x, k);
        if (!tr_chars_is(it[k].ty))
            return not_here(e, c, "arrays of which some are no strings");
        wide = wide || tr_chars_is_wide(it[k].ty);
    }
    for (uint32_t k = 0; k < n; k++) {
        if (!tr_chars_needs(e, it[k], wide, &need))
            return false;
        bytes = bytes.ty ? tr_em_op2(e, TR_OP_MAX, bytes, need) : need;
    }
    for (uint32_t k = 0; k < n; k++)
        if (!tr_chars_fit(e, it[k], wide, bytes, &it[k]))
            return false;
    if (c->a[1].ty && !tr_fam_axis(e, c, it[0].ty->ndim - 1u, c->a[1], &axis))
        return false;
    tr_tv a[3] = {tr_em_tuple(e, n, it), tr_em_lit(e, tr_obj_int(&e->ctx->arena, axis)), absent};
    tr_bcall b = {.row = TR_B_NP_CONCATENATE, .n = 3, .a = a};
    if (!tr_lib_call_bound(e, &b, out))
        return false;
    *out = tr_chars_of(e, wide, *out);
    return true;
}

static bool own_where(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv cond = c->a[0], bytes = absent, need, v[3];
    bool wide = false;
    if (!tr_lib_is_array(cond) || !c->a[1].ty || !c->a[2].ty)
        return not_here(e, c, "strings, by what is no array");
    for (uint32_t k = 1; k < 3; k++)
        wide = wide || (tr_chars_is(c->a[k].ty) ? tr_chars_is_wide(c->a[k].ty) : tr_lib_is_text(c->a[k]));
    for (uint32_t k = 1; k < 3; k++) {
        if (!tr_chars_needs(e, c->a[k], wide, &need))
            return false;
        bytes = bytes.ty ? tr_em_op2(e, TR_OP_MAX, bytes, need) : tr_chars_enough(e, 0, wide, need);
    }
    for (uint32_t k = 1; k < 3; k++)
        if (!tr_chars_fit(e, c->a[k], wide, bytes, &v[k]))
            return false;
    v[0] = tr_lib_expand_at(e, cond, cond.ty->ndim, cond.ty->ndim + 1u);
    tr_axes x = {0};
    for (uint32_t k = 0; k < cond.ty->ndim; k++)
        tr_axes_own(e, &x, cond, k);
    tr_axes_new(e, &x, i64(e, 1));
    v[0] = tr_em_view(
        e, tr_ty_array(e->types, cond.ty->elem, cond.ty->ndim + 1u, TR_LAYOUT_ANY, cond.ty->readonly), cond,
        &x);
    tr_bcall b = {.row = TR_B_NP_WHERE, .aux = tr_builtins[TR_B_NP_WHERE].aux, .n = 3, .a = v};
    if (!tr_lib_call_bound(e, &b, out))
        return false;
    *out = tr_chars_of(e, wide, *out);
    return true;
}

static bool own_compare(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return only(e, c, 2) && tr_em_compare(e, (tr_cmpop)c->aux, c->a[0], c->a[1], out);
}

/* Of operators there is `+`. */
static bool own_op(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return only(e, c, 2) && (c->aux != TR_BIN_ADD ? not_here(e, c, "an array of strings")
                                                  : tr_em_binary(e, TR_BIN_ADD, c->a[0], c->a[1], out));
}

/* --- order --- */

static bool sorts_here(tr_em *e, const tr_bcall *c) {
    uint32_t axis;
    if (tr_chars_ndim(c->a[0].ty) != 1 || (c->a[1].ty && tr_tv_is_none(c->a[1])) || tr_fam_given(c->a[3]))
        return not_here(e, c, "an array of strings that has not one axis");
    return !c->a[1].ty || tr_fam_axis(e, c, 1, c->a[1], &axis);
}

static bool own_argsort(tr_em *e, const tr_bcall *c, tr_tv *out) {
    return sorts_here(e, c) && tr_chars_order(e, c->a[0], out, NULL);
}

static bool own_sort(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv order;
    return sorts_here(e, c) && tr_chars_order(e, c->a[0], &order, NULL) &&
           tr_em_getitem(e, c->a[0], order, out);
}

static bool own_sort_in_place(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv sorted, raw = tr_chars_raw(e, c->a[0]);
    if (raw.ty->readonly)
        return tr_em_error(e, "cannot assign to a read-only array");
    if (!own_sort(e, c, &sorted))
        return false;
    *out = tr_em_none(e);
    return tr_em_assign(e, raw, tr_chars_raw(e, sorted));
}

/* --- who is asked --- */

typedef bool (*handler)(tr_em *e, const tr_bcall *c, tr_tv *out);

static handler handler_of(tr_bfn fn) {
    static const struct {
        tr_bfn fn;
        handler by;
    } rows[] = {{tr_lib_arr_shape, own_shape},
                {tr_lib_arr_count, own_count},
                {tr_lib_val_dtype, own_dtype},
                {tr_lib_dtype_attr, own_attr},
                {tr_lib_np_copy, own_copy},
                {tr_lib_np_astype, own_astype},
                {tr_lib_np_asarray, own_asarray},
                {tr_lib_np_new, own_new},
                {tr_lib_np_like, own_like},
                {tr_lib_arr_fill, own_fill},
                {tr_lib_arr_reshape, own_reshape},
                {tr_lib_arr_ravel, own_ravel},
                {tr_lib_arr_transpose, own_transpose},
                {tr_lib_np_take, own_take},
                {tr_lib_np_concatenate, own_concatenate},
                {tr_lib_np_where, own_where},
                {tr_lib_uf_compare, own_compare},
                {tr_lib_uf_op, own_op},
                {tr_lib_np_argsort, own_argsort},
                {tr_lib_np_sort, own_sort},
                {tr_lib_arr_sort, own_sort_in_place}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].fn == fn)
            return rows[i].by;
    return NULL;
}

static bool has_chars(const tr_ty *t) {
    bool any = tr_chars_is(t);
    for (uint32_t k = 0; t && t->kind == TR_TY_TUPLE && !any && k < t->n; k++)
        any = has_chars(t->items[k]);
    return any;
}

/* It makes an array, and is given strings to make it of. */
static bool makes_of_strings(tr_em *e, const tr_bcall *c) {
    tr_bfn fn = tr_builtins[c->row].fn;
    if (fn == tr_lib_np_asarray || (fn == tr_lib_arr_ravel && !is_string(c->a[0])))
        return c->a[0].ty && tr_chars_letter_in(e, c->a[0]);
    bool full = (fn == tr_lib_np_new || fn == tr_lib_np_like) && c->aux == TR_FILL_VALUE;
    if (full || (fn == tr_lib_np_where && c->a[1].ty && c->a[2].ty))
        return is_string(c->a[1]) && (full || is_string(c->a[2]));
    return false;
}

/* NumPy's function, or what arrays and dtypes have. */
static bool is_numpys(const tr_builtin *b) {
    return b->kind == TR_B_FUNC ? strncmp(b->path, "numpy.", 6) == 0
                                : strcmp(b->path, "array") == 0 || strcmp(b->path, "dtype") == 0;
}

bool tr_lib_chars_call(tr_em *e, const tr_bcall *c, tr_tv dtype, tr_tv *out, bool *mine) {
    const tr_builtin *b = &tr_builtins[c->row];
    uint32_t bytes;
    bool of = is_numpys(b) && tr_chars_dtype(dtype, &bytes);
    *mine = false;
    if (b->fn == tr_lib_dtype_attr)
        of = tr_chars_dtype(c->a[0], &bytes);
    for (uint32_t i = 0; i < c->n && !of; i++)
        of = has_chars(c->a[i].ty);
    for (uint32_t i = 0; i < c->nvar && !of; i++)
        of = has_chars(c->var[i].ty);
    if (!of && !makes_of_strings(e, c))
        return true;
    handler by = handler_of(b->fn);
    *mine = by || is_numpys(b);
    if (!*mine)
        return true;
    return by ? by(e, c, out) : not_here(e, c, "an array of strings");
}
