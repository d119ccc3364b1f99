/* class LazyArray: an array that is not there yet, a node of a dataflow graph; and plans, what such graphs
 * are compiled from. lazyplan.c finds the plan of a graph, lazyrun.c evaluates one, lazy.c is the type.
 *
 * A node refers to what it is made of, strongly, and is immutable but for one thing: once it was evaluated it
 * has its value, and lets go of the rest. What it takes is another node, an array, a number, or a constant
 * (an axis, a dtype, a string). A plan is the structure of a graph without its arrays and numbers, which are
 * the params of its function: graphs of one structure have one plan, and so share what was compiled.
 *
 * What a walk notes in nodes, the table of plans, and a node's change to its value are guarded by the state's
 * gate where there is no GIL (docs/design/threads.md). */
#ifndef TR_EXT_LAZY_H
#define TR_EXT_LAZY_H

#include "ext/device.h"
#include "ext/function.h"
#include "graph/graph.h"

/* The operators: slot, id, and which of NumPy's functions each is. */
#define TR_LAZY_BINARY(X)                            \
    X(nb_add, ADD, "add")                            \
    X(nb_subtract, SUBTRACT, "subtract")             \
    X(nb_multiply, MULTIPLY, "multiply")             \
    X(nb_true_divide, DIVIDE, "divide")              \
    X(nb_floor_divide, FLOOR_DIVIDE, "floor_divide") \
    X(nb_remainder, REMAINDER, "remainder")          \
    X(nb_divmod, DIVMOD, "divmod")                   \
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
/* In the order of Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT, Py_GE. */
#define TR_LAZY_COMPARE(X) \
    X(LT, "less")          \
    X(LE, "less_equal")    \
    X(EQ, "equal")         \
    X(NE, "not_equal")     \
    X(GT, "greater")       \
    X(GE, "greater_equal")
#define TR_LAZY_OTHER(X) X(POWER, "power") X(SHAPE, "shape")

typedef enum tr_lazyfn {
#define X(slot, id, name) TR_LAZY_##id,
    TR_LAZY_BINARY(X) TR_LAZY_UNARY(X)
#undef X
#define X(id, name) TR_LAZY_##id,
        TR_LAZY_COMPARE(X) TR_LAZY_OTHER(X)
#undef X
            TR_LAZY__FNS
} tr_lazyfn;

struct tr_lazies;
typedef struct tr_lazy {
    PyObject_VAR_HEAD
    struct tr_lazies *l; /* whose class it is */
    uint8_t op;          /* tr_gop */
    bool loose;          /* its integers are operands, whatever they are: an index's, a ufunc's */
    bool ran;            /* it was computed once already, and nobody kept the value */
    bool leaf;           /* its value is the user's own array */
    uint16_t below;      /* about how many operations wait below it, itself included: at most so many */
    int lasti;           /* where it was written: the instruction of */
    PyObject *code;      /* that code, or NULL */
    PyObject *value; /* of a leaf, or of what was evaluated: array, NumPy scalar, tuple of such; else NULL */
    PyObject *fn;    /* CALL: what is called; METHOD: its name; CLOSURE: the function */
    PyObject *kwnames; /* tuple, or NULL */
    PyObject *tag;     /* a text, how its loops are to go, in words of ir/sched.def; or NULL */
    PyObject *shape;   /* a tuple, or an array of that shape; NULL: nobody knows yet */
    uint64_t sum;      /* of a leaf, under TREADLE_PARALLEL_CHECK: of its bytes when it was made */
    tr_kindof kind;    /* once it was asked for; of a HOST, n: its dtype was promised */
    uint32_t cells;    /* CLOSURE: which of the function's cells are operands, a bit each */
    uint64_t epoch;    /* the walk that has met it last: then */
    uint32_t at;       /* its number in that, of one that has a value the number of the param; and */
    uint32_t uses;     /* how often it is an operand there */
    PyObject *args[];
} tr_lazy;

enum {
    TR_LAZY_CELLS = 32,   /* of a function that can be operands */
    TR_LAZY_BOUND = 512,  /* so many operations wait for being evaluated, no more */
    TR_LAZY_PLANS = 1024, /* are kept */
    TR_LAZY_PLAIN = 32,   /* functions that are known to be nothing special */
    TR_LAZY_SHORT = 4,    /* nodes of fewer operands are used again, */
    TR_LAZY_SPARES = 128  /* at most so many of each number of operands */
};

typedef struct tr_pnode {
    uint8_t op; /* tr_gop */
    uint32_t fn, n, cells;
    tr_gref *args;
    PyObject *kwnames; /* tuple, or NULL */
    PyObject *tag;     /* text, or NULL */
    PyObject *code;    /* where it was written: the code, or NULL, and the instruction */
    int lasti;
} tr_pnode;

/* What the graph's value is for arguments of certain types. */
typedef struct tr_pkind {
    struct tr_pkind *next;
    tr_kindof kind;
    tr_argk pats[];
} tr_pkind;

typedef struct tr_plan {
    PyObject *objs, *protos; /* tuples: constants; functions whose closures and defaults are operands */
    uint32_t nnodes, nparams, nroots, result;
    tr_pnode *nodes;
    tr_gref *roots;
    uint32_t *shorts; /* as graph/graph.h has them */
    tr_pkind *kinds;
} tr_plan;

/* A plan that is known, in a chain of those with the same low bits of the hash. */
typedef struct tr_lazyentry {
    struct tr_lazyentry *next;
    uint64_t hash, used;
    PyObject *objs, *fn; /* fn: the Function of the plan */
    size_t n;
    uint32_t key[];
} tr_lazyentry;

/* An object that a walk has met, in a hash table of the walk's. */
typedef struct tr_lazyseen {
    uint64_t epoch; /* of that walk; another's: the entry is free */
    uint32_t which; /* the list that it is in, in the low bits, and where */
} tr_lazyseen;

/* What belongs to the class; every node points to it, which has the class and so the module. */
typedef struct tr_lazies {
    tr_state *st;
    PyTypeObject *type; /* borrowed */
    PyObject *fns[TR_LAZY__FNS];
    PyObject **methods; /* the names of those that make nodes, in the order of lazy.c */
    PyObject
        *plain[TR_LAZY_PLAIN]; /* functions of NumPy's that are called in graphs as any other, by address */
    PyObject *result;   /* treadle._library's function that makes a root's value; NULL until it is needed */
    PyObject *at;       /* treadle.parallel's class behind x.at; likewise */
    PyObject *tag;      /* contextvars.ContextVar: the words that nodes are made with now */
    bool tagged;        /* there have been some */
    PyObject *flags;    /* dict: options that programs are compiled with; NULL: the defaults */
    char *home;         /* the folder of treadle.parallel: places are those of its callers */
    size_t nhome;       /* so long is its name */
    PyObject *named[2]; /* names of files: the last one that is not there, and one that is; NULL: none yet */
    tr_lazy *spare[TR_LAZY_SHORT]; /* nodes that are gone, by their number of operands; a list by `code` */
    uint32_t nspare[TR_LAZY_SHORT];
    size_t live; /* nodes; not counted where none are spared */
    bool hosts;  /* there was a node that Python computes */
    bool check;  /* leaves are looked at: config.PARALLEL_CHECK */
    tr_lazyentry *plans[TR_LAZY_PLANS];
    size_t nplans;
    uint64_t clock, epoch;
    tr_lazyseen *seen; /* what the walk that gathers has met: there is one at a time; NULL: none has been */
    uint32_t roomseen;
} tr_lazies;

/* Objects in their order; the first few without memory of their own. */
enum { TR_LAZY_FEW = 32, TR_LAZY_WORDS = 256, TR_LAZY_SEEN = 256 };
typedef struct tr_objs {
    PyObject **d; /* `few`, or memory */
    uint32_t n, room;
    PyObject *few[TR_LAZY_FEW];
} tr_objs;

/* A look at a graph from its roots, operands first. It is not copied: parts of it are pointed to. */
typedef struct tr_gwalk {
    tr_state *st;
    tr_lazies *l;
    PyObject *const *roots;
    Py_ssize_t nroots;
    bool raw;        /* roots are what they are: their type is asked for */
    bool serial;     /* on one core */
    bool fixed;      /* all integers that functions take are constants */
    bool eased;      /* there was one that is taken for an operand */
    PyObject *log;   /* what the program is to write its accounts to (opt/account.c), or NULL; borrowed */
    uint8_t offload; /* tr_offload, of arrays that lie on a device */
    bool here;       /* some do not */
    bool point;      /* one of a device has no axes */
    bool known;      /* the plan was there before */
    bool gathered;
    uint32_t nhost; /* nodes that Python computes */
    uint32_t nran;  /* nodes that were computed before */
    uint32_t nkey, roomkey;
    uint32_t nseen; /* entries of l->seen */
    uint64_t done;  /* the epoch of nodes that have their number */
    uint32_t *key;  /* what the structure is, as numbers: `fewwords`, or memory */
    /* From here on nothing is set at the beginning but what says how much there is. */
    tr_objs nodes, params, objs, protos; /* strong */
    uint32_t fewwords[TR_LAZY_WORDS];
} tr_gwalk;

/* It is an array, or several; parts of indices and closures are not. */
static inline bool tr_lazy_has_value(const tr_lazy *x) {
    return x->op == TR_G_CALL || x->op == TR_G_METHOD || x->op == TR_G_ATTR || x->op == TR_G_ITEM ||
           x->op == TR_G_HOST;
}

static inline bool tr_lazy_is(const tr_lazies *l, const PyObject *o) {
    return Py_IS_TYPE(o, l->type);
}

static inline tr_lazies *tr_lazies_of(PyObject *node) {
    return ((tr_lazy *)node)->l;
}

/* What a node has as its value, of an array on a device the ndarray over it; borrowed, or NULL. */
static inline PyObject *tr_lazy_memory(const tr_lazy *x) {
    PyObject *m = x->value && !PyArray_CheckExact(x->value) ? tr_device_mem(x->l->st, x->value) : NULL;
    return m ? m : x->value;
}

bool tr_lazy_add(PyObject *module);
/* A leaf of an array, or of a tuple of arrays. New references, as all here; NULL with an exception. */
PyObject *tr_lazy_leaf(tr_lazies *l, PyObject *value);
/* A CALL or METHOD of n arguments, and of one more for each name; `out` among these asks for the value. */
PyObject *tr_lazy_call(tr_lazies *l, tr_gop op, PyObject *fn, PyObject *const *args, Py_ssize_t n,
                       PyObject *kwnames);
/* A tuple of a node's first n items, as of functions that have several results. */
PyObject *tr_lazy_items(PyObject *node, Py_ssize_t n);
/* The same operation on other operands, written at the same place. */
PyObject *tr_lazy_like(PyObject *node, PyObject *const *args, Py_ssize_t n);

/* --- lazymodule.c --- */

bool tr_lazy_add_functions(PyObject *module);

/* --- lazynode.c --- */

/* One with nothing but room for n operands, which is to be filled before Python can come across: then
 * PyObject_GC_Track. */
tr_lazy *tr_lazy_new(tr_lazies *l, Py_ssize_t n);
/* The memory of a node that has nothing any more. */
void tr_lazy_free(tr_lazy *x);
/* A node of n operands, the last of which have names. */
PyObject *tr_lazy_node(tr_lazies *l, tr_gop op, PyObject *fn, PyObject *const *args, Py_ssize_t n,
                       PyObject *kwnames);
/* The innermost frame that is none of treadle.parallel's. */
void tr_lazy_note_place(tr_lazy *n);
/* Roots have gone through treadle._library's function for them. */
static inline bool tr_plan_has_values(const tr_plan *p) {
    return p->result != UINT32_MAX;
}
void tr_plan_free(tr_plan *p);
int tr_plan_visit(const tr_plan *p, visitproc visit, void *arg);
/* Where node k was written. */
tr_place tr_plan_place(const tr_plan *p, uint32_t k);

/* --- lazyplan.c --- */

int tr_lazies_visit(const tr_lazies *l, visitproc visit, void *arg);
void tr_lazies_clear(tr_lazies *l); /* forgets plans: nodes that are left can still be used */
/* The module is gone; what nodes that are left point to goes with the last of them. */
void tr_lazies_free(tr_lazies *l);

void tr_gwalk_begin(tr_gwalk *w, tr_lazies *l, PyObject *const *roots, Py_ssize_t n);
/* Both in the gate; false with an exception. */
bool tr_gwalk_gather(tr_gwalk *w);
/* The plan's Function; a new reference, or NULL with an exception. */
PyObject *tr_gwalk_function(tr_gwalk *w);
/* No other graph gets this plan. */
void tr_gwalk_forget(tr_gwalk *w, PyObject *fn);
void tr_gwalk_fini(tr_gwalk *w);

/* --- lazyrun.c --- */

/* Evaluates what is not yet. False with an exception: nothing has changed then. */
bool tr_lazy_evaluate(tr_lazies *l, PyObject *const *roots, Py_ssize_t n, bool serial);
/* The same; accounts go to `log`, an array of int64. What the nodes are that these name: a list of (file,
 * line, function, what), in their order; NULL with an exception. */
PyObject *tr_lazy_explain(tr_lazies *l, PyObject *const *roots, Py_ssize_t n, bool serial, PyObject *log);
/* The program as it is after a stage, on one core. A new reference to a text; NULL with an exception. */
PyObject *tr_lazy_text(tr_lazies *l, PyObject *const *roots, Py_ssize_t n, PyObject *log, tr_stage stage);
/* What it is made of: _lazy_parts. */
PyObject *tr_lazy_parts(tr_lazies *l, PyObject *self);
/* The nodes themselves: _lazy_nodes. */
PyObject *tr_lazy_nodes(tr_lazies *l, PyObject *const *roots, Py_ssize_t n);
/* A value that was computed elsewhere, for the node from now on; false with an exception. */
bool tr_lazy_give(PyObject *node, PyObject *value);
/* The arguments that it is called with: a list. */
PyObject *tr_lazy_params(tr_lazies *l, PyObject *const *roots, Py_ssize_t n);
/* What the value is going to be. NULL with an exception. */
const tr_kindof *tr_lazy_kind(PyObject *self);
/* A new reference to a tuple: the array is computed only where its shape depends on items. */
PyObject *tr_lazy_shape(PyObject *self);
/* How many operations wait below: counted. */
uint32_t tr_lazy_count(PyObject *self);
/* Of an array's bytes. */
uint64_t tr_lazy_sum(PyObject *array);

#endif
