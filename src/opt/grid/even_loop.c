/* A loop of a kernel's body that is to be the block's: what is asked of it, and its counters in terms of the
 * round. Two ways to make it so stand on this (ranges.c, even.c). */
#include <assert.h>

#include "opt/emit.h"
#include "opt/grid/even.h"
#include "opt/priv.h"

bool tr_even_counter(const even *e, tr_val param, tr_counter *out) {
    return tr_at(e->g, param)->ty == e->s->i64 && tr_loop_counter(e->g, e->loop->header, param, out) &&
           !e->u.varies[out->step];
}

/* Used outside of the loop, by an instruction, on an edge there, or on the way out of its head. */
bool tr_even_is_used_outside(const even *e, tr_val v) {
    for (uint32_t k = 0; k < e->g->rpo.n; k++) {
        tr_bid b = e->g->rpo.d[k];
        for (tr_val x = tr_even_has(e, b) ? TR_NOVAL : tr_blk_at(e->g, b)->first; x != TR_NOVAL;
             x = tr_at(e->g, x)->next) {
            const tr_ins *in = tr_at(e->g, x);
            for (uint32_t a = 0; a < in->nargs; a++)
                if (in->args[a] == v)
                    return true;
            for (uint32_t s = 0; s < tr_nsucc(in); s++)
                for (uint32_t a = 0; a < in->imm.succ[s].n; a++)
                    if (in->imm.succ[s].args[a] == v)
                        return true;
        }
    }
    const tr_ins *t = tr_term(e->g, e->loop->header);
    for (uint32_t s = 0; s < tr_nsucc(t); s++)
        for (uint32_t a = 0; !tr_even_has(e, t->imm.succ[s].to) && a < t->imm.succ[s].n; a++)
            if (t->imm.succ[s].args[a] == v)
                return true;
    return false;
}

/* The one block outside, or inside, of the loop that leads to its head. */
tr_bid tr_even_comes_from(const even *e, bool inside) {
    tr_bid from = TR_NOBLK;
    for (tr_way w = {0}; tr_next_way(e->g, e->loop->header, &w);) {
        if (tr_even_has(e, w.from) != inside)
            continue;
        if (from != TR_NOBLK)
            return TR_NOBLK;
        from = w.from;
    }
    return from;
}

/* A counter of rounds for the head: 0 from outside. From inside it is set when the loop is made even. */
tr_val tr_even_add_counter(even *e) {
    tr_fn *g = e->g;
    tr_bid h = e->loop->header;
    tr_val zero = tr_const_int(g, e->s->i64, 0);
    for (tr_way w = {0}; tr_next_way(g, h, &w);) {
        tr_ins *t = tr_term(g, w.from);
        for (uint32_t s = 0; s < tr_nsucc(t); s++)
            if (t->imm.succ[s].to == h)
                tr_edge_add(g, &t->imm.succ[s], zero);
    }
    return tr_blk_param(g, h, e->s->i64, NULL);
}

/* Counters in terms of the round, start + k * step, where nobody asks for them afterwards. */
void tr_even_count_rounds(even *e, tr_val k) {
    assert(tr_at(e->g, k)->blk == e->loop->header && "the counter of rounds is the head's");
    tr_fn *g = e->g;
    tr_bid h = e->loop->header;
    const tr_ty *i64 = e->s->i64;
    uint32_t n = tr_blk_at(g, h)->params.n - 1; /* the last is k */
    tr_repl r = tr_repl_new(g);
    tr_bld b = {.fn = g, .blk = h, .before = tr_blk_at(g, h)->first, .loc = tr_term(g, h)->loc};
    for (uint32_t p = 0; p < n; p++) {
        tr_val v = tr_blk_at(g, h)->params.d[p], at = k;
        tr_counter c;
        if (!tr_even_counter(e, v, &c) || c.start == TR_NOVAL || tr_even_is_used_outside(e, v))
            continue;
        if (!tr_is_int(g, c.step, 1))
            at = tr_emit2(&b, TR_OP_MUL, i64, k, c.step);
        if (!tr_is_int(g, c.start, 0))
            at = tr_emit2(&b, TR_OP_ADD, i64, c.start, at);
        tr_repl_set(g, &r, v, at);
    }
    tr_repl_apply(g, &r);
}
