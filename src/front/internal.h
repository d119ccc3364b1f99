/* What the files of front/ share with each other. */
#ifndef TR_FRONT_INTERNAL_H
#define TR_FRONT_INTERNAL_H

#include "base/bitset.h"
#include "front/front.h"
#include "ir/nyi.h"

typedef enum tr_nop {
#define X(id, name, pops, pushes, kind) TR_N_##id,
#include "front/nop.def"
#undef X
    TR_N__COUNT
} tr_nop;

enum { BC_JUMP = 1 }; /* tr_bc.flags: arg is the number of the instruction jumped to */
enum {
    FN_DEFAULTS = 1,
    FN_KWDEFAULTS = 2,
    FN_ANNOTATIONS = 4,
    FN_CLOSURE = 8,
    FN_ANNOTATE = 16
};                                                              /* MAKEFN, SETFNATTR */
enum { KIND_LOCAL = 0x20, KIND_CELL = 0x40, KIND_FREE = 0x80 }; /* tr_code.kinds */
enum { CO_GENERATOR_FLAG = 0x20, CO_COROUTINE_FLAG = 0x80, CO_ASYNC_GENERATOR_FLAG = 0x200 };

/* Objects that CPython loads by an instruction of their own instead of from co_consts; bc_VVV.def has each
 * version's numbers. X(ID, "text in dumps") */
#define TR_COMMONS(X)                                                                                      \
    X(ASSERTION_ERROR, "AssertionError") /* the first: LOAD_ASSERTION_ERROR, before 3.14, has no number */ \
    X(NOT_IMPLEMENTED_ERROR, "NotImplementedError")                                                        \
    X(NONE, "None")                                                                                        \
    X(EMPTY_STRING, "''")                                                                                  \
    X(TRUE, "True")                                                                                        \
    X(FALSE, "False")                                                                                      \
    X(MINUS_ONE, "-1")                                                                                     \
    X(CONSUMER, "a builtin that reads a generator expression")
typedef enum tr_common {
#define X(id, text) TR_COMMON_##id,
    TR_COMMONS(X)
#undef X
        TR_COMMON__COUNT
} tr_common;

extern const char *const tr_nop_name[TR_N__COUNT];
char tr_nop_kind(uint8_t op);
bool tr_nop_exits(uint8_t op); /* nothing follows it */
void tr_nop_effect(const tr_bc *i, uint32_t *pops, uint32_t *pushes);
const char *tr_front_opcode_name(int version, uint32_t opcode);
/* spans[i] is the place of the code unit i (2 bytes each). */
tr_span *tr_front_spans(tr_ctx *ctx, const tr_code *c);

/* A stretch of instructions with one entry and one exit. Only reachable ones are kept, in
 * reverse post-order. */
typedef struct tr_bcblk {
    uint32_t start, end; /* instructions [start, end) */
    uint32_t nsucc, succ[2];
    uint32_t depth; /* of the stack at the start */
    tr_u32s preds;  /* predecessor << 2 | number of its successor, 2: its handler */
    /* what raises in it goes to this block's start, with the variables as they are at its own; TR_NOBLK */
    uint32_t handler;
    bool catches; /* it is one: it starts with the exception on the stack, and maybe a number below */
    bool lasti;
    bool header;  /* some predecessor comes later in the order */
    tr_bits defs; /* variables written */
    tr_bits live; /* variables whose value on entry may be read */
} tr_bcblk;

/* Variables of SSA construction: locals; three for each stack position: the value, and for
 * iterators the number of items and the counter; and for locals that some path leaves
 * unassigned, whether they are assigned. */
typedef struct tr_flow {
    tr_bcblk *blks;
    uint32_t nblks, nvars, nlocals, maxdepth;
    tr_bits maybe_unbound; /* locals */
    uint32_t
        handled; /* the variable of the exception that is being handled; the last, if there are handlers */
} tr_flow;

static inline uint32_t tr_flow_slot(const tr_flow *f, uint32_t depth) {
    return f->nlocals + 3u * depth;
}
static inline uint32_t tr_flow_bound(const tr_flow *f, uint32_t local) {
    return f->nlocals + 3u * f->maxdepth + local;
}

/* The first thing in a function that we do not compile: what, and the instruction that says so. */
typedef struct tr_refusal {
    bool is;
    tr_nyi_id why;
    uint32_t off; /* byte offset */
} tr_refusal;

/* Blocks, stack depths and live variables of a decoded function; the locals in `bound` have a
 * value from the start. When a reachable instruction is refused, `why` says so and
 * `out` is not filled. False: the bytecode is malformed. */
bool tr_front_flow(tr_ctx *ctx, const tr_code *c, const tr_decoded *d, const tr_bits *bound, tr_flow *out,
                   tr_refusal *why);
/* Comprehensions that stand in the code itself, as from 3.12 on, become COMPREHENDs; their loops are
 * functions, appended to the program. False: malformed. */
bool tr_front_comprehensions(tr_prog *p, uint32_t func, tr_decoded *d);
/* A code object of this name is a generator expression or a comprehension: it has no SSA of its own. */
bool tr_front_is_expression(const char *name);
/* The outermost loop, a function, of the generator expression or list comprehension that is the code of
 * `func`; UINT32_MAX: it is none, or something in it is not compiled, *why. False: malformed. */
bool tr_front_rounds(tr_prog *p, uint32_t func, uint32_t *first, tr_nyi_id *why);
/* The loop whose FORITER is instruction `loop` of d becomes its body, once for each of n items. False: that
 * would be too long. */
bool tr_front_write_out(tr_ctx *ctx, const tr_decoded *d, const tr_flow *f, uint32_t loop, uint32_t n,
                        tr_decoded *out);
/* share.c. Finds the variables that inner functions assign to, and inner functions that name themselves; says
 * in the instructions which reads and writes are of shared variables, and hands these on to inner functions;
 * makes one more shared, false: that cannot be. */
void tr_front_find_shared(tr_prog *p, uint32_t func, tr_decoded *d);
void tr_front_say_shared(tr_prog *p, uint32_t func, tr_decoded *d);
bool tr_front_share(tr_prog *p, uint32_t func, uint32_t var);
bool tr_front_is_shared(const tr_func *fn, uint32_t var);
/* Its parameter of that name is the memory of a variable (tr_func's `memory`). */
bool tr_front_is_given_memory(const tr_func *fn, const char *name);
/* A variable by its name among those that functions share; nlocalsplus: there is none. */
uint32_t tr_front_variable(const tr_code *c, const char *name);
/* Which of kin is assigned to the variable; kin->n: none. */
uint32_t tr_front_kin_named(const tr_kin *kin, const char *name);
/* Reports malformed bytecode; always false. */
bool tr_front_malformed(tr_ctx *ctx, const tr_code *c, const char *what);

/* Builds the SSA of a function that is a graph: graph.c. */
void tr_front_graph(tr_prog *p, uint32_t func);

#endif
