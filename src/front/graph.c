/* A graph (graph/graph.h) to untyped SSA: one block, a call for each node, in the order of the nodes. */
#include <assert.h>

#include "base/plant.h"
#include "front/internal.h"
#include "graph/graph.h"

typedef struct maker {
    tr_prog *p;
    const tr_func *func;
    const tr_graph *g;
    tr_fn *f;
    tr_bld b;
    tr_val *of, *params; /* of nodes, of params */
} maker;

static tr_val value_of(maker *m, tr_gref r) {
    switch ((tr_grefk)r.kind) {
    case TR_GREF_NODE: return m->of[r.at];
    case TR_GREF_PARAM: return m->params[r.at];
    default: return tr_const_obj(m->f, m->g->objs[r.at]);
    }
}

static tr_val emit_call(maker *m, uint32_t n, const tr_val *args, uint32_t nkw, const char *const *kwnames) {
    tr_val v = tr_emit_v(&m->b, TR_OP_CALLPY, NULL, n, args);
    tr_callinfo *info = TR_NEW(&m->p->ctx->arena, tr_callinfo);
    *info = (tr_callinfo){.nkw = nkw, .kwnames = kwnames};
    tr_at(m->f, v)->imm.call = info;
    return v;
}

static tr_val emit_attr(maker *m, tr_val of, uint32_t name) {
    assert(m->g->objs[name]->kind == TR_OBJ_STR && "an attribute's name is a text");
    tr_val v = tr_emit1(&m->b, TR_OP_GETATTR, NULL, of);
    tr_at(m->f, v)->imm.s = m->g->objs[name]->u.s.d;
    return v;
}

/* An array whose axes that are one long are new axes of one that has the others. */
static tr_val with_new_axes(maker *m, tr_val x, uint32_t shorts) {
    tr_val none = tr_const_obj(m->f, tr_obj_none()), all[] = {none, none, none}, axes[TR_MAX_NDIM],
           items[TR_MAX_NDIM];
    tr_val slice = tr_emit_v(&m->b, TR_OP_BUILDSLICE, NULL, 3, all);
    uint32_t n = 0, ndim = 0;
    for (; shorts >> ndim; ndim++) {
        items[ndim] = shorts >> ndim & 1 ? none : slice;
        if (shorts >> ndim & 1)
            axes[n++] = tr_const_obj(m->f, tr_obj_int(&m->p->ctx->arena, ndim));
    }
    tr_val squeeze = tr_emit1(&m->b, TR_OP_GETATTR, NULL, x);
    tr_at(m->f, squeeze)->imm.s = "squeeze";
    tr_val args[] = {squeeze, tr_emit_v(&m->b, TR_OP_BUILDTUP, NULL, n, axes)},
           some[] = {emit_call(m, 2, args, 0, NULL), tr_emit_v(&m->b, TR_OP_BUILDTUP, NULL, ndim, items)};
    return tr_emit_v(&m->b, TR_OP_GETITEM, NULL, 2, some);
}

static tr_val root_of(maker *m, tr_gref r) {
    if (m->g->result == UINT32_MAX)
        return value_of(m, r);
    tr_val args[2] = {tr_const_obj(m->f, m->g->objs[m->g->result]), value_of(m, r)};
    return emit_call(m, 2, args, 0, NULL);
}

static tr_val make_node(maker *m, uint32_t k) {
    const tr_gnode *n = &m->g->nodes[k];
    bool call = n->op == TR_G_CALL;
    tr_val *args = TR_NEW_N(&m->p->ctx->arena, tr_val, n->n + 2u), v;
    int line = tr_plant(m->p->ctx, TR_PLANT_LINE) ? 1 : (int)k + 1;
    m->b.loc = tr_loc_add(m->f, (tr_place){TR_GRAPH_FILE, TR_GRAPH_NODE, {line, -1, line, -1}}, 0);
    for (uint32_t i = 0; i < n->n; i++)
        args[i + call] = value_of(m, n->args[i]);
    switch ((tr_gop)n->op) {
    case TR_G_HOST: assert(false && "what Python computes is a param"); break;
    case TR_G_CALL: args[0] = tr_const_obj(m->f, m->g->objs[n->fn]); break;
    case TR_G_METHOD: args[0] = emit_attr(m, args[0], n->fn); break;
    case TR_G_ATTR: return emit_attr(m, args[0], n->fn);
    case TR_G_ITEM: return tr_emit_v(&m->b, TR_OP_GETITEM, NULL, n->n, args);
    case TR_G_TUPLE: return tr_emit_v(&m->b, TR_OP_BUILDTUP, NULL, n->n, args);
    case TR_G_SLICE: return tr_emit_v(&m->b, TR_OP_BUILDSLICE, NULL, n->n, args);
    case TR_G_CLOSURE:
        v = tr_emit_v(&m->b, TR_OP_CLOSURE, NULL, n->n, args);
        tr_at(m->f, v)->imm.fn = n->fn;
        return v;
    }
    return emit_call(m, n->n + call, args, n->nkw, n->kwnames);
}

void tr_front_graph(tr_prog *p, uint32_t func) {
    const tr_func *fn = &p->funcs.d[func];
    const tr_graph *g = fn->graph;
    tr_arena *a = &p->ctx->arena;
    maker m = {.p = p, .func = fn, .g = g, .f = tr_fn_new(p->ctx, fn->name, S_F)};
    m.f->file = fn->file;
    m.f->func = func;
    m.of = TR_NEW_N(a, tr_val, g->nnodes + 1u);
    m.params = TR_NEW_N(a, tr_val, fn->nargs + 1u);
    tr_bid entry = tr_blk_new(m.f);
    m.b = (tr_bld){m.f, entry, TR_NOVAL, 0};
    assert(fn->nargs >= g->nparams &&
           "operands come first: what else the function takes it takes for others");
    for (uint32_t i = 0; i < fn->nargs; i++)
        m.params[i] = tr_blk_param(m.f, entry, NULL, fn->argnames[i]);
    for (uint32_t i = 0; i < g->nparams; i++)
        if (g->shorts[i])
            m.params[i] = with_new_axes(&m, m.params[i], g->shorts[i]);
    for (uint32_t i = 0; i < g->nnodes; i++)
        m.of[i] = make_node(&m, i);
    assert(g->nroots > 0 && "somebody asks for something");
    tr_val *roots = TR_NEW_N(a, tr_val, g->nroots);
    for (uint32_t i = 0; i < g->nroots; i++)
        roots[i] = root_of(&m, g->roots[i]);
    tr_val r = g->nroots == 1 ? roots[0] : tr_emit_v(&m.b, TR_OP_BUILDTUP, NULL, g->nroots, roots);
    tr_emit1(&m.b, TR_OP_RET, NULL, r);
    p->funcs.d[func].ssa = m.f;
}
