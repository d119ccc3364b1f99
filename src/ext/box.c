/* From slots to Python values. Scalars become Python's own numbers, tuples tuples, arrays ndarrays: an
 * argument that comes back untouched is the same object; a view of one has it as base; a block allocated
 * in the call is owned by a Memory object that is the array's base; data of a frozen array has that array
 * as base. A block leaves the frame's list (tr_rt_mem_detach) in the same step that gives it to a Memory
 * object, so that an error half-way frees each block exactly once. */
#include "dev/dev.h"
#include "ext/box.h"
#include "ext/face.h"
#include "ext/far.h"

#include <string.h>

#include "ext/check.h"
#include "ext/chars.h"
#include "ext/date.h"
#include "ext/generator.h"
#include "ext/items.h"
#include "ext/partial.h"
#include "ext/lists.h"
#include "ext/number.h"
#include "ext/ntclass.h"
#include "ext/record.h"
#include "ext/typed_items.h"
#include "rt/fns.h"

typedef struct tr_memobj {
    PyObject_HEAD
    tr_state *st;
    tr_mem *mem;
} tr_memobj;

static void mem_dealloc(PyObject *self) {
    tr_memobj *m = (tr_memobj *)self;
    PyTypeObject *tp = Py_TYPE(self);
    assert((!m->mem || m->mem->next == m->mem) && "memory that Python has is in no frame's list");
    if (m->mem)
        atomic_fetch_add_explicit(&m->st->freed, tr_rt_mem_unref(m->mem), memory_order_relaxed);
    tp->tp_free(self);
    Py_DECREF(tp); /* last: the type keeps the module and with it the state */
}

static PyObject *mem_sizeof(PyObject *self, PyObject *unused) {
    (void)unused;
    tr_memobj *m = (tr_memobj *)self;
    return PyLong_FromSize_t(sizeof *m + (m->mem ? TR_MEM_ALIGN + m->mem->size : 0));
}

static PyMethodDef mem_methods[] = {
    {"__sizeof__", mem_sizeof, METH_NOARGS, NULL},
    {0},
};

PyDoc_STRVAR(mem_doc, "Memory that compiled code allocated; base of the arrays that lie in it.");

static PyType_Slot mem_slots[] = {
    {Py_tp_dealloc, mem_dealloc},
    {Py_tp_methods, mem_methods},
    {Py_tp_doc, (void *)mem_doc},
    {0, NULL},
};

static PyType_Spec mem_spec = {
    .name = "treadle._core.Memory",
    .basicsize = sizeof(tr_memobj),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = mem_slots,
};

bool tr_box_add(PyObject *module) {
    tr_state *st = tr_ext_state(module);
    st->mem_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &mem_spec, NULL);
    return st->mem_type && PyModule_AddType(module, st->mem_type) == 0;
}

/* --- what can be given to Python --- */

static bool can_yes(const tr_ty *ty) {
    (void)ty;
    return true;
}

static bool can_no(const tr_ty *ty) {
    (void)ty;
    return false;
}

static bool can_items(const tr_ty *ty) {
    for (uint32_t i = 0; i < ty->n; i++)
        if (!tr_box_can(ty->items[i]))
            return false;
    return true;
}

/* A constant is another object than Python's, which has to know what becomes of it. */
static bool can_list(const tr_ty *ty) {
    if (tr_ty_is_fixed(ty))
        return false;
    return ty->kind == TR_TY_SET || tr_box_can(ty->items[0]);
}

/* Of a function that makes values there is no object. */
static bool can_faced(const tr_ty *ty) {
    return ty->sub != TR_FACE_MADE && tr_box_can(ty->items[0]);
}

static bool can_deque(const tr_ty *ty) {
    return tr_box_can(ty->items[0]);
}

static bool can_held(const tr_ty *ty) {
    return tr_box_can(ty->items[1]);
}

static bool can_lit(const tr_ty *ty) {
    return ty->lit->kind == TR_OBJ_INT ? tr_bigint_fits64(&ty->lit->u.n)
                                       : ty->lit->kind <= TR_OBJ_COMPLEX || ty->lit->kind == TR_OBJ_STR;
}

bool tr_box_can(const tr_ty *ty) {
    static bool (*const can[])(const tr_ty *) = {
#define KIND(ID, word, user, items, ty, lib, ext, main) ext,
#define EXT(can, ...)                                   can_##can
#include "ty/kinds.def"
    };
    return can[tr_ty_row(ty)](ty);
}

/* --- numbers --- */

static PyObject *box_number(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    (void)b;
    return tr_number_box(ty, at);
}

/* --- arrays --- */

typedef struct parts {
    void *owner, *data;
    npy_intp shape[TR_MAX_NDIM], strides[TR_MAX_NDIM]; /* strides in bytes */
} parts;

static void read_array(const tr_ty *ty, const tr_slot **at, parts *p) {
    const tr_slot *s = *at;
    unsigned nd = ty->ndim;
    npy_intp step = (npy_intp)tr_ty_unit(ty);
    assert(nd <= TR_MAX_NDIM && step > 0 && "axes have room, and items a size");
    p->owner = (s++)->p;
    p->data = (s++)->p;
    for (unsigned d = 0; d < nd; d++)
        p->shape[d] = (npy_intp)(s++)->i;
    for (unsigned d = 0; d < nd; d++)
        assert(p->shape[d] >= 0 && "compiled code makes no array of a negative size");
    if (ty->layout == TR_LAYOUT_ANY) {
        for (unsigned d = 0; d < nd; d++)
            p->strides[d] = (npy_intp)(s++)->i * step;
    } else {
        for (unsigned d = 0; d < nd; d++) {
            unsigned axis = ty->layout == TR_LAYOUT_C ? nd - 1 - d : d;
            p->strides[axis] = step;
            step *= p->shape[axis] ? p->shape[axis] : 1;
        }
    }
    *at = s;
}

/* The array's dtype is that of `date`, or where that is NULL of the items. */
static bool same_items(tr_state *st, PyArray_Descr *d, const tr_ty *ty, const tr_ty *date) {
    return date ? tr_date_type(st->types, d) == date && PyArray_ISNBO(d->byteorder)
                : tr_record_has_items(st, d, ty->elem);
}

/* `a` is just what the parts say. Strides of axes of length 1 mean nothing. */
static bool same_array(tr_state *st, PyArrayObject *a, const tr_ty *ty, const tr_ty *date, const parts *p) {
    if (PyArray_DATA(a) != p->data || PyArray_NDIM(a) != ty->ndim ||
        !same_items(st, PyArray_DESCR(a), ty, date))
        return false;
    bool empty = PyArray_SIZE(a) == 0; /* its strides mean nothing */
    for (unsigned d = 0; d < ty->ndim; d++)
        if (PyArray_DIM(a, (int)d) != p->shape[d] ||
            (!empty && p->shape[d] > 1 && PyArray_STRIDE(a, (int)d) != p->strides[d]))
            return false;
    return true;
}

/* The frozen array whose memory holds `data`; borrowed. */
static PyObject *frozen_owner(const tr_boxer *b, const void *data) {
    for (Py_ssize_t i = 0; b->keep && i < PyList_GET_SIZE(b->keep); i++) {
        PyObject *o = PyList_GET_ITEM(b->keep, i);
        if (!PyArray_Check(o))
            continue;
        const char *lo = PyArray_DATA((PyArrayObject *)o), *hi = lo + PyArray_ITEMSIZE((PyArrayObject *)o);
        for (int d = 0; d < PyArray_NDIM((PyArrayObject *)o); d++) {
            npy_intp reach = (PyArray_DIM((PyArrayObject *)o, d) - 1) * PyArray_STRIDE((PyArrayObject *)o, d);
            if (reach < 0)
                lo += reach;
            else
                hi += reach;
        }
        if ((const char *)data >= lo && (const char *)data <= hi)
            return o;
    }
    return NULL;
}

/* New reference to the base of the array; *writable is what the base allows. */
static PyObject *array_base(const tr_boxer *b, const parts *p, bool *writable) {
    uintptr_t owner = (uintptr_t)p->owner;
    PyObject *o;
    if (owner & 1u) {
        o = (PyObject *)(owner & ~(uintptr_t)1);
        assert(Py_REFCNT(o) > 0 && (PyArray_Check(o) || PyArray_IsScalar(o, Void)) &&
               "owners are arrays and records");
        *writable = PyArray_Check(o) ? PyArray_ISWRITEABLE((PyArrayObject *)o) : tr_record_is_writable(o);
        return Py_NewRef(o);
    }
    if (!owner) {
        *writable = false;
        if ((o = frozen_owner(b, p->data)))
            return Py_NewRef(o);
        PyErr_SetString(PyExc_SystemError, "compiled code returned an array without an owner");
        return NULL;
    }
    *writable = true;
    if (((tr_mem *)p->owner)->far) { /* a block of a device's has an object already */
        o = Py_NewRef(((const tr_farblock *)((tr_mem *)p->owner)->far)->mem);
        tr_rt_mem_detach(b->frame, p->owner);
        tr_rt_mem_unref(p->owner);
        return o;
    }
    tr_memobj *m = (tr_memobj *)b->st->mem_type->tp_alloc(b->st->mem_type, 0);
    if (m) {
        m->st = b->st;
        m->mem = p->owner;
        if (b->raised) /* nobody else has it but other objects that were made so */
            m->mem->refs = m->mem->next == m->mem ? m->mem->refs + 1 : 1;
        assert(m->mem->refs > 0 && "a block that is returned lives");
        tr_rt_mem_detach(b->frame, p->owner);
    }
    return (PyObject *)m;
}

static PyArray_Descr *dtype_of(tr_state *st, const tr_ty *ty, const tr_ty *date) {
    if (date)
        return tr_date_dtype(st, date);
    return tr_ty_is_scalar(ty->elem) ? PyArray_DescrFromType(tr_value_npy_num[ty->elem->kind])
                                     : tr_record_dtype(st, ty->elem);
}

/* Of an array over a block of a device's, which the host may not be able to touch. */
static PyTypeObject *class_over(const tr_state *st, const PyObject *base) {
    const tr_dev *d = Py_IS_TYPE(base, st->devmem_type) ? atomic_load(&st->dev) : NULL;
    return d && d->ops->load ? st->remote_type : &PyArray_Type;
}

/* `date`: what int64 items are, or NULL. */
static PyObject *box_array_as(const tr_boxer *b, const tr_ty *ty, const tr_ty *date, const tr_slot **at) {
    parts p;
    bool writable;
    read_array(ty, at, &p);
    PyObject *base = array_base(b, &p, &writable);
    if (!base)
        return NULL;
    if (PyArray_Check(base) && (writable != ty->readonly || !p.owner) &&
        same_array(b->st, (PyArrayObject *)base, ty, date, &p))
        return base;
    PyArray_Descr *d = dtype_of(b->st, ty, date);
    PyObject *a = d ? PyArray_NewFromDescr(class_over(b->st, base), d, ty->ndim, p.shape, p.strides, p.data,
                                           writable && !ty->readonly ? NPY_ARRAY_WRITEABLE : 0, NULL)
                    : NULL;
    if (!a) {
        Py_DECREF(base);
        return NULL;
    }
    if (PyArray_SetBaseObject((PyArrayObject *)a, base) < 0) /* steals base, also on failure */
        Py_CLEAR(a);
    return a;
}

/* The item; the frame has the block still. */
static PyObject *box_point(const tr_ty *ty, const tr_slot **at) {
    parts p;
    read_array(ty, at, &p);
    PyArray_Descr *d = PyArray_DescrFromType(tr_value_npy_num[ty->elem->kind]);
    PyObject *r = d ? PyArray_Scalar(p.data, d, NULL) : NULL;
    Py_XDECREF(d);
    return r;
}

static PyObject *box_array(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    if (b->points && ty->ndim == 0 && tr_ty_is_scalar(ty->elem))
        return box_point(ty, at);
    return box_array_as(b, ty, NULL, at);
}

static PyObject *box_dates(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    return box_array_as(b, ty->items[0], tr_ty_one_date(b->st->types, ty), at);
}

/* `a` is just what the parts say, its items the bytes of the last axis. */
static bool same_chars(PyArrayObject *a, bool wide, unsigned nd, const parts *p) {
    bool same = tr_npchars_letter(PyArray_DESCR(a)) == (wide ? 'U' : 'S') && PyArray_DATA(a) == p->data &&
                PyArray_NDIM(a) == (int)nd && PyArray_ITEMSIZE(a) == p->shape[nd];
    for (unsigned k = 0; same && k < nd; k++)
        same = PyArray_DIM(a, (int)k) == p->shape[k] &&
               (p->shape[k] < 2 || PyArray_STRIDE(a, (int)k) == p->strides[k]);
    return same;
}

/* Items without a byte NumPy makes a character wide, so that these get memory of their own. */
static PyObject *box_chars(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    const tr_ty *bytes = ty->items[0];
    unsigned nd = bytes->ndim - 1u;
    bool wide = ty->sub == TR_CHARS_U, writable;
    parts p;
    read_array(bytes, at, &p);
    PyObject *base = array_base(b, &p, &writable), *a = NULL;
    if (!base)
        return NULL;
    if (PyArray_Check(base) && (writable != bytes->readonly || !p.owner) &&
        same_chars((PyArrayObject *)base, wide, nd, &p))
        return base;
    PyArray_Descr *d = tr_npchars_dtype(wide, p.shape[nd] ? p.shape[nd] : wide ? 4 : 1);
    if (d && !p.shape[nd])
        a = PyArray_Zeros((int)nd, p.shape, d, 0);
    else if (d)
        a = PyArray_NewFromDescr(&PyArray_Type, d, (int)nd, p.shape, p.strides, p.data,
                                 writable && !bytes->readonly ? NPY_ARRAY_WRITEABLE : 0, NULL);
    if (!a || !p.shape[nd])
        Py_DECREF(base);
    else if (PyArray_SetBaseObject((PyArrayObject *)a, base) < 0) /* steals base, also on failure */
        Py_CLEAR(a);
    return a;
}

/* NumPy's scalar: Python has none with units. */
static PyObject *box_date(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    npy_int64 v = (*at)++->i;
    PyArray_Descr *d = tr_date_dtype(b->st, ty);
    PyObject *r = d ? PyArray_Scalar(&v, d, NULL) : NULL;
    Py_XDECREF(d);
    return r;
}

static PyObject *box_records(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    return box_array(b, ty->items[0], at);
}

/* NumPy's scalar, a view of the memory that the record lies in. */
static PyObject *box_record(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    uintptr_t owner = (uintptr_t)(*at)[0].p;
    PyObject *o = (PyObject *)(owner & ~(uintptr_t)1);
    if ((owner & 1u) && PyArray_IsScalar(o, Void) && ((PyVoidScalarObject *)o)->obval == (*at)[1].p &&
        tr_record_has_items(b->st, ((PyVoidScalarObject *)o)->descr, ty->items[0]->elem)) {
        *at += 2;
        return Py_NewRef(o);
    }
    PyObject *a = box_array(b, ty->items[0], at);
    PyObject *r =
        a ? PyArray_Scalar(PyArray_DATA((PyArrayObject *)a), PyArray_DESCR((PyArrayObject *)a), a) : NULL;
    Py_XDECREF(a);
    return r;
}

/* --- lists, sets, dicts --- */

/* The items of a list, one after the other. */
typedef struct reader {
    const tr_boxer *b;
    const tr_list *l;
    tr_items items;
} reader;

static bool reader_init(reader *r, const tr_boxer *b, const tr_ty *item, const tr_list *l) {
    assert(l->len >= 0 && l->len <= l->cap && "a list is whole");
    *r = (reader){.b = b, .l = l};
    return tr_items_init(&r->items, item);
}

/* A block that an item hands out is the list's reference. */
static PyObject *item_at(reader *r, int64_t i) {
    assert(i >= 0 && i < r->l->len && "an item of the list");
    const tr_slot *from = tr_items_load(&r->items, (const char *)r->l->items + i * r->items.size);
    return tr_box(r->b, r->items.item, &from);
}

static PyObject *list_of(const tr_boxer *b, const tr_ty *item, const tr_list *l) {
    if (tr_ty_is_scalar(item))
        return tr_lists_python(item, l);
    reader items;
    PyObject *r = reader_init(&items, b, item, l) ? PyList_New((Py_ssize_t)l->len) : NULL;
    for (int64_t i = 0; r && i < l->len; i++) {
        PyObject *o = item_at(&items, i);
        if (!o)
            Py_CLEAR(r);
        else
            PyList_SET_ITEM(r, (Py_ssize_t)i, o);
    }
    tr_items_fini(&items.items);
    return r;
}

/* The keys of a table, with the values of a dict. */
static PyObject *table_of(const tr_boxer *b, const tr_ty *ty, const tr_table *t, const tr_list *values) {
    const tr_ty *of = tr_face_plain(ty), *key = (values ? of->items[0] : of)->items[0],
                *value = values ? of->items[1]->items[0] : NULL;
    reader keys = {0}, under = {0};
    bool ok = reader_init(&keys, b, key, &t->keys) && (!values || reader_init(&under, b, value, values));
    PyObject *r = ok ? tr_face_new(b->st, ty) : NULL;
    int64_t e = tr_rt_table_next(t, 0);
    for (int bad = 0; r && e >= 0; e = tr_rt_table_next(t, e + 1)) {
        PyObject *k = item_at(&keys, e), *v = k && values ? item_at(&under, e) : NULL;
        bad = !k || (values && !v) || (values ? tr_face_set(r, k, v) : PySet_Add(r, k)) < 0;
        Py_XDECREF(k);
        Py_XDECREF(v);
        if (bad)
            Py_CLEAR(r);
    }
    tr_items_fini(&keys.items);
    tr_items_fini(&under.items);
    return r;
}

static PyObject *make_of(const tr_boxer *b, const tr_ty *ty, const tr_slot *x) {
    if (ty->kind == TR_TY_LIST)
        return list_of(b, ty->items[0], tr_mem_data(x->p));
    bool dict = tr_face_plain(ty)->kind == TR_TY_DICT;
    return table_of(b, ty, tr_mem_data(x[0].p), dict ? tr_mem_data(x[1].p) : NULL);
}

typedef PyObject *(*box_fn)(const tr_boxer *b, const tr_ty *ty, const tr_slot **at);

/* With a table of the lists that are made. */
static PyObject *with_lists(const tr_boxer *b, const tr_ty *ty, const tr_slot **at, box_fn box) {
    tr_boxer with = *b;
    with.lists = PyDict_New();
    PyObject *r = with.lists ? box(&with, ty, at) : NULL;
    Py_XDECREF(with.lists);
    return r;
}

static bool holds_lists(const tr_ty *ty) {
    ty = tr_face_plain(ty);
    return ty->kind == TR_TY_DICT ? tr_ty_has_lists(ty->items[1]->items[0]) : tr_ty_has_lists(ty->items[0]);
}

/* The list that was passed, or a list, set or dict of Python's with what is in it now; blocks stay the
 * frame's. One that is in a tuple or in another one twice is one there, too. */
static PyObject *box_list(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    const tr_slot *x = *at;
    tr_mem *m = x->p;
    assert(m && m->refs > 0 && "a list that is returned lives");
    if (tr_typed_of(m)) {
        *at += tr_ty_nparts(ty);
        return Py_NewRef(tr_typed_of(m));
    }
    if (!b->lists && holds_lists(ty))
        return with_lists(b, ty, at, box_list);
    *at += tr_ty_nparts(ty);
    PyObject *passed = tr_held_find(b->held, m);
    if (passed)
        return Py_NewRef(passed);
    PyObject *key = b->lists ? PyLong_FromVoidPtr(m) : NULL;
    if (b->lists && !key)
        return NULL;
    PyObject *r = key ? Py_XNewRef(PyDict_GetItemWithError(b->lists, key)) : NULL;
    if (!r && !PyErr_Occurred()) {
        r = make_of(b, ty, x);
        if (r && key && PyDict_SetItem(b->lists, key, r) < 0)
            Py_CLEAR(r);
    }
    Py_XDECREF(key);
    return r;
}

/* The items of its list from the first one on. */
static PyObject *deque_of(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    const tr_slot *x = *at;
    tr_list l = *(const tr_list *)tr_mem_data(x[0].p);
    const int64_t *state = x[2].p; /* the array's data: behind the list, and the array's owner */
    const tr_ty *item = ty->items[0]->items[0];
    *at += tr_ty_nparts(ty);
    assert(state[TR_DEQUE_HEAD] >= 0 && state[TR_DEQUE_HEAD] <= l.len && "the first item is in the list");
    l.items = (char *)l.items + state[TR_DEQUE_HEAD] * (int64_t)tr_ty_lies(item, NULL, NULL);
    l.len -= state[TR_DEQUE_HEAD];
    l.cap -= state[TR_DEQUE_HEAD];
    PyObject *items = list_of(b, item, &l);
    PyObject *r = items ? tr_face_deque(b->st, items, state[TR_DEQUE_MOST]) : NULL;
    Py_XDECREF(items);
    return r;
}

/* One that is in a result twice is one there, too. */
static PyObject *box_deque(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    PyObject *passed = tr_held_find(b->held, (*at)[0].p);
    if (passed) {
        *at += tr_ty_nparts(ty);
        return Py_NewRef(passed);
    }
    if (!b->lists)
        return with_lists(b, ty, at, box_deque);
    PyObject *key = PyLong_FromVoidPtr((*at)[0].p), *r = NULL;
    if (key && (r = Py_XNewRef(PyDict_GetItemWithError(b->lists, key))))
        *at += tr_ty_nparts(ty);
    else if (key && !PyErr_Occurred() && (r = deque_of(b, ty, at)) && PyDict_SetItem(b->lists, key, r) < 0)
        Py_CLEAR(r);
    Py_XDECREF(key);
    return r;
}

/* --- strings --- */

PyObject *tr_box_string(const tr_slot *at) {
    tr_str s = {at[0].p, at[1].p, at[2].i};
    Py_ssize_t n = (Py_ssize_t)tr_str_len(&s);
    PyObject *o = (PyObject *)((uintptr_t)s.owner & ~(uintptr_t)1);
    if (((uintptr_t)s.owner & 1u) && PyUnicode_CheckExact(o) && PyUnicode_GET_LENGTH(o) == n &&
        PyUnicode_DATA(o) == s.data)
        return Py_NewRef(o);
    if (!(s.bits & TR_STR_ASCII) || n < 2) /* which finds out how wide it has to be */
        return PyUnicode_FromKindAndData(1 << tr_str_width(&s), s.data, n);
    PyObject *r = PyUnicode_New(n, 127);
    if (r)
        memcpy(PyUnicode_DATA(r), s.data, (size_t)n);
    return r;
}

/* The argument where it is one, else a copy; the block stays the frame's. */
static PyObject *box_string(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    (void)b, (void)ty;
    PyObject *r = tr_box_string(*at);
    *at += 3;
    return r;
}

PyObject *tr_box_bytes(const tr_slot *at) {
    tr_str s = {at[0].p, at[1].p, at[2].i};
    Py_ssize_t n = (Py_ssize_t)tr_str_len(&s);
    PyObject *o = (PyObject *)((uintptr_t)s.owner & ~(uintptr_t)1);
    if (((uintptr_t)s.owner & 1u) && PyBytes_CheckExact(o) && PyBytes_GET_SIZE(o) == n &&
        PyBytes_AS_STRING(o) == s.data)
        return Py_NewRef(o);
    assert(!tr_str_width(&s) && "a character is a byte");
    return PyBytes_FromStringAndSize(s.data, n);
}

/* The argument where it is one, else a copy. */
static PyObject *box_bytes(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    (void)b, (void)ty;
    PyObject *r = tr_box_bytes(*at);
    *at += 3;
    return r;
}

/* One object for each block, where that is asked. */
static PyObject *box_bytearray(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    tr_mem *m = (*at)++->p;
    const tr_list *l = tr_list_of(m);
    (void)ty;
    PyObject *key = b->lists ? PyLong_FromVoidPtr(m) : NULL;
    if (b->lists && !key)
        return NULL;
    PyObject *r = key ? Py_XNewRef(PyDict_GetItemWithError(b->lists, key)) : NULL;
    if (!r && !PyErr_Occurred()) {
        r = PyByteArray_FromStringAndSize(l->items, (Py_ssize_t)l->len);
        if (r && key && PyDict_SetItem(b->lists, key, r) < 0)
            Py_CLEAR(r);
    }
    Py_XDECREF(key);
    return r;
}

/* --- tuples and the rest --- */

/* The dict of a display's names and values; takes the values. */
static PyObject *as_dict(const tr_ty *ty, PyObject *values) {
    PyObject *d = PyDict_New();
    for (uint32_t i = 0; d && i < ty->n; i++)
        if (PyDict_SetItemString(d, ty->fields[i], PyTuple_GET_ITEM(values, i)) < 0)
            Py_CLEAR(d);
    Py_DECREF(values);
    return d;
}

static PyObject *box_items(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    PyObject *t = PyTuple_New(ty->n);
    for (uint32_t i = 0; t && i < ty->n; i++) {
        PyObject *item = tr_box(b, ty->items[i], at);
        if (!item)
            Py_CLEAR(t);
        else
            PyTuple_SET_ITEM(t, i, item);
    }
    if (!t || !ty->fields)
        return t;
    if (tr_ty_is_dict_record(ty))
        return as_dict(ty, t);
    PyObject *cls = tr_ntclass_find(b->st, ty);
    PyObject *r = cls ? PyObject_Call(cls, t, NULL) : NULL;
    if (!cls)
        PyErr_Format(PyExc_SystemError, "the class of named tuple %s is gone", ty->name);
    Py_XDECREF(cls);
    Py_DECREF(t);
    return r;
}

static PyObject *box_tuple(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    if (b->lists || !tr_ty_has_lists(ty))
        return box_items(b, ty, at);
    return with_lists(b, ty, at, box_items);
}

static PyObject *box_made(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    PyObject *hand = PyList_GET_ITEM(b->hands, ty->func), *values = box_items(b, ty, at);
    PyObject *r = values ? PyObject_CallOneArg(hand, values) : NULL;
    Py_XDECREF(values);
    return r;
}

/* An object that Python has already, or a function that holds values: functions of one call that hold a list
 * hold one list. */
static PyObject *box_handed(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    assert(b->hands && ty->func < (uint32_t)PyList_GET_SIZE(b->hands) && "a function of the result");
    PyObject *hand = PyList_GET_ITEM(b->hands, ty->func);
    if (PyTuple_CheckExact(hand))
        return Py_NewRef(PyTuple_GET_ITEM(hand, 0));
    return b->lists || !tr_ty_has_lists(ty) ? box_made(b, ty, at) : with_lists(b, ty, at, box_made);
}

static PyObject *box_oneof(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    int64_t which = (*at)++->i;
    PyObject *r = NULL;
    assert(which >= 0 && which < (int64_t)ty->n - 1 && "one of the functions");
    for (uint32_t i = 1; i < ty->n; i++) {
        if (i == which + 1)
            r = tr_box(b, ty->items[i], at);
        else
            *at += tr_ty_nparts(ty->items[i]);
    }
    return r;
}

static PyObject *box_partly(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    PyObject *all = box_items(b, ty, at);
    PyObject *r = all ? tr_partial_new(b->st, all) : NULL;
    Py_XDECREF(all);
    return r;
}

static PyObject *box_partial(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    return b->lists || !tr_ty_has_lists(ty) ? box_partly(b, ty, at) : with_lists(b, ty, at, box_partly);
}

static PyObject *box_range(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    (void)b, (void)ty;
    const tr_slot *s = *at;
    *at += 3;
    return PyObject_CallFunction((PyObject *)&PyRange_Type, "LLL", (long long)s[0].i, (long long)s[1].i,
                                 (long long)s[2].i);
}

static PyObject *box_slice(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    (void)b;
    PyObject *v[3] = {NULL, NULL, NULL}, *r = NULL;
    bool ok = true;
    for (unsigned i = 0; i < 3; i++) {
        v[i] = tr_ty_is(ty->items[i], TR_TY_NONE) ? Py_NewRef(Py_None) : PyLong_FromLongLong((*at)++->i);
        ok = ok && v[i];
    }
    if (ok)
        r = PySlice_New(v[0], v[1], v[2]);
    for (unsigned i = 0; i < 3; i++)
        Py_XDECREF(v[i]);
    return r;
}

/* The very object: its caller has it. */
static PyObject *box_generator(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    (void)b, (void)ty;
    const tr_slot *s = *at;
    *at += 2;
    assert(tr_generator_is(s[1].p) && "a Generator's second part is the object");
    return Py_NewRef((PyObject *)s[1].p);
}

static PyObject *box_held(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    bool some = (*at)++->b != 0;
    if (some)
        return tr_box(b, ty->items[1], at);
    *at += tr_ty_nparts(ty->items[1]);
    Py_RETURN_NONE;
}

static PyObject *box_integer(const tr_bigint *n) {
    int64_t v;
    return tr_bigint_i64(n, &v) ? PyLong_FromLongLong(v) : PyLong_FromUnsignedLongLong(tr_bigint_wrapped(n));
}

static PyObject *box_lit(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    const tr_obj *o = ty->lit;
    (void)b, (void)at;
    switch (o->kind) {
    case TR_OBJ_NONE: Py_RETURN_NONE;
    case TR_OBJ_BOOL: return PyBool_FromLong(o->u.i != 0);
    case TR_OBJ_INT: return box_integer(&o->u.n);
    case TR_OBJ_FLOAT: return PyFloat_FromDouble(o->u.f);
    case TR_OBJ_COMPLEX: return PyComplex_FromDoubles(o->u.c[0], o->u.c[1]);
    case TR_OBJ_STR: return PyUnicode_DecodeUTF8(o->u.s.d, (Py_ssize_t)o->u.s.n, "surrogatepass");
    default: PyErr_Format(PyExc_SystemError, "compiled code returned the constant %s", o->repr); return NULL;
    }
}

static PyObject *box_none(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    (void)b, (void)ty, (void)at;
    Py_RETURN_NONE;
}

static PyObject *box_no(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    (void)b, (void)at;
    PyErr_Format(PyExc_SystemError, "compiled code returned a value of type kind %d", ty->kind);
    return NULL;
}

PyObject *tr_box(const tr_boxer *b, const tr_ty *ty, const tr_slot **at) {
    static PyObject *(*const box[])(const tr_boxer *, const tr_ty *, const tr_slot **) = {
#define KIND(ID, word, user, items, ty, lib, ext, main) ext,
#define EXT(can, box, ...)                              box_##box
#include "ty/kinds.def"
    };
    const tr_slot *from = *at;
    (void)from;
    PyObject *r = box[tr_ty_row(ty)](b, ty, at);
    assert((!r || *at == from + tr_ty_nparts(ty)) && "a value is all of its type's parts");
    assert((r || PyErr_Occurred()) && "what cannot be boxed has raised");
    return r;
}
