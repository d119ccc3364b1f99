/* Names in untyped text IR; the snapshot does the same for Python's objects in ext/. */
#include "main/resolve.h"

#include <math.h>
#include <string.h>

#include "lib/em.h"

static const struct {
    const char *path;
    double value;
} constants[] = {{"math.pi", 3.141592653589793},
                 {"math.e", 2.718281828459045},
                 {"math.tau", 6.283185307179586},
                 {"math.inf", INFINITY},
                 {"math.nan", NAN},
                 {"numpy.pi", 3.141592653589793},
                 {"numpy.e", 2.718281828459045},
                 {"numpy.inf", INFINITY},
                 {"numpy.nan", NAN},
                 {"cmath.pi", 3.141592653589793},
                 {"cmath.e", 2.718281828459045}};

static tr_obj *make(tr_arena *a, tr_objk kind, const char *name) {
    tr_obj *o = TR_NEW(a, tr_obj);
    o->kind = (uint8_t)kind;
    o->repr = name;
    return o;
}

static tr_obj *find_builtin(tr_arena *a, const char *name) {
    for (uint32_t row = 0; row < TR_B__COUNT; row++) {
        const tr_builtin *b = &tr_builtins[row];
        bool bare = b->path && !strncmp(b->path, "builtins.", 9) && !strcmp(b->path + 9, name);
        if (b->kind != TR_B_FUNC || (!bare && strcmp(b->path, name) != 0))
            continue;
        tr_obj *o = make(a, TR_OBJ_BUILTIN, name);
        o->u.builtin = row;
        return o;
    }
    return NULL;
}

/* What follows "module." in a path, when that is one word. */
static const char *member(const char *path, const char *module) {
    size_t n = strlen(module);
    return path && !strncmp(path, module, n) && path[n] == '.' && !strchr(path + n + 1, '.') ? path + n + 1
                                                                                             : NULL;
}

static tr_obj *find_module(tr_arena *a, tr_tytab *types, const char *name) {
    TR_VEC(tr_attr) attrs = {0};
    for (uint32_t row = 0; row < TR_B__COUNT; row++) {
        const tr_builtin *b = &tr_builtins[row];
        const char *word = b->kind == TR_B_FUNC ? member(b->path, name) : NULL;
        if (word)
            tr_vec_push(a, &attrs, (tr_attr){word, find_builtin(a, b->path)});
    }
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        const char *word = member(constants[i].path, name);
        if (word)
            tr_vec_push(a, &attrs, (tr_attr){word, tr_obj_float(a, constants[i].value)});
    }
    for (unsigned k = 0; k < TR_TY__SCALARS && !strcmp(name, "numpy"); k++) {
        const char *word = tr_tyk_user_name((tr_tyk)k);
        tr_obj *o = make(a, TR_OBJ_TYPE, word);
        o->ty = tr_ty_scalar(types, (tr_tyk)k);
        tr_vec_push(a, &attrs, (tr_attr){word, o});
    }
    if (!attrs.n)
        return NULL;
    tr_obj *o = make(a, TR_OBJ_MODULE, tr_arena_printf(a, "module '%s'", name));
    o->u.m.n = attrs.n;
    o->u.m.attrs = attrs.d;
    o->u.m.name = name;
    return o;
}

static const tr_obj *find(tr_prog *p, const char *name) {
    tr_arena *a = &p->ctx->arena;
    for (uint32_t i = 0; i < p->funcs.n; i++)
        if (!strcmp(p->funcs.d[i].name, name)) {
            tr_obj *o = make(a, TR_OBJ_FUNC, tr_arena_printf(a, "function '%s'", name));
            o->u.func = i;
            return o;
        }
    for (uint32_t e = 0; e < TR_EXC__COUNT; e++)
        if (!strcmp(tr_exc_name[e], name)) {
            tr_obj *o = make(a, TR_OBJ_EXC, name);
            o->u.exc = e;
            return o;
        }
    const tr_obj *o = find_builtin(a, name);
    return o ? o : find_module(a, p->ctx->types, name);
}

void tr_resolve_names(tr_prog *p) {
    tr_smap known = {0}; /* one object per name, so that a function is the same value everywhere */
    for (uint32_t i = 0; i < p->funcs.n; i++) {
        tr_fn *f = p->funcs.d[i].ssa;
        for (tr_val v = 0; f && v < f->ins.n; v++) {
            tr_ins *in = tr_at(f, v);
            if (in->op != TR_OP_OBJ || in->imm.obj->kind != TR_OBJ_OPAQUE)
                continue;
            const char *name = in->imm.obj->repr;
            const tr_obj *o = tr_smap_get(&known, name, strlen(name));
            if (!o && (o = find(p, name)))
                tr_smap_set(&p->ctx->arena, &known, name, strlen(name), (void *)(uintptr_t)o);
            if (o)
                in->imm.obj = o;
        }
    }
}
