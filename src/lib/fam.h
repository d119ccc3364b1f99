/* What the families of library functions (the files that builtins.def names) share: looking at bound
 * arguments. */
#ifndef TR_LIB_FAM_H
#define TR_LIB_FAM_H

#include "lib/em.h"
#include "lib/priv.h"
#include "ty/pick.h"

static inline const tr_ty *tr_fam_ty(tr_em *e, tr_tyk k) {
    return tr_ty_scalar(e->types, k);
}
/* The argument was given, and is not None. */
static inline bool tr_fam_given(tr_tv x) {
    return x.ty && !tr_tv_is_none(x);
}
/* Name of the called function for messages: "math.sqrt", ".reshape". */
const char *tr_fam_name(const tr_bcall *c);
/* x is a scalar of one of the classes ("bifc"; i: signed and unsigned); else an error that says what the
 * function takes. */
bool tr_fam_number(tr_em *e, const tr_bcall *c, tr_tv x, const char *classes);
/* Class of a scalar or literal: b i f c, unsigned counts as i; 0 for anything else. */
char tr_fam_class(tr_em *e, tr_tv x);
/* r, made from operands that were all weak, is weak again. */
tr_tv tr_fam_weaken(tr_em *e, tr_tv r, bool weak);
static inline bool tr_fam_weak(tr_em *e, tr_tv x) {
    const tr_ty *s = tr_lib_scalar(e, x.ty);
    return s && s->weak;
}
/* An integer argument as int64; OverflowError at run time for a uint64 that does not fit. */
bool tr_fam_int(tr_em *e, const tr_bcall *c, tr_tv x, const char *what, tr_tv *out);
/* The dtype that an argument names. */
bool tr_fam_dtype(tr_em *e, const tr_bcall *c, tr_tv x, const tr_ty **out);
/* An integer or bool rounded to so many digits, as 64 bits: uint64 for an unsigned one. What does not fit
 * wraps. */
tr_tv tr_fam_round_int(tr_em *e, tr_tv x, tr_tv ndigits);
/* A flag that must be known when compiling; `dflt` when absent. */
bool tr_fam_flag(tr_em *e, const tr_bcall *c, tr_tv x, const char *what, bool dflt, bool *out);
/* A dict of keys and values, in turn, whose lists have the number `which` (tr_em.list) and the one behind. */
bool tr_lib_numbered_dict(tr_em *e, uint32_t which, uint32_t n, const tr_tv *x, tr_tv *out);
/* Does its type say that there are no items: (), enumerate([]), zip([], x)? They are of no type then. */
bool tr_fam_gives_nothing(const tr_ty *it);
/* It is certain that no item ever comes of it, as far as is known: what it goes over is a list of nothing. */
bool tr_fam_never_gives(tr_em *e, tr_tv it);
/* An item of the list is taken: of one into which nothing is put that never returns. */
void tr_fam_takes_item(tr_em *e, tr_tv list);
/* An axis, a constant, of `ndim`; negative ones count from the end. */
bool tr_fam_axis(tr_em *e, const tr_bcall *c, uint32_t ndim, tr_tv x, uint32_t *out);
/* The same of one that may be known at run time alone, as an int64; whether axes are all
 * known when compiling. */
bool tr_fam_late_axis(tr_em *e, const tr_bcall *c, uint32_t ndim, tr_tv x, tr_tv *out);
bool tr_fam_are_known(uint32_t n, const tr_tv *x);
/* An integer, or the items of a tuple (list) of at most TR_MAX_NDIM; axes given so, a bit each. */
bool tr_fam_list(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *out, uint32_t *n);
bool tr_fam_axes(tr_em *e, const tr_bcall *c, uint32_t ndim, tr_tv x, uint32_t *mask);
/* a with its axes in another order (npshape.c); the diagonal k of two axes, as last axis (npviews.c); arrays
 * stacked along a new axis (npjoin.c). */
tr_tv tr_fam_permuted(tr_em *e, tr_tv a, const uint32_t *perm);
tr_tv tr_fam_permuted_late(tr_em *e, tr_tv a, const tr_tv *perm);
bool tr_fam_diagonal(tr_em *e, const tr_bcall *c, tr_tv a, tr_tv k, uint32_t ax1, uint32_t ax2, tr_tv *out);
/* Those below n in a row (npjoin.c). */
bool tr_fam_numbers(tr_em *e, tr_tv n, tr_tv *out);
bool tr_fam_stack(tr_em *e, const tr_bcall *c, tr_tv x, uint32_t axis, const tr_ty *dtype, tr_tv *out);
/* Extents that a shape names, an integer or a tuple of at most TR_MAX_NDIM: ValueError for negative ones. */
bool tr_fam_extents(tr_em *e, const tr_bcall *c, tr_tv x, tr_tv *n, uint32_t *ndim);
/* Extents of an array argument. */
void tr_fam_shape(tr_em *e, tr_tv a, tr_tv *shape);
static inline tr_tv tr_fam_not(tr_em *e, tr_tv c) {
    return tr_em_op1(e, TR_OP_NOT, c);
}
static inline tr_tv tr_fam_and(tr_em *e, tr_tv a, tr_tv b) {
    return tr_em_op2(e, TR_OP_AND, a, b);
}
static inline tr_tv tr_fam_or(tr_em *e, tr_tv a, tr_tv b) {
    return tr_em_op2(e, TR_OP_OR, a, b);
}
static inline tr_tv tr_fam_math1(tr_em *e, tr_mathfn fn, tr_tv x) {
    return tr_em_math(e, fn, 1, &x);
}
static inline tr_tv tr_fam_math2(tr_em *e, tr_mathfn fn, tr_tv x, tr_tv y) {
    return tr_em_math(e, fn, 2, (tr_tv[]){x, y});
}

/* A 1-d sequence of scalars folded by one pattern: items of any iterable, mapped by `item` when it is not
 * NULL. */
typedef bool (*tr_fam_itemfn)(tr_em *e, tr_tv x, const void *user, tr_tv *out);
bool tr_fam_reduce(tr_em *e, tr_tv it, tr_redk red, tr_tv init, tr_fam_itemfn item, const void *user,
                   tr_tv *out);
/* A function of the user's that is called for each item; that it never returns says nothing
 * about what comes after, and gives a value of type `never`, which nobody gets to see. False
 * without an error: it is being inferred. */
bool tr_fam_call(tr_em *e, tr_tv fn, uint32_t n, const tr_tv *x, const tr_ty *never, tr_tv *out);
/* What a user's ufunc, no generalised one, adds to its function; NULL: x is none. */
const tr_ufn *tr_fam_users_ufunc(tr_em *e, tr_tv x);
/* reduce() and accumulate() of any ufunc, item by item: parameters array, axis, dtype, out, keepdims,
 * initial; array, axis, dtype, out. `alone`: an identity takes no part. */
bool tr_fam_fold(tr_em *e, const tr_bcall *c, tr_tv self, bool alone, tr_tv *out);
bool tr_fam_fold_running(tr_em *e, const tr_bcall *c, tr_tv self, tr_tv *out);
bool tr_fam_has_identity(tr_em *e, tr_tv ufunc); /* what it joins with anything to give that back */
/* The message of arrays that cannot be joined: the axis, and the number of the second one,
 * whose size is {1}. */
#define TR_JOIN_DIFFERS                                                                               \
    "all the input array dimensions except for the concatenation axis must match exactly, but along " \
    "dimension %u, the array at index 0 has size {0} and the array at index %s has size {1}"
/* The part [from, from + n) of an axis: a view. */
tr_tv tr_fam_part(tr_em *e, tr_tv a, uint32_t axis, tr_tv from, tr_tv n);
/* Item type of an iterable, found dry. */
bool tr_fam_item_type(tr_em *e, tr_tv it, const tr_ty **out);
/* The identity of a reduction of values of type t: for min the largest, or the infinity. */
tr_tv tr_fam_start(tr_em *e, tr_redk red, const tr_ty *t);

/* A copy of an array with items of type `t`. */
bool tr_fam_copy_as(tr_em *e, tr_tv a, const tr_ty *t, tr_layout lay, tr_tv *out);
/* Of an integer's bits: how many, which (ir/ir.h). */
tr_tv tr_fam_bits(tr_em *e, tr_bitop op, tr_tv x);
tr_tv tr_fam_magnitude(tr_em *e, tr_tv v); /* |v| of a bool or an integer, as uint64 */
/* np.arange's start, stop, step and dtype (x[0] to x[3]), by place or by name; what is not given has
 * no type. The first alone is the end. */
bool tr_fam_arange_args(tr_em *e, const tr_bcall *c, tr_tv *x);
/* An array from what np.asarray takes: an array itself, a scalar, or nested tuples (lists) of scalars. dtype
 * may be NULL. */
bool tr_fam_as_array(tr_em *e, const tr_bcall *c, tr_tv x, const tr_ty *dtype, tr_tv *out);

/* keepdims= and out= of a result whose axes are those of a that `keep` has a bit for (npreduce.c). */
bool tr_fam_delivered(tr_em *e, const tr_bcall *c, tr_tv a, uint32_t keep, bool keepdims, tr_tv dst,
                      tr_tv *out);
/* where= is given, and no literal True (npreduce.c). */
bool tr_fam_masks(tr_tv where);
/* It as an array of bool, or a bool. */
bool tr_fam_mask(tr_em *e, const char *name, tr_tv where, tr_tv *mask);
/* Type in which NumPy adds up: small integers in 64 bits (npreduce.c). */
const tr_ty *tr_fam_sum_type(tr_em *e, const tr_ty *t);
/* Running values along an axis, in type t (NULL: the one sums have). c: array, axis, dtype, out. */
bool tr_fam_running(tr_em *e, const tr_bcall *c, tr_redk red, const tr_ty *t, tr_tv *out);
bool tr_lib_arr_bits(tr_em *e, const tr_bcall *c, tr_tv *out);

/* tr_em_each of what a generator expression gives: its loops, one within the other (kind_genexpr.c). */
bool tr_lib_each_genexpr(tr_em *e, tr_tv gen, uint32_t n, tr_tv *acc, tr_eachfn each, const void *user);
bool tr_lib_type_of_values(tr_em *e, tr_tv gen, const tr_ty **out); /* those that it gives */
/* A branch: where cond, a bool, holds, fn changes acc[n], but not its types (fam.c). */
typedef bool (*tr_whenfn)(tr_em *e, const void *user, tr_tv *acc);
bool tr_fam_when(tr_em *e, tr_tv cond, uint32_t n, tr_tv *acc, tr_whenfn fn, const void *user);

/* --- elementwise functions (npufunc.c) --- */

/* np.minimum and its kin (TR_UF_MINIMUM ...) of two numbers of one type. */
tr_tv tr_lib_pick(tr_em *e, int how, tr_tv a, tr_tv b);
/* The first n arguments are numbers or arrays of numbers; else an error. */
bool tr_fam_operands(tr_em *e, const tr_bcall *c, uint32_t n);
/* fn, with user `c`, over the first nin arguments of c; the two after them, where the row has them, are out=
 * and dtype=. */
bool tr_fam_ufunc(tr_em *e, const tr_bcall *c, uint32_t nin, tr_lib_eltfn fn, tr_tv *out);
/* Among the first n arguments, numbers and arrays, there is float16. */
bool tr_fam_has_half(const tr_bcall *c, uint32_t n);
/* What is reduced of numbers of type t is reduced in: float32 for float16. */
static inline const tr_ty *tr_fam_wide(tr_em *e, const tr_ty *t) {
    return t->kind == TR_TY_F16 ? tr_ty_scalar(e->types, TR_TY_F32) : t;
}
/* fn over x[0 .. n) into a new array, or into the argument out= where it is given. */
bool tr_fam_map_out(tr_em *e, const tr_bcall *c, uint32_t n, const tr_tv *x, tr_tv dst, tr_lib_eltfn fn,
                    const void *user, tr_tv *out);
/* The row is one of NumPy's ufuncs: those name their operands x, x1, x2. */
bool tr_fam_is_ufunc(uint32_t row);
/* NumPy's "same_kind" casting, and signed to unsigned too: an int64 variable is the weak int of NumPy's
 * caller. */
bool tr_fam_same_kind(const tr_ty *from, const tr_ty *to);

/* --- calls of ufuncs (npgufunc.c) --- */

const tr_ty *tr_fam_strong_type(tr_em *e, tr_tv x); /* of a number, or of an array's elements */
bool tr_fam_is_weak(tr_tv x); /* a literal, or the result of an operation between literals */
tr_operand tr_fam_operand_of(tr_em *e, tr_tv x);
void tr_fam_operands_of(tr_em *e, uint32_t n, const tr_tv *x, tr_operand *out);
/* The signature for these arguments, or NULL with an error. */
const tr_ty *const *tr_fam_declared_for(tr_em *e, const tr_ufn *u, const tr_tv *x);
bool tr_fam_is_generalised(const tr_ufn *u); /* there are core axes */
/* Arguments as operands, nin + nout of them: inputs, then outputs by position or as out=,
 * an array or a tuple; and where=. */
bool tr_fam_bind_operands(tr_em *e, const tr_ufn *u, const tr_args *args, tr_tv *x, tr_tv *where);

/* --- counting (npbins.c) --- */

/* Of integers along one axis: the least and 0, the greatest and -1. */
bool tr_fam_ends(tr_em *e, tr_tv x, tr_tv *least, tr_tv *most);

/* --- searching a sorted array (npsearch.c) --- */

/* What is searched: item i stands at first + i * step, and place i is called origin + i *
 * step. Then the table: where a search begins, by the bucket of what is looked for
 * (rt/places.c), and what says which bucket that is. */
typedef struct tr_search {
    tr_tv a, n, rounds, first, step, origin;
    tr_tv table, lo, scale, most;
    tr_tv few;      /* the table leaves no more than TR_SEARCH_FEW rounds, and no item is NaN */
    const tr_ty *t; /* in which items and values are compared */
    bool right;     /* behind equal items, else before them */
} tr_search;
enum { TR_SEARCH_CAPS = 10, TR_SEARCH_FEW = 2 };

/* What searchsorted() gives for the two. */
bool tr_fam_places(tr_em *e, const tr_bcall *c, bool right, tr_tv *out);
/* c: a sorted array, and an array to look for. s->right is given. */
bool tr_fam_search_begin(tr_em *e, const tr_bcall *c, tr_search *s);
void tr_fam_search_put(const tr_search *s,
                       tr_tv *caps); /* as captures of a pattern, and in its lambda again */
tr_search tr_fam_search_of(const tr_search *s, const tr_tv *caps);
tr_tv tr_fam_search_few(tr_em *e, const tr_search *s,
                        tr_tv x); /* the place of a number, where they are few */
bool tr_fam_search_all(tr_em *e, const tr_search *s, tr_tv v, tr_tv *out); /* places of an array's items */

/* --- complex numbers (npcomplex.c); operands of one complex type --- */

tr_tv tr_fam_cplx_compare(tr_em *e, tr_cmpop op, tr_tv a, tr_tv b); /* an order as NumPy has it */
tr_tv tr_fam_cplx_isnan(tr_em *e, tr_tv x);
tr_tv tr_fam_cplx_sign(tr_em *e, tr_tv v);
tr_tv tr_fam_cplx_reciprocal(tr_em *e, tr_tv v);

/* Its functions (npcmath.c); false, without an error: there is none, or it is TR_OP_POW. `by` may
 * be of any type; numpy: by its rules. */
bool tr_fam_cplx_math(tr_em *e, tr_mathfn fn, tr_tv v, tr_tv *out);
bool tr_fam_cplx_power(tr_em *e, tr_tv v, tr_tv by, bool numpy, tr_tv *out);

#endif
