/* A dataflow graph as plain data: calls of functions on arrays, numbers and each other's results, as a
 * program that nobody wrote. Made of a user's lazy arrays (ext/lazy.c) under the GIL, in the compilation's
 * arena; front/graph.c makes untyped SSA of it, as of bytecode.
 *
 * Invariants: nodes refer to nodes before them; params are numbered in the order in which the graph's
 * function takes them. What is part of the structure (functions, axes, dtypes, strings) is an object; what
 * may change between two evaluations without another compile (arrays, numbers) is a param; of an array all
 * but its sizes, where one is 1: what repeats along an axis is known to do so. */
#ifndef TR_GRAPH_GRAPH_H
#define TR_GRAPH_GRAPH_H

#include <string.h>

#include "base/err.h"
#include "ty/obj.h"

/* Where the nodes of graphs stand: node k in line k + 1 of it. One compiled graph serves many, written at
 * many places, so which line of the user's that is, is found when an error is told of. */
#define TR_GRAPH_FILE "<graph>"
#define TR_GRAPH_NODE "node"

typedef enum tr_gop {
    TR_G_CALL,   /* fn(args..., kw=...) */
    TR_G_METHOD, /* args[0].fn(args[1]..., kw=...) */
    TR_G_ATTR,   /* args[0].fn */
    TR_G_ITEM,   /* args[0][args[1]] */
    TR_G_TUPLE,  /* (args...): an index of several, a shape */
    TR_G_SLICE,  /* slice(args[0], args[1], args[2]) */
    TR_G_HOST,   /* fn(args..., kw=...) by Python: no part of a program, its value is there before */
    TR_G_CLOSURE /* a function of the user's: args[0] its defaults, a tuple or None, then what it captures */
} tr_gop;

/* What a node takes: the result of a node, a param, or an object, by number. */
typedef enum tr_grefk { TR_GREF_NODE, TR_GREF_PARAM, TR_GREF_OBJ } tr_grefk;
typedef struct tr_gref {
    uint32_t kind, at;
} tr_gref;

typedef struct tr_gnode {
    uint8_t op;  /* tr_gop */
    uint32_t fn; /* CALL: an object; METHOD, ATTR: one that is a name; CLOSURE: a function of the program */
    uint32_t n, nkw; /* operands; the last nkw of them have names */
    const tr_gref *args;
    const char *const *kwnames;
    const char *schedule; /* what its loops' schedules are to have, in words of ir/sched.def; or NULL */
    tr_place place; /* where the user wrote it, of the graph that was compiled first; for messages of that */
} tr_gnode;

typedef struct tr_graph {
    uint32_t nnodes, nparams, nobjs, nroots;
    const tr_gnode *nodes;
    const tr_obj *const *objs;
    const tr_gref *roots;
    const uint32_t *shorts; /* of each param: the axes that are one long, where others are longer */
    uint32_t result;        /* an object: what roots go through; UINT32_MAX: they are what they are */
} tr_graph;

/* What stands in a graph's lines, where the user wrote it; other places as they are. */
static inline tr_place tr_graph_written(const tr_graph *g, tr_place p) {
    bool node = g && p.file && strcmp(p.file, TR_GRAPH_FILE) == 0;
    uint32_t k = (uint32_t)p.span.line - 1;
    return node && k < g->nnodes ? g->nodes[k].place : p;
}

#endif
