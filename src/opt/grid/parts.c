/* What threads carry over barriers in one piece is taken apart into numbers (scalar replacement of
 * aggregates): arrays over the threads hold numbers, and nothing else.
 *
 * A tuple, and all else that is made of items (one of several functions, what may be None), comes to a block
 * by a param as its items, and who asks for an item gets it. An array that changes its name on the way, as in
 * `a, b = b, a`, comes as the number of one of those that it may be, and is chosen by that anew.
 * Cost: the params of such types, times the depth of tuples. */
#include <string.h>

#include "opt/grid/grid.h"
#include "opt/emit.h"
#include "opt/priv.h"

enum { MOST = 8 }; /* arrays that one name may stand for */

/* --- tuples --- */

typedef struct item {
    tr_val v, of;
} item;
typedef TR_VEC(item) items_of;

/* extract(tuple(...), k) is item k. */
static void take_items(tr_fn *g) {
    tr_repl r = tr_repl_new(g);
    for (tr_val v = 0; v < g->ins.n; v++) {
        const tr_ins *in = tr_at(g, v);
        if (in->op != TR_OP_EXTRACT || in->blk == TR_NOBLK)
            continue;
        tr_val of = tr_repl_get(&r, in->args[0]);
        const tr_ins *t = tr_at(g, of);
        if (t->op != TR_OP_TUPLE || tr_at(g, t->args[in->imm.i])->ty != in->ty)
            continue;
        tr_repl_set(g, &r, v, t->args[in->imm.i]);
        tr_ins_remove(g, v);
    }
    tr_repl_apply(g, &r);
}

/* The edge of a way, to be changed. */
static tr_edge *way_edge(tr_fn *g, const tr_way *w) {
    return &tr_term(g, w->from)->imm.succ[w->succ - 1];
}

/* It says all by its type: it is no param, and not asked for. */
static bool type_has_no_parts(const tr_ty *t) {
    return tr_ty_nparts(t) == 0;
}

/* Item i of the whole. */
static tr_val extract(tr_bld *at, const tr_ty *t, uint32_t i, tr_val whole) {
    tr_val x = tr_emit1(at, TR_OP_EXTRACT, t->items[i], whole);
    tr_at(at->fn, x)->imm.i = i;
    return x;
}

/* Whoever comes to block b brings the items of what he brings for param p. */
static void bring_items(tr_fn *g, tr_bid b, uint32_t p, const tr_ty *t) {
    for (tr_way w = {0}; tr_next_way(g, b, &w);) {
        tr_val last = tr_blk_at(g, w.from)->last, whole = w.edge->args[p];
        tr_bld at = {.fn = g, .blk = w.from, .before = last, .loc = tr_at(g, last)->loc};
        for (uint32_t i = 0; i < t->n; i++)
            if (!type_has_no_parts(t->items[i]))
                tr_edge_add(g, way_edge(g, &w), extract(&at, t, i, whole));
    }
}

/* Items of v, made behind it, and a tuple of them that takes its place, but for them. */
static void put_items_behind(tr_fn *g, tr_val v, tr_repl *r, items_of *own) {
    const tr_ty *t = tr_at(g, v)->ty;
    tr_val *items = TR_NEW_N(&g->ctx->arena, tr_val, t->n + 1u);
    tr_bld at = {.fn = g, .blk = tr_at(g, v)->blk, .before = tr_at(g, v)->next, .loc = tr_at(g, v)->loc};
    for (uint32_t i = 0; i < t->n; i++) {
        items[i] = type_has_no_parts(t->items[i]) ? tr_const_undef(g, t->items[i]) : extract(&at, t, i, v);
        if (!type_has_no_parts(t->items[i]))
            tr_vec_push(&g->ctx->arena, own, ((item){items[i], v}));
    }
    tr_repl_set(g, r, v, tr_emit_v(&at, TR_OP_TUPLE, t, t->n, items));
}

static void put_items_at_head(tr_fn *g, tr_val param, tr_repl *r) {
    tr_bid b = tr_at(g, param)->blk;
    const tr_ty *t = tr_at(g, param)->ty;
    bring_items(g, b, tr_param_index(g, param), t);
    tr_val *items = TR_NEW_N(&g->ctx->arena, tr_val, t->n + 1u);
    for (uint32_t i = 0; i < t->n; i++)
        items[i] = type_has_no_parts(t->items[i]) ? tr_const_undef(g, t->items[i])
                                                  : tr_blk_param(g, b, t->items[i], NULL);
    tr_bld at = {.fn = g, .blk = b, .before = tr_blk_at(g, b)->first, .loc = tr_at(g, param)->loc};
    tr_repl_set(g, r, param, tr_emit_v(&at, TR_OP_TUPLE, t, t->n, items));
}

void tr_grid_take_tuples_apart(tr_grid *s) {
    tr_fn *g = s->g;
    take_items(g);
    for (tr_val from = 0, to = g->ins.n; from < to;
         from = to, to = g->ins.n) { /* tuples in tuples come later */
        tr_cfg_compute(g);
        tr_repl r = tr_repl_new(g);
        items_of own = {0};
        for (tr_val v = from; v < to; v++) {
            const tr_ins *in = tr_at(g, v);
            if (in->blk == TR_NOBLK || !in->ty || !tr_ty_is_items(in->ty) || in->op == TR_OP_TUPLE ||
                tr_is_const(in) || tr_blk_at(g, in->blk)->rpo == TR_NOBLK)
                continue;
            if (in->op != TR_OP_PARAM)
                put_items_behind(g, v, &r, &own);
            else if (in->blk)
                put_items_at_head(g, v, &r);
        }
        if (!r.any)
            break;
        tr_repl_apply(g, &r);
        for (uint32_t k = 0; k < own.n; k++)
            tr_at(g, own.d[k].v)->args[0] = own.d[k].of;
        take_items(g);
    }
    tr_simplify_cfg(g);
}

/* --- arrays --- */

typedef struct names {
    tr_val known[MOST]; /* all that the params of one type may be */
    uint32_t n;
} names;

static bool is_param_or_storage(const tr_fn *g, tr_val v) {
    const tr_ins *in = tr_at(g, v);
    return (in->op == TR_OP_PARAM && in->blk == 0) || tr_grid_is_storage(in);
}

static bool is_array_param(const tr_fn *g, tr_val v, const tr_ty *t) {
    const tr_ins *in = tr_at(g, v);
    return in->op == TR_OP_PARAM && in->blk && in->blk != TR_NOBLK && in->ty == t;
}

static bool add_name(names *all, tr_val v) {
    for (uint32_t i = 0; i < all->n; i++)
        if (all->known[i] == v)
            return true;
    if (all->n < MOST)
        all->known[all->n++] = v;
    return all->n < MOST;
}

/* What the params of this type may be; false: one may be an array that is not there
 * everywhere, or none is such as is looked for. */
static bool find_names(const tr_fn *g, const tr_ty *t, const uint8_t *varies, names *all) {
    bool any = !varies;
    for (uint32_t k = 1; k < g->rpo.n; k++) {
        const tr_blk *blk = tr_blk_at(g, g->rpo.d[k]);
        for (uint32_t p = 0; p < blk->params.n; p++) {
            if (!is_array_param(g, blk->params.d[p], t))
                continue;
            any = any || varies[blk->params.d[p]];
            for (tr_way w = {0}; tr_next_way(g, g->rpo.d[k], &w);) {
                tr_val v = w.edge->args[p];
                if (!is_array_param(g, v, t) && !(is_param_or_storage(g, v) && add_name(all, v)))
                    return false;
            }
        }
    }
    return any;
}

/* The array of that number. */
static tr_val choose(tr_bld *b, const names *all, tr_val number) {
    tr_val out = all->known[0];
    for (uint32_t i = 1; i < all->n; i++) {
        tr_val is = tr_emit_cmp(b, TR_CMP_EQ, number, tr_emit_int(b, i));
        out = tr_emit_select(b, is, all->known[i], out);
    }
    return out;
}

static void bring_numbers(tr_grid *s, tr_bid b, uint32_t p, const names *all, const tr_val *number_of) {
    tr_fn *g = s->g;
    for (tr_way w = {0}; tr_next_way(g, b, &w);) {
        tr_val v = w.edge->args[p], number = number_of[v];
        for (uint32_t i = 0; i < all->n && number == TR_NOVAL; i++)
            if (all->known[i] == v)
                number = tr_const_int(g, s->i64, i);
        tr_edge_add(g, way_edge(g, &w), number);
    }
}

/* Whoever uses such a param chooses by its number, once in a block. */
static void choose_in(tr_grid *s, tr_bid b, const names *all, const tr_val *number_of, uint32_t nvals) {
    tr_fn *g = s->g;
    tr_val *chosen = TR_NEW_N(tr_grid_arena(s), tr_val, nvals + 1u);
    memset(chosen, 0xff, nvals * sizeof *chosen);
    for (tr_val v = tr_blk_at(g, b)->first; v != TR_NOVAL; v = tr_at(g, v)->next)
        for (uint32_t k = 0; k < tr_at(g, v)->nargs; k++) {
            tr_val of = tr_at(g, v)->args[k];
            if (of >= nvals || number_of[of] == TR_NOVAL)
                continue;
            tr_bld at = {.fn = g, .blk = b, .before = v, .loc = tr_at(g, v)->loc};
            if (chosen[of] == TR_NOVAL)
                chosen[of] = choose(&at, all, number_of[of]);
            tr_at(g, v)->args[k] = chosen[of];
        }
}

static void number_arrays(tr_grid *s, const tr_ty *t, const names *all) {
    tr_fn *g = s->g;
    uint32_t nvals = g->ins.n;
    tr_val *number_of = TR_NEW_N(tr_grid_arena(s), tr_val, nvals + 1u);
    memset(number_of, 0xff, nvals * sizeof *number_of);
    TR_VEC(tr_val) params = {0};
    for (uint32_t k = 1; k < g->rpo.n; k++)
        for (uint32_t p = 0; p < tr_blk_at(g, g->rpo.d[k])->params.n; p++)
            if (is_array_param(g, tr_blk_at(g, g->rpo.d[k])->params.d[p], t))
                tr_vec_push(tr_grid_arena(s), &params, tr_blk_at(g, g->rpo.d[k])->params.d[p]);
    for (uint32_t i = 0; i < params.n; i++)
        number_of[params.d[i]] = tr_blk_param(g, tr_at(g, params.d[i])->blk, s->i64, NULL);
    for (uint32_t i = 0; i < params.n; i++)
        bring_numbers(s, tr_at(g, params.d[i])->blk, tr_param_index(g, params.d[i]), all, number_of);
    for (uint32_t k = 0; k < g->rpo.n; k++)
        choose_in(s, g->rpo.d[k], all, number_of, nvals);
    tr_remove_params(g);
}

void tr_grid_number_arrays(tr_grid *s, const uint8_t *varies) {
    tr_fn *g = s->g;
    tr_cfg_compute(g);
    for (uint32_t k = 1; k < g->rpo.n; k++)
        for (uint32_t p = 0; p < tr_blk_at(g, g->rpo.d[k])->params.n; p++) {
            const tr_ty *t = tr_at(g, tr_blk_at(g, g->rpo.d[k])->params.d[p])->ty;
            names all = {.n = 0};
            if (t->kind == TR_TY_ARRAY && find_names(g, t, varies, &all) && all.n) {
                number_arrays(s, t, &all);
                tr_cfg_compute(g);
                p = UINT32_MAX; /* params have moved: from the first again */
            }
        }
}
