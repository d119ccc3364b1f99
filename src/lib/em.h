/* Emission: how the meaning of Python's operations and of library functions becomes typed IR.
 *
 * A template is one C function that both types and lowers an operation: it receives typed values and makes
 * typed IR through the calls below. Inference runs it "dry" (no IR is made, only result types matter) until
 * types are stable, then once for real. So a template must depend on types alone, never on what the last run
 * did; tr_em_* work in both modes.
 *
 * A tr_tv is a value and its type. In a dry run v is TR_NOVAL. A value of a LIT type is known at compile time
 * (ty->lit). Weak types appear on literals and on results of operations between them. Failure: tr_em_error
 * and return false; in dry runs nothing is reported. */
#ifndef TR_LIB_EM_H
#define TR_LIB_EM_H

#include <assert.h>
#include <stdbool.h>

#include "ir/prog.h"
#include "rt/rt.h"

typedef struct tr_tv {
    const tr_ty *ty; /* NULL: absent */
    tr_val v;
} tr_tv;

struct tr_args;
typedef struct tr_em {
    tr_ctx *ctx;
    tr_tytab *types;
    tr_prog *prog;
    bool dry;
    const tr_opts *opts; /* of the function that is emitted */
    uint32_t opts_no;    /* their number in the program */
    tr_bld b;            /* real runs: where code goes; b.blk may change when a template makes blocks */
    tr_place place;      /* of the operation being emitted */
    tr_span op_span;
    /* the first argument of the call at hand is an array that was made for it and has no other name */
    bool fresh;
    bool packaged;   /* the function is the package's own: iterators that it keeps are used up in turn */
    bool weak_items; /* numbers in tuples stay weak: in graphs, and in functions of the library */
    bool ends;       /* a call of a function of the user's that never returns: what follows does not run */
    /* Calls any callable value: set by infer/. */
    bool (*call)(struct tr_em *e, tr_tv callee, const struct tr_args *args, tr_tv *out);
    /* As a kernel, of blocks and threads as `sizes` says (TR_LAUNCH_SIZES): set by infer/. */
    bool (*launch)(struct tr_em *e, tr_tv kernel, const tr_tv *sizes, const struct tr_args *args, tr_tv *out);
    void *infer;
    /* A list that is made here, the one of this number in the operation at hand: its type. Set by infer/. */
    const tr_ty *(*list)(struct tr_em *e, uint32_t which);
    bool cells;  /* types are being found: lists have cells (ty/cell.c) */
    bool *waits; /* set where something fails as a function called in it has not returned yet, in inference */
} tr_em;

/* --- what assertions ask --- */

/* One type in the IR, where weak numbers and known ones are the numbers that they stand for. */
static inline bool tr_em_same_ir(const tr_em *e, const tr_ty *a, const tr_ty *b) {
    return a == b || (a && b && tr_ty_strong(e->types, a) == tr_ty_strong(e->types, b));
}
/* It has a type, and where code is made also a value of that type. What is known is all in its type. Behind
 * an error nothing is asked: what is made there is thrown away. */
static inline bool tr_em_is_whole(const tr_em *e, tr_tv x) {
    if (e->ctx->nerrs)
        return true;
    return x.ty && (e->dry || x.ty->kind == TR_TY_LIT ||
                    (x.v < e->b.fn->ins.n && tr_em_same_ir(e, tr_at(e->b.fn, x.v)->ty, x.ty)));
}
/* The same, unless the code has come to an end there. */
static inline bool tr_em_is_given(const tr_em *e, tr_tv x) {
    return e->ends || tr_em_is_whole(e, x);
}
static inline bool tr_em_are_whole(const tr_em *e, uint32_t n, const tr_tv *x) {
    for (uint32_t i = 0; i < n; i++)
        if (!tr_em_is_whole(e, x[i]))
            return false;
    return true;
}
/* Numbers of type int64: sizes, strides, indices. */
static inline bool tr_em_are_i64(const tr_em *e, uint32_t n, const tr_tv *x) {
    for (uint32_t i = 0; i < n; i++)
        if (!tr_em_is_whole(e, x[i]) || !tr_em_same_ir(e, x[i].ty, tr_ty_scalar(e->types, TR_TY_I64)))
            return false;
    return true;
}
static inline bool tr_em_is_array(const tr_em *e, tr_tv x) {
    return tr_em_is_whole(e, x) && x.ty->kind == TR_TY_ARRAY;
}

/* Arguments of a call as written. */
typedef struct tr_args {
    uint32_t n; /* positional first, then keyword values */
    const tr_tv *v;
    uint32_t nkw;
    const char *const *kw; /* names of the last nkw */
} tr_args;

/* --- errors --- */
bool tr_em_error(tr_em *e, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* TypingError */
bool tr_em_fail(tr_em *e, tr_errkind kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
bool tr_em_unsupported(tr_em *e, const char *nyi, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));                                             /* row of nyi.def */
void tr_em_hint(tr_em *e, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* to the last error */
/* What to do instead of what is not there, by a dotted path; NULL: nothing is known of it (lib/missing.def).
 * The same as the hint to the last error, for what an object's text has in quotes. */
const char *tr_em_advice(const char *path, size_t n);
void tr_em_hint_missing(tr_em *e, const char *repr);
const char *tr_lib_sign(tr_binop op); /* "+" */
const char *tr_lib_cmp_sign(tr_cmpop op);
const char *tr_em_tyname(tr_em *e, const tr_ty *t); /* user's spelling; a literal as its strong type */
/* Names that tell two different types apart: of two strings, which. */
void tr_em_tynames(tr_em *e, const tr_ty *a, const tr_ty *b, const char *out[2]);

/* --- constants and conversions --- */
tr_tv tr_em_i64(tr_em *e, int64_t v);
tr_tv tr_em_bool(tr_em *e, bool v);
tr_tv tr_em_f64(tr_em *e, double v);
tr_tv tr_em_num(tr_em *e, const tr_ty *scalar, double v); /* v as any scalar type */
tr_tv tr_em_none(tr_em *e);
tr_tv tr_em_lit(tr_em *e, const tr_obj *o); /* a compile-time value */
tr_tv tr_em_obj(tr_em *e, const tr_obj *o); /* any frozen object: literal, tuple of values, frozen array */
/* Literal numbers become constants of their strong type, weak types strong; other values unchanged. */
tr_tv tr_em_strong(tr_em *e, tr_tv x);
/* Scalar to scalar, as NumPy's astype (explicit conversion; always defined but complex to real: drops the
 * imaginary part). */
tr_tv tr_em_conv(tr_em *e, tr_tv x, const tr_ty *to);
/* An integer or a float as another of the same size, bit by bit. */
tr_tv tr_em_same_bits(tr_em *e, tr_tv x, const tr_ty *to);
/* Implicit conversion to the joined type of a block argument, a declared return or argument type: scalars,
 * tuples by item, array layout. False: not possible. */
bool tr_em_coerce(tr_em *e, tr_tv x, const tr_ty *to, tr_tv *out);
/* The text that the pieces make, as format() has each: known now when all are, else a value for messages and
 * print(). */
bool tr_em_text(tr_em *e, uint32_t n, const tr_tv *pieces, tr_tv *out);
/* The same for one value, by a format specification; and as str() or repr() have it. */
bool tr_em_spec(tr_em *e, tr_tv x, tr_tv spec, tr_tv *out);
bool tr_em_str(tr_em *e, tr_tv x, bool repr, tr_tv *out);
bool tr_em_ascii(tr_em *e, tr_tv x, tr_tv *out); /* as ascii() has it (lib/kind_bytes.c) */
/* Exceptions that were caught (lib/kind_exc.c): is it the type of one; the one that came here; whether one is
 * of a class, or of one of a tuple of classes. */
bool tr_em_is_caught(const tr_ty *t);
tr_tv tr_em_catch(tr_em *e);
bool tr_em_is_of_class(tr_em *e, tr_tv exc, tr_tv of, tr_tv *out);
/* A string as a value: a constant, an f-string, one that is there (lib/kind_string.c). */
bool tr_em_string(tr_em *e, tr_tv x, tr_tv *out);
/* Bytes as a value (lib/kind_bytes.c). */
tr_tv tr_em_bytes(tr_em *e, const tr_obj *o);
bool tr_em_bytes_percent(tr_em *e, const tr_obj *template, tr_tv args, tr_tv *out); /* its `%`: template.c */
/* Is the piece of a text a number, an int64, an uint64 or a double, with a format specification? */
bool tr_em_spec_piece(tr_em *e, tr_tv piece, tr_tv *number, const char **spec);
/* What an optional value holds: TypeError at run time where it is None. Other values unchanged. */
tr_tv tr_em_value(tr_em *e, tr_tv x);
/* Compile-time knowledge. */
bool tr_tv_lit_int(tr_tv x, int64_t *out);       /* literal int or bool that int64 holds */
bool tr_tv_lit_integer(tr_tv x, tr_bigint *out); /* of any size */
bool tr_tv_lit_real(tr_tv x, double *out); /* literal int, bool or float; what no float holds is infinite */
bool tr_tv_fits(tr_tv x, const tr_ty *t);  /* no literal integer, or the integer type t holds it */
bool tr_tv_lit_str(tr_tv x, const char **out);
bool tr_tv_is_none(tr_tv x); /* literal None or type none */
/* A dtype argument: np.float32, "f4", float, np.dtype("f4"), treadle.float32, bool ... -> scalar type; NULL
 * if it is none. */
const tr_ty *tr_tv_dtype(tr_em *e, tr_tv x);

/* --- typed operations; operands must already have the types op.def asks for --- */
tr_tv tr_em_op1(tr_em *e, tr_op op, tr_tv x);
tr_tv tr_em_op2(tr_em *e, tr_op op, tr_tv x, tr_tv y);
tr_tv tr_em_nsw(tr_em *e, tr_op op, tr_tv x,
                tr_tv y); /* add, sub, mul on i64 index arithmetic known not to wrap */
tr_tv tr_em_cmp(tr_em *e, tr_cmpop pred, tr_tv x, tr_tv y);
tr_tv tr_em_select(tr_em *e, tr_tv c, tr_tv a, tr_tv b);
tr_tv tr_em_math(tr_em *e, tr_mathfn fn, uint32_t n, const tr_tv *x); /* float operands of one type */
tr_tv tr_em_cplx(tr_em *e, tr_tv re, tr_tv im);
tr_tv tr_em_re(tr_em *e, tr_tv x); /* also of reals: themselves */
tr_tv tr_em_im(tr_em *e, tr_tv x); /* of reals: 0 */
tr_tv tr_em_tuple(tr_em *e, uint32_t n, const tr_tv *x);
/* False, with an error, when a tuple of x would hold too many items, those of nested tuples included. */
bool tr_em_may_grow_to(tr_em *e, uint32_t n); /* a tuple, or arguments, made of others */
bool tr_em_tuple_fits(tr_em *e, uint32_t n, const tr_tv *x);
tr_tv tr_em_make(tr_em *e, const tr_ty *ty, uint32_t n,
                 const tr_tv *items); /* range, slice, iter, closure ... */
tr_tv tr_em_item(tr_em *e, tr_tv agg, uint32_t i);
tr_tv tr_em_callrt(tr_em *e, tr_rt row, const tr_ty *ret, const char *text, uint32_t n, const tr_tv *x);
/* Leaves the function with an exception unless cond holds. text: "... {0} ..." shows payload values. */
void tr_em_check(tr_em *e, tr_tv cond, tr_exc exc, const char *text, uint32_t n, const tr_tv *payload);
/* The same with the exception's own arguments: constants, and payload values. */
void tr_em_check_args(tr_em *e, tr_tv cond, tr_exc exc, uint32_t n, const tr_tv *args);
/* A message with the shapes of two operands that do not fit each other: `lead` (3,4) `between`
 * (3,5). What the caller has put there before stays: payload values, as many as n, of which the
 * first two are the sizes that differ. Where there is no room for all axes, these alone are told.
 * Without `between` there is one shape. */
enum { TR_SHAPES_SHOWN = 8 };
typedef struct tr_shapes {
    const char *text;
    uint32_t n;
    tr_tv x[TR_SHAPES_SHOWN];
} tr_shapes;
void tr_em_shapes(tr_em *e, tr_shapes *s, const char *lead, uint32_t n, const tr_tv *x, const char *between,
                  uint32_t m, const tr_tv *y);

/* --- Python's operators on any values (lib/operators.c) --- */
bool tr_em_binary(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out);
bool tr_em_inplace(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out);
bool tr_em_unary(tr_em *e, tr_unop op, tr_tv x, tr_tv *out);
bool tr_em_compare(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out);
bool tr_em_is(tr_em *e, bool negate, tr_tv x, tr_tv y, tr_tv *out);
bool tr_em_in(tr_em *e, bool negate, tr_tv x, tr_tv y, tr_tv *out);
bool tr_em_truth(tr_em *e, tr_tv x, tr_tv *out); /* bool(x): i1, or a literal bool when known */

/* --- arrays; those of one instruction are em.c's, the others lib/arrays.c's --- */
tr_tv tr_em_dim(tr_em *e, tr_tv a, uint32_t axis);
tr_tv tr_em_stride(tr_em *e, tr_tv a, uint32_t axis);
/* Number of elements; it fits, since every array has been through one of the checks below. */
tr_tv tr_em_size(tr_em *e, tr_tv a);
/* Sum and product of two numbers >= 0 that become an extent: ValueError where int64 has no room for them. An
 * allocation looks at its extents' product, so it needs no other check; a view that repeats items needs
 * tr_em_check_size. */
tr_tv tr_em_extent_sum(tr_em *e, tr_tv x, tr_tv y);
tr_tv tr_em_extent_product(tr_em *e, tr_tv x, tr_tv y);
/* As NumPy: the extents' product, those of 0 left out, must leave room for its bytes. */
void tr_em_check_size(tr_em *e, const tr_ty *elem, uint32_t ndim, const tr_tv *shape);
tr_tv tr_em_load(tr_em *e, tr_tv a, const tr_tv *idx);
void tr_em_store(tr_em *e, tr_tv a, const tr_tv *idx, tr_tv v);
/* A view by the axes of its base: where those start, and those of the result, in order. {0}
 * is the beginning of one. */
typedef struct tr_axis {
    int of; /* the base's axis along which it runs; -1: new */
    tr_tv size, step;
} tr_axis;
typedef struct tr_axes {
    uint32_t n;
    tr_tv start[TR_MAX_NDIM]; /* no type: 0 */
    tr_axis ax[TR_MAX_NDIM + 1];
} tr_axes;
void tr_axes_own(tr_em *e, tr_axes *x, tr_tv a, uint32_t axis); /* all of an axis */
void tr_axes_part(tr_axes *x, uint32_t axis, tr_tv start, tr_tv size, tr_tv step);
void tr_axes_new(tr_em *e, tr_axes *x, tr_tv size); /* one item, over and over */
tr_tv tr_em_view(tr_em *e, const tr_ty *ty, tr_tv a, const tr_axes *x);
/* Any view of type `ty` on a's memory; strides may be NULL when ty's layout is C or F.
 * Passes know least of it. */
tr_tv tr_em_restride(tr_em *e, const tr_ty *ty, tr_tv a, tr_tv offset, const tr_tv *shape,
                     const tr_tv *strides);
/* The array of field k of an array's items; k = number of fields: of their bytes. */
tr_tv tr_em_field(tr_em *e, tr_tv a, uint32_t k);
/* An array of records as a value; one of no axes may be `one` record. */
tr_tv tr_em_records(tr_em *e, tr_tv a, bool one);
tr_tv tr_em_alloc(tr_em *e, const tr_ty *elem, uint32_t ndim, tr_layout layout,
                  const tr_tv *shape); /* not initialised */
/* a[i], a[i] = v for any container and index. */
bool tr_em_getitem(tr_em *e, tr_tv a, tr_tv i, tr_tv *out);
/* itself: v is what an in-place operator gave for a[i]. */
bool tr_em_setitem(tr_em *e, tr_tv a, tr_tv i, tr_tv v, bool itself);
bool tr_em_delitem(tr_em *e, tr_tv a, tr_tv i); /* del a[i] */
/* An array or scalar seen as an array of the given shape: stride-0 views where it broadcasts; raises
 * ValueError when it does not. */
bool tr_em_broadcast(tr_em *e, tr_tv a, uint32_t ndim, const tr_tv *shape, tr_tv *out);
/* dst[...] = src: one map pattern; src an array that broadcasts to dst, or a scalar. Overlap is handled by a
 * copy of src when both may share memory. */
bool tr_em_assign(tr_em *e, tr_tv dst, tr_tv src);
bool tr_em_fill(tr_em *e, tr_tv dst, tr_tv scalar);
bool tr_em_copy(tr_em *e, tr_tv a, tr_layout layout, tr_tv *out); /* new array with a's shape and values */

/* --- lists (lib/kind_list.c) --- */
/* A new list of x[0 .. n), and of all that a generator expression gives; `which`: see tr_em.list. */
bool tr_em_new_list(tr_em *e, uint32_t which, uint32_t n, const tr_tv *x, tr_tv *out);
bool tr_em_collect_list(tr_em *e, uint32_t which, tr_tv closure, tr_tv it, tr_tv *out);
/* A new list of what x gives, as list(x). */
bool tr_em_list_of(tr_em *e, tr_tv x, tr_tv *out);
/* The items of a list or a set, an array that is a view of them until it changes its length. False where
 * nothing is known of them yet. */
bool tr_em_items(tr_em *e, tr_tv list, tr_tv *out);

/* --- sets and dicts (lib/kind_set.c, lib/kind_dict.c); they are what the operation at hand gives --- */
bool tr_em_new_set(tr_em *e, uint32_t n, const tr_tv *x, tr_tv *out);
bool tr_em_new_dict(tr_em *e, uint32_t n, const tr_tv *x, tr_tv *out); /* keys and values in turn */
bool tr_em_collect_set(tr_em *e, tr_tv closure, tr_tv it, tr_tv *out);
bool tr_em_collect_dict(tr_em *e, tr_tv closure, tr_tv it, tr_tv *out); /* it gives pairs */

/* --- variables that functions share (lib/shared.c) --- */
/* What a variable's name goes into that has no value: one of the function's own, of the one around it. */
#define TR_NO_LOCAL_VALUE "cannot access local variable '%s' where it is not associated with a value"
#define TR_NO_FREE_VALUE \
    "cannot access free variable '%s' where it is not associated with a value in enclosing scope"
bool tr_em_new_variable(tr_em *e, const char *name, const tr_tv *value, tr_tv *out);
bool tr_em_read_variable(tr_em *e, const char *name, bool around, tr_tv memory, tr_tv *out);
bool tr_em_write_variable(tr_em *e, const char *name, tr_tv memory, tr_tv value);

/* --- patterns (lib/patterns.c) --- */
typedef struct tr_pdesc tr_pdesc;
/* Builds the lambda's body: idx[nspace], elems[nin + nscan] (elements, then running values of scans),
 * caps[ncap] in; fills yields[nout + nfilt + nbest + nred], then a key where something is chosen, then for
 * each target an index per axis and a value. As the epilogue's: idx per kept axis, elems[nred + nein]
 * (reduced values, then elements), caps; fills yields[neout]. */
typedef bool (*tr_plam)(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                        tr_tv *yields);
/* Two values of reduction k, or of target k behind the reductions, as one of their type. */
typedef bool (*tr_pjoin)(tr_em *e, const tr_pdesc *d, uint32_t k, tr_tv x, tr_tv y, const tr_tv *caps,
                         tr_tv *out);
struct tr_pdesc {
    uint32_t nspace, nin, nout, nred, ncap;
    const tr_tv *space; /* i64 extents */
    const tr_tv *in, *out;
    const tr_redk *reds;
    const tr_tv *init; /* initial values, fix the reductions' types (argmin: i64, ignored otherwise) */
    const tr_tv *caps;
    tr_plam lam;
    const void *user;
    /* See tr_pat in ir.h. */
    uint32_t nscan, keep, nein, neout, nfilt, nscat;
    bool apart;
    const tr_tv *ein, *eout, *filt, *scat;
    const uint8_t *scats;
    uint32_t nbest;
    const tr_tv *best, *top; /* top: how many are chosen, an i64; NULL: nothing is */
    tr_topk order;
    tr_plam epi;
    tr_pjoin join; /* of reductions and targets that are TR_RED_JOIN */
};
/* out: none, the reduction, or a tuple of reductions; none with keep. */
bool tr_em_pattern(tr_em *e, const tr_pdesc *d, tr_tv *out);

/* --- elementwise (lib/npufunc.c) --- */
/* A function of scalars; must depend on their types alone. */
typedef bool (*tr_eltfn)(tr_em *e, const void *user, const tr_tv *x, tr_tv *out);
/* fn over x[0 .. n), numbers and arrays broadcast together: on numbers as it is, else into a new array, or
 * into dst where that is given (not absent, not None). `name` is for messages. */
bool tr_em_elementwise(tr_em *e, const char *name, uint32_t n, const tr_tv *x, tr_tv dst, tr_eltfn fn,
                       const void *user, tr_tv *out);
/* Into dst, an array, where `where`, of bool, holds. apart: fn runs for these items alone,
 * as what may raise must; else for all. */
bool tr_em_elementwise_where(tr_em *e, const char *name, uint32_t n, const tr_tv *x, tr_tv where, tr_tv dst,
                             bool apart, tr_eltfn fn, const void *user, tr_tv *out);

/* --- generalised ufuncs (lib/npgufunc.c) --- */
/* Calls a function over operands at one outer index. */
typedef bool (*tr_corefn)(tr_em *e, const void *user, const tr_tv *x);
typedef struct tr_core {
    uint32_t n;               /* operands */
    const tr_ty *const *want; /* what the function takes: a scalar, or an array of any layout */
    const uint8_t *ncore;     /* how many axes of each are the function's, the last ones */
    tr_corefn fn;
    const void *user;
    bool whole; /* fn is called once, on arrays that have all outer axes; `want` are arrays */
} tr_core;
/* fn at each index of a space, whose axes are those of the operands before the function's; numbers are the
 * same everywhere. */
bool tr_em_core(tr_em *e, const tr_core *c, uint32_t nouter, const tr_tv *space, const tr_tv *operands);
/* A generalised ufunc called on inputs and then outputs, which are made where they are absent. Everything
 * converts to c->want. */
bool tr_em_gufunc(tr_em *e, const tr_ufn *u, const tr_core *c, const tr_tv *x, tr_tv *out);

/* A function of treadle/_library takes these arguments, dates among them; else an error (lib/npdates.c). */
bool tr_lib_date_library(tr_em *e, const char *name, const tr_args *args);

/* --- functions of others (lib/extern.c) --- */
/* A call of one, an object of kind EXTERN. */
bool tr_em_extern(tr_em *e, const tr_obj *fn, const tr_args *args, tr_tv *out);

/* --- ufuncs of others (lib/npforeign.c) --- */
/* A call of one, an object of kind UFUNC. failed: NULL, or where to put whether a loop
 * raised the invalid flag. */
bool tr_em_foreign(tr_em *e, const tr_obj *fn, const tr_args *args, tr_tv *failed, tr_tv *out);

/* --- attributes, methods, iteration (lib/attrs.c, lib/iter.c) --- */
const char *tr_lib_face_class(const tr_ty *faced);
bool tr_em_getattr(tr_em *e, tr_tv x, const char *name, tr_tv *out);
/* x.name = v, of records; itself: as of tr_em_setitem. */
bool tr_em_setattr(tr_em *e, tr_tv x, const char *name, tr_tv v, bool itself);
/* Row of x's method or attribute `name` in builtins.def, or -1. */
int tr_em_member(tr_em *e, tr_tv x, const char *name);
/* A method that treadle/_library has; NULL: it has none. */
const tr_obj *tr_em_method(tr_em *e, tr_tv x, const char *name);
const tr_obj *tr_em_method_of(const tr_em *e, const char *cls,
                              const char *name); /* of this class (or NULL) */
bool tr_em_puts_in_list(const char *name);       /* is it a method that is given an item of the list? */
bool tr_em_changes_dict(const char *name); /* is it a method that a dict has, and one of names has not? */
bool tr_em_changes(const char *name);      /* is it a method of lists, sets or dicts that changes them? */
/* A call of it gives an item of a list, a set or a dict, or raises. */
bool tr_em_takes_item(const tr_ty *callee);
bool tr_em_changes_list(const char *name); /* is it a method that a list has and a tuple has not? */
/* Iteration: next() gives a step (kind STEP), which says whether there is an item and, if so,
 * at which place tr_em_iterget() finds it. What has a length is counted: the place is the
 * counter, so the step is `counter < length`. */
enum { TR_STEP_MORE, TR_STEP_PLACE, TR_STEP_COUNT };
bool tr_lib_is_once(tr_tv x); /* what is used up by being asked, as Python's iterators are */
bool tr_em_iter(tr_em *e, tr_tv x, tr_tv *out);   /* what can be iterated over */
bool tr_em_iterlen(tr_em *e, tr_tv it, tr_tv *n); /* None: it has to be asked */
bool tr_em_next(tr_em *e, tr_tv it, tr_tv n, tr_tv i,
                tr_tv *step); /* n as iterlen gives it; i: how often it was asked */
bool tr_em_iterget(tr_em *e, tr_tv it, tr_tv place, tr_tv *out); /* once for a step that has an item */
/* Item number k of what says how many it has; of a tuple of its own type, which one at a place that is only
 * known when the program runs need not have. */
bool tr_em_iternth(tr_em *e, tr_tv it, uint32_t k, tr_tv *out);
/* What a generator expression is: the closure of what it does with an item, and what gives them. Who runs
 * through it gets the values of all its loops; who asks for one at a time asks what tr_em_generator gives. */
tr_tv tr_em_genexpr(tr_em *e, tr_tv closure, tr_tv it);
bool tr_em_generator(tr_em *e, tr_tv genexpr, tr_tv *out);
bool tr_em_has_loops(tr_em *e, tr_tv genexpr); /* several, one within the other */
/* All its values are left out, whatever its items are. */
bool tr_em_collects_nothing(tr_em *e, tr_tv closure, tr_tv it);
/* The array of all its values, which are numbers, tuples of numbers or arrays. */
bool tr_em_collect(tr_em *e, tr_tv closure, tr_tv it, tr_tv *out);
/* The same of tuples of numbers, which whoever asks for the items gets again; *are: they are such. */
bool tr_em_collect_tuples(tr_em *e, tr_tv closure, tr_tv it, bool *are, tr_tv *out);
/* The same of arrays that are joined along their first axis by `row`, whatever their lengths: a tuple of the
 * one array; *are: it joins them so. */
bool tr_em_collect_joined(tr_em *e, tr_tv closure, tr_tv it, uint32_t row, bool *are, tr_tv *out);
/* The builtin runs through a generator that it is given, to its end or until it knows its result, before it
 * returns; a list of numbers it takes for an array of them. */
bool tr_lib_runs_through(uint32_t row);
bool tr_lib_takes_all(uint32_t row); /* runs through it to its end, and keeps what it gives */
bool tr_lib_reads_list(uint32_t row);
/* Numbers, one after the other. */
bool tr_lib_only_reads(uint32_t row);
/* Some items of a tuple are of other types than others. */
bool tr_lib_unroll_differs(tr_em *e, const tr_ty *t);
/* An iterator over x that remembers where it is, whoever asks it. */
bool tr_em_iterator(tr_em *e, tr_tv x, tr_tv *out);
/* A loop over what `it` gives, for what is no pattern. `each` gets an item and changes what the loop carries,
 * acc[n], but not its types; with *stop it leaves the loop. */
typedef bool (*tr_eachfn)(tr_em *e, tr_tv x, const void *user, tr_tv *acc, tr_tv *stop);
bool tr_em_each(tr_em *e, tr_tv it, uint32_t n, tr_tv *acc, tr_eachfn each, const void *user);
/* self.format(x[0], ..., *more), with as many items of the sequence as it has fields for: template.c. */
bool tr_em_format_items(tr_em *e, tr_tv self, uint32_t n, const tr_tv *x, tr_tv more, tr_tv *out);
/* Names with values (kind KEYED): made of a tuple of strings that are known and one of values; how many there
 * are, name and value of each. */
/* A list display that is only read: a tuple of its items. */
tr_tv tr_em_display(tr_em *e, uint32_t n, const tr_tv *items);
tr_tv tr_em_keyed(tr_em *e, tr_tv names, tr_tv values);
/* functools.partial: what is called, the tuple of the first arguments, those by keyword. */
tr_tv tr_em_row(tr_em *e, uint32_t row); /* the function of a row of builtins.def */
tr_tv tr_em_partial(tr_em *e, tr_tv callee, tr_tv args, tr_tv names, tr_tv values);
bool tr_em_has_methods(tr_tv x); /* a class whose methods are functions of its values: attrs.c */
uint32_t tr_em_keyed_n(const tr_ty *t);
const char *tr_em_keyed_name(const tr_ty *t, uint32_t k);
tr_tv tr_em_keyed_value(tr_em *e, tr_tv x, uint32_t k);
bool tr_em_unpack(tr_em *e, tr_tv x, uint32_t i, uint32_t n, tr_tv *out); /* i-th of exactly n items */
/* The i-th of what `a, *b, c = x` binds: so many items before the list of the rest, which is number `before`,
 * so many after it. `only_read`: nobody asks more of that list than its items. */
bool tr_em_unpack_star(tr_em *e, tr_tv x, uint32_t i, uint32_t before, uint32_t after, bool only_read,
                       tr_tv *out);

/* --- builtins.def --- */

/* Arguments bound to a row's parameters: absent ones have ty NULL and stand for the default in the row's
 * text. */
typedef struct tr_bcall {
    uint16_t row;
    int32_t aux;   /* the row's last column */
    uint32_t n;    /* number of bound parameters */
    tr_tv *a;      /* a[0] is self for methods */
    uint32_t nvar; /* *args of the row */
    tr_tv *var;
    bool fresh; /* tr_em */
} tr_bcall;
typedef bool (*tr_bfn)(tr_em *e, const tr_bcall *c, tr_tv *out);

typedef enum tr_bkind { TR_B_FUNC, TR_B_METHOD, TR_B_ATTR } tr_bkind;
typedef struct tr_builtin {
    const char *id;
    const char *path; /* "math.sqrt"; methods and attributes: "array", "number", "tuple", "dtype", "range" */
    const char *name; /* methods, attributes: the name; functions: NULL */
    const char *
        /* "x, axis=, *, dtype=": '=' optional; "*args" any number, "**kwargs" any names; "/" allowed for
     * reading */
        params;
    tr_bfn fn;
    int32_t aux;
    uint8_t kind;
} tr_builtin;

enum { TR_CLS_B = 1, TR_CLS_I = 2, TR_CLS_U = 4, TR_CLS_F = 8, TR_CLS_C = 16 };

typedef enum tr_bid_row {
#define F(id, path, params, fn, aux)      TR_B_##id,
#define M(id, cls, name, params, fn, aux) TR_B_##id,
#define A(id, cls, name, fn, aux)         TR_B_##id,
#include "lib/builtins.def"
#undef F
#undef M
#undef A
    TR_B__COUNT
} tr_bid_row;
extern const tr_builtin tr_builtins[TR_B__COUNT];

/* Row of a method or attribute of a class, or -1. */
int tr_builtin_member(const char *cls, const char *name);
/* Binds and calls row `row`; self (methods) has ty NULL for functions. */
bool tr_em_builtin(tr_em *e, uint32_t row, tr_tv self, const tr_args *args, tr_tv *out);

#endif
