/* Python objects to plain data.
 *
 * Each object is frozen once: a map from its address to its tr_obj, with a reference held so that the address
 * stays its own. So shared and cyclic structures end, and recursion needs no case. Functions are queued, not
 * descended into. No user code runs but for module attributes that a module computes (PEP 562), and
 * treadle/_library's look for a function. The kinds of objects are in files of their own. */
#include "ext/freeze_own.h"
#include "ext/lazy.h"

#include "base/near.h"
#include "ext/check.h"
#include "ext/compat.h"
#include "ext/value.h"
#include "front/front.h"
#include "lib/em.h"

static bool note_read(tr_frozen *z, PyObject *where, PyObject *fallback, PyObject *name, PyObject *value) {
    PyObject *t = value ? PyTuple_Pack(4, where, fallback ? fallback : Py_None, name ? name : Py_None, value)
                        : PyTuple_Pack(3, where, fallback ? fallback : Py_None, name ? name : Py_None);
    bool fine = t && PyList_Append(z->deps, t) == 0;
    Py_XDECREF(t);
    return ok(z, fine);
}

PyObject *tr_freeze_reason(PyObject *o) {
    PyObject *d = PyType_Check(o) ? NULL : PyObject_GenericGetDict(o, NULL);
    PyObject *why = d ? tr_py_dict_get_text(d, TR_REASON_ATTR) : NULL;
    Py_XDECREF(d);
    PyErr_Clear();
    return why;
}

/* The text for one that may not be called, or NULL. */
static const char *reason_of(tr_frozen *z, PyObject *o) {
    PyObject *why = taken(z, tr_freeze_reason(o));
    return why && PyUnicode_CheckExact(why) ? text_of(z, why) : NULL;
}

#define ANONYMOUS "an object of class " /* what begins the name of an object that has none of its own */

/* The dotted name of a class that there is advice about; NULL: there is none. */
static const char *class_path(tr_frozen *z, PyTypeObject *cls) {
    PyObject *module = cls->tp_flags & Py_TPFLAGS_HEAPTYPE && cls->tp_dict
                           ? taken(z, tr_py_dict_get_text(cls->tp_dict, "__module__"))
                           : NULL;
    const char *of = module && PyUnicode_CheckExact(module) ? text_of(z, module) : "builtins",
               *path = strchr(cls->tp_name, '.') ? cls->tp_name
                                                 : tr_arena_printf(arena(z), "%s.%s", of, cls->tp_name);
    return tr_em_advice(path, strlen(path)) ? tr_arena_strdup(arena(z), path) : NULL;
}

tr_obj *tr_frozen_opaque(tr_frozen *z, PyObject *o) {
    const char *why = reason_of(z, o);
    if (why) {
        tr_obj *r = new_obj(z, TR_OBJ_OPAQUE, o, why);
        r->u.absent = true;
        return r;
    }
    if (strcmp(Py_TYPE(o)->tp_name, "treadle._core.LazyArray") == 0)
        return new_obj(
            z, TR_OBJ_OPAQUE, o,
            "a lazy array that is a global variable: hand it over as an argument, or make the function "
            "where it is a local one");
    const char *path = PyType_Check(o) ? class_path(z, (PyTypeObject *)o) : NULL;
    if (path)
        return new_obj(z, TR_OBJ_OPAQUE, o, tr_arena_printf(arena(z), "class '%s'", path));
    /* another thread may give it another name: nothing of Python's runs between the look and the copy */
    if (PyType_Check(o))
        return new_obj(z, TR_OBJ_OPAQUE, o,
                       tr_arena_printf(arena(z), "class '%s'", ((PyTypeObject *)o)->tp_name));
    const char *name = name_of(z, o, "__name__"), *module = name_of(z, o, "__module__"), *repr;
    if (name && module)
        repr = tr_arena_printf(arena(z), "'%s.%s'", module, name);
    else if (name)
        repr = tr_arena_printf(arena(z), "'%s' (%s)", name, Py_TYPE(o)->tp_name);
    else
        repr = tr_arena_printf(arena(z), ANONYMOUS "'%s'", Py_TYPE(o)->tp_name);
    return new_obj(z, TR_OBJ_OPAQUE, o, repr);
}
/* Attribute `name` of a frozen module becomes part of the snapshot. NULL without one; a Python failure sets
 * `failed`. */
static const tr_obj *freeze_attr(tr_frozen *z, const tr_obj *module, const char *name) {
    for (uint32_t i = 0; i < module->u.m.n; i++)
        if (!strcmp(module->u.m.attrs[i].name, name))
            return module->u.m.attrs[i].obj;
    PyObject *m = (PyObject *)(uintptr_t)module->py, *key = PyUnicode_FromString(name);
    PyObject *v = key ? PyObject_GetAttr(m, key) : NULL;
    /* Inference reports a missing attribute where it is used; a module's own __getattr__ may be
     * interrupted. */
    bool fine = ok(z, v || (key && PyErr_ExceptionMatches(PyExc_Exception)));
    if (!v && fine)
        PyErr_Clear();
    fine = fine && note_read(z, m, NULL, key, v) && (!v || hold(z, v));
    const tr_obj *o = v && fine ? tr_frozen_any(z, v) : NULL;
    if (o && o->kind == TR_OBJ_OPAQUE && strncmp(o->repr, ANONYMOUS, strlen(ANONYMOUS)) == 0)
        o = new_obj(z, TR_OBJ_OPAQUE, v, tr_arena_printf(arena(z), "'%s.%s'", module->u.m.name, name));
    Py_XDECREF(v);
    Py_XDECREF(key);
    if (!o)
        return NULL;
    tr_obj *owner = (tr_obj *)(uintptr_t)module; /* ours: made by freeze_module */
    tr_attr *attrs = TR_NEW_N(arena(z), tr_attr, owner->u.m.n + 1);
    for (uint32_t i = 0; i < owner->u.m.n; i++)
        attrs[i] = owner->u.m.attrs[i];
    attrs[owner->u.m.n] = (tr_attr){tr_arena_strdup(arena(z), name), o};
    owner->u.m.attrs = attrs;
    owner->u.m.n++;
    return o;
}

/* --- any value --- */

static tr_obj *freeze_known(tr_frozen *z, PyObject *o) {
    uint32_t row;
    if (tr_builtin_map_find(&z->host->builtins, o, &row)) {
        const char *path = tr_builtins[row].path;
        tr_obj *r = new_obj(z, TR_OBJ_BUILTIN, o, strncmp(path, "builtins.", 9) ? path : path + 9);
        r->u.builtin = row;
        return r;
    }
    const tr_ty *ty = z->host->as_type ? z->host->as_type(z->host->user, o) : NULL;
    if (ty) {
        tr_obj *r = new_obj(z, TR_OBJ_TYPE, o, tr_ty_user(arena(z), ty));
        r->ty = ty;
        return r;
    }
    tr_wishes wishes = {0};
    PyObject *of = NULL;
    const tr_ufn *ufn = z->host->ufunc ? z->host->ufunc(z->host->user, arena(z), o, &of, &wishes) : NULL;
    if (ufn) {
        tr_obj *r = tr_frozen_function(z, o, of, ufn, wishes.locals);
        if (r)
            r->u.contract = tr_freeze_contract(z, &wishes);
        return r;
    }
    PyObject *members = NULL, *fn = tr_freeze_library(z, o, &wishes, &members);
    if (!fn && z->host->unwrap && !PyFunction_Check(o) && !z->failed)
        fn = z->host->unwrap(z->host->user, arena(z), o, &wishes);
    if (z->failed || (!fn && !PyFunction_Check(o)))
        return NULL;
    const char *why = reason_of(z, fn ? fn : o);
    if (why)
        return new_obj(z, TR_OBJ_OPAQUE, o, why);
    if (!fn && tr_freeze_is_missing(z, o))
        return tr_frozen_opaque(z, o);
    if (fn && !wishes.library &&
        tr_freeze_is_library(z, taken(z, Py_NewRef(((PyFunctionObject *)fn)->func_globals))))
        return hold(z, fn) ? tr_frozen_function(z, o, fn, NULL, NULL)
                           : NULL; /* a stencil: its options are its caller's */
    if (members)
        return tr_frozen_members(z, o, tr_frozen_decorated(z, o, fn, &wishes), members);
    return fn ? tr_frozen_decorated(z, o, fn, &wishes) : tr_frozen_function(z, o, o, NULL, NULL);
}

/* A ufunc that is neither ours nor a row of builtins.def: its C loops are called. */
static tr_obj *freeze_ufunc(tr_frozen *z, PyObject *o) {
    PyObject *a = NULL;
    const char *why = NULL;
    const tr_ufn *fn = tr_freeze_loops(arena(z), z->ctx->types, o, &a, &why);
    if (!fn)
        return ok(z, why != NULL) ? new_obj(z, TR_OBJ_OPAQUE, o, why) : NULL;
    a = taken(z, a);
    tr_obj *table = a ? tr_frozen_table(z, a) : NULL;
    if (!table)
        return NULL;
    tr_cloops *loops = PyArray_DATA((PyArrayObject *)a);
    tr_vec_push(arena(z), &z->loops, loops);
    if (z->host->loops)
        z->host->loops(z->host->user, loops);
    tr_obj *r = new_obj(z, TR_OBJ_UFUNC, o, tr_arena_printf(arena(z), "ufunc '%s'", fn->name));
    r->u.l.fn = fn;
    r->u.l.table = table;
    return r;
}

/* A np.random.Generator: itself, by reference. Where its state lies stands in a table that is bound when code
 * is loaded, as with a ufunc's loops. NULL: it is none. */
static tr_obj *freeze_generator(tr_frozen *z, PyObject *o) {
    int64_t parts[2];
    npy_intp n = 2;
    const tr_ty *ty = z->host->generator ? z->host->generator(z->host->user, z->ctx->types, o, parts) : NULL;
    if (!ty)
        return NULL;
    PyObject *a = PyArray_SimpleNew(1, &n, NPY_INT64);
    ok(z, a != NULL);
    if (!(a = taken(z, a)))
        return NULL;
    memcpy(PyArray_DATA((PyArrayObject *)a), parts, sizeof parts);
    PyArray_CLEARFLAGS((PyArrayObject *)a, NPY_ARRAY_WRITEABLE); /* so it is taken as it is */
    tr_obj *table = tr_frozen_table(z, a);
    if (!table)
        return NULL;
    tr_obj *r = new_obj(z, TR_OBJ_GENERATOR, o, "a np.random.Generator");
    r->ty = ty;
    r->u.parts = table;
    z->draws = true;
    return r;
}

/* A function of others that was declared. Its address, if it has one, stands in a table that is bound when
 * code is loaded. NULL: it is none. */
static tr_obj *freeze_extern(tr_frozen *z, PyObject *o) {
    tr_extern *x = tr_freeze_extern(z, o);
    npy_intp n = 1;
    if (!ok(z, x || !PyErr_Occurred()) || !x)
        return NULL;
    PyObject *a = PyArray_ZEROS(1, &n, NPY_INT64, 0);
    ok(z, a != NULL);
    if (!(a = taken(z, a)))
        return NULL;
    PyArray_CLEARFLAGS((PyArrayObject *)a, NPY_ARRAY_WRITEABLE); /* so it is taken as it is */
    tr_obj *r = new_obj(z, TR_OBJ_EXTERN, o, tr_arena_printf(arena(z), "function '%s'", x->name));
    x->table = tr_frozen_table(z, a);
    tr_vec_push(arena(z), &z->prog->externs, x);
    r->u.x = x;
    return x->table ? r : NULL;
}

/* An FFI of cffi's: its from_buffer is all that compiled code has of it. */
static tr_obj *freeze_ffi(tr_frozen *z, PyObject *o) {
    const char *name = Py_TYPE(o)->tp_name, *dot = strrchr(name, '.');
    if (strcmp(dot ? dot + 1 : name, "FFI") != 0)
        return NULL;
    PyObject *module = tr_py_dict_get_text(Py_TYPE(o)->tp_dict, "__module__");
    const char *home = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : name;
    bool is_cffi = home && (strncmp(home, "cffi.", 5) == 0 || strncmp(home, "_cffi_backend", 13) == 0);
    Py_XDECREF(module);
    PyErr_Clear();
    if (!is_cffi)
        return NULL;
    tr_obj *row = new_obj(z, TR_OBJ_BUILTIN, NULL, "ffi.from_buffer"),
           *r = new_obj(z, TR_OBJ_MODULE, o, "an FFI");
    row->u.builtin = TR_B_CU_FROM_BUFFER;
    tr_attr *attrs = TR_NEW_N(arena(z), tr_attr, 1);
    attrs[0] = (tr_attr){"from_buffer", row};
    r->u.m.name = "FFI";
    r->u.m.attrs = attrs;
    r->u.m.n = 1;
    return r;
}

static tr_obj *freeze_any(tr_frozen *z, PyObject *o) {
    tr_obj *r = tr_frozen_number(z, o);
    if (r)
        return r;
    if (tr_value_is_enum(Py_TYPE(o)))
        return tr_frozen_member(z, o);
    if (o == Py_Ellipsis)
        return new_obj(z, TR_OBJ_ELLIPSIS, o, "...");
    if (PyUnicode_CheckExact(o))
        return tr_frozen_str(z, o);
    if (PyBytes_CheckExact(o))
        return tr_frozen_bytes(z, o);
    if (PyTuple_Check(o))
        return tr_frozen_tuple(z, o);
    if (PySlice_Check(o))
        return tr_frozen_slice(z, o);
    if (PyFrozenSet_CheckExact(o))
        return tr_frozen_set(z, o);
    r = freeze_known(z, o);
    if (r || z->failed)
        return r;
    if (PyArray_CheckExact(o))
        return tr_frozen_array(z, o);
    if (PyArray_IsScalar(o, Generic))
        return tr_frozen_np_scalar(z, o);
    if (PyArray_DescrCheck(o))
        return tr_frozen_dtype(z, o, (PyArray_Descr *)o);
    if (PyType_Check(o))
        return tr_frozen_class(z, o);
    if (PyModule_Check(o))
        return tr_frozen_module(z, o);
    if (PyObject_TypeCheck(o, &PyUFunc_Type))
        return freeze_ufunc(z, o);
    if (PyExceptionInstance_Check(o))
        return tr_frozen_own_exc(z, TR_OBJ_EXCVAL, o);
    r = freeze_generator(z, o);
    if (!r && !z->failed)
        r = tr_frozen_partial(z, o);
    if (!r && !z->failed)
        r = tr_frozen_list(z, o);
    if (!r && !z->failed)
        r = tr_frozen_dict(z, o);
    if (!r && !z->failed)
        r = tr_frozen_own_set(z, o);
    if (!r && !z->failed)
        r = tr_frozen_placed(z, o);
    if (!r && !z->failed)
        r = freeze_ffi(z, o);
    if (!r && !z->failed)
        r = freeze_extern(z, o);
    return r || z->failed ? r : tr_frozen_opaque(z, o);
}

/* Of what was frozen before. */
static const tr_obj *known_as(const tr_frozen *z, const PyObject *o) {
    uint64_t old;
    if (o == Py_None)
        return tr_obj_none();
    return tr_map_get(&z->known, (uint64_t)(uintptr_t)o, &old) ? (const tr_obj *)(uintptr_t)old : NULL;
}

/* Of what `keep` holds. */
static const tr_obj *freeze_held(tr_frozen *z, PyObject *o) {
    tr_obj *r = freeze_any(z, o);
    if (r)
        tr_map_set(arena(z), &z->known, (uint64_t)(uintptr_t)o, (uint64_t)(uintptr_t)r);
    return r;
}

const tr_obj *tr_frozen_any(tr_frozen *z, PyObject *o) {
    const tr_obj *old = known_as(z, o);
    return old ? old : hold(z, o) ? freeze_held(z, o) : NULL;
}

/* The same of what came from a lookup: takes the reference. NULL for NULL. */
const tr_obj *tr_frozen_taken(tr_frozen *z, PyObject *o) {
    const tr_obj *old = o ? known_as(z, o) : NULL;
    if (old) {
        Py_DECREF(o);
        return old;
    }
    o = taken(z, o);
    return o ? freeze_held(z, o) : NULL;
}

/* The same of what a name stands for. */
static const tr_obj *freeze_named(tr_frozen *z, PyObject *o, PyObject *name) {
    z->reading = name;
    const tr_obj *r = tr_frozen_taken(z, o);
    z->reading = NULL;
    return r;
}

/* --- code --- */

static void *copy_bytes(tr_frozen *z, PyObject *b, uint32_t *n) {
    *n = (uint32_t)PyBytes_GET_SIZE(b);
    return tr_arena_copy(arena(z), PyBytes_AS_STRING(b), *n);
}
/* Of each local's byte what ir/prog.h names: CPython 3.14 says there too which are arguments, except of code
 * that `code.replace()` made. */
static const uint8_t *copy_kinds(tr_frozen *z, PyObject *b) {
    enum { NAMED = 0x20 | 0x40 | 0x80 };
    uint32_t n;
    uint8_t *v = copy_bytes(z, b, &n);
    for (uint32_t i = 0; i < n; i++)
        v[i] &= NAMED;
    return v;
}
static const char *const *copy_names(tr_frozen *z, PyObject *t, uint32_t *n) {
    *n = (uint32_t)PyTuple_GET_SIZE(t);
    const char **v = TR_NEW_N(arena(z), const char *, *n + 1);
    for (uint32_t i = 0; i < *n; i++)
        v[i] = text_of(z, PyTuple_GET_ITEM(t, i));
    return v;
}

/* A method of arrays or Generators that is a function: whose name stands in code is there,
 * whatever it is asked of. */
static bool freeze_method(tr_frozen *z, PyObject *name) {
    PyObject *m = tr_builtin_map_method(&z->host->builtins, name);
    if (!ok(z, m || !PyErr_Occurred()))
        return false;
    if (!(m = taken(z, m)))
        return true;
    const char *s = text_of(z, name);
    for (uint32_t i = 0; i < z->prog->methods.n; i++)
        if (strcmp(z->prog->methods.d[i].name, s) == 0)
            return true;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(m); i++) { /* classes may have methods of one name */
        PyObject *of = PyTuple_GET_ITEM(m, i);
        const tr_obj *fn = tr_frozen_any(z, PyTuple_GET_ITEM(of, 1));
        if (!fn)
            return false;
        tr_vec_push(arena(z), &z->prog->methods, ((tr_method){text_of(z, PyTuple_GET_ITEM(of, 0)), s, fn}));
    }
    return true;
}

static bool freeze_consts(tr_frozen *z, uint32_t func, PyObject *consts, tr_code *out) {
    out->nconsts = (uint32_t)PyTuple_GET_SIZE(consts);
    const tr_obj **v = TR_NEW_N(arena(z), const tr_obj *, out->nconsts + 1);
    for (uint32_t i = 0; i < out->nconsts; i++) {
        PyObject *o = PyTuple_GET_ITEM(consts, i);
        v[i] = PyCode_Check(o) ? tr_frozen_inner(z, o, func) : tr_frozen_any(z, o);
        if (!v[i] || (PyUnicode_CheckExact(o) && !freeze_method(z, o))) /* getattr and hasattr name them so */
            return false;
    }
    out->consts = v;
    return true;
}

/* What a free variable holds, looked up through the functions that enclose it; NULL: a local of one of them,
 * or empty. */
static const tr_obj *freeze_free(tr_frozen *z, uint32_t func, PyObject *name) {
    const tr_fscope *s = &z->scopes.d[func];
    PyCodeObject *c = (PyCodeObject *)s->code;
    Py_ssize_t nth = 0;
    for (Py_ssize_t i = 0; i < c->co_nlocalsplus; i++) {
        bool is_free = (uint8_t)PyBytes_AS_STRING(c->co_localspluskinds)[i] & FREE_VAR;
        PyObject *here = PyTuple_GET_ITEM(c->co_localsplusnames, i);
        bool same = here == name || PyUnicode_Compare(here, name) == 0;
        if (same && is_free && s->parent != UINT32_MAX)
            return freeze_free(z, s->parent, name);
        if (same && is_free && nth < 32 && s->operands >> nth & 1)
            return NULL;
        if (same && is_free && s->closure && nth < PyTuple_GET_SIZE(s->closure)) {
            PyObject *cell = PyTuple_GET_ITEM(s->closure, nth), *v = PyCell_Get(cell);
            note_read(z, cell, NULL, NULL, v);
            return freeze_named(z, v, name);
        }
        if (same)
            return NULL;
        nth += is_free;
    }
    return NULL;
}

/* A lazy import among the globals is done now, as the interpreter does when it loads the name. Takes it; NULL
 * with an exception. */
static PyObject *imported(PyObject *globals, PyObject *name, PyObject *lazy) {
    PyObject *v = PyObject_CallMethod(lazy, "resolve", NULL);
    Py_DECREF(lazy);
    if (v && PyDict_SetItem(globals, name, v) < 0)
        Py_CLEAR(v);
    return v;
}

static const tr_obj *freeze_global(tr_frozen *z, uint32_t func, PyObject *name) {
    tr_fscope s = z->scopes.d[func];
    uint64_t self;
    PyObject *v = tr_py_dict_get(s.globals, name);
    if (v && tr_py_is_lazy_import(v))
        v = imported(s.globals, name, v);
    if (!v && !PyErr_Occurred() && PyDict_Check(s.builtins))
        v = tr_py_dict_get(s.builtins, name);
    /* While a decorator compiles, the function's name is not bound yet: it will be, to the function. */
    if (!v && !PyErr_Occurred() &&
        PyUnicode_CompareWithASCIIString(name, z->prog->funcs.d[func].qualname) == 0 &&
        tr_map_get(&z->known, (uint64_t)(uintptr_t)z->prog->funcs.d[func].py, &self))
        return (const tr_obj *)(uintptr_t)self;
    if (ok(z, v || !PyErr_Occurred()))
        note_read(z, s.globals, s.builtins, name, v);
    return freeze_named(z, v, name);
}

static void consider_names(tr_frozen *z, tr_near *s, PyObject *dict) {
    PyObject *names = taken(z, PyDict_Check(dict) ? PyDict_Keys(dict) : NULL);
    Py_ssize_t size;
    for (Py_ssize_t i = 0; names && i < PyList_GET_SIZE(names); i++) {
        PyObject *name = PyList_GET_ITEM(names, i);
        const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &size) : NULL;
        if (text)
            tr_near_consider(s, text, (unsigned)size);
    }
    PyErr_Clear(); /* names that have no UTF-8 */
}

/* A global or builtin that a name without a value may be meant to be. */
static const char *near_global(tr_frozen *z, uint32_t func, PyObject *name) {
    tr_fscope s = z->scopes.d[func];
    const char *text = PyUnicode_AsUTF8(name);
    if (!text) {
        PyErr_Clear();
        return NULL;
    }
    tr_near near = tr_near_begin(text);
    consider_names(z, &near, s.globals);
    consider_names(z, &near, s.builtins);
    return near.best ? tr_arena_strdup(arena(z), near.best) : NULL;
}

typedef struct reach {
    tr_frozen *z;
    uint32_t func;
    tr_code *c;
    PyObject *names, *locals;
} reach;

/* Of an enum all members, which code may go through, and those that strings of the code name:
 * `Color["red"]`. */
static void members_of_enum(tr_frozen *z, uint32_t func, const tr_obj *o) {
    PyObject *cls = (PyObject *)(uintptr_t)o->py,
             *consts = ((PyCodeObject *)z->scopes.d[func].code)->co_consts;
    if (!PyType_Check(cls) || !tr_value_is_enum((PyTypeObject *)cls))
        return;
    PyObject *members = taken(z, PyObject_GetAttrString(cls, "__members__"));
    for (Py_ssize_t i = 0; members && i < PyTuple_GET_SIZE(consts) && !z->failed; i++) {
        PyObject *name = PyTuple_GET_ITEM(consts, i);
        const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
        if (text && PyMapping_HasKey(members, name))
            freeze_attr(z, o, text);
    }
    PyErr_Clear(); /* a text that is no UTF-8 is no name */
    PyObject *all = o->u.m.members || z->failed ? NULL : PySequence_Tuple(cls);
    PyErr_Clear(); /* one that cannot be gone through */
    if (all && taken(z, all) && PyTuple_GET_SIZE(all) <= MAX_WRITTEN)
        ((tr_obj *)(uintptr_t)o)->u.m.members = tr_frozen_any(z, all);
}

/* A name of the code and the attributes that follow it. */
static void reached(void *user, bool is_free, uint32_t index, const char *const *attrs, uint32_t n) {
    reach *r = user;
    tr_frozen *z = r->z;
    if (z->failed)
        return;
    const tr_obj *o = is_free ? freeze_free(z, r->func, PyTuple_GET_ITEM(r->locals, index))
                              : freeze_global(z, r->func, PyTuple_GET_ITEM(r->names, index));
    if (is_free && z->scopes.d[r->func].parent == UINT32_MAX)
        r->c->free[index] = o;
    if (!is_free)
        r->c->globals[index] = o;
    if (!is_free && !o && ok(z, !PyErr_Occurred()))
        r->c->near[index] = near_global(z, r->func, PyTuple_GET_ITEM(r->names, index));
    for (uint32_t i = 0; i < n && o && o->kind == TR_OBJ_MODULE; i++)
        o = freeze_attr(z, o, attrs[i]);
    if (o && o->kind == TR_OBJ_MODULE)
        members_of_enum(z, r->func, o);
}

/* Types that the option `locals` declares for variables of the function. Those of arrays say what inference
 * finds anyway. */
static bool freeze_locals(tr_frozen *z, PyObject *locals, tr_code *c) {
    c->declared = TR_NEW_N(arena(z), const tr_obj *, c->nlocalsplus + 1);
    for (uint32_t i = 0; locals && i < c->nlocalsplus; i++) {
        PyObject *t = tr_py_dict_get_text(locals, c->localsplus[i]);
        const tr_obj *o = tr_frozen_taken(z, t);
        if (t && !o)
            return false;
        if (o && o->kind == TR_OBJ_TYPE && tr_ty_is_scalar(o->ty))
            c->declared[i] = o;
    }
    return true;
}

static bool freeze_code(tr_frozen *z, uint32_t func) {
    PyCodeObject *c = (PyCodeObject *)z->scopes.d[func].code;
    assert(!z->prog->funcs.d[func].code && "a function's code is frozen once");
    PyObject *bytes = PyCode_GetCode(c);
    if (!ok(z, bytes != NULL))
        return false;
    tr_code *out = TR_NEW(arena(z), tr_code);
    out->version = z->ctx->python;
    out->code = copy_bytes(z, bytes, &out->ncode);
    Py_DECREF(bytes);
    out->exctab = copy_bytes(z, c->co_exceptiontable, &out->nexctab);
    out->linetab = copy_bytes(z, c->co_linetable, &out->nlinetab);
    out->firstline = (uint32_t)c->co_firstlineno;
    out->stacksize = (uint32_t)c->co_stacksize;
    out->flags = (uint32_t)c->co_flags;
    out->names = copy_names(z, c->co_names, &out->nnames);
    out->localsplus = copy_names(z, c->co_localsplusnames, &out->nlocalsplus);
    out->kinds = copy_kinds(z, c->co_localspluskinds);
    out->globals = TR_NEW_N(arena(z), const tr_obj *, out->nnames + 1);
    out->near = TR_NEW_N(arena(z), const char *, out->nnames + 1);
    out->free = TR_NEW_N(arena(z), const tr_obj *, out->nlocalsplus + 1);
    if (!freeze_consts(z, func, c->co_consts, out) || !freeze_locals(z, z->scopes.d[func].locals, out))
        return false;
    z->prog->funcs.d[func].code = out;
    reach r = {z, func, out, c->co_names, c->co_localsplusnames};
    /* Bytecode that cannot be decoded reaches nothing; the front end reports it. */
    uint32_t errs = z->ctx->nerrs, loops;
    bool decoded = tr_front_chains(z->ctx, out, reached, &r, &loops);
    if (loops > 1 && (c->co_flags & CO_GENERATOR) && !z->failed &&
        !freeze_method(z, c->co_name)) /* a generator expression of several */
        return false;
    for (uint32_t i = 0; i < out->nnames && !z->failed; i++)
        if (!freeze_method(z, PyTuple_GET_ITEM(c->co_names, i)))
            return false;
    return ok(z, decoded || z->ctx->nerrs > errs) && !z->failed;
}

static bool freeze_pending(tr_frozen *z) {
    while (z->done < z->prog->funcs.n)
        if (!freeze_code(z, z->done++))
            return false;
    return true;
}

/* The classes of exceptions by their numbers, which loops of others may raise: known when all is frozen. An
 * exception that exists is not asked for by its class. */
static bool list_classes(tr_frozen *z) {
    npy_intp n = TR_EXC__COUNT + (npy_intp)z->exc_classes.n;
    PyObject *a = z->loops.n ? PyArray_ZEROS(1, &n, NPY_INTP, 0) : NULL;
    if (!ok(z, a || !z->loops.n) || !(a = taken(z, a)))
        return z->loops.n == 0;
    PyObject **to = PyArray_DATA((PyArrayObject *)a);
    for (uint32_t i = 0; i < TR_EXC__COUNT; i++) /* they live as long as Python does */
        to[i] = tr_freeze_exception(z, i);
    for (uint32_t i = 0; i < z->exc_classes.n; i++)
        to[TR_EXC__COUNT + i] = z->prog->excs.d[i]->kind == TR_OBJ_EXC ? z->exc_classes.d[i] : NULL;
    for (uint32_t i = 0; i < z->loops.n; i++) {
        z->loops.d[i]->classes = to;
        z->loops.d[i]->nclasses = n;
    }
    return !z->failed;
}

bool tr_freeze_init(tr_frozen *z, tr_ctx *ctx, tr_prog *prog, tr_freeze_host *host) {
    assert(tr_py_is_held() && "a snapshot is taken with the GIL");
    *z = (tr_frozen){.ctx = ctx, .prog = prog, .host = host};
    ctx->python = PY_MAJOR_VERSION * 100 + PY_MINOR_VERSION;
    if (!tr_builtin_map_need(&host->builtins))
        return false;
    z->keep = PyList_New(0);
    z->deps = PyList_New(0);
    if (z->keep && z->deps)
        return true;
    tr_freeze_fini(z);
    return false;
}

void tr_freeze_fini(tr_frozen *z) {
    Py_CLEAR(z->keep);
    Py_CLEAR(z->deps);
    Py_CLEAR(z->links);
    Py_CLEAR(z->placed);
    for (int i = 0; i < 3; i++)
        Py_CLEAR(z->raised[i]);
}

const tr_obj *tr_freeze_value(tr_frozen *z, PyObject *o) {
    const tr_obj *r = tr_frozen_any(z, o);
    if (r && freeze_pending(z) && !z->failed && list_classes(z)) {
        assert(z->done == z->prog->funcs.n && z->depth == 0 &&
               "a snapshot ends when all that it reaches is frozen");
        return r;
    }
    assert((z->raised[0] || PyErr_Occurred()) && "and else with an exception");
    if (z->raised[0])
        PyErr_Restore(z->raised[0], z->raised[1], z->raised[2]);
    memset(z->raised, 0, sizeof z->raised);
    return NULL;
}

bool tr_freeze(tr_frozen *z, PyObject *fn) {
    const tr_obj *o = tr_freeze_value(z, fn);
    if (o && o->kind != TR_OBJ_FUNC)
        PyErr_Format(PyExc_TypeError, "a Python function is needed, not %s", o->repr);
    if (!o || o->kind != TR_OBJ_FUNC)
        return false;
    z->prog->root_func = o->u.func;
    return true;
}

static tr_gnode graph_node(tr_frozen *z, const tr_plan *p, uint32_t k) {
    const tr_pnode *n = &p->nodes[k];
    tr_gnode r = {.op = n->op, .fn = n->fn, .n = n->n, .place = tr_plan_place(p, k)};
    r.place.file = r.place.file ? tr_arena_strdup(arena(z), r.place.file) : NULL;
    r.place.fn = r.place.fn ? tr_arena_strdup(arena(z), r.place.fn) : NULL;
    r.args = tr_arena_copy(arena(z), n->args, (n->n + 1u) * sizeof *n->args);
    if (n->kwnames)
        r.kwnames = copy_names(z, n->kwnames, &r.nkw);
    const char *tag = n->tag ? PyUnicode_AsUTF8(n->tag) : NULL;
    r.schedule = tag ? tr_arena_strdup(arena(z), tag) : NULL;
    return r;
}

/* A function that takes what it captures as params, and has no defaults of its own. */
static bool freeze_proto(tr_frozen *z, PyObject *o, uint32_t cells, uint32_t *func) {
    tr_fscope s = tr_freeze_scope(z, (PyFunctionObject *)o, NULL);
    PyCodeObject *c = (PyCodeObject *)s.code;
    if (z->failed)
        return false;
    tr_func f = tr_freeze_code_of(z, c);
    uint32_t *idx = TR_NEW_N(arena(z), uint32_t, (uint32_t)c->co_nfreevars + 1u), nth = 0;
    for (uint32_t i = 0; i < (uint32_t)c->co_nlocalsplus; i++)
        if ((uint8_t)PyBytes_AS_STRING(c->co_localspluskinds)[i] & FREE_VAR) {
            if (nth < 32 && cells >> nth & 1)
                idx[f.nfree++] = i;
            nth++;
        }
    f.freeidx = idx;
    *func = z->prog->funcs.n;
    s.operands = cells;
    tr_freeze_add_scope(z, f, s);
    if (!tr_freeze_defaults(z, &f,
                            (PyFunctionObject *)o)) /* those of keywords alone: the others are operands */
        return false;
    z->prog->funcs.d[*func].defaults = f.defaults;
    return freeze_pending(z);
}

/* The skeletons of a device's loops are functions of the program, though nothing that is written there calls
 * them. */
static bool freeze_skeletons(tr_frozen *z) {
    static const char *const names[] = {
#define X(id, name) name,
        TR_SKELETONS(X)
#undef X
    };
    PyObject *m = PyImport_ImportModule("treadle._library.device");
    bool ok = m != NULL;
    for (unsigned k = 0; ok && k < TR_SKELETON__COUNT; k++) {
        PyObject *f = PyObject_GetAttrString(m, names[k]);
        ok = f && PyList_Append(z->keep, f) == 0;
        Py_XDECREF(f);
        const tr_obj *o = ok ? tr_freeze_value(z, f) : NULL;
        ok = o && o->kind == TR_OBJ_FUNC;
        if (ok)
            z->prog->skeletons[k] = o->u.func;
        else if (!PyErr_Occurred())
            PyErr_Format(PyExc_SystemError, "treadle._library.device.%s is no function", names[k]);
    }
    Py_XDECREF(m);
    return ok;
}

bool tr_freeze_plan(tr_frozen *z, const tr_plan *p) {
    uint32_t nobjs = (uint32_t)PyTuple_GET_SIZE(p->objs);
    const tr_obj **objs = TR_NEW_N(arena(z), const tr_obj *, nobjs + 1u);
    tr_gnode *nodes = TR_NEW_N(arena(z), tr_gnode, p->nnodes + 1u);
    for (uint32_t i = 0; i < nobjs; i++)
        if (!(objs[i] = tr_freeze_value(z, PyTuple_GET_ITEM(p->objs, i))))
            return false;
    if (z->ctx->opts.offload && !freeze_skeletons(z))
        return false;
    for (uint32_t i = 0; i < p->nnodes; i++) {
        nodes[i] = graph_node(z, p, i);
        if (nodes[i].op == TR_G_CLOSURE &&
            !freeze_proto(z, PyTuple_GET_ITEM(p->protos, (Py_ssize_t)nodes[i].fn), p->nodes[i].cells,
                          &nodes[i].fn))
            return false;
    }
    tr_graph *g = TR_NEW(arena(z), tr_graph);
    *g = (tr_graph){.nnodes = p->nnodes,
                    .nparams = p->nparams,
                    .nobjs = nobjs,
                    .nroots = p->nroots,
                    .result = p->result,
                    .nodes = nodes,
                    .objs = objs,
                    .roots = tr_arena_copy(arena(z), p->roots, (p->nroots + 1u) * sizeof *p->roots),
                    .shorts = tr_arena_copy(arena(z), p->shorts, (p->nparams + 1u) * sizeof *p->shorts)};
    z->prog->funcs.d[z->prog->root_func].graph = g;
    return true;
}
