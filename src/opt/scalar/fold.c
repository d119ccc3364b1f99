/* Constant folding and identities (algebraic simplification).
 *
 * Every rule keeps every bit: signed zeros, NaNs and wrap-around included. A rule returns the value that
 * replaces the instruction, or TR_NOVAL. One sweep in reverse post-order: operands are simplified before
 * their users, and branches that become known are left to `simplify`. A check that always holds is removed.
 *
 * To add a rule: a line or a small function in the section of its op; it may read operands' definitions and
 * make constants, and must not look at users. */
#include <math.h>
#include <string.h>

#include "ir/alias.h"
#include "ir/ports.h"
#include "opt/priv.h"

typedef struct folder {
    tr_fn *f;
    tr_repl r;
    bool changed;
} folder;

static const tr_ins *def(const folder *s, tr_val v) {
    return tr_at(s->f, v);
}
static const tr_ty *type(const folder *s, tr_val v) {
    return tr_at(s->f, v)->ty;
}
static bool is_op(const folder *s, tr_val v, tr_op op) {
    return tr_at(s->f, v)->op == op;
}

/* A constant bool or integer operand. */
static bool get_lit(const folder *s, tr_val v, int64_t *out) {
    return type(s, v) && tr_opt_is_int_type(type(s, v)) && tr_get_int(s->f, v, out);
}

static bool is_lit(const folder *s, tr_val v, int64_t want) {
    int64_t k;
    return get_lit(s, v, &k) && k == want;
}

static bool is_float_lit(const folder *s, tr_val v, double want) {
    const tr_ins *d = def(s, v);
    return d->op == TR_OP_CONST && d->ty && tr_ty_is_float(d->ty) && !memcmp(&d->imm.f, &want, sizeof want);
}

static tr_val num(folder *s, const tr_ty *t, int64_t k) {
    return tr_const_int(s->f, t, k);
}

/* --- integers --- */

static bool all_ones(const folder *s, tr_val v) {
    int64_t k;
    const tr_ty *t = type(s, v);
    return get_lit(s, v, &k) &&
           (t->kind == TR_TY_BOOL   ? k == 1
            : tr_ty_class(t) == 'i' ? k == -1
                                    : k == (int64_t)(UINT64_MAX >> (64 - 8 * tr_ty_size(t))));
}

/* (x + a) + b, (x - a) + b ...: one constant. Wrapping arithmetic allows it; no-wrap promises are lost. */
static tr_val join_constants(folder *s, tr_val v) {
    int64_t a, b;
    tr_ins in = *def(s, v);
    const tr_ins *inner = def(s, in.args[0]);
    if ((inner->op != TR_OP_ADD && inner->op != TR_OP_SUB) || !get_lit(s, in.args[1], &b) ||
        !get_lit(s, inner->args[1], &a))
        return TR_NOVAL;
    uint64_t sum = (inner->op == TR_OP_ADD ? (uint64_t)a : 0 - (uint64_t)a) +
                   (in.op == TR_OP_ADD ? (uint64_t)b : 0 - (uint64_t)b);
    tr_val x = inner->args[0], c = num(s, in.ty, (int64_t)sum);
    if (is_lit(s, c, 0))
        return x;
    tr_ins *w = tr_at(s->f, v);
    w->op = TR_OP_ADD;
    w->flags = 0;
    w->args[0] = x;
    w->args[1] = c;
    s->changed = true;
    return TR_NOVAL;
}

static tr_val fold_add(folder *s, tr_val v) {
    const tr_ins *in = def(s, v);
    tr_val x = in->args[0], y = in->args[1];
    if (is_lit(s, y, 0))
        return x;
    if (is_lit(s, x, 0))
        return y;
    return join_constants(s, v);
}

static tr_val fold_sub(folder *s, tr_val v) {
    const tr_ins *in = def(s, v);
    tr_val x = in->args[0], y = in->args[1];
    const tr_ins *dx = def(s, x), *dy = def(s, y);
    if (is_lit(s, y, 0))
        return x;
    if (x == y)
        return num(s, in->ty, 0);
    if (dx->op == TR_OP_ADD && dx->args[0] == y) /* (y + k) - y */
        return dx->args[1];
    if (dx->op == TR_OP_ADD && dx->args[1] == y)
        return dx->args[0];
    if (dy->op == TR_OP_SUB && dy->args[0] == x) /* x - (x - k) */
        return dy->args[1];
    return join_constants(s, v);
}

static tr_val fold_mul(folder *s, tr_val v) {
    const tr_ins *in = def(s, v);
    for (int i = 0; i < 2; i++) {
        if (is_lit(s, in->args[i], 1))
            return in->args[1 - i];
        if (is_lit(s, in->args[i], 0))
            return in->args[i];
    }
    return TR_NOVAL;
}

static tr_val fold_and_or(folder *s, tr_val v) {
    const tr_ins *in = def(s, v);
    bool is_and = in->op == TR_OP_AND;
    if (in->args[0] == in->args[1])
        return in->args[0];
    for (int i = 0; i < 2; i++) {
        tr_val k = in->args[i], other = in->args[1 - i];
        if (is_and ? all_ones(s, k) : is_lit(s, k, 0))
            return other;
        if (is_and ? is_lit(s, k, 0) : all_ones(s, k))
            return k;
    }
    return TR_NOVAL;
}

/* Powers of 2 and -1. The least bit of an exponent says all of -1's; shifts by 64 and more, and by what is
 * negative, give 0, as do such powers. */
static tr_val fold_int_power(folder *s, tr_val v) {
    const tr_ins *in = def(s, v);
    const tr_ty *t = in->ty;
    tr_val x = in->args[0], y = in->args[1];
    tr_bld b = {.fn = s->f, .blk = in->blk, .before = v, .loc = in->loc};
    if (is_lit(s, y, 1))
        return x;
    if (tr_ty_size(t) != 8 || !tr_is_const(def(s, x)))
        return TR_NOVAL;
    tr_val one = num(s, t, 1);
    if (is_lit(s, x, 2))
        return tr_emit2(&b, TR_OP_SHL, t, one, y);
    if (t->kind != TR_TY_I64 || !is_lit(s, x, -1))
        return TR_NOVAL;
    tr_val odd = tr_emit2(&b, TR_OP_AND, t, y, one);
    return tr_emit2(&b, TR_OP_SUB, t, one, tr_emit2(&b, TR_OP_SHL, t, odd, one));
}

static tr_val fold_int(folder *s, tr_val v) {
    const tr_ins *in = def(s, v);
    tr_val x = in->args[0], y = in->nargs > 1 ? in->args[1] : TR_NOVAL;
    switch ((tr_op)in->op) {
    case TR_OP_ADD: return fold_add(s, v);
    case TR_OP_SUB: return fold_sub(s, v);
    case TR_OP_MUL: return fold_mul(s, v);
    case TR_OP_AND:
    case TR_OP_OR: return fold_and_or(s, v);
    case TR_OP_XOR: return x == y ? num(s, in->ty, 0) : is_lit(s, y, 0) ? x : is_lit(s, x, 0) ? y : TR_NOVAL;
    case TR_OP_SHL:
    case TR_OP_SHR: return is_lit(s, y, 0) ? x : TR_NOVAL;
    case TR_OP_QUOT:
    case TR_OP_FLOORDIV: return is_lit(s, y, 1) ? x : TR_NOVAL;
    case TR_OP_REM:
    case TR_OP_FLOORMOD: return is_lit(s, y, 1) ? num(s, in->ty, 0) : TR_NOVAL;
    case TR_OP_POW: return fold_int_power(s, v);
    case TR_OP_NEG:
    case TR_OP_NOT: return is_op(s, x, (tr_op)in->op) ? def(s, x)->args[0] : TR_NOVAL;
    default: return TR_NOVAL;
    }
}

/* Lowering squares by a product, too; said here, passes see that a square is little work. */
static tr_val fold_square(folder *s, tr_val v) {
    const tr_ins *in = def(s, v);
    tr_bld b = {.fn = s->f, .blk = in->blk, .before = v, .loc = in->loc};
    return tr_emit2(&b, TR_OP_MUL, in->ty, in->args[0], in->args[0]);
}

/* --- floats: x + 0.0 is not x for x = -0.0, but x - 0.0 and x * 1.0 are --- */

static tr_val fold_float(folder *s, tr_val v) {
    const tr_ins *in = def(s, v);
    tr_val x = in->args[0], y = in->nargs > 1 ? in->args[1] : TR_NOVAL;
    switch ((tr_op)in->op) {
    case TR_OP_ADD: return is_float_lit(s, y, -0.0) ? x : is_float_lit(s, x, -0.0) ? y : TR_NOVAL;
    case TR_OP_SUB: return is_float_lit(s, y, 0.0) ? x : TR_NOVAL;
    case TR_OP_MUL: return is_float_lit(s, y, 1.0) ? x : is_float_lit(s, x, 1.0) ? y : TR_NOVAL;
    case TR_OP_DIV: return is_float_lit(s, y, 1.0) ? x : TR_NOVAL;
    case TR_OP_POW: return is_float_lit(s, y, 2.0) ? fold_square(s, v) : TR_NOVAL;
    case TR_OP_NEG: return is_op(s, x, TR_OP_NEG) ? def(s, x)->args[0] : TR_NOVAL;
    case TR_OP_ABS: return is_op(s, x, TR_OP_ABS) && def(s, x)->ty == in->ty ? x : TR_NOVAL;
    default: return TR_NOVAL;
    }
}

/* --- comparisons and conditions --- */

static tr_val fold_cmp(folder *s, tr_val v) {
    const tr_ins *in = def(s, v);
    if (in->args[0] != in->args[1] || !tr_opt_is_int_type(type(s, in->args[0])))
        return TR_NOVAL;
    return num(s, in->ty, in->sub == TR_CMP_EQ || in->sub == TR_CMP_LE || in->sub == TR_CMP_GE);
}

/* not (a < b) is a >= b for integers; for floats it is not: NaN. */
static void invert_cmp(folder *s, tr_val v) {
    tr_ins *in = tr_at(s->f, v);
    const tr_ins *c = def(s, in->args[0]);
    if (c->op != TR_OP_CMP || !tr_opt_is_int_type(type(s, c->args[0])))
        return;
    in->op = TR_OP_CMP;
    in->sub = (uint8_t)tr_cmp_inverse[c->sub];
    in->nargs = 2;
    in->args = tr_arena_copy(&s->f->ctx->arena, c->args, 2 * sizeof *c->args);
    s->changed = true;
}

/* The smaller or larger one of two integers, chosen by a comparison of both, has a name. */
static void name_extreme(folder *s, tr_val v) {
    tr_ins *in = tr_at(s->f, v);
    const tr_ins *c = def(s, in->args[0]);
    if (c->op != TR_OP_CMP || c->sub == TR_CMP_EQ || c->sub == TR_CMP_NE || !tr_ty_is_int(in->ty))
        return;
    tr_val x = in->args[1], y = in->args[2];
    bool same = c->args[0] == x && c->args[1] == y, swapped = c->args[0] == y && c->args[1] == x,
         less = c->sub == TR_CMP_LT || c->sub == TR_CMP_LE;
    if (!same && !swapped)
        return;
    in->op = same == less ? TR_OP_MIN : TR_OP_MAX;
    in->nargs = 2;
    in->args++;
    s->changed = true;
}

static tr_val fold_extreme(folder *s, tr_val v) {
    const tr_ins *in = def(s, v);
    tr_val x = in->args[0], y = in->args[1];
    if (x == y || (in->op == TR_OP_MAX && is_op(s, x, TR_OP_DIM) && is_lit(s, y, 0)))
        return x; /* a size is never negative */
    return TR_NOVAL;
}

/* range(n), and a range without items. */
static tr_val fold_range(folder *s, tr_val v) {
    tr_ins *in = tr_at(s->f, v);
    tr_val start = in->args[0], stop = in->args[1];
    if (start == stop)
        return num(s, in->ty, 0);
    if (is_lit(s, start, 0) && is_lit(s, in->args[2], 1)) {
        in->op = TR_OP_MAX;
        in->nargs = 2;
        in->args = tr_arena_copy(&s->f->ctx->arena, (tr_val[]){stop, start}, 2 * sizeof stop);
        s->changed = true;
        return fold_extreme(s, v);
    }
    return TR_NOVAL;
}

static tr_val fold_select(folder *s, tr_val v) {
    const tr_ins *in = def(s, v);
    tr_val c = in->args[0], x = in->args[1], y = in->args[2];
    int64_t k;
    if (tr_get_int(s->f, c, &k))
        return k ? x : y;
    if (x == y)
        return x;
    if (in->ty->kind == TR_TY_BOOL && is_lit(s, x, 1) && is_lit(s, y, 0))
        return c;
    name_extreme(s, v);
    return TR_NOVAL;
}

/* --- conversions --- */

/* Does the inner conversion keep every value of its operand apart, so that the outer one can start from
 * there? */
static bool type_widens_to(const tr_ty *from, const tr_ty *to) {
    char a = tr_ty_class(from), b = tr_ty_class(to);
    if (a == 'b')
        return b == 'b' || b == 'i' || b == 'u';
    if (a != 'i' && a != 'u')
        return false;
    if (b == a)
        return tr_ty_size(to) >= tr_ty_size(from);
    return a == 'u' && b == 'i' && tr_ty_size(to) > tr_ty_size(from);
}

static tr_val fold_conv(folder *s, tr_val v) {
    tr_ins *in = tr_at(s->f, v);
    tr_val x = in->args[0];
    if (type(s, x) == in->ty)
        return x;
    const tr_ins *dx = def(s, x);
    if (dx->op != TR_OP_CONV || !tr_ty_is_scalar(in->ty) || !tr_opt_is_int_type(type(s, dx->args[0])))
        return TR_NOVAL;
    const tr_ty *from = type(s, dx->args[0]);
    bool same_width = tr_opt_is_int_type(dx->ty) && dx->ty->kind != TR_TY_BOOL && from->kind != TR_TY_BOOL &&
                      tr_ty_size(dx->ty) == tr_ty_size(from);
    /* int64 -> uint64 -> int64 gives the same bits back; a widened value converts as the value itself */
    if (from == in->ty && (same_width || type_widens_to(from, dx->ty)))
        return dx->args[0];
    if (type_widens_to(from, dx->ty) && tr_opt_is_int_type(in->ty)) {
        in->args[0] = dx->args[0];
        s->changed = true;
    }
    return TR_NOVAL;
}

/* --- values made of parts --- */

/* Is t a choice among tuples that are made here, with part k of the type ty? */
static bool chooses_tuples(const folder *s, tr_val t, int64_t k, const tr_ty *ty, unsigned deep) {
    const tr_ins *in = def(s, t);
    if (in->op == TR_OP_SELECT)
        return deep && chooses_tuples(s, in->args[1], k, ty, deep - 1) &&
               chooses_tuples(s, in->args[2], k, ty, deep - 1);
    return in->op == TR_OP_TUPLE && k >= 0 && k < in->nargs && type(s, in->args[k]) == ty;
}

/* Part k of what chooses_tuples() is true of. */
static tr_val chosen_part(folder *s, tr_bld *b, tr_val t, int64_t k, const tr_ty *ty) {
    const tr_ins in = *def(s, t);
    if (in.op == TR_OP_TUPLE)
        return in.args[k];
    tr_val x = chosen_part(s, b, in.args[1], k, ty), y = chosen_part(s, b, in.args[2], k, ty);
    return x == y ? x : tr_emit3(b, TR_OP_SELECT, ty, in.args[0], x, y);
}

/* A part of tuples that are chosen from (`for di, dj in ((1, 0), (0, 1))`) is a choice
 * among numbers, of which more is known. */
static tr_val fold_extract(folder *s, tr_val v) {
    enum { DEEP = 6 };
    const tr_ins *in = def(s, v);
    const tr_ty *ty = in->ty;
    tr_val t = in->args[0];
    int64_t k = in->imm.i;
    bool choice = is_op(s, t, TR_OP_SELECT);
    if ((choice && !tr_ty_is_scalar(ty) && ty->kind != TR_TY_TUPLE) || !chooses_tuples(s, t, k, ty, DEEP))
        return TR_NOVAL;
    tr_bld b = {.fn = s->f, .blk = in->blk, .before = v, .loc = in->loc};
    return chosen_part(s, &b, t, k, ty);
}

/* An item of a row of a frozen array is one of that array, of which it is known what it holds. */
static tr_val fold_load(folder *s, tr_val v) {
    tr_ins *in = tr_at(s->f, v);
    const tr_ins *a = def(s, in->args[0]);
    if (a->op != TR_OP_VIEW || !is_op(s, a->args[0], TR_OP_CONSTARR) ||
        a->ty->elem != type(s, a->args[0])->elem)
        return TR_NOVAL;
    uint32_t n = tr_view_nbase(a);
    tr_val *args = TR_NEW_N(&s->f->ctx->arena, tr_val, n + 1u);
    memcpy(args, a->args, (n + 1u) * sizeof *args);
    for (unsigned k = 0; k < a->ty->ndim; k++) {
        int axis = tr_view_axis(a, k);
        if (axis < 0 || !is_lit(s, tr_view_starts(a)[axis], 0) || !is_lit(s, tr_view_steps(a)[k], 1))
            return TR_NOVAL;
        args[1 + axis] = in->args[1 + k];
    }
    in->args = args;
    in->nargs = (uint16_t)(n + 1u);
    s->changed = true;
    return TR_NOVAL;
}

static tr_val fold_dim(folder *s, tr_val v) {
    const tr_ins *in = def(s, v), *a = def(s, in->args[0]);
    uint32_t axis = (uint32_t)in->imm.i;
    if (tr_made_sizes(a))
        return tr_made_sizes(a)[axis];
    if (a->op == TR_OP_CONSTARR)
        return num(s, in->ty, a->imm.obj->u.a.shape[axis]);
    return TR_NOVAL;
}

static tr_val fold_stride(folder *s, tr_val v) {
    const tr_ins *in = def(s, v), *a = def(s, in->args[0]);
    const tr_ty *t = a->ty;
    uint32_t axis = (uint32_t)in->imm.i;
    if ((t->layout == TR_LAYOUT_C && axis + 1u == t->ndim) || (t->layout == TR_LAYOUT_F && axis == 0))
        return num(s, in->ty, 1);
    if (a->op == TR_OP_RESTRIDE && t->layout == TR_LAYOUT_ANY)
        return a->args[2u + t->ndim + axis];
    if (a->op == TR_OP_VIEW && tr_view_axis(a, axis) < 0)
        return t->layout == TR_LAYOUT_ANY ? num(s, in->ty, 0) : TR_NOVAL;
    if (a->op == TR_OP_VIEW && is_lit(s, tr_view_steps(a)[axis], 1)) {
        tr_at(s->f, v)->args[0] = a->args[0];
        tr_at(s->f, v)->imm.i = tr_view_axis(a, axis);
        s->changed = true;
    }
    return TR_NOVAL;
}

/* Each axis from its beginning, step by step. */
static bool view_is_all_of_base(const folder *s, const tr_ins *in) {
    if (tr_view_nbase(in) != in->ty->ndim)
        return false;
    for (unsigned k = 0; k < in->ty->ndim; k++)
        if (tr_view_axis(in, k) != (int)k || !is_lit(s, tr_view_starts(in)[k], 0) ||
            !is_lit(s, tr_view_steps(in)[k], 1))
            return false;
    return true;
}

/* The beginning of view a is a view of what a is one of. */
static void compose_views(folder *s, tr_ins *in, const tr_ins *a) {
    unsigned n = in->ty->ndim;
    tr_val *args = tr_arena_copy(&s->f->ctx->arena, a->args, a->nargs * sizeof *args);
    memcpy(args + 1 + tr_view_nbase(a), tr_made_sizes(in), n * sizeof *args);
    in->args = args;
    in->nargs = a->nargs;
    in->imm = a->imm;
    s->changed = true;
}

/* Is v what an array's axis measures: its size, or with STRIDE its distance? */
static bool is_own_measure(const folder *s, tr_val v, tr_op what, tr_val array, unsigned axis) {
    const tr_ins *in = def(s, v), *a = def(s, array);
    if (what == TR_OP_DIM && tr_made_sizes(a) && tr_made_sizes(a)[axis] == v)
        return true;
    return in->op == what && in->args[0] == array && in->imm.i == (int64_t)axis;
}

/* All of an array, as it lies: what is left of a copy that turned out not to be needed. */
static tr_val fold_restride(folder *s, tr_val v) {
    const tr_ins *in = def(s, v);
    tr_val base = in->args[0];
    unsigned n = in->ty->ndim;
    bool all = type(s, base) == in->ty && is_lit(s, in->args[1], 0);
    for (unsigned k = 0; all && k < n; k++)
        all = is_own_measure(s, in->args[2 + k], TR_OP_DIM, base, k) &&
              (in->ty->layout != TR_LAYOUT_ANY ||
               is_own_measure(s, in->args[2 + n + k], TR_OP_STRIDE, base, k));
    return all ? base : TR_NOVAL;
}

/* All of an array, under the type that it has. */
static tr_val fold_view(folder *s, tr_val v) {
    tr_ins *in = tr_at(s->f, v);
    const tr_ins *a = def(s, in->args[0]);
    bool same = in->ty == a->ty && view_is_all_of_base(s, in);
    for (unsigned k = 0; k < in->ty->ndim && same; k++)
        same = is_own_measure(s, tr_made_sizes(in)[k], TR_OP_DIM, in->args[0], k);
    if (!same && a->op == TR_OP_VIEW && view_is_all_of_base(s, in))
        compose_views(s, in, a);
    return same ? in->args[0] : TR_NOVAL;
}

/* One array is made here, and the other was there before. */
static tr_val fold_apart(folder *s, tr_val v) {
    const tr_ins *in = def(s, v);
    return tr_arrays_distinct(s->f, in->args[0], in->args[1], in->blk) ? num(s, in->ty, in->op == TR_OP_APART)
                                                                       : TR_NOVAL;
}

static tr_val fold_part(folder *s, tr_val v) {
    const tr_ins *in = def(s, v), *z = def(s, in->args[0]);
    if (z->op == TR_OP_CPLX)
        return z->args[in->op == TR_OP_RE ? 0 : 1];
    return TR_NOVAL;
}

static tr_val fold_cplx(folder *s, tr_val v) {
    const tr_ins *in = def(s, v), *re = def(s, in->args[0]), *im = def(s, in->args[1]);
    bool whole = re->op == TR_OP_RE && im->op == TR_OP_IM && re->args[0] == im->args[0] &&
                 type(s, re->args[0]) == in->ty;
    return whole ? re->args[0] : TR_NOVAL;
}

/* --- checks --- */

static tr_val fold_wrap(folder *s, tr_val v) {
    const tr_ins *in = def(s, v);
    int64_t i, n;
    if (!get_lit(s, in->args[0], &i))
        return TR_NOVAL;
    if (i >= 0)
        return in->args[0];
    return get_lit(s, in->args[1], &n) ? num(s, in->ty, (int64_t)((uint64_t)i + (uint64_t)n)) : TR_NOVAL;
}

/* Sizes that are known to agree. */
static tr_val fold_broadcast(folder *s, tr_val v) {
    const tr_ins *in = def(s, v);
    tr_val x = in->args[0], y = in->args[1];
    if (x == y || is_lit(s, x, 1))
        return y;
    return in->op == TR_OP_BCAST && is_lit(s, y, 1) ? x : TR_NOVAL;
}

/* True for a check that always holds. */
static bool check_always_holds(const folder *s, const tr_ins *in) {
    int64_t i, n;
    if (in->op == TR_OP_CHECKIDX)
        return get_lit(s, in->args[0], &i) && get_lit(s, in->args[1], &n) && i >= 0 && i < n;
    return in->op == TR_OP_CHECK && is_lit(s, in->args[0], 1);
}

/* --- order of operands: constants stand right, so that rules look for them there only --- */

static bool is_const_val(const folder *s, tr_val v) {
    return tr_is_const(def(s, v));
}

static void order_operands(folder *s, tr_val v) {
    tr_ins *in = tr_at(s->f, v);
    if ((!tr_opt_commutes((tr_op)in->op) && in->op != TR_OP_CMP) ||
        !tr_opt_is_int_type(type(s, in->args[0])) || !is_const_val(s, in->args[0]) ||
        is_const_val(s, in->args[1]))
        return;
    tr_val x = in->args[0];
    in->args[0] = in->args[1];
    in->args[1] = x;
    if (in->op == TR_OP_CMP)
        in->sub = (uint8_t)tr_cmp_mirrored[in->sub];
    s->changed = true;
}

/* What is reduced of nothing is what it began with (`np.add.reduce(np.empty(0))`, an identity). */
static tr_val fold_pattern(folder *s, tr_val v) {
    const tr_ins *in = def(s, v);
    const tr_pat *t = in->imm.pat;
    bool none = false;
    for (uint32_t k = 0; k < t->nspace; k++)
        none = none || is_lit(s, in->args[k], 0);
    if (!none || t->keep || t->epi || t->nfold != 1 ||
        !tr_pat_has_only(t, P_(SPACE) | P_(IN) | P_(RED) | P_(CAP)))
        return TR_NOVAL;
    tr_val start = in->args[tr_pat_at(t, P_RED)];
    return type(s, start) == in->ty ? start : TR_NOVAL;
}

/* --- dispatch --- */

static tr_val simplify(folder *s, tr_val v) {
    const tr_ins *in = def(s, v);
    switch ((tr_op)in->op) {
    case TR_OP_CMP: return fold_cmp(s, v);
    case TR_OP_SELECT: return fold_select(s, v);
    case TR_OP_MIN:
    case TR_OP_MAX: return fold_extreme(s, v);
    case TR_OP_RANGELEN: return fold_range(s, v);
    case TR_OP_CONV: return fold_conv(s, v);
    case TR_OP_EXTRACT: return fold_extract(s, v);
    case TR_OP_LOAD: return fold_load(s, v);
    case TR_OP_DIM: return fold_dim(s, v);
    case TR_OP_OVERLAP:
    case TR_OP_APART: return fold_apart(s, v);
    case TR_OP_STRIDE: return fold_stride(s, v);
    case TR_OP_RESTRIDE: return fold_restride(s, v);
    case TR_OP_VIEW: return fold_view(s, v);
    case TR_OP_RE:
    case TR_OP_IM: return fold_part(s, v);
    case TR_OP_CPLX: return fold_cplx(s, v);
    case TR_OP_WRAP: return fold_wrap(s, v);
    case TR_OP_PATTERN: return fold_pattern(s, v);
    case TR_OP_BCAST:
    case TR_OP_BCASTTO: return fold_broadcast(s, v);
    default: break;
    }
    if (!in->nargs || !in->ty || !tr_ty_is_scalar(in->ty) || !tr_opt_is_pure(in))
        return TR_NOVAL;
    if (in->op == TR_OP_NOT && in->ty->kind == TR_TY_BOOL)
        invert_cmp(s, v);
    if (tr_at(s->f, v)->op == TR_OP_CMP)
        return TR_NOVAL;
    if (tr_opt_is_int_type(in->ty) && type(s, in->args[0]) == in->ty)
        return fold_int(s, v);
    return tr_ty_is_float(in->ty) ? fold_float(s, v) : TR_NOVAL;
}

static void replace(folder *s, tr_val v, tr_val by) {
    tr_repl_set(s->f, &s->r, v, by);
    tr_ins_remove(s->f, v);
    s->changed = true;
}

static void fold_ins(folder *s, tr_val v) {
    tr_ins *in = tr_at(s->f, v);
    for (uint32_t i = 0; i < in->nargs; i++)
        in->args[i] = tr_repl_get(&s->r, in->args[i]);
    if (check_always_holds(s, in)) {
        tr_ins_remove(s->f, v);
        s->changed = true;
        return;
    }
    tr_val by;
    if (tr_opt_is_pure(in) && tr_opt_eval(s->f, in, &by)) {
        replace(s, v, by);
        return;
    }
    if (tr_at(s->f, v)->nargs == 2)
        order_operands(s, v);
    by = simplify(s, v);
    if (by != TR_NOVAL && by != v)
        replace(s, v, by);
}

bool tr_opt_fold(tr_prog *p, tr_fn *f) {
    (void)p;
    folder s = {.f = f, .r = tr_repl_new(f)};
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first, next; v != TR_NOVAL; v = next) {
            next = tr_at(f, v)->next;
            fold_ins(&s, v);
        }
    tr_repl_apply(f, &s.r);
    return s.changed;
}
