/* Makes PATTERN nodes: checks the description, builds the lambda by calling its template, wires operands.
 * In a dry run only the lambda's types are looked at. */
#include <string.h>

#include "lib/em.h"
#include "lib/priv.h"

static const tr_ty *i64_ty(tr_em *e) {
    return tr_ty_scalar(e->types, TR_TY_I64);
}

/* Opens the lambda's function and gives its params as typed values. */
static void lambda_params(tr_em *in, const tr_pdesc *d, tr_tv *idx, tr_tv *elems, tr_tv *caps) {
    tr_fn *f = in->b.fn;
    for (uint32_t i = 0; i < d->nspace; i++)
        idx[i] = (tr_tv){i64_ty(in), in->dry ? TR_NOVAL : tr_blk_param(f, 0, i64_ty(in), NULL)};
    for (uint32_t i = 0; i < d->nin; i++) {
        const tr_ty *t = d->in[i].ty->elem;
        elems[i] = (tr_tv){t, in->dry ? TR_NOVAL : tr_blk_param(f, 0, t, NULL)};
    }
    for (uint32_t i = 0; i < d->ncap; i++) {
        const tr_ty *t = d->caps[i].ty;
        const tr_ty *ir = tr_ty_strong(in->types, t);
        if (t->kind == TR_TY_LIT)
            caps[i] = (tr_tv){t, TR_NOVAL};
        else
            caps[i] = (tr_tv){t, TR_NOVAL};
        if (!in->dry)
            caps[i].v = tr_blk_param(f, 0, t->kind == TR_TY_LIT ? t : ir, NULL);
    }
}

static const tr_ty *result_type(tr_em *e, const tr_pdesc *d) {
    if (d->nred == 0)
        return tr_ty_none(e->types);
    if (d->nred == 1)
        return d->init[0].ty;
    const tr_ty **t = TR_NEW_N(&e->ctx->arena, const tr_ty *, d->nred);
    for (uint32_t i = 0; i < d->nred; i++)
        t[i] = d->init[i].ty;
    return tr_ty_tuple(e->types, d->nred, t);
}

static tr_val emit_node(tr_em *e, const tr_pdesc *d, tr_fn *lam, const tr_ty *ty) {
    uint32_t n = d->nspace + d->nin + d->nout + d->nred + d->ncap, k = 0;
    tr_val *v = TR_NEW_N(&e->ctx->arena, tr_val, n + 1u);
    for (uint32_t i = 0; i < d->nspace; i++)
        v[k++] = tr_em_strong(e, d->space[i]).v;
    for (uint32_t i = 0; i < d->nin; i++)
        v[k++] = d->in[i].v;
    for (uint32_t i = 0; i < d->nout; i++)
        v[k++] = d->out[i].v;
    for (uint32_t i = 0; i < d->nred; i++)
        v[k++] = d->init[i].v;
    for (uint32_t i = 0; i < d->ncap; i++)
        v[k++] = d->caps[i].v;
    tr_val r = tr_emit_v(&e->b, TR_OP_PATTERN, ty, n, v);
    tr_pat *p = TR_NEW(&e->ctx->arena, tr_pat);
    p->nspace = (uint8_t)d->nspace;
    p->nin = (uint16_t)d->nin;
    p->nout = (uint16_t)d->nout;
    p->nred = (uint16_t)d->nred;
    p->ncap = (uint16_t)d->ncap;
    p->reds = tr_arena_copy(&e->ctx->arena, d->reds, sizeof *d->reds * (d->nred + 0u));
    p->lam = lam;
    tr_at(e->b.fn, r)->imm.pat = p;
    return r;
}

bool tr_em_pattern(tr_em *e, const tr_pdesc *desc, tr_tv *out) {
    tr_arena *a = &e->ctx->arena;
    tr_pdesc d = *desc;
    tr_tv *init = TR_NEW_N(a, tr_tv, d.nred + 1u);
    for (uint32_t i = 0; i < d.nred; i++)
        init[i] = tr_em_strong(e, d.init[i]);
    d.init = init;
    tr_em in = *e;
    tr_fn *lam = NULL;
    if (!e->dry) {
        lam = tr_fn_new(e->ctx, "lambda", S_T);
        lam->is_lambda = true;
        lam->file = e->b.fn->file;
        lam->func = e->b.fn->func;
        in.b = (tr_bld){lam, tr_blk_new(lam), TR_NOVAL, 0};
        in.b.loc = tr_loc_add(lam, e->place, 0);
    }
    tr_tv *idx = TR_NEW_N(a, tr_tv, d.nspace + 1u), *elems = TR_NEW_N(a, tr_tv, d.nin + 1u),
          *caps = TR_NEW_N(a, tr_tv, d.ncap + 1u);
    tr_tv *y = TR_NEW_N(a, tr_tv, d.nout + d.nred + 1u);
    lambda_params(&in, &d, idx, elems, caps);
    if (!d.lam(&in, &d, idx, elems, caps, y))
        return false;
    const tr_ty *ty = result_type(e, &d);
    if (!e->dry) {
        tr_val *v = TR_NEW_N(a, tr_val, d.nout + d.nred + 1u);
        for (uint32_t i = 0; i < d.nout + d.nred; i++)
            v[i] = tr_em_strong(&in, y[i]).v;
        tr_emit_v(&in.b, TR_OP_YIELD, NULL, d.nout + d.nred, v);
    }
    *out = (tr_tv){ty, e->dry ? TR_NOVAL : emit_node(e, &d, lam, ty)};
    return true;
}
