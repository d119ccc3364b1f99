/* From Python values to slots: conversions as by assignment, range checked.
 * Cost: a few loads for exact scalars and arrays; NumPy scalars through their public structs. */
#include "ext/value.h"

#include <math.h>
#include <string.h>

#include "ext/check.h"
#include "ext/generator.h"
#include "ext/ntclass.h"

/* A number of any class, before it takes the form of a type. cls as tr_ty_class; uint64 values beyond
 * int64 have cls 'u'. */
typedef struct num {
    char cls;
    int64_t i;
    uint64_t u;
    double re, im;
} num;

static num num_int(int64_t v) {
    return (num){.cls = 'i', .i = v, .u = (uint64_t)v, .re = (double)v};
}
static num num_uint(uint64_t v) {
    return (num){.cls = v > INT64_MAX ? 'u' : 'i', .i = (int64_t)v, .u = v, .re = (double)v};
}
static num num_float(double v) {
    return (num){.cls = 'f', .re = v};
}

bool tr_value_overflow(PyObject *o, const tr_ty *ty, const char *fn, const char *arg) {
    assert(tr_ty_is_scalar(ty) && "what overflows is a number");
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_OverflowError))
        return false;
    PyErr_Clear();
    PyObject *text = PyObject_Str(o);
    if (!text)
        PyErr_Clear();
    const char *s = text ? PyUnicode_AsUTF8(text) : NULL;
    PyErr_Clear();
    bool brief = s && strlen(s) <= 40;
    PyErr_Format(PyExc_OverflowError, "%s(): argument '%s': %s %s%sdoes not fit %s", fn, arg,
                 PyLong_CheckExact(o) ? "Python int" : Py_TYPE(o)->tp_name, brief ? s : "", brief ? " " : "",
                 tr_tyk_user_name((tr_tyk)ty->kind));
    Py_XDECREF(text);
    return false;
}

/* Reads a Python int that `ty` will take: int64, else uint64 where the type is uint64, else a float where
 * it is float or complex. */
static bool read_int(PyObject *o, const tr_ty *ty, const char *fn, const char *arg, num *n) {
    int over = 0;
    long long v = PyLong_AsLongLongAndOverflow(o, &over);
    if (!over) {
        *n = num_int(v);
        return true;
    }
    if (ty->kind == TR_TY_U64 && over > 0) {
        unsigned long long u = PyLong_AsUnsignedLongLong(o);
        if (u != (unsigned long long)-1 || !PyErr_Occurred()) {
            *n = num_uint(u);
            return true;
        }
    } else if (tr_ty_is_float(ty) || tr_ty_is_complex(ty)) {
        double d = PyLong_AsDouble(o);
        if (d != -1.0 || !PyErr_Occurred()) {
            *n = num_float(d);
            return true;
        }
    }
    return tr_value_overflow(o, ty, fn, arg);
}

static num read_np_scalar(tr_state *st, PyObject *o) {
    switch (tr_key_tyk(tr_value_key(st, o))) {
    case TR_TY_BOOL: return (num){.cls = 'b', .i = PyArrayScalar_VAL(o, Bool) != 0};
    case TR_TY_I8: return num_int(PyArrayScalar_VAL(o, Byte));
    case TR_TY_I16: return num_int(PyArrayScalar_VAL(o, Short));
    case TR_TY_I32: return num_int(PyArrayScalar_VAL(o, Int));
    case TR_TY_I64: return num_int(PyArrayScalar_VAL(o, Long)); /* long long has the same layout */
    case TR_TY_U8: return num_uint(PyArrayScalar_VAL(o, UByte));
    case TR_TY_U16: return num_uint(PyArrayScalar_VAL(o, UShort));
    case TR_TY_U32: return num_uint(PyArrayScalar_VAL(o, UInt));
    case TR_TY_U64: return num_uint(PyArrayScalar_VAL(o, ULong));
    case TR_TY_F16: {
        npy_half bits = PyArrayScalar_VAL(o, Half);
        _Float16 h;
        memcpy(&h, &bits, sizeof h);
        return num_float((double)h);
    }
    case TR_TY_F32: return num_float((double)PyArrayScalar_VAL(o, Float));
    case TR_TY_F64: return num_float(PyArrayScalar_VAL(o, Double));
    case TR_TY_C64: {
        npy_cfloat c = PyArrayScalar_VAL(o, CFloat);
        float f[2];
        memcpy(f, &c, sizeof f);
        return (num){.cls = 'c', .re = (double)f[0], .im = (double)f[1]};
    }
    default: {
        npy_cdouble c = PyArrayScalar_VAL(o, CDouble);
        double d[2];
        memcpy(d, &c, sizeof d);
        return (num){.cls = 'c', .re = d[0], .im = d[1]};
    }
    }
}

static bool read_num(tr_state *st, PyObject *o, const tr_ty *ty, const char *fn, const char *arg, num *n) {
    if (PyFloat_CheckExact(o))
        *n = num_float(PyFloat_AS_DOUBLE(o));
    else if (PyLong_CheckExact(o))
        return read_int(o, ty, fn, arg, n);
    else if (PyBool_Check(o))
        *n = (num){.cls = 'b', .i = o == Py_True};
    else if (PyComplex_CheckExact(o))
        *n = (num){.cls = 'c', .re = PyComplex_RealAsDouble(o), .im = PyComplex_ImagAsDouble(o)};
    else
        *n = read_np_scalar(st, o);
    if (n->cls == 'b') {
        n->u = (uint64_t)n->i;
        n->re = (double)n->i;
    }
    return true;
}

static bool int_fits(const num *n, const tr_ty *ty) {
    unsigned bits = tr_ty_size(ty) * 8;
    if (tr_ty_class(ty) == 'u')
        return (n->cls == 'u' || n->i >= 0) && (bits == 64 || n->u >> bits == 0);
    if (n->cls == 'u')
        return false;
    return bits == 64 || (n->i >= -(INT64_C(1) << (bits - 1)) && n->i < INT64_C(1) << (bits - 1));
}

/* Stores a number as type ty; the class of the number is not above the class of the type (tr_value_cost
 * said so). */
static bool store_num(PyObject *o, const num *n, const tr_ty *ty, const char *fn, const char *arg,
                      tr_slot **at) {
    tr_slot *s = (*at)++;
    s->u = 0;
    assert(tr_ty_is_scalar(ty) && n->cls && "a number goes into a number's slots");
    switch (tr_ty_class(ty)) {
    case 'b': s->b = n->i != 0; break;
    case 'i':
    case 'u':
        if (!int_fits(n, ty))
            return tr_value_overflow(o, ty, fn, arg);
        s->u = n->u; /* little endian: the low bytes are the value */
        break;
    case 'f':
        if (ty->kind == TR_TY_F32)
            s->f32 = (float)n->re;
        else if (ty->kind == TR_TY_F16)
            s->f16 = (_Float16)n->re;
        else
            s->f = n->re;
        break;
    default: {
        tr_slot *im = (*at)++;
        im->u = 0;
        if (ty->kind == TR_TY_C64) {
            s->f32 = (float)n->re;
            im->f32 = (float)n->im;
        } else {
            s->f = n->re;
            im->f = n->im;
        }
    }
    }
    return true;
}

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
static bool unbox_index(PyObject *o, const char *name, const char *fn, const char *arg, int64_t *out) {
    PyObject *v = PyObject_GetAttrString(o, name);
    if (!v)
        return false;
    int over = 0;
    *out = PyLong_AsLongLongAndOverflow(v, &over);
    Py_DECREF(v);
    if (over)
        PyErr_Format(PyExc_OverflowError, "%s(): argument '%s': %s of %s does not fit int64", fn, arg, name,
                     Py_TYPE(o)->tp_name);
    return !over && !PyErr_Occurred();
}

static bool unbox_range(tr_state *st, PyObject *o, const tr_ty *ty, const char *fn, const char *arg,
                        tr_slot **at) {
    static const char *const names[3] = {"start", "stop", "step"};
    (void)st, (void)ty;
    for (unsigned i = 0; i < 3; i++)
        if (!unbox_index(o, names[i], fn, arg, &(*at)++->i))
            return false;
    return true;
}

static bool unbox_slice(tr_state *st, PyObject *o, const tr_ty *ty, const char *fn, const char *arg,
                        tr_slot **at) {
    static const char *const names[3] = {"start", "stop", "step"};
    (void)st;
    for (unsigned i = 0; i < 3; i++)
        if (!tr_ty_is(ty->items[i], TR_TY_NONE) && !unbox_index(o, names[i], fn, arg, &(*at)++->i))
            return false;
    return true;
}

static bool unbox_number(tr_state *st, PyObject *o, const tr_ty *ty, const char *fn, const char *arg,
                         tr_slot **at) {
    num n = {0};
    return read_num(st, o, ty, fn, arg, &n) && store_num(o, &n, ty, fn, arg, at);
}

static bool unbox_array(tr_state *st, PyObject *o, const tr_ty *ty, const char *fn, const char *arg,
                        tr_slot **at) {
    (void)st;
    return tr_value_unbox_array((PyArrayObject *)o, ty, fn, arg, at);
}

static bool unbox_tuple(tr_state *st, PyObject *o, const tr_ty *ty, const char *fn, const char *arg,
                        tr_slot **at) {
    assert(PyTuple_GET_SIZE(o) == (Py_ssize_t)ty->n && "a tuple has the items of its type");
    for (uint32_t i = 0; i < ty->n; i++)
        if (!tr_value_unbox(st, PyTuple_GET_ITEM(o, i), ty->items[i], fn, arg, at))
            return false;
    return true;
}

static bool unbox_records(tr_state *st, PyObject *o, const tr_ty *ty, const char *fn, const char *arg,
                          tr_slot **at) {
    return unbox_array(st, o, ty->items[0], fn, arg, at);
}

/* NumPy's scalar: it has its own memory, or is a view of an array's. Or an array that
 * stands for one (tr_record_place_key). */
static bool unbox_record(tr_state *st, PyObject *o, const tr_ty *ty, const char *fn, const char *arg,
                         tr_slot **at) {
    (void)st, (void)ty, (void)fn, (void)arg;
    (*at)++->p = (void *)((uintptr_t)o | 1u);
    (*at)++->p = PyArray_Check(o) ? PyArray_DATA((PyArrayObject *)o) : ((PyVoidScalarObject *)o)->obval;
    return true;
}

static bool unbox_date(tr_state *st, PyObject *o, const tr_ty *ty, const char *fn, const char *arg,
                       tr_slot **at) {
    (void)st, (void)ty, (void)fn, (void)arg;
    (*at)++->i = ((PyDatetimeScalarObject *)o)->obval; /* a timedelta64's layout is the same */
    return true;
}

static bool unbox_dates(tr_state *st, PyObject *o, const tr_ty *ty, const char *fn, const char *arg,
                        tr_slot **at) {
    return unbox_array(st, o, ty->items[0], fn, arg, at);
}

static bool unbox_generator(tr_state *st, PyObject *o, const tr_ty *ty, const char *fn, const char *arg,
                            tr_slot **at) {
    (void)ty; /* the key has said which bit generator it is */
    assert(tr_generator_is(o) && "a Generator's type is a Generator's");
    return tr_generator_read(st, o, fn, arg, at);
}

/* None and constants have no parts. */
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

static bool unbox_string(tr_state *st, PyObject *o, const tr_ty *ty, const char *fn, const char *arg,
                         tr_slot **at) {
    (void)st, (void)ty, (void)fn, (void)arg;
    return tr_value_unbox_string(o, at);
}

static bool unbox_nothing(tr_state *st, PyObject *o, const tr_ty *ty, const char *fn, const char *arg,
                          tr_slot **at) {
    (void)st, (void)o, (void)ty, (void)fn, (void)arg, (void)at;
    return true;
}

bool tr_value_unbox(tr_state *st, PyObject *o, const tr_ty *ty, const char *fn, const char *arg,
                    tr_slot **at) {
    static bool (*const unbox[])(tr_state *, PyObject *, const tr_ty *, const char *, const char *,
                                 tr_slot **) = {
#define KIND(ID, word, user, items, ty, lib, ext, main) ext,
#define EXT(can, box, unbox)                            unbox_##unbox
#include "ty/kinds.def"
    };
    const tr_slot *from = *at;
    (void)from;
    bool ok = unbox[tr_ty_row(ty)](st, o, ty, fn, arg, at);
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
    case TR_K_DATES:
    case TR_K_RECORDS:
    case TR_K_RECORD: return tr_ty_accept(tr_argk_type(st->types, k, NULL, NULL), ty);
    default: return !tr_argk_has_const(k) && tr_argk_type(st->types, k, NULL, NULL) == ty ? 0 : -1;
    }
}
