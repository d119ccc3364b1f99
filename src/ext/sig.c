/* Signature objects, and reading what users write where a signature is meant. See types.h. */
#include "ext/types.h"

#include <string.h>

void tr_csig_clear(tr_csig *s) {
    PyMem_Free((void *)s->args);
    *s = (tr_csig){0};
}

static bool csig_from_text(tr_state *st, PyObject *o, tr_csig *out) {
    const char *text = tr_types_text(o), *msg = NULL;
    if (!text)
        return false;
    tr_arena a;
    jmp_buf oom;
    tr_sig sig = {0};
    bool ok = false;
    tr_arena_init(&a, &oom);
    if (setjmp(oom)) {
        tr_arena_fini(&a);
        PyErr_NoMemory();
        return false;
    }
    if (!tr_ty_parse_sig(&a, st->types, text, &sig, &msg)) {
        PyErr_Format(PyExc_TypeError, "bad signature '%s': %s", text, msg ? msg : "syntax error");
    } else if (!(out->args = PyMem_Calloc(sig.n + 1u, sizeof *out->args))) {
        PyErr_NoMemory();
    } else {
        ok = true;
        out->n = sig.n;
        out->ret = sig.ret;
        if (sig.n)
            memcpy((void *)out->args, (const void *)sig.args, sig.n * sizeof *out->args);
    }
    tr_arena_fini(&a);
    return ok;
}

/* Declared types may have as many items as arguments (value.c). */
static bool few_items(const tr_csig *s) {
    for (uint32_t i = 0; i < s->n + (s->ret != NULL); i++) {
        unsigned left = TR_MAX_ITEMS;
        if (tr_ty_fits(i < s->n ? s->args[i] : s->ret, &left))
            continue;
        PyErr_Format(PyExc_TypeError,
                     "%s of the signature is a tuple of more than %d items in all\n  help: declare an array",
                     i < s->n ? "an argument type" : "the return type", TR_MAX_ITEMS);
        return false;
    }
    return true;
}

static bool read_csig(tr_state *st, PyObject *o, tr_csig *out) {
    PyObject *args = o;
    *out = (tr_csig){0};
    if (PyUnicode_Check(o))
        return csig_from_text(st, o, out);
    if (Py_IS_TYPE(o, st->sig_type)) {
        tr_sigobj *s = (tr_sigobj *)o;
        args = s->args;
        if (s->ret != Py_None && !(out->ret = tr_types_from(st, s->ret)))
            return false;
    }
    if (!PyTuple_Check(args)) {
        PyErr_Format(
            PyExc_TypeError,
            "a signature is float64(int32, int32), \"f8(i4, i4)\" or a tuple of argument types, not %R", o);
        return false;
    }
    out->args = PyMem_Calloc((size_t)PyTuple_GET_SIZE(args) + 1, sizeof *out->args);
    if (!out->args) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
        out->args[i] = tr_types_from(st, PyTuple_GET_ITEM(args, i));
        if (!out->args[i]) {
            tr_csig_clear(out);
            return false;
        }
    }
    out->n = (uint32_t)PyTuple_GET_SIZE(args);
    return true;
}

bool tr_types_csig(tr_state *st, PyObject *o, tr_csig *out) {
    bool ok = read_csig(st, o, out) && few_items(out);
    if (!ok)
        tr_csig_clear(out);
    return ok;
}

/* --- class Signature --- */

static void sig_dealloc(PyObject *self) {
    PyTypeObject *tp = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(((tr_sigobj *)self)->args);
    Py_CLEAR(((tr_sigobj *)self)->ret);
    tp->tp_free(self);
    Py_DECREF(tp);
}

static int sig_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(((tr_sigobj *)self)->args);
    Py_VISIT(((tr_sigobj *)self)->ret);
    return 0;
}

PyObject *tr_sig_text(PyObject *ret, PyObject *args) {
    PyObject *parts = PyList_New(0), *sep = PyUnicode_FromString(", "), *inner = NULL, *r = NULL;
    bool ok = parts && sep;
    for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(args); i++) {
        PyObject *t = PyObject_Repr(PyTuple_GET_ITEM(args, i));
        ok = t && PyList_Append(parts, t) == 0;
        Py_XDECREF(t);
    }
    if (ok && (inner = PyUnicode_Join(sep, parts)))
        r = ret == Py_None ? PyUnicode_FromFormat("(%U)", inner) : PyUnicode_FromFormat("%R(%U)", ret, inner);
    Py_XDECREF(inner);
    Py_XDECREF(sep);
    Py_XDECREF(parts);
    return r;
}

static PyObject *sig_repr(PyObject *self) {
    const tr_sigobj *s = (tr_sigobj *)self;
    return tr_sig_text(s->ret, s->args);
}

static PyObject *sig_compare(PyObject *a, PyObject *b, int op) {
    if (Py_TYPE(a) != Py_TYPE(b) || (op != Py_EQ && op != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    tr_sigobj *x = (tr_sigobj *)a, *y = (tr_sigobj *)b;
    int same = PyObject_RichCompareBool(x->ret, y->ret, Py_EQ);
    if (same > 0)
        same = PyObject_RichCompareBool(x->args, y->args, Py_EQ);
    return same < 0 ? NULL : PyBool_FromLong((op == Py_EQ) == same);
}

static Py_hash_t sig_hash(PyObject *self) {
    Py_hash_t h = PyObject_Hash(((tr_sigobj *)self)->args);
    return h == -1 ? -1 : h ^ 0x5167;
}

/* As it would be written: a type that is called, or signature() of the argument types. */
static PyObject *sig_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    tr_sigobj *s = (tr_sigobj *)self;
    if (s->ret != Py_None)
        return Py_BuildValue("OO", s->ret, s->args);
    PyObject *module = PyImport_ImportModule("treadle._core");
    PyObject *make = module ? PyObject_GetAttrString(module, "signature") : NULL;
    PyObject *r = make ? Py_BuildValue("O(O)", make, s->args) : NULL;
    Py_XDECREF(make);
    Py_XDECREF(module);
    return r;
}

static PyMethodDef sig_methods[] = {
    {"__reduce__", sig_reduce, METH_NOARGS, NULL},
    {0},
};

static PyMemberDef sig_members[] = {
    {"args", T_OBJECT, offsetof(tr_sigobj, args), READONLY, "Argument types."},
    {"return_type", T_OBJECT, offsetof(tr_sigobj, ret), READONLY,
     "Return type, or None when it is inferred."},
    {0},
};

PyDoc_STRVAR(sig_doc, "Argument types and a return type, made by calling a type: ``float64(int32, int32)``.");

static PyType_Slot sig_slots[] = {
    {Py_tp_dealloc, sig_dealloc},     {Py_tp_traverse, sig_traverse}, {Py_tp_repr, sig_repr},
    {Py_tp_richcompare, sig_compare}, {Py_tp_hash, sig_hash},         {Py_tp_members, sig_members},
    {Py_tp_methods, sig_methods},     {Py_tp_doc, (void *)sig_doc},   {0, NULL},
};

static PyType_Spec sig_spec = {
    .name = "treadle._core.Signature",
    .basicsize = sizeof(tr_sigobj),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = sig_slots,
};

/* --- module functions --- */

PyObject *tr_types_sigobj(tr_state *st, const tr_csig *c) {
    tr_sigobj *s = (tr_sigobj *)st->sig_type->tp_alloc(st->sig_type, 0);
    PyObject *args = s ? PyTuple_New(c->n) : NULL;
    for (uint32_t i = 0; args && i < c->n; i++) {
        PyObject *t = tr_types_object(st, c->args[i]);
        if (!t)
            Py_CLEAR(args);
        else
            PyTuple_SET_ITEM(args, i, t);
    }
    if (args) {
        s->args = args;
        s->ret = c->ret ? tr_types_object(st, c->ret) : Py_NewRef(Py_None);
    }
    if (!args || !s->ret)
        Py_CLEAR(s);
    return (PyObject *)s;
}

PyObject *tr_types_signature(tr_state *st, PyObject *x) {
    tr_csig c;
    if (!tr_types_csig(st, x, &c))
        return NULL;
    PyObject *s = tr_types_sigobj(st, &c);
    tr_csig_clear(&c);
    return s;
}

static PyObject *py_signature(PyObject *module, PyObject *x) {
    return tr_types_signature(tr_ext_state(module), x);
}

static PyMethodDef functions[] = {
    {"signature", py_signature, METH_O,
     "signature(x)\n--\n\nSignature from text, a tuple of types, or a signature."},
    {0},
};

bool tr_sig_add(PyObject *module) {
    tr_state *st = tr_ext_state(module);
    st->sig_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &sig_spec, NULL);
    return st->sig_type && PyModule_AddType(module, st->sig_type) == 0 &&
           PyModule_AddFunctions(module, functions) == 0;
}
