/* Nodes of graphs of lazy arrays, and the plans that are made of these, as data. See lazy.h.
 *
 * A node knows where it was written as a code object and an instruction of that: lines are looked for when an
 * error is told of. */
#include <assert.h>
#include <string.h>

#include "ext/compat.h"
#include "ext/lazy.h"

/* --- nodes --- */

/* A node that is gone is the next one of as many operands: so one costs no allocator. Without the GIL threads
 * would share the lists, and a sanitizer is to see that a node goes. */
#if defined Py_GIL_DISABLED || defined __SANITIZE_ADDRESS__
enum { SPARES = 0 };
#else
enum { SPARES = TR_LAZY_SPARES };
#endif

tr_lazy *tr_lazy_new(tr_lazies *l, Py_ssize_t n) {
    tr_lazy *x = n < TR_LAZY_SHORT ? l->spare[n] : NULL;
    if (x) {
        l->spare[n] = (tr_lazy *)x->code;
        l->nspare[n]--;
        PyObject_InitVar((PyVarObject *)x, l->type, n);
    } else if (!(x = PyObject_GC_NewVar(tr_lazy, l->type, n))) {
        return NULL;
    }
    memset((char *)x + offsetof(tr_lazy, l), 0, offsetof(tr_lazy, args) - offsetof(tr_lazy, l));
    x->l = l;
    if (SPARES > 0)
        l->live++;
    return x;
}

void tr_lazy_free(tr_lazy *x) {
    tr_lazies *l = x->l;
    Py_ssize_t n = Py_SIZE(x);
    assert(!PyObject_GC_IsTracked((PyObject *)x) && "nobody comes across a node that is gone");
    if (SPARES > 0 && n < TR_LAZY_SHORT && l->nspare[n] != SPARES && l->st) {
        x->code = (PyObject *)l->spare[n];
        l->spare[n] = x;
        l->nspare[n]++;
    } else {
        PyObject_GC_Del(x);
    }
    if (SPARES > 0 && --l->live == 0 && !l->st)
        PyMem_Free(l);
}

/* The file is one of treadle.parallel's. The last one that is and the last one that is not are remembered, by
 * their names: a program's nodes are written in few files. */
static bool is_at_home(tr_lazies *l, PyObject *name) {
    if (name == l->named[false] || name == l->named[true])
        return name == l->named[true];
    const char *file = l->home ? PyUnicode_AsUTF8(name) : NULL;
    bool home = file && strncmp(file, l->home, l->nhome) == 0;
    if (!file)
        PyErr_Clear();
#ifndef Py_GIL_DISABLED
    Py_XSETREF(l->named[home], Py_NewRef(name));
#endif
    return home;
}

/* The innermost frame that is none of treadle.parallel's. */
void tr_lazy_note_place(tr_lazy *n) {
    PyFrameObject *frame = PyEval_GetFrame(), *back = NULL; /* the first is borrowed */
    while (frame) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        if (!is_at_home(n->l, code->co_filename)) {
            n->code = (PyObject *)code;
            n->lasti = PyFrame_GetLasti(frame);
            break;
        }
        Py_DECREF(code);
        frame = PyFrame_GetBack(frame);
        Py_XSETREF(back, frame);
    }
    Py_XDECREF((PyObject *)back);
}

PyObject *tr_lazy_node(tr_lazies *l, tr_gop op, PyObject *fn, PyObject *const *args, Py_ssize_t n,
                       PyObject *kwnames) {
    tr_lazy *x = tr_lazy_new(l, n);
    uint32_t below = 1;
    if (!x)
        return NULL;
    x->op = (uint8_t)op;
    x->fn = Py_XNewRef(fn);
    x->kwnames = Py_XNewRef(kwnames);
    for (Py_ssize_t i = 0; i < n; i++) {
        x->args[i] = Py_NewRef(args[i]);
        if (tr_lazy_is(l, args[i]) && !((tr_lazy *)args[i])->value)
            below += ((tr_lazy *)args[i])->below;
    }
    x->below = (uint16_t)(below > UINT16_MAX ? UINT16_MAX : below);
    tr_lazy_note_place(x);
    PyObject_GC_Track((PyObject *)x);
    if (l->tagged && tr_lazy_has_value(x) && PyContextVar_Get(l->tag, NULL, &x->tag) < 0) {
        Py_DECREF(x);
        return NULL;
    }
    assert((op != TR_G_CLOSURE || PyFunction_Check(fn)) && "a closure is one of a function");
    return (PyObject *)x;
}

/* --- plans --- */

void tr_plan_free(tr_plan *p) {
    if (!p)
        return;
    for (uint32_t i = 0; i < p->nnodes; i++) {
        PyMem_Free(p->nodes[i].args);
        Py_XDECREF(p->nodes[i].kwnames);
        Py_XDECREF(p->nodes[i].tag);
        Py_XDECREF(p->nodes[i].code);
    }
    for (tr_pkind *k = p->kinds, *next; k; k = next) {
        next = k->next;
        for (uint32_t i = 0; i < p->nparams; i++)
            tr_argk_clear(&k->pats[i]);
        PyMem_Free(k);
    }
    PyMem_Free(p->nodes);
    PyMem_Free(p->roots);
    PyMem_Free(p->shorts);
    Py_XDECREF(p->objs);
    Py_XDECREF(p->protos);
    PyMem_Free(p);
}

int tr_plan_visit(const tr_plan *p, visitproc visit, void *arg) {
    if (p) {
        Py_VISIT(p->objs);
        Py_VISIT(p->protos);
    }
    return 0;
}

tr_place tr_plan_place(const tr_plan *p, uint32_t k) {
    tr_place r = {NULL, NULL, {-1, -1, -1, -1}};
    PyCodeObject *c = k < p->nnodes ? (PyCodeObject *)p->nodes[k].code : NULL;
    if (!c)
        return r;
    int line = -1, col = -1, end_line = -1, end_col = -1;
    PyCode_Addr2Location(c, p->nodes[k].lasti, &line, &col, &end_line, &end_col);
    r.file = PyUnicode_AsUTF8(c->co_filename);
    r.fn = PyUnicode_AsUTF8(c->co_qualname);
    r.span = (tr_span){line, col, end_line, end_col};
    PyErr_Clear();
    return r;
}
