/* A ufunc called on plain arrays and scalars, without NumPy's machinery.
 *
 * Taken are exact arrays that compiled code can read and scalars, with or without `out`; shapes broadcast, axes that can be walked as one are
 * merged, and the loop runs over the longest stretch there is. The result has the order in memory that NumPy would give it. All else (where, casting,
 * subclasses, objects with __array_ufunc__, operands that overlap) goes to NumPy's own call. */
#include "ext/ufunc.h"

#include <string.h>

#include "rt/fns.h"

enum { RELEASE_GIL = 1000 }; /* elements from which on other threads may run meanwhile */
enum { FEW_STEPS = 32 };     /* there may be 2048, too many for a short stack */

_Static_assert((int)FEW_STEPS >= (int)TR_MAX_OPERANDS, "one axis fits");

typedef struct operand {
    PyArrayObject *a; /* NULL: a scalar, which lies in `value` */
    char *data;
    union {
        int64_t i;
        uint64_t u;
        double d[2];
        float f[2];
        char bytes[16];
    } value;
} operand;

typedef struct call {
    tr_ufunc *uf;
    tr_uloop *l;
    operand op[TR_MAX_OPERANDS];
    PyArrayObject *like; /* all arrays are as this one, and walked as one axis; NULL: they are not */
    int ndim;            /* of the walk: of the result, until axes are merged */
    npy_intp shape[NPY_MAXDIMS];
    npy_intp *step[TR_MAX_OPERANDS]; /* of each operand along each axis */
    npy_intp room[FEW_STEPS];        /* where they lie, if they are no more; else on the heap */
    int perm[NPY_MAXDIMS];           /* axes, innermost first */
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

/* The loop for these codes, from what was found before or through tr_ufunc_pick. NULL: leave it to NumPy, or an exception is set. */
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
static bool scalar_value(operand *op, PyObject *o, uint8_t code, uint8_t num) {
    if (!(code & WEAK)) {
        if (code != num && !(PyBool_Check(o) && num == NPY_BOOL))
            return false;
        if (PyBool_Check(o))
            op->value.u = o == Py_True;
        else
            PyArray_ScalarAsCtype(o, &op->value);
        return true;
    }
    double re, im = 0;
    if (code == (WEAK | 'i')) {
        int over;
        int64_t v = PyLong_AsLongLongAndOverflow(o, &over);
        if (over)
            return false;
        if (int_fits(v, num)) {
            op->value.i = v; /* the low bytes come first */
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
        op->value.d[0] = re;
        op->value.d[1] = im;
        return true;
    case NPY_FLOAT:
    case NPY_CFLOAT:
        op->value.f[0] = (float)re;
        op->value.f[1] = (float)im;
        return true;
    default: return false;
    }
}

static bool take_inputs(call *c, PyObject *const *args) {
    tr_ufunc *uf = c->uf;
    uint8_t code[TR_MAX_OPERANDS];
    for (uint32_t i = 0; i < uf->nin; i++) {
        bool is_array = PyArray_CheckExact(args[i]);
        c->op[i].a = is_array ? (PyArrayObject *)args[i] : NULL;
        code[i] = is_array ? code_of_array((PyArrayObject *)args[i]) : code_of_scalar(uf->st, args[i]);
        if (code[i] == NOT_OURS)
            return false;
    }
    if (!(c->l = loop_for(uf, code)))
        return false;
    for (uint32_t i = 0; i < uf->nin; i++) {
        operand *op = &c->op[i];
        if (op->a ? code[i] != c->l->num[i] && !(code[i] == NPY_LONGLONG && c->l->num[i] == NPY_LONG)
                  : !scalar_value(op, args[i], code[i], c->l->num[i]))
            return false; /* NumPy converts */
        op->data = op->a ? PyArray_DATA(op->a) : op->value.bytes;
    }
    return true;
}

/* Outputs as given: an array to store to, or NULL. */
static bool take_output(call *c, uint32_t i, PyObject *o) {
    operand *op = &c->op[i];
    op->a = NULL;
    if (!o || o == Py_None)
        return true;
    if (!PyArray_CheckExact(o) || code_of_array((PyArrayObject *)o) != c->l->num[i] ||
        !PyArray_ISWRITEABLE((PyArrayObject *)o) ||
        (PyArray_FLAGS((PyArrayObject *)o) & NPY_ARRAY_WRITEBACKIFCOPY))
        return false;
    op->a = (PyArrayObject *)o;
    op->data = PyArray_DATA(op->a);
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

/* --- shape --- */

/* Items in a row, none of them between others. */
static inline bool is_row(PyArrayObject *a, PyArrayObject *like) {
    int nd = PyArray_NDIM(like), same = PyArray_NDIM(a) == nd && PyArray_IS_C_CONTIGUOUS(a);
    for (int d = 0; same && d < nd; d++)
        same = PyArray_DIM(a, d) == PyArray_DIM(like, d);
    return same;
}

/* The usual case: arrays of one shape that all lie in C order without gaps need no broadcasting and no order of axes. */
static bool is_flat(call *c) {
    uint32_t nop = c->uf->nop;
    PyArrayObject *like = NULL;
    for (uint32_t k = 0; k < nop; k++) {
        PyArrayObject *a = c->op[k].a;
        if (!a)
            continue;
        like = like ? like : a;
        if (!is_row(a, like))
            return false;
    }
    npy_intp n = 1;
    for (int d = 0; d < PyArray_NDIM(like); d++)
        n *= PyArray_DIM(like, d);
    c->like = like;
    c->ndim = 1;
    c->perm[0] = 0;
    c->shape[0] = n;
    for (uint32_t k = 0; k < nop; k++) {
        c->step[k] = c->room + k;
        c->room[k] = c->op[k].a || k >= c->uf->nin ? c->l->size[k] : 0;
    }
    return true;
}

static bool broadcast(call *c) {
    c->like = NULL;
    c->ndim = 0;
    for (uint32_t k = 0; k < c->uf->nop; k++)
        if (c->op[k].a && PyArray_NDIM(c->op[k].a) > c->ndim)
            c->ndim = PyArray_NDIM(c->op[k].a);
    for (int d = 0; d < c->ndim; d++)
        c->shape[d] = 1;
    for (uint32_t k = 0; k < c->uf->nop; k++) {
        PyArrayObject *a = c->op[k].a;
        int skip = a ? c->ndim - PyArray_NDIM(a) : c->ndim;
        if (a && k >= c->uf->nin && skip)
            return false;
        for (int d = skip; d < c->ndim; d++) {
            npy_intp n = PyArray_DIM(a, d - skip);
            if (c->shape[d] == 1)
                c->shape[d] = n;
            else if (n != 1 && n != c->shape[d])
                return false;
        }
    }
    for (uint32_t k = c->uf->nin; k < c->uf->nop; k++) /* an output never broadcasts */
        for (int d = 0; c->op[k].a && d < c->ndim; d++)
            if (PyArray_DIM(c->op[k].a, d) != c->shape[d])
                return false;
    return true;
}

static void steps_of(call *c, uint32_t k) {
    PyArrayObject *a = c->op[k].a;
    int skip = a ? c->ndim - PyArray_NDIM(a) : c->ndim;
    for (int d = 0; d < c->ndim; d++)
        c->step[k][d] = d < skip || PyArray_DIM(a, d - skip) == 1 ? 0 : PyArray_STRIDE(a, d - skip);
}

/* Axis x should be walked inside axis y: decided by the operands that walk both; where they disagree C order wins. 0: they do not say. */
static int inner(const call *c, uint32_t nop, int x, int y) {
    int says = 0;
    for (uint32_t k = 0; k < nop; k++) {
        npy_intp sx = c->step[k][x], sy = c->step[k][y];
        if (!c->op[k].a || !sx || !sy)
            continue;
        npy_intp ax = sx < 0 ? -sx : sx, ay = sy < 0 ? -sy : sy;
        if (ay <= ax)
            says = -1;
        else if (says == 0)
            says = 1;
    }
    return says;
}

/* The order of axes that NumPy's iterator would choose: an insertion sort from C order, innermost first. */
static void order_axes(call *c) {
    for (int i = 0; i < c->ndim; i++)
        c->perm[i] = c->ndim - 1 - i;
    for (int i = 1; i < c->ndim; i++) {
        int axis = c->perm[i], at = i;
        for (int j = i - 1; j >= 0; j--) {
            int says = inner(c, c->uf->nop, axis, c->perm[j]);
            if (says < 0)
                break;
            if (says > 0)
                at = j;
        }
        memmove(c->perm + at + 1, c->perm + at, (size_t)(i - at) * sizeof *c->perm);
        c->perm[at] = axis;
    }
}

static PyObject *new_array(const call *c, uint32_t k, int ndim, const npy_intp *shape,
                           const npy_intp *strides) {
    return PyArray_NewFromDescr(&PyArray_Type, PyArray_DescrFromType(c->l->num[k]), ndim, shape, strides,
                                NULL, 0, NULL);
}

/* A new array whose memory order is that of the walk. */
static PyObject *new_in_order(call *c, uint32_t k) {
    npy_intp strides[NPY_MAXDIMS], s = c->l->size[k];
    bool plain = true;
    for (int i = 0; i < c->ndim; i++) {
        strides[c->perm[i]] = s;
        s *= c->shape[c->perm[i]];
        plain &= c->perm[i] == c->ndim - 1 - i;
    }
    return new_array(c, k, c->ndim, c->shape, plain ? NULL : strides);
}

static bool new_output(call *c, uint32_t k) {
    PyObject *o =
        c->like ? new_array(c, k, PyArray_NDIM(c->like), PyArray_DIMS(c->like), NULL) : new_in_order(c, k);
    if (!o)
        return false;
    c->op[k].a = (PyArrayObject *)o;
    c->op[k].data = PyArray_DATA(c->op[k].a);
    if (!c->like)
        steps_of(c, k);
    return true;
}

/* --- overlap --- */

typedef struct extent {
    const char *from, *to;
} extent;

static extent extent_of(const char *data, npy_intp size, int ndim, const npy_intp *shape,
                        const npy_intp *steps) {
    extent x = {data, data + size};
    for (int d = 0; d < ndim; d++) {
        npy_intp far = steps[d] * (shape[d] - 1);
        if (far < 0)
            x.from += far;
        else
            x.to += far;
    }
    return x;
}

static bool meet(extent x, extent y) {
    return x.from < y.to && y.from < x.to;
}

static extent operand_extent(const call *c, uint32_t k) {
    return extent_of(c->op[k].data, c->l->size[k], c->ndim, c->shape, c->step[k]);
}

static extent array_extent(PyArrayObject *a) {
    return extent_of(PyArray_BYTES(a), PyArray_ITEMSIZE(a), PyArray_NDIM(a), PyArray_DIMS(a),
                     PyArray_STRIDES(a));
}

/* Two objects are arrays with memory in common, by all that is seen from their ends. */
static bool arrays_meet(PyObject *x, PyObject *y) {
    return PyArray_CheckExact(x) && PyArray_CheckExact(y) && PyArray_SIZE((PyArrayObject *)x) &&
           PyArray_SIZE((PyArrayObject *)y) &&
           meet(array_extent((PyArrayObject *)x), array_extent((PyArrayObject *)y));
}

/* Operands may share memory only element for element. */
static bool overlaps(const call *c, uint32_t k, uint32_t m) {
    if (!c->op[m].a || !meet(operand_extent(c, k), operand_extent(c, m)))
        return false;
    bool same = c->op[k].data == c->op[m].data && c->l->size[k] == c->l->size[m] && m < c->uf->nin;
    for (int d = 0; same && d < c->ndim; d++)
        same = c->shape[d] == 1 || c->step[k][d] == c->step[m][d];
    return !same;
}

static bool output_is_alone(const call *c, uint32_t k) {
    for (int d = 0; d < c->ndim; d++)
        if (!c->step[k][d] && c->shape[d] > 1)
            return false;
    for (uint32_t m = 0; m < c->uf->nop; m++)
        if (m != k && overlaps(c, k, m))
            return false;
    return true;
}

/* --- running --- */

/* Merges axes of the walk that every operand steps over as one. */
static void merge_axes(call *c) {
    int n = 0;
    for (int i = 0; i < c->ndim; i++) {
        int axis = c->perm[i];
        bool joins = n > 0;
        for (uint32_t k = 0; joins && k < c->uf->nop; k++)
            joins = c->step[k][axis] == c->step[k][c->perm[n - 1]] * c->shape[c->perm[n - 1]];
        if (c->shape[axis] == 1)
            continue;
        if (joins)
            c->shape[c->perm[n - 1]] *= c->shape[axis];
        else
            c->perm[n++] = axis;
    }
    c->ndim = n;
}

/* Rows [lo, hi) of the walk: the innermost axis is a row, the others count them. */
static int32_t walk(tr_frame *frame, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    const call *c = ctx;
    uint32_t nop = c->uf->nop;
    npy_intp at[NPY_MAXDIMS], left = lo, steps[TR_MAX_OPERANDS], n = c->ndim ? c->shape[c->perm[0]] : 1;
    char *p[TR_MAX_OPERANDS];
    tr_ubuffers b;
    (void)worker;
    tr_ubuffers_init(&b);
    for (uint32_t k = 0; k < nop; k++) {
        p[k] = c->op[k].data;
        steps[k] = c->ndim ? c->step[k][c->perm[0]] : c->l->size[k];
    }
    for (int i = 1; i < c->ndim; i++) {
        npy_intp ext = c->shape[c->perm[i]];
        at[i] = left % ext;
        left /= ext;
        for (uint32_t k = 0; k < nop; k++)
            p[k] += at[i] * c->step[k][c->perm[i]];
    }
    int32_t code = 0;
    for (int64_t row = lo; !code && row < hi; row++) {
        code = tr_uloop_row(c->l, frame, p, n, steps, &b);
        for (int i = 1; i < c->ndim; i++) {
            npy_intp back = ++at[i] == c->shape[c->perm[i]] ? at[i] : 0;
            for (uint32_t k = 0; k < nop; k++)
                p[k] += (1 - back) * c->step[k][c->perm[i]];
            if (!back)
                break;
            at[i] = 0;
        }
    }
    tr_ubuffers_fini(&b);
    return code;
}

typedef struct rest {
    call *c;
    npy_intp first;
} rest;

static int32_t walk_rest(tr_frame *frame, void *ctx, int64_t lo, int64_t hi, uint32_t worker) {
    const rest *r = ctx;
    return walk(frame, r->c, lo + r->first, hi + r->first, worker);
}

/* A walk of many rows: over all threads where the ufunc wants that and there is enough to do. */
static bool rows(call *c, npy_intp n) {
    tr_frame frame;
    npy_intp per_row = c->shape[c->perm[0]], count = n / per_row, first = 0, grain = 0;
    int32_t code = 0;
    npy_intp steps[TR_MAX_OPERANDS];
    for (uint32_t k = 0; k < c->uf->nop; k++)
        steps[k] = c->step[k][c->perm[0]];
    if (!tr_uloop_expect(c->l, n, steps))
        return false;
    tr_rt_frame_init(&frame, &c->uf->st->host);
    if (tr_ufunc_spreads(c->uf)) {
        code = tr_uloop_trial(c->l, &frame, walk, c, count, per_row, &first);
        grain = tr_uloop_grain(c->l, count - first, per_row);
    }
    rest r = {c, first};
    if (!code)
        code = grain ? tr_rt_parallel(&frame, walk_rest, &r, count - first, grain)
                     : walk(&frame, c, first, count, 0);
    return tr_uloop_end(c->l, code, &frame);
}

static bool walk_all(call *c, npy_intp n) {
    if (c->ndim > 1)
        return rows(c, n);
    npy_intp steps[TR_MAX_OPERANDS], len = c->ndim ? c->shape[c->perm[0]] : 1;
    char *at[TR_MAX_OPERANDS];
    for (uint32_t k = 0, nop = c->uf->nop; k < nop; k++) {
        at[k] = c->op[k].data;
        steps[k] = c->ndim ? c->step[k][c->perm[0]] : c->l->size[k];
    }
    return tr_uloop_run(c->l, at, &len, steps);
}

static bool run(call *c) {
    npy_intp n = 1;
    for (int d = 0; d < c->ndim; d++)
        n *= c->shape[d];
    if (n == 0)
        return true;
    if (!c->like)
        merge_axes(c);
    if (n < RELEASE_GIL)
        return walk_all(c, n);
    PyThreadState *ts = PyEval_SaveThread();
    bool ok = walk_all(c, n);
    PyEval_RestoreThread(ts);
    return ok;
}

/* --- results --- */

static PyObject *finish(const call *c, PyObject *const *made) {
    uint32_t nin = c->uf->nin, nout = c->uf->nop - nin;
    if (nout == 1)
        return Py_NewRef(made[0]);
    PyObject *t = PyTuple_New(nout);
    for (uint32_t i = 0; t && i < nout; i++)
        PyTuple_SET_ITEM(t, i, Py_NewRef(made[i]));
    return t;
}

static PyObject *scalar_result(const call *c, uint32_t k) {
    const operand *op = &c->op[k];
    if (c->l->num[k] == NPY_DOUBLE) {
        PyObject *o = PyArrayScalar_New(Double);
        if (o)
            PyArrayScalar_ASSIGN(o, Double, op->value.d[0]);
        return o;
    }
    if (c->l->num[k] == NPY_BOOL)
        PyArrayScalar_RETURN_BOOL_FROM_LONG(op->value.bytes[0]);
    PyArray_Descr *d = PyArray_DescrFromType(c->l->num[k]);
    PyObject *o = PyArray_Scalar((void *)(uintptr_t)op->value.bytes, d, NULL);
    Py_DECREF(d);
    return o;
}

/* No axes and no given output: numbers in, numbers out. */
static PyObject *on_scalars(call *c) {
    tr_ufunc *uf = c->uf;
    char *at[TR_MAX_OPERANDS];
    PyObject *made[TR_MAX_OPERANDS], *r = NULL;
    npy_intp steps[TR_MAX_OPERANDS], one = 1;
    uint32_t n = 0;
    for (uint32_t k = 0; k < uf->nop; k++) {
        at[k] = k < uf->nin ? c->op[k].data : c->op[k].value.bytes;
        steps[k] = c->l->size[k];
    }
    if (!tr_uloop_run(c->l, at, &one, steps))
        return NULL;
    made[0] = NULL;
    for (uint32_t k = uf->nin; k < uf->nop && (made[n] = scalar_result(c, k)); k++)
        n++;
    if (n == uf->nop - uf->nin)
        r = finish(c, made);
    while (n > 0)
        Py_DECREF(made[--n]);
    return r;
}

/* *ours is false when NumPy is to make the call. */
static PyObject *on_steps(call *c, bool *ours) {
    uint32_t nin = c->uf->nin, nop = c->uf->nop, n = nin;
    PyObject *made[TR_MAX_OPERANDS], *r = NULL;
    made[0] = NULL;
    for (uint32_t k = nin; k < nop && *ours; k++)
        *ours = !c->op[k].a || output_is_alone(c, k);
    if (!*ours)
        return NULL;
    if (!c->like)
        order_axes(c);
    for (; n < nop && (c->op[n].a ? (Py_INCREF(c->op[n].a), true) : new_output(c, n)); n++)
        made[n - nin] = (PyObject *)c->op[n].a;
    if (n == nop && run(c))
        r = finish(c, made);
    while (n > nin)
        Py_DECREF(made[--n - nin]);
    return r;
}

static __attribute__((noinline)) PyObject *on_broadcast(call *c, bool *ours) {
    if (!(*ours = broadcast(c)))
        return NULL;
    size_t ndim = (size_t)c->ndim, n = c->uf->nop * ndim;
    npy_intp *heap = n > FEW_STEPS ? PyMem_Malloc(n * sizeof *heap) : NULL;
    if (n > FEW_STEPS && !heap)
        return PyErr_NoMemory();
    for (uint32_t k = 0; k < c->uf->nop; k++) {
        c->step[k] = (heap ? heap : c->room) + k * ndim;
        steps_of(c, k);
    }
    PyObject *r = on_steps(c, ours);
    PyMem_Free(heap);
    return r;
}

/* On arrays without axes NumPy returns scalars, unless they were given as output. */
static bool all_scalars(const call *c) {
    for (uint32_t k = 0; k < c->uf->nop; k++)
        if (c->op[k].a && (PyArray_NDIM(c->op[k].a) || k >= c->uf->nin))
            return false;
    return true;
}

/* --- what goes to NumPy --- */

/* What is known of the inputs of a call, and whether Python numbers are among them. False: some are neither arrays nor numbers. */
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

/* Before NumPy 2 a Python number arrives at the type resolver as an array like any other. Later, where there are no others, it is int64, float64 or
 * complex128, which may be none of the declared signatures. */
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

/* The outputs that a call gives, NULL for each that it does not; NumPy refuses what is wrong about them. False: it gives none. */
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

/* signature= for a call that gives no outputs, once NumPy knows loops for some that were given: those are not for this one. None: it is not known
 * which loop it is. NULL with an exception. */
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

/* The type of an output to which the type of all inputs together converts: as a reference to NumPy's class. Else None. */
static PyObject *output_class(PyArray_Descr *common, PyObject *out) {
    if (!out || !PyArray_Check(out) || PyArray_DESCR((PyArrayObject *)out)->type_num >= NPY_HALF ||
        !PyArray_CanCastTypeTo(common, PyArray_DESCR((PyArrayObject *)out), NPY_SAME_KIND_CASTING))
        return Py_NewRef(Py_None);
    return Py_NewRef((PyObject *)Py_TYPE(PyArray_DESCR((PyArrayObject *)out)));
}

/* Makes the loop for these inputs and the outputs that the signature t names. NumPy, which asks for a loop that it does not know by what it then is
 * given, would take an answer of the very same types for none, and the first loop it has that inputs convert to. */
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

/* NumPy looks for a loop by the types of inputs and of the signature; those of given outputs (NULL: none are) get there as such. */
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

/* An input that a given output overlaps is copied. NumPy's iterator does that too, but for an output that is the very same array as the input: it
 * takes cores for elementwise. */
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
    if (ours && all_scalars(&c))
        return on_scalars(&c);
    if (ours)
        r = is_flat(&c) ? on_steps(&c, &ours) : on_broadcast(&c, &ours);
    return ours || PyErr_Occurred() ? r : by_numpy(uf, self, args, nargsf, kwnames);
}
