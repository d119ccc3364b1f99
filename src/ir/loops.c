/* Which block lies in which loop, and what the counters of loops do. */
#include <assert.h>

#include "ir/loops.h"

tr_forest tr_forest_find(tr_fn *f) {
    tr_forest t = {.f = f, .nblks = f->blks.n};
    t.innermost = TR_NEW_N(&f->ctx->arena, uint32_t, f->blks.n + 1u);
    tr_loops_find(f, &t.all, t.innermost);
    t.has_inner = TR_NEW_N(&f->ctx->arena, uint8_t, t.all.n + 1u);
    for (uint32_t k = 0; k < t.all.n; k++)
        if (t.all.d[k].parent != TR_NOLOOP)
            t.has_inner[t.all.d[k].parent] = 1;
    return t;
}

bool tr_forest_has(const tr_forest *t, uint32_t loop, tr_bid b) {
    assert(loop < t->all.n && "a loop of this forest");
    uint32_t l = tr_forest_in(t, b);
    while (l != TR_NOLOOP && l != loop)
        l = t->all.d[l].parent;
    return l == loop;
}

bool tr_forest_is_outside(const tr_forest *t, uint32_t loop, tr_val v) {
    return !tr_forest_has(t, loop, tr_at(t->f, v)->blk);
}

bool tr_forest_block_leaves(const tr_forest *t, uint32_t loop, tr_bid b) {
    const tr_ins *end = tr_term(t->f, b);
    for (uint32_t s = 0; s < tr_nsucc(end); s++)
        if (!tr_forest_has(t, loop, end->imm.succ[s].to))
            return true;
    return false;
}

bool tr_forest_leaves_only_at(const tr_forest *t, uint32_t loop, tr_bid b) {
    const tr_loop *l = tr_forest_at(t, loop);
    for (uint32_t k = 0; k < l->blks.n; k++)
        if (l->blks.d[k] != b && tr_forest_block_leaves(t, loop, l->blks.d[k]))
            return false;
    return true;
}

bool tr_loop_head_test(const tr_fn *f, tr_bid head, tr_loop_test *out) {
    const tr_ins *end = tr_term(f, head), *c = end->op == TR_OP_CBR ? tr_at(f, end->args[0]) : NULL;
    if (!c || c->op != TR_OP_CMP || c->sub != TR_CMP_LT)
        return false;
    const tr_ins *counter = tr_at(f, c->args[0]);
    *out = (tr_loop_test){end->args[0], c->args[0], c->args[1], end->imm.succ[0].to, end->imm.succ[1].to};
    return counter->op == TR_OP_PARAM && counter->blk == head;
}

bool tr_forest_test(const tr_forest *t, uint32_t loop, tr_loop_test *out) {
    return tr_loop_head_test(t->f, tr_forest_at(t, loop)->header, out) && tr_forest_has(t, loop, out->body) &&
           !tr_forest_has(t, loop, out->exit) && tr_forest_is_outside(t, loop, out->bound);
}

bool tr_loop_is_before(const tr_fn *f, tr_bid head, tr_val v) {
    tr_bid b = tr_at(f, v)->blk;
    return tr_is_const(tr_at(f, v)) || (b != TR_NOBLK && b != head && tr_dominates(f, b, head));
}

tr_val tr_loop_start(const tr_fn *f, tr_bid head, tr_val param) {
    assert(tr_at(f, param)->op == TR_OP_PARAM && tr_at(f, param)->blk == head && "a param of the head");
    uint32_t at = tr_param_index(f, param);
    tr_val start = TR_NOVAL;
    for (tr_way w = {0}; tr_next_way(f, head, &w);) {
        if (tr_dominates(f, head, w.from))
            continue;
        if (start != TR_NOVAL && start != w.edge->args[at])
            return TR_NOVAL;
        start = w.edge->args[at];
    }
    return start;
}

bool tr_loop_counter(const tr_fn *f, tr_bid head, tr_val param, tr_counter *out) {
    assert(tr_at(f, param)->op == TR_OP_PARAM && tr_at(f, param)->blk == head && "a param of the head");
    uint32_t at = tr_param_index(f, param);
    *out = (tr_counter){tr_loop_start(f, head, param), TR_NOVAL, TR_NOVAL};
    for (tr_way w = {0}; tr_next_way(f, head, &w);) {
        tr_val v = w.edge->args[at];
        const tr_ins *next = tr_at(f, v);
        if (!tr_dominates(f, head, w.from))
            continue;
        if (next->op != TR_OP_ADD || (next->args[0] != param && next->args[1] != param))
            return false;
        tr_val step = next->args[next->args[0] == param];
        if (!tr_loop_is_before(f, head, step) || (out->step != TR_NOVAL && out->step != step))
            return false;
        out->next = out->step == TR_NOVAL || out->next == v ? v : TR_NOVAL;
        out->step = step;
    }
    return out->step != TR_NOVAL;
}

bool tr_loop_end_test(const tr_fn *f, const tr_loop *l, tr_loop_end *out) {
    const tr_ins *end = l->latch == TR_NOBLK ? NULL : tr_term(f, l->latch);
    const tr_ins *c =
        end && end->op == TR_OP_CBR && end->imm.succ[0].to == l->header ? tr_at(f, end->args[0]) : NULL;
    if (!c || c->op != TR_OP_CMP)
        return false;
    out->bound = c->args[1];
    out->how = (tr_cmpop)c->sub;
    const tr_blk *head = tr_blk_at(f, l->header);
    for (uint32_t i = 0; i < head->params.n; i++)
        if (tr_loop_counter(f, l->header, head->params.d[i], &out->counter) &&
            out->counter.next == c->args[0])
            return true;
    return false;
}

bool tr_loop_counts(const tr_fn *f, tr_bid head, tr_val param) {
    tr_counter c;
    return tr_loop_counter(f, head, param, &c) && c.start != TR_NOVAL && tr_is_int(f, c.start, 0) &&
           tr_is_int(f, c.step, 1);
}
