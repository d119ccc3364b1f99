/* A ufunc called in compiled code: the function it was made of, over the elements of its arguments.
 *
 * Types are those that the ufunc itself would find outside (ty/pick.h). */
#include <assert.h>
#include <string.h>

#include "infer/priv.h"
#include "lib/fam.h"
#include "ty/pick.h"

typedef struct ucall {
    const tr_obj *fn;
    const tr_ufn *u;
} ucall;

/* One that never returns gives what is declared, or float64, as the ufunc itself does outside
 * (driver/kernel.c): there may be no element. */
static bool call_for_element(tr_em *e, const ucall *c, const tr_tv *v, const tr_ty *declared, tr_tv *out) {
    e->ends = false;
    if (!tr_infer_call_func(e, c->fn, c->u->nin, v, out))
        return false;
    if (e->ends && out->ty)
        *out = tr_lib_undef(e, declared ? declared : tr_fam_ty(e, TR_TY_F64));
    e->ends = false;
    return true;
}

/* --- any types --- */

static tr_operand common_type(tr_em *e, uint32_t n, const tr_tv *x) {
    tr_operand all[TR_MAX_OPERANDS];
    assert(n <= TR_MAX_OPERANDS && "there is room for all operands");
    tr_fam_operands_of(e, n, x, all);
    return tr_operands_common(all, n);
}

static tr_tv weak_argument(tr_em *e, tr_tv x, tr_operand common) {
    tr_tv v = tr_em_strong(e, x);
    tr_operand to = tr_operand_beside(tr_operand_of((tr_tyk)v.ty->kind, true), common);
    if (to.weak && to.kind == TR_TY_I64)
        return (tr_tv){tr_ty_weak(e->types, TR_TY_I64), v.v};
    return to.kind == v.ty->kind ? v : tr_em_conv(e, v, tr_ty_scalar(e->types, (tr_tyk)to.kind));
}

static bool call_lazy(tr_em *e, const ucall *c, const tr_tv *x, tr_tv *out) {
    tr_tv v[32];
    tr_operand common = common_type(e, c->u->nin, x);
    assert(!c->u->nsigs && !c->u->core && "one of numbers, without signatures");
    for (uint32_t i = 0; i < c->u->nin; i++)
        v[i] = tr_fam_is_weak(x[i])              ? weak_argument(e, x[i], common)
               : tr_fam_operand_of(e, x[i]).half ? tr_em_conv(e, x[i], tr_ty_scalar(e->types, TR_TY_F32))
                                                 : tr_em_strong(e, x[i]);
    if (!call_for_element(e, c, v, NULL, out))
        return false;
    if (common.half && out->ty && out->ty->kind == TR_TY_F32)
        *out = tr_em_conv(e, *out, tr_ty_scalar(e->types, TR_TY_F16));
    return true;
}

/* --- declared signatures --- */

static bool call_declared(tr_em *e, const ucall *c, const tr_tv *x, tr_tv *out) {
    const tr_ty *const *sig = tr_fam_declared_for(e, c->u, x);
    if (!sig)
        return false;
    tr_tv v[32];
    for (uint32_t i = 0; i < c->u->nin; i++)
        v[i] = tr_em_conv(e, x[i], sig[i]);
    if (!call_for_element(e, c, v, sig[c->u->nin], out))
        return false;
    return !out->ty || !sig[c->u->nin] || tr_em_coerce(e, *out, sig[c->u->nin], out);
}

/* --- generalised ones --- */

/* The types of a lazy one: inputs as they are, weak ones as beside the others; given outputs as they are if
 * NumPy would convert to them, others of all inputs together, which a weak integer does not widen. */
static void lazy_types(tr_em *e, const tr_ufn *u, const tr_tv *x, const tr_ty **want) {
    tr_operand common = common_type(e, u->nin, x), all[TR_MAX_OPERANDS];
    for (uint32_t k = 0; k < u->nin; k++) {
        const tr_ty *t = tr_fam_is_weak(x[k]) ? weak_argument(e, x[k], common).ty
                                              : tr_fam_wide(e, tr_fam_strong_type(e, x[k]));
        all[k] = tr_operand_of((tr_tyk)t->kind, t->weak);
        want[k] = tr_ty_core(e->types, t, u->core->n[k], false);
    }
    const tr_ty *result = tr_ty_scalar(e->types, (tr_tyk)tr_operands_common(all, u->nin).kind);
    for (uint32_t k = u->nin; k < u->nin + u->nout; k++) {
        bool given = x[k].ty && x[k].ty->kind == TR_TY_ARRAY && tr_fam_same_kind(result, x[k].ty->elem);
        want[k] = tr_ty_core(e->types, given ? x[k].ty->elem : result, u->core->n[k], true);
    }
}

static bool call_core(tr_em *e, const void *user, const tr_tv *x) {
    const ucall *c = user;
    tr_tv r;
    if (!tr_infer_call_func(e, c->fn, c->u->nin + c->u->nout, x, &r))
        return false;
    if (r.ty && !tr_tv_is_none(r))
        return tr_em_error(
            e,
            "the function of the gufunc %s() returns %s; it must store its results into its last "
            "arguments and return nothing",
            c->u->name, tr_em_tyname(e, r.ty));
    return e->dry || tr_infer_check_outputs(e->prog, c->fn->u.func, c->u->nin, c->u->nout);
}

/* x: inputs and outputs, absent where they are not given. */
static bool call_generalised(tr_em *e, const ucall *c, const tr_tv *x, tr_tv *out) {
    uint32_t n = c->u->nin + c->u->nout;
    const tr_ty **want = TR_NEW_N(&e->ctx->arena, const tr_ty *, n + 1u);
    if (c->u->nsigs) {
        const tr_ty *const *sig = tr_fam_declared_for(e, c->u, x);
        if (!sig)
            return false;
        memcpy(want, sig, n * sizeof *want);
    } else {
        lazy_types(e, c->u, x, want);
    }
    tr_core core = {n, want, c->u->core->n, call_core, c, false};
    return tr_em_gufunc(e, c->u, &core, x, out);
}

/* --- the call --- */

static bool call_scalars(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const ucall *c = user;
    return c->u->nsigs ? call_declared(e, c, x, out) : call_lazy(e, c, x, out);
}

bool tr_infer_call_ufunc(tr_em *e, const tr_obj *fn, const tr_args *args, tr_tv *out) {
    ucall *c = TR_NEW(&e->ctx->arena, ucall);
    *c = (ucall){fn, e->prog->funcs.d[fn->u.func].ufn};
    assert(c->u && c->u->nin + c->u->nout <= TR_MAX_OPERANDS &&
           "a ufunc's function, with room for its operands");
    tr_tv x[64], where;
    if (!tr_fam_bind_operands(e, c->u, args, x, &where))
        return false;
    if (tr_fam_masks(where))
        return c->u->core
                   ? tr_em_error(e, "%s() takes no where= in compiled code, as it has a layout", c->u->name)
                   : tr_em_elementwise_where(e, c->u->name, c->u->nin, x, where, x[c->u->nin], true,
                                             call_scalars, c, out);
    return c->u->core ? call_generalised(e, c, x, out)
                      : tr_em_elementwise(e, c->u->name, c->u->nin, x, x[c->u->nin], call_scalars, c, out);
}
