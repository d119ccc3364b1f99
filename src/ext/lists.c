/* Lists as arguments of compiled code, and what Python sees of them after the call (reflection, in Numba's
 * word).
 *
 * A list of Python's is copied: one pass looks at each item, converts it, and finds what all have in common,
 * which is the type that code is chosen by. The block is the frame's. After the call, also one that ends with
 * an exception, a list that the function may have changed (ir/summary.h) is compared with the block: items
 * that differ are replaced, all others stay the objects that they are. One list that is passed twice is one
 * block. A typed.List is not copied: its block is the argument, and calls that have it are counted, so that
 * one that may change it has it alone.
 * Cost: some 3 ns for each item on the way in, as much again for the comparison; nothing after a call that
 * only reads. */
#include "ext/lists.h"

#include <assert.h>
#include <string.h>

#include "ext/check.h"
#include "ext/compat.h"
#include "ext/number.h"
#include "ext/value.h"
#include "rt/fns.h"

/* --- what the items are --- */

unsigned tr_lists_kind(tr_state *st, PyObject *o) {
    PyTypeObject *t = Py_TYPE(o);
    if (t == &PyFloat_Type)
        return TR_TY_F64;
    if (t == &PyLong_Type)
        return TR_TY_I64;
    if (t == &PyBool_Type)
        return TR_TY_BOOL;
    if (t == &PyComplex_Type)
        return TR_TY_C128;
    uint32_t key = tr_value_scalar_key(st, o);
    return key == TR_K_OTHER ? TR_LISTS_NONE : tr_key_tyk(key);
}

/* What numbers of two types have in common. */
static unsigned joined(tr_tytab *t, unsigned a, unsigned b) {
    if (a == b || a == TR_KEY_EMPTY)
        return b;
    if (b == TR_LISTS_NONE)
        return b;
    const tr_ty *j = tr_ty_join(t, tr_ty_scalar(t, (tr_tyk)a), tr_ty_scalar(t, (tr_tyk)b), false);
    return j && tr_ty_is_scalar(j) ? j->kind : (unsigned)TR_LISTS_NONE;
}

/* What the items from `i` on have in common with `kind`; *i: the first that has nothing, or the end. */
static unsigned common(tr_state *st, PyObject *list, Py_ssize_t *i, unsigned kind) {
    unsigned last = TR_KEY_EMPTY;
    for (; *i < PyList_GET_SIZE(list); ++*i) {
        unsigned k = tr_lists_kind(st, PyList_GET_ITEM(list, *i));
        if (k != last)
            kind = joined(st->types, kind, k);
        if (kind == TR_LISTS_NONE)
            break;
        last = k;
    }
    return kind;
}

uint32_t tr_lists_key(tr_state *st, PyObject *o) {
    if (Py_IS_TYPE(o, st->typed_list_type)) {
        const tr_ty *item = ((const tr_typed *)o)->item;
        return tr_key_list(item ? item->kind : (unsigned)TR_KEY_EMPTY) | (uint32_t)TR_KEY_TYPED;
    }
    tr_py_section s;
    Py_ssize_t i = 0;
    tr_py_section_begin(&s, o);
    unsigned kind = common(st, o, &i, TR_KEY_EMPTY);
    tr_py_section_end(&s);
    return kind == TR_LISTS_NONE ? (uint32_t)TR_K_OTHER : tr_key_list(kind);
}

Py_ssize_t tr_lists_misfit(tr_state *st, PyObject *list) {
    Py_ssize_t i = 0;
    common(st, list, &i, TR_KEY_EMPTY);
    return i;
}

const tr_ty *tr_lists_type(tr_tytab *t, uint32_t key) {
    unsigned kind = tr_key_tyk(key);
    return tr_ty_list_of(t, kind == TR_KEY_EMPTY ? NULL : tr_ty_scalar(t, (tr_tyk)kind));
}

int tr_lists_cost(tr_tytab *t, uint32_t key, const tr_ty *ty) {
    if (!tr_ty_is(ty, TR_TY_LIST))
        return -1;
    if (tr_lists_type(t, key) == ty)
        return 0;
    const tr_ty *item = tr_ty_list_item(t, ty, false);
    if (!item)
        return -1;
    if ((unsigned)tr_key_tyk(key) == TR_KEY_EMPTY)
        return 1;
    return key & TR_KEY_TYPED ? -1 : tr_ty_accept_scalar(tr_key_tyk(key), item);
}

/* --- items, both ways --- */

PyObject *tr_lists_item(const tr_ty *item, const char *from) {
    tr_slot x[2] = {{0}, {0}};
    const tr_slot *at = x;
    unsigned n = tr_ty_nparts(item), part = tr_ty_size(item) / n;
    for (unsigned k = 0; k < n; k++)
        memcpy(&x[k], from + k * part, part);
    return tr_number_box(item, &at);
}

const tr_shape *tr_lists_shape(const tr_ty *item) {
    return tr_rt_shape(item ? tr_ty_size(item) : 1, 0, NULL);
}

PyObject *tr_lists_python(const tr_ty *item, const tr_list *l) {
    unsigned size = tr_ty_size(item);
    assert(l->len >= 0 && l->len <= l->cap && "a list is whole");
    PyObject *r = PyList_New((Py_ssize_t)l->len);
    bool f64 = item->kind == TR_TY_F64;
    for (int64_t i = 0; r && i < l->len; i++) {
        PyObject *o = f64 ? PyFloat_FromDouble(((const double *)l->items)[i])
                          : tr_lists_item(item, (const char *)l->items + i * size);
        if (!o)
            Py_CLEAR(r);
        else
            PyList_SET_ITEM(r, (Py_ssize_t)i, o);
    }
    return r;
}

bool tr_lists_store(tr_state *st, PyObject *o, const tr_ty *item, const char *fn, const char *arg, char *to) {
    tr_slot x[2], *at = x;
    unsigned n = tr_ty_nparts(item), part = tr_ty_size(item) / n;
    if (!tr_number_unbox(st, o, item, fn, arg, &at))
        return false;
    for (unsigned k = 0; k < n; k++)
        memcpy(to + k * part, &x[k], part);
    return true;
}

/* --- in --- */

void tr_held_init(tr_held *h, tr_state *st, tr_frame *frame) {
    h->st = st;
    h->frame = frame;
    h->n = 0;
    h->room = TR_HELD_FEW;
    h->d = h->few;
}

static tr_heldlist *add(tr_held *h, tr_heldlist x) {
    if (h->n == h->room) {
        tr_heldlist *d = PyMem_Malloc(2 * (size_t)h->room * sizeof *d);
        if (!d) {
            PyErr_NoMemory();
            return NULL;
        }
        memcpy(d, h->d, h->n * sizeof *d);
        if (h->d != h->few)
            PyMem_Free(h->d);
        h->d = d;
        h->room *= 2;
    }
    h->d[h->n] = x;
    return &h->d[h->n++];
}

static tr_heldlist *find_object(tr_held *h, const PyObject *o) {
    for (uint32_t i = 0; i < h->n; i++)
        if (h->d[i].o == o)
            return &h->d[i];
    return NULL;
}

PyObject *tr_held_find(const tr_held *h, const tr_mem *m) {
    for (uint32_t i = 0; h && i < h->n; i++)
        if (h->d[i].m == m)
            return h->d[i].o;
    return NULL;
}

/* OverflowError that names the item. */
static void tell_item(tr_state *st, PyObject *o, Py_ssize_t i, const tr_ty *item, const char *fn,
                      const char *arg, char *to) {
    char path[256];
    PyErr_Clear();
    snprintf(path, sizeof path, "%.200s[%lld]", arg, (long long)i);
    tr_lists_store(st, o, item, fn, path, to);
}

int tr_lists_fill(tr_state *st, PyObject *list, uint32_t key, const tr_ty *item, const char *fn,
                  const char *arg, char *to) {
    unsigned want = tr_key_tyk(key), kind = TR_KEY_EMPTY, last = TR_KEY_EMPTY, size = tr_ty_size(item);
    Py_ssize_t i = 0, n = PyList_GET_SIZE(list);
    PyObject *const *from = ((PyListObject *)list)->ob_item;
    if (item->kind == TR_TY_F64) {
        double *d = (double *)to;
        for (; i < n && PyFloat_CheckExact(from[i]); i++)
            d[i] = PyFloat_AS_DOUBLE(from[i]);
        kind = last = i ? (unsigned)TR_TY_F64 : kind;
    } else if (item->kind == TR_TY_I64) {
        int64_t *d = (int64_t *)to;
        for (; i < n && PyLong_CheckExact(from[i]) && tr_py_small_int(from[i], &d[i]);)
            i++;
        kind = last = i ? (unsigned)TR_TY_I64 : kind;
    }
    for (; i < n; i++) {
        unsigned k = tr_lists_kind(st, from[i]);
        if (k != last)
            kind = joined(st->types, kind, k);
        last = k;
        if (kind == TR_LISTS_NONE || (kind != want && joined(st->types, kind, want) != want))
            return 0;
        if (!tr_lists_store(st, from[i], item, fn, arg, to + i * size)) {
            if (tr_lists_key(st, list) != key) { /* what comes later may have room for it */
                PyErr_Clear();
                return 0;
            }
            tell_item(st, from[i], i, item, fn, arg, to + i * size);
            return -1;
        }
    }
    return kind == want;
}

static int copy_in(tr_held *h, PyObject *list, uint32_t key, const tr_ty *ty, const char *fn, const char *arg,
                   tr_mem **out) {
    const tr_ty *item = tr_ty_list_item(h->st->types, ty, true);
    Py_ssize_t n = PyList_GET_SIZE(list);
    if ((n == 0) != ((unsigned)tr_key_tyk(key) == TR_KEY_EMPTY))
        return 0;
    const tr_shape *shape = tr_lists_shape(item);
    *out = shape ? tr_rt_list_new(h->frame, n, shape) : NULL;
    if (!*out) {
        PyErr_NoMemory();
        return -1;
    }
    int r = tr_lists_fill(h->st, list, key, item, fn, arg, ((tr_list *)tr_mem_data(*out))->items);
    if (r <= 0)
        tr_rt_free(h->frame, *out);
    return r;
}

static bool is_changed(char writes) {
    return writes != '-';
}

/* What a typed list has is what the function takes it for. */
static bool fits(PyObject *o, const tr_ty *item) {
    const tr_typed *t = (const tr_typed *)o;
    return !t->item || t->item == item;
}

/* A list that is passed twice is taken for one thing. */
static int take_again(tr_heldlist *x, const tr_ty *item, char writes) {
    if (x->item != item)
        return 0;
    if (writes == 'g' || x->writes == '-')
        x->writes = writes;
    return 1;
}

int tr_held_take(tr_held *h, PyObject *o, uint32_t key, const tr_ty *ty, char writes, const char *fn,
                 const char *arg, void **block) {
    assert(h && tr_ty_is(ty, TR_TY_LIST) && "a call with lists holds them");
    bool typed = Py_IS_TYPE(o, h->st->typed_list_type);
    const tr_ty *item = tr_ty_list_item(h->st->types, ty, false);
    tr_mem *m;
    if (typed != ((key & TR_KEY_TYPED) != 0) || (!typed && !PyList_CheckExact(o)))
        return 0;
    tr_heldlist *was = find_object(h, o);
    if (!was || typed) {
        if (typed && (tr_lists_key(h->st, o) != key || !fits(o, item)))
            return 0;
    } else if (tr_lists_key(h->st, o) != key) {
        return 0;
    }
    if (was) {
        *block = was->m;
        return take_again(was, item, writes);
    }
    int r = 1;
    if (typed) {
        m = ((tr_typed *)o)->mem;
    } else {
        tr_py_section s;
        tr_py_section_begin(&s, o);
        r = copy_in(h, o, key, ty, fn, arg, &m);
        tr_py_section_end(&s);
    }
    if (r <= 0)
        return r;
    *block = m;
    return add(h, (tr_heldlist){.o = o, .m = m, .item = item, .writes = writes, .typed = typed}) ? 1 : -1;
}

/* The call has a typed list from here on; one of nothing becomes one of what the function puts into it. */
static bool claim(tr_heldlist *x, const char *fn) {
    tr_typed *t = (tr_typed *)x->o;
    tr_py_section s;
    tr_py_section_begin(&s, x->o);
    bool changes = is_changed(x->writes), stays = x->writes == 'g' && t->exports;
    const tr_shape *shape = x->item ? tr_lists_shape(x->item) : t->mem->shape;
    x->claimed = shape && !stays && fits(x->o, x->item) && (changes ? t->users == 0 : t->users >= 0);
    if (x->claimed) {
        t->users = changes ? -1 : t->users + 1;
        t->item = x->item;
        t->mem->shape = shape;
    }
    tr_py_section_end(&s);
    if (!shape)
        PyErr_NoMemory();
    else if (stays)
        PyErr_Format(PyExc_BufferError,
                     "%s(): a typed.List may become longer or shorter, and there are buffers over its items",
                     fn);
    else if (!x->claimed)
        PyErr_SetString(PyExc_RuntimeError, "typed.List is in use by another thread");
    return x->claimed;
}

bool tr_held_claim(tr_held *h, const char *fn) {
    for (uint32_t i = 0; i < h->n; i++)
        if (h->d[i].typed && !claim(&h->d[i], fn))
            return false;
    return true;
}

bool tr_held_suits(tr_held *h, PyObject *o, uint32_t key, const tr_ty *ty, const char *fn, const char *arg) {
    const tr_ty *item = tr_ty_list_item(h->st->types, ty, false);
    const tr_heldlist *was = find_object(h, o);
    if (key & TR_KEY_TYPED && !fits(o, item)) {
        PyErr_Format(
            PyExc_TypeError,
            "%s(): argument '%s' is a typed.List of %s, and the function puts other numbers into it\n"
            "  help: convert what is put into the list",
            fn, arg, tr_tyk_user_name((tr_tyk)((tr_typed *)o)->item->kind));
        return false;
    }
    if (was && was->item != item) {
        PyErr_Format(PyExc_TypeError,
                     "%s(): argument '%s' is a list that is passed twice, and would hold other numbers here\n"
                     "  help: pass a copy of it, or one whose items are of the type that is put into it",
                     fn, arg);
        return false;
    }
    return was || add(h, (tr_heldlist){.o = o, .item = item, .writes = '-'});
}

/* --- after the call --- */

/* The object is the number that lies there, to the bit. */
static bool is_as(tr_held *h, PyObject *o, const tr_ty *item, const char *there) {
    char bits[16];
    if (item->kind == TR_TY_F64 && PyFloat_CheckExact(o)) {
        double d = PyFloat_AS_DOUBLE(o);
        return memcmp(&d, there, sizeof d) == 0;
    }
    unsigned kind = tr_lists_kind(h->st, o);
    if (kind == TR_LISTS_NONE || joined(h->st->types, kind, item->kind) != item->kind)
        return false; /* others have changed it meanwhile */
    bool ok = tr_lists_store(h->st, o, item, "", "", bits);
    if (!ok)
        PyErr_Clear();
    return ok && memcmp(bits, there, tr_ty_size(item)) == 0;
}

/* Puts the items that are more than the list has behind its end. */
static bool add_items(PyObject *list, const tr_list *l, const tr_ty *item, Py_ssize_t from) {
    PyObject *more = PyList_New((Py_ssize_t)l->len - from);
    for (Py_ssize_t i = from; more && i < l->len; i++) {
        PyObject *o = tr_lists_item(item, (const char *)l->items + i * tr_ty_size(item));
        if (!o)
            Py_CLEAR(more);
        else
            PyList_SET_ITEM(more, i - from, o);
    }
    bool ok = more && PyList_SetSlice(list, from, PY_SSIZE_T_MAX, more) == 0;
    Py_XDECREF(more);
    return ok;
}

/* The list becomes what the block is. An item that goes may be the last reference to an object, whose end may
 * run code that changes the list: its length is asked for each time. */
static bool reflect_one(tr_held *h, const tr_heldlist *x) {
    const tr_list *l = tr_mem_data(x->m);
    unsigned size = x->item ? tr_ty_size(x->item) : 1;
    assert(l->len >= 0 && l->len <= l->cap && "a list is whole");
    assert((x->item || !l->len) && "nothing is put into a list of nothing");
    for (Py_ssize_t i = 0; i < l->len && i < PyList_GET_SIZE(x->o); i++) {
        const char *there = (const char *)l->items + i * size;
        if (is_as(h, PyList_GET_ITEM(x->o, i), x->item, there))
            continue;
        PyObject *o = tr_lists_item(x->item, there);
        if (!o)
            return false;
        if (PyList_SetItem(x->o, i, o) < 0) /* takes it, also on failure */
            return false;
    }
    Py_ssize_t n = PyList_GET_SIZE(x->o);
    if (n > l->len)
        return PyList_SetSlice(x->o, (Py_ssize_t)l->len, n, NULL) == 0;
    return n == l->len || add_items(x->o, l, x->item, n);
}

bool tr_held_reflect(tr_held *h) {
    bool any = false, ok = true;
    for (uint32_t i = 0; i < h->n; i++)
        any = any || (is_changed(h->d[i].writes) && !h->d[i].typed);
    if (!any)
        return true;
    PyObject *raised = PyErr_Occurred() ? tr_py_fetch() : NULL;
    for (uint32_t i = 0; i < h->n; i++) {
        if (!is_changed(h->d[i].writes) || h->d[i].typed)
            continue;
        tr_py_section s;
        tr_py_section_begin(&s, h->d[i].o);
        ok = reflect_one(h, &h->d[i]) && ok;
        tr_py_section_end(&s);
    }
    if (ok && raised)
        tr_py_restore(raised);
    else
        Py_XDECREF(raised);
    return ok;
}

void tr_held_fini(tr_held *h) {
    for (uint32_t i = 0; i < h->n; i++) {
        tr_typed *t = (tr_typed *)h->d[i].o;
        if (!h->d[i].claimed)
            continue;
        tr_py_section s;
        tr_py_section_begin(&s, h->d[i].o);
        assert((is_changed(h->d[i].writes) ? t->users == -1 : t->users > 0) && "the call is among its users");
        t->users = is_changed(h->d[i].writes) ? 0 : t->users - 1;
        tr_py_section_end(&s);
    }
    if (h->d != h->few)
        PyMem_Free(h->d);
}
