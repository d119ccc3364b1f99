/* A CUDA driver that is none: the functions of libcuda that Treadle calls, on a "GPU" whose memory is the
 * host's and whose code is PTX that is run (ptx_run.c). Work is queued for its streams and done in their
 * order, by whoever waits for it, late on purpose, so that what does not wait is seen.
 * Long, as all of it is one state behind one lock, and each function of the driver's is a few lines on it. */
#include "cuda.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "dev/cuda.h"
#include "ptx.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    SPACE = 1 << 30,
    GRAIN = 1 << PTX_GRAIN,
    BLOCKS = 4096,
    HANDLES = 1 << 14,
    HOSTS = 4096,
    NAMES = 16,
    QUEUE = 4096,
    GPUS = 4,  /* each has as much of the space */
    DEVICE = 7 /* the first one's name */
};
enum { INVALID = 1, NOT_FOUND = 500, INVALID_HANDLE = 400, INVALID_PTX = 218 };

typedef enum fake_op { LAUNCH, COPY, ROWS, FILL, CALL, LIBRARY, RECORD, WAIT, FREE } fake_op;
typedef struct work {
    fake_op op;
    bool begun; /* a call, which goes on on a thread of its own */
    uint64_t number;
    void *stream;
    fake_launch launch;
    const ptx_fn *code;
    unsigned char *params; /* a launch's own copy */
    uint64_t to, from;
    size_t bytes;
    tr_cuda_rows rows;
    unsigned char value;
    void (*fn)(void *);
    void *arg, *staged;
    struct object *event;
    uint64_t waits_for; /* the number of a recording */
} work;

typedef enum kind { NOTHING, STREAM, EVENT, MODULE, FUNCTION, LINK } kind;
typedef struct object {
    kind kind;
    int gpu;
    /* an event has happened; a stream does not wait for the default one, nor that for it; is that */
    bool done, apart, legacy;
    uint64_t recorded; /* an event's latest recording: the number of that work */
    char name[256];
    double at;
    ptx_module *code;      /* a module's */
    const ptx_fn *entry;   /* a function's */
    struct object *module; /* a function's */
    char *linked;          /* a link's */
} object;

static struct {
    pthread_mutex_t lock;
    char *device, *host; /* the same memory: where the device has it, and where we see it */
    struct {
        uint64_t at, bytes;
        bool marked;
    } block[BLOCKS];
    uint8_t live[SPACE / GRAIN]; /* where code that is run may look: blocks are marked before it is */
    unsigned nblocks, nmarked;
    uint64_t used;
    object objects[HANDLES];
    object legacy[GPUS];  /* the default streams, and what stands for contexts */
    int ngpus, cc[GPUS];  /* as TREADLE_FAKE_GPUS has them, "90,75"; by default one of 9.0 */
    unsigned peers[GPUS]; /* whose memory a GPU may use: a bit each */
    work *queue;
    unsigned nwork, ncalls;
    uint64_t number;   /* of the latest work */
    pthread_cond_t go; /* a call has ended */
    int hold;
    struct {
        char symbol[64];
        unsigned left;
        int status;
    } fail;
    int sticky;
    unsigned calls[128];
    struct {
        char name[64];
        fake_kernel *fn;
        void *self;
    } kernels[NAMES];
    unsigned nkernels, nmanaged;
    uint64_t steps;
    struct {
        void *at;
        size_t bytes;
    } hosts[HOSTS]; /* memory of the host that the device sees */
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .go = PTHREAD_COND_INITIALIZER};
static _Thread_local int current; /* GPU */
static _Thread_local bool called; /* this thread is the driver's, which may not come back to it */

static const char *const symbols[] = {
#define X(id, symbol, needed, params) symbol,
#include "dev/cuda.def"
#undef X
};

static unsigned index_of(const char *symbol) {
    unsigned k = 0;
    while (strcmp(symbols[k], symbol) != 0)
        k++;
    return k;
}

/* Every function begins here: it is counted, and may have to fail. */
static int enter(unsigned row) {
    enum { NOT_PERMITTED = 800 };
    fake.calls[row]++;
    if (called)
        return NOT_PERMITTED;
    bool this_one = fake.fail.left && (!*fake.fail.symbol || !strcmp(fake.fail.symbol, symbols[row]));
    if (this_one && --fake.fail.left == 0) {
        if (fake.fail.status >= 700 && fake.fail.status < 720 && fake.fail.status != 701)
            fake.sticky = fake.fail.status;
        return fake.fail.status;
    }
    return fake.sticky;
}
#define ENTER(symbol)                                        \
    static unsigned row_; /* its row, and one; found once */ \
    pthread_mutex_lock(&fake.lock);                          \
    row_ = row_ ? row_ : index_of(symbol) + 1;               \
    int status = enter(row_ - 1);                            \
    if (status) {                                            \
        pthread_mutex_unlock(&fake.lock);                    \
        return status;                                       \
    }
#define LEAVE(result)                     \
    do {                                  \
        int result_ = (result);           \
        pthread_mutex_unlock(&fake.lock); \
        return result_;                   \
    } while (0)

static bool is_local(uint64_t at) {
    const char *p = (const char *)(uintptr_t)at;
    return fake.device && p >= fake.device && p < fake.device + SPACE;
}

/* Whose memory it is. */
static int owner(uint64_t at) {
    return (int)((at - (uint64_t)(uintptr_t)fake.device) / (SPACE / GPUS));
}

static void *see(uint64_t at) {
    char *p = (char *)(uintptr_t)at;
    return is_local(at) ? fake.host + (p - fake.device) : p;
}

static void map(void) {
    if (fake.device)
        return;
    int fd = memfd_create("fake", 0);
    if (fd < 0 || ftruncate(fd, SPACE))
        abort();
    fake.device = mmap(NULL, SPACE, PROT_NONE, MAP_SHARED, fd, 0);
    fake.host = mmap(NULL, SPACE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    fake.queue = calloc(QUEUE, sizeof *fake.queue);
    close(fd);
    const char *all = getenv("TREADLE_FAKE_GPUS");
    for (all = all && *all ? all : "90"; *all && fake.ngpus < GPUS; all += *all == ',') {
        fake.legacy[fake.ngpus] = (object){.kind = STREAM, .legacy = true, .gpu = fake.ngpus};
        fake.cc[fake.ngpus++] = (int)strtol(all, (char **)&all, 10);
    }
}

static bool is_device(int device) {
    return device >= DEVICE && device < DEVICE + fake.ngpus;
}

static object *make(kind k) {
    for (unsigned i = 0; i < HANDLES; i++)
        if (fake.objects[i].kind == NOTHING) {
            fake.objects[i] = (object){.kind = k, .done = k == EVENT, .gpu = current};
            return &fake.objects[i];
        }
    abort();
}

static bool is(const void *o, kind k) {
    return o && ((const object *)o)->kind == k;
}

static bool is_stream(const void *s) {
    return is(s, STREAM);
}

/* The stream that a handle means: 1 is the default one, 2 that of the thread. */
static void *meant(void *stream) {
    static _Thread_local object *own[GPUS];
    if (stream == (void *)2 && !own[current])
        own[current] = make(STREAM);
    return !stream || stream == (void *)1 ? &fake.legacy[current]
           : stream == (void *)2          ? own[current]
                                          : stream;
}

/* Code that is run may touch the block, or no longer. */
static void mark(unsigned k, bool live) {
    memset(fake.live + (fake.block[k].at - (uint64_t)(uintptr_t)fake.device) / GRAIN, live,
           fake.block[k].bytes / GRAIN);
    fake.block[k].marked = live;
    fake.nmarked += live ? 1u : -1u;
}

static void mark_all(void) {
    for (unsigned k = 0; fake.nmarked < fake.nblocks; k++)
        if (!fake.block[k].marked)
            mark(k, true);
}

/* The block that holds an address; as many as there are: none does. */
static unsigned block_of(uint64_t at) {
    unsigned k = 0;
    while (k < fake.nblocks && at - fake.block[k].at >= fake.block[k].bytes)
        k++;
    return k;
}

static bool is_live(uint64_t at) {
    return block_of(at) < fake.nblocks;
}

static bool is_block(uint64_t at) {
    unsigned k = block_of(at);
    return k < fake.nblocks && fake.block[k].at == at;
}

static int give_block(uint64_t at) {
    unsigned k = block_of(at);
    if (k == fake.nblocks || fake.block[k].at != at)
        return INVALID;
    fake.used -= fake.block[k].bytes;
    if (fake.block[k].marked) /* many never are: what libraries work in */
        mark(k, false);
    fake.block[k] = fake.block[--fake.nblocks];
    return 0;
}

/* --- work --- */

static void *seen(void *self, uint64_t at, size_t bytes) {
    const object *stream = self;
    bool near = is_local(at) && is_local(at + bytes - 1) && fake.peers[stream->gpu] >> owner(at) & 1;
    if (near && is_live(at))
        return see(at);
    for (unsigned k = 0; k < HOSTS; k++) {
        char *host = fake.hosts[k].at;
        uint64_t in = at - (uint64_t)(uintptr_t)host;
        if (host && in < fake.hosts[k].bytes && in + bytes <= fake.hosts[k].bytes)
            return host + in;
    }
    return NULL;
}

/* What a failed launch leaves is the end of all else. */
static void run_ptx(const work *w) {
    uint64_t steps = 0, first = (uint64_t)((object *)w->stream)->gpu * (SPACE / GPUS);
    ptx_launch l = {.shared = w->launch.shared,
                    .params = w->params,
                    .bytes = w->launch.bytes,
                    .memory = {.at = (uint64_t)(uintptr_t)fake.device + first,
                               .bytes = SPACE / GPUS,
                               .host = fake.host + first,
                               .live = fake.live + first / GRAIN,
                               .other = seen,
                               .self = w->stream}};
    memcpy(l.grid, w->launch.grid, sizeof l.grid);
    memcpy(l.block, w->launch.block, sizeof l.block);
    mark_all();
    if (!fake.sticky)
        fake.sticky = ptx_run(w->code, &l, &steps);
    fake.steps += steps;
}

static void run_kernel(const work *w) {
    for (unsigned k = 0; k < fake.nkernels; k++)
        if (!strcmp(fake.kernels[k].name, w->launch.kernel)) {
            fake_launch l = w->launch;
            l.params = w->params;
            fake.kernels[k].fn(&l, fake.kernels[k].self);
            return;
        }
    if (w->code)
        run_ptx(w);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void do_work(const work *w) {
    switch (w->op) {
    case LAUNCH:
        run_kernel(w);
        free(w->params);
        break;
    case COPY:
        memmove(see(w->to), w->staged ? w->staged : see(w->from), w->bytes);
        free(w->staged);
        break;
    case ROWS:
        for (size_t i = 0; i < w->rows.height; i++)
            memmove(see(w->rows.to + i * w->rows.to_pitch), see(w->rows.from + i * w->rows.from_pitch),
                    w->rows.width);
        break;
    case FILL: memset(see(w->to), w->value, w->bytes); break;
    case LIBRARY: w->fn(w->arg); break;
    case RECORD:
        w->event->done = w->event->recorded == w->number;
        w->event->at = now();
        break;
    case FREE: give_block(w->to); break;
    case CALL:
    case WAIT: break;
    }
}

static void drop(unsigned k) {
    memmove(fake.queue + k, fake.queue + k + 1, (fake.nwork - k - 1) * sizeof *fake.queue);
    fake.nwork--;
}

static bool step(void);
static void *call(void *arg) {
    work *w = arg;
    unsigned k = 0;
    called = true;
    w->fn(w->arg);
    called = false;
    pthread_mutex_lock(&fake.lock);
    while (fake.queue[k].number != w->number)
        k++;
    drop(k);
    fake.ncalls--;
    while (!fake.hold && step()) {}
    pthread_cond_broadcast(&fake.go);
    pthread_mutex_unlock(&fake.lock);
    free(w);
    return NULL;
}

/* What lies behind it on its stream waits until it has ended. */
static void begin_call(work *w) {
    pthread_t t;
    work *own = malloc(sizeof *own);
    w->begun = true;
    fake.ncalls++;
    *own = *w;
    if (pthread_create(&t, NULL, call, own) || pthread_detach(t))
        abort();
}

/* A wait is for the recording that was the latest when it was asked for. */
static bool may_go(const work *w) {
    for (unsigned k = 0; w->op == WAIT && fake.queue[k].number < w->number; k++)
        if (fake.queue[k].number == w->waits_for)
            return false;
    return true;
}

static bool are_ordered(const object *a, const object *b) {
    return a == b || (a->gpu == b->gpu && ((a->legacy && !b->apart) || (b->legacy && !a->apart)));
}

/* Does the first thing that may go; false: there is none. */
static bool step(void) {
    for (unsigned k = 0; k < fake.nwork; k++) {
        bool first = !fake.queue[k].begun && may_go(&fake.queue[k]);
        for (unsigned j = 0; j < k;
             j++) /* the default stream comes after all before it, and before all behind */
            first = first && !are_ordered(fake.queue[j].stream, fake.queue[k].stream);
        if (!first)
            continue;
        work w = fake.queue[k];
        if (w.op == CALL) {
            begin_call(&fake.queue[k]);
            return true;
        }
        drop(k);
        do_work(&w);
        return true;
    }
    return false;
}

/* The default stream has to do what others have that are not apart: it comes after them. So says a GPU. */
static bool waits(void *stream) {
    const object *s = stream;
    for (unsigned k = 0; k < fake.nwork; k++)
        if (fake.queue[k].stream == stream || (s->legacy && are_ordered(fake.queue[k].stream, s)))
            return true;
    return false;
}

static int put(const work *w) {
    if (fake.nwork == QUEUE)
        abort();
    fake.queue[fake.nwork] = *w;
    fake.queue[fake.nwork++].number = ++fake.number;
    if (!fake.hold)
        while (step()) {}
    return fake.sticky;
}

/* All that can be done is done, of a stream or (`all`) of each. */
static int await(void *stream, bool all) {
    while (all ? fake.nwork != 0 : waits(stream))
        if (!step()) {
            if (!fake.ncalls)
                break;
            pthread_cond_wait(&fake.go, &fake.lock);
        }
    return fake.sticky;
}

/* What kernels have printed is shown when somebody waits, and not when he only asks. */
static void show_printed(void) {
    static char *text;
    static size_t n;
    if (ptx_out) {
        fclose(ptx_out);
        fwrite(text, 1, n, stdout);
        free(text);
    }
    ptx_out = open_memstream(&text, &n);
}

/* --- the driver --- */

EXPORT int cuInit(unsigned flags) {
    ENTER("cuInit");
    (void)flags;
    map();
    show_printed();
    LEAVE(0);
}

EXPORT int cuDriverGetVersion(int *version) {
    ENTER("cuDriverGetVersion");
    *version = 12040;
    LEAVE(0);
}

EXPORT int cuGetErrorName(int which, const char **name) {
    static const struct {
        int status;
        const char *name;
    } all[] = {{1, "CUDA_ERROR_INVALID_VALUE"},
               {2, "CUDA_ERROR_OUT_OF_MEMORY"},
               {100, "CUDA_ERROR_NO_DEVICE"},
               {218, "CUDA_ERROR_INVALID_PTX"},
               {500, "CUDA_ERROR_NOT_FOUND"},
               {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
               {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
               {702, "CUDA_ERROR_LAUNCH_TIMEOUT"},
               {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION"},
               {716, "CUDA_ERROR_MISALIGNED_ADDRESS"},
               {719, "CUDA_ERROR_LAUNCH_FAILED"},
               {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"}};
    for (unsigned k = 0; k < sizeof all / sizeof *all; k++)
        if (all[k].status == which) {
            *name = all[k].name;
            return 0;
        }
    return INVALID;
}

EXPORT int cuDeviceGetCount(int *n) {
    ENTER("cuDeviceGetCount");
    *n = fake.ngpus;
    LEAVE(0);
}

EXPORT int cuDeviceGet(int *device, int number) {
    ENTER("cuDeviceGet");
    *device = DEVICE + number;
    LEAVE(number >= 0 && number < fake.ngpus ? 0 : 101);
}

/* CUdevice_attribute, with the values of a GPU of compute capability 9.0; what is not there is 0. */
static const struct {
    int which, value;
} attributes[] = {{1, 1024},  {2, 1024},     {3, 1024},     {4, 64},         {5, INT32_MAX},  {6, 65535},
                  {7, 65535}, {8, 48 << 10}, {9, 64 << 10}, {10, 32},        {12, 65536},     {13, 1980000},
                  {16, 16},   {19, 1},       {31, 1},       {33, 3},         {38, 50 << 20},  {39, 2048},
                  {40, 3},    {41, 1},       {75, 9},       {76, 0},         {81, 228 << 10}, {82, 65536},
                  {83, 1},    {87, 2},       {95, 1},       {97, 227 << 10}, {106, 32},       {111, 1 << 10},
                  {115, 1}};

EXPORT int cuDeviceGetName(char *name, int room, int device) {
    ENTER("cuDeviceGetName");
    snprintf(name, (size_t)room, "%s", "Fake GPU");
    LEAVE(is_device(device) ? 0 : INVALID);
}

EXPORT int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    ENTER("cuDeviceGetUuid_v2");
    for (unsigned k = 0; k < 16; k++)
        uuid[k] = (unsigned char)(0x10 + k);
    LEAVE(is_device(device) ? 0 : INVALID);
}

EXPORT int cuDeviceGetAttribute(int *value, int which, int device) {
    ENTER("cuDeviceGetAttribute");
    *value = 0;
    for (unsigned k = 0; k < sizeof attributes / sizeof *attributes; k++)
        if (attributes[k].which == which)
            *value = attributes[k].value;
    if (is_device(device) && (which == 75 || which == 76))
        *value = which == 75 ? fake.cc[device - DEVICE] / 10 : fake.cc[device - DEVICE] % 10;
    LEAVE(is_device(device) ? 0 : INVALID);
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
    ENTER("cuDevicePrimaryCtxRetain");
    *context = is_device(device) ? &fake.legacy[device - DEVICE] : NULL;
    LEAVE(is_device(device) ? 0 : INVALID);
}

EXPORT int cuCtxSetCurrent(void *context) {
    ENTER("cuCtxSetCurrent");
    bool known = context && is_device(DEVICE + (int)((object *)context - fake.legacy));
    current = known ? (int)((object *)context - fake.legacy) : current;
    LEAVE(known ? 0 : 201);
}

EXPORT int cuMemGetInfo_v2(size_t *left, size_t *total) {
    ENTER("cuMemGetInfo_v2");
    *total = SPACE / GPUS;
    *left = *total;
    for (unsigned k = 0; k < fake.nblocks; k++)
        *left -= owner(fake.block[k].at) == current ? fake.block[k].bytes : 0;
    LEAVE(0);
}

static int take_block(uint64_t *at, size_t bytes, int gpu) {
    uint64_t need = (bytes + GRAIN - 1) / GRAIN * GRAIN,
             place = (uint64_t)(uintptr_t)fake.device + (uint64_t)gpu * (SPACE / GPUS),
             end = place + SPACE / GPUS;
    if (!bytes)
        return INVALID;
    for (bool moved = true; moved;) { /* the first gap that is large enough */
        moved = false;
        for (unsigned k = 0; k < fake.nblocks; k++)
            if (place < fake.block[k].at + fake.block[k].bytes && fake.block[k].at < place + need) {
                place = fake.block[k].at + fake.block[k].bytes;
                moved = true;
            }
    }
    if (place + need > end || fake.nblocks == BLOCKS)
        return TR_CUDA_NO_MEMORY;
    fake.block[fake.nblocks].at = *at = place;
    fake.block[fake.nblocks].marked = false;
    fake.block[fake.nblocks++].bytes = need;
    fake.used += need;
    return 0;
}

EXPORT int cuMemAlloc_v2(uint64_t *at, size_t bytes) {
    ENTER("cuMemAlloc_v2");
    LEAVE(take_block(at, bytes, current));
}

static bool note_host(void *at, size_t bytes) {
    for (unsigned k = 0; k < HOSTS; k++)
        if (!fake.hosts[k].at) {
            fake.hosts[k].at = at;
            fake.hosts[k].bytes = bytes;
            return true;
        }
    return false;
}

static bool forget_host(const void *at) {
    for (unsigned k = 0; k < HOSTS; k++)
        if (at && fake.hosts[k].at == at) {
            fake.hosts[k].at = NULL;
            return true;
        }
    return false;
}

static bool is_seen(uint64_t at) {
    for (unsigned k = 0; k < HOSTS; k++)
        if (fake.hosts[k].at && at - (uint64_t)(uintptr_t)fake.hosts[k].at < fake.hosts[k].bytes)
            return true;
    return is_local(at);
}

EXPORT int cuMemAllocManaged(uint64_t *at, size_t bytes, unsigned flags) {
    ENTER("cuMemAllocManaged");
    void *host = flags == 1 ? calloc(1, bytes) : NULL;
    if (host)
        note_host(host, bytes);
    *at = (uint64_t)(uintptr_t)host;
    fake.nmanaged += host != NULL;
    LEAVE(host ? 0 : TR_CUDA_NO_MEMORY);
}

EXPORT int cuCtxSynchronize(void) {
    ENTER("cuCtxSynchronize");
    int last = await(NULL, true);
    show_printed();
    LEAVE(last);
}

EXPORT int cuMemFree_v2(uint64_t at) {
    ENTER("cuMemFree_v2");
    await(NULL, true);
    if (is_local(at))
        LEAVE(give_block(at));
    if (!forget_host((void *)(uintptr_t)at))
        LEAVE(INVALID);
    free((void *)(uintptr_t)at);
    fake.nmanaged--;
    LEAVE(0);
}

EXPORT int cuMemAllocAsync(uint64_t *at, size_t bytes, void *stream) {
    ENTER("cuMemAllocAsync");
    stream = meant(stream);
    LEAVE(is_stream(stream) ? take_block(at, bytes, ((object *)stream)->gpu) : INVALID_HANDLE);
}

EXPORT int cuMemFreeAsync(uint64_t at, void *stream) {
    ENTER("cuMemFreeAsync");
    stream = meant(stream);
    LEAVE(!is_stream(stream) ? INVALID_HANDLE
          : !is_block(at)    ? INVALID
                             : put(&(work){.op = FREE, .stream = stream, .to = at}));
}

EXPORT int cuDeviceGetDefaultMemPool(void **pool, int device) {
    ENTER("cuDeviceGetDefaultMemPool");
    *pool = is_device(device) ? &fake.legacy[device - DEVICE] : NULL;
    LEAVE(is_device(device) ? 0 : INVALID);
}

EXPORT int cuMemPoolSetAttribute(void *pool, int which, void *value) {
    ENTER("cuMemPoolSetAttribute");
    bool ok = which == 4 ? *(uint64_t *)value == UINT64_MAX : which == 3 && *(int *)value == 0;
    LEAVE(is(pool, STREAM) && ok ? 0 : INVALID);
}

EXPORT int cuMemPoolTrimTo(void *pool, size_t keep) {
    ENTER("cuMemPoolTrimTo");
    LEAVE(is(pool, STREAM) && keep == 0 ? 0 : INVALID);
}

/* A pool is known by its context. */
EXPORT int cuMemPoolSetAccess(void *pool, const tr_cuda_access *all, size_t n) {
    ENTER("cuMemPoolSetAccess");
    bool ok = n == 1 && is_device(all->device) && all->type == 1 && all->may == 3;
    if (ok)
        fake.peers[all->device - DEVICE] |= 1u << ((object *)pool)->gpu;
    LEAVE(ok ? 0 : INVALID);
}

/* All but the last one, where there are more than two, reach each other. */
EXPORT int cuDeviceCanAccessPeer(int *can, int device, int of) {
    ENTER("cuDeviceCanAccessPeer");
    int last = fake.ngpus > 2 ? DEVICE + fake.ngpus - 1 : -1;
    *can = device != of && device != last && of != last;
    LEAVE(is_device(device) && is_device(of) ? 0 : INVALID);
}

EXPORT int cuCtxEnablePeerAccess(void *context, unsigned flags) {
    ENTER("cuCtxEnablePeerAccess");
    static unsigned done[GPUS]; /* with the lock */
    int of = ((object *)context)->gpu;
    bool before = done[current] >> of & 1;
    done[current] |= 1u << of;
    LEAVE(flags || of == current ? INVALID : before ? TR_CUDA_PEER_ALREADY : 0);
}

EXPORT int cuMemHostAlloc(void **at, size_t bytes, unsigned flags) {
    ENTER("cuMemHostAlloc");
    *at = flags <= 3 ? calloc(1, bytes) : NULL;
    if (*at)
        note_host(*at, bytes);
    LEAVE(*at ? 0 : TR_CUDA_NO_MEMORY);
}

EXPORT int cuPointerGetAttribute(void *value, int which, uint64_t at) {
    ENTER("cuPointerGetAttribute");
    bool lives = !is_local(at) || is_live(at);
    *(unsigned *)value = is_local(at) ? 2 : 1;
    LEAVE(which == 2 && is_seen(at) && lives ? 0 : INVALID);
}

EXPORT int cuMemHostRegister_v2(void *at, size_t bytes, unsigned flags) {
    ENTER("cuMemHostRegister_v2");
    if (is_seen((uint64_t)(uintptr_t)at))
        LEAVE(712); /* CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED */
    LEAVE(flags <= 3 && note_host(at, bytes) ? 0 : INVALID);
}

EXPORT int cuMemHostUnregister(void *at) {
    ENTER("cuMemHostUnregister");
    LEAVE(forget_host(at) ? 0 : 713); /* CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED */
}

EXPORT int cuMemFreeHost(void *at) {
    ENTER("cuMemFreeHost");
    if (!forget_host(at))
        LEAVE(INVALID);
    free(at);
    LEAVE(0);
}

/* Memory of the host that was not pinned is read when the call is made, and is written when it returns. */
static int copy(work *w) {
    if (w->op == COPY && !is_seen(w->from) && (w->staged = malloc(w->bytes + 1)))
        memcpy(w->staged, see(w->from), w->bytes);
    bool stays = is_seen(w->op == COPY ? w->to : w->rows.to) && (w->op == COPY || is_seen(w->rows.from));
    int status = put(w);
    return status || stays || fake.hold ? status : await(w->stream, false);
}

EXPORT int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *stream) {
    ENTER("cuMemcpyAsync");
    stream = meant(stream);
    work w = {.op = COPY, .stream = stream, .to = to, .from = from, .bytes = bytes};
    bool across = is_local(to) && is_local(from) && owner(to) != owner(from);
    LEAVE(across ? INVALID : is_stream(stream) ? copy(&w) : INVALID_HANDLE);
}

EXPORT int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes,
                             void *stream) {
    ENTER("cuMemcpyPeerAsync");
    stream = meant(stream);
    bool ok = is_stream(stream) && is_local(to) && is_local(from) && to_context == &fake.legacy[owner(to)] &&
              from_context == &fake.legacy[owner(from)];
    LEAVE(ok ? put(&(work){.op = COPY, .stream = stream, .to = to, .from = from, .bytes = bytes}) : INVALID);
}

EXPORT int cuMemcpy2DAsync_v2(const tr_cuda_rows *rows, void *stream) {
    ENTER("cuMemcpy2DAsync_v2");
    stream = meant(stream);
    bool ok = is_stream(stream) && rows->from_type == TR_CUDA_UNIFIED && rows->to_type == TR_CUDA_UNIFIED &&
              rows->from_pitch >= rows->width && rows->to_pitch >= rows->width;
    work w = {.op = ROWS, .stream = stream};
    w.rows = *rows;
    LEAVE(ok ? copy(&w) : INVALID);
}

EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t n, void *stream) {
    ENTER("cuMemsetD8Async");
    stream = meant(stream);
    LEAVE(is_stream(stream) ? put(&(work){.op = FILL, .stream = stream, .to = to, .bytes = n, .value = value})
                            : INVALID_HANDLE);
}

EXPORT int cuStreamCreate(void **stream, unsigned flags) {
    ENTER("cuStreamCreate");
    object *made = flags <= 1 ? make(STREAM) : NULL;
    if (made)
        made->apart = flags == 1;
    *stream = made;
    LEAVE(made ? 0 : INVALID);
}

EXPORT int cuStreamDestroy_v2(void *stream) {
    ENTER("cuStreamDestroy_v2");
    stream = meant(stream);
    if (!is(stream, STREAM))
        LEAVE(INVALID_HANDLE);
    ((object *)stream)->kind = NOTHING;
    LEAVE(0);
}

EXPORT int cuStreamQuery(void *stream) {
    ENTER("cuStreamQuery");
    stream = meant(stream);
    LEAVE(!is_stream(stream) ? INVALID_HANDLE : waits(stream) ? TR_CUDA_NOT_READY : 0);
}

EXPORT int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
    ENTER("cuStreamWaitEvent");
    stream = meant(stream);
    if (!is_stream(stream) || !is(event, EVENT) || flags)
        LEAVE(INVALID_HANDLE);
    LEAVE(
        put(&(work){.op = WAIT, .stream = stream, .event = event, .waits_for = ((object *)event)->recorded}));
}

EXPORT int cuStreamSynchronize(void *stream) {
    ENTER("cuStreamSynchronize");
    stream = meant(stream);
    int last = await(stream, false);
    show_printed();
    LEAVE(last);
}

EXPORT int cuLaunchHostFunc(void *stream, void (*fn)(void *arg), void *arg) {
    ENTER("cuLaunchHostFunc");
    stream = meant(stream);
    LEAVE(put(&(work){.op = CALL, .stream = stream, .fn = fn, .arg = arg}));
}

EXPORT int cuEventCreate(void **event, unsigned flags) {
    ENTER("cuEventCreate");
    *event = flags == 0 || flags == 2 ? make(EVENT) : NULL;
    LEAVE(*event ? 0 : INVALID);
}

EXPORT int cuEventDestroy_v2(void *event) {
    ENTER("cuEventDestroy_v2");
    if (!is(event, EVENT))
        LEAVE(INVALID_HANDLE);
    ((object *)event)->kind = NOTHING;
    LEAVE(0);
}

EXPORT int cuEventRecord(void *event, void *stream) {
    ENTER("cuEventRecord");
    stream = meant(stream);
    if (!is(event, EVENT) || !is_stream(stream) || ((object *)event)->gpu != ((object *)stream)->gpu)
        LEAVE(INVALID_HANDLE);
    ((object *)event)->done = false;
    ((object *)event)->recorded = fake.number + 1;
    LEAVE(put(&(work){.op = RECORD, .stream = stream, .event = event}));
}

EXPORT int cuEventQuery(void *event) {
    ENTER("cuEventQuery");
    LEAVE(!is(event, EVENT) ? INVALID_HANDLE : ((object *)event)->done ? 0 : TR_CUDA_NOT_READY);
}

EXPORT int cuEventSynchronize(void *event) {
    ENTER("cuEventSynchronize");
    while (is(event, EVENT) && !((object *)event)->done && step()) {}
    show_printed();
    LEAVE(!is(event, EVENT) ? INVALID_HANDLE : fake.sticky);
}

EXPORT int cuEventElapsedTime(float *ms, void *begin, void *end) {
    ENTER("cuEventElapsedTime");
    const object *a = begin, *b = end;
    *ms = (float)(b->at - a->at);
    LEAVE(a->done && b->done ? 0 : TR_CUDA_NOT_READY);
}

/* A text is linked by writing so in front of it. */
static const char linked[] = "linked code\n";

/* PTX is code, and so is "kernel NAME". */
static const char *load(object *m, const char *image, char *why, size_t room) {
    const char *said = "line 1: a kernel was expected";
    if (!strncmp(image, linked, sizeof linked - 1))
        image += sizeof linked - 1;
    if (!strncmp(image, "kernel ", 7)) {
        snprintf(m->name, sizeof m->name, "%s", image + 7);
        return NULL;
    }
    if (strstr(image, ".entry")) {
        m->code = ptx_load(image, why, room);
        said = m->code ? NULL : why;
    }
    return said;
}

EXPORT int cuLinkCreate_v2(unsigned n, int *options, void **values, void **state) {
    ENTER("cuLinkCreate_v2");
    (void)n, (void)options, (void)values;
    *state = make(LINK);
    LEAVE(0);
}

EXPORT int cuLinkAddData_v2(void *state, int type, const void *data, size_t size, const char *name,
                            unsigned n, int *options, void **values) {
    ENTER("cuLinkAddData_v2");
    (void)name, (void)n, (void)options, (void)values;
    object *l = state;
    if (!is(l, LINK) || type != 1 || ((const char *)data)[size - 1])
        LEAVE(INVALID);
    l->linked = malloc(sizeof linked + size);
    sprintf(l->linked, "%s%s", linked, (const char *)data);
    LEAVE(0);
}

EXPORT int cuLinkComplete(void *state, void **made, size_t *size) {
    ENTER("cuLinkComplete");
    object *l = state;
    if (!is(l, LINK) || !l->linked)
        LEAVE(INVALID);
    *made = l->linked;
    *size = strlen(l->linked) + 1;
    LEAVE(0);
}

EXPORT int cuLinkDestroy(void *state) {
    ENTER("cuLinkDestroy");
    object *l = state;
    if (!is(l, LINK))
        LEAVE(INVALID);
    free(l->linked);
    *l = (object){.kind = NOTHING};
    LEAVE(0);
}

EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *options, void **values) {
    ENTER("cuModuleLoadDataEx");
    object *m = make(MODULE);
    char why[512];
    const char *said = load(m, image, why, sizeof why);
    if (said) {
        m->kind = NOTHING;
        if (n == 2 && options[0] == 5)
            snprintf(values[0], (size_t)(uintptr_t)values[1], "%s", said);
        LEAVE(INVALID_PTX);
    }
    *module = m;
    LEAVE(0);
}

EXPORT int cuModuleUnload(void *module) {
    ENTER("cuModuleUnload");
    object *m = module;
    if (!is(module, MODULE))
        LEAVE(INVALID_HANDLE);
    if (m->code) /* it may be running */
        await(NULL, true);
    for (unsigned k = 0; k < HANDLES; k++)
        if (fake.objects[k].kind == FUNCTION && fake.objects[k].module == m)
            fake.objects[k].kind = NOTHING;
    ptx_unload(m->code);
    *m = (object){.kind = NOTHING};
    LEAVE(0);
}

/* The function of this name, which is the module's as long as that is loaded. */
static object *function_of(object *m, const char *name) {
    const ptx_fn *entry = m->code ? ptx_entry(m->code, name) : NULL;
    if (m->code ? !entry : strcmp(m->name, name) != 0)
        return NULL;
    for (unsigned k = 0; k < HANDLES; k++)
        if (fake.objects[k].kind == FUNCTION && fake.objects[k].module == m &&
            !strcmp(fake.objects[k].name, name))
            return &fake.objects[k];
    object *f = make(FUNCTION);
    snprintf(f->name, sizeof f->name, "%s", name);
    f->gpu = m->gpu;
    f->module = m;
    f->entry = entry;
    return f;
}

EXPORT int cuModuleGetFunction(void **function, void *module, const char *name) {
    ENTER("cuModuleGetFunction");
    if (!is(module, MODULE))
        LEAVE(INVALID_HANDLE);
    *function = function_of(module, name);
    LEAVE(*function ? 0 : NOT_FOUND);
}

EXPORT int cuFuncSetAttribute(void *function, int which, int value) {
    ENTER("cuFuncSetAttribute");
    LEAVE(is(function, FUNCTION) && which == 8 && value <= 227 << 10 ? 0 : INVALID);
}

/* As a kernel of 32 registers has them. */
EXPORT int cuFuncGetAttribute(int *value, int which, void *function) {
    ENTER("cuFuncGetAttribute");
    static const int values[] = {1024, 16, 8, 24, 32};
    if (!is(function, FUNCTION) || which < 0 || which > 4)
        LEAVE(INVALID);
    *value = values[which];
    LEAVE(0);
}

/* By the limits of compute capability 9.0 for 32 registers a thread. */
static int blocks_held(int threads, size_t shared) {
    int warps = (threads + 31) / 32, by_shared = (int)((228 << 10) / (shared + 1024));
    int held = 64 / warps < 32 ? 64 / warps : 32;
    return held < by_shared ? held : by_shared;
}

EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
                                                       size_t shared) {
    ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessor");
    if (!is(function, FUNCTION) || threads < 1 || threads > 1024)
        LEAVE(INVALID);
    *blocks = blocks_held(threads, shared);
    LEAVE(0);
}

EXPORT int cuOccupancyMaxPotentialBlockSize(int *blocks, int *threads, void *function,
                                            size_t (*shared_of)(int threads), size_t shared, int limit) {
    ENTER("cuOccupancyMaxPotentialBlockSize");
    if (!is(function, FUNCTION) || limit < 0)
        LEAVE(INVALID);
    int most = limit && limit < 1024 ? limit : 1024, best = 0;
    for (int n = most; n > 0; n = (n - 1) / 32 * 32) {
        int held = blocks_held(n, shared_of ? shared_of(n) : shared);
        if (held * n <= best)
            continue;
        best = held * n;
        *blocks = held * 16; /* multiprocessors */
        *threads = n;
    }
    LEAVE(best ? 0 : INVALID);
}

static bool fits(const work *w) {
    ptx_launch l = {.bytes = w->launch.bytes};
    memcpy(l.grid, w->launch.grid, sizeof l.grid);
    memcpy(l.block, w->launch.block, sizeof l.block);
    return ptx_fits(w->code, &l);
}

static int launch(object *f, const fake_launch *l, void *stream) {
    if (fake.hold == 2)
        return fake.sticky;
    if (!is(f, FUNCTION) || !is_stream(stream) || f->gpu != ((object *)stream)->gpu || !l->grid[0] ||
        l->block[0] * l->block[1] * l->block[2] > 1024)
        return INVALID;
    work w = {.op = LAUNCH, .stream = stream, .launch = *l, .code = f->entry};
    w.launch.kernel = f->name;
    if (w.code && !fits(&w))
        return INVALID;
    w.params = malloc(l->bytes + 1);
    memcpy(w.params, l->params, l->bytes);
    return put(&w);
}

EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, void *stream, void **params, void **extra) {
    ENTER("cuLaunchKernel");
    stream = meant(stream);
    if (params || extra[0] != (void *)1 || extra[2] != (void *)2 || extra[4])
        LEAVE(INVALID);
    fake_launch l = {.grid = {gx, gy, gz},
                     .block = {bx, by, bz},
                     .shared = shared,
                     .bytes = *(size_t *)extra[3],
                     .params = extra[1]};
    LEAVE(launch(function, &l, stream));
}

/* Parameters of ours lie in one buffer. */
EXPORT int cuLaunchCooperativeKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                     unsigned by, unsigned bz, unsigned shared, void *stream, void **params) {
    ENTER("cuLaunchCooperativeKernel");
    stream = meant(stream);
    const ptx_fn *code = is(function, FUNCTION) ? ((object *)function)->entry : NULL;
    fake_launch l = {.grid = {gx, gy, gz},
                     .block = {bx, by, bz},
                     .shared = shared,
                     .bytes = code ? ptx_params(code) : 0,
                     .params = params[0]};
    enum { TOO_LARGE = 720, AT_ONCE = 16 * 2048 }; /* threads */
    uint64_t blocks = (uint64_t)gx * gy * gz, threads = (uint64_t)bx * by * bz;
    LEAVE(blocks > AT_ONCE || blocks * threads > AT_ONCE ? TOO_LARGE : launch(function, &l, stream));
}

/* --- for tests --- */

EXPORT void fake_reset(void) {
    pthread_mutex_lock(&fake.lock);
    memset(&fake.fail, 0, sizeof fake.fail);
    memset(fake.calls, 0, sizeof fake.calls);
    fake.sticky = 0;
    fake.hold = 0;
    await(NULL, true);
    pthread_mutex_unlock(&fake.lock);
}

EXPORT void fake_fail(const char *symbol, unsigned n, int status) {
    pthread_mutex_lock(&fake.lock);
    snprintf(fake.fail.symbol, sizeof fake.fail.symbol, "%s", symbol ? symbol : "");
    fake.fail.left = n;
    fake.fail.status = status;
    pthread_mutex_unlock(&fake.lock);
}

EXPORT unsigned fake_calls(const char *symbol) {
    unsigned n = 0;
    pthread_mutex_lock(&fake.lock);
    for (unsigned k = 0; k < sizeof symbols / sizeof *symbols; k++)
        n += !symbol || !strcmp(symbols[k], symbol) ? fake.calls[k] : 0;
    pthread_mutex_unlock(&fake.lock);
    return n;
}

EXPORT void fake_register(const char *name, fake_kernel *k, void *self) {
    pthread_mutex_lock(&fake.lock);
    snprintf(fake.kernels[fake.nkernels].name, sizeof fake.kernels->name, "%s", name);
    fake.kernels[fake.nkernels].fn = k;
    fake.kernels[fake.nkernels++].self = self;
    pthread_mutex_unlock(&fake.lock);
}

EXPORT void *fake_host(uint64_t at) {
    return see(at);
}

EXPORT int fake_gpu(void) {
    return current;
}

EXPORT void *fake_seen(int gpu, uint64_t at, size_t bytes) {
    object stream = {.gpu = gpu};
    bool own = is_local(at) && is_local(at + bytes - 1) && owner(at) == gpu;
    if (own && is_live(at))
        return see(at);
    return seen(&stream, at, bytes);
}

EXPORT int fake_work(void *stream, void (*fn)(void *arg), void *arg) {
    pthread_mutex_lock(&fake.lock);
    stream = meant(stream);
    if (!is_stream(stream))
        LEAVE(INVALID_HANDLE);
    if (fake.sticky)
        LEAVE(fake.sticky);
    LEAVE(put(&(work){.op = LIBRARY, .stream = stream, .fn = fn, .arg = arg}));
}

EXPORT void fake_break(int status) {
    fake.sticky = status;
}

EXPORT unsigned fake_alive(void) {
    pthread_mutex_lock(&fake.lock);
    unsigned n = fake.nblocks + fake.nmanaged;
    for (unsigned k = 0; k < HANDLES; k++)
        n += fake.objects[k].kind != NOTHING && fake.objects[k].kind != FUNCTION;
    pthread_mutex_unlock(&fake.lock);
    return n;
}

EXPORT void fake_run(int all) {
    pthread_mutex_lock(&fake.lock);
    if (all)
        await(NULL, true);
    else
        step();
    pthread_mutex_unlock(&fake.lock);
}

EXPORT void fake_hold(int hold) {
    pthread_mutex_lock(&fake.lock);
    fake.hold = hold;
    pthread_mutex_unlock(&fake.lock);
}

EXPORT uint64_t fake_steps(void) {
    pthread_mutex_lock(&fake.lock);
    uint64_t n = fake.steps;
    pthread_mutex_unlock(&fake.lock);
    return n;
}
