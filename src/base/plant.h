/* Planted miscompiles, for one purpose: to show that the fuzzer finds such things, and tests of the suite:
 * tests/py/test_parallel_stores.py (SCATTER), tests/py/test_topk.py (TOP), test_joins.py (JOIN),
 * tests/py/test_graphs.py (IDENTITY to LINE, which are for graphs). Compiled in with -DTR_PLANTS alone and
 * then chosen by opts.plant; every other build has `tr_plant` as the constant false. */
#ifndef TR_BASE_PLANT_H
#define TR_BASE_PLANT_H

#include "base/ctx.h"

/* X(ID, number, what goes wrong) */
#define TR_PLANT_LIST(X)                                                                 \
    X(SHR, 1, "arithmetic shift right fills with zeros")                                 \
    X(FLOORDIV, 2, "floor division rounds towards zero")                                 \
    X(UDIV, 3, "unsigned quotient is taken as signed")                                   \
    X(SEXT, 4, "widening a signed integer does not extend its sign")                     \
    X(CMPLE, 5, "integer <= is lowered as <")                                            \
    X(PATTERN, 6, "a pattern's inner loop stops one element early")                      \
    X(WRAP, 7, "a negative index of -1 is not wrapped")                                  \
    X(FNE, 8, "NaN != x is false")                                                       \
    X(SELECT, 9, "select of float32 swaps its arms")                                     \
    X(CMUL, 10, "the imaginary part of a complex product loses a term's sign")           \
    X(FUSE, 11, "fusion moves an array expression past a store to what it reads")        \
    X(RANGE, 12, "every range of a parallel loop but the first begins one late")         \
    X(CHUNK, 13, "of a chunk of strided results the last one is not stored")             \
    X(SCATTER, 14, "patterns that store at computed places are taken to be independent") \
    X(IDENTITY, 15, "what a range's reduction begins with is not its identity")          \
    X(EPILOGUE, 16, "what was reduced is stored as it is, not what is made of it")       \
    X(TIE, 17, "a sort of places that is to be stable is not")                           \
    X(LOST, 18, "of what a range packs, the next one overwrites the last item")          \
    X(CHAIN, 19, "a range of a scan hands on what it was given, without its own total")  \
    X(WEAK, 20, "a graph's Python number has a type of its own")                         \
    X(LINE, 21, "all nodes of a graph are in one place")                                 \
    X(TOP, 22, "of equal keys at the edge of a choice a later one is taken")             \
    X(JOIN, 23, "a reduction by a function begins with zeros, not with the identity")

enum {
#define X(id, number, what) TR_PLANT_##id = (number),
    TR_PLANT_LIST(X)
#undef X
};

#ifdef TR_PLANTS
static inline bool tr_plant(const tr_ctx *ctx, int number) {
    return ctx->opts.plant == number;
}
#else
#define tr_plant(ctx, number) ((void)(ctx), false)
#endif

#endif
