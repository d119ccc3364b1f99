/* Arrays of nested lists: np.array(l) where the items of l are lists, tuples or arrays, as NumPy makes them.
 *
 * How many axes there are, types say; how long they are, the first item on each level. Loops then go through
 * all levels and store numbers, or copy arrays; an item of another length is NumPy's ValueError.
 * Cost: a walk over the lists. */
#include "lib/fam.h"
#include "lib/kinds.h"
#include "lib/priv.h"

static const tr_ty *content(tr_em *e, const tr_ty *list) {
    return tr_ty_list_item(e->types, list, false);
}

/* The type of the numbers in it; NULL: it is of something else. */
static const tr_ty *elem_of(tr_em *e, const tr_ty *t) {
    if (t->kind == TR_TY_ARRAY)
        return t->elem;
    if (t->kind == TR_TY_LIST)
        return content(e, t) ? elem_of(e, content(e, t)) : tr_fam_ty(e, TR_TY_F64);
    if (t->kind != TR_TY_TUPLE || !t->n)
        return tr_lib_scalar(e, t) ? tr_ty_strong(e->types, tr_lib_scalar(e, t)) : NULL;
    const tr_ty *all = elem_of(e, t->items[0]);
    for (uint32_t i = 1; all && i < t->n; i++) {
        const tr_ty *one = elem_of(e, t->items[i]);
        all = one ? tr_ty_join(e->types, all, one, e->opts->promote_numba) : NULL;
    }
    return all && tr_ty_is_scalar(all) ? all : NULL;
}

/* How many axes it has; -1: its items have different numbers of them. */
static int axes_of(tr_em *e, const tr_ty *t) {
    if (t->kind == TR_TY_ARRAY)
        return t->ndim;
    if (t->kind == TR_TY_LIST) {
        int in = content(e, t) ? axes_of(e, content(e, t)) : 0;
        return in < 0 ? -1 : in + 1;
    }
    int first = t->kind == TR_TY_TUPLE && t->n ? axes_of(e, t->items[0]) : -1;
    for (uint32_t i = 1; first >= 0 && t->kind == TR_TY_TUPLE && i < t->n; i++)
        if (axes_of(e, t->items[i]) != first)
            return -1;
    return t->kind != TR_TY_TUPLE ? 0 : first < 0 ? -1 : first + 1;
}

typedef struct level {
    uint32_t at, ndim; /* of the axis that its items are along */
} level;

static bool measure(tr_em *e, tr_tv x, level l, tr_tv *dims);

static bool measure_first(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    level l = *(const level *)user, in = {0, l.ndim - l.at - 1};
    *stop = tr_em_strong(e, tr_em_bool(e, true));
    return measure(e, x, in, acc);
}

/* The sizes of axes from the level's on, as the first items have them. */
static bool measure(tr_em *e, tr_tv x, level l, tr_tv *dims) {
    if (l.at == l.ndim)
        return true;
    for (uint32_t k = l.at; k < l.ndim; k++)
        dims[k] = tr_em_i64(e, 0);
    if (x.ty->kind == TR_TY_ARRAY) {
        for (uint32_t k = l.at; k < l.ndim; k++)
            dims[k] = tr_em_dim(e, x, k - l.at);
        return true;
    }
    if (x.ty->kind == TR_TY_TUPLE) {
        dims[l.at] = tr_em_i64(e, x.ty->n);
        return measure(e, tr_em_item(e, x, 0), (level){l.at + 1, l.ndim}, dims);
    }
    tr_tv it;
    if (!tr_lib_len_list(e, x, &dims[l.at]))
        return false;
    return !content(e, x.ty) || l.at + 1 == l.ndim ||
           (tr_em_iter(e, x, &it) &&
            tr_em_each(e, it, l.ndim - l.at - 1, &dims[l.at + 1], measure_first, &l));
}

/* What is filled: an array, at these places of its first axes. */
typedef struct filling {
    tr_tv array, *dims;
    const char
        *differs; /* an error of its own where sizes do: of {0} and {1}, of number {2}. NULL: NumPy's */
    tr_tv at[TR_MAX_NDIM];
    uint32_t n;
} filling;

/* The size of axis k, the first that differs. */
static void check_size(tr_em *e, const filling *f, tr_tv size, uint32_t k) {
    tr_tv same = tr_em_cmp(e, TR_CMP_EQ, size, f->dims[k]);
    tr_sb b;
    if (f->differs && k) {
        tr_em_check(e, same, TR_EXC_VALUE, f->differs, 3, (tr_tv[]){f->dims[k], size, f->at[0]});
        return;
    }
    tr_sb_init(&b);
    tr_sb_printf(&b,
                 "setting an array element with a sequence. The requested array has an inhomogeneous shape "
                 "after %u dimensions. The detected shape was (",
                 k);
    for (uint32_t i = 0; i < k; i++)
        tr_sb_printf(&b, "%s{%u}", i ? ", " : "", i);
    tr_sb_printf(&b, "%s) + inhomogeneous part.", k == 1 ? "," : "");
    tr_em_check(e, same, TR_EXC_VALUE, tr_arena_strdup(&e->ctx->arena, b.d), k, f->dims);
    tr_sb_fini(&b);
}

static bool fill(tr_em *e, const filling *f, tr_tv x);

static bool fill_next(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    filling f = *(const filling *)user;
    (void)stop;
    f.at[f.n++] = acc[0];
    if (!fill(e, &f, x))
        return false;
    acc[0] = tr_em_nsw(e, TR_OP_ADD, acc[0], tr_em_i64(e, 1));
    return true;
}

static bool fill_array(tr_em *e, const filling *f, tr_tv x) {
    tr_tv part = f->array;
    for (uint32_t k = 0; k < x.ty->ndim; k++)
        check_size(e, f, tr_em_dim(e, x, k), f->n + k);
    for (uint32_t k = 0; k < f->n; k++)
        part = tr_lib_at_place(e, part, 0, f->at[k], TR_LAYOUT_C);
    return tr_lib_map_into(e, part, x);
}

static bool fill(tr_em *e, const filling *f, tr_tv x) {
    if (x.ty->kind == TR_TY_ARRAY && x.ty->ndim)
        return fill_array(e, f, x);
    if (x.ty->kind == TR_TY_TUPLE) {
        filling in = *f;
        in.n++;
        for (uint32_t i = 0; i < x.ty->n; i++) {
            in.at[f->n] = tr_em_i64(e, i);
            if (!fill(e, &in, tr_em_item(e, x, i)))
                return false;
        }
        return true;
    }
    if (x.ty->kind == TR_TY_LIST) {
        tr_tv n, it, acc[1] = {tr_em_i64(e, 0)};
        if (!tr_lib_len_list(e, x, &n))
            return false;
        if (f->n)
            check_size(e, f, n, f->n);
        return !content(e, x.ty) || (tr_em_iter(e, x, &it) && tr_em_each(e, it, 1, acc, fill_next, f));
    }
    x = x.ty->kind == TR_TY_ARRAY ? tr_em_load(e, x, NULL) : x;
    tr_em_store(e, f->array, f->at, tr_em_conv(e, tr_em_strong(e, x), f->array.ty->elem));
    return true;
}

bool tr_lib_array_of_list(tr_em *e, tr_tv x, const tr_ty *dtype, const char *differs, tr_tv *out) {
    tr_tv dims[TR_MAX_NDIM];
    const tr_ty *elem = elem_of(e, x.ty);
    int ndim = axes_of(e, x.ty);
    if (!elem || ndim > TR_MAX_NDIM)
        return tr_em_unsupported(e, "list-items", "an array of a list of %s",
                                 tr_em_tyname(e, content(e, x.ty)));
    if (ndim < 0)
        return tr_em_error(e, "an array of a list of %s, whose parts have different numbers of dimensions",
                           tr_em_tyname(e, content(e, x.ty)));
    if (!measure(e, x, (level){0, (uint32_t)ndim}, dims))
        return false;
    *out = tr_em_alloc(e, dtype ? dtype : elem, (uint32_t)ndim, TR_LAYOUT_C, dims);
    filling f = {.array = *out, .dims = dims, .differs = differs};
    return fill(e, &f, x);
}

/* --- joined --- */

/* The arrays of a list along an axis that they have. */
typedef struct joining {
    tr_tv array, *dims;
    uint32_t axis;
    const char *fn;
} joining;

/* acc: how many there have been, the sum of sizes, and the sizes of the others. */
static bool join_size(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    const joining *j = user;
    tr_tv first = tr_em_cmp(e, TR_CMP_EQ, acc[0], tr_em_i64(e, 0));
    (void)stop;
    for (uint32_t k = 0; k < x.ty->ndim; k++) {
        tr_tv n = tr_em_dim(e, x, k), same;
        if (k == j->axis) {
            acc[1 + k] = tr_em_op2(e, TR_OP_ADD, acc[1 + k], n);
            continue;
        }
        same = tr_em_op2(e, TR_OP_OR, first, tr_em_cmp(e, TR_CMP_EQ, n, acc[1 + k]));
        tr_em_check(e, same, TR_EXC_VALUE,
                    tr_arena_printf(&e->ctx->arena,
                                    "all the input array dimensions except for the concatenation axis must "
                                    "match exactly, but along dimension %u, the array at index 0 has size "
                                    "{0} and the array at index {2} has size {1}",
                                    k),
                    3, (tr_tv[]){acc[1 + k], n, acc[0]});
        acc[1 + k] = tr_em_select(e, first, n, acc[1 + k]);
    }
    acc[0] = tr_em_nsw(e, TR_OP_ADD, acc[0], tr_em_i64(e, 1));
    return true;
}

static bool join_next(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop) {
    const joining *j = user;
    tr_tv n = tr_em_dim(e, x, j->axis);
    (void)stop;
    if (!tr_lib_map_into(e, tr_fam_part(e, j->array, j->axis, acc[0], n), x))
        return false;
    acc[0] = tr_em_nsw(e, TR_OP_ADD, acc[0], n);
    return true;
}

bool tr_lib_joins_list(tr_em *e, tr_tv x) {
    const tr_ty *item = x.ty->kind == TR_TY_LIST ? content(e, x.ty) : NULL;
    return item && item->kind == TR_TY_ARRAY && item->ndim;
}

bool tr_lib_join_list(tr_em *e, tr_tv x, uint32_t axis, const tr_ty *dtype, tr_tv *out) {
    const tr_ty *item = content(e, x.ty);
    tr_tv acc[1 + TR_MAX_NDIM], it, at[1] = {tr_em_i64(e, 0)};
    joining j = {.axis = axis};
    for (uint32_t k = 0; k <= item->ndim; k++)
        acc[k] = tr_em_i64(e, 0);
    if (!tr_em_iter(e, x, &it) || !tr_em_each(e, it, 1 + item->ndim, acc, join_size, &j))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GT, acc[0], tr_em_i64(e, 0)), TR_EXC_VALUE,
                "need at least one array to concatenate", 0, NULL);
    *out = tr_em_alloc(e, dtype ? dtype : item->elem, item->ndim, TR_LAYOUT_C, acc + 1);
    j.array = *out;
    return tr_em_iter(e, x, &it) && tr_em_each(e, it, 1, at, join_next, &j);
}
