/* From Python values to slots: conversions as by assignment, range checked.
 * Cost: a few loads for exact scalars and arrays; NumPy scalars through their public structs. */
#include "ext/items.h"
#include "ext/lists.h"
#include "ext/number.h"
#include "ext/value.h"

#include <math.h>
#include <string.h>

#include "ext/chars.h"
#include "ext/check.h"
#include "ext/generator.h"
#include "ext/ntclass.h"
#include "ext/partial.h"
#include "ext/typed_items.h"

bool tr_value_unbox_array(PyArrayObject *a, const tr_ty *ty, const char *fn, const char *arg, tr_slot **at) {
    tr_slot *s = *at;
    unsigned nd = ty->ndim;
    assert(PyArray_NDIM(a) == (int)nd && "an array has the axes of its type");
    assert(((uintptr_t)a & 1u) == 0 && "the low bit says that the owner is an object");
    const npy_intp *dims = PyArray_DIMS(a), *strides = PyArray_STRIDES(a);
    (s++)->p = (void *)((uintptr_t)a | 1u);
    (s++)->p = PyArray_DATA(a);
    for (unsigned d = 0; d < nd; d++)
        (s++)->i = dims[d];
    if (ty->layout == TR_LAYOUT_ANY) {
        unsigned size = tr_ty_unit(ty);
        for (unsigned d = 0; d < nd; d++) {
            if (strides[d] % (npy_intp)size && dims[d] > 1) {
                PyErr_Format(PyExc_TypeError,
                             "%s(): argument '%s' is an array whose stride of %zd bytes on axis %u is no "
                             "multiple of its item "
                             "size, %u\n  help: copy it with np.ascontiguousarray",
                             fn, arg, (Py_ssize_t)strides[d], d, size);
                return false;
            }
            (s++)->i = strides[d] / (npy_intp)size;
        }
    }
    *at = s;
    return true;
}

/* Integer attribute of a range or slice. */
static bool unbox_index(const tr_unboxer *u, PyObject *o, const char *name, int64_t *out) {
    PyObject *v = PyObject_GetAttrString(o, name);
    if (!v)
        return false;
    int over = 0;
    *out = PyLong_AsLongLongAndOverflow(v, &over);
    Py_DECREF(v);
    if (over)
        PyErr_Format(PyExc_OverflowError, "%s(): argument '%s': %s of %s does not fit int64", u->fn, u->arg,
                     name, Py_TYPE(o)->tp_name);
    return !over && !PyErr_Occurred();
}

static bool unbox_range(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    static const char *const names[3] = {"start", "stop", "step"};
    (void)ty;
    for (unsigned i = 0; i < 3; i++)
        if (!unbox_index(u, o, names[i], &(*at)++->i))
            return false;
    return true;
}

static bool unbox_slice(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    static const char *const names[3] = {"start", "stop", "step"};
    for (unsigned i = 0; i < 3; i++)
        if (!tr_ty_is(ty->items[i], TR_TY_NONE) && !unbox_index(u, o, names[i], &(*at)++->i))
            return false;
    return true;
}

static bool unbox_number(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    return tr_number_unbox(u->st, o, ty, u->fn, u->arg, at);
}

static bool unbox_array(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    return tr_value_unbox_array((PyArrayObject *)o, ty, u->fn, u->arg, at);
}

static bool unbox_tuple(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    assert(PyTuple_GET_SIZE(o) == (Py_ssize_t)ty->n && "a tuple has the items of its type");
    for (uint32_t i = 0; i < ty->n; i++)
        if (!tr_value_unbox(u, PyTuple_GET_ITEM(o, i), ty->items[i], at))
            return false;
    return true;
}

static bool unbox_records(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    return unbox_array(u, o, ty->items[0], at);
}

/* NumPy's scalar: it has its own memory, or is a view of an array's. Or an array that
 * stands for one (tr_record_place_key). */
static bool unbox_record(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    (void)u, (void)ty;
    (*at)++->p = (void *)((uintptr_t)o | 1u);
    (*at)++->p = PyArray_Check(o) ? PyArray_DATA((PyArrayObject *)o) : ((PyVoidScalarObject *)o)->obval;
    return true;
}

static bool unbox_date(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    (void)u, (void)ty;
    (*at)++->i = ((PyDatetimeScalarObject *)o)->obval; /* a timedelta64's layout is the same */
    return true;
}

static bool unbox_dates(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    return unbox_array(u, o, ty->items[0], at);
}

static bool unbox_chars(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    (void)u;
    tr_npchars_parts((PyArrayObject *)o, ty, at);
    return true;
}

static bool unbox_generator(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    (void)ty; /* the key has said which bit generator it is */
    assert(tr_generator_is(o) && "a Generator's type is a Generator's");
    return tr_generator_read(u->st, o, u->fn, u->arg, at);
}

static bool unbox_list(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    int r = tr_held_take(u->held, o, tr_lists_key(u->st, o), ty, u->writes, u->fn, u->arg, &(*at)->p);
    ++*at;
    if (r == 0) /* it had the key when it was looked at */
        PyErr_Format(PyExc_RuntimeError, "%s(): argument '%s' changes while it is read", u->fn, u->arg);
    return r > 0;
}

static bool unbox_table(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    int r = tr_held_take_table(u->held, o, ty, u->writes, u->fn, u->arg, *at);
    *at += tr_ty_nparts(ty);
    if (r == 0)
        PyErr_Format(PyExc_RuntimeError, "%s(): argument '%s' changes while it is read", u->fn, u->arg);
    return r > 0;
}

bool tr_value_unbox_string(PyObject *o, tr_slot **at) {
    tr_slot *s = *at;
    assert(PyUnicode_Check(o) && "what is of the type is a string");
#if PY_VERSION_HEX < 0x030c0000
    if (PyUnicode_READY(o) < 0)
        return false;
#endif
    s[0].u = (uintptr_t)o | 1u;
    s[1].p = PyUnicode_DATA(o);
    s[2].i = (int64_t)PyUnicode_GET_LENGTH(o) << TR_STR_LENGTH | (PyUnicode_IS_ASCII(o) ? TR_STR_ASCII : 0) |
             (int64_t)PyUnicode_KIND(o) >> 1;
    *at += 3;
    return true;
}

static bool unbox_string(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    (void)u, (void)ty;
    return tr_value_unbox_string(o, at);
}

static bool unbox_bytes(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    tr_slot *s = *at;
    (void)u, (void)ty;
    assert(PyBytes_Check(o) && "what is of the type is bytes");
    s[0].u = (uintptr_t)o | 1u;
    s[1].p = PyBytes_AS_STRING(o);
    s[2].i = (int64_t)PyBytes_GET_SIZE(o) << TR_STR_LENGTH;
    *at += 3;
    return true;
}

/* None, or a value. */
static bool unbox_held(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    bool some = o != Py_None;
    unsigned n = tr_ty_nparts(ty->items[1]);
    (*at)++->u = some;
    if (some)
        return tr_value_unbox(u, o, ty->items[1], at);
    memset(*at, 0, n * sizeof **at);
    *at += n;
    return true;
}

/* What it calls, and its first arguments; the object has these for the call. */
static bool unbox_partial(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    PyObject *part[TR_PARTIAL_PARTS];
    if (!tr_partial_parts(o, part))
        return false;
    assert(PyTuple_GET_SIZE(part[TR_PARTIAL_VALUES]) == (Py_ssize_t)ty->items[2]->items[1]->n &&
           "a partial has the arguments of its type");
    bool ok = tr_value_unbox(u, part[TR_PARTIAL_FUNC], ty->items[0], at) &&
              tr_value_unbox(u, part[TR_PARTIAL_ARGS], ty->items[1], at) &&
              tr_value_unbox(u, part[TR_PARTIAL_VALUES], ty->items[2]->items[1], at);
    tr_partial_clear(part);
    return ok;
}

/* None and constants have no parts. */
static bool unbox_nothing(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    (void)u, (void)o, (void)ty, (void)at;
    return true;
}

bool tr_value_unbox(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at) {
    static bool (*const unbox[])(const tr_unboxer *, PyObject *, const tr_ty *, tr_slot **) = {
#define KIND(ID, word, user, items, ty, lib, ext, main) ext,
#define EXT(can, box, unbox)                            unbox_##unbox
#include "ty/kinds.def"
    };
    const tr_slot *from = *at;
    (void)from;
    bool ok = unbox[tr_ty_row(ty)](u, o, ty, at);
    assert((!ok || *at == from + tr_ty_nparts(ty)) && "a value has as many slots as its type has parts");
    assert((ok || PyErr_Occurred()) && "what cannot be unboxed has raised");
    return ok;
}

/* --- conversions that a declared signature allows --- */

/* Type kind of a scalar pattern, or -1. */
static int scalar_kind(uint32_t key) {
    switch (tr_key_kind(key)) {
    case TR_K_FLOAT: return TR_TY_F64;
    case TR_K_INT: return TR_TY_I64;
    case TR_K_BOOL: return TR_TY_BOOL;
    case TR_K_COMPLEX: return TR_TY_C128;
    case TR_K_SCALAR: return (int)tr_key_tyk(key);
    default: return -1;
    }
}

static int array_cost(PyObject *o, const tr_argk *k, const tr_ty *ty) {
    int flags = PyArray_FLAGS((PyArrayObject *)o);
    unsigned layouts = (flags & NPY_ARRAY_C_CONTIGUOUS ? 1u << TR_LAYOUT_C : 0) |
                       (flags & NPY_ARRAY_F_CONTIGUOUS ? 1u << TR_LAYOUT_F : 0);
    tr_arrk from = {tr_key_tyk(k->key),        tr_key_ndim(k->key), tr_key_layout(k->key), layouts,
                    (k->key & TR_KEY_RO) != 0, tr_key_form(k->key)};
    return tr_ty_accept_array(&from, ty);
}

static bool of_class(const tr_state *st, const tr_argk *k, const tr_ty *ty) {
    PyObject *cls = k->value ? tr_ntclass_find(st, ty) : NULL;
    Py_XDECREF(cls);
    return cls && cls == k->value;
}

int tr_value_cost(tr_state *st, PyObject *o, const tr_argk *k, const tr_ty *ty) {
    int kind = scalar_kind(k->key), total = 0;
    if (kind >= 0)
        return tr_ty_accept_scalar((tr_tyk)kind, ty);
    switch (tr_key_kind(k->key)) {
    case TR_K_ARRAY: return array_cost(o, k, ty);
    case TR_K_TUPLE:
    case TR_K_NTUPLE:
        if (!tr_ty_is(ty, TR_TY_TUPLE) || ty->n != k->n || (ty->fields && !of_class(st, k, ty)))
            return -1;
        for (uint32_t i = 0; i < k->n; i++) {
            int c = tr_value_cost(st, PyTuple_GET_ITEM(o, i), &k->items[i], ty->items[i]);
            if (c < 0)
                return -1;
            total += c;
        }
        return total;
    case TR_K_NONE: return tr_ty_is(ty, TR_TY_NONE) ? 0 : -1;
    case TR_K_LIST: return tr_lists_cost(st->types, k->key, ty);
    case TR_K_LISTOF:
    case TR_K_TABLE:
        if (k->key & TR_KEY_TYPED)
            return !tr_typed_takes((const tr_typed *)o, ty) ? -1 : ((const tr_typed *)o)->ty != ty;
        return tr_key_kind(k->key) == TR_K_TABLE
                   ? (k->fields == ty ? 0 : -1)
                   : tr_items_cost(st->types, tr_ty_list_of(st->types, k->fields), ty);
    case TR_K_CHARS:
    case TR_K_DATES:
    case TR_K_RECORDS:
    case TR_K_RECORD: return tr_ty_accept(tr_argk_type(st->types, k, NULL, NULL), ty);
    default: return !tr_argk_has_const(k) && tr_argk_type(st->types, k, NULL, NULL) == ty ? 0 : -1;
    }
}
