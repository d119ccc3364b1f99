/* Arrays of others by the table for C that their type has (DLPack). */
#ifndef TR_EXT_EXCHANGE_H
#define TR_EXT_EXCHANGE_H

#include "ext/device.h"

struct dl_exchange;

/* Of a launch. */
typedef struct tr_exchange_order {
    tr_dev_stream *stream; /* that it goes to */
    bool keep;             /* it goes on when the call has returned, so arrays are kept until it has ended */
    void *behind;          /* the stream behind which it comes by now; NULL: none yet */
} tr_exchange_order;

/* The table of an object's type; NULL: it has none that is known here, or is of ours. No exception. */
const struct dl_exchange *tr_exchange_of(const tr_state *st, PyObject *o);
/* An ndarray over its memory, as a new reference; *out NULL: it lies where the device does
 * not see it. False with an exception. */
bool tr_exchange_take(tr_state *st, tr_dev *d, const struct dl_exchange *x, PyObject *o,
                      tr_exchange_order *order, PyObject **out);
bool tr_exchange_add(PyObject *module);

#endif
