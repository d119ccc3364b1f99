/* The call path: from Python's vectorcall to compiled code and back.
 *
 * A plain positional call tries the variant that fitted last, then each in turn: every argument is looked at,
 * checked and unboxed in one step, so the first variant that takes all of them is the right one. All else
 * (keywords, defaults, *args, a miss) goes through bind.c and spec.c and comes back here with a variant that
 * fits. No heap allocation happens below TR_STACK_SLOTS slots, but for the result object. `active` counts
 * calls, so that no code is freed under them. */
#include "ext/box.h"

#include <assert.h>
#include "ext/compat.h"
#include "ext/frame.h"
#include "ext/function.h"
#include "ext/lazy.h"
#include "ext/pyerr.h"
#include "ext/take.h"
#include "rt/enter.h"

static inline outcome take_args(tr_function *f, const tr_variant *v, PyObject *const *args, tr_held *held,
                                tr_slot *s) {
    const tr_slot *end = s + v->nslots;
    (void)end;
    assert(v->nargs == f->nparams && "a variant takes all parameters");
    for (uint32_t i = 0; i < v->nargs; i++) {
        outcome r = take_one(f, args[i], &v->arg[i], i, held, &s);
        if (UNLIKELY(r != HIT))
            return r;
    }
    assert(s == end && "the arguments fill the variant's slots");
    return HIT;
}

static tr_boxer boxer_of(tr_function *f, const tr_variant *v, tr_frame *frame, const tr_held *held) {
    return (tr_boxer){.st = f->st,
                      .frame = frame,
                      .keep = v->spec->keep,
                      .hands = v->spec->hands,
                      .points = f->plan && tr_plan_has_values(f->plan),
                      .held = held};
}

static __attribute__((noinline)) PyObject *box_result(tr_function *f, const tr_variant *v, tr_frame *frame,
                                                      const tr_held *held, const tr_slot *ret) {
    switch (v->ret) {
    case TR_R_NONE: Py_RETURN_NONE;
    case TR_R_FLOAT: return PyFloat_FromDouble(ret->f);
    case TR_R_INT: return PyLong_FromLongLong(ret->i);
    case TR_R_BOOL: return Py_NewRef(ret->b ? Py_True : Py_False);
    default: {
        const tr_slot *at = ret;
        tr_boxer b = boxer_of(f, v, frame, held);
        b.lists = held ? held->made : NULL;
        PyObject *r = tr_box(&b, v->spec->ret, &at);
        assert((!r || at == ret + v->nret) && "the result is all of its slots");
        return r;
    }
    }
}

static __attribute__((noinline)) bool reflect(tr_function *f, const tr_variant *v, tr_frame *frame,
                                              tr_held *held) {
    tr_boxer b = boxer_of(f, v, frame, held);
    return tr_held_reflect(held, &b);
}

static __attribute__((noinline)) int32_t run_nogil(const tr_variant *v, tr_frame *frame, const tr_slot *slots,
                                                   tr_slot *ret) {
    assert(tr_py_is_held() && "only who holds the GIL can let go of it");
    PyThreadState *ts = PyEval_SaveThread();
    int32_t code = tr_rt_run(v->entry, frame, slots, ret);
    PyEval_RestoreThread(ts);
    return code;
}

/* Runs v in a frame that has begun; its end. */
static inline PyObject *run(tr_function *f, const tr_variant *v, tr_frame *frame, tr_held *held,
                            const tr_slot *slots, tr_slot *ret) {
    int32_t code;
    assert(!v->code && "what a device has loaded is launched, not called");
    assert(f->active > 0 && "no code goes while it is called");
    if (UNLIKELY(v->lets_go))
        code = run_nogil(v, frame, slots, ret);
    else
        code = tr_rt_run(v->entry, frame, slots, ret);
    PyObject *r = NULL;
    if (UNLIKELY(code != 0)) {
        tr_pyerr_raise_code(f, v->meta, code, frame);
        assert(PyErr_Occurred() && "code that ends with a code has raised");
    }
    bool ok = !held || reflect(f, v, frame, held);
    if (LIKELY(code == 0) && ok)
        r = box_result(f, v, frame, held, ret);
    if (held)
        tr_held_fini(held);
    if (UNLIKELY(frame->nalloc || frame->nfree || frame->capout || frame->links)) {
        bool large = frame->most >= TR_LARGE;
        r = tr_frame_settle(f->st, frame, r);
        if (UNLIKELY(large) && r && !tr_spec_grow(f, v))
            Py_CLEAR(r);
    }
    return r;
}

/* Runs v if the arguments are what it takes. */
static inline outcome try_variant(tr_function *f, const tr_variant *v, PyObject *const *args,
                                  PyObject **result) {
    tr_slot slots[TR_STACK_SLOTS], ret[TR_STACK_SLOTS];
    tr_frame frame;
    outcome r = take_args(f, v, args, NULL, slots);
    if (LIKELY(r == HIT)) {
        tr_rt_frame_init(&frame, &f->st->host);
        *result = run(f, v, &frame, NULL, slots, ret);
    }
    return r;
}

/* The same for many slots, or lists, whose blocks are the frame's: it begins before they are made. */
static __attribute__((noinline)) outcome try_large(tr_function *f, const tr_variant *v, PyObject *const *args,
                                                   PyObject **result) {
    tr_slot few[TR_STACK_SLOTS], *slots = few;
    size_t n = (size_t)v->nslots + v->nret + 1;
    tr_frame frame;
    tr_held held;
    if (n > TR_STACK_SLOTS && !(slots = PyMem_Malloc(n * sizeof *slots))) {
        PyErr_NoMemory();
        return FAIL;
    }
    tr_rt_frame_init(&frame, &f->st->host);
    tr_held_init(&held, f->st, &frame);
    outcome r = take_args(f, v, args, &held, slots);
    if (r == HIT && !tr_held_claim(&held, f->text))
        r = FAIL;
    if (r == HIT) {
        *result = run(f, v, &frame, &held, slots, slots + v->nslots);
    } else {
        tr_held_fini(&held);
        tr_frame_settle(f->st, &frame, NULL);
    }
    if (slots != few)
        PyMem_Free(slots);
    return r;
}

static inline outcome try_any(tr_function *f, const tr_variant *v, PyObject *const *args, PyObject **result) {
    return LIKELY(v->plain) ? try_variant(f, v, args, result) : try_large(f, v, args, result);
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
    assert(tr_py_is_held() && "arguments are looked at with the GIL");
    *result = NULL;
    outcome r = LIKELY(l && last < l->n) ? try_any(f, l->v[last], args, result) : MISS;
    if (UNLIKELY(r == MISS && l))
        r = try_rest(f, l, last, args, result);
    tr_function_leave(f);
    assert(tr_py_agrees(r == MISS || *result) && "a call gives a result or an exception, a miss neither");
    return r;
}

static PyObject *call_bound(tr_function *f, PyObject *const *args);

/* Bytes as argument i are an array of their items by Numba's rules, and where there are declared types alone;
 * but where a declared one says bytes. */
static bool takes_bytes(tr_function *f, uint32_t i) {
    const tr_ty *const *ty = f->sigs + i;
    for (uint32_t k = 0; k < f->nsigs; k++, ty += f->nparams + 1)
        if (*ty && tr_ty_is(*ty, TR_TY_BYTES))
            return true;
    return !f->opts.promote_numba && !atomic_load(&f->closed) && !atomic_load(&f->sealed);
}

/* The same with arrays in the place of other buffers; *any: there are some. */
static __attribute__((noinline)) PyObject *call_with_arrays(tr_function *f, PyObject *const *args,
                                                            bool *any) {
    PyObject **a = PyMem_Calloc(f->nparams + 1u, sizeof *a), *r = NULL;
    *any = !a;
    if (!a)
        return PyErr_NoMemory();
    for (uint32_t i = 0; i < f->nparams; i++) {
        a[i] = PyBytes_CheckExact(args[i]) && takes_bytes(f, i) ? NULL : tr_value_of_buffer(args[i]);
        *any = *any || a[i];
        a[i] = a[i] ? a[i] : Py_NewRef(args[i]);
    }
    if (*any)
        r = call_bound(f, a);
    for (uint32_t i = 0; i < f->nparams; i++)
        Py_DECREF(a[i]);
    PyMem_Free(a);
    assert(tr_py_agrees(r || !*any) && "no arrays, no call: then nothing is raised");
    return r;
}

/* All parameters have values; compiles when no variant fits. */
static PyObject *call_bound(tr_function *f, PyObject *const *args) {
    PyObject *result;
    bool any;
    if (try_list(f, args, &result) != MISS)
        return result;
    result = call_with_arrays(f, args, &any);
    if (any)
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
    assert((f->nparams == 0 || b.v[f->nparams - 1]) && "all parameters have values");
    PyObject *r = call_bound(f, b.v);
    tr_bound_clear(&b);
    return r;
}

PyObject *tr_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    tr_function *f = (tr_function *)self;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    PyObject *result;
    assert(f->vectorcall == tr_call && !f->target && "the code of devices is not called");
    if (LIKELY(!kwnames && n == f->nplain) && LIKELY(try_list(f, args, &result) != MISS))
        return result;
    return call_general(f, args, n, kwnames);
}
