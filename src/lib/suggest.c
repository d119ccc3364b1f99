/* Names that a user may have meant: the nearest one of builtins.def, or of the parameters of a row. Near: at
 * most one letter in three is wrong, missing, too many or swapped with its neighbour. Only for messages: its
 * cost does not matter. */
#include <string.h>

#include "lib/em.h"
#include "lib/priv.h"

enum { LONGEST = 32 };

static unsigned least(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* Letters to change, add, leave out or swap between a and b, of n and m letters. */
static unsigned distance(const char *a, unsigned n, const char *b, unsigned m) {
    unsigned d[LONGEST + 1][LONGEST + 1];
    if (n > LONGEST || m > LONGEST)
        return LONGEST;
    for (unsigned i = 0; i <= n; i++)
        d[i][0] = i;
    for (unsigned j = 0; j <= m; j++)
        d[0][j] = j;
    for (unsigned i = 1; i <= n; i++)
        for (unsigned j = 1; j <= m; j++) {
            d[i][j] = least(d[i - 1][j - 1] + (a[i - 1] != b[j - 1]), 1 + least(d[i - 1][j], d[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[n][m];
}

typedef struct search {
    const char *name, *best;
    unsigned len, far, best_len;
} search;

static search begin(const char *name) {
    unsigned len = (unsigned)strlen(name);
    return (search){name, NULL, len, (len + 1) / 3 + 1, 0};
}

static void consider(search *s, const char *x, unsigned len) {
    unsigned d = distance(s->name, s->len, x, len);
    if (d >= s->far)
        return;
    s->far = d;
    s->best = x;
    s->best_len = len;
}

void tr_lib_suggest_member(tr_em *e, const char *cls, const char *name) {
    size_t n = strlen(cls);
    search s = begin(name);
    for (int i = 0; i < TR_B__COUNT; i++) {
        const tr_builtin *b = &tr_builtins[i];
        if (strncmp(b->path, cls, n) != 0)
            continue;
        const char *x = b->kind == TR_B_FUNC && b->path[n] == '.' ? b->path + n + 1
                        : b->kind != TR_B_FUNC && !b->path[n]     ? b->name
                                                                  : NULL;
        if (x && !strchr(x, '.'))
            consider(&s, x, (unsigned)strlen(x));
    }
    if (s.best)
        tr_em_hint(e, "did you mean '%s'?", s.best);
}

void tr_lib_suggest_field(tr_em *e, const tr_ty *t, const char *name) {
    search s = begin(name);
    for (uint32_t i = 0; i < t->n; i++)
        consider(&s, t->fields[i], (unsigned)strlen(t->fields[i]));
    if (s.best)
        tr_em_hint(e, "did you mean '%s'?", s.best);
}

void tr_lib_suggest_keyword(tr_em *e, const char *params, const char *name) {
    search s = begin(name);
    for (const char *p = params; *p;) {
        p += strspn(p, " ,");
        unsigned len = (unsigned)strcspn(p, ",="), skip = (unsigned)strcspn(p, ",");
        if (len && *p != '*' && *p != '/')
            consider(&s, p, len);
        p += skip;
    }
    if (!*params)
        tr_em_hint(e, "it takes no arguments");
    else if (s.best)
        tr_em_hint(e, "did you mean '%.*s'? It takes %s", (int)s.best_len, s.best, params);
    else
        tr_em_hint(e, "in compiled code it takes %s", params);
}
