/* Arrays that a prange loop only accumulates into (privatisation of reduction arrays): `a[k] += x`, `a +=
 * row`, `np.add.at(a, ks, xs)`, wherever k may point.
 *
 * Iterations meet in such an array, but like a variable that is summed up it can have a copy per thread.
 * Each chunk of iterations gets a copy filled with the operation's neutral value; when all are done the
 * copies are added to the array, in order. The number of chunks depends on the loop's length and the
 * array's size alone, and so do the results.
 * It is worth it where the copies are small against the work; else the loop runs on one core. */
#include <assert.h>

#include "opt/prange/ploop.h"
#include "opt/emit.h"
#include "ir/alias.h"
#include "ir/sched.h"

#include <string.h>

enum { MAX_CHUNKS = 32, MAX_ITEMS = 1 << 24, WORTH = 4, MAX_OLDS = 4 };

/* --- is it one? --- */

typedef struct search {
    const tr_ploop *l;
    tr_fn *f;
    tr_val array, root; /* the value from outside that all accesses go through */
    uint8_t *fine;      /* per value: a load that only makes the next value of its element */
    bool any, rows;
    bool strides; /* what is made of how the array lies, which its copies do in their own way */
    tr_redk kind;
    uint8_t fast;         /* of the operations seen so far */
    uint8_t *from;        /* per value: the root, or what it was chosen from */
    bool other;           /* an array that may be the root is used beside it */
    tr_val bad;           /* what uses it in another way */
    bool mixed;           /* there is another operation besides */
    TR_VEC(tr_val) views; /* made before the loop of the array and used in it, what they are made of first */
} search;

/* Is v the array, or a view of it? */
static bool is_part_of_array(const search *s, tr_val v) {
    while (v != s->array && tr_is_view(tr_at(s->f, v)))
        v = tr_at(s->f, v)->args[0];
    return v == s->array;
}

static bool has_arrays_root(const search *s, tr_val v) {
    return tr_array_root(s->f, v) == s->root;
}

/* Is v not the root but perhaps the same array: `b = h if c else a`? */
static bool may_be_root(const search *s, tr_val v) {
    if (!tr_ty_has_arrays(tr_at(s->f, v)->ty) || has_arrays_root(s, v))
        return false;
    return tr_array_may_be(s->f, v, s->from);
}

static bool set_kind(search *s, tr_redk k) {
    s->mixed = s->mixed || (s->any && s->kind != k);
    if (s->any && s->kind != k)
        return false;
    s->any = true;
    s->kind = k;
    return true;
}

static bool same_element(const tr_fn *f, const tr_ins *ld, const tr_ins *st) {
    if (ld->nargs + 1 != st->nargs || ld->args[0] != st->args[0])
        return false;
    for (uint32_t k = 1; k < ld->nargs; k++)
        if (!tr_opt_same(f, ld->args[k], st->args[k]))
            return false;
    return true;
}

static bool writes_array(const void *self, tr_val v) {
    const search *s = self;
    const tr_ins *in = tr_at(s->f, v);
    bool touches = false;
    for (uint32_t k = 0; k < in->nargs && (tr_ins_effects(in) & E_WRITE); k++)
        touches = touches || has_arrays_root(s, in->args[k]);
    return touches;
}

/* What an old value is joined with to become the next one goes with what was found before. */
static bool join_goes_with_others(search *s, const tr_pjoins *q) {
    tr_pjoin j = {.any = s->any, .kind = s->kind, .fast = s->fast};
    if (!tr_joins(q, &j)) {
        tr_pjoin other = {.any = false, .fast = TR_FM_ALL};
        s->mixed = s->mixed || (s->any && tr_joins(q, &other));
        return false;
    }
    s->any = j.any;
    s->kind = j.kind;
    s->fast = j.fast;
    return true;
}

/* Is what is stored the element itself, or that joined with other values? The element's value
 * goes nowhere else, and nothing of the array is written before the store. in: the blocks in
 * which the element is read, or NULL: all. */
static bool store_joins_element(search *s, tr_val store, const uint8_t *in, tr_bid head) {
    const tr_fn *f = s->f;
    const tr_ins *st = tr_at(f, store);
    TR_VEC(tr_val) olds = {0};
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if ((!in || in[f->rpo.d[i]]) && tr_at(f, v)->op == TR_OP_LOAD &&
                same_element(f, tr_at(f, v), st) && tr_opt_nothing_between(f, v, store, writes_array, s))
                tr_vec_push(&f->ctx->arena, &olds, v);
    tr_pjoins q = {.f = s->f,
                   .in = in,
                   .head = head,
                   .store = store,
                   .slot = st->nargs - 1u,
                   .elem = tr_at(f, st->args[0])->ty->elem,
                   .olds = olds.d,
                   .nolds = olds.n};
    if (!olds.n || !join_goes_with_others(s, &q))
        return false;
    for (uint32_t i = 0; i < olds.n; i++)
        s->fine[olds.d[i]] = 1;
    return true;
}

/* Is v what the operation gives whatever the element was? `a[0] |= True` is `a[0] = True` by now. */
static bool value_absorbs_element(const search *s, tr_val v) {
    int64_t k;
    if (!s->any || !tr_get_int(s->f, v, &k))
        return false;
    if (s->kind == TR_RED_OR)
        return k == (tr_at(s->f, v)->ty->kind == TR_TY_BOOL ? 1 : -1);
    return (s->kind == TR_RED_AND || s->kind == TR_RED_MUL) && k == 0;
}

/* Does block b branch to `taken` where its condition holds, which then goes on where the
 * other way leads, with the same values? */
static bool only_runs_more(const tr_fn *f, tr_bid b, tr_bid taken) {
    const tr_ins *t = tr_term(f, b), *u = tr_term(f, taken);
    return u->op == TR_OP_BR && t->imm.succ[0].to == taken && tr_edge_same(&t->imm.succ[1], &u->imm.succ[0]);
}

/* Does v check an index of the store, which was one of the element when that was read? */
static bool is_index_of(const tr_fn *f, tr_val v, const tr_ins *st) {
    const tr_ins *in = tr_at(f, v);
    for (uint32_t k = 1; in->op == TR_OP_CHECKIDX && k + 1 < st->nargs; k++)
        if (in->args[0] == st->args[k])
            return true;
    return false;
}

/* `if x > a[k]: a[k] = x`, and nothing else under this condition. A NaN is left out, as in `max(a[k], x)`. */
static bool store_is_extreme(search *s, tr_val store) {
    const tr_fn *f = s->f;
    const tr_ins *st = tr_at(f, store);
    const tr_blk *b = tr_blk_at(f, st->blk);
    tr_bid before = b->preds.n == 1 ? b->preds.d[0] : TR_NOBLK;
    const tr_ins *t = before == TR_NOBLK ? NULL : tr_term(f, before);
    const tr_ins *c = t && t->op == TR_OP_CBR ? tr_at(f, t->args[0]) : NULL;
    tr_val x = st->args[st->nargs - 1];
    if (!c || c->op != TR_OP_CMP || c->sub == TR_CMP_EQ || c->sub == TR_CMP_NE ||
        !only_runs_more(f, before, st->blk))
        return false;
    for (tr_val v = b->first; v != b->last; v = tr_at(f, v)->next)
        if (v != store && !is_index_of(f, v, st) && (tr_ins_effects(tr_at(f, v)) & ~(unsigned)E_READ))
            return false;
    const uint32_t *uses = tr_use_counts(f);
    for (unsigned k = 0; k < 2 && uses[t->args[0]] == 1; k++) {
        tr_val old = c->args[k];
        const tr_ins *ld = tr_at(f, old);
        if (ld->op != TR_OP_LOAD || uses[old] != 1 || !same_element(f, ld, st) ||
            !tr_opt_same(f, c->args[1 - k], x) || !tr_opt_nothing_between(f, old, store, writes_array, s))
            continue;
        bool less = c->sub == TR_CMP_LT || c->sub == TR_CMP_LE; /* args[0] is the smaller one when it holds */
        s->fast &= tr_ins_fast(c);
        s->fine[old] = set_kind(s, less == (k == 1) ? TR_RED_MIN : TR_RED_MAX);
        return s->fine[old];
    }
    return false;
}

/* a[k] = a[k] op x */
static bool check_store(search *s, tr_val store) {
    const tr_ins *st = tr_at(s->f, store);
    return is_part_of_array(s, st->args[0]) &&
           (store_joins_element(s, store, s->l->in, s->l->header) || store_is_extreme(s, store) ||
            value_absorbs_element(s, st->args[st->nargs - 1]));
}

/* What v is all of, seen through views that begin at the beginning and take each item, so that an item keeps
 * its index; `until`, if it is on the way there. */
static tr_val whole(const tr_fn *f, tr_val v, tr_val until) {
    for (const tr_ins *in = tr_at(f, v); v != until && in->op == TR_OP_VIEW; in = tr_at(f, v)) {
        bool all = tr_view_nbase(in) == in->ty->ndim;
        for (unsigned k = 0; all && k < in->ty->ndim; k++) {
            all = tr_view_axis(in, k) == (int)k && tr_is_int(f, tr_view_starts(in)[k], 0) &&
                  tr_is_int(f, tr_view_steps(in)[k], 1);
        }
        if (!all)
            return v;
        v = in->args[0];
    }
    return v;
}

/* Is an item of x the one of y with the same index, where both have it? */
static bool same_place(const tr_fn *f, tr_val x, tr_val y) {
    x = whole(f, x, TR_NOVAL);
    y = whole(f, y, TR_NOVAL);
    const tr_ins *a = tr_at(f, x), *b = tr_at(f, y);
    if (x == y)
        return true;
    if (a->op != TR_OP_VIEW || b->op != TR_OP_VIEW || a->ty->ndim != b->ty->ndim ||
        tr_view_nbase(a) != tr_view_nbase(b) || !same_place(f, a->args[0], b->args[0]))
        return false;
    for (unsigned k = 0; k < tr_view_nbase(a); k++)
        if (!tr_opt_same(f, tr_view_starts(a)[k], tr_view_starts(b)[k]))
            return false;
    for (unsigned k = 0; k < a->ty->ndim; k++)
        if (tr_view_axis(a, k) != tr_view_axis(b, k) ||
            (tr_view_axis(a, k) >= 0 && !tr_opt_same(f, tr_view_steps(a)[k], tr_view_steps(b)[k])))
            return false;
    return true;
}

/* Operands of a pattern that are the array: what is read for each element, and what is written. */
typedef struct row {
    uint32_t olds[MAX_OLDS], nolds, out; /* UINT32_MAX: none */
    bool after;                          /* of the epilogue */
} row;

/* Operands of pattern `in` that are the array. */
static bool find_row(const search *s, const tr_ins *in, row *r) {
    const tr_pat *p = in->imm.pat;
    *r = (row){.out = UINT32_MAX};
    for (uint32_t k = 0; k < in->nargs; k++) {
        if (!tr_ty_has_arrays(tr_at(s->f, in->args[k])->ty) || !has_arrays_root(s, in->args[k]))
            continue;
        tr_role role = tr_pat_role(p, k);
        bool after = role == P_EIN || role == P_EOUT, any = r->nolds || r->out != UINT32_MAX;
        bool old = role == P_IN || role == P_EIN, out = role == P_OUT || role == P_EOUT;
        if ((!old && !out) || (any && r->after != after) || (old && r->nolds == MAX_OLDS) ||
            (out && r->out != UINT32_MAX))
            return false;
        r->after = after;
        if (old)
            r->olds[r->nolds++] = k;
        else
            r->out = k;
    }
    return true;
}

/* Does operand x, read, have an item for each of the space? Else one of it may serve for many. */
static bool is_as_long(const tr_fn *f, const tr_ins *in, const row *r, uint32_t x) {
    const tr_pat *p = in->imm.pat;
    tr_val y = in->args[r->out];
    bool all = true;
    if (whole(f, y, in->args[x]) == in->args[x])
        return true;
    for (unsigned k = 0, at = 0; k < p->nspace; k++) {
        if (r->after && !(p->keep >> k & 1u))
            continue;
        const tr_val *sizes = tr_made_sizes(tr_at(f, in->args[x]));
        int64_t n, m;
        bool same =
            r->after ? sizes && (sizes[at] == in->args[k] ||
                                 (tr_get_int(f, sizes[at], &n) && tr_get_int(f, in->args[k], &m) && n == m))
                     : tr_pat_is_as_long(f, in, x - tr_pat_at(p, P_IN), k);
        all = all && same;
        at++;
    }
    return all;
}

/* Is an element of what is written that of the same index of what is read, joined with others?
 * as_long: what is read does not repeat. */
static bool joins_rows(search *s, const tr_ins *in, const row *r, bool as_long) {
    const tr_pat *p = in->imm.pat;
    tr_fn *g = r->after ? p->epi : p->lam;
    tr_val olds[MAX_OLDS];
    for (uint32_t k = 0; k < r->nolds; k++) {
        if (!as_long && !is_as_long(s->f, in, r, r->olds[k]))
            return false;
        olds[k] = tr_port_param(p, r->after ? TR_EPI : TR_LAM, r->olds[k]);
    }
    tr_cfg_compute(g);
    tr_dom_compute(g);
    return join_goes_with_others(
        s, &(tr_pjoins){.f = g,
                        .head = TR_NOBLK,
                        .store = TR_NOVAL,
                        .slot = r->out - (r->after ? tr_pat_at(p, P_EOUT) : tr_pat_at(p, P_OUT)),
                        .elem = tr_at(s->f, s->array)->ty->elem,
                        .olds = olds,
                        .nolds = r->nolds});
}

/* The same for whole arrays: the element read serves for the one written alone. */
static bool check_pattern(search *s, const tr_ins *in) {
    row r;
    if (!find_row(s, in, &r) || !r.nolds || r.out == UINT32_MAX)
        return false;
    for (uint32_t k = 0; k < r.nolds; k++)
        if (!is_part_of_array(s, in->args[r.olds[k]]) ||
            !same_place(s->f, in->args[r.olds[k]], in->args[r.out]))
            return false;
    if (!joins_rows(s, in, &r, false))
        return false;
    s->rows = true;
    return true;
}

/* The operand of pattern `in` that is v, if it has that role; UINT32_MAX: not so, or several are. */
static uint32_t only_operand(const tr_ins *in, tr_val v, tr_role role) {
    uint32_t at = UINT32_MAX, n = 0;
    for (uint32_t k = 0; k < in->nargs; k++)
        if (in->args[k] == v) {
            at = k;
            n++;
        }
    return n == 1 && tr_pat_role(in->imm.pat, at) == role ? at : UINT32_MAX;
}

/* What computes all of t, an array of the iteration's own that nobody reads but pattern `reader`. */
static tr_val maker_of(const search *s, tr_val t, tr_val reader) {
    const tr_fn *f = s->f;
    tr_val maker = TR_NOVAL;
    if (tr_at(f, t)->op != TR_OP_ALLOC || !tr_ploop_varies(s->l, t))
        return TR_NOVAL;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            bool uses = false;
            for (uint32_t k = 0; k < in->nargs; k++)
                uses = uses || in->args[k] == t;
            for (uint32_t e = 0; e < tr_nsucc(in); e++)
                for (uint32_t k = 0; k < in->imm.succ[e].n; k++)
                    if (in->imm.succ[e].args[k] == t)
                        return TR_NOVAL;
            if (!uses || v == reader || in->op == TR_OP_DIM)
                continue;
            if (maker != TR_NOVAL || in->op != TR_OP_PATTERN)
                return TR_NOVAL;
            maker = v;
        }
    return maker;
}

/* `a[:] = a + x`: one pattern reads the array and makes another one, which the next one puts in its place. */
static bool check_copied(search *s, tr_val at) {
    const tr_fn *f = s->f;
    const tr_ins *in = tr_at(f, at);
    const tr_pat *p = in->imm.pat;
    row to, from;
    if (!find_row(s, in, &to) || to.nolds || to.out == UINT32_MAX || to.after)
        return false;
    for (uint32_t k = tr_pat_at(p, P_IN); k < tr_pat_at(p, P_OUT); k++) {
        tr_val t = in->args[k], made = maker_of(s, t, at);
        const tr_ins *by = made == TR_NOVAL ? NULL : tr_at(f, made);
        if (!by || only_operand(in, t, P_IN) != k || !find_row(s, by, &from) || !from.nolds || from.after ||
            from.out != UINT32_MAX)
            continue;
        from.out = only_operand(by, t, P_OUT);
        /* Where it is one array that is read and written, both it and t would repeat in the other one
         * only if both were of one item. */
        bool fine = from.out != UINT32_MAX && tr_opt_nothing_between(f, made, at, writes_array, s),
             one = true;
        for (uint32_t i = 0; i < from.nolds && fine; i++) {
            tr_val old = by->args[from.olds[i]];
            fine = is_part_of_array(s, old) && same_place(f, old, in->args[to.out]);
            one = one && old == in->args[to.out];
        }
        to.olds[0] = k;
        to.nolds = 1;
        search before = *s;
        if (fine && joins_rows(s, by, &from, one) && joins_rows(s, in, &to, one)) {
            s->fine[made] = s->fine[at] = 1;
            s->rows = true;
            return true;
        }
        s->any = before.any;
        s->kind = before.kind;
        s->fast = before.fast;
        to.nolds = 0;
    }
    return false;
}

/* The lambda's param for a capture that has the array; TR_NOVAL: something else of the pattern has it. */
static tr_val captured_as(search *s, const tr_ins *in) {
    const tr_pat *p = in->imm.pat;
    tr_val param = TR_NOVAL;
    for (uint32_t k = 0; k < in->nargs; k++) {
        if (!tr_ty_has_arrays(tr_at(s->f, in->args[k])->ty) || !has_arrays_root(s, in->args[k]))
            continue;
        if (tr_pat_role(p, k) != P_CAP || param != TR_NOVAL || !is_part_of_array(s, in->args[k]))
            return TR_NOVAL;
        param = tr_port_param(p, TR_LAM, k);
    }
    return param;
}

/* A use of the array in a region: in its element's next value, or for its size. */
static bool is_fine_in_region(const search *r, tr_val v) {
    const tr_ins *in = tr_at(r->f, v);
    bool touches = false;
    for (uint32_t k = 0; k < in->nargs; k++)
        touches = touches || tr_array_root(r->f, in->args[k]) == r->root;
    for (uint32_t e = 0; e < tr_nsucc(in); e++)
        for (uint32_t k = 0; k < in->imm.succ[e].n; k++)
            touches = touches || tr_array_root(r->f, in->imm.succ[e].args[k]) == r->root;
    return !touches || in->op == TR_OP_DIM || r->fine[v];
}

/* The same for scatters: np.add.at(a, k, x). */
static bool check_scatter(search *s, const tr_ins *in) {
    const tr_pat *p = in->imm.pat;
    bool any = false;
    for (uint32_t k = 0; k < in->nargs; k++) {
        if (!tr_ty_has_arrays(tr_at(s->f, in->args[k])->ty) || !has_arrays_root(s, in->args[k]))
            continue;
        if (any || tr_pat_role(p, k) != P_SCAT || !is_part_of_array(s, in->args[k]))
            return false;
        uint8_t how = tr_pat_join(p, k)->how;
        if (how == TR_SCATTER_PUT || tr_red_info[how].wins != TR_CMP_EQ || tr_red_info[how].joins ||
            !set_kind(s, (tr_redk)how))
            return false;
        any = true;
    }
    s->fast = any ? 0 : s->fast;
    s->rows = s->rows || any;
    return any;
}

/* The same for regions that store at computed places: np.add.at(a, k, x). */
static bool check_region(search *s, const tr_ins *in) {
    const tr_pat *p = in->imm.pat;
    tr_fn *g = p->lam;
    search r = *s;
    r.f = g;
    r.root = r.array = captured_as(s, in);
    if (r.root == TR_NOVAL || tr_pat_nred(p) || p->epi)
        return false;
    tr_cfg_compute(g);
    tr_dom_compute(g);
    r.fine = TR_NEW_N(&g->ctx->arena, uint8_t, g->ins.n + 1u);
    for (uint32_t i = 0; i < g->rpo.n; i++)
        for (tr_val v = tr_blk_at(g, g->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(g, v)->next) {
            const tr_ins *st = tr_at(g, v);
            if (st->op == TR_OP_STORE && st->args[0] == r.root)
                r.fine[v] = store_joins_element(&r, v, NULL, TR_NOBLK);
        }
    for (uint32_t i = 0; i < g->rpo.n; i++)
        for (tr_val v = tr_blk_at(g, g->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(g, v)->next)
            if (!is_fine_in_region(&r, v))
                return false;
    s->any = r.any;
    s->kind = r.kind;
    s->fast = r.fast;
    s->rows = true;
    return true;
}

static bool check_use(search *s, tr_val v) {
    const tr_ins *in = tr_at(s->f, v);
    bool touches = false;
    for (uint32_t k = 0; k < in->nargs; k++) {
        touches = touches || has_arrays_root(s, in->args[k]);
        s->other = s->other || ((tr_ins_effects(in) & (E_READ | E_WRITE)) && may_be_root(s, in->args[k]));
    }
    for (uint32_t e = 0; e < tr_nsucc(in); e++)
        for (uint32_t k = 0; k < in->imm.succ[e].n; k++)
            if (s->l->in[in->imm.succ[e].to] && has_arrays_root(s, in->imm.succ[e].args[k]))
                return false;
    if (!touches)
        return true;
    switch ((tr_op)in->op) {
    case TR_OP_LOAD: return s->fine[v]; /* stores come first, see below */
    case TR_OP_STORE: return s->fine[v];
    case TR_OP_PATTERN:
        return s->fine[v] || check_pattern(s, in) || check_scatter(s, in) || check_region(s, in);
    case TR_OP_VIEW: return is_part_of_array(s, in->args[0]);
    case TR_OP_RESTRIDE: s->strides = true; return is_part_of_array(s, in->args[0]);
    case TR_OP_STRIDE: s->strides = true; return true;
    case TR_OP_DIM:
    case TR_OP_OVERLAP:
    case TR_OP_MEET:
    case TR_OP_APART: return true;
    default: return false;
    }
}

/* The value from outside that v is, or is a view of. */
static tr_val seen_outside(const search *s, tr_val v) {
    while (tr_ploop_varies(s->l, v) && tr_is_view(tr_at(s->f, v)))
        v = tr_at(s->f, v)->args[0];
    return v;
}

/* The array becomes what it and v, from outside, are both views of. */
static void widen(search *s, tr_val v) {
    while (s->array != TR_NOVAL && !is_part_of_array(s, v))
        s->array = s->array == s->root ? TR_NOVAL : tr_at(s->f, s->array)->args[0];
}

/* Views of the array from outside, down to v, that the loop uses. */
static void note_views(search *s, tr_val v) {
    bool known = v == s->array;
    for (uint32_t i = 0; i < s->views.n; i++)
        known = known || s->views.d[i] == v;
    if (known)
        return;
    note_views(s, tr_at(s->f, v)->args[0]);
    s->strides = s->strides || tr_at(s->f, v)->op == TR_OP_RESTRIDE;
    tr_vec_push(&s->f->ctx->arena, &s->views, v);
}

/* What all accesses go through, from outside, and which views of it they do. */
static bool find_array(search *s) {
    const tr_ploop *l = s->l;
    tr_val first = TR_NOVAL;
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < l->blks.n; i++)
            for (tr_val v = tr_blk_at(s->f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(s->f, v)->next)
                for (uint32_t k = 0; k < tr_at(s->f, v)->nargs; k++) {
                    tr_val x = tr_at(s->f, v)->args[k];
                    if (!tr_ty_has_arrays(tr_at(s->f, x)->ty) || !has_arrays_root(s, x))
                        continue;
                    x = seen_outside(s, x);
                    first = first == TR_NOVAL ? s->array = x : first;
                    if (pass == 0)
                        widen(s, x);
                    else
                        note_views(s, x);
                }
        if (s->array == TR_NOVAL || tr_ploop_varies(s->l, s->array) ||
            tr_at(s->f, s->array)->ty->kind != TR_TY_ARRAY)
            return false;
    }
    return true;
}

static void check_writes(search *s, tr_val v) {
    const tr_ins *in = tr_at(s->f, v);
    if (s->fine[v])
        return;
    if (in->op == TR_OP_STORE && has_arrays_root(s, in->args[0]))
        s->fine[v] = check_store(s, v);
    else if (in->op == TR_OP_PATTERN && writes_array(s, v))
        check_copied(s, v);
}

static bool check_all(search *s) {
    const tr_ploop *l = s->l;
    for (uint32_t i = 0; i < 2 * l->blks.n;
         i++) /* twice: at first it may not be known yet which operation it is */
        for (tr_val v = tr_blk_at(s->f, l->blks.d[i % l->blks.n])->first; v != TR_NOVAL;
             v = tr_at(s->f, v)->next)
            check_writes(s, v);
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(s->f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(s->f, v)->next)
            if (!check_use(s, v)) {
                s->bad = v;
                return false;
            }
    return true;
}

bool tr_ploop_accumulates(const tr_ploop *l, const tr_pdepend *d, tr_paccum *out) {
    search s = {.l = l, .f = l->f, .root = d->array, .fast = TR_FM_ALL};
    s.fine = TR_NEW_N(&l->f->ctx->arena, uint8_t, l->f->ins.n + 1u);
    s.from = TR_NEW_N(&l->f->ctx->arena, uint8_t, l->f->ins.n + 1u);
    tr_array_sources(l->f, d->array, s.from);
    s.array = s.bad = TR_NOVAL;
    *out = (tr_paccum){.array = TR_NOVAL, .bad = TR_NOVAL};
    if (!find_array(&s) || !check_all(&s)) {
        *out = (tr_paccum){.array = TR_NOVAL, .bad = s.any ? s.bad : TR_NOVAL, .mixed = s.mixed};
        return false;
    }
    const tr_ty *t = tr_at(l->f, s.array)->ty;
    if (!s.any) /* `a[k] *= 1` and the like: elements are stored as they were */
        s.kind = t->elem->kind == TR_TY_BOOL ? TR_RED_OR : TR_RED_ADD;
    if (!t->ndim || t->ndim + 1u > TR_MAX_NDIM || (s.strides && t->layout != TR_LAYOUT_C) ||
        !tr_red_takes(s.kind, t->elem) || tr_ty_is_packed(t))
        return false;
    bool real = tr_ty_is_float(t->elem) || tr_ty_is_complex(t->elem);
    *out = (tr_paccum){.array = s.array,
                       .root = d->array,
                       .kind = s.kind,
                       .fast = s.any && real ? s.fast : 0,
                       .rows = s.rows,
                       .other = s.other,
                       .views = s.views.d,
                       .nviews = s.views.n};
    return true;
}

/* --- how many chunks --- */

static tr_val size_of(tr_bld *b, tr_paccum *a) {
    uint32_t n = tr_at(b->fn, a->array)->ty->ndim;
    a->dims = TR_NEW_N(&b->fn->ctx->arena, tr_val, n + 1u);
    for (uint32_t k = 0; k < n; k++) {
        a->dims[k] = tr_emit_dim(b, a->array, k);
        a->size = k ? tr_emit_op(b, TR_OP_MUL, a->size, a->dims[k]) : a->dims[k];
    }
    return a->size;
}

/* At most MAX_CHUNKS, each of WORTH elements of copies for an iteration (two iterations where one adds whole
 * rows), and no more than MAX_ITEMS in all copies. */
tr_val tr_accumulate_chunks(tr_ploop *l, tr_bld *b) {
    assert(l->accums.n > 0 && "without an array that is accumulated into there are no chunks");
    tr_val total = TR_NOVAL, n = tr_emit_least(b, l->length, tr_emit_int(b, (int64_t)1 << 40));
    bool rows = false;
    for (uint32_t k = 0; k < l->accums.n; k++) {
        tr_val size = size_of(b, &l->accums.d[k]);
        total = k ? tr_emit_op(b, TR_OP_ADD, total, size) : size;
        rows = rows || l->accums.d[k].rows;
    }
    tr_val worth = rows
                       ? tr_emit_op(b, TR_OP_QUOT, n, tr_emit_int(b, 2))
                       : tr_emit_op(b, TR_OP_QUOT, tr_emit_op(b, TR_OP_MUL, n, tr_emit_int(b, WORTH)), total);
    tr_val fit = tr_emit_least(b, tr_emit_op(b, TR_OP_QUOT, tr_emit_int(b, MAX_ITEMS), total),
                               tr_emit_int(b, MAX_CHUNKS));
    return tr_emit_least(b, tr_emit_least(b, worth, n), fit);
}

/* --- copies --- */

static tr_fn *new_lambda(const tr_bld *b, uint32_t nindex) {
    tr_fn *f = b->fn, *g = tr_fn_new(f->ctx, f->name, S_T);
    g->is_lambda = true;
    g->file = f->file;
    g->func = f->func;
    tr_blk_new(g);
    for (uint32_t k = 0; k < nindex; k++)
        tr_blk_param(g, 0, tr_ty_scalar(f->ctx->types, TR_TY_I64), NULL);
    return g;
}

static void yield(tr_fn *g, tr_val v) {
    tr_bld b = {.fn = g, .blk = 0, .before = TR_NOVAL};
    tr_emit_v(&b, TR_OP_YIELD, NULL, 1, &v);
}

const tr_site *tr_ploop_no_memory(tr_ctx *c) {
    tr_site *s = TR_NEW(&c->arena, tr_site);
    *s = (tr_site){TR_EXC_MEMORY, "cannot allocate an array of {0} bytes", -1, NULL};
    return s;
}

/* One array with what each chunk collects, along its first axis. */
void tr_accumulate_copies(tr_bld *b, tr_paccum *a, tr_val chunks) {
    assert(a->size != TR_NOVAL && a->dims && "chunks were counted, and sizes with them");
    tr_fn *f = b->fn;
    const tr_ty *t = tr_at(f, a->array)->ty;
    uint32_t n = t->ndim;
    tr_val *v = TR_NEW_N(&f->ctx->arena, tr_val, n + 1u);
    v[0] = chunks;
    memcpy(v + 1, a->dims, n * sizeof *v);
    a->copies =
        tr_emit_v(b, TR_OP_ALLOC, tr_ty_array(f->ctx->types, t->elem, n + 1u, TR_LAYOUT_C, false), n + 1u, v);
    tr_at(f, a->copies)->imm.site = tr_ploop_no_memory(f->ctx);
}

/* How far apart neighbours in a copy are, which lies as its array's type says. */
static void steps(tr_bld *b, const tr_ty *array, const tr_val *dims, tr_val *out) {
    tr_val at = tr_emit_int(b, 1);
    for (uint32_t k = 0; k < array->ndim; k++) {
        uint32_t axis = array->layout == TR_LAYOUT_F ? k : array->ndim - 1u - k;
        out[axis] = at;
        at = tr_emit_op(b, TR_OP_MUL, at, dims[axis]);
    }
}

void tr_ploop_fill(tr_bld *b, uint32_t n, const tr_val *dims, tr_val in, tr_val out, tr_redk kind,
                   tr_par par) {
    tr_fn *f = b->fn, *g = new_lambda(b, n);
    const tr_ty *elem = tr_at(f, out)->ty->elem;
    yield(g, in == TR_NOVAL ? tr_red_identity(g, kind, elem) : tr_blk_param(g, 0, elem, NULL));
    tr_node m = tr_node_new(f);
    m.t = (tr_pat){.par = (uint8_t)par, .lam = g};
    tr_node_put_all(&m, P_SPACE, dims, n);
    if (in != TR_NOVAL)
        tr_node_put(&m, P_IN, in);
    tr_node_put(&m, P_OUT, out);
    tr_node_emit(&m, b);
}

/* What a chunk collects in, in the lambda that b fills: an array of its own, so that what the loop
 * reads is known to lie apart, filled with the neutral value. Its type is the array's, which lambdas
 * in the loop may have for a capture. */
tr_val tr_accumulate_copy(tr_bld *b, const tr_ty *array, tr_redk kind, const tr_val *dims) {
    uint32_t n = array->ndim;
    tr_layout lies = array->layout == TR_LAYOUT_ANY ? TR_LAYOUT_C : array->layout;
    const tr_ty *t = tr_ty_array(b->fn->ctx->types, array->elem, n, lies, false);
    tr_val own = tr_emit_v(b, TR_OP_ALLOC, t, n, dims);
    tr_at(b->fn, own)->imm.site = tr_ploop_no_memory(b->fn->ctx);
    tr_ploop_fill(b, n, dims, TR_NOVAL, own, kind, TR_PAR_NO);
    return array->layout == lies
               ? own
               : tr_emit_resized(b, tr_ty_array(b->fn->ctx->types, array->elem, n, array->layout, false), own,
                                 dims);
}

/* At the end of chunk number `chunk`: what it collected goes to where all will be joined. */
void tr_accumulate_keep(tr_bld *b, tr_val own, tr_val copies, tr_val size, tr_val chunk, const tr_val *dims) {
    assert(tr_at(b->fn, copies)->ty->ndim == tr_at(b->fn, own)->ty->ndim + 1u && "one for each chunk");
    const tr_ty *array = tr_at(b->fn, own)->ty;
    uint32_t n = array->ndim;
    tr_val *v = TR_NEW_N(&b->fn->ctx->arena, tr_val, 2u * n + 2u);
    v[0] = copies;
    v[1] = tr_emit_op(b, TR_OP_MUL, chunk, size);
    memcpy(v + 2, dims, n * sizeof *v);
    bool any = array->layout == TR_LAYOUT_ANY;
    if (any)
        steps(b, array, dims, v + 2 + n);
    tr_ploop_fill(b, n, dims, own, tr_emit_v(b, TR_OP_RESTRIDE, array, any ? 2u * n + 2u : n + 2u, v),
                  TR_RED_ADD, TR_PAR_NO);
}

/* All copies, by chunk and by the array's axes. */
static tr_val by_axes(tr_bld *b, const tr_paccum *a, tr_val chunks) {
    const tr_ty *array = tr_at(b->fn, a->array)->ty;
    uint32_t n = array->ndim;
    if (array->layout != TR_LAYOUT_F)
        return a->copies;
    tr_val *v = TR_NEW_N(&b->fn->ctx->arena, tr_val, 2u * n + 4u);
    v[0] = a->copies;
    v[1] = tr_emit_int(b, 0);
    v[2] = chunks;
    memcpy(v + 3, a->dims, n * sizeof *v);
    v[n + 3] = a->size;
    steps(b, array, a->dims, v + n + 4);
    const tr_ty *t = tr_ty_array(b->fn->ctx->types, array->elem, n + 1u, TR_LAYOUT_ANY, false);
    return tr_emit_v(b, TR_OP_RESTRIDE, t, 2u * n + 4u, v);
}

/* Two values as one; of a NaN comes a NaN. */
static tr_val joined(tr_bld *b, tr_redk k, const tr_ty *t, tr_val old, tr_val x) {
    const tr_ty *i1 = tr_ty_scalar(b->fn->ctx->types, TR_TY_BOOL);
    if (tr_red_op(k, t) != TR_OP__COUNT)
        return tr_emit2(b, tr_red_op(k, t), t, old, x);
    tr_val keep = tr_emit_cmp(b, k == TR_RED_MIN ? TR_CMP_LE : TR_CMP_GE, old, x);
    if (tr_ty_is_float(t)) {
        tr_val nan = tr_emit1(b, TR_OP_MATH, i1, old);
        tr_at(b->fn, nan)->sub = TR_MATH_ISNAN;
        keep = tr_emit_either(b, keep, nan);
    }
    return tr_emit_select(b, keep, old, x);
}

/* array = array op (all copies together), element by element. */
void tr_accumulate_join(tr_ploop *l, tr_bld *b, const tr_paccum *a, tr_val chunks) {
    tr_fn *f = b->fn;
    const tr_ty *e = tr_at(f, a->array)->ty->elem;
    uint32_t n = tr_at(f, a->array)->ty->ndim;
    tr_node m = tr_node_new(f);
    m.t = (tr_pat){.par = TR_PAR_WISH, .keep = tr_all_axes(n) << 1};
    m.t.lam = new_lambda(b, n + 1u);
    yield(m.t.lam, tr_blk_param(m.t.lam, 0, e, NULL));
    tr_fn *epi = m.t.epi = new_lambda(b, n);
    tr_val sum = tr_blk_param(epi, 0, e, NULL), old = tr_blk_param(epi, 0, e, NULL);
    tr_bld in = {.fn = epi, .blk = 0, .before = TR_NOVAL};
    yield(epi, joined(&in, a->kind, e, old, sum));
    tr_fn_mark_fast(epi, a->fast);
    tr_node_put(&m, P_SPACE, chunks);
    tr_node_put_all(&m, P_SPACE, a->dims, n);
    tr_node_put(&m, P_IN, by_axes(b, a, chunks));
    tr_node_join(&m, P_RED, tr_red_identity(f, a->kind, e),
                 (tr_join){.how = (uint8_t)a->kind, .fast = a->fast});
    tr_node_put(&m, P_EIN, a->array);
    tr_node_put(&m, P_EOUT, a->array);
    tr_vec_push(&f->ctx->arena, l->made, tr_node_emit(&m, b));
}
