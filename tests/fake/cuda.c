#include "cuda.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dev/cuda.h"
#include "ptx.h"

#define EXPORT __attribute__((visibility("default")))

enum { SPACE = 64 << 20, GRAIN = 1 << PTX_GRAIN, HANDLES = 4096, NAMES = 16, QUEUE = 4096, PINNED = 4096 };
enum { INVALID = 1, NOT_FOUND = 500, INVALID_HANDLE = 400, INVALID_PTX = 218 };

typedef enum fake_op { LAUNCH, COPY, ROWS, FILL, CALL, RECORD, WAIT } fake_op;
typedef struct work {
    fake_op op;
    void *stream;
    fake_launch launch;
    const ptx_fn *code;
    unsigned char params[4096];
    uint64_t to, from;
    size_t bytes;
    tr_cuda_rows rows;
    unsigned char value;
    void (*fn)(void *);
    void *arg;
    struct object *event;
} work;

typedef enum kind { NOTHING, STREAM, EVENT, MODULE, FUNCTION } kind;
typedef struct object {
    kind kind;
    bool done;
    char name[256];
    double at;
    ptx_module *code;      /* a module's */
    const ptx_fn *entry;   /* a function's */
    struct object *module; /* a function's */
} object;

static struct {
    pthread_mutex_t lock;
    char *device, *host; /* the same memory: where the device has it, and where we see it */
    struct {
        uint64_t at, bytes;
    } block[HANDLES];
    uint8_t live[SPACE / GRAIN];
    struct {
        char *at;
        size_t bytes;
    } pinned[PINNED]; /* memory of the host's that the device may touch */
    unsigned nblocks;
    uint64_t used;
    object objects[HANDLES];
    work *queue;
    unsigned nwork;
    bool hold;
    struct {
        char symbol[32];
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
    unsigned nkernels;
    uint64_t steps;
    double now;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

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
static int enter(const char *symbol) {
    fake.calls[index_of(symbol)]++;
    bool this_one = fake.fail.left && (!*fake.fail.symbol || !strcmp(fake.fail.symbol, symbol));
    if (this_one && --fake.fail.left == 0) {
        if (fake.fail.status >= 700 && fake.fail.status < 720 && fake.fail.status != 701)
            fake.sticky = fake.fail.status;
        return fake.fail.status;
    }
    return fake.sticky;
}
#define ENTER(symbol)                     \
    pthread_mutex_lock(&fake.lock);       \
    int status = enter(symbol);           \
    if (status) {                         \
        pthread_mutex_unlock(&fake.lock); \
        return status;                    \
    }
#define LEAVE(result)                     \
    do {                                  \
        int result_ = (result);           \
        pthread_mutex_unlock(&fake.lock); \
        return result_;                   \
    } while (0)

static void *see(uint64_t at) {
    char *p = (char *)(uintptr_t)at;
    return fake.device && p >= fake.device && p < fake.device + SPACE ? fake.host + (p - fake.device) : p;
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
}

static object *make(kind k) {
    for (unsigned i = 0; i < HANDLES; i++)
        if (fake.objects[i].kind == NOTHING) {
            fake.objects[i] = (object){.kind = k};
            return &fake.objects[i];
        }
    abort();
}

static bool is(const void *o, kind k) {
    return o && ((const object *)o)->kind == k;
}

/* --- work --- */

static void *pinned(void *self, uint64_t at, size_t bytes) {
    (void)self;
    for (unsigned k = 0; k < PINNED; k++) {
        uint64_t in = at - (uint64_t)(uintptr_t)fake.pinned[k].at;
        if (fake.pinned[k].at && in < fake.pinned[k].bytes && in + bytes <= fake.pinned[k].bytes)
            return fake.pinned[k].at + in;
    }
    return NULL;
}

/* What a failed launch leaves is the end of all else. */
static void run_ptx(const work *w) {
    uint64_t steps = 0;
    ptx_launch l = {.shared = w->launch.shared,
                    .params = w->params,
                    .bytes = w->launch.bytes,
                    .memory = {.at = (uint64_t)(uintptr_t)fake.device,
                               .bytes = SPACE,
                               .host = fake.host,
                               .live = fake.live,
                               .other = pinned}};
    memcpy(l.grid, w->launch.grid, sizeof l.grid);
    memcpy(l.block, w->launch.block, sizeof l.block);
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

static void do_work(const work *w) {
    switch (w->op) {
    case LAUNCH: run_kernel(w); break;
    case COPY: memmove(see(w->to), see(w->from), w->bytes); break;
    case ROWS:
        for (size_t i = 0; i < w->rows.height; i++)
            memmove(see(w->rows.to + i * w->rows.to_pitch), see(w->rows.from + i * w->rows.from_pitch),
                    w->rows.width);
        break;
    case FILL: memset(see(w->to), w->value, w->bytes); break;
    case CALL:
        pthread_mutex_unlock(&fake.lock);
        w->fn(w->arg);
        pthread_mutex_lock(&fake.lock);
        break;
    case RECORD:
        w->event->done = true;
        w->event->at = fake.now += 1;
        break;
    case WAIT: break;
    }
}

static bool may_go(const work *w) {
    return w->op != WAIT || w->event->done;
}

/* Does the first thing that may go; false: there is none. */
static bool step(void) {
    for (unsigned k = 0; k < fake.nwork; k++) {
        bool first = may_go(&fake.queue[k]);
        for (unsigned j = 0; j < k;
             j++) /* the default stream comes after all before it, and before all behind */
            first = first && fake.queue[j].stream != fake.queue[k].stream && fake.queue[j].stream &&
                    fake.queue[k].stream;
        if (!first)
            continue;
        work w = fake.queue[k];
        memmove(fake.queue + k, fake.queue + k + 1, (fake.nwork - k - 1) * sizeof *fake.queue);
        fake.nwork--;
        do_work(&w);
        return true;
    }
    return false;
}

static bool waits(void *stream) {
    for (unsigned k = 0; k < fake.nwork; k++)
        if (fake.queue[k].stream == stream)
            return true;
    return false;
}

static int put(const work *w) {
    if (fake.nwork == QUEUE)
        abort();
    fake.queue[fake.nwork++] = *w;
    if (!fake.hold)
        while (step()) {}
    return fake.sticky;
}

/* --- the driver --- */

EXPORT int cuInit(unsigned flags) {
    ENTER("cuInit");
    (void)flags;
    map();
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
               {719, "CUDA_ERROR_LAUNCH_FAILED"}};
    for (unsigned k = 0; k < sizeof all / sizeof *all; k++)
        if (all[k].status == which) {
            *name = all[k].name;
            return 0;
        }
    return INVALID;
}

EXPORT int cuDeviceGetCount(int *n) {
    ENTER("cuDeviceGetCount");
    *n = 1;
    LEAVE(0);
}

EXPORT int cuDeviceGet(int *device, int number) {
    ENTER("cuDeviceGet");
    *device = 7;
    LEAVE(number == 0 ? 0 : 101);
}

EXPORT int cuDeviceGetAttribute(int *value, int which, int device) {
    ENTER("cuDeviceGetAttribute");
    *value = which == 1 ? 1024 : which == 10 ? 32 : which == 97 ? 227 << 10 : which == 115 ? 1 : which;
    LEAVE(device == 7 ? 0 : INVALID);
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
    ENTER("cuDevicePrimaryCtxRetain");
    *context = &fake;
    LEAVE(device == 7 ? 0 : INVALID);
}

EXPORT int cuCtxSetCurrent(void *context) {
    ENTER("cuCtxSetCurrent");
    LEAVE(context == &fake ? 0 : 201);
}

EXPORT int cuMemGetInfo_v2(size_t *left, size_t *total) {
    ENTER("cuMemGetInfo_v2");
    *total = SPACE;
    *left = SPACE - fake.used;
    LEAVE(0);
}

/* The device may touch it from now on, or no longer. */
static void mark(uint64_t at, uint64_t bytes, bool live) {
    memset(fake.live + (at - (uint64_t)(uintptr_t)fake.device) / GRAIN, live, bytes / GRAIN);
}

static int take_block(uint64_t *at, size_t bytes) {
    uint64_t need = (bytes + GRAIN - 1) / GRAIN * GRAIN, place = (uint64_t)(uintptr_t)fake.device;
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
    if (place + need > (uint64_t)(uintptr_t)fake.device + SPACE || fake.nblocks == HANDLES)
        return TR_CUDA_NO_MEMORY;
    fake.block[fake.nblocks].at = *at = place;
    fake.block[fake.nblocks++].bytes = need;
    mark(place, need, true);
    fake.used += need;
    return 0;
}

static int give_block(uint64_t at) {
    for (unsigned k = 0; k < fake.nblocks; k++)
        if (fake.block[k].at == at) {
            fake.used -= fake.block[k].bytes;
            mark(at, fake.block[k].bytes, false);
            fake.block[k] = fake.block[--fake.nblocks];
            return 0;
        }
    return INVALID;
}

EXPORT int cuMemAlloc_v2(uint64_t *at, size_t bytes) {
    ENTER("cuMemAlloc_v2");
    LEAVE(take_block(at, bytes));
}

EXPORT int cuMemFree_v2(uint64_t at) {
    ENTER("cuMemFree_v2");
    while (step()) {} /* it waits */
    LEAVE(give_block(at));
}

EXPORT int cuMemAllocAsync(uint64_t *at, size_t bytes, void *stream) {
    ENTER("cuMemAllocAsync");
    LEAVE(stream ? INVALID : take_block(at, bytes));
}

EXPORT int cuMemFreeAsync(uint64_t at, void *stream) {
    ENTER("cuMemFreeAsync");
    while (step()) {} /* in its order, which is that of everything */
    LEAVE(stream ? INVALID : give_block(at));
}

EXPORT int cuDeviceGetDefaultMemPool(void **pool, int device) {
    ENTER("cuDeviceGetDefaultMemPool");
    *pool = &fake.used;
    LEAVE(device == 7 ? 0 : INVALID);
}

EXPORT int cuMemPoolSetAttribute(void *pool, int which, void *value) {
    ENTER("cuMemPoolSetAttribute");
    LEAVE(pool == &fake.used && which == 4 && *(uint64_t *)value == UINT64_MAX ? 0 : INVALID);
}

EXPORT int cuMemHostAlloc(void **at, size_t bytes, unsigned flags) {
    ENTER("cuMemHostAlloc");
    unsigned k = 0;
    while (k < PINNED && fake.pinned[k].at)
        k++;
    *at = flags <= 3 && k < PINNED ? calloc(1, bytes) : NULL;
    if (*at) {
        fake.pinned[k].at = *at;
        fake.pinned[k].bytes = bytes;
    }
    LEAVE(*at ? 0 : TR_CUDA_NO_MEMORY);
}

EXPORT int cuMemFreeHost(void *at) {
    ENTER("cuMemFreeHost");
    for (unsigned k = 0; k < PINNED; k++)
        if (fake.pinned[k].at == at)
            fake.pinned[k].at = NULL;
    free(at);
    LEAVE(0);
}

static bool is_stream(const void *s) {
    return !s || is(s, STREAM);
}

EXPORT int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *stream) {
    ENTER("cuMemcpyAsync");
    LEAVE(is_stream(stream)
              ? put(&(work){.op = COPY, .stream = stream, .to = to, .from = from, .bytes = bytes})
              : INVALID_HANDLE);
}

EXPORT int cuMemcpy2DAsync_v2(const tr_cuda_rows *rows, void *stream) {
    ENTER("cuMemcpy2DAsync_v2");
    bool ok = is_stream(stream) && rows->from_type == TR_CUDA_UNIFIED && rows->to_type == TR_CUDA_UNIFIED &&
              rows->from_pitch >= rows->width && rows->to_pitch >= rows->width;
    LEAVE(ok ? put(&(work){.op = ROWS, .stream = stream, .rows = *rows}) : INVALID);
}

EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t n, void *stream) {
    ENTER("cuMemsetD8Async");
    LEAVE(is_stream(stream) ? put(&(work){.op = FILL, .stream = stream, .to = to, .bytes = n, .value = value})
                            : INVALID_HANDLE);
}

EXPORT int cuStreamCreate(void **stream, unsigned flags) {
    ENTER("cuStreamCreate");
    *stream = flags ? NULL : make(STREAM);
    LEAVE(flags ? INVALID : 0);
}

EXPORT int cuStreamDestroy_v2(void *stream) {
    ENTER("cuStreamDestroy_v2");
    if (!is(stream, STREAM))
        LEAVE(INVALID_HANDLE);
    ((object *)stream)->kind = NOTHING;
    LEAVE(0);
}

EXPORT int cuStreamQuery(void *stream) {
    ENTER("cuStreamQuery");
    LEAVE(!is_stream(stream) ? INVALID_HANDLE : waits(stream) ? TR_CUDA_NOT_READY : 0);
}

EXPORT int cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
    ENTER("cuStreamWaitEvent");
    if (!is_stream(stream) || !is(event, EVENT) || flags)
        LEAVE(INVALID_HANDLE);
    LEAVE(put(&(work){.op = WAIT, .stream = stream, .event = event}));
}

EXPORT int cuStreamSynchronize(void *stream) {
    ENTER("cuStreamSynchronize");
    while (waits(stream) && step()) {}
    LEAVE(fake.sticky);
}

EXPORT int cuLaunchHostFunc(void *stream, void (*fn)(void *arg), void *arg) {
    ENTER("cuLaunchHostFunc");
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
    if (!is(event, EVENT) || !is_stream(stream))
        LEAVE(INVALID_HANDLE);
    ((object *)event)->done = false;
    LEAVE(put(&(work){.op = RECORD, .stream = stream, .event = event}));
}

EXPORT int cuEventQuery(void *event) {
    ENTER("cuEventQuery");
    LEAVE(!is(event, EVENT) ? INVALID_HANDLE : ((object *)event)->done ? 0 : TR_CUDA_NOT_READY);
}

EXPORT int cuEventElapsedTime(float *ms, void *begin, void *end) {
    ENTER("cuEventElapsedTime");
    *ms = (float)(((object *)end)->at - ((object *)begin)->at);
    LEAVE(0);
}

/* PTX is code, and so is "kernel NAME". */
static const char *load(object *m, const char *image, char *why, size_t room) {
    const char *said = "line 1: a kernel was expected";
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
    while (m->code && step()) {} /* it may be running */
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

static bool fits(const work *w) {
    ptx_launch l = {.bytes = w->launch.bytes};
    memcpy(l.grid, w->launch.grid, sizeof l.grid);
    memcpy(l.block, w->launch.block, sizeof l.block);
    return ptx_fits(w->code, &l);
}

EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz, unsigned shared, void *stream, void **params, void **extra) {
    ENTER("cuLaunchKernel");
    if (!is(function, FUNCTION) || !is_stream(stream) || params || !gx || bx * by * bz > 1024)
        LEAVE(INVALID);
    static work w; /* with the lock */
    w = (work){.op = LAUNCH, .stream = stream};
    w.launch = (fake_launch){.kernel = ((object *)function)->name,
                             .grid = {gx, gy, gz},
                             .block = {bx, by, bz},
                             .shared = shared,
                             .bytes = *(size_t *)extra[3]};
    memcpy(w.params, extra[1], w.launch.bytes);
    w.code = ((object *)function)->entry;
    if (w.code && !fits(&w))
        LEAVE(INVALID);
    LEAVE(extra[0] == (void *)1 && extra[2] == (void *)2 && !extra[4] ? put(&w) : INVALID);
}

/* --- for tests --- */

EXPORT void fake_reset(void) {
    pthread_mutex_lock(&fake.lock);
    memset(&fake.fail, 0, sizeof fake.fail);
    memset(fake.calls, 0, sizeof fake.calls);
    fake.sticky = 0;
    fake.hold = false;
    while (step()) {}
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

EXPORT unsigned fake_alive(void) {
    pthread_mutex_lock(&fake.lock);
    unsigned n = fake.nblocks;
    for (unsigned k = 0; k < HANDLES; k++)
        n += fake.objects[k].kind != NOTHING && fake.objects[k].kind != FUNCTION;
    pthread_mutex_unlock(&fake.lock);
    return n;
}

EXPORT void fake_run(int all) {
    pthread_mutex_lock(&fake.lock);
    while (step() && all) {}
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
