/* Lazy arrays: building nodes, and evaluating them. See lazy.h.
 *
 * Evaluation walks the graph below the roots once, in the order in which operands come before what uses them;
 * gathers arrays and numbers as arguments, and the rest as a key, by which the plan is found; and calls its
 * function, which is compiled as any other. Nothing recurses: a graph may be as deep as it likes.
 * Cost: an object per node; an evaluation some ten nanoseconds per node beside the call. */
#include "ext/lazy.h"

#include <assert.h>
#include <string.h>

#include "ext/compat.h"

/* The operators, and which of NumPy's functions each is. */
#define TR_LAZY_BINARY(X)                            \
    X(nb_add, ADD, "add")                            \
    X(nb_subtract, SUBTRACT, "subtract")             \
    X(nb_multiply, MULTIPLY, "multiply")             \
    X(nb_true_divide, DIVIDE, "divide")              \
    X(nb_floor_divide, FLOOR_DIVIDE, "floor_divide") \
    X(nb_remainder, REMAINDER, "remainder")          \
    X(nb_and, AND, "bitwise_and")                    \
    X(nb_or, OR, "bitwise_or")                       \
    X(nb_xor, XOR, "bitwise_xor")                    \
    X(nb_lshift, LSHIFT, "left_shift")               \
    X(nb_rshift, RSHIFT, "right_shift")              \
    X(nb_matrix_multiply, MATMUL, "matmul")
#define TR_LAZY_UNARY(X)                 \
    X(nb_negative, NEGATIVE, "negative") \
    X(nb_positive, POSITIVE, "positive") \
    X(nb_absolute, ABSOLUTE, "absolute") \
    X(nb_invert, INVERT, "invert")
/* ORDER as Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT, Py_GE. */
#define TR_LAZY_COMPARE(X) \
    X(LT, "less")          \
    X(LE, "less_equal") X(EQ, "equal") X(NE, "not_equal") X(GT, "greater") X(GE, "greater_equal")
#define TR_LAZY_METHODS(X) X(sum) X(prod) X(min) X(max) X(mean) X(any) X(all) X(argmin) X(argmax) X(cumsum)

typedef enum fns {
#define X(slot, id, name) F_##id,
    TR_LAZY_BINARY(X) TR_LAZY_UNARY(X)
#undef X
#define X(id, name) F_##id,
        TR_LAZY_COMPARE(X)
#undef X
            F_POWER,
    F_ASARRAY,
#define X(name) F_M_##name,
    TR_LAZY_METHODS(X)
#undef X
        F__COUNT
} fns;

static const char *const fn_names[] = {
#define X(slot, id, name) name,
    TR_LAZY_BINARY(X) TR_LAZY_UNARY(X)
#undef X
#define X(id, name) name,
        TR_LAZY_COMPARE(X)
#undef X
            "power",
    "asarray",
#define X(name) #name,
    TR_LAZY_METHODS(X)
#undef X
};

typedef struct tr_lazy {
    PyObject_VAR_HEAD
    uint8_t op;        /* tr_gop */
    PyObject *value;   /* of a leaf, or of one that was evaluated: an array or a NumPy scalar; else NULL */
    PyObject *fn;      /* of a call */
    PyObject *kwnames; /* tuple, or NULL */
    PyObject *code;    /* where it was written, or NULL */
    int lasti;
    tr_kindof kind; /* once it was asked for */
    uint32_t cells; /* CLOSURE: which of the function's cells are operands, a bit each */
    uint64_t epoch; /* the walk that has met it last: then */
    uint32_t at;    /* its number in that */
    PyObject *args[];
} tr_lazy;

enum { MAX_CELLS = 32 };

/* What hangs on the module: it is the type's own dict's. */
typedef struct lazies {
    PyObject *fns[F__COUNT];
    PyObject *plans; /* dict: key -> Function */
    uint64_t epoch;
} lazies;

static lazies *lazies_of(PyTypeObject *type) {
    return ((tr_state *)PyType_GetModuleState(type))->lazies;
}

/* --- nodes --- */

static void note_place(tr_lazy *n) {
    PyFrameObject *frame = PyEval_GetFrame(); /* borrowed */
    if (!frame)
        return;
    n->code = (PyObject *)PyFrame_GetCode(frame);
    n->lasti = PyFrame_GetLasti(frame);
}

/* Takes no reference of anybody's. */
static PyObject *node_new(PyTypeObject *type, tr_gop op, PyObject *fn, PyObject *const *args, Py_ssize_t n,
                          PyObject *kwnames) {
    tr_lazy *x = (tr_lazy *)type->tp_alloc(type, n);
    if (!x)
        return NULL;
    x->op = (uint8_t)op;
    x->fn = Py_XNewRef(fn);
    x->kwnames = Py_XNewRef(kwnames);
    for (Py_ssize_t i = 0; i < n; i++)
        x->args[i] = Py_NewRef(args[i]);
    note_place(x);
    return (PyObject *)x;
}

static PyObject *leaf_new(PyTypeObject *type, PyObject *value) {
    tr_lazy *x = (tr_lazy *)type->tp_alloc(type, 0);
    if (x)
        x->value = Py_NewRef(value);
    return (PyObject *)x;
}

static bool is_number(PyObject *o) {
    return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyComplex_CheckExact(o) || PyBool_Check(o);
}

static bool is_operand(PyTypeObject *type, PyObject *o) {
    return Py_IS_TYPE(o, type) || PyArray_Check(o) || is_number(o) || PyArray_IsScalar(o, Generic);
}

static PyTypeObject *type_of(PyObject *a, PyObject *b) {
    /* one of both is ours: its class says which module */
    return Py_TYPE(a)->tp_as_number && Py_TYPE(a)->tp_as_number->nb_inplace_add == NULL &&
                   !strcmp(Py_TYPE(a)->tp_name, "treadle._core.LazyArray")
               ? Py_TYPE(a)
               : Py_TYPE(b);
}

static PyObject *binary(fns f, PyObject *a, PyObject *b) {
    PyTypeObject *type = type_of(a, b);
    if (!is_operand(type, a) || !is_operand(type, b))
        Py_RETURN_NOTIMPLEMENTED;
    return node_new(type, TR_G_CALL, lazies_of(type)->fns[f], (PyObject *[]){a, b}, 2, NULL);
}

#define X(slot, id, name)                                    \
    static PyObject *lazy_##slot(PyObject *a, PyObject *b) { \
        return binary(F_##id, a, b);                         \
    }
TR_LAZY_BINARY(X)
#undef X
#define X(slot, id, name)                                                                        \
    static PyObject *lazy_##slot(PyObject *a) {                                                  \
        return node_new(Py_TYPE(a), TR_G_CALL, lazies_of(Py_TYPE(a))->fns[F_##id], &a, 1, NULL); \
    }
TR_LAZY_UNARY(X)
#undef X

static PyObject *lazy_power(PyObject *a, PyObject *b, PyObject *mod) {
    if (mod != Py_None)
        Py_RETURN_NOTIMPLEMENTED;
    return binary(F_POWER, a, b);
}

static PyObject *lazy_compare(PyObject *a, PyObject *b, int op) {
    return binary((fns)(F_LT + op), a, b);
}

/* A tuple of what may be operands. */
static PyObject *tuple_node(PyTypeObject *type, PyObject *t) {
    return node_new(type, TR_G_TUPLE, NULL, ((PyTupleObject *)t)->ob_item, PyTuple_GET_SIZE(t), NULL);
}

/* A part of an index: a slice becomes a node of its own parts, a tuple one of its items. */
static PyObject *index_part(PyTypeObject *type, PyObject *i) {
    if (PySlice_Check(i)) {
        PySliceObject *s = (PySliceObject *)i;
        return node_new(type, TR_G_SLICE, NULL, (PyObject *[]){s->start, s->stop, s->step}, 3, NULL);
    }
    if (!PyTuple_Check(i))
        return Py_NewRef(i);
    Py_ssize_t n = PyTuple_GET_SIZE(i);
    PyObject *parts = PyTuple_New(n), *r = NULL;
    for (Py_ssize_t k = 0; parts && k < n; k++) {
        PyObject *part =
            index_part(type, PyTuple_GET_ITEM(i, k)); /* two deep, no more: an index holds no tuples */
        if (part)
            PyTuple_SET_ITEM(parts, k, part);
        else
            Py_CLEAR(parts);
    }
    if (parts)
        r = node_new(type, TR_G_TUPLE, NULL, ((PyTupleObject *)parts)->ob_item, n, NULL);
    Py_XDECREF(parts);
    return r;
}

static PyObject *lazy_item(PyObject *a, PyObject *i) {
    PyObject *part = index_part(Py_TYPE(a), i);
    PyObject *r = part ? node_new(Py_TYPE(a), TR_G_ITEM, NULL, (PyObject *[]){a, part}, 2, NULL) : NULL;
    Py_XDECREF(part);
    return r;
}

/* What a function captures is an operand where it is a number or an array, or holds such; else it is part of
 * the structure: a function, a module, a string. */
static bool is_captured_operand(PyTypeObject *type, PyObject *v) {
    bool is = is_operand(type, v) && !PyBool_Check(v);
    for (Py_ssize_t i = 0; PyTuple_CheckExact(v) && !is && i < PyTuple_GET_SIZE(v); i++)
        is = is_captured_operand(type, PyTuple_GET_ITEM(v, i));
    return is;
}

/* A function that captures operands, or has defaults, as a node of these: another closure of its code compiles
 * nothing. All else is itself. A new reference. */
static PyObject *captured(PyTypeObject *type, PyObject *o) {
    if (!PyFunction_Check(o) || !(PyFunction_GetClosure(o) || PyFunction_GetDefaults(o)))
        return PyTuple_CheckExact(o) && is_captured_operand(type, o) ? tuple_node(type, o) : Py_NewRef(o);
    PyObject *cells = PyFunction_GetClosure(o), *defaults = PyFunction_GetDefaults(o), *args[MAX_CELLS + 1];
    Py_ssize_t n = cells ? PyTuple_GET_SIZE(cells) : 0, k = 0;
    uint32_t which = 0;
    PyObject *r = NULL;
    bool ok = (args[k++] = defaults ? tuple_node(type, defaults) : Py_NewRef(Py_None)) != NULL;
    for (Py_ssize_t i = 0; ok && i < n && i < MAX_CELLS; i++) {
        PyObject *v = PyCell_Get(PyTuple_GET_ITEM(cells, i)), *x = v && v != o ? captured(type, v) : NULL;
        ok = x || !PyErr_Occurred();
        if (x && (Py_IS_TYPE(x, type) || is_captured_operand(type, x))) {
            args[k++] = Py_NewRef(x);
            which |= 1u << i;
        }
        Py_XDECREF(x);
        Py_XDECREF(v);
    }
    if (ok && !which && !defaults)
        r = Py_NewRef(o);
    else if (ok)
        r = node_new(type, TR_G_CLOSURE, o, args, k, NULL);
    if (r && r != o)
        ((tr_lazy *)r)->cells = which;
    while (k-- > 0)
        Py_XDECREF(args[k]);
    return r;
}

static PyObject *call_node(PyTypeObject *type, PyObject *fn, PyObject *const *args, Py_ssize_t n,
                           PyObject *kwnames) {
    Py_ssize_t nkw = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    PyObject *r = node_new(type, TR_G_CALL, fn, args, n + nkw, nkw ? kwnames : NULL);
    for (Py_ssize_t i = 0; r && i < n + nkw; i++) {
        PyObject *x = captured(type, args[i]);
        if (!x)
            Py_CLEAR(r);
        else
            Py_SETREF(((tr_lazy *)r)->args[i], x);
    }
    return r;
}

#define X(name)                                                                                            \
    static PyObject *lazy_##name(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) { \
        return method(F_M_##name, self, args, n, kwnames);                                                 \
    }
static PyObject *method(fns f, PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    Py_ssize_t all = n + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject **a = PyMem_Malloc(((size_t)all + 1) * sizeof *a);
    if (!a)
        return PyErr_NoMemory();
    a[0] = self;
    memcpy(a + 1, args, (size_t)all * sizeof *a);
    PyObject *r = call_node(Py_TYPE(self), lazies_of(Py_TYPE(self))->fns[f], a, n + 1, kwnames);
    PyMem_Free(a);
    return r;
}
TR_LAZY_METHODS(X)
#undef X

/* --- plans --- */

void tr_plan_free(tr_plan *p) {
    if (!p)
        return;
    for (uint32_t i = 0; i < p->nnodes; i++) {
        PyMem_Free(p->nodes[i].args);
        Py_XDECREF(p->nodes[i].kwnames);
        Py_XDECREF(p->nodes[i].code);
    }
    PyMem_Free(p->nodes);
    PyMem_Free(p->roots);
    Py_XDECREF(p->objs);
    Py_XDECREF(p->protos);
    PyMem_Free(p);
}

int tr_plan_visit(const tr_plan *p, visitproc visit, void *arg) {
    if (p)
        Py_VISIT(p->objs);
    return 0;
}

typedef struct walk {
    PyTypeObject *type;
    lazies *l;
    PyObject *nodes, *params, *objs,
        *protos;      /* lists: nodes in their order, arguments, constants, functions */
    uint32_t asarray; /* which of the objects that function is */
    bool raw;         /* roots are what they are: their type is asked for */
    uint32_t *key;    /* what the structure is, as numbers */
    size_t n, room;
} walk;

static bool put(walk *w, uint32_t x) {
    if (w->n == w->room) {
        size_t room = w->room ? 2 * w->room : 256;
        uint32_t *key = PyMem_Realloc(w->key, room * sizeof *key);
        if (!key) {
            PyErr_NoMemory();
            return false;
        }
        w->key = key;
        w->room = room;
    }
    w->key[w->n++] = x;
    return true;
}

/* The number of o in a list, where it is put unless it is there. */
static bool number_in(PyObject *list, PyObject *o, bool once, uint32_t *at) {
    Py_ssize_t n = PyList_GET_SIZE(list);
    for (Py_ssize_t i = 0; once && i < n; i++)
        if (PyList_GET_ITEM(list, i) == o) {
            *at = (uint32_t)i;
            return true;
        }
    *at = (uint32_t)n;
    return PyList_Append(list, o) == 0;
}

/* Numbers that are as good as part of the structure: exponents, steps, what a slice leaves out. */
static bool is_small(PyObject *o) {
    int overflow;
    long v = PyLong_AsLongAndOverflow(o, &overflow);
    return !overflow && v >= -2 && v <= 2;
}

static bool is_param(const tr_lazy *of, PyObject *o) {
    if (PyArray_Check(o) || PyArray_IsScalar(o, Generic) || PyFloat_CheckExact(o) || PyComplex_CheckExact(o))
        return true;
    /* integers: of ufuncs and slices, where they are large; functions take them as axes, shapes and counts */
    bool free = of->op == TR_G_SLICE || of->op == TR_G_CLOSURE || of->op == TR_G_ITEM ||
                of->op == TR_G_TUPLE || (of->fn && PyObject_TypeCheck(of->fn, &PyUFunc_Type));
    return free && PyLong_CheckExact(o) && !is_small(o);
}

static bool refer(walk *w, const tr_lazy *of, PyObject *o, tr_gref *r) {
    uint32_t at;
    if (Py_IS_TYPE(o, w->type)) {
        tr_lazy *x = (tr_lazy *)o;
        if (x->value) {
            *r = (tr_gref){TR_GREF_PARAM, 0};
            if (!number_in(w->params, x->value, true, &at))
                return false;
            r->at = at & 0x3fffffff;
            return true;
        }
        *r = (tr_gref){TR_GREF_NODE, x->at & 0x3fffffff};
        return true;
    }
    bool param = is_param(of, o);
    if (!number_in(param ? w->params : w->objs, o, !param || PyArray_Check(o), &at))
        return false;
    *r = (tr_gref){param ? TR_GREF_PARAM : TR_GREF_OBJ, at & 0x3fffffff};
    return true;
}

static uint32_t ref_key(tr_gref r) {
    return (uint32_t)r.kind << 30 | r.at;
}

/* What a closure captures that is part of the structure. */
static bool put_fixed_cells(walk *w, const tr_lazy *x) {
    PyObject *cells = PyFunction_GetClosure(x->fn);
    bool ok = true;
    for (Py_ssize_t i = 0; ok && cells && i < PyTuple_GET_SIZE(cells); i++) {
        uint32_t at = 0;
        PyObject *v = i < MAX_CELLS && x->cells >> i & 1 ? NULL : PyCell_Get(PyTuple_GET_ITEM(cells, i));
        ok = (!v || number_in(w->objs, v, true, &at)) && put(w, at);
        Py_XDECREF(v);
    }
    return ok;
}

/* A node whose operands have their numbers gets its own. */
static bool take_node(walk *w, tr_lazy *x) {
    x->at = (uint32_t)PyList_GET_SIZE(w->nodes);
    uint32_t fn = 0, proto;
    bool closure = x->op == TR_G_CLOSURE;
    PyObject *what = closure ? PyFunction_GetCode(x->fn) : x->fn;
    if (PyList_Append(w->nodes, (PyObject *)x) < 0 || (what && !number_in(w->objs, what, true, &fn)))
        return false;
    bool ok = put(w, x->op) && put(w, fn) && put(w, (uint32_t)Py_SIZE(x)) && put(w, x->kwnames ? 1 : 0);
    if (ok && closure) { /* code is compared by what it is, and its globals by which they are */
        uint64_t globals = (uint64_t)(uintptr_t)PyFunction_GetGlobals(x->fn);
        ok = number_in(w->protos, x->fn, true, &proto) && put(w, proto) && put(w, x->cells) &&
             put(w, (uint32_t)globals) && put(w, (uint32_t)(globals >> 32)) && put_fixed_cells(w, x);
    }
    if (ok && x->kwnames) {
        uint32_t at;
        ok = number_in(w->objs, x->kwnames, true, &at) && put(w, at);
    }
    for (Py_ssize_t i = 0; ok && i < Py_SIZE(x); i++) {
        tr_gref r;
        ok = refer(w, x, x->args[i], &r) && put(w, ref_key(r));
    }
    return ok;
}

/* What the roots are made of, operands first. */
static bool gather(walk *w, PyObject *const *roots, Py_ssize_t n) {
    PyObject *stack = PyList_New(0);
    uint64_t epoch = w->l->epoch += 2; /* epoch: it lies on the stack; epoch + 1: it has its number */
    bool ok = stack != NULL;
    for (Py_ssize_t i = n; ok && i-- > 0;)
        ok = PyList_Append(stack, roots[i]) == 0;
    while (ok && PyList_GET_SIZE(stack)) {
        Py_ssize_t top = PyList_GET_SIZE(stack) - 1;
        tr_lazy *x = (tr_lazy *)PyList_GET_ITEM(stack, top);
        bool ready = x->value || x->epoch >= epoch;
        if (x->value || x->epoch == epoch + 1) {
            ok = PyList_SetSlice(stack, top, top + 1, NULL) == 0;
            continue;
        }
        x->epoch = epoch;
        for (Py_ssize_t i = Py_SIZE(x); ok && !ready && i-- > 0;) {
            tr_lazy *a = (tr_lazy *)x->args[i];
            if (Py_IS_TYPE(x->args[i], w->type) && !a->value && a->epoch != epoch + 1)
                ok = PyList_Append(stack, (PyObject *)a) == 0;
        }
        if (ok && ready) {
            ok = take_node(w, x);
            x->epoch = epoch + 1;
        }
    }
    Py_XDECREF(stack);
    return ok;
}

/* Types of constants, as deep as tuples go: 1, 1.0 and True are one key else. */
static PyObject *types_of(PyObject *o) {
    if (!PyTuple_Check(o))
        return Py_NewRef(Py_TYPE(o));
    PyObject *r = PyTuple_New(PyTuple_GET_SIZE(o));
    for (Py_ssize_t i = 0; r && i < PyTuple_GET_SIZE(o); i++) {
        PyObject *t = types_of(PyTuple_GET_ITEM(o, i));
        if (t)
            PyTuple_SET_ITEM(r, i, t);
        else
            Py_CLEAR(r);
    }
    return r;
}

static PyObject *key_of(walk *w, PyObject *objs, PyObject *const *roots, Py_ssize_t nroots) {
    bool ok = put(w, (uint32_t)PyList_GET_SIZE(w->params)) && put(w, (uint32_t)nroots << 1 | w->raw);
    for (Py_ssize_t i = 0; ok && i < nroots; i++)
        ok = put(w, ((tr_lazy *)roots[i])->at);
    PyObject *bytes =
        ok ? PyBytes_FromStringAndSize((const char *)w->key, (Py_ssize_t)(w->n * sizeof *w->key)) : NULL;
    PyObject *types = bytes ? types_of(objs) : NULL;
    PyObject *key = types ? PyTuple_Pack(3, bytes, objs, types) : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(types);
    return key;
}

static bool fill_node(walk *w, tr_plan *p, uint32_t k) {
    tr_lazy *x = (tr_lazy *)PyList_GET_ITEM(w->nodes, k);
    tr_pnode *n = &p->nodes[k];
    *n = (tr_pnode){.op = x->op,
                    .n = (uint32_t)Py_SIZE(x),
                    .kwnames = Py_XNewRef(x->kwnames),
                    .code = Py_XNewRef(x->code),
                    .lasti = x->lasti};
    n->args = PyMem_Calloc(n->n + 1u, sizeof *n->args);
    p->nnodes = k + 1;
    if (!n->args) {
        PyErr_NoMemory();
        return false;
    }
    /* numbers are read from the key, where the walk has put them */
    return true;
}

static tr_gref ref_of(uint32_t key) {
    return (tr_gref){(key >> 30) & 3u, key & 0x3fffffff};
}

static uint32_t ncells(PyObject *fn) {
    PyObject *cells = PyFunction_GetClosure(fn);
    return cells ? (uint32_t)PyTuple_GET_SIZE(cells) : 0;
}

static tr_plan *plan_new(walk *w, PyObject *objs, PyObject *const *roots, Py_ssize_t nroots) {
    tr_plan *p = PyMem_Calloc(1, sizeof *p);
    uint32_t n = (uint32_t)PyList_GET_SIZE(w->nodes);
    if (!p || !(p->nodes = PyMem_Calloc(n + 1u, sizeof *p->nodes)) ||
        !(p->roots = PyMem_Calloc((size_t)nroots + 1u, sizeof *p->roots))) {
        PyErr_NoMemory();
        tr_plan_free(p);
        return NULL;
    }
    p->objs = Py_NewRef(objs);
    p->asarray = w->raw ? UINT32_MAX : w->asarray;
    if (!(p->protos = PyList_AsTuple(w->protos))) {
        tr_plan_free(p);
        return NULL;
    }
    p->nparams = (uint32_t)PyList_GET_SIZE(w->params);
    p->nroots = (uint32_t)nroots;
    const uint32_t *at = w->key;
    for (uint32_t k = 0; k < n; k++) {
        if (!fill_node(w, p, k)) {
            tr_plan_free(p);
            return NULL;
        }
        tr_pnode *x = &p->nodes[k];
        x->fn = at[1];
        uint32_t nargs = at[2];
        bool kw = at[3];
        at += 4;
        if (x->op == TR_G_CLOSURE) {
            x->fn = at[0];
            x->cells = at[1];
            at += 4 + ncells(PyTuple_GET_ITEM(p->protos, (Py_ssize_t)x->fn));
        }
        at += kw;
        for (uint32_t i = 0; i < nargs; i++)
            x->args[i] = ref_of(*at++);
    }
    for (Py_ssize_t i = 0; i < nroots; i++)
        p->roots[i] = (tr_gref){TR_GREF_NODE, ((tr_lazy *)roots[i])->at & 0x3fffffff};
    return p;
}

/* A function of so many parameters that does nothing: the face of a plan's. */
static PyObject *face(uint32_t n) {
    PyCodeObject *empty = PyCode_NewEmpty("<graph>", "graph", 1);
    PyObject *names = PyTuple_New((Py_ssize_t)n), *code = NULL, *f = NULL, *globals = PyDict_New();
    for (uint32_t i = 0; names && i < n; i++) {
        PyObject *name = PyUnicode_FromFormat("x%u", i);
        if (name)
            PyTuple_SET_ITEM(names, (Py_ssize_t)i, name);
        else
            Py_CLEAR(names);
    }
    PyObject *replace = empty ? PyObject_GetAttrString((PyObject *)empty, "replace") : NULL;
    PyObject *none = PyTuple_New(0);
    PyObject *kw = names && replace ? Py_BuildValue("{s:I,s:I,s:O}", "co_argcount", n, "co_nlocals", n,
                                                    "co_varnames", names)
                                    : NULL;
    if (kw && none)
        code = PyObject_Call(replace, none, kw);
    if (code && globals)
        f = PyFunction_New(code, globals);
    Py_XDECREF(kw);
    Py_XDECREF(none);
    Py_XDECREF(replace);
    Py_XDECREF(code);
    Py_XDECREF(names);
    Py_XDECREF(globals);
    Py_XDECREF((PyObject *)empty);
    return f;
}

static PyObject *function_of(walk *w, tr_plan *p) {
    tr_state *st = PyType_GetModuleState(w->type);
    PyObject *f = face(p->nparams), *flags = PyDict_New(), *options = PyDict_New();
    PyObject *fn = f && flags && options
                       ? PyObject_CallFunctionObjArgs((PyObject *)st->fn_type, f, flags, options, NULL)
                       : NULL;
    if (fn)
        ((tr_function *)fn)->plan = p;
    else
        tr_plan_free(p);
    Py_XDECREF(f);
    Py_XDECREF(flags);
    Py_XDECREF(options);
    return fn;
}

/* The compiled function of such graphs; a new reference. */
static PyObject *find_function(walk *w, PyObject *const *roots, Py_ssize_t nroots) {
    PyObject *objs = PyList_AsTuple(w->objs), *key = objs ? key_of(w, objs, roots, nroots) : NULL;
    PyObject *fn = key ? Py_XNewRef(PyDict_GetItemWithError(w->l->plans, key)) : NULL;
    if (key && !fn && !PyErr_Occurred()) {
        tr_plan *p = plan_new(w, objs, roots, nroots);
        fn = p ? function_of(w, p) : NULL;
        if (fn && PyDict_SetItem(w->l->plans, key, fn) < 0)
            Py_CLEAR(fn);
    }
    Py_XDECREF(objs);
    Py_XDECREF(key);
    return fn;
}

/* --- evaluation --- */

static void give_value(tr_lazy *x, PyObject *v) {
    x->value = Py_NewRef(v);
    Py_CLEAR(x->fn);
    Py_CLEAR(x->kwnames);
    for (Py_ssize_t i = 0; i < Py_SIZE(x); i++)
        Py_CLEAR(x->args[i]);
}

static bool run(walk *w, PyObject *const *roots, Py_ssize_t n) {
    PyObject *fn = find_function(w, roots, n);
    PyObject *r = fn ? PyObject_Vectorcall(fn, ((PyListObject *)w->params)->ob_item,
                                           (size_t)PyList_GET_SIZE(w->params), NULL)
                     : NULL;
    bool ok = r != NULL;
    for (Py_ssize_t i = 0; ok && i < n; i++) {
        PyObject *a = n == 1 ? r : PyTuple_GET_ITEM(r, i), *v = PyArray_Return((PyArrayObject *)Py_NewRef(a));
        ok = v != NULL;
        if (ok && !((tr_lazy *)roots[i])->value)
            give_value((tr_lazy *)roots[i], v);
        Py_XDECREF(v);
    }
    Py_XDECREF(r);
    Py_XDECREF(fn);
    return ok;
}

static bool evaluate(PyTypeObject *type, PyObject *const *roots, Py_ssize_t n) {
    walk w = {.type = type, .l = lazies_of(type)};
    PyObject **open = PyMem_Malloc(((size_t)n + 1) * sizeof *open);
    Py_ssize_t m = 0;
    if (!open) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (!((tr_lazy *)roots[i])->value)
            open[m++] = roots[i];
    w.nodes = PyList_New(0);
    w.params = PyList_New(0);
    w.objs = PyList_New(0);
    w.protos = PyList_New(0);
    bool ok = w.nodes && w.params && w.objs && w.protos &&
              (m == 0 || (gather(&w, open, m) && number_in(w.objs, w.l->fns[F_ASARRAY], true, &w.asarray) &&
                          run(&w, open, m)));
    Py_XDECREF(w.nodes);
    Py_XDECREF(w.params);
    Py_XDECREF(w.objs);
    Py_XDECREF(w.protos);
    PyMem_Free(w.key);
    PyMem_Free(open);
    return ok;
}

/* What the value is going to be. NULL with an exception. */
static const tr_kindof *kind_of(PyObject *self) {
    tr_lazy *x = (tr_lazy *)self;
    if (x->kind.known)
        return &x->kind;
    if (x->value) {
        PyArrayObject *a = (PyArrayObject *)PyArray_FromAny(x->value, NULL, 0, 0, 0, NULL);
        if (!a)
            return NULL;
        int num = PyArray_TYPE(a);
        x->kind = (tr_kindof){.known = true,
                              .array = PyArray_NDIM(a) > 0,
                              .dtype = num >= 0 && num < 24 ? tr_value_npy_kind[num] : 255,
                              .ndim = (uint8_t)PyArray_NDIM(a)};
        Py_DECREF(a);
        return &x->kind;
    }
    walk w = {.type = Py_TYPE(self), .l = lazies_of(Py_TYPE(self)), .raw = true};
    w.nodes = PyList_New(0);
    w.params = PyList_New(0);
    w.objs = PyList_New(0);
    w.protos = PyList_New(0);
    PyObject *fn = w.nodes && w.params && w.objs && w.protos && gather(&w, &self, 1)
                       ? find_function(&w, &self, 1)
                       : NULL;
    bool ok = fn && tr_spec_result((tr_function *)fn, ((PyListObject *)w.params)->ob_item, &x->kind);
    Py_XDECREF(fn);
    Py_XDECREF(w.nodes);
    Py_XDECREF(w.params);
    Py_XDECREF(w.objs);
    Py_XDECREF(w.protos);
    PyMem_Free(w.key);
    return ok ? &x->kind : NULL;
}

static PyObject *lazy_dtype(PyObject *self, void *unused) {
    (void)unused;
    const tr_kindof *k = kind_of(self);
    if (!k)
        return NULL;
    if (k->dtype >= TR_TY__SCALARS)
        return PyErr_Format(PyExc_AttributeError, "its items have no dtype of NumPy's");
    return (PyObject *)PyArray_DescrFromType(tr_value_npy_num[k->dtype]);
}

static PyObject *lazy_ndim(PyObject *self, void *unused) {
    (void)unused;
    const tr_kindof *k = kind_of(self);
    return k ? PyLong_FromLong(k->ndim) : NULL;
}

static PyObject *lazy_shape(PyObject *self, void *unused) {
    (void)unused;
    PyObject *v = evaluate(Py_TYPE(self), &self, 1) ? ((tr_lazy *)self)->value : NULL;
    return v ? PyObject_GetAttrString(v, "shape") : NULL;
}

/* The results of a function that has several. */
static PyObject *lazy_iter(PyObject *self) {
    const tr_kindof *k = kind_of(self);
    if (!k)
        return NULL;
    PyObject *r = NULL;
    if (k->tuple) {
        PyObject *t = PyTuple_New((Py_ssize_t)k->n);
        for (uint32_t i = 0; t && i < k->n; i++) {
            PyObject *at = PyLong_FromUnsignedLong(i), *item = at ? lazy_item(self, at) : NULL;
            Py_XDECREF(at);
            if (item)
                PyTuple_SET_ITEM(t, (Py_ssize_t)i, item);
            else
                Py_CLEAR(t);
        }
        r = t ? PyObject_GetIter(t) : NULL;
        Py_XDECREF(t);
    } else if (evaluate(Py_TYPE(self), &self, 1)) {
        r = PyObject_GetIter(((tr_lazy *)self)->value);
    }
    return r;
}

static PyObject *lazy_evaluate(PyObject *self, PyObject *unused) {
    (void)unused;
    return evaluate(Py_TYPE(self), &self, 1) ? Py_NewRef(self) : NULL;
}

/* The value of an evaluated node; borrowed. */
static PyObject *value_of(PyObject *self) {
    return evaluate(Py_TYPE(self), &self, 1) ? ((tr_lazy *)self)->value : NULL;
}

static PyObject *lazy_array(PyObject *self, PyObject *args, PyObject *kw) {
    static char *names[] = {"dtype", "copy", NULL};
    PyObject *dtype = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kw, "|OO:__array__", names, &dtype, &copy))
        return NULL;
    PyObject *v = value_of(self), *a = v ? PyArray_FromAny(v, NULL, 0, 0, 0, NULL) : NULL, *r;
    if (!a || dtype == Py_None)
        return a;
    r = PyObject_CallMethod(a, "astype", "O", dtype);
    Py_DECREF(a);
    return r;
}

static PyObject *lazy_repr(PyObject *self) {
    PyObject *v = value_of(self), *text = v ? PyObject_Repr(v) : NULL;
    PyObject *r = text ? PyUnicode_FromFormat("lazy %U", text) : NULL;
    Py_XDECREF(text);
    return r;
}

static PyObject *lazy_float(PyObject *self) {
    PyObject *v = value_of(self);
    return v ? PyNumber_Float(v) : NULL;
}
static PyObject *lazy_int(PyObject *self) {
    PyObject *v = value_of(self);
    return v ? PyNumber_Long(v) : NULL;
}
static int lazy_bool(PyObject *self) {
    PyObject *v = value_of(self);
    return v ? PyObject_IsTrue(v) : -1;
}

/* __array_ufunc__(ufunc, method, *inputs, **kwargs) */
static PyObject *lazy_ufunc(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    const char *how = n >= 2 && PyUnicode_Check(args[1]) ? PyUnicode_AsUTF8(args[1]) : NULL;
    if (!how || strcmp(how, "__call__") != 0)
        Py_RETURN_NOTIMPLEMENTED;
    return call_node(Py_TYPE(self), args[0], args + 2, n - 2, kwnames);
}

/* __array_function__(func, types, args, kwargs) */
static PyObject *lazy_function(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    if (n != 4 || !PyTuple_Check(args[2]) || !PyDict_Check(args[3]))
        Py_RETURN_NOTIMPLEMENTED;
    Py_ssize_t pos = PyTuple_GET_SIZE(args[2]), nkw = PyDict_GET_SIZE(args[3]), at = 0, k = 0;
    PyObject **a = PyMem_Malloc(((size_t)(pos + nkw) + 1) * sizeof *a), *names = PyTuple_New(nkw), *key,
             *value, *r = NULL;
    for (; a && k < pos; k++)
        a[k] = PyTuple_GET_ITEM(args[2], k);
    for (Py_ssize_t i = 0; a && names && PyDict_Next(args[3], &at, &key, &value); i++) {
        PyTuple_SET_ITEM(names, i, Py_NewRef(key));
        a[k++] = value;
    }
    if (a && names)
        r = call_node(Py_TYPE(self), args[0], a, pos, names);
    else
        PyErr_NoMemory();
    PyMem_Free(a);
    Py_XDECREF(names);
    return r;
}

/* --- the type --- */

static int lazy_traverse(PyObject *self, visitproc visit, void *arg) {
    tr_lazy *x = (tr_lazy *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(x->value);
    Py_VISIT(x->fn);
    Py_VISIT(x->kwnames);
    for (Py_ssize_t i = 0; i < Py_SIZE(x); i++)
        Py_VISIT(x->args[i]);
    return 0;
}

static int lazy_clear(PyObject *self) {
    tr_lazy *x = (tr_lazy *)self;
    Py_CLEAR(x->value);
    Py_CLEAR(x->fn);
    Py_CLEAR(x->kwnames);
    for (Py_ssize_t i = 0; i < Py_SIZE(x); i++)
        Py_CLEAR(x->args[i]);
    return 0;
}

static void lazy_dealloc(PyObject *self) {
    PyTypeObject *tp = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_TRASHCAN_BEGIN(self, lazy_dealloc) /* a chain of nodes is as deep as it is long */
        lazy_clear(self);
    Py_CLEAR(((tr_lazy *)self)->code);
    tp->tp_free(self);
    Py_DECREF(tp);
    Py_TRASHCAN_END
}

static PyMethodDef methods[] = {
    {"evaluate", lazy_evaluate, METH_NOARGS,
     "evaluate()\n--\n\nCompute the value, and return the array itself."},
    {"__array__", (PyCFunction)(void (*)(void))lazy_array, METH_VARARGS | METH_KEYWORDS, NULL},
    {"__array_ufunc__", (PyCFunction)(void (*)(void))lazy_ufunc, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"__array_function__", (PyCFunction)(void (*)(void))lazy_function, METH_FASTCALL, NULL},
#define X(name) {#name, (PyCFunction)(void (*)(void))lazy_##name, METH_FASTCALL | METH_KEYWORDS, NULL},
    TR_LAZY_METHODS(X)
#undef X
        {NULL, NULL, 0, NULL}};

static PyGetSetDef members[] = {{"dtype", lazy_dtype, NULL, NULL, NULL},
                                {"ndim", lazy_ndim, NULL, NULL, NULL},
                                {"shape", lazy_shape, NULL, NULL, NULL},
                                {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot slots[] = {{Py_tp_dealloc, lazy_dealloc},
                              {Py_tp_traverse, lazy_traverse},
                              {Py_tp_clear, lazy_clear},
                              {Py_tp_repr, lazy_repr},
                              {Py_tp_richcompare, lazy_compare},
                              {Py_tp_hash, PyObject_HashNotImplemented},
                              {Py_tp_methods, methods},
                              {Py_tp_getset, members},
                              {Py_tp_iter, lazy_iter},
                              {Py_mp_subscript, lazy_item},
                              {Py_nb_power, lazy_power},
                              {Py_nb_float, lazy_float},
                              {Py_nb_int, lazy_int},
                              {Py_nb_bool, lazy_bool},
#define X(slot, id, name) {Py_##slot, lazy_##slot},
                              TR_LAZY_BINARY(X) TR_LAZY_UNARY(X)
#undef X
                                  {0, NULL}};
static PyType_Spec spec = {
    .name = "treadle._core.LazyArray",
    .basicsize = offsetof(tr_lazy, args),
    .itemsize = sizeof(PyObject *),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

/* _lazy(array): a leaf. */
static PyObject *make_leaf(PyObject *module, PyObject *o) {
    tr_state *st = tr_ext_state(module);
    if (Py_IS_TYPE(o, st->lazy_type))
        return Py_NewRef(o);
    PyObject *a = PyArray_FromAny(o, NULL, 0, 0, 0, NULL);
    PyObject *r = a ? leaf_new(st->lazy_type, a) : NULL;
    Py_XDECREF(a);
    return r;
}

/* _lazy_call(fn, *args, **kw): a node. */
static PyObject *make_call(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *kwnames) {
    tr_state *st = tr_ext_state(module);
    if (n < 1)
        return PyErr_Format(PyExc_TypeError, "a function is needed");
    return call_node(st->lazy_type, args[0], args + 1, n - 1, kwnames);
}

/* _lazy_evaluate(*arrays): in one program. */
static PyObject *evaluate_all(PyObject *module, PyObject *const *args, Py_ssize_t n) {
    tr_state *st = tr_ext_state(module);
    for (Py_ssize_t i = 0; i < n; i++)
        if (!Py_IS_TYPE(args[i], st->lazy_type))
            return PyErr_Format(PyExc_TypeError, "evaluate() takes lazy arrays, not %T", args[i]);
    if (!evaluate(st->lazy_type, args, n))
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"_lazy", make_leaf, METH_O, NULL},
    {"_lazy_call", (PyCFunction)(void (*)(void))make_call, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"_lazy_evaluate", (PyCFunction)(void (*)(void))evaluate_all, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL}};

bool tr_lazy_add(PyObject *module) {
    tr_state *st = tr_ext_state(module);
    PyObject *np = PyImport_ImportModule("numpy");
    lazies *l = st->lazies = PyMem_Calloc(1, sizeof *l);
    st->lazy_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    bool ok = np && l && st->lazy_type && (l->plans = PyDict_New());
    for (unsigned i = 0; ok && i < F__COUNT; i++)
        ok = (l->fns[i] = PyObject_GetAttrString(np, fn_names[i])) != NULL;
    Py_XDECREF(np);
    return ok && PyModule_AddObjectRef(module, "LazyArray", (PyObject *)st->lazy_type) == 0 &&
           PyModule_AddFunctions(module, functions) == 0;
}
