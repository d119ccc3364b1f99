/* NVIDIA's GPUs behind the table of a device, by libcuda (cuda.def), which is opened when one is asked for.
 *
 * The primary context, which other libraries of the process share. A launch packs its parameters on the stack; nothing is allocated.
 * A status of the driver becomes TR_CODE_DEVICE, or MEMORY where it says so. Some end the context: then nothing works any more, and says so. */
#include "dev/cuda.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ATTR_MAJOR = 75, /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR */
    ATTR_MINOR = 76,
    ATTR_POOLS = 115,       /* CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED */
    POOL_THRESHOLD = 4,     /* CU_MEMPOOL_ATTR_RELEASE_THRESHOLD */
    FN_SHARED = 8,          /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
    FREE_SHARED = 48 << 10, /* bytes that a kernel has without asking */
    PARAMETERS = 4096,      /* bytes; since driver 12.1 and on newer GPUs there may be more */
    LOG = 1024
};

/* State of the process. */
static tr_cuda the_gpu = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The latest status that was refused on this thread. */
static _Thread_local struct {
    const char *what;
    int status;
} refused;

/* Statuses after which a context is of no use (CUDA Driver API, "this leaves the process in an inconsistent state"). */
static bool ends_context(int status) {
    static const int all[] = {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] == status)
            return true;
    return false;
}

int32_t cuda_refused(tr_cuda *c, const char *what, int status) {
    int lives = 0;
    refused.what = what;
    refused.status = status;
    if (ends_context(status))
        atomic_compare_exchange_strong(&c->lost, &lives, status);
    return status == TR_CUDA_NO_MEMORY ? TR_CODE_MEMORY : TR_CODE_DEVICE;
}

static const char *name_of(const tr_cuda *c, int status) {
    const char *name = NULL;
    return c->fn.error_name(status, &name) == 0 && name ? name : "an unknown error";
}

static int explain(tr_dev *d, char *msg, size_t room) {
    const tr_cuda *c = (tr_cuda *)d;
    int lost = atomic_load(&c->lost);
    if (lost)
        snprintf(msg, room, "the GPU's context has ended by %s (%d), and this process cannot use it any more",
                 name_of(c, lost), lost);
    else
        snprintf(msg, room, "%s: %s (%d)", refused.what ? refused.what : "CUDA", name_of(c, refused.status),
                 refused.status);
    return lost ? lost : refused.status;
}

bool cuda_gives_back(tr_cuda *c) {
    cuda_enter(c); /* where that fails, what is given back still says whose it is */
    return !atomic_load(&c->forked) && !atomic_load(&c->lost);
}

int32_t cuda_enter(tr_cuda *c) {
    if (atomic_load_explicit(&c->forked, memory_order_relaxed))
        return TR_CODE_GPU;
    int status = c->lost;
    if (!status)
        status = c->fn.current(c->context);
    return status ? cuda_refused(c, "cuCtxSetCurrent", status) : 0;
}

/* --- limits --- */

static int64_t attribute(tr_dev *d, tr_dev_attr a) {
    static const int numbers[] = {
#define X(id, number) number,
        TR_DEV_ATTRS(X)
#undef X
    };
    const tr_cuda *c = (tr_cuda *)d;
    int value = 0;
    if (a == TR_DEV_MAX_PARAMETER_BYTES)
        return PARAMETERS;
    return !atomic_load(&c->forked) && c->fn.attribute(&value, numbers[a], c->device) == 0 ? value : 0;
}

static void describe(tr_dev *d, tr_dev_about *out) {
    const tr_cuda *c = (tr_cuda *)d;
    *out = (tr_dev_about){0};
    if (atomic_load(&c->forked))
        return;
    if (c->fn.name(out->name, sizeof out->name - 1, c->device))
        snprintf(out->name, sizeof out->name, "a GPU");
    if (c->fn.uuid && c->fn.uuid(out->uuid, c->device))
        memset(out->uuid, 0, sizeof out->uuid);
    if (c->fn.version(&out->driver))
        out->driver = 0;
}

/* --- launches --- */

static void pack(const tr_dev_code *code, const tr_slot *slots, unsigned char *buf) {
    memcpy(buf, &code->record, sizeof code->record);
    for (uint32_t k = 0; k < code->nparts; k++) {
        const tr_dev_part *p = &code->parts[k];
        const tr_slot *s = &slots[p->slot];
        switch (p->size) { /* of a length that is known it is one instruction */
        case 8: memcpy(buf + p->offset, s, 8); break;
        case 4: memcpy(buf + p->offset, s, 4); break;
        case 2: memcpy(buf + p->offset, s, 2); break;
        default: memcpy(buf + p->offset, s, 1); break;
        }
    }
}

static int allow_shared(tr_cuda *c, tr_dev_code *code, unsigned bytes) {
    int status = c->fn.function_set(code->function, FN_SHARED, (int)bytes);
    if (!status)
        code->shared = bytes;
    return status;
}

/* All blocks at once. This call has no form for a buffer: it takes the address of each parameter. */
static int launch_together(tr_cuda *c, const tr_dev_code *code, const unsigned n[7], unsigned char *buf,
                           void *stream) {
    void *params[PARAMETERS];
    params[0] = buf;
    for (uint32_t k = 0; k < code->nparts; k++)
        params[k + 1] = buf + code->parts[k].offset;
    return c->fn.launch_together(code->function, n[0], n[1], n[2], n[3], n[4], n[5], n[6], stream, params);
}

static int launch(tr_cuda *c, const tr_dev_launch *l, void *stream) {
    enum { END, BUFFER, SIZE };
    _Alignas(16) unsigned char buf[PARAMETERS];
    tr_dev_code *code = (tr_dev_code *)(uintptr_t)l->code;
    unsigned n[7];
    size_t bytes = code->bytes;
    assert(l->nsizes == 7 && bytes <= sizeof buf);
    for (uint32_t k = 0; k < 7; k++)
        n[k] = (unsigned)l->slots[k].i;
    pack(code, l->slots + l->nsizes, buf);
    int status = n[6] > code->shared ? allow_shared(c, code, n[6]) : 0;
    void *how[] = {(void *)BUFFER, buf, (void *)SIZE, &bytes, (void *)END};
    c->latest = code;
    if (!status && code->cooperative)
        return launch_together(c, code, n, buf, stream);
    return status ? status
                  : c->fn.launch(code->function, n[0], n[1], n[2], n[3], n[4], n[5], n[6], stream, NULL, how);
}

static int32_t launch_now(tr_dev *d, tr_dev_stream *s, const tr_dev_launch *l) {
    tr_cuda *c = (tr_cuda *)d;
    int32_t code = atomic_load_explicit(&c->stopping, memory_order_relaxed) ? TR_CODE_ENDED : cuda_enter(c);
    int status = code ? 0 : launch(c, l, s ? ((cuda_stream *)s)->handle : NULL);
    atomic_fetch_add_explicit(s ? &((cuda_stream *)s)->work.given : &c->work.given, 1, memory_order_relaxed);
    return code ? code : status ? cuda_refused(c, "cuLaunchKernel", status) : 0;
}

static void *call_there(void *arg) {
    const tr_dev_job *j = arg;
    tr_dev_call_host(&j->u.call, cuda_look(&the_gpu) ? TR_CODE_DEVICE : 0);
    return NULL;
}

/* On a thread of the driver's, which may not call the driver: where the function frees memory, or launches, another thread must. */
static void call_host(void *arg) {
    pthread_t t;
    if (pthread_create(&t, NULL, call_there, arg) == 0)
        pthread_join(t, NULL);
    else
        call_there(arg);
}

int32_t cuda_do(tr_cuda *c, void *stream, tr_dev_job *j) {
    static const char *const what[] = {[TR_DEV_LAUNCH] = "cuLaunchKernel",
                                       [TR_DEV_COPY] = "cuMemcpyAsync",
                                       [TR_DEV_FILL] = "cuMemsetD8Async",
                                       [TR_DEV_CALL] = "cuLaunchHostFunc"};
    int32_t code = cuda_enter(c);
    int status = 0;
    if (code)
        return code;
    switch (j->op) {
    case TR_DEV_LAUNCH: status = launch(c, &j->u.launch, stream); break;
    case TR_DEV_COPY: status = cuda_copy(c, &j->u.copy, stream); break;
    case TR_DEV_FILL:
        status = j->u.fill.bytes
                     ? c->fn.fill((uint64_t)(uintptr_t)j->u.fill.to, j->u.fill.value, j->u.fill.bytes, stream)
                     : 0;
        break;
    case TR_DEV_CALL: status = c->fn.call(stream, call_host, j); break;
    default: return 0;
    }
    return status ? cuda_refused(c, what[j->op], status) : 0;
}

/* --- code --- */

/* A record of exceptions. NULL: no memory. */
static tr_dev_error *take_record(tr_cuda *c) {
    cuda_records *r = c->records;
    while (r && r->taken == (UINT64_C(1) << CUDA_RECORDS) - 1)
        r = r->next;
    if (!r) {
        void *at = NULL;
        if (!(r = calloc(1, sizeof *r)) ||
            c->fn.host_alloc(&at, CUDA_RECORDS * sizeof(tr_dev_error), CUDA_HOST_SHARED)) {
            free(r);
            return NULL;
        }
        r->at = at;
        r->next = c->records;
        c->records = r;
    }
    int k = __builtin_ctzll(~r->taken);
    r->taken |= UINT64_C(1) << k;
    memset(r->at + k, 0, sizeof *r->at);
    return r->at + k;
}

static void give_record(tr_cuda *c, const tr_dev_error *e) {
    for (cuda_records *r = c->records; e && r; r = r->next)
        if (e >= r->at && e < r->at + CUDA_RECORDS)
            r->taken &= ~(UINT64_C(1) << (e - r->at));
}

static bool load_module(tr_cuda *c, const tr_dev_image *im, tr_dev_code *code, char *msg, size_t room) {
    enum { ERROR_LOG = 5, ERROR_BYTES = 6 }; /* CU_JIT_ERROR_LOG_BUFFER, _SIZE_BYTES */
    char log[LOG] = "";
    int options[] = {ERROR_LOG, ERROR_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    int status = c->fn.load(&code->module, im->text, 2, options, values);
    log[sizeof log - 1] = 0;
    if (status) {
        cuda_refused(c, "cuModuleLoadDataEx", status);
        snprintf(msg, room, "the driver does not load the code of kernel %.60s: %s (%d)%s%s", im->name,
                 name_of(c, status), status, *log ? "\n" : "", log);
        return false;
    }
    status = c->fn.function(&code->function, code->module, im->name);
    if (!status)
        return true;
    cuda_refused(c, "cuModuleGetFunction", status);
    snprintf(msg, room, "the code of kernel %.60s lacks it: %s (%d)", im->name, name_of(c, status), status);
    c->fn.unload(code->module);
    return false;
}

static void *assemble(tr_dev *d, const char *text, size_t *size) {
    enum { PTX = 1 }; /* CU_JIT_INPUT_PTX */
    tr_cuda *c = (tr_cuda *)d;
    void *state = NULL, *made = NULL, *copy = NULL;
    *size = 0;
    if (cuda_enter(c) || c->fn.link_new(0, NULL, NULL, &state))
        return NULL;
    if (!c->fn.link_add(state, PTX, text, strlen(text) + 1, "kernel.ptx", 0, NULL, NULL) &&
        !c->fn.link_end(state, &made, size) && (copy = malloc(*size)))
        memcpy(copy, made, *size);
    c->fn.link_free(state);
    return copy;
}

static tr_dev_code *load(tr_dev *d, const tr_dev_image *im, char *msg, size_t room) {
    tr_cuda *c = (tr_cuda *)d;
    size_t parts = im->nparts * sizeof *im->parts;
    tr_dev_code *code = calloc(1, sizeof *code + parts);
    int32_t reason = cuda_enter(c);
    if (reason && reason != TR_CODE_DEVICE)
        snprintf(msg, room, "a GPU that was used before a fork cannot be used after it");
    else if (reason)
        explain(d, msg, room);
    if (!code)
        snprintf(msg, room, "no memory for the code of kernel %.60s", im->name);
    if (reason || !code || !load_module(c, im, code, msg, room)) {
        free(code);
        return NULL;
    }
    code->nparts = im->nparts;
    code->bytes = im->bytes;
    code->shared = FREE_SHARED;
    code->owner = im->owner;
    code->cooperative = im->cooperative;
    memcpy(code->parts, im->parts, parts);
    pthread_mutex_lock(&c->lock);
    bool ok = !im->raises || (code->record = take_record(c));
    if (ok) {
        code->next = c->codes;
        if (code->next)
            code->next->prev = code;
        c->codes = code;
    }
    pthread_mutex_unlock(&c->lock);
    if (ok)
        return code;
    c->fn.unload(code->module);
    free(code);
    snprintf(msg, room, "no memory for what kernel %.60s raises", im->name);
    return NULL;
}

static int32_t takes(tr_dev *d, const tr_dev_code *code, tr_dev_takes *out) {
    tr_cuda *c = (tr_cuda *)d;
    const struct {
        int which; /* CUfunction_attribute */
        int *value;
    } all[] = {
        {0, &out->threads}, {1, &out->shared}, {2, &out->constant}, {3, &out->local}, {4, &out->registers}};
    int32_t reason = cuda_enter(c);
    for (size_t k = 0; k < sizeof all / sizeof *all && !reason; k++) {
        int status = c->fn.function_get(all[k].value, all[k].which, code->function);
        reason = status ? cuda_refused(c, "cuFuncGetAttribute", status) : 0;
    }
    return reason;
}

/* In front of a question about blocks with so much shared memory. */
static int32_t enter_with(tr_cuda *c, tr_dev_code *code, uint32_t shared) {
    int32_t reason = cuda_enter(c);
    int status = !reason && shared > code->shared ? allow_shared(c, code, shared) : 0;
    return status ? cuda_refused(c, "cuFuncSetAttribute", status) : reason;
}

static int32_t held(tr_dev *d, tr_dev_code *code, uint32_t threads, uint32_t shared, int *blocks) {
    tr_cuda *c = (tr_cuda *)d;
    int32_t reason = enter_with(c, code, shared);
    int status = reason ? 0 : c->fn.occupancy(blocks, code->function, (int)threads, shared);
    return status ? cuda_refused(c, "cuOccupancyMaxActiveBlocksPerMultiprocessor", status) : reason;
}

static int32_t suits(tr_dev *d, tr_dev_code *code, uint32_t shared, uint32_t limit, int *blocks,
                     int *threads) {
    tr_cuda *c = (tr_cuda *)d;
    int32_t reason = enter_with(c, code, shared);
    int status = reason ? 0 : c->fn.potential(blocks, threads, code->function, NULL, shared, (int)limit);
    return status ? cuda_refused(c, "cuOccupancyMaxPotentialBlockSize", status) : reason;
}

/* With the lock. */
static void drop_code(tr_cuda *c, tr_dev_code *code) {
    *(code->prev ? &code->prev->next : &c->codes) = code->next;
    if (code->next)
        code->next->prev = code->prev;
    give_record(c, code->record);
}

void cuda_see_orphans(tr_cuda *c) {
    pthread_mutex_lock(&c->lock);
    for (tr_dev_code *code = c->codes; code; code = code->next)
        code->orphan = code->orphan ? 2 : 0;
    pthread_mutex_unlock(&c->lock);
}

void cuda_unload_orphans(tr_cuda *c) {
    tr_dev_code *gone = NULL;
    pthread_mutex_lock(&c->lock);
    for (tr_dev_code *code = c->codes, *next; code; code = next) {
        next = code->next;
        if (code->orphan == 2) {
            drop_code(c, code);
            code->next = gone;
            gone = code;
        }
    }
    pthread_mutex_unlock(&c->lock);
    for (tr_dev_code *next; gone; gone = next) {
        next = gone->next;
        if (cuda_gives_back(c))
            c->fn.unload(gone->module);
        free(gone);
    }
}

/* It may be at work, or wait for a call that waits for who is here: then it goes when nothing is. */
static void unload(tr_dev *d, tr_dev_code *code) {
    tr_cuda *c = (tr_cuda *)d;
    uint64_t ticket = 0;
    bool idle = cuda_reached(d, NULL, &ticket, 0); /* what it raised is noted */
    pthread_mutex_lock(&c->lock);
    code->orphan = idle ? 2 : 1;
    if (c->latest == code)
        c->latest = NULL;
    for (unsigned k = 0; k < CUDA_FAILURES; k++) /* nobody is left to whom it says something */
        if (c->failure[k].owner == code->owner)
            c->failure[k].owner = NULL;
    code->owner = NULL;
    pthread_mutex_unlock(&c->lock);
    if (idle)
        cuda_unload_orphans(c);
}

/* --- the device --- */

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
    .load = load,
    .assemble = assemble,
    .unload = unload,
    .launch = launch_now,
    .takes = takes,
    .held = held,
    .suits = suits,
    .explain = explain,
#define X(result, name, params) .name = cuda_##name,
#include "dev/queue.def"
#undef X
};

static bool refuse(const tr_cuda *c, const char *what, int status, char *msg, size_t room) {
    if (status == TR_CUDA_STUB)
        snprintf(msg, room, "libcuda is the toolkit's stub here, and no driver");
    else if (status == TR_CUDA_NO_DEVICE)
        snprintf(msg, room, "there is a CUDA driver, and no GPU");
    else if (status == TR_CUDA_MISMATCH)
        snprintf(msg, room, "libcuda and the kernel's driver are of different versions");
    else
        snprintf(msg, room, "%s: %s (%d)", what, name_of(c, status), status);
    return false;
}

/* They live as long as the process. What is missing the default stream does. */
static void open_order(tr_cuda *c) {
    enum { APART = 1 /* CU_STREAM_NON_BLOCKING */, NO_TIMING = 2 /* CU_EVENT_DISABLE_TIMING */ };
    if (c->fn.current(c->context))
        return;
    if (c->fn.stream_new(&c->allocs, APART))
        c->allocs = NULL;
    if (c->fn.stream_new(&c->frees, APART))
        c->frees = NULL;
    if (c->fn.event_new(&c->place, NO_TIMING))
        c->place = NULL;
}

/* Freed memory stays the pool's: by default each synchronisation gives it back to the system. */
static void keep_memory(tr_cuda *c) {
    uint64_t all = UINT64_MAX;
    void *pool;
    int has = 0;
    if (c->fn.alloc_on && c->fn.free_on && c->fn.pool && c->fn.pool_set &&
        !c->fn.attribute(&has, ATTR_POOLS, c->device) && has && !c->fn.pool(&pool, c->device) &&
        !c->fn.pool_set(pool, POOL_THRESHOLD, &all)) {
        open_order(c);
        return;
    }
    c->fn.alloc_on = NULL; /* none, or none that keeps */
    c->fn.free_on = NULL;
}

/* Is there code for it (target/nvptx64.c)? */
static bool knows(const tr_cuda *c, char *msg, size_t room) {
    enum { LEAST = 75 };
    int major = 0, minor = 0;
    c->fn.attribute(&major, ATTR_MAJOR, c->device);
    c->fn.attribute(&minor, ATTR_MINOR, c->device);
    if (major * 10 + minor >= LEAST)
        return true;
    snprintf(msg, room, "the GPU has compute capability %d.%d, and Treadle makes code for %d.%d and up",
             major, minor, LEAST / 10, LEAST % 10);
    return false;
}

static bool open_context(tr_cuda *c, char *msg, size_t room) {
    int n = 0, status;
    if ((status = c->fn.init(0)))
        return refuse(c, "cuInit", status, msg, room);
    if ((status = c->fn.count(&n)) || n == 0)
        return refuse(c, "cuDeviceGetCount", status ? status : TR_CUDA_NO_DEVICE, msg, room);
    if ((status = c->fn.device(&c->device, 0)))
        return refuse(c, "cuDeviceGet", status, msg, room);
    if (!knows(c, msg, room))
        return false;
    if ((status = c->fn.context(&c->context, c->device)))
        return refuse(c, "cuDevicePrimaryCtxRetain", status, msg, room);
    keep_memory(c);
    return true;
}

static void fork_lock(void) {
    pthread_mutex_lock(&the_gpu.lock);
}

static void fork_unlock(void) {
    pthread_mutex_unlock(&the_gpu.lock);
}

static void fork_child(void) {
    pthread_mutex_init(&the_gpu.lock, NULL);
    atomic_store(&the_gpu.forked, the_gpu.context != NULL);
}

tr_dev *tr_dev_open_cuda(const tr_dev_host *h, char *msg, size_t room) {
    tr_cuda *c = &the_gpu;
    pthread_mutex_lock(&c->lock);
    if (!c->dev.ops && tr_cuda_load(h->driver, &c->fn, msg, room) && open_context(c, msg, room)) {
        c->lo = UINTPTR_MAX;
        cuda_queue_open(c);
        pthread_atfork(fork_lock, fork_unlock, fork_child);
        c->dev.ops = &ops;
    }
    tr_dev *d = c->dev.ops ? &c->dev : NULL;
    pthread_mutex_unlock(&c->lock);
    return d;
}
