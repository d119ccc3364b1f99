/* The call path: from Python's vectorcall to compiled code and back.
 *
 * A plain positional call tries the variant that fitted last, then each in turn: every argument is looked at,
 * checked and unboxed in one step, so the first variant that takes all of them is the right one. All else
 * (keywords, defaults, *args, a miss) goes through bind.c and spec.c and comes back here with a variant that
 * fits. No heap allocation happens below TR_STACK_SLOTS slots, but for the result object. `active` counts
 * calls, so that no code is freed under them. */
#include "ext/box.h"
#include "ext/compat.h"
#include "ext/function.h"
#include "ext/pyerr.h"
#include "rt/enter.h"

#include <string.h>

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
    (s++)->p = (void *)((uintptr_t)a | 1u);
    (s++)->p = PyArray_DATA(a);
    for (unsigned d = 0; d < va->ndim; d++)
        (s++)->i = dims[d];
    if (va->any) {
        const npy_intp *strides = PyArray_STRIDES(a);
        npy_intp mask = ((npy_intp)1 << va->shift) - 1;
        for (unsigned d = 0; d < va->ndim; d++) {
            if (UNLIKELY(strides[d] & mask))
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
    s->u = 0;
    memcpy(s++, value, part);
    if (va->any) {
        s->u = 0;
        memcpy(s++, value + part, part);
    }
    *at = s;
}

/* An argument that is not one of the fast kinds, or needs a conversion. */
static outcome take_other(tr_function *f, PyObject *o, const tr_varg *va, const tr_argk *pat, uint32_t i,
                          tr_slot **at) {
    if (pat ? !tr_value_matches(f->st, pat, o) : tr_value_key(f->st, o) != va->key)
        return MISS;
    if (tr_value_unbox(f->st, o, va->ty, f->text, tr_function_param(f, i), at))
        return HIT;
    return FAIL;
}

static outcome take_tuple(tr_function *f, PyObject *o, const tr_varg *va, uint32_t i, tr_slot **at);

/* Argument i of the call, or an item of it. */
static inline __attribute__((always_inline)) outcome take_one(tr_function *f, PyObject *o, const tr_varg *va,
                                                              uint32_t i, tr_slot **at) {
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
            tr_value_overflow(o, va->ty, f->text, tr_function_param(f, i));
            return FAIL;
        }
        break;
    case TR_U_BOOL:
        if (UNLIKELY(!PyBool_Check(o)))
            return MISS;
        (*at)++->u = o == Py_True;
        break;
    case TR_U_ARRAY:
        if (UNLIKELY(!PyArray_CheckExact(o) || tr_value_array_key((PyArrayObject *)o) != va->key)) {
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
    case TR_U_TUPLE: return take_tuple(f, o, va, i, at);
    default:
    other:
        return take_other(f, o, va, va->deep, i, at);
    }
    return HIT;
}

static __attribute__((noinline)) outcome take_tuple(tr_function *f, PyObject *o, const tr_varg *va,
                                                    uint32_t i, tr_slot **at) {
    if (!PyTuple_CheckExact(o) || PyTuple_GET_SIZE(o) != (Py_ssize_t)va->n)
        return MISS;
    for (uint32_t k = 0; k < va->n; k++) {
        outcome r = take_one(f, PyTuple_GET_ITEM(o, k), &va->items[k], i, at);
        if (UNLIKELY(r != HIT))
            return r;
    }
    return HIT;
}

static inline outcome take_args(tr_function *f, const tr_variant *v, PyObject *const *args, tr_slot *s) {
    for (uint32_t i = 0; i < v->nargs; i++) {
        outcome r = take_one(f, args[i], &v->arg[i], i, &s);
        if (UNLIKELY(r != HIT))
            return r;
    }
    return HIT;
}

static __attribute__((noinline)) PyObject *box_result(tr_function *f, const tr_variant *v, tr_frame *frame,
                                                      const tr_slot *ret) {
    switch (v->ret) {
    case TR_R_NONE: Py_RETURN_NONE;
    case TR_R_FLOAT: return PyFloat_FromDouble(ret->f);
    case TR_R_INT: return PyLong_FromLongLong(ret->i);
    case TR_R_BOOL: return Py_NewRef(ret->b ? Py_True : Py_False);
    default: {
        const tr_slot *at = ret;
        tr_boxer b = {f->st, frame, v->spec->keep};
        return tr_box(&b, v->spec->ret, &at);
    }
    }
}

/* What a call leaves behind beside its result: counts, blocks, pending text, an error that print() met.
 * Returns the result or NULL. */
static __attribute__((noinline)) PyObject *settle(tr_function *f, tr_frame *frame, PyObject *r) {
    bool printed = frame->capout != 0;
    if (r && frame->watch && !tr_pyerr_watched_well(frame))
        Py_CLEAR(r);
    atomic_fetch_add_explicit(&f->st->allocated, frame->nalloc, memory_order_relaxed);
    uint64_t before = frame->nfree;
    for (tr_mem *m = frame->mems.next; m != &frame->mems; m = m->next)
        before++; /* what frame_fini is about to free */
    atomic_fetch_add_explicit(&f->st->freed, before, memory_order_relaxed);
    tr_rt_frame_fini(frame);
    if (printed && r && PyErr_Occurred())
        Py_CLEAR(r);
    return r;
}

static __attribute__((noinline)) int32_t run_nogil(const tr_variant *v, tr_frame *frame, const tr_slot *slots,
                                                   tr_slot *ret) {
    PyThreadState *ts = PyEval_SaveThread();
    int32_t code = tr_rt_run(v->entry, frame, slots, ret);
    PyEval_RestoreThread(ts);
    return code;
}

static inline PyObject *run(tr_function *f, const tr_variant *v, const tr_slot *slots, tr_slot *ret) {
    tr_frame frame;
    int32_t code;
    tr_rt_frame_init(&frame, &f->st->host);
    if (UNLIKELY(f->nogil))
        code = run_nogil(v, &frame, slots, ret);
    else
        code = tr_rt_run(v->entry, &frame, slots, ret);
    PyObject *r;
    if (LIKELY(code == 0)) {
        r = box_result(f, v, &frame, ret);
    } else {
        r = NULL;
        tr_pyerr_raise_code(f, tr_module_meta(v->spec->module), code, &frame);
    }
    if (UNLIKELY(frame.nalloc || frame.nfree || frame.capout || frame.links))
        r = settle(f, &frame, r);
    return r;
}

/* Runs v if the arguments are what it takes. */
static inline outcome try_variant(tr_function *f, const tr_variant *v, PyObject *const *args,
                                  PyObject **result) {
    tr_slot slots[TR_STACK_SLOTS], ret[TR_STACK_SLOTS];
    outcome r = take_args(f, v, args, slots);
    if (LIKELY(r == HIT))
        *result = run(f, v, slots, ret);
    return r;
}

/* The same for many slots. */
static __attribute__((noinline)) outcome try_large(tr_function *f, const tr_variant *v, PyObject *const *args,
                                                   PyObject **result) {
    tr_slot *slots = PyMem_Malloc(((size_t)v->nslots + v->nret + 1) * sizeof *slots);
    if (!slots) {
        PyErr_NoMemory();
        return FAIL;
    }
    outcome r = take_args(f, v, args, slots);
    if (r == HIT)
        *result = run(f, v, slots, slots + v->nslots);
    PyMem_Free(slots);
    return r;
}

static inline outcome try_any(tr_function *f, const tr_variant *v, PyObject *const *args, PyObject **result) {
    return LIKELY(v->nslots <= TR_STACK_SLOTS && v->nret <= TR_STACK_SLOTS) ? try_variant(f, v, args, result)
                                                                            : try_large(f, v, args, result);
}

/* The variants but the one at `tried`. */
static __attribute__((noinline)) outcome try_rest(tr_function *f, const tr_varlist *l, uint32_t tried,
                                                  PyObject *const *args, PyObject **result) {
    for (uint32_t i = 0; i < l->n; i++) {
        outcome r = i == tried ? MISS : try_any(f, l->v[i], args, result);
        if (r == MISS)
            continue;
        tr_spec_switch(f, l, tried, i);
        return r;
    }
    return MISS;
}

/* No two variants take the same arguments, so the order in which they are tried is free: first the one that
 * fitted last time, as most callers go on with the types they began with. */
static inline outcome try_list(tr_function *f, PyObject *const *args, PyObject **result) {
    tr_function_enter(
        f); /* a look at an argument may run code that makes variants go; so may other threads */
    const tr_varlist *l = atomic_load_explicit(&f->list, memory_order_acquire);
    uint32_t last = atomic_load_explicit(&f->last, memory_order_relaxed);
    *result = NULL;
    outcome r = LIKELY(l && last < l->n) ? try_any(f, l->v[last], args, result) : MISS;
    if (UNLIKELY(r == MISS && l))
        r = try_rest(f, l, last, args, result);
    tr_function_leave(f);
    return r;
}

/* All parameters have values; compiles when no variant fits. */
static PyObject *call_bound(tr_function *f, PyObject *const *args) {
    PyObject *result;
    if (try_list(f, args, &result) != MISS)
        return result;
    /* An array argument may change under us while another thread compiles, so a second miss is possible,
     * if absurd. */
    for (int tries = 0; tries < 8; tries++) {
        if (!tr_spec_for(f, args))
            return NULL;
        if (try_list(f, args, &result) != MISS)
            return result;
    }
    PyErr_Format(PyExc_RuntimeError, "%U(): the arguments keep changing while they are read", f->qualname);
    return NULL;
}

static __attribute__((noinline)) PyObject *call_general(tr_function *f, PyObject *const *args, Py_ssize_t n,
                                                        PyObject *kwnames) {
    tr_bound b;
    if (!kwnames && n == f->nplain)
        return call_bound(f, args);
    if (!tr_bind(f, args, n, kwnames, &b))
        return NULL;
    PyObject *r = call_bound(f, b.v);
    tr_bound_clear(&b);
    return r;
}

PyObject *tr_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    tr_function *f = (tr_function *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    PyObject *result;
    if (LIKELY(!kwnames && n == f->nplain) && LIKELY(try_list(f, args, &result) != MISS))
        return result;
    return call_general(f, args, n, kwnames);
}
