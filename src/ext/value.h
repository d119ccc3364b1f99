/* Patterns of argument values: what a call looks at to pick compiled code.
 *
 * A key is 32 bits. For scalars, arrays, dates, None, ranges, slices and Generators it says everything; for
 * tuples, strings, functions, dtypes and classes ("deep" kinds) the rest of the pattern is compared too. A
 * function, dtype or class is a constant of the specialisation: its value is part of the pattern. A string is
 * a value of the call, and its pattern has none; but where its value chooses types (ext/spec.c).
 *
 * Key layout: bits 0-7 kind; SCALAR and ARRAY: 8-15 tr_tyk; ARRAY: 16-23 rank, 24 C-contiguous, 25
 * F-contiguous, 26 read-only, 27 not aligned, 28 and strides that are no whole numbers of items; RECORDS and
 * RECORD: from 16 on the same, 27 without 28; TUPLE and NTUPLE: 8-31 length; SLICE: 8-10 which of start,
 * stop, step are None; DATE and DATES: 8-15 which, and the unit (ext/date.c), DATES: from 16 on the same;
 * CHARS: 8 it is of U, from 16 on as ARRAY, without 27 and 28; RANGE: 8 step is 1; LIST: 8-15 tr_tyk of
 * what the items have in common, TR_KEY_EMPTY: there are none; LIST, LISTOF and TABLE: 16 it is one of
 * treadle.typed's; GENERATOR: 8-31 which bit generator. */
#ifndef TR_EXT_VALUE_H
#define TR_EXT_VALUE_H

#include "ext/state.h"

enum {
    TR_K_OTHER, /* matches nothing */
    TR_K_FLOAT,
    TR_K_INT,
    TR_K_BOOL,
    TR_K_COMPLEX,
    TR_K_NONE,
    TR_K_SCALAR, /* NumPy scalar */
    TR_K_ARRAY,
    TR_K_RANGE,
    TR_K_SLICE,
    TR_K_GENERATOR, /* np.random.Generator */
    TR_K_DATE,      /* np.datetime64 or np.timedelta64 */
    TR_K_DATES,     /* array of such */
    TR_K_CHARS,     /* array of fixed-width strings */
    TR_K_BYTES,
    TR_K_LIST, /* list, or treadle.typed.List, of numbers (lists.h) */
    TR_K_DEEP, /* kinds from here on need tr_value_matches */
    TR_K_TUPLE = TR_K_DEEP,
    TR_K_NTUPLE, /* value: its class */
    TR_K_LISTOF, /* list of anything but numbers. fields: the items' type */
    TR_K_TABLE,  /* dict or set. fields: its type */
    TR_K_STR,
    TR_K_DTYPE,
    TR_K_IDENT,   /* function, class, builtin, Ellipsis: the very object */
    TR_K_RECORDS, /* array of a structured dtype. value: the dtype */
    TR_K_RECORD,  /* NumPy scalar of one */
    TR_K_PARTIAL  /* functools.partial. items: its parts, as partial.h has them */
};
enum { TR_KEY_EMPTY = 0xff, TR_KEY_TYPED = 1 << 16 };
enum {
    TR_KEY_C = 1 << 24,
    TR_KEY_F = 1 << 25,
    TR_KEY_RO = 1 << 26,
    TR_KEY_PACKED = 1 << 27,
    TR_KEY_ODD = 1 << 28
};

static inline unsigned tr_key_kind(uint32_t key) {
    return key & 0xffu;
}
static inline tr_tyk tr_key_tyk(uint32_t key) {
    return (tr_tyk)((key >> 8) & 0xffu);
}
static inline uint32_t tr_key_list(unsigned tyk) {
    return TR_K_LIST | (uint32_t)tyk << 8;
}
static inline unsigned tr_key_ndim(uint32_t key) {
    return (key >> 16) & 0xffu;
}
static inline tr_layout tr_key_layout(uint32_t key) {
    return key & TR_KEY_C ? TR_LAYOUT_C : key & TR_KEY_F ? TR_LAYOUT_F : TR_LAYOUT_ANY;
}

typedef struct tr_argk {
    uint32_t key, n;
    struct tr_argk *items; /* of a tuple: n */
    PyObject *value;       /* strong: the constant, a named tuple's class, or a structured dtype */
    const tr_ty
        *fields; /* RECORDS, RECORD: the STRUCT that the dtype is; LISTOF: the items' type; TABLE: its type */
    uint32_t serial; /* of that class: ntclass.h */
    bool weak;       /* value is a weak reference to the constant: */
    const void *id;  /* its address */
} tr_argk;

/* tr_tyk of a NumPy type number, or 255. */
extern const uint8_t tr_value_npy_kind[24];
extern const int tr_value_npy_num[TR_TY__SCALARS]; /* and back */
/* tr_tyk of the classes in tr_state.np_scalar. */
extern const uint8_t tr_value_np_kind[TR_NPTYPES];

/* What a key says beside of an array that is not aligned. */
uint32_t tr_value_loose_key(PyArrayObject *a);
/* The form of arrays with the key: TR_ARRAY_*. */
static inline unsigned tr_key_form(uint32_t key) {
    return key & TR_KEY_ODD ? TR_ARRAY_PACKED : key & TR_KEY_PACKED ? TR_ARRAY_LOOSE : 0;
}
/* Key of an exact ndarray; TR_K_OTHER for what compiled code cannot read (dtype, byte order). */
static inline uint32_t tr_value_array_key(PyArrayObject *a) {
    PyArray_Descr *d = PyArray_DESCR(a);
    unsigned num = (unsigned)d->type_num;
    unsigned flags = (unsigned)PyArray_FLAGS(a);
    if (num >= sizeof tr_value_npy_kind || tr_value_npy_kind[num] == 255 || d->byteorder == '>' ||
        PyArray_NDIM(a) > TR_MAX_NDIM)
        return TR_K_OTHER;
    bool lies = flags & NPY_ARRAY_ALIGNED && (flags & 3u || (num != NPY_CFLOAT && num != NPY_CDOUBLE));
    uint32_t loose = __builtin_expect(lies, 1)
                         ? 0
                         : tr_value_loose_key(a); /* complex items may be aligned, and half of one apart */
    return TR_K_ARRAY | loose | (uint32_t)tr_value_npy_kind[num] << 8 | (uint32_t)PyArray_NDIM(a) << 16 |
           (flags & 3u) << 24 | (flags & NPY_ARRAY_WRITEABLE ? 0u : (uint32_t)TR_KEY_RO);
}

/* The array that bytes, a bytearray, a memoryview or an array.array is, over the same memory: a new
 * reference. NULL without an exception: it is none. */
PyObject *tr_value_of_buffer(PyObject *o);
/* Key of any value; TR_K_OTHER when it has none. Never sets an exception. */
uint32_t tr_value_key(tr_state *st, PyObject *o);
/* The same of a NumPy scalar of a number; TR_K_OTHER: it is none. */
uint32_t tr_value_scalar_key(tr_state *st, PyObject *o);
/* The class is an enum. */
bool tr_value_is_enum(const PyTypeObject *cls);
/* Value has this pattern. Never sets an exception. */
bool tr_value_matches(tr_state *st, const tr_argk *k, PyObject *o);
/* Fills *k. False with TypeError that names argument `arg` of `fn` (NULL: no call is meant) and says what
 * to do instead. */
bool tr_value_pattern(tr_state *st, PyObject *o, const char *fn, const char *arg, tr_argk *k);
/* The same for an item of a list that lies so deep, the outermost 1. False without an exception: it has
 * none. */
bool tr_value_pattern_in(tr_state *st, PyObject *o, unsigned lists, tr_argk *k);
void tr_argk_clear(tr_argk *k);
bool tr_argk_copy(const tr_argk *from, tr_argk *to);
/* Refers to functions and classes weakly from now on, where they can be; `died` is called with the reference
 * when one goes. */
bool tr_argk_weaken(tr_argk *k, PyObject *died);
/* Puts what it refers to weakly into a list: 1; 0 where some of it is gone; -1 with an exception. */
int tr_argk_hold(const tr_argk *k, PyObject *list);
/* The constant: a new reference, NULL when it is gone. */
PyObject *tr_argk_constant(const tr_argk *k);
/* It is this very object, which the caller has a reference to. */
bool tr_argk_is(const tr_argk *k, const PyObject *o);
/* At most one of the two refers weakly. Runs no code of Python's. */
bool tr_argk_equal(const tr_argk *a, const tr_argk *b);
int tr_argk_visit(const tr_argk *k, visitproc visit, void *arg);
/* The pattern holds a constant, so that its type lives in one compilation only. */
bool tr_argk_has_const(const tr_argk *k);
/* Strings in it become any strings: values of the call. False: there is none. */
bool tr_argk_forget_strings(tr_argk *k);
/* Strong type of the pattern. `constant` gives the type of one that is a constant; NULL when no constant can
 * be (else TR_TY NONE stands in). */
typedef const tr_ty *(*tr_argk_const)(void *user, const tr_argk *k);
const tr_ty *tr_argk_type(tr_tytab *t, const tr_argk *k, tr_argk_const constant, void *user);

/* How far the conversion of a value to `ty` goes: 0 it is that type, more is farther, -1 it is not
 * converted. */
int tr_value_cost(tr_state *st, PyObject *o, const tr_argk *k, const tr_ty *ty);
/* What unboxing an argument needs to know: whose it is, for messages, and where lists are held. */
struct tr_held;
typedef struct tr_unboxer {
    tr_state *st;
    const char *fn, *arg;
    struct tr_held *held; /* NULL: there is no list in it */
    char writes;          /* of lists in it: tr_meta.writes */
} tr_unboxer;
/* Writes the parts of `o` as a value of type `ty` (its own type, or one tr_value_cost allows) at *at and
 * advances it. `o` matches the key's pattern already. False with an exception that names the argument. */
bool tr_value_unbox(const tr_unboxer *u, PyObject *o, const tr_ty *ty, tr_slot **at);
/* Parts of an array: owner, data, shape and, for layout "any", strides. */
/* A string's own characters, borrowed for the time of the call. */
bool tr_value_unbox_string(PyObject *o, tr_slot **at);
bool tr_value_unbox_array(PyArrayObject *a, const tr_ty *ty, const char *fn, const char *arg, tr_slot **at);
#endif
