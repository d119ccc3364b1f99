/* What the files of the pass `grid` share: a launch on its way to loops. */
#ifndef TR_OPT_GRID_H
#define TR_OPT_GRID_H

#include "ir/ir.h"
#include "ir/prog.h"
#include "opt/emit.h"
#include "opt/grid/uniform.h"

enum { TR_AXIS_X, TR_AXIS_Y, TR_AXIS_Z, TR_AXES };

/* Where threads wait for each other: the end of a block, and where they go on. What is made of their operands
 * is made between (meet.c): these are params of the body, arrays over the threads, or NOVAL. */
typedef struct tr_stop {
    tr_bid at, on;
    int32_t line;
    tr_op op;
    uint8_t sub;
    tr_val given[3]; /* what each thread gives: mask, value, number; constants as they are */
    tr_val result;
} tr_stop;
typedef TR_VEC(tr_stop) tr_stops;

/* Local memory that is part of an array over the threads: that array, a param of the body, and
 * the op, which stands nowhere any more. */
typedef struct tr_local {
    tr_val home, made;
} tr_local;

/* Blocks that are run as one (wide.c). */
typedef struct tr_wide_blocks {
    bool yes;
    tr_val span;         /* of the body: a param, how many threads that are along x */
    tr_val each;         /* of the lambda: how many blocks, at most; */
    tr_val base, extent; /* the first one's place in the grid, and how many threads they have along x */
} tr_wide_blocks;

/* Memory of the grid's: what each block has, side by side, made by the host. */
typedef struct tr_grid_memory {
    const tr_ty *type;             /* as a block has it */
    tr_val sizes[TR_MAX_NDIM + 1]; /* of the lambda */
    tr_val param;                  /* of the lambda: all of it, in one line */
} tr_grid_memory;

typedef struct tr_grid {
    tr_prog *p;
    tr_fn *f;    /* the host's, which launches */
    tr_val call; /* the launch */
    tr_fn *g;    /* the kernel's body, a copy */
    tr_fn *lam;  /* a block */
    tr_bld b;    /* in it */
    const tr_ty *i64, *i1;
    tr_val *caps;                           /* of the lambda: the sizes, then the kernel's arguments */
    tr_val block[TR_AXES], thread[TR_AXES]; /* where the code is; of a thread inside of the loops over them */
    tr_val threads;                         /* how many a block has */
    uint32_t loc;
    tr_stops stops;
    TR_VEC(tr_local) locals;
    tr_u32s strides; /* heads of loops of the body that are the block's (ranges.c) */
    tr_wide_blocks wide;
    int32_t why[2]; /* lines: where threads meet, and of the test that differs between them; 0: none */
    /* threads wait for those of all blocks: what a block has lies in the grid's memory (stages.c) */
    bool stages;
    TR_VEC(tr_grid_memory) memory;
    uint32_t at_memory; /* which of it holds where threads are */
    tr_val stage,
        number; /* of the lambda: the barrier behind which threads go on, 0: they begin; the block's number */
    bool in_turn; /* threads run one after the other: they have the same local memory */
    /* params that the body got after the kernel's own, and that are one cell; the others
     * are arrays over the threads */
    TR_VEC(tr_val)
    cells;
} tr_grid;

static inline tr_arena *tr_grid_arena(const tr_grid *s) {
    return &s->p->ctx->arena;
}

/* Memory that the block has, the same for each thread. */
static inline bool tr_grid_is_storage(const tr_ins *in) {
    return in->op == TR_OP_SHARED || in->op == TR_OP_DYNSHARED;
}

/* --- build.c --- */

/* TREADLE_DUMP=emulation, inspect_emulation(): a sentence on how the kernel runs. */
void tr_grid_say(const tr_grid *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int32_t tr_grid_line(const tr_grid *s, tr_bid b); /* where a block of the body ends */

tr_val tr_grid_op(tr_grid *s, tr_op op, tr_val x, tr_val y); /* of int64, known to fit */
/* An array of the block's own, made where the builder is. */
tr_val tr_grid_room(tr_grid *s, const tr_ty *elem, uint32_t n, const tr_val *sizes);
const tr_site *tr_grid_site(const tr_grid *s, tr_exc exc, const char *text);
/* An error at the place of a value of the body, NOVAL: where that begins. Returns false. */
bool tr_grid_fail(const tr_grid *s, tr_val at, const char *text);
/* What stands for an op of a device here; NOVAL: it is none. */
tr_val tr_grid_meaning(const tr_grid *s, const tr_ins *in);

tr_val tr_grid_extent(const tr_grid *s, unsigned axis); /* how many threads are run along an axis */
uint32_t tr_grid_seed(const tr_grid *s);                /* 0: blocks and threads run in order */
/* i of n in another order, which `by` decides; of more than 2^31 the order stays. */
tr_val tr_grid_permuted(tr_grid *s, tr_val i, tr_val n, uint64_t by);

/* A loop over the numbers from 0 to n. What is carried, int64, goes through as params; `carry` holds what it
 * is in the body, then behind the loop. */
enum { TR_CARRY = 3 };
typedef struct tr_turns {
    bool apart; /* for the caller to set: no turn meets another in memory, but for atomics */
    tr_bid head, exit;
    tr_val i, carry[TR_CARRY];
    uint32_t ncarry;
} tr_turns;
void tr_grid_begin_turns(tr_grid *s, tr_turns *l, tr_val n, uint32_t ncarry, tr_val *carry);
void tr_grid_end_turns(tr_grid *s, const tr_turns *l, tr_val *carry);

/* The loops over the threads of a block, x innermost; one loop where threads are permuted (opts.seed). None
 * over an axis that has one, which an entry says by a constant. */
typedef struct tr_threads {
    tr_turns axis[TR_AXES];
} tr_threads;
void tr_grid_begin_threads(tr_grid *s, tr_threads *l, uint32_t ncarry, tr_val *carry);
void tr_grid_end_threads(tr_grid *s, tr_threads *l, tr_val *carry);
tr_val tr_grid_me(tr_grid *s); /* the thread's number in its block, inside of the loops */
/* Which thread this is, as the body asks: counted through the block, x first. */
tr_val tr_grid_my_number(const tr_grid *s, tr_bld *b);
/* A copy of these blocks of the body, entered from where the builder is, first block first. `known`: per
 * value of the body, what stands for it, or NOVAL. Ways out (TR_BR to a block that is none of these, kept
 * branches, returns) are left to the caller: blocks `bmap` says where each block's copy is. */
tr_bid *tr_grid_copy(tr_grid *s, const tr_u32s *blks, const tr_val *known, tr_bid outside);

/* --- meet.c --- */

/* Ends blocks where threads wait for each other; what they give is stored before, what they
 * get is loaded behind. */
void tr_grid_cut_meetings(tr_grid *s);
/* Who is there: those t for whom `all` is true, or state[t] is `here`. All of them where
 * there is no state. */
typedef struct tr_present {
    tr_val state, here, all; /* NOVAL: none */
    /* the lanes of a warp may be elsewhere: who can go on is marked by -here in the state;
     * 0 there is who has ended */
    bool waits;
} tr_present;
/* What they get, made where the builder is. */
void tr_grid_meet(tr_grid *s, const tr_stop *stop, const tr_val *known, const tr_present *who);

/* --- parts.c --- */

/* No block but the first gets a tuple by a param any more. The flow of control may be simpler afterwards. */
void tr_grid_take_tuples_apart(tr_grid *s);
/* No block but the first gets an array by a param, where it is one of a few that are there
 * everywhere. `varies`, per value: types of which no array does are left as they are; NULL:
 * none is. Blocks stay as they are. */
void tr_grid_number_arrays(tr_grid *s, const uint8_t *varies);

/* --- cross.c --- */

/* How the body falls into pieces that have loops over the threads of their own. */
typedef struct tr_pieces {
    const uint8_t *head;   /* per block: a piece begins there */
    const uint32_t *piece; /* per block: which it lies in */
    const uint8_t *once;   /* per value: the block has it, not each thread */
} tr_pieces;

/* No value that a thread has for itself is used in another piece than its own after this, and heads of
 * pieces get nothing by params but what is there once: what crosses lies in arrays over the threads, new
 * params of the body. Computes predecessors. */
bool tr_grid_cross(tr_grid *s, const tr_pieces *p);
/* Per value: it can be computed in any piece, from what is there. Needs an order of blocks. */
uint8_t *tr_grid_free(const tr_grid *s, const uint8_t *once);
/* Per block: the values that are alive where it begins. */
struct tr_bits *tr_grid_live(const tr_grid *s);

/* --- rounds.c, level.c: the two ways to run a body with barriers --- */

/* Whatever the flow of control: after each piece the block asks where its threads have come to. */
bool tr_grid_rounds_cut(tr_grid *s);
void tr_grid_rounds_put(tr_grid *s, tr_val *known);
/* The least number of a stop at which one of the threads waits, and the largest, 0: all
 * have ended; `at` has their numbers. */
void tr_grid_look(tr_grid *s, tr_val at, tr_val threads, tr_val *carry);
/* Unless `ok`: threads wait at different stops, whose numbers they are. */
void tr_grid_raise_apart(tr_grid *s, tr_val ok, const char *text, const tr_val *numbers);

/* --- wide.c --- */

/* May blocks along x be run as one? Before anything else is made of the body. */
bool tr_grid_may_widen(const tr_grid *s);
void tr_grid_find_wide(tr_grid *s);
/* In front of the pattern: how many parts a grid has along x, and *each blocks in a part.
 * `sizes`: of the launch. */
tr_val tr_grid_wide_count(const tr_grid *s, tr_bld *b, const tr_val *sizes, tr_val *each);
/* In the lambda: which blocks these are. */
void tr_grid_wide_begin(tr_grid *s, tr_val part);
/* What stands for a block's place along x. */
void tr_grid_wide_known(const tr_grid *s, tr_val *known);

/* --- ranges.c --- */

/* Never 0: a product of sizes, and of positive constants. */
bool tr_grid_is_count(const tr_fn *g, tr_val v, unsigned depth);
/* Bits that a number made of places and sizes takes, which is not negative; 63: another number. */
unsigned tr_grid_bits(const tr_fn *g, tr_val v, unsigned depth);
typedef struct tr_range_parts {
    tr_val start, stop, step;
} tr_range_parts;
/* The range whose number of items n is. */
static inline bool tr_grid_range(const tr_fn *g, tr_val n, tr_range_parts *out) {
    const tr_ins *in = tr_at(g, n);
    if (in->op != TR_OP_RANGELEN)
        return false;
    *out = (tr_range_parts){in->args[0], in->args[1], in->args[2]};
    return true;
}

/* --- stride.c --- */

/* Of a place that is counted on by a step: bits of the step, fewer; of what it is below of,
 * so many or fewer. */
enum { TR_WALK_STEP = 58, TR_WALK_STOP = 61 };

/* --- stages.c --- */

/* In place of the launch: stages, until all threads have ended. args: the operands of the
 * pattern but the stage and the memory. */
void tr_grid_put_stages(tr_grid *s, const tr_val *args, uint32_t nargs);

/* --- even.c --- */

/* Loops whose rounds threads may run together do so after this: they wait for each other at
 * the end of each. */
bool tr_grid_even_loops(tr_grid *s);

/* Where all threads take one way between barriers, the block takes it once. */
typedef struct tr_level tr_level;
tr_level *tr_grid_level(tr_grid *s, bool *failed); /* NULL: it cannot be had */
/* It pays to make threads the innermost loop of this one. */
bool tr_grid_is_worth(const tr_grid *s, const tr_uniform *u, const tr_loop *loop);
void tr_grid_level_tell(const tr_grid *s, const tr_level *l);
void tr_grid_level_put(tr_grid *s, tr_level *l, tr_val *known);

#endif
