/* Makes PATTERN nodes: checks the description, builds the lambda by calling its template, wires operands.
 * In a dry run only the lambda's types are looked at. */
#include <assert.h>
#include <string.h>

#include "ir/ports.h"
#include "lib/em.h"
#include "lib/priv.h"

static const tr_ty *i64_ty(tr_em *e) {
    return tr_ty_scalar(e->types, TR_TY_I64);
}

/* The params of one of the node's functions, in the groups that a template knows. */
typedef struct params {
    tr_tv *idx, *elems, *caps;
    uint32_t nelems;
} params;

static tr_tv param(tr_em *in, const tr_ty *t) {
    return (tr_tv){t, in->dry ? TR_NOVAL : tr_blk_param(in->b.fn, 0, t, NULL)};
}

/* A function of the node, opened for emission. */
static tr_fn *open_lambda(tr_em *e, tr_em *in) {
    *in = *e;
    if (e->dry)
        return NULL;
    tr_fn *lam = tr_fn_new(e->ctx, "lambda", S_T);
    lam->is_lambda = true;
    lam->file = e->b.fn->file;
    lam->func = e->b.fn->func;
    in->b = (tr_bld){lam, tr_blk_new(lam), TR_NOVAL, 0};
    in->b.loc = tr_loc_add(lam, e->place, 0);
    return lam;
}

static params open_params(tr_em *in, const tr_pdesc *d, uint32_t nidx, uint32_t room) {
    tr_arena *a = &in->ctx->arena;
    params p = {TR_NEW_N(a, tr_tv, nidx + 1u), TR_NEW_N(a, tr_tv, room + 1u),
                TR_NEW_N(a, tr_tv, d->ncap + 1u), 0};
    for (uint32_t i = 0; i < nidx; i++)
        p.idx[i] = param(in, i64_ty(in));
    return p;
}

static void add_elements(tr_em *in, params *p, const tr_tv *arrays, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        p->elems[p->nelems++] = param(in, arrays[i].ty->elem);
}

static void add_values(tr_em *in, params *p, const tr_tv *v, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        p->elems[p->nelems++] = param(in, v[i].ty);
}

/* A literal stays known inside. */
static void add_captures(tr_em *in, params *p, const tr_pdesc *d) {
    for (uint32_t i = 0; i < d->ncap; i++) {
        const tr_ty *t = d->caps[i].ty;
        p->caps[i] = param(in, t->kind == TR_TY_LIT ? t : tr_ty_strong(in->types, t));
        p->caps[i].ty = t;
    }
}

static bool fill_lambda(tr_em *in, const tr_pdesc *d, const params *p, tr_plam body, uint32_t nyield) {
    tr_tv *y = TR_NEW_N(&in->ctx->arena, tr_tv, nyield + 1u);
    if (!body(in, d, p->idx, p->elems, p->caps, y))
        return false;
    assert(tr_em_are_whole(in, nyield, y) && "a lambda fills all that it is to yield");
    if (in->dry)
        return true;
    tr_val *v = TR_NEW_N(&in->ctx->arena, tr_val, nyield + 1u);
    for (uint32_t i = 0; i < nyield; i++)
        v[i] = tr_em_strong(in, y[i]).v;
    tr_emit_v(&in->b, TR_OP_YIELD, NULL, nyield, v);
    return true;
}

static bool make_lambda(tr_em *e, const tr_pdesc *d, tr_fn **out) {
    tr_em in;
    *out = open_lambda(e, &in);
    params p = open_params(&in, d, d->nspace, d->nin + d->nscan);
    add_elements(&in, &p, d->in, d->nin);
    add_values(&in, &p, d->init, d->nscan);
    add_captures(&in, &p, d);
    uint32_t n = d->nout + d->nfilt + d->nred;
    assert(p.nelems == d->nin + d->nscan && "an element for each input, and a running value for each scan");
    for (uint32_t i = 0; i < d->nscat; i++)
        n += d->scat[i].ty->ndim + 1u;
    return fill_lambda(&in, d, &p, d->lam, n);
}

static bool make_epilogue(tr_em *e, const tr_pdesc *d, tr_fn **out) {
    tr_em in;
    *out = NULL;
    if (!d->epi)
        return true;
    *out = open_lambda(e, &in);
    params p = open_params(&in, d, (uint32_t)__builtin_popcount(d->keep), d->nred + d->nein);
    add_values(&in, &p, d->init, d->nred);
    add_elements(&in, &p, d->ein, d->nein);
    assert(p.nelems == d->nred + d->nein &&
           "what was reduced, then an element for each input of the epilogue");
    add_captures(&in, &p, d);
    return fill_lambda(&in, d, &p, d->epi, d->neout);
}

static const tr_ty *result_type(tr_em *e, const tr_pdesc *d) {
    if (d->nred == 0 || d->keep)
        return tr_ty_none(e->types);
    if (d->nred == 1)
        return d->init[0].ty;
    const tr_ty **t = TR_NEW_N(&e->ctx->arena, const tr_ty *, d->nred);
    for (uint32_t i = 0; i < d->nred; i++)
        t[i] = d->init[i].ty;
    return tr_ty_tuple(e->types, d->nred, t);
}

static void put(tr_node *m, tr_role role, const tr_tv *x, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        tr_node_put(m, role, x[i].v);
}

static tr_val emit_node(tr_em *e, const tr_pdesc *d, tr_fn *lam, tr_fn *epi) {
    tr_node m = tr_node_new(e->b.fn);
    m.t = (tr_pat){.par = e->ctx->opts.parallel ? TR_PAR_WISH : TR_PAR_NO,
                   .apart = d->apart,
                   .keep = d->keep,
                   .lam = lam,
                   .epi = epi};
    for (uint32_t i = 0; i < d->nspace; i++)
        tr_node_put(&m, P_SPACE, tr_em_strong(e, d->space[i]).v);
    put(&m, P_IN, d->in, d->nin);
    put(&m, P_OUT, d->out, d->nout);
    put(&m, P_PACK, d->filt, d->nfilt);
    for (uint32_t i = 0; i < d->nred; i++)
        tr_node_join(&m, i < d->nscan ? P_SCAN : P_RED, d->init[i].v, (tr_join){.how = (uint8_t)d->reds[i]});
    for (uint32_t i = 0; i < d->nscat; i++)
        tr_node_join(&m, P_SCAT, d->scat[i].v, (tr_join){.how = d->scats[i]});
    put(&m, P_EIN, d->ein, d->nein);
    put(&m, P_EOUT, d->eout, d->neout);
    put(&m, P_CAP, d->caps, d->ncap);
    return tr_node_emit(&m, &e->b);
}

bool tr_em_pattern(tr_em *e, const tr_pdesc *desc, tr_tv *out) {
    tr_pdesc d = *desc;
    tr_fn *lam, *epi;
    tr_tv *init = TR_NEW_N(&e->ctx->arena, tr_tv, d.nred + 1u);
    for (uint32_t i = 0; i < d.nred; i++)
        init[i] = tr_em_strong(e, d.init[i]);
    assert(d.nspace <= TR_MAX_NDIM && tr_em_are_i64(e, d.nspace, d.space) && "a space of int64 sizes");
    assert(d.nscan <= d.nred && (d.keep & ~tr_all_axes(d.nspace)) == 0 &&
           "scans are reductions, kept axes are there");
    assert((d.epi || (!d.nein && !d.neout)) && "what is read and written behind is an epilogue's");
    assert(tr_em_are_whole(e, d.ncap, d.caps) && "what is captured are values");
    for (uint32_t i = 0; i < d.nin; i++)
        assert(tr_em_is_array(e, d.in[i]) && d.in[i].ty->ndim == d.nspace && "inputs have the space's axes");
    for (uint32_t i = 0; i < d.nout; i++)
        assert(tr_em_is_array(e, d.out[i]) && !d.out[i].ty->readonly &&
               "outputs are arrays that may be written");
    d.init = init;
    if (!make_lambda(e, &d, &lam) || !make_epilogue(e, &d, &epi))
        return false;
    const tr_ty *ty = result_type(e, &d);
    *out = (tr_tv){ty, e->dry ? TR_NOVAL : emit_node(e, &d, lam, epi)};
    return true;
}
