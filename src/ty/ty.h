/* Types: immutable, interned, compared by pointer.
 *
 * Two tables exist: the process's (tr_tytab_new(NULL)), shared by all threads under a lock, and one per
 * compilation on top of it for types that mention objects of one snapshot (TR_TY_LIT of a function, a module,
 * a frozen array).
 *
 * Weak types (TR weak flag) are those of literals and frozen Python scalars inside one expression
 * (docs/semantics.md). They exist during inference only; typed IR never holds one. TR_TY_LIT is a value known
 * at compile time: it has no run-time representation (no parts). */
#ifndef TR_TY_TY_H
#define TR_TY_TY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bits.h"
#include "base/strbuf.h"

struct tr_obj;
typedef struct tr_ty tr_ty;
typedef struct tr_tytab tr_tytab;

/* X(ID, IR name, user's name, bytes, class) - the scalars, in NumPy's order of kinds. ORDER TYK.
 * class: b bool, i signed, u unsigned, f float, c complex */
#define TR_SCALARS(X)                  \
    X(BOOL, "i1", "bool", 1, 'b')      \
    X(I8, "i8", "int8", 1, 'i')        \
    X(I16, "i16", "int16", 2, 'i')     \
    X(I32, "i32", "int32", 4, 'i')     \
    X(I64, "i64", "int64", 8, 'i')     \
    X(U8, "u8", "uint8", 1, 'u')       \
    X(U16, "u16", "uint16", 2, 'u')    \
    X(U32, "u32", "uint32", 4, 'u')    \
    X(U64, "u64", "uint64", 8, 'u')    \
    X(F16, "f16", "float16", 2, 'f')   \
    X(F32, "f32", "float32", 4, 'f')   \
    X(F64, "f64", "float64", 8, 'f')   \
    X(C64, "c64", "complex64", 8, 'c') \
    X(C128, "c128", "complex128", 16, 'c')

typedef enum tr_tyk {
#define X(id, ir, user, size, cls) TR_TY_##id,
    TR_SCALARS(X)
#undef X
        TR_TY__SCALARS,
    TR_TY__BEFORE = TR_TY__SCALARS - 2, /* the row of the scalars has the number of the last of them */
#define KIND(ID, ...) TR_TY_##ID,
#include "ty/kinds.def"
    TR_TY__COUNT
} tr_tyk;

typedef enum tr_layout { TR_LAYOUT_C, TR_LAYOUT_F, TR_LAYOUT_ANY } tr_layout;
enum { TR_MAX_NDIM = 32 };
/* Sets of axes are 32 bits, a bit each: that of the first n, which may be all that there can be. */
static inline uint32_t tr_all_axes(uint32_t n) {
    return (uint32_t)((UINT64_C(1) << n) - 1);
}
enum { TR_MAX_OPERANDS = 32 }; /* of a ufunc: there are sets of them in 32 bits */
/* Items that the tuples of one argument have in all: code grows with each, and a tuple of tuples may be
 * exponential in its depth. */
enum { TR_MAX_ITEMS = 4096 };
/* Lists in lists that a type may have: one that is made by a loop, `l = [l]`, has no end. */
enum { TR_MAX_LISTS = 8 };
/* Forms of a kind, what `sub` says. */
enum { TR_RANGE_STEP1 = 1, TR_RANGE_PAR = 2 }; /* its step is known to be 1; it is a prange */
enum { TR_TUPLE_LIST = 1 };
/* In place of a class's number: the fields of the named tuple are the keys of a dict. */
#define TR_SERIAL_DICT (UINT32_MAX - 1)
/* Lists and sets: what the items are says a cell; there are none, ever; it is a constant of the program, as
 * are all lists and sets in it, which nobody changes. */
enum { TR_LIST_CELL = 1, TR_LIST_NOTHING, TR_LIST_FIXED };
/* The numbers of a deque, in an array beside its list: where its first item is, how many there may be (-1:
 * any number), how often items came or went. */
enum { TR_DEQUE_HEAD, TR_DEQUE_MOST, TR_DEQUE_CHANGES, TR_DEQUE_NUMBERS };
/* Classes of dicts, of which those from TR_FACE_MADE on make a value for a key that is not there. */
typedef enum tr_face {
    TR_FACE_COUNTER,
    TR_FACE_ORDERED,
    TR_FACE_PLAIN, /* a defaultdict without a factory */
    TR_FACE_MADE,  /* by a function, the second item */
    TR_FACE_INT,
    TR_FACE_FLOAT,
    TR_FACE_BOOL,
    TR_FACE_STR,
    TR_FACE_LIST,
    TR_FACE_DICT,
    TR_FACE_SET
} tr_face;
enum { TR_VIEW_VALUES = 1, TR_VIEW_ITEMS }; /* of a dict: else its keys */
enum { TR_FLAT_CELLS = 1 };                 /* its items are arrays without axes */
enum { TR_ZIP_WALK = 1 };                   /* begins anew for whoever asks, as what it is made of does */
/* Items lie anywhere, not aligned to their size. PACKED: strides count bytes besides, as
 * items are no whole number of them apart. */
enum { TR_ARRAY_PACKED = 1, TR_ARRAY_LOOSE };
enum { TR_STRUCT_OPAQUE = 1 }; /* bytes that compiled code cannot read, `name` says of what */
enum { TR_STRUCT_ALIGN = 8 };  /* records begin at no more than that: no field asks for more */
enum { TR_STRUCT_RECORD = 1 }; /* a flag: values are numpy.record, which have fields as attributes */
enum { TR_CHARS_U = 1 };
enum { TR_INFO_FLOAT = 1, TR_INFO_FLAGS };
enum { TR_MANAGER_NULL = 1, TR_MANAGER_ERRSTATE = 2 };

struct tr_ty {
    uint8_t kind; /* tr_tyk */
    uint8_t weak;
    uint8_t ndim, layout, readonly; /* ARRAY */
    uint8_t sub;                    /* which form of its kind */
    uint16_t local;                 /* 1: belongs to a compilation's own table */
    uint32_t id;                    /* dense number within its table; local ones start at 1 << 30 */
    uint32_t n;                     /* number of items */
    uint32_t func;                  /* CLOSURE; HANDED: which one */
    uint32_t opts;     /* CLOSURE: number of the options it has from the function it stands in (ir/prog.h) */
    const tr_ty *elem; /* ARRAY, RANGE */
    const tr_ty *const *items;
    const char *const *fields; /* named TUPLE, STRUCT: n field names, else NULL */
    const char *name;          /* named TUPLE: class name; METHOD: method name; opaque STRUCT: the dtype's */
    const uint32_t *nums;      /* STRUCT: what tr_ty_field() reads */
    uint32_t nnums;
    uint32_t serial;          /* named TUPLE: which of the classes with this name and these fields, from 0 */
    const struct tr_obj *lit; /* LIT */
};

tr_tytab *tr_tytab_new(tr_tytab *parent); /* NULL without memory */
void tr_tytab_free(tr_tytab *t);
/* Without memory a compilation's table goes where its arena goes at that moment; a table that follows none
 * aborts. */
void tr_tytab_follow(tr_tytab *t, const tr_arena *owner);

const tr_ty *tr_ty_scalar(tr_tytab *t, tr_tyk kind);
const tr_ty *tr_ty_weak(tr_tytab *t, tr_tyk kind); /* I64, F64 or C128 */
const tr_ty *tr_ty_none(tr_tytab *t);
const tr_ty *tr_ty_string(tr_tytab *t);
const tr_ty *tr_ty_bytes(tr_tytab *t);
/* A string, known when compiling, in pieces or made. */
bool tr_ty_is_text(const tr_ty *t);
/* The type of a result outside of compiled code: strings, in tuples too, are no constants there. */
const tr_ty *tr_ty_told(tr_tytab *t, const tr_ty *a);
/* The type of a name (tr_tyname). */
const tr_ty *tr_ty_named(tr_tytab *t, tr_tyk kind);
/* A type that is all said by its kind, its form (0 mostly) and its items. */
const tr_ty *tr_ty_of(tr_tytab *t, tr_tyk kind, unsigned sub, uint32_t n, const tr_ty *const *items);
const tr_ty *tr_ty_like(tr_tytab *t, const tr_ty *a, const tr_ty *const *items); /* over other items */
const tr_ty *tr_ty_tuple(tr_tytab *t, uint32_t n, const tr_ty *const *items);
const tr_ty *tr_ty_named_tuple(tr_tytab *t, const char *name, uint32_t serial, uint32_t n,
                               const tr_ty *const *items, const char *const *fields);
/* What Python is given of a type: strings for their constants, and for names with values (KEYED, whose names
 * are a compilation's own) the values with the keys of the dict that they become. */
const tr_ty *tr_ty_for_python(tr_tytab *t, const tr_ty *a);
bool tr_ty_is_dict_record(const tr_ty *t);
/* Both name one class, whatever their items are. */
bool tr_ty_same_class(const tr_ty *a, const tr_ty *b);
/* A list display that is only read where it stands: a tuple. */
const tr_ty *tr_ty_list(tr_tytab *t, uint32_t n, const tr_ty *const *items);
bool tr_ty_is_list(const tr_ty *t);
/* Has references to counted memory, itself or by an item: what retains and releases are about. NULL, no type,
 * has not. */
bool tr_ty_is_counted(const tr_ty *t);
/* Leads to items that may be read and written, of arrays or of lists, itself or by an item: what aliases are
 * about. Memory that nobody changes is none. */
bool tr_ty_has_arrays(const tr_ty *t);
/* Has a container of such items: what is put there is reached by way of it. */
bool tr_ty_holds_arrays(const tr_ty *t);
/* A value of it is its items, one after the other. */
bool tr_ty_is_items(const tr_ty *t);
/* What a launch can hand to a kernel: numbers, arrays, records, None, tuples of such. */
bool tr_ty_is_launchable(const tr_ty *t);
/* Which of the parts of such a type are parameters of a device's kernel: all but the owners
 * of arrays. How many parts there are. */
unsigned tr_ty_launched(const tr_ty *t, bool *given);
/* Some part of t is a list display. */
bool tr_ty_has_list(const tr_ty *t);
/* None or a value of type `of`; NULL where that has no such form, as iterators and lists. An
 * optional type and None stay what they are. */
const tr_ty *tr_ty_optional(tr_tytab *t, const tr_ty *of);
/* Up to one axis, layout F is C. */
const tr_ty *tr_ty_array(tr_tytab *t, const tr_ty *elem, unsigned ndim, tr_layout layout, bool readonly);
/* The same in a form: 0, or TR_ARRAY_*. One of packed items has layout "any". */
const tr_ty *tr_ty_array_as(tr_tytab *t, const tr_ty *elem, unsigned ndim, tr_layout layout, bool readonly,
                            unsigned form);
static inline bool tr_ty_is_packed(const tr_ty *t);
/* An array whose items need not be aligned, packed or not. */
static inline bool tr_ty_is_loose(const tr_ty *t);
/* Bytes that an array's strides count: an item's, or one where it is packed. */
unsigned tr_ty_unit(const tr_ty *array);

/* --- lists. While types are found, what the items of a list are is not known before all is seen that flows
 * into it: its type names a cell of the compilation's table, whose content only grows, and which becomes one
 * with another where their lists may be one (ty/cell.c). Typed IR has no cells. --- */

const tr_ty *tr_ty_list_of(tr_tytab *t, const tr_ty *item); /* NULL: of none, into which nothing comes */
const tr_ty *tr_ty_new_cell(tr_tytab *t);                   /* a list of a new cell */
/* Sets, and so the keys of dicts, have cells as lists do, and what is said of lists here is said of them,
 * too. A set of what a list of this type holds; what a key is taken as: integers but uint64 are int64, floats
 * float64, complex numbers complex128, in tuples too. NULL: none. */
const tr_ty *tr_ty_set_like(tr_tytab *t, const tr_ty *list);
const tr_ty *tr_ty_as_key(tr_tytab *t, const tr_ty *x);
const tr_ty *tr_ty_dict_of(tr_tytab *t, const tr_ty *keys, const tr_ty *values); /* a set, a list */
/* The items' type; NULL: nothing is known of it. `guessed`: also what it is taken for. */
const tr_ty *tr_ty_list_item(const tr_tytab *t, const tr_ty *list, bool guessed);
/* A list of a cell into which nothing has come is taken to have items of bool until something does, which no
 * other number's type is changed by. False: no need. */
bool tr_ty_list_guess(tr_tytab *t, const tr_ty *list);
/* Items of type x are put into the list. False: they have no type in common with what is there, which is told
 * of its cell, or they can be no items. `line` is where that is. */
bool tr_ty_list_takes(tr_tytab *t, const tr_ty *list, const tr_ty *x, int32_t line, bool numba);
/* Of a cell that was given two types: those, and where; or one that contains it, or too many others. */
typedef enum tr_clash_why { TR_CLASH_TYPES, TR_CLASH_ITSELF, TR_CLASH_DEEP } tr_clash_why;
/* What the items of a cell are, for messages. */
typedef enum tr_cell_role { TR_CELL_LIST, TR_CELL_SET, TR_CELL_KEYS, TR_CELL_VALUES } tr_cell_role;
typedef struct tr_clash {
    const tr_ty *type[2];
    int32_t line[2];
    tr_clash_why why;
    tr_cell_role role;
} tr_clash;
bool tr_ty_list_clash(const tr_tytab *t, const tr_ty *list, tr_clash *out);
/* The list is in x, at any depth. */
bool tr_ty_holds_cell(const tr_tytab *t, const tr_ty *x, const tr_ty *list);
bool tr_ty_same_cell(const tr_tytab *t, const tr_ty *a, const tr_ty *b); /* one list has both types */
uint32_t tr_ty_cell_changes(const tr_tytab *t); /* how often the content of a cell has grown */
bool tr_ty_has_lists(const tr_ty *t);           /* in it, of a cell or not */
/* The same as a constant of the program, of lists that are closed; whether a list, a set or a dict is one. */
const tr_ty *tr_ty_fixed(tr_tytab *t, const tr_ty *ty);
bool tr_ty_is_fixed(const tr_ty *t);
const tr_ty *tr_ty_closed(tr_tytab *t, const tr_ty *ty); /* with what each list's items are now, for cells */

/* --- records: NumPy's structured dtypes. A STRUCT says how an item lies in memory, and no value is
 * of it; a RECORD is a value, a view of no axes of an array of such items, so that reading and
 * writing its fields reaches the array. --- */

enum { TR_MAX_FIELD_AXES = 8 };
typedef struct tr_field {
    const char *name;
    const tr_ty *ty; /* of an item: a scalar, a DATE, or a STRUCT */
    uint32_t offset, ndim;
    const uint32_t *shape; /* of a sub-array */
} tr_field;
const tr_ty *tr_ty_struct(tr_tytab *t, uint32_t size, unsigned flags, uint32_t n, const tr_field *fields);
const tr_ty *tr_ty_opaque(tr_tytab *t, uint32_t size, const char *name);
tr_field tr_ty_field(const tr_ty *s, uint32_t k);
int tr_ty_find_field(const tr_ty *s, const char *name); /* -1: there is none */
unsigned tr_ty_struct_flags(const tr_ty *s);
/* What addresses of items of an array that is not loose are multiples of: of a STRUCT as much as its
 * fields ask for and its size allows. */
unsigned tr_ty_align(const tr_ty *elem);
/* The array of field k of an array's items: of its axes, and those of the field's sub-array; k
 * = number of fields: of their bytes. */
const tr_ty *tr_ty_field_array(tr_tytab *t, const tr_ty *array, uint32_t k);
const tr_ty *tr_ty_record(tr_tytab *t, const tr_ty *s, bool readonly, bool packed);
/* The value's type whose one item is such an array: a RECORD where that has no axes and
 * `one`, else RECORDS. */
const tr_ty *tr_ty_records(tr_tytab *t, const tr_ty *array, bool one);
bool tr_ty_same_fields(const tr_ty *a,
                       const tr_ty *b); /* of two STRUCTs, whatever the class of their values */
/* --- dates: np.datetime64 and np.timedelta64 (ty/date.c). A DATE is an int64 that counts a unit, DATES an
 * array of such; the least int64 is NaT. --- */

/* X(ID, NumPy's number, name, text behind a number, how many of the next finer unit it is; 0: that varies, or
 * there is none), from the coarsest on; the generic unit is none yet. */
#define TR_UNITS(X)                        \
    X(Y, 0, "Y", " years", 12)             \
    X(M, 1, "M", " months", 0)             \
    X(W, 2, "W", " weeks", 7)              \
    X(D, 4, "D", " days", 24)              \
    X(H, 5, "h", " hours", 60)             \
    X(MIN, 6, "m", " minutes", 60)         \
    X(S, 7, "s", " seconds", 1000)         \
    X(MS, 8, "ms", " milliseconds", 1000)  \
    X(US, 9, "us", " microseconds", 1000)  \
    X(NS, 10, "ns", " nanoseconds", 1000)  \
    X(PS, 11, "ps", " picoseconds", 1000)  \
    X(FS, 12, "fs", " femtoseconds", 1000) \
    X(AS, 13, "as", " attoseconds", 0)     \
    X(GENERIC, 14, "", " generic time units", 0)
typedef enum tr_unit {
#define X(ID, number, ...) TR_UNIT_##ID = number,
    TR_UNITS(X)
#undef X
} tr_unit;
const char *tr_unit_name(tr_unit u);
const char *tr_unit_text(tr_unit u);                         /* " days" */
bool tr_unit_find(const char *name, size_t n, tr_unit *out); /* not the generic one */
bool tr_unit_is_calendar(tr_unit u);                         /* years and months, whose lengths vary */
/* How many of the finer unit the coarser one is, both of years and months or neither; 0:
 * NumPy has no number for it. */
uint64_t tr_unit_factor(tr_unit coarse, tr_unit fine);
/* The unit of what is made of two: the finer one. APART: differences in months and in days
 * are not compared; TOO_FINE: no factor. */
typedef enum tr_unit_meet { TR_UNIT_MEET, TR_UNIT_APART, TR_UNIT_TOO_FINE } tr_unit_meet;
tr_unit_meet tr_unit_common(tr_unit a, tr_unit b, bool delta, tr_unit *out);
const tr_ty *tr_ty_date(tr_tytab *t, bool delta, tr_unit unit);
/* An array of int64 as one of such dates. */
const tr_ty *tr_ty_dates(tr_tytab *t, const tr_ty *date, const tr_ty *array);
const tr_ty *tr_ty_one_date(tr_tytab *t, const tr_ty *ty); /* of DATES: the DATE; a DATE: itself */
static inline bool tr_ty_is_date(const tr_ty *t);
bool tr_ty_is_delta(const tr_ty *ty); /* of a DATE or DATES, as the next ones */
tr_unit tr_ty_date_unit(const tr_ty *ty);
bool tr_ty_same_date(const tr_ty *a, const tr_ty *b);
/* "datetime64[D]", "m8[ns]": NULL where it is none. The text begins as one: what follows, which
 * may be a unit that is not compiled. */
const tr_ty *tr_ty_parse_date(tr_tytab *t, const char *text);
bool tr_ty_looks_like_date(const char *text, bool *delta, const char **rest);
void tr_ty_print_date(tr_sb *b, const tr_ty *ty);

/* An array of fixed-width strings, of bytes (S) or of characters (`wide`: U): an array of uint8 whose last
 * axis is an item's bytes, one after the other. */
const tr_ty *tr_ty_chars(tr_tytab *t, bool wide, const tr_ty *array);

/* What a gufunc's function takes for an operand of n core axes: an input without any is a number, an output
 * without any an array of one element, so that it can be stored to. */
const tr_ty *tr_ty_core(tr_tytab *t, const tr_ty *elem, unsigned n, bool output);
const tr_ty *tr_ty_range(tr_tytab *t, const tr_ty *elem, unsigned sub); /* TR_RANGE_* */
const tr_ty *tr_ty_slice(tr_tytab *t, const tr_ty *start, const tr_ty *stop, const tr_ty *step);
const tr_ty *tr_ty_lit(tr_tytab *t,
                       const struct tr_obj *lit); /* interned by value for scalars/strings, else by pointer */
const tr_ty *tr_ty_closure(tr_tytab *t, uint32_t func, uint32_t opts, uint32_t n,
                           const tr_ty *const *captured);
const tr_ty *tr_ty_handed(tr_tytab *t, uint32_t which, uint32_t n, const tr_ty *const *items);
const tr_ty *tr_ty_method(tr_tytab *t, const tr_ty *self, const char *name);
const tr_ty *tr_ty_exc(tr_tytab *t, const struct tr_obj *cls, uint32_t n, const tr_ty *const *args);

static inline bool tr_ty_is_scalar(const tr_ty *t) {
    return t->kind < TR_TY__SCALARS;
}
/* Its row of ty/kinds.def. */
static inline unsigned tr_ty_row(const tr_ty *t) {
    return t->kind < TR_TY_NUMBERS ? 0 : t->kind - (unsigned)TR_TY_NUMBERS;
}
static inline bool tr_ty_is(const tr_ty *t, tr_tyk k) {
    return t->kind == (uint8_t)k;
}
static inline bool tr_ty_is_packed(const tr_ty *t) {
    return t->kind == TR_TY_ARRAY && t->sub == TR_ARRAY_PACKED;
}
static inline bool tr_ty_is_loose(const tr_ty *t) {
    return t->kind == TR_TY_ARRAY && t->sub != 0;
}
/* An array of records. */
static inline bool tr_ty_is_slots(const tr_ty *t) {
    return t->kind == TR_TY_ARRAY && t->elem->kind == TR_TY_SLOT;
}
static inline bool tr_ty_is_records(const tr_ty *t) {
    return t->kind == TR_TY_ARRAY && t->elem->kind == TR_TY_STRUCT;
}
static inline bool tr_ty_is_date(const tr_ty *t) {
    return t->kind == TR_TY_DATE || t->kind == TR_TY_DATES;
}
/* 'b' 'i' 'u' 'f' 'c' for scalars, 0 else. */
char tr_ty_class(const tr_ty *t);
static inline bool tr_ty_is_int(const tr_ty *t) {
    return tr_ty_class(t) == 'i' || tr_ty_class(t) == 'u';
}
static inline bool tr_ty_is_float(const tr_ty *t) {
    return t->kind == TR_TY_F16 || t->kind == TR_TY_F32 || t->kind == TR_TY_F64;
}
static inline bool tr_ty_is_complex(const tr_ty *t) {
    return t->kind == TR_TY_C64 || t->kind == TR_TY_C128;
}
/* A float as an integer of type `to`, as x86 does it: what does not fit gives the smallest int; 8 and 16 bits
 * go through 32. Bits of a uint64; bits above the type's are left. */
int64_t tr_ty_truncate(const tr_ty *to, double x);
unsigned tr_ty_size(const tr_ty *t); /* bytes of a scalar, DATE, STRUCT or SLOT in memory; 0 of others */
const char *tr_tyk_ir_name(tr_tyk k);
const char *tr_tyk_user_name(tr_tyk k); /* "float64" */

/* The word of its kind and form in the IR's text; NULL: it has none. */
const char *tr_ty_word(const tr_ty *t);

/* Text: as in the IR ("f32[2c]", "(i64, f64)") and as users write and read it ("array(float32, 2d, C)"). */
void tr_ty_print_ir(tr_sb *b, const tr_ty *t);
void tr_ty_print_user(tr_sb *b, const tr_ty *t);
const char *tr_ty_user(tr_arena *a, const tr_ty *t);
/* Parses the IR's text for a type at *s and advances it; NULL on a syntax error. */
const tr_ty *tr_ty_parse_ir(tr_tytab *t, const char **s);

/* --- promotion (docs/semantics.md) --- */

/* NumPy's promotion of two strong scalars: promote_types. */
tr_tyk tr_ty_promote(tr_tyk a, tr_tyk b);
/* What a weak number (int64, float64 or complex128, `negative` where that is known) and a strong one are
 * computed in: NEP 50, the weak one adds its kind and not its width. The rules differ in integers beside
 * integers. */
typedef enum tr_meet {
    TR_MEET_WIDE,  /* operators on numbers: 64 bits, unsigned beside an unsigned one unless negative */
    TR_MEET_BITS,  /* & | ^: the same, whatever the sign */
    TR_MEET_NUMPY, /* ufuncs and arrays: the strong one's type */
    TR_MEET_NUMBA  /* the same with promotion="numba", where only integers are weak */
} tr_meet;
tr_tyk tr_ty_weak_meet(tr_tyk weak, bool negative, tr_tyk with, tr_meet rule);
/* Common type of two scalars as NumPy 2 has it. Weak when both are. */
const tr_ty *tr_ty_common(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba);
/* Result type of an arithmetic operation on scalars, weak or strong. `op` is the class of operation: '+'
 * (+ - * // % and their like), 'p' powers, '/' true division, '&' bitwise, '<' shifts. Integers come out at
 * least 64 bits wide. The result may be weak when both are. NULL: not defined (e.g. '&' on floats). `numba`:
 * promotion="numba", which has rules of its own for more: 'd' divmod, 'm' functions of two floats, 'c'
 * copysign, 'u' ufuncs and operators of arrays, 'q' true division there. */
const tr_ty *tr_ty_arith(tr_tytab *t, char op, const tr_ty *a, const tr_ty *b, bool numba);
/* Type both sides of a comparison are converted to. int64 with uint64 yields NULL: compare by sign
 * (lib/operators.c). */
const tr_ty *tr_ty_compare(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba);
/* Join at a block argument: weak becomes strong, scalars promote, arrays of equal dtype and rank join layouts
 * and readonly. NULL: no common type; among them int64 with uint64, which promotion="numba" joins to
 * float64. */
const tr_ty *tr_ty_join(tr_tytab *t, const tr_ty *a, const tr_ty *b, bool numba);
/* A weak type's, or a literal int/float/complex/bool's strong twin (int64, float64, complex128, bool); tuples
 * and slices by item; others unchanged. */
const tr_ty *tr_ty_strong(tr_tytab *t, const tr_ty *a);

/* --- declared signatures: what they accept (ty/accept.c). Scalars convert as by assignment, bool -> int ->
 * float -> complex; arrays match in dtype, rank and layout; tuples by item. How far a conversion goes: 0, it
 * is that type; more is farther; -1: there is none. --- */

int tr_ty_accept_scalar(tr_tyk from, const tr_ty *to);
/* What an array is: beside the layout that its type says, all that it has (a bit for each). */
typedef struct tr_arrk {
    tr_tyk elem;
    unsigned ndim;
    tr_layout layout;
    unsigned layouts;
    bool readonly;
    unsigned form; /* TR_ARRAY_* */
} tr_arrk;
int tr_ty_accept_array(const tr_arrk *from, const tr_ty *to);
int tr_ty_accept(const tr_ty *from, const tr_ty *to);
/* How far argument i is from what signature `sig` says. */
typedef int (*tr_accept_fn)(void *user, uint32_t sig, uint32_t i);
/* The signature that asks for the least conversion, the first of equals; UINT32_MAX: none fits. */
uint32_t tr_ty_choose(uint32_t nsigs, uint32_t nargs, tr_accept_fn cost, void *user);

/* --- parts: the scalars a value is made of at run time (see rt/layout.h) --- */

typedef enum tr_part {
    TR_PART_I1,
    TR_PART_I8,
    TR_PART_I16,
    TR_PART_I32,
    TR_PART_I64,
    TR_PART_F16,
    TR_PART_F32,
    TR_PART_F64,
    TR_PART_PTR
} tr_part;

/* Number of parts of a value of type t. scalar: 1, complex: 2 (re, im), array: owner, data, ndim shapes, and
 * ndim strides (in elements) unless layout is C or F; the others: their items', in order. */
unsigned tr_ty_nparts(const tr_ty *t);
/* Takes the items of t, and theirs, from *left; false when there are more. Types share items: a count may be
 * exponential. */
bool tr_ty_fits(const tr_ty *t, unsigned *left);
/* Fills out[0 .. nparts). */
void tr_ty_parts(const tr_ty *t, tr_part *out);

/* --- what containers hold (ty/slot.c) --- */
const tr_ty *tr_ty_slot(tr_tytab *t, const tr_ty *of); /* one item of that type, of an array */
/* What items of this type are to an array: numbers themselves, else slots. */
const tr_ty *tr_ty_as_elem(tr_tytab *t, const tr_ty *of);
/* Values of it may be items of a container. */
bool tr_ty_may_lie(const tr_ty *t);
/* Which of the runtime's classes of keys one is of, and of the last one the words by which the shape of such
 * keys names what is compared (rt/layout.h: tr_keypart). */
typedef enum tr_keyclass {
    TR_KEYS_BOOL,
    TR_KEYS_I64,
    TR_KEYS_F64,
    TR_KEYS_C128,
    TR_KEYS_2I64,
    TR_KEYS_STRING,
    TR_KEYS_ANY
} tr_keyclass;
tr_keyclass tr_ty_key_class(const tr_ty *key);
void tr_ty_key_words(const tr_ty *key, tr_sb *to);
bool tr_ty_may_be_item(const tr_ty *t); /* so may users' values */
/* Where each part of a value of type t lies in a slot, or in an array's item that is a number; bytes of it
 * all. `at` may be NULL. */
unsigned tr_ty_lies(const tr_ty *t, uint32_t *at, unsigned *align);
unsigned tr_part_size(tr_part p); /* in memory */
/* Which of its parts are counted pointers: NULL, tagged, or a tr_mem (rt/layout.h). How many; `part` may be
 * NULL. */
unsigned tr_ty_owners(const tr_ty *t, uint32_t *part);

/* --- signature text: "f8(i4, i4)", "void(f4[:])", "float64[:, ::1](...)" --- */

typedef struct tr_sig {
    const tr_ty *ret; /* NULL: not given */
    uint32_t n;
    const tr_ty **args; /* NULL: a bare type was given, which is in ret */
} tr_sig;

/* Parses user's signature text (a full signature, a bare type, or a tuple of argument types in parentheses).
 * On failure false, with a message that names the position. */
bool tr_ty_parse_sig(tr_arena *a, tr_tytab *t, const char *text, tr_sig *out, const char **msg);
/* Parses one user-level type text: "float32[:, ::1]", "f8", "intp", "none", "(i4, f8)" for a tuple, and what
 * tr_ty_print_user prints for these. */
const tr_ty *tr_ty_parse_user(tr_arena *a, tr_tytab *t, const char *text, const char **msg);

/* NumPy's text of a dtype, ty/dtypes.def, of this machine's byte order; NULL: of none that
 * is a scalar here. */
const tr_ty *tr_ty_parse_dtype(tr_tytab *t, const char *text);

/* The names users may call a scalar by: X("intp", I64) ... in ty/names.def, exported as treadle.types. */
typedef struct tr_tyname {
    const char *name;
    tr_tyk kind;
} tr_tyname;
extern const tr_tyname tr_ty_names[];
extern const unsigned tr_ty_nnames;

#endif
