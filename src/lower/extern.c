/* Calls of functions of others, which are linked to the module (jit/bitcode.c) or are somewhere in memory.
 *
 * They are C functions: numbers as they are, an array as where its items lie. By Numba's rule (abi numba)
 * such a function gives a status and puts its result where its first argument points to. A declaration's name
 * has a prefix (TR_EXTERN_PREFIX), so that it is never taken for a function of the program's or of the
 * runtime's. Small integers and bools say how they are extended, as clang says it of its own, on which both
 * sides rely.
 * Cost: a call; none where the code is linked as bitcode and so inlined. */
#include "lower/internal.h"

#include <assert.h>

enum { STATUS = 2 }; /* beside the arguments: a status's place, an address */

static lt c_type(const tr_lm *m, const tr_ty *t) {
    return t->kind == TR_TY_ARRAY  ? m->ptr
           : t->kind == TR_TY_NONE ? m->void_
           : t->kind == TR_TY_BOOL ? m->i1
                                   : tr_lower_elem(m, t);
}

/* How the 32 bits of a register are filled. `at`: of a call or declaration, the index of an attribute. */
static void say_extension(const tr_lm *m, lv call, lv fn, unsigned at, const tr_ty *t) {
    bool small =
        t->kind == TR_TY_BOOL || (tr_ty_is_scalar(t) && strchr("iu", tr_ty_class(t)) && tr_ty_size(t) < 4);
    if (!small)
        return;
    const char *name = tr_ty_class(t) == 'i' ? "signext" : "zeroext";
    LLVMAttributeRef a =
        LLVMCreateEnumAttribute(m->lc, LLVMGetEnumAttributeKindForName(name, strlen(name)), 0);
    LLVMAddCallSiteAttribute(call, at, a);
    if (fn)
        LLVMAddAttributeAtIndex(fn, at, a);
}

void tr_lower_callx(tr_lf *w, tr_val v, const tr_ins *in) {
    tr_lm *m = w->m;
    bool numba = tr_abi_x_numba(in->sub);
    uint32_t from = tr_abi_x_at(in->sub), n = 0;
    const tr_ty *status = numba ? in->ty->kind == TR_TY_TUPLE ? in->ty->items[0] : in->ty : NULL,
                *ret = !numba                        ? in->ty
                       : in->ty->kind == TR_TY_TUPLE ? in->ty->items[1]
                                                     : NULL;
    lt *types = TR_NEW_N(&m->ctx->arena, lt, in->nargs + STATUS),
       place = ret ? tr_lower_elem(m, ret->kind == TR_TY_NONE ? tr_ty_scalar(m->ctx->types, TR_TY_I8) : ret)
                   : m->i8;
    lv *args = TR_NEW_N(&m->ctx->arena, lv, in->nargs + STATUS), out[2] = {NULL, NULL};
    if (numba) {
        types[n] = m->ptr;
        args[n++] = tr_lower_alloca(w, place, "result");
    }
    for (uint32_t i = from; i < in->nargs; i++) {
        const tr_ty *t = tr_lower_ty(w, in->args[i]);
        types[n] = c_type(m, t);
        args[n++] = tr_lower_parts(w, in->args[i])[t->kind == TR_TY_ARRAY];
    }
    lt type = LLVMFunctionType(c_type(m, numba ? status : ret), types, n, 0);
    lv fn = NULL, to;
    if (from) {
        lv at = LLVMBuildLoad2(w->b, m->i64, tr_lower_parts(w, in->args[0])[1], "");
        to = LLVMBuildIntToPtr(w->b, at, m->ptr, "");
    } else {
        to = fn = tr_lower_declare(m, tr_arena_printf(&m->ctx->arena, TR_EXTERN_PREFIX "%s", in->imm.s), type,
                                   NULL);
        if (LLVMGlobalGetValueType(fn) != type) {
            tr_lower_error(w, v, "%s() is declared twice, with different types", in->imm.s);
            fn = NULL;
        }
    }
    lv x = LLVMBuildCall2(w->b, type, to, args, n, "");
    for (uint32_t i = from; i < in->nargs; i++)
        say_extension(m, x, fn, i - from + numba + 1, tr_lower_ty(w, in->args[i]));
    unsigned nout = 0;
    if (numba) {
        out[nout++] = x;
        if (ret)
            out[nout++] = LLVMBuildLoad2(w->b, place, args[0], "");
    } else {
        say_extension(m, x, fn, LLVMAttributeReturnIndex, ret);
        if (ret->kind != TR_TY_NONE)
            out[nout++] = x;
    }
    if (numba && ret && ret->kind == TR_TY_BOOL)
        out[1] = l_icmp(w->b, LLVMIntNE, out[1], l_int(m->i8, 0));
    m->externs = true;
    tr_lower_set(w, v, nout, out);
}
