/* Patterns as plain loops of typed IR, one thread and one element after the other: for targets that have no
 * pattern (target/legal.def).
 *
 * The index space in C order, kept axes first; the lambda's body stands in the innermost loop, the reductions
 * are params of the loops' heads. What a reduction gives is what tr_pat says. Sums of floats, which may be
 * grouped in any way that is as good as pairwise summation, carry what each addition rounded off (Knuth's
 * TwoSum, compensated summation), unless they may be reassociated. What a function joins goes one after the
 * other, as a thread has no memory for a tree: the function is associative by promise, but what it rounds off
 * differs from what a host's does. The k best are looked for one after the other, too: k walks of a row, for
 * a small k. Cost: each lambda and epilogue is copied once, that of a choice two or three times. */
#include <string.h>

#include "ir/nest.h"
#include "ir/summary.h"
#include "opt/priv.h"
#include "opt/emit.h"
#include "opt/pattern/point.h"

/* How a reduction is carried. */
typedef enum form {
    PLAIN, /* its value */
    SUM,   /* per component: sum, what was rounded off */
    PLACE, /* best value, whether there is one, its place */
    GROUPS /* a scan by groups (ir/scans.c): the value before, that before the block; in the block sums of the
              groups before, and of the half before at each level of a group */
} form;
enum { LEVELS = 3, CARRIED = 3 + LEVELS }; /* of a group; values at most */

typedef struct tr_point_red {
    tr_redk kind;
    form form;
    uint8_t fast;
    const tr_ty *ty; /* of what is contributed */
    tr_val init;
    const tr_fn *by; /* joins two values; NULL: the kind says how */
    unsigned at;     /* first of its values among those carried */
} red;

/* --- counted loops --- */

typedef struct loop {
    tr_bid head, exit;
    tr_val i, *carry;
} loop;

static void loop_begin(tr_point *s, loop *l, tr_val n) {
    tr_arena *a = &s->f->ctx->arena;
    tr_val *args = TR_NEW_N(a, tr_val, s->ncarry + 1u);
    l->carry = TR_NEW_N(a, tr_val, s->ncarry + 1u);
    l->head = tr_point_block(s);
    l->exit = tr_point_block(s);
    tr_bid body = tr_point_block(s);
    args[0] = tr_emit_int(&s->b, 0);
    memcpy(args + 1, s->carry, s->ncarry * sizeof *args);
    tr_br(&s->b, l->head, s->ncarry + 1, args);
    l->i = tr_blk_param(s->f, l->head, s->i64, NULL);
    for (unsigned k = 0; k < s->ncarry; k++)
        s->carry[k] = l->carry[k] = tr_blk_param(s->f, l->head, tr_at(s->f, s->carry[k])->ty, NULL);
    s->b.blk = l->head;
    tr_cbr(&s->b, tr_emit_cmp(&s->b, TR_CMP_LT, l->i, n), body, 0, NULL, l->exit, 0, NULL);
    s->b.blk = body;
}

static void loop_end(tr_point *s, loop *l) {
    tr_val *args = TR_NEW_N(&s->f->ctx->arena, tr_val, s->ncarry + 1u);
    args[0] = tr_emit2(&s->b, TR_OP_ADD, s->i64, l->i, tr_emit_int(&s->b, 1));
    tr_at(s->f, args[0])->flags |= F_NSW;
    memcpy(args + 1, s->carry, s->ncarry * sizeof *args);
    tr_br(&s->b, l->head, s->ncarry + 1, args);
    memcpy(s->carry, l->carry, s->ncarry * sizeof *s->carry);
    s->b.blk = l->exit;
}

/* --- reductions --- */

static form form_of(const tr_point *s, unsigned i, const tr_ty *t) {
    const tr_pat *p = s->p;
    if (tr_red_info[tr_pat_red(p, i)].place)
        return PLACE;
    if (s->after && i < p->nscan && tr_pat_scan_in_groups(p, i))
        return GROUPS;
    bool sum = tr_pat_red(p, i) == TR_RED_ADD && tr_red_regroups(TR_RED_ADD, t) && i >= p->nscan;
    return sum && !(tr_pat_fast(p, i) & TR_FM_REASSOC) ? SUM : PLAIN;
}

static const tr_ty *real_of(const tr_point *s, const tr_ty *t) {
    tr_tyk k = t->kind == TR_TY_C64 ? TR_TY_F32 : t->kind == TR_TY_C128 ? TR_TY_F64 : (tr_tyk)t->kind;
    return tr_ty_scalar(s->f->ctx->types, k);
}

/* The one component of a float, the two of a complex number. */
static unsigned components(tr_point *s, const tr_ty *t, tr_val x, tr_val *out) {
    if (!tr_ty_is_complex(t)) {
        out[0] = x;
        return 1;
    }
    out[0] = tr_emit1(&s->b, TR_OP_RE, real_of(s, t), x);
    out[1] = tr_emit1(&s->b, TR_OP_IM, real_of(s, t), x);
    return 2;
}

static void red_begin(tr_point *s, red *r) {
    tr_val parts[2];
    r->at = s->ncarry;
    if (r->form == PLACE) {
        s->carry[s->ncarry++] = tr_red_identity(s->f, r->kind, r->ty);
        s->carry[s->ncarry++] = tr_const_int(s->f, s->i1, 0);
        s->carry[s->ncarry++] = r->init;
    } else if (r->form == SUM) {
        unsigned n = components(s, r->ty, r->init, parts);
        for (unsigned k = 0; k < n; k++) {
            s->carry[s->ncarry++] = parts[k];
            s->carry[s->ncarry++] = tr_const_float(s->f, real_of(s, r->ty), 0.0);
        }
    } else if (r->form == GROUPS) {
        for (unsigned k = 0; k < CARRIED; k++)
            s->carry[s->ncarry++] = k < 2 ? r->init : tr_red_identity(s->f, TR_RED_ADD, r->ty);
    } else {
        s->carry[s->ncarry++] = r->init;
    }
}

static void reds_begin(tr_point *s) {
    s->ncarry = 0;
    for (unsigned i = 0; i < tr_pat_nred(s->p); i++)
        red_begin(s, &s->reds[i]);
    if (s->places)
        s->carry[s->ncarry++] = tr_emit_int(&s->b, 0);
}

/* sum += x, and what that rounded off is added to what was. */
static void two_sum(tr_point *s, const tr_ty *t, tr_val *sum, tr_val *off, tr_val x) {
    tr_val now = tr_point_arith(s, TR_OP_ADD, t, *sum, x, 0),
           took = tr_point_arith(s, TR_OP_SUB, t, now, *sum, 0);
    tr_val left = tr_point_arith(s, TR_OP_SUB, t, *sum, tr_point_arith(s, TR_OP_SUB, t, now, took, 0), 0);
    tr_val right = tr_point_arith(s, TR_OP_SUB, t, x, took, 0);
    *off = tr_point_arith(s, TR_OP_ADD, t, *off, tr_point_arith(s, TR_OP_ADD, t, left, right, 0), 0);
    *sum = now;
}

/* Do these bits of i make up that number? */
static tr_val bits_are(tr_point *s, tr_val i, int64_t bits, int64_t number) {
    tr_val low = tr_emit2(&s->b, TR_OP_AND, s->i64, i, tr_emit_int(&s->b, bits));
    return tr_emit_cmp(&s->b, TR_CMP_EQ, low, tr_emit_int(&s->b, number));
}

/* Of what it contributes the value after the element, which becomes the one before the next. */
static tr_val step_groups(tr_point *s, const red *r, tr_val x) {
    _Static_assert(TR_SCAN_GROUP == 1 << LEVELS, "a level for each bit of the place in a group");
    tr_val *c = s->carry + r->at, *left = c + 3, i = s->idx[s->axis[s->p->nspace - 1]], value;
    for (unsigned l = 0; l < LEVELS; l++) {
        tr_val right = bits_are(s, i, 1 << l, 1 << l),
               whole = tr_point_arith(s, TR_OP_ADD, r->ty, left[l], x, r->fast);
        left[l] = tr_emit_select(&s->b, right, left[l], x);
        x = tr_emit_select(&s->b, right, whole, x);
    }
    x = tr_point_arith(s, TR_OP_ADD, r->ty, c[2], x, r->fast);
    value = tr_point_arith(s, TR_OP_ADD, r->ty, c[1], x, r->fast);
    tr_val ends = bits_are(s, i, TR_SCAN_BLOCK - 1, TR_SCAN_BLOCK - 1);
    c[2] = tr_emit_select(&s->b, bits_are(s, i, TR_SCAN_GROUP - 1, TR_SCAN_GROUP - 1), x, c[2]);
    c[2] = tr_emit_select(&s->b, ends, tr_red_identity(s->f, TR_RED_ADD, r->ty), c[2]);
    c[1] = tr_emit_select(&s->b, ends, value, c[1]);
    return value;
}

static void red_step(tr_point *s, const red *r, tr_val x) {
    tr_val *c = s->carry + r->at, parts[2];
    if (r->form == SUM) {
        unsigned n = components(s, r->ty, x, parts);
        for (unsigned k = 0; k < n; k++)
            two_sum(s, real_of(s, r->ty), &c[2 * k], &c[2 * k + 1], parts[k]);
    } else if (r->form == PLACE) {
        tr_val take =
            tr_point_both(s, TR_OP_OR, tr_emit_not(&s->b, c[1]), tr_point_wins(s, r->kind, r->ty, c[0], x));
        c[0] = tr_emit_select(&s->b, take, x, c[0]);
        c[1] = tr_const_int(s->f, s->i1, 1);
        c[2] = tr_emit_select(&s->b, take, s->carry[s->ncarry - 1], c[2]);
    } else if (r->by) {
        c[0] = tr_point_join_by(s, r->by, c[0], x);
    } else {
        c[0] = tr_point_join(s, r->kind, r->ty, c[0], x, r->fast);
    }
}

/* What was rounded off counts where it is something, and the sum is a number: so zeros keep their sign,
 * and infinities stay. */
static tr_val with_rest(tr_point *s, const tr_ty *t, const tr_val *c) {
    tr_val rest = tr_emit_cmp(&s->b, TR_CMP_NE, c[1], tr_const_float(s->f, t, 0.0));
    rest = tr_point_both(s, TR_OP_AND, rest, tr_point_test(s, TR_MATH_ISFINITE, c[0]));
    return tr_emit_select(&s->b, rest, tr_point_arith(s, TR_OP_ADD, t, c[0], c[1], 0), c[0]);
}

static tr_val red_end(tr_point *s, const red *r) {
    const tr_val *c = s->carry + r->at;
    const tr_ty *t = r->form == SUM ? real_of(s, r->ty) : r->ty;
    if (r->form != SUM)
        return c[r->form == PLACE ? 2 : 0];
    tr_val re = with_rest(s, t, c);
    return tr_ty_is_complex(r->ty) ? tr_emit2(&s->b, TR_OP_CPLX, r->ty, re, with_rest(s, t, c + 2)) : re;
}

/* --- one point, one row, all --- */

/* Elements where the scan stands, wanted or not. What is left of the contribution: nothing once the
 * scratch place is reached. */
static tr_val pack(tr_point *s, const tr_val *y, tr_val kept) {
    tr_val at = s->carry[s->reds[0].at], last = TR_NOVAL;
    for (uint32_t k = 0; k < s->p->nfilt; k++) {
        tr_val array = s->in.args[tr_pat_at(s->p, P_PACK) + k];
        tr_emit_v(&s->b, TR_OP_STORE, NULL, 3, (tr_val[]){array, at, y[k]});
        tr_val n = tr_emit1(&s->b, TR_OP_DIM, s->i64, array);
        last = last == TR_NOVAL ? n : tr_emit_least(&s->b, n, last);
    }
    tr_val next = tr_emit2(&s->b, TR_OP_ADD, s->i64, at, tr_emit_int(&s->b, 1));
    return tr_emit_select(&s->b, tr_emit_cmp(&s->b, TR_CMP_LT, next, last), kept, tr_emit_int(&s->b, 0));
}

/* One value for a target, at the indices before it. */
static void scatter(tr_point *s, uint32_t to, const tr_val *y) {
    unsigned how = tr_pat_join(s->p, to)->how;
    tr_val args[TR_MAX_NDIM + 2] = {s->in.args[to]};
    const tr_ty *t = tr_at(s->f, args[0])->ty;
    uint32_t n = t->ndim + 1u;
    memcpy(args + 1, y, n * sizeof *y);
    if (how != TR_SCATTER_PUT) {
        tr_val old = tr_emit_v(&s->b, TR_OP_LOAD, t->elem, n, args);
        const tr_fn *by = tr_pat_join(s->p, to)->by;
        args[n] = by ? tr_point_join_by(s, by, old, args[n])
                     : tr_point_join(s, (tr_redk)how, t->elem, old, args[n], 0);
    }
    tr_emit_v(&s->b, TR_OP_STORE, NULL, n + 1u, args);
}

/* What one of the functions takes for operand k of g. Its axes: of the space, or the kept ones. */
static tr_val take(tr_point *s, const tr_ports *g, unsigned fn, uint32_t k) {
    const tr_pat *p = s->p;
    bool kept = fn == TR_EPI;
    if (g->is->takes[fn] == TR_TAKES_INDEX)
        return s->idx[kept ? s->axis[k] : k];
    if (g->is->takes[fn] == TR_TAKES_ITEM)
        return tr_point_load(s, g->arg + k, kept ? tr_pat_nkeep(p) : p->nspace, kept ? s->axis : NULL);
    if (!g->is->join)
        return s->in.args[g->arg + k];
    red *r = &s->reds[g->arg + k - tr_pat_at(p, P_SCAN)];
    return kept ? red_end(s, r) : s->carry[r->at];
}

/* What becomes of what was yielded from y on for operand k of g. */
static void give(tr_point *s, const tr_ports *g, uint32_t k, tr_val *y) {
    const tr_pat *p = s->p;
    switch ((tr_role)g->role) {
    case P_OUT: tr_point_store(s, g->arg + k, p->nspace, NULL, *y); return;
    case P_EOUT: tr_point_store(s, g->arg + k, tr_pat_nkeep(p), s->axis, *y); return;
    case P_PACK: /* all in one go; what is left of the contribution comes behind */
        if (k == 0)
            y[g->n] = pack(s, y, y[g->n]);
        return;
    case P_SCAN:
        if (s->reds[k].form == GROUPS) {
            s->carry[s->reds[k].at] = s->values[k];
            return;
        } /* fall through */
    case P_RED: red_step(s, &s->reds[g->arg + k - tr_pat_at(p, P_SCAN)], *y); return;
    case P_SCAT: scatter(s, g->arg + k, y); return;
    default: assert(!g->is && "what becomes of it is said here");
    }
}

/* One of the functions at one point. */
static void put_point(tr_point *s, unsigned fn) {
    const tr_pat *p = s->p;
    uint32_t n = tr_pat_nparams(p, fn);
    tr_val *args = TR_NEW_N(&s->f->ctx->arena, tr_val, n + p->nscan + 1u);
    for (tr_ports g = tr_ports_of(p, fn); tr_ports_left(&g); tr_ports_next(p, fn, &g))
        for (uint32_t k = 0; g.is->takes[fn] && k < g.n; k++)
            args[g.param + k] = take(s, &g, fn, k);
    tr_val *y = tr_point_body(s, tr_pat_fn(p, fn), n, args);
    if (fn == TR_LAM && s->after) {
        for (uint32_t k = 0; k < p->nscan; k++) {
            tr_val x = y[tr_pat_slot(p, TR_LAM, P_SCAN) + k];
            args[n + k] = s->reds[k].form == GROUPS ? step_groups(s, &s->reds[k], x) : x;
        }
        y = tr_point_body(s, s->after, n + p->nscan, args);
        s->values = args + n;
    }
    for (tr_ports g = tr_ports_of(p, fn); tr_ports_left(&g); tr_ports_next(p, fn, &g))
        for (uint32_t k = 0; g.is->gives[fn] && k < g.n; k++) {
            give(s, &g, k, y);
            y += tr_port_nvalues(s->f, g.role, fn, s->in.args[g.arg + k]);
        }
}

static void point(tr_point *s) {
    put_point(s, TR_LAM);
    if (s->places)
        s->carry[s->ncarry - 1] =
            tr_emit2(&s->b, TR_OP_ADD, s->i64, s->carry[s->ncarry - 1], tr_emit_int(&s->b, 1));
}

/* --- choosing --- */

/* Does an element of key x go before one of key y, wherever they stand? */
static tr_val goes_before(tr_point *s, const tr_ty *t, tr_val x, tr_val y) {
    tr_topk how = tr_pat_top(s->p);
    tr_val before = tr_emit_cmp(&s->b, how == TR_TOP_SMALLEST ? TR_CMP_LT : TR_CMP_GT, x, y);
    if (!tr_ty_is_float(t))
        return before;
    tr_val first = how == TR_TOP_LARGEST ? x : y, last = how == TR_TOP_LARGEST ? y : x;
    tr_val nan = tr_point_both(s, TR_OP_AND, tr_point_test(s, TR_MATH_ISNAN, first),
                               tr_emit_not(&s->b, tr_point_test(s, TR_MATH_ISNAN, last)));
    return tr_point_both(s, TR_OP_OR, before, nan);
}

static void store_outputs(tr_point *s, unsigned x) {
    loop l;
    loop_begin(s, &l, s->in.args[x]);
    s->idx[x] = l.i;
    tr_val *y = tr_point_yield(s);
    for (uint32_t k = 0; k < s->p->nout; k++)
        tr_point_store(s, tr_pat_at(s->p, P_OUT) + k, s->p->nspace, NULL, y[k]);
    loop_end(s, &l);
}

/* The element at which the loops stand is number j of the best. */
static void store_best(tr_point *s, tr_val j) {
    const tr_pat *p = s->p;
    unsigned nkeep = tr_pat_nkeep(p);
    tr_val *y = tr_point_yield(s) + tr_pat_slot(p, TR_LAM, P_BEST);
    for (uint32_t k = 0; k < p->nbest; k++) {
        tr_val args[TR_MAX_NDIM + 3] = {s->in.args[tr_pat_at(p, P_BEST) + k]};
        for (unsigned i = 0; i < nkeep; i++)
            args[1 + i] = s->idx[s->axis[i]];
        args[1 + nkeep] = j;
        args[2 + nkeep] = y[k];
        tr_emit_v(&s->b, TR_OP_STORE, NULL, nkeep + 3, args);
    }
}

/* Each is the best of those that go behind the one before. Carried: its key and place, and the next one's. */
static void choose(tr_point *s) {
    enum { KEY, PLACE_OF, NEXT, NEXT_PLACE };
    const tr_pat *p = s->p;
    const tr_ty *t = tr_at(p->lam, tr_pat_yield(p->lam)->args[tr_pat_slot(p, TR_LAM, P_TOP)])->ty;
    unsigned x = s->axis[p->nspace - 1];
    tr_val none = tr_emit_int(&s->b, -1), any = tr_red_identity(s->f, TR_RED_MAX, t);
    tr_val *c = s->carry;
    loop of, each;
    s->ncarry = 0;
    if (p->nout)
        store_outputs(s, x);
    c[KEY] = any;
    c[PLACE_OF] = none;
    s->ncarry = 2;
    loop_begin(s, &of, s->in.args[tr_pat_at(p, P_TOP)]);
    c[NEXT] = any;
    c[NEXT_PLACE] = none;
    s->ncarry = 4;
    loop_begin(s, &each, s->in.args[x]);
    s->idx[x] = each.i;
    tr_val key = tr_point_yield(s)[tr_pat_slot(p, TR_LAM, P_TOP)];
    tr_val behind = tr_point_both(s, TR_OP_AND, tr_emit_not(&s->b, goes_before(s, t, key, c[KEY])),
                                  tr_emit_cmp(&s->b, TR_CMP_GT, each.i, c[PLACE_OF]));
    behind = tr_point_both(s, TR_OP_OR, behind, goes_before(s, t, c[KEY], key));
    behind =
        tr_point_both(s, TR_OP_OR, behind, tr_emit_cmp(&s->b, TR_CMP_LT, c[PLACE_OF], tr_emit_int(&s->b, 0)));
    tr_val better = tr_point_both(s, TR_OP_OR, goes_before(s, t, key, c[NEXT]),
                                  tr_emit_cmp(&s->b, TR_CMP_LT, c[NEXT_PLACE], tr_emit_int(&s->b, 0)));
    tr_val takes = tr_point_both(s, TR_OP_AND, behind, better);
    c[NEXT] = tr_emit_select(&s->b, takes, key, c[NEXT]);
    c[NEXT_PLACE] = tr_emit_select(&s->b, takes, each.i, c[NEXT_PLACE]);
    loop_end(s, &each);
    /* none is found only where another thread has changed keys meanwhile */
    s->idx[x] = tr_emit_select(&s->b, tr_emit_cmp(&s->b, TR_CMP_LT, c[NEXT_PLACE], tr_emit_int(&s->b, 0)),
                               tr_emit_int(&s->b, 0), c[NEXT_PLACE]);
    store_best(s, of.i);
    c[KEY] = c[NEXT];
    c[PLACE_OF] = c[NEXT_PLACE];
    s->ncarry = 2;
    loop_end(s, &of);
    s->ncarry = 0;
}

static void walk(tr_point *s, const tr_nest *t);

static void walk_axis(tr_point *s, const tr_nest *t) {
    unsigned x = s->axis[t->level];
    loop l;
    loop_begin(s, &l, s->in.args[x]);
    s->idx[x] = l.i;
    walk(s, t->in);
    loop_end(s, &l);
}

static void walk(tr_point *s, const tr_nest *t) {
    switch (t->kind) {
    case TR_NEST_ORDER:
        for (unsigned k = 0; k < t->ndim; k++)
            s->axis[k] = t->axis[k];
        walk(s, t->in);
        return;
    case TR_NEST_FOR: walk_axis(s, t); return;
    case TR_NEST_ROW:
        walk(s, t->in);
        if (t->by)
            walk(s, t->by);
        s->ncarry = 0;
        return;
    case TR_NEST_REDUCE: /* who looks at a value ends it */
        reds_begin(s);
        walk(s, t->in);
        return;
    case TR_NEST_TOP: walk(s, t->in); return;
    case TR_NEST_CHOOSE: choose(s); return;
    case TR_NEST_ELEMENT: point(s); return;
    case TR_NEST_EPILOGUE: put_point(s, TR_EPI); return;
    default: assert(t->kind == TR_NEST__COUNT && "a loop of one thread that goes element by element");
    }
}

/* --- a pattern --- */

static void describe(tr_point *s) {
    const tr_pat *p = s->p;
    const tr_ins *y = tr_pat_yield(p->lam);
    for (unsigned i = 0; i < tr_pat_nred(p); i++) {
        tr_val init = s->in.args[tr_pat_at(p, P_SCAN) + i];
        const tr_ty *t =
            y ? tr_at(p->lam, y->args[tr_pat_slot(p, TR_LAM, P_SCAN) + i])->ty : tr_at(s->f, init)->ty;
        s->reds[i] = (red){.kind = tr_pat_red(p, i),
                           .form = form_of(s, i, t),
                           .fast = tr_pat_fast(p, i),
                           .ty = t,
                           .init = init,
                           .by = p->joins[i].by};
        s->places |= s->reds[i].form == PLACE;
    }
}

static tr_val result(tr_point *s) {
    const tr_pat *p = s->p;
    tr_val *all = TR_NEW_N(&s->f->ctx->arena, tr_val, tr_pat_nred(p) + 1u);
    if (p->keep || !tr_pat_nred(p))
        return tr_const_undef(s->f, s->in.ty);
    for (unsigned i = 0; i < tr_pat_nred(p); i++)
        all[i] = red_end(s, &s->reds[i]);
    return tr_pat_nred(p) == 1 ? all[0] : tr_emit_v(&s->b, TR_OP_TUPLE, s->in.ty, tr_pat_nred(p), all);
}

static void expand(tr_fn *f, tr_repl *r, tr_val v) {
    tr_arena *a = &f->ctx->arena;
    tr_point s = {.f = f, .in = *tr_at(f, v)};
    s.p = s.in.imm.pat;
    s.cold = tr_blk_at(f, s.in.blk)->cold;
    s.i1 = tr_ty_scalar(f->ctx->types, TR_TY_BOOL);
    s.i64 = tr_ty_scalar(f->ctx->types, TR_TY_I64);
    s.reds = TR_NEW_N(a, red, tr_pat_nred(s.p) + 1u);
    s.carry = TR_NEW_N(a, tr_val, CARRIED * tr_pat_nred(s.p) + 4u * s.p->ntop + 1u);
    s.after = tr_pat_in_blocks(s.p) ? tr_pat_scan_after(s.p) : NULL;
    tr_bid tail = tr_blk_split(f, s.in.next);
    s.b = (tr_bld){.fn = f, .blk = s.in.blk, .before = TR_NOVAL, .loc = s.in.loc};
    tr_ins_remove(f, v);
    describe(&s);
    walk(&s, tr_nest_plain(f, &s.in));
    tr_repl_set(f, r, v, result(&s));
    tr_br(&s.b, tail, 0, NULL);
}

bool tr_opt_serial(tr_prog *p, tr_fn *f) {
    if (tr_fn_handles(f)) /* loops would leave the protected block; no device takes such a function */
        return false;
    (void)p;
    tr_u32s found = {0};
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (tr_at(f, v)->op == TR_OP_PATTERN)
                tr_vec_push(&f->ctx->arena, &found, v);
    if (!found.n)
        return false;
    tr_repl r = tr_repl_new(f);
    for (uint32_t i = 0; i < found.n; i++)
        expand(f, &r, found.d[i]);
    tr_repl_apply(f, &r);
    tr_simplify_cfg(f);
    return true;
}
