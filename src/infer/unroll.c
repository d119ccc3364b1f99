/* Loops over items of different types, as over the tuple (1, 2.5, a): one variable cannot have them all, so
 * the body is compiled for each item. Where a `for` runs over a known number of items that have no common
 * type, the instance gets untyped SSA of its own, in which that loop is written out (front/unroll.c), and its
 * types are found anew.
 * Cost: nothing but a look at each `next` where all loops are as usual; else the SSA and the types of the
 * function once more for each such loop. */
#include <assert.h>

#include "infer/priv.h"

enum { MAX_UNROLLED = 16 };

static bool is_unroll(const tr_ty *callee) {
    return callee && callee->kind == TR_TY_LIT && callee->lit->kind == TR_OBJ_BUILTIN &&
           callee->lit->u.builtin == TR_B_LITERAL_UNROLL;
}

/* The loop runs over literal_unroll(...), which wants each item's own type. */
static bool is_asked_for(const istate *s, const tr_ins *next) {
    const tr_ins *iter = tr_at(s->src, next->args[0]);
    const tr_ins *call = iter->op == TR_OP_ITER ? tr_at(s->src, iter->args[0]) : NULL;
    return call && call->op == TR_OP_CALLPY && is_unroll(s->ty[call->args[0]]);
}

static bool is_known_by_place(const tr_ty *t) {
    return t->kind == TR_TY_TUPLE || t->kind == TR_TY_ENUMERATE || t->kind == TR_TY_ZIP ||
           t->kind == TR_TY_REVERSED || t->kind == TR_TY_KEYED;
}

/* Is there an item at a place that is known when the program runs? */
static bool has_items_of_one_type(tr_em *e, tr_tv it) {
    tr_em probe = *e;
    tr_tv item;
    probe.dry = true;
    return tr_em_iterget(&probe, (tr_tv){it.ty, TR_NOVAL}, tr_em_i64(&probe, 0), &item);
}

bool tr_infer_unroll(infer *f, istate *s, tr_em *e, const tr_ins *next, tr_tv it, tr_tv n) {
    int64_t items;
    if (!next->imm.i || s->as_it_is || !f->p->unroll || !is_known_by_place(it.ty) ||
        !tr_tv_lit_int(n, &items) || items < 1 || items > MAX_UNROLLED)
        return false;
    bool wanted = it.ty->kind == TR_TY_TUPLE && is_asked_for(s, next) && tr_lib_unroll_differs(e, it.ty);
    if (!wanted && has_items_of_one_type(e, it))
        return false;
    const struct tr_decoded *code = s->code;
    tr_fn *ssa = NULL;
    if (!f->p->unroll(f->p, f->p->insts.d[s->inst].func, (uint32_t)next->imm.i - 1, (uint32_t)items, &code,
                      &ssa)) {
        s->as_it_is = true; /* what is wrong with it is told of the loop as it stands */
        return false;
    }
    s->src = ssa;
    s->code = code;
    return true;
}

/* What literal_unroll gave is only run through by a `for` statement, of which the body can be written out. */
static bool is_run_over(const tr_fn *f, tr_val v) {
    tr_val iter = TR_NOVAL;
    for (tr_val u = 0; u < f->ins.n; u++) {
        const tr_ins *i = tr_at(f, u);
        for (uint32_t k = 0; i->blk != TR_NOBLK && k < i->nargs; k++) {
            if (i->args[k] == v && (i->op != TR_OP_ITER || iter != TR_NOVAL))
                return false;
            if (i->args[k] == v)
                iter = u;
            else if (i->args[k] == iter && i->op == TR_OP_GENERATE)
                return false;
        }
        for (uint32_t k = 0; i->blk != TR_NOBLK && k < tr_nsucc(i); k++)
            for (uint32_t j = 0; j < i->imm.succ[k].n; j++)
                if (i->imm.succ[k].args[j] == v)
                    return false;
    }
    return iter != TR_NOVAL;
}

bool tr_infer_settle_unroll(tr_em *e, const tr_fn *f, tr_val v, tr_tv callee, tr_tv x) {
    if (!is_unroll(callee.ty) || !tr_lib_unroll_differs(e, x.ty) ||
        (x.ty->n <= MAX_UNROLLED && is_run_over(f, v)))
        return true;
    return tr_em_unsupported(e, "literal-unroll", "literal_unroll() of items of different types, %s, here",
                             tr_em_tyname(e, x.ty));
}
