/* Compile-time objects: what the snapshot froze of the user's globals, closure cells, defaults and constants.
 * Plain data, no Python. Owned by the compilation's arena; `py` is only an identity (and, in ext/, the
 * reference the snapshot holds). */
#ifndef TR_TY_OBJ_H
#define TR_TY_OBJ_H

#include <stdbool.h>
#include <stdint.h>

#include "ty/bigint.h"
#include "ty/ty.h"

typedef enum tr_objk {
    TR_OBJ_NONE,
    TR_OBJ_BOOL,
    TR_OBJ_INT, /* exact, of any size (ty/bigint.h) */
    TR_OBJ_FLOAT,
    TR_OBJ_COMPLEX,
    TR_OBJ_SCALAR, /* a NumPy scalar: strong; `ty` its type, value in i/u/f/c */
    TR_OBJ_DATE,   /* a np.datetime64 or np.timedelta64: `ty` its DATE, value in i */
    TR_OBJ_STR,
    TR_OBJ_BYTES, /* as STR, a character for each byte, where that of 0 is 256 */
    TR_OBJ_ELLIPSIS,
    TR_OBJ_SLICE, /* a constant slice (3.14+) or frozen slice object: items start, stop, step */
    TR_OBJ_TUPLE,
    TR_OBJ_LIST,    /* a list, which is only read */
    TR_OBJ_DICT,    /* a dict of names, only read; items: tuples of the names and of their values */
    TR_OBJ_ARRAY,   /* a frozen ndarray */
    TR_OBJ_PLACED,  /* an array of a device, which is used where it lies */
    TR_OBJ_FUNC,    /* a user's function: index into the program */
    TR_OBJ_CODE,    /* the body of an inner function or lambda: index into the program */
    TR_OBJ_BUILTIN, /* a row of builtins.def */
    TR_OBJ_MODULE,  /* a module, an enum or a member of one: attributes that the code may reach */
    /* a dtype or a scalar type object used as a value: np.float32, np.dtype("f4"), treadle.int32 */
    TR_OBJ_TYPE,
    TR_OBJ_EXC,     /* an exception class: row of exc.def, or past them one of the program's */
    TR_OBJ_EXCVAL,  /* an exception that exists already, of the program's */
    TR_OBJ_NTCLASS, /* a namedtuple class: fields, name; items: defaults, NULL for none */
    TR_OBJ_UFUNC,   /* a ufunc of others, which is C loops */
    /* a functools.partial; items: what it calls, tuples of arguments, of names, of the names' values */
    TR_OBJ_PARTIAL,
    TR_OBJ_GENERATOR, /* a np.random.Generator; `ty` its type */
    /* a list, a dict or a set that is too large to be written out, or asked by keys: `ty` its type, fixed */
    TR_OBJ_CONTAINER,
    TR_OBJ_EXTERN, /* a function of others, in another language, which is linked */
    TR_OBJ_OPAQUE  /* anything else: repr says what it was */
} tr_objk;

typedef struct tr_obj tr_obj;

typedef struct tr_attr {
    const char *name;
    const tr_obj *obj;
} tr_attr;

struct tr_obj {
    uint8_t kind;     /* tr_objk */
    const char *repr; /* short text for messages; never NULL */
    const void *py;   /* identity of the Python object, or NULL */
    const char *name; /* LIST, DICT, CONTAINER: as the function says that met it first, or NULL */
    /* SCALAR, DATE, TYPE, ARRAY (its array type, readonly), PLACED (its array type); NTCLASS: what the items
     * of a vector are (treadle/cuda/_vector.py), or NULL */
    const tr_ty *ty;
    const tr_ty *date; /* ARRAY, PLACED of int64: the DATE that its items are, or NULL */
    char chars;        /* ARRAY of bytes: S or U, the fixed-width strings that it is of; else 0 */
    /* With attributes, or NULL. INT: the member of an enum that it is; FUNC: the class that it stands for */
    const tr_obj *member;
    union {
        int64_t i;   /* BOOL; SCALAR of a signed type or bool */
        uint64_t u;  /* SCALAR of an unsigned type */
        tr_bigint n; /* INT */
        double f;    /* FLOAT */
        double c[2]; /* COMPLEX */
        struct {
            const char *d;
            uint32_t n;
        } s; /* STR: UTF-8 */
        struct {
            uint32_t n;
            const tr_obj *const *items;
            const char *const *fields;
            const char *name;
            uint32_t serial; /* as a type's */
        } t;                 /* TUPLE, SLICE, NTCLASS, PARTIAL */
        struct {
            void *data;
            const int64_t *shape, *strides;
            uint32_t index;
            /* no code depends on what it holds, addresses: it is bound anew where code is loaded */
            bool bound;
        } a; /* ARRAY: strides in elements; index among the program's constants */
        struct {
            const tr_obj *table; /* an ARRAY of one item, its address */
            const int64_t *shape, *strides;
            const char *name; /* as the function says that met it first, or NULL */
        } p;                  /* PLACED: strides in elements */
        struct {
            uint32_t n;
            const tr_attr *attrs;
            const char *name;
            bool one;      /* a member of an enum that is equal to itself alone, and true */
            bool is_value; /* a member of an enum that is a str, a float or bytes, and compares as that */
            bool own_eq; /* a member of an enum that is none of these: its class says what it is equal to, */
            bool own_bool;         /* and whether it is true */
            bool is_false;         /* a member of a Flag with no bit */
            const tr_obj *members; /* of an enum that is more than a way to a member: a tuple; or NULL */
        } m;                       /* MODULE */
        struct {
            uint32_t func;                      /* FUNC, CODE */
            const struct tr_contract *contract; /* FUNC: of a decorated one (ir/prog.h), or NULL */
        };
        struct {
            const struct tr_ufn *fn; /* a row of its signatures for each loop (ir/prog.h) */
            const tr_obj *table;     /* an ARRAY: tr_cloops (rt/layout.h) */
        } l;                         /* UFUNC */
        const struct tr_extern *x;   /* EXTERN (ir/prog.h) */
        /* GENERATOR: an ARRAY of its two words (ty/kinds.def); CONTAINER: one of one slot, it */
        const tr_obj *parts;
        uint32_t builtin; /* BUILTIN: row */
        uint32_t exc;     /* EXC, EXCVAL: row */
        bool absent; /* OPAQUE: a stand-in for what Treadle does not have, so nothing is an instance of it */
    } u;
};

/* True for objects whose value alone identifies them (None, numbers, strings, types, builtins, exceptions,
 * tuples of these). */
bool tr_obj_by_value(const tr_obj *o);
/* A function that can be called, and is no class. */
static inline bool tr_obj_is_function(const tr_obj *o) {
    return o->kind == TR_OBJ_FUNC || o->kind == TR_OBJ_BUILTIN || o->kind == TR_OBJ_UFUNC ||
           o->kind == TR_OBJ_EXTERN;
}
/* What a variable may be one of several of: each is itself, and has no number. */
static inline bool tr_obj_is_one(const tr_obj *o) {
    return tr_obj_is_function(o) || (o->kind == TR_OBJ_MODULE && o->u.m.one);
}
uint64_t tr_obj_hash(const tr_obj *o);
bool tr_obj_has_items(const tr_obj *o);
bool tr_obj_equal(const tr_obj *a, const tr_obj *b);
/* What the snapshot has of an attribute of a MODULE; NULL: nothing. */
const tr_obj *tr_obj_attr(const tr_obj *m, const char *name);
/* The exact value of an int or a bool; false: it is neither. */
bool tr_obj_integer(const tr_obj *o, tr_bigint *out);
/* The type inference gives to a frozen object: LIT for everything but arrays and tuples of mixed content... a
 * TUPLE object yields a tuple type of its items' types; an ARRAY object yields its array type. */
const tr_ty *tr_obj_type(tr_arena *a, tr_tytab *t, const tr_obj *o);
/* The type of a number by itself: Python's are weak, but bools, and integers that take a uint64; NumPy's have
 * their own. NULL: no number, or an integer that 64 bits do not hold. */
const tr_ty *tr_obj_number(tr_tytab *t, const tr_obj *o);
/* How many items a frozen array holds that can be looked at when compiling, for they are there, a few numbers
 * in one piece of memory; 0: not so. */
uint32_t tr_obj_items(const tr_obj *o);
const tr_obj *tr_obj_int(tr_arena *a, int64_t v);
const tr_obj *tr_obj_bigint(tr_arena *a, tr_bigint v);
const tr_obj *tr_obj_float(tr_arena *a, double v);
const tr_obj *tr_obj_bool(tr_arena *a, bool v);
const tr_obj *tr_obj_str(tr_arena *a, const char *s);
const tr_obj *tr_obj_none(void);

/* The IR's text for an object (docs/ir.md), and back; what is neither number, string, tuple, slice, type nor
 * array reads back as an OPAQUE object of that name. NULL on a syntax error. */
void tr_obj_print_ir(tr_sb *b, const tr_obj *o);
const tr_obj *tr_obj_parse_ir(tr_tytab *t, const char **s);

/* The layout of a generalised ufunc: which axes of its operands are the function's own, the last ones. */
typedef struct tr_cores {
    const char *text;     /* "(m,n),(n)->(m)" */
    const uint8_t *n;     /* per operand: its axes */
    const uint8_t *which; /* per operand, TR_MAX_NDIM entries: the size that each of them has */
    uint32_t nsizes;
    const int64_t *sizes; /* -1: what the operands have */
    uint32_t writable;    /* bit i: input i is stored to */
} tr_cores;

#endif
