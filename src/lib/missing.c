/* Advice for what compiled code does not have: a search of missing.def, when an error is made. */
#include <string.h>

#include "lib/em.h"

static const struct {
    const char *module, *names, *advice;
} rows[] = {
#define M(module, names, advice) {module, names, advice},
#include "lib/missing.def"
#undef M
};

/* One of the words. */
static bool has_word(const char *words, const char *w, size_t n) {
    for (const char *p = words; *p;) {
        size_t k = strcspn(p, " ");
        if (k == n && memcmp(p, w, n) == 0)
            return true;
        p += k + strspn(p + k, " ");
    }
    return false;
}

/* The module is `of`, or one inside of it. */
static bool module_is_inside(const char *module, size_t n, const char *of) {
    size_t k = strlen(of);
    return n >= k && memcmp(module, of, k) == 0 && (n == k || module[k] == '.');
}

const char *tr_em_advice(const char *path, size_t n) {
    size_t dot = n;
    if (n && *path == '_') /* half of a module, written in C: _heapq */
        path++, dot = --n;
    while (dot && path[dot - 1] != '.')
        dot--;
    if (!dot)
        return NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool all = !strcmp(rows[i].names, "*");
        if (all ? module_is_inside(path, dot - 1, rows[i].module)
                : strlen(rows[i].module) == dot - 1 && !memcmp(path, rows[i].module, dot - 1) &&
                      has_word(rows[i].names, path + dot, n - dot))
            return rows[i].advice;
    }
    return NULL;
}

void tr_em_hint_missing(tr_em *e, const char *repr) {
    const char *first = strchr(repr, '\''), *last = first ? strchr(first + 1, '\'') : NULL;
    const char *advice = last ? tr_em_advice(first + 1, (size_t)(last - first - 1)) : NULL;
    if (advice)
        tr_em_hint(e, "%s", advice);
}
