/* Nodes of graphs of lazy arrays, and the plans that are made of these, as data. See lazy.h.
 *
 * A node knows where it was written as a code object and an instruction of that: lines are looked for when an
 * error is told of. */
#include <assert.h>
#include <string.h>

#include "ext/compat.h"
#include "ext/lazy.h"

/* --- nodes --- */

static bool is_at_home(const tr_lazies *l, PyCodeObject *code) {
    const char *file = l->home ? PyUnicode_AsUTF8(code->co_filename) : NULL;
    if (!file)
        PyErr_Clear();
    return file && strncmp(file, l->home, strlen(l->home)) == 0;
}

/* The innermost frame that is none of treadle.parallel's. */
void tr_lazy_note_place(const tr_lazies *l, tr_lazy *n) {
    PyFrameObject *frame = (PyFrameObject *)Py_XNewRef((PyObject *)PyEval_GetFrame());
    while (frame) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        if (!is_at_home(l, code)) {
            n->code = (PyObject *)code;
            n->lasti = PyFrame_GetLasti(frame);
            break;
        }
        Py_DECREF(code);
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF((PyObject *)frame);
}

PyObject *tr_lazy_node(PyTypeObject *type, tr_gop op, PyObject *fn, PyObject *const *args, Py_ssize_t n,
                       PyObject *kwnames) {
    tr_lazy *x = (tr_lazy *)type->tp_alloc(type, n);
    uint32_t below = 1;
    if (!x)
        return NULL;
    x->op = (uint8_t)op;
    x->fn = Py_XNewRef(fn);
    x->kwnames = Py_XNewRef(kwnames);
    if (tr_lazies_of(type)->tagged && tr_lazy_has_value(x) &&
        PyContextVar_Get(tr_lazies_of(type)->tag, NULL, &x->tag) < 0) {
        Py_DECREF(x);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        x->args[i] = Py_NewRef(args[i]);
        if (Py_IS_TYPE(args[i], type) && !((tr_lazy *)args[i])->value)
            below += ((tr_lazy *)args[i])->below;
    }
    tr_lazy_note_place(tr_lazies_of(type), x);
    x->below = (uint16_t)(below > UINT16_MAX ? UINT16_MAX : below);
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
