/* Python objects to plain data.
 *
 * Each object is frozen once: a map from its address to its tr_obj, with a reference held so that the address
 * stays its own. So shared and cyclic structures end, and recursion needs no case. Functions are queued, not
 * descended into. No user code runs but for module attributes that a module computes (PEP 562), and
 * treadle/_library's look for a function.
 * Long, as each kind of object is a few lines that share the state above and nothing else. */
#include "ext/freeze.h"
#include "ext/lazy.h"

#include "base/near.h"
#include "ext/check.h"
#include "ext/compat.h"
#include "ext/chars.h"
#include "ext/date.h"
#include "ext/record.h"
#include "ext/value.h"
#include "front/front.h"
#include "lib/em.h"

enum { MAX_TUPLE_DEPTH = 32, MAX_WRITTEN = 100, MAX_REPR = 60, FREE_VAR = 0x80 };

/* Where a function's names are looked up. */
typedef struct tr_fscope {
    /* borrowed: `keep` holds them; closure NULL: an inner function; locals: declared types or NULL */
    PyObject *code, *globals, *builtins, *closure, *locals;
    uint32_t parent;   /* inner: the function it stands in */
    uint32_t operands; /* cells of the closure, a bit each, for which its function has a param */
} scope;

static const tr_obj *freeze_value(tr_frozen *z, PyObject *o);
static const tr_obj *freeze_taken(tr_frozen *z, PyObject *o);
static tr_obj *freeze_table(tr_frozen *z, PyObject *a);

static tr_arena *arena(tr_frozen *z) {
    return &z->ctx->arena;
}

/* The one place where a failure of Python's is noted; the entry points report it. An exception ends the
 * snapshot. It is put aside until then: what is still done may clear one of its own. */
static bool ok(tr_frozen *z, bool fine) {
    assert((fine || z->failed || PyErr_Occurred()) && "what ends a snapshot is an exception");
    if (!fine && !z->failed)
        PyErr_Fetch(&z->raised[0], &z->raised[1], &z->raised[2]);
    z->failed |= !fine;
    return fine;
}
static bool hold(tr_frozen *z, PyObject *o) {
    return ok(z, PyList_Append(z->keep, o) == 0);
}
/* A reference of ours goes to `keep`, which has it as long as the snapshot needs what it refers to; borrowed
 * from there. NULL stays NULL. It goes before arena memory is asked for, since that may leave from here with
 * a jump. */
static PyObject *taken(tr_frozen *z, PyObject *o) {
    bool held = o && hold(z, o);
    Py_XDECREF(o);
    return held ? o : NULL;
}
static bool note_read(tr_frozen *z, PyObject *where, PyObject *fallback, PyObject *name, PyObject *value) {
    PyObject *t = value ? PyTuple_Pack(4, where, fallback ? fallback : Py_None, name ? name : Py_None, value)
                        : PyTuple_Pack(3, where, fallback ? fallback : Py_None, name ? name : Py_None);
    bool fine = t && PyList_Append(z->deps, t) == 0;
    Py_XDECREF(t);
    return ok(z, fine);
}

static const char *text_of(tr_frozen *z, PyObject *s) {
    Py_ssize_t n = 0;
    const char *d = s && PyUnicode_Check(s) ? PyUnicode_AsUTF8AndSize(s, &n) : NULL;
    if (!d) {
        PyErr_Clear(); /* a lone surrogate; names in messages need not be exact */
        return "?";
    }
    return tr_arena_strndup(arena(z), d, (size_t)n);
}

/* Of exact builtin types only: no user code runs, but repr() looks for signals, and what their handlers raise
 * counts. */
static const char *repr_of(tr_frozen *z, PyObject *o) {
    PyObject *r = PyObject_Repr(o);
    ok(z, r != NULL);
    const char *s = text_of(z, r);
    Py_XDECREF(r);
    return strlen(s) > MAX_REPR ? tr_arena_printf(arena(z), "%.*s...", MAX_REPR - 3, s) : s;
}

static tr_obj *new_obj(tr_frozen *z, tr_objk kind, PyObject *py, const char *repr) {
    tr_obj *o = TR_NEW(arena(z), tr_obj);
    o->kind = (uint8_t)kind;
    o->repr = repr;
    o->py = py;
    return o;
}

/* Name of a function written in C, or NULL. Asked of static classes only, so that no user code runs. */
static const char *name_of(tr_frozen *z, PyObject *o, const char *attr) {
    if (Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE)
        return NULL;
    PyObject *name = PyObject_GetAttrString(o, attr);
    const char *s = name && PyUnicode_CheckExact(name) ? text_of(z, name) : NULL;
    Py_XDECREF(name);
    PyErr_Clear();
    return s;
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

static tr_obj *opaque(tr_frozen *z, PyObject *o) {
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

/* --- plain values --- */

#define TOO_LONG "an integer of more than 65,536 bits"

/* False: it is too long. */
static bool value_of(tr_frozen *z, PyObject *o, tr_bigint *out) {
    int overflow;
    *out = tr_bigint_of(PyLong_AsLongLongAndOverflow(o, &overflow));
    if (!overflow)
        return true;
    PyObject *hex = PyNumber_ToBase(o, 16);
    ok(z, hex);
    const char *s = text_of(z, hex);
    Py_DECREF(hex);
    return tr_bigint_parse(arena(z), s, strlen(s), out);
}

static tr_obj *freeze_int(tr_frozen *z, PyObject *o) {
    tr_bigint v;
    if (!value_of(z, o, &v))
        return new_obj(z, TR_OBJ_OPAQUE, o, TOO_LONG);
    tr_obj *r = new_obj(z, TR_OBJ_INT, o, tr_bigint_shown(arena(z), &v));
    r->u.n = v;
    return r;
}

static tr_obj *freeze_str(tr_frozen *z, PyObject *o) {
    Py_ssize_t n;
    const char *d = PyUnicode_AsUTF8AndSize(o, &n);
    if (!d || strlen(d) != (size_t)n) { /* a lone surrogate, or a NUL: texts end there from here on */
        PyErr_Clear();
        return opaque(z, o);
    }
    tr_obj *r = new_obj(z, TR_OBJ_STR, o, repr_of(z, o));
    r->u.s.d = tr_arena_strndup(arena(z), d, (size_t)n);
    r->u.s.n = (uint32_t)n;
    return r;
}

/* A byte is the character of its number, and a zero, where texts end, the one behind the last. */
static tr_obj *freeze_bytes(tr_frozen *z, PyObject *o) {
    size_t n = (size_t)PyBytes_GET_SIZE(o), k = 0;
    const unsigned char *d = (const unsigned char *)PyBytes_AS_STRING(o);
    char *text = tr_arena_alloc(arena(z), 2 * n + 1);
    for (size_t i = 0; i < n; i++) {
        unsigned c = d[i] ? d[i] : 256;
        if (c >= 0x80)
            text[k++] = (char)(0xc0 | c >> 6);
        text[k++] = (char)(c >= 0x80 ? 0x80 | (c & 0x3f) : c);
    }
    text[k] = '\0';
    tr_obj *r = new_obj(z, TR_OBJ_BYTES, o, repr_of(z, o));
    r->u.s.d = text;
    r->u.s.n = (uint32_t)k;
    return r;
}

/* Members of this class are equal to themselves alone, and true, as those of a plain enum are. */
static bool is_plain_enum(const PyTypeObject *cls) {
    return cls->tp_richcompare == PyBaseObject_Type.tp_richcompare &&
           !(cls->tp_as_number && cls->tp_as_number->nb_bool) &&
           !(cls->tp_as_sequence && cls->tp_as_sequence->sq_length) &&
           !(cls->tp_as_mapping && cls->tp_as_mapping->mp_length);
}

/* Members of such a class are a str, a float or bytes; this one has no value but that. */
static bool is_its_value(PyObject *o, PyObject *value) {
    PyTypeObject *of = Py_TYPE(value);
    return (of == &PyUnicode_Type || of == &PyFloat_Type || of == &PyBytes_Type) &&
           PyObject_TypeCheck(o, of) && Py_TYPE(o)->tp_richcompare == of->tp_richcompare &&
           PyObject_RichCompareBool(o, value, Py_EQ) == 1;
}

/* A member of an enum has its name and its value, which no code changes; one that is an int
 * is that number, too. */
static tr_obj *freeze_member(tr_frozen *z, PyObject *o) {
    static const char *const own[] = {"_value_", "_name_", "value", "name"};
    bool is_value = false;
    tr_attr *attrs = TR_NEW_N(arena(z), tr_attr, 4);
    for (int i = 0; i < 4; i++) {
        PyObject *v = i < 2 ? PyObject_GetAttrString(o, own[i]) : NULL;
        if (i == 0 && v)
            is_value = is_its_value(o, v);
        attrs[i] = (tr_attr){own[i], i < 2 ? ok(z, v) ? freeze_taken(z, v) : NULL : attrs[i - 2].obj};
        if (!attrs[i].obj)
            return NULL;
    }
    const char *name = attrs[1].obj->kind == TR_OBJ_STR
                           ? attrs[1].obj->u.s.d
                           : attrs[0].obj->repr; /* of flags in one there is none */
    name = tr_arena_printf(arena(z), "%s.%s", Py_TYPE(o)->tp_name, name);
    tr_obj *r = new_obj(z, TR_OBJ_MODULE, o, tr_arena_printf(arena(z), "'%s'", name));
    r->u.m.name = name;
    r->u.m.attrs = attrs;
    r->u.m.n = 4;
    r->u.m.one = is_plain_enum(Py_TYPE(o));
    r->u.m.is_value = is_value;
    if (!PyLong_Check(o))
        return r;
    tr_obj *n = freeze_int(z, o);
    n->member = n->kind == TR_OBJ_INT ? r : NULL;
    return n;
}

static tr_obj *freeze_number(tr_frozen *z, PyObject *o) {
    if (PyBool_Check(o)) {
        tr_obj *r = new_obj(z, TR_OBJ_BOOL, o, o == Py_True ? "True" : "False");
        r->u.i = o == Py_True;
        return r;
    }
    if (PyLong_CheckExact(o))
        return freeze_int(z, o);
    if (PyFloat_CheckExact(o)) {
        tr_obj *r = new_obj(z, TR_OBJ_FLOAT, o, repr_of(z, o));
        r->u.f = PyFloat_AS_DOUBLE(o);
        return r;
    }
    if (PyComplex_CheckExact(o)) {
        tr_obj *r = new_obj(z, TR_OBJ_COMPLEX, o, repr_of(z, o));
        r->u.c[0] = PyComplex_RealAsDouble(o);
        r->u.c[1] = PyComplex_ImagAsDouble(o);
        return r;
    }
    return NULL;
}

/* --- sequences --- */

static tr_obj *freeze_items(tr_frozen *z, PyObject *o, tr_objk kind, uint32_t n, PyObject *const *items) {
    assert((kind == TR_OBJ_TUPLE || kind == TR_OBJ_LIST || kind == TR_OBJ_SLICE) && "what has items");
    const tr_obj **v = TR_NEW_N(arena(z), const tr_obj *, n + 1);
    tr_obj *r = new_obj(z, kind, o, kind == TR_OBJ_SLICE ? "slice" : "()");
    r->u.t.n = n;
    r->u.t.items = v;
    size_t len = 0;
    for (uint32_t i = 0; i < n; i++) {
        v[i] = freeze_value(z, items[i]);
        if (!v[i])
            return NULL;
        len += strlen(v[i]->repr) + 2;
    }
    if (n && kind == TR_OBJ_TUPLE && len < MAX_REPR) {
        const char *s = v[0]->repr;
        for (uint32_t i = 1; i < n; i++)
            s = tr_arena_printf(arena(z), "%s, %s", s, v[i]->repr);
        r->repr = tr_arena_printf(arena(z), n == 1 ? "(%s,)" : "(%s)", s);
    } else if (n && kind == TR_OBJ_TUPLE) {
        r->repr = tr_arena_printf(arena(z), "a tuple of %u items", n);
    }
    return r;
}

/* Field names of a named tuple's class, or NULL. */
static const char *const *field_names(tr_frozen *z, PyTypeObject *cls, uint32_t *n) {
    PyObject *fields = PyType_IsSubtype(cls, &PyTuple_Type) && cls->tp_dict
                           ? taken(z, tr_py_dict_get_text(cls->tp_dict, "_fields"))
                           : NULL;
    if (!fields || !PyTuple_CheckExact(fields))
        return NULL;
    *n = (uint32_t)PyTuple_GET_SIZE(fields);
    const char **names = TR_NEW_N(arena(z), const char *, *n + 1);
    for (uint32_t i = 0; i < *n; i++) {
        if (!PyUnicode_Check(PyTuple_GET_ITEM(fields, i)))
            return NULL;
        names[i] = text_of(z, PyTuple_GET_ITEM(fields, i));
    }
    return names;
}

static bool set_class(tr_frozen *z, tr_obj *r, PyObject *cls) {
    r->u.t.name = tr_arena_strdup(arena(z), ((PyTypeObject *)cls)->tp_name);
    return !z->host->serial || ok(z, z->host->serial(z->host->user, cls, &r->u.t.serial));
}

static tr_obj *freeze_tuple(tr_frozen *z, PyObject *o) {
    uint32_t n = (uint32_t)PyTuple_GET_SIZE(o), nfields = 0;
    const char *const *fields = NULL;
    if (!PyTuple_CheckExact(o) && (!(fields = field_names(z, Py_TYPE(o), &nfields)) || nfields != n))
        return opaque(z, o);
    if (z->depth >= MAX_TUPLE_DEPTH)
        return new_obj(z, TR_OBJ_OPAQUE, o,
                       tr_arena_printf(arena(z), "a tuple that stands in %d others", MAX_TUPLE_DEPTH));
    assert(z->depth < MAX_TUPLE_DEPTH && "tuples in tuples end");
    z->depth++;
    tr_obj *r = freeze_items(z, o, TR_OBJ_TUPLE, n, &PyTuple_GET_ITEM(o, 0));
    z->depth--;
    if (r && fields) {
        if (!hold(z, (PyObject *)Py_TYPE(o))) /* a result of this type is made by its class */
            return NULL;
        r->u.t.fields = fields;
        if (!set_class(z, r, (PyObject *)Py_TYPE(o)))
            return NULL;
    }
    return r;
}

/* A list, a dict or a set that is a global or a variable of an enclosing function is what it is when the
 * function compiles, and only read. What is small, and has nothing in it that is asked for by keys, is
 * written out: its items are constants of types of their own. All others lie in memory. */

static const char *name_read(tr_frozen *z) {
    return z->reading ? text_of(z, z->reading) : NULL;
}

/* One that lies in memory; NULL: its items have no type in common. */
static tr_obj *freeze_container(tr_frozen *z, PyObject *o, const char *what) {
    int64_t words[2];
    const tr_ty *ty;
    PyObject *c = z->host->container ? z->host->container(z->host->user, o, &ty, words) : NULL;
    if (!ok(z, c || !PyErr_Occurred()) || !c || !(c = taken(z, c)))
        return NULL;
    npy_intp n = ty->kind == TR_TY_DICT ? 2 : 1;
    PyObject *a = PyArray_SimpleNew(1, &n, NPY_INT64);
    ok(z, a != NULL);
    if (!(a = taken(z, a)))
        return NULL;
    memcpy(PyArray_DATA((PyArrayObject *)a), words, (size_t)n * sizeof *words);
    PyArray_CLEARFLAGS((PyArrayObject *)a, NPY_ARRAY_WRITEABLE); /* so it is taken as it is */
    tr_obj *slot = freeze_table(z, a), *r = new_obj(z, TR_OBJ_CONTAINER, o, what);
    if (!slot)
        return NULL;
    static const int64_t one[] = {1};
    r->ty = tr_ty_fixed(z->ctx->types, ty);
    r->name = name_read(z);
    r->u.parts = slot;
    slot->ty = tr_ty_array(z->ctx->types, tr_ty_slot(z->ctx->types, r->ty), 1, TR_LAYOUT_C, true);
    slot->u.a.shape = slot->u.a.strides = one;
    return r;
}

static tr_obj *freeze_large(tr_frozen *z, PyObject *o, const char *what, size_t n) {
    const char *told = tr_arena_printf(arena(z), "a %s of %zu items", what, n);
    tr_obj *r = freeze_container(z, o, told);
    if (r || z->failed)
        return r;
    return new_obj(z, TR_OBJ_OPAQUE, o, tr_arena_printf(arena(z), "%s that have no type in common", told));
}

/* Lists of several lengths have no type in common where they are written out. */
static bool is_ragged(PyObject *tuple) {
    Py_ssize_t n = PyTuple_GET_SIZE(tuple), len = -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *x = PyTuple_GET_ITEM(tuple, i);
        if (!PyList_CheckExact(x))
            return false;
        if (len >= 0 && PyList_GET_SIZE(x) != len)
            return true;
        len = PyList_GET_SIZE(x);
    }
    return false;
}

/* NULL: it is none. */
static tr_obj *freeze_list(tr_frozen *z, PyObject *o) {
    PyObject *t = PyList_CheckExact(o) ? PyList_AsTuple(o) : NULL;
    if (!PyList_CheckExact(o))
        return NULL;
    ok(z, t != NULL);
    if (!(t = taken(z, t)))
        return NULL;
    if (PyTuple_GET_SIZE(t) > MAX_WRITTEN)
        return freeze_large(z, o, "list", (size_t)PyTuple_GET_SIZE(t));
    tr_obj *held = is_ragged(t) ? freeze_container(z, o, "a list of lists") : NULL;
    if (held || z->failed)
        return held;
    if (z->depth >= MAX_TUPLE_DEPTH)
        return new_obj(z, TR_OBJ_OPAQUE, o,
                       tr_arena_printf(arena(z), "a list that stands in %d others", MAX_TUPLE_DEPTH));
    z->depth++;
    tr_obj *r = freeze_items(z, o, TR_OBJ_LIST, (uint32_t)PyTuple_GET_SIZE(t), &PyTuple_GET_ITEM(t, 0));
    z->depth--;
    if (r) {
        r->repr = tr_arena_printf(arena(z), "a list of %u item%s", r->u.t.n, r->u.t.n == 1 ? "" : "s");
        r->name = name_read(z);
    }
    return r;
}

/* A set in the constants comes from `x in {1, 2}`: for that its items are all there is to know. */
static tr_obj *freeze_set(tr_frozen *z, PyObject *o) {
    PyObject *t = PySequence_Tuple(o);
    ok(z, t != NULL);
    t = taken(z, t);
    return t ? freeze_tuple(z, t) : NULL;
}

static tr_obj *freeze_slice(tr_frozen *z, PyObject *o) {
    PySliceObject *s = (PySliceObject *)o;
    return freeze_items(z, o, TR_OBJ_SLICE, 3, (PyObject *[]){s->start, s->stop, s->step});
}

/* Names and values of a dict, each as a tuple; borrowed, or NULL. */
static PyObject *dict_part(tr_frozen *z, PyObject *d, bool values) {
    PyObject *list = values ? PyDict_Values(d) : PyDict_Keys(d), *t = list ? PyList_AsTuple(list) : NULL;
    ok(z, t != NULL);
    Py_XDECREF(list);
    return taken(z, t);
}

static bool are_names(PyObject *tuple) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++)
        if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(tuple, i)))
            return false;
    return true;
}

static tr_obj *freeze_names(tr_frozen *z, PyObject *o) {
    if (PyDict_GET_SIZE(o) > MAX_WRITTEN || z->depth >= MAX_TUPLE_DEPTH)
        return NULL;
    PyObject *part[2] = {dict_part(z, o, false), dict_part(z, o, true)};
    if (!part[0] || !part[1] || !are_names(part[0]) || PyTuple_GET_SIZE(part[0]) != PyTuple_GET_SIZE(part[1]))
        return NULL;
    const tr_obj **v = TR_NEW_N(arena(z), const tr_obj *, 2);
    z->depth++;
    for (int i = 0; i < 2 && !z->failed; i++)
        v[i] = freeze_value(z, part[i]);
    z->depth--;
    for (uint32_t i = 0; v[0] && v[1] && i < v[0]->u.t.n; i++)
        if (v[0]->u.t.items[i]->kind != TR_OBJ_STR) /* a text that compiled code has no form for */
            return NULL;
    if (!v[0] || !v[1])
        return NULL;
    tr_obj *r = new_obj(z, TR_OBJ_DICT, o, "a dict of names");
    r->u.t.n = 2;
    r->u.t.items = v;
    r->name = name_read(z);
    return r;
}

/* NULL: it is none. */
static tr_obj *freeze_dict(tr_frozen *z, PyObject *o) {
    if (!PyDict_CheckExact(o))
        return NULL;
    tr_obj *r = freeze_names(z, o);
    return r || z->failed ? r : freeze_large(z, o, "dict", (size_t)PyDict_GET_SIZE(o));
}

/* NULL: it is none. */
static tr_obj *freeze_own_set(tr_frozen *z, PyObject *o) {
    if (!PySet_CheckExact(o))
        return NULL;
    return PySet_GET_SIZE(o) ? freeze_large(z, o, "set", (size_t)PySet_GET_SIZE(o)) : freeze_set(z, o);
}

/* A functools.partial, as it is now: nobody is meant to change one. NULL: it is none. */
static tr_obj *freeze_partial(tr_frozen *z, PyObject *o) {
    static const char *const own[] = {"func", "args", "keywords"};
    PyTypeObject *of = Py_TYPE(o), *base = of->tp_base;
    if (base && base->tp_call == of->tp_call && strcmp(base->tp_name, "functools.partial") == 0)
        of = base; /* a class that calls what it does */
    const tr_obj *cls =
        strcmp(of->tp_name, "functools.partial") == 0 ? freeze_value(z, (PyObject *)of) : NULL;
    if (!cls || cls->kind != TR_OBJ_BUILTIN || cls->u.builtin != TR_B_PARTIAL)
        return NULL;
    PyObject *part[4] = {NULL};
    for (int i = 0; i < 3; i++) {
        PyObject *x = PyObject_GetAttrString(o, own[i]);
        ok(z, x != NULL);
        if (!(part[i] = taken(z, x)))
            return NULL;
    }
    if (!PyTuple_CheckExact(part[1]) || !PyDict_CheckExact(part[2]))
        return NULL;
    part[3] = dict_part(z, part[2], true);
    part[2] = dict_part(z, part[2], false);
    if (!part[2] || !part[3])
        return NULL;
    if (!are_names(part[2]))
        return NULL;
    const tr_obj **v = TR_NEW_N(arena(z), const tr_obj *, 4);
    for (int i = 0; i < 4; i++)
        if (!(v[i] = freeze_value(z, part[i])) || (i > 0 && v[i]->kind != TR_OBJ_TUPLE))
            return NULL;
    tr_obj *r = new_obj(z, TR_OBJ_PARTIAL, o, "a functools.partial");
    r->u.t.n = 4;
    r->u.t.items = v;
    return r;
}

/* --- NumPy --- */

static const tr_ty *type_of_descr(tr_frozen *z, PyArray_Descr *d) {
    unsigned num = (unsigned)d->type_num;
    if (num >= sizeof tr_value_npy_kind || tr_value_npy_kind[num] == 255 || !PyArray_ISNBO(d->byteorder))
        return NULL;
    return tr_ty_scalar(z->ctx->types, (tr_tyk)tr_value_npy_kind[num]);
}

/* A structured dtype's, too. */
static const tr_ty *item_type(tr_frozen *z, PyArray_Descr *d) {
    const char *why;
    const tr_ty *ty =
        d->type_num == NPY_VOID ? tr_record_struct(z->ctx->types, d, &why) : type_of_descr(z, d);
    PyErr_Clear();
    return ty;
}

static tr_obj *freeze_dtype(tr_frozen *z, PyObject *o, PyArray_Descr *d) {
    const tr_ty *date = PyArray_ISNBO(d->byteorder) ? tr_date_type(z->ctx->types, d) : NULL,
                *ty = date ? date : item_type(z, d);
    char chars = tr_npchars_letter(d);
    if (chars) /* so many bytes, under NumPy's name */
        ty = tr_ty_opaque(z->ctx->types, (uint32_t)PyDataType_ELSIZE(d), chars == 'U' ? "<U" : "|S");
    if (!ty)
        return opaque(z, o);
    tr_obj *r = new_obj(z, TR_OBJ_TYPE, o, tr_ty_user(arena(z), ty));
    r->ty = ty;
    return r;
}

static tr_obj *freeze_np_class(tr_frozen *z, PyObject *o) {
    PyArray_Descr *d = PyArray_DescrFromTypeObject(o);
    if (!d) {
        PyErr_Clear();
        return opaque(z, o);
    }
    /* An abstract class (np.floating) has a default dtype, which is not the class. */
    tr_obj *r = (PyObject *)d->typeobj == o ? freeze_dtype(z, o, d) : opaque(z, o);
    Py_DECREF(d);
    return r;
}

/* NULL: its unit is none that is compiled. */
static tr_obj *freeze_date(tr_frozen *z, PyObject *o) {
    uint32_t key = tr_date_scalar_key(o);
    if (tr_key_kind(key) != TR_K_DATE)
        return NULL;
    tr_obj *r = new_obj(z, TR_OBJ_DATE, o, repr_of(z, o));
    r->ty = tr_date_of_key(z->ctx->types, key);
    r->u.i = ((PyDatetimeScalarObject *)o)->obval;
    return r;
}

static tr_obj *freeze_np_scalar(tr_frozen *z, PyObject *o) {
    if (Py_IS_TYPE(o, &PyDatetimeArrType_Type) || Py_IS_TYPE(o, &PyTimedeltaArrType_Type)) {
        tr_obj *date = freeze_date(z, o);
        return date || z->failed ? date : opaque(z, o);
    }
    PyArray_Descr *d = PyArray_DescrFromScalar(o);
    if (!d) {
        PyErr_Clear();
        return opaque(z, o);
    }
    const tr_ty *ty = type_of_descr(z, d);
    union {
        int8_t i1;
        int16_t i2;
        int32_t i4;
        int64_t i8;
        uint8_t u1;
        uint16_t u2;
        uint32_t u4;
        uint64_t u8;
        _Float16 f2;
        float f4[2];
        double f8[2];
    } raw = {0};
    if (ty)
        PyArray_ScalarAsCtype(o, &raw);
    Py_DECREF(d);
    if (!ty)
        return opaque(z, o);
    tr_obj *r = new_obj(z, TR_OBJ_SCALAR, o, repr_of(z, o));
    r->ty = ty;
    switch ((tr_tyk)ty->kind) {
    case TR_TY_BOOL: r->u.i = raw.u1 != 0; break;
    case TR_TY_I8: r->u.i = raw.i1; break;
    case TR_TY_I16: r->u.i = raw.i2; break;
    case TR_TY_I32: r->u.i = raw.i4; break;
    case TR_TY_I64: r->u.i = raw.i8; break;
    case TR_TY_U8: r->u.u = raw.u1; break;
    case TR_TY_U16: r->u.u = raw.u2; break;
    case TR_TY_U32: r->u.u = raw.u4; break;
    case TR_TY_U64: r->u.u = raw.u8; break;
    case TR_TY_F16: r->u.f = (double)raw.f2; break;
    case TR_TY_F32: r->u.f = (double)raw.f4[0]; break;
    case TR_TY_F64: r->u.f = raw.f8[0]; break;
    case TR_TY_C64:
        r->u.c[0] = (double)raw.f4[0];
        r->u.c[1] = (double)raw.f4[1];
        break;
    default: r->u.c[0] = raw.f8[0]; r->u.c[1] = raw.f8[1];
    }
    return r;
}

/* A symbol of compiled code or of its raise sites (code/meta.h). */
static void bind_symbol(tr_frozen *z, const char *name, void *addr) {
    tr_binding *b = TR_NEW_N(arena(z), tr_binding, z->nbind + 1);
    if (z->nbind)
        memcpy(b, z->bind, z->nbind * sizeof *b);
    assert(addr && "a symbol that code is bound to has an address");
    b[z->nbind++] = (tr_binding){name, addr};
    z->bind = b;
}

static tr_layout layout_of(PyArrayObject *a) {
    return PyArray_IS_C_CONTIGUOUS(a)   ? TR_LAYOUT_C
           : PyArray_IS_F_CONTIGUOUS(a) ? TR_LAYOUT_F
                                        : TR_LAYOUT_ANY;
}

/* A frozen array is a copy, so that it keeps the values it had; one that nobody can write is taken as it
 * is. */
static tr_obj *freeze_array(tr_frozen *z, PyObject *o) {
    PyArrayObject *a = (PyArrayObject *)o;
    PyArray_Descr *dtype = PyArray_DESCR(a);
    char chars = tr_npchars_letter(dtype);
    const tr_ty *date = PyArray_ISNBO(dtype->byteorder) ? tr_date_type(z->ctx->types, dtype) : NULL,
                *elem = date    ? tr_ty_scalar(z->ctx->types, TR_TY_I64)
                        : chars ? tr_ty_scalar(z->ctx->types, TR_TY_U8)
                                : item_type(z, dtype);
    if (!elem || PyArray_NDIM(a) + (chars ? 1 : 0) > TR_MAX_NDIM) {
        PyArray_Descr *d = PyArray_DESCR(a);
        return new_obj(z, TR_OBJ_OPAQUE, o,
                       tr_arena_printf(arena(z), "an array of dtype %c%c%d", d->byteorder, d->kind,
                                       (int)PyArray_ITEMSIZE(a)));
    }
    bool constant = !PyArray_ISWRITEABLE(a) && PyArray_CHKFLAGS(a, NPY_ARRAY_OWNDATA | NPY_ARRAY_ALIGNED);
    if (!constant) {
        a = (PyArrayObject *)PyArray_NewCopy(a, NPY_KEEPORDER);
        ok(z, a != NULL);
        if (!(a = (PyArrayObject *)taken(z, (PyObject *)a)))
            return NULL;
    }
    uint32_t ndim = (uint32_t)PyArray_NDIM(a);
    int64_t *shape = TR_NEW_N(arena(z), int64_t, ndim + 1), *strides = TR_NEW_N(arena(z), int64_t, ndim + 1),
            unit = chars ? 1 : (int64_t)PyArray_ITEMSIZE(a);
    for (uint32_t i = 0; i < ndim; i++) {
        shape[i] = PyArray_DIM(a, (int)i);
        strides[i] = PyArray_STRIDE(a, (int)i) / unit;
        if (PyArray_STRIDE(a, (int)i) % unit)
            return opaque(z, o);
    }
    if (chars) {
        shape[ndim] = PyArray_ITEMSIZE(a);
        strides[ndim++] = 1;
    }
    tr_obj *r = new_obj(z, TR_OBJ_ARRAY, o, "");
    tr_layout layout = layout_of(a);
    r->ty =
        tr_ty_array(z->ctx->types, elem, ndim, chars && layout == TR_LAYOUT_F ? TR_LAYOUT_ANY : layout, true);
    r->date = date;
    r->chars = chars;
    r->repr = tr_ty_user(arena(z), tr_obj_type(arena(z), z->ctx->types, r));
    r->u.a.data = PyArray_DATA(a);
    r->u.a.shape = shape;
    r->u.a.strides = strides;
    assert(tr_ty_nparts(r->ty) >= 2 + ndim && "an array's parts are owner, data and sizes");
    r->u.a.index = z->prog->arrays.n;
    tr_vec_push(arena(z), &z->prog->arrays, r);
    bind_symbol(z, tr_arena_printf(arena(z), "tr_arr_%u", r->u.a.index), r->u.a.data);
    return r;
}

/* An array that lies on a device is no copy: it is used where it lies, which stands in a table that is bound
 * when code is loaded. NULL: it is none. */
static tr_obj *freeze_placed(tr_frozen *z, PyObject *o) {
    PyObject *m = z->host->placed ? z->host->placed(z->host->user, o) : NULL;
    npy_intp one = 1;
    if (!ok(z, m || !PyErr_Occurred()) || !m || !(m = taken(z, m)))
        return NULL;
    PyArrayObject *a = (PyArrayObject *)m;
    PyArray_Descr *dtype = PyArray_DESCR(a);
    const tr_ty *date = PyArray_ISNBO(dtype->byteorder) ? tr_date_type(z->ctx->types, dtype) : NULL,
                *elem = date ? tr_ty_scalar(z->ctx->types, TR_TY_I64) : item_type(z, dtype);
    uint32_t ndim = (uint32_t)PyArray_NDIM(a);
    bool fits = elem && ndim <= TR_MAX_NDIM && PyArray_CHKFLAGS(a, NPY_ARRAY_ALIGNED);
    for (uint32_t i = 0; fits && i < ndim; i++)
        fits = PyArray_STRIDE(a, (int)i) % (int64_t)PyArray_ITEMSIZE(a) == 0;
    PyObject *at = fits ? PyArray_SimpleNew(1, &one, NPY_INT64) : NULL;
    if (!fits)
        return opaque(z, o);
    ok(z, at != NULL);
    if (!(at = taken(z, at)))
        return NULL;
    *(int64_t *)PyArray_DATA((PyArrayObject *)at) = (int64_t)(intptr_t)PyArray_DATA(a);
    PyArray_CLEARFLAGS((PyArrayObject *)at, NPY_ARRAY_WRITEABLE); /* so it is taken as it is */
    int64_t *shape = TR_NEW_N(arena(z), int64_t, ndim + 1), *strides = TR_NEW_N(arena(z), int64_t, ndim + 1);
    for (uint32_t i = 0; i < ndim; i++) {
        shape[i] = PyArray_DIM(a, (int)i);
        strides[i] = PyArray_STRIDE(a, (int)i) / (int64_t)PyArray_ITEMSIZE(a);
    }
    if (!z->placed && !ok(z, (z->placed = PyList_New(0)) != NULL))
        return NULL;
    if (!ok(z, PyList_Append(z->placed, m) == 0))
        return NULL;
    tr_obj *r = new_obj(z, TR_OBJ_PLACED, o, "");
    r->ty = tr_ty_array(z->ctx->types, elem, ndim, layout_of(a), !PyArray_ISWRITEABLE(a));
    r->date = date;
    r->repr = tr_ty_user(arena(z), date ? tr_ty_dates(z->ctx->types, date, r->ty) : r->ty);
    r->u.p.table = freeze_table(z, at);
    r->u.p.shape = shape;
    r->u.p.strides = strides;
    r->u.p.name = z->reading ? text_of(z, z->reading) : NULL;
    return r->u.p.table ? r : NULL;
}

/* What the host made for the program to find addresses in. */
static tr_obj *freeze_table(tr_frozen *z, PyObject *a) {
    tr_obj *r = freeze_array(z, a);
    if (r)
        r->u.a.bound = true;
    return r;
}

/* --- functions, classes, modules --- */

static void add_scope(tr_frozen *z, tr_func f, scope s) {
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
static tr_func func_of_code(tr_frozen *z, PyCodeObject *c) {
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
static bool freeze_defaults(tr_frozen *z, tr_func *f, PyFunctionObject *fn) {
    const tr_obj **v = TR_NEW_N(arena(z), const tr_obj *, f->nargs + f->nkwonly + 1);
    PyObject *defaults = taken(z, Py_XNewRef(fn->func_defaults)),
             *named = taken(z, Py_XNewRef(fn->func_kwdefaults));
    uint32_t n = defaults && PyTuple_Check(defaults) ? (uint32_t)PyTuple_GET_SIZE(defaults) : 0;
    for (uint32_t i = 0; i < n && n <= f->nargs; i++)
        if (!(v[f->nargs - n + i] = freeze_value(z, PyTuple_GET_ITEM(defaults, i))))
            return false;
    for (uint32_t i = f->nargs; named && i < f->nargs + f->nkwonly; i++) {
        PyObject *d = tr_py_dict_get_text(named, f->argnames[i]);
        if (d && !(v[i] = freeze_taken(z, d)))
            return false;
    }
    f->defaults = v;
    return !z->failed;
}

/* Function objects can be given other code and globals while they live; what we read must not go with
 * them. */
static scope scope_of(tr_frozen *z, PyFunctionObject *fn, PyObject *locals) {
    return (scope){.code = taken(z, Py_NewRef(fn->func_code)),
                   .globals = taken(z, Py_NewRef(fn->func_globals)),
                   .builtins = taken(z, Py_NewRef(fn->func_builtins)),
                   .closure = taken(z, Py_XNewRef(fn->func_closure)),
                   .locals = taken(z, Py_XNewRef(locals)),
                   .parent = UINT32_MAX};
}

/* The module of these globals is one of treadle/_library. */
static bool is_library(tr_frozen *z, PyObject *globals) {
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
static tr_obj *freeze_function(tr_frozen *z, PyObject *o, PyObject *of, const tr_ufn *ufn, PyObject *locals) {
    PyFunctionObject *fn = (PyFunctionObject *)of;
    scope s = scope_of(z, fn, locals);
    PyObject *name = taken(z, Py_XNewRef(fn->func_name)), *qualname = taken(z, Py_XNewRef(fn->func_qualname));
    if (z->failed)
        return NULL;
    tr_func f = func_of_code(z, (PyCodeObject *)s.code);
    f.name = text_of(z, name);
    f.qualname = text_of(z, qualname);
    f.py = o;
    f.ufn = ufn;
    f.library = is_library(z, s.globals);
    take_memory(z, &f, (PyCodeObject *)s.code);
    tr_obj *r = new_obj(z, TR_OBJ_FUNC, o, tr_arena_printf(arena(z), "function '%s'", f.name));
    r->u.func = z->prog->funcs.n;
    tr_map_set(arena(z), &z->known, (uint64_t)(uintptr_t)o,
               (uint64_t)(uintptr_t)r); /* before defaults, which may refer to it */
    add_scope(z, f, s);
    if (!freeze_defaults(z, &f, fn))
        return NULL;
    z->prog->funcs.d[r->u.func].defaults = f.defaults;
    return r;
}

static const tr_contract *contract(tr_frozen *z, const tr_wishes *w) {
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
static tr_obj *freeze_decorated(tr_frozen *z, PyObject *o, PyObject *fn, const tr_wishes *w) {
    uint64_t known;
    tr_obj *body = NULL;
    if (w->locals)
        body = hold(z, fn) ? freeze_function(z, o, fn, NULL, w->locals) : NULL;
    else if (tr_map_get(&z->known, (uint64_t)(uintptr_t)fn, &known))
        body = (tr_obj *)(uintptr_t)known;
    else if (hold(z, fn))
        body = freeze_function(z, fn, fn, NULL, NULL);
    if (!body)
        return NULL;
    if (w->links && !ok(z, tr_freeze_add_links(z, w->links)))
        return NULL;
    tr_obj *r = new_obj(z, TR_OBJ_FUNC, o, body->repr);
    r->u.func = body->u.func;
    r->u.contract = contract(z, w);
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
static bool is_missing(tr_frozen *z, PyObject *o) {
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
static PyObject *library_function(tr_frozen *z, PyObject *o, tr_wishes *out, PyObject **members) {
    bool part =
        PyFunction_Check(o) && is_library(z, taken(z, Py_NewRef(((PyFunctionObject *)o)->func_globals)));
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
static tr_obj *freeze_members(tr_frozen *z, PyObject *o, tr_obj *of, PyObject *members) {
    uint32_t n = (uint32_t)PyTuple_GET_SIZE(members);
    if (!of || !n)
        return of;
    tr_attr *attrs = TR_NEW_N(arena(z), tr_attr, n);
    for (uint32_t i = 0; i < n; i++) {
        PyObject *name = PyTuple_GET_ITEM(members, i), *v = taken(z, PyObject_GetAttr(o, name));
        attrs[i] = (tr_attr){text_of(z, name), ok(z, v) && hold(z, v) ? freeze_value(z, v) : NULL};
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
static tr_obj *freeze_inner(tr_frozen *z, PyObject *o, uint32_t parent) {
    PyCodeObject *c = (PyCodeObject *)o;
    tr_func f = func_of_code(z, c);
    uint32_t *idx = TR_NEW_N(arena(z), uint32_t, c->co_nfreevars + 1);
    for (uint32_t i = 0; i < (uint32_t)c->co_nlocalsplus; i++)
        if ((uint8_t)PyBytes_AS_STRING(c->co_localspluskinds)[i] & FREE_VAR)
            idx[f.nfree++] = i;
    f.freeidx = idx;
    tr_obj *r = new_obj(z, TR_OBJ_CODE, o, tr_arena_printf(arena(z), "code of '%s'", f.name));
    r->u.func = z->prog->funcs.n;
    scope *s = &z->scopes.d[parent];
    add_scope(z, f, (scope){o, s->globals, s->builtins, NULL, NULL, parent, 0});
    return r;
}

/* Fills the items of a named tuple's class: the defaults of its fields, NULL where there is none. */
static bool field_defaults(tr_frozen *z, PyTypeObject *cls, tr_obj *r) {
    PyObject *d = taken(z, tr_py_dict_get_text(cls->tp_dict, "_field_defaults"));
    const tr_obj **v = TR_NEW_N(arena(z), const tr_obj *, r->u.t.n + 1);
    for (uint32_t i = 0; d && PyDict_Check(d) && i < r->u.t.n; i++) {
        PyObject *x = tr_py_dict_get_text(d, r->u.t.fields[i]);
        if (x && !(v[i] = freeze_taken(z, x)))
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
static PyObject *builtin_exception(tr_frozen *z, uint32_t row) {
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
        PyObject *b = builtin_exception(z, i);
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
static tr_obj *freeze_own_exc(tr_frozen *z, tr_objk kind, PyObject *o) {
    const char *name = (kind == TR_OBJ_EXC ? (PyTypeObject *)o : Py_TYPE(o))->tp_name,
               *dot = strrchr(name, '.');
    const char *repr = dot ? dot + 1 : name;
    tr_obj *r = new_obj(z, kind, o,
                        kind == TR_OBJ_EXC ? tr_arena_strdup(arena(z), repr)
                                           : tr_arena_printf(arena(z), "exception '%s'", repr));
    assert(z->exc_classes.n == z->prog->own_excs.n && z->prog->excs.n == z->prog->own_excs.n &&
           "each exception of the program's own has its place among the others");
    r->u.exc = TR_EXC__COUNT + z->prog->excs.n;
    bind_symbol(z, tr_arena_printf(arena(z), "tr_exc_%u", z->prog->excs.n), o);
    tr_vec_push(arena(z), &z->prog->excs, r);
    place_exc(z, class_of_exc(o), tr_arena_strdup(arena(z), repr),
              kind == TR_OBJ_EXC && is_plain_exc((PyTypeObject *)o));
    return r;
}

static tr_obj *freeze_class(tr_frozen *z, PyObject *o) {
    uint32_t n = 0;
    if (tr_value_is_enum((PyTypeObject *)o)) {
        tr_obj *r = new_obj(z, TR_OBJ_MODULE, o,
                            tr_arena_printf(arena(z), "enum '%s'", ((PyTypeObject *)o)->tp_name));
        r->u.m.name = tr_arena_strdup(arena(z), ((PyTypeObject *)o)->tp_name);
        return r;
    }
    const char *const *fields = field_names(z, (PyTypeObject *)o, &n);
    if (fields) {
        tr_obj *r = new_obj(z, TR_OBJ_NTCLASS, o,
                            tr_arena_printf(arena(z), "class '%s'", ((PyTypeObject *)o)->tp_name));
        r->u.t.n = n;
        r->u.t.fields = fields;
        PyObject *item = tr_py_dict_get_text(((PyTypeObject *)o)->tp_dict, "_vector_");
        const tr_obj *type = item ? freeze_taken(z, item) : NULL;
        r->ty =
            type && type->kind == TR_OBJ_TYPE && n && n <= 4 && tr_ty_is_scalar(type->ty) ? type->ty : NULL;
        return set_class(z, r, o) && field_defaults(z, (PyTypeObject *)o, r) ? r : NULL;
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
        return freeze_own_exc(z, TR_OBJ_EXC, o);
    }
    if (PyType_IsSubtype((PyTypeObject *)o, &PyGenericArrType_Type))
        return freeze_np_class(z, o);
    return opaque(z, o);
}

static tr_obj *freeze_module(tr_frozen *z, PyObject *o) {
    const char *name = PyModule_GetName(o);
    if (!name)
        PyErr_Clear();
    tr_obj *r = new_obj(z, TR_OBJ_MODULE, o, tr_arena_printf(arena(z), "module '%s'", name ? name : "?"));
    r->u.m.name = tr_arena_strdup(arena(z), name ? name : "?");
    return r;
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
    const tr_obj *o = v && fine ? freeze_value(z, v) : NULL;
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
        tr_obj *r = freeze_function(z, o, of, ufn, wishes.locals);
        if (r)
            r->u.contract = contract(z, &wishes);
        return r;
    }
    PyObject *members = NULL, *fn = library_function(z, o, &wishes, &members);
    if (!fn && z->host->unwrap && !PyFunction_Check(o) && !z->failed)
        fn = z->host->unwrap(z->host->user, arena(z), o, &wishes);
    if (z->failed || (!fn && !PyFunction_Check(o)))
        return NULL;
    const char *why = reason_of(z, fn ? fn : o);
    if (why)
        return new_obj(z, TR_OBJ_OPAQUE, o, why);
    if (!fn && is_missing(z, o))
        return opaque(z, o);
    if (fn && !wishes.library && is_library(z, taken(z, Py_NewRef(((PyFunctionObject *)fn)->func_globals))))
        return hold(z, fn) ? freeze_function(z, o, fn, NULL, NULL)
                           : NULL; /* a stencil: its options are its caller's */
    if (members)
        return freeze_members(z, o, freeze_decorated(z, o, fn, &wishes), members);
    return fn ? freeze_decorated(z, o, fn, &wishes) : freeze_function(z, o, o, NULL, NULL);
}

/* A ufunc that is neither ours nor a row of builtins.def: its C loops are called. */
static tr_obj *freeze_ufunc(tr_frozen *z, PyObject *o) {
    PyObject *a = NULL;
    const char *why = NULL;
    const tr_ufn *fn = tr_freeze_loops(arena(z), z->ctx->types, o, &a, &why);
    if (!fn)
        return ok(z, why != NULL) ? new_obj(z, TR_OBJ_OPAQUE, o, why) : NULL;
    a = taken(z, a);
    tr_obj *table = a ? freeze_table(z, a) : NULL;
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
    tr_obj *table = freeze_table(z, a);
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
    x->table = freeze_table(z, a);
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
    tr_obj *r = freeze_number(z, o);
    if (r)
        return r;
    if (tr_value_is_enum(Py_TYPE(o)))
        return freeze_member(z, o);
    if (o == Py_Ellipsis)
        return new_obj(z, TR_OBJ_ELLIPSIS, o, "...");
    if (PyUnicode_CheckExact(o))
        return freeze_str(z, o);
    if (PyBytes_CheckExact(o))
        return freeze_bytes(z, o);
    if (PyTuple_Check(o))
        return freeze_tuple(z, o);
    if (PySlice_Check(o))
        return freeze_slice(z, o);
    if (PyFrozenSet_CheckExact(o))
        return freeze_set(z, o);
    r = freeze_known(z, o);
    if (r || z->failed)
        return r;
    if (PyArray_CheckExact(o))
        return freeze_array(z, o);
    if (PyArray_IsScalar(o, Generic))
        return freeze_np_scalar(z, o);
    if (PyArray_DescrCheck(o))
        return freeze_dtype(z, o, (PyArray_Descr *)o);
    if (PyType_Check(o))
        return freeze_class(z, o);
    if (PyModule_Check(o))
        return freeze_module(z, o);
    if (PyObject_TypeCheck(o, &PyUFunc_Type))
        return freeze_ufunc(z, o);
    if (PyExceptionInstance_Check(o))
        return freeze_own_exc(z, TR_OBJ_EXCVAL, o);
    r = freeze_generator(z, o);
    if (!r && !z->failed)
        r = freeze_partial(z, o);
    if (!r && !z->failed)
        r = freeze_list(z, o);
    if (!r && !z->failed)
        r = freeze_dict(z, o);
    if (!r && !z->failed)
        r = freeze_own_set(z, o);
    if (!r && !z->failed)
        r = freeze_placed(z, o);
    if (!r && !z->failed)
        r = freeze_ffi(z, o);
    if (!r && !z->failed)
        r = freeze_extern(z, o);
    return r || z->failed ? r : opaque(z, o);
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

static const tr_obj *freeze_value(tr_frozen *z, PyObject *o) {
    const tr_obj *old = known_as(z, o);
    return old ? old : hold(z, o) ? freeze_held(z, o) : NULL;
}

/* The same of what came from a lookup: takes the reference. NULL for NULL. */
static const tr_obj *freeze_taken(tr_frozen *z, PyObject *o) {
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
    const tr_obj *r = freeze_taken(z, o);
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
        const tr_obj *fn = freeze_value(z, PyTuple_GET_ITEM(of, 1));
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
        v[i] = PyCode_Check(o) ? freeze_inner(z, o, func) : freeze_value(z, o);
        if (!v[i] || (PyUnicode_CheckExact(o) && !freeze_method(z, o))) /* getattr and hasattr name them so */
            return false;
    }
    out->consts = v;
    return true;
}

/* What a free variable holds, looked up through the functions that enclose it; NULL: a local of one of them,
 * or empty. */
static const tr_obj *freeze_free(tr_frozen *z, uint32_t func, PyObject *name) {
    const scope *s = &z->scopes.d[func];
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
    scope s = z->scopes.d[func];
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
    scope s = z->scopes.d[func];
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

/* Of an enum the members that strings of the code name: `Color["red"]`. */
static void indexed_members(tr_frozen *z, uint32_t func, const tr_obj *o) {
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
        indexed_members(z, r->func, o);
}

/* Types that the option `locals` declares for variables of the function. Those of arrays say what inference
 * finds anyway. */
static bool freeze_locals(tr_frozen *z, PyObject *locals, tr_code *c) {
    c->declared = TR_NEW_N(arena(z), const tr_obj *, c->nlocalsplus + 1);
    for (uint32_t i = 0; locals && i < c->nlocalsplus; i++) {
        PyObject *t = tr_py_dict_get_text(locals, c->localsplus[i]);
        const tr_obj *o = freeze_taken(z, t);
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
    uint32_t errs = z->ctx->nerrs;
    bool decoded = tr_front_chains(z->ctx, out, reached, &r);
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
        to[i] = builtin_exception(z, i);
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
    const tr_obj *r = freeze_value(z, o);
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
    scope s = scope_of(z, (PyFunctionObject *)o, NULL);
    PyCodeObject *c = (PyCodeObject *)s.code;
    if (z->failed)
        return false;
    tr_func f = func_of_code(z, c);
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
    add_scope(z, f, s);
    if (!freeze_defaults(z, &f, (PyFunctionObject *)o)) /* those of keywords alone: the others are operands */
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
