/* Targets by name, and questions about one. */
#include <assert.h>
#include <string.h>

#include "target/target.h"

static const tr_target *const targets[] = {&tr_target_x86_64, &tr_target_nvptx64};
enum { TARGETS = sizeof targets / sizeof *targets };

static const char *names_of(tr_ctx *ctx) {
    const char *all = targets[0]->name;
    for (unsigned i = 1; i < TARGETS; i++)
        all = tr_arena_printf(&ctx->arena, "%s, %s", all, targets[i]->name);
    return all;
}

static const char *processors_of(tr_ctx *ctx, const tr_target *t) {
    const char *all = NULL;
    for (const tr_processor *p = t->processors; p && p->name; p++)
        all = all ? tr_arena_printf(&ctx->arena, "%s, %s", all, p->name) : p->name;
    return all ? all : "none by name";
}

const tr_target *tr_target_find(tr_ctx *ctx, const char *text, const tr_processor **proc) {
    const char *colon = strchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    const tr_target *t = NULL;
    for (unsigned i = 0; i < TARGETS && !t; i++)
        if (strlen(targets[i]->name) == n && !memcmp(targets[i]->name, text, n))
            t = targets[i];
    if (!t) {
        tr_fail(ctx, TR_ERR_VALUE, "no target '%s'; there are: %s", text, names_of(ctx));
        return NULL;
    }
    assert((!t->processors || t->processors->name) && "a list of processors is not empty");
    *proc = t->processors;
    while (colon && *proc && (*proc)->name && strcmp((*proc)->name, colon + 1) != 0)
        ++*proc;
    if (colon && (!*proc || !(*proc)->name)) {
        tr_fail(ctx, TR_ERR_VALUE, "%s has no processor '%s'; it has: %s", t->name, colon + 1,
                processors_of(ctx, t));
        return NULL;
    }
    return t;
}

bool tr_target_has(const tr_target *t, tr_op op) {
    return op < TR_OP__COUNT && t->legal[op];
}

bool tr_target_takes(const tr_target *t, tr_op op, tr_tyk k) {
    static const char cls[TR_TY__SCALARS] = {
#define X(id, ir, user, size, c) [TR_TY_##id] = (c),
        TR_SCALARS(X)
#undef X
    };
    return tr_target_has(t, op) && k < TR_TY__SCALARS && strchr(t->legal[op], cls[k]);
}
