/* NumPy's datetime64 and timedelta64: keys of arguments, types of dtypes, dtypes of types.
 * A key says all of a date: which of the two it is, and its unit. NumPy's units may be
 * multiples ("25s"); those have no key.
 * Cost of a key: a few loads. */
#include "ext/date.h"

#include <assert.h>

#include "ext/compat.h"

enum { DELTA_BIT = 1, UNIT_SHIFT = 1 };

static bool known_unit(const PyArray_DatetimeMetaData *m) {
#define X(ID, number, ...) (int)m->base == (number) ||
    return m->num == 1 && (TR_UNITS(X) false);
#undef X
}

/* Bits 8 to 15 of the key. */
static uint32_t code_of(const PyArray_DatetimeMetaData *m, bool delta) {
    return (uint32_t)(((unsigned)m->base << UNIT_SHIFT) | (delta ? DELTA_BIT : 0u)) << 8;
}

static const PyArray_DatetimeMetaData *unit_of(const PyArray_Descr *d) {
    return &((PyArray_DatetimeDTypeMetaData *)PyDataType_C_METADATA((PyArray_Descr *)(uintptr_t)d))->meta;
}

bool tr_date_is_same(const PyArray_Descr *a, const PyArray_Descr *b) {
    return tr_date_is_dtype(a) && a->type_num == b->type_num && unit_of(a)->base == unit_of(b)->base &&
           unit_of(a)->num == unit_of(b)->num && PyArray_ISNBO(a->byteorder) == PyArray_ISNBO(b->byteorder);
}

const tr_ty *tr_date_type(tr_tytab *t, PyArray_Descr *d) {
    if (!tr_date_is_dtype(d) || !known_unit(unit_of(d)))
        return NULL;
    return tr_ty_date(t, d->type_num == NPY_TIMEDELTA, (tr_unit)unit_of(d)->base);
}

uint32_t tr_date_array_key(PyArrayObject *a) {
    PyArray_Descr *d = PyArray_DESCR(a);
    unsigned flags = (unsigned)PyArray_FLAGS(a);
    if (!known_unit(unit_of(d)) || d->byteorder == '>' || PyArray_NDIM(a) > TR_MAX_NDIM)
        return TR_K_OTHER;
    return TR_K_DATES | (flags & NPY_ARRAY_ALIGNED ? 0u : tr_value_loose_key(a)) |
           code_of(unit_of(d), d->type_num == NPY_TIMEDELTA) | (uint32_t)PyArray_NDIM(a) << 16 |
           (flags & 3u) << 24 | (flags & NPY_ARRAY_WRITEABLE ? 0u : (uint32_t)TR_KEY_RO);
}

uint32_t tr_date_scalar_key(PyObject *o) {
    const PyArray_DatetimeMetaData *m = &((PyDatetimeScalarObject *)o)->obmeta;
    return known_unit(m) ? TR_K_DATE | code_of(m, PyArray_IsScalar(o, Timedelta)) : (uint32_t)TR_K_OTHER;
}

const tr_ty *tr_date_of_key(tr_tytab *t, uint32_t key) {
    unsigned code = key >> 8 & 0xffu;
    return tr_ty_date(t, code & DELTA_BIT, (tr_unit)(code >> UNIT_SHIFT));
}

static PyArray_Descr *make_dtype(const tr_ty *date) {
    tr_sb b;
    tr_sb_init(&b);
    tr_ty_print_date(&b, date);
    PyObject *text = b.oom ? PyErr_NoMemory() : PyUnicode_FromString(b.d);
    PyArray_Descr *d = NULL;
    if (text)
        PyArray_DescrConverter(text, &d);
    Py_XDECREF(text);
    tr_sb_fini(&b);
    return d;
}

/* Types live as long as the process, and so do these. */
PyArray_Descr *tr_date_dtype(tr_state *st, const tr_ty *date) {
    PyObject *key = PyLong_FromVoidPtr((void *)(uintptr_t)date);
    PyObject *d = key ? tr_py_dict_get(st->dtypes, key) : NULL;
    if (!d && key && !PyErr_Occurred() && (d = (PyObject *)make_dtype(date)) &&
        PyDict_SetItem(st->dtypes, key, d) < 0)
        Py_CLEAR(d);
    Py_XDECREF(key);
    assert((!d || tr_date_type(st->types, (PyArray_Descr *)d) == date) && "a date's dtype is of that type");
    return (PyArray_Descr *)d;
}
