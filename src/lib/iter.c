/* Iteration: what `for`, next() and unpacking ask of an iterable, and ranges. An iterable says how many
 * items it gives, or that it has to be asked; a step says whether there is one more, and where. Most
 * are sequences, with a length and an item at a position: a loop's only state is then its counter. What
 * has no length is in kind_iterator.c. */
#include "lib/kinds.h"

#include <assert.h>

#include "lib/priv.h"
#include "lib/table.h"

static tr_tv one(tr_em *e) {
    return tr_em_i64(e, 1);
}
static tr_tv zero(tr_em *e) {
    return tr_em_i64(e, 0);
}

bool tr_lib_iter_any(tr_em *e, tr_tv x) {
    (void)e, (void)x;
    return true;
}

/* What goes forward only: reversed() asks. */
bool tr_lib_iter_forward(tr_em *e, tr_tv x) {
    return tr_lib_iter_any(e, x);
}

/* What is used up by being asked, as Python's iterators are. */
bool tr_lib_iter_once(tr_em *e, tr_tv x) {
    return tr_lib_iter_any(e, x);
}

bool tr_lib_is_once(tr_tv x) {
    return tr_lib_kind(x.ty)->iter == tr_lib_iter_once &&
           !(x.ty->kind == TR_TY_ZIP && x.ty->sub == TR_ZIP_WALK);
}

bool tr_lib_is_forward(tr_tv x) {
    return tr_lib_kind(x.ty)->iter == tr_lib_iter_forward || tr_lib_is_once(x);
}

bool tr_lib_iter_array(tr_em *e, tr_tv x) {
    return x.ty->ndim > 0 || tr_em_error(e, "iteration over a 0-d array");
}

/* --- what sets and dicts are gone through as (kind_set.c) --- */

tr_tv tr_table_plain(tr_em *e, tr_tv x) {
    return x.ty->kind == TR_TY_FACED || x.ty->kind == TR_TY_FROZEN ? tr_em_item(e, x, 0) : x;
}

tr_tv tr_table_set(tr_em *e, tr_tv x) {
    while (x.ty->kind != TR_TY_SET)
        x = tr_em_item(e, x, 0);
    return x;
}

tr_tv tr_table_live(tr_em *e, tr_tv x) {
    return tr_lib_emit(e, TR_OP_LIVE, zero(e).ty, 1, &(tr_val){tr_table_set(e, x).v});
}

static tr_tv walk_of(tr_em *e, tr_tv x, tr_tv n) {
    tr_tv it[2] = {x, n};
    return tr_em_make(e, tr_ty_of(e->types, TR_TY_WALK, 0, 2, (const tr_ty *[]){x.ty, n.ty}), 2, it);
}

tr_tv tr_table_walk(tr_em *e, tr_tv x) {
    return walk_of(e, x, tr_table_live(e, x));
}

bool tr_em_iter(tr_em *e, tr_tv x, tr_tv *out) {
    if (tr_lib_is_text(x))
        return tr_em_string(e, x, out);
    x = tr_table_plain(e, x);
    if (x.ty->kind == TR_TY_LIT && x.ty->lit->kind == TR_OBJ_MODULE && x.ty->lit->u.m.members)
        x = tr_em_obj(e, x.ty->lit->u.m.members); /* an enum */
    if (x.ty->kind == TR_TY_DEQUE) {
        tr_tv changes = tr_em_i64(e, TR_DEQUE_CHANGES); /* how often items came or went before */
        *out = walk_of(e, x, tr_em_load(e, tr_em_item(e, x, 1), &changes));
        return true;
    }
    bool table = x.ty->kind == TR_TY_SET || x.ty->kind == TR_TY_DICT || x.ty->kind == TR_TY_DICTVIEW;
    *out = table ? tr_table_walk(e, x) : x;
    return tr_lib_kind(x.ty)->iter(e, x);
}

bool tr_em_iterlen(tr_em *e, tr_tv it, tr_tv *n) {
    assert(tr_em_is_whole(e, it) && "what is gone through is a value");
    bool ok = tr_lib_kind(it.ty)->count(e, it, n);
    assert((!ok || tr_tv_is_none(*n) || tr_em_are_i64(e, 1, n)) && "a number of items, or None: it is asked");
    return ok;
}

bool tr_em_iterget(tr_em *e, tr_tv it, tr_tv place, tr_tv *out) {
    assert(tr_em_is_whole(e, it) && tr_em_is_whole(e, place) && "an item is at a place");
    return tr_lib_kind(it.ty)->at(e, it, place, out);
}

bool tr_em_iternth(tr_em *e, tr_tv it, uint32_t k, tr_tv *out) {
    const tr_ty *t = it.ty;
    tr_tv x, n, pair[2];
    int64_t len;
    switch (t->kind) {
    case TR_TY_TUPLE:
        assert(k < t->n && "an item of the tuple");
        *out = tr_em_item(e, it, k);
        return true;
    case TR_TY_KEYED: *out = tr_em_item(e, tr_em_item(e, it, 0), k); return true;
    case TR_TY_REVERSED:
        x = tr_em_item(e, it, 0);
        return tr_em_iterlen(e, x, &n) && tr_tv_lit_int(n, &len) &&
               tr_em_iternth(e, x, (uint32_t)len - 1 - k, out);
    case TR_TY_ENUMERATE:
        pair[0] = tr_em_op2(e, TR_OP_ADD, tr_em_item(e, it, 0), tr_em_i64(e, k));
        if (!tr_em_iternth(e, tr_em_item(e, it, 1), k, &pair[1]))
            return false;
        *out = tr_em_tuple(e, 2, pair);
        return true;
    case TR_TY_ZIP: {
        tr_tv *parts = TR_NEW_N(&e->ctx->arena, tr_tv, t->n + 1u);
        for (uint32_t i = 0; i < t->n; i++)
            if (!tr_em_iternth(e, tr_em_item(e, it, i), k, &parts[i]))
                return false;
        *out = tr_em_tuple(e, t->n, parts);
        return true;
    }
    default: return tr_em_iterget(e, it, tr_em_i64(e, k), out);
    }
}

tr_tv tr_lib_step(tr_em *e, tr_tv more, tr_tv place, tr_tv i) {
    assert(tr_em_same_ir(e, more.ty, tr_ty_scalar(e->types, TR_TY_BOOL)) && tr_em_are_i64(e, 1, &i) &&
           "whether there is one more, and how many were asked for");
    tr_tv it[3] = {more, place, i};
    return tr_em_make(e, tr_ty_of(e->types, TR_TY_STEP, 0, 3, (const tr_ty *[]){more.ty, place.ty, i.ty}), 3,
                      it);
}

bool tr_lib_next(tr_em *e, tr_tv it, tr_tv n, tr_tv i, tr_tv go, tr_tv *out) {
    assert(tr_em_are_i64(e, 1, &i) && (!go.ty || tr_em_is_whole(e, go)) && "a counter, maybe a condition");
    int64_t len;
    if (tr_tv_is_none(n))
        return tr_lib_kind(it.ty)->next(e, it, i, go, out);
    tr_tv more;
    if (tr_tv_lit_int(n, &len) && len == 0)
        more = tr_em_lit(e, tr_obj_bool(&e->ctx->arena, false)); /* the loop over () has no body to type */
    else
        more = tr_em_cmp(e, TR_CMP_LT, i, tr_em_strong(e, n));
    if (go.ty)
        more = tr_em_op2(e, TR_OP_AND, go, tr_em_strong(e, more));
    *out = tr_lib_step(e, more, i, i);
    return true;
}

bool tr_em_next(tr_em *e, tr_tv it, tr_tv n, tr_tv i, tr_tv *step) {
    return tr_lib_next(e, it, n, i, (tr_tv){NULL, TR_NOVAL}, step);
}

bool tr_lib_truth_step(tr_em *e, tr_tv x, tr_tv *out) {
    assert(x.ty->kind == TR_TY_STEP && x.ty->n == 3 && "a step says more, place and count");
    *out = tr_em_item(e, x, TR_STEP_MORE);
    return true;
}

/* The length of what is asked within a loop: the rounds of a prange are in order there. */
bool tr_lib_serial_len(tr_em *e, tr_tv it, tr_tv *n) {
    const tr_opts *given = e->opts;
    tr_opts serial = *given;
    serial.parallel = false;
    e->opts = &serial;
    bool ok = tr_em_iterlen(e, it, n);
    e->opts = given;
    return ok;
}

/* Whether it says how many there are. */
static bool is_counted(tr_em *e, tr_tv it) {
    tr_em probe = *e;
    probe.dry = true;
    tr_tv n;
    return tr_em_iterlen(&probe, (tr_tv){it.ty, TR_NOVAL}, &n) && !tr_tv_is_none(n);
}

/* --- ranges --- */

static bool is_const(const tr_em *e, tr_tv x, int64_t *v) {
    if (tr_tv_lit_int(x, v))
        return true;
    const tr_ins *d = e->dry ? NULL : tr_at(e->b.fn, x.v);
    if (!d || d->op != TR_OP_CONST)
        return false;
    *v = d->imm.i;
    return true;
}

/* Its type says so, wherever it comes from. */
static bool steps_by_one(tr_tv r) {
    return r.ty->sub & TR_RANGE_STEP1;
}

/* A range from a known number >= 0 upwards, or down to one >= -1, spans 2**63 at most: no offset from its
 * start wraps. */
static bool is_narrow(tr_em *e, tr_tv r) {
    assert(r.ty->kind == TR_TY_RANGE && r.ty->n == 3 && "a range has start, stop and step");
    int64_t step = 1, from;
    if (!steps_by_one(r) && (!is_const(e, tr_em_item(e, r, 2), &step) || step == 0))
        return false;
    return is_const(e, tr_em_item(e, r, step > 0 ? 0 : 1), &from) && from >= (step > 0 ? 0 : -1);
}

/* Number of items modulo 2**64 of a range that has some. Unsigned quotients, so that the largest spans are
 * right. */
static tr_tv range_count(tr_em *e, tr_tv r) {
    tr_tv start = tr_em_item(e, r, 0), stop = tr_em_item(e, r, 1), step = tr_em_item(e, r, 2);
    int64_t k;
    if (steps_by_one(r))
        return tr_em_op2(e, TR_OP_SUB, stop, start);
    if (is_const(e, step, &k) && k == -1)
        return tr_em_op2(e, TR_OP_SUB, start, stop);
    const tr_ty *u64 = tr_ty_scalar(e->types, TR_TY_U64), *i64 = zero(e).ty;
    tr_tv up = tr_em_cmp(e, TR_CMP_GT, step, zero(e));
    tr_tv d = tr_em_select(e, up, tr_em_op2(e, TR_OP_SUB, stop, start), tr_em_op2(e, TR_OP_SUB, start, stop));
    tr_tv mag = tr_em_select(e, up, step, tr_em_op1(e, TR_OP_NEG, step));
    tr_tv q = tr_em_op2(e, TR_OP_QUOT, tr_em_conv(e, tr_em_op2(e, TR_OP_SUB, d, one(e)), u64),
                        tr_em_conv(e, mag, u64));
    return tr_em_op2(e, TR_OP_ADD, tr_em_conv(e, q, i64), one(e));
}

/* Whether the count of items may be 2**63 or more. */
static bool may_be_huge(tr_em *e, tr_tv r) {
    int64_t step = 1, stop;
    if (is_narrow(e, r)) /* from 2**63 - 1 down to 0 there are 2**63 */
        return is_const(e, tr_em_item(e, r, 2), &step) && step == -1 &&
               is_const(e, tr_em_item(e, r, 1), &stop) && stop == -1;
    return steps_by_one(r) || !is_const(e, tr_em_item(e, r, 2), &step) || (step > -3 && step < 3);
}

tr_tv tr_lib_range_len(tr_em *e, tr_tv start, tr_tv stop, tr_tv step) {
    assert(tr_em_are_i64(e, 3, (tr_tv[]){start, stop, step}) && "ends and step are int64");
    return tr_lib_emit(e, TR_OP_RANGELEN, zero(e).ty, 3, (tr_val[]){start.v, stop.v, step.v});
}

static tr_tv range_len(tr_em *e, tr_tv r) {
    tr_tv start = tr_em_item(e, r, 0), stop = tr_em_item(e, r, 1);
    int64_t from;
    if (steps_by_one(r) && is_const(e, start, &from) && from == 0)
        return tr_em_op2(e, TR_OP_MAX, stop, start);
    return tr_lib_range_len(e, start, stop, steps_by_one(r) ? one(e) : tr_em_item(e, r, 2));
}

bool tr_lib_range_size(tr_em *e, tr_tv r, tr_tv *n) {
    *n = range_len(e, r);
    if (may_be_huge(e, r)) {
        tr_tv none = tr_em_cmp(e, TR_CMP_EQ, *n, zero(e));
        tr_tv fits = tr_em_cmp(e, TR_CMP_GE, range_count(e, r), zero(e));
        tr_em_check(e, tr_em_op2(e, TR_OP_OR, none, fits), TR_EXC_OVERFLOW,
                    "Python int too large to convert to C ssize_t", 0, NULL);
    }
    return true;
}

/* Whether it is one of the items, without looking at them. */
bool tr_lib_contains_range(tr_em *e, tr_tv r, tr_tv x, tr_tv *out) {
    const tr_ty *s = tr_lib_scalar(e, x.ty), *u64 = tr_ty_scalar(e->types, TR_TY_U64), *i64 = zero(e).ty;
    if (!s || !(tr_ty_is_int(s) || s->kind == TR_TY_BOOL) || s->kind == TR_TY_U64 ||
        r.ty->elem->kind != TR_TY_I64)
        return tr_lib_contains_no(e, r, x, out);
    x = tr_em_conv(e, x, i64);
    tr_tv start = tr_em_item(e, r, 0), stop = tr_em_item(e, r, 1), step = tr_em_item(e, r, 2);
    tr_tv in = tr_em_op2(e, TR_OP_AND, tr_em_cmp(e, TR_CMP_LE, start, x), tr_em_cmp(e, TR_CMP_LT, x, stop));
    *out = in;
    if (steps_by_one(r))
        return true;
    tr_tv up = tr_em_cmp(e, TR_CMP_GT, step, zero(e));
    tr_tv back = tr_em_op2(e, TR_OP_AND, tr_em_cmp(e, TR_CMP_GE, start, x), tr_em_cmp(e, TR_CMP_GT, x, stop));
    tr_tv d = tr_em_select(e, up, tr_em_op2(e, TR_OP_SUB, x, start), tr_em_op2(e, TR_OP_SUB, start, x));
    tr_tv mag = tr_em_select(e, up, step, tr_em_op1(e, TR_OP_NEG, step));
    tr_tv rest = tr_em_op2(e, TR_OP_REM, tr_em_conv(e, d, u64), tr_em_conv(e, mag, u64));
    *out = tr_em_op2(e, TR_OP_AND, tr_em_select(e, up, in, back),
                     tr_em_cmp(e, TR_CMP_EQ, tr_em_conv(e, rest, i64), zero(e)));
    return true;
}

bool tr_lib_len_range(tr_em *e, tr_tv r, tr_tv *n) {
    return tr_lib_range_size(e, r, n);
}

bool tr_lib_count_range(tr_em *e, tr_tv r, tr_tv *n) {
    *n = range_len(e, r);
    if ((r.ty->sub & TR_RANGE_PAR) && e->opts->parallel)
        *n = tr_em_op1(e, TR_OP_PRANGE, *n);
    return true;
}

bool tr_lib_truth_range(tr_em *e, tr_tv r, tr_tv *out) {
    tr_tv n;
    tr_lib_count_range(e, r, &n);
    *out = tr_em_cmp(e, TR_CMP_NE, n, zero(e));
    return true;
}

/* The item at a position in range; only offsets within a narrow range are sure not to wrap, but a step of 1
 * never leaves the items. */
static tr_tv range_at(tr_em *e, tr_tv r, tr_tv i) {
    assert(r.ty->kind == TR_TY_RANGE && tr_em_are_i64(e, 1, &i) && "a position in a range");
    tr_tv start = tr_em_item(e, r, 0), step = tr_em_item(e, r, 2);
    if (steps_by_one(r))
        return tr_em_nsw(e, TR_OP_ADD, start, i);
    if (!is_narrow(e, r))
        return tr_em_op2(e, TR_OP_ADD, start, tr_em_op2(e, TR_OP_MUL, i, step));
    return tr_em_nsw(e, TR_OP_ADD, start, tr_em_nsw(e, TR_OP_MUL, i, step));
}

bool tr_lib_at_range(tr_em *e, tr_tv r, tr_tv i, tr_tv *out) {
    *out = tr_em_conv(e, range_at(e, r, i), r.ty->elem);
    return true;
}

/* The same from the end, exact for any number of items. */
static tr_tv range_back_at(tr_em *e, tr_tv r, tr_tv i) {
    if (steps_by_one(r))
        return tr_em_nsw(e, TR_OP_SUB, tr_em_item(e, r, 1), tr_em_nsw(e, TR_OP_ADD, i, one(e)));
    return range_at(e, r, tr_em_op2(e, TR_OP_SUB, tr_em_op2(e, TR_OP_SUB, range_count(e, r), one(e)), i));
}

/* --- arrays, and their items one after the other --- */

bool tr_lib_count_array(tr_em *e, tr_tv a, tr_tv *n) {
    *n = tr_em_dim(e, a, 0);
    return true;
}

bool tr_lib_len_array(tr_em *e, tr_tv a, tr_tv *n) {
    return a.ty->ndim > 0 ? tr_lib_count_array(e, a, n) : tr_lib_len_no(e, a, n);
}

/* Position i in C order as an index for each axis. */
static void split(tr_em *e, uint32_t ndim, const tr_tv *extents, tr_tv i, tr_tv *idx) {
    assert(ndim <= TR_MAX_NDIM && tr_em_are_i64(e, ndim, extents) && tr_em_are_i64(e, 1, &i) &&
           "a position among extents");
    for (uint32_t k = ndim; k-- > 1;) {
        idx[k] = tr_em_op2(e, TR_OP_REM, i, extents[k]);
        i = tr_em_op2(e, TR_OP_QUOT, i, extents[k]);
    }
    if (ndim > 0)
        idx[0] = i;
}

tr_tv tr_lib_flat_place(tr_em *e, tr_tv a, tr_tv i, tr_tv *idx) {
    assert(tr_em_is_array(e, a) && tr_em_are_i64(e, 1, &i) && "a position in an array");
    tr_tv extents[TR_MAX_NDIM];
    if (a.ty->layout == TR_LAYOUT_C && a.ty->ndim > 1) {
        tr_tv n = tr_em_size(e, a);
        const tr_ty *row = tr_ty_array(e->types, a.ty->elem, 1, TR_LAYOUT_C, a.ty->readonly);
        idx[0] = i;
        return tr_em_restride(e, row, a, zero(e), &n, NULL);
    }
    for (uint32_t k = 0; k < a.ty->ndim; k++)
        extents[k] = tr_em_dim(e, a, k);
    split(e, a.ty->ndim, extents, i, idx);
    return a;
}

static tr_tv flat_at(tr_em *e, tr_tv a, tr_tv i) {
    tr_tv idx[TR_MAX_NDIM];
    return tr_em_load(e, tr_lib_flat_place(e, a, i, idx), idx);
}

bool tr_lib_count_flat(tr_em *e, tr_tv flat, tr_tv *n) {
    *n = tr_em_size(e, tr_em_item(e, flat, 0));
    return true;
}

bool tr_lib_len_flat(tr_em *e, tr_tv flat, tr_tv *n) {
    return tr_lib_count_flat(e, flat, n);
}

/* The item itself, to store to: an array without axes. */
static tr_tv cell_at(tr_em *e, tr_tv a, tr_tv i) {
    tr_axes x = {.n = 0};
    const tr_ty *ty = tr_ty_array(e->types, a.ty->elem, 0, TR_LAYOUT_C, a.ty->readonly);
    a = tr_lib_flat_place(e, a, i, x.start);
    return tr_em_view(e, ty, a, &x);
}

bool tr_lib_at_flat(tr_em *e, tr_tv flat, tr_tv i, tr_tv *out) {
    tr_tv a = tr_em_item(e, flat, 0);
    *out = flat.ty->sub == TR_FLAT_CELLS ? cell_at(e, a, i) : flat_at(e, a, i);
    return true;
}

/* --- np.ndindex --- */

bool tr_lib_count_ndindex(tr_em *e, tr_tv it, tr_tv *n) {
    *n = one(e);
    for (uint32_t i = 0; i < it.ty->n; i++)
        *n = tr_em_op2(e, TR_OP_MUL, *n, tr_em_item(e, it, i));
    return true;
}

bool tr_lib_at_ndindex(tr_em *e, tr_tv it, tr_tv i, tr_tv *out) {
    tr_tv *parts = TR_NEW_N(&e->ctx->arena, tr_tv, 2 * it.ty->n + 1u);
    for (uint32_t k = 0; k < it.ty->n; k++)
        parts[k] = tr_em_item(e, it, k);
    split(e, it.ty->n, parts, i, parts + it.ty->n);
    *out = tr_em_tuple(e, it.ty->n, parts + it.ty->n);
    return true;
}

/* --- enumerate, reversed, zip: over any iterables. Where one of them has no length, a
 * place is a tuple of places --- */

/* The next of `it`, one of several that are asked in turn, as often as each other. */
static bool ask(tr_em *e, tr_tv it, tr_tv i, tr_tv go, tr_tv *out) {
    tr_tv n;
    return tr_lib_serial_len(e, it, &n) && tr_lib_next(e, it, n, i, go, out);
}

static tr_tv place_of(tr_em *e, tr_tv place, uint32_t k) {
    return place.ty->kind == TR_TY_TUPLE ? tr_em_item(e, place, k) : place;
}

bool tr_lib_count_enumerate(tr_em *e, tr_tv it, tr_tv *n) {
    return tr_em_iterlen(e, tr_em_item(e, it, 1), n);
}

bool tr_lib_next_enumerate(tr_em *e, tr_tv it, tr_tv i, tr_tv go, tr_tv *out) {
    tr_tv st;
    if (!ask(e, tr_em_item(e, it, 1), i, go, &st))
        return false;
    tr_tv place[2] = {i, tr_em_item(e, st, TR_STEP_PLACE)};
    *out = tr_lib_step(e, tr_em_item(e, st, TR_STEP_MORE), tr_em_tuple(e, 2, place), i);
    return true;
}

bool tr_lib_at_enumerate(tr_em *e, tr_tv it, tr_tv i, tr_tv *out) {
    tr_tv x[2] = {tr_em_op2(e, TR_OP_ADD, tr_em_item(e, it, 0), place_of(e, i, 0)), {NULL, TR_NOVAL}};
    if (!tr_em_iterget(e, tr_em_item(e, it, 1), place_of(e, i, 1), &x[1]))
        return false;
    *out = tr_em_tuple(e, 2, x);
    return true;
}

bool tr_lib_count_reversed(tr_em *e, tr_tv it, tr_tv *n) {
    *n = tr_em_none(e);
    return it.ty->n > 1 || tr_em_iterlen(e, tr_em_item(e, it, 0), n);
}

/* Of a list: it ends where the list has become too short for the place that comes next. */
bool tr_lib_next_reversed(tr_em *e, tr_tv it, tr_tv i, tr_tv go, tr_tv *out) {
    tr_tv n;
    assert(it.ty->n == 2 && "a list and its length");
    tr_tv list = tr_em_item(e, it, 0);
    if (!tr_lib_kind(list.ty)->len(e, list, &n))
        return false;
    tr_tv place = tr_em_nsw(e, TR_OP_SUB, tr_em_nsw(e, TR_OP_SUB, tr_em_item(e, it, 1), one(e)), i);
    tr_tv more =
        tr_em_op2(e, TR_OP_AND, tr_em_cmp(e, TR_CMP_GE, place, zero(e)), tr_em_cmp(e, TR_CMP_LT, place, n));
    if (go.ty)
        more = tr_em_op2(e, TR_OP_AND, go, more);
    *out = tr_lib_step(e, more, place, i);
    return true;
}

bool tr_lib_at_reversed(tr_em *e, tr_tv it, tr_tv i, tr_tv *out) {
    tr_tv x = tr_em_item(e, it, 0), n;
    if (it.ty->n > 1)
        return tr_em_iterget(e, x, i, out);
    if (x.ty->kind == TR_TY_RANGE) {
        *out = tr_em_conv(e, range_back_at(e, x, i), x.ty->elem);
        return true;
    }
    if (!tr_lib_count_reversed(e, it, &n))
        return false;
    return tr_em_iterget(e, x, tr_em_nsw(e, TR_OP_SUB, tr_em_nsw(e, TR_OP_SUB, n, one(e)), i), out);
}

/* As many as the shortest has. */
bool tr_lib_count_zip(tr_em *e, tr_tv it, tr_tv *n) {
    *n = zero(e);
    if (!e->dry && !is_counted(e, it)) {
        *n = tr_em_none(e);
        return true;
    }
    uint32_t asked = it.ty->sub == TR_ZIP_WALK && it.ty->n ? 1 : it.ty->n; /* of as many items each */
    int64_t known = INT64_MAX, len;
    for (uint32_t i = 0; i < asked; i++) {
        tr_tv k;
        if (!tr_em_iterlen(e, tr_em_item(e, it, i), &k))
            return false;
        if (tr_tv_is_none(k)) {
            *n = k;
            return true;
        }
        known = tr_tv_lit_int(k, &len) && known >= 0 ? (len < known ? len : known) : -1;
        k = tr_em_strong(e, k);
        *n = i == 0 ? k : tr_em_op2(e, TR_OP_MIN, k, *n);
    }
    if (asked && known >= 0)
        *n = tr_em_lit(e, tr_obj_int(&e->ctx->arena, known));
    return true;
}

/* The first that has no more ends it, and those after it are not asked. */
bool tr_lib_next_zip(tr_em *e, tr_tv it, tr_tv i, tr_tv go, tr_tv *out) {
    tr_tv *places = TR_NEW_N(&e->ctx->arena, tr_tv, it.ty->n + 1u), st;
    for (uint32_t k = 0; k < it.ty->n; k++) {
        if (!ask(e, tr_em_item(e, it, k), i, go, &st))
            return false;
        go = tr_em_strong(e, tr_em_item(e, st, TR_STEP_MORE));
        places[k] = tr_em_item(e, st, TR_STEP_PLACE);
    }
    *out = tr_lib_step(e, go, tr_em_tuple(e, it.ty->n, places), i);
    return true;
}

bool tr_lib_at_zip(tr_em *e, tr_tv it, tr_tv i, tr_tv *out) {
    tr_tv *parts = TR_NEW_N(&e->ctx->arena, tr_tv, it.ty->n + 1u);
    for (uint32_t k = 0; k < it.ty->n; k++)
        if (!tr_em_iterget(e, tr_em_item(e, it, k), place_of(e, i, k), &parts[k]))
            return false;
    *out = tr_em_tuple(e, it.ty->n, parts);
    return true;
}
