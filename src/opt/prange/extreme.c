/* Extremes of a prange loop with what goes with them, `if x[i] > best: best = x[i]; at = i`:
 * params of its head that change together.
 *
 * There may be several such sets, of params that no comparison's ways bring to one another. All of one
 * are new where a comparison of a candidate with the best one so far holds, which takes the candidate
 * for the best, and all stay elsewhere; no other use of them stands in the loop. So a chunk of the
 * iterations may begin with what there was before the loop, and go in order: what it comes to replaces
 * what those before it came to where that comparison holds of both, and it took any candidate at all
 * (`taken`, a param of its own). That is what the loop in order makes, bit for bit: of equal ones the
 * first (`>`), or the last (`>=`); nan is never taken.
 * Invariant: in each block a member has one value (`now`), and jumps pass that, or all members new
 * ones, so they are always of one candidate.
 * Cost: linear in the loop, and in its edges. */
#include <assert.h>
#include <string.h>

#include "opt/prange/ploop.h"
#include "opt/emit.h"
#include "rt/rt.h"

enum { MAX_WAYS = 16 };

typedef struct way {
    tr_bid from;
    uint32_t succ;
    uint32_t of; /* the extreme whose members it brings anew */
} way;

typedef struct finder {
    tr_ploop *l;
    tr_fn *f;
    tr_pextreme *x;
    uint8_t *owner;    /* per value: 1 + the member that it is the value of, or 0 */
    tr_val *now;       /* per block and member: its value there */
    uint8_t *known;    /* per block: `now` is */
    TR_VEC(way) fresh; /* jumps that pass new values of all members */
} finder;

static const tr_edge *edge_of(const finder *s, way w) {
    return &tr_term(s->f, w.from)->imm.succ[w.succ];
}

/* Which member is param k of the block? 0: none; else 1 + its number. */
static unsigned wants(const finder *s, tr_bid to, uint32_t k) {
    return s->owner[tr_blk_at(s->f, to)->params.d[k]];
}

static tr_val *now_in(const finder *s, tr_bid b) {
    return s->now + (size_t)b * TR_MAX_EXTREME;
}

/* Params that pass a member on. False: one passes several. */
static bool pass_members_on(finder *s) {
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < s->l->blks.n; i++) {
            const tr_ins *t = tr_term(s->f, s->l->blks.d[i]);
            for (uint32_t e = 0; e < tr_nsucc(t); e++)
                for (uint32_t k = 0; s->l->in[t->imm.succ[e].to] && k < t->imm.succ[e].n; k++) {
                    unsigned has = s->owner[t->imm.succ[e].args[k]];
                    tr_val p = tr_blk_at(s->f, t->imm.succ[e].to)->params.d[k];
                    if (has && s->owner[p] && s->owner[p] != has)
                        return false;
                    changed = changed || (has && !s->owner[p]);
                    s->owner[p] = has ? (uint8_t)has : s->owner[p];
                }
        }
    }
    return true;
}

/* The values of members in each block: params of its own, or what they are in the block
 * that it hangs from. */
static bool find_members_in_blocks(finder *s) {
    for (uint32_t i = 0; i < s->l->blks.n; i++) {
        tr_bid b = s->l->blks.d[i], up = tr_blk_at(s->f, b)->idom;
        const tr_blk *blk = tr_blk_at(s->f, b);
        uint32_t met = 0;
        if (i && !s->known[up])
            return false;
        if (i)
            memcpy(now_in(s, b), now_in(s, up), TR_MAX_EXTREME * sizeof(tr_val));
        for (uint32_t k = 0; k < blk->params.n; k++) {
            unsigned m = wants(s, b, k);
            if (m && met >> m & 1)
                return false;
            met |= m ? 1u << m : 0;
            if (m)
                now_in(s, b)[m - 1] = blk->params.d[k];
        }
        s->known[b] = 1;
    }
    return true;
}

/* --- a comparison, and what hangs on it --- */

typedef struct ways {
    way d[MAX_WAYS];
    uint32_t n;
    bool too_many;
} ways;

/* A block for one way alone, in which nothing happens that others see. */
static bool block_is_passage(const finder *s, tr_bid b) {
    const tr_blk *blk = tr_blk_at(s->f, b);
    if (!s->l->in[b] || b == s->l->header || blk->preds.n != 1)
        return false;
    for (tr_val v = blk->first; v != blk->last; v = tr_at(s->f, v)->next)
        if (tr_ins_effects(tr_at(s->f, v)) & ~(E_READ | E_RAISE))
            return false;
    return true;
}

/* What raises there, or does not, depends on the candidates before: chunks, which do not
 * know them, would raise more. */
static bool block_may_raise(const finder *s, tr_bid b) {
    return tr_blk_raises(s->f, b) || tr_term(s->f, b)->op == TR_OP_TRY || tr_nsucc(tr_term(s->f, b)) == 0;
}

static void follow(const finder *s, way w, ways *out) {
    tr_bid to = edge_of(s, w)->to;
    if (block_is_passage(s, to)) {
        const tr_ins *t = tr_term(s->f, to);
        s->x->raises = s->x->raises || block_may_raise(s, to);
        for (uint32_t k = 0; k < (t->op == TR_OP_TRY ? 1 : tr_nsucc(t)); k++)
            follow(s, (way){to, k, w.of}, out);
        return;
    }
    out->too_many = out->too_many || out->n == MAX_WAYS;
    if (!out->too_many)
        out->d[out->n++] = w;
}

/* What a way passes on: the members as they are in block b, or all of one extreme new, the
 * best one being `best`. */
typedef enum passes { WRONG, KEPT, FRESH } passes;

static passes passes_on(const finder *s, way w, tr_bid b, tr_val best) {
    const tr_pextreme *x = s->x;
    const tr_edge *e = edge_of(s, w);
    uint32_t kept = 0, fresh = 0, n = 0;
    for (uint32_t m = 0; m < x->n; m++)
        n += x->of[m] == w.of;
    for (uint32_t k = 0; s->l->in[e->to] && k < e->n; k++) {
        unsigned m = wants(s, e->to, k), has = s->owner[e->args[k]];
        if (!m)
            continue;
        if (has ? e->args[k] != now_in(s, b)[m - 1] : x->of[m - 1] != w.of)
            return WRONG;
        if (!has && m - 1 == x->all[w.of].best && !tr_opt_same(s->f, best, e->args[k]))
            return WRONG;
        kept += has && x->of[m - 1] == w.of;
        fresh += has == 0;
    }
    return fresh == 0 ? KEPT : kept == 0 && fresh == n ? FRESH : WRONG;
}

/* All ways from a test come to one block with the same arguments, but for members; which ones, a bit each. */
static bool differ_in_members(const finder *s, const ways *a, uint32_t *which) {
    *which = 0;
    if (a->too_many || a->n == 0)
        return false;
    const tr_edge *first = edge_of(s, a->d[0]);
    for (uint32_t i = 1; i < a->n; i++) {
        const tr_edge *e = edge_of(s, a->d[i]);
        if (e->to != first->to)
            return false;
        for (uint32_t k = 0; s->l->in[e->to] && k < e->n; k++) {
            unsigned m = e->args[k] != first->args[k] ? wants(s, e->to, k) : 0;
            if (!m && e->args[k] != first->args[k])
                return false;
            *which |= m ? 1u << (m - 1) : 0;
        }
    }
    return s->l->in[first->to];
}

/* All ways from the test that block b ends with; the number of those where it holds. */
static uint32_t ways_from(const finder *s, tr_bid b, uint32_t of, ways *all) {
    *all = (ways){.n = 0};
    follow(s, (way){b, 0, of}, all);
    uint32_t n = all->n;
    follow(s, (way){b, 1, of}, all);
    return n;
}

/* The members that a comparison is of, a bit each. */
static uint32_t compared(const finder *s, tr_val c) {
    const tr_ins *in = tr_at(s->f, c);
    uint32_t out = 0;
    for (uint32_t k = 0; in->op == TR_OP_CMP && k < 2; k++)
        out |= s->owner[in->args[k]] ? 1u << (s->owner[in->args[k]] - 1) : 0;
    return out;
}

/* Members belong together where a test of one decides about the other. */
static bool find_extremes(finder *s) {
    tr_pextreme *x = s->x;
    for (uint32_t m = 0; m < x->n; m++)
        x->of[m] = m;
    for (uint32_t i = 0; i < s->l->blks.n; i++) {
        tr_bid b = s->l->blks.d[i];
        const tr_ins *t = tr_term(s->f, b);
        uint32_t which = 0, with = t->op == TR_OP_CBR ? compared(s, t->args[0]) : 0, to = UINT32_MAX;
        ways all;
        if (!with)
            continue;
        ways_from(s, b, 0, &all);
        if (!differ_in_members(s, &all, &which))
            return false;
        with |= which;
        for (uint32_t m = 0; m < x->n; m++)
            if (with >> m & 1) {
                to = to == UINT32_MAX ? x->of[m] : to;
                for (uint32_t k = 0, old = x->of[m]; k < x->n; k++)
                    x->of[k] = x->of[k] == old ? to : x->of[k];
            }
    }
    uint32_t number[TR_MAX_EXTREME];
    for (uint32_t m = 0; m < x->n; m++) { /* a set has the number of its first member so far */
        number[m] = x->of[m] == m ? x->nall++ : UINT32_MAX;
        if (x->nall > TR_MAX_EXTREMES)
            return false;
    }
    for (uint32_t m = 0; m < x->n; m++)
        x->of[m] = number[x->of[m]];
    return true;
}

/* Block b ends with a test of `candidate how best`, c. */
static bool check_test(finder *s, tr_bid b, tr_val c) {
    tr_pextreme *x = s->x;
    const tr_ins *in = tr_at(s->f, c);
    unsigned at = s->owner[in->args[0]] ? 0 : 1, m = s->owner[in->args[at]];
    tr_val candidate = in->args[1 - at];
    bool ordered =
        in->sub == TR_CMP_LT || in->sub == TR_CMP_LE || in->sub == TR_CMP_GT || in->sub == TR_CMP_GE;
    if (!ordered || s->owner[candidate] || in->blk != b || in->args[at] != now_in(s, b)[m - 1])
        return false;
    tr_cmpop how = at ? (tr_cmpop)in->sub : tr_cmp_mirrored[in->sub];
    uint32_t of = x->of[m - 1], which;
    if (x->all[of].any && (x->all[of].best != m - 1 || x->all[of].how != how))
        return false;
    x->all[of].any = true;
    x->all[of].best = m - 1;
    x->all[of].how = how;
    ways all;
    uint32_t ntaken = ways_from(s, b, of, &all);
    if (!differ_in_members(s, &all, &which))
        return false;
    for (uint32_t i = 0; i < all.n; i++) {
        passes p = passes_on(s, all.d[i], b, candidate);
        if (p == WRONG || (p == FRESH && i >= ntaken))
            return false;
        if (p == FRESH)
            tr_vec_push(&s->f->ctx->arena, &s->fresh, all.d[i]);
    }
    return true;
}

/* --- all uses --- */

static bool check_ins(finder *s, tr_bid b, tr_val v) {
    const tr_ins *in = tr_at(s->f, v);
    for (uint32_t k = 0; k < in->nargs; k++) {
        if (s->owner[in->args[k]] && in->op != TR_OP_CMP)
            return false;
        if (compared(s, in->args[k]) && (in->op != TR_OP_CBR || !check_test(s, b, in->args[k])))
            return false;
    }
    return true;
}

static bool edge_arg_is_fresh(const finder *s, tr_bid from, uint32_t succ, uint32_t of) {
    for (uint32_t i = 0; i < s->fresh.n; i++)
        if (s->fresh.d[i].from == from && s->fresh.d[i].succ == succ && s->fresh.d[i].of == of)
            return true;
    return false;
}

/* Jumps pass members as they are, or all of them new behind a test, and a test's result to nobody. */
static bool check_edges(const finder *s, tr_bid b) {
    const tr_ins *t = tr_term(s->f, b);
    for (uint32_t e = 0; e < tr_nsucc(t); e++) {
        const tr_edge *edge = &t->imm.succ[e];
        for (uint32_t k = 0; s->l->in[edge->to] && k < edge->n; k++) {
            unsigned m = wants(s, edge->to, k), has = s->owner[edge->args[k]];
            if (compared(s, edge->args[k]) || (has && !m) ||
                (m && has && edge->args[k] != now_in(s, b)[m - 1]) ||
                (m && !has && !edge_arg_is_fresh(s, b, e, s->x->of[m - 1])))
                return false;
        }
    }
    return true;
}

/* --- whether any was taken --- */

static void push_arg(tr_fn *f, tr_edge *e, tr_val v) {
    tr_val *args = TR_NEW_N(&f->ctx->arena, tr_val, e->n + 1u);
    memcpy(args, e->args, e->n * sizeof *args);
    args[e->n++] = v;
    e->args = args;
}

/* Beside each param that is an extreme's best one, one that says so. */
static void add_taken(finder *s, uint32_t of) {
    tr_fn *f = s->f;
    const tr_ploop *l = s->l;
    const tr_ty *i1 = tr_ty_scalar(f->ctx->types, TR_TY_BOOL);
    tr_val *taken = TR_NEW_N(&f->ctx->arena, tr_val, f->blks.n + 1u), no = tr_const_int(f, i1, 0),
           yes = tr_const_int(f, i1, 1);
    uint8_t *own = TR_NEW_N(&f->ctx->arena, uint8_t, f->blks.n + 1u);
    s->x->all[of].taken = tr_blk_at(f, l->header)->params.n;
    for (uint32_t i = 0; i < l->blks.n; i++) {
        tr_bid b = l->blks.d[i];
        for (uint32_t k = 0; k < tr_blk_at(f, b)->params.n; k++)
            own[b] |= wants(s, b, k) == s->x->all[of].best + 1;
        taken[b] = own[b] ? tr_blk_param(f, b, i1, NULL) : taken[tr_blk_at(f, b)->idom];
    }
    for (tr_bid b = 0; b < f->blks.n; b++)
        for (uint32_t e = 0; !tr_blk_at(f, b)->dead && e < tr_nsucc(tr_term(f, b)); e++) {
            tr_edge *edge = &tr_term(f, b)->imm.succ[e];
            if (l->in[edge->to] && own[edge->to])
                push_arg(f, edge, !l->in[b] ? no : edge_arg_is_fresh(s, b, e, of) ? yes : taken[b]);
        }
}

bool tr_ploop_extreme(tr_ploop *l, const uint32_t *params, uint32_t n, tr_pextreme *out) {
    tr_fn *f = l->f;
    tr_arena *a = &f->ctx->arena;
    finder s = {.l = l, .f = f, .x = out};
    *out = (tr_pextreme){.n = n};
    if (n > TR_MAX_EXTREME || f->kind == TR_FN_KERNEL || f->kind == TR_FN_DEVICE)
        return false;
    s.owner = TR_NEW_N(a, uint8_t, f->ins.n + 1u);
    s.now = TR_NEW_N(a, tr_val, ((size_t)f->blks.n + 1u) * TR_MAX_EXTREME);
    s.known = TR_NEW_N(a, uint8_t, f->blks.n + 1u);
    for (uint32_t m = 0; m < n; m++) {
        tr_val p = tr_blk_at(f, l->header)->params.d[params[m]];
        out->at[m] = params[m];
        s.owner[p] = (uint8_t)(m + 1);
        if (!tr_ty_is_scalar(tr_at(f, p)->ty) || tr_at(f, p)->ty->kind >= TR_TY_NUMBERS)
            return false;
    }
    if (!pass_members_on(&s) || !find_members_in_blocks(&s) || !find_extremes(&s))
        return false;
    for (uint32_t i = 0; i < l->blks.n; i++)
        for (tr_val v = tr_blk_at(f, l->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (!check_ins(&s, l->blks.d[i], v))
                return false;
    for (uint32_t i = 0; i < l->blks.n; i++)
        if (!check_edges(&s, l->blks.d[i]))
            return false;
    for (uint32_t k = 0; k < out->nall; k++)
        if (!out->all[k].any)
            return false;
    for (uint32_t k = 0; k < out->nall && !out->raises; k++)
        add_taken(&s, k);
    return true;
}

/* --- chunks --- */

tr_val tr_extreme_chunks(const tr_ploop *l, tr_bld *b) {
    tr_fn *f = b->fn;
    const tr_ty *i64 = tr_ty_scalar(f->ctx->types, TR_TY_I64);
    tr_val args[] = {l->length, tr_emit_int(b, 0), tr_ploop_cost(l, b)};
    tr_val grain = tr_emit_rt(b, TR_RT_GRAIN, i64, 3, args, NULL);
    tr_val last = tr_emit2(b, TR_OP_SUB, i64, l->length, tr_emit_int(b, 1));
    return tr_emit2(b, TR_OP_ADD, i64, tr_emit2(b, TR_OP_QUOT, i64, last, grain), tr_emit_int(b, 1));
}

void tr_extreme_rooms(tr_ploop *l, tr_bld *b, tr_val chunks) {
    tr_fn *f = b->fn;
    tr_pextreme *x = &l->extreme;
    for (uint32_t m = 0; m < tr_extreme_params(x); m++) {
        const tr_ty *t = tr_at(f, tr_blk_at(f, l->header)->params.d[tr_extreme_param(x, m)])->ty;
        x->rooms[m] =
            tr_emit_v(b, TR_OP_ALLOC, tr_ty_array(f->ctx->types, t, 1, TR_LAYOUT_C, false), 1, &chunks);
        tr_at(f, x->rooms[m])->imm.site = tr_ploop_no_memory(f->ctx);
    }
}

void tr_extreme_join(tr_ploop *l, tr_bld *b, tr_val chunks, tr_val *by) {
    assert(l->extreme.n > 0 && l->extreme.nall > 0 && "there is an extreme, and something goes with it");
    tr_fn *f = b->fn;
    const tr_pextreme *x = &l->extreme;
    const tr_ty *i64 = tr_ty_scalar(f->ctx->types, TR_TY_I64), *i1 = tr_ty_scalar(f->ctx->types, TR_TY_BOOL);
    tr_bid loop = tr_blk_new(f), after = tr_blk_new(f);
    tr_val init[1 + TR_MAX_EXTREME], next[1 + TR_MAX_EXTREME], got[TR_MAX_EXTREME + TR_MAX_EXTREMES],
        takes[TR_MAX_EXTREMES];
    tr_blk_at(f, loop)->cold = tr_blk_at(f, after)->cold = tr_blk_at(f, b->blk)->cold;
    tr_val q = tr_blk_param(f, loop, i64, NULL);
    init[0] = tr_emit_int(b, 0);
    for (uint32_t m = 0; m < x->n; m++) {
        init[1 + m] = by[x->at[m]];
        next[1 + m] = tr_blk_param(f, loop, tr_at(f, init[1 + m])->ty, NULL);
    }
    tr_br(b, loop, 1 + x->n, init);
    b->blk = loop;
    for (uint32_t m = 0; m < tr_extreme_params(x); m++) {
        tr_val args[] = {x->rooms[m], q};
        got[m] = tr_emit_v(b, TR_OP_LOAD, tr_at(f, x->rooms[m])->ty->elem, 2, args);
    }
    for (uint32_t k = 0; k < x->nall; k++) {
        uint32_t best = x->all[k].best;
        tr_val better = tr_emit_cmp(b, x->all[k].how, got[best], next[1 + best]);
        takes[k] = tr_emit_both(b, better, got[x->n + k]);
    }
    for (uint32_t m = 0; m < x->n; m++)
        next[1 + m] = tr_emit_select(b, takes[x->of[m]], got[m], next[1 + m]);
    next[0] = tr_emit2(b, TR_OP_ADD, i64, q, tr_emit_int(b, 1));
    tr_val more = tr_emit_cmp(b, TR_CMP_LT, next[0], chunks);
    tr_cbr(b, more, loop, 1 + x->n, next, after, 0, NULL);
    b->blk = after;
    for (uint32_t m = 0; m < x->n; m++)
        by[x->at[m]] = next[1 + m];
    for (uint32_t k = 0; k < x->nall; k++)
        by[x->all[k].taken] = tr_const_int(f, i1, 0);
}
