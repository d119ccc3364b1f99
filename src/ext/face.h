/* Classes of dicts and sets of Python's: dict, set, frozenset, and those of collections (lib/kind_face.c). */
#ifndef TR_EXT_FACE_H
#define TR_EXT_FACE_H

#include "ext/state.h"
#include "ty/ty.h"

bool tr_face_init(tr_state *st);
bool tr_face_is_table(const tr_state *st,
                      PyObject *o); /* of such a class, and of no class derived from one */
bool tr_face_is_dict(PyObject *o);
bool tr_face_is_deque(const tr_state *st, PyObject *o);
int64_t tr_face_maxlen(PyObject *o); /* of a deque; -1: any number, or with an exception */
/* The type of an object whose keys and values are of type `plain`; NULL: a defaultdict whose values are made
 * by what has no type. */
const tr_ty *tr_face_type(tr_state *st, PyObject *o, const tr_ty *plain);
const tr_ty *tr_face_plain(const tr_ty *ty); /* what is inside; of a dict or a set that itself */
/* An empty object of the type's class; of a frozenset that is filled by PySet_Add before anybody has it. */
PyObject *tr_face_new(tr_state *st, const tr_ty *ty);
int tr_face_set(PyObject *o, PyObject *k, PyObject *v);
PyObject *tr_face_items(PyObject *o);                                   /* a list of its keys, or pairs */
PyObject *tr_face_deque(tr_state *st, PyObject *items, int64_t maxlen); /* -1: any number */
bool tr_face_clear(PyObject *o);                                        /* a dict or a set */

#endif
