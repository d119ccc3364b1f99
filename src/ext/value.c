/* Patterns of argument values: making them, comparing them, and their types. See value.h.
 * Cost: a key is a few loads; a pattern allocates only for tuples. */
#include "ext/value.h"

#include <string.h>

#include "ext/chars.h"
#include "ext/check.h"
#include "ext/compat.h"
#include "ext/date.h"
#include "ext/face.h"
#include "ext/generator.h"
#include "ext/items.h"
#include "ext/lists.h"
#include "ext/ntclass.h"
#include "ext/partial.h"
#include "ext/record.h"
#include "ext/typed_items.h"

const uint8_t tr_value_npy_kind[24] = {
    [NPY_BOOL] = TR_TY_BOOL,    [NPY_BYTE] = TR_TY_I8,       [NPY_UBYTE] = TR_TY_U8,
    [NPY_SHORT] = TR_TY_I16,    [NPY_USHORT] = TR_TY_U16,    [NPY_INT] = TR_TY_I32,
    [NPY_UINT] = TR_TY_U32,     [NPY_LONG] = TR_TY_I64,      [NPY_ULONG] = TR_TY_U64,
    [NPY_LONGLONG] = TR_TY_I64, [NPY_ULONGLONG] = TR_TY_U64, [NPY_FLOAT] = TR_TY_F32,
    [NPY_DOUBLE] = TR_TY_F64,   [NPY_LONGDOUBLE] = 255,      [NPY_CFLOAT] = TR_TY_C64,
    [NPY_CDOUBLE] = TR_TY_C128, [NPY_CLONGDOUBLE] = 255,     [NPY_OBJECT] = 255,
    [NPY_STRING] = 255,         [NPY_UNICODE] = 255,         [NPY_VOID] = 255,
    [NPY_DATETIME] = 255,       [NPY_TIMEDELTA] = 255,       [NPY_HALF] = TR_TY_F16,
};

const int tr_value_npy_num[TR_TY__SCALARS] = {
    NPY_BOOL,   NPY_INT8,   NPY_INT16,   NPY_INT32,   NPY_INT64,   NPY_UINT8,     NPY_UINT16,
    NPY_UINT32, NPY_UINT64, NPY_FLOAT16, NPY_FLOAT32, NPY_FLOAT64, NPY_COMPLEX64, NPY_COMPLEX128};

/* Same order as tr_state.np_scalar, which module.c fills. */
const uint8_t tr_value_np_kind[TR_NPTYPES] = {
    TR_TY_F64, TR_TY_I64, TR_TY_F32, TR_TY_I32, TR_TY_BOOL, TR_TY_U8,  TR_TY_I8,  TR_TY_I16,
    TR_TY_U16, TR_TY_U32, TR_TY_U64, TR_TY_C64, TR_TY_C128, TR_TY_I64, TR_TY_U64, TR_TY_F16};

static bool is_masked(PyTypeObject *t) {
    while (t && strcmp(t->tp_name, "MaskedArray") != 0 && strcmp(t->tp_name, "numpy.ma.MaskedArray") != 0)
        t = t->tp_base;
    return t != NULL;
}

/* A subclass of ndarray that gives operators or functions a meaning of its own, so that its plain data
 * would lie; with Numba's rules those of masked arrays alone do. np.memmap wraps items only to
 * keep its class; its data are plain. */
static bool array_overrides(tr_state *st, PyObject *o) {
    static const char *const names[] = {"__array_ufunc__", "__array_function__", "__mul__", "__add__",
                                        "__getitem__"};
    unsigned n = sizeof names / sizeof *names;
    bool differs = false;
    if (Py_IS_TYPE(o, st->np_memmap) || Py_IS_TYPE(o, st->np_recarray) || Py_IS_TYPE(o, st->remote_type))
        return false;
    if (st->plain_subclasses)
        return is_masked(Py_TYPE(o));
    for (unsigned i = 0; i < n && !differs; i++) {
        PyObject *mine = PyObject_GetAttrString((PyObject *)Py_TYPE(o), names[i]);
        PyObject *base = PyObject_GetAttrString((PyObject *)&PyArray_Type, names[i]);
        differs = mine != base;
        Py_XDECREF(mine);
        Py_XDECREF(base);
    }
    if (PyErr_Occurred())
        PyErr_Clear();
    return differs;
}

static bool is_named_tuple(PyObject *o) {
    if (!PyTuple_Check(o) || Py_TYPE(o)->tp_base != &PyTuple_Type)
        return false;
    PyObject *fields = PyObject_GetAttrString((PyObject *)Py_TYPE(o), "_fields");
    bool yes = fields && PyTuple_CheckExact(fields) && PyTuple_GET_SIZE(fields) == PyTuple_GET_SIZE(o);
    for (Py_ssize_t i = 0; yes && i < PyTuple_GET_SIZE(fields); i++) {
        PyObject *name = PyTuple_GET_ITEM(fields, i);
        yes = PyUnicode_Check(name) && PyUnicode_IsIdentifier(name) == 1;
    }
    Py_XDECREF(fields);
    if (PyErr_Occurred())
        PyErr_Clear();
    return yes;
}

static uint32_t range_key(PyObject *o) {
    PyObject *step = PyObject_GetAttrString(o, "step");
    long one = step ? PyLong_AsLong(step) : 0;
    Py_XDECREF(step);
    if (PyErr_Occurred())
        PyErr_Clear();
    return TR_K_RANGE | (one == 1 ? 1u << 8 : 0u);
}

static uint32_t slice_key(PyObject *o) {
    PySliceObject *s = (PySliceObject *)o;
    PyObject *part[3] = {s->start, s->stop, s->step};
    uint32_t key = TR_K_SLICE;
    for (unsigned i = 0; i < 3; i++) {
        if (part[i] == Py_None)
            key |= 1u << (8 + i);
        else if (!PyLong_CheckExact(part[i]))
            return TR_K_OTHER;
    }
    return key;
}

uint32_t tr_value_scalar_key(tr_state *st, PyObject *o) {
    PyTypeObject *t = Py_TYPE(o);
    for (unsigned i = 0; i < TR_NPTYPES; i++)
        if (st->np_scalar[i] == t)
            return TR_K_SCALAR | (uint32_t)tr_value_np_kind[i] << 8;
    return TR_K_OTHER;
}

bool tr_value_is_enum(const PyTypeObject *cls) {
    for (const PyTypeObject *t = Py_TYPE(cls); t; t = t->tp_base)
        if (strcmp(t->tp_name, "EnumType") == 0)
            return true;
    return false;
}

static bool is_ident(tr_state *st, PyObject *o) {
    return o == Py_Ellipsis || tr_value_is_enum(Py_TYPE(o)) || PyFunction_Check(o) || PyCFunction_Check(o) ||
           PyType_Check(o) || Py_IS_TYPE(o, st->fn_type) || Py_IS_TYPE(o, st->type_type) ||
           PyObject_TypeCheck(o, st->np_ufunc);
}

uint32_t tr_value_loose_key(PyArrayObject *a) {
    uint32_t key = PyArray_ISALIGNED(a) ? 0 : (uint32_t)TR_KEY_PACKED;
    for (int k = 0; k < PyArray_NDIM(a); k++)
        if (PyArray_DIM(a, k) > 1 && PyArray_STRIDE(a, k) % PyArray_ITEMSIZE(a))
            key = (uint32_t)TR_KEY_PACKED | (uint32_t)TR_KEY_ODD;
    return key;
}

static uint32_t array_key(PyArrayObject *a) {
    switch (PyArray_TYPE(a)) {
    case NPY_VOID: return tr_record_array_key(a);
    case NPY_DATETIME:
    case NPY_TIMEDELTA: return tr_date_array_key(a);
    case NPY_STRING:
    case NPY_UNICODE: return tr_npchars_key(a);
    default: return tr_value_array_key(a);
    }
}

/* A record in memory that the host cannot touch: no scalar of NumPy's can be. */
static bool is_record(PyObject *o) {
    return PyArray_NDIM((PyArrayObject *)o) == 0 && PyArray_TYPE((PyArrayObject *)o) == NPY_VOID;
}

uint32_t tr_value_key(tr_state *st, PyObject *o) {
    PyTypeObject *t = Py_TYPE(o);
    if (t == &PyFloat_Type)
        return TR_K_FLOAT;
    if (t == &PyLong_Type)
        return TR_K_INT;
    if (t == &PyArray_Type)
        return array_key((PyArrayObject *)o);
    if (t == &PyBool_Type)
        return TR_K_BOOL;
    if (o == Py_None)
        return TR_K_NONE;
    if (t == &PyComplex_Type)
        return TR_K_COMPLEX;
    if (t == &PyTuple_Type)
        return TR_K_TUPLE | (uint32_t)PyTuple_GET_SIZE(o) << 8;
    if (t == &PyUnicode_Type || t == &PyUnicodeArrType_Type)
        return TR_K_STR;
    if (t == &PyBytes_Type || t == &PyStringArrType_Type)
        return TR_K_BYTES;
    if (t == &PyList_Type || t == st->typed_list_type) {
        uint32_t list = tr_lists_key(st, o);
        return list == TR_K_OTHER ? (uint32_t)TR_K_LISTOF : list;
    }
    if (tr_face_is_table(st, o))
        return TR_K_TABLE;
    if (t == st->typed_dict_type || t == st->typed_set_type)
        return TR_K_TABLE | (uint32_t)TR_KEY_TYPED;
    if (PyArray_Check(o))
        return array_overrides(st, o)                 ? TR_K_OTHER
               : t == st->remote_type && is_record(o) ? tr_record_place_key((PyArrayObject *)o)
                                                      : array_key((PyArrayObject *)o);
    uint32_t key = tr_value_scalar_key(st, o);
    if (key != TR_K_OTHER)
        return key;
    if (PyArray_IsScalar(o, Void))
        return tr_record_scalar_key(o);
    if (t == &PyDatetimeArrType_Type || t == &PyTimedeltaArrType_Type)
        return tr_date_scalar_key(o);
    if (t == &PyRange_Type)
        return range_key(o);
    if (t == &PySlice_Type)
        return slice_key(o);
    if (PyTuple_Check(o))
        return is_named_tuple(o) ? TR_K_NTUPLE | (uint32_t)PyTuple_GET_SIZE(o) << 8 : TR_K_OTHER;
    if (tr_generator_is(o))
        return TR_K_GENERATOR | tr_generator_which(st, o) << 8;
    if (PyArray_DescrCheck(o))
        return TR_K_DTYPE;
    if (tr_partial_is(st, o))
        return TR_K_PARTIAL;
    return is_ident(st, o) ? TR_K_IDENT : TR_K_OTHER;
}

/* --- patterns --- */

void tr_argk_clear(tr_argk *k) {
    for (uint32_t i = 0; i < k->n; i++)
        tr_argk_clear(&k->items[i]);
    PyMem_Free(k->items);
    Py_CLEAR(k->value);
    *k = (tr_argk){0};
}

bool tr_argk_copy(const tr_argk *from, tr_argk *to) {
    assert((from->items || from->n == 0) && "items that are counted are there");
    *to = (tr_argk){.key = from->key,
                    .value = Py_XNewRef(from->value),
                    .fields = from->fields,
                    .serial = from->serial,
                    .weak = from->weak,
                    .id = from->id};
    if (from->n == 0)
        return true;
    to->items = PyMem_Calloc(from->n, sizeof *to->items);
    if (!to->items) {
        tr_argk_clear(to);
        PyErr_NoMemory();
        return false;
    }
    for (; to->n < from->n; to->n++) {
        if (!tr_argk_copy(&from->items[to->n], &to->items[to->n])) {
            tr_argk_clear(to);
            return false;
        }
    }
    return true;
}

PyObject *tr_argk_constant(const tr_argk *k) {
    assert(k->weak == (k->value && PyWeakref_Check(k->value)) && "a reference is weak, or is the constant");
    return k->weak ? tr_py_weakref_get(k->value) : Py_XNewRef(k->value);
}

bool tr_argk_is(const tr_argk *k, const PyObject *o) {
    if (!k->weak || k->id != o)
        return !k->weak && k->value == o;
    PyObject *lives = tr_py_weakref_get(k->value);
    Py_XDECREF(lives); /* never the last one: it is `o`, or what had its address is gone */
    return lives != NULL;
}

int tr_argk_hold(const tr_argk *k, PyObject *list) {
    PyObject *o = k->weak ? tr_py_weakref_get(k->value) : NULL;
    int r = !k->weak ? 1 : !o ? 0 : PyList_Append(list, o) < 0 ? -1 : 1;
    Py_XDECREF(o);
    for (uint32_t i = 0; r > 0 && i < k->n; i++)
        r = tr_argk_hold(&k->items[i], list);
    return r;
}

bool tr_argk_weaken(tr_argk *k, PyObject *died) {
    for (uint32_t i = 0; i < k->n; i++)
        if (!tr_argk_weaken(&k->items[i], died))
            return false;
    if (tr_key_kind(k->key) != TR_K_IDENT || k->weak)
        return true;
    PyObject *ref = PyWeakref_NewRef(k->value, died);
    if (!ref) { /* NumPy's ufuncs and the like have no room for one */
        bool cannot = PyErr_ExceptionMatches(PyExc_TypeError);
        if (cannot)
            PyErr_Clear();
        return cannot;
    }
    assert(k->value != Py_None && ref != k->value && "what is referred to weakly was held");
    k->id = k->value;
    Py_SETREF(k->value, ref);
    k->weak = true;
    return true;
}

/* What NumPy would call equivalent, as far as that is seen without asking it: it may run code of others' for
 * that. */
static bool same_dtype(const PyArray_Descr *a, const PyArray_Descr *b) {
    unsigned num = (unsigned)a->type_num;
    return a == b || tr_date_is_same(a, b) ||
           (num < sizeof tr_value_npy_kind && tr_value_npy_kind[num] != 255 && a->type_num == b->type_num &&
            PyArray_ISNBO(a->byteorder) == PyArray_ISNBO(b->byteorder));
}

/* Two constants are the same: the same object, or equal texts or dtypes. */
static bool same_value(const tr_argk *a, const tr_argk *b) {
    switch (tr_key_kind(a->key)) {
    case TR_K_STR: return PyUnicode_Compare(a->value, b->value) == 0;
    case TR_K_RECORDS:
    case TR_K_RECORD: return a->fields == b->fields;
    case TR_K_DTYPE: return same_dtype((PyArray_Descr *)a->value, (PyArray_Descr *)b->value);
    default: return a->weak ? !b->weak && tr_argk_is(a, b->value) : tr_argk_is(b, a->value);
    }
}

/* Records of another class are equal to NumPy, and give items of another class. */
static bool gives_same_items(PyArray_Descr *a, PyArray_Descr *b) {
    return PyArray_EquivTypes(a, b) && tr_record_same_classes(a, b);
}

/* The constant of k is what `o` is to compiled code. */
static bool stands_for(const tr_argk *k, PyObject *o) {
    switch (tr_key_kind(k->key)) {
    case TR_K_STR: return !k->value || k->value == o || PyUnicode_Compare(k->value, o) == 0;
    case TR_K_RECORDS:
    case TR_K_RECORD: return tr_record_stands_for(k, o);
    case TR_K_DTYPE: return gives_same_items((PyArray_Descr *)k->value, (PyArray_Descr *)o);
    default: return tr_argk_is(k, o);
    }
}

bool tr_argk_equal(const tr_argk *a, const tr_argk *b) {
    assert(!(a->weak && b->weak) && "at most one of two patterns refers weakly");
    if (a->key != b->key || a->n != b->n)
        return false;
    if ((tr_key_kind(a->key) == TR_K_LISTOF || tr_key_kind(a->key) == TR_K_TABLE) && a->fields != b->fields)
        return false;
    if (!a->value != !b->value || (a->value && !same_value(a, b)))
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (!tr_argk_equal(&a->items[i], &b->items[i]))
            return false;
    return true;
}

int tr_argk_visit(const tr_argk *k, visitproc visit, void *arg) {
    Py_VISIT(k->value);
    for (uint32_t i = 0; i < k->n; i++) {
        int r = tr_argk_visit(&k->items[i], visit, arg);
        if (r)
            return r;
    }
    return 0;
}

bool tr_argk_has_const(const tr_argk *k) {
    unsigned kind = tr_key_kind(k->key);
    if (kind == TR_K_DTYPE || kind == TR_K_IDENT || (kind == TR_K_STR && k->value))
        return true;
    for (uint32_t i = 0; i < k->n; i++)
        if (tr_argk_has_const(&k->items[i]))
            return true;
    return false;
}

bool tr_argk_forget_strings(tr_argk *k) {
    bool some = tr_key_kind(k->key) == TR_K_STR && k->value;
    if (some)
        Py_CLEAR(k->value);
    for (uint32_t i = 0; i < k->n; i++) /* names of keywords stay */
        some |= (tr_key_kind(k->key) != TR_K_PARTIAL || i != TR_PARTIAL_NAMES) &&
                tr_argk_forget_strings(&k->items[i]);
    return some;
}

/* What the items of a list have in common, Python's or a typed one. */
static const tr_ty *items_of(tr_state *st, PyObject *o, unsigned lists) {
    return tr_typed_is(st, o) ? ((const tr_typed *)o)->item : tr_items_of(st, o, lists);
}

/* The type of a dict or a set, Python's or a typed one. */
static const tr_ty *table_of(tr_state *st, PyObject *o, unsigned lists) {
    return tr_typed_is(st, o) ? ((const tr_typed *)o)->ty : tr_items_table_of(st, o, lists);
}

static bool partial_matches(tr_state *st, const tr_argk *k, PyObject *o) {
    PyObject *part[TR_PARTIAL_PARTS];
    if (!tr_partial_parts(o, part)) {
        PyErr_Clear();
        return false;
    }
    bool same = true;
    for (uint32_t i = 0; same && i < TR_PARTIAL_PARTS; i++)
        same = tr_value_matches(st, &k->items[i], part[i]);
    tr_partial_clear(part);
    return same;
}

bool tr_value_matches(tr_state *st, const tr_argk *k, PyObject *o) {
    if (tr_value_key(st, o) != k->key)
        return false;
    unsigned kind = tr_key_kind(k->key);
    if (kind < TR_K_DEEP)
        return true;
    if (kind == TR_K_NTUPLE && (PyObject *)Py_TYPE(o) != k->value)
        return false;
    if (kind == TR_K_LISTOF)
        return items_of(st, o, 1) == k->fields;
    if (kind == TR_K_TABLE)
        return table_of(st, o, 1) == k->fields;
    if (kind == TR_K_PARTIAL)
        return partial_matches(st, k, o);
    if (kind > TR_K_NTUPLE)
        return stands_for(k, o);
    for (uint32_t i = 0; i < k->n; i++)
        if (!tr_value_matches(st, &k->items[i], PyTuple_GET_ITEM(o, i)))
            return false;
    return true;
}

/* --- refusals --- */

static const char *refused_dtype(tr_state *st, PyArray_Descr *d, const char **hint) {
    switch (d->type_num) {
    case NPY_LONGDOUBLE: *hint = "convert it with .astype(np.float64)"; return "longdouble";
    case NPY_CLONGDOUBLE: *hint = "convert it with .astype(np.complex128)"; return "clongdouble";
    case NPY_OBJECT: *hint = "convert it to a numeric dtype with .astype(...)"; return "object";
    case NPY_VOID: {
        const char *why = NULL;
        tr_record_struct(st->types, d, &why);
        PyErr_Clear();
        *hint = "pass those of its fields that are numbers one by one: a['x'], a['y']";
        return why ? why : "records";
    }
    case NPY_DATETIME:
    case NPY_TIMEDELTA:
        *hint = "convert it to a plain unit, as with .astype('datetime64[s]'), or pass .view(np.int64)";
        return "datetime64 or timedelta64, whose unit is a multiple like [25s], or business days";
    default:
        *hint = "convert it to a numeric dtype with .astype(...)";
        return "a dtype that is not NumPy's own";
    }
}

static void describe_array(tr_state *st, PyArrayObject *a, char *what, size_t n, const char **hint) {
    PyArray_Descr *d = PyArray_DESCR(a);
    if (((unsigned)d->type_num >= sizeof tr_value_npy_kind || tr_value_npy_kind[d->type_num] == 255) &&
        !tr_date_type(st->types, d) && !tr_npchars_is_dtype(d)) {
        snprintf(what, n, "an array of %s", refused_dtype(st, d, hint));
    } else if (d->byteorder == '>') {
        snprintf(what, n, "an array in big-endian byte order");
        *hint = "convert it with a.astype(a.dtype.newbyteorder('='))";
    } else if (PyArray_NDIM(a) > TR_MAX_NDIM) {
        snprintf(what, n, "an array of %d axes", PyArray_NDIM(a));
        *hint = "at most 32 axes are compiled; reshape it";
    } else {
        snprintf(what, n, "a %s", Py_TYPE(a)->tp_name);
        *hint = strstr(Py_TYPE(a)->tp_name, "MaskedArray") ? "pass a.data and a.mask apart"
                                                           : "pass np.asarray(a)";
    }
}

PyObject *tr_value_of_buffer(PyObject *o) {
    if (!PyBytes_CheckExact(o) && !PyByteArray_CheckExact(o) && !PyMemoryView_Check(o) &&
        strcmp(Py_TYPE(o)->tp_name, "array.array") != 0)
        return NULL;
    PyObject *view = PyMemoryView_FromObject(o),
             *a = view ? PyArray_FromAny(view, NULL, 0, 0, 0, NULL) : NULL;
    Py_XDECREF(view);
    PyErr_Clear(); /* what has no array is told as what it is */
    return a;
}

static void describe(tr_state *st, PyObject *o, char *what, size_t n, const char **hint) {
    *hint = "pass numbers, NumPy arrays, tuples and lists of these, None, strings or functions";
    if (PyArray_Check(o)) {
        describe_array(st, (PyArrayObject *)o, what, n, hint);
        return;
    }
    snprintf(what, n, "a value of type %.200s", Py_TYPE(o)->tp_name);
    if (!PyType_Check(o) && PyObject_HasAttrString(o, "to_numpy"))
        *hint = "pass its items as a NumPy array: x.to_numpy()";
    else if (PyList_CheckExact(o))
        *hint = "pass items that have a type in common";
    else if (PyList_Check(o))
        *hint = "pass a list of that very class: list(x)";
    else if (PyLong_Check(o))
        *hint = "pass int(x)";
    else if (PyFloat_Check(o) || PyArray_IsScalar(o, Half) || PyArray_IsScalar(o, LongDouble))
        *hint = "pass float(x)";
    else if (PyArray_IsScalar(o, Datetime) || PyArray_IsScalar(o, Timedelta))
        *hint = "its unit is a multiple like [25s]: convert it, as with .astype('timedelta64[s]')";
    else if (PyDict_Check(o) || PyAnySet_Check(o))
        *hint = "pass a dict or a set of that very class: dict(x), set(x)";
    else if (PyModule_Check(o))
        *hint = "modules are used as globals, not passed";
    else if (PyTuple_Check(o))
        *hint = "pass tuple(x)";
    else if (PyObject_HasAttrString(o, "capsule") && PyObject_HasAttrString(o, "random_raw"))
        *hint = "pass np.random.Generator(x)";
    else if (strstr(Py_TYPE(o)->tp_name, "RandomState"))
        *hint = "pass a np.random.Generator, or call the functions of np.random, which draw from the "
                "thread's own "
                "RandomState";
    else if (tr_generator_derives(o))
        *hint = "pass a np.random.Generator of that very class: np.random.Generator(x.bit_generator)";
}

/* One argument being read. `left`: items its tuples may still have in all. */
typedef struct reading {
    tr_state *st;
    const char *fn, *arg;
    uint32_t left;
    unsigned lists; /* that it is an item of, one in another */
    bool silent;
} reading;

/* Where in the argument a value stands: item i of `tuple`, or of a list, which stands at `outer`. */
typedef struct step {
    const struct step *outer;
    PyObject *tuple;
    uint32_t i;
} step;

/* Writes ".field" or "[i]" for each step; the name of a field is an identifier, and parts of a partial are
 * fields. */
static size_t write_path(const step *at, char *to, size_t room) {
    static const char *const parts[TR_PARTIAL_PARTS] = {"func", "args", "keywords", "keywords"};
    size_t n = at ? write_path(at->outer, to, room) : 0;
    bool partial = at && !PyTuple_Check(at->tuple) && !PyList_CheckExact(at->tuple);
    PyObject *fields = at && !partial && !PyTuple_CheckExact(at->tuple) && !PyList_CheckExact(at->tuple)
                           ? PyObject_GetAttrString((PyObject *)Py_TYPE(at->tuple), "_fields")
                           : NULL;
    const char *name = partial ? parts[at->i]
                       : fields && PyTuple_CheckExact(fields) && at->i < PyTuple_GET_SIZE(fields)
                           ? PyUnicode_AsUTF8(PyTuple_GET_ITEM(fields, at->i))
                           : NULL;
    int more = !at    ? 0
               : name ? snprintf(to + n, room - n, ".%s", name)
                      : snprintf(to + n, room - n, "[%u]", (unsigned)at->i);
    PyErr_Clear();
    Py_XDECREF(fields);
    return n + (size_t)more < room ? n + (size_t)more : room - 1;
}

/* TypeError for a value that has no pattern. Always false. */
static bool refuse(const reading *r, PyObject *o, const step *at) {
    char what[256], path[256] = "";
    const char *hint;
    if (r->silent)
        return false;
    describe(r->st, o, what, sizeof what, &hint);
    write_path(at, path, sizeof path);
    if (r->fn)
        PyErr_Format(PyExc_TypeError,
                     "%s(): argument '%s%s' is %s, which cannot be passed to compiled code\n  help: %s",
                     r->fn, r->arg, path, what, hint);
    else
        PyErr_Format(PyExc_TypeError, "%s has no Treadle type\n  help: %s", what, hint);
    return false;
}

static bool pattern(reading *r, PyObject *o, const step *at, tr_argk *k);

/* The same for a list: it names the item, or what in it cannot be passed at all. */
static bool refuse_item(reading *r, PyObject *list, const step *at) {
    Py_ssize_t i = tr_items_misfit(r->st, list, r->lists + 1);
    PyObject *o = i < PyList_GET_SIZE(list) ? Py_NewRef(PyList_GET_ITEM(list, i)) : NULL;
    if (!o) /* others change it meanwhile */
        return refuse(r, list, at);
    static const char *const text =
        "which has no type in common with the items before it, or cannot be an item\n"
        "  help: convert the items, or pass NumPy arrays or tuples";
    char path[256] = "";
    tr_argk k;
    step here = {at, list, (uint32_t)i};
    r->lists++;
    bool fits = pattern(r, o, &here, &k);
    r->lists--;
    if (!fits) {
        Py_DECREF(o);
        return false;
    }
    tr_argk_clear(&k);
    write_path(&here, path, sizeof path);
    if (r->fn)
        PyErr_Format(PyExc_TypeError, "%s(): argument '%s%s' is a value of type %.200s, %s", r->fn, r->arg,
                     path, Py_TYPE(o)->tp_name, text);
    else
        PyErr_Format(PyExc_TypeError, "item %s of a list is a value of type %.200s, %s", path,
                     Py_TYPE(o)->tp_name, text);
    Py_DECREF(o);
    return false;
}

/* A list of anything but numbers: its items' type, which is all of its pattern. */
static bool list_pattern(reading *r, PyObject *list, const step *at, tr_argk *k) {
    if (r->lists >= TR_MAX_LISTS) {
        char path[256] = "";
        write_path(at, path, sizeof path);
        if (r->fn)
            PyErr_Format(PyExc_TypeError, "%s(): argument '%s%s' is a list that lies in more than %d others",
                         r->fn, r->arg, path, TR_MAX_LISTS - 1);
        else if (!r->silent)
            PyErr_Format(PyExc_TypeError, "a list that lies in more than %d others has no Treadle type",
                         TR_MAX_LISTS - 1);
        return false;
    }
    k->fields = items_of(r->st, list, r->lists + 1);
    return k->fields || (!r->silent && refuse_item(r, list, at));
}

/* A dict or a set: its type is all of its pattern. */
static bool table_pattern(reading *r, PyObject *o, const step *at, tr_argk *k) {
    char path[256] = "";
    bool dict = tr_face_is_dict(o);
    k->fields = r->lists < TR_MAX_LISTS ? table_of(r->st, o, r->lists + 1) : NULL;
    if (k->fields || r->silent)
        return k->fields != NULL;
    const char *of =
        tr_face_is_deque(r->st, o) ? "deque, and its items are to have a type in common\n  help: pass list(x)"
        : dict
            ? "dict, and its keys are to be numbers, strings, dates or tuples of these, that have a type in "
              "common, and its values to have one\n  help: pass list(d.items())"
            : "set, and its items are to be numbers, strings, dates or tuples of these, that have a type in "
              "common\n  help: pass list(x)";
    write_path(at, path, sizeof path);
    if (r->fn)
        PyErr_Format(PyExc_TypeError, "%s(): argument '%s%s' is a %s", r->fn, r->arg, path, of);
    else
        PyErr_Format(PyExc_TypeError, "there is a %s", of);
    return false;
}

static bool refuse_long(const reading *r) {
    if (r->silent)
        return false;
    const char *help = "help: pass a NumPy array";
    if (r->fn)
        PyErr_Format(PyExc_TypeError, "%s(): argument '%s' is a tuple of more than %d items in all\n  %s",
                     r->fn, r->arg, TR_MAX_ITEMS, help);
    else
        PyErr_Format(PyExc_TypeError, "a tuple of more than %d items in all has no Treadle type\n  %s",
                     TR_MAX_ITEMS, help);
    return false;
}

static bool partial_pattern(reading *r, PyObject *o, const step *at, tr_argk *k) {
    PyObject *part[TR_PARTIAL_PARTS];
    k->items = PyMem_Calloc(TR_PARTIAL_PARTS, sizeof *k->items);
    bool ok = k->items && tr_partial_parts(o, part);
    if (!k->items)
        PyErr_NoMemory();
    if (ok && Py_EnterRecursiveCall(" while reading a partial of a partial"))
        tr_partial_clear(part), ok = false;
    else if (ok) {
        for (; ok && k->n < TR_PARTIAL_PARTS; k->n++) {
            step here = {at, o, k->n};
            ok = pattern(r, part[k->n], &here, &k->items[k->n]);
        }
        Py_LeaveRecursiveCall();
        tr_partial_clear(part);
    }
    if (!ok)
        tr_argk_clear(k);
    return ok;
}

static bool pattern(reading *r, PyObject *o, const step *at, tr_argk *k) {
    tr_state *st = r->st;
    *k = (tr_argk){.key = tr_value_key(st, o)};
    unsigned kind = tr_key_kind(k->key);
    if (kind == TR_K_OTHER)
        return refuse(r, o, at);
    if (kind == TR_K_LISTOF)
        return list_pattern(r, o, at, k);
    if (kind == TR_K_TABLE)
        return table_pattern(r, o, at, k);
    if (kind < TR_K_DEEP)
        return true;
    if (kind == TR_K_PARTIAL)
        return partial_pattern(r, o, at, k);
    if (kind == TR_K_RECORDS || kind == TR_K_RECORD) {
        const char *why;
        if (!(k->fields = tr_record_struct(st->types, tr_record_descr(o), &why)))
            return PyErr_Occurred() ? false : refuse(r, o, at);
        k->value = Py_NewRef((PyObject *)tr_record_descr(o));
        return true;
    }
    if (kind > TR_K_NTUPLE) {
        k->value = Py_NewRef(o);
        return true;
    }
    uint32_t n = (uint32_t)PyTuple_GET_SIZE(o);
    if (n > r->left)
        return refuse_long(r);
    r->left -= n;
    if (kind == TR_K_NTUPLE) {
        if (!tr_ntclass_serial(st, (PyObject *)Py_TYPE(o), false, &k->serial))
            return false;
        k->value = Py_NewRef((PyObject *)Py_TYPE(o));
    }
    k->items = n ? PyMem_Calloc(n, sizeof *k->items) : NULL;
    if (n && !k->items) {
        tr_argk_clear(k);
        PyErr_NoMemory();
        return false;
    }
    if (Py_EnterRecursiveCall(" while reading a nested tuple")) {
        tr_argk_clear(k);
        return false;
    }
    bool ok = true;
    for (; ok && k->n < n; k->n++) {
        step here = {at, o, k->n};
        ok = pattern(r, PyTuple_GET_ITEM(o, k->n), &here, &k->items[k->n]);
    }
    Py_LeaveRecursiveCall();
    if (!ok)
        tr_argk_clear(k);
    return ok;
}

bool tr_value_pattern(tr_state *st, PyObject *o, const char *fn, const char *arg, tr_argk *k) {
    reading r = {.st = st, .fn = fn, .arg = arg, .left = TR_MAX_ITEMS};
    bool ok = pattern(&r, o, NULL, k);
    assert(tr_py_agrees(ok) && "a value without a pattern has raised");
    assert((ok || (!k->items && !k->value)) && "and its pattern holds nothing");
    return ok;
}

bool tr_value_pattern_in(tr_state *st, PyObject *o, unsigned lists, tr_argk *k) {
    reading r = {.st = st, .left = TR_MAX_ITEMS, .lists = lists, .silent = true};
    bool ok = pattern(&r, o, NULL, k);
    if (!ok)
        PyErr_Clear();
    return ok;
}

/* --- types --- */

static const tr_ty *tuple_type(tr_tytab *t, const tr_argk *k, tr_argk_const constant, void *user) {
    const tr_ty **items = PyMem_Calloc(k->n + 1u, sizeof *items);
    bool ok = items != NULL;
    for (uint32_t i = 0; ok && i < k->n; i++)
        ok = (items[i] = tr_argk_type(t, &k->items[i], constant, user)) != NULL;
    const tr_ty *ty = !ok        ? NULL
                      : k->value ? tr_ntclass_type(t, k->value, k->serial, k->n, items)
                                 : tr_ty_tuple(t, k->n, items);
    PyMem_Free(items);
    return ty;
}

/* Names are constants, so that where these have no types, it has one that says how many there are. */
static const tr_ty *partial_type(tr_tytab *t, const tr_argk *k, tr_argk_const constant, void *user) {
    const tr_ty *part[TR_PARTIAL_PARTS];
    for (uint32_t i = 0; i < TR_PARTIAL_PARTS; i++)
        if (!(part[i] = tr_argk_type(t, &k->items[i], constant, user)))
            return NULL;
    const tr_ty *keyed = tr_ty_of(t, TR_TY_KEYED, 0, 2, part + TR_PARTIAL_NAMES);
    return tr_ty_of(t, TR_TY_PARTIAL, 0, 3, (const tr_ty *[]){part[0], part[1], keyed});
}

const tr_ty *tr_argk_type(tr_tytab *t, const tr_argk *k, tr_argk_const constant, void *user) {
    const tr_ty *none = tr_ty_none(t), *i64 = tr_ty_scalar(t, TR_TY_I64);
    switch (tr_key_kind(k->key)) {
    case TR_K_FLOAT: return tr_ty_scalar(t, TR_TY_F64);
    case TR_K_INT: return i64;
    case TR_K_BOOL: return tr_ty_scalar(t, TR_TY_BOOL);
    case TR_K_COMPLEX: return tr_ty_scalar(t, TR_TY_C128);
    case TR_K_NONE: return none;
    case TR_K_SCALAR: return tr_ty_scalar(t, tr_key_tyk(k->key));
    case TR_K_ARRAY:
        return tr_ty_array_as(t, tr_ty_scalar(t, tr_key_tyk(k->key)), tr_key_ndim(k->key),
                              tr_key_layout(k->key), (k->key & TR_KEY_RO) != 0, tr_key_form(k->key));
    case TR_K_RECORD:
        return tr_ty_record(t, k->fields, (k->key & TR_KEY_RO) != 0, (k->key & TR_KEY_PACKED) != 0);
    case TR_K_RECORDS:
        return tr_ty_records(t,
                             tr_ty_array_as(t, k->fields, tr_key_ndim(k->key), tr_key_layout(k->key),
                                            (k->key & TR_KEY_RO) != 0,
                                            k->key & TR_KEY_PACKED ? TR_ARRAY_PACKED : 0),
                             false);
    case TR_K_DATE: return tr_date_of_key(t, k->key);
    case TR_K_DATES:
        return tr_ty_dates(t, tr_date_of_key(t, k->key),
                           tr_ty_array_as(t, i64, tr_key_ndim(k->key), tr_key_layout(k->key),
                                          (k->key & TR_KEY_RO) != 0, tr_key_form(k->key)));
    case TR_K_CHARS: return tr_npchars_of_key(t, k->key);
    case TR_K_LIST: return tr_lists_type(t, k->key);
    case TR_K_TABLE: return k->fields;
    case TR_K_LISTOF: return tr_ty_list_of(t, k->fields);
    case TR_K_RANGE: return tr_ty_range(t, i64, (k->key >> 8) & 1u ? TR_RANGE_STEP1 : 0u);
    case TR_K_SLICE:
        return tr_ty_slice(t, k->key >> 8 & 1u ? none : i64, k->key >> 9 & 1u ? none : i64,
                           k->key >> 10 & 1u ? none : i64);
    case TR_K_BYTES: return tr_ty_bytes(t);
    case TR_K_GENERATOR: return tr_generator_type(t, k->key >> 8);
    case TR_K_TUPLE:
    case TR_K_NTUPLE: return tuple_type(t, k, constant, user);
    case TR_K_PARTIAL: return partial_type(t, k, constant, user);
    case TR_K_STR:
        if (!k->value)
            return tr_ty_string(t);
        return constant ? constant(user, k) : none;
    default:
        assert(tr_argk_has_const(k) && "what is no value is a constant");
        return constant ? constant(user, k) : none;
    }
}
