/* Python objects to plain data: numbers, texts, tuples and containers, dtypes, arrays (ext/freeze.h).
 *
 * Long, as each kind of object is a few lines that share nothing. */
#include "ext/freeze_own.h"

#include "ext/chars.h"
#include "ext/check.h"
#include "ext/compat.h"
#include "ext/date.h"
#include "ext/record.h"
#include "ext/value.h"
#include "lib/em.h"

enum { MAX_TUPLE_DEPTH = 32, MAX_REPR = 60 };

/* Of exact builtin types only: no user code runs, but repr() looks for signals, and what their handlers raise
 * counts. */
static const char *repr_of(tr_frozen *z, PyObject *o) {
    PyObject *r = PyObject_Repr(o);
    ok(z, r != NULL);
    const char *s = text_of(z, r);
    Py_XDECREF(r);
    return strlen(s) > MAX_REPR ? tr_arena_printf(arena(z), "%.*s...", MAX_REPR - 3, s) : s;
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

tr_obj *tr_frozen_str(tr_frozen *z, PyObject *o) {
    Py_ssize_t n;
    const char *d = PyUnicode_AsUTF8AndSize(o, &n);
    PyObject *with = NULL;
    if (!d) { /* a lone surrogate, or no memory */
        PyErr_Clear();
        with = taken(z, PyUnicode_AsEncodedString(o, "utf-8", "surrogatepass"));
        d = with ? PyBytes_AS_STRING(with) : NULL;
        n = with ? PyBytes_GET_SIZE(with) : 0;
    }
    if (!d || strlen(d) != (size_t)n) { /* a NUL: texts end there from here on */
        PyErr_Clear();
        return tr_frozen_opaque(z, o);
    }
    tr_obj *r = new_obj(z, TR_OBJ_STR, o, repr_of(z, o));
    r->u.s.d = tr_arena_strndup(arena(z), d, (size_t)n);
    r->u.s.n = (uint32_t)n;
    return r;
}

/* A byte is the character of its number, and a zero, where texts end, the one behind the last. */
tr_obj *tr_frozen_bytes(tr_frozen *z, PyObject *o) {
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

/* Members of this class are equal to themselves alone, as those of a plain enum are. */
static bool has_no_equality(const PyTypeObject *cls) {
    return cls->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

/* They are true. */
static bool has_no_truth(const PyTypeObject *cls) {
    return !(cls->tp_as_number && cls->tp_as_number->nb_bool) &&
           !(cls->tp_as_sequence && cls->tp_as_sequence->sq_length) &&
           !(cls->tp_as_mapping && cls->tp_as_mapping->mp_length);
}

/* The method of that name is one of the module enum's. False, too, with an exception. */
static bool is_enums_own(PyObject *o, const char *name) {
    PyObject *method = PyObject_GetAttrString((PyObject *)Py_TYPE(o), name),
             *module = method ? PyObject_GetAttrString(method, "__module__") : NULL;
    bool own = module && PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "enum") == 0;
    Py_XDECREF(method);
    Py_XDECREF(module);
    return own;
}

/* Whether a member is true, where its class says that. */
static void freeze_truth(tr_obj *r, PyObject *o) {
    bool flag = is_enums_own(o, "__bool__");
    if (PyErr_Occurred())
        PyErr_Clear();
    int truth = flag ? PyObject_IsTrue(o) : 1;
    if (truth < 0)
        PyErr_Clear();
    r->u.m.own_bool = !flag || truth < 0;
    r->u.m.is_false = truth == 0;
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
tr_obj *tr_frozen_member(tr_frozen *z, PyObject *o) {
    static const char *const own[] = {"_value_", "_name_", "value", "name"};
    bool is_value = false;
    tr_attr *attrs = TR_NEW_N(arena(z), tr_attr, 4);
    for (int i = 0; i < 4; i++) {
        PyObject *v = i < 2 ? PyObject_GetAttrString(o, own[i]) : NULL;
        if (i == 0 && v)
            is_value = is_its_value(o, v);
        attrs[i] = (tr_attr){own[i], i < 2 ? ok(z, v) ? tr_frozen_taken(z, v) : NULL : attrs[i - 2].obj};
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
    bool is_int = PyLong_Check(o) && Py_TYPE(o)->tp_richcompare == PyLong_Type.tp_richcompare;
    r->u.m.one = has_no_equality(Py_TYPE(o)) && has_no_truth(Py_TYPE(o));
    r->u.m.is_value = is_value;
    r->u.m.own_eq = !has_no_equality(Py_TYPE(o)) && !is_value;
    if (!has_no_truth(Py_TYPE(o)) && !is_value)
        freeze_truth(r, o);
    if (!is_int)
        return r;
    tr_obj *n = freeze_int(z, o);
    n->member = n->kind == TR_OBJ_INT ? r : NULL;
    return n;
}

tr_obj *tr_frozen_number(tr_frozen *z, PyObject *o) {
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
        v[i] = tr_frozen_any(z, items[i]);
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
const char *const *tr_frozen_field_names(tr_frozen *z, PyTypeObject *cls, uint32_t *n) {
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

bool tr_frozen_set_class(tr_frozen *z, tr_obj *r, PyObject *cls) {
    r->u.t.name = tr_arena_strdup(arena(z), ((PyTypeObject *)cls)->tp_name);
    return !z->host->serial || ok(z, z->host->serial(z->host->user, cls, &r->u.t.serial));
}

tr_obj *tr_frozen_tuple(tr_frozen *z, PyObject *o) {
    uint32_t n = (uint32_t)PyTuple_GET_SIZE(o), nfields = 0;
    const char *const *fields = NULL;
    if (!PyTuple_CheckExact(o) &&
        (!(fields = tr_frozen_field_names(z, Py_TYPE(o), &nfields)) || nfields != n))
        return tr_frozen_opaque(z, o);
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
        if (!tr_frozen_set_class(z, r, (PyObject *)Py_TYPE(o)))
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
    tr_obj *slot = tr_frozen_table(z, a), *r = new_obj(z, TR_OBJ_CONTAINER, o, what);
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
tr_obj *tr_frozen_list(tr_frozen *z, PyObject *o) {
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
tr_obj *tr_frozen_set(tr_frozen *z, PyObject *o) {
    PyObject *t = PySequence_Tuple(o);
    ok(z, t != NULL);
    t = taken(z, t);
    return t ? tr_frozen_tuple(z, t) : NULL;
}

tr_obj *tr_frozen_slice(tr_frozen *z, PyObject *o) {
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
        v[i] = tr_frozen_any(z, part[i]);
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
tr_obj *tr_frozen_dict(tr_frozen *z, PyObject *o) {
    if (!PyDict_CheckExact(o))
        return NULL;
    tr_obj *r = freeze_names(z, o);
    return r || z->failed ? r : freeze_large(z, o, "dict", (size_t)PyDict_GET_SIZE(o));
}

/* NULL: it is none. */
tr_obj *tr_frozen_own_set(tr_frozen *z, PyObject *o) {
    if (!PySet_CheckExact(o))
        return NULL;
    return PySet_GET_SIZE(o) ? freeze_large(z, o, "set", (size_t)PySet_GET_SIZE(o)) : tr_frozen_set(z, o);
}

/* A functools.partial, as it is now: nobody is meant to change one. NULL: it is none. */
tr_obj *tr_frozen_partial(tr_frozen *z, PyObject *o) {
    static const char *const own[] = {"func", "args", "keywords"};
    PyTypeObject *of = Py_TYPE(o), *base = of->tp_base;
    if (base && base->tp_call == of->tp_call && strcmp(base->tp_name, "functools.partial") == 0)
        of = base; /* a class that calls what it does */
    const tr_obj *cls =
        strcmp(of->tp_name, "functools.partial") == 0 ? tr_frozen_any(z, (PyObject *)of) : NULL;
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
        if (!(v[i] = tr_frozen_any(z, part[i])) || (i > 0 && v[i]->kind != TR_OBJ_TUPLE))
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

tr_obj *tr_frozen_dtype(tr_frozen *z, PyObject *o, PyArray_Descr *d) {
    const tr_ty *date = PyArray_ISNBO(d->byteorder) ? tr_date_type(z->ctx->types, d) : NULL,
                *ty = date ? date : item_type(z, d);
    char chars = tr_npchars_letter(d);
    if (chars) /* so many bytes, under NumPy's name */
        ty = tr_ty_opaque(z->ctx->types, (uint32_t)PyDataType_ELSIZE(d), chars == 'U' ? "<U" : "|S");
    if (!ty)
        return tr_frozen_opaque(z, o);
    tr_obj *r = new_obj(z, TR_OBJ_TYPE, o, tr_ty_user(arena(z), ty));
    r->ty = ty;
    return r;
}

tr_obj *tr_frozen_np_class(tr_frozen *z, PyObject *o) {
    PyArray_Descr *d = PyArray_DescrFromTypeObject(o);
    if (!d) {
        PyErr_Clear();
        return tr_frozen_opaque(z, o);
    }
    /* An abstract class (np.floating) has a default dtype, which is not the class. */
    tr_obj *r = (PyObject *)d->typeobj == o ? tr_frozen_dtype(z, o, d) : tr_frozen_opaque(z, o);
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

tr_obj *tr_frozen_np_scalar(tr_frozen *z, PyObject *o) {
    if (Py_IS_TYPE(o, &PyDatetimeArrType_Type) || Py_IS_TYPE(o, &PyTimedeltaArrType_Type)) {
        tr_obj *date = freeze_date(z, o);
        return date || z->failed ? date : tr_frozen_opaque(z, o);
    }
    PyArray_Descr *d = PyArray_DescrFromScalar(o);
    if (!d) {
        PyErr_Clear();
        return tr_frozen_opaque(z, o);
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
        return tr_frozen_opaque(z, o);
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
void tr_freeze_bind(tr_frozen *z, const char *name, void *addr) {
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
tr_obj *tr_frozen_array(tr_frozen *z, PyObject *o) {
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
            return tr_frozen_opaque(z, o);
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
    tr_freeze_bind(z, tr_arena_printf(arena(z), "tr_arr_%u", r->u.a.index), r->u.a.data);
    return r;
}

/* An array that lies on a device is no copy: it is used where it lies, which stands in a table that is bound
 * when code is loaded. NULL: it is none. */
tr_obj *tr_frozen_placed(tr_frozen *z, PyObject *o) {
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
        return tr_frozen_opaque(z, o);
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
    r->u.p.table = tr_frozen_table(z, at);
    r->u.p.shape = shape;
    r->u.p.strides = strides;
    r->u.p.name = z->reading ? text_of(z, z->reading) : NULL;
    return r->u.p.table ? r : NULL;
}

/* What the host made for the program to find addresses in. */
tr_obj *tr_frozen_table(tr_frozen *z, PyObject *a) {
    tr_obj *r = tr_frozen_array(z, a);
    if (r)
        r->u.a.bound = true;
    return r;
}
