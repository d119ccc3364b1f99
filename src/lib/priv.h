/* Shared by the files of lib/ only. */
#ifndef TR_LIB_PRIV_H
#define TR_LIB_PRIV_H

#include "lib/em.h"

/* Scalar type of a scalar or literal number (literals: weak), NULL for anything else. */
const tr_ty *tr_lib_scalar(tr_em *e, const tr_ty *t);
const tr_ty *tr_lib_complex_of(tr_em *e, const tr_ty *f);
const tr_ty *tr_lib_real_of(tr_em *e, const tr_ty *c);
tr_tv tr_lib_emit(tr_em *e, tr_op op, const tr_ty *ty, uint32_t n, const tr_val *v);
tr_tv tr_lib_undef(tr_em *e, const tr_ty *t);
/* What is certain to raise where it stands: code goes on nowhere behind it. */
bool tr_lib_never(tr_em *e, tr_exc exc, const char *text, tr_tv *out);
const tr_site *tr_lib_site(tr_em *e, tr_exc exc, const char *text);
/* The view that lacks an axis and begins `off` items further on; `lay` is the layout that this leaves. */
tr_tv tr_lib_at_place(tr_em *e, tr_tv a, uint32_t axis, tr_tv at, tr_layout lay);
/* The function at place i of a tuple, which is in range. False: not all of its items are functions. */
bool tr_lib_one_of(tr_em *e, tr_tv t, tr_tv i, tr_tv *out);
/* `x is y` where the one is such a function, the other one too or a constant. False: they are no such two, or
 * it is not known, as of inner functions. */
bool tr_lib_is_one_of(tr_em *e, tr_tv x, tr_tv y, tr_tv *out);
/* An index of an axis of n items brought into range where it counts from the end. */
tr_tv tr_lib_wrap(tr_em *e, tr_tv i, tr_tv n);
/* It can be an index of a sequence: an integer. */
bool tr_lib_is_index(tr_em *e, tr_tv x);
bool tr_lib_is_place(tr_em *e, tr_tv x); /* of Python's own sequences, to which a bool is a number */
/* An index of an axis of n items, checked, and from the beginning; `what`: the message, NULL an array's. */
tr_tv tr_lib_checked_index(tr_em *e, tr_tv x, tr_tv n, uint32_t axis, const char *what);
/* Elementwise binary operation with NumPy's promotion; x or y is an array. inplace: into x. */
bool tr_lib_array_binary(tr_em *e, tr_binop op, tr_tv x, tr_tv y, bool inplace, tr_tv *out);
bool tr_lib_array_compare(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out);
/* Whose arithmetic: Python's, raising or (error_model="numpy") not; NumPy's, between arrays. */
typedef enum tr_rules { TR_RULES_PYTHON, TR_RULES_QUIET, TR_RULES_NUMPY } tr_rules;
static inline tr_rules tr_lib_rules(const tr_em *e) {
    return e->opts->error_numpy ? TR_RULES_QUIET : TR_RULES_PYTHON;
}
/* The op that is all an operator does, on two numbers of its result's type; TR_OP__COUNT where there is more
 * to it. */
tr_op tr_lib_plain_op(tr_binop op);
/* The operator is one of & | ^ << >>. */
bool tr_lib_is_bitwise(tr_binop op);
/* What the comparison says of two values of which the first is less (c < 0), equal (0), or more. */
bool tr_lib_holds(tr_cmpop op, int c);
/* The operator has no meaning for operands of these types. */
bool tr_lib_op_error(tr_em *e, tr_binop op, const tr_ty *x, const tr_ty *y);
/* Python's words for a division by zero in numbers of type t; for the power operator, for zero to a negative
 * power. */
const char *tr_lib_zero_text(const tr_em *e, tr_binop op, const tr_ty *t);
/* Scalar operation on operands of any scalar types. */
/* What is no key has no hash; what it is called in Python where that is so, else NULL. */
const char *tr_lib_unhashable(const tr_ty *t);
bool tr_lib_scalar_binary(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_rules rules, tr_tv *out);
/* float16 is a type of memory: what is computed of it is computed in float32, and rounded once at the end, as
 * NumPy does. Makes float32 of all float16 numbers (or types of them) among x; true: the result, where it is
 * float32, is to be float16 (tr_lib_halved), since nothing wider is among them. */
bool tr_lib_unhalve(tr_em *e, uint32_t n, const tr_tv *x, tr_tv *out);
tr_tv tr_lib_halved(tr_em *e, tr_tv x);
/* NumPy's operator on scalars of any types, with NumPy's result type: integers keep their width, nothing
 * raises. */
bool tr_lib_np_binary(tr_em *e, tr_binop op, tr_tv x, tr_tv y, tr_tv *out);
/* NumPy's comparison: complex numbers have an order. */
bool tr_lib_np_compare(tr_em *e, tr_cmpop op, tr_tv x, tr_tv y, tr_tv *out);
/* Common type of two scalars as NumPy 2 has it: weak ones do not widen. Weak when both are. */
const tr_ty *tr_lib_common(tr_em *e, const tr_ty *x, const tr_ty *y);
/* The type in which a ufunc, or an operator of arrays, takes two operands: the same, but as promotion="numba"
 * has it where that is asked for. */
const tr_ty *tr_lib_ufunc_type(tr_em *e, bool quotient, const tr_ty *x, const tr_ty *y);
/* Number of items of a range; one beyond int64 counts as 2**63 - 1, which no loop reaches. */
tr_tv tr_lib_range_len(tr_em *e, tr_tv start, tr_tv stop, tr_tv step);
/* The same for len() and indices: OverflowError where int64 does not hold it. */
bool tr_lib_range_size(tr_em *e, tr_tv r, tr_tv *n);
/* A float as int64 the way Python converts: ValueError for NaN, OverflowError for what does not fit; with
 * error_model="numpy" as astype. */
tr_tv tr_lib_float_to_int(tr_em *e, tr_tv x);
/* A literal integer beyond 64 bits as the float next to it, which it is beside floats; false: x is none, or
 * no float holds it. */
bool tr_lib_huge_float(tr_em *e, tr_tv x, tr_tv *out);
/* An integer or bool as Python's int, which is an int64: OverflowError for what does not fit; with
 * error_model="numpy" it wraps. */
tr_tv tr_lib_int_to_int(tr_em *e, tr_tv x);
/* The text of a constant; NULL: only run time knows it. */
const char *tr_lib_known_text(tr_em *e, tr_tv x);
/* split() and splitlines() of a string, or of the characters of bytes into bytes (lib/pystr.c). */
bool tr_lib_split(tr_em *e, const tr_bcall *c, bool bytes, tr_tv *out);
bool tr_lib_lines(tr_em *e, const tr_bcall *c, bool bytes, tr_tv *out);
/* What type(e) of an exception that was caught gives; it is compared with nothing. */
bool tr_lib_is_exc_class(const tr_ty *t);
bool tr_lib_no_exc_class(tr_em *e);
/* A string, known now or made at run time. */
bool tr_lib_is_text(tr_tv x);
/* Prints a piece of text: a string, a number, a date, an array, or one of them with its specification. */
void tr_lib_put_piece(tr_em *e, tr_tv piece);
/* How many characters; n of them from `start` on; the code point of one, -1: there is none. */
tr_tv tr_em_strlen(tr_em *e, tr_tv s);
tr_tv tr_em_substr(tr_em *e, tr_tv s, tr_tv start, tr_tv n);
tr_tv tr_em_charat(tr_em *e, tr_tv s, tr_tv i);
/* What a row of the runtime makes; raises MemoryError. */
tr_tv tr_em_make_string(tr_em *e, tr_rt row, uint32_t n, const tr_tv *x);
/* TR_STR_FIND ... of `what` in s, within the bounds of a slice. */
tr_tv tr_em_seek(tr_em *e, int how, tr_tv s, tr_tv what, tr_tv start, tr_tv end);
/* Bytes of characters; what TR_BYTES_* makes of characters; an argument that is bytes, or one byte, as
 * characters (lib/kind_bytes.c). */
tr_tv tr_lib_bytes_of(tr_em *e, tr_tv chars);
tr_tv tr_lib_bytes_made(tr_em *e, int how, tr_tv chars);
bool tr_lib_bytes_part(tr_em *e, tr_tv x, bool byte_too, tr_tv *out);
/* A new array of a display, or a list, of strings (lib/kind_chars.c). False, perhaps without an error: it is
 * none of such. */
bool tr_chars_of_sequence(tr_em *e, tr_tv x, tr_tv *out);
/* Numbers that are equal, less or more as the strings of an array of one axis are. */
bool tr_chars_ranks(tr_em *e, tr_tv x, tr_tv *out);
/* A bytearray as bytes; other values unchanged (lib/kind_bytearray.c). */
bool tr_lib_str_decoded(tr_em *e, const tr_bcall *c, tr_tv *out); /* str(b, encoding, errors): pybytes.c */
bool tr_lib_bytearray_bytes(tr_em *e, tr_tv x, tr_tv *out);
/* A new one: of nothing (absent), so many zeros, bytes, integers. */
bool tr_lib_bytearray_of(tr_em *e, tr_tv x, tr_tv *out);
tr_tv tr_lib_bytes_known(tr_em *e, const char *text,
                         tr_tv s); /* bytes of what is made of a constant's text */
bool tr_lib_percent(tr_em *e, tr_tv template, tr_tv args, tr_tv *out); /* `%` of a string (lib/template.c) */
/* The number that a string spells; `base` may be absent (lib/pystr.c). */
bool tr_lib_int_of_string(tr_em *e, tr_tv s, tr_tv base, tr_tv *out);
bool tr_lib_float_of_string(tr_em *e, tr_tv s, tr_tv *out);
/* Python's slice.indices of an axis of n items: start, number of items, step. */
bool tr_lib_slice_bounds(tr_em *e, tr_tv s, tr_tv n, tr_tv *start, tr_tv *len, tr_tv *step);
/* To the error of an operation on x: what to do where x is a list or a dict that a global or a closure
 * variable holds. */
void tr_lib_advise_container(tr_em *e, tr_tv x);
/* Where element number i of an array in C order stands: an array and an index into it; no division where the
 * elements lie so in memory. */
tr_tv tr_lib_flat_place(tr_em *e, tr_tv a, tr_tv i, tr_tv *idx);
/* It can be gone through from the first item on only. */
bool tr_lib_is_forward(tr_tv x);
/* A step of an iteration: whether there is an item, its place, how many were asked for before. */
tr_tv tr_lib_step(tr_em *e, tr_tv more, tr_tv place, tr_tv i);
/* tr_em_next() where `go`, an i1, holds (absent: always); where not, there is no item and none is used up. */
bool tr_lib_next(tr_em *e, tr_tv it, tr_tv n, tr_tv i, tr_tv go, tr_tv *out);
bool tr_lib_serial_len(tr_em *e, tr_tv it, tr_tv *n);
/* What can be iterated over side by side with others, by one counter of items. */
bool tr_lib_iter_part(tr_em *e, tr_tv x, tr_tv *out);

/* x as an item of a list, which takes it (lib/kind_list.c). */
bool tr_lib_list_item(tr_em *e, tr_tv list, tr_tv x, tr_tv *out);
/* A new list of n items of a type, which are to be put, and the array of them. */
/* An array of a list whose items are lists, tuples or arrays. `differs`: the ValueError where their sizes
 * {0} and {1}, that of number {2}, do; NULL: NumPy's of np.array(). */
bool tr_lib_array_of_list(tr_em *e, tr_tv x, const tr_ty *dtype, const char *differs, tr_tv *out);
/* A list of arrays, along an axis that they have. */
bool tr_lib_joins_list(tr_em *e, tr_tv x);
bool tr_lib_join_list(tr_em *e, tr_tv x, uint32_t axis, const tr_ty *dtype, tr_tv *out);
bool tr_lib_list_of_n(tr_em *e, const tr_ty *item, tr_tv n, tr_tv *out, tr_tv *items);
/* What is at a place of a container's items, and what is put there. */
tr_tv tr_lib_item_at(tr_em *e, tr_tv a, tr_tv at);
void tr_lib_put_item(tr_em *e, tr_tv a, tr_tv at, tr_tv x);
/* The i-th of exactly n items of a list (lib/kind_list.c). */
bool tr_lib_unpack_list(tr_em *e, tr_tv list, uint32_t i, uint32_t n, tr_tv *out);

/* x.name and x['name'] of records (lib/kind_record.c). */
bool tr_lib_field(tr_em *e, tr_tv x, const char *name, tr_tv *out);
/* A dtype argument that is a structured dtype: its STRUCT, else NULL. */
const tr_ty *tr_lib_struct(tr_tv x);
/* New records of this shape, all zero or not initialised. */
bool tr_lib_new_records(tr_em *e, const tr_ty *s, uint32_t ndim, tr_layout layout, const tr_tv *shape,
                        bool zero, tr_tv *out);

/* A row's template, on arguments that stand at its parameters. */
bool tr_lib_call_bound(tr_em *e, const tr_bcall *c, tr_tv *out);
/* Calls that dates take part in (lib/npdates.c). *mine: this one is such. */
typedef struct tr_dated {
    tr_tv dtype;     /* the argument of that name, or absent */
    bool out, where; /* given */
} tr_dated;
bool tr_lib_date_call(tr_em *e, const tr_bcall *c, const tr_dated *d, tr_tv *out, bool *mine);
/* A dtype argument that is a date's: its DATE, else NULL. */
const tr_ty *tr_lib_date_dtype(tr_em *e, tr_tv x);

typedef tr_eltfn tr_lib_eltfn;
/* fn over the elements of x[0 .. n), arrays and scalars broadcast together, into a new array of `elem`, or
 * into *dst. One pattern. */
bool tr_lib_map(tr_em *e, uint32_t n, const tr_tv *x, const tr_ty *elem, const tr_tv *dst, tr_lib_eltfn fn,
                const void *user, tr_tv *out);
/* dst[...] = src, both of one shape. */
bool tr_lib_map_into(tr_em *e, tr_tv dst, tr_tv src);
/* The lambda of a pattern that reduces the items themselves. */
bool tr_lib_lam_item(tr_em *e, const tr_pdesc *d, const tr_tv *idx, const tr_tv *elems, const tr_tv *caps,
                     tr_tv *yields);
/* fn on scalars as it is; on arrays a map whose element type is fn's result. */
bool tr_lib_lift(tr_em *e, uint32_t n, const tr_tv *x, tr_lib_eltfn fn, const void *user, tr_tv *out);
/* Element type of that map. */
bool tr_lib_lift_type(tr_em *e, uint32_t n, const tr_tv *x, tr_lib_eltfn fn, const void *user,
                      const tr_ty **out);
/* What a builtin gives for literals, as a literal (literals.c); false: it is left to the template. */
bool tr_lib_known(tr_em *e, const tr_bcall *c, tr_tv *out);
/* src, or a copy of it made at run time when dst and src may share memory. */
bool tr_lib_unaliased(tr_em *e, tr_tv dst, tr_tv src, tr_tv *out);
/* The same without a branch, so that patterns before and after are in one block; of src's type. */
bool tr_lib_separate(tr_em *e, tr_tv dst, tr_tv src, tr_tv *out);
/* Raises ValueError when x ** y is of integers and y, or an item of it, is negative. */
bool tr_lib_check_power(tr_em *e, tr_tv x, tr_tv y);
/* The product of extents >= 0 in float64, those of 0 left out; whether it leaves room for the bytes. */
tr_tv tr_lib_size_estimate(tr_em *e, uint32_t ndim, const tr_tv *shape);
tr_tv tr_lib_has_room(tr_em *e, const tr_ty *elem, tr_tv estimate);
/* Broadcasting. A check that an array goes into a shape, whose last axes are the array's; the common shape of
 * several (entries whose ty is NULL are open), where `text` is what comes before both shapes; an array with
 * more axes, of extent 1, so that its own end before `end`. Inputs of patterns repeat those. */
bool tr_lib_too_many_axes(tr_em *e, tr_tv a, uint32_t ndim); /* with an error */
/* An array less its first n axes, which an assignment lets it have if they are of size 1;
 * ValueError where they are not. */
tr_tv tr_lib_without_first(tr_em *e, tr_tv a, uint32_t n);
void tr_lib_check_broadcast(tr_em *e, tr_tv a, uint32_t ndim, const tr_tv *shape);
void tr_lib_merge_shape(tr_em *e, tr_tv a, uint32_t ndim, tr_tv *shape, tr_exc exc, const char *text);
void tr_lib_merge_sizes(tr_em *e, uint32_t n, const tr_tv *x, uint32_t ndim, tr_tv *shape, tr_exc exc,
                        const char *text);
tr_tv tr_lib_expand_at(tr_em *e, tr_tv a, uint32_t end, uint32_t ndim);

/* Hints to the last error (lib/suggest.c): the name that was meant, of what a class or module has or of a
 * row's parameters. */
void tr_lib_suggest_member(tr_em *e, const char *cls, const char *name);
void tr_lib_suggest_field(tr_em *e, const tr_ty *s, const char *name);
void tr_lib_suggest_keyword(tr_em *e, const char *params, const char *name);

/* a @ b (lib/npmatmul.c) */
bool tr_lib_matmul(tr_em *e, tr_tv a, tr_tv b, tr_tv *out);

/* Python's slice.indices() of n items: start, number of items, step. */
bool tr_lib_slice_bounds(tr_em *e, tr_tv s, tr_tv n, tr_tv *start, tr_tv *len, tr_tv *step);
/* del l[i] (lib/kind_list.c) */
bool tr_lib_del_list(tr_em *e, tr_tv list, tr_tv i);
bool tr_lib_del_dict(tr_em *e, tr_tv d, tr_tv k);
bool tr_lib_del_face(tr_em *e, tr_tv x, tr_tv i);
bool tr_lib_del_bytearray(tr_em *e, tr_tv x, tr_tv i);
/* One part of an index. kind: i integer, s slice, f full slice, n newaxis, a array of integers, m mask (both
 * of one axis or more), . an Ellipsis that stands for no axis. */
typedef struct tr_idx {
    char kind;
    tr_tv v;
} tr_idx;
/* View of an array by parts without arrays. */
bool tr_lib_index_view(tr_em *e, tr_tv a, const tr_idx *it, uint32_t n, tr_tv *out);
/* Indexing where some part is an array (lib/fancy.c). */
bool tr_lib_fancy_get(tr_em *e, tr_tv a, const tr_idx *it, uint32_t n, tr_tv *out);
bool tr_lib_fancy_set(tr_em *e, tr_tv a, const tr_idx *it, uint32_t n, tr_tv v);
/* a[...] = fn(a[...], v), one place after the other: a place that comes twice is updated twice. */
typedef struct tr_update {
    uint8_t how; /* where it is a scatter's, it joins fn(v); else TR_SCATTER__COUNT */
    tr_eltfn fn;
    const void *user;
    const tr_tv *by; /* a function of the user's that joins, or NULL */
    bool keys;       /* places do not count from the end: negative ones are a ValueError */
} tr_update;
bool tr_lib_fancy_update(tr_em *e, tr_tv a, const tr_idx *it, uint32_t n, tr_tv v, const tr_update *u);
/* A ufunc, which has reduce(), accumulate() and at()? Its at(): the call's arguments are the ufunc, the
 * array, places and values. */
bool tr_lib_has_at(tr_em *e, tr_tv f);
bool tr_lib_at(tr_em *e, const tr_bcall *c, bool keys);
/* The parts of any index, as many as the array has axes and newaxes; room for 4 * TR_MAX_NDIM. */
bool tr_lib_index_parts(tr_em *e, tr_tv a, tr_tv idx, tr_idx *items, uint32_t *n);
/* Indices of the items that are true, in C order: an int64 array for each axis. */
bool tr_lib_nonzero(tr_em *e, tr_tv mask, tr_tv *out);

/* Raises OverflowError, as NumPy does, when x is a literal integer and t an integer type that does not hold
 * it. */
void tr_lib_check_literal(tr_em *e, tr_tv x, const tr_ty *t);
/* A literal with a point becomes an integer of Python's on the way to a type of integers,
 * which may not hold it. */
void tr_lib_check_real_literal(tr_em *e, tr_tv x, const tr_ty *t);
/* The same for operands and their common type. */
bool tr_lib_check_literals(tr_em *e, uint32_t n, const tr_tv *x);
static inline bool tr_lib_is_array(tr_tv x) {
    return x.ty->kind == TR_TY_ARRAY;
}

#endif
