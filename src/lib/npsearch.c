/* Places in sorted arrays: np.searchsorted and np.digitize. A pattern over the values, whose rounds settle a place bit by bit (a
 * binary search without branches); it runs on all cores. Cost: log2(n) loads for each value. */
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

/* What is searched: item i stands at first + i * step, and place i is called origin + i * step. Captures of patterns in this order. */
typedef struct sorted {
    tr_tv a, n, bits, first, step, origin; /* bits: of n, but the first one */
    const tr_ty *t;                        /* in which items and values are compared */
    bool right;                            /* behind equal items, else before them */
} sorted;
enum { CAPS = 6 };

typedef struct query {
    const sorted *s;
    tr_tv x;
} query;

static tr_tv range_to(tr_em *e, tr_tv n) {
    return tr_em_make(e, tr_ty_range(e->types, tr_fam_ty(e, TR_TY_I64), 0), 3,
                      (tr_tv[]){i64(e, 0), n, i64(e, 1)});
}

/* 1 if what is looked for stands behind item i, else 0. */
static tr_tv is_behind(tr_em *e, const query *q, tr_tv i) {
    const sorted *s = q->s;
    tr_tv at = tr_em_nsw(e, TR_OP_ADD, s->first, tr_em_nsw(e, TR_OP_MUL, i, s->step));
    tr_tv item = tr_em_conv(e, tr_em_load(e, s->a, &at), s->t);
    tr_tv yes = s->right ? tr_fam_not(e, is_less(e, q->x, item)) : is_less(e, item, q->x);
    return tr_em_conv(e, yes, tr_fam_ty(e, TR_TY_I64));
}

/* The first round: the place is one of the first 2**bits, or of the last; from there on a round settles one bit of it. */
static bool choose_end(tr_em *e, tr_tv round, const void *user, tr_tv *at, tr_tv *stop) {
    const query *q = user;
    (void)round;
    (void)stop;
    tr_tv one = i64(e, 1), size = tr_em_op2(e, TR_OP_SHL, one, q->s->bits);
    tr_tv yes = is_behind(e, q, tr_em_nsw(e, TR_OP_SUB, size, one));
    tr_tv late = tr_em_nsw(e, TR_OP_ADD, tr_em_nsw(e, TR_OP_SUB, q->s->n, size), one);
    *at = tr_em_nsw(e, TR_OP_MUL, yes, late);
    return true;
}

/* What is added is computed: a jump would be guessed wrong every other time. */
static bool settle_bit(tr_em *e, tr_tv round, const void *user, tr_tv *at, tr_tv *stop) {
    const query *q = user;
    (void)stop;
    tr_tv one = i64(e, 1), bit = tr_em_nsw(e, TR_OP_SUB, tr_em_nsw(e, TR_OP_SUB, q->s->bits, one), round);
    tr_tv last =
        tr_em_nsw(e, TR_OP_SUB, tr_em_nsw(e, TR_OP_ADD, *at, tr_em_op2(e, TR_OP_SHL, one, bit)), one);
    *at = tr_em_nsw(e, TR_OP_ADD, *at, tr_em_op2(e, TR_OP_SHL, is_behind(e, q, last), bit));
    return true;
}

static bool find(tr_em *e, const sorted *s, tr_tv x, tr_tv *out) {
    query q = {s, tr_em_conv(e, x, s->t)};
    tr_tv at = i64(e, 0), some = tr_em_conv(e, tr_em_cmp(e, TR_CMP_GT, s->n, at), at.ty);
    if (!tr_em_each(e, range_to(e, some), 1, &at, choose_end, &q) ||
        !tr_em_each(e, range_to(e, s->bits), 1, &at, settle_bit, &q))
        return false;
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

static bool count_bits(tr_em *e, tr_tv n, tr_tv *bits) {
    tr_tv acc[2] = {i64(e, 0), n};
    if (!tr_em_each(e, range_to(e, i64(e, 64)), 2, acc, count_bit, NULL))
        return false;
    *bits = acc[0];
    return true;
}

static bool lam_find(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                     tr_tv *yields) {
    sorted s = *(const sorted *)d->user;
    s.a = caps[0];
    s.n = caps[1];
    s.bits = caps[2];
    s.first = caps[3];
    s.step = caps[4];
    s.origin = caps[5];
    (void)idx;
    return find(e, &s, elems[0], &yields[0]);
}

/* The place of a number, or of each item of an array. */
static bool find_all(tr_em *e, const sorted *s, tr_tv v, tr_tv *out) {
    tr_tv shape[TR_MAX_NDIM], caps[CAPS] = {s->a, s->n, s->bits, s->first, s->step, s->origin}, none;
    if (!tr_lib_is_array(v))
        return find(e, s, v, out);
    tr_fam_shape(e, v, shape);
    *out = tr_em_alloc(e, tr_fam_ty(e, TR_TY_I64), v.ty->ndim, TR_LAYOUT_C, shape);
    tr_pdesc d = {.nspace = v.ty->ndim,
                  .nin = 1,
                  .nout = 1,
                  .ncap = CAPS,
                  .space = shape,
                  .in = &v,
                  .out = out,
                  .caps = caps,
                  .lam = lam_find,
                  .user = tr_arena_copy(&e->ctx->arena, s, sizeof *s)};
    return tr_em_pattern(e, &d, &none);
}

static bool is_searchable(tr_em *e, const tr_ty *t) {
    char k = tr_fam_class(e, (tr_tv){t, TR_NOVAL});
    return k == 'b' || k == 'i' || k == 'f';
}

/* The array to search, of one axis, and a number, or an array, to look for; and in which type they are compared. */
static bool operands(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv x, const char *what, sorted *s, tr_tv *v) {
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
    return count_bits(e, s->n, &s->bits);
}

static bool side_arg(tr_em *e, const tr_bcall *c, tr_tv x, bool *right) {
    const char *text = "left";
    if (x.ty && !tr_tv_lit_str(x, &text))
        return tr_em_error(e, "%s(): side must be a constant, 'left' or 'right'", tr_fam_name(c));
    *right = !strcmp(text, "right");
    return *right || !strcmp(text, "left") ||
           tr_em_error(e, "search side must be 'left' or 'right' (got '%s')", text);
}

bool tr_fam_places(tr_em *e, const tr_bcall *c, bool right, tr_tv *out) {
    sorted s = {.right = right};
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

/* Edges that fall are searched from behind, and bins counted from there; those that do neither are an error. As in NumPy, the first two that
 * differ say which it is. */
static bool find_order(tr_em *e, sorted *s) {
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
    sorted s;
    tr_tv x;
    bool closed;
    if (!tr_fam_flag(e, c, c->a[2], "right", false, &closed) ||
        !operands(e, c, c->a[1], c->a[0], "bins", &s, &x))
        return false;
    s.right = !closed;
    return find_order(e, &s) && find_all(e, &s, x, out);
}
