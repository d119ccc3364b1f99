/* A ufunc called in compiled code: the function it was made of, over the elements of its arguments.
 *
 * Types are those that the ufunc itself would find outside (ext/ufunc_types.c): numbers that are weak take the precision of what is beside them,
 * integers stay weak, and with declared signatures the first is taken that all arguments convert to safely. */
#include <string.h>

#include "infer/priv.h"

typedef struct ucall {
    uint32_t func;
    const tr_ufn *u;
} ucall;

static const tr_ty *strong_type(tr_em *e, tr_tv x) {
    return tr_ty_strong(e->types, x.ty);
}

/* A literal, or the result of an operation between literals. */
static bool is_weak(tr_tv x) {
    return x.ty->weak ||
           (x.ty->kind == TR_TY_LIT && x.ty->lit->kind != TR_OBJ_SCALAR && x.ty->lit->kind != TR_OBJ_BOOL);
}

/* --- any types --- */

/* The type of all strong arguments together, NULL without any. */
static const tr_ty *common_type(tr_em *e, uint32_t n, const tr_tv *x) {
    const tr_ty *t = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const tr_ty *s = strong_type(e, x[i]);
        if (!is_weak(x[i]))
            t = t ? tr_ty_scalar(e->types, tr_ty_promote((tr_tyk)t->kind, (tr_tyk)s->kind)) : s;
    }
    return t;
}

static tr_tv weak_argument(tr_em *e, tr_tv x, const tr_ty *common) {
    tr_tv v = tr_em_strong(e, x);
    bool narrow = common && (common->kind == TR_TY_F32 || common->kind == TR_TY_C64);
    if (v.ty->kind == TR_TY_I64 && common)
        return (tr_tv){tr_ty_weak(e->types, TR_TY_I64), v.v};
    if (narrow && tr_ty_is_float(v.ty))
        return tr_em_conv(e, v, tr_ty_scalar(e->types, TR_TY_F32));
    return narrow && tr_ty_is_complex(v.ty) ? tr_em_conv(e, v, tr_ty_scalar(e->types, TR_TY_C64)) : v;
}

static bool call_lazy(tr_em *e, const ucall *c, const tr_tv *x, tr_tv *out) {
    tr_tv v[32];
    const tr_ty *common = common_type(e, c->u->nin, x);
    for (uint32_t i = 0; i < c->u->nin; i++)
        v[i] = is_weak(x[i]) ? weak_argument(e, x[i], common) : tr_em_strong(e, x[i]);
    return tr_infer_call_func(e, c->func, c->u->nin, v, out);
}

/* --- declared signatures --- */

static bool fits(tr_em *e, tr_tv x, const tr_ty *to, bool weak_counts) {
    const tr_ty *s = strong_type(e, x);
    if (!weak_counts || !is_weak(x))
        return tr_ty_promote((tr_tyk)s->kind, (tr_tyk)to->kind) == (tr_tyk)to->kind;
    switch (tr_ty_class(s)) {
    case 'i':
    case 'u': return to->kind != TR_TY_BOOL;
    case 'f': return tr_ty_is_float(to) || tr_ty_is_complex(to);
    default: return tr_ty_is_complex(to);
    }
}

typedef enum how { EXACT, AS_STRONG, AS_WEAK } how;

static const tr_ty *const *search(tr_em *e, const ucall *c, const tr_tv *x, how h) {
    uint32_t row = c->u->nin + 1;
    for (uint32_t k = 0; k < c->u->nsigs; k++) {
        const tr_ty *const *sig = c->u->sigs + (size_t)k * row;
        uint32_t i = 0;
        while (i < c->u->nin && (h == EXACT ? !is_weak(x[i]) && strong_type(e, x[i]) == sig[i]
                                            : fits(e, x[i], sig[i], h == AS_WEAK)))
            i++;
        if (i == c->u->nin)
            return sig;
    }
    return NULL;
}

static bool call_declared(tr_em *e, const ucall *c, const tr_tv *x, tr_tv *out) {
    bool all_weak = true;
    for (uint32_t i = 0; i < c->u->nin; i++)
        all_weak = all_weak && is_weak(x[i]);
    const tr_ty *const *sig = search(e, c, x, EXACT);
    if (!sig && all_weak)
        sig = search(e, c, x, AS_STRONG);
    if (!sig)
        sig = search(e, c, x, AS_WEAK);
    if (!sig) {
        const char *have = "";
        for (uint32_t i = 0; i < c->u->nin; i++)
            have = tr_arena_printf(&e->ctx->arena, "%s%s%s", have, i ? ", " : "", tr_em_tyname(e, x[i].ty));
        return tr_em_error(e, "the ufunc %s() has no signature for (%s)", c->u->name, have);
    }
    tr_tv v[32];
    for (uint32_t i = 0; i < c->u->nin; i++)
        v[i] = tr_em_conv(e, x[i], sig[i]);
    if (!tr_infer_call_func(e, c->func, c->u->nin, v, out))
        return false;
    return !out->ty || !sig[c->u->nin] || tr_em_coerce(e, *out, sig[c->u->nin], out);
}

/* --- the call --- */

static bool call_scalars(tr_em *e, const void *user, const tr_tv *x, tr_tv *out) {
    const ucall *c = user;
    return c->u->nsigs ? call_declared(e, c, x, out) : call_lazy(e, c, x, out);
}

bool tr_infer_call_ufunc(tr_em *e, uint32_t func, const tr_args *args, tr_tv *out) {
    ucall *c = TR_NEW(&e->ctx->arena, ucall);
    *c = (ucall){func, e->prog->funcs.d[func].ufn};
    uint32_t npos = args->n - args->nkw;
    tr_tv dst = {NULL, TR_NOVAL};
    if (c->u->core)
        return tr_em_unsupported(e, "gufunc-call", "a call of the generalised ufunc %s()", c->u->name);
    if (args->nkw == 1 && !strcmp(args->kw[0], "out") && npos == c->u->nin)
        dst = args->v[npos];
    else if (args->nkw)
        return tr_em_error(e, "%s() takes no keyword arguments but out= in compiled code", c->u->name);
    else if (npos == c->u->nin + 1)
        dst = args->v[c->u->nin];
    else if (npos != c->u->nin)
        return tr_em_error(e, "%s() takes %u arguments and an optional out, not %u", c->u->name, c->u->nin,
                           npos);
    for (uint32_t i = 0; i < c->u->nin; i++) {
        const tr_ty *t = tr_ty_strong(e->types, args->v[i].ty);
        if (t->kind != TR_TY_ARRAY && !tr_ty_is_scalar(t))
            return tr_em_error(e, "%s() takes numbers or arrays, not %s", c->u->name,
                               tr_em_tyname(e, args->v[i].ty));
    }
    return tr_em_elementwise(e, c->u->name, c->u->nin, args->v, dst, call_scalars, c, out);
}
