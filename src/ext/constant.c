/* Lists, dicts and sets that are globals, or variables of enclosing functions, as constants of a program: a
 * container of treadle.typed's with the same items, made when the snapshot is taken, and again where code
 * comes from the cache. Code that is bound to its blocks only reads them (TR_LIST_FIXED), so any number of
 * threads may.
 * Cost: a copy of the items, once for each program that reaches them. */
#include "ext/constant.h"

#include "ext/items.h"
#include "ext/state.h"
#include "ext/typed_items.h"

/* Items that a container of Python's and code's may have (put_value in typed_items.c), and that have a type
 * of what is only read (tr_ty_fixed). */
static bool may_be_in(const tr_ty *t) {
    switch ((tr_tyk)t->kind) {
    case TR_TY_FACED:
    case TR_TY_FROZEN:
    case TR_TY_DEQUE:
    case TR_TY_RECORDS:
    case TR_TY_RECORD: return false;
    default:
        for (uint32_t i = 0; i < t->n; i++)
            if (!may_be_in(t->items[i]))
                return false;
        return true;
    }
}

PyObject *tr_constant_make(tr_state *st, PyObject *o, const tr_ty **ty, int64_t words[2]) {
    bool list = PyList_CheckExact(o), dict = PyDict_CheckExact(o);
    if (!list && !dict && !PyAnySet_CheckExact(o))
        return NULL;
    *ty = tr_items_type(st, o);
    if (PyErr_Occurred() || !*ty || !may_be_in(*ty))
        return NULL;
    PyObject *r = tr_typed_make(st, *ty), *done = NULL;
    if (r)
        done = PyObject_CallMethod(r, list ? "extend" : "update", "O", o);
    if (!done)
        Py_CLEAR(r);
    Py_XDECREF(done);
    for (int k = 0; r && k < 2; k++)
        words[k] = (int64_t)(intptr_t)(k ? ((tr_typed *)r)->values : ((tr_typed *)r)->mem);
    return r;
}
