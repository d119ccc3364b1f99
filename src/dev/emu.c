/* The emulated device: the host's own cores and memory behind the table of a device.
 *
 * A launch is a call of a kernel's entry (opt/grid/grid.c made loops of its threads); a copy is memcpy.
 * Memory is a range of addresses of its own (emu_mem.c), so that what is not the device's is found before it
 * is used; streams are queues served by threads (emu_queue.c). Limits are those of hardware (CUDA C
 * Programming Guide, technical specifications by compute capability: 9.0 here), so that what runs on it fits
 * a GPU. There is one for the process, as there is one pool of threads. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dev/emu.h"
#include "rt/enter.h"
#include "rt/pool.h"

/* State of the process. */
static tr_emu emu = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- jobs --- */

static int32_t launch(tr_emu *e, tr_dev_launch *l) {
    tr_slot none;
    if (!l->frame->host) /* on a stream; the caller's own is that of a launch which is done at once */
        l->frame->host = &e->launch_host;
    return tr_rt_run((tr_entry_fn)(uintptr_t)l->code, l->frame, l->slots, &none);
}

static int32_t work(tr_emu *e, const tr_dev_work *w) {
    const tr_dev_at at = {.device = &e->dev, .host = &e->launch_host};
    return w->fn(w->arg, &at);
}

int32_t emu_do(tr_emu *e, tr_dev_job *j) {
    switch (j->op) {
    case TR_DEV_LAUNCH: return launch(e, &j->u.launch);
    case TR_DEV_COPY: return tr_dev_copy_here(&j->u.copy);
    case TR_DEV_FILL: memset(j->u.fill.to, j->u.fill.value, j->u.fill.bytes); return 0;
    case TR_DEV_CALL: tr_dev_call_host(&j->u.call, j->code); return 0;
    case TR_DEV_WORK: return work(e, &j->u.work);
    default: return 0;
    }
}

/* What launches on streams ask of their host. */
static void host_write(void *self, const char *text, size_t n) {
    const tr_emu *e = self;
    if (e->host.write)
        e->host.write(e->host.self, text, n);
}

static bool host_poll(void *self) {
    return atomic_load_explicit(&((tr_emu *)self)->stopping, memory_order_relaxed);
}

static void *host_compile(void *self, tr_late *l) {
    const tr_host *h = ((tr_emu *)self)->host.host;
    return h->compile(h->self, l);
}

static void set_host(tr_emu *e, const tr_dev_host *h) {
    e->host = *h;
    e->launch_host = (tr_host){.write = host_write, .self = e, .poll = host_poll};
    if (h->host) {
        e->launch_host.blocks = h->host->blocks;
        e->launch_host.compile = h->host->compile ? host_compile : NULL;
    }
}

/* --- limits --- */

/* Of the largest cache that cores have in common. */
static int64_t cache_bytes(void) {
    long third = sysconf(_SC_LEVEL3_CACHE_SIZE), second = sysconf(_SC_LEVEL2_CACHE_SIZE);
    long most = third > second ? third : second;
    return most > 0 ? most : 0;
}

static int64_t attribute(tr_dev *d, int number, tr_dev_attr a) {
    (void)number;
    (void)d;
    switch (a) {
    case TR_DEV_MAX_THREADS_PER_BLOCK: return 1024;
    case TR_DEV_MAX_BLOCK_DIM_X: return 1024;
    case TR_DEV_MAX_BLOCK_DIM_Y: return 1024;
    case TR_DEV_MAX_BLOCK_DIM_Z: return 64;
    case TR_DEV_MAX_GRID_DIM_X: return INT32_MAX;
    case TR_DEV_MAX_GRID_DIM_Y: return 65535;
    case TR_DEV_MAX_GRID_DIM_Z: return 65535;
    case TR_DEV_MAX_SHARED_MEMORY_PER_BLOCK: return 48 << 10;
    case TR_DEV_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return 227 << 10;
    case TR_DEV_MAX_PARAMETER_BYTES: return 4096;
    case TR_DEV_TOTAL_CONSTANT_MEMORY: return 64 << 10;
    case TR_DEV_WARP_SIZE: return 32;
    case TR_DEV_MULTIPROCESSOR_COUNT: return tr_rt_pool_size();
    case TR_DEV_COMPUTE_CAPABILITY_MAJOR: return 9;
    case TR_DEV_COMPUTE_CAPABILITY_MINOR: return 0;
    case TR_DEV_ASYNC_ENGINE_COUNT: return 1;
    case TR_DEV_CONCURRENT_KERNELS: return 1;
    case TR_DEV_CAN_MAP_HOST_MEMORY: return 1;
    case TR_DEV_UNIFIED_ADDRESSING: return 1;
    case TR_DEV_MANAGED_MEMORY: return 1;
    case TR_DEV_COOPERATIVE_LAUNCH: return 0;
    case TR_DEV_ECC_ENABLED: return 0;
    case TR_DEV_INTEGRATED: return 1;
    case TR_DEV_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return 228 << 10;
    case TR_DEV_RESERVED_SHARED_MEMORY_PER_BLOCK: return 1 << 10;
    case TR_DEV_MAX_REGISTERS_PER_BLOCK: return 65536;
    case TR_DEV_MAX_REGISTERS_PER_MULTIPROCESSOR: return 65536;
    case TR_DEV_MAX_THREADS_PER_MULTIPROCESSOR: return 2048;
    case TR_DEV_MAX_BLOCKS_PER_MULTIPROCESSOR: return 32;
    case TR_DEV_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: return 2;
    case TR_DEV_L2_CACHE_SIZE: return cache_bytes();
    default: return 0;
    }
}

static void describe(tr_dev *d, int number, tr_dev_about *out) {
    (void)d;
    (void)number;
    *out = (tr_dev_about){.name = "Treadle's emulated device"};
}

/* --- memory --- */

/* There is one memory. */
static int32_t mem_alloc(tr_dev *d, tr_dev_place place, tr_dev_stream *s, uint64_t bytes, tr_dev_mem *out) {
    (void)s;
    tr_emu *e = (tr_emu *)d;
    pthread_mutex_lock(&e->lock);
    int32_t code = emu_alloc(&e->mem, bytes, out);
    out->place = place;
    pthread_mutex_unlock(&e->lock);
    return code;
}

static void mem_free(tr_dev *d, const tr_dev_mem *m) {
    tr_emu *e = (tr_emu *)d;
    pthread_mutex_lock(&e->lock);
    emu_free(&e->mem, m);
    pthread_mutex_unlock(&e->lock);
}

static bool mem_find(tr_dev *d, const void *at, tr_dev_mem *out) {
    tr_emu *e = (tr_emu *)d;
    pthread_mutex_lock(&e->lock);
    bool found = emu_find(&e->mem, at, out);
    pthread_mutex_unlock(&e->lock);
    return found;
}

static bool mem_owns(const tr_dev *d, const void *at) {
    return emu_owns(&((const tr_emu *)d)->mem, at);
}

static void mem_info(tr_dev *d, uint64_t *left, uint64_t *total) {
    tr_emu *e = (tr_emu *)d;
    pthread_mutex_lock(&e->lock);
    *left = e->mem.left;
    *total = e->mem.left + e->mem.used;
    pthread_mutex_unlock(&e->lock);
}

/* --- the device --- */

static const tr_dev_ops ops = {
    .name = "emu",
    .describe = describe,
    .attribute = attribute,
    .alloc = mem_alloc,
    .free = mem_free,
    .find = mem_find,
    .owns = mem_owns,
    .memory = mem_info,
#define X(result, name, params) .name = emu_##name,
#include "dev/queue.def"
#undef X
};

/* The lock is taken around a fork, so that what it guards is whole in the child. */
static void fork_lock(void) {
    pthread_mutex_lock(&emu.lock);
}

static void fork_unlock(void) {
    pthread_mutex_unlock(&emu.lock);
}

static void fork_child(void) {
    pthread_mutex_init(&emu.lock, NULL);
    emu_queue_forked(&emu);
}

tr_dev *tr_dev_open_emu(const tr_dev_host *h, char *msg, size_t room) {
    pthread_mutex_lock(&emu.lock);
    if (!emu.dev.ops && emu_mem_open(&emu.mem, msg, room)) {
        set_host(&emu, h);
        emu_queue_open(&emu);
        pthread_atfork(fork_lock, fork_unlock, fork_child);
        emu.dev.ops = &ops;
    }
    tr_dev *d = emu.dev.ops ? &emu.dev : NULL;
    pthread_mutex_unlock(&emu.lock);
    return d;
}
