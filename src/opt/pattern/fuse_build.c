/* Making one pattern of two: operands by group, and a lambda that is one's body followed by another's. */
#include <assert.h>

#include "opt/pattern/fuse.h"

#include <string.h>

uint32_t tr_fuse_put(tr_arena *a, tr_fuse_group *g, tr_val v, bool once) {
    for (uint32_t i = 0; once && i < g->v.n; i++)
        if (g->v.d[i] == v)
            return i;
    tr_vec_push(a, &g->v, v);
    return g->v.n - 1;
}

void tr_fuse_put_all(tr_arena *a, tr_fuse_group *g, const tr_val *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        tr_fuse_put(a, g, v[i], false);
}

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

tr_val tr_fuse_node(tr_fusing *m, tr_val before, const tr_ty *ty) {
    tr_fn *f = m->f;
    tr_pat *t = m->t;
    t->nin = (uint16_t)m->in.v.n;
    t->nout = (uint16_t)m->out.v.n;
    t->nfilt = (uint16_t)m->filt.v.n;
    t->nscat = (uint16_t)m->scat.v.n;
    t->nred = (uint16_t)m->init.v.n;
    t->ncap = (uint16_t)m->cap.v.n;
    t->nein = (uint16_t)m->ein.v.n;
    t->neout = (uint16_t)m->eout.v.n;
    tr_val *v = TR_NEW_N(&f->ctx->arena, tr_val, tr_pat_nargs(t) + 1u);
    uint32_t n = t->nspace;
    memcpy(v, m->p->args, n * sizeof *v);
    const tr_fuse_group *all[] = {&m->in, &m->out, &m->filt, &m->scat, &m->init, &m->cap, &m->ein, &m->eout};
    for (unsigned k = 0; k < sizeof all / sizeof *all; k++)
        for (uint32_t i = 0; i < all[k]->v.n; i++)
            v[n++] = all[k]->v.d[i];
    tr_bld b = {.fn = f, .blk = m->c->blk, .before = before, .loc = m->c->loc};
    tr_val r = tr_emit_v(&b, TR_OP_PATTERN, ty, n, v);
    tr_at(f, r)->imm.pat = t;
    return r;
}
