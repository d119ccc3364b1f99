/* The CUDA device by a driver that is none (tests/fake): memory, copies, launches, streams,
 * events, what kernels raise; each call of the driver's fails once, and nothing is left
 * behind; a fork; the end of a context. */
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dev/cuda.h"
#include "../fake/cuda.h"
#include "rt/rt.h"

static tr_dev *d;
static const tr_dev_ops *ops;
static fake_reset_fn *reset;
static fake_fail_fn *fail;
static fake_calls_fn *calls;
static fake_register_fn *reg;
static fake_host_fn *host_of;
static fake_alive_fn *alive;
static fake_run_fn *run;
static fake_hold_fn *hold;

static bool failing;  /* a call of the driver's is to fail */
static unsigned kept; /* what the device keeps of the driver's as long as it lives */

static uint64_t next(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* --- the fake, and opening --- */

static void *symbol(void *lib, const char *name) {
    void *at = dlsym(lib, name);
    assert(at);
    return at;
}

static void open_fake(void) {
    void *lib = dlopen(TR_FAKE_CUDA, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        fprintf(stderr, "%s\n", dlerror());
    assert(lib);
#define GET(var, name)                  \
    do {                                \
        void *at = symbol(lib, name);   \
        memcpy(&(var), &at, sizeof at); \
    } while (0)
    GET(reset, "fake_reset");
    GET(fail, "fake_fail");
    GET(calls, "fake_calls");
    GET(reg, "fake_register");
    GET(host_of, "fake_host");
    GET(alive, "fake_alive");
    GET(run, "fake_run");
    GET(hold, "fake_hold");
}

static tr_dev *try_open(const char *driver, char *msg, size_t room) {
    tr_dev_host h = {.driver = driver};
    *msg = 0;
    return tr_dev_open("cuda", &h, msg, room);
}

static void test_open(void) {
    static const char *const second[] = {"cuDevicePrimaryCtxRetain", "cuCtxSetCurrent"};
    static const struct {
        const char *symbol;
        int status;
        const char *says;
    } wrong[] = {{"cuInit", 100, "there is a CUDA driver, and no GPU"},
                 {"cuInit", 34, "stub"},
                 {"cuInit", 803, "different versions"},
                 {"cuInit", 999, "cuInit: an unknown error (999)"},
                 {"cuDeviceGetCount", 1, "cuDeviceGetCount: CUDA_ERROR_INVALID_VALUE (1)"},
                 {"cuDeviceGet", 1, "cuDeviceGet: "},
                 {"cuDevicePrimaryCtxRetain", 2, "cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY (2)"}};
    char msg[200];
    assert(!try_open("/nowhere/libcuda.so.1", msg, sizeof msg) &&
           strstr(msg, "there is no CUDA driver here: "));
    assert(!try_open("libm.so.6", msg, sizeof msg) && strstr(msg, "has no cuInit"));
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        fail(wrong[k].symbol, 1, wrong[k].status);
        assert(!try_open(TR_FAKE_CUDA, msg, sizeof msg) && strstr(msg, wrong[k].says));
    }
    d = try_open(TR_FAKE_CUDA, msg, sizeof msg);
    assert(d && try_open(NULL, msg, sizeof msg) == d);
    ops = d->ops;
    assert(ops->attribute(d, TR_DEV_HERE, TR_DEV_MAX_THREADS_PER_BLOCK) == 1024 &&
           ops->attribute(d, TR_DEV_HERE, TR_DEV_WARP_SIZE) == 32 &&
           ops->attribute(d, TR_DEV_HERE, TR_DEV_MAX_PARAMETER_BYTES) == 4096);
    assert(ops->count(d) == 2 && ops->number(d, NULL) == 0 && alive() == 3);
    for (size_t k = 0; k < sizeof second / sizeof *second; k++) {
        fail(second[k], 1, 999);
        assert(!ops->select(d, 1, msg, sizeof msg) && strstr(msg, second[k]) && ops->number(d, NULL) == 0);
    }
    assert(ops->select(d, 1, msg, sizeof msg) && ops->number(d, NULL) == 1 &&
           ops->attribute(d, TR_DEV_HERE, TR_DEV_COMPUTE_CAPABILITY_MAJOR) == 8 &&
           ops->attribute(d, 0, TR_DEV_COMPUTE_CAPABILITY_MAJOR) == 9);
    assert(ops->select(d, 0, msg, sizeof msg));
    kept = alive();
    assert(kept == 6);
    reset();
}

/* --- memory and copies --- */

static void test_memory(void) {
    enum { HELD = 60 };
    tr_dev_mem held[HELD], m;
    uint64_t seed = 5, left, total, first;
    int n = 0;
    ops->memory(d, &first, &total);
    for (int i = 0; i < 4000; i++) {
        if (n < HELD && next(&seed) % 2) {
            assert(ops->alloc(d, TR_DEV_LOCAL, NULL, next(&seed) % 5000, &held[n]) == 0 &&
                   ops->owns(d, held[n].at));
            n++;
        } else if (n) {
            uint64_t k = next(&seed) % (uint64_t)n;
            char *last = (char *)held[k].at + (held[k].bytes ? held[k].bytes - 1 : 0);
            assert(ops->find(d, last, &m) && m.at == held[k].at);
            ops->free(d, &held[k]);
            assert(!ops->find(d, held[k].at, &m));
            held[k] = held[--n];
        }
    }
    while (n)
        ops->free(d, &held[--n]);
    ops->memory(d, &left, &total);
    assert(left == first && !ops->owns(d, &left) && alive() == kept);
    assert(ops->alloc(d, TR_DEV_LOCAL, NULL, UINT64_C(1) << 40, &m) == TR_CODE_MEMORY && alive() == kept);
}

static tr_dev_job copy_job(const tr_dev_copy *c) {
    tr_dev_job j = {.op = TR_DEV_COPY};
    j.u.copy = *c;
    return j;
}

static void test_copies(void) {
    enum { SIZE = 1 << 14, MID = SIZE / 2 };
    static uint8_t from[SIZE], to[SIZE], want[SIZE], was[SIZE];
    tr_dev_mem there;
    uint64_t seed = 11;
    assert(ops->alloc(d, TR_DEV_LOCAL, NULL, SIZE, &there) == 0);
    for (int round = 0; round < 2000; round++) {
        static const uint64_t items[] = {1, 2, 4, 8, 16, 3};
        int way = (int)(next(&seed) % 3); /* to the device, from it, within it */
        for (int i = 0; i < SIZE; i++) {
            from[i] = (uint8_t)next(&seed);
            to[i] = 0;
        }
        uint8_t *seen = host_of((uint64_t)(uintptr_t)there.at);
        memcpy(seen, way == 0 ? to : from, SIZE);
        uint8_t *target = way == 1 ? to : seen, *source = way == 0 ? from : seen;
        tr_dev_copy c = {.to = (way == 1 ? to : (uint8_t *)there.at) + MID,
                         .from = (way == 0 ? from : (uint8_t *)there.at) + MID,
                         .item = items[next(&seed) % 6],
                         .ndim = (uint32_t)(next(&seed) % 4)};
        uint64_t order = next(&seed), step = c.item, other = c.item;
        for (uint32_t k = 0; k < c.ndim; k++) {
            c.shape[k] = (int64_t)(next(&seed) % 5);
            c.to_stride[k] = (int64_t)(step * (1 + next(&seed) % 2)) * (order >> k & 1 ? 1 : -1);
            step = (uint64_t)llabs(c.to_stride[k]) * (uint64_t)(c.shape[k] ? c.shape[k] : 1);
            c.from_stride[k] = (int64_t)(other * (next(&seed) % 3)) * (order >> k & 8 ? 1 : -1);
            other = other * (uint64_t)(c.shape[k] ? c.shape[k] : 1);
        }
        memcpy(was, source, SIZE);
        memcpy(want, target, SIZE);
        int64_t n = 1;
        for (uint32_t k = 0; k < c.ndim; k++)
            n *= c.shape[k];
        for (int64_t at = 0; at < n; at++) {
            int64_t rest = at, t = MID, f = MID;
            for (uint32_t k = 0; k < c.ndim; k++) {
                t += rest % c.shape[k] * c.to_stride[k];
                f += rest % c.shape[k] * c.from_stride[k];
                rest /= c.shape[k];
            }
            memcpy(want + t, was + f, c.item);
        }
        tr_dev_job j = copy_job(&c);
        assert(ops->submit(d, NULL, &j) == 0);
        assert(memcmp(target, want, SIZE) == 0);
    }
    tr_dev_job j = {.op = TR_DEV_FILL};
    j.u.fill = (tr_dev_fill){there.at, 100, 7};
    assert(ops->submit(d, NULL, &j) == 0 && *((uint8_t *)host_of((uint64_t)(uintptr_t)there.at) + 99) == 7);
    ops->free(d, &there);
    assert(alive() == kept);
}

/* --- launches --- */

static struct {
    int n;
    fake_launch last;
    unsigned char params[256];
    int32_t raise;
} seen;

static void kernel(const fake_launch *l, void *self) {
    (void)self;
    seen.n++;
    seen.last = *l;
    memcpy(seen.params, l->params, l->bytes);
    if (seen.raise) {
        tr_dev_error *e;
        memcpy(&e, l->params, sizeof e);
        e->code = seen.raise;
        e->thread[0] = 5;
        e->payload[0].i = 42;
    }
}

/* Parameters: the record, an int32, an address, a double, a bool. */
static const tr_dev_part parts[] = {{0, 4, 8}, {1, 8, 16}, {2, 8, 24}, {3, 1, 32}};
static const tr_dev_image image = {.text = "kernel k",
                                   .source = "kernel k",
                                   .name = "k",
                                   .parts = parts,
                                   .nparts = 4,
                                   .bytes = 33,
                                   .raises = true,
                                   .owner = &seen};

static tr_dev_code *load(void) {
    char msg[300];
    tr_dev_code *code = ops->load(d, &image, msg, sizeof msg);
    if (!code)
        fprintf(stderr, "%s\n", msg);
    return code;
}

typedef struct work {
    tr_dev_job job;
    tr_slot slots[11];
} work;
static _Atomic int released;

static void on_release(tr_dev_job *j) {
    released++;
    free(j);
}

static work *make(const tr_dev_code *code, int64_t shared) {
    work *w = calloc(1, sizeof *w);
    const int64_t sizes[7] = {3, 2, 1, 64, 1, 1, shared};
    for (int k = 0; k < 7; k++)
        w->slots[k].i = sizes[k];
    w->slots[7].i = -5;
    w->slots[8].p = (void *)0x1234;
    w->slots[9].f = 2.5;
    w->slots[10].b = 1;
    w->job = (tr_dev_job){.op = TR_DEV_LAUNCH, .refs = 1, .release = on_release};
    w->job.u.launch = (tr_dev_launch){code, w->slots, 11, 7, NULL};
    return w;
}

static int32_t put(tr_dev_stream *s, const tr_dev_code *code, int64_t shared) {
    work *w = make(code, shared);
    int32_t r = ops->submit(d, s, &w->job);
    if (!s || r)
        free(w);
    return r;
}

static void await(tr_dev_stream *s) {
    uint64_t ticket = 0;
    run(1);
    while (!ops->reached(d, s, &ticket, 1000000))
        run(1);
}

static void test_launches(void) {
    char msg[300];
    tr_dev_image bad = image;
    bad.text = "nothing";
    assert(!ops->load(d, &bad, msg, sizeof msg) &&
           strstr(msg, "kernel k: CUDA_ERROR_INVALID_PTX (218)\nline 1: a kernel"));
    bad.text = "kernel other";
    assert(!ops->load(d, &bad, msg, sizeof msg) && strstr(msg, "lacks it: CUDA_ERROR_NOT_FOUND") &&
           alive() == kept);
    tr_dev_code *code = load();
    assert(code && put(NULL, code, 100) == 0 && seen.n == 1);
    const fake_launch *l = &seen.last;
    assert(l->grid[0] == 3 && l->grid[1] == 2 && l->grid[2] == 1 && l->block[0] == 64 && l->shared == 100 &&
           l->bytes == 33);
    int32_t i;
    double f;
    void *p, *record;
    memcpy(&record, seen.params, 8);
    memcpy(&i, seen.params + 8, 4);
    memcpy(&p, seen.params + 16, 8);
    memcpy(&f, seen.params + 24, 8);
    assert(record == code->record && i == -5 && p == (void *)0x1234 && f == 2.5 && seen.params[32] == 1);
    reset();
    assert(put(NULL, code, 100 << 10) == 0 && put(NULL, code, 99 << 10) == 0 &&
           calls("cuFuncSetAttribute") == 1);
    assert(put(NULL, code, 228 << 10) == TR_CODE_DEVICE);
    ops->explain(d, msg, sizeof msg);
    assert(!strcmp(msg, "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE (1)"));
    fail("cuLaunchKernel", 1, 701);
    assert(put(NULL, code, 0) == TR_CODE_DEVICE && put(NULL, code, 0) == 0);
    reset();
    assert(put(NULL, code, 0) == 0 && calls(NULL) == 2); /* the context, the launch */
    ops->unload(d, code);
    assert(alive() == kept);
}

static void test_exceptions(void) {
    tr_dev_code *code = load(), *other = load();
    tr_dev_failure f;
    uint64_t ticket = 0;
    seen.raise = 3;
    assert(put(NULL, code, 0) == 0 && !ops->take(d, NULL, &f)); /* nobody has waited yet */
    seen.raise = 0;
    assert(put(NULL, other, 0) == 0 && ops->reached(d, NULL, &ticket, 0));
    assert(ops->take(d, NULL, &f) && f.code == 3 && f.owner == &seen && f.error.thread[0] == 5 &&
           f.error.payload[0].i == 42 && !f.job);
    assert(!ops->take(d, NULL, &f) && ops->reached(d, NULL, &ticket, 0) && !ops->take(d, NULL, &f));
    seen.raise = 4;
    assert(put(NULL, other, 0) == 0 && ops->reached(d, NULL, &ticket, 0));
    seen.raise = 0;
    ops->unload(d, other); /* before it was told */
    assert(ops->take(d, NULL, &f) && f.code == 4 && !f.owner);
    ops->unload(d, code);
}

/* --- streams and events --- */

static void test_streams(void) {
    tr_dev_stream *a = ops->stream_new(d), *b = ops->stream_new(d);
    tr_dev_code *code = load();
    tr_dev_event *e = ops->event_new(d, true), *v = ops->event_new(d, true),
                 *plain = ops->event_new(d, false);
    uint64_t ticket = 0;
    double ms;
    released = seen.n = 0;
    assert(ops->happened(d, e, 0) && !ops->elapsed(d, e, v, &ms));
    hold(1);
    assert(put(a, code, 0) == 0 && ops->record(d, a, e) == 0 && ops->wait(d, b, e) == 0 &&
           put(b, code, 0) == 0);
    assert(!ops->reached(d, a, &ticket, 1000) && !ops->reached(d, NULL, &ticket, 0) &&
           !ops->happened(d, e, 0) && seen.n == 0 && released == 0);
    run(0);
    assert(seen.n == 1 && !ops->happened(d, e, 0));
    run(0);
    assert(ops->happened(d, e, 0) && ops->reached(d, a, &ticket, 0) && released == 1 && seen.n == 1);
    await(NULL);
    assert(seen.n == 2 && released == 2);
    hold(0);
    assert(ops->record(d, b, v) == 0 && ops->elapsed(d, e, v, &ms) && ms > 0 &&
           ops->record(d, b, plain) == 0 && !ops->elapsed(d, e, plain, &ms));
    released = 0;
    for (int k = 0; k < 1000; k++) /* nobody waits, and they go all the same */
        assert(put(a, code, 0) == 0);
    assert(released >= 800 && released <= 1000);
    ops->stream_free(d, a);
    assert(released == 1000);
    ops->stream_free(d, b);
    ops->event_free(d, e);
    ops->event_free(d, v);
    ops->event_free(d, plain);
    ops->unload(d, code);
    assert(alive() == kept);
}

static _Atomic int called;

static bool failing; /* a call may be told that something has failed before */

static void call(void *arg, int32_t code) {
    assert(tr_dev_is_called() && (code == 0 || failing) && arg == &called);
    called++;
}

static void test_calls(void) {
    tr_dev_stream *s = ops->stream_new(d);
    work *w = make(NULL, 0);
    w->job.op = TR_DEV_CALL;
    w->job.u.call = (tr_dev_call){call, &called};
    released = 0;
    assert(ops->submit(d, s, &w->job) == 0);
    await(s);
    assert(called == 1 && released == 1 && !tr_dev_is_called());
    ops->stream_free(d, s);
}

/* What a library of the GPU's is told, and what it gives. */
typedef struct told {
    const void *stream;
    int gpu, times;
    int32_t code;
} told;

static int32_t do_library(void *arg, const tr_dev_at *at) {
    told *t = arg;
    assert(at->device == d && at->gpu == t->gpu && at->stream == t->stream && !tr_dev_is_called());
    t->times++;
    return t->code;
}

static void test_work(void) {
    tr_dev_stream *s = ops->stream_new(d);
    told t = {.stream = (void *)ops->stream_handle(d, s)};
    released = 0;
    for (int k = 0; k < 2; k++) { /* what it does not begin is not the stream's */
        work *w = make(NULL, 0);
        t.code = k ? TR_CODE_LIBRARY : 0;
        w->job.op = TR_DEV_WORK;
        w->job.u.work = (tr_dev_work){do_library, &t, TR_DEV_HERE};
        assert(ops->submit(d, s, &w->job) == t.code && t.times == k + 1);
        if (k)
            w->job.release(&w->job);
    }
    await(s);
    assert(released == 2);
    tr_dev_job now = {.op = TR_DEV_WORK, .u.work = {do_library, &t, 0}};
    t.stream = NULL;
    t.code = 0;
    assert(ops->submit(d, NULL, &now) == 0 && t.times == 3);
    await(NULL);
    ops->stream_free(d, s);
}

typedef struct busy {
    pthread_t thread;
    const tr_dev_code *code;
} busy;

static void *be_busy(void *arg) {
    const busy *me = arg;
    tr_dev_stream *s = ops->stream_new(d);
    tr_dev_mem m;
    for (int k = 0; k < 300; k++) {
        assert(put(s, me->code, 0) == 0 && ops->alloc(d, TR_DEV_LOCAL, NULL, 100, &m) == 0);
        uint64_t ticket = 0;
        if (k % 20 == 0)
            while (!ops->reached(d, k % 40 ? s : NULL, &ticket, 100000)) {}
        ops->free(d, &m);
    }
    ops->stream_free(d, s);
    return NULL;
}

static void hold_up(void *gate, int32_t code) {
    (void)code;
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
}

/* The stream does nothing more until the gate is opened. */
static tr_dev_stream *held_stream(pthread_mutex_t *gate) {
    tr_dev_stream *s = ops->stream_new(d);
    work *w = make(NULL, 0);
    w->job.op = TR_DEV_CALL;
    w->job.u.call = (tr_dev_call){hold_up, gate};
    pthread_mutex_init(gate, NULL);
    pthread_mutex_lock(gate);
    assert(ops->submit(d, s, &w->job) == 0);
    return s;
}

static void open_gate(pthread_mutex_t *gate, tr_dev_stream *s) {
    uint64_t ticket = 0;
    pthread_mutex_unlock(gate);
    while (!ops->reached(d, s, &ticket, 1000000)) {}
    pthread_mutex_destroy(gate);
}

/* Memory comes and goes beside streams that are at work, and goes after the launches that may use it. */
static void test_order(void) {
    pthread_mutex_t gate_a, gate_b;
    tr_dev_code *code = load();
    tr_slot slots[16] = {{.i = 1}, {.i = 1}, {.i = 1}, {.i = 1}, {.i = 1}, {.i = 1}};
    const tr_dev_launch l = {.code = code, .slots = slots, .nslots = 16, .nsizes = 7};
    tr_dev_mem m[6];
    uint64_t ticket = 0;
    assert(ops->reached(d, NULL, &ticket, 0));
    for (int k = 0; k < 6; k++)
        assert(ops->alloc(d, TR_DEV_LOCAL, NULL, 100, &m[k]) == 0);
    tr_dev_stream *s = ops->stream_new(d), *a = held_stream(&gate_a);
    unsigned n = alive();

    ops->free(d, &m[0]); /* nothing uses it: at once, and nobody waits */
    assert(alive() == n - 1);
    seen.n = 0;
    assert(ops->launch(d, s, &l) == 0 && seen.n == 1);
    assert(ops->alloc(d, TR_DEV_LOCAL, NULL, 100, &m[0]) == 0 && ops->launch(d, s, &l) == 0 && seen.n == 2);

    assert(ops->launch(d, a, &l) == 0 && seen.n == 2);
    ops->free(d, &m[0]); /* it may be what `a` is to work on */
    assert(alive() == n && ops->launch(d, s, &l) == 0 && seen.n == 3);

    tr_dev_stream *b = held_stream(&gate_b);
    assert(ops->launch(d, b, &l) == 0);
    ops->free(d, &m[1]); /* or `b` */
    assert(alive() == n + 1 && ops->launch(d, s, &l) == 0 && seen.n == 4);
    open_gate(&gate_a, a);
    assert(seen.n == 5 && alive() == n); /* m[0] has gone */
    ticket = 0;
    open_gate(&gate_b, b);
    assert(seen.n == 6 && alive() == n - 1);

    a = (ops->stream_free(d, a), held_stream(&gate_a));
    ops->show(d, (char *)m[2].at + 7);
    ops->free(d, &m[2]); /* others may have used it on the default stream, which waits for all */
    assert(alive() == n - 1 && ops->launch(d, s, &l) == 0 && seen.n == 6);
    open_gate(&gate_a, a);
    ops->reached(d, s, &ticket, 1000000);
    assert(seen.n == 7 && alive() == n - 2);

    a = (ops->stream_free(d, a), held_stream(&gate_a));
    assert(ops->alloc(d, TR_DEV_LOCAL, a, 100, &m[2]) == 0 && alive() == n - 1);
    ops->free(d, &m[2]);
    assert(alive() == n - 1);
    open_gate(&gate_a, a);
    assert(alive() == n - 2);

    a = (ops->stream_free(d, a), held_stream(&gate_a));
    assert(ops->launch(d, NULL, &l) == 0 && seen.n == 7);
    ops->free(d, &m[3]); /* in the order of the default stream, which has work */
    assert(alive() == n - 2);
    open_gate(&gate_a, a);
    assert(ops->reached(d, NULL, &ticket, 1000000) && seen.n == 8 && alive() == n - 3);
    ops->free(d, &m[4]);
    ops->free(d, &m[5]);
    ops->stream_free(d, a);
    ops->stream_free(d, b);
    ops->stream_free(d, s);
    ops->unload(d, code);
    assert(alive() == kept);
}

static void test_threads(void) {
    enum { N = 4 };
    busy all[N];
    tr_dev_code *code = load();
    released = 0;
    for (int k = 0; k < N; k++) {
        all[k].code = code;
        assert(pthread_create(&all[k].thread, NULL, be_busy, &all[k]) == 0);
    }
    for (int k = 0; k < N; k++)
        pthread_join(all[k].thread, NULL);
    assert(released == 300 * N);
    ops->unload(d, code);
    assert(alive() == kept);
}

/* --- each call fails once --- */

/* Memory that host and device see, code as the driver has it, launches without a job, a stream of others. */
static bool others(tr_dev_stream *s) {
    static char room[4096];
    char msg[300];
    bool ok = true;
    tr_dev_mem m;
    for (int place = TR_DEV_HOST; place <= TR_DEV_MANAGED; place++) {
        bool has = ops->alloc(d, (tr_dev_place)place, NULL, 100, &m) == 0;
        ok &= has && ops->sees(d, m.at);
        if (has)
            ops->free(d, &m);
    }
    bool pinned = ops->pin(d, room, sizeof room) == 0;
    ok &= pinned && ops->sees(d, room + 7) && !ops->sees(d, &ok);
    if (pinned)
        ok &= ops->unpin(d, room) == 0;
    size_t size;
    char *made = ops->assemble(d, image.text, &size);
    tr_dev_image im = image;
    im.text = made ? made : image.text;
    im.cooperative = true;
    tr_dev_code *code = ops->load(d, &im, msg, sizeof msg);
    ok &= made && code;
    free(made);
    tr_dev_stream *wrapped = s ? ops->stream_wrap(d, ops->stream_handle(d, s)) : NULL;
    tr_slot slots[16] = {{.i = 1}, {.i = 1}, {.i = 1}, {.i = 1}, {.i = 1}, {.i = 1}};
    tr_dev_launch l = {.code = code, .slots = slots, .nslots = 16, .nsizes = 7};
    tr_dev_takes takes;
    int held, blocks, threads;
    if (code)
        ok &= ops->takes(d, code, &takes) == 0 && takes.registers == 32 &&
              ops->held(d, code, 256, 60 << 10, &held) == 0 && held == 3 &&
              ops->suits(d, code, 61 << 10, 300, &blocks, &threads) == 0 && blocks == 3 * 16 &&
              threads == 300;
    if (code)
        ok &= ops->launch(d, NULL, &l) == 0 && ops->launch(d, s, &l) == 0 &&
              (!wrapped || ops->launch(d, wrapped, &l) == 0);
    await(NULL);
    if (wrapped)
        ops->stream_free(d, wrapped);
    if (code)
        ops->unload(d, code);
    return ok;
}

/* Another GPU: memory and a kernel there, copies from one to the other, and its memory from here. */
static bool another(tr_dev_code *code) {
    char msg[300], buf[64] = "across";
    tr_dev_mem a, b;
    tr_slot slots[16] = {{.i = 1}, {.i = 1}, {.i = 1}, {.i = 1}, {.i = 1}, {.i = 1}};
    const tr_dev_launch l = {.code = code, .slots = slots, .nslots = 16, .nsizes = 7};
    bool ok = ops->select(d, 1, msg, sizeof msg), can = false;
    bool has_a = ops->alloc(d, TR_DEV_LOCAL, NULL, sizeof buf, &a) == 0;
    assert(!has_a || (a.number == 1 && a.users));
    tr_dev_stream *s = ops->stream_new(d);
    tr_dev_event *e = ops->event_new(d, false);
    ok &= has_a && s && e && ops->launch(d, s, &l) == 0 && ops->launch(d, NULL, &l) == 0;
    ok &= ops->select(d, 0, msg, sizeof msg);
    bool has_b = ops->alloc(d, TR_DEV_LOCAL, NULL, sizeof buf, &b) == 0;
    ok &= has_b;
    tr_dev_copy c = {.item = 1, .ndim = 2, .shape = {4, 4}, .to_stride = {16, 1}, .from_stride = {16, 1}};
    const struct {
        void *to;
        const void *from;
    } ways[] = {{a.at, buf}, {b.at, a.at}, {a.at, b.at}};
    for (size_t k = 0; has_a && has_b && k < 3; k++) {
        c.to = ways[k].to;
        c.from = ways[k].from;
        tr_dev_job j = copy_job(&c);
        ok &= ops->submit(d, NULL, &j) == 0;
    }
    ok &= !s || (ops->number(d, s) == 1 && ops->launch(d, s, &l) == 0 && (!e || ops->record(d, s, e) == 0));
    ok &= ops->befriend(d, 0, 1, true, &can) == 0 && can && ops->befriend(d, 0, 1, false, &can) == 0;
    ok &= !ok || *a.users == 1;
    await(NULL);
    if (has_a)
        ops->free(d, &a);
    if (has_b)
        ops->free(d, &b);
    if (e)
        ops->event_free(d, e);
    if (s)
        ops->stream_free(d, s);
    return ok;
}

/* A program, which goes on after a failure as far as it makes sense. True: nothing failed. */
static bool program(void) {
    bool ok = true;
    tr_dev_mem m;
    tr_dev_failure f;
    char buf[64] = "text", msg[300];
    bool has = ops->alloc(d, TR_DEV_LOCAL, NULL, sizeof buf, &m) == 0;
    tr_dev_stream *s = ops->stream_new(d);
    tr_dev_event *e = ops->event_new(d, true), *v = ops->event_new(d, true);
    tr_dev_code *code = ops->load(d, &image, msg, sizeof msg);
    ok = others(s) && has && s && e && v && code;
    if (has) {
        tr_dev_copy c = {.to = m.at,
                         .from = buf,
                         .item = 1,
                         .ndim = 1,
                         .shape = {64},
                         .to_stride = {1},
                         .from_stride = {1}};
        tr_dev_job j = copy_job(&c);
        ok &= ops->submit(d, NULL, &j) == 0;
        c.ndim = 2;
        c.shape[0] = c.shape[1] = 4;
        c.to_stride[0] = c.from_stride[0] = 16;
        c.to_stride[1] = c.from_stride[1] = 1;
        j = copy_job(&c);
        ok &= ops->submit(d, NULL, &j) == 0;
        c.from = (char *)m.at + 1; /* the two meet */
        j = copy_job(&c);
        ok &= ops->submit(d, NULL, &j) == 0;
        j = (tr_dev_job){.op = TR_DEV_FILL};
        j.u.fill = (tr_dev_fill){m.at, 64, 1};
        ok &= ops->submit(d, NULL, &j) == 0;
    }
    if (code && s) {
        for (int k = 0; k < 140; k++)
            ok &= put(s, code, k == 5 ? 100 << 10 : 0) == 0;
        work *w = make(NULL, 0);
        w->job.op = TR_DEV_CALL;
        w->job.u.call = (tr_dev_call){call, &called};
        if (ops->submit(d, s, &w->job)) {
            ok = false;
            free(w);
        }
    }
    if (e && v && s) {
        double ms;
        ok &= ops->record(d, s, e) == 0 && ops->wait(d, NULL, e) == 0 && ops->record(d, NULL, v) == 0;
        await(NULL);
        ok &= ops->happened(d, v, 1000000000) && ops->elapsed(d, e, v, &ms);
    }
    await(NULL);
    ok &= code && another(code);
    while (ops->take(d, NULL, &f))
        ok = false;
    if (code)
        ops->unload(d, code);
    if (e)
        ops->event_free(d, e);
    if (v)
        ops->event_free(d, v);
    if (s)
        ops->stream_free(d, s);
    if (has)
        ops->free(d, &m);
    while (ops->take(d, NULL, &f)) /* of what was waited for meanwhile */
        ok = false;
    return ok;
}

static void test_failures(void) {
    static const char *const all[] = {
#define X(id, symbol, needed, params) symbol,
#include "dev/cuda.def"
#undef X
    };
    int failed = 0;
    failing = true;
    assert(program());
    unsigned before = alive();
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        reset();
        assert(program());
        unsigned n = calls(all[k]);
        bool gives_back = strstr(all[k], "Free") || strstr(all[k], "Destroy") || strstr(all[k], "Unload") ||
                          strstr(all[k], "Unregister");
        for (unsigned i = 1; i <= n && !gives_back; i += n < 20 ? 1 : n / 10) {
            reset();
            fail(all[k], i, strstr(all[k], "Alloc") ? 2 : 1);
            failing = true;
            failed += !program();
            failing = false;
            reset();
            await(NULL); /* what the driver would not say then */
            assert(alive() == before && program());
        }
    }
    printf("%d programs with a call that failed\n", failed), fflush(stdout);
    assert(failed >= 72);
}

/* --- the end --- */

static void test_fork(void) {
    int status;
    pid_t child = fork();
    if (!child) {
        tr_dev_mem m;
        uint64_t ticket = 0;
        bool ok = ops->alloc(d, TR_DEV_LOCAL, NULL, 1, &m) == TR_CODE_GPU && !ops->stream_new(d) &&
                  ops->reached(d, NULL, &ticket, 0) && ops->stop(d, 0);
        _exit(ok ? 0 : 1);
    }
    assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_lost(void) {
    tr_dev_code *code = load();
    tr_dev_stream *s = ops->stream_new(d);
    tr_dev_failure f;
    tr_dev_mem m, left;
    uint64_t ticket = 0;
    char msg[200];
    released = 0;
    assert(ops->alloc(d, TR_DEV_LOCAL, NULL, 10, &left) == 0 && put(s, code, 0) == 0);
    fail("cuStreamQuery", 1, 700);
    assert(ops->reached(d, s, &ticket, 0) && ops->take(d, s, &f) && f.code == TR_CODE_DEVICE &&
           f.owner == &seen);
    assert(!ops->take(d, NULL, &f) && released == 1); /* told once */
    ops->explain(d, msg, sizeof msg);
    assert(strstr(msg, "the GPU's context has ended by CUDA_ERROR_ILLEGAL_ADDRESS (700), and this process "
                       "cannot use it any more; debug=True"));
    assert(ops->alloc(d, TR_DEV_LOCAL, NULL, 10, &m) == TR_CODE_DEVICE && put(s, code, 0) == TR_CODE_DEVICE &&
           put(NULL, code, 0) == TR_CODE_DEVICE);
    assert(!ops->stream_new(d) && !ops->load(d, &image, msg, sizeof msg) && strstr(msg, "ILLEGAL_ADDRESS"));
    assert(ops->reached(d, NULL, &ticket, 0) && !ops->take(d, NULL, &f));
    ops->free(d, &left); /* no more than forgotten */
    ops->stream_free(d, s);
    ops->unload(d, code);
    assert(ops->stop(d, 0));
}

int main(void) {
    setenv("TREADLE_FAKE_GPUS", "90,80", 1);
    open_fake();
    reg("k", kernel, NULL);
    test_open();
    test_memory();
    test_copies();
    test_launches();
    test_exceptions();
    test_streams();
    test_calls();
    test_work();
    test_order();
    test_threads();
    test_failures();
    test_fork();
    test_lost();
    puts("ok");
    return 0;
}
