/* Ufuncs: real numpy.ufunc objects whose inner loops are compiled code.
 *
 * A record (class Ufunc of the extension, never seen by users) hangs on the ufunc's `obj` field, which NumPy keeps alive and visits; it is the side
 * table that a class without subclasses needs. A loop is compiled code for one tuple of input types; NumPy's type numbers name them, so that loops
 * are what NumPy's own dispatch looks for. Two numbers mean more than they say: NPY_HALF is computed in float32, and NPY_LONGLONG, which no array
 * has unless asked for by that name, stands for a Python integer: weak in inference, as NEP 50 wants.
 *
 * For given input types there is one loop and so one result type, whatever was called before; a lazy gufunc that is given an output array has one
 * for its type.
 * Loops are only ever added, under the GIL, and NumPy looks for them without it; they die with the ufunc. */
#ifndef TR_EXT_UFUNC_H
#define TR_EXT_UFUNC_H

#include "ext/function.h"

struct tr_ufunc;

/* A loop over operands of which some repeat one item. */
typedef struct tr_uvariant {
    struct tr_uvariant *next;
    uint32_t once; /* which, a bit each */
    tr_entry_fn entry;
    tr_module *module;
    PyObject *keep;
} tr_uvariant;

typedef struct tr_uloop {
    struct tr_ufunc *uf; /* borrowed: the owner */
    tr_module *module, *chain_module;
    tr_entry_fn entry;
    _Atomic(tr_entry_fn) chain;         /* reduce and accumulate: compiled when first needed */
    _Atomic(tr_uvariant *) variants;    /* maps: compiled when they pay */
    _Atomic uint64_t repeated;          /* items that came without one */
    PyObject *keep, *chain_keep;        /* lists of what the code refers to */
    const tr_ty *ret, *want_ret;        /* as inferred; as declared or NULL */
    const tr_ty *args[TR_MAX_OPERANDS]; /* of the user's function */
    uint8_t num[TR_MAX_OPERANDS];       /* NumPy's type numbers, inputs first */
    uint8_t size[TR_MAX_OPERANDS];      /* bytes of an item as stored */
    uint8_t odd[TR_MAX_OPERANDS];       /* bits of an address that only items out of alignment have */
    uint32_t half;                      /* bit i: operand i is stored as float16 */
    _Atomic uint32_t calls;             /* short ones of a parallel ufunc */
    _Atomic float item_ns;              /* what an item takes, as far as is known; 0: it is not */
    uint64_t ns;                        /* what compiling took */
    bool from_cache;
    bool told; /* it is in NumPy's table */
} tr_uloop;

/* Which loop serves arguments of these codes: a type number, or 'i' 'f' 'c' with the top bit for a Python number. */
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
    bool told_outputs;              /* NumPy knows loops that were chosen by the types of outputs too */
    uint8_t ncore[TR_MAX_OPERANDS]; /* core: axes of each operand */
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
/* The loop for input types, compiled when the ufunc is lazy. With tr_ufunc_by_outputs the types of outputs follow in `num`, TR_UNUM_NONE for one
 * that is not given. NULL with an exception; NULL without one: none is declared. */
tr_uloop *tr_ufunc_loop(tr_ufunc *uf, const uint8_t *num);
/* Compiles the declared loops that were put off. Before anyone looks at `loops`. */
bool tr_ufunc_settle(tr_ufunc *uf);
/* An array of so many bytes, all zero, that lives as long as the ufunc. NULL with an exception. */
void *tr_ufunc_room_for(tr_ufunc *uf, size_t bytes);
/* What compiled code must know to call it. */
const tr_ufn *tr_ufunc_describe(const tr_ufunc *uf, tr_arena *a);
/* Compiles l->chain. Takes the GIL. */
bool tr_uloop_need_chain(tr_uloop *l);
/* Compiles a variant. Takes the GIL; there is none where compiling fails. False where it was interrupted, with the handler's exception set. */
bool tr_uloop_add_variant(tr_uloop *l, uint32_t once);

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
/* `kinds` of all operands, TR_UNUM_NONE for outputs that are not given. `want`: types that the caller asked for by name (dtype=, signature=), nop
 * of them. NULL with an exception. */
tr_uloop *tr_ufunc_pick(tr_ufunc *uf, const tr_ukind *kinds, const uint8_t *want);
/* Gives the ufunc its way of finding loops: a promoter, or before NumPy 2 a type resolver. */
bool tr_ufunc_attach(tr_ufunc *uf);
bool tr_ufunc_has_promoters(void);
/* Tells NumPy of a new loop. */
bool tr_ufunc_publish(tr_ufunc *uf, tr_uloop *l);
uint8_t tr_ufunc_npy_of(tr_tyk k);

/* --- ufunc_loop.c: running a loop --- */

/* A look at the stack before it is used, by NumPy's code above all, which takes none itself. `bytes` is what was seen to be used, and some more.
 * With or without the GIL; false with RecursionError set. */
enum { TR_ROOM_CALL = 12 << 10, TR_ROOM_CORE = 20 << 10, TR_ROOM_LOOP = 8 << 10 };
bool tr_ufunc_room(const tr_ufunc *uf, size_t bytes);

/* n items of each operand from args[k] in steps of steps[k] bytes; core: dims and steps as NumPy passes them. With or without the GIL. False
 * with an exception set. The caller has looked for TR_ROOM_LOOP; who looked for TR_ROOM_CALL has. */
bool tr_uloop_run(tr_uloop *l, char *const *args, const npy_intp *dims, const npy_intp *steps);

/* Room for the operands of a map that compiled code cannot take as they lie, a stretch at a time. All 0 at first; one after the other, many rows
 * may use it: what repeats is in it already. The room is not on the stack, which may be a short one. */
typedef struct tr_ubuffers {
    uint32_t set; /* operands with a buffer, a bit each */
    npy_intp len; /* of a stretch */
    char *room;   /* NULL: none was needed yet */
    size_t nroom;
    char *at[TR_MAX_OPERANDS];
    const char *repeated[TR_MAX_OPERANDS]; /* whose item the buffer is full of; NULL: none */
} tr_ubuffers;
static inline void tr_ubuffers_init(tr_ubuffers *b) {
    b->set = 0;
    b->room = NULL;
    b->nroom = 0;
}
static inline void tr_ubuffers_fini(tr_ubuffers *b) {
    if (b->room)
        PyMem_RawFree(b->room);
}
/* ufunc_python.c: the same, of Python code, by this thread alone. TR_CODE_HOST with an exception. */
int32_t tr_uloop_python(const tr_uloop *l, char *const *args, const npy_intp *dims, const npy_intp *steps);
/* Does it run on all cores? */
static inline bool tr_ufunc_spreads(const tr_ufunc *uf) {
    return uf->parallel && !uf->python;
}
/* For a host's thread before it runs so many items: compiles the variant for these steps if by now it would have paid. False as
 * above. */
bool tr_uloop_expect(tr_uloop *l, npy_intp items, const npy_intp *steps);
/* No core: n items in a frame of the caller's, by this thread alone; the code that compiled code returned. Then tr_uloop_end, once, which raises. */
int32_t tr_uloop_row(tr_uloop *l, tr_frame *frame, char *const *args, npy_intp n, const npy_intp *steps,
                     tr_ubuffers *b);
bool tr_uloop_end(const tr_uloop *l, int32_t code, tr_frame *frame);
/* fn over the first rows, as many as it takes to see what an item takes. */
int32_t tr_uloop_trial(tr_uloop *l, tr_frame *frame, tr_par_fn *fn, void *ctx, npy_intp rows,
                       npy_intp per_row, npy_intp *done);
/* For `items` rows of `per_row` items: how many rows a thread should take at once; 0: they are not worth several threads. */
npy_intp tr_uloop_grain(const tr_uloop *l, npy_intp items, npy_intp per_row);

/* --- ufunc_call.c --- */

/* Calls on plain arrays and scalars, without NumPy's machinery; all else goes there. */
PyObject *tr_ufunc_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames);

#endif
