/* Functions as results for Python: which type they have there, and what it stands for. See hands.h. */
#include "ext/hands.h"

#include <assert.h>
#include <string.h>

#include "ext/box.h"
#include "ext/check.h"

static const tr_ty *handed(tr_job *j, const tr_ty *t);

static bool has_hands(const tr_ty *t) {
    bool any = t->kind == TR_TY_HANDED;
    for (uint32_t i = 0; !any && i < t->n; i++)
        any = has_hands(t->items[i]);
    return any;
}

/* A list or the like of functions, which is no argument. */
static bool lists_hands(const tr_ty *t) {
    if (t->kind == TR_TY_LIST || t->kind == TR_TY_DICT || t->kind == TR_TY_FACED || t->kind == TR_TY_DEQUE)
        return has_hands(t);
    bool any = false;
    for (uint32_t i = 0; !any && i < t->n; i++)
        any = lists_hands(t->items[i]);
    return any;
}

/* What a function holds is given to it as arguments are. */
static const tr_ty *const *handed_items(tr_job *j, const tr_ty *t) {
    bool function = t->kind == TR_TY_CLOSURE || t->kind == TR_TY_PARTIAL;
    const tr_ty **items = TR_NEW_N(&j->ctx.arena, const tr_ty *, t->n + 1u);
    for (uint32_t i = 0; i < t->n; i++)
        if (!(items[i] = handed(j, t->items[i])) || (function && lists_hands(items[i])))
            return NULL;
    return items;
}

/* Names with values: a dict, whose names are its type's. */
static const tr_ty *handed_names(tr_job *j, const tr_ty *t) {
    const tr_ty *names = t->items[0], *values = handed(j, t->items[1]);
    const char **fields = TR_NEW_N(&j->ctx.arena, const char *, names->n + 1u);
    for (uint32_t i = 0; i < names->n; i++)
        fields[i] = names->items[i]->lit->u.s.d;
    return values ? tr_ty_named_tuple(j->ctx.types, "dict", TR_SERIAL_DICT, names->n, values->items, fields)
                  : NULL;
}

static bool is_object(const tr_obj *o) {
    bool number = o->kind <= TR_OBJ_COMPLEX || o->kind == TR_OBJ_STR;
    return number ? o->kind != TR_OBJ_INT || tr_bigint_fits64(&o->u.n) : o->py != NULL;
}

static const tr_ty *handed(tr_job *j, const tr_ty *t) {
    if (t->kind == TR_TY_KEYED)
        return handed_names(j, t);
    if (!t->local)
        return t;
    bool closure = t->kind == TR_TY_CLOSURE, object = t->kind == TR_TY_LIT && is_object(t->lit);
    if (closure && j->prog.funcs.d[t->func].round)
        return NULL;
    bool held = t->kind == TR_TY_TUPLE || t->kind == TR_TY_LIST || t->kind == TR_TY_DICT ||
                t->kind == TR_TY_OPT || t->kind == TR_TY_ONEOF || t->kind == TR_TY_PARTIAL ||
                t->kind == TR_TY_FACED || t->kind == TR_TY_DEQUE || t->kind == TR_TY_SET;
    if (!closure && !object && !held)
        return NULL;
    const tr_ty *const *items = handed_items(j, t);
    if (!items)
        return NULL;
    if (held)
        return tr_ty_like(j->ctx.types, t, items);
    tr_vec_push(&j->ctx.arena, &j->hands, t);
    return tr_ty_handed(j->ctx.types, j->hands.n - 1, t->n, items);
}

const tr_ty *tr_hands_type(tr_job *j, const tr_ty *t) {
    j->hands.n = 0;
    const tr_ty *r = handed(j, t);
    assert((!r || !r->local) && "a type for Python's border outlives the compilation");
    return r && !r->local ? r : NULL;
}

const tr_ty *tr_hands_misfit(tr_job *j, const tr_ty *t) {
    bool function = t->kind == TR_TY_CLOSURE || t->kind == TR_TY_PARTIAL;
    for (uint32_t i = 0; i < t->n; i++) {
        const tr_ty *x = t->items[i], *to = tr_hands_type(j, x), *deeper;
        if (to && tr_box_can(to) && !(function && lists_hands(to)))
            continue;
        if ((deeper = tr_hands_misfit(j, x)) || function)
            return deeper ? deeper : x;
    }
    return NULL;
}

/* --- what the numbers stand for --- */

static PyObject *object_of(const tr_obj *o) {
    switch (o->kind) {
    case TR_OBJ_NONE: Py_RETURN_NONE;
    case TR_OBJ_BOOL: return PyBool_FromLong(o->u.i != 0);
    case TR_OBJ_INT: {
        int64_t v;
        return tr_bigint_i64(&o->u.n, &v) ? PyLong_FromLongLong(v)
                                          : PyLong_FromUnsignedLongLong(tr_bigint_wrapped(&o->u.n));
    }
    case TR_OBJ_FLOAT: return PyFloat_FromDouble(o->u.f);
    case TR_OBJ_COMPLEX: return PyComplex_FromDoubles(o->u.c[0], o->u.c[1]);
    case TR_OBJ_STR: return PyUnicode_FromStringAndSize(o->u.s.d, (Py_ssize_t)o->u.s.n);
    default: return Py_NewRef((PyObject *)(uintptr_t)o->py); /* the snapshot holds it */
    }
}

static PyObject *constant_of(const tr_obj *o) {
    PyObject *x = object_of(o), *r = x ? PyTuple_Pack(1, x) : NULL;
    Py_XDECREF(x);
    return r;
}

/* The defaults of one of functions that name each other, which are constants. */
static PyObject *defaults_of(const tr_obj *o) {
    PyObject *r = o ? PyTuple_New(o->u.t.n) : Py_NewRef(Py_None);
    for (uint32_t i = 0; o && r && i < o->u.t.n; i++) {
        PyObject *x = is_object(o->u.t.items[i]) ? object_of(o->u.t.items[i]) : NULL;
        if (!x && !PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "%s cannot be a default of a function that is returned to Python",
                         o->u.t.items[i]->repr);
        if (x)
            PyTuple_SET_ITEM(r, i, x);
        else
            Py_CLEAR(r);
    }
    return r;
}

/* ((name, code, defaults), ...) */
static PyObject *kin_of(const tr_job *j, const tr_kin *kin) {
    uint32_t n = kin ? kin->n : 0;
    PyObject *r = PyTuple_New(n), *globals;
    for (uint32_t k = 0; r && k < n; k++) {
        PyObject *defaults = defaults_of(kin->defaults[k]);
        PyObject *one = defaults
                            ? Py_BuildValue("(sOO)", kin->names[k],
                                            tr_freeze_code(&j->frozen, kin->funcs[k], &globals), defaults)
                            : NULL;
        Py_XDECREF(defaults);
        if (one)
            PyTuple_SET_ITEM(r, k, one);
        else
            Py_CLEAR(r);
    }
    return r;
}

static const char *own_name(const tr_func *fn, uint32_t func) {
    if (fn->itself && !fn->kin)
        return fn->code->localsplus[fn->freeidx[fn->itself - 1]];
    for (uint32_t k = 0; fn->kin && k < fn->kin->n; k++)
        if (fn->kin->funcs[k] == func)
            return fn->kin->names[k];
    return NULL;
}

static bool is_shared(const tr_func *fn, uint32_t i) {
    return i < fn->nfree ? fn->shared && fn->shared[fn->freeidx[i]] : false;
}

/* A bool for each value that a function holds, from `from` on. */
static PyObject *flags(uint32_t n, const bool *is) {
    PyObject *r = PyTuple_New(n);
    for (uint32_t i = 0; r && i < n; i++)
        PyTuple_SET_ITEM(r, i, PyBool_FromLong(is[i]));
    return r;
}

static PyObject *names_of(const tr_func *fn) {
    uint32_t n = tr_func_held(fn);
    PyObject *r = PyTuple_New(n);
    for (uint32_t i = 0; r && i < n; i++) {
        PyObject *name = PyUnicode_FromString(i < fn->nfree ? fn->code->localsplus[fn->freeidx[i]]
                                                            : fn->more[i - fn->nfree]);
        if (name)
            PyTuple_SET_ITEM(r, i, name);
        else
            Py_CLEAR(r);
    }
    return r;
}

/* A value that has no parts is the same for all objects of the function; its own place, and those of its kin,
 * hold nothing that it needs. */
static PyObject *made_of(tr_job *j, const tr_ty *t, PyObject *cls) {
    const tr_func *fn = &j->prog.funcs.d[t->func];
    uint32_t n = tr_func_held(fn);
    assert(t->n == n + 1 && "a function's defaults, and what it holds");
    bool *constant = PyMem_Calloc(2 * (size_t)n + 2, sizeof *constant), *shared = constant + n + 1;
    if (!constant)
        return PyErr_NoMemory();
    for (uint32_t i = 0; i <= n; i++)
        constant[i] = tr_ty_nparts(t->items[i]) == 0 || (fn->itself && !fn->kin && i == fn->itself);
    for (uint32_t i = 0; i < n; i++)
        shared[i] = is_shared(fn, i);
    PyObject *globals, *code = tr_freeze_code(&j->frozen, t->func, &globals);
    PyObject *names = names_of(fn), *constants = names ? flags(n + 1, constant) : NULL,
             *shares = constants ? flags(n, shared) : NULL, *kin = shares ? kin_of(j, fn->kin) : NULL;
    PyMem_Free(constant);
    PyObject *r = kin ? PyObject_CallFunction(cls, "OOOOOOsO[]", code, globals, names, constants, shares, kin,
                                              own_name(fn, t->func), j->f->options)
                      : NULL;
    Py_XDECREF(names);
    Py_XDECREF(constants);
    Py_XDECREF(shares);
    Py_XDECREF(kin);
    return r;
}

static PyObject *list_of(tr_job *j) {
    PyObject *module = PyImport_ImportModule("treadle._closure"),
             *cls = module ? PyObject_GetAttrString(module, "Made") : NULL,
             *list = cls ? PyList_New(0) : NULL;
    for (uint32_t k = 0; list && k < j->hands.n; k++) {
        const tr_ty *t = j->hands.d[k];
        PyObject *one = t->kind == TR_TY_LIT ? constant_of(t->lit) : made_of(j, t, cls);
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    Py_XDECREF(module);
    Py_XDECREF(cls);
    return list;
}

/* Types alone, of a program whose code was in the cache. */
static PyObject *list_again(const tr_job *of) {
    tr_job *j = tr_job_new(of->f, of->pats, of->args, of->n, of->rq.ret);
    PyObject *r = NULL;
    if (!j)
        return NULL;
    j->ctx.dump = (tr_dump){0};
    j->rq.upto = TR_STAGE_INFER;
    j->rq.text_only = true; /* it is not looked for in the cache */
    if (tr_job_run(j)) {
        const tr_ty *t = tr_hands_type(j, j->prog.insts.d[j->prog.root].ret);
        if (t == of->out.ret)
            r = list_of(j);
        else
            PyErr_Format(PyExc_SystemError,
                         "%U(): code from the cache gives other functions than the program", of->f->qualname);
    }
    tr_job_free(j);
    return r;
}

bool tr_hands_fill(tr_job *j, PyObject **out) {
    assert(tr_py_is_held() && j->out.ret && "a job that has run");
    *out = NULL;
    if (!has_hands(j->out.ret))
        return true;
    *out = j->out.from_cache ? list_again(j) : list_of(j);
    assert(tr_py_agrees(*out != NULL) && "what cannot be made has raised");
    return *out != NULL;
}
