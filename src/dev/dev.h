/* Devices: memory, copies, streams, events and launches behind one table of functions.
 *
 * What is put on a stream is a *job*: a launch, a copy, a filling, a call of the host, work of a library. On
 * the default stream (NULL) a job is done when tr_dev_ops.submit returns; on others it is the device's until
 * it calls `release`, on any thread, and is done in the order of submission. A job that fails ends its
 * stream: what follows there is released without having been done, until somebody takes the failure (take).
 *
 * A device of its own may go on with a launch on the default stream when submit has returned; `reached`
 * waits for it.
 *
 * The default stream is CUDA's legacy one. Whoever uses it brackets that with begin and end: between them
 * the jobs that were submitted before have ended, and none of another stream is at work. A device that
 * orders streams by itself has nothing to do there.
 *
 * Results are codes as those of compiled code (rt/layout.h): 0, the number of a raise site, or a reason of
 * the runtime's own. Nothing here waits longer than it is told, so that a host can look for signals in
 * between. All functions may be called by any thread. */
#ifndef TR_DEV_DEV_H
#define TR_DEV_DEV_H

#include <stdbool.h>
#include <stdint.h>

#include "rt/layout.h"

/* Limits and properties, as CUDA names and numbers them (CUdevice_attribute; 0: it has no
 * number): X(id, number). */
#define TR_DEV_ATTRS(X)                          \
    X(MAX_THREADS_PER_BLOCK, 1)                  \
    X(MAX_BLOCK_DIM_X, 2)                        \
    X(MAX_BLOCK_DIM_Y, 3)                        \
    X(MAX_BLOCK_DIM_Z, 4)                        \
    X(MAX_GRID_DIM_X, 5)                         \
    X(MAX_GRID_DIM_Y, 6)                         \
    X(MAX_GRID_DIM_Z, 7)                         \
    X(MAX_SHARED_MEMORY_PER_BLOCK, 8)            \
    X(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)     \
    X(MAX_PARAMETER_BYTES, 0)                    \
    X(TOTAL_CONSTANT_MEMORY, 9)                  \
    X(WARP_SIZE, 10)                             \
    X(MULTIPROCESSOR_COUNT, 16)                  \
    X(COMPUTE_CAPABILITY_MAJOR, 75)              \
    X(COMPUTE_CAPABILITY_MINOR, 76)              \
    X(ASYNC_ENGINE_COUNT, 40)                    \
    X(CONCURRENT_KERNELS, 31)                    \
    X(CAN_MAP_HOST_MEMORY, 19)                   \
    X(UNIFIED_ADDRESSING, 41)                    \
    X(MANAGED_MEMORY, 83)                        \
    X(COOPERATIVE_LAUNCH, 95)                    \
    X(ECC_ENABLED, 32)                           \
    X(INTEGRATED, 18)                            \
    X(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 81)  \
    X(RESERVED_SHARED_MEMORY_PER_BLOCK, 111)     \
    X(MAX_REGISTERS_PER_BLOCK, 12)               \
    X(MAX_REGISTERS_PER_MULTIPROCESSOR, 82)      \
    X(MAX_THREADS_PER_MULTIPROCESSOR, 39)        \
    X(MAX_BLOCKS_PER_MULTIPROCESSOR, 106)        \
    X(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 87) \
    X(L2_CACHE_SIZE, 38)                         \
    X(KERNEL_EXEC_TIMEOUT, 17)                   \
    X(COMPUTE_MODE, 20)                          \
    X(TCC_DRIVER, 35)                            \
    X(PCI_BUS_ID, 33)                            \
    X(PCI_DEVICE_ID, 34)                         \
    X(PCI_DOMAIN_ID, 50)
typedef enum tr_dev_attr {
#define X(id, number) TR_DEV_##id,
    TR_DEV_ATTRS(X)
#undef X
        TR_DEV_ATTR__COUNT
} tr_dev_attr;

enum { TR_DEV_HERE = -1, TR_DEV_GPUS = 32 };
typedef struct tr_dev tr_dev;
typedef struct tr_dev_code tr_dev_code;     /* a kernel in the device's own form */
typedef struct tr_dev_stream tr_dev_stream; /* NULL: the default stream */
typedef struct tr_dev_event tr_dev_event;

/* Where a block lies: on the device; on the host, where the device sees it, too; or where it is used. */
typedef enum tr_dev_place { TR_DEV_LOCAL, TR_DEV_HOST, TR_DEV_MANAGED } tr_dev_place;

/* A block of the device's memory. */
typedef struct tr_dev_mem {
    void *at;
    uint64_t bytes; /* as asked for */
    void *of;       /* the device's own */
    tr_dev_place place;
    int number;                    /* of the GPU on which it lies; -1: all see it */
    const _Atomic uint32_t *users; /* others that may use it: a bit each; NULL: all may */
} tr_dev_mem;

/* --- code --- */

/* A parameter of a kernel: so many low bytes of a launch's slot, and where they lie among all of them. */
typedef struct tr_dev_part {
    uint16_t slot, size;
    uint32_t offset;
} tr_dev_part;

/* What a device makes a kernel of. */
typedef struct tr_dev_image {
    const char *text;   /* PTX, or what ptxas makes of it; text ends with a 0 */
    const char *source; /* PTX */
    const char *name;   /* of the kernel in it; as `source` it lives as long as the code */
    const tr_dev_part *parts;
    uint32_t nparts,
        bytes;   /* parameters, and their bytes: the first eight are the address of a launch's tr_dev_error */
    bool raises; /* something may be written there */
    bool cooperative; /* its blocks wait for each other, there too: one launch at a time */
    void *owner;      /* is told with a failure */
} tr_dev_image;

/* What a kernel takes: of each thread, of a block; bytes but for registers and threads. */
typedef struct tr_dev_takes {
    int registers, local, shared, constant, threads; /* the last: of a block, at most */
} tr_dev_takes;

/* --- jobs --- */

/* A launch. The first slots are sizes, x first: of the grid, of a block; a device that
 * takes them otherwise leaves them out. */
typedef struct tr_dev_launch {
    const void *code; /* emu: tr_entry_fn; else tr_dev_code */
    tr_slot *slots;
    uint32_t nslots, nsizes;
    tr_frame *frame; /* who submits provides it, initialised; it tells of an exception */
} tr_dev_launch;

/* host.c: [lo, hi) is mapped; it may be read, and written where that is asked. */
bool tr_dev_host_maps(uintptr_t lo, uintptr_t hi);
bool tr_dev_host_has(uintptr_t lo, uintptr_t hi, bool written);

/* Items of one array to the places of another, either of them the host's or the device's. */
enum { TR_DEV_NDIM = 32 };
typedef struct tr_dev_copy {
    void *to;
    const void *from;
    uint64_t item; /* bytes */
    uint32_t ndim;
    int64_t shape[TR_DEV_NDIM], to_stride[TR_DEV_NDIM], from_stride[TR_DEV_NDIM]; /* bytes */
} tr_dev_copy;

typedef struct tr_dev_fill {
    void *to;
    uint64_t bytes;
    uint8_t value;
} tr_dev_fill;

/* A call of the host, on a thread of the device's; it may not use the device. It comes also where the
 * stream has failed: `code` says how. */
typedef struct tr_dev_call {
    void (*fn)(void *arg, int32_t code);
    void *arg;
} tr_dev_call;

/* Where work is done: a GPU and its stream by the driver's names (0 and NULL where there are none), and the
 * host that parallel regions ask. */
typedef struct tr_dev_at {
    tr_dev *device;
    const tr_host *host;
    void *stream;
    int gpu;
} tr_dev_at;

/* Work of a library's. On the emulated device `fn` does it, on the stream's thread and with the pool; on a
 * GPU it gives it to the library, on the thread that submits and with the GPU's context entered. A code that
 * is not 0 ends the stream as that of a launch, or is what submit gives. */
typedef struct tr_dev_work {
    int32_t (*fn)(void *arg, const tr_dev_at *at);
    void *arg;
    int gpu; /* which one's default stream; TR_DEV_HERE: that of the thread */
} tr_dev_work;

typedef enum tr_dev_op {
    TR_DEV_LAUNCH,
    TR_DEV_COPY,
    TR_DEV_FILL,
    TR_DEV_CALL,
    TR_DEV_WORK,
    TR_DEV_OWN
} tr_dev_op;

typedef struct tr_dev_job {
    struct tr_dev_job *next;
    tr_dev_op op;
    int32_t code; /* how it ended */
    uint64_t number;
    unsigned threads; /* of the pool, at most; 0: as many as there are */
    union {
        tr_dev_launch launch;
        tr_dev_copy copy;
        tr_dev_fill fill;
        tr_dev_call call;
        tr_dev_work work;
        struct {
            tr_dev_event *event;
            uint64_t turn;
            bool wait;
        } own; /* the device's own: an event is recorded or waited for */
    } u;
    _Atomic uint32_t refs;                /* the device's, and those of failures that were taken */
    void (*release)(struct tr_dev_job *); /* nobody needs it any more; may not call the device */
} tr_dev_job;
void tr_dev_unref(tr_dev_job *j);
/* Calls the host for a device. Meanwhile tr_dev_is_called says so on this thread, which
 * must not wait for the device. */
void tr_dev_call_host(const tr_dev_call *c, int32_t code);
bool tr_dev_is_called(void);

/* Why a stream or an event failed. */
typedef struct tr_dev_failure {
    int32_t code;       /* 0: it did not */
    tr_dev_job *job;    /* which one; a reference. NULL: none, or not known */
    void *owner;        /* of the code that failed, where the job is not known; NULL: not known either */
    tr_dev_error error; /* with it: what was raised */
} tr_dev_failure;

/* --- a device --- */

typedef struct tr_dev_about {
    char name[96];
    uint8_t uuid[16];
    int driver; /* its version: 1000 * major + 10 * minor; 0: it has none */
} tr_dev_about;

typedef struct tr_dev_ops {
    const char *name;
    /* Of one of a device's GPUs by its number, or of the one that this thread uses (TR_DEV_HERE). */
    void (*describe)(tr_dev *d, int number, tr_dev_about *out);
    int64_t (*attribute)(tr_dev *d, int number, tr_dev_attr a);

    /* A device may be several GPUs. Each thread uses one of them, at first the first: launches and copies
     * that name no stream are done there, and what is made (blocks, streams, events) belongs to it. NULL:
     * there is one. At most TR_DEV_GPUS. `select` fails with a message. `befriend`: may `user` use the memory
     * of `of`? From now on it does, where only that was asked for (`ask`) not. */
    int (*count)(tr_dev *d);
    int (*number)(tr_dev *d, const tr_dev_stream *s); /* of the GPU of a stream; of the thread's */
    bool (*select)(tr_dev *d, int number, char *msg, size_t room);
    int32_t (*befriend)(tr_dev *d, int user, int of, bool ask, bool *can);

    /* Memory. `alloc` fails with MEMORY; `find` gives the live block that holds an address, false:
     * none does. `owns` is quick: an address is one of the device's, in a live block or not. A block
     * of which the stream that uses it first is known (s) comes in its order, and may be used by
     * others when that has come so far. */
    int32_t (*alloc)(tr_dev *d, tr_dev_place place, tr_dev_stream *s, uint64_t bytes, tr_dev_mem *out);
    void (*free)(tr_dev *d, const tr_dev_mem *m);
    bool (*find)(tr_dev *d, const void *at, tr_dev_mem *out);
    bool (*owns)(const tr_dev *d, const void *at);
    void (*memory)(tr_dev *d, uint64_t *left, uint64_t *total);
    /* Memory of others. NULL where the device has the host's. `show`: the block at this address is used by
     * others, too, on the default stream. `sees`: whose memory that it can use an address is: 1 the host's, 2
     * a device's, 0: it cannot. `pin`: from now on it sees the host's memory there, until `unpin`. */
    void (*show)(tr_dev *d, const void *at);
    int (*sees)(tr_dev *d, const void *at);
    int32_t (*pin)(tr_dev *d, void *at, uint64_t bytes);
    int32_t (*unpin)(tr_dev *d, void *at);

    /* Code. NULL where that is the host's own. `load` fails with a message. What was
     * launched has ended before `unload` returns. `launch` is a launch that needs no job:
     * nothing of `l` is needed when it returns. */
    tr_dev_code *(*load)(tr_dev *d, const tr_dev_image *image, char *msg, size_t room);
    /* What the driver makes of PTX, which loads sooner; malloc'ed. NULL: it does not, and
     * `load` may say why. */
    void *(*assemble)(tr_dev *d, const char *text, size_t *size);
    void (*unload)(tr_dev *d, tr_dev_code *code);
    int32_t (*launch)(tr_dev *d, tr_dev_stream *s, const tr_dev_launch *l);
    int32_t (*takes)(tr_dev *d, tr_dev_code *code, tr_dev_takes *out);
    /* Blocks of so many threads and bytes of dynamic shared memory that a multiprocessor holds at once. */
    int32_t (*held)(tr_dev *d, tr_dev_code *code, uint32_t threads, uint32_t shared, int *blocks);
    /* The threads of a block, `limit` at most (0: as many as it may have), with which a multiprocessor is
     * fullest, and how many such blocks the device holds at once. */
    int32_t (*suits)(tr_dev *d, tr_dev_code *code, uint32_t shared, uint32_t limit, int *blocks,
                     int *threads);

#define X(result, name, params) result(*name) params;
#include "dev/queue.def"
#undef X

    /* What the latest TR_CODE_DEVICE of this thread was, and its number; NULL: the device has none. */
    int (*explain)(tr_dev *d, char *msg, size_t room);
} tr_dev_ops;

struct tr_dev {
    const tr_dev_ops *ops;
    bool several; /* GPUs */
};

/* What a device asks of who opens it; lives as long as the process. */
typedef struct tr_dev_host {
    const tr_host *host; /* for launches of the device's own threads: blocks and compile are taken over */
    void (*write)(void *self, const char *text,
                  size_t n); /* what launches print there; any thread, without the GIL */
    void *self;
    const char *driver; /* where the device's driver is; NULL: where it usually is */
} tr_dev_host;

/* The device of that name, opened once. NULL with a message: there is none, or it does not work here. */
typedef tr_dev *tr_dev_open_fn(const tr_dev_host *h, char *msg, size_t room);
tr_dev *tr_dev_open(const char *name, const tr_dev_host *h, char *msg, size_t room);
extern const char *const tr_dev_attr_name[TR_DEV_ATTR__COUNT];

/* --- copies --- */

/* The same with as few axes as do, the innermost last; axes of one item are left out. */
void tr_dev_copy_plan(tr_dev_copy *c);
uint64_t tr_dev_copy_bytes(const tr_dev_copy *c);
/* Of memory that this thread can read and write; arrays that meet are read before they are
 * written. 0 or MEMORY. */
int32_t tr_dev_copy_here(const tr_dev_copy *c);
/* May the source and the target share a byte, by these? */
bool tr_dev_copy_meets(const tr_dev_copy *c);
/* All places lie within [lo, hi), for the source or the target. */
void tr_dev_copy_extent(const tr_dev_copy *c, bool target, uintptr_t *lo, uintptr_t *hi);

#endif
