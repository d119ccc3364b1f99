/* Lists as arguments of compiled code, and what Python sees of them after the call (reflection, in Numba's
 * word).
 *
 * A list of Python's is copied: one pass looks at each item, converts it, and finds what all have in common,
 * which is the type that code is chosen by. The block is the frame's. After the call, also one that ends with
 * an exception, a list that the function may have changed (ir/summary.h) is compared with the block: items
 * that differ are replaced, all others stay the objects that they are. One list that is passed twice, or lies
 * in others, is one block. Items that are no numbers are ext/items.c's, and kept for the time of the call; so
 * are those of dicts and sets, which are filled anew where they differ. What treadle.typed has is not copied:
 * its block is the argument, and calls that have it are counted, so that one that may change it has it alone.
 * Cost: some 3 ns for each item on the way in, as much again for the comparison; nothing after a call that
 * only reads. */
#include "ext/lists.h"

#include <assert.h>
#include <string.h>

#include "ext/check.h"
#include "ext/box.h"
#include "ext/compat.h"
#include "ext/face.h"
#include "ext/items.h"
#include "ext/number.h"
#include "ext/typed_items.h"
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
        uint32_t key = item && !tr_ty_is_scalar(item)
                           ? (uint32_t)TR_K_LISTOF
                           : tr_key_list(item ? item->kind : (unsigned)TR_KEY_EMPTY);
        return key | (uint32_t)TR_KEY_TYPED;
    }
    tr_py_section s;
    Py_ssize_t i = 0;
    tr_py_section_begin(&s, o);
    unsigned kind = common(st, o, &i, TR_KEY_EMPTY);
    tr_py_section_end(&s);
    return kind == TR_LISTS_NONE ? (uint32_t)TR_K_OTHER : tr_key_list(kind);
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
    return item ? tr_items_shape(item, false) : tr_rt_shape(1, 0, NULL);
}

const tr_shape *tr_lists_shape_of_keys(const tr_ty *key) {
    return key ? tr_items_shape(key, true) : tr_lists_shape(NULL);
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
    h->index = NULL;
    h->made = NULL;
}

/* Of the lists of a call that has many: in the first half of the index by object, in the second by block. */
static uint32_t slots_of(const tr_held *h) {
    return 4 * h->room;
}

static uint32_t begin_of(const tr_held *h, const void *p) {
    return (uint32_t)(((uintptr_t)p >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (slots_of(h) - 1);
}

static void note_at(tr_held *h, uint32_t *half, const void *p, uint32_t i) {
    uint32_t k = begin_of(h, p);
    while (half[k])
        k = (k + 1) & (slots_of(h) - 1);
    half[k] = i + 1;
}

static void note(tr_held *h, uint32_t i) {
    note_at(h, h->index, h->d[i].o, i);
    note_at(h, h->index + slots_of(h), h->d[i].m, i);
}

static bool index_all(tr_held *h) {
    uint32_t *index = PyMem_Calloc(2 * (size_t)slots_of(h), sizeof *index);
    PyMem_Free(h->index);
    h->index = index;
    for (uint32_t i = 0; index && i < h->n; i++)
        note(h, i);
    return index != NULL;
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
        if (!index_all(h)) {
            PyErr_NoMemory();
            return NULL;
        }
    }
    h->d[h->n] = x;
    if (h->index)
        note(h, h->n);
    return &h->d[h->n++];
}

static tr_heldlist *find_object(tr_held *h, const PyObject *o) {
    for (uint32_t i = 0; !h->index && i < h->n; i++)
        if (h->d[i].o == o)
            return &h->d[i];
    for (uint32_t k = begin_of(h, o); h->index && h->index[k]; k = (k + 1) & (slots_of(h) - 1))
        if (h->d[h->index[k] - 1].o == o)
            return &h->d[h->index[k] - 1];
    return NULL;
}

PyObject *tr_held_find(const tr_held *h, const tr_mem *m) {
    const uint32_t *half = h && h->index ? h->index + slots_of(h) : NULL;
    for (uint32_t i = 0; h && !half && i < h->n; i++)
        if (h->d[i].m == m)
            return h->d[i].o;
    for (uint32_t k = half ? begin_of(h, m) : 0; half && half[k]; k = (k + 1) & (slots_of(h) - 1))
        if (h->d[half[k] - 1].m == m)
            return h->d[half[k] - 1].o;
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

static bool is_number_list(const tr_ty *item) {
    return !item || tr_ty_is_scalar(item);
}

static bool tell_twice(const char *fn, const char *arg) {
    PyErr_Format(PyExc_TypeError,
                 "%s(): argument '%s' is a list that is passed twice, and would hold other items here\n"
                 "  help: pass a copy of it, or one whose items are of the type that is put into it",
                 fn, arg);
    return false;
}

/* A list that is passed twice is taken for one thing. */
static int take_again(tr_heldlist *x, const tr_ty *item, char writes, const char *fn, const char *arg) {
    if (x->item != item) {
        tell_twice(fn, arg);
        return -1;
    }
    if (writes == 'g' || x->writes == '-')
        x->writes = writes;
    return 1;
}

/* A block with items that are no numbers: what they are is kept for the time of the call, whatever becomes of
 * the list. */
static int copy_items(tr_held *h, PyObject *list, const tr_ty *item, char writes, const char *fn,
                      const char *arg, tr_mem **out, PyObject **kept) {
    PyObject *t = PyList_AsTuple(list);
    const tr_shape *shape = t ? tr_lists_shape(item) : NULL;
    int r = -1;
    *out = NULL;
    if (t && !tr_items_fit(h->st, t, item))
        r = 0; /* others change it */
    else if (shape)
        *out = tr_rt_list_new(h->frame, PyTuple_GET_SIZE(t), shape);
    if (*out) {
        tr_unboxer u = {h->st, fn, arg, h, writes};
        r = tr_items_fill(&u, t, item, shape, ((tr_list *)tr_mem_data(*out))->items) ? 1 : -1;
        if (r < 0)
            tr_rt_free(h->frame, *out);
    } else if (t && r) {
        PyErr_NoMemory();
    }
    if (r > 0)
        *kept = t;
    else
        Py_XDECREF(t);
    return r;
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
    bool numbers = is_number_list(item), listof = tr_key_kind(key) != TR_K_LIST;
    if (typed || was || !numbers) {
        if (!listof && tr_lists_key(h->st, o) != key)
            return 0;
        if (typed && !tr_typed_takes((const tr_typed *)o, ty))
            return 0;
    }
    if (was) {
        *block = was->m;
        return take_again(was, item, writes, fn, arg);
    }
    PyObject *kept = NULL;
    int r = 1;
    if (typed) {
        m = ((tr_typed *)o)->mem;
    } else {
        tr_py_section s;
        tr_py_section_begin(&s, o);
        r = numbers ? copy_in(h, o, key, ty, fn, arg, &m)
                    : copy_items(h, o, item, writes, fn, arg, &m, &kept);
        tr_py_section_end(&s);
    }
    if (r <= 0)
        return r;
    *block = m;
    tr_heldlist x = {.o = o, .m = m, .item = item, .kept = kept, .writes = writes, .typed = typed};
    if (add(h, x))
        return 1;
    Py_XDECREF(kept);
    return -1;
}

/* Blocks of a table, and of a dict's values. */
static bool copy_table(tr_heldlist *x, const tr_unboxer *u) {
    const tr_ty *ty = tr_face_plain(x->table);
    bool dict = ty->kind == TR_TY_DICT;
    const tr_ty *key = tr_ty_list_item(u->st->types, dict ? ty->items[0] : ty, false);
    const tr_shape *keys = tr_lists_shape_of_keys(key),
                   *under = dict ? tr_lists_shape(tr_ty_list_item(u->st->types, ty->items[1], false)) : NULL;
    tr_frame *f = u->held->frame;
    x->m = keys ? tr_rt_dict_new(f, keys) : NULL;
    x->values = under ? tr_rt_list_new(f, 0, under) : NULL;
    if (!x->m || (dict && !x->values)) { /* one that is there goes with the frame */
        PyErr_NoMemory();
        return false;
    }
    return tr_items_enter(u, x->kept, ty, x->m, x->values);
}

/* A list of a deque's items, and its numbers. */
static bool copy_deque(tr_heldlist *x, const tr_unboxer *u) {
    const tr_ty *item = tr_ty_list_item(u->st->types, x->table->items[0], false);
    PyObject *t = PyList_AsTuple(x->kept);
    const tr_shape *shape = t ? tr_lists_shape(item) : NULL;
    int64_t maxlen = tr_face_maxlen(x->o), *numbers;
    tr_frame *f = u->held->frame;
    bool ok = false;
    x->m = shape ? tr_rt_list_new(f, PyTuple_GET_SIZE(t), shape) : NULL;
    x->values = x->m ? tr_rt_alloc(f, TR_DEQUE_NUMBERS * sizeof *numbers) : NULL;
    if (x->values && !PyErr_Occurred()) {
        numbers = tr_mem_data(x->values);
        memset(numbers, 0, TR_DEQUE_NUMBERS * sizeof *numbers);
        numbers[TR_DEQUE_MOST] = maxlen;
        ok = !item || tr_items_fill(u, t, item, shape, ((tr_list *)tr_mem_data(x->m))->items);
    } else if (!PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    Py_XDECREF(t);
    return ok;
}

int tr_held_take_table(tr_held *h, PyObject *o, const tr_ty *ty, char writes, const char *fn, const char *arg,
                       tr_slot *blocks) {
    bool typed = tr_typed_is(h->st, o);
    tr_heldlist *was = find_object(h, o), x = {.o = o, .table = ty, .writes = writes, .typed = typed};
    if (was && was->table != ty) {
        tell_twice(fn, arg);
        return -1;
    }
    if (was) {
        if (writes == 'g' || was->writes == '-')
            was->writes = writes;
        x = *was;
    } else if (typed) {
        const tr_typed *t = (const tr_typed *)o;
        if (!tr_typed_takes(t, ty))
            return 0;
        x.m = t->mem;
        x.values = t->values;
        if (!add(h, x))
            return -1;
    } else {
        tr_unboxer u = {h->st, fn, arg, h, writes};
        if (!(x.kept = tr_face_items(o)))
            return -1;
        bool fit = tr_items_fit_table(h->st, x.kept, ty);
        bool (*copy)(tr_heldlist *, const tr_unboxer *) = ty->kind == TR_TY_DEQUE ? copy_deque : copy_table;
        if (!fit || !copy(&x, &u) || !add(h, x)) {
            Py_DECREF(x.kept);
            return fit ? -1 : 0;
        }
    }
    blocks[0].p = x.m;
    if (x.values)
        blocks[1].p = x.values;
    if (ty->kind == TR_TY_DEQUE) { /* that is who owns the array of its numbers */
        blocks[2].p = tr_mem_data(x.values);
        blocks[3].i = TR_DEQUE_NUMBERS;
    }
    return 1;
}

static const tr_ty *type_of(const tr_held *h, const tr_heldlist *x) {
    return x->table ? x->table : tr_ty_list_of(h->st->types, x->item);
}

/* Containers lie in it. */
static bool holds_containers(const tr_ty *ty) {
    return ty->kind == TR_TY_DICT ? tr_ty_has_lists(ty->items[1]->items[0]) : tr_ty_has_lists(ty->items[0]);
}

/* What entry i is used together with is alone this call's, where it may change any of it, or where it may put
 * one thing into another. */
static bool is_alone(const tr_held *h, uint32_t i, const tr_together *root) {
    bool alone = false;
    for (uint32_t k = i; !alone && k < h->n; k++) {
        const tr_heldlist *x = &h->d[k];
        alone = x->typed && is_changed(x->writes) &&
                (tr_typed_root((const tr_typed *)x->o) == root || holds_containers(type_of(h, x)));
    }
    return alone;
}

static bool lies_in(const tr_ty *ty, const tr_ty *in) {
    bool found = ty == in;
    for (uint32_t k = 0; !found && k < in->n; k++)
        found = lies_in(ty, in->items[k]);
    return found;
}

/* A list of the one may be one of the other. */
static bool share_lists(const tr_ty *a, const tr_ty *b) {
    bool found = a->kind == TR_TY_LIST && lies_in(a, b);
    for (uint32_t k = 0; !found && k < a->n; k++)
        found = share_lists(a->items[k], b);
    return found;
}

/* There are buffers over entry i or what it is used together with, and the call may make such a list longer
 * or shorter: as entry i, or by way of a container that has it, or may put it into one. */
static bool has_buffers(const tr_held *h, uint32_t i, const tr_together *root) {
    const tr_heldlist *x = &h->d[i];
    bool moves = x->writes == 'g' && ((const tr_typed *)x->o)->exports;
    for (uint32_t k = 0; root->exports && !moves && k < h->n; k++) {
        const tr_ty *in = type_of(h, &h->d[k]);
        moves = h->d[k].writes == 'g' && holds_containers(in) && (k == i || share_lists(type_of(h, x), in));
    }
    return moves;
}

/* The call has a typed container from here on, and those which lie in it, or it in them. One of nothing
 * becomes one of what the function puts into it. */
static bool claim(tr_held *h, uint32_t i, const char *fn) {
    tr_heldlist *x = &h->d[i];
    tr_typed *t = (tr_typed *)x->o;
    const tr_ty *ty = type_of(h, x);
    tr_py_section s;
    tr_py_section_begin(&s, x->o);
    tr_together *root = tr_typed_root(t);
    bool stays = has_buffers(h, i, root), had = false, ok = false;
    for (uint32_t k = 0; k < i; k++)
        had = had || h->d[k].used == root;
    bool alone = !had && is_alone(h, i, root);
    bool is_free = had || (alone ? root->users == 0 : root->users >= 0);
    if (!stays && is_free && tr_typed_takes(t, ty) && (ok = t->ty == ty || tr_typed_become(t, ty)) && !had) {
        x->used = root;
        x->alone = alone;
        root->users = alone ? -1 : root->users + 1;
    }
    tr_py_section_end(&s);
    if (stays)
        PyErr_Format(PyExc_BufferError,
                     "%s(): a typed.List may become longer or shorter, and there are buffers over its items\n"
                     "  help: let go of the memoryview or the array over it, or take a copy, `np.array(l)`",
                     fn);
    else if (!ok && !PyErr_Occurred())
        PyErr_Format(PyExc_RuntimeError, "%s is in use by another thread", tr_typed_name(t));
    return ok;
}

bool tr_held_claim(tr_held *h, const char *fn) {
    for (uint32_t i = 0; i < h->n; i++)
        if (h->d[i].typed && !claim(h, i, fn))
            return false;
    return true;
}

/* The same of lists that are somewhere in a value. */
static bool suits_in(tr_held *h, PyObject *o, const tr_ty *ty, const char *fn, const char *arg) {
    bool ok = true;
    if (!tr_ty_has_lists(ty) || o == Py_None)
        return true;
    if (ty->kind == TR_TY_OPT)
        return suits_in(h, o, ty->items[1], fn, arg);
    if (ty->kind == TR_TY_LIST)
        return !PyList_CheckExact(o) || tr_held_suits(h, o, ty, fn, arg);
    for (uint32_t i = 0; ok && ty->kind == TR_TY_TUPLE && PyTuple_Check(o) && i < ty->n; i++)
        ok = suits_in(h, PyTuple_GET_ITEM(o, i), ty->items[i], fn, arg);
    return ok;
}

/* A typed container stays what it is. */
static bool typed_suits(const tr_typed *t, const tr_ty *ty, const char *fn, const char *arg) {
    tr_sb b;
    if (tr_typed_takes(t, ty))
        return true;
    tr_sb_init(&b);
    tr_ty_print_user(&b, t->ty);
    PyErr_Format(PyExc_TypeError,
                 "%s(): argument '%s' is a %s, a %.300s, and the function puts items of other types into it\n"
                 "  help: convert what is put in",
                 fn, arg, tr_typed_name(t), b.d ? b.d : "");
    tr_sb_fini(&b);
    return false;
}

bool tr_held_suits(tr_held *h, PyObject *o, const tr_ty *ty, const char *fn, const char *arg) {
    if (tr_typed_is(h->st, o) && !typed_suits((const tr_typed *)o, ty, fn, arg))
        return false;
    if (ty->kind != TR_TY_LIST)
        return true;
    const tr_ty *item = tr_ty_list_item(h->st->types, ty, false);
    const tr_heldlist *was = find_object(h, o);
    if (was)
        return was->item == item || tell_twice(fn, arg);
    bool ok = add(h, (tr_heldlist){.o = o, .item = item, .writes = '-'});
    for (Py_ssize_t i = 0; ok && item && PyList_CheckExact(o) && i < PyList_GET_SIZE(o); i++)
        ok = suits_in(h, PyList_GET_ITEM(o, i), item, fn, arg);
    return ok;
}

/* --- after the call --- */

/* The object is the number that lies there, to the bit. */
static bool is_as(tr_state *st, PyObject *o, const tr_ty *item, const char *there) {
    char bits[16];
    if (item->kind == TR_TY_F64 && PyFloat_CheckExact(o)) {
        double d = PyFloat_AS_DOUBLE(o);
        return memcmp(&d, there, sizeof d) == 0;
    }
    unsigned kind = tr_lists_kind(st, o);
    if (kind == TR_LISTS_NONE || joined(st->types, kind, item->kind) != item->kind)
        return false; /* others have changed it meanwhile */
    bool ok = tr_lists_store(st, o, item, "", "", bits);
    if (!ok)
        PyErr_Clear();
    return ok && memcmp(bits, there, tr_ty_size(item)) == 0;
}

bool tr_lists_is(tr_state *st, PyObject *o, const tr_ty *item, const tr_slot *x) {
    char bits[16];
    unsigned n = tr_ty_nparts(item), part = tr_ty_size(item) / n;
    for (unsigned k = 0; k < n; k++)
        memcpy(bits + k * part, &x[k], part);
    return is_as(st, o, item, bits);
}

/* One list after the call. */
typedef struct back {
    tr_held *h;
    const tr_boxer *b;
    const tr_list *l;
    const tr_ty *item; /* NULL: of nothing */
    bool numbers;
    unsigned size;
    tr_items items; /* else: room for one */
} back;

static const char *place_in(const back *k, int64_t i) {
    return (const char *)k->l->items + i * k->size;
}

static bool is_still(back *k, PyObject *o, int64_t i) {
    if (k->numbers)
        return is_as(k->h->st, o, k->item, place_in(k, i));
    const tr_slot *at = tr_items_load(&k->items, place_in(k, i));
    return tr_items_same(k->h, o, k->item, &at);
}

/* A block that an item hands out is the list's reference. */
static PyObject *object_of(back *k, int64_t i) {
    if (k->numbers)
        return tr_lists_item(k->item, place_in(k, i));
    const tr_slot *at = tr_items_load(&k->items, place_in(k, i));
    return tr_box(k->b, k->item, &at);
}

/* Puts the items that are more than the list has behind its end. */
static bool add_items(back *k, PyObject *list, Py_ssize_t from) {
    PyObject *more = PyList_New((Py_ssize_t)k->l->len - from);
    for (Py_ssize_t i = from; more && i < k->l->len; i++) {
        PyObject *o = object_of(k, i);
        if (!o)
            Py_CLEAR(more);
        else
            PyList_SET_ITEM(more, i - from, o);
    }
    bool ok = more && PyList_SetSlice(list, from, PY_SSIZE_T_MAX, more) == 0;
    Py_XDECREF(more);
    return ok;
}

/* An item that goes may be the last reference to an object, whose end may run code that changes the list: its
 * length is asked for each time. */
static bool put_back(back *k, PyObject *list) {
    for (Py_ssize_t i = 0; i < k->l->len && i < PyList_GET_SIZE(list); i++) {
        if (is_still(k, PyList_GET_ITEM(list, i), i))
            continue;
        PyObject *o = object_of(k, i);
        if (!o)
            return false;
        if (PyList_SetItem(list, i, o) < 0) /* takes it, also on failure */
            return false;
    }
    Py_ssize_t n = PyList_GET_SIZE(list);
    if (n > k->l->len)
        return PyList_SetSlice(list, (Py_ssize_t)k->l->len, n, NULL) == 0;
    return n == k->l->len || add_items(k, list, n);
}

/* The list becomes what the block is. */
static bool reflect_one(tr_held *h, const tr_boxer *b, const tr_heldlist *x) {
    const tr_list *l = tr_mem_data(x->m);
    back k = {.h = h, .b = b, .l = l, .item = x->item, .numbers = is_number_list(x->item)};
    assert(l->len >= 0 && l->len <= l->cap && "a list is whole");
    assert((x->item || !l->len) && "nothing is put into a list of nothing");
    if (k.numbers) {
        k.size = x->item ? tr_ty_size(x->item) : 1;
        return put_back(&k, x->o);
    }
    bool ok = tr_items_init(&k.items, x->item);
    k.size = k.items.size;
    ok = ok && put_back(&k, x->o);
    tr_items_fini(&k.items);
    return ok;
}

/* What a dict or a set holds now: items of the list that was kept, where they stay. Entries come in order, so
 * those that stay come in the order in which they were, and what is new behind them. */
typedef struct entries {
    back keys, values;
    const tr_table *t;
    bool dict;
    PyObject *was; /* list of keys, or pairs */
    Py_ssize_t at; /* in it */
    bool differs;
} entries;

static PyObject *key_of(const entries *x, PyObject *item) {
    return x->dict ? PyTuple_GET_ITEM(item, 0) : item;
}

/* The item that was kept for an entry; borrowed, NULL: there is none. */
static PyObject *kept_for(entries *x, int64_t e) {
    Py_ssize_t first = x->at;
    for (; x->at < PyList_GET_SIZE(x->was); x->at++) {
        PyObject *item = PyList_GET_ITEM(x->was, x->at);
        if (is_still(&x->keys, key_of(x, item), e)) {
            x->differs = x->differs || x->at != first;
            x->at++;
            return item;
        }
    }
    x->differs = true;
    return NULL;
}

/* The entry as an item of the list. New reference. */
static PyObject *entry_of(entries *x, int64_t e) {
    PyObject *was = kept_for(x, e), *k, *v, *r = NULL;
    if (was && (!x->dict || is_still(&x->values, PyTuple_GET_ITEM(was, 1), e)))
        return Py_NewRef(was);
    x->differs = true;
    k = was ? Py_NewRef(key_of(x, was)) : object_of(&x->keys, e);
    if (!k || !x->dict)
        return k;
    v = object_of(&x->values, e);
    if (v)
        r = PyTuple_Pack(2, k, v);
    Py_DECREF(k);
    Py_XDECREF(v);
    return r;
}

static bool refill(PyObject *o, PyObject *items, bool dict) {
    bool ok = tr_face_clear(o);
    for (Py_ssize_t i = 0; ok && i < PyList_GET_SIZE(items); i++) {
        PyObject *x = PyList_GET_ITEM(items, i);
        ok =
            dict ? tr_face_set(o, PyTuple_GET_ITEM(x, 0), PyTuple_GET_ITEM(x, 1)) == 0 : PySet_Add(o, x) == 0;
    }
    return ok;
}

static bool back_init(back *k, tr_held *h, const tr_boxer *b, const tr_ty *item, const tr_list *l) {
    *k = (back){.h = h, .b = b, .l = l, .item = item};
    bool ok = tr_items_init(&k->items, item);
    k->size = k->items.size;
    return ok;
}

/* The dict or the set becomes what its blocks are; one that is that already is left alone. */
static bool reflect_table(tr_held *h, const tr_boxer *b, const tr_heldlist *x) {
    bool dict = x->values != NULL;
    const tr_ty *ty = tr_face_plain(x->table), *key = (dict ? ty->items[0] : ty)->items[0];
    entries k = {.t = tr_table_of(x->m), .dict = dict, .was = x->kept};
    PyObject *now = PyList_New(0);
    bool ok = back_init(&k.keys, h, b, key, &k.t->keys) && now;
    if (dict)
        ok = back_init(&k.values, h, b, ty->items[1]->items[0], tr_mem_data(x->values)) && ok;
    for (int64_t e = tr_rt_table_next(k.t, 0); ok && e >= 0; e = tr_rt_table_next(k.t, e + 1)) {
        PyObject *item = entry_of(&k, e);
        ok = item && PyList_Append(now, item) == 0;
        Py_XDECREF(item);
    }
    if (ok && (k.differs || k.at < PyList_GET_SIZE(x->kept)))
        ok = refill(x->o, now, dict);
    tr_items_fini(&k.keys.items);
    tr_items_fini(&k.values.items);
    Py_XDECREF(now);
    return ok;
}

/* A deque becomes what its list is from the first item on; one that is that already is left alone. */
static bool reflect_deque(tr_held *h, const tr_boxer *b, const tr_heldlist *x) {
    const tr_list *l = tr_mem_data(x->m);
    const int64_t *numbers = tr_mem_data(x->values);
    const tr_ty *item = tr_ty_list_item(h->st->types, x->table->items[0], false);
    entries k = {.was = x->kept};
    if (!item)
        return true;
    PyObject *now = PyList_New(0), *r = NULL;
    bool ok = back_init(&k.keys, h, b, item, l) && now;
    for (int64_t e = numbers[TR_DEQUE_HEAD]; ok && e < l->len; e++) {
        PyObject *o = entry_of(&k, e);
        ok = o && PyList_Append(now, o) == 0;
        Py_XDECREF(o);
    }
    if (ok && (k.differs || k.at < PyList_GET_SIZE(x->kept))) {
        ok = (r = PyObject_CallMethod(x->o, "clear", NULL)) != NULL;
        Py_XDECREF(r);
        ok = ok && (r = PyObject_CallMethod(x->o, "extend", "O", now)) != NULL;
        if (ok)
            Py_DECREF(r);
    }
    tr_items_fini(&k.keys.items);
    Py_XDECREF(now);
    return ok;
}

static bool comes_back(const tr_heldlist *x) {
    return is_changed(x->writes) && !x->typed && !(x->table && x->table->kind == TR_TY_FROZEN);
}

/* A typed container that may have changed has what its items refer to. */
static bool settle(tr_heldlist *x, const tr_boxer *b) {
    return tr_typed_settle((tr_typed *)x->o, b, &x->kept);
}

bool tr_held_reflect(tr_held *h, tr_boxer *b) {
    bool any = false, made = false, ok = true;
    for (uint32_t i = 0; i < h->n; i++) {
        any = any || is_changed(h->d[i].writes);
        made = made || (comes_back(&h->d[i]) && h->d[i].item && tr_ty_has_lists(h->d[i].item)) ||
               (comes_back(&h->d[i]) && h->d[i].values);
    }
    if (!any)
        return true;
    PyObject *raised = PyErr_Occurred() ? tr_py_fetch() : NULL;
    b->raised = raised != NULL;
    for (uint32_t i = 0; i < h->n; i++)
        if (h->d[i].typed && is_changed(h->d[i].writes))
            ok = settle(&h->d[i], b) && ok;
    if (made)
        ok = (b->lists = h->made = PyDict_New()) != NULL && ok;
    for (uint32_t i = 0; (!made || b->lists) && i < h->n; i++) {
        if (!comes_back(&h->d[i]))
            continue;
        tr_py_section s;
        tr_py_section_begin(&s, h->d[i].o);
        const tr_ty *table = h->d[i].table;
        ok = (!table                       ? reflect_one
              : table->kind == TR_TY_DEQUE ? reflect_deque
                                           : reflect_table)(h, b, &h->d[i]) &&
             ok;
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
        tr_together *used = h->d[i].used;
        if (!used)
            continue;
        tr_py_section s;
        tr_py_section_begin(&s, h->d[i].o);
        assert((h->d[i].alone ? used->users == -1 : used->users > 0) && "the call is among its users");
        used->users = h->d[i].alone ? 0 : used->users - 1;
        tr_py_section_end(&s);
    }
    for (uint32_t i = 0; i < h->n; i++)
        Py_XDECREF(h->d[i].kept);
    Py_XDECREF(h->made);
    PyMem_Free(h->index);
    if (h->d != h->few)
        PyMem_Free(h->d);
}
