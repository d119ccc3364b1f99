/* Calls of functions of others (cuda.declare_device): numbers become the declared types, arrays go where
 * pointers are declared, and a status that is not 0 is an exception.
 *
 * An array is handed over as where its items lie, which the function takes for items one after another: what
 * does not lie so is refused, by its type or when it runs, and so is what may not be written, since nothing
 * says that the function only reads. */
#include "lib/em.h"

#include <assert.h>

#include "lib/fam.h"
#include "lib/priv.h"

static bool refuse(tr_em *e, const tr_extern *x, uint32_t k, tr_tv a, const char *want) {
    return tr_em_error(e, "%s() takes %s as argument %u, not %s", x->name, want, k + 1,
                       tr_em_tyname(e, a.ty));
}

static bool as_pointer(tr_em *e, const tr_extern *x, uint32_t k, tr_tv a, tr_tv *out) {
    const char *want = tr_arena_printf(&e->ctx->arena, "an array of %s", tr_em_tyname(e, x->args[k]));
    if (a.ty->kind != TR_TY_ARRAY || a.ty->elem != x->args[k] || tr_ty_is_loose(a.ty))
        return refuse(e, x, k, a, want);
    if (a.ty->readonly)
        return tr_em_error(e,
                           "%s() may store into its argument %u, and this array is read-only: copy it first",
                           x->name, k + 1);
    if (a.ty->layout == TR_LAYOUT_ANY && a.ty->ndim > 1)
        return tr_em_error(e,
                           "%s() takes items that lie one after another as argument %u: copy the array first",
                           x->name, k + 1);
    if (a.ty->layout == TR_LAYOUT_ANY && a.ty->ndim) {
        tr_tv one = tr_em_i64(e, 1), next = tr_em_cmp(e, TR_CMP_EQ, tr_em_stride(e, a, 0), one),
              few = tr_em_cmp(e, TR_CMP_LE, tr_em_dim(e, a, 0), one);
        tr_em_check(e, tr_em_op2(e, TR_OP_OR, next, few), TR_EXC_VALUE,
                    tr_arena_printf(
                        &e->ctx->arena,
                        "%s() takes items that lie one after another as argument %u: copy the array first",
                        x->name, k + 1),
                    0, NULL);
    }
    *out = a;
    return true;
}

static bool as_number(tr_em *e, const tr_extern *x, uint32_t k, tr_tv a, tr_tv *out) {
    const tr_ty *to = x->args[k];
    tr_tv v = tr_em_strong(e, a);
    if (!v.ty || !tr_ty_is_scalar(v.ty))
        return refuse(e, x, k, a, tr_em_tyname(e, to));
    char from = tr_ty_class(v.ty), as = tr_ty_class(to);
    bool is_float = from == 'f' || from == 'c';
    if (from == 'c' || (is_float && as != 'f'))
        return refuse(e, x, k, a, tr_em_tyname(e, to));
    *out = tr_em_conv(e, v, to);
    return true;
}

/* x, y and z in one number, from bits 0, y and z on. */
static tr_tv packed(tr_em *e, tr_op op, int64_t y, int64_t z) {
    const tr_ty *i64 = tr_fam_ty(e, TR_TY_I64);
    tr_tv all = {0};
    for (uint32_t k = 0; k < 3; k++) {
        tr_tv v = tr_lib_emit(e, op, i64, 0, NULL);
        if (!e->dry)
            tr_at(e->b.fn, v.v)->imm.i = k;
        if (k)
            v = tr_em_op2(e, TR_OP_SHL, v, tr_em_i64(e, k == 1 ? y : z));
        all = k ? tr_em_op2(e, TR_OP_OR, all, v) : v;
    }
    return all;
}

/* What is called asks for the thread's place. */
static void tell_place(tr_em *e) {
    tr_tv x[4] = {packed(e, TR_OP_THREADIDX, 16, 32), packed(e, TR_OP_BLOCKIDX, 32, 48),
                  packed(e, TR_OP_BLOCKDIM, 16, 32), packed(e, TR_OP_GRIDDIM, 32, 48)};
    tr_em_callrt(e, TR_RT_PLACE, NULL, NULL, 4, x);
}

bool tr_em_extern(tr_em *e, const tr_obj *fn, const tr_args *args, tr_tv *out) {
    assert(fn->kind == TR_OBJ_EXTERN && "what was declared");
    const tr_extern *x = fn->u.x;
    if (args->nkw)
        return tr_em_error(e, "%s() takes no keyword arguments: they have no names", x->name);
    if (args->n != x->nargs)
        return tr_em_error(e, "%s() takes %u argument%s, not %u", x->name, x->nargs, x->nargs == 1 ? "" : "s",
                           args->n);
    uint32_t n = 0, from = x->by_address;
    tr_val *v = TR_NEW_N(&e->ctx->arena, tr_val, args->n + 2u);
    if (from)
        v[n++] = tr_em_obj(e, x->table).v;
    for (uint32_t k = 0; k < args->n; k++) {
        tr_tv a = {0};
        if (!(x->pointer[k] ? as_pointer : as_number)(e, x, k, args->v[k], &a))
            return false;
        v[n++] = a.v;
    }
    if (e->prog->links_ask_place)
        tell_place(e);
    const tr_ty *i32 = tr_fam_ty(e, TR_TY_I32), *ty = x->ret ? x->ret : tr_ty_none(e->types);
    if (x->numba)
        ty = x->ret ? tr_ty_tuple(e->types, 2, (const tr_ty *[]){i32, x->ret}) : i32;
    tr_tv r = tr_lib_emit(e, TR_OP_CALLX, ty, n, v);
    if (!e->dry) {
        tr_ins *in = tr_at(e->b.fn, r.v);
        in->imm.s = x->name;
        in->sub = (uint8_t)(x->numba ? from ? TR_ABI_X_NUMBA_AT : TR_ABI_X_NUMBA
                            : from   ? TR_ABI_X_C_AT
                                     : TR_ABI_X_C);
    }
    *out = r;
    if (!x->numba)
        return true;
    tr_tv status = x->ret ? tr_em_item(e, r, 0) : r;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_EQ, status, tr_em_num(e, i32, 0)), TR_EXC_RUNTIME,
                tr_arena_printf(&e->ctx->arena, "%s() returned {0}", x->name), 1, &status);
    *out = x->ret ? tr_em_item(e, r, 1) : tr_em_none(e);
    return true;
}
