/* DLPack's layouts, those of the standard (1.3), and what the two files about it share: dlpack.c, capsules;
 * exchange.c, the table for C that a type of arrays has. */
#ifndef TR_EXT_DLPACK_H
#define TR_EXT_DLPACK_H

#include "ext/device.h"

enum { DL_MAJOR = 1, DL_MINOR = 3, DL_READ_ONLY = 1 };

/* Kinds of devices: the host; a GPU; memory that the host sees, and a GPU may see, too. */
enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_ROCM_HOST = 11, DL_CUDA_MANAGED = 13 };

typedef struct dl_device {
    int32_t kind, id;
} dl_device;

typedef struct dl_tensor {
    void *data;
    dl_device device;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* strides in items; NULL before 1.2: those of order C */
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_plain {
    dl_tensor t;
    void *context;
    void (*deleter)(struct dl_plain *self);
} dl_plain;

typedef struct dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    dl_tensor t;
} dl_versioned;

/* The table. All give 0, or -1 with an exception, but `allocate`, which needs no GIL and
 * tells `error` why. */
typedef struct dl_exchange {
    uint32_t major, minor;
    const struct dl_exchange *older; /* NULL, or one of a version before */
    int (*allocate)(dl_tensor *like, dl_versioned **out, void *context,
                    void (*error)(void *context, const char *kind, const char *message));
    int (*give)(void *array, dl_versioned **out);
    int (*make)(dl_versioned *t, void **out); /* takes it over, unless it fails */
    int (*look)(void *array, dl_tensor *out); /* the array's, as long as it lives; NULL: there is none */
    int (*stream)(int32_t kind, int32_t id, void **out);
} dl_exchange;

/* --- dlpack.c --- */

/* Fills in all but shape and strides, which the caller has room for. False with
 * BufferError: DLPack cannot say it. */
bool tr_dlpack_describe(PyArrayObject *a, dl_device device, dl_tensor *out);
/* A tensor that refers to the array until the consumer says that it has done. NULL with an exception. */
dl_versioned *tr_dlpack_give(PyArrayObject *a, dl_device device);
/* A capsule that keeps a tensor. Its maker is told of its end where that is the capsule's destructor. */
PyObject *tr_dlpack_keep(dl_versioned *t);
void tr_dlpack_kept_over(PyObject *capsule);
/* (address, shape, strides in bytes or None, typestr, read-only, owner) */
PyObject *tr_dlpack_tuple(const dl_tensor *t, bool readonly, PyObject *owner);
/* The bytes that a tensor's items lie in, lo to before hi; none where there are no items. False with
 * BufferError: there is no such array. */
bool tr_dlpack_span(const dl_tensor *t, uint64_t *lo, uint64_t *hi);
/* Letter of NumPy's for the kind of the items; 0 with BufferError. */
char tr_dlpack_kind(const dl_tensor *t);
/* Whether the device can use memory there. */
bool tr_dlpack_sees(tr_dev *d, dl_device where);
/* Where the device's own memory is. */
dl_device tr_dlpack_device(const tr_dev *d);

#endif
