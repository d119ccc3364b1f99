/* Context managers that compiled code knows: contextlib.suppress and nullcontext, np.errstate.
 *
 * A manager is a value without a state: its classes, or what entering it gives. Which exceptions it
 * suppresses is asked where they are caught (lib/kind_exc.c). */
#include <string.h>

#include "lib/fam.h"
#include "lib/families.h"

static tr_tv manager(tr_em *e, uint32_t form, uint32_t n, const tr_tv *x) {
    const tr_ty **t = TR_NEW_N(&e->ctx->arena, const tr_ty *, n + 1u);
    for (uint32_t i = 0; i < n; i++)
        t[i] = x[i].ty;
    return tr_em_make(e, tr_ty_of(e->types, TR_TY_MANAGER, form, n, t), n, x);
}

bool tr_lib_suppress(tr_em *e, const tr_bcall *c, tr_tv *out) {
    for (uint32_t i = 0; i < c->nvar; i++)
        if (c->var[i].ty->kind != TR_TY_LIT || c->var[i].ty->lit->kind != TR_OBJ_EXC)
            return tr_em_error(e, "%s() takes exception classes, not %s", tr_fam_name(c),
                               tr_em_tyname(e, c->var[i].ty));
    *out = manager(e, 0, c->nvar, c->var);
    return true;
}

bool tr_lib_nullcontext(tr_em *e, const tr_bcall *c, tr_tv *out) {
    tr_tv x = c->a[0].ty ? tr_em_strong(e, c->a[0]) : tr_em_lit(e, tr_obj_none());
    *out = manager(e, TR_MANAGER_NULL, 1, &x);
    return true;
}

/* Compiled code never warns, so to ignore what NumPy would warn of is what it does; it
 * cannot raise for it. */
bool tr_lib_errstate(tr_em *e, const tr_bcall *c, tr_tv *out) {
    static const char *const names[] = {"call", "all", "divide", "over", "under", "invalid"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *s = "";
        bool quiet = !tr_fam_given(c->a[i]) || (i > 0 && tr_tv_lit_str(c->a[i], &s) &&
                                                (strcmp(s, "ignore") == 0 || strcmp(s, "warn") == 0));
        if (!quiet)
            return tr_em_unsupported(e, "with", "%s() with another '%s' than 'ignore' or 'warn'",
                                     tr_fam_name(c), names[i]);
    }
    *out = manager(e, TR_MANAGER_ERRSTATE, 0, NULL);
    return true;
}

bool tr_lib_manager_enter(tr_em *e, const tr_bcall *c, tr_tv *out) {
    bool gives = c->a[0].ty->sub == TR_MANAGER_NULL;
    *out = gives ? tr_em_item(e, c->a[0], 0) : tr_em_lit(e, tr_obj_none());
    return true;
}

bool tr_lib_manager_exit(tr_em *e, const tr_bcall *c, tr_tv *out) {
    (void)c;
    *out = tr_em_lit(e, tr_obj_none());
    return true;
}
