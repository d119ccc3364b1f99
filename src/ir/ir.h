/* The intermediate representation: SSA with block arguments, one form for every stage.
 *
 * A function is a vector of instructions; an instruction's number is its value (tr_val). Blocks hold doubly
 * linked lists of them. Constants (OBJ, CONST, UNDEF, CONSTARR) are instructions too, but live outside blocks
 * (blk == TR_NOBLK), are interned per function and dominate everything; text shows them inline. Invariants
 * (verified by ir/verify.c): each block ends in exactly one terminator; the number of edge arguments equals
 * the target's number of params; definitions dominate uses; operand types follow op.def; front ops only in
 * the front stage. Memory: all in the context's arena, freed with it. Edit through ir/build.c and ir/edit.c
 * only. */
#ifndef TR_IR_IR_H
#define TR_IR_IR_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/ctx.h"
#include "base/map.h"
#include "base/vec.h"
#include "ty/obj.h"
#include "ty/ty.h"

typedef uint32_t tr_val;
typedef uint32_t tr_bid;
#define TR_NOVAL UINT32_MAX
#define TR_NOBLK UINT32_MAX

/* Effects in op.def. READ and WRITE are of the memory of arrays, the items of lists among it. Where a list's
 * items are and how many it has is another matter: LOOK asks for that, GROW changes it, of the list that is
 * the first operand, and of every value that is the same list. What was looked up is not to be used behind a
 * GROW, as the items may have moved (verify.c), so what LOOKs stays where it is: it may be left out where
 * nobody uses it, or where an equal one has looked and nothing has changed since (opt/scalar/cse.c). What
 * GROWs may raise and writes memory besides, is never left out or
 * merged, and nothing with an effect passes it (it is E_SIDE too). */
enum {
    E_READ = 1,
    E_WRITE = 2,
    E_RAISE = 4,
    E_ALLOC = 8,
    E_TERM = 16,
    E_SIDE = 32,
    E_LOOK = 64,
    E_GROW = 128
};
enum { S_F = 1, S_T = 2 }; /* stages in op.def */

typedef enum tr_op {
#define X(id, name, nargs, result, effects, cost, lanes, words, owns, stages) TR_OP_##id,
#include "ir/op.def"
#undef X
    TR_OP__COUNT
} tr_op;

typedef struct tr_opinfo {
    const char *name;
    int8_t nargs;
    char result, lanes, owns;
    uint8_t effects, cost, words, stages;
} tr_opinfo;
extern const tr_opinfo tr_op_info[TR_OP__COUNT];

#define TR_BINOPS(X)              \
    X(ADD, "add", "+")            \
    X(SUB, "sub", "-")            \
    X(MUL, "mul", "*")            \
    X(DIV, "div", "/")            \
    X(FLOORDIV, "floordiv", "//") \
    X(MOD, "mod", "%")            \
    X(POW, "pow", "**")           \
    X(MATMUL, "matmul", "@")      \
    X(AND, "and", "&")            \
    X(OR, "or", "|")              \
    X(XOR, "xor", "^")            \
    X(SHL, "shl", "<<")           \
    X(SHR, "shr", ">>")
typedef enum tr_binop {
#define X(id, name, sign) TR_BIN_##id,
    TR_BINOPS(X)
#undef X
        TR_BIN__COUNT
} tr_binop;

#define TR_UNOPS(X)          \
    X(NEG, "neg", "-")       \
    X(POS, "pos", "+")       \
    X(INVERT, "invert", "~") \
    X(NOT, "not", "not ")
typedef enum tr_unop {
#define X(id, name, sign) TR_UN_##id,
    TR_UNOPS(X)
#undef X
        TR_UN__COUNT
} tr_unop;

/* Beside each its inverse, which holds where it does not (not of floats: NaN), and itself mirrored, for
 * operands that have changed places. */
#define TR_CMPOPS(X)          \
    X(LT, "lt", "<", GE, GT)  \
    X(LE, "le", "<=", GT, GE) \
    X(EQ, "eq", "==", NE, EQ) \
    X(NE, "ne", "!=", EQ, NE) \
    X(GT, "gt", ">", LE, LT)  \
    X(GE, "ge", ">=", LT, LE) /* ORDER CMP: CPython's order */
typedef enum tr_cmpop {
#define X(id, name, sign, inverse, mirrored) TR_CMP_##id,
    TR_CMPOPS(X)
#undef X
        TR_CMP__COUNT
} tr_cmpop;

/* How an atomic operation combines what is in memory with its value. X(ID, "name", op or TR_OP__COUNT: it is
 * none, classes). min, max: a NaN, there or given, leaves what is there; nanmin, nanmax: a
 * number wins over a NaN. inc: one more, but 0 from the value on; dec: one less, but the
 * value where 0 or more than the value is. */
#define TR_ATOMICS(X)                      \
    X(ADD, "add", TR_OP_ADD, "iuf")        \
    X(MIN, "min", TR_OP__COUNT, "iuf")     \
    X(MAX, "max", TR_OP__COUNT, "iuf")     \
    X(NANMIN, "nanmin", TR_OP__COUNT, "f") \
    X(NANMAX, "nanmax", TR_OP__COUNT, "f") \
    X(AND, "and", TR_OP_AND, "iu")         \
    X(OR, "or", TR_OP_OR, "iu")            \
    X(XOR, "xor", TR_OP_XOR, "iu")         \
    X(INC, "inc", TR_OP__COUNT, "u")       \
    X(DEC, "dec", TR_OP__COUNT, "u")       \
    X(XCHG, "xchg", TR_OP__COUNT, "iuf") /* the value */
typedef enum tr_atomic {
#define X(id, name, op, of) TR_ATOMIC_##id,
    TR_ATOMICS(X)
#undef X
        TR_ATOMIC__COUNT
} tr_atomic;
typedef struct tr_atomicinfo {
    tr_op op;
    const char *of;
} tr_atomicinfo;
extern const char *const tr_atomic_name[TR_ATOMIC__COUNT];
extern const tr_atomicinfo tr_atomic_info[TR_ATOMIC__COUNT];

/* Where a shuffle's value comes from: the lane of this number, so many below or above, the
 * one whose bits differ in these. */
#define TR_SHFLS(X) \
    X(IDX, "idx")   \
    X(UP, "up")     \
    X(DOWN, "down") \
    X(XOR, "xor")
typedef enum tr_shfl {
#define X(id, name) TR_SHFL_##id,
    TR_SHFLS(X)
#undef X
        TR_SHFL__COUNT
} tr_shfl;
extern const char *const tr_shfl_name[TR_SHFL__COUNT];

/* tr_ins.sub of an ADD that counts the turns of a loop over threads: they do not meet in memory, but for
 * atomics; and there are not as many as threads. Or it is a place that is computed where it is used: for LLVM
 * it follows from no counter, of which it would make one for each place and array, in registers. */
#define TR_TURNS(X)       \
    X(NONE, NULL)         \
    X(APART, "turn")      \
    X(TRIMMED, "trimmed") \
    X(PLACE, "place")
typedef enum tr_turn {
#define X(id, name) TR_TURN_##id,
    TR_TURNS(X)
#undef X
        TR_TURN__COUNT
} tr_turn;
extern const char *const tr_turn_name[TR_TURN__COUNT];

/* tr_ins.sub of an UNDEFVAR: whose variable is read where it has no value, or that nothing reads it here. */
#define TR_UNDEFS(X)    \
    X(LOCAL, NULL)      \
    X(GLOBAL, "global") \
    X(FREE, "free")     \
    X(UNSET, "unset")
typedef enum tr_undef {
#define X(id, name) TR_UNDEF_##id,
    TR_UNDEFS(X)
#undef X
        TR_UNDEF__COUNT
} tr_undef;
extern const char *const tr_undef_name[TR_UNDEF__COUNT];

/* What threads that meet make of a value of each. */
#define TR_VOTES(X)     \
    X(ALL, "all")       \
    X(ANY, "any")       \
    X(EQ, "eq")         \
    X(BALLOT, "ballot") \
    X(COUNT, "count")
typedef enum tr_vote {
#define X(id, name) TR_VOTE_##id,
    TR_VOTES(X)
#undef X
        TR_VOTE__COUNT
} tr_vote;
extern const char *const tr_vote_name[TR_VOTE__COUNT];

#define TR_BITOPS(X) \
    X(POPC, "popc")  \
    X(BREV, "brev")  \
    X(CLZ, "clz")    \
    X(CTZ, "ctz")
typedef enum tr_bitop {
#define X(id, name) TR_BITS_##id,
    TR_BITOPS(X)
#undef X
        TR_BITS__COUNT
} tr_bitop;
extern const char *const tr_bitop_name[TR_BITS__COUNT];

/* Among whom a fence orders writes to memory. */
#define TR_SCOPES(X)    \
    X(BLOCK, "block")   \
    X(DEVICE, "device") \
    X(SYSTEM, "system")
typedef enum tr_scope {
#define X(id, name) TR_SCOPE_##id,
    TR_SCOPES(X)
#undef X
        TR_SCOPE__COUNT
} tr_scope;
extern const char *const tr_scope_name[TR_SCOPE__COUNT];

/* How a function of others (callx) is called: Numba's way, a status and the result behind the first argument,
 * or C's; by its symbol, or by an address that is looked up where code is loaded. */
#define TR_ABIS(X)          \
    X(NUMBA, "numba")       \
    X(C, "c")               \
    X(NUMBA_AT, "numba_at") \
    X(C_AT, "c_at")
typedef enum tr_abi_x {
#define X(id, name) TR_ABI_X_##id,
    TR_ABIS(X)
#undef X
        TR_ABI_X__COUNT
} tr_abi_x;
extern const char *const tr_abi_x_name[TR_ABI_X__COUNT];
static inline bool tr_abi_x_numba(unsigned abi) {
    return abi == TR_ABI_X_NUMBA || abi == TR_ABI_X_NUMBA_AT;
}
static inline bool tr_abi_x_at(unsigned abi) {
    return abi >= TR_ABI_X_NUMBA_AT;
}

enum {
    TR_LAUNCH_SIZES = 7
}; /* first operands of a launch: blocks, threads of each (x, y, z), bytes of dynamic shared memory */
enum { TR_WARP = 32 }; /* threads of a warp, which are numbered through their block, x first */

typedef enum tr_mathfn {
#define X(id, name, arity, intr, f64, f32, dev, res) TR_MATH_##id,
#include "ir/math.def"
#undef X
    TR_MATH__COUNT
} tr_mathfn;
typedef struct tr_mathinfo {
    const char *name;
    uint8_t arity;
    const char *intrinsic, *f64, *f32, *dev;
    char result; /* 's' as operand, 'b' i1 */
} tr_mathinfo;
extern const tr_mathinfo tr_math_info[TR_MATH__COUNT];

typedef enum tr_exc {
#define X(id, name, bases) TR_EXC_##id,
#include "ir/exc.def"
#undef X
    /* and from here on the program's own: tr_prog.excs; but one of the host's, where a site's payload says
     * which it is, and from bit TR_CAUGHT_SHIFT on the number of its class, which is one of the others: */
    TR_EXC__COUNT,
    TR_EXC_HOST = UINT16_MAX
} tr_exc;
extern const char *const tr_exc_name[TR_EXC__COUNT];
extern const char *const tr_bin_name[TR_BIN__COUNT];
extern const char *const tr_un_name[TR_UN__COUNT];
extern const char *const tr_cmp_name[TR_CMP__COUNT];
extern const tr_cmpop tr_cmp_inverse[TR_CMP__COUNT], tr_cmp_mirrored[TR_CMP__COUNT];

/* Keyword and star use of a front CALLPY: operands are callee, positional..., then keyword values, then the
 * mapping after `**`. */
typedef struct tr_callinfo {
    uint32_t nkw;
    const char *const *kwnames; /* of the last nkw operands */
    const uint8_t *stars;       /* NULL: none; of each positional argument, is it one with a star? */
    bool starstar;              /* the last operand is a mapping of more keywords, or a tuple of such */
} tr_callinfo;

/* What a SPREAD gives of what is no tuple and no list display: it as it is; a list of its items as they are
 * now, since what comes before they are asked for may change it; it, or a list where `a, *b = x` cannot ask
 * it for an item by number. */
typedef enum tr_spread { TR_SPREAD_AS_IS, TR_SPREAD_COPY, TR_SPREAD_COUNTED, TR_SPREAD__COUNT } tr_spread;

/* What becomes of a GENERATE: a generator, or at once the list. Of a generator: whether a variable
 * that it reads is assigned again after it is made; before it is given to what stands in the same
 * block, or in the loop that runs over it. */
typedef enum tr_generates {
    TR_MAKES_LIST = 1,
    TR_MAKES_LATE = 2,
    TR_MAKES_LATE_SOON = 4, /* beside LATE */
    TR_MAKES_SET = 8,
    TR_MAKES_DICT = 16,
    TR_MAKES_NOW = TR_MAKES_LIST | TR_MAKES_SET | TR_MAKES_DICT,
    TR_MAKES__COUNT = 32
} tr_generates;

/* Where an array is made, as tr_ins.sub of ALLOC says. */
enum { TR_HERE, TR_FAR };
/* How an item is loaded, as LOAD's says: nothing, where no index is out of range, from a device's memory. */
enum { TR_LOAD_GUARDED = 1, TR_LOAD_FAR };

/* Of which number the address is a multiple, as SHARED's and LOCAL's says: 0 nothing more than its items
 * need, k of 2**(k - 1). */
enum { TR_ALIGN__COUNT = 12 };

/* The lists of words that follow the name of an op: X(id, "what one of them is", names, count, silent).
 * tr_ins.sub is the number of one; silent: 0 may be, and is not written. Printing, reading and verifying go
 * by these rows, and op.def says of each op which it has: one more word of a list is a row of that list. */
#define TR_WORDLISTS(X)                                                       \
    X(NONE, NULL, NULL, 1, true)                                              \
    X(BIN, "an operator", tr_bin_name, TR_BIN__COUNT, false)                  \
    X(UN, "an operator", tr_un_name, TR_UN__COUNT, false)                     \
    X(CMP, "a comparison", tr_cmp_name, TR_CMP__COUNT, false)                 \
    X(MATH, "a function", tr_math_name, TR_MATH__COUNT, false)                \
    X(NOT, "a negation", tr_not_name, 2, true)                                \
    X(UNCHECKED, "a promise", tr_unchecked_name, 2, true)                     \
    X(GUARDED, "a guard", tr_guarded_name, 3, true)                           \
    X(FAR, "a place", tr_far_name, 2, true)                                   \
    X(ALIGN, "where it begins", tr_align_name, TR_ALIGN__COUNT, true)         \
    X(MAKES, "how items are given", tr_makes_name, TR_MAKES__COUNT, true)     \
    X(SPREAD, "what is given", tr_spread_name, TR_SPREAD__COUNT, true)        \
    X(TURN, "a kind of sum", tr_turn_name, TR_TURN__COUNT, true)              \
    X(UNDEF, "whose variable", tr_undef_name, TR_UNDEF__COUNT, true)          \
    X(ATOMIC, "an atomic operation", tr_atomic_name, TR_ATOMIC__COUNT, false) \
    X(BITS, "a function of bits", tr_bitop_name, TR_BITS__COUNT, false)       \
    X(SCOPE, "whom it is for", tr_scope_name, TR_SCOPE__COUNT, false)         \
    X(ABI, "a way to call", tr_abi_x_name, TR_ABI_X__COUNT, false)            \
    X(SHFL, "a way to shuffle", tr_shfl_name, TR_SHFL__COUNT, false)          \
    X(VOTE, "a vote", tr_vote_name, TR_VOTE__COUNT, false)
typedef enum tr_words {
#define X(id, what, names, count, silent) TR_WORDS_##id,
    TR_WORDLISTS(X)
#undef X
        TR_WORDS__COUNT
} tr_words;

typedef struct tr_wordlist {
    const char *what;
    const char *const *name; /* NULL where a number between others says nothing */
    uint16_t count;
    bool silent;
} tr_wordlist;
extern const tr_wordlist tr_op_words[TR_WORDS__COUNT];
static inline const tr_wordlist *tr_words_of(unsigned op) {
    return &tr_op_words[op < TR_OP__COUNT ? tr_op_info[op].words : TR_WORDS_NONE]; /* of a broken one, none */
}

enum {
    TR_CAUGHT_SHIFT = 48
}; /* what `catch` gives: the number of the class above, which exception it is below */
_Static_assert(TR_EXC__COUNT <= 64, "a set of them is a word");
extern const uint64_t
    tr_exc_bases[TR_EXC__COUNT]; /* the classes of exc.def that each is derived from directly */

/* Text of one in the IR: its name, or of a program's own "exc7". */
const char *tr_exc_text(uint32_t exc, char buf[16]);

/* Where compiled code may raise, and what. `text` may hold {0} {1} ...: the payload operands' values; {w}:
 * for a checkindex, the index before it was wrapped; {u}: an unsigned one. With nargs >= 0 and no text the
 * exception is raised with these arguments: a constant object, or NULL for the next payload value. A tuple is
 * an object without items, and its items follow. With both, the message is the text, and {0} {1} ... stand
 * for the args. */
typedef struct tr_site {
    uint32_t exc;     /* tr_exc */
    const char *text; /* message, or NULL when args are used */
    int32_t nargs;    /* -1: use text */
    const tr_obj *const *args;
} tr_site;

/* Of a list that is a variable which functions share (lib/shared.c), which tells it from the user's lists. */
#define TR_NO_VARIABLE "cannot allocate a variable that functions share"
/* NumPy's words for an array whose bytes int64 cannot count: a ValueError, made or not. */
#define TR_TOO_BIG \
    "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size."
/* Where a product of extents is followed in float64: less than 2**63, so that no rounding lets a larger one
 * pass. */
#define TR_MOST_BYTES 0x1.fffffp62

/* How a pattern's reductions and scans combine their values. */
typedef enum tr_redk {
#define X(id, name, op, wins, start, of, repeats, place, joins, absorbs) TR_RED_##id,
#include "ir/reds.def"
#undef X
    TR_RED__COUNT
} tr_redk;
typedef enum tr_start {
    TR_START_NONE, /* no bits */
    TR_START_ONES, /* all bits */
    TR_START_ZERO,
    TR_START_ONE,
    TR_START_SMALLEST,
    TR_START_LARGEST,
    TR_START__COUNT
} tr_start;
typedef struct tr_redinfo {
    tr_op op;
    tr_cmpop wins;
    tr_start start;
    const char *of;
    bool repeats, place, joins;
    tr_start absorbs;
} tr_redinfo;
extern const tr_redinfo tr_red_info[TR_RED__COUNT];
extern const char *const tr_red_name[TR_RED__COUNT];
/* The operation that joins two values of a type. TR_OP__COUNT: one of both is taken, as of floats, whose NaN
 * and zeros the smaller and the larger one are particular about. */
tr_op tr_red_op(tr_redk k, const tr_ty *t);

/* A number, by the class of its type: an integer or bool, a float, a complex number. */
typedef struct tr_number {
    int64_t i;
    double re, im;
} tr_number;
bool tr_red_takes(tr_redk k, const tr_ty *t);      /* values of t */
bool tr_red_regroups(tr_redk k, const tr_ty *t);   /* the result depends on how values are grouped */
bool tr_red_absorbs(tr_redk k, const tr_ty *t);    /* some value of t stays, whatever comes */
tr_number tr_red_start(tr_redk k, const tr_ty *t); /* the identity */

enum { TR_MAX_REDS = 12 }; /* that fusion gives a pattern: more do not stay in registers */

/* Whether several cores run a pattern's rounds. WISH: they are to if they may, which is not decided yet.
 * PROVEN: they may, that follows from its functions (summary.h). PRANGE: it was a loop over a prange, and
 * where its iterations were not seen to meet in memory the user says that they do not. */
typedef enum tr_par { TR_PAR_NO, TR_PAR_WISH, TR_PAR_PROVEN, TR_PAR_PRANGE, TR_PAR__COUNT } tr_par;
extern const char *const tr_par_name[TR_PAR__COUNT]; /* as the text has it */

struct tr_fn;
/* One parallel node: a list of ports, the operands of the PATTERN instruction, each with a role. roles.def
 * has what each role's operands are, and what the functions take and yield for them, in this order: nspace
 * extents (i64); nin input arrays and nout output arrays, each of rank nspace, read and written at the node's
 * index, shapes already checked to match (an axis of extent 1 of an input repeats); nfilt packed arrays;
 * nbest arrays of what is chosen; initial values of nscan scans, then of nfold other reductions; ntop: how
 * many are chosen (i64); nscat targets of scatters; ntable captured arrays that rounds have tables of; nein
 * and neout arrays of the epilogue; ncap captured values; nwhen: it runs on all cores where that is true,
 * else in order on one; ncost: what a round costs, in instructions, in place of sched.cost.
 *
 * The lambda's params: nspace indices (i64), nin elements, nscan running values, ncap captures. It ends in
 * YIELD: nout elements of the outputs' dtypes, nfilt of the packed ones', nbest of what is chosen,
 * contributions to the reductions, ntop keys, then for each scatter an index per axis of its target and a
 * value. Iterations are independent but for the reductions, choices and scatters. Sums of floats are
 * associated in a tree that depends on the extents alone, with an error no worse than pairwise summation.
 *
 * keep: axes that the reductions leave in place, a bit each; 0: all are reduced and the result is a value per
 * reduction. With keep there is a reduction of its own, over the other axes in C order, for each index of the
 * kept axes. What becomes of its value says the epilogue: a second lambda with the kept axes as its space.
 * Its params: their indices, the reduced values, nein elements of its inputs, ncap captures; it yields the
 * elements of its neout outputs. Its arrays have one axis per kept one.
 *
 * Of a scan the lambda is given the value before its own contribution, so the reduced axes are walked in C
 * order, one by one. Sums and products of floats in scans are joined block by block, sums in a tree within
 * these (scans.c says how, and which patterns that holds for; there the sum of the running value and the
 * contribution, as an operation of the lambda, is the value after the round).
 *
 * Packed arrays (a filter, or stream compaction) are of one axis and layout C, and take what is kept, side by
 * side. The first scan counts it: it adds i64, from 0, and contributes 1 where the round's elements are kept
 * and else 0. Each round stores its elements where the scan stands, so the last place is scratch; once the
 * scan has come to that of the shortest array, nothing more is kept. A filter keeps no axes.
 *
 * With a `top` (k-select) there is one axis that is not kept, and of the elements along it the k best are
 * chosen, by the key that is yielded (the largest, or the smallest: TR_TOP_*), for each index of the kept
 * axes. What the lambda yields for the `best` arrays at those stands in these, at the kept axes' indices and
 * along the last axis in the order of the keys: the best first, of equal ones the one of the lower index, for
 * floats -0.0 equal to 0.0 and NaN to NaN. k is not negative, not more than there are elements, and the
 * length of that last axis. The lambda only computes: it is run again for what is chosen, so no input shares
 * memory with an output. There are no reductions beside, nothing is packed or scattered, and there is no
 * epilogue.
 *
 * Targets (a scatter) are arrays of any rank and layout, of which each round stores to one element, whose
 * indices are in range and not negative. The rounds' values come in C order of the space: with "put" the last
 * one stays, else each is combined with what is there, as a reduction is; sums and products of floats in
 * blocks of rounds, where scatters.c says so. A target shares no memory with any other operand, and nothing
 * else of the node reads or writes it. A pattern that scatters keeps no axes.
 *
 * Tables (reduction of arrays) are of the first captured arrays, which all rounds store to: each round but
 * the first is given one like the array that begins with what changes nothing, and these are joined to the
 * array in the order of the rounds. So rounds of one core and of all give the same bits. (The interpreter
 * gives all rounds the array itself, as its scatters have no blocks.)
 *
 * Values may be joined by a function of the user's ("join"), which is a lambda of the node, too: it is given
 * two values and what is captured, and yields one. A value is a number, or a tuple of numbers. Its reduction
 * of n contributions, in C order, is join(initial value, total), and the initial value where there are none.
 * The total is joined in a tree that depends on positions alone: neighbours in pairs, then these in pairs,
 * and so on, where one that has no neighbour goes on as it is. So the order of values stays, and any 2^k that
 * begin at a multiple of 2^k are a node. Contributions are taken in blocks of TR_SUM_BLOCK (rt/layout.h), and
 * a block is joined before the lambda runs for the next: that is what effects can tell.
 *
 * A lambda that only computes is scalar; one that besides loads from captured arrays only reads, and counts
 * as scalar work where it is not computed twice; one that stores, calls or allocates is a region: it is never
 * copied and never merged. What memory it may touch is what its instructions say (summary.h). Two operands
 * that are different values share no memory if one of them is written, but an input and an output element for
 * element, and what is written is not captured by a lambda that only reads; no two elements of what is
 * written lie in one place. */
enum {
    TR_SCATTER_PUT = TR_RED__COUNT,
    TR_SCATTER__COUNT
}; /* how values come to be in a target: put, or a tr_redk */
extern const char *const tr_scatter_name[TR_SCATTER__COUNT];
/* Which keys are the best. NaN is the largest of all, as in NumPy's sorts, or with "numbers" the smallest. */
typedef enum tr_topk { TR_TOP_LARGEST, TR_TOP_SMALLEST, TR_TOP_NUMBERS, TR_TOP__COUNT } tr_topk;
extern const char *const tr_top_name[TR_TOP__COUNT];
bool tr_scatter_takes(unsigned how, const tr_ty *t); /* values of t */

/* How the loops of a pattern go (sched.h). */
enum {
    TR_MAX_CHUNK = 4096,
    TR_MAX_STRIP = 8,
    TR_MAX_UNROLL = 4,
    TR_MAX_STOP = 1 << 16,
    TR_TILE_GROUP = 4,
    TR_MAX_COST = 1 << 20
};
typedef struct tr_sched {
#define X(id, word, form, max, tag, what) uint32_t id;
#include "ir/sched.def"
#undef X
} tr_sched;

/* The roles of a pattern's operands (ir/roles.def). */
typedef enum tr_role {
#define X(id, ...) P_##id,
#include "ir/roles.def"
#undef X
    TR_ROLE__COUNT
} tr_role;
/* A pattern's functions, as tr_pat_fn numbers them; of those that join values (tr_join.by) it may have
 * several, which are given the two values and then what is captured. */
enum { TR_LAM, TR_EPI };
enum { TR_BY_CAP = 2 }; /* the first captured value among the params of one that joins */

/* How values come together in a scan, a reduction or a target, or which are chosen. */
typedef struct tr_join {
    uint8_t how;      /* tr_redk; of a scatter, TR_SCATTER_PUT, too; of a choice a tr_topk */
    uint8_t fast;     /* how sums and such of floats may be regrouped, a set of TR_FM_* */
    struct tr_fn *by; /* of "join": the function of two values; else NULL */
} tr_join;

typedef struct tr_pat {
    union { /* how many operands have each role; they stand in the order of the roles */
        uint16_t n[TR_ROLE__COUNT];
        struct {
#define X(id, count, ...) uint16_t count;
#include "ir/roles.def"
#undef X
        };
    };
    uint8_t par; /* tr_par */
    /* an element of an output lies where one of another index lies of no input: promised by the caller */
    bool apart;
    uint32_t keep;
    tr_join *joins;          /* of scans, reductions, choices and scatters, one after another */
    struct tr_fn *lam, *epi; /* epi: NULL without keep, or when neither outputs nor reductions need one */
    tr_sched sched;
} tr_pat;

static inline bool tr_pat_is_parallel(const tr_pat *p) {
    return p->par >= TR_PAR_PROVEN;
}
static inline unsigned tr_pat_nkeep(const tr_pat *p) {
    return (unsigned)__builtin_popcount(p->keep);
}
/* Where the operands of a role begin: with a known role these are additions. */
static inline uint32_t tr_pat_at(const tr_pat *p, unsigned role) {
    uint32_t n = 0;
#define X(id, count, ...) n += P_##id < role ? p->count : 0u;
#include "ir/roles.def"
#undef X
    return n;
}
static inline uint32_t tr_pat_nargs(const tr_pat *p) {
    return tr_pat_at(p, TR_ROLE__COUNT);
}
/* How many of a role one of the functions has to do with. */
static inline uint32_t tr_pat_nof(const tr_pat *p, unsigned fn, unsigned role) {
    return fn == TR_EPI && role == P_SPACE ? tr_pat_nkeep(p) : p->n[role];
}
/* Where the params for a role begin, of one of the functions. */
static inline uint32_t tr_pat_param(const tr_pat *p, unsigned fn, unsigned role) {
    enum { NONE, INDEX, ITEM, VALUE };
    uint32_t n = 0;
#define X(id, count, most, word, mark, join, of, operand, lam, epi, ...) \
    n += P_##id < role && (fn == TR_EPI ? epi : lam) != NONE ? tr_pat_nof(p, fn, P_##id) : 0;
#include "ir/roles.def"
#undef X
    return n;
}
static inline uint32_t tr_pat_nparams(const tr_pat *p, unsigned fn) {
    return tr_pat_param(p, fn, TR_ROLE__COUNT);
}
/* Where what it yields for a role begins: for targets, which yield places, and before. */
static inline uint32_t tr_pat_slot(const tr_pat *p, unsigned fn, unsigned role) {
    enum { NONE, ITEM, VALUE, KEY, PLACE };
    uint32_t n = 0;
#define X(id, count, most, word, mark, join, of, operand, lam, epi, gives, epi_gives, ...) \
    n += P_##id < role && (fn == TR_EPI ? epi_gives : gives) != NONE ? p->count : 0u;
#include "ir/roles.def"
#undef X
    return n;
}
/* Reductions: scans, then the others. */
static inline uint32_t tr_pat_nred(const tr_pat *p) {
    return (uint32_t)p->nscan + p->nfold;
}
static inline tr_join *tr_pat_join(const tr_pat *p, uint32_t operand) {
    assert(operand >= tr_pat_at(p, P_SCAN) && operand < tr_pat_at(p, P_TABLE + 1) && "one that joins");
    return p->joins + (operand - tr_pat_at(p, P_SCAN));
}
static inline uint32_t tr_pat_njoins(const tr_pat *p) {
    return tr_pat_nred(p) + p->ntop + p->nscat + p->ntable;
}
static inline tr_redk tr_pat_red(const tr_pat *p, uint32_t k) {
    return (tr_redk)p->joins[k].how;
}
static inline uint8_t tr_pat_fast(const tr_pat *p, uint32_t k) {
    return p->joins[k].fast;
}
static inline uint8_t tr_pat_scatter(const tr_pat *p, uint32_t k) {
    return p->joins[tr_pat_nred(p) + p->ntop + k].how;
}
static inline tr_topk tr_pat_top(const tr_pat *p) {
    assert(p->ntop && "something is chosen");
    return (tr_topk)p->joins[tr_pat_nred(p)].how;
}
/* The two that roles.def speaks of, or NULL. */
static inline struct tr_fn *tr_pat_fn(const tr_pat *p, unsigned i) {
    return i == TR_LAM ? p->lam : i == TR_EPI ? p->epi : NULL;
}
/* All functions of a pattern, in the order of their texts: the lambda, the epilogue, those that join values.
 * for (i = 0; (g = tr_pat_any(p, i)); i++) */
struct tr_fn *tr_pat_any(const tr_pat *p, unsigned i);

typedef struct tr_rtcall {
    uint16_t row;     /* tr_rt in rt/rt.def */
    const char *text; /* a constant string passed as last argument (pointer), or NULL */
} tr_rtcall;

typedef struct tr_edge {
    tr_bid to;
    uint32_t n;
    tr_val *args;
} tr_edge;

/* tr_ins.flags: no signed wrap; and, of arithmetic on floats, by which liberties it may be rewritten: a set
 * of TR_FM_*, shifted. They are the instruction's own, so code of functions with different options may stand
 * side by side. */
enum { F_NSW = 1, F_FAST_SHIFT = 1, F_FAST = TR_FM_ALL << F_FAST_SHIFT };

typedef struct tr_ins {
    uint16_t op; /* tr_op */
    uint8_t sub, flags;
    uint32_t nargs;
    tr_val *args;
    const tr_ty *ty; /* NULL: untyped (front) or no result */
    union {
        int64_t i;
        double f;
        double c[2];
        const char *s;
        const tr_obj *obj;
        uint32_t fn;
        tr_edge *succ; /* BR: 1, CBR: 2 */
        const tr_callinfo *call;
        const tr_site *site;
        tr_pat *pat;
        const tr_rtcall *rt;
    } imm;
    uint32_t loc; /* index into fn->locs; 0 = unknown */
    tr_bid blk;
    tr_val prev, next;
} tr_ins;

/* --- views --- */

/* VIEW: axes of a result and of a base that have a number for each in imm.i; what has more
 * axes is a RESTRIDE. */
enum { TR_VIEW_AXES = 12, TR_VIEW_BASE_AXES = 30, TR_VIEW_BITS = 5 };

/* The base's axis along which axis k of a VIEW runs; -1: it is a new one. */
static inline int tr_view_axis(const tr_ins *view, unsigned k) {
    return (int)((uint64_t)view->imm.i >> k * TR_VIEW_BITS & 31) - 1;
}
static inline int64_t tr_view_along(unsigned k, int axis) {
    return (int64_t)((uint64_t)(axis + 1) << k * TR_VIEW_BITS);
}
static inline uint32_t tr_view_nbase(const tr_ins *view) {
    return view->nargs - 1 - 2u * view->ty->ndim;
}
/* Operands of a VIEW: where each axis of the base starts. */
static inline const tr_val *tr_view_starts(const tr_ins *view) {
    return view->args + 1;
}
/* The step along each axis, of neighbours in the result. */
static inline const tr_val *tr_view_steps(const tr_ins *view) {
    return view->args + view->nargs - view->ty->ndim;
}
/* Of which number the address of SHARED's or LOCAL's memory is a multiple; 1: of none that is said. */
static inline int64_t tr_align_of(const tr_ins *in) {
    assert(in->sub < TR_ALIGN__COUNT && "a word of the list");
    return in->sub ? INT64_C(1) << (in->sub - 1) : 1;
}
static inline bool tr_is_view(const tr_ins *in) {
    return in->op == TR_OP_VIEW || in->op == TR_OP_RESTRIDE || in->op == TR_OP_FIELD;
}
/* The operands that are the sizes of an array which is made here, or is a view; NULL: they
 * stand elsewhere. */
static inline const tr_val *tr_made_sizes(const tr_ins *in) {
    return in->op == TR_OP_ALLOC      ? in->args
           : in->op == TR_OP_RESTRIDE ? in->args + 2
           : in->op == TR_OP_VIEW     ? in->args + 1 + tr_view_nbase(in)
           : in->op == TR_OP_FIELD    ? in->args + 1
           : in->op == TR_OP_ARRAYAT  ? in->args + 1
                                      : NULL;
}

/* The least float64 above -2^63. A float that becomes an int64 without fitting is INT64_MIN, so none of
 * what fits but -2^63 itself is less. */
#define TR_FITS_LEAST (INT64_MIN + 1024)

/* How seldom a block runs: nothing is known; where arrays are large, which is seldom, but matters
 * then (opt/pattern/byrow.c); hardly ever, a checked copy of a loop (opt/scalar/version.c); seldom, and more
 * so, where sizes do not agree (opt/pattern/agree.c). */
typedef enum tr_cold {
    TR_COLD_NO,
    TR_COLD_LARGE,
    TR_COLD_CHECKED,
    TR_COLD_SELDOM,
    TR_COLD_RARE,
    TR_COLD__COUNT
} tr_cold;
extern const char *const tr_cold_name[TR_COLD__COUNT]; /* as the text has it */

typedef struct tr_blk {
    TR_VEC(tr_val) params;
    tr_val first, last; /* last is the terminator once the block is finished */
    tr_u32s preds;      /* filled by tr_cfg_compute; one entry per edge, unreachable blocks left out */
    uint32_t rpo;       /* position in fn->rpo; TR_NOBLK when unreachable */
    tr_bid idom;        /* filled by tr_dom_compute */
    bool dead;          /* removed */
    uint8_t cold;       /* tr_cold */
} tr_blk;

typedef struct tr_loc {
    tr_place place;
    uint32_t parent; /* the call this was inlined at, 0 = none */
} tr_loc;

/* Where a function runs. A host function asks for nothing of a device, so it may be compiled for one too,
 * and called there. */
typedef enum tr_fnkind { TR_FN_HOST, TR_FN_DEVICE, TR_FN_KERNEL, TR_FN__COUNT } tr_fnkind;
extern const char *const tr_fnkind_name[TR_FN__COUNT]; /* as the text has it */

typedef struct tr_fn {
    tr_ctx *ctx;
    const char *name; /* unique in its program and stage: "f", "f.1" */
    const char *file;
    uint8_t stage; /* S_F or S_T */
    uint8_t kind;  /* tr_fnkind */
    bool is_lambda;
    const tr_ty *ret; /* typed stage */
    TR_VEC(tr_ins) ins;
    TR_VEC(tr_blk) blks;        /* 0 is the entry; its params are the function's */
    TR_VEC(tr_loc) locs;        /* 0 is "unknown" */
    TR_VEC(const char *) names; /* names[v]: a user's name for a value, or NULL; may be shorter than ins */
    tr_map consts;              /* interned constants */
    tr_u32s rpo;                /* reachable blocks in reverse post-order; by tr_cfg_compute */
    const struct tr_forest *forest; /* loops.h: for a pass that asks for it; NULL: there is none */
    tr_u32s work;                   /* scratch of cfg.c */
    uint32_t func;                  /* the user's function it comes from */
} tr_fn;

static inline tr_ins *tr_at(const tr_fn *f, tr_val v) {
    assert(v < f->ins.n);
    return &f->ins.d[v];
}
static inline tr_blk *tr_blk_at(const tr_fn *f, tr_bid b) {
    assert(b < f->blks.n);
    return &f->blks.d[b];
}
/* Two lists of so many values. One of none may be NULL, which memcmp must not be given. */
static inline bool tr_vals_same(const tr_val *a, const tr_val *b, uint32_t n) {
    return n == 0 || !memcmp(a, b, n * sizeof *a);
}
static inline tr_val tr_arg(const tr_fn *f, tr_val v, uint32_t i) {
    assert(v < f->ins.n && i < f->ins.d[v].nargs);
    return f->ins.d[v].args[i];
}
uint8_t tr_ins_effects(const tr_ins *i); /* of its op; of CALLRT those of its row */
/* It may take items out of a list among its operands, and drop them. */
bool tr_ins_cuts(const tr_ins *in);
/* One that only a device's functions have, or kernels. Atomics are anybody's. */
static inline bool tr_op_is_device(unsigned op) {
    return op >= TR_OP_THREADIDX && op <= TR_OP_BARRIER;
}
/* What an instruction says of a loop's turns, which it counts. */
static inline tr_turn tr_turn_of(const tr_ins *in) {
    return in->op == TR_OP_ADD && in->sub != TR_TURN_PLACE ? (tr_turn)in->sub : TR_TURN_NONE;
}
/* Whom a thread waits for there: nobody, the lanes of its warp that are named (by operand 0; activemask: that
 * come), all threads of its block, of the grid. */
typedef enum tr_meeting { TR_MEETING_NONE, TR_MEETING_WARP, TR_MEETING_BLOCK, TR_MEETING_GRID } tr_meeting;
static inline tr_meeting tr_op_meets(unsigned op) {
    return op == TR_OP_BARRIER || op == TR_OP_BARVOTE    ? TR_MEETING_BLOCK
           : op >= TR_OP_ACTIVEMASK && op <= TR_OP_MATCH ? TR_MEETING_WARP
           : op == TR_OP_GRIDBARRIER                     ? TR_MEETING_GRID
                                                         : TR_MEETING_NONE;
}
static inline bool tr_ins_ends(const tr_ins *i) {
    return tr_op_info[i->op].effects & E_TERM;
}
enum { TR_COST_CHEAP = 6, TR_COST_DEAR = 15 };  /* more than a quotient; a function */
unsigned tr_ins_cost(const tr_fn *f, tr_val v); /* op.def's */
/* A lambda that only computes: no instruction has an effect. */
bool tr_fn_is_scalar(const tr_fn *f);
/* One that besides loads from arrays: in a pattern, from such as the node does not write. */
bool tr_fn_only_reads(const tr_fn *f);
/* So is the lambda of a pattern, and what joins values in it only computes: it may be moved and merged. */
bool tr_pat_only_computes(const tr_pat *p);
unsigned tr_fn_cost(const tr_fn *f); /* of one run without repetitions: its instructions' costs */
uint32_t tr_pat_nyield(const tr_fn *f, const tr_ins *in); /* values that the lambda of f's pattern yields */
const tr_ins *tr_pat_yield(const tr_fn *lam);             /* one of a lambda's YIELDs; all agree on types */
static inline bool tr_is_const(const tr_ins *i) {
    return i->op == TR_OP_CONST || i->op == TR_OP_UNDEF || i->op == TR_OP_CONSTARR || i->op == TR_OP_OBJ;
}
static inline uint32_t tr_nsucc(const tr_ins *i) {
    return i->op == TR_OP_BR ? 1 : i->op == TR_OP_CBR || i->op == TR_OP_TRY ? 2 : 0;
}
static inline bool tr_ins_raises(const tr_ins *i) {
    return tr_ins_effects(i) & E_RAISE;
}
/* Which operand of an instruction it consumes the reference of (op.def), TR_NOVAL: none. */
static inline uint32_t tr_consumed(const tr_ins *i) {
    char c = tr_op_info[i->op].owns;
    return c >= '0' && c <= '9' ? (uint32_t)(c - '0') : TR_NOVAL;
}
static inline uint8_t tr_ins_fast(const tr_ins *i) {
    return (uint8_t)(i->flags >> F_FAST_SHIFT);
}
/* Arithmetic on floats or complex numbers, whose fast-math flags mean something. */
bool tr_ins_is_real(const tr_fn *f, const tr_ins *i);
/* Marks all of these in f and its lambdas, and reductions, with a set of TR_FM_*. */
void tr_fn_mark_fast(tr_fn *f, uint8_t fast);
/* Terminator of a finished block. */
static inline tr_ins *tr_term(const tr_fn *f, tr_bid b) {
    return tr_at(f, f->blks.d[b].last);
}

/* --- build.c: making functions; the cursor appends at the end of a block, or before an instruction --- */

typedef struct tr_bld {
    tr_fn *fn;
    tr_bid blk;
    tr_val before; /* TR_NOVAL: append */
    uint32_t loc;  /* given to what is emitted */
} tr_bld;

tr_fn *tr_fn_new(tr_ctx *ctx, const char *name, uint8_t stage);
tr_bid tr_blk_new(tr_fn *f);
tr_val tr_blk_param(tr_fn *f, tr_bid b, const tr_ty *ty, const char *name);
uint32_t tr_loc_add(tr_fn *f, tr_place place, uint32_t parent);
void tr_val_name(tr_fn *f, tr_val v, const char *name);

tr_val tr_emit_v(tr_bld *b, tr_op op, const tr_ty *ty, uint32_t n, const tr_val *args);
/* All of an array with these sizes, which are its own. */
tr_val tr_emit_resized(tr_bld *b, const tr_ty *ty, tr_val array, const tr_val *sizes);
tr_val tr_emit0(tr_bld *b, tr_op op, const tr_ty *ty);
tr_val tr_emit1(tr_bld *b, tr_op op, const tr_ty *ty, tr_val x);
tr_val tr_emit2(tr_bld *b, tr_op op, const tr_ty *ty, tr_val x, tr_val y);
tr_val tr_emit3(tr_bld *b, tr_op op, const tr_ty *ty, tr_val x, tr_val y, tr_val z);
/* Terminators. Edge arguments are copied; more may be added with tr_edge_add while SSA is built. */
tr_val tr_br(tr_bld *b, tr_bid to, uint32_t n, const tr_val *args);
tr_val tr_cbr(tr_bld *b, tr_val cond, tr_bid t, uint32_t nt, const tr_val *targs, tr_bid e, uint32_t ne,
              const tr_val *eargs);
tr_val tr_try(tr_bld *b, tr_bid body, const tr_edge *handler);
void tr_edge_add(tr_fn *f, tr_edge *e, tr_val v);
bool tr_edge_same(const tr_edge *a, const tr_edge *b);

/* Interned constants. */
tr_val tr_const_int(tr_fn *f, const tr_ty *ty, int64_t v); /* bool and ints: wrapped to the type's width */
tr_val tr_const_float(tr_fn *f, const tr_ty *ty, double v);
tr_val tr_const_complex(tr_fn *f, const tr_ty *ty, double re, double im);
tr_val tr_red_identity(tr_fn *f, tr_redk k, const tr_ty *ty);
tr_val tr_const_undef(tr_fn *f, const tr_ty *ty);
tr_val tr_const_obj(tr_fn *f, const tr_obj *o); /* front */
tr_val tr_const_arr(tr_fn *f, const tr_ty *ty, const tr_obj *o);
tr_val tr_const_import(tr_fn *f, const tr_ins *c);            /* one of another function */
int64_t tr_bits_of(tr_bitop how, const tr_ty *ty, int64_t v); /* of an integer of this type */
/* True and the value for a CONST bool or int. */
bool tr_get_int(const tr_fn *f, tr_val v, int64_t *out);
/* What `rangelen` gives. Unsigned, so that the largest spans are right. */
static inline int64_t tr_range_len(int64_t start, int64_t stop, int64_t step) {
    uint64_t a = (uint64_t)start, b = (uint64_t)stop, by = (uint64_t)step;
    bool up = step > 0;
    if (step == 0 || (up ? stop <= start : stop >= start))
        return 0;
    uint64_t n = ((up ? b - a : a - b) - 1) / (up ? by : 0 - by) + 1;
    return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}
static inline bool tr_is_int(const tr_fn *f, tr_val v, int64_t n) {
    int64_t m;
    return tr_get_int(f, v, &m) && m == n;
}

/* --- edit.c --- */

void tr_ins_remove(tr_fn *f, tr_val v);                     /* unlinks; operands' uses are not looked at */
void tr_ins_move_before(tr_fn *f, tr_val v, tr_val before); /* relink, possibly into another block */
void tr_ins_move_end(tr_fn *f, tr_val v, tr_bid b);         /* before the terminator of b */
/* Replacements are recorded in `r` (zeroed map of size nvals made by _new) and carried out in one sweep. */
typedef struct tr_repl {
    tr_val *to; /* to[v] or TR_NOVAL */
    uint32_t n;
    bool any;
} tr_repl;
tr_repl tr_repl_new(tr_fn *f);
void tr_repl_set(tr_fn *f, tr_repl *r, tr_val from, tr_val to);
tr_val tr_repl_get(const tr_repl *r, tr_val v); /* follows chains */
void tr_repl_apply(tr_fn *f, tr_repl *r);
/* Splits a block before `at`; returns the new block, which takes `at` and all after it, and is as cold; the
 * old one gets no terminator. */
tr_bid tr_blk_split(tr_fn *f, tr_val at);
/* The same, and the old one jumps there. loc: the place of the jump. */
tr_bid tr_blk_cut(tr_fn *f, tr_val at, uint32_t loc);
/* Protects block b, which nobody protects yet: what raises in it goes to the handler. Its body moves
 * into a new block, which is returned. */
tr_bid tr_blk_protect(tr_fn *f, tr_bid b, const tr_edge *handler);
/* A block was cut into head and these parts: they are protected as it was, and is. */
void tr_blk_protect_parts(tr_fn *f, tr_bid head, const tr_bid *parts, uint32_t n);
bool tr_blk_raises(const tr_fn *f, tr_bid b); /* an instruction of it may raise */
tr_val
tr_caught(const tr_fn *f,
          tr_val reraise); /* the catch whose exception is raised again; TR_NOVAL: it comes from outside */
bool tr_fn_handles(const tr_fn *f); /* it, or a lambda of it, has a handler */
/* Per value, per block of f as it is now: none. Room for one more, so that there is some in any case. */
tr_val *tr_no_vals(const tr_fn *f);
tr_bid *tr_no_blks(const tr_fn *f);
/* Copies blocks of `src` into `dst` (which may be `src`): fills map[src value] and bmap[src block] for all
 * they define. The caller makes both arrays (tr_no_vals, tr_no_blks), empty but for what shall be
 * something else in the copy (a value from outside, a block to leave to); what is neither copied nor set
 * stays itself when dst == src. Types and sites are shared, patterns' lambdas cloned; locs get parent
 * `at_loc`, unknown ones become it. Used by inlining and opt/repair.h. */
void tr_clone_blocks(tr_fn *dst, const tr_fn *src, const tr_bid *blks, uint32_t nblks, tr_val *map,
                     tr_bid *bmap, uint32_t at_loc);
tr_fn *tr_fn_clone(const tr_fn *f); /* a function of its own, lambdas too */
/* Unreachable blocks go; params that are always the same value go; empty forwarding blocks and straight lines
 * merge. True if changed. */
bool tr_simplify_cfg(tr_fn *f);
void tr_simplify_tries(tr_fn *f); /* protection that does nothing goes; values stay as they are */
bool tr_remove_params(tr_fn *f);  /* trivial and unused block params */

/* --- cfg.c --- */

tr_u32s tr_live_blocks(const tr_fn *f); /* those that are not dead, in order of their numbers */
void tr_cfg_compute(tr_fn *f);          /* preds, rpo */
void tr_dom_compute(tr_fn *f);          /* idom; needs cfg */
bool tr_dominates(const tr_fn *f, tr_bid a, tr_bid b);
/* Where what raises in block b goes; NULL: out of the function. Needs cfg. */
const tr_edge *tr_handler(const tr_fn *f, tr_bid b);
const tr_edge *tr_handler_now(const tr_fn *f,
                              tr_bid b); /* where the flow of control is on the move: it is looked for */
/* The edges into block b, each once, one after the other: `for (tr_way w = {0}; tr_next_way(f, b, &w);)`. */
typedef struct tr_way {
    const tr_edge *edge;
    tr_bid from;
    uint32_t pred, succ; /* where to go on */
} tr_way;
bool tr_next_way(const tr_fn *f, tr_bid b, tr_way *w);
uint32_t tr_param_index(const tr_fn *f, tr_val param); /* among those of its block */
typedef struct tr_loop {
    tr_bid header;
    uint32_t parent; /* index or UINT32_MAX */
    uint32_t depth;
    tr_u32s blks;     /* all blocks, header first, in rpo */
    tr_bid preheader; /* the only outside predecessor of the header if it has one successor, else TR_NOBLK */
    tr_bid latch;     /* the only in-loop predecessor, else TR_NOBLK */
} tr_loop;
typedef TR_VEC(tr_loop) tr_loops;
void tr_loops_find(tr_fn *f, tr_loops *out,
                   uint32_t *innermost /* [nblks], UINT32_MAX = none */); /* needs dom */
uint32_t tr_loop_size(const tr_fn *f, const tr_loop *l);                  /* instructions */
uint32_t *tr_use_counts(const tr_fn *f);                                  /* [nvals] in the arena */

/* --- print.c, parse.c, verify.c --- */

void tr_ir_print(tr_sb *out, const tr_fn *f); /* values renumbered in order of appearance; lambdas nested */
/* Parses one or more functions. Fails with an error that names line and column. */
struct tr_prog;
bool tr_ir_parse(tr_ctx *ctx, const char *text, const char *file, struct tr_prog *out);
/* Checks everything; false and a report (the program with the faults in place) in `out` when something is
 * wrong. */
bool tr_ir_verify(const tr_fn *f, tr_sb *out);
/* The same for a function of a program, with what it refers to there: functions that it calls or makes
 * closures of. */
bool tr_ir_verify_in(const struct tr_prog *p, const tr_fn *f, tr_sb *out);
/* All functions of a program. */
bool tr_ir_verify_program(const struct tr_prog *p, tr_sb *out);

#endif
