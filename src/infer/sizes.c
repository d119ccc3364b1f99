/* Which parameters of a function are sizes that have to be known when code is made: of a kernel's shared and
 * local arrays, and the axes that grid() is asked for. Arguments are strong (calls.c), so a helper that is
 * handed the size of a block's tile would not know it; a number given for such a parameter stays known, and
 * each number makes an instance of its own.
 *
 * Asked of the untyped SSA, over all functions until nothing is new: a parameter is one if it stands for the
 * size in such a call, alone or in a tuple, or for such a parameter of a function that is called. Only what
 * is called by a name of the program is followed. Linear in the program, for each function between a number
 * and the call that wants it. */
#include <assert.h>
#include <string.h>

#include "infer/priv.h"

/* What is called, where that is a constant of the program: by its own name, or a module's. */
static const tr_obj *known(const tr_fn *f, tr_val v) {
    const tr_ins *in = tr_at(f, v);
    if (in->op == TR_OP_OBJ)
        return in->imm.obj;
    if (in->op != TR_OP_GETATTR)
        return NULL;
    const tr_obj *of = known(f, in->args[0]);
    return of && of->kind == TR_OBJ_MODULE ? tr_obj_attr(of, in->imm.s) : NULL;
}

/* The parameter that must be known of a row, by its name; it is the first. NULL: none. */
static const char *size_of(const tr_obj *callee) {
    switch (callee->kind == TR_OBJ_BUILTIN ? callee->u.builtin : TR_B__COUNT) {
    case TR_B_CU_SHARED:
    case TR_B_CU_LOCAL: return "shape";
    case TR_B_CU_GRID:
    case TR_B_CU_GRIDSIZE: return "ndim";
    default: return NULL;
    }
}

/* The operand that is given by a name, or in place `at` (UINT32_MAX: by its name alone); TR_NOVAL: none. */
static tr_val given(const tr_ins *call, uint32_t at, const char *name) {
    const tr_callinfo *c = call->imm.call;
    uint32_t nkw = c ? c->nkw : 0, npos = call->nargs - 1 - nkw;
    assert(nkw < call->nargs && "what is called, then arguments");
    for (uint32_t k = 0; k < nkw; k++)
        if (strcmp(c->kwnames[k], name) == 0)
            return call->args[1 + npos + k];
    return at < npos ? call->args[1 + at] : TR_NOVAL;
}

/* Marks the parameters that v is made of; whether one is new. */
static bool mark(tr_prog *p, tr_func *fn, tr_val v) {
    const tr_ins *in = v == TR_NOVAL ? NULL : tr_at(fn->ssa, v);
    const tr_blk *first = tr_blk_at(fn->ssa, 0);
    uint32_t n = fn->nargs + fn->nkwonly;
    bool any = false;
    if (in && in->op == TR_OP_BUILDTUP)
        for (uint32_t i = 0; i < in->nargs; i++)
            any |= mark(p, fn, in->args[i]);
    if (!in || in->op != TR_OP_PARAM)
        return any;
    for (uint32_t i = 0; i < n && tr_func_held(fn) + i < first->params.n; i++) {
        if (first->params.d[tr_func_held(fn) + i] != v || (fn->sizes && fn->sizes[i]))
            continue;
        if (!fn->sizes)
            fn->sizes = TR_NEW_N(&p->ctx->arena, uint8_t, n);
        fn->sizes[i] = 1;
        return true;
    }
    return any;
}

static bool mark_call(tr_prog *p, tr_func *fn, const tr_ins *call) {
    const tr_obj *callee = known(fn->ssa, call->args[0]);
    bool any = false;
    if (!callee || (call->imm.call && (call->imm.call->stars || call->imm.call->starstar)))
        return false;
    if (size_of(callee))
        return mark(p, fn, given(call, 0, size_of(callee)));
    if (callee->kind != TR_OBJ_FUNC || callee->u.func >= p->funcs.n)
        return false;
    const tr_func *to = &p->funcs.d[callee->u.func];
    for (uint32_t i = 0; to->sizes && i < to->nargs + to->nkwonly; i++)
        if (to->sizes[i])
            any |= mark(p, fn, given(call, i < to->nargs ? i : UINT32_MAX, to->argnames[i]));
    return any;
}

static bool mark_function(tr_prog *p, tr_func *fn) {
    bool any = false;
    for (uint32_t k = 0; k < fn->ssa->rpo.n; k++)
        for (tr_val v = tr_blk_at(fn->ssa, fn->ssa->rpo.d[k])->first; v != TR_NOVAL;
             v = tr_at(fn->ssa, v)->next)
            if (tr_at(fn->ssa, v)->op == TR_OP_CALLPY)
                any |= mark_call(p, fn, tr_at(fn->ssa, v));
    return any;
}

void tr_infer_find_sizes(tr_prog *p) {
    for (bool any = true; any;) {
        any = false;
        for (uint32_t i = 0; i < p->funcs.n; i++)
            if (p->funcs.d[i].ssa && !p->funcs.d[i].library)
                any |= mark_function(p, &p->funcs.d[i]);
    }
}
