/* The table of lib/kinds.h, and what kinds say that cannot be asked. */
#include "lib/kinds.h"
#include "lib/priv.h"

enum { TR_B_NO = TR_B__COUNT };

const tr_kind tr_lib_kinds[] = {
#define KIND(ID, word, user, items, ty, lib, ...) lib
#define LIB(attrs, class, binary, inplace, unary, compare, contains, get, set, iter, count, next, at, len, \
            truth, coerce, show)                                                                           \
    {attrs,                                                                                                \
     TR_B_##class,                                                                                         \
     tr_lib_binary_##binary,                                                                               \
     tr_lib_inplace_##inplace,                                                                             \
     tr_lib_unary_##unary,                                                                                 \
     tr_lib_compare_##compare,                                                                             \
     tr_lib_contains_##contains,                                                                           \
     tr_lib_get_##get,                                                                                     \
     tr_lib_set_##set,                                                                                     \
     tr_lib_iter_##iter,                                                                                   \
     tr_lib_count_##count,                                                                                 \
     tr_lib_next_##next,                                                                                   \
     tr_lib_at_##at,                                                                                       \
     tr_lib_len_##len,                                                                                     \
     tr_lib_truth_##truth,                                                                                 \
     tr_lib_coerce_##coerce,                                                                               \
     tr_lib_show_##show},
#include "ty/kinds.def"
};

/* --- no --- */

static void advise_flat(tr_em *e, tr_tv a) {
    if (a.ty->kind == TR_TY_FLAT)
        tr_em_hint(
            e, "a.flat takes one number: write a.ravel()[...], which is a view of the items of a contiguous "
               "array, or loop over np.ndindex(a.shape)");
}

tr_answer tr_lib_binary_no(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out) {
    (void)e, (void)op, (void)x, (void)y, (void)out;
    return TR_OPEN;
}

bool tr_lib_unary_no(tr_em *e, tr_unop op, tr_tv x, tr_tv *out) {
    (void)out;
    return tr_em_error(e, "bad operand type for unary %s: %s",
                       op == TR_UN_NEG   ? "-"
                       : op == TR_UN_POS ? "+"
                                         : "~",
                       tr_em_tyname(e, x.ty));
}

tr_answer tr_lib_compare_no(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out) {
    (void)e, (void)op, (void)x, (void)y, (void)out;
    return TR_OPEN;
}

bool tr_lib_contains_no(tr_em *e, tr_tv x, tr_tv item, tr_tv *out) {
    (void)item, (void)out;
    return tr_em_unsupported(e, "contains", "'in' on %s", tr_em_tyname(e, x.ty));
}

bool tr_lib_get_no(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    (void)i, (void)out;
    tr_em_error(e, "%s cannot be indexed", tr_em_tyname(e, x.ty));
    if (x.ty->kind == TR_TY_LIT)
        tr_em_hint_missing(e, x.ty->lit->repr);
    if (x.ty->kind == TR_TY_LIT && x.ty->lit->kind == TR_OBJ_FUNC)
        tr_em_hint(e, "kernels are launched by Python, outside of compiled functions");
    advise_flat(e, x);
    tr_lib_advise_container(e, x);
    return false;
}

bool tr_lib_set_no(tr_em *e, tr_tv x, tr_tv i, tr_tv v, bool itself) {
    (void)i, (void)v, (void)itself;
    tr_em_error(e, "%s does not support item assignment", tr_em_tyname(e, x.ty));
    advise_flat(e, x);
    return false;
}

bool tr_lib_iter_no(tr_em *e, tr_tv x) {
    tr_em_error(e, "%s is not iterable", tr_em_tyname(e, x.ty));
    tr_lib_advise_container(e, x);
    return false;
}

bool tr_lib_count_no(tr_em *e, tr_tv x, tr_tv *n) {
    (void)n;
    return tr_em_error(e, "%s has no length", tr_em_tyname(e, x.ty));
}

bool tr_lib_next_no(tr_em *e, tr_tv x, tr_tv i, tr_tv go, tr_tv *out) {
    (void)i, (void)go, (void)out;
    return tr_em_error(e, "%s is not an iterator", tr_em_tyname(e, x.ty));
}

bool tr_lib_at_no(tr_em *e, tr_tv x, tr_tv i, tr_tv *out) {
    (void)i, (void)out;
    return tr_em_error(e, "%s is not iterable", tr_em_tyname(e, x.ty));
}

bool tr_lib_len_no(tr_em *e, tr_tv x, tr_tv *n) {
    (void)n;
    return tr_em_error(e, "%s has no len()", tr_em_tyname(e, x.ty));
}

bool tr_lib_truth_no(tr_em *e, tr_tv x, tr_tv *out) {
    (void)out;
    return tr_em_error(e, "the truth of %s is not defined", tr_em_tyname(e, x.ty));
}

bool tr_lib_show_no(tr_em *e, tr_tv x, bool repr, tr_shown *to) {
    (void)e, (void)repr;
    to->none = x;
    return false;
}

bool tr_lib_coerce_no(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out) {
    (void)e, (void)x, (void)to, (void)out;
    return false;
}
