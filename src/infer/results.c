/* Functions whose result never became known, although nothing failed: those that return what no path has
 * given a value, and those that call themselves on every path. Told when all code is made; a function that
 * raises on every path has no result either, and is right. */
#include <assert.h>
#include <string.h>

#include "infer/priv.h"

/* --- what no path gives a value --- */

static const char *unassigned(const istate *s, tr_val v, uint8_t *seen) {
    const tr_ins *in = tr_at(s->src, v);
    const char *name = NULL;
    if (in->op == TR_OP_UNDEFVAR)
        return in->sub == TR_UNDEF_UNSET ? in->imm.s : NULL;
    if (s->ty[v] || seen[v])
        return NULL;
    seen[v] = 1;
    for (uint32_t i = 0; i < in->nargs && !name; i++)
        name = unassigned(s, tr_arg(s->src, v, i), seen);
    const tr_blk *to = in->op == TR_OP_PARAM ? tr_blk_at(s->src, in->blk) : NULL;
    for (uint32_t i = 0; to && i < to->params.n; i++)
        for (uint32_t b = 0; to->params.d[i] == v && b < s->src->blks.n; b++) {
            const tr_ins *t =
                s->live[b] && tr_blk_at(s->src, b)->last != TR_NOVAL ? tr_term(s->src, b) : NULL;
            for (uint32_t k = 0; t && k < tr_nsucc(t) && !name; k++)
                if (tr_blk_at(s->src, t->imm.succ[k].to) == to)
                    name = unassigned(s, t->imm.succ[k].args[i], seen);
        }
    return name;
}

const char *tr_infer_unassigned(const infer *f, const istate *s, tr_val v) {
    return unassigned(s, v, TR_NEW_N(&f->ctx->arena, uint8_t, s->src->ins.n + 1u));
}

/* A result is of no type as it is made of a variable that is unassigned on all paths that
 * are left: said where it is read. */
static bool report_unassigned(infer *f, const istate *s) {
    const char *name = NULL;
    for (uint32_t b = 0; b < s->src->blks.n && !name; b++)
        if (tr_infer_returns_at(s, b))
            name = tr_infer_unassigned(f, s, tr_blk_at(s->src, b)->last);
    for (uint32_t v = 0; name && v < s->src->ins.n; v++) {
        const tr_ins *in = tr_at(s->src, v);
        if (in->op != TR_OP_CHECKDEF || in->blk == TR_NOBLK || !s->live[in->blk] ||
            strcmp(in->imm.s, name) != 0)
            continue;
        tr_em e = tr_infer_emitter(f, false, f->p->insts.d[s->inst].opts);
        e.place = tr_infer_place(s->src, in);
        tr_em_error(&e, TR_NO_LOCAL_VALUE, name);
        f->ctx->last_err->where = tr_infer_instance_text(f, s->inst);
        return true;
    }
    return false;
}

/* --- what calls itself on every path --- */

/* The function leaves, or stays in a loop, without a call of one of `endless`. What only
 * may raise, a check, is such a way out. */
static bool leaves_alone(const uint8_t *endless, tr_fn *fn) {
    if (!fn->rpo.n)
        tr_cfg_compute(fn);
    uint8_t *reached = TR_NEW_N(&fn->ctx->arena, uint8_t, fn->blks.n + 1u);
    reached[0] = 1;
    for (uint32_t k = 0; k < fn->rpo.n; k++) {
        const tr_blk *b = tr_blk_at(fn, fn->rpo.d[k]);
        bool stops = !reached[fn->rpo.d[k]];
        for (tr_val v = b->first; v != TR_NOVAL && !stops; v = tr_at(fn, v)->next) {
            const tr_ins *in = tr_at(fn, v);
            if (in->op == TR_OP_CHECK || in->op == TR_OP_CHECKIDX || (tr_ins_ends(in) && !tr_nsucc(in)))
                return true;
            stops = in->op == TR_OP_CALL && endless[in->imm.fn];
            for (uint32_t i = 0; i < tr_nsucc(in); i++) {
                const tr_blk *to = tr_blk_at(fn, in->imm.succ[i].to);
                if (to->rpo <= b->rpo)
                    return true;
                reached[in->imm.succ[i].to] = 1;
            }
        }
    }
    return false;
}

/* The first function that one of `endless` calls among them. */
static uint32_t next_endless(const infer *f, const uint8_t *endless, uint32_t inst) {
    const tr_fn *fn = f->p->insts.d[inst].fn;
    assert(fn && endless[inst] && "code of one that never ends");
    for (tr_val v = 0; v < fn->ins.n; v++) {
        const tr_ins *in = tr_at(fn, v);
        if (in->op == TR_OP_CALL && in->blk != TR_NOBLK && endless[in->imm.fn])
            return in->imm.fn;
    }
    return inst;
}

/* One that comes back to itself, which those that only call such ones do not; UINT32_MAX: there is none. */
static uint32_t find_endless(const infer *f) {
    uint8_t *endless = TR_NEW_N(&f->ctx->arena, uint8_t, f->st.n + 1u);
    uint32_t at = UINT32_MAX;
    for (uint32_t i = 0; i < f->queue.n; i++)
        endless[f->queue.d[i]] = !f->st.d[f->queue.d[i]].ret;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < f->queue.n; i++) {
            uint32_t inst = f->queue.d[i];
            if (!endless[inst] || !leaves_alone(endless, f->p->insts.d[inst].fn))
                continue;
            endless[inst] = 0;
            changed = true;
        }
    }
    for (uint32_t i = 0; i < f->queue.n && at == UINT32_MAX; i++)
        at = endless[f->queue.d[i]] ? f->queue.d[i] : at;
    for (uint32_t i = 0; at != UINT32_MAX && i < f->queue.n; i++)
        at = next_endless(f, endless, at);
    return at;
}

static void report_endless(infer *f, uint32_t inst) {
    const tr_func *fn = &f->p->funcs.d[f->p->insts.d[inst].func];
    int32_t line = fn->code ? (int32_t)fn->code->firstline : 0;
    tr_em e = tr_infer_emitter(f, false, f->p->insts.d[inst].opts);
    e.place = (tr_place){.file = fn->file, .fn = fn->name, .span = {line, -1, 0, -1}};
    tr_em_error(&e, "the result of %s() cannot be known: every path calls the function again", fn->name);
    tr_em_hint(&e, "add a path that returns a value without a call");
    f->ctx->last_err->where = tr_infer_instance_text(f, inst);
}

void tr_infer_tell_unknown_results(infer *f) {
    assert(!f->ctx->nerrs && "nothing has failed");
    uint32_t unknown = UINT32_MAX;
    for (uint32_t i = 0; i < f->queue.n; i++) {
        const istate *s = &f->st.d[f->queue.d[i]];
        if (s->ret || !tr_infer_may_return(s))
            continue;
        if (report_unassigned(f, s))
            return;
        unknown = unknown == UINT32_MAX ? f->queue.d[i] : unknown;
    }
    if (unknown == UINT32_MAX)
        unknown = find_endless(f);
    if (unknown != UINT32_MAX)
        report_endless(f, unknown);
}
