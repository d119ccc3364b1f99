/* The snapshot: a Python function and all that its bytecode can reach, as plain data in a compilation's arena.
 * Taken under the GIL; afterwards the compiler needs no interpreter. */
#ifndef TR_EXT_FREEZE_H
#define TR_EXT_FREEZE_H

#include "ext/py.h"

#include "code/code.h"
#include "ir/prog.h"

/* What the snapshot asks of its caller. */
typedef struct tr_freeze_host {
    /* The plain function inside a Treadle function (borrowed) with its option inline="always" in *inline_always; NULL: `o` is none. */
    PyObject *(*unwrap)(void *self, PyObject *o, bool *inline_always);
    /* Type that a Treadle type object stands for, or NULL. */
    const tr_ty *(*type)(void *self, PyObject *o);
    void *self;
    PyObject **builtins; /* slot of the module's state: identity map of library functions, made on first use */
} tr_freeze_host;

/* One snapshot in progress or done. */
typedef struct tr_frozen {
    tr_ctx *ctx;
    tr_prog *prog;
    const tr_freeze_host *host;
    PyObject *keep; /* list: a strong reference to every object that the snapshot names */
    PyObject *seen; /* dict: id of object -> capsule or index, private to freeze.c */
    tr_binding *bind; /* data of frozen arrays, by tr_obj.u.a.index; in the arena */
    size_t nbind;
    char why[128];  /* why the code cannot be cached; empty: it can */
} tr_frozen;

/* Fills p->funcs with fn (root_func) and all it reaches. False with a Python exception or an error in ctx. */
bool tr_freeze_init(tr_frozen *z, tr_ctx *ctx, tr_prog *p, const tr_freeze_host *host);
bool tr_freeze(tr_frozen *z, PyObject *fn);
/* A single value: a constant argument (string, function, dtype, class). NULL with an exception. */
const tr_obj *tr_freeze_value(tr_frozen *z, PyObject *o);
void tr_freeze_fini(tr_frozen *z);
/* Adds everything that decides what the code does to h: bytecode, constants, globals, called functions, defaults. False (and z->why) when something
 * cannot be hashed. */
bool tr_freeze_hash(tr_frozen *z, tr_hasher *h);

/* selftest.c: adds private functions that tests of the front end use. 0, or -1 with an exception. */
int tr_selftest_add(PyObject *module);

#endif
