/* Type objects, and reading what users write where a type is meant. See types.h. */
#include "ext/types.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "ext/compat.h"
#include "ext/date.h"
#include "ext/ntclass.h"
#include "ext/record.h"

static tr_typeobj *as_type(tr_state *st, PyObject *o) {
    return Py_IS_TYPE(o, st->type_type) ? (tr_typeobj *)o : NULL;
}

/* --- making Type objects --- */

static PyObject *type_alloc(tr_state *st, const tr_ty *ty, PyObject *value) {
    tr_typeobj *t = (tr_typeobj *)st->type_type->tp_alloc(st->type_type, 0);
    if (t) {
        assert((ty == NULL) == (value != NULL) && "it stands for a type, or for a constant");
        t->ty = ty;
        t->value = Py_XNewRef(value);
    }
    return (PyObject *)t;
}

/* The one object of a type that lives as long as the process. */
static PyObject *numbered(tr_state *st, const tr_ty *ty) {
    assert(!ty->local && "what lives as long as the process has a number of its own");
    if (ty->id >= st->ntype_objs) {
        uint32_t n = ty->id + 64;
        PyObject **p = PyMem_Realloc(st->type_objs, n * sizeof *p);
        if (!p)
            return PyErr_NoMemory();
        memset(p + st->ntype_objs, 0, (n - st->ntype_objs) * sizeof *p);
        st->type_objs = p;
        st->ntype_objs = n;
    }
    if (st->type_objs[ty->id])
        return Py_NewRef(st->type_objs[ty->id]);
    PyObject *t = type_alloc(st, ty, NULL); /* may run code that comes here as well */
    if (t && !st->type_objs[ty->id])
        st->type_objs[ty->id] = Py_NewRef(t);
    else if (t)
        Py_SETREF(t, Py_NewRef(st->type_objs[ty->id]));
    return t;
}

PyObject *tr_types_object(tr_state *st, const tr_ty *ty) {
    if (!ty)
        return PyErr_NoMemory();
    if (ty->local) { /* mentions objects of one compilation; its text is all that outlives it */
        tr_sb b;
        tr_sb_init(&b);
        tr_ty_print_user(&b, ty);
        PyObject *text = PyUnicode_FromString(b.d ? b.d : "");
        PyObject *t = text ? type_alloc(st, NULL, text) : NULL;
        Py_XDECREF(text);
        tr_sb_fini(&b);
        return t;
    }
    tr_py_section gate;
    tr_py_section_begin(&gate, st->gate);
    PyObject *t = numbered(st, ty);
    tr_py_section_end(&gate);
    return t;
}

PyObject *tr_types_of_pattern(tr_state *st, const tr_argk *k) {
    if (!tr_argk_has_const(k))
        return tr_types_object(st, tr_argk_type(st->types, k, NULL, NULL));
    if (k->n == 0) {
        PyObject *value = tr_argk_constant(k), *t = value ? type_alloc(st, NULL, value) : NULL;
        if (!value)
            PyErr_SetString(PyExc_ReferenceError, "a function or class that was an argument is gone");
        Py_XDECREF(value);
        return t;
    }
    PyObject *items = PyTuple_New(k->n); /* a tuple that holds constants */
    for (uint32_t i = 0; items && i < k->n; i++) {
        PyObject *item = tr_types_of_pattern(st, &k->items[i]);
        if (!item)
            Py_CLEAR(items);
        else
            PyTuple_SET_ITEM(items, i, item);
    }
    PyObject *t = items ? type_alloc(st, NULL, items) : NULL;
    Py_XDECREF(items);
    return t;
}

/* --- reading types --- */

const char *tr_types_text(PyObject *o) {
    Py_ssize_t n;
    const char *text = PyUnicode_AsUTF8AndSize(o, &n);
    if (text && strlen(text) != (size_t)n) {
        PyErr_Format(PyExc_TypeError, "bad signature %R: there is a NUL in it", o);
        return NULL;
    }
    return text;
}

static const tr_ty *from_text(tr_state *st, PyObject *o) {
    const char *text = tr_types_text(o), *msg = NULL;
    if (!text)
        return NULL;
    tr_arena a;
    jmp_buf oom;
    const tr_ty *ty = NULL;
    tr_arena_init(&a, &oom);
    if (setjmp(oom)) {
        tr_arena_fini(&a);
        PyErr_NoMemory();
        return NULL;
    }
    ty = tr_ty_parse_user(&a, st->types, text, &msg);
    if (!ty)
        PyErr_Format(PyExc_TypeError, "'%s' is not a type: %s", text, msg ? msg : "unknown name");
    tr_arena_fini(&a);
    return ty;
}

static const tr_ty *from_builtin(tr_state *st, PyObject *o) {
    static const struct {
        PyTypeObject *py;
        tr_tyk kind;
    } rows[] = {{&PyFloat_Type, TR_TY_F64},
                {&PyLong_Type, TR_TY_I64},
                {&PyBool_Type, TR_TY_BOOL},
                {&PyComplex_Type, TR_TY_C128}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (o == (PyObject *)rows[i].py)
            return tr_ty_scalar(st->types, rows[i].kind);
    return NULL;
}

static const tr_ty *from_dtype(tr_state *st, PyObject *o) {
    PyArray_Descr *d = (PyArray_Descr *)o;
    unsigned num = (unsigned)d->type_num;
    if (num < sizeof tr_value_npy_kind && tr_value_npy_kind[num] != 255 && d->byteorder != '>')
        return tr_ty_scalar(st->types, tr_value_npy_kind[num]);
    const tr_ty *date = d->byteorder != '>' ? tr_date_type(st->types, d) : NULL;
    if (date)
        return date;
    const char *why = NULL;
    const tr_ty *s = num == NPY_VOID ? tr_record_struct(st->types, d, &why) : NULL;
    if (s)
        return tr_ty_record(st->types, s, false, false);
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "dtype %R has no Treadle type%s%s", o, why ? ": it is of " : "",
                     why ? why : "");
    return NULL;
}

static const tr_ty *from_tuple(tr_state *st, PyObject *o) {
    uint32_t n = (uint32_t)PyTuple_GET_SIZE(o);
    const tr_ty **items = PyMem_Calloc(n + 1u, sizeof *items), *ty = NULL;
    bool ok = items != NULL;
    for (uint32_t i = 0; ok && i < n; i++)
        ok = (items[i] = tr_types_from(st, PyTuple_GET_ITEM(o, i))) != NULL;
    if (ok)
        ty = tr_ty_tuple(st->types, n, items);
    PyMem_Free(items);
    if (!ty && !PyErr_Occurred())
        PyErr_NoMemory();
    return ty;
}

const tr_ty *tr_types_from(tr_state *st, PyObject *o) {
    tr_typeobj *t = as_type(st, o);
    if (t && t->ty)
        return t->ty;
    if (o == Py_None)
        return tr_ty_none(st->types);
    if (PyUnicode_Check(o))
        return from_text(st, o);
    if (PyArray_DescrCheck(o))
        return from_dtype(st, o);
    if (PyTuple_CheckExact(o))
        return from_tuple(st, o);
    const tr_ty *ty = from_builtin(st, o);
    if (ty)
        return ty;
    if (PyType_Check(o) && PyObject_IsSubclass(o, (PyObject *)&PyGenericArrType_Type) == 1) {
        PyObject *d = (PyObject *)PyArray_DescrFromTypeObject(o);
        ty = d ? from_dtype(st, d) : NULL;
        Py_XDECREF(d);
        return ty;
    }
    PyErr_Clear();
    if (t)
        return PyErr_Format(PyExc_TypeError,
                            "%R is the type of one constant, which is no type of a declared signature", o),
               NULL;
    PyErr_Format(PyExc_TypeError,
                 "%R is not a type; write treadle.float64, \"float64\", treadle.float64[:] or the like", o);
    return NULL;
}

/* --- class Type --- */

static void type_dealloc(PyObject *self) {
    PyTypeObject *tp = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(((tr_typeobj *)self)->value);
    tp->tp_free(self);
    Py_DECREF(tp);
}

static int type_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((tr_typeobj *)self)->value);
    return 0;
}

static PyObject *user_text(const tr_ty *ty) {
    tr_sb b;
    tr_sb_init(&b);
    tr_ty_print_user(&b, ty);
    PyObject *s = b.oom ? PyErr_NoMemory() : PyUnicode_FromString(b.d ? b.d : "");
    tr_sb_fini(&b);
    return s;
}

static PyObject *type_repr(PyObject *self) {
    tr_typeobj *t = (tr_typeobj *)self;
    if (t->ty)
        return user_text(t->ty);
    if (PyTuple_Check(t->value))
        return PyUnicode_FromFormat("Tuple%R", t->value);
    if (PyUnicode_Check(t->value))
        return PyUnicode_FromFormat("Literal[str](%U)", t->value);
    PyObject *name = PyObject_GetAttrString(t->value, "__qualname__");
    if (!name) {
        PyErr_Clear();
        return PyUnicode_FromFormat("%s(%R)", Py_TYPE(t->value)->tp_name, t->value);
    }
    PyObject *r = PyUnicode_FromFormat("%s(%U)", PyType_Check(t->value) ? "class" : "function", name);
    Py_DECREF(name);
    return r;
}

static Py_hash_t type_hash(PyObject *self) {
    tr_typeobj *t = (tr_typeobj *)self;
    if (t->value)
        return PyObject_Hash(t->value);
    return (Py_hash_t)((uintptr_t)t->ty >> 4);
}

static PyObject *type_compare(PyObject *a, PyObject *b, int op) {
    if (Py_TYPE(a) != Py_TYPE(b) || (op != Py_EQ && op != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    tr_typeobj *x = (tr_typeobj *)a, *y = (tr_typeobj *)b;
    int same = x->ty == y->ty;
    if (same && x->value)
        same = PyObject_RichCompareBool(x->value, y->value, Py_EQ);
    if (same < 0)
        return NULL;
    return PyBool_FromLong((op == Py_EQ) == same);
}

/* "::1" or ":" as one item of an array subscript: 0, 1 for a step of one, -1 for anything else. */
static int slice_step(PyObject *o) {
    if (!PySlice_Check(o))
        return -1;
    PySliceObject *s = (PySliceObject *)o;
    if (s->start != Py_None || s->stop != Py_None)
        return -1;
    if (s->step == Py_None)
        return 0;
    return PyLong_CheckExact(s->step) && PyLong_AsLong(s->step) == 1 ? 1 : -1;
}

static PyObject *bad_subscript(void) {
    PyErr_SetString(
        PyExc_TypeError,
        "an array type is written with slices: T[:] any layout, T[::1] contiguous, T[:, ::1] C order, "
        "T[::1, :] Fortran order");
    return NULL;
}

/* Arrays of numbers, records or dates; NULL: of `item` there are none. */
static const tr_ty *arrays_of(tr_tytab *t, const tr_ty *item, unsigned ndim, tr_layout layout,
                              bool readonly) {
    if (tr_ty_is(item, TR_TY_RECORD))
        return tr_ty_records(t, tr_ty_array(t, item->items[0]->elem, ndim, layout, readonly), false);
    if (tr_ty_is(item, TR_TY_DATE))
        return tr_ty_dates(t, item, tr_ty_array(t, item->items[0], ndim, layout, readonly));
    return tr_ty_is_scalar(item) ? tr_ty_array(t, item, ndim, layout, readonly) : NULL;
}

static PyObject *type_subscript(PyObject *self, PyObject *key) {
    tr_state *st = tr_ext_state_of(self);
    tr_typeobj *t = (tr_typeobj *)self;
    bool many = PyTuple_Check(key);
    Py_ssize_t nd = many ? PyTuple_GET_SIZE(key) : 1;
    tr_layout layout = TR_LAYOUT_ANY;
    if (!t->ty || !arrays_of(st->types, t->ty, 1, layout, false))
        return PyErr_Format(PyExc_TypeError, "arrays of %R are not compiled", self);
    if (nd < 1 || nd > TR_MAX_NDIM)
        return PyErr_Format(PyExc_TypeError, "an array type has 1 to %d axes, not %zd", (int)TR_MAX_NDIM, nd);
    for (Py_ssize_t i = 0; i < nd; i++) {
        int step = slice_step(many ? PyTuple_GET_ITEM(key, i) : key);
        if (step < 0 || (step == 1 && (layout != TR_LAYOUT_ANY || (i != 0 && i != nd - 1))))
            return bad_subscript();
        if (step == 1)
            layout = i == nd - 1 ? TR_LAYOUT_C : TR_LAYOUT_F;
    }
    return tr_types_object(st, arrays_of(st->types, t->ty, (unsigned)nd, layout, false));
}

/* int32(x) of a value that is no type: the value converted, as NumPy converts it. */
static PyObject *convert_value(const tr_ty *ty, PyObject *x) {
    PyArray_Descr *d = PyArray_DescrFromType(tr_value_npy_num[ty->kind]);
    if (!d)
        return NULL;
    PyObject *r = PyObject_CallOneArg((PyObject *)d->typeobj, x);
    Py_DECREF(d);
    return r;
}

/* Says the object, which is no type, why compiled code cannot have it (TR_REASON_ATTR)? Then the exception
 * about it goes. */
static bool is_refused(PyObject *o) {
    PyObject *cls, *value, *trace;
    PyErr_Fetch(&cls, &value, &trace);
    PyObject *why = tr_freeze_reason(o);
    Py_XDECREF(why);
    if (!why) {
        PyErr_Restore(cls, value, trace);
        return false;
    }
    Py_XDECREF(cls);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return true;
}

static PyObject *type_call(PyObject *self, PyObject *args, PyObject *kw) {
    tr_state *st = tr_ext_state_of(self);
    tr_typeobj *t = (tr_typeobj *)self;
    if (kw && PyDict_GET_SIZE(kw)) {
        PyErr_SetString(PyExc_TypeError, "a type takes no keyword arguments");
        return NULL;
    }
    if (PyTuple_GET_SIZE(args) == 1 && t->ty && tr_ty_is_scalar(t->ty)) {
        PyObject *x = PyTuple_GET_ITEM(args, 0);
        if (PyFloat_Check(x) || PyLong_Check(x) || PyComplex_Check(x) || PyArray_CheckScalar(x))
            return convert_value(t->ty, x);
    }
    tr_sigobj *s = NULL;
    PyObject *types = PyTuple_New(PyTuple_GET_SIZE(args));
    for (Py_ssize_t i = 0; types && i < PyTuple_GET_SIZE(args); i++) {
        tr_typeobj *given = as_type(st, PyTuple_GET_ITEM(args, i));
        if (given && given->value) { /* a constant's: kernels take such signatures */
            PyTuple_SET_ITEM(types, i, Py_NewRef(given));
            continue;
        }
        const tr_ty *ty = tr_types_from(st, PyTuple_GET_ITEM(args, i));
        PyObject *o = ty ? tr_types_object(st, ty) : NULL;
        if (!ty && is_refused(PyTuple_GET_ITEM(args, i))) { /* so is a signature with such a type */
            Py_DECREF(types);
            return Py_NewRef(PyTuple_GET_ITEM(args, i));
        }
        if (!o)
            Py_CLEAR(types);
        else
            PyTuple_SET_ITEM(types, i, o);
    }
    if (types && (s = (tr_sigobj *)st->sig_type->tp_alloc(st->sig_type, 0))) {
        s->args = Py_NewRef(types);
        s->ret = Py_NewRef(self);
    }
    Py_XDECREF(types);
    return (PyObject *)s;
}

static PyObject *type_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    tr_typeobj *t = (tr_typeobj *)self;
    if (!t->ty) {
        PyErr_SetString(PyExc_TypeError, "the type of a constant cannot be pickled");
        return NULL;
    }
    tr_sb b;
    tr_sb_init(&b);
    tr_ty_print_ir(&b, t->ty);
    PyObject *module = PyImport_ImportModule("treadle._core");
    PyObject *make = module ? PyObject_GetAttrString(module, "_type_from_ir") : NULL;
    PyObject *r = make ? Py_BuildValue("O(s)", make, b.d) : NULL;
    Py_XDECREF(make);
    Py_XDECREF(module);
    tr_sb_fini(&b);
    return r;
}

static PyObject *get_name(PyObject *self, void *unused) {
    (void)unused;
    return type_repr(self);
}

/* The array that the type is of, or NULL; records are in one. */
static const tr_ty *array_of(PyObject *self) {
    const tr_ty *ty = ((tr_typeobj *)self)->ty;
    bool inside = ty && (tr_ty_is(ty, TR_TY_RECORDS) || tr_ty_is(ty, TR_TY_DATES));
    return inside ? ty->items[0] : ty && tr_ty_is(ty, TR_TY_ARRAY) ? ty : NULL;
}

static PyObject *get_dtype(PyObject *self, void *unused) {
    (void)unused;
    tr_state *st = tr_ext_state_of(self);
    const tr_ty *a = array_of(self), *list = ((tr_typeobj *)self)->ty;
    if (list && tr_ty_is(list, TR_TY_LIST))
        return tr_types_object(st, list->items[0]);
    if (!a) {
        PyErr_Format(PyExc_AttributeError, "%R is no array type", self);
        return NULL;
    }
    const tr_ty *whole = ((tr_typeobj *)self)->ty;
    if (tr_ty_is(whole, TR_TY_DATES))
        return tr_types_object(st, tr_ty_one_date(st->types, whole));
    return tr_types_object(st,
                           tr_ty_is_records(a) ? tr_ty_record(st->types, a->elem, false, false) : a->elem);
}

static PyObject *get_ndim(PyObject *self, void *unused) {
    (void)unused;
    const tr_ty *a = array_of(self);
    return PyLong_FromLong(a ? a->ndim : 0);
}

static PyObject *get_layout(PyObject *self, void *unused) {
    (void)unused;
    const tr_ty *a = array_of(self);
    if (!a)
        Py_RETURN_NONE;
    return PyUnicode_FromStringAndSize(&"CFA"[a->layout], 1);
}

static PyObject *get_mutable(PyObject *self, void *unused) {
    (void)unused;
    const tr_ty *a = array_of(self);
    return PyBool_FromLong(a && !a->readonly);
}

static PyObject *get_bitwidth(PyObject *self, void *unused) {
    (void)unused;
    const tr_ty *ty = ((tr_typeobj *)self)->ty;
    if (!ty || !tr_ty_is_scalar(ty))
        return PyErr_Format(PyExc_AttributeError, "%R is no scalar type", self);
    return PyLong_FromLong((long)tr_ty_size(ty) * 8);
}

static PyObject *get_types(PyObject *self, void *unused) {
    (void)unused;
    const tr_ty *ty = ((tr_typeobj *)self)->ty;
    PyObject *of = ((tr_typeobj *)self)->value; /* of a tuple with constants the types of its items */
    if (of && PyTuple_CheckExact(of))
        return Py_NewRef(of);
    uint32_t n = ty && tr_ty_is(ty, TR_TY_TUPLE) ? ty->n : 0;
    PyObject *r = PyTuple_New(n);
    for (uint32_t i = 0; r && i < n; i++) {
        PyObject *o = tr_types_object(tr_ext_state_of(self), ty->items[i]);
        if (!o)
            Py_CLEAR(r);
        else
            PyTuple_SET_ITEM(r, i, o);
    }
    return r;
}

static PyObject *get_literal(PyObject *self, void *unused) {
    (void)unused;
    PyObject *v = ((tr_typeobj *)self)->value;
    if (!v)
        return PyErr_Format(PyExc_AttributeError, "%R is not the type of a constant", self);
    return Py_NewRef(v);
}

static PyGetSetDef type_getset[] = {
    {"name", get_name, NULL, "The type as users write it.", NULL},
    {"dtype", get_dtype, NULL, "Item type of an array type or a list's.", NULL},
    {"ndim", get_ndim, NULL, "Rank of an array type; 0 for others.", NULL},
    {"layout", get_layout, NULL, "'C', 'F' or 'A' (any) for an array type, else None.", NULL},
    {"mutable", get_mutable, NULL, "True for an array type that may be written.", NULL},
    {"bitwidth", get_bitwidth, NULL, "Bits of a scalar type.", NULL},
    {"types", get_types, NULL, "Item types of a tuple type; () for others.", NULL},
    {"literal_value", get_literal, NULL, "The constant that this is the type of.", NULL},
    {0},
};

static PyMethodDef type_methods[] = {
    {"__reduce__", type_reduce, METH_NOARGS, NULL},
    {0},
};

PyDoc_STRVAR(type_doc, "A type of compiled code.\n\n"
                       "``float64(int32, int32)`` is a signature, ``float32[:, ::1]`` an array type, "
                       "``int8(3)`` a converted value.\n"
                       "Types are compared by identity.");

static PyType_Slot type_slots[] = {
    {Py_tp_dealloc, type_dealloc},
    {Py_tp_traverse, type_traverse},
    {Py_tp_repr, type_repr},
    {Py_tp_hash, type_hash},
    {Py_tp_richcompare, type_compare},
    {Py_tp_call, type_call},
    {Py_mp_subscript, type_subscript},
    {Py_tp_getset, type_getset},
    {Py_tp_methods, type_methods},
    {Py_tp_doc, (void *)type_doc},
    {0, NULL},
};

static PyType_Spec type_spec = {
    .name = "treadle._core.Type",
    .basicsize = sizeof(tr_typeobj),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = type_slots,
};

/* --- module functions --- */

static PyObject *py_typeof(PyObject *module, PyObject *x) {
    tr_state *st = tr_ext_state(module);
    tr_argk k;
    PyObject *array = PyBytes_CheckExact(x) ? NULL : tr_value_of_buffer(x), *t = NULL;
    if (tr_value_pattern(st, array ? array : x, NULL, NULL, &k)) {
        tr_argk_forget_strings(&k); /* they are values, unless a function asks for more */
        t = tr_types_of_pattern(st, &k);
        tr_argk_clear(&k);
    }
    Py_XDECREF(array);
    return t;
}

static PyObject *py_as_type(PyObject *module, PyObject *x) {
    const tr_ty *ty = tr_types_from(tr_ext_state(module), x);
    return ty ? tr_types_object(tr_ext_state(module), ty) : NULL;
}

static PyObject *py_array_type(PyObject *module, PyObject *args) {
    tr_state *st = tr_ext_state(module);
    PyObject *elem;
    int ndim, readonly;
    const char *layout;
    if (!PyArg_ParseTuple(args, "Oisp", &elem, &ndim, &layout, &readonly))
        return NULL;
    const tr_ty *ty = tr_types_from(st, elem);
    if (!ty)
        return NULL;
    size_t which = strlen(layout) == 1 ? strcspn("CFA", layout) : 3; /* tr_layout's order */
    bool fits = which < 3 && ndim >= 0 && ndim <= TR_MAX_NDIM;
    const tr_ty *a = fits ? arrays_of(st->types, ty, (unsigned)ndim, (tr_layout)which, readonly != 0) : NULL;
    if (!a)
        return PyErr_Format(PyExc_ValueError,
                            "an array type needs items that are numbers, records or dates, 0 to %d axes and "
                            "layout 'C', 'F' or 'A'",
                            (int)TR_MAX_NDIM);
    return tr_types_object(st, a);
}

static PyObject *py_ntuple_type(PyObject *module, PyObject *args) {
    tr_state *st = tr_ext_state(module);
    PyObject *types, *cls, *t = NULL;
    if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &types, &PyType_Type, &cls))
        return NULL;
    uint32_t n = (uint32_t)PyTuple_GET_SIZE(types), serial;
    if (!tr_ntclass_serial(st, cls, true,
                           &serial)) /* nothing else may hold a class that only a signature names */
        return NULL;
    const tr_ty **items = PyMem_Calloc(n + 1u, sizeof *items), *ty = NULL;
    bool ok = items != NULL;
    for (uint32_t i = 0; ok && i < n; i++)
        ok = (items[i] = tr_types_from(st, PyTuple_GET_ITEM(types, i))) != NULL;
    if (ok && (ty = tr_ntclass_type(st->types, cls, serial, n, items)))
        t = tr_types_object(st, ty);
    else if (!items)
        PyErr_NoMemory();
    PyMem_Free(items);
    return t;
}

static PyObject *py_from_ir(PyObject *module, PyObject *text) {
    tr_state *st = tr_ext_state(module);
    const char *s = tr_types_text(text);
    const tr_ty *ty = s ? tr_ty_parse_ir(st->types, &s) : NULL;
    if (!ty)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "%R is no type", text);
    return tr_types_object(st, ty);
}

static PyObject *py_type_names(PyObject *module, PyObject *unused) {
    (void)unused;
    tr_state *st = tr_ext_state(module);
    static const struct {
        const char *name;
        tr_tyk kind;
    } rows[] = {
#define X(name, id) {name, TR_TY_##id},
#include "ty/names.def"
#undef X
    };
    PyObject *d = PyDict_New();
    for (unsigned i = 0; d && i < sizeof rows / sizeof *rows; i++) {
        const tr_ty *ty =
            rows[i].kind == TR_TY_NONE ? tr_ty_none(st->types) : tr_ty_named(st->types, rows[i].kind);
        PyObject *t = tr_types_object(st, ty);
        if (!t || PyDict_SetItemString(d, rows[i].name, t) < 0)
            Py_CLEAR(d);
        Py_XDECREF(t);
    }
    return d;
}

static PyMethodDef functions[] = {
    {"typeof", py_typeof, METH_O,
     "typeof(x)\n--\n\nType that compiled code gives to an argument.\n\n"
     "Parameters\n----------\nx : object\n\nReturns\n-------\nType\n\n"
     "Raises\n------\nTypeError\n    Compiled code takes no such argument.\n\n"
     "Examples\n--------\n>>> treadle.typeof(np.ones((2, 3), np.float32))\narray(float32, 2d, C)"},
    {"as_type", py_as_type, METH_O,
     "as_type(x)\n--\n\nType that something stands for.\n\n"
     "Parameters\n----------\nx : Type, str, dtype, class, tuple of these or "
     "None\n\nReturns\n-------\nType\n\n"
     "Raises\n------\nTypeError\n    It stands for none."},
    {"_array_type", py_array_type, METH_VARARGS, "_array_type(item, ndim, layout, readonly)\n--\n\n"},
    {"_named_tuple_type", py_ntuple_type, METH_VARARGS, "_named_tuple_type(types, cls)\n--\n\n"},
    {"_type_from_ir", py_from_ir, METH_O, "_type_from_ir(text)\n--\n\n"},
    {"_type_names", py_type_names, METH_NOARGS, "_type_names()\n--\n\nAll names of scalar types."},
    {0},
};

bool tr_types_add(PyObject *module) {
    tr_state *st = tr_ext_state(module);
    st->type_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &type_spec, NULL);
    return st->type_type && PyModule_AddType(module, st->type_type) == 0 &&
           PyModule_AddFunctions(module, functions) == 0 && tr_sig_add(module);
}
