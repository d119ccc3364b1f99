/* Structured dtypes and the types that they are.
 * A dtype is read once for a pattern; a call compares dtypes by address first, as arrays of one program
 * mostly share theirs, else as NumPy does.
 * Cost of a key: a few loads, and one for each axis. */
#include "ext/record.h"

#include <assert.h>
#include <string.h>

#include "ext/compat.h"
#include "ext/date.h"

enum { MAX_DEPTH = 16, MAX_BYTES = 1 << 30 };

PyArray_Descr *tr_record_descr(PyObject *o) {
    return PyArray_Check(o) ? PyArray_DESCR((PyArrayObject *)o) : ((PyVoidScalarObject *)o)->descr;
}

/* --- keys --- */

/* Where items of so many bytes begin: tr_ty_align() asks for no more. */
static uintptr_t most_align(npy_intp size) {
    uintptr_t n = TR_STRUCT_ALIGN;
    while ((uintptr_t)size & (n - 1))
        n /= 2;
    return n;
}

static bool is_structured(PyArray_Descr *d) {
    return d->type_num == NPY_VOID && PyDataType_HASFIELDS(d) && PyDataType_ELSIZE(d) > 0;
}

uint32_t tr_record_array_key(PyArrayObject *a) {
    PyArray_Descr *d = PyArray_DESCR(a);
    unsigned flags = (unsigned)PyArray_FLAGS(a);
    if (!is_structured(d) || PyArray_NDIM(a) > TR_MAX_NDIM)
        return TR_K_OTHER;
    npy_intp size = PyDataType_ELSIZE(d);
    bool packed = (uintptr_t)PyArray_DATA(a) & (most_align(size) - 1);
    for (int k = 0; k < PyArray_NDIM(a) && !(flags & 3u); k++)
        packed = packed || PyArray_STRIDE(a, k) % size;
    uint32_t key = TR_K_RECORDS | (uint32_t)PyArray_NDIM(a) << 16 |
                   (flags & NPY_ARRAY_WRITEABLE ? 0u : (uint32_t)TR_KEY_RO);
    return key | (packed ? (uint32_t)TR_KEY_PACKED : (flags & 3u) << 24);
}

bool tr_record_is_writable(PyObject *scalar) {
    const PyVoidScalarObject *v = (const PyVoidScalarObject *)scalar;
    return v->base == NULL || (v->flags & NPY_ARRAY_WRITEABLE);
}

static uint32_t record_key(PyArray_Descr *d, const void *at, bool writable) {
    if (!is_structured(d))
        return TR_K_OTHER;
    bool packed = (uintptr_t)at & (most_align(PyDataType_ELSIZE(d)) - 1);
    return TR_K_RECORD | (writable ? 0u : (uint32_t)TR_KEY_RO) | (packed ? (uint32_t)TR_KEY_PACKED : 0u);
}

uint32_t tr_record_scalar_key(PyObject *o) {
    const PyVoidScalarObject *v = (const PyVoidScalarObject *)o;
    return record_key(v->descr, v->obval, tr_record_is_writable(o));
}

uint32_t tr_record_place_key(PyArrayObject *a) {
    return record_key(PyArray_DESCR(a), PyArray_DATA(a), PyArray_ISWRITEABLE(a));
}

/* --- a dtype's type --- */

typedef struct reading {
    tr_tytab *t;
    const char **why;
    unsigned depth;
} reading;

static const tr_ty *read_struct(reading *r, PyArray_Descr *d);

static const tr_ty *no(reading *r, const char *why) {
    *r->why = why;
    return NULL;
}

/* What compiled code cannot read is so many bytes, under the name that NumPy takes back. */
static const tr_ty *read_opaque(reading *r, PyArray_Descr *d) {
    PyObject *text = PyObject_GetAttrString((PyObject *)d, "str");
    const char *s = text ? PyUnicode_AsUTF8(text) : NULL;
    const tr_ty *t = s ? tr_ty_opaque(r->t, (uint32_t)PyDataType_ELSIZE(d), s) : NULL;
    Py_XDECREF(text);
    return t;
}

static const tr_ty *read_item(reading *r, PyArray_Descr *d) {
    unsigned num = (unsigned)d->type_num;
    if (num < 24 && tr_value_npy_kind[num] != 255 && PyArray_ISNBO(d->byteorder))
        return tr_ty_scalar(r->t, (tr_tyk)tr_value_npy_kind[num]);
    if (num == NPY_VOID && PyDataType_HASFIELDS(d))
        return read_struct(r, d);
    const tr_ty *date = PyArray_ISNBO(d->byteorder) ? tr_date_type(r->t, d) : NULL;
    if (date)
        return date;
    return read_opaque(r, d);
}

static bool read_shape(reading *r, PyObject *shape, uint32_t *out, uint32_t *ndim) {
    Py_ssize_t n = PyTuple_Check(shape) ? PyTuple_GET_SIZE(shape) : 1;
    if (n > TR_MAX_FIELD_AXES)
        return no(r, "records, with a field of more than 8 axes") != NULL;
    for (Py_ssize_t k = 0; k < n; k++)
        out[k] = (uint32_t)PyLong_AsUnsignedLong(PyTuple_Check(shape) ? PyTuple_GET_ITEM(shape, k) : shape);
    assert(n > 0 && "a field that has a shape has axes");
    *ndim = (uint32_t)n;
    return !PyErr_Occurred();
}

/* `entry`: the field's dtype, where it lies, and perhaps a title. */
static bool read_field(reading *r, PyObject *name, PyObject *entry, uint32_t *shape, tr_field *f) {
    if (!entry || PyTuple_GET_SIZE(entry) != 2)
        return no(r, "records, with titles of fields") != NULL;
    PyArray_Descr *d = (PyArray_Descr *)PyTuple_GET_ITEM(entry, 0);
    f->offset = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GET_ITEM(entry, 1));
    Py_ssize_t len;
    f->name = PyUnicode_AsUTF8AndSize(name, &len);
    f->shape = shape;
    f->ndim = 0;
    if (!f->name || PyErr_Occurred())
        return false;
    if (strlen(f->name) != (size_t)len)
        return no(r, "records, with a NUL in the name of a field") != NULL;
    if (PyDataType_HASSUBARRAY(d)) {
        if (!read_shape(r, PyDataType_SUBARRAY(d)->shape, shape, &f->ndim))
            return false;
        d = PyDataType_SUBARRAY(d)->base;
    }
    return (f->ty = read_item(r, d)) != NULL;
}

static const tr_ty *read_struct(reading *r, PyArray_Descr *d) {
    PyObject *names = PyDataType_NAMES(d), *dict = PyDataType_FIELDS(d);
    Py_ssize_t n = PyTuple_GET_SIZE(names);
    const tr_ty *ty = NULL;
    if (PyDataType_REFCHK(d))
        return no(r, "records, with fields of objects");
    if (r->depth >= MAX_DEPTH || n > TR_MAX_ITEMS || PyDataType_ELSIZE(d) > MAX_BYTES)
        return no(r, "records, which are too large");
    tr_field *f = PyMem_Calloc((size_t)n + 1, sizeof *f);
    uint32_t(*shapes)[TR_MAX_FIELD_AXES] = PyMem_Calloc((size_t)n + 1, sizeof *shapes);
    bool ok = f && shapes;
    if (!ok)
        PyErr_NoMemory();
    r->depth++;
    for (Py_ssize_t i = 0; ok && i < n; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        ok = read_field(r, name, PyDict_GetItem(dict, name), shapes[i], &f[i]);
    }
    r->depth--;
    assert((ok || *r->why || PyErr_Occurred()) && "a dtype without a type says why");
    if (ok)
        ty = tr_ty_struct(r->t, (uint32_t)PyDataType_ELSIZE(d),
                          d->typeobj == &PyVoidArrType_Type ? 0 : TR_STRUCT_RECORD, (uint32_t)n, f);
    PyMem_Free(f);
    PyMem_Free(shapes);
    return ty;
}

const tr_ty *tr_record_struct(tr_tytab *t, PyArray_Descr *d, const char **why) {
    reading r = {.t = t, .why = why};
    *why = NULL;
    if (!is_structured(d))
        return no(&r, "bytes of no structure");
    return read_struct(&r, d);
}

bool tr_record_same_classes(PyArray_Descr *a, PyArray_Descr *b) {
    if (PyDataType_HASSUBARRAY(a))
        return tr_record_same_classes(PyDataType_SUBARRAY(a)->base, PyDataType_SUBARRAY(b)->base);
    if (a == b || a->type_num != NPY_VOID)
        return true;
    PyObject *names = PyDataType_HASFIELDS(a) ? PyDataType_NAMES(a) : NULL;
    bool same = a->typeobj == b->typeobj;
    for (Py_ssize_t i = 0; same && names && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i), *x = PyDict_GetItem(PyDataType_FIELDS(a), name),
                 *y = PyDict_GetItem(PyDataType_FIELDS(b), name);
        same = x && y &&
               tr_record_same_classes((PyArray_Descr *)PyTuple_GET_ITEM(x, 0),
                                      (PyArray_Descr *)PyTuple_GET_ITEM(y, 0));
    }
    return same;
}

bool tr_record_stands_for(const tr_argk *k, PyObject *o) {
    PyArray_Descr *d = tr_record_descr(o), *mine = (PyArray_Descr *)k->value;
    return d == mine || (PyArray_EquivTypes(d, mine) && tr_record_same_classes(d, mine));
}

bool tr_record_has_items(tr_state *st, PyArray_Descr *d, const tr_ty *elem) {
    unsigned num = (unsigned)d->type_num;
    if (num < 24 && tr_value_npy_kind[num] != 255)
        return tr_value_npy_kind[num] == elem->kind;
    if (elem->kind != TR_TY_STRUCT || num != NPY_VOID)
        return false;
    PyArray_Descr *own = tr_record_dtype(st, elem);
    bool same = own && (own == d || PyArray_EquivTypes(own, d)); /* of another class, perhaps */
    Py_XDECREF(own);
    PyErr_Clear();
    return same;
}

/* --- and back --- */

static PyObject *format_of(tr_state *st, const tr_ty *t) {
    if (tr_ty_is_scalar(t))
        return (PyObject *)PyArray_DescrFromType(tr_value_npy_num[t->kind]);
    if (t->kind == TR_TY_DATE)
        return (PyObject *)tr_date_dtype(st, t);
    return t->sub == TR_STRUCT_OPAQUE ? PyUnicode_FromString(t->name) : (PyObject *)tr_record_dtype(st, t);
}

static PyObject *field_format(tr_state *st, const tr_field *f) {
    PyObject *item = format_of(st, f->ty);
    if (!item || !f->ndim)
        return item;
    PyObject *shape = PyTuple_New(f->ndim), *both = NULL;
    for (uint32_t k = 0; shape && k < f->ndim; k++)
        PyTuple_SET_ITEM(shape, k, PyLong_FromUnsignedLong(f->shape[k])); /* NULL goes on as an exception */
    if (shape && !PyErr_Occurred())
        both = PyTuple_Pack(2, item, shape);
    Py_XDECREF(shape);
    Py_DECREF(item);
    return both;
}

static bool append(PyObject *list, PyObject *item) {
    bool ok = item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return ok;
}

/* The class numpy.record, whose items have fields as attributes. */
static PyObject *record_class(void) {
    PyObject *np = PyImport_ImportModule("numpy"), *cls = np ? PyObject_GetAttrString(np, "record") : NULL;
    Py_XDECREF(np);
    return cls;
}

static PyArray_Descr *make_dtype(tr_state *st, const tr_ty *s) {
    PyObject *names = PyList_New(0), *formats = PyList_New(0), *offsets = PyList_New(0), *d = NULL;
    bool ok = names && formats && offsets;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        tr_field f = tr_ty_field(s, i);
        ok = append(names, PyUnicode_FromString(f.name)) && append(formats, field_format(st, &f)) &&
             append(offsets, PyLong_FromUnsignedLong(f.offset));
    }
    if (ok)
        d = Py_BuildValue("{s:O,s:O,s:O,s:I}", "names", names, "formats", formats, "offsets", offsets,
                          "itemsize", tr_ty_size(s));
    Py_XDECREF(names);
    Py_XDECREF(formats);
    Py_XDECREF(offsets);
    PyArray_Descr *out = NULL;
    if (d && PyArray_DescrConverter(d, &out) == NPY_SUCCEED && tr_ty_struct_flags(s) & TR_STRUCT_RECORD) {
        PyObject *cls = record_class(), *both = cls ? PyTuple_Pack(2, cls, out) : NULL;
        PyArray_Descr *plain = out;
        out = NULL;
        if (both)
            PyArray_DescrConverter(both, &out);
        Py_XDECREF(both);
        Py_XDECREF(cls);
        Py_DECREF(plain);
    }
    Py_XDECREF(d);
    return out;
}

/* The first that was asked for. Types live as long as the process, and so do these, as many as there are. */
PyArray_Descr *tr_record_dtype(tr_state *st, const tr_ty *s) {
    PyObject *key = PyLong_FromVoidPtr((void *)(uintptr_t)s);
    PyObject *d = key ? tr_py_dict_get(st->dtypes, key) : NULL;
    if (!d && key && !PyErr_Occurred() && (d = (PyObject *)make_dtype(st, s)) &&
        PyDict_SetItem(st->dtypes, key, d) < 0)
        Py_CLEAR(d);
    Py_XDECREF(key);
    assert((!d || PyDataType_ELSIZE((PyArray_Descr *)d) == (npy_intp)tr_ty_size(s)) &&
           "its items are as large");
    return (PyArray_Descr *)d;
}
