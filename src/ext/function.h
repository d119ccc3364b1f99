/* class Function: a Python function and its specialisations.
 *
 * A spec is compiled code for one tuple of argument types. A variant says when it applies and how
 * arguments get into slots: one for the exact types, more where a declared signature converts. Variants
 * are matched in order; the list is immutable and published with release, so a call reads it without a
 * lock. Lists, variants and specs that were replaced live until no call can see them (`active`).
 *
 * Specs of values that are constants (functions, strings ...) come and go: there are at most TR_VALUE_SPECS
 * of them, and when a function or class that one was made for dies, it goes too; nothing here keeps those
 * alive. */
#ifndef TR_EXT_FUNCTION_H
#define TR_EXT_FUNCTION_H

#include "dev/dev.h"
#include "ext/check.h"
#include "ext/compat.h"
#include "ext/freeze.h"
#include "ext/value.h"

enum { TR_STACK_SLOTS = 48, TR_STACK_ARGS = 24, TR_VALUE_SPECS = 128 };

/* What a device has loaded of a kernel; the module holds it. With it, whom a failure tells of: the function
 * lives as long, as all who have its modules have it. */
typedef struct tr_devcode {
    tr_dev *d;
    tr_dev_code *code;
    struct tr_function *f;
    tr_module *module;
} tr_devcode;

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
    TR_U_STRING,
    TR_U_TUPLE, /* item by item */
    TR_U_LIST,
    TR_U_OTHER
};
/* How a result is boxed. */
enum { TR_R_NONE, TR_R_FLOAT, TR_R_INT, TR_R_BOOL, TR_R_OTHER };

typedef struct tr_spec {
    tr_module *module; /* one reference */
    tr_module *large;  /* compiled anew for arrays larger than the caches: one reference, or NULL */
    bool grown;        /* that was tried */
    const tr_ty *ret;
    tr_argk *pats;      /* nargs: the values it was made for; for declared signatures all zero */
    const tr_ty **args; /* nargs: type of each, where "none" stands for a constant */
    /* nargs: what the code takes where a list is in that, of what the function puts into it besides, else
     * NULL. NULL: no argument has lists */
    const tr_ty **takes;
    const tr_ty *want_ret; /* the declared return type, or NULL */
    uint32_t nargs, nret;
    PyObject *types; /* tuple of Type: the row of .signatures; NULL where it holds constants: tr_spec_types */
    /* when, by the function's clock, calls went over to it or from it: least is the one not
     * used for longest */
    _Atomic uint64_t used;
    PyObject *keep;   /* list of what the code refers to: frozen arrays, functions, classes */
    PyObject *hands;  /* list: functions of the result, by their number (hands.h); NULL: it has none */
    PyObject *placed; /* list of ndarrays of the device's that it uses where they lie; NULL: none */
    bool declared, from_cache;
    bool lets_go; /* of the GIL, which threads of the pool may need */
    bool gone;    /* a constant of it is; set when specs are dropped */
    uint64_t ns[TR_STAGE__COUNT], total_ns;
} tr_spec;

typedef struct tr_varg {
    uint32_t key;
    uint8_t op;    /* TR_U_* */
    uint8_t shift; /* ARRAY of layout any: log2 of the item size; INT_NARROW: bits; SCALAR: bytes */
    uint8_t ndim;
    uint8_t any;           /* ARRAY: strides are passed; INT_NARROW: unsigned */
    PyTypeObject *cls;     /* SCALAR: the class; borrowed from the state */
    char writes;           /* of lists in it: tr_meta.writes */
    const tr_ty *ty;       /* what it becomes */
    tr_argk *deep;         /* kinds that the key does not settle; owned */
    struct tr_varg *items; /* TUPLE: n; owned */
    uint32_t n;
} tr_varg;

typedef struct tr_variant {
    struct tr_variant *dead; /* the next one that is in no list any more */
    tr_entry_fn entry;
    const tr_meta *meta;    /* of the code that the entry is of */
    bool lets_go;           /* calls let go of the GIL */
    bool plain;             /* its slots are few, and none is of a list */
    bool moved;             /* another variant has its arguments */
    const tr_devcode *code; /* in its place: what a device has loaded */
    tr_spec *spec;
    uint32_t nargs, nslots, nret;
    uint8_t ret; /* TR_R_* */
    tr_varg arg[];
} tr_variant;

typedef struct tr_varlist {
    struct tr_varlist *retired; /* once it is replaced: the next such */
    uint32_t n;
    tr_variant *v[];
} tr_varlist;

typedef struct tr_function {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    tr_state *st;
    _Atomic(tr_varlist *) list; /* NULL: nothing compiled */
    _Atomic uint32_t last;      /* index in the list of the variant that fitted last: tried first */
    int32_t nplain;             /* arguments of a plain call; -1: none is plain (*args, **kwargs) */
    bool nogil, cache;
    uint8_t varargs, varkw;           /* 1: after those with names comes *args, and **kwargs last */
    uint32_t nparams, npos, nposonly; /* all parameters, these two included; positional ones */
    _Atomic uint32_t active;          /* calls and compiles in progress */
    tr_opts opts;
    char *target; /* of a kernel of a device's own (tr_request.device); NULL: it is called, and runs here */
    tr_device_opts device; /* with it */
    PyObject *py_func;
    struct tr_plan *plan; /* of a graph: what is compiled in place of py_func (lazy.h); or NULL */
    PyObject *names;      /* tuple of str, interned: parameters but *args and **kwargs */
    PyObject **defaults;  /* per name, strong, NULL = required */
    PyObject *options;    /* dict as the user gave them; for pickling and .options */
    PyObject *dict, *weakrefs;
    const char *text; /* __qualname__ in UTF-8, for messages; owned by `qualname` */
    PyObject *qualname;
    PyObject
        *waiting; /* list of Signatures, declared, that use names nobody has bound yet, in order; or NULL */
    tr_spec **specs;
    uint32_t nspecs;
    tr_spec **dead; /* dropped or replaced, not yet freed; with them: */
    uint32_t ndead;
    tr_varlist *old_lists;
    tr_variant *old_variants;
    _Atomic bool unswept;   /* there is something of these */
    _Atomic uint64_t clock; /* see tr_spec.used */
    PyObject *died;         /* what weak references to constants call; NULL: there were none */
    uint64_t ncompiled, nloaded;
    /* nsigs rows of nparams + 1: declared argument types, the result's or NULL; compiled or about to be.
     * closed: there are no others, although `sealed` may not say so yet. */
    const tr_ty **sigs;
    uint32_t nsigs;
    _Atomic bool sealed, closed;
    bool keyed; /* strings are constants of its specialisations */
} tr_function;

/* A locked instruction would cost as much as the rest of the bookkeeping; under the GIL plain loads and
 * stores do. */
static inline void tr_function_active(tr_function *f, int by) {
    assert((by > 0 || f->active > 0) && "who leaves a function has entered it");
#ifdef Py_GIL_DISABLED
    atomic_fetch_add(&f->active, (uint32_t)by); /* before the list is read, as tr_spec_sweep counts on */
#else
    atomic_store_explicit(&f->active, atomic_load_explicit(&f->active, memory_order_relaxed) + (uint32_t)by,
                          memory_order_relaxed);
#endif
}

bool tr_function_add(PyObject *module);
/* A callable for weak references: when one's referent dies, f drops what was made for it. New reference. */
PyObject *tr_function_undertaker(tr_function *f);
/* py_func of a Function, or NULL when `o` is none; borrowed. */
PyObject *tr_function_unwrap(tr_state *st, PyObject *o);
/* Sets a field of tr_opts or, where there are such, of a device's options by its name.
 * False: there is none of that name. */
bool tr_function_flag(const char *name, long v, tr_opts *o, tr_device_opts *d);
/* What it says of itself to compiled callers; signatures in the arena. In the gate. */
void tr_function_wishes(tr_function *f, tr_arena *a, tr_wishes *out);
/* Name of parameter i, for messages. */
const char *tr_function_param(const tr_function *f, uint32_t i);

/* --- ptx.c --- */

/* _device(signature, target, stage, kernel, flags): (text, result's type, parameters). */
PyObject *tr_function_device(PyObject *self, PyObject *args);

/* --- bind.c --- */

/* Arguments in the order of parameters, defaults filled in, *args packed into a tuple. */
typedef struct tr_bound {
    PyObject *stack[TR_STACK_ARGS];
    PyObject **v;           /* nparams; borrowed but for these: */
    PyObject *star, *named; /* strong, or NULL: the tuple *args; of **kwargs the names, and the values */
} tr_bound;
bool tr_bind(tr_function *f, PyObject *const *args, Py_ssize_t n, PyObject *kwnames, tr_bound *b);
void tr_bound_clear(tr_bound *b);
/* Fills names, defaults, counts from py_func. */
bool tr_bind_init(tr_function *f);

/* --- call.c --- */

PyObject *tr_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames);

/* --- spec.c --- */

/* Finds or makes the variant for these arguments. False with an exception. */
bool tr_spec_for(tr_function *f, PyObject *const *args);
/* What the function would return for such arguments: nothing is compiled. `n`: items of a tuple; dtype: a
 * tr_tyk of an array's items, or of a number. False with an exception. */
typedef struct tr_kindof {
    bool array, tuple, known;
    uint8_t dtype, ndim;
    uint32_t n;
} tr_kindof;
bool tr_spec_result(tr_function *f, const tr_argk *pats, tr_kindof *out);
/* Notes a signature before it is compiled: what is compiled until then may call the function. */
bool tr_spec_announce(tr_function *f, PyObject *sig);
/* Compiles for a declared signature and publishes. `may_wait`: where that needs a name that is not bound yet,
 * as the own one of a function in another is while its decorator runs, it is put off until tr_spec_settle; so
 * are those that follow, which keeps their order. */
bool tr_spec_declare(tr_function *f, PyObject *sig, bool may_wait);
/* Compiles what was put off. Before anyone asks which specialisations there are. */
bool tr_spec_settle(tr_function *f);
/* Text of a stage for the types of `s`, of a roll: TR_STAGE_INFER, OPT, LLVM, LLVMOPT, ASM. New reference to
 * str. */
PyObject *tr_spec_text(tr_function *f, const tr_spec *s, tr_stage stage);
/* List of (line, name, type) of the function's variables for the types of `s`. */
PyObject *tr_spec_variables(tr_function *f, const tr_spec *s);
/* Compiles every specialisation anew, from the function's globals as they are now; the old code stays if
 * one fails. */
bool tr_spec_recompile(tr_function *f);
/* It was made for values that are part of its types. */
bool tr_spec_has_const(const tr_spec *s);
void tr_spec_free_all(tr_function *f); /* at the end of the function */
void tr_spec_sweep(tr_function *f);    /* frees what was replaced, if no call is in progress */
void tr_spec_bury(tr_function *f);     /* drops the specs of constants that are gone */
/* The variant's call has made an array larger than the caches: calls go over to code for such, if there is
 * any and it can be compiled. False with an exception: a warning was one. */
bool tr_spec_grow(tr_function *f, const tr_variant *v);
/* Calls go over from one variant of the list to another. */
void tr_spec_switch(tr_function *f, const tr_varlist *l, uint32_t from, uint32_t to);
/* The specs as they are when it is taken, whatever comes and goes while they are looked at: what they were
 * made for lives, and nothing of the function is freed, until tr_spec_unroll. That must follow even where
 * tr_spec_roll fails. */
typedef struct tr_roll {
    tr_spec **d;
    uint32_t n;
    PyObject *hold; /* list */
} tr_roll;
bool tr_spec_roll(tr_function *f, tr_roll *r);
void tr_spec_unroll(tr_function *f, tr_roll *r);
/* The row of .signatures: new reference. */
PyObject *tr_spec_types(tr_function *f, const tr_spec *s);
/* Between the two, nothing that f's lists hold or held is freed. */
static inline void tr_function_enter(tr_function *f) {
    tr_function_active(f, 1);
}
static inline void tr_function_leave(tr_function *f) {
    tr_function_active(f, -1);
    if (__builtin_expect(atomic_load_explicit(&f->unswept, memory_order_relaxed), 0))
        tr_spec_sweep(f);
}
/* The same for whoever looks through the specs or changes them: one thread at a time. */
static inline void tr_function_hold(tr_function *f, tr_py_section *s) {
    tr_py_section_begin(s, f->st->gate);
    tr_function_enter(f);
}
static inline void tr_function_release(tr_function *f, tr_py_section *s) {
    tr_function_leave(f);
    tr_py_section_end(s);
}
int tr_spec_visit(const tr_spec *s, visitproc visit, void *arg);

#endif
