/* Counting how often numbers come: np.bincount and np.histogram. A pattern that finds how many
 * places there are, then one that scatters ones, or weights, into them: no index leaves a
 * register, and both run on all cores as scatters do (lower/spread.c). Edges that are given are
 * searched before, by a pattern of its own. */
#include "lib/fam.h"

#include <assert.h>

#include "lib/families.h"

static tr_tv i64(tr_em *e, int64_t v) {
    return tr_em_i64(e, v);
}

/* An argument of one axis and of numbers of these classes. */
static bool line_arg(tr_em *e, const tr_bcall *c, tr_tv x, const char *what, const char *classes,
                     tr_tv *out) {
    if (!tr_fam_as_array(e, c, x, NULL, out))
        return false;
    if (out->ty->ndim != 1)
        return tr_em_error(e, "%s(): %s must have one dimension, not %u", tr_fam_name(c), what,
                           (unsigned)out->ty->ndim);
    for (const char *k = classes; *k; k++)
        if (tr_fam_class(e, (tr_tv){out->ty->elem, TR_NOVAL}) == *k)
            return true;
    return tr_em_error(e, "%s(): %s cannot be %s", tr_fam_name(c), what, tr_em_tyname(e, out->ty->elem));
}

/* --- bincount --- */

static bool lam_ends(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                     tr_tv *yields) {
    (void)d;
    (void)idx;
    (void)caps;
    yields[0] = yields[1] = tr_em_conv(e, elems[0], tr_fam_ty(e, TR_TY_I64));
    return true;
}

bool tr_fam_ends(tr_em *e, tr_tv x, tr_tv *least, tr_tv *most) {
    static const tr_redk reds[] = {TR_RED_MIN, TR_RED_MAX};
    tr_tv init[] = {i64(e, 0), i64(e, -1)}, n = tr_em_dim(e, x, 0), ends;
    tr_pdesc d = {
        .nspace = 1, .nin = 1, .nred = 2, .space = &n, .in = &x, .reds = reds, .init = init, .lam = lam_ends};
    if (!tr_em_pattern(e, &d, &ends))
        return false;
    *least = tr_em_item(e, ends, 0);
    *most = tr_em_item(e, ends, 1);
    return true;
}

/* One more than the largest item, none of which is negative; at least `atleast`, as it is where items are
 * known to be smaller, keys that were tested: then no size waits for the largest one. */
static bool places_of(tr_em *e, tr_tv x, tr_tv atleast, tr_tv *out) {
    tr_tv least, most, none = i64(e, 0);
    if (!tr_fam_ends(e, x, &least, &most))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, least, none), TR_EXC_VALUE,
                "'list' argument must have no negative elements", 0, NULL);
    tr_tv few = tr_em_cmp(e, TR_CMP_LT, most, atleast), n = tr_em_op2(e, TR_OP_ADD, most, i64(e, 1));
    tr_em_check(e, tr_fam_or(e, few, tr_em_cmp(e, TR_CMP_GE, n, none)), TR_EXC_VALUE, TR_TOO_BIG, 0, NULL);
    *out = tr_em_select(e, few, atleast, n);
    return true;
}

static bool lam_count(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                      tr_tv *yields) {
    const tr_ty *t = d->scat[0].ty->elem;
    (void)idx;
    (void)caps;
    yields[0] = tr_em_conv(e, elems[0], tr_fam_ty(e, TR_TY_I64));
    yields[1] = d->nin > 1 ? tr_em_conv(e, elems[1], t) : tr_em_num(e, t, 1.0);
    return true;
}

/* How many places there are takes a pass of its own, 40 % of the time where items come from memory. Most
 * counts are of small numbers: many items are counted at once while they are below FEW (rt/bins.c), and what
 * comes after one that is not is left to the two passes. */
enum { FEW = 4096, WORTH = 16 * FEW, BYTES = 256 };

static bool counts_at_once(tr_em *e, tr_tv x, tr_tyk of) {
    return !e->opts->parallel && x.ty->elem->kind == of && x.ty->layout == TR_LAYOUT_C;
}

/* counts: of the places that were used; none: no item was counted; x: what is left. */
static void count_few(tr_em *e, tr_tv *x, tr_tv *counts, tr_tv *none) {
    tr_tv zero = i64(e, 0), one = i64(e, 1), n = tr_em_dim(e, *x, 0);
    tr_tv size = tr_em_select(e, tr_em_cmp(e, TR_CMP_GE, n, i64(e, WORTH)), i64(e, FEW + 1), one);
    tr_tv table = tr_em_alloc(e, tr_fam_ty(e, TR_TY_I64), 1, TR_LAYOUT_C, &size);
    tr_tv done = tr_em_callrt(e, TR_RT_COUNT_FEW, tr_fam_ty(e, TR_TY_I64), NULL, 2, (tr_tv[]){*x, table});
    tr_tv last = tr_em_nsw(e, TR_OP_SUB, size, one);
    *none = tr_em_cmp(e, TR_CMP_EQ, done, zero);
    tr_tv used = tr_em_select(e, *none, zero, tr_em_load(e, table, &last));
    *counts = tr_fam_part(e, table, 0, zero, used);
    *x = tr_fam_part(e, *x, 0, done, tr_em_nsw(e, TR_OP_SUB, n, done));
}

/* Bytes need no second look, on one core, and the places are there before: the result is a part of them. */
static void count_bytes(tr_em *e, tr_tv x, tr_tv least, tr_tv *out) {
    tr_tv size = tr_em_op2(e, TR_OP_MAX, least, i64(e, BYTES));
    tr_tv table = tr_em_alloc(e, tr_fam_ty(e, TR_TY_I64), 1, TR_LAYOUT_C, &size);
    tr_tv used = tr_em_callrt(e, TR_RT_COUNT_BYTES, tr_fam_ty(e, TR_TY_I64), NULL, 2, (tr_tv[]){x, table});
    *out = tr_fam_part(e, table, 0, i64(e, 0), tr_em_op2(e, TR_OP_MAX, used, least));
}

/* Parameters: x, weights, minlength. */
bool tr_lib_np_bincount(tr_em *e, const tr_bcall *c, tr_tv *out) {
    static const uint8_t add = TR_RED_ADD;
    tr_tv in[2], least = i64(e, 0), size, none, counts, nothing;
    bool weighted = tr_fam_given(c->a[1]);
    if (!line_arg(e, c, c->a[0], "x", "bi", &in[0]) ||
        (weighted && !line_arg(e, c, c->a[1], "weights", "bif", &in[1])) ||
        (c->a[2].ty && !tr_fam_int(e, c, c->a[2], "minlength", &least)))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, least, i64(e, 0)), TR_EXC_VALUE,
                "'minlength' must not be negative", 0, NULL);
    if (!weighted && counts_at_once(e, in[0], TR_TY_U8)) {
        count_bytes(e, in[0], least, out);
        return true;
    }
    bool few = !weighted && counts_at_once(e, in[0], TR_TY_I64);
    if (few)
        count_few(e, &in[0], &counts, &nothing);
    if (!places_of(e, in[0], least, &size))
        return false;
    tr_tv len = tr_em_dim(e, in[0], 0);
    if (few)
        size = tr_em_select(e, nothing, size, tr_em_op2(e, TR_OP_MAX, size, tr_em_dim(e, counts, 0)));
    if (weighted)
        tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, tr_em_dim(e, in[1], 0), len), TR_EXC_VALUE,
                    "The weights and list don't have the same length.", 0, NULL);
    *out = tr_em_alloc(e, tr_fam_ty(e, weighted ? TR_TY_F64 : TR_TY_I64), 1, TR_LAYOUT_C, &size);
    tr_pdesc d = {.nspace = 1,
                  .nin = weighted ? 2 : 1,
                  .nscat = 1,
                  .space = &len,
                  .in = in,
                  .scat = out,
                  .scats = &add,
                  .lam = lam_count};
    if (!tr_em_fill(e, *out, tr_em_num(e, out->ty->elem, 0.0)) ||
        (few && !tr_em_assign(e, tr_fam_part(e, *out, 0, i64(e, 0), tr_em_dim(e, counts, 0)), counts)))
        return false;
    return tr_em_pattern(e, &d, &none);
}

/* --- histogram with a number of bins --- */

/* The bins of a histogram: n of them, from lo to hi, edge i at i * step + lo. Patterns have them as captures,
 * and the edges' type as what is the user's. */
typedef struct bins {
    tr_tv n, lo, hi, step; /* n: int64; the others of the type that edges are computed in */
} bins;
enum { BINS = 4 };

static bins bins_of(const tr_tv *caps) {
    return (bins){caps[0], caps[1], caps[2], caps[3]};
}

/* Edge i, a number of any type, but not the last one. Computed in the type of `b`, and
 * stored in that of edges. */
static tr_tv inner_edge(tr_em *e, const bins *b, const tr_ty *t, tr_tv i) {
    assert(b->lo.ty == b->step.ty && b->lo.ty == b->hi.ty && "edges are computed in one type");
    tr_tv at = tr_em_op2(e, TR_OP_MUL, tr_em_conv(e, i, b->lo.ty), b->step);
    return tr_em_conv(e, tr_em_op2(e, TR_OP_ADD, at, b->lo), t);
}

static tr_tv edge(tr_em *e, const bins *b, const tr_ty *t, tr_tv i) {
    return tr_em_select(e, tr_em_cmp(e, TR_CMP_EQ, i, b->n), tr_em_conv(e, b->hi, t), inner_edge(e, b, t, i));
}

static tr_tv next(tr_em *e, tr_tv i) {
    return tr_em_op2(e, TR_OP_ADD, i, i64(e, 1));
}

static bool lam_extremes(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                         tr_tv *yields) {
    (void)idx;
    (void)caps;
    yields[0] = yields[1] = tr_em_conv(e, elems[0], d->init[0].ty);
    return true;
}

static tr_tv is_finite(tr_em *e, tr_tv x) {
    assert(tr_ty_is_scalar(x.ty) && "a number is finite or not");
    return tr_em_cmp(e, TR_CMP_EQ, tr_em_op2(e, TR_OP_SUB, x, x), tr_em_num(e, x.ty, 0.0));
}

/* Two numbers; Python's are float64 beside arrays of float32, too. */
static bool range_given(tr_em *e, const tr_bcall *c, tr_tv range, bins *b) {
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64);
    if (range.ty->kind != TR_TY_TUPLE || range.ty->n != 2)
        return tr_em_error(e, "%s(): range must be a tuple of two numbers, not %s", tr_fam_name(c),
                           tr_em_tyname(e, range.ty));
    tr_tv lo = tr_em_item(e, range, 0), hi = tr_em_item(e, range, 1);
    if (!tr_fam_number(e, c, lo, "bif") || !tr_fam_number(e, c, hi, "bif"))
        return false;
    b->lo = tr_em_conv(e, lo, f64);
    b->hi = tr_em_conv(e, hi, f64);
    tr_em_check(e, tr_fam_not(e, tr_em_cmp(e, TR_CMP_GT, b->lo, b->hi)), TR_EXC_VALUE,
                "max must be larger than min in range parameter.", 0, NULL);
    return true;
}

/* The extremes of the items; 0 and 1 without any. */
static bool range_found(tr_em *e, tr_tv x, const tr_ty *t, bins *b) {
    static const tr_redk reds[] = {TR_RED_MIN, TR_RED_MAX};
    tr_tv n = tr_em_dim(e, x, 0), ends, none = tr_em_cmp(e, TR_CMP_EQ, n, i64(e, 0));
    tr_tv init[] = {tr_fam_start(e, TR_RED_MIN, t), tr_fam_start(e, TR_RED_MAX, t)};
    tr_pdesc d = {.nspace = 1,
                  .nin = 1,
                  .nred = 2,
                  .space = &n,
                  .in = &x,
                  .reds = reds,
                  .init = init,
                  .lam = lam_extremes};
    if (!tr_em_pattern(e, &d, &ends))
        return false;
    b->lo = tr_em_select(e, none, tr_em_num(e, t, 0.0), tr_em_item(e, ends, 0));
    b->hi = tr_em_select(e, none, tr_em_num(e, t, 1.0), tr_em_item(e, ends, 1));
    return true;
}

/* b->n is there. */
static bool range_arg(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv range, const tr_ty *t, bins *b) {
    bool given = tr_fam_given(range);
    if (!(given ? range_given(e, c, range, b) : range_found(e, x, t, b)))
        return false;
    tr_tv payload[] = {b->lo, b->hi}, half = tr_em_num(e, b->lo.ty, 0.5),
          one = tr_em_cmp(e, TR_CMP_EQ, b->lo, b->hi);
    tr_em_check(e, tr_fam_and(e, is_finite(e, b->lo), is_finite(e, b->hi)), TR_EXC_VALUE,
                given ? "supplied range of [{0}, {1}] is not finite"
                      : "autodetected range of [{0}, {1}] is not finite",
                2, payload);
    b->lo = tr_em_select(e, one, tr_em_op2(e, TR_OP_SUB, b->lo, half), b->lo);
    b->hi = tr_em_select(e, one, tr_em_op2(e, TR_OP_ADD, b->hi, half), b->hi);
    b->step = tr_em_op2(e, TR_OP_DIV, tr_em_op2(e, TR_OP_SUB, b->hi, b->lo), tr_em_conv(e, b->n, b->lo.ty));
    return true;
}

/* The edges, and whether one is not above the one before it. The last capture: these are 0 to 1, as there are
 * no items; NumPy computes them in float64 then. */
static bool lam_edges(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                      tr_tv *yields) {
    bins b = bins_of(caps), unit = b;
    const tr_ty *t = d->user, *f64 = tr_fam_ty(e, TR_TY_F64);
    (void)elems;
    unit.lo = tr_em_f64(e, 0.0);
    unit.hi = tr_em_f64(e, 1.0);
    unit.step = tr_em_op2(e, TR_OP_DIV, unit.hi, tr_em_conv(e, b.n, f64));
    tr_tv at = edge(e, &b, t, idx[0]), after = edge(e, &b, t, next(e, idx[0]));
    yields[0] = tr_em_select(e, caps[BINS], edge(e, &unit, t, idx[0]), at);
    yields[1] = tr_fam_and(e, tr_em_cmp(e, TR_CMP_LT, idx[0], b.n), tr_em_cmp(e, TR_CMP_GE, at, after));
    return true;
}

static bool make_edges(tr_em *e, const bins *b, const tr_ty *t, tr_tv is_unit, tr_tv *edges) {
    static const tr_redk any = TR_RED_OR;
    tr_tv n = tr_em_extent_sum(e, b->n, i64(e, 1)), init = tr_em_bool(e, false), bad;
    tr_tv caps[BINS + 1] = {b->n, b->lo, b->hi, b->step, is_unit};
    *edges = tr_em_alloc(e, t, 1, TR_LAYOUT_C, &n);
    tr_pdesc d = {.nspace = 1,
                  .nout = 1,
                  .nred = 1,
                  .ncap = BINS + 1,
                  .space = &n,
                  .out = edges,
                  .reds = &any,
                  .init = &init,
                  .caps = caps,
                  .lam = lam_edges,
                  .user = t};
    if (!tr_em_pattern(e, &d, &bad))
        return false;
    tr_em_check(e, tr_fam_not(e, bad), TR_EXC_VALUE,
                "Too many bins for data range. Cannot create {0} finite-sized bins.", 1, &b->n);
    return true;
}

/* What brings a distance from lo to a number of bins, in two steps, so that neither it nor the first product
 * overflows where lo and hi are nearly one: a power of two, then the rest. */
static void scales(tr_em *e, const bins *b, const tr_ty *t, tr_tv *first, tr_tv *second) {
    bool half = t->kind == TR_TY_F32;
    const tr_ty *wide = tr_fam_wide(e, b->lo.ty);
    tr_tv room =
        tr_em_conv(e, tr_em_op2(e, TR_OP_SUB, tr_em_conv(e, b->hi, wide), tr_em_conv(e, b->lo, wide)), t);
    tr_tv is_small = tr_em_cmp(e, TR_CMP_LT, room, tr_em_num(e, t, half ? 0x1p-80 : 0x1p-900));
    *first = tr_em_select(e, is_small, tr_em_num(e, t, half ? 0x1p60 : 0x1p600), tr_em_num(e, t, 1.0));
    *second = tr_em_op2(e, TR_OP_DIV, tr_em_conv(e, b->n, t), tr_em_op2(e, TR_OP_MUL, room, *first));
}

/* An item's bin: by a product that rounding may have moved past an edge by one; then it is the edges that
 * decide, as in NumPy. What lies in none adds nothing to the first. Bins are reckoned in float32 where edges
 * are float16, which has no whole numbers from 2,048 on. */
static bool lam_bin(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                    tr_tv *yields) {
    bins b = bins_of(caps);
    const tr_ty *own = d->user, *t = tr_fam_wide(e, own), *w = d->scat[0].ty->elem;
    tr_tv x = tr_em_conv(e, elems[0], t), lo = tr_em_conv(e, b.lo, t), hi = tr_em_conv(e, b.hi, t);
    tr_tv one = tr_em_num(e, t, 1.0), none = tr_em_num(e, t, 0.0),
          last = tr_em_op2(e, TR_OP_SUB, tr_em_conv(e, b.n, t), one);
    (void)idx;
    tr_tv in = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, x, lo), tr_em_cmp(e, TR_CMP_LE, x, hi));
    tr_tv part = tr_em_op2(e, TR_OP_MUL, tr_em_op2(e, TR_OP_SUB, x, lo), caps[BINS]);
    part = tr_fam_math1(e, TR_MATH_TRUNC, tr_em_op2(e, TR_OP_MUL, part, caps[BINS + 1]));
    tr_tv k = tr_em_select(e, tr_em_cmp(e, TR_CMP_GT, part, last), last, part);
    tr_tv after = tr_em_op2(e, TR_OP_ADD, k, one);
    tr_tv at = tr_em_conv(e, inner_edge(e, &b, own, k), t),
          to = tr_em_conv(e, inner_edge(e, &b, own, after), t);
    tr_tv below = tr_em_cmp(e, TR_CMP_LT, x, at);
    tr_tv above = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, x, to), tr_em_cmp(e, TR_CMP_LT, k, last));
    k = tr_em_select(e, below, tr_em_op2(e, TR_OP_SUB, k, one), tr_em_select(e, above, after, k));
    yields[0] = tr_em_conv(e, tr_em_select(e, in, k, none), tr_fam_ty(e, TR_TY_I64));
    yields[1] = tr_em_select(e, in, d->nin > 1 ? tr_em_conv(e, elems[1], w) : tr_em_num(e, w, 1.0),
                             tr_em_num(e, w, 0.0));
    return true;
}

static bool lam_density(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                        tr_tv *yields) {
    bins b = bins_of(caps);
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64);
    tr_tv width =
        tr_em_op2(e, TR_OP_SUB, edge(e, &b, d->user, next(e, idx[0])), edge(e, &b, d->user, idx[0]));
    tr_tv n = tr_em_op2(e, TR_OP_DIV, tr_em_conv(e, elems[0], f64), tr_em_conv(e, width, f64));
    yields[0] = tr_em_op2(e, TR_OP_DIV, n, tr_em_conv(e, caps[BINS], f64));
    return true;
}

/* Counts over the widths of their bins and over their sum. */
static bool densities(tr_em *e, const tr_bcall *c, const bins *b, const tr_tv *caps, const tr_ty *t,
                      tr_tv *counts) {
    tr_tv all[BINS + 1], args[6] = {*counts},
                         out = tr_em_alloc(e, tr_fam_ty(e, TR_TY_F64), 1, TR_LAYOUT_C, &b->n), none;
    for (unsigned i = 0; i < BINS; i++)
        all[i] = caps[i];
    if (!tr_lib_arr_sum(e, &(tr_bcall){.row = c->row, .aux = TR_RED_ADD, .n = 6, .a = args}, &all[BINS]))
        return false;
    tr_pdesc d = {.nspace = 1,
                  .nin = 1,
                  .nout = 1,
                  .ncap = BINS + 1,
                  .space = &b->n,
                  .in = counts,
                  .out = &out,
                  .caps = all,
                  .lam = lam_density,
                  .user = t};
    if (!tr_em_pattern(e, &d, &none))
        return false;
    *counts = out;
    return true;
}

/* The edges' type, that of floating-point items; others are float64. */
static const tr_ty *edges_of(tr_em *e, const tr_ty *items) {
    return tr_ty_is_float(items) ? items : tr_fam_ty(e, TR_TY_F64);
}

/* Items in a line, of numbers; and so their weights, as many. */
static bool items_arg(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *out) {
    tr_tv args[2] = {{NULL, TR_NOVAL}, {NULL, TR_NOVAL}};
    return tr_fam_as_array(e, c, x, NULL, &args[0]) &&
           tr_lib_arr_ravel(e, &(tr_bcall){.row = c->row, .n = 2, .a = args}, out);
}

/* Sums of weights are made in 64 bits and have the weights' type, as NumPy's. */
static bool as_weights(tr_em *e, tr_tv *counts, const tr_ty *t) {
    return counts->ty->elem == t || tr_fam_copy_as(e, *counts, t, TR_LAYOUT_C, counts);
}

static bool number_arg(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *n) {
    if (x.ty && !tr_fam_int(e, c, x, "bins", n))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, *n, i64(e, 1)), TR_EXC_VALUE,
                "`bins` must be positive, when an integer", 0, NULL);
    return true;
}

/* in: the items, and where it is given the weights. */
static bool lines_of(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv w, tr_tv *in, unsigned *n) {
    *n = tr_fam_given(w) ? 2 : 1;
    if (!items_arg(e, c, a, &in[0]) || !line_arg(e, c, in[0], "a", "bif", &in[0]))
        return false;
    if (*n == 1)
        return true;
    if (!items_arg(e, c, w, &in[1]) || !line_arg(e, c, in[1], "weights", "if", &in[1]))
        return false;
    if (tr_lib_is_array(a) && tr_lib_is_array(w) && a.ty->ndim != w.ty->ndim)
        return tr_em_error(e, "%s(): weights should have the same shape as a.", tr_fam_name(c));
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, tr_em_dim(e, in[1], 0), tr_em_dim(e, in[0], 0)), TR_EXC_VALUE,
                "weights should have the same shape as a.", 0, NULL);
    return true;
}

/* --- histogram with edges --- */

enum { EDGES = 3 }; /* captures before those of the search */

static bool lam_falls(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                      tr_tv *yields) {
    tr_tv after = next(e, idx[0]);
    (void)d;
    (void)elems;
    yields[0] = tr_em_cmp(e, TR_CMP_GT, tr_em_load(e, caps[0], idx), tr_em_load(e, caps[0], &after));
    return true;
}

/* Edges in a line, at least one, none of which is above the next. n: the number of bins. */
static bool edges_arg(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *edges, tr_tv *n) {
    static const tr_redk any = TR_RED_OR;
    tr_tv init = tr_em_bool(e, false), falls;
    if (!line_arg(e, c, x, "bins", "bif", edges))
        return false;
    tr_tv have = tr_em_dim(e, *edges, 0), some = tr_em_cmp(e, TR_CMP_GT, have, i64(e, 0));
    tr_em_check(e, some, TR_EXC_VALUE, "`bins` must have at least one edge, when an array", 0, NULL);
    *n = tr_em_nsw(e, TR_OP_SUB, have, i64(e, 1));
    tr_pdesc d = {.nspace = 1,
                  .nred = 1,
                  .ncap = 1,
                  .space = n,
                  .reds = &any,
                  .init = &init,
                  .caps = edges,
                  .lam = lam_falls};
    if (!tr_em_pattern(e, &d, &falls))
        return false;
    tr_em_check(e, tr_fam_not(e, falls), TR_EXC_VALUE, "`bins` must increase monotonically, when an array", 0,
                NULL);
    return true;
}

/* An item and how many edges are not above it: its bin, and what is added there. Captures: the
 * number of bins, the first edge and the last. What lies at the last edge is in the last bin, what
 * lies in none adds nothing to the first. */
static void put_between(tr_em *e, const tr_ty *t, tr_tv item, tr_tv place, const tr_tv *weight,
                        const tr_ty *w, const tr_tv *caps, tr_tv *yields) {
    tr_tv one = i64(e, 1), x = tr_em_conv(e, item, t), k = tr_em_nsw(e, TR_OP_SUB, place, one),
          last = tr_em_nsw(e, TR_OP_SUB, caps[0], one);
    tr_tv in = tr_fam_and(e, tr_em_cmp(e, TR_CMP_GE, x, tr_em_conv(e, caps[1], t)),
                          tr_em_cmp(e, TR_CMP_LE, x, tr_em_conv(e, caps[2], t)));
    k = tr_em_op2(e, TR_OP_MIN, k, last);
    yields[0] = tr_em_select(e, in, k, i64(e, 0));
    yields[1] =
        tr_em_select(e, in, weight ? tr_em_conv(e, *weight, w) : tr_em_num(e, w, 1.0), tr_em_num(e, w, 0.0));
}

/* in: items, places, weights. */
static bool lam_between(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                        tr_tv *yields) {
    const tr_search *s = d->user;
    (void)idx;
    put_between(e, s->t, elems[0], elems[1], d->nin > 2 ? &elems[2] : NULL, d->scat[0].ty->elem, caps,
                yields);
    return true;
}

/* in: items, weights; the edges are searched here. */
static bool lam_search(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                       tr_tv *yields) {
    tr_search s = tr_fam_search_of(d->user, caps + EDGES);
    (void)idx;
    put_between(e, s.t, elems[0], tr_fam_search_few(e, &s, elems[0]), d->nin > 1 ? &elems[1] : NULL,
                d->scat[0].ty->elem, caps, yields);
    return true;
}

static bool lam_edge_density(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems,
                             const tr_tv *caps, tr_tv *yields) {
    const tr_ty *f64 = tr_fam_ty(e, TR_TY_F64);
    tr_tv after = next(e, idx[0]);
    (void)d;
    tr_tv width = tr_em_op2(e, TR_OP_SUB, tr_em_conv(e, tr_em_load(e, caps[0], &after), f64),
                            tr_em_conv(e, tr_em_load(e, caps[0], idx), f64));
    tr_tv n = tr_em_op2(e, TR_OP_DIV, tr_em_conv(e, elems[0], f64), width);
    yields[0] = tr_em_op2(e, TR_OP_DIV, n, tr_em_conv(e, caps[1], f64));
    return true;
}

static bool edge_densities(tr_em *e, const tr_bcall *c, tr_tv n, tr_tv edges, tr_tv *counts) {
    tr_tv caps[2] = {edges}, args[6] = {*counts},
          out = tr_em_alloc(e, tr_fam_ty(e, TR_TY_F64), 1, TR_LAYOUT_C, &n), none;
    if (!tr_lib_arr_sum(e, &(tr_bcall){.row = c->row, .aux = TR_RED_ADD, .n = 6, .a = args}, &caps[1]))
        return false;
    tr_pdesc d = {.nspace = 1,
                  .nin = 1,
                  .nout = 1,
                  .ncap = 2,
                  .space = &n,
                  .in = counts,
                  .out = &out,
                  .caps = caps,
                  .lam = lam_edge_density};
    if (!tr_em_pattern(e, &d, &none))
        return false;
    *counts = out;
    return true;
}

/* A scatter into what items are between; without bins there is none. Where few edges may be
 * near an item, they are looked at on the way, else how many are not above it is found
 * before: one of the two has nothing to do. */
static bool count_between(tr_em *e, const tr_bcall *c, tr_tv edges, tr_tv nbins, const tr_tv *items,
                          unsigned nitems, tr_tv counts) {
    static const uint8_t add = TR_RED_ADD;
    tr_tv zero = i64(e, 0), n = tr_em_dim(e, items[0], 0), in[3], caps[EDGES + TR_SEARCH_CAPS] = {nbins},
          search[3] = {edges, items[0]}, none;
    tr_search s = {.right = true};
    if (!tr_fam_search_begin(e, &(tr_bcall){.row = c->row, .n = 3, .a = search}, &s))
        return false;
    caps[1] = tr_em_load(e, edges, &zero);
    caps[2] = tr_em_load(e, edges, &nbins);
    tr_fam_search_put(&s, caps + EDGES);
    n = tr_em_select(e, tr_em_cmp(e, TR_CMP_GT, nbins, zero), n, zero);
    tr_tv near = tr_em_select(e, s.few, n, zero), far = tr_em_select(e, s.few, zero, n);
    tr_pdesc d = {.nspace = 1,
                  .nin = nitems,
                  .nscat = 1,
                  .ncap = EDGES + TR_SEARCH_CAPS,
                  .space = &near,
                  .in = in,
                  .scat = &counts,
                  .scats = &add,
                  .caps = caps,
                  .lam = lam_search,
                  .user = tr_arena_copy(&e->ctx->arena, &s, sizeof s)};
    for (unsigned i = 0; i < nitems; i++)
        in[i] = tr_fam_part(e, items[i], 0, zero, near);
    if (!tr_em_fill(e, counts, tr_em_num(e, counts.ty->elem, 0.0)) || !tr_em_pattern(e, &d, &none))
        return false;
    for (unsigned i = 0; i < nitems; i++)
        in[2 * i] = tr_fam_part(e, items[i], 0, zero, far);
    d.nin = nitems + 1;
    d.ncap = EDGES;
    d.space = &far;
    d.lam = lam_between;
    return tr_fam_search_all(e, &s, in[0], &in[1]) && tr_em_pattern(e, &d, &none);
}

static bool histogram_of_edges(tr_em *e, const tr_bcall *c, tr_tv *out) {
    static const tr_tv absent = {NULL, TR_NOVAL};
    tr_tv in[2] = {absent, absent}, edges, n;
    unsigned nin;
    bool density;
    if (!edges_arg(e, c, c->a[1], &edges, &n) || !lines_of(e, c, c->a[0], c->a[4], in, &nin) ||
        !tr_fam_flag(e, c, tr_fam_given(c->a[3]) ? c->a[3] : absent, "density", false, &density))
        return false;
    const tr_ty *w = nin > 1 ? in[1].ty->elem : tr_fam_ty(e, TR_TY_I64);
    tr_tv counts =
        tr_em_alloc(e, tr_fam_ty(e, tr_ty_is_float(w) ? TR_TY_F64 : TR_TY_I64), 1, TR_LAYOUT_C, &n);
    if (!count_between(e, c, edges, n, in, nin, counts) ||
        !(density ? edge_densities(e, c, n, edges, &counts) : as_weights(e, &counts, w)))
        return false;
    *out = tr_em_tuple(e, 2, (tr_tv[]){counts, edges});
    return true;
}

/* Parameters: a, bins, range, density, weights. Bins are a number, or edges. */
bool tr_lib_np_histogram(tr_em *e, const tr_bcall *c, tr_tv *out) {
    static const uint8_t add = TR_RED_ADD;
    if (c->a[1].ty && (tr_lib_is_array(c->a[1]) || c->a[1].ty->kind == TR_TY_TUPLE))
        return histogram_of_edges(e, c, out);
    static const tr_tv absent = {NULL, TR_NOVAL};
    tr_tv in[2], counts, edges, none;
    unsigned nin;
    bool density;
    bins b = {.n = i64(e, 10)};
    if (!number_arg(e, c, c->a[1], &b.n) || !lines_of(e, c, c->a[0], c->a[4], in, &nin) ||
        !tr_fam_flag(e, c, tr_fam_given(c->a[3]) ? c->a[3] : absent, "density", false, &density))
        return false;
    const tr_ty *t = edges_of(e, in[0].ty->elem), *w = nin > 1 ? in[1].ty->elem : tr_fam_ty(e, TR_TY_I64);
    tr_tv n = tr_em_dim(e, in[0], 0),
          is_unit = tr_em_cmp(e, TR_CMP_EQ, n, i64(e, tr_fam_given(c->a[2]) ? -1 : 0));
    if (!range_arg(e, c, in[0], c->a[2], t, &b) || !make_edges(e, &b, t, is_unit, &edges))
        return false;
    counts = tr_em_alloc(e, tr_fam_ty(e, tr_ty_is_float(w) ? TR_TY_F64 : TR_TY_I64), 1, TR_LAYOUT_C, &b.n);
    tr_tv caps[BINS + 2] = {b.n, b.lo, b.hi, b.step};
    scales(e, &b, tr_fam_wide(e, t), &caps[BINS], &caps[BINS + 1]);
    tr_pdesc d = {.nspace = 1,
                  .nin = nin,
                  .nscat = 1,
                  .ncap = BINS + 2,
                  .space = &n,
                  .in = in,
                  .scat = &counts,
                  .scats = &add,
                  .caps = caps,
                  .lam = lam_bin,
                  .user = t};
    if (!tr_em_fill(e, counts, tr_em_num(e, counts.ty->elem, 0.0)) || !tr_em_pattern(e, &d, &none) ||
        !(density ? densities(e, c, &b, caps, t, &counts) : as_weights(e, &counts, w)))
        return false;
    *out = tr_em_tuple(e, 2, (tr_tv[]){counts, edges});
    return true;
}
