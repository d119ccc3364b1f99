/* class LazyArray: an array that is not there yet, a node of a dataflow graph; and plans, what such graphs are
 * compiled from.
 *
 * A node refers to what it is made of, strongly, and is immutable but for one thing: once it was evaluated it
 * has its value, and lets go of the rest. What it takes is another node, an array, a number, or a constant (an
 * axis, a dtype, a string). A plan is the structure of a graph without its arrays and numbers, which are the
 * params of its function: graphs of one structure have one plan, and so share what was compiled. */
#ifndef TR_EXT_LAZY_H
#define TR_EXT_LAZY_H

#include "ext/function.h"
#include "graph/graph.h"

typedef struct tr_pnode {
    uint8_t op; /* tr_gop */
    uint32_t fn, n, cells;
    tr_gref *args;
    PyObject *kwnames; /* tuple, or NULL */
    PyObject *code;    /* where it was written: the code, or NULL, and the instruction */
    int lasti;
} tr_pnode;

typedef struct tr_plan {
    PyObject *objs, *protos; /* tuples: constants; functions whose closures and defaults are operands */
    uint32_t nnodes, nparams, nroots, asarray;
    tr_pnode *nodes;
    tr_gref *roots;
} tr_plan;

bool tr_lazy_add(PyObject *module);
void tr_plan_free(tr_plan *p);
int tr_plan_visit(const tr_plan *p, visitproc visit, void *arg);

#endif
