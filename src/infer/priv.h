/* Shared by the files of infer/ only. */
#ifndef TR_INFER_PRIV_H
#define TR_INFER_PRIV_H

#include "infer/infer.h"
#include "lib/em.h"

/* Where a value is used: in a block, as an argument of edge `side` of its end if that is not NO_SIDE. */
typedef struct use_at {
    tr_bid blk;
    uint32_t side;
} use_at;
enum { NO_SIDE = UINT32_MAX };

/* A branch at the end of `from` says on one of its sides whether v is None. */
typedef struct fact {
    tr_val v;
    tr_bid from;
    uint32_t side;
    bool none;
} fact;

/* What inference knows about one instance. The typed function is made in a second step,
 * once all types are stable. */
/* A block's end is reached; or not, as a call in it never returns, or it takes an item of a list into which
 * nothing is put. */
enum block_end { RUNS_ON, ENDS, TAKES_NOTHING };

typedef struct istate {
    uint32_t inst; /* index into prog->insts */
    tr_fn *src;
    const tr_ty **ty; /* per untyped value; NULL = nothing known yet (bottom) */
    uint8_t *bad;     /* per untyped value: its operation failed, or its inputs have no common type */
    uint8_t *live;    /* per untyped block */
    uint8_t *ends;    /* per untyped block: why its end is not reached (block_end) */
    const tr_ty *ret; /* estimate of the result type; NULL = no return seen yet */
    const tr_ty *declared;
    bool running, done, consulted, queued, launched;
    bool looked;                   /* for `facts` */
    bool as_it_is;                 /* its loops are not written out: it would be too long */
    const struct tr_decoded *code; /* what `src` was made of, if a loop is written out in it (unroll.c) */
    TR_VEC(fact) facts;
    uint32_t seen; /* value of infer.changes when last stable */
    /* while it runs: how many run around it; while it is open: the least level of those that it waits for */
    uint32_t level;
    uint32_t caller; /* for "called from" notes */
    tr_place call_place;
} istate;

/* An operation that was left out of the code: where, and which. Legal only where an error is
 * told, so it is one itself if none was. */
typedef struct tr_lost {
    const char *what; /* NULL: nothing was */
    tr_place place;
    bool waits; /* a function called there has no result */
} tr_lost;

/* A list's type while types are found, and the instance whose it is (cells.c). */
typedef struct tr_infer_cell {
    const tr_ty *ty;
    uint32_t inst;
} tr_infer_cell;

typedef struct infer {
    tr_prog *p;
    tr_ctx *ctx;
    TR_VEC(istate) st;      /* parallel to prog->insts */
    tr_map index;           /* hash of (func, args) -> first instance + 1 */
    TR_VEC(uint32_t) chain; /* next instance of the same hash + 1, parallel to st */
    TR_VEC(uint32_t) queue; /* instances to emit */
    uint32_t changes;       /* how often any return estimate grew */
    TR_VEC(uint32_t)
    open; /* instances that are stable as far as a running one, whose estimate they used, is */
    /* the least level of a running instance whose estimate was used, since the innermost one began */
    uint32_t lowest;
    uint32_t depth;
    uint32_t cur;  /* instance being worked on */
    uint32_t root; /* whose result is told to who asked; UINT32_MAX: none is yet */
    bool too_deep; /* said already */
    bool waits;    /* the step being worked on failed, but a function called in it has not returned yet */
    uint32_t deep; /* calls that the step being worked on is in */
    tr_val at;     /* of the instance's untyped values the one whose operation is being worked on */
    TR_VEC(tr_infer_cell) cells;
    tr_map displays; /* function and value of a display -> whether it is a list */
    tr_map changed;  /* function, value and place: those of lists that are changed or handed on */
    tr_map cells_of; /* hash of where it comes from -> its number */
    tr_lost lost;    /* the first thing that was left out because something failed, which somebody has told */
} infer;

enum { MAX_DEPTH = 256, MAX_INSTANCES = 4096 };

/* What is called: a function, with whose options, and the result that a signature declares
 * (NULL: it is inferred). */
typedef struct tr_callee {
    uint32_t func, opts;
    const tr_ty *ret;
} tr_callee;
/* Makes or finds the instance; UINT32_MAX with an error when it cannot exist. */
uint32_t tr_infer_instance(infer *f, tr_em *e, tr_callee c, uint32_t nargs, const tr_ty *const *args);
static inline const tr_opts *tr_infer_opts(const infer *f, uint32_t inst) {
    return tr_inst_opts(f->p, &f->p->insts.d[inst]);
}
/* Brings the instance's types to a fixed point (or as far as recursion allows). False: errors
 * were found while typing is impossible. */
bool tr_infer_types(infer *f, uint32_t inst);
/* A return is reachable; without an estimate of the result its value has failed, or waits
 * for the function itself. */
bool tr_infer_may_return(const istate *s);
bool tr_infer_returns_at(const istate *s, tr_bid b); /* it is that one */
/* An operation of it failed, so what it returns is not known although nothing may be seen to return. */
bool tr_infer_failed(const istate *s);
/* infer/results.c: the name of a variable without a value on any path, that v, of no known type, comes
 * from; NULL: it comes from elsewhere. */
const char *tr_infer_unassigned(const infer *f, const istate *s, tr_val v);
/* When all code is made and nothing has failed: functions whose result is not known all the same. */
void tr_infer_tell_unknown_results(infer *f);
/* To run templates with the options of that number; "f(array(float64, 1d, C), int64)" for messages. */
tr_em tr_infer_emitter(infer *f, bool dry, uint32_t opts);
/* Numbers in tuples that the function makes stay weak: a graph, or a function of the library. */
bool tr_infer_keeps_weak(const infer *f, uint32_t inst);
const char *tr_infer_instance_text(infer *f, uint32_t inst);
/* Emits the typed function. */
bool tr_infer_emit(infer *f, uint32_t inst);
/* Notes what is left out at `place`. */
void tr_infer_lose(infer *f, tr_place place, const char *what);

/* infer/optional.c: of a value that may be None, what the branches on the way to a use say;
 * the type that it has there. */
typedef enum noneness { NONE_OPEN, NONE_YES, NONE_NO } noneness;
noneness tr_infer_noneness(infer *f, istate *s, tr_val v, use_at at);
const tr_ty *tr_infer_type_at(infer *f, istate *s, tr_val v, use_at at);
/* The operands, with what optional ones among them hold where the operation needs values. */
const tr_tv *tr_infer_values(tr_em *e, const tr_fn *src, const tr_ins *in, const tr_tv *a);
/* May it be called with what may be None: the user's own functions, what asks whether it is None, one of
 * several that are asked each for itself. */
bool tr_infer_takes_none(const tr_ty *callee);

/* infer/unroll.c: gives s other SSA if the loop that asks `next` runs over items that have no common type. */
bool tr_infer_unroll(infer *f, istate *s, tr_em *e, const tr_ins *next, tr_tv it, tr_tv n);
/* False, with an error: x is what v, a call of literal_unroll, gave, and is not run over by a loop. */
bool tr_infer_settle_unroll(tr_em *e, const tr_fn *f, tr_val v, tr_tv callee, tr_tv x);

/* infer/cells.c: lists. The type of the list number `which` that the operation at hand makes (tr_em.list). */
const tr_ty *tr_infer_new_list(tr_em *e, uint32_t which);
/* The type with the instance's own cells for the lists in it: of a parameter, of what a call gives. What they
 * have flows in. */
const tr_ty *tr_infer_open_param(infer *f, uint32_t i, const tr_ty *t);
const tr_ty *tr_infer_open_result(infer *f, uint32_t func, const tr_ty *t);
/* What lists in the one type have flows into those at the same places of the other. */
void tr_infer_flow_lists(infer *f, const tr_ty *from, const tr_ty *to, int32_t line, bool numba);
/* Items of the instance's lists are guessed where nothing is known of them; whether there were such lists. */
bool tr_infer_guess_lists(infer *f, uint32_t inst);
/* Types are final: no cell is left in them. */
void tr_infer_close(infer *f, istate *s);
/* Items without a common type, of a list of the instance's, are told. */
bool tr_infer_tell_clashes(infer *f, tr_em *e, uint32_t inst);
/* Is the display a list, which somebody may change or be given? */
bool tr_infer_makes_list(infer *f, const tr_fn *src, tr_val v);
bool tr_infer_makes_dict(infer *f, const tr_fn *src,
                         tr_val v); /* the same of a display of names and values */

/* infer/step.c: one instruction, dry or real. `val` gives typed values of operands. */
bool tr_infer_step(tr_em *e, const tr_fn *src, tr_val v, const tr_tv *a, tr_tv *out);
/* The place of an untyped instruction. */
tr_place tr_infer_place(const tr_fn *src, const tr_ins *in);
/* `raise what from cause` while `context` is handled. No type: there is none. */
typedef struct tr_raising {
    tr_tv what, context, cause;
} tr_raising;
/* `raise A from B()`: the cause is caught as soon as it is made. */
bool tr_infer_makes_cause(const tr_raising *r);
/* Links, payload and site of a raise. */
bool tr_infer_raise(tr_em *e, const tr_raising *r);

/* infer/stars.c: so many arguments by position, of which some stand for as many as they have items; those by
 * keyword besides. rest: what is the callee's *args whole; made: what the call gives, where that is known. */
bool tr_infer_star(tr_em *e, tr_tv callee, const tr_callinfo *ci, const tr_tv *kw, uint32_t nparts,
                   const tr_tv *v, const uint8_t *stars, tr_args *out, tr_tv *rest, tr_tv *made);
#define TR_REST "*" /* the keyword by which it is handed on */

/* infer/match.c: patterns of `match`: is x a sequence; is it of the class, and then the values that the
 * patterns in it are for, npos by position and those of the tuple of names. */
tr_tv tr_infer_is_sequence(tr_em *e, tr_tv x);
/* A mapping: is it one; the tuple of what it has at the keys, or None; it without them. */
bool tr_infer_mapping(const tr_ty *t);
tr_tv tr_infer_is_mapping(tr_em *e, tr_tv x);
bool tr_infer_match_keys(tr_em *e, tr_tv x, tr_tv keys, tr_tv *out);
bool tr_infer_match_rest(tr_em *e, tr_tv x, tr_tv keys, tr_tv *out);
bool tr_infer_match_class(tr_em *e, tr_tv x, tr_tv cls, tr_tv names, uint32_t npos, tr_tv *out);

/* infer/calls.c: calls any callable value. */
bool tr_infer_call(tr_em *e, tr_tv callee, const tr_args *args, tr_tv *out);
/* infer/axes.c: a call of one of several functions, or of a function of NumPy's whose axis, or flag, is known
 * when the program runs; *done: it is one. */
bool tr_infer_by_choice(tr_em *e, tr_tv callee, const tr_args *args, tr_tv *out, bool *done);
/* Calls a function of the program (a TR_OBJ_FUNC) with positional arguments. */
bool tr_infer_call_func(tr_em *e, const tr_obj *fn, uint32_t n, const tr_tv *x, tr_tv *out);

/* infer/sizes.c: fills tr_func.sizes. */
void tr_infer_find_sizes(tr_prog *p);

/* infer/contract.c: what a declared function makes of the n arguments in v, as at Python's
 * boundary: they are converted to the signature that Python's own call would choose, and *ret
 * becomes its result. False: there is none. */
bool tr_infer_settle(tr_em *e, const tr_func *fn, const tr_contract *k, uint32_t n, tr_tv *v,
                     const tr_ty **ret);

/* infer/launch.c: calls a function as a kernel, of blocks and threads as `sizes` says. */
bool tr_infer_launch(tr_em *e, tr_tv kernel, const tr_tv *sizes, const tr_args *args, tr_tv *out);
/* Which of the emitted functions run on a device. False, with an error: the root would have to and is the
 * host's, or it is to be a kernel and cannot. */
bool tr_infer_kinds(infer *f, tr_em *e, uint32_t root);

/* infer/ufuncs.c: calls a function that a ufunc was made of: over the elements of arrays,
 * with NumPy's casting. */
bool tr_infer_call_ufunc(tr_em *e, const tr_obj *fn, const tr_args *args, tr_tv *out);

#endif
