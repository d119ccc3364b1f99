/* class Function: a Python function and its specialisations.
 *
 * A spec is compiled code for one tuple of argument types. A variant says when it applies and how
 * arguments get into slots: one for the exact types, more where a declared signature converts. Variants
 * are matched in order; the list is immutable and published with release, so a call reads it without a
 * lock. Lists and specs that were replaced live until no call can see them (`active`). */
#ifndef TR_EXT_FUNCTION_H
#define TR_EXT_FUNCTION_H

#include "ext/value.h"

enum { TR_STACK_SLOTS = 48, TR_STACK_ARGS = 24 };

/* How an argument is looked at and unboxed; all but the last are inlined in call.c. */
enum {
    TR_U_FLOAT,
    TR_U_INT,
    TR_U_BOOL,
    TR_U_ARRAY,
    TR_U_SCALAR,     /* NumPy scalar of the very type */
    TR_U_INT_NARROW, /* int to a declared integer type, range checked */
    TR_U_INT_F64,
    TR_U_FLOAT_F32,
    TR_U_TUPLE, /* item by item */
    TR_U_OTHER
};
/* How a result is boxed. */
enum { TR_R_NONE, TR_R_FLOAT, TR_R_INT, TR_R_BOOL, TR_R_OTHER };

typedef struct tr_spec {
    tr_module *module; /* one reference */
    const tr_ty *ret;
    tr_argk *pats;         /* nargs: the values it was made for; for declared signatures all zero */
    const tr_ty **args;    /* nargs: type of each, where "none" stands for a constant */
    const tr_ty *want_ret; /* the declared return type, or NULL */
    uint32_t nargs, nret;
    PyObject *types; /* tuple of Type: the row of .signatures */
    PyObject *keep;  /* list of what the code refers to: frozen arrays, functions, classes */
    bool declared, from_cache;
    uint64_t ns[TR_STAGE__COUNT], total_ns;
} tr_spec;

typedef struct tr_varg {
    uint32_t key;
    uint8_t op;    /* TR_U_* */
    uint8_t shift; /* ARRAY of layout any: log2 of the item size; INT_NARROW: bits; SCALAR: bytes */
    uint8_t ndim;
    uint8_t any;           /* ARRAY: strides are passed; INT_NARROW: unsigned */
    PyTypeObject *cls;     /* SCALAR: the class; borrowed from the state */
    const tr_ty *ty;       /* what it becomes */
    tr_argk *deep;         /* kinds that the key does not settle; owned */
    struct tr_varg *items; /* TUPLE: n; owned */
    uint32_t n;
} tr_varg;

typedef struct tr_variant {
    tr_entry_fn entry;
    tr_spec *spec;
    uint32_t nargs, nslots, nret;
    uint8_t ret; /* TR_R_* */
    tr_varg arg[];
} tr_variant;

typedef struct tr_varlist {
    struct tr_varlist *retired; /* next older one */
    uint32_t n;
    tr_variant *v[];
} tr_varlist;

typedef struct tr_function {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    tr_state *st;
    _Atomic(tr_varlist *) list; /* NULL: nothing compiled */
    _Atomic uint32_t last;      /* index in the list of the variant that fitted last: tried first */
    int32_t nplain;             /* arguments of a plain call; -1: none is plain (*args) */
    bool nogil, sealed, cache;
    uint8_t varargs;                  /* 1: the last parameter is *args */
    uint32_t nparams, npos, nposonly; /* all parameters, *args included; positional ones */
    _Atomic uint32_t active;          /* calls and compiles in progress */
    tr_opts opts;
    PyObject *py_func;
    PyObject *names;     /* tuple of str, interned: parameters but *args */
    PyObject **defaults; /* per name, strong, NULL = required */
    PyObject *options;   /* dict as the user gave them; for pickling and .options */
    PyObject *dict, *weakrefs;
    const char *text; /* __qualname__ in UTF-8, for messages; owned by `qualname` */
    PyObject *qualname;
    PyObject
        *waiting; /* list of Signatures, declared, that use names nobody has bound yet, in order; or NULL */
    tr_spec **specs;
    uint32_t nspecs;
    tr_spec **dead; /* replaced by recompile(), not yet freed */
    uint32_t ndead;
    uint64_t ncompiled, nloaded;
} tr_function;

/* A locked instruction would cost as much as the rest of the bookkeeping; under the GIL plain loads and
 * stores do. */
static inline void tr_function_active(tr_function *f, int by) {
#ifdef Py_GIL_DISABLED
    atomic_fetch_add_explicit(&f->active, (uint32_t)by, memory_order_relaxed);
#else
    atomic_store_explicit(&f->active, atomic_load_explicit(&f->active, memory_order_relaxed) + (uint32_t)by,
                          memory_order_relaxed);
#endif
}

bool tr_function_add(PyObject *module);
/* py_func of a Function, or NULL when `o` is none; borrowed. */
PyObject *tr_function_unwrap(tr_state *st, PyObject *o);
/* Declared types of its variables: a dict, borrowed, or NULL. */
PyObject *tr_function_locals(const tr_function *f);
/* Name of parameter i, for messages. */
const char *tr_function_param(const tr_function *f, uint32_t i);

/* --- bind.c --- */

/* Arguments in the order of parameters, defaults filled in, *args packed into a tuple. */
typedef struct tr_bound {
    PyObject *stack[TR_STACK_ARGS];
    PyObject **v;   /* nparams; borrowed but for the *args tuple */
    PyObject *star; /* strong, or NULL */
} tr_bound;
bool tr_bind(tr_function *f, PyObject *const *args, Py_ssize_t n, PyObject *kwnames, tr_bound *b);
void tr_bound_clear(tr_bound *b);
/* Fills names, defaults, counts from py_func. */
bool tr_bind_init(tr_function *f);

/* --- call.c --- */

PyObject *tr_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames);

/* --- spec.c --- */

/* Finds or makes the variant for these arguments; borrowed. NULL with an exception. */
const tr_variant *tr_spec_for(tr_function *f, PyObject *const *args);
/* Compiles for a declared signature and publishes. `may_wait`: where that needs a name that is not bound yet, as the own one of a
 * function in another is while its decorator runs, it is put off until tr_spec_settle; so are those that follow, which keeps
 * their order. */
bool tr_spec_declare(tr_function *f, PyObject *sig, bool may_wait);
/* Compiles what was put off. Before anyone asks which specialisations there are. */
bool tr_spec_settle(tr_function *f);
/* Text of a stage for the types of `s`: TR_STAGE_INFER, OPT, LLVM, LLVMOPT, ASM. New reference to str. */
PyObject *tr_spec_text(tr_function *f, const tr_spec *s, tr_stage stage);
/* List of (line, name, type) of the function's variables for the types of `s`. */
PyObject *tr_spec_variables(tr_function *f, const tr_spec *s);
/* Compiles every specialisation anew, from the function's globals as they are now; the old code stays if
 * one fails. */
bool tr_spec_recompile(tr_function *f);
void tr_spec_free_all(tr_function *f); /* at the end of the function */
void tr_spec_sweep(tr_function *f);    /* frees what was replaced, if no call is in progress */
int tr_spec_visit(const tr_spec *s, visitproc visit, void *arg);

#endif
