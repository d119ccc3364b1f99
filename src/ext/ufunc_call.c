/* A ufunc called on plain arrays and scalars, without NumPy's machinery.
 *
 * Taken are exact arrays that compiled code can read and scalars, with or without `out`; they become
 * the operands of a walk (exec/exec.h), and what is not given is made in the order in memory that
 * NumPy would give it. All else (where, casting, subclasses, objects with __array_ufunc__, operands
 * that overlap) goes to NumPy's own call. */
#include "ext/ufunc.h"

#include <assert.h>
#include <string.h>

#include "rt/rt.h"

enum { RELEASE_GIL = 1000 }; /* elements from which on other threads may run meanwhile */

_Static_assert((int)TR_WALK_NDIM >= (int)NPY_MAXDIMS, "any array can be walked");

/* A number among the operands, in the type of the loop. */
typedef union value {
    int64_t i;
    uint64_t u;
    double d[2];
    float f[2];
    char bytes[16];
} value;

typedef struct call {
    tr_ufunc *uf;
    tr_uloop *l;
    tr_walk walk;
    PyArrayObject *out[TR_MAX_OPERANDS]; /* of outputs: given or made; NULL: not yet */
    value value[TR_MAX_OPERANDS];
} call;

/* --- which loop --- */

enum { WEAK = 0x80, NOT_OURS = 0xff };

static inline uint8_t code_of_array(PyArrayObject *a) {
    PyArray_Descr *d = PyArray_DESCR(a);
    int num = d->type_num;
    if (num > NPY_HALF || (tr_value_npy_kind[num] == 255 && num != NPY_HALF) || d->byteorder == '>' ||
        !(PyArray_FLAGS(a) & NPY_ARRAY_ALIGNED))
        return NOT_OURS;
    return (uint8_t)num;
}

static uint8_t code_of_scalar(const tr_state *st, PyObject *o) {
    if (PyFloat_CheckExact(o))
        return WEAK | 'f';
    if (PyLong_CheckExact(o))
        return WEAK | 'i';
    if (PyBool_Check(o))
        return NPY_BOOL;
    if (PyComplex_CheckExact(o))
        return WEAK | 'c';
    for (unsigned i = 0; i < TR_NPTYPES; i++)
        if (Py_IS_TYPE(o, st->np_scalar[i]))
            return tr_ufunc_npy_of((tr_tyk)tr_value_np_kind[i]);
    return NOT_OURS;
}

/* The loop for these codes, from what was found before or through tr_ufunc_pick. NULL: leave
 * it to NumPy, or an exception is set. */
static __attribute__((noinline)) tr_uloop *plan(tr_ufunc *uf, const uint8_t *code) {
    tr_ukind in[TR_MAX_OPERANDS];
    uint8_t want[TR_MAX_OPERANDS];
    memset(want, TR_UNUM_NONE, sizeof want);
    for (uint32_t i = uf->nin; i < uf->nop; i++)
        in[i] = (tr_ukind){TR_UNUM_NONE, 0};
    for (uint32_t i = 0; i < uf->nin; i++)
        in[i] = code[i] & WEAK ? (tr_ukind){TR_UNUM_NONE, (char)(code[i] & 0x7f)} : (tr_ukind){code[i], 0};
    tr_uloop *l = tr_ufunc_pick(uf, in, want);
    tr_uplan *p = l ? PyMem_Calloc(1, sizeof *p) : NULL;
    if (!p) {
        if (l)
            PyErr_NoMemory();
        return NULL;
    }
    assert(l->uf == uf && "a plan leads to a loop of its ufunc");
    p->loop = l;
    memcpy(p->code, code, uf->nin);
    tr_uplan *next = uf->plans;
    do
        p->next = next;
    while (!atomic_compare_exchange_weak(&uf->plans, &next, p));
    return l;
}

static inline tr_uloop *loop_for(tr_ufunc *uf, const uint8_t *code) {
    uint32_t nin = uf->nin, same = 0;
    for (tr_uplan *p = uf->plans; p; p = p->next, same = 0) {
        while (same < nin && p->code[same] == code[same])
            same++;
        if (same == nin)
            return p->loop;
    }
    return plan(uf, code);
}

/* --- operands --- */

static bool int_fits(int64_t v, uint8_t num) {
    switch (num) {
    case NPY_BYTE: return v == (int8_t)v;
    case NPY_SHORT: return v == (int16_t)v;
    case NPY_INT: return v == (int32_t)v;
    case NPY_UBYTE: return v == (uint8_t)v;
    case NPY_USHORT: return v == (uint16_t)v;
    case NPY_UINT: return v == (uint32_t)v;
    case NPY_ULONG: return v >= 0;
    default: return num == NPY_LONG || num == NPY_LONGLONG;
    }
}

/* A Python or NumPy scalar as an item of the loop's type; false: leave it to NumPy. */
static bool scalar_value(value *v, PyObject *o, uint8_t code, uint8_t num) {
    if (!(code & WEAK)) {
        if (code != num && !(PyBool_Check(o) && num == NPY_BOOL))
            return false;
        if (PyBool_Check(o))
            v->u = o == Py_True;
        else
            PyArray_ScalarAsCtype(o, v);
        return true;
    }
    double re, im = 0;
    if (code == (WEAK | 'i')) {
        int over;
        int64_t i = PyLong_AsLongLongAndOverflow(o, &over);
        if (over)
            return false;
        if (int_fits(i, num)) {
            v->i = i; /* the low bytes come first */
            return true;
        }
        re = PyLong_AsDouble(o);
    } else if (code == (WEAK | 'f')) {
        re = PyFloat_AS_DOUBLE(o);
    } else {
        re = PyComplex_RealAsDouble(o);
        im = PyComplex_ImagAsDouble(o);
    }
    switch (num) {
    case NPY_DOUBLE:
    case NPY_CDOUBLE:
        v->d[0] = re;
        v->d[1] = im;
        return true;
    case NPY_FLOAT:
    case NPY_CFLOAT:
        v->f[0] = (float)re;
        v->f[1] = (float)im;
        return true;
    default: return false;
    }
}

static inline void take_array(tr_nd *nd, PyArrayObject *a) {
    nd->data = PyArray_DATA(a);
    nd->ndim = PyArray_NDIM(a);
    nd->packed = PyArray_IS_C_CONTIGUOUS(a);
    nd->shape = PyArray_DIMS(a);
    nd->strides = PyArray_STRIDES(a);
}

static bool take_inputs(call *c, PyObject *const *args) {
    tr_ufunc *uf = c->uf;
    uint8_t code[TR_MAX_OPERANDS];
    for (uint32_t i = 0; i < uf->nin; i++) {
        code[i] = PyArray_CheckExact(args[i]) ? code_of_array((PyArrayObject *)args[i])
                                              : code_of_scalar(uf->st, args[i]);
        if (code[i] == NOT_OURS)
            return false;
    }
    if (!(c->l = loop_for(uf, code)))
        return false;
    for (uint32_t i = 0; i < uf->nin; i++) {
        tr_nd *nd = &c->walk.op[i];
        uint8_t num = c->l->num[i];
        if (PyArray_CheckExact(args[i])) {
            if (code[i] != num && !(code[i] == NPY_LONGLONG && num == NPY_LONG))
                return false; /* NumPy converts */
            take_array(nd, (PyArrayObject *)args[i]);
        } else {
            if (!scalar_value(&c->value[i], args[i], code[i], num))
                return false;
            nd->data = c->value[i].bytes;
            nd->ndim = 0;
        }
    }
    return true;
}

/* Outputs as given: an array to store to, or NULL. */
static bool take_output(call *c, uint32_t i, PyObject *o) {
    c->out[i] = NULL;
    c->walk.op[i].ndim = TR_ND_ABSENT;
    if (!o || o == Py_None)
        return true;
    if (!PyArray_CheckExact(o) || code_of_array((PyArrayObject *)o) != c->l->num[i] ||
        !PyArray_ISWRITEABLE((PyArrayObject *)o) ||
        (PyArray_FLAGS((PyArrayObject *)o) & NPY_ARRAY_WRITEBACKIFCOPY))
        return false;
    c->out[i] = (PyArrayObject *)o;
    take_array(&c->walk.op[i], c->out[i]);
    return true;
}

/* No keyword but `out`. */
static bool plain_keywords(PyObject *kwnames) {
    return !kwnames || (PyTuple_GET_SIZE(kwnames) == 1 &&
                        PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, 0), "out") == 0);
}

static bool take_outputs(call *c, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    uint32_t nin = c->uf->nin, nout = c->uf->nop - nin;
    PyObject *out = kwnames ? args[n] : NULL;
    bool several = out && PyTuple_CheckExact(out);
    if (out && (n != (Py_ssize_t)nin || (several ? PyTuple_GET_SIZE(out) != (Py_ssize_t)nout : nout != 1)))
        return false;
    for (uint32_t i = 0; i < nout; i++) {
        PyObject *o = n > (Py_ssize_t)(nin + i) ? args[nin + i] : NULL;
        if (out)
            o = several ? PyTuple_GET_ITEM(out, i) : out;
        if (!take_output(c, nin + i, o))
            return false;
    }
    return true;
}

/* --- running --- */

/* A new array whose memory order is that of the walk. */
static bool new_output(call *c, uint32_t k) {
    tr_walk *w = &c->walk;
    npy_intp strides[NPY_MAXDIMS];
    bool plain = tr_walk_layout(w, &c->l->exec, k, strides);
    PyObject *o = PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(c->l->num[k]), w->ndim, w->shape,
                                       plain ? NULL : strides, NULL, 0, NULL);
    if (!o)
        return false;
    assert(PyArray_ITEMSIZE((PyArrayObject *)o) == c->l->exec.item[k].size &&
           "items are as large as the loop's");
    c->out[k] = (PyArrayObject *)o;
    w->op[k].data = PyArray_DATA(c->out[k]);
    return true;
}

static bool run(call *c) {
    tr_frame frame;
    bool lets_go = c->walk.count >= RELEASE_GIL || c->l->lets_go;
    assert(tr_py_is_held() && "only who holds the GIL can let go of it");
    PyThreadState *ts = lets_go ? PyEval_SaveThread() : NULL;
    tr_rt_frame_init(&frame, &c->uf->st->host);
    bool ok = tr_uloop_end(c->l, tr_walk_run(&c->walk, &c->l->exec, &frame), &frame);
    if (ts)
        PyEval_RestoreThread(ts);
    return ok;
}

/* --- results --- */

/* Takes the references. */
static PyObject *finish(const call *c, PyObject *const *made) {
    uint32_t nin = c->uf->nin, nout = c->uf->nop - nin;
    assert(!PyErr_Occurred() && "a call that went well has raised nothing");
    if (nout == 1)
        return made[0];
    PyObject *t = PyTuple_New(nout);
    for (uint32_t i = 0; i < nout; i++) {
        if (t)
            PyTuple_SET_ITEM(t, i, made[i]);
        else
            Py_DECREF(made[i]);
    }
    return t;
}

static PyObject *scalar_result(const call *c, uint32_t k) {
    const value *v = &c->value[k];
    if (c->l->num[k] == NPY_DOUBLE) {
        PyObject *o = PyArrayScalar_New(Double);
        if (o)
            PyArrayScalar_ASSIGN(o, Double, v->d[0]);
        return o;
    }
    if (c->l->num[k] == NPY_BOOL)
        PyArrayScalar_RETURN_BOOL_FROM_LONG(v->bytes[0]);
    PyArray_Descr *d = PyArray_DescrFromType(c->l->num[k]);
    PyObject *o = PyArray_Scalar((void *)(uintptr_t)v->bytes, d, NULL);
    Py_DECREF(d);
    return o;
}

/* No axes and no given output: numbers in, numbers out. */
static PyObject *on_scalars(call *c) {
    tr_ufunc *uf = c->uf;
    char *at[TR_MAX_OPERANDS];
    PyObject *made[TR_MAX_OPERANDS];
    npy_intp steps[TR_MAX_OPERANDS], one = 1;
    uint32_t k, nin = uf->nin, nop = uf->nop;
    for (k = 0; k < nop; k++) {
        at[k] = k < nin ? c->walk.op[k].data : c->value[k].bytes;
        steps[k] = c->l->exec.item[k].size;
    }
    if (!tr_uloop_run(c->l, at, &one, steps))
        return NULL;
    for (k = nin; k < nop; k++)
        if (!(made[k - nin] = scalar_result(c, k)))
            break;
    if (k == nop)
        return finish(c, made);
    while (k > nin)
        Py_DECREF(made[--k - nin]);
    return NULL;
}

static PyObject *on_walk(call *c) {
    uint32_t nin = c->uf->nin, nop = c->uf->nop, k = nin;
    PyObject *made[TR_MAX_OPERANDS];
    for (; k < nop && (c->out[k] ? (Py_INCREF(c->out[k]), true) : new_output(c, k)); k++)
        made[k - nin] = (PyObject *)c->out[k];
    if (k == nop && (c->walk.count == 0 || run(c)))
        return finish(c, made);
    while (k > nin)
        Py_DECREF(made[--k - nin]);
    return NULL;
}

/* *ours is false when NumPy is to make the call. */
static PyObject *on_arrays(call *c, bool *ours) {
    tr_walk_status s = tr_walk_begin(&c->walk, &c->l->exec);
    if (s == TR_WALK_MEMORY)
        return PyErr_NoMemory();
    if (!(*ours = s == TR_WALK_OK))
        return NULL; /* it says what is wrong, or copies */
    PyObject *r = on_walk(c);
    tr_walk_end(&c->walk);
    return r;
}

/* On arrays without axes NumPy returns scalars, unless they were given as output. */
static bool all_scalars(const call *c) {
    for (uint32_t k = 0; k < c->uf->nop; k++)
        if (k < c->uf->nin ? c->walk.op[k].ndim != 0 : c->out[k] != NULL)
            return false;
    return true;
}

/* --- what goes to NumPy --- */

/* What is known of the inputs of a call, and whether Python numbers are among them. False:
 * some are neither arrays nor numbers. */
static bool input_kinds(const tr_ufunc *uf, PyObject *const *args, tr_ukind *in, bool *weak) {
    *weak = false;
    for (uint32_t i = uf->nin; i < uf->nop; i++)
        in[i] = (tr_ukind){TR_UNUM_NONE, 0};
    for (uint32_t i = 0; i < uf->nin; i++) {
        bool is_array = PyArray_Check(args[i]); /* in any byte order and alignment */
        int num = is_array ? PyArray_DESCR((PyArrayObject *)args[i])->type_num : 0;
        uint8_t code = !is_array         ? code_of_scalar(uf->st, args[i])
                       : num <= NPY_HALF ? (uint8_t)num
                                         : NOT_OURS;
        if (code == NOT_OURS)
            return false;
        in[i] = code & WEAK ? (tr_ukind){TR_UNUM_NONE, (char)(code & 0x7f)} : (tr_ukind){code, 0};
        *weak |= in[i].weak != 0;
    }
    return true;
}

/* Gives Python numbers the types of their operands. */
static bool strengthen(tr_ufunc *uf, PyObject *const *args, PyObject **to) {
    tr_ukind in[TR_MAX_OPERANDS];
    uint8_t want[TR_MAX_OPERANDS];
    bool weak;
    memset(want, TR_UNUM_NONE, sizeof want);
    if (!input_kinds(uf, args, in, &weak))
        return true;
    const tr_uloop *l = weak ? tr_ufunc_pick(uf, in, want) : NULL;
    for (uint32_t i = 0; l && i < uf->nin; i++) {
        if (!in[i].weak)
            continue;
        PyObject *a = PyArray_FromAny(args[i], PyArray_DescrFromType(l->num[i]), 0, 0, 0, NULL);
        if (!a)
            return false;
        Py_SETREF(to[i], a);
    }
    return !weak || l;
}

static PyObject *strengthened(tr_ufunc *uf, PyObject *self, PyObject *const *args, size_t nargsf,
                              PyObject *kwnames) {
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), all = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *r = NULL, **copy = PyMem_Calloc((size_t)all + 1, sizeof *copy);
    if (!copy)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < all; i++)
        copy[i] = Py_NewRef(args[i]);
    if (n < (Py_ssize_t)uf->nin || strengthen(uf, args, copy))
        r = uf->numpy(self, copy, (size_t)n, kwnames);
    for (Py_ssize_t i = 0; i < all; i++)
        Py_DECREF(copy[i]);
    PyMem_Free(copy);
    return r;
}

/* Before NumPy 2 a Python number arrives at the type resolver as an array like any other. Later, where there
 * are no others, it is int64, float64 or complex128, which may be none of the declared signatures. */
static bool needs_strength(const tr_ufunc *uf, PyObject *const *args, Py_ssize_t n) {
    if (!tr_ufunc_has_promoters())
        return true;
    bool all = !uf->lazy && n >= (Py_ssize_t)uf->nin;
    for (uint32_t i = 0; all && i < uf->nin; i++) {
        uint8_t code = code_of_scalar(uf->st, args[i]);
        all = code != NOT_OURS && (code & WEAK);
    }
    return all;
}

static PyObject *by_numpy(tr_ufunc *uf, PyObject *self, PyObject *const *args, size_t nargsf,
                          PyObject *kwnames) {
    return needs_strength(uf, args, PyVectorcall_NARGS(nargsf))
               ? strengthened(uf, self, args, nargsf, kwnames)
               : uf->numpy(self, args, nargsf, kwnames);
}

/* --- gufuncs: NumPy calls them, but what is given as output matters first --- */

static tr_extent extent_of(PyArrayObject *a) {
    return tr_extent_of(PyArray_DATA(a), PyArray_ITEMSIZE(a), PyArray_NDIM(a), PyArray_DIMS(a),
                        PyArray_STRIDES(a));
}

/* Two objects are arrays with memory in common, by all that is seen from their ends. */
static bool arrays_meet(PyObject *x, PyObject *y) {
    return PyArray_CheckExact(x) && PyArray_CheckExact(y) &&
           tr_extents_meet(extent_of((PyArrayObject *)x), extent_of((PyArrayObject *)y));
}

/* The outputs that a call gives, NULL for each that it does not; NumPy refuses what is
 * wrong about them. False: it gives none. */
static bool given_outputs(const tr_ufunc *uf, PyObject *const *args, Py_ssize_t n, PyObject *kwnames,
                          PyObject **outs) {
    Py_ssize_t nin = (Py_ssize_t)uf->nin, nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    PyObject *const *given = args + nin, *out = NULL;
    Py_ssize_t ngiven = n - nin;
    bool any = false;
    for (Py_ssize_t i = 0; i < nkw; i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "out") == 0)
            out = args[n + i];
    if (out && PyTuple_CheckExact(out)) {
        given = &PyTuple_GET_ITEM(out, 0);
        ngiven = PyTuple_GET_SIZE(out);
    } else if (out) {
        given = (PyObject *const *)&out;
        ngiven = 1;
    }
    for (Py_ssize_t k = 0; k < (Py_ssize_t)uf->nop - nin; k++) {
        outs[k] = k < ngiven && given[k] != Py_None ? given[k] : NULL;
        any = any || outs[k];
    }
    return any;
}

/* signature= for a call that gives no outputs, once NumPy knows loops for some that were given: those are not
 * for this one. None: it is not known which loop it is. NULL with an exception. */
static PyObject *usual_signature(tr_ufunc *uf, PyObject *const *args) {
    tr_ukind in[TR_MAX_OPERANDS];
    uint8_t want[TR_MAX_OPERANDS];
    bool weak;
    memset(want, TR_UNUM_NONE, sizeof want);
    if (!input_kinds(uf, args, in, &weak))
        return Py_NewRef(Py_None);
    const tr_uloop *l = tr_ufunc_pick(uf, in, want);
    PyObject *t = l ? PyTuple_New(uf->nop) : NULL;
    for (uint32_t i = 0; t && i < uf->nop; i++) {
        PyArray_Descr *d = i < uf->nin ? NULL : PyArray_DescrFromType(l->num[i]);
        PyTuple_SET_ITEM(t, i, Py_NewRef(d ? (PyObject *)Py_TYPE(d) : Py_None));
        Py_XDECREF(d);
    }
    return t;
}

/* The type of an output to which the type of all inputs together converts: as a reference
 * to NumPy's class. Else None. */
static PyObject *output_class(PyArray_Descr *common, PyObject *out) {
    if (!out || !PyArray_Check(out) || PyArray_DESCR((PyArrayObject *)out)->type_num >= NPY_HALF ||
        !PyArray_CanCastTypeTo(common, PyArray_DESCR((PyArrayObject *)out), NPY_SAME_KIND_CASTING))
        return Py_NewRef(Py_None);
    return Py_NewRef((PyObject *)Py_TYPE(PyArray_DESCR((PyArrayObject *)out)));
}

/* Makes the loop for these inputs and the outputs that the signature t names. NumPy, which asks for a loop
 * that it does not know by what it then is given, would take an answer of the very same types for none, and
 * the first loop it has that inputs convert to. */
static bool make_known(tr_ufunc *uf, PyObject *const *args, PyObject *t) {
    tr_ukind in[TR_MAX_OPERANDS];
    uint8_t want[TR_MAX_OPERANDS];
    bool weak;
    if (!input_kinds(uf, args, in, &weak))
        return true;
    for (uint32_t i = 0; i < uf->nop; i++) {
        PyObject *c = PyTuple_GET_ITEM(t, i);
        want[i] = c == Py_None ? TR_UNUM_NONE : (uint8_t)((PyArray_DTypeMeta *)c)->type_num;
    }
    uf->told_outputs = true;
    return tr_ufunc_pick(uf, in, want) != NULL;
}

/* signature= for what a call gives as outputs; None: there is nothing to say. NULL with an exception. */
static PyObject *signature_of(tr_ufunc *uf, PyObject *const *args, PyObject *const *outs) {
    PyArrayObject *arrays[TR_MAX_OPERANDS];
    npy_intp narrays = 0;
    for (uint32_t i = 0; i < uf->nin; i++)
        if (PyArray_Check(args[i]))
            arrays[narrays++] = (PyArrayObject *)args[i];
    PyArray_Descr *common = narrays ? PyArray_ResultType(narrays, arrays, 0, NULL) : NULL;
    if (!common) {
        PyErr_Clear();
        return Py_NewRef(Py_None);
    }
    PyObject *t = PyTuple_New(uf->nop);
    for (uint32_t i = 0; t && i < uf->nop; i++)
        PyTuple_SET_ITEM(t, i, output_class(common, i < uf->nin ? NULL : outs[i - uf->nin]));
    Py_DECREF(common);
    if (t && !make_known(uf, args, t))
        Py_CLEAR(t);
    return t;
}

/* The same call with one more keyword. */
static PyObject *with_signature(tr_ufunc *uf, PyObject *self, PyObject *const *args, Py_ssize_t n,
                                PyObject *kwnames, PyObject *sig) {
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    PyObject *one = Py_BuildValue("(s)", "signature"), *r = NULL;
    PyObject *names = one && kwnames ? PySequence_Concat(kwnames, one) : Py_XNewRef(one);
    PyObject **copy = PyMem_Malloc((size_t)(n + nkw + 1) * sizeof *copy);
    if (!copy)
        PyErr_NoMemory();
    if (copy && names) {
        memcpy(copy, args, (size_t)(n + nkw) * sizeof *copy);
        copy[n + nkw] = sig;
        r = by_numpy(uf, self, copy, (size_t)n, names);
    }
    PyMem_Free(copy);
    Py_XDECREF(names);
    Py_XDECREF(one);
    return r;
}

/* NumPy looks for a loop by the types of inputs and of the signature; those of given outputs
 * (NULL: none are) get there as such. */
static PyObject *by_outputs(tr_ufunc *uf, PyObject *self, PyObject *const *args, Py_ssize_t n,
                            PyObject *kwnames, PyObject *const *outs) {
    bool says = !tr_ufunc_by_outputs(uf);
    for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, i);
        says = says || PyUnicode_CompareWithASCIIString(name, "signature") == 0 ||
               PyUnicode_CompareWithASCIIString(name, "dtype") == 0;
    }
    PyObject *sig = says   ? Py_NewRef(Py_None)
                    : outs ? signature_of(uf, args, outs)
                           : usual_signature(uf, args);
    PyObject *r = sig == Py_None ? by_numpy(uf, self, args, (size_t)n, kwnames)
                  : sig          ? with_signature(uf, self, args, n, kwnames, sig)
                                 : NULL;
    Py_XDECREF(sig);
    return r;
}

/* An input that a given output overlaps is copied. NumPy's iterator does that too, but for an output that is
 * the very same array as the input: it takes cores for elementwise. */
static __attribute__((noinline)) PyObject *on_cores(tr_ufunc *uf, PyObject *self, PyObject *const *args,
                                                    size_t nargsf, PyObject *kwnames) {
    Py_ssize_t n = PyVectorcall_NARGS(nargsf), all = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *v[2 * TR_MAX_OPERANDS], *outs[TR_MAX_OPERANDS], *copies[TR_MAX_OPERANDS];
    uint32_t ncopies = 0;
    if (all > (Py_ssize_t)(sizeof v / sizeof *v) || n > (Py_ssize_t)uf->nop || n < (Py_ssize_t)uf->nin)
        return by_numpy(uf, self, args, nargsf, kwnames); /* it says what is wrong */
    if (!given_outputs(uf, args, n, kwnames, outs))
        return uf->told_outputs ? by_outputs(uf, self, args, n, kwnames, NULL)
                                : by_numpy(uf, self, args, nargsf, kwnames);
    bool ok = true;
    memcpy((void *)v, (const void *)args, (size_t)all * sizeof *v);
    for (uint32_t k = 0; k < uf->nin && ok; k++) {
        bool meets = false;
        for (uint32_t i = 0; i < uf->nop - uf->nin; i++)
            meets = meets || (outs[i] && arrays_meet(args[k], outs[i]));
        if (!meets || (uf->u->op_flags[k] & NPY_ITER_READWRITE))
            continue;
        v[k] = PyArray_NewCopy((PyArrayObject *)args[k], NPY_KEEPORDER);
        ok = v[k] != NULL;
        if (ok)
            copies[ncopies++] = v[k];
    }
    PyObject *r = ok ? by_outputs(uf, self, v, n, kwnames, outs) : NULL;
    while (ncopies > 0)
        Py_DECREF(copies[--ncopies]);
    return r;
}

PyObject *tr_ufunc_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames) {
    tr_ufunc *uf = (tr_ufunc *)((PyUFuncObject *)self)->obj;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (!tr_ufunc_room(uf, uf->core ? TR_ROOM_CORE : TR_ROOM_CALL))
        return NULL;
    if (uf->core)
        return on_cores(uf, self, args, nargsf, kwnames);
    call c;
    c.uf = uf;
    bool ours = n >= (Py_ssize_t)uf->nin && n <= (Py_ssize_t)uf->nop && plain_keywords(kwnames) &&
                take_inputs(&c, args) && take_outputs(&c, args, n, kwnames);
    PyObject *r = NULL;
    assert((!ours || !PyErr_Occurred()) && "operands that are taken have raised nothing");
    if (ours && all_scalars(&c))
        return on_scalars(&c);
    if (ours)
        r = on_arrays(&c, &ours);
    return ours || PyErr_Occurred() ? r : by_numpy(uf, self, args, nargsf, kwnames);
}
