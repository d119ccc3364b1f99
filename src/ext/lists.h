/* Lists as arguments of compiled code, and what Python sees of them after the call (lists.c). */
#ifndef TR_EXT_LISTS_H
#define TR_EXT_LISTS_H

#include "ext/state.h"

/* An argument, or an item of one. */
typedef struct tr_heldlist {
    PyObject *o; /* borrowed: who calls has it */
    tr_mem *m;
    const tr_ty *item;  /* NULL: of nothing */
    PyObject *kept;     /* the items, where they are no numbers, of a dict pairs; NULL: nothing to keep */
    const tr_ty *table; /* of a dict or a set: its type; `item` is NULL, and of a dict there are */
    tr_mem *values;
    char writes; /* what the call does to it: tr_meta.writes */
    bool typed;  /* one of treadle.typed's */
    /* The call uses it, and what it is used together with, from here on: as the only one, or among others. */
    bool alone;
    struct tr_together *used; /* NULL: that is said of another one */
} tr_heldlist;

/* The lists of one call. */
enum { TR_HELD_FEW = 4 };
typedef struct tr_held {
    tr_state *st;
    tr_frame *frame;
    uint32_t n, room;
    tr_heldlist *d, few[TR_HELD_FEW];
    uint32_t *index; /* once there are more than a few */
    PyObject *made;  /* dict of lists that the call made and Python has now, by their addresses; NULL */
} tr_held;

/* TR_K_LIST and what the items have in common, of a list of that very class or a typed.List; TR_K_OTHER:
 * nothing, or of a typed.List of other items TR_K_LISTOF. No exception. */
uint32_t tr_lists_key(tr_state *st, PyObject *o);
/* The type with that key. */
const tr_ty *tr_lists_type(tr_tytab *t, uint32_t key);
/* Whether a list with that key is taken for one of type `ty`: 0, or more where items are converted; -1:
 * no. */
int tr_lists_cost(tr_tytab *t, uint32_t key, const tr_ty *ty);

/* The number of an item's type; TR_LISTS_NONE: it is no number. */
enum { TR_LISTS_NONE = TR_TY__SCALARS };
unsigned tr_lists_kind(tr_state *st, PyObject *o);
/* Python's number of what lies there. New reference. */
PyObject *tr_lists_item(const tr_ty *item, const char *from);
/* The object is a number of a type that `item` takes, and that which the parts are, to the bit. */
bool tr_lists_is(tr_state *st, PyObject *o, const tr_ty *item, const tr_slot *x);
/* How a list's items lie; NULL: of nothing. NULL without memory. */
const tr_shape *tr_lists_shape(const tr_ty *item);
const tr_shape *tr_lists_shape_of_keys(const tr_ty *key); /* of a set or a dict */
/* A number of a type that `item` takes, as it lies in a list of such. False with an exception. */
bool tr_lists_store(tr_state *st, PyObject *o, const tr_ty *item, const char *fn, const char *arg, char *to);
/* The items of a list of Python's as numbers of a type, one after another: 1; 0: they are not what the key
 * says; -1 with an exception that names the argument. */
int tr_lists_fill(tr_state *st, PyObject *list, uint32_t key, const tr_ty *item, const char *fn,
                  const char *arg, char *to);
/* A list of Python's with what is in it. New reference. */
PyObject *tr_lists_python(const tr_ty *item, const tr_list *l);

void tr_held_init(tr_held *h, tr_state *st, tr_frame *frame);
/* A block with what is in `o`, as a list of type `ty`; the same block for the same list. 1; 0: its key is
 * another one; -1: an exception that names the argument. */
int tr_held_take(tr_held *h, PyObject *o, uint32_t key, const tr_ty *ty, char writes, const char *fn,
                 const char *arg, void **block);
/* All arguments have been taken: typed lists are this call's. False with an exception. */
bool tr_held_claim(tr_held *h, const char *fn);
/* Instead of taking it: can it be taken for that type, beside those before? False with an exception that
 * names the argument. */
bool tr_held_suits(tr_held *h, PyObject *o, const tr_ty *ty, const char *fn, const char *arg);
/* The list that the block was made for, or is of; borrowed, NULL: none. */
PyObject *tr_held_find(const tr_held *h, const tr_mem *m);
/* The same for a dict or a set; of a dict there are two blocks. */
int tr_held_take_table(tr_held *h, PyObject *o, const tr_ty *ty, char writes, const char *fn, const char *arg,
                       tr_slot *blocks);
/* After the call: what it changed is changed in Python. May come with an exception under way, which stays.
 * False with an exception. */
struct tr_boxer;
bool tr_held_reflect(tr_held *h, struct tr_boxer *b);
/* Blocks stay the frame's; typed lists are nobody's again. */
void tr_held_fini(tr_held *h);

#endif
