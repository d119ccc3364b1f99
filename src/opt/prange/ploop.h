/* A loop over a prange, as prange.c hands it to its helpers: what is carried from one iteration to the next,
 * through values (reduction.c) and through memory (depend.c). */
#ifndef TR_OPT_PLOOP_H
#define TR_OPT_PLOOP_H

#include "ir/loops.h"
#include "opt/scalar/prove.h"
#include "opt/priv.h"

/* An array from outside into which the loop only accumulates. */
typedef struct tr_paccum {
    tr_val array, root; /* the value that all accesses go through; the array it is, or is a view of */
    tr_redk kind;
    uint8_t fast; /* as a reduction's */
    bool rows;    /* an iteration adds to whole rows */
    bool other;   /* the loop uses another array that may be the same: copies would hide that from it */
    tr_val bad;   /* it is none: what uses it in another way, if anything accumulates into it; or TR_NOVAL */
    bool mixed;   /* that is another operation */
    const tr_val *views; /* of the array, made before the loop: each copy has its own */
    uint32_t nviews;
    /* once made: sizes of its axes; number of elements; what chunks collected, along a first axis */
    tr_val *dims, size, copies;
} tr_paccum;

/* Two accesses that meet in different iterations, or might. */
typedef struct tr_pdepend {
    bool sure;         /* else only possible */
    bool other_writes; /* the other one writes too */
    bool dist_known;   /* `other` meets `write` so many iterations later */
    bool every;        /* it is the same element in every iteration */
    bool decided;      /* they meet if `by`, values from outside, is the distance of two iterations */
    bool compares;     /* they are slices of the array that can be compared before the loop */
    bool computes;     /* they are at places that iterations compute (inspect.c) */
    bool perhaps_one;  /* `other` goes to another array, unless that is the same one */
    tr_lin by;
    tr_val around; /* decided: an index may be negative, and counts from this size then; or TR_NOVAL */
    int64_t dist;
    tr_val write, other, array; /* write TR_NOVAL: there are too many accesses to look at */
} tr_pdepend;

enum { TR_CUTS = 2 };

/* Where an access is on one axis of the array: from `from` on and before `to`, or to the axis' end. */
typedef struct tr_pplace {
    tr_lin from, to;
    bool to_end;
    bool exact;          /* else only there, and perhaps not at all of it */
    const tr_val *wraps; /* what must not be negative for that (tr_coord) */
    uint32_t nwraps;
} tr_pplace;

typedef struct tr_pspan {
    tr_pplace w, x;
    uint32_t axis;
} tr_pspan;

/* Two accesses that are apart where one of these axes keeps them apart, which places
 * computed before the loop tell. */
typedef struct tr_pspans {
    tr_pdepend d;
    tr_val space; /* the array whose axes they are, and whether all its items are one axis (tr_coords) */
    bool flat;
    bool sure; /* both happen in every iteration, and all but the one axis meet: it is for that one to say */
    tr_val some[TR_MAX_NDIM]; /* numbers of items on others: they meet where there are any */
    uint32_t nsome;
    uint32_t n;
    tr_pspan ax[TR_MAX_NDIM];
} tr_pspans;

/* An access: to the element of the array with these indices, as the access has them; NULL: to all of it. */
typedef struct tr_ptouch {
    tr_val array;
    const tr_val *idx;
    tr_bid blk; /* where it stands */
} tr_ptouch;

/* Accesses to one array at places that iterations compute, which are compared before the loop. */
typedef struct tr_pinspect {
    tr_val array;
    TR_VEC(tr_ptouch) all;
} tr_pinspect;

enum { TR_MAX_EXTREME = 12, TR_MAX_EXTREMES = 4 };

/* Params of the head that change together, where a candidate is better than the best one so far; of several
 * extremes, those of each (extreme.c). */
typedef struct tr_pextreme {
    uint32_t n, nall;                                /* params, 0: there are none; and extremes */
    uint32_t at[TR_MAX_EXTREME], of[TR_MAX_EXTREME]; /* param, and of which extreme */
    struct {
        uint32_t best;  /* which of them is compared: `candidate how best` */
        uint32_t taken; /* the param that says whether a candidate was taken; made for that */
        bool any;       /* the comparison is known */
        tr_cmpop how;
    } all[TR_MAX_EXTREMES];
    bool raises; /* what goes with it may raise: the loop goes in order */
    tr_val rooms[TR_MAX_EXTREME +
                 TR_MAX_EXTREMES]; /* once made: arrays of what chunks came to, those of `taken` last */
} tr_pextreme;

static inline uint32_t tr_extreme_params(const tr_pextreme *x) {
    return x->n + x->nall;
}

static inline uint32_t tr_extreme_param(const tr_pextreme *x, uint32_t m) {
    return m < x->n ? x->at[m] : x->all[m - x->n].taken;
}

/* Which of them is that param of the head? UINT32_MAX: none. */
static inline uint32_t tr_extreme_of(const tr_pextreme *x, uint32_t param) {
    for (uint32_t m = 0; m < tr_extreme_params(x); m++)
        if (tr_extreme_param(x, m) == param)
            return m;
    return UINT32_MAX;
}

/* Arrays from outside that may share memory, of which the loop writes the first ones: as op
 * `meet` has them. */
typedef struct tr_pshared {
    TR_VEC(tr_val) arrays;
    uint32_t written;
    uint64_t same; /* pairs in which nothing meets where they are the same, element for element */
} tr_pshared;

enum { TR_MAX_PLIKE = 8 };

/* A list from outside to which the loop only appends (lists.c). */
typedef struct tr_plist {
    tr_val list;
    const tr_site *site;         /* MemoryError */
    tr_val others[TR_MAX_PLIKE]; /* lists from outside that may be it, and are compared before the loop */
    uint32_t nothers;
    tr_val parts; /* once made: a list of the lists of all chunks */
} tr_plist;

typedef struct tr_ploop {
    tr_prog *p;
    tr_fn *f;
    tr_bid header, body, exit; /* the header's terminator leads to the latter two */
    tr_val counter, length;    /* param of the header, from 0 by 1; number of iterations */
    uint32_t counter_at;       /* index of that param */
    /* header first, then all that an iteration runs, in reverse post-order; blocks that end
     * in `raise` included */
    tr_u32s blks;
    uint8_t *in;         /* per block: is it in blks? */
    const tr_loop *loop; /* the natural loop, one of `loops` */
    const tr_forest *loops;
    uint8_t *apart; /* per value: an array whose dependences are known and settled */
    TR_VEC(tr_paccum) accums;
    TR_VEC(tr_plist) lists;
    TR_VEC(tr_val) replaced; /* lists whose items iterations replace at a place of their own (slots.c) */
    tr_pextreme extreme;
    TR_VEC(tr_pdepend) tests;     /* decided by values from outside: tested before the loop */
    TR_VEC(tr_pspans) spans;      /* slices, compared before the loop */
    uint8_t *compared;            /* per value: an array all of whose slices are among these */
    TR_VEC(tr_pinspect) inspects; /* what iterations compute, looked at before it */
    uint8_t *inspected;           /* per value: an array that is among these */
    tr_pshared shared;
    tr_val when; /* none of these meets, and no slices do; TR_NOVAL: there are none */
    /* Iterations that others meet, and no others do: each runs by itself, after all before it and before all
     * after it. Beyond the loop where there is none; TR_NOVAL: there never is. */
    tr_val alone[TR_CUTS];
    /* Where what an iteration raises goes when a `try` around the loop catches it: a block outside, with
     * values from before the loop. NULL: none does. */
    const tr_edge *outer;
    tr_u32s tries; /* what leads there */
    bool in_order; /* iterations may meet in items of a list: the loop stays a plain one */
    bool inside;   /* what looks like one is in an iteration */
    tr_u32s *made; /* patterns that stand for no expression of the user's */
} tr_ploop;

/* Is v made in each iteration anew? */
static inline bool tr_ploop_varies(const tr_ploop *l, tr_val v) {
    return !tr_loop_is_outside(l->f, l->in, v);
}

/* --- reduction.c --- */

typedef struct tr_preduction {
    tr_redk kind;
    uint8_t fast; /* what all the operations allow that join it: a set of TR_FM_* */
    /* When it is none: an instruction that uses the iteration before's value (TR_NOVAL: there is no such
     * use), and one that makes the next value (TR_NOVAL: a constant). */
    tr_val read, write;
    /* In the loop, every value in `chain` is the param and contributions, joined by `kind`. */
    uint8_t *chain;
} tr_preduction;

/* Is param number `index` of the header a reduction? */
bool tr_ploop_reduction(const tr_ploop *l, uint32_t index, tr_preduction *out);
/* The reduction that `old op x` is a step of, where `in` is that instruction, or `x op old`
 * (left: old is its first operand). */
bool tr_reduction_of(const tr_ins *in, bool left, tr_redk *out);

/* --- unbound.c --- */

/* Has each iteration begin without the variables that have no value before the loop: true where one's was
 * looked at. Blocks' params have changed then. */
bool tr_ploop_unbound(tr_ploop *l);
/* Puts `by` in p's place in the loop; true where p stood anywhere. */
bool tr_ploop_replace(const tr_ploop *l, tr_val p, tr_val by);

/* --- switched.c --- */

/* Has each iteration begin with the value from before the loop of a variable that all iterations assign, or
 * none: true where one was found. Blocks' params have changed then. */
bool tr_ploop_switched(tr_ploop *l);

/* --- lists.c --- */

/* Is that an `append` to a list from outside to which the loop only appends? It is among `lists` then. `bad`:
 * where not, what uses the list in another way, or what may be the list; or TR_NOVAL. */
bool tr_ploop_appends(tr_ploop *l, tr_val append, tr_val *bad);
/* Is x, which the loop uses, neither the list nor a way to it? */
bool tr_lists_is_apart(const tr_ploop *l, tr_val list, tr_val x);
/* Is what v has made in the iteration, all lists in it? */
bool tr_ploop_lists_are_own(const tr_ploop *l, tr_val v);
/* Before the loop: none of them is another one that it uses (TR_NOVAL: that is known); room for what so many
 * chunks collect. Where a chunk begins: its own list, which lies among the others from there on, so that no
 * thread but the caller's drops what is in it. After it: all items to the lists. */
tr_val tr_lists_apart(const tr_ploop *l, tr_bld *b);
void tr_lists_room(tr_ploop *l, tr_bld *b, tr_val chunks);
tr_val tr_lists_own(const tr_ploop *l, tr_bld *b, const tr_plist *p, tr_val parts, tr_val chunk);
void tr_lists_join(const tr_ploop *l, tr_bld *b);

/* --- slots.c --- */

/* Is that a `put` to a list from outside, of whose items each iteration reaches that at its own place alone?
 * What is replaced is kept until the loop is over then, and the list is among `replaced`. `bad`: as above. */
bool tr_ploop_puts(tr_ploop *l, tr_val put, tr_val *bad);

/* --- joins.c --- */

/* Where a value that was read becomes one that is written. */
typedef struct tr_pjoins {
    tr_fn *f;          /* its control flow and dominators are known */
    const uint8_t *in; /* per block: does it run in between? NULL: all do */
    tr_bid head;       /* where jumps begin another time; TR_NOBLK: nowhere */
    tr_val store;      /* what writes it; TR_NOVAL: every YIELD */
    uint32_t slot;     /* which of its operands that is */
    const tr_ty *elem;
    const tr_val *olds; /* the value read, perhaps several times */
    uint32_t nolds;
} tr_pjoins;

typedef struct tr_pjoin {
    bool any; /* the operation is known */
    tr_redk kind;
    uint8_t fast;
} tr_pjoin;

/* Is what is written the old value, or that joined with others, and does the old value go nowhere else? *out:
 * what is known of the operation before, and after. */
bool tr_joins(const tr_pjoins *q, tr_pjoin *out);

/* --- depend.c --- */

/* Do iterations meet in memory, or might they? The first sure meeting, else a possible one, else one
 * that depends on which arrays are one. */
bool tr_ploop_dependence(const tr_ploop *l, tr_pdepend *out);
/* Do iterations go to items of one list, arrays or lists, of which they might meet in some, and is it not
 * sure that they do? They are to go one after the other: two arrays of one name meet as two names seldom
 * do. */
bool tr_ploop_goes_in_order(const tr_ploop *l, tr_pdepend *out);

/* Fills in l->shared; false: there are too many. */
bool tr_ploop_shared(tr_ploop *l);

/* Adds all pairs of the array's slices that can be compared before the loop; false: there are too many. */
bool tr_ploop_compare(tr_ploop *l, tr_val array);

/* Adds all accesses to the array at places that iterations compute. */
void tr_ploop_inspect(tr_ploop *l, tr_val array);

/* --- inspect.c --- */

/* Does what some array says, or a call, decide where the access goes to? */
bool tr_inspect_is_data(const tr_ploop *l, const tr_ptouch *t);
bool tr_inspect_says_data(const tr_ploop *l, tr_val v); /* the same of a number */
/* Before the loop: are these accesses of two iterations always apart? Asked where `when` is true (TR_NOVAL:
 * always), else it need not be known. Leaves the builder in a new block. */
tr_val tr_inspect_apart(const tr_ploop *l, tr_bld *b, const tr_pinspect *p, tr_val when);

/* What an iteration costs, in instructions, as far as that is seen: at least 1. */
tr_val tr_ploop_cost(const tr_ploop *l, tr_bld *b);

/* --- extreme.c --- */

/* Do these params of the head, which are no reductions, change together? Gives the head one more
 * for each extreme, unless out->raises. */
bool tr_ploop_extreme(tr_ploop *l, const uint32_t *params, uint32_t n, tr_pextreme *out);
tr_val tr_extreme_chunks(const tr_ploop *l, tr_bld *b); /* their number; less than 2: not worth it */
void tr_extreme_rooms(tr_ploop *l, tr_bld *b, tr_val chunks);
/* In by, per param of the head: from the values before the loop to those after it. Leaves
 * the builder in a new block. */
void tr_extreme_join(tr_ploop *l, tr_bld *b, tr_val chunks, tr_val *by);

/* --- spans.c --- */

/* Is it a place that changes by the same number from each iteration to the next, at least
 * but for clamps, which are left out? */
bool tr_span_place(const tr_ploop *l, tr_prover *pr, tr_pplace *p);
bool tr_span_same(const tr_pplace *a, const tr_pplace *b);

/* Before the loop: are all slices apart, but for those of l->alone, which it finds? Where it is sure that
 * iterations meet, it raises what `site` says. */
tr_val tr_spans_apart(tr_ploop *l, tr_bld *b, const tr_site *(*site)(const tr_ploop *, const tr_pdepend *));

/* --- accumulate.c --- */

/* Is the array of this dependence one that the loop only accumulates into? */
bool tr_ploop_accumulates(const tr_ploop *l, const tr_pdepend *d, tr_paccum *out);
/* Number of chunks for all of the loop's accumulated arrays, whose sizes it fills in; less
 * than 2: not worth it. */
tr_val tr_accumulate_chunks(tr_ploop *l, tr_bld *b);
void tr_accumulate_copies(tr_bld *b, tr_paccum *a, tr_val chunks); /* makes a->copies */
/* What a chunk collects in, an array of type `array` but contiguous; all values are b's function's. */
tr_val tr_accumulate_copy(tr_bld *b, const tr_ty *array, tr_redk kind, const tr_val *dims);
void tr_accumulate_keep(tr_bld *b, tr_val own, tr_val copies, tr_val size, tr_val chunk, const tr_val *dims);
void tr_accumulate_join(tr_ploop *l, tr_bld *b, const tr_paccum *a,
                        tr_val chunks); /* all copies into the array */

/* Where memory for an array is missing. */
const tr_site *tr_ploop_no_memory(tr_ctx *c);
/* A pattern: `out` from `in` element by element, or (NOVAL) what is neutral to `kind`. */
void tr_ploop_fill(tr_bld *b, uint32_t n, const tr_val *dims, tr_val in, tr_val out, tr_redk kind,
                   tr_par par);

/* --- ploop.c --- */

/* Puts the pattern in the loop's place; nvals: values there were when reductions were looked
 * for. Control flow is out of date then. */
void tr_ploop_turn(tr_ploop *l, const tr_preduction *red, uint32_t nvals);
void tr_ploop_unmark(tr_fn *f, const tr_ploop *l); /* the loop runs on one core, and loops inside it too */
void tr_ploop_drop_marks(tr_fn *f);                /* `prange` has nothing more to say */
void tr_ploop_clean(tr_prog *p, tr_fn *f);

#endif
