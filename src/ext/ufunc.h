/* Ufuncs: real numpy.ufunc objects whose inner loops are compiled code.
 *
 * A record (class Ufunc of the extension, never seen by users) hangs on the ufunc's `obj` field, which NumPy
 * keeps alive and visits; it is the side table that a class without subclasses needs. A loop is compiled code
 * for one tuple of input types; NumPy's type numbers name them, so that loops are what NumPy's own dispatch
 * looks for. Two numbers mean more than they say: NPY_HALF is computed in float32, and NPY_LONGLONG, which no
 * array has unless asked for by that name, stands for a Python integer: weak in inference, as NEP 50 wants.
 *
 * For given input types there is one loop and so one result type, whatever was called before; a lazy gufunc
 * that is given an output array has one for its type. Loops are only ever added, under the GIL and in the
 * gate, and NumPy looks for them without it; they die with the ufunc. */
#ifndef TR_EXT_UFUNC_H
#define TR_EXT_UFUNC_H

#include "exec/exec.h"
#include "ext/function.h"
#include "ty/pick.h"

struct tr_ufunc;

/* A variant (exec/exec.h) and what its code refers to. */
typedef struct tr_uvariant {
    tr_exec_variant v;
    tr_module *module;
    PyObject *keep;
} tr_uvariant;

typedef struct tr_uloop {
    tr_exec exec;        /* how it runs */
    struct tr_ufunc *uf; /* borrowed: the owner */
    tr_module *module, *chain_module;
    PyObject *keep, *chain_keep;        /* lists of what the code refers to */
    const tr_ty *ret, *want_ret;        /* as inferred; as declared or NULL */
    const tr_ty *args[TR_MAX_OPERANDS]; /* of the user's function */
    uint8_t num[TR_MAX_OPERANDS];       /* NumPy's type numbers, inputs first */
    uint64_t ns;                        /* what compiling took */
    bool from_cache;
    bool lets_go;     /* of the GIL: tr_job_lets_go */
    bool told;        /* it is in NumPy's table */
    bool shown;       /* NumPy has been given it in every way there is */
    uint32_t tellers; /* threads that are about to put it there */
} tr_uloop;

/* Which loop serves arguments of these codes: a type number, or 'i' 'f' 'c' with the top bit for a Python
 * number. */
typedef struct tr_uplan {
    struct tr_uplan *next;
    tr_uloop *loop;
    uint8_t code[TR_MAX_OPERANDS];
} tr_uplan;

typedef struct tr_ufunc {
    PyObject_HEAD
    tr_state *st;
    tr_function *fn;
    PyUFuncObject *u;     /* borrowed: it owns this */
    vectorcallfunc numpy; /* NumPy's own call; NULL: the slot was left alone */
    uint32_t nin, nout, nop;
    bool lazy, parallel, core;
    bool python;                    /* TREADLE_DISABLE_JIT: loops call the Python function */
    _Atomic bool told_outputs;      /* NumPy knows loops that were chosen by the types of outputs too */
    uint8_t ncore[TR_MAX_OPERANDS]; /* core: axes of each operand */
    tr_cores cores;                 /* core: the same and more, in what follows */
    uint8_t core_axis[TR_MAX_OPERANDS * TR_MAX_NDIM];
    int64_t core_size[TR_MAX_NDIM];
    PyObject *name, *doc, *signature, *identity;
    _Atomic(tr_uloop **) loops; /* has at least nloops rows whenever it is read after that */
    _Atomic uint32_t nloops;
    tr_uloop **waiting; /* declared ones that use names nobody has bound yet, in order: types alone */
    uint32_t nwaiting, nsettled; /* the first nsettled of them are among `loops` now */
    void **retired; /* arrays that NumPy or a thread without the GIL may read; freed at the end */
    uint32_t nretired;
    _Atomic(tr_uplan *) plans; /* the newest first; what a plan points to never changes */
} tr_ufunc;

/* --- ufunc.c --- */
bool tr_ufunc_add(PyObject *module);
/* The record of a ufunc of ours, or NULL. */
tr_ufunc *tr_ufunc_of(tr_state *st, PyObject *o);
/* A lazy gufunc's function is handed the arrays that results go to, so their types choose its loop too. */
static inline bool tr_ufunc_by_outputs(const tr_ufunc *uf) {
    return uf->lazy && uf->core;
}
/* The loop for input types, compiled when the ufunc is lazy. With tr_ufunc_by_outputs the types of outputs
 * follow in `num`, TR_UNUM_NONE for one that is not given. NULL with an exception; NULL without one: none is
 * declared. */
tr_uloop *tr_ufunc_loop(tr_ufunc *uf, const uint8_t *num);
/* Compiles the declared loops that were put off. Before anyone looks at `loops`. */
bool tr_ufunc_settle(tr_ufunc *uf);
/* An array of so many bytes, all zero, that lives as long as the ufunc. NULL with an exception. */
void *tr_ufunc_room_for(tr_ufunc *uf, size_t bytes);
/* What compiled code must know to call it. In the gate. */
const tr_ufn *tr_ufunc_describe(const tr_ufunc *uf, tr_arena *a);

/* --- ufunc_types.c: which loop --- */

/* What is known of an operand's type. */
enum {
    TR_UNUM_NONE = 254,
    TR_UNUM_OTHER = 255
}; /* no such operand or no wish; a type without compiled loops */
typedef struct tr_ukind {
    uint8_t num;
    char weak; /* 'i' 'f' 'c': a Python number; else 0 */
} tr_ukind;
/* `kinds` of all operands, TR_UNUM_NONE for outputs that are not given. `want`: types that the caller asked
 * for by name (dtype=, signature=), nop of them. NULL with an exception. */
tr_uloop *tr_ufunc_pick(tr_ufunc *uf, const tr_ukind *kinds, const uint8_t *want);
/* Gives the ufunc its way of finding loops: a promoter, or before NumPy 2 a type resolver. */
bool tr_ufunc_attach(tr_ufunc *uf);
bool tr_ufunc_has_promoters(void);
/* Tells NumPy of a new loop. */
bool tr_ufunc_publish(tr_ufunc *uf, tr_uloop *l);
uint8_t tr_ufunc_npy_of(tr_tyk k);
/* What a type number says of an operand; the common type of a loop's inputs (ty/pick.h). */
tr_operand tr_ufunc_operand(uint8_t num);
tr_operand tr_ufunc_common(const tr_ufunc *uf, const uint8_t *num);

/* --- ufunc_loop.c: running a loop --- */

/* A look at the stack before it is used, by NumPy's code above all, which takes none itself. `bytes` is what
 * was seen to be used, and some more. With or without the GIL; false with RecursionError set. */
enum { TR_ROOM_CALL = 12 << 10, TR_ROOM_CORE = 20 << 10, TR_ROOM_LOOP = 8 << 10 };
bool tr_ufunc_room(const tr_ufunc *uf, size_t bytes);

/* tr_exec_run of NumPy's: with or without the GIL. False with an exception set. The caller has looked for
 * TR_ROOM_LOOP; who looked for TR_ROOM_CALL has. */
bool tr_uloop_run(tr_uloop *l, char *const *args, const npy_intp *dims, const npy_intp *steps);
/* Ends a run of l in a frame, once: raises what `code` says. With or without the GIL. */
bool tr_uloop_end(const tr_uloop *l, int32_t code, tr_frame *frame);

/* ufunc_python.c: the inner loop of Python code; TR_CODE_HOST with an exception. */
int32_t tr_uloop_python(void *loop, tr_frame *frame, char *const *args, const int64_t *dims,
                        const int64_t *steps);

/* --- ufunc_call.c --- */

/* Calls on plain arrays and scalars, without NumPy's machinery; all else goes there. */
PyObject *tr_ufunc_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames);

#endif
