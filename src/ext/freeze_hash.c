/* What makes two snapshots the same program: the part of the cache key that depends on the user's code, and
 * the test whether what was read has changed since. */
#include "ext/compat.h"

#include <assert.h>
#include "ext/freeze.h"
#include "graph/graph.h"

#include "lib/em.h"

enum { MAX_ARRAY_BYTES = 1 << 20 };

typedef struct hashing {
    tr_frozen *z;
    tr_hasher *h;
    tr_map seen; /* modules and tuples on the way: tr_obj * -> number, so that cycles end */
    bool ok;
} hashing;

static void bytes(hashing *s, const void *p, size_t n) {
    uint64_t len = n; /* lengths keep neighbours apart */
    tr_hasher_add(s->h, &len, sizeof len);
    if (n)
        tr_hasher_add(s->h, p, n);
}
static void number(hashing *s, uint64_t v) {
    tr_hasher_add(s->h, &v, sizeof v);
}
static void text(hashing *s, const char *t) {
    bytes(s, t ? t : "", t ? strlen(t) : 0);
}
static void type(hashing *s, const tr_ty *t) {
    tr_sb b;
    tr_sb_init(&b);
    if (t)
        tr_ty_print_ir(&b, t); /* the user's text is shortened */
    text(s, b.d);
    tr_sb_fini(&b);
}

static void integer(hashing *s, const tr_bigint *v) {
    number(s, v->negative);
    number(s, v->n);
    bytes(s, tr_bigint_limbs(v), v->n * sizeof(uint64_t));
}

/* Copies what an array holds, so its bytes in memory order together with shape and strides say all. */
static void array(hashing *s, const tr_obj *o) {
    uint64_t n = tr_ty_size(o->ty->elem);
    for (uint32_t i = 0; i < o->ty->ndim; i++) {
        number(s, (uint64_t)o->u.a.shape[i]);
        number(s, (uint64_t)o->u.a.strides[i]);
        n *= (uint64_t)o->u.a.shape[i];
    }
    number(s, o->u.a.index);
    if (n > MAX_ARRAY_BYTES) {
        s->ok = false;
        s->z->why = tr_arena_printf(
            &s->z->ctx->arena,
            "it freezes %s of %.1f MB, and only arrays up to 1 MiB are part of the cache's key", o->repr,
            (double)n / 1e6);
        return;
    }
    bytes(s, o->u.a.data, (size_t)n);
}

static void object(hashing *s, const tr_obj *o);

static void items(hashing *s, const tr_obj *o) {
    text(s, o->u.t.name);
    number(s, o->u.t.serial);
    number(s, o->u.t.n);
    for (uint32_t i = 0; i < o->u.t.n; i++) {
        text(s, o->u.t.fields ? o->u.t.fields[i] : NULL);
        if (o->u.t.items)
            object(s, o->u.t.items[i]);
    }
}

static void module(hashing *s, const tr_obj *o) {
    text(s, o->u.m.name);
    number(s, o->u.m.n);
    number(s, o->u.m.one);
    number(s, o->u.m.is_value);
    number(s, o->u.m.own_eq);
    number(s, o->u.m.own_bool);
    number(s, o->u.m.is_false);
    if (o->u.m.members)
        object(s, o->u.m.members);
    for (uint32_t i = 0; i < o->u.m.n; i++) {
        text(s, o->u.m.attrs[i].name);
        object(s, o->u.m.attrs[i].obj);
    }
}

static void own_exc(hashing *s, uint32_t exc) {
    const tr_prog *p = s->z->prog;
    uint32_t own = exc - TR_EXC__COUNT;
    if (exc < TR_EXC__COUNT || own >= p->own_excs.n)
        return;
    number(s, p->own_excs.d[own].bases);
    number(s, p->own_excs.d[own].derived);
    text(s, p->own_excs.d[own].name);
    number(s, p->own_excs.d[own].plain);
    number(s, p->own_excs.d[own].own_bases.n);
    for (uint32_t i = 0; i < p->own_excs.d[own].own_bases.n; i++)
        number(s, p->own_excs.d[own].own_bases.d[i]);
}

static void ufunc(hashing *s, const tr_ufn *u);

/* Where it lies, no code depends on, as of loops. */
static void external(hashing *s, const tr_extern *x) {
    text(s, x->name);
    number(s, (uint64_t)s->z->prog->links_ask_place << 2 | (uint64_t)x->numba << 1 | (uint64_t)x->by_address);
    number(s, x->table->u.a.index);
    type(s, x->ret);
    number(s, x->nargs);
    for (uint32_t i = 0; i < x->nargs; i++) {
        type(s, x->args[i]);
        number(s, x->pointer[i]);
    }
}

static void object(hashing *s, const tr_obj *o) {
    number(s, o ? o->kind : 255u);
    if (!o)
        return;
    uint64_t before;
    bool can_recur = o->kind == TR_OBJ_MODULE || tr_obj_has_items(o);
    if (can_recur && tr_map_get(&s->seen, (uint64_t)(uintptr_t)o, &before)) {
        number(s, before);
        return;
    }
    assert((o->kind != TR_OBJ_FUNC || o->u.func < s->z->prog->funcs.n) && "a function is the program's");
    if (can_recur)
        tr_map_set(&s->z->ctx->arena, &s->seen, (uint64_t)(uintptr_t)o, s->seen.n);
    type(s, o->ty);
    type(s, o->date);
    number(s, (uint64_t)(unsigned char)o->chars);
    switch ((tr_objk)o->kind) {
    case TR_OBJ_NONE:
    case TR_OBJ_ELLIPSIS: break;
    case TR_OBJ_BOOL:
    case TR_OBJ_DATE: number(s, o->u.u); break;
    case TR_OBJ_INT: integer(s, &o->u.n); break;
    case TR_OBJ_FLOAT: bytes(s, &o->u.f, sizeof o->u.f); break;
    case TR_OBJ_COMPLEX: bytes(s, o->u.c, sizeof o->u.c); break;
    case TR_OBJ_SCALAR: bytes(s, o->u.c, tr_ty_class(o->ty) == 'c' ? sizeof o->u.c : sizeof o->u.u); break;
    case TR_OBJ_BYTES:
    case TR_OBJ_STR: bytes(s, o->u.s.d, o->u.s.n); break;
    case TR_OBJ_SLICE:
    case TR_OBJ_PARTIAL:
    case TR_OBJ_TUPLE:
    case TR_OBJ_LIST:
    case TR_OBJ_DICT:
    case TR_OBJ_NTCLASS: items(s, o); break;
    case TR_OBJ_ARRAY: array(s, o); break;
    case TR_OBJ_PLACED: /* where it lies, no code of the host's depends on */
        number(s, o->u.p.table->u.a.index);
        for (uint32_t i = 0; i < o->ty->ndim; i++) {
            number(s, (uint64_t)o->u.p.shape[i]);
            number(s, (uint64_t)o->u.p.strides[i]);
        }
        break;
    case TR_OBJ_FUNC:
        number(s, o->u.func);
        number(s, o->u.contract ? o->u.contract->id + UINT64_C(1) : 0);
        break;
    case TR_OBJ_CODE: number(s, o->u.func); break;
    case TR_OBJ_UFUNC: /* where its loops are, no code depends on: the table is bound anew */
        text(s, o->u.l.fn->name);
        number(s, o->u.l.table->u.a.index);
        ufunc(s, o->u.l.fn);
        break;
    case TR_OBJ_EXTERN: external(s, o->u.x); break;
    case TR_OBJ_GENERATOR:
    case TR_OBJ_CONTAINER:
        number(s, o->u.parts->u.a.index);
        break; /* which one, no code depends on, as of loops */
    case TR_OBJ_BUILTIN: text(s, tr_builtins[o->u.builtin].path); break;
    case TR_OBJ_MODULE: module(s, o); break;
    case TR_OBJ_EXC:
    case TR_OBJ_EXCVAL:
        number(s, o->u.exc);
        own_exc(s, o->u.exc);
        /* which class that is, no code depends on: it is bound anew. Handlers depend on
         * what it is derived from */
        break;
    case TR_OBJ_TYPE: break;
    case TR_OBJ_OPAQUE: text(s, o->repr); break;
    }
}

static void objects(hashing *s, const tr_obj *const *v, uint32_t n) {
    number(s, n);
    for (uint32_t i = 0; i < n; i++)
        object(s, v[i]);
}
static void names(hashing *s, const char *const *v, uint32_t n) {
    number(s, n);
    for (uint32_t i = 0; i < n; i++)
        text(s, v[i]);
}

static void code(hashing *s, const tr_code *c) {
    number(s, (uint64_t)c->version);
    bytes(s, c->code, c->ncode);
    bytes(s, c->exctab, c->nexctab);
    /* places end up in the code: tracebacks. They are counted from the function's first line, which may be
     * any: code/meta.h: tr_mfunc */
    bytes(s, c->linetab, c->nlinetab);
    number(s, c->stacksize);
    number(s, c->flags);
    bytes(s, c->kinds, c->nlocalsplus);
    names(s, c->names, c->nnames);
    names(s, c->localsplus, c->nlocalsplus);
    objects(s, c->consts, c->nconsts);
    objects(s, c->globals, c->nnames);
    objects(s, c->free, c->nlocalsplus);
    objects(s, c->declared, c->nlocalsplus);
}

static void graph(hashing *s, const tr_graph *g) {
    number(s, g ? 1 : 0);
    if (!g)
        return;
    number(s, g->nparams);
    objects(s, g->objs, g->nobjs);
    number(s, g->nnodes);
    for (uint32_t i = 0; i < g->nnodes; i++) {
        const tr_gnode *n = &g->nodes[i];
        number(s, n->op);
        number(s, n->fn);
        bytes(s, n->args, n->n * sizeof *n->args);
        names(s, n->kwnames, n->nkw);
        text(s, n->schedule ? n->schedule : "");
    }
    bytes(s, g->roots, g->nroots * sizeof *g->roots);
    bytes(s, g->shorts, g->nparams * sizeof *g->shorts);
}

static void ufunc(hashing *s, const tr_ufn *u) {
    number(s, u ? 1 : 0);
    if (!u)
        return;
    number(s, u->nin);
    number(s, u->nout);
    number(s, u->core ? u->core->writable + UINT64_C(1) : 0);
    text(s, u->core ? u->core->text : "");
    for (uint32_t i = 0; u->core && i < (u->nin + u->nout) * TR_MAX_NDIM; i++)
        number(s, i % TR_MAX_NDIM < u->core->n[i / TR_MAX_NDIM] ? u->core->which[i] : 255u);
    for (uint32_t i = 0; u->core && i < u->core->nsizes; i++)
        number(s, (uint64_t)u->core->sizes[i]);
    number(s, u->nsigs);
    for (uint32_t i = 0; i < u->nsigs * tr_ufn_row(u); i++)
        type(s, u->sigs[i]);
    number(s, u->reorders);
    object(s, u->identity);
}

static void contract(hashing *s, const tr_contract *k) {
    number(s, k->opts);
    number(s, k->sealed);
    number(s, k->library);
    number(s, k->arrays);
    number(s, k->subscripted);
    number(s, k->nargs);
    bytes(s, k->constants, k->constants ? k->nargs : 0);
    number(s, k->nsigs);
    for (uint32_t i = 0; i < k->nsigs * (k->nargs + 1); i++)
        type(s, k->sigs[i]);
}

/* What driver/key.c adds are the root's alone. */
static void options(hashing *s, const tr_opts *o) {
#define X(field, type, dflt) number(s, o->field);
    TR_OWN_OPTS(X)
#undef X
}

void tr_freeze_hash_ufunc(tr_frozen *z, tr_hasher *h, const tr_obj *o) {
    hashing s = {.z = z, .h = h, .ok = true};
    object(&s, o);
}

bool tr_freeze_hash(tr_frozen *z, tr_hasher *h) {
    hashing s = {.z = z, .h = h, .ok = true};
    const tr_prog *p = z->prog;
    assert(z->done == p->funcs.n && "what is hashed was frozen whole");
    number(&s, p->root_func);
    number(&s, p->funcs.n);
    for (uint32_t i = 0; i < p->funcs.n; i++) {
        const tr_func *f = &p->funcs.d[i];
        text(&s, f->name);
        text(&s, f->qualname);
        text(&s, f->file);
        number(&s, f->nargs);
        number(&s, f->nposonly);
        number(&s, f->nkwonly);
        number(&s, (uint64_t)f->varargs << 1 | (uint64_t)f->varkw);
        objects(&s, f->defaults, f->nargs + f->nkwonly);
        ufunc(&s, f->ufn);
        code(&s, f->code);
        graph(&s, f->graph);
    }
    number(&s, p->contracts.n);
    for (uint32_t i = 0; i < p->contracts.n; i++)
        contract(&s, p->contracts.d[i]);
    number(&s, p->methods.n);
    for (uint32_t i = 0; i < p->methods.n; i++)
        number(&s, p->methods.d[i].fn->u.func);
    number(&s, p->links.n);
    for (uint32_t i = 0; i < p->links.n; i++)
        bytes(&s, p->links.d[i].data, p->links.d[i].size);
    for (uint32_t i = 0; i < p->texts.n; i++)
        bytes(&s, p->texts.d[i].data, p->texts.d[i].size);
    number(&s, p->opts.n);
    for (uint32_t i = 0; i < p->opts.n; i++)
        options(&s, p->opts.d[i]);
    return s.ok;
}

/* --- has anything changed? --- */

/* What stands now where `dep` was read: (where, fallback, name[, value]). New reference or NULL. */
static PyObject *read_again(PyObject *dep) {
    PyObject *where = PyTuple_GET_ITEM(dep, 0), *fallback = PyTuple_GET_ITEM(dep, 1),
             *name = PyTuple_GET_ITEM(dep, 2);
    PyObject *v;
    if (PyCell_Check(where)) {
        v = PyCell_Get(where);
    } else if (PyDict_Check(where)) {
        v = tr_py_dict_get(where, name);
        if (!v && !PyErr_Occurred() && PyDict_Check(fallback))
            v = tr_py_dict_get(fallback, name);
    } else {
        v = PyObject_GetAttr(where, name);
        if (!v && PyErr_ExceptionMatches(PyExc_AttributeError))
            PyErr_Clear();
    }
    return v;
}

int tr_freeze_current(PyObject *deps) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(deps); i++) {
        PyObject *dep = PyList_GET_ITEM(deps, i), *now = read_again(dep);
        if (!now && PyErr_Occurred())
            return -1;
        bool same = now == (PyTuple_GET_SIZE(dep) == 4 ? PyTuple_GET_ITEM(dep, 3) : NULL);
        Py_XDECREF(now);
        if (!same)
            return 0;
    }
    return 1;
}
