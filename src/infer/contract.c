/* A call of a function with declared signatures from compiled code: which signature, and the arguments as it
 * wants them. What is accepted and which signature is chosen stands in ty/accept.c, for Python's calls too;
 * numbers that do not fit raise as there (ext/unbox.c). */
#include <assert.h>
#include <string.h>

#include "infer/priv.h"

typedef struct asked {
    const tr_contract *k;
    const tr_ty *const *t; /* the arguments' */
} asked;

static int cost_of(void *user, uint32_t sig, uint32_t i) {
    const asked *a = user;
    return tr_ty_accept(a->t[i], tr_contract_row(a->k, sig)[i]);
}

static uint32_t exact(const asked *a) {
    for (uint32_t s = 0; s < a->k->nsigs; s++) {
        uint32_t i = 0;
        while (i < a->k->nargs && a->t[i] == tr_contract_row(a->k, s)[i])
            i++;
        if (i == a->k->nargs)
            return s;
    }
    return UINT32_MAX;
}

static const char *types_text(tr_em *e, uint32_t n, const tr_ty *const *types) {
    const char *text = "";
    for (uint32_t i = 0; i < n; i++)
        text = tr_arena_printf(&e->ctx->arena, "%s%s%s", text, i ? ", " : "", tr_em_tyname(e, types[i]));
    return text;
}

static bool no_match(tr_em *e, const tr_func *fn, const asked *a) {
    enum { SHOWN = 6 };
    const tr_contract *k = a->k;
    if (e->dry)
        return false;
    const char *list = "";
    for (uint32_t s = 0; s < k->nsigs && s < SHOWN; s++) {
        const tr_ty *const *row = tr_contract_row(k, s), *ret = row[k->nargs];
        list = tr_arena_printf(&e->ctx->arena, "%s%s%s(%s)", list, s ? ", " : "",
                               ret ? tr_em_tyname(e, ret) : "", types_text(e, k->nargs, row));
    }
    tr_em_error(e, "%s() has no signature for arguments of types (%s); it has %s%s", fn->name,
                types_text(e, k->nargs, a->t), k->nsigs ? list : "none", k->nsigs > SHOWN ? ", ..." : "");
    if (k->refused)
        tr_em_hint(e, "one that is declared could not be compiled: %s", k->refused);
    for (uint32_t i = 0; i < k->nargs && !k->refused; i++)
        if (a->t[i]->kind == TR_TY_ARRAY && a->t[i]->readonly)
            tr_em_hint(e, "arrays that are read from globals are read-only here: pass it as an argument");
    return false;
}

/* --- conversions --- */

static int64_t least(const tr_ty *t) {
    return tr_ty_class(t) == 'i' ? (int64_t)(~UINT64_C(0) << (8 * tr_ty_size(t) - 1)) : 0;
}
static uint64_t most(const tr_ty *t) {
    return UINT64_MAX >> (64 - 8 * tr_ty_size(t) + (tr_ty_class(t) == 'i'));
}

static tr_tv number(tr_em *e, const tr_ty *t, int64_t v) {
    return (tr_tv){t, e->dry ? TR_NOVAL : tr_const_int(e->b.fn, t, v)};
}

static void check_fits(tr_em *e, const char *what, tr_tv x, const tr_ty *to) {
    assert(tr_ty_is_int(x.ty) && tr_ty_is_int(to) && "only integers have a range");
    bool python = x.ty->kind == TR_TY_I64;
    const char *text = tr_arena_printf(&e->ctx->arena, "%s: %s%s {0} does not fit %s", what,
                                       python ? "Python int" : "numpy.", python ? "" : tr_em_tyname(e, x.ty),
                                       tr_em_tyname(e, to));
    if (least(x.ty) < least(to))
        tr_em_check(e, tr_em_cmp(e, TR_CMP_GE, x, number(e, x.ty, least(to))), TR_EXC_OVERFLOW, text, 1, &x);
    if (most(x.ty) > most(to))
        tr_em_check(e, tr_em_cmp(e, TR_CMP_LE, x, number(e, x.ty, (int64_t)most(to))), TR_EXC_OVERFLOW, text,
                    1, &x);
}

/* A literal integer that `to` does not hold raises as Python's call does. */
static tr_tv convert_literal(tr_em *e, const char *what, tr_tv x, const tr_ty *to) {
    if (tr_ty_is_int(to) && !tr_tv_fits(x, to))
        tr_em_check(e, tr_em_bool(e, false), TR_EXC_OVERFLOW,
                    tr_arena_printf(&e->ctx->arena, "%s: Python int %s does not fit %s", what,
                                    x.ty->lit->repr, tr_em_tyname(e, to)),
                    0, NULL);
    return tr_em_conv(e, x, to);
}

/* An integer becomes a narrow float by way of float64, as Python's own does. */
static tr_tv convert_scalar(tr_em *e, const char *what, tr_tv x, const tr_ty *to) {
    tr_bigint n;
    if (tr_tv_lit_integer(x, &n))
        return convert_literal(e, what, x, to);
    x = tr_em_strong(e, x);
    if (tr_ty_is_int(x.ty) && tr_ty_is_int(to))
        check_fits(e, what, x, to);
    if (tr_ty_is_int(x.ty) && (to->kind == TR_TY_F32 || to->kind == TR_TY_C64))
        x = tr_em_conv(e, x, tr_ty_scalar(e->types, TR_TY_F64));
    return tr_em_conv(e, x, to);
}

/* x is accepted: the only error left is one at run time. */
static bool convert(tr_em *e, const char *what, tr_tv x, const tr_ty *to, tr_tv *out) {
    if (x.ty == to) {
        *out = x;
        return true;
    }
    if (x.ty->kind == TR_TY_OPT)
        return convert(e, what, tr_em_value(e, x), to, out);
    if (tr_ty_is_scalar(to)) {
        *out = convert_scalar(e, what, x, to);
        return true;
    }
    if (to->kind != TR_TY_TUPLE)
        return tr_em_coerce(e, x, to, out);
    tr_tv *it = TR_NEW_N(&e->ctx->arena, tr_tv, to->n + 1u);
    for (uint32_t i = 0; i < to->n; i++)
        if (!convert(e, what, tr_em_item(e, x, i), to->items[i], &it[i]))
            return false;
    *out = tr_em_make(e, to, to->n, it);
    return true;
}

/* What an argument counts as: a literal integer beyond 64 bits as an integer that may not fit. */
static const tr_ty *offered(tr_em *e, tr_tv x) {
    tr_bigint n;
    bool huge = tr_tv_lit_integer(x, &n) && !tr_bigint_fits64(&n);
    return huge ? tr_ty_scalar(e->types, TR_TY_U64) : tr_ty_strong(e->types, x.ty);
}

bool tr_infer_settle(tr_em *e, const tr_func *fn, const tr_contract *k, uint32_t n, tr_tv *v,
                     const tr_ty **ret) {
    const tr_ty **t = TR_NEW_N(&e->ctx->arena, const tr_ty *, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        t[i] = offered(e, v[i]);
    asked a = {k, t};
    /* Where no signature could be compiled there is none to keep to, and the body says why. */
    bool none = !k->nsigs && (!k->sealed || k->refused);
    if (none || fn->ufn || n != k->nargs)
        return true;
    uint32_t sig = exact(&a);
    if (sig == UINT32_MAX && !k->sealed)
        return true;
    if (sig == UINT32_MAX)
        sig = tr_ty_choose(k->nsigs, n, cost_of, &a);
    if (sig == UINT32_MAX && e->prog->opts.d[k->opts]->inline_always)
        return true; /* it becomes part of its caller, as Numba has it before types are known */
    if (sig == UINT32_MAX)
        return no_match(e, fn, &a);
    const tr_ty *const *row = tr_contract_row(k, sig);
    *ret = row[n];
    assert(sig < k->nsigs && n == k->nargs && "one of its signatures, with a type for each argument");
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].ty == row[i])
            continue;
        const char *what =
            tr_arena_printf(&e->ctx->arena, "%s(): argument '%s'", fn->qualname, fn->argnames[i]);
        if (!convert(e, what, v[i], row[i], &v[i]))
            return tr_em_error(e, "%s: %s cannot become %s", what, tr_em_tyname(e, v[i].ty),
                               tr_em_tyname(e, row[i]));
    }
    return true;
}
