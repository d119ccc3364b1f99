/* The CUDA device's own parts: cuda_load.c (the driver), cuda.c (the device, its GPUs), cuda_code.c (code,
 * launches), cuda_mem.c (memory, copies), cuda_queue.c (streams, events, failures). All GPUs are one device:
 * each thread uses one of them; blocks, streams and events belong to one. */
#ifndef TR_DEV_CUDA_H
#define TR_DEV_CUDA_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dev/dev.h"

/* --- the driver --- */

/* A copy of rows of equal length, a pitch apart (CUDA_MEMCPY2D_v2). */
enum { TR_CUDA_UNIFIED = 4 }; /* of memory: an address says by itself whose it is */
typedef struct tr_cuda_rows {
    size_t from_x, from_y;
    unsigned from_type;
    const void *from_host;
    uint64_t from;
    void *from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    unsigned to_type;
    void *to_host;
    uint64_t to;
    void *to_array;
    size_t to_pitch;
    size_t width, height; /* bytes, rows */
} tr_cuda_rows;

/* Who may do what with a pool's memory (CUmemAccessDesc). */
typedef struct tr_cuda_access {
    int type, device, may;
} tr_cuda_access;

typedef struct tr_cuda_fns {
#define X(id, symbol, needed, params) int(*id) params;
#include "dev/cuda.def"
#undef X
} tr_cuda_fns;

enum {
    CUDA_HOST_SHARED = 1 | 2, /* CU_MEMHOSTALLOC_PORTABLE, _DEVICEMAP */
    CUDA_NO_TIMING = 2,       /* CU_EVENT_DISABLE_TIMING */
    CUDA_PARAMETERS = 4096    /* bytes of a kernel's; since driver 12.1 and on newer GPUs there may be more */
};

/* Statuses that mean something here. */
enum {
    TR_CUDA_NO_MEMORY = 2,
    TR_CUDA_STUB = 34,
    TR_CUDA_NO_DEVICE = 100,
    TR_CUDA_NO_PEER = 217,
    TR_CUDA_UNKNOWN = 400, /* CUDA_ERROR_INVALID_HANDLE */
    TR_CUDA_NOT_READY = 600,
    TR_CUDA_PEER_ALREADY = 704,
    TR_CUDA_NOT_PERMITTED = 800,
    TR_CUDA_MISMATCH = 803
};

/* Opens libcuda, or the library at `path`, for the life of the process. False with a message. */
bool tr_cuda_load(const char *path, tr_cuda_fns *fn, char *msg, size_t room);

/* --- the device --- */

typedef struct cuda_block {
    uintptr_t at;
    uint64_t bytes;
    tr_dev_place place;
    int gpu;    /* whose it is, or on which it was asked for */
    bool shown; /* to others, who may use it on the default stream */
} cuda_block;

/* What a stream was given that no job stands for, and how much of it is known to have ended: numbers. Counted
 * when the driver has it and before the caller knows, who holds the memory until then. */
typedef struct cuda_work {
    _Atomic uint64_t given, ended;
} cuda_work;

static inline void cuda_work_ended(cuda_work *w, uint64_t given) {
    uint64_t before = atomic_load(&w->ended);
    while (before < given && !atomic_compare_exchange_weak(&w->ended, &before, given)) {}
}

typedef struct cuda_stream {
    struct cuda_stream *next, *prev; /* of the device's */
    void *handle;
    int gpu;
    bool foreign; /* another library's */
    _Atomic bool
        dead;    /* that has ended it: the driver does not know it. Set with the lock, looked at without */
    bool orphan; /* nobody has it any more; it goes when it has nothing to do */
    tr_dev_job *head, *tail; /* not known to have ended */
    void *marker;            /* an event; NULL: none yet */
    uint64_t marked;         /* jobs up to this number lie before it; 0: it is not recorded */
    uint32_t since;          /* jobs behind it */
    cuda_work work;
} cuda_stream;

typedef struct cuda_event {
    void *handle;
    int gpu;
    bool timing, recorded;
} cuda_event;

/* What a GPU has loaded of a kernel. */
typedef struct cuda_loaded {
    void *module;
    _Atomic(void *) function; /* NULL: nothing yet */
    _Atomic unsigned shared;  /* bytes of dynamic shared memory that it may have */
} cuda_loaded;

/* A kernel. The GPU on which it was loaded has it; others load its text when it is launched there. */
struct tr_dev_code {
    struct tr_dev_code *next, *prev;
    cuda_loaded *on;         /* by GPU */
    const char *text, *name; /* PTX, the kernel's name; the owner's */
    tr_dev_error *record;    /* memory that host and device see; NULL: it raises nothing */
    uint32_t nparts, bytes;
    bool cooperative;
    uint8_t orphan; /* nobody has it any more: 1; and what it was launched for has ended: 2 */
    void *owner;
    tr_dev_part parts[];
};

enum { CUDA_FAILURES = 8, CUDA_RECORDS = 40 };
typedef struct cuda_records {
    struct cuda_records *next;
    tr_dev_error *at;
    uint64_t taken; /* a bit each */
} cuda_records;

/* One of them. */
typedef struct cuda_gpu {
    int device;     /* the driver's name for it */
    void *context;  /* NULL: it was not used yet */
    bool pools;     /* memory comes and goes in the order of streams */
    cuda_work work; /* on its default stream */
    /* streams that nobody waits for, and an event (cuda_mem.c); NULL: there are none, the
     * default stream is theirs */
    void *allocs, *frees, *place;
    _Atomic uint32_t peers; /* GPUs that may use its memory: a bit each */
} cuda_gpu;

typedef struct tr_cuda {
    tr_dev dev;
    tr_cuda_fns fn;
    cuda_gpu gpus[TR_DEV_GPUS];
    int ngpus, first;        /* the second: that is used where none was chosen */
    pthread_mutex_t loading; /* of code, which takes its time */
    pthread_mutex_t lock;    /* of all below but the atomic ones; never held while waiting */
    cuda_block *blocks;      /* by address */
    size_t nblocks, capblocks;
    cuda_block *later; /* dropped where nobody may wait (cuda_mem.c) */
    _Atomic size_t nlater;
    _Atomic uintptr_t lo, hi; /* where blocks have ever been */
    cuda_stream streams;      /* list head */
    tr_dev_code *codes;
    cuda_records *records;
    uint64_t number;                       /* of the latest job */
    tr_dev_failure failure[CUDA_FAILURES]; /* not told yet; more than these are of one cause */
    _Atomic uint32_t failures;
    _Atomic(const tr_dev_code *) latest; /* that was launched */
    _Atomic int lost;                    /* the status with which the context ended; 0: it lives */
    _Atomic bool stopping, forked;
    _Atomic bool prints; /* a kernel was loaded that does */
} tr_cuda;

/* The GPU that this thread uses. */
int cuda_here(void);
/* This GPU, which was used before, can be used by this thread now: 0, or a reason. */
int32_t cuda_enter_on(tr_cuda *c, int gpu);
static inline int32_t cuda_enter(tr_cuda *c) {
    return cuda_enter_on(c, cuda_here());
}
/* Other libraries of the process know the thread's GPU by the driver's current context: who
 * was on another one goes back. */
static inline void cuda_leave(tr_cuda *c, int gpu) {
    if (gpu != cuda_here())
        cuda_enter(c);
}
/* The context is there for what is to be given back to it. */
bool cuda_gives_back(tr_cuda *c, int gpu);
/* The GPU of a stream, or for the default one (NULL) that of this thread. */
static inline int cuda_gpu_of(const cuda_stream *s) {
    return s ? s->gpu : cuda_here();
}
/* What the driver calls a status. */
const char *cuda_name_of(const tr_cuda *c, int status);
/* The reason for a status that is not 0, which `what` gave; tr_dev_ops.explain says more of
 * it on this thread. */
int32_t cuda_refused(tr_cuda *c, const char *what, int status);
int cuda_refused_with(void); /* the latest of this thread */

/* cuda_queue.c: what of tr_dev_ops is about streams and events. */
void cuda_queue_open(tr_cuda *c);
#define X(result, name, params) result cuda_##name params;
#include "dev/queue.def"
#undef X
/* cuda_mem.c: of tr_dev_ops. */
int32_t cuda_alloc(tr_dev *d, tr_dev_place place, tr_dev_stream *s, uint64_t bytes, tr_dev_mem *out);
void cuda_free(tr_dev *d, const tr_dev_mem *m);
void cuda_show(tr_dev *d, const void *at);
bool cuda_find(tr_dev *d, const void *at, tr_dev_mem *out);
bool cuda_owns(const tr_dev *d, const void *at);
void cuda_memory(tr_dev *d, uint64_t *left, uint64_t *total);
int cuda_sees(tr_dev *d, const void *at);
int32_t cuda_pin(tr_dev *d, void *at, uint64_t bytes);
int32_t cuda_unpin(tr_dev *d, void *at);
/* cuda_mem.c: gives a copy to the driver; on the default stream (NULL) it is done then. A
 * status of the driver's. */
int cuda_copy(tr_cuda *c, const tr_dev_copy *given, int gpu, void *stream);
/* cuda_mem.c: what was dropped and could not go yet; `idle`: nothing is at work. */
void cuda_free_put_off(tr_cuda *c, bool idle);
/* cuda_mem.c: the GPU on which this memory lies; -1: on none. */
int cuda_lies_on(tr_cuda *c, const void *at);
/* cuda_code.c: of tr_dev_ops. */
tr_dev_code *cuda_load(tr_dev *d, const tr_dev_image *im, char *msg, size_t room);
void *cuda_assemble(tr_dev *d, const char *text, size_t *size);
void cuda_unload(tr_dev *d, tr_dev_code *code);
int32_t cuda_launch(tr_dev *d, tr_dev_stream *s, const tr_dev_launch *l);
int32_t cuda_takes(tr_dev *d, tr_dev_code *code, tr_dev_takes *out);
int32_t cuda_held(tr_dev *d, tr_dev_code *code, uint32_t threads, uint32_t shared, int *blocks);
int32_t cuda_suits(tr_dev *d, tr_dev_code *code, uint32_t shared, uint32_t limit, int *blocks, int *threads);
/* cuda_code.c: gives a launch to the driver. A status of the driver's. */
int cuda_launch_on(tr_cuda *c, const tr_dev_launch *l, int gpu, void *stream);
/* cuda_code.c: looks which code nobody has any more; gives that back, when all that was
 * submitted before it looked has ended. */
void cuda_see_orphans(tr_cuda *c);
void cuda_unload_orphans(tr_cuda *c);
/* cuda_queue.c: notes what kernels have raised; whether there is something that nobody was told. */
bool cuda_look(tr_cuda *c);
/* cuda.c: gives a job to the driver, on a stream of its own or (NULL) that GPU's default one. */
int32_t cuda_do(tr_cuda *c, int gpu, void *stream, tr_dev_job *j);

#endif
