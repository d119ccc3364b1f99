/* From slots to Python values. */
#ifndef TR_EXT_BOX_H
#define TR_EXT_BOX_H

#include "ext/value.h"
#include "ty/obj.h"

/* What boxing a result needs to know of the call. `keep`: list of the arrays the code was made from, to find
 * the owner of a frozen array's data. */
typedef struct tr_boxer {
    tr_state *st;
    tr_frame *frame;
    PyObject *keep;  /* list or NULL */
    PyObject *hands; /* list: functions of the result (hands.h); or NULL */
    bool points;     /* arrays of numbers without axes are NumPy's scalars, as NumPy's functions give them */
    PyObject *lists; /* of a tuple with lists: those that are made, by their addresses; else NULL */
    const struct tr_held *held; /* lists that were passed; NULL: none */
    bool raised;                /* the call ended midway, so that counts of blocks say nothing */
} tr_boxer;

bool tr_box_add(PyObject *module); /* the class Memory */
/* Values of this type can be returned to Python. */
bool tr_box_can(const tr_ty *ty);
/* New reference; advances *at over the value's parts. */
PyObject *tr_box(const tr_boxer *b, const tr_ty *ty, const tr_slot **at);

/* The Python string of a string's three parts. */
PyObject *tr_box_string(const tr_slot *at);
PyObject *tr_box_bytes(const tr_slot *at); /* the same */

#endif
