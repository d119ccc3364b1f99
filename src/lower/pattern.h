/* A pattern being lowered: what the files that write its loops share (README.md lists them). */
#ifndef TR_LOWER_PATTERN_H
#define TR_LOWER_PATTERN_H

#include "ir/nest.h"
#include "ir/sched.h"
#include "lower/internal.h"

enum { TR_STRIP_BYTES = 64 }; /* how wide a strip is (strip.c) */
enum { TR_SCAN_LEVELS = 3 };  /* of the tree of a group (scan.c) */

unsigned tr_red_room(const tr_pat *p); /* parts that the values of all reductions have at most */

/* The values that a pattern's loops carry at most: an extreme of floats is three, a complex sum two, a
 * strip's sum a vector for each of its rows, a scan in groups what stands before an element at each level of
 * its tree, one by a function the total of a block; and the fill of the buffers. */
static inline unsigned tr_most_carried(const tr_pat *p) {
    return (tr_pat_nred(p) ? 3u * tr_pat_nred(p) + p->sched.strip : 0) +
           2u * (TR_SCAN_LEVELS + 1) * p->nscan + 2u * tr_red_room(p);
}

/* A reduction by a function of the user's (join.c). */
typedef struct tr_ljoin {
    tr_fn *by;
    uint32_t loc;
    unsigned nparts, ncaps;
    const lt *types;  /* of a value's parts */
    unsigned stretch; /* slots that a part has in a buffer */
    lv *made; /* functions that join a block, and find its prefixes, once needed: all copies share them */
    lv values, other, level, count;
} tr_ljoin;

typedef struct tr_lred {
    tr_redk kind;
    unsigned fmf;         /* LLVM's fast-math bits */
    const tr_ty *ty;      /* of the contribution */
    const tr_ty *init_ty; /* of the value: i64 for argmin and argmax */
    tr_redclass cls;
    /* PHI, an extreme of floats: carried as three values (red.c), but in tiles and between threads as one */
    bool split;
    unsigned carry;      /* PHI: first of its parts in carry */
    bool groups;         /* PHI: a scan that goes by groups (ir/scans.c) */
    lv after[2];         /* then: the value after the element, or its parts' */
    lv buf[2], state[2]; /* BUFFERED: per component; ARG */
    lv acc[2];           /* in tiles: a value per column, per component */
    lv total;            /* BUFFERED, ARG: the result, when no buffer was needed */
    tr_ljoin *join;      /* JOINED */
    bool bare;           /* JOINED: the initial value is another's to join, that of what has no items is it */
    lv *init;            /* parts */
} tr_lred;

/* An array along the innermost axis, in chunks (chunk.c). */
typedef struct tr_lchunk {
    bool used;     /* its stride is known at run time only */
    tr_larr buf;   /* sched.chunk elements */
    lv unit, zero; /* its stride is 1; is 0 */
    lv off;        /* of the chunk's first element */
    tr_larr now;   /* the chunk, element by element */
} tr_lchunk;

/* How a table of an array lies. */
typedef struct tr_ltable {
    lv size, stride[TR_MAX_NDIM];
} tr_ltable;

typedef struct tr_lpat {
    tr_lf *w;
    const tr_pat *p;
    tr_val v;
    uint32_t loc;
    unsigned ndim;                         /* of the loops: p->nspace, or 1 when walked as one line */
    unsigned axis[TR_MAX_NDIM];            /* of each loop, outermost first: kept axes come first */
    lv ext[TR_MAX_NDIM], idx[TR_MAX_NDIM]; /* per axis */
    lv first, end;                         /* of the outermost loop; NULL: all of it */
    /* of a range of elements: indices of the first one and of the last; NULL: there are none. `begins`: the
     * loops around stand at the first one's; `ends`: at the last one's; NULL: that is so */
    lv *low, *high, begins, ends;
    lv when;     /* it may run on all cores; NULL: always */
    lv cost;     /* of a round; NULL: sched.cost */
    lv from, to; /* of the innermost loop, a block of a scan; NULL: all of it */
    /* only what scans contribute is wanted: nothing is stored, and no running value is looked at */
    bool totals;
    lv team; /* of a range: how many threads walk the chain; NULL: one */
    lv kept; /* of one by a function, a range: what its groups are, found with its total; NULL: none */
    /* of one that goes by blocks (tr_pat_in_blocks): the lambda that is given values after the element */
    tr_fn *after;
    unsigned groups;     /* there, element by element: first in carry of what scans in groups remember, */
    lv *begun;           /* and the values before the block */
    bool shared;         /* other threads pack into the same arrays */
    bool tiled;          /* the tile axis is the last one */
    unsigned outer;      /* axis of the outermost loop */
    lv *held;            /* in tiles: what one column's accumulators hold */
    unsigned lanes;      /* of a strip; 0: no strips */
    lv lanes_mask;       /* in a strip that is wider than the axis: those that are there; NULL: all */
    lv left;             /* in strips: rows of the last reduced axis that are groups of TR_TILE_GROUP */
    lv *shift;           /* in strips: from its first row to row r, of array a: shift[r * narr + a] */
    unsigned mark;       /* of its innermost loop (TR_LOOP_...), beside what is known of that anyway; or 0 */
    bool line, open;     /* open: within the reductions of an index of the kept axes */
    tr_larr *arr, *earr; /* inputs, then outputs; the epilogue's */
    tr_lchunk *chunk;    /* NULL: elements are addressed directly */
    lv *off;             /* running offset of each array, per level: off[level * narr + a] */
    unsigned narr;
    tr_larr *filt;      /* packed arrays */
    tr_larr *best;      /* arrays of what is chosen */
    lv top, top_mem, k; /* what the runtime chooses with, as long as loops run; its memory; how many */
    lv leave;           /* of a range of one row: where its best go; NULL: it is all of the row */
    tr_larr *scat;      /* targets */
    tr_lred *how;       /* how they combine values; not looked at where the last one wins */
    tr_ltable *table;   /* of the target's, with `spreads`, or of the first captured arrays, of which scat has
                       * all */
    unsigned ntables;
    bool spreads; /* as tr_pat_spreads has it */
    lv tables;    /* rounds' own: where they are */
    /* places of a target in C order, from `part` on, and how many: others are left to others; NULL: all */
    lv part, len;
    /* of a part: where what is not its own goes; rounds that wait for memory; the place of
     * the next of them */
    lv spare, ring, turn;
    tr_larr *later;    /* in fission: indices and values of rounds, an array each; NULL: none */
    lv at;             /* there: the round's place in these */
    lv marks;          /* a byte per place of a table, set where something was stored; NULL: none */
    lv last, *scratch; /* their scratch place; places for what is not wanted, with `shared` */
    lv alone;          /* with `shared`: where the places end that are this range's alone */
    tr_lred *red;
    lv *caps;
    unsigned ncaps;        /* parts */
    bool buffered;         /* some reduction has a buffer */
    lv *carry;             /* values that the loops carry: reductions, then `fill` */
    unsigned ncarry, fill; /* fill: values in the buffers; UINT32_MAX: absent */
} tr_lpat;

/* A counted loop that carries values. */
typedef struct tr_lloop {
    lb head, exit;
    lv iv;
    unsigned nmath; /* w->nmath when it began */
    lv *phis;
} tr_lloop;
void tr_lloop_begin(tr_lpat *s, tr_lloop *l, lv from, lv to);
void tr_lloop_end(tr_lpat *s, tr_lloop *l, lv next);
/* The loops of one thread, as the tree has them; the outermost one from `first` to `end` (NULL: all of it).
 * Parts of the reduced values in out. */
void tr_lower_nest(tr_lpat *s, const tr_nest *n, lv *out);
/* What is left of them from a place in the tree on, within reductions that have begun where it is in such. */
void tr_lower_walk(tr_lpat *s, const tr_nest *n);

/* Parts of what a round contributes to the reductions. */
unsigned tr_red_parts(const tr_lpat *s);
/* Sums over an innermost axis of few elements, which are added as they come, and not by way of a buffer
 * (few_sums.c); where they are not few, `more`, given what the tree has for that. Parts in out, and how
 * many. */
unsigned tr_few_or_more(tr_lpat *s, const tr_nest *n, unsigned (*more)(tr_lpat *, const tr_nest *, lv *),
                        lv *out);

/* The innermost axis from `from` to `to`, so many rounds in a go (unroll.c). fill: how many values the
 * buffers hold, or NULL; what the rounds add is not carried. */
void tr_unroll_loops(tr_lpat *s, const tr_nest *n, lv from, lv to, lv fill);

/* What the lambda is given before the running values, at the offsets of the innermost level; how many
 * parts. */
unsigned tr_lower_given(tr_lpat *s, lv *params);
/* The outputs' elements. Returns what comes behind them. */
const lv *tr_lower_outputs(tr_lpat *s, const lv *y);
/* One element: loads, the lambda, stores. Parts of its contributions in out; NULL: they go
 * to the reductions. */
void tr_lower_element(tr_lpat *s, lv *out);
/* Do elements of array a that follow each other along the innermost axis lie side by side? */
bool tr_lower_is_side_by_side(const tr_lpat *s, unsigned a);
/* How far the element at these indices lies from a's first one. */
lv tr_lower_offset_of(const tr_lpat *s, const tr_larr *a, const lv *idx);
/* After the reductions of one index of the kept axes. */
void tr_lower_epilogue(tr_lpat *s, const lv *reduced, unsigned nreduced);
/* From here on the loops walk elements number `first` to `end`, in order. */
void tr_lower_cut(tr_lpat *s);
/* Where the loop of level k begins and ends. */
lv tr_lower_first(const tr_lpat *s, unsigned k);
lv tr_lower_last(const tr_lpat *s, unsigned k);
/* Offsets behind the loop of level k. */
void tr_lower_advance(tr_lpat *s, unsigned k);

/* tile.c: reductions that leave the axis along which memory lies. */
void tr_tile_begin(tr_lpat *s);
lv tr_tile_condition(tr_lpat *s); /* what says at run time that memory lies along the tile's axis */
void tr_tile_assume(tr_lpat *s);  /* where it does */
void tr_tile_setup(tr_lpat *s);
void tr_tile_nest(tr_lpat *s);
/* The reduced axes from level k on of `len` accumulators; their sums are in the
 * accumulators then. carry[0] counts rows. */
void tr_tile_sums(tr_lpat *s, unsigned k, lv from, lv len);

/* strip.c: tiles of sums whose accumulators stay in registers. */
void tr_strip_setup(tr_lpat *s);
void tr_strip_nest(tr_lpat *s, unsigned k); /* the last two kept axes, of level k and the innermost one */
void tr_strip_add(tr_lpat *s, unsigned k, lv at); /* the elements at `at` of the last reduced axis, level k */
void tr_strip_block(tr_lpat *s);                  /* what registers hold is a block of the sums */
void tr_strip_end(tr_lpat *s);                    /* the sums of all blocks, and of registers, to memory */
/* Behind a branch: the registers begin anew where it came from `full`, and are as they were
 * where from `here`. */
void tr_strip_meet(tr_lpat *s, lb here, lb full);

/* flat.c: rows so short that many are one loop. */
void tr_flat_nest(tr_lpat *s, const tr_nest *n);

/* chunk.c: an innermost axis with strides that are known at run time only. */
void tr_chunk_setup(tr_lpat *s);
lv tr_chunk_begin(tr_lpat *s, unsigned k,
                  lv n); /* before the axis of n elements, level k; the longest chunk */
void tr_chunk_enter(tr_lpat *s, unsigned k, lv at, lv len);
void tr_chunk_leave(tr_lpat *s, lv len);

/* fission.c: what a scatter stores is computed in a loop of its own. */
void tr_fission_setup(tr_lpat *s);
void tr_fission_hold(tr_lpat *s, const lv *y);      /* in place of storing: indices and a value */
void tr_fission_loop(tr_lpat *s, const tr_nest *n); /* the innermost loop */
void tr_lower_scatter(tr_lpat *s, const lv *y); /* for each target indices and a value, to where they say */

/* nontemporal.c: a line whose output goes past the caches. */
void tr_nontemporal_nest(tr_lpat *s, const tr_nest *n);

/* scan.c: scans of floats go block by block, and the ranges of others begin at the total of
 * what is before. */
void tr_scan_loop(tr_lpat *s, const tr_nest *n); /* the innermost loop of one that goes by blocks */
int tr_scan_block(const tr_lpat *s);             /* elements */
/* Parts of the values after the element, of what it contributes; their number. What is in no groups gives
 * what it got. */
unsigned tr_scan_step(tr_lpat *s, const lv *y, lv *out);
/* Parts of the totals of all scans over these loops, the outermost of them from `from` to `to`. */
void tr_scan_totals(const tr_lpat *s, const tr_nest *n, lv from, lv to, lv *out);

/* pack.c: the innermost loop by a mask, which counts, or packs. */
void tr_pack_count(tr_lpat *s, const tr_nest *n);
void tr_pack_loop(tr_lpat *s, const tr_nest *n);

/* look.c: the innermost loop by a table. */
void tr_look_loop(tr_lpat *s, const tr_nest *n);

/* topk.c: what is chosen. Around the loops; a row, the innermost loop. Around the ranges of one
 * row: room for what each finds, where that of a range is, and what comes of it all. */
void tr_top_begin(tr_lpat *s);
void tr_top_row(tr_lpat *s, const tr_nest *n);
void tr_top_end(tr_lpat *s);
lv tr_top_places(tr_lpat *s, lv nranges, lv *mem);
lv tr_top_place(tr_lpat *s, lv places, lv r);
void tr_top_join(tr_lpat *s, lv places, lv nranges);

/* table.c: tables of arrays. How they lie; does one have marks; the bytes of its values; room for n of each,
 * or null for none (raises where there is no memory), and its end; table number k of array i, its marks, and
 * as an array of one axis; it changes nothing; it is joined to its array. */
void tr_table_describe(tr_lpat *s);
bool tr_table_has_marks(const tr_lpat *s, unsigned i);
lv tr_table_values(const tr_lpat *s, unsigned i);
lv tr_table_room(tr_lpat *s, lv n);
void tr_table_leave_room(tr_lpat *s, lv room);
lv tr_table_at(tr_lpat *s, unsigned i, lv room, lv k);
lv tr_table_marks(const tr_lpat *s, unsigned i, lv table);
tr_larr tr_table_flat(const tr_lpat *s, unsigned i, lv table);
void tr_table_clear(tr_lpat *s, unsigned i, lv table);
void tr_table_join(tr_lpat *s, unsigned i, lv table);
/* Of rounds that have one each: around the loops of one thread, or of all; around a round, whose captures
 * begin with these arrays. */
void tr_table_begin(tr_lpat *s, bool all);
void tr_table_end(tr_lpat *s, bool all);
void tr_table_enter(tr_lpat *s, lv *caps);
void tr_table_leave(tr_lpat *s);

/* spread.c: a scatter in blocks of rounds, or of many threads in parts of its target. By one thread; and what
 * stands around the ranges of all threads: room for their tables, how many rounds a range has, and how many
 * parts (0: none); a range's own part, number r; the end. */
void tr_spread_nest(tr_lpat *s, const tr_nest *n);
lv tr_spread_begin(tr_lpat *s, lv *rows, lv *parts);
void tr_spread_range(tr_lpat *c, const tr_nest *n, lv room, lv parts, lv r);
void tr_spread_end(tr_lpat *s, lv room, lv rows);
void tr_spread_part(
    tr_lpat *s, lv off,
    const lv *y); /* a round: where in the target; indices and a value. Only what is of the part is stored */

/* par.c: the same by all threads of the pool, where `par` says that they may. */
void tr_lower_parallel(tr_lpat *s, const tr_nest *n, lv *out);

/* join.c. out: x and y as one; out may be x. The same where `both`, else `alone`. */
void tr_join_two(tr_lf *w, const tr_ljoin *j, const lv *caps, const lv *x, const lv *y, lv *out);
void tr_join_if(tr_lf *w, const tr_ljoin *j, const lv *caps, lv both, const lv *x, const lv *y,
                const lv *alone, lv *out);
void tr_join_setup(tr_lf *w, tr_ljoin *j, bool scan);
/* A block of a scan, item by item; n > 0 of them as one; what stands before each, in their place, of what
 * stands before all. x: the total. */
void tr_join_put(tr_lf *w, const tr_ljoin *j, lv i, const lv *x);
void tr_join_get(tr_lf *w, const tr_ljoin *j, lv i, lv *x);
lv tr_join_keep(tr_lf *w, const tr_ljoin *j); /* room for the groups of a TR_JOIN_BLOCK */
/* A block's groups go there, number `at` and on, or come from there. */
void tr_join_to_kept(tr_lf *w, const tr_ljoin *j, lv kept, lv at);
void tr_join_from_kept(tr_lf *w, const tr_ljoin *j, lv kept, lv at);
void tr_join_total(tr_lf *w, const tr_ljoin *j, const lv *caps, lv n, lv *x);
void tr_join_prefixes(tr_lf *w, const tr_ljoin *j, const lv *caps, lv n, const lv *before, lv *x);
/* A reduction's values in blocks of TR_SUM_BLOCK. Where item i of a part lies in the block that comes in; a
 * whole block is joined with those before; the end, of a last block of `fill` values and then the initial
 * value, which is left out if `bare`; n values that lie as in a block, and the initial value. */
void tr_join_clear(tr_lf *w, const tr_ljoin *j);
lv tr_join_place(tr_lf *w, const tr_ljoin *j, unsigned part, lv i);
void tr_join_add(tr_lf *w, tr_ljoin *j, const lv *caps);
void tr_join_end(tr_lf *w, tr_ljoin *j, const lv *caps, lv fill, const lv *init, bool bare, lv *out);
void tr_join_ranges(tr_lf *w, tr_ljoin *j, const lv *caps, lv places, lv n, const lv *init, lv *out);

/* red.c. A reduction is set up once, begins before its axes are walked, takes
 * contributions, and ends as a value. */
tr_ljoin *tr_red_by(const tr_lpat *s, tr_fn *by, unsigned n, const lt *types); /* joins values of n parts */
tr_lred *tr_red_copy(const tr_lpat *s);               /* of all, which share nothing that changes */
bool tr_red_describe(tr_lpat *s, const tr_val *init); /* false: a reduction is not defined for its type */
void tr_red_setup(tr_lpat *s);                        /* makes room in the function that is being filled */
void tr_red_begin(tr_lpat *s);
void tr_red_step(tr_lpat *s, const lv *parts); /* the contributions of one element, then the counters */
void tr_red_flush(tr_lpat *s);                 /* the buffers are full: adds them up; fill is 0 then */
unsigned tr_red_end(tr_lpat *s, lv *out);      /* parts of all values; their number */
/* One more contribution to reduction i, which is not BUFFERED or ARG: parts of another thread's value. */
void tr_red_join(tr_lpat *s, unsigned i, const lv *parts);
/* acc with one more value, as reduction r has it: parts of one that is not BUFFERED or ARG. */
void tr_red_combine(tr_lpat *s, const tr_lred *r, lv *acc, const lv *x);
void tr_red_identity_parts(tr_lpat *s, const tr_lred *r, lv *out);
/* The value that changes nothing: what a thread begins with. */
void tr_red_neutral(tr_lpat *s, unsigned i);
/* What begins nothing new but for the scans, of which the totals are wanted. */
void tr_red_totals(tr_lpat *s);
/* Parts of the running values of the scans; their number. */
unsigned tr_red_running(const tr_lpat *s, lv *out);

#endif
