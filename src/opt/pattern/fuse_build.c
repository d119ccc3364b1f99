/* Making one pattern of two: what becomes of each operand, and functions that are one's body followed by
 * another's. Cost: linear in both. */
#include <assert.h>

#include "opt/pattern/fuse.h"

#include <string.h>

#include "opt/emit.h"

tr_fn *tr_fuse_lambda(const tr_fn *like) {
    tr_fn *g = tr_fn_new(like->ctx, like->name, S_T);
    g->is_lambda = true;
    g->file = like->file;
    g->func = like->func;
    tr_blk_new(g);
    return g;
}

tr_bid tr_fuse_append(tr_fn *g, tr_bid from, const tr_fn *src, const tr_val *args) {
    tr_u32s blks = tr_live_blocks(src);
    tr_bid *bmap = tr_no_blks(src), join = TR_NOBLK;
    tr_clone_blocks(g, src, blks.d, blks.n, tr_no_vals(src), bmap, 0);
    tr_bld b = {.fn = g, .blk = from, .before = TR_NOVAL};
    tr_br(&b, bmap[0], tr_blk_at(src, 0)->params.n, args);
    for (uint32_t i = 0; i < blks.n; i++) {
        b.blk = bmap[blks.d[i]];
        tr_val last = tr_blk_at(g, b.blk)->last;
        if (tr_at(g, last)->op != TR_OP_YIELD)
            continue;
        tr_ins y = *tr_at(g, last);
        if (join == TR_NOBLK) {
            join = tr_blk_new(g);
            for (uint32_t k = 0; k < y.nargs; k++)
                tr_blk_param(g, join, tr_at(g, y.args[k])->ty, NULL);
        }
        tr_ins_remove(g, last);
        tr_br(&b, join, y.nargs, y.args);
    }
    return join;
}

tr_val tr_fuse_param(tr_fn *g, const tr_ty *t) {
    assert(g->is_lambda && g->blks.n > 0 && "a lambda that is being made");
    return tr_blk_param(g, 0, t, NULL);
}

tr_pat *tr_fuse_guarded(tr_fn *f, const tr_pat *t) {
    tr_pat *g = tr_arena_copy(&f->ctx->arena, t, sizeof *t);
    g->lam = tr_fn_clone(t->lam);
    for (uint32_t v = 0; v < g->lam->ins.n; v++)
        if (tr_at(g->lam, v)->blk != TR_NOBLK && tr_at(g->lam, v)->op == TR_OP_LOAD)
            tr_at(g->lam, v)->sub = 1;
    return g;
}

/* --- which operand becomes which --- */

static tr_merged part_of(tr_arena *a, const tr_ins *in) {
    tr_merged x = {in, TR_NEW_N(a, tr_fate, in->nargs + 1u)};
    for (uint32_t k = 0; k < in->nargs; k++)
        x.fate[k] = (tr_fate){.role = TR_ROLE__COUNT};
    for (uint32_t k = 0; k < in->imm.pat->nspace; k++)
        x.fate[k] = (tr_fate){.role = P_SPACE, .k = k};
    return x;
}

tr_fusing tr_fuse_new(tr_fn *f, const tr_ins *p, const tr_ins *c) {
    tr_fusing m = {.node = tr_node_new(f), .p = part_of(&f->ctx->arena, p), .c = part_of(&f->ctx->arena, c)};
    tr_node_put_all(&m.node, P_SPACE, p->args, p->imm.pat->nspace);
    return m;
}

void tr_fuse_share(tr_merged *x, uint32_t operand, tr_role role, uint32_t k) {
    x->fate[operand] = (tr_fate){.role = (uint8_t)role, .k = k};
}

void tr_fuse_link(tr_fusing *m, uint32_t operand, uint32_t of) {
    m->c.fate[operand] = (tr_fate){.linked = true, .k = of};
}

void tr_fuse_put(tr_fusing *m, tr_merged *x, uint32_t operand, tr_role as, bool once) {
    tr_val v = x->in->args[operand];
    uint32_t k = tr_role_info[as].join ? tr_node_join(&m->node, as, v, *tr_pat_join(x->in->imm.pat, operand))
                 : once                ? tr_node_once(&m->node, as, v)
                                       : tr_node_put(&m->node, as, v);
    tr_fuse_share(x, operand, as, k);
}

void tr_fuse_take(tr_fusing *m, tr_merged *x, tr_role role) {
    uint32_t at = tr_pat_at(x->in->imm.pat, role);
    for (uint32_t k = at; k < at + x->in->imm.pat->n[role]; k++)
        if (x->fate[k].role == TR_ROLE__COUNT)
            tr_fuse_put(m, x, k, role, false);
}

void tr_fuse_take_rest(tr_fusing *m, tr_merged *x) {
    for (unsigned r = 0; r < TR_ROLE__COUNT; r++)
        if (tr_role_info[r].of != '-')
            tr_fuse_take(m, x, (tr_role)r);
}

/* --- one function of two --- */

static const tr_ty *type_of(const tr_fn *f, tr_val v) {
    return tr_at(f, v)->ty;
}

/* Where what is yielded for operand k of a role begins: places have several values. */
static uint32_t slot_of(const tr_fn *f, const tr_pat *t, const tr_val *of_role, unsigned fn, unsigned role,
                        uint32_t k) {
    uint32_t n = tr_pat_slot(t, fn, role);
    for (uint32_t i = 0; i < k; i++)
        n += tr_port_nvalues(f, role, fn, of_role[i]);
    return n;
}

static uint32_t nyields(const tr_node *m, unsigned fn) {
    uint32_t n = 0;
    for (unsigned r = 0; r < TR_ROLE__COUNT; r++)
        for (uint32_t k = 0; tr_role_info[r].gives[fn] && k < m->of[r].n; k++)
            n += tr_port_nvalues(m->f, r, fn, m->of[r].d[k]);
    return n;
}

/* A param for each operand that the new function takes something of. */
static tr_val *make_params(const tr_fusing *m, tr_fn *g, unsigned fn) {
    const tr_pat *t = &m->node.t;
    tr_val *e = TR_NEW_N(&g->ctx->arena, tr_val, tr_pat_nparams(t, fn) + 1u);
    for (tr_ports q = tr_ports_of(t, fn); tr_ports_left(&q); tr_ports_next(t, fn, &q))
        for (uint32_t k = 0; q.is->takes[fn] && k < q.n; k++) {
            const tr_ty *ty = type_of(m->node.f, m->node.of[q.role].d[k]);
            e[q.param + k] = tr_fuse_param(g, q.is->takes[fn] == TR_TAKES_ITEM ? ty->elem : ty);
        }
    return e;
}

/* Function `own` of a part, at the end of `from`, on the new function's params e and what p has yielded.
 * Returns the block whose params are what it yields. */
static tr_bid append_part(const tr_fusing *m, const tr_merged *x, unsigned own, tr_fn *g, unsigned fn,
                          const tr_val *e, tr_bid from, unsigned pf) {
    const tr_pat *t = x->in->imm.pat, *tp = m->p.in->imm.pat;
    tr_val *v = TR_NEW_N(&g->ctx->arena, tr_val, tr_pat_nparams(t, own) + 1u);
    for (tr_ports q = tr_ports_of(t, own); tr_ports_left(&q); tr_ports_next(t, own, &q))
        for (uint32_t k = 0; q.is->takes[own] && k < q.n; k++) {
            tr_fate to = x->fate[q.arg + k];
            if (to.linked) {
                unsigned r = tr_pat_role(tp, to.k);
                v[q.param + k] = tr_fuse_params(g, from)[tr_pat_slot(tp, pf, r) + to.k - tr_pat_at(tp, r)];
                continue;
            }
            assert(to.role < TR_ROLE__COUNT && tr_role_info[to.role].takes[fn] && "what the function takes");
            v[q.param + k] = e[tr_pat_param(&m->node.t, fn, to.role) + to.k];
        }
    return tr_fuse_append(g, from, tr_pat_fn(t, own), v);
}

/* What a part has yielded goes where the new node wants it, but where another one has given it already. */
static void pass_on(const tr_fusing *m, const tr_merged *x, unsigned own, unsigned fn, const tr_val *from,
                    tr_val *y) {
    const tr_fn *f = m->node.f;
    const tr_pat *t = x->in->imm.pat;
    for (tr_ports q = tr_ports_of(t, own); tr_ports_left(&q); tr_ports_next(t, own, &q))
        for (uint32_t k = 0; q.is->gives[own] && k < q.n; k++) {
            tr_fate to = x->fate[q.arg + k];
            if (to.role == TR_ROLE__COUNT) /* nobody asks for it but the second one */
                continue;
            uint32_t at = slot_of(f, t, x->in->args + q.arg, own, q.role, k),
                     slot = slot_of(f, &m->node.t, m->node.of[to.role].d, fn, to.role, to.k);
            for (uint32_t i = 0; i < tr_port_nvalues(f, q.role, own, x->in->args[q.arg + k]); i++)
                if (y[slot + i] == TR_NOVAL)
                    y[slot + i] = from[at + i];
        }
}

/* c's contributions are the identity where p's first scan counts nothing. */
static void only_packed(const tr_fusing *m, tr_bld *b, unsigned pf, unsigned cf, const tr_val *py,
                        tr_val *cy) {
    const tr_pat *tc = m->c.in->imm.pat;
    tr_val count = py[tr_pat_slot(m->p.in->imm.pat, pf, P_SCAN)];
    tr_val kept = tr_emit_cmp(b, TR_CMP_NE, count, tr_const_int(b->fn, type_of(b->fn, count), 0));
    for (uint32_t k = 0; k < tr_pat_nred(tc); k++) {
        tr_val *x = &cy[tr_pat_slot(tc, cf, P_SCAN) + k];
        *x = tr_emit_select(b, kept, *x, tr_red_identity(b->fn, tr_pat_red(tc, k), type_of(b->fn, *x)));
    }
}

/* Functions that join values are given what the new node captures. */
static void rejoin(tr_fusing *m, const tr_merged *x) {
    tr_node *node = &m->node;
    const tr_pat *t = x->in->imm.pat;
    for (uint32_t k = 0; k < tr_pat_njoins(t); k++) {
        const tr_fn *old = t->joins[k].by;
        tr_fate to = x->fate[tr_pat_at(t, P_SCAN) + k];
        if (!old || to.role == TR_ROLE__COUNT)
            continue;
        tr_fn *g = tr_fuse_lambda(old);
        const tr_ty *of = type_of(node->f, node->of[to.role].d[to.k]);
        of = to.role == P_SCAT ? of->elem : of;
        tr_val *v = TR_NEW_N(&g->ctx->arena, tr_val, TR_BY_CAP + t->ncap + 1u),
               *caps = TR_NEW_N(&g->ctx->arena, tr_val, node->of[P_CAP].n + 1u);
        for (unsigned i = 0; i < TR_BY_CAP; i++)
            v[i] = tr_fuse_param(g, of);
        for (uint32_t c = 0; c < node->of[P_CAP].n; c++)
            caps[c] = tr_fuse_param(g, type_of(node->f, node->of[P_CAP].d[c]));
        for (uint32_t c = 0; c < t->ncap; c++)
            v[TR_BY_CAP + c] = caps[x->fate[tr_pat_at(t, P_CAP) + c].k];
        tr_bid end = tr_fuse_append(g, 0, old, v);
        tr_bld b = {.fn = g, .blk = end, .before = TR_NOVAL};
        tr_emit_v(&b, TR_OP_YIELD, NULL, 1, tr_fuse_params(g, end));
        tr_simplify_cfg(g);
        node->joins[to.role].d[to.k].by = g;
    }
}

tr_fn *tr_fuse_compose(tr_fusing *m, unsigned fn, unsigned pf, unsigned cf) {
    tr_arena *a = &m->node.f->ctx->arena;
    tr_node_count(&m->node);
    tr_fn *g =
        tr_fuse_lambda(cf != TR_NOFN ? tr_pat_fn(m->c.in->imm.pat, cf) : tr_pat_fn(m->p.in->imm.pat, pf));
    tr_val *e = make_params(m, g, fn);
    tr_bid middle = pf == TR_NOFN ? 0 : append_part(m, &m->p, pf, g, fn, e, 0, pf);
    tr_bid end = cf == TR_NOFN ? middle : append_part(m, &m->c, cf, g, fn, e, middle, pf);
    uint32_t n = nyields(&m->node, fn);
    tr_val *y = TR_NEW_N(a, tr_val, n + 1u);
    tr_bld b = {.fn = g, .blk = end, .before = TR_NOVAL};
    memset(y, 0xff, n * sizeof *y);
    if (fn == TR_LAM) {
        rejoin(m, &m->p);
        rejoin(m, &m->c);
    }
    if (pf != TR_NOFN)
        pass_on(m, &m->p, pf, fn, tr_fuse_params(g, middle), y);
    if (cf != TR_NOFN) {
        uint32_t ncy = tr_blk_at(g, end)->params.n;
        tr_val *cy = tr_arena_copy(a, tr_fuse_params(g, end), ncy * sizeof *cy);
        if (m->packed)
            only_packed(m, &b, pf, cf, tr_fuse_params(g, middle), cy);
        pass_on(m, &m->c, cf, fn, cy, y);
    }
    tr_emit_v(&b, TR_OP_YIELD, NULL, n, y);
    tr_simplify_cfg(g);
    return g;
}
