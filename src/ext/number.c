/* Numbers across the border, both ways: conversions as by assignment, range checked, and Python's own numbers
 * back. Cost: a few loads for exact scalars; NumPy's through their public structs. */
#include "ext/number.h"

#include <assert.h>
#include <string.h>

#include "ext/value.h"

/* --- in --- */

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

bool tr_number_overflow(PyObject *o, const tr_ty *ty, const char *fn, const char *arg) {
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
    return tr_number_overflow(o, ty, fn, arg);
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
            return tr_number_overflow(o, ty, fn, arg);
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

bool tr_number_unbox(tr_state *st, PyObject *o, const tr_ty *ty, const char *fn, const char *arg,
                     tr_slot **at) {
    num n = {0};
    return read_num(st, o, ty, fn, arg, &n) && store_num(o, &n, ty, fn, arg, at);
}

/* --- out --- */

PyObject *tr_number_box(const tr_ty *ty, const tr_slot **at) {
    const tr_slot *s = (*at)++;
    switch ((tr_tyk)ty->kind) {
    case TR_TY_BOOL: return PyBool_FromLong(s->b != 0);
    case TR_TY_I8: return PyLong_FromLong((int8_t)s->i);
    case TR_TY_I16: return PyLong_FromLong((int16_t)s->i);
    case TR_TY_I32: return PyLong_FromLong((int32_t)s->i);
    case TR_TY_I64: return PyLong_FromLongLong(s->i);
    case TR_TY_U8: return PyLong_FromLong((uint8_t)s->u);
    case TR_TY_U16: return PyLong_FromLong((uint16_t)s->u);
    case TR_TY_U32: return PyLong_FromUnsignedLong((uint32_t)s->u);
    case TR_TY_U64: return PyLong_FromUnsignedLongLong(s->u);
    case TR_TY_F16: return PyFloat_FromDouble((double)s->f16);
    case TR_TY_F32: return PyFloat_FromDouble((double)s->f32);
    case TR_TY_F64: return PyFloat_FromDouble(s->f);
    case TR_TY_C64: {
        const tr_slot *im = (*at)++;
        return PyComplex_FromDoubles((double)s->f32, (double)im->f32);
    }
    default: {
        const tr_slot *im = (*at)++;
        return PyComplex_FromDoubles(s->f, im->f);
    }
    }
}
