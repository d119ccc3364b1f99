/* State of one import of the extension module, and what the files of this folder share.
 *
 * There is no static PyObject * and no static mutable data here: everything hangs on the module. Objects
 * that the call path touches carry a pointer to the state, which the module keeps alive (each holds a
 * reference to its heap type, and the type to the module). Under the GIL unless a comment says otherwise, and
 * in a section of `gate` where there may be none (docs/design/threads.md has the list);
 * counters are atomic because Memory objects die on any thread. */
#ifndef TR_EXT_STATE_H
#define TR_EXT_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "ext/py.h"

#include "driver/driver.h"
#include "ext/freeze.h"
#include "libs/fft.h"
#include "rt/blocks.h"
#include "rt/gen.h"
#include "rt/rt.h"
#include "ty/ty.h"

enum {
    TR_NPTYPES = 16
}; /* NumPy's scalar classes that have a type of ours (long long counts apart from long) */

struct tr_pending;
struct tr_ntclass;

enum { TR_TOLD = 64 };

typedef struct tr_state {
    PyObject *gate;  /* an object for tr_py_section_begin; lives as long as the module */
    tr_tytab *types; /* the process's types; has its own lock */
    PyTypeObject *type_type, *sig_type, *fn_type, *mem_type, *ufunc_type, *devmem_type, *devarray_type;
    PyTypeObject *remote_type; /* arrays over memory that the host cannot touch: ext/device.h */
    PyTypeObject *lazy_type, *typed_list_type, *typed_dict_type, *typed_set_type;
    PyTypeObject *counter_class, *ordered_class, *default_class,
        *deque_class;         /* of collections; NULL: it is not there */
    struct tr_lazies *lazies; /* of lazy arrays: lazy.h */
    PyTypeObject *stream_type, *event_type, *launcher_type;
    PyObject *launch_on_stream; /* what is asked of launches on streams under checks; NULL: nothing */
    PyObject *launch_passes;    /* whether the exception of a watched launch is passed over */
    /* what the package does with arguments that are none of ours; before a launcher's first
     * launch. NULL: nothing */
    PyObject *launch_convert, *launch_first;
    PyObject *exchange_name;            /* of the attribute with a type's table for C: ext/exchange.h */
    _Atomic uint64_t exchange_seen[64]; /* spans of the host's that were looked at: ext/exchange.c */
    PyObject *launch_stage;             /* launches with arrays that are not on the device */
    struct tr_devjob *_Atomic over;     /* jobs that the device needs no more */
    _Atomic uint32_t calls;             /* calls of Python that lie on streams of a GPU */
    struct tr_devtext *_Atomic texts;   /* what launches on streams printed, the latest first */
    Py_ssize_t devarray_slot;           /* in an object of devarray_type: its ndarray */
    _Atomic(struct tr_dev *) dev;       /* the device: ext/device.h */
    PyObject **type_objs;               /* Type objects by tr_ty.id, made on demand */
    uint32_t ntype_objs;
    struct tr_ntclass *ntclasses; /* classes of named tuples: ntclass.h */
    uint32_t nntclasses;
    PyTypeObject *np_scalar[TR_NPTYPES];
    PyTypeObject *partial_type; /* functools.partial */
    PyTypeObject *np_ufunc, *np_memmap, *np_recarray;
    bool plain_subclasses;              /* arrays of any class but masked ones are taken as plain */
    PyObject *dtypes;                   /* of STRUCTs, by address: ext/record.c */
    vectorcallfunc np_call;             /* of NumPy's ufuncs */
    PyObject *bits_name, *capsule_name; /* of attributes of Generators and their bit generators */
    /* bit generators whose layouts were looked at; of the first, NumPy's functions: generator.h */
    _Atomic uint8_t generators[TR_GEN__KINDS];
    tr_host host;
    PyObject *told[TR_TOLD]; /* code objects of places that tracebacks told of: pyerr.c */
    _Atomic uint64_t left;   /* exceptions that loops of others left so far (left.c) */
    tr_freeze_host freeze;
    tr_fft_loops fft; /* NumPy's, of which the first is NULL: not looked for yet */
    tr_dump dump;     /* TREADLE_DUMP as it was at import */
    pthread_rwlock_t
        fork; /* held for reading while a compile runs without the GIL, for writing around fork() */
    pthread_mutex_t lock; /* with the gate, guards `pending`; never held while waiting for the GIL */
    pthread_cond_t done;
    struct tr_pending *pending;
    _Atomic uint64_t compiled, loaded, allocated, freed;
} tr_state;

tr_state *tr_ext_state(PyObject *module);
struct PyModuleDef *tr_ext_definition(void);
/* State of the module that defines the heap type of `self`. */
tr_state *tr_ext_state_of(PyObject *self);

#endif
