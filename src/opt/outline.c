/* Regions as functions (outlining): what outline.h says.
 * Cost: linear in the region, but for a table of the
 * function's places each. */
#include "opt/outline.h"

#include <assert.h>
#include <string.h>

#include "opt/priv.h"

/* --- the function --- */

/* Not handed over from outside. */
static bool is_local(const tr_outline *r, tr_val v) {
    return tr_is_const(tr_at(r->f, v)) || tr_outline_has(r, tr_at(r->f, v)->blk);
}

static void take(tr_outline *r, tr_val v, tr_val in_g) {
    assert(r->map[v] == TR_NOVAL);
    r->map[v] = in_g;
    tr_vec_push(&r->f->ctx->arena, &r->taken, v);
}

static void take_param(tr_outline *r, tr_val v) {
    const char *name = v < r->f->names.n ? r->f->names.d[v] : NULL;
    take(r, v, tr_blk_param(r->g, 0, tr_at(r->f, v)->ty, name));
    tr_vec_push(&r->f->ctx->arena, &r->in, v);
}

static void take_in(tr_outline *r, tr_val v);

/* An array with the sizes that it was made with: a pattern over just these walks it as one line, and nothing
 * repeats. */
static void take_sized(tr_outline *r, tr_val v) {
    const tr_ins *in = tr_at(r->f, v);
    tr_val sizes[TR_MAX_NDIM];
    tr_bld b = {.fn = r->g, .blk = 0, .before = TR_NOVAL};
    assert(tr_made_sizes(in));
    take_param(r, v);
    for (uint32_t k = 0; k < in->ty->ndim; k++) {
        tr_val x = tr_made_sizes(tr_at(r->f, v))[k];
        take_in(r, x);
        if (r->map[x] == TR_NOVAL)
            take(r, x, tr_const_import(r->g, tr_at(r->f, x)));
        sizes[k] = r->map[x];
    }
    r->map[v] = tr_emit_resized(&b, in->ty, r->map[v], sizes);
}

/* A length is asked for again: an array that spans a pattern's whole space is known by it. */
static void take_in(tr_outline *r, tr_val v) {
    const tr_ins *in = tr_at(r->f, v);
    if (is_local(r, v) || r->map[v] != TR_NOVAL)
        return;
    if (in->op == TR_OP_DIM && !is_local(r, in->args[0])) {
        tr_bld b = {.fn = r->g, .blk = 0, .before = TR_NOVAL};
        take_in(r, in->args[0]);
        take(r, v, tr_emit1(&b, TR_OP_DIM, in->ty, r->map[in->args[0]]));
        tr_at(r->g, r->map[v])->imm.i = in->imm.i;
    } else if (r->piece && tr_made_sizes(in)) {
        take_sized(r, v);
    } else {
        take_param(r, v);
    }
}

static void take_all_in(tr_outline *r) {
    const tr_fn *f = r->f;
    r->in.n = r->taken.n = 0;
    for (uint32_t i = 0; i < r->blks.n; i++)
        for (tr_val v = tr_blk_at(f, r->blks.d[i])->first; v != TR_NOVAL; v = tr_at(f, v)->next) {
            const tr_ins *in = tr_at(f, v);
            for (uint32_t k = 0; k < in->nargs; k++)
                take_in(r, in->args[k]);
            for (uint32_t s = 0; s < tr_nsucc(in); s++)
                for (uint32_t k = 0; k < in->imm.succ[s].n; k++)
                    take_in(r, in->imm.succ[s].args[k]);
        }
}

/* What the region hands to the block that it leads to. */
static const tr_ty *result_type(const tr_outline *r) {
    tr_fn *f = r->f;
    if (r->exit == TR_NOBLK)
        return f->ret;
    const tr_blk *to = tr_blk_at(f, r->exit);
    const tr_ty **types = TR_NEW_N(&f->ctx->arena, const tr_ty *, to->params.n + 1u);
    for (uint32_t i = 0; i < to->params.n; i++)
        types[i] = tr_at(f, to->params.d[i])->ty;
    return to->params.n == 0   ? tr_ty_none(f->ctx->types)
           : to->params.n == 1 ? types[0]
                               : tr_ty_tuple(f->ctx->types, to->params.n, types);
}

/* Takes the exit's place: returns what would be its params. */
static tr_bid make_end(tr_outline *r, const tr_ty *ret) {
    assert(r->exit != TR_NOBLK);
    tr_fn *g = r->g;
    const tr_blk *to = tr_blk_at(r->f, r->exit);
    tr_bld b = {.fn = g, .blk = tr_blk_new(g), .before = TR_NOVAL};
    tr_val *v = TR_NEW_N(&g->ctx->arena, tr_val, to->params.n + 1u), result;
    tr_blk_at(g, b.blk)->cold = tr_blk_at(r->f, r->blks.d[0])->cold;
    for (uint32_t i = 0; i < to->params.n; i++)
        v[i] = tr_blk_param(g, b.blk, tr_at(r->f, to->params.d[i])->ty, NULL);
    result = to->params.n == 0   ? tr_const_undef(g, ret)
             : to->params.n == 1 ? v[0]
                                 : tr_emit_v(&b, TR_OP_TUPLE, ret, to->params.n, v);
    tr_emit1(&b, TR_OP_RET, NULL, result);
    return b.blk;
}

static void make_function(tr_outline *r, const tr_ty *ret) {
    tr_fn *f = r->f, *g;
    tr_arena *a = &f->ctx->arena;
    const tr_blk *entry = tr_blk_at(f, r->blks.d[0]);
    r->g = g = tr_fn_new(f->ctx, tr_arena_printf(a, "%s.%s%u", f->name, r->name, r->number), S_T);
    g->file = f->file;
    g->func = f->func;
    g->ret = ret;
    tr_bld b = {.fn = g, .blk = tr_blk_new(g), .before = TR_NOVAL};
    tr_val *first = TR_NEW_N(a, tr_val, entry->params.n + 1u);
    for (uint32_t i = 0; i < entry->params.n; i++)
        first[i] = tr_blk_param(g, 0, tr_at(f, entry->params.d[i])->ty, NULL);
    take_all_in(r);
    if (r->exit != TR_NOBLK)
        r->bmap[r->exit] = make_end(r, ret);
    tr_clone_blocks(g, f, r->blks.d, r->blks.n, r->map, r->bmap, 0);
    tr_br(&b, r->bmap[r->blks.d[0]], entry->params.n, first);
    g->blks.d[0].cold =
        entry->cold; /* and all other blocks of late code as they were: the text says how seldom it runs */
}

static uint32_t add_instance(tr_outline *r) {
    tr_fn *g = r->g;
    const tr_blk *entry = tr_blk_at(g, 0);
    tr_inst inst = {.func = UINT32_MAX,
                    .nargs = entry->params.n,
                    .ret = g->ret,
                    .fn = g,
                    .late = r->late,
                    .piece = r->piece};
    inst.args = TR_NEW_N(&g->ctx->arena, const tr_ty *, inst.nargs + 1u);
    for (uint32_t i = 0; i < inst.nargs; i++)
        inst.args[i] = tr_at(g, entry->params.d[i])->ty;
    tr_vec_push(&g->ctx->arena, &r->p->insts, inst);
    return r->p->insts.n - 1;
}

/* --- the call --- */

static void forget(tr_outline *r, tr_val v) {
    r->map[v] = TR_NOVAL;
}

/* Takes the blocks out, and all that the maps know of them. */
static void remove_blocks(tr_outline *r) {
    tr_fn *f = r->f;
    if (r->exit != TR_NOBLK)
        r->bmap[r->exit] = TR_NOBLK;
    for (uint32_t i = 0; i < r->taken.n; i++)
        forget(r, r->taken.d[i]);
    for (uint32_t i = 0; i < r->blks.n; i++) {
        tr_blk *b = tr_blk_at(f, r->blks.d[i]);
        r->bmap[r->blks.d[i]] = TR_NOBLK;
        while (b->first != TR_NOVAL) {
            const tr_ins *in = tr_at(f, b->first);
            forget(r, b->first);
            for (uint32_t k = 0; k < in->nargs; k++)
                forget(r, in->args[k]);
            for (uint32_t s = 0; s < tr_nsucc(in); s++)
                for (uint32_t k = 0; k < in->imm.succ[s].n; k++)
                    forget(r, in->imm.succ[s].args[k]);
            tr_ins_remove(f, b->first);
        }
        for (uint32_t k = 0; k < b->params.n; k++) {
            forget(r, b->params.d[k]);
            tr_at(f, b->params.d[k])->blk = TR_NOBLK;
        }
        b->dead = true;
    }
}

/* A block that calls, in place of the region. */
static void call_it(tr_outline *r, const tr_ty *ret) {
    tr_fn *f = r->f;
    tr_arena *a = &f->ctx->arena;
    tr_bid entry = r->blks.d[0], here = tr_blk_new(f);
    bool inside = tr_handler(f, entry) != NULL; /* the call will be protected as it was */
    uint32_t n = tr_blk_at(f, entry)->params.n, nout = 0;
    tr_val *args = TR_NEW_N(a, tr_val, n + r->in.n + 1u);
    tr_blk_at(f, here)->cold = tr_blk_at(f, entry)->cold;
    for (uint32_t i = 0; i < n; i++)
        args[i] = tr_blk_param(f, here, tr_at(f, tr_blk_at(f, entry)->params.d[i])->ty, NULL);
    if (r->in.n)
        memcpy(args + n, r->in.d, r->in.n * sizeof *args);
    for (uint32_t k = 0; k < tr_blk_at(f, entry)->preds.n; k++) {
        tr_ins *t = tr_term(f, tr_blk_at(f, entry)->preds.d[k]);
        for (uint32_t s = 0; s < tr_nsucc(t) && !tr_outline_has(r, t->blk); s++)
            if (t->imm.succ[s].to == entry)
                t->imm.succ[s].to = here;
    }
    tr_val first = tr_blk_at(f, entry)->first;
    tr_bld b = {.fn = f, .blk = here, .before = TR_NOVAL, .loc = tr_at(f, first)->loc};
    if (r->handler && !inside) {
        tr_bid body = tr_blk_new(f);
        tr_blk_at(f, body)->cold = tr_blk_at(f, here)->cold;
        tr_try(&b, body, r->handler);
        b.blk = body;
    }
    tr_val call = tr_emit_v(&b, TR_OP_CALL, ret, n + r->in.n, args);
    tr_at(f, call)->imm.fn = add_instance(r);
    if (r->exit == TR_NOBLK) {
        tr_emit1(&b, TR_OP_RET, NULL, call);
        return;
    }
    nout = tr_blk_at(f, r->exit)->params.n;
    tr_val *out = TR_NEW_N(a, tr_val, nout + 1u);
    for (uint32_t i = 0; i < nout; i++) {
        out[i] = call;
        if (nout > 1) {
            out[i] = tr_emit1(&b, TR_OP_EXTRACT, ret->items[i], call);
            tr_at(f, out[i])->imm.i = i;
        }
    }
    tr_br(&b, r->exit, nout, out);
}

void tr_outline_begin(tr_outline *r) {
    r->map = tr_no_vals(r->f);
    r->bmap = tr_no_blks(r->f);
}

void tr_outline_make(tr_outline *r) {
    assert(r->number > 0 && r->blks.n > 0 && r->blks.d[0] != 0 && tr_outline_has(r, r->blks.d[0]));
    assert(r->exit == TR_NOBLK || !tr_outline_has(r, r->exit));
    const tr_ty *ret = result_type(r);
    make_function(r, ret);
    call_it(r, ret);
    remove_blocks(r);
}
