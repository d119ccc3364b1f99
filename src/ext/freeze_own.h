/* What the files of the snapshot share (ext/freeze.h): how a failure, a reference and a text are taken, what
 * each kind of object becomes, and in which file.
 *
 * Every maker gives the plain data of one object, or NULL where a failure is noted in `failed`; `keep` holds
 * the object. Makers of kinds that an object may also not be (a list, a partial, what lies on a device) give
 * NULL for these, too. Only tr_frozen_any and tr_frozen_taken look up what is frozen already. */
#ifndef TR_EXT_FREEZE_OWN_H
#define TR_EXT_FREEZE_OWN_H

#include "ext/freeze.h"
#include "ext/check.h"

/* FREE_VAR: of co_localspluskinds, CO_FAST_FREE. MAX_WRITTEN: items that may be written out. */
enum { FREE_VAR = 0x80, MAX_WRITTEN = 100 };

/* Where a function's names are looked up. */
typedef struct tr_fscope {
    /* borrowed: `keep` holds them; closure NULL: an inner function; locals: declared types or NULL */
    PyObject *code, *globals, *builtins, *closure, *locals;
    uint32_t parent;   /* inner: the function it stands in */
    uint32_t operands; /* cells of the closure, a bit each, for which its function has a param */
} tr_fscope;

static inline tr_arena *arena(tr_frozen *z) {
    return &z->ctx->arena;
}

/* The one place where a failure of Python's is noted; the entry points report it. An exception ends the
 * snapshot. It is put aside until then: what is still done may clear one of its own. */
static inline bool ok(tr_frozen *z, bool fine) {
    assert((fine || z->failed || PyErr_Occurred()) && "what ends a snapshot is an exception");
    if (!fine && !z->failed)
        PyErr_Fetch(&z->raised[0], &z->raised[1], &z->raised[2]);
    z->failed |= !fine;
    return fine;
}
static inline bool hold(tr_frozen *z, PyObject *o) {
    return ok(z, PyList_Append(z->keep, o) == 0);
}
/* A reference of ours goes to `keep`, which has it as long as the snapshot needs what it refers to; borrowed
 * from there. NULL stays NULL. It goes before arena memory is asked for, since that may leave from here with
 * a jump. */
static inline PyObject *taken(tr_frozen *z, PyObject *o) {
    bool held = o && hold(z, o);
    Py_XDECREF(o);
    return held ? o : NULL;
}
static inline const char *text_of(tr_frozen *z, PyObject *s) {
    Py_ssize_t n = 0;
    const char *d = s && PyUnicode_Check(s) ? PyUnicode_AsUTF8AndSize(s, &n) : NULL;
    if (!d) {
        PyErr_Clear(); /* a lone surrogate; names in messages need not be exact */
        return "?";
    }
    return tr_arena_strndup(arena(z), d, (size_t)n);
}

static inline tr_obj *new_obj(tr_frozen *z, tr_objk kind, PyObject *py, const char *repr) {
    tr_obj *o = TR_NEW(arena(z), tr_obj);
    o->kind = (uint8_t)kind;
    o->repr = repr;
    o->py = py;
    return o;
}

/* Name of a function written in C, or NULL. Asked of static classes only, so that no user code runs. */
static inline const char *name_of(tr_frozen *z, PyObject *o, const char *attr) {
    if (Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE)
        return NULL;
    PyObject *name = PyObject_GetAttrString(o, attr);
    const char *s = name && PyUnicode_CheckExact(name) ? text_of(z, name) : NULL;
    Py_XDECREF(name);
    PyErr_Clear();
    return s;
}

/* freeze.c: any object */
const tr_obj *tr_frozen_any(tr_frozen *z, PyObject *o);
const tr_obj *tr_frozen_taken(tr_frozen *z, PyObject *o);
tr_obj *tr_frozen_opaque(tr_frozen *z, PyObject *o);

/* freeze_values.c: numbers, texts, arrays and what is made of them */
tr_obj *tr_frozen_str(tr_frozen *z, PyObject *o);
tr_obj *tr_frozen_bytes(tr_frozen *z, PyObject *o);
tr_obj *tr_frozen_member(tr_frozen *z, PyObject *o);
tr_obj *tr_frozen_number(tr_frozen *z, PyObject *o);
tr_obj *tr_frozen_tuple(tr_frozen *z, PyObject *o);
tr_obj *tr_frozen_list(tr_frozen *z, PyObject *o);
tr_obj *tr_frozen_set(tr_frozen *z, PyObject *o);
tr_obj *tr_frozen_slice(tr_frozen *z, PyObject *o);
tr_obj *tr_frozen_dict(tr_frozen *z, PyObject *o);
tr_obj *tr_frozen_own_set(tr_frozen *z, PyObject *o);
tr_obj *tr_frozen_partial(tr_frozen *z, PyObject *o);
tr_obj *tr_frozen_dtype(tr_frozen *z, PyObject *o, PyArray_Descr *d);
tr_obj *tr_frozen_np_scalar(tr_frozen *z, PyObject *o);
tr_obj *tr_frozen_np_class(tr_frozen *z, PyObject *o);
tr_obj *tr_frozen_array(tr_frozen *z, PyObject *o);
tr_obj *tr_frozen_placed(tr_frozen *z, PyObject *o);
tr_obj *tr_frozen_table(tr_frozen *z, PyObject *a);
const char *const *tr_frozen_field_names(tr_frozen *z, PyTypeObject *cls, uint32_t *n);
bool tr_frozen_set_class(tr_frozen *z, tr_obj *r, PyObject *cls);
void tr_freeze_bind(tr_frozen *z, const char *name, void *addr);

/* freeze_functions.c: functions, classes, exceptions, modules */
tr_obj *tr_frozen_function(tr_frozen *z, PyObject *o, PyObject *of, const tr_ufn *ufn, PyObject *locals);
tr_obj *tr_frozen_decorated(tr_frozen *z, PyObject *o, PyObject *fn, const tr_wishes *w);
tr_obj *tr_frozen_members(tr_frozen *z, PyObject *o, tr_obj *of, PyObject *members);
tr_obj *tr_frozen_inner(tr_frozen *z, PyObject *o, uint32_t parent);
tr_obj *tr_frozen_own_exc(tr_frozen *z, tr_objk kind, PyObject *o);
tr_obj *tr_frozen_class(tr_frozen *z, PyObject *o);
tr_obj *tr_frozen_module(tr_frozen *z, PyObject *o);
bool tr_freeze_is_library(tr_frozen *z, PyObject *globals);
const tr_contract *tr_freeze_contract(tr_frozen *z, const tr_wishes *w);
bool tr_freeze_is_missing(tr_frozen *z, PyObject *o);
PyObject *tr_freeze_library(tr_frozen *z, PyObject *o, tr_wishes *out, PyObject **members);
PyObject *tr_freeze_exception(tr_frozen *z, uint32_t row);
void tr_freeze_add_scope(tr_frozen *z, tr_func f, tr_fscope s);
tr_func tr_freeze_code_of(tr_frozen *z, PyCodeObject *c);
bool tr_freeze_defaults(tr_frozen *z, tr_func *f, PyFunctionObject *fn);
tr_fscope tr_freeze_scope(tr_frozen *z, PyFunctionObject *fn, PyObject *locals);

#endif
