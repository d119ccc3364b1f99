/* The snapshot: everything that a function's bytecode can reach, as plain data, taken under the GIL.
 *
 * After it no stage needs the interpreter. Globals are read from the function's dict, then its builtins; closure cells, defaults
 * and constants too; attributes of modules as far as the code's chains of names go; functions that are reached are frozen in
 * turn, each once. What Treadle has no meaning for becomes an opaque object with a short description, so nothing fails here but
 * for lack of memory.
 * Use: tr_freeze_init, then tr_freeze_func and tr_freeze_value in any order, then tr_freeze_finish (also after failure). */
#ifndef TR_EXT_FREEZE_H
#define TR_EXT_FREEZE_H

#include "ext/py.h"

#include "code/code.h"
#include "ir/prog.h"

/* Which Python object is which row of builtins.def; filled at the first snapshot, kept in the module's state. Zero is empty. */
typedef struct tr_builtin_map {
    PyObject **keys; /* strong; open addressing by address */
    uint32_t *rows, cap, n;
    bool filled;
} tr_builtin_map;
bool tr_builtin_map_fill(tr_builtin_map *m); /* false with a Python exception */
void tr_builtin_map_clear(tr_builtin_map *m);
int tr_builtin_map_visit(const tr_builtin_map *m, visitproc visit, void *arg);

/* What the snapshot asks the rest of the extension. Both may be NULL; neither may leave an exception set. */
typedef struct tr_freeze_hooks {
    tr_builtin_map *builtins;
    /* py_func of one of our own functions (borrowed) and whether it wants to be inlined; NULL: it is none. */
    PyObject *(*unwrap)(void *user, PyObject *o, bool *inline_always);
    /* Type that one of our own type objects stands for; NULL: it is none. */
    const tr_ty *(*as_type)(void *user, PyObject *o);
    void *user;
} tr_freeze_hooks;

typedef struct tr_freezer tr_freezer;

/* The freezer lives in the program's arena; its Python objects are let go by tr_freeze_finish. NULL with an exception. */
tr_freezer *tr_freeze_init(tr_prog *p, const tr_freeze_hooks *hooks);
/* Freezes a function (plain, or one that `unwrap` knows) and all it reaches; its index in the program. */
bool tr_freeze_func(tr_freezer *z, PyObject *fn, uint32_t *func);
/* Freezes one value: a constant argument, say. NULL with a Python exception. */
const tr_obj *tr_freeze_value(tr_freezer *z, PyObject *o);
/* Hands over (new references, either may be NULL) what the program refers to, which must live as long as compiled code does, and what
 * was read where, for tr_freeze_current. */
void tr_freeze_finish(tr_freezer *z, PyObject **refs, PyObject **deps);

/* Everything that was read still has the value it had: 1 yes, 0 no, -1 exception. */
int tr_freeze_current(PyObject *deps);

/* Adds all that determines the code of the program: bytecode, constants, globals by value, functions reached, places. False and a
 * reason when the program cannot be recognised by content (it freezes an array larger than 1 MiB). */
bool tr_freeze_hash(const tr_prog *p, tr_hasher *h, const char **why);

#endif
