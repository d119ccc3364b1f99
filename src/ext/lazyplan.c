/* From a graph of lazy arrays to the function that computes it.
 *
 * A walk goes through what waits below the roots once, operands before what uses them, and gathers arrays and
 * numbers as arguments and all else as a key: numbers that say how the nodes hang together, and the constants
 * that these name. The key finds the plan, which is made when there is none. Nothing recurses: a graph may be
 * as deep as it likes. No code of Python's runs from the first node that a walk marks to the last one that it
 * has numbered.
 * Cost: some twenty nanoseconds a node; memory of its own only for graphs of more than some thirty. */
#include <assert.h>
#include <string.h>

#include "base/map.h"
#include "ext/compat.h"
#include "ext/lazy.h"

/* --- the walk --- */

void tr_gwalk_begin(tr_gwalk *w, tr_lazies *l, PyObject *const *roots, Py_ssize_t n) {
    memset(w, 0, offsetof(tr_gwalk, nodes));
    w->st = l->st;
    w->l = l;
    w->roots = roots;
    w->nroots = n;
    w->key = w->fewwords;
    w->roomkey = TR_LAZY_WORDS;
    tr_objs *lists[] = {&w->nodes, &w->params, &w->objs, &w->protos};
    for (unsigned i = 0; i < 4; i++) {
        lists[i]->d = lists[i]->few;
        lists[i]->n = 0;
        lists[i]->room = TR_LAZY_FEW;
    }
}

/* Twice as much memory as for n items, which are d, and at first `few`. NULL with an exception: all is as it
 * was. */
static __attribute__((noinline)) void *grown(void *d, const void *few, uint32_t n, size_t item) {
    void *r = PyMem_Realloc(d == few ? NULL : d, 2 * n * item);
    if (!r)
        PyErr_NoMemory();
    else if (d == few)
        memcpy(r, few, n * item);
    return r;
}

/* Takes a reference of its own. */
static inline bool put_obj(tr_objs *l, PyObject *o) {
    if (l->n == l->room) {
        PyObject **d = grown(l->d, l->few, l->n, sizeof *d);
        if (!d)
            return false;
        l->d = d;
        l->room *= 2;
    }
    l->d[l->n++] = Py_NewRef(o);
    return true;
}

/* The last first: of nodes none is then the last to hold another that is in the list. */
static void drop_objs(tr_objs *l) {
    while (l->n)
        Py_DECREF(l->d[--l->n]);
    if (l->d != l->few)
        PyMem_Free(l->d);
}

void tr_gwalk_fini(tr_gwalk *w) {
    drop_objs(&w->nodes);
    drop_objs(&w->params);
    drop_objs(&w->objs);
    drop_objs(&w->protos);
    if (w->key != w->fewwords)
        PyMem_Free(w->key);
}

/* Room for n numbers more. */
static inline bool reserve(tr_gwalk *w, uint32_t n) {
    while (w->roomkey - w->nkey < n) {
        uint32_t *key = grown(w->key, w->fewwords, w->roomkey, sizeof *key);
        if (!key)
            return false;
        w->key = key;
        w->roomkey *= 2;
    }
    return true;
}

static bool put(tr_gwalk *w, uint32_t x) {
    bool ok = reserve(w, 1);
    if (ok)
        w->key[w->nkey++] = x;
    return ok;
}

/* What the table knows objects by: which list they are in, and where. */
enum { IN_PARAMS, IN_OBJS, IN_PROTOS };
static inline tr_objs *list_of(tr_gwalk *w, unsigned which) {
    return which == IN_PARAMS ? &w->params : which == IN_OBJS ? &w->objs : &w->protos;
}

/* The entry of an object, or the free one that it gets. */
static inline tr_lazyseen *entry_of(tr_gwalk *w, unsigned which, const PyObject *o) {
    const tr_objs *l = list_of(w, which);
    uint32_t i = (uint32_t)((uintptr_t)o >> 4) * 2654435769u >> 8;
    for (;; i++) {
        tr_lazyseen *e = &w->l->seen[i & (w->l->roomseen - 1)];
        if (e->epoch != w->done || ((e->which & 3) == which && l->d[e->which >> 2] == o))
            return e;
    }
}

static __attribute__((noinline)) bool grow_table(tr_gwalk *w) {
    uint32_t room = w->l->roomseen;
    tr_lazyseen *old = w->l->seen, *t = PyMem_Calloc(room ? room * 2u : TR_LAZY_SEEN, sizeof *t);
    if (!t) {
        PyErr_NoMemory();
        return false;
    }
    w->l->seen = t;
    w->l->roomseen = room ? room * 2 : TR_LAZY_SEEN;
    for (uint32_t i = 0; i < room; i++)
        if (old[i].epoch == w->done)
            *entry_of(w, old[i].which & 3, list_of(w, old[i].which & 3)->d[old[i].which >> 2]) = old[i];
    PyMem_Free(old);
    return true;
}

/* The number of an object in its list, where it is put unless it is there. */
static inline bool number_of(tr_gwalk *w, unsigned which, PyObject *o, uint32_t *at) {
    if (w->nseen * 2 >= w->l->roomseen && !grow_table(w))
        return false;
    tr_lazyseen *e = entry_of(w, which, o);
    if (e->epoch != w->done) {
        tr_objs *l = list_of(w, which);
        *e = (tr_lazyseen){w->done, l->n << 2 | which};
        if (!put_obj(l, o)) {
            e->epoch = 0;
            return false;
        }
        w->nseen++;
    }
    *at = e->which >> 2;
    return true;
}

static bool is_small(PyObject *o, long most) {
    int overflow;
    long v = PyLong_AsLongAndOverflow(o, &overflow);
    return !overflow && v >= -most && v <= most;
}

/* Fits an int64, as params do. */
static bool is_word(PyObject *o) {
    int overflow;
    PyLong_AsLongLongAndOverflow(o, &overflow);
    return !overflow;
}

/* Powers that are something else: squares, roots, quotients. */
static bool is_known_power(PyObject *o) {
    if (PyLong_CheckExact(o))
        return is_small(o, 8);
    double v = PyFloat_CheckExact(o) ? PyFloat_AS_DOUBLE(o) : 3.25;
    return v == 2 || v == 1 || v == 0 || v == -1 || v == 0.5 || v == -0.5 || v == 3;
}

static inline bool is_exponent(const tr_gwalk *w, const tr_lazy *of, Py_ssize_t k) {
    return k == 1 && of->op == TR_G_CALL && of->fn == w->l->fns[TR_LAZY_POWER];
}

enum { SMALL = 2, LARGE = 32 };

/* Whether operand k of a node is an operand of the function, whose change compiles nothing. */
static bool is_param(tr_gwalk *w, const tr_lazy *of, Py_ssize_t k, PyObject *o) {
    if (PyArray_Check(o) || PyArray_IsScalar(o, Generic))
        return true;
    if (is_exponent(w, of, k) && is_known_power(o))
        return false;
    if (PyFloat_CheckExact(o) || PyComplex_CheckExact(o))
        return true;
    if (!PyLong_CheckExact(o) || !is_word(o))
        return false;
    if (of->loose) /* where a slice or an index begins shows how arrays lie to each other */
        return of->op == TR_G_CALL || of->op == TR_G_CLOSURE || !is_small(o, SMALL);
    /* an axis, or how many of something: beyond what can be an axis it is a size or a value */
    bool eased = !w->fixed && !is_small(o, LARGE);
    w->eased = w->eased || eased;
    return eased;
}

static uint32_t word_of(tr_gref r) {
    return (uint32_t)r.kind << 30 | r.at;
}
static tr_gref ref_of(uint32_t word) {
    return (tr_gref){word >> 30, word & 0x3fffffff};
}

/* Where an operand lies; numbers lie nowhere. */
static inline void note_place(tr_gwalk *w, PyObject *o, bool far) {
    const tr_dev *d = far ? atomic_load(&w->st->dev) : NULL;
    if (d)
        w->offload = d->ops->load ? TR_OFFLOAD_OWN : TR_OFFLOAD_HERE;
    w->point = w->point || (far && PyArray_NDIM((PyArrayObject *)o) == 0);
    w->here = w->here || (!far && PyArray_Check(o) && PyArray_NDIM((PyArrayObject *)o) > 0);
}

/* No operand of a key. */
#define NO_WORD UINT32_MAX

/* What an operand is in the key, that is no node, no array and no float. NO_WORD with an exception. */
static __attribute__((noinline)) uint32_t refer_other(tr_gwalk *w, const tr_lazy *of, Py_ssize_t k,
                                                      PyObject *o) {
    uint32_t at = 0;
    unsigned kind = TR_GREF_PARAM;
    PyObject *m = tr_device_mem(w->st, o);
    bool ok;
    if (m) {
        note_place(w, m, true);
        ok = number_of(w, IN_PARAMS, m, &at);
    } else if (is_param(w, of, k, o)) {
        note_place(w, o, false);
        at = w->params.n;
        ok = PyArray_Check(o) ? number_of(w, IN_PARAMS, o, &at) : put_obj(&w->params, o);
    } else {
        kind = TR_GREF_OBJ;
        ok = number_of(w, IN_OBJS, o, &at);
    }
    return ok ? word_of((tr_gref){kind, at}) : NO_WORD;
}

/* The same of any. Numbers that are the same object now need not be the next time: each is a param of its
 * own. */
static inline uint32_t refer(tr_gwalk *w, const tr_lazy *of, Py_ssize_t k, PyObject *o) {
    tr_lazy *x = tr_lazy_is(w->l, o) ? (tr_lazy *)o : NULL;
    uint32_t at = w->params.n;
    if (x && (x->epoch == w->done || !x->value)) {
        x->uses++;
        return word_of((tr_gref){x->value ? TR_GREF_PARAM : TR_GREF_NODE, x->at});
    }
    if (PyFloat_CheckExact(o) && !is_exponent(w, of, k))
        return put_obj(&w->params, o) ? word_of((tr_gref){TR_GREF_PARAM, at}) : NO_WORD;
    if (!x && !PyArray_CheckExact(o))
        return refer_other(w, of, k, o);
    PyObject *m = x ? tr_lazy_memory(x) : o;
    note_place(w, m, x && m != x->value);
    if (!number_of(w, IN_PARAMS, m, &at))
        return NO_WORD;
    if (x) {
        x->epoch = w->done;
        x->at = at;
    }
    return word_of((tr_gref){TR_GREF_PARAM, at});
}

static uint32_t ncells(PyObject *fn) {
    PyObject *cells = PyFunction_GetClosure(fn);
    return cells ? (uint32_t)PyTuple_GET_SIZE(cells) : 0;
}

static bool is_operand_cell(uint32_t cells, uint32_t i) {
    return i < TR_LAZY_CELLS && cells >> i & 1;
}

/* What a closure captures that is part of the structure. */
static bool put_fixed_cells(tr_gwalk *w, const tr_lazy *x) {
    PyObject *cells = PyFunction_GetClosure(x->fn);
    bool ok = true;
    for (uint32_t i = 0; ok && i < ncells(x->fn); i++) {
        uint32_t at = 0;
        PyObject *v = is_operand_cell(x->cells, i) ? NULL : PyCell_Get(PyTuple_GET_ITEM(cells, i));
        ok = (!v || number_of(w, IN_OBJS, v, &at)) && put(w, at);
        Py_XDECREF(v);
    }
    return ok;
}

/* What code, and functions in it, read of globals: rebound, they are another structure. How many words. */
static bool put_globals(tr_gwalk *w, PyCodeObject *code, PyObject *globals, uint32_t *n) {
    bool ok = true;
    for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(code->co_names); i++) {
        uint32_t at = 0;
        PyObject *v = tr_py_dict_get(globals, PyTuple_GET_ITEM(code->co_names, i));
        if (v)
            ok = number_of(w, IN_OBJS, v, &at) && put(w, at);
        *n += v != NULL;
        ok = ok && !PyErr_Occurred();
        Py_XDECREF(v);
    }
    for (Py_ssize_t i = 0; ok && i < PyTuple_GET_SIZE(code->co_consts); i++)
        if (PyCode_Check(PyTuple_GET_ITEM(code->co_consts, i)))
            ok = put_globals(w, (PyCodeObject *)PyTuple_GET_ITEM(code->co_consts, i), globals, n);
    return ok;
}

/* What makes a function another one though its code is the same: how many words, and these. */
static bool put_surroundings(tr_gwalk *w, const tr_lazy *x) {
    uint32_t count = w->nkey, n = 0, at = 0;
    PyObject *kw = PyFunction_GetKwDefaults(x->fn), *key, *value;
    Py_ssize_t pos = 0;
    bool ok = put(w, 0) && put_fixed_cells(w, x);
    n += ok ? w->nkey - count - 1 : 0;
    while (ok && kw && PyDict_Next(kw, &pos, &key, &value)) {
        ok = number_of(w, IN_OBJS, key, &at) && put(w, at) && number_of(w, IN_OBJS, value, &at) && put(w, at);
        n += 2;
    }
    ok = ok && put_globals(w, (PyCodeObject *)PyFunction_GetCode(x->fn), PyFunction_GetGlobals(x->fn), &n);
    if (ok)
        w->key[count] = n;
    return ok;
}

/* Beside a node's kind in the key: what else follows. */
enum { KEY_NAMES = 1 << 8, KEY_TAG = 1 << 9 };

/* The beginning of what the key has of a closure, of a node of Python's, of one with names of keywords or
 * with words of a schedule. */
static __attribute__((noinline)) bool put_special(tr_gwalk *w, const tr_lazy *x) {
    uint32_t fn = 0, proto = 0, at = 0;
    bool closure = x->op == TR_G_CLOSURE;
    PyObject *what = closure ? PyFunction_GetCode(x->fn) : x->fn;
    PyObject *tag = w->raw ? NULL : x->tag; /* a shape's or a type's program need not have the loops */
    w->nhost += x->op == TR_G_HOST;
    bool ok = (!what || number_of(w, IN_OBJS, what, &fn)) &&
              put(w, x->op | (x->kwnames ? KEY_NAMES : 0u) | (tag ? KEY_TAG : 0u)) && put(w, fn) &&
              put(w, (uint32_t)Py_SIZE(x));
    if (ok && closure) { /* code is compared by what it is, and its globals by which they are */
        uint64_t globals = (uint64_t)(uintptr_t)PyFunction_GetGlobals(x->fn);
        ok = number_of(w, IN_PROTOS, x->fn, &proto) && put(w, proto) && put(w, x->cells) &&
             put(w, (uint32_t)globals) && put(w, (uint32_t)(globals >> 32)) && put_surroundings(w, x);
    }
    if (ok && x->kwnames)
        ok = number_of(w, IN_OBJS, x->kwnames, &at) && put(w, at);
    if (ok && tag)
        ok = number_of(w, IN_OBJS, tag, &at) && put(w, at);
    return ok;
}

static inline bool put_plain(tr_gwalk *w, const tr_lazy *x) {
    uint32_t fn = 0;
    if ((x->fn && !number_of(w, IN_OBJS, x->fn, &fn)) || !reserve(w, 3))
        return false;
    uint32_t *key = w->key + w->nkey;
    w->nkey += 3;
    key[0] = x->op;
    key[1] = fn;
    key[2] = (uint32_t)Py_SIZE(x);
    return true;
}

/* A node whose operands have their numbers gets its own. */
static inline bool take_node(tr_gwalk *w, tr_lazy *x) {
    uint32_t n = (uint32_t)Py_SIZE(x);
    bool special = x->op >= TR_G_HOST || x->kwnames || x->tag;
    x->at = w->nodes.n;
    x->uses = 0;
    w->nran += x->ran;
    if (!put_obj(&w->nodes, (PyObject *)x) || !(special ? put_special(w, x) : put_plain(w, x)) ||
        !reserve(w, n))
        return false;
    uint32_t *key = w->key + w->nkey; /* operands put nothing there */
    for (uint32_t i = 0; i < n; i++)
        if ((key[i] = refer(w, x, i, x->args[i])) == NO_WORD)
            return false;
    w->nkey += n;
    return true;
}

/* What is being looked at, operands above what uses them. */
typedef struct stack {
    tr_lazy **d, *few[2 * TR_LAZY_FEW];
    uint32_t n, room;
} stack;

static inline bool push(stack *s, tr_lazy *x) {
    if (s->n == s->room) {
        tr_lazy **d = grown(s->d, s->few, s->n, sizeof *d);
        if (!d)
            return false;
        s->d = d;
        s->room *= 2;
    }
    s->d[s->n++] = x;
    return true;
}

/* Operands of x that have no number of this walk yet go on the stack, the first one on top. */
static inline bool push_operands(tr_gwalk *w, stack *s, const tr_lazy *x) {
    PyTypeObject *type = w->l->type;
    uint64_t done = w->done;
    for (Py_ssize_t i = Py_SIZE(x); i-- > 0;) {
        tr_lazy *a = (tr_lazy *)x->args[i];
        if (Py_IS_TYPE(x->args[i], type) && a->epoch != done && !a->value && !push(s, a))
            return false;
    }
    return true;
}

/* Numbers nodes until the stack is empty. */
static bool gather_all(tr_gwalk *w, stack *s) {
    uint64_t done = w->done, waits = done - 1; /* it lies on the stack */
    while (s->n) {
        uint32_t n = s->n;
        tr_lazy *x = s->d[n - 1];
        if (x->epoch == done || x->value) {
            s->n--;
            continue;
        }
        if (x->epoch != waits) {
            x->epoch = waits;
            if (!push_operands(w, s, x))
                return false;
            if (s->n > n)
                continue;
        }
        s->n--;
        if (!take_node(w, x))
            return false;
        x->epoch = done;
    }
    return true;
}

/* Which axes of an array are one long, where others are longer; records have no method of arrays, and what
 * is read of them is a view that knows nothing. */
static inline uint32_t shorts_of(PyObject *o) {
    PyArrayObject *a = (PyArrayObject *)o;
    uint32_t shorts = 0;
    bool fits = PyArray_Check(o) && PyArray_NDIM(a) < TR_MAX_NDIM && PyArray_TYPE(a) != NPY_VOID;
    int n = fits ? PyArray_NDIM(a) : 0;
    for (int i = 0; i < n; i++)
        shorts |= (uint32_t)(PyArray_DIM(a, i) == 1) << i;
    return shorts == (1u << n) - 1 ? 0 : shorts;
}

/* Along an axis that is one long an array may repeat beside others: that is part of the structure, as no
 * loop can be made for both. */
static bool put_shorts(tr_gwalk *w) {
    uint32_t count = w->nkey;
    bool ok = put(w, 0);
    for (uint32_t i = 0; ok && i < w->params.n; i++) {
        uint32_t shorts = shorts_of(w->params.d[i]);
        ok = !shorts || (put(w, i) && put(w, shorts));
    }
    if (ok)
        w->key[count] = w->nkey - count - 1;
    return ok;
}

bool tr_gwalk_gather(tr_gwalk *w) {
    stack s;
    bool ok = true;
    w->done = (w->l->epoch += 2) + 1;
    s.d = s.few;
    s.n = 0;
    s.room = 2 * TR_LAZY_FEW;
    for (Py_ssize_t i = w->nroots; ok && i-- > 0;)
        ok = push(&s, (tr_lazy *)w->roots[i]);
    ok = ok && gather_all(w, &s);
    if (s.d != s.few)
        PyMem_Free(s.d);
    for (Py_ssize_t i = 0; ok && i < w->nroots; i++)
        ok = put(w, ((tr_lazy *)w->roots[i])->at);
    ok = ok && put_shorts(w);
    w->gathered = ok;
    ok = ok && (!w->log || put_obj(&w->params, w->log));
    return ok && put(w, w->params.n) &&
           put(w, (uint32_t)w->nroots << 5 | (uint32_t)w->offload << 3 | (w->log ? 4u : 0u) |
                      (w->raw ? 2u : 0u) | (w->serial ? 1u : 0u));
}

/* --- plans --- */

/* Kinds of constants that are the same when they say the same; of all others each object is its own. */
static bool is_plain(PyObject *o) {
    return PyUnicode_CheckExact(o) || PyLong_CheckExact(o) || PyBytes_CheckExact(o) || PyCode_Check(o) ||
           PyArray_DescrCheck(o) || PyFloat_CheckExact(o) || PyComplex_CheckExact(o);
}

static uint64_t hash_of(PyObject *o) {
    if (Py_IS_TYPE(o, &PyUFunc_Type)) /* as most are */
        return (uint64_t)(uintptr_t)o;
    if (PyTuple_CheckExact(o)) {
        uint64_t h = 0x9e3779b97f4a7c15u;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); i++)
            h = (h ^ hash_of(PyTuple_GET_ITEM(o, i))) * 0x100000001b3u;
        return h;
    }
    if (PyCode_Check(o)) /* its own hash looks at all that it holds */
        return (uint64_t)((PyCodeObject *)o)->co_firstlineno +
               (uint64_t)PyObject_Hash(((PyCodeObject *)o)->co_name);
    return PyUnicode_CheckExact(o) || PyLong_CheckExact(o) ? (uint64_t)PyObject_Hash(o)
           : is_plain(o)                                   ? (uint64_t)(uintptr_t)Py_TYPE(o)
                                                           : (uint64_t)(uintptr_t)o;
}

static bool is_same(PyObject *a, PyObject *b) {
    if (a == b)
        return true;
    if (Py_TYPE(a) != Py_TYPE(b))
        return false;
    if (PyFloat_CheckExact(a))
        return memcmp(&((PyFloatObject *)a)->ob_fval, &((PyFloatObject *)b)->ob_fval, sizeof(double)) == 0;
    if (PyComplex_CheckExact(a))
        return memcmp(&((PyComplexObject *)a)->cval, &((PyComplexObject *)b)->cval, sizeof(Py_complex)) == 0;
    if (PyTuple_CheckExact(a)) {
        bool same = PyTuple_GET_SIZE(a) == PyTuple_GET_SIZE(b);
        for (Py_ssize_t i = 0; same && i < PyTuple_GET_SIZE(a); i++)
            same = is_same(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i));
        return same;
    }
    int same = is_plain(a) ? PyObject_RichCompareBool(a, b, Py_EQ) : 0;
    PyErr_Clear();
    return same == 1;
}

static bool is_entry(tr_gwalk *w, const tr_lazyentry *e, uint64_t hash) {
    bool same = e->hash == hash && e->n == w->nkey && PyTuple_GET_SIZE(e->objs) == w->objs.n &&
                memcmp(e->key, w->key, e->n * sizeof *e->key) == 0;
    for (uint32_t i = 0; same && i < w->objs.n; i++)
        same = is_same(PyTuple_GET_ITEM(e->objs, i), w->objs.d[i]);
    return same;
}

static PyObject *tuple_of(tr_objs *l) {
    PyObject *t = PyTuple_New(l->n);
    for (uint32_t i = 0; t && i < l->n; i++)
        PyTuple_SET_ITEM(t, i, Py_NewRef(l->d[i]));
    return t;
}

/* A function without what it captures and has as defaults where these are operands: a plan keeps no
 * arrays. */
static PyObject *proto_of(PyObject *fn, uint32_t cells) {
    PyObject *r = PyFunction_New(PyFunction_GetCode(fn), PyFunction_GetGlobals(fn));
    PyObject *own = PyFunction_GetClosure(fn), *t = r && own ? PyTuple_New(PyTuple_GET_SIZE(own)) : NULL;
    bool ok = r && (t || !own);
    for (uint32_t i = 0; ok && i < ncells(fn); i++) {
        PyObject *cell = is_operand_cell(cells, i) ? PyCell_New(NULL) : Py_NewRef(PyTuple_GET_ITEM(own, i));
        ok = cell != NULL;
        if (ok)
            PyTuple_SET_ITEM(t, i, cell);
    }
    ok = ok && (!t || PyFunction_SetClosure(r, t) == 0) &&
         (!PyFunction_GetKwDefaults(fn) || PyFunction_SetKwDefaults(r, PyFunction_GetKwDefaults(fn)) == 0);
    Py_XDECREF(t);
    if (!ok)
        Py_CLEAR(r);
    return r;
}

/* The nodes' numbers are read from the key, where the walk has put them. */
static bool fill_nodes(tr_gwalk *w, tr_plan *p) {
    const uint32_t *at = w->key;
    for (uint32_t k = 0; k < w->nodes.n; k++) {
        tr_lazy *x = (tr_lazy *)w->nodes.d[k];
        tr_pnode *n = &p->nodes[k];
        *n = (tr_pnode){
            .op = (uint8_t)at[0], .fn = at[1], .n = at[2], .code = Py_XNewRef(x->code), .lasti = x->lasti};
        p->nnodes = k + 1;
        bool kw = at[0] & KEY_NAMES, tag = at[0] & KEY_TAG;
        at += 3;
        if (n->op == TR_G_CLOSURE) {
            n->fn = at[0];
            n->cells = at[1];
            at += 5 + at[4];
        }
        if (kw) /* the node's own may be gone: another thread has evaluated it */
            n->kwnames = Py_NewRef(w->objs.d[*at++]);
        if (tag)
            n->tag = Py_NewRef(w->objs.d[*at++]);
        if (!(n->args = PyMem_Malloc((n->n + 1u) * sizeof *n->args))) {
            PyErr_NoMemory();
            return false;
        }
        for (uint32_t i = 0; i < n->n; i++)
            n->args[i] = ref_of(*at++);
        if (n->op == TR_G_CLOSURE && PyTuple_GET_ITEM(p->protos, n->fn) == NULL) {
            PyObject *proto = proto_of(w->protos.d[n->fn], n->cells);
            if (!proto)
                return false;
            PyTuple_SET_ITEM(p->protos, n->fn, proto);
        }
    }
    for (uint32_t i = 0; i < p->nroots; i++)
        p->roots[i] = (tr_gref){TR_GREF_NODE, at[i] & 0x3fffffff};
    at += p->nroots;
    for (uint32_t i = 1; i <= at[0]; i += 2)
        p->shorts[at[i]] = at[i + 1];
    return true;
}

static tr_plan *plan_new(tr_gwalk *w) {
    tr_plan *p = PyMem_Calloc(1, sizeof *p);
    bool ok = p && (p->nodes = PyMem_Calloc(w->nodes.n + 1u, sizeof *p->nodes)) &&
              (p->roots = PyMem_Calloc((size_t)w->nroots + 1u, sizeof *p->roots)) &&
              (p->shorts = PyMem_Calloc(w->params.n + 1u, sizeof *p->shorts));
    if (!ok) {
        PyErr_NoMemory();
        tr_plan_free(p);
        return NULL;
    }
    p->nparams = w->params.n; /* a log is the last of them */
    p->nroots = (uint32_t)w->nroots;
    p->result = UINT32_MAX;
    ok = (p->objs = tuple_of(&w->objs)) && (p->protos = PyTuple_New(w->protos.n)) && fill_nodes(w, p);
    if (ok && !w->raw) { /* the last of the objects, and none of the key's */
        p->result = w->objs.n;
        ok = _PyTuple_Resize(&p->objs, w->objs.n + 1) == 0;
        if (ok)
            PyTuple_SET_ITEM(p->objs, w->objs.n, Py_NewRef(w->l->result));
    }
    if (!ok) {
        tr_plan_free(p);
        return NULL;
    }
    return p;
}

/* A function of so many parameters that does nothing: the face of a plan's. */
static PyObject *face(uint32_t n) {
    PyCodeObject *empty = PyCode_NewEmpty(TR_GRAPH_FILE, "graph", 1);
    PyObject *names = PyTuple_New((Py_ssize_t)n), *code = NULL, *f = NULL, *globals = PyDict_New();
    for (uint32_t i = 0; names && i < n; i++) {
        PyObject *name = PyUnicode_FromFormat("x%u", i);
        if (name)
            PyTuple_SET_ITEM(names, (Py_ssize_t)i, name);
        else
            Py_CLEAR(names);
    }
    PyObject *replace = empty ? PyObject_GetAttrString((PyObject *)empty, "replace") : NULL;
    PyObject *none = PyTuple_New(0);
    PyObject *kw = names && replace ? Py_BuildValue("{s:I,s:I,s:O}", "co_argcount", n, "co_nlocals", n,
                                                    "co_varnames", names)
                                    : NULL;
    if (kw && none)
        code = PyObject_Call(replace, none, kw);
    if (code && globals)
        f = PyFunction_New(code, globals);
    Py_XDECREF(kw);
    Py_XDECREF(none);
    Py_XDECREF(replace);
    Py_XDECREF(code);
    Py_XDECREF(names);
    Py_XDECREF(globals);
    Py_XDECREF((PyObject *)empty);
    return f;
}

static PyObject *function_new(tr_gwalk *w) {
    PyObject *f = face(w->params.n), *options = PyDict_New(), *fn = NULL;
    PyObject *flags = w->l->flags ? PyDict_Copy(w->l->flags) : PyDict_New(), *on = PyLong_FromLong(1);
    PyObject *where = PyLong_FromLong(w->offload);
    if (!flags || !on || !where || (!w->serial && PyDict_SetItemString(flags, "parallel", on) < 0) ||
        (w->log && PyDict_SetItemString(flags, "account", on) < 0) ||
        (w->offload && PyDict_SetItemString(flags, "offload", where) < 0))
        Py_CLEAR(flags);
    Py_XDECREF(on);
    Py_XDECREF(where);
    tr_plan *p = f && flags && options ? plan_new(w) : NULL;
    if (p)
        fn = PyObject_CallFunctionObjArgs((PyObject *)w->st->fn_type, f, flags, options, NULL);
    if (fn)
        ((tr_function *)fn)->plan = p;
    else
        tr_plan_free(p);
    Py_XDECREF(f);
    Py_XDECREF(flags);
    Py_XDECREF(options);
    return fn;
}

static void entry_free(tr_lazyentry *e) {
    PyObject *objs = e->objs, *fn = e->fn;
    PyMem_Free(e);
    Py_XDECREF(objs);
    Py_XDECREF(fn);
}

/* Takes the entry at *at out of its chain. */
static tr_lazyentry *unlink_entry(tr_lazies *l, tr_lazyentry **at) {
    tr_lazyentry *e = *at;
    *at = e->next;
    l->nplans--;
    return e;
}

/* The plan that was not used for longest goes. */
static tr_lazyentry *make_room(tr_lazies *l) {
    tr_lazyentry **oldest = NULL;
    for (size_t i = 0; i < TR_LAZY_PLANS; i++)
        for (tr_lazyentry **at = &l->plans[i]; *at; at = &(*at)->next)
            if (!oldest || (*at)->used < (*oldest)->used)
                oldest = at;
    return oldest ? unlink_entry(l, oldest) : NULL;
}

static bool remember(tr_gwalk *w, uint64_t hash, PyObject *fn) {
    tr_lazyentry *e = PyMem_Malloc(sizeof *e + w->nkey * sizeof *e->key), *old = NULL;
    if (!e) {
        PyErr_NoMemory();
        return false;
    }
    *e = (tr_lazyentry){.hash = hash, .used = ++w->l->clock, .n = w->nkey};
    memcpy(e->key, w->key, w->nkey * sizeof *e->key);
    if (!(e->objs = tuple_of(&w->objs))) {
        PyMem_Free(e);
        return false;
    }
    e->fn = Py_NewRef(fn);
    if (w->l->nplans >= TR_LAZY_PLANS)
        old = make_room(w->l);
    tr_lazyentry **chain = &w->l->plans[hash % TR_LAZY_PLANS];
    e->next = *chain;
    *chain = e;
    w->l->nplans++;
    if (old)
        entry_free(old);
    return true;
}

PyObject *tr_gwalk_function(tr_gwalk *w) {
    uint64_t hash = tr_hash_bytes(w->key, w->nkey * sizeof *w->key, 0);
    for (uint32_t i = 0; i < w->objs.n; i++)
        hash = (hash ^ hash_of(w->objs.d[i])) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
    for (tr_lazyentry *e = w->l->plans[hash % TR_LAZY_PLANS]; e; e = e->next)
        if (is_entry(w, e, hash)) {
            e->used = ++w->l->clock;
            w->known = true;
            return Py_NewRef(e->fn);
        }
    PyObject *fn = function_new(w);
    if (fn && !remember(w, hash, fn))
        Py_CLEAR(fn);
    return fn;
}

void tr_gwalk_forget(tr_gwalk *w, PyObject *fn) {
    for (size_t i = 0; i < TR_LAZY_PLANS; i++)
        for (tr_lazyentry **at = &w->l->plans[i]; *at; at = &(*at)->next)
            if ((*at)->fn == fn) {
                entry_free(unlink_entry(w->l, at));
                return;
            }
}

int tr_lazies_visit(const tr_lazies *l, visitproc visit, void *arg) {
    for (size_t i = 0; l && i < TR_LAZY_PLANS; i++)
        for (tr_lazyentry *e = l->plans[i]; e; e = e->next) {
            Py_VISIT(e->objs);
            Py_VISIT(e->fn);
        }
    return 0;
}

void tr_lazies_clear(tr_lazies *l) {
    for (size_t i = 0; l && i < TR_LAZY_PLANS; i++)
        while (l->plans[i])
            entry_free(unlink_entry(l, &l->plans[i]));
}

void tr_lazies_free(tr_lazies *l) {
    if (!l)
        return;
    tr_lazies_clear(l);
    for (unsigned i = 0; i < TR_LAZY__FNS; i++)
        Py_XDECREF(l->fns[i]);
    Py_XDECREF(l->result);
    Py_XDECREF(l->at);
    Py_XDECREF(l->flags);
    Py_XDECREF(l->tag);
    Py_XDECREF(l->named[false]);
    Py_XDECREF(l->named[true]);
    for (unsigned i = 0; i < TR_LAZY_PLAIN; i++)
        Py_XDECREF(l->plain[i]);
    for (PyObject **name = l->methods; name && *name; name++)
        Py_DECREF(*name);
    PyMem_Free(l->methods);
    PyMem_Free(l->home);
    PyMem_Free(l->seen);
    for (unsigned n = 0; n < TR_LAZY_SHORT; n++)
        for (tr_lazy *x = l->spare[n], *next; x; x = next) {
            next = (tr_lazy *)x->code;
            PyObject_GC_Del(x);
        }
    l->st = NULL;
    if (l->live == 0) /* garbage that goes in one piece may go in any order */
        PyMem_Free(l);
}
