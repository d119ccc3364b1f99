/* The snapshot: everything that a function's bytecode can reach, as plain data, taken under the GIL.
 *
 * After it no stage needs the interpreter. Globals are read from the function's dict, then its builtins;
 * closure cells, defaults and constants too; attributes of modules as far as the code's chains of names go;
 * functions that are reached are frozen in turn, each once. What Treadle has no meaning for becomes an opaque
 * object with a short description, so nothing fails here but for lack of memory. What another thread may
 * rebind meanwhile (globals, cells, defaults, attributes of classes) is looked up as a reference of our own,
 * which goes to `keep`. All of it happens in the gate (ext/state.h). Use: tr_freeze_init, then tr_freeze and
 * tr_freeze_value in any order, then tr_freeze_fini (also after failure). Arena memory may run out in the two
 * in the middle: the context's owner sets the jump. */
#ifndef TR_EXT_FREEZE_H
#define TR_EXT_FREEZE_H

#include <stdatomic.h>

#include "ext/py.h"

#include "code/code.h"
#include "ir/prog.h"

/* Attribute of a function that may not be compiled: of a plain one, a text that says what it is; of a
 * Function with declared signatures, the exception for calls that no signature fits
 * (python/treadle/_numba.py). The module has the name as _REASON. */
#define TR_REASON_ATTR "__treadle_refused__"

/* Which Python object is which row of builtins.def: made at the first snapshot, whole before anyone sees it,
 * kept in the module's state. Modules that are not imported for this alone have maps of their own, made when
 * one is asked for that somebody has imported. */
typedef struct tr_builtin_map {
    PyObject **keys; /* strong; open addressing by address */
    uint32_t *rows, cap, n;
    PyObject *names,
        *find, /* of treadle/_library: names of functions that may stand there, and what looks one up */
        *methods, *method; /* the same of methods */
} tr_builtin_map;
enum { TR_BUILTIN_MAPS = 5 };
typedef struct tr_builtin_maps {
    _Atomic(tr_builtin_map *)
        of[TR_BUILTIN_MAPS]; /* NULL: there is none yet. [0] is that of all other rows */
} tr_builtin_maps;
/* Imports what the rows name, when this module is: amid a compile, an import can lose a Ctrl-C, as Python
 * runs callbacks of weak references in it and drops what they raise. false with an exception. */
bool tr_builtin_map_import(void);
bool tr_builtin_map_need(tr_builtin_maps *maps); /* false with a Python exception */
bool tr_builtin_map_find(tr_builtin_maps *maps, PyObject *o, uint32_t *row);
/* What treadle/_library has in place of `o`, whose name is given unless it stands there itself: a tuple of
 * the function, of bytes, which of its parameters stay constants, and whether it is subscripted. A new
 * reference; NULL: nothing, or with an exception. Runs Python. */
PyObject *tr_builtin_map_library(tr_builtin_maps *maps, PyObject *o, PyObject *name);
/* What treadle/_library has as a method of this name: a tuple of the class's name and the function. A new
 * reference; NULL: nothing, or with an exception. Runs Python. */
PyObject *tr_builtin_map_method(tr_builtin_maps *maps, PyObject *name);
void tr_builtin_map_clear(tr_builtin_maps *maps);
int tr_builtin_map_visit(const tr_builtin_maps *maps, visitproc visit, void *arg);

/* What an object says of itself that may not be compiled: its own attribute TR_REASON_ATTR, as a new
 * reference. NULL without an exception: nothing. No user code runs. */
PyObject *tr_freeze_reason(PyObject *o);

/* What a function says of itself wherever it is called from: tr_contract's fields, and more. */
typedef struct tr_wishes {
    tr_opts opts;
    bool sealed;
    const char *refused;
    uint32_t nsigs, nargs;
    const tr_ty *const *sigs;          /* in the arena */
    PyObject *links;                   /* tuple of what is to be linked, borrowed; or NULL */
    PyObject *locals;                  /* dict of declared types by variable, borrowed; or NULL */
    bool library, subscripted, arrays; /* as in tr_contract */
    const uint8_t *constants;          /* in the arena */
} tr_wishes;

/* What the snapshot asks the rest of the extension; one per module state. The callbacks may be NULL; only
 * those that say so leave an exception set. */
typedef struct tr_freeze_host {
    /* py_func of one of our own functions (borrowed) and its wishes, in the arena; NULL: it is none. */
    PyObject *(*unwrap)(void *user, tr_arena *a, PyObject *o, tr_wishes *out);
    /* What a ufunc of ours says of the function it was made of (*fn, borrowed) and its wishes, in the arena;
     * NULL: it is none. */
    const tr_ufn *(*ufunc)(void *user, tr_arena *a, PyObject *o, PyObject **fn, tr_wishes *out);
    /* Type that one of our own type objects stands for; NULL: it is none. */
    const tr_ty *(*as_type)(void *user, PyObject *o);
    /* Number of a named tuple's class among those of its name; false with an exception. */
    bool (*serial)(void *user, PyObject *cls, uint32_t *out);
    /* Makes the state the host of a table of loops. */
    void (*loops)(void *user, tr_cloops *t);
    /* The ndarray of an array that lies on a device, a new reference; NULL: it is none, or with an exception.
     * For arrays of other libraries it runs Python. */
    PyObject *(*placed)(void *user, PyObject *o);
    /* The type of a np.random.Generator, and its parts; NULL: it is none that compiled code can draw from. */
    const tr_ty *(*generator)(void *user, tr_tytab *types, PyObject *o, int64_t parts[2]);
    /* What has the items of a list, a dict or a set in blocks that code can read, the container's type and
     * these; a new reference. NULL: there is none, or with an exception. */
    PyObject *(*container)(void *user, PyObject *o, const tr_ty **ty, int64_t words[2]);
    void *user;
    tr_builtin_maps builtins; /* tr_builtin_map_clear and _visit in the module's own */
} tr_freeze_host;

/* A ufunc of others as plain data (freeze_loops.c), in the arena, and the table of its loops as an
 * array of int64, a new reference. NULL: with an exception, or `why` compiled code cannot call it.
 * Ours are no such: ask `ufunc` first. */
const tr_ufn *tr_freeze_loops(tr_arena *a, tr_tytab *types, PyObject *ufunc, PyObject **table,
                              const char **why);

/* A function that cuda.declare_device made, as plain data, in the arena; NULL: it is none, or with an
 * exception. */
struct tr_frozen;
tr_extern *tr_freeze_extern(struct tr_frozen *z, PyObject *o);
/* Something is to be linked to the program, a tuple of things. False with an exception. */
bool tr_freeze_add_links(struct tr_frozen *z, PyObject *links);
/* When all is frozen: makes of what is to be linked what a back end takes, for that device or the host
 * (NULL), and finds addresses of functions. Runs Python. False with an exception. */
bool tr_freeze_links(struct tr_frozen *z, const char *device);

struct tr_fscope;

/* A snapshot being taken, and what is left of it beside the program. */
typedef struct tr_frozen {
    PyObject *links; /* list: what functions and declarations of the program say is to be linked; or NULL */
    PyObject *keep;  /* list: what the program refers to; code lives no longer than the arrays in it */
    PyObject *deps;  /* list: what was read where, for tr_freeze_current */
    const tr_binding *bind; /* data of the frozen arrays, and exceptions of the program's own; in the arena */
    size_t nbind;
    const char *why; /* set when tr_freeze_hash fails */
    tr_ctx *ctx;
    tr_prog *prog;
    tr_freeze_host *host;
    tr_map known;                   /* PyObject * -> tr_obj * */
    TR_VEC(PyObject *) exc_classes; /* of prog->excs; `keep` holds them */
    TR_VEC(tr_cloops *) loops;      /* of ufuncs of others; `keep` holds them */
    TR_VEC(struct tr_fscope) scopes;
    uint32_t done, depth;
    PyObject *reading;   /* the name of what is frozen, borrowed; NULL: it has none */
    PyObject *placed;    /* list: ndarrays of the device's that the program has as globals; or NULL */
    bool draws;          /* it has a np.random.Generator, of which there is one for all threads */
    bool failed;         /* by a Python exception: */
    PyObject *raised[3]; /* its class, value and traceback */
} tr_frozen;

/* The code object of a function of the program, and the names that it sees; borrowed. */
PyObject *tr_freeze_code(const tr_frozen *z, uint32_t func, PyObject **globals);
bool tr_freeze_init(tr_frozen *z, tr_ctx *ctx, tr_prog *prog, tr_freeze_host *host);
/* Freezes a function (plain, or one that `unwrap` knows) and all it reaches; it becomes the program's
 * root. */
bool tr_freeze(tr_frozen *z, PyObject *fn);
/* Freezes one value: a constant argument, say. NULL with a Python exception. */
const tr_obj *tr_freeze_value(tr_frozen *z, PyObject *o);
/* What the root does becomes a plan's graph (ext/lazy.h). After tr_freeze. False with an exception. */
struct tr_plan;
bool tr_freeze_plan(tr_frozen *z, const struct tr_plan *plan);
void tr_freeze_fini(tr_frozen *z);

/* Everything that was read still has the value it had: 1 yes, 0 no, -1 exception. */
int tr_freeze_current(PyObject *deps);

/* Adds all that determines the code of the program: bytecode, constants, globals by value, functions reached,
 * places. False and z->why when the program cannot be recognised by content (it freezes an array larger than
 * 1 MiB). */
bool tr_freeze_hash(tr_frozen *z, tr_hasher *h);
/* The same of a ufunc of others, which an argument was. */
void tr_freeze_hash_ufunc(tr_frozen *z, tr_hasher *h, const tr_obj *o);

#endif
