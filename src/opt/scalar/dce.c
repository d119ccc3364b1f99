/* Dead-code elimination: an instruction stays if it has an effect that somebody may see, or if something that
 * stays uses it. Block arguments count as used only if their param is, so a counter that feeds nothing but
 * itself goes too. */
#include <assert.h>

#include "ir/rtinfo.h"
#include "opt/priv.h"

typedef struct marker {
    tr_fn *f;
    uint8_t *live;
    tr_u32s work;
} marker;

static bool has_effect(const tr_ins *in) {
    return tr_ins_effects(in) & (E_WRITE | E_RAISE | E_TERM | E_SIDE | E_ALLOC);
}

/* Is nothing asked of what is caught there? */
static bool exception_is_unused(const tr_fn *f, tr_bid handler) {
    tr_val c = tr_blk_at(f, handler)->first;
    for (tr_val u = 0; u < f->ins.n; u++) {
        const tr_ins *in = tr_at(f, u);
        for (uint32_t k = 0; in->blk != TR_NOBLK && k < in->nargs; k++)
            if (in->args[k] == c)
                return false;
        for (uint32_t s = 0; in->blk != TR_NOBLK && s < tr_nsucc(in); s++)
            for (uint32_t k = 0; k < in->imm.succ[s].n; k++)
                if (in->imm.succ[s].args[k] == c)
                    return false;
    }
    return tr_at(f, c)->op == TR_OP_CATCH;
}

/* What an exception is raised from, where that is caught at once and nobody asks: `except KeyError: raise
 * ValueError` in a function that was put into one that catches that. */
static bool links_in_vain(const tr_fn *f, const tr_ins *in) {
    if (in->op != TR_OP_CALLRT || (in->imm.rt->row != TR_RT_CONTEXT && in->imm.rt->row != TR_RT_CAUSE))
        return false;
    const tr_ins *r = tr_at(f, in->next);
    while (r->op == TR_OP_CALLRT && (r->imm.rt->row == TR_RT_CONTEXT || r->imm.rt->row == TR_RT_CAUSE))
        r = tr_at(f, r->next);
    const tr_blk *blk = tr_blk_at(f, in->blk);
    const tr_ins *t = blk->preds.n == 1 ? tr_term(f, blk->preds.d[0]) : r;
    return r->op == TR_OP_RAISE && t->op == TR_OP_TRY && t->imm.succ[0].to == in->blk &&
           exception_is_unused(f, t->imm.succ[1].to);
}

static void mark(marker *m, tr_val v) {
    assert(v < m->f->ins.n);
    if (m->live[v])
        return;
    m->live[v] = 1;
    tr_vec_push(&m->f->ctx->arena, &m->work, v);
}

/* What each edge into b passes for its param v. */
static void mark_incoming(marker *m, tr_val v) {
    assert(tr_at(m->f, v)->op == TR_OP_PARAM);
    const tr_blk *b = tr_blk_at(m->f, tr_at(m->f, v)->blk);
    uint32_t p = 0;
    while (b->params.d[p] != v)
        p++;
    for (uint32_t k = 0; k < b->preds.n; k++) {
        const tr_ins *t = tr_term(m->f, b->preds.d[k]);
        for (uint32_t s = 0; s < tr_nsucc(t); s++)
            if (t->imm.succ[s].to == tr_at(m->f, v)->blk)
                mark(m, t->imm.succ[s].args[p]);
    }
}

static void mark_all(marker *m) {
    tr_fn *f = m->f;
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (has_effect(tr_at(f, v)) && !links_in_vain(f, tr_at(f, v)))
                mark(m, v);
    while (m->work.n) {
        tr_val v = m->work.d[--m->work.n];
        const tr_ins *in = tr_at(f, v);
        if (in->op == TR_OP_PARAM)
            mark_incoming(m, v);
        for (uint32_t i = 0; i < in->nargs; i++)
            mark(m, in->args[i]);
    }
}

bool tr_opt_dce(tr_prog *p, tr_fn *f) {
    (void)p;
    marker m = {.f = f, .live = TR_NEW_N(&f->ctx->arena, uint8_t, f->ins.n + 1u)};
    bool changed = false;
    mark_all(&m);
    for (uint32_t i = 0; i < f->rpo.n; i++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[i])->first, next; v != TR_NOVAL; v = next) {
            next = tr_at(f, v)->next;
            if (m.live[v])
                continue;
            tr_ins_remove(f, v);
            changed = true;
        }
    /* Edges may still name what was removed, for params that nothing uses now; those params go with them. */
    return tr_remove_params(f) || changed;
}
