/* Which loop a ufunc uses for which types, and how NumPy is told.
 *
 * A lazy ufunc has a loop for every combination of input types, compiled when it is met; of declared ones the
 * first that fits is taken. What fits what, and what Python's numbers are beside others, ty/pick.h says, for
 * compiled callers too. NumPy 2 asks through promoters (an entry point of its table that our headers do not
 * show to programs that also run on 1.26); before that, the ufunc's type resolver is ours. Both come here, so
 * results are the same. */
#include "ext/ufunc.h"

#include <assert.h>
#include <fenv.h>
#include <string.h>

static const uint8_t npy_of[TR_TY__SCALARS] = {
    [TR_TY_BOOL] = NPY_BOOL,  [TR_TY_I8] = NPY_BYTE,      [TR_TY_I16] = NPY_SHORT,  [TR_TY_I32] = NPY_INT,
    [TR_TY_I64] = NPY_LONG,   [TR_TY_U8] = NPY_UBYTE,     [TR_TY_U16] = NPY_USHORT, [TR_TY_U32] = NPY_UINT,
    [TR_TY_U64] = NPY_ULONG,  [TR_TY_F16] = NPY_HALF,     [TR_TY_F32] = NPY_FLOAT,  [TR_TY_F64] = NPY_DOUBLE,
    [TR_TY_C64] = NPY_CFLOAT, [TR_TY_C128] = NPY_CDOUBLE,
};

uint8_t tr_ufunc_npy_of(tr_tyk k) {
    assert(k < TR_TY__SCALARS && "items of a loop are numbers");
    return npy_of[k];
}

/* --- messages --- */

static PyObject *text_of_num(uint8_t num) {
    PyArray_Descr *d = num <= NPY_HALF ? PyArray_DescrFromType(num) : NULL;
    const char *name = d ? d->typeobj->tp_name : "of its own";
    PyObject *t = PyUnicode_FromString(strncmp(name, "numpy.", 6) ? name : name + 6);
    Py_XDECREF(d);
    return t;
}

/* "(float64, int)" */
static PyObject *text_of_kinds(const tr_ufunc *uf, const tr_ukind *in) {
    PyObject *t = PyUnicode_FromString("(");
    for (uint32_t i = 0; t && i < uf->nin; i++) {
        PyObject *one = in[i].weak == 'i'   ? PyUnicode_FromString("int")
                        : in[i].weak == 'f' ? PyUnicode_FromString("float")
                        : in[i].weak        ? PyUnicode_FromString("complex")
                                            : text_of_num(in[i].num);
        Py_SETREF(t, one ? PyUnicode_FromFormat("%U%s%U", t, i ? ", " : "", one) : NULL);
        Py_XDECREF(one);
    }
    if (t)
        Py_SETREF(t, PyUnicode_FromFormat("%U)", t));
    return t;
}

/* One line for each loop: "\n  float64, float64 -> float64". */
static PyObject *text_of_loops(const tr_ufunc *uf) {
    PyObject *t = PyUnicode_FromString("");
    for (uint32_t k = 0; t && k < uf->nloops && k < 8; k++) {
        for (uint32_t i = 0; t && i < uf->nop; i++) {
            PyObject *one = text_of_num(uf->loops[k]->num[i]);
            Py_SETREF(t, one ? PyUnicode_FromFormat("%U%s%U", t,
                                                    i == 0         ? "\n  "
                                                    : i == uf->nin ? " -> "
                                                                   : ", ",
                                                    one)
                             : NULL);
            Py_XDECREF(one);
        }
    }
    return t;
}

static tr_uloop *no_loop(const tr_ufunc *uf, const tr_ukind *in) {
    PyObject *got = text_of_kinds(uf, in), *have = got ? text_of_loops(uf) : NULL;
    if (have)
        PyErr_Format(PyExc_TypeError, "%U() has no signature for arguments of types %U; it has%U", uf->name,
                     got, have);
    Py_XDECREF(got);
    Py_XDECREF(have);
    return NULL;
}

static tr_uloop *not_compiled(const tr_ufunc *uf, uint8_t num, uint32_t i) {
    PyObject *t = text_of_num(num);
    if (t)
        PyErr_Format(PyExc_TypeError,
                     "%U() cannot be compiled for argument %u of dtype %U: Treadle computes with bool, "
                     "integers of 8 to 64 bits, float16 to float64 and complex numbers of these",
                     uf->name, i + 1, t);
    Py_XDECREF(t);
    return NULL;
}

/* --- lazy --- */

static bool computes(uint8_t num) {
    return num == NPY_HALF || (num < 24 && tr_value_npy_kind[num] != 255);
}

/* Type numbers that mean the same become one. */
static uint8_t normal(const tr_ufunc *uf, uint8_t num) {
    if (num == NPY_ULONGLONG)
        return NPY_ULONG;
    return num == NPY_HALF && uf->core ? NPY_FLOAT : num;
}

tr_operand tr_ufunc_operand(uint8_t num) {
    bool half = num == NPY_HALF;
    if (num == TR_UNUM_NONE)
        return (tr_operand){.kind = TR_OPERAND_OPEN};
    if (!computes(num))
        return (tr_operand){.kind = TR_OPERAND_OTHER};
    tr_tyk kind = half ? TR_TY_F32 : (tr_tyk)tr_value_npy_kind[num];
    return (tr_operand){.kind = (uint8_t)kind, .half = half, .alias = !half && npy_of[kind] != num};
}

static tr_operand operand_of(const tr_ukind *k) {
    switch (k->weak) {
    case 0: return tr_ufunc_operand(k->num);
    case 'i': return tr_operand_of(TR_TY_I64, true);
    case 'f': return tr_operand_of(TR_TY_F64, true);
    default: return tr_operand_of(TR_TY_C128, true);
    }
}

/* The operand of a loop, where longlong stands for a Python int. */
static tr_operand loop_operand(uint8_t num) {
    return num == NPY_LONGLONG ? tr_operand_of(TR_TY_I64, true) : tr_ufunc_operand(num);
}

tr_operand tr_ufunc_common(const tr_ufunc *uf, const uint8_t *num) {
    tr_operand x[TR_MAX_OPERANDS];
    for (uint32_t i = 0; i < uf->nin; i++)
        x[i] = loop_operand(num[i]);
    return tr_operands_common(x, uf->nin);
}

/* As the operand of a loop. */
static uint8_t num_of(tr_operand x) {
    return x.weak ? NPY_LONGLONG : x.half ? NPY_HALF : npy_of[x.kind];
}

/* Input types of the loop, from kinds and what was asked for. */
static bool lazy_nums(const tr_ufunc *uf, const tr_ukind *in, const uint8_t *want, uint8_t *num) {
    tr_operand x[TR_MAX_OPERANDS];
    for (uint32_t i = 0; i < uf->nin; i++) {
        bool asked = want[i] != TR_UNUM_NONE;
        if (!asked && in[i].weak) {
            x[i] = operand_of(&in[i]);
            continue;
        }
        num[i] = asked ? want[i] : in[i].num;
        if (!computes(num[i])) {
            not_compiled(uf, num[i], i);
            return false;
        }
        num[i] = normal(uf, num[i]);
        x[i] = loop_operand(num[i]);
    }
    tr_operand common = tr_operands_common(x, uf->nin);
    for (uint32_t i = 0; i < uf->nin; i++)
        if (x[i].weak)
            num[i] = normal(uf, num_of(tr_operand_beside(x[i], common)));
    return true;
}

/* The type of output i of a gufunc: what was asked for, or that of the array it goes to, where the type of
 * all inputs together converts to it as NumPy would convert the result; else TR_UNUM_NONE. */
static void lazy_output(const tr_ufunc *uf, const tr_ukind *kinds, const uint8_t *want, uint32_t i,
                        uint8_t *num) {
    uint8_t to = want[i] != TR_UNUM_NONE ? want[i] : kinds[i].num;
    num[i] = TR_UNUM_NONE;
    if (to == TR_UNUM_NONE || !computes(to))
        return;
    tr_operand from = tr_ufunc_common(uf, num);
    PyArray_Descr *a = PyArray_DescrFromType(from.kind == TR_OPERAND_OPEN ? NPY_LONG : num_of(from)),
                  *b = PyArray_DescrFromType(to);
    if (want[i] != TR_UNUM_NONE || PyArray_CanCastTypeTo(a, b, NPY_SAME_KIND_CASTING))
        num[i] = normal(uf, to);
    Py_DECREF(a);
    Py_DECREF(b);
}

/* It has reduce and its kin. */
static bool is_binary(const tr_ufunc *uf) {
    return uf->nin == 2 && uf->nop == 3 && !uf->core;
}

static tr_uloop *same_types(tr_ufunc *uf, uint8_t num) {
    uint8_t all[TR_MAX_OPERANDS];
    memset(all, num, sizeof all);
    return tr_ufunc_loop(uf, all);
}

/* A reduction feeds results back, so its operands are of one type: the first that the function maps to
 * itself. */
static tr_uloop *pick_reduction(tr_ufunc *uf, uint8_t num, uint8_t want) {
    enum { TRIES = 4 };
    assert(is_binary(uf) && "what is reduced has two operands of one kind");
    num = normal(uf, want != TR_UNUM_NONE ? want : num);
    if (num == NPY_LONGLONG)
        num = NPY_LONG;
    if (!computes(num))
        return not_compiled(uf, num, 0);
    for (int i = 0; i < TRIES; i++) {
        tr_uloop *l = same_types(uf, num);
        if (!l || l->num[2] == num)
            return l;
        num = l->num[2];
    }
    PyErr_Format(PyExc_TypeError, "%U() cannot be reduced: its result never has the type of its arguments",
                 uf->name);
    return NULL;
}

static tr_uloop *pick_lazy(tr_ufunc *uf, const tr_ukind *in, const uint8_t *want) {
    uint8_t num[TR_MAX_OPERANDS], wanted = uf->nop > uf->nin ? want[uf->nin] : TR_UNUM_NONE;
    bool binary = is_binary(uf);
    /* NumPy leaves the first operand of a reduction open, or asks for it alone to be what the result was. */
    if (binary && in[0].num == TR_UNUM_NONE && !in[0].weak)
        return pick_reduction(uf, in[1].num, want[0] != TR_UNUM_NONE ? want[0] : wanted);
    if (binary && want[0] != TR_UNUM_NONE && want[1] == TR_UNUM_NONE &&
        (wanted == TR_UNUM_NONE || wanted == want[0]))
        return pick_reduction(uf, in[1].num, want[0]);
    if (!lazy_nums(uf, in, want, num))
        return NULL;
    for (uint32_t i = uf->nin; tr_ufunc_by_outputs(uf) && i < uf->nop; i++)
        lazy_output(uf, in, want, i, num);
    tr_uloop *l = tr_ufunc_loop(uf, num);
    if (!l || wanted == TR_UNUM_NONE || l->num[uf->nin] == normal(uf, wanted))
        return l;
    /* dtype=: what NumPy computes in, too */
    if (computes(wanted) && want[0] == TR_UNUM_NONE) {
        l = same_types(uf, normal(uf, wanted));
        if (!l || l->num[uf->nin] == normal(uf, wanted))
            return l;
    }
    PyObject *t = text_of_num(wanted);
    if (t)
        PyErr_Format(PyExc_TypeError, "%U() has no result of dtype %U for these arguments", uf->name, t);
    Py_XDECREF(t);
    return NULL;
}

/* --- declared --- */

static bool wants_it(const tr_ufunc *uf, const tr_uloop *l, const uint8_t *want) {
    for (uint32_t i = 0; i < uf->nop; i++)
        if (want[i] != TR_UNUM_NONE && want[i] != l->num[i])
            return false;
    return true;
}

/* A search among the loops that have the types that were asked for. */
typedef struct wish {
    const tr_ufunc *uf;
    const uint8_t *want;
} wish;

static const tr_ty *const *signature(const void *self, uint32_t k) {
    const wish *w = self;
    const tr_uloop *l = w->uf->loops[k];
    return wants_it(w->uf, l, w->want) ? l->args : NULL;
}

static tr_uloop *pick_declared(tr_ufunc *uf, const tr_ukind *in, const uint8_t *want) {
    tr_operand x[TR_MAX_OPERANDS];
    bool asked = false;
    wish w = {uf, want};
    for (uint32_t i = 0; i < uf->nin; i++) {
        x[i] = operand_of(&in[i]);
        if (want[i] != TR_UNUM_NONE)
            x[i].kind = TR_OPERAND_OPEN;
    }
    for (uint32_t i = 0; i < uf->nop; i++)
        asked |= want[i] != TR_UNUM_NONE;
    int64_t k = tr_operands_pick(x, uf->nin, signature, &w, uf->nloops);
    for (uint32_t i = 0; asked && k < 0 && i < uf->nloops; i++)
        if (signature(&w, i)) /* NumPy then says which input does not convert */
            k = i;
    return k < 0 ? no_loop(uf, in) : uf->loops[k];
}

tr_uloop *tr_ufunc_pick(tr_ufunc *uf, const tr_ukind *in, const uint8_t *want) {
    tr_py_section gate;
    tr_py_section_begin(&gate, uf->st->gate);
    tr_uloop *l = uf->lazy              ? pick_lazy(uf, in, want)
                  : tr_ufunc_settle(uf) ? pick_declared(uf, in, want)
                                        : NULL;
    assert((l || PyErr_Occurred()) && "why there is no loop is raised");
    tr_py_section_end(&gate);
    return l;
}

/* --- NumPy 2: promoters --- */

/* Entries of NumPy's table of ufunc functions, public since 2.0. */
typedef int (*add_loop_fn)(PyObject *ufunc, PyArrayMethod_Spec *spec);
typedef int (*add_promoter_fn)(PyObject *ufunc, PyObject *dtypes, PyObject *promoter);
enum { API_ADD_LOOP = 43, API_ADD_PROMOTER = 44, SLOT_REDUCTION_INITIAL = 4, SLOT_STRIDED_LOOP = 5 };

bool tr_ufunc_has_promoters(void) {
    return PyArray_RUNTIME_VERSION >= NPY_2_0_API_VERSION;
}

static PyArray_DTypeMeta *dtype_of(uint8_t num) { /* borrowed: NumPy's own types stay */
    PyArray_Descr *d = PyArray_DescrFromType(num);
    PyArray_DTypeMeta *t = (PyArray_DTypeMeta *)Py_TYPE(d);
    Py_DECREF(d);
    return t;
}

static uint8_t num_of_dtype(const PyArray_DTypeMeta *t) {
    if (!t)
        return TR_UNUM_NONE;
    bool legacy = t->type_num >= 0 && t->type_num <= NPY_HALF && t->scalar_type != &PyLong_Type &&
                  t->scalar_type != &PyFloat_Type && t->scalar_type != &PyComplex_Type;
    return legacy ? (uint8_t)t->type_num : TR_UNUM_OTHER;
}

static tr_ukind kind_of_dtype(const PyArray_DTypeMeta *t) {
    if (t && t->scalar_type == &PyLong_Type)
        return (tr_ukind){TR_UNUM_NONE, 'i'};
    if (t && t->scalar_type == &PyFloat_Type)
        return (tr_ukind){TR_UNUM_NONE, 'f'};
    if (t && t->scalar_type == &PyComplex_Type)
        return (tr_ukind){TR_UNUM_NONE, 'c'};
    return (tr_ukind){num_of_dtype(t), 0};
}

static bool tell_once(tr_ufunc *uf, tr_uloop *l);

static int promote(PyObject *ufunc, PyArray_DTypeMeta *const *op, PyArray_DTypeMeta *const *sig,
                   PyArray_DTypeMeta **out) {
    tr_ufunc *uf = (tr_ufunc *)((PyUFuncObject *)ufunc)->obj;
    tr_ukind in[TR_MAX_OPERANDS];
    uint8_t want[TR_MAX_OPERANDS];
    bool by_outputs = false;
    for (uint32_t i = 0; i < uf->nop; i++) {
        want[i] = num_of_dtype(sig[i]);
        in[i] = kind_of_dtype(op[i]);
        by_outputs = by_outputs || (i >= uf->nin && (sig[i] || op[i]));
    }
    tr_uloop *l = tr_ufunc_pick(uf, in, want);
    if (!l || !tell_once(uf, l))
        return -1;
    if (by_outputs && tr_ufunc_by_outputs(uf))
        uf->told_outputs = true;
    for (uint32_t i = 0; i < uf->nop; i++)
        out[i] = (PyArray_DTypeMeta *)Py_NewRef((PyObject *)(sig[i] ? sig[i] : dtype_of(l->num[i])));
    return 0;
}

static int strided_loop(PyArrayMethod_Context *c, char *const *args, const npy_intp *dims,
                        const npy_intp *steps, NpyAuxData *unused) {
    tr_ufunc *uf = (tr_ufunc *)((PyUFuncObject *)c->caller)->obj;
    (void)unused;
    for (uint32_t k = 0; k < uf->nloops; k++) {
        tr_uloop *l = uf->loops[k];
        uint32_t i = 0, n = tr_ufunc_by_outputs(uf) ? uf->nop : uf->nin;
        while (i < n && c->descriptors[i]->type_num == l->num[i])
            i++;
        if (i < n)
            continue;
        bool ok = tr_ufunc_room(uf, TR_ROOM_LOOP) && tr_uloop_run(l, args, dims, steps);
        if (uf->core) /* NumPy looks at the flags after a gufunc all the same */
            feclearexcept(FE_ALL_EXCEPT);
        return ok ? 0 : -1;
    }
    PyGILState_STATE g = PyGILState_Ensure();
    PyErr_Format(PyExc_SystemError, "%U(): NumPy asks for a loop that was never made", uf->name);
    PyGILState_Release(g);
    return -1;
}

/* Writes the identity; 0: there is none. */
static int reduction_initial(PyArrayMethod_Context *c, npy_bool empty, void *to) {
    tr_ufunc *uf = (tr_ufunc *)((PyUFuncObject *)c->caller)->obj;
    PyArray_Descr *d = c->descriptors[0];
    (void)empty;
    if (uf->u->identity == PyUFunc_None || uf->u->identity == PyUFunc_ReorderableNone)
        return 0;
    Py_INCREF(d);
    PyObject *a = PyArray_FromAny(uf->identity, d, 0, 0, NPY_ARRAY_FORCECAST | NPY_ARRAY_ALIGNED, NULL);
    if (!a)
        return -1;
    memcpy(to, PyArray_DATA((PyArrayObject *)a), (size_t)PyArray_ITEMSIZE((PyArrayObject *)a));
    Py_DECREF(a);
    return 1;
}

static bool add_loop(tr_ufunc *uf, const tr_uloop *l) {
    PyArray_DTypeMeta *types[TR_MAX_OPERANDS];
    union {
        PyArrayMethod_StridedLoop *loop;
        int (*initial)(PyArrayMethod_Context *, npy_bool, void *);
        void *p;
    } f[2] = {{.loop = strided_loop}, {.initial = reduction_initial}};
    PyType_Slot slots[] = {{SLOT_STRIDED_LOOP, f[0].p}, {SLOT_REDUCTION_INITIAL, f[1].p}, {0, NULL}};
    if (!is_binary(uf))
        slots[1] = (PyType_Slot){0, NULL};
    for (uint32_t i = 0; i < uf->nop; i++)
        types[i] = dtype_of(l->num[i]);
    int flags =
        NPY_METH_NO_FLOATINGPOINT_ERRORS | (uf->u->identity != PyUFunc_None ? NPY_METH_IS_REORDERABLE : 0);
    PyArrayMethod_Spec spec = {
        "treadle loop", (int)uf->nin, (int)(uf->nop - uf->nin), NPY_NO_CASTING, (NPY_ARRAYMETHOD_FLAGS)flags,
        types,          slots};
    add_loop_fn add;
    memcpy(&add, &PyUFunc_API[API_ADD_LOOP], sizeof add);
    return add((PyObject *)uf->u, &spec) == 0;
}

/* NumPy knows the loop from here on. It may wait for a lock of its own, so that another thread gets into the
 * gate and tells it as well: NumPy takes what came first and refuses the other. */
static bool tell(tr_ufunc *uf, tr_uloop *l) {
    if (l->told)
        return true;
    bool alone = l->tellers++ == 0, ok = add_loop(uf, l);
    assert(l->tellers > 0 && "each who tells counts once");
    l->tellers--;
    if (!ok && (!alone || l->told) && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        ok = true;
    }
    l->told = l->told || ok;
    return ok;
}

/* The same from outside of the gate. */
static bool tell_once(tr_ufunc *uf, tr_uloop *l) {
    tr_py_section gate;
    tr_py_section_begin(&gate, uf->st->gate);
    bool ok = tell(uf, l);
    tr_py_section_end(&gate);
    return ok;
}

/* For operands of any types; `reduction`: for reductions, whose first operand is open. */
static bool add_promoter(tr_ufunc *uf, bool reduction) {
    union {
        int (*f)(PyObject *, PyArray_DTypeMeta *const *, PyArray_DTypeMeta *const *, PyArray_DTypeMeta **);
        void *p;
    } fn = {.f = promote};
    PyObject *types = PyTuple_New(uf->nop), *capsule = PyCapsule_New(fn.p, "numpy._ufunc_promoter", NULL);
    for (uint32_t i = 0; types && i < uf->nop; i++)
        PyTuple_SET_ITEM(types, i, Py_NewRef(reduction && i == 0 ? Py_None : (PyObject *)&PyArrayDescr_Type));
    add_promoter_fn add;
    memcpy(&add, &PyUFunc_API[API_ADD_PROMOTER], sizeof add);
    bool ok = types && capsule && add((PyObject *)uf->u, types, capsule) == 0;
    Py_XDECREF(types);
    Py_XDECREF(capsule);
    return ok;
}

/* --- before NumPy 2: the type resolver --- */

enum {
    WAS_INT = 1 << 30,
    WAS_FLOAT = 1 << 29,
    WAS_COMPLEX = 1 << 28
}; /* flags of arrays that NumPy made from Python's numbers */

static tr_ukind kind_of_array(PyArrayObject *a) {
    int flags = PyArray_FLAGS(a), num = PyArray_DESCR(a)->type_num;
    char weak = flags & WAS_INT ? 'i' : flags & WAS_FLOAT ? 'f' : flags & WAS_COMPLEX ? 'c' : 0;
    return (tr_ukind){weak ? TR_UNUM_NONE : num <= NPY_HALF ? (uint8_t)num : TR_UNUM_OTHER, weak};
}

static uint8_t num_wanted(PyObject *types, uint32_t i, uint32_t nop) {
    PyObject *t = types && types != Py_None ? types : NULL;
    if (t && PyTuple_Check(t)) /* of one: dtype=, which means the output */
        t = (uint32_t)PyTuple_GET_SIZE(t) == nop ? PyTuple_GET_ITEM(t, i)
            : i + 1 == nop                       ? PyTuple_GET_ITEM(t, 0)
                                                 : Py_None;
    else if (i + 1 != nop)
        t = NULL;
    if (!t || t == Py_None)
        return TR_UNUM_NONE;
    int num = PyArray_DescrCheck(t) ? ((PyArray_Descr *)t)->type_num : NPY_VOID;
    return num <= NPY_HALF ? (uint8_t)num : TR_UNUM_OTHER;
}

static int no_cast(const tr_ufunc *uf, uint32_t i, PyArray_Descr *from, PyArray_Descr *to) {
    PyErr_Format(PyExc_TypeError, "Cannot cast ufunc '%U' %s %u from %S to %S with this casting rule",
                 uf->name, i < uf->nin ? "input" : "output", i < uf->nin ? i : i - uf->nin, (PyObject *)from,
                 (PyObject *)to);
    return -1;
}

static int resolve(PyUFuncObject *u, NPY_CASTING casting, PyArrayObject **ops, PyObject *types,
                   PyArray_Descr **out) {
    tr_ufunc *uf = (tr_ufunc *)u->obj;
    tr_ukind in[TR_MAX_OPERANDS] = {{0}};
    uint8_t want[TR_MAX_OPERANDS] = {0};
    bool by_outputs = false;
    for (uint32_t i = 0; i < uf->nop; i++) {
        want[i] = num_wanted(types, i, uf->nop);
        in[i] = ops[i] ? kind_of_array(ops[i]) : (tr_ukind){TR_UNUM_NONE, 0};
        by_outputs = by_outputs || (i >= uf->nin && (ops[i] || want[i] != TR_UNUM_NONE));
    }
    const tr_uloop *l = tr_ufunc_pick(uf, in, want);
    if (by_outputs && tr_ufunc_by_outputs(uf))
        uf->told_outputs = true;
    int r = l ? 0 : -1;
    for (uint32_t i = 0; i < uf->nop; i++)
        out[i] = r ? NULL : PyArray_DescrFromType(l->num[i]);
    for (uint32_t i = 0; !r && i < uf->nop; i++) {
        if (i < uf->nin && !PyArray_CanCastArrayTo(ops[i], out[i], casting) && !in[i].weak)
            r = no_cast(uf, i, PyArray_DESCR(ops[i]), out[i]);
        else if (i >= uf->nin && ops[i] && !PyArray_CanCastTypeTo(out[i], PyArray_DESCR(ops[i]), casting))
            r = no_cast(uf, i, out[i], PyArray_DESCR(ops[i]));
    }
    for (uint32_t i = 0; r && i < uf->nop; i++)
        Py_CLEAR(out[i]);
    return r;
}

/* An inner loop as NumPy 1 calls it. Vector code raises floating-point flags that mean nothing. */
static void old_loop(char **args, npy_intp const *dims, npy_intp const *steps, void *data) {
    tr_uloop *l = data;
    if (tr_ufunc_room(l->uf, TR_ROOM_LOOP))
        tr_uloop_run(l, args, dims, steps);
    feclearexcept(FE_ALL_EXCEPT);
}

/* --- what NumPy is given --- */

typedef struct table {
    PyUFuncGenericFunction *fn;
    void **data;
    char *types;
} table;

/* All loops as arrays for the ufunc object: NumPy 1 finds them there, and `types` shows them. */
static bool make_table(tr_ufunc *uf, uint32_t n, table *t) {
    size_t fns = n * sizeof *t->fn, datas = n * sizeof *t->data;
    char *room = tr_ufunc_room_for(uf, fns + datas + (size_t)n * uf->nop);
    if (!room)
        return false;
    *t = (table){(PyUFuncGenericFunction *)(void *)room, (void **)(void *)(room + fns), room + fns + datas};
    for (uint32_t k = 0; k < n; k++) {
        t->fn[k] = old_loop;
        t->data[k] = uf->loops[k];
        for (uint32_t i = 0; i < uf->nop; i++)
            t->types[k * uf->nop + i] = (char)uf->loops[k]->num[i];
    }
    return true;
}

/* Others may look meanwhile: the number comes last, and what they have seen stays (tr_ufunc_room_for). */
static bool show_loops(tr_ufunc *uf) {
    table t;
    uint32_t n = uf->nloops;
    assert(n > 0 && "a loop that is shown is among the loops");
    if (!make_table(uf, n, &t))
        return false;
    __atomic_store_n(&uf->u->functions, t.fn, __ATOMIC_RELAXED);
    __atomic_store_n(&uf->u->data, t.data, __ATOMIC_RELAXED);
    __atomic_store_n(&uf->u->types, t.types, __ATOMIC_RELAXED);
    __atomic_store_n(&uf->u->ntypes, (int)n, __ATOMIC_RELEASE);
    return true;
}

/* NumPy takes a loop that fits before it asks. One that fits a reduction over the wrong type (`reduce` of
 * integers with dtype=float64 where floats have met integers) is told only when NumPy asks for it. */
static bool told_late(const tr_ufunc *uf, const tr_uloop *l) {
    return uf->lazy && is_binary(uf) && l->num[0] == l->num[2] && l->num[1] != l->num[0];
}

bool tr_ufunc_publish(tr_ufunc *uf, tr_uloop *l) {
    return (!tr_ufunc_has_promoters() || told_late(uf, l) || tell(uf, l)) && show_loops(uf);
}

bool tr_ufunc_attach(tr_ufunc *uf) {
    if (tr_ufunc_has_promoters())
        return add_promoter(uf, false) && (!is_binary(uf) || add_promoter(uf, true));
    uf->u->type_resolver = resolve;
    return true;
}
