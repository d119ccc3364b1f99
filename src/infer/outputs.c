/* What a gufunc's function does with its outputs: one that it never stores to would hold
 * what happened to lie in memory.
 *
 * Asked of the untyped SSA, where every branch that the function has is still there. Followed are the
 * parameter, what may be a part of it and what joins either; a store, or a use that might hide one (a call,
 * say), ends the search. Linear, but for loops that pass an output on under other names. */
#include <assert.h>
#include <string.h>

#include "infer/priv.h"

/* Attributes that are no way to the items. */
static bool is_plain_attr(const char *name) {
    static const char *const plain[] = {"shape", "ndim", "size", "dtype", "strides", "itemsize", "nbytes"};
    for (unsigned i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!strcmp(name, plain[i]))
            return true;
    return false;
}

static bool is_len(const tr_ins *callee) {
    return callee->op == TR_OP_OBJ && callee->imm.obj->kind == TR_OBJ_BUILTIN &&
           callee->imm.obj->u.builtin == TR_B_LEN;
}

typedef struct search {
    const tr_fn *f;
    uint8_t *reached; /* per value: it may be the output or a part of it */
    bool grown;
} search;

static void reach(search *s, tr_val v) {
    assert(v < s->f->ins.n && "a value of the function");
    s->grown = s->grown || !s->reached[v];
    s->reached[v] = 1;
}

/* May operand i of this instruction be stored to, there or in what it is handed to? */
static bool may_store(search *s, tr_val v, const tr_ins *in, uint32_t i) {
    switch ((tr_op)in->op) {
    case TR_OP_SETITEM:
    case TR_OP_SETATTR:
    case TR_OP_INPLACE: return i == 0;
    case TR_OP_GETATTR:
        if (!is_plain_attr(in->imm.s))
            reach(s, v);
        return false;
    case TR_OP_GETITEM:
        if (i == 0)
            reach(s, v);
        return false;
    case TR_OP_CALLPY: return !is_len(tr_at(s->f, in->args[0]));
    case TR_OP_BINARY:
    case TR_OP_UNARY:
    case TR_OP_COMPARE:
    case TR_OP_IS:
    case TR_OP_IN:
    case TR_OP_CBR:
    case TR_OP_CHECKDEF:
    case TR_OP_FORMAT:
    case TR_OP_SPEC:
    case TR_OP_REPR: return false;
    default: return true;
    }
}

static bool block_may_store(search *s, tr_bid b) {
    for (tr_val v = tr_blk_at(s->f, b)->first; v != TR_NOVAL; v = tr_at(s->f, v)->next) {
        const tr_ins *in = tr_at(s->f, v);
        for (uint32_t i = 0; i < in->nargs; i++)
            if (s->reached[in->args[i]] && may_store(s, v, in, i))
                return true;
        for (uint32_t k = 0; k < tr_nsucc(in); k++) {
            const tr_edge *ed = &in->imm.succ[k];
            for (uint32_t i = 0; i < ed->n; i++)
                if (s->reached[ed->args[i]])
                    reach(s, tr_blk_at(s->f, ed->to)->params.d[i]);
        }
    }
    return false;
}

static bool param_may_be_stored(tr_ctx *ctx, const tr_fn *f, tr_val p) {
    search s = {.f = f, .reached = TR_NEW_N(&ctx->arena, uint8_t, f->ins.n + 1u)};
    reach(&s, p);
    while (s.grown) {
        s.grown = false;
        for (uint32_t k = 0; k < f->rpo.n; k++)
            if (block_may_store(&s, f->rpo.d[k]))
                return true;
    }
    return false;
}

/* The first value that is given the parameter's name, or TR_NOVAL. */
static tr_val new_value_of(const tr_fn *f, tr_val p) {
    for (uint32_t k = 0; k < f->rpo.n; k++)
        for (tr_val v = tr_blk_at(f, f->rpo.d[k])->first; v != TR_NOVAL; v = tr_at(f, v)->next)
            if (v < f->names.n && f->names.d[v] && !strcmp(f->names.d[v], f->names.d[p]))
                return v;
    return TR_NOVAL;
}

static bool report(tr_prog *p, const tr_func *fn, tr_val param) {
    const tr_fn *f = fn->ssa;
    const char *name = f->names.d[param];
    tr_val v = new_value_of(f, param);
    int32_t line = fn->code ? (int32_t)fn->code->firstline : 0;
    tr_place place =
        v != TR_NOVAL ? tr_infer_place(f, tr_at(f, v)) : (tr_place){fn->file, fn->name, {line, -1, line, -1}};
    tr_err *e = tr_err_add(p->ctx, TR_ERR_TYPING, place,
                           "'%s' is an output of %s(), and nothing is stored to it", name, fn->name);
    const char *why =
        v == TR_NOVAL ? "" : tr_arena_printf(&p->ctx->arena, "this gives '%s' another value; ", name);
    e->hint = tr_arena_printf(&p->ctx->arena, "%swrite %s[...] = ...", why, name);
    return false;
}

bool tr_infer_check_outputs(tr_prog *p, uint32_t func, uint32_t nin, uint32_t nout) {
    const tr_func *fn = func < p->funcs.n ? &p->funcs.d[func] : NULL;
    bool ok = true;
    if (!fn || !fn->ssa || tr_blk_at(fn->ssa, 0)->params.n != nin + nout)
        return true; /* outputs among *args, say */
    for (uint32_t k = nin; k < nin + nout; k++) {
        tr_val v = tr_blk_at(fn->ssa, 0)->params.d[k];
        if (!param_may_be_stored(p->ctx, fn->ssa, v) && v < fn->ssa->names.n && fn->ssa->names.d[v])
            ok = report(p, fn, v);
    }
    return ok;
}
