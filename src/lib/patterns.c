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

/* What is described, by role (ir/roles.def). */
typedef struct listed {
    const tr_tv *v[TR_ROLE__COUNT];
    uint32_t n[TR_ROLE__COUNT];
} listed;

static listed by_role(const tr_pdesc *d) {
    return (listed){.v = {[P_SPACE] = d->space,
                          [P_IN] = d->in,
                          [P_OUT] = d->out,
                          [P_PACK] = d->filt,
                          [P_BEST] = d->best,
                          [P_SCAN] = d->init,
                          [P_RED] = d->nred ? d->init + d->nscan : NULL,
                          [P_TOP] = d->top,
                          [P_SCAT] = d->scat,
                          [P_EIN] = d->ein,
                          [P_EOUT] = d->eout,
                          [P_CAP] = d->caps},
                    .n = {[P_SPACE] = d->nspace,
                          [P_IN] = d->nin,
                          [P_OUT] = d->nout,
                          [P_PACK] = d->nfilt,
                          [P_BEST] = d->nbest,
                          [P_SCAN] = d->nscan,
                          [P_RED] = d->nred - d->nscan,
                          [P_TOP] = d->top ? 1 : 0,
                          [P_SCAT] = d->nscat,
                          [P_EIN] = d->nein,
                          [P_EOUT] = d->neout,
                          [P_CAP] = d->ncap}};
}

/* How operand k of a role is joined. */
static tr_join join_of(const tr_pdesc *d, unsigned role, uint32_t k, tr_fn **by) {
    uint32_t red = role == P_RED ? d->nscan + k : k;
    return role == P_TOP    ? (tr_join){.how = (uint8_t)d->order}
           : role == P_SCAT ? (tr_join){.how = d->scats[k], .by = by[d->nred + k]}
                            : (tr_join){.how = (uint8_t)d->reds[red], .by = by[red]};
}

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

/* The params of one of the node's functions, in the groups that a template knows. */
typedef struct params {
    tr_tv *idx, *elems, *caps;
    uint32_t nidx, nelems, ncaps;
} params;

static void add_param(tr_em *in, params *p, unsigned role, unsigned fn, const tr_tv *operand) {
    const tr_roleinfo *is = &tr_role_info[role];
    const tr_ty *t = operand->ty;
    switch ((tr_porttakes)is->takes[fn]) {
    case TR_TAKES_NONE: break;
    case TR_TAKES_INDEX: p->idx[p->nidx++] = param(in, i64_ty(in)); break;
    case TR_TAKES_ITEM: p->elems[p->nelems++] = param(in, t->elem); break;
    case TR_TAKES_VALUE:
        if (is->join) {
            p->elems[p->nelems++] = param(in, t);
            break;
        }
        p->caps[p->ncaps] = param(in, t->kind == TR_TY_LIT ? t : tr_ty_strong(in->types, t));
        p->caps[p->ncaps++].ty = t; /* a literal stays known inside */
    }
}

static params make_params(tr_em *in, const tr_pdesc *d, const listed *l, unsigned fn) {
    tr_arena *a = &in->ctx->arena;
    uint32_t room = 1;
    for (unsigned r = 0; r < TR_ROLE__COUNT; r++)
        room += tr_role_info[r].takes[fn] ? l->n[r] : 0;
    params p = {
        .idx = TR_NEW_N(a, tr_tv, room), .elems = TR_NEW_N(a, tr_tv, room), .caps = TR_NEW_N(a, tr_tv, room)};
    for (unsigned r = 0; r < TR_ROLE__COUNT; r++)
        for (uint32_t k = 0; k < l->n[r]; k++)
            if (r != P_SPACE || fn == TR_LAM || d->keep >> k & 1)
                add_param(in, &p, r, fn, &l->v[r][k]);
    return p;
}

static uint32_t count_yields(const listed *l, unsigned fn) {
    uint32_t n = 0;
    for (unsigned r = 0; r < TR_ROLE__COUNT; r++)
        for (uint32_t k = 0; tr_role_info[r].gives[fn] && k < l->n[r]; k++)
            n += tr_role_info[r].gives[fn] == TR_GIVES_PLACE ? l->v[r][k].ty->ndim + 1u : 1;
    return n;
}

static bool make_function(tr_em *e, const tr_pdesc *d, const listed *l, unsigned fn, tr_fn **out) {
    tr_em in;
    *out = open_lambda(e, &in);
    params p = make_params(&in, d, l, fn);
    uint32_t n = count_yields(l, fn);
    tr_tv *y = TR_NEW_N(&in.ctx->arena, tr_tv, n + 1u);
    if (!(fn == TR_EPI ? d->epi : d->lam)(&in, d, p.idx, p.elems, p.caps, y))
        return false;
    assert(tr_em_are_whole(&in, n, y) && "a lambda fills all that it is to yield");
    if (in.dry)
        return true;
    tr_val *v = TR_NEW_N(&in.ctx->arena, tr_val, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        v[i] = tr_em_strong(&in, y[i]).v;
    tr_emit_v(&in.b, TR_OP_YIELD, NULL, n, v);
    return true;
}

/* The function that joins the values of reduction k, or of a target behind the reductions, if it is by
 * one. */
static bool make_join(tr_em *e, const tr_pdesc *d, const listed *l, uint32_t k, tr_fn **out) {
    tr_em in;
    tr_tv x, y, r;
    unsigned how = k < d->nred ? d->reds[k] : d->scats[k - d->nred];
    const tr_ty *t = k < d->nred ? d->init[k].ty : d->scat[k - d->nred].ty->elem;
    *out = NULL;
    if (how >= TR_RED__COUNT || !tr_red_info[how].joins)
        return true;
    tr_fn *by = open_lambda(e, &in);
    x = param(&in, t);
    y = param(&in, t);
    params p = {.caps = TR_NEW_N(&in.ctx->arena, tr_tv, d->ncap + 1u)};
    for (uint32_t c = 0; c < d->ncap; c++)
        add_param(&in, &p, P_CAP, TR_LAM, &l->v[P_CAP][c]);
    if (!d->join(&in, d, k, x, y, p.caps, &r))
        return false;
    r = tr_em_strong(&in, r);
    assert(r.ty == t && "two values give one of their type");
    if (!in.dry)
        tr_emit_v(&in.b, TR_OP_YIELD, NULL, 1, &r.v);
    *out = by;
    return true;
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

static tr_val emit_node(tr_em *e, const tr_pdesc *d, const listed *l, tr_fn *lam, tr_fn *epi, tr_fn **by) {
    tr_node m = tr_node_new(e->b.fn);
    m.t = (tr_pat){.par = e->ctx->opts.parallel ? TR_PAR_WISH : TR_PAR_NO,
                   .apart = d->apart,
                   .keep = d->keep,
                   .lam = lam,
                   .epi = epi};
    for (unsigned r = 0; r < TR_ROLE__COUNT; r++)
        for (uint32_t k = 0; k < l->n[r]; k++)
            if (tr_role_info[r].join)
                tr_node_join(&m, (tr_role)r, l->v[r][k].v, join_of(d, r, k, by));
            else
                tr_node_put(&m, (tr_role)r,
                            r == P_SPACE || r == P_TOP ? tr_em_strong(e, l->v[r][k]).v : l->v[r][k].v);
    return tr_node_emit(&m, &e->b);
}

bool tr_em_pattern(tr_em *e, const tr_pdesc *desc, tr_tv *out) {
    tr_pdesc d = *desc;
    tr_fn *lam, *epi = NULL, **by = TR_NEW_N(&e->ctx->arena, tr_fn *, d.nred + d.nscat + 1u);
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
    const listed l = by_role(&d);
    if (!make_function(e, &d, &l, TR_LAM, &lam) || (d.epi && !make_function(e, &d, &l, TR_EPI, &epi)))
        return false;
    for (uint32_t k = 0; k < d.nred + d.nscat; k++)
        if (!make_join(e, &d, &l, k, &by[k]))
            return false;
    const tr_ty *ty = result_type(e, &d);
    *out = (tr_tv){ty, e->dry ? TR_NOVAL : emit_node(e, &d, &l, lam, epi, by)};
    return true;
}
