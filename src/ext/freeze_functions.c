/* Python objects to plain data: functions and what they wish, the library's in their place, classes,
 * exceptions, modules (ext/freeze.h). */
#include "ext/freeze_own.h"

#include "ext/check.h"
#include "ext/compat.h"
#include "ext/value.h"
#include "lib/em.h"

/* --- functions, classes, modules --- */

void tr_freeze_add_scope(tr_frozen *z, tr_func f, tr_fscope s) {
    assert(z->scopes.n == z->prog->funcs.n && "each function has a scope");
    assert((s.parent == UINT32_MAX || s.parent < z->scopes.n) &&
           "the function around another was frozen first");
    tr_vec_push(arena(z), &z->prog->funcs, f);
    tr_vec_push(arena(z), &z->scopes, s);
}

PyObject *tr_freeze_code(const tr_frozen *z, uint32_t func, PyObject **globals) {
    assert(func < z->scopes.n && "a function of the snapshot");
    *globals = z->scopes.d[func].globals;
    return z->scopes.d[func].code;
}

/* What a code object alone says of its function. */
tr_func tr_freeze_code_of(tr_frozen *z, PyCodeObject *c) {
    tr_func f = {0};
    f.name = text_of(z, c->co_name);
    f.qualname = text_of(z, c->co_qualname);
    f.file = text_of(z, c->co_filename);
    f.nargs = (uint32_t)c->co_argcount;
    f.nposonly = (uint32_t)c->co_posonlyargcount;
    f.nkwonly = (uint32_t)c->co_kwonlyargcount;
    f.varargs = (c->co_flags & CO_VARARGS) != 0;
    f.varkw = (c->co_flags & CO_VARKEYWORDS) != 0;
    uint32_t n = f.nargs + f.nkwonly;
    const char **names = TR_NEW_N(arena(z), const char *, n + 3);
    for (uint32_t i = 0; i < n + f.varargs + f.varkw; i++)
        names[i] = text_of(z, PyTuple_GET_ITEM(c->co_localsplusnames, i));
    f.argnames = names;
    f.defaults = TR_NEW_N(arena(z), const tr_obj *, n + 1);
    return f;
}

/* The function's attributes below may be rebound by another thread: nothing of Python's runs between the look
 * at one and the reference to it. */
bool tr_freeze_defaults(tr_frozen *z, tr_func *f, PyFunctionObject *fn) {
    const tr_obj **v = TR_NEW_N(arena(z), const tr_obj *, f->nargs + f->nkwonly + 1);
    PyObject *defaults = taken(z, Py_XNewRef(fn->func_defaults)),
             *named = taken(z, Py_XNewRef(fn->func_kwdefaults));
    uint32_t n = defaults && PyTuple_Check(defaults) ? (uint32_t)PyTuple_GET_SIZE(defaults) : 0;
    for (uint32_t i = 0; i < n && n <= f->nargs; i++)
        if (!(v[f->nargs - n + i] = tr_frozen_any(z, PyTuple_GET_ITEM(defaults, i))))
            return false;
    for (uint32_t i = f->nargs; named && i < f->nargs + f->nkwonly; i++) {
        PyObject *d = tr_py_dict_get_text(named, f->argnames[i]);
        if (d && !(v[i] = tr_frozen_taken(z, d)))
            return false;
    }
    f->defaults = v;
    return !z->failed;
}

/* Function objects can be given other code and globals while they live; what we read must not go with
 * them. */
tr_fscope tr_freeze_scope(tr_frozen *z, PyFunctionObject *fn, PyObject *locals) {
    return (tr_fscope){.code = taken(z, Py_NewRef(fn->func_code)),
                       .globals = taken(z, Py_NewRef(fn->func_globals)),
                       .builtins = taken(z, Py_NewRef(fn->func_builtins)),
                       .closure = taken(z, Py_XNewRef(fn->func_closure)),
                       .locals = taken(z, Py_XNewRef(locals)),
                       .parent = UINT32_MAX};
}

/* The module of these globals is one of treadle/_library. */
bool tr_freeze_is_library(tr_frozen *z, PyObject *globals) {
    static const char package[] = "treadle._library.";
    PyObject *name = taken(z, tr_py_dict_get_text(globals, "__name__"));
    return name && PyUnicode_CheckExact(name) && strncmp(text_of(z, name), package, sizeof package - 1) == 0;
}

/* Parameters that are the memory of variables, which the last constant of a body names
 * (treadle/_closure.py). */
static void take_memory(tr_frozen *z, tr_func *f, PyCodeObject *c) {
    Py_ssize_t n = PyTuple_GET_SIZE(c->co_consts);
    PyObject *t = n ? PyTuple_GET_ITEM(c->co_consts, n - 1) : NULL;
    if (!t || !PyTuple_CheckExact(t) || PyTuple_GET_SIZE(t) < 2 || !PyUnicode_Check(PyTuple_GET_ITEM(t, 0)) ||
        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(t, 0),
                                         "treadle: parameters that are the memory of variables") != 0)
        return;
    f->nmemory = (uint32_t)PyTuple_GET_SIZE(t) - 1;
    const char **names = TR_NEW_N(arena(z), const char *, f->nmemory);
    for (uint32_t i = 0; i < f->nmemory; i++)
        names[i] = text_of(z, PyTuple_GET_ITEM(t, i + 1));
    f->memory = names;
}

/* `o` is the function, or the ufunc made of it, which is another function to the program: its calls mean
 * something else. */
tr_obj *tr_frozen_function(tr_frozen *z, PyObject *o, PyObject *of, const tr_ufn *ufn, PyObject *locals) {
    PyFunctionObject *fn = (PyFunctionObject *)of;
    tr_fscope s = tr_freeze_scope(z, fn, locals);
    PyObject *name = taken(z, Py_XNewRef(fn->func_name)), *qualname = taken(z, Py_XNewRef(fn->func_qualname));
    if (z->failed)
        return NULL;
    tr_func f = tr_freeze_code_of(z, (PyCodeObject *)s.code);
    f.name = text_of(z, name);
    f.qualname = text_of(z, qualname);
    f.py = o;
    f.ufn = ufn;
    f.library = f.packaged = tr_freeze_is_library(z, s.globals);
    take_memory(z, &f, (PyCodeObject *)s.code);
    tr_obj *r = new_obj(z, TR_OBJ_FUNC, o, tr_arena_printf(arena(z), "function '%s'", f.name));
    r->u.func = z->prog->funcs.n;
    tr_map_set(arena(z), &z->known, (uint64_t)(uintptr_t)o,
               (uint64_t)(uintptr_t)r); /* before defaults, which may refer to it */
    tr_freeze_add_scope(z, f, s);
    if (!tr_freeze_defaults(z, &f, fn))
        return NULL;
    z->prog->funcs.d[r->u.func].defaults = f.defaults;
    return r;
}

const tr_contract *tr_freeze_contract(tr_frozen *z, const tr_wishes *w) {
    tr_contract *k = TR_NEW(arena(z), tr_contract);
    *k = (tr_contract){.id = z->prog->contracts.n,
                       .opts = tr_prog_opts(z->prog, &w->opts),
                       .sealed = w->sealed,
                       .refused = w->refused,
                       .nsigs = w->nsigs,
                       .nargs = w->nargs,
                       .sigs = w->sigs,
                       .library = w->library,
                       .arrays = w->arrays,
                       .subscripted = w->subscripted,
                       .constants = w->constants};
    tr_vec_push(arena(z), &z->prog->contracts, k);
    return k;
}

/* `o` is fn under a decorator. Its body is fn's own, but where variables have declared types. */
tr_obj *tr_frozen_decorated(tr_frozen *z, PyObject *o, PyObject *fn, const tr_wishes *w) {
    uint64_t known;
    tr_obj *body = NULL;
    if (w->locals)
        body = hold(z, fn) ? tr_frozen_function(z, o, fn, NULL, w->locals) : NULL;
    else if (tr_map_get(&z->known, (uint64_t)(uintptr_t)fn, &known))
        body = (tr_obj *)(uintptr_t)known;
    else if (hold(z, fn))
        body = tr_frozen_function(z, fn, fn, NULL, NULL);
    if (!body)
        return NULL;
    if (w->links && !ok(z, tr_freeze_add_links(z, w->links)))
        return NULL;
    tr_obj *r = new_obj(z, TR_OBJ_FUNC, o, body->repr);
    r->u.func = body->u.func;
    r->u.contract = tr_freeze_contract(z, w);
    tr_func *f = &z->prog->funcs.d[r->u.func];
    if (f->py == fn)
        f->py = o;  /* the name that the function has for itself will mean this one */
    if (w->library) /* where other parts of the library call it, it keeps constants, too */
        tr_map_set(arena(z), &z->known, (uint64_t)(uintptr_t)fn, (uint64_t)(uintptr_t)r);
    return r;
}

static bool is_of_numpy(const char *module) {
    return strncmp(module, "numpy", 5) == 0 || strncmp(module, "scipy", 5) == 0;
}

/* A Python function of NumPy's, SciPy's or Python's own that is known not to compile: what would be said of
 * its insides helps nobody. */
bool tr_freeze_is_missing(tr_frozen *z, PyObject *o) {
    /* functools.wraps copies the module's name, but the names that the code sees are those of who wrote it,
     * or of who makes context managers */
    PyObject *name_there =
        PyFunction_Check(o) ? taken(z, tr_py_dict_get_text(PyFunction_GET_GLOBALS(o), "__name__")) : NULL;
    const char *there = name_there && PyUnicode_CheckExact(name_there) ? text_of(z, name_there) : NULL;
    const char *module = name_of(z, o, "__module__"), *name = module ? name_of(z, o, "__name__") : NULL;
    if (!name)
        return false;
    bool own = !there || strcmp(there, module) == 0;
    if (!own && !(is_of_numpy(module) && (is_of_numpy(there) || strcmp(there, "contextlib") == 0)))
        return false;
    const char *path = tr_arena_printf(arena(z), "%s.%s", module, name);
    return tr_em_advice(path, strlen(path)) != NULL;
}

/* The name of what may be a function, of the user's or of C's; or NULL. */
static PyObject *function_name(tr_frozen *z, PyObject *o) {
    if (PyFunction_Check(o))
        return taken(z, Py_XNewRef(((PyFunctionObject *)o)->func_name));
    if (Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE || !PyCallable_Check(o))
        return NULL; /* asking could run the user's code */
    PyObject *name = taken(z, PyObject_GetAttrString(o, "__name__"));
    PyErr_Clear();
    return name && PyUnicode_CheckExact(name) ? name : NULL;
}

/* An object of a class of numpy.lib's, such as np.r_ and np.mgrid. */
static bool is_of_numpy_lib(tr_frozen *z, PyObject *o) {
    if (PyType_Check(o) || !(Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE))
        return false;
    PyObject *m = taken(z, tr_py_dict_get_text(Py_TYPE(o)->tp_dict, "__module__"));
    const char *s = m && PyUnicode_CheckExact(m) ? PyUnicode_AsUTF8(m) : NULL;
    PyErr_Clear(); /* of a text that is none */
    return s && strncmp(s, "numpy.lib.", 10) == 0;
}

/* The function that is compiled in place of one of NumPy's, or a part of one that keeps constants, what it
 * wishes, and names of its attributes; NULL: there is none. */
PyObject *tr_freeze_library(tr_frozen *z, PyObject *o, tr_wishes *out, PyObject **members) {
    bool part = PyFunction_Check(o) &&
                tr_freeze_is_library(z, taken(z, Py_NewRef(((PyFunctionObject *)o)->func_globals)));
    PyObject *name = part ? NULL : function_name(z, o);
    PyObject *found =
        part || name || is_of_numpy_lib(z, o) ? tr_builtin_map_library(&z->host->builtins, o, name) : NULL;
    ok(z, found || !PyErr_Occurred());
    if (!(found = taken(z, found)))
        return NULL;
    PyObject *constants = PyTuple_GET_ITEM(found, 1);
    *out =
        (tr_wishes){.opts = TR_OPTS_DEFAULT, .library = true, .nargs = (uint32_t)PyBytes_GET_SIZE(constants)};
    out->subscripted = PyTuple_GET_ITEM(found, 2) == Py_True;
    out->arrays = PyTuple_GET_ITEM(found, 4) == Py_True;
    out->constants = tr_arena_copy(arena(z), PyBytes_AS_STRING(constants), out->nargs + 1u);
    *members = PyTuple_GET_ITEM(found, 3);
    return PyTuple_GET_ITEM(found, 0);
}

/* What code may reach as attributes of what stands in place of a class: `itertools.chain.from_iterable`. */
tr_obj *tr_frozen_members(tr_frozen *z, PyObject *o, tr_obj *of, PyObject *members) {
    uint32_t n = (uint32_t)PyTuple_GET_SIZE(members);
    if (!of || !n)
        return of;
    tr_attr *attrs = TR_NEW_N(arena(z), tr_attr, n);
    for (uint32_t i = 0; i < n; i++) {
        PyObject *name = PyTuple_GET_ITEM(members, i), *v = taken(z, PyObject_GetAttr(o, name));
        attrs[i] = (tr_attr){text_of(z, name), ok(z, v) && hold(z, v) ? tr_frozen_any(z, v) : NULL};
        if (!attrs[i].obj)
            return NULL;
    }
    tr_obj *m = new_obj(z, TR_OBJ_MODULE, o, of->repr);
    m->u.m.name = m->repr;
    m->u.m.n = n;
    m->u.m.attrs = attrs;
    of->member = m;
    return of;
}

/* The body of an inner function: it shares the names of the function it stands in. */
tr_obj *tr_frozen_inner(tr_frozen *z, PyObject *o, uint32_t parent) {
    PyCodeObject *c = (PyCodeObject *)o;
    tr_func f = tr_freeze_code_of(z, c);
    uint32_t *idx = TR_NEW_N(arena(z), uint32_t, c->co_nfreevars + 1);
    for (uint32_t i = 0; i < (uint32_t)c->co_nlocalsplus; i++)
        if ((uint8_t)PyBytes_AS_STRING(c->co_localspluskinds)[i] & FREE_VAR)
            idx[f.nfree++] = i;
    f.freeidx = idx;
    f.packaged = z->prog->funcs.d[parent].packaged;
    tr_obj *r = new_obj(z, TR_OBJ_CODE, o, tr_arena_printf(arena(z), "code of '%s'", f.name));
    r->u.func = z->prog->funcs.n;
    tr_fscope *s = &z->scopes.d[parent];
    tr_freeze_add_scope(z, f, (tr_fscope){o, s->globals, s->builtins, NULL, NULL, parent, 0});
    return r;
}

/* Fills the items of a named tuple's class: the defaults of its fields, NULL where there is none. */
static bool field_defaults(tr_frozen *z, PyTypeObject *cls, tr_obj *r) {
    PyObject *d = taken(z, tr_py_dict_get_text(cls->tp_dict, "_field_defaults"));
    const tr_obj **v = TR_NEW_N(arena(z), const tr_obj *, r->u.t.n + 1);
    for (uint32_t i = 0; d && PyDict_Check(d) && i < r->u.t.n; i++) {
        PyObject *x = tr_py_dict_get_text(d, r->u.t.fields[i]);
        if (x && !(v[i] = tr_frozen_taken(z, x)))
            return false;
    }
    r->u.t.items = v;
    return !z->failed;
}

static PyTypeObject *class_of_exc(PyObject *o) {
    return PyExceptionClass_Check(o) ? (PyTypeObject *)o : Py_TYPE(o);
}

/* One of exc.def's that is NumPy's; a new reference, or NULL without an exception. */
static PyObject *numpy_exception(const char *name) {
    PyObject *numpy = PyImport_ImportModule("numpy.exceptions");
    PyObject *cls = numpy ? PyObject_GetAttrString(numpy, name) : NULL;
    Py_XDECREF(numpy);
    PyErr_Clear();
    return cls;
}

/* The class of that row, borrowed; NULL: this Python has none, or somebody put another thing in its place. */
PyObject *tr_freeze_exception(tr_frozen *z, uint32_t row) {
    PyObject *b = taken(z, tr_py_dict_get_text(PyEval_GetBuiltins(), tr_exc_name[row]));
    if (!b)
        b = taken(z, numpy_exception(tr_exc_name[row]));
    return b && PyType_Check(b) ? b : NULL;
}

/* Do instances keep the arguments they are made with, and leave str() and repr() to Python's own classes of
 * which that is known (tr_says)? */
static bool is_plain_exc(PyTypeObject *cls) {
    const PyTypeObject *base = cls, *all = (PyTypeObject *)PyExc_BaseException,
                       *key = (PyTypeObject *)PyExc_KeyError, *os = (PyTypeObject *)PyExc_OSError;
    while (base && base->tp_flags & Py_TPFLAGS_HEAPTYPE)
        base = base->tp_base;
    return base && cls->tp_init == base->tp_init && cls->tp_new == base->tp_new &&
           cls->tp_repr == all->tp_repr &&
           (cls->tp_str == all->tp_str || cls->tp_str == key->tp_str || cls->tp_str == os->tp_str);
}

/* Where the class stands among those of exc.def and those that came before it. */
static void place_exc(tr_frozen *z, PyTypeObject *cls, const char *name, bool plain) {
    tr_ownexc x = {.name = name, .plain = plain};
    tr_prog *p = z->prog;
    uint32_t n = p->own_excs.n;
    for (uint32_t i = 0; i < TR_EXC__COUNT; i++) {
        PyObject *b = tr_freeze_exception(z, i);
        if (!b)
            continue;
        x.bases |= (uint64_t)(PyType_IsSubtype(cls, (PyTypeObject *)b) != 0) << i;
        x.derived |= (uint64_t)(PyType_IsSubtype((PyTypeObject *)b, cls) != 0) << i;
    }
    for (uint32_t k = 0; k < n; k++) {
        PyTypeObject *other = (PyTypeObject *)z->exc_classes.d[k];
        if (PyType_IsSubtype(cls, other))
            tr_vec_push(arena(z), &x.own_bases, k);
        if (PyType_IsSubtype(other, cls))
            tr_vec_push(arena(z), &p->own_excs.d[k].own_bases, n);
    }
    tr_vec_push(arena(z), &p->own_excs, x);
    tr_vec_push(arena(z), &z->exc_classes, (PyObject *)cls);
}

/* An exception of the program's own, a class or an exception that exists already: `keep` holds it as long as
 * the code lives. */
tr_obj *tr_frozen_own_exc(tr_frozen *z, tr_objk kind, PyObject *o) {
    const char *name = (kind == TR_OBJ_EXC ? (PyTypeObject *)o : Py_TYPE(o))->tp_name,
               *dot = strrchr(name, '.');
    const char *repr = dot ? dot + 1 : name;
    tr_obj *r = new_obj(z, kind, o,
                        kind == TR_OBJ_EXC ? tr_arena_strdup(arena(z), repr)
                                           : tr_arena_printf(arena(z), "exception '%s'", repr));
    assert(z->exc_classes.n == z->prog->own_excs.n && z->prog->excs.n == z->prog->own_excs.n &&
           "each exception of the program's own has its place among the others");
    r->u.exc = TR_EXC__COUNT + z->prog->excs.n;
    tr_freeze_bind(z, tr_arena_printf(arena(z), "tr_exc_%u", z->prog->excs.n), o);
    tr_vec_push(arena(z), &z->prog->excs, r);
    place_exc(z, class_of_exc(o), tr_arena_strdup(arena(z), repr),
              kind == TR_OBJ_EXC && is_plain_exc((PyTypeObject *)o));
    return r;
}

tr_obj *tr_frozen_class(tr_frozen *z, PyObject *o) {
    uint32_t n = 0;
    if (tr_value_is_enum((PyTypeObject *)o)) {
        tr_obj *r = new_obj(z, TR_OBJ_MODULE, o,
                            tr_arena_printf(arena(z), "enum '%s'", ((PyTypeObject *)o)->tp_name));
        r->u.m.name = tr_arena_strdup(arena(z), ((PyTypeObject *)o)->tp_name);
        return r;
    }
    const char *const *fields = tr_frozen_field_names(z, (PyTypeObject *)o, &n);
    if (fields) {
        tr_obj *r = new_obj(z, TR_OBJ_NTCLASS, o,
                            tr_arena_printf(arena(z), "class '%s'", ((PyTypeObject *)o)->tp_name));
        r->u.t.n = n;
        r->u.t.fields = fields;
        PyObject *item = tr_py_dict_get_text(((PyTypeObject *)o)->tp_dict, "_vector_");
        const tr_obj *type = item ? tr_frozen_taken(z, item) : NULL;
        r->ty =
            type && type->kind == TR_OBJ_TYPE && n && n <= 4 && tr_ty_is_scalar(type->ty) ? type->ty : NULL;
        return tr_frozen_set_class(z, r, o) && field_defaults(z, (PyTypeObject *)o, r) ? r : NULL;
    }
    if (PyExceptionClass_Check(o)) {
        for (uint32_t i = 0; i < TR_EXC__COUNT; i++) {
            PyObject *b = tr_py_dict_get_text(PyEval_GetBuiltins(), tr_exc_name[i]);
            Py_XDECREF(b);
            if (b != o)
                continue;
            tr_obj *r = new_obj(z, TR_OBJ_EXC, o, tr_exc_name[i]);
            r->u.exc = i;
            return r;
        }
        return tr_frozen_own_exc(z, TR_OBJ_EXC, o);
    }
    if (PyType_IsSubtype((PyTypeObject *)o, &PyGenericArrType_Type))
        return tr_frozen_np_class(z, o);
    return tr_frozen_opaque(z, o);
}

tr_obj *tr_frozen_module(tr_frozen *z, PyObject *o) {
    const char *name = PyModule_GetName(o);
    if (!name)
        PyErr_Clear();
    tr_obj *r = new_obj(z, TR_OBJ_MODULE, o, tr_arena_printf(arena(z), "module '%s'", name ? name : "?"));
    r->u.m.name = tr_arena_strdup(arena(z), name ? name : "?");
    return r;
}
