/* bytearray: a list of uint8 with another face. Its memory, its growth and its loops are a list's; what is
 * read is an int, and what is stored is one of range(0, 256), or bytes. What bytes have, too, is asked of
 * bytes that are made of it, which costs a copy. */
#include <string.h>

#include "lib/fam.h"
#include "lib/families.h"
#include "lib/kinds.h"
#include "lib/priv.h"

static bool is_bytearray(tr_tv x) {
    return x.ty && x.ty->kind == TR_TY_BYTEARRAY;
}

static const tr_ty *i64_of(tr_em *e) {
    return tr_fam_ty(e, TR_TY_I64);
}

static const tr_ty *byte_of(tr_em *e) {
    return tr_fam_ty(e, TR_TY_U8);
}

static tr_tv inside(tr_em *e, tr_tv x) {
    return tr_em_item(e, x, 0);
}

static tr_tv of_list(tr_em *e, tr_tv list) {
    return tr_em_make(e, tr_ty_of(e->types, TR_TY_BYTEARRAY, 0, 1, &list.ty), 1, &list);
}

static bool new_list(tr_em *e, tr_tv n, tr_tv *list, tr_tv *items) {
    return tr_lib_list_of_n(e, byte_of(e), n, list, items);
}

/* A list of an array's bytes. */
static bool list_of_array(tr_em *e, tr_tv a, tr_tv *out) {
    tr_tv items;
    return new_list(e, tr_em_dim(e, a, 0), out, &items) && tr_em_assign(e, items, a);
}

static bool list_of_bytes(tr_em *e, tr_tv x, tr_tv *out) {
    tr_tv s = tr_em_item(e, x, 0), items;
    if (!new_list(e, tr_em_strlen(e, s), out, &items))
        return false;
    tr_tv v[3] = {tr_em_i64(e, TR_CHARS_BYTES), s, items};
    tr_em_callrt(e, TR_RT_CHARS_PUT, tr_fam_ty(e, TR_TY_BOOL), NULL, 3, v);
    return true;
}

/* Bytes that stay what they are. */
static bool bytes_of(tr_em *e, tr_tv x, tr_tv *out) {
    tr_tv items;
    if (!tr_em_items(e, inside(e, x), &items))
        return false;
    tr_tv v[2] = {tr_em_i64(e, TR_CHARS_WHOLE), items};
    *out = tr_lib_bytes_of(e, tr_em_make_string(e, TR_RT_CHARS_GET, 2, v));
    return true;
}

bool tr_lib_bytearray_bytes(tr_em *e, tr_tv x, tr_tv *out) {
    *out = x;
    return !is_bytearray(x) || bytes_of(e, x, out);
}

/* An integer as a byte. */
static bool as_byte(tr_em *e, tr_tv x, tr_tv *out) {
    x = tr_em_value(e, x);
    if (!tr_lib_is_index(e, x) && !(tr_lib_scalar(e, x.ty) && tr_lib_scalar(e, x.ty)->kind == TR_TY_BOOL))
        return tr_em_error(e, "'%s' object cannot be interpreted as an integer", tr_em_tyname(e, x.ty));
    tr_tv n = tr_em_conv(e, x, i64_of(e));
    tr_tv fits = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, n, tr_em_i64(e, 0)),
                            tr_em_cmp(e, TR_CMP_LE, n, tr_em_i64(e, 255)));
    tr_em_check(e, fits, TR_EXC_VALUE, "byte must be in range(0, 256)", 0, NULL);
    *out = tr_em_conv(e, n, byte_of(e));
    return true;
}

static bool call_list(tr_em *e, uint32_t row, tr_tv list, tr_tv x, tr_tv *out) {
    tr_tv a[3] = {list, x, {NULL, TR_NOVAL}};
    return tr_builtins[row].fn(e, &(tr_bcall){.row = (uint16_t)row, .n = x.ty ? 2 : 1, .a = a}, out);
}

static bool each_byte(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    tr_tv none;
    (void)acc, (void)stop;
    return as_byte(e, x, &x) && call_list(e, TR_B_L_APPEND, *(const tr_tv *)user, x, &none);
}

/* A new list of what x gives: bytes, a bytearray, an array of bytes, or integers. */
static bool list_of(tr_em *e, tr_tv x, tr_tv *out) {
    tr_tv items, none[1];
    if (x.ty->kind == TR_TY_BYTES)
        return list_of_bytes(e, x, out);
    if (is_bytearray(x))
        return tr_em_items(e, inside(e, x), &items) && list_of_array(e, items, out);
    if (tr_lib_is_array(x) && x.ty->ndim == 1 && x.ty->elem->kind == TR_TY_U8)
        return list_of_array(e, x, out);
    if (tr_lib_is_text(x))
        return tr_em_error(e, "string argument without an encoding");
    if (!new_list(e, tr_em_i64(e, 0), out, &items))
        return false;
    for (uint32_t k = 0; x.ty->kind == TR_TY_TUPLE && k < x.ty->n; k++)
        if (!each_byte(e, tr_em_item(e, x, k), out, NULL, NULL))
            return false;
    return x.ty->kind == TR_TY_TUPLE ||
           (tr_em_iter(e, x, &x) &&
            tr_em_each(e, x, 0, none, each_byte, tr_arena_copy(&e->ctx->arena, out, sizeof *out)));
}

bool tr_lib_bytearray_of(tr_em *e, tr_tv x, tr_tv *out) {
    tr_tv list, items;
    if (x.ty && tr_lib_is_index(e, x)) {
        tr_tv n = tr_em_conv(e, x, i64_of(e));
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, n, tr_em_i64(e, 0)), TR_EXC_VALUE, "negative count", 0, NULL);
        if (!new_list(e, n, &list, &items) || !tr_em_fill(e, items, tr_em_num(e, byte_of(e), 0.0)))
            return false;
    } else if (x.ty ? !list_of(e, x, &list) : !new_list(e, tr_em_i64(e, 0), &list, &items)) {
        return false;
    }
    *out = of_list(e, list);
    return true;
}

/* --- operators --- */

static bool is_bytes_like(tr_tv x) {
    return is_bytearray(x) || x.ty->kind == TR_TY_BYTES;
}

tr_answer tr_lib_binary_bytearray(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    bool both = is_bytes_like(x) && is_bytes_like(y);
    tr_tv list;
    if (!(op == TR_BIN_ADD && both) && !(op == TR_BIN_MUL && !both))
        return TR_OPEN;
    bool stays = op == TR_BIN_MUL || is_bytearray(x); /* else bytes, as the left one is */
    tr_answer r = TR_REFUSED;
    if (tr_lib_bytearray_bytes(e, x, &x) && tr_lib_bytearray_bytes(e, y, &y))
        r = tr_lib_binary_bytes(e, op, x, y, out);
    if (r == TR_DONE && stays) {
        if (!list_of_bytes(e, *out, &list))
            return TR_REFUSED;
        *out = of_list(e, list);
    }
    return r;
}

/* += adds to it in place. */
bool tr_lib_inplace_bytearray(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    tr_tv more, none;
    if (op != TR_BIN_ADD || !is_bytes_like(y))
        return tr_lib_inplace_binary(e, op, x, y, out);
    *out = x;
    return list_of(e, y, &more) && call_list(e, TR_B_L_EXTEND, inside(e, x), more, &none);
}

tr_answer tr_lib_compare_bytearray(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    if (!tr_lib_bytearray_bytes(e, x, &x) || !tr_lib_bytearray_bytes(e, y, &y))
        return TR_REFUSED;
    return tr_lib_compare_bytes(e, op, x, y, out);
}

bool tr_lib_contains_bytearray(tr_em *e, tr_tv x, tr_tv item, tr_tv *out) {
    return tr_lib_bytearray_bytes(e, x, &x) && tr_lib_bytearray_bytes(e, item, &item) &&
           tr_lib_contains_bytes(e, x, item, out);
}

/* --- as a sequence --- */

static bool no_index(tr_em *e, tr_tv i) {
    return tr_em_error(e, "bytearray indices must be integers or slices, not %s", tr_em_tyname(e, i.ty));
}

bool tr_lib_get_bytearray(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    tr_tv items, list;
    if (!tr_em_items(e, inside(e, x), &items))
        return false;
    if (i.ty->kind == TR_TY_SLICE) {
        if (!tr_lib_get_array(e, items, i, &items) || !list_of_array(e, items, &list))
            return false;
        *out = of_list(e, list);
        return true;
    }
    if (!tr_lib_is_place(e, i))
        return no_index(e, i);
    tr_tv at = tr_lib_checked_index(e, i, tr_em_dim(e, items, 0), 0, "bytearray index out of range");
    *out = tr_em_conv(e, tr_em_load(e, items, &at), i64_of(e));
    return true;
}

/* Python's words where a slice with a step is given another number of bytes. */
static bool fits_slice(tr_em *e, tr_tv x, tr_tv slice, tr_tv list) {
    tr_tv n, b[3], sizes[2], step = tr_em_item(e, slice, 2);
    int64_t by;
    if (tr_tv_is_none(step) || (tr_tv_lit_int(step, &by) && by == 1))
        return true;
    if (!tr_lib_len_list(e, inside(e, x), &n) || !tr_lib_slice_bounds(e, slice, n, &b[0], &b[1], &b[2]) ||
        !tr_lib_len_list(e, list, &sizes[0]))
        return false;
    sizes[1] = b[1];
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, sizes[0], sizes[1]), TR_EXC_VALUE,
                "attempt to assign bytes of size {0} to extended slice of size {1}", 2, sizes);
    return true;
}

bool tr_lib_set_bytearray(tr_em *e, tr_tv x, tr_tv i, tr_tv v, bool itself) {
    tr_tv items, list;
    if (i.ty->kind == TR_TY_SLICE)
        return list_of(e, v, &list) && fits_slice(e, x, i, list) &&
               tr_lib_set_list(e, inside(e, x), i, list, itself);
    if (!tr_lib_is_place(e, i))
        return no_index(e, i);
    if (!as_byte(e, v, &v) || !tr_em_items(e, inside(e, x), &items))
        return false;
    tr_tv at = tr_lib_checked_index(e, i, tr_em_dim(e, items, 0), 0, "bytearray index out of range");
    tr_em_store(e, items, &at, v);
    return true;
}

bool tr_lib_del_bytearray(tr_em *e, tr_tv x, tr_tv i) {
    tr_tv n;
    if (i.ty->kind != TR_TY_SLICE && !tr_lib_is_place(e, i))
        return no_index(e, i);
    if (i.ty->kind != TR_TY_SLICE) {
        if (!tr_lib_len_list(e, inside(e, x), &n))
            return false;
        i = tr_lib_checked_index(e, i, n, 0, "bytearray index out of range");
    }
    return tr_lib_del_list(e, inside(e, x), i);
}

bool tr_lib_next_bytearray(tr_em *e, tr_tv x, tr_tv i, tr_tv go, tr_tv *out) {
    return tr_lib_next_list(e, inside(e, x), i, go, out);
}

bool tr_lib_at_bytearray(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    if (!tr_lib_at_list(e, inside(e, x), i, out))
        return false;
    *out = tr_em_conv(e, *out, i64_of(e));
    return true;
}

bool tr_lib_len_bytearray(tr_em *e, tr_tv x, tr_tv *n) {
    return tr_lib_len_list(e, inside(e, x), n);
}

bool tr_lib_truth_bytearray(tr_em *e, tr_tv x, tr_tv *out) {
    return tr_lib_truth_list(e, inside(e, x), out);
}

bool tr_lib_show_bytearray(tr_em *e, tr_tv x, bool repr, tr_shown *to) {
    tr_lib_show_known(e, to, "bytearray(");
    (void)repr; /* both are one */
    if (!bytes_of(e, x, &x) ||
        !tr_lib_show_string(e, tr_lib_bytes_made(e, TR_BYTES_REPR_ARRAY, tr_em_item(e, x, 0)), false, to))
        return false;
    tr_lib_show_known(e, to, ")");
    return true;
}

/* --- methods --- */

/* What a list does: the row of it. */
bool tr_lib_bytearray_list(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_bcall to = *c;
    tr_tv n;
    to.row = (uint16_t)c->aux;
    to.a = tr_arena_copy(&e->ctx->arena, c->a, c->n * sizeof *c->a);
    to.a[0] = inside(e, c->a[0]);
    if (c->aux == TR_B_L_APPEND && !as_byte(e, c->a[1], &to.a[1]))
        return false;
    if (c->aux == TR_B_L_INSERT && !as_byte(e, c->a[2], &to.a[2]))
        return false;
    if (c->aux == TR_B_L_EXTEND && !list_of(e, c->a[1], &to.a[1]))
        return false;
    if (c->aux == TR_B_L_POP) {
        if (!tr_lib_len_list(e, to.a[0], &n))
            return false;
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GT, n, tr_em_i64(e, 0)), TR_EXC_INDEX, "pop from empty bytearray",
                    0, NULL);
    }
    if (!tr_builtins[c->aux].fn(e, &to, out))
        return false;
    if (c->aux == TR_B_L_POP)
        *out = tr_em_conv(e, *out, i64_of(e));
    return true;
}

bool tr_lib_bytearray_copy(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv list;
    if (!list_of(e, c->a[0], &list))
        return false;
    *out = of_list(e, list);
    return true;
}

bool tr_lib_bytearray_remove(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x, byte, at;
    *out = tr_em_none(e);
    if (!as_byte(e, c->a[1], &byte) || !bytes_of(e, c->a[0], &x) ||
        !tr_lib_bytes_part(e, tr_em_conv(e, byte, i64_of(e)), true, &byte))
        return false;
    at = tr_em_seek(e, TR_STR_FIND, tr_em_item(e, x, 0), byte, tr_em_i64(e, 0), tr_em_i64(e, INT64_MAX));
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, at, tr_em_i64(e, 0)), TR_EXC_VALUE, "value not found in bytearray",
                0, NULL);
    return tr_lib_del_list(e, inside(e, c->a[0]), at);
}

/* What is bytes becomes a bytearray. */
static bool back(tr_em *e, tr_tv r, tr_tv *out) {
    tr_tv list;
    *out = r;
    if (r.ty->kind == TR_TY_BYTES) {
        if (!list_of_bytes(e, r, &list))
            return false;
        *out = of_list(e, list);
    } else if (r.ty->kind == TR_TY_TUPLE) {
        tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, r.ty->n + 1u);
        for (uint32_t k = 0; k < r.ty->n; k++)
            if (!back(e, tr_em_item(e, r, k), &it[k]))
                return false;
        *out = tr_em_tuple(e, r.ty->n, it);
    }
    return true;
}

/* What bytes do: the row of them. */
bool tr_lib_bytearray_method(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_bcall to = *c;
    to.row = (uint16_t)c->aux;
    to.aux = tr_builtins[c->aux].aux;
    to.a = tr_arena_copy(&e->ctx->arena, c->a, c->n * sizeof *c->a);
    for (uint32_t k = 0; k < c->n; k++)
        if (c->a[k].ty && !tr_lib_bytearray_bytes(e, c->a[k], &to.a[k]))
            return false;
    return tr_builtins[c->aux].fn(e, &to, out) && back(e, *out, out);
}
