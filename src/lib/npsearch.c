/* Places in sorted arrays: np.searchsorted and np.digitize. A pattern over the values, whose rounds settle a
 * place bit by bit (a binary search without branches); it runs on all cores. For many values there is a table
 * first, by which a search begins near its end (rt/places.c).
 * Cost: log2(n) loads for each value, or a few. */
#include <assert.h>
#include <string.h>

#include "lib/fam.h"
#include "lib/families.h"

static tr_tv i64(tr_em *e, int64_t v) {
    return tr_em_i64(e, v);
}

/* How numbers are compared: NumPy sorts NaN behind all others. */
static tr_tv is_less(tr_em *e, tr_tv x, tr_tv y) {
    tr_tv less = tr_em_cmp(e, TR_CMP_LT, x, y);
    if (!tr_ty_is_float(x.ty))
        return less;
    return tr_fam_or(e, less, tr_fam_and(e, tr_em_cmp(e, TR_CMP_NE, y, y), tr_em_cmp(e, TR_CMP_EQ, x, x)));
}

/* The opposite, with one comparison that waits for y. */
static tr_tv is_not_less(tr_em *e, tr_tv x, tr_tv y) {
    tr_tv yes = tr_em_cmp(e, TR_CMP_LE, y, x);
    return tr_ty_is_float(x.ty) ? tr_fam_or(e, yes, tr_em_cmp(e, TR_CMP_NE, x, x)) : yes;
}

/* The least BUCKETS of a table, which has one for each item, so that few are near each other, and pays from
 * MANY values on, where these are no fewer than the items. */
enum { BUCKETS = 2048, MANY = 4096 };

typedef struct query {
    const tr_search *s;
    tr_tv x;
} query;

static tr_tv range_to(tr_em *e, tr_tv n) {
    return tr_em_make(e, tr_ty_range(e->types, tr_fam_ty(e, TR_TY_I64), 0), 3,
                      (tr_tv[]){i64(e, 0), n, i64(e, 1)});
}

/* Does what is looked for stand behind item i? */
static tr_tv is_behind(tr_em *e, const query *q, tr_tv i) {
    const tr_search *s = q->s;
    tr_tv at = tr_em_nsw(e, TR_OP_ADD, s->first, tr_em_nsw(e, TR_OP_MUL, i, s->step));
    tr_tv item = tr_em_conv(e, tr_em_load(e, s->a, &at), s->t);
    return s->right ? is_not_less(e, q->x, item) : is_less(e, item, q->x);
}

/* A round settles a bit of how far the place is from where the search began. What is added is computed: a
 * jump would be guessed wrong every other time. Past the last item it is asked again. */
static bool settle_bit(tr_em *e, tr_tv round, const void *user, tr_tv *at, tr_tv *stop) {
    const query *q = user;
    (void)stop;
    tr_tv one = i64(e, 1), bit = tr_em_nsw(e, TR_OP_SUB, tr_em_nsw(e, TR_OP_SUB, q->s->rounds, one), round);
    tr_tv item =
        tr_em_nsw(e, TR_OP_SUB, tr_em_nsw(e, TR_OP_ADD, *at, tr_em_op2(e, TR_OP_SHL, one, bit)), one);
    tr_tv last = tr_em_nsw(e, TR_OP_SUB, q->s->n, one);
    item = tr_em_op2(e, TR_OP_MIN, item, last);
    tr_tv yes = tr_em_conv(e, is_behind(e, q, item), one.ty);
    *at = tr_em_nsw(e, TR_OP_ADD, *at, tr_em_op2(e, TR_OP_SHL, yes, bit));
    return true;
}

/* acc: the place as far as it is known, and how many items may be behind it. Half of them
 * are decided upon in a round, by a sum as well; where they are not behind, one of those
 * that are left may have been asked already. */
static bool halve(tr_em *e, tr_tv round, const void *user, tr_tv *acc, tr_tv *stop) {
    const query *q = user;
    (void)round;
    tr_tv one = i64(e, 1), half = tr_em_op2(e, TR_OP_SHR, tr_em_nsw(e, TR_OP_ADD, acc[1], one), one);
    tr_tv beyond = tr_em_nsw(e, TR_OP_ADD, acc[0], half);
    tr_tv yes = is_behind(e, q, tr_em_nsw(e, TR_OP_SUB, beyond, one));
    acc[0] = tr_em_select(e, yes, beyond, acc[0]);
    acc[1] = tr_em_nsw(e, TR_OP_SUB, acc[1], half);
    *stop = tr_em_cmp(e, TR_CMP_LE, acc[1], i64(e, 0));
    return true;
}

/* One number: nothing is made ready for it. */
static bool find_one(tr_em *e, const tr_search *s, tr_tv x, tr_tv *out) {
    query q = {s, tr_em_conv(e, x, s->t)};
    tr_tv acc[2] = {i64(e, 0), s->n}, none = tr_em_cmp(e, TR_CMP_LE, s->n, i64(e, 0));
    tr_tv rounds = tr_em_select(e, none, i64(e, 0), i64(e, 64));
    if (!tr_em_each(e, range_to(e, rounds), 2, acc, halve, &q))
        return false;
    *out = tr_em_nsw(e, TR_OP_ADD, s->origin, tr_em_nsw(e, TR_OP_MUL, acc[0], s->step));
    return true;
}

/* Where the search for x begins. NaN is behind all others, and so in the last bucket. */
static tr_tv beginning(tr_em *e, const tr_search *s, tr_tv x) {
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64);
    tr_tv at = tr_em_op2(e, TR_OP_MUL, tr_em_op2(e, TR_OP_SUB, tr_em_conv(e, x, f64), s->lo), s->scale);
    tr_tv below = tr_em_cmp(e, TR_CMP_LT, at, tr_em_f64(e, 0.0)),
          inside = tr_em_cmp(e, TR_CMP_LT, at, tr_em_conv(e, s->most, f64));
    tr_tv bucket = tr_em_select(e, inside, tr_em_conv(e, at, tr_fam_ty(e, TR_TY_I64)), s->most);
    bucket = tr_em_select(e, below, i64(e, 0), bucket);
    return tr_em_load(e, s->table, &bucket);
}

static bool find(tr_em *e, const tr_search *s, tr_tv x, tr_tv *out) {
    query q = {s, tr_em_conv(e, x, s->t)};
    tr_tv at = beginning(e, s, x);
    if (!tr_em_each(e, range_to(e, s->rounds), 1, &at, settle_bit, &q))
        return false;
    at = tr_em_op2(e, TR_OP_MIN, at, s->n);
    *out = tr_em_nsw(e, TR_OP_ADD, s->origin, tr_em_nsw(e, TR_OP_MUL, at, s->step));
    return true;
}

/* acc: bits, and what is left of the length. */
static bool count_bit(tr_em *e, tr_tv round, const void *user, tr_tv *acc, tr_tv *stop) {
    tr_tv one = i64(e, 1), left = tr_em_op2(e, TR_OP_SHR, acc[1], one),
          some = tr_em_cmp(e, TR_CMP_GT, left, i64(e, 0));
    (void)round;
    (void)user;
    acc[0] = tr_em_nsw(e, TR_OP_ADD, acc[0], tr_em_conv(e, some, one.ty));
    acc[1] = left;
    *stop = tr_fam_not(e, some);
    return true;
}

/* Rounds that a search of n items takes: the bits of n. */
static bool count_bits(tr_em *e, tr_tv n, tr_tv *rounds) {
    tr_tv some = tr_em_cmp(e, TR_CMP_GT, n, i64(e, 0));
    tr_tv acc[2] = {tr_em_conv(e, some, tr_fam_ty(e, TR_TY_I64)), n};
    if (!tr_em_each(e, range_to(e, i64(e, 64)), 2, acc, count_bit, NULL))
        return false;
    *rounds = acc[0];
    return true;
}

/* A table for so many values; of one bucket, which says nothing, where they are few. */
static bool make_table(tr_em *e, tr_search *s, tr_tv values) {
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64);
    tr_tv zero = i64(e, 0), one = i64(e, 1), two = i64(e, 2), part, items;
    if (!count_bits(e, s->n, &s->rounds))
        return false;
    tr_tv pays =
        tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, values, i64(e, MANY)), tr_em_cmp(e, TR_CMP_GE, values, s->n));
    tr_tv few = i64(e, BUCKETS), m = tr_em_op2(e, TR_OP_MAX, s->n, few);
    m = tr_em_select(e, pays, m, one);
    tr_axes x = {0};
    tr_axes_part(&x, 0, zero, tr_em_select(e, pays, s->n, zero), one);
    part =
        tr_em_view(e, tr_ty_array(e->types, s->a.ty->elem, 1, s->a.ty->layout, s->a.ty->readonly), s->a, &x);
    if (!tr_fam_copy_as(e, part, f64, TR_LAYOUT_C, &items))
        return false;
    tr_tv line = tr_em_alloc(e, f64, 1, TR_LAYOUT_C, &two);
    s->table = tr_em_alloc(e, tr_fam_ty(e, TR_TY_I64), 1, TR_LAYOUT_C, &m);
    tr_tv args[5] = {items, s->first, s->step, line, s->table};
    tr_tv rounds = tr_em_callrt(e, TR_RT_PLACES, tr_fam_ty(e, TR_TY_I64), NULL, 5, args);
    tr_tv none = tr_em_cmp(e, TR_CMP_LT, rounds, zero);
    s->few = tr_fam_and(e, tr_fam_not(e, none), tr_em_cmp(e, TR_CMP_LE, rounds, i64(e, TR_SEARCH_FEW)));
    s->rounds = tr_em_select(e, none, s->rounds, rounds);
    s->lo = tr_em_load(e, line, &zero);
    s->scale = tr_em_load(e, line, &one);
    s->most = tr_em_nsw(e, TR_OP_SUB, m, one);
    return true;
}

void tr_fam_search_put(const tr_search *s, tr_tv *caps) {
    assert(s->a.ty && s->t && s->table.ty && "a search was begun");
    const tr_tv all[TR_SEARCH_CAPS] = {s->a,      s->n,     s->rounds, s->first, s->step,
                                       s->origin, s->table, s->lo,     s->scale, s->most};
    memcpy(caps, all, sizeof all);
}

tr_search tr_fam_search_of(const tr_search *s, const tr_tv *caps) {
    return (tr_search){.a = caps[0],
                       .n = caps[1],
                       .rounds = caps[2],
                       .first = caps[3],
                       .step = caps[4],
                       .origin = caps[5],
                       .table = caps[6],
                       .lo = caps[7],
                       .scale = caps[8],
                       .most = caps[9],
                       .t = s->t,
                       .right = s->right};
}

static bool lam_find(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                     tr_tv *yields) {
    tr_search s = tr_fam_search_of(d->user, caps);
    (void)idx;
    return find(e, &s, elems[0], &yields[0]);
}

/* Of two rounds: item by item, without a loop, so that vectors have it. */
tr_tv tr_fam_search_few(tr_em *e, const tr_search *s, tr_tv x) {
    assert(s->t && tr_em_is_array(e, s->a) && tr_em_are_i64(e, 1, &s->n) && "a search was begun");
    tr_tv at = beginning(e, s, x), last = tr_em_nsw(e, TR_OP_SUB, s->n, i64(e, 1)),
          v = tr_em_conv(e, x, s->t);
    for (int64_t bit = TR_SEARCH_FEW; bit-- > 0;) {
        tr_tv item = tr_em_nsw(e, TR_OP_ADD, at, i64(e, (1 << bit) - 1));
        item = tr_em_op2(e, TR_OP_MIN, item, last);
        tr_tv yes = tr_em_cmp(e, s->right ? TR_CMP_GE : TR_CMP_GT, v,
                              tr_em_conv(e, tr_em_load(e, s->a, &item), s->t));
        at = tr_em_select(e, yes, tr_em_nsw(e, TR_OP_ADD, at, i64(e, 1 << bit)), at);
    }
    return tr_em_op2(e, TR_OP_MIN, at, s->n);
}

/* The place of each item of an array. */
bool tr_fam_search_all(tr_em *e, const tr_search *s, tr_tv v, tr_tv *out) {
    tr_tv shape[TR_MAX_NDIM], caps[TR_SEARCH_CAPS], none;
    tr_fam_search_put(s, caps);
    tr_fam_shape(e, v, shape);
    *out = tr_em_alloc(e, tr_fam_ty(e, TR_TY_I64), v.ty->ndim, TR_LAYOUT_C, shape);
    tr_pdesc d = {.nspace = v.ty->ndim,
                  .nin = 1,
                  .nout = 1,
                  .ncap = TR_SEARCH_CAPS,
                  .space = shape,
                  .in = &v,
                  .out = out,
                  .caps = caps,
                  .lam = lam_find,
                  .user = tr_arena_copy(&e->ctx->arena, s, sizeof *s)};
    return tr_em_pattern(e, &d, &none);
}

/* The place of a number, or of each item of an array. */
static bool find_all(tr_em *e, tr_search *s, tr_tv v, tr_tv *out) {
    if (!tr_lib_is_array(v))
        return find_one(e, s, v, out);
    return make_table(e, s, tr_em_size(e, v)) && tr_fam_search_all(e, s, v, out);
}

static bool is_searchable(tr_em *e, const tr_ty *t) {
    char k = tr_fam_class(e, (tr_tv){t, TR_NOVAL});
    return k == 'b' || k == 'i' || k == 'f';
}

/* The array to search, of one axis, and a number, or an array, to look for; and in which
 * type they are compared. */
static bool operands(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv x, const char *what, tr_search *s,
                     tr_tv *v) {
    if (!tr_fam_as_array(e, c, a, NULL, &s->a))
        return false;
    if (s->a.ty->ndim != 1)
        return tr_em_error(e, "%s(): %s must have one dimension, not %u", tr_fam_name(c), what,
                           (unsigned)s->a.ty->ndim);
    *v = tr_em_strong(e, x);
    if (!tr_lib_scalar(e, v->ty) && !tr_fam_as_array(e, c, x, NULL, v))
        return false;
    if (tr_lib_is_array(*v) && v->ty->ndim == 0)
        *v = tr_em_load(e, *v, NULL);
    const tr_ty *of = tr_lib_is_array(*v) ? v->ty->elem : v->ty, *in = s->a.ty->elem;
    if (!is_searchable(e, of) || !is_searchable(e, in))
        return tr_em_error(e, "%s(): cannot look for %s among %s", tr_fam_name(c), tr_em_tyname(e, of),
                           tr_em_tyname(e, in));
    s->t = tr_fam_ty(e, tr_ty_promote(of->kind, in->kind));
    s->n = tr_em_dim(e, s->a, 0);
    s->first = s->origin = i64(e, 0);
    s->step = i64(e, 1);
    return true;
}

static bool side_arg(tr_em *e, const tr_bcall *c, tr_tv x, bool *right) {
    const char *text = "left";
    if (x.ty && !tr_tv_lit_str(x, &text))
        return tr_em_error(e, "%s(): side must be a constant, 'left' or 'right'", tr_fam_name(c));
    *right = !strcmp(text, "right");
    return *right || !strcmp(text, "left") ||
           tr_em_error(e, "search side must be 'left' or 'right' (got '%s')", text);
}

bool tr_fam_search_begin(tr_em *e, const tr_bcall *c, tr_search *s) {
    tr_tv v;
    return operands(e, c, c->a[0], c->a[1], "a", s, &v) && make_table(e, s, tr_em_size(e, v));
}

bool tr_fam_places(tr_em *e, const tr_bcall *c, bool right, tr_tv *out) {
    tr_search s = {.right = right};
    tr_tv v;
    return operands(e, c, c->a[0], c->a[1], "a", &s, &v) && find_all(e, &s, v, out);
}

/* Parameters: a, v, side. */
bool tr_lib_np_searchsorted(tr_em *e, const tr_bcall *c, tr_tv *out) {
    bool right = false;
    return side_arg(e, c, c->a[2], &right) && tr_fam_places(e, c, right, out);
}

/* --- digitize --- */

/* Of each pair of neighbours: its place, where they differ, and where they go up; whether they go down. */
static bool lam_pair(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                     tr_tv *yields) {
    tr_tv next = tr_em_nsw(e, TR_OP_ADD, idx[0], i64(e, 1)), none = i64(e, INT64_MAX);
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64);
    tr_tv x = tr_em_conv(e, tr_em_load(e, caps[0], idx), f64),
          y = tr_em_conv(e, tr_em_load(e, caps[0], &next), f64);
    (void)d;
    (void)elems;
    yields[0] = tr_em_select(e, tr_em_cmp(e, TR_CMP_NE, x, y), idx[0], none);
    yields[1] = tr_em_select(e, tr_em_cmp(e, TR_CMP_LT, x, y), idx[0], none);
    yields[2] = tr_em_cmp(e, TR_CMP_GT, x, y);
    return true;
}

/* Edges that fall are searched from behind, and bins counted from there; those that do neither are an error.
 * As in NumPy, the first two that differ say which it is. */
static bool find_order(tr_em *e, tr_search *s) {
    static const tr_redk reds[] = {TR_RED_MIN, TR_RED_MIN, TR_RED_OR};
    tr_tv zero = i64(e, 0), one = i64(e, 1), none = i64(e, INT64_MAX), r;
    tr_tv init[] = {none, none, tr_em_bool(e, false)}, some = tr_em_cmp(e, TR_CMP_GT, s->n, zero);
    tr_tv pairs = tr_em_nsw(e, TR_OP_SUB, s->n, tr_em_select(e, some, one, zero));
    tr_pdesc d = {.nspace = 1,
                  .nred = 3,
                  .ncap = 1,
                  .space = &pairs,
                  .reds = reds,
                  .init = init,
                  .caps = &s->a,
                  .lam = lam_pair};
    if (!tr_em_pattern(e, &d, &r))
        return false;
    tr_tv differ = tr_em_item(e, r, 0), up = tr_em_item(e, r, 1);
    tr_tv falls = tr_em_cmp(e, TR_CMP_NE, differ, up);
    tr_tv bad = tr_em_select(e, falls, tr_em_cmp(e, TR_CMP_NE, up, none), tr_em_item(e, r, 2));
    tr_em_check(e, tr_fam_not(e, bad), TR_EXC_VALUE, "bins must be monotonically increasing or decreasing", 0,
                NULL);
    s->origin = tr_em_select(e, falls, s->n, zero);
    s->first = tr_em_select(e, falls, tr_em_nsw(e, TR_OP_SUB, s->n, one), zero);
    s->step = tr_em_select(e, falls, i64(e, -1), one);
    return true;
}

/* Parameters: x, bins, right. */
bool tr_lib_np_digitize(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_search s = {0};
    tr_tv x;
    bool closed;
    if (!tr_fam_flag(e, c, c->a[2], "right", false, &closed) ||
        !operands(e, c, c->a[1], c->a[0], "bins", &s, &x))
        return false;
    s.right = !closed;
    return find_order(e, &s) && find_all(e, &s, x, out);
}
