/* What lies in containers that Python and compiled code share: treadle.typed's (typed_items.c). */
#ifndef TR_EXT_TYPED_ITEMS_H
#define TR_EXT_TYPED_ITEMS_H

#include "ext/box.h"
#include "ext/items.h"

/* Containers that are items of one another are used together: by so many calls that read them; -1: by
 * one that may change them. Sets of a union-find structure, of which the root counts; also the buffers over
 * items of any of them, which code that has the outer one might move. */
typedef struct tr_together {
    struct tr_together *up; /* NULL: the root */
    int64_t refs;
    int32_t users, exports;
} tr_together;

/* A typed.List, typed.Dict or typed.Set: a block that compiled code is given as it is. */
typedef struct tr_typed {
    PyObject_HEAD
    tr_state *st;
    tr_mem *mem;        /* a list's, or the table of keys; `of` is this object */
    tr_mem *values;     /* of a dict; else NULL */
    const tr_ty *ty;    /* of the container. Of nothing yet: such a type, and `item` is NULL */
    const tr_ty *item;  /* of a list's items, or of keys */
    const tr_ty *value; /* of a dict's values */
    PyObject *kept;     /* list of the objects that items refer to; NULL: none so far */
    tr_together *together;
    int32_t exports;  /* buffers over its items, which must not move; the root counts them, too */
    Py_ssize_t shape; /* of the buffers */
} tr_typed;

/* "typed.List", for messages. */
static inline const char *tr_typed_name(const tr_typed *t) {
    return t->ty->kind == TR_TY_LIST ? "typed.List" : t->ty->kind == TR_TY_DICT ? "typed.Dict" : "typed.Set";
}

static inline tr_list *tr_typed_list(const tr_typed *t) {
    return tr_mem_data(t->mem);
}

/* The container that the block is of; borrowed, NULL: of none. */
static inline PyObject *tr_typed_of(const tr_mem *m) {
    return m->refs > TR_MEM_FOR_EVER / 2 ? m->of : NULL;
}

bool tr_typed_is(const tr_state *st, const PyObject *o);
/* A new one of a type, which says whether it is a list, a dict or a set. */
PyObject *tr_typed_make(tr_state *st, const tr_ty *ty);
void tr_typed_free(tr_typed *t); /* what it has */
/* It is of such a type, or is of nothing and can be of it. */
bool tr_typed_takes(const tr_typed *t, const tr_ty *ty);
/* It is from now on. False without memory. */
bool tr_typed_become(tr_typed *t, const tr_ty *ty);

/* Who has them. */
tr_together *tr_typed_root(const tr_typed *t);
static inline int32_t tr_typed_users(const tr_typed *t) {
    const tr_together *g = t->together;
    return (__builtin_expect(!g->up, 1) ? g : tr_typed_root(t))->users;
}

/* The type of a value that may be an item, a typed container among them; NULL without an exception:
 * none. */
const tr_ty *tr_typed_type_of(tr_state *st, PyObject *o);
/* What lies there, as Python's value. New reference. */
PyObject *tr_typed_load(const tr_typed *t, const tr_ty *item, const void *from);
/* Puts a value there, which holds no item: memory of an item's size. False with an exception: TypeError,
 * where it is not of the type. */
bool tr_typed_store(tr_typed *t, PyObject *o, const tr_ty *item, void *to);
/* The entry of a key; -1: there is none, -2: an exception. */
int64_t tr_typed_find(tr_typed *t, PyObject *key);

/* Items of another one were copied to this one. False with an exception. */
bool tr_typed_share(tr_typed *t, const tr_typed *from);
/* After compiled code may have put items in, or into what lies in it: what they refer to is the
 * container's. *gone: a list of what they referred to before, which the call may still have; a new
 * reference, or NULL. False with an exception: then it is empty. */
bool tr_typed_settle(tr_typed *t, const tr_boxer *b, PyObject **gone);
/* After items went: what they referred to goes, now and then. False with an exception. */
bool tr_typed_tidy(tr_typed *t);

#endif
