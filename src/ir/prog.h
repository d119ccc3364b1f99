/* A program: what flows through the compiler. The snapshot of every function that the bytecode can reach, the
 * untyped SSA of each, and the typed instances (function x argument types) that inference made of them. */
#ifndef TR_IR_PROG_H
#define TR_IR_PROG_H

#include "ir/ir.h"

/* A code object as plain data; names and layout as CPython's PyCodeObject. Made by ext/freeze.c under the
 * GIL. */
typedef struct tr_code {
    int version; /* 311, 312 ... */
    const uint8_t *code;
    uint32_t ncode; /* bytes */
    const uint8_t *exctab;
    uint32_t nexctab;
    const uint8_t *linetab; /* co_linetable, location table of PEP 626/657 */
    uint32_t nlinetab;
    uint32_t firstline;
    uint32_t nconsts, nnames, nlocalsplus, stacksize;
    uint32_t flags; /* co_flags */
    const tr_obj *const *consts;
    const char *const *names;
    const tr_obj **globals; /* per name: the frozen global or builtin, NULL = not defined (or not a global) */
    const char *
        *near; /* per name: of one that is not defined, a global or builtin that is like it, or NULL */
    const char *const *localsplus; /* locals, cells, free variables */
    const uint8_t *kinds;          /* CO_FAST_LOCAL 0x20, CELL 0x40, FREE 0x80 */
    /* per localsplus entry: the type that the user declared for it, or NULL; NULL: none at all */
    const tr_obj **declared;
    /* per localsplus entry of kind FREE of a top-level function: frozen contents; NULL = empty
     * or an enclosing function's local */
    const tr_obj **free;
} tr_code;

/* What a ufunc adds to the function it was made of: called on arrays it runs over their elements, and nothing
 * raises for a division. */
typedef struct tr_ufn {
    const char *name;
    uint32_t nin, nout;
    const struct tr_cores *core; /* of a generalised one, or NULL */
    uint32_t nsigs;              /* 0: any types */
    /* nsigs rows: nin argument types and the declared result's, NULL when that is inferred; of a generalised
     * one the types of all operands */
    const tr_ty *const *sigs;
    const tr_obj *identity; /* a number; NULL: it has none */
    bool reorders;          /* its reductions may go in any order */
} tr_ufn;

/* A function of others as it was declared: a C function of that name. Pointers are given as arrays of such
 * items. */
typedef struct tr_extern {
    const char *name;
    const void *py;   /* identity of the object that declares it */
    bool numba;       /* it gives a status, and its result behind its first argument */
    const tr_ty *ret; /* NULL: none */
    uint32_t nargs;
    const tr_ty *const *args; /* scalars; of pointers what they point to */
    const bool *pointer;
    const tr_obj *table; /* an ARRAY of one item, its address, where that is known (`by_address`) */
    bool by_address;
} tr_extern;

/* What is linked to a program: LLVM's bitcode, the same for all functions of it. */
typedef struct tr_link {
    const char *name; /* for messages */
    const void *data;
    size_t size;
} tr_link;

static inline uint32_t tr_ufn_row(const tr_ufn *u) {
    return u->core ? u->nin + u->nout : u->nin + 1;
}

/* What a function of the library says of a parameter (treadle/_library): literal numbers stay known in it; it
 * is an *args that may be a list. */
enum { TR_MARK_CONSTANT = 1, TR_MARK_ITEMS = 2 };

/* What a decorated function keeps, whoever calls it: options and signatures. One body may stand under
 * several. */
typedef struct tr_contract {
    uint32_t id;      /* number in its program */
    uint32_t opts;    /* tr_prog_opts */
    bool library;     /* it stands for one of NumPy's: options are the caller's, divisions NumPy's */
    bool arrays;      /* a list that is made for it is an array, as NumPy's functions make one */
    bool subscripted; /* it stands for an object such as np.r_: a[i] is its call, and nothing else is */
    const uint8_t *constants; /* per parameter: TR_MARK_...; NULL: none has one */
    bool sealed;              /* no other types than those declared */
    const char *refused;      /* why one that was declared is missing, or NULL */
    uint32_t nsigs, nargs;
    /* nsigs rows: types of all parameters, *args as one tuple, and the declared result's, NULL when that is
     * inferred */
    const tr_ty *const *sigs;
} tr_contract;

static inline const tr_ty *const *tr_contract_row(const tr_contract *k, uint32_t sig) {
    return k->sigs + (size_t)sig * (k->nargs + 1u);
}

/* What one loop of a generator expression or a list comprehension does with an item of what it runs over, as
 * a function of that item: None where the item is left out, else a tuple. That of the innermost loop holds
 * the value; that of others what the loop within runs over, and what its function takes before the item. */
typedef struct tr_round {
    uint32_t inner;           /* the function of the loop within; UINT32_MAX: it is the innermost */
    bool list;                /* a comprehension's, which is run through at once */
    uint8_t makes;            /* tr_generates: what that makes */
    bool skips;               /* some items are left out */
    bool of_lists;            /* its values are written as lists */
    struct tr_bits *assigned; /* variables of the code that the loops of the whole expression assign */
    /* its bytecode, which front/ has; NULL: `inner` is the outermost loop of this whole
     * expression, which nobody calls */
    const struct tr_decoded *cut;
} tr_round;

/* Inner functions of one function that name each other: their numbers, the variables they are assigned to,
 * their defaults (a constant tuple; NULL: none). */
typedef struct tr_kin {
    uint32_t n;
    const uint32_t *funcs;
    const char *const *names;
    const tr_obj *const *defaults;
} tr_kin;

/* A user's function. */
typedef struct tr_func {
    const char *name, *qualname, *file;
    uint32_t nargs, nposonly, nkwonly; /* as co_argcount, co_posonlyargcount, co_kwonlyargcount */
    bool varargs, varkw;
    const char *const *argnames;   /* nargs + nkwonly (+1 *args) (+1 **kwargs) */
    const tr_obj *const *defaults; /* per argument (nargs + nkwonly), NULL = required */
    uint32_t nfree; /* inner functions: captured variables; they are the first params of its SSA */
    const uint32_t *freeidx;
    uint32_t itself; /* an inner function that names itself: 1 + which of them is that (front/share.c); 0 */
    const tr_kin
        *kin; /* those that it is one of, or NULL: it has none of them as a captured value, and makes all
                        * that it names itself */
    uint32_t nmore; /* what it holds for that besides, behind what it captures: variables by their names */
    const char *const *more;
    uint32_t nmemory; /* parameters that are the memory of variables which inner functions share, by name */
    const char *const *memory;
    uint8_t *shared; /* per variable of the code: 1 where it is memory that functions share; NULL: none is */
    const tr_code *code;          /* NULL for functions that came as text IR */
    const struct tr_graph *graph; /* what stands in place of the code: graph/graph.h; NULL: nothing */
    tr_fn *ssa;                   /* by front; NULL when the front end refused it: then `refused` says why */
    const struct tr_decoded *decoded; /* what front made `ssa` of, or NULL */
    tr_err *refused;                  /* reported only if the function is really called */
    tr_round *round;                  /* NULL: a function as the user wrote it */
    bool of_item;      /* it has captured a variable that the next item of the expression around it changes */
    const void *py;    /* identity of the function object */
    const tr_ufn *ufn; /* NULL: a plain function */
    bool library;      /* one of treadle/_library: what fails in it is told at the user's call */
    bool packaged;     /* such a one, or an inner function of one */
    uint8_t *sizes;    /* per parameter: 1 where a number stays known (infer/sizes.c); NULL: for none */
} tr_func;

/* Values that an inner function holds, which are the first params of its SSA. */
static inline uint32_t tr_func_held(const tr_func *fn) {
    return fn->nfree + fn->nmore;
}

/* A function specialised to argument types, options and a declared result. */
typedef struct tr_inst {
    uint32_t func; /* UINT32_MAX: came as text */
    uint32_t opts; /* tr_prog_opts; of text: the root's */
    uint32_t nargs;
    const tr_ty **args; /* types of all params of the SSA function */
    const tr_ty *ret;
    tr_fn *fn; /* typed */
    bool late; /* compiled when it is first called, on its own (opt/late.c) */
    bool far; /* a kernel that a device has as code of its own: no code of the host's, and compiled when it is
                   launched first (opt/offload.c) */
    bool piece; /* a part of the function that calls it, taken out of one that is very long (opt/split.c) */
} tr_inst;

/* An exception of the program's own among the classes: which of exc.def's its class is derived from, and
 * which of exc.def's are derived from it; likewise the program's own, from which it is derived, by number. */
typedef struct tr_ownexc {
    uint64_t bases, derived;
    tr_u32s own_bases;
    const char *name; /* its class's */
    bool plain;       /* a class that makes no texts of its own, and keeps the arguments as they are */
} tr_ownexc;

/* A method that is a function of treadle/_library: of which class (as in builtins.def), and the function,
 * whose first parameter is the object. */
typedef struct tr_method {
    const char *cls, *name;
    const tr_obj *fn;
} tr_method;

/* Skeletons of a device's loops, functions of treadle/_library/device: X(ID, name) */
#define TR_SKELETONS(X)       \
    X(MAP, "map_points")      \
    X(REDUCE, "reduce_parts") \
    X(JOIN, "join_parts")
typedef enum tr_skeleton {
#define X(id, name) TR_SKELETON_##id,
    TR_SKELETONS(X)
#undef X
        TR_SKELETON__COUNT
} tr_skeleton;

typedef TR_VEC(tr_link) tr_linked;

typedef struct tr_prog {
    tr_ctx *ctx;
    TR_VEC(tr_func) funcs;
    TR_VEC(tr_inst) insts;         /* insts[root] is what the caller asked for */
    TR_VEC(const tr_obj *) arrays; /* frozen arrays, by tr_obj.u.a.index */
    /* exceptions that exc.def does not have, by tr_obj.u.exc - TR_EXC__COUNT: classes and
     * exceptions themselves */
    TR_VEC(const tr_obj *)
    excs;
    TR_VEC(tr_ownexc) own_excs;  /* parallel to excs; of text there are none */
    TR_VEC(tr_extern *) externs; /* functions of others, each once */
    tr_linked links;
    tr_linked texts;        /* PTX that becomes part of a GPU's code (jit/ptx_join.c) */
    bool links_ask_place;   /* some of it asks for threadIdx or its kin, which the host's code says before */
    const char *link_names; /* of all that was given to be linked, for messages; NULL: nothing was */
    TR_VEC(const tr_contract *) contracts;
    TR_VEC(tr_method) methods;              /* those whose names the program mentions */
    TR_VEC(const tr_opts *) opts;           /* each once; the first are the root's */
    uint32_t skeletons[TR_SKELETON__COUNT]; /* functions, of a program whose arrays lie on a device */
    /* infer/'s tr_infer_more, for opt/offload.c, which comes to know types of skeletons when patterns are
     * merged; set by who runs both */
    bool (*more)(struct tr_prog *p, uint32_t func, tr_fnkind kind, uint32_t nargs, const tr_ty *const *args,
                 uint32_t *inst);
    /* front/'s tr_front_unroll, for infer/unroll.c, which comes to know which loops run over items of
     * different types; NULL: none is written out */
    bool (*unroll)(struct tr_prog *p, uint32_t func, uint32_t loop, uint32_t n,
                   const struct tr_decoded **code, tr_fn **ssa);
    uint32_t root_func;
    uint32_t root;
    uint8_t root_kind; /* tr_fnkind of what is asked for: HOST, or a device's, which no host calls */
    /* some function has a handler, so what an exception passes on its way out releases what it holds */
    bool handles;
    /* the root's text, to be compiled anew when it has made an array larger than the caches
     * (opt/pattern/large.c); NULL: it would be the same */
    /* what the root does to lists that it is given (tr_meta); NULL: it is given none */
    const char *takes, *writes;
    const char *large;
    bool accounted;  /* it keeps accounts already: `account` has been here */
    bool says_lines; /* a number in the code is that of a line, so the code is not for a file with others */
    bool is_late;    /* the root was such an instance: it is called by compiled code */
    /* references are counted by several threads at once, whatever this program alone would show */
    bool atomic_counts;
} tr_prog;

void tr_prog_init(tr_prog *p, tr_ctx *ctx);
/* Number of the options of a function in this compilation, whose own they are but for what holds for all of
 * it. */
uint32_t tr_prog_opts(tr_prog *p, const tr_opts *own);
const tr_opts *tr_inst_opts(const tr_prog *p, const tr_inst *t);
void tr_prog_print(tr_sb *out, const tr_prog *p, bool typed);
/* Is the exception `exc` (tr_exc, past them the program's own) of the class `base`? */
bool tr_prog_derives(const tr_prog *p, uint32_t exc, uint32_t base);
tr_place tr_fn_place(const tr_fn *f, uint32_t loc);

#endif
