/* Items of lists that are no single numbers: arrays, strings, tuples, lists, None (items.c). */
#ifndef TR_EXT_ITEMS_H
#define TR_EXT_ITEMS_H

#include "ext/value.h"

/* How such items lie in a list's memory, and room for one. */
typedef struct tr_items {
    const tr_ty *item;
    unsigned n, size; /* parts of an item, its bytes */
    tr_part *kinds;
    uint32_t *lies;
    tr_slot *parts;
} tr_items;

/* False with an exception; what it has is for tr_items_fini either way. */
bool tr_items_init(tr_items *it, const tr_ty *item);
void tr_items_fini(tr_items *it);
/* The parts of the item that lies there; they stay until the next one. */
const tr_slot *tr_items_load(tr_items *it, const void *from);
/* Puts the parts there. */
void tr_items_store(const tr_items *it, void *to);

/* The type that all items have in common; NULL without an exception: none. `lists`: the list lies so
 * deep in others, 1: in none. */
const tr_ty *tr_items_of(tr_state *st, PyObject *list, unsigned lists);
/* The type of a dict or a set; NULL without an exception: it has none. */
const tr_ty *tr_items_table_of(tr_state *st, PyObject *o, unsigned lists);
/* The first item because of which there is none. */
Py_ssize_t tr_items_misfit(tr_state *st, PyObject *list, unsigned lists);
/* What items of two types have in common, or NULL. */
const tr_ty *tr_items_join(tr_tytab *t, const tr_ty *a, const tr_ty *b);
/* The type of items of a tuple is one that `item` takes. */
bool tr_items_fit(tr_state *st, PyObject *tuple, const tr_ty *item);
/* How far the conversion of items goes: 0, or more; -1: they are not converted. */
int tr_items_cost(tr_tytab *t, const tr_ty *from, const tr_ty *to);
/* The type of a value as an item of a list that is in no other; NULL without an exception: it cannot be
 * one. */
const tr_ty *tr_items_type(tr_state *st, PyObject *o);
/* The entry of a key's parts in a table; -1: there is none, -2: no memory. */
int64_t tr_items_find(const tr_ty *key, const tr_slot *k, const void *table);
/* The same, made where there is none; -1 without memory. */
int64_t tr_items_enter_key(const tr_ty *key, const tr_slot *k, void *table, void *values);
/* Takes an entry out, which is there. */
void tr_items_leave(const tr_ty *key, tr_frame *f, void *table, int64_t e, void *values);
/* How the items of a list lie, and what of them is counted; NULL without memory. */
const tr_shape *tr_items_shape(const tr_ty *item, bool keys);

/* Keys, and values where there are any, of a list of such are those of a dict or a set of type `ty`. */
bool tr_items_fit_table(tr_state *st, PyObject *items, const tr_ty *ty);
/* Enters such items into a table, which is empty, and values (NULL: a set). False with an exception. */
bool tr_items_enter(const tr_unboxer *u, PyObject *items, const tr_ty *ty, void *table, void *values);

/* Fills a list's memory, which holds nothing, with the items of a tuple. False with an exception that
 * names the item. */
bool tr_items_fill(const tr_unboxer *u, PyObject *tuple, const tr_ty *item, const tr_shape *shape, char *to);
/* The object is what these parts say, which are moved past: Python's own value for them need not be
 * made. */
bool tr_items_same(const struct tr_held *h, PyObject *o, const tr_ty *ty, const tr_slot **at);

#endif
