/* Names that a user may have meant: the nearest one of builtins.def, or of the parameters of a row. */
#include <string.h>

#include "base/near.h"
#include "lib/em.h"
#include "lib/priv.h"

void tr_lib_suggest_member(tr_em *e, const char *cls, const char *name) {
    size_t n = strlen(cls);
    tr_near s = tr_near_begin(name);
    for (int i = 0; i < TR_B__COUNT; i++) {
        const tr_builtin *b = &tr_builtins[i];
        if (strncmp(b->path, cls, n) != 0)
            continue;
        const char *x = b->kind == TR_B_FUNC && b->path[n] == '.' ? b->path + n + 1
                        : b->kind != TR_B_FUNC && !b->path[n]     ? b->name
                                                                  : NULL;
        if (x && !strchr(x, '.'))
            tr_near_consider(&s, x, (unsigned)strlen(x));
    }
    if (s.best)
        tr_em_hint(e, "did you mean '%s'?", s.best);
}

void tr_lib_suggest_field(tr_em *e, const tr_ty *t, const char *name) {
    tr_near s = tr_near_begin(name);
    for (uint32_t i = 0; i < t->n; i++)
        tr_near_consider(&s, t->fields[i], (unsigned)strlen(t->fields[i]));
    if (s.best)
        tr_em_hint(e, "did you mean '%s'?", s.best);
}

void tr_lib_suggest_keyword(tr_em *e, const char *params, const char *name) {
    tr_near s = tr_near_begin(name);
    for (const char *p = params; *p;) {
        p += strspn(p, " ,");
        unsigned len = (unsigned)strcspn(p, ",="), skip = (unsigned)strcspn(p, ",");
        if (len && *p != '*' && *p != '/')
            tr_near_consider(&s, p, len);
        p += skip;
    }
    if (!*params)
        tr_em_hint(e, "it takes no arguments");
    else if (s.best)
        tr_em_hint(e, "did you mean '%.*s'? It takes %s", (int)s.best_len, s.best, params);
    else
        tr_em_hint(e, "in compiled code it takes %s", params);
}
