/* Ufuncs of others, elementwise or generalised: their C loops (rt/loop.c), called on arrays in compiled code.
 *
 * Types, broadcasting, conversions and new results are those of generalised ufuncs (npgufunc.c). A call
 * of the runtime runs the loop along the last outer axis, whatever the strides; further outer axes are a
 * region over them. With parallel=True a loop that has core axes, which is work, is called for each
 * outer index, so that threads share them.
 * Cost: a call is some 20 ns beside the loop's own, numbers an array of no axes each. */
#include "lib/fam.h"

#include <assert.h>

#include "lib/families.h"

typedef struct call {
    const tr_obj *fn;
    const tr_ufn *u;
    uint32_t loop;
    bool each;     /* no loop over an outer axis */
    tr_tv *failed; /* or NULL */
} call;

/* Operand k as [round, core axis, core axis], at an index of the axes before. */
static tr_tv as_three(tr_em *e, const call *c, uint32_t k, tr_tv a, uint32_t nlead, const tr_tv *idx) {
    uint32_t ncore = c->u->core->n[k], nouter = a.ty->ndim - ncore;
    assert(a.ty->ndim >= ncore && ncore <= TR_LOOP_CORE && nlead <= nouter && "an operand has its core axes");
    tr_tv one = tr_em_i64(e, 1);
    tr_axes x = {0};
    for (uint32_t i = 0; i < nlead; i++)
        x.start[i] = idx[i];
    if (nlead < nouter)
        tr_axes_own(e, &x, a, nlead);
    else
        tr_axes_new(e, &x, one);
    for (uint32_t d = 0; d < ncore; d++)
        tr_axes_own(e, &x, a, nouter + d);
    for (uint32_t d = ncore; d < TR_LOOP_CORE; d++)
        tr_axes_new(e, &x, one);
    const tr_ty *ty = tr_ty_array(e->types, a.ty->elem, 1 + TR_LOOP_CORE, TR_LAYOUT_ANY, a.ty->readonly);
    return tr_em_view(e, ty, a, &x);
}

/* Whether the invalid flag was raised. What Python's exceptions a loop leaves, the function raises. */
static tr_tv run_loop(tr_em *e, const call *c, const tr_tv *operands, uint32_t nlead, const tr_tv *idx) {
    uint32_t n = c->u->nin + c->u->nout;
    tr_tv x[2 + TR_LOOP_OPERANDS];
    assert(n > 0 && n <= TR_LOOP_OPERANDS && "there is a row for so many operands");
    x[0] = tr_em_obj(e, c->fn->u.l.table);
    x[1] = tr_em_i64(e, c->loop);
    for (uint32_t k = 0; k < n; k++)
        x[2 + k] = as_three(e, c, k, operands[k], nlead, idx);
    tr_tv one = tr_em_i64(e, 1),
          r = tr_em_callrt(e, (tr_rt)(TR_RT_LOOP1 + n - 1), tr_fam_ty(e, TR_TY_I64), NULL, 2 + n, x),
          raised = tr_em_op2(e, TR_OP_SHR, r, one);
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, raised, tr_em_i64(e, 0)), TR_EXC_HOST, "{0}", 1, &raised);
    return tr_em_cmp(e, TR_CMP_EQ, tr_em_op2(e, TR_OP_AND, r, one), one);
}

/* caps: the operands. */
static bool lam_loop(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                     tr_tv *yields) {
    (void)elems;
    yields[0] = run_loop(e, d->user, caps, d->nspace, idx);
    return true;
}

static bool call_loops(tr_em *e, const void *user, const tr_tv *x) {
    const call *c = user;
    uint32_t n = c->u->nin + c->u->nout, nouter = x[0].ty->ndim - c->u->core->n[0],
             nlead = c->each      ? nouter
                     : nouter > 1 ? nouter - 1
                                  : 0;
    tr_tv failed, shape[TR_MAX_NDIM], init = tr_em_bool(e, false);
    tr_redk red = TR_RED_OR;
    for (uint32_t i = 0; i < nlead; i++)
        shape[i] = tr_em_dim(e, x[0], i);
    tr_pdesc d = {.nspace = nlead,
                  .ncap = n,
                  .nred = 1,
                  .space = shape,
                  .caps = x,
                  .reds = &red,
                  .init = &init,
                  .lam = lam_loop,
                  .user = c};
    if (nlead == 0)
        failed = run_loop(e, c, x, 0, NULL);
    else if (!tr_em_pattern(e, &d, &failed))
        return false;
    if (c->failed)
        *c->failed = failed;
    return true;
}

static bool elt_itself(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    (void)e;
    (void)user;
    *out = x[0];
    return true;
}

/* where=: results of all items, of which those that are chosen go to the outputs that were given. */
static bool store_chosen(tr_em *e, const tr_ufn *u, tr_tv where, const tr_tv *dst, tr_tv *out) {
    tr_tv *r = TR_NEW_N(&e->ctx->arena, tr_tv, u->nout + 1u);
    for (uint32_t k = 0; k < u->nout; k++) {
        tr_tv one = u->nout == 1 ? *out : tr_em_item(e, *out, k);
        if (!tr_em_elementwise_where(e, u->name, 1, &one, where, dst[k], false, elt_itself, NULL, &r[k]))
            return false;
    }
    *out = u->nout == 1 ? r[0] : tr_em_tuple(e, u->nout, r);
    return true;
}

static bool is_loose(tr_tv x) {
    return x.ty && tr_ty_is_loose(x.ty);
}

/* Results that were made beside the outputs that were given: they go there. */
static bool store_apart(tr_em *e, const tr_ufn *u, const tr_tv *dst, tr_tv *out) {
    tr_tv *r = TR_NEW_N(&e->ctx->arena, tr_tv, u->nout + 1u);
    for (uint32_t k = 0; k < u->nout; k++) {
        r[k] = u->nout == 1 ? *out : tr_em_item(e, *out, k);
        if (!is_loose(dst[k]))
            continue;
        if (!tr_em_assign(e, dst[k], r[k]))
            return false;
        r[k] = dst[k];
    }
    *out = u->nout == 1 ? r[0] : tr_em_tuple(e, u->nout, r);
    return true;
}

/* Loops of others count on aligned items: they are given copies of what is not, and results that go to such
 * an array a room of their own (*apart: of some). */
static bool align_operands(tr_em *e, const tr_ufn *u, tr_tv *x, bool *apart) {
    *apart = false;
    for (uint32_t k = 0; k < u->nin + u->nout; k++) {
        if (!is_loose(x[k]))
            continue;
        if (k < u->nin ? !tr_em_copy(e, x[k], TR_LAYOUT_C, &x[k])
                       : x[k].ty->readonly && !tr_em_error(e, "%s(): out is read-only", u->name))
            return false;
        *apart = *apart || k >= u->nin;
    }
    return true;
}

bool tr_em_foreign(tr_em *e, const tr_obj *fn, const tr_args *args, tr_tv *failed, tr_tv *out) {
    const tr_ufn *u = fn->u.l.fn;
    tr_tv x[2 * TR_MAX_OPERANDS];
    bool apart;
    const tr_ty *const *sig;
    tr_tv where;
    if (!tr_fam_bind_operands(e, u, args, x, &where) || !align_operands(e, u, x, &apart) ||
        !(sig = tr_fam_declared_for(e, u, x)))
        return false;
    call *c = TR_NEW(&e->ctx->arena, call);
    *c = (call){.fn = fn,
                .u = u,
                .loop = (uint32_t)((sig - u->sigs) / tr_ufn_row(u)),
                .each = e->opts->parallel && tr_fam_is_generalised(u),
                .failed = failed};
    uint32_t n = u->nin + u->nout;
    bool masks = tr_fam_masks(where);
    tr_tv *dst = x + u->nin, *to = tr_arena_copy(&e->ctx->arena, dst, u->nout * sizeof *dst);
    for (uint32_t k = 0; k < u->nout; k++)
        if (masks || is_loose(dst[k]))
            dst[k] = (tr_tv){NULL, TR_NOVAL};
    const tr_ty **want = TR_NEW_N(&e->ctx->arena, const tr_ty *, n + 1u);
    for (uint32_t k = 0; k < n; k++)
        want[k] = tr_ty_array(e->types, sig[k], u->core->n[k], TR_LAYOUT_ANY, false);
    tr_core core = {.n = n, .want = want, .ncore = u->core->n, .fn = call_loops, .user = c, .whole = true};
    return tr_em_gufunc(e, u, &core, x, out) && (masks   ? store_chosen(e, u, where, to, out)
                                                 : apart ? store_apart(e, u, to, out)
                                                         : true);
}

/* treadle._library.checked(ufunc, *args, out): the result, and whether a loop raised the invalid flag. */
bool tr_lib_foreign_checked(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv pair[2], *v = TR_NEW_N(&e->ctx->arena, tr_tv, c->nvar + 1u);
    const char *kw = "out";
    bool given = tr_fam_given(c->a[2]);
    if (c->a[0].ty->kind != TR_TY_LIT || c->a[0].ty->lit->kind != TR_OBJ_UFUNC)
        return tr_em_error(e, "checked() takes a ufunc whose loops are C code, not %s",
                           tr_em_tyname(e, c->a[0].ty));
    for (uint32_t i = 0; i < c->nvar; i++)
        v[i] = c->var[i];
    if (given)
        v[c->nvar] = c->a[2];
    tr_args args = {c->nvar + given, v, given, &kw};
    if (!tr_em_foreign(e, c->a[0].ty->lit, &args, &pair[1], &pair[0]))
        return false;
    *out = tr_em_tuple(e, 2, pair);
    return true;
}
