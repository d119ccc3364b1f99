/* NVIDIA's GPUs behind the table of a device, by libcuda (cuda.def), which is opened when one is asked for.
 *
 * All of them are one device, of which each thread uses one; a context is the primary one, which other
 * libraries of the process share. A status of the driver becomes TR_CODE_DEVICE, or MEMORY where it says so.
 * Some end the context: then nothing works any more, and says so. */
#include "dev/cuda.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ATTR_MAJOR = 75, /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR */
    ATTR_MINOR = 76,
    ATTR_POOLS = 115,   /* CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED */
    POOL_WAITS = 3,     /* CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES */
    POOL_THRESHOLD = 4, /* CU_MEMPOOL_ATTR_RELEASE_THRESHOLD */
};

/* State of the process. */
static tr_cuda the_gpu = {.lock = PTHREAD_MUTEX_INITIALIZER, .loading = PTHREAD_MUTEX_INITIALIZER};

/* The GPU that this thread uses. */
static _Thread_local int here __attribute__((tls_model("initial-exec"))) =
    -1; /* none was chosen: the first that can be used */

/* The latest status that was refused on this thread. */
static _Thread_local struct {
    const char *what;
    int status;
} refused;

/* Statuses after which a context is of no use (CUDA Driver API, "this leaves the process in
 * an inconsistent state"). */
static bool ends_context(int status) {
    static const int all[] = {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] == status)
            return true;
    return false;
}

int cuda_refused_with(void) {
    return refused.status;
}

int32_t cuda_refused(tr_cuda *c, const char *what, int status) {
    int lives = 0;
    assert(status != 0 && "what is refused has a status");
    refused.what = what;
    refused.status = status;
    if (ends_context(status))
        atomic_compare_exchange_strong(&c->lost, &lives, status);
    return status == TR_CUDA_NO_MEMORY ? TR_CODE_MEMORY : TR_CODE_DEVICE;
}

const char *cuda_name_of(const tr_cuda *c, int status) {
    const char *name = NULL;
    return c->fn.error_name(status, &name) == 0 && name ? name : "an unknown error";
}

/* What a user can do about it; empty: nothing that is known here. */
static const char *advice(int status) {
    static const struct {
        int status;
        const char *text;
    } all[] = {
        {700,
         "; debug=True finds an index out of range, python -m treadle memcheck finds more, without a GPU"},
        {701, "; a block of fewer threads, or max_registers=, may fit"},
        {800, "; a callback of a stream may not wait for the device"},
        {716, "; an array's data do not lie as its items need it"},
        {720, "; its blocks wait for each other, so all must be held at once: max_cooperative_grid_blocks "
              "says how many are"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].status == status)
            return all[i].text;
    return "";
}

static int explain(tr_dev *d, char *msg, size_t room) {
    const tr_cuda *c = (tr_cuda *)d;
    int lost = atomic_load(&c->lost);
    if (lost)
        snprintf(msg, room,
                 "the GPU's context has ended by %s (%d), and this process cannot use it any more%s",
                 cuda_name_of(c, lost), lost, advice(lost));
    else
        snprintf(msg, room, "%s: %s (%d)%s", refused.what ? refused.what : "CUDA",
                 cuda_name_of(c, refused.status), refused.status, advice(refused.status));
    return lost ? lost : refused.status;
}

bool cuda_gives_back(tr_cuda *c, int gpu) {
    cuda_enter_on(c, gpu); /* where that fails, what is given back still says whose it is */
    return !atomic_load(&c->forked) && !atomic_load(&c->lost);
}

int cuda_here(void) {
    return here < 0 ? the_gpu.first : here;
}

int32_t cuda_enter_on(tr_cuda *c, int gpu) {
    if (atomic_load_explicit(&c->forked, memory_order_relaxed))
        return TR_CODE_GPU;
    int status = c->lost;
    if (!status)
        status = c->fn.current(c->gpus[gpu].context);
    return status ? cuda_refused(c, "cuCtxSetCurrent", status) : 0;
}

/* --- limits --- */

/* The driver's name for a GPU, or for the one that this thread uses. */
static int device_of(const tr_cuda *c, int number) {
    return c->gpus[number < 0 ? cuda_here() : number].device;
}

static int64_t attribute(tr_dev *d, int number, tr_dev_attr a) {
    static const int numbers[] = {
#define X(id, number) number,
        TR_DEV_ATTRS(X)
#undef X
    };
    const tr_cuda *c = (tr_cuda *)d;
    int value = 0;
    if (a == TR_DEV_MAX_PARAMETER_BYTES)
        return CUDA_PARAMETERS;
    return !atomic_load(&c->forked) && c->fn.attribute(&value, numbers[a], device_of(c, number)) == 0 ? value
                                                                                                      : 0;
}

static void describe(tr_dev *d, int number, tr_dev_about *out) {
    const tr_cuda *c = (tr_cuda *)d;
    *out = (tr_dev_about){0};
    if (atomic_load(&c->forked))
        return;
    if (c->fn.name(out->name, sizeof out->name - 1, device_of(c, number)))
        snprintf(out->name, sizeof out->name, "a GPU");
    if (c->fn.uuid && c->fn.uuid(out->uuid, device_of(c, number)))
        memset(out->uuid, 0, sizeof out->uuid);
    if (c->fn.version(&out->driver))
        out->driver = 0;
}

/* --- jobs --- */

static void *call_there(void *arg) {
    const tr_dev_job *j = arg;
    tr_dev_call_host(&j->u.call, cuda_look(&the_gpu) ? TR_CODE_DEVICE : 0);
    return NULL;
}

/* On a thread of the driver's, which may not call the driver: where the function frees
 * memory, or launches, another thread must. */
static void call_host(void *arg) {
    pthread_t t;
    if (pthread_create(&t, NULL, call_there, arg) == 0)
        pthread_join(t, NULL);
    else
        call_there(arg);
}

int32_t cuda_do(tr_cuda *c, int gpu, void *stream, tr_dev_job *j) {
    static const char *const what[] = {[TR_DEV_LAUNCH] = "cuLaunchKernel",
                                       [TR_DEV_COPY] = "cuMemcpyAsync",
                                       [TR_DEV_FILL] = "cuMemsetD8Async",
                                       [TR_DEV_CALL] = "cuLaunchHostFunc"};
    assert(gpu >= 0 && gpu < c->ngpus && "a job is one GPU's");
    int32_t code = cuda_enter_on(c, gpu);
    int status = 0;
    if (code)
        return code;
    switch (j->op) {
    case TR_DEV_LAUNCH: status = cuda_launch_on(c, &j->u.launch, gpu, stream); break;
    case TR_DEV_COPY: status = cuda_copy(c, &j->u.copy, gpu, stream); break;
    case TR_DEV_FILL:
        status = j->u.fill.bytes
                     ? c->fn.fill((uint64_t)(uintptr_t)j->u.fill.to, j->u.fill.value, j->u.fill.bytes, stream)
                     : 0;
        break;
    case TR_DEV_CALL: status = c->fn.call(stream, call_host, j); break;
    case TR_DEV_WORK:
        return j->u.work.fn(j->u.work.arg, &(tr_dev_at){.device = &c->dev, .stream = stream, .gpu = gpu});
    default: return 0;
    }
    return status ? cuda_refused(c, what[j->op], status) : 0;
}

/* --- the device --- */

static bool refuse(const tr_cuda *c, const char *what, int status, char *msg, size_t room) {
    if (status == TR_CUDA_STUB)
        snprintf(msg, room, "libcuda is the toolkit's stub here, and no driver");
    else if (status == TR_CUDA_NO_DEVICE)
        snprintf(msg, room, "there is a CUDA driver, and no GPU");
    else if (status == TR_CUDA_MISMATCH)
        snprintf(msg, room, "libcuda and the kernel's driver are of different versions");
    else
        snprintf(msg, room, "%s: %s (%d)", what, cuda_name_of(c, status), status);
    return false;
}

/* They live as long as the process. What is missing the default stream does. */
static void open_order(tr_cuda *c, cuda_gpu *g) {
    enum { APART = 1 /* CU_STREAM_NON_BLOCKING */ };
    if (c->fn.stream_new(&g->allocs, APART))
        g->allocs = NULL;
    if (c->fn.stream_new(&g->frees, APART))
        g->frees = NULL;
    if (c->fn.event_new(&g->place, CUDA_NO_TIMING))
        g->place = NULL;
}

/* Freed memory stays the pool's: by default each synchronisation gives it back to the system.
 * And nobody who takes some is made to wait for the stream that has not done with it, which
 * by default happens behind his back. */
static void keep_memory(tr_cuda *c, cuda_gpu *g) {
    uint64_t all = UINT64_MAX;
    void *pool;
    int has = 0, never = 0;
    g->pools = c->fn.alloc_on && c->fn.free_on && c->fn.pool && c->fn.pool_set &&
               !c->fn.attribute(&has, ATTR_POOLS, g->device) && has && !c->fn.pool(&pool, g->device) &&
               !c->fn.pool_set(pool, POOL_THRESHOLD, &all) && !c->fn.pool_set(pool, POOL_WAITS, &never);
    if (g->pools)
        open_order(c, g);
}

/* Is there code for it (target/nvptx64.c)? */
static bool gpu_has_code(const tr_cuda *c, const cuda_gpu *g, char *msg, size_t room) {
    enum { LEAST = 75 };
    int major = 0, minor = 0;
    c->fn.attribute(&major, ATTR_MAJOR, g->device);
    c->fn.attribute(&minor, ATTR_MINOR, g->device);
    if (major * 10 + minor >= LEAST)
        return true;
    snprintf(msg, room, "the GPU has compute capability %d.%d, and Treadle makes code for %d.%d and up",
             major, minor, LEAST / 10, LEAST % 10);
    return false;
}

/* Its context, at its first use. With the lock. */
static bool open_gpu(tr_cuda *c, cuda_gpu *g, char *msg, size_t room) {
    void *context;
    if (g->context)
        return true;
    if (!gpu_has_code(c, g, msg, room))
        return false;
    int status = c->fn.context(&context, g->device);
    const char *what = "cuDevicePrimaryCtxRetain";
    if (!status) {
        what = "cuCtxSetCurrent";
        status = c->fn.current(context);
    }
    if (status)
        return refuse(c, what, status, msg, room);
    keep_memory(c, g);
    g->context = context;
    return true;
}

static bool open_driver(tr_cuda *c, char *msg, size_t room) {
    int n = 0, status;
    if ((status = c->fn.init(0)))
        return refuse(c, "cuInit", status, msg, room);
    if ((status = c->fn.count(&n)) || n <= 0)
        return refuse(c, "cuDeviceGetCount", status ? status : TR_CUDA_NO_DEVICE, msg, room);
    c->ngpus = n < TR_DEV_GPUS ? n : TR_DEV_GPUS;
    for (int k = 0; k < c->ngpus; k++)
        if ((status = c->fn.device(&c->gpus[k].device, k)))
            return refuse(c, "cuDeviceGet", status, msg, room);
    for (c->first = 0; c->first < c->ngpus && !gpu_has_code(c, &c->gpus[c->first], msg, room); c->first++) {}
    if (c->first == c->ngpus) { /* which says why */
        c->first = 0;
        return false;
    }
    return open_gpu(c, &c->gpus[c->first], msg, room);
}

static int count(tr_dev *d) {
    return ((tr_cuda *)d)->ngpus;
}

static int number_of(tr_dev *d, const tr_dev_stream *s) {
    (void)d;
    return cuda_gpu_of((const cuda_stream *)s);
}

static bool use(tr_dev *d, int number, char *msg, size_t room) {
    tr_cuda *c = (tr_cuda *)d;
    if (atomic_load(&c->forked)) {
        snprintf(msg, room, "a GPU that was used before a fork cannot be used after it");
        return false;
    }
    pthread_mutex_lock(&c->lock);
    bool ok = open_gpu(c, &c->gpus[number], msg, room);
    pthread_mutex_unlock(&c->lock);
    int status = ok ? c->fn.current(c->gpus[number].context) : 0;
    if (status)
        return refuse(c, "cuCtxSetCurrent", status, msg, room);
    if (ok)
        here = number;
    else
        cuda_enter(c);
    return ok;
}

/* Memory that is allocated in the order of streams has a permission of its own. */
static int permit(tr_cuda *c, const cuda_gpu *user, const cuda_gpu *of) {
    enum { DEVICE = 1, READ_WRITE = 3 }; /* CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE */
    const tr_cuda_access access = {DEVICE, user->device, READ_WRITE};
    void *pool;
    int status = c->fn.current(user->context);
    if (!status)
        status = c->fn.peer_enable(of->context, 0);
    if ((!status || status == TR_CUDA_PEER_ALREADY) && of->pools) {
        status = c->fn.pool(&pool, of->device);
        status = status ? status : c->fn.pool_permit ? c->fn.pool_permit(pool, &access, 1) : TR_CUDA_NO_PEER;
    }
    return status == TR_CUDA_PEER_ALREADY ? 0 : status;
}

static int32_t befriend(tr_dev *d, int user, int of, bool ask, bool *can) {
    tr_cuda *c = (tr_cuda *)d;
    int yes = user == of;
    int32_t code = cuda_enter(c);
    int status = code || yes || !c->fn.peer_can || !c->fn.peer_enable
                     ? 0
                     : c->fn.peer_can(&yes, c->gpus[user].device, c->gpus[of].device);
    *can = yes;
    if (code || status || ask || !yes || user == of)
        return status ? cuda_refused(c, "cuDeviceCanAccessPeer", status) : code;
    char msg[200];
    pthread_mutex_lock(&c->lock);
    bool ok = open_gpu(c, &c->gpus[user], msg, sizeof msg) && open_gpu(c, &c->gpus[of], msg, sizeof msg);
    status = ok ? permit(c, &c->gpus[user], &c->gpus[of]) : TR_CUDA_NO_PEER;
    pthread_mutex_unlock(&c->lock);
    cuda_enter(c);
    if (!status)
        atomic_fetch_or(&c->gpus[of].peers, UINT32_C(1) << user);
    return status ? cuda_refused(c, "cuCtxEnablePeerAccess", status) : 0;
}

static const tr_dev_ops ops = {
    .name = "cuda",
    .describe = describe,
    .attribute = attribute,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .show = cuda_show,
    .find = cuda_find,
    .owns = cuda_owns,
    .memory = cuda_memory,
    .sees = cuda_sees,
    .pin = cuda_pin,
    .unpin = cuda_unpin,
    .count = count,
    .select = use,
    .number = number_of,
    .befriend = befriend,
    .load = cuda_load,
    .assemble = cuda_assemble,
    .unload = cuda_unload,
    .launch = cuda_launch,
    .takes = cuda_takes,
    .held = cuda_held,
    .suits = cuda_suits,
    .explain = explain,
#define X(result, name, params) .name = cuda_##name,
#include "dev/queue.def"
#undef X
};

static void fork_lock(void) {
    pthread_mutex_lock(&the_gpu.lock);
}

static void fork_unlock(void) {
    pthread_mutex_unlock(&the_gpu.lock);
}

static void fork_child(void) {
    pthread_mutex_init(&the_gpu.lock, NULL);
    pthread_mutex_init(&the_gpu.loading, NULL);
    atomic_store(&the_gpu.forked, the_gpu.dev.ops != NULL);
}

tr_dev *tr_dev_open_cuda(const tr_dev_host *h, char *msg, size_t room) {
    tr_cuda *c = &the_gpu;
    pthread_mutex_lock(&c->lock);
    if (!c->dev.ops && tr_cuda_load(h->driver, &c->fn, msg, room) && open_driver(c, msg, room)) {
        c->lo = UINTPTR_MAX;
        cuda_queue_open(c);
        pthread_atfork(fork_lock, fork_unlock, fork_child);
        c->dev.several = c->ngpus > 1;
        c->dev.ops = &ops;
    }
    tr_dev *d = c->dev.ops ? &c->dev : NULL;
    pthread_mutex_unlock(&c->lock);
    return d;
}
