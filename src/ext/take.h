/* Arguments of a call into slots: what an exact scalar or array takes is here, inlined into the call path
 * (call.c) and that of launches (launch.c). */
#ifndef TR_EXT_TAKE_H
#define TR_EXT_TAKE_H

#include <string.h>

#include "ext/check.h"
#include "ext/compat.h"
#include "ext/function.h"
#include "ext/lists.h"
#include "ext/number.h"

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

typedef enum outcome { MISS, FAIL, HIT } outcome;

/* int64 of an exact int; false when it does not fit. */
static inline bool read_i64(PyObject *o, int64_t *out) {
    if (LIKELY(tr_py_small_int(o, out)))
        return true;
    int over;
    *out = PyLong_AsLongLongAndOverflow(o, &over);
    return !over;
}

/* Parts of an array whose key matched. A stride that is no whole number of items is an error. */
static inline bool read_array(PyArrayObject *a, const tr_varg *va, tr_slot **at) {
    tr_slot *s = *at;
    const npy_intp *dims = PyArray_DIMS(a);
    assert(PyArray_NDIM(a) == va->ndim && "an array whose key fits has the axes that it says");
    assert(((uintptr_t)a & 1u) == 0 && "the low bit says that the owner is an object");
    (s++)->p = (void *)((uintptr_t)a | 1u);
    (s++)->p = PyArray_DATA(a);
    for (unsigned d = 0; d < va->ndim; d++)
        (s++)->i = dims[d];
    if (va->any) {
        const npy_intp *strides = PyArray_STRIDES(a);
        npy_intp mask = ((npy_intp)1 << va->shift) - 1;
        for (unsigned d = 0; d < va->ndim; d++) {
            if (UNLIKELY(strides[d] & mask) && dims[d] > 1)
                return false;
            (s++)->i = strides[d] >> va->shift;
        }
    }
    *at = s;
    return true;
}

/* int to a declared integer type. What does not fit goes to tr_value_unbox, which knows uint64 and makes
 * the error. */
static inline bool read_narrow(PyObject *o, const tr_varg *va, tr_slot *s) {
    int64_t v;
    assert(va->shift > 0 && va->shift <= 64 && "an integer type has its bits");
    if (UNLIKELY(!read_i64(o, &v)))
        return false;
    s->i = v;
    if (va->any)
        return va->shift == 64 ? v >= 0 : (uint64_t)v >> va->shift == 0;
    unsigned rest = 64u - va->shift;
    return (int64_t)((uint64_t)v << rest) >> rest == v;
}

/* Value of a NumPy scalar: it lies right behind the object's head, whatever its type. */
_Static_assert(offsetof(PyBoolScalarObject, obval) == sizeof(PyObject) &&
                   offsetof(PyDoubleScalarObject, obval) == sizeof(PyObject) &&
                   offsetof(PyCDoubleScalarObject, obval) == sizeof(PyObject),
               "NumPy scalars hold their value behind the head");
static inline void read_scalar(PyObject *o, const tr_varg *va, tr_slot **at) {
    const char *value = (const char *)o + sizeof(PyObject);
    unsigned part = va->any ? va->shift / 2u : va->shift; /* complex: two parts */
    tr_slot *s = *at;
    assert(part > 0 && part <= sizeof *s && "a part of a number fits its slot");
    s->u = 0;
    memcpy(s++, value, part);
    if (va->any) {
        s->u = 0;
        memcpy(s++, value + part, part);
    }
    *at = s;
}

/* An argument that is not one of the fast kinds, or needs a conversion. */
static __attribute__((noinline, unused)) outcome take_other(tr_function *f, PyObject *o, const tr_varg *va,
                                                            const tr_argk *pat, uint32_t i, tr_held *held,
                                                            tr_slot **at) {
    const tr_slot *from = *at;
    (void)from;
    if (pat ? !tr_value_matches(f->st, pat, o) : tr_value_key(f->st, o) != va->key)
        return MISS;
    tr_unboxer u = {f->st, f->text, tr_function_param(f, i), held, va->writes};
    bool ok = tr_value_unbox(&u, o, va->ty, at);
    assert((!ok || *at == from + tr_ty_nparts(va->ty)) && "a value has as many slots as its type has parts");
    assert(tr_py_agrees(ok) && "what is not unboxed has raised");
    return ok ? HIT : FAIL;
}

static outcome take_tuple(tr_function *f, PyObject *o, const tr_varg *va, uint32_t i, tr_held *held,
                          tr_slot **at);

static __attribute__((noinline, unused)) outcome take_list(tr_function *f, PyObject *o, const tr_varg *va,
                                                           uint32_t i, tr_held *held, tr_slot **at) {
    int r = tr_held_take(held, o, va->key, va->ty, va->writes, f->text, tr_function_param(f, i), &(*at)->p);
    ++*at;
    return r > 0 ? HIT : r < 0 ? FAIL : MISS;
}

/* Argument i of the call, or an item of it. `held`: of a variant that takes lists. */
static inline __attribute__((always_inline)) outcome take_one(tr_function *f, PyObject *o, const tr_varg *va,
                                                              uint32_t i, tr_held *held, tr_slot **at) {
    switch (va->op) {
    case TR_U_FLOAT:
        if (UNLIKELY(!PyFloat_CheckExact(o)))
            return MISS;
        (*at)++->f = PyFloat_AS_DOUBLE(o);
        break;
    case TR_U_INT:
        if (UNLIKELY(!PyLong_CheckExact(o)))
            return MISS;
        if (UNLIKELY(!read_i64(o, &(*at)++->i))) {
            tr_number_overflow(o, va->ty, f->text, tr_function_param(f, i));
            return FAIL;
        }
        break;
    case TR_U_BOOL:
        if (UNLIKELY(!PyBool_Check(o)))
            return MISS;
        (*at)++->u = o == Py_True;
        break;
    case TR_U_ARRAY:
        if (UNLIKELY(!(PyArray_CheckExact(o) ||
                       ((f->target || f->opts.offload) && Py_IS_TYPE(o, f->st->remote_type))) ||
                     tr_value_array_key((PyArrayObject *)o) != va->key)) {
            if (PyArray_CheckExact(o) || !PyArray_Check(o) || tr_value_key(f->st, o) != va->key)
                return MISS;
        }
        if (UNLIKELY(!read_array((PyArrayObject *)o, va, at))) {
            tr_value_unbox_array((PyArrayObject *)o, va->ty, f->text, tr_function_param(f, i), at);
            return FAIL;
        }
        break;
    case TR_U_SCALAR:
        if (UNLIKELY(Py_TYPE(o) != va->cls))
            goto other;
        read_scalar(o, va, at);
        break;
    case TR_U_INT_NARROW:
        if (UNLIKELY(!PyLong_CheckExact(o)))
            return MISS;
        if (UNLIKELY(!read_narrow(o, va, *at)))
            goto other;
        (*at)++;
        break;
    case TR_U_INT_F64: {
        int64_t n;
        if (UNLIKELY(!PyLong_CheckExact(o)))
            return MISS;
        if (UNLIKELY(!read_i64(o, &n)))
            goto other;
        (*at)++->f = (double)n;
        break;
    }
    case TR_U_FLOAT_F32:
        if (UNLIKELY(!PyFloat_CheckExact(o)))
            return MISS;
        (*at)++->f32 = (float)PyFloat_AS_DOUBLE(o);
        break;
    case TR_U_STRING:
        if (UNLIKELY(!PyUnicode_CheckExact(o) && !Py_IS_TYPE(o, &PyUnicodeArrType_Type)))
            return MISS;
        if (UNLIKELY(!tr_value_unbox_string(o, at)))
            return FAIL;
        break;
    case TR_U_TUPLE: return take_tuple(f, o, va, i, held, at);
    case TR_U_LIST: return take_list(f, o, va, i, held, at);
    default:
    other:
        return take_other(f, o, va, va->deep, i, held, at);
    }
    return HIT;
}

static __attribute__((noinline)) outcome take_tuple(tr_function *f, PyObject *o, const tr_varg *va,
                                                    uint32_t i, tr_held *held, tr_slot **at) {
    assert(va->n == va->ty->n && "a tuple is taken item by item");
    if (!PyTuple_CheckExact(o) || PyTuple_GET_SIZE(o) != (Py_ssize_t)va->n)
        return MISS;
    for (uint32_t k = 0; k < va->n; k++) {
        outcome r = take_one(f, PyTuple_GET_ITEM(o, k), &va->items[k], i, held, at);
        if (UNLIKELY(r != HIT))
            return r;
    }
    return HIT;
}

#endif
