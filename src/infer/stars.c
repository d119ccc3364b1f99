/* Arguments behind a star whose number only the running program knows: `f(*l)` of a list, an array, a range.
 * A function of the user's says how many it takes: where that is one number, it is compared with what there
 * is, and the items are its arguments; what is left goes to its *args, which is a list then. min() and max()
 * of the items are those of the sequence. Anything else would need a call of each length. */
#include <string.h>

#include "infer/priv.h"

static const tr_func *user_function(tr_em *e, tr_tv callee) {
    if (callee.ty->kind == TR_TY_CLOSURE)
        return &e->prog->funcs.d[callee.ty->func];
    const tr_obj *o = callee.ty->kind == TR_TY_LIT ? callee.ty->lit : NULL;
    if (!o || o->kind != TR_OBJ_FUNC || (o->u.contract && (o->u.contract->library || o->u.contract->nsigs)))
        return NULL;
    return e->prog->funcs.d[o->u.func].ufn ? NULL : &e->prog->funcs.d[o->u.func];
}

static bool is_named(const tr_callinfo *ci, const char *name) {
    for (uint32_t i = 0; i < ci->nkw; i++)
        if (strcmp(ci->kwnames[i], name) == 0)
            return true;
    return false;
}

static bool has_default(const tr_func *fn, tr_tv callee, uint32_t i) {
    return (fn->defaults && fn->defaults[i]) ||
           (callee.ty->kind == TR_TY_CLOSURE && callee.ty->items[0]->kind != TR_TY_NONE);
}

/* How many arguments by position it takes before its *args; false: several numbers would do. */
static bool number_of(const tr_func *fn, const tr_callinfo *ci, tr_tv callee, uint32_t *n) {
    for (*n = 0; *n < fn->nargs && !is_named(ci, fn->argnames[*n]); ++*n)
        if (has_default(fn, callee, *n))
            return false;
    return true;
}

static bool length(tr_em *e, tr_tv x, tr_tv *n) {
    return tr_em_builtin(e, TR_B_LEN, (tr_tv){NULL, TR_NOVAL}, &(tr_args){1, &x, 0, NULL}, n);
}

static bool refuse(tr_em *e, tr_tv x) {
    tr_em_error(e, "the argument after * must be a tuple here, not %s", tr_em_tyname(e, x.ty));
    tr_em_hint(
        e, "how many items it has is no part of its type: give them one by one, or take the sequence as one "
           "argument");
    return false;
}

bool tr_infer_star(tr_em *e, tr_tv callee, const tr_callinfo *ci, tr_tv x, tr_args *out, tr_tv *rest) {
    const tr_func *fn = user_function(e, callee);
    const tr_obj *o = callee.ty->kind == TR_TY_LIT ? callee.ty->lit : NULL;
    tr_tv n, it;
    *out = (tr_args){0};
    *rest = (tr_tv){NULL, TR_NOVAL};
    if (o && o->kind == TR_OBJ_BUILTIN && (o->u.builtin == TR_B_MIN || o->u.builtin == TR_B_MAX)) {
        out->n = 1;
        tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, 1);
        v[0] = x;
        out->v = v;
        if (!length(e, x, &n))
            return false;
        tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, tr_em_strong(e, n), tr_em_i64(e, 1)), TR_EXC_TYPE,
                    "the only argument is not iterable", 0, NULL);
        return true;
    }
    bool sequence = x.ty->kind == TR_TY_LIST || x.ty->kind == TR_TY_ARRAY || x.ty->kind == TR_TY_RANGE ||
                    x.ty->kind == TR_TY_STRING;
    if (!fn || fn->varkw || ci->starstar || !sequence || !number_of(fn, ci, callee, &out->n) ||
        (fn->varargs && x.ty->kind == TR_TY_STRING))
        return refuse(e, x);
    if (!tr_em_iter(e, x, &it) || !length(e, x, &n))
        return false;
    n = tr_em_strong(e, n);
    tr_tv want = tr_em_i64(e, out->n);
    tr_em_check(e, tr_em_cmp(e, fn->varargs ? TR_CMP_GE : TR_CMP_EQ, n, want), TR_EXC_TYPE,
                tr_arena_printf(&e->ctx->arena, "%s() takes %s%u positional argument%s but {0} were given",
                                fn->name, fn->varargs ? "at least " : "", out->n, out->n == 1 ? "" : "s"),
                1, &n);
    tr_tv *v = TR_NEW_N(&e->ctx->arena, tr_tv, out->n + 1u);
    for (uint32_t i = 0; i < out->n; i++)
        if (!tr_em_iterget(e, it, tr_em_i64(e, i), &v[i]))
            return false;
    out->v = v;
    return !fn->varargs || tr_em_unpack_star(e, x, out->n, out->n, 0, false, rest);
}
