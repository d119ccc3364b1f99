/* Linear facts and proofs (Fourier-Motzkin elimination from the goal backwards, bounded); see prove.h. */
#include "opt/scalar/prove.h"

#include <assert.h>
#include <string.h>

enum { DEPTH = 8, BUDGET = 100, SPLITS = 2, EXPR_DEPTH = 6, DEF_DEPTH = 3, RANGE_DEPTH = 5 };

tr_prover tr_prover_new(tr_fn *f) {
    tr_prover p = {.f = f, .nvals = f->ins.n, .budget = BUDGET};
    p.head = TR_NEW_N(&f->ctx->arena, uint32_t, f->ins.n + 1u);
    p.pos = TR_NEW_N(&f->ctx->arena, uint32_t, f->ins.n + 1u);
    memset(p.head, 0xff, f->ins.n * sizeof *p.head);
    return p;
}

void tr_prover_meet(tr_prover *p, tr_val v) {
    if (v < p->nvals)
        p->pos[v] = ++p->npos;
}

static void push(tr_prover *p, const tr_lin *e) {
    assert(e->n <= TR_LIN_TERMS);
    tr_fact k = {.e = *e, .leaf = p->leaf};
    for (uint32_t i = 0; i < e->n; i++) {
        if (e->t[i].v >= p->nvals)
            return; /* made after the walk began: nothing to say of it */
    }
    for (uint32_t i = 0; i < e->n; i++)
        if (p->head[e->t[i].v] != UINT32_MAX && tr_lin_same(&p->facts.d[p->head[e->t[i].v]].e, e))
            return; /* the newest one says it already */
    for (uint32_t i = 0; i < e->n; i++) {
        k.next[i] = p->head[e->t[i].v];
        p->head[e->t[i].v] = p->facts.n;
    }
    tr_vec_push(&p->f->ctx->arena, &p->facts, k);
}

void tr_prover_pop(tr_prover *p, uint32_t mark) {
    assert(mark <= p->facts.n);
    while (p->facts.n > mark) {
        const tr_fact *k = &p->facts.d[--p->facts.n];
        for (uint32_t i = k->e.n; i-- > 0;)
            p->head[k->e.t[i].v] = k->next[i];
    }
}

/* --- ranges --- */

static void type_range(const tr_ty *t, tr_wide *lo, tr_wide *hi) {
    char c = tr_ty_class(t);
    unsigned w = c == 'b' ? 1 : 8 * tr_ty_size(t);
    *lo = c == 'i' ? -((tr_wide)1 << (w - 1)) : 0;
    *hi = c == 'i' ? ((tr_wide)1 << (w - 1)) - 1 : ((tr_wide)1 << w) - 1;
}

static bool const_of(const tr_fn *f, tr_val v, tr_wide *out) {
    int64_t k;
    const tr_ty *t = tr_at(f, v)->ty;
    if (!t || !tr_opt_is_int_type(t) || !tr_get_int(f, v, &k))
        return false;
    *out = t->kind == TR_TY_U64 ? (tr_wide)(uint64_t)k : (tr_wide)k;
    return true;
}

static tr_wide floor_div(tr_wide a, tr_wide b) {
    assert(b != 0);
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static void range_in(const tr_fn *f, tr_val v, int depth, tr_wide *lo, tr_wide *hi);

/* x op k for a constant k > 0. */
static void range_by_const(const tr_fn *f, const tr_ins *in, tr_wide k, int depth, tr_wide *lo, tr_wide *hi) {
    tr_wide l, h;
    range_in(f, in->args[0], depth, &l, &h);
    switch ((tr_op)in->op) {
    case TR_OP_AND:
        *lo = 0;
        *hi = k;
        break;
    case TR_OP_FLOORMOD:
        *lo = 0;
        *hi = k - 1;
        break;
    case TR_OP_REM:
        *lo = l >= 0 ? 0 : -(k - 1);
        *hi = k - 1;
        break;
    case TR_OP_SHR:
        if (k >= 64)
            break;
        k = (tr_wide)1 << k;
        __attribute__((fallthrough));
    case TR_OP_FLOORDIV:
        *lo = floor_div(l, k);
        *hi = floor_div(h, k);
        break;
    case TR_OP_QUOT:
        *lo = l / k;
        *hi = h / k;
        break;
    default: break;
    }
}

/* x + y and x - y, if that fits; x * y of what is not negative and not large. */
static void range_of_two(const tr_fn *f, const tr_ins *in, int depth, tr_wide *lo, tr_wide *hi) {
    tr_wide l[2], h[2], most = (tr_wide)1 << 62, low, high;
    range_in(f, in->args[0], depth, &l[0], &h[0]);
    range_in(f, in->args[1], depth, &l[1], &h[1]);
    if (in->op == TR_OP_MUL) {
        if (l[0] < 0 || l[1] < 0 || h[0] > most || h[1] > most)
            return;
        low = l[0] * l[1];
        high = h[0] * h[1];
    } else {
        bool minus = in->op == TR_OP_SUB;
        low = l[0] + (minus ? -h[1] : l[1]);
        high = h[0] + (minus ? -l[1] : h[1]);
    }
    if (low < *lo || high > *hi)
        return;
    *lo = low;
    *hi = high;
}

/* x % n of what is not negative. */
static void range_of_rest(const tr_fn *f, const tr_ins *in, int depth, tr_wide *lo, tr_wide *hi) {
    tr_wide l, h, nl, nh;
    range_in(f, in->args[0], depth, &l, &h);
    range_in(f, in->args[1], depth, &nl, &nh);
    if (l < 0 || nl < 0)
        return;
    *lo = 0;
    *hi = nh == 0 ? 0 : h < nh - 1 ? h : nh - 1; /* by 0: 0 */
}

/* x / n of what is not negative; by 0: 0. */
static void range_of_quotient(const tr_fn *f, const tr_ins *in, int depth, tr_wide *lo, tr_wide *hi) {
    tr_wide l, h, nl, nh;
    range_in(f, in->args[0], depth, &l, &h);
    range_in(f, in->args[1], depth, &nl, &nh);
    if (l < 0 || nl < 0)
        return;
    *lo = 0;
    *hi = h;
}

/* Widens lo to hi by what a frozen array holds at indices that begin with these axes, where
 * numbers are known. */
static void items_from(const tr_fn *f, const tr_ins *in, unsigned axis, int64_t at, tr_wide *lo,
                       tr_wide *hi) {
    const tr_obj *o = tr_at(f, in->args[0])->imm.obj;
    if (axis + 1u == in->nargs) {
        bool negative = tr_ty_class(in->ty) == 'i';
        unsigned size = tr_ty_size(in->ty);
        uint64_t bits = 0;
        memcpy(&bits, (const char *)o->u.a.data + at * (int64_t)size, size);
        int64_t whole = (int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size);
        tr_wide x = negative ? (tr_wide)whole : (tr_wide)bits;
        *lo = x < *lo ? x : *lo;
        *hi = x > *hi ? x : *hi;
        return;
    }
    int64_t n = o->u.a.shape[axis];
    tr_wide k;
    bool one = const_of(f, in->args[1 + axis], &k) && k >= 0 && k < n;
    for (int64_t i = one ? (int64_t)k : 0, end = one ? i + 1 : n; i < end; i++)
        items_from(f, in, axis + 1, at + i * o->u.a.strides[axis], lo, hi);
}

/* An item of a short frozen array is one of those that it holds. */
static void range_of_item(const tr_fn *f, const tr_ins *in, tr_wide *lo, tr_wide *hi) {
    const tr_ins *a = tr_at(f, in->args[0]);
    if (a->op != TR_OP_CONSTARR || !tr_obj_items(a->imm.obj) || !tr_opt_is_int_type(in->ty) ||
        in->ty->kind == TR_TY_BOOL)
        return;
    tr_wide least = *hi, most = *lo;
    items_from(f, in, 0, 0, &least, &most);
    *lo = least;
    *hi = most;
}

/* The length of a range by a step that is known, upwards: of numbers from low on below high, by `by`. */
typedef struct rise {
    tr_val low, high;
    int64_t by;
} rise;

static bool take_rise(const tr_fn *f, const tr_ins *in, rise *out) {
    int64_t step;
    if (in->op != TR_OP_RANGELEN || !tr_get_int(f, in->args[2], &step) || step == 0 || step > TR_LIN_COEF ||
        step < -TR_LIN_COEF)
        return false;
    *out = step > 0 ? (rise){in->args[0], in->args[1], step} : (rise){in->args[1], in->args[0], -step};
    return true;
}

/* It ends a number of items behind its beginning, if it does not wrap around and is empty. */
static bool ends_behind(const tr_fn *f, const rise *r, tr_wide *k) {
    const tr_ins *to = tr_at(f, r->high);
    return to->op == TR_OP_ADD && to->args[0] == r->low && const_of(f, to->args[1], k) && *k >= 0;
}

static void range_of_length(const tr_fn *f, const tr_ins *in, int depth, tr_wide *lo, tr_wide *hi) {
    rise r;
    tr_wide from, last, l, h, k;
    *lo = 0;
    if (!take_rise(f, in, &r))
        return;
    range_in(f, r.low, depth, &from, &l);
    range_in(f, r.high, depth, &h, &last);
    tr_wide most = ends_behind(f, &r, &k) && k < last - from ? k : last - from, least = h - l;
    most = most > 0 ? (most + r.by - 1) / r.by : 0;
    least = least > 0 ? (least + r.by - 1) / r.by : 0;
    *lo = least < *hi ? least : *hi;
    *hi = most < *hi ? most : *hi;
}

static void range_in(const tr_fn *f, tr_val v, int depth, tr_wide *lo, tr_wide *hi) {
    const tr_ins *in = tr_at(f, v);
    tr_wide k, l, h;
    type_range(in->ty, lo, hi);
    if (const_of(f, v, &k)) {
        *lo = *hi = k;
        return;
    }
    if (depth == 0)
        return;
    switch ((tr_op)in->op) {
    case TR_OP_DIM:
        *lo = 0;
        *hi = TR_MAX_DIM;
        break;
    case TR_OP_THREADIDX:
    case TR_OP_BLOCKDIM:
    case TR_OP_BLOCKIDX:
    case TR_OP_GRIDDIM:
        *lo = in->op == TR_OP_BLOCKDIM || in->op == TR_OP_GRIDDIM;
        *hi = ((tr_wide)1 << tr_opt_place_bits(in->op)) - 1;
        break;
    case TR_OP_PRANGE: range_in(f, in->args[0], depth - 1, lo, hi); break;
    case TR_OP_RANGELEN: range_of_length(f, in, depth - 1, lo, hi); break;
    case TR_OP_LOAD: range_of_item(f, in, lo, hi); break;
    case TR_OP_CONV:
        if (!tr_opt_is_int_type(tr_at(f, in->args[0])->ty))
            break;
        range_in(f, in->args[0], depth - 1, &l, &h);
        if (l >= *lo && h <= *hi) {
            *lo = l;
            *hi = h;
        }
        break;
    case TR_OP_MIN:
    case TR_OP_MAX: {
        bool least = in->op == TR_OP_MIN;
        range_in(f, in->args[0], depth - 1, lo, hi);
        range_in(f, in->args[1], depth - 1, &l, &h);
        *lo = (l < *lo) == least ? l : *lo;
        *hi = (h < *hi) == least ? h : *hi;
        break;
    }
    case TR_OP_SELECT:
        range_in(f, in->args[1], depth - 1, lo, hi);
        range_in(f, in->args[2], depth - 1, &l, &h);
        *lo = l < *lo ? l : *lo;
        *hi = h > *hi ? h : *hi;
        break;
    case TR_OP_AND:
    case TR_OP_FLOORMOD:
    case TR_OP_REM:
    case TR_OP_SHR:
    case TR_OP_FLOORDIV:
    case TR_OP_QUOT:
        if (const_of(f, in->args[1], &k) && k > 0)
            range_by_const(f, in, k, depth - 1, lo, hi);
        else if (in->op == TR_OP_REM)
            range_of_rest(f, in, depth - 1, lo, hi);
        else if (in->op == TR_OP_QUOT)
            range_of_quotient(f, in, depth - 1, lo, hi);
        break;
    case TR_OP_ADD:
    case TR_OP_SUB:
    case TR_OP_MUL: range_of_two(f, in, depth - 1, lo, hi); break;
    default: break;
    }
}

void tr_range_of(const tr_fn *f, tr_val v, tr_wide *lo, tr_wide *hi) {
    range_in(f, v, RANGE_DEPTH, lo, hi);
}

/* The least that e can be by the ranges of its values. */
static tr_wide least(const tr_fn *f, const tr_lin *e) {
    tr_wide sum = e->c, lo, hi;
    for (uint32_t i = 0; i < e->n; i++) {
        tr_range_of(f, e->t[i].v, &lo, &hi);
        sum += e->t[i].k * (e->t[i].k > 0 ? lo : hi);
    }
    return sum;
}

/* --- taking instructions apart --- */

static tr_lin linearize(tr_prover *p, tr_val v, int depth);
static void assume_cond(tr_prover *p, tr_val cond, bool truth);
static void assume_order(tr_prover *p, const tr_lin *x, const tr_lin *y, int slack);
static void assume_items(tr_prover *p, tr_val n, const rise *r, bool most);
static bool prove(tr_prover *p, const tr_lin *e, int depth, int splits);

static bool not_negative(tr_prover *p, const tr_lin *e) {
    return prove(p, e, DEPTH, SPLITS);
}

/* Does the exact result e of instruction v fit its type? */
static bool fits(tr_prover *p, tr_val v, const tr_lin *e) {
    tr_wide lo, hi;
    tr_lin low = *e, high = tr_lin_const(0), whole = tr_lin_val(v);
    if (p->guess || tr_at(p->f, v)->flags & F_NSW)
        return true;
    type_range(tr_at(p->f, v)->ty, &lo, &hi);
    low.c -= lo;
    high.c = hi;
    if (!tr_lin_add(&high, e, -1))
        return false;
    if (not_negative(p, &low) && not_negative(p, &high))
        return true;
    /* A sum or difference of two int64 lies within 2**64 of 0: if neither it nor what the machine made of it
     * is negative, they are the same. */
    return (tr_at(p->f, v)->op == TR_OP_ADD || tr_at(p->f, v)->op == TR_OP_SUB) && lo < 0 &&
           not_negative(p, &whole) && not_negative(p, e);
}

static tr_lin lin_conv(tr_prover *p, tr_val v, int depth) {
    const tr_ins *in = tr_at(p->f, v);
    const tr_ty *from = tr_at(p->f, in->args[0])->ty;
    tr_wide lo, hi, l, h;
    if (!tr_opt_is_int_type(from) || in->ty->kind == TR_TY_BOOL)
        return tr_lin_val(v);
    tr_lin e = linearize(p, in->args[0], depth - 1);
    type_range(in->ty, &lo, &hi);
    tr_range_of(p->f, in->args[0], &l, &h);
    return (l >= lo && h <= hi) || fits(p, v, &e) ? e : tr_lin_val(v);
}

static tr_lin lin_sum(tr_prover *p, tr_val v, int depth) {
    const tr_ins *in = tr_at(p->f, v);
    tr_lin e = linearize(p, in->args[0], depth - 1), y = linearize(p, in->args[1], depth - 1);
    if (!tr_lin_add(&e, &y, in->op == TR_OP_ADD ? 1 : -1) || !fits(p, v, &e))
        return tr_lin_val(v);
    return e;
}

static tr_lin lin_scaled(tr_prover *p, tr_val v, tr_val x, tr_wide k, int depth) {
    tr_lin e = tr_lin_const(0), y = linearize(p, x, depth - 1);
    if (k > TR_LIN_COEF || k < -TR_LIN_COEF || !tr_lin_add(&e, &y, (int64_t)k) || !fits(p, v, &e))
        return tr_lin_val(v);
    return e;
}

static tr_lin linearize(tr_prover *p, tr_val v, int depth) {
    const tr_ins *in = tr_at(p->f, v);
    tr_wide k;
    if (const_of(p->f, v, &k))
        return tr_lin_const(k);
    if (depth == 0 || (in->ty->kind != TR_TY_I64 && in->ty->kind != TR_TY_U64))
        return tr_lin_val(v);
    switch ((tr_op)in->op) {
    case TR_OP_CONV: return lin_conv(p, v, depth);
    case TR_OP_PRANGE: return linearize(p, in->args[0], depth);
    case TR_OP_ADD:
    case TR_OP_SUB: return lin_sum(p, v, depth);
    case TR_OP_NEG: return lin_scaled(p, v, in->args[0], -1, depth);
    case TR_OP_MUL:
        return const_of(p->f, in->args[1], &k) ? lin_scaled(p, v, in->args[0], k, depth) : tr_lin_val(v);
    case TR_OP_SHL:
        return const_of(p->f, in->args[1], &k) && k >= 0 && k <= 20
                   ? lin_scaled(p, v, in->args[0], (tr_wide)1 << k, depth)
                   : tr_lin_val(v);
    default: return tr_lin_val(v);
    }
}

tr_lin tr_linearize(tr_prover *p, tr_val v) {
    assert(v < p->f->ins.n);
    p->budget = BUDGET;
    return linearize(p, v, EXPR_DEPTH);
}

/* --- proofs --- */

/* Values made during the walk have no place in it: first to go, and nothing is known of them. */
static uint32_t pos_of(const tr_prover *p, tr_val v) {
    return v < p->nvals ? p->pos[v] : UINT32_MAX;
}

/* The value that was defined last: bounds of later values speak of earlier ones, so this order comes to an
 * end. */
static uint32_t latest(const tr_prover *p, const tr_lin *e) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < e->n; i++)
        if (pos_of(p, e->t[i].v) > pos_of(p, e->t[best].v))
            best = i;
    return best;
}

/* e with term i put in terms of a fact about its value, so that out >= 0 implies e >= 0; false when the fact
 * bounds it from the other side. */
static bool step(const tr_lin *e, uint32_t i, const tr_lin *fact, tr_lin *out) {
    assert(i < e->n);
    int64_t kf = 0, k = e->t[i].k;
    for (uint32_t j = 0; j < fact->n; j++)
        if (fact->t[j].v == e->t[i].v)
            kf = fact->t[j].k;
    if ((kf > 0) != (k > 0) || kf == 0)
        return false;
    int64_t se = kf > 0 ? kf : -kf, sf = k > 0 ? k : -k;
    if (se == sf)
        se = sf = 1;
    *out = tr_lin_const(se - 1); /* e is whole: it is enough that se*e is greater than -se */
    return tr_lin_add(out, e, se) && tr_lin_add(out, fact, -sf);
}

/* The next older fact about v. */
static uint32_t older(const tr_fact *fact, tr_val v) {
    for (uint32_t j = 0; j < fact->e.n; j++)
        if (fact->e.t[j].v == v)
            return fact->next[j];
    return UINT32_MAX;
}

/* e with term i at the end of its range; false when the range says nothing. */
static bool step_range(const tr_fn *f, const tr_lin *e, uint32_t i, tr_lin *out) {
    tr_wide lo, hi, limit = (tr_wide)1 << 62;
    tr_range_of(f, e->t[i].v, &lo, &hi);
    tr_wide end = e->t[i].k > 0 ? lo : hi;
    if (end > limit || end < -limit)
        return false;
    tr_lin v = tr_lin_val(e->t[i].v);
    *out = *e;
    if (!tr_lin_add(out, &v, -e->t[i].k))
        return false;
    out->c += e->t[i].k * end;
    return true;
}

static bool put(tr_lin *e, uint32_t i, const tr_lin *by) {
    int64_t k = e->t[i].k;
    tr_lin v = tr_lin_val(e->t[i].v);
    return tr_lin_add(e, &v, -k) && tr_lin_add(e, by, k);
}

/* A choice among two integers: a select, a minimum, a maximum. */
static bool is_choice(const tr_ins *in) {
    return (in->op == TR_OP_SELECT || in->op == TR_OP_MIN || in->op == TR_OP_MAX) &&
           tr_opt_is_int_type(in->ty);
}
static tr_val arm_of(const tr_ins *in, int way) {
    return in->args[way + (in->op == TR_OP_SELECT)];
}

/* That a choice goes this way. */
static void assume_arm(tr_prover *p, const tr_ins *in, int way) {
    if (in->op == TR_OP_SELECT) {
        assume_cond(p, in->args[0], way == 0);
        return;
    }
    tr_lin x = linearize(p, in->args[way], EXPR_DEPTH), y = linearize(p, in->args[1 - way], EXPR_DEPTH);
    if (in->op == TR_OP_MIN)
        assume_order(p, &x, &y, way);
    else
        assume_order(p, &y, &x, way);
}

/* Both ways that the length of a range can go: it has items, or none. */
static bool split_length(tr_prover *p, const tr_lin *e, uint32_t i, const rise *r, int depth, int splits) {
    uint32_t mark = tr_prover_mark(p);
    assume_items(p, e->t[i].v, r, e->t[i].k < 0);
    bool ok = prove(p, e, depth - 1, splits - 1);
    tr_prover_pop(p, mark);
    if (!ok)
        return false;
    tr_lin none = *e, zero = tr_lin_const(0), low = linearize(p, r->low, EXPR_DEPTH),
           high = linearize(p, r->high, EXPR_DEPTH);
    assume_order(p, &high, &low, 0);
    ok = put(&none, i, &zero) && prove(p, &none, depth - 1, splits - 1);
    tr_prover_pop(p, mark);
    return ok;
}

/* Both ways that a choice can go: its arms, or an index that is negative or not. */
static bool split(tr_prover *p, const tr_lin *e, uint32_t i, int depth, int splits) {
    const tr_ins *in = tr_at(p->f, e->t[i].v);
    bool wrap = in->op == TR_OP_WRAP;
    rise r;
    if (splits > 0 && take_rise(p->f, in, &r))
        return split_length(p, e, i, &r, depth, splits);
    if (splits == 0 || (!wrap && !is_choice(in)))
        return false;
    for (int way = 0; way < 2; way++) {
        uint32_t mark = tr_prover_mark(p);
        tr_lin by, side;
        if (wrap) {
            by = side = linearize(p, in->args[0], EXPR_DEPTH);
            tr_lin n = linearize(p, in->args[1], EXPR_DEPTH);
            if (way == 1) { /* i < 0: i + n */
                side = tr_lin_const(-1);
                if (!tr_lin_add(&side, &by, -1) || !tr_lin_add(&by, &n, 1))
                    return false;
            }
            push(p, &side);
        } else {
            assume_arm(p, in, way);
            by = linearize(p, arm_of(in, way), EXPR_DEPTH);
        }
        tr_lin next = *e;
        bool ok = put(&next, i, &by) && prove(p, &next, depth - 1, splits - 1);
        tr_prover_pop(p, mark);
        if (!ok)
            return false;
    }
    return true;
}

static bool prove(tr_prover *p, const tr_lin *e, int depth, int splits) {
    if (e->n == 0)
        return e->c >= 0;
    if (least(p->f, e) >= 0)
        return true;
    if (depth == 0 || p->budget == 0)
        return false;
    p->budget--;
    uint32_t i = latest(p, e);
    tr_val v = e->t[i].v;
    tr_lin next;
    if (v >= p->nvals)
        return false;
    for (uint32_t k = p->head[v], after; k != UINT32_MAX; k = after) {
        const tr_fact *fact = &p->facts.d[k];
        after = older(fact, v);
        if (step(e, i, &fact->e, &next) &&
            (fact->leaf ? least(p->f, &next) >= 0 : prove(p, &next, depth - 1, splits)))
            return true;
    }
    return (step_range(p->f, e, i, &next) && prove(p, &next, depth - 1, splits)) ||
           split(p, e, i, depth, splits);
}

/* --- facts --- */

static void define(tr_prover *p, tr_val v, int depth);

static void assume(tr_prover *p, const tr_lin *e, int depth) {
    if (e->n == 0)
        return;
    push(p, e);
    for (uint32_t i = 0; i < e->n && depth > 0; i++)
        define(p, e->t[i].v, depth - 1);
}

/* a*k1 + b*k2 + c >= 0 */
static void assume_sum(tr_prover *p, const tr_lin *a, int64_t k1, const tr_lin *b, int64_t k2, tr_wide c,
                       int depth) {
    tr_lin e = tr_lin_const(c);
    if (tr_lin_add(&e, a, k1) && tr_lin_add(&e, b, k2))
        assume(p, &e, depth);
}

/* q = x / k for x >= 0, or rounded down for any x: k*q <= x <= k*q + k-1 */
static void define_quotient(tr_prover *p, tr_val v, const tr_ins *in, int depth) {
    assert(in->nargs == 2);
    tr_wide k;
    if (!const_of(p->f, in->args[1], &k) || k < 1 || k > TR_LIN_COEF)
        return;
    if (in->op == TR_OP_SHR) {
        if (k > 20)
            return;
        k = (tr_wide)1 << k;
    }
    tr_lin x = linearize(p, in->args[0], EXPR_DEPTH), q = tr_lin_val(v);
    if (in->op == TR_OP_QUOT && !not_negative(p, &x))
        return;
    assume_sum(p, &x, 1, &q, -(int64_t)k, 0, depth);
    assume_sum(p, &q, (int64_t)k, &x, -1, k - 1, depth);
}

/* r = x % n: 0 <= r < n for n >= 1. A divisor of 0 gives 0. */
static void define_remainder(tr_prover *p, tr_val v, const tr_ins *in, int depth) {
    tr_lin x = linearize(p, in->args[0], EXPR_DEPTH), n = linearize(p, in->args[1], EXPR_DEPTH),
           r = tr_lin_val(v);
    tr_lin n1 = n;
    n1.c -= 1;
    if (in->op == TR_OP_REM && !not_negative(p, &x))
        return;
    if (!not_negative(p, &n))
        return;
    assume(p, &r, depth);
    if (not_negative(p, &n1))
        assume_sum(p, &n1, 1, &r, -1, 0, depth);
}

/* What the definition of v says of it, as far as the facts at hand go. */
static void define(tr_prover *p, tr_val v, int depth) {
    const tr_ins *in = tr_at(p->f, v);
    if (!in->ty || !tr_opt_is_int_type(in->ty) || in->nargs != 2)
        return;
    for (uint32_t i = 0; i < p->ndefining; i++)
        if (p->defining[i] == v)
            return; /* its facts speak of itself */
    if (p->ndefining == sizeof p->defining / sizeof *p->defining)
        return;
    p->defining[p->ndefining++] = v;
    switch ((tr_op)in->op) {
    case TR_OP_QUOT:
    case TR_OP_FLOORDIV:
    case TR_OP_SHR: define_quotient(p, v, in, depth); break;
    case TR_OP_REM:
    case TR_OP_FLOORMOD: define_remainder(p, v, in, depth); break;
    default: break;
    }
    p->ndefining--;
}

/* Where a range has items, its ends are in order, and there are as many as lie between them, but 2**63 - 1
 * at most. most: that there are no more; else that there are no fewer. With both a proof would go to and
 * fro between the two until its budget is gone. */
static void assume_items(tr_prover *p, tr_val n, const rise *r, bool most) {
    tr_lin low = linearize(p, r->low, EXPR_DEPTH), high = linearize(p, r->high, EXPR_DEPTH),
           of = tr_lin_val(n);
    assume_order(p, &low, &high, 1);
    low = linearize(p, r->low, EXPR_DEPTH); /* what is known by now may let them come apart */
    tr_lin span = linearize(p, r->high, EXPR_DEPTH), room = tr_lin_const((tr_wide)r->by * INT64_MAX);
    if (!tr_lin_add(&span, &low, -1))
        return;
    if (most)
        assume_sum(p, &span, 1, &of, -r->by, r->by - 1, DEF_DEPTH);
    else if (tr_lin_add(&room, &span, -1) && not_negative(p, &room))
        assume_sum(p, &of, r->by, &span, -1, 0, DEF_DEPTH);
}

/* A fact e about the length of a range, by which that is not 0: what makes `c < rangelen start, stop, 1`
 * with c >= 0 say `c < stop - start` and `start < stop`. */
static void resolve_length(tr_prover *p, const tr_lin *e, uint32_t i, const rise *r) {
    tr_lin none = *e, no = tr_lin_const(-1), zero = tr_lin_const(0), whole = *e;
    if (!put(&none, i, &zero) || !tr_lin_add(&no, &none, -1) || !not_negative(p, &no))
        return;
    assume_items(p, e->t[i].v, r, true);
    tr_lin low = linearize(p, r->low, EXPR_DEPTH), span = linearize(p, r->high, EXPR_DEPTH);
    if (r->by == 1 && e->t[i].k > 0 && tr_lin_add(&span, &low, -1) && put(&whole, i, &span))
        assume(p, &whole, DEF_DEPTH);
}

/* A fact e about a choice: when one arm would contradict it, the other was taken. That is what makes
 * `c < (some ? n : 0)` with c >= 0 say `c < n` and `some`.
 * What is below the smaller of two is below both. */
static void resolve_choice(tr_prover *p, const tr_lin *e, uint32_t i, int depth) {
    const tr_ins *in = tr_at(p->f, e->t[i].v);
    if (in->op != TR_OP_SELECT && (in->op == TR_OP_MIN) == (e->t[i].k > 0)) {
        for (int arm = 0; arm < 2; arm++) {
            tr_lin each = *e, by = linearize(p, in->args[arm], EXPR_DEPTH);
            if (put(&each, i, &by))
                assume(p, &each, depth);
        }
        return;
    }
    for (int arm = 0; arm < 2; arm++) {
        tr_lin other = *e, no = tr_lin_const(-1), by = linearize(p, arm_of(in, 1 - arm), EXPR_DEPTH);
        if (!put(&other, i, &by) || !tr_lin_add(&no, &other, -1) || !not_negative(p, &no))
            continue;
        tr_val taken = arm_of(in, arm);
        tr_lin whole = *e, parts = *e;
        tr_lin v = tr_lin_val(taken);
        tr_wide k;
        assume_arm(p, in, arm);
        bool plain = !const_of(p->f, taken, &k) && put(&whole, i, &v);
        if (plain)
            assume(p, &whole, depth);
        by = linearize(p, taken, EXPR_DEPTH); /* what is known by now may let it come apart */
        if (put(&parts, i, &by))
            assume(p, &parts, depth);
        return;
    }
}

static void assume_resolved(tr_prover *p, const tr_lin *e) {
    assume(p, e, DEF_DEPTH);
    rise r;
    for (uint32_t i = 0; i < e->n; i++)
        if (is_choice(tr_at(p->f, e->t[i].v)))
            resolve_choice(p, e, i, DEF_DEPTH);
        else if (take_rise(p->f, tr_at(p->f, e->t[i].v), &r))
            resolve_length(p, e, i, &r);
}

void tr_assume(tr_prover *p, const tr_lin *e) {
    p->budget = BUDGET;
    assume_resolved(p, e);
}

/* x < y, x <= y: slack 1, 0 */
static void assume_order(tr_prover *p, const tr_lin *x, const tr_lin *y, int slack) {
    tr_lin e = *y;
    e.c -= slack;
    if (tr_lin_add(&e, x, -1))
        assume_resolved(p, &e);
}

static void assume_differ(tr_prover *p, const tr_lin *x, const tr_lin *y) {
    tr_lin d = *x, e = *y;
    if (!tr_lin_add(&d, y, -1) || !tr_lin_add(&e, x, -1))
        return;
    if (not_negative(p, &d))
        assume_order(p, y, x, 1);
    else if (not_negative(p, &e))
        assume_order(p, x, y, 1);
}

static void assume_cmp(tr_prover *p, const tr_ins *in, bool truth) {
    assert(in->op == TR_OP_CMP && in->sub < TR_CMP__COUNT);
    if (!tr_opt_is_int_type(tr_at(p->f, in->args[0])->ty))
        return;
    tr_lin x = linearize(p, in->args[0], EXPR_DEPTH), y = linearize(p, in->args[1], EXPR_DEPTH);
    switch (truth ? (tr_cmpop)in->sub : tr_cmp_inverse[in->sub]) {
    case TR_CMP_LT: assume_order(p, &x, &y, 1); break;
    case TR_CMP_LE: assume_order(p, &x, &y, 0); break;
    case TR_CMP_GT: assume_order(p, &y, &x, 1); break;
    case TR_CMP_GE: assume_order(p, &y, &x, 0); break;
    case TR_CMP_EQ:
        assume_order(p, &x, &y, 0);
        assume_order(p, &y, &x, 0);
        break;
    default: assume_differ(p, &x, &y); break;
    }
}

static void assume_cond(tr_prover *p, tr_val cond, bool truth) {
    const tr_ins *in = tr_at(p->f, cond);
    switch ((tr_op)in->op) {
    case TR_OP_CMP: assume_cmp(p, in, truth); break;
    case TR_OP_NOT: assume_cond(p, in->args[0], !truth); break;
    case TR_OP_AND:
    case TR_OP_OR:
        if ((in->op == TR_OP_AND) != truth || in->ty->kind != TR_TY_BOOL)
            return;
        assume_cond(p, in->args[0], truth);
        assume_cond(p, in->args[1], truth);
        break;
    default: break;
    }
}

void tr_assume_cond(tr_prover *p, tr_val cond, bool truth) {
    assert(tr_at(p->f, cond)->ty->kind == TR_TY_BOOL);
    p->budget = BUDGET;
    assume_cond(p, cond, truth);
}

/* The question's own values are defined first: an index such as (i + 1) % n need not occur in any fact. */
bool tr_prove(tr_prover *p, const tr_lin *e) {
    uint32_t mark = tr_prover_mark(p);
    p->budget = BUDGET;
    for (uint32_t i = 0; i < e->n; i++)
        define(p, e->t[i].v, DEF_DEPTH);
    bool ok = not_negative(p, e);
    tr_prover_pop(p, mark);
    return ok;
}

/* --- looking for a condition --- */

typedef struct deriving {
    tr_prover *p;
    bool (*varies)(void *, tr_val);
    void *self;
} deriving;

static bool varies_in(const deriving *d, const tr_lin *e) {
    for (uint32_t i = 0; i < e->n; i++)
        if (d->varies(d->self, e->t[i].v))
            return true;
    return false;
}

static bool derive(deriving *d, const tr_lin *e, int depth, tr_lin *out) {
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < e->n; i++)
        if (d->varies(d->self, e->t[i].v) &&
            (best == UINT32_MAX || pos_of(d->p, e->t[i].v) > pos_of(d->p, e->t[best].v)))
            best = i;
    if (best == UINT32_MAX) {
        *out = *e;
        return e->n > 0 || e->c >= 0;
    }
    tr_val v = e->t[best].v;
    if (depth == 0 || d->p->budget == 0 || v >= d->p->nvals)
        return false;
    d->p->budget--;
    tr_lin next;
    for (int pass = 0; pass < 2;
         pass++) /* first what needs no other value of the loop: of k < 4 and k <= i the one says more */
        for (uint32_t k = d->p->head[v], after; k != UINT32_MAX; k = after) {
            const tr_fact *fact = &d->p->facts.d[k];
            after = older(fact, v);
            if (!fact->leaf && step(e, best, &fact->e, &next) && varies_in(d, &next) == (pass == 1) &&
                derive(d, &next, depth - 1, out))
                return true;
        }
    return step_range(d->p->f, e, best, &next) && derive(d, &next, depth - 1, out);
}

bool tr_derive(tr_prover *p, const tr_lin *e, bool (*varies)(void *, tr_val), void *self, tr_lin *out) {
    deriving d = {p, varies, self};
    uint32_t mark = tr_prover_mark(p);
    p->budget = BUDGET;
    for (uint32_t i = 0; i < e->n; i++)
        define(p, e->t[i].v, DEF_DEPTH);
    bool ok = derive(&d, e, DEPTH, out);
    tr_prover_pop(p, mark);
    return ok;
}
