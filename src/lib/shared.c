/* Variables that functions share (front/share.c): one is a list of one item, or of none as long as it has no
 * value. So what flows into it, from any of the functions, says its type, as with lists; who has it counts
 * references; and a loop over a prange that assigns to one from outside is refused as one that makes a list
 * longer. */
#include <assert.h>

#include "lib/families.h"
#include "lib/kinds.h"
#include "lib/priv.h"

/* What a variable may hold has the types that lists have items of, and numbers a common one. */
static bool fits(tr_em *e, const char *name, tr_tv memory, tr_tv x) {
    const tr_ty *t = tr_ty_strong(e->types, x.ty), *had = tr_ty_list_item(e->types, memory.ty, false);
    bool function = t->kind == TR_TY_CLOSURE || t->kind == TR_TY_ONEOF || t->kind == TR_TY_PARTIAL ||
                    (t->kind == TR_TY_LIT && tr_obj_is_function(t->lit));
    /* one that captured the variable would be a part of itself, and its type would have no end */
    if (function && (tr_ty_holds_cell(e->types, t, memory.ty) ||
                     (!e->dry && (!had || tr_ty_join(e->types, had, t, e->opts->promote_numba) != had))))
        return tr_em_unsupported(e, "closure-self", "'%s' as a variable that functions share, of a function",
                                 name);
    if (!tr_ty_may_be_item(tr_ty_told(e->types, t)))
        return tr_em_unsupported(e, "closure-late", "'%s' as a variable that functions share, of %s", name,
                                 tr_em_tyname(e, x.ty));
    if (had && !tr_ty_join(e->types, had, t, e->opts->promote_numba))
        return tr_em_error(e, "'%s' has no single type: it is %s here, and %s elsewhere", name,
                           tr_em_tyname(e, x.ty), tr_em_tyname(e, had));
    return true;
}

bool tr_em_new_variable(tr_em *e, const char *name, const tr_tv *value, tr_tv *out) {
    if (!tr_em_new_list(e, 0, 0, NULL, out))
        return false;
    if (!e->dry)
        tr_at(e->b.fn, out->v)->imm.site = tr_lib_site(e, TR_EXC_MEMORY, TR_NO_VARIABLE);
    return !value || tr_em_write_variable(e, name, *out, *value);
}

bool tr_em_read_variable(tr_em *e, const char *name, bool around, tr_tv memory, tr_tv *out) {
    tr_tv a, at = tr_em_i64(e, 0);
    const char *text = tr_arena_printf(&e->ctx->arena, around ? TR_NO_FREE_VALUE : TR_NO_LOCAL_VALUE, name);
    assert(memory.ty->kind == TR_TY_LIST && "a variable that functions share");
    if (!tr_em_items(e, memory, &a))
        return false;
    tr_em_check(e, tr_em_cmp(e, TR_CMP_NE, tr_em_dim(e, a, 0), at), around ? TR_EXC_NAME : TR_EXC_UNBOUND,
                text, 0, NULL);
    *out = tr_lib_item_at(e, a, at);
    return true;
}

/* The list is empty in between: what it held is dropped before the new value is there, as nobody looks. */
bool tr_em_write_variable(tr_em *e, const char *name, tr_tv memory, tr_tv value) {
    tr_tv a[2] = {memory, value}, none;
    tr_bcall c = {.row = TR_B_L_APPEND, .n = 2, .a = a};
    assert(memory.ty->kind == TR_TY_LIST && "a variable that functions share");
    return fits(e, name, memory, value) && tr_lib_list_clear(e, &c, &none) &&
           tr_lib_list_append(e, &c, &none);
}
