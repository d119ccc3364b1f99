/* SSA construction, pruned by live variables known beforehand (compare Braun et al., 2013).
 *
 * Blocks are visited in reverse post-order. Where paths meet, a variable gets a block parameter exactly when
 * it is live and its values differ; at the head of a loop, when it is live and something in the loop writes
 * it. So the result has no parameters to remove (on reducible code, which is all that CPython makes), and
 * nothing here recurses, however many branches a function has. Stack positions are variables like any other:
 * a loop's iterator is never a parameter, its counter always is, and `a and b` merges like an assignment.
 * Cost: blocks x variables words of memory, one pass. */
#include "front/ssa.h"

#include <assert.h>

/* --- where paths meet --- */

/* What may be written between reaching block h and coming back to it: the blocks from which
 * its later predecessors are reached without passing h. When that includes the entry
 * (irreducible code), everything may be. */
static void loop_writes(tr_ssa *s, uint32_t h, tr_bits *out) {
    const tr_flow *f = s->f;
    tr_bits seen = tr_bits_new(&s->ctx->arena, f->nblks);
    tr_u32s work = {0};
    tr_bits_set(&seen, h);
    tr_bits_zero(out);
    tr_bits_union(out, &f->blks[h].defs);
    for (uint32_t i = 0; i < f->blks[h].preds.n; i++)
        if (f->blks[h].preds.d[i] >> 2 >= h)
            tr_vec_push(&s->ctx->arena, &work, f->blks[h].preds.d[i] >> 2);
    while (work.n > 0) {
        uint32_t b = work.d[--work.n];
        if (tr_bits_get(&seen, b))
            continue;
        tr_bits_set(&seen, b);
        tr_bits_union(out, &f->blks[b].defs);
        if (b == 0)
            memset(out->w, 0xff, out->n * sizeof *out->w);
        for (uint32_t i = 0; i < f->blks[b].preds.n; i++)
            tr_vec_push(&s->ctx->arena, &work, f->blks[b].preds.d[i] >> 2);
    }
}

/* The value of `var` that all paths so far bring to block k: false when they differ. */
static bool common_value(const tr_ssa *s, uint32_t k, uint32_t var, tr_val *out) {
    const tr_bcblk *b = &s->f->blks[k];
    bool have = false;
    if (k == 0) {
        *out = s->out[s->f->nblks][var];
        have = true;
    }
    for (uint32_t i = 0; i < b->preds.n; i++) {
        uint32_t p = b->preds.d[i] >> 2;
        if (p >= k)
            continue;
        tr_val v = (b->preds.d[i] & 3) == 2 ? s->in[p][var] : s->out[p][var];
        if (have && v != *out)
            return false;
        *out = v;
        have = true;
    }
    return have;
}

static const char *var_name(const tr_ssa *s, uint32_t var) {
    uint32_t first = tr_flow_bound(s->f, 0);
    if (var < s->f->nlocals)
        return s->c->localsplus[var];
    return var < first ? NULL : tr_arena_printf(&s->ctx->arena, "%s.bound", s->c->localsplus[var - first]);
}

/* A note that meets a value becomes one at the end of the block it comes from. */
static tr_val out_value(tr_ssa *s, uint32_t p, uint32_t var) {
    assert(p <= s->f->nblks && var < s->f->nvars && "a block's variable, or the entry's");
    tr_val v = s->out[p][var];
    if (v < TR_NOTE || v >= TR_NULLVAL)
        return v;
    tr_bld here = s->b;
    tr_bid b = p == s->f->nblks ? 0 : s->end[p];
    s->b = (tr_bld){s->ir, b, s->ir->blks.d[b].last, here.loc};
    v = s->out[p][var] = tr_front_settle(s, v);
    s->b = here;
    return v;
}

/* A handler begins with what was caught, and where that was raised, of which nobody asks. */
static void take_exception(tr_ssa *s, const tr_bcblk *b) {
    assert(b->depth > b->lasti && "the exception lies on the stack, maybe on a number");
    tr_val *p = &s->cur[tr_flow_slot(s->f, b->depth - 1)];
    p[0] = tr_emit0(&s->b, TR_OP_CATCH, NULL);
    if (b->lasti)
        p[-3] = tr_const_obj(s->ir, tr_obj_int(&s->ctx->arena, 0));
}

/* What the block does stands in one of its own. */
static void protect_block(tr_ssa *s, uint32_t k, uint32_t handler) {
    assert(handler < s->f->nblks && s->f->blks[handler].catches && "what raises goes to a handler");
    tr_edge e = {.to = s->bid[handler]};
    s->in[k] = tr_arena_copy(&s->ctx->arena, s->cur, s->f->nvars * sizeof *s->cur);
    s->end[k] = tr_blk_new(s->ir);
    tr_try(&s->b, s->end[k], &e);
    s->b = (tr_bld){s->ir, s->end[k], TR_NOVAL, 0};
}

static void start_block(tr_ssa *s, uint32_t k, tr_bits *writes) {
    const tr_flow *f = s->f;
    const tr_bcblk *b = &f->blks[k];
    assert(b->start < b->end && b->depth <= f->maxdepth &&
           "a block has instructions, and room for its stack");
    s->blk = k;
    s->depth = b->depth;
    s->b = (tr_bld){s->ir, s->bid[k], TR_NOVAL, 0};
    s->cur = s->out[k];
    s->kwnames = NULL;
    memset(s->cur, 0xff, f->nvars * sizeof *s->cur);
    if (b->header)
        loop_writes(s, k, writes);
    for (uint32_t w = 0; w < b->live.n; w++)
        for (uint64_t set = b->live.w[w]; set; set &= set - 1) {
            uint32_t var = w * 64 + (uint32_t)__builtin_ctzll(set);
            tr_val v = TR_NOVAL;
            bool same = common_value(s, k, var, &v);
            if (same && (v == TR_NOVAL || !b->header || !tr_bits_get(writes, var))) {
                s->cur[var] = v;
                continue;
            }
            s->cur[var] = tr_blk_param(s->ir, s->bid[k], NULL, var_name(s, var));
            tr_vec_push(&s->ctx->arena, &s->params[k], var);
        }
    if (b->catches)
        take_exception(s, b);
    if (b->handler != TR_NOBLK)
        protect_block(s, k, b->handler);
}

/* What edge number nth of block p carries for a variable. */
static tr_val edge_value(tr_ssa *s, uint32_t p, uint32_t nth, uint32_t var) {
    return nth == 2 ? s->in[p][var] : out_value(s, p, var);
}

/* What construction ends with: all blocks have an end, and all edges what they lead to takes. */
static __attribute__((unused)) bool edges_are_full(const tr_fn *f) {
    for (tr_bid b = 0; b < f->blks.n; b++) {
        if (f->blks.d[b].last == TR_NOVAL || !tr_ins_ends(tr_term(f, b)))
            return false;
        const tr_ins *t = tr_term(f, b);
        for (uint32_t k = 0; k < tr_nsucc(t); k++)
            if (t->imm.succ[k].n != tr_blk_at(f, t->imm.succ[k].to)->params.n)
                return false;
    }
    return true;
}

/* Edge arguments, when every block's end is known. */
static bool fill_edges(tr_ssa *s) {
    const tr_flow *f = s->f;
    for (uint32_t k = 0; k < f->nblks; k++) {
        const tr_u32s *params = &s->params[k];
        if (!params->n)
            continue;
        const tr_bcblk *b = &f->blks[k];
        for (uint32_t i = 0; i < b->preds.n + (k == 0); i++) {
            bool entry = i == b->preds.n;
            uint32_t p = entry ? f->nblks : b->preds.d[i] >> 2, nth = entry ? 0 : b->preds.d[i] & 3, at = nth;
            if (!entry && nth < 2 && s->swapped[p])
                at = 1 - nth;
            tr_edge *e = nth == 2 ? &tr_term(s->ir, s->bid[p])->imm.succ[1]
                                  : &tr_term(s->ir, entry ? 0 : s->end[p])->imm.succ[at];
            for (uint32_t j = 0; j < params->n; j++) {
                tr_val v = edge_value(s, p, nth, params->d[j]);
                if (v >= TR_NOTE)
                    return tr_front_malformed(s->ctx, s->c, "the stack's contents differ where paths meet");
                tr_edge_add(s->ir, e, v);
            }
        }
    }
    assert(edges_are_full(s->ir) && "every way into a block brings a value for each of its parameters");
    return true;
}

/* --- places --- */

static uint32_t loc_of(tr_ssa *s, uint32_t off) {
    assert(off / 2 < s->c->ncode / 2 && "an instruction stands in the code");
    uint32_t *known = &s->loc_of[off / 2];
    if (!*known && s->spans[off / 2].line > 0)
        *known = tr_loc_add(s->ir, (tr_place){s->func->file, s->func->name, s->spans[off / 2]}, 0);
    return *known;
}

/* --- inner functions --- */

static bool writes_var(const tr_decoded *d, uint32_t from, uint32_t to, uint32_t var) {
    for (uint32_t i = from; i < to; i++) {
        uint8_t op = d->ins[i].op;
        if ((op == TR_N_STORE || op == TR_N_STOREDEREF || op == TR_N_DEL) && (uint32_t)d->ins[i].arg == var)
            return true;
    }
    return false;
}

/* An inner function takes its variables by value when it is made, so what is written after
 * that is shared. */
static bool written_after(tr_ssa *s, const tr_capture *c) {
    const tr_flow *f = s->f;
    assert(c->blk < f->nblks && c->ins < f->blks[c->blk].end && "it was captured in its block");
    if (writes_var(s->d, c->ins, f->blks[c->blk].end, c->var))
        return true;
    tr_bits seen = tr_bits_new(&s->ctx->arena, f->nblks);
    tr_u32s work = {0};
    tr_vec_push(&s->ctx->arena, &work, c->blk);
    while (work.n > 0) {
        const tr_bcblk *b = &f->blks[work.d[--work.n]];
        for (uint32_t k = 0; k < b->nsucc + (b->handler != TR_NOBLK); k++) {
            uint32_t to = k < b->nsucc ? b->succ[k] : b->handler;
            if (tr_bits_get(&seen, to))
                continue;
            tr_bits_set(&seen, to);
            if (writes_var(s->d, f->blks[to].start, f->blks[to].end, c->var))
                return true;
            tr_vec_push(&s->ctx->arena, &work, to);
        }
    }
    return false;
}

static const tr_round *round_of(const tr_ssa *s, tr_val closure) {
    const tr_ins *i = closure < s->ir->ins.n ? tr_at(s->ir, closure) : NULL;
    return i && i->op == TR_OP_CLOSURE ? s->p->funcs.d[i->imm.fn].round : NULL;
}

/* Is the variable written in the loop whose next item `next` asks for? */
static bool written_in_loop(tr_ssa *s, const tr_ins *next, uint32_t var) {
    tr_bits writes = tr_bits_new(&s->ctx->arena, s->f->nvars);
    for (uint32_t k = 0; k < s->f->nblks; k++)
        if (s->bid[k] == next->blk || s->end[k] == next->blk) {
            loop_writes(s, k, &writes);
            if (tr_bits_get(&writes, var))
                return true;
        }
    return false;
}

/* Is the variable written between the making of the generator and what stands in the same block and
 * is given it, or in the loop over it? */
static bool written_soon(tr_ssa *s, tr_val generator, const tr_capture *c) {
    for (tr_val v = 0; v < s->ir->ins.n; v++) {
        const tr_ins *i = tr_at(s->ir, v), *it = i->op == TR_OP_NEXT ? tr_at(s->ir, i->args[0]) : NULL;
        for (uint32_t k = 0; k < i->nargs; k++)
            if (i->args[k] == generator && i->blk == tr_at(s->ir, generator)->blk &&
                writes_var(s->d, c->ins, s->made_at.d[v], c->var))
                return true;
        if (it && it->op == TR_OP_ITER && it->args[0] == generator && written_in_loop(s, i, c->var))
            return true;
    }
    return false;
}

/* A generator's variables are those of its end: inference knows whether it has come to it by then. */
static void note_late(tr_ssa *s, const tr_capture *c) {
    for (tr_val v = 0; v < s->ir->ins.n; v++) {
        tr_ins *i = tr_at(s->ir, v);
        if (i->op == TR_OP_GENERATE && i->args[0] == c->fn && i->blk != TR_NOBLK)
            i->sub |= written_soon(s, v, c) ? TR_MAKES_LATE | TR_MAKES_LATE_SOON : TR_MAKES_LATE;
    }
}

/* A function that is made for an item, and has captured what the next item changes: it may not outlive the
 * item (lib/kind_list.c asks). A comprehension in it may make such a function of what it has captured. */
static void note_of_item(tr_ssa *s, const tr_capture *c) {
    const tr_round *mine = s->func->round;
    const tr_ins *made = mine && c->fn < s->ir->ins.n ? tr_at(s->ir, c->fn) : NULL;
    if (!made || made->op != TR_OP_CLOSURE || !tr_bits_get(mine->assigned, c->var))
        return;
    tr_func *f = &s->p->funcs.d[made->imm.fn];
    f->of_item = true;
    for (uint32_t k = 0; f->round && k < f->nfree; k++)
        if (strcmp(f->code->localsplus[f->freeidx[k]], s->c->localsplus[c->var]) == 0)
            tr_bits_set(f->round->assigned, f->freeidx[k]);
}

static void check_captures(tr_ssa *s) {
    for (uint32_t i = 0; i < s->captures.n && !s->why.is; i++) {
        const tr_capture *c = &s->captures.d[i];
        note_of_item(s, c);
        const tr_round *round = round_of(s, c->fn);
        if (c->shared || (round && round->list)) /* run through at once */
            continue;
        if (written_after(s, c) && round)
            note_late(s, c);
        else if (written_after(s, c) && tr_front_share(s->p, s->ir->func, c->var))
            s->share = c->var + 1;
        else if (written_after(s, c))
            s->why = (tr_refusal){true, TR_NYI_CLOSURE_LATE, s->d->ins[c->ins].off};
    }
}

/* --- the function --- */

/* Parameters that are the first locals. A round has one, which stands on the stack. */
static uint32_t named_params(const tr_func *fn) {
    return fn->round ? 0 : fn->nargs + fn->nkwonly + fn->varargs + fn->varkw;
}

/* Variables that inner functions share with this one are memory from the start. */
static void make_shared(tr_ssa *s, tr_val *vars) {
    for (uint32_t i = 0; i < s->f->nlocals; i++) {
        if (s->func->round || !(s->c->kinds[i] & KIND_CELL) || !tr_front_is_shared(s->func, i) ||
            tr_front_is_given_memory(s->func, s->c->localsplus[i]))
            continue;
        vars[i] = tr_emit_v(&s->b, TR_OP_NEWVAR, NULL, vars[i] != TR_NOVAL, &vars[i]);
        tr_at(s->ir, vars[i])->imm.s = s->c->localsplus[i];
        tr_val_name(s->ir, vars[i], s->c->localsplus[i]);
    }
}

/* A function that names itself: made of what it holds, which is its defaults at that place. */
static void make_itself(tr_ssa *s, tr_val *vars) {
    const tr_func *fn = s->func;
    if (!fn->itself || fn->kin)
        return;
    tr_val *args = TR_NEW_N(&s->ctx->arena, tr_val, fn->nfree + 1u);
    for (uint32_t k = 0; k < fn->nfree; k++)
        args[k + 1] = vars[fn->freeidx[k]];
    args[0] = args[fn->itself];
    tr_val v = tr_emit_v(&s->b, TR_OP_CLOSURE, NULL, fn->nfree + 1u, args);
    tr_at(s->ir, v)->imm.fn = s->ir->func;
    vars[fn->freeidx[fn->itself - 1]] = v;
}

static tr_val held_as(const tr_ssa *s, const tr_val *vars, const tr_val *more, const char *name) {
    const tr_func *fn = s->func;
    for (uint32_t k = 0; k < fn->nfree; k++)
        if (strcmp(s->c->localsplus[fn->freeidx[k]], name) == 0)
            return vars[fn->freeidx[k]];
    for (uint32_t k = 0; k < fn->nmore; k++)
        if (strcmp(fn->more[k], name) == 0)
            return more[k];
    assert(false && "each of kin holds what all of them need");
    return TR_NOVAL;
}

static tr_val none_of(tr_ssa *s) {
    return tr_const_obj(s->ir, tr_obj_none());
}

/* Functions that name each other: one makes those that it names of what it holds for them. */
static void make_kin(tr_ssa *s, tr_val *vars, const tr_val *more) {
    const tr_func *fn = s->func;
    const tr_kin *kin = fn->kin;
    tr_val *made = TR_NEW_N(&s->ctx->arena, tr_val, fn->nfree + 1u);
    for (uint32_t k = 0; kin && k < fn->nfree; k++) {
        uint32_t m = tr_front_kin_named(kin, s->c->localsplus[fn->freeidx[k]]);
        made[k] = TR_NOVAL;
        if (m == kin->n)
            continue;
        const tr_func *g = &s->p->funcs.d[kin->funcs[m]];
        tr_val *args = TR_NEW_N(&s->ctx->arena, tr_val, tr_func_held(g) + 1u);
        args[0] = kin->defaults[m] ? tr_const_obj(s->ir, kin->defaults[m]) : none_of(s);
        for (uint32_t i = 0; i < g->nfree; i++) {
            const char *name = g->code->localsplus[g->freeidx[i]];
            args[1 + i] = tr_front_kin_named(kin, name) < kin->n ? none_of(s) : held_as(s, vars, more, name);
        }
        for (uint32_t i = 0; i < g->nmore; i++)
            args[1 + g->nfree + i] = held_as(s, vars, more, g->more[i]);
        made[k] = tr_emit_v(&s->b, TR_OP_CLOSURE, NULL, tr_func_held(g) + 1u, args);
        tr_at(s->ir, made[k])->imm.fn = kin->funcs[m];
    }
    for (uint32_t k = 0; kin && k < fn->nfree; k++)
        if (made[k] != TR_NOVAL)
            vars[fn->freeidx[k]] = made[k];
}

static void init_entry(tr_ssa *s) {
    const tr_func *fn = s->func;
    const tr_code *c = s->c;
    tr_val *vars = s->out[s->f->nblks];
    memset(vars, 0xff, s->f->nvars * sizeof *vars);
    vars[s->f->handled] = tr_const_obj(s->ir, tr_obj_none());
    tr_bid entry = s->ir->blks.n ? 0 : tr_blk_new(s->ir);
    s->b = (tr_bld){s->ir, entry, TR_NOVAL, 0};
    for (uint32_t k = 0; k < fn->nfree; k++) {
        uint32_t var = fn->freeidx[k];
        vars[var] = tr_blk_param(s->ir, entry, NULL, c->localsplus[var]);
    }
    tr_val *more = TR_NEW_N(&s->ctx->arena, tr_val, fn->nmore + 1u);
    for (uint32_t k = 0; k < fn->nmore; k++)
        more[k] = tr_blk_param(s->ir, entry, NULL, fn->more[k]);
    if (fn->round)
        vars[tr_flow_slot(s->f, 0)] = tr_blk_param(s->ir, entry, NULL, NULL);
    uint32_t nparams = named_params(fn);
    assert(nparams <= s->f->nlocals && "parameters are the first locals");
    for (uint32_t i = 0; i < nparams; i++)
        vars[i] = tr_blk_param(s->ir, entry, NULL, c->localsplus[i]);
    make_itself(s, vars);
    make_kin(s, vars, more);
    for (uint32_t i = 0; i < nparams; i++)
        vars[i] = tr_front_declared(s, i, vars[i]);
    make_shared(s, vars);
    for (uint32_t i = 0; i < s->f->nlocals; i++) {
        if (tr_bits_get(&s->f->maybe_unbound, i))
            vars[tr_flow_bound(s->f, i)] =
                tr_const_obj(s->ir, tr_obj_bool(&s->ctx->arena, vars[i] != TR_NOVAL));
        if (vars[i] != TR_NOVAL || !tr_bits_get(&s->f->blks[0].live, i))
            continue;
        bool known = (c->kinds[i] & KIND_FREE) && c->free[i];
        vars[i] =
            known ? tr_const_obj(s->ir, c->free[i]) : tr_front_undef(s, c->localsplus[i], TR_UNDEF_UNSET);
    }
}

/* Locals that have a value when the function starts. */
static tr_bits bound_at_start(tr_ctx *ctx, const tr_func *fn) {
    tr_bits b = tr_bits_new(&ctx->arena, fn->code->nlocalsplus);
    for (uint32_t i = 0; i < named_params(fn); i++)
        tr_bits_set(&b, i);
    for (uint32_t i = 0; i < fn->nfree; i++)
        tr_bits_set(&b, fn->freeidx[i]);
    for (uint32_t i = 0; i < fn->code->nlocalsplus; i++)
        if ((fn->code->kinds[i] & KIND_FREE) || tr_front_is_shared(fn, i))
            tr_bits_set(&b, i); /* an empty cell is reported as such */
    return b;
}

static const char *unique_name(tr_prog *p, uint32_t func) {
    const tr_func *fn = &p->funcs.d[func];
    for (uint32_t i = 0; i < func; i++)
        if (!strcmp(p->funcs.d[i].name, fn->name))
            return tr_arena_printf(&p->ctx->arena, "%s.%u", fn->name, func);
    return fn->name;
}

/* Values that nothing reads and that have no effect: tuples that were taken apart, variables that are not yet
 * assigned at the start. A read of an unassigned variable stays: inference reports it. */
static void remove_unused(tr_fn *f) {
    uint32_t *uses = tr_use_counts(f);
    for (tr_val v = f->ins.n;
         v-- > 0;) { /* operands come before their users but for block params, which stay */
        tr_ins *i = tr_at(f, v);
        if (i->blk == TR_NOBLK || i->op == TR_OP_PARAM || uses[v] || tr_ins_effects(i))
            continue;
        if (i->op == TR_OP_UNDEFVAR && i->sub != TR_UNDEF_UNSET)
            continue;
        for (uint32_t k = 0; k < i->nargs; k++) {
            assert(uses[i->args[k]] > 0 && "an operand is used where it stands");
            uses[i->args[k]]--;
        }
        tr_ins_remove(f, v);
    }
}

/* A function object that lacks some of the variables its code captures: no compiler makes that. */
static bool closures_are_whole(const tr_ssa *s) {
    const tr_fn *f = s->ir;
    for (tr_val v = 0; v < f->ins.n; v++) {
        const tr_ins *i = tr_at(f, v);
        if (i->op == TR_OP_CLOSURE && i->blk != TR_NOBLK &&
            i->nargs - 1 != tr_func_held(&s->p->funcs.d[i->imm.fn]))
            return false;
    }
    return true;
}

static bool ends_itself(uint8_t op) {
    return tr_nop_kind(op) == 'J' || tr_nop_exits(op);
}

static bool build_blocks(tr_ssa *s) {
    const tr_flow *f = s->f;
    tr_arena *a = &s->ctx->arena;
    s->out = TR_NEW_N(a, tr_val *, (size_t)f->nblks + 1);
    for (uint32_t k = 0; k <= f->nblks; k++)
        s->out[k] = TR_NEW_N(a, tr_val, f->nvars);
    s->bid = TR_NEW_N(a, tr_bid, f->nblks);
    s->end = TR_NEW_N(a, tr_bid, f->nblks);
    s->in = TR_NEW_N(a, tr_val *, f->nblks);
    s->swapped = TR_NEW_N(a, bool, f->nblks);
    s->params = TR_NEW_N(a, tr_u32s, f->nblks);
    s->loc_of = TR_NEW_N(a, uint32_t, s->c->ncode / 2);
    s->spans = tr_front_spans(s->ctx, s->c);
    init_entry(s);
    for (uint32_t k = 0; k < f->nblks; k++)
        s->bid[k] = s->end[k] = tr_blk_new(s->ir);
    tr_br(&s->b, s->bid[0], 0, NULL);
    tr_bits writes = tr_bits_new(a, f->nvars);
    for (uint32_t k = 0; k < f->nblks; k++) {
        start_block(s, k, &writes);
        for (uint32_t i = f->blks[k].start; i < f->blks[k].end; i++) {
            s->at = i;
            s->b.loc = loc_of(s, s->d->ins[i].off);
            tr_front_exec(s, &s->d->ins[i]);
            assert((s->bad || s->why.is || s->depth <= f->maxdepth) && "the stack stays in its room");
            while (s->made_at.n < s->ir->ins.n)
                tr_vec_push(a, &s->made_at, i);
            if (s->bad)
                return tr_front_malformed(s->ctx, s->c, s->bad);
            if (s->why.is)
                return true;
        }
        if (ends_itself(s->d->ins[f->blks[k].end - 1].op))
            continue;
        assert(f->blks[k].nsucc == 1 && s->depth == f->blks[f->blks[k].succ[0]].depth &&
               "the block behind it goes on with its stack");
        tr_br(&s->b, s->bid[f->blks[k].succ[0]], 0, NULL);
    }
    check_captures(s);
    return s->why.is || fill_edges(s);
}

/* The `try:` line is an instruction that does nothing, right before the ones it guards. */
static uint32_t place_of(const tr_code *c, tr_refusal why) {
    bool after_nop = why.why == TR_NYI_TRY && why.off >= 2 &&
                     !strcmp(tr_front_opcode_name(c->version, c->code[why.off - 2]), "NOP");
    return after_nop ? why.off - 2 : why.off;
}

static tr_err *refusal(tr_prog *p, const tr_func *fn, tr_refusal why) {
    const tr_nyi *row = &tr_nyi_rows[why.why];
    tr_err *e = TR_NEW(&p->ctx->arena, tr_err);
    e->kind = TR_ERR_UNSUPPORTED;
    e->nyi = row->id;
    e->hint = row->text;
    e->text = tr_arena_printf(&p->ctx->arena, "Treadle does not compile %s", row->title);
    e->place = (tr_place){fn->file, fn->name, tr_front_span(fn->code, place_of(fn->code, why))};
    if (e->place.span.line == 0)
        e->place.span = (tr_span){(int32_t)fn->code->firstline, -1, (int32_t)fn->code->firstline, -1};
    return e;
}

static tr_refusal whole_function(const tr_func *fn) {
    if (fn->round)
        return (tr_refusal){0};
    if (fn->code->flags & (CO_COROUTINE_FLAG | CO_ASYNC_GENERATOR_FLAG))
        return (tr_refusal){true, TR_NYI_ASYNC, 0};
    if (fn->code->flags & CO_GENERATOR_FLAG)
        return (tr_refusal){true, TR_NYI_GENERATOR, 0};
    return (tr_refusal){0};
}

/* The instructions of a function, or of the part of one that a round is. */
static bool instructions(tr_prog *p, uint32_t func, tr_decoded *d) {
    const tr_func *fn = &p->funcs.d[func];
    if (fn->round) {
        *d = *fn->round->cut;
        return true;
    }
    if (!tr_front_decode(p->ctx, fn->code, d))
        return false;
    tr_front_find_shared(p, func, d);
    tr_front_say_shared(p, func, d);
    return tr_front_comprehensions(p, func, d);
}

/* The SSA of the function's instructions; false: malformed, unless *why says what is refused. *out is NULL
 * where a variable has become shared, so that it is to be built anew. */
static bool build_ssa(tr_prog *p, uint32_t func, const tr_decoded *d, tr_fn **out, tr_refusal *why) {
    /* a copy: more functions may come while this one is made */
    tr_func *fn = tr_arena_copy(&p->ctx->arena, &p->funcs.d[func], sizeof *fn);
    tr_bits bound = bound_at_start(p->ctx, fn);
    tr_flow f;
    if (!tr_front_flow(p->ctx, fn->code, d, &bound, &f, why))
        return false;
    if (why->is)
        return true;
    tr_ssa s = {.ctx = p->ctx, .p = p, .func = fn, .c = fn->code, .d = d, .f = &f};
    s.ir = tr_fn_new(p->ctx, unique_name(p, func), S_F);
    s.ir->file = fn->file;
    s.ir->func = func;
    if (!build_blocks(&s))
        return false;
    *why = s.why;
    *out = NULL;
    if (why->is || s.share)
        return true;
    remove_unused(s.ir);
    if (!closures_are_whole(&s))
        return tr_front_malformed(p->ctx, fn->code, "a function is made without its closure");
    tr_simplify_cfg(s.ir);
    *out = s.ir;
    return true;
}

bool tr_front_build(tr_prog *p, uint32_t func) {
    const tr_func *fn = &p->funcs.d[func];
    if (!fn->code || fn->ssa || fn->refused ||
        (fn->round ? !fn->round->cut : tr_front_is_expression(fn->name)))
        return true;
    if (fn->graph) {
        tr_front_graph(p, func);
        return true;
    }
    tr_refusal why = whole_function(fn);
    tr_decoded *d = TR_NEW(&p->ctx->arena, tr_decoded);
    tr_fn *ssa = NULL;
    while (!why.is && !ssa) /* again for each variable that is found to be shared */
        if (!instructions(p, func, d) || !build_ssa(p, func, d, &ssa, &why))
            return false;
    tr_func *made = &p->funcs.d[func];
    made->decoded = d;
    made->ssa = ssa;
    if (why.is)
        made->refused = refusal(p, made, why);
    return true;
}

bool tr_front_unroll(tr_prog *p, uint32_t func, uint32_t loop, uint32_t n, const tr_decoded **code,
                     tr_fn **ssa) {
    const tr_func *fn = &p->funcs.d[func];
    const tr_decoded *d = *code ? *code : fn->decoded;
    assert(d && fn->ssa && "it was built, and refused nothing");
    tr_bits bound = bound_at_start(p->ctx, fn);
    tr_decoded *out = TR_NEW(&p->ctx->arena, tr_decoded);
    tr_refusal why = {0};
    tr_flow f;
    if (!tr_front_flow(p->ctx, fn->code, d, &bound, &f, &why) || why.is ||
        !tr_front_write_out(p->ctx, d, &f, loop, n, out) || !build_ssa(p, func, out, ssa, &why) || why.is ||
        !*ssa)
        return false;
    *code = out;
    return true;
}
